// SPDX-License-Identifier: MIT
/*
 * What is read in place of the time stamp counter when a recording asks for an event: how often it
 * happened in this thread, by perf. One event for each thread and module, opened when the thread
 * begins to count.
 *
 * In user mode (rdpmc) where the kernel allows that for the event; this half follows the
 * description of struct perf_event_mmap_page and has not been tried on hardware with counters. Else
 * by read(2), which is all there is for software events.
 *
 * The descriptor stands above those that a program is likely to have, and closes when it executes
 * another. Should the program close it, its number may become another file's. So each time it is
 * asked first whether it is an event: for a read of 0 bytes those alone find the buffer too small.
 *
 * A reading is count << INSTRUMENTED_EVENT_SHIFT plus the number of readings: never the same twice
 * and never 0, which inserted code takes for "not measured". What that adds to a path is constant,
 * and part of what measuring costs, which is found out as it is for time (cycles.c).
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>
#include <linux/perf_event.h>

enum { CLOSED = -1, TO_OPEN = 0, OPENINGS_MAX = 16 };
enum { TOO_SMALL = -28 /* -ENOSPC */, DUPLICATE = 1030 /* F_DUPFD_CLOEXEC */, DESCRIPTORS = 7 };
enum { NUMBER_MAX = 8192, READ_ONLY = 1, SHARED = 1 };

uint32_t headroom_event;
static __thread struct runtime_event *current __attribute__((tls_model("initial-exec")));
static struct runtime_event none = {.file = CLOSED};

/* ---- the descriptor -------------------------------------------------------------------------- */

static bool is_event(int64_t file)
{
    uint64_t unused;
    return file > 0 && RUNTIME_CALL(__NR_read, file, &unused, 0) == TOO_SMALL;
}

/* To the uppermost quarter of what the program may have, below 8192: the kernel keeps an array. */
static int64_t move_up(int64_t file)
{
    uint64_t limits[2] = {0};
    RUNTIME_CALL(__NR_prlimit64, 0, DESCRIPTORS, 0, limits);
    uint64_t most = limits[0] < NUMBER_MAX ? limits[0] : NUMBER_MAX;
    int64_t moved = RUNTIME_CALL(__NR_fcntl, file, DUPLICATE, most - most / 4);
    RUNTIME_CALL(__NR_close, file);
    return moved > 0 ? moved : CLOSED;
}

static int64_t open_file(const struct instrumented_event *wanted)
{
    struct perf_event_attr attributes;
    for (unsigned i = 0; i < sizeof attributes / sizeof(uint64_t); i++)
        ((volatile uint64_t *)&attributes)[i] = 0;
    attributes.type = wanted->type;
    attributes.size = sizeof attributes;
    attributes.config = wanted->config;
    attributes.config1 = wanted->config1;
    attributes.config2 = wanted->config2;
    attributes.exclude_user = (wanted->exclude & INSTRUMENTED_EVENT_NO_USER) != 0;
    attributes.exclude_kernel = (wanted->exclude & INSTRUMENTED_EVENT_NO_KERNEL) != 0;
    attributes.exclude_hv = (wanted->exclude & INSTRUMENTED_EVENT_NO_HYPERVISOR) != 0;
    int64_t file = RUNTIME_CALL(__NR_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return file >= 0 ? move_up(file) : CLOSED;
}

/* Forked children have no such mapping; where it would not be noticed that this is one, there must
 * be none. */
static void map_page(struct runtime_event *event)
{
    long page = -1;
    if (event->module->same)
        page = RUNTIME_CALL(__NR_mmap, 0, INSTRUMENTED_PAGE, READ_ONLY, SHARED, event->file, 0);
    event->page = (unsigned long)page < -4096UL ? (void *)page : NULL;
}

/* What was counted until now stays. */
static void open_event(struct runtime_event *event)
{
    struct instrumented_region *region = event->module->region;
    event->base = event->count;
    event->file = CLOSED;
    if (event->openings++ >= OPENINGS_MAX)
        return;
    event->file = open_file(&region->event);
    if (event->file > 0)
        map_page(event);
    else
        atomic_fetch_add(&region->event_refused, 1);
}

static void close_event(struct runtime_event *event)
{
    if (event->page)
        RUNTIME_CALL(__NR_munmap, event->page, INSTRUMENTED_PAGE);
    if (is_event(event->file))
        RUNTIME_CALL(__NR_close, event->file);
    event->page = NULL;
    event->file = TO_OPEN;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The protocol of perf_event_mmap_page in linux/perf_event.h. Not tried on hardware yet. */
static bool read_counter(const volatile struct perf_event_mmap_page *page, uint64_t *count)
{
    uint32_t sequence;
    do {
        sequence = page->lock;
        __asm__ volatile("" ::: "memory");
        uint32_t index = page->index, low, high;
        unsigned unused = 64U - page->pmc_width;
        if (!page->cap_user_rdpmc || index == 0 || unused > 63)
            return false;
        *count = (uint64_t)page->offset;
        __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
        *count += (uint64_t)((int64_t)(((uint64_t)high << 32 | low) << unused) >> unused);
        __asm__ volatile("" ::: "memory");
    } while (page->lock != sequence);
    return true;
}

static bool read_file(int64_t file, uint64_t *count)
{
    return is_event(file) && RUNTIME_CALL(__NR_read, file, count, sizeof *count) == sizeof *count;
}

/* One instruction: signal handlers read, too. */
static uint64_t next_tick(struct runtime_event *event)
{
    __asm__ volatile("incq %0" : "+m"(event->ticks) : : "cc");
    return event->ticks;
}

static uint64_t read_event(struct runtime_event *event)
{
    uint64_t count = 0;
    for (int tries = 0; tries < 2 && event->file != CLOSED; tries++) {
        if (event->file == TO_OPEN)
            open_event(event);
        if ((event->page && read_counter(event->page, &count)) || read_file(event->file, &count)) {
            event->count = event->base + count;
            break;
        }
        close_event(event); /* the program has closed it */
    }
    if (!event->ticks && event->file == CLOSED)
        return 0; /* never had one: nothing is measured */
    return (event->count << INSTRUMENTED_EVENT_SHIFT) + next_tick(event);
}

uint64_t runtime_read_event(void)
{
    runtime_check_fork(runtime_module_get());
    return current ? read_event(current) : 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A thread that shares another's counters because there was no memory has no event. Until it is opened, handlers
   of signals that come in between measure nothing. */
void runtime_event_thread(struct runtime_module *module, struct runtime_thread *thread, bool own)
{
    if (!headroom_event)
        return;
    current = &none;
    if (!own)
        return;
    close_event(&thread->event); /* of the thread that had its counters before */
    thread->event.openings = 0;
    thread->event.module = module;
    open_event(&thread->event);
    current = &thread->event;
}

/* In the child: events are the parent's, and their pages are not there. */
void runtime_event_fork(struct runtime_thread *first)
{
    for (struct runtime_thread *thread = first; thread && headroom_event; thread = thread->next) {
        thread->event.page = NULL;
        thread->event.openings = 0;
        close_event(&thread->event);
    }
}

void runtime_event_try(struct runtime_module *module, struct runtime_event *event)
{
    headroom_event = 1;
    event->module = module;
    open_event(event);
    current = event;
}

void runtime_event_tried(struct runtime_event *event)
{
    current = NULL;
    close_event(event);
}
