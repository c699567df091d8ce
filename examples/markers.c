// SPDX-License-Identifier: MIT
/*
 * Two workers take jobs from two queues. Which parts of a worker's turn are timed by themselves is
 * marked in the source; `headroom interference` then reports how much of each is lost to the other
 * worker:
 *
 *   - "take job", with the queue as its key: both queues have a lock, but both workers take from
 *     the `shared` one, while each has a `private` one to itself. Of the same lines of code only
 *     the executions with the first key lose time.
 *   - "work on job": touches nothing of the other's. It loses none, however long it takes; its key
 *     is the job's size, so that large jobs are not compared with small ones.
 *   - "add up": short, but both add to counters in the same cache line.
 *
 *     cc -O2 -g -I include -o markers examples/markers.c -lpthread
 *     headroom interference -- ./markers
 *
 * With -DFIXED each worker has a queue and a cache line to itself, and the output stays the same.
 *
 * markers [ROUNDS]
 */
#include <headroom.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 2, SIZES = 3, ROUNDS = 400000, LOCKED_STEPS = 60 };

struct queue {
    pthread_mutex_t lock;
    uint64_t taken, state;
};

/* Cache lines in pairs: processors fetch two. */
struct worker {
    _Alignas(128) pthread_t thread;
    unsigned number;
    uint64_t rounds, result;
    struct queue private;
#ifdef FIXED
    struct queue own;
    _Alignas(128) volatile uint64_t counter;
#endif
};

#ifndef FIXED
static struct queue shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static volatile uint64_t counters[WORKERS];
#endif

static uint64_t step(uint64_t state)
{
    return state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/* Which job it is depends on the worker and the turn alone: so the output is always the same. */
static uint64_t take_job(struct queue *queue)
{
    HEADROOM_BEGIN("take job", queue);
    pthread_mutex_lock(&queue->lock);
    for (int i = 0; i < LOCKED_STEPS; i++)
        queue->state = step(queue->state);
    uint64_t taken = ++queue->taken;
    pthread_mutex_unlock(&queue->lock);
    HEADROOM_END("take job");
    return taken != 0;
}

static uint64_t work_on(uint64_t job, unsigned size)
{
    HEADROOM_BEGIN("work on job", size);
    for (unsigned i = 0; i < 100U << size; i++)
        job = step(job) ^ job >> 29;
    HEADROOM_END("work on job");
    return job;
}

static void add_up(volatile uint64_t *counter)
{
    HEADROOM_BEGIN("add up", 0);
    for (int i = 0; i < 20; i++)
        ++*counter;
    HEADROOM_END("add up");
}

static void *run(void *argument)
{
    struct worker *self = argument;
#ifdef FIXED
    struct queue *common = &self->own;
    volatile uint64_t *counter = &self->counter;
#else
    struct queue *common = &shared;
    volatile uint64_t *counter = &counters[self->number];
#endif
    for (uint64_t i = 0; i < self->rounds; i++) {
        uint64_t job = take_job(common) + take_job(&self->private) + i;
        self->result += work_on(job, (unsigned)(i % SIZES)) >> 60;
        add_up(counter);
    }
    self->result += *counter;
    return NULL;
}

int main(int count, char **words)
{
    static struct worker workers[WORKERS];
    uint64_t rounds = count > 1 ? strtoull(words[1], NULL, 10) : ROUNDS, result = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        workers[i].rounds = rounds;
        pthread_mutex_init(&workers[i].private.lock, NULL);
#ifdef FIXED
        pthread_mutex_init(&workers[i].own.lock, NULL);
#endif
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0) {
            fprintf(stderr, "markers: cannot start a thread\n");
            return 1;
        }
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        result += workers[i].result;
    }
    printf("%llu\n", (unsigned long long)result);
    return 0;
}
