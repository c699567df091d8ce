/* SPDX-License-Identifier: MIT */
/* Layouts as assembly knows them; context.c holds them against the structures. */
#ifndef HEADROOM_RUNTIME_STUBS_H
#define HEADROOM_RUNTIME_STUBS_H

#define STUBS_RECORD_PARENT  8
#define STUBS_RECORD_SLOTS   60
#define STUBS_RECORD_BYTES   72
#define STUBS_THREAD_LATELY  56
#define STUBS_LATELY_MASK    1023
#define STUBS_FUNCTION_TABLE 12

#endif
