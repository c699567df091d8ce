// SPDX-License-Identifier: MIT
/*
 * One sample, from the timer tick to the confirmed access, and the traps of
 * armed watchpoints.
 *
 * A tick says when, not where: it lands after slow instructions. So one of all
 * matching accesses in a window of instructions *ahead* is taken, each as likely.
 * `forecast` lists them without running the program; where control flow depends on
 * something it does not know, an execution breakpoint stops the thread
 * there and the forecast goes on from the real state (a *hop*). One debug register is
 * kept for this scouting. What can be decided by looking further ahead is (ahead.c). Else the access chosen is put under
 * watch before it happens, and its own trap confirms it.
 *
 * Rejected: "the next matching access" and "the n-th matching access". Both give
 * the time of loops without such accesses to the first ones behind them (the
 * inspection paradox), 68 % for a dead share of 50 % in tests/programs/dead_pairs.c.
 *
 * A random byte of the access stands for the whole: unbiased per byte for
 * partial overlaps and unaligned accesses, where watching the first aligned word is
 * not.
 *
 * Cost is bounded by a budget: what a sample costs (traps included) stretches
 * the time to the next, and the weight of samples with it.
 */
#include "agent/agent.h"

#include <errno.h>
#include <string.h>

enum {
    WINDOW_LEAST = 64, /* instructions looked at ahead: enough for a tick's place in a
                          loop not to matter, few enough to stay in it          */
    WINDOW_SPREAD = 64,
    WINDOW_FAR = 384, /* the least and the spread where most ticks have no store near ahead:
                         with what follows a store, within what a forecast interprets    */
    STORE_NEAR = WINDOW_LEAST + WINDOW_SPREAD / 2,
    STORELESS_SMOOTHING = 32,
    SPARSE_INSTRUCTIONS = 24,
    HOPS_MAX = 5,
    VISITS_MAX = 4,
    STRANGERS_MAX = 12,
    IGNORED_MAX = 24,
    TICKS_A_PERIOD = 8, /* samples before the period is drawn anew: that costs 25 us */
    TICK_LEAST_NS = 50000,
    DELIVERY_FIRST_NS = 18000, /* charged a tick or a trap beside the handler's own time, until
                                  some traps have shown what delivery costs here: 20 us in a guest,
                                  twice that where caches are cold, less on bare metal        */
    DELIVERY_LEAST_NS = 2000,
    DELIVERY_MOST_NS = 80000, /* more is time of the program's own                     */
    DELIVERY_SMOOTHING = 16,
    BUDGET_INTERVAL_NS =
        250000, /* a sample may cost 1/50 of 12.5 ms, the usual interval: 2 % of the
                   thread's CPU time; whoever asks for more samples allows more */
    COST_SMOOTHING = 16,
    COST_UNSEEN_PERCENT =
        75,           /* charged on top of what is measured: reading again what the agent has
                                 displaced from caches and address translation, the kernel's deferred
                                 work. Whole programs took 1.4 to 1.7 times what was measured       */
    BUDGET_LEAST = 4, /* but never over a quarter                              */
    ADAPTIVE_SAMPLES = 450,
    ADAPTIVE_LEAST_NS = 1000000,
    ADAPTIVE_FIRST_COST = 120000, /* until it is known what a sample costs                */
};

/* Behind a hop there is still a scout. */
static void attempt_ended(struct agent_thread *self)
{
    os_watch_disarm(&self->scout.os); /* no-op if a register adopted it */
    self->attempt.scout = AGENT_SCOUT_IDLE;
}

void sample_finish(struct agent_thread *self, enum wire_drop reason)
{
    attempt_ended(self);
    self->counters->dropped[reason]++;
    for (unsigned kind = 0; kind < DETECT_KINDS && reason == WIRE_DROP_NO_ACCESS; kind++)
        self->question.absent[kind] += self->attempt.kinds >> kind & 1;
}

void sample_drop(struct agent_thread *self, enum wire_drop reason)
{
    if (self->attempt.scout != AGENT_SCOUT_IDLE)
        sample_finish(self, reason);
}

void sample_abandon(struct agent_thread *self)
{
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++)
        if (self->detect.registers[i].busy)
            detect_abandon(&self->detect, i);
}

void sample_disarm(struct agent_thread *self)
{
    os_watch_disarm(&self->scout.os);
    sharing_release(self);
    sample_abandon(self);
}

bool sample_cookie(uint64_t cookie)
{
    return cookie >> 32 == SAMPLE_COOKIE_MAGIC;
}

bool sample_arm(struct agent_thread *self, struct agent_watch *watch, enum os_watch_type type,
                uint64_t address)
{
    if (self->generation < PMU_GENERATIONS)
        self->generation = PMU_GENERATIONS;
    watch->generation = ++self->generation;
    uint64_t cookie = (uint64_t)SAMPLE_COOKIE_MAGIC << 32 | watch->generation;
    bool kernel = agent.region->config.watch_kernel != 0;
    long error = os_watch_arm(&watch->os, type, address, cookie, kernel);
    /* The program may have given up the privileges that headroom had at the start. */
    if (kernel && (error == -EACCES || error == -EPERM)) {
        error = os_watch_arm(&watch->os, type, address, cookie, false);
        if (!error)
            agent_degrade(WIRE_DEGRADED_KERNEL_HIDDEN);
    }
    if (error)
        agent_degrade(error == -ENOSPC ? 0 : WIRE_DEGRADED_NO_WATCHPOINT);
    return !error;
}

/* ---- detect's machine --------------------------------------------------------------- */

/* The scout already watches the byte: its debug register changes hands. */
static bool adopt_scout(void *machine, unsigned index, const struct detect_sample *sample)
{
    struct agent_thread *self = machine;
    if (!self->scout.os.page)
        return false;
    self->watches[index] = self->scout;
    self->uses[index] = self->use;
    objects_at(self, sample->address, &self->objects[index]);
    self->scout.os.page = NULL;
    if (sample->kind == DETECT_REUSE && reuse_has_companions())
        reuse_arm_companions(self, sample->watched);
    return true;
}

static void release_watch(void *machine, unsigned index)
{
    struct agent_thread *self = machine;
    os_watch_disarm(&self->watches[index].os);
    for (unsigned i = 0; i < AGENT_COMPANIONS && index == 0; i++)
        os_watch_disarm(&self->companions[i].os);
}

static uint64_t random_below(void *machine, uint64_t bound)
{
    struct agent_thread *self = machine;
    return base_random_below(&self->random, bound);
}

void sample_init(struct agent_thread *self)
{
    const struct wire_config *config = &agent.region->config;
    struct detect_options options = {.fp_tolerance = config->fp_tolerance,
                                     .ignored_limit = IGNORED_MAX};
    struct detect_hooks hooks = {adopt_scout, release_watch, random_below, self, reuse_lost};
    detect_init(&self->detect, &options, &hooks);
    question_init(self);
    memset(&self->attempt, 0, sizeof self->attempt);
    self->spent_ns = 0;
    self->delivery_ns = DELIVERY_FIRST_NS;
    self->cost_ns = config->adaptive ? ADAPTIVE_FIRST_COST : 0;
}

void sample_publish(struct agent_thread *self)
{
    const struct detect_counts *from = &self->detect.counts;
    struct wire_counters *to = self->counters;
    memcpy(to->samples, from->samples, sizeof to->samples);
    memcpy(to->armed, from->armed, sizeof to->armed);
    memcpy(to->traps, from->traps, sizeof to->traps);
    memcpy(to->ignored, from->ignored, sizeof to->ignored);
    memcpy(to->evicted, from->evicted, sizeof to->evicted);
    memcpy(to->abandoned, from->abandoned, sizeof to->abandoned);
    memcpy(to->blind_longest, from->blind_longest, sizeof to->blind_longest);
}

/* ---- looking ahead -------------------------------------------------------------------- */

static bool is_thread_variable(uint64_t address)
{
    return address - (uint64_t)&agent_self < sizeof agent_self ||
           address - (uint64_t)&agent_trap_blocked < sizeof agent_trap_blocked ||
           allocate_owns(address);
}

/*
 * Never watched: the agent's own memory, for its handlers would trap on it, and what the kernel
 * writes whenever a thread goes back to user mode (rseq(2)): that trap would be one more thing to
 * do before going back, which writes again: the thread would never get out of the kernel.
 */
bool sample_refuses(const struct agent_thread *self, uint64_t address)
{
    uint64_t state = (uint64_t)self, region = (uint64_t)agent.region;
    for (unsigned i = 0; i < BASE_COUNT(agent.kernel_areas); i++)
        if (agent.kernel_areas[i] != AGENT_NOWHERE &&
            address - (agent_control_block() + (uint64_t)agent.kernel_areas[i]) < AGENT_RSEQ_BYTES)
            return true;
    return address >= UINT64_C(0x7ffffffff000) || is_thread_variable(address) ||
           (address >= state && address < state + sizeof *self + cct_bytes(AGENT_TREE_NODES)) ||
           (address >= region && address < region + sizeof *agent.region) || agent_owns(address);
}

bool sample_scout(struct agent_thread *self, uint8_t kind, uint64_t watched)
{
    /* A location of reuse larger than a byte is watched as far as one register reaches. */
    if (kind == DETECT_REUSE && agent.region->config.unit_shift)
        return sample_arm(self, &self->scout, OS_WATCH_WORD, watched & ~UINT64_C(7));
    bool stores_only = kind != AGENT_SHARING && detect_kinds[kind].watches == DETECT_STORES;
    enum os_watch_type type = stores_only ? OS_WATCH_STORES : OS_WATCH_ACCESSES;
    return sample_arm(self, &self->scout, type, watched);
}

static void watch_byte(struct agent_thread *self)
{
    struct agent_attempt *attempt = &self->attempt;
    const struct forecast_outcome *hit = &attempt->hit;
    if (sample_refuses(self, attempt->watched) || hit->bytes > DETECT_MAX_BYTES) {
        sample_finish(self, WIRE_DROP_REFUSED);
        return;
    }
    if (!sample_scout(self, attempt->kind, attempt->watched)) {
        sample_finish(self, WIRE_DROP_WATCHPOINT);
        return;
    }
    attempt->strangers = 0;
    attempt->armed_entries = self->entries;
    attempt->scout = AGENT_SCOUT_PENDING;
    base_read(&self->memory.base, hit->address, attempt->before, hit->bytes);
}

void sample_watch(struct agent_thread *self)
{
    struct agent_attempt *attempt = &self->attempt;
    const struct forecast_outcome *hit = &attempt->hit;
    if (attempt->kind == DETECT_REUSE)
        attempt->watched = reuse_choose(self, hit, &attempt->weight);
    else
        attempt->watched = hit->address + base_random_below(&self->random, hit->bytes);
    watch_byte(self);
}

void sample_hop(struct agent_thread *self, const struct forecast_outcome *block)
{
    struct agent_attempt *attempt = &self->attempt;
    if (attempt->hops++ >= HOPS_MAX || block->earlier_visits > VISITS_MAX ||
        agent.region->config.registers < 2) {
        sample_finish(self, WIRE_DROP_BLOCKED);
        return;
    }
    attempt->window -= block->instructions;
    attempt->visits = block->earlier_visits;
    /* Where a breakpoint has just stopped the thread no other does before that instruction has
     * executed. */
    if (attempt->visits && attempt->hops > 1 && attempt->stop == block->resume)
        attempt->visits--;
    attempt->stop = block->resume;
    if (!sample_arm(self, &self->scout, OS_WATCH_EXECUTION, block->resume)) {
        sample_finish(self, WIRE_DROP_WATCHPOINT);
        return;
    }
    self->counters->hops++;
    attempt->scout = AGENT_SCOUT_HOP;
}

/*
 * A sample stands for the CPU time since the last one, but code with hardly any
 * matching access must not give all its time to the few: below one in
 * SPARSE_INSTRUCTIONS the weight falls with the density. Above it time alone
 * counts; weighing by density throughout would take every instruction for equally
 * fast, and is wrong for loops that differ in instructions an iteration but not in time.
 */
float sample_weigh(float weight, float density)
{
    return density * SPARSE_INSTRUCTIONS < 1 ? weight * density * SPARSE_INSTRUCTIONS : weight;
}

/* Watches one of the `count` accesses of any direction on the way just foreseen, each as likely. */
static void choose_one(struct agent_thread *self, struct forecast_goal goal, uint32_t count)
{
    struct agent_attempt *attempt = &self->attempt;
    goal.skip = (uint32_t)base_random_below(&self->random, count);
    if (forecast_run(&self->forecast, &goal, &attempt->hit) != FORECAST_HIT) {
        sample_finish(self, WIRE_DROP_BLOCKED);
        return;
    }
    attempt->density = (float)attempt->matching / (float)attempt->instructions;
    attempt->weight = sample_weigh(attempt->weight, attempt->density);
    sample_watch(self);
}

static uint8_t kinds_sampling(uint8_t kinds, uint8_t direction)
{
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
        if (!(detect_kinds[kind].samples & direction))
            kinds &= (uint8_t) ~(1u << kind);
    return kinds;
}

static void follow(struct agent_thread *self, const struct agent_ahead *ahead, uint8_t kind,
                   unsigned among)
{
    struct agent_attempt *attempt = &self->attempt;
    attempt->kind = kind;
    attempt->hit = ahead->hit;
    attempt->watched = ahead->watched;
    attempt->density = ahead->density;
    attempt->weight = ahead->weight * (float)among / attempt->turn;
    watch_byte(self);
}

/* What a tick asks about: a store, a load, and any of the two for reuse. */
enum { AHEAD_REUSE = 2, AHEADS };

/* Of what is left open and can be followed now one question is, and stands for all of that. */
static void follow_one(struct agent_thread *self, const struct agent_ahead ahead[AHEADS],
                       bool asked)
{
    uint8_t followed = self->attempt.followed;
    unsigned open = 0;
    for (unsigned i = 0; i < AHEADS; i++)
        open += (unsigned)__builtin_popcount(ahead[i].open & followed);
    if (!open && asked) { /* it has become samples, counted each, or is nothing in this turn */
        attempt_ended(self);
        self->counters->attempted--;
        return;
    }
    if (!open) {
        sample_finish(self, WIRE_DROP_REFUSED);
        return;
    }
    unsigned left = (unsigned)base_random_below(&self->random, open);
    for (unsigned i = 0; i < AHEADS * DETECT_KINDS; i++) {
        const struct agent_ahead *of = &ahead[i / DETECT_KINDS];
        if ((of->open & followed) >> i % DETECT_KINDS & 1 && left-- == 0) {
            follow(self, of, (uint8_t)(i % DETECT_KINDS), open);
            return;
        }
    }
}

/* One access of each direction on the way just foreseen, each as likely as the others of it. Of reuse, which samples
   both, one of all. */
static void choose(struct agent_thread *self, struct forecast_goal goal,
                   const struct forecast_outcome *seen)
{
    const struct agent_attempt *attempt = &self->attempt;
    const uint32_t ahead_of[AHEADS] = {
        seen->stores_passed, seen->matching_passed - seen->stores_passed, seen->matching_passed};
    const uint32_t matching[AHEADS] = {attempt->stores, attempt->matching - attempt->stores,
                                       attempt->matching};
    static const uint8_t directions[AHEADS] = {DETECT_STORES, DETECT_LOADS,
                                               DETECT_STORES | DETECT_LOADS};
    struct agent_ahead ahead[AHEADS];
    bool asked = false;
    for (unsigned i = 0; i < AHEADS; i++) {
        uint8_t kinds = attempt->kinds & (i == AHEAD_REUSE ? WIRE_REUSES : (uint8_t)~WIRE_REUSES);
        ahead[i].open = ahead_of[i] ? kinds_sampling(kinds, directions[i]) : 0;
        if (!ahead[i].open)
            continue;
        ahead[i].density = (float)matching[i] / (float)attempt->instructions;
        ahead[i].weight = sample_weigh(attempt->weight, ahead[i].density);
        goal.direction = directions[i];
        goal.skip = (uint32_t)base_random_below(&self->random, ahead_of[i]);
        if ((i == AHEAD_REUSE ? ahead_ask_reuse : ahead_ask)(self, &goal, &ahead[i]))
            asked = true;
        else
            ahead[i].open = 0;
    }
    follow_one(self, ahead, asked);
}

static bool is_fixed(void *context, uint64_t ip)
{
    (void)context;
    return modules_find_text(ip) != NULL;
}

void sample_exclude(struct agent_thread *self, struct forecast_goal *goal)
{
    goal->hidden_start = agent.image_start;
    goal->hidden_bytes = agent.image_end - agent.image_start;
    goal->is_fixed = is_fixed;
    count_ignore(self, goal);
}

void sample_foresee(struct agent_thread *self, const struct base_registers *registers)
{
    if (self->unloads != modules_unloads()) {
        self->unloads = modules_unloads();
        forecast_forget_code(&self->forecast);
    }
    struct base_registers start = *registers;
    start.gs_base = agent_gs_base();
    forecast_begin(&self->forecast, &start, &self->memory.base);
}

static uint8_t sampled_by(uint8_t kinds)
{
    uint8_t directions = 0;
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
        if (kinds >> kind & 1)
            directions |= detect_kinds[kind].samples;
    return directions;
}

/* Is there a store near ahead, however far was looked? A way cut short before says nothing. */
static void note_stores(struct agent_thread *self, const struct forecast_outcome *seen)
{
    bool near = seen->stores_passed && seen->until_store < STORE_NEAR;
    if (near || seen->instructions >= WINDOW_LEAST)
        self->question.storeless +=
            ((near ? 0 : 1) - self->question.storeless) / STORELESS_SMOOTHING;
}

/*
 * Loops that search or compare hardly store: most windows of the usual length have nothing to ask about then. There it is
 * longer. What a store in sparse code stands for does not depend on the length (see weigh), and that on earlier ticks alone.
 */
static uint32_t draw_window(struct agent_thread *self, uint8_t kinds)
{
    bool far = self->question.storeless > 0.5F && kinds & (1u << DETECT_DEAD | 1u << DETECT_SILENT);
    uint32_t least = far ? WINDOW_FAR : WINDOW_LEAST, spread = far ? WINDOW_FAR : WINDOW_SPREAD;
    return least + (uint32_t)base_random_below(&self->random, spread);
}

/*
 * Looks over the window of instructions ahead. If it is cut short, the part seen
 * is taken with the probability of its share of the window, else the rest is
 * looked at from where it begins.
 */
static void look_ahead(struct agent_thread *self, const struct base_registers *registers)
{
    struct agent_attempt *attempt = &self->attempt;
    bool sharing = attempt->kind == AGENT_SHARING;
    struct forecast_goal goal = {.direction =
                                     sharing ? ISA_LOAD | ISA_STORE : sampled_by(attempt->kinds),
                                 .skip = UINT32_MAX,
                                 .max_instructions = attempt->window};
    struct forecast_outcome seen;
    sample_exclude(self, &goal);
    sample_foresee(self, registers);
    enum forecast_result result = forecast_run(&self->forecast, &goal, &seen);
    if (!attempt->instructions && sharing)
        attempt->waited = spinning_ended(self, &goal, &seen, result == FORECAST_EXHAUSTED);
    if (!attempt->instructions && goal.direction & ISA_STORE)
        note_stores(self, &seen);
    attempt->matching += seen.matching_passed;
    attempt->stores += seen.stores_passed;
    attempt->instructions += seen.instructions;
    bool here = result == FORECAST_EXHAUSTED ||
                base_random_below(&self->random, attempt->window) < seen.instructions;
    if (here && seen.matching_passed && sharing)
        sharing_choose(self, goal, seen.matching_passed);
    else if (here && seen.matching_passed && attempt->kinds == WIRE_REUSES)
        choose_one(self, goal, seen.matching_passed);
    else if (here && seen.matching_passed)
        choose(self, goal, &seen);
    else if (result == FORECAST_BLOCKED)
        sample_hop(self, &seen);
    else
        sample_finish(self, result == FORECAST_FAULT ? WIRE_DROP_BLOCKED : WIRE_DROP_NO_ACCESS);
}

/* ---- the tick ---------------------------------------------------------------------------- */

/* A tick that was due inside a system call comes on its way out: rcx is as `syscall` left it. */
static bool in_system_call(struct agent_thread *self, const struct base_registers *registers)
{
    uint8_t code[2];
    return registers->general[BASE_RCX] == registers->ip &&
           base_read(&self->memory.base, registers->ip - 2, code, 2) && code[0] == 0x0f &&
           code[1] == 0x05;
}

/*
 * At a rate of n / t after CPU time t each sample stands for t / n, so that whenever the thread ends, the effective
 * number of its samples, (Σw)² / Σw² with weights w = t / n and a density n / t, is t² / (t² / 2n) = 2n: as many for
 * a thread of a second as for one of a minute, 900 for three kinds. From when that is sparser than the interval
 * wanted, that one stays. Nothing of this depends on what samples find, and their cost only by their weights: no share is biased.
 */
static uint64_t adaptive_interval(const struct agent_thread *self)
{
    uint64_t most = agent.region->config.interval_ns;
    uint64_t wanted = self->began_ns / ADAPTIVE_SAMPLES;
    uint64_t affordable = (uint64_t)self->cost_ns * agent.region->config.adaptive;
    wanted = wanted < most ? wanted : most;
    wanted = wanted > affordable ? wanted : affordable;
    return wanted > ADAPTIVE_LEAST_NS ? wanted : ADAPTIVE_LEAST_NS;
}

static uint64_t affordable_interval(const struct agent_thread *self)
{
    uint64_t base = agent.region->config.interval_ns;
    if (agent.region->config.adaptive)
        return adaptive_interval(self);
    uint64_t share = base / BUDGET_INTERVAL_NS;
    uint64_t affordable = (uint64_t)self->cost_ns * (share > BUDGET_LEAST ? share : BUDGET_LEAST);
    return affordable > base ? affordable : base;
}

/*
 * Every tick is a sample: ticks are expensive (15-20 us in a guest), so thinning out finer
 * ones at random was too. Instead the period is drawn anew every few ticks: that
 * cannot stay in step with a loop for long.
 */
static bool start_ticks(struct agent_thread *self, uint64_t period)
{
    self->ticks_left = TICKS_A_PERIOD;
    self->period_ns = period > TICK_LEAST_NS ? period : TICK_LEAST_NS;
    return os_tick_start(&self->ticks, self->period_ns, (uint64_t)SAMPLE_COOKIE_MAGIC << 32) == 0;
}

/*
 * What samples cost lately stretches the time between them. Smoothed: a single
 * expensive one must not give the next a weight that drowns the rest.
 */
static void schedule(struct agent_thread *self)
{
    int64_t spent = (int64_t)(self->spent_ns + self->spent_ns * COST_UNSEEN_PERCENT / 100);
    self->cost_ns += (spent - self->cost_ns) / COST_SMOOTHING;
    self->spent_ns = (uint64_t)self->delivery_ns;
    if (--self->ticks_left > 0)
        return;
    os_watch_disarm(&self->ticks);
    self->interval_ns = affordable_interval(self);
    if (!start_ticks(self, self->interval_ns / 4 * 3 +
                               base_random_below(&self->random, self->interval_ns / 2)))
        agent_degrade(WIRE_DEGRADED_NO_TIMER);
}

bool sample_start(struct agent_thread *self)
{
    if (agent.source == WIRE_SOURCE_PMU)
        return pmu_start(self);
    if (agent.source == WIRE_SOURCE_COUNT)
        return count_start(self);
    self->interval_ns = affordable_interval(self);
    /* The first tick comes anywhere in the first interval: short threads count in proportion. */
    bool started = start_ticks(self, base_random_below(&self->random, self->interval_ns));
    self->ticks_left = 1;
    self->period_ns = self->interval_ns; /* what the first one stands for if it comes at all */
    return started;
}

bool sample_running(const struct agent_thread *self)
{
    return self->counting || self->ticks.page || self->rings[0].page || self->rings[1].page;
}

void sample_stop(struct agent_thread *self)
{
    os_watch_disarm(&self->ticks);
    pmu_stop(self);
    count_stop(self);
}

void sample_forget(struct agent_thread *self)
{
    count_stop(self); /* the thread's own memory came along */
    self->ticks.page = NULL;
    self->rings[0].page = self->rings[1].page = NULL;
    self->scout.os.page = NULL;
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++)
        self->watches[i].os.page = NULL;
    for (unsigned i = 0; i < AGENT_COMPANIONS; i++)
        self->companions[i].os.page = NULL;
    sharing_forget(self);
}

/* Whatever becomes of it, where the time went is noted. Returns the flags of the record. */
static uint32_t log_tick(struct agent_thread *self, const struct base_registers *registers,
                         uint64_t period_ns, bool late)
{
    uint32_t flags = late ? WIRE_TICK_LATE : in_system_call(self, registers) ? WIRE_TICK_SYSTEM : 0;
    if (agent.source == WIRE_SOURCE_COUNT) /* recordings are to be the same on every run */
        flags |= WIRE_TICK_PLAIN;
    context_log_tick(self, registers, period_ns, flags);
    return flags;
}

static void tick(struct agent_thread *self, const struct base_registers *registers, bool late)
{
    sample_drop(self, WIRE_DROP_UNFORESEEN);
    sharing_release(self);
    allocate_tick();
    uint64_t period_ns = self->period_ns;
    float weight = (float)period_ns / (float)agent.region->config.interval_ns;
    schedule(self);
    float turn = 1;
    bool sharing = question_shares(self, &weight);
    uint8_t followed = sharing ? 0 : question_turn(self, &turn);
    uint8_t kinds = sharing ? 0 : (uint8_t)agent.region->config.kinds;
    self->attempt = (struct agent_attempt){.kind = sharing ? AGENT_SHARING
                                                   : kinds == WIRE_REUSES
                                                       ? DETECT_REUSE
                                                       : DETECT_DEAD, /* until one is followed */
                                           .kinds = kinds,
                                           .followed = followed,
                                           .turn = turn,
                                           .weight = weight,
                                           .window = draw_window(self, kinds)};
    self->counters->attempted++;
    uint32_t flags = log_tick(self, registers, period_ns, late);
    if (flags & WIRE_TICK_LATE)
        sample_finish(self, WIRE_DROP_SIGNAL);
    else if (flags & WIRE_TICK_SYSTEM)
        sample_finish(self, WIRE_DROP_KERNEL);
    else if (agent_owns(registers->ip)) /* that time is ours, not the program's */
        sample_finish(self, WIRE_DROP_AGENT);
    else
        look_ahead(self, registers);
}

/* ---- who touched a watched byte ----------------------------------------------------------- */

static bool is_certain(enum isa_blame_result result)
{
    return result == ISA_BLAME_EXACT || result == ISA_BLAME_KERNEL || result == ISA_BLAME_RETURN;
}

/* A watched word is touched at the sampled byte mostly; if not, at one where halves begin. */
enum isa_blame_result sample_find_culprit(struct agent_thread *self, const struct os_watch *watch,
                                          uint64_t watched, const struct base_registers *registers,
                                          struct isa_blame *blame)
{
    static const uint8_t places[] = {0, 4, 2, 6, 1, 3, 5, 7};
    const struct base_memory *memory = &self->memory.base;
    struct isa_blame other;
    struct isa_around around;
    modules_function(registers->ip, &around.start, &around.end);
    around.boundary = memory_boundary(&self->memory, around.start, registers->ip);
    enum isa_blame_result result = isa_find_trapping(registers, watched, &around, memory, blame);
    for (unsigned i = 0; i < sizeof places && watch->type == OS_WATCH_WORD; i++) {
        if (is_certain(result))
            break;
        uint64_t place = watch->address + places[i];
        if (place == watched ||
            isa_find_trapping(registers, place, &around, memory, &other) != ISA_BLAME_EXACT)
            continue;
        *blame = other;
        result = ISA_BLAME_EXACT;
    }
    return result;
}

/* ---- the scout's traps ------------------------------------------------------------------- */

/* Has the repeated instruction that ip is at touched the byte, and not the one before it? */
static bool is_under_way(struct agent_thread *self, const struct base_registers *registers)
{
    struct isa_blame blame;
    return sample_find_culprit(self, &self->scout.os, self->attempt.watched, registers, &blame) ==
               ISA_BLAME_EXACT &&
           blame.address == registers->ip;
}

/* Did the foreseen instruction just execute? ip is after it. */
static bool confirms(struct agent_thread *self, const struct base_registers *registers)
{
    const struct agent_attempt *attempt = &self->attempt;
    const struct isa_insn *insn = &attempt->hit.insn;
    uint64_t after = insn->address + insn->length;
    uint64_t word;
    switch (insn->flow) {
    case ISA_CALL:
        return base_read(&self->memory.base, registers->general[BASE_RSP], &word, 8) &&
               word == after;
    /* Where it went is what it loaded. A touch before that is another's: of a return's, its call's.
     */
    case ISA_RETURN:
    case ISA_JUMP:
        return base_read(&self->memory.base, attempt->hit.address, &word, 8) &&
               word == registers->ip;
    default:
        return registers->ip == after ||
               (insn->repeated && registers->ip == insn->address && is_under_way(self, registers));
    }
}

/* What a trap costs: nothing but the way from the handler that armed the scout to this one. */
static uint32_t trap_cost(const struct agent_thread *self)
{
    bool next = self->entries == self->attempt.armed_entries + 1;
    uint64_t cost = thread_virtual_ns(self) - self->last_virtual_ns;
    return next && cost < UINT32_MAX ? (uint32_t)cost : 0;
}

/* A confirming trap follows its arming within some hundred instructions: all else in between is delivery. */
static void note_delivery(struct agent_thread *self)
{
    int64_t cost = trap_cost(self);
    if (!cost)
        return;
    cost = cost < DELIVERY_LEAST_NS ? DELIVERY_LEAST_NS : cost;
    cost = cost > DELIVERY_MOST_NS ? DELIVERY_MOST_NS : cost;
    self->delivery_ns += (cost - self->delivery_ns) / DELIVERY_SMOOTHING;
}

struct detect_sample sample_of(struct agent_thread *self, uint8_t kind,
                               const struct forecast_outcome *hit, uint64_t watched, float weight,
                               uint32_t node)
{
    const struct isa_access *access = &hit->insn.accesses[hit->access];
    return (struct detect_sample){.kind = kind,
                                  .element_is_float = access->element == ISA_FLOAT,
                                  .element_bytes = access->element_bytes,
                                  .address = hit->address,
                                  .bytes = hit->bytes,
                                  .watched = watched,
                                  .weight = weight,
                                  .context_id = node,
                                  .context = &self->cct.nodes[node].detect,
                                  .modifies = access->direction == (ISA_LOAD | ISA_STORE)};
}

void sample_record(struct agent_thread *self, const struct detect_sample *sample, float density,
                   uint8_t armed, uint32_t trap_ns)
{
    struct wire_sample record = {.record = {.type = WIRE_SAMPLE, .bytes = sizeof record},
                                 .kind = sample->kind,
                                 .armed = armed,
                                 .bytes = (uint16_t)sample->bytes,
                                 .node = sample->context_id,
                                 .weight = sample->weight,
                                 .density = density,
                                 .trap_ns = trap_ns};
    wire_write(&self->writer, &record.record);
}

void sample_log(struct agent_thread *self, const struct detect_sample *sample, uint8_t armed)
{
    sample_record(self, sample, self->attempt.density, armed, trap_cost(self));
    attempt_ended(self);
    self->counters->stored++;
}

void sample_store(struct agent_thread *self, struct detect_sample *sample)
{
    if (!wire_reserve(&self->writer, sizeof(struct wire_sample))) {
        sample_finish(self, WIRE_DROP_LOG_FULL);
        return;
    }
    sample_log(self, sample, detect_take(&self->detect, sample) >= 0);
}

static void confirm(struct agent_thread *self, const struct base_registers *registers)
{
    struct agent_attempt *attempt = &self->attempt;
    const struct forecast_outcome *hit = &attempt->hit;
    const struct isa_access *access = &hit->insn.accesses[hit->access];
    if (!confirms(self, registers)) {
        if (++attempt->strangers > STRANGERS_MAX)
            sample_finish(self, WIRE_DROP_UNFORESEEN);
        else
            base_read(&self->memory.base, hit->address, attempt->before, hit->bytes);
        return;
    }
    note_delivery(self);
    memory_note_boundary(&self->memory, hit->insn.address);
    if (hit->insn.flow == ISA_RETURN && agent_owns(registers->ip)) {
        sample_finish(self, WIRE_DROP_AGENT); /* what it loaded, a call of ours has stored */
        return;
    }
    enum wire_drop drop = WIRE_DROP_UNWIND;
    uint32_t node = context_enter(self, registers, hit->insn.address, context_place(&hit->insn),
                                  context_flags(&hit->insn, access), &drop);
    if (!node) {
        sample_finish(self, drop);
        return;
    }
    if (attempt->kind == AGENT_SHARING) {
        sharing_confirmed(self, node);
        return;
    }
    struct detect_sample sample =
        sample_of(self, attempt->kind, hit, attempt->watched, attempt->weight, node);
    memcpy(sample.loaded, attempt->before, sizeof sample.loaded);
    if (sample.kind == DETECT_REUSE)
        reuse_take(self, registers, &sample, hit->direction);
    else if (base_read(&self->memory.base, hit->address, sample.value, hit->bytes))
        sample_store(self, &sample);
    else
        sample_finish(self, WIRE_DROP_REFUSED);
}

static void scout_trap(struct agent_thread *self, const struct base_registers *registers, bool late)
{
    struct agent_attempt *attempt = &self->attempt;
    if (late) {
        sample_finish(self, WIRE_DROP_SIGNAL);
    } else if (attempt->scout == AGENT_SCOUT_PENDING) {
        confirm(self, registers);
    } else if (attempt->visits > 0) {
        attempt->visits--;
    } else {
        os_watch_disarm(&self->scout.os);
        self->frame.function = 0;
        if (attempt->counted)
            count_look_ahead(self, registers);
        else
            look_ahead(self, registers);
    }
}

/* ---- traps of armed watchpoints -------------------------------------------------------------- */

/* What touched the byte, in detect's words; false if that is unknown. */
static bool describe_touch(const struct detect_sample *sample, const struct isa_blame *blame,
                           enum isa_blame_result result, const uint8_t *now,
                           struct detect_touch *touch)
{
    *touch = (struct detect_touch){.direction = blame->direction,
                                   .value = now,
                                   .range_known = result == ISA_BLAME_EXACT,
                                   .address = blame->start,
                                   .bytes = blame->bytes};
    if (result == ISA_BLAME_KERNEL) {
        touch->direction = isa_syscall_direction(blame->syscall_number);
        /* An unknown system call that changed the value has stored; else it is unknown. */
        if (!touch->direction && memcmp(now, sample->value, sample->bytes) != 0)
            touch->direction = DETECT_STORES;
    }
    /* A store watchpoint fires on nothing else, but for a cmpxchg that failed. */
    if (detect_kinds[sample->kind].watches == DETECT_STORES && result != ISA_BLAME_EXACT)
        touch->direction = DETECT_STORES;
    return touch->direction != 0 && result != ISA_BLAME_AMBIGUOUS;
}

void sample_log_finding(struct agent_thread *self, const struct detect_finding *finding,
                        uint32_t node, uint32_t flags)
{
    struct wire_trap record = {.record = {.type = WIRE_TRAP, .bytes = sizeof record},
                               .kind = finding->kind,
                               .verdict = finding->verdict,
                               .bytes = (uint16_t)finding->bytes,
                               .watch_node = finding->context_id,
                               .trap_node = node,
                               .samples = finding->samples,
                               .chance = finding->chance,
                               .weight = finding->weight,
                               .flags = flags | (finding->near ? WIRE_TRAP_NEAR : 0)};
    wire_write(&self->writer, &record.record);
}

/* The byte of register `index` was touched by what `blame` says. */
static void resolve(struct agent_thread *self, unsigned index,
                    const struct base_registers *registers, const struct isa_blame *blame,
                    enum isa_blame_result result)
{
    const struct detect_sample *sample = &self->detect.registers[index].sample;
    struct detect_touch touch;
    uint8_t now[DETECT_MAX_BYTES];
    if (sample->kind == DETECT_REUSE) {
        reuse_resolve(self, index, registers, blame, result);
        return;
    }
    if (!base_read(&self->memory.base, sample->address, now, sample->bytes) ||
        !describe_touch(sample, blame, result, now, &touch)) {
        self->counters->ambiguous_traps++;
        detect_abandon(&self->detect, index);
        return;
    }
    /* The context first: detect frees the register, and a finding without its place is lost. */
    bool said_nothing = sample->kind == DETECT_LOAD && !(touch.direction & DETECT_LOADS);
    enum wire_drop drop = WIRE_DROP_UNWIND;
    uint32_t node = said_nothing ? 0 : context_enter_touch(self, registers, blame, result, &drop);
    if (!said_nothing && (!node || !wire_reserve(&self->writer, sizeof(struct wire_trap) +
                                                                    sizeof(struct wire_located)))) {
        detect_abandon(&self->detect, index);
        return;
    }
    struct detect_finding finding;
    enum detect_verdict verdict = detect_touched(&self->detect, index, &touch, &finding);
    if (verdict == DETECT_IGNORED)
        return;
    sample_log_finding(self, &finding, node,
                       (result == ISA_BLAME_KERNEL ? WIRE_TRAP_KERNEL : 0) |
                           (result == ISA_BLAME_LIKELY ? WIRE_TRAP_LIKELY : 0));
    objects_log(self, &self->objects[index]);
}

/* Was it the agent itself, outside of its handlers, in a wrapper of some function? Back from a function that it had
   called for the program, what was touched is the return address that it had pushed. */
bool sample_touched_by_agent(const struct base_registers *registers, const struct isa_blame *blame,
                             enum isa_blame_result result)
{
    bool known = result == ISA_BLAME_EXACT || result == ISA_BLAME_LIKELY;
    bool returns = known && blame->insn.flow == ISA_RETURN;
    return agent_owns(known && !returns ? blame->address : registers->ip);
}

/*
 * Without the agent its frames would not be there: what they overwrite says nothing about the program, nor does it
 * stay what it was, so that the watch ends undecided. What the agent merely reads stays as it was.
 */
static void pass_over(struct agent_thread *self, unsigned index, const struct isa_blame *blame,
                      enum isa_blame_result result)
{
    const struct detect_sample *sample = &self->detect.registers[index].sample;
    struct detect_touch nothing = {.direction = 0};
    struct detect_finding unused;
    uint8_t now[DETECT_MAX_BYTES];
    self->counters->agent_traps++;
    if (result == ISA_BLAME_EXACT && blame->direction == ISA_LOAD &&
        base_read(&self->memory.base, sample->address, now, sample->bytes)) {
        nothing.value = now;
        detect_touched(&self->detect, index, &nothing, &unused);
    } else {
        detect_abandon(&self->detect, index);
    }
}

/* watch: register `index` itself or a companion of it. */
static void watch_trap(struct agent_thread *self, unsigned index, const struct agent_watch *watch,
                       const struct base_registers *registers)
{
    struct isa_blame blame;
    uint64_t watched = self->detect.registers[index].sample.watched;
    if (watch != &self->watches[index])
        watched = watch->os.address;
    enum isa_blame_result result =
        sample_find_culprit(self, &watch->os, watched, registers, &blame);
    if (sample_touched_by_agent(registers, &blame, result)) {
        pass_over(self, index, &blame, result);
        return;
    }
    self->counters->kernel_traps += result == ISA_BLAME_KERNEL;
    if (result == ISA_BLAME_EXACT)
        memory_note_boundary(&self->memory, blame.address);
    resolve(self, index, registers, &blame, result);
}

/* The armed watch of that generation, and the register it belongs to; NULL: gone. */
static const struct agent_watch *find_watch(const struct agent_thread *self, uint32_t generation,
                                            unsigned *index)
{
    for (*index = 0; *index < DETECT_MAX_REGISTERS; ++*index)
        if (self->detect.registers[*index].busy && self->watches[*index].generation == generation)
            return &self->watches[*index];
    *index = 0;
    for (unsigned i = 0; i < AGENT_COMPANIONS && self->detect.registers[0].busy; i++)
        if (self->companions[i].os.page && self->companions[i].generation == generation)
            return &self->companions[i];
    return NULL;
}

void sample_kernel_touch(struct agent_thread *self, uint64_t address, uint64_t bytes,
                         int32_t syscall_number, uint64_t function,
                         const struct base_registers *registers)
{
    struct isa_blame blame = {.address = function, .syscall_number = syscall_number};
    uint8_t direction = isa_syscall_direction(syscall_number);
    memory_enter(&self->memory, 0, 0);
    thread_note_time(self);
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++)
        if (sample_watches(self, i, address, bytes) &&
            (direction & detect_kinds[self->detect.registers[i].sample.kind].watches))
            resolve(self, i, registers, &blame, ISA_BLAME_KERNEL);
    sample_publish(self);
}

static void trap_of_watchpoint(struct agent_thread *self, uint32_t generation,
                               const struct base_registers *registers, bool late)
{
    self->spent_ns += (uint64_t)self->delivery_ns;
    self->counters->late_traps += late;
    if (self->scout.os.page && self->scout.generation == generation) {
        scout_trap(self, registers, late);
        return;
    }
    if (sharing_trap(self, generation, registers, late))
        return;
    unsigned index;
    const struct agent_watch *watch = find_watch(self, generation, &index);
    if (watch && late)
        detect_abandon(&self->detect, index); /* whoever touched it is long gone */
    else if (watch)
        watch_trap(self, index, watch, registers);
}

void sample_trap(struct agent_thread *self, ucontext_t *context, const struct os_trap *trap)
{
    uint32_t generation = (uint32_t)trap->cookie;
    struct base_registers registers;
    if (!agent_active()) { /* nothing more to come: not even ticks */
        sample_disarm(self);
        sample_stop(self);
        return;
    }
    sharing_sampled(self);
    if (!thread_claim(self))
        return;
    agent_registers(context, &registers);
    memory_enter(&self->memory, registers.ip, registers.general[BASE_RSP]);
    if (generation == 0 && agent.source == WIRE_SOURCE_COUNT) {
        count_tick(registers.ip);
        log_tick(self, &registers, COUNT_TICK_NS, trap->late);
        return;
    }
    if (generation == 0)
        tick(self, &registers, trap->late);
    else if (generation <= PMU_GENERATIONS)
        pmu_overflow(self, generation - 1, &registers, trap->late);
    else
        trap_of_watchpoint(self, generation, &registers, trap->late);
    memory_note_boundary(&self->memory, registers.ip); /* an instruction begins there */
    sample_publish(self);
    self->slot->cpu_ns = self->began_ns; /* a thread that is killed says no more */
}
