// SPDX-License-Identifier: MIT
/*
 * One trial: a thread that comes to the loop's head executes a chain of known length (how long a cycle takes at the moment), the
 * clone, and then the loop's copy, from which it goes on in the loop itself or behind it.
 *
 * Entries are preferred: the loop is left first, and then the next time that its head is executed is the first iteration. If
 * it is not left within some milliseconds, any iteration will do.
 */
#include "trial/internal.h"

#include <math.h>
#include <string.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum {
    LEAVE_US = 2000,     /* for the loop to be left */
    RETURN_US = 10000,   /* to come to its head again */
    EXECUTE_US = 4000,   /* of a clone, or of the loop's copy, before it is cut off */
    REST_US = 20000,     /* for what follows the loop in its copy */
    LONG_TICKS = 200000, /* of which the clock of a thread knows more than its noise */
    TURNS_LEAST = 50,    /* in what was cut off */
};

/* Where things are in the process. */
struct places {
    uint64_t yard, text; /* text: room for code */
    uint64_t text_end;   /* of what is used: an int3 */
    uint64_t bias;       /* of the loop's module */
};

struct attempt {
    struct trial_service *service;
    struct trial_hot *hot;
    struct inject_loan loan;
    struct places places;
    struct trial_pair pair;
    double stamps;  /* ticks */
    double own_ns;  /* CPU time in which the thread did its own work */
    double stop_ns; /* CPU time of a thread to go on and to stop */
    uint64_t head;  /* run-time address */
};

/* ---- where things are -------------------------------------------------------------------------- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The room for code that is nearest: operands of the loop's copy are relative to it. */
static bool find_places(struct attempt *attempt)
{
    struct inject_part parts[INJECT_PARTS_MAX];
    struct places *places = &attempt->places;
    const struct trial_module *module = attempt->hot->module;
    size_t count = inject_borrow_parts(&attempt->loan, module->path, WIRE_CLONE_FILE, parts);
    uint64_t vaddr, head = attempt->hot->clone.made->head;
    *places = (struct places){0};
    attempt->head = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].named || !code_vaddr(module->code, parts[i].offset, &vaddr) ||
            head - vaddr >= parts[i].bytes)
            continue;
        places->bias = parts[i].start - vaddr;
        attempt->head = head + places->bias;
    }
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].named)
            continue;
        if (!parts[i].executable)
            places->yard = parts[i].start;
        else if (!places->text ||
                 distance(parts[i].start, attempt->head) < distance(places->text, attempt->head))
            places->text = parts[i].start;
    }
    return attempt->head && places->yard && places->text && places->yard < UINT64_C(1) << 31;
}

/* Is the loop there as it is in the file? */
static bool is_same_code(const struct attempt *attempt)
{
    const struct trial_function *function = attempt->hot->function;
    const struct cfg *flow = function->flow;
    for (uint32_t b = 0; b < flow->blocks_count; b++) {
        const struct cfg_block *block = &flow->blocks[b];
        uint8_t there[4096];
        size_t bytes = (size_t)(block->end - block->start);
        if (block->loop != attempt->hot->loop)
            continue;
        if (bytes > sizeof there ||
            !inject_borrow_read(&attempt->loan, block->start + attempt->places.bias, there,
                                bytes) ||
            memcmp(there, function->bytes + (block->start - function->start), bytes) != 0)
            return false;
    }
    return true;
}

/* ---- code in the process ----------------------------------------------------------------------- */

static bool read_process(void *context, uint64_t address, void *out, size_t bytes)
{
    return inject_borrow_read(context, address, out, bytes);
}

static struct base_registers registers_of(const struct user_regs_struct *from)
{
    return (struct base_registers){.general = {from->rax, from->rcx, from->rdx, from->rbx,
                                               from->rsp, from->rbp, from->rsi, from->rdi, from->r8,
                                               from->r9, from->r10, from->r11, from->r12, from->r13,
                                               from->r14, from->r15},
                                   .ip = from->rip,
                                   .flags = from->eflags,
                                   .fs_base = from->fs_base,
                                   .gs_base = from->gs_base};
}

static void prepare_rescue(struct attempt *attempt, const struct wire_clone *made)
{
    struct wire_clone_rescue *rescue = &attempt->service->yard->rescue;
    const struct inject_state *state = attempt->service->state;
    struct base_registers registers = registers_of(&state->registers);
    rescue->end = attempt->places.text_end;
    rescue->mask = attempt->loan.mask;
    rescue->twin = made == attempt->hot->clone.twin;
    for (unsigned e = 0; e < made->exit_count; e++)
        rescue->exits[e] = made->exits[e] + attempt->places.bias;
    memcpy(rescue->general, registers.general, sizeof rescue->general);
    rescue->ip = registers.ip;
    rescue->flags = registers.flags;
    rescue->bytes = (uint32_t)state->bytes;
    memcpy(rescue->vectors, state->vectors, state->bytes);
}

static bool place(struct attempt *attempt, const struct wire_clone *made, uint64_t repeat)
{
    struct trial_service *service = attempt->service;
    struct places *places = &attempt->places;
    struct base_memory memory = {read_process, &attempt->loan};
    struct base_registers registers = registers_of(&attempt->loan.registers);
    size_t used = offsetof(struct wire_clone_yard, lines) + (size_t)made->lines * WIRE_CLONE_LINE;
    memset(&service->yard->control, 0, sizeof service->yard->control);
    service->yard->control.repeat = repeat;
    service->yard->control.limit = (uint64_t)(EXECUTE_US * (double)US * service->ticks_a_ns);
    service->yard->control.leave = places->text_end = places->text + made->code_bytes;
    if (!wire_clone_place(made, places->yard, places->bias, places->text, service->text) ||
        !wire_clone_fill(made, places->bias, &registers, &memory, service->yard))
        return false;
    memset(service->text + made->code_bytes, 0xcc, WIRE_CLONE_ENDS);
    prepare_rescue(attempt, made);
    return inject_borrow_write(&attempt->loan,
                               places->yard + offsetof(struct wire_clone_yard, rescue),
                               &service->yard->rescue, sizeof service->yard->rescue) &&
           inject_borrow_write(&attempt->loan, places->yard, service->yard, used) &&
           inject_borrow_write(&attempt->loan, places->text, service->text,
                               made->code_bytes + WIRE_CLONE_ENDS);
}

static bool read_control(struct attempt *attempt, struct wire_clone_control *control)
{
    return inject_borrow_read(&attempt->loan, attempt->places.yard, control, sizeof *control);
}

static enum inject_executed execute(struct attempt *attempt, uint64_t us)
{
    attempt->loan.registers.rip = attempt->places.text;
    return inject_borrow_execute(&attempt->loan, attempt->places.text_end, us * US);
}

/* What the thread was executing for, however often it lost its processor meanwhile. */
static double executed_ticks(const struct attempt *attempt)
{
    return ((double)attempt->loan.cpu_ns - attempt->stop_ns) * attempt->service->ticks_a_ns;
}

/* The least of the runs that were completed; < 0: none was. */
static double least_ticks(const struct wire_clone_control *control, uint64_t repeat)
{
    double least = -1;
    for (uint64_t i = repeat; i > control->repeat && i <= WIRE_CLONE_REPEATS_MAX; i--)
        if (least < 0 || (double)control->ticks[i] < least)
            least = (double)control->ticks[i];
    return least;
}

/* ---- how long stamps and cycles take ------------------------------------------------------------ */

static bool run_plain(struct attempt *attempt, const struct wire_clone *made, uint64_t repeat,
                      double *ticks)
{
    struct wire_clone_control control;
    if (!place(attempt, made, repeat) || execute(attempt, EXECUTE_US) != INJECT_EXECUTED ||
        !read_control(attempt, &control) || control.repeat != 0)
        return false;
    *ticks = least_ticks(&control, repeat);
    return inject_borrow_restore(&attempt->loan, attempt->service->state);
}

static bool calibrate(struct attempt *attempt)
{
    double chain;
    if (!run_plain(attempt, attempt->service->nothing, WIRE_CLONE_REPEATS_MAX, &attempt->stamps))
        return false;
    attempt->stop_ns = (double)attempt->loan.cpu_ns;
    if (!run_plain(attempt, attempt->service->chain, 3, &chain) || chain <= attempt->stamps)
        return false;
    attempt->pair.ticks_a_cycle = (chain - attempt->stamps) / TRIAL_CHAIN_CYCLES;
    return true;
}

/* ---- how many iterations ------------------------------------------------------------------------ */

static double turns_between(const struct wire_clone *made, uint64_t from, uint64_t to)
{
    int64_t difference = (int64_t)(to - from);
    if (!made->step)
        return 0;
    if (made->counter_bytes == 4)
        difference = (int32_t)(uint32_t)difference;
    return (double)difference / (double)made->step;
}

static uint64_t counter_at(const struct wire_clone *made, const struct user_regs_struct *registers)
{
    return registers_of(registers).general[made->counter];
}

static uint64_t last_counter(const struct wire_clone *made, const struct attempt *attempt,
                             const struct wire_clone_control *control)
{
    return made->counter <= BASE_RDX ? control->last[made->counter]
                                     : counter_at(made, &attempt->loan.registers);
}

/* ---- the clone ---------------------------------------------------------------------------------- */

static bool take_clone(struct attempt *attempt, enum inject_executed executed,
                       const struct wire_clone_control *control, uint64_t repeat)
{
    const struct wire_clone *made = attempt->hot->clone.made;
    const struct user_regs_struct *before = &attempt->service->state->registers;
    struct trial_pair *pair = &attempt->pair;
    uint64_t offset = attempt->loan.registers.rip - attempt->places.text;
    double ticks = least_ticks(control, repeat);
    if (ticks >= 0) { /* each run of them makes as many iterations */
        pair->clone = ticks - attempt->stamps;
        pair->clone_turns = executed == INJECT_EXECUTED
                                ? turns_between(made, counter_at(made, before),
                                                last_counter(made, attempt, control))
                                : 0;
        return pair->clone > 0;
    }
    if (offset < made->loop_start || offset >= made->loop_end)
        return false;
    pair->cut = true;
    pair->clone = executed_ticks(attempt);
    pair->clone_turns =
        turns_between(made, counter_at(made, before), counter_at(made, &attempt->loan.registers));
    return pair->clone_turns >= TURNS_LEAST;
}

/* Whatever comes of it, the thread is again as it was, if that is possible. */
static bool run_clone(struct attempt *attempt, uint64_t repeat)
{
    struct wire_clone_control control;
    if (!place(attempt, attempt->hot->clone.made, repeat))
        return false;
    enum inject_executed executed = execute(attempt, EXECUTE_US);
    bool good = (executed == INJECT_EXECUTED || executed == INJECT_CUT) &&
                read_control(attempt, &control) && take_clone(attempt, executed, &control, repeat);
    return inject_borrow_restore(&attempt->loan, attempt->service->state) && good;
}

/* If some of several runs were completed, how many iterations each makes is seen by one more. */
static bool run_clones(struct attempt *attempt)
{
    if (!run_clone(attempt, WIRE_CLONE_REPEATS_MAX))
        return false;
    if (attempt->pair.cut || attempt->pair.clone_turns != 0 || !attempt->hot->clone.made->step)
        return true;
    double least = attempt->pair.clone;
    if (!run_clone(attempt, 1) || attempt->pair.cut)
        return false;
    attempt->pair.clone = least < attempt->pair.clone ? least : attempt->pair.clone;
    return true;
}

/* ---- the loop itself ---------------------------------------------------------------------------- */

/* The thread has executed the copy to its end: it goes on where the loop would. */
static bool go_behind(struct attempt *attempt, const struct wire_clone_control *control)
{
    const struct wire_clone *twin = attempt->hot->clone.twin;
    struct user_regs_struct *registers = &attempt->loan.registers;
    if (control->exit >= twin->exit_count)
        return false;
    registers->rax = control->last[BASE_RAX];
    registers->rcx = control->last[BASE_RCX];
    registers->rdx = control->last[BASE_RDX];
    registers->eflags = wire_clone_flags(registers->eflags, control->last_flags);
    registers->rip = twin->exits[control->exit] + attempt->places.bias;
    return inject_borrow_move(&attempt->loan);
}

/* In the middle of it: the same place of the loop. */
static bool go_over(struct attempt *attempt)
{
    const struct clone *clone = &attempt->hot->clone;
    uint64_t offset = attempt->loan.registers.rip - attempt->places.text;
    size_t at = BASE_FIRST(i, clone->place_count, clone->places[i].at >= offset);
    if (at == clone->place_count || clone->places[at].at != offset)
        return false;
    attempt->loan.registers.rip = clone->places[at].address + attempt->places.bias;
    return inject_borrow_move(&attempt->loan);
}

static bool take_loop(struct attempt *attempt, enum inject_executed executed,
                      const struct wire_clone_control *control, uint64_t counter)
{
    const struct wire_clone *twin = attempt->hot->clone.twin;
    uint64_t from = counter_at(twin, &attempt->service->state->registers);
    struct trial_pair *pair = &attempt->pair;
    pair->loop_turns = turns_between(twin, from, counter);
    pair->cut |= executed == INJECT_CUT;
    pair->loop = executed_ticks(attempt);
    if (executed == INJECT_CUT)
        return pair->loop_turns >= TURNS_LEAST;
    /* Both are too long where the thread was interrupted, but not for the same reasons. */
    pair->loop = fmin(pair->loop > LONG_TICKS ? pair->loop : INFINITY,
                      (double)control->ticks[1] - attempt->stamps);
    return pair->loop > 0;
}

/*
 * From the copy's code before the loop the thread goes back to where it was: nothing has happened. From that behind
 * it it goes on to the end. Of a fault the program hears when it executes the same instruction in its own place.
 */
static bool run_loop(struct attempt *attempt, bool *lost)
{
    const struct wire_clone *twin = attempt->hot->clone.twin;
    struct wire_clone_control control;
    *lost = false;
    if (!place(attempt, twin, 1))
        return false;
    enum inject_executed executed = execute(attempt, EXECUTE_US);
    attempt->own_ns = (double)attempt->loan.cpu_ns;
    for (unsigned i = 0;; i++) {
        uint64_t offset = attempt->loan.registers.rip - attempt->places.text;
        *lost = attempt->loan.gone;
        if (attempt->loan.gone)
            return false;
        if (executed == INJECT_EXECUTED) {
            *lost = !read_control(attempt, &control) || !go_behind(attempt, &control);
            return !*lost && i == 0 &&
                   take_loop(attempt, executed, &control,
                             counter_at(twin, &attempt->loan.registers));
        }
        uint64_t counter = counter_at(twin, &attempt->loan.registers);
        if (offset < twin->loop_start) {
            *lost = !inject_borrow_restore(&attempt->loan, attempt->service->state);
            return false;
        }
        if (go_over(attempt))
            return executed == INJECT_CUT && read_control(attempt, &control) &&
                   take_loop(attempt, executed, &control, counter);
        executed = inject_borrow_execute(&attempt->loan, attempt->places.text_end, REST_US * US);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static bool is_in_loop(const struct attempt *attempt)
{
    const struct trial_hot *hot = attempt->hot;
    return cfg_loop_at(hot->function->flow, attempt->loan.registers.rip - attempt->places.bias) ==
           hot->loop;
}

/* To the loop's head, at best into its first iteration. */
static bool come_to_head(struct attempt *attempt)
{
    const struct wire_clone *made = attempt->hot->clone.made;
    struct inject_loan *loan = &attempt->loan;
    uint64_t exits[INJECT_STOPS_MAX];
    bool outside = !is_in_loop(attempt);
    for (unsigned e = 0; e < made->exit_count && e < INJECT_STOPS_MAX; e++)
        exits[e] = made->exits[e] + attempt->places.bias;
    if (!outside && made->exit_count && made->exit_count <= INJECT_STOPS_MAX)
        outside = inject_borrow_until(loan, exits, made->exit_count, LEAVE_US * US);
    if (loan->gone || loan->stopped)
        return false;
    attempt->pair.entered = outside;
    return inject_borrow_until(loan, &attempt->head, 1, outside ? RETURN_US * US : LEAVE_US * US);
}

static enum trial_outcome try_it(struct attempt *attempt)
{
    struct inject_loan *loan = &attempt->loan;
    bool lost = false;
    if (!inject_borrow_save(loan, attempt->service->state) || !is_same_code(attempt))
        return TRIAL_REFUSED;
    if (!calibrate(attempt) || !run_clones(attempt)) {
        if (!loan->gone && !inject_borrow_restore(loan, attempt->service->state))
            return TRIAL_REFUSED;
        return TRIAL_DISTURBED;
    }
    bool good = run_loop(attempt, &lost);
    return good ? TRIAL_DONE : TRIAL_DISTURBED;
}

enum trial_outcome trial_attempt(struct trial_service *service, struct trial_hot *hot)
{
    struct attempt attempt = {.service = service, .hot = hot};
    struct trial_loop *out = &hot->out;
    if (!inject_borrow(&attempt.loan, service->child, hot->pid, hot->tid))
        return attempt.loan.refused
                   ? (service->tracing_refused = attempt.loan.refused, TRIAL_REFUSED)
                   : TRIAL_MISSED;
    service->traced = true;
    uint64_t begun_ns = os_now_ns(CLOCK_MONOTONIC);
    enum trial_outcome outcome = TRIAL_MISSED;
    if (find_places(&attempt) && come_to_head(&attempt))
        outcome = try_it(&attempt);
    inject_give_back(&attempt.loan);
    if (attempt.loan.unarmed) {
        service->arming_refused = attempt.loan.unarmed;
        outcome = TRIAL_REFUSED;
    }
    service->cost_ns += fmax(0, (double)(os_now_ns(CLOCK_MONOTONIC) - begun_ns) - attempt.own_ns);
    if (outcome == TRIAL_DONE &&
        !UTIL_PUSH(out->pairs, out->pairs_count, out->pairs_capacity, attempt.pair))
        return TRIAL_REFUSED;
    return outcome;
}
