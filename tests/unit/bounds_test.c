// SPDX-License-Identifier: MIT
/*
 * bounds: loops whose limits are known, on a small model made here: the loop of the paper, textbook kernels,
 * recurrences through memory, idioms and flags. Ratios and unions against their definitions on random input. Bytes that are no
 * code.
 */
#include "bounds/bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"

/* CODE(name, "assembly"): its bytes are name ... name_end. */
#define CODE(name, text)                                                                           \
    __asm__(".section .rodata\n" #name ":\n" text "\n" #name "_end:\n.text\n");                    \
    extern const uint8_t name[], name##_end[]

/* ---- a machine: four ports that compute, two that load, one that stores, a divider ------------------------------ */

enum { P0 = 1, P1 = 2, P5 = 4, P6 = 8, P2 = 16, P3 = 32, P7 = 64, P4 = 128, DIVIDER = 8 };

static struct model *new_machine(void)
{
    static const char *const units[] = {"p0", "p1", "p5", "p6", "p2", "p3", "p7", "p4", "divider"};
    struct model *model = model_new("test", "a machine for tests");
    assert_non_null(model);
    for (size_t u = 0; u < BASE_COUNT(units); u++) {
        uint8_t unit;
        assert_true(model_add_unit(model, units[u], 1, &unit));
        assert_int_equal(unit, u);
    }
    struct model_machine *machine = model_edit(model);
    machine->rules = MODEL_FUSES_LOADS | MODEL_FUSES_STORES | MODEL_FUSES_COMPARE |
                     MODEL_FUSES_ARITHMETIC | MODEL_MOVES_GENERAL | MODEL_MOVES_VECTOR |
                     MODEL_STACK_ENGINE | MODEL_MERGES_LOW;
    machine->roles[MODEL_ALU] = P0 | P1 | P5 | P6;
    machine->roles[MODEL_BRANCH] = P0 | P6;
    const float figures[MODEL_FIGURES] = {
        [MODEL_WIDTH] = 4,          [MODEL_TAKEN] = 1,          [MODEL_LOAD_LATENCY] = 5,
        [MODEL_LOAD_INDEXED] = 5,   [MODEL_LOAD_VECTOR] = 6,    [MODEL_FORWARD_GENERAL] = 4,
        [MODEL_FORWARD_VECTOR] = 5, [MODEL_FORWARD_FAILED] = 14};
    for (unsigned f = 0; f < MODEL_FIGURES; f++)
        if (figures[f] > 0)
            machine->figures[f] = (struct model_figure){.value = figures[f], .source = MODEL_TABLE};
    return model;
}

static void use(struct model_figures *figures, model_set units, float cycles)
{
    figures->uses[figures->use_count++] = (struct model_use){units, cycles};
    figures->micro_operations += cycles;
}

static bool has(const struct bounds_instruction *instruction, const char *word)
{
    return strncmp(instruction->key, word, strlen(word)) == 0;
}

static float compute_cycles(const struct bounds_instruction *instruction, bool vector,
                            model_set *units)
{
    *units = vector ? P0 | P1 : P0 | P1 | P5 | P6;
    if (has(instruction, "popcnt"))
        return 3;
    switch (instruction->category) {
    case BOUNDS_DIVIDE: *units = P0; return 14;
    case BOUNDS_MULTIPLY: *units = vector ? P0 | P1 : P1; return vector ? 4 : 3;
    case BOUNDS_ADD: return vector ? 4 : 1;
    case BOUNDS_FUSED: return 4;
    default: return 1;
    }
}

/* Figures by what the instruction is: enough for the loops below, and like those of Skylake. */
static void add_form(struct model *model, const struct bounds_instruction *instruction)
{
    struct model_figures figures = {
        .fused = 1, .fused_indexed = 1, .latency_source = MODEL_TABLE, .use_source = MODEL_TABLE};
    bool vector = false, load = false, store = false, results = false;
    model_set units;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        vector |= operand->kind == BOUNDS_REGISTER && operand->reg >= BOUNDS_VECTOR;
        load |= operand->kind == BOUNDS_MEMORY && operand->reads;
        store |= operand->kind == BOUNDS_MEMORY && operand->writes;
        results |= operand->writes && operand->kind != BOUNDS_MEMORY;
    }
    float cycles = compute_cycles(instruction, vector, &units);
    bool pure = (load || store) && (instruction->category == BOUNDS_MOVE || instruction->stack);
    if (load)
        use(&figures, P2 | P3, 1);
    if (store) {
        use(&figures, P2 | P3 | P7, 1);
        use(&figures, P4, 1);
    }
    if (!pure)
        use(&figures, instruction->branches || instruction->jumps ? P0 | P6 : units, 1);
    figures.fused = figures.fused_indexed = load && store ? 2 : 1;
    if (instruction->category == BOUNDS_DIVIDE)
        figures.busy[figures.busy_count++] = (struct model_busy){DIVIDER, 4, 8};
    if (has(instruction, "xor") || has(instruction, "pxor"))
        figures.idioms |= MODEL_ZEROES;
    if (has(instruction, "popcnt"))
        figures.idioms |= MODEL_WAITS;
    if (has(instruction, "pcmpeq"))
        figures.idioms |= MODEL_BREAKS;
    if (instruction->category == BOUNDS_MOVE && !load && !store && !strstr(instruction->key, "r8"))
        figures.idioms |= MODEL_MOVES;
    float loaded = vector ? 6 : 5;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (instruction->operands[k].kind == BOUNDS_MEMORY && instruction->operands[k].reads &&
            (results || store))
            figures.latencies[figures.latency_count++] =
                (struct model_latency){instruction->operands[k].number, MODEL_ANY,
                                       loaded + (pure ? 0 : cycles), loaded + (pure ? 0 : cycles)};
    float most = instruction->category == BOUNDS_DIVIDE ? cycles + 6 : cycles;
    figures.latencies[figures.latency_count++] =
        (struct model_latency){MODEL_ANY, MODEL_ANY, pure ? 0 : cycles, pure ? 0 : most};
    assert_true(model_add(model, instruction->key, &figures));
}

struct loop {
    struct bounds_block block;
    struct model *model;
    struct bounds bounds;
};

/* Figures that a test gives the machine besides; it takes them back. */
static float besides[MODEL_FIGURES];

static void add_besides(struct model_machine *machine)
{
    for (unsigned f = 0; f < MODEL_FIGURES; f++)
        if (besides[f] > 0)
            machine->figures[f] = (struct model_figure){.value = besides[f], .source = MODEL_TABLE};
}

static struct loop bound_with(const uint8_t *from, const uint8_t *to, struct bounds_options options,
                              uint32_t rules)
{
    struct loop loop = {.model = new_machine()};
    size_t bad;
    assert_int_equal(bounds_decode(from, (size_t)(to - from), 0x1000, true, &loop.block, &bad),
                     BASE_OK);
    for (size_t i = 0; i < loop.block.count; i++)
        add_form(loop.model, &loop.block.instructions[i]);
    assert_true(model_seal(loop.model));
    model_edit(loop.model)->rules |= rules;
    add_besides(model_edit(loop.model));
    assert_int_equal(bounds_of(&loop.block, loop.model, &options, &loop.bounds), BASE_OK);
    assert_int_equal(loop.bounds.unknown, 0);
    assert_true(loop.bounds.certified <= loop.bounds.predicted + 1e-9);
    return loop;
}

static void drop(struct loop *loop)
{
    bounds_free(&loop->bounds);
    bounds_block_free(&loop->block);
    model_close(loop->model);
}

#define BOUND(name)                                                                                \
    bound_with(name, name##_end, (struct bounds_options){.taken = 1, .graph = true}, 0)
#define assert_cycles(value, expected)                                                             \
    assert_true((value) > (expected)-1e-3 && (value) < (expected) + 1e-3)

static void expect(const char *name, const uint8_t *from, const uint8_t *to, double recurrence,
                   double resource, double frontend)
{
    struct loop loop = bound_with(from, to, (struct bounds_options){.taken = 1}, 0);
    char found[96], expected[96];
    snprintf(found, sizeof found, "%s %.3f %.3f %.3f", name, loop.bounds.recurrence,
             loop.bounds.resource, loop.bounds.frontend);
    snprintf(expected, sizeof expected, "%s %.3f %.3f %.3f", name, recurrence, resource, frontend);
    drop(&loop);
    assert_string_equal(found, expected);
}
#define EXPECT(name, ...) expect(#name, name, name##_end, __VA_ARGS__)

/* ---- the paper's loop: c(i,j) = c(i-1,j) / b(i,j,k-2) and a product -------------------------------------------------- */

CODE(paper,
     "1: movsd (%rdx), %xmm1; mulsd (%rcx), %xmm1; mulsd %xmm2, %xmm1; movsd %xmm1, (%r8)\n"
     "movsd -8(%rdi), %xmm0; divsd (%rsi), %xmm0; movsd %xmm0, (%rdi)\n"
     "add $8, %rdx; add $8, %rcx; add $8, %r8; add $8, %rdi; add $8, %rsi; cmp %r9, %rdi; jne 1b");

static struct loop paper_loop(void)
{
    struct bounds_latencies latencies;
    char why[128];
    assert_true(bounds_latencies_read("load=2,div=12,store=2", &latencies, why, sizeof why));
    return bound_with(paper, paper_end,
                      (struct bounds_options){.taken = 1, .graph = true, .latencies = &latencies},
                      0);
}

static void nowhere(void *context, uint32_t instruction, char *text, size_t bytes)
{
    snprintf(text, bytes, instruction >= 4 && instruction < 7 ? "line 10" : "line 9");
}

static void paper_has_its_circuit(void **state)
{
    struct loop loop = paper_loop();
    assert_int_equal(loop.bounds.circuit_latency, 16000);
    assert_int_equal(loop.bounds.circuit_distance, 1);
    assert_int_equal(loop.bounds.circuit_count, 3);
    assert_cycles(loop.bounds.recurrence, 16);
    assert_int_equal(loop.bounds.limit, BOUNDS_BY_RECURRENCE);
    struct util_text text = {0};
    assert_true(bounds_circuit(&loop.bounds, &loop.block, nowhere, NULL, &text));
    assert_non_null(strstr(text.bytes, "critical circuit: 16/1\n"));
    assert_non_null(strstr(text.bytes, "source: load of movsd -0x8(%rdi), %xmm0 (line 10)\n"
                                       "dest:   divsd (%rsi), %xmm0 (line 10)\n        <2 , 0>\n"));
    assert_non_null(strstr(text.bytes,
                           "source: divsd (%rsi), %xmm0 (line 10)\n"
                           "dest:   store of movsd %xmm0, (%rdi) (line 10)\n        <12 , 0>\n"));
    assert_non_null(
        strstr(text.bytes, "dest:   load of movsd -0x8(%rdi), %xmm0 (line 10)\n        <2 , 1>\n"));
    util_text_free(&text);
    drop(&loop);
}

/* Twelve cycles of the divider for each division. */
static void paper_is_bound_by_the_divider(void **state)
{
    struct loop loop = paper_loop();
    bounds_free(&loop.bounds);
    for (size_t i = 0; i < loop.block.count; i++)
        if (loop.block.instructions[i].category == BOUNDS_DIVIDE) {
            struct model_figures figures = *model_find(loop.model, loop.block.instructions[i].key,
                                                       loop.block.instructions[i].key_bytes);
            figures.busy[0].least = figures.busy[0].most = 12;
            assert_true(model_add(loop.model, loop.block.instructions[i].key, &figures));
        }
    assert_true(model_seal(loop.model));
    struct bounds_options options = {.taken = 1};
    assert_int_equal(bounds_of(&loop.block, loop.model, &options, &loop.bounds), BASE_OK);
    assert_cycles(loop.bounds.resource, 12);
    for (size_t r = 0; r < loop.bounds.resource_count; r++)
        assert_int_equal(loop.bounds.resources[r].bottleneck,
                         strcmp(loop.bounds.resources[r].name, "divider") == 0);
    drop(&loop);
}

/* Three forms of 8, 8 and 9 cycles each, to places of their own: one after the other. The last instruction is no lock. */
CODE(locks, "1: lock addq %rax, (%rdi); xchg %rbx, 64(%rdi); lock xaddq %rcx, 128(%rdi)\n"
            "add %r8, 192(%rdi); dec %r9; jne 1b");

static void locked_accesses_follow_one_another(void **state)
{
    struct loop loop = BOUND(locks);
    bounds_free(&loop.bounds);
    for (size_t i = 0; i < loop.block.count; i++) {
        const struct bounds_instruction *instruction = &loop.block.instructions[i];
        struct model_figures figures =
            *model_find(loop.model, instruction->key, instruction->key_bytes);
        figures.throughput = has(instruction, "xadd") ? 9 : i < 3 ? 8 : 1;
        figures.throughput_source = MODEL_MEASURED;
        assert_true(model_add(loop.model, instruction->key, &figures));
    }
    assert_true(model_seal(loop.model));
    struct bounds_options options = {.taken = 1};
    assert_int_equal(bounds_of(&loop.block, loop.model, &options, &loop.bounds), BASE_OK);
    assert_cycles(loop.bounds.resource, 25);
    for (size_t r = 0; r < loop.bounds.resource_count; r++)
        assert_int_equal(loop.bounds.resources[r].bottleneck,
                         strcmp(loop.bounds.resources[r].name, "locked accesses") == 0);
    drop(&loop);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

static void paper_is_listed_and_drawn(void **state)
{
    struct loop loop = paper_loop();
    struct util_text text = {0};
    assert_true(bounds_list(&loop.bounds, &loop.block, nowhere, NULL, &text));
    assert_non_null(strstr(text.bytes,
                           "-----> FLOW dependence between store of movsd %xmm0, (%rdi) (line 10)\n"
                           "       and load of movsd -0x8(%rdi), %xmm0 (line 10)\n"
                           "       through memory, distance 1, latency 2\n"));
    assert_int_equal(count_of(text.bytes, "ANTI"),
                     0); /* c(i-1) is read after it was written for the last time */
    assert_non_null(strstr(text.bytes, "if they overlap"));
    util_text_free(&text);
    assert_true(bounds_dot(&loop.bounds, &loop.block, nowhere, NULL, "a \"loop\"", &text));
    assert_non_null(strstr(text.bytes, "label=\"a \\\"loop\\\"\""));
    assert_non_null(strstr(text.bytes, "shape=triangle"));
    assert_int_equal(count_of(text.bytes, "penwidth=3"), 3);
    assert_int_equal(count_of(text.bytes, "\n}"), 1);
    util_text_free(&text);
    drop(&loop);
}

/* ---- textbook kernels ------------------------------------------------------------------------------------------------- */

CODE(dot, "1: vmovupd (%rdi,%rax), %ymm1; vfmadd231pd (%rsi,%rax), %ymm1, %ymm0; add $32, %rax; "
          "cmp %rcx, %rax; jne 1b");
CODE(horner, "1: mulsd %xmm1, %xmm0; addsd %xmm2, %xmm0; mulsd %xmm1, %xmm0; addsd %xmm2, %xmm0; "
             "dec %rcx; jne 1b");
CODE(kahan, "1: movsd (%rdi), %xmm1; subsd %xmm2, %xmm1; movapd %xmm0, %xmm3; addsd %xmm1, %xmm3\n"
            "movapd %xmm3, %xmm2; subsd %xmm0, %xmm2; subsd %xmm1, %xmm2; movapd %xmm3, %xmm0\n"
            "add $8, %rdi; cmp %rsi, %rdi; jne 1b");
CODE(chase, "1: mov (%rdi), %rdi; dec %rcx; jne 1b");
CODE(congruence, "1: imul %rsi, %rax; add %rdx, %rax; dec %rcx; jne 1b");
CODE(quotient, "1: divsd %xmm1, %xmm0; dec %rcx; jne 1b");
CODE(triad, "1: vmovupd (%rdi,%rax), %ymm1; vfmadd132pd (%rsi,%rax), %ymm2, %ymm1; vmovupd %ymm1, "
            "(%rdx,%rax)\n"
            "add $32, %rax; cmp %rcx, %rax; jne 1b");
CODE(counted, "1: incq (%rdi); dec %rcx; jne 1b");

static void kernels_have_their_bounds(void **state)
{
    EXPECT(dot, 4, 1, 1);
    EXPECT(horner, 16, 2, 1.25);
    EXPECT(kahan, 16, 2, 2.5);
    EXPECT(chase, 5, 0.5, 1);
    EXPECT(congruence, 4, 1, 1);
    EXPECT(quotient, 14, 4, 1);
    EXPECT(triad, 1, 1, 1.25);
    EXPECT(counted, 5, 1, 1);
}

/* The longest latency that values can cause is a figure of its own. */
static void division_varies(void **state)
{
    struct loop loop = BOUND(quotient);
    assert_cycles(loop.bounds.recurrence_most, 20);
    assert_cycles(loop.bounds.certified, 14);
    drop(&loop);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

CODE(before, "1: movsd -24(%rdi,%rax,8), %xmm0; addsd (%rsi,%rax,8), %xmm0; movsd %xmm0, "
             "(%rdi,%rax,8); inc %rax; cmp %rax, %rcx; jne 1b");
CODE(strided, "1: movsd (%rdi), %xmm0; addsd %xmm1, %xmm0; movsd %xmm0, (%rdi,%rcx); add %rcx, "
              "%rdi; dec %rdx; jne 1b");
CODE(apart, "1: movsd 8(%rdi), %xmm0; addsd %xmm1, %xmm0; movsd %xmm0, (%rdi); add $8, %rdi; dec "
            "%rdx; jne 1b");
CODE(narrow, "1: mov %eax, (%rdi); mov (%rdi), %rax; dec %rdx; jne 1b");
CODE(
    unoptimized,
    "1: mov -4(%rbp), %eax; cltq; mov -24(%rbp), %rdx; movsd -8(%rdx,%rax,8), %xmm0; addsd %xmm1, "
    "%xmm0\n"
    "mov -4(%rbp), %eax; cltq; mov -24(%rbp), %rdx; movsd %xmm0, (%rdx,%rax,8); addl $1, -4(%rbp)\n"
    "cmpl $99, -4(%rbp); jle 1b");
CODE(pushed, "1: push %rax; pop %rax; add $1, %rax; dec %rcx; jne 1b");
CODE(aliased, "1: mov (%rdi), %rax; add $1, %rax; mov %rax, (%rsi); dec %rcx; jne 1b");

static void memory_is_followed(void **state)
{
    EXPECT(before, 3, 1, 1.25); /* (5 + 4) / 3 */
    EXPECT(strided, 9, 1, 1.25);
    EXPECT(apart, 1, 1, 1.25); /* 8(%rdi) is read before it is written: only the counters recur */
    EXPECT(unoptimized, 9, 3.5, 3.25);
    EXPECT(pushed, 5, 1, 1);
}

static void failed_forwarding_is_no_certified_bound(void **state)
{
    struct loop loop = BOUND(narrow);
    assert_cycles(loop.bounds.recurrence, 14);
    assert_cycles(loop.bounds.certified, 4);
    drop(&loop);
}

static void aliasing_is_apart(void **state)
{
    struct loop loop = BOUND(aliased);
    assert_cycles(loop.bounds.recurrence, 1);
    assert_cycles(loop.bounds.aliased, 5);
    drop(&loop);
}

/* ---- idioms, flags, parts of registers --------------------------------------------------------------------------------- */

CODE(zeroed, "1: xor %eax, %eax; imul %rsi, %rax; dec %rcx; jne 1b");
CODE(moved, "1: mov %rax, %rbx; imul %rbx, %rdx; mov %rdx, %rax; dec %rcx; jne 1b");
CODE(carried, "1: adc %rsi, %rax; adc %rsi, %rbx; adc %rsi, %rdx; lea -1(%rcx), %rcx; jmp 1b");
CODE(spared, "1: adc %rsi, %rax; dec %rcx; jne 1b");
CODE(merged, "1: imul %rsi, %rax; mov %dl, %al; dec %rcx; jne 1b");
CODE(replaced, "1: imul %rsi, %rax; mov %edx, %eax; dec %rcx; jne 1b");
CODE(waited, "1: popcnt %rsi, %rax; dec %rcx; jne 1b"); /* its result is an input, too */
CODE(called, "1: imul %rsi, %rax; call 1b; dec %rbx; jne 1b");

static void registers_are_followed(void **state)
{
    EXPECT(zeroed, 1, 1, 1);
    EXPECT(moved, 3, 1, 1);
    EXPECT(carried, 3, 1.25, 1.25);
    EXPECT(spared, 1, 0.5, 1);
    EXPECT(merged, 4, 1, 1);
    EXPECT(replaced, 1, 1, 1);
    EXPECT(waited, 3, 0.5, 1);
    EXPECT(called, 1, 1, 1); /* the callee may have changed rax */
}

static void branches_fuse_by_the_rules(void **state)
{
    struct loop fused = BOUND(chase);
    assert_cycles(fused.bounds.slots_count, 2);
    model_edit(fused.model)->rules &= ~(uint32_t)MODEL_FUSES_ARITHMETIC;
    bounds_free(&fused.bounds);
    struct bounds_options options = {.taken = 1};
    assert_int_equal(bounds_of(&fused.block, fused.model, &options, &fused.bounds), BASE_OK);
    assert_cycles(fused.bounds.slots_count, 3);
    drop(&fused);
}

/* ---- ratios against their definition ------------------------------------------------------------------------------------- */

/* Is there a circuit with Σ (latency · distance_of_all - latency_of_all · distance) > 0? */
static bool exceeds(const struct bounds_arc *arcs, size_t arc_count, size_t vertex_count,
                    int64_t latency, int64_t distance)
{
    int64_t *reached = calloc(vertex_count, sizeof *reached);
    bool changed = true;
    for (size_t round = 0; round <= vertex_count && changed; round++) {
        changed = false;
        for (size_t a = 0; a < arc_count; a++) {
            int64_t next =
                reached[arcs[a].from] + arcs[a].latency * distance - latency * arcs[a].distance;
            if (next > reached[arcs[a].to]) {
                reached[arcs[a].to] = next;
                changed = true;
            }
        }
    }
    free(reached);
    return changed;
}

static void check_circuit(const struct bounds_arc *arcs, const uint32_t *circuit, size_t count,
                          int64_t latency, int64_t distance)
{
    int64_t latencies = 0, distances = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(arcs[circuit[i]].to, arcs[circuit[(i + 1) % count]].from);
        latencies += arcs[circuit[i]].latency;
        distances += arcs[circuit[i]].distance;
    }
    assert_int_equal(latencies, latency);
    assert_int_equal(distances, distance);
}

/* Arcs forward have any distance, arcs backward at least 1, as in a loop. */
static void ratios_are_largest(void **state)
{
    uint64_t seed = 7;
    for (unsigned trial = 0; trial < 3000; trial++) {
        struct bounds_arc arcs[60];
        uint64_t random = seed = base_mix64(seed + trial);
        size_t vertex_count = 1 + random % 14, arc_count = (random >> 8) % 60;
        for (size_t a = 0; a < arc_count; a++) {
            random = base_mix64(random + a);
            arcs[a] = (struct bounds_arc){.from = (uint32_t)(random % vertex_count),
                                          .to = (uint32_t)((random >> 16) % vertex_count),
                                          .latency = (int32_t)((random >> 32) % 20) * 500 - 1000};
            arcs[a].distance = (uint16_t)((arcs[a].from >= arcs[a].to) + (random >> 50) % 3 / 2);
        }
        uint32_t *circuit = NULL;
        size_t count = 0;
        int64_t latency, distance;
        assert_int_equal(bounds_ratio(arcs, arc_count, vertex_count, NULL, &circuit, &count,
                                      &latency, &distance),
                         BASE_OK);
        if (count) {
            check_circuit(arcs, circuit, count, latency, distance);
            assert_false(exceeds(arcs, arc_count, vertex_count, latency, distance));
            assert_true(exceeds(arcs, arc_count, vertex_count, latency * 10 - 1,
                                distance * 10)); /* a fault would be seen */
        } else {
            assert_false(exceeds(arcs, arc_count, vertex_count, -1000000, 1));
        }
        free(circuit);
    }
}

/* ---- unions of ports against their definition --------------------------------------------------------------------------------- */

CODE(nothing, "mov %rax, %rbx; mov %rcx, %rdx; add %rax, %rcx; imul %rax, %rbx; bswap %rax; popcnt "
              "%rax, %rcx; tzcnt %rax, %rdx; lea (%rax), %rbx");

static double most_work(const struct model_use *uses, size_t count)
{
    double most = 0;
    for (model_set units = 1; units < 64; units++) {
        double work = 0;
        for (size_t u = 0; u < count; u++)
            work += (uses[u].units & ~units) == 0 ? uses[u].cycles : 0;
        most =
            work / __builtin_popcountll(units) > most ? work / __builtin_popcountll(units) : most;
    }
    return most;
}

static void unions_are_fullest(void **state)
{
    for (unsigned trial = 0; trial < 500; trial++) {
        struct loop loop = {.model = new_machine()};
        struct model_use uses[8];
        size_t bad;
        uint64_t random = base_mix64(trial + 99);
        assert_int_equal(
            bounds_decode(nothing, (size_t)(nothing_end - nothing), 0, false, &loop.block, &bad),
            BASE_OK);
        assert_int_equal(loop.block.count, 8);
        for (size_t i = 0; i < 8; i++) {
            random = base_mix64(random);
            uses[i] = (struct model_use){1 + random % 63, (float)(1 + (random >> 20) % 8) / 2};
            if (i == 1)
                uses[i] = uses[0]; /* the same form */
            struct model_figures figures = {
                .fused = 1, .fused_indexed = 1, .use_count = 1, .uses = {uses[i]}};
            assert_true(model_add(loop.model, loop.block.instructions[i].key, &figures));
        }
        assert_true(model_seal(loop.model));
        struct bounds_options options = {.unrolled = true};
        assert_int_equal(bounds_of(&loop.block, loop.model, &options, &loop.bounds), BASE_OK);
        assert_cycles(loop.bounds.resource, most_work(uses, 8));
        double total = 0, spread = 0;
        for (size_t u = 0; u < 8; u++)
            total += uses[u].cycles;
        for (size_t r = 0; r < loop.bounds.resource_count; r++)
            spread += loop.bounds.resources[r].cycles;
        assert_cycles(spread, total); /* the table loses nothing */
        drop(&loop);
    }
}

/* ---- address streams ---------------------------------------------------------------------------------------------------- */

CODE(streams,
     "1: movsd (%rdi,%rax,8), %xmm0; addsd -8(%rdi,%rax,8), %xmm0; mulsd table(%rip), %xmm0\n"
     "mov (%rsi), %rcx; addsd (%rdx,%rcx,8), %xmm0; movsd %xmm0, (%r8); lea 16(%r9), %r10\n"
     "addsd (%r10), %xmm1; mov 24(%rsp), %r11; addsd (%r11,%rax,8), %xmm1; incq 40(%rsp)\n"
     "add %r13, %r8; add $-4, %rsi; add $32, %r9; inc %rax; cmp %r12, %rax; jne 1b\n"
     ".set table, 1b + 0x100");

static void streams_have_their_strides(void **state)
{
    static const struct {
        uint8_t kind;
        bool from_registers;
        int64_t stride, offset;
    } expected[] = {{BOUNDS_STRIDE_CONSTANT, true, 8, 0},
                    {BOUNDS_STRIDE_CONSTANT, true, 8, -8},
                    {BOUNDS_STRIDE_CONSTANT, true, 0, 0x1100},
                    {BOUNDS_STRIDE_CONSTANT, true, -4, 0},
                    {BOUNDS_STRIDE_IRREGULAR, false, 0, 0},  /* by an index that is loaded */
                    {BOUNDS_STRIDE_INVARIANT, true, 0, 0},   /* by what a register holds */
                    {BOUNDS_STRIDE_CONSTANT, false, 32, 16}, /* by a register made from another */
                    {BOUNDS_STRIDE_CONSTANT, true, 0, 24},
                    {BOUNDS_STRIDE_CONSTANT, false, 8, 0}, /* from a pointer kept in the frame */
                    {BOUNDS_STRIDE_CONSTANT, true, 0, 40}};
    struct loop loop =
        bound_with(streams, streams_end, (struct bounds_options){.taken = 1, .streams = true}, 0);
    assert_int_equal(loop.bounds.stream_count, BASE_COUNT(expected));
    for (size_t i = 0; i < BASE_COUNT(expected); i++) {
        const struct bounds_stream *stream = &loop.bounds.streams[i];
        assert_int_equal(stream->kind, expected[i].kind);
        assert_int_equal(stream->from_registers, expected[i].from_registers);
        assert_int_equal(stream->stride, expected[i].stride);
        if (stream->kind != BOUNDS_STRIDE_IRREGULAR)
            assert_int_equal(stream->offset, expected[i].offset);
    }
    assert_true(loop.bounds.streams[0].root == loop.bounds.streams[1].root);
    assert_true(loop.bounds.streams[0].root != loop.bounds.streams[3].root);
    drop(&loop);
}

/* ---- what is given, and what is no code ------------------------------------------------------------------------------------------ */

static void latencies_are_read(void **state)
{
    struct bounds_latencies latencies = bounds_as_modelled;
    char why[128];
    assert_true(bounds_latencies_read("add=1.5", &latencies, why, sizeof why));
    assert_true(latencies.category[BOUNDS_ADD] == 1.5F && latencies.load < 0);
    static const char *const wrong[] = {
        "",        "load",    "load=",      "load=x",      "load=-1",
        "load=1,", "heavy=2", "load=99999", "load=1;add=2"};
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        assert_false(bounds_latencies_read(wrong[i], &latencies, why, sizeof why));
        assert_true(latencies.category[BOUNDS_ADD] == 1.5F);
    }
}

static void any_bytes_have_a_result(void **state)
{
    struct model *model = new_machine();
    assert_true(model_seal(model));
    uint64_t random = 3;
    for (unsigned trial = 0; trial < 20000; trial++) {
        uint8_t bytes[48];
        for (size_t i = 0; i < sizeof bytes; i += 8) {
            random = base_mix64(random);
            memcpy(bytes + i, &random, 8);
        }
        struct bounds_block block = {0};
        struct bounds bounds;
        size_t bad = 0;
        if (bounds_decode(bytes, sizeof bytes, 0, true, &block, &bad) == BASE_MALFORMED) {
            assert_int_equal(block.count, 0);
            if (bad) /* what comes before is code */
                assert_int_equal(bounds_decode(bytes, bad, 0, true, &block, &bad), BASE_OK);
        }
        struct bounds_options options = {.unrolled = trial & 1, .graph = trial & 2};
        enum base_status status = bounds_of(&block, model, &options, &bounds);
        assert_int_equal(status, block.count ? BASE_OK : BASE_NOT_FOUND);
        if (status == BASE_OK) {
            assert_true(bounds.certified >= 0 && bounds.predicted >= bounds.certified);
            bounds_free(&bounds);
        }
        bounds_block_free(&block);
    }
    model_close(model);
}

/* A chain of a form that the model lacks: estimated, and not certain. */
CODE(lacking, "1: pmulld %xmm1, %xmm0; pmulld %xmm1, %xmm0; pmulld %xmm1, %xmm0; dec %rcx; jne 1b");

static void estimates_are_not_certain(void **state)
{
    struct bounds_block block = {0};
    struct bounds_options options = {.taken = 1};
    struct bounds bounds;
    struct model *model = new_machine();
    size_t bad;
    assert_int_equal(
        bounds_decode(lacking, (size_t)(lacking_end - lacking), 0x1000, true, &block, &bad),
        BASE_OK);
    for (size_t i = 3; i < block.count; i++)
        add_form(model, &block.instructions[i]);
    assert_true(model_seal(model));
    assert_int_equal(bounds_of(&block, model, &options, &bounds), BASE_OK);
    assert_cycles(bounds.predicted, 3);
    assert_cycles(bounds.recurrence, 3);
    assert_cycles(bounds.certified, 1); /* the branch; four slots */
    bounds_free(&bounds);
    bounds_block_free(&block);
    model_close(model);
    (void)state;
}

/* ---- stores one after the other, and from store to load ------------------------------------------------- */

/* Three stores a turn in two blocks of 32 bytes, one at another address: there and back. */
CODE(scattered,
     "1: mov %rax, (%rdi); mov %rax, 8(%rdi); mov %rax, 32(%rdi); mov %rax, 8(%rsi); jmp 1b");
/* All in one. */
CODE(together,
     "1: mov %rax, (%rdi); mov %rax, 8(%rdi); mov %rax, 24(%rdi); mov %rax, 16(%rdi); jmp 1b");
/* A new one each fourth turn. */
CODE(filled, "1: mov %rax, (%rdi); add $8, %rdi; jmp 1b");

static void stores_change_blocks(void **state)
{
    besides[MODEL_STORE_BLOCK] = 32;
    struct loop loop = BOUND(scattered);
    assert_cycles(loop.bounds.store_blocks, 3);
    assert_cycles(loop.bounds.certified, 4); /* the port for data */
    drop(&loop);
    loop = BOUND(together);
    assert_cycles(loop.bounds.store_blocks, 0);
    drop(&loop);
    loop = BOUND(filled);
    assert_true(loop.bounds.store_blocks > 0.2 && loop.bounds.store_blocks < 0.3);
    drop(&loop);
    besides[MODEL_STORE_BLOCK] = 0;
    loop = BOUND(scattered);
    assert_cycles(loop.bounds.store_blocks, 0);
    drop(&loop);
}

CODE(alternate, "1: mov %rax, (%rdi); mov %rax, 64(%rdi); jmp 1b");

static void far_stores_are_predicted_not_certified(void **state)
{
    static const struct bounds_options options = {.taken = 1};
    besides[MODEL_STORE_BLOCK] = 32;
    besides[MODEL_WIDTH] = 8;
    struct loop loop = bound_with(alternate, alternate_end, options, 0);
    struct model_machine *machine = model_edit(loop.model);
    machine->units[7].copies = 2; /* p4: two stores a cycle */
    bounds_free(&loop.bounds);
    assert_int_equal(bounds_of(&loop.block, loop.model, &options, &loop.bounds), BASE_OK);
    assert_cycles(loop.bounds.certified, 1);
    assert_cycles(loop.bounds.predicted, 2);
    assert_int_equal(loop.bounds.limit, BOUNDS_BY_RESOURCE);
    assert_cycles(loop.bounds.pressure[0], 1);
    drop(&loop);
    besides[MODEL_STORE_BLOCK] = besides[MODEL_WIDTH] = 0;
}

CODE(stack, "1: mov %rbx, -64(%rsp); mov -64(%rsp), %rbx; add $1, %rbx; jmp 1b");
CODE(frame, "1: mov %rbx, -64(%rbp); mov -64(%rbp), %rbx; add $1, %rbx; jmp 1b");
CODE(operated, "1: mov %rbx, -64(%rsp); add -64(%rsp), %rbx; jmp 1b");
CODE(changed, "1: addq $1, -64(%rsp); jmp 1b");

/* What a load with rsp takes, rbp only by the rule; what works on the datum waits as ever. */
static void the_stack_forwards_in_its_own_time(void **state)
{
    static const struct bounds_options options = {.taken = 1};
    besides[MODEL_FORWARD_STACK] = 2;
    struct loop loop = bound_with(stack, stack_end, options, 0);
    assert_cycles(loop.bounds.recurrence, 2 + 1);
    drop(&loop);
    loop = bound_with(frame, frame_end, options, 0);
    assert_cycles(loop.bounds.recurrence, 4 + 1);
    drop(&loop);
    loop = bound_with(frame, frame_end, options, MODEL_FORWARDS_FRAME);
    assert_cycles(loop.bounds.recurrence, 2 + 1);
    drop(&loop);
    loop = bound_with(operated, operated_end, options, 0);
    assert_cycles(loop.bounds.recurrence, 4 + 1);
    drop(&loop);
    loop = bound_with(changed, changed_end, options, 0);
    assert_cycles(loop.bounds.recurrence, 2 + 1);
    drop(&loop);
    besides[MODEL_FORWARD_STACK] = 0;
}

CODE(adjusted, "1: push %rbx; add $8, %rsp; jmp 1b");
CODE(addressed, "1: push %rbx; mov 16(%rsp), %rax; add $8, %rsp; jmp 1b");
CODE(cancelled, "1: push %rbx; pop %rcx; add $8, %rsp; jmp 1b");

/* Behind push and pop rsp is brought up to date for what reads it: a cycle and a slot, predicted alone; where they cancel out it need not be. */
static void the_stack_pointer_is_brought_up_to_date(void **state)
{
    struct loop loop = BOUND(adjusted);
    assert_cycles(loop.bounds.predicted, 2);
    assert_cycles(loop.bounds.certified, 1);
    assert_cycles(loop.bounds.slots_count, 4);
    model_edit(loop.model)->rules &= ~(uint32_t)MODEL_STACK_ENGINE;
    bounds_free(&loop.bounds);
    struct bounds_options options = {.taken = 1};
    assert_int_equal(bounds_of(&loop.block, loop.model, &options, &loop.bounds), BASE_OK);
    assert_cycles(loop.bounds.slots_count, 3);
    drop(&loop);
    loop = BOUND(addressed);
    assert_cycles(loop.bounds.predicted, 2);
    drop(&loop);
    loop = BOUND(cancelled);
    assert_cycles(loop.bounds.predicted, 1);
    assert_cycles(loop.bounds.slots_count, 4);
    drop(&loop);
}

CODE(forwarded, "1: mov %rbx, (%rdi); mov (%rdi), %rbx; add $1, %rbx; jmp 1b");

static void the_least_forwarding_is_certified(void **state)
{
    besides[MODEL_FORWARD_LEAST] = 3;
    struct loop loop = BOUND(forwarded);
    assert_cycles(loop.bounds.predicted, 4 + 1);
    assert_cycles(loop.bounds.certified, 3 + 1);
    drop(&loop);
    besides[MODEL_FORWARD_LEAST] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_has_its_circuit),
        cmocka_unit_test(paper_is_bound_by_the_divider),
        cmocka_unit_test(paper_is_listed_and_drawn),
        cmocka_unit_test(kernels_have_their_bounds),
        cmocka_unit_test(division_varies),
        cmocka_unit_test(memory_is_followed),
        cmocka_unit_test(failed_forwarding_is_no_certified_bound),
        cmocka_unit_test(aliasing_is_apart),
        cmocka_unit_test(registers_are_followed),
        cmocka_unit_test(branches_fuse_by_the_rules),
        cmocka_unit_test(ratios_are_largest),
        cmocka_unit_test(unions_are_fullest),
        cmocka_unit_test(locked_accesses_follow_one_another),
        cmocka_unit_test(streams_have_their_strides),
        cmocka_unit_test(stores_change_blocks),
        cmocka_unit_test(far_stores_are_predicted_not_certified),
        cmocka_unit_test(the_stack_forwards_in_its_own_time),
        cmocka_unit_test(the_stack_pointer_is_brought_up_to_date),
        cmocka_unit_test(the_least_forwarding_is_certified),
        cmocka_unit_test(latencies_are_read),
        cmocka_unit_test(any_bytes_have_a_result),
        cmocka_unit_test(estimates_are_not_certain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
