// SPDX-License-Identifier: MIT
/* Polly's remarks on what it does not take, in our words, one for each place and reason. */
#include "lower/internal.h"

#include "ir/loop.h"
#include "polyhedra/vectors.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *remark, *reason, *help;
    bool descriptor; /* in Fortran, it may be an array's descriptor */
} known[] = {
    {"array subscript", "a subscript is not a sum of loop counters times constants",
     "an index that is read from memory is not known here: 'headroom reuse' measures such loops; "
     "a product with a variable needs its value, by -D",
     .descriptor = true},
    {"from the loop bounds", "how many iterations the loop has depends on data",
     "a bound that is a variable needs its value, by -D; a while loop over data can be measured "
     "by 'headroom reuse'"},
    {"function call cannot be handled", "a function is called in the loop",
     "inline it, or declare it pure or __attribute__((const)) if it is"},
    {"base address of this array is not invariant",
     "where the array begins changes within the loop",
     "keep the pointer in a local variable outside the loop", .descriptor = true},
    {"may alias", "pointers may point to the same memory", "declare them restrict"},
    {"not affine", "a condition depends on data",
     "take it out of the loop, or give the value that it depends on, by -D"},
    {"Comparison is not an affine", "a condition depends on data",
     "take it out of the loop, or give the value that it depends on, by -D"},
    {"irreducible", "control flow jumps into the loop", "leave out the goto"},
    {"multiple exit", "the loop is left from its middle", "leave out break and return"},
    {"not a simple", "the loop is left from its middle", "leave out break and return"},
    {"Alloca", "memory is taken from the stack within the loop", "declare it outside"},
    {"unsigned", "the loop counts by unsigned numbers that may wrap", "use signed counters"},
};

/* What helps then. */
static const char in_descriptor[] =
    "an allocatable array that is part of a structure, or whose elements are structures, is read "
    "from "
    "memory again for each element: pass it to a procedure that has it as a(:, :) or a(n, n); a "
    "loop whose index is read from memory can be measured by 'headroom reuse'";

static const char *ignored[] = {"The following errors",
                                "Invalid Scop candidate",
                                "Unspecified error",
                                "not profitable",
                                "No loops",
                                "unprofitable"};

static const char *keep(struct lowered *lowered, const char *text, size_t bytes)
{
    uint32_t number;
    return util_strings_add(&lowered->strings, text, bytes, &number)
               ? lowered->strings.texts[number]
               : NULL;
}

static bool is_listed(const struct lowered *lowered, const struct lower_rejected *rejected)
{
    for (size_t i = 0; i < lowered->rejected_count; i++) {
        const struct lower_rejected *other = &lowered->rejected[i];
        if (other->line == rejected->line && other->reason == rejected->reason &&
            other->file == rejected->file)
            return true;
    }
    return false;
}

/* "gemm.c:4:42", which is cut into pieces. False: it is no place. */
static bool read_place(struct lowered *lowered, char *text, struct lower_rejected *rejected)
{
    char *column = strrchr(text, ':');
    if (!column)
        return false;
    *column = 0;
    char *line = strrchr(text, ':');
    if (!line)
        return false;
    *line = 0;
    rejected->line = (uint32_t)strtoul(line + 1, NULL, 10);
    rejected->column = (uint32_t)strtoul(column + 1, NULL, 10);
    rejected->file = keep(lowered, text, strlen(text));
    return true;
}

/* ---- where loops are --------------------------------------------------------------------------------------- */

struct function_loops {
    const char *file;
    struct ir_spans spans;
};

struct where {
    struct function_loops *functions;
    size_t count, capacity;
    struct ir_place *taken; /* accesses of nests */
    size_t taken_count, taken_capacity;
};

/* For a function whose loops are not known, so that none of its remarks is left out. */
static bool span_everything(struct ir_spans *spans)
{
    struct ir_span span = {0, UINT32_MAX};
    return UTIL_PUSH(spans->items, spans->count, spans->capacity, span);
}

static bool find_loops(const struct ir *ir, struct where *where)
{
    for (const char *symbol = NULL; (symbol = ir_next_function(ir, symbol));) {
        struct function_loops function = {.file = ir_function_place(ir, symbol).file};
        if (!function.file) /* made by the compiler */
            continue;
        enum base_status status = ir_loop_spans(ir, symbol, &function.spans);
        if (status == BASE_NO_MEMORY ||
            (status == BASE_TOO_LARGE && !span_everything(&function.spans)) ||
            !UTIL_PUSH(where->functions, where->count, where->capacity, function)) {
            free(function.spans.items);
            return false;
        }
    }
    return true;
}

static bool find_taken(const struct lowered *lowered, struct where *where)
{
    for (size_t i = 0; i < polyhedra_count(lowered->polyhedra); i++) {
        const char *instruction;
        bool write;
        for (size_t j = 0; polyhedra_access_of(lowered->polyhedra, i, j, &instruction, &write); j++)
            if (instruction && !UTIL_PUSH(where->taken, where->taken_count, where->taken_capacity,
                                          ir_place_of(lowered->ir, instruction)))
                return false;
    }
    return true;
}

static void free_where(struct where *where)
{
    free(where->taken);
    for (size_t i = 0; i < where->count; i++)
        free(where->functions[i].spans.items);
    free(where->functions);
}

/* Polly also looks at regions that no loop is around. */
static bool is_in_loop(const struct where *where, const struct lower_rejected *rejected)
{
    bool known_file = false;
    for (size_t i = 0; i < where->count; i++) {
        const struct function_loops *function = &where->functions[i];
        if (strcmp(function->file, rejected->file) != 0)
            continue;
        known_file = true;
        for (size_t j = 0; j < function->spans.count; j++)
            if (rejected->line >= function->spans.items[j].first_line &&
                rejected->line <= function->spans.items[j].last_line)
                return true;
    }
    return !known_file;
}

/* Polly may refuse a region for an access, and take a smaller region with it. */
static bool is_taken(const struct where *where, const struct lower_rejected *rejected)
{
    for (size_t i = 0; i < where->taken_count; i++) {
        const struct ir_place *place = &where->taken[i];
        if (place->line == rejected->line && place->column == rejected->column && place->file &&
            strcmp(place->file, rejected->file) == 0)
            return true;
    }
    return false;
}

/* ---- remarks ------------------------------------------------------------------------------------------------- */

static void explain(struct lowered *lowered, const char *message, struct lower_rejected *rejected)
{
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (strstr(message, known[i].remark)) {
            rejected->reason = known[i].reason;
            rejected->help = known[i].descriptor && rejected->file &&
                                     language_of(rejected->file) == LANGUAGE_FORTRAN &&
                                     ir_reads_descriptors(lowered->ir)
                                 ? in_descriptor
                                 : known[i].help;
            return;
        }
    rejected->reason = keep(lowered, message, strlen(message));
}

/* Behind "remark: ": "gemm.c:4:42: Failed to ...". False: no memory. */
static bool read_remark(struct lowered *lowered, const struct where *where, const char *line)
{
    size_t bytes = strcspn(line, "\n");
    char text[2048];
    struct lower_rejected rejected = {.help = NULL};
    if (bytes >= sizeof text)
        return true;
    memcpy(text, line, bytes);
    text[bytes] = 0;
    char *message = strstr(text, ": ");
    if (!message)
        return true;
    *message = 0;
    message += 2;
    for (size_t i = 0; i < BASE_COUNT(ignored); i++)
        if (strstr(message, ignored[i]))
            return true;
    if (!read_place(lowered, text, &rejected))
        return true;
    explain(lowered, message, &rejected);
    if (!rejected.file || !rejected.reason)
        return false;
    /* A loop that control flow jumps into is no natural loop, and so not among those that were found. */
    if (!strstr(message, "irreducible") && !is_in_loop(where, &rejected))
        return true;
    if (is_taken(where, &rejected))
        return true;
    return !rejected.line || is_listed(lowered, &rejected) ||
           UTIL_PUSH(lowered->rejected, lowered->rejected_count, lowered->rejected_capacity,
                     rejected);
}

static int by_place(const void *a, const void *b)
{
    const struct lower_rejected *left = a, *right = b;
    int order = strcmp(left->file, right->file);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

bool rejected_read(const char *remarks, struct lowered *lowered)
{
    struct where where = {0};
    const char *at = strstr(remarks, "remark: ");
    bool good = !at || (find_loops(lowered->ir, &where) && find_taken(lowered, &where));
    for (; good && at; at = strstr(at + 1, "remark: "))
        good = read_remark(lowered, &where, at + 8);
    if (lowered->rejected_count)
        qsort(lowered->rejected, lowered->rejected_count, sizeof *lowered->rejected, by_place);
    free_where(&where);
    return good;
}
