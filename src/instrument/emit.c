// SPDX-License-Identifier: MIT
/*
 * The added instructions. Registers that are dead where they stand serve as scratch; where there
 * are too few, live ones are put into the frame's spill slots meanwhile. Additions to the path's
 * number are `lea`, so that flags survive; what must change flags where they are live saves them by
 * lahf and seto: pushf would write below the stack pointer, where leaf functions have their data.
 */
#include "instrument/work.h"

#include <string.h>

static const char *const names64[] = {"%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp",
                                      "%rsi", "%rdi", "%r8",  "%r9",  "%r10", "%r11",
                                      "%r12", "%r13", "%r14", "%r15"};
static const char *const names32[] = {"%eax",  "%ecx",  "%edx",  "%ebx", "%esp",  "%ebp",
                                      "%esi",  "%edi",  "%r8d",  "%r9d", "%r10d", "%r11d",
                                      "%r12d", "%r13d", "%r14d", "%r15d"};

/* Those that instructions encode shortest and calling conventions need least come first. */
static const uint8_t preferred[] = {BASE_R11, BASE_RCX, BASE_RSI, BASE_RDI, BASE_R8,
                                    BASE_R9,  BASE_R10, BASE_RDX, BASE_RAX, BASE_RBX,
                                    BASE_R12, BASE_R13, BASE_R14, BASE_R15, BASE_RBP};

/* ---- sites ------------------------------------------------------------------------------------
 */

struct site site_before(struct work *work, uint32_t statement, struct text *out)
{
    uint32_t index = asm_index(work->function, statement);
    const struct asm_live *live = &work->live[index];
    return (struct site){
        .work = work,
        .out = out,
        .dead = ~live->registers & 0xffff & ~BIT(BASE_RSP),
        .flags = live->flags,
        .rsp = work->stack[index].rsp,
        .rbp = work->stack[index].rbp,
        .cfa_is_stack = work->cfa_is_stack[index],
        .flags_in = -1,
    };
}

struct operand slot_at(struct site *site, enum slot_use use)
{
    struct operand operand = {"0(%rsp)"};
    struct work *work = site->work;
    if (work->slots[use] < 0) {
        if (use < SLOT_SPILL)
            work->reason = BUILT_SKIP_STACK;
        else if (work->spills_wanted <= use - SLOT_SPILL)
            work->spills_wanted = use - SLOT_SPILL + 1U;
    } else if (site->rsp != ASM_UNKNOWN) {
        snprintf(operand.text, sizeof operand.text, "%d(%%rsp)", site->rsp + work->slots[use]);
    } else if (site->rbp != ASM_UNKNOWN) {
        snprintf(operand.text, sizeof operand.text, "%d(%%rbp)", site->rbp + work->slots[use]);
    } else {
        work->reason = BUILT_SKIP_STACK;
    }
    return operand;
}

static void spill(struct site *site, uint32_t number)
{
    if (site->spilled_count == BASE_COUNT(site->spilled)) {
        site->work->reason = BUILT_SKIP_FLAGS;
        return;
    }
    struct operand slot = slot_at(site, (enum slot_use)(SLOT_SPILL + site->spilled_count));
    text_add(site->out, "\tmovq\t%s, %s\n", names64[number], slot.text);
    site->spilled[site->spilled_count++] = number;
    site->dead |= BIT(number);
}

void claim(struct site *site, uint32_t number)
{
    if (!(site->dead & BIT(number)))
        spill(site, number);
    site->busy |= BIT(number);
}

/* Registers that are no scratch, dead or not. */
static uint32_t reserved(const struct site *site)
{
    const struct work *work = site->work;
    uint32_t avoid = site->busy | BIT(BASE_RSP);
    if (work->storage == STORE_REGISTER || work->storage == STORE_SAVED)
        avoid |= BIT(work->path_register);
    if (site->rbp != ASM_UNKNOWN)
        avoid |= BIT(BASE_RBP);
    return avoid;
}

/* Any register but those in `avoid`. */
static uint32_t take(struct site *site, uint32_t avoid)
{
    avoid |= reserved(site);
    for (size_t i = 0; i < 2 * BASE_COUNT(preferred); i++) {
        uint32_t number = preferred[i % BASE_COUNT(preferred)];
        if (avoid & BIT(number))
            continue;
        if (i >= BASE_COUNT(preferred))
            spill(site, number);
        if (site->dead & BIT(number)) {
            site->busy |= BIT(number);
            return number;
        }
    }
    site->work->reason = BUILT_SKIP_FLAGS;
    return BASE_R11;
}

void give(struct site *site, uint32_t number)
{
    site->busy &= ~BIT(number);
}

/* The same before there are slots. On entry nothing stands below the stack pointer yet, and signals
   leave 128 bytes there alone: what is live is kept in them, up to give_on_entry; no call between.
 */
static uint32_t take_on_entry(struct site *site)
{
    if (site->dead & ~reserved(site))
        return take(site, 0);
    text_add(site->out, "\tmovq\t%s, -8(%%rsp)\n", names64[BASE_RAX]);
    site->busy |= BIT(BASE_RAX);
    return BASE_RAX;
}

/* Leaves flags as they are. */
static void give_on_entry(struct site *site, uint32_t number)
{
    if (!(site->dead & BIT(number)))
        text_add(site->out, "\tmovq\t-8(%%rsp), %s\n", names64[number]);
    give(site, number);
}

/* Registers that reading the time takes later, when others are in use. */
static uint32_t of_rdtsc(const struct work *work)
{
    return has_cycles(work) ? BIT(BASE_RAX) | BIT(BASE_RDX) : 0;
}

void save_flags(struct site *site)
{
    if (!site->flags || site->flags_in >= 0)
        return;
    claim(site, BASE_RAX);
    uint32_t kept = take(site, BIT(BASE_R11) | of_rdtsc(site->work));
    text_add(site->out, "\tlahf\n\tseto\t%%al\n\tmovq\t%%rax, %s\n", names64[kept]);
    site->flags_in = (int)kept;
    give(site, BASE_RAX);
}

/* Gives back all but the first `left`. */
static void unspill(struct site *site, uint32_t left)
{
    while (site->spilled_count > left) {
        uint32_t number = site->spilled[--site->spilled_count];
        struct operand slot = slot_at(site, (enum slot_use)(SLOT_SPILL + site->spilled_count));
        text_add(site->out, "\tmovq\t%s, %s\n", slot.text, names64[number]);
    }
}

void site_end(struct site *site)
{
    if (site->flags_in >= 0) {
        text_add(site->out, "\tmovq\t%s, %%rax\n\taddb\t$127, %%al\n\tsahf\n",
                 names64[site->flags_in]);
        give(site, (uint32_t)site->flags_in);
        site->flags_in = -1;
    }
    unspill(site, 0);
}

struct site site_branch(const struct site *site)
{
    return *site;
}

void site_join(struct site *branch, const struct site *site)
{
    unspill(branch, site->spilled_count);
}

/* ---- operations on paths
 * ------------------------------------------------------------------------- */

static bool fits(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

static void emit_set(struct site *site, int64_t value)
{
    struct work *work = site->work;
    if (work->storage != STORE_SLOT) {
        if (value >= 0 && value <= UINT32_MAX)
            text_add(site->out, "\tmovl\t$%lld, %s\n", (long long)value,
                     names32[work->path_register]);
        else
            text_add(site->out, "\tmovabsq\t$%lld, %s\n", (long long)value,
                     names64[work->path_register]);
        return;
    }
    struct operand slot = slot_at(site, SLOT_PATH);
    if (fits(value)) {
        text_add(site->out, "\tmovq\t$%lld, %s\n", (long long)value, slot.text);
        return;
    }
    uint32_t scratch = take(site, 0);
    text_add(site->out, "\tmovabsq\t$%lld, %s\n\tmovq\t%s, %s\n", (long long)value,
             names64[scratch], names64[scratch], slot.text);
    give(site, scratch);
}

static void add_constant(struct site *site, uint32_t number, int64_t value)
{
    if (fits(value)) {
        if (value)
            text_add(site->out, "\tleaq\t%lld(%s), %s\n", (long long)value, names64[number],
                     names64[number]);
        return;
    }
    uint32_t scratch = take(site, 0);
    text_add(site->out, "\tmovabsq\t$%lld, %s\n\tleaq\t(%s,%s), %s\n", (long long)value,
             names64[scratch], names64[number], names64[scratch], names64[number]);
    give(site, scratch);
}

static void emit_add(struct site *site, int64_t value)
{
    const struct work *work = site->work;
    if (work->storage != STORE_SLOT) {
        add_constant(site, (uint32_t)work->path_register, value);
        return;
    }
    struct operand slot = slot_at(site, SLOT_PATH);
    if (fits(value) && (!site->flags || site->flags_in >= 0)) {
        text_add(site->out, "\taddq\t$%lld, %s\n", (long long)value, slot.text);
        return;
    }
    uint32_t scratch = take(site, 0);
    text_add(site->out, "\tmovq\t%s, %s\n", slot.text, names64[scratch]);
    add_constant(site, scratch, value);
    text_add(site->out, "\tmovq\t%s, %s\n", names64[scratch], slot.text);
    give(site, scratch);
}

/* The register that holds the path's number; loads it if it is in a slot. */
static uint32_t path_number(struct site *site, uint32_t avoid)
{
    const struct work *work = site->work;
    if (work->storage != STORE_SLOT)
        return (uint32_t)work->path_register;
    struct operand slot = slot_at(site, SLOT_PATH);
    uint32_t scratch = take(site, avoid);
    text_add(site->out, "\tmovq\t%s, %s\n", slot.text, names64[scratch]);
    return scratch;
}

static void give_number(struct site *site, uint32_t number)
{
    if (site->work->storage == STORE_SLOT)
        give(site, number);
}

/* A thread-local word of the runtime's. */
static void load_word(struct site *site, const char *name, uint32_t number)
{
    if (site->work->options->shared)
        text_add(site->out, "\tmovq\t%s@gottpoff(%%rip), %s\n\tmovq\t%%fs:(%s), %s\n", name,
                 names64[number], names64[number], names64[number]);
    else
        text_add(site->out, "\tmovq\t%%fs:%s@tpoff, %s\n", name, names64[number]);
}

/* Bytes from a record's start to the function's cells. */
static long long record_cells(const struct work *work)
{
    return (long long)(sizeof(struct built_record) + 8 * (size_t)work->call_sites);
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
        uint32_t scratch = take(site, 0);
        load_word(site, "headroom_delta", number);
        text_add(site->out, "\tleaq\t%s(%%rip), %s\n\taddq\t%s, %s\n", address, names64[scratch],
                 names64[scratch], names64[number]);
        give(site, scratch);
    } else {
        text_add(site->out, "\tleaq\t%s(%%rip), %s\n\taddq\t%%fs:headroom_delta@tpoff, %s\n",
                 address, names64[number], names64[number]);
    }
}

/* count[path + value]++, or count[value]++ if path < 0. */
static void count_in_array(struct site *site, int path, int64_t value)
{
    struct work *work = site->work;
    char address[64];
    cell(work, value, address);
    uint32_t base = take(site, of_rdtsc(work));
    if (has_contexts(work)) {
        struct operand record = slot_at(site, SLOT_RECORD);
        text_add(site->out, "\tmovq\t%s, %s\n", record.text, names64[base]);
    } else if (work->options->absolute) {
        load_word(site, "headroom_delta", base);
    } else {
        thread_cell(site, address, base);
        address[0] = 0;
    }
    char registers[24];
    if (path < 0)
        snprintf(registers, sizeof registers, "(%s)", names64[base]);
    else
        snprintf(registers, sizeof registers, "(%s,%s,8)", names64[base], names64[path]);
    text_add(site->out, "\tincq\t%s%s\n", address, registers);
    cycles_end(site, address, registers);
    give(site, base);
}

void call_runtime(struct site *site, const char *name)
{
    bool below = site->work->function->flags & ASM_LEAF; /* data below the stack pointer */
    if (below)
        text_add(site->out, "\tleaq\t-128(%%rsp), %%rsp\n%s",
                 site->cfa_is_stack ? "\t.cfi_adjust_cfa_offset 128\n" : "");
    text_add(site->out, "\tcall\t%s\n", name);
    if (below)
        text_add(site->out, "\tleaq\t128(%%rsp), %%rsp\n%s",
                 site->cfa_is_stack ? "\t.cfi_adjust_cfa_offset -128\n" : "");
}

static void count_in_hash(struct site *site, int path, int64_t value)
{
    struct work *work = site->work;
    char address[64];
    cell(work, 0, address);
    cycles_elapsed(site);
    claim(site, BASE_RAX);
    claim(site, BASE_R11);
    if (path < 0) {
        text_add(site->out, "\tmovabsq\t$%lld, %%rax\n", (long long)value);
    } else {
        if (path != BASE_RAX)
            text_add(site->out, "\tmovq\t%s, %%rax\n", names64[path]);
        add_constant(site, BASE_RAX, value);
    }
    if (has_contexts(work)) {
        struct operand record = slot_at(site, SLOT_RECORD);
        text_add(site->out, "\tmovq\t%s, %%r11\n\tleaq\t%s(%%r11), %%r11\n", record.text, address);
    } else {
        thread_cell(site, address, BASE_R11);
    }
    call_runtime(site, has_cycles(work) ? "headroom_count_path_cycles" : "headroom_count_path");
    give(site, BASE_RAX);
    give(site, BASE_R11);
    if (has_cycles(work))
        give(site, BASE_RDX);
}

static void emit_count(struct site *site, bool has_number, int64_t value)
{
    int path = -1;
    save_flags(site);
    if (has_number)
        path = (int)path_number(site, BIT(BASE_R11) | BIT(BASE_RAX) | of_rdtsc(site->work));
    if (site->work->table_kind == BUILT_TABLE_HASH)
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
    const struct paths_operation *operations = plan_at(site->work, place, &count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = operations[i].value * cells_per_path(site->work);
        switch (operations[i].kind) {
        case PATHS_SET: emit_set(site, value); break;
        case PATHS_ADD: emit_add(site, value); break;
        case PATHS_COUNT: emit_count(site, true, value); break;
        default: emit_count(site, false, value);
        }
    }
}

/* ---- entry, exit, calls
 * -------------------------------------------------------------------------- */

/* A thread that comes here first has no counters yet. Registers hold arguments: the runtime
   preserves them all. */
static void emit_begin(struct site *site)
{
    struct work *work = site->work;
    unsigned number = work->number;
    if (work->options->shared) {
        uint32_t scratch = take_on_entry(site);
        load_word(site, "headroom_delta", scratch);
        text_add(site->out, "\ttestq\t%s, %s\n", names64[scratch], names64[scratch]);
        give_on_entry(site, scratch);
    } else {
        text_add(site->out, "\tcmpq\t$0, %%fs:headroom_delta@tpoff\n");
    }
    text_add(site->out, "\tje\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n", number, "n", 0U, number, "a",
             0U);
    text_add(&work->stubs,
             LABEL_FORMAT ":\n\tcall\theadroom_thread_begin\n\tjmp\t" LABEL_FORMAT "\n", number,
             "n", 0U, number, "a", 0U);
}

static void store_slot(struct site *site, uint32_t number)
{
    if (site->work->options->shared) {
        uint32_t scratch = take(site, 0);
        text_add(site->out, "\tmovq\theadroom_slot@gottpoff(%%rip), %s\n\tmovq\t%s, %%fs:(%s)\n",
                 names64[scratch], names64[number], names64[scratch]);
        give(site, scratch);
    } else {
        text_add(site->out, "\tmovq\t%s, %%fs:headroom_slot@tpoff\n", names64[number]);
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
    claim(site, BASE_R11);
    load_word(site, "headroom_slot", BASE_R11);
    text_add(site->out,
             "\ttestq\t%%r11, %%r11\n\tje\t" LABEL_FORMAT "\n"
             "\tmovq\t(%%r11), %%r11\n\ttestq\t%%r11, %%r11\n\tje\t" LABEL_FORMAT "\n",
             number, "n", 0U, number, "n", 0U);
    uint32_t own = take_on_entry(site);
    text_add(site->out, "\tleaq\t" LABEL_FORMAT "(%%rip), %s\n\tcmpq\t%s, (%%r11)\n", number, "m",
             0U, names64[own], names64[own]);
    give_on_entry(site, own);
    text_add(site->out, "\tjne\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n", number, "n", 0U, number,
             "a", 0U);
    text_add(&work->stubs,
             LABEL_FORMAT ":\n\tleaq\t" LABEL_FORMAT
                          "(%%rip), %%r11\n\tcall\theadroom_enter\n\tjmp\t" LABEL_FORMAT "\n",
             number, "n", 0U, number, "m", 0U, number, "a", 0U);
}

static void emit_frame(struct site *site)
{
    struct work *work = site->work;
    unsigned bytes = work->frame_bytes;
    if (work->chained) {
        text_add(site->out, "\tleaq\t-%u(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset %u\n", bytes - 8,
                 bytes - 8);
        text_add(site->out, "\tpushq\t%u(%%rsp)\n\t.cfi_adjust_cfa_offset 8\n", bytes - 8);
    } else {
        text_add(site->out, "\tleaq\t-%u(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset %u\n", bytes,
                 bytes);
    }
    if (work->storage == STORE_SAVED)
        text_add(site->out, "\tmovq\t%s, %d(%%rsp)\n\t.cfi_rel_offset %s, %d\n",
                 names64[work->path_register], work->slots[SLOT_SAVED],
                 names64[work->path_register], work->slots[SLOT_SAVED]);
}

void emit_entry(struct site *site)
{
    struct work *work = site->work;
    if (has_contexts(work))
        emit_find_record(site);
    else if (work->counts_here)
        emit_begin(site);
    if (site->spilled_count) /* there are no slots yet */
        work->reason = BUILT_SKIP_FLAGS;
    if (work->framed)
        emit_frame(site);
    if (has_contexts(work)) {
        text_add(site->out, "\tincq\t%zu(%%r11)\n", offsetof(struct built_record, count));
        if (work->framed) {
            struct operand record = slot_at(site, SLOT_RECORD);
            text_add(site->out, "\tmovq\t%%r11, %s\n", record.text);
        }
        if (work->call_sites) {
            struct operand entry = slot_at(site, SLOT_ENTRY);
            load_word(site, "headroom_slot", BASE_R11);
            text_add(site->out, "\tmovq\t%%r11, %s\n", entry.text);
        }
        give(site, BASE_R11);
    }
    emit_operations(site, PATHS_AT_ROOT);
    cycles_begin(site, true);
}

void emit_exit(struct site *site)
{
    struct work *work = site->work;
    if (!work->framed)
        return;
    if (site->rsp != 0) {
        work->reason = BUILT_SKIP_STACK;
        return;
    }
    if (has_contexts(work) && work->call_sites) {
        struct operand entry = slot_at(site, SLOT_ENTRY);
        uint32_t scratch = take(site, 0);
        text_add(site->out, "\tmovq\t%s, %s\n", entry.text, names64[scratch]);
        store_slot(site, scratch);
        give(site, scratch);
    }
    site_end(site);
    text_add(site->out, "\t.cfi_remember_state\n");
    if (work->storage == STORE_SAVED)
        text_add(site->out, "\tmovq\t%d(%%rsp), %s\n\t.cfi_restore %s\n", work->slots[SLOT_SAVED],
                 names64[work->path_register], names64[work->path_register]);
    text_add(site->out, "\tleaq\t%u(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset -%u\n",
             work->frame_bytes, work->frame_bytes);
}

void emit_after_exit(struct site *site)
{
    if (site->work->framed)
        text_add(site->out, "\t.cfi_restore_state\n");
}

void emit_call(struct site *site, uint32_t call_site)
{
    struct operand record = slot_at(site, SLOT_RECORD);
    uint32_t scratch = take(site, 0);
    text_add(site->out, "\tmovq\t%s, %s\n\tleaq\t%zu(%s), %s\n", record.text, names64[scratch],
             sizeof(struct built_record) + 8 * (size_t)call_site, names64[scratch],
             names64[scratch]);
    store_slot(site, scratch);
    give(site, scratch);
}

/* ---- accesses
 * -------------------------------------------------------------------------------------- */

/* The operand of a lane of the thread's count. */
static struct operand access_count(struct site *site, uint32_t lane)
{
    struct operand operand;
    unsigned offset = lane * (unsigned)sizeof(int64_t);
    snprintf(operand.text, sizeof operand.text, "%%fs:headroom_accesses@tpoff+%u", offset);
    if (site->work->options->shared) {
        uint32_t scratch = take(site, 0);
        text_add(site->out, "\tmovq\theadroom_accesses@gottpoff(%%rip), %s\n", names64[scratch]);
        snprintf(operand.text, sizeof operand.text, "%%fs:%u(%s)", offset, names64[scratch]);
        give(site, scratch); /* nothing else is taken before the count has been used */
    }
    return operand;
}

/* Where the call frame is: the code stands at the function's end, away from the directives that
 * tell. */
static void say_frame(struct text *text, const struct site *site, int more)
{
    int bytes = (int)site->work->frame_bytes + 8 + more;
    if (site->rsp != ASM_UNKNOWN)
        text_add(text, "\t.cfi_def_cfa %%rsp, %d\n", site->rsp + bytes);
    else if (site->rbp != ASM_UNKNOWN)
        text_add(text, "\t.cfi_def_cfa %%rbp, %d\n", site->rbp + bytes - more);
}

/*
 * The access that the agent waits for is among those just counted: out of line, as that is seldom.
 * headroom_access_due takes its argument off the stack.
 */
static void emit_due(struct site *site, const struct access *access)
{
    struct work *work = site->work;
    bool below = work->function->flags & ASM_LEAF; /* data below the stack pointer */
    unsigned number = work->number, serial = access->serial;
    text_add(site->out, "\tjns\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n", number, "d", serial, number,
             "g", serial);
    text_add(&work->stubs, LABEL_FORMAT ":\n", number, "d", serial);
    say_frame(&work->stubs, site, 0);
    if (below) {
        text_add(&work->stubs, "\tleaq\t-128(%%rsp), %%rsp\n");
        say_frame(&work->stubs, site, 128);
    }
    text_add(&work->stubs, "\tpushq\t$%lld\n\tcall\theadroom_access_due\n",
             ((long long)access->ahead * BUILT_LANES + access->lane) * BUILT_DUE_EACH +
                 access->each);
    if (below)
        text_add(&work->stubs, "\tleaq\t128(%%rsp), %%rsp\n");
    text_add(&work->stubs, "\tjmp\t" LABEL_FORMAT "\n", number, "g", serial);
}

void emit_access(struct site *site, const struct access *access)
{
    if (access->each)
        site->busy |= BIT(BASE_RCX);
    save_flags(site);
    struct operand amount = {"%rcx"};
    if (access->each > 1) {
        uint32_t scratch = take(site, 0);
        text_add(site->out, "\tleaq\t(,%%rcx,%u), %s\n", access->each, names64[scratch]);
        snprintf(amount.text, sizeof amount.text, "%s", names64[scratch]);
    } else if (!access->each) {
        snprintf(amount.text, sizeof amount.text, "$%lld", (long long)access->value);
    }
    struct operand count = access_count(site, access->lane);
    text_add(site->out, "\t%s\t%s, %s\n", access->back ? "subq" : "addq", amount.text, count.text);
    if (!access->back && (access->each || access->value > 0))
        emit_due(site, access);
}
