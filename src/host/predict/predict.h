// SPDX-License-Identifier: MIT
/*
 * predict: what was computed of loop nests without running them, into a profile: misses by reference and cache, what
 * conflicts with what, changes that would miss less, what is not taken and why; beside it what a recording of the
 * compiled program has of the same references. No state.
 */
#ifndef HEADROOM_PREDICT_H
#define HEADROOM_PREDICT_H

#include "lower/lower.h"
#include "misses/misses.h"
#include "profile/profile.h"
#include "suggest/suggest.h"

/* What a recording of the compiled program has of a reference. */
struct predict_seen {
    bool known;
    uint64_t accesses, moved_bytes, misses; /* of all executions */
};

struct predict_recording {
    struct predict_seen *references; /* as the nest's; NULL: there is no recording */
    double executions;               /* of the nest; 0: not known */
};

/* Has the recording what instructions missed of that cache? */
bool predict_has_level(const struct profile *profile, const struct misses_level *level);

/*
 * Finds references of the nest among the instructions of an exact recording with that cache simulated (reuse --what-if-cache), and puts
 * the nest's arrays where they were, those that are found; all of them have bases before. BASE_NO_MEMORY: nothing is left in *found.
 */
enum base_status predict_match(const struct profile *profile, const struct misses_level *level,
                               struct nest *nest, struct predict_recording *found);

/* A reference that is alone of its kind at its line: bytes from the first that it goes over to behind the last, in the nest and as recorded. */
struct predict_gauge {
    uint32_t line;
    bool write;
    int64_t computed, recorded;
};

/* At most `most` of them; how many. */
size_t predict_gauges(const struct profile *profile, const struct misses_level *level,
                      const struct nest *nest, struct predict_gauge *gauges, size_t most);

enum { PREDICT_VALUES = 4, PREDICT_GAUGES = 24, PREDICT_NAME_BYTES = 128 };

/* A variable that no value is given for. */
struct predict_value {
    char name[PREDICT_NAME_BYTES];
    int64_t value; /* tried, or found */
    bool found;
};

/* The source with values tried: the caller's, who reads it again with them. */
struct predict_trial {
    /* The name of a variable whose value is needed besides these. False: of none that has one. */
    bool (*needs)(void *context, const struct predict_value *values, size_t count, char *name);
    /* Gauges of the nests then; how many. */
    size_t (*gauges)(void *context, const struct predict_value *values, size_t count,
                     struct predict_gauge *gauges, size_t most);
    void *context;
};

/* Values with which references go over as much memory as was recorded. Returns how many variables there are; some may not be found. */
size_t predict_find_values(const struct predict_trial *trial,
                           struct predict_value values[PREDICT_VALUES]);

/* How often the nest was executed, once it is solved. */
void predict_executions(const struct nest *nest, const struct misses_result *result,
                        struct predict_recording *found);

void predict_recording_free(struct predict_recording *found);

struct predicted_nest {
    const struct nest *nest;
    struct misses_result result;
    struct misses_result simulated; /* --verify: every access; references NULL: not asked for */
    const struct suggestions *suggestions; /* NULL: not asked for */
    const char *late; /* why there is no simulation; NULL: there is, or it was not asked for */
    struct predict_recording recording;
};

/* All nests together, for one value of a parameter. */
struct predicted_point {
    int64_t value;
    uint64_t accesses;
    struct misses_figure totals[MISSES_LEVELS];
};

struct predicted {
    const char *path;   /* what was analysed */
    const char *placed; /* where the arrays lie: a clause */
    const struct misses_level *levels;
    size_t levels_count;
    const struct predicted_nest *nests;
    size_t nests_count;
    const char *swept; /* --sweep: the parameter; NULL: none. There are no nests then. */
    const struct predicted_point *points;
    size_t points_count;
    const struct lower_rejected *rejected;
    size_t rejected_count;
};

/* Sets all but the value. Each nest begins with empty caches. */
void predict_sum(const struct predicted_nest *nests, size_t count, size_t levels,
                 struct predicted_point *sum);

/* Into a profile that has nothing of the kind yet; texts are copied. BASE_NO_MEMORY: rows may be missing. */
enum base_status predict_record(const struct predicted *predicted, struct profile *profile);

#endif
