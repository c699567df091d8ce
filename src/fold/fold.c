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

void fold_init(struct fold *fold, fold_occurrence *occurrence, void *context)
{
    fold->occurrence = occurrence;
    fold->context = context;
    fold->unused = UINT64_MAX;
    fold->token[END] =
        (struct token){.part = UINT32_MAX, .slot = NOT_LISTED, .next = END, .previous = END};
}

/* ---- the table ----------------------------------------------------------------------------- */

static void list(struct fold *fold, uint32_t left, uint32_t slot, uint64_t pair)
{
    fold->slot[slot] = (struct slot){.pair = pair, .value = left};
    fold->token[left].slot = (uint16_t)slot;
}

/* Slots behind move up, so that a search never meets a gap (Knuth 6.4, algorithm R). */
static void unlist(struct fold *fold, uint32_t left)
{
    uint32_t gap = fold->token[left].slot;
    if (gap == NOT_LISTED)
        return;
    fold->token[left].slot = NOT_LISTED;
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

/* ---- the list ------------------------------------------------------------------------------ */

/* The token and the next one are to be looked at, unless the next is the list's last, which can
 * grow. */
static inline void look_at(struct fold *fold, uint32_t left)
{
    uint32_t right = fold->token[left].next;
    if (left != END && right != END && (fold->ended || fold->token[right].next != END))
        fold->changed |= UINT64_C(1) << left;
}

/* The token's neighbour on the right becomes part of it. */
static void absorb(struct fold *fold, struct token *token)
{
    uint32_t right = token->next;
    struct token *gone = &fold->token[right];
    unlist(fold, right);
    fold->changed &= ~(UINT64_C(1) << right);
    fold->unused |= UINT64_C(1) << right;
    fold->token[gone->next].previous = gone->previous;
    token->next = gone->next;
    token->end = gone->end;
}

static void forget_first(struct fold *fold)
{
    uint32_t first = fold->token[END].next, second = fold->token[first].next;
    unlist(fold, first);
    fold->unused |= UINT64_C(1) << first;
    fold->token[END].next = (uint8_t)second;
    fold->token[second].previous = END;
}

/* ---- the rules ----------------------------------------------------------------------------- */

static bool same_symbol(uint64_t pair)
{
    return pair >> (32 + CLASS_BITS) == (uint32_t)pair >> CLASS_BITS;
}

/* True if the part has become another. */
static bool grow(struct token *token, uint32_t count)
{
    if (__builtin_add_overflow(token->count, count, &token->count))
        token->count = UINT32_MAX;
    uint32_t part = token->part;
    token->part = part >> CLASS_BITS << CLASS_BITS | fold_class(token->count);
    return token->part != part;
}

/* Rule 1 for a token that is looked at. */
static void loop(struct fold *fold, uint32_t left)
{
    struct token *token = &fold->token[left];
    bool other = grow(token, fold->token[token->next].count);
    absorb(fold, token);
    fold->changed &= ~(UINT64_C(1) << left);
    look_at(fold, left);
    if (other) {
        unlist(fold, token->previous);
        look_at(fold, token->previous);
    }
}

/* An occurrence of the sequence: the token and its right neighbour, which are not listed. */
static void unite(struct fold *fold, uint32_t left, uint32_t number)
{
    struct token *token = &fold->token[left];
    struct fold_sequence *sequence = &fold->sequence[number];
    absorb(fold, token);
    token->part = (FOLD_FIRST + number) << CLASS_BITS | 1;
    token->count = 1;
    uint64_t time = token->end - token->start;
    sequence->sum += time;
    if (sequence->count++ == 0 || time < sequence->min)
        sequence->min = time;
    fold->changed &= ~(UINT64_C(1) << left);
    look_at(fold, left);
    unlist(fold, token->previous);
    look_at(fold, token->previous);
    if (fold->occurrence)
        fold->occurrence(fold->context, number, token->start, token->end);
}

/* Rule 3 for two places of which `slot` lists one. */
static void create(struct fold *fold, uint32_t place, uint32_t slot)
{
    uint32_t listed = (uint32_t)fold->slot[slot].value, number = fold->sequences++;
    uint64_t pair = fold->slot[slot].pair;
    uint32_t left = (uint32_t)(pair >> 32), right = (uint32_t)pair;
    const uint32_t mask = (1 << CLASS_BITS) - 1;
    fold->sequence[number] = (struct fold_sequence){
        .part = {{left >> CLASS_BITS, left & mask}, {right >> CLASS_BITS, right & mask}},
        .length = fold_length(fold, left) + fold_length(fold, right),
    };
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
        fold->changed &= ~(UINT64_C(1) << left);
    return met && !fold->full;
}

static void settle_one(struct fold *fold, uint32_t left)
{
    uint64_t pair = fold_pair(fold, left);
    if (same_symbol(pair)) {
        loop(fold, left);
        return;
    }
    uint32_t slot = fold_find(fold, pair);
    uint64_t value = fold->slot[slot].value;
    if (fold->slot[slot].pair && value >= KNOWN)
        unite(fold, left, (uint32_t)value - KNOWN);
    else if (repeated(fold, left, slot, pair))
        create(fold, left, slot);
}

/* Tokens to look at in the list's order. */
static uint32_t in_order(const struct fold *fold, uint8_t *tokens)
{
    uint32_t count = 0;
    for (uint64_t rest = fold->changed; rest; rest &= rest - 1) {
        uint32_t token = (uint32_t)__builtin_ctzll(rest), at = count++;
        for (; at > 0 && fold->token[tokens[at - 1]].order > fold->token[token].order; at--)
            tokens[at] = tokens[at - 1];
        tokens[at] = (uint8_t)token;
    }
    return count;
}

/* Rules 1 and 2 where several places changed. False: they do not apply. */
static bool settle_known(struct fold *fold, const uint8_t *tokens, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (same_symbol(fold_pair(fold, tokens[i]))) {
            loop(fold, tokens[i]);
            return true;
        }
    }
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
    uint32_t count = in_order(fold, tokens), best = END, best_slot = 0;
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

static inline void settle(struct fold *fold)
{
    while (fold->changed) {
        if (fold->changed & (fold->changed - 1))
            settle_several(fold);
        else
            settle_one(fold, (uint32_t)__builtin_ctzll(fold->changed));
    }
}

/* ---- what callers see ---------------------------------------------------------------------- */

void fold_add(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end)
{
    uint32_t last = fold->token[END].previous;
    if (fold->token[last].part >> CLASS_BITS == symbol) {
        grow(&fold->token[last], 1);
        fold->token[last].end = end;
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
        .previous = (uint8_t)last,
    };
    fold->token[END].previous = (uint8_t)token;
    fold->token[last].next = (uint8_t)token;
    look_at(fold, fold->token[last].previous);
    settle(fold);
}

void fold_end(struct fold *fold)
{
    fold->ended = true;
    look_at(fold, fold->token[fold->token[END].previous].previous);
    settle(fold);
    fold->ended = false;
    for (uint32_t token = fold->token[END].next; token != END; token = fold->token[token].next)
        unlist(fold, token);
    fold->token[END].next = fold->token[END].previous = END;
    fold->unused = UINT64_MAX;
}
