// SPDX-License-Identifier: MIT
/*
 * The system calls of the agent on this kernel. Where perf events are not permitted or no
 * debug register is free the tests of watchpoints are skipped, not passed.
 */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <asm/unistd.h>
#include <linux/futex.h>
#include <cmocka.h>

/* ---- plain calls -------------------------------------------------------------------------- */

static void results_are_raw(void **state)
{
    errno = 77;
    assert_int_equal(os_syscall(__NR_close, -1), -EBADF);
    assert_int_equal(errno, 77);
    assert_int_equal(os_pid(), getpid());
    assert_int_equal(os_tid(), gettid());
}

static void all_six_arguments_arrive(void **state)
{
    int file = memfd_create("six", 0);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 3 * 4096), 0);
    assert_int_equal(pwrite(file, "x", 1, 2 * 4096), 1);
    long memory = os_syscall(__NR_mmap, 0, 4096, PROT_READ, MAP_SHARED, file, 2 * 4096);
    assert_true(memory > 0);
    assert_int_equal(*(const char *)memory, 'x');
    munmap((void *)memory, 4096);
    close(file);
}

static void maps_are_zeroed(void **state)
{
    unsigned char *memory = os_map(3 * 4096);
    assert_non_null(memory);
    for (unsigned i = 0; i < 3 * 4096; i++)
        assert_int_equal(memory[i], 0);
    memory[5] = 1;
    os_unmap(memory, 3 * 4096);
    assert_int_equal(msync(memory, 4096, MS_ASYNC), -1);
    assert_null(os_map((size_t)1 << 62));
}

static void reading_never_faults(void **state)
{
    unsigned char *memory = os_map(2 * 4096), out[64];
    memset(memory, 0x5a, 2 * 4096);
    assert_true(os_read_self(NULL, (uint64_t)memory + 4090, out, 12)); /* across pages */
    assert_int_equal(out[11], 0x5a);
    assert_int_equal(mprotect(memory + 4096, 4096, PROT_NONE), 0);
    assert_true(os_read_self(NULL, (uint64_t)memory + 4090, out, 6));
    assert_false(os_read_self(NULL, (uint64_t)memory + 4090, out, 7));
    assert_false(os_read_self(NULL, (uint64_t)memory + 4096, out, 1));
    assert_false(os_read_self(NULL, 0, out, 1));
    assert_false(os_read_self(NULL, UINT64_MAX - 3, out, 8));
    assert_false(os_read_self(NULL, UINT64_C(0x800000000000), out, 8));
    os_unmap(memory, 2 * 4096);
    assert_false(os_read_self(NULL, (uint64_t)memory, out, 1));
}

static void clocks_agree(void **state)
{
    const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_THREAD_CPUTIME_ID};
    for (unsigned i = 0; i < BASE_COUNT(clocks); i++) {
        struct timespec before, after;
        clock_gettime(clocks[i], &before);
        uint64_t now = os_now_ns(clocks[i]);
        clock_gettime(clocks[i], &after);
        assert_true(now >= (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec);
        assert_true(now <= (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
    }
}

static void *wait_for_word(void *word)
{
    while (__atomic_load_n((uint32_t *)word, __ATOMIC_ACQUIRE) == 0)
        os_syscall(__NR_futex, word, FUTEX_WAIT, 0, 0);
    return NULL;
}

static void futexes_wake(void **state)
{
    uint32_t word = 0;
    pthread_t thread;
    struct timespec limit;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_word, &word), 0);
    usleep(20000);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    os_futex_wake(&word);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 5;
    assert_int_equal(pthread_timedjoin_np(thread, NULL, &limit), 0);
}

/* ---- traps --------------------------------------------------------------------------------- */

static volatile unsigned traps, foreign;
static struct os_trap last;

static void on_trap(int signal, siginfo_t *info, void *context)
{
    if (info->si_code != OS_TRAP_PERF) {
        foreign++;
        return;
    }
    os_trap_read(info, &last);
    traps++;
}

static void expect_traps(unsigned count)
{
    assert_int_equal(traps, count);
    assert_int_equal(foreign, 0);
    traps = 0;
}

static int catch_traps(void **state)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    traps = foreign = 0;
    return sigaction(SIGTRAP, &action, NULL);
}

/* A fresh page: nothing else touches its bytes. */
static volatile unsigned char *bytes_to_watch(void)
{
    static unsigned char *page;
    if (!page)
        page = os_map(4096);
    return page;
}

/* Some hypervisors keep debug registers to themselves: what is armed never traps. */
static bool traps_come(void)
{
    struct os_watch watch = {0};
    volatile unsigned char *byte = bytes_to_watch();
    if (os_watch_arm(&watch, OS_WATCH_STORES, (uint64_t)byte, 0, false) < 0)
        return true; /* what comes next shows it */
    *byte = 1;
    os_watch_disarm(&watch);
    bool came = traps > 0;
    traps = 0;
    return came;
}

static void skip_without_traps(void)
{
    if (!traps_come()) {
        print_message("# no watchpoint fires here: the hypervisor keeps debug registers\n");
        skip();
    }
}

static void arm_or_skip(struct os_watch *watch, enum os_watch_type type, uint64_t address,
                        uint64_t cookie, bool kernel)
{
    skip_without_traps();
    long result = os_watch_arm(watch, type, address, cookie, kernel);
    if (result < 0) {
        print_message("# cannot arm: %s\n", strerror((int)-result));
        skip();
    }
}

static void store_watches_see_stores(void **state)
{
    volatile unsigned char *bytes = bytes_to_watch();
    struct os_watch watch = {0};
    arm_or_skip(&watch, OS_WATCH_STORES, (uint64_t)&bytes[9], 0x1234567890, false);
    (void)bytes[9];
    expect_traps(0);
    bytes[9] = 1;
    expect_traps(1);
    assert_int_equal(last.address, (uint64_t)&bytes[9]);
    assert_int_equal(last.cookie, 0x1234567890);
    assert_int_equal(last.type, PERF_TYPE_BREAKPOINT);
    assert_false(last.late);
    bytes[8] = bytes[10] = 1; /* neighbours */
    expect_traps(0);
    *(volatile uint64_t *)&bytes[8] = 0; /* covers it */
    *(volatile uint32_t *)&bytes[6] = 0; /* unaligned, covers its last byte */
    expect_traps(2);
    os_watch_disarm(&watch);
    assert_null(watch.page);
    bytes[9] = 2;
    expect_traps(0);
    os_watch_disarm(&watch); /* twice is harmless */
}

static void access_watches_see_both(void **state)
{
    volatile unsigned char *bytes = bytes_to_watch();
    struct os_watch watch = {0};
    arm_or_skip(&watch, OS_WATCH_ACCESSES, (uint64_t)&bytes[0], 1, false);
    (void)bytes[0];
    expect_traps(1);
    bytes[0] = 1;
    expect_traps(1);
    os_watch_disarm(&watch);
}

__attribute__((noinline)) static int called(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static void execution_watches_see_one_call_each(void **state)
{
    struct os_watch watch = {0};
    int (*volatile function)(int) = called;
    arm_or_skip(&watch, OS_WATCH_EXECUTION, (uint64_t)called, 7, false);
    assert_int_equal(function(1), 2);
    expect_traps(1);
    assert_int_equal(last.address, (uint64_t)called);
    assert_int_equal(function(2), 3);
    expect_traps(1);
    os_watch_disarm(&watch);
    function(1);
    expect_traps(0);
}

/* Side by side or not, those that are armed end and no other mapping does. */
static void watches_end_together(void **state)
{
    enum { PAGES = 5 };
    volatile unsigned char *bytes = bytes_to_watch();
    char *place = mmap(NULL, PAGES * OS_WATCH_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(place, MAP_FAILED);
    munmap(place, OS_WATCH_PAGE);
    munmap(place + 2 * OS_WATCH_PAGE, 2 * OS_WATCH_PAGE);
    place[OS_WATCH_PAGE] = place[4 * OS_WATCH_PAGE] = 1;
    struct os_watch watches[4] = {{.beside = (uint64_t)place},
                                  {0},
                                  {.beside = (uint64_t)place + 3 * OS_WATCH_PAGE},
                                  {.beside = (uint64_t)place + 2 * OS_WATCH_PAGE}};
    struct os_watch *all[4] = {&watches[0], &watches[1], &watches[2], &watches[3]};
    arm_or_skip(&watches[0], OS_WATCH_STORES, (uint64_t)&bytes[0], 1, false);
    for (unsigned i = 2; i < 4; i++)
        if (os_watch_arm(&watches[i], OS_WATCH_STORES, (uint64_t)&bytes[i * 16], i, false) < 0)
            skip();
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal((uint64_t)watches[i].page, watches[i].beside);
    os_watch_disarm_all(all, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_null(watches[i].page);
        bytes[i * 16] = 1;
    }
    expect_traps(0);
    assert_int_equal(place[OS_WATCH_PAGE] + place[4 * OS_WATCH_PAGE], 2);
    os_watch_disarm_all(all, 4);
    munmap(place + OS_WATCH_PAGE, OS_WATCH_PAGE);
    munmap(place + 4 * OS_WATCH_PAGE, OS_WATCH_PAGE);
}

static void registers_run_out_and_come_back(void **state)
{
    volatile unsigned char *bytes = bytes_to_watch();
    struct os_watch watches[9] = {0};
    unsigned armed = 0;
    long result = 0;
    skip_without_traps();
    while (armed < 9 && result == 0) {
        result = os_watch_arm(&watches[armed], OS_WATCH_STORES, (uint64_t)&bytes[armed * 16], armed,
                              false);
        armed += result == 0;
    }
    if (armed == 0)
        skip();
    assert_int_equal(result, -ENOSPC);
    assert_true(armed <= 4);
    assert_null(watches[armed].page); /* untouched on failure */
    for (unsigned i = 0; i < armed; i++) {
        bytes[i * 16] = 1;
        expect_traps(1);
        assert_int_equal(last.cookie, i);
    }
    os_watch_disarm(&watches[0]);
    assert_int_equal(os_watch_arm(&watches[0], OS_WATCH_STORES, (uint64_t)&bytes[200], 50, false),
                     0);
    bytes[200] = 1;
    expect_traps(1);
    assert_int_equal(last.cookie, 50);
    for (unsigned i = 0; i < armed; i++)
        os_watch_disarm(&watches[i]);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void no_descriptor_stays_open(void **state)
{
    unsigned before = open_descriptors();
    struct os_watch watch = {0}, ticks = {0};
    arm_or_skip(&watch, OS_WATCH_STORES, (uint64_t)bytes_to_watch(), 1, false);
    assert_int_equal(os_tick_start(&ticks, 1000000000, 1), 0);
    assert_int_equal(open_descriptors(), before);
    assert_true(close_range(3, ~0u, 0) == 0 || errno == ENOSYS);
    bytes_to_watch()[0] = 1;
    expect_traps(1);
    os_watch_disarm(&ticks);
    os_watch_disarm(&watch);
}

static void blocked_traps_come_late(void **state)
{
    volatile unsigned char *bytes = bytes_to_watch();
    struct os_watch watch = {0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    arm_or_skip(&watch, OS_WATCH_STORES, (uint64_t)&bytes[0], 1, false);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    bytes[0] = 1;
    expect_traps(0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    expect_traps(1);
    assert_true(last.late);
    os_watch_disarm(&watch);
}

static void other_threads_and_children_do_not_trap(void **state)
{
    volatile unsigned char *bytes = bytes_to_watch();
    struct os_watch watch = {0};
    int status;
    arm_or_skip(&watch, OS_WATCH_STORES, (uint64_t)&bytes[0], 1, false);
    pid_t child = fork();
    if (child == 0) {
        bytes[0] = 1;
        _exit((int)traps);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    bytes[0] = 2;
    expect_traps(1); /* still armed here */
    os_watch_disarm(&watch);
}

static void the_kernel_is_seen_if_asked(void **state)
{
    volatile unsigned char *bytes = bytes_to_watch();
    struct os_watch watch = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (unsigned kernel = 0; kernel < 2; kernel++) {
        arm_or_skip(&watch, OS_WATCH_ACCESSES, (uint64_t)&bytes[100], 1, kernel);
        assert_int_equal(write(ends[1], (const void *)&bytes[64], 128), 128);
        assert_int_equal(traps > 0, kernel);
        traps = 0;
        assert_int_equal(read(ends[0], (void *)&bytes[64], 128), 128);
        assert_int_equal(traps > 0, kernel);
        traps = 0;
        os_watch_disarm(&watch);
    }
    close(ends[0]);
    close(ends[1]);
}

/* ---- ticks ---------------------------------------------------------------------------------- */

static void burn(uint64_t nanoseconds)
{
    uint64_t end = os_now_ns(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
    while (os_now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
}

/* Few limits: other programs share the processor, so only CPU time counts, and the period may only
   ever be exceeded. */
static void ticks_follow_cpu_time(void **state)
{
    struct os_watch ticks = {0};
    long result = os_tick_start(&ticks, 2000000, 42);
    if (result < 0)
        skip();
    burn(200000000);
    unsigned counted = traps;
    assert_true(counted > 30 && counted <= 110);
    assert_int_equal(foreign, 0);
    assert_int_equal(last.cookie, 42);
    assert_int_equal(last.type, PERF_TYPE_SOFTWARE);
    traps = 0;
    usleep(100000); /* no CPU time, no ticks, no EINTR */
    assert_true(traps <= 1);
    os_watch_disarm(&ticks);
    traps = 0;
    burn(20000000);
    expect_traps(0);
}

#define WITH_TRAPS(test) cmocka_unit_test_setup(test, catch_traps)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_raw),
        cmocka_unit_test(all_six_arguments_arrive),
        cmocka_unit_test(maps_are_zeroed),
        cmocka_unit_test(reading_never_faults),
        cmocka_unit_test(clocks_agree),
        cmocka_unit_test(futexes_wake),
        WITH_TRAPS(store_watches_see_stores),
        WITH_TRAPS(access_watches_see_both),
        WITH_TRAPS(execution_watches_see_one_call_each),
        WITH_TRAPS(watches_end_together),
        WITH_TRAPS(registers_run_out_and_come_back),
        WITH_TRAPS(no_descriptor_stays_open),
        WITH_TRAPS(blocked_traps_come_late),
        WITH_TRAPS(other_threads_and_children_do_not_trap),
        WITH_TRAPS(the_kernel_is_seen_if_asked),
        WITH_TRAPS(ticks_follow_cpu_time),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}
