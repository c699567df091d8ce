// SPDX-License-Identifier: MIT
/*
 * fold: repetitive sequences in a stream of symbols, found as it comes (ispot §3.3, on line). What the
 * stream is made of and what a symbol stands for is the caller's business.
 *
 * A relative of Sequitur (Nevill-Manning and Witten, "Identifying hierarchical structure in sequences", 1997): no two
 * neighbours occur twice, a pair that does becomes a rule of a grammar, here a *sequence*. Unlike there repetitions in
 * a row are one token with a count (Sequitur has a rule for each doubling), only the last FOLD_WINDOW tokens are kept,
 * so that memory and time for a symbol are bounded, and rules that are used once only stay.
 *
 * Definition. The state is a list of tokens, at most FOLD_WINDOW. A token is a symbol with a count (which stops at
 * UINT32_MAX); symbols are what the caller adds, or sequences found. Two tokens are the same part if their symbols and
 * fold_class(count) are. A token is open, as it can still grow, until rule 4 closes it. A symbol that is added becomes a
 * token with count 1 at the list's end; if the list is full and its last token has another symbol, the first token is
 * forgotten before that. After each symbol, until nothing applies, the first of these rules that does:
 *  1. the leftmost two neighbours with the same symbol become one open token, counts added (a loop);
 *  2. the leftmost two closed neighbours that are a known sequence's two parts become one open token of that sequence,
 *     count 1;
 *  3. the leftmost two closed neighbours that are the same two parts as others further right become a new sequence of
 *     these parts, and they and the next such two become open tokens of it, the left ones first. Passed over are
 *     neighbours which would make a sequence longer than FOLD_LONGEST symbols, and all when there are FOLD_SEQUENCES;
 *  4. the rightmost open token is closed that is followed by what is not a beginning of its symbol.
 * Nothing is a beginning of everything. Tokens are a beginning of a sequence if they are one of its first part, or the
 * first of them is that part and the others are a beginning of the second part. Tokens are a beginning of a part if they
 * are one of its symbol, or the first has this symbol and at most this class, and the others are a beginning of the
 * symbol. (So what is a loop so far does not become part of something before the loop has ended.)
 *
 * "a b c b d a b e a b c": (a b) occurs three times, (a b c) twice.
 *
 * Freestanding; one thread at a time; the caller gives memory of fold_bytes(), 8-byte aligned, zeroed.
 */
#ifndef HEADROOM_FOLD_H
#define HEADROOM_FOLD_H

#include "base/base.h"

enum {
    FOLD_WINDOW = 63,
    FOLD_SEQUENCES = 256,
    FOLD_LONGEST = 64,    /* symbols, loops counted once */
    FOLD_FIRST = 1 << 24, /* symbols below are the caller's; FOLD_FIRST + i: sequence i */
};

/* Counts up to 16 are distinguished, then powers of two. */
static inline uint32_t fold_class(uint32_t count)
{
    return count <= 16 ? count : 16 + (31 - (uint32_t)__builtin_clz(count - 1));
}

struct fold_part {
    uint32_t symbol, class; /* class: fold_class of the count */
};

struct fold_sequence {
    struct fold_part part[2];
    uint32_t length; /* in the caller's symbols, loops counted once */
    uint32_t reserved;
    uint64_t count;    /* occurrences, those inside of longer sequences included */
    uint64_t sum, min; /* from the start of the first part to the end of the second */
};

struct fold;
size_t fold_bytes(void);

/* Called for every occurrence, when it is recognised; the two of rule 3 as well, which are known by then. May be NULL.
   It must not call fold_add or fold_end. */
typedef void fold_occurrence(void *context, uint32_t sequence, uint64_t start, uint64_t end);
void fold_init(struct fold *fold, fold_occurrence *occurrence, void *context);

/* start and end: of what the symbol stands for, in any unit, not decreasing. symbol < FOLD_FIRST. */
void fold_add(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end);

/* Nothing follows what is in the list: the rules are applied once more, rule 4 to any open token. Then the list is empty;
   sequences stay known. */
void fold_end(struct fold *fold);

uint32_t fold_count(const struct fold *fold); /* of sequences */
const struct fold_sequence *fold_get(const struct fold *fold, uint32_t sequence);
/* rule 3 had a place for a sequence, but there were FOLD_SEQUENCES */
bool fold_full(const struct fold *fold);

/* The sequence spelt out in the caller's symbols with their counts' classes; a repeated sequence inside is spelt out
   once. Returns the number of parts written, at most `room`. */
uint32_t fold_expand(const struct fold *fold, uint32_t sequence, struct fold_part *parts,
                     uint32_t room);

/* The list's tokens: for tests. Returns their number; parts and counts hold FOLD_WINDOW. */
uint32_t fold_list(struct fold *fold, struct fold_part *parts, uint32_t *counts);

/* True if links, table and sequences agree: for tests. */
bool fold_check(const struct fold *fold);

#endif
