// SPDX-License-Identifier: MIT
/* Predicted misses in exports: each reference one stack, its function at its line; and each change that would miss less, at its nest. */
#include "export/samples.h"
#include "locality/internal.h"

static const struct walk_kind reference = {.name = "predicted-misses",
                                           .finding = "Accesses that will miss the first cache.",
                                           .counts = true};
static const struct walk_kind change = {
    .name = "fewer-misses",
    .finding = "The loops or arrays could be arranged so that fewer accesses miss.",
    .mendable = true};

static const struct walk_kind *const kinds[] = {&reference, &change, NULL};

static void add_reference(struct walk *walk, const struct profile *profile, uint32_t metric,
                          uint32_t index)
{
    const struct profile_locality_reference *row = &profile->locality_references[index];
    const struct profile_locality_nest *nest = &profile->locality_nests[row->nest];
    char detail[TEXT_BYTES], name[NAME_BYTES];
    name_clean(row->text, name, sizeof name);
    snprintf(detail, sizeof detail, "%s of %.200s", row->store ? "store" : "load", name);
    struct walk_sample sample = {
        .kind = &reference,
        .head = UINT32_MAX,
        .leaf = walk_add_place(walk, nest->function, row->file, 0, 0, row->line, 0),
        .detail = walk_string(walk, detail),
        .metric = metric,
        .row = index,
        .count = 1};
    double values[] = {locality_miss(profile, index, 0)->misses};
    walk_add(walk, sample, values);
}

static void add_suggestion(struct walk *walk, const struct profile *profile, uint32_t metric,
                           uint32_t index)
{
    const struct profile_locality_suggestion *row = &profile->locality_suggestions[index];
    const struct profile_locality_nest *nest = &profile->locality_nests[row->nest];
    char detail[TEXT_BYTES] = "";
    double saved =
        locality_total(profile, row->nest, 0)->misses - locality_saving(profile, index, 0)->misses;
    locality_describe_suggestion(profile, index, detail, sizeof detail);
    struct walk_sample sample = {
        .kind = &change,
        .head = UINT32_MAX,
        .leaf = walk_add_place(walk, nest->function, nest->file, 0, 0, nest->line, 0),
        .detail = walk_string(walk, detail),
        .metric = metric,
        .row = index,
        .advice = locality_advice(row),
        .count = 1};
    double values[] = {saved > 0 ? saved : 0};
    walk_add(walk, sample, values);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->locality_nests_count)
        return;
    uint32_t misses = walk_add_metric(walk, "predicted_misses", "count",
                                      "accesses that will miss the first cache", 0);
    for (uint32_t i = 0; i < profile->locality_references_count; i++)
        add_reference(walk, profile, misses, i);
    if (!profile->locality_suggestions_count)
        return;
    uint32_t saved = walk_add_metric(walk, "saved_misses", "count",
                                     "misses of the first cache that a change would save", 0);
    for (uint32_t i = 0; i < profile->locality_suggestions_count; i++)
        add_suggestion(walk, profile, saved, i);
}

const struct analysis_export locality_export = {.kinds = kinds, .samples = add_samples};
