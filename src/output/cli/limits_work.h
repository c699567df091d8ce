// SPDX-License-Identifier: MIT
/*
 * Between the files of `headroom limits`: the command line (limits.c), the loops of what is named on it (limits_loops.c), what is
 * printed about them (limits_report.c).
 *
 * Functions that return bool say in the error why not.
 */
#ifndef HEADROOM_CLI_LIMITS_WORK_H
#define HEADROOM_CLI_LIMITS_WORK_H

#include "cli/common.h"
#include "cli/memory.h"
#include "cli/sequel.h"

#include "assess/assess.h"
#include "assess/source.h"
#include "model/model.h"
#include "profile/profile.h"

enum { LIMITS_FAILED = 1, LIMITS_WORD_BYTES = 4096 };

struct limits_settings {
    const char *machine, *latency, *memory, *only, *levels, *graph, *schedule, *profile, *hex,
        *hex_file, *source_graph, *vertices;
    int loop, measure, ceiling;
    uint64_t max_s;
};

static inline const struct limits_settings *limits_own(const struct settings *settings)
{
    return (const void *)settings->own;
}

/* What is named. */
struct limits_named {
    char path[LIMITS_WORD_BYTES];
    char function[LIMITS_WORD_BYTES], file[LIMITS_WORD_BYTES]; /* "": none */
    struct assess_target target;
};

struct limits_work {
    const struct settings *settings;
    struct assess_options options;
    struct bounds_latencies latencies;
    struct model *model;
    struct profile *profile;
    struct util_text graph, source_graph, schedule;
    struct assess_source *source; /* NULL: the loops have none */
    struct memory_choice memory;
    struct limits_named only;
    struct run_settings further; /* --measure, --schedule */
    struct sequel sequel;
    char error[ASSESS_ERROR_BYTES];
};

/* ---- limits_loops.c ------------------------------------------------------------------------------ */

/* "FUNCTION", "LINE" or "FILE:LINE". */
void limits_read_place(const char *place, struct limits_named *named);
/* A file, and behind a colon which of its loops. error: ASSESS_ERROR_BYTES. */
bool limits_read_named(const char *word, struct limits_named *named, char *error);
bool limits_ends_with(const char *text, const char *end);
bool limits_is_assembly(const char *path);

/* Adds the loops of a file, of assembly, of an object file, or of a source compiled at each level, to the profile. */
bool limits_add_file(struct limits_work *work, const char *path, const struct limits_named *named,
                     const char *level);
bool limits_add_assembly(struct limits_work *work, const struct limits_named *named);
bool limits_add_unlinked(struct limits_work *work, const struct limits_named *named);
bool limits_add_levels(struct limits_work *work, const struct limits_named *named,
                       char *const *compiler);
/* Schedules of what loops of a run executed. */
bool limits_add_executed(struct limits_work *work);

/* ---- limits_report.c ----------------------------------------------------------------------------- */

/* Says in the error, from errno, that the file cannot be written; returns false. */
bool limits_cannot_write(struct limits_work *work, const char *path);
/* What was asked for by --graph, --schedule. */
bool limits_write_graph(struct limits_work *work);
bool limits_write_schedule(struct limits_work *work);
/* Files that were asked for, the profile, the report; returns the exit status. */
int limits_conclude(struct limits_work *work);

#endif
