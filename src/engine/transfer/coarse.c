// SPDX-License-Identifier: MIT
/*
 * Places that are too many to be kept apart become coarser ones, as far as the caller has such: the same instruction with
 * fewer of its callers. What is equal then is joined.
 */
#include "transfer/internal.h"

uint32_t transfer_coarser(const struct transfer *transfer, uint32_t id, uint32_t times)
{
    const struct transfer_options *options = &transfer->options;
    for (; id && times && options->coarser; times--)
        id = options->coarser(options->context, id);
    return id;
}

/* ---- an interval's accessors ------------------------------------------------------------------ */

static void join(struct accessor *kept, unsigned *count, const struct accessor *added)
{
    for (unsigned i = 0; i < *count; i++)
        if (kept[i].id == added->id && kept[i].mask == added->mask && kept[i].kind == added->kind &&
            kept[i].count <= COUNT_MAX - added->count) {
            kept[i].count += added->count;
            return;
        }
    kept[(*count)++] = *added;
}

void transfer_coarsen_interval(struct transfer *transfer, struct cell *interval)
{
    struct accessor kept[ACCESSORS], *accessor;
    unsigned count = 0, before = 0;
    for (; before < ACCESSORS && (accessor = accessor_of(transfer, interval, before)); before++) {
        struct accessor coarse = *accessor;
        coarse.id = transfer_coarser(transfer, coarse.id, 1);
        join(kept, &count, &coarse);
    }
    for (unsigned i = 0; i < before && (accessor = accessor_of(transfer, interval, i)); i++) {
        if (i < count)
            *accessor = kept[i];
        else
            accessor->count = 0;
    }
    interval->coarser++;
}

/* ---- a line's pairs --------------------------------------------------------------------------- */

/* The one that writes comes first; of two that do, the smaller id. */
static void put_in_order(struct transfer_pair *pair)
{
    bool first_writes = pair->first_kind & TRANSFER_WRITE;
    bool second_writes = pair->second_kind & TRANSFER_WRITE;
    if (first_writes != second_writes ? first_writes : pair->first <= pair->second)
        return;
    struct transfer_pair as_it_was = *pair;
    pair->first = as_it_was.second;
    pair->second = as_it_was.first;
    pair->first_kind = as_it_was.second_kind;
    pair->second_kind = as_it_was.first_kind;
    pair->forward = as_it_was.backward;
    pair->backward = as_it_was.forward;
    pair->first_mask = as_it_was.second_mask;
    pair->second_mask = as_it_was.first_mask;
}

void transfer_coarsen_pair(const struct transfer *transfer, struct transfer_pair *pair,
                           uint32_t times)
{
    pair->first = transfer_coarser(transfer, pair->first, times);
    pair->second = transfer_coarser(transfer, pair->second, times);
    put_in_order(pair);
}

bool transfer_same_pair(const struct transfer_pair *a, const struct transfer_pair *b)
{
    return a->first == b->first && a->second == b->second && a->first_kind == b->first_kind &&
           a->second_kind == b->second_kind && a->is_true == b->is_true;
}

void transfer_join_pairs(struct transfer_pair *all, const struct transfer_pair *added)
{
    all->forward += added->forward;
    all->backward += added->backward;
    all->first_mask |= added->first_mask;
    all->second_mask |= added->second_mask;
}

void transfer_coarsen_pairs(struct transfer *transfer, struct transfer_line *result)
{
    struct transfer_pair *pairs = transfer->pairs;
    for (uint32_t at = result->pairs; at; at = pairs[at].next)
        transfer_coarsen_pair(transfer, &pairs[at], 1);
    for (uint32_t at = result->pairs; at; at = pairs[at].next)
        for (uint32_t *link = &pairs[at].next; *link;) {
            uint32_t other = *link;
            if (!transfer_same_pair(&pairs[at], &pairs[other])) {
                link = &pairs[other].next;
                continue;
            }
            transfer_join_pairs(&pairs[at], &pairs[other]);
            *link = pairs[other].next;
            pairs[other].next = transfer->free_pair;
            transfer->free_pair = other;
            result->pairs_count--;
        }
    result->coarser++;
}
