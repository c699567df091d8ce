// SPDX-License-Identifier: MIT
/*
 * Calling contexts. Every case calls touch() from one place after the other, and each call of it
 * overwrites what the one before stored: so the pairs of dead stores show, touch by touch,
 * which calling context the engine took each to be in. The comment of a case lists them in order:
 * the functions of this program, the innermost first, up to main or to the function
 * that a thread or a coroutine begins with. read_cell stands for a store by the kernel; what comes
 * after it overwrites nothing known.
 *
 * Functions of libraries are left out: whether they have names depends on what is installed.
 * To be compiled with -fno-optimize-sibling-calls: a call at the end of a function is no jump here.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define OPAQUE extern "C" __attribute__((noinline, used))

static volatile long cell;

OPAQUE void touch(void)
{
    __asm__ volatile("addq $0, %%rax\n\tmovq %%rax, %0" : "=m"(cell) : : "rax");
}

/* ---- calls ---------------------------------------------------------------------------------- */

OPAQUE void inner(void)
{
    touch();
}
OPAQUE void middle(void)
{
    inner();
}
OPAQUE void outer(void)
{
    middle();
}

/*
 * case: calls
 *   touch calls main
 *   touch inner middle outer calls main
 *   touch inner calls main
 */
OPAQUE void calls(void)
{
    touch();
    outer();
    inner();
}

OPAQUE void down(int levels)
{
    if (levels)
        down(levels - 1);
    else
        touch();
}

/*
 * Folded: a call made where one is being made is that one.
 *
 * case: recursion
 *   touch down down recursion main
 *   touch down recursion main
 *   touch down down recursion main
 */
OPAQUE void recursion(void)
{
    down(3);
    down(0);
    down(1);
}

/*
 * By a jump: its caller's frame is not there any more.
 *
 * case: tail_calls
 *   touch tail_calls main
 *   touch inner tail_calls main
 *   touch tail_calls main
 */
__asm__("by_jump: jmp touch\n"
        "by_jumps: jmp 1f\n"
        "1: jmp inner\n");
extern "C" void by_jump(void), by_jumps(void);
OPAQUE void tail_calls(void)
{
    by_jump();
    by_jumps();
    touch();
}

/*
 * A call that only asks where it is never returns.
 *
 * case: call_and_pop
 *   touch call_and_pop main
 *   touch inner call_and_pop main
 */
OPAQUE void call_and_pop(void)
{
    __asm__ volatile("subq $128, %%rsp\n\tcall 1f\n1:\tpopq %%rax\n\taddq $128, %%rsp" ::: "rax");
    touch();
    __asm__ volatile("subq $128, %%rsp\n\tcall 1f\n1:\tpopq %%rax\n\taddq $128, %%rsp" ::: "rax");
    inner();
}

OPAQUE void use(volatile char *memory)
{
    memory[0] = 1;
    touch();
}
OPAQUE void big(size_t bytes)
{
    use((volatile char *)alloca(bytes));
}

/*
 * Frames of a thousand and of a million bytes, on the thread's own stack.
 *
 * case: big_frames
 *   touch use big big_frames main
 *   touch use big big_frames main
 *   touch use big big_frames main
 *   touch use big big_frames main
 *   touch inner big_frames main
 */
OPAQUE void big_frames(void)
{
    big(1000);
    big(200000);
    big(1000000);
    big(1000);
    inner();
}

/* ---- jumps ---------------------------------------------------------------------------------- */

static jmp_buf place;

OPAQUE void leave_inner(void)
{
    touch();
    longjmp(place, 1);
}
OPAQUE void leave_middle(void)
{
    leave_inner();
}
OPAQUE void leave_outer(void)
{
    leave_middle();
}

/*
 * case: long_jump
 *   touch leave_inner leave_middle leave_outer long_jump main
 *   touch inner long_jump main
 *   touch leave_inner leave_middle leave_outer long_jump main
 *   touch inner long_jump main
 *   touch main
 */
OPAQUE void long_jump(void)
{
    volatile int times = 0;
    if (setjmp(place))
        inner();
    if (times++ < 2)
        leave_outer();
}

struct guard {
    __attribute__((noinline)) ~guard()
    {
        inner();
    }
};

OPAQUE void throw_inner(void)
{
    touch();
    throw std::runtime_error("thrown");
}
OPAQUE void throw_middle(void)
{
    guard at_end;
    throw_inner();
}
OPAQUE void throw_outer(void)
{
    throw_middle();
}

/*
 * Through three frames, one of which cleans up.
 *
 * case: exceptions
 *   touch throw_inner throw_middle throw_outer exceptions main
 *   touch inner guard::~guard throw_middle throw_outer exceptions main
 *   touch exceptions main
 *   touch throw_inner throw_middle throw_outer exceptions main
 *   touch inner guard::~guard throw_middle throw_outer exceptions main
 *   touch exceptions main
 *   touch middle_of_exceptions exceptions main
 */
OPAQUE void middle_of_exceptions(void)
{
    touch();
}
OPAQUE void exceptions(void)
{
    for (int i = 0; i < 2; i++) {
        try {
            throw_outer();
        } catch (const std::runtime_error &) {
            touch();
        }
    }
    middle_of_exceptions();
}

/* ---- signals -------------------------------------------------------------------------------- */

static sigjmp_buf signal_place;
static volatile bool jump_out;

OPAQUE void handler(int, siginfo_t *, void *context)
{
    inner();
    if (jump_out)
        siglongjmp(signal_place, 1);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* over ud2 */
}

OPAQUE void handle(void *stack, size_t bytes)
{
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = bytes;
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | (stack ? SA_ONSTACK : 0);
    if (stack && sigaltstack(&alternate, NULL))
        abort();
    sigaction(SIGILL, &action, NULL);
}

OPAQUE void fault(void)
{
    __asm__ volatile("ud2");
    touch();
}
OPAQUE void faults(void)
{
    touch();
    fault();
}
OPAQUE void jumps_out(void)
{
    jump_out = true;
    if (!sigsetjmp(signal_place, 1))
        faults();
    touch();
}

/*
 * case: signals
 *   touch faults signals main
 *   touch inner handler fault faults signals main
 *   touch fault faults signals main
 *   touch inner signals main
 */
OPAQUE void signals(void)
{
    handle(NULL, 0);
    faults();
    inner();
}

static char static_stack[65536];

OPAQUE void on_stack(void *stack, size_t bytes)
{
    handle(stack, bytes);
    faults();
    inner();
}

/*
 * On another stack: far away, among the program's data, and in a frame of the thread's own.
 *
 * case: alternate_far
 *   touch faults on_stack alternate_far main
 *   touch inner handler fault faults on_stack alternate_far main
 *   touch fault faults on_stack alternate_far main
 *   touch inner on_stack alternate_far main
 */
OPAQUE void alternate_far(void)
{
    on_stack(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
}

/*
 * case: alternate_static
 *   touch faults on_stack alternate_static main
 *   touch inner handler fault faults on_stack alternate_static main
 *   touch fault faults on_stack alternate_static main
 *   touch inner on_stack alternate_static main
 */
OPAQUE void alternate_static(void)
{
    on_stack(static_stack, sizeof static_stack);
}

/*
 * case: alternate_near
 *   touch faults on_stack alternate_near main
 *   touch inner handler fault faults on_stack alternate_near main
 *   touch fault faults on_stack alternate_near main
 *   touch inner on_stack alternate_near main
 *   touch main
 */
OPAQUE void alternate_near(void)
{
    char near[32768];
    on_stack(near, sizeof near);
}

/*
 * case: out_of_handler
 *   touch faults jumps_out out_of_handler main
 *   touch inner handler fault faults jumps_out out_of_handler main
 *   touch jumps_out out_of_handler main
 *   touch inner out_of_handler main
 */
OPAQUE void out_of_handler(void)
{
    handle(NULL, 0);
    jumps_out();
    inner();
}

/*
 * case: out_of_alternate
 *   touch faults jumps_out out_of_alternate main
 *   touch inner handler fault faults jumps_out out_of_alternate main
 *   touch jumps_out out_of_alternate main
 *   touch inner out_of_alternate main
 */
OPAQUE void out_of_alternate(void)
{
    handle(static_stack, sizeof static_stack);
    jumps_out();
    inner();
}

/*
 * In a thread, whose stack lies below the alternate one.
 *
 * case: out_of_thread
 *   touch faults jumps_out thread_out
 *   touch inner handler fault faults jumps_out thread_out
 *   touch jumps_out thread_out
 *   touch inner thread_out
 *   touch main
 */
OPAQUE void *thread_out(void *stack)
{
    handle(stack, 65536);
    jumps_out();
    inner();
    return NULL;
}
OPAQUE void out_of_thread(void)
{
    pthread_t thread;
    void *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, thread_out, stack);
    pthread_join(thread, NULL);
}

/* ---- coroutines ----------------------------------------------------------------------------- */

static ucontext_t caller, coroutines[2];

OPAQUE void yield_inner(int number, bool to_other)
{
    touch();
    swapcontext(&coroutines[number], to_other ? &coroutines[1 - number] : &caller);
    touch();
}
OPAQUE void yield_outer(int number, bool to_other)
{
    yield_inner(number, to_other);
}

OPAQUE void first_coroutine(void)
{
    yield_outer(0, false);
    yield_inner(0, true);
    for (;;)
        yield_outer(0, false);
}
OPAQUE void second_coroutine(void)
{
    for (;;)
        yield_inner(1, false);
}

OPAQUE void prepare(int number, void (*function)(void), char *stack, size_t bytes)
{
    getcontext(&coroutines[number]);
    coroutines[number].uc_stack.ss_sp = stack;
    coroutines[number].uc_stack.ss_size = bytes;
    coroutines[number].uc_link = &caller;
    makecontext(&coroutines[number], function, 0);
}
OPAQUE void resume(int number)
{
    swapcontext(&caller, &coroutines[number]);
    touch();
}
OPAQUE void alternate(char *one, char *other, size_t bytes)
{
    prepare(0, first_coroutine, one, bytes);
    prepare(1, second_coroutine, other, bytes);
    resume(0); /* in yield_outer */
    resume(1);
    resume(0); /* goes on to the second */
    resume(1);
    resume(0);
}

/*
 * case: coroutines_far
 *   touch yield_inner yield_outer first_coroutine
 *   touch resume alternate coroutines_far main
 *   touch yield_inner second_coroutine
 *   touch resume alternate coroutines_far main
 *   touch yield_inner yield_outer first_coroutine
 *   touch yield_inner first_coroutine
 *   touch yield_inner second_coroutine
 *   touch yield_inner second_coroutine
 *   touch resume alternate coroutines_far main
 *   touch yield_inner second_coroutine
 *   touch yield_inner second_coroutine
 *   touch resume alternate coroutines_far main
 *   touch yield_inner first_coroutine
 *   touch yield_inner yield_outer first_coroutine
 *   touch resume alternate coroutines_far main
 *   touch main
 */
OPAQUE void coroutines_far(void)
{
    size_t bytes = 1 << 20;
    char *stacks =
        (char *)mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    alternate(stacks, stacks + bytes, bytes);
}

/*
 * Stacks one beside the other, as an allocator gives small ones.
 *
 * case: coroutines_near
 *   touch yield_inner yield_outer first_coroutine
 *   touch resume alternate coroutines_near main
 *   touch yield_inner second_coroutine
 *   touch resume alternate coroutines_near main
 *   touch yield_inner yield_outer first_coroutine
 *   touch yield_inner first_coroutine
 *   touch yield_inner second_coroutine
 *   touch yield_inner second_coroutine
 *   touch resume alternate coroutines_near main
 *   touch yield_inner second_coroutine
 *   touch yield_inner second_coroutine
 *   touch resume alternate coroutines_near main
 *   touch yield_inner first_coroutine
 *   touch yield_inner yield_outer first_coroutine
 *   touch resume alternate coroutines_near main
 *   touch main
 */
OPAQUE void coroutines_near(void)
{
    size_t bytes = 16384;
    char *stacks = (char *)malloc(2 * bytes);
    alternate(stacks, stacks + bytes, bytes);
}

/* ---- threads -------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

OPAQUE void *thread_body(void *turn)
{
    if (turn)
        pthread_barrier_wait(&barrier);
    outer();
    if (!turn)
        pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    if (turn)
        pthread_barrier_wait(&barrier);
    inner();
    if (!turn)
        pthread_barrier_wait(&barrier);
    return NULL;
}

/*
 * Two threads by turns. What one stored the other overwrites.
 *
 * case: threads
 *   touch threads main
 *   touch inner middle outer thread_body
 *   touch inner middle outer thread_body
 *   touch inner thread_body
 *   touch inner thread_body
 *   touch threads main
 */
OPAQUE void threads(void)
{
    pthread_t members[2];
    touch();
    pthread_barrier_init(&barrier, NULL, 2);
    for (long turn = 0; turn < 2; turn++)
        pthread_create(&members[turn], NULL, thread_body, (void *)turn);
    for (int i = 0; i < 2; i++)
        pthread_join(members[i], NULL);
    touch();
}

static int ends[2];

OPAQUE void read_cell(void)
{
    touch();
    if (read(ends[0], (void *)&cell, sizeof cell) != sizeof cell)
        abort();
}
OPAQUE void *reader(void *)
{
    read_cell();
    return NULL;
}
OPAQUE void write_cell(void)
{
    long value = 5;
    usleep(20000); /* the reader waits by then */
    if (write(ends[1], &value, sizeof value) != sizeof value)
        abort();
}

/*
 * A system call that ends while another thread runs is the caller's.
 *
 * case: blocked
 *   touch read_cell reader
 *   read_cell reader
 *   touch main
 */
OPAQUE void blocked(void)
{
    pthread_t thread;
    if (pipe(ends) || pthread_create(&thread, NULL, reader, NULL))
        abort();
    write_cell();
    pthread_join(thread, NULL);
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
    CASE(calls),
    CASE(recursion),
    CASE(tail_calls),
    CASE(call_and_pop),
    CASE(big_frames),
    CASE(long_jump),
    CASE(exceptions),
    CASE(signals),
    CASE(alternate_far),
    CASE(alternate_static),
    CASE(alternate_near),
    CASE(out_of_handler),
    CASE(out_of_alternate),
    CASE(out_of_thread),
    CASE(coroutines_far),
    CASE(coroutines_near),
    CASE(threads),
    CASE(blocked),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name))
            continue;
        cases[i].function();
        touch();
        return 0;
    }
    return 99;
}
