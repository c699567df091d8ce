// SPDX-License-Identifier: MIT
/*
 * Decides for one function. When in doubt it is left alone: a function that is not timed is named
 * in the report, one that is broken breaks the program.
 */
#include "patch/internal.h"

#include "wire/spans.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan in the making. */
struct draft {
    struct patch_module *module;
    size_t number;
    const struct patch_function *function;
    const struct code_section *section;
    const uint8_t *text; /* from E on                                           */
    size_t own;          /* bytes of the function from E on                     */
    size_t room;         /* and with the padding behind it                       */
    size_t least;        /* bytes of instructions that the window takes in       */
    bool site;           /* inside the function                                  */
    uint64_t behind;     /* address of the next function, or the end of the section */
    struct patch_plan plan;
    struct patch_reason reason;
};

const char *patch_refusal_text(enum patch_refusal refusal)
{
    static const char *const texts[PATCH_REFUSALS] = {
        [PATCH_FITS] = "can be hooked",
        [PATCH_UNKNOWN_FUNCTION] = "not a function's address",
        [PATCH_NO_CODE] = "no code in the file",
        [PATCH_SPECIAL] = "special by its name",
        [PATCH_IFUNC] = "chooses a function for the loader",
        [PATCH_PART] = "part of a function, not called",
        [PATCH_NOT_FUNCTION] = "label in assembly code",
        [PATCH_FOREIGN] = "of a run-time that walks stacks by itself",
        [PATCH_SHORT] = "too short",
        [PATCH_UNDECODABLE] = "not decodable",
        [PATCH_JUMP_INTO] = "jump into its first bytes",
        [PATCH_TABLE_INTO] = "pointer into its first bytes",
        [PATCH_LANDING_PAD] = "exception handler in its first bytes",
        [PATCH_LOOP] = "loop around the whole function",
        [PATCH_IMMOVABLE] = "instruction that cannot be moved",
    };
    return refusal < PATCH_REFUSALS ? texts[refusal] : "unknown";
}

/* Always false. */
__attribute__((format(printf, 4, 5))) static bool
refuse(struct draft *draft, enum patch_refusal refusal, uint64_t at, const char *format, ...)
{
    va_list arguments;
    draft->reason.refusal = refusal;
    draft->reason.at = at;
    va_start(arguments, format);
    vsnprintf(draft->reason.sentence, sizeof draft->reason.sentence, format, arguments);
    va_end(arguments);
    return false;
}

static unsigned long long shown(uint64_t address)
{
    return (unsigned long long)address;
}

/* ---- which function ------------------------------------------------------------------------ */

static bool check_names(struct draft *draft)
{
    size_t count;
    const struct code_symbol *symbols = code_symbols(draft->module->code, &count);
    const struct names *names = &draft->module->names[draft->number];
    for (size_t i = 0; i < names->count; i++) {
        const char *name = symbols[names->first + i].name;
        const char *why = patch_never(name);
        if (why)
            return refuse(draft, PATCH_SPECIAL, 0, "%.60s %s", name, why);
    }
    return true;
}

static bool check_kind(struct draft *draft)
{
    const struct patch_function *function = draft->function;
    const char *section = draft->section->name;
    if (draft->module->foreign)
        return refuse(draft, PATCH_FOREIGN, 0, "%s", draft->module->foreign);
    if (function->kind == PATCH_RESOLVER)
        return refuse(draft, PATCH_IFUNC, 0,
                      "the code at its symbol chooses the function, for the dynamic loader");
    if (module_is_cold(function->name))
        return refuse(draft, PATCH_PART, 0, "the compiler split it off; it is jumped to");
    if (function->entered_otherwise)
        return refuse(draft, PATCH_PART, 0,
                      "call frame information says that it is not entered by a call");
    if (function->kind == PATCH_LABEL && !function->called)
        return refuse(
            draft, PATCH_NOT_FUNCTION, 0,
            "its symbol has no type, and no call frame information says that it is called");
    if (strcmp(section, ".init") == 0 || strcmp(section, ".fini") == 0)
        return refuse(draft, PATCH_SPECIAL, 0, "it is in the section %s", section);
    return true;
}

/* ---- the window ---------------------------------------------------------------------------- */

/* int3 or nops. From the function's end up to the next one; else what is there may be data. */
static bool is_padding(const struct draft *draft, size_t from, size_t to)
{
    while (from < to) {
        const uint8_t *code = draft->text + from;
        unsigned nop = *code == 0xcc ? 1 : code_nop(code, draft->room - from);
        if (nop == 0)
            return false;
        from += nop;
    }
    return true;
}

static bool find_code(struct draft *draft)
{
    const struct patch_module *module = draft->module;
    const struct patch_function *function = draft->function;
    const struct code_section *section = draft->section;
    uint64_t end = section->start + section->bytes, next = draft->number + 1;
    uint64_t own_end = function->vaddr + function->bytes;
    draft->behind = end;
    if (next < module->functions_count && module->functions[next].vaddr < end)
        draft->behind = module->functions[next].vaddr;
    draft->text = section->view + (function->vaddr - section->start);
    bool endbr = code_endbr(draft->text, (size_t)(end - function->vaddr)) &&
                 function->bytes > PATCH_ENDBR_BYTES;
    draft->plan.vaddr = function->vaddr;
    draft->plan.entry = function->vaddr + (endbr ? PATCH_ENDBR_BYTES : 0);
    draft->text += endbr ? PATCH_ENDBR_BYTES : 0;
    if (own_end > draft->behind)
        own_end = draft->behind;
    if (own_end <= draft->plan.entry)
        return refuse(draft, PATCH_SHORT, 0, "another function begins within it");
    draft->own = (size_t)(own_end - draft->plan.entry);
    draft->room = (size_t)(draft->behind - draft->plan.entry);
    return true;
}

static int compare_prepared(const void *vaddr, const void *prepared)
{
    uint64_t left = *(const uint64_t *)vaddr;
    uint64_t right = ((const struct patch_prepared *)prepared)->function;
    return (left > right) - (left < right);
}

/* The place may lie some nops behind the entry. */
static void go_to_site(struct draft *draft)
{
    const struct patch_module *module = draft->module;
    const struct patch_prepared *prepared =
        bsearch(&draft->plan.vaddr, module->prepared, module->prepared_count,
                sizeof *module->prepared, compare_prepared);
    size_t skipped = prepared ? (size_t)(prepared->site - draft->plan.entry) : 0;
    draft->plan.entry += skipped;
    draft->text += skipped;
    draft->own -= skipped;
    draft->room -= skipped;
}

static bool use_nops(struct draft *draft)
{
    struct patch_plan *plan = &draft->plan;
    unsigned at = 0;
    go_to_site(draft);
    plan->kind = SPANS_PREPARED;
    while (at < PATCH_JUMP_BYTES) {
        unsigned nop = code_nop(draft->text + at, draft->room - at);
        if (nop == 0)
            return refuse(draft, PATCH_SHORT, plan->entry + at,
                          "another function begins in its nops");
        plan->starts[plan->instructions++] = (uint8_t)at;
        at += nop;
    }
    plan->window_bytes = (uint8_t)at;
    return true;
}

/* The instructions that the jump overwrites. */
static bool take_instructions(struct draft *draft)
{
    struct patch_plan *plan = &draft->plan;
    struct moved moved = {0};
    size_t at = 0;
    plan->kind = SPANS_PATCHED;
    while (at < draft->least && at < draft->own && !moved.ends) {
        uint64_t address = plan->entry + at;
        if (!moved_of(draft->text + at, draft->own - at, address, &moved))
            return refuse(draft, PATCH_UNDECODABLE, address, "no instruction at 0x%llx",
                          shown(address));
        if (moved.form == FORM_IMMOVABLE)
            return refuse(draft, PATCH_IMMOVABLE, address,
                          "the instruction at 0x%llx works at its own place only", shown(address));
        plan->starts[plan->instructions++] = (uint8_t)at;
        at += moved.length;
        if (moved.form != FORM_CALL && moved.form != FORM_CALL_FAR)
            continue;
        if (at < PATCH_JUMP_BYTES)
            return refuse(draft, PATCH_IMMOVABLE, address,
                          "the call at 0x%llx returns into its first five bytes", shown(address));
        plan->emulates_call = true;
    }
    if (at < PATCH_JUMP_BYTES &&
        (!moved.ends || draft->room < PATCH_JUMP_BYTES || !is_padding(draft, at, PATCH_JUMP_BYTES)))
        return refuse(draft, PATCH_SHORT, plan->entry + at,
                      "it has %zu bytes of code, and what follows is not padding", at);
    plan->window_bytes = (uint8_t)(at < PATCH_JUMP_BYTES ? PATCH_JUMP_BYTES : at);
    return true;
}

/* ---- ways into it -------------------------------------------------------------------------- */

/* Is the jump one of the function's own, or of what was split off from it? */
static bool is_own(const struct draft *draft, uint64_t from)
{
    const struct patch_module *module = draft->module;
    if (from - draft->function->vaddr < draft->function->bytes)
        return true;
    size_t number = patch_function_at(module, from), bytes = strlen(draft->function->name);
    const struct patch_function *other = number == PATCH_NONE ? NULL : &module->functions[number];
    return other && ((bytes && strncmp(other->name, draft->function->name, bytes) == 0 &&
                      module_is_cold(other->name + bytes)) ||
                     (other->kind == PATCH_UNNAMED && module_is_part(other)));
}

static bool check_target(struct draft *draft, const struct target *target)
{
    static const struct {
        enum patch_refusal refusal;
        const char *what;
    } ways[] = {
        [TARGET_JUMP] = {PATCH_JUMP_INTO, "a jump"},
        [TARGET_CALL] = {PATCH_JUMP_INTO, "a call"},
        [TARGET_POINTER] = {PATCH_TABLE_INTO, "an address"},
        [TARGET_TABLE] = {PATCH_TABLE_INTO, "a table"},
        [TARGET_HANDLER] = {PATCH_LANDING_PAD, "an exception handler"},
    };
    uint64_t entry = draft->plan.entry;
    bool jumps = target->kind == TARGET_JUMP || target->kind == TARGET_TABLE;
    if (target->address > entry && target->address - entry < draft->plan.window_bytes)
        return refuse(draft, ways[target->kind].refusal, target->from,
                      "%s at 0x%llx leads into its first %u bytes", ways[target->kind].what,
                      shown(target->kind == TARGET_HANDLER ? target->address : target->from),
                      draft->plan.window_bytes);
    if (draft->plan.kind == SPANS_PATCHED && !draft->site && jumps && target->address <= entry &&
        (target->kind == TARGET_TABLE || is_own(draft, target->from)))
        return refuse(draft, PATCH_LOOP, target->from,
                      "%s at 0x%llx leads back to its first instruction", ways[target->kind].what,
                      shown(target->from));
    return true;
}

static bool check_targets(struct draft *draft)
{
    const struct targets *targets = &draft->module->targets;
    const struct patch_function *function = draft->function;
    uint64_t end = draft->plan.entry + draft->plan.window_bytes;
    size_t bad = BASE_FIRST(i, targets->bad_count, targets->bad[i] >= function->vaddr);
    if (targets->gave_up)
        return refuse(draft, PATCH_UNDECODABLE, 0,
                      "its module's code is so tangled that it was not looked through");
    if (bad < targets->bad_count && targets->bad[bad] - function->vaddr < function->bytes)
        return refuse(draft, PATCH_UNDECODABLE, targets->bad[bad], "no instruction at 0x%llx",
                      shown(targets->bad[bad]));
    for (size_t i = BASE_FIRST(i, targets->count, targets->items[i].address >= function->vaddr);
         i < targets->count && targets->items[i].address < end; i++)
        if (!check_target(draft, &targets->items[i]))
            return false;
    return true;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool find_function(struct draft *draft, uint64_t vaddr)
{
    const struct patch_module *module = draft->module;
    draft->number = module_function_from(module, vaddr);
    if (draft->number == module->functions_count || module->functions[draft->number].vaddr != vaddr)
        return refuse(draft, PATCH_UNKNOWN_FUNCTION, 0, "no function begins at 0x%llx",
                      shown(vaddr));
    draft->function = &module->functions[draft->number];
    draft->section = module_text(module, vaddr);
    return draft->section || refuse(draft, PATCH_NO_CODE, 0, "the file does not have its code");
}

static bool finish(struct draft *draft)
{
    struct patch_plan *plan = &draft->plan;
    uint8_t copy[PATCH_COPY_MAX];
    bool reached;
    memcpy(plan->original, draft->text, plan->window_bytes);
    plan->single = plan->instructions == 1;
    plan->copy_bytes = (uint8_t)emit_prologue(plan, plan->entry, plan->entry, copy, &reached);
    return plan->copy_bytes ||
           refuse(draft, PATCH_IMMOVABLE, plan->entry, "its first instructions cannot be moved");
}

static bool make(struct draft *draft, uint64_t vaddr)
{
    struct patch_module *module = draft->module;
    if (!find_function(draft, vaddr) || !check_names(draft) || !check_kind(draft) ||
        !find_code(draft))
        return false;
    if (draft->function->prepared ? !use_nops(draft) : !take_instructions(draft))
        return false;
    if (!module->targets.loaded && targets_load(module) != BASE_OK)
        return refuse(draft, PATCH_UNDECODABLE, 0, "there was not enough memory to look for jumps");
    return check_targets(draft) && finish(draft);
}

bool patch_plan(struct patch_module *module, uint64_t vaddr, struct patch_plan *plan,
                struct patch_reason *reason)
{
    struct draft draft = {.module = module, .least = PATCH_JUMP_BYTES};
    bool made = make(&draft, vaddr);
    if (made)
        *plan = draft.plan;
    if (reason)
        *reason = draft.reason;
    return made;
}

/* ---- inside a function ----------------------------------------------------------------------- */

/* The last place from which instructions up to the end take five bytes. */
static bool find_tail(struct draft *draft, uint64_t *start, uint64_t end)
{
    uint64_t best = 0;
    for (uint64_t at = *start; at < end;) {
        struct moved moved;
        const uint8_t *code = draft->text + (at - draft->plan.entry);
        if (!moved_of(code, (size_t)(end - at), at, &moved))
            return refuse(draft, PATCH_UNDECODABLE, at, "no instruction at 0x%llx", shown(at));
        if (end - at >= PATCH_JUMP_BYTES)
            best = at;
        at += moved.length;
    }
    if (!best || end - best > PATCH_WINDOW_MAX)
        return refuse(draft, PATCH_SHORT, *start,
                      "there are not five bytes of code for a jump in front of it, at 0x%llx",
                      shown(*start));
    *start = best;
    return true;
}

static bool go_inside(struct draft *draft, uint64_t start, uint64_t end, bool at_end)
{
    uint64_t entry = draft->plan.entry;
    draft->site = true;
    if (start < entry || end <= start || end - entry > draft->own)
        return refuse(draft, PATCH_SHORT, start, "it begins where its function does");
    if (at_end && !find_tail(draft, &start, end))
        return false;
    draft->plan.entry = start;
    draft->text += start - entry;
    draft->room -= (size_t)(start - entry);
    draft->own = (size_t)(end - start);
    draft->least = at_end ? draft->own : PATCH_JUMP_BYTES;
    return true;
}

bool patch_plan_site(struct patch_module *module, uint64_t function, uint64_t start, uint64_t end,
                     enum patch_site where, struct patch_plan *plan, struct patch_reason *reason)
{
    struct draft draft = {.module = module};
    bool at_end = where != PATCH_SITE_START;
    bool made = find_function(&draft, function) && check_names(&draft) && check_kind(&draft) &&
                find_code(&draft) && go_inside(&draft, start, end, at_end) &&
                take_instructions(&draft);
    if (made && !module->targets.loaded && targets_load(module) != BASE_OK)
        made =
            refuse(&draft, PATCH_UNDECODABLE, 0, "there was not enough memory to look for jumps");
    made = made && check_targets(&draft) && finish(&draft);
    if (made && at_end && draft.plan.emulates_call)
        made = refuse(&draft, PATCH_IMMOVABLE, start, "a call stands right in front of it");
    if (made)
        *plan = draft.plan;
    if (reason)
        *reason = draft.reason;
    return made;
}
