// SPDX-License-Identifier: MIT
/*
 * Which question a sample asks. Where waste and reuse are asked in one recording, they take turns at the debug
 * registers: each kind of waste needs one of its own, and a line under watch for reuse needs them all. What is
 * still watched when the turn ends is given up: of reuse that is a censored watch, as a replaced one is; of
 * waste the samples of its context wait for the next trap there, as those do that were never watched.
 *
 * A round is a turn of waste and one of reuse. Rounds are of random length, half of them short, so that both see all
 * of a program; but about a sixth of the samples lies in rounds of the longest, so that what is used
 * again late is seen, too. Rejected: one register for reuse and the others for waste at all times. Of a line one word
 * alone would be watched (see reuse.c: walks along the other dimension are far reuse then), and three kinds of
 * waste would share two registers, where one that waits long blocks the others. Rejected as well: a
 * draw before each sample. Reuse would be given up by the next sample of waste, a few milliseconds later.
 *
 * A tick of the clock asks all kinds at once, whatever the turn (ahead.c): what is decided by looking ahead needs no
 * register. What stays open is followed only in its turn, and weighs the inverse of the turn's share. Of an access that comes by itself one kind is asked:
 * kinds of which fewer samples are decided so far more often, up to FAVOUR_MOST times. Since shares are set
 * before a round begins, a sample weighs the inverse of its share, and what a kind finds stands for the
 * same time whatever the others found: no estimate is biased by it.
 */
#include "agent/agent.h"

enum {
    ROUND_LEAST = 16, /* samples: four kinds, four each */
    ROUND_DOUBLINGS = 4,
    TURN_LEAST = 4,
    DECIDED_AT_FIRST = 16, /* counts of fewer are chance */
    FAVOUR_MOST = 3,
};

/* Of the ticks, if not more. The others are the turn of waste. */
static const float TICKS_REUSE = 0.5F;

static uint8_t kinds_of(const struct agent_thread *self)
{
    uint8_t all = (uint8_t)agent.region->config.kinds;
    if (!self->question.mixed)
        return all;
    return all & (self->question.reuse ? WIRE_REUSES : (uint8_t)~WIRE_REUSES);
}

/*
 * Samples by accesses come as densely in stretches that never trap as anywhere else: a reservoir
 * would be blocked for as long again.
 */
static uint8_t policy(uint8_t kinds)
{
    bool waste = !(kinds & WIRE_REUSES);
    return waste && agent.source == WIRE_SOURCE_COUNT ? DETECT_RENEWAL : DETECT_RESERVOIR;
}

static void assign(struct agent_thread *self)
{
    uint8_t kinds = kinds_of(self);
    uint32_t registers = agent.region->config.registers;
    bool one = registers < 2 || (kinds & WIRE_REUSES && reuse_has_companions());
    detect_assign(&self->detect, kinds, (uint8_t)(one ? 1 : registers - 1), policy(kinds));
}

/* That there is no such access is an answer, too. */
static uint64_t decided(const struct agent_thread *self, int kind)
{
    uint64_t foreseen = kind == DETECT_REUSE ? self->question.foreseen : 0;
    return self->detect.counts.traps[kind] + foreseen + self->question.absent[kind] +
           DECIDED_AT_FIRST;
}

/* Reuse has its equal share at least: most of its samples are decided at once, by looking ahead, and say nothing of
   the far ones. */
static void set_shares(struct agent_thread *self)
{
    struct agent_question *question = &self->question;
    uint64_t least = UINT64_MAX;
    float sum = 0, others = 0;
    unsigned kinds = 0;
    for (int kind = 0; kind < DETECT_KINDS; kind++)
        if (agent.region->config.kinds >> kind & 1 && decided(self, kind) < least)
            least = decided(self, kind);
    for (int kind = 0; kind < DETECT_KINDS; kind++) {
        float wanted = (float)least / (float)decided(self, kind);
        wanted = wanted * FAVOUR_MOST < 1 ? 1.0F / FAVOUR_MOST : wanted;
        question->shares[kind] = agent.region->config.kinds >> kind & 1 ? wanted : 0;
        sum += question->shares[kind];
        others += kind == DETECT_REUSE ? 0 : question->shares[kind];
        kinds += question->shares[kind] > 0;
    }
    float fair = agent.source == WIRE_SOURCE_CLOCK ? TICKS_REUSE * others / (1 - TICKS_REUSE)
                                                   : others / (float)(kinds - 1);
    if (question->shares[DETECT_REUSE] < fair) {
        question->shares[DETECT_REUSE] = fair;
        sum = others + fair;
    }
    for (int kind = 0; kind < DETECT_KINDS; kind++)
        question->shares[kind] /= sum;
}

/* Half of the rounds are of the shortest length, a quarter of twice that, and so on. */
static uint32_t round_samples(struct agent_thread *self)
{
    uint32_t samples = ROUND_LEAST;
    for (unsigned i = 0; i < ROUND_DOUBLINGS && base_random_below(&self->random, 2); i++)
        samples *= 2;
    return samples;
}

/* A round begins with waste. */
static void begin_round(struct agent_thread *self)
{
    struct agent_question *question = &self->question;
    uint32_t samples = round_samples(self);
    set_shares(self);
    uint32_t reuse = (uint32_t)(question->shares[DETECT_REUSE] * (float)samples + 0.5F);
    reuse = reuse < TURN_LEAST ? TURN_LEAST : reuse;
    question->reuse = false;
    question->left = samples - reuse;
    question->next = reuse;
    question->turn = (float)question->left / (float)samples;
}

static void change_turn(struct agent_thread *self)
{
    struct agent_question *question = &self->question;
    sample_abandon(self);
    if (question->reuse) {
        begin_round(self);
    } else {
        question->reuse = true;
        question->left = question->next;
        question->turn = 1 - question->turn;
    }
    assign(self);
}

static void count_question(struct agent_thread *self)
{
    if (self->question.left == 0)
        change_turn(self);
    self->question.left--;
}

/* A thread starts anywhere in its first round: short ones count in proportion. */
void question_init(struct agent_thread *self)
{
    uint32_t kinds = agent.region->config.kinds;
    bool mixed = kinds & WIRE_REUSES && kinds & ~(uint32_t)WIRE_REUSES;
    self->question = (struct agent_question){.mixed = mixed};
    if (mixed) {
        begin_round(self);
        uint64_t passed =
            base_random_below(&self->random, self->question.left + self->question.next);
        for (; passed > 0; passed--)
            count_question(self);
    }
    assign(self);
}

/* Makes up for the kind being asked more or less often than one of the `fair` that could be asked of such an access. */
static void weigh(const struct agent_question *question, int kind, float among, unsigned fair,
                  float *weight)
{
    *weight *= among / ((float)fair * question->turn * question->shares[kind]);
}

static int pick_mixed(struct agent_thread *self, uint8_t directions, float *weight)
{
    struct agent_question *question = &self->question;
    uint32_t kinds = kinds_of(self), all = agent.region->config.kinds;
    unsigned fair = 0;
    float among = 0;
    for (int kind = 0; kind < DETECT_KINDS; kind++) {
        bool matches = detect_kinds[kind].samples & directions;
        fair += all >> kind & 1 && matches;
        among += kinds >> kind & 1 && matches ? question->shares[kind] : 0;
    }
    enum { GRAINS = 1 << 20 };
    float drawn = among * (float)base_random_below(&self->random, GRAINS) / GRAINS;
    int picked = -1;
    for (int kind = 0; kind < DETECT_KINDS && (picked < 0 || drawn >= 0); kind++)
        if (kinds >> kind & 1 && detect_kinds[kind].samples & directions) {
            picked = kind;
            drawn -= question->shares[kind];
        }
    if (picked >= 0)
        weigh(question, picked, among, fair, weight);
    return picked;
}

static int pick(struct agent_thread *self, uint8_t directions)
{
    int kinds[DETECT_KINDS];
    unsigned count = 0;
    for (int kind = 0; kind < DETECT_KINDS; kind++)
        if (agent.region->config.kinds >> kind & 1 && detect_kinds[kind].samples & directions)
            kinds[count++] = kind;
    return count ? kinds[base_random_below(&self->random, count)] : -1;
}

int question_pick(struct agent_thread *self, uint8_t directions, float *weight)
{
    if (!self->question.mixed)
        return pick(self, directions);
    count_question(self);
    return pick_mixed(self, directions, weight);
}

/* A tick at random: lines that are watched for sharing then have the registers that others leave until the next one. */
bool question_shares(struct agent_thread *self, float *weight)
{
    enum { ONE_IN = 4 };
    uint32_t one_in = agent.region->config.kinds ? ONE_IN : 1;
    if (!sharing_asked())
        return !agent.region->config.kinds;
    bool asked = base_random_below(&self->random, one_in) == 0;
    if (one_in > 1)
        *weight *= asked ? ONE_IN : (float)ONE_IN / (ONE_IN - 1);
    return asked;
}

uint8_t question_turn(struct agent_thread *self, float *turn)
{
    if (self->question.mixed)
        count_question(self);
    *turn = self->question.mixed ? self->question.turn : 1;
    return kinds_of(self);
}
