// SPDX-License-Identifier: MIT
/* Private to the room: names for people, kept as long as the binary. */
#ifndef HEADROOM_BINARY_NAMES_H
#define HEADROOM_BINARY_NAMES_H

#include "util/util.h"

struct name {
    const char *key;
    char *value;
};

struct names {
    struct name *items;
    size_t count, capacity;
    struct util_index index; /* by the key's address */
};

/* All return a string that lives as long as `names`, or the argument itself. The argument's
   address identifies it: it must live as long, too. */

/* Readable form of a symbol: C++ and Rust demangled, without parameters and hashes. */
const char *names_readable(struct names *names, const char *linkage);

/* The same, the caller's, on wish with parameters. NULL: it stands as it is; or no memory. */
char *names_demangle(const char *linkage, bool parameters);

/* path, made absolute with the directory if that is (may be NULL). */
const char *names_absolute(struct names *names, const char *directory, const char *path);

/* "NAME@plt" with the readable form of a linkage name; key: an address that identifies it instead, several have
   the same name. */
const char *names_stub(struct names *names, const void *key, const char *linkage);

void names_free(struct names *names);

#endif
