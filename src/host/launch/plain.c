// SPDX-License-Identifier: MIT
/* A program that runs by itself: nothing in it, nothing beside it but what is asked for. */
#include "launch/supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* Nothing is looked at while it runs: the loop is woken by the program's end and by signals. */
enum { TICK_MS = 60000 };

struct plain {
    void (*before)(void *context, pid_t child);
    void *context;
};

static bool prepare(struct launch_supervised *supervised, char *error)
{
    size_t count = 0;
    while (environ[count])
        count++;
    supervised->environment = calloc(count + 1, sizeof *environ);
    if (supervised->environment)
        memcpy(supervised->environment, environ, count * sizeof *environ);
    else
        launch_fail(error, "memory", ENOMEM);
    return supervised->environment != NULL;
}

static void before(void *context, pid_t child)
{
    const struct plain *plain = context;
    plain->before(plain->context, child);
}

static enum launch_outcome ended(void *context, pid_t child, struct launch_result *result,
                                 char *error)
{
    (void)context, (void)child, (void)result, (void)error;
    return LAUNCH_OK;
}

enum launch_outcome launch_plain(const struct launch_request *request,
                                 void (*asked)(void *context, pid_t child), void *context,
                                 struct launch_result *result, char *error)
{
    struct plain plain = {asked, context};
    struct launch_supervised supervised = {.context = &plain,
                                           .program = request,
                                           .tick_ms = TICK_MS,
                                           .prepare = prepare,
                                           .before = asked ? before : NULL,
                                           .ended = ended};
    return launch_supervise(&supervised, result, error);
}
