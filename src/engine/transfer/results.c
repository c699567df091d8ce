// SPDX-License-Identifier: MIT
/* Transfers by object, by places and by threads. */
#include "transfer/internal.h"

#include <string.h>

enum { USERS_EACH = 4 }; /* of a line on average; those beyond are left out */

static uint32_t buckets_count(const struct transfer *transfer)
{
    uint32_t count = 64;
    while (count < transfer->options.most_lines * 2)
        count *= 2;
    return count;
}

static uint64_t most_users(const struct transfer *transfer)
{
    return transfer->options.most_lines * (uint64_t)USERS_EACH;
}

enum base_status transfer_results_init(struct transfer *transfer)
{
    const struct transfer_options *options = &transfer->options;
    transfer->results =
        transfer_map(transfer, options->most_lines + 1ULL, sizeof *transfer->results);
    transfer->pairs = transfer_map(transfer, options->most_pairs + 1ULL, sizeof *transfer->pairs);
    transfer->users = transfer_map(transfer, most_users(transfer) + 1, sizeof *transfer->users);
    transfer->buckets = transfer_map(transfer, buckets_count(transfer), sizeof *transfer->buckets);
    transfer->results_used = transfer->pairs_used = transfer->users_used = 1;
    return transfer->results && transfer->pairs && transfer->users && transfer->buckets
               ? BASE_OK
               : BASE_NO_MEMORY;
}

void transfer_results_free(struct transfer *transfer)
{
    const struct transfer_options *options = &transfer->options;
    transfer_unmap(transfer, transfer->results, options->most_lines + 1ULL,
                   sizeof *transfer->results);
    transfer_unmap(transfer, transfer->pairs, options->most_pairs + 1ULL, sizeof *transfer->pairs);
    transfer_unmap(transfer, transfer->users, most_users(transfer) + 1, sizeof *transfer->users);
    transfer_unmap(transfer, transfer->buckets, buckets_count(transfer), sizeof *transfer->buckets);
}

void transfer_results_reset(struct transfer *transfer)
{
    memset(transfer->buckets, 0, buckets_count(transfer) * sizeof *transfer->buckets);
    memset(transfer->matrix, 0, sizeof transfer->matrix);
    transfer->results_used = transfer->pairs_used = transfer->users_used = 1;
    transfer->free_pair = 0;
    transfer->totals = (struct transfer_totals){.exhausted = transfer->totals.exhausted};
}

struct transfer_line *transfer_result(struct transfer *transfer, uint64_t line, uint64_t mask)
{
    uint64_t address = line << TRANSFER_LINE_SHIFT;
    struct transfer_object object = {0, (int64_t)address};
    if (transfer->options.identify)
        object = transfer->options.identify(transfer->options.context, address, mask);
    uint64_t hash = base_mix64((uint64_t)object.offset * 31 + object.number);
    uint32_t *bucket = &transfer->buckets[hash & (buckets_count(transfer) - 1)];
    for (uint32_t at = *bucket; at; at = transfer->results[at].next) {
        struct transfer_line *known = &transfer->results[at];
        if (known->object.number != object.number || known->object.offset != object.offset)
            continue;
        return known;
    }
    if (transfer->results_used > transfer->options.most_lines)
        return NULL;
    struct transfer_line *made = &transfer->results[transfer->results_used];
    *made = (struct transfer_line){.address = address, .object = object, .next = *bucket};
    *bucket = transfer->results_used++;
    return made;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static bool is_pair(const struct transfer_pair *pair, const struct accessor *first,
                    const struct accessor *second, bool is_true)
{
    return pair->first == first->id && pair->second == second->id &&
           pair->first_kind == first->kind && pair->second_kind == second->kind &&
           pair->is_true == is_true;
}

static struct transfer_pair *find_pair(struct transfer *transfer, struct transfer_line *result,
                                       const struct accessor *first, const struct accessor *second,
                                       bool is_true)
{
    for (uint32_t at = result->pairs; at; at = transfer->pairs[at].next)
        if (is_pair(&transfer->pairs[at], first, second, is_true))
            return &transfer->pairs[at];
    return NULL;
}

/* Of those with places; NULL: there is none. */
static struct transfer_pair *lightest_pair(struct transfer *transfer, struct transfer_line *result)
{
    struct transfer_pair *lightest = NULL;
    for (uint32_t at = result->pairs; at; at = transfer->pairs[at].next) {
        struct transfer_pair *pair = &transfer->pairs[at];
        if ((pair->first || pair->second) &&
            (!lightest || pair->forward + pair->backward < lightest->forward + lightest->backward))
            lightest = pair;
    }
    return lightest;
}

static struct transfer_pair named(const struct accessor *first, const struct accessor *second,
                                  bool is_true, uint32_t next)
{
    return (struct transfer_pair){.first = first->id,
                                  .second = second->id,
                                  .first_kind = first->kind,
                                  .second_kind = second->kind,
                                  .is_true = is_true,
                                  .next = next};
}

static struct transfer_pair *new_pair(struct transfer *transfer, struct transfer_line *result,
                                      struct transfer_pair made)
{
    uint32_t number = transfer->free_pair;
    if (number)
        transfer->free_pair = transfer->pairs[number].next;
    else if (transfer->pairs_used <= transfer->options.most_pairs)
        number = transfer->pairs_used++;
    else
        return NULL;
    transfer->pairs[number] = made;
    result->pairs = number;
    result->pairs_count++;
    return &transfer->pairs[number];
}

/* Adds up in the pair of place 0, of which there are few, what `pair` has. False: there is no room even for that. */
static bool merge_pair(struct transfer *transfer, struct transfer_line *result,
                       const struct transfer_pair *pair)
{
    struct accessor first = {.kind = pair->first_kind & 3},
                    second = {.kind = pair->second_kind & 3};
    struct transfer_pair *all = find_pair(transfer, result, &first, &second, pair->is_true);
    if (!all)
        all = new_pair(transfer, result, named(&first, &second, pair->is_true, result->pairs));
    if (!all)
        return false;
    transfer_join_pairs(all, pair);
    transfer->totals.merged++;
    return true;
}

/* As for the accessors of an interval: see make_way. */
static bool makes_way(const struct transfer *transfer, const struct transfer_pair *lightest,
                      const struct accessor *first, const struct accessor *second, double amount)
{
    uint64_t random =
        base_mix64(((uint64_t)first->id << 32 | second->id) ^ base_mix64(transfer->totals.merged));
    double draw = (double)(random >> 11) * 0x1p-53;
    return draw * (amount + lightest->forward + lightest->backward) < amount;
}

static bool is_full(const struct transfer *transfer, const struct transfer_line *result)
{
    enum { KEPT_BACK = 64 };
    return result->pairs_count >= LINE_PAIRS ||
           (!transfer->free_pair &&
            transfer->pairs_used + KEPT_BACK > transfer->options.most_pairs);
}

/* Where there are as many as there may be: one of no place, or another one makes way. NULL: no room. */
static struct transfer_pair *pair_among_many(struct transfer *transfer,
                                             struct transfer_line *result, struct accessor first,
                                             struct accessor second, bool is_true, double amount)
{
    struct transfer_pair *lightest = lightest_pair(transfer, result), *found;
    if (lightest && makes_way(transfer, lightest, &first, &second, amount)) {
        if (!merge_pair(transfer, result, lightest))
            return NULL;
        *lightest = named(&first, &second, is_true, lightest->next);
        return lightest;
    }
    transfer->totals.merged += first.id || second.id;
    first.id = second.id = 0;
    found = find_pair(transfer, result, &first, &second, is_true);
    return found ? found
                 : new_pair(transfer, result, named(&first, &second, is_true, result->pairs));
}

/* The one that writes comes first; of two that do, the smaller id. */
static bool in_order(const struct accessor *a, const struct accessor *b)
{
    bool a_writes = a->kind & TRANSFER_WRITE, b_writes = b->kind & TRANSFER_WRITE;
    return a_writes != b_writes ? a_writes : a->id <= b->id;
}

static struct transfer_pair *find_either(struct transfer *transfer, struct transfer_line *result,
                                         const struct accessor *a, const struct accessor *b,
                                         bool is_true)
{
    return in_order(a, b) ? find_pair(transfer, result, a, b, is_true)
                          : find_pair(transfer, result, b, a, is_true);
}

/* The pair to which `amount` is to be added; a and b become its places, which lose callers where pairs are many. NULL: no room. */
static struct transfer_pair *pair_of(struct transfer *transfer, struct transfer_line *result,
                                     struct accessor *a, struct accessor *b, bool is_true,
                                     double amount)
{
    uint32_t times = result->coarser;
    for (struct transfer_pair *found;; times = 1) {
        a->id = transfer_coarser(transfer, a->id, times);
        b->id = transfer_coarser(transfer, b->id, times);
        found = find_either(transfer, result, a, b, is_true);
        if (found)
            return found;
        if (!is_full(transfer, result) || !transfer->options.coarser ||
            result->coarser == COARSER_TIMES)
            break;
        transfer_coarsen_pairs(transfer, result);
    }
    const struct accessor *first = in_order(a, b) ? a : b, *second = first == a ? b : a;
    if (is_full(transfer, result))
        return pair_among_many(transfer, result, *first, *second, is_true, amount);
    return new_pair(transfer, result, named(first, second, is_true, result->pairs));
}

static uint32_t in_matrix(uint32_t thread)
{
    return thread < TRANSFER_MATRIX ? thread : TRANSFER_MATRIX - 1;
}

void transfer_add(struct transfer *transfer, struct transfer_line *result, uint32_t from,
                  const struct accessor *a, uint32_t to, const struct accessor *b, double amount)
{
    bool is_true = (a->mask & b->mask) != 0;
    *(is_true ? &transfer->totals.true_transfers : &transfer->totals.false_transfers) += amount;
    transfer->matrix[in_matrix(from)][in_matrix(to)] += amount;
    if (!result) {
        transfer->totals.unplaced += amount;
        return;
    }
    *(is_true ? &result->true_transfers : &result->false_transfers) += amount;
    struct accessor places[2] = {*a, *b};
    struct transfer_pair *pair = pair_of(transfer, result, &places[0], &places[1], is_true, amount);
    if (!pair)
        return;
    bool forward = in_order(&places[0], &places[1]);
    *(forward ? &pair->forward : &pair->backward) += amount;
    pair->first_mask |= forward ? a->mask : b->mask;
    pair->second_mask |= forward ? b->mask : a->mask;
}

/* ---- users ---------------------------------------------------------------------------------- */

void transfer_add_user(struct transfer *transfer, struct transfer_line *result, uint32_t thread,
                       const struct accessor *a, double count)
{
    uint32_t at = result->users;
    while (at && transfer->users[at].thread != thread)
        at = transfer->users[at].next;
    if (!at) {
        if (transfer->users_used > most_users(transfer))
            return;
        at = transfer->users_used++;
        transfer->users[at] = (struct transfer_user){.thread = thread, .next = result->users};
        result->users = at;
    }
    struct transfer_user *user = &transfer->users[at];
    if (a->kind & TRANSFER_READ)
        user->read_mask |= a->mask;
    if (a->kind & TRANSFER_WRITE)
        user->write_mask |= a->mask;
    *(a->kind & TRANSFER_WRITE ? &user->writes : &user->reads) += (uint64_t)(count + 0.5);
}

/* ---- for the caller -------------------------------------------------------------------------- */

void transfer_totals(const struct transfer *transfer, struct transfer_totals *totals)
{
    *totals = transfer->totals;
}

const struct transfer_line *transfer_next_line(const struct transfer *transfer, uint32_t *cursor)
{
    return *cursor + 1 < transfer->results_used ? &transfer->results[++*cursor] : NULL;
}

/* Cursors are the items last visited, plus one: 0 is before the first. */
const struct transfer_pair *transfer_next_pair(const struct transfer *transfer,
                                               const struct transfer_line *line, uint32_t *cursor)
{
    uint32_t at = *cursor ? transfer->pairs[*cursor].next : line->pairs;
    if (!at)
        return NULL;
    *cursor = at;
    return &transfer->pairs[at];
}

const struct transfer_user *transfer_next_user(const struct transfer *transfer,
                                               const struct transfer_line *line, uint32_t *cursor)
{
    uint32_t at = *cursor ? transfer->users[*cursor].next : line->users;
    if (!at)
        return NULL;
    *cursor = at;
    return &transfer->users[at];
}

double transfer_between(const struct transfer *transfer, uint32_t from, uint32_t to)
{
    return transfer->matrix[from][to];
}
