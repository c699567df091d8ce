// SPDX-License-Identifier: MIT
/* Between the files of ceiling. */
#ifndef HEADROOM_CEILING_INTERNAL_H
#define HEADROOM_CEILING_INTERNAL_H

#include "ceiling/ceiling.h"

#include "profile/profile.h"
#include "show/json.h"
#include "show/print.h"
#include "view/tree.h"

/* Part of the loop's time that is saved at most; 0 if nothing is known of it. */
double ceiling_gap(const struct profile_ceiling_loop *loop);
/* Of the program's CPU time, if each loop that was measured came to its ceiling. */
double ceiling_upper_bound(const struct profile *profile);
/* Variants, as they are printed. */
enum { CEILING_VARIANTS = 4 };
extern const struct ceiling_variant_name {
    const char *id, *name;
} ceiling_variants[CEILING_VARIANTS];

/* With that variant in place of the loop; NULL: not asked for. */
const struct profile_ceiling_variant *ceiling_variant(const struct profile *profile,
                                                      const struct profile_ceiling_loop *loop,
                                                      const char *variant);
/* Its cycles an iteration; negative: not known. */
double ceiling_variant_cycles(const struct profile_ceiling_loop *loop,
                              const struct profile_ceiling_variant *variant);
/* Of the loop's time as the program executes it; negative: not known. */
double ceiling_variant_part(const struct profile_ceiling_loop *loop,
                            const struct profile_ceiling_variant *variant);
/* As ceiling_upper_bound, of loops as that variant; negative: no loop was tried as that. */
double ceiling_variant_bound(const struct profile *profile, const char *variant);
/* loop: one of the profile's. */
struct advice ceiling_advice(const struct profile *profile,
                             const struct profile_ceiling_loop *loop);

extern const struct analysis_text ceiling_text;
extern const struct analysis_view ceiling_view;
extern const struct analysis_compare ceiling_compare;
extern const struct analysis_export ceiling_export;
bool ceiling_json(struct json *json, const struct places *places,
                  const struct report_options *options);

#endif
