// SPDX-License-Identifier: MIT
/*
 * Models of other machines, from the tables that are part of the program.
 *
 * tables.txt has all machines (tools/machines/generate says what it looks like): what is common, the forms, is there once. From
 * it the text form of one machine is put together, and read as any other model is, with all its checks.
 */
#include "model/internal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

size_t model_list(const struct model_entry **entries)
{
    *entries = model_entries;
    return model_entry_count;
}

/* " snb sandybridge " has the word "snb". */
static bool has_word(const char *words, const char *word)
{
    size_t bytes = strlen(word);
    if (!bytes || strchr(word, ' '))
        return false;
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if (at[-1] == ' ' && at[bytes] == ' ')
            return true;
    return false;
}

static const char *full_name(const char *name)
{
    for (size_t i = 0; i < model_entry_count; i++)
        if (!strcmp(model_entries[i].name, name) || has_word(model_other_names[i], name))
            return model_entries[i].name;
    return NULL;
}

/* ---- putting together ------------------------------------------------------------------------------ */

struct line {
    const char *text;
    size_t bytes; /* without the end of line */
};

struct cursor {
    const char *at, *end;
};

static bool next_line(struct cursor *cursor, struct line *line)
{
    if (cursor->at == cursor->end)
        return false;
    const char *stop = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    stop = stop ? stop : cursor->end;
    *line = (struct line){cursor->at, (size_t)(stop - cursor->at)};
    cursor->at = stop < cursor->end ? stop + 1 : stop;
    return true;
}

static bool starts(const struct line *line, const char *word)
{
    size_t bytes = strlen(word);
    return line->bytes >= bytes && !memcmp(line->text, word, bytes);
}

static bool is(const struct line *line, const char *text)
{
    return line->bytes == strlen(text) && starts(line, text);
}

struct maker {
    struct util_text text;
    struct line *sets; /* of figures, by number */
    size_t sets_count, sets_capacity;
    size_t machine; /* its number among all */
};

static bool add_line(struct maker *maker, const struct line *line)
{
    return util_text_add(&maker->text, line->text, line->bytes) &&
           util_text_add(&maker->text, "\n", 1);
}

/* Lines of the machines, up to that which begins the forms. */
static bool take_machines(struct maker *maker, struct cursor *cursor, const char *name)
{
    struct line line;
    size_t count = 0;
    bool ours = false;
    while (next_line(cursor, &line) && !is(&line, "forms")) {
        if (starts(&line, "machine ")) {
            ours = line.bytes == strlen("machine ") + strlen(name) &&
                   !memcmp(line.text + strlen("machine "), name, strlen(name));
            maker->machine = ours ? count : maker->machine;
            count++;
        } else if (ours && starts(&line, "= ")) {
            if (!UTIL_GROW(maker->sets, maker->sets_capacity, maker->sets_count))
                return false;
            maker->sets[maker->sets_count++] = line;
        } else if (ours && !starts(&line, "also ") && !add_line(maker, &line)) {
            return false;
        }
    }
    return true;
}

/* Field number `wanted` of a group's line: the number of a set of figures; false: "-". */
static bool set_of(const struct line *line, size_t wanted, size_t *set)
{
    const char *at = line->text, *end = at + line->bytes;
    for (; wanted && at < end; at++)
        wanted -= *at == ' ';
    *set = 0;
    bool any = false;
    for (; at < end && *at >= '0' && *at <= '9' && *set < UINT32_MAX; at++, any = true)
        *set = *set * 10 + (size_t)(*at - '0');
    return any;
}

static bool take_forms(struct maker *maker, struct cursor *cursor)
{
    struct line group, keys;
    size_t set;
    while (next_line(cursor, &group) && next_line(cursor, &keys))
        if (set_of(&group, maker->machine, &set) && set < maker->sets_count &&
            (!add_line(maker, maker->sets + set) || !add_line(maker, &keys)))
            return false;
    return true;
}

static enum base_status make(const char *tables, const char *name, struct model **model,
                             struct util_text *why)
{
    static const struct line first = {"headroom-model 1", 16};
    struct cursor cursor = {tables, tables + model_tables_bytes};
    struct maker maker = {0};
    enum base_status status = BASE_NO_MEMORY;
    if (add_line(&maker, &first) && take_machines(&maker, &cursor, name) &&
        take_forms(&maker, &cursor))
        status = model_read(maker.text.bytes, maker.text.count, model, why);
    util_text_free(&maker.text);
    free(maker.sets);
    return status;
}

enum base_status model_open_table(const char *name, struct model **model, struct util_text *why)
{
    const char *full = full_name(name);
    uLongf bytes = model_tables_bytes;
    if (!full) {
        if (why)
            util_text_print(why, "no machine `%s`; `--machine list` names those that there are",
                            name);
        return BASE_NOT_FOUND;
    }
    char *tables = malloc(bytes);
    enum base_status status = BASE_NO_MEMORY;
    if (tables &&
        uncompress((Bytef *)tables, &bytes, model_tables_packed, model_tables_packed_bytes) ==
            Z_OK &&
        bytes == model_tables_bytes)
        status = make(tables, full, model, why);
    free(tables);
    return status;
}
