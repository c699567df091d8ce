// SPDX-License-Identifier: MIT
/*
 * The added instructions that count paths and keep contexts. Additions to the path's number are
 * `lea`, so that flags survive.
 */
#include "instrument/internal.h"

#include <string.h>

static const char *const names32[] = {"%eax",  "%ecx",  "%edx",  "%ebx", "%esp",  "%ebp",
                                      "%esi",  "%edi",  "%r8d",  "%r9d", "%r10d", "%r11d",
                                      "%r12d", "%r13d", "%r14d", "%r15d"};

/* ---- operations on paths --------------------------------------------------------------------- */

static bool fits(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

static void emit_set(struct site *site, int64_t value)
{
    struct work *work = site->work;
    if (work->storage != STORE_SLOT) {
        if (value >= 0 && value <= UINT32_MAX)
            util_text_print(site->out, "\tmovl\t$%lld, %s\n", (long long)value,
                            names32[work->path_register]);
        else
            util_text_print(site->out, "\tmovabsq\t$%lld, %s\n", (long long)value,
                            register_names[work->path_register]);
        return;
    }
    struct operand slot = site_slot(site, SLOT_PATH);
    if (fits(value)) {
        util_text_print(site->out, "\tmovq\t$%lld, %s\n", (long long)value, slot.text);
        return;
    }
    uint32_t scratch = site_take(site, 0);
    util_text_print(site->out, "\tmovabsq\t$%lld, %s\n\tmovq\t%s, %s\n", (long long)value,
                    register_names[scratch], register_names[scratch], slot.text);
    site_give(site, scratch);
}

static void add_constant(struct site *site, uint32_t number, int64_t value)
{
    if (fits(value)) {
        if (value)
            util_text_print(site->out, "\tleaq\t%lld(%s), %s\n", (long long)value,
                            register_names[number], register_names[number]);
        return;
    }
    uint32_t scratch = site_take(site, 0);
    util_text_print(site->out, "\tmovabsq\t$%lld, %s\n\tleaq\t(%s,%s), %s\n", (long long)value,
                    register_names[scratch], register_names[number], register_names[scratch],
                    register_names[number]);
    site_give(site, scratch);
}

static void emit_add(struct site *site, int64_t value)
{
    const struct work *work = site->work;
    if (work->storage != STORE_SLOT) {
        add_constant(site, (uint32_t)work->path_register, value);
        return;
    }
    struct operand slot = site_slot(site, SLOT_PATH);
    if (fits(value) && (!site->flags || site->flags_in >= 0)) {
        util_text_print(site->out, "\taddq\t$%lld, %s\n", (long long)value, slot.text);
        return;
    }
    uint32_t scratch = site_take(site, 0);
    util_text_print(site->out, "\tmovq\t%s, %s\n", slot.text, register_names[scratch]);
    add_constant(site, scratch, value);
    util_text_print(site->out, "\tmovq\t%s, %s\n", register_names[scratch], slot.text);
    site_give(site, scratch);
}

/* The register that holds the path's number; loads it if it is in a slot. */
static uint32_t path_number(struct site *site, uint32_t avoid)
{
    const struct work *work = site->work;
    if (work->storage != STORE_SLOT)
        return (uint32_t)work->path_register;
    struct operand slot = site_slot(site, SLOT_PATH);
    uint32_t scratch = site_take(site, avoid);
    util_text_print(site->out, "\tmovq\t%s, %s\n", slot.text, register_names[scratch]);
    return scratch;
}

static void give_number(struct site *site, uint32_t number)
{
    if (site->work->storage == STORE_SLOT)
        site_give(site, number);
}

/* Bytes from a record's start to the function's cells. */
static long long record_cells(const struct work *work)
{
    return (long long)(sizeof(struct instrumented_record) + 8 * (size_t)work->call_sites);
}

/* "table + 8 * value" as an address; in a calling context's record, relative to the record. */
static void cell(const struct work *work, int64_t value, char out[64])
{
    if (has_contexts(work))
        snprintf(out, 64, "%lld", record_cells(work) + 8 * (long long)value);
    else
        snprintf(out, 64, LABEL_FORMAT "+%lld", work->number, "t", 0U, 8 * (long long)value);
}

/* The address of this thread's cell `address` in a register. Changes flags. */
static void thread_cell(struct site *site, const char *address, uint32_t number)
{
    if (site->work->options->shared) {
        uint32_t scratch = site_take(site, 0);
        site_load_word(site, "headroom_delta", number);
        util_text_print(site->out, "\tleaq\t%s(%%rip), %s\n\taddq\t%s, %s\n", address,
                        register_names[scratch], register_names[scratch], register_names[number]);
        site_give(site, scratch);
    } else {
        util_text_print(site->out, "\tleaq\t%s(%%rip), %s\n\taddq\t%%fs:headroom_delta@tpoff, %s\n",
                        address, register_names[number], register_names[number]);
    }
}

/* count[path + value]++, or count[value]++ if path < 0. */
static void count_in_array(struct site *site, int path, int64_t value)
{
    struct work *work = site->work;
    char address[64];
    cell(work, value, address);
    uint32_t base = site_take(site, rdtsc_registers(work));
    if (has_contexts(work)) {
        struct operand record = site_slot(site, SLOT_RECORD);
        util_text_print(site->out, "\tmovq\t%s, %s\n", record.text, register_names[base]);
    } else if (work->options->absolute) {
        site_load_word(site, "headroom_delta", base);
    } else {
        thread_cell(site, address, base);
        address[0] = 0;
    }
    char registers[24];
    if (path < 0)
        snprintf(registers, sizeof registers, "(%s)", register_names[base]);
    else
        snprintf(registers, sizeof registers, "(%s,%s,8)", register_names[base],
                 register_names[path]);
    util_text_print(site->out, "\tincq\t%s%s\n", address, registers);
    cycles_end(site, address, registers);
    site_give(site, base);
}

static void count_in_hash(struct site *site, int path, int64_t value)
{
    struct work *work = site->work;
    char address[64];
    cell(work, 0, address);
    cycles_elapsed(site);
    site_claim(site, BASE_RAX);
    site_claim(site, BASE_R11);
    if (path < 0) {
        util_text_print(site->out, "\tmovabsq\t$%lld, %%rax\n", (long long)value);
    } else {
        if (path != BASE_RAX)
            util_text_print(site->out, "\tmovq\t%s, %%rax\n", register_names[path]);
        add_constant(site, BASE_RAX, value);
    }
    if (has_contexts(work)) {
        struct operand record = site_slot(site, SLOT_RECORD);
        util_text_print(site->out, "\tmovq\t%s, %%r11\n\tleaq\t%s(%%r11), %%r11\n", record.text,
                        address);
    } else {
        thread_cell(site, address, BASE_R11);
    }
    site_call_runtime(site,
                      has_cycles(work) ? "headroom_count_path_cycles" : "headroom_count_path");
    site_give(site, BASE_RAX);
    site_give(site, BASE_R11);
    if (has_cycles(work))
        site_give(site, BASE_RDX);
}

static void emit_count(struct site *site, bool has_number, int64_t value)
{
    int path = -1;
    site_save_flags(site);
    if (has_number)
        path = (int)path_number(site, BIT(BASE_R11) | BIT(BASE_RAX) | rdtsc_registers(site->work));
    if (site->work->table_kind == INSTRUMENTED_TABLE_HASH)
        count_in_hash(site, path, value);
    else
        count_in_array(site, path, value);
    if (has_number)
        give_number(site, (uint32_t)path);
    if (!site->leaves)
        cycles_next(site);
}

void emit_operations(struct site *site, uint32_t place)
{
    uint32_t count;
    const struct numbering_operation *operations = plan_at(site->work, place, &count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = operations[i].value * cells_per_path(site->work);
        switch (operations[i].kind) {
        case NUMBERING_SET: emit_set(site, value); break;
        case NUMBERING_ADD: emit_add(site, value); break;
        case NUMBERING_COUNT: emit_count(site, true, value); break;
        default: emit_count(site, false, value);
        }
    }
}

/* ---- entry, exit, calls ---------------------------------------------------------------------- */

/* A thread that comes here first has no counters yet. Registers hold arguments: the runtime
   preserves them all. */
static void emit_begin(struct site *site)
{
    struct work *work = site->work;
    unsigned number = work->number;
    if (work->options->shared) {
        uint32_t scratch = site_take_on_entry(site);
        site_load_word(site, "headroom_delta", scratch);
        util_text_print(site->out, "\ttestq\t%s, %s\n", register_names[scratch],
                        register_names[scratch]);
        site_give_on_entry(site, scratch);
    } else {
        util_text_print(site->out, "\tcmpq\t$0, %%fs:headroom_delta@tpoff\n");
    }
    util_text_print(site->out, "\tje\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n", number, "n", 0U,
                    number, "a", 0U);
    util_text_print(&work->stubs,
                    LABEL_FORMAT ":\n\tcall\theadroom_thread_begin\n\tjmp\t" LABEL_FORMAT "\n",
                    number, "n", 0U, number, "a", 0U);
}

static void store_slot(struct site *site, uint32_t number)
{
    if (site->work->options->shared) {
        uint32_t scratch = site_take(site, 0);
        util_text_print(site->out,
                        "\tmovq\theadroom_slot@gottpoff(%%rip), %s\n\tmovq\t%s, %%fs:(%s)\n",
                        register_names[scratch], register_names[number], register_names[scratch]);
        site_give(site, scratch);
    } else {
        util_text_print(site->out, "\tmovq\t%s, %%fs:headroom_slot@tpoff\n",
                        register_names[number]);
    }
}

/*
 * The record of this function in its caller's context, into r11: what the caller's slot points to
 * if that is a record of this function (paper §4.2), else the runtime finds or makes it. Before the
 * frame is made: the runtime looks at the return address.
 */
static void emit_find_record(struct site *site)
{
    struct work *work = site->work;
    unsigned number = work->number;
    site_claim(site, BASE_R11);
    site_load_word(site, "headroom_slot", BASE_R11);
    util_text_print(site->out,
                    "\ttestq\t%%r11, %%r11\n\tje\t" LABEL_FORMAT "\n"
                    "\tmovq\t(%%r11), %%r11\n\ttestq\t%%r11, %%r11\n\tje\t" LABEL_FORMAT "\n",
                    number, "n", 0U, number, "n", 0U);
    uint32_t own = site_take_on_entry(site);
    util_text_print(site->out, "\tleaq\t" LABEL_FORMAT "(%%rip), %s\n\tcmpq\t%s, (%%r11)\n", number,
                    "m", 0U, register_names[own], register_names[own]);
    site_give_on_entry(site, own);
    util_text_print(site->out, "\tjne\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n", number, "n", 0U,
                    number, "a", 0U);
    util_text_print(&work->stubs,
                    LABEL_FORMAT ":\n\tleaq\t" LABEL_FORMAT
                                 "(%%rip), %%r11\n\tcall\theadroom_enter\n\tjmp\t" LABEL_FORMAT
                                 "\n",
                    number, "n", 0U, number, "m", 0U, number, "a", 0U);
}

static void emit_frame(struct site *site)
{
    struct work *work = site->work;
    unsigned bytes = work->frame_bytes;
    if (work->chained) {
        util_text_print(site->out, "\tleaq\t-%u(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset %u\n",
                        bytes - 8, bytes - 8);
        util_text_print(site->out, "\tpushq\t%u(%%rsp)\n\t.cfi_adjust_cfa_offset 8\n", bytes - 8);
    } else {
        util_text_print(site->out, "\tleaq\t-%u(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset %u\n",
                        bytes, bytes);
    }
    if (work->storage == STORE_SAVED)
        util_text_print(site->out, "\tmovq\t%s, %d(%%rsp)\n\t.cfi_rel_offset %s, %d\n",
                        register_names[work->path_register], work->slots[SLOT_SAVED],
                        register_names[work->path_register], work->slots[SLOT_SAVED]);
}

void emit_entry(struct site *site)
{
    struct work *work = site->work;
    if (has_contexts(work))
        emit_find_record(site);
    else if (work->counts_here)
        emit_begin(site);
    if (site->spilled_count) /* there are no slots yet */
        work->reason = INSTRUMENTED_SKIP_FLAGS;
    if (work->framed)
        emit_frame(site);
    if (has_contexts(work)) {
        util_text_print(site->out, "\tincq\t%zu(%%r11)\n",
                        offsetof(struct instrumented_record, count));
        if (work->framed) {
            struct operand record = site_slot(site, SLOT_RECORD);
            util_text_print(site->out, "\tmovq\t%%r11, %s\n", record.text);
        }
        if (work->call_sites) {
            struct operand entry = site_slot(site, SLOT_ENTRY);
            site_load_word(site, "headroom_slot", BASE_R11);
            util_text_print(site->out, "\tmovq\t%%r11, %s\n", entry.text);
        }
        site_give(site, BASE_R11);
    }
    emit_operations(site, NUMBERING_AT_ROOT);
    cycles_begin(site, true);
}

void emit_exit(struct site *site)
{
    struct work *work = site->work;
    if (!work->framed)
        return;
    if (site->rsp != 0) {
        work->reason = INSTRUMENTED_SKIP_STACK;
        return;
    }
    if (has_contexts(work) && work->call_sites) {
        struct operand entry = site_slot(site, SLOT_ENTRY);
        uint32_t scratch = site_take(site, 0);
        util_text_print(site->out, "\tmovq\t%s, %s\n", entry.text, register_names[scratch]);
        store_slot(site, scratch);
        site_give(site, scratch);
    }
    site_end(site);
    util_text_print(site->out, "\t.cfi_remember_state\n");
    if (work->storage == STORE_SAVED)
        util_text_print(site->out, "\tmovq\t%d(%%rsp), %s\n\t.cfi_restore %s\n",
                        work->slots[SLOT_SAVED], register_names[work->path_register],
                        register_names[work->path_register]);
    util_text_print(site->out, "\tleaq\t%u(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset -%u\n",
                    work->frame_bytes, work->frame_bytes);
}

void emit_after_exit(struct site *site)
{
    if (site->work->framed)
        util_text_print(site->out, "\t.cfi_restore_state\n");
}

void emit_call(struct site *site, uint32_t call_site)
{
    struct operand record = site_slot(site, SLOT_RECORD);
    uint32_t scratch = site_take(site, 0);
    util_text_print(site->out, "\tmovq\t%s, %s\n\tleaq\t%zu(%s), %s\n", record.text,
                    register_names[scratch],
                    sizeof(struct instrumented_record) + 8 * (size_t)call_site,
                    register_names[scratch], register_names[scratch]);
    store_slot(site, scratch);
    site_give(site, scratch);
}
