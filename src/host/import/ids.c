// SPDX-License-Identifier: MIT
/*
 * Numbers by id. Ids are dense where nothing was lost, so this is an array; but a log may be
 * damaged or hostile, and one record with a large id must not cost what all the records before it
 * would have: the array is in pieces, and only those that hold an id take memory. 128 ids a piece
 * (512 bytes) are some ten times the record that fills one; the table of the pieces grows to 16 MiB
 * for the largest id there may be. A hash table would be as frugal, and slower by a cache miss for
 * each of the many millions of nodes of an exact recording.
 */
#include "import/internal.h"

#include <stdlib.h>

enum { PIECE_IDS = 128 };

uint32_t import_ids_get(const struct import_ids *ids, uint32_t id)
{
    uint32_t piece = id / PIECE_IDS;
    return piece < ids->capacity && ids->pieces[piece] ? ids->pieces[piece][id % PIECE_IDS] : 0;
}

bool import_ids_set(struct import_ids *ids, uint32_t id, uint32_t number)
{
    uint32_t piece = id / PIECE_IDS;
    if (id > IMPORT_IDS_MAX || !UTIL_GROW_ZEROED(ids->pieces, ids->capacity, piece))
        return false;
    if (!ids->pieces[piece]) {
        if (!UTIL_GROW_ZEROED(ids->filled, ids->filled_capacity, ids->filled_count) ||
            !(ids->pieces[piece] = calloc(PIECE_IDS, sizeof **ids->pieces)))
            return false;
        ids->filled[ids->filled_count++] = piece;
    }
    ids->pieces[piece][id % PIECE_IDS] = number;
    return true;
}

void import_ids_clear(struct import_ids *ids)
{
    for (size_t i = 0; i < ids->filled_count; i++) {
        free(ids->pieces[ids->filled[i]]);
        ids->pieces[ids->filled[i]] = NULL;
    }
    ids->filled_count = 0;
}

void import_ids_free(struct import_ids *ids)
{
    import_ids_clear(ids);
    free(ids->pieces);
    free(ids->filled);
    *ids = (struct import_ids){0};
}
