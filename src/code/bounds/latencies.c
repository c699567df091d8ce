// SPDX-License-Identifier: MIT
/* Latencies that the user gives: "load=2,div=12,store=2". */
#include "bounds/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct bounds_latencies bounds_as_modelled = {-1, -1, {-1, -1, -1, -1, -1, -1, -1}};

const char *const bounds_limit_names[BOUNDS_LIMITS] = {"resource", "recurrence", "frontend"};

static float *place_of(struct bounds_latencies *latencies, const char *name, size_t bytes)
{
    static const char *const names[BOUNDS_CATEGORIES] = {"other", "move", "add", "mul",
                                                         "fma",   "div",  "sqrt"};
    if (bytes == 4 && memcmp(name, "load", 4) == 0)
        return &latencies->load;
    if (bytes == 5 && memcmp(name, "store", 5) == 0)
        return &latencies->store;
    for (unsigned c = 0; c < BOUNDS_CATEGORIES; c++)
        if (strlen(names[c]) == bytes && memcmp(name, names[c], bytes) == 0)
            return &latencies->category[c];
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
                     "fma, div, sqrt",
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
