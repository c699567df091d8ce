// SPDX-License-Identifier: MIT
/*
 * What `headroom run` does with the command once it has run under observation and the first profile is in its place:
 * the same again, if one run showed too little (repeat.c), and once more each with executions of functions timed, with all
 * accesses counted, and so on (deep.c).
 *
 * The program's output is that of its first run, as is its exit status. SIGINT and the like end what is going on here;
 * what was recorded until then is kept.
 */
#ifndef HEADROOM_CLI_SEQUEL_H
#define HEADROOM_CLI_SEQUEL_H

#include "calibrate/calibrate.h"
#include "cli/recording.h"
#include "profile/profile.h"

#include <sys/types.h>

enum { RUNS_MOST = 1000, MAX_TIME_S = 60, MAX_TIME_DEEP_S = 600 /* unless another is given */ };

struct run_settings {
    uint64_t runs;  /* at most, the first included; 0: not to be repeated */
    uint64_t max_s; /* from the start of the first; 0: as above */
    int deep;
};

struct sequel {
    const struct run_settings *settings;
    uint64_t begun_ns;                /* CLOCK_MONOTONIC: about when the first run began */
    off_t input_at;                   /* where standard input stood then, if it is a file */
    const char *refused;              /* why the program cannot run again; NULL: it can */
    struct calibrate_clock clock;     /* before the first run; of deep ones alone */
    const struct cache_shape *levels; /* to be simulated while iterations are counted */
    size_t levels_count;
};

/* recording->sequel_state is a struct sequel. */
extern const struct recording_sequel run_sequel;

/* Before the first run: can there be another? And how long a cycle takes. */
void sequel_prepare(struct sequel *sequel, struct recording *recording);
/* After it: will there be another? */
bool sequel_goes_on(const struct sequel *sequel, const struct recording *recording);

/* ---- further runs (sequel.c) ------------------------------------------------------------------ */

/* Around the launch of a further run, which has to end by until_ns (CLOCK_MONOTONIC). Begin: standard input as it was before the
   first run, output to nowhere, and the deadline into the request; signals and limits as headroom found them. Not LAUNCH_OK: error
   (LAUNCH_ERROR_BYTES), and nothing to end. End: signals are noted again. */
enum launch_outcome sequel_begin(const struct sequel *sequel, uint64_t until_ns,
                                 struct launch_request *request, char *error);
void sequel_end(struct launch_request *request);

/* When all further runs have to have ended, CLOCK_MONOTONIC. */
uint64_t sequel_deadline_ns(const struct sequel *sequel);

/* Is its time over, or will it be before another run of that many seconds ends? */
bool sequel_is_over(const struct sequel *sequel, double further_s);

/* Puts the profile in the place of the first one, of which `.old` is not to become a copy; if that one is gone, elsewhere, which is
   said. False: error (LAUNCH_ERROR_BYTES). */
bool sequel_replace(struct recording *recording, const struct profile *profile, char *error);

/* How long a cycle took before the first run and takes now, for loops that have bounds. */
void sequel_clock(const struct sequel *sequel, struct profile *profile);

/* What has to be said, kept in the profile; the sentence stays the caller's. */
void sequel_degraded(struct profile *profile, const char *sentence);

/* The command again and again, as long as samples are too few and time is left. */
void repeat_run(struct recording *recording);

/* The command once more for each step that applies, as far as there is time. */
void deep_run(struct recording *recording, const struct sequel *sequel);

/* Once more to count iterations of the loops that the first profile has bounds of (sequel_clock). */
void deep_iterations(struct recording *recording, const struct sequel *sequel);

/* Once more to try its loops with their data in the first-level cache. */
void deep_ceiling(struct recording *recording, const struct sequel *sequel, struct model *model);

/* Once more to measure reuse distances of what the loops executed. */
void deep_distances(struct recording *recording, const struct sequel *sequel);

#endif
