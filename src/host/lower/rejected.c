// SPDX-License-Identifier: MIT
/* Polly's remarks on what it does not take, in our words, one for each place and reason. */
#include "lower/internal.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *remark, *reason, *help;
} known[] = {
    {"array subscript", "a subscript is not a sum of loop counters times constants",
     "where an index is read from memory no set says what it is: 'headroom reuse' measures such "
     "loops; a product with a variable needs its value, by -D"},
    {"from the loop bounds", "how often the loop goes round depends on data",
     "a bound that is a variable needs its value, by -D; a while loop over data can be measured "
     "by 'headroom reuse'"},
    {"function call cannot be handled", "a function is called in the loop",
     "inline it, or declare it pure or __attribute__((const)) if it is"},
    {"base address of this array is not invariant",
     "where the array begins changes within the loop",
     "keep the pointer in a local variable outside the loop"},
    {"may alias", "pointers may lead to the same memory", "declare them restrict"},
    {"not affine", "a condition depends on data", "take it out of the loop"},
    {"Comparison is not an affine", "a condition depends on data", "take it out of the loop"},
    {"irreducible", "control flow jumps into the loop", "leave out the goto"},
    {"multiple exit", "the loop is left from its middle", "leave out break and return"},
    {"not a simple", "the loop is left from its middle", "leave out break and return"},
    {"Alloca", "memory is taken from the stack within the loop", "declare it outside"},
    {"unsigned", "the loop counts by unsigned numbers that may wrap", "use signed counters"},
};

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

/* "remark: gemm.c:4:42: Failed to ..." */
static bool read_remark(struct lowered *lowered, const char *line)
{
    size_t bytes = strcspn(line, "\n");
    char text[2048], *message;
    if (bytes >= sizeof text)
        return true;
    memcpy(text, line, bytes);
    text[bytes] = 0;
    message = strstr(text, ": ");
    struct lower_rejected rejected = {.help = NULL};
    if (!message)
        return true;
    *message = 0;
    message += 2;
    for (size_t i = 0; i < BASE_COUNT(ignored); i++)
        if (strstr(message, ignored[i]))
            return true;
    char *column = strrchr(text, ':');
    if (!column)
        return true;
    *column = 0;
    char *number = strrchr(text, ':');
    if (!number)
        return true;
    *number = 0;
    rejected.line = (uint32_t)strtoul(number + 1, NULL, 10);
    rejected.column = (uint32_t)strtoul(column + 1, NULL, 10);
    rejected.file = keep(lowered, text, strlen(text));
    for (size_t i = 0; i < BASE_COUNT(known) && !rejected.reason; i++)
        if (strstr(message, known[i].remark)) {
            rejected.reason = known[i].reason;
            rejected.help = known[i].help;
        }
    if (!rejected.reason)
        rejected.reason = keep(lowered, message, strlen(message));
    if (!rejected.file || !rejected.reason)
        return false;
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
    for (const char *at = remarks; (at = strstr(at, "remark: ")); at++)
        if (!read_remark(lowered, at + 8))
            return false;
    if (lowered->rejected_count)
        qsort(lowered->rejected, lowered->rejected_count, sizeof *lowered->rejected, by_place);
    return true;
}
