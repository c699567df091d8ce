// SPDX-License-Identifier: MIT
/*
 * transfer: how often cache lines would move between threads that ran at the same time, each on a
 * processor of its own.
 *
 * The order in which an engine runs the threads says nothing of that: it runs one for a long while, then the
 * next. So transfers are not counted as they come. Every thread has a *virtual time*, the instructions that it has
 * executed, and one that waits for another goes on at the other's time, rounded up (transfer_join): what
 * happens before something else has a smaller time. Accesses of a thread to a line that follow each other closely, without a
 * wait in between, are an *interval*: counts by place, bytes and kind, taken to be spread evenly. Where intervals of several
 * threads overlap, every order of their accesses is taken to be equally likely. Then an access of
 * thread t is followed by one of thread u in n_t n_u / N cases on average (N accesses in all); those in
 * which both read move nothing. Where intervals do not overlap, the line moves once, and not at all if the
 * later thread has waited in between.
 *
 * A transfer is true if the two accesses have bytes in common, else false. An access that reads and writes at
 * once, which is what locked instructions do, counts once, as one that writes.
 *
 * Memory is bounded. Lines that a single thread has touched are forgotten when cells run short, the intervals of a line are
 * joined more coarsely and settled early when there are many of them, places that are many on one line lose their callers, and then become
 * place 0; transfer_totals has how often.
 *
 * Freestanding; one struct transfer is used by one thread at a time.
 */
#ifndef HEADROOM_TRANSFER_H
#define HEADROOM_TRANSFER_H

#include "base/base.h"

enum { TRANSFER_LINE_SHIFT = 6, TRANSFER_LINE_BYTES = 1 << TRANSFER_LINE_SHIFT };

enum transfer_kind { TRANSFER_READ = 1, TRANSFER_WRITE = 2, TRANSFER_BOTH = 3 };

/* Threads are numbered from 0; those from the last number on share it in the matrix. */
enum { TRANSFER_MATRIX = 64, TRANSFER_THREADS_MAX = 65535 };

/* Waits end at multiples of this, which a wake-up costs at least; accesses that lie no further apart are one interval. */
enum { TRANSFER_NEAR = 2048 };

/* As shadow_memory. */
struct transfer_memory {
    void *(*map)(void *context, size_t bytes, bool reserve);
    void (*unmap)(void *context, void *memory, size_t bytes);
    void *context;
};

/* What lies on a line. Lines of equal objects and offsets are reported as one. */
struct transfer_object {
    uint32_t number; /* the caller's */
    int64_t offset;  /* of the line in the object, negative if that begins inside it */
};

struct transfer_options {
    uint64_t address_limit; /* all addresses are below */
    uint32_t most_cells;    /* of 64 bytes: intervals and lines */
    uint32_t most_lines;    /* with transfers: reported */
    uint32_t most_pairs;    /* of all of them */
    /* What the line is, when its first transfers are settled. mask: bytes that were written. NULL: object 0 at the
       line's address. */
    struct transfer_object (*identify)(void *context, uint64_t address, uint64_t mask);
    /* The same instruction with fewer of its callers; itself, if there are none. Where places are many. May be NULL. */
    uint32_t (*coarser)(void *context, uint32_t id);
    void *context;
};

/* Two places whose accesses follow each other in different threads; the first one writes. */
struct transfer_pair {
    uint32_t first, second;          /* ids; 0: several, merged */
    uint8_t first_kind, second_kind; /* enum transfer_kind */
    bool is_true;
    uint32_t next;                    /* private */
    double forward, backward;         /* transfers from first to second, and from second to first */
    uint64_t first_mask, second_mask; /* bytes of the line */
};

/* What a thread did on a line, in intervals in which that took part in transfers. */
struct transfer_user {
    uint32_t thread, next; /* next: private */
    uint64_t read_mask, write_mask;
    uint64_t reads, writes; /* accesses; those that do both are writes */
};

struct transfer_line {
    uint64_t address; /* of the first line that this is about */
    struct transfer_object object;
    double true_transfers, false_transfers;
    uint32_t pairs, users, next, pairs_count, coarser; /* private */
};

struct transfer_totals {
    double true_transfers, false_transfers;
    uint64_t evicted;   /* lines of one thread forgotten for lack of cells */
    uint64_t coarsened; /* lines whose intervals were joined more coarsely */
    uint64_t early;     /* lines settled before all threads had come as far */
    uint64_t merged;    /* transfers by places that were too many to be kept apart */
    double unplaced;    /* transfers of lines that were too many to be kept */
    bool exhausted;     /* accesses were left out: no memory */
};

struct transfer; /* private; its size for the caller: */
size_t transfer_bytes(void);

/* memory of transfer_bytes(), 64-byte aligned. BASE_NO_MEMORY: nothing is kept. */
enum base_status transfer_init(struct transfer *transfer, const struct transfer_options *options,
                               const struct transfer_memory *memory);
void transfer_free(struct transfer *transfer);

/* Where a thread is; the caller's, one for each. Zeroed at first. */
struct transfer_clock {
    uint64_t now;   /* its virtual time */
    uint64_t since; /* when it last went on after waiting */
    uint64_t slept; /* the same of waits in the kernel alone */
};

/* What the thread did before is apart from what it does now. */
static inline void transfer_part(struct transfer_clock *clock)
{
    clock->now = clock->since = (clock->now / TRANSFER_NEAR + 1) * TRANSFER_NEAR;
}

/* It wakes others. */
static inline void transfer_wake(struct transfer_clock *clock)
{
    transfer_part(clock);
    clock->slept = clock->since;
}

/* What others did until `then` happens before what this one does from now on; nothing, if it has waited until later than
   that already. It read a word until another one wrote it. */
static inline void transfer_go_on(struct transfer_clock *clock, uint64_t then)
{
    if (then < clock->since)
        return;
    clock->now = then > clock->now ? then : clock->now;
    transfer_part(clock);
}

/* The same, but it slept. */
static inline void transfer_join(struct transfer_clock *clock, uint64_t then)
{
    if (then < clock->since)
        return;
    transfer_go_on(clock, then);
    clock->slept = clock->since;
}

/*
 * An access by thread `thread`, below TRANSFER_THREADS_MAX, at its place `id` (1 and up). Of one that covers several lines each
 * gets its part.
 */
void transfer_access(struct transfer *transfer, uint32_t thread, const struct transfer_clock *clock,
                     uint64_t address, uint32_t bytes, uint32_t id, enum transfer_kind kind);

/* What the thread did on the address's line after `until` is as if it had not happened: it was waiting, for as long as an engine let it. */
void transfer_take_back(struct transfer *transfer, uint32_t thread, uint64_t address,
                        uint64_t until);

/* The memory is another object from now on, or none. To be called before the caller forgets what it was. */
void transfer_forget(struct transfer *transfer, uint64_t address, uint64_t bytes);

/* Settles everything, for the results below; may go on afterwards. */
void transfer_settle(struct transfer *transfer);

/* Counts from zero, and no access was made before: after results were written; after a fork, since they are the parent's. */
void transfer_reset(struct transfer *transfer);

void transfer_totals(const struct transfer *transfer, struct transfer_totals *totals);
/* Lines with transfers, pairs and users of one of them: the next one from *cursor, 0 at first; NULL at the end. */
const struct transfer_line *transfer_next_line(const struct transfer *transfer, uint32_t *cursor);
const struct transfer_pair *transfer_next_pair(const struct transfer *transfer,
                                               const struct transfer_line *line, uint32_t *cursor);
const struct transfer_user *transfer_next_user(const struct transfer *transfer,
                                               const struct transfer_line *line, uint32_t *cursor);
/* Transfers from thread `from` to thread `to`, each below TRANSFER_MATRIX. */
double transfer_between(const struct transfer *transfer, uint32_t from, uint32_t to);

bool transfer_check(const struct transfer *transfer);

#endif
