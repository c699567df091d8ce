// SPDX-License-Identifier: MIT
#include "board/board.h"

void board_clear(struct board *board)
{
    for (unsigned i = 0; i < BOARD_ENTRIES; i++)
        atomic_store_explicit(&board->entries[i].number, 0, memory_order_relaxed);
    atomic_store_explicit(&board->next, 0, memory_order_relaxed);
}

static uint64_t check_of(uint64_t number, const struct board_access *access)
{
    uint64_t check = base_mix64(number ^ access->file);
    check = base_mix64(check ^ access->line);
    check = base_mix64(check ^ access->mask);
    check = base_mix64(check ^ access->at);
    check = base_mix64(check ^ ((uint64_t)access->process << 32 | access->pid));
    check = base_mix64(check ^ ((uint64_t)access->thread << 32 | access->serial));
    return base_mix64(check ^ ((uint64_t)access->generation << 32 | access->kind));
}

/* Is the place free for that number? A killed writer's becomes so. */
static bool may_take(uint64_t former, uint64_t number)
{
    uint64_t since = former & ~BOARD_BUSY;
    return former & BOARD_BUSY ? since + BOARD_STALE_ROUNDS * BOARD_ENTRIES <= number
                               : since <= number;
}

bool board_publish(struct board *board, const struct board_access *access)
{
    uint64_t number = atomic_fetch_add_explicit(&board->next, 1, memory_order_relaxed) + 1;
    struct board_entry *entry = &board->entries[number % BOARD_ENTRIES];
    uint64_t former = atomic_load_explicit(&entry->number, memory_order_relaxed);
    uint64_t taken = number | BOARD_BUSY;
    if (!may_take(former, number) ||
        !atomic_compare_exchange_strong_explicit(&entry->number, &former, taken,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_thread_fence(memory_order_release);
    entry->access = *access;
    entry->check = check_of(number, access);
    return atomic_compare_exchange_strong_explicit(&entry->number, &taken, number,
                                                   memory_order_release, memory_order_relaxed);
}

/* False: it is being written, or has been since. */
static bool copy(const struct board_entry *entry, uint64_t number, struct board_access *access)
{
    if (atomic_load_explicit(&entry->number, memory_order_acquire) != number)
        return false;
    *access = entry->access;
    uint64_t check = entry->check;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&entry->number, memory_order_relaxed) == number &&
           check == check_of(number, access);
}

static void offer(struct board_choice *choice, const struct board_access *access,
                  enum board_fit fit, struct base_random *random)
{
    if (fit == BOARD_UNFIT)
        return;
    if (base_random_below(random, ++choice->fitting) == 0) {
        choice->one = *access;
        choice->one_is_likely = fit == BOARD_LIKELY;
    }
    if (fit == BOARD_LIKELY && base_random_below(random, ++choice->likely) == 0)
        choice->likely_one = *access;
}

/* Backwards from the latest: the n-th that fits takes the place of the one held with probability 1 / n. Publications become visible in
   about the order of their numbers, not quite: one that is too old does not end the search, a few in a row do. */
void board_look(const struct board *board, uint64_t since, board_fits *fits, const void *context,
                struct base_random *random, struct board_choice *choice)
{
    enum { OLD_MAX = 4 };
    uint64_t latest = atomic_load_explicit(&board->next, memory_order_acquire);
    unsigned old = 0;
    for (uint64_t i = 0; i < BOARD_ENTRIES && i < latest && old < OLD_MAX; i++) {
        struct board_access access;
        uint64_t number = latest - i;
        if (!copy(&board->entries[number % BOARD_ENTRIES], number, &access))
            continue;
        if (access.at < since)
            old++;
        else
            offer(choice, &access, fits(context, &access), random);
    }
}

double board_choose(const struct board_choice *choice, struct base_random *random,
                    struct board_access *chosen, bool *aimed)
{
    if (!choice->fitting)
        return 0;
    *aimed = choice->likely && base_random_below(random, 2) == 0;
    *chosen = *aimed ? choice->likely_one : choice->one;
    double any = 1.0 / choice->fitting;
    if (!choice->likely)
        return choice->fitting;
    bool is_likely = *aimed || choice->one_is_likely;
    return 2 / (any + (is_likely ? 1.0 / choice->likely : 0));
}

uint8_t board_words(struct base_random *random, unsigned count)
{
    uint8_t words = 0;
    for (unsigned left = BOARD_WORDS; left > 0; left--)
        if (base_random_below(random, left) < count) {
            words |= (uint8_t)(1u << (left - 1));
            count--;
        }
    return words;
}

uint64_t board_mask(uint64_t line, uint64_t address, uint64_t bytes)
{
    uint64_t low = address > line ? address - line : 0;
    uint64_t high = address + bytes > line ? address + bytes - line : 0;
    high = high > BOARD_LINE_BYTES ? BOARD_LINE_BYTES : high;
    if (low >= high)
        return 0;
    uint64_t count = high - low;
    return (count == BOARD_LINE_BYTES ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1) << low;
}

/* One less the probability that all that are watched are among the words that the mask leaves out. */
double board_chance(uint64_t mask, unsigned watched)
{
    unsigned others = 0;
    double missed = 1;
    for (unsigned word = 0; word < BOARD_WORDS; word++)
        others += !(mask >> (word * BOARD_WORD_BYTES) & 0xff);
    for (unsigned i = 0; i < watched && i < BOARD_WORDS; i++)
        missed *= others > i ? (double)(others - i) / (double)(BOARD_WORDS - i) : 0;
    return 1 - missed;
}

bool board_hands_on(uint64_t touches, uint64_t waits)
{
    return waits >= BOARD_TURN_WAITS && touches <= waits * BOARD_TURN_TOUCHES;
}

enum board_relation board_relate(uint8_t first_kind, uint64_t first_mask, uint8_t second_kind,
                                 uint64_t second_mask)
{
    if (!((first_kind | second_kind) & BOARD_WRITES))
        return BOARD_NOTHING;
    return first_mask & second_mask ? BOARD_TRUE : BOARD_FALSE;
}
