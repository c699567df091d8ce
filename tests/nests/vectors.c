// SPDX-License-Identifier: MIT
/*
 * All dependences of a source's nests with their distance vectors, by place in the source:
 *
 *     vectors FILE COMPILER ARGUMENT...
 *
 * prints lines as pairs.c does, with FUNCTION LINE:COLUMN LINE:COLUMN in place of addresses; "*" for an end that is not known.
 */
#include "lower/lower.h"
#include "polyhedra/vectors.h"

#include <stdio.h>

static void print_end(bool known, int64_t value)
{
    if (known)
        printf("%lld", (long long)value);
    else
        printf("*");
}

static void print_vector(const struct lowered *lowered, size_t nest, const char *function,
                         const struct polyhedra_vector *vector)
{
    const char *from = NULL, *to = NULL;
    bool from_writes, to_writes;
    polyhedra_access_of(lowered->polyhedra, nest, vector->from, &from, &from_writes);
    polyhedra_access_of(lowered->polyhedra, nest, vector->to, &to, &to_writes);
    struct ir_place first = from ? ir_place_of(lowered->ir, from) : (struct ir_place){0};
    struct ir_place second = to ? ir_place_of(lowered->ir, to) : (struct ir_place){0};
    printf("%s %u:%u %u:%u %c %c %u", function, first.line, first.column, second.line,
           second.column, from_writes ? 'W' : 'R', to_writes ? 'W' : 'R', vector->depth);
    for (unsigned i = 0; i < vector->depth; i++) {
        putchar(' ');
        print_end(vector->distances[i].low_known, vector->distances[i].low);
        putchar(':');
        print_end(vector->distances[i].high_known, vector->distances[i].high);
    }
    putchar(' ');
    if (vector->inner)
        printf("%lld\n", (long long)vector->inner_least);
    else
        puts("-");
}

int main(int argc, char **argv)
{
    struct lowered lowered;
    char error[LOWER_ERROR_BYTES];
    if (argc < 3)
        return 2;
    struct lower_request request = {.path = argv[1], .compiler = argv + 2, .seconds = 120};
    if (!lower_run(&request, &lowered, error)) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int failed = 0;
    for (size_t i = 0; i < polyhedra_count(lowered.polyhedra); i++) {
        struct polyhedra_about about;
        struct polyhedra_vectors vectors = {0};
        polyhedra_about(lowered.polyhedra, i, &about);
        enum base_status status = polyhedra_vectors(lowered.polyhedra, i, &vectors);
        if (status != BASE_OK)
            fprintf(stderr, "%s: %s\n", about.function, base_status_text(status));
        failed |= status != BASE_OK;
        for (size_t j = 0; j < vectors.count; j++)
            print_vector(&lowered, i, about.function, &vectors.items[j]);
        polyhedra_vectors_free(&vectors);
    }
    lower_free(&lowered);
    return failed;
}
