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
 * Nobody tells when a thread waited, only how often it has. One that waits more often than TURN_NS does so for locks, or for what others hand it again
 * and again: if it takes turns, lines do move each time, so often that it matters. One that has done so now and then since before the
 * first touch is taken to have had its turn, unless both threads are known to run at the same time: the other one's CPU clock went on during the watch, and this
 * one has been on a processor nearly all the time. Rejected: to ask only whether it waited since it began to watch. A thread that has its turn right after another one
 * has waited by then. And to take every wait for a turn: threads that fight for a lock now and then would share nothing.
 *
 * A watch ends with the next tick, because the registers are needed then. It stands for 1 / (probability that
 * one of the words touched was watched) x (entries to choose from); see docs/sharing.md.
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

/* Has the other thread been on a processor for most of the watch, and this one nearly all the time since what is fresh was published? */
static bool run_together(const struct agent_sharing *sharing, const struct agent_waits *waits)
{
    uint64_t others_ns = sharing->others_ns ? others_cpu_ns(&sharing->first) : 0;
    uint64_t own_ns = waits->cpu_ns - sharing->earlier.cpu_ns;
    return others_ns > sharing->others_ns &&
           2 * (others_ns - sharing->others_ns) >= waits->ns - sharing->armed_ns &&
           4 * own_ns >= 3 * (waits->ns - sharing->earlier.ns);
}

/* May the thread have had its turn since what is fresh was published? */
static bool takes_turns(const struct agent_sharing *sharing, uint64_t now)
{
    enum { TURN_NS = 500000 };
    struct agent_waits waits = look_at_waits(now);
    uint64_t count = waits.count - sharing->earlier.count;
    return count && (now - sharing->earlier.ns) / count > TURN_NS && !run_together(sharing, &waits);
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

/* ---- watching ------------------------------------------------------------------------------------ */

void sharing_release(struct agent_thread *self)
{
    struct os_watch *watches[BASE_COUNT(self->sharing.watches)];
    for (unsigned i = 0; i < BASE_COUNT(watches); i++)
        watches[i] = &self->sharing.watches[i].os;
    os_watch_disarm_all(watches, BASE_COUNT(watches));
}

void sharing_forget(struct agent_thread *self)
{
    for (unsigned i = 0; i < BASE_COUNT(self->sharing.watches); i++)
        self->sharing.watches[i].os.page = NULL;
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

static bool is_anothers(const void *context, const struct board_access *access)
{
    const struct agent_thread *self = context;
    return access->thread != self->slot->thread && access->mask;
}

/* And where this process can touch it. Another image of the same process is one that it has executed after. */
static bool is_reachable(const void *context, const struct board_access *access)
{
    uint64_t address;
    return is_anothers(context, access) &&
           (access->pid != agent.pid || access->process == agent.process) &&
           shared_address(access->file, access->line, &address);
}

/* Of both boards. Returns among how many. */
static unsigned choose_entry(struct agent_thread *self, uint64_t since, struct board_access *chosen)
{
    struct board_access other;
    unsigned own = board_choose(&board, since, is_anothers, self, &self->random, chosen);
    unsigned all = board_choose(board_of_all(), since, is_reachable, self, &self->random, &other);
    if (all && base_random_below(&self->random, own + all) < all)
        *chosen = other;
    return own + all;
}

/* Where the entry's line is in this process. */
static bool locate_entry(const struct board_access *entry, uint64_t *line)
{
    *line = entry->line;
    return !entry->file || shared_address(entry->file, entry->line, line);
}

/* Returns how many words are watched. */
static unsigned look_for_another(struct agent_thread *self, uint64_t now, float weight)
{
    struct agent_sharing *sharing = &self->sharing;
    uint64_t since = now > fresh_ns() ? now - fresh_ns() : 0;
    uint64_t barrier = atomic_load_explicit(&last_barrier_ns, memory_order_relaxed);
    note_waits(sharing, now);
    since = since > barrier ? since : barrier + 1;
    since = since > sharing->began_ns ? since : sharing->began_ns;
    unsigned among = choose_entry(self, since, &sharing->first);
    if (!among || !locate_entry(&sharing->first, &sharing->line))
        return 0;
    sharing->weight = weight * (float)among;
    sharing->watched = watch_line(self, sharing->line);
    sharing->others_ns = others_cpu_ns(&sharing->first);
    sharing->armed_ns = os_now_ns(CLOCK_MONOTONIC);
    return sharing->watched;
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
                                  .generation = agent_generation_watch(hit->address),
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
    record.watched = (uint8_t)look_for_another(self, now, attempt->period);
    wire_write(&self->writer, &record.record);
    objects_log_at(self, hit->address);
    board_publish(shared ? board_of_all() : &board, &access); /* once the log has what it names */
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

static enum wire_fate fate_of(const struct agent_sharing *sharing, uint64_t now, uint64_t mask,
                              uint8_t kind)
{
    const struct board_access *first = &sharing->first;
    if (now - first->at > fresh_ns())
        return WIRE_MET_LATE;
    if (atomic_load_explicit(&last_barrier_ns, memory_order_relaxed) >= first->at ||
        takes_turns(sharing, now))
        return WIRE_MET_WAIT;
    if (is_gone(sharing))
        return WIRE_MET_REUSED;
    if (!mask)
        return WIRE_MET_UNKNOWN;
    return board_relate(first->kind, first->mask, kind, mask) == BOARD_NOTHING ? WIRE_MET_READS
                                                                               : WIRE_MET;
}

/*
 * How much of the time since what is fresh was published this thread has been on a processor. Fresh is meant in time, and samples come in CPU
 * time: of what is done while a thread is off the processor it sees nothing, though the two could have run at the same time.
 */
static double part_at_work(const struct agent_sharing *sharing, uint64_t now)
{
    static const double least = 1.0 / 16;
    uint64_t cpu_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID) - sharing->earlier.cpu_ns;
    uint64_t wall_ns = now - sharing->earlier.ns;
    double part = wall_ns ? (double)cpu_ns / (double)wall_ns : 1;
    return part < least ? least : part > 1 ? 1 : part;
}

static void log_meeting(struct agent_thread *self, const struct board_access *second, uint32_t node,
                        enum wire_fate fate)
{
    const struct agent_sharing *sharing = &self->sharing;
    const struct board_access *first = &sharing->first;
    double chance = board_chance(second->mask, sharing->watched);
    struct wire_meeting record = {
        .record = {.type = WIRE_MEETING, .bytes = sizeof record},
        .first_process = first->process,
        .first_thread = first->thread,
        .first_serial = first->serial,
        .line = sharing->line,
        .first_mask = first->mask,
        .second_mask = second->mask,
        .gap_ns = second->at - first->at,
        .node = node,
        .weight = first->weight * sharing->weight /
                  (float)((chance > 0 ? chance : 1) * part_at_work(sharing, second->at)),
        .number = sharing->number,
        .first_kind = first->kind,
        .second_kind = second->kind,
        .fate = (uint8_t)fate};
    wire_write(&self->writer, &record.record);
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
    enum wire_drop drop;
    enum wire_fate fate = fate_of(sharing, second.at, second.mask, second.kind);
    uint32_t node =
        fate == WIRE_MET ? context_enter_touch(self, registers, &blame, result, &drop) : 0;
    if (result == ISA_BLAME_EXACT)
        memory_note_boundary(&self->memory, blame.address);
    log_meeting(self, &second, node, fate);
}

bool sharing_trap(struct agent_thread *self, uint32_t generation,
                  const struct base_registers *registers, bool late)
{
    struct agent_sharing *sharing = &self->sharing;
    for (unsigned i = 0; i < BASE_COUNT(sharing->watches); i++) {
        struct agent_watch *watch = &sharing->watches[i];
        if (!watch->os.page || watch->generation != generation)
            continue;
        if (!late)
            meet(self, &watch->os, registers);
        sharing_release(self);
        return true;
    }
    return false;
}
