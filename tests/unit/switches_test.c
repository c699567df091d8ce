// SPDX-License-Identifier: MIT
/*
 * Context switches of threads whose switches are known. Where perf events are not permitted the
 * tests are skipped. What opening and switching cost is printed.
 */
#include "os/switches.h"

#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t now_ns(void)
{
    return os_now_ns(CLOCK_MONOTONIC_RAW);
}

static void open_or_skip(struct switches *switches)
{
    long result = switches_open(switches);
    if (result < 0) {
        print_message("# cannot watch context switches: %s\n", strerror((int)-result));
        assert_null(switches->page);
        skip();
    }
    assert_non_null(switches->page);
}

/* All since *position, with `room` intervals at most at a time. */
static uint32_t read_all(const struct switches *switches, uint64_t *position,
                         struct switches_interval *intervals, uint32_t room, uint64_t *lost)
{
    uint32_t count = 0, got;
    do {
        got = switches_read(switches, position, intervals + count, room, lost);
        count += got;
    } while (got == room);
    return count;
}

static void sleeps_show(void **state)
{
    enum { SLEEPS = 20, SLEEP_NS = 3000000 };
    const struct timespec sleep = {.tv_nsec = SLEEP_NS};
    static struct switches_interval intervals[10000];
    uint64_t from[SLEEPS], to[SLEEPS], lost = 0;
    struct switches switches;
    open_or_skip(&switches);
    uint64_t position = switches_position(&switches);
    for (unsigned i = 0; i < SLEEPS; i++) {
        uint64_t before = switches_position(&switches);
        from[i] = now_ns();
        nanosleep(&sleep, NULL);
        to[i] = now_ns();
        assert_true(switches_since(&switches, before));
    }
    uint32_t count = read_all(&switches, &position, intervals, 7, &lost), slept = 0;
    assert_int_equal(lost, 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(intervals[i].off_ns < intervals[i].on_ns);
        assert_true(i == 0 || intervals[i].off_ns > intervals[i - 1].on_ns);
        /* Preempted ones may be of any length; page faults may give up the CPU too, but not for
         * long. */
        if (intervals[i].preempted || intervals[i].on_ns - intervals[i].off_ns < SLEEP_NS / 2)
            continue;
        assert_true(slept < SLEEPS);
        assert_true(intervals[i].off_ns >= from[slept] && intervals[i].on_ns <= to[slept]);
        assert_true(intervals[i].on_ns - intervals[i].off_ns > SLEEP_NS * 9 / 10);
        slept++;
    }
    assert_int_equal(slept, SLEEPS);
    switches_close(&switches);
    assert_null(switches.page);
    assert_false(switches_since(&switches, 0));
    switches_close(&switches); /* twice is harmless */
}

/* ---- preemption ---------------------------------------------------------------------------- */

struct busy {
    pthread_barrier_t *barrier;
    int processor;
    long opened;
    uint64_t start, end, on_cpu_ns, preempted_ns, asleep_ns, preemptions, lost;
};

static void pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void add_up(struct busy *busy, const struct switches *switches, uint64_t *position)
{
    struct switches_interval interval;
    while (switches_read(switches, position, &interval, 1, &busy->lost)) {
        uint64_t off = interval.on_ns - interval.off_ns;
        *(interval.preempted ? &busy->preempted_ns : &busy->asleep_ns) += off;
        busy->preemptions += interval.preempted;
    }
}

static void *be_busy(void *argument)
{
    struct busy *busy = argument;
    struct switches switches;
    pin(busy->processor);
    busy->opened = switches_open(&switches);
    pthread_barrier_wait(busy->barrier);
    uint64_t position = switches_position(&switches);
    busy->on_cpu_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID);
    busy->start = busy->end = now_ns();
    while (busy->end - busy->start < 400000000) {
        if (switches_since(&switches, position))
            add_up(busy, &switches, &position);
        busy->end = now_ns();
    }
    busy->on_cpu_ns = os_now_ns(CLOCK_THREAD_CPUTIME_ID) - busy->on_cpu_ns;
    switches_close(&switches);
    return NULL;
}

static int last_processor(void)
{
    cpu_set_t set;
    int last = 0;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &set) ? i : last;
    return last;
}

static void preemption_shows(void **state)
{
    enum { THREADS = 2 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    struct busy busy[THREADS] = {0};
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        busy[i] = (struct busy){.barrier = &barrier, .processor = last_processor()};
        assert_int_equal(pthread_create(&threads[i], NULL, be_busy, &busy[i]), 0);
    }
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    if (busy[0].opened < 0)
        skip();
    for (unsigned i = 0; i < THREADS; i++) {
        double wall = (double)(busy[i].end - busy[i].start);
        double share = (double)busy[i].preempted_ns / wall;
        double off = 1 - (double)busy[i].on_cpu_ns / wall;
        print_message("# %llu preemptions, %.2f of the time, which was %.2f off the processor\n",
                      (unsigned long long)busy[i].preemptions, share, off);
        assert_int_equal(busy[i].lost, 0);
        assert_true(busy[i].preemptions >= 3);
        assert_true(share > 0.3); /* half, and more if others want the processor too */
        assert_true(share > off - 0.1 && share < off + 0.1);
        assert_true(busy[i].asleep_ns < busy[i].preempted_ns / 4);
    }
}

/* ---- the ring ------------------------------------------------------------------------------ */

static void overwritten_intervals_are_counted(void **state)
{
    enum { SLEEPS = 400 };
    const struct timespec sleep = {.tv_nsec = 20000};
    static struct switches_interval intervals[10000];
    uint64_t lost = 0, none = 0;
    struct switches switches;
    open_or_skip(&switches);
    uint64_t start = switches_position(&switches), late = start;
    for (unsigned i = 0; i < SLEEPS; i++)
        nanosleep(&sleep, NULL);
    uint64_t end = switches_position(&switches);
    uint32_t count = read_all(&switches, &late, intervals, 10, &lost);
    assert_true((end - start) / 32 > SWITCHES_KEPT + 50);
    assert_true(count >= SWITCHES_KEPT && lost + count >= (end - start) / 32);
    if (late == end) { /* not preempted meanwhile */
        assert_int_equal(count, SWITCHES_KEPT);
        assert_int_equal(lost, (end - start) / 32 - count);
    }
    /* Reading consumes nothing. */
    uint64_t again = late - 32;
    assert_int_equal(switches_read(&switches, &again, intervals, 1, &none), 1);
    assert_int_equal(none, 0);
    assert_int_equal(again, late);
    switches_close(&switches);
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

static void nothing_stays_open(void **state)
{
    unsigned before = open_descriptors();
    struct switches switches;
    open_or_skip(&switches);
    assert_int_equal(open_descriptors(), before);
    void *page = (void *)switches.page;
    pid_t child = fork();
    if (child == 0) { /* the mapping is not there */
        bool gone = msync(page, 8192, MS_ASYNC) == -1 && errno == ENOMEM;
        switches_forget(&switches);
        bool quiet = !switches_since(&switches, 0);
        _exit(gone && quiet ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(switches_since(&switches, 0)); /* the parent's goes on */
    switches_close(&switches);
    assert_int_equal(msync(page, 8192, MS_ASYNC), -1);
}

static void *sleep_elsewhere(void *argument)
{
    usleep(3000);
    return argument;
}

static void other_threads_do_not_show(void **state)
{
    struct switches switches;
    struct switches_interval interval;
    pthread_t thread;
    uint64_t lost = 0, asleep = 0;
    open_or_skip(&switches);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t position = switches_position(&switches);
        assert_int_equal(pthread_create(&thread, NULL, sleep_elsewhere, NULL), 0);
        uint64_t start = now_ns();
        while (now_ns() - start < 6000000)
            ;
        while (switches_read(&switches, &position, &interval, 1, &lost))
            asleep += !interval.preempted && interval.on_ns - interval.off_ns > 2500000;
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(asleep, 0);
    switches_close(&switches);
}

/* More than a user may lock, or has descriptors for: as somebody else than root. */
static void refusals_leave_nothing(void **state)
{
    if (geteuid() != 0)
        skip();
    pid_t child = fork();
    if (child == 0) {
        struct switches switches = {0};
        long result = setresuid(65534, 65534, 65534);
        for (unsigned i = 0; i < 100000 && result == 0; i++)
            result = switches_open(&switches);
        bool sound = result < 0 && switches.page == NULL && !switches_since(&switches, 0);
        _exit(sound ? (int)-result : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    print_message("# refused in the end: %s\n", strerror(WEXITSTATUS(status)));
    assert_true(WEXITSTATUS(status) == EPERM || WEXITSTATUS(status) == EACCES ||
                WEXITSTATUS(status) == EMFILE || WEXITSTATUS(status) == ENOMEM);
}

/* ---- what it costs ------------------------------------------------------------------------- */

enum { ROUND_TRIPS = 20000 };

struct exchange {
    int there[2], back[2];
    bool watched;
};

static void *answer(void *argument)
{
    struct exchange *exchange = argument;
    struct switches switches = {0};
    char byte;
    if (exchange->watched)
        switches_open(&switches);
    while (read(exchange->there[0], &byte, 1) == 1)
        if (write(exchange->back[1], &byte, 1) != 1)
            break;
    switches_close(&switches);
    return NULL;
}

/* Nanoseconds of a switch: two threads on one processor that wait for each other. */
static double switch_ns(bool watched)
{
    struct exchange exchange = {.watched = watched};
    struct switches switches = {0};
    pthread_t thread;
    char byte = 0;
    assert_int_equal(pipe(exchange.there) | pipe(exchange.back), 0);
    if (watched)
        switches_open(&switches);
    assert_int_equal(pthread_create(&thread, NULL, answer, &exchange), 0);
    uint64_t start = now_ns();
    for (unsigned i = 0; i < ROUND_TRIPS; i++) {
        assert_int_equal(write(exchange.there[1], &byte, 1), 1);
        assert_int_equal(read(exchange.back[0], &byte, 1), 1);
    }
    double time = (double)(now_ns() - start) / (2.0 * ROUND_TRIPS);
    close(exchange.there[1]);
    pthread_join(thread, NULL);
    close(exchange.there[0]);
    close(exchange.back[0]);
    close(exchange.back[1]);
    switches_close(&switches);
    return time;
}

static void costs(void **state)
{
    struct switches switches;
    cpu_set_t all;
    double least[2] = {1e9, 1e9};
    open_or_skip(&switches);
    switches_close(&switches);
    uint64_t start = now_ns();
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(switches_open(&switches), 0);
        switches_close(&switches);
    }
    print_message("# opened and closed in %.1f us\n", (double)(now_ns() - start) / 200e3);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    pin(last_processor());
    for (unsigned i = 0; i < 10; i++) {
        double time = switch_ns(i % 2);
        least[i % 2] = time < least[i % 2] ? time : least[i % 2];
    }
    sched_setaffinity(0, sizeof all, &all);
    print_message("# one switch by pipe: %.0f ns, watched %.0f ns\n", least[0], least[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleeps_show),
        cmocka_unit_test(preemption_shows),
        cmocka_unit_test(overwritten_intervals_are_counted),
        cmocka_unit_test(nothing_stays_open),
        cmocka_unit_test(other_threads_do_not_show),
        cmocka_unit_test(refusals_leave_nothing),
        cmocka_unit_test(costs),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("switches", tests, NULL, NULL);
}
