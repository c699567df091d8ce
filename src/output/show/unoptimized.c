// SPDX-License-Identifier: MIT
/*
 * How much of the work was done by code that was compiled without optimization. Most of what is found there is what the
 * compiler would have removed.
 */
#include "show/coverage.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Below as many samples a share is a guess; below this share findings are elsewhere. */
enum { TICKS_LEAST = 20, FILES_SHOWN = 3 };
static const double least_share = 0.05, most_share = 0.5;

struct file_part {
    const char *file;
    double weight;
};

/* Weights: CPU time in user mode, wasted bytes, or reuses. */
struct unoptimized {
    double all, part;
    struct file_part *files; /* of part, the greatest first */
    size_t count, capacity;
    bool good; /* there was memory */
};

static void add(const struct profile *profile, struct unoptimized *sum, uint32_t context,
                double weight)
{
    const struct profile_frame *frame = &profile->frames[profile->contexts[context].frame];
    sum->all += weight;
    if (!(frame->flags & PROFILE_FRAME_UNOPTIMIZED))
        return;
    sum->part += weight;
    size_t i = 0;
    while (i < sum->count && !profile_same_text(sum->files[i].file, frame->file))
        i++;
    if (i == sum->count) {
        sum->good = sum->good && UTIL_PUSH(sum->files, sum->count, sum->capacity,
                                           (struct file_part){.file = frame->file});
        if (!sum->good)
            return;
    }
    sum->files[i].weight += weight;
}

static int compare_files(const void *left, const void *right)
{
    const struct file_part *a = left, *b = right;
    return (a->weight < b->weight) - (a->weight > b->weight);
}

/* What samples of the clock say, else what was found. Samples that are too few say nothing. */
static struct unoptimized find(const struct profile *profile)
{
    struct unoptimized sum = {.good = true};
    uint64_t ticks = 0;
    for (size_t i = 0; i < profile->times_count; i++) {
        if (profile->times[i].system || !profile->times[i].context)
            continue;
        ticks += profile->times[i].ticks;
        add(profile, &sum, profile->times[i].context, (double)profile->times[i].ns);
    }
    if (profile->times_count && ticks < TICKS_LEAST)
        sum.part = 0;
    for (size_t i = 0; i < profile->pairs_count && !profile->times_count; i++)
        add(profile, &sum, profile->pairs[i].second, profile->pairs[i].waste_bytes);
    for (size_t i = 0; i < profile->reuse_pairs_count && !profile->times_count; i++)
        add(profile, &sum, profile->reuse_pairs[i].reuse, profile->reuse_pairs[i].weight);
    if (sum.count)
        qsort(sum.files, sum.count, sizeof *sum.files, compare_files);
    return sum;
}

static double share_of(const struct unoptimized *sum)
{
    return sum->good && sum->all > 0 ? sum->part / sum->all : 0;
}

static void add_files(const struct unoptimized *sum, char *line, size_t bytes)
{
    char file[64];
    size_t shown = 0;
    for (; shown < sum->count && shown < FILES_SHOWN && sum->files[shown].file; shown++) {
        name_clean(name_base(sum->files[shown].file), file, sizeof file);
        print_add(line, bytes, "%s%s", shown ? ", " : " (", file);
    }
    if (shown && shown < sum->count)
        print_add(line, bytes, " and %zu more", sum->count - shown);
    if (shown)
        print_add(line, bytes, ")");
}

void coverage_print_unoptimized(struct printer *printer)
{
    struct unoptimized sum = find(printer->profile);
    double share = share_of(&sum);
    char line[TEXT_BYTES * 2] = "";
    if (share >= least_share) {
        print_add(line, sizeof line,
                  "%.0f %% of the %s in code that was compiled without optimization", 100 * share,
                  printer->profile->times_count         ? "time in user mode was"
                  : printer->profile->reuse_pairs_count ? "reuses were"
                                                        : "wasted bytes were wasted");
        add_files(&sum, line, sizeof line);
        print_add(line, sizeof line, ": build with -O2 before acting on findings there");
        fputs("  ", printer->out);
        print_wrap(printer, share >= most_share ? BOLD : DIM, 2, 2, line);
    }
    free(sum.files);
}

void coverage_json_unoptimized(struct json *json, const struct profile *profile)
{
    struct unoptimized sum = find(profile);
    if (share_of(&sum) > 0) {
        json_begin(json, "unoptimized", '{');
        json_text(json, "of",
                  profile->times_count         ? "cpu-time"
                  : profile->reuse_pairs_count ? "reuses"
                                               : "wasted-bytes");
        json_decimal(json, "share", share_of(&sum), 6);
        json_begin(json, "files", '[');
        for (size_t i = 0; i < sum.count; i++) {
            json_begin_item(json);
            json_text(json, "file", sum.files[i].file);
            json_decimal(json, "share", sum.files[i].weight / sum.all, 6);
            json_close(json, '}');
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    free(sum.files);
}
