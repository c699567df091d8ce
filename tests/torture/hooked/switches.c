// SPDX-License-Identifier: MIT
/*
 * Coroutines: switched by swapcontext and by a few instructions of their own, in the middle of
 * hooked functions, several frames deep; moved between threads; their stacks freed, and used for
 * others, while functions on them have not returned.
 */
#include "hooked.h"
#include <ucontext.h>

enum { STACK = 65536, COROUTINES = 16, MOVED = 8 };

/* void own_switch(void **from, void *to): keeps what callees must keep, and the stack. */
__asm__(".text\n"
        ".globl own_switch\n"
        ".type own_switch, @function\n"
        "own_switch:\n"
        "    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "    ret\n"
        ".size own_switch, . - own_switch\n");
void own_switch(void **from, void *to);

struct coroutine {
    void *own, *caller;       /* stack pointers, by own_switch */
    ucontext_t context, back; /* by swapcontext */
    bool is_own, is_finished;
    int number, turns;
    uint64_t sum;
    char *stack;
};

static __thread struct coroutine *current;

/* Not inlined: a coroutine that has moved must look its thread's variables up anew. */
HOOKED struct coroutine *self(void)
{
    struct coroutine *found = current;
    OPAQUE(found);
    return found;
}

HOOKED void yield(struct coroutine *coroutine)
{
    if (coroutine->is_own)
        own_switch(&coroutine->own, coroutine->caller);
    else
        must(swapcontext(&coroutine->context, &coroutine->back) == 0);
    NO_TAIL_CALL();
}

HOOKED uint64_t deeper(struct coroutine *coroutine, int depth)
{
    if (depth == 0) {
        yield(coroutine);
        return 1;
    }
    uint64_t result = deeper(coroutine, depth - 1);
    if (depth % 3 == 0)
        yield(coroutine);
    return result + 1;
}

HOOKED void work(struct coroutine *coroutine)
{
    for (int i = 0; i < coroutine->turns; i++) {
        coroutine->sum += deeper(coroutine, (coroutine->number + i) % 7);
        if (self() != coroutine)
            coroutine->sum += 1000000;
    }
}

static void enter(void)
{
    struct coroutine *coroutine = self();
    work(coroutine);
    coroutine->is_finished = true;
    yield(coroutine);
    abort();
}

HOOKED void resume(struct coroutine *coroutine)
{
    current = coroutine;
    if (coroutine->is_own)
        own_switch(&coroutine->caller, coroutine->own);
    else
        must(swapcontext(&coroutine->back, &coroutine->context) == 0);
    NO_TAIL_CALL();
}

static void start(struct coroutine *coroutine, int number, int turns, bool is_own, char *stack)
{
    *coroutine =
        (struct coroutine){.is_own = is_own, .number = number, .turns = turns, .stack = stack};
    if (is_own) {
        uint64_t *top = (uint64_t *)(stack + STACK) - 2;
        *--top = 0; /* the return address of enter, which does not return */
        *--top = (uint64_t)enter;
        coroutine->own = top - 6;
        memset(coroutine->own, 0, 48);
        return;
    }
    must(getcontext(&coroutine->context) == 0);
    coroutine->context.uc_stack.ss_sp = stack;
    coroutine->context.uc_stack.ss_size = STACK;
    makecontext(&coroutine->context, enter, 0);
}

static char *new_stack(void)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(stack != MAP_FAILED);
    return stack;
}

static uint64_t round_robin(int turns, bool is_own)
{
    static __thread struct coroutine all[COROUTINES];
    uint64_t sum = 0;
    int running = COROUTINES;
    for (int i = 0; i < COROUTINES; i++)
        start(&all[i], i, turns, is_own, new_stack());
    while (running)
        for (int i = 0; i < COROUTINES; i++) {
            if (all[i].is_finished)
                continue;
            resume(&all[i]);
            running -= all[i].is_finished;
        }
    for (int i = 0; i < COROUTINES; i++) {
        sum += all[i].sum;
        must(munmap(all[i].stack, STACK) == 0);
    }
    return sum;
}

/* Left in the middle; the stack goes away, or the next one gets it. */
static uint64_t abandon(int times, bool is_own, bool is_unmapped)
{
    static __thread struct coroutine one;
    char *stack = new_stack();
    uint64_t sum = 0;
    for (int i = 0; i < times; i++) {
        start(&one, i, 100, is_own, stack);
        for (int k = 0; k < i % 9 + 1; k++)
            resume(&one);
        sum += one.sum;
        if (is_unmapped) {
            must(munmap(stack, STACK) == 0);
            stack = new_stack();
        }
    }
    must(munmap(stack, STACK) == 0);
    return sum;
}

/* ---- between threads --------------------------------------------------------------------------
 */

static struct coroutine moved[MOVED];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queue[MOVED], queued, unfinished;

static int take(void)
{
    pthread_mutex_lock(&lock);
    int number = queued ? queue[0] : -1;
    if (queued)
        memmove(queue, queue + 1, sizeof *queue * (size_t)--queued);
    if (unfinished == 0)
        number = -2;
    pthread_mutex_unlock(&lock);
    return number;
}

static void give_back(int number)
{
    pthread_mutex_lock(&lock);
    if (moved[number].is_finished)
        unfinished--;
    else
        queue[queued++] = number;
    pthread_mutex_unlock(&lock);
}

static void *carry(void *unused)
{
    for (int number; (number = take()) != -2;) {
        if (number < 0) {
            sched_yield();
            continue;
        }
        resume(&moved[number]);
        give_back(number);
    }
    return unused;
}

static uint64_t migrate(int turns, bool is_own)
{
    pthread_t threads[3];
    uint64_t sum = 0;
    unfinished = queued = MOVED;
    for (int i = 0; i < MOVED; i++) {
        start(&moved[i], i, turns, is_own, new_stack());
        queue[i] = i;
    }
    for (int i = 0; i < 3; i++)
        must(pthread_create(&threads[i], NULL, carry, NULL) == 0);
    for (int i = 0; i < 3; i++)
        must(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < MOVED; i++) {
        sum += moved[i].sum;
        must(munmap(moved[i].stack, STACK) == 0);
    }
    return sum;
}

static int turns;

static void *run(void *unused)
{
    for (int own = 0; own < 2; own++) {
        say("%s: in turn %llu\n", own ? "own" : "library",
            (unsigned long long)round_robin(turns, own));
        say("abandoned %llu, unmapped %llu\n", (unsigned long long)abandon(turns, own, false),
            (unsigned long long)abandon(turns, own, true));
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    turns = (int)amount(argc, argv, 2000);
    run(NULL);
    must(pthread_create(&thread, NULL, run, NULL) == 0);
    must(pthread_join(thread, NULL) == 0);
    for (int own = 0; own < 2; own++)
        say("between threads: %llu\n", (unsigned long long)migrate(turns, own));
    return 0;
}
