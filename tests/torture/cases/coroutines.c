// SPDX-License-Identifier: MIT
/* Coroutines on small stacks, switched by swapcontext thousands of times while sampled. */
#include "torture.h"
#include <ucontext.h>

enum { COROUTINES = 32, STACK = 16384, TURNS = 300 };
static ucontext_t contexts[COROUTINES], home;
static uint64_t counts[COROUTINES], sum;
static int turn, current;

static void work(int number)
{
    for (int i = 0; i < TURNS; i++) {
        volatile uint64_t local[64];
        for (int j = 0; j < 2000; j++)
            local[j % 64] = (uint64_t)j;
        counts[number] += local[5] != 0;
        must(swapcontext(&contexts[number], &home) == 0);
    }
}

static void make_coroutine(int number)
{
    ucontext_t *context = &contexts[number];
    must(getcontext(context) == 0);
    context->uc_stack.ss_sp = malloc(STACK);
    context->uc_stack.ss_size = STACK;
    context->uc_link = &home;
    makecontext(context, (void (*)(void))work, 1, number);
}

int main(void)
{
    for (int i = 0; i < COROUTINES; i++)
        make_coroutine(i);
    for (turn = 0; turn <= TURNS; turn++)
        for (current = 0; current < COROUTINES; current++)
            must(swapcontext(&home, &contexts[current]) == 0);
    for (int i = 0; i < COROUTINES; i++)
        sum += counts[i];
    say("turns %llu\n", (unsigned long long)sum);
    show_signals();
    return 0;
}
