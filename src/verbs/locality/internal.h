// SPDX-License-Identifier: MIT
/* Between the files of locality: rows of a nest (locality.c), the report for people (text.c, suggestions_text.c), JSON (json.c),
   comparisons (compare.c), exports (export.c), the page (view.c). */
#ifndef HEADROOM_LOCALITY_INTERNAL_H
#define HEADROOM_LOCALITY_INTERNAL_H

#include "locality/locality.h"
#include "show/json.h"
#include "show/places.h"
#include "show/print.h"

/* NULL: the profile is not of locality. */
const struct profile_locality_run *locality_run_of(const struct profile *profile);

/* Rows [first, end) of a list that is grouped by its first member, those of an owner. */
struct locality_rows {
    size_t first, end;
};
struct locality_rows locality_arrays_of(const struct profile *profile, uint32_t nest);
struct locality_rows locality_references_of(const struct profile *profile, uint32_t nest);
struct locality_rows locality_pairs_of(const struct profile *profile, uint32_t nest);
struct locality_rows locality_suggestions_of(const struct profile *profile, uint32_t nest);
struct locality_rows locality_loops_of(const struct profile *profile, uint32_t suggestion);
struct locality_rows locality_paddings_of(const struct profile *profile, uint32_t suggestion);

/* Of a nest, a reference, a suggestion or a point, at a level; all 0 if the profile has none. */
const struct profile_locality_figure *locality_total(const struct profile *profile, uint32_t nest,
                                                     uint32_t level);
const struct profile_locality_figure *locality_miss(const struct profile *profile,
                                                    uint32_t reference, uint32_t level);
const struct profile_locality_figure *locality_saving(const struct profile *profile,
                                                      uint32_t suggestion, uint32_t level);
const struct profile_locality_figure *locality_sweep(const struct profile *profile, uint32_t point,
                                                     uint32_t level);

/* What was recorded of a reference; NULL: nothing. */
const struct profile_locality_recorded *locality_recorded(const struct profile *profile,
                                                          uint32_t reference);

/* All nests together; *accesses of them. simulated: negative if one was not. */
struct profile_locality_figure locality_sum(const struct profile *profile, uint32_t level,
                                            double *accesses);

/* "the loops of lines 4, 5, 6 in tiles of 32 x 32 x all: L1 2.1 M misses (-80 %)"; line: empty. */
void locality_describe_suggestion(const struct profile *profile, uint32_t suggestion, char *line,
                                  size_t bytes);
void locality_print_suggestions(struct printer *printer, uint32_t nest);
struct advice locality_advice(const struct profile_locality_suggestion *suggestion);

extern const struct analysis_text locality_text;
bool locality_json(struct json *json, const struct places *places,
                   const struct report_options *options);
extern const struct analysis_compare locality_compare;
extern const struct analysis_export locality_export;
extern const struct analysis_view locality_view;

#endif
