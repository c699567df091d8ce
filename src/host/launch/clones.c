// SPDX-License-Identifier: MIT
/* A recording in which clones of hot loops are executed (room trial). */
#include "launch/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct clones {
    struct trial_service *service;
    const struct trial_request *request;
};

static bool prepare(void *context, struct wire_config *config, char *error)
{
    const struct clones *clones = context;
    (void)error;
    config->clones = 1;
    config->walk_bytes = trial_walk_bytes(clones->request);
    return true;
}

static void before(void *context, pid_t child)
{
    struct clones *clones = context;
    trial_watch(clones->service, child);
}

static void begun(void *context, pid_t child)
{
    struct clones *clones = context;
    sigset_t all, mask;
    (void)child;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    trial_begin(clones->service);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void hush(void *context, uint32_t pid)
{
    struct clones *clones = context;
    trial_hush(clones->service, pid);
}

static void ended(void *context)
{
    struct clones *clones = context;
    trial_end(clones->service);
}

enum launch_outcome launch_clones(const struct launch_request *request,
                                  const struct trial_request *trials, struct trial_result *tried,
                                  struct launch_result *result, char *error)
{
    struct trial_request own = *trials;
    own.agent = request->config.agent_path;
    struct clones clones = {.service = trial_open(&own), .request = &own};
    struct launch_companion companion = {&clones, prepare, before, begun, NULL, hush, ended};
    if (!clones.service) {
        launch_fail(error, "memory", ENOMEM);
        return LAUNCH_FAILED;
    }
    enum launch_outcome outcome = launch_record_beside(request, &companion, result, error);
    if (outcome == LAUNCH_OK)
        trial_take(clones.service, tried);
    trial_close(clones.service);
    return outcome;
}
