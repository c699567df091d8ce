// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * States of activations: a tree of path prefixes for every vertex of the calling-context tree,
 * grown as the program runs. No numbers are given to paths here, so that none is too large and no
 * function has too many; the import numbers what was executed.
 *
 * A path ends where a cut edge is taken or control leaves the function; leaves of the tree (EXIT,
 * CUT) count that. A path that is left halfway, by an exception or longjmp, is not counted, as
 * little as programs that count by themselves can; it ends in what control comes back to: a block
 * that no edge leads to.
 *
 * A call puts the activation into a call state, whose children are what was called. Code without a
 * graph stays in that state: what it calls in turn is the child of the last function that is known.
 */
#include "exact/path.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>

/* 64 bytes a state with 8 to 16 in the table, 24 a vertex: 260 MiB. What comes after is not
 * counted, and that is said. */
enum { STATES_MAX = 3 << 20, VERTICES_MAX = 1 << 20, LEAVES = 0xffffffff, NO_VERTEX = 0xffffffff };

struct exact_state *exact_states;
struct exact_state *exact_path;
ULong exact_misses, exact_last_line;
struct exact_path_totals exact_path_totals;

static UInt states_count; /* state 0 is the call state of vertex 0 */
static struct exact_vertex *vertices;
static UInt vertices_count = 1;
static struct exact_site **sites;
static UInt sites_count, sites_room;
static Bool ran_out;

/* ---- tables: open addressing, numbers; keys are found through them --------------------------- */

struct table {
    UInt *numbers; /* + 1, 0: empty */
    ULong capacity, used;
    ULong (*hash)(UInt number);
};

static void insert(struct table *table, UInt number)
{
    ULong slot = table->hash(number);
    while (table->numbers[slot & (table->capacity - 1)])
        slot++;
    table->numbers[slot & (table->capacity - 1)] = number + 1;
}

static void grow(struct table *table)
{
    UInt *old = table->numbers;
    ULong old_capacity = table->capacity;
    table->capacity = old ? old_capacity * 2 : 1 << 14;
    table->numbers = exact_memory.map(NULL, table->capacity * sizeof *table->numbers, false);
    tl_assert2(table->numbers, "headroom: no memory for paths\n");
    for (ULong i = 0; i < old_capacity; i++)
        if (old[i])
            insert(table, old[i] - 1);
    if (old)
        exact_memory.unmap(NULL, old, old_capacity * sizeof *old);
}

static void enter(struct table *table, UInt number)
{
    if (++table->used * 2 > table->capacity)
        grow(table);
    insert(table, number);
}

static ULong hash_key(UInt parent, UInt block, UInt kind)
{
    return base_mix64(((ULong)parent << 32 | block) * 31 + kind);
}

static ULong hash_state(UInt number)
{
    const struct exact_state *state = &exact_states[number];
    return hash_key(state->parent, state->block, state->kind);
}

static ULong hash_vertex(UInt number)
{
    return hash_key(vertices[number].caller, vertices[number].function, 0);
}

static struct table states_by_key = {.hash = hash_state};
static struct table vertices_by_key = {.hash = hash_vertex};

/* ---- states ---------------------------------------------------------------------------------- */

static UInt number_of(const struct exact_state *state)
{
    return (UInt)(state - exact_states);
}

/* 0: memory ran out. */
static UInt child_of(UInt parent, UInt block, UInt kind, UInt vertex)
{
    ULong slot = hash_key(parent, block, kind);
    for (UInt found; (found = states_by_key.numbers[slot & (states_by_key.capacity - 1)]) != 0;
         slot++) {
        const struct exact_state *state = &exact_states[found - 1];
        if (state->parent == parent && state->block == block && state->kind == kind)
            return found - 1;
    }
    if (states_count == STATES_MAX) {
        ran_out = True;
        return 0;
    }
    UInt number = states_count++;
    struct exact_state *made = &exact_states[number];
    made->parent = parent;
    made->block = block;
    made->kind = kind;
    made->vertex = vertex;
    made->next = number;
    enter(&states_by_key, number);
    return number;
}

static void remember(struct exact_state *from, UInt block, UInt state)
{
    UInt counts = exact_states[state].kind > EXACT_NEXT ? EXACT_COUNTS : 0;
    if (state)
        from->slots[block % EXACT_SLOTS] = (ULong)(block + 1) << 32 | counts | state;
}

static Bool within(const struct exact_state *state)
{
    return state->kind >= EXACT_ENTRY;
}

/* ---- contexts ------------------------------------------------------------------------------- */

/*
 * What a call state calls: a recursive call leads back to the ancestor's vertex, so that the tree
 * is no deeper than there are procedures.
 */
static UInt vertex_of(UInt caller, UInt function)
{
    ULong slot = hash_key(caller, function, 0);
    for (UInt found; (found = vertices_by_key.numbers[slot & (vertices_by_key.capacity - 1)]) != 0;
         slot++)
        if (vertices[found - 1].caller == caller && vertices[found - 1].function == function)
            return found - 1;
    for (UInt above = exact_states[caller].vertex; above;
         above = exact_states[vertices[above].caller].vertex)
        if (vertices[above].function == function)
            return above;
    if (vertices_count == VERTICES_MAX) {
        ran_out = True;
        return NO_VERTEX;
    }
    UInt number = vertices_count++;
    vertices[number] = (struct exact_vertex){.function = function, .caller = caller};
    enter(&vertices_by_key, number);
    vertices[number].call = child_of(caller, number, EXACT_CALL, number);
    return number;
}

static UInt call_state(UInt vertex, const struct exact_site *site)
{
    if (!exact_options.contexts)
        return 0;
    UInt call = vertices[vertex].call;
    if (!exact_options.call_sites)
        return call;
    UInt state = child_of(call, site->number, EXACT_SITE, vertex);
    if (state)
        exact_states[state].next = site->number;
    return state;
}

struct exact_state *exact_path_called(struct exact_site *site)
{
    struct exact_state *from = exact_path;
    if (!within(from))
        return from;
    if (UNLIKELY(site->vertex != from->vertex)) {
        site->vertex = from->vertex;
        site->state = call_state(from->vertex, site);
    }
    return &exact_states[site->state];
}

struct exact_site *exact_site_for(Addr back, Bool stops)
{
    if (sites_count == sites_room) {
        sites_room = sites_room ? 2 * sites_room : 1024;
        sites = VG_(realloc)("headroom.sites", sites, sites_room * sizeof(struct exact_site *));
    }
    struct exact_site *site = VG_(calloc)("headroom.site", 1, sizeof *site);
    *site = (struct exact_site){.vertex = NO_VERTEX,
                                .number = sites_count,
                                .module = exact_module_of(back - 1),
                                .back = back,
                                .stops = stops};
    sites[sites_count++] = site;
    return site;
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void count_end(struct exact_state *end)
{
    end->count++;
    end->misses += exact_misses;
    exact_misses = 0;
}

static void end_by_exit(struct exact_state *from)
{
    ULong cached = from->slots[LEAVES % EXACT_SLOTS];
    UInt end = cached >> 32 == LEAVES ? (UInt)cached : 0;
    if (UNLIKELY(!end)) {
        end = child_of(number_of(from), LEAVES, EXACT_EXIT, from->vertex);
        if (end)
            from->slots[LEAVES % EXACT_SLOTS] = (ULong)LEAVES << 32 | end;
    }
    if (end)
        count_end(&exact_states[end]);
    else
        exact_path_drop();
}

void exact_path_drop(void)
{
    exact_path_totals.lost_misses += exact_misses;
    exact_misses = 0;
}

void exact_path_leave(void)
{
    if (within(exact_path)) {
        end_by_exit(exact_path);
    } else {
        exact_path_totals.elsewhere_misses += exact_misses;
        exact_misses = 0;
    }
}

void exact_path_outside(void)
{
    exact_path_leave();
    exact_path = exact_path_entered();
}

/* What is called from here, if anything, is still this vertex's callee. */
void exact_path_stop(void)
{
    if (!within(exact_path))
        return;
    UInt vertex = exact_path->vertex;
    end_by_exit(exact_path);
    exact_path = &exact_states[exact_options.contexts ? vertices[vertex].call : 0];
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* First states are children of the vertex's own call state. */
static UInt first_state(UInt vertex, UInt block, UInt kind)
{
    return child_of(vertices[vertex].call, block, kind, vertex);
}

static UInt kind_of_entry(UInt block)
{
    return exact_graph_block(block)->number == 0 ? EXACT_ENTRY : EXACT_ROOT;
}

/* An activation begins. */
static UInt activate(struct exact_state *from, UInt block)
{
    UInt vertex = vertex_of(number_of(from), exact_graph_function(block));
    if (vertex == NO_VERTEX)
        return 0;
    UInt state = child_of(number_of(from), block, EXACT_ACTIVATION, vertex);
    if (state)
        exact_states[state].next = first_state(vertex, block, kind_of_entry(block));
    return state;
}

static struct exact_state *begin_activation(struct exact_state *from, UInt block)
{
    UInt state = activate(from, block);
    if (exact_graph_block(block)->number == 0 && state) {
        remember(from, block, state);
        count_end(&exact_states[state]);
    }
    return &exact_states[exact_states[state].next];
}

/* Control comes back to a function other than by an edge: from an exception, longjmp. */
static struct exact_state *resume(UInt vertex, UInt block)
{
    exact_path_drop();
    return &exact_states[first_state(vertex, block, EXACT_ROOT)];
}

/* The first return of a call that may return twice. */
static Bool returns_first(UInt before, UInt block)
{
    const struct wire_graph_block *caller = exact_graph_block(before);
    const struct wire_graph_block *behind = exact_graph_block(block);
    return behind->flags & WIRE_GRAPH_TWICE && caller->start + caller->bytes == behind->start;
}

static struct exact_state *from_outside(struct exact_state *from, UInt block)
{
    UInt function = exact_graph_function(block);
    if (exact_graph_block(block)->number != 0 && from->vertex &&
        vertices[from->vertex].function == function)
        return resume(from->vertex, block);
    return begin_activation(from, block);
}

/* An edge within a function. */
static struct exact_state *follow_edge(struct exact_state *from, UInt block, Bool cut)
{
    UInt state = child_of(number_of(from), block, cut ? EXACT_CUT : EXACT_NEXT, from->vertex);
    if (cut && state) {
        exact_states[state].next = first_state(from->vertex, block, EXACT_AFTER_CUT);
        count_end(&exact_states[state]);
    }
    remember(from, block, state);
    return &exact_states[cut ? exact_states[state].next : state];
}

static struct exact_state *step(UInt block)
{
    struct exact_state *from = exact_path;
    if (!within(from))
        return from_outside(from, block);
    Bool same = exact_graph_function(from->block) == exact_graph_function(block);
    if (same) {
        const struct wire_graph_edge *edge = exact_graph_edge(from->block, block);
        if (edge)
            return follow_edge(from, block, edge->cut);
        if (from->block == block)
            return from; /* a repeated string instruction, an instruction started anew */
        if (returns_first(from->block, block))
            end_by_exit(from);
        if (exact_graph_block(block)->number != 0)
            return resume(from->vertex, block);
    }
    end_by_exit(from); /* a tail call */
    return begin_activation(exact_path_entered(), block);
}

/* Added code has looked into the slot. */
VG_REGPARM(1) struct exact_state *exact_path_step(ULong block)
{
    return step((UInt)block);
}

/* ---- the simulated cache --------------------------------------------------------------------- */

/* Reached for accesses that are not all in the line touched last. */
VG_REGPARM(2) void exact_l1(Addr address, ULong bytes)
{
    struct cache *cache = &exact_caches.caches[0];
    ULong before = cache->misses;
    Addr line = address >> CACHE_LINE_SHIFT;
    Addr last = (address + bytes - 1) >> CACHE_LINE_SHIFT;
    for (; line <= last; line++)
        if (exact_caches.last != line + 1)
            cache_bank_touch(&exact_caches, line);
    exact_last_line = last << CACHE_LINE_SHIFT;
    exact_misses += cache->misses - before;
    exact_path_totals.misses += cache->misses - before;
}

/* ---- the rest -------------------------------------------------------------------------------- */

void exact_path_init(void)
{
    exact_states = exact_reserve((SizeT)STATES_MAX * sizeof *exact_states);
    vertices = exact_reserve((SizeT)VERTICES_MAX * sizeof *vertices);
    if (!exact_states || !vertices)
        exact_fail("the address space for paths was refused");
    states_count = 1;
    grow(&states_by_key);
    grow(&vertices_by_key);
    exact_path = exact_states;
    exact_last_line = ~0ULL;
}

UInt exact_vertices_count(void)
{
    return vertices_count;
}

struct exact_vertex *exact_vertex_number(UInt vertex)
{
    return &vertices[vertex];
}

UInt exact_states_count(void)
{
    return states_count;
}

Bool exact_states_ran_out(void)
{
    return ran_out;
}

const struct exact_site *exact_site_number(UInt site)
{
    return sites[site];
}
