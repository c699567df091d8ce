// SPDX-License-Identifier: MIT
/*
 * Between the files of role: steps.c makes instructions into steps and moves places over them, frame.c knows the stack frame,
 * reach.c follows values and addresses.
 */
#ifndef HEADROOM_ROLE_INTERNAL_H
#define HEADROOM_ROLE_INTERNAL_H

#include "isa/isa.h"
#include "role/role.h"

/* Sets of registers: bit r general register r, bit 16 + n vector register n, and the flags. */
#define ROLE_BIT(general) (UINT64_C(1) << (general))
#define ROLE_VECTOR(n)    (UINT64_C(1) << (16 + (n)))
#define ROLE_FLAGS        (UINT64_C(1) << 63)
#define ROLE_GENERALS     UINT64_C(0xffff)

/* What calls preserve: rbx, rbp, r12 to r15; rsp is as it was. */
#define ROLE_PRESERVED                                                                             \
    (ROLE_BIT(BASE_RBX) | ROLE_BIT(BASE_RBP) | ROLE_BIT(BASE_R12) | ROLE_BIT(BASE_R13) |           \
     ROLE_BIT(BASE_R14) | ROLE_BIT(BASE_R15))

/* base + index * scale + displacement; registers -1: none. */
struct place {
    int8_t base, index;
    uint8_t scale, segment;
    int64_t displacement;
};

struct touch {
    struct place place;
    uint16_t bytes;
    uint8_t direction; /* ISA_LOAD | ISA_STORE */
    bool known;        /* place says where */
};

/* An instruction. */
struct step {
    uint64_t address, reads, writes; /* reads: with what is kept of registers written in part */
    uint64_t stored;                 /* registers whose values its store stores */
    struct touch touches[2];
    struct place from; /* if moved >= 0: this sum is in register `moved` afterwards */
    uint8_t touches_count;
    int8_t moved;
    uint8_t code; /* enum isa_operation_code */
    uint8_t flow; /* enum isa_flow */
};

/* Heights are relative to the stack pointer at the entry, where the return address lies. */
struct heights {
    int64_t rsp, rbp;
    bool reached, rsp_known, rbp_known;
};

/* A place of the frame that instructions name by itself: not by an index, not through a pointer. */
struct slot {
    int64_t offset;
    uint32_t loads;
    bool plain;     /* all that is ever stored are registers, whole, and constants */
    bool registers; /* a register was */
    bool vector;    /* a vector register was */
};

struct save {
    int64_t offset;
    uint8_t number; /* of the general register */
};

struct role_function {
    const struct cfg *flow;
    struct step *steps;
    uint32_t steps_count;
    uint32_t *first;         /* by block: number of its first step; one more behind the last */
    uint64_t *written;       /* by block: preserved registers written on some way to it */
    struct heights *heights; /* by block, at its start */
    struct slot *slots;      /* by offset */
    size_t slots_count, slots_capacity;
    struct save *saves;
    size_t saves_count, saves_capacity;
    int64_t taken;     /* lowest offset whose address is put into a register */
    unsigned pressure; /* preserved registers that are saved */
};

/* ---- steps ---- */

/* The step at an address, its number and block; NULL: there is none. */
const struct step *step_at(const struct role_function *function, uint64_t address, uint32_t *number,
                           uint32_t *block);

/* The load (store) of a step; NULL: it has none, or its place is not known. */
const struct touch *touch_of(const struct step *step, unsigned direction);

/* A place after the step, as it reads before it. False: cannot be said. */
bool place_before(const struct step *step, struct place *place);

bool place_equal(const struct place *a, const struct place *b);

/* Do both touch some common byte for certain? */
bool touch_overlaps(const struct touch *a, const struct touch *b);

/* ---- frame ---- */

/* Heights, saves and slots. False: no memory. */
bool frame_look(struct role_function *function);

/* The heights before a step. */
struct heights frame_heights(const struct role_function *function, uint32_t block, uint32_t number);

/* The offset in the frame of a place; false: it is not in the frame, or not known. */
bool frame_offset(const struct heights *heights, const struct place *place, int64_t *offset);

#endif
