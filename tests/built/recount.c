// SPDX-License-Identifier: MIT
/*
 * recount OUTPUT PROGRAM [ARGUMENTS...]: executes a program built by `headroom cc --paths` under
 * watch and counts its paths from the addresses that it comes through. Knows what the program's map
 * says of blocks and edges, nothing of numbers, operations and counters: those are what it is to be
 * compared with.
 *
 * Writes "ENTRY BLOCK,BLOCK,... COUNT" for each path, ENTRY an ELF virtual address. One thread, one
 * stack.
 */
#include "stepping.h"
#include "wire/instrumented.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_EDGE UINT32_MAX

struct function {
    uint64_t entry;
    uint32_t blocks, edges;
    const struct instrumented_block *block;
    const struct instrumented_edge *edge;
    unsigned char *retreats; /* by edge */
};

struct event {
    uint64_t ip;
    struct function *function;
    uint32_t block; /* EXIT_EDGE: the function's entry */
};

static struct function *functions;
static struct event *events; /* by ip; entries before blocks */
static size_t functions_count, events_count;

/* ---- the map ------------------------------------------------------------------------------- */

/* An own search, depth first, edges in their order: an edge to a block that is still open goes
 * back. */
static void visit(struct function *function, uint32_t block, unsigned char *state)
{
    state[block] = 1;
    for (uint32_t i = 0; i < function->edges; i++) {
        const struct instrumented_edge *edge = &function->edge[i];
        if (edge->from != block || edge->to == EXIT_EDGE || edge->flags)
            continue;
        if (state[edge->to] == 1)
            function->retreats[i] = 1;
        else if (!state[edge->to])
            visit(function, edge->to, state);
    }
    state[block] = 2;
}

static void find_retreats(struct function *function)
{
    unsigned char *state = stepping_must(calloc(function->blocks + 1, 1));
    function->retreats = stepping_must(calloc(function->edges + 1, 1));
    visit(function, 0, state);
    for (uint32_t i = 0; i < function->blocks; i++)
        if (function->block[i].flags & INSTRUMENTED_BLOCK_ROOT && !state[i])
            visit(function, i, state);
    for (uint32_t i = 0; i < function->blocks; i++)
        if (!state[i])
            visit(function, i, state);
    free(state);
}

static void add_event(uint64_t ip, struct function *function, uint32_t block)
{
    events = stepping_must(realloc(events, (events_count + 1) * sizeof *events));
    events[events_count++] = (struct event){ip, function, block};
}

static int by_ip(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->ip != y->ip)
        return x->ip < y->ip ? -1 : 1;
    return (x->block != EXIT_EDGE) - (y->block != EXIT_EDGE);
}

static uint64_t target(uint64_t base, const char *start, const int32_t *word)
{
    return base + (uint64_t)((const char *)word - start) + (uint64_t)(int64_t)*word;
}

static void read_map(const struct stepping_image *image)
{
    const Elf64_Shdr *section = stepping_section(image, "headroom_map");
    if (!section)
        stepping_fail("the program has no map");
    const char *map = image->data + section->sh_offset;
    size_t bytes = section->sh_size;
    functions =
        stepping_must(calloc(bytes / sizeof(struct instrumented_function) + 1, sizeof *functions));
    for (size_t at = 0; at + sizeof(struct instrumented_function) <= bytes;) {
        const struct instrumented_function *entry = (const void *)(map + at);
        if (entry->magic != INSTRUMENTED_ENTRY_MAGIC)
            stepping_fail("the map has no entry where one was expected");
        at += 4 * (size_t)entry->words;
        if (!entry->table_kind)
            continue;
        struct function *function = &functions[functions_count++];
        function->entry = target(section->sh_addr, map, &entry->entry);
        function->blocks = entry->blocks;
        function->edges = entry->edges;
        function->block = (const void *)(entry + 1);
        function->edge = (const void *)(function->block + entry->blocks);
        find_retreats(function);
        stepping_watch(image, function->entry);
        add_event(function->entry, function, EXIT_EDGE);
        for (uint32_t i = 0; i < entry->blocks; i++)
            add_event(target(section->sh_addr, map, &function->block[i].start), function, i);
    }
    qsort(events, events_count, sizeof *events, by_ip);
}

/* ---- paths ----------------------------------------------------------------------------------- */

struct count {
    struct function *function;
    char *blocks;
    uint64_t count, abandoned;
};
static struct count *counts;
static size_t counts_used, counts_capacity = 1 << 10;

static uint64_t hash(const struct function *function, const char *text)
{
    uint64_t value = base_mix64(function->entry);
    for (; *text; text++)
        value = base_mix64(value ^ (unsigned char)*text);
    return value;
}

static struct count *find_count(struct function *function, const char *blocks)
{
    size_t at = hash(function, blocks);
    for (;; at++) {
        struct count *count = &counts[at & (counts_capacity - 1)];
        if (!count->blocks || (count->function == function && !strcmp(count->blocks, blocks)))
            return count;
    }
}

static void grow(void)
{
    struct count *old = counts;
    size_t old_capacity = counts_capacity;
    counts_capacity *= 2;
    counts = stepping_must(calloc(counts_capacity, sizeof *counts));
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].blocks)
            *find_count(old[i].function, old[i].blocks) = old[i];
    free(old);
}

static void count_path(struct function *function, const char *blocks, bool abandoned)
{
    struct count *count = find_count(function, blocks);
    if (!count->blocks) {
        *count = (struct count){function, stepping_must(strdup(blocks)), 0, 0};
        counts_used++;
    }
    if (abandoned)
        count->abandoned++;
    else
        count->count++;
    if (counts_used * 2 > counts_capacity)
        grow();
}

/* ---- activations ----------------------------------------------------------------------------- */

struct activation {
    struct function *function;
    uint64_t entry_rsp;
    uint32_t last;  /* block, EXIT_EDGE: none yet */
    bool leaving;   /* a return or jump at the height of the stack that it was entered with */
    bool jumping;   /* an indirect jump in the function's own code                          */
    uint64_t call;  /* address of the call that has not come back yet, 0: none              */
    bool came_back; /* the last call returned to where it was made                          */
    size_t used, capacity;
    char *path; /* "3,4," */
};
static struct activation *stack;
static size_t depth, most_depth;

static bool leaves(const struct function *function, uint32_t block)
{
    for (uint32_t i = 0; i < function->edges; i++)
        if (function->edge[i].from == block && function->edge[i].to == EXIT_EDGE)
            return true;
    return false;
}

static void end_path(struct activation *activation, bool abandoned)
{
    if (activation->used)
        count_path(activation->function, activation->path, abandoned);
    activation->used = 0;
}

static void pop(void)
{
    struct activation *activation = &stack[--depth];
    if (activation->last != EXIT_EDGE && leaves(activation->function, activation->last))
        end_path(activation, !activation->leaving);
    activation->used = 0;
}

static void enter(struct function *function, uint64_t rsp)
{
    while (depth && stack[depth - 1].entry_rsp <= rsp)
        pop();
    if (depth == most_depth) {
        stack = stepping_must(realloc(stack, (most_depth + 64) * sizeof *stack));
        memset(stack + most_depth, 0, 64 * sizeof *stack);
        most_depth += 64;
    }
    struct activation *activation = &stack[depth++];
    activation->function = function;
    activation->entry_rsp = rsp;
    activation->last = EXIT_EDGE;
    activation->leaving = activation->jumping = activation->came_back = false;
    activation->call = 0;
    activation->used = 0;
}

static void step_to(struct activation *activation, uint32_t block)
{
    const struct function *function = activation->function;
    bool known = activation->last == EXIT_EDGE, cut = false;
    for (uint32_t i = 0; i < function->edges && !known; i++)
        if (function->edge[i].from == activation->last && function->edge[i].to == block) {
            known = true;
            cut = function->edge[i].flags || function->retreats[i];
        }
    bool again = !known && activation->last + 1 == block && activation->came_back; /* setjmp */
    if (!known && leaves(function, activation->last))
        cut = true;
    if (cut)
        end_path(activation, !known && !again && !activation->jumping);
    else if (!known)
        activation->used = 0; /* left by an exception */
    if (activation->used + 16 > activation->capacity) {
        activation->capacity = activation->capacity * 2 + 64;
        activation->path = stepping_must(realloc(activation->path, activation->capacity));
    }
    activation->used += (size_t)sprintf(activation->path + activation->used, "%u,", block);
    activation->last = block;
    activation->leaving = activation->jumping = false;
}

static void arrive(uint64_t ip, uint64_t rsp)
{
    size_t low = 0, high = events_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (events[middle].ip < ip)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < events_count && events[low].ip == ip; low++) {
        if (events[low].block == EXIT_EDGE) {
            enter(events[low].function, rsp);
            continue;
        }
        while (depth && stack[depth - 1].entry_rsp < rsp)
            pop();
        if (!depth || stack[depth - 1].function != events[low].function)
            stepping_fail("a block was reached in no activation of its function");
        step_to(&stack[depth - 1], events[low].block);
    }
}

/* ---- stepping -------------------------------------------------------------------------------- */

/* The innermost activation's function has code in two places, if it has a cold part. */
static const struct function *function_at(uint64_t ip)
{
    size_t low = 0, high = events_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (events[middle].ip <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? events[low - 1].function : NULL;
}

/* The instruction that is about to be executed: a return, or any jump. */
static void look_at(uint64_t ip, uint64_t rsp, uint64_t code)
{
    if ((code & 0xff) == 0xf2 || (code & 0xff) == 0xf3 || (code & 0xff) == 0x3e)
        code >>= 8; /* bnd, rep, notrack */
    if ((code & 0xf0) == 0x40)
        code >>= 8;
    unsigned first = code & 0xff, second = code >> 8 & 0xff;
    while (depth && stack[depth - 1].entry_rsp < rsp)
        pop();
    if (!depth || function_at(ip) != stack[depth - 1].function)
        return;
    struct activation *activation = &stack[depth - 1];
    if (activation->call)
        activation->came_back = ip - activation->call >= 2 && ip - activation->call < 9;
    activation->call = first == 0xe8 || (first == 0xff && (second >> 3 & 7) == 2) ? ip : 0;
    bool jumps = first == 0xc3 || first == 0xc2 || first == 0xe9 || first == 0xeb ||
                 (first & 0xf0) == 0x70 || (first == 0x0f && (second & 0xf0) == 0x80) ||
                 (first == 0xff && ((second >> 3 & 7) == 4));
    activation->leaving |= jumps && activation->entry_rsp == rsp;
    activation->jumping |= jumps && first == 0xff;
}

/* Its first bytes; what lies behind its end is 0. */
static uint64_t code_at(uint64_t ip)
{
    size_t bytes;
    uint64_t code = 0;
    const uint8_t *at = stepping_code(ip, &bytes);
    memcpy(&code, at, bytes < sizeof code ? bytes : sizeof code);
    return code;
}

static int run(uint64_t bias)
{
    do {
        uint64_t ip = stepping_registers.rip, rsp = stepping_registers.rsp;
        if (!stepping_range_of(ip))
            continue;
        arrive(ip - bias, rsp);
        look_at(ip - bias, rsp, code_at(ip));
    } while (stepping_next());
    return stepping_status();
}

int main(int argc, char **argv)
{
    if (argc < 3)
        stepping_fail("usage: recount OUTPUT PROGRAM [ARGUMENTS...]");
    counts = stepping_must(calloc(counts_capacity, sizeof *counts));
    struct stepping_image image;
    stepping_read(&image, argv[2]);
    read_map(&image);
    stepping_start(argv + 2, false);
    for (size_t i = 0; i < events_count; i++)
        stepping_stop_at(image.bias + events[i].ip);
    int code = run(image.bias);
    while (depth)
        pop();
    FILE *out = fopen(argv[1], "w");
    if (!out)
        stepping_fail("cannot write the counts");
    for (size_t i = 0; i < counts_capacity; i++)
        if (counts[i].blocks)
            fprintf(out, "%llx %s %llu %llu\n", (unsigned long long)counts[i].function->entry,
                    counts[i].blocks, (unsigned long long)counts[i].count,
                    (unsigned long long)counts[i].abandoned);
    fclose(out);
    return code;
}
