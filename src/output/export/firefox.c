// SPDX-License-Identifier: MIT
/*
 * The Firefox Profiler's processed profile (https://github.com/firefox-devtools/profiler,
 * src/types/profile.ts), in the version that was written longest and that its later ones convert.
 * One thread a metric, each with tables of its own.
 *
 * Weights are bytes, or counts; nanoseconds are written in milliseconds with six digits, which
 * loses nothing.
 */
#include "export/walk.h"

#include "show/json.h"
#include "show/names.h"

#include <inttypes.h>
#include <stdlib.h>

enum { GECKO_VERSION = 27, PROCESSED_VERSION = 48, RESOURCE_LIBRARY = 1 };

struct stack {              /* of a thread's stackTable */
    uint32_t prefix, place; /* prefix: index + 1; 0: none */
};

struct tables {
    struct walk *walk;
    struct json json;
    size_t column;
    struct numbered stacks;
    uint32_t *tops; /* by sample of this metric: index in stacks + 1; 0: none */
    size_t *samples;
    size_t samples_count;
    uint32_t *places;
};

/* ---- stacks --------------------------------------------------------------------------------- */

static bool find_stacks(struct tables *tables)
{
    struct walk *walk = tables->walk;
    for (size_t i = 0; i < walk->samples_count; i++) {
        if (!walk_value(walk, &walk->samples[i], tables->column))
            continue;
        size_t depth = walk_stack(walk, &walk->samples[i], tables->places, NULL);
        uint32_t top = 0;
        for (size_t p = 0; p < depth; p++) {
            struct stack stack = {top, tables->places[p]};
            uint32_t id = numbered_id(&tables->stacks, &stack);
            if (id == UINT32_MAX)
                return false;
            top = id + 1;
        }
        tables->tops[tables->samples_count] = top;
        tables->samples[tables->samples_count++] = i;
    }
    return true;
}

/* ---- tables --------------------------------------------------------------------------------- */

#define COLUMN(json, name, count, format, ...)                                                     \
    do {                                                                                           \
        json_begin(json, name, '[');                                                               \
        for (uint32_t i = 0; i < (count); i++) {                                                   \
            json_item(json);                                                                       \
            fprintf((json)->out, format, __VA_ARGS__);                                             \
        }                                                                                          \
        json_close(json, ']');                                                                     \
    } while (0)

/* The number, or null for UINT32_MAX. */
static const char *or_null(uint32_t value, char text[16])
{
    snprintf(text, 16, "%" PRIu32, value);
    return value == UINT32_MAX ? "null" : text;
}

static void weight(struct json *json, const struct walk_metric *metric, uint64_t value)
{
    if (strcmp(metric->unit, "nanoseconds") == 0)
        fprintf(json->out, "%" PRIu64 ".%06" PRIu64, value / 1000000, value % 1000000);
    else
        fprintf(json->out, "%" PRIu64, value);
}

static void samples_member(struct tables *tables)
{
    struct walk *walk = tables->walk;
    struct json *json = &tables->json;
    const struct walk_metric *metric = &walk->metrics[walk->columns[tables->column]];
    uint32_t count = (uint32_t)tables->samples_count;
    char text[16];
    json_begin(json, "samples", '{');
    json_text(json, "weightType",
              strcmp(metric->unit, "bytes") == 0         ? "bytes"
              : strcmp(metric->unit, "nanoseconds") == 0 ? "tracing-ms"
                                                         : "samples");
    COLUMN(json, "stack", count, "%s", or_null(tables->tops[i] - 1, text));
    COLUMN(json, "time", count, "%" PRIu32, i);
    json_begin(json, "weight", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_item(json);
        weight(json, metric, walk_value(walk, &walk->samples[tables->samples[i]], tables->column));
    }
    json_close(json, ']');
    json_count(json, "length", count);
    json_close(json, '}');
}

static void stack_member(struct tables *tables)
{
    struct json *json = &tables->json;
    const struct stack *stacks = tables->stacks.items;
    uint32_t count = (uint32_t)tables->stacks.count;
    char text[16];
    json_begin(json, "stackTable", '{');
    COLUMN(json, "frame", count, "%" PRIu32, stacks[i].place);
    COLUMN(json, "prefix", count, "%s", or_null(stacks[i].prefix - 1, text));
    COLUMN(json, "category", count, "%" PRIu32, walk_place(tables->walk, stacks[i].place)->named);
    COLUMN(json, "subcategory", count, "%d", 0);
    json_count(json, "length", count);
    json_close(json, '}');
}

static void frame_member(struct tables *tables)
{
    struct json *json = &tables->json;
    const struct walk_place *places = tables->walk->places.items;
    uint32_t count = (uint32_t)tables->walk->places.count;
    char text[16];
    json_begin(json, "frameTable", '{');
    COLUMN(json, "address", count, "%" PRId64,
           places[i].named || places[i].address > INT64_MAX >> 10 ? -1
                                                                  : (int64_t)places[i].address);
    COLUMN(json, "inlineDepth", count, "%d", 0);
    COLUMN(json, "category", count, "%" PRIu32, places[i].named);
    COLUMN(json, "subcategory", count, "%d", 0);
    COLUMN(json, "func", count, "%" PRIu32, places[i].function);
    COLUMN(json, "nativeSymbol", count, "%s", "null");
    COLUMN(json, "innerWindowID", count, "%d", 0);
    COLUMN(json, "implementation", count, "%s", "null");
    COLUMN(json, "line", count, "%s", or_null(places[i].line ? places[i].line : UINT32_MAX, text));
    COLUMN(json, "column", count, "%s", "null");
    json_count(json, "length", count);
    json_close(json, '}');
}

static void function_member(struct tables *tables)
{
    struct json *json = &tables->json;
    const struct walk_function *functions = tables->walk->functions.items;
    uint32_t count = (uint32_t)tables->walk->functions.count;
    char text[16];
    json_begin(json, "funcTable", '{');
    COLUMN(json, "name", count, "%" PRIu32, functions[i].name);
    COLUMN(json, "isJS", count, "%s", "false");
    COLUMN(json, "relevantForJS", count, "%s", "false");
    COLUMN(json, "resource", count, "%d", (int)functions[i].module - 1);
    COLUMN(json, "fileName", count, "%s",
           or_null(functions[i].file ? functions[i].file : UINT32_MAX, text));
    COLUMN(json, "lineNumber", count, "%s", "null");
    COLUMN(json, "columnNumber", count, "%s", "null");
    json_count(json, "length", count);
    json_close(json, '}');
}

/* Resources are the modules, in their order, and so are the profile's libraries. */
static void resource_member(struct tables *tables)
{
    struct json *json = &tables->json;
    struct walk *walk = tables->walk;
    uint32_t count = (uint32_t)walk->profile->modules_count - 1;
    json_begin(json, "resourceTable", '{');
    COLUMN(json, "lib", count, "%" PRIu32, i);
    COLUMN(json, "name", count, "%" PRIu32, walk->modules[i + 1]);
    COLUMN(json, "host", count, "%s", "null");
    COLUMN(json, "type", count, "%d", RESOURCE_LIBRARY);
    json_count(json, "length", count);
    json_close(json, '}');
}

static void strings_member(struct tables *tables)
{
    struct json *json = &tables->json;
    json_begin(json, "stringArray", '[');
    for (size_t i = 0; i < tables->walk->strings.count; i++) {
        json_item(json);
        json_quote(json, tables->walk->strings.texts[i]);
    }
    json_close(json, ']');
}

static void empty_tables(struct json *json)
{
    json_key(json, "markers");
    json_raw(json, "{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
                   "\"category\":[],\"length\":0}");
    json_key(json, "nativeSymbols");
    json_raw(json, "{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}");
}

/* ---- threads -------------------------------------------------------------------------------- */

static void thread_head(struct json *json, const char *name, size_t number)
{
    json_begin_item(json);
    json_text(json, "processType", "default");
    json_count(json, "processStartupTime", 0);
    json_key(json, "processShutdownTime");
    json_raw(json, "null");
    json_count(json, "registerTime", 0);
    json_key(json, "unregisterTime");
    json_raw(json, "null");
    json_begin(json, "pausedRanges", '[');
    json_close(json, ']');
    json_text(json, "name", name);
    json_flag(json, "isMainThread", true);
    json_text(json, "pid", "0");
    json_count(json, "tid", number);
}

static bool thread_object(struct tables *tables)
{
    struct walk *walk = tables->walk;
    struct json *json = &tables->json;
    tables->samples_count = 0;
    if (!find_stacks(tables))
        return false;
    thread_head(json, walk->metrics[walk->columns[tables->column]].name, tables->column);
    samples_member(tables);
    empty_tables(json);
    stack_member(tables);
    frame_member(tables);
    function_member(tables);
    resource_member(tables);
    strings_member(tables);
    json_close(json, '}');
    numbered_free(&tables->stacks);
    return true;
}

static void meta_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "meta", '{');
    json_count(json, "interval", 1);
    json_decimal(json, "startTime", (double)profile->run.start_ns / 1e6, 16);
    json_count(json, "processType", 0);
    json_text(json, "product", profile->arguments_count ? profile->arguments[0].text : "headroom");
    json_text(json, "importedFrom", "headroom");
    json_count(json, "stackwalk", 1);
    json_flag(json, "debug", false);
    json_count(json, "version", GECKO_VERSION);
    json_count(json, "preprocessedProfileVersion", PROCESSED_VERSION);
    json_flag(json, "symbolicated", true);
    json_key(json, "markerSchema");
    json_raw(json, "[]");
    json_key(json, "categories"); /* of code, and of places that are names only */
    json_raw(json, "[{\"name\":\"Code\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
                   "{\"name\":\"Between\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}]");
    json_close(json, '}');
}

static void libs_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "libs", '[');
    for (size_t i = 1; i < profile->modules_count; i++) {
        const char *path = profile->modules[i].path;
        json_begin_item(json);
        json_text(json, "arch", "x86_64");
        json_text(json, "name", name_base(path));
        json_text(json, "path", path);
        json_text(json, "debugName", name_base(path));
        json_text(json, "debugPath", path);
        json_text(json, "breakpadId", "");
        json_text(json, "codeId", NULL);
        json_close(json, '}');
    }
    json_close(json, ']');
}

bool write_firefox(struct walk *walk, FILE *out)
{
    struct tables tables = {.walk = walk,
                            .json = {.out = out},
                            .stacks = {.bytes = sizeof(struct stack),
                                       .most = walk_most_stacks(walk),
                                       .full = &walk->full}};
    tables.places = malloc(WALK_STACK * sizeof *tables.places);
    tables.tops = calloc(walk->samples_count + 1, sizeof *tables.tops);
    tables.samples = calloc(walk->samples_count + 1, sizeof *tables.samples);
    bool good = tables.places && tables.tops && tables.samples;
    if (good) {
        json_open(&tables.json, '{');
        meta_member(&tables.json, walk->profile);
        libs_member(&tables.json, walk->profile);
        json_begin(&tables.json, "threads", '[');
        for (; good && tables.column < walk->columns_count && !ferror(out); tables.column++)
            good = thread_object(&tables);
        json_close(&tables.json, ']');
        json_close(&tables.json, '}');
        putc('\n', out);
    }
    numbered_free(&tables.stacks);
    free(tables.places);
    free(tables.tops);
    free(tables.samples);
    return good && !walk->failed;
}
