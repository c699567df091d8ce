// SPDX-License-Identifier: MIT
/*
 * Runs a command and writes what it used: measure RESULT_FILE COMMAND [ARGUMENT...]
 *
 * The result is "CPU-SECONDS WALL-SECONDS PEAK-KIB STATUS". Small and starting its
 * child by vfork, because a child's peak memory counts from before its exec.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    struct timespec start, end;
    struct rusage usage;
    int status;
    if (argc < 3)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = vfork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    FILE *file = fopen(argv[1], "w");
    if (!file)
        return 2;
    fprintf(file, "%.6f %.6f %ld %d\n", seconds(usage.ru_utime) + seconds(usage.ru_stime),
            (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9,
            usage.ru_maxrss, status);
    return fclose(file) ? 2 : 0;
}
