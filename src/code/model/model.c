// SPDX-License-Identifier: MIT
/* The structure: forms by key, figures shared by forms that have equal ones. */
#include "model/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *keep_text(struct model *model, const char *text)
{
    uint32_t number;
    return util_strings_add(&model->texts, text, strlen(text), &number) ? model->texts.texts[number]
                                                                        : NULL;
}

struct model *model_new(const char *name, const char *title)
{
    struct model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    model->machine.name = keep_text(model, name);
    model->machine.title = keep_text(model, title);
    if (model->machine.name && model->machine.title)
        return model;
    model_close(model);
    return NULL;
}

void model_close(struct model *model)
{
    if (!model)
        return;
    util_strings_free(&model->keys);
    util_strings_free(&model->texts);
    util_strings_free(&model->reasons);
    util_index_free(&model->figures_index);
    free(model->figures_of);
    free(model->figures);
    free(model->order);
    free(model);
}

struct model_machine *model_edit(struct model *model)
{
    return &model->machine;
}

const struct model_machine *model_machine(const struct model *model)
{
    return &model->machine;
}

bool model_add_unit(struct model *model, const char *name, uint8_t copies, uint8_t *unit)
{
    struct model_machine *machine = &model->machine;
    assert(copies);
    if (machine->unit_count == MODEL_UNITS_MAX)
        return false;
    const char *kept = keep_text(model, name);
    if (!kept)
        return false;
    *unit = (uint8_t)machine->unit_count;
    machine->units[machine->unit_count++] = (struct model_unit){.name = kept, .copies = copies};
    return true;
}

/* ---- forms --------------------------------------------------------------------------------------- */

static bool same_figures(const void *items, uint32_t item, const void *key)
{
    return !memcmp((const struct model_figures *)items + item, key, sizeof(struct model_figures));
}

/* Without what padding and unused entries happen to hold, so that equal ones are equal as bytes. */
static void tidy(struct model_figures *out, const struct model_figures *in)
{
    memset(out, 0, sizeof *out);
    out->throughput = in->throughput;
    out->micro_operations = in->micro_operations;
    out->fused = in->fused;
    out->fused_indexed = in->fused_indexed;
    out->idioms = in->idioms;
    out->latency_count = in->latency_count;
    out->use_count = in->use_count;
    out->busy_count = in->busy_count;
    out->latency_source = in->latency_source;
    out->throughput_source = in->throughput_source;
    out->use_source = in->use_source;
    out->reason = in->reason;
    for (size_t i = 0; i < in->latency_count; i++) {
        out->latencies[i].from = in->latencies[i].from;
        out->latencies[i].to = in->latencies[i].to;
        out->latencies[i].least = in->latencies[i].least;
        out->latencies[i].most = in->latencies[i].most;
    }
    for (size_t i = 0; i < in->use_count; i++) {
        out->uses[i].units = in->uses[i].units;
        out->uses[i].cycles = in->uses[i].cycles;
    }
    for (size_t i = 0; i < in->busy_count; i++) {
        out->busy[i].unit = in->busy[i].unit;
        out->busy[i].least = in->busy[i].least;
        out->busy[i].most = in->busy[i].most;
    }
}

static bool figures_number(struct model *model, const struct model_figures *figures,
                           uint32_t *number)
{
    struct model_figures tidied;
    bool found;
    tidy(&tidied, figures);
    if (!UTIL_GROW(model->figures, model->figures_capacity, model->figures_count) ||
        !util_index_enter(&model->figures_index, base_hash_bytes(&tidied, sizeof tidied, 0),
                          same_figures, model->figures, &tidied, (uint32_t)model->figures_count,
                          number, &found))
        return false;
    if (!found)
        model->figures[model->figures_count++] = tidied;
    return true;
}

bool model_add(struct model *model, const char *key, const struct model_figures *figures)
{
    size_t bytes = strlen(key);
    uint32_t form, number;
    assert(bytes && bytes < MODEL_KEY_BYTES && key[0] != '=' &&
           figures->latency_count <= MODEL_PARTS && figures->use_count <= MODEL_PARTS &&
           figures->busy_count <= MODEL_PARTS);
    if (!UTIL_GROW(model->figures_of, model->figures_of_capacity, model->figures_of_count) ||
        !figures_number(model, figures, &number) ||
        !util_strings_add(&model->keys, key, bytes, &form))
        return false;
    if (form == model->figures_of_count)
        model->figures_of_count++;
    model->figures_of[form] = number;
    free(model->order);
    model->order = NULL;
    return true;
}

uint32_t model_add_reason(struct model *model, const char *reason)
{
    uint32_t number;
    return util_strings_add(&model->reasons, reason, strlen(reason), &number) ? number + 1 : 0;
}

const char *model_reason(const struct model *model, uint32_t reason)
{
    return reason && reason <= model->reasons.count ? model->reasons.texts[reason - 1] : "";
}

static int by_key(const void *a, const void *b, void *keys)
{
    const char *const *texts = keys;
    return strcmp(texts[*(const uint32_t *)a], texts[*(const uint32_t *)b]);
}

bool model_seal(struct model *model)
{
    uint32_t *order = malloc((model->keys.count + 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < model->keys.count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, model->keys.count, sizeof *order, by_key, model->keys.texts);
    free(model->order);
    model->order = order;
    return true;
}

const struct model_figures *model_find(const struct model *model, const char *key, size_t bytes)
{
    uint32_t form;
    return util_strings_find(&model->keys, key, bytes, &form)
               ? model->figures + model->figures_of[form]
               : NULL;
}

size_t model_count(const struct model *model)
{
    return model->keys.count;
}

const struct model_figures *model_at(const struct model *model, size_t index, const char **key)
{
    assert(model->order && index < model->keys.count);
    uint32_t form = model->order[index];
    *key = model->keys.texts[form];
    return model->figures + model->figures_of[form];
}

/* ---- latencies ------------------------------------------------------------------------------------ */

static const struct model_latency *latency(const struct model_figures *figures, uint8_t from,
                                           uint8_t to)
{
    const struct model_latency *best = NULL;
    int best_fit = -1;
    for (size_t i = 0; i < figures->latency_count; i++) {
        const struct model_latency *each = figures->latencies + i;
        if ((each->from != from && each->from != MODEL_ANY) ||
            (each->to != to && each->to != MODEL_ANY))
            continue;
        int fit = 2 * (each->from == from) + (each->to == to);
        if (fit > best_fit) {
            best_fit = fit;
            best = each;
        }
    }
    return best;
}

float model_latency_least(const struct model_figures *figures, uint8_t from, uint8_t to)
{
    const struct model_latency *found = latency(figures, from, to);
    return found ? found->least : -1;
}

float model_latency_most(const struct model_figures *figures, uint8_t from, uint8_t to)
{
    const struct model_latency *found = latency(figures, from, to);
    return found ? found->most : -1;
}
