// SPDX-License-Identifier: MIT
/*
 * Debug files from servers (DEBUGINFOD_URLS), through the client library of
 * elfutils, loaded only when wanted: headroom works without it and without
 * the HTTP stack that it brings. A server must neither hang a report nor slow
 * it without end: one file has ten seconds, in which something must arrive; if
 * nothing does, no server is asked again.
 */
#include "binary/debugfile.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SILENCE_SECONDS = 10, TOTAL_SECONDS = 120 };

typedef void client; /* debuginfod_client is opaque */

struct library {
    client *(*begin)(void);
    void (*end)(client *);
    void (*set_progress)(client *, int (*progress)(client *, long done, long total));
    int (*find)(client *, const unsigned char *id, int id_bytes, char **path);
};

/* The callback runs in the calling thread, within find. */
static struct {
    time_t begun, changed;
    long done;
    bool given_up;
} transfer;

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/*
 * Nonzero aborts. The client calls this about once a second, answers or not;
 * until it knows the size, `done` merely counts the calls.
 */
static int watch_progress(client *handle, long done, long total)
{
    (void)handle;
    if (total > 0 && done != transfer.done) {
        transfer.done = done;
        transfer.changed = now();
    }
    transfer.given_up =
        now() - transfer.changed >= SILENCE_SECONDS || now() - transfer.begun >= TOTAL_SECONDS;
    return transfer.given_up;
}

static bool load(struct library *library)
{
    /* Never unloaded: its HTTP library has threads and exit handlers of its own. */
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    *(void **)&library->begin = dlsym(handle, "debuginfod_begin");
    *(void **)&library->end = dlsym(handle, "debuginfod_end");
    *(void **)&library->set_progress = dlsym(handle, "debuginfod_set_progressfn");
    *(void **)&library->find = dlsym(handle, "debuginfod_find_debuginfo");
    return library->begin && library->end && library->set_progress && library->find;
}

int debuginfod_fetch(const void *id, size_t id_bytes, char **path)
{
    static struct library library;
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (!servers || !*servers || transfer.given_up || (!library.find && !load(&library)))
        return -1;
    client *handle = library.begin();
    if (!handle)
        return -1;
    transfer.begun = transfer.changed = now();
    transfer.done = 0;
    library.set_progress(handle, watch_progress);
    char *found = NULL;
    int file = library.find(handle, id, (int)id_bytes, &found);
    library.end(handle);
    if (file >= 0)
        *path = found;
    else
        free(found);
    return file;
}
