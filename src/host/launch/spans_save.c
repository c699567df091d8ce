// SPDX-License-Identifier: MIT
/*
 * What was timed, written beside the raw log now and then: should headroom be killed, the last such
 * file is what `headroom report` reads. By a thread of its own, because a slow disk must keep
 * neither the log from being drained nor programs from being patched.
 *
 * Rejected: the region itself as a file. The program would be killed by SIGBUS where the disk is
 * full (unless all of it were allocated before it begins) and would wait for the disk at each page
 * that was just being written back; here all that a full disk does is that the file gets no newer.
 */
#include "launch/spans.h"

#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
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
    FIRST_MS = 1000,
    LEAST_MS = 2000,
    COST_SHARE = 50, /* writing takes at most a fiftieth of the time */
    STEP_BYTES = 1 << 18,
};
_Static_assert(STEP_BYTES % SPANS_PAGE == 0, "pieces of whole pages");

static bool put(int file, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t written = write(file, (const char *)bytes + done, count - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    return true;
}

static bool copy_stretch(int region, int file, uint64_t offset, uint64_t bytes, char *buffer)
{
    struct spans_extent extent = {.offset = offset, .bytes = bytes};
    if (!put(file, &extent, sizeof extent))
        return false;
    for (uint64_t done = 0; done < bytes;) {
        size_t step = bytes - done < STEP_BYTES ? (size_t)(bytes - done) : STEP_BYTES;
        if (pread(region, buffer, step, (off_t)(offset + done)) != (ssize_t)step ||
            !put(file, buffer, step))
            return false;
        done += step;
    }
    return true;
}

/* The head is the first page with data; in the file the clocks are those of now. */
static bool set_clocks(int file)
{
    off_t at = sizeof(struct spans_file) + sizeof(struct spans_extent) +
               offsetof(struct spans_region, ticks_end);
    uint64_t ends[2];
    _Static_assert(offsetof(struct spans_region, ns_end) ==
                       offsetof(struct spans_region, ticks_end) + sizeof(uint64_t),
                   "written as one");
    launch_spans_clocks(&ends[0], &ends[1]);
    return pwrite(file, ends, sizeof ends, at) == (ssize_t)sizeof ends;
}

static bool copy_region(int region, int file)
{
    struct spans_file head = {.magic = SPANS_FILE_MAGIC, .version = SPANS_VERSION};
    struct spans_extent end = {0};
    char *buffer = malloc(STEP_BYTES);
    bool good = buffer && put(file, &head, sizeof head);
    off_t data = 0, hole = 0;
    while (good && (data = lseek(region, hole, SEEK_DATA)) >= 0 &&
           (hole = lseek(region, data, SEEK_HOLE)) > data)
        good = copy_stretch(region, file, (uint64_t)data, (uint64_t)(hole - data), buffer);
    good = good && put(file, &end, sizeof end) && set_clocks(file);
    free(buffer);
    return good;
}

bool launch_spans_save(int region, const char *log_path, char path[LAUNCH_PATH_BYTES])
{
    char made[LAUNCH_PATH_BYTES], fresh[LAUNCH_PATH_BYTES + 16];
    int printed = snprintf(made, sizeof made, "%s" SPANS_FILE_SUFFIX, log_path);
    if (printed < 0 || printed >= (int)sizeof made)
        return false;
    snprintf(fresh, sizeof fresh, "%s.new", made);
    int file = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool good = copy_region(region, file);
    good = close(file) == 0 && good && rename(fresh, made) == 0;
    if (good)
        strcpy(path, made);
    else
        unlink(fresh);
    return good;
}

/* ---- now and then ---------------------------------------------------------------------------- */

/* Beside the log, wherever that is by now. */
static void save(struct launch_saver *saver)
{
    char name[LAUNCH_PATH_BYTES];
    if (launch_file_name(saver->log, name))
        launch_spans_save(saver->region, name, saver->path);
}

static void *save_often(void *context)
{
    struct launch_saver *saver = context;
    uint64_t pause = FIRST_MS * MS;
    while (!atomic_load(&saver->quit)) {
        struct timespec limit = {.tv_sec = (time_t)(pause / (1000 * MS)),
                                 .tv_nsec = (long)(pause % (1000 * MS))};
        syscall(SYS_futex, &saver->quit, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
        uint64_t begun = launch_now_ns(CLOCK_MONOTONIC);
        if (!atomic_load(&saver->quit))
            save(saver);
        uint64_t cost = (launch_now_ns(CLOCK_MONOTONIC) - begun) * COST_SHARE;
        pause = cost > LEAST_MS * MS ? cost : LEAST_MS * MS;
    }
    return NULL;
}

void launch_saver_begin(struct launch_saver *saver, int region, int log)
{
    *saver = (struct launch_saver){.region = region, .log = log};
    saver->running = pthread_create(&saver->thread, NULL, save_often, saver) == 0;
}

void launch_saver_end(struct launch_saver *saver)
{
    if (!saver->running)
        return;
    atomic_store(&saver->quit, 1);
    syscall(SYS_futex, &saver->quit, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    pthread_join(saver->thread, NULL);
    saver->running = false;
}
