// SPDX-License-Identifier: MIT
/*
 * Known reuse, for tests/answers/reuse. Each mode sweeps over arrays for so many seconds and prints
 * what it measured of itself: the accesses of a pass, and the CPU nanoseconds of each pass.
 *
 *     sweep ELEMENTS SECONDS     one array of doubles read again and again: seven of eight reads of
 * a line follow their neighbour's, the eighth the whole pass stages ELEMENTS SECONDS    produce()
 * writes an array, consume() reads it: all far reuses lie between the two threads ELEMENTS SECONDS
 * two threads, the second with twice the elements counted ELEMENTS SECONDS   as sweep, and the
 * accesses are counted
 */
#include "known.h"

#include <pthread.h>
#include <string.h>

enum { PASSES_MAX = 1 << 20 };

/* Found by the agent if it is exported and counting was asked for. */
static _Thread_local uint64_t accesses;
const uint64_t *headroom_thread_accesses(void);
__attribute__((visibility("default"))) const uint64_t *headroom_thread_accesses(void)
{
    return &accesses;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One line for a thread: passes, and the CPU time of each. */
static void tell(const char *name, const uint64_t *times, size_t count, size_t reads)
{
    flockfile(stdout);
    printf("%s: %zu passes of %zu accesses, ns:", name, count, reads);
    for (size_t i = 0; i < count; i++)
        printf(" %llu", (unsigned long long)times[i]);
    puts("");
    funlockfile(stdout);
}

static KNOWN_OPAQUE double sweep(const double *array, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i += 8) {
        sum += array[i] + array[i + 1] + array[i + 2] + array[i + 3] + array[i + 4] + array[i + 5] +
               array[i + 6] + array[i + 7]; /* @sweep */
        accesses += 8;
    }
    return sum;
}

static KNOWN_OPAQUE void produce(double *array, size_t elements, double value)
{
    for (size_t i = 0; i < elements; i++)
        array[i] = value; /* @produce */
}

static KNOWN_OPAQUE double consume(const double *array, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += array[i]; /* @consume */
    return sum;
}

struct job {
    const char *name;
    size_t elements;
    double seconds, result;
    bool staged;
};

static void *work(void *context)
{
    struct job *job = context;
    double *array = calloc(job->elements, sizeof *array);
    uint64_t *times = calloc(PASSES_MAX, sizeof *times), end = (uint64_t)(job->seconds * 1e9);
    size_t count = 0;
    if (!array || !times)
        exit(2);
    for (uint64_t now = cpu_ns(), then; now < end && count < PASSES_MAX; now = then) {
        if (job->staged)
            produce(array, job->elements, (double)count);
        job->result += job->staged ? consume(array, job->elements) : sweep(array, job->elements);
        then = cpu_ns();
        times[count++] = then - now;
    }
    tell(job->name, times, count, job->elements * (job->staged ? 2 : 1));
    free(times);
    free(array);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct job jobs[2] = {{.name = "first",
                           .elements = strtoul(argv[2], NULL, 10) / 8 * 8,
                           .seconds = strtod(argv[3], NULL),
                           .staged = strcmp(argv[1], "stages") == 0}};
    pthread_t second;
    bool two = strcmp(argv[1], "threads") == 0;
    jobs[1] = jobs[0];
    jobs[1].name = "second";
    jobs[1].elements *= 2;
    if (two && pthread_create(&second, NULL, work, &jobs[1]))
        return 2;
    work(&jobs[0]);
    if (two)
        pthread_join(second, NULL);
    return jobs[0].result + jobs[1].result < 0;
}
