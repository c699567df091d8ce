// SPDX-License-Identifier: MIT
/* Apart from everything else, so that tests can link the rest. */
#include "cli/verbs.h"

#include <malloc.h>

/*
 * One file of debug information after the other is read and forgotten. What is freed is kept for
 * the next: to give it back to the kernel and get it again, page by page, is a good part of what a
 * short recording costs.
 */
static void keep_memory(void)
{
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
}

int main(int argc, char **argv)
{
    keep_memory();
    return cli_main(argc, argv);
}
