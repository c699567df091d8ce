// SPDX-License-Identifier: MIT
/*
 * What a pattern usually means, in one sentence, said only where names and
 * source lines support it. The categories are those of the witch paper's case
 * studies: repeated initialisation, missed inlining, aliasing, values recomputed,
 * linear search.
 *
 * A wrong hint costs more than a missing one: every rule names its evidence.
 */
#include "show/names.h"
#include "waste/internal.h"

#include <ctype.h>
#include <string.h>

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does text hold word as a whole identifier? */
static bool has_word(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    if (!text)
        return false;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !word_char(at[-1])) && !word_char(at[bytes]))
            return true;
    return false;
}

static bool is_any(const struct advice_side *side, const char *const *names)
{
    for (; *names; names++)
        if (name_is_libc(side->called, *names) || has_word(side->source, *names))
            return true;
    return false;
}

/* The line where a function begins: its prologue saves registers there. */
static bool opens_function(const struct advice_side *side)
{
    if (!side->source || !side->called)
        return false;
    if (strcmp(side->source, "{") == 0)
        return true;
    size_t bytes = strlen(side->source);
    if (strpbrk(side->source, "=;") || !has_word(side->source, side->called))
        return false;
    char last = bytes ? side->source[bytes - 1] : 0;
    return last == '{' || last == ')' || last == ',' || last == '(';
}

/* A walk along a chain: `p = p->next`, `while (node)`. */
static bool follows_chain(const char *source)
{
    return source && (strstr(source, "->next") || strstr(source, ".next") ||
                      strstr(source, "->link") || strstr(source, "->child"));
}

static bool loops(const char *source)
{
    return has_word(source, "for") || has_word(source, "while") || has_word(source, "do");
}

/* "a[i] = ..." or "*p++ = ...": a different place each time round. */
static bool stores_elements(const char *source)
{
    const char *equals = source ? strchr(source, '=') : NULL;
    if (!equals)
        return false;
    const char *bracket = strchr(source, '['), *increment = strstr(source, "++");
    return (bracket && bracket < equals) || (increment && increment < equals);
}

static const char *dead_advice(const struct advice_facts *facts)
{
    if (facts->kernel)
        return "The kernel fills this buffer before anything reads what the program stored there: "
               "the first store can usually be left out.";
    if (is_any(&facts->first, names_clear))
        return "Memory is cleared and then written before it is read: do not clear it, or clear "
               "only the part that is not written anyway.";
    if (is_any(&facts->first, names_copy) && is_any(&facts->second, names_copy))
        return "Data is copied, then overwritten before it is read: copy once, at the end.";
    if (opens_function(&facts->first))
        return "This line is the start of a function, where registers are saved: the next call "
               "overwrites the saved values. A function called this often is usually worth "
               "inlining (static, in a header, or with -flto).";
    if (facts->same_place && stores_elements(facts->first.source))
        return "The line fills the same memory again before anything reads what it wrote: usually "
               "a table or buffer that is rebuilt more often than it is used. Rebuild it when it "
               "is needed, or only the part that is.";
    if (facts->same_place)
        return "The same line overwrites its own result: if it runs in a loop, keep the value in a "
               "local variable and store it once afterwards (where the compiler does not, it "
               "cannot rule out aliasing: use restrict or a local copy); if a buffer is rebuilt, "
               "rebuild it only when it is read.";
    if (facts->same_function)
        return "Two lines of one function store to the same place and nothing reads it in "
               "between: move the first store to the path that needs it, or drop it.";
    if (facts->nested)
        return "Caller and callee both store here: usually one initialises what the other fills in "
               "anyway.";
    return NULL;
}

static bool is_call(const struct advice_side *side)
{
    return side->leaf && side->leaf->flags & (PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN);
}

static const char *silent_advice(const struct advice_facts *facts)
{
    if (is_call(&facts->second))
        return "The call pushes the same return address as the call before it: small functions are "
               "called very often from here. Inline them, or call them less often: in a search, "
               "use an index or a larger hash table.";
    if (is_any(&facts->second, names_clear))
        return "The memory that is cleared still holds zeroes: clear only what has been used "
               "since.";
    if (is_any(&facts->second, names_copy))
        return "The copy writes values that are already there: copy only when the source has "
               "changed.";
    if (opens_function(&facts->second))
        return "This line is the start of a function, where registers are saved: each call saves "
               "the same values again. A function called this often is usually worth inlining.";
    if (facts->same_place)
        return "The line writes values that are already there: usually a table or field is "
               "refilled although its inputs have not changed. Update it only when they do.";
    if (facts->same_function || facts->nested)
        return "Both places store the same value: usually one of the two updates is redundant, or "
               "the result of the first could be kept.";
    return NULL;
}

static bool indexes(const char *source)
{
    return source && strchr(source, '[');
}

static const char *load_advice(const struct advice_facts *facts)
{
    if (is_call(&facts->second))
        return "The same return address is popped again: small functions are called very often "
               "here; inlining them may pay.";
    if (is_any(&facts->second, names_compare) &&
        (facts->same_place || is_any(&facts->first, names_compare)))
        return "The same bytes are compared or searched again and again: usually a linear search. "
               "A hash table, a sorted index, or a remembered result avoids it.";
    if (follows_chain(facts->second.source) && (facts->same_place || facts->same_function))
        return "The same links are followed again and again: usually a linear search through a "
               "list or tree. A hash table, an index, or a remembered position avoids it.";
    if (facts->same_place && (loops(facts->second.source) || indexes(facts->second.source)))
        return "The line goes over the same unchanged data again: if it searches, an index or a "
               "hash table avoids that; if it recomputes, keep the result; if the index does not "
               "change in the loop, keep the value in a local variable.";
    if (facts->same_place)
        return "The line loads a value that it has loaded before: if it is constant in a loop, "
               "keep it in a local variable (where the compiler does not, a store in the loop may "
               "alias it); if the loop searches a table, an index avoids the search.";
    if (facts->same_function)
        return "Two lines of one function load the same unchanged value: keep it in a local "
               "variable; where the compiler does not, it must assume that a store or call in "
               "between changes it.";
    if (facts->nested)
        return "Caller and callee load the same unchanged value: pass it on as an argument, or let "
               "the compiler see both at once by inlining.";
    return NULL;
}

const char *advice_for(const struct advice_facts *facts)
{
    if (!facts->first.called && !facts->first.source && !facts->second.called &&
        !facts->second.source)
        return NULL; /* addresses alone support nothing */
    switch (facts->kind) {
    case PROFILE_DEAD: return dead_advice(facts);
    case PROFILE_SILENT: return silent_advice(facts);
    case PROFILE_LOAD: return load_advice(facts);
    }
    return NULL;
}
