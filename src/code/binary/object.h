// SPDX-License-Identifier: MIT
/*
 * A relocatable object in memory: bytes of its sections, where its symbols lie, where its bytes are yet to be
 * relocated. Contents are hostile: whatever is given lies within the object.
 */
#ifndef HEADROOM_BINARY_OBJECT_H
#define HEADROOM_BINARY_OBJECT_H

#include "base/base.h"

struct object;

/* bytes must live as long as the object. BASE_MALFORMED, BASE_UNSUPPORTED (not x86-64), BASE_NO_MEMORY. */
enum base_status object_open(const uint8_t *bytes, size_t count, struct object **object);
void object_close(struct object *object); /* NULL does nothing */

struct object_symbol {
    const char *name;
    uint32_t section; /* 0: in none */
    uint64_t value;   /* offset in the section */
    uint8_t type;     /* STT_... */
};

size_t object_symbols(const struct object *object); /* how many */
bool object_symbol(const struct object *object, size_t index, struct object_symbol *symbol);

/* Bytes of a section; NULL if it has none. */
const uint8_t *object_section(const struct object *object, uint32_t section, size_t *bytes);

/* Is anything within [from, to) of the section to be relocated? */
bool object_relocated(const struct object *object, uint32_t section, uint64_t from, uint64_t to);

#endif
