// SPDX-License-Identifier: MIT
/*
 * Between the files of `headroom stat`: what is run (stat.c), in which order and how (stat_runs.c), as built at levels (stat_build.c),
 * with what counted (stat_events.c) and which regions timed (stat_regions.c).
 *
 * Everything is noted in the profile as it comes, and the profile written once, at the end.
 */
#ifndef HEADROOM_CLI_STAT_H
#define HEADROOM_CLI_STAT_H

#include "cli/sequel.h"

#include "assess/assess.h"
#include "machine/counting.h"

enum {
    STAT_COMMANDS = 16,
    STAT_LEVELS = 8,
    STAT_SUBJECTS = 32,
    STAT_REGIONS = 32,
    STAT_RUNS_MOST = 1000
};

struct stat_settings {
    uint64_t runs, warmups, seed, max_s;
    const char *levels, *build, *events, *json;
    int list_events, append, show_output, ignore_failure, trips;
};

/* A command as built at a level. */
struct stat_subject {
    char **command;               /* NULL-terminated */
    uint32_t id;                  /* in the profile */
    char path[LAUNCH_PATH_BYTES]; /* of what is executed */
    int expected;                 /* exit status of its first run; -1: there was none */
    char *real;                   /* the same as the kernel has it; of those with loops */
    struct assess_heads heads[STAT_REGIONS]; /* of regions that are loops */
};

struct stat_region {
    const char *name; /* as it was asked for */
    uint32_t id;      /* in the profile */
    bool loop;
};

struct stat_measuring {
    const struct settings *settings;
    const struct stat_settings *own;
    struct profile *profile;
    const char *output;
    struct sequel sequel;
    struct run_settings further;
    struct stat_subject subjects[STAT_SUBJECTS];
    size_t subjects_count;
    struct stat_region regions[STAT_REGIONS];
    size_t regions_count;
    struct machine_counter counters[MACHINE_COUNTERS_MAX];
    size_t counters_count;
    uint32_t session;          /* in the profile */
    uint32_t position, rounds; /* of measured rounds, those that are whole */
    uint64_t random;
    char directory[LAUNCH_PATH_BYTES]; /* of programs built at levels; "": there are none */
    int code;                          /* exit code, if something failed */
    char error[LAUNCH_ERROR_BYTES];
};

/* False: the reason is in measuring->error, its exit code in measuring->code. */
bool stat_fail(struct stat_measuring *measuring, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A sentence that every report has. */
bool stat_degraded(struct stat_measuring *measuring, const char *sentence);

/* ---- runs (stat_runs.c) ---------------------------------------------------------------------- */

/* All rounds. False as above; what was measured until then is in the profile. */
bool stat_runs(struct stat_measuring *measuring);

/* ---- levels (stat_build.c) ------------------------------------------------------------------- */

/* Hash of a file's bytes; 0: it cannot be read. */
uint64_t stat_content(const char *path);

/* The level number `index` of a list divided by commas, without a leading '-'. False: there are no more. */
bool stat_level(const char *levels, size_t index, char *level, size_t bytes);

/* Builds at that level and puts a copy of the program at `path` elsewhere, where path leads from then on. */
bool stat_build(struct stat_measuring *measuring, const char *level, char path[LAUNCH_PATH_BYTES]);
/* Removes the copies. */
void stat_build_end(struct stat_measuring *measuring);

/* ---- events (stat_events.c) ------------------------------------------------------------------ */

/* Those that settings ask for, tried. What cannot be counted is said, in the profile too; a name that is unknown fails. */
bool stat_events_find(struct stat_measuring *measuring);
/* Prints every event of this machine, tried. Returns the exit code. */
int stat_events_list(const struct settings *settings);

/* ---- regions (stat_regions.c) ---------------------------------------------------------------- */

/* Before the first run: which there are. */
bool stat_regions_find(struct stat_measuring *measuring);
/* A run in which they are timed. The run is the last one of the profile, whose time is filled in. */
enum launch_outcome stat_regions_run(struct stat_measuring *measuring, struct stat_subject *subject,
                                     struct launch_result *result);
/* Whatever came of it. */
void stat_regions_free(struct stat_measuring *measuring);
/* After the last run: iterations of loops counted; what was not timed is said. */
bool stat_regions_end(struct stat_measuring *measuring);

#endif
