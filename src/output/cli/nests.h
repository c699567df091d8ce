// SPDX-License-Identifier: MIT
/*
 * Loop nests from a source to their misses: what `headroom locality` (locality.c) and `run --deep` have in common. nests.c: caches, sources,
 * places, solving; nests_recorded.c: beside a recording of the compiled program.
 */
#ifndef HEADROOM_CLI_NESTS_H
#define HEADROOM_CLI_NESTS_H

#include "cli/common.h"
#include "cli/locality.h"

#include "lower/lower.h"
#include "misses/misses.h"
#include "predict/predict.h"
#include "profile/profile.h"
#include "suggest/suggest.h"

enum { NESTS_MAX = 256, NESTS_ALIGN = 4096 };

struct locality_settings {
    const char *function, *loop, *sweep, *from;
    struct option_list caches, bases;
    int exact, verify, suggest;
    uint64_t align, max_s, threads;
    double width;
};
_Static_assert(sizeof(struct locality_settings) <= SETTINGS_OWN_BYTES, "own settings");
_Static_assert(BASE_COUNT(((struct option_list *)NULL)->texts) < LOWER_BINDINGS,
               "all values given, and one that is swept");
_Static_assert((int)PREDICT_NAME_BYTES <= (int)LOWER_NAME_BYTES, "names of values that are found");

static inline const struct locality_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

struct predicting {
    const struct settings *settings;
    struct lowered lowered;
    struct lower_binding bindings[LOWER_BINDINGS];
    char names[LOWER_BINDINGS][LOWER_NAME_BYTES];
    char texts[PREDICT_VALUES][24]; /* of values that were found in the recording */
    struct misses_level levels[MISSES_LEVELS];
    size_t levels_count;
    struct predicted_nest nests[NESTS_MAX];
    struct suggestions suggestions[NESTS_MAX]; /* of each nest */
    size_t nests_count;
    struct profile *recorded;        /* --from; NULL: none */
    const struct nest_place *places; /* of a run's loops: nests that are there */
    size_t places_count;             /* 0: what the settings ask for */
    size_t dropped;                  /* nests of these that were not recorded so */
    const char *path;
    char *const *compiler;
    char values[PREDICT_VALUES *
                160]; /* of variables, found in the recording: "n = 300, m = 20"; "" */
    char placed[1280];
    char error[LOWER_ERROR_BYTES];
};

/* NULL: no memory, which is said. */
struct predicting *nests_begin(const struct settings *settings, char *const *compiler);
void nests_end(struct predicting *predicting);

/* All nests that are asked for, with one more value if there is one (swept: its name). On failure the error is set. */
bool nests_compute(struct predicting *predicting, const char *file, const char *swept,
                   const char *value);

/* Its parts, for callers that compute no nests. */
bool nests_find_source(struct predicting *predicting, const char *file);
bool nests_find_levels(struct predicting *predicting);
void nests_say_where(struct predicting *predicting);

/* Is the nest one that is asked for? */
bool nests_are_asked_for(const struct predicting *predicting, size_t index,
                         const struct polyhedra_about *about);

/* ---- beside a recording (nests_recorded.c) ------------------------------------------------------------------------ */

/* --from, and the recording's cache if no other is given. */
bool nests_read_recording(struct predicting *predicting);

/* Values of variables that no -D gives, so that loads and stores touch as much memory as they did; those that are not found stay unknown. The
   source is lowered again with them. */
bool nests_find_values(struct predicting *predicting, struct lower_request *request);

/* Where the nest's arrays were, and what its references missed. */
bool nests_take_recorded(struct predicting *predicting, struct predicted_nest *made,
                         struct nest *nest);

/* Has the recording one of its references? */
bool nests_are_recorded(const struct predicted_nest *made);

/* Is that in one of the places asked for? */
bool nests_are_in_place(const struct predicting *predicting, const char *file, uint32_t first,
                        uint32_t last);

#endif
