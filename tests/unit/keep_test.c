// SPDX-License-Identifier: MIT
/* The folder's lock: waited for, for so long and no longer; gone with who held it; no matter of permission to write. */
#include "keep/keep.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char folder[] = "/tmp/headroom-keep-XXXXXX";

static int begin(void **state)
{
    return !mkdtemp(folder) || setenv("HEADROOM_CACHE", folder, 1);
}

static int end(void **state)
{
    return chmod(folder, 0700) || rmdir(folder);
}

/* A process that holds the lock until it is killed. */
static pid_t holder(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        if (!keep_lock(keep_folder(false), 0) || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void who_waits_gets_it_or_gives_up(void **state)
{
    pid_t pid = holder();
    int other = keep_folder(false);
    double begun_s = now_s();
    assert_false(keep_lock(other, 0.2));
    assert_true(now_s() - begun_s >= 0.2);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(keep_lock(other, 5));
    int third = keep_folder(false);
    assert_false(keep_lock(third, 0));
    close(other);
    assert_true(keep_lock(third, 0));
    close(third);
}

static void folders_to_read_are_locked_too(void **state)
{
    assert_int_equal(chmod(folder, 0500), 0);
    int one = keep_folder(false);
    assert_true(one >= 0 && keep_lock(one, 0));
    close(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_gets_it_or_gives_up),
        cmocka_unit_test(folders_to_read_are_locked_too),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
