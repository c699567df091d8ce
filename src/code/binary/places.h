// SPDX-License-Identifier: MIT
/* Private to the room: where variables are, by their location expressions and lists. */
#ifndef HEADROOM_BINARY_PLACES_H
#define HEADROOM_BINARY_PLACES_H

#include "binary/scopes.h"
#include "util/util.h"

#include <elfutils/libdw.h>

/* Where the variable is when the instruction at vaddr is about to be executed, and in words. */
enum binary_residence place_at(Dwarf_Die *die, uint64_t vaddr, struct util_text *where);

/* The kind of place that a location expression names. */
enum binary_residence place_kind(const Dwarf_Op *ops, size_t count);

#endif
