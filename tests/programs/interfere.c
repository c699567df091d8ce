// SPDX-License-Identifier: MIT
/*
 * interfere CASE [N]: threads whose loss to each other is known. Each thread prints the CPU time that it took,
 * "name: N ns", and main how long all took, "wall: N ns".
 *
 *   adjacent  two threads, one call each that counts N times, one of them N / 2, in words of one cache line
 *   apart     the same in words of two cache lines: all that `adjacent` takes longer is lost
 *   flag      one thread counts N times in one call, another spins in one call until that is done
 *   own       N times: 300 steps with a lock, 30 without it; each of two threads has a lock and words of its own
 *   one       the same with one lock: what it takes longer than `own` is lost
 *   asleep    as `one`, and four threads that wait for a condition that never comes
 *   few       10 calls of outer, 20 calls of inner in each, which take nearly all of the time
 *   waits     2000 calls of take, of which 100 wait in pthread_cond_wait, and nothing else takes long
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define APART static __attribute__((noinline, noclone))

struct room {
    pthread_mutex_t lock;
    _Alignas(128) volatile long word;
    _Alignas(128) pthread_cond_t ready;
    volatile long items;
};

static struct room rooms[2];
static volatile long words[2];
static volatile int done;
static long times;

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void say(const char *name)
{
    printf("%s: %lld ns\n", name, now(CLOCK_THREAD_CPUTIME_ID));
}

APART void count(volatile long *word, long n)
{
    for (long i = 0; i < n; i++)
        (*word)++;
}

APART void spin(volatile int *flag)
{
    while (!*flag)
        ;
}

APART void critical(struct room *room)
{
    pthread_mutex_lock(&room->lock);
    for (int i = 0; i < 300; i++)
        room->word++;
    pthread_mutex_unlock(&room->lock);
}

APART void outside(volatile long *word)
{
    for (int i = 0; i < 30; i++)
        (*word)++;
}

APART void inner(volatile long *word)
{
    for (long i = 0; i < times; i++)
        (*word)++;
}

APART void outer(volatile long *word)
{
    for (int i = 0; i < 20; i++)
        inner(word);
}

APART void take(struct room *room)
{
    pthread_mutex_lock(&room->lock);
    while (room->items == 0)
        pthread_cond_wait(&room->ready, &room->lock);
    room->items--;
    pthread_mutex_unlock(&room->lock);
}

static void *count_once(void *word)
{
    count(word, times);
    say("counter");
    done = 1;
    return NULL;
}

static void *count_less(void *word)
{
    count(word, times / 2);
    say("counter");
    return NULL;
}

static void *spin_once(void *flag)
{
    spin(flag);
    say("spinner");
    return NULL;
}

static void *work(void *room)
{
    volatile long word[32] = {0};
    for (long i = 0; i < times; i++) {
        critical(room);
        outside(&word[16]);
    }
    say("worker");
    return NULL;
}

static void *wait_for_ever(void *room)
{
    pthread_mutex_lock(&((struct room *)room)->lock);
    for (;;)
        pthread_cond_wait(&((struct room *)room)->ready, &((struct room *)room)->lock);
    return NULL;
}

static void *call_rarely(void *word)
{
    for (int i = 0; i < 10; i++)
        outer(word);
    say("caller");
    return NULL;
}

static void *take_all(void *room)
{
    for (int i = 0; i < 2000; i++)
        take(room);
    say("taker");
    return NULL;
}

/* Twenty at a time, so that the taker waits once for twenty. */
static void *give_all(void *argument)
{
    struct room *room = argument;
    for (int i = 0; i < 100; i++) {
        usleep(2000);
        pthread_mutex_lock(&room->lock);
        room->items += 20;
        pthread_cond_signal(&room->ready);
        pthread_mutex_unlock(&room->lock);
    }
    say("giver");
    return NULL;
}

static void run(void *(*first)(void *), void *a, void *(*second)(void *), void *b)
{
    pthread_t threads[2];
    long long begun = now(CLOCK_MONOTONIC);
    pthread_create(&threads[0], NULL, first, a);
    pthread_create(&threads[1], NULL, second, b);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("wall: %lld ns\n", now(CLOCK_MONOTONIC) - begun);
}

int main(int count, char **arguments)
{
    const char *which = count > 1 ? arguments[1] : "";
    times = count > 2 ? atol(arguments[2]) : 300000;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&rooms[i].lock, NULL);
        pthread_cond_init(&rooms[i].ready, NULL);
    }
    if (strcmp(which, "adjacent") == 0) {
        run(count_once, (void *)&words[0], count_less, (void *)&words[1]);
    } else if (strcmp(which, "apart") == 0) {
        run(count_once, (void *)&rooms[0].word, count_less, (void *)&rooms[1].word);
    } else if (strcmp(which, "flag") == 0) {
        run(count_once, (void *)&words[0], spin_once, (void *)&done);
    } else if (strcmp(which, "own") == 0) {
        run(work, &rooms[0], work, &rooms[1]);
    } else if (strcmp(which, "one") == 0) {
        run(work, &rooms[0], work, &rooms[0]);
    } else if (strcmp(which, "asleep") == 0) {
        pthread_t waiting;
        for (int i = 0; i < 4; i++)
            pthread_create(&waiting, NULL, wait_for_ever, &rooms[1]);
        run(work, &rooms[0], work, &rooms[0]);
    } else if (strcmp(which, "few") == 0) {
        volatile long apart[64] = {0};
        run(call_rarely, (void *)&apart[0], call_rarely, (void *)&apart[32]);
    } else if (strcmp(which, "waits") == 0) {
        run(take_all, &rooms[0], give_all, &rooms[0]);
    } else {
        fprintf(stderr, "interfere adjacent|apart|flag|own|one|asleep|few|waits [N]\n");
        return 2;
    }
    return 0;
}
