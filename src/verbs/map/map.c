// SPDX-License-Identifier: MIT
/* Words of map, and what it is to the other rooms. */
#include "map/internal.h"

const char *const map_residence_names[] = {"absent",   "register",    "memory", "constant",
                                           "computed", "entry_value", "pieces"};
const char *const map_residence_words[] = {"nowhere",    "a register",    "memory",
                                           "a constant", "a calculation", "what the caller passed",
                                           "parts"};
const char *const map_class_names[] = {"current", "stale", "premature", "suspect", "absent"};
const char *const map_class_words[] = {"current", "stale", "premature", "suspect", "not resident"};
const char *const map_copy_names[] = {"single",  "inlined", "duplicate", "part",
                                      "hoisted", "sunk",    "unrolled",  "vector"};
const char *const map_copy_words[] = {"",
                                      "an inlined copy",
                                      "the statement again",
                                      "a part of the statement",
                                      "hoisted out of a loop",
                                      "sunk out of a loop",
                                      "the statement again, in the same loop",
                                      "vector instructions"};
const char *const map_absence_names[] = {"present",     "gone",  "outside",
                                         "declaration", "empty", "continued"};

const struct profile_map_run *map_run_of(const struct profile *profile)
{
    return profile->map_runs_count ? &profile->map_runs[0] : NULL;
}

const struct profile_map_stop *map_stops_of(const struct profile *profile, uint32_t finding,
                                            size_t *count)
{
    const struct profile_map_stop *stops = profile->map_stops;
    size_t first = BASE_FIRST(i, profile->map_stops_count, stops[i].finding >= finding);
    size_t end = first;
    while (end < profile->map_stops_count && stops[end].finding == finding)
        end++;
    *count = end - first;
    return stops + first;
}

void map_explain(const struct profile_map_finding *finding, char *text, size_t bytes)
{
    bool suspect = finding->class == PROFILE_MAP_SUSPECT;
    snprintf(text, bytes, "assigned on line %u of %s, %sstored %s", finding->line,
             finding->file ? name_base(finding->file) : "?",
             suspect ? "on some paths perhaps " : "", finding->early ? "before" : "later");
}

struct advice map_advice(const struct profile_map_finding *finding)
{
    return (struct advice){
        .id = finding->early ? "map.premature" : "map.stale",
        .text = finding->early
                    ? "A debugger may show a value there that the source assigns only later: stop "
                      "after the assignment, or compile the file with -Og or -O0 to debug it."
                    : "A debugger may show the value from before the assignment there: stop "
                      "further on, or compile the file with -Og or -O0 to debug it.",
        .evidence = finding->class == PROFILE_MAP_SUSPECT ? ADVICE_WEAK : ADVICE_EXACT,
    };
}

/* It leaves no raw logs. */
static bool was_left(const struct analysis_log *log)
{
    (void)log;
    return false;
}

static bool runs_clash(const struct profile *a, const struct profile *b, char *why,
                       size_t why_bytes)
{
    const struct profile_map_run *first = map_run_of(a), *second = map_run_of(b);
    if (!first || !second ||
        (profile_same_text(first->module, second->module) &&
         profile_same_text(first->asked, second->asked)))
        return false;
    snprintf(why, why_bytes, "they answer different questions about code");
    return true;
}

const struct analysis map_analysis = {
    .name = "map",
    .exact_unit = "instruction",
    .leads = true,
    .left = was_left,
    .clashes = runs_clash,
    .text = &map_text,
    .json = map_json,
    .compare = &map_compare,
    .export = &map_export,
    .view = &map_view,
};
