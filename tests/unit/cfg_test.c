// SPDX-License-Identifier: MIT
/*
 * flow: assembled code whose blocks, edges and loops are known; tables as compilers lay them out;
 * dominators and loops of random graphs against their definitions; bytes that are no code.
 */
#include "cfg/cfg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int start(void **state)
{
    return cfg_start();
}

/* ---- code ------------------------------------------------------------------------------------ */

/* FUNCTION(name) ... END(name): code in this program; labels name_1, name_2, ... are symbols. */
#define FUNCTION(name) ".text\n.p2align 4\n" #name "_0:\n"
#define END(name)      #name "_end: ud2\n"
#define LABEL(symbol)  extern const uint8_t symbol[]

/* This program's own memory: tables are read from there. */
static bool read_memory(void *context, uint64_t address, void *out, size_t bytes)
{
    memcpy(out, (const void *)(uintptr_t)address, bytes);
    return true;
}

static bool read_nothing(void *context, uint64_t address, void *out, size_t bytes)
{
    return false;
}

static struct cfg_code code_of(const uint8_t *from, const uint8_t *to)
{
    return (struct cfg_code){.bytes = from,
                             .count = (size_t)(to - from),
                             .start = (uint64_t)(uintptr_t)from,
                             .data = {read_memory, NULL}};
}

static struct cfg *make(const struct cfg_code *code)
{
    struct cfg *flow = NULL;
    assert_int_equal(cfg_of_code(code, &flow), BASE_OK);
    assert_true(cfg_check(flow));
    return flow;
}

static struct cfg *flow_between(const uint8_t *from, const uint8_t *to)
{
    struct cfg_code code = code_of(from, to);
    return make(&code);
}

static uint32_t at(const struct cfg *flow, const uint8_t *label)
{
    uint32_t block = cfg_block_at(flow, (uint64_t)(uintptr_t)label);
    assert_int_not_equal(block, CFG_NONE);
    assert_int_equal(flow->blocks[block].start, (uint64_t)(uintptr_t)label);
    return block;
}

static uint32_t loop_at(const struct cfg *flow, const uint8_t *label)
{
    return cfg_loop_at(flow, (uint64_t)(uintptr_t)label);
}

static bool has_edge(const struct cfg *flow, const uint8_t *from, const uint8_t *to, uint32_t kind)
{
    const struct cfg_block *block = &flow->blocks[at(flow, from)];
    uint32_t target = at(flow, to);
    for (uint32_t i = 0; i < block->edges; i++)
        if (flow->edges[block->first_edge + i].to == target &&
            flow->edges[block->first_edge + i].kind == kind)
            return true;
    return false;
}

static uint32_t flags_at(const struct cfg *flow, const uint8_t *label)
{
    return flow->blocks[at(flow, label)].flags;
}

LABEL(diamond_0);
LABEL(diamond_1);
LABEL(diamond_2);
LABEL(diamond_3);
LABEL(diamond_4);
LABEL(diamond_end);
__asm__(FUNCTION(diamond) "test %edi, %edi\n"
                          "je diamond_2\n"
                          "diamond_1: add $1, %eax\n"
                          "call diamond_outside\n"
                          "jmp diamond_3\n"
                          "diamond_2: add $2, %eax\n"
                          "diamond_3: cmp $7, %eax\n"
                          "jb diamond_outside\n"
                          "diamond_4: ret\n" END(diamond) "diamond_outside: ret\n");

static void test_diamond(void **state)
{
    struct cfg *flow = flow_between(diamond_0, diamond_end);
    assert_int_equal(flow->blocks_count, 5);
    assert_int_equal(flow->edges_count, 5 + 0);
    assert_int_equal(flow->instructions, 9);
    assert_true(has_edge(flow, diamond_0, diamond_1, CFG_FALL));
    assert_true(has_edge(flow, diamond_0, diamond_2, CFG_TAKEN));
    assert_true(has_edge(flow, diamond_1, diamond_3, CFG_JUMP));
    assert_true(has_edge(flow, diamond_2, diamond_3, CFG_FALL));
    assert_true(has_edge(flow, diamond_3, diamond_4, CFG_FALL));
    assert_int_equal(flags_at(flow, diamond_0), CFG_ROOT);
    assert_int_equal(flags_at(flow, diamond_1), CFG_CALLS);
    assert_int_equal(flags_at(flow, diamond_3), CFG_LEAVES);
    assert_int_equal(flags_at(flow, diamond_4), CFG_RETURNS);
    assert_int_equal(flow->blocks[at(flow, diamond_3)].dominator, at(flow, diamond_0));
    assert_int_equal(flow->blocks[0].dominator, CFG_NONE);
    assert_true(cfg_dominates(flow, at(flow, diamond_0), at(flow, diamond_4)));
    assert_true(cfg_dominates(flow, at(flow, diamond_3), at(flow, diamond_3)));
    assert_false(cfg_dominates(flow, at(flow, diamond_1), at(flow, diamond_3)));
    assert_int_equal(flow->loops_count, 1);
    assert_int_equal(cfg_block_at(flow, flow->end), CFG_NONE);
    assert_int_equal(cfg_block_at(flow, flow->start - 1), CFG_NONE);
    cfg_free(flow);
}

LABEL(nest_0);
LABEL(nest_1);
LABEL(nest_2);
LABEL(nest_3);
LABEL(nest_4);
LABEL(nest_5);
LABEL(nest_6);
LABEL(nest_7);
LABEL(nest_end);
__asm__(FUNCTION(nest) "xor %eax, %eax\n"
                       "nest_1: xor %ecx, %ecx\n" /* outer head */
                       "nest_2: add %ecx, %eax\n" /* inner: head and latch in one */
                       "inc %ecx\n"
                       "cmp $10, %ecx\n"
                       "jne nest_2\n"
                       "nest_3: test %eax, %eax\n" /* a second loop, condition at the top */
                       "je nest_5\n"
                       "nest_4: shr %eax\n"
                       "jmp nest_3\n"
                       "nest_5: dec %edi\n"
                       "js nest_7\n"
                       "nest_6: jne nest_1\n"
                       "nest_7: ret\n" END(nest));

static void test_nest(void **state)
{
    struct cfg *flow = flow_between(nest_0, nest_end);
    uint32_t outer = loop_at(flow, nest_1), first = loop_at(flow, nest_2);
    uint32_t second = loop_at(flow, nest_3);
    assert_int_equal(flow->loops_count, 4);
    assert_int_equal(loop_at(flow, nest_0), 0);
    assert_int_equal(loop_at(flow, nest_7), 0);
    assert_int_equal(loop_at(flow, nest_4), second);
    assert_int_equal(loop_at(flow, nest_5), outer);
    assert_int_equal(loop_at(flow, nest_6), outer);
    assert_int_equal(flow->loops[outer].parent, 0);
    assert_int_equal(flow->loops[first].parent, outer);
    assert_int_equal(flow->loops[second].parent, outer);
    assert_int_equal(flow->loops[outer].head, at(flow, nest_1));
    assert_int_equal(flow->loops[first].head, at(flow, nest_2));
    assert_int_equal(flow->loops[second].head, at(flow, nest_3));
    assert_int_equal(flow->loops[outer].depth, 1);
    assert_int_equal(flow->loops[second].depth, 2);
    assert_int_equal(flow->loops[outer].blocks, 6);
    assert_int_equal(flow->loops[second].blocks, 2);
    assert_true(cfg_loop_holds(flow, outer, at(flow, nest_4)));
    assert_false(cfg_loop_holds(flow, first, at(flow, nest_4)));
    assert_false(cfg_loop_holds(flow, 0, at(flow, nest_4)));
    for (uint32_t i = 1; i < 4; i++)
        assert_int_equal(flow->loops[i].flags, 0);
    cfg_free(flow);
}

LABEL(two_0);
LABEL(two_1);
LABEL(two_2);
LABEL(two_end);
__asm__(FUNCTION(two) "test %edi, %edi\n"
                      "je two_2\n"
                      "two_1: inc %eax\n"
                      "two_2: dec %edi\n"
                      "jne two_1\n"
                      "ret\n" END(two));

static void test_two_entries(void **state)
{
    struct cfg *flow = flow_between(two_0, two_end);
    uint32_t loop = loop_at(flow, two_1);
    assert_int_equal(flow->loops_count, 2);
    assert_int_equal(loop, 1);
    assert_int_equal(loop_at(flow, two_2), 1);
    assert_int_equal(flow->loops[1].flags, CFG_IRREDUCIBLE);
    cfg_free(flow);
}

/* Behind a call that does not return lies the head of a loop that is not entered from there. */
LABEL(stop_0);
LABEL(stop_1);
LABEL(stop_2);
LABEL(stop_3);
LABEL(stop_4);
LABEL(stop_end);
LABEL(stop_outside);
__asm__(FUNCTION(stop) "jmp stop_3\n"
                       "stop_1: call stop_outside\n"
                       "stop_2: inc %eax\n"
                       "stop_3: dec %edi\n"
                       "js stop_1\n"
                       "stop_4: jne stop_2\n"
                       "ret\n" END(stop) "stop_outside: call *stop_cell(%rip)\n"
                                         "ud2\n"
                                         ".data\nstop_cell: .quad 0\n.text\n");
LABEL(stop_cell);

static bool returns(void *context, uint64_t callee, bool cell)
{
    assert_int_equal(cell, context != NULL);
    assert_int_equal(callee, (uint64_t)(uintptr_t)(cell ? stop_cell : stop_outside));
    return false;
}

static void test_no_return(void **state)
{
    struct cfg_code code = code_of(stop_0, stop_end);
    struct cfg *flow = make(&code);
    assert_int_equal(loop_at(flow, stop_1), loop_at(flow, stop_2));
    cfg_free(flow);
    code.returns = returns;
    flow = make(&code);
    assert_int_equal(flags_at(flow, stop_1), CFG_CALLS | CFG_STOPS);
    assert_int_equal(flow->blocks[at(flow, stop_1)].edges, 0);
    assert_int_equal(loop_at(flow, stop_1), 0);
    assert_int_not_equal(loop_at(flow, stop_2), 0);
    assert_int_equal(loop_at(flow, stop_2), loop_at(flow, stop_4));
    cfg_free(flow);
    code = code_of(stop_outside, stop_outside + 8);
    code.returns = returns;
    code.context = &code;
    flow = make(&code);
    assert_int_equal(flow->blocks[0].flags, CFG_CALLS | CFG_STOPS | CFG_ROOT);
    cfg_free(flow);
}

static void test_may_return(void **state)
{
    uint64_t ways[CFG_WAYS_MAX];
    size_t count;
    uint64_t base = (uint64_t)(uintptr_t)stop_outside;
    assert_false(cfg_may_return(stop_outside, 8, base, ways, &count));
    assert_int_equal(count, 0);
    assert_true(cfg_may_return(diamond_0, (size_t)(diamond_end - diamond_0),
                               (uint64_t)(uintptr_t)diamond_0, ways, &count));
    static const uint8_t leaves[] = {0x74, 0x10, 0xeb, 0x0e, 0x75, 0x00, 0xe8, 0, 0, 0, 0};
    assert_false(cfg_may_return(leaves, sizeof leaves, 0x1000, ways, &count));
    assert_int_equal(count, 1);
    assert_int_equal(ways[0], 0x1012);
    static const uint8_t indirect[] = {0xff, 0xe0};
    assert_true(cfg_may_return(indirect, sizeof indirect, 0x1000, ways, &count));
    static const uint8_t damaged[] = {0x06};
    assert_true(cfg_may_return(damaged, sizeof damaged, 0x1000, ways, &count));
}

/* Exception handlers: nothing jumps there, and they go on in the middle of a loop. */
LABEL(pad_0);
LABEL(pad_1);
LABEL(pad_2);
LABEL(pad_3);
LABEL(pad_4);
LABEL(pad_end);
__asm__(FUNCTION(pad) "xor %eax, %eax\n"
                      "pad_1: call pad_4\n"
                      "pad_2: dec %edi\n"
                      "jne pad_1\n"
                      "pad_3: ret\n"
                      "nopw 0(%rax,%rax,1)\n"
                      "int3\n"
                      "pad_4: mov %rax, %rdi\n"
                      "jmp pad_2\n" END(pad));

static void test_handlers(void **state)
{
    struct cfg *flow = flow_between(pad_0, pad_end);
    assert_int_equal(flow->blocks_count, 4 + 1);
    assert_int_equal(flags_at(flow, pad_4), CFG_ROOT);
    assert_int_equal(flow->blocks[at(flow, pad_4)].region, 1);
    assert_true(has_edge(flow, pad_4, pad_2, CFG_JUMP));
    assert_int_equal(flow->loops_count, 2);
    assert_int_equal(flow->loops[1].flags, 0);
    assert_int_equal(loop_at(flow, pad_4), 0);
    assert_int_equal(flow->blocks[at(flow, pad_2)].dominator, at(flow, pad_1));
    cfg_free(flow);
}

/* A jump behind the prefix of an instruction. */
LABEL(prefix_0);
LABEL(prefix_1);
LABEL(prefix_2);
LABEL(prefix_3);
LABEL(prefix_end);
__asm__(FUNCTION(prefix) "test %edi, %edi\n"
                         "je prefix_2\n"
                         "prefix_1: .byte 0xf0\n"
                         "prefix_2: xadd %eax, (%rdi)\n"
                         "prefix_3: ret\n" END(prefix));

static void test_prefix(void **state)
{
    struct cfg *flow = flow_between(prefix_0, prefix_end);
    assert_true(flow->flags & CFG_OVERLAPPING);
    assert_int_equal(flow->blocks_count, 4);
    assert_true(has_edge(flow, prefix_1, prefix_3, CFG_FALL));
    assert_true(has_edge(flow, prefix_2, prefix_3, CFG_FALL));
    assert_int_equal(cfg_block_at(flow, (uint64_t)(uintptr_t)prefix_1), at(flow, prefix_1));
    cfg_free(flow);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The body of each: a loop around a switch with four cases and a default. */
#define CASES(name)                                                                                \
#name "_2: inc %eax\n jmp " #name "_1\n" #name "_3: dec %eax\n jmp " #name "_1\n" #name        \
          "_4: neg %eax\n jmp " #name "_1\n" #name "_5: not %eax\n jmp " #name "_1\n" #name        \
          "_6: ret\n"
#define RELATIVE(name)                                                                             \
    ".section .rodata\n.p2align 2\n" #name "_table: .long " #name "_2-" #name "_table, " #name     \
    "_3-" #name "_table, " #name "_4-" #name "_table, " #name "_5-" #name                          \
    "_table\n.long 5\n.text\n"
#define ABSOLUTE(name)                                                                             \
    ".section .data.rel.ro,\"aw\"\n.p2align 3\n" #name "_table: .quad " #name "_2, " #name         \
    "_3, " #name "_4, " #name "_5\n.quad 5\n.text\n"
#define LABELS(name)                                                                               \
    LABEL(name##_0);                                                                               \
    LABEL(name##_1);                                                                               \
    LABEL(name##_2);                                                                               \
    LABEL(name##_3);                                                                               \
    LABEL(name##_4);                                                                               \
    LABEL(name##_5);                                                                               \
    LABEL(name##_6);                                                                               \
    LABEL(name##_end)

/* gcc -fpic */
LABELS(picture);
__asm__(FUNCTION(picture) "xor %eax, %eax\n"
                          "picture_1: movzbl (%rdi), %ecx\n inc %rdi\n"
                          "cmp $3, %cl\n ja picture_6\n"
                          "lea picture_table(%rip), %rdx\n"
                          "movzbl %cl, %ecx\n"
                          "movslq (%rdx,%rcx,4), %rcx\n add %rdx, %rcx\n"
                          "notrack jmp *%rcx\n" CASES(picture) END(picture) RELATIVE(picture));

/* clang, with the base set outside of the loop, copied, and no guard: the table ends
 * where it ends */
LABELS(hoisted);
__asm__(FUNCTION(hoisted) "push %rbx\n"
                          "lea hoisted_table(%rip), %rbx\n"
                          "hoisted_1: mov (%rdi), %ecx\n add $4, %rdi\n"
                          "test %ecx, %ecx\n js hoisted_6\n"
                          "call hoisted_outside\n"
                          "mov %rbx, %r8\n"
                          "movslq (%r8,%rcx,4), %rax\n"
                          "add %rax, %r8\n"
                          "jmp *%r8\n" CASES(hoisted)
                              END(hoisted) "hoisted_outside: ret\n" RELATIVE(hoisted));

/* gcc -fno-pic, in memory; guarded by jbe */
LABELS(absolute);
__asm__(FUNCTION(absolute) "xor %eax, %eax\n"
                           "absolute_1: mov (%rdi), %ecx\n"
                           "cmpl $3, (%rdi)\n jbe 1f\n ret\n"
                           "1: lea absolute_table(%rip), %rdx\n"
                           "jmp *(%rdx,%rcx,8)\n" CASES(absolute) END(absolute) ABSOLUTE(absolute));

/* computed goto, each case with its own jump; the index by and */
LABELS(threaded);
#define DISPATCH "and $3, %ecx\n mov (%r8,%rcx,8), %rax\n jmp *%rax\n"
__asm__(FUNCTION(threaded) "lea threaded_table(%rip), %r8\n"
                           "threaded_1: mov (%rdi), %ecx\n" DISPATCH
                           "threaded_2: inc %eax\n mov 4(%rdi), %ecx\n" DISPATCH
                           "threaded_3: dec %eax\n mov 8(%rdi), %ecx\n" DISPATCH
                           "threaded_4: neg %eax\n mov 12(%rdi), %ecx\n" DISPATCH
                           "threaded_5: jmp threaded_1\n"
                           "threaded_6: ret\n" END(threaded) ABSOLUTE(threaded));

/* rustc: a match over all there is has no guard, and the next table lies behind. Read as entries of the first, those of the second lead
 * into the middle of instructions, which are longer than the tables lie apart. */
LABEL(side_0);
LABEL(side_2);
LABEL(side_3);
LABEL(side_4);
LABEL(side_5);
LABEL(side_end);
__asm__(
    FUNCTION(side) "xor %eax, %eax\n"
                   "movzbl (%rdi), %ecx\n"
                   "lea side_table(%rip), %rdx\n"
                   "movslq (%rdx,%rcx,4), %rcx\n add %rdx, %rcx\n jmp *%rcx\n"
                   "side_2: movzbl 1(%rdi), %ecx\n"
                   "lea side_other(%rip), %rdx\n"
                   "movslq (%rdx,%rcx,4), %rcx\n add %rdx, %rcx\n jmp *%rcx\n"
                   "side_3: ret\n"
                   "movabs $0x0101010101010101, %rsi\n"
                   "side_4: inc %eax\n ret\n"
                   "movabs $0x0101010101010101, %rsi\n"
                   "side_5: dec %eax\n"
                   "side_6: ret\n" END(
                       side) ".section .rodata\n.p2align 2\n"
                             "side_table: .long side_2-side_table, side_3-side_table\n"
                             "side_other: .long side_4-side_other, side_5-side_other, 5\n.text\n");

/* through a base from outside: nothing is known */
LABELS(unknown);
__asm__(FUNCTION(unknown) "xor %eax, %eax\n"
                          "unknown_1: mov (%rdi), %ecx\n"
                          "cmp $3, %ecx\n ja unknown_6\n"
                          "movslq (%rsi,%rcx,4), %rcx\n add %rsi, %rcx\n jmp *%rcx\n" CASES(unknown)
                              END(unknown));

struct cases {
    const uint8_t *labels[7], *end;
};

#define CASES_OF(name)                                                                             \
    {                                                                                              \
        {name##_0, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6}, name##_end         \
    }

static void test_tables(void **state)
{
    const struct cases all[] = {CASES_OF(picture), CASES_OF(hoisted), CASES_OF(absolute)};
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        const struct cases *one = &all[i];
        struct cfg *flow = flow_between(one->labels[0], one->end);
        assert_int_equal(flow->tables, 1);
        assert_int_equal(flow->flags, 0);
        uint32_t loop = loop_at(flow, one->labels[1]), targets = 0;
        assert_int_not_equal(loop, 0);
        for (int label = 2; label < 6; label++) {
            assert_int_equal(loop_at(flow, one->labels[label]), loop);
            assert_int_equal(flags_at(flow, one->labels[label]), 0);
        }
        for (uint32_t e = 0; e < flow->edges_count; e++)
            targets += flow->edges[e].kind == CFG_TABLE;
        assert_int_equal(targets, 4);
        assert_int_equal(flow->loops_count, 2);
        cfg_free(flow);
    }
}

static void test_tables_side_by_side(void **state)
{
    struct cfg *flow = flow_between(side_0, side_end);
    uint32_t targets = 0;
    assert_int_equal(flow->tables, 2);
    assert_int_equal(flow->flags, 0);
    assert_true(has_edge(flow, side_0, side_2, CFG_TABLE));
    assert_true(has_edge(flow, side_0, side_3, CFG_TABLE));
    assert_true(has_edge(flow, side_2, side_4, CFG_TABLE));
    assert_true(has_edge(flow, side_2, side_5, CFG_TABLE));
    for (uint32_t e = 0; e < flow->edges_count; e++)
        targets += flow->edges[e].kind == CFG_TABLE;
    assert_int_equal(targets, 4);
    cfg_free(flow);
}

static void test_threaded(void **state)
{
    struct cfg *flow = flow_between(threaded_0, threaded_end);
    assert_int_equal(flow->tables, 4);
    assert_int_equal(flow->flags, 0);
    assert_true(has_edge(flow, threaded_4, threaded_3, CFG_TABLE));
    assert_true(has_edge(flow, threaded_1, threaded_5, CFG_TABLE));
    assert_int_equal(flow->loops[1].head, at(flow, threaded_1));
    assert_int_equal(flow->loops[1].blocks, 5);
    cfg_free(flow);
}

/* What is not understood is said to be, and does no harm. */
static void test_unresolved(void **state)
{
    struct cfg *flow = flow_between(unknown_0, unknown_end);
    assert_int_equal(flow->tables, 0);
    assert_int_equal(flow->flags, CFG_INCOMPLETE);
    assert_true(flags_at(flow, unknown_2) & CFG_ROOT);
    cfg_free(flow);
    struct cfg_code code = code_of(picture_0, picture_end);
    code.data.read = read_nothing;
    flow = make(&code);
    assert_int_equal(flow->tables, 0);
    assert_int_equal(flow->flags, CFG_INCOMPLETE);
    cfg_free(flow);
    code.data.read = NULL;
    flow = make(&code);
    assert_int_equal(flow->flags, CFG_INCOMPLETE);
    cfg_free(flow);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

enum { NODES_MAX = 12 };

struct graph {
    uint32_t count, edges_count;
    struct cfg_edge edges[64];
    bool edge[NODES_MAX][NODES_MAX];
};

static void make_graph(struct base_random *random, struct graph *graph)
{
    memset(graph, 0, sizeof *graph);
    graph->count = 1 + (uint32_t)base_random_below(random, NODES_MAX);
    graph->edges_count = (uint32_t)base_random_below(random, 2 * graph->count + 1);
    for (uint32_t i = 0; i < graph->edges_count; i++) {
        uint32_t from = (uint32_t)base_random_below(random, graph->count);
        uint32_t to = (uint32_t)base_random_below(random, graph->count);
        graph->edges[i] = (struct cfg_edge){from, to, CFG_JUMP};
        graph->edge[from][to] = true;
    }
}

/* Marks what is reached from `from` without passing `without`. */
static void reach(const struct graph *graph, uint32_t from, uint32_t without, bool *seen)
{
    if (from == without || seen[from])
        return;
    seen[from] = true;
    for (uint32_t to = 0; to < graph->count; to++)
        if (graph->edge[from][to])
            reach(graph, to, without, seen);
}

/* The oracle: regions and dominators by what the words mean. */
struct oracle {
    uint32_t region[NODES_MAX];
    uint32_t number[NODES_MAX], met; /* of the depth-first search, successors ascending */
    bool dominates[NODES_MAX][NODES_MAX];
    uint32_t head[NODES_MAX], depth[NODES_MAX]; /* innermost loop around a node (of a head: its
                                                     own) and its depth; CFG_NONE, 0 */
    bool irreducible[NODES_MAX];
};

static void search(const struct graph *graph, struct oracle *oracle, uint32_t node, uint32_t region)
{
    if (oracle->region[node] != CFG_NONE)
        return;
    oracle->region[node] = region;
    oracle->number[node] = oracle->met++;
    for (uint32_t to = 0; to < graph->count; to++)
        if (graph->edge[node][to])
            search(graph, oracle, to, region);
}

static void find_regions(struct graph *graph, struct oracle *oracle, uint32_t *roots)
{
    uint32_t regions = 0;
    memset(oracle, 0, sizeof *oracle);
    memset(oracle->region, 0xff, sizeof oracle->region);
    memset(oracle->head, 0xff, sizeof oracle->head);
    for (uint32_t i = 0; i < graph->count; i++) {
        if (oracle->region[i] == CFG_NONE) {
            roots[regions] = i;
            search(graph, oracle, i, regions++);
        }
    }
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t j = 0; j < graph->count; j++)
            if (oracle->region[i] != oracle->region[j])
                graph->edge[i][j] = false;
}

static void find_dominators(const struct graph *graph, struct oracle *oracle, const uint32_t *roots)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t j = 0; j < graph->count; j++) {
            bool seen[NODES_MAX] = {false};
            reach(graph, roots[oracle->region[j]], i, seen);
            oracle->dominates[i][j] =
                oracle->region[i] == oracle->region[j] && (i == j || !seen[j]);
        }
    }
}

/* Havlak's loops from the outside in: a strongly connected component is a loop, its first node in
   the search the head; without the edges into the head what is left holds the loops inside. */
static void find_loops(const struct graph *whole, const struct graph *graph, struct oracle *oracle,
                       const bool *within, uint32_t depth)
{
    struct graph part = *graph;
    bool seen[NODES_MAX][NODES_MAX] = {{false}}, done[NODES_MAX] = {false};
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t j = 0; j < graph->count; j++)
            part.edge[i][j] = part.edge[i][j] && within[i] && within[j];
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t j = 0; j < graph->count; j++)
            if (part.edge[i][j])
                reach(&part, j, CFG_NONE, seen[i]);
    for (uint32_t i = 0; i < graph->count; i++) {
        bool body[NODES_MAX] = {false};
        uint32_t head = i;
        if (!seen[i][i] || done[i])
            continue;
        for (uint32_t j = 0; j < graph->count; j++) {
            body[j] = seen[i][j] && seen[j][i];
            done[j] = done[j] || body[j];
            if (body[j] && oracle->number[j] < oracle->number[head])
                head = j;
        }
        struct graph inside = part;
        for (uint32_t j = 0; j < graph->count; j++) {
            if (!body[j])
                continue;
            oracle->head[j] = head;
            oracle->depth[j] = depth;
            inside.edge[j][head] = false;
            for (uint32_t k = 0; k < graph->count; k++)
                if (whole->edge[k][j] && !body[k] && j != head)
                    oracle->irreducible[head] = true;
        }
        find_loops(whole, &inside, oracle, body, depth + 1);
    }
}

/* True if the flow is what the oracle says. */
static bool agree(const struct graph *graph, const struct oracle *oracle, const struct cfg *flow)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t loop = flow->blocks[i].loop;
        if (flow->blocks[i].region != oracle->region[i])
            return false;
        for (uint32_t j = 0; j < graph->count; j++)
            if (cfg_dominates(flow, i, j) != oracle->dominates[i][j])
                return false;
        if (flow->loops[loop].head != oracle->head[i] ||
            flow->loops[loop].depth != oracle->depth[i])
            return false;
        if (loop && (flow->loops[loop].flags == CFG_IRREDUCIBLE) !=
                        oracle->irreducible[flow->loops[loop].head])
            return false;
    }
    return true;
}

static void test_random_graphs(void **state)
{
    struct base_random random = {1};
    uint32_t loops = 0, nested = 0, irreducible = 0, regions = 0, planted = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        struct graph graph;
        struct oracle oracle;
        struct cfg *flow;
        uint32_t roots[NODES_MAX];
        bool all[NODES_MAX];
        memset(all, true, sizeof all);
        make_graph(&random, &graph);
        assert_int_equal(cfg_of_graph(graph.count, graph.edges, graph.edges_count, &flow), BASE_OK);
        find_regions(&graph, &oracle, roots);
        find_dominators(&graph, &oracle, roots);
        find_loops(&graph, &graph, &oracle, all, 1);
        assert_true(cfg_check(flow));
        assert_true(agree(&graph, &oracle, flow));
        for (uint32_t i = 1; i < flow->loops_count; i++) {
            loops++;
            nested += flow->loops[i].depth > 1;
            irreducible += flow->loops[i].flags == CFG_IRREDUCIBLE;
        }
        regions += flow->blocks[graph.count - 1].region > 0;
        /* A fault must show: one dominator one step up, one block in the loop around its own. */
        uint32_t block = (uint32_t)base_random_below(&random, graph.count);
        struct cfg_block kept = flow->blocks[block], *item = &flow->blocks[block];
        if (item->dominator != CFG_NONE) {
            item->dominator = flow->blocks[item->dominator].dominator;
            assert_false(agree(&graph, &oracle, flow));
            *item = kept;
            planted++;
        }
        if (item->loop) {
            item->loop = flow->loops[item->loop].parent;
            assert_false(agree(&graph, &oracle, flow));
            planted++;
        }
        cfg_free(flow);
    }
    assert_true(loops > 5000 && nested > 500 && irreducible > 500 && regions > 500);
    assert_true(planted > 5000);
}

static void test_bad_graphs(void **state)
{
    static const struct cfg_edge edges[] = {{0, 1, CFG_JUMP}, {1, 2, CFG_JUMP}};
    struct cfg *flow = NULL;
    assert_int_equal(cfg_of_graph(2, edges, 2, &flow), BASE_MALFORMED);
    assert_int_equal(cfg_of_graph(0, edges, 1, &flow), BASE_MALFORMED);
    assert_int_equal(cfg_of_graph(CFG_INSTRUCTIONS_MAX + 1, edges, 2, &flow), BASE_UNSUPPORTED);
    assert_null(flow);
    assert_int_equal(cfg_of_graph(0, NULL, 0, &flow), BASE_OK);
    assert_true(cfg_check(flow));
    assert_int_equal(cfg_block_at(flow, 0), CFG_NONE);
    cfg_free(flow);
    cfg_free(NULL);
}

/* Shapes that take naive methods deep recursion or quadratic time: many loops within each other (as
   deep as the search for dominators goes along), then with ways into their middles. */
static uint32_t make_nest(struct cfg_edge *edges, uint32_t count)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i + 1 < count; i++)
        edges[used++] = (struct cfg_edge){i, i + 1, CFG_FALL};
    for (uint32_t i = 0; i < count / 2; i++)
        edges[used++] = (struct cfg_edge){count - 1 - i, i, CFG_TAKEN};
    return used;
}

static void test_large_graphs(void **state)
{
    enum { SOME = 8000, TOO_MANY = 60000 };
    struct cfg_edge *edges = calloc(3 * TOO_MANY, sizeof *edges);
    struct cfg *flow;
    assert_non_null(edges);
    uint32_t used = make_nest(edges, SOME);
    assert_int_equal(cfg_of_graph(SOME, edges, used, &flow), BASE_OK);
    assert_int_equal(flow->loops_count, SOME / 2 + 1);
    assert_int_equal(flow->loops[SOME / 2].depth, SOME / 2);
    assert_int_equal(flow->flags, 0);
    cfg_free(flow);
    for (uint32_t i = 0; i < SOME / 2; i++)
        edges[used++] = (struct cfg_edge){i, SOME - 1 - i / 2, CFG_JUMP};
    assert_int_equal(cfg_of_graph(SOME, edges, used, &flow), BASE_OK);
    assert_true(flow->flags == 0 || flow->flags == CFG_COMPLEX);
    assert_true(flow->flags == 0 || flow->loops_count == 1);
    cfg_free(flow);
    used = make_nest(edges, TOO_MANY);
    assert_int_equal(cfg_of_graph(TOO_MANY, edges, used, &flow), BASE_OK);
    assert_int_equal(flow->flags, CFG_COMPLEX);
    assert_int_equal(flow->loops_count, 1);
    assert_int_equal(flow->blocks[5].dominator, CFG_NONE);
    assert_int_equal(flow->blocks[TOO_MANY - 5].edges, 2);
    assert_true(cfg_check(flow));
    cfg_free(flow);
    free(edges);
}

/* ---- bytes ---- */

static void test_limits(void **state)
{
    size_t count = CFG_INSTRUCTIONS_MAX + 1;
    uint8_t *bytes = malloc(CFG_BYTES_MAX + 1);
    struct cfg *flow = NULL;
    assert_non_null(bytes);
    memset(bytes, 0x90, CFG_BYTES_MAX + 1);
    struct cfg_code code = {.bytes = bytes, .count = count, .start = 0x1000};
    flow = make(&code);
    assert_int_equal(flow->flags, CFG_LARGE);
    assert_int_equal(flow->blocks_count, 0);
    assert_int_equal(cfg_loop_at(flow, 0x1000), 0);
    cfg_free(flow);
    code.count--;
    flow = make(&code);
    assert_int_equal(flow->flags, 0);
    assert_int_equal(flow->blocks_count, 1);
    assert_int_equal(flow->blocks[0].flags, CFG_ROOT | CFG_LEAVES);
    cfg_free(flow);
    code.count = CFG_BYTES_MAX + 1;
    flow = NULL;
    assert_int_equal(cfg_of_code(&code, &flow), BASE_UNSUPPORTED);
    code.count = 2;
    code.start = UINT64_MAX;
    assert_int_equal(cfg_of_code(&code, &flow), BASE_UNSUPPORTED);
    assert_null(flow);
    code.count = 0;
    flow = make(&code);
    assert_int_equal(flow->blocks_count, 0);
    cfg_free(flow);
    free(bytes);
}

struct bytes {
    const uint8_t *items;
    size_t count;
};

static bool read_bytes(void *context, uint64_t address, void *out, size_t bytes)
{
    const struct bytes *all = context;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = all->items[(address + i) % all->count];
    return address % 7 != 0;
}

static bool returns_at_random(void *context, uint64_t callee, bool cell)
{
    return callee % 5 != cell;
}

/* Random bytes, and this program's own code with some bytes changed. */
static void test_hostile(void **state)
{
    struct base_random random = {7};
    uint8_t bytes[1024];
    for (uint32_t round = 0; round < 6000; round++) {
        size_t count = 1 + (size_t)base_random_below(&random, sizeof bytes);
        const uint8_t *source = round % 2 ? picture_0 : NULL;
        for (size_t i = 0; i < count; i++)
            bytes[i] = source ? source[i % (size_t)(threaded_end - picture_0)]
                              : (uint8_t)base_random_next(&random);
        for (uint32_t i = 0; source && i < round % 16; i++)
            bytes[base_random_below(&random, count)] = (uint8_t)base_random_next(&random);
        struct bytes all = {bytes, count};
        struct cfg_code code = {.bytes = bytes,
                                .count = count,
                                .start = round % 3 ? (uint64_t)(uintptr_t)picture_0 : 0,
                                .data = {read_bytes, &all},
                                .returns = round % 4 ? returns_at_random : NULL};
        cfg_free(make(&code));
    }
}

/* ---- progress ------------------------------------------------------------------------------ */

LABEL(ways_0);
LABEL(ways_1);
LABEL(ways_2);
LABEL(ways_3);
LABEL(ways_4);
LABEL(ways_5);
LABEL(ways_6);
LABEL(ways_7);
LABEL(ways_8);
LABEL(ways_9);
LABEL(ways_10);
LABEL(ways_11);
LABEL(ways_12);
LABEL(ways_end);
__asm__(
    FUNCTION(ways) "nop\n"
                   "ways_1: addq $1, (%rdi)\n" /* counts up to rsi in a register */
                   "inc %rax\n"
                   "cmp %rsi, %rax\n"
                   "jne ways_1\n"
                   "ways_2: mov (%rdi), %edx\n" /* down, in half a register, out in the middle */
                   "test %edx, %edx\n"
                   "je ways_3\n"
                   "sub $4, %ecx\n"
                   "jne ways_2\n"
                   "ways_3: movups (%rdx), %xmm0\n"
                   "lea 64(%rdx), %rdx\n"
                   "cmp %rsi, %rdx\n"
                   "jb ways_3\n"
                   "ways_4: inc %rax\n" /* two steps */
                   "add $2, %rax\n"
                   "jne ways_4\n"
                   "ways_5: testb $1, (%rdi)\n" /* counts, but goes two ways */
                   "je 1f\n"
                   "addq $3, 8(%rdi)\n"
                   "1: dec %ecx\n"
                   "jne ways_5\n"
                   "ways_6: call ways_end\n"
                   "dec %ebx\n"
                   "jne ways_6\n"
                   "ways_7: mov (%rdi), %eax\n" /* waits */
                   "pause\n"
                   "test %eax, %eax\n"
                   "je ways_7\n"
                   "ways_8: cmpl $0, (%rdi)\n" /* the same, for one of two */
                   "jne ways_9\n"
                   "cmpl $0, 8(%rdi)\n"
                   "je ways_8\n"
                   "ways_9: mov (%rax), %rax\n" /* walks along a list */
                   "test %rax, %rax\n"
                   "jne ways_9\n"
                   "ways_10: movl $1, (%rdi)\n" /* writes each time */
                   "cmpl $0, 8(%rdi)\n"
                   "je ways_10\n"
                   "ways_11: cmpl $0, (%rdi)\n" /* waits, but not for ever */
                   "jne ways_12\n"
                   "dec %r9\n"
                   "jne ways_11\n"
                   "ways_12: ret\n" END(ways));

static struct cfg_progress progress_at(const uint8_t *label)
{
    struct cfg_code code = code_of(ways_0, ways_end);
    struct cfg *flow = make(&code);
    struct cfg_progress progress = {.kind = 42};
    uint32_t loop = loop_at(flow, label);
    assert_int_not_equal(loop, 0);
    cfg_progress(flow, &code, loop, &progress);
    cfg_free(flow);
    return progress;
}

static void assert_counts(const uint8_t *label, unsigned counter, unsigned bytes, int64_t step)
{
    struct cfg_progress progress = progress_at(label);
    assert_int_equal(progress.kind, CFG_PROGRESS_COUNTER);
    assert_int_equal(progress.counter, counter);
    assert_int_equal(progress.bytes, bytes);
    assert_int_equal(progress.step, step);
    assert_true(progress.written >> counter & 1);
    assert_false(progress.written >> BASE_RSI & 1);
}

static void test_progress(void **state)
{
    assert_counts(ways_1, BASE_RAX, 8, 1);
    assert_counts(ways_2, BASE_RCX, 4, -4);
    assert_counts(ways_3, BASE_RDX, 8, 64);
    assert_counts(ways_11, BASE_R9, 8, -1);
    assert_int_equal(progress_at(ways_4).kind, CFG_PROGRESS_UNKNOWN);
    assert_int_equal(progress_at(ways_5).kind, CFG_PROGRESS_UNKNOWN);
    assert_int_equal(progress_at(ways_6).kind, CFG_PROGRESS_UNKNOWN);
    assert_int_equal(progress_at(ways_7).kind, CFG_PROGRESS_NONE);
    assert_int_equal(progress_at(ways_8).kind, CFG_PROGRESS_NONE);
    assert_int_equal(progress_at(ways_9).kind, CFG_PROGRESS_UNKNOWN);
    assert_int_equal(progress_at(ways_10).kind, CFG_PROGRESS_UNKNOWN);
}

/* Of loops around others nothing is said, nor of what is no loop. */
static void test_progress_of_nests(void **state)
{
    struct cfg_code code = code_of(nest_0, nest_end);
    struct cfg *flow = make(&code);
    struct cfg_progress progress;
    cfg_progress(flow, &code, loop_at(flow, nest_1), &progress);
    assert_int_equal(progress.kind, CFG_PROGRESS_UNKNOWN);
    cfg_progress(flow, &code, loop_at(flow, nest_2), &progress);
    assert_int_equal(progress.kind, CFG_PROGRESS_COUNTER);
    cfg_progress(flow, &code, 0, &progress);
    assert_int_equal(progress.kind, CFG_PROGRESS_UNKNOWN);
    cfg_progress(flow, &code, flow->loops_count, &progress);
    assert_int_equal(progress.kind, CFG_PROGRESS_UNKNOWN);
    cfg_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_nest),
        cmocka_unit_test(test_two_entries),
        cmocka_unit_test(test_no_return),
        cmocka_unit_test(test_may_return),
        cmocka_unit_test(test_handlers),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_tables_side_by_side),
        cmocka_unit_test(test_threaded),
        cmocka_unit_test(test_unresolved),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_bad_graphs),
        cmocka_unit_test(test_large_graphs),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_progress_of_nests),
    };
    return cmocka_run_group_tests_name("flow", tests, start, NULL);
}
