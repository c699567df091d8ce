// SPDX-License-Identifier: MIT
/* Nests beside a recording of the compiled program: places of arrays, values of variables, misses; and the nests of a run's loops. */
#include "cli/nests.h"

#include "show/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- --from ----------------------------------------------------------------------------------------------------- */

/* The recording, and its cache if no other is given. */
bool nests_read_recording(struct predicting *predicting)
{
    const char *from = own(predicting->settings)->from;
    struct misses_level *first = &predicting->levels[0];
    if (from && profile_read(from, &predicting->recorded, predicting->error,
                             sizeof predicting->error) != BASE_OK)
        return false;
    if (!predicting->recorded)
        return true;
    const struct profile *recorded = predicting->recorded;
    if (!predicting->levels_count && recorded->what_if_sites_count) {
        const struct profile_what_if *cache = &recorded->what_ifs[0];
        *first = (struct misses_level){cache->bytes, cache->ways, cache->line_bytes, "L1"};
        predicting->levels_count = misses_level_valid(first);
    }
    if (predicting->levels_count && predict_has_level(recorded, first))
        return true;
    snprintf(predicting->error, sizeof predicting->error,
             recorded->what_if_sites_count
                 ? "'%.1000s' was not recorded with the first of these caches: give that to "
                   "'headroom reuse --exact' by --what-if-cache, or leave out --cache."
                 : "'%.1000s' says nothing of caches by instruction: record it by 'headroom reuse "
                   "--exact --what-if-cache 32K,8', the program compiled with -g.",
             from ? from : "");
    return false;
}

/* ---- values of variables ---------------------------------------------------------------------------------------- */

struct searching {
    struct predicting *predicting;
    const struct lower_request *request; /* without the variables */
    char texts[PREDICT_VALUES][24];
};

static bool has_name(const char *parameter)
{
    return parameter[0] == '_' || isalpha((unsigned char)parameter[0]);
}

/* With the variables' values. */
static bool lower_again(struct searching *searching, const struct predict_value *values,
                        size_t count, struct lowered *lowered)
{
    struct predicting *predicting = searching->predicting;
    struct lower_request request = *searching->request;
    for (size_t i = 0; i < count; i++) {
        snprintf(searching->texts[i], sizeof searching->texts[i], "%lld",
                 (long long)values[i].value);
        predicting->bindings[request.bindings_count++] =
            (struct lower_binding){values[i].name, searching->texts[i]};
    }
    return lower_run(&request, lowered, predicting->error);
}

/* Of the nests that are asked for, what one needs besides. */
static bool find_needed(const struct predicting *predicting, const struct lowered *lowered,
                        const struct predict_value *values, size_t count, char *needed)
{
    for (size_t i = 0; i < polyhedra_count(lowered->polyhedra); i++) {
        struct polyhedra_about about;
        const char *name = polyhedra_parameter(lowered->polyhedra, i);
        polyhedra_about(lowered->polyhedra, i, &about);
        bool known = !name || !has_name(name) || strlen(name) >= PREDICT_NAME_BYTES;
        for (size_t j = 0; j < count && !known; j++)
            known = strcmp(values[j].name, name) == 0;
        if (known || !nests_are_asked_for(predicting, i, &about))
            continue;
        strcpy(needed, name);
        return true;
    }
    return false;
}

static bool needs(void *context, const struct predict_value *values, size_t count, char *name)
{
    struct searching *searching = context;
    const struct predicting *predicting = searching->predicting;
    struct lowered lowered = {0};
    if (!count)
        return find_needed(predicting, &predicting->lowered, values, count, name);
    bool found = lower_again(searching, values, count, &lowered) &&
                 find_needed(predicting, &lowered, values, count, name);
    lower_free(&lowered);
    return found;
}

static size_t gauges_of(void *context, const struct predict_value *values, size_t count,
                        struct predict_gauge *gauges, size_t most)
{
    struct searching *searching = context;
    const struct predicting *predicting = searching->predicting;
    struct lowered lowered = {0};
    char why[POLYHEDRA_ERROR_BYTES];
    size_t found = 0;
    if (!lower_again(searching, values, count, &lowered))
        return 0;
    for (size_t i = 0; i < polyhedra_count(lowered.polyhedra); i++) {
        struct polyhedra_about about;
        struct nest *nest = NULL;
        polyhedra_about(lowered.polyhedra, i, &about);
        if (!nests_are_asked_for(predicting, i, &about) ||
            polyhedra_parameter(lowered.polyhedra, i) ||
            polyhedra_nest(lowered.polyhedra, i, &nest, why) != BASE_OK)
            continue;
        nest_place(nest, NESTS_ALIGN);
        found += predict_gauges(predicting->recorded, &predicting->levels[0], nest, gauges + found,
                                most - found);
        nest_free(nest);
    }
    lower_free(&lowered);
    return found;
}

/* Keeps the values, and lowers the source with them. */
static bool bind_values(struct predicting *predicting, struct lower_request *request,
                        const struct predict_value *values, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        char *name = predicting->names[request->bindings_count], *text = predicting->texts[found];
        size_t used = strlen(predicting->values);
        if (!values[i].found)
            continue;
        strcpy(name, values[i].name);
        snprintf(text, sizeof predicting->texts[0], "%lld", (long long)values[i].value);
        predicting->bindings[request->bindings_count++] = (struct lower_binding){name, text};
        snprintf(predicting->values + used, sizeof predicting->values - used, "%s%s = %s",
                 found++ ? ", " : "", name, text);
    }
    if (!found)
        return true;
    size_t used = strlen(predicting->placed);
    snprintf(predicting->placed + used, sizeof predicting->placed - used,
             "; with %s, by the memory that was touched", predicting->values);
    lower_free(&predicting->lowered);
    return lower_run(request, &predicting->lowered, predicting->error);
}

bool nests_find_values(struct predicting *predicting, struct lower_request *request)
{
    struct searching searching = {.predicting = predicting, .request = request};
    const struct predict_trial trial = {needs, gauges_of, &searching};
    struct predict_value values[PREDICT_VALUES];
    if (!predicting->recorded || request->bindings_count + PREDICT_VALUES > LOWER_BINDINGS)
        return true;
    return bind_values(predicting, request, values, predict_find_values(&trial, values));
}

/* ---- a nest ----------------------------------------------------------------------------------------------------------- */

/* Where the nest's arrays were, and what its references missed. */
bool nests_take_recorded(struct predicting *predicting, struct predicted_nest *made,
                         struct nest *nest)
{
    if (!predicting->recorded || predict_match(predicting->recorded, &predicting->levels[0], nest,
                                               &made->recording) == BASE_OK)
        return true;
    snprintf(predicting->error, sizeof predicting->error, "%s.", base_status_text(BASE_NO_MEMORY));
    return false;
}

bool nests_are_recorded(const struct predicted_nest *made)
{
    for (size_t i = 0; made->recording.references && i < made->nest->references_count; i++)
        if (made->recording.references[i].known)
            return true;
    return false;
}

bool nests_are_in_place(const struct predicting *predicting, const char *file, uint32_t first,
                        uint32_t last)
{
    for (size_t i = 0; file && i < predicting->places_count; i++) {
        const struct nest_place *place = &predicting->places[i];
        if (strcmp(place->file, predicting->path) == 0 &&
            strcmp(name_base(file), name_base(place->file)) == 0 && first <= place->last &&
            last >= place->first)
            return true;
    }
    return false;
}

/* ---- beside a run ------------------------------------------------------------------------------------------------------- */

enum { FURTHER_FILES = 8 };

bool locality_takes(const char *file)
{
    return file && file[0] == '/' && lower_is_source(file) && access(file, R_OK) == 0;
}

struct further {
    struct predicting *files[FURTHER_FILES];
    size_t count;
    struct predicted_nest nests[NESTS_MAX];
    struct lower_rejected *rejected;
    struct predicted predicted;
    size_t rejected_capacity;
};

static bool take_file(struct further *further, struct predicting *predicting)
{
    struct predicted *predicted = &further->predicted;
    further->files[further->count++] = predicting;
    for (size_t i = 0; i < predicting->nests_count && predicted->nests_count < NESTS_MAX; i++)
        further->nests[predicted->nests_count++] = predicting->nests[i];
    for (size_t i = 0; i < predicting->lowered.rejected_count; i++) {
        const struct lower_rejected *rejected = &predicting->lowered.rejected[i];
        if (nests_are_in_place(predicting, rejected->file, rejected->line, rejected->line) &&
            !UTIL_PUSH(further->rejected, predicted->rejected_count, further->rejected_capacity,
                       *rejected))
            return false;
    }
    predicted->path = predicted->path ? predicted->path : predicting->path;
    predicted->levels = predicting->levels;
    predicted->levels_count = predicting->levels_count;
    return true;
}

static void say_dropped(const struct predicting *predicting, char *sentence)
{
    if (predicting->dropped)
        snprintf(sentence, LOWER_ERROR_BYTES,
                 "loop nests of '%.1000s' were not computed: by itself, without the options of its "
                 "compilation, it has other sizes than were run; 'headroom locality' takes these",
                 predicting->path);
}

/* One file, once for all of its places. */
static bool further_file(struct further *further, const struct settings *settings,
                         const struct nest_place *places, size_t count, size_t at,
                         struct profile *recorded, char *sentence)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(places[i].file, places[at].file) == 0)
            return true;
    if (further->count == FURTHER_FILES)
        return true;
    struct predicting *predicting = nests_begin(settings, NULL);
    if (!predicting)
        return false;
    predicting->places = places;
    predicting->places_count = count;
    predicting->recorded = recorded;
    if (nests_compute(predicting, places[at].file, NULL, NULL)) {
        say_dropped(predicting, sentence);
        return take_file(further, predicting);
    }
    size_t length = strlen(predicting->error);
    snprintf(sentence, LOWER_ERROR_BYTES, "loop nests were not computed: %.*s",
             (int)(length && predicting->error[length - 1] == '.' ? length - 1 : length),
             predicting->error);
    nests_end(predicting);
    return true;
}

bool locality_further(const struct nest_place *places, size_t count, struct profile *recorded,
                      unsigned seconds, struct profile *profile, char *sentence)
{
    struct settings settings = {.seed = 1};
    struct locality_settings asked = {
        .align = NESTS_ALIGN, .max_s = seconds, .width = 0.0015, .suggest = 1};
    struct further *further = calloc(1, sizeof *further);
    char placed[sizeof further->files[0]->values + 64];
    bool good = further != NULL;
    sentence[0] = 0;
    memcpy(settings.own, &asked, sizeof asked);
    for (size_t i = 0; good && i < count; i++)
        good = further_file(further, &settings, places, count, i, recorded, sentence);
    if (good && (further->predicted.nests_count || further->predicted.rejected_count)) {
        further->predicted.nests = further->nests;
        further->predicted.rejected = further->rejected;
        snprintf(placed, sizeof placed, "where the program had them%s%s",
                 further->files[0]->values[0] ? "; with " : "", further->files[0]->values);
        further->predicted.placed = placed;
        good = predict_record(&further->predicted, profile) == BASE_OK;
    }
    for (size_t i = 0; further && i < further->count; i++)
        nests_end(further->files[i]);
    if (further)
        free(further->rejected);
    free(further);
    return good;
}
