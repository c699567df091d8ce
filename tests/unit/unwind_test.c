// SPDX-License-Identifier: MIT
/*
 * unwind: tables and walks on made-up stacks, then on this process's own: every
 * instruction of a workload is single-stepped and the walk from there compared
 * with a shadow stack of the calls and returns that were seen.
 */
#include "binary/binary.h"
#include "os/os.h"
#include "unwind/unwind.h"

#include <alloca.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <gnu/libc-version.h> /* a function of the C library that sanitizers do not replace */
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NOINLINE __attribute__((noinline))
#ifdef __clang__
#define IS_CLANG true
#else
#define IS_CLANG false
#endif
#ifdef __OPTIMIZE__
#define IS_OPTIMIZED true
#else
#define IS_OPTIMIZED false
#endif
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif
#define HAS_OWN_BACKTRACE IS_SANITIZED

/* ---- made-up tables ------------------------------------------------------------------ */

/* A table file of three rows: [0x1000,0x1010) [0x1010,0x1800) [0x1800,0x2000). */
struct small_table {
    struct unwind_header header;
    struct unwind_row rows[3];
    uint32_t starts[3];
    uint32_t range_rows[3];
    uint32_t functions[2];
};

static struct small_table make_table(void)
{
    return (struct small_table){
        .header = {.magic = UNWIND_MAGIC,
                   .version = UNWIND_VERSION,
                   .row_count = 3,
                   .range_count = 3,
                   .function_count = 2,
                   .base_vaddr = 0x1000,
                   .limit_vaddr = 0x2000},
        .rows = {{.cfa = UNWIND_CFA_REGISTER, .cfa_register = BASE_RSP, .cfa_offset = 8},
                 {.cfa = UNWIND_CFA_REGISTER,
                  .cfa_register = BASE_RBP,
                  .cfa_offset = 16,
                  .place = {[UNWIND_RBP] = UNWIND_AT_CFA},
                  .offset = {[UNWIND_RBP] = -16}},
                 {.cfa = UNWIND_CFA_END}},
        .starts = {0, 0x10, 0x800},
        .range_rows = {0, 1, 2},
        .functions = {0, 0x800},
    };
}

/* sizeof pads at the end; a file does not. */
static const size_t small_bytes = offsetof(struct small_table, functions) + 2 * sizeof(uint32_t);

static void table_finds_rows_and_functions(void **state)
{
    struct small_table file = make_table();
    struct unwind_table table;
    struct unwind_row row;
    uint64_t end = 1;
    assert_int_equal(unwind_table_open(&file, small_bytes, true, &table), BASE_OK);
    assert_false(unwind_table_find(&table, 0xfff, &row));
    assert_true(unwind_table_find(&table, 0x1000, &row));
    assert_int_equal(row.cfa_register, BASE_RSP);
    assert_true(unwind_table_find(&table, 0x100f, &row));
    assert_int_equal(row.cfa_register, BASE_RSP);
    assert_true(unwind_table_find(&table, 0x1010, &row));
    assert_int_equal(row.cfa_register, BASE_RBP);
    assert_true(unwind_table_find(&table, 0x1fff, &row));
    assert_int_equal(row.cfa, UNWIND_CFA_END);
    assert_false(unwind_table_find(&table, 0x2000, &row));
    assert_int_equal(unwind_table_function(&table, 0x17ff, &end), 0x1000);
    assert_int_equal(end, 0x1800);
    assert_int_equal(unwind_table_function(&table, 0x1800, &end), 0x1800);
    assert_int_equal(end, 0);
    assert_int_equal(unwind_table_function(&table, 0x2000, &end), 0);
    assert_int_equal(unwind_table_function(&table, 0xfff, &end), 0);
}

static void assert_refused(const struct small_table *file, size_t size, bool thorough,
                           enum base_status expected)
{
    struct unwind_table table = {.header = {.magic = 7}};
    assert_int_equal(unwind_table_open(file, size, thorough, &table), expected);
    assert_int_equal(table.header.magic, 7); /* untouched */
}

static void table_refuses_bad_files(void **state)
{
    struct small_table good = make_table();
    struct small_table bad;
    assert_refused(&good, sizeof good.header - 1, false, BASE_MALFORMED);
    assert_refused(&good, small_bytes - 1, false, BASE_MALFORMED);
    bad = good, bad.header.magic++;
    assert_refused(&bad, small_bytes, false, BASE_MALFORMED);
    bad = good, bad.header.version++;
    assert_refused(&bad, small_bytes, false, BASE_TOO_NEW);
    bad = good, bad.header.row_count = UINT32_MAX;
    assert_refused(&bad, small_bytes, false, BASE_MALFORMED);
    bad = good, bad.header.limit_vaddr = 0;
    assert_refused(&bad, small_bytes, false, BASE_MALFORMED);
    bad = good, bad.starts[1] = 0;
    assert_refused(&bad, small_bytes, true, BASE_MALFORMED);
    bad = good, bad.functions[1] = 0x1000;
    assert_refused(&bad, small_bytes, true, BASE_MALFORMED);
    bad = good, bad.range_rows[2] = 3;
    assert_refused(&bad, small_bytes, true, BASE_MALFORMED);
    bad = good, bad.rows[0].cfa = UNWIND_CFA_KINDS;
    assert_refused(&bad, small_bytes, true, BASE_MALFORMED);
    bad = good, bad.rows[0].place[2] = UNWIND_RULES;
    assert_refused(&bad, small_bytes, true, BASE_MALFORMED);
}

/* A table that lies after a quick opening leads nowhere but to "nothing known". */
static void table_stays_inside_when_rows_lie(void **state)
{
    struct small_table file = make_table();
    struct unwind_table table;
    struct unwind_row row;
    file.range_rows[1] = 1000000;
    assert_int_equal(unwind_table_open(&file, small_bytes, false, &table), BASE_OK);
    file.header.range_count = UINT32_MAX;
    assert_false(unwind_table_find(&table, 0x1020, &row));
    assert_true(unwind_table_find(&table, 0x1801, &row));
}

/* ---- made-up stacks -------------------------------------------------------------------- */

/* Memory of `words` words at STACK, unreadable elsewhere; counts reads. */
enum { STACK = 0x7000, STACK_WORDS = 1024 };

struct world {
    struct small_table file;
    struct unwind_table table;
    uint64_t words[STACK_WORDS];
    size_t readable; /* bytes */
    unsigned reads;
    struct unwind_frame frames[16];
    size_t count;
    struct base_registers registers;
};

static bool world_read(void *context, uint64_t address, void *out, size_t bytes)
{
    struct world *world = context;
    world->reads++;
    if (address < STACK || address - STACK > world->readable ||
        bytes > world->readable - (address - STACK))
        return false;
    memcpy(out, (char *)world->words + (address - STACK), bytes);
    return true;
}

static bool world_find(void *context, uint64_t ip, struct unwind_module *module)
{
    struct world *world = context;
    if (ip < 0x1000 || ip >= 0x2800)
        return false;
    *module = (struct unwind_module){.table = &world->table, .bias = 0, .id = 5};
    return true;
}

static void world_begin(struct world *world)
{
    *world = (struct world){.file = make_table(), .readable = sizeof world->words};
    world->registers.general[BASE_RSP] = STACK;
    world->registers.ip = 0x1000;
}

static enum unwind_end world_walk(struct world *world, size_t capacity)
{
    struct base_memory memory = {world_read, world};
    assert_int_equal(unwind_table_open(&world->file, small_bytes, true, &world->table), BASE_OK);
    world->count = 99;
    return unwind_walk(&world->registers, world_find, world, &memory, world->frames, capacity,
                       &world->count);
}

/* Leaf by rsp, caller by rbp, outermost. */
static void world_three_frames(struct world *world)
{
    world_begin(world);
    world->registers.general[BASE_RBP] = STACK + 64;
    world->words[0] = 0x1100; /* return address of the leaf */
    world->words[8] = 0;      /* saved rbp                  */
    world->words[9] = 0x1900; /* return address             */
}

static void walk_follows_registers_and_saved_values(void **state)
{
    struct world world;
    world_three_frames(&world);
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 3);
    assert_int_equal(world.frames[0].ip, 0x1000);
    assert_int_equal(world.frames[0].sp, STACK);
    assert_int_equal(world.frames[0].module, 5);
    assert_int_equal(world.frames[1].ip, 0x1100);
    assert_int_equal(world.frames[1].sp, STACK + 8);
    assert_int_equal(world.frames[2].ip, 0x1900);
    assert_int_equal(world.frames[2].sp, STACK + 80);
    assert_int_equal(world.reads, 1); /* one block for everything */
}

static void walk_says_when_frames_do_not_fit(void **state)
{
    struct world world;
    world_three_frames(&world);
    assert_int_equal(world_walk(&world, 2), UNWIND_TRUNCATED);
    assert_int_equal(world.count, 2);
    assert_int_equal(world_walk(&world, 3), UNWIND_COMPLETE);
    assert_int_equal(world_walk(&world, 0), UNWIND_TRUNCATED);
    assert_int_equal(world.count, 0);
}

static void walk_reads_up_to_the_end_of_the_mapping(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.readable = 80; /* not even a page: word by word */
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 3);
    world.readable = 79;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 2);
    world.readable = 7;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 1);
}

static void walk_never_loops(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.words[8] = STACK + 64; /* rbp points to itself, and the caller is by rbp again */
    world.words[9] = 0x1100;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 3);
    world.words[8] = STACK; /* backwards */
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
}

static void walk_stops_where_a_needed_register_is_lost(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.file.rows[0].place[UNWIND_RBP] = UNWIND_LOST;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 2);
    world.file.rows[0].place[UNWIND_RBP] = UNWIND_SAME;
    world.file.rows[1].cfa_register = BASE_R10; /* a caller's r10 is anyone's guess */
    world.registers.general[BASE_R10] = STACK + 64;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    world.registers.ip = 0x1010; /* but the leaf's is known */
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 2);
}

static void walk_follows_dereferences(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.file.rows[0] =
        (struct unwind_row){.cfa = UNWIND_CFA_DEREF,
                            .cfa_register = BASE_RBX,
                            .cfa_offset = -8,
                            .cfa_addend = 16,
                            .place = {[UNWIND_RBP] = UNWIND_PLACE(UNWIND_AT_REGISTER, BASE_RBX)},
                            .offset = {[UNWIND_RBP] = 24}};
    world.registers.general[BASE_RBX] = STACK + 200;
    world.registers.general[BASE_RBP] = 1;
    world.words[24] = STACK + 280; /* *(rbx - 8); the CFA is 16 higher     */
    world.words[28] = STACK + 400; /* *(rbx + 24): the caller's rbp        */
    world.words[36] = 0x1100;      /* at CFA - 8                           */
    world.words[50] = 0;
    world.words[51] = 0x1900;
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 3);
    assert_int_equal(world.frames[1].sp, STACK + 296);
}

/* What GCC says of the epilogue of a realigned frame once rbp is popped. */
static void walk_takes_a_register_with_a_slot_outside_the_frame_as_restored(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.file.rows[0].place[UNWIND_RBP] = UNWIND_PLACE(UNWIND_AT_REGISTER, BASE_RBP);
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 3);
    world.file.rows[0].cfa_offset = 160; /* a frame that rbp points into: *rbp is the caller's */
    world.words[19] = 0x1100;
    world.words[8] = STACK + 240;
    world.words[31] = 0x1900;
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.frames[2].sp, STACK + 256);
}

static void walk_knows_linkage_tables(void **state)
{
    struct world world;
    for (unsigned low = 0; low < 16; low++) {
        world_begin(&world);
        world.file.rows[0] = (struct unwind_row){
            .cfa = UNWIND_CFA_PLT, .cfa_register = BASE_RSP, .cfa_offset = 8, .cfa_addend = 11};
        world.words[low >= 11] = 0x1900;
        world.registers.ip = 0x1000 + low;
        assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
        assert_int_equal(world.count, 2);
        assert_int_equal(world.frames[1].sp, STACK + (low >= 11 ? 16 : 8));
    }
}

/* The interrupted address is looked up as it is: the instruction before may be another function's.
   The stack may go down: from an alternate stack to the thread's. */
static void walk_crosses_signal_frames(void **state)
{
    struct world world;
    world_begin(&world);
    world.registers.general[BASE_RSP] = STACK + 4096;
    world.words[512] = 0x1011; /* handler returns into the signal frame's row (1010..17ff) */
    world.file.rows[1] =
        (struct unwind_row){.cfa = UNWIND_CFA_SIGNAL, .cfa_register = BASE_RSP, .cfa_offset = 40};
    uint64_t *gregs = &world.words[513 + 5];
    gregs[15] = STACK + 8; /* rsp */
    gregs[16] = 0x1800;    /* rip: the first instruction of END; one less would be a signal frame */
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 3);
    assert_int_equal(world.frames[2].ip, 0x1800);
    assert_int_equal(world.frames[2].sp, STACK + 8);
}

/* A ring of signal frames has no rising stack pointer to end it. */
static void walk_ends_in_a_ring_of_signal_frames(void **state)
{
    struct world world;
    struct unwind_frame frames[100];
    struct base_memory memory = {world_read, &world};
    size_t count;
    world_begin(&world);
    world.file.rows[0] =
        (struct unwind_row){.cfa = UNWIND_CFA_SIGNAL, .cfa_register = BASE_RSP, .cfa_offset = 40};
    world.words[5 + 15] = STACK;
    world.words[5 + 16] = 0x1000;
    assert_int_equal(unwind_table_open(&world.file, small_bytes, true, &world.table), BASE_OK);
    assert_int_equal(
        unwind_walk(&world.registers, world_find, &world, &memory, frames, 100, &count),
        UNWIND_BROKEN);
    assert_in_range(count, 2, 40);
}

/* A call that never returns may be the last instruction of its function. */
static void walk_looks_callers_up_by_the_call(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.words[0] = 0x1800; /* the outermost row begins here; the call was before */
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 3);
    assert_int_equal(world.frames[1].ip, 0x1800);
}

static void walk_ends_at_return_address_zero(void **state)
{
    struct world world;
    world_begin(&world);
    assert_int_equal(world_walk(&world, 16), UNWIND_COMPLETE);
    assert_int_equal(world.count, 1);
}

static void walk_ends_where_a_caller_without_table_has_no_frame_pointer(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.words[9] = 0x2100; /* called by what the table has not; rbp is 0 there */
    assert_int_equal(world_walk(&world, 16), UNWIND_GUESSED);
    assert_int_equal(world.count, 3);
    world.words[8] = 8;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 3);
    world.words[8] = 0;
    world.words[9] = 0x5000; /* by code of no module */
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 3);
}

static void walk_breaks_without_table_or_frame_pointer(void **state)
{
    struct world world;
    world_three_frames(&world);
    world.registers.ip = 0x5000;
    assert_int_equal(world_walk(&world, 16), UNWIND_BROKEN);
    assert_int_equal(world.count, 1);
    assert_int_equal(world.frames[0].module, 0);
    assert_int_equal(world.frames[0].vaddr, 0x5000);
}

/* ---- this process's own stacks ----------------------------------------------------------- */

enum { MODULES = 32, FRAMES = 256 };

static struct own_module {
    uint64_t start, end, bias;
    struct unwind_table table;
    bool has_table;
} own[MODULES];
static size_t own_count;
static unsigned long own_reads;

static bool read_own(void *context, uint64_t address, void *out, size_t bytes)
{
    own_reads++;
    return os_read_self(context, address, out, bytes);
}

static const struct base_memory own_memory = {read_own, NULL};

static bool find_own(void *context, uint64_t ip, struct unwind_module *module)
{
    for (size_t i = 0; i < own_count; i++) {
        if (ip < own[i].start || ip >= own[i].end)
            continue;
        *module = (struct unwind_module){.table = own[i].has_table ? &own[i].table : NULL,
                                         .bias = own[i].bias,
                                         .id = (uint32_t)i + 1};
        return true;
    }
    return false;
}

static bool compile_table(const char *path, struct unwind_table *table)
{
    uint64_t bytes;
    int file = memfd_create("table", 0);
    bool made = binary_compile_unwind(path, file, &bytes) == BASE_OK;
    if (made) {
        void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
        assert_int_equal(unwind_table_open(memory, bytes, true, table), BASE_OK);
    }
    close(file);
    return made;
}

static int add_own(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own_module *module = &own[own_count];
    const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    if (own_count == MODULES)
        return 1;
    *module = (struct own_module){.start = UINT64_MAX, .bias = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (start < module->start)
            module->start = start;
        if (start + segment->p_memsz > module->end)
            module->end = start + segment->p_memsz;
    }
    module->has_table = compile_table(strstr(path, "vdso") ? "[vdso]" : path, &module->table);
    own_count++;
    return 0;
}

static int load_own_tables(void **state)
{
    dl_iterate_phdr(add_own, NULL);
    return own_count ? 0 : -1;
}

static void registers_of(const ucontext_t *context, struct base_registers *registers)
{
    static const uint8_t order[16] = {BASE_R8,  BASE_R9,  BASE_R10, BASE_R11, BASE_R12, BASE_R13,
                                      BASE_R14, BASE_R15, BASE_RDI, BASE_RSI, BASE_RBP, BASE_RBX,
                                      BASE_RDX, BASE_RAX, BASE_RCX, BASE_RSP};
    for (int i = 0; i < 16; i++)
        registers->general[order[i]] = (uint64_t)context->uc_mcontext.gregs[i];
    registers->ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static struct walk {
    struct unwind_frame frames[FRAMES];
    size_t count;
    enum unwind_end end;
} walked;

static void walk_from(const ucontext_t *context, struct walk *walk)
{
    struct base_registers registers = {0};
    registers_of(context, &registers);
    walk->end =
        unwind_walk(&registers, find_own, NULL, &own_memory, walk->frames, FRAMES, &walk->count);
}

/* ---- single steps against a shadow stack -------------------------------------------------- */

enum { STEP_LIMIT = 200000, TRAP_FLAG = 0x100 };

static struct stepper {
    uint64_t shadow[FRAMES]; /* return addresses, outermost first */
    size_t depth;
    uint64_t ip, sp; /* of the last step                  */
    unsigned steps, wrong, deepest;
    struct walk first_wrong;
    uint64_t wrong_ip;
    bool on;
} stepper;

static void note_call_or_return(uint64_t ip, uint64_t sp)
{
    uint64_t word;
    assert_true(os_read_self(NULL, sp, &word, sizeof word)); /* sanitizers watch memcpy */
    if (sp == stepper.sp - 8 && word > stepper.ip && word - stepper.ip <= 8) {
        stepper.shadow[stepper.depth++] = word;
        return;
    }
    assert_true(os_read_self(NULL, stepper.sp, &word, sizeof word));
    if (sp == stepper.sp + 8 && ip == word && stepper.depth &&
        stepper.shadow[stepper.depth - 1] == ip)
        stepper.depth--;
}

static bool agrees(const struct walk *walk, uint64_t ip)
{
    if (walk->end != UNWIND_COMPLETE || walk->count != stepper.depth + 1 ||
        walk->frames[0].ip != ip)
        return false;
    for (size_t i = 0; i < stepper.depth; i++)
        if (walk->frames[i + 1].ip != stepper.shadow[stepper.depth - 1 - i])
            return false;
    return true;
}

static void on_step(int number, siginfo_t *info, void *context_pointer)
{
    ucontext_t *context = context_pointer;
    uint64_t ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    uint64_t sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    walk_from(context, &walked);
    if (!stepper.steps++) {
        /* The first walk is the base of the shadow stack; checked against backtrace(). */
        for (size_t i = walked.count; i > 1; i--)
            stepper.shadow[stepper.depth++] = walked.frames[i - 1].ip;
    } else {
        note_call_or_return(ip, sp);
    }
    if (!agrees(&walked, ip) && !stepper.wrong++) {
        stepper.first_wrong = walked;
        stepper.wrong_ip = ip;
    }
    if (stepper.depth > stepper.deepest)
        stepper.deepest = (unsigned)stepper.depth;
    stepper.ip = ip;
    stepper.sp = sp;
    if (!stepper.on || stepper.steps >= STEP_LIMIT)
        context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static NOINLINE int recurse(int depth)
{
    volatile int local = depth;
    return depth ? recurse(depth - 1) + local : 0;
}

static NOINLINE int with_alloca(int bytes)
{
    volatile char *memory = alloca((size_t)bytes);
    memory[0] = 1;
    return memory[0] + recurse(3);
}

/* Larger than 32 KiB: offsets need more than 16 bits. */
static NOINLINE int with_large_frame(void)
{
    volatile char memory[100000];
    memory[0] = 2;
    memory[sizeof memory - 1] = 3;
    __asm__ volatile("" ::"r"(memory) : "memory"); /* clang splits even volatile arrays */
    return memory[0] + recurse(2);
}

/* Aligned beyond the ABI, with alloca and stack arguments: the CFA is found through memory. */
static NOINLINE int with_realigned_frame(int a, int b, int c, int d, int e, int f, int bytes)
{
    volatile _Alignas(64) char vector[64];
    volatile char *memory = alloca((size_t)bytes);
    memory[0] = (char)a;
    vector[0] = (char)(b + c + d + e + f);
    return memory[0] + vector[0] + recurse(2);
}

static int compare_ints(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

static NOINLINE int work(void)
{
    static char text[256];
    int numbers[32];
    for (int i = 0; i < 32; i++)
        numbers[i] = i * 7919 % 100;
    qsort(numbers, 32, sizeof numbers[0], compare_ints);
    snprintf(text, sizeof text, "%s %d %.6f %a", "text", numbers[3], 3.14159, 2.5);
    /* First call, through the dynamic linker's resolver if bound lazily. */
    int sum = (int)strverscmp(text, "text") + (int)strtol(text + 5, NULL, 10);
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return sum + with_alloca(1000) + with_large_frame() +
           with_realigned_frame(1, 2, 3, 4, 5, 6, 100) + recurse(40);
}

static void install(int signal_number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(signal_number, &action, NULL), 0);
}

static void *alternate_stack(void)
{
    size_t bytes = 256 * 1024;
    stack_t stack = {.ss_size = bytes, .ss_sp = malloc(bytes)};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    return stack.ss_sp;
}

static void describe_wrong_step(void)
{
    print_message("first wrong step at %#lx:\n", stepper.wrong_ip);
    for (size_t i = 0; i < stepper.first_wrong.count; i++)
        print_message("  module %u vaddr %#lx\n", stepper.first_wrong.frames[i].module,
                      stepper.first_wrong.frames[i].vaddr);
}

static NOINLINE void step_through(int (*function)(void))
{
    stepper.on = true;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    function();
    stepper.on = false;
    __asm__ volatile("nop");
}

static void every_instruction_unwinds(void **state)
{
    void *stack = alternate_stack();
    void *addresses[FRAMES];
    install(SIGTRAP, on_step, SA_ONSTACK);
    memset(&stepper, 0, sizeof stepper);
    step_through(work);
    int depth = backtrace(addresses, FRAMES);
    print_message("# %u steps, deepest stack %u, %.2f reads a walk\n", stepper.steps,
                  stepper.deepest, (double)own_reads / stepper.steps);
    if (stepper.wrong)
        describe_wrong_step();
    assert_in_range(stepper.steps, 5000, STEP_LIMIT - 1);
    assert_in_range(stepper.deepest, 45, FRAMES - 1);
    assert_int_equal(stepper.wrong, 0);
    /* The base: our callers, as glibc sees them from here. */
    if (HAS_OWN_BACKTRACE)
        depth = 0;
    else
        assert_int_equal((size_t)depth, stepper.depth);
    for (int i = 1; i < depth; i++)
        assert_int_equal((uint64_t)addresses[i], stepper.shadow[stepper.depth - 1 - (size_t)i]);
    stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    free(stack);
}

/* The workload is worth its name only if it has the hard forms. */
static void workload_has_the_hard_forms(void **state)
{
    struct unwind_module module = {0};
    struct unwind_row row;
    bool dereferences = false;
    bool large = false;
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t ip = (uint64_t)with_realigned_frame + i;
        assert_true(find_own(NULL, ip, &module));
        if (unwind_table_find(module.table, ip - module.bias, &row))
            dereferences |= row.cfa == UNWIND_CFA_DEREF;
        ip = (uint64_t)with_large_frame + i;
        if (unwind_table_find(module.table, ip - module.bias, &row))
            large |= row.cfa_offset > 65536;
    }
    assert_true(dereferences || IS_CLANG); /* which addresses realigned frames by rbp and rbx */
    assert_true(large || !IS_OPTIMIZED || IS_SANITIZED); /* else by rbp, or not on the stack */
}

/* ---- signal frames, threads, code without tables -------------------------------------------- */

static struct walk outer_walk, inner_walk;

static void on_inner(int number, siginfo_t *info, void *context)
{
    walk_from(context, &inner_walk);
}

static void on_outer(int number, siginfo_t *info, void *context)
{
    walk_from(context, &outer_walk);
    raise(SIGUSR2);
}

/* A walk from within a handler goes through its frame into what it interrupted. */
static void assert_inner_contains_outer(void)
{
    assert_int_equal(outer_walk.end, UNWIND_COMPLETE);
    assert_int_equal(inner_walk.end, UNWIND_COMPLETE);
    assert_true(inner_walk.count > outer_walk.count + 2);
    size_t more = inner_walk.count - outer_walk.count;
    for (size_t i = 0; i < outer_walk.count; i++) {
        assert_int_equal(inner_walk.frames[more + i].ip, outer_walk.frames[i].ip);
        assert_int_equal(inner_walk.frames[more + i].sp, outer_walk.frames[i].sp);
    }
}

static NOINLINE int raise_at_depth(int depth)
{
    volatile int local = depth;
    if (depth == 0)
        raise(SIGUSR1);
    return depth ? raise_at_depth(depth - 1) + local : 0;
}

static void signal_frames_are_crossed(void **state)
{
    install(SIGUSR2, on_inner, 0);
    install(SIGUSR1, on_outer, 0);
    raise_at_depth(5);
    assert_inner_contains_outer();
}

static void signal_frames_are_crossed_from_an_alternate_stack(void **state)
{
    void *stack = alternate_stack();
    install(SIGUSR2, on_inner, 0);
    install(SIGUSR1, on_outer, SA_ONSTACK);
    memset(&outer_walk, 0, sizeof outer_walk);
    raise_at_depth(5);
    assert_inner_contains_outer();
    stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    free(stack);
}

static uint64_t trapped_ip;

/* Traps once more within the first handler, and walks from there. */
static void on_trap(int number, siginfo_t *info, void *context_pointer)
{
    ucontext_t *context = context_pointer;
    uint64_t ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    context->uc_mcontext.gregs[REG_RIP] += 2;
    if (trapped_ip) {
        walk_from(context, &inner_walk);
        return;
    }
    trapped_ip = ip;
    __asm__ volatile("ud2");
}

static void signal_frames_are_known_by_their_code(void **state)
{
    struct own_module *libc = NULL;
    for (size_t i = 0; i < own_count; i++)
        if ((uint64_t)gnu_get_libc_version >= own[i].start &&
            (uint64_t)gnu_get_libc_version < own[i].end)
            libc = &own[i];
    assert_non_null(libc);
    memset(&inner_walk, 0, sizeof inner_walk);
    install(SIGILL, on_trap, SA_NODEFER);
    trapped_ip = 0;
    libc->has_table = false;
    __asm__ volatile("ud2");
    libc->has_table = true;
    signal(SIGILL, SIG_DFL);
    /* Handler, trampoline, and where the first trap was (or rather will return to). What follows
     * breaks in libc's start. */
    assert_true(inner_walk.count > 3);
    assert_int_equal(inner_walk.frames[2].ip, trapped_ip + 2);
}

static void *raise_in_thread(void *argument)
{
    raise_at_depth(10);
    return NULL;
}

static void thread_stacks_are_complete(void **state)
{
    pthread_t thread;
    install(SIGUSR2, on_inner, 0);
    install(SIGUSR1, on_outer, 0);
    memset(&outer_walk, 0, sizeof outer_walk);
    assert_int_equal(pthread_create(&thread, NULL, raise_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_inner_contains_outer();
    assert_in_range(outer_walk.count, 13, 20);
}

/* push rbp; mov rsp, rbp; call *rdi; pop rbp; ret: as a just-in-time compiler would emit. */
static const unsigned char made_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static void raise_outer(void)
{
    raise(SIGUSR1);
    __asm__ volatile("nop"); /* not a tail call: a frame of its own */
}

static void frame_pointers_bridge_code_without_tables(void **state)
{
    void (*code)(void (*)(void)) =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    memcpy((void *)code, made_code, sizeof made_code);
    assert_int_equal(mprotect((void *)code, 4096, PROT_READ | PROT_EXEC), 0);
    install(SIGUSR2, on_inner, 0);
    install(SIGUSR1, on_outer, 0);
    memset(&outer_walk, 0, sizeof outer_walk);
    raise_at_depth(0);
    struct walk plain = outer_walk;
    code(raise_outer);
    assert_int_equal(outer_walk.end, UNWIND_GUESSED);
    size_t at = 0;
    while (at < outer_walk.count && outer_walk.frames[at].ip != (uint64_t)code + 6)
        at++;
    assert_true(at + 2 < outer_walk.count);
    assert_int_equal(outer_walk.frames[at].module, 0);
    /* From our caller on it is the stack that it was. */
    for (size_t i = outer_walk.count, j = plain.count; i > at + 2; i--, j--)
        assert_int_equal(outer_walk.frames[i - 1].ip, plain.frames[j - 1].ip);
    munmap((void *)code, 4096);
}

/* ud2; ret: nothing on the stack, and rbp is the caller's, whatever that has in it. */
static const unsigned char leaf_code[] = {0x0f, 0x0b, 0xc3};

/* Walks with an rbp that is no frame pointer, and returns behind the trap with the one that was. */
static void on_leaf(int number, siginfo_t *info, void *context_pointer)
{
    ucontext_t *context = context_pointer;
    greg_t rbp = context->uc_mcontext.gregs[REG_RBP];
    context->uc_mcontext.gregs[REG_RBP] = 1;
    walk_from(context, &outer_walk);
    context->uc_mcontext.gregs[REG_RBP] = rbp;
    context->uc_mcontext.gregs[REG_RIP] += 2;
}

static void leaves_without_tables_are_left_by_their_return_address(void **state)
{
    void (*code)(void) =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    memcpy((void *)code, leaf_code, sizeof leaf_code);
    assert_int_equal(mprotect((void *)code, 4096, PROT_READ | PROT_EXEC), 0);
    install(SIGILL, on_leaf, 0);
    memset(&outer_walk, 0, sizeof outer_walk);
    code();
    signal(SIGILL, SIG_DFL);
    assert_int_equal(outer_walk.frames[0].ip, (uint64_t)code);
    assert_true(outer_walk.count > 1);
    assert_in_range(outer_walk.frames[1].ip,
                    (uint64_t)leaves_without_tables_are_left_by_their_return_address,
                    (uint64_t)leaves_without_tables_are_left_by_their_return_address + 2000);
    munmap((void *)code, 4096);
}

static NOINLINE void measure_walks(void)
{
    enum { WALKS = 2000 };
    ucontext_t context;
    struct timespec begun, ended;
    assert_int_equal(getcontext(&context), 0);
    own_reads = 0;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < WALKS; i++)
        walk_from(&context, &walked);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_int_equal(walked.end, UNWIND_COMPLETE);
    double nanoseconds =
        (double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec);
    print_message("# %zu frames in %.0f ns, %.1f reads\n", walked.count, nanoseconds / WALKS,
                  (double)own_reads / WALKS);
    /* A hundred frames of 48 bytes lie in two blocks; the rest is the test's own. */
    assert_in_range(walked.count, 100, 120);
    assert_in_range(own_reads / WALKS, 1, 10);
}

static NOINLINE int walk_at_depth(int depth)
{
    volatile int local = depth;
    if (depth)
        return walk_at_depth(depth - 1) + local;
    measure_walks();
    return 0;
}

static void deep_stacks_take_few_reads(void **state)
{
    walk_at_depth(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_finds_rows_and_functions),
        cmocka_unit_test(table_refuses_bad_files),
        cmocka_unit_test(table_stays_inside_when_rows_lie),
        cmocka_unit_test(walk_follows_registers_and_saved_values),
        cmocka_unit_test(walk_says_when_frames_do_not_fit),
        cmocka_unit_test(walk_reads_up_to_the_end_of_the_mapping),
        cmocka_unit_test(walk_never_loops),
        cmocka_unit_test(walk_stops_where_a_needed_register_is_lost),
        cmocka_unit_test(walk_follows_dereferences),
        cmocka_unit_test(walk_takes_a_register_with_a_slot_outside_the_frame_as_restored),
        cmocka_unit_test(walk_knows_linkage_tables),
        cmocka_unit_test(walk_crosses_signal_frames),
        cmocka_unit_test(walk_ends_in_a_ring_of_signal_frames),
        cmocka_unit_test(walk_looks_callers_up_by_the_call),
        cmocka_unit_test(walk_ends_at_return_address_zero),
        cmocka_unit_test(walk_ends_where_a_caller_without_table_has_no_frame_pointer),
        cmocka_unit_test(walk_breaks_without_table_or_frame_pointer),
        cmocka_unit_test(workload_has_the_hard_forms),
        cmocka_unit_test(every_instruction_unwinds),
        cmocka_unit_test(signal_frames_are_crossed),
        cmocka_unit_test(signal_frames_are_crossed_from_an_alternate_stack),
        cmocka_unit_test(signal_frames_are_known_by_their_code),
        cmocka_unit_test(thread_stacks_are_complete),
        cmocka_unit_test(frame_pointers_bridge_code_without_tables),
        cmocka_unit_test(leaves_without_tables_are_left_by_their_return_address),
        cmocka_unit_test(deep_stacks_take_few_reads),
    };
    return cmocka_run_group_tests(tests, load_own_tables, NULL);
}
