// SPDX-License-Identifier: MIT
/* Reading an access trace (src/common/wire/trace.h) from a file; what cannot be read ends the test. */
#ifndef HEADROOM_TESTS_TRACE_FILE_H
#define HEADROOM_TESTS_TRACE_FILE_H

#include <stdbool.h>

#include "wire/trace.h"

/* Below these are all ids of the small programs that are tested. */
enum { TRACE_IDS_MAX = 1 << 20 };

struct wire_trace_reader *trace_open(const char *path);
/* False: the trace is at its end. */
bool trace_next(struct wire_trace_reader *reader, struct wire_trace_event *event);

#endif
