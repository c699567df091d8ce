// SPDX-License-Identifier: MIT
/*
 * Contexts and ends of paths where control does not simply call and return. What must be found in functions of
 * this file, with C++ names without parameters:
 *
 *     context COUNT FUNCTION<CALLER<...   activations; main and above left out
 *     exits COUNT FUNCTION                paths that leave the function
 *     cuts COUNT FUNCTION                 paths that end where a loop goes back
 *     roots COUNT FUNCTION                paths that begin in a landing pad
 *
 * Paths that an exception or longjmp leaves halfway are not counted.
 *
 *     context 1 catcher
 *     context 10 thrower<catcher
 *     exits 10 thrower        four of them before the throw
 *     roots 4 catcher
 *     exits 1 catcher
 *     context 1 setter
 *     context 20 jumper<setter
 *     exits 5 jumper          before each longjmp
 *     exits 1 setter
 *     context 1 raiser
 *     context 5 handler       interrupts, is not called
 *     exits 5 handler
 *     context 2 work          in threads
 *     exits 2 work
 *     cuts 299 work
 *     context 1 sorter
 *     exits 1 sorter
 *     context 1 coroutine     a stack of its own
 *     context 3 yield<coroutine
 *     exits 1 coroutine
 *     exits 3 yield
 *     context 1 starter
 *     exits 1 starter
 *     context 1 leave         by exit(), in the middle of main
 *     exits 1 leave
 */
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <ucontext.h>

#define OPAQUE __attribute__((noinline, noclone))

static jmp_buf place;
static volatile int signals, sum;
static ucontext_t outside, inside;
static char stack[1 << 16];

OPAQUE static void thrower(int i)
{
    if (i % 3 == 0)
        throw std::runtime_error("three");
    sum = sum + i;
}

OPAQUE static int catcher(int count)
{
    int caught = 0;
    for (int i = 0; i < count; i++) {
        try {
            thrower(i);
        } catch (const std::exception &) {
            caught++;
        }
    }
    return caught;
}

OPAQUE static void jumper(int depth)
{
    if (depth == 0)
        longjmp(place, 1);
    if (signals > 1000) /* never; else the compiler finds that nothing returns */
        return;
    jumper(depth - 1);
    sum = sum + 1;
}

OPAQUE static void setter(int count)
{
    volatile int times = 0;
    setjmp(place);
    if (times < count) {
        times = times + 1;
        jumper(3);
    }
}

extern "C" OPAQUE void handler(int)
{
    signals = signals + 1;
}

OPAQUE static void raiser(int count)
{
    for (int i = 0; i < count; i++)
        raise(SIGUSR1);
}

extern "C" OPAQUE void *work(void *count)
{
    long total = 0;
    long i = 0;
    do {
        total = total * 3 + sum;
        i++;
    } while (i < reinterpret_cast<long>(count));
    sum = static_cast<int>(total);
    return nullptr;
}

extern "C" OPAQUE int compare(const void *left, const void *right)
{
    return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

OPAQUE static void sorter()
{
    int numbers[] = {3, 1, 2, 9, 5};
    qsort(numbers, 5, sizeof *numbers, compare);
    sum = numbers[0];
}

OPAQUE static void yield()
{
    swapcontext(&inside, &outside);
}

static void coroutine()
{
    yield();
    yield();
    yield();
    sum = sum + 1;
}

OPAQUE static void starter()
{
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    for (volatile int i = 0; i < 4; i = i + 1)
        swapcontext(&outside, &inside);
}

OPAQUE static void leave()
{
    exit(0);
}

int main()
{
    pthread_t threads[2];
    catcher(10);
    setter(5);
    signal(SIGUSR1, handler);
    raiser(5);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], nullptr, work, reinterpret_cast<void *>(150 + i));
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    sorter();
    starter();
    leave();
}
