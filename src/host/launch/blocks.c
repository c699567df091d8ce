// SPDX-License-Identifier: MIT
/*
 * A recording in which blocks are timed: the region that the program's processes share with
 * headroom, beside that of every recording, and a thread that hooks functions in them. It is a
 * thread of its own because looking through a big module takes longer than the pool of chunks
 * lasts.
 */
#include "launch/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define MS UINT64_C(1000000)

enum {
    IDLE_MS = 50,
    STARTING_MS = 10, /* in the first second of a process, or of a window of samples */
    PATCHING_MS = 2,
    STACK_PERIOD = 10000,
    HUSH_LOOKS = 2500, /* 0.5 s                                                  */
    HOLE_MS = 5000,    /* what is no piece by then will never be one                 */
};

/* ---- the region ---------------------------------------------------------------------------------
 */

void launch_blocks_clocks(uint64_t *ticks, uint64_t *ns)
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

/* Some processors count in large steps: what differs by one of these may not differ at all. */
static uint64_t least_step(void)
{
    uint64_t least = UINT64_MAX, before = __rdtsc();
    for (int i = 0; i < 20000; i++) {
        uint64_t now = __rdtsc();
        if (now != before && now - before < least)
            least = now - before;
        before = now;
    }
    return least;
}

static void fill_region(struct blocks_region *region, const struct launch_blocks_request *request)
{
    region->version = BLOCKS_VERSION;
    region->wait = 1;
    region->stack_period = request->stack_period ? request->stack_period : STACK_PERIOD;
    region->switches = !request->no_switches;
    region->automatic = request->every == 0;
    atomic_store(&region->next, (sizeof *region + BLOCKS_PAGE - 1) & ~(uint64_t)(BLOCKS_PAGE - 1));
    atomic_store(&region->functions, 1);
    region->step = least_step();
    launch_blocks_clocks(&region->ticks_start, &region->ns_start);
    region->magic = BLOCKS_MAGIC;
}

/* Sealed: a program could otherwise kill another, and headroom, by making it smaller. False: errno.
 */
static bool make_region(struct launch_service *service)
{
    struct stat status;
    service->file = memfd_create("headroom-blocks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (service->file < 0)
        return false;
    void *region = MAP_FAILED;
    if (ftruncate(service->file, (off_t)BLOCKS_REGION_BYTES) == 0 &&
        fallocate(service->file, 0, 0, sizeof(struct blocks_region)) == 0 &&
        fcntl(service->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
        fstat(service->file, &status) == 0)
        region = mmap(NULL, sizeof(struct blocks_region), PROT_READ | PROT_WRITE, MAP_SHARED,
                      service->file, 0);
    if (region == MAP_FAILED)
        return false;
    service->region = region;
    service->file_device = status.st_dev;
    service->file_inode = status.st_ino;
    service->frontier =
        (sizeof(struct blocks_region) + BLOCKS_PAGE - 1) & ~(uint64_t)(BLOCKS_PAGE - 1);
    return true;
}

/* ---- pieces -------------------------------------------------------------------- */

/* Reads, because a look through a mapping would give every empty page memory. */
static bool read_header(const struct launch_service *service, uint64_t offset,
                        struct blocks_piece *header)
{
    return pread(service->file, header, sizeof *header, (off_t)offset) == (ssize_t)sizeof *header &&
           (header->kind == BLOCKS_PIECE_PROCESS || header->kind == BLOCKS_PIECE_THREAD) &&
           header->bytes >= BLOCKS_PAGE && header->bytes % BLOCKS_PAGE == 0 &&
           header->bytes <= BLOCKS_REGION_BYTES - offset;
}

/* Attaches what is a piece in [start, end); what is not goes to *holes. */
static void look_through(struct launch_service *service, uint64_t start, uint64_t end,
                         uint64_t since_ns)
{
    uint64_t hole = start;
    for (uint64_t at = start; at < end;) {
        struct blocks_piece header;
        if (!read_header(service, at, &header)) {
            at += BLOCKS_PAGE;
            continue;
        }
        if (header.kind == BLOCKS_PIECE_PROCESS)
            launch_process_attach(service, at, &header);
        if (hole < at && service->holes_count < BASE_COUNT(service->holes))
            service->holes[service->holes_count++] = (struct launch_hole){hole, at, since_ns};
        at += header.bytes;
        hole = at;
    }
    if (hole < end && service->holes_count < BASE_COUNT(service->holes))
        service->holes[service->holes_count++] = (struct launch_hole){hole, end, since_ns};
}

static void find_pieces(struct launch_service *service)
{
    uint64_t next = atomic_load(&service->region->next), now = launch_now_ns(CLOCK_MONOTONIC);
    struct launch_hole old[BASE_COUNT(service->holes)];
    size_t count = service->holes_count;
    memcpy(old, service->holes, sizeof old);
    service->holes_count = 0;
    for (size_t i = 0; i < count; i++)
        if (now - old[i].since_ns < HOLE_MS * MS)
            look_through(service, old[i].start, old[i].end, old[i].since_ns);
    if (next <= service->frontier || next > BLOCKS_REGION_BYTES)
        return;
    next &= ~(uint64_t)(BLOCKS_PAGE - 1);
    look_through(service, service->frontier, next, now);
    service->frontier = next;
    service->started_ns = now;
}

/* ---- the service thread -------------------------------------------------------- */

static void take_sample(void *context, const struct launch_sample *sample)
{
    launch_process_sample(context, sample);
}

static void choose(struct launch_service *service)
{
    struct launch_candidate hot[LAUNCH_CHOICE_MOST];
    size_t count = launch_choice_judge(&service->choice, hot);
    for (size_t i = 0; i < count && service->request->functions_count == 0; i++)
        launch_modules_choose(&service->modules, (struct launch_module *)hot[i].module,
                              hot[i].vaddr);
}

static void sleep_on_doorbell(const struct launch_service *service, uint32_t seen, bool soon)
{
    bool quick = service->choice.watches && !launch_choice_settled(&service->choice);
    uint64_t since = launch_now_ns(CLOCK_MONOTONIC) - service->started_ns;
    uint64_t ms = soon ? PATCHING_MS : quick || since < 1000 * MS ? STARTING_MS : IDLE_MS;
    struct timespec limit = {.tv_nsec = (long)(ms * MS)};
    if (!atomic_load(&service->quit))
        syscall(SYS_futex, &service->region->doorbell, FUTEX_WAIT, seen, &limit, NULL, 0);
}

static void hush_one(struct launch_service *service)
{
    uint32_t pid = atomic_load(&service->hush);
    for (struct launch_process *process = service->processes; pid && process;
         process = process->next)
        if (process->code.pid == pid && process->code.piece)
            launch_process_hush(service, process);
    if (pid)
        atomic_store(&service->hush, 0);
}

static void *serve(void *context)
{
    struct launch_service *service = context;
    while (!atomic_load(&service->quit)) {
        uint32_t seen = atomic_load(&service->region->doorbell);
        bool soon = false;
        find_pieces(service);
        launch_sampler_drain(&service->sampler, take_sample, service);
        choose(service);
        hush_one(service);
        for (struct launch_process *process = service->processes; process; process = process->next)
            soon |= launch_process_serve(service, process);
        bool chooses = service->request->functions_count == 0 &&
                       launch_choice_watches(&service->choice, launch_now_ns(CLOCK_MONOTONIC));
        launch_sampler_run(&service->sampler, soon || chooses);
        launch_processes_free(service, false);
        sleep_on_doorbell(service, seen, soon);
    }
    return NULL;
}

/* ---- beside the recording ------------------------------------------------------ */

void launch_service_note(struct launch_service *service, const char *sentence)
{
    pthread_mutex_lock(&service->mutex);
    if (service->notes_count < BASE_COUNT(service->notes))
        snprintf(service->notes[service->notes_count++], sizeof service->notes[0], "%s", sentence);
    pthread_mutex_unlock(&service->mutex);
}

static void tick(void *context)
{
    struct launch_service *service = context;
    const struct launch_request *program = &service->request->program;
    pthread_mutex_lock(&service->mutex);
    for (size_t i = 0; i < service->notes_count && program->note; i++)
        program->note(program->context, service->notes[i]);
    service->notes_count = 0;
    pthread_mutex_unlock(&service->mutex);
}

/* Waits until the service thread has done it, which takes as long as it is looking through a
 * module. */
static void hush(void *context, uint32_t pid)
{
    struct launch_service *service = context;
    struct timespec pause = {.tv_nsec = 200000};
    if (!service->running)
        return;
    atomic_store(&service->hush, pid);
    atomic_fetch_add(&service->region->doorbell, 1);
    syscall(SYS_futex, &service->region->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    for (int i = 0; i < HUSH_LOOKS && atomic_load(&service->hush); i++)
        nanosleep(&pause, NULL);
}

static bool prepare(void *context, struct wire_config *config, char *error)
{
    struct launch_service *service = context;
    if (!make_region(service)) {
        launch_fail_region(error);
        return false;
    }
    fill_region(service->region, service->request);
    service->modules =
        (struct launch_modules){.region = service->region,
                                .request = service->request,
                                .unhooked = &service->unhooked,
                                .met = calloc(service->request->functions_count + 1, sizeof(bool))};
    launch_modules_known(&service->modules);
    launch_choice_begin(&service->choice);
    config->blocks = (uint32_t)service->file;
    return true;
}

static void before(void *context, pid_t child)
{
    struct launch_service *service = context;
    char sentence[256];
    service->sampling_refused = launch_sampler_open(&service->sampler, child);
    if (!service->sampling_refused || service->request->functions_count > 0)
        return;
    snprintf(sentence, sizeof sentence,
             "hot functions cannot be found, because the kernel refuses samples (%s); calls to "
             "library functions are timed, and functions named by --functions.",
             strerror(service->sampling_refused));
    launch_service_note(service, sentence);
}

static void begun(void *context, pid_t child)
{
    (void)child;
    struct launch_service *service = context;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    service->running = pthread_create(&service->thread, NULL, serve, service) == 0;
    launch_saver_begin(&service->saver, service->file, service->request->program.log);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (service->running)
        return;
    /* Nobody would answer. */
    service->region->wait = 0;
    launch_service_note(service,
                        "functions of the program cannot be hooked, because there is no memory for "
                        "another thread; calls to library functions are timed.");
}

/* Processes that outlive the program go on by themselves. */
static void ended(void *context)
{
    struct launch_service *service = context;
    service->region->wait = 0;
    atomic_store(&service->quit, true);
    atomic_fetch_add(&service->region->doorbell, 1);
    syscall(SYS_futex, &service->region->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    if (service->running)
        pthread_join(service->thread, NULL);
    launch_saver_end(&service->saver);
    launch_blocks_clocks(&service->region->ticks_end, &service->region->ns_end);
    tick(service);
}

/* ---- all together -------------------------------------------------------------- */

static bool check(const struct launch_blocks_request *request, char *error)
{
    for (size_t i = 0; i < request->keys_count; i++) {
        uint8_t argument;
        if (launch_blocks_key(request->keys[i], &argument))
            continue;
        snprintf(error, LAUNCH_ERROR_BYTES,
                 "'%.100s' is not a key: use FUNCTION:ARGUMENT, with an argument from 0 to 5.",
                 request->keys[i]);
        return false;
    }
    return true;
}

static void give(struct launch_service *service, struct launch_blocks_result *blocks)
{
    launch_modules_unmet(&service->modules);
    *blocks = (struct launch_blocks_result){.region = service->file,
                                            .unhooked = service->unhooked.entries,
                                            .unhooked_count = service->unhooked.count,
                                            .unhooked_more = service->unhooked.more,
                                            .sampling_refused = service->sampling_refused,
                                            .patching_refused = service->patching_refused};
    for (size_t i = 0; i < service->modules.hooks_count; i++)
        blocks->patched += service->modules.hooks[i]->done;
    strcpy(blocks->saved, service->saver.path);
}

enum launch_outcome launch_blocks(const struct launch_blocks_request *request,
                                  struct launch_blocks_result *blocks, struct launch_result *result,
                                  char *error)
{
    struct launch_service *service = calloc(1, sizeof *service);
    if (!service || !check(request, error)) {
        if (!service)
            launch_fail(error, "memory", ENOMEM);
        free(service);
        return LAUNCH_FAILED;
    }
    service->request = request;
    service->file = -1;
    pthread_mutex_init(&service->mutex, NULL);
    struct launch_companion companion = {service, prepare, before, begun, tick, hush, ended};
    enum launch_outcome outcome =
        launch_record_beside(&request->program, &companion, result, error);
    if (outcome == LAUNCH_OK) {
        give(service, blocks);
    } else {
        launch_unhooked_free(service->unhooked.entries, service->unhooked.count);
        if (service->file >= 0)
            close(service->file);
    }
    launch_sampler_close(&service->sampler);
    launch_processes_free(service, true);
    launch_modules_free(&service->modules);
    launch_maps_free(&service->maps);
    if (service->region)
        munmap(service->region, sizeof *service->region);
    pthread_mutex_destroy(&service->mutex);
    free(service);
    return outcome;
}

void launch_blocks_free(struct launch_blocks_result *blocks)
{
    launch_unhooked_free(blocks->unhooked, blocks->unhooked_count);
    blocks->unhooked = NULL;
    blocks->unhooked_count = 0;
}
