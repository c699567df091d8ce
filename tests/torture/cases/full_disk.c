// SPDX-License-Identifier: MIT
/* Its own output meets a full disk: the directory named by the argument, or /dev/full. */
#include "torture.h"

int main(int argc, char **argv)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/output", argc > 1 ? argv[1] : "");
    FILE *file = fopen(argc > 1 ? path : "/dev/full", "w");
    must(file);
    long written = 0;
    for (int i = 0; i < 100; i++) {
        static char block[4096];
        busy(2);
        if (fwrite(block, 1, sizeof block, file) != sizeof block || fflush(file)) {
            say("full after %ld, errno %d\n", written, errno);
            break;
        }
        written += (long)sizeof block;
    }
    say("fclose %d\n", fclose(file));
    busy(50);
    return 0;
}
