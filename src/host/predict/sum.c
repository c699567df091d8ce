// SPDX-License-Identifier: MIT
#include "predict/predict.h"

static void add_figure(struct misses_figure *sum, const struct misses_figure *figure)
{
    sum->misses += figure->misses;
    sum->low += figure->low;
    sum->high += figure->high;
    sum->cold += figure->cold;
    sum->capacity += figure->capacity;
    sum->conflict += figure->conflict;
    sum->points += figure->points;
    sum->cut += figure->cut;
    sum->exact = sum->exact && figure->exact;
}

void predict_sum(const struct predicted_nest *nests, size_t count, size_t levels,
                 struct predicted_point *sum)
{
    sum->accesses = 0;
    for (size_t i = 0; i < count; i++)
        sum->accesses += nests[i].result.accesses;
    for (size_t i = 0; i < levels; i++) {
        sum->totals[i] = (struct misses_figure){.exact = true};
        for (size_t j = 0; j < count; j++)
            add_figure(&sum->totals[i], &nests[j].result.totals[i]);
    }
}
