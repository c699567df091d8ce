// SPDX-License-Identifier: MIT
/*
 * hook in one process, without the agent: functions are called through their stubs. What they
 * return must be what they return alone, however they are left; what is counted is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hook/hook.h"

#include <complex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { THREAD_PIECES = 16, STACK_PERIOD = 100 };

static struct spans_region *region;
static unsigned char *file; /* the region's pieces */
static _Atomic uint32_t stopping;
static uint32_t stacks_taken;

static uint32_t take_stack(const struct base_registers *caller, uint32_t *thread)
{
    stacks_taken++;
    (void)caller;
    *thread = 1;
    return 1;
}

static void *map(uint64_t offset, uint64_t bytes)
{
    (void)bytes;
    return file + offset;
}

static void see_module(uint64_t address)
{
}

/* Numbers: each test has its own, so that counts are. */
static uint32_t add(enum spans_class class, enum spans_key key, void *target)
{
    uint32_t k = atomic_fetch_add(&region->functions, 1);
    region->function[k].class = class;
    region->function[k].key = key;
    region->function[k].every = 1;
    hook_set_target(k, (uint64_t)target);
    return k;
}

#define HOOKED(function, class, key)                                                               \
    uint32_t k_##function = add(class, key, (void *)function);                                     \
    __typeof__(&(function)) via_##function = (__typeof__(&(function)))hook_stub(k_##function)

static struct spans_thread *piece_of(uint32_t tid)
{
    uint64_t at = (sizeof *region + SPANS_PAGE - 1) & -(uint64_t)SPANS_PAGE;
    for (; at < region->next;) {
        struct spans_thread *piece = (struct spans_thread *)(file + at);
        if (piece->piece.kind == SPANS_PIECE_THREAD && piece->live == tid)
            return piece;
        at += piece->piece.bytes;
    }
    return NULL;
}

static struct spans_span *span_of(uint32_t k, uint64_t key, uint32_t index)
{
    struct spans_thread *piece = piece_of((uint32_t)gettid());
    for (uint32_t i = 0; piece && i < piece->spans; i++)
        if (piece->span[i].function == k && piece->span[i].key == key && index-- == 0)
            return &piece->span[i];
    return NULL;
}

static uint64_t count_of(uint32_t k)
{
    uint64_t count = 0;
    struct spans_thread *piece = piece_of((uint32_t)gettid());
    for (uint32_t i = 0; piece && i < piece->spans; i++)
        if (piece->span[i].function == k)
            count += piece->span[i].recorded;
    return count;
}

/* ---- calls are as they are alone ------------------------------------------------ */

struct large {
    long values[9];
};

static __attribute__((noinline)) struct large many(long a, long b, long c, long d, long e, long f,
                                                   double x, double y, long g, long h,
                                                   struct large i, float z)
{
    struct large result = {
        {a + h, b + g, c + f, d + e, (long)x, (long)y, (long)z, i.values[3], a * b}};
    return result;
}

static __attribute__((noinline)) int sum(int count, ...)
{
    va_list list;
    double total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        total += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return (int)total;
}

static __attribute__((noinline)) long double extended(long double a, double complex b)
{
    return a * 2 + creal(b) - cimag(b);
}

static __attribute__((noinline)) double complex turned(double complex a)
{
    return a * (2.0 + 1.0 * I);
}

typedef double wide __attribute__((vector_size(32)));

static __attribute__((noinline, target("avx"))) void add_wide(wide *out, const wide *a,
                                                              const wide *b)
{
    *out = *a + *b;
}

static void test_calls(void **state)
{
    HOOKED(many, SPANS_CODE, SPANS_KEY_NONE);
    HOOKED(sum, SPANS_CODE, SPANS_KEY_NONE);
    HOOKED(extended, SPANS_CODE, SPANS_KEY_NONE);
    HOOKED(turned, SPANS_CODE, SPANS_KEY_NONE);
    struct large i = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    for (int n = 0; n < 3 * STACK_PERIOD; n++) { /* due work in between */
        struct large a = many(1, 2, 3, n, 5, 6, 7.5, 8.5, 9, 10, i, 11.5f);
        struct large b = via_many(1, 2, 3, n, 5, 6, 7.5, 8.5, 9, 10, i, 11.5f);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(via_sum(5, 1, 2.5, 3, 4.5, n), sum(5, 1, 2.5, 3, 4.5, n));
        assert_true(via_extended(3.25L + n, 1.5 + 2.5 * I) == extended(3.25L + n, 1.5 + 2.5 * I));
        assert_true(via_turned(n + 3 * I) == turned(n + 3 * I));
    }
    assert_int_equal(count_of(k_many), 3 * STACK_PERIOD);
    assert_int_equal(count_of(k_turned), 3 * STACK_PERIOD);
    assert_true(span_of(k_many, 0, 0)->stacks_count == 1);
    assert_int_equal(span_of(k_many, 0, 0)->stacks[0].taken, 3);
}

/* Every register that a local function might leave alone must come through, vector registers' upper
 * halves too. */
void all_registers(void (*function)(void), uint64_t *before, uint64_t *after);
__asm__(".text\n"
        "all_registers:\n"
        "    push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "    push %rdx\n push %rdi\n sub $8, %rsp\n"
        "    mov %rsi, %rax\n"
        "    mov 0(%rax), %rbx\n mov 8(%rax), %rcx\n mov 16(%rax), %rdx\n mov 24(%rax), %rsi\n"
        "    mov 32(%rax), %rdi\n mov 40(%rax), %rbp\n mov 48(%rax), %r8\n mov 56(%rax), %r9\n"
        "    mov 64(%rax), %r10\n mov 72(%rax), %r11\n mov 80(%rax), %r12\n mov 88(%rax), %r13\n"
        "    mov 96(%rax), %r14\n mov 104(%rax), %r15\n mov 112(%rax), %rax\n"
        "    movq %rax, %xmm0\n movq %rbx, %xmm7\n movq %rcx, %xmm15\n"
        "    call *8(%rsp)\n"
        "    push %rax\n mov 24(%rsp), %rax\n"
        "    mov %rbx, 0(%rax)\n mov %rcx, 8(%rax)\n mov %rdx, 16(%rax)\n mov %rsi, 24(%rax)\n"
        "    mov %rdi, 32(%rax)\n mov %rbp, 40(%rax)\n mov %r8, 48(%rax)\n mov %r9, 56(%rax)\n"
        "    mov %r10, 64(%rax)\n mov %r11, 72(%rax)\n mov %r12, 80(%rax)\n mov %r13, 88(%rax)\n"
        "    mov %r14, 96(%rax)\n mov %r15, 104(%rax)\n"
        "    pop %rcx\n mov %rcx, 112(%rax)\n"
        "    movq %xmm0, 120(%rax)\n movq %xmm7, 128(%rax)\n movq %xmm15, 136(%rax)\n"
        "    add $24, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "    ret\n");
void nothing(void);
__asm__(".text\nnothing: ret\n");

static void test_registers(void **state)
{
    HOOKED(nothing, SPANS_CODE, SPANS_KEY_NONE);
    uint64_t before[18], after[18];
    for (int round = 0; round < 2 * STACK_PERIOD; round++) {
        for (uint64_t i = 0; i < 15; i++)
            before[i] = base_mix64(i + 1 + (uint64_t)round);
        before[15] = before[14];
        before[16] = before[0];
        before[17] = before[1];
        memset(after, 0, sizeof after);
        all_registers(via_nothing, before, after);
        assert_memory_equal(before, after, sizeof before);
    }
    assert_int_equal(count_of(k_nothing), 2 * STACK_PERIOD);
}

static void test_wide(void **state)
{
    if (!__builtin_cpu_supports("avx"))
        skip();
    HOOKED(add_wide, SPANS_CODE, SPANS_KEY_NONE);
    _Alignas(32) wide a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, out;
    for (int i = 0; i < 2 * STACK_PERIOD; i++) {
        via_add_wide(&out, &a, &b);
        assert_true(out[0] == 6 && out[3] == 12);
    }
}

/* ---- spans -------------------------------------------------------------------- */

static __attribute__((noinline)) long keyed(long key, long more)
{
    return key * 3 + more;
}

static void test_keys(void **state)
{
    HOOKED(keyed, SPANS_CODE, SPANS_KEY_VALUE);
    for (long i = 0; i < 500; i++)
        assert_int_equal(via_keyed(i % 5, i), i % 5 * 3 + i);
    for (uint64_t key = 0; key < 5; key++) {
        struct spans_span *span = span_of(k_keyed, key, 0);
        assert_non_null(span);
        assert_int_equal(span->recorded, 100);
        assert_true(span->min <= span->sum / 100 && span->max >= span->sum / 100);
        uint64_t binned = 0;
        for (int i = 0; i < SPANS_BINS; i++)
            binned += span->bins[i];
        assert_int_equal(binned, 100);
        for (uint32_t i = 0; i < span->samples_count; i++) {
            assert_int_equal(span->samples[i].argument[0], key);
            assert_int_equal(span->samples[i].result, key * 3 + span->samples[i].argument[1]);
        }
    }
    for (long i = 0; i < 10000; i++)
        via_keyed(1000 + i, 0);
    assert_int_equal(count_of(k_keyed),
                     10500); /* those without a span of their own in one for the rest */
}

static uint32_t k_leaf;
static long (*via_leaf)(long);

static __attribute__((noinline)) long leaf(long a)
{
    return a + 1;
}

static __attribute__((noinline)) long loop(long times)
{
    long total = 0;
    for (long i = 0; i < times; i++)
        total += via_leaf(i);
    return total;
}

static void prepare_leaf(void)
{
    k_leaf = add(SPANS_CODE, SPANS_KEY_NONE, (void *)leaf);
    via_leaf = (long (*)(long))hook_stub(k_leaf);
}

static void test_shapes(void **state)
{
    prepare_leaf();
    HOOKED(loop, SPANS_CODE, SPANS_KEY_NONE);
    for (int i = 0; i < 300; i++)
        via_loop(i % 3 * 2); /* 0, 2, 4 times */
    for (uint32_t i = 0; i < 3; i++) {
        struct spans_span *span = span_of(k_loop, 0, i);
        assert_non_null(span);
        assert_int_equal(span->recorded, 100);
        assert_int_equal(span->children_count, i > 0);
        assert_true((span->shape == 0) == (i == 0));
        assert_true(span->within <= span->sum);
        if (i) {
            assert_int_equal(span->children[0].function, k_leaf);
            assert_int_equal(span->children[0].count, i * 2);
        }
    }
    assert_null(span_of(k_loop, 0, 3));
    assert_int_equal(count_of(k_leaf), 600);
}

static void test_sequences(void **state)
{
    prepare_leaf();
    HOOKED(keyed, SPANS_CODE, SPANS_KEY_NONE);
    for (long i = 0; i < 1000; i++) {
        via_leaf(i);
        via_keyed(i, i);
    }
    struct spans_thread *piece = piece_of((uint32_t)gettid());
    uint64_t most = 0;
    for (uint32_t i = 0; i < piece->spans; i++) {
        struct spans_span *span = &piece->span[i];
        if (span->flags & SPANS_SEQUENCE && span->children_count == 2 &&
            span->children[0].function == k_leaf && span->children[1].function == k_keyed)
            most = span->recorded;
    }
    assert_true(most >= 998 && most <= 1000);
}

static __attribute__((noinline)) long slow(long turns)
{
    for (long i = 0; i < turns; i++)
        __asm__ volatile("");
    return turns;
}

/* Executions that are next to nothing are given up; those that take microseconds are not. */
static void test_often(void **state)
{
    HOOKED(keyed, SPANS_CODE, SPANS_KEY_NONE);
    HOOKED(slow, SPANS_CODE, SPANS_KEY_NONE);
    for (long i = 0; i < 40000; i++)
        assert_int_equal(via_slow(3000), 3000);
    assert_int_equal(region->function[k_slow].often, SPANS_OFTEN_NOT);
    for (long i = 0; i < 400000; i++)
        assert_int_equal(via_keyed(i, 1), i * 3 + 1);
    assert_int_equal(region->function[k_keyed].often, SPANS_OFTEN);
    assert_int_equal(region->function[k_slow].often, SPANS_OFTEN_NOT);
}

/* What a sampled callee takes is its caller's within, in the sum: a tenth more or less. */
static long (*slow_hook)(long turns);

static __attribute__((noinline)) long around(long turns)
{
    return slow_hook(turns) + 1;
}

static void test_sampled_callee(void **state)
{
    HOOKED(slow, SPANS_CODE, SPANS_KEY_NONE);
    HOOKED(around, SPANS_CODE, SPANS_KEY_NONE);
    slow_hook = via_slow;
    region->function[k_slow].every = 8;
    for (long i = 0; i < 40000; i++)
        assert_int_equal(via_around(2000), 2001);
    struct spans_span *span = span_of(k_around, 0, 0);
    assert_int_equal(span->recorded, 40000);
    assert_in_range(span->within, span->sum / 10 * 8, span->sum / 10 * 12);
}

static void test_every(void **state)
{
    HOOKED(keyed, SPANS_CODE, SPANS_KEY_NONE);
    region->function[k_keyed].every = 16;
    for (long i = 0; i < 160000; i++)
        assert_int_equal(via_keyed(i, 1), i * 3 + 1);
    struct spans_span *span = span_of(k_keyed, 0, 0);
    assert_in_range(span->recorded, 8500, 11500);
    assert_in_range(span->recorded + span->skipped, 144000, 176000);
}

static void test_holders(void **state)
{
    HOOKED(keyed, SPANS_LOCK, SPANS_KEY_VALUE);
    for (long i = 0; i < 1000; i++) {
        via_keyed(7777, i);
        if (i % 100 == 0)
            usleep(100); /* what is held is never slow here: waits come from others */
    }
    struct spans_span *span = span_of(k_keyed, 7777, 0);
    for (int i = 0; i < SPANS_HOLDERS && span->holders[i].times; i++)
        assert_true(span->holders[i].place != 0);
}

static __attribute__((noinline)) void doze(long microseconds)
{
    usleep((useconds_t)microseconds);
}

static void (*via_doze)(long);

static __attribute__((noinline)) void doze_twice(long microseconds)
{
    via_doze(microseconds);
    via_doze(microseconds);
}

static void test_sleep(void **state)
{
    uint32_t k = add(SPANS_CODE, SPANS_KEY_NONE, (void *)doze);
    via_doze = (void (*)(long))hook_stub(k);
    HOOKED(doze_twice, SPANS_CODE, SPANS_KEY_NONE);
    via_doze(1000);
    if (region->no_switches)
        skip();
    usleep(20000); /* outside: nobody's */
    for (int i = 0; i < 5; i++)
        via_doze_twice(2000);
    struct spans_span *inner = span_of(k, 0, 0), *outer = span_of(k_doze_twice, 0, 0);
    assert_in_range(inner->sleeps, 11, 40);
    assert_true(inner->asleep > inner->sum / 10 * 8 && inner->asleep <= inner->sum);
    assert_in_range(outer->sleeps, 10, 40);
    assert_true(outer->asleep > outer->sum / 10 * 8 && outer->asleep <= outer->sum);
}

/* ---- frames left otherwise ----------------------------------------------------- */

static __attribute__((noinline)) long deep(long levels, long (*self)(long, void *), void *unused)
{
    return levels == 0 ? 0 : 1 + self(levels - 1, unused);
}

static long (*via_recursion)(long, void *);

static __attribute__((noinline)) long recursion(long levels, void *unused)
{
    return deep(levels, via_recursion, unused);
}

static void *recurse(void *levels)
{
    hook_thread_begin((uint32_t)gettid());
    long got = via_recursion((long)levels, NULL);
    hook_thread_end();
    return (void *)got;
}

static void run_on_large_stack(void *(*routine)(void *), void *argument, void *expected)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 20);
    assert_int_equal(pthread_create(&thread, &attributes, routine, argument), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, expected);
}

static void test_recursion(void **state)
{
    uint32_t k = add(SPANS_CODE, SPANS_KEY_NONE, (void *)recursion);
    via_recursion = (long (*)(long, void *))hook_stub(k);
    assert_int_equal(via_recursion(1000, NULL), 1000);
    assert_int_equal(count_of(k), 1001);
    /* Deeper than there are slots: the rest runs, unseen. */
    run_on_large_stack(recurse, (void *)1000000L, (void *)1000000L);
    assert_int_equal(via_recursion(1000, NULL), 1000);
    assert_int_equal(count_of(k), 2002);
}

static jmp_buf home;

static __attribute__((noinline)) void jump(long value)
{
    longjmp(home, (int)value);
}

static void (*via_jump)(long);

static __attribute__((noinline)) void jump_from(long levels)
{
    if (levels == 0)
        via_jump(1);
    else
        jump_from(levels - 1);
}

static void test_longjmp(void **state)
{
    uint32_t k = add(SPANS_CODE, SPANS_KEY_NONE, (void *)jump);
    via_jump = (void (*)(long))hook_stub(k);
    HOOKED(jump_from, SPANS_CODE, SPANS_KEY_NONE);
    prepare_leaf();
    for (volatile long i = 0; i < 100000; i++) {
        if (setjmp(home) == 0)
            via_jump_from(i % 7);
        assert_int_equal(via_leaf(i), i + 1);
    }
    assert_int_equal(count_of(k_leaf), 100000); /* slots do not leak */
    assert_int_equal(count_of(k), 0);
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *found)
{
    uint64_t ip = _Unwind_GetIP(context), start = _Unwind_GetRegionStart(context);
    uint64_t *wanted = found;
    (void)ip;
    for (int i = 0; i < 3; i++)
        if (start == wanted[i])
            wanted[i] = 0;
    return _URC_NO_REASON;
}

static __attribute__((noinline)) long look_back(uint64_t *wanted)
{
    _Unwind_Backtrace(note_frame, wanted);
    return (long)(wanted[0] + wanted[1] + wanted[2]);
}

static long (*via_look_back)(uint64_t *);

static __attribute__((noinline)) long middle(uint64_t *wanted)
{
    return via_look_back(wanted) + 1;
}

static long (*via_middle)(uint64_t *);

static __attribute__((noinline)) long outer(uint64_t *wanted)
{
    return via_middle(wanted) * 2;
}

static void test_backtrace(void **state)
{
    via_look_back = (long (*)(uint64_t *))hook_stub(add(SPANS_CODE, 0, (void *)look_back));
    via_middle = (long (*)(uint64_t *))hook_stub(add(SPANS_CODE, 0, (void *)middle));
    HOOKED(outer, SPANS_CODE, SPANS_KEY_NONE);
    for (int i = 0; i < 10; i++) {
        uint64_t wanted[3] = {(uint64_t)middle, (uint64_t)outer, (uint64_t)test_backtrace};
        assert_int_equal(via_outer(wanted), 2);
    }
}

static _Atomic int cleaned;

static void clean(void *unused)
{
    cleaned++;
}

static __attribute__((noinline)) void end_thread(long how)
{
    if (how == 0)
        pthread_exit((void *)42);
    pthread_cancel(pthread_self());
    pthread_testcancel();
}

static void (*via_end_thread)(long);

static __attribute__((noinline)) void with_cleanup(long how)
{
    pthread_cleanup_push(clean, NULL);
    via_end_thread(how);
    pthread_cleanup_pop(0);
}

static void (*via_with_cleanup)(long);

static void *end_by(void *how)
{
    hook_thread_begin((uint32_t)gettid());
    pthread_cleanup_push(clean, NULL);
    via_with_cleanup((long)how);
    pthread_cleanup_pop(0);
    return NULL;
}

static void test_thread_exit(void **state)
{
    via_end_thread = (void (*)(long))hook_stub(add(SPANS_CODE, 0, (void *)end_thread));
    via_with_cleanup = (void (*)(long))hook_stub(add(SPANS_CODE, 0, (void *)with_cleanup));
    for (long how = 0; how < 2; how++) {
        pthread_t thread;
        void *result;
        cleaned = 0;
        assert_int_equal(pthread_create(&thread, NULL, end_by, (void *)how), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, how ? PTHREAD_CANCELED : (void *)42);
        assert_int_equal(cleaned, 2);
    }
}

/* ---- coroutines ---------------------------------------------------------------- */

enum { COROUTINES = 3, COROUTINE_BYTES = 65536 };
static ucontext_t main_context, contexts[COROUTINES];
static long finished;

static __attribute__((noinline)) long turn(long me)
{
    swapcontext(&contexts[me], &main_context);
    return me;
}

static long (*via_turn)(long);

static void coroutine(int me)
{
    long total = 0;
    for (int i = 0; i < 1000; i++)
        total += via_turn(me) + via_leaf(i) - i;
    finished += total;
}

/* The stacks are carved out of main's own and out of the heap: the order of addresses means
 * nothing. */
static void test_coroutines(void **state)
{
    static char in_data[COROUTINE_BYTES];
    char in_stack[COROUTINE_BYTES];
    char *in_heap = malloc(COROUTINE_BYTES);
    char *stacks[COROUTINES] = {in_stack, in_data, in_heap};
    prepare_leaf();
    uint32_t k = add(SPANS_CODE, 0, (void *)turn);
    via_turn = (long (*)(long))hook_stub(k);
    finished = 0;
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = COROUTINE_BYTES;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    for (int round = 0; round < 1001; round++)
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&main_context, &contexts[i]);
    assert_int_equal(finished, 1000 * (0 + 1 + 2) + 3 * 1000);
    free(in_heap);
}

/* ---- signals, fork, threads ---------------------------------------------------- */

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    ticks++;
    if (via_leaf(number) != number + 1)
        abort();
}

static void test_signals(void **state)
{
    prepare_leaf();
    HOOKED(keyed, SPANS_CODE, SPANS_KEY_NONE);
    struct sigaction action = {.sa_handler = on_tick}, before;
    struct itimerval timer = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (long i = 0; ticks < 200; i++)
        assert_int_equal(via_keyed(i, 5), i * 3 + 5);
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_true(count_of(k_leaf) > 0);
}

static __attribute__((noinline)) long divide(long unused)
{
    pid_t child = fork();
    if (child == 0) {
        hook_after_fork((uint32_t)getpid(), 2);
        return via_leaf(99);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_fork(void **state)
{
    prepare_leaf();
    HOOKED(divide, SPANS_CODE, SPANS_KEY_NONE);
    pid_t self = getpid();
    long result = via_divide(0);
    if (getpid() != self) {
        for (long i = 0; i < 10; i++)
            if (via_leaf(i) != i + 1)
                _exit(1);
        _exit(result == 100 && count_of(k_leaf) == 11 && count_of(k_divide) == 0 ? 77 : 2);
    }
    assert_int_equal(result, 77);
    assert_int_equal(count_of(k_leaf), 0);
    assert_int_equal(count_of(k_divide), 1);
}

static uint32_t k_shared;
static long (*via_shared)(long, long);

static void *call_often(void *result)
{
    hook_thread_begin((uint32_t)gettid());
    for (long i = 0; i < 200000; i++)
        if (via_shared(i % 3, i) != i % 3 * 3 + i)
            abort();
    *(uint64_t *)result = count_of(k_shared);
    hook_thread_end();
    return NULL;
}

static void test_threads(void **state)
{
    k_shared = add(SPANS_CODE, SPANS_KEY_VALUE, (void *)keyed);
    via_shared = (long (*)(long, long))hook_stub(k_shared);
    for (int round = 0; round < 4; round++) {
        pthread_t threads[3];
        uint64_t counts[3], total = 0;
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, call_often, &counts[i]), 0);
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
            total += counts[i];
        }
        assert_int_equal(total % 200000, 0); /* pieces are taken over: sums go on */
        assert_true(total >= 600000);
    }
}

static void test_stop(void **state)
{
    prepare_leaf();
    via_leaf(1);
    hook_stop();
    for (long i = 0; i < 100; i++)
        assert_int_equal(via_leaf(i), i + 1);
    assert_int_equal(count_of(k_leaf), 1);
}

/* As the bridge of a marker does it (spans.h). */
void mark(uint64_t key, uint64_t k, void (*entry)(void));
__asm__(".text\n"
        "mark: push %rbp\n mov %rsp, %rbp\n push %rsi\n call *%rdx\n mov %rbp, %rsp\n pop %rbp\n "
        "ret\n");
void hook_marker_begin(void);
void hook_marker_end(void);

static void test_markers(void **state)
{
    uint32_t k = add(SPANS_CODE, 0, NULL), inner = add(SPANS_CODE, 0, NULL);
    for (int i = 0; i < 50; i++) {
        mark(5, k, hook_marker_begin);
        mark(0, inner, hook_marker_begin);
        if (i % 2) /* else left by a jump */
            mark(0, inner, hook_marker_end);
        mark(0, k, hook_marker_end);
        mark(0, k, hook_marker_end); /* once too often */
    }
    struct spans_span *with = span_of(k, 5, 1);
    assert_int_equal(span_of(k, 5, 0)->recorded + (with ? with->recorded : 0), 50);
    assert_int_equal(count_of(inner), 25);
}

/* ---- start
 * ---------------------------------------------------------------------------------------------------
 */

static int begin(void **state)
{
    size_t bytes = sizeof *region + (size_t)THREAD_PIECES * sizeof(struct spans_thread) +
                   8 * sizeof(struct spans_process) + (1 << 20);
    file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (file == MAP_FAILED)
        return 1;
    region = (struct spans_region *)file;
    region->next = (sizeof *region + SPANS_PAGE - 1) & -(uint64_t)SPANS_PAGE;
    region->stack_period = STACK_PERIOD;
    region->switches = 1;
    region->ticks_start = __builtin_ia32_rdtsc();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    region->ns_start = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    region->functions = 1;
    region->function[0].every = 1;
    const struct hook_agent agent = {
        .stack = take_stack, .map = map, .module = see_module, .stopping = &stopping};
    if (!hook_begin(region, &agent, (uint32_t)getpid(), 1))
        return 1;
    hook_publish();
    hook_thread_begin((uint32_t)gettid());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),          cmocka_unit_test(test_registers),
        cmocka_unit_test(test_wide),           cmocka_unit_test(test_keys),
        cmocka_unit_test(test_shapes),         cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_every),          cmocka_unit_test(test_often),
        cmocka_unit_test(test_sampled_callee), cmocka_unit_test(test_holders),
        cmocka_unit_test(test_sleep),          cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_longjmp),        cmocka_unit_test(test_backtrace),
        cmocka_unit_test(test_thread_exit),    cmocka_unit_test(test_coroutines),
        cmocka_unit_test(test_signals),        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_stop), /* last: for good */
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
