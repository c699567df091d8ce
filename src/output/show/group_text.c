// SPDX-License-Identifier: MIT
#include "show/group_text.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTS_MAX = 3,
    LABEL = 14,
    LINKS_MAX = 1024, /* looked at, of a finding; the heaviest */
    ALIKE_MAX = 32,   /* different lines that are kept */
};

static const char no_callers[] = "without callers";

static const struct group_link *heaviest(const struct groups *groups, const struct group *group)
{
    return &groups->links[group->links[0]];
}

void group_add_extent(const struct group *group, char *line, size_t bytes)
{
    if (group->links_count == 1)
        return;
    if (group->by <= REPORT_BY_PAIR || group->parts == 1)
        print_add(line, bytes, ", in %zu context%s", group->links_count,
                  print_plural(group->links_count));
    else
        print_add(line, bytes, ", between %zu pairs of places", group->parts);
}

void group_narrow(struct printer *printer, const struct groups *groups, const struct group *group)
{
    print_narrow(printer, heaviest(groups, group)->first);
    print_narrow(printer, heaviest(groups, group)->second);
}

/* ---- places ------------------------------------------------------------------------------------ */

static void make_chains(const struct printer *printer, const struct group_link *link,
                        struct chain chains[2])
{
    print_make_own_chain(printer, link->first, &chains[0]);
    print_make_own_chain(printer, link->second, &chains[1]);
}

static void print_labelled(struct printer *printer, const char *label, const char *text)
{
    fprintf(printer->out, "      %s", print_on(printer, DIM));
    print_pad(printer, label, LABEL, false);
    fputs(print_off(printer), printer->out);
    print_wrap(printer, PLAIN, 6 + LABEL, 6 + LABEL, text);
}

static const struct profile_frame *own_frame(const struct printer *printer, uint32_t place)
{
    const struct places *places = &printer->places;
    return &printer->profile->frames[places->items[places->own[place]].class];
}

/* The line, function or module that a group of the end's own is about. */
static void print_lead(struct printer *printer, const struct groups *groups,
                       const struct group *group, const struct group_words *words,
                       const struct chain *chain)
{
    const struct profile_frame *frame =
        own_frame(printer, groups->rule.lead ? heaviest(groups, group)->second
                                             : heaviest(groups, group)->first);
    const char *label = groups->rule.lead ? words->second : words->first;
    char name[NAME_BYTES], place[TEXT_BYTES], line[TEXT_BYTES + NAME_BYTES + 8];
    if (group->by == REPORT_BY_LINE) {
        print_side(printer, chain, chain->count - chain->inner - 1, label, "");
        return;
    }
    print_function(printer, frame, name);
    if (group->by == REPORT_BY_MODULE) {
        name_clean(frame->module ? printer->profile->modules[frame->module].path : "unknown", line,
                   sizeof line);
    } else {
        print_place(printer, frame->file, 0, place);
        snprintf(line, sizeof line, "%s%s%s%s", name, place[0] ? " (" : "", place,
                 place[0] ? ")" : "");
    }
    print_labelled(printer, label, line);
}

void group_print_places(struct printer *printer, const struct groups *groups,
                        const struct group *group, const struct group_words *words,
                        struct chain chains[2])
{
    const struct group_link *link = heaviest(groups, group);
    make_chains(printer, link, chains);
    if (group_is_single(group))
        print_sides(printer, chains, link->first == link->second, words->first, words->second);
    else if (group->by <= REPORT_BY_PAIR)
        print_bare_sides(printer, chains, words->first, words->second);
    else
        print_lead(printer, groups, group, words, &chains[groups->rule.lead]);
}

/* ---- contexts ---------------------------------------------------------------------------------- */

/* Callers of one end below those that both share. */
static void add_own_callers(const struct printer *printer, const struct chain *chain, size_t common,
                            const char *label, char *line, size_t bytes)
{
    size_t callers = chain->count - chain->inner - 1;
    if (callers <= common)
        return;
    print_add(line, bytes, "%s%s in ", line[0] ? "; " : "", label);
    print_add_callers(printer, chain, common, callers, line, bytes);
}

static void context_line(const struct printer *printer, const struct chain chains[2],
                         const struct group_words *words, char *line, size_t bytes)
{
    line[0] = 0;
    if (!chains[0].count || !chains[1].count) {
        print_add(line, bytes, "an unknown location");
        return;
    }
    size_t common = print_common_frames(&chains[0], &chains[1]);
    if (common) {
        print_add(line, bytes, "in ");
        print_add_callers(printer, &chains[0], 0, common, line, bytes);
    }
    add_own_callers(printer, &chains[0], common, words->first, line, bytes);
    add_own_callers(printer, &chains[1], common, words->second, line, bytes);
    if (!line[0])
        print_add(line, bytes, "%s", no_callers);
}

static void print_more(struct printer *printer, size_t count, const char *what)
{
    char line[64];
    snprintf(line, sizeof line, "%zu more %s%s", count, what, print_plural(count));
    print_labelled(printer, "", line);
}

/* Contexts that read the same: they differ in what is not printed, such as callers in the middle. */
struct alike {
    char text[TEXT_BYTES * 4];
    struct group_link sum; /* of weight, share and seen */
    size_t count;
};

static void add_alike(struct alike alike[ALIKE_MAX], const char *text,
                      const struct group_link *link)
{
    size_t i = 0;
    while (i < ALIKE_MAX && alike[i].count && strcmp(alike[i].text, text) != 0)
        i++;
    if (i == ALIKE_MAX)
        return;
    if (alike[i].count++ == 0)
        memcpy(alike[i].text, text, strlen(text) + 1);
    alike[i].sum.weight += link->weight;
    alike[i].sum.share += link->share;
    alike[i].sum.seen += link->seen;
}

static int heavier_alike(const void *left, const void *right)
{
    const struct alike *a = left, *b = right;
    return (a->sum.weight < b->sum.weight) - (a->sum.weight > b->sum.weight);
}

static void find_alike(struct printer *printer, const struct groups *groups,
                       const struct group *group, const struct group_words *words,
                       struct chain chains[2], struct alike alike[ALIKE_MAX])
{
    char text[sizeof alike->text];
    for (size_t i = 0; i < group->links_count && i < LINKS_MAX; i++) {
        const struct group_link *link = &groups->links[group->links[i]];
        make_chains(printer, link, chains);
        context_line(printer, chains, words, text, sizeof text);
        add_alike(alike, text, link);
    }
    qsort(alike, ALIKE_MAX, sizeof *alike, heavier_alike);
}

/* Those with evidence of their own; if there is none, the heaviest as an example. */
static void print_alike(struct printer *printer, const struct groups *groups,
                        const struct group *group, struct alike alike[ALIKE_MAX])
{
    char share[32];
    size_t shown = 0;
    for (size_t i = 0; i < PARTS_MAX && alike[i].count; i++) {
        bool weak = group_link_is_weak(groups, &alike[i].sum);
        if (weak && shown)
            break;
        if (alike[i].count > 1)
            print_add(alike[i].text, sizeof alike[i].text, " (%zu contexts)", alike[i].count);
        print_percent(alike[i].sum.share, share);
        print_labelled(printer, weak ? "as" : share, alike[i].text);
        shown += alike[i].count;
    }
    if (shown < group->links_count)
        print_more(printer, group->links_count - shown, "context");
}

/* False: no memory. */
static bool print_contexts(struct printer *printer, const struct groups *groups,
                           const struct group *group, const struct group_words *words,
                           struct chain chains[2])
{
    struct alike *alike = calloc(ALIKE_MAX, sizeof *alike);
    if (!alike)
        return false;
    find_alike(printer, groups, group, words, chains, alike);
    /* Of a function that nothing calls there is nothing to say. */
    if (strcmp(alike[0].text, no_callers) != 0 || alike[1].count)
        print_alike(printer, groups, group, alike);
    free(alike);
    return true;
}

/* ---- pairs of places, functions ---------------------------------------------------------------- */

static void add_spot(const struct printer *printer, uint32_t place, char *line, size_t bytes)
{
    char name[NAME_BYTES], spot[TEXT_BYTES];
    const struct profile_frame *frame = own_frame(printer, place);
    print_place(printer, frame->file, frame->line, spot);
    print_function(printer, frame, name);
    if (place)
        print_add(line, bytes, "%s%s%s%s", name, spot[0] ? " (" : "", spot, spot[0] ? ")" : "");
    else
        print_add(line, bytes, "an unknown location");
}

static void part_line(const struct printer *printer, const struct groups *parts,
                      const struct group *part, const struct group_words *words, char *line,
                      size_t bytes)
{
    const struct group_link *link = heaviest(parts, part);
    char name[NAME_BYTES];
    line[0] = 0;
    if (part->by == REPORT_BY_FUNCTION) {
        print_function(printer, own_frame(printer, parts->rule.lead ? link->second : link->first),
                       name);
        print_add(line, bytes, "%s", name);
        return;
    }
    print_add(line, bytes, "%s in ", words->first);
    add_spot(printer, link->first, line, bytes);
    print_add(line, bytes, ", %s in ", words->second);
    add_spot(printer, link->second, line, bytes);
}

static int largest_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return (a->links[0] > b->links[0]) - (a->links[0] < b->links[0]);
}

/* From now on their weight is what is printed. */
static void weigh_parts(const struct groups *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct group *part = &parts->items[i];
        part->weight = 0;
        for (size_t j = 0; j < part->links_count; j++)
            part->weight += parts->links[part->links[j]].share;
    }
}

static void print_parts(struct printer *printer, const struct groups *parts,
                        const struct group_words *words)
{
    char line[TEXT_BYTES * 4], share[32];
    weigh_parts(parts);
    qsort(parts->items, parts->count, sizeof *parts->items, largest_first);
    for (size_t i = 0; i < parts->count && i < PARTS_MAX; i++) {
        part_line(printer, parts, &parts->items[i], words, line, sizeof line);
        print_percent(parts->items[i].weight, share);
        print_labelled(printer, share, line);
    }
    if (parts->count > PARTS_MAX)
        print_more(printer, parts->count - PARTS_MAX,
                   parts->items[0].by == REPORT_BY_FUNCTION ? "function" : "pair");
}

bool group_print_parts(struct printer *printer, const struct groups *groups,
                       const struct group *group, const struct group_words *words,
                       struct chain chains[2])
{
    struct groups parts;
    struct group_rule rule = groups->rule;
    if (group_is_single(group))
        return true;
    if (group->by <= REPORT_BY_PAIR || group->parts == 1)
        return print_contexts(printer, groups, group, words, chains);
    rule.by = group->by == REPORT_BY_MODULE ? REPORT_BY_FUNCTION : REPORT_BY_PAIR;
    struct group_link *links = calloc(group->links_count, sizeof *links);
    for (size_t i = 0; links && i < group->links_count; i++)
        links[i] = groups->links[group->links[i]];
    bool good = links && groups_make(&printer->places, links, group->links_count, &rule, &parts);
    if (good) {
        print_parts(printer, &parts, words);
        groups_free(&parts);
    }
    free(links);
    return good;
}
