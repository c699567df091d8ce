// SPDX-License-Identifier: MIT
/*
 * A recording in which spans are timed: beside the region of every recording another one, in which
 * the program's processes note them, `inject`, which hooks functions, and the copies of what was
 * noted.
 */
#include "launch/spans.h"

#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

enum { STACK_PERIOD = 10000, STEPS = 1000 };

struct spans {
    const struct launch_spans_request *request;
    struct inject_request hooks;
    struct inject_service *service;
    struct spans_region *region;
    int file; /* of the region */
    struct launch_saver saver;
};

/* ---- the region ------------------------------------------------------------------------------ */

void launch_spans_clocks(uint64_t *ticks, uint64_t *ns)
{
    /* The narrower of a few pairs: an interruption between both would bend the scale. */
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = __rdtsc(), now = launch_now_ns(CLOCK_MONOTONIC_RAW), after = __rdtsc();
        if (after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *ns = now;
        }
    }
}

static int compare_steps(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/*
 * Some processors count in large steps: what differs by one of these may not differ at all. The
 * median, not the least: a step of 26 ticks is one of 25 and one of 1 now and then, where the
 * counter is scaled.
 */
static uint64_t usual_step(void)
{
    uint64_t steps[STEPS], before = __rdtsc();
    for (size_t i = 0; i < STEPS;) {
        uint64_t now = __rdtsc();
        if (now != before)
            steps[i++] = now - before;
        before = now;
    }
    qsort(steps, STEPS, sizeof *steps, compare_steps);
    return steps[STEPS / 2];
}

static void fill_region(struct spans_region *region, const struct launch_spans_request *request)
{
    region->version = SPANS_VERSION;
    region->wait = 1;
    region->stack_period = request->stack_period ? request->stack_period : STACK_PERIOD;
    region->switches = !request->no_switches;
    region->automatic = request->hooks.every == 0;
    atomic_store(&region->next, (sizeof *region + SPANS_PAGE - 1) & ~(uint64_t)(SPANS_PAGE - 1));
    atomic_store(&region->functions, 1);
    region->step = usual_step();
    launch_spans_clocks(&region->ticks_start, &region->ns_start);
    region->magic = SPANS_MAGIC;
}

/* Sealed: a program could otherwise kill another, and headroom, by making it smaller. False: errno.
 */
static bool make_region(struct spans *spans)
{
    spans->file = memfd_create("headroom-blocks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (spans->file < 0)
        return false;
    void *region = MAP_FAILED;
    if (ftruncate(spans->file, (off_t)SPANS_REGION_BYTES) == 0 &&
        fallocate(spans->file, 0, 0, sizeof(struct spans_region)) == 0 &&
        fcntl(spans->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        region = mmap(NULL, sizeof(struct spans_region), PROT_READ | PROT_WRITE, MAP_SHARED,
                      spans->file, 0);
    if (region == MAP_FAILED)
        return false;
    spans->region = region;
    return true;
}

/* ---- beside the recording ------------------------------------------------------ */

static void tick(void *context)
{
    struct spans *spans = context;
    const struct launch_request *program = &spans->request->program;
    char note[INJECT_NOTE_BYTES];
    while (inject_note(spans->service, note))
        if (program->note)
            program->note(program->context, note);
}

static void hush(void *context, uint32_t pid)
{
    struct spans *spans = context;
    inject_hush(spans->service, pid);
}

static bool prepare(void *context, struct wire_config *config, char *error)
{
    struct spans *spans = context;
    if (!make_region(spans)) {
        launch_fail_region(error);
        return false;
    }
    fill_region(spans->region, spans->request);
    spans->service = inject_open(&spans->hooks, spans->region, spans->file);
    if (!spans->service) {
        launch_fail(error, "memory", ENOMEM);
        return false;
    }
    config->spans = (uint32_t)spans->file;
    return true;
}

static void before(void *context, pid_t child)
{
    struct spans *spans = context;
    inject_watch(spans->service, child);
}

static void begun(void *context, pid_t child)
{
    (void)child;
    struct spans *spans = context;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    inject_begin(spans->service);
    launch_saver_begin(&spans->saver, spans->file, spans->request->program.log);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Processes that outlive the program go on by themselves. */
static void ended(void *context)
{
    struct spans *spans = context;
    inject_end(spans->service);
    launch_saver_end(&spans->saver);
    launch_spans_clocks(&spans->region->ticks_end, &spans->region->ns_end);
    tick(spans);
}

/* ---- all together -------------------------------------------------------------- */

static bool check(const struct inject_request *request, char *error)
{
    for (size_t i = 0; i < request->keys_count; i++) {
        uint8_t argument;
        if (inject_key(request->keys[i], &argument))
            continue;
        snprintf(error, LAUNCH_ERROR_BYTES,
                 "'%.100s' is not a key: use FUNCTION:ARGUMENT, with an argument from 0 to 5.",
                 request->keys[i]);
        return false;
    }
    return true;
}

enum launch_outcome launch_spans(const struct launch_spans_request *request,
                                 struct launch_spans_result *timed, struct launch_result *result,
                                 char *error)
{
    struct spans spans = {.request = request, .hooks = request->hooks, .file = -1};
    struct launch_companion companion = {&spans, prepare, before, begun, tick, hush, ended};
    if (!check(&request->hooks, error))
        return LAUNCH_FAILED;
    spans.hooks.agent = request->program.config.agent_path;
    enum launch_outcome outcome =
        launch_record_beside(&request->program, &companion, result, error);
    if (outcome == LAUNCH_OK) {
        *timed = (struct launch_spans_result){.region = spans.file};
        inject_take(spans.service, &timed->hooks);
        strcpy(timed->saved, spans.saver.path);
    } else if (spans.file >= 0) {
        close(spans.file);
    }
    inject_close(spans.service);
    if (spans.region)
        munmap(spans.region, sizeof *spans.region);
    return outcome;
}

void launch_spans_free(struct launch_spans_result *timed)
{
    inject_unhooked_free(timed->hooks.unhooked, timed->hooks.unhooked_count);
    timed->hooks.unhooked = NULL;
    timed->hooks.unhooked_count = 0;
}
