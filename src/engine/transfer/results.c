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

/* The line's pair of the same places; NULL. */
static struct transfer_pair *find_pair(struct transfer *transfer, struct transfer_line *result,
                                       const struct transfer_pair *wanted)
{
    for (uint32_t at = result->pairs; at; at = transfer->pairs[at].next)
        if (transfer_same_pair(&transfer->pairs[at], wanted))
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

/* False: there is none. */
static bool join_pair(struct transfer *transfer, struct transfer_line *result,
                      const struct transfer_pair *added)
{
    struct transfer_pair *found = find_pair(transfer, result, added);
    if (found)
        transfer_join_pairs(found, added);
    return found != NULL;
}

/* False: there is no room. */
static bool push_pair(struct transfer *transfer, struct transfer_line *result,
                      const struct transfer_pair *added)
{
    uint32_t number = transfer->free_pair;
    if (number)
        transfer->free_pair = transfer->pairs[number].next;
    else if (transfer->pairs_used <= transfer->options.most_pairs)
        number = transfer->pairs_used++;
    else
        return false;
    transfer->pairs[number] = *added;
    transfer->pairs[number].next = result->pairs;
    result->pairs = number;
    result->pairs_count++;
    return true;
}

/* To the pair of place 0, of which there are few. */
static bool merge_pair(struct transfer *transfer, struct transfer_line *result,
                       struct transfer_pair pair)
{
    transfer->totals.merged += pair.first || pair.second;
    pair.first = pair.second = 0;
    return join_pair(transfer, result, &pair) || push_pair(transfer, result, &pair);
}

/* As for the accessors of an interval: see make_way. */
static bool makes_way(const struct transfer *transfer, const struct transfer_pair *lightest,
                      const struct transfer_pair *added)
{
    uint64_t random = base_mix64(((uint64_t)added->first << 32 | added->second) ^
                                 base_mix64(transfer->totals.merged));
    double draw = (double)(random >> 11) * 0x1p-53, amount = added->forward + added->backward;
    return draw * (amount + lightest->forward + lightest->backward) < amount;
}

static bool is_full(const struct transfer *transfer, const struct transfer_line *result)
{
    enum { KEPT_BACK = 64 };
    return result->pairs_count >= LINE_PAIRS ||
           (!transfer->free_pair &&
            transfer->pairs_used + KEPT_BACK > transfer->options.most_pairs);
}

/* Where there are as many as there may be: it is of no place, or another one makes way. */
static void add_among_many(struct transfer *transfer, struct transfer_line *result,
                           const struct transfer_pair *added)
{
    struct transfer_pair *lightest = lightest_pair(transfer, result);
    if (!lightest || !makes_way(transfer, lightest, added)) {
        merge_pair(transfer, result, *added);
    } else if (merge_pair(transfer, result, *lightest)) {
        uint32_t next = lightest->next;
        *lightest = *added;
        lightest->next = next;
    }
}

/* Its places lose callers where pairs are many. */
static void add_pair(struct transfer *transfer, struct transfer_line *result,
                     struct transfer_pair added)
{
    for (uint32_t times = result->coarser;; times = 1) {
        transfer_coarsen_pair(transfer, &added, times);
        if (join_pair(transfer, result, &added))
            return;
        if (!is_full(transfer, result)) {
            push_pair(transfer, result, &added);
            return;
        }
        if (!transfer->options.coarser || result->coarser == COARSER_TIMES)
            break;
        transfer_coarsen_pairs(transfer, result);
    }
    add_among_many(transfer, result, &added);
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
    add_pair(transfer, result,
             (struct transfer_pair){.first = a->id,
                                    .second = b->id,
                                    .first_kind = a->kind,
                                    .second_kind = b->kind,
                                    .is_true = is_true,
                                    .forward = amount,
                                    .first_mask = a->mask,
                                    .second_mask = b->mask});
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
