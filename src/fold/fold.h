// SPDX-License-Identifier: MIT
/*
 * fold: repetitive sequences in a stream of symbols, found as it comes (ispot §3.3, on line). What the
 * stream is made of and what a symbol stands for is the caller's business.
 *
 * Definition. The state is a list of tokens, the last FOLD_WINDOW of the stream; a token is a symbol with a count. Symbols
 * are what the caller adds, or sequences found. After each symbol that is added, at the list's end, until nothing applies:
 *  1. neighbours with the same symbol become one token, counts added (a loop);
 *  2. where two neighbours are a known sequence's two parts they become one token of that sequence (leftmost first);
 *  3. where two neighbours occur, without overlapping, at two places in the list, they become a new sequence, unless there are
 *     FOLD_SEQUENCES already or it would be longer than FOLD_LONGEST symbols; all such places become tokens of it, from the left.
 * Tokens are parts by symbol and fold_class(count). The last token of the list can still grow: 2 and 3 do not use it
 * until another follows or fold_end is called. Tokens that leave the window are forgotten.
 *
 * "a b c b d a b e a b c": (a b) occurs three times, (a b c) twice.
 *
 * Freestanding; one thread at a time; the caller gives memory of fold_bytes(), 8-byte aligned, zeroed.
 */
#ifndef HEADROOM_FOLD_H
#define HEADROOM_FOLD_H

#include "base/base.h"

enum {
    FOLD_WINDOW = 64,
    FOLD_SEQUENCES = 256,
    FOLD_LONGEST = 64,        /* symbols, loops counted once                          */
    FOLD_FIRST = 1 << 24,     /* symbols below are the caller's; FOLD_FIRST + i: sequence i */
};

/* Counts up to 16 are told apart, then powers of two. */
static inline uint32_t fold_class(uint32_t count)
{
    return count <= 16 ? count : 16 + (31 - (uint32_t)__builtin_clz(count - 1));
}

struct fold_part {
    uint32_t symbol, class; /* class: fold_class of the count                        */
};

struct fold_sequence {
    struct fold_part part[2];
    uint32_t length;        /* in the caller's symbols, loops counted once            */
    uint32_t reserved;
    uint64_t count;         /* occurrences, those inside of longer sequences included */
    uint64_t sum, min;      /* from the start of the first part to the end of the second */
};

struct fold;
size_t fold_bytes(void);

/* Called for every occurrence, when it is recognised; the two of step 3 as well. May be NULL. */
typedef void fold_occurrence(void *context, uint32_t sequence, uint64_t start, uint64_t end);
void fold_init(struct fold *fold, fold_occurrence *occurrence, void *context);

/* start and end: of what the symbol stands for, in any unit, not decreasing. symbol < FOLD_FIRST. */
void fold_add(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end);

/* Nothing follows what is in the list: its last token counts, then the list is empty. Sequences stay known. */
void fold_end(struct fold *fold);

uint32_t fold_count(const struct fold *fold); /* of sequences */
const struct fold_sequence *fold_get(const struct fold *fold, uint32_t sequence);
bool fold_full(const struct fold *fold);      /* sequences were refused for want of room */

/* The sequence spelt out in the caller's symbols with their counts' classes; a repeated sequence inside is spelt out
   once. Returns the number of parts written, at most `room`. */
uint32_t fold_expand(const struct fold *fold, uint32_t sequence, struct fold_part *parts, uint32_t room);

#endif
