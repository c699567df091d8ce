// SPDX-License-Identifier: MIT
/* executed.S: fills its tables, and runs its loops as often as the argument says, millions each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void meets(long count), turns(long count), chases(long count), calls(long count);
extern long indices[1024], places[8 * 1024], *nodes[32768];

static void *aside(void *count)
{
    turns((long)count);
    return NULL;
}

int main(int count, char **words)
{
    long millions = count > 1 ? atol(words[1]) * 1000000 : 1000000;
    for (long i = 0; i < 1024; i++)
        indices[i] = i % 4 == 3 ? 0 : 8 * i;
    for (long i = 0; i < 32768; i++)
        nodes[i] = (long *)&nodes[(i + 1) % 32768];
    pthread_t thread;
    pthread_create(&thread, NULL, aside, (void *)millions);
    meets(millions);
    chases(millions);
    calls(millions);
    pthread_join(thread, NULL);
    puts("done");
    return 7;
}
