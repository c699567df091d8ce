// SPDX-License-Identifier: MIT
/*
 * Private to the room: a debug file with its sections inflated, kept for later runs.
 *
 * Distributions compress debug sections. libdw inflates all of them when a file is opened, which
 * takes 40 ms for a C library of which a few lines are asked. Here that is done once, without the
 * sections that nobody reads (locations of variables), and the outcome is kept (saved.h) as an ELF
 * file that is mapped.
 */
#ifndef HEADROOM_BINARY_INFLATED_H
#define HEADROOM_BINARY_INFLATED_H

#include "binary/image.h"
#include "binary/saved.h"

struct inflated {
    Elf *elf; /* for dwarf_begin_elf alone: it has no symbols and no program headers */
    struct saved saved;
    void *made; /* when it was not kept before */
};

/* False: nothing in the image is compressed, or it cannot be kept; it is then used as it is. */
bool inflated_open(struct image *image, struct inflated *inflated);
void inflated_close(struct inflated *inflated);

#endif
