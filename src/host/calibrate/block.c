// SPDX-License-Identifier: MIT
/*
 * Cycles of single basic blocks. Every register points to one page, to a part of it that is its own, pages that the block asks for besides are that page
 * again, so that accesses hit the first-level cache. A block is timed as two numbers of copies, repeated in turns, whose difference has no begin and no
 * end (Chen et al., BHive, IISWC 2019; Abel and Reineke, nanoBench, ISPASS 2020), against the chain of additions. Each block has a
 * process of its own, forked off one that knows the machine already.
 */
#include "calibrate/internal.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    PAGES_MAX = 512,
    APART_BYTES = 128,    /* registers: pointers of a program are mostly to different things */
    AREA_BYTES = 1 << 20, /* of code */
    /* Copies stay in the cache of decoded instructions, as the loops do that programs spend their time in; they are repeated
       in turns, of which each costs the same for more copies and fewer. */
    COPIES_BYTES = 4096,
    COPIES_INSTRUCTIONS = 700,
    COPIES_STACK =
        1024, /* bytes that the stack pointer may move: the page's other addresses are other lines to some caches */
    TURN_CYCLES =
        12, /* of the shorter of the two, at least: counting the turns takes half of that */
    RUN_CYCLES = 3000, /* of the longer of the two */
    ROUNDS = 9,
    RUNS_FIRST = 3,
    LIMIT_S = 6,
};
static const double PATIENCE_NS = 20e6; /* of each of some twenty measurements of a block */
static const uint64_t page_address = 0x23240000;

struct slot { /* what the block's code writes, and finds again without a register */
    uint64_t stack, start, end, control, turns, wanted_turns;
    double ones[4];
};

enum { ONES = offsetof(struct slot, ones) };
_Static_assert(offsetof(struct slot, control) == 24, "put_begin");

static int page_file;
static unsigned pages;

static void on_fault(int number, siginfo_t *info, void *context)
{
    uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
    (void)context;
    /* Of a general protection fault the kernel does not give the address. */
    if (number != SIGSEGV || info->si_code == SI_KERNEL || address < 65536 || ++pages > PAGES_MAX)
        _exit(1);
    void *wanted = (void *)(uintptr_t)(address & ~(uint64_t)(PAGE_BYTES - 1));
    if (mmap(wanted, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
             page_file, 0) == MAP_FAILED)
        _exit(1);
}

/* ---- code ------------------------------------------------------------------------------------------- */

struct code {
    uint8_t *at;
};

static void put(struct code *code, const void *bytes, size_t count)
{
    memcpy(code->at, bytes, count);
    code->at += count;
}
#define PUT(code, ...)                                                                             \
    put(code, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_constant(struct code *code, unsigned number, uint64_t value)
{
    PUT(code, number < 8 ? 0x48 : 0x49, (uint8_t)(0xb8 + (number & 7)));
    put(code, &value, sizeof value);
}

/* Time into that word of the slot; rax, rcx, rdx are lost. */
static void put_time(struct code *code, const uint64_t *word)
{
    PUT(code, 0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x0f, 0xae, 0xe8); /* lfence; rdtsc; lfence */
    PUT(code, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0);       /* shl rdx, 32; or rax, rdx */
    put_constant(code, 1, (uint64_t)(uintptr_t)word);
    PUT(code, 0x48, 0x89, 0x01); /* mov [rcx], rax */
}

static uint64_t first_value(unsigned number)
{
    return page_address + PAGE_BYTES / 4 + number * APART_BYTES;
}

static void put_begin(struct code *code, struct slot *slot)
{
    PUT(code, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);
    put_constant(code, 0, (uint64_t)(uintptr_t)slot);
    PUT(code, 0x48, 0x89, 0x20);     /* mov [rax], rsp */
    PUT(code, 0x0f, 0xae, 0x58, 24); /* stmxcsr [rax + 24] */
    PUT(code, 0xc7, 0x40, 28, 0xc0, 0x9f, 0, 0, 0x0f, 0xae, 0x50,
        28); /* ldmxcsr: no traps, no tiny numbers */
    for (unsigned v = 0; v < 16; v++) {
        if (__builtin_cpu_supports("avx"))
            PUT(code, 0xc5, (uint8_t)(v < 8 ? 0xfc : 0x7c), 0x10, (uint8_t)(0x40 | (v & 7) << 3),
                ONES);
        else if (v < 8)
            PUT(code, 0x0f, 0x10, (uint8_t)(0x40 | v << 3), ONES);
        else
            PUT(code, 0x44, 0x0f, 0x10, (uint8_t)(0x40 | (v & 7) << 3), ONES);
    }
    if (__builtin_cpu_supports("avx"))
        PUT(code, 0xc5, 0xf8, 0x77); /* vzeroupper */
    put_time(code, &slot->start);
    for (unsigned r = 0; r < 16; r++)
        put_constant(code, r, first_value(r));
    PUT(code, 0x48, 0x85, 0xc0); /* test rax, rax: flags are known */
}

static void put_end(struct code *code, struct slot *slot)
{
    put_time(code, &slot->end);
    put_constant(code, 0, (uint64_t)(uintptr_t)slot);
    PUT(code, 0x48, 0x8b, 0x20, 0x0f, 0xae, 0x50, 24); /* mov rsp, [rax]; ldmxcsr [rax + 24] */
    if (__builtin_cpu_supports("avx"))
        PUT(code, 0xc5, 0xf8, 0x77);
    PUT(code, 0xfc, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b,
        0xc3); /* cld; pops; ret */
}

/* ---- the block ------------------------------------------------------------------------------------------- */

struct block {
    struct lab *lab;
    struct slot *slot;
    uint8_t *area;
    const uint8_t *bytes;
    size_t count;
    unsigned instructions;
    bool moves_stack; /* the stack pointer is set anew for each turn */
    int64_t stack;    /* by how much */
    int counter;      /* loops: the general register that the block leaves alone */
};

static void note_stack(struct block *block, const ZydisDecodedInstruction *in,
                       const ZydisDecodedOperand *operands)
{
    for (unsigned i = 0; i < in->operand_count; i++)
        block->moves_stack |= operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                              operands[i].reg.value == ZYDIS_REGISTER_RSP &&
                              (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
    int64_t moved = in->operand_width / 8;
    bool down = in->mnemonic == ZYDIS_MNEMONIC_PUSH || in->mnemonic == ZYDIS_MNEMONIC_SUB;
    bool adjusts = in->mnemonic == ZYDIS_MNEMONIC_SUB || in->mnemonic == ZYDIS_MNEMONIC_ADD;
    if (adjusts) {
        bool constant = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                        operands[0].reg.value == ZYDIS_REGISTER_RSP &&
                        operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
        moved = constant ? operands[1].imm.value.s : 0;
    } else if (in->mnemonic != ZYDIS_MNEMONIC_PUSH && in->mnemonic != ZYDIS_MNEMONIC_POP) {
        return;
    }
    block->stack += down ? -moved : moved;
}

/* Without the branch at its end. The register that it does not touch: -1 if there is none. False: not a basic block. */
static bool look_at(struct block *block)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint32_t used = 1U << 4; /* rsp */
    size_t at = 0, count = block->count;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (; at < count; at += in.length, block->instructions++) {
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeFull(&decoder, block->bytes + at, count - at, &in, operands)))
            return false;
        if (in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) {
            block->count = at; /* must be the last */
            if (at + in.length != count)
                return false;
            break;
        }
        note_stack(block, &in, operands);
        for (unsigned i = 0; i < in.operand_count; i++) {
            const ZydisRegister touched[] = {
                operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? operands[i].reg.value : 0,
                operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY ? operands[i].mem.base : 0,
                operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY ? operands[i].mem.index : 0};
            for (size_t r = 0; r < BASE_COUNT(touched); r++) {
                ZydisRegister full =
                    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, touched[r]);
                if (ZydisRegisterGetClass(full) == ZYDIS_REGCLASS_GPR64)
                    used |= 1U << ZydisRegisterGetId(full);
            }
        }
    }
    uint32_t unused = ~used & 0xffff;
    block->counter = unused ? 31 - __builtin_clz(unused) : -1;
    return block->count > 0;
}

struct repeated {
    unsigned copies, turns;
    bool
        loop; /* one copy, which its own turns close; else turns are counted in memory: the block may need all registers */
};

static void build(const struct block *block, const struct repeated *repeated)
{
    struct code code = {block->area};
    put_begin(&code, block->slot);
    unsigned counter = (unsigned)block->counter;
    if (repeated->loop)
        put_constant(&code, counter, repeated->turns);
    while ((uintptr_t)code.at % 64)
        PUT(&code, 0x90);
    uint8_t *loop = code.at;
    for (unsigned i = 0; i < repeated->copies; i++)
        put(&code, block->bytes, block->count);
    if (repeated->loop) {
        PUT(&code, counter < 8 ? 0x48 : 0x49, 0xff, (uint8_t)(0xc8 | (counter & 7))); /* dec */
    } else {
        enum { RSP = 4 };
        if (block->moves_stack)
            put_constant(&code, RSP, first_value(RSP));
        int32_t turns = (int32_t)((uint8_t *)&block->slot->turns - (code.at + 7));
        PUT(&code, 0x48, 0xff, 0x0d); /* dec qword [rip + turns] */
        put(&code, &turns, sizeof turns);
    }
    PUT(&code, 0x0f, 0x85); /* jnz */
    int32_t distance = (int32_t)(loop - (code.at + 4));
    put(&code, &distance, sizeof distance);
    put_end(&code, block->slot);
    block->slot->wanted_turns = repeated->turns;
}

/* Every word is an address in the page. */
static void fresh(void)
{
    uint64_t *words = (uint64_t *)(uintptr_t)page_address;
    for (size_t i = 0; i < PAGE_BYTES / sizeof *words; i++)
        words[i] = page_address + PAGE_BYTES / 2;
}

/* Ticks of what was built. */
static double time_block(void *context)
{
    const struct block *block = context;
    void (*called)(void);
    memcpy(&called, &block->area, sizeof called);
    block->slot->turns = block->slot->wanted_turns;
    called();
    return (double)(block->slot->end - block->slot->start);
}

/* Cycles of that many copies and turns, and of beginning and ending them. */
static double run(struct block *block, const struct repeated *repeated)
{
    build(block, repeated);
    for (unsigned i = 0; i < RUNS_FIRST; i++)
        time_block(block); /* pages, caches, branches */
    return lab_time(block->lab, time_block, block, 0);
}

/* Two that differ in copies; of loops in turns. */
struct numbers {
    struct repeated few, many;
};

static unsigned least_of(double a, double b, double least)
{
    double value = a < b ? a : b;
    return (unsigned)(value < least ? least : value);
}

/* Cycles of one, roughly. Its pages are faulted in. */
static double first_look(struct block *block, bool loop)
{
    double each[2];
    for (unsigned i = 0; i < 2; i++) {
        unsigned count = i ? 9 : 1;
        each[i] = run(block, &(struct repeated){loop ? 1 : count, loop ? count : 1, loop});
    }
    double cycles = (each[1] - each[0]) / 8;
    return cycles > 0.25 ? cycles : 0.25;
}

static struct numbers numbers_of(struct block *block, bool loop)
{
    double cycles = first_look(block, loop), most = RUN_CYCLES / cycles;
    if (loop) {
        unsigned turns = least_of(most, 20000, 9);
        return (struct numbers){{1, turns / 3, true}, {1, turns, true}};
    }
    double fit = least_of((double)COPIES_BYTES / (double)block->count,
                          (double)COPIES_INSTRUCTIONS / block->instructions, 3);
    if (block->stack)
        fit = least_of(fit, COPIES_STACK / fabs((double)block->stack), 3 * TURN_CYCLES / cycles);
    unsigned copies = least_of(fit, most, 3), turns = least_of(most / copies, 1e9, 1);
    return (struct numbers){{copies / 3, turns, false}, {copies, turns, false}};
}

static double one_round(struct block *block, const struct numbers *numbers)
{
    const struct repeated *few = &numbers->few, *many = &numbers->many;
    double more = (double)many->copies * many->turns - (double)few->copies * few->turns;
    fresh();
    double long_run = run(block, many);
    return (long_run - run(block, few)) / more;
}

/* In a process of its own. */
static void measure(struct block *block, struct calibrate_block *out)
{
    static uint8_t alternate[65536];
    static const int numbers[] = {SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGTRAP};
    double cycles[ROUNDS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    page_file = memfd_create("headroom", MFD_CLOEXEC);
    if (page_file < 0 || ftruncate(page_file, PAGE_BYTES) ||
        mmap((void *)(uintptr_t)page_address, PAGE_BYTES, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED_NOREPLACE, page_file, 0) == MAP_FAILED)
        _exit(1);
    fresh();
    sigaltstack(&(stack_t){.ss_sp = alternate, .ss_size = sizeof alternate}, NULL);
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_NODEFER};
    for (size_t i = 0; i < BASE_COUNT(numbers); i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGALRM, SIG_DFL);
    alarm(LIMIT_S);
    block->lab->patience_ns = PATIENCE_NS;
    if (!look_at(block) || (out->loop && block->counter < 0))
        _exit(1);
    struct numbers repeat = numbers_of(block, out->loop);
    for (unsigned i = 0; i < ROUNDS; i++)
        cycles[i] = one_round(block, &repeat);
    qsort(cycles, ROUNDS, sizeof cycles[0], lab_ascending);
    out->cycles = cycles[ROUNDS / 2] > 0 ? cycles[ROUNDS / 2] : 0;
    out->low = cycles[ROUNDS / 4];
    out->high = cycles[ROUNDS - 1 - ROUNDS / 4];
    _exit(0);
}

/* ---- all of them --------------------------------------------------------------------------------------------- */

static bool measure_all(struct lab *lab, struct slot *slot, uint8_t *area,
                        struct calibrate_block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct block block = {.lab = lab,
                              .slot = slot,
                              .area = area,
                              .bytes = blocks[i].bytes,
                              .count = blocks[i].count};
        pid_t pid = fork();
        if (pid < 0)
            return false;
        if (!pid)
            measure(&block, blocks + i);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return true;
}

struct outcome {
    enum base_status status;
    char why[256];
};

static void child(struct calibrate_block *blocks, size_t count, struct outcome *outcome)
{
    struct lab lab;
    struct util_text why = {0};
    /* Code and, where it reaches it, the slot. */
    uint8_t *area = mmap(NULL, AREA_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct slot *slot = area == MAP_FAILED ? NULL : (struct slot *)(void *)(area + AREA_BYTES);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    outcome->status = lab_open(&lab, false, &why);
    if (outcome->status == BASE_OK && area == MAP_FAILED)
        outcome->status = BASE_NO_MEMORY;
    if (outcome->status == BASE_OK) {
        for (unsigned i = 0; i < 4; i++)
            slot->ones[i] = 1;
        outcome->status = measure_all(&lab, slot, area, blocks, count) ? BASE_OK : BASE_IO;
    }
    snprintf(outcome->why, sizeof outcome->why, "%s",
             why.bytes ? why.bytes : base_status_text(outcome->status));
}

enum base_status calibrate_blocks(struct calibrate_block *blocks, size_t count,
                                  struct util_text *why)
{
    size_t bytes = count * sizeof *blocks + sizeof(struct outcome);
    struct calibrate_block *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        util_text_print(why, "no memory");
        return BASE_NO_MEMORY;
    }
    struct outcome *outcome = (struct outcome *)(shared + count);
    memcpy(shared, blocks, count * sizeof *blocks);
    outcome->status = BASE_IO;
    snprintf(outcome->why, sizeof outcome->why, "no process could be started, or it was killed");
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        child(shared, count, outcome);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    enum base_status status = outcome->status;
    if (status == BASE_OK)
        memcpy(blocks, shared, count * sizeof *blocks);
    else
        util_text_print(why, "%s", outcome->why);
    munmap(shared, bytes);
    return status;
}
