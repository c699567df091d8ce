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

static bool equal_key(const void *items, uint32_t item, const void *key)
{
    return ((const struct name *)items)[item].key == key;
}

/* The name of the key; its value is yet to be found if *found is false. NULL: no memory. */
static struct name *enter(struct names *names, const char *key, bool *found)
{
    uint32_t item;
    if (!UTIL_GROW(names->items, names->capacity, names->count) ||
        !util_index_enter(&names->index, base_mix64((uint64_t)(uintptr_t)key), equal_key,
                          names->items, key, (uint32_t)names->count, &item, found))
        return NULL;
    if (!*found)
        names->items[names->count++] = (struct name){.key = key};
    return &names->items[item];
}

/* Without memory the key is as good a name. */
static const char *value_of(const struct name *name)
{
    return name->value ? name->value : name->key;
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
struct readable {
    struct util_text text;
    size_t most_bytes;
    jmp_buf enough;
};

/* demangle_callbackref. There is no other way to stop the demangler, and nothing that it would have
 * to free. */
static void take(const char *piece, size_t bytes, void *context)
{
    struct readable *readable = context;
    if (bytes > readable->most_bytes - readable->text.count ||
        !util_text_add(&readable->text, piece, bytes))
        longjmp(readable->enough, 1);
}

static bool demangle_into(struct readable *readable, const char *mangled, bool rust, int options)
{
    if (setjmp(readable->enough))
        return false;
    return rust ? rust_demangle_callback(mangled, options, take, readable) != 0
                : cplus_demangle_v3_callback(mangled, options, take, readable) != 0;
}

/*
 * A name refers to parts of itself (S_, T_), so that a line of it can stand for more text than
 * there is memory, and takes as long. Real ones become some ten times as long. NULL: not mangled,
 * longer than that, or no memory.
 */
static char *demangle(const char *mangled, bool rust, int options)
{
    enum { TIMES_MAX = 64, ALWAYS_BYTES = 4096 };
    struct readable readable = {.most_bytes = TIMES_MAX * strlen(mangled) + ALWAYS_BYTES};
    if (demangle_into(&readable, mangled, rust, options) && readable.text.count)
        return readable.text.bytes;
    util_text_free(&readable.text);
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
    bool found;
    struct name *name = enter(names, linkage, &found);
    if (!name)
        return linkage;
    if (!found)
        name->value = names_demangle(linkage, false);
    return value_of(name);
}

const char *names_absolute(struct names *names, const char *directory, const char *path)
{
    /* Distributions record a relative directory, which libdw has already put before the path. */
    bool found;
    if (path[0] == '/' || !directory || directory[0] != '/')
        return path;
    struct name *name = enter(names, path, &found);
    if (!name)
        return path;
    if (!found)
        name->value = join(directory, strlen(directory), "/", path);
    return value_of(name);
}

const char *names_stub(struct names *names, const void *key, const char *linkage)
{
    const char *readable = names_readable(names, linkage);
    bool found;
    struct name *name = enter(names, key, &found);
    if (!name)
        return readable;
    if (!found)
        name->value = join(readable, strlen(readable), "@plt", "");
    return name->value ? name->value : readable;
}

void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i].value);
    free(names->items);
    util_index_free(&names->index);
    *names = (struct names){0};
}

/* ---- functions by name ------------------------------------------------------------------------------- */

static bool same_start(const char *name, const char *wanted, const char *ends)
{
    size_t bytes = strlen(wanted);
    return strncmp(name, wanted, bytes) == 0 && (!name[bytes] || strchr(ends, name[bytes]));
}

/* Mangling keeps identifiers whole: a name without the last one of those wanted is not demangled, which in a program of many
   functions takes the time. What is not an identifier (an operator, a destructor, a lambda) is not judged by this. */
static bool may_be_named(const char *linkage, const char *wanted)
{
    char part[256];
    size_t end = strcspn(wanted, "(<"), start = end;
    while (start && wanted[start - 1] != ':')
        start--;
    if (strpbrk(wanted, "~{") || strstr(wanted, "operator") || end - start >= sizeof part)
        return true;
    memcpy(part, wanted + start, end - start);
    part[end - start] = 0;
    return strstr(linkage, part) != NULL;
}

bool binary_is_named(const char *linkage, const char *wanted)
{
    if (!*linkage || !*wanted)
        return false;
    if (same_start(linkage, wanted, "."))
        return true;
    for (unsigned parameters = 0; parameters < 2 && may_be_named(linkage, wanted); parameters++) {
        char *plain = binary_demangle(linkage, parameters);
        bool same = plain && same_start(plain, wanted, "(");
        free(plain);
        if (same)
            return true;
    }
    return false;
}
