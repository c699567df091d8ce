// SPDX-License-Identifier: MIT
/* What was found, and whether what is kept is sound. */
#include "fold/internal.h"

uint32_t fold_count(const struct fold *fold)
{
    return fold->sequences;
}

const struct fold_sequence *fold_get(const struct fold *fold, uint32_t sequence)
{
    return &fold->sequence[sequence];
}

bool fold_full(const struct fold *fold)
{
    return fold->full;
}

uint32_t fold_expand(const struct fold *fold, uint32_t sequence, struct fold_part *parts,
                     uint32_t room)
{
    /* Every level adds a symbol at least. */
    struct fold_part waiting[FOLD_LONGEST + 1];
    uint32_t depth = 0, count = 0;
    waiting[depth++] = (struct fold_part){FOLD_FIRST + sequence, 1};
    while (depth > 0 && count < room) {
        struct fold_part part = waiting[--depth];
        if (part.symbol < FOLD_FIRST) {
            parts[count++] = part;
            continue;
        }
        const struct fold_sequence *inner = &fold->sequence[part.symbol - FOLD_FIRST];
        waiting[depth++] = inner->part[1];
        waiting[depth++] = inner->part[0];
    }
    return count;
}

uint32_t fold_list(struct fold *fold, struct fold_part *parts, uint32_t *counts)
{
    fold_update(fold);
    uint32_t count = 0;
    for (uint32_t at = fold->token[END].next; at != END; at = fold->token[at].next) {
        uint32_t part = fold->token[at].part;
        parts[count] = (struct fold_part){part >> CLASS_BITS, part & CLASS_MASK};
        counts[count++] = fold->token[at].count;
    }
    return count;
}

static bool check_tokens(const struct fold *fold, uint32_t *listed)
{
    uint64_t seen = 0;
    uint32_t previous = END;
    for (uint32_t at = fold->token[END].next; at != END; at = fold->token[at].next) {
        const struct token *token = &fold->token[at];
        if (at > END || seen >> at & 1 || token->previous != previous)
            return false;
        if (previous != END && token->order <= fold->token[previous].order)
            return false;
        if ((token->part & CLASS_MASK) != fold_class(token->count))
            return false;
        if (token->slot != NOT_LISTED &&
            (fold->slot[token->slot].pair != fold_pair(fold, at) ||
             fold->slot[token->slot].value != at || token->next == END))
            return false;
        *listed += token->slot != NOT_LISTED;
        seen |= UINT64_C(1) << at;
        previous = at;
    }
    return fold->token[END].previous == previous && fold->unused == ~(seen | UINT64_C(1) << END) &&
           fold->changed == 0;
}

bool fold_check(const struct fold *fold)
{
    uint32_t listed = 0, used = 0;
    if (!check_tokens(fold, &listed))
        return false;
    for (uint32_t at = 0; at < SLOTS; at++) {
        used += fold->slot[at].pair != 0;
        if (fold->slot[at].pair && fold_find(fold, fold->slot[at].pair) != at)
            return false;
    }
    for (uint32_t i = 0; i < fold->sequences; i++) {
        const struct fold_sequence *sequence = &fold->sequence[i];
        if (sequence->count < 2 || sequence->length > FOLD_LONGEST ||
            sequence->min > sequence->sum / sequence->count)
            return false;
    }
    return used == listed + fold->sequences;
}
