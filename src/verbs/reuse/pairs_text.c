// SPDX-License-Identifier: MIT
/*
 * Pairs of places for people: how far apart they use the same data, where their paths part, the
 * loops around them, what would bring them together, and what that could save.
 */
#include "reuse/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPS_MAX = 3 };

static const char once[] = "Happens once: no loop is around both, so each line can miss here once "
                           "and no more.";

static bool any_far(const struct reuse_ranking *ranking)
{
    return ranking->pairs_count && ranking->pairs[0].far > 0;
}

/* Findings that are not weak come first. If all are, the larger ones are better than none. */
static size_t pairs_shown(const struct printer *printer, const struct reuse_ranking *ranking)
{
    size_t shown = 0, limit = printer->options->limit;
    if (limit == 0)
        return ranking->pairs_count;
    while (shown < ranking->pairs_count && !ranking->pairs[shown].group->weak)
        shown++;
    if (!shown)
        for (shown = ranking->pairs_count; shown; shown--)
            if ((any_far(ranking) ? ranking->pairs[shown - 1].far_share
                                  : ranking->pairs[shown - 1].share) >= REUSE_LEAST_SHARE)
                break;
    return shown < limit ? shown : limit;
}

void reuse_narrow(struct printer *printer, const struct reuse_ranking *ranking)
{
    for (size_t i = 0; i < pairs_shown(printer, ranking); i++)
        group_narrow(printer, &ranking->groups, ranking->pairs[i].group);
}

/* ---- head ------------------------------------------------------------------------------------ */

static void add_distances(const struct reuse_ranking *ranking, const struct reuse_figures *figures,
                          const struct reuse_pair *pair, char *line, size_t bytes)
{
    char number[32], size[32];
    double weight = pair->weight > 0 ? pair->weight : 1, distance = pair->stack / weight;
    if (ranking->distances)
        print_add(line, bytes, "on average %s%s %s (%s) and ",
                  figures->totals.stack ? "" : "about ", reuse_number(figures, distance, number),
                  reuse_unit(&figures->totals, distance),
                  reuse_bytes(figures, distance * figures->totals.unit_bytes, size));
    print_add(line, bytes, "%s%s accesses later", figures->paced ? "about " : "",
              reuse_number(figures, pair->time / weight, number));
}

/* "80.4 % of the reuses"; of samples what the interval supports: "80 % of the reuses (76 – 84 %)",
   "66 – 90 % of the reuses" */
static void add_share(const struct reuse_figures *figures, const struct reuse_pair *pair,
                      char *line, size_t bytes)
{
    char share[32];
    const struct profile_share *interval = &pair->interval;
    if (!figures->sampled || !interval->known) {
        print_add(line, bytes, "%s of the reuses", print_percent(pair->share, share));
        return;
    }
    int decimals = figures_decimals(figures, interval->low, interval->high);
    if (decimals >= 0)
        print_add(line, bytes, "%.*f %% of the reuses (", decimals, 100 * pair->share);
    print_add(line, bytes, "%.*f – %.*f %%%s", decimals > 0, 100 * interval->low, decimals > 0,
              100 * interval->high, decimals >= 0 ? ")" : " of the reuses");
}

static void print_head(struct printer *printer, const struct reuse_ranking *ranking,
                       const struct reuse_figures *figures, const struct reuse_pair *pair,
                       size_t number)
{
    char head[64], line[TEXT_BYTES] = "", share[32];
    bool few = figures_too_few(figures);
    snprintf(head, sizeof head, "#%zu", number);
    fprintf(printer->out, "\n  %s%s%s%s%s  ", print_link_on(printer), print_on(printer, BOLD), head,
            print_off(printer), print_link_off(printer));
    if (any_far(ranking) && !few && figures->sampled)
        print_add(line, sizeof line, "about %.0f %% of the %s, ", 100 * pair->far_share,
                  ranking->distances ? "misses" : "distance");
    else if (any_far(ranking) && !few)
        print_add(line, sizeof line, "%s of the %s, ", print_percent(pair->far_share, share),
                  ranking->distances ? "misses" : "distance");
    add_share(figures, pair, line, sizeof line);
    if (!few) {
        print_add(line, sizeof line, "; ");
        add_distances(ranking, figures, pair, line, sizeof line);
    }
    group_add_extent(pair->group, line, sizeof line);
    if (figures->sampled && (few || pair->count < REUSE_FEW_SEEN))
        print_add(line, sizeof line, "; %sseen %" PRIu64 " time%s",
                  pair->count < REUSE_FEW_SEEN ? "weak evidence: " : "", pair->count,
                  print_plural(pair->count));
    print_wrap(printer, PLAIN, 4 + (unsigned)strlen(head), 6, line);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* "the loop at a.c:12", with its function if that is not the one at hand. */
static void add_loop(const struct printer *printer, uint32_t id, const char *function, char *line,
                     size_t bytes)
{
    const struct profile_loop *loop = &printer->profile->loops[id];
    char place[TEXT_BYTES], name[NAME_BYTES];
    struct profile_frame frame = {
        .function = loop->function, .address = loop->address, .module = loop->module};
    print_place(printer, loop->file, loop->line, place);
    print_function(printer, &frame, name);
    if (!place[0])
        print_add(line, bytes, "a loop in %s", name);
    else if (loop->function && function && strcmp(loop->function, function) != 0)
        print_add(line, bytes, "the loop at %s in %s", place, name);
    else
        print_add(line, bytes, "the loop at %s", place);
}

/* Innermost first. "" for none. */
static void loops_text(const struct printer *printer, const struct shape_loops *loops,
                       const char *function, char *line, size_t bytes)
{
    line[0] = 0;
    for (unsigned i = loops->count; i-- > 0;) {
        if (loops->count - i > LOOPS_MAX) {
            print_add(line, bytes, ", inside %u more", i + 1);
            return;
        }
        if (line[0])
            print_add(line, bytes, ", inside ");
        add_loop(printer, loops->loops[i], function, line, bytes);
    }
}

static const char *function_of(const struct profile *profile, uint32_t context)
{
    return profile->frames[profile->contexts[context].frame].function;
}

static void side_remark(const struct printer *printer, const struct shape_loops *loops,
                        uint32_t context, char *remark, size_t bytes)
{
    char line[TEXT_BYTES - 16];
    loops_text(printer, loops, function_of(printer->profile, context), line, sizeof line);
    snprintf(remark, bytes, "%s%s", line[0] ? "in " : "", line);
}

static void print_labelled(struct printer *printer, const char *label, const char *text)
{
    fprintf(printer->out, "      %-14s", label);
    print_wrap(printer, PLAIN, 20, 20, text);
}

/* The function that both paths go through last, unless the lines of use and reuse say so. */
static void print_parting(struct printer *printer, const struct shape *shape)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES * 2] = "", name[NAME_BYTES], use_place[TEXT_BYTES],
                           reuse_place[TEXT_BYTES];
    if (!shape->use_called && !shape->reuse_called)
        return;
    const struct profile_frame *use = &profile->frames[shape->use_frame];
    const struct profile_frame *reuse = &profile->frames[shape->reuse_frame];
    print_place(printer, use->file, use->line, use_place);
    print_place(printer, reuse->file, reuse->line, reuse_place);
    if (!use_place[0] || !reuse_place[0] || strcmp(use_place, reuse_place) == 0)
        return;
    print_function(printer, use, name);
    print_add(line, sizeof line, "%s, at %s and %s", name, use_place, reuse_place);
    print_labelled(printer, "paths part in", line);
}

/* Callers of several contexts are not printed at the places but listed below. */
static void print_places(struct printer *printer, const struct reuse_pair *pair,
                         const struct shape *shape, struct chain chains[2])
{
    char remark[TEXT_BYTES];
    bool same = pair->use_place == pair->reuse_place, bare = !group_is_single(pair->group);
    print_make_own_chain(printer, pair->use_place, &chains[0]);
    print_make_own_chain(printer, pair->reuse_place, &chains[1]);
    size_t common = print_common_frames(&chains[0], &chains[1]);
    size_t outer[2] = {common, common};
    for (unsigned i = 0; i < 2 && bare; i++)
        outer[i] = chains[i].count ? chains[i].count - chains[i].inner - 1 : 0;
    if (!bare)
        print_common(printer, &chains[0], common);
    if (same) {
        side_remark(printer, &shape->shared, pair->use, remark, sizeof remark);
        print_side(printer, &chains[0], outer[0], "both", remark);
        return;
    }
    if (!bare)
        print_parting(printer, shape);
    if (shape->shared.count) {
        loops_text(printer, &shape->shared, function_of(printer->profile, pair->use), remark,
                   sizeof remark);
        print_labelled(printer, "both in", remark);
    }
    side_remark(printer, &shape->use, pair->use, remark, sizeof remark);
    print_side(printer, &chains[0], outer[0], "used", remark);
    side_remark(printer, &shape->reuse, pair->reuse, remark, sizeof remark);
    print_side(printer, &chains[1], outer[1], "reused", remark);
}

static bool print_where(struct printer *printer, const struct reuse_ranking *ranking,
                        const struct reuse_pair *pair, const struct shape *shape,
                        struct chain chains[2])
{
    static const struct group_words words = {"used", "reused"};
    if (pair->group->by <= REPORT_BY_PAIR)
        print_places(printer, pair, shape, chains);
    else
        group_print_places(printer, &ranking->groups, pair->group, &words, chains);
    return group_print_parts(printer, &ranking->groups, pair->group, &words, chains);
}

/* ---- what to do ------------------------------------------------------------------------------ */

static void print_saving(struct printer *printer, const struct reuse_ranking *ranking,
                         const struct reuse_figures *figures, const struct reuse_pair *pair)
{
    char line[TEXT_BYTES] = "", name[64], from[32], to[32];
    for (size_t i = 0; i < ranking->caches_count && ranking->distances; i++) {
        double bytes = (double)ranking->caches[i].bytes;
        struct mrc_ratio ratio = figures_miss_ratio(figures, bytes);
        double without = figures_ratio_without(figures, pair, bytes);
        int digits = figures_decimals(figures, ratio.low, ratio.high);
        if (ratio.ratio - without < FIGURES_LEAST_SAVING || digits < 0)
            continue;
        snprintf(from, sizeof from, "%.*f", digits, 100 * ratio.ratio);
        snprintf(to, sizeof to, "%.*f", digits, 100 * without);
        if (strcmp(from, to) == 0) /* a saving below what the samples tell apart */
            continue;
        print_add(line, sizeof line, "%s from %s%s to %s %% in %s%s", line[0] ? "," : "",
                  figures->sampled ? "about " : "", from, to,
                  ranking->caches[i].level ? "" : "a cache of ",
                  reuse_cache(&ranking->caches[i], name));
    }
    if (!line[0] || figures_too_few(figures))
        return;
    char whole[TEXT_BYTES + 80];
    snprintf(whole, sizeof whole, "If all of them were near, misses would fall at best%s.", line);
    fprintf(printer->out, "      ");
    print_wrap(printer, DIM, 6, 6, whole);
}

static bool print_pair(struct printer *printer, const struct reuse_ranking *ranking,
                       const struct reuse_figures *figures, const struct reuse_pair *pair,
                       size_t number, struct chain chains[2])
{
    struct shape shape;
    shape_find(ranking->places, pair, &shape);
    print_link(printer, "view=pairs&kind=reuse&pair=%zu", number - 1);
    print_head(printer, ranking, figures, pair, number);
    bool good = print_where(printer, ranking, pair, &shape, chains);
    struct objects_found found =
        objects_of_group(&ranking->objects, PROFILE_REUSE, &ranking->groups, pair->group);
    objects_print(printer, &found);
    if (pair->once) {
        fprintf(printer->out, "      ");
        print_wrap(printer, DIM, 6, 6, once);
        return good;
    }
    print_saving(printer, ranking, figures, pair);
    if (pair->group->by > REPORT_BY_PAIR)
        return good;
    struct transform transform = transform_pair(ranking, figures, &printer->sources, pair, &shape);
    struct advice advice = transform_advice(figures, pair, &transform);
    print_given(printer, &advice, number);
    return good;
}

/* "L1, L2 and L3" */
static void caches_text(const struct reuse_ranking *ranking, char *text, size_t bytes)
{
    char size[32];
    size_t count = ranking->caches_count;
    text[0] = 0;
    for (size_t i = 0; i < count; i++)
        if (ranking->caches[i].level)
            print_add(text, bytes, "%sL%" PRIu32,
                      i == 0          ? ""
                      : i + 1 < count ? ", "
                                      : " and ",
                      ranking->caches[i].level);
        else
            print_add(text, bytes, "a cache of %s", print_size(ranking->caches[i].bytes, size));
}

static void print_order(struct printer *printer, const struct reuse_ranking *ranking)
{
    char order[TEXT_BYTES], caches[128];
    caches_text(ranking, caches, sizeof caches);
    if (!any_far(ranking) && ranking->once)
        snprintf(order, sizeof order, "none saves misses: what %s missed happens once",
                 ranking->caches[0].level ? caches : "a small cache");
    else if (!any_far(ranking))
        snprintf(order, sizeof order, "all of them near: any first-level cache holds them");
    else if (!ranking->distances)
        snprintf(order, sizeof order, "ordered by their time distance");
    else
        snprintf(order, sizeof order, "ordered by the misses they could save in %s", caches);
    fprintf(printer->out, "\n%sReuses by place%s  ", print_on(printer, STRONG), print_off(printer));
    print_wrap(printer, PLAIN, 17, 2, order);
}

/* Of the machine's misses, and no saving: so they are counted, and listed last. */
static void print_once(struct printer *printer, const struct reuse_ranking *ranking)
{
    char line[TEXT_BYTES], share[32];
    if (!ranking->once)
        return;
    snprintf(line, sizeof line,
             "%zu %s place%s, with %s of the misses, happen%s once: data set up and first used far "
             "later, or last used far from the end. They save nothing and stand last.",
             ranking->once, ranking->once == 1 ? "pair of" : "pairs of", "s",
             print_percent(ranking->once_share, share), ranking->once == 1 ? "s" : "");
    fprintf(printer->out, "\n  ");
    print_wrap(printer, DIM, 2, 2, line);
}

static void print_rest(struct printer *printer, const struct reuse_ranking *ranking, size_t shown)
{
    double rest = 0;
    size_t count = ranking->pairs_count - shown, weak = 0;
    char line[TEXT_BYTES] = "";
    for (size_t i = shown; i < ranking->pairs_count; i++) {
        rest += ranking->pairs[i].share;
        weak += ranking->pairs[i].group->weak;
    }
    print_add(line, sizeof line, "%zu %s", count, shown ? "more" : "of less than 0.5 % each");
    if (!ranking->places->exact && shown && weak == count)
        print_add(line, sizeof line, ", weak");
    else if (!ranking->places->exact && shown && weak)
        print_add(line, sizeof line, ", %zu of them weak", weak);
    fprintf(printer->out, "\n  %s%s, together %.*f %% of the reuses%s\n", print_on(printer, DIM),
            line, !ranking->places->exact ? 0 : 1, 100 * rest, print_off(printer));
}

bool reuse_print_pairs(struct printer *printer, const struct reuse_ranking *ranking,
                       const struct reuse_figures *figures)
{
    size_t shown = pairs_shown(printer, ranking);
    struct chain *chains = malloc(2 * sizeof *chains);
    bool good = chains;
    if (!good)
        return false;
    printer->given_count = 0;
    print_order(printer, ranking);
    for (size_t i = 0; i < shown && good; i++)
        good = print_pair(printer, ranking, figures, &ranking->pairs[i], i + 1, chains);
    print_link_clear(printer);
    free(chains);
    if (shown < ranking->pairs_count)
        print_rest(printer, ranking, shown);
    print_once(printer, ranking);
    printer->next.cut |= shown < ranking->pairs_count;
    return good;
}
