// SPDX-License-Identifier: MIT
/*
 * What happens to programs: threads, processes, libraries that come and go, sudden ends. Every case
 * stores to words of its own at marked lines; its comment says how it must end and which of these
 * pairs must be reported, all others must not.
 *
 *     case: NAME [status N] [processes N] [threads N] [lost N] [unseen N]
 *       KIND FIRST>SECOND BYTES, ...
 *
 * The status is 0, and one process and one thread are observed, if not said otherwise.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile uint64_t cells[64];
static char **arguments;

static void run_again(const char *name)
{
    char *words[] = {arguments[0], (char *)name, NULL};
    execv(words[0], words);
}

/* ---- processes ------------------------------------------------------------------------------ */

/*
 * Both programs of a process count.
 *
 * case: execute
 *   dead a>b 8, c>d 8
 *   silent c>d 8
 */
static void executed(void)
{
    cells[0] = 1; /* @c */
    cells[0] = 1; /* @d */
}
static void execute(void)
{
    cells[0] = 1; /* @a */
    cells[0] = 2; /* @b */
    run_again("executed");
}

/*
 * In vain: what was stored before is overwritten afterwards, and nothing is counted twice.
 *
 * case: execute_in_vain
 *   dead e>f 8, f>g 8
 */
static void execute_in_vain(void)
{
    cells[0] = 1; /* @e */
    cells[0] = 2; /* @f */
    execl("/nonexistent", "nonexistent", NULL);
    cells[0] = 3; /* @g */
}

/*
 * case: spawn processes 2 threads 2
 *   dead h>i 8, c>d 8
 *   silent c>d 8
 */
static void spawn(void)
{
    extern char **environ;
    char *words[] = {arguments[0], "executed", NULL};
    pid_t child;
    cells[0] = 1; /* @h */
    if (posix_spawn(&child, words[0], NULL, NULL, words, environ) == 0)
        waitpid(child, NULL, 0);
    cells[0] = 2; /* @i */
}

/*
 * A child that is killed takes its counts with it; its parent's stay.
 *
 * case: killed_child processes 2 threads 2 lost 1
 *   dead j>k 8
 */
static void killed_child(void)
{
    cells[0] = 1; /* @j */
    int ends[2];
    char byte = 0;
    if (pipe(ends))
        abort();
    pid_t child = fork();
    if (child == 0) {
        cells[0] = 3;
        if (write(ends[1], &byte, 1) == 1)
            for (;;)
                pause();
    }
    if (read(ends[0], &byte, 1) == 1)
        kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cells[0] = 2; /* @k */
}

/*
 * Processes that end at the same time: none gets lost, no record is mixed with another's.
 *
 * case: many_children processes 17 threads 17
 *   dead ca>cb 128
 */
static void many_children(void)
{
    for (int i = 0; i < 16; i++)
        if (fork() == 0) {
            cells[0] = 1; /* @ca */
            cells[0] = 2; /* @cb */
            _exit(0);
        }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *in_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, body, argument) || pthread_join(thread, &result))
        abort();
    return result;
}

static void *store_first(void *unused)
{
    cells[0] = 1; /* @l */
    return unused;
}
static void *store_last(void *unused)
{
    cells[0] = 3; /* @n */
    return unused;
}

/*
 * What one thread stored is used when another one loads it.
 *
 * case: use_by_thread threads 3
 *   dead m>n 8
 */
static void use_by_thread(void)
{
    in_thread(store_first, NULL);
    if (cells[0] == 1)
        cells[0] = 2; /* @m */
    in_thread(store_last, NULL);
}

static void *store_own(void *cell)
{
    for (uint64_t i = 0; i < 3; i++)
        *(volatile uint64_t *)cell = i; /* @o */
    return NULL;
}

/*
 * case: many_threads threads 51
 *   dead o>o 800
 */
static void many_threads(void)
{
    enum { THREADS = 50 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, store_own, (void *)&cells[i]))
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void *leave(void *unused)
{
    cells[0] = 1; /* @p */
    cells[0] = 2; /* @q */
    exit(5);
    return unused;
}

/*
 * case: exit_in_thread status 5 threads 2
 *   dead p>q 8
 */
static void exit_in_thread(void)
{
    in_thread(leave, NULL);
}

static void *outlive(void *unused)
{
    usleep(1000);
    cells[0] = 2; /* @s */
    return unused;
}

/*
 * The first thread ends first.
 *
 * case: outlived_main threads 2
 *   dead r>s 8
 */
static void outlived_main(void)
{
    pthread_t thread;
    cells[0] = 1; /* @r */
    if (pthread_create(&thread, NULL, outlive, NULL))
        abort();
    pthread_exit(NULL);
}

/* ---- ends ----------------------------------------------------------------------------------- */

/*
 * case: fault status 139
 *   dead t>u 8
 */
static void fault(void)
{
    cells[0] = 1; /* @t */
    cells[0] = 2; /* @u */
    *(volatile int *)8 = 3;
    cells[0] = 3;
}

/*
 * Divisions whose results are overwritten at once: they are executed all the same.
 *
 * case: divide status 136
 *   dead fk>fl 8
 */
static void divide(void)
{
    cells[0] = 1; /* @fk */
    cells[0] = 2; /* @fl */
    for (uint64_t divisor = 2;; divisor /= 2)
        __asm__ volatile("xor %%edx, %%edx\n\t"
                         "mov $1, %%eax\n\t"
                         "div %0\n\t"
                         "mov $1, %%eax\n\t"
                         "mov $1, %%edx"
                         :
                         : "r"(divisor)
                         : "rax", "rdx", "cc");
}

/*
 * case: give_up status 134
 *   dead v>w 8
 */
static void give_up(void)
{
    cells[0] = 1; /* @v */
    cells[0] = 2; /* @w */
    abort();
}

/* Stores on the way in and on the way out. */
__attribute__((noinline)) static uint64_t descend(uint64_t levels)
{
    cells[1] = levels; /* @x */
    uint64_t deepest = levels ? descend(levels - 1) : 1;
    cells[2] = deepest; /* @y */
    return deepest + 1;
}

/*
 * A hundred thousand calls deep; contexts end somewhere before, counts do not.
 *
 * case: deep
 *   dead x>x 800000, y>y 800000, z>za 8
 */
static void deep(void)
{
    cells[3] = 1; /* @z */
    if (descend(100000))
        cells[3] = 2; /* @za */
}

__attribute__((noinline)) static uint64_t overflow(uint64_t level)
{
    volatile uint64_t frame[512];
    if (level == UINT64_MAX)
        return 0;
    frame[level % 512] = level;
    return overflow(level + 1) + frame[0];
}

/*
 * A stack that overflows.
 *
 * case: overflows status 139
 *   dead zb>zc 8
 */
static void overflows(void)
{
    cells[0] = 1; /* @zb */
    cells[0] = 2; /* @zc */
    cells[0] = overflow(0);
}

/* ---- libraries ------------------------------------------------------------------------------ */

static void *load(const char *number)
{
    char path[4096];
    const char *folder = strrchr(arguments[0], '/');
    snprintf(path, sizeof path, "%.*s/liblibrary%s.so", (int)(folder - arguments[0]), arguments[0],
             number);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(98);
    }
    return library;
}

static uintptr_t call(const char *number, const char *function)
{
    void *library = load(number);
    uintptr_t at = (uintptr_t)dlsym(library, function);
    if (!at)
        exit(97);
    ((void (*)(volatile uint64_t *))at)(cells);
    dlclose(library);
    return at;
}

/*
 * Two libraries of the same shape at the same addresses, one after the other: work_one and work_two
 * are not the same code.
 *
 * case: libraries
 *   dead work_one>work_one 16, work_one>work_two 8, work_two>work_two 8, work_two>work_one 8
 */
static void libraries(void)
{
    uintptr_t one = call("1", "work_one");
    uintptr_t two = call("2", "work_two");
    if (one != two || call("1", "work_one") != one)
        exit(96); /* then this tests nothing */
}

/* ---- memory far up ---------------------------------------------------------------------------- */

static volatile uint64_t *far_memory(uintptr_t address, int flags)
{
    void *memory = mmap((void *)address, 1 << 16, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        exit(95);
    return memory;
}

/*
 * Where Go's heap begins.
 *
 * case: far
 *   dead fa>fa 1592
 */
static void far(void)
{
    volatile uint64_t *cell = far_memory(0xc000000000, 0);
    if ((uintptr_t)cell != 0xc000000000)
        exit(96); /* then this tests nothing */
    for (uint64_t i = 0; i < 200; i++)
        *cell = i; /* @fa */
}

/*
 * Such hints V8 gives: another address will do, and the engine's own memory stays what it is.
 *
 * case: farther
 *   dead fb>fb 1592, fc>fd 8
 */
static void farther(void)
{
    cells[0] = 1; /* @fc */
    for (uintptr_t address = 0x200000000000; address < 0x700000000000; address += 0x80000000000)
        far_memory(address, 0);
    volatile uint64_t *cell = far_memory(0x400000000000, 0);
    for (uint64_t i = 0; i < 200; i++)
        *cell = i; /* @fb */
    cells[0] = 2;  /* @fd */
}

/*
 * Memory that cannot be followed is said to be there.
 *
 * case: insisted unseen 200
 *   dead fe>ff 8
 */
static void insisted(void)
{
    cells[0] = 1; /* @fe */
    volatile uint64_t *cell = far_memory(0x90000000000, MAP_FIXED);
    for (uint64_t i = 0; i < 200; i++)
        *cell = i; /* @fg */
    cells[0] = 2;  /* @ff */
}

/*
 * A stack far up, as goroutines have them: what is stored there, and by functions that run there, is seen.
 *
 * case: far_stack
 *   dead fh>fh 792, fi>fj 800, fj>fi 792
 *   silent fi>fj 800
 */
static ucontext_t back, there;
static void on_far_stack(void)
{
    volatile uint64_t local;
    for (uint64_t i = 0; i < 100; i++) {
        local = i;    /* @fh */
        cells[0] = i; /* @fi */
        cells[0] = i; /* @fj */
        swapcontext(&there, &back);
    }
    (void)local;
}
static void far_stack(void)
{
    volatile uint64_t *stack = far_memory(0xc100000000, 0);
    getcontext(&there);
    there.uc_stack.ss_sp = (void *)stack;
    there.uc_stack.ss_size = 1 << 16;
    there.uc_link = &back;
    makecontext(&there, on_far_stack, 0);
    for (int i = 0; i < 101; i++)
        swapcontext(&back, &there);
}

/* --------------------------------------------------------------------------------------------- */

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    void (*function)(void);
} cases[] = {
    CASE(execute),        CASE(executed),      CASE(execute_in_vain), CASE(spawn),
    CASE(killed_child),   CASE(many_children), CASE(use_by_thread),   CASE(many_threads),
    CASE(exit_in_thread), CASE(outlived_main), CASE(fault),           CASE(give_up),
    CASE(deep),           CASE(overflows),     CASE(libraries),       CASE(far),
    CASE(farther),        CASE(insisted),      CASE(far_stack),       CASE(divide),
};

int main(int argc, char **argv)
{
    arguments = argv;
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name))
            continue;
        cases[i].function();
        return 0;
    }
    return 99;
}
