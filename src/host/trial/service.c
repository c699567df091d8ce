// SPDX-License-Identifier: MIT
/* Which loop is tried next, and when: by samples, within a budget. */
#include "trial/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>
#include <time.h>
#include <x86intrin.h>

#define MS UINT64_C(1000000)

enum {
    PERIOD_NS =
        1997000, /* of CPU time, between two samples of a thread; no divisor of what timers use */
    TURN_MS = 5,
    RECENT_MS = 40, /* a thread that was in the loop so lately may still be */
    APART_MS = 20,  /* between trials of a loop */
    TRIES_MAX = 40,
    FAILURES_MAX = 25, /* in a row */
    PAIRS_MAX = 15,
    VARIANT_PAIRS = 5,           /* more for each variant */
    SAMPLES_LEAST = 8,           /* of a loop, before it is tried */
    ALLOWANCE_NS = 20 * 1000000, /* at first */
};

#define SHARE_LEAST 0.005 /* of all samples: a loop that is worth a trial */
#define BUDGET      0.03  /* of CPU time */

/* ---- samples ----------------------------------------------------------------------------------- */

static const struct trial_map *map_at(const struct trial_service *service, uint32_t pid,
                                      uint64_t address)
{
    for (size_t i = service->maps_count; i > 0; i--)
        if (service->maps[i - 1].pid == pid &&
            address - service->maps[i - 1].start < service->maps[i - 1].bytes)
            return &service->maps[i - 1];
    return NULL;
}

/* The loop that has called the function without loops in which a sample was taken, by what lies on the stack: return addresses. */
static struct trial_hot *calling_loop(struct trial_service *service,
                                      const struct inject_sample *sample,
                                      const struct trial_map *map)
{
    uint64_t function = sample->ip - map->start + map->offset;
    struct trial_hot *hot = NULL;
    for (unsigned w = 0; w < sample->stack_words && !hot; w++) {
        uint64_t at = sample->stack[w] - map->start;
        if (at && at < map->bytes)
            trial_called_from(service, map->module, at + map->offset, &function, &hot);
    }
    return hot;
}

static void take_sample(void *context, const struct inject_sample *sample)
{
    struct trial_service *service = context;
    const struct trial_map *map = map_at(service, sample->pid, sample->ip);
    service->ns += (double)sample->weight_ns;
    service->samples++;
    struct trial_hot *hot =
        map && map->module
            ? trial_loop_at(service, map->module, sample->ip - map->start + map->offset)
            : NULL;
    if (!hot && map && map->module)
        hot = calling_loop(service, sample, map);
    if (!hot || !hot->innermost)
        return;
    hot->out.ns += (double)sample->weight_ns;
    hot->out.samples++;
    hot->pid = (pid_t)sample->pid;
    hot->tid = (pid_t)sample->tid;
    hot->seen_ns = sample->time_ns;
}

static void take_mapped(void *context, const struct inject_mapped *mapped)
{
    struct trial_service *service = context;
    struct trial_map map = {mapped->pid, mapped->start, mapped->bytes, mapped->offset, NULL};
    if (mapped->path[0] == '/' && mapped->path[1] != '/')
        map.module = trial_module_of(service, mapped->path);
    (void)UTIL_PUSH(service->maps, service->maps_count, service->maps_capacity, map);
}

static void take_forked(void *context, uint32_t pid, uint32_t parent)
{
    struct trial_service *service = context;
    size_t count = service->maps_count;
    for (size_t i = 0; i < count; i++) {
        struct trial_map map = service->maps[i];
        if (map.pid != parent)
            continue;
        map.pid = pid;
        if (!UTIL_PUSH(service->maps, service->maps_count, service->maps_capacity, map))
            return;
    }
}

static void forget_maps(void *context, uint32_t pid)
{
    struct trial_service *service = context;
    size_t left = 0;
    for (size_t i = 0; i < service->maps_count; i++)
        if (service->maps[i].pid != pid)
            service->maps[left++] = service->maps[i];
    service->maps_count = left;
}

static void drain(struct trial_service *service)
{
    const struct inject_sampler_taker taker = {.context = service,
                                               .sample = take_sample,
                                               .mapped = take_mapped,
                                               .forked = take_forked,
                                               .executed = forget_maps,
                                               .ended = forget_maps};
    inject_sampler_drain(&service->sampler, &taker);
}

/* ---- choice ------------------------------------------------------------------------------------ */

static size_t pairs_wanted(const struct trial_hot *hot)
{
    size_t wanted = PAIRS_MAX;
    for (unsigned v = 0; v < CLONE_VARIANTS; v++)
        wanted += hot->clone.variants[v] ? VARIANT_PAIRS : 0;
    return wanted;
}

static bool is_due(const struct trial_service *service, const struct trial_hot *hot, uint64_t now)
{
    return hot->innermost && hot->out.samples >= SAMPLES_LEAST &&
           hot->out.ns >= SHARE_LEAST * service->ns && now - hot->seen_ns < RECENT_MS * MS &&
           now - hot->tried_ns > APART_MS * MS && hot->out.pairs_count < pairs_wanted(hot) &&
           hot->failures < FAILURES_MAX;
}

/* The one with most time for each trial that it has had. */
static struct trial_hot *choose(struct trial_service *service)
{
    struct trial_hot *best = NULL;
    uint64_t now = os_now_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < service->hot_count; i++) {
        struct trial_hot *hot = service->hot[i];
        if (!is_due(service, hot, now))
            continue;
        if (!hot->looked_at)
            trial_look_at(service, hot);
        if ((!hot->clone.made && !hot->clone.marker.code) || !hot->wanted)
            continue;
        if (!best || hot->out.ns / (1 + hot->tries) > best->out.ns / (1 + best->tries))
            best = hot;
    }
    return best;
}

static bool is_hushed(const struct trial_service *service, uint32_t pid)
{
    for (size_t i = 0; i < service->hushed_count; i++)
        if (service->hushed[i] == pid)
            return true;
    return false;
}

static void try_one(struct trial_service *service)
{
    double budget = service->request->budget > 0 ? service->request->budget : BUDGET;
    struct trial_hot *hot =
        service->cost_ns < fmax(ALLOWANCE_NS, budget * service->ns) ? choose(service) : NULL;
    if (!hot)
        return;
    enum trial_outcome outcome = TRIAL_MISSED;
    service->ticks_a_ns = (double)(__rdtsc() - service->begun_ticks) /
                          (double)(os_now_ns(CLOCK_MONOTONIC_RAW) - service->begun_ns);
    pthread_mutex_lock(&service->mutex);
    if (!is_hushed(service, (uint32_t)hot->pid))
        outcome = trial_attempt(service, hot);
    pthread_mutex_unlock(&service->mutex);
    hot->tried_ns = os_now_ns(CLOCK_MONOTONIC);
    hot->tries++;
    hot->failures = outcome == TRIAL_DONE || outcome == TRIAL_RECORDED ? 0 : hot->failures + 1;
    hot->out.missed += outcome == TRIAL_MISSED;
    hot->out.disturbed += outcome == TRIAL_DISTURBED;
    hot->out.refused += outcome == TRIAL_REFUSED;
}

static void *serve(void *context)
{
    struct trial_service *service = context;
    while (!atomic_load(&service->quit)) {
        drain(service);
        try_one(service);
        nanosleep(&(struct timespec){.tv_nsec = (long)(TURN_MS * MS)}, NULL);
    }
    drain(service);
    return NULL;
}

/* ---- from beginning to end ---------------------------------------------------------------------- */

uint32_t trial_walk_bytes(const struct trial_request *request)
{
    uint32_t most = 0;
    for (unsigned v = 0; v < CLONE_VARIANTS; v++)
        if (request->variants >> v & 1 && request->walk_bytes[v] > most)
            most = request->walk_bytes[v];
    return most ? most + CLONE_WALK_SLACK : 0;
}

struct trial_service *trial_open(const struct trial_request *request)
{
    struct trial_service *service = calloc(1, sizeof *service);
    if (!service)
        return NULL;
    service->request = request;
    pthread_mutex_init(&service->mutex, NULL);
    service->state = aligned_alloc(64, (sizeof *service->state + 63) & ~(size_t)63);
    service->yard = calloc(1, sizeof *service->yard);
    service->text = malloc(WIRE_CLONE_CODE_MAX + WIRE_CLONE_ENDS);
    uint32_t buffers = trial_walk_bytes(request);
    service->buffers = buffers ? calloc(1, buffers) : NULL;
    if (!buffers == !service->buffers && service->state && service->yard && service->text &&
        clone_of_chain(0, &service->nothing) == BASE_OK &&
        clone_of_chain(TRIAL_CHAIN_CYCLES, &service->chain) == BASE_OK &&
        clone_of_stamps(&service->stamps) == BASE_OK && clone_of_touch(&service->touch) == BASE_OK)
        return service;
    trial_close(service);
    return NULL;
}

void trial_watch(struct trial_service *service, pid_t child)
{
    service->child = child;
    service->begun_ticks = __rdtsc();
    service->begun_ns = os_now_ns(CLOCK_MONOTONIC_RAW);
    service->sampling_refused =
        inject_sampler_open(&service->sampler, child, PERIOD_NS, true, true);
}

bool trial_begin(struct trial_service *service)
{
    service->running = pthread_create(&service->thread, NULL, serve, service) == 0;
    return service->running;
}

void trial_hush(struct trial_service *service, uint32_t pid)
{
    pthread_mutex_lock(&service->mutex);
    (void)UTIL_PUSH(service->hushed, service->hushed_count, service->hushed_capacity, pid);
    pthread_mutex_unlock(&service->mutex);
}

void trial_end(struct trial_service *service)
{
    atomic_store(&service->quit, true);
    if (service->running)
        pthread_join(service->thread, NULL);
    service->running = false;
}

static int by_time(const void *a, const void *b)
{
    const struct trial_loop *first = a, *second = b;
    return (first->ns < second->ns) - (first->ns > second->ns);
}

void trial_take(struct trial_service *service, struct trial_result *result)
{
    *result =
        (struct trial_result){.loops = calloc(service->hot_count + 1, sizeof *result->loops),
                              .ns = service->ns,
                              .cost_ns = service->cost_ns,
                              .sampling_refused = service->sampling_refused,
                              .tracing_refused = service->traced ? 0 : service->tracing_refused,
                              .arming_refused = service->arming_refused,
                              .variants = service->request->variants,
                              .named = (uint32_t)service->request->targets_count};
    for (size_t i = 0; result->loops && i < service->hot_count; i++) {
        struct trial_hot *hot = service->hot[i];
        if (!hot->innermost || !hot->out.samples)
            continue;
        if (!hot->looked_at)
            trial_look_at(service, hot);
        if (hot->wanted)
            result->loops[result->count++] = hot->out;
        else
            trial_loop_free(&hot->out);
        hot->out = (struct trial_loop){0};
    }
    if (result->count)
        qsort(result->loops, result->count, sizeof *result->loops, by_time);
}

void trial_loop_free(struct trial_loop *loop)
{
    free(loop->function);
    free(loop->file);
    free(loop->module);
    free(loop->culprit_file);
    free(loop->callee);
    free(loop->within);
    free(loop->pairs);
}

void trial_result_free(struct trial_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        trial_loop_free(&result->loops[i]);
    free(result->loops);
    *result = (struct trial_result){0};
}

void trial_close(struct trial_service *service)
{
    if (!service)
        return;
    inject_sampler_close(&service->sampler);
    for (size_t i = 0; i < service->hot_count; i++)
        trial_loop_free(&service->hot[i]->out);
    trial_modules_free(service);
    pthread_mutex_destroy(&service->mutex);
    free(service->maps);
    free(service->hushed);
    free(service->nothing);
    free(service->chain);
    free(service->stamps);
    free(service->touch);
    free(service->state);
    free(service->yard);
    free(service->text);
    free(service->buffers);
    free(service);
}
