// SPDX-License-Identifier: MIT
/*
 * Records the conditions of each of its runs, one line a run, and then exits or sleeps as its arguments specify for that run.
 *
 * again FILE STEPS WHAT...: fills a buffer with zeroes STEPS times, reads standard input to its end and appends to FILE
 * how many bytes that were, which signals are ignored, how many files may be open and whether standard output is
 * /dev/null. Run N then does the Nth WHAT, all further ones the last: exits with that number, or sleeps ("sleep").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char buffer[1 << 16];

__attribute__((noinline)) static void clear(void)
{
    memset(buffer, 0, sizeof buffer);
    __asm__ volatile("" ::: "memory");
}

static volatile int table[64];

/* The same loads again and again. */
__attribute__((noinline)) static int add_up(void)
{
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum += table[i];
    return sum;
}

static void copy_ignored(FILE *to)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "SigIgn:", 7) == 0)
            fprintf(to, " ignored %.16s", line + 8);
    if (status)
        fclose(status);
}

static long read_input(void)
{
    long bytes = 0;
    ssize_t got;
    char block[4096];
    while ((got = read(STDIN_FILENO, block, sizeof block)) > 0)
        bytes += got;
    return bytes;
}

/* Number of this run, from 1. */
static int write_down(const char *path)
{
    struct rlimit files;
    struct stat output;
    FILE *file = fopen(path, "a+");
    int number = 1, byte;
    while ((byte = fgetc(file)) != EOF)
        number += byte == '\n';
    getrlimit(RLIMIT_NOFILE, &files);
    fprintf(file, "read %ld", read_input());
    copy_ignored(file);
    fprintf(file, " files %ld", (long)files.rlim_cur);
    fprintf(file, " null %d\n",
            fstat(STDOUT_FILENO, &output) == 0 && output.st_rdev == makedev(1, 3));
    fclose(file);
    return number;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 100;
    for (long i = atol(argv[2]); i > 0; i--)
        clear(), add_up();
    int number = write_down(argv[1]), at = 2 + number < argc ? 2 + number : argc - 1;
    printf("run %d\n", number);
    fflush(stdout);
    if (strcmp(argv[at], "sleep") == 0)
        sleep(1000);
    return atoi(argv[at]);
}
