// SPDX-License-Identifier: MIT
/*
 * A check against limits as SARIF 2.1.0 (OASIS): a rule for each exceeded or undecided limit, a result for each
 * finding, at the place of its first context, with that of the second as a related location.
 */
#include "compare/internal.h"

#include "show/sarif.h"

#include <inttypes.h>
#include <string.h>

static void location(struct json *json, const struct check_place *place, const char *message)
{
    char name[NAME_BYTES];
    json_begin_item(json);
    if (message) {
        json_count(json, "id", 1);
        sarif_message(json, message);
    }
    json_begin(json, "physicalLocation", '{');
    json_begin(json, "artifactLocation", '{');
    sarif_uri(json, place->file);
    if (place->relative)
        json_text(json, "uriBaseId", "%SRCROOT%");
    json_close(json, '}');
    json_begin(json, "region", '{');
    json_count(json, "startLine", place->line);
    json_close(json, '}');
    json_close(json, '}');
    json_begin(json, "logicalLocations", '[');
    json_begin_item(json);
    name_shorten(place->function, 100, name);
    json_text(json, "name", name);
    json_text(json, "kind", "function");
    json_close(json, '}');
    json_close(json, ']');
    json_close(json, '}');
}

static void locations(struct json *json, const struct check *check, const struct check_item *item)
{
    static const char *const members[2] = {"locations", "relatedLocations"};
    const char *const *labels = diff_kind_of(item->side, item->finding->kind)->labels;
    for (unsigned i = 0; i < (labels[0] ? 2 : 1); i++) {
        struct check_place place;
        check_find_place(check, item, i, &place);
        if (!place.relative && !(place.file && place.file[0] == '/'))
            continue; /* relative to nobody knows what */
        json_begin(json, members[i], '[');
        location(json, &place, i ? labels[i] : NULL);
        json_close(json, ']');
    }
}

static void result_head(struct json *json, const struct check_result *result, const char *level,
                        const char *message)
{
    json_begin_item(json);
    json_text(json, "ruleId", result->figure.name);
    json_text(json, "level", level);
    sarif_message(json, message);
}

/* Lines drift: a finding is the same as long as its functions are. */
static void fingerprint(struct json *json, const struct compare_finding *finding)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRIx64 "%016" PRIx64, finding->functions[0],
             finding->functions[1]);
    json_begin(json, "partialFingerprints", '{');
    json_text(json, "headroomContexts/v1", text);
    json_close(json, '}');
}

/* A limit that only warns makes no errors. */
static const char *level_of(const struct check *check, const struct check_item *item,
                            const struct advice *advice)
{
    const char *level = sarif_level(advice->evidence);
    bool error = strcmp(check_result_level(check, item->result), "error") == 0;
    return strcmp(level, "error") == 0 && !error ? "warning" : level;
}

static void item_object(struct json *json, const struct check *check, const struct check_item *item,
                        struct source_cache *sources)
{
    char message[CHECK_MESSAGE_BYTES];
    struct advice advice = check_advice(item, sources);
    check_message(check, item, &advice, message);
    result_head(json, item->result, level_of(check, item, &advice), message);
    locations(json, check, item);
    fingerprint(json, item->finding);
    json_begin(json, "properties", '{');
    json_advice(json, &advice);
    json_close(json, '}');
    json_close(json, '}');
}

static void results_member(struct json *json, const struct check *check)
{
    struct source_cache sources = check_sources(check);
    char sentence[CHECK_SENTENCE_BYTES];
    json_begin(json, "results", '[');
    for (size_t i = 0; i < check->results_count; i++) {
        const char *level = check_result_level(check, &check->results[i]);
        if (!level)
            continue;
        check_limit_sentence(&check->results[i], sentence);
        result_head(json, &check->results[i], level, sentence);
        json_close(json, '}');
    }
    for (size_t i = 0; i < check->items_count; i++) {
        item_object(json, check, &check->items[i], &sources);
    }
    source_free(&sources);
    json_close(json, ']');
}

static bool is_first_of_rule(const struct check *check, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (check_result_level(check, &check->results[i]) &&
            strcmp(check->results[i].figure.name, check->results[index].figure.name) == 0)
            return false;
    return check_result_level(check, &check->results[index]) != NULL;
}

static void tool_member(struct json *json, const struct check *check)
{
    char text[128];
    sarif_tool_begin(json, HEADROOM_VERSION);
    for (size_t i = 0; i < check->results_count; i++) {
        const struct diff_figure *figure = &check->results[i].figure;
        if (!is_first_of_rule(check, i))
            continue;
        snprintf(text, sizeof text, "%s exceeds its limit", figure->name);
        sarif_rule(json, figure->name, text);
    }
    sarif_tool_end(json);
}

enum base_status check_sarif(const struct check *check, FILE *out)
{
    struct json json = {.out = out};
    sarif_begin(&json);
    tool_member(&json, check);
    sarif_invocations(&json, check_profile_of(check, 1), check_profile_of(check, 0));
    json_text(&json, "columnKind", "utf16CodeUnits");
    results_member(&json, check);
    sarif_end(&json);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
