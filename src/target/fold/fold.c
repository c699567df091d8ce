// SPDX-License-Identifier: MIT
/*
 * The rules, incrementally (after Sequitur: Nevill-Manning, Witten 1997, with loops and a window).
 * Between two symbols nothing applies anywhere; so after a change only pairs of neighbours that it
 * brought about need to be looked at, and the other place of rule 3 is what the table says. Pairs
 * that can never become a sequence are not listed.
 */
#include "fold/internal.h"

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

/* One or two tokens behind `left`, up to `right`, become part of it, and it is open: no rule may
 * use it with another. */
static inline void absorb(struct fold *fold, uint32_t left, uint32_t right)
{
    struct token *token = &fold->token[left];
    uint64_t gone = bit(token->next) | bit(right);
    unlist(fold, token->previous);
    unlist(fold, left);
    unlist(fold, token->next);
    unlist(fold, right);
    fold->changed &= ~(gone | bit(left) | bit(token->previous));
    fold->open = (fold->open & ~gone) | bit(left);
    fold->unused |= gone;
    token->end = fold->token[right].end;
    fold->again.last[left] = fold->again.last[right];
    token->next = fold->token[right].next;
    fold->token[token->next].previous = (uint8_t)left;
}

static void forget_first(struct fold *fold)
{
    uint32_t first = fold->token[END].next, second = fold->token[first].next;
    unlist(fold, first);
    fold->open &= ~bit(first);
    fold->unused |= bit(first);
    fold->forgotten++;
    fold->token[END].next = (uint8_t)second;
    fold->token[second].previous = END;
}

/* ---- the rules ----------------------------------------------------------------------------- */

static inline void grow(struct token *token, uint32_t count)
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
    absorb(fold, left, token->next);
}

static inline void count(struct fold *fold, uint32_t number, uint64_t start, uint64_t end)
{
    struct fold_sequence *sequence = &fold->sequence[number];
    uint64_t time = end - start;
    sequence->sum += time;
    if (sequence->count++ == 0 || time < sequence->min)
        sequence->min = time;
    if (fold->occurrence)
        fold->occurrence(fold->context, number, start, end);
}

static inline void learn_operation(struct fold *fold, uint32_t left, uint32_t number)
{
    struct again *again = &fold->again;
    again->learning = again->operations < OPERATIONS && fold->token[left].order >= again->order;
    if (again->learning) {
        again->operation[again->operations].sequence = (uint16_t)number;
        again->operation[again->operations].first = again->first[left];
        again->operation[again->operations++].last = again->last[fold->token[left].next];
    }
}

/* An occurrence of the sequence: the token and the next one. Rule 1 cannot apply but here. */
static void unite(struct fold *fold, uint32_t left, uint32_t number)
{
    struct token *token = &fold->token[left];
    uint32_t right = token->next, previous = token->previous;
    uint64_t start = token->start, end = fold->token[right].end;
    if (fold->again.learning)
        learn_operation(fold, left, number);
    if (fold->token[previous].part >> CLASS_BITS == FOLD_FIRST + number) {
        grow(&fold->token[previous], 1);
        fold->went_round = left = previous;
    } else {
        token->part = (FOLD_FIRST + number) << CLASS_BITS | 1;
        token->count = 1;
    }
    absorb(fold, left, right);
    join(fold, left);
    if (!fold->again.silent)
        count(fold, number, start, end);
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

static inline void append(struct fold *fold, uint32_t part, uint32_t number, uint64_t start,
                          uint64_t end)
{
    uint32_t before = last(fold);
    if (!fold->unused)
        forget_first(fold);
    uint32_t token = (uint32_t)__builtin_ctzll(fold->unused);
    fold->unused &= fold->unused - 1;
    fold->token[token] = (struct token){
        .part = part,
        .count = number,
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

/* ---- loops that go on ---------------------------------------------------------------------- */

/* Open tokens but the loop's and the last. */
static inline uint64_t others_open(const struct fold *fold, uint32_t loop)
{
    return fold->open & ~(bit(END) | bit(loop) | bit(last(fold)));
}

/* The list ends with the loop and the first of its next time round. */
static void learn(struct fold *fold, uint32_t loop)
{
    struct again *again = &fold->again;
    uint32_t first = last(fold);
    again->learning = fold->token[first].previous == loop && fold->open & bit(loop);
    again->loop = (uint8_t)loop;
    again->part = fold->token[loop].part;
    again->open = others_open(fold, loop);
    again->sequences = fold->sequences;
    again->forgotten = fold->forgotten;
    again->order = fold->token[first].order;
    again->steps = 1;
    again->operations = 0;
    again->step[0].part = fold->token[first].part;
    again->first[first] = again->last[first] = 0;
}

/*
 * The list ends as when learning began, and all else that the rules go by is the same: no token has
 * been closed or made before the loop, none forgotten, no sequence is new. The loop's class matters
 * to open tokens before it only.
 */
static bool same_again(const struct fold *fold, uint32_t loop)
{
    const struct again *again = &fold->again;
    const struct token *first = &fold->token[last(fold)];
    return again->learning && again->loop == loop && first->previous == loop &&
           fold->open & bit(loop) &&
           fold->token[loop].part >> CLASS_BITS == again->part >> CLASS_BITS &&
           again->open == others_open(fold, loop) && again->sequences == fold->sequences &&
           again->forgotten == fold->forgotten &&
           first->part >> CLASS_BITS == again->step[0].part >> CLASS_BITS &&
           (again->open == 0 || fold->token[loop].part == again->part);
}

static void went_round(struct fold *fold, uint32_t loop)
{
    struct again *again = &fold->again;
    if (!same_again(fold, loop)) {
        learn(fold, loop);
        return;
    }
    const struct token *first = &fold->token[last(fold)];
    again->learning = false;
    again->following = true;
    again->steps--; /* the last is the first of the next time */
    again->at = 0;
    again->now[0].start = first->start;
    again->now[0].end = first->end;
    again->now[0].count = first->count;
}

void fold_update(struct fold *fold)
{
    struct again *again = &fold->again;
    if (!again->following)
        return;
    struct token *first = &fold->token[last(fold)];
    again->following = false;
    first->start = again->now[0].start;
    first->end = again->now[0].end;
    first->count = again->now[0].count;
    first->part = first->part >> CLASS_BITS << CLASS_BITS | fold_class(first->count);
    again->silent = true;
    for (uint32_t i = 1; i <= again->at; i++)
        append(fold,
               again->step[i].part >> CLASS_BITS << CLASS_BITS | fold_class(again->now[i].count),
               again->now[i].count, again->now[i].start, again->now[i].end);
    again->silent = false;
}

/* False: this is not what came the last time. */
static inline bool follow(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end)
{
    struct again *again = &fold->again;
    uint32_t at = again->at, part = again->step[at].part, next = at + 1 < again->steps ? at + 1 : 0;
    uint32_t class = fold_class(again->now[at].count);
    if (part >> CLASS_BITS == symbol) {
        if (again->now[at].count == UINT32_MAX ||
            fold_class(again->now[at].count + 1) > (part & CLASS_MASK))
            return false;
        again->now[at].count++;
        again->now[at].end = end;
        return true;
    }
    if (class != (part & CLASS_MASK) || again->step[next].part >> CLASS_BITS != symbol)
        return false;
    uint64_t until = again->now[at].end;
    for (uint32_t i = at ? again->step[at - 1].operations : 0; i < again->step[at].operations; i++)
        count(fold, again->operation[i].sequence, again->now[again->operation[i].first].start,
              again->now[again->operation[i].last].end);
    again->at = (uint8_t)next;
    again->now[next].start = start;
    again->now[next].end = end;
    again->now[next].count = 1;
    if (next == 0) {
        struct token *loop = &fold->token[again->loop];
        uint32_t before = loop->part;
        loop->end = until;
        grow(loop, 1);
        if (loop->part != before && again->open) {
            fold_update(fold);
            settle(fold);
            learn(fold, again->loop);
        }
    }
    return true;
}

/* As append, and learns it. */
static inline void append_learning(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end)
{
    struct again *again = &fold->again;
    uint32_t step = again->steps - 1u;
    again->learning = again->learning && again->steps < STEPS;
    again->step[step].part = fold->token[last(fold)].part;
    append(fold, symbol << CLASS_BITS | 1, 1, start, end);
    again->step[step].operations = again->operations;
    again->first[last(fold)] = again->last[last(fold)] = again->steps++;
}

/* ---- what callers see ---------------------------------------------------------------------- */

static inline void grow_last(struct fold *fold, uint64_t end)
{
    struct token *token = &fold->token[last(fold)];
    uint32_t part = token->part, operations = fold->again.operations;
    grow(token, 1);
    token->end = end;
    if (token->part == part)
        return;
    settle(fold); /* it may be too many for what it was a beginning of */
    if (fold->again.operations != operations)
        fold->again.learning = false; /* they are learned as ends of steps only */
}

void fold_add(struct fold *fold, uint32_t symbol, uint64_t start, uint64_t end)
{
    if (fold->again.following) {
        if (follow(fold, symbol, start, end))
            return;
        fold_update(fold);
    }
    if (fold->token[last(fold)].part >> CLASS_BITS == symbol) {
        grow_last(fold, end);
        return;
    }
    fold->went_round = END;
    if (fold->again.learning)
        append_learning(fold, symbol, start, end);
    else
        append(fold, symbol << CLASS_BITS | 1, 1, start, end);
    if (fold->went_round != END)
        went_round(fold, fold->went_round);
}

void fold_end(struct fold *fold)
{
    fold_update(fold);
    fold->again.learning = false;
    fold->ended = true;
    settle(fold);
    fold->ended = false;
    for (uint32_t token = fold->token[END].next; token != END; token = fold->token[token].next)
        unlist(fold, token);
    fold->token[END].next = fold->token[END].previous = END;
    fold->unused = ~bit(END);
}
