// SPDX-License-Identifier: MIT
/*
 * Demangling and joining of paths, each string once: reports ask for the same
 * few functions thousands of times. Keys are addresses of strings in the mapped
 * file, which is cheaper than comparing them.
 */
#include "binary/names.h"
#include "binary/binary.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t find_slot(const struct names *names, const char *key)
{
    size_t slot = (size_t)base_mix64((uint64_t)(uintptr_t)key) & (names->room - 1);
    while (names->slots[slot].key && names->slots[slot].key != key)
        slot = (slot + 1) & (names->room - 1);
    return slot;
}

static bool make_room(struct names *names)
{
    if (names->count < names->room / 2)
        return true;
    struct names larger = {.count = names->count, .room = names->room ? names->room * 2 : 256};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->slots[i].key)
            larger.slots[find_slot(&larger, names->slots[i].key)] = names->slots[i];
    free(names->slots);
    *names = larger;
    return true;
}

/* Takes the value (NULL: the key itself stands). Without memory the key is as good a name. */
static const char *keep(struct names *names, const char *key, char *value)
{
    struct name *name = &names->slots[find_slot(names, key)];
    name->key = key;
    name->value = value;
    names->count++;
    return value ? value : key;
}

static char *join(const char *head, size_t head_bytes, const char *separator, const char *tail)
{
    size_t separator_bytes = strlen(separator);
    size_t tail_bytes = strlen(tail);
    char *joined = malloc(head_bytes + separator_bytes + tail_bytes + 1);
    if (!joined)
        return NULL;
    memcpy(joined, head, head_bytes);
    memcpy(joined + head_bytes, separator, separator_bytes);
    memcpy(joined + head_bytes + separator_bytes, tail, tail_bytes + 1);
    return joined;
}

/* Old Rust names have dots within, but end in a hash: 17h, 16 digits, E. NULL if there is none. */
static const char *end_of_hash(const char *linkage)
{
    const char *end = NULL;
    for (const char *at = strstr(linkage, "17h"); at; at = strstr(at + 1, "17h"))
        if (strspn(at + 3, "0123456789abcdef") == 16 && at[19] == 'E')
            end = at + 20;
    return end;
}

/*
 * Compilers append to the linkage name what they made of the function (.cold,
 * .part.0, .constprop.0): kept, but for LLVM's module hash. Symbol versions
 * (name@@VERSION) go.
 */
static size_t base_length(const char *linkage, const char **suffix)
{
    size_t length = strcspn(linkage, "@");
    bool versioned = linkage[length] != 0;
    const char *hash_end = end_of_hash(linkage);
    size_t skipped = hash_end && hash_end <= linkage + length ? (size_t)(hash_end - linkage) : 0;
    const char *dot = memchr(linkage + skipped, '.', length - skipped);
    *suffix = "";
    if (!dot || dot == linkage)
        return length;
    if (!versioned && strncmp(dot, ".llvm.", 6) != 0)
        *suffix = dot;
    return (size_t)(dot - linkage);
}

/* What is known of a readable name so far. */
struct text {
    char *bytes;
    size_t count, room, most;
    jmp_buf enough;
};

/* demangle_callbackref. There is no other way to stop the demangler, and nothing that it would have
 * to free. */
static void take(const char *piece, size_t bytes, void *context)
{
    struct text *text = context;
    if (bytes > text->most - text->count)
        longjmp(text->enough, 1);
    if (bytes >= text->room - text->count) {
        size_t room = 2 * (text->count + bytes) + 64;
        char *larger = realloc(text->bytes, room);
        if (!larger)
            longjmp(text->enough, 1);
        text->bytes = larger;
        text->room = room;
    }
    memcpy(text->bytes + text->count, piece, bytes);
    text->count += bytes;
    text->bytes[text->count] = 0;
}

static bool demangle_into(struct text *text, const char *mangled, bool rust, int options)
{
    if (setjmp(text->enough))
        return false;
    return rust ? rust_demangle_callback(mangled, options, take, text) != 0
                : cplus_demangle_v3_callback(mangled, options, take, text) != 0;
}

/*
 * A name refers to parts of itself (S_, T_), so that a line of it can stand for more text than
 * there is memory, and takes as long. Real ones become some ten times as long. NULL: not mangled,
 * longer than that, or no memory.
 */
static char *demangle(const char *mangled, bool rust, int options)
{
    enum { MOST_TIMES = 64, ALWAYS_BYTES = 4096 };
    struct text text = {.most = MOST_TIMES * strlen(mangled) + ALWAYS_BYTES};
    if (demangle_into(&text, mangled, rust, options) && text.count)
        return text.bytes;
    free(text.bytes);
    return NULL;
}

char *names_demangle(const char *linkage, bool parameters)
{
    const char *suffix;
    size_t length = base_length(linkage, &suffix);
    bool mangled = linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R');
    if (!mangled && !linkage[length + strlen(suffix)])
        return NULL; /* as it is */
    char *base = strndup(linkage, length);
    if (!base)
        return NULL;
    char *readable = NULL;
    if (mangled) {
        readable = demangle(base, true, DMGL_NO_OPTS); /* first: old Rust looks like C++ */
        if (!readable)
            readable = demangle(base, false, parameters ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS);
    }
    const char *shown = readable ? readable : base;
    char *whole = join(shown, strlen(shown), suffix, "");
    free(readable);
    free(base);
    return whole;
}

char *binary_demangle(const char *linkage, bool parameters)
{
    return names_demangle(linkage, parameters);
}

const char *names_readable(struct names *names, const char *linkage)
{
    if (!make_room(names))
        return linkage;
    const struct name *known = &names->slots[find_slot(names, linkage)];
    if (known->key)
        return known->value ? known->value : linkage;
    return keep(names, linkage, names_demangle(linkage, false));
}

const char *names_absolute(struct names *names, const char *directory, const char *path)
{
    /* Distributions record a relative directory, which libdw has already put before the path. */
    if (path[0] == '/' || !directory || directory[0] != '/' || !make_room(names))
        return path;
    const struct name *known = &names->slots[find_slot(names, path)];
    if (known->key)
        return known->value ? known->value : path;
    return keep(names, path, join(directory, strlen(directory), "/", path));
}

void names_free(struct names *names)
{
    for (size_t i = 0; i < names->room; i++)
        free(names->slots[i].value);
    free(names->slots);
    *names = (struct names){0};
}
