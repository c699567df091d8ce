// SPDX-License-Identifier: MIT
/*
 * Lengths of the shortest routes between all pairs of towns (Floyd 1962, Warshall 1962), as in the
 * floyd-warshall kernel of PolyBench: routes [TOWNS]
 *
 * The algorithm admits one town after the other as a stop on the way and each time passes
 * over the whole table. With -DFIXED the table is cut into tiles, and all stops within a tile
 * are admitted for one tile of the table after the other (Venkataraman, Sahni and Mukhopadhyaya
 * 2003). Lengths are integers and shortest lengths unique, so the results are the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Longer than any route, and twice as much still fits. */
enum { NO_ROAD = 1 << 29 };

struct table {
    int towns;
    int32_t *lengths; /* row by row */
};

static int32_t *row_of(const struct table *table, int town)
{
    return table->lengths + (size_t)town * table->towns;
}

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

static struct table create_table(int towns)
{
    struct table table = {towns, malloc((size_t)towns * towns * sizeof(int32_t))};
    if (!table.lengths) {
        fprintf(stderr, "routes: not enough memory\n");
        exit(1);
    }
    for (int from = 0; from < towns; from++)
        for (int to = 0; to < towns; to++)
            row_of(&table, from)[to] = from == to ? 0 : NO_ROAD;
    return table;
}

/* A road to the next town, so that all can be reached, and some to towns anywhere; one way each. */
static void build_roads(struct table *table, int roads_per_town)
{
    uint32_t state = 1;
    for (int from = 0; from < table->towns; from++) {
        row_of(table, from)[(from + 1) % table->towns] = 1000;
        for (int road = 0; road < roads_per_town; road++) {
            int to = (int)((next_random(&state) >> 8) % (uint32_t)table->towns);
            int32_t length = 1 + (int32_t)(next_random(&state) >> 22);
            if (length < row_of(table, from)[to])
                row_of(table, from)[to] = length;
        }
    }
}

/* Routes of one town to those in [first, end), by way of another: lengths of the way there plus
 * further. */
static void shorten(int32_t *restrict lengths, const int32_t *restrict further, int32_t there,
                    int first, int end)
{
    for (int to = first; to < end; to++) {
        int32_t length = there + further[to];
        lengths[to] = length < lengths[to] ? length : lengths[to];
    }
}

#ifndef FIXED

static void admit_stop(struct table *table, int stop)
{
    for (int from = 0; from < table->towns; from++)
        if (from != stop) /* nothing is gained by going from a town to itself */
            shorten(row_of(table, from), row_of(table, stop), row_of(table, from)[stop], 0,
                    table->towns);
}

static void find_routes(struct table *table)
{
    for (int stop = 0; stop < table->towns; stop++)
        admit_stop(table, stop);
}

#else

/* Three tiles are used together: 768 KB of the second-level cache. */
enum { TILE = 256 };

static int end_of(const struct table *table, int first)
{
    return first + TILE < table->towns ? first + TILE : table->towns;
}

/* Admits the stops of a tile for routes from one tile to another. */
static void admit_tile(struct table *table, int stops, int froms, int tos)
{
    for (int stop = stops; stop < end_of(table, stops); stop++)
        for (int from = froms; from < end_of(table, froms); from++)
            if (from != stop)
                shorten(row_of(table, from), row_of(table, stop), row_of(table, from)[stop], tos,
                        end_of(table, tos));
}

/* First the tile whose routes begin and end at the stops themselves, then those that do one of the
 * two, then the rest. */
static void admit_stops(struct table *table, int stops)
{
    admit_tile(table, stops, stops, stops);
    for (int tile = 0; tile < table->towns; tile += TILE)
        if (tile != stops) {
            admit_tile(table, stops, stops, tile);
            admit_tile(table, stops, tile, stops);
        }
    for (int froms = 0; froms < table->towns; froms += TILE)
        for (int tos = 0; tos < table->towns; tos += TILE)
            if (froms != stops && tos != stops)
                admit_tile(table, stops, froms, tos);
}

static void find_routes(struct table *table)
{
    for (int stops = 0; stops < table->towns; stops += TILE)
        admit_stops(table, stops);
}

#endif

/* A checksum, the mean and the longest of all shortest routes. */
static void print_summary(const struct table *table)
{
    uint64_t hash = 14695981039346656037u, sum = 0;
    int32_t longest = 0;
    for (int from = 0; from < table->towns; from++)
        for (int to = 0; to < table->towns; to++) {
            int32_t length = row_of(table, from)[to];
            hash = (hash ^ (uint64_t)length) * 1099511628211u;
            sum += (uint64_t)length;
            longest = length > longest ? length : longest;
        }
    printf("mean %.3f, longest %d, checksum %016llx\n", (double)sum / table->towns / table->towns,
           longest, (unsigned long long)hash);
}

int main(int argc, char **argv)
{
    int towns = argc > 1 ? atoi(argv[1]) : 2000;
    if (towns < 1 || towns > 30000) {
        fprintf(stderr, "usage: routes [TOWNS]\n");
        return 2;
    }
    struct table table = create_table(towns);
    build_roads(&table, 12);
    find_routes(&table);
    print_summary(&table);
    free(table.lengths);
    return 0;
}
