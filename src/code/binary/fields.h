// SPDX-License-Identifier: MIT
/*
 * Data of a program by the types in its debug information: which variable lies at an address, what a block of the heap
 * probably holds, and which fields are at some bytes of it. For every verb that names memory.
 *
 * What is returned is what DWARF and symbol tables say, never the nearest thing; the one guess, the type of a heap block, says
 * so (`guessed`) and is made only where the program itself treats the block as that type. Strings live as long as the
 * struct binary; bytes below 0x20 in names are replaced. Files are hostile: everything is bounded, and beyond the bounds
 * less is known. Not for parallel use of one struct binary.
 *
 * Cost: units of the code that is named as a hint are read first, others only as long as BINARY_DATA_BYTES_MAX of
 * debug information are not exceeded, once for each struct binary.
 */
#ifndef HEADROOM_BINARY_FIELDS_H
#define HEADROOM_BINARY_FIELDS_H

#include "binary/binary.h"

enum { BINARY_DATA_BYTES_MAX = 64 << 20 };

struct binary_object {
    const char *
        name; /* variable, in the source's words: "stats", "ns::stats", "/block/"; a symbol if that is all there is.
                         NULL: a block of the heap */
    const char
        *type; /* "struct counter[4]"; of a heap block that of one element; NULL: not known */
    const char *function; /* whose variable it is, if of a function's frame; else NULL */
    uint64_t
        start; /* ELF virtual address, or offset in the module's thread-local segment, or, two's complement,
                             from the canonical frame address; 0 for blocks of the heap */
    uint64_t bytes; /* 0: not known */
    bool guessed;
    uint32_t handle; /* for binary_fields; 0: no type is known */
};

/*
 * The variable that holds the ELF virtual address. code: ELF virtual address of an instruction of the file that
 * accesses it, 0: none known. BASE_NOT_FOUND: no variable is known to be there.
 */
enum base_status binary_variable(struct binary *binary, uint64_t vaddr, uint64_t code,
                                 struct binary_object *object);

/* The same for a thread-local one, by its offset in the file's thread-local segment (PT_TLS). */
enum base_status binary_thread_variable(struct binary *binary, uint64_t offset, uint64_t code,
                                        struct binary_object *object);

/*
 * The variable of the function at `vaddr`, or of one inlined there, that lies at `from_cfa` bytes from the function's
 * canonical frame address (the stack pointer of its caller before the call; negative inside the frame) when the
 * instruction at vaddr is executed. BASE_NOT_FOUND: none, or not known.
 */
enum base_status binary_frame_variable(struct binary *binary, uint64_t vaddr, int64_t from_cfa,
                                       struct binary_object *object);

/*
 * What the heap block of `bytes` bytes holds that the call before `returns` (a return address in the file) has
 * allocated: the type to which the variable points that takes the result, or that of the C++ allocator whose call it
 * is. Only if the block's size is that of one or several such objects. BASE_NOT_FOUND: not known; *hands_on says then
 * whether the function returns memory of no type, so that its caller may know more. After isa_start (cfg_start).
 */
enum base_status binary_allocated(struct binary *binary, uint64_t returns, uint64_t bytes,
                                  struct binary_object *object, bool *hands_on);

struct binary_field {
    uint64_t offset, bytes; /* in the object; of a bit field the bytes that it touches */
    uint8_t bit,
        bits;         /* of a bit field: its first bit in the byte at offset, how many; else 0, 0 */
    bool overlaps;    /* of a union, or of one variant of several: others lie on the same bytes */
    const char *path; /* "stats.threads[3].hits", "struct node.next" of a heap block */
    const char *type; /* "uint64_t" */
    const char
        *owner; /* the innermost type that has it as a member, "struct counter"; NULL: none */
    const char *element; /* type of the elements of the innermost array in the path; NULL: none */
    uint64_t in_owner;   /* offset in the owner */
    uint64_t element_bytes; /* size of such an element; 0: none */
    uint32_t handle;        /* of its type, as that of an object; 0: no memory */
};

/*
 * Fields without parts of their own that have bytes in [from, to) of the object, by offset; those that overlap one
 * after the other. Returns how many, at most capacity: the further ones are then left out. 0: the type is not known.
 */
size_t binary_fields(struct binary *binary, const struct binary_object *object, uint64_t from,
                     uint64_t to, struct binary_field *fields, size_t capacity);

/*
 * One line for people: "stats.threads[3].hits (struct counter +8)" of the field at that offset, "stats (+24)" where no field
 * is known, "local in main" of a frame's. text is cut to `size` bytes and ends with a 0.
 */
void binary_object_text(struct binary *binary, const struct binary_object *object, uint64_t offset,
                        char *text, size_t size);

#endif
