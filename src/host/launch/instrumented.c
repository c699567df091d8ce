// SPDX-License-Identifier: MIT
/*
 * A run of a program that counts by itself: all there is to do is to make the region where it
 * counts. The region is a sparse file in memory; programs find it by an environment
 * variable, through /proc.
 */
#include "machine/events.h"
#include "launch/clock.h"
#include "launch/supervise.h"

#include "wire/instrumented.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

enum { TICK_MS = 200 };

/* Sealed: a program could otherwise kill another, and headroom, by making it smaller. -1: errno. */
static int make_region(const struct instrumented_event *event)
{
    struct instrumented_region header = {.magic = INSTRUMENTED_MAGIC,
                                         .version = INSTRUMENTED_VERSION,
                                         .metrics = event ? INSTRUMENTED_PMU : 0,
                                         .next = INSTRUMENTED_PAGE};
    if (event)
        header.event = *event;
    int file = memfd_create("headroom-built", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    if (ftruncate(file, (off_t)INSTRUMENTED_REGION_BYTES) == 0 &&
        pwrite(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}

struct counting {
    const struct instrumented_event *event;
    int region;
    struct launch_clock clock;
    struct launch_ticks ticks;
};

static bool prepare(struct launch_supervised *supervised, char *error)
{
    struct counting *counting = supervised->context;
    char variable[64];
    counting->region = make_region(counting->event);
    if (counting->region < 0) {
        launch_fail_region(error);
        return false;
    }
    snprintf(variable, sizeof variable, "%s=%d:%d:%d", INSTRUMENTED_ENVIRONMENT,
             (int)INSTRUMENTED_VERSION, (int)getpid(), counting->region);
    supervised->environment = launch_environment_with(environ, variable);
    if (!supervised->environment)
        launch_fail(error, "memory", ENOMEM);
    return supervised->environment != NULL;
}

/* Programs of one build each announce themselves; what they could not get they have counted. */
static void take_header(int region, struct launch_result *result)
{
    struct instrumented_region header;
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

static void before(void *context, pid_t child)
{
    struct counting *counting = context;
    launch_clock_begin(&counting->clock, &counting->ticks, child);
}

static void turn(void *context)
{
    launch_clock_drain(&((struct counting *)context)->clock);
}

static enum launch_outcome ended(void *context, pid_t child, struct launch_result *result,
                                 char *error)
{
    struct counting *counting = context;
    (void)child;
    (void)error;
    take_header(counting->region, result);
    result->clock = counting->ticks;
    counting->ticks = (struct launch_ticks){.items = NULL};
    return LAUNCH_OK;
}

enum launch_outcome launch_event(const char *name, struct instrumented_event *event, char *error)
{
    char reason[256];
    if (machine_event_named(name, event, reason, sizeof reason))
        return LAUNCH_OK;
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot count the event '%.100s': %s.", name, reason);
    return LAUNCH_FAILED;
}

enum launch_outcome launch_instrumented(const struct launch_request *request,
                                        const struct instrumented_event *event, int *region,
                                        struct launch_result *result, char *error)
{
    struct counting counting = {.event = event, .region = -1};
    struct launch_supervised supervised = {.context = &counting,
                                           .program = request,
                                           .tick_ms = TICK_MS,
                                           .prepare = prepare,
                                           .before = before,
                                           .turn = turn,
                                           .ended = ended};
    enum launch_outcome outcome = launch_supervise(&supervised, result, error);
    launch_clock_end(&counting.clock);
    launch_ticks_free(&counting.ticks);
    if (outcome == LAUNCH_OK)
        *region = counting.region;
    else if (counting.region >= 0)
        close(counting.region);
    return outcome;
}
