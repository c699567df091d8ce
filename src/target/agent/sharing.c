// SPDX-License-Identifier: MIT
/*
 * Cache lines that threads share. At a tick a thread takes one of the accesses ahead, loads and stores alike, and publishes it on
 * a board in the process. Then it takes a fresh entry of another thread and watches random words of that line with the debug
 * registers that are free: if it touches one of them before its next tick, two threads have touched the line shortly after one another, and
 * both places are known, and which bytes they used. A thread sets no registers but its own.
 *
 * An access that is certain to come is published as it was foreseen, without the trap that would confirm it (see ahead.c); else it is
 * confirmed first.
 *
 * Memory that processes share has addresses of its own in each: accesses to it are published by file and offset, on a board that all
 * processes of the recording have, in the region. Whoever looks takes an entry of either board, each as likely. A
 * process of one thread asks only while another one is at work that has such memory, too.
 *
 * What took turns is not shared: touches are not connected if they lie farther apart than config.sharing_ms, if threads have left a
 * barrier in between, if the second thread began later than the first touch, or if it may have waited in the kernel in between. Nor is memory that was freed in between.
 * When a thread waited is not known, only how often it has. One that waits more often than SHORT_NS does so for locks, or for what others hand it again
 * and again: if it takes turns, lines do move each time, so often that it matters. One that waits more often than TURN_NS may do so, or hand on whole
 * parts of an array, whose lines move as seldom as the turns end: its debug register watches the word on, for a few touches in each turn, or many. One that
 * has waited now and then since before the first touch is taken to have had its turn, unless both threads are known to run at the same time: the other one's CPU clock went on during the watch, and this
 * one has been on a processor nearly all the time. Rejected: to ask only whether it waited since it began to watch. A thread that has its turn right after another one
 * has waited by then. And to take every wait for a turn: threads that fight for a lock now and then would share nothing.
 *
 * A watch ends with the next tick, because the registers are needed then. It stands for 1 / (probability that
 * one of the words touched was watched) / (probability that the entry was chosen); see docs/sharing.md.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <string.h>
#include <time.h>

static struct board board;
static _Atomic uint32_t threads, numbers;
static _Atomic uint64_t last_barrier_ns;

static uint64_t fresh_ns(void)
{
    return agent.region->config.sharing_ms * UINT64_C(1000000);
}

/* ---- lines that several threads use ---------------------------------------------------------------- */

/*
 * By hash of the line: who published it last, whether that wrote, and whether several threads are known to share it. Looks at the board are
 * aimed at those: see board_choose, whose weights make up for it. One word each, so that no thread waits; what is lost between two of them,
 * or to another line of the same hash, makes a look less apt, and nothing wrong.
 */
enum {
    TURN_TOUCHES = BOARD_TURN_WAITS * BOARD_TURN_TOUCHES,
    TURN_COST_NS = TURN_TOUCHES * 1000, /* exceptions that the kernel counts, and no handler */
    USES = 1024,
    USE_THREAD = 0xffff,
    USE_WRITES = 1 << 16,
    USE_SHARED = 1 << 17,
    USE_TAG = 18,
    USE_KEPT = 8
};
static _Atomic uint64_t uses[USES];

static uint64_t tag_of(const struct board_access *access, _Atomic uint64_t **use)
{
    uint64_t hash = base_mix64(access->line ^ base_mix64(access->file));
    *use = &uses[hash % USES];
    return hash >> USE_TAG << USE_TAG;
}

static bool is_likely(const struct board_access *access)
{
    _Atomic uint64_t *use;
    uint64_t tag = tag_of(access, &use), known = atomic_load_explicit(use, memory_order_relaxed);
    return known & USE_SHARED && known >> USE_TAG << USE_TAG == tag;
}

static void note_shared(const struct board_access *access)
{
    _Atomic uint64_t *use;
    uint64_t tag = tag_of(access, &use);
    atomic_store_explicit(use, tag | USE_SHARED, memory_order_relaxed);
}

/* A line that is shared keeps its place for a while. */
static void note_use(struct agent_thread *self, const struct board_access *access)
{
    _Atomic uint64_t *use;
    uint64_t tag = tag_of(access, &use), known = atomic_load_explicit(use, memory_order_relaxed);
    uint64_t own = (access->thread & USE_THREAD) | (access->kind & BOARD_WRITES ? USE_WRITES : 0);
    bool same_line = known >> USE_TAG << USE_TAG == tag;
    bool same_thread = (known & USE_THREAD) == (own & USE_THREAD);
    if (known & USE_SHARED && (same_line || base_random_below(&self->random, USE_KEPT)))
        return;
    if (same_line && same_thread)
        own |= known & USE_WRITES;
    else if (same_line && (known | own) & USE_WRITES)
        own |= USE_SHARED;
    atomic_store_explicit(use, tag | own, memory_order_relaxed);
}

/* ---- waits ---------------------------------------------------------------------------------------- */

static struct agent_waits look_at_waits(uint64_t now)
{
    enum { RUSAGE_OF_THREAD = 1, WAITS = 16, WORDS = 18 };
    uint64_t usage[WORDS] = {0}; /* struct rusage */
    os_syscall(__NR_getrusage, RUSAGE_OF_THREAD, usage);
    return (struct agent_waits){now, usage[WAITS] /* voluntary context switches */,
                                os_now_ns(CLOCK_THREAD_CPUTIME_ID)};
}

/* So that `earlier` is older than what is fresh, and not much. */
static void note_waits(struct agent_sharing *sharing, uint64_t now)
{
    if (now - sharing->later.ns < fresh_ns())
        return;
    sharing->earlier = sharing->later;
    sharing->later = look_at_waits(now);
}

/* CPU time of the thread that published the entry; 0: it is another process's, or has ended. */
static uint64_t others_cpu_ns(const struct board_access *first)
{
    enum { CLOCK_OF_THREAD = 4, CLOCK_OF_SCHEDULER = 2 }; /* linux/posix-timers.h */
    if (first->pid != agent.pid)
        return 0;
    return os_now_ns((clockid_t)(~first->tid << 3 | CLOCK_OF_THREAD | CLOCK_OF_SCHEDULER));
}

/* How much of the time since what is fresh was published this thread has been on a processor. */
static double part_at_work(const struct agent_sharing *sharing, const struct agent_waits *waits)
{
    static const double least = 1.0 / 16;
    uint64_t cpu_ns = waits->cpu_ns - sharing->earlier.cpu_ns;
    uint64_t wall_ns = waits->ns - sharing->earlier.ns;
    double part = wall_ns ? (double)cpu_ns / (double)wall_ns : 1;
    return part < least ? least : part > 1 ? 1 : part;
}

/* Has the other thread been on a processor for most of the watch, and this one nearly all the time since what is fresh was published? */
static bool run_together(const struct agent_sharing *sharing, const struct agent_waits *waits)
{
    static const double nearly_all = 0.75;
    uint64_t others_ns = sharing->others_ns ? others_cpu_ns(&sharing->first) : 0;
    return others_ns > sharing->others_ns &&
           2 * (others_ns - sharing->others_ns) >= waits->ns - sharing->armed_ns &&
           part_at_work(sharing, waits) >= nearly_all;
}

/* May the thread have had its turn since what is fresh was published? OFTEN: it waits so often that it may as well hand on single lines: which,
   begin_turn finds out. More often than each SHORT_NS, threads wait for locks. */
enum turns { TURNS_NONE, TURNS_TAKEN, TURNS_OFTEN };
static enum turns turns_of(const struct agent_sharing *sharing, const struct agent_waits *waits)
{
    enum { TURN_NS = 500000, SHORT_NS = 100000 };
    uint64_t count = waits->count - sharing->earlier.count;
    if (!count || run_together(sharing, waits))
        return TURNS_NONE;
    uint64_t each_ns = (waits->ns - sharing->earlier.ns) / count;
    return each_ns > TURN_NS ? TURNS_TAKEN : each_ns > SHORT_NS ? TURNS_OFTEN : TURNS_NONE;
}

/* ---- threads ------------------------------------------------------------------------------------- */

void sharing_number(struct agent_thread *created)
{
    created->sharing.number =
        (uint16_t)atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
}

void sharing_begin(struct agent_thread *self)
{
    uint16_t number = self->sharing.number;
    memset(&self->sharing, 0, sizeof self->sharing);
    self->sharing.number = number;
    self->sharing.began_ns = os_now_ns(CLOCK_MONOTONIC);
    self->sharing.later = self->sharing.earlier = look_at_waits(self->sharing.began_ns);
    if (self->sharing.number && !agent_samples_nothing())
        atomic_fetch_add_explicit(&agent.region->threads_begun, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
}

void sharing_end(void)
{
    atomic_fetch_sub_explicit(&threads, 1, memory_order_relaxed);
}

void sharing_after_fork(struct agent_thread *self)
{
    board_clear(&board);
    atomic_store(&threads, 0);
    atomic_store(&numbers, 0);
    sharing_number(self);
    sharing_begin(self);
}

void sharing_sampled(struct agent_thread *self)
{
    if (self->sharing.sampled)
        return;
    self->sharing.sampled = true;
    if (self->sharing.number)
        atomic_fetch_add_explicit(&agent.region->threads_sampled, 1, memory_order_relaxed);
}

bool sharing_asked(void)
{
    if (!agent.region->config.sharing_ms)
        return false;
    bool others = shared_with_others(); /* which announces this process to them, too */
    return atomic_load_explicit(&threads, memory_order_relaxed) > 1 || others;
}

void sharing_barrier(void)
{
    if (agent.region && agent.region->config.sharing_ms)
        atomic_store_explicit(&last_barrier_ns, os_now_ns(CLOCK_MONOTONIC), memory_order_relaxed);
}

/* ---- how much happens in a turn -------------------------------------------------------------------- */

/*
 * Watches on for so many touches of the word. A lock's word is touched a few times in each turn, a part of an array that is handed on as a whole
 * is for as long as the turn lasts. False: it cannot be watched.
 */
static bool begin_turn(struct agent_thread *self, uint64_t word)
{
    struct agent_sharing *sharing = &self->sharing;
    struct agent_turn *turn = &sharing->turn;
    turn->since = look_at_waits(os_now_ns(CLOCK_MONOTONIC));
    turn->watch.os.every = TURN_TOUCHES;
    turn->watch.os.beside = sharing->home;
    return sample_arm(self, &turn->watch, OS_WATCH_WORD, word);
}

/* It has been touched so often, or the next tick has come, before which there were fewer. */
static void end_turn(struct agent_thread *self)
{
    struct agent_turn *turn = &self->sharing.turn;
    if (!turn->open)
        return;
    struct agent_waits now = look_at_waits(os_now_ns(CLOCK_MONOTONIC));
    uint64_t spent = turn->watch.os.page ? now.cpu_ns - turn->since.cpu_ns : 0;
    self->spent_ns += spent < TURN_COST_NS ? spent : TURN_COST_NS;
    os_watch_disarm(&turn->watch.os);
    turn->open = false;
    if (board_hands_on(TURN_TOUCHES, now.count - turn->since.count))
        note_shared(&self->sharing.first);
    else
        turn->meeting.fate = WIRE_MET_WAIT;
    wire_write(&self->writer, &turn->meeting.record);
}

/* ---- watching ------------------------------------------------------------------------------------ */

static void disarm(struct agent_thread *self)
{
    struct os_watch *watches[BASE_COUNT(self->sharing.watches)];
    for (unsigned i = 0; i < BASE_COUNT(watches); i++)
        watches[i] = &self->sharing.watches[i].os;
    os_watch_disarm_all(watches, BASE_COUNT(watches));
}

void sharing_release(struct agent_thread *self)
{
    disarm(self);
    end_turn(self);
}

void sharing_forget(struct agent_thread *self)
{
    for (unsigned i = 0; i < BASE_COUNT(self->sharing.watches); i++)
        self->sharing.watches[i].os.page = NULL;
    self->sharing.turn.watch.os.page = NULL;
    self->sharing.turn.open = false;
}

/* The pages of watches are asked for side by side, downward from `home`. Where something else lies among them, probably pages of another
   thread, the next ones are asked for farther down: else the two would meet again. */
static void choose_home(struct agent_thread *self, unsigned armed)
{
    enum { PAGES_AWAY = 1024 };
    struct agent_sharing *sharing = &self->sharing;
    uint64_t first = (uint64_t)sharing->watches[0].os.page;
    bool together = true;
    for (unsigned i = 1; i < armed; i++)
        together = together && (uint64_t)sharing->watches[i].os.page == first - i * OS_WATCH_PAGE;
    if (!together)
        first -= (1 + base_random_below(&self->random, PAGES_AWAY)) * OS_WATCH_PAGE;
    sharing->home = first;
}

/* As many random words of the line as there are registers free. */
static unsigned watch_line(struct agent_thread *self, uint64_t line)
{
    struct agent_sharing *sharing = &self->sharing;
    unsigned most = agent.region->config.registers, armed = 0;
    most = most < BASE_COUNT(sharing->watches) ? most : BASE_COUNT(sharing->watches);
    uint8_t words = board_words(&self->random, most);
    /* From a word at random on: when registers run short all words are missed alike. */
    unsigned first = (unsigned)base_random_below(&self->random, BOARD_WORDS);
    for (unsigned i = 0; i < BOARD_WORDS; i++) {
        unsigned word = (first + i) % BOARD_WORDS;
        uint64_t address = line + word * BOARD_WORD_BYTES;
        if (!(words >> word & 1))
            continue;
        sharing->watches[armed].os.beside =
            armed ? (uint64_t)sharing->watches[armed - 1].os.page - OS_WATCH_PAGE : sharing->home;
        if (sample_refuses(self, address) || sample_refuses(self, address + 7) ||
            !sample_arm(self, &sharing->watches[armed], OS_WATCH_WORD, address))
            break;
        armed++;
    }
    if (armed)
        choose_home(self, armed);
    return armed;
}

static struct board *board_of_all(void)
{
    return (struct board *)agent.region->board;
}

static enum board_fit is_anothers(const void *context, const struct board_access *access)
{
    const struct agent_thread *self = context;
    if (access->thread == self->slot->thread || !access->mask)
        return BOARD_UNFIT;
    return is_likely(access) ? BOARD_LIKELY : BOARD_FITS;
}

/* And where this process can touch it. Another image of the same process is one that it has executed after. */
static enum board_fit is_reachable(const void *context, const struct board_access *access)
{
    uint64_t address;
    if ((access->pid == agent.pid && access->process != agent.process) ||
        !shared_address(access->file, access->line, &address))
        return BOARD_UNFIT;
    return is_anothers(context, access);
}

/* Of both boards. Returns 1 / the probability that it was this one; 0: there is none. */
static double choose_entry(struct agent_thread *self, uint64_t since, struct board_access *chosen,
                           bool *aimed)
{
    struct board_choice choice = {0};
    board_look(&board, since, is_anothers, self, &self->random, &choice);
    board_look(board_of_all(), since, is_reachable, self, &self->random, &choice);
    return board_choose(&choice, &self->random, chosen, aimed);
}

/* Where the entry's line is in this process. */
static bool locate_entry(const struct board_access *entry, uint64_t *line)
{
    *line = entry->line;
    return !entry->file || shared_address(entry->file, entry->line, line);
}

/* Returns how many words are watched, as struct wire_published has it. */
static uint8_t look_for_another(struct agent_thread *self, uint64_t now, float weight)
{
    struct agent_sharing *sharing = &self->sharing;
    uint64_t since = now > fresh_ns() ? now - fresh_ns() : 0;
    uint64_t barrier = atomic_load_explicit(&last_barrier_ns, memory_order_relaxed);
    note_waits(sharing, now);
    since = since > barrier ? since : barrier + 1;
    since = since > sharing->began_ns ? since : sharing->began_ns;
    bool aimed = false;
    double among = choose_entry(self, since, &sharing->first, &aimed);
    if (among <= 0 || !locate_entry(&sharing->first, &sharing->line))
        return 0;
    sharing->weight = weight * (float)among;
    sharing->watched = watch_line(self, sharing->line);
    sharing->others_ns = others_cpu_ns(&sharing->first);
    sharing->armed_ns = os_now_ns(CLOCK_MONOTONIC);
    return (uint8_t)(sharing->watched | (aimed && sharing->watched ? WIRE_WATCHED_AIMED : 0));
}

/* ---- publishing ---------------------------------------------------------------------------------- */

/* A lock prefix, or the exchange that needs none. */
static bool is_locked(const struct base_memory *memory, const struct isa_insn *insn)
{
    static const uint8_t prefixes[] = {0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67};
    uint8_t code[ISA_MAX_LENGTH];
    unsigned at = 0;
    if (!insn->length || !base_read(memory, insn->address, code, insn->length))
        return false;
    while (at < insn->length && memchr(prefixes, code[at], sizeof prefixes))
        at++;
    if (at < insn->length && code[at] == 0xf0)
        return true;
    at += at < insn->length && (code[at] & 0xf0) == 0x40;
    return at < insn->length && (code[at] & 0xfe) == 0x86;
}

/* An instruction that loads and stores has both at once for other threads. */
static uint8_t kind_of(const struct base_memory *memory, const struct isa_insn *insn,
                       unsigned access)
{
    uint8_t kind = insn->accesses[access].direction;
    for (unsigned i = 0; i < insn->access_count; i++)
        if (i != access && insn->accesses[i].base == insn->accesses[access].base &&
            insn->accesses[i].index == insn->accesses[access].index &&
            insn->accesses[i].displacement == insn->accesses[access].displacement)
            kind |=
                insn->accesses[i].direction; /* cmpxchg: its store, whether or not it succeeds */
    bool both = kind == (BOARD_READS | BOARD_WRITES);
    return both && is_locked(memory, insn) ? kind | BOARD_LOCKED : kind;
}

/* An access to two lines stands for one of them, each as likely. */
static uint64_t choose_line(struct agent_thread *self, const struct forecast_outcome *hit,
                            float *weight)
{
    uint64_t line = hit->address & -(uint64_t)BOARD_LINE_BYTES;
    uint64_t last = (hit->address + hit->bytes - 1) & -(uint64_t)BOARD_LINE_BYTES;
    if (last == line)
        return line;
    *weight *= 2;
    return base_random_below(&self->random, 2) ? last : line;
}

/* The access of the attempt, in the context `node`: ends the attempt. */
static void publish(struct agent_thread *self, uint32_t node)
{
    struct agent_attempt *attempt = &self->attempt;
    const struct forecast_outcome *hit = &attempt->hit;
    float weight = attempt->weight;
    uint64_t now = os_now_ns(CLOCK_MONOTONIC), line = choose_line(self, hit, &weight);
    uint64_t address = hit->address > line ? hit->address : line; /* its first byte there */
    uint64_t file = 0, offset = 0;
    bool shared = shared_find(line, &file, &offset);
    struct board_access access = {.file = file,
                                  .line = shared ? offset : line,
                                  .mask = board_mask(line, hit->address, hit->bytes),
                                  .at = now,
                                  .process = agent.process,
                                  .pid = agent.pid,
                                  .thread = self->slot->thread,
                                  .serial = self->sharing.serial + 1,
                                  .tid = self->tid,
                                  .generation = agent_generation_watch(address),
                                  .weight = weight,
                                  .kind = kind_of(&self->memory.base, &hit->insn, hit->access)};
    struct wire_published record = {.record = {.type = WIRE_PUBLISHED, .bytes = sizeof record},
                                    .serial = access.serial,
                                    .node = node,
                                    .line = line,
                                    .mask = access.mask,
                                    .file = file,
                                    .offset = offset,
                                    .weight = weight,
                                    .density = attempt->density,
                                    .generation = access.generation,
                                    .number = self->sharing.number,
                                    .kind = access.kind};
    if ((shared && !shared_log_file(self, file)) ||
        !wire_reserve(&self->writer, sizeof record + sizeof(struct wire_located))) {
        sample_finish(self, WIRE_DROP_LOG_FULL);
        return;
    }
    self->sharing.serial++;
    os_watch_disarm(&self->scout.os);
    record.watched = look_for_another(self, now, attempt->period);
    record.watched |= attempt->waited ? WIRE_PUBLISHED_SPUN : 0;
    wire_write(&self->writer, &record.record);
    objects_log_at(self, address);
    board_publish(shared ? board_of_all() : &board, &access); /* once the log has what it names */
    note_use(self, &access);
    attempt->scout = AGENT_SCOUT_IDLE;
    self->counters->stored++;
}

/* Its context, if it is certain to come; 0: it has to be confirmed. */
static uint32_t foresee(struct agent_thread *self)
{
    const struct forecast_outcome *hit = &self->attempt.hit;
    struct base_registers then;
    struct base_memory memory;
    enum wire_drop drop;
    if (!hit->fixed || sample_refuses(self, hit->address) ||
        !forecast_then(&self->forecast, &then, &memory))
        return 0;
    return context_enter_ahead(self, &then, &memory, hit, &drop);
}

/* Of what is published after a wait that ended before it was looked ahead: some hundred instructions are looked over, of the ten thousand and more that
   a processor executes between a tick and that. */
static const float waited_part = 1.0F / 128;

void sharing_choose(struct agent_thread *self, struct forecast_goal goal, uint32_t count)
{
    struct agent_attempt *attempt = &self->attempt;
    goal.skip = (uint32_t)base_random_below(&self->random, count);
    if (forecast_run(&self->forecast, &goal, &attempt->hit) != FORECAST_HIT) {
        sample_finish(self, WIRE_DROP_BLOCKED);
        return;
    }
    attempt->density = (float)attempt->matching / (float)attempt->instructions;
    attempt->period = attempt->weight;
    attempt->weight = sample_weigh(attempt->weight, attempt->density);
    attempt->weight *= attempt->waited ? waited_part : 1;
    uint32_t node = foresee(self);
    if (node)
        publish(self, node);
    else
        sample_watch(self);
}

void sharing_confirmed(struct agent_thread *self, uint32_t node)
{
    publish(self, node);
}

/* ---- meeting ------------------------------------------------------------------------------------- */

/*
 * The bytes of the line that were touched. What is not known exactly was in the word that trapped; that is enough if all of it, or
 * nothing, was the other thread's. 0: not known.
 */
static uint64_t touched_bytes(const struct agent_sharing *sharing, const struct os_watch *watch,
                              const struct isa_blame *blame, enum isa_blame_result result)
{
    uint64_t first = sharing->first.mask;
    uint64_t word = board_mask(sharing->line, watch->address, BOARD_WORD_BYTES);
    bool decided = !(first & word) || (first & word) == word;
    switch (result) {
    case ISA_BLAME_EXACT: return board_mask(sharing->line, blame->start, blame->bytes);
    case ISA_BLAME_RETURN: return word;
    case ISA_BLAME_LIKELY: return decided ? word : 0;
    default: return 0;
    }
}

/* Has the memory been freed since the first touch, or is it somewhere else? Generations are a process's own. */
static bool is_gone(const struct agent_sharing *sharing)
{
    const struct board_access *first = &sharing->first;
    uint64_t line;
    if (first->file)
        return !shared_address(first->file, first->line, &line) || line != sharing->line;
    return agent_generation(first->line + (uint64_t)__builtin_ctzll(first->mask)) !=
           first->generation;
}

static enum wire_fate fate_of(const struct agent_sharing *sharing, const struct agent_waits *waits,
                              enum turns turns, uint64_t mask, uint8_t kind)
{
    const struct board_access *first = &sharing->first;
    if (waits->ns - first->at > fresh_ns())
        return WIRE_MET_LATE;
    if (atomic_load_explicit(&last_barrier_ns, memory_order_relaxed) >= first->at ||
        turns == TURNS_TAKEN)
        return WIRE_MET_WAIT;
    if (is_gone(sharing))
        return WIRE_MET_REUSED;
    if (!mask)
        return WIRE_MET_UNKNOWN;
    return board_relate(first->kind, first->mask, kind, mask) == BOARD_NOTHING ? WIRE_MET_READS
                                                                               : WIRE_MET;
}

/*
 * Entries are fresh for a while by the clock, and samples come in CPU time: of what is done while a thread is off the processor it sees nothing,
 * though the two could have run at the same time. So a meeting weighs the more, the smaller the part of that while it was on one (at_work).
 */
static struct wire_meeting meeting_of(const struct agent_sharing *sharing,
                                      const struct board_access *second, double at_work,
                                      uint32_t node, enum wire_fate fate)
{
    const struct board_access *first = &sharing->first;
    double chance = board_chance(second->mask, sharing->watched);
    return (struct wire_meeting){
        .record = {.type = WIRE_MEETING, .bytes = sizeof(struct wire_meeting)},
        .first_process = first->process,
        .first_thread = first->thread,
        .first_serial = first->serial,
        .line = sharing->line,
        .first_mask = first->mask,
        .second_mask = second->mask,
        .gap_ns = second->at - first->at,
        .node = node,
        .weight = first->weight * sharing->weight / (float)((chance > 0 ? chance : 1) * at_work),
        .number = sharing->number,
        .first_kind = first->kind,
        .second_kind = second->kind,
        .fate = (uint8_t)fate};
}

static void meet(struct agent_thread *self, const struct os_watch *watch,
                 const struct base_registers *registers)
{
    struct agent_sharing *sharing = &self->sharing;
    struct isa_blame blame;
    enum isa_blame_result result =
        sample_find_culprit(self, watch, watch->address, registers, &blame);
    if (sample_touched_by_agent(registers, &blame, result))
        return;
    bool known = result == ISA_BLAME_EXACT || result == ISA_BLAME_LIKELY;
    struct board_access second = {
        .at = os_now_ns(CLOCK_MONOTONIC),
        .mask = touched_bytes(sharing, watch, &blame, result),
        .kind = known ? kind_of(&self->memory.base, &blame.insn, blame.access) : BOARD_READS};
    struct agent_waits waits = look_at_waits(second.at);
    enum wire_drop drop;
    enum turns turns = turns_of(sharing, &waits);
    enum wire_fate fate = fate_of(sharing, &waits, turns, second.mask, second.kind);
    uint32_t node =
        fate == WIRE_MET ? context_enter_touch(self, registers, &blame, result, &drop) : 0;
    if (result == ISA_BLAME_EXACT)
        memory_note_boundary(&self->memory, blame.address);
    sharing->turn.meeting = meeting_of(sharing, &second, part_at_work(sharing, &waits), node, fate);
    sharing->turn.open = fate == WIRE_MET && turns == TURNS_OFTEN;
    if (sharing->turn.open)
        return;
    if (fate == WIRE_MET)
        note_shared(&sharing->first);
    wire_write(&self->writer, &sharing->turn.meeting.record);
}

bool sharing_trap(struct agent_thread *self, uint32_t generation,
                  const struct base_registers *registers, bool late)
{
    struct agent_sharing *sharing = &self->sharing;
    if (sharing->turn.watch.os.page && sharing->turn.watch.generation == generation) {
        end_turn(self);
        return true;
    }
    for (unsigned i = 0; i < BASE_COUNT(sharing->watches); i++) {
        struct agent_watch *watch = &sharing->watches[i];
        if (!watch->os.page || watch->generation != generation)
            continue;
        uint64_t word = watch->os.address;
        if (!late)
            meet(self, &watch->os, registers);
        disarm(self);
        if (sharing->turn.open && !begin_turn(self, word))
            end_turn(self);
        return true;
    }
    return false;
}
