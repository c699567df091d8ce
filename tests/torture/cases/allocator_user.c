// SPDX-License-Identifier: MIT
/* A program whose library has an allocator of its own (own_malloc.c). */
#include "torture.h"

unsigned own_specials(unsigned *strangers);

int main(void)
{
    enum { SPECIAL = 12345 };
    unsigned strangers;
    char *lines = NULL;
    size_t size = 0;
    for (int i = 0; i < 1000; i++) {
        char *volatile block = malloc(SPECIAL);
        *block = (char)i;
        free(block);
    }
    FILE *file = fopen("/proc/self/stat", "re");
    must(file && getline(&lines, &size, file) > 0);
    fclose(file);
    free(lines);
    unsigned found = own_specials(&strangers);
    say("%u of 12,345 bytes, %u foreign\n", found, strangers);
    return 0;
}
