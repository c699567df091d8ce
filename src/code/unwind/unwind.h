// SPDX-License-Identifier: MIT
/*
 * unwind: calling contexts of optimised code without frame pointers, inside
 * signal handlers. A table per module, compiled from .eh_frame outside the
 * program (room binary), mapped read-only by the agent.
 *
 * Freestanding and signal-safe; no state. Tables are plain files in host byte
 * order; a reader checks the sizes once in unwind_table_open, after which
 * lookups cannot leave the mapping.
 */
#ifndef HEADROOM_UNWIND_H
#define HEADROOM_UNWIND_H

#include "base/base.h"

#define UNWIND_MAGIC UINT64_C(0x31444e574d524448) /* "HDRMWND1" */

/* How to find the canonical frame address (CFA: the stack pointer before the call). */
enum unwind_cfa {
    UNWIND_CFA_UNKNOWN,  /* no or unsupported information: stop here */
    UNWIND_CFA_END,      /* outermost frame (undefined return address) */
    UNWIND_CFA_REGISTER, /* general[cfa_register] + cfa_offset */
    UNWIND_CFA_DEREF,    /* *(general[cfa_register] + cfa_offset) + cfa_addend */
    UNWIND_CFA_PLT,      /* rsp + cfa_offset + ((ip & 15) >= cfa_addend ? 8 : 0) */
    UNWIND_CFA_SIGNAL,   /* signal frame: ucontext's gregs[] (from r8 on) at rsp + cfa_offset */
    UNWIND_CFA_KINDS
};

/* Where the caller's value of a callee-saved register is. */
enum unwind_rule {
    UNWIND_SAME,        /* unchanged */
    UNWIND_AT_CFA,      /* saved at CFA + offset */
    UNWIND_AT_REGISTER, /* saved at this frame's general[register] + offset; if that is
                           outside the frame, already restored */
    UNWIND_LOST,        /* undefined or unsupported */
    UNWIND_RULES
};

/* The registers that a callee preserves, in the order of unwind_row.place. */
enum unwind_saved {
    UNWIND_RBX,
    UNWIND_RBP,
    UNWIND_R12,
    UNWIND_R13,
    UNWIND_R14,
    UNWIND_R15,
    UNWIND_SAVED
};

/* enum unwind_rule with, for UNWIND_AT_REGISTER, an enum base_register in the upper half. */
#define UNWIND_PLACE(rule, base) ((uint8_t)((rule) | (base) << 4))
#define UNWIND_PLACE_RULE(place) ((place)&15)
#define UNWIND_PLACE_BASE(place) ((place) >> 4)

/*
 * What holds in one range of addresses. The return address is always at CFA - 8
 * (ranges where it is elsewhere are UNKNOWN). Few distinct ones exist even in
 * large programs (a few thousand), so ranges refer to them by index.
 */
struct unwind_row {
    uint8_t cfa;                  /* enum unwind_cfa */
    uint8_t cfa_register;         /* enum base_register */
    uint8_t place[UNWIND_SAVED];  /* UNWIND_PLACE */
    int32_t cfa_offset;           /* bytes */
    int32_t cfa_addend;           /* bytes; see enum unwind_cfa, 0 elsewhere */
    int32_t offset[UNWIND_SAVED]; /* bytes, 0 where the rule needs none */
};

/*
 * File: header; rows[row_count]; starts[range_count], ascending, relative to
 * base_vaddr; range_rows[range_count]: the row that holds from the start up to
 * the next start; function_starts[function_count], ascending, relative to
 * base_vaddr. A binary search thus touches only 4-byte words that lie together.
 */
struct unwind_header {
    uint64_t magic;
    uint32_t version; /* UNWIND_VERSION */
    uint32_t row_count;
    uint32_t range_count;
    uint32_t function_count;
    uint64_t base_vaddr;  /* ELF virtual address that the starts are relative to */
    uint64_t limit_vaddr; /* one past the last covered address */
};
enum { UNWIND_VERSION = 1 };

/* Counts and limits are copied at the opening, so that they stay those that were checked. */
struct unwind_table {
    struct unwind_header header;
    const struct unwind_row *rows;
    const uint32_t *starts;
    const uint32_t *range_rows;
    const uint32_t *function_starts;
};

/*
 * BASE_MALFORMED or BASE_TOO_NEW; table borrows bytes (8-byte aligned). Checks the order of the
 * starts and every row in O(ranges) only when `thorough`, else just sizes: a table that
 * changes or lies afterwards gives wrong rows, never an access outside the mapping.
 */
enum base_status unwind_table_open(const void *bytes, size_t size, bool thorough,
                                   struct unwind_table *table);

/* Row covering an ELF virtual address; false outside. */
bool unwind_table_find(const struct unwind_table *table, uint64_t vaddr, struct unwind_row *row);

/* Greatest function start <= vaddr, as ELF virtual address; 0 if none. *end: the next one; 0 if none. */
uint64_t unwind_table_function(const struct unwind_table *table, uint64_t vaddr, uint64_t *end);

/* Maps a code address of the program to its module's table. */
struct unwind_module {
    const struct unwind_table *table; /* NULL: no table (yet) */
    uint64_t bias;                    /* address in the program = ELF virtual address + bias */
    uint32_t id;                      /* the caller's */
};
typedef bool unwind_find_module(void *context, uint64_t ip, struct unwind_module *module);

struct unwind_frame {
    uint64_t ip;     /* leaf: as given; callers: return address */
    uint64_t sp;     /* CFA of this frame's callee, i.e. stack pointer in this frame */
    uint32_t module; /* unwind_module.id, 0 if unknown */
    uint64_t vaddr;  /* ip - bias, or ip when the module is unknown */
};

enum unwind_end {
    UNWIND_COMPLETE,  /* reached the outermost frame */
    UNWIND_TRUNCATED, /* more frames than fit */
    UNWIND_BROKEN,    /* missing table, unreadable stack, or no progress */
    UNWIND_GUESSED,   /* reached the outermost frame, some step without a table */
};

/*
 * Walks from `registers` to the outermost frame; frames[0] is the leaf.
 * registers->ip of the leaf is looked up as it is, callers by return address
 * - 1, except the frame interrupted by a signal frame (looked up as it is).
 * Where a table has nothing: a signal frame is known by its code (mov $15,%eax;
 * syscall), else rbp is tried as frame pointer, believed only if it points
 * above sp at something like a return address; else, of a leaf, the word at sp. A caller
 * in a module with a table whose rbp is 0 is the outermost frame. The stack pointer must rise from
 * frame to frame, but for signal frames (alternate stacks), of which at most
 * 32 are crossed. Count is written even when the end is not COMPLETE.
 *
 * Uses about 5 KiB of stack; reads the stack in blocks of up to 4 KiB.
 */
enum unwind_end unwind_walk(const struct base_registers *registers, unwind_find_module *find,
                            void *find_context, const struct base_memory *memory,
                            struct unwind_frame *frames, size_t capacity, size_t *count);

#endif
