// SPDX-License-Identifier: MIT
/* Between the files of map: words (map.c), the report for people (text.c, its code code_text.c), JSON (json.c), comparisons (compare.c),
   exports (export.c), the page (view.c). */
#ifndef HEADROOM_MAP_INTERNAL_H
#define HEADROOM_MAP_INTERNAL_H

#include "map/map.h"
#include "show/json.h"
#include "show/places.h"
#include "show/print.h"

extern const char *const map_residence_names[PROFILE_MAP_RESIDENCES]; /* as JSON has them */
extern const char *const map_residence_words[PROFILE_MAP_RESIDENCES];
extern const char *const map_class_names[PROFILE_MAP_CLASSES]; /* as JSON has them */
extern const char *const map_class_words[PROFILE_MAP_CLASSES];
extern const char *const map_copy_names[PROFILE_MAP_COPIES];
extern const char *const map_copy_words[PROFILE_MAP_COPIES]; /* "": nothing to say */
extern const char *const map_absence_names[PROFILE_MAP_ABSENCES];

/* NULL: the profile is not of map. */
const struct profile_map_run *map_run_of(const struct profile *profile);

/* The stops of a finding; rows are grouped. */
const struct profile_map_stop *map_stops_of(const struct profile *profile, uint32_t finding,
                                            size_t *count);

/* "assigned on line 3 of a.c, stored later" */
void map_explain(const struct profile_map_finding *finding, char *text, size_t bytes);
struct advice map_advice(const struct profile_map_finding *finding);

void map_print_code(struct printer *printer);

extern const struct analysis_text map_text;
bool map_json(struct json *json, const struct places *places, const struct report_options *options);
extern const struct analysis_compare map_compare;
extern const struct analysis_export map_export;
extern const struct analysis_view map_view;

#endif
