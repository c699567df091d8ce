// SPDX-License-Identifier: MIT
/*
 * Code that was compiled without optimization, as a symptom of what could be gained: one for each file, at the line of it that takes most
 * time.
 *
 * What optimization makes of it is not known before it is tried. Every variable of such code lives in memory and every expression passes
 * through it, so that two to four instructions stand where one would do; half of the time is expected to go, and a quarter at
 * least. Judgements.
 */
#include "gain/gain.h"
#include "run/internal.h"

#include <stdlib.h>

static const double expected_part = 0.5, least_part = 0.25;

/* With fewer ticks shares are guesses; a smaller share is nobody's first concern. */
enum { TICKS_LEAST = 20 };
static const double least_share = 0.02;

static const struct advice unoptimized = {
    .id = "unoptimized",
    .text = "This file was compiled without optimization. Compile it with -O2 first: most of what "
            "is found in it now is what the compiler leaves out then.",
    .evidence = ADVICE_STRONG,
};

struct file_time {
    const char *file;
    double ns;
    uint64_t ticks;
    uint32_t context; /* of the line that takes most */
};

struct files {
    struct file_time *items;
    size_t count, capacity;
    double *line_ns; /* by line, of such code */
    double ns, squares;
};

/* The line of such code that is executed in the context; 0: it is none, or the system's. */
static uint32_t line_of(const struct places *places, const struct gain_lines *lines,
                        uint32_t context)
{
    const struct profile *profile = places->profile;
    uint32_t place = places->place_of[context];
    uint32_t flags = profile->frames[profile->contexts[context].frame].flags;
    return flags & PROFILE_FRAME_UNOPTIMIZED && places->own[place] == place ? lines->of_place[place]
                                                                            : 0;
}

static const char *file_of(const struct profile *profile, uint32_t context)
{
    return profile->frames[profile->contexts[context].frame].file;
}

/* The file's entry, made if need be; NULL: no memory. */
static struct file_time *find_file(struct files *files, const char *file)
{
    for (size_t i = 0; i < files->count; i++)
        if (profile_same_text(files->items[i].file, file))
            return &files->items[i];
    return UTIL_PUSH(files->items, files->count, files->capacity, (struct file_time){.file = file})
               ? &files->items[files->count - 1]
               : NULL;
}

/* False: no memory. */
static bool add_times(const struct places *places, const struct gain_lines *lines,
                      struct files *files)
{
    const struct profile *profile = places->profile;
    for (size_t i = 0; i < profile->times_count; i++) {
        const struct profile_time *time = &profile->times[i];
        double ns = (double)time->ns;
        uint32_t line = time->system ? 0 : line_of(places, lines, time->context);
        files->ns += ns;
        files->squares += time->ticks ? ns * ns / (double)time->ticks : 0;
        if (!line)
            continue;
        struct file_time *file = find_file(files, file_of(profile, time->context));
        if (!file)
            return false;
        file->ns += ns;
        file->ticks += time->ticks;
        files->line_ns[line] += ns;
    }
    return true;
}

static void find_hottest(const struct places *places, const struct gain_lines *lines,
                         struct files *files)
{
    const struct profile *profile = places->profile;
    for (size_t i = 0; i < profile->times_count; i++) {
        uint32_t context = profile->times[i].context, line = line_of(places, lines, context);
        struct file_time *file = line ? find_file(files, file_of(profile, context)) : NULL;
        if (file && (!file->context ||
                     files->line_ns[line] > files->line_ns[line_of(places, lines, file->context)]))
            file->context = context;
    }
}

static bool add_file(const struct places *places, const struct gain_lines *lines,
                     const struct files *files, size_t index, struct gain_sink *sink)
{
    const struct file_time *file = &files->items[index];
    struct profile_share share = profile_share(file->ns, files->ns, files->squares);
    struct gain_symptom symptom = {
        .kind = "unoptimized",
        .what = "no optimization",
        .share_of = "of the time in user mode is spent in code of this file compiled so",
        .labels = {"hottest", "hottest"},
        .line = line_of(places, lines, file->context),
        .first = file->context,
        .second = file->context,
        .seen = file->ticks,
        .weak = file->ticks < TICKS_LEAST || share.share < least_share,
        .part = 1,
        .whole = true,
        .waste = share,
        .stall = {.direct = expected_part * share.share,
                  .low = least_part * share.low,
                  .high = share.high},
        .advice = unoptimized};
    return gain_add(sink, &symptom);
}

static bool add_symptoms(const struct places *places, const struct gain_lines *lines,
                         struct source_cache *sources, struct gain_sink *sink)
{
    struct files files = {.line_ns = calloc(lines->count, sizeof *files.line_ns)};
    bool good = files.line_ns && add_times(places, lines, &files);
    (void)sources;
    if (good)
        find_hottest(places, lines, &files);
    for (size_t i = 0; good && i < files.count; i++)
        good = add_file(places, lines, &files, i, sink);
    free(files.line_ns);
    free(files.items);
    return good && run_add_calls(places, lines, sink);
}

const struct analysis_gain run_gains = {.symptoms = add_symptoms};
