// SPDX-License-Identifier: MIT
/*
 * A recording by the agent: the region that it shares with the program's processes is drained into
 * the log, unwind tables and calls that agents ask for are served.
 */
#include "launch/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

/* 4 MiB of chunks fill in no less than some tenths of a second at the highest rate. */
enum { TICK_MS = 50, REAP_MS = 200 };

/* ---- region --------------------------------------------------------------------------- */

/*
 * Sealed against resizing: a program that found the descriptor in /proc could otherwise
 * kill headroom with SIGBUS. Allocated before use, so that a lack of memory shows here and not as
 * a SIGBUS in the program; but most chunks only when they may be needed (extend_pool), since to
 * allocate and free them costs more than all else that a program of some milliseconds makes us do.
 */
static struct wire_region *make_region(const struct wire_config *config, int *descriptor)
{
    int file = memfd_create("headroom-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return NULL;
    size_t bytes = sizeof(struct wire_region);
    void *region = MAP_FAILED;
    if (ftruncate(file, (off_t)bytes) == 0 &&
        fallocate(file, 0, 0, (off_t)wire_pool_bytes(WIRE_CHUNKS_FIRST)) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (region == MAP_FAILED) {
        int reason = errno;
        close(file);
        errno = reason;
        return NULL;
    }
    wire_region_init(region, config);
    wire_pool_limit(region, WIRE_CHUNKS_FIRST);
    atomic_store(&((struct wire_region *)region)->executing, 1);
    *descriptor = file;
    return region;
}

/* A program that runs for longer than a tick, or in many threads, gets all chunks. Without memory
   for them it goes on with those it has, and samples that find none are counted as dropped. */
static void extend_pool(struct wire_region *region, int file)
{
    off_t there = (off_t)wire_pool_bytes(WIRE_CHUNKS_FIRST);
    if (fallocate(file, 0, there, (off_t)sizeof *region - there) == 0)
        wire_pool_extend(region, WIRE_CHUNKS_FIRST);
}

/* ---- which processes live --------------------------------------------------------------- */

enum { LIFE_CACHE = 64 };

/* One pass over the region asks about few processes many times. */
struct life {
    pid_t root;
    bool root_ended;
    bool outlived; /* processes that live were taken as ended */
    struct {
        uint32_t pid;
        bool alive;
    } cache[LIFE_CACHE];
};

static bool is_alive(void *context, uint32_t pid)
{
    struct life *life = context;
    if (pid == 0)
        return false; /* never ask /proc/0; kill(0) would mean the whole group */
    if (pid == (uint32_t)life->root)
        return !life->root_ended;
    size_t place = pid % LIFE_CACHE;
    if (life->cache[place].pid != pid) {
        life->cache[place].pid = pid;
        life->cache[place].alive = launch_is_alive(pid);
    }
    return life->cache[place].alive;
}

/* What it does from now on is not recorded. */
static bool is_dead_to_us(void *context, uint32_t pid)
{
    struct life *life = context;
    life->outlived = life->outlived || is_alive(life, pid);
    return false;
}

/* After all that had ended was drained, these belong to somebody who came since. */
static bool slots_are_taken(struct wire_region *region)
{
    for (uint32_t i = 0; i < WIRE_THREADS; i++)
        if (wire_owner(region, i))
            return true;
    return false;
}

/* ---- one turn ---------------------------------------------------------------------------- */

struct recording {
    const struct launch_request *request;
    const struct launch_companion *companion;
    struct wire_config config;
    struct wire_region *region;
    int region_file;
    bool extended; /* the pool of chunks */
    struct launch_log log;
    struct launch_tables *tables;
    struct life life;
    struct inject_calls calls;
    uint64_t begun_ns, reaped_ns;
    uint64_t corrupt;
    bool failure_noted;
};

static void drain(struct recording *recording)
{
    wire_drain(recording->region, launch_log_sink, &recording->log, &recording->corrupt);
    if (recording->log.failure && !recording->failure_noted) {
        char sentence[256];
        snprintf(sentence, sizeof sentence,
                 "the raw log cannot be written any further (%s); the program goes on, and the "
                 "profile will cover only its first part.",
                 strerror(recording->log.failure));
        if (recording->request->note)
            recording->request->note(recording->request->context, sentence);
        recording->failure_noted = true;
    }
}

static void serve_pool(struct recording *recording, bool long_enough)
{
    bool low = atomic_load_explicit(&recording->region->pool_low, memory_order_relaxed);
    if (recording->extended || (!low && !long_enough))
        return;
    extend_pool(recording->region, recording->region_file);
    recording->extended = true;
}

static void reap(struct recording *recording)
{
    memset(recording->life.cache, 0, sizeof recording->life.cache);
    wire_reap(recording->region, is_alive, &recording->life);
}

static void turn(void *context)
{
    struct recording *recording = context;
    uint64_t now = launch_now_ns(CLOCK_MONOTONIC);
    bool long_enough = now - recording->begun_ns >= TICK_MS * UINT64_C(1000000);
    launch_tables_serve(recording->tables, long_enough);
    serve_pool(recording, long_enough);
    inject_calls_serve(&recording->calls, recording->region, recording->companion->hush,
                       recording->companion->context);
    if (recording->companion->tick)
        recording->companion->tick(recording->companion->context);
    if (now - recording->reaped_ns >= REAP_MS * UINT64_C(1000000)) {
        reap(recording);
        recording->reaped_ns = now;
    }
    drain(recording);
}

/*
 * The program has ended, or goes on unobserved. Processes that outlive it were asked to stop
 * sampling; what they have committed so far is taken, as if they had ended: nobody will look into
 * the region again.
 */
static void finish(struct recording *recording, struct launch_result *result)
{
    struct wire_region *region = recording->region;
    recording->life.root_ended = !result->detached;
    reap(recording);
    wire_reap(region, is_dead_to_us, &recording->life);
    drain(recording);
    /* A child may have begun since the reaping, and some of its records may have been drained. */
    result->outlived = recording->life.outlived || slots_are_taken(region);
    result->log_truncated = recording->log.failure != 0;
    result->images = recording->log.images;
    result->jits = recording->log.jits;
    result->corrupt_records = recording->corrupt;
    result->lost_threads = atomic_load(&region->lost_threads);
    uint64_t sampled = atomic_load(&region->threads_sampled);
    uint64_t threads = atomic_load(&region->threads_begun);
    result->short_threads = threads > sampled ? threads - sampled : 0;
    int64_t executing = atomic_load(&region->executing);
    result->lost_processes = atomic_load(&region->lost_processes);
    if (result->images && executing > 0) /* without any it is the program itself */
        result->lost_processes += (uint64_t)executing;
    result->degraded = atomic_load(&region->degraded);
    result->source = atomic_load(&region->source);
    result->ticks = atomic_load(&region->ticks);
    result->ticks_elsewhere = atomic_load(&region->ticks_elsewhere);
    if (result->source && result->source != recording->config.source)
        launch_log_source(&recording->log, result->source);
}

/* ---- all together --------------------------------------------------------------------------- */

static void before(void *context, pid_t child)
{
    struct recording *recording = context;
    recording->companion->before(recording->companion->context, child);
}

static void begun(void *context, pid_t child)
{
    struct recording *recording = context;
    recording->life.root = recording->calls.program = child;
    /* Without tables contexts are incomplete, and the report says so; the program runs anyway. */
    launch_tables_begin(recording->tables, recording->region);
    if (recording->companion->begun)
        recording->companion->begun(recording->companion->context, child);
    recording->begun_ns = recording->reaped_ns = launch_now_ns(CLOCK_MONOTONIC);
}

static enum launch_outcome ended(void *context, pid_t child, struct launch_result *result,
                                 char *error)
{
    struct recording *recording = context;
    (void)child;
    (void)error;
    atomic_store(&recording->region->stopping, 1); /* what the companion keeps ends with the log */
    if (recording->companion->ended)
        recording->companion->ended(recording->companion->context);
    finish(recording, result);
    launch_tables_end(recording->tables);
    inject_calls_end(&recording->calls);
    return LAUNCH_OK;
}

static bool prepare(struct launch_supervised *supervised, char *error)
{
    struct recording *recording = supervised->context;
    struct wire_config *config = &recording->config;
    const struct launch_companion *companion = recording->companion;
    if (companion->prepare && !companion->prepare(companion->context, config, error))
        return false;
    if (!launch_log_begin(&recording->log, recording->request->log, config)) {
        launch_fail(error, "writing the raw log", recording->log.failure);
        return false;
    }
    recording->region = make_region(config, &recording->region_file);
    if (!recording->region) {
        launch_fail_region(error);
        return false;
    }
    supervised->region = recording->region;
    recording->tables = malloc(sizeof *recording->tables);
    supervised->environment =
        launch_environment(environ, config->agent_path, getpid(), recording->region_file);
    if (!recording->tables || !supervised->environment) {
        launch_fail(error, "memory", ENOMEM);
        return false;
    }
    return true;
}

enum launch_outcome launch_record_beside(const struct launch_request *request,
                                         const struct launch_companion *companion,
                                         struct launch_result *result, char *error)
{
    struct recording recording = {
        .request = request, .companion = companion, .config = request->config, .region_file = -1};
    struct launch_supervised supervised = {.context = &recording,
                                           .program = request,
                                           .tick_ms = TICK_MS,
                                           .unlimited = true,
                                           .prepare = prepare,
                                           .before = companion->before ? before : NULL,
                                           .begun = begun,
                                           .turn = turn,
                                           .ended = ended};
    enum launch_outcome outcome = launch_supervise(&supervised, result, error);
    if (outcome != LAUNCH_OK)
        launch_jits_free(&recording.log.jits);
    free(recording.tables);
    if (recording.region)
        munmap(recording.region, sizeof *recording.region);
    if (recording.region_file >= 0)
        close(recording.region_file);
    return outcome;
}

enum launch_outcome launch_record(const struct launch_request *request,
                                  struct launch_result *result, char *error)
{
    static const struct launch_companion none;
    return launch_record_beside(request, &none, result, error);
}
