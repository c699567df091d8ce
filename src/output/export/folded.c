// SPDX-License-Identifier: MIT
/* Folded stacks, one a line: "main;work;[separator];main;init 4096". Of one metric: a line has one
 * number. */
#include "export/walk.h"

#include <inttypes.h>
#include <stdlib.h>

/* Semicolons divide frames; nothing else is special, as the number follows the last blank. */
static void frame(const char *name, FILE *out)
{
    for (; *name; name++)
        putc(*name == ';' ? ':' : *name, out);
}

bool write_folded(struct walk *walk, FILE *out)
{
    uint32_t *places = malloc(WALK_STACK * sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < walk->samples_count && !ferror(out); i++) {
        uint64_t value = walk_value(walk, &walk->samples[i], 0);
        if (!value)
            continue;
        size_t depth = walk_stack(walk, &walk->samples[i], places, NULL);
        for (size_t p = 0; p < depth; p++) {
            if (p)
                putc(';', out);
            frame(walk_name(walk, places[p]), out);
        }
        fprintf(out, " %" PRIu64 "\n", value);
    }
    free(places);
    return true;
}
