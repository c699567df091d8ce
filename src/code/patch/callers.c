// SPDX-License-Identifier: MIT
/*
 * Which functions call library functions of a class: direct calls of stubs in procedure linkage
 * tables, and calls through slots of the global offset table, which the loader fills by name.
 *
 * Bytes are looked through without decoding: what looks like a call and is the middle of another
 * instruction must also lead to a stub of such a function, so that errors are next to none; and all
 * that follows from one is that a function is timed without need.
 */
#include "patch/internal.h"

#include <string.h>

enum { CALL = 0xe8, JUMP = 0xe9, NEAR_BYTES = 5, INDIRECT_BYTES = 6, BND = 0xf2 };

static uint64_t relative(const uint8_t *code, unsigned at, uint64_t next)
{
    int32_t distance;
    memcpy(&distance, code + at, sizeof distance);
    return next + (uint64_t)(int64_t)distance;
}

static bool is_slot_of(const struct patch_module *module, uint64_t slot, enum spans_class class)
{
    size_t count;
    const struct code_pointer *pointers = code_pointers(module->code, &count);
    size_t found = BASE_FIRST(i, count, pointers[i].at >= slot);
    if (found == count || pointers[found].at != slot || !pointers[found].name)
        return false;
    const struct patch_known *known = patch_known(pointers[found].name);
    return known && known->class == class;
}

/* jmp *slot(%rip), behind an endbr64 and with a prefix if the linker was asked for those. */
static bool is_stub_of(const struct patch_module *module, uint64_t vaddr, enum spans_class class)
{
    const struct code_section *section = module_text(module, vaddr);
    if (!section || strncmp(section->name, ".plt", 4) != 0)
        return false;
    uint64_t at = vaddr - section->start;
    if (code_endbr(section->view + at, section->bytes - at))
        at += PATCH_ENDBR_BYTES;
    if (at < section->bytes && section->view[at] == BND)
        at++;
    const uint8_t *code = section->view + at;
    return section->bytes - at >= INDIRECT_BYTES && code[0] == 0xff && code[1] == 0x25 &&
           is_slot_of(module, relative(code, 2, section->start + at + INDIRECT_BYTES), class);
}

/* A call, or a jump in place of a call and a return. */
static bool leads_to(const struct patch_module *module, const uint8_t *code, uint64_t address,
                     size_t available, enum spans_class class)
{
    if (available >= NEAR_BYTES && (code[0] == CALL || code[0] == JUMP))
        return is_stub_of(module, relative(code, 1, address + NEAR_BYTES), class);
    return available >= INDIRECT_BYTES && code[0] == 0xff && (code[1] == 0x15 || code[1] == 0x25) &&
           is_slot_of(module, relative(code, 2, address + INDIRECT_BYTES), class);
}

size_t patch_next_caller(const struct patch_module *module, enum spans_class class, size_t from)
{
    for (size_t number = from; number < module->functions_count; number++) {
        size_t bytes;
        const uint8_t *text = patch_text(module, number, &bytes);
        uint64_t start = module->functions[number].vaddr;
        for (size_t at = 0; text && at < bytes; at++)
            if (leads_to(module, text + at, start + at, bytes - at, class))
                return number;
    }
    return PATCH_NONE;
}
