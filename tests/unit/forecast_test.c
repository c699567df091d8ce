// SPDX-License-Identifier: MIT
/*
 * forecast against the processor: a child runs ordinary code under ptrace; at random moments it
 * is stopped, forecasts are made, and then it is single-stepped to see whether they come true.
 * Instructions are also compared one by one, with random inputs, by running them natively.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "forecast/forecast.h"
#include "stepped.h"

/* ---- what is predicted ----------------------------------------------------------------------- */

/* Of the forecasts the first ones begin at the stop, the others behind what one of those has hit. */
enum { TRACE_MAX = 1300, MATCHES_MAX = 1 << 17, BEGUN = 16, RESUMED = 8, STACK_WORDS = 24 };
enum { FORECASTS = BEGUN + RESUMED };

/* The state at a hit: registers, and what is above the stack pointer. */
struct then {
    bool given;
    struct base_registers registers;
    bool readable[STACK_WORDS];
    uint64_t words[STACK_WORDS];
    bool place_readable;
    uint64_t place, at_place; /* the location asked for */
};

struct prediction {
    struct forecast_goal goal;
    enum forecast_result result;
    struct forecast_outcome out;
    unsigned from; /* instructions to what the goal is to be reached from */
    struct then then;
    const char *wrong_then; /* against what was there really */
};

static void look_then(struct forecast *forecast, struct then *then)
{
    struct base_memory memory;
    then->given = forecast_then(forecast, &then->registers, &memory);
    for (unsigned i = 0; i < STACK_WORDS && then->given; i++)
        then->readable[i] = base_read(&memory, then->registers.general[BASE_RSP] + 8ul * i,
                                      &then->words[i], sizeof(then->words[i]));
    then->place_readable = then->given && base_read(&memory, then->place, &then->at_place, 8);
}

/* Unknown registers read as 0, unknown memory not at all. */
static const char *compare_then(const struct then *then, const struct base_registers *now,
                                pid_t child)
{
    uint64_t rsp = now->general[BASE_RSP], word;
    if (!then->given)
        return "no state at the hit";
    if (then->registers.general[BASE_RSP] != rsp || then->registers.ip != now->ip ||
        then->registers.fs_base != now->fs_base)
        return "rsp, ip or fs at the hit";
    for (unsigned i = 0; i < BASE_GENERAL_REGISTERS; i++) {
        if (then->registers.general[i] && then->registers.general[i] != now->general[i])
            return "a register at the hit";
    }
    for (unsigned i = 0; i < STACK_WORDS; i++) {
        if (then->readable[i] &&
            (!read_process(&child, rsp + 8ul * i, &word, sizeof(word)) || word != then->words[i]))
            return "the stack at the hit";
    }
    if (then->place_readable &&
        (!read_process(&child, then->place, &word, sizeof(word)) || word != then->at_place))
        return "what is accessed, at the hit";
    return NULL;
}

/* ---- what really happened -------------------------------------------------------------------- */

struct truth_access {
    unsigned instruction; /* index on the path */
    unsigned access;
    uint64_t address;
    uint32_t bytes;    /* 0: isa does not know the address */
    uint8_t direction; /* one bit: what is both is two */
};

struct truth {
    unsigned instructions; /* executed */
    uint64_t path[TRACE_MAX + 1];
    unsigned accesses;
    struct truth_access access[MATCHES_MAX];
};

static void note_access(struct truth *truth, const struct isa_insn *insn, unsigned index,
                        const struct base_registers *before)
{
    const struct isa_access *access = &insn->accesses[index];
    struct truth_access noted = {truth->instructions, index, 0, 0, 0};
    if (isa_effective_address(insn, access, before, &noted.address))
        noted.bytes = access->bytes;
    for (uint8_t direction = ISA_LOAD; direction <= ISA_STORE; direction++) {
        if (!(access->direction & direction))
            continue;
        assert_true(truth->accesses < MATCHES_MAX);
        noted.direction = direction;
        truth->access[truth->accesses++] = noted;
    }
}

static void note_accesses(struct truth *truth, const struct isa_insn *insn,
                          const struct base_registers *before, const struct base_registers *after)
{
    if (insn->repeated && before->general[BASE_RCX] == 0)
        return;
    for (unsigned i = 0; i < insn->access_count; i++) {
        bool exchanged = insn->mnemonic == ZYDIS_MNEMONIC_CMPXCHG && after->flags >> 6 & 1;
        if (!insn->accesses[i].conditional || exchanged)
            note_access(truth, insn, i, before);
    }
}

/* The thread is about to execute an instruction: is that how it was predicted? Of repeated string
   instructions the hit may be any iteration. */
static void check_then(pid_t child, const struct base_registers *now, bool repeated,
                       unsigned instruction, struct prediction *predictions)
{
    for (unsigned i = 0; i < FORECASTS && !repeated; i++) {
        struct prediction *p = &predictions[i];
        if (p->result == FORECAST_HIT && p->out.instructions == instruction)
            p->wrong_then = compare_then(&p->then, now, child);
    }
}

/* Steps over `count` instructions (a string instruction with all iterations is one). */
static bool record(pid_t child, unsigned count, struct truth *truth, struct prediction *predictions)
{
    struct base_registers before, after;
    struct isa_insn insn;
    bool in_call;
    truth->instructions = truth->accesses = 0;
    if (!get_registers(child, &before, &in_call))
        return false;
    while (truth->instructions < count) {
        truth->path[truth->instructions] = before.ip;
        if (!decode_in(child, before.ip, &insn))
            return false;
        check_then(child, &before, insn.repeated, truth->instructions, predictions);
        do {
            if (!step(child) || !get_registers(child, &after, &in_call))
                return false;
            note_accesses(truth, &insn, &before, &after);
            before = after;
        } while (insn.repeated && after.ip == insn.address);
        truth->instructions++;
    }
    truth->path[truth->instructions] = before.ip;
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct score {
    unsigned by_result[4], wrong, ranges_hit, resumed_hit, places;
    uint64_t instructions;
    char first_wrong[400];
};

static bool matches(const struct truth_access *access, const struct forecast_goal *goal)
{
    return access->bytes && access->direction & goal->direction &&
           (goal->range_bytes == 0 || (access->address < goal->range_start + goal->range_bytes &&
                                       goal->range_start < access->address + access->bytes));
}

/* Index of the first access that the prediction is about. */
static unsigned first_access(const struct truth *truth, const struct prediction *p)
{
    unsigned i = 0;
    while (i < truth->accesses && truth->access[i].instruction < p->from)
        i++;
    return i;
}

/* Index of the access after `skip` matching ones, or of the first of `instruction`; how many are
   before it that match. */
static unsigned find_access(const struct truth *truth, const struct prediction *p, uint32_t skip,
                            unsigned instruction, unsigned *matching)
{
    const struct forecast_goal *goal = &p->goal;
    unsigned i = first_access(truth, p);
    for (*matching = 0; i < truth->accesses && truth->access[i].instruction < instruction; i++) {
        if (matches(&truth->access[i], goal) && (*matching)++ == skip)
            break;
    }
    return i;
}

static unsigned visits_before(const struct truth *truth, uint64_t address, unsigned instruction)
{
    unsigned count = 0;
    for (unsigned i = 0; i < instruction; i++)
        count += truth->path[i] == address;
    return count;
}

/* All that was to be passed over before the instruction was. */
static const char *wrongly_passed(const struct prediction *p, const struct truth *truth)
{
    unsigned matching, accesses = find_access(truth, p, UINT32_MAX, p->out.instructions, &matching);
    accesses -= first_access(truth, p);
    if (p->out.matching_passed != matching)
        return "matching accesses on the way";
    /* Without a range a string instruction may be passed over that cannot be followed. */
    bool exact = p->goal.range_bytes != 0;
    return p->out.accesses_passed == accesses || (!exact && p->out.accesses_passed < accesses)
               ? NULL
               : "accesses on the way";
}

static const char *wrong_hit(const struct prediction *p, const struct truth *truth)
{
    const struct forecast_outcome *out = &p->out;
    unsigned matching, index = find_access(truth, p, p->goal.skip, UINT32_MAX, &matching);
    const struct truth_access *real = &truth->access[index];
    if (index == truth->accesses || real->instruction != out->instructions)
        return "access";
    if (out->insn.address != out->resume || out->access != real->access ||
        out->direction != real->direction)
        return "instruction";
    if (out->address != real->address || out->bytes != real->bytes)
        return "address";
    if (out->matching_passed != p->goal.skip)
        return "matching accesses before the hit";
    bool exact = p->goal.range_bytes != 0;
    index -= first_access(truth, p);
    if (out->accesses_passed != index && (exact || out->accesses_passed > index))
        return "distance";
    return p->wrong_then;
}

static const char *disagreement(const struct prediction *p, const struct truth *truth)
{
    const struct forecast_outcome *out = &p->out;
    if (p->result == FORECAST_FAULT)
        return NULL;
    if (out->instructions > truth->instructions)
        return "cut off";
    uint64_t there = truth->path[out->instructions];
    if (p->result == FORECAST_EXHAUSTED)
        return wrongly_passed(p, truth);
    if (out->resume != there)
        return "path";
    if (out->earlier_visits != visits_before(truth, there, out->instructions))
        return "visits";
    return p->result == FORECAST_BLOCKED ? wrongly_passed(p, truth) : wrong_hit(p, truth);
}

static void judge(struct score *score, const struct prediction *p, const struct truth *truth)
{
    const char *why = disagreement(p, truth);
    score->by_result[p->result]++;
    score->instructions += p->out.instructions;
    score->ranges_hit += p->result == FORECAST_HIT && p->goal.range_bytes;
    score->resumed_hit += p->result == FORECAST_HIT && p->from;
    score->places += p->then.place_readable && p->from;
    if (!why)
        return;
    if (score->wrong++ == 0)
        snprintf(score->first_wrong, sizeof(score->first_wrong),
                 "%s: result %d from %#lx, goal %u/%u in %#lx+%lu, after %u instructions at %#lx, "
                 "really %#lx; passed %u of %u, visits %u, address %#lx",
                 why, (int)p->result, truth->path[0], p->goal.direction, p->goal.skip,
                 p->goal.range_start, p->goal.range_bytes, p->out.instructions, p->out.resume,
                 truth->path[p->out.instructions], p->out.matching_passed, p->out.accesses_passed,
                 p->out.earlier_visits, p->out.address);
}

/* How forecasts are spoilt, to see that the comparison notices. */
enum fault { SOUND, FLIP_FLAGS, SHIFT_STACK, LOSE_ACCESS };

static void pick_location(struct forecast_goal *goal, uint64_t address, struct base_random *random)
{
    static const uint64_t units[] = {1, 8, 64};
    goal->range_bytes = units[base_random_below(random, BASE_COUNT(units))];
    goal->range_start = address & -goal->range_bytes;
}

/* Behind what the prediction has hit, to the next touch of the place. */
static void resume(struct forecast *forecast, const struct prediction *at, struct prediction *p)
{
    struct forecast_outcome hit;
    *p = (struct prediction){.goal = {.direction = at->goal.direction ^ ISA_LOAD ^ ISA_STORE,
                                      .max_instructions = 500,
                                      .range_start = at->out.address,
                                      .range_bytes = 1,
                                      .sure = true},
                             .result = FORECAST_FAULT};
    p->goal.direction = p->goal.direction ? p->goal.direction : ISA_LOAD | ISA_STORE;
    if (at->result != FORECAST_HIT || forecast_run(forecast, &at->goal, &hit) != FORECAST_HIT ||
        !forecast_pass(forecast))
        return;
    p->from = hit.instructions + 1;
    p->result = forecast_resume(forecast, &p->goal, &p->out);
    p->out.instructions += p->from;
    p->then.place = at->out.address;
    look_then(forecast, &p->then);
}

/* First any accesses of either direction or both, then the locations of those that
   were found. */
static void foresee(struct forecast *forecast, struct base_random *random,
                    struct prediction predictions[FORECASTS])
{
    for (unsigned i = 0; i < BEGUN; i++) {
        struct prediction *p = &predictions[i];
        const struct prediction *at = i < BEGUN / 2 ? NULL : p - BEGUN / 2;
        *p = (struct prediction){.goal = {.direction = (uint8_t)(1 + (i + i / 8) % 3),
                                          .skip = (uint32_t)base_random_below(random, at ? 3 : 64),
                                          .max_instructions = 700}};
        if (at && at->result == FORECAST_HIT)
            pick_location(&p->goal, at->out.address, random);
        p->result = forecast_run(forecast, &p->goal, &p->out);
        look_then(forecast, &p->then);
    }
    for (unsigned i = 0; i < RESUMED; i++)
        resume(forecast, &predictions[i], &predictions[BEGUN + i]);
}

static void lose_an_access(struct truth *truth)
{
    if (truth->accesses > 40)
        truth->accesses--;
    for (unsigned i = 40; i < truth->accesses; i++)
        truth->access[i] = truth->access[i + 1];
}

static void one_stop(pid_t child, struct forecast *forecast, struct base_random *random,
                     enum fault fault, struct score *score)
{
    static struct truth truth;
    struct prediction predictions[FORECASTS];
    struct base_memory memory = {read_process, &child};
    struct base_registers registers;
    bool in_call;
    unsigned longest = 0;
    let_run(child, random);
    assert_true(get_registers(child, &registers, &in_call));
    if (in_call)
        return;
    if (fault == FLIP_FLAGS)
        registers.flags ^= 0x8d5;
    if (fault == SHIFT_STACK)
        registers.general[BASE_RSP] += 8;
    forecast_begin(forecast, &registers, &memory);
    foresee(forecast, random, predictions);
    for (unsigned i = 0; i < FORECASTS; i++) {
        if (predictions[i].out.instructions > longest)
            longest = predictions[i].out.instructions;
    }
    assert_true(longest <= TRACE_MAX - 1);
    if (!record(child, longest + 1, &truth, predictions))
        fail_msg("the child cannot be stepped");
    if (fault == LOSE_ACCESS)
        lose_an_access(&truth);
    for (unsigned i = 0; i < FORECASTS; i++)
        judge(score, &predictions[i], &truth);
}

static void run_stops(unsigned stops, enum fault fault, struct score *score)
{
    struct forecast *forecast = calloc(1, sizeof(*forecast));
    struct base_random random = {(uint64_t)time(NULL)};
    pid_t child = start_child();
    uint64_t seed = random.state;
    memset(score, 0, sizeof(*score));
    for (unsigned i = 0; i < stops; i++)
        one_stop(child, forecast, &random, fault, score);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(forecast);
    unsigned total =
        score->by_result[0] + score->by_result[1] + score->by_result[2] + score->by_result[3];
    print_message("# seed %lu fault %d: %u forecasts, %lu instructions: %.1f%% hit, %.1f%% "
                  "blocked, %.1f%% exhausted, %.1f%% fault; %u hits in ranges; %u resumed, %u "
                  "values; %u wrong\n",
                  seed, (int)fault, total, score->instructions,
                  100.0 * score->by_result[FORECAST_HIT] / total,
                  100.0 * score->by_result[FORECAST_BLOCKED] / total,
                  100.0 * score->by_result[FORECAST_EXHAUSTED] / total,
                  100.0 * score->by_result[FORECAST_FAULT] / total, score->ranges_hit,
                  score->resumed_hit, score->places, score->wrong);
    if (score->wrong)
        print_message("# first: %s\n", score->first_wrong);
}

static void forecasts_come_true(void **state)
{
    struct score score;
    run_stops(400, SOUND, &score);
    assert_int_equal(score.wrong, 0);
    assert_true(score.by_result[FORECAST_HIT] > 0);
    assert_true(score.ranges_hit > 100);
    assert_true(score.resumed_hit > 50);
    assert_true(score.places > 50);
}

static void planted_faults_are_seen(void **state)
{
    struct score score = {.wrong = 0};
    run_stops(60, SHIFT_STACK, &score);
    assert_true(score.wrong > 0);
    run_stops(60, LOSE_ACCESS, &score);
    assert_true(score.wrong > 0);
    score.wrong = 0;
    for (unsigned round = 0; round < 10 && score.wrong == 0;
         round++) /* flags matter at few places */
        run_stops(60, FLIP_FLAGS, &score);
    assert_true(score.wrong > 0);
}

/* ---- against debug registers ----------------------------------------------------------------- */

/*
 * The truth above relies on isa, as forecasts do. The processor reports in its own way where a
 * word is touched next: right behind the instruction that was predicted.
 */
static bool strikes_where_foreseen(pid_t child, const struct isa_insn *insn)
{
    struct base_registers after;
    bool in_call;
    uint64_t word, next = insn->address + insn->length;
    assert_true(get_registers(child, &after, &in_call));
    switch (insn->flow) {
    case ISA_CALL:
        return read_process(&child, after.general[BASE_RSP], &word, sizeof(word)) && word == next;
    case ISA_RETURN:
    case ISA_JUMP:
        return read_process(&child, after.general[BASE_RSP] - 8, &word, sizeof(word)) &&
               (insn->flow == ISA_JUMP || word == after.ip);
    default: return after.ip == next || (insn->repeated && after.ip == insn->address);
    }
}

/* How often conditional accesses, which forecasts pass over, may come first. */
enum { WATCHES = 300, UNFORESEEN_MAX = WATCHES / 50 };

/* 1: struck where predicted, 0: elsewhere, -1: nothing was predicted. */
static int one_watch(pid_t child, struct forecast *forecast, struct base_random *random,
                     uint64_t shift)
{
    struct base_memory memory = {read_process, &child};
    struct base_registers registers;
    struct forecast_goal goal = {.direction = ISA_LOAD | ISA_STORE,
                                 .skip = (uint32_t)base_random_below(random, 64),
                                 .max_instructions = 700};
    struct forecast_outcome out;
    bool in_call;
    let_run(child, random);
    assert_true(get_registers(child, &registers, &in_call));
    forecast_begin(forecast, &registers, &memory);
    if (in_call || forecast_run(forecast, &goal, &out) != FORECAST_HIT)
        return -1;
    goal.range_bytes = 8;
    goal.range_start = (out.address & -UINT64_C(8)) + shift;
    goal.skip = 0;
    if (forecast_run(forecast, &goal, &out) != FORECAST_HIT ||
        !watch(child, goal.range_start - shift))
        return -1;
    bool struck = run_to_watch(child);
    int result = struck && strikes_where_foreseen(child, &out.insn);
    if (struck && !result && !shift)
        print_message("# %#lx: not foreseen, but %#lx\n", goal.range_start, out.insn.address);
    assert_true(watch(child, 0));
    return result;
}

static unsigned run_watches(unsigned *foreseen, uint64_t shift)
{
    struct forecast *forecast = calloc(1, sizeof(*forecast));
    struct base_random random = {(uint64_t)time(NULL)};
    pid_t child = start_child();
    unsigned wrong = 0;
    *foreseen = 0;
    for (unsigned i = 0; i < WATCHES; i++) {
        int result = one_watch(child, forecast, &random, shift);
        *foreseen += result >= 0;
        wrong += result == 0;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(forecast);
    print_message("# %u words watched, %u touched elsewhere first\n", *foreseen, wrong);
    return wrong;
}

/* Some hypervisors keep debug registers to themselves: they can be set but never strike. */
static bool watchpoints_strike(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        sink++;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    bool struck = watch(child, (uint64_t)(uintptr_t)&sink & -UINT64_C(8)) &&
                  ptrace(PTRACE_CONT, child, 0, 0) == 0 && waitpid(child, &status, 0) == child &&
                  WIFSTOPPED(status);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return struck;
}

static void watchpoints_strike_where_foreseen(void **state)
{
    unsigned foreseen;
    if (!watchpoints_strike()) {
        print_message("# no watchpoint strikes here\n");
        skip();
    }
    assert_true(run_watches(&foreseen, 0) <= UNFORESEEN_MAX);
    assert_true(foreseen > WATCHES / 4);
    /* A word beside the one predicted must be distinguished. */
    assert_true(run_watches(&foreseen, 8) > UNFORESEEN_MAX);
}

/* ---- single instructions, natively and forecast ---------------------------------------------- */

/* Random rax, rcx, rdx, rbx and flags; rdi points to 16 random bytes. One, or a few on the way to a
   defined state. */
/* clang-format never comes to rest on these lists. */
// clang-format off
#define SNIPPETS(X) \
    X("add %rcx,%rax") X("add %ecx,%eax") X("add %cx,%ax") X("add %ch,%al") X("add %al,%bh") \
    X("adc %rcx,%rax") X("adc %ecx,%eax") X("adc $-1,%al") X("adc %cl,%ah") X("adc %cx,%dx") \
    X("sub %rcx,%rax") X("sub %ecx,%eax") X("sub %cl,%al") X("sub $0x7fff,%ax") X("sbb %rcx,%rax") \
    X("sbb %ecx,%eax") X("sbb %cl,%al") X("sbb %eax,%eax") X("sbb %dx,%cx") X("cmp %rcx,%rax") \
    X("cmp %ecx,%eax") X("cmp %cl,%al") X("cmp $3,%al") X("cmp %eax,%eax") X("and %rcx,%rax") \
    X("and $0xf0,%al") X("or %ecx,%eax") X("or $-2,%rax") X("xor %cx,%ax") X("xor %eax,%eax") \
    X("test %al,%al") X("test %rcx,%rax") X("test $0x80,%ah") X("inc %rax") X("inc %al") \
    X("dec %eax") X("dec %cx") X("neg %rax") X("neg %al") X("neg %ecx") X("not %rax") X("not %al") \
    X("mov $0,%ecx; neg %ecx") X("add %rax,(%rdi)") X("sub %al,3(%rdi)") X("incl 4(%rdi)") \
    X("xor %rcx,(%rdi)") X("notw 2(%rdi)") X("negq (%rdi)") X("adc %eax,1(%rdi)") \
    X("addb $1,7(%rdi)") X("shl %cl,%rax") X("shl %cl,%eax") X("shl %cl,%ax") X("shl %cl,%al") \
    X("shl $1,%eax") X("shr %cl,%rax") X("shr %cl,%eax") X("shr %cl,%ax") X("shr %cl,%al") \
    X("shr $1,%rax") X("sar %cl,%rax") X("sar %cl,%eax") X("sar %cl,%ax") X("sar %cl,%al") \
    X("sar $1,%al") X("rol %cl,%rax") X("rol %cl,%eax") X("rol %cl,%ax") X("rol %cl,%al") \
    X("rol $1,%eax") X("ror %cl,%rax") X("ror %cl,%eax") X("ror %cl,%ax") X("ror %cl,%al") \
    X("ror $1,%ax") X("mov $0,%cl; shl %cl,%eax") X("shll %cl,(%rdi)") X("shrb $3,(%rdi)") \
    X("sarq $63,(%rdi)") X("shld %cl,%rdx,%rax") X("shld $7,%edx,%eax") X("shld $1,%dx,%ax") \
    X("shrd %cl,%rdx,%rax") X("shrd $31,%edx,%eax") X("shrd $1,%dx,%ax") X("imul %rcx,%rax") \
    X("imul %ecx,%eax") X("imul %cx,%ax") X("imul $-7,%rcx,%rax") X("imul $1000,%ecx,%eax") \
    X("imul %rcx") X("imul %ecx") X("imul %cx") X("imul %cl") X("mul %rcx") X("mul %ecx") \
    X("mul %cx") X("mul %cl") X("mulq (%rdi)") X("xor %edx,%edx; or $1,%ecx; div %rcx") \
    X("xor %edx,%edx; or $1,%ecx; div %ecx") X("mov $0,%dx; or $1,%cx; div %cx") \
    X("mov $0,%ah; or $1,%cl; div %cl") \
    X("mov $1,%edx; or $2,%rcx; btc $63,%rcx; bts $62,%rcx; div %rcx") \
    X("cqto; or $5,%rcx; btr $1,%rcx; idiv %rcx") X("cltd; or $5,%ecx; btr $1,%ecx; idiv %ecx") \
    X("cwtd; or $5,%cx; btr $1,%cx; idiv %cx") X("cbtw; or $0x45,%cl; and $-3,%cl; idiv %cl") \
    X("cltq") X("cwtl") X("cbtw") X("cqto") X("cltd") X("cwtd") X("bswap %rax") X("bswap %ecx") \
    X("bt %ecx,%eax") X("bts %rcx,%rax") X("btr $5,%eax") X("btc %cx,%ax") X("btl $9,(%rdi)") \
    X("btsq $33,(%rdi)") X("bsf %rcx,%rax") X("bsr %ecx,%eax") X("bsf %cx,%ax") \
    X("xchg %rcx,%rax") X("xchg %cl,%ah") X("xchg %eax,(%rdi)") X("xadd %rcx,%rax") \
    X("xadd %eax,(%rdi)") X("lock xadd %al,5(%rdi)") X("cmpxchg %rcx,%rdx") \
    X("mov (%rdi),%eax; lock cmpxchg %ecx,(%rdi)") X("lock cmpxchg %rcx,(%rdi)") X("seta %al") \
    X("setbe %cl") X("setl %dh") X("setg %al") X("setp %bl") X("setno (%rdi)") \
    X("cmove %rcx,%rax") X("cmovb %ecx,%eax") X("cmovge %cx,%ax") X("cmovs (%rdi),%eax") \
    X("cmovle %ecx,%eax") X("mov %ecx,%eax") X("mov %cx,%ax") X("mov %ch,%al") X("mov %al,%dh") \
    X("movzbl %ah,%eax") X("movzwl %cx,%eax") X("movsbl %cl,%eax") X("movsbq %cl,%rax") \
    X("movslq %ecx,%rax") X("movswl 3(%rdi),%eax") X("movzbl 5(%rdi),%ecx") X("movsbw %al,%ax") \
    X("lea 3(%rax,%rcx,4),%rdx") X("lea (%rax,%rax,2),%edx") X("lea -1(%rcx),%dx") \
    X("addr32 lea 8(%eax,%ecx),%rdx") X("stc; adc $0,%rax") X("clc; sbb $0,%eax") \
    X("cmc; adc $0,%al") X("push %rax; pop %rcx") X("push $-5; pop %rdx") \
    X("pushq (%rdi); popq 8(%rdi)") X("pushfq; popfq") X("push %ax; pop %cx") \
    X("push %rbp; mov %rsp,%rbp; leave") X("mov %al,(%rdi); mov (%rdi),%rcx") \
    X("mov %rax,3(%rdi); mov (%rdi),%rcx; mov 7(%rdi),%edx") \
    X("movzbl %al,%eax; mov %rdi,%rbx; mov %al,%dl; mov (%rdi),%al") X("jrcxz 1f; inc %rax; 1:") \
    X("mov $3,%ecx; 1: add %rcx,%rax; loop 1b") X("cmp %cl,%al; jg 1f; inc %rax; 1:") \
    X("call 1f; 1: pop %rcx; sub %rcx,%rcx") X("mov $2,%ecx; 1: inc %edx; cmp $4,%edx; loopne 1b") \
    X("movq %rax,%xmm0; movq %rcx,%xmm1; pcmpeqb %xmm1,%xmm0; pmovmskb %xmm0,%eax") \
    X("movdqu (%rdi),%xmm0; pxor %xmm1,%xmm1; pcmpgtb %xmm0,%xmm1; pmovmskb %xmm1,%eax") \
    X("movd %eax,%xmm0; movd %xmm0,%ecx") X("movq (%rdi),%xmm0; movq %xmm0,%rdx") \
    X("movdqu (%rdi),%xmm0; pshufd $0x1b,%xmm0,%xmm0; movq %xmm0,%rax") \
    X("movd %eax,%xmm0; punpcklbw %xmm0,%xmm0; punpcklwd %xmm0,%xmm0; movq %xmm0,%rcx") \
    X("movdqu (%rdi),%xmm0; movdqa %xmm0,%xmm1; psubb %xmm1,%xmm1; pminub %xmm0,%xmm1;" \
      " movq %xmm1,%rax") \
    X("movups (%rdi),%xmm0; movups %xmm0,-16(%rsp); mov -13(%rsp),%rax") \
    X("movups (%rdi),%xmm0; movq %rcx,%xmm0; movq %xmm0,%rax") \
    X("movups (%rdi),%xmm0; mov %rcx,4(%rdi); movq %xmm0,%rax; movups %xmm0,(%rdi)") \
    X("mov %rcx,4(%rdi); movups (%rdi),%xmm0; movq %xmm0,%rax; movq 3(%rdi),%xmm0;" \
      " movq %xmm0,%rdx") \
    X("movsd (%rdi),%xmm0; mov %rcx,7(%rdi); movups %xmm0,(%rdi)") \
    X("movups (%rdi),%xmm0; mov %al,15(%rdi); movss 3(%rdi),%xmm0; movups %xmm0,(%rdi)") \
    X("movups (%rdi),%xmm0; movd %eax,%xmm1; movss %xmm1,%xmm0; movups %xmm0,(%rdi)") \
    X("movsd (%rdi),%xmm0; movsd %xmm0,-8(%rsp); mov -8(%rsp),%rax") \
    X("movq %rax,%xmm0; movq %rcx,%xmm1; pand %xmm1,%xmm0; ptest %xmm1,%xmm0") \
    X("movq %rax,%xmm0; movq %rcx,%xmm1; psubusb %xmm1,%xmm0; paddb %xmm1,%xmm0; movq %xmm0,%rdx")

#define SNIPPETS_BMI(X) \
    X("andn %rcx,%rax,%rdx") X("andn %ecx,%eax,%edx") X("blsr %rcx,%rax") X("blsi %ecx,%eax") \
    X("blsmsk %rcx,%rax") X("bextr %rcx,%rax,%rdx") X("bextr %ecx,%eax,%edx") \
    X("bzhi %rcx,%rax,%rdx") X("bzhi %ecx,%eax,%edx") X("pdep %rcx,%rax,%rdx") \
    X("pext %ecx,%eax,%edx") X("shlx %rcx,%rax,%rdx") X("shrx %ecx,%eax,%edx") \
    X("sarx %rcx,%rax,%rdx") X("sarx %ecx,%eax,%edx") X("rorx $13,%rax,%rdx") \
    X("rorx $5,%eax,%edx") X("mulx %rcx,%rax,%rbx") X("mulx %ecx,%eax,%ebx") X("tzcnt %rcx,%rax") \
    X("tzcnt %cx,%ax") X("lzcnt %ecx,%eax") X("lzcnt %cx,%ax") X("popcnt %rcx,%rax") \
    X("popcnt %cx,%ax") X("movbe (%rdi),%eax") X("movbe 2(%rdi),%cx") X("movbe %rax,(%rdi)")

#define SNIPPETS_AVX512(X) \
    X("vmovdqu -16(%rdi),%ymm0; mov %rcx,(%rdi); movd %eax,%xmm0; vmovdqu %ymm0,-16(%rdi)") \
    X("vmovdqu -16(%rdi),%ymm0; mov %rcx,(%rdi); movq (%rdi),%xmm0; vmovdqu %ymm0,-16(%rdi)") \
    X("vmovdqu -16(%rdi),%ymm0; vzeroupper; mov %rcx,-16(%rdi); vmovdqu %ymm0,-16(%rdi)") \
    X("vmovdqu -16(%rdi),%ymm0; vmovq -8(%rdi),%xmm0; vmovdqu %ymm0,-16(%rdi)") \
    X("vmovdqu -16(%rdi),%ymm0; vmovups (%rdi),%xmm0; vmovdqu %ymm0,-16(%rdi)") \
    X("vmovdqu (%rdi),%xmm0; vpxor %xmm1,%xmm1,%xmm1; vpcmpeqb %xmm0,%xmm1,%xmm2;" \
      " vpmovmskb %xmm2,%eax") \
    X("vpbroadcastb %eax,%ymm16; vpcmpeqb -16(%rdi),%ymm16,%k0; kmovd %k0,%ecx") \
    X("vmovdqu8 (%rdi),%xmm16; vptestnmb %xmm16,%xmm16,%k1; kmovd %k1,%edx; kortestd %k1,%k1") \
    X("vmovdqu8 (%rdi),%xmm16; vpminub (%rdi),%xmm16,%xmm17; vpcmpub $1,%xmm16,%xmm17,%k2;" \
      " kmovq %k2,%rcx") \
    X("vpbroadcastq %rax,%xmm16; vpbroadcastd %ecx,%xmm17;" \
      " vpternlogd $0xde,%xmm16,%xmm17,%xmm17; vmovq %xmm17,%rdx") \
    X("kmovd %eax,%k1; kmovd %ecx,%k2; kunpckwd %k1,%k2,%k3; kmovd %k3,%edx; knotd %k1,%k4;" \
      " kmovd %k4,%ebx") \
    X("kmovd %eax,%k1; vpbroadcastb %ecx,%xmm16; vpcmpeqb (%rdi),%xmm16,%k2{%k1};" \
      " kmovd %k2,%edx; kortestw %k1,%k2")
// clang-format on

struct snippet {
    const char *text;
    const uint8_t *code;
    unsigned bytes;
};

#define ASSEMBLED(text) ".byte 9f-8f\n8: " text "\n9:\n"
#define NAMED(text)     text,
__asm__(".pushsection .rodata\nsnippet_codes:\n" SNIPPETS(ASSEMBLED) SNIPPETS_BMI(ASSEMBLED)
            SNIPPETS_AVX512(ASSEMBLED) ".byte 0\n.popsection\n");
extern const uint8_t snippet_codes[];
static const char *const snippet_names[] = {SNIPPETS(NAMED) SNIPPETS_BMI(NAMED)
                                                SNIPPETS_AVX512(NAMED)};

struct native {
    uint64_t rax, rcx, rdx, rbx, rdi, flags;
};

/* Runs code (ending in ret) with the registers of state and stores them back. */
__attribute__((naked, noinline)) static void run_native(struct native *state, const void *code)
{
    __asm__("push %rbx; push %rbp; push %r15; mov %rdi,%r15; mov %rsi,%r8\n"
            "push 40(%r15); popfq\n"
            "mov (%r15),%rax; mov 8(%r15),%rcx; mov 16(%r15),%rdx; mov 24(%r15),%rbx\n"
            "mov 32(%r15),%rdi; call *%r8\n"
            "pushfq; pop 40(%r15)\n"
            "mov %rax,(%r15); mov %rcx,8(%r15); mov %rdx,16(%r15); mov %rbx,24(%r15)\n"
            "cld; pop %r15; pop %rbp; pop %rbx; ret");
}

/* After the snippet a probe stores to an address that is what is to be known. */
static const struct probe {
    const char *name, *code;
    unsigned bytes;
    bool is_flag;
} probes[] = {
    {"rax", "\xc6\x00\x01", 3, false},
    {"rcx", "\xc6\x01\x01", 3, false},
    {"rdx", "\xc6\x02\x01", 3, false},
    {"rbx", "\xc6\x03\x01", 3, false},
    {"memory", "\x48\x8b\x07\xc6\x00\x01", 6, false},
    {"memory+8", "\x48\x8b\x47\x08\xc6\x00\x01", 7, false},
    {"OF", "\x0f\x90\xc0\x0f\xb6\xc0\xc6\x00\x01", 9, true},
    {"CF", "\x0f\x92\xc0\x0f\xb6\xc0\xc6\x00\x01", 9, true},
    {"ZF", "\x0f\x94\xc0\x0f\xb6\xc0\xc6\x00\x01", 9, true},
    {"SF", "\x0f\x98\xc0\x0f\xb6\xc0\xc6\x00\x01", 9, true},
    {"PF", "\x0f\x9a\xc0\x0f\xb6\xc0\xc6\x00\x01", 9, true},
};

static uint64_t probed(const struct native *after, const uint64_t *memory, unsigned probe)
{
    static const unsigned bits[] = {11, 0, 6, 7, 2};
    const uint64_t values[] = {after->rax, after->rcx, after->rdx,
                               after->rbx, memory[0],  memory[1]};
    return probe < 6 ? values[probe] : after->flags >> bits[probe - 6] & 1;
}

static bool read_own(void *context, uint64_t address, void *out, size_t bytes)
{
    pid_t self = getpid();
    return read_process(&self, address, out, bytes);
}

struct bench {
    uint8_t *page;      /* executable */
    uint64_t memory[4]; /* rdi points to [2] */
    struct forecast *forecast;
    unsigned compared, unknown_registers, unknown_flags, wrong;
};

/* Stores on the way vary (loops, cmpxchg): the probe is the store at the probe's last
 * instruction. */
static enum forecast_result forecast_probe(struct bench *bench, const struct base_registers *before,
                                           uint64_t probe_store, uint64_t *value)
{
    struct base_memory memory = {read_own, NULL};
    struct forecast_goal goal = {.direction = ISA_STORE, .max_instructions = 60};
    struct forecast_outcome out;
    enum forecast_result result;
    forecast_begin(bench->forecast, before, &memory);
    do {
        result = forecast_run(bench->forecast, &goal, &out);
        goal.skip++;
    } while (result == FORECAST_HIT && out.insn.address != probe_store);
    *value = out.address;
    return result;
}

static void compare_probe(struct bench *bench, const struct snippet *snippet, unsigned index,
                          const struct native *before, const struct native *after,
                          const uint64_t *memory_after)
{
    const struct probe *probe = &probes[index];
    uint8_t *end = bench->page + snippet->bytes;
    uint64_t stack[64] = {0}, value;
    memcpy(end, probe->code, probe->bytes);
    struct base_registers registers = {.general = {before->rax, before->rcx, before->rdx,
                                                   before->rbx, (uint64_t)(uintptr_t)&stack[48],
                                                   0x1234, 0, before->rdi},
                                       .ip = (uint64_t)(uintptr_t)bench->page,
                                       .flags = before->flags};
    forecast_forget_code(bench->forecast);
    enum forecast_result result =
        forecast_probe(bench, &registers, (uint64_t)(uintptr_t)end + probe->bytes - 3, &value);
    bench->compared++;
    if (result == FORECAST_BLOCKED) {
        bench->unknown_registers += !probe->is_flag;
        bench->unknown_flags += probe->is_flag;
        if (!probe->is_flag && bench->unknown_registers < 5)
            print_message("# unknown: %s: %s\n", snippet->text, probe->name);
        return;
    }
    if (result == FORECAST_HIT && value == probed(after, memory_after, index))
        return;
    if (bench->wrong++ < 5)
        print_message(
            "# wrong: %s: %s is %#lx, forecast %d %#lx; before rax %#lx rcx %#lx rdx %#lx "
            "rbx %#lx flags %#lx\n",
            snippet->text, probe->name, probed(after, memory_after, index), (int)result, value,
            before->rax, before->rcx, before->rdx, before->rbx, before->flags);
}

/* Values at the edges are as likely as any. */
static uint64_t pick_value(struct base_random *random)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0x8000,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     UINT64_MAX};
    uint64_t any = base_random_next(random);
    if (any & 1)
        return edges[(any >> 8) % BASE_COUNT(edges)];
    return any & 2 ? any >> 8 : any >> (any >> 3 & 63);
}

static void compare_snippet(struct bench *bench, const struct snippet *snippet,
                            struct base_random *random)
{
    struct native before = {pick_value(random),
                            pick_value(random),
                            pick_value(random),
                            pick_value(random),
                            (uint64_t)(uintptr_t)&bench->memory[2],
                            0x202 | (base_random_next(random) & 0x8d5)};
    uint64_t saved[4], memory_after[4];
    struct native after = before;
    for (unsigned i = 0; i < 4; i++)
        saved[i] = bench->memory[i] = pick_value(random);
    memcpy(bench->page, snippet->code, snippet->bytes);
    bench->page[snippet->bytes] = 0xc3;
    run_native(&after, bench->page);
    memcpy(memory_after, bench->memory, sizeof(memory_after));
    memcpy(bench->memory, saved, sizeof(saved));
    for (unsigned i = 0; i < BASE_COUNT(probes); i++)
        compare_probe(bench, snippet, i, &before, &after, memory_after + 2);
}

static unsigned usable_snippets(void)
{
    unsigned count = 0;
#define COUNT(text) count++;
    SNIPPETS(COUNT)
    if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("avx2"))
        return count;
    SNIPPETS_BMI(COUNT)
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
        return count;
    SNIPPETS_AVX512(COUNT)
#undef COUNT
    return count;
}

static void compare_all(unsigned rounds, struct bench *bench)
{
    struct base_random random = {5};
    memset(bench, 0, sizeof(*bench));
    bench->page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench->forecast = calloc(1, sizeof(*bench->forecast));
    assert_true(bench->page != MAP_FAILED && bench->forecast);
    const uint8_t *at = snippet_codes;
    unsigned usable = usable_snippets();
    for (unsigned i = 0; i < usable; i++) {
        struct snippet snippet = {snippet_names[i], at + 1, *at};
        at += 1 + *at;
        for (unsigned round = 0; round < rounds; round++)
            compare_snippet(bench, &snippet, &random);
    }
    print_message("# %u snippets, %u comparisons: %u registers and %u flags unknown, %u wrong\n",
                  usable, bench->compared, bench->unknown_registers, bench->unknown_flags,
                  bench->wrong);
    munmap(bench->page, 4096);
    free(bench->forecast);
}

static void instructions_compute_what_the_processor_does(void **state)
{
    struct bench bench;
    compare_all(60, &bench);
    assert_int_equal(bench.wrong, 0);
    assert_true(bench.unknown_registers * 200 < bench.compared);
    assert_true(bench.unknown_flags * 8 < bench.compared);
}

/* ---- known answers --------------------------------------------------------------------------- */

/*
 * Code that is not run, only predicted; `7:` stands before the instruction that is to be hit, or to
 * be blocked at. At its start rdi points to 4096 bytes aligned to 64 (LOW), rsi behind them to as
 * many (HIGH), rsp to the end of a stack; rax is 5, rcx 3, rdx 64, and memory is 0.
 */
enum place { LOW, HIGH, STACK, PLACES };
enum { PLACE_BYTES = 4096, KNOWN_INSTRUCTIONS = 300, BOTH = ISA_LOAD | ISA_STORE };

struct known_goal {
    uint8_t direction;
    uint32_t skip;
    enum place place;
    int64_t start; /* relative to the place */
    uint64_t bytes;
};

struct known_outcome {
    enum forecast_result result;
    uint8_t direction;
    enum place place;
    int64_t address; /* of a hit, relative to the place */
    uint32_t passed, matching;
    int64_t stack; /* of a hit: rsp then - rsp now */
};

struct known {
    const char *name;
    struct known_goal goal;
    struct known_outcome expected;
};

/* Address, accesses passed, rsp. */
#define LOADS(place, address, passed, stack)                                                       \
    {                                                                                              \
        FORECAST_HIT, ISA_LOAD, place, address, passed, 0, stack                                   \
    }
#define STORES(place, address, passed, stack)                                                      \
    {                                                                                              \
        FORECAST_HIT, ISA_STORE, place, address, passed, 0, stack                                  \
    }
#define BLOCKS(passed)                                                                             \
    {                                                                                              \
        FORECAST_BLOCKED, 0, LOW, 0, passed, 0, 0                                                  \
    }

// clang-format off
/* Name, code, goal, what is expected. */
#define KNOWN(X) \
    X("a b c b a", "mov (%rdi),%eax; mov 8(%rdi),%eax; mov 16(%rdi),%eax; mov 8(%rdi),%eax;" \
      "7: mov (%rdi),%eax", \
      ({BOTH, 1, LOW, 0, 8}), ({FORECAST_HIT, ISA_LOAD, LOW, 0, 4, 1, 0})) \
    X("after a: b c b a", "mov 8(%rdi),%eax; mov 16(%rdi),%eax; mov 8(%rdi),%eax;" \
      "7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 3, 0))) \
    X("the other direction does not match", "mov %eax,(%rdi); 7: mov (%rdi),%eax", \
      ({ISA_LOAD, 0, LOW, 0, 8}), (LOADS(LOW, 0, 1, 0))) \
    X("stored behind a load", "mov (%rdi),%eax; 7: mov %eax,4(%rdi)", \
      ({ISA_STORE, 0, LOW, 0, 8}), (STORES(LOW, 4, 1, 0))) \
    X("modified: two passed", "incl 8(%rdi); 7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 2, 0))) \
    X("modified: the load is hit", "7: incl (%rdi)", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 0, 0))) \
    X("modified: the store comes second", "7: incl (%rdi)", \
      ({BOTH, 1, LOW, 0, 8}), ({FORECAST_HIT, ISA_STORE, LOW, 0, 1, 1, 0})) \
    X("modified: only stores asked for", "7: lock addl $1,(%rdi)", \
      ({ISA_STORE, 0, LOW, 0, 8}), (STORES(LOW, 0, 1, 0))) \
    X("exchanged", "xchg %eax,64(%rdi); xadd %rcx,72(%rdi); 7: movb $1,7(%rdi)", \
      ({BOTH, 0, LOW, 0, 8}), (STORES(LOW, 7, 4, 0))) \
    X("compared, exchanged", "xor %eax,%eax; lock cmpxchg %ecx,64(%rdi); 7: mov (%rdi),%al", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 2, 0))) \
    X("compared, not exchanged", "lock cmpxchg %ecx,64(%rdi); 7: mov (%rdi),%al", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 1, 0))) \
    X("exchanged or not, elsewhere", "movq %xmm0,%rax; lock cmpxchg %ecx,64(%rdi);" \
      "7: mov (%rdi),%al", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 1, 0))) \
    X("exchanged or not, here", "movq %xmm0,%rax; 7: lock cmpxchg %ecx,(%rdi)", \
      ({ISA_STORE, 0, LOW, 0, 8}), (BLOCKS(0))) \
    X("bytes", "movb $1,2(%rdi); movb $1,4(%rdi); 7: mov %eax,(%rdi)", \
      ({BOTH, 0, LOW, 3, 1}), (STORES(LOW, 0, 2, 0))) \
    X("words: from below", "mov %eax,4(%rdi); mov %al,16(%rdi); 7: mov %eax,5(%rdi)", \
      ({BOTH, 0, LOW, 8, 8}), (STORES(LOW, 5, 2, 0))) \
    X("lines: crossing into one", "mov %rax,56(%rdi); mov %rax,128(%rdi); 7: mov %rax,60(%rdi)", \
      ({BOTH, 0, LOW, 64, 64}), (STORES(LOW, 60, 2, 0))) \
    X("a byte inside a wide access", "vmovdqu64 %zmm16,-1(%rdi); 7: vmovdqu (%rdi),%ymm0", \
      ({ISA_LOAD, 0, LOW, 20, 1}), (LOADS(LOW, 0, 1, 0))) \
    X("stride 1", "xor %ecx,%ecx; 1: 7: mov (%rdi,%rcx),%al; mov %al,(%rsi); inc %rcx; jmp 1b", \
      ({BOTH, 0, LOW, 10, 1}), (LOADS(LOW, 10, 20, 0))) \
    X("stride 8 into a line", "xor %ecx,%ecx; 1: 7: mov (%rdi,%rcx,8),%rax; inc %rcx; jmp 1b", \
      ({BOTH, 0, LOW, 128, 64}), (LOADS(LOW, 128, 16, 0))) \
    X("stride 64 into a word", "mov %rdi,%rax; 1: 7: incl (%rax); add $64,%rax; jmp 1b", \
      ({BOTH, 0, LOW, 640, 8}), (LOADS(LOW, 640, 20, 0))) \
    X("in a callee", "call 1f; ud2; 1: push %rbx; sub $24,%rsp; 7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 64}), (LOADS(LOW, 0, 2, -40))) \
    X("after a call", "call 1f; 7: mov (%rdi),%eax; ud2; 1: push %rbx; pop %rbx; ret", \
      ({BOTH, 0, LOW, 0, 64}), (LOADS(LOW, 0, 4, 0))) \
    X("called through memory", "lea 1f(%rip),%rax; mov %rax,8(%rdi); call *8(%rdi); ud2;" \
      "1: 7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 3, -8))) \
    X("a frame left", "push %rbp; mov %rsp,%rbp; sub $32,%rsp; push %rax; 7: leave", \
      ({ISA_LOAD, 0, STACK, -8, 8}), (LOADS(STACK, -8, 2, -48))) \
    X("pushed", "push %rax; 7: push %rcx", \
      ({BOTH, 0, STACK, -16, 8}), (STORES(STACK, -16, 1, -8))) \
    X("popped", "push %rax; push %rcx; pop %rcx; 7: pop %rcx", \
      ({ISA_LOAD, 0, STACK, -8, 8}), (LOADS(STACK, -8, 3, -8))) \
    X("pushed from memory, popped there", "pushq 8(%rdi); popq 16(%rdi); 7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 4, 0))) \
    X("returned", "call 1f; ud2; 1: 7: ret", \
      ({ISA_LOAD, 0, STACK, -8, 8}), (LOADS(STACK, -8, 1, -8))) \
    X("named, not accessed", "lea (%rdi),%rax; prefetcht0 (%rdi); nopl (%rdi);" \
      " 7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 0, 0))) \
    X("copied to, by bytes", "mov $20,%ecx; xchg %rsi,%rdi; 7: rep movsb", \
      ({BOTH, 0, HIGH, 5, 1}), (STORES(HIGH, 5, 11, 0))) \
    X("copied from, by bytes", "mov $20,%ecx; xchg %rsi,%rdi; 7: rep movsb", \
      ({BOTH, 0, LOW, 5, 1}), (LOADS(LOW, 5, 10, 0))) \
    X("copied upwards, the second of a line", "mov $100,%ecx; xchg %rsi,%rdi; 7: rep movsq", \
      ({ISA_STORE, 1, HIGH, 64, 64}), ({FORECAST_HIT, ISA_STORE, HIGH, 72, 19, 1, 0})) \
    X("copied downwards", "std; mov $100,%ecx; xchg %rsi,%rdi; add $792,%rsi; add $796,%rdi;" \
      "7: rep movsq", \
      ({ISA_STORE, 0, HIGH, 64, 64}), (STORES(HIGH, 124, 169, 0))) \
    X("copied elsewhere", "mov $1000,%ecx; lea 64(%rdi),%rdi; rep movsb; rep movsb;" \
      "7: mov %al,64(%rsi)", \
      ({BOTH, 0, HIGH, 1064, 8}), (STORES(HIGH, 1064, 2000, 0))) \
    X("filled", "mov $40,%ecx; 7: rep stosb", \
      ({BOTH, 3, LOW, 16, 8}), ({FORECAST_HIT, ISA_STORE, LOW, 19, 19, 3, 0})) \
    X("filled before", "mov $40,%ecx; rep stosl; 7: mov -4(%rdi),%al", \
      ({ISA_LOAD, 0, LOW, 156, 4}), (LOADS(LOW, 156, 40, 0))) \
    X("string instructions without rep", "stosq; lodsb; movsl; 7: mov (%rsi),%al", \
      ({ISA_LOAD, 0, HIGH, 5, 8}), (LOADS(HIGH, 5, 4, 0))) \
    X("compared by string", "movl $1,12(%rdi); movl $2,12(%rsi); xchg %rsi,%rdi; mov $9,%ecx;" \
      "7: repe cmpsl", \
      ({BOTH, 1, LOW, 12, 8}), ({FORECAST_HIT, ISA_LOAD, LOW, 12, 8, 1, 0})) \
    X("compared by string to its end", "movl $1,12(%rdi); movl $2,12(%rsi); xchg %rsi,%rdi;" \
      "mov $9,%ecx; repe cmpsl; 7: mov (%rsi),%al", \
      ({BOTH, 0, LOW, 16, 4}), (LOADS(LOW, 16, 10, 0))) \
    X("scanned", "movb $5,9(%rdi); mov $90,%ecx; repne scasb; 7: mov 54(%rdi),%al", \
      ({BOTH, 0, LOW, 64, 64}), (LOADS(LOW, 64, 11, 0))) \
    X("scanned up to there", "mov $90,%ecx; 7: repne scasb", \
      ({BOTH, 0, LOW, 64, 64}), (LOADS(LOW, 64, 64, 0))) \
    X("repeated no times", "xor %ecx,%ecx; rep movsb; 7: mov (%rdi),%al", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 0, 0))) \
    X("repetitions unknown", "mov (%rsi),%al; movq %xmm0,%rcx; 7: rep stosb", \
      ({ISA_LOAD, 0, HIGH, 64, 8}), (BLOCKS(1))) \
    X("address unknown", "mov (%rsi),%al; movq %xmm0,%rax; 7: mov (%rax),%ecx", \
      ({BOTH, 0, LOW, 0, 8}), (BLOCKS(1))) \
    X("address unknown, other direction", "movq %xmm0,%rax; mov (%rax),%ecx; 7: mov %eax,(%rdi)", \
      ({ISA_STORE, 0, LOW, 0, 8}), (STORES(LOW, 0, 1, 0))) \
    X("loaded into a vector after a store anywhere", "movq %xmm0,%rax; mov %eax,(%rax);" \
      "movq (%rdi),%xmm1; movq %xmm1,%rcx; 7: mov (%rcx),%al", \
      ({ISA_LOAD, 0, HIGH, 64, 8}), (BLOCKS(2))) \
    X("loaded into a vector from a fill", "mov $1000,%ecx; rep stosb; movq -8(%rdi),%xmm1;" \
      "movq %xmm1,%rcx; 7: mov (%rcx),%al", \
      ({BOTH, 0, HIGH, 64, 8}), (BLOCKS(1001))) \
    X("loaded into a vector and changed", "movq (%rdi),%xmm1; pmuludq %xmm1,%xmm1;" \
      "movq %xmm1,%rcx; 7: mov (%rcx),%al", \
      ({BOTH, 0, HIGH, 64, 8}), (BLOCKS(1))) \
    X("the upper half of a vector kept", "vmovdqu (%rsi),%ymm0; movd %eax,%xmm0;" \
      "vmovdqu %ymm0,-32(%rsp); mov -8(%rsp),%rcx; 7: mov (%rdi,%rcx),%al", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 3, 0))) \
    X("and under a load", "vmovdqu (%rsi),%ymm0; movq 64(%rsi),%xmm0;" \
      "vmovdqu %ymm0,-32(%rsp); mov -8(%rsp),%rcx; 7: mov (%rdi,%rcx),%al", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 4, 0))) \
    X("unaddressable", "bts %rcx,(%rdi); 7: mov (%rdi),%eax", \
      ({BOTH, 0, LOW, 0, 8}), (LOADS(LOW, 0, 2, 0))) \
    X("no range", "push %rax; incl (%rsi); 7: mov %eax,(%rdi)", \
      ({ISA_STORE, 2, LOW, 0, 0}), ({FORECAST_HIT, ISA_STORE, LOW, 0, 3, 2, -8})) \
    X("no range, repeated", "mov $9,%ecx; rep stosb; 7: mov (%rsi),%al", \
      ({ISA_LOAD, 0, LOW, 0, 0}), (LOADS(HIGH, 0, 9, 0))) \
    X("a jump to nowhere", "push %rax; xor %eax,%eax; 7: jmp *%rax", \
      ({BOTH, 0, LOW, 0, 8}), ({FORECAST_FAULT, 0, LOW, 0, 1, 0, 0})) \
    X("a system call", "mov (%rsi),%eax; syscall; 7: nop", \
      ({BOTH, 0, LOW, 0, 8}), (BLOCKS(1))) \
    X("never", "7: 1: mov (%rsi),%eax; jmp 1b", \
      ({BOTH, 0, LOW, 0, 8}), ({FORECAST_EXHAUSTED, 0, LOW, 0, 150, 0, 0}))
// clang-format on

/* Length, where 7 is, code. */
#define KNOWN_CODE(name, code, goal, expected) ".byte 8f-9f, 7f-9f\n9: " code "\n8:\n"
__asm__(".pushsection .rodata\nknown_codes:\n" KNOWN(KNOWN_CODE) ".popsection\n");
extern const uint8_t known_codes[];
#define UNPACK(...)                            __VA_ARGS__
#define KNOWN_CASE(name, code, goal, expected) {name, UNPACK goal, UNPACK expected},
static const struct known knowns[] = {KNOWN(KNOWN_CASE)};

struct scene {
    _Alignas(64) uint8_t bytes[PLACES][PLACE_BYTES];
    struct forecast forecast;
    struct base_registers registers;
    struct base_memory memory;
};

static uint64_t place_of(const struct scene *scene, enum place place)
{
    return (uint64_t)(uintptr_t)scene->bytes[place] + (place == STACK ? PLACE_BYTES : 0);
}

static struct scene *set_scene(const void *code)
{
    struct scene *scene = aligned_alloc(64, sizeof(*scene));
    assert_non_null(scene);
    memset(scene, 0, sizeof(*scene));
    scene->memory = (struct base_memory){read_own, NULL};
    scene->registers.ip = (uint64_t)(uintptr_t)code;
    scene->registers.flags = 0x202;
    uint64_t *general = scene->registers.general;
    general[BASE_RAX] = 5;
    general[BASE_RCX] = 3;
    general[BASE_RDX] = 64;
    general[BASE_RBX] = 0xb;
    general[BASE_RBP] = 0xbb;
    general[BASE_RSP] = place_of(scene, STACK);
    general[BASE_RDI] = place_of(scene, LOW);
    general[BASE_RSI] = place_of(scene, HIGH);
    forecast_begin(&scene->forecast, &scene->registers, &scene->memory);
    return scene;
}

static void check_known_hit(struct scene *scene, const struct known_outcome *expected,
                            const struct forecast_outcome *out)
{
    struct base_registers then;
    struct base_memory memory;
    assert_int_equal(out->direction, expected->direction);
    assert_int_equal(out->address, place_of(scene, expected->place) + (uint64_t)expected->address);
    assert_true(out->insn.accesses[out->access].direction & out->direction);
    assert_int_equal(out->insn.address, out->resume);
    assert_true(forecast_then(&scene->forecast, &then, &memory));
    assert_int_equal(then.ip, out->resume);
    assert_int_equal(then.general[BASE_RSP], place_of(scene, STACK) + (uint64_t)expected->stack);
}

static void check_known(const struct known *known, const uint8_t *code, const uint8_t *there)
{
    const struct known_goal *from = &known->goal;
    struct scene *scene = set_scene(code);
    struct forecast_goal goal = {.direction = from->direction,
                                 .skip = from->skip,
                                 .max_instructions = KNOWN_INSTRUCTIONS,
                                 .range_start =
                                     place_of(scene, from->place) + (uint64_t)from->start,
                                 .range_bytes = from->bytes};
    struct forecast_outcome out;
    print_message("# %s\n", known->name);
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), known->expected.result);
    assert_int_equal(out.accesses_passed, known->expected.passed);
    assert_int_equal(out.matching_passed, known->expected.matching);
    if (known->expected.result == FORECAST_HIT || known->expected.result == FORECAST_BLOCKED)
        assert_int_equal(out.resume, (uint64_t)(uintptr_t)there);
    if (known->expected.result == FORECAST_HIT)
        check_known_hit(scene, &known->expected, &out);
    free(scene);
}

static void known_code_is_foreseen(void **state)
{
    const uint8_t *at = known_codes;
    for (unsigned i = 0; i < BASE_COUNT(knowns); i++) {
        check_known(&knowns[i], at + 2, at + 2 + at[1]);
        at += 2 + at[0];
    }
}

/* ---- the state at a hit, by hand ------------------------------------------------------------- */

__asm__(".pushsection .rodata\n"
        "then_callee: mov %rcx,%r12; movq %xmm0,%r13; movq %xmm0,%rax; mov %r13b,%r14b\n"
        "call 1f; then_back: ud2\n"
        "1: push %rbp; mov %rsp,%rbp; push %rbx; push %r13; movl $7,(%rsi); mov %al,5(%rsi)\n"
        "sub $200,%rsp; cmp %rax,%rax; then_hit: mov (%rdi),%eax; nop; syscall; ud2\n"
        "then_lost: movq %xmm0,%rax; add %rax,%rsp; mov (%rdi),%eax\n"
        "then_anywhere: push %rbx; movq %xmm0,%rax; mov %rax,(%rax); push %rcx; mov (%rdi),%eax\n"
        "then_string: mov $20,%ecx; rep movsb\n"
        ".popsection\n");
extern const uint8_t then_callee[], then_back[], then_hit[], then_lost[], then_anywhere[],
    then_string[];

static const struct forecast_goal load_low = {.direction = ISA_LOAD, .max_instructions = 50};

static enum forecast_result run_scene(struct scene *scene, struct forecast_goal goal)
{
    struct forecast_outcome out;
    goal.range_start = place_of(scene, LOW);
    goal.range_bytes = 64;
    return forecast_run(&scene->forecast, &goal, &out);
}

static void registers_at_a_hit(void **state)
{
    struct scene *scene = set_scene(then_callee);
    struct base_registers then, before;
    struct base_memory memory;
    scene->registers.fs_base = 0x1000;
    scene->registers.general[BASE_R14] = 0x1414;
    scene->registers.general[BASE_R15] = 0x1515;
    forecast_begin(&scene->forecast, &scene->registers, &scene->memory);
    assert_int_equal(run_scene(scene, load_low), FORECAST_HIT);
    assert_true(forecast_then(&scene->forecast, &then, &memory));
    uint64_t top = place_of(scene, STACK);
    assert_int_equal(then.ip, (uint64_t)(uintptr_t)then_hit);
    assert_int_equal(then.general[BASE_RSP], top - 32 - 200);
    assert_int_equal(then.general[BASE_RBP], top - 16);
    assert_int_equal(then.general[BASE_RBX], 0xb);
    assert_int_equal(then.general[BASE_R12], 3);
    assert_int_equal(then.general[BASE_R13], 0); /* unknown */
    assert_int_equal(then.general[BASE_R14], 0); /* in part */
    assert_int_equal(then.general[BASE_R15], 0x1515);
    assert_int_equal(then.general[BASE_RAX], 0);
    assert_int_equal(then.fs_base, 0x1000);
    before = then;
    forecast_begin(&scene->forecast, &scene->registers, &scene->memory);
    assert_false(forecast_then(&scene->forecast, &then, &memory));
    struct forecast_goal never = {.direction = ISA_STORE, .max_instructions = 50};
    assert_int_equal(run_scene(scene, never), FORECAST_BLOCKED); /* at the system call */
    assert_false(forecast_then(&scene->forecast, &then, &memory));
    never.max_instructions = 5;
    assert_int_equal(run_scene(scene, never), FORECAST_EXHAUSTED);
    assert_false(forecast_then(&scene->forecast, &then, &memory));
    assert_memory_equal(&then, &before, sizeof(then));
    free(scene);
}

static bool read_word(const struct base_memory *memory, uint64_t address, uint64_t *word)
{
    return base_read(memory, address, word, sizeof(*word));
}

static void memory_at_a_hit(void **state)
{
    struct scene *scene = set_scene(then_callee);
    struct base_registers then;
    struct base_memory memory;
    uint64_t word, top = place_of(scene, STACK), high = place_of(scene, HIGH);
    uint8_t bytes[PLACE_BYTES + 1];
    for (unsigned i = 0; i < PLACE_BYTES; i++)
        scene->bytes[HIGH][i] = scene->bytes[STACK][i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(run_scene(scene, load_low), FORECAST_HIT);
    assert_true(forecast_then(&scene->forecast, &then, &memory));
    assert_true(read_word(&memory, top - 8, &word));
    assert_int_equal(word, (uint64_t)(uintptr_t)then_back);
    assert_true(read_word(&memory, top - 16, &word));
    assert_int_equal(word, 0xbb);
    assert_true(read_word(&memory, top - 24, &word));
    assert_int_equal(word, 0xb);
    assert_false(read_word(&memory, top - 32, &word)); /* unknown was pushed */
    assert_false(base_read(&memory, top - 25, bytes, 1));
    assert_true(base_read(&memory, high + 1, bytes, 3)); /* behind the 7 */
    assert_memory_equal(bytes, "\0\0\0", 3);
    assert_false(base_read(&memory, high, bytes, 6));
    assert_true(base_read(&memory, high + 6, bytes, 3000)); /* the program's own */
    assert_memory_equal(bytes, scene->bytes[HIGH] + 6, 3000);
    assert_true(base_read(&memory, top - 24, bytes, 0));
    assert_false(read_word(&memory, 8, &word)); /* not mapped */
    assert_false(read_word(&memory, UINT64_MAX - 3, &word));
    free(scene);
}

static void state_at_a_hit_may_be_unknown(void **state)
{
    struct scene *scene = set_scene(then_lost);
    struct base_registers then;
    struct base_memory memory;
    uint64_t word, top = place_of(scene, STACK);
    assert_int_equal(run_scene(scene, load_low), FORECAST_HIT);
    assert_false(forecast_then(&scene->forecast, &then, &memory)); /* rsp */
    scene->registers.ip = (uint64_t)(uintptr_t)then_anywhere;
    forecast_begin(&scene->forecast, &scene->registers, &scene->memory);
    assert_int_equal(run_scene(scene, load_low), FORECAST_HIT);
    assert_true(forecast_then(&scene->forecast, &then, &memory));
    assert_false(read_word(&memory, top - 8, &word)); /* a store went anywhere */
    assert_false(read_word(&memory, place_of(scene, LOW), &word));
    assert_true(read_word(&memory, top - 16, &word)); /* pushed since */
    assert_int_equal(word, 3);
    free(scene);
}

/* Within a repeated instruction the pointers are those of the iteration. */
static void state_at_a_string_hit(void **state)
{
    struct scene *scene = set_scene(then_string);
    struct base_registers then;
    struct base_memory memory;
    struct forecast_goal goal = {.direction = ISA_STORE, .max_instructions = 50, .skip = 12};
    uint8_t bytes[12];
    memcpy(scene->bytes[HIGH], "twelve bytes", sizeof(bytes));
    assert_int_equal(run_scene(scene, goal), FORECAST_HIT);
    assert_true(forecast_then(&scene->forecast, &then, &memory));
    assert_int_equal(then.general[BASE_RCX], 8);
    assert_int_equal(then.general[BASE_RSI], place_of(scene, HIGH) + 12);
    assert_int_equal(then.general[BASE_RDI], place_of(scene, LOW) + 12);
    assert_true(base_read(&memory, place_of(scene, LOW), bytes, sizeof(bytes)));
    assert_memory_equal(bytes, "twelve bytes", sizeof(bytes));
    free(scene);
}

/* ---- programs that count their accesses ---------------------------------------------------- */

/* LOW: the program's data; HIGH: its count; counted_word: points to it. */
__asm__(".pushsection .rodata\n"
        "counted: addq $3,8(%rsi); mov (%rdi),%eax; mov %eax,8(%rdi); mov counted_word(%rip),%r8; "
        "incl (%rsi)\n"
        "counted_hit: mov 16(%rdi),%eax\n"
        "nop; .balign 8; counted_word: .quad 0x1234\n"
        "counted_calls: mov (%rdi),%eax; call 1f; counted_back: mov 8(%rdi),%eax; ud2\n"
        "1: library: push %rbx; mov (%rdi),%ebx; mov $9,%ecx; rep stosb; pop %rbx; ret\n"
        "counted_blocked: mov (%rdi),%eax; call 2f; counted_behind: mov 8(%rdi),%eax; ud2\n"
        "2: library_syscall: push %rbx; syscall; pop %rbx; ret; library_end:\n"
        ".popsection\n");
extern const uint8_t counted[], counted_word[], counted_hit[], counted_calls[], counted_back[],
    library[], counted_blocked[], counted_behind[], library_syscall[], library_end[];

static struct forecast_goal count_goal(const struct scene *scene, uint32_t skip)
{
    return (struct forecast_goal){.direction = BOTH,
                                  .skip = skip,
                                  .max_instructions = 50,
                                  .ignored_start = place_of(scene, HIGH),
                                  .ignored_bytes = 32,
                                  .ignored_value = 0x1234};
}

static void counters_are_passed_over(void **state)
{
    struct scene *scene = set_scene(counted);
    struct forecast_goal goal = count_goal(scene, 2);
    struct forecast_outcome out;
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_HIT);
    assert_int_equal(out.resume, (uint64_t)(uintptr_t)counted_hit);
    assert_int_equal(out.accesses_passed, 2);
    free(scene);
    scene = set_scene(counted); /* a word with another value is the program's */
    goal = count_goal(scene, 2);
    goal.ignored_value++;
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_HIT);
    assert_int_equal(out.address, (uint64_t)(uintptr_t)counted_word);
    free(scene);
}

static bool is_program(void *context, uint64_t ip)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)ip;
    ++*(unsigned *)context;
    return !(at >= library && at < counted_blocked) && !(at >= library_syscall && at < library_end);
}

static void what_libraries_access_is_passed_over(void **state)
{
    unsigned asked = 0;
    struct scene *scene = set_scene(counted_calls);
    struct forecast_goal goal = count_goal(scene, 2);
    struct forecast_outcome out;
    goal.counts = is_program;
    goal.context = &asked;
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_HIT);
    assert_int_equal(out.resume, (uint64_t)(uintptr_t)counted_back);
    assert_int_equal(out.accesses_passed, 2); /* the load and the call's store */
    assert_int_equal(asked, 5); /* at the start, the call, the callee's start, its return, behind */
    free(scene);
    scene = set_scene(counted_blocked); /* where it is not predicted, behind the call */
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_BLOCKED);
    assert_int_equal(out.resume, (uint64_t)(uintptr_t)counted_behind);
    assert_int_equal(out.matching_passed, 2);
    free(scene);
}

/* The loop of `library` is in the way: followed, for what is behind it depends on it, but not there. */
static void hidden_code_is_followed_unseen(void **state)
{
    struct scene *scene = set_scene(counted_calls);
    struct forecast_goal goal = count_goal(scene, 2);
    struct forecast_outcome out;
    goal.hidden_start = (uint64_t)(uintptr_t)library;
    goal.hidden_bytes = (uint64_t)(counted_blocked - library);
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_HIT);
    assert_int_equal(out.resume, (uint64_t)(uintptr_t)counted_back);
    assert_int_equal(out.accesses_passed, 2); /* the load and the call's store */
    assert_int_equal(out.instructions, 2);
    goal.range_start = place_of(scene, LOW); /* nor is it found where a place is looked for */
    goal.range_bytes = 32;
    goal.skip = 1;
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_HIT);
    assert_int_equal(out.resume, (uint64_t)(uintptr_t)counted_back);
    goal.hidden_bytes = 0;
    assert_int_equal(forecast_run(&scene->forecast, &goal, &out), FORECAST_HIT);
    assert_true(out.resume < (uint64_t)(uintptr_t)counted_blocked &&
                out.resume >= (uint64_t)(uintptr_t)library);
    free(scene);
}

static int start_isa(void **state)
{
    return isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                     (const void *)(uintptr_t)&ZydisDecoderDecodeFull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_compute_what_the_processor_does),
        cmocka_unit_test(known_code_is_foreseen),
        cmocka_unit_test(registers_at_a_hit),
        cmocka_unit_test(memory_at_a_hit),
        cmocka_unit_test(state_at_a_hit_may_be_unknown),
        cmocka_unit_test(state_at_a_string_hit),
        cmocka_unit_test(counters_are_passed_over),
        cmocka_unit_test(what_libraries_access_is_passed_over),
        cmocka_unit_test(hidden_code_is_followed_unseen),
        cmocka_unit_test(forecasts_come_true),
        cmocka_unit_test(watchpoints_strike_where_foreseen),
        cmocka_unit_test(planted_faults_are_seen),
    };
    return cmocka_run_group_tests_name("forecast", tests, start_isa, NULL);
}
