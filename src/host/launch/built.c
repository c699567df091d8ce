// SPDX-License-Identifier: MIT
/*
 * A run of a program that counts by itself: all there is to do is to make the region where it
 * counts. The region is a sparse file in memory; programs find it by an environment
 * variable, through /proc.
 */
#include "machine/events.h"
#include "launch/supervise.h"

#include "wire/built.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
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

struct built {
    const struct built_event *event;
    int region;
};

static bool prepare(struct launch_supervised *supervised, char *error)
{
    struct built *built = supervised->context;
    char variable[64];
    built->region = make_region(built->event);
    if (built->region < 0) {
        launch_fail_region(error);
        return false;
    }
    snprintf(variable, sizeof variable, "%s=%d:%d:%d", BUILT_ENVIRONMENT, (int)BUILT_VERSION,
             (int)getpid(), built->region);
    supervised->environment = launch_environment_with(environ, variable);
    if (!supervised->environment)
        launch_fail(error, "memory", ENOMEM);
    return supervised->environment != NULL;
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

static enum launch_outcome ended(void *context, pid_t child, struct launch_result *result,
                                 char *error)
{
    const struct built *built = context;
    (void)child;
    (void)error;
    take_header(built->region, result);
    return LAUNCH_OK;
}

enum launch_outcome launch_event(const char *name, struct built_event *event, char *error)
{
    char reason[256];
    if (machine_event_named(name, event, reason, sizeof reason))
        return LAUNCH_OK;
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot count the event '%.100s': %s.", name, reason);
    return LAUNCH_FAILED;
}

enum launch_outcome launch_built(const struct launch_request *request,
                                 const struct built_event *event, int *region,
                                 struct launch_result *result, char *error)
{
    struct built built = {.event = event, .region = -1};
    struct launch_supervised supervised = {.context = &built,
                                           .program = request,
                                           .tick_ms = TICK_MS,
                                           .prepare = prepare,
                                           .ended = ended};
    enum launch_outcome outcome = launch_supervise(&supervised, result, error);
    if (outcome == LAUNCH_OK)
        *region = built.region;
    else if (built.region >= 0)
        close(built.region);
    return outcome;
}
