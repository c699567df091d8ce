// SPDX-License-Identifier: MIT
/* Loops of a file that a user names. */
#include "assess/internal.h"

#include "binary/lines.h"
#include "cfg/cfg.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 };

enum base_status assess_open(const char *path, const struct binary_options *symbols,
                             struct binary **binary, char *error)
{
    enum binary_kind kind;
    enum base_status status = binary_classify(path, &kind, NULL);
    if (status == BASE_OK && (kind == BINARY_32BIT || kind == BINARY_OTHER_MACHINE)) {
        snprintf(error, ASSESS_ERROR_BYTES,
                 "'%s' is for another kind of processor; limits reads x86-64 code.", path);
        return BASE_UNSUPPORTED;
    }
    if (status == BASE_OK)
        status = cfg_start();
    if (status == BASE_OK)
        status = binary_open(path, symbols, binary);
    if (status != BASE_OK)
        snprintf(error, ASSESS_ERROR_BYTES, "cannot read code from '%s': %s.", path,
                 status == BASE_MALFORMED ? "it is no ELF file, or a damaged one"
                                          : base_status_text(status));
    return status;
}

/* ---- lines ------------------------------------------------------------------------------------------- */

/* Has the loop code of the line? around: or lies it between its first and its last line, in that file? */
static bool is_at(const struct bodies_loop *loop, const struct assess_target *target, bool around)
{
    uint32_t first = UINT32_MAX, last = 0;
    for (size_t i = 0; i < loop->block.count; i++) {
        const struct bodies_place *place = &loop->places[i];
        if (!place->file || !place->line ||
            (target->file && !binary_path_ends(place->file, target->file)))
            continue;
        if (place->line == target->line)
            return true;
        first = place->line < first ? place->line : first;
        last = place->line > last ? place->line : last;
    }
    return around && first <= target->line && target->line <= last;
}

/* Of a name as people read it. */
static bool same_start(const char *name, const char *wanted)
{
    size_t bytes = strlen(wanted);
    return strncmp(name, wanted, bytes) == 0 && (!name[bytes] || strchr(".(", name[bytes]));
}

bool find_matches(const struct bodies_loop *loop, const struct assess_target *target)
{
    char *end = NULL;
    if (target->function && strncmp(target->function, "0x", 2) == 0) {
        uint64_t address = strtoull(target->function, &end, 16);
        for (size_t i = 0; i < loop->block.count; i++)
            if (loop->block.instructions[i].address == address)
                return true;
        return false;
    }
    if (target->function)
        return same_start(loop->function, target->function);
    return is_at(loop, target, true);
}

static void move_loop(struct bodies *from, size_t index, struct bodies *to)
{
    struct bodies_loop loop = from->loops[index];
    if (UTIL_PUSH(to->loops, to->count, to->capacity, loop))
        from->loops[index] = (struct bodies_loop){0};
}

/* Keeps what is at the line, else what is around it. */
static void keep_line(struct bodies *bodies, const struct assess_target *target)
{
    struct bodies kept = {.left_out = bodies->left_out};
    for (unsigned around = 0; around < 2 && !kept.count; around++)
        for (size_t i = 0; i < bodies->count; i++)
            if (bodies->loops[i].block.count && is_at(&bodies->loops[i], target, around))
                move_loop(bodies, i, &kept);
    bodies_free(bodies);
    *bodies = kept;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

/* A file without sizes of functions, as people write assembly: all of its code as one. */
static enum base_status whole_text(struct binary *binary, struct bodies *bodies)
{
    uint64_t start, bytes;
    enum base_status status = binary_section(binary, ".text", &start, &bytes);
    return status == BASE_OK ? bodies_of(binary, start, start + bytes, NULL, NULL, bodies) : status;
}

static enum base_status loops_of_all(struct binary *binary, const struct assess_target *target,
                                     struct bodies *bodies, size_t *functions)
{
    uint64_t start = 0, end = 0;
    const char *name = NULL;
    enum base_status status = BASE_OK;
    for (uint64_t at = 0;
         status == BASE_OK && binary_next_function(binary, at, &start, &end, &name) == BASE_OK;
         at = end > start ? end : start + 1) {
        if (target->function && !binary_is_named(name, target->function))
            continue;
        ++*functions;
        status = bodies_of(binary, start, end, NULL, NULL, bodies);
        status = status == BASE_MALFORMED ? BASE_OK : status;
    }
    return status;
}

static enum base_status loops_at_address(struct binary *binary, uint64_t address,
                                         struct bodies *bodies, size_t *functions)
{
    uint64_t start, end;
    if (binary_function(binary, address, &start, &end) != BASE_OK)
        return BASE_OK;
    ++*functions;
    return bodies_of(binary, start, end, NULL, NULL, bodies);
}

static enum base_status refuse(enum base_status status, const char *sentence, const char *shown,
                               const char *what, char *error)
{
    snprintf(error, ASSESS_ERROR_BYTES, sentence, shown, what ? what : "");
    return status;
}

static enum base_status explain(const struct binary *binary, const char *shown,
                                const struct assess_target *target, size_t functions, char *error)
{
    char where[NAME_BYTES];
    snprintf(where, sizeof where, "%s%s%u", target->file ? target->file : "line ",
             target->file ? ":" : "", target->line);
    if (target->function && !functions)
        return binary_detail(binary) == BINARY_DETAIL_NONE
                   ? refuse(BASE_NOT_FOUND,
                            "'%s' has no symbols, so '%s' cannot be found in it; name an address "
                            "(0x...).",
                            shown, target->function, error)
                   : refuse(BASE_NOT_FOUND, "'%s' has no function '%s'.", shown, target->function,
                            error);
    if (target->line && binary_detail(binary) != BINARY_DETAIL_LINES)
        return refuse(BASE_NOT_FOUND,
                      "'%s' has no line numbers, so %s cannot be found in it; compile it with -g.",
                      shown, where, error);
    if (target->line)
        return refuse(BASE_NOT_FOUND, "'%s' has no loop at %s.", shown, where, error);
    if (target->function)
        return refuse(BASE_NOT_FOUND, "in '%s', function '%s' has no loop.", shown,
                      target->function, error);
    return refuse(BASE_NOT_FOUND, "'%s' has no loop.%s", shown, "", error);
}

enum base_status assess_find(struct binary *binary, const char *shown,
                             const struct assess_target *target, struct bodies *bodies, char *error)
{
    size_t functions = 0;
    char *end = NULL;
    uint64_t address = target->function && strncmp(target->function, "0x", 2) == 0
                           ? strtoull(target->function, &end, 16)
                           : 0;
    enum base_status status = end && !*end ? loops_at_address(binary, address, bodies, &functions)
                                           : loops_of_all(binary, target, bodies, &functions);
    if (status == BASE_OK && !functions && !target->function)
        status = whole_text(binary, bodies) == BASE_NO_MEMORY ? BASE_NO_MEMORY : BASE_OK;
    if (status == BASE_OK && target->line)
        keep_line(bodies, target);
    if (status == BASE_OK && !bodies->count)
        return explain(binary, shown, target, functions, error);
    if (status != BASE_OK)
        snprintf(error, ASSESS_ERROR_BYTES, "cannot find the loops of '%s': %s.", shown,
                 status == BASE_TOO_LARGE ? "there are too many; name a function or a line"
                                          : base_status_text(status));
    return status;
}
