// SPDX-License-Identifier: MIT
/*
 * Which transformation usually brings a use and its far reuse together. As for advice.c, a wrong
 * hint costs more than a missing one. The rules, the first that holds; all need far reuses:
 *
 * recursion:    below the ancestor its function is active again: the data belong to an activation
 *               and to one of those that it makes.
 * fusion:       each end lies in loops of its own, in one function, the use's first in the source
 *               (or no loop around both that could have brought the reuse before the use).
 * blocking:     the same, but at least one end lies in a call made by the ancestor: loops of
 *               different functions are not fused, their calls can be made for a part of the
 *               data at a time. Not where a step goes along a list or down a tree.
 * time tiling:  the same, the reuse's first in the source and a loop around both: the reuse
 *               happens in its next round.
 * reordering:   both ends in the same loops, at a subscript within a subscript or a step along a
 *               list: the addresses come from data, which loops cannot be cut up by.
 * interchange:  both ends in the same loops, two or more of one function, and the source says that
 *               the inner one steps over rows.
 * unroll and jam: both ends in the same loops, two or more of one function, of accesses that go along memory in order,
 *               and a larger cache holds what L1 has lost. Processors fetch ahead along such walks, so that blocks
 *               save little of the waiting, and they cut the walks short; to load less often does save something.
 * tiling:       both ends in the same loops, two or more of one function, otherwise.
 * batching:     both ends in the same loops, of which the innermost is alone in its function: the
 *               one around it makes the calls.
 *
 * Tiling and batching not if one of the loops is a library's, or the source shows that it counts
 * nothing (do, while, goto), a search, which goes another way each time, or that the access does not
 * go by what the innermost one counts; tiling and unroll and jam also need a loop around it that counts: rounds until
 * something is done need what the round before left; and, along memory in order and if the line is known, one whose variable some
 * reference lacks: where all have it, as in a sum over m[i][j], each iteration goes on to new data, and who
 * comes back to it is the caller. And nothing at all where too few samples were taken to say
 * how far anything is: see is_worth_it.
 *
 * What is measured does not show interchange: that a column is walked shows as reuses some lines
 * away that are missing at distance 0, but a pair has sums of distances only, and those of the next
 * pass, much longer, are all that is seen in them. So the loop's line and the access's must show
 * it: the inner loop's variable selects the row and the variable of the loop around it the element,
 * and no other array would change for the worse.
 *
 * One loop alone around both ends gives no hint: what it comes back to hangs on the data. Nor is
 * there one about layout: that a line is used in part only is not among what a profile holds.
 */
#include "reuse/internal.h"
#include "show/own.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NAME_LENGTH_MAX = 64 };

/* ---- reading source lines -------------------------------------------------------------------- */

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

struct span {
    const char *text;
    size_t bytes;
};

static const char *find_word(struct span in, const char *word)
{
    size_t bytes = strlen(word);
    for (size_t i = 0; i + bytes <= in.bytes; i++)
        if (memcmp(in.text + i, word, bytes) == 0 && (i == 0 || !word_char(in.text[i - 1])) &&
            (i + bytes == in.bytes || !word_char(in.text[i + bytes])))
            return in.text + i;
    return NULL;
}

static bool copy_word(const char *from, const char *end, char name[NAME_LENGTH_MAX])
{
    size_t bytes = 0;
    while (from + bytes < end && word_char(from[bytes]))
        bytes++;
    if (bytes == 0 || bytes >= NAME_LENGTH_MAX || isdigit((unsigned char)*from))
        return false;
    memcpy(name, from, bytes);
    name[bytes] = 0;
    return true;
}

/* The variable that `for (...; ...; k++)` steps, or `for k in ...`. */
static bool loop_variable(const char *source, char name[NAME_LENGTH_MAX])
{
    struct span line = {source, source ? strlen(source) : 0};
    const char *at = source ? find_word(line, "for") : NULL;
    if (!at)
        return false;
    at += 3 + strspn(at + 3, " ");
    if (*at != '(') {
        const char *end = at + strcspn(at, " ");
        return strncmp(end, " in ", 4) == 0 && copy_word(at, end, name);
    }
    const char *step = strchr(at, ';');
    step = step ? strchr(step + 1, ';') : NULL;
    if (!step)
        return false;
    step += 1 + strspn(step + 1, " ");
    if (strncmp(step, "++", 2) == 0 || strncmp(step, "--", 2) == 0)
        return copy_word(step + 2, source + line.bytes, name);
    if (!copy_word(step, source + line.bytes, name))
        return false;
    step += strlen(name);
    step += strspn(step, " ");
    return strncmp(step, "++", 2) == 0 || strncmp(step, "--", 2) == 0 ||
           strncmp(step, "+=", 2) == 0;
}

/* The subscript that begins behind the '[' at `open`; bytes 0: it does not end in this line. */
static struct span subscript(const char *open)
{
    struct span inside = {open + 1, 0};
    int depth = 1;
    for (const char *at = open + 1; *at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (depth == 0) {
            inside.bytes = (size_t)(at - inside.text);
            return inside;
        }
    }
    return inside;
}

/* How the index of one array reference hangs on a variable. */
enum use { UNUSED, ELEMENT, ROW };

/* In `k * n + j` j selects the element and k, multiplied, the row. */
static enum use use_in_subscript(struct span inside, const char *variable)
{
    const char *at = find_word(inside, variable), *end = inside.text + inside.bytes;
    if (!at)
        return UNUSED;
    const char *first = at, *last = at;
    while (first > inside.text && !strchr("+-", first[-1]))
        first--;
    while (last < end && !strchr("+-", *last))
        last++;
    return memchr(first, '*', (size_t)(last - first)) ? ROW : ELEMENT;
}

/* Of the reference whose first '[' is at *at, which is moved behind its last subscript. */
static enum use use_in_reference(const char **at, const char *variable)
{
    enum use use = UNUSED;
    while (**at == '[') {
        struct span inside = subscript(*at);
        enum use here = use_in_subscript(inside, variable);
        if (inside.bytes == 0) {
            *at += 1;
            return UNUSED;
        }
        *at = inside.text + inside.bytes + 1;
        /* a subscript that is followed by another one selects a row */
        if (here != UNUSED)
            use = **at == '[' ? ROW : here;
    }
    return use;
}

/* Does the inner loop step over rows of an array whose elements the outer one selects, and would no
   array be stepped through by rows if they changed places? */
static bool walks_columns(const char *source, const char *inner, const char *outer)
{
    bool columns = false;
    for (const char *at = source; (at = strchr(at, '[')) != NULL;) {
        const char *again = at;
        enum use by_inner = use_in_reference(&at, inner);
        enum use by_outer = use_in_reference(&again, outer);
        columns = columns || (by_inner == ROW && by_outer == ELEMENT);
        if (by_outer == ROW)
            return false;
    }
    return columns;
}

static bool interchanges(const struct transform_facts *facts)
{
    char inner[NAME_LENGTH_MAX], outer[NAME_LENGTH_MAX];
    if (!facts->reuse_source || !loop_variable(facts->loop_sources[0], inner))
        return false;
    for (unsigned i = 1; i < TRANSFORM_LINES; i++)
        if (loop_variable(facts->loop_sources[i], outer) && strcmp(inner, outer) != 0 &&
            walks_columns(facts->reuse_source, inner, outer))
            return true;
    return false;
}

/* p = p->next */
static bool follows_list(const char *source)
{
    char name[NAME_LENGTH_MAX];
    for (const char *at = source; at && (at = strchr(at, '=')) != NULL; at++) {
        const char *to = at, *from = at + 1 + strspn(at + 1, " ");
        if (!copy_word(from, from + strlen(from), name))
            continue;
        size_t bytes = strlen(name);
        while (to > source && to[-1] == ' ')
            to--;
        if (strncmp(from + bytes, "->", 2) == 0 && (size_t)(to - source) >= bytes &&
            memcmp(to - bytes, name, bytes) == 0 &&
            (to == source + bytes || !word_char(*(to - bytes - 1))))
            return true;
    }
    return false;
}

/* x[index[i]] */
static bool is_indirect(const char *source)
{
    if (follows_list(source))
        return true;
    for (const char *at = source; at && (at = strchr(at, '[')) != NULL; at++) {
        struct span inside = subscript(at);
        if (memchr(inside.text, '[', inside.bytes))
            return true;
    }
    return false;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const struct transform transforms[TRANSFORM_KINDS] = {
    [TRANSFORM_FUSION] =
        {TRANSFORM_FUSION, "fusion", "reuse.fusion",
         "Fusion: two loops of one function go over the same data, and the first evicts it from "
         "the cache before the second begins. Fuse the loops, or run both on a block that fits the "
         "cache before going on to the next block."},
    [TRANSFORM_BLOCKING] =
        {TRANSFORM_BLOCKING, "blocking", "reuse.blocking",
         "Blocking: one call goes over the data, and a later call goes over it again. Pass both "
         "one cache-sized block at a time, and loop over the blocks in their caller."},
    [TRANSFORM_TIME_TILING] =
        {TRANSFORM_TIME_TILING, "time tiling", "reuse.time-tiling",
         "Time tiling: the reuse comes in the next iteration of the loop around both. Run several "
         "iterations on each block of the data while it is in the cache, as far as an iteration "
         "depends on neighbouring blocks only."},
    [TRANSFORM_TILING] = {TRANSFORM_TILING, "tiling", "reuse.tiling",
                          "Tiling: the inner loop goes through data that a loop around it comes "
                          "back to after it has left the cache. Where the order of the iterations "
                          "is free, cut a loop inside that one into blocks that fit, and move the "
                          "loop over the blocks outwards. Leave the innermost loop long if it goes "
                          "along memory in order."},
    [TRANSFORM_UNROLL_AND_JAM] =
        {TRANSFORM_UNROLL_AND_JAM, "unroll and jam", "reuse.unroll-and-jam",
         "Unroll and jam: the innermost loop goes along memory in order, through data that a loop "
         "around it comes back to after it has left L1. Where the order of the iterations is free, "
         "do several iterations of that loop, four for example, in one pass of the innermost, so "
         "that each value loaded serves them all. Do not cut the innermost loop itself into short "
         "blocks: processors fetch ahead along it."},
    [TRANSFORM_INTERCHANGE] =
        {TRANSFORM_INTERCHANGE, "interchange", "reuse.interchange",
         "Interchange: the innermost loop steps from row to row, so each step touches another "
         "cache line, and the next element of a line is used a whole pass later. Where the order "
         "of the iterations is free, make the loop that steps along the row the innermost."},
    [TRANSFORM_BATCHING] =
        {TRANSFORM_BATCHING, "batching", "reuse.batching",
         "Batching: each call from the loop around it goes through the same data. Where none "
         "needs what the one before left, pass the work of several calls at once, so that one pass "
         "over the data serves them all, or make all calls for one block of the data before the "
         "next."},
    [TRANSFORM_RECURSION] =
        {TRANSFORM_RECURSION, "recursive blocking", "reuse.recursive-blocking",
         "Recursive blocking: a recursive function and the calls it makes go over the same data. "
         "Once a part fits the cache, finish all levels below it before beginning the next part."},
    [TRANSFORM_REORDERING] =
        {TRANSFORM_REORDERING, "reordering", "reuse.reordering",
         "Reordering: the address accessed depends on other data. Where these or the "
         "order of the accesses can be chosen, place data that is used "
         "together side by side (sort or renumber it), or collect the "
         "accesses and make them block by block."},
};

static enum transform_kind between_loops(const struct transform_facts *facts)
{
    if (facts->use_walks != facts->reuse_walks)
        return TRANSFORM_NONE;
    if (facts->backward)
        return facts->shared ? TRANSFORM_TIME_TILING : TRANSFORM_NONE;
    if (!facts->forward && facts->shared)
        return TRANSFORM_NONE; /* at one line: either may be first */
    if (!facts->use_called && !facts->reuse_called)
        return TRANSFORM_FUSION;
    /* Neither a search in a tree nor a walk along a list can be made for a block of it. */
    return follows_list(facts->use_source) || follows_list(facts->reuse_source)
               ? TRANSFORM_NONE
               : TRANSFORM_BLOCKING;
}

/* `for (auto &x : all)`, `DO 20 J = 1, N` */
static bool counts_unnamed(const char *source)
{
    struct span line = {source, strlen(source)};
    const char *of = strstr(source, " : ");
    if (of && find_word(line, "for") && !memchr(source, ';', line.bytes))
        return true;
    const char *at = source + strspn(source, " \t0123456789");
    return strncasecmp(at, "do", 2) == 0 && !word_char(at[2]) && strchr(at, '=') &&
           !strpbrk(at, ";{");
}

/* A loop that counts nothing follows what it finds: it goes its own way through the data. */
static bool is_search(const char *loop)
{
    char name[NAME_LENGTH_MAX];
    return loop && !loop_variable(loop, name) && !counts_unnamed(loop);
}

static bool has_variable(const char *source, const char *name)
{
    return source && find_word((struct span){source, strlen(source)}, name);
}

/* Where the innermost loop's variable is known, does the line of an access have it? */
static bool is_walk(const struct transform_facts *facts)
{
    char name[NAME_LENGTH_MAX];
    bool known = facts->loop_sources[0] && facts->use_source && facts->reuse_source &&
                 loop_variable(facts->loop_sources[0], name);
    return !known || has_variable(facts->use_source, name) ||
           has_variable(facts->reuse_source, name);
}

/* Of the loops around the innermost one, as far as their lines are known. */
static bool is_counted_around(const struct transform_facts *facts)
{
    bool known = false;
    for (unsigned i = 1; i < TRANSFORM_LINES; i++) {
        known |= facts->loop_sources[i] != NULL;
        if (facts->loop_sources[i] && !is_search(facts->loop_sources[i]))
            return true;
    }
    return !known;
}

/* `DO 20 J = 1, N`. Whether letters are large is not looked at: lines that differ in that show nothing. */
static bool fortran_variable(const char *source, char name[NAME_LENGTH_MAX])
{
    if (!source || !counts_unnamed(source) || strstr(source, " : "))
        return false;
    const char *at = source + strspn(source, " \t0123456789") + 2;
    at += strspn(at, " \t0123456789");
    return copy_word(at, at + strlen(at), name);
}

static bool counted_variable(const char *source, char name[NAME_LENGTH_MAX])
{
    return loop_variable(source, name) || fortran_variable(source, name);
}

/* What stands in the brackets that begin at `open`, of either kind, all subscripts of `a[i][j]` together. */
static struct span brackets(const char *open)
{
    struct span inside = {open + 1, 0};
    int depth = 1;
    for (const char *at = open + 1; *at; at++) {
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
        if (depth == 0 && !(*at == ']' && at[1] == '[')) {
            inside.bytes = (size_t)(at - inside.text);
            return inside;
        }
    }
    return inside;
}

/* Does the reuse's line show that every iteration of the loops of its function goes on to other elements? All of what goes by the
   innermost variable goes by those of the loops around as well. */
static bool goes_on(const struct transform_facts *facts)
{
    char names[TRANSFORM_LINES][NAME_LENGTH_MAX];
    bool found = false;
    if (facts->shared_here > TRANSFORM_LINES || !facts->reuse_source)
        return false;
    for (unsigned i = 0; i < facts->shared_here; i++)
        if (!counted_variable(facts->loop_sources[i], names[i]))
            return false;
    for (const char *at = facts->reuse_source; (at = strpbrk(at, "[(")) != NULL; at++) {
        struct span inside = brackets(at);
        if (at > facts->reuse_source && at[0] == '[' && at[-1] == ']')
            continue; /* with the subscript before */
        if (!find_word(inside, names[0]))
            continue;
        for (unsigned i = 1; i < facts->shared_here; i++)
            if (!find_word(inside, names[i]))
                return false;
        found = true;
    }
    return found;
}

static enum transform_kind of_calls(const struct transform_facts *facts)
{
    bool called = facts->shared > facts->shared_here && !is_search(facts->calling_source);
    return called ? TRANSFORM_BATCHING : TRANSFORM_NONE;
}

static enum transform_kind within_loops(const struct transform_facts *facts)
{
    if (facts->shared && (is_indirect(facts->use_source) || is_indirect(facts->reuse_source)))
        return TRANSFORM_REORDERING;
    if (facts->shared < 2 || facts->library || is_search(facts->loop_sources[0]) || !is_walk(facts))
        return TRANSFORM_NONE;
    if (facts->shared_here < 2)
        return of_calls(facts);
    if (interchanges(facts))
        return TRANSFORM_INTERCHANGE;
    if (facts->in_order && goes_on(facts))
        return of_calls(facts);
    if (!is_counted_around(facts))
        return TRANSFORM_NONE;
    return facts->in_order && facts->cached ? TRANSFORM_UNROLL_AND_JAM : TRANSFORM_TILING;
}

struct transform transform_for(const struct transform_facts *facts)
{
    enum transform_kind kind = TRANSFORM_NONE;
    if (!facts->far || !facts->ancestor)
        return transforms[TRANSFORM_NONE];
    if (facts->recursive)
        kind = TRANSFORM_RECURSION;
    else if (facts->use_walks && facts->reuse_walks)
        kind = between_loops(facts);
    else if (!facts->use_walks && !facts->reuse_walks)
        kind = within_loops(facts);
    return transforms[kind];
}

/* ---- facts ----------------------------------------------------------------------------------- */

static const struct profile_frame *leaf_of(const struct profile *profile, uint32_t context)
{
    return &profile->frames[profile->contexts[context].frame];
}

static bool is_library_loop(const struct profile *profile, const struct profile_loop *loop)
{
    return own_is_system(loop->function, loop->file,
                         loop->module ? profile->modules[loop->module].path : NULL);
}

/* The sources are read one after the other into the same place: kept apart by the caller. */
static const char *line_of(struct source_cache *sources, const char *file, uint32_t line,
                           char text[512])
{
    return source_line(sources, file, line, text, 512) ? text : NULL;
}

/* Could it change the miss ratio of any cache of the machine, again and again? Where samples are
   too few for the ratio itself, nobody knows. */
static bool is_worth_it(const struct reuse_ranking *ranking, const struct reuse_figures *figures,
                        const struct reuse_pair *pair)
{
    if (figures_too_few(figures))
        return false;
    for (size_t i = 0; i < ranking->caches_count && ranking->distances && pair->far > 0; i++) {
        double bytes = (double)ranking->caches[i].bytes;
        if (figures_miss_ratio(figures, bytes).ratio -
                figures_ratio_without(figures, pair, bytes) >=
            FIGURES_LEAST_SAVING)
            return true;
    }
    return false;
}

/* Does the largest cache hold most of what the smallest one has lost? */
static bool is_cached(const struct reuse_ranking *ranking, const struct reuse_figures *figures,
                      const struct reuse_pair *pair)
{
    size_t last = ranking->caches_count - 1;
    double lost = figures_beyond(figures, pair, (double)ranking->caches[0].bytes);
    return last > 0 && ranking->distances &&
           2 * figures_beyond(figures, pair, (double)ranking->caches[last].bytes) < lost;
}

struct transform transform_pair(const struct reuse_ranking *ranking,
                                const struct reuse_figures *figures, struct source_cache *sources,
                                const struct reuse_pair *pair, const struct shape *shape)
{
    const struct profile *profile = ranking->places->profile;
    const struct profile_frame *use = leaf_of(profile, pair->use);
    const struct profile_frame *reuse = leaf_of(profile, pair->reuse);
    char texts[3 + TRANSFORM_LINES][512];
    struct transform_facts facts = {
        .far = is_worth_it(ranking, figures, pair),
        .ancestor =
            shape->use_frame && !name_before_program(profile->frames[shape->use_frame].function),
        .shared = shape->shared.count,
        .shared_here = shape->shared_here,
        .use_walks = shape_use_walks(profile, pair, shape),
        .reuse_walks = shape_reuse_walks(profile, pair, shape),
        .use_called = shape->use_called,
        .reuse_called = shape->reuse_called,
        .recursive = shape->recursive,
        .forward = shape->forward,
        .backward = shape->backward,
        .in_order = 2 * pair->in_order > pair->far,
        .cached = is_cached(ranking, figures, pair),
        .use_source = line_of(sources, use->file, use->line, texts[0]),
        .reuse_source = line_of(sources, reuse->file, reuse->line, texts[1]),
    };
    for (unsigned i = 0; i < TRANSFORM_LINES && i < shape->shared_here; i++) {
        const struct profile_loop *loop =
            &profile->loops[shape->shared.loops[shape->shared.count - 1 - i]];
        facts.library |= is_library_loop(profile, loop);
        facts.loop_sources[i] = line_of(sources, loop->file, loop->line, texts[2 + i]);
    }
    if (shape->shared.count > shape->shared_here) {
        const struct profile_loop *loop =
            &profile->loops[shape->shared.loops[shape->shared.count - shape->shared_here - 1]];
        facts.calling_source = line_of(sources, loop->file, loop->line, texts[2 + TRANSFORM_LINES]);
    }
    return transform_for(&facts);
}

struct advice transform_advice(const struct reuse_figures *figures, const struct reuse_pair *pair,
                               const struct transform *transform)
{
    return (struct advice){.id = transform->id,
                           .text = transform->text,
                           .evidence = !figures->sampled              ? ADVICE_EXACT
                                       : pair->count < REUSE_FEW_SEEN ? ADVICE_WEAK
                                                                      : ADVICE_STRONG};
}
