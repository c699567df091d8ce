// SPDX-License-Identifier: MIT
/*
 * Programs that take an access trace (src/common/wire/trace.h) from a file, and the memory in which they replay it. What cannot be
 * read or reserved ends the program.
 */
#ifndef HEADROOM_TESTS_TRACE_FILE_H
#define HEADROOM_TESTS_TRACE_FILE_H

#include <stdbool.h>

#include "shadow/shadow.h"
#include "wire/trace.h"

enum {
    TRACE_IDS_MAX = 1 << 20, /* above all ids of the small programs that are tested */
    TRACE_ADDRESS_BITS = 37, /* Valgrind puts the stack just below that end */
};

struct wire_trace_reader *trace_open(const char *path, uint32_t ids_max);
/* False: the trace is at its end. */
bool trace_next(struct wire_trace_reader *reader, struct wire_trace_event *event);

/* Zeroed, backed when touched. */
void *trace_reserve(size_t bytes);
/* Zeroes it; whole pages are given back. */
void trace_clear(uint8_t *start, uint64_t bytes);
/* The same for shadow. */
extern const struct shadow_memory trace_shadow_memory;

#endif
