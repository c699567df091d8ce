// SPDX-License-Identifier: MIT
/* Latencies that the user gives: "load=2,div=12,store=2". */
#include "bounds/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct bounds_latencies bounds_as_modelled = {-1, -1, {-1, -1, -1, -1, -1, -1, -1},
                                                    -1, -1, -1};

const char *const bounds_limit_names[BOUNDS_LIMITS] = {"resource", "recurrence", "frontend"};

static float *place_of(struct bounds_latencies *latencies, const char *name, size_t bytes)
{
    float *const categories = latencies->category;
    const struct {
        const char *name;
        float *place;
    } places[] = {{"load", &latencies->load},
                  {"store", &latencies->store},
                  {"other", &categories[BOUNDS_OTHERS]},
                  {"move", &categories[BOUNDS_MOVE]},
                  {"add", &categories[BOUNDS_ADD]},
                  {"mul", &categories[BOUNDS_MULTIPLY]},
                  {"fma", &categories[BOUNDS_FUSED]},
                  {"div", &categories[BOUNDS_DIVIDE]},
                  {"sqrt", &categories[BOUNDS_ROOT]},
                  {"l2", &latencies->l2},
                  {"l3", &latencies->l3},
                  {"memory", &latencies->memory}};
    for (size_t i = 0; i < BASE_COUNT(places); i++)
        if (strlen(places[i].name) == bytes && memcmp(name, places[i].name, bytes) == 0)
            return places[i].place;
    return NULL;
}

bool bounds_latencies_read(const char *text, struct bounds_latencies *latencies, char *why,
                           size_t why_bytes)
{
    struct bounds_latencies made = bounds_as_modelled;
    do {
        size_t name = strcspn(text, "=,");
        float *place = place_of(&made, text, name);
        char *end = NULL;
        double cycles = text[name] == '=' ? strtod(text + name + 1, &end) : -1;
        if (!place || !end) {
            snprintf(why, why_bytes,
                     "'%.*s' is not NAME=CYCLES with one of load, store, other, move, add, mul, "
                     "fma, div, sqrt, l2, l3, memory",
                     (int)strcspn(text, ","), text);
            return false;
        }
        if (end == text + name + 1 || (*end && *end != ',') || !(cycles >= 0 && cycles <= 10000)) {
            snprintf(why, why_bytes, "'%.*s' is not a number of cycles from 0 to 10000",
                     (int)strcspn(text + name + 1, ","), text + name + 1);
            return false;
        }
        *place = (float)cycles;
        text = *end ? end + 1 : NULL;
    } while (text);
    *latencies = made;
    return true;
}
