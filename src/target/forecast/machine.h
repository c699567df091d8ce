// SPDX-License-Identifier: MIT
/*
 * Private to forecast: the interpreted machine. Everything has a value and a
 * notion of whether that value is known: general registers and memory by
 * byte, flags by bit, vectors by byte, mask registers as a whole. Unknown
 * values spread; they never become guesses.
 */
#ifndef HEADROOM_FORECAST_MACHINE_H
#define HEADROOM_FORECAST_MACHINE_H

#include "forecast/forecast.h"

/* Sizes: all of it together must fit into struct forecast (488 KiB). */
enum {
    /* Decoded instructions kept. Decoding is by far the dearest step (0.4 us, more with cold caches), and
       with a single way a fifth of a loop's instructions evicted each other in every iteration. With a quarter
       as many, looking ahead in a database decoded 130 instructions a tick instead of 40.
       Also finding instructions spelt like others elsewhere saves a third of the decodings and
       hardly any time. */
    CODE_WAYS = 4,
    CODE_SET_BITS = 10,
    CODE_SETS = 1 << CODE_SET_BITS,
    CODE_ENTRIES = CODE_WAYS * CODE_SETS,
    /* The program's memory as read in this forecast. A block costs little more to read than a line
       of it (a system call takes longer than copying), and what lies beside is often needed next: with blocks of a quarter of that a
       database took twice as many. */
    BLOCK_BYTES = 1024,
    BLOCK_WAYS = 4,
    BLOCK_SET_BITS = 4,
    BLOCK_SETS = 1 << BLOCK_SET_BITS,
    BLOCKS = BLOCK_WAYS * BLOCK_SETS,
    WORDS = 512,            /* 8-byte words stored to; a power of two */
    WORDS_MAX = 400,        /* fuller tables probe too long: the overlay is given up */
    RANGES = 8,             /* large fills by string instructions, contents unknown */
    PATH_LENGTH_MAX = 1024, /* longest forecast, in instructions */
    ENTRY_ACCESSES = 2,
    VECTORS = 32,
    VECTOR_BYTES = 64,
    MASKS = 8,
};

#define USER_LIMIT UINT64_C(0x7ffffffff000)

enum {
    FLAG_CARRY = 1 << 0,
    FLAG_PARITY = 1 << 2,
    FLAG_ADJUST = 1 << 4,
    FLAG_ZERO = 1 << 6,
    FLAG_SIGN = 1 << 7,
    FLAG_DIRECTION = 1 << 10,
    FLAG_OVERFLOW = 1 << 11,
    FLAGS_RESULT = FLAG_PARITY | FLAG_ZERO | FLAG_SIGN,
    FLAGS_ARITHMETIC = FLAGS_RESULT | FLAG_CARRY | FLAG_ADJUST | FLAG_OVERFLOW,
};

/* An access, packed. */
struct part {
    int64_t displacement;
    int8_t base, index;
    uint8_t scale, direction;
    uint16_t bytes;
    uint8_t segment : 2, address_32 : 1, unaddressable : 1, conditional : 1;
};

/* A decoded instruction, packed. Direct branch targets are in operation.immediate. */
struct entry {
    uint64_t address;
    struct isa_operation operation;
    struct part parts[ENTRY_ACCESSES];
    uint16_t written;
    uint8_t length, flow, access_count;
    bool repeated, indirect;
    bool fixed; /* it cannot change unnoticed */
};

struct word {
    uint64_t number; /* address / 8 */
    uint8_t bytes[8];
    uint32_t generation;
    uint8_t written, known; /* bit i: byte i; known is part of written */
};

struct range {
    uint64_t start, bytes;
};

/* A vector's low bytes that are in the program's memory and have not been needed yet. */
struct deferred {
    uint64_t address;
    uint32_t bytes; /* 0: none */
};

struct value {
    uint64_t bits;
    bool known;
};

struct machine {
    struct base_registers start;
    const struct base_memory *memory;
    uint64_t general[BASE_GENERAL_REGISTERS];
    uint8_t general_known[BASE_GENERAL_REGISTERS]; /* bit i: byte i */
    uint64_t ip, flags;
    uint32_t flags_known;
    uint32_t word_generation;
    uint32_t words_used, ranges_used, path_length;
    bool untrusted; /* a store went to an unknown address: what is not in the overlay
                       since then is unknown */
    bool at_hit;    /* the last run ended with a hit, and this is the state then */
    bool behind;    /* the same, but behind the instruction that was hit */
    bool fixed;     /* all code on the way is */
    bool left;      /* the call that was executing at the start has returned */
    int32_t depth;  /* calls on the way that have not */
    struct range ranges[RANGES];
    uint64_t mask[MASKS];
    bool mask_known[MASKS];
    uint64_t vector_known[VECTORS];
    uint8_t vector[VECTORS][VECTOR_BYTES];
    struct deferred vector_deferred[VECTORS];
    uint32_t path[PATH_LENGTH_MAX];   /* addresses, folded: see forecast.c */
    uint16_t last;                    /* the instruction fetched last */
    uint16_t next[CODE_ENTRIES];      /* the one fetched after it, the last time */
    uint8_t oldest[CODE_SETS];        /* the way that is replaced next */
    uint64_t addresses[CODE_ENTRIES]; /* of the entries, 0: empty; by set, for a lookup to need
                                         one line of the cache */
    struct entry code[CODE_ENTRIES];
    uint64_t block_tags[BLOCKS]; /* block number + 1; 0: empty */
    bool block_readable[BLOCKS];
    uint8_t block_oldest[BLOCK_SETS]; /* the way that is replaced next */
    uint8_t blocks[BLOCKS][BLOCK_BYTES];
    struct word words[WORDS];
};

/* What an instruction did to the control flow. */
enum step {
    STEP_NEXT,    /* machine->ip is set: fall-through or branch */
    STEP_BLOCKED, /* depends on something unknown; nothing has been changed */
    STEP_FAULT,
};

/* ---- memory.c ---- */

/* Loads bytes (<= 64) into out; the bit mask of known ones. */
uint64_t machine_load(struct machine *machine, uint64_t address, unsigned bytes, uint8_t *out);
void machine_store(struct machine *machine, uint64_t address, unsigned bytes, const uint8_t *data,
                   uint64_t known);
/* A store somewhere unknown. */
void machine_store_anywhere(struct machine *machine);
/* A store of unknown contents. */
void machine_store_range(struct machine *machine, uint64_t address, uint64_t bytes);
void machine_forget_memory(struct machine *machine);
/* The program's own bytes, without the overlay; how many could be read. */
unsigned machine_fetch(struct machine *machine, uint64_t address, uint8_t *out, unsigned bytes);
void machine_forget_stores(struct machine *machine);
/* Would a load see the program's own bytes? */
bool machine_is_untouched(struct machine *machine, uint64_t address, unsigned bytes);

/* ---- operand.c ---- */

struct value machine_address(const struct machine *machine, const struct entry *entry,
                             unsigned access);
struct value machine_read(struct machine *machine, const struct entry *entry, unsigned operand);
void machine_write(struct machine *machine, const struct entry *entry, unsigned operand,
                   struct value value);
struct value machine_general(const struct machine *machine, unsigned number, unsigned bytes);
void machine_set_general(struct machine *machine, unsigned number, unsigned bytes,
                         struct value value);
struct value machine_load_value(struct machine *machine, struct value address, unsigned bytes);
void machine_store_value(struct machine *machine, struct value address, unsigned bytes,
                         struct value value);
/* The flags in `defined` become those of `values`; others that the instruction changes, unknown. */
void machine_set_flags(struct machine *machine, const struct entry *entry, uint32_t defined,
                       uint64_t values);
/* 1, 0, or -1 if unknown. */
int machine_condition(const struct machine *machine, unsigned condition);
/* Everything the instruction may change becomes unknown. */
void machine_forget(struct machine *machine, const struct entry *entry);

static inline uint64_t machine_mask(unsigned bytes)
{
    return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
}

static inline uint64_t machine_extend(uint64_t bits, unsigned bytes)
{
    unsigned shift = bytes >= 8 ? 0 : 64 - 8 * bytes;
    return (uint64_t)((int64_t)(bits << shift) >> shift);
}

/* ---- integer.c, vector.c: false if not computed; the caller then forgets the results ---- */

bool integer_step(struct machine *machine, const struct entry *entry);
bool vector_step(struct machine *machine, const struct entry *entry);

/* ---- flow.c: call, ret, jumps, push, pop ---- */
enum step flow_step(struct machine *machine, const struct entry *entry);

/* ---- string.c ---- */

/* Repetitions ahead: 1 without rep; unknown if rcx is. */
struct value string_count(const struct machine *machine, const struct entry *entry);
/*
 * Executes up to `most` iterations of those ahead. Returns how many were done before the string
 * instruction ended by itself; *ended says whether it did. Unknown when that
 * depends on something unknown: machine unchanged then.
 */
struct value string_step(struct machine *machine, const struct entry *entry, uint64_t most,
                         bool *ended);

#endif
