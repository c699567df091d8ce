// SPDX-License-Identifier: MIT
/*
 * Values of variables that nobody gave, from a recording of the compiled program: those with which a load or store that is alone of its kind at
 * its line goes over as much memory as it did. How much that is for a value is found by trying it.
 */
#include "predict/predict.h"

#include <math.h>
#include <string.h>

enum { FIRST_VALUE = 24, TRIALS = 10, VALUE_MOST = 1 << 24 };

struct gauges {
    struct predict_gauge items[PREDICT_GAUGES];
    size_t count;
};

struct searching {
    const struct predict_trial *trial;
    struct predict_value *values;
    size_t count;
};

static void find_variables(struct searching *searching)
{
    const struct predict_trial *trial = searching->trial;
    while (searching->count < PREDICT_VALUES) {
        struct predict_value *value = &searching->values[searching->count];
        *value = (struct predict_value){.value = 2 * FIRST_VALUE};
        if (!trial->needs(trial->context, searching->values, searching->count, value->name))
            return;
        searching->count++;
    }
}

/* What references of the nests go over with these values, and what they did. */
static void gauge(const struct searching *searching, struct gauges *gauges)
{
    gauges->count =
        searching->trial->gauges(searching->trial->context, searching->values, searching->count,
                                 gauges->items, BASE_COUNT(gauges->items));
}

static const struct predict_gauge *find_gauge(const struct gauges *gauges,
                                              const struct predict_gauge *like)
{
    for (size_t i = 0; i < gauges->count; i++)
        if (gauges->items[i].line == like->line && gauges->items[i].write == like->write)
            return &gauges->items[i];
    return NULL;
}

/* The memory that a reference goes over is about a power of the value: a straight line of logarithms, through the last two. */
static bool search_value(const struct searching *searching, struct predict_value *variable,
                         int64_t before, const struct predict_gauge *smaller,
                         const struct predict_gauge *larger)
{
    double bytes_before = (double)smaller->computed;
    struct predict_gauge last = *larger;
    struct gauges gauges;
    for (unsigned i = 0; i < TRIALS; i++) {
        double bytes = (double)last.computed, at = (double)variable->value;
        if (last.computed == last.recorded)
            return true;
        if (bytes == bytes_before || bytes <= 0 || bytes_before <= 0)
            return false;
        double power = log(bytes / bytes_before) / log(at / (double)before);
        double next = round(at * pow((double)last.recorded / bytes, 1 / power));
        if (next == at)
            next += bytes < (double)last.recorded ? 1 : -1;
        if (!(next >= 2 && next <= VALUE_MOST))
            return false;
        before = variable->value;
        bytes_before = bytes;
        variable->value = (int64_t)next;
        gauge(searching, &gauges);
        const struct predict_gauge *found = find_gauge(&gauges, &last);
        if (!found)
            return false;
        last = *found;
    }
    return false;
}

/* By a reference that it alone has an effect on: others that are not known yet may have the wrong values. */
static void find_value(const struct searching *searching, struct predict_value *variable)
{
    struct gauges smaller, larger;
    variable->value = FIRST_VALUE;
    gauge(searching, &smaller);
    variable->value = 2 * FIRST_VALUE;
    gauge(searching, &larger);
    for (size_t i = 0; i < larger.count && !variable->found; i++) {
        const struct predict_gauge *other = find_gauge(&smaller, &larger.items[i]);
        if (!other || other->computed == larger.items[i].computed)
            continue;
        variable->value = 2 * FIRST_VALUE;
        variable->found = search_value(searching, variable, FIRST_VALUE, other, &larger.items[i]);
    }
    if (!variable->found)
        variable->value = 2 * FIRST_VALUE;
}

size_t predict_find_values(const struct predict_trial *trial,
                           struct predict_value values[PREDICT_VALUES])
{
    struct searching searching = {.trial = trial, .values = values};
    find_variables(&searching);
    /* Twice: what was found helps the others. */
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < searching.count; i++)
            if (!values[i].found)
                find_value(&searching, &values[i]);
    return searching.count;
}
