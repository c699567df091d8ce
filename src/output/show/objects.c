// SPDX-License-Identifier: MIT
#include "show/objects.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 14, INDENT = 6, COLUMNS = 80, NAME_COLUMNS = 40 };

/* Below that share an object is one of several. */
static const double nearly_all = 0.95;

static const char *const kind_names[PROFILE_OBJECTS] = {"unknown", "global", "heap",  "stack",
                                                        "thread",  "data",   "mapped"};

/* ---- rows --------------------------------------------------------------------------------------- */

static int compare_keys(const struct objects_row *a, const struct objects_row *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static int compare_rows(const void *left, const void *right)
{
    const struct objects_row *a = left, *b = right;
    int keys = compare_keys(a, b);
    return keys ? keys : (a->of > b->of) - (a->of < b->of);
}

bool objects_make(const struct places *places, struct objects *objects)
{
    const struct profile *profile = places->profile;
    size_t count = profile->located_count;
    struct objects_row *rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct profile_located *of = &profile->located[i];
        rows[i] = (struct objects_row){of->kind, places->place_of[of->first],
                                       places->place_of[of->second], of};
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    *objects = (struct objects){profile, rows, count};
    return true;
}

void objects_free(struct objects *objects)
{
    free(objects->rows);
    *objects = (struct objects){0};
}

/* ---- the object of a finding -------------------------------------------------------------------- */

/* Weights by object; a finding has few. Those that come when all places are taken count as others. */
enum { OBJECTS_MAX = 32 };
struct sums {
    struct objects_found found[OBJECTS_MAX]; /* share: a weight */
    size_t count;
    double weight;
    uint64_t known, seen;
};

static const char *agreed(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0 ? a : NULL;
}

static void add_row(const struct objects *objects, struct sums *sums,
                    const struct profile_located *row)
{
    const struct profile_memory *memory = &objects->profile->memories[row->memory];
    sums->seen += row->seen;
    if (memory->object == PROFILE_OBJECT_UNKNOWN)
        return;
    sums->known += row->seen;
    sums->weight += row->weight;
    size_t i = 0;
    while (i < sums->count && sums->found[i].memory != memory)
        i++;
    if (i == OBJECTS_MAX)
        return;
    struct objects_found *found = &sums->found[i];
    if (i == sums->count) {
        sums->count++;
        *found = (struct objects_found){.memory = memory,
                                        .low = row->low,
                                        .high = row->high,
                                        .field = row->field,
                                        .member = row->member};
    }
    found->field = agreed(found->field, row->field);
    found->member = agreed(found->member, row->member);
    found->low = found->low < row->low ? found->low : row->low;
    found->high = found->high > row->high ? found->high : row->high;
    found->share += row->weight;
}

static void add_pair(const struct objects *objects, struct sums *sums, uint32_t kind,
                     uint32_t first, uint32_t second)
{
    const struct objects_row key = {kind, first, second, NULL};
    size_t at = BASE_FIRST(i, objects->count, compare_keys(&objects->rows[i], &key) >= 0);
    for (; at < objects->count && compare_keys(&objects->rows[at], &key) == 0; at++)
        add_row(objects, sums, objects->rows[at].of);
}

static struct objects_found heaviest(const struct sums *sums)
{
    struct objects_found found = {.known = sums->known, .seen = sums->seen};
    for (size_t i = 0; i < sums->count; i++)
        if (!found.memory || sums->found[i].share > found.share) {
            found.memory = sums->found[i].memory;
            found.low = sums->found[i].low;
            found.high = sums->found[i].high;
            found.field = sums->found[i].field;
            found.member = sums->found[i].member;
            found.share = sums->found[i].share;
        }
    found.share = sums->weight > 0 ? found.share / sums->weight : 0;
    if (found.share <= 0)
        found.memory = NULL;
    return found;
}

struct objects_found objects_of_group(const struct objects *objects, uint32_t kind,
                                      const struct groups *groups, const struct group *group)
{
    struct sums sums = {.count = 0};
    for (size_t i = 0; i < group->links_count; i++) {
        const struct group_link *link = &groups->links[group->links[i]];
        add_pair(objects, &sums, kind, link->first, link->second);
    }
    return heaviest(&sums);
}

struct objects_found objects_of_pair(const struct objects *objects, const struct places *places,
                                     uint32_t kind, uint32_t first, uint32_t second)
{
    struct sums sums = {.count = 0};
    add_pair(objects, &sums, kind, places->place_of[first], places->place_of[second]);
    return heaviest(&sums);
}

/* ---- for people --------------------------------------------------------------------------------- */

/* The program's own code that asked for the memory, or what is innermost. A program's own malloc, from which it may have
   all of its memory, says nothing: its caller then. */
static const struct profile_frame *asked_for(const struct places *places, uint32_t context)
{
    const struct profile_frame *frames = places->profile->frames;
    uint32_t own = places->own[places->place_of[context]], at = own;
    while (at && name_wraps_malloc(frames[places->items[at].class].function))
        at = places->own[places->items[at].parent];
    bool found = at && !places->system[places->items[at].class] &&
                 !name_before_program(frames[places->items[at].class].function);
    return &frames[places->items[found ? at : own].class];
}

/* "f (x.c:12)" */
static void add_allocation(const struct printer *printer, uint32_t context, char *line,
                           size_t bytes)
{
    const struct places *places = &printer->places;
    char name[NAME_BYTES], shortened[NAME_BYTES], place[TEXT_BYTES];
    if (!context)
        return;
    const struct profile_frame *frame = asked_for(places, context);
    print_function(printer, frame, name);
    name_shorten(name, NAME_COLUMNS, shortened);
    print_place(printer, frame->file, frame->line, place);
    print_add(line, bytes, " by %s%s%s%s", shortened, place[0] ? " (" : "", place,
              place[0] ? ")" : "");
}

static void add_variable(const struct objects_found *found, char *line, size_t bytes)
{
    const struct profile_memory *memory = found->memory;
    char name[NAME_BYTES], clean[NAME_BYTES];
    const char *field = found->field ? found->field : found->member;
    if (field) {
        name_clean(field, clean, sizeof clean);
        print_add(line, bytes, "%s", clean);
        return;
    }
    name_clean(memory->name, clean, sizeof clean);
    name_shorten(clean, NAME_COLUMNS, name);
    print_add(line, bytes, "%s", name);
    if (found->low == found->high && found->low)
        print_add(line, bytes, " (+%" PRIu64 ")", found->low);
    else if (found->low != found->high)
        print_add(line, bytes, " (+%" PRIu64 " – %" PRIu64 ")", found->low, found->high);
}

static void add_data(const struct printer *printer, const struct profile_memory *memory, char *line,
                     size_t bytes)
{
    char clean[NAME_BYTES];
    const char *path = memory->module ? printer->profile->modules[memory->module].path : "";
    name_clean(name_base(path), clean, sizeof clean);
    print_add(line, bytes, "data of %s", clean[0] ? clean : "the program");
}

static void add_object(const struct printer *printer, const struct objects_found *found, char *line,
                       size_t bytes)
{
    const struct profile_memory *memory = found->memory;
    char digits[32];
    switch (memory->object) {
    case PROFILE_OBJECT_GLOBAL: add_variable(found, line, bytes); break;
    case PROFILE_OBJECT_DATA: add_data(printer, memory, line, bytes); break;
    case PROFILE_OBJECT_STACK:
        print_add(line, bytes, memory->other ? "another thread's stack" : "the stack");
        if (memory->name)
            print_add(line, bytes, ": ");
        if (memory->name)
            add_variable(found, line, bytes);
        break;
    case PROFILE_OBJECT_THREAD:
        print_add(line, bytes, "thread-local ");
        if (memory->name)
            add_variable(found, line, bytes);
        else
            print_add(line, bytes, "memory");
        if (memory->other)
            print_add(line, bytes, " of another thread");
        break;
    default:
        print_add(line, bytes, "%s B", print_grouped(memory->size, digits));
        print_add(line, bytes, memory->object == PROFILE_OBJECT_MAPPED ? " mapped" : " allocated");
        add_allocation(printer, memory->context, line, bytes);
    }
}

void objects_text(const struct printer *printer, const struct objects_found *found,
                  unsigned columns, char *line, size_t bytes)
{
    char whole[TEXT_BYTES] = "", share[32];
    line[0] = 0;
    if (!found->memory)
        return;
    add_object(printer, found, whole, sizeof whole);
    if (found->share < nearly_all)
        print_add(whole, sizeof whole, "; %s", print_percent(found->share, share));
    if (found->known * 2 < found->seen)
        print_add(whole, sizeof whole, "; %" PRIu64 " of %" PRIu64 " samples", found->known,
                  found->seen);
    size_t fits = name_fitting(whole, columns);
    if (whole[fits])
        snprintf(line, bytes, "%.*s…", (int)name_fitting(whole, columns - 1), whole);
    else
        snprintf(line, bytes, "%s", whole);
}

/* Of a block of the heap: which field, if the pointer that took it says so. */
static void print_guess(struct printer *printer, const struct objects_found *found)
{
    const char *field = found->field ? found->field : found->member;
    char clean[NAME_BYTES], line[TEXT_BYTES];
    if (!found->memory || found->memory->object != PROFILE_OBJECT_HEAP || !field)
        return;
    name_clean(field, clean, sizeof clean);
    snprintf(line, sizeof line, "perhaps %s", clean);
    fprintf(printer->out, "%*s%.*s\n", INDENT + LABEL, "",
            (int)name_fitting(line, COLUMNS - INDENT - LABEL), line);
}

void objects_print(struct printer *printer, const struct objects_found *found)
{
    char line[TEXT_BYTES];
    unsigned width = printer->width < COLUMNS ? printer->width : COLUMNS;
    objects_text(printer, found, width - INDENT - LABEL, line, sizeof line);
    if (line[0])
        fprintf(printer->out, "%*s%s%-*s%s%s\n", INDENT, "", print_on(printer, DIM), LABEL,
                "memory", print_off(printer), line);
    print_guess(printer, found);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

void objects_json(struct json *json, const struct places *places, const struct objects_found *found)
{
    const struct profile *profile = places->profile;
    const struct profile_memory *memory = found->memory;
    if (!memory) {
        json_key(json, "object");
        json_raw(json, "null");
        return;
    }
    bool located = memory->object != PROFILE_OBJECT_DATA &&
                   (memory->object != PROFILE_OBJECT_STACK || memory->name);
    json_begin(json, "object", '{');
    json_text(json, "object", kind_names[memory->object]);
    json_text(json, "name", memory->name);
    json_text(json, "type", memory->type);
    json_text(json, "module", memory->module ? profile->modules[memory->module].path : NULL);
    json_count(json, "size", memory->size);
    if (located) {
        json_count(json, "offset", found->low);
        json_count(json, "offset_last", found->high);
    }
    json_text(json, "field", found->field);
    json_text(json, "member", found->member);
    json_flag(json, "other_thread", memory->other != 0);
    json_decimal(json, "share", found->share, 6);
    json_count(json, "known", found->known);
    json_count(json, "seen", found->seen);
    if (memory->context)
        json_context(json, "allocated", profile, memory->context);
    json_close(json, '}');
}

void objects_json_group(struct json *json, const struct objects *objects,
                        const struct places *places, uint32_t kind, const struct groups *groups,
                        const struct group *group)
{
    struct objects_found found = objects_of_group(objects, kind, groups, group);
    objects_json(json, places, &found);
}
