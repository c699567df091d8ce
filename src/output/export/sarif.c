// SPDX-License-Identifier: MIT
/*
 * SARIF 2.1.0 (OASIS), for what shows findings beside source lines. Findings between the same two
 * lines of the program's own code are one result, whatever called them; its stacks are those of the heaviest. The result
 * stands at the first context's line, the second's is a related location.
 *
 * Only waste and lost time are something to be mended, so only these are warnings or errors, by their
 * evidence (sarif_level); reuse, paths and contexts are notes.
 */
#include "export/walk.h"

#include "show/names.h"
#include "show/own.h"
#include "show/sarif.h"

#include <inttypes.h>
#include <stdlib.h>

/* Code scanning services show no more; what is left out is listed in the run's properties. */
enum { RESULTS_MAX = 5000 };

struct key { /* what one result is */
    uint32_t kind, detail, first_function, first_line, second_function, second_line;
};

struct result {
    uint64_t value, heaviest, seen;
    size_t sample; /* the heaviest */
    uint32_t key;
    uint32_t metric; /* of walk->metrics */
    double share;
};

struct results {
    const struct walk *walk;
    struct places places; /* what advice is made of */
    struct source_cache sources;
    struct json json;
    struct numbered keys;
    struct result *items; /* by key, then by share */
    size_t capacity;
    uint32_t *stack; /* places of the walk */
};

/* Where the code of a finding is: its ends, UINT32_MAX if there is none. */
struct ends {
    uint32_t first, second;
    size_t inner, depth; /* of results->stack */
};

/* ---- grouping ------------------------------------------------------------------------------- */

static bool is_own(const struct walk *walk, uint32_t place)
{
    const char *file = walk_file(walk, place), *module = walk_module(walk, place);
    return !walk_place(walk, place)->named &&
           !own_is_system(walk_name(walk, place), *file ? file : NULL, *module ? module : NULL);
}

/* The innermost place in the program's own code, as in the report; else the innermost of all. */
static uint32_t code_end(const struct walk *walk, const uint32_t *places, size_t count)
{
    while (count && walk_place(walk, places[count - 1])->named)
        count--;
    for (size_t own = count; own > 0; own--)
        if (is_own(walk, places[own - 1]))
            return places[own - 1];
    return count ? places[count - 1] : UINT32_MAX;
}

static struct ends find_ends(const struct results *results, const struct walk_sample *sample)
{
    const struct walk *walk = results->walk;
    struct ends ends;
    bool two = sample->kind->separator;
    ends.depth = walk_stack(walk, sample, results->stack, &ends.inner);
    ends.inner = two ? ends.inner : 0;
    ends.first = code_end(walk, results->stack + ends.inner, ends.depth - ends.inner);
    ends.second = two ? code_end(walk, results->stack, ends.inner - 1) : UINT32_MAX;
    return ends;
}

/* The column by which findings of the sample's kind are weighed: its first one that is written. */
static size_t weighed_by(const struct walk *walk, const struct walk_sample *sample)
{
    for (size_t c = 0; c < walk->columns_count; c++)
        if (walk->columns[c] - sample->metric < sample->count)
            return c;
    return 0;
}

/* Accesses that did something are no finding, nor are samples that were taken. */
static bool is_finding(const struct walk *walk, const struct walk_sample *sample, size_t column)
{
    uint32_t metric = walk->columns[column] - sample->metric;
    return !sample->kind->counts && walk_value(walk, sample, column) &&
           (!sample->kind->first_alone || metric == 0);
}

static bool add_sample(struct results *results, size_t index)
{
    const struct walk *walk = results->walk;
    const struct walk_sample *sample = &walk->samples[index];
    size_t column = weighed_by(walk, sample);
    if (!is_finding(walk, sample, column))
        return true;
    struct ends ends = find_ends(results, sample);
    struct key key = {.kind = sample->number, .detail = sample->detail};
    key.first_function = key.second_function = UINT32_MAX;
    if (ends.first != UINT32_MAX) {
        key.first_function = walk_place(walk, ends.first)->function;
        key.first_line = walk_place(walk, ends.first)->line;
    }
    if (ends.second != UINT32_MAX) {
        key.second_function = walk_place(walk, ends.second)->function;
        key.second_line = walk_place(walk, ends.second)->line;
    }
    uint32_t id = numbered_id(&results->keys, &key);
    if (id == UINT32_MAX || !UTIL_GROW_ZEROED(results->items, results->capacity, id))
        return false;
    struct result *result = &results->items[id];
    uint64_t value = walk_value(walk, sample, column);
    if (value > result->heaviest) {
        result->heaviest = value;
        result->sample = index;
    }
    result->value += value;
    result->seen += sample->seen;
    result->key = id;
    result->metric = walk->columns[column];
    return true;
}

static int by_share(const void *left, const void *right)
{
    const struct result *a = left, *b = right;
    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static bool find_results(struct results *results)
{
    const struct walk *walk = results->walk;
    for (size_t i = 0; i < walk->samples_count; i++)
        if (!add_sample(results, i))
            return false;
    for (size_t i = 0; i < results->keys.count; i++) {
        struct result *result = &results->items[i];
        result->share = (double)result->value / (double)walk->metrics[result->metric].total;
    }
    if (results->keys.count)
        qsort(results->items, results->keys.count, sizeof *results->items, by_share);
    return true;
}

/* ---- locations ------------------------------------------------------------------------------ */

static void location_members(struct json *json, const struct walk *walk, uint32_t place)
{
    const char *file = walk_file(walk, place);
    uint32_t line = walk_place(walk, place)->line;
    if (*file) {
        json_begin(json, "physicalLocation", '{');
        json_begin(json, "artifactLocation", '{');
        sarif_uri(json, file);
        json_close(json, '}');
        if (line && line <= INT32_MAX) {
            json_begin(json, "region", '{');
            json_count(json, "startLine", line);
            json_close(json, '}');
        }
        json_close(json, '}');
    }
    json_begin(json, "logicalLocations", '[');
    json_begin_item(json);
    json_text(json, "fullyQualifiedName", walk_name(walk, place));
    json_text(json, "kind", "function");
    json_close(json, '}');
    json_close(json, ']');
}

/* The stack in places, leaf first. */
static void stack_object(struct json *json, const struct walk *walk, const char *what,
                         const uint32_t *places, size_t count)
{
    json_begin_item(json);
    sarif_message(json, what);
    json_begin(json, "frames", '[');
    for (size_t i = count; i-- > 0;) {
        json_begin_item(json);
        json_begin(json, "location", '{');
        location_members(json, walk, places[i]);
        json_close(json, '}');
        if (*walk_module(walk, places[i]))
            json_text(json, "module", walk_module(walk, places[i]));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- results -------------------------------------------------------------------------------- */

enum { FEW_SEEN = 5 }; /* as in reports: the share may be luck */

static struct advice advice_of(struct results *results, const struct result *result,
                               const struct walk_sample *sample)
{
    struct advice advice = sample->advice;
    for (const struct analysis *const *at = analyses; *at && !advice.id; at++)
        if ((*at)->export && (*at)->export->advise)
            (*at)->export->advise(&results->places, &results->sources, sample, &advice);
    advice.evidence = !sample->seen             ? ADVICE_EXACT
                      : result->seen < FEW_SEEN ? ADVICE_WEAK
                                                : ADVICE_STRONG;
    return advice;
}

/* What is no mistake, what is next to nothing, and what the system does by itself, are notes whatever
   the evidence. */
static const char *level_of(const struct results *results, const struct result *result,
                            const struct ends *ends, const struct advice *advice)
{
    const struct walk *walk = results->walk;
    bool own = (ends->first != UINT32_MAX && is_own(walk, ends->first)) ||
               (ends->second != UINT32_MAX && is_own(walk, ends->second));
    bool mendable = walk->samples[result->sample].kind->mendable;
    return own && mendable && result->share >= 0.01 ? sarif_level(advice->evidence) : "note";
}

/* "in NAME (FILE:LINE)" */
static void add_end(struct util_text *text, const struct walk *walk, const char *in, uint32_t place)
{
    char name[NAME_BYTES];
    const char *file = walk_file(walk, place);
    name_shorten(walk_name(walk, place), 60, name);
    util_text_print(text, "%s%s", in, name);
    if (*file && walk_place(walk, place)->line)
        util_text_print(text, " (%s:%" PRIu32 ")", name_base(file), walk_place(walk, place)->line);
}

/* One sentence: what is found, how much, where; then the advice. */
static void message_of(struct results *results, const struct result *result,
                       const struct walk_sample *sample, const struct ends *ends,
                       const struct advice *advice)
{
    const struct walk *walk = results->walk;
    const struct walk_kind *kind = sample->kind;
    const char *detail = walk->strings.texts[sample->detail];
    unsigned tenths = (unsigned)(result->share * 1000 + 0.5);
    struct util_text text = {0};
    util_text_print(&text, "%.*s: %u.%u %% of %s", (int)strcspn(kind->finding, "."), kind->finding,
                    tenths / 10, tenths % 10,
                    kind->whole ? kind->whole : walk->metrics[result->metric].name);
    if (ends->first != UINT32_MAX)
        add_end(&text, walk, ends->second != UINT32_MAX ? ", first in " : ", in ", ends->first);
    if (ends->second != UINT32_MAX)
        add_end(&text, walk, ", then in ", ends->second);
    util_text_print(&text, "%s%s%s", *detail ? " (" : "", detail, *detail ? ")" : "");
    if (advice->evidence == ADVICE_WEAK)
        util_text_print(&text, "; weak evidence: seen %" PRIu64 " time%s", result->seen,
                        result->seen == 1 ? "" : "s");
    util_text_print(&text, advice->id ? ". %s" : ".", advice->text);
    sarif_message(&results->json, text.failed ? kind->finding : text.bytes);
    util_text_free(&text);
}

static void locations_members(struct json *json, const struct walk *walk, const struct ends *ends)
{
    json_begin(json, "locations", '[');
    if (ends->first != UINT32_MAX) {
        json_begin_item(json);
        location_members(json, walk, ends->first);
        json_close(json, '}');
    }
    json_close(json, ']');
    if (ends->second == UINT32_MAX)
        return;
    json_begin(json, "relatedLocations", '[');
    json_begin_item(json);
    json_count(json, "id", 1);
    location_members(json, walk, ends->second);
    sarif_message(json, "The second access or execution.");
    json_close(json, '}');
    json_close(json, ']');
}

/* What stays when lines move: kind and names. */
static void fingerprint_member(struct json *json, const struct walk *walk,
                               const struct walk_sample *sample, const struct ends *ends)
{
    const char *kind = sample->kind->name;
    uint64_t hash = base_hash_bytes(kind, strlen(kind), 0);
    for (unsigned side = 0; side < 2; side++) {
        uint32_t place = side ? ends->second : ends->first;
        const char *name = place != UINT32_MAX ? walk_name(walk, place) : "";
        hash = base_hash_bytes(name, strlen(name), hash);
    }
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_begin(json, "partialFingerprints", '{');
    json_text(json, "headroomFunctions/v1", text);
    json_close(json, '}');
}

static void result_object(struct results *results, const struct result *result)
{
    const struct walk *walk = results->walk;
    const struct walk_sample *sample = &walk->samples[result->sample];
    struct json *json = &results->json;
    struct ends ends = find_ends(results, sample);
    struct advice advice = advice_of(results, result, sample);
    json_begin_item(json);
    json_text(json, "ruleId", sample->kind->name);
    json_count(json, "ruleIndex", sample->number);
    json_text(json, "level", level_of(results, result, &ends, &advice));
    message_of(results, result, sample, &ends, &advice);
    locations_members(json, walk, &ends);
    json_begin(json, "stacks", '[');
    stack_object(json, walk, "first", results->stack + ends.inner, ends.depth - ends.inner);
    if (ends.inner)
        stack_object(json, walk, "second", results->stack, ends.inner - 1);
    json_close(json, ']');
    fingerprint_member(json, walk, sample, &ends);
    json_begin(json, "properties", '{');
    json_text(json, "metric", walk->metrics[result->metric].name);
    json_count(json, "value", result->value);
    json_decimal(json, "share", result->share, 6);
    json_text(json, "evidence", advice_evidence_names[advice.evidence]);
    json_advice(json, &advice);
    json_close(json, '}');
    json_close(json, '}');
}

/* ---- the log -------------------------------------------------------------------------------- */

static void tool_member(struct json *json, const struct walk *walk)
{
    sarif_tool_begin(json, walk->profile->run.version);
    for (size_t i = 0; i < walk->kinds_count; i++)
        sarif_rule(json, walk->kinds[i].kind->name, walk->kinds[i].kind->finding);
    sarif_tool_end(json);
}

/* Of that metric: what is no result any more. */
static uint64_t left_out(const struct results *results, size_t metric)
{
    uint64_t sum = 0;
    for (size_t i = RESULTS_MAX; i < results->keys.count; i++)
        sum += results->items[i].metric == metric ? results->items[i].value : 0;
    return sum;
}

static void properties_member(struct json *json, const struct results *results)
{
    const struct walk *walk = results->walk;
    json_begin(json, "properties", '{');
    json_count(json, "resultsTotal", results->keys.count);
    json_begin(json, "totals", '{');
    for (size_t c = 0; c < walk->columns_count; c++)
        json_count(json, walk->metrics[walk->columns[c]].name,
                   walk->metrics[walk->columns[c]].total);
    json_close(json, '}');
    json_begin(json, "leftOut", '{');
    for (size_t m = 0; m < walk->metrics_count; m++) {
        uint64_t left = left_out(results, m);
        if (left)
            json_count(json, walk->metrics[m].name, left);
    }
    json_close(json, '}');
    json_close(json, '}');
}

bool write_sarif(struct walk *walk, FILE *out)
{
    struct results results = {
        .walk = walk,
        .json = {.out = out},
        .keys = {.bytes = sizeof(struct key)},
        .sources = {.enabled = true, .not_newer_than_ns = walk->profile->run.start_ns}};
    struct json *json = &results.json;
    results.stack = malloc(WALK_STACK * sizeof *results.stack);
    bool good = results.stack && places_make(walk->profile, true, &results.places) == BASE_OK &&
                find_results(&results);
    if (good) {
        sarif_begin(json);
        tool_member(json, walk);
        sarif_invocations(json, walk->profile, NULL);
        json_text(json, "columnKind", "unicodeCodePoints");
        json_begin(json, "results", '[');
        for (size_t i = 0; i < results.keys.count && i < RESULTS_MAX && !ferror(out); i++)
            result_object(&results, &results.items[i]);
        json_close(json, ']');
        properties_member(json, &results);
        sarif_end(json);
    }
    numbered_free(&results.keys);
    free(results.items);
    places_free(&results.places);
    source_free(&results.sources);
    free(results.stack);
    return good;
}
