// SPDX-License-Identifier: MIT
/* Between the files of ceiling. */
#ifndef HEADROOM_CEILING_INTERNAL_H
#define HEADROOM_CEILING_INTERNAL_H

#include "ceiling/ceiling.h"

#include "profile/profile.h"
#include "show/json.h"
#include "show/print.h"
#include "view/tree.h"

/* Fewer trials are weak evidence. */
enum { CEILING_TRIALS_FEW = 3 };

/* Is its gap known? */
bool ceiling_known(const struct profile_ceiling_loop *loop);
/* Part of the loop's time that is saved at most; 0 if nothing is known of it. */
double ceiling_gap(const struct profile_ceiling_loop *loop);
/* Of the program's CPU time, if each loop that was measured came to its ceiling. */
double ceiling_upper_bound(const struct profile *profile);
struct advice ceiling_advice(const struct profile_ceiling_loop *loop);

extern const struct analysis_text ceiling_text;
extern const struct analysis_view ceiling_view;
extern const struct analysis_compare ceiling_compare;
extern const struct analysis_export ceiling_export;
bool ceiling_json(struct json *json, const struct places *places,
                  const struct report_options *options);

#endif
