// SPDX-License-Identifier: MIT
/* Writes beyond RLIMIT_FSIZE, with SIGXFSZ handled, ignored and left alone. */
#include "torture.h"

static volatile sig_atomic_t hits;

static void on_limit(int number)
{
    (void)number;
    hits++;
}

static void fill(int fd)
{
    static char block[1000];
    long total = 0;
    for (int i = 0; i < 10; i++) {
        errno = 0;
        ssize_t written = write(fd, block, sizeof block);
        busy(5);
        say("wrote %zd, errno %d\n", written, errno);
        total += written > 0 ? written : 0;
    }
    say("total %ld, signals %d\n", total, hits);
}

int main(void)
{
    struct rlimit limit = {4500, 4500};
    int fd = open("limited", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0);
    signal(SIGXFSZ, on_limit);
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    busy(100);
    fill(fd);
    signal(SIGXFSZ, SIG_IGN);
    must(lseek(fd, 0, SEEK_SET) == 0);
    fill(fd);
    must(lseek(fd, 4500, SEEK_SET) == 4500);
    signal(SIGXFSZ, SIG_DFL);
    busy(100);
    fill(fd);
    return 0;
}
