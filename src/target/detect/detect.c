// SPDX-License-Identifier: MIT
/*
 * Reservoir, attribution and the three detectors.
 *
 * Reservoir. With one register, the k-th sample since it was free replaces the
 * watched one with probability 1/k, and each of the k is watched equally likely
 * (witch §4.1). With N registers a single k must be reset by every trap, and
 * then short-lived watchpoints in one register would throw long-lived ones out of
 * the others; so every register has its own k (rdx §4). But rdx's random order of
 * visiting is not uniform: with two registers filled one after the other, the first three
 * samples are watched with chances 3/4, 7/12, 2/3. Visited from the longest busy to the
 * last filled, each offered only what the earlier ones refused, the chances are
 *   1/k, (1 − 1/k)·1/(k−1), ... = 1/k each, N/k together:
 * exactly witch's for registers filled together, and a reservoir of its own for
 * each register that traps often beside others that do not.
 *
 * Attribution. A trap stands for all samples of its context and kind since
 * the last trap there (witch §4.2), shared among the watchpoints armed there.
 *
 * The watched byte stands for its whole access: a byte drawn uniformly
 * from an access, weighted by the width, is an unbiased draw from all bytes
 * accessed. Counting the overlap with the trapping access instead, as witch does,
 * favours pairs of wide accesses.
 *
 * Called from handlers; bounded: no loop runs longer than the number of registers.
 */
#include "detect/detect.h"

#include <string.h>

const struct detect_kind_info detect_kinds[DETECT_KINDS] = {
    [DETECT_DEAD] = {"dead", DETECT_STORES, DETECT_LOADS | DETECT_STORES},
    [DETECT_SILENT] = {"silent", DETECT_STORES, DETECT_STORES},
    /* x86 cannot watch loads alone; stores trap too and are ignored. */
    [DETECT_LOAD] = {"load", DETECT_LOADS, DETECT_LOADS | DETECT_STORES},
    [DETECT_REUSE] = {"reuse", DETECT_LOADS | DETECT_STORES, DETECT_LOADS | DETECT_STORES},
};

/* ---- detectors ------------------------------------------------------------------- */

/* What judges find: enum detect_verdict, or waste by the tolerance only. */
enum judgement { NEARLY_WASTE = DETECT_WASTE + 1 };

static unsigned judgement_of(enum detect_equality equality)
{
    static const unsigned judgements[] = {
        [DETECT_CHANGED] = DETECT_USE, [DETECT_NEAR] = NEARLY_WASTE, [DETECT_EQUAL] = DETECT_WASTE};
    return judgements[equality];
}

/* An instruction that loads and stores loads first: that is a use. */
static unsigned judge_dead(const struct detect *detect, const struct detect_register *watch,
                           const struct detect_touch *touch)
{
    (void)detect, (void)watch;
    if (touch->direction & DETECT_LOADS)
        return DETECT_USE;
    return touch->direction & DETECT_STORES ? DETECT_WASTE : DETECT_IGNORED;
}

static unsigned judge_silent(const struct detect *detect, const struct detect_register *watch,
                             const struct detect_touch *touch)
{
    if (!(touch->direction & DETECT_STORES) || !touch->value)
        return DETECT_IGNORED;
    return judgement_of(
        detect_compare_values(&watch->sample, touch->value, touch, detect->options.fp_tolerance));
}

/*
 * An instruction that loads and stores loaded what memory held before it. That is
 * no longer there, but every store to the watched byte trapped, so the memory seen at the last
 * touch is what it loaded.
 */
static unsigned judge_load(const struct detect *detect, const struct detect_register *watch,
                           const struct detect_touch *touch)
{
    const uint8_t *loaded = touch->value;
    if (touch->direction & DETECT_STORES)
        loaded = watch->last_known ? watch->last : NULL;
    if (!(touch->direction & DETECT_LOADS) || !loaded)
        return DETECT_IGNORED;
    return judgement_of(
        detect_compare_values(&watch->sample, loaded, touch, detect->options.fp_tolerance));
}

static unsigned judge_reuse(const struct detect *detect, const struct detect_register *watch,
                            const struct detect_touch *touch)
{
    (void)detect, (void)watch;
    return touch->direction ? DETECT_USE : DETECT_IGNORED;
}

/* What a kind does with a touch of its watchpoint; must not change anything. */
static unsigned (*const judges[DETECT_KINDS])(const struct detect *, const struct detect_register *,
                                              const struct detect_touch *) = {
    [DETECT_DEAD] = judge_dead,
    [DETECT_SILENT] = judge_silent,
    [DETECT_LOAD] = judge_load,
    [DETECT_REUSE] = judge_reuse,
};

/* ---- reservoir ------------------------------------------------------------------- */

static bool open_to(const struct detect_register *watch, unsigned kind)
{
    return watch->kinds >> kind & 1;
}

static int longest_busy(const struct detect *detect, unsigned kind, unsigned visited)
{
    int longest = -1;
    for (unsigned i = 0; i < detect->options.registers; i++) {
        const struct detect_register *watch = &detect->registers[i];
        if (visited >> i & 1 || !open_to(watch, kind))
            continue;
        if (longest < 0 || watch->offered > detect->registers[longest].offered)
            longest = (int)i;
    }
    return longest;
}

/* A decision on a new sample: whom it replaces, or -1, and how probable replacing was. */
struct choice {
    int index;
    float chance;
};

/* Visits every register, also after one has accepted: each one's chance to be spared counts. */
static struct choice choose_fairly(struct detect *detect, unsigned kind)
{
    const struct detect_hooks *hooks = &detect->hooks;
    struct choice choice = {-1, 0};
    unsigned visited = 0;
    for (;;) {
        int index = longest_busy(detect, kind, visited);
        if (index < 0)
            return choice;
        struct detect_register *watch = &detect->registers[index];
        float accepts = (1 - choice.chance) / (float)watch->offered;
        if (choice.index < 0 && hooks->random_below(hooks->machine, watch->offered) == 0)
            choice.index = index;
        watch->chance *= 1 - accepts;
        choice.chance += accepts;
        visited |= 1u << index;
    }
}

static struct choice choose_oldest(struct detect *detect, unsigned kind)
{
    int oldest = -1;
    for (unsigned i = 0; i < detect->options.registers; i++) {
        const struct detect_register *watch = &detect->registers[i];
        if (open_to(watch, kind) &&
            (oldest < 0 || watch->armed_at < detect->registers[oldest].armed_at))
            oldest = (int)i;
    }
    return (struct choice){oldest, 1};
}

static struct choice choose_by_coin(struct detect *detect, unsigned kind)
{
    const struct detect_hooks *hooks = &detect->hooks;
    if (hooks->random_below(hooks->machine, 2) == 0)
        return (struct choice){-1, 0};
    return choose_oldest(detect, kind);
}

/* Whom a sample replaces when every register open to it is busy. */
static struct choice (*const choosers[])(struct detect *, unsigned kind) = {
    [DETECT_SOUND] = choose_fairly,
    [DETECT_REPLACE_OLDEST] = choose_oldest,
    [DETECT_COIN_FLIP] = choose_by_coin,
    [DETECT_NO_ATTRIBUTION] = choose_fairly,
};

/* The lowest index, which is the kind's own register if it owns one. */
static int free_register(const struct detect *detect, unsigned kind)
{
    for (unsigned i = 0; i < detect->options.registers; i++)
        if (!detect->registers[i].busy && open_to(&detect->registers[i], kind))
            return (int)i;
    return -1;
}

static void count_offer(struct detect *detect, unsigned kind)
{
    for (unsigned i = 0; i < detect->options.registers; i++) {
        struct detect_register *watch = &detect->registers[i];
        if (watch->busy && open_to(watch, kind) && watch->offered < UINT32_MAX)
            watch->offered++;
    }
}

static void release(struct detect *detect, unsigned index)
{
    struct detect_register *watch = &detect->registers[index];
    watch->busy = false;
    watch->sample.context->armed[watch->sample.kind]--;
    detect->hooks.disarm(detect->hooks.machine, index);
}

static uint32_t waited(const struct detect *detect, const struct detect_register *watch)
{
    uint64_t samples = detect->serial - watch->armed_at;
    return samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX;
}

static void lose(struct detect *detect, unsigned index)
{
    const struct detect_register *watch = &detect->registers[index];
    struct detect_lost lost = {
        .kind = watch->sample.kind,
        .context_id = watch->sample.context_id,
        .weight = watch->sample.weight,
        .entry = watch->entry,
        .chance = watch->chance,
        .waited = waited(detect, watch),
    };
    if (detect->hooks.lost)
        detect->hooks.lost(detect->hooks.machine, index, &lost);
    release(detect, index);
}

static void begin(struct detect *detect, struct detect_register *watch,
                  const struct detect_sample *sample)
{
    watch->busy = true;
    watch->ignored = 0;
    watch->entry = watch->chance;
    watch->armed_at = detect->serial;
    watch->sample = *sample;
    memcpy(watch->last, sample->value, sizeof watch->last);
    watch->last_known = true;
    if (sample->kind == DETECT_LOAD && sample->modifies)
        memcpy(watch->sample.value, sample->loaded, sizeof watch->sample.value);
    sample->context->armed[sample->kind]++;
}

static bool arm(struct detect *detect, unsigned index, const struct detect_sample *sample)
{
    struct detect_register *watch = &detect->registers[index];
    if (!detect->hooks.arm(detect->hooks.machine, index, sample))
        return false;
    begin(detect, watch, sample);
    return true;
}

/* Puts the sample into a register by policy; the register's index, or -1. */
static int place(struct detect *detect, const struct detect_sample *sample)
{
    struct choice choice = {free_register(detect, sample->kind), 1};
    bool anew = choice.index >= 0 || detect->options.policy == DETECT_RENEWAL;
    count_offer(detect, sample->kind);
    if (choice.index < 0) {
        choice = choosers[detect->options.fault](detect, sample->kind);
        if (choice.index < 0)
            return -1;
        detect->counts.evicted[detect->registers[choice.index].sample.kind]++;
        lose(detect, (unsigned)choice.index);
    }
    if (anew)
        detect->registers[choice.index].offered = 1;
    detect->registers[choice.index].chance = choice.chance;
    return arm(detect, (unsigned)choice.index, sample) ? choice.index : -1;
}

/* ---- public ---------------------------------------------------------------------- */

void detect_assign(struct detect *detect, uint8_t kinds, uint8_t registers, uint8_t policy)
{
    struct detect_options *options = &detect->options;
    unsigned owners = 0, rest = kinds;
    options->kinds = kinds;
    options->registers = registers > DETECT_MAX_REGISTERS ? DETECT_MAX_REGISTERS : registers;
    options->policy = policy;
    for (unsigned kind = 0; kind < DETECT_KINDS; kind++)
        owners += kinds >> kind & 1;
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++) {
        unsigned lowest = rest & -rest;
        bool owned = lowest && owners <= options->registers;
        detect->registers[i].kinds = (uint8_t)(owned ? lowest : kinds);
        rest &= ~lowest;
    }
}

void detect_init(struct detect *detect, const struct detect_options *options,
                 const struct detect_hooks *hooks)
{
    memset(detect, 0, sizeof *detect);
    detect->options = *options;
    detect->hooks = *hooks;
    detect_assign(detect, options->kinds, options->registers, options->policy);
}

static void count(struct detect *detect, const struct detect_sample *sample)
{
    detect->serial++;
    detect->counts.samples[sample->kind]++;
    sample->context->pending[sample->kind] += sample->weight;
}

int detect_take(struct detect *detect, const struct detect_sample *sample)
{
    unsigned kind = sample->kind;
    count(detect, sample);
    int index = place(detect, sample);
    if (index >= 0) {
        detect->counts.armed[kind]++;
        detect->blind_now[kind] = 0;
    } else if (++detect->blind_now[kind] > detect->counts.blind_longest[kind]) {
        detect->counts.blind_longest[kind] = detect->blind_now[kind];
    }
    return index;
}

void detect_abandon(struct detect *detect, unsigned index)
{
    detect->counts.abandoned[detect->registers[index].sample.kind]++;
    lose(detect, index);
}

static void ignore(struct detect *detect, unsigned index, const struct detect_touch *touch)
{
    struct detect_register *watch = &detect->registers[index];
    detect->counts.ignored[watch->sample.kind]++;
    watch->last_known = touch->value != NULL;
    if (touch->value)
        memcpy(watch->last, touch->value, watch->sample.bytes);
    if (++watch->ignored >= detect->options.ignored_limit)
        detect_abandon(detect, index);
}

/* Takes the trap's share out of what is pending in the watchpoint's context. */
static float attribute(const struct detect *detect, const struct detect_sample *sample)
{
    struct detect_context *context = sample->context;
    float share = context->pending[sample->kind];
    if (context->armed[sample->kind] > 1)
        share /= context->armed[sample->kind];
    context->pending[sample->kind] -= share;
    return detect->options.fault == DETECT_NO_ATTRIBUTION ? sample->weight : share;
}

static enum detect_verdict verdict_of(unsigned judgement)
{
    return judgement == NEARLY_WASTE ? DETECT_WASTE : judgement;
}

static void find(struct detect *detect, const struct detect_register *watch, unsigned judgement,
                 struct detect_finding *finding)
{
    const struct detect_sample *sample = &watch->sample;
    *finding = (struct detect_finding){
        .kind = sample->kind,
        .verdict = (uint8_t)verdict_of(judgement),
        .near = judgement == NEARLY_WASTE,
        .context_id = sample->context_id,
        .bytes = sample->bytes,
        .samples = attribute(detect, sample),
        .weight = sample->weight,
        .chance = watch->chance,
        .entry = watch->entry,
        .waited = waited(detect, watch),
    };
    detect->counts.traps[sample->kind]++;
}

enum detect_verdict detect_touched(struct detect *detect, unsigned index,
                                   const struct detect_touch *touch, struct detect_finding *finding)
{
    struct detect_register *watch = &detect->registers[index];
    unsigned judgement = judges[watch->sample.kind](detect, watch, touch);
    enum detect_verdict verdict = verdict_of(judgement);
    if (verdict == DETECT_IGNORED) {
        ignore(detect, index, touch);
        return DETECT_IGNORED;
    }
    find(detect, watch, judgement, finding);
    release(detect, index);
    return verdict;
}

enum detect_verdict detect_foreseen(struct detect *detect, const struct detect_sample *sample,
                                    const struct detect_touch *touch,
                                    struct detect_finding *finding)
{
    struct detect_register watch = {.chance = 1};
    begin(detect, &watch, sample);
    unsigned judgement = judges[sample->kind](detect, &watch, touch);
    if (judgement != DETECT_IGNORED) {
        count(detect, sample);
        watch.armed_at = detect->serial;
        detect->counts.armed[sample->kind]++;
        detect->blind_now[sample->kind] = 0;
        find(detect, &watch, judgement, finding);
    }
    sample->context->armed[sample->kind]--;
    return verdict_of(judgement);
}
