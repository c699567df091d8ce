// SPDX-License-Identifier: MIT
/*
 * Serves the agent's requests for unwind tables: compiles the module's unwind
 * information into a memfd that the agent opens through /proc/PID/fd. A thread of its
 * own does it, because a big module takes longer than the chunk pool lasts. Tables are made when
 * the first walk needs them, and none for the many modules that no walk ever reaches.
 *
 * The slots lie in memory that the program can overwrite: paths are copied before use, what
 * was made is remembered in private memory, and `binary` opens nothing but regular files.
 */
#include "launch/internal.h"

#include "binary/binary.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A table made before for the same file, or NULL: two threads may claim slots for one module. */
static const struct launch_table *find_made(const struct launch_tables *tables,
                                            const struct launch_table *table)
{
    for (uint32_t i = 0; i < tables->used; i++) {
        const struct launch_table *made = &tables->made[i];
        if (made->file >= 0 && made->device == table->device && made->inode == table->inode &&
            strcmp(made->path, table->path) == 0)
            return made;
    }
    return NULL;
}

static bool compile(struct launch_table *table)
{
    char held[32];
    int file = memfd_create("headroom-table", MFD_CLOEXEC);
    if (file < 0)
        return false;
    snprintf(held, sizeof held, "/proc/self/fd/%d", table->source);
    if (binary_compile_unwind(table->source >= 0 ? held : table->path, file, &table->bytes) !=
        BASE_OK) {
        close(file);
        return false;
    }
    table->file = file;
    return true;
}

static struct launch_table copy_slot(const struct wire_table_slot *slot)
{
    struct launch_table table = {
        .file = -1, .source = -1, .device = slot->device, .inode = slot->inode};
    memcpy(table.path, slot->path, sizeof table.path);
    table.path[sizeof table.path - 1] = 0;
    return table;
}

/* The slot names the file that was open then: a broken program may have written another name since.
 */
static bool is_held(const struct launch_table *held, const struct launch_table *table)
{
    return held->source >= 0 && held->device == table->device && held->inode == table->inode &&
           strcmp(held->path, table->path) == 0;
}

static void let_go(struct launch_table *held)
{
    if (held->source >= 0)
        close(held->source);
    held->source = -1;
}

static void hold(struct launch_tables *tables, uint32_t index)
{
    struct launch_table table = copy_slot(&tables->region->tables[index]);
    if (tables->made[index].file >= 0 || tables->made[index].source >= 0 || table.path[0] != '/')
        return;
    table.source = open(table.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (table.source >= 0)
        tables->made[index] = table;
}

static void serve(struct launch_tables *tables, uint32_t index)
{
    struct wire_table_slot *slot = &tables->region->tables[index];
    struct launch_table table = copy_slot(slot), *held = &tables->made[index];
    if (is_held(held, &table))
        table.source = held->source;

    const struct launch_table *made = find_made(tables, &table);
    if (!made && held->file < 0 && compile(&table)) {
        let_go(held);
        *held = table;
        held->source = -1;
        made = held;
    }
    if (made) {
        slot->descriptor = (uint32_t)made->file;
        slot->bytes = made->bytes;
    }
    atomic_store_explicit(&slot->state, made ? WIRE_TABLE_READY : WIRE_TABLE_FAILED,
                          memory_order_release);
    syscall(SYS_futex, &slot->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static uint32_t state_of(const struct launch_tables *tables, uint32_t index)
{
    return atomic_load_explicit(&tables->region->tables[index].state, memory_order_acquire);
}

static bool must_quit(struct launch_tables *tables)
{
    pthread_mutex_lock(&tables->mutex);
    bool quit = tables->quit;
    pthread_mutex_unlock(&tables->mutex);
    return quit;
}

/* Behind a FREE slot there are no others. */
static void go_through(struct launch_tables *tables, bool hold_files)
{
    for (uint32_t i = 0; i < WIRE_TABLES && state_of(tables, i) != WIRE_TABLE_FREE; i++) {
        if (must_quit(tables))
            return;
        if (i == tables->used)
            tables->made[tables->used++] = (struct launch_table){.file = -1, .source = -1};
        if (state_of(tables, i) == WIRE_TABLE_WANTED)
            serve(tables, i);
        else if (hold_files && state_of(tables, i) == WIRE_TABLE_NAMED)
            hold(tables, i);
    }
}

static void *build(void *context)
{
    struct launch_tables *tables = context;
    for (;;) {
        pthread_mutex_lock(&tables->mutex);
        while (!tables->requested && !tables->quit)
            pthread_cond_wait(&tables->wanted, &tables->mutex);
        bool hold_files = tables->hold, quit = tables->quit;
        tables->requested = tables->hold = false;
        pthread_mutex_unlock(&tables->mutex);
        if (quit)
            return NULL;
        go_through(tables, hold_files);
    }
}

void launch_tables_begin(struct launch_tables *tables, struct wire_region *region)
{
    memset(tables, 0, offsetof(struct launch_tables, made));
    tables->region = region;
    pthread_mutex_init(&tables->mutex, NULL);
    pthread_cond_init(&tables->wanted, NULL);
}

static bool start_thread(struct launch_tables *tables)
{
    sigset_t all, before;
    if (tables->running || tables->refused)
        return tables->running;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    tables->running = pthread_create(&tables->thread, NULL, build, tables) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    tables->refused = !tables->running;
    return tables->running;
}

void launch_tables_serve(struct launch_tables *tables, bool hold)
{
    uint32_t used = 0;
    bool wanted = false;
    for (; used < WIRE_TABLES && state_of(tables, used) != WIRE_TABLE_FREE; used++)
        wanted |= state_of(tables, used) == WIRE_TABLE_WANTED;
    hold = hold && used > tables->named;
    if ((!wanted && !hold) || !start_thread(tables))
        return;
    if (hold)
        tables->named = used;
    pthread_mutex_lock(&tables->mutex);
    tables->requested = true;
    tables->hold |= hold;
    pthread_cond_signal(&tables->wanted);
    pthread_mutex_unlock(&tables->mutex);
}

void launch_tables_end(struct launch_tables *tables)
{
    pthread_mutex_lock(&tables->mutex);
    tables->quit = true;
    pthread_cond_signal(&tables->wanted);
    pthread_mutex_unlock(&tables->mutex);
    if (tables->running)
        pthread_join(tables->thread, NULL);
    for (uint32_t i = 0; i < tables->used; i++) {
        let_go(&tables->made[i]);
        if (tables->made[i].file >= 0)
            close(tables->made[i].file);
    }
    pthread_cond_destroy(&tables->wanted);
    pthread_mutex_destroy(&tables->mutex);
}
