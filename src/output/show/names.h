// SPDX-License-Identifier: MIT
/* Names and texts as people are shown them, whatever bytes they are made of. */
#ifndef HEADROOM_SHOW_NAMES_H
#define HEADROOM_SHOW_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_BYTES = 256 };

/* A function's name as shown: without parameters, long template arguments elided, control
   characters and broken UTF-8 replaced, at most `columns` wide. */
void name_shorten(const char *name, unsigned columns, char out[NAME_BYTES]);

/* Any text for the terminal: tabs and line ends become blanks, other control characters and broken
   UTF-8 '?'. Always terminated. */
void name_clean(const char *text, char *out, size_t out_bytes);

/* Columns that valid UTF-8 takes on a terminal. */
unsigned name_columns(const char *text);

/* Bytes of the longest beginning of valid UTF-8 that takes so many columns at most. */
size_t name_fitting(const char *text, unsigned columns);

/* Length of the UTF-8 sequence at text, 0 if it is not valid. */
size_t name_utf8(const char *text);

/* Whether the valid sequence may be shown: it neither controls anything, nor turns the direction of
   writing, nor is without width. */
bool name_shows(const char *text, size_t bytes);

const char *name_base(const char *path);

/* What every program runs before its own code. NULL: no. */
bool name_before_program(const char *function);

/* Is the function that of the C library, by its plain, versioned or internal name: memset,
   __memset_avx2_erms,
   __GI_memset, __libc_calloc? function NULL: no. */
bool name_is_libc(const char *function, const char *plain);

/* Plain names of functions that go through memory; NULL ends. And whether a function is any of
 * these. */
extern const char *const names_clear[], *const names_copy[], *const names_compare[],
                                                                 *const names_length[];
bool name_walks_memory(const char *function);

/* Is it one of the families of printf and scanf: vsnprintf, __isoc99_sscanf, __printf_chk? Not my_printf. NULL: no. */
bool name_formats(const char *function);

/* Does its name say that it allocates memory for its callers, as xmalloc, sqlite3MemMalloc and jv_mem_alloc do? NULL: no. */
bool name_wraps_malloc(const char *function);

#endif
