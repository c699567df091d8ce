// SPDX-License-Identifier: MIT
/*
 * Hooks functions in the processes of a program while it runs, in a thread of its own, because
 * looking through a big module takes longer than the pool of chunks of the recording lasts.
 */
#include "inject/internal.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum {
    IDLE_MS = 50,
    STARTING_MS = 10, /* in the first second of a process, or of a window of samples */
    PATCHING_MS = 2,
    HUSH_LOOKS = 2500, /* 0.5 s                                                  */
    HOLE_MS = 5000,    /* what is no piece by then will never be one                 */
};

/* ---- pieces -------------------------------------------------------------------- */

/* Reads, because a look through a mapping would give every empty page memory. */
static bool read_header(const struct inject_service *service, uint64_t offset,
                        struct spans_piece *header)
{
    return pread(service->file, header, sizeof *header, (off_t)offset) == (ssize_t)sizeof *header &&
           (header->kind == SPANS_PIECE_PROCESS || header->kind == SPANS_PIECE_THREAD ||
            header->kind == SPANS_PIECE_LOOPS) &&
           header->bytes >= SPANS_PAGE && header->bytes % SPANS_PAGE == 0 &&
           header->bytes <= SPANS_REGION_BYTES - offset;
}

/* Attaches what is a piece in [start, end); what is not goes to *holes. */
static void look_through(struct inject_service *service, uint64_t start, uint64_t end,
                         uint64_t since_ns)
{
    uint64_t hole = start;
    for (uint64_t at = start; at < end;) {
        struct spans_piece header;
        if (!read_header(service, at, &header)) {
            at += SPANS_PAGE;
            continue;
        }
        if (header.kind == SPANS_PIECE_PROCESS)
            inject_process_attach(service, at, &header);
        if (hole < at && service->holes_count < BASE_COUNT(service->holes))
            service->holes[service->holes_count++] = (struct inject_hole){hole, at, since_ns};
        at += header.bytes;
        hole = at;
    }
    if (hole < end && service->holes_count < BASE_COUNT(service->holes))
        service->holes[service->holes_count++] = (struct inject_hole){hole, end, since_ns};
}

static void find_pieces(struct inject_service *service)
{
    uint64_t next = atomic_load(&service->region->next), now = os_now_ns(CLOCK_MONOTONIC);
    struct inject_hole old[BASE_COUNT(service->holes)];
    size_t count = service->holes_count;
    memcpy(old, service->holes, sizeof old);
    service->holes_count = 0;
    for (size_t i = 0; i < count; i++)
        if (now - old[i].since_ns < HOLE_MS * MS)
            look_through(service, old[i].start, old[i].end, old[i].since_ns);
    if (next <= service->frontier || next > SPANS_REGION_BYTES)
        return;
    next &= ~(uint64_t)(SPANS_PAGE - 1);
    look_through(service, service->frontier, next, now);
    service->frontier = next;
    service->started_ns = now;
}

/* ---- the service thread -------------------------------------------------------- */

static void take_sample(void *context, const struct inject_sample *sample)
{
    inject_process_sample(context, sample);
}

static void choose(struct inject_service *service)
{
    struct inject_candidate hot[INJECT_CHOICE_MAX];
    size_t count = inject_choice_judge(&service->choice, hot);
    for (size_t i = 0; i < count && service->request->functions_count == 0; i++)
        inject_modules_choose(&service->modules, (struct inject_module *)hot[i].module,
                              hot[i].vaddr);
}

static void sleep_on_doorbell(const struct inject_service *service, uint32_t seen, bool soon)
{
    bool quick = (service->choice.watches && !inject_choice_settled(&service->choice)) ||
                 service->loops.watches;
    uint64_t since = os_now_ns(CLOCK_MONOTONIC) - service->started_ns;
    uint64_t ms = soon ? PATCHING_MS : quick || since < 1000 * MS ? STARTING_MS : IDLE_MS;
    struct timespec limit = {.tv_nsec = (long)(ms * MS)};
    if (!atomic_load(&service->quit))
        syscall(SYS_futex, &service->region->doorbell, FUTEX_WAIT, seen, &limit, NULL, 0);
}

static void hush_one(struct inject_service *service)
{
    uint32_t pid = atomic_load(&service->hush);
    for (struct inject_process *process = service->processes; pid && process;
         process = process->next)
        if (process->code.pid == pid && process->code.piece)
            inject_process_hush(service, process);
    if (pid)
        atomic_store(&service->hush, 0);
}

static void *serve(void *context)
{
    struct inject_service *service = context;
    const struct inject_sampler_taker taker = {.context = service, .sample = take_sample};
    while (!atomic_load(&service->quit)) {
        uint32_t seen = atomic_load(&service->region->doorbell);
        bool soon = false;
        find_pieces(service);
        inject_sampler_drain(&service->sampler, &taker);
        choose(service);
        hush_one(service);
        for (struct inject_process *process = service->processes; process; process = process->next)
            soon |= inject_process_serve(service, process);
        bool chooses = service->request->functions_count == 0 &&
                       inject_choice_watches(&service->choice, os_now_ns(CLOCK_MONOTONIC));
        bool loops = inject_loops_watch(&service->loops, os_now_ns(CLOCK_MONOTONIC));
        inject_sampler_run(&service->sampler, soon || chooses || loops);
        inject_processes_free(service, false);
        sleep_on_doorbell(service, seen, soon);
    }
    inject_sampler_drain(&service->sampler, &taker);
    return NULL;
}

/* ---- asked from outside -------------------------------------------------------- */

void inject_service_note(struct inject_service *service, const char *sentence)
{
    pthread_mutex_lock(&service->mutex);
    if (service->notes_count < BASE_COUNT(service->notes))
        snprintf(service->notes[service->notes_count++], sizeof service->notes[0], "%s", sentence);
    pthread_mutex_unlock(&service->mutex);
}

bool inject_note(struct inject_service *service, char note[INJECT_NOTE_BYTES])
{
    pthread_mutex_lock(&service->mutex);
    bool some = service->notes_count > 0;
    if (some) {
        memcpy(note, service->notes[0], sizeof service->notes[0]);
        service->notes_count--;
        memmove(service->notes, service->notes + 1,
                service->notes_count * sizeof service->notes[0]);
    }
    pthread_mutex_unlock(&service->mutex);
    return some;
}

static void ring(struct inject_service *service)
{
    atomic_fetch_add(&service->region->doorbell, 1);
    syscall(SYS_futex, &service->region->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void inject_hush(struct inject_service *service, uint32_t pid)
{
    struct timespec pause = {.tv_nsec = 200000};
    if (!service->running)
        return;
    atomic_store(&service->hush, pid);
    ring(service);
    for (int i = 0; i < HUSH_LOOKS && atomic_load(&service->hush); i++)
        nanosleep(&pause, NULL);
}

/* ---- from beginning to end ------------------------------------------------------ */

struct inject_service *inject_open(const struct inject_request *request,
                                   struct spans_region *region, int file)
{
    struct stat status;
    struct inject_service *service = calloc(1, sizeof *service);
    if (!service || fstat(file, &status) != 0) {
        free(service);
        return NULL;
    }
    service->region = region;
    service->request = request;
    service->file = file;
    service->file_device = status.st_dev;
    service->file_inode = status.st_ino;
    service->frontier = (sizeof *region + SPANS_PAGE - 1) & ~(uint64_t)(SPANS_PAGE - 1);
    service->modules = (struct inject_modules){
        .region = region,
        .request = request,
        .unhooked = &service->unhooked,
        .met = calloc(request->functions_count + 1, sizeof *service->modules.met)};
    pthread_mutex_init(&service->mutex, NULL);
    inject_modules_known(&service->modules);
    inject_choice_begin(&service->choice);
    inject_loops_begin(&service->loops, &service->modules, file);
    return service;
}

void inject_watch(struct inject_service *service, pid_t child)
{
    char sentence[256];
    service->sampling_refused =
        inject_sampler_open(&service->sampler, child, INJECT_SAMPLE_NS, false, false);
    if (!service->sampling_refused || service->request->functions_count > 0)
        return;
    snprintf(sentence, sizeof sentence,
             "hot functions cannot be found, because the kernel refuses samples (%s); calls to "
             "library functions are timed, and functions named by --functions.",
             strerror(service->sampling_refused));
    inject_service_note(service, sentence);
}

void inject_begin(struct inject_service *service)
{
    service->running = pthread_create(&service->thread, NULL, serve, service) == 0;
    if (service->running)
        return;
    /* Nobody would answer. */
    service->region->wait = 0;
    inject_service_note(service,
                        "functions of the program cannot be hooked, because there is no memory for "
                        "another thread; calls to library functions are timed.");
}

void inject_end(struct inject_service *service)
{
    service->region->wait = 0;
    atomic_store(&service->quit, true);
    ring(service);
    if (service->running)
        pthread_join(service->thread, NULL);
    service->running = false;
}

void inject_take(struct inject_service *service, struct inject_result *result)
{
    inject_modules_unmet(&service->modules);
    *result = (struct inject_result){.unhooked = service->unhooked.entries,
                                     .unhooked_count = service->unhooked.count,
                                     .unhooked_more = service->unhooked.more,
                                     .sampling_refused = service->sampling_refused,
                                     .patching_refused = service->patching_refused};
    for (size_t i = 0; i < service->modules.hooks_count; i++)
        result->patched += service->modules.hooks[i]->done;
    service->unhooked = (struct inject_unhooked_list){.entries = NULL};
}

void inject_close(struct inject_service *service)
{
    if (!service)
        return;
    inject_unhooked_free(service->unhooked.entries, service->unhooked.count);
    inject_sampler_close(&service->sampler);
    inject_processes_free(service, true);
    inject_loops_end(&service->loops);
    inject_modules_free(&service->modules);
    inject_maps_free(&service->maps);
    pthread_mutex_destroy(&service->mutex);
    free(service);
}
