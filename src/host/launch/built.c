// SPDX-License-Identifier: MIT
/*
 * A run of a program that counts by itself: all there is to do is to make the region where it
 * counts, and to wait. The region is a sparse file in memory; programs find it by an environment
 * variable, through /proc.
 */
#include "launch/internal.h"
#include "launch/pmu_events.h"

#include "wire/built.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;

enum { TICK_MS = 200 };

/* Sealed: a program could otherwise kill another, and headroom, by making it smaller. -1: errno. */
static int make_region(const struct built_event *event)
{
    struct built_region header = {.magic = BUILT_MAGIC,
                                  .version = BUILT_VERSION,
                                  .metrics = event ? BUILT_PMU : 0,
                                  .next = BUILT_PAGE};
    if (event)
        header.event = *event;
    int file = memfd_create("headroom-built", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    if (ftruncate(file, (off_t)BUILT_REGION_BYTES) == 0 &&
        pwrite(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}

/* Everything that can fail before the program runs. False: error is set. */
static bool prepare(const struct built_event *event, int *file, char ***environment, char *error)
{
    char variable[64];
    *file = make_region(event);
    if (*file < 0) {
        launch_fail_region(error);
        return false;
    }
    snprintf(variable, sizeof variable, "%s=%d:%d:%d", BUILT_ENVIRONMENT, (int)BUILT_VERSION,
             (int)getpid(), *file);
    *environment = launch_environment_with(environ, variable);
    if (!*environment)
        launch_fail(error, "memory", ENOMEM);
    return *environment != NULL;
}

/* False: it was left before the program had ended. */
static bool await(struct launch_signals *signals, pid_t child)
{
    struct pollfd file = {launch_signals_file(), POLLIN, 0};
    while (!launch_program_ended(child)) {
        if (launch_signals_serve(signals))
            return false;
        poll(&file, 1, launch_signals_wait_ms(signals, TICK_MS));
    }
    return true;
}

/* Programs of one build each announce themselves; what they could not get they have counted. */
static void take_header(int region, struct launch_result *result)
{
    struct built_region header;
    ssize_t got;
    do
        got = pread(region, &header, sizeof header, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof header) {
        result->images = 1; /* the import will say why nothing can be read */
        return;
    }
    result->images = atomic_load(&header.next_process);
    result->lost_threads = atomic_load(&header.lost);
    result->refused = atomic_load(&header.refused) != 0;
    result->lost_events = atomic_load(&header.event_refused);
}

static enum launch_outcome run(const struct launch_request *request, char *const *environment,
                               int region, struct launch_signals *signals,
                               struct launch_result *result, char *error)
{
    struct launch_result measured = {.start_ns = launch_now_ns(CLOCK_REALTIME)};
    uint64_t start = launch_now_ns(CLOCK_MONOTONIC);
    pid_t child;
    int reason;
    if (!launch_start(request, environment, &signals->program, &child, &reason))
        return launch_start_failed(request->path, reason, error);
    launch_signals_begin(signals, NULL, child);
    bool ended = await(signals, child);
    measured.wall_s = (double)(launch_now_ns(CLOCK_MONOTONIC) - start) / 1e9;
    if (ended)
        launch_take_status(child, &measured);
    else
        launch_take_leave(child, signals->wish, &measured);
    take_header(region, &measured);
    *result = measured;
    return LAUNCH_OK;
}

enum launch_outcome launch_event(const char *name, struct built_event *event, char *error)
{
    char reason[256];
    if (pmu_event_named(name, event, reason, sizeof reason))
        return LAUNCH_OK;
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot count the event '%.100s': %s.", name, reason);
    return LAUNCH_FAILED;
}

enum launch_outcome launch_built(const struct launch_request *request,
                                 const struct built_event *event, int *region,
                                 struct launch_result *result, char *error)
{
    enum launch_outcome outcome = LAUNCH_FAILED;
    struct launch_signals signals;
    char **environment = NULL;
    int file = -1;
    /* With file capabilities headroom would not be dumpable and its /proc entries closed. */
    prctl(PR_SET_DUMPABLE, 1);
    bool prepared = launch_signals_prepare(&signals);
    if (!prepared)
        launch_fail(error, "signals", errno);
    launch_lift_limits(&signals.program);
    if (prepared && prepare(event, &file, &environment, error))
        outcome = run(request, environment, file, &signals, result, error);
    launch_signals_end(&signals, outcome == LAUNCH_OK);
    free(environment);
    if (outcome == LAUNCH_OK) {
        *region = file;
        return outcome;
    }
    launch_restore_limits(&signals.program);
    if (file >= 0)
        close(file);
    return outcome;
}
