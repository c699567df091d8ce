// SPDX-License-Identifier: MIT
/* `headroom limits`: what is named on its command line, and the loops of that. */
#include "cli/limits_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEVELS_MAX = 16, SOURCE_S = 60 };

/* ---- what is named ------------------------------------------------------------------------------------ */

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0 && strlen(text) < 10;
}

/* "FUNCTION", "LINE" or "FILE:LINE". */
void limits_read_place(const char *place, struct limits_named *named)
{
    const char *colon = strrchr(place, ':');
    if (is_number(place)) {
        named->target.line = (uint32_t)strtoul(place, NULL, 10);
    } else if (colon && colon > place && is_number(colon + 1)) {
        snprintf(named->file, sizeof named->file, "%.*s", (int)(colon - place), place);
        named->target.file = named->file;
        named->target.line = (uint32_t)strtoul(colon + 1, NULL, 10);
    } else {
        snprintf(named->function, sizeof named->function, "%s", place);
        named->target.function = named->function;
    }
}

/* The longest beginning, up to a colon, that is a file; the rest says which of its loops. */
bool limits_read_named(const char *word, struct limits_named *named, char *error)
{
    size_t bytes = strlen(word);
    *named = (struct limits_named){0};
    while (bytes && bytes < LIMITS_WORD_BYTES) {
        snprintf(named->path, sizeof named->path, "%.*s", (int)bytes, word);
        if (access(named->path, F_OK) == 0) {
            if (word[bytes])
                limits_read_place(word + bytes + 1, named);
            return true;
        }
        while (bytes && word[--bytes] != ':')
            ;
    }
    snprintf(error, ASSESS_ERROR_BYTES, "cannot read '%.4000s': %s.", word, strerror(ENOENT));
    return false;
}

bool limits_ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), count = strlen(end);
    return bytes > count && strcmp(text + bytes - count, end) == 0;
}

bool limits_is_assembly(const char *path)
{
    return limits_ends_with(path, ".s") || limits_ends_with(path, ".S");
}

/* ---- bounds ---------------------------------------------------------------------------------------------- */

static bool add_graph(struct limits_work *work, const struct bodies_loop *loop)
{
    const char *path = limits_own(work->settings)->graph;
    bool drawn = work->options.drawn;
    return !path || (drawn && work->graph.count) ||
           assess_graph(loop, &work->options, drawn, &work->graph) == BASE_OK;
}

static bool add_schedule(struct limits_work *work, const struct bodies_loop *loop)
{
    return !limits_own(work->settings)->schedule ||
           assess_schedule(loop, &work->options, &work->schedule) == BASE_OK;
}

static bool add_loops(struct limits_work *work, const struct bodies *bodies, const char *module,
                      const char *level)
{
    for (size_t i = 0; i < bodies->count; i++) {
        uint32_t id = (uint32_t)work->profile->limit_loops_count;
        if (assess_add(work->profile, &bodies->loops[i], &work->options, module, level, -1) !=
                BASE_OK ||
            (work->source && assess_source_match(work->profile, work->source, &bodies->loops[i], id,
                                                 &work->options) != BASE_OK) ||
            !add_graph(work, &bodies->loops[i]) || !add_schedule(work, &bodies->loops[i])) {
            snprintf(work->error, sizeof work->error, "%s.", base_status_text(BASE_NO_MEMORY));
            return false;
        }
    }
    return true;
}

/* path: what can be opened; named: what the user calls it. */
bool limits_add_file(struct limits_work *work, const char *path, const struct limits_named *named,
                     const char *level)
{
    struct binary *binary = NULL;
    struct bodies bodies = {0};
    struct binary_options symbols = symbol_options(work->settings);
    bool good = assess_open(path, &symbols, &binary, work->error) == BASE_OK &&
                assess_find(binary, named->path, &named->target, &bodies, work->error) == BASE_OK &&
                add_loops(work, &bodies, named->path, level);
    bodies_free(&bodies);
    if (binary)
        binary_close(binary);
    return good;
}

/* The same of a file that had to be made, if it could be. */
static bool add_made(struct limits_work *work, bool good, struct assess_made *made,
                     const struct limits_named *named, const char *level)
{
    good = good && limits_add_file(work, made->path, named, level);
    assess_drop(made);
    return good;
}

bool limits_add_assembly(struct limits_work *work, const struct limits_named *named)
{
    struct assess_made made;
    bool good = assess_assemble(named->path, &made, work->error);
    return add_made(work, good, &made, named, NULL);
}

bool limits_add_unlinked(struct limits_work *work, const struct limits_named *named)
{
    struct assess_made made;
    bool good = assess_link(named->path, &made, work->error);
    return add_made(work, good, &made, named, NULL);
}

/* ---- the source ------------------------------------------------------------------------------------------ */

static bool read_vertices(struct limits_work *work, enum dependence_vertices *vertices)
{
    const char *word = limits_own(work->settings)->vertices;
    *vertices = DEPENDENCE_OPERATIONS;
    if (!word || strcmp(word, "operations") == 0)
        return true;
    *vertices = DEPENDENCE_STATEMENTS;
    if (strcmp(word, "statements") == 0)
        return true;
    snprintf(work->error, sizeof work->error,
             "--vertices takes operations or statements, not '%.1000s'.", word);
    return false;
}

static bool read_bindings(struct limits_work *work, struct lower_binding *bindings,
                          char (*names)[LOWER_NAME_BYTES])
{
    const struct option_list *list = &work->settings->keys;
    for (size_t i = 0; i < list->count; i++)
        if (!lower_read_binding(list->texts[i], names[i], &bindings[i])) {
            snprintf(work->error, sizeof work->error, "-D: '%.200s' is no NAME=VALUE.",
                     list->texts[i]);
            return false;
        }
    return true;
}

/* Dependences of the loop at a line, by what is written there. */
static bool open_source(struct limits_work *work, const struct limits_named *named,
                        char *const *compiler)
{
    struct lower_binding bindings[LOWER_BINDINGS];
    char names[LOWER_BINDINGS][LOWER_NAME_BYTES];
    enum dependence_vertices vertices;
    const char *path = limits_own(work->settings)->source_graph;
    if (!read_vertices(work, &vertices) || !read_bindings(work, bindings, names))
        return false;
    if (!named->target.line || !lower_is_source(named->path))
        return true;
    struct lower_request request = {.path = named->path,
                                    .compiler = compiler,
                                    .bindings = bindings,
                                    .bindings_count = work->settings->keys.count,
                                    .seconds = SOURCE_S};
    work->source = assess_source_open(work->profile, &request, named->target.line, &work->options);
    if (work->source && (!path || assess_source_graph(work->source, vertices,
                                                      limits_ends_with(path, ".dot") ||
                                                          limits_ends_with(path, ".svg"),
                                                      &work->source_graph)))
        return true;
    snprintf(work->error, sizeof work->error, "%s.", base_status_text(BASE_NO_MEMORY));
    return false;
}

static bool add_source(struct limits_work *work, const struct limits_named *named,
                       char *const *compiler, const char *level)
{
    struct assess_made made;
    bool good = assess_compile(named->path, compiler, level, &made, work->error);
    return add_made(work, good, &made, named, level);
}

/* "O0,O1": each in turn. */
bool limits_add_levels(struct limits_work *work, const struct limits_named *named,
                       char *const *compiler)
{
    const char *levels = limits_own(work->settings)->levels;
    if (!open_source(work, named, compiler))
        return false;
    if (!levels)
        return add_source(work, named, compiler, NULL);
    for (unsigned count = 0; *levels; count++) {
        char level[32];
        if (count == LEVELS_MAX) {
            snprintf(work->error, sizeof work->error,
                     "--levels has more than %d levels: ask for the others by themselves.",
                     LEVELS_MAX);
            return false;
        }
        size_t bytes = strcspn(levels, ",");
        const char *begin = *levels == '-' ? levels + 1 : levels;
        snprintf(level, sizeof level, "%.*s", (int)(bytes - (size_t)(begin - levels)), begin);
        if (!add_source(work, named, compiler, level))
            return false;
        levels += bytes + (levels[bytes] == ',');
    }
    return true;
}

/* What loops of a run executed. */
bool limits_add_executed(struct limits_work *work)
{
    struct binary_options symbols = symbol_options(work->settings);
    bool wanted = limits_own(work->settings)->schedule;
    if (!work->profile->executed_windows_count) {
        snprintf(work->error, sizeof work->error,
                 "nothing is known of what the loops executed, and there is no schedule of it: "
                 "'headroom limits --schedule FILE -- COMMAND' asks the exact engine.");
        return !wanted;
    }
    enum base_status status =
        assess_executed(work->profile, &symbols, &work->options, &work->memory.memory,
                        wanted ? &work->schedule : NULL);
    if (status != BASE_OK)
        snprintf(work->error, sizeof work->error, "cannot schedule the loops: %s.",
                 base_status_text(status));
    return status == BASE_OK;
}
