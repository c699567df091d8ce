// SPDX-License-Identifier: MIT
/*
 * util: what grows in the host's memory. Arrays, a hash index over the items of an array, an
 * interner of strings, a builder of text; and directories for a moment.
 *
 * Built for up to some 10^8 items that are added and never removed one by one. Items are numbered
 * by 32 bits, as ids in logs and profiles are. Everything is zero at first ({0} is empty and
 * valid), is the caller's, and is for one thread at a time. Memory is malloc's.
 *
 * Nothing prints or exits: what fails says so by its result, and then what was there before is as
 * it was. Preconditions are asserted.
 */
#ifndef HEADROOM_UTIL_H
#define HEADROOM_UTIL_H

#include "base/base.h"

/* No item: items are numbered from 0 to UTIL_ITEMS_MAX - 1. */
#define UTIL_NONE      UINT32_MAX
#define UTIL_ITEMS_MAX UINT32_MAX

/* ---- arrays --------------------------------------------------------------------------------- */

/*
 * An array is three variables, most often members of one struct: a pointer (NULL at first), how
 * many items there are (any unsigned type), and for how many there is memory (size_t). Its owner
 * frees the pointer. Not one struct of a generic array: what reads the items needs their pointer
 * and count alone, in headers that need not know how they grew. Arguments may be evaluated more
 * than once.
 *
 * Capacities double, from UTIL_ARRAY_FIRST items: n items are moved at most 2 n times in all.
 */
enum { UTIL_ARRAY_FIRST = 64 };

/*
 * Grows the array, if need be, so that items[index] lies in it; what is new is not initialised.
 * Pointers to its items are then invalid. False: no memory, or index is not below UTIL_ITEMS_MAX.
 */
#define UTIL_GROW(items, capacity, index) util_grow(&(items), &(capacity), (index), sizeof *(items))

/* The same, and what is new, up to the capacity, is zero. */
#define UTIL_GROW_ZEROED(items, capacity, index)                                                   \
    util_grow_zeroed(&(items), &(capacity), (index), sizeof *(items))

/* Appends an item: a value, or a struct in braces behind its type. False as above: nothing was
 * appended. */
#define UTIL_PUSH(items, count, capacity, ...)                                                     \
    (UTIL_GROW(items, capacity, count) && ((items)[(count)++] = (__VA_ARGS__), true))

/* What the macros call. items: address of a pointer to items of item_bytes > 0. */
bool util_grow(void *items, size_t *capacity, size_t index, size_t item_bytes);
bool util_grow_zeroed(void *items, size_t *capacity, size_t index, size_t item_bytes);

/* ---- hash index ----------------------------------------------------------------------------- */

/*
 * Numbers of items by their keys; the items are kept by the caller, in an array or elsewhere. Open
 * addressing with linear probing, at most half full. A slot has the item's number and 32 bits of
 * its hash: a search in a large index costs one miss of the cache besides that of the item it
 * finds, and growing needs no item.
 */
struct util_slot {
    uint32_t hash;
    uint32_t item; /* + 1; 0: empty */
};

struct util_index {
    struct util_slot *slots;
    size_t count, capacity; /* capacity: 0 or a power of two */
};

/* Has that item the key? items: what was given to the function that asks. */
typedef bool util_equal(const void *items, uint32_t item, const void *key);

/*
 * *item: the number of the item with that key; if there is none, `next`, which then is in the
 * index: the caller appends that item before the next search. *found: was there one? next: in no
 * item of the index, below UTIL_NONE. hash: of the key; keys may differ in any of its 64 bits
 * (base_mix64, base_hash_bytes). False: no memory.
 *
 * Memory for the item is best made before, so that nothing can fail once its number is entered.
 */
bool util_index_enter(struct util_index *index, uint64_t hash, util_equal *equal, const void *items,
                      const void *key, uint32_t next, uint32_t *item, bool *found);

/* With up to `count` items nothing more is allocated, and util_index_enter cannot fail. False: no
 * memory. */
bool util_index_reserve(struct util_index *index, size_t count);

/* The number of the item with that key. False: there is none. */
bool util_index_find(const struct util_index *index, uint64_t hash, util_equal *equal,
                     const void *items, const void *key, uint32_t *item);

/* Empty again, with the memory kept. */
void util_index_clear(struct util_index *index);
void util_index_free(struct util_index *index);

/* Is all as it must be: each slot found from its hash, count right, at most half full? Slow: for
 * tests. */
bool util_index_check(const struct util_index *index);

/* ---- strings --------------------------------------------------------------------------------- */

/*
 * An interner: equal texts are kept once, numbered from 0 in the order in which they came.
 * texts[number] lies where it is until the interner is freed, also while others are added.
 */
struct util_strings {
    const char **texts;
    size_t count, capacity;
    struct util_index index;
    struct util_block *blocks; /* copies of the texts, the newest block first */
};

/* The number of the text of `bytes` bytes, none of them 0; copied and ended by a 0 when it is new.
   False: no memory. */
bool util_strings_add(struct util_strings *strings, const char *text, size_t bytes,
                      uint32_t *number);

/* The number of that text. False: it was never added. */
bool util_strings_find(const struct util_strings *strings, const char *text, size_t bytes,
                       uint32_t *number);

void util_strings_free(struct util_strings *strings);

/* As util_index_check, and no text twice. */
bool util_strings_check(const struct util_strings *strings);

/* ---- text ------------------------------------------------------------------------------------ */

/*
 * Bytes that are appended to: text, or what else has no end known before. A 0 follows the last byte
 * always, uncounted; bytes is NULL until something is added. `failed` stays once memory ran out,
 * and from then on nothing is added: whoever builds a text of many parts asks once, at the end. The
 * owner may take `bytes` (and free it), leaving {0}.
 */
struct util_text {
    char *bytes;
    size_t count, capacity;
    bool failed;
};

/* Each is false if the text has failed, now or before. */
bool util_text_add(struct util_text *text, const void *bytes, size_t count);
__attribute__((format(printf, 2, 3))) bool util_text_print(struct util_text *text,
                                                           const char *format, ...);

/* Makes room for `more` bytes and the 0 behind bytes[count]: whoever writes them there adds to
   count and ends them by a 0. */
bool util_text_reserve(struct util_text *text, size_t more);

void util_text_free(struct util_text *text);

/* ---- directories for a moment --------------------------------------------------------------- */

/* $TMPDIR if that is an absolute path, else /tmp. */
const char *util_temporary_root(void);

/*
 * Makes an empty directory ROOT/NAME.XXXXXX, for this user alone; its maker removes it. False: errno says why, and path, which then may be
 * cut, what was to be made.
 */
bool util_temporary_directory(const char *root, const char *name, char *path, size_t bytes);

#endif
