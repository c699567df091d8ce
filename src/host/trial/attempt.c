// SPDX-License-Identifier: MIT
/*
 * One trial: a thread that comes to the loop's head executes a chain of known length (how long a cycle takes at the moment), the
 * clone, and then the loop's copy, from which it goes on in the loop itself or behind it.
 *
 * Entries are preferred: the loop is left first, and then the next time that its head is executed is the first iteration. If
 * it is not left within some milliseconds, any iteration will do.
 *
 * If inner branches depend on loaded data, outcomes are recorded in trials before these: the copy notes them where the loop goes on. Clones replay them
 * when it comes to the loop again. What that takes is the difference to a clone that does it twice, in the same trial.
 */
#include "trial/internal.h"

#include <math.h>
#include <stdlib.h>
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
    AGAIN_US = 1500,       /* of a clone, after which it is not executed again */
    MEAN_US = 1500,        /* of clones of a loop that takes little at a time */
    STAMPS_US = 200,       /* of what they cost */
    GATED_US = 8000,       /* of the program, with the loop's copy in it */
    NEST_US = 8000,        /* of the loops around it, likewise */
    SHORT_TICKS = 500000,  /* a loop whose clone takes less is tried among those around it */
    BRIEF_TICKS = 50000,   /* a mean of such: the counter may advance by tens of ticks at a time */
    EXECUTIONS_LEAST = 16, /* among these: the first is no longer felt */
    RECORD_US = 4000,
    RECORDS_US = 20000,     /* of short executions, one after the other */
    OUTCOMES_LEAST = 4096,  /* iterations: what is shorter processors know by heart */
    GATE_ENTRIES = 1 << 20, /* more than there are in NEST_US */
    PASS_US = 100,          /* through buffers, with what the kernel takes to give memory */
    PAGE = 4096,
    PLACES = 4,
    MARK_US = 50,
    MARK_RUNS_MAX = 1000,
    PASS_BYTES_A_US = 1000,
    STACK_WORDS = 1024, /* between a callee's stack pointer and the loop's */
    LEAVE_MAX = 1000,   /* steps; stamps are some thirty instructions */
    LOST_US =
        100, /* beyond what others take: the thread lost its processor; interrupts take less */
};

/* Where things are in the process. */
struct places {
    uint64_t yard, room;
    uint64_t text;     /* where code is placed, in the room */
    uint64_t text_end; /* of what is used: an int3 */
    uint64_t bias;     /* of the loop's module */
    uint64_t buffers;  /* bytes of them behind the yard */
};

struct attempt {
    struct trial_service *service;
    struct trial_hot *hot;
    struct inject_loan loan;
    struct places places;
    struct trial_pair pair;
    double stamps, mean_stamps, nest_stamps; /* ticks */
    unsigned page;                           /* of those where the clone may be placed */
    double own_ns;                           /* CPU time in which the thread did its own work */
    double replay;                           /* ticks of the clone, for replaying outcomes */
    double code_ns;                          /* CPU time in which it executed other code */
    double stop_ns;                          /* CPU time of a thread to go on and to stop */
    uint64_t head;                           /* run-time address */
    bool gated; /* the loop is measured wherever the program comes to it, through gates */
};

/* ---- where things are -------------------------------------------------------------------------- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Of a loop that has no clone yet there is a copy that marks its parts. */
static const struct wire_clone *any_code(const struct trial_hot *hot)
{
    return hot->clone.made ? hot->clone.made : hot->clone.marker.code;
}

/* The room for code that is nearest: operands of the loop's copy are relative to it. */
static bool find_places(struct attempt *attempt)
{
    struct inject_part parts[INJECT_PARTS_MAX];
    struct places *places = &attempt->places;
    const struct trial_module *module = attempt->hot->module;
    size_t count = inject_borrow_parts(&attempt->loan, module->path, WIRE_CLONE_FILE, parts);
    uint64_t vaddr, head = any_code(attempt->hot)->head;
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
        if (!parts[i].executable) {
            places->yard = parts[i].start;
            places->buffers =
                parts[i].bytes > WIRE_CLONE_WALK_AT ? parts[i].bytes - WIRE_CLONE_WALK_AT : 0;
        } else if (!places->room ||
                   distance(parts[i].start, attempt->head) < distance(places->room, attempt->head))
            places->room = parts[i].start;
    }
    places->text = places->room;
    return attempt->head && places->yard && places->room && places->yard < UINT64_C(1) << 31;
}

/* Is a loop of the function, or with 0 all of it, there as it is in the file? */
static bool is_same_function(const struct attempt *attempt, const struct trial_function *function,
                             uint32_t loop)
{
    const struct cfg *flow = function->flow;
    for (uint32_t b = 0; b < flow->blocks_count; b++) {
        const struct cfg_block *block = &flow->blocks[b];
        uint8_t there[4096];
        size_t bytes = (size_t)(block->end - block->start);
        if (loop && !cfg_loop_holds(flow, loop, b))
            continue;
        if (bytes > sizeof there ||
            !inject_borrow_read(&attempt->loan, block->start + attempt->places.bias, there,
                                bytes) ||
            memcmp(there, function->bytes + (block->start - function->start), bytes) != 0)
            return false;
    }
    return true;
}

static bool is_same_code(const struct attempt *attempt)
{
    const struct clone *clone = &attempt->hot->clone;
    for (uint32_t c = 0; c < clone->callee_count; c++) {
        const struct trial_function *callee = trial_callee(attempt->hot, clone->callees[c]);
        if (!callee || !callee->flow || !is_same_function(attempt, callee, 0))
            return false;
    }
    return is_same_function(attempt, attempt->hot->function, clone->nest_loop);
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
    rescue->twin = made->twin;
    for (unsigned e = 0; e < made->exit_count; e++)
        rescue->exits[e] = made->exits[e] + attempt->places.bias;
    memcpy(rescue->general, registers.general, sizeof rescue->general);
    rescue->ip = registers.ip;
    rescue->flags = registers.flags;
    rescue->bytes = (uint32_t)state->bytes;
    memcpy(rescue->vectors, state->vectors, state->bytes);
}

/*
 * Clones have the other half of the room than what the program has, and each trial another page of it: processors remember for some time where
 * branches were, which can delay those that are now there, and at some addresses do so for as long as a process lives.
 */
static uint64_t text_of(const struct attempt *attempt, const struct wire_clone *made)
{
    const struct clone *clone = &attempt->hot->clone;
    uint64_t pages = (made->code_bytes + WIRE_CLONE_ENDS + PAGE - 1) / PAGE,
             most = WIRE_CLONE_CODE_MAX / PAGE;
    if ((made != clone->made && made != clone->twice) || pages > most)
        return attempt->places.room;
    uint64_t page = (attempt->hot->tries + attempt->page) % (most - pages + 1);
    return attempt->places.room + WIRE_CLONE_CODE_MAX + page * PAGE;
}

/* Runs end when they have taken `us` together. */
static bool place_for(struct attempt *attempt, const struct wire_clone *made, uint64_t repeat,
                      uint64_t us)
{
    struct trial_service *service = attempt->service;
    struct places *places = &attempt->places;
    struct base_memory memory = {read_process, &attempt->loan};
    struct base_registers registers = registers_of(&attempt->loan.registers);
    size_t used = offsetof(struct wire_clone_yard, lines) + (size_t)made->lines * WIRE_CLONE_LINE;
    memset(&service->yard->control, 0, sizeof service->yard->control);
    service->yard->control.repeat = repeat;
    service->yard->control.limit = (uint64_t)((double)us * (double)US * service->ticks_a_ns);
    places->text = text_of(attempt, made);
    service->yard->control.leave = places->text_end = places->text + made->code_bytes;
    service->yard->control.owner = attempt->loan.registers.fs_base;
    service->yard->control.entries = GATE_ENTRIES;
    if (made->outcomes)
        (void)wire_clone_outcomes(service->yard, attempt->hot->outcomes_count);
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

/* For clones that are placed from now on. */
static bool place_outcomes(struct attempt *attempt)
{
    const struct trial_hot *hot = attempt->hot;
    struct wire_clone_yard *yard = attempt->service->yard;
    if (!hot->clone.outcomes)
        return true;
    uint16_t *to = wire_clone_outcomes(yard, hot->outcomes_count);
    memcpy(to, hot->outcomes, hot->outcomes_count * sizeof *to);
    return inject_borrow_write(&attempt->loan,
                               attempt->places.yard + (uint64_t)((uint8_t *)to - (uint8_t *)yard),
                               to, hot->outcomes_count * sizeof *to);
}

static bool place(struct attempt *attempt, const struct wire_clone *made, uint64_t repeat)
{
    return place_for(attempt, made, repeat, EXECUTE_US);
}

static bool read_control(struct attempt *attempt, struct wire_clone_control *control)
{
    return inject_borrow_read(&attempt->loan, attempt->places.yard, control, sizeof *control);
}

static enum inject_executed execute(struct attempt *attempt, uint64_t us)
{
    attempt->loan.registers.rip = attempt->places.text;
    enum inject_executed executed =
        inject_borrow_execute(&attempt->loan, attempt->places.text_end, us * US);
    attempt->code_ns += (double)attempt->loan.cpu_ns;
    return executed;
}

/*
 * The thread was cut off within what the loop calls, where registers are the callee's: it comes out, to where the stack pointer is what it was at
 * the loop's head.
 */
static void come_out(struct attempt *attempt, const struct wire_clone *code,
                     enum inject_executed executed)
{
    struct inject_loan *loan = &attempt->loan;
    uint64_t pointer =
        code->stack ? attempt->places.yard + code->stack : attempt->service->state->registers.rsp;
    if (executed != INJECT_CUT || !attempt->hot->clone.callee_count)
        return;
    for (unsigned i = 0; i < LEAVE_MAX && loan->registers.rsp != pointer; i++)
        if (inject_borrow_step(loan) != INJECT_CUT)
            return;
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

static int by_ticks(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of runs, of all but the first, before `left` were; < 0: none was completed. */
static double median_ticks(const struct wire_clone_control *control, uint64_t repeat, uint64_t left)
{
    double ticks[WIRE_CLONE_REPEATS];
    size_t count = 0, first;
    for (uint64_t i = repeat; i > left && count < WIRE_CLONE_REPEATS; i--)
        ticks[count++] = (double)control->ticks[i];
    first = count > 1;
    qsort(ticks + first, count - first, sizeof *ticks, by_ticks);
    return count ? ticks[first + (count - first) / 2] : -1;
}

/* The first run ended where no outcomes were left: it is a part of the loop, as if it had been cut off. */
static bool lapped_first(const struct wire_clone_control *control, uint64_t repeat)
{
    return control->exit == WIRE_CLONE_LAPPED && repeat - control->repeat == 1;
}

/* One after others did. */
static bool lapped_last(const struct wire_clone_control *control, uint64_t repeat)
{
    return control->exit == WIRE_CLONE_LAPPED && repeat - control->repeat > 1;
}

/* The least of all would be the one whose outcomes are easiest to predict. */
static double typical_ticks(const struct wire_clone *made, const struct wire_clone_control *control,
                            uint64_t repeat)
{
    return made->outcomes
               ? median_ticks(control, repeat, control->repeat + lapped_last(control, repeat))
               : least_ticks(control, repeat);
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

struct means {
    double ticks, progress;
    double least; /* ticks: the mean of one slot */
};

/* Of all slots but those in which the thread lost its processor. False: there are none. */
static bool mean_of(const struct attempt *attempt, const struct sums *sums, struct means *means)
{
    double most = median_sum(sums) + LOST_US * (double)US * attempt->service->ticks_a_ns, runs = 0;
    *means = (struct means){.least = INFINITY};
    for (unsigned s = 0; s < sums->slots; s++) {
        if (sums->ticks[s] > most || runs_in(sums, s) < 1)
            continue;
        runs += runs_in(sums, s);
        means->ticks += sums->ticks[s];
        means->progress += sums->progress[s];
        means->least = fmin(means->least, sums->ticks[s] / runs_in(sums, s));
    }
    if (runs > 0) {
        means->ticks /= runs;
        means->progress /= runs;
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

/* headroom has written them, on another processor. */
static bool touch_outcomes(struct attempt *attempt)
{
    double ticks;
    return !attempt->hot->clone.outcomes || run_plain(attempt, attempt->service->touch, 2, &ticks);
}

/* Mean, as what the stamps are taken off is one. */
static bool calibrate_nest(struct attempt *attempt)
{
    struct wire_clone_control control;
    struct sums sums = {.slots = WIRE_CLONE_SLOTS, .runs = CLONE_STAMPS};
    struct means means;
    if (!place(attempt, attempt->service->stamps, 1) ||
        execute(attempt, EXECUTE_US) != INJECT_EXECUTED || !read_control(attempt, &control) ||
        control.executions != CLONE_STAMPS)
        return false;
    for (unsigned s = 0; s < WIRE_CLONE_SLOTS; s++)
        sums.ticks[s] = (double)control.slots[s].ticks;
    bool good = mean_of(attempt, &sums, &means);
    attempt->nest_stamps = means.ticks;
    return inject_borrow_restore(&attempt->loan, attempt->service->state) && good;
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
    double ticks = typical_ticks(made, control, repeat);
    if (ticks >= 0) { /* each run of them makes as many iterations */
        pair->clone = ticks - attempt->stamps;
        pair->clone_turns =
            executed == INJECT_EXECUTED && !lapped_last(control, repeat)
                ? turns_between(
                      made, counter_at(made, before),
                      last_counter(made, counter_at(made, &attempt->loan.registers), control))
                : 0;
        pair->least = pair->clone;
        pair->cut |= lapped_first(control, repeat);
        /* 0, if that is less than a step of the counter: run_mean */
        return !pair->cut || pair->clone_turns >= TURNS_LEAST;
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
    if (!place_for(attempt, attempt->hot->clone.made, repeat, AGAIN_US))
        return false;
    enum inject_executed executed = execute(attempt, EXECUTE_US);
    come_out(attempt, attempt->hot->clone.made, executed);
    bool good = (executed == INJECT_EXECUTED || executed == INJECT_CUT) &&
                read_control(attempt, &control) && take_clone(attempt, executed, &control, repeat);
    return inject_borrow_restore(&attempt->loan, attempt->service->state) && good;
}

/* If some of several runs were completed, how many iterations each makes is seen by one more. */
static bool run_clones_here(struct attempt *attempt)
{
    if (!run_clone(attempt, WIRE_CLONE_REPEATS - 1))
        return false;
    if (attempt->pair.cut || attempt->pair.clone_turns != 0 || !attempt->hot->clone.made->step)
        return true;
    double typical = attempt->pair.clone;
    if (!run_clone(attempt, 1) || attempt->pair.cut)
        return false;
    if (!attempt->hot->clone.outcomes)
        typical = fmin(typical, attempt->pair.clone);
    attempt->pair.clone = typical;
    attempt->pair.least = attempt->pair.clone;
    return true;
}

/*
 * One that calls takes longer in some places, and at some times, for no reason that can be seen: as calls and returns are foreseen. The best of
 * several places counts, in which it stays.
 */
static bool run_clones(struct attempt *attempt)
{
    struct trial_pair best = {.clone = INFINITY}, before = attempt->pair;
    unsigned best_page = 0;
    if (!attempt->hot->clone.callee_count)
        return run_clones_here(attempt);
    for (attempt->page = 0; attempt->page < PLACES; attempt->page++) {
        attempt->pair = before;
        if (!run_clones_here(attempt) || attempt->loan.gone || attempt->loan.stopped)
            return false;
        bool better = attempt->pair.cut || best.cut ? attempt->pair.clone * best.clone_turns <
                                                          best.clone * attempt->pair.clone_turns
                                                    : attempt->pair.clone < best.clone;
        if (better || !attempt->page) {
            best = attempt->pair;
            best_page = attempt->page;
        }
    }
    attempt->pair = best;
    attempt->page = best_page;
    return true;
}

/* ---- copies of what the program has -------------------------------------------------------------- */

/* The copy that has time stamps wherever the loop is entered and left; .code NULL: there is none. */
static const struct clone_copy *crossed(const struct attempt *attempt)
{
    return attempt->gated ? &attempt->hot->clone.gated : &attempt->hot->clone.nest;
}

/* What comes of one. */
struct copied {
    enum inject_executed executed;
    struct wire_clone_control control; /* when the execution ended, or was cut off */
    uint64_t counter;
    bool moved; /* the thread is no longer where it was before, or nobody knows where */
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

/* In the program's own code, which the copy has called: it is to return to the program. */
static bool return_to_program(struct attempt *attempt, const struct clone_copy *copy)
{
    const struct inject_loan *loan = &attempt->loan;
    uint64_t word, from = loan->registers.rsp & ~UINT64_C(7),
                   to = attempt->service->state->registers.rsp;
    for (uint64_t at = from; at < to && at - from < 8 * STACK_WORDS; at += 8) {
        if (!inject_borrow_read(loan, at, &word, sizeof word))
            return false;
        uint64_t offset = word - attempt->places.text, address;
        size_t p = BASE_FIRST(i, copy->place_count, copy->places[i].at >= offset);
        if (p == copy->place_count || copy->places[p].at != offset)
            continue;
        address = copy->places[p].address + attempt->places.bias;
        return inject_borrow_write(loan, at, &address, sizeof address);
    }
    return false;
}

static bool is_in_text(const struct attempt *attempt)
{
    return attempt->loan.registers.rip - attempt->places.text <
           attempt->places.text_end + WIRE_CLONE_ENDS - attempt->places.text;
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
        if (!is_in_text(attempt) && return_to_program(attempt, copy))
            return inject_borrow_move(loan);
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
    attempt->code_ns -= attempt->own_ns;
    come_out(attempt, copy->code, copied->executed);
    bool begun = loan->registers.rip - attempt->places.text >= copy->code->loop_start;
    bool known = begun && !loan->gone && read_control(attempt, &copied->control);
    copied->counter = counter_at(copy->code, &loan->registers);
    bool good = leave(attempt, copy, copied->executed);
    copied->moved = begun || !good;
    return known && good && (copied->executed == INJECT_EXECUTED || copied->executed == INJECT_CUT);
}

/* ---- copies that the program enters and leaves by itself ------------------------------------------ */

/* A jump from a gate; false: it is out of reach. */
static bool jump_from(const struct attempt *attempt, const struct trial_gate *gate, uint64_t to,
                      struct inject_patch *patch)
{
    uint64_t at = gate->at + attempt->places.bias;
    int64_t distance = (int64_t)(to - (at + INJECT_PATCH_BYTES));
    int32_t relative = (int32_t)distance;
    *patch =
        (struct inject_patch){.at = at, .before = {0x0f, 0x1f, 0x44, 0x00, 0x00}, .after = {0xe9}};
    memcpy(patch->after + 1, &relative, sizeof relative);
    return relative == distance;
}

/* Does the thread's block begin with its address, as the code takes for granted? */
static bool has_owner(const struct attempt *attempt)
{
    uint64_t base = attempt->loan.registers.fs_base, there;
    return inject_borrow_read(&attempt->loan, base, &there, sizeof there) && there == base;
}

/* The thread goes on in the program, for that long; where it comes to the loop it executes the copy. */
static bool run_gated(struct attempt *attempt, const struct clone_copy *copy, uint64_t us,
                      struct copied *copied)
{
    struct inject_loan *loan = &attempt->loan;
    const struct trial_hot *hot = attempt->hot;
    struct inject_patch patches[TRIAL_GATES_MAX];
    uint64_t text = text_of(attempt, copy->code); /* where it will be placed */
    *copied = (struct copied){.executed = INJECT_LOST};
    for (size_t i = 0; i < hot->gates_count; i++)
        if (!jump_from(attempt, &hot->gates[i], text + copy->code->gate, &patches[i]))
            return false;
    if (!place(attempt, copy->code, 1))
        return false;
    uint64_t begun_ns = os_now_ns(CLOCK_MONOTONIC);
    bool good = inject_borrow_patched(loan, patches, hot->gates_count, text,
                                      text + copy->code->code_bytes, us * US);
    attempt->own_ns += (double)(os_now_ns(CLOCK_MONOTONIC) - begun_ns);
    copied->moved = true;
    copied->executed = INJECT_CUT;
    good = good && read_control(attempt, &copied->control);
    if (!loan->gone && loan->registers.rip - text < copy->code->code_bytes)
        good = leave(attempt, copy, INJECT_CUT) && good;
    loan->stopped |= loan->held != 0;
    return good;
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
    if (twin->ends && pair->loop_turns <= 0) /* it is another execution than those of the clone */
        return false;
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

static double recorded_heads(const struct wire_clone *code, uint64_t recorded)
{
    return (double)recorded / wire_clone_slots(code->outcomes);
}

/* The counter says how many iterations were completed; where executions end in their middle more were begun, which is what outcomes count. */
static double begun_turns(const struct trial_hot *hot, double turns)
{
    const struct wire_clone *made = hot->clone.made;
    if (!made->ends || !made->step || hot->executions < 1)
        return turns;
    return turns + (hot->heads - hot->progress) / hot->executions;
}

static bool take_nest(struct attempt *attempt, const struct wire_clone_control *control)
{
    const struct wire_clone *code = crossed(attempt)->code;
    struct sums sums = {.slots = WIRE_CLONE_SLOTS, .runs = control->executions};
    struct trial_pair *pair = &attempt->pair;
    struct means means;
    for (unsigned s = 0; s < WIRE_CLONE_SLOTS; s++) {
        sums.ticks[s] = (double)control->slots[s].ticks;
        sums.progress[s] = (double)control->slots[s].progress;
    }
    if (control->executions < EXECUTIONS_LEAST || !mean_of(attempt, &sums, &means))
        return false;
    pair->between = true;
    pair->loop = means.ticks - attempt->nest_stamps;
    pair->loop_turns =
        code->step ? begun_turns(attempt->hot, means.progress / (double)code->step) : 0;
    /* beside what the stamps take, an execution must be something */
    if (code->ends && fmin(pair->loop, pair->clone) < attempt->nest_stamps)
        pair->between = false;
    return pair->loop > 0 && pair->loop_turns >= 0;
}

/* As many as there are outcomes for. */
static uint64_t fewer_runs(const struct attempt *attempt, uint64_t runs)
{
    uint64_t turns = (uint64_t)fmax(attempt->pair.clone_turns, 1),
             most = attempt->hot->outcomes_count / (turns + 1);
    return most > runs ? runs : most ? most : 1;
}

/* Of as many runs, of `once` ticks, as fit into that time. */
static bool mean_run(struct attempt *attempt, const struct wire_clone *made, double once,
                     uint64_t us, struct means *means)
{
    struct wire_clone_control control;
    struct sums sums = {.slots = WIRE_CLONE_REPEATS};
    sums.runs = (uint64_t)((double)us * (double)US * attempt->service->ticks_a_ns / once) + 1;
    if (made->outcomes)
        sums.runs = fewer_runs(attempt, sums.runs);
    if (!place(attempt, made, sums.runs) || execute(attempt, REST_US) != INJECT_EXECUTED ||
        !read_control(attempt, &control))
        return false;
    sums.before = control.repeat;
    for (unsigned s = 0; s < WIRE_CLONE_REPEATS; s++)
        sums.ticks[s] = (double)control.ticks[s];
    return inject_borrow_restore(&attempt->loan, attempt->service->state) &&
           mean_of(attempt, &sums, means);
}

/* Between the stamps there is so little that a single run, or the least of many, does not say how long it takes. */
static bool is_brief(const struct attempt *attempt)
{
    double below = crossed(attempt)->code ? SHORT_TICKS : BRIEF_TICKS;
    return !attempt->pair.cut && attempt->pair.clone < below;
}

static bool is_short(const struct attempt *attempt)
{
    return crossed(attempt)->code && is_brief(attempt);
}

/*
 * The clone again, for as long as the loops around the loop will be executed: a neighbour on the same core slows down a mean
 * of both, but not the least of some microseconds. Whatever comes of it, the thread is again as it was, if that is possible.
 */
static bool run_mean(struct attempt *attempt)
{
    struct trial_pair *pair = &attempt->pair;
    struct means stamps, clone;
    double once = fmax(pair->clone, 0) + attempt->stamps;
    if (!mean_run(attempt, attempt->service->nothing, attempt->stamps, STAMPS_US, &stamps) ||
        !mean_run(attempt, attempt->hot->clone.made, once, MEAN_US, &clone) ||
        (crossed(attempt)->code && !calibrate_nest(attempt)))
        return false;
    attempt->mean_stamps = stamps.ticks;
    pair->clone = clone.ticks - stamps.ticks;
    pair->least = fmin(clone.least - stamps.ticks, pair->clone);
    return pair->clone > 0;
}

/* ---- clones that end where recorded executions did ------------------------------------------------ */

/*
 * All executions that were recorded, one after the other, once: ticks of one, and its iterations, in the mean. cut: not even the first came to
 * its end, and both are of what there was of it. Whatever comes of it, the thread is again as it was, if that is possible.
 */
struct replayed {
    double ticks, turns;
    bool cut;
};

static bool take_replayed(struct attempt *attempt, enum inject_executed executed,
                          struct replayed *replayed)
{
    struct wire_clone_control control;
    double all = 0, lost = LOST_US * (double)US * attempt->service->ticks_a_ns;
    if ((executed != INJECT_EXECUTED && executed != INJECT_CUT) || !read_control(attempt, &control))
        return false;
    bool lapped = executed == INJECT_EXECUTED && control.exit == WIRE_CLONE_LAPPED;
    uint64_t runs = UINT32_MAX - control.repeat;
    double turns = (double)((int64_t)control.outcome + attempt->hot->outcomes_count + 1 - lapped);
    replayed->cut = !runs || (lapped && runs == 1);
    if (!runs) /* the register that counts is put away when a run ends */
        return false;
    for (unsigned s = 0; s < WIRE_CLONE_REPEATS; s++)
        all += (double)control.ticks[s];
    if (all > executed_ticks(attempt) + lost) /* the thread lost its processor in between */
        return false;
    replayed->ticks = all / (double)runs - attempt->mean_stamps;
    replayed->turns = turns / (double)runs;
    return replayed->ticks > 0 && turns >= TURNS_LEAST;
}

static bool run_replayed(struct attempt *attempt, const struct wire_clone *made,
                         struct replayed *replayed)
{
    if (!place_for(attempt, made, UINT32_MAX, EXECUTE_US))
        return false;
    bool good = take_replayed(attempt, execute(attempt, 2 * EXECUTE_US), replayed);
    return inject_borrow_restore(&attempt->loan, attempt->service->state) && good;
}

/* The first time outcomes and code are on their way to the caches. */
static bool run_ends(struct attempt *attempt)
{
    struct trial_pair *pair = &attempt->pair;
    struct means stamps;
    struct replayed replayed;
    if (!mean_run(attempt, attempt->service->nothing, attempt->stamps, STAMPS_US, &stamps) ||
        (crossed(attempt)->code && !calibrate_nest(attempt)))
        return false;
    attempt->mean_stamps = stamps.ticks;
    if (!run_replayed(attempt, attempt->hot->clone.made, &replayed))
        return false;
    pair->clone = pair->least = replayed.ticks;
    pair->clone_turns = replayed.turns;
    pair->cut |= replayed.cut;
    return true;
}

static bool run_first(struct attempt *attempt)
{
    if (attempt->hot->clone.made->ends)
        return run_ends(attempt);
    return run_clones(attempt) && (!is_brief(attempt) || run_mean(attempt));
}

/* ---- variants of the clone ------------------------------------------------------------------------ */

/* What comes of one: ticks of a run, and its iterations as those of the clone. */
struct varied {
    double ticks, turns;
    bool cut;
};

/* Of one that walks: the least, if each run passes all buffers; else median of all but the first: which part of them a run passes makes a
   difference. < 0: none was completed. */
static double walked_ticks(const struct wire_clone_control *control, uint64_t repeat)
{
    if (control->laps > repeat - control->repeat)
        return least_ticks(control, repeat);
    return median_ticks(control, repeat, control->repeat);
}

/* Buffers are passed until each byte of them was, so that the thread's caches hold what they can of them. */
static bool pass_buffers(struct attempt *attempt, const struct wire_clone *made)
{
    struct trial_service *service = attempt->service;
    struct wire_clone_control control;
    uint64_t us = PASS_US + made->walk_bytes / PASS_BYTES_A_US;
    if (made->walk_bytes > attempt->places.buffers)
        return false;
    if (!place_for(attempt, made, UINT32_MAX, us))
        return false;
    wire_clone_spread(made, service->yard, service->buffers);
    if (!inject_borrow_write(&attempt->loan, attempt->places.yard + WIRE_CLONE_WALK_AT,
                             service->buffers, made->walk_bytes))
        return false;
    enum inject_executed executed = execute(attempt, 2 * us);
    bool good = (executed == INJECT_EXECUTED || executed == INJECT_CUT) &&
                read_control(attempt, &control) && control.laps > 0;
    return inject_borrow_restore(&attempt->loan, service->state) && good;
}

static bool take_varied(struct attempt *attempt, const struct wire_clone *made,
                        enum inject_executed executed, uint64_t repeat, struct varied *varied)
{
    struct wire_clone_control control;
    const struct user_regs_struct *before = &attempt->service->state->registers;
    uint64_t offset = attempt->loan.registers.rip - attempt->places.text;
    if ((executed != INJECT_EXECUTED && executed != INJECT_CUT) || !read_control(attempt, &control))
        return false;
    double ticks =
        made->walk_bytes ? walked_ticks(&control, repeat) : typical_ticks(made, &control, repeat);
    varied->cut = ticks < 0;
    varied->ticks = varied->cut ? executed_ticks(attempt) : ticks - attempt->stamps;
    varied->turns = attempt->pair.clone_turns;
    if (ticks >= 0 && lapped_first(&control, repeat)) {
        varied->cut = true;
        varied->turns =
            turns_between(made, counter_at(made, before),
                          last_counter(made, counter_at(made, &attempt->loan.registers), &control));
        return varied->ticks > 0 && varied->turns >= TURNS_LEAST;
    }
    if (!varied->cut)
        return true;
    varied->turns =
        turns_between(made, counter_at(made, before), counter_at(made, &attempt->loan.registers));
    return offset >= made->loop_start && offset < made->loop_end && varied->turns >= TURNS_LEAST;
}

static bool execute_variant(struct attempt *attempt, const struct wire_clone *made,
                            struct varied *varied)
{
    uint64_t repeat = WIRE_CLONE_REPEATS - 1;
    if (!place(attempt, made, repeat))
        return false;
    enum inject_executed executed = execute(attempt, EXECUTE_US);
    come_out(attempt, made, executed);
    bool good = take_varied(attempt, made, executed, repeat, varied);
    return inject_borrow_restore(&attempt->loan, attempt->service->state) && good;
}

/* As the clone was: the mean of many runs, if that is one. */
static bool measure_variant(struct attempt *attempt, const struct wire_clone *made,
                            struct varied *varied)
{
    struct replayed replayed;
    if (made->ends) {
        if (!run_replayed(attempt, made, &replayed))
            return false;
        *varied = (struct varied){replayed.ticks, replayed.turns, replayed.cut};
        return true;
    }
    if ((made->walk_bytes && !pass_buffers(attempt, made)) ||
        !execute_variant(attempt, made, varied))
        return false;
    struct means means;
    if (!is_brief(attempt) || varied->cut)
        return true;
    if (!mean_run(attempt, made, fmax(varied->ticks, 0) + attempt->stamps, MEAN_US, &means))
        return false;
    varied->ticks = means.ticks - attempt->mean_stamps;
    return varied->ticks > 0;
}

/* The next one of those that there are; CLONE_L1: there are none. */
static unsigned next_variant(const struct trial_hot *hot)
{
    for (unsigned i = 1; i <= CLONE_VARIANTS; i++) {
        unsigned variant = (hot->variant + i) % CLONE_VARIANTS;
        if (hot->clone.variants[variant])
            return variant;
    }
    return CLONE_L1;
}

/* Whatever comes of it, the thread is again as it was, if that is possible. */
static bool run_variant(struct attempt *attempt)
{
    struct trial_hot *hot = attempt->hot;
    struct trial_pair *pair = &attempt->pair;
    struct varied varied;
    hot->variant = next_variant(hot);
    if (!measure_variant(attempt, hot->clone.variants[hot->variant], &varied) ||
        ((varied.cut || pair->cut) && (varied.turns <= 0 || pair->clone_turns <= 0)))
        return false;
    if (varied.cut || pair->cut || hot->clone.made->ends)
        varied.ticks *= pair->clone_turns / varied.turns;
    pair->variant = (uint8_t)hot->variant;
    pair->variant_ratio = (varied.ticks - attempt->replay) / pair->clone;
    return pair->variant_ratio > 0;
}

/* ---- outcomes of branches ------------------------------------------------------------------------- */

static bool is_to_record(const struct trial_hot *hot)
{
    return hot->clone.outcomes && (hot->outcomes_count < OUTCOMES_LEAST || hot->replayed);
}

/* What the copy has noted is added to what is known. */
static bool take_outcomes(struct attempt *attempt, const struct wire_clone *recorder,
                          const struct copied *copied)
{
    struct trial_hot *hot = attempt->hot;
    uint8_t *bytes = attempt->service->text; /* room enough */
    _Static_assert(WIRE_CLONE_ITERATIONS <= WIRE_CLONE_CODE_MAX, "for what was recorded");
    if (hot->replayed)
        hot->outcomes_count = 0;
    hot->replayed = false;
    if (!hot->outcomes)
        hot->outcomes = calloc(WIRE_CLONE_ITERATIONS, sizeof *hot->outcomes);
    if (!hot->outcomes ||
        !inject_borrow_read(&attempt->loan,
                            attempt->places.yard + offsetof(struct wire_clone_yard, outcomes),
                            bytes, WIRE_CLONE_ITERATIONS))
        return false;
    for (unsigned s = 0; s < WIRE_CLONE_SLOTS && recorder->step; s++)
        hot->progress += (double)copied->control.slots[s].progress / (double)recorder->step;
    hot->heads += recorded_heads(recorder, copied->control.recorded);
    hot->executions += (double)copied->control.executions;
    hot->outcomes_count += wire_clone_take(
        recorder, copied->control.recorded, copied->executed == INJECT_CUT, bytes,
        hot->outcomes + hot->outcomes_count, WIRE_CLONE_ITERATIONS - hot->outcomes_count);
    return true;
}

static bool record(struct attempt *attempt)
{
    struct copied copied;
    const struct clone_copy *copy =
        attempt->gated ? &attempt->hot->clone.gated_recorder : &attempt->hot->clone.recorder;
    bool good = copy->code->gate ? run_gated(attempt, copy, GATED_US, &copied)
                                 : run_copy(attempt, copy, RECORD_US, &copied);
    return good && take_outcomes(attempt, copy->code, &copied);
}

/* What is done twice takes as long again; it is taken off. It can come out as less than nothing: then as much too little was seen
   elsewhere. */
static bool take_off_replay(struct attempt *attempt)
{
    struct trial_pair *pair = &attempt->pair;
    struct varied twice;
    if (!attempt->hot->clone.outcomes)
        return true;
    if (!measure_variant(attempt, attempt->hot->clone.twice, &twice))
        return false;
    if (twice.cut || pair->cut || attempt->hot->clone.made->ends) {
        if (twice.turns <= 0 || pair->clone_turns <= 0)
            return false;
        twice.ticks *= pair->clone_turns / twice.turns;
    }
    attempt->replay = fmin(fmax(twice.ticks - pair->clone, -pair->clone / 2), pair->clone / 2);
    /* Of a loop of a few instructions more than half: then that is hidden the first time, and would be too much. */
    if (attempt->hot->clone.made->ends && attempt->replay >= pair->clone / 2)
        attempt->replay = 0;
    pair->clone -= attempt->replay;
    pair->least = pair->clone;
    return true;
}

/* Every other time; not before the loop itself, which would find in the caches what a variant has left. */
static bool is_for_variant(const struct trial_hot *hot)
{
    return hot->tries % 2 && next_variant(hot) != CLONE_L1;
}

/* False: of no use; *moved: the thread is no longer at the loop's head, from which alone the loop can be executed. */
static bool run_nest(struct attempt *attempt, bool *moved)
{
    struct copied copied;
    const struct clone_copy *copy = crossed(attempt);
    bool good = copy->code->gate ? run_gated(attempt, copy, GATED_US, &copied)
                                 : run_copy(attempt, copy, NEST_US, &copied);
    *moved = copied.moved;
    double stamps_ns =
        (double)copied.control.executions * attempt->nest_stamps / attempt->service->ticks_a_ns;
    if (good) { /* no work of the program's */
        attempt->own_ns -= stamps_ns;
        attempt->code_ns += stamps_ns;
    }
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
    const struct wire_clone *made = any_code(attempt->hot);
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

/*
 * Executions that are short, and follow no other in a copy, add up. True: there are enough of them, and the thread is at the loop's
 * head again. *good: otherwise it may be in the next trial.
 */
static bool try_to_record(struct attempt *attempt, bool *good)
{
    struct trial_hot *hot = attempt->hot;
    struct inject_loan *loan = &attempt->loan;
    uint64_t begun_ns = os_now_ns(CLOCK_MONOTONIC);
    do {
        *good = record(attempt);
        if (!*good || loan->gone || loan->stopped || !come_to_head(attempt))
            return false;
        *good = inject_borrow_save(loan, attempt->service->state);
    } while (*good && hot->outcomes_count < OUTCOMES_LEAST &&
             os_now_ns(CLOCK_MONOTONIC) - begun_ns < RECORDS_US * US);
    return *good && hot->outcomes_count >= OUTCOMES_LEAST;
}

/* True: a part is executed that was not thought to be, or the other way around. What is executed in less than half of the runs is rare: a run makes
   thousands of iterations. */
static bool count_marks(struct trial_hot *hot, const uint8_t *marks)
{
    bool changed = !hot->marks;
    if (!hot->marks)
        hot->marks = calloc(CLONE_MARKS_MAX, sizeof *hot->marks);
    if (!hot->marked)
        hot->marked = calloc(CLONE_MARKS_MAX, sizeof *hot->marked);
    if (!hot->marks || !hot->marked || hot->mark_runs == MARK_RUNS_MAX)
        return false;
    hot->mark_runs++;
    for (unsigned m = 0; m < CLONE_MARKS_MAX; m++) {
        hot->marked[m] += marks[m] != 0;
        uint8_t often = 2 * hot->marked[m] > hot->mark_runs;
        changed |= often != hot->marks[m];
        hot->marks[m] = often;
    }
    return changed;
}

/*
 * Which parts of the loop, and of what it calls, are executed: the clone has no others. True: it has to be made anew. Whatever comes of it, the thread
 * may be anywhere in the program. *good: it may be in the next trial.
 */
static bool mark(struct attempt *attempt, bool *good)
{
    struct trial_hot *hot = attempt->hot;
    struct copied copied;
    uint8_t marks[CLONE_MARKS_MAX] = {0};
    uint64_t at = attempt->places.yard + offsetof(struct wire_clone_yard, outcomes);
    *good = inject_borrow_write(&attempt->loan, at, marks, sizeof marks) &&
            run_copy(attempt, &hot->clone.marker, MARK_US, &copied) &&
            inject_borrow_read(&attempt->loan, at, marks, sizeof marks);
    return *good && count_marks(hot, marks);
}

/* Before trials of a loop of which parts may be left out. True: the thread is at the loop's head again, and the clone is what it should be. */
static bool mark_first(struct attempt *attempt, bool *good)
{
    bool anew = mark(attempt, good);
    if (anew)
        trial_look_again(attempt->service, attempt->hot);
    if (anew || !*good || attempt->loan.gone || attempt->loan.stopped || !come_to_head(attempt))
        return false;
    *good = inject_borrow_save(&attempt->loan, attempt->service->state);
    return *good && attempt->hot->clone.made;
}

static enum trial_outcome try_it(struct attempt *attempt)
{
    struct inject_loan *loan = &attempt->loan;
    bool moved = false, good = false;
    if (!inject_borrow_save(loan, attempt->service->state) || !is_same_code(attempt))
        return TRIAL_REFUSED;
    if (attempt->hot->clone.marker.code && !mark_first(attempt, &good))
        return good ? TRIAL_RECORDED : TRIAL_DISTURBED;
    attempt->gated =
        attempt->hot->clone.gated.code && inject_borrow_alone(loan) && has_owner(attempt);
    if (is_to_record(attempt->hot) && !try_to_record(attempt, &good))
        return good ? TRIAL_RECORDED : TRIAL_DISTURBED;
    attempt->hot->replayed = true;
    bool varies = is_for_variant(attempt->hot);
    good = place_outcomes(attempt) && calibrate(attempt) && touch_outcomes(attempt) &&
           run_first(attempt) && take_off_replay(attempt) && (!varies || run_variant(attempt));
    if (!good || varies) {
        if (!loan->gone && !inject_borrow_restore(loan, attempt->service->state))
            return TRIAL_REFUSED;
        return good ? TRIAL_DONE : TRIAL_DISTURBED;
    }
    good = false;
    if (is_short(attempt))
        good = run_nest(attempt, &moved);
    if (!good && !moved && !loan->stopped)
        good = run_loop(attempt);
    return good ? TRIAL_DONE : TRIAL_DISTURBED;
}

/* What the program lost. On a busy machine most of a trial may be spent in waiting for others: that is no more than twice what was executed. */
static double cost_ns(const struct attempt *attempt, uint64_t elapsed_ns, uint64_t cpu_ns)
{
    double held_ns = fmax(0, (double)elapsed_ns - attempt->own_ns);
    return fmin(held_ns, 2 * ((double)cpu_ns + attempt->code_ns));
}

enum trial_outcome trial_attempt(struct trial_service *service, struct trial_hot *hot)
{
    struct attempt attempt = {.service = service, .hot = hot};
    struct trial_loop *out = &hot->out;
    if (!inject_borrow(&attempt.loan, service->child, hot->pid, hot->tid)) {
        if (!attempt.loan.refused)
            return TRIAL_MISSED;
        service->tracing_refused = attempt.loan.refused;
        return TRIAL_REFUSED;
    }
    service->traced = true;
    uint64_t begun_ns = os_now_ns(CLOCK_MONOTONIC),
             begun_cpu_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID);
    enum trial_outcome outcome = TRIAL_MISSED;
    if (find_places(&attempt) && come_to_head(&attempt))
        outcome = try_it(&attempt);
    inject_give_back(&attempt.loan);
    if (attempt.loan.unarmed) {
        service->arming_refused = attempt.loan.unarmed;
        outcome = TRIAL_REFUSED;
    }
    service->cost_ns += cost_ns(&attempt, os_now_ns(CLOCK_MONOTONIC) - begun_ns,
                                os_now_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu_ns);
    if (outcome == TRIAL_DONE &&
        !UTIL_PUSH(out->pairs, out->pairs_count, out->pairs_capacity, attempt.pair))
        return TRIAL_REFUSED;
    return outcome;
}
