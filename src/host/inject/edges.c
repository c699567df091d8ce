// SPDX-License-Identifier: MIT
/*
 * Where a loop is entered and left, as places for markers: it begins at the end of each block that leads to its head from outside, and
 * ends at the start of each block that it leads to. Those may be reached otherwise as well: an end without a beginning means nothing.
 * Nothing is put inside the loop, which runs as it is, unless such a block is too short for a jump or in a loop that follows: then it ends
 * at the end of the block that leads there, which costs two jumps in each iteration that comes by.
 *
 * All of a loop's places or none: one that is not seen to end would lose its time, one that is not seen to begin likewise.
 */
#include "inject/internal.h"

#include "cfg/cfg.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_STEPS = 2 }; /* blocks behind a loop that are too short for a jump */

struct seeking {
    struct patch_module *module;
    const struct cfg *flow;
    uint64_t function;
    uint32_t loop;
    struct inject_site *sites;
    size_t count;
    bool inside;
    char *reason;
};

static bool read_nothing(void *context, uint64_t address, void *out, size_t bytes)
{
    (void)context, (void)address, (void)out, (void)bytes;
    return false;
}

static bool refuse(struct seeking *seeking, const char *why)
{
    snprintf(seeking->reason, 160, "%s", why);
    return false;
}

static bool add_site(struct seeking *seeking, enum inject_hook_kind kind, enum patch_site where,
                     uint64_t start, uint64_t end, uint64_t to)
{
    struct patch_reason why = {.sentence = ""};
    struct inject_site site = {.kind = (uint8_t)kind, .where = (uint8_t)where, .to = to};
    if (!patch_plan_site(seeking->module, seeking->function, start, end, where, &site.plan, &why))
        return refuse(seeking, why.sentence);
    for (size_t i = 0; i < seeking->count; i++) {
        const struct inject_site *other = &seeking->sites[i];
        if (other->plan.entry == site.plan.entry && other->kind == kind && other->where == where)
            return true;
        if (inject_overlap(&site.plan, &other->plan))
            return refuse(seeking, "places where it is entered or left overlap");
    }
    if (seeking->count == INJECT_SITES_MAX)
        return refuse(seeking, "it is entered and left in too many places");
    seeking->sites[seeking->count++] = site;
    return true;
}

/* The only way into the block, if that is from the one before it, without a jump; else CFG_NONE. */
static uint32_t fallen_from(const struct cfg *flow, uint32_t block)
{
    const struct cfg_block *at = &flow->blocks[block];
    const struct cfg_edge *edge = &flow->edges[flow->into[at->first_into]];
    return at->into == 1 && edge->kind == CFG_FALL && !(at->flags & CFG_ROOT) ? edge->from
                                                                              : CFG_NONE;
}

/* At the end of the block that the edge comes from. */
static bool add_at_edge(struct seeking *seeking, enum inject_hook_kind kind,
                        const struct cfg_edge *edge)
{
    const struct cfg *flow = seeking->flow;
    uint32_t block = edge->from;
    bool inside = cfg_loop_holds(flow, seeking->loop, block);
    uint64_t end = flow->blocks[block].end, to = flow->blocks[edge->to].start;
    if (edge->kind == CFG_TABLE || (edge->kind == CFG_JUMP && flow->blocks[block].edges != 1))
        return refuse(seeking, "a table of jumps leads into it or out of it");
    while (end - flow->blocks[block].start < PATCH_JUMP_BYTES) {
        uint32_t before = fallen_from(flow, block);
        if (before == CFG_NONE || cfg_loop_holds(flow, seeking->loop, before) != inside)
            break;
        block = before;
    }
    return add_site(seeking, kind, edge->kind == CFG_TAKEN ? PATCH_SITE_TAKEN : PATCH_SITE_FALL,
                    flow->blocks[block].start, end, to);
}

/* Is the block executed in each iteration of a loop that the one in question is not in? */
static bool is_in_another(const struct seeking *seeking, uint32_t block)
{
    const struct cfg *flow = seeking->flow;
    uint32_t around = flow->blocks[block].loop;
    return around && !cfg_loop_holds(flow, around, flow->loops[seeking->loop].head);
}

/* In the block, or one behind it that it leads to in any case. */
static bool add_behind(struct seeking *seeking, uint32_t block)
{
    const struct cfg *flow = seeking->flow;
    for (unsigned step = 0;; step++) {
        const struct cfg_block *at = &flow->blocks[block];
        if (is_in_another(seeking, block))
            return false;
        if (add_site(seeking, INJECT_SITE_END, PATCH_SITE_START, at->start, at->end, 0))
            return true;
        if (step == EXIT_STEPS || at->edges != 1 || (at->flags & CFG_EXIT) ||
            cfg_loop_holds(flow, seeking->loop, flow->edges[at->first_edge].to))
            return false;
        block = flow->edges[at->first_edge].to;
    }
}

static bool add_exit(struct seeking *seeking, const struct cfg_edge *edge)
{
    if (add_behind(seeking, edge->to))
        return true;
    seeking->inside = true;
    return add_at_edge(seeking, INJECT_SITE_END, edge);
}

static bool add_edges(struct seeking *seeking)
{
    const struct cfg *flow = seeking->flow;
    uint32_t head = flow->loops[seeking->loop].head;
    bool entered = false;
    for (uint32_t i = 0; i < flow->edges_count; i++) {
        const struct cfg_edge *edge = &flow->edges[i];
        bool from = cfg_loop_holds(flow, seeking->loop, edge->from),
             to = cfg_loop_holds(flow, seeking->loop, edge->to);
        if (!from && to && edge->to != head)
            return refuse(seeking, "it is entered in its middle");
        if ((!from && to && !add_at_edge(seeking, INJECT_SITE_BEGIN, edge)) ||
            (from && !to && !add_exit(seeking, edge)))
            return false;
        entered |= !from && to;
    }
    return entered || refuse(seeking, "it begins where its function does");
}

static bool check_blocks(struct seeking *seeking)
{
    const struct cfg *flow = seeking->flow;
    if (flow->loops[seeking->loop].flags & CFG_IRREDUCIBLE)
        return refuse(seeking, "it has several heads");
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        if (cfg_loop_holds(flow, seeking->loop, i) && (flow->blocks[i].flags & CFG_UNRESOLVED))
            return refuse(seeking, "it has a jump whose target is not known");
    return true;
}

static uint32_t loop_of_head(const struct cfg *flow, uint64_t head)
{
    for (uint32_t i = 1; i < flow->loops_count; i++)
        if (flow->blocks[flow->loops[i].head].start == head)
            return i;
    return 0;
}

bool inject_loop_sites(struct patch_module *module, uint64_t function, uint64_t head,
                       struct inject_site sites[INJECT_SITES_MAX], size_t *count, bool *inside,
                       char reason[160])
{
    size_t number = patch_function_at(module, function);
    struct cfg_code code = {.start = function, .data = {.read = read_nothing}};
    struct cfg *flow = NULL;
    snprintf(reason, 160, "its function cannot be read");
    if (number == PATCH_NONE || patch_function(module, number)->vaddr != function)
        return false;
    code.bytes = patch_text(module, number, &code.count);
    if (!code.bytes || cfg_start() != BASE_OK || cfg_of_code(&code, &flow) != BASE_OK)
        return false;
    struct seeking seeking = {module, flow, function, loop_of_head(flow, head),
                              sites,  0,    false,    reason};
    bool good = seeking.loop && check_blocks(&seeking) && add_edges(&seeking);
    *count = seeking.count;
    *inside = seeking.inside;
    cfg_free(flow);
    return good;
}
