// SPDX-License-Identifier: MIT
/*
 * Places for added code. Registers that are dead there serve as scratch; where there are too few,
 * live ones are put into the frame's spill slots meanwhile. What must change flags where they are
 * live saves them by lahf and seto: pushf would write below the stack pointer, where leaf functions
 * have their data.
 */
#include "instrument/internal.h"

const char *const register_names[] = {"%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp",
                                      "%rsi", "%rdi", "%r8",  "%r9",  "%r10", "%r11",
                                      "%r12", "%r13", "%r14", "%r15"};
/* Those that instructions encode shortest and calling conventions need least come first. */
static const uint8_t preferred[] = {BASE_R11, BASE_RCX, BASE_RSI, BASE_RDI, BASE_R8,
                                    BASE_R9,  BASE_R10, BASE_RDX, BASE_RAX, BASE_RBX,
                                    BASE_R12, BASE_R13, BASE_R14, BASE_R15, BASE_RBP};

struct site site_before(struct work *work, uint32_t statement, struct util_text *out)
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

struct operand site_slot(struct site *site, enum slot_use use)
{
    struct operand operand = {"0(%rsp)"};
    struct work *work = site->work;
    if (work->slots[use] < 0) {
        if (use < SLOT_SPILL)
            work->reason = INSTRUMENTED_SKIP_STACK;
        else if (work->spills_wanted <= use - SLOT_SPILL)
            work->spills_wanted = use - SLOT_SPILL + 1U;
    } else if (site->rsp != ASM_UNKNOWN) {
        snprintf(operand.text, sizeof operand.text, "%d(%%rsp)", site->rsp + work->slots[use]);
    } else if (site->rbp != ASM_UNKNOWN) {
        snprintf(operand.text, sizeof operand.text, "%d(%%rbp)", site->rbp + work->slots[use]);
    } else {
        work->reason = INSTRUMENTED_SKIP_STACK;
    }
    return operand;
}

static void spill(struct site *site, uint32_t number)
{
    if (site->spilled_count == BASE_COUNT(site->spilled)) {
        site->work->reason = INSTRUMENTED_SKIP_FLAGS;
        return;
    }
    struct operand slot = site_slot(site, (enum slot_use)(SLOT_SPILL + site->spilled_count));
    util_text_print(site->out, "\tmovq\t%s, %s\n", register_names[number], slot.text);
    site->spilled[site->spilled_count++] = number;
    site->dead |= BIT(number);
}

void site_claim(struct site *site, uint32_t number)
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

uint32_t site_take(struct site *site, uint32_t avoid)
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
    site->work->reason = INSTRUMENTED_SKIP_FLAGS;
    return BASE_R11;
}

void site_give(struct site *site, uint32_t number)
{
    site->busy &= ~BIT(number);
}

uint32_t site_take_on_entry(struct site *site)
{
    if (site->dead & ~reserved(site))
        return site_take(site, 0);
    util_text_print(site->out, "\tmovq\t%s, -8(%%rsp)\n", register_names[BASE_RAX]);
    site->busy |= BIT(BASE_RAX);
    return BASE_RAX;
}

void site_give_on_entry(struct site *site, uint32_t number)
{
    if (!(site->dead & BIT(number)))
        util_text_print(site->out, "\tmovq\t-8(%%rsp), %s\n", register_names[number]);
    site_give(site, number);
}

void site_save_flags(struct site *site)
{
    if (!site->flags || site->flags_in >= 0)
        return;
    site_claim(site, BASE_RAX);
    uint32_t kept = site_take(site, BIT(BASE_R11) | rdtsc_registers(site->work));
    util_text_print(site->out, "\tlahf\n\tseto\t%%al\n\tmovq\t%%rax, %s\n", register_names[kept]);
    site->flags_in = (int)kept;
    site_give(site, BASE_RAX);
}

/* Gives back all but the first `left`. */
static void unspill(struct site *site, uint32_t left)
{
    while (site->spilled_count > left) {
        uint32_t number = site->spilled[--site->spilled_count];
        struct operand slot = site_slot(site, (enum slot_use)(SLOT_SPILL + site->spilled_count));
        util_text_print(site->out, "\tmovq\t%s, %s\n", slot.text, register_names[number]);
    }
}

void site_end(struct site *site)
{
    if (site->flags_in >= 0) {
        util_text_print(site->out, "\tmovq\t%s, %%rax\n\taddb\t$127, %%al\n\tsahf\n",
                        register_names[site->flags_in]);
        site_give(site, (uint32_t)site->flags_in);
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

void site_load_word(struct site *site, const char *name, uint32_t number)
{
    if (site->work->options->shared)
        util_text_print(site->out, "\tmovq\t%s@gottpoff(%%rip), %s\n\tmovq\t%%fs:(%s), %s\n", name,
                        register_names[number], register_names[number], register_names[number]);
    else
        util_text_print(site->out, "\tmovq\t%%fs:%s@tpoff, %s\n", name, register_names[number]);
}

void site_call_runtime(struct site *site, const char *name)
{
    bool below = site->work->function->flags & ASM_LEAF; /* data below the stack pointer */
    if (below)
        util_text_print(site->out, "\tleaq\t-128(%%rsp), %%rsp\n%s",
                        site->cfa_is_stack ? "\t.cfi_adjust_cfa_offset 128\n" : "");
    util_text_print(site->out, "\tcall\t%s\n", name);
    if (below)
        util_text_print(site->out, "\tleaq\t128(%%rsp), %%rsp\n%s",
                        site->cfa_is_stack ? "\t.cfi_adjust_cfa_offset -128\n" : "");
}
