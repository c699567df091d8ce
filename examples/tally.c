// SPDX-License-Identifier: MIT
/*
 * Threads that count orders by customer, as one finds them. It is correct, and two threads need
 * longer than one would: each order is parsed and added up under the one lock that guards the
 * table. `headroom interference` shows which function waits, for which lock, and who holds it
 * meanwhile:
 *
 *     cc -O2 -g -pthread -o tally examples/tally.c
 *     headroom interference -- ./tally
 *
 * With -DFIXED each thread counts for itself and takes the lock once, to add its table to the
 * common one; the output stays the same.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, ORDERS = 20000000, CUSTOMERS = 4096, LINE_BYTES = 48 };

struct tally {
    uint64_t orders[CUSTOMERS], cents[CUSTOMERS];
};

static struct tally everybody;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* "1234;56.78": customer and price. */
__attribute__((noinline)) static void add_order(struct tally *tally, const char *line)
{
    unsigned customer = 0, cents = 0;
    while (*line != ';')
        customer = customer * 10 + (unsigned)(*line++ - '0');
    for (line++; *line; line++)
        if (*line != '.')
            cents = cents * 10 + (unsigned)(*line - '0');
    tally->orders[customer % CUSTOMERS]++;
    tally->cents[customer % CUSTOMERS] += cents;
}

/* The text of the next order, made up. */
__attribute__((noinline)) static void next_line(uint64_t *state, char line[LINE_BYTES])
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    unsigned customer = (unsigned)(*state >> 40) % CUSTOMERS,
             cents = (unsigned)(*state >> 20) % 100000;
    char digits[16];
    int count = 0, at = 0;
    do
        digits[count++] = (char)('0' + customer % 10);
    while (customer /= 10);
    while (count)
        line[at++] = digits[--count];
    line[at++] = ';';
    for (unsigned unit = 10000; unit; unit /= 10) {
        if (unit == 10)
            line[at++] = '.';
        line[at++] = (char)('0' + cents / unit % 10);
    }
    line[at] = '\0';
}

#ifdef FIXED
static void take_orders(uint64_t state, struct tally *mine)
{
    char line[LINE_BYTES];
    for (int i = 0; i < ORDERS; i++) {
        next_line(&state, line);
        add_order(mine, line);
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < CUSTOMERS; i++) {
        everybody.orders[i] += mine->orders[i];
        everybody.cents[i] += mine->cents[i];
    }
    pthread_mutex_unlock(&lock);
}
#else
static void take_orders(uint64_t state, struct tally *mine)
{
    char line[LINE_BYTES];
    (void)mine;
    for (int i = 0; i < ORDERS; i++) {
        next_line(&state, line);
        pthread_mutex_lock(&lock);
        add_order(&everybody, line);
        pthread_mutex_unlock(&lock);
    }
}
#endif

static void *work(void *argument)
{
    struct tally *mine = calloc(1, sizeof *mine);
    if (!mine)
        abort();
    take_orders((uint64_t)(uintptr_t)argument, mine);
    free(mine);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    uint64_t orders = 0, cents = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CUSTOMERS; i++) {
        orders += everybody.orders[i];
        cents += everybody.cents[i];
    }
    printf("%llu orders of %d customers, %llu.%02llu in all\n", (unsigned long long)orders,
           CUSTOMERS, (unsigned long long)cents / 100, (unsigned long long)cents % 100);
    return 0;
}
