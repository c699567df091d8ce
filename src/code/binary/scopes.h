// SPDX-License-Identifier: MIT
/*
 * Variables in scope at an instruction: where a debugger finds each of them there, and what a name means there. And for all variables
 * of a file: in how much of their scopes they have a location.
 *
 * What is returned is what DWARF says. Host side; strings live as long as the struct binary. Location lists are read only from
 * a file opened with binary_options.locations.
 */
#ifndef HEADROOM_BINARY_SCOPES_H
#define HEADROOM_BINARY_SCOPES_H

#include "binary/binary.h"

enum binary_residence {
    BINARY_NOWHERE, /* a debugger says that it was optimized out */
    BINARY_REGISTER,
    BINARY_MEMORY,
    BINARY_CONSTANT,
    BINARY_COMPUTED, /* from what registers or memory hold */
    BINARY_ENTRY_VALUE, /* from what a register held when the function was called: if the caller still knows */
    BINARY_PIECES, /* parts are in different places */
    BINARY_RESIDENCES
};

struct binary_local {
    const char *name;     /* NULL: none, as of a parameter without one */
    const char *type;     /* NULL: not known */
    const char *function; /* whose it is; NULL: the file's */
    const char *where;    /* "rbx", "frame-24", "0x4060", "3"; "" if it is nowhere */
    uint64_t address;     /* of static storage; 0: it has none */
    int64_t slot; /* of one place in the frame: from the canonical frame address; 0: it has none */
    uint64_t entry;    /* distinguishes variables that have the same slot */
    uint64_t bytes;    /* 0: not known */
    uint32_t declared; /* line; 0: unknown */
    uint8_t residence; /* enum binary_residence */
    bool parameter, inlined,
        shadowed; /* inlined: of a function that was; shadowed: another of its name is nearer */
    bool scalar;  /* of a basic type, an enumeration or a pointer */
};

struct binary_locals { /* {0} is empty */
    struct binary_local *items;
    size_t count, capacity;
};

/* Variables of the function at the address, of those inlined there, and of their blocks, the innermost scope first. BASE_NOT_FOUND:
   no debug information for the address. Freed with binary_locals_free. */
enum base_status binary_locals(struct binary *binary, uint64_t vaddr, struct binary_locals *locals);
void binary_locals_free(struct binary_locals *locals);

/*
 * What a name alone means in a statement at the address, by the scopes of the language: blocks, functions, members of the
 * class, namespaces, the file. BASE_NOT_FOUND: the name means nothing, or nothing that has one fixed address, or one place
 * in the frame; thread-local variables have none.
 */
enum base_status binary_named(struct binary *binary, uint64_t vaddr, const char *name,
                              struct binary_local *variable);

/* Does the unit of the instruction declare something (a variable, a type, a member, a function) on that line of that file? */
bool binary_declares(struct binary *binary, uint64_t vaddr, const char *file, uint32_t line);

/* Where the frame is at an instruction: the canonical frame address is what the register (enum base_register) holds, and `offset`.
   False: it is not known, or not as simple. */
bool binary_frame_at(struct binary *binary, uint64_t vaddr, uint8_t *base, int64_t *offset);

/* Bytes of code in the scopes of all local variables and parameters, and how many of these have a location of the variable, by kind.
   Counted as the totals of llvm-dwarfdump --statistics are. */
struct binary_coverage {
    uint64_t variables, unknown; /* how many; without any location */
    uint64_t scope_bytes, known_bytes;
    uint64_t bytes
        [BINARY_RESIDENCES]; /* their sum is known_bytes; [BINARY_NOWHERE]: of locations that say nothing */
};

/* BASE_NOT_FOUND: no debug information. */
enum base_status binary_coverage(struct binary *binary, struct binary_coverage *coverage);

#endif
