// SPDX-License-Identifier: MIT
/*
 * The rules, incrementally (after Sequitur: Nevill-Manning, Witten 1997, with loops and a window).
 * Between two symbols nothing applies anywhere; so after a change only pairs of neighbours that it
 * brought about need to be looked at, and the other place of rule 3 is what the table says. Pairs
 * that can never become a sequence are not listed.
 */
#include "fold/parts.h"

#include <string.h>

size_t fold_bytes(void)
{
    return sizeof(struct fold);
}

static inline uint64_t bit(uint32_t token)
{
    return UINT64_C(1) << token;
}

void fold_init(struct fold *fold, fold_occurrence *occurrence, void *context)
{
    fold->occurrence = occurrence;
    fold->context = context;
    fold->open = bit(END);
    fold->unused = ~bit(END);
    fold->token[END] =
        (struct token){.part = UINT32_MAX, .slot = NOT_LISTED, .next = END, .previous = END};
}

/* ---- the table ----------------------------------------------------------------------------- */

static inline void list(struct fold *fold, uint32_t left, uint32_t slot, uint64_t pair)
{
    fold->slot[slot] = (struct slot){.pair = pair, .value = left};
    fold->token[left].slot = (uint16_t)slot;
}

/* Slots behind move up, so that a search never meets a gap (Knuth 6.4, algorithm R). */
static void take_out(struct fold *fold, uint32_t gap)
{
    for (uint32_t at = (gap + 1) % SLOTS; fold->slot[at].pair; at = (at + 1) % SLOTS) {
        uint32_t home = fold_home(fold->slot[at].pair);
        if ((at - home) % SLOTS < (at - gap) % SLOTS)
            continue;
        fold->slot[gap] = fold->slot[at];
        if (fold->slot[gap].value < KNOWN)
            fold->token[fold->slot[gap].value].slot = (uint16_t)gap;
        gap = at;
    }
    fold->slot[gap].pair = 0;
}

static inline void unlist(struct fold *fold, uint32_t left)
{
    uint32_t slot = fold->token[left].slot;
    if (slot == NOT_LISTED)
        return;
    fold->token[left].slot = NOT_LISTED;
    take_out(fold, slot);
}

/* ---- the list ------------------------------------------------------------------------------ */

static inline uint32_t last(const struct fold *fold)
{
    return fold->token[END].previous;
}

/* The token and the next one are to be looked at if both are closed. */
static inline void look_at(struct fold *fold, uint32_t left)
{
    if ((fold->open & (bit(left) | bit(fold->token[left].next))) == 0)
        fold->changed |= bit(left);
}

static inline void close_token(struct fold *fold, uint32_t token)
{
    fold->open &= ~bit(token);
    look_at(fold, fold->token[token].previous);
    look_at(fold, token);
}

/* The token's neighbour on the right becomes part of it, and it is open: no rule may use it with
 * another. */
static inline void absorb(struct fold *fold, uint32_t left)
{
    struct token *token = &fold->token[left];
    uint32_t right = token->next, previous = token->previous;
    struct token *gone = &fold->token[right];
    unlist(fold, right);
    unlist(fold, left);
    unlist(fold, previous);
    fold->changed &= ~(bit(right) | bit(left) | bit(previous));
    fold->open = (fold->open & ~bit(right)) | bit(left);
    fold->unused |= bit(right);
    fold->token[gone->next].previous = gone->previous;
    token->next = gone->next;
    token->end = gone->end;
}

static void forget_first(struct fold *fold)
{
    uint32_t first = fold->token[END].next, second = fold->token[first].next;
    unlist(fold, first);
    fold->open &= ~bit(first);
    fold->unused |= bit(first);
    fold->token[END].next = (uint8_t)second;
    fold->token[second].previous = END;
}

/* ---- the rules ----------------------------------------------------------------------------- */

static void grow(struct token *token, uint32_t count)
{
    if (__builtin_add_overflow(token->count, count, &token->count))
        token->count = UINT32_MAX;
    token->part = token->part >> CLASS_BITS << CLASS_BITS | fold_class(token->count);
}

/* Rule 1, if it applies to the token and the next one. */
static inline void join(struct fold *fold, uint32_t left)
{
    struct token *token = &fold->token[left];
    const struct token *next = &fold->token[token->next];
    if (token->part >> CLASS_BITS != next->part >> CLASS_BITS)
        return;
    grow(token, next->count);
    absorb(fold, left);
}

/* An occurrence of the sequence: the token and the next one. Rule 1 cannot apply but here. */
static void unite(struct fold *fold, uint32_t left, uint32_t number)
{
    struct token *token = &fold->token[left];
    struct fold_sequence *sequence = &fold->sequence[number];
    absorb(fold, left);
    token->part = (FOLD_FIRST + number) << CLASS_BITS | 1;
    token->count = 1;
    uint64_t start = token->start, end = token->end, time = end - start;
    sequence->sum += time;
    if (sequence->count++ == 0 || time < sequence->min)
        sequence->min = time;
    join(fold, left);
    join(fold, token->previous);
    if (fold->occurrence)
        fold->occurrence(fold->context, number, start, end);
}

/* Rule 3 for two places of which `slot` lists one. */
static void create(struct fold *fold, uint32_t place, uint32_t slot)
{
    uint32_t listed = (uint32_t)fold->slot[slot].value, number = fold->sequences++;
    uint64_t pair = fold->slot[slot].pair;
    uint32_t left = (uint32_t)(pair >> 32), right = (uint32_t)pair;
    fold->sequence[number] = (struct fold_sequence){
        .part = {{left >> CLASS_BITS, left & CLASS_MASK},
                 {right >> CLASS_BITS, right & CLASS_MASK}},
        .length = fold_length(fold, left) + fold_length(fold, right),
    };
    bool plain = left >> CLASS_BITS < FOLD_FIRST;
    fold->spine[number] = (struct spine){
        .lowest =
            (uint16_t)(plain ? number : fold->spine[(left >> CLASS_BITS) - FOLD_FIRST].lowest),
        .root = UINT16_MAX};
    fold->slot[slot].value = KNOWN + number;
    fold->token[listed].slot = NOT_LISTED;
    bool before = fold->token[listed].order < fold->token[place].order;
    unite(fold, before ? listed : place, number);
    unite(fold, before ? place : listed, number);
}

/* Lists the pair if rule 3 may come to need it. True: it does now, for the place and what `slot`
 * lists. */
static bool repeated(struct fold *fold, uint32_t left, uint32_t slot, uint64_t pair)
{
    bool met = fold->slot[slot].pair != 0;
    if (!met && !fold->full &&
        fold_length(fold, (uint32_t)(pair >> 32)) + fold_length(fold, (uint32_t)pair) <=
            FOLD_LONGEST)
        list(fold, left, slot, pair);
    if (met && fold->sequences == FOLD_SEQUENCES)
        fold->full = true;
    if (!met || fold->full)
        fold->changed &= ~bit(left);
    return met && !fold->full;
}

static void settle_one(struct fold *fold, uint32_t left)
{
    uint64_t pair = fold_pair(fold, left);
    uint32_t slot = fold_find(fold, pair);
    uint64_t value = fold->slot[slot].value;
    if (fold->slot[slot].pair && value >= KNOWN)
        unite(fold, left, (uint32_t)value - KNOWN);
    else if (repeated(fold, left, slot, pair))
        create(fold, left, slot);
}

/* The tokens in the list's order. */
static uint32_t in_order(const struct fold *fold, uint64_t bits, uint8_t *tokens)
{
    uint32_t count = 0;
    for (; bits; bits &= bits - 1) {
        uint32_t token = (uint32_t)__builtin_ctzll(bits), at = count++;
        for (; at > 0 && fold->token[tokens[at - 1]].order > fold->token[token].order; at--)
            tokens[at] = tokens[at - 1];
        tokens[at] = (uint8_t)token;
    }
    return count;
}

/* Rule 2 where several places changed. False: it does not apply. */
static bool settle_known(struct fold *fold, const uint8_t *tokens, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct slot *slot = &fold->slot[fold_find(fold, fold_pair(fold, tokens[i]))];
        if (slot->pair && slot->value >= KNOWN) {
            unite(fold, tokens[i], (uint32_t)slot->value - KNOWN);
            return true;
        }
    }
    return false;
}

static void settle_several(struct fold *fold)
{
    uint8_t tokens[FOLD_WINDOW];
    uint32_t count = in_order(fold, fold->changed, tokens), best = END, best_slot = 0;
    uint64_t best_order = UINT64_MAX;
    if (settle_known(fold, tokens, count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t pair = fold_pair(fold, tokens[i]);
        uint32_t slot = fold_find(fold, pair);
        if (!repeated(fold, tokens[i], slot, pair))
            continue;
        uint64_t here = fold->token[tokens[i]].order;
        uint64_t there = fold->token[fold->slot[slot].value].order;
        uint64_t order = here < there ? here : there;
        if (order < best_order) {
            best_order = order;
            best = tokens[i];
            best_slot = slot;
        }
    }
    if (best != END)
        create(fold, best, best_slot);
}

/* ---- rule 4 -------------------------------------------------------------------------------- */

/* The sequence among the spine of `number` whose first part has the symbol, or FOLD_SEQUENCES. */
static inline uint32_t on_spine(struct fold *fold, uint32_t number, uint32_t symbol)
{
    uint32_t lowest = fold->spine[number].lowest;
    if (symbol < FOLD_FIRST)
        return fold->sequence[lowest].part[0].symbol == symbol ? lowest : FOLD_SEQUENCES;
    uint32_t wanted = symbol - FOLD_FIRST;
    /* A loop that goes on climbs one step a time: what was walked once need not be again. */
    if (fold->spine[wanted].root == number)
        return fold->spine[wanted].up;
    for (uint32_t at = number, down; at > wanted && at != lowest; at = down) {
        down = fold->sequence[at].part[0].symbol - FOLD_FIRST;
        fold->spine[down].root = (uint16_t)number;
        fold->spine[down].up = (uint16_t)at;
        if (down == wanted)
            return at;
    }
    return FOLD_SEQUENCES;
}

static bool begins_sequence(struct fold *fold, uint32_t number, uint32_t token);

/* The token and what follows it are a beginning of the symbol. */
static inline bool begins(struct fold *fold, uint32_t symbol, uint32_t token)
{
    return token == END ||
           (symbol >= FOLD_FIRST && begins_sequence(fold, symbol - FOLD_FIRST, token));
}

static inline bool begins_part(struct fold *fold, const struct fold_part *part, uint32_t token)
{
    const struct token *first = &fold->token[token];
    if (first->part >> CLASS_BITS != part->symbol)
        return begins(fold, part->symbol, token);
    return (first->part & CLASS_MASK) <= part->class && begins(fold, part->symbol, first->next);
}

static bool begins_sequence(struct fold *fold, uint32_t number, uint32_t token)
{
    const struct token *first = &fold->token[token];
    uint32_t symbol = first->part >> CLASS_BITS, class = first->part & CLASS_MASK;
    uint32_t at = on_spine(fold, number, symbol);
    if (at == FOLD_SEQUENCES)
        return false;
    const struct fold_part *part = fold->sequence[at].part;
    return (class == part[0].class && begins_part(fold, &part[1], first->next)) ||
           (class <= part[0].class && begins(fold, symbol, first->next));
}

/* False: rule 4 does not apply, or closed what brought about nothing. */
static inline bool settle_open(struct fold *fold)
{
    uint64_t open = fold->open & ~bit(END) & ~(fold->ended ? 0 : bit(last(fold)));
    while (open && !fold->changed) {
        uint32_t token = (uint32_t)__builtin_ctzll(open);
        for (uint64_t rest = open & (open - 1); rest; rest &= rest - 1) {
            uint32_t other = (uint32_t)__builtin_ctzll(rest);
            token = fold->token[other].order > fold->token[token].order ? other : token;
        }
        open &= ~bit(token);
        const struct token *candidate = &fold->token[token];
        if (fold->ended || !begins(fold, candidate->part >> CLASS_BITS, candidate->next))
            close_token(fold, token);
    }
    return fold->changed != 0;
}

static inline void settle(struct fold *fold)
{
    do {
        while (fold->changed) {
            if (fold->changed & (fold->changed - 1))
                settle_several(fold);
            else
                settle_one(fold, (uint32_t)__builtin_ctzll(fold->changed));
        }
    } while (settle_open(fold));
}

/* ---- what callers see ---------------------------------------------------------------------- */

void fold_add(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end)
{
    uint32_t before = last(fold);
    if (fold->token[before].part >> CLASS_BITS == symbol) {
        uint32_t part = fold->token[before].part;
        grow(&fold->token[before], 1);
        fold->token[before].end = end;
        if (fold->token[before].part != part)
            settle(fold); /* it may be too many for what it was a beginning of */
        return;
    }
    if (!fold->unused)
        forget_first(fold);
    uint32_t token = (uint32_t)__builtin_ctzll(fold->unused);
    fold->unused &= fold->unused - 1;
    fold->token[token] = (struct token){
        .part = symbol << CLASS_BITS | 1,
        .count = 1,
        .start = start,
        .end = end,
        .order = fold->order++,
        .slot = NOT_LISTED,
        .next = END,
        .previous = (uint8_t)before,
    };
    fold->token[END].previous = (uint8_t)token;
    fold->token[before].next = (uint8_t)token;
    fold->open |= bit(token);
    if (before != END)
        close_token(fold, before);
    settle(fold);
}

void fold_end(struct fold *fold)
{
    fold->ended = true;
    settle(fold);
    fold->ended = false;
    for (uint32_t token = fold->token[END].next; token != END; token = fold->token[token].next)
        unlist(fold, token);
    fold->token[END].next = fold->token[END].previous = END;
    fold->unused = ~bit(END);
}
