// SPDX-License-Identifier: MIT
/* Private to the room: files that debug information names and that libdw opens by itself. */
#ifndef HEADROOM_BINARY_SPLIT_H
#define HEADROOM_BINARY_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * May libdw look for the rest of a unit whose skeleton this is? `file`: descriptor of the ELF file that it
 * is in, as libdw goes by its directory. False: a file of that name would block, or is none that can be read.
 */
bool split_may_be_read(Dwarf_Die *skeleton, int file);

#endif
