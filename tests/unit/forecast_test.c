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

/* ---- what is foreseen ------------------------------------------------------------------------ */

enum { TRACE_MOST = 900, MATCHES_MOST = 1 << 17, FORECASTS = 16, STACK_WORDS = 24 };

/* The state at a hit: registers, and what is above the stack pointer. */
struct then {
    bool given;
    struct base_registers registers;
    bool readable[STACK_WORDS];
    uint64_t words[STACK_WORDS];
};

struct prediction {
    struct forecast_goal goal;
    enum forecast_result result;
    struct forecast_outcome out;
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
    uint64_t path[TRACE_MOST + 1];
    unsigned accesses;
    struct truth_access access[MATCHES_MOST];
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
        assert_true(truth->accesses < MATCHES_MOST);
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

/* The thread is about to execute an instruction: is that how it was foreseen? Of repeated string
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
    unsigned by_result[4], wrong, ranges_hit;
    uint64_t instructions;
    char first_wrong[400];
};

static bool matches(const struct truth_access *access, const struct forecast_goal *goal)
{
    return access->bytes && access->direction & goal->direction &&
           (goal->range_bytes == 0 || (access->address < goal->range_start + goal->range_bytes &&
                                       goal->range_start < access->address + access->bytes));
}

/* Index of the access after `skip` matching ones, or of the first of `instruction`; how many are
   before it that match. */
static unsigned find_access(const struct truth *truth, const struct forecast_goal *goal,
                            uint32_t skip, unsigned instruction, unsigned *matching)
{
    unsigned i = 0;
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
    unsigned matching,
        accesses = find_access(truth, &p->goal, UINT32_MAX, p->out.instructions, &matching);
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
    unsigned matching, index = find_access(truth, &p->goal, p->goal.skip, UINT32_MAX, &matching);
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

/* The first half any accesses of either direction or both, the second the locations of those that
   were found. */
static void foresee(struct forecast *forecast, struct base_random *random,
                    struct prediction predictions[FORECASTS])
{
    for (unsigned i = 0; i < FORECASTS; i++) {
        struct prediction *p = &predictions[i];
        const struct prediction *at = i < FORECASTS / 2 ? NULL : p - FORECASTS / 2;
        *p = (struct prediction){.goal = {.direction = (uint8_t)(1 + (i + i / 8) % 3),
                                          .skip = (uint32_t)base_random_below(random, at ? 3 : 64),
                                          .max_instructions = 700}};
        if (at && at->result == FORECAST_HIT)
            pick_location(&p->goal, at->out.address, random);
        p->result = forecast_run(forecast, &p->goal, &p->out);
        look_then(forecast, &p->then);
    }
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
    assert_true(longest <= TRACE_MOST - 1);
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
                  "blocked, %.1f%% exhausted, %.1f%% fault; %u hits in ranges; %u wrong\n",
                  seed, (int)fault, total, score->instructions,
                  100.0 * score->by_result[FORECAST_HIT] / total,
                  100.0 * score->by_result[FORECAST_BLOCKED] / total,
                  100.0 * score->by_result[FORECAST_EXHAUSTED] / total,
                  100.0 * score->by_result[FORECAST_FAULT] / total, score->ranges_hit,
                  score->wrong);
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

/* ---- single instructions, natively and forecast -----------------------------------------------
 */

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
    X("movdqu (%rdi),%xmm0; movdqa %xmm0,%xmm1; psubb %xmm1,%xmm1; pminub %xmm0,%xmm1; movq %xmm1,%rax") \
    X("movups (%rdi),%xmm0; movups %xmm0,-16(%rsp); mov -13(%rsp),%rax") \
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
    X("vmovdqu (%rdi),%xmm0; vpxor %xmm1,%xmm1,%xmm1; vpcmpeqb %xmm0,%xmm1,%xmm2; vpmovmskb %xmm2,%eax") \
    X("vpbroadcastb %eax,%ymm16; vpcmpeqb -16(%rdi),%ymm16,%k0; kmovd %k0,%ecx") \
    X("vmovdqu8 (%rdi),%xmm16; vptestnmb %xmm16,%xmm16,%k1; kmovd %k1,%edx; kortestd %k1,%k1") \
    X("vmovdqu8 (%rdi),%xmm16; vpminub (%rdi),%xmm16,%xmm17; vpcmpub $1,%xmm16,%xmm17,%k2; kmovq %k2,%rcx") \
    X("vpbroadcastq %rax,%xmm16; vpbroadcastd %ecx,%xmm17; vpternlogd $0xde,%xmm16,%xmm17,%xmm17; vmovq %xmm17,%rdx") \
    X("kmovd %eax,%k1; kmovd %ecx,%k2; kunpckwd %k1,%k2,%k3; kmovd %k3,%edx; knotd %k1,%k4; kmovd %k4,%ebx") \
    X("kmovd %eax,%k1; vpbroadcastb %ecx,%xmm16; vpcmpeqb (%rdi),%xmm16,%k2{%k1}; kmovd %k2,%edx; kortestw %k1,%k2")
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

/* Stores on the way vary (loops, cmpxchg): the probe is the store at the probe's last instruction.
 */
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

static int start_isa(void **state)
{
    return isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                     (const void *)(uintptr_t)&ZydisDecoderDecodeFull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_compute_what_the_processor_does),
        cmocka_unit_test(forecasts_come_true),
        cmocka_unit_test(planted_faults_are_seen),
    };
    return cmocka_run_group_tests_name("forecast", tests, start_isa, NULL);
}
