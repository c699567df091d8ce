// SPDX-License-Identifier: MIT
/*
 * board: where threads of one process, or of several, publish accesses of theirs, so that others can look whether they touch the same cache lines;
 * which entry and which words of its line a thread watches, how probable that was, and what two touches of a line are to each
 * other. Debug registers, the clock and randomness are the caller's.
 *
 * A ring of the latest publications, without locks: a writer takes a number and with it a place, a reader takes a copy and looks
 * whether the place still has that number. A writer that was interrupted for so long that its place is wanted again, and one
 * that finds such a place, publish nothing; but the place of one that has been at it for BOARD_STALE_ROUNDS is another's: it was killed
 * there. Should it go on after all, what both have written says so by its check.
 *
 * Source: Feather (Chabbi, Wen, Liu, PPoPP 2018) and ComDetective (Sasongko et al., ICS 2019). Rejected: arming the other threads'
 * registers, as in witch §6.3, which interrupts every one of them twice for each sample.
 *
 * Freestanding and async-signal-safe. Any number of threads may use one board at a time; zeroed memory is an empty one. Times are
 * in nanoseconds of one clock.
 */
#ifndef HEADROOM_BOARD_H
#define HEADROOM_BOARD_H

#include "base/base.h"
#include <stdatomic.h>

enum {
    BOARD_ENTRIES = 128, /* 20 ms of 64 threads at 100 samples a second */
    BOARD_LINE_BYTES = 64,
    BOARD_WORD_BYTES = 8,
    BOARD_WORDS = BOARD_LINE_BYTES / BOARD_WORD_BYTES,
    BOARD_STALE_ROUNDS = 8 /* of the ring */
};

/* How an instruction uses a line; bits. */
enum board_kind { BOARD_READS = 1, BOARD_WRITES = 2, BOARD_LOCKED = 4 };

struct board_access {
    uint64_t file; /* of memory that processes share: a number for it, the same in all; else 0 */
    uint64_t line; /* its first address; of such memory: its offset there */
    uint64_t mask; /* bytes of it, bit 0 the first */
    uint64_t at;   /* when */
    uint32_t process, pid; /* image; several may have one pid, one after the other */
    uint32_t thread;       /* who: any number but 0, of all processes */
    uint32_t serial;       /* of that thread */
    uint32_t tid;          /* its number for the kernel, as its own process has it */
    uint32_t generation;   /* of the memory there: it is freed and allocated again */
    float weight;
    uint8_t kind; /* enum board_kind */
};

struct board {
    _Atomic uint64_t next;
    _Alignas(BOARD_LINE_BYTES) struct board_entry {
        _Atomic uint64_t number; /* from 1 on; 0: none yet; BOARD_BUSY: being written */
        uint64_t check;          /* of number and access */
        struct board_access access;
    } entries[BOARD_ENTRIES];
};
#define BOARD_BUSY (UINT64_C(1) << 63)

/* While nobody else uses it: in the child of fork. */
void board_clear(struct board *board);

/* False: nothing was published; see above. */
bool board_publish(struct board *board, const struct board_access *access);

/* May the caller take that entry? Not one of its own thread's, for instance. LIKELY: of a line that several threads are known to have used. */
enum board_fit { BOARD_UNFIT, BOARD_FITS, BOARD_LIKELY };
typedef enum board_fit board_fits(const void *context, const struct board_access *access);

/* What there is to choose from, all zero at first; several boards, one after the other, are one. */
struct board_choice {
    unsigned fitting, likely;            /* entries; likely ones fit, too */
    struct board_access one, likely_one; /* one of each, each as likely; if there are any */
    bool one_is_likely;
};

/* Adds the entries that fit and were published at `since` or later. */
void board_look(const struct board *board, uint64_t since, board_fits *fits, const void *context,
                struct base_random *random, struct board_choice *choice);

/*
 * One of them: every second time a likely one, if there are any, each as likely, else any that fits, each as likely. (Half of the looks at what is
 * worth it, and no entry's chance more than halved: a defensive mixture, Hesterberg, Technometrics 1995.) Returns 1 / the probability that it
 * was this one; 0: there is none, *chosen is untouched. *aimed: it was asked for a likely one.
 */
double board_choose(const struct board_choice *choice, struct base_random *random,
                    struct board_access *chosen, bool *aimed);

/* Bits of `count` different words of a line, at most BOARD_WORDS; each set as likely. */
uint8_t board_words(struct base_random *random, unsigned count);

/* Bytes of [address, + bytes) that are on the line; bytes > 0. */
uint64_t board_mask(uint64_t line, uint64_t address, uint64_t bytes);

/* Probability that at least one word of the mask is among `watched` words of the line that were drawn at random. */
double board_chance(uint64_t mask, unsigned watched);

/*
 * Is a line that a thread touched at most `touches` times while it waited `waits` times handed on with its waits, and not used for a long while
 * in each turn?
 */
enum {
    BOARD_TURN_TOUCHES =
        8, /* of a word: to take a lock takes a few, and to give it back; at most so many for each wait */
    BOARD_TURN_WAITS = 16 /* enough that a turn's end in between is none of the thing */
};
bool board_hands_on(uint64_t touches, uint64_t waits);

enum board_relation {
    BOARD_NOTHING, /* both read */
    BOARD_FALSE,   /* no byte in common */
    BOARD_TRUE
};
enum board_relation board_relate(uint8_t first_kind, uint64_t first_mask, uint8_t second_kind,
                                 uint64_t second_mask);

#endif
