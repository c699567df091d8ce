// SPDX-License-Identifier: MIT
/*
 * A buffer filled and handed to write(2), over and over: the kernel reads it, so
 * its stores are not dead, although the program itself never loads them.
 *
 * With "null" the file is /dev/null, whose driver takes the bytes for written
 * without reading one: no debug register can see a use there.
 *
 * Most of the time goes to the kernel: a few hundred samples, of which the stores around the call
 * itself, which are dead, have their share.
 *
 * case: write-file --kinds dead -- 3 file
 *   dead.fraction 0..0.05
 * case: write-pipe --kinds dead -- 3 pipe
 *   dead.fraction 0..0.1
 * case: write-null --kinds dead -- 3 null
 *   dead.fraction 0..0.05
 */
#include "known.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 1024 };
static volatile uint64_t buffer[WORDS];

static void drain(int from)
{
    static char sink[sizeof buffer];
    while (read(from, sink, sizeof sink) == (ssize_t)sizeof sink)
        continue;
}

/* Opens what the mode asks for; a pipe is emptied by a child process. */
static int open_output(const char *mode)
{
    int ends[2];
    if (strcmp(mode, "null") == 0)
        return open("/dev/null", O_WRONLY);
    if (strcmp(mode, "file") == 0)
        return memfd_create("out", 0);
    if (pipe(ends))
        return -1;
    if (fork() == 0) {
        close(ends[1]);
        drain(ends[0]);
        _exit(0);
    }
    close(ends[0]);
    return ends[1];
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    const char *mode = argc > 2 ? argv[2] : "null";
    int out = open_output(mode);
    bool is_file = strcmp(mode, "file") == 0;
    for (uint64_t round = 0; round % 64 || known_running(seconds); round++) {
        for (int i = 0; i < WORDS; i++)
            buffer[i] = round + (uint64_t)i; /* @fill */
        if (is_file && lseek(out, 0, SEEK_SET) < 0)
            return 1;
        if (write(out, (const void *)buffer, sizeof buffer) != sizeof buffer)
            return 1;
    }
    return 0;
}
