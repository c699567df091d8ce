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
    LEAVE_US = 2000,       /* for the loop to be left */
    RETURN_US = 10000,     /* to come to its head again */
    EXECUTE_US = 4000,     /* of a clone, or of the loop's copy, before it is cut off */
    REST_US = 20000,       /* for what follows the loop in its copy */
    LONG_TICKS = 200000,   /* of which the clock of a thread knows more than its noise */
    TURNS_LEAST = 50,      /* in what was cut off */
    MEAN_US = 1500,        /* of clones of a loop that takes little at a time */
    STAMPS_US = 200,       /* of what they cost */
    NEST_US = 8000,        /* of the loops around it, likewise */
    SHORT_TICKS = 500000,  /* a loop whose clone takes less is tried among those around it */
    EXECUTIONS_LEAST = 16, /* among these: the first is no longer felt */
    LEAVE_MAX = 1000,      /* steps; stamps are some thirty instructions */
    LOST_US =
        100, /* beyond what others take: the thread lost its processor; interrupts take less */
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
    double stamps, nest_stamps; /* ticks */
    double own_ns;              /* CPU time in which the thread did its own work */
    double stop_ns;             /* CPU time of a thread to go on and to stop */
    uint64_t head;              /* run-time address */
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
        if (!cfg_loop_holds(flow, attempt->hot->clone.nest_loop, b))
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
    rescue->twin = made == attempt->hot->clone.twin.code || made == attempt->hot->clone.nest.code;
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

/* The least of at most REPEATS runs, of those that were completed; < 0: none was. */
static double least_ticks(const struct wire_clone_control *control, uint64_t repeat)
{
    double least = -1;
    for (uint64_t i = repeat; i > control->repeat; i--)
        if (least < 0 || (double)control->ticks[i] < least)
            least = (double)control->ticks[i];
    return least;
}

/* ---- means ------------------------------------------------------------------------------------- */

/* Runs behind `before` up to `runs`, summed up by their number modulo `slots`. */
struct sums {
    double ticks[WIRE_CLONE_REPEATS], progress[WIRE_CLONE_REPEATS];
    unsigned slots;
    uint64_t before, runs;
};

/* Of the first `count` runs. */
static uint64_t runs_of(const struct sums *sums, uint64_t count, unsigned slot)
{
    return count / sums->slots + (slot && slot <= count % sums->slots);
}

static double runs_in(const struct sums *sums, unsigned slot)
{
    return (double)(runs_of(sums, sums->runs, slot) - runs_of(sums, sums->before, slot));
}

static double median_sum(const struct sums *sums)
{
    double values[WIRE_CLONE_REPEATS];
    size_t count = 0;
    for (unsigned s = 0; s < sums->slots; s++) {
        size_t at = count;
        if (runs_in(sums, s) < 1)
            continue;
        for (; at > 0 && values[at - 1] > sums->ticks[s]; at--)
            values[at] = values[at - 1];
        values[at] = sums->ticks[s];
        count++;
    }
    return count ? values[count / 2] : 0;
}

/* Of all slots but those in which the thread lost its processor. False: there are none. */
static bool mean_of(const struct attempt *attempt, const struct sums *sums, double *ticks,
                    double *progress)
{
    double most = median_sum(sums) + LOST_US * (double)US * attempt->service->ticks_a_ns, runs = 0;
    *ticks = *progress = 0;
    for (unsigned s = 0; s < sums->slots; s++) {
        if (sums->ticks[s] > most || runs_in(sums, s) < 1)
            continue;
        runs += runs_in(sums, s);
        *ticks += sums->ticks[s];
        *progress += sums->progress[s];
    }
    if (runs > 0) {
        *ticks /= runs;
        *progress /= runs;
    }
    return runs > 0;
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

/* Mean, as what the stamps are taken off is one. */
static bool calibrate_nest(struct attempt *attempt)
{
    struct wire_clone_control control;
    struct sums sums = {.slots = WIRE_CLONE_SLOTS, .runs = CLONE_STAMPS};
    double progress;
    if (!place(attempt, attempt->service->stamps, 1) ||
        execute(attempt, EXECUTE_US) != INJECT_EXECUTED || !read_control(attempt, &control) ||
        control.executions != CLONE_STAMPS)
        return false;
    for (unsigned s = 0; s < WIRE_CLONE_SLOTS; s++)
        sums.ticks[s] = (double)control.slots[s].ticks;
    return inject_borrow_restore(&attempt->loan, attempt->service->state) &&
           mean_of(attempt, &sums, &attempt->nest_stamps, &progress);
}

static bool calibrate(struct attempt *attempt)
{
    double chain;
    if (!run_plain(attempt, attempt->service->nothing, WIRE_CLONE_REPEATS - 1, &attempt->stamps))
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

static uint64_t last_counter(const struct wire_clone *made, uint64_t counter,
                             const struct wire_clone_control *control)
{
    return made->counter <= BASE_RDX ? control->last[made->counter] : counter;
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
        pair->clone_turns =
            executed == INJECT_EXECUTED
                ? turns_between(
                      made, counter_at(made, before),
                      last_counter(made, counter_at(made, &attempt->loan.registers), control))
                : 0;
        pair->least = pair->clone;
        return pair->clone > 0;
    }
    if (offset < made->loop_start || offset >= made->loop_end)
        return false;
    pair->cut = true;
    pair->clone = executed_ticks(attempt);
    pair->least = pair->clone;
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
    if (!run_clone(attempt, WIRE_CLONE_REPEATS - 1))
        return false;
    if (attempt->pair.cut || attempt->pair.clone_turns != 0 || !attempt->hot->clone.made->step)
        return true;
    double least = attempt->pair.clone;
    if (!run_clone(attempt, 1) || attempt->pair.cut)
        return false;
    attempt->pair.clone = fmin(least, attempt->pair.clone);
    attempt->pair.least = attempt->pair.clone;
    return true;
}

/* ---- copies of what the program has -------------------------------------------------------------- */

/* What comes of one. */
struct copied {
    enum inject_executed executed;
    struct wire_clone_control control; /* when the execution ended, or was cut off */
    uint64_t counter;
    bool lost; /* the thread is gone, or where nobody can say */
};

/* The thread has executed the copy to its end: it goes on where the program would. */
static bool go_behind(struct attempt *attempt, const struct wire_clone *code)
{
    struct wire_clone_control control;
    struct user_regs_struct *registers = &attempt->loan.registers;
    if (!read_control(attempt, &control) || control.exit >= code->exit_count)
        return false;
    registers->rax = control.last[BASE_RAX];
    registers->rcx = control.last[BASE_RCX];
    registers->rdx = control.last[BASE_RDX];
    registers->eflags = wire_clone_flags(registers->eflags, control.last_flags);
    registers->rip = code->exits[control.exit] + attempt->places.bias;
    return inject_borrow_move(&attempt->loan);
}

/* In the middle of it: the same place of the program. */
static bool go_over(struct attempt *attempt, const struct clone_copy *copy)
{
    uint64_t offset = attempt->loan.registers.rip - attempt->places.text;
    size_t at = BASE_FIRST(i, copy->place_count, copy->places[i].at >= offset);
    if (at == copy->place_count || copy->places[at].at != offset)
        return false;
    attempt->loan.registers.rip = copy->places[at].address + attempt->places.bias;
    return inject_borrow_move(&attempt->loan);
}

/*
 * From the code before the loop the thread goes back to where it was: nothing has happened. Among time stamps it goes on step by
 * step, in the code behind the loop to its end. Of a fault the program hears when it executes the same instruction in its own place.
 */
static bool leave(struct attempt *attempt, const struct clone_copy *copy,
                  enum inject_executed executed)
{
    struct inject_loan *loan = &attempt->loan;
    for (unsigned i = 0; i < LEAVE_MAX; i++) {
        uint64_t offset = loan->registers.rip - attempt->places.text;
        if (loan->gone)
            return false;
        if (executed == INJECT_EXECUTED)
            return go_behind(attempt, copy->code);
        if (offset < copy->code->loop_start)
            return inject_borrow_restore(loan, attempt->service->state);
        if (go_over(attempt, copy))
            return true;
        executed = offset < copy->code->loop_end
                       ? inject_borrow_step(loan)
                       : inject_borrow_execute(loan, attempt->places.text_end, REST_US * US);
    }
    return false;
}

/* True: the loop was executed, or part of it. */
static bool run_copy(struct attempt *attempt, const struct clone_copy *copy, uint64_t us,
                     struct copied *copied)
{
    struct inject_loan *loan = &attempt->loan;
    *copied = (struct copied){.executed = INJECT_LOST};
    if (!place(attempt, copy->code, 1))
        return false;
    copied->executed = execute(attempt, us);
    attempt->own_ns = (double)loan->cpu_ns;
    bool begun = !loan->gone &&
                 loan->registers.rip - attempt->places.text >= copy->code->loop_start &&
                 read_control(attempt, &copied->control);
    copied->counter = counter_at(copy->code, &loan->registers);
    copied->lost = !leave(attempt, copy, copied->executed);
    return begun && !copied->lost &&
           (copied->executed == INJECT_EXECUTED || copied->executed == INJECT_CUT);
}

/* ---- the loop itself ---------------------------------------------------------------------------- */

static bool take_loop(struct attempt *attempt, const struct copied *copied)
{
    const struct wire_clone *twin = attempt->hot->clone.twin.code;
    uint64_t from = counter_at(twin, &attempt->service->state->registers);
    struct trial_pair *pair = &attempt->pair;
    pair->loop_turns = turns_between(twin, from,
                                     copied->executed == INJECT_EXECUTED
                                         ? last_counter(twin, copied->counter, &copied->control)
                                         : copied->counter);
    pair->cut |= copied->executed == INJECT_CUT;
    pair->loop = executed_ticks(attempt);
    if (copied->executed == INJECT_CUT)
        return pair->loop_turns >= TURNS_LEAST;
    /* Both are too long where the thread was interrupted, but not for the same reasons. */
    pair->loop = fmin(pair->loop > LONG_TICKS ? pair->loop : INFINITY,
                      (double)copied->control.ticks[1] - attempt->stamps);
    return pair->loop > 0;
}

static bool run_loop(struct attempt *attempt)
{
    struct copied copied;
    return run_copy(attempt, &attempt->hot->clone.twin, EXECUTE_US, &copied) &&
           take_loop(attempt, &copied);
}

/* ---- the loop among those around it --------------------------------------------------------------- */

static bool take_nest(struct attempt *attempt, const struct wire_clone_control *control)
{
    const struct wire_clone *code = attempt->hot->clone.nest.code;
    struct sums sums = {.slots = WIRE_CLONE_SLOTS, .runs = control->executions};
    struct trial_pair *pair = &attempt->pair;
    double ticks, progress;
    for (unsigned s = 0; s < WIRE_CLONE_SLOTS; s++) {
        sums.ticks[s] = (double)control->slots[s].ticks;
        sums.progress[s] = (double)control->slots[s].progress;
    }
    if (control->executions < EXECUTIONS_LEAST || !mean_of(attempt, &sums, &ticks, &progress))
        return false;
    pair->between = true;
    pair->loop = ticks - attempt->nest_stamps;
    pair->loop_turns = code->step ? progress / (double)code->step : 0;
    return pair->loop > 0 && pair->loop_turns >= 0;
}

/* Of as many runs, of `once` ticks, as fit into that time. */
static bool mean_run(struct attempt *attempt, const struct wire_clone *made, double once,
                     uint64_t us, double *ticks)
{
    struct wire_clone_control control;
    struct sums sums = {.slots = WIRE_CLONE_REPEATS};
    double progress;
    sums.runs = (uint64_t)((double)us * (double)US * attempt->service->ticks_a_ns / once) + 1;
    if (!place(attempt, made, sums.runs) || execute(attempt, REST_US) != INJECT_EXECUTED ||
        !read_control(attempt, &control))
        return false;
    sums.before = control.repeat;
    for (unsigned s = 0; s < WIRE_CLONE_REPEATS; s++)
        sums.ticks[s] = (double)control.ticks[s];
    return inject_borrow_restore(&attempt->loan, attempt->service->state) &&
           mean_of(attempt, &sums, ticks, &progress);
}

/*
 * The clone again, for as long as the loops around the loop will be executed: a neighbour on the same core slows down a mean
 * of both, but not the least of some microseconds. Whatever comes of it, the thread is again as it was, if that is possible.
 */
static bool run_mean(struct attempt *attempt)
{
    double ticks, stamps;
    if (!mean_run(attempt, attempt->service->nothing, attempt->stamps, STAMPS_US, &stamps) ||
        !mean_run(attempt, attempt->hot->clone.made, attempt->pair.clone + attempt->stamps, MEAN_US,
                  &ticks) ||
        !calibrate_nest(attempt))
        return false;
    attempt->pair.clone = ticks - stamps;
    return attempt->pair.clone > 0;
}

/* False: of no use; *left: the thread is where the loop can no longer be executed from its head. */
static bool run_nest(struct attempt *attempt, bool *left)
{
    struct copied copied;
    bool good = run_copy(attempt, &attempt->hot->clone.nest, NEST_US, &copied);
    *left = good || copied.lost || copied.executed != INJECT_LOST;
    return good && take_nest(attempt, &copied.control);
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

static bool is_short(const struct attempt *attempt)
{
    return attempt->hot->clone.nest.code && !attempt->pair.cut && attempt->pair.clone < SHORT_TICKS;
}

static enum trial_outcome try_it(struct attempt *attempt)
{
    struct inject_loan *loan = &attempt->loan;
    bool left = false, good = false;
    if (!inject_borrow_save(loan, attempt->service->state) || !is_same_code(attempt))
        return TRIAL_REFUSED;
    if (!calibrate(attempt) || !run_clones(attempt) || (is_short(attempt) && !run_mean(attempt))) {
        if (!loan->gone && !inject_borrow_restore(loan, attempt->service->state))
            return TRIAL_REFUSED;
        return TRIAL_DISTURBED;
    }
    if (is_short(attempt))
        good = run_nest(attempt, &left);
    if (!good && !left)
        good = run_loop(attempt);
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
