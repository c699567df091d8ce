// SPDX-License-Identifier: MIT
/*
 * What fold keeps. Tokens lie in a pool and are linked in the list's order. A part fits 32 bits and
 * two neighbours 64, so one table finds both what a pair is known as and where in the list it
 * stands: a pair is never both, as known pairs do not stay in the list.
 */
#ifndef HEADROOM_FOLD_INTERNAL_H
#define HEADROOM_FOLD_INTERNAL_H

#include "fold/fold.h"

enum {
    CLASS_BITS = 6, /* fold_class is at most 47 */
    CLASS_MASK = (1 << CLASS_BITS) - 1,
    END = FOLD_WINDOW, /* the token before the first and behind the last */
    SLOT_BITS = 10,    /* FOLD_SEQUENCES + FOLD_WINDOW pairs at most: a third is used*/
    SLOTS = 1 << SLOT_BITS,
    NOT_LISTED = SLOTS,
    KNOWN = 1 << 16, /* slot.value: KNOWN + sequence, or the left one of two tokens*/
};
_Static_assert(END == 63, "tokens and END are bits of a word");
_Static_assert(FOLD_FIRST + FOLD_SEQUENCES < 1 << (32 - CLASS_BITS), "parts fit 32 bits");

struct token {
    uint32_t part; /* symbol << CLASS_BITS | class; UINT32_MAX: END */
    uint32_t count;
    uint64_t start, end;
    uint64_t order; /* of its first symbol; grows along the list */
    uint16_t slot;  /* where this token with the next one is listed */
    uint8_t next, previous;
};

struct slot {
    uint64_t pair; /* 0: free */
    uint64_t value;
};

/* A sequence, its first part if that is one, the first part of this, ...: where a beginning of it begins. */
struct spine {
    uint16_t lowest;   /* the last of them */
    uint16_t root, up; /* whose first part it was when `root` was last walked down*/
};

enum { STEPS = 64, OPERATIONS = 128 };

/*
 * Going round a loop changes nothing in the list but the loop's count: what comes next has happened before. The
 * last time round is learned, the next ones follow it without touching the list, until something else comes: then
 * the list is brought up to date.
 *
 * A time round begins when the list ends with the loop's token and a first one of the next time. It is the same again if all
 * that rules look at is: see same_again.
 */
struct again {
    bool learning, following;
    bool silent;  /* bringing the list up to date: all has been counted */
    uint8_t loop; /* token */
    uint8_t steps, operations;
    uint8_t at;    /* following: the last step there was, which can still grow */
    uint32_t part; /* of the loop, when learning began */
    uint32_t sequences, forgotten;
    uint64_t open, order; /* order: of the first token learned */
    struct {
        uint32_t part;
        uint8_t operations; /* up to the end of this step */
    } step[STEPS];          /* what the caller adds, same ones in a row as one */
    struct {
        uint16_t sequence;
        uint8_t first, last; /* steps */
    } operation[OPERATIONS]; /* occurrences */
    struct {
        uint64_t start, end;
        uint32_t count;
    } now[STEPS];                                          /* following: this time */
    uint8_t first[FOLD_WINDOW + 1], last[FOLD_WINDOW + 1]; /* learning: steps of tokens */
};

struct fold {
    fold_occurrence *occurrence;
    void *context;
    uint64_t order;
    uint64_t open;    /* tokens, as bits; END is never closed */
    uint64_t unused;  /* the same */
    uint64_t changed; /* tokens that with the next one have yet to be looked at */
    uint32_t sequences;
    uint32_t forgotten;  /* tokens, all in all */
    uint32_t went_round; /* loop that has grown since the last symbol, or END */
    bool ended;          /* the last token counts */
    bool full;
    struct token token[FOLD_WINDOW + 1];
    struct slot slot[SLOTS];
    struct fold_sequence sequence[FOLD_SEQUENCES];
    struct spine spine[FOLD_SEQUENCES];
    struct again again;
};

/* Brings the list up to date. */
void fold_update(struct fold *fold);

static inline uint64_t fold_pair(const struct fold *fold, uint32_t left)
{
    const struct token *token = &fold->token[left];
    return (uint64_t)token->part << 32 | fold->token[token->next].part;
}

/* Fibonacci hashing (Knuth 6.4). */
static inline uint32_t fold_home(uint64_t pair)
{
    return (uint32_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS));
}

/* The slot that holds the pair, or the free one where it belongs. */
static inline uint32_t fold_find(const struct fold *fold, uint64_t pair)
{
    uint32_t at = fold_home(pair);
    while (fold->slot[at].pair && fold->slot[at].pair != pair)
        at = (at + 1) % SLOTS;
    return at;
}

static inline uint32_t fold_length(const struct fold *fold, uint32_t part)
{
    uint32_t symbol = part >> CLASS_BITS;
    return symbol < FOLD_FIRST ? 1 : fold->sequence[symbol - FOLD_FIRST].length;
}

#endif
