// SPDX-License-Identifier: MIT
/*
 * A `binary` for tests of what imports names: a file with lines and without code, so that there are no loops and no
 * functions to find (tests/unit/cfg_test.c, loops_test.c). The test itself defines struct binary, binary_open,
 * binary_build_id and binary_frames. For one source file of a test.
 */
#ifndef HEADROOM_TESTS_NO_CODE_H
#define HEADROOM_TESTS_NO_CODE_H

#include "binary/fields.h"

void binary_close(struct binary *binary)
{
}

enum binary_detail binary_detail(const struct binary *binary)
{
    return BINARY_DETAIL_LINES;
}

uint64_t binary_bytes(const struct binary *binary)
{
    return 4096;
}

enum base_status binary_read(struct binary *binary, uint64_t vaddr, void *out, size_t bytes)
{
    return BASE_NOT_FOUND;
}

enum base_status binary_read_loaded(struct binary *binary, uint64_t vaddr, void *out, size_t bytes)
{
    return BASE_NOT_FOUND;
}

const char *binary_import(struct binary *binary, uint64_t vaddr)
{
    return NULL;
}

enum base_status binary_function(struct binary *binary, uint64_t vaddr, uint64_t *start,
                                 uint64_t *end)
{
    return BASE_NOT_FOUND;
}

enum base_status binary_next_function(struct binary *binary, uint64_t vaddr, uint64_t *start,
                                      uint64_t *end, const char **name)
{
    return BASE_NOT_FOUND;
}

size_t binary_rows(struct binary *binary, uint64_t start, uint64_t end, uint64_t *addresses,
                   size_t capacity)
{
    return 0;
}

enum base_status binary_section(struct binary *binary, const char *name, uint64_t *vaddr,
                                uint64_t *bytes)
{
    return BASE_NOT_FOUND;
}

const char *binary_symbol(struct binary *binary, uint64_t vaddr)
{
    return NULL;
}

#ifndef HAS_DATA
enum base_status binary_thread_variable(struct binary *binary, uint64_t offset, uint64_t code,
                                        struct binary_object *object)
{
    return BASE_NOT_FOUND;
}

enum base_status binary_variable(struct binary *binary, uint64_t vaddr, uint64_t code,
                                 struct binary_object *object)
{
    return BASE_NOT_FOUND;
}

enum base_status binary_frame_variable(struct binary *binary, uint64_t vaddr, int64_t from_cfa,
                                       struct binary_object *object)
{
    return BASE_NOT_FOUND;
}

enum base_status binary_allocated(struct binary *binary, uint64_t returns, uint64_t bytes,
                                  struct binary_object *object, bool *hands_on)
{
    *hands_on = false;
    return BASE_NOT_FOUND;
}

size_t binary_fields(struct binary *binary, const struct binary_object *object, uint64_t from,
                     uint64_t to, struct binary_field *fields, size_t capacity)
{
    return 0;
}

void binary_object_text(struct binary *binary, const struct binary_object *object, uint64_t offset,
                        char *text, size_t size)
{
    text[0] = 0;
}
#endif

#endif
