// SPDX-License-Identifier: MIT
/*
 * Serves the agent's requests for unwind tables: compiles the module's unwind
 * information into a memfd that the agent opens through /proc/PID/fd. A thread of its
 * own does it, because a big module takes longer than the chunk pool lasts.
 *
 * The slots lie in memory that the program can overwrite: paths are copied before use, what
 * was made is remembered in private memory, and `binary` opens nothing but regular files.
 */
#include "launch/internal.h"

#include "binary/binary.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A table made before for the same file, or NULL: two threads may claim slots for one module. */
static const struct launch_table *find_made(const struct launch_tables *tables,
                                            const struct launch_table *table)
{
    for (uint32_t i = 0; i < WIRE_TABLES; i++) {
        const struct launch_table *made = &tables->made[i];
        if (made->file >= 0 && made->device == table->device && made->inode == table->inode &&
            strcmp(made->path, table->path) == 0)
            return made;
    }
    return NULL;
}

static bool compile(struct launch_table *table)
{
    int file = memfd_create("headroom-table", MFD_CLOEXEC);
    if (file < 0)
        return false;
    if (binary_compile_unwind(table->path, file, &table->bytes) != BASE_OK) {
        close(file);
        return false;
    }
    table->file = file;
    return true;
}

static void serve(struct launch_tables *tables, uint32_t index)
{
    struct wire_table_slot *slot = &tables->region->tables[index];
    struct launch_table table = {.file = -1, .device = slot->device, .inode = slot->inode};
    memcpy(table.path, slot->path, sizeof table.path);
    table.path[sizeof table.path - 1] = 0;

    const struct launch_table *made = find_made(tables, &table);
    if (!made && tables->made[index].file < 0 && compile(&table)) {
        tables->made[index] = table;
        made = &tables->made[index];
    }
    if (made) {
        slot->descriptor = (uint32_t)made->file;
        slot->bytes = made->bytes;
    }
    atomic_store_explicit(&slot->state, made ? WIRE_TABLE_READY : WIRE_TABLE_FAILED,
                          memory_order_release);
}

static bool is_wanted(const struct launch_tables *tables, uint32_t index)
{
    return atomic_load_explicit(&tables->region->tables[index].state, memory_order_acquire) ==
           WIRE_TABLE_WANTED;
}

static bool must_quit(struct launch_tables *tables)
{
    pthread_mutex_lock(&tables->mutex);
    bool quit = tables->quit;
    pthread_mutex_unlock(&tables->mutex);
    return quit;
}

static void *build(void *context)
{
    struct launch_tables *tables = context;
    for (;;) {
        pthread_mutex_lock(&tables->mutex);
        while (!tables->requested && !tables->quit)
            pthread_cond_wait(&tables->wanted, &tables->mutex);
        tables->requested = false;
        pthread_mutex_unlock(&tables->mutex);
        for (uint32_t i = 0; i < WIRE_TABLES; i++) {
            if (must_quit(tables))
                return NULL;
            if (is_wanted(tables, i))
                serve(tables, i);
        }
    }
}

void launch_tables_begin(struct launch_tables *tables, struct wire_region *region)
{
    sigset_t all, before;
    *tables = (struct launch_tables){.region = region};
    for (uint32_t i = 0; i < WIRE_TABLES; i++)
        tables->made[i].file = -1;
    pthread_mutex_init(&tables->mutex, NULL);
    pthread_cond_init(&tables->wanted, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    tables->running = pthread_create(&tables->thread, NULL, build, tables) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void launch_tables_serve(struct launch_tables *tables)
{
    for (uint32_t i = 0; i < WIRE_TABLES && tables->running; i++) {
        if (!is_wanted(tables, i))
            continue;
        pthread_mutex_lock(&tables->mutex);
        tables->requested = true;
        pthread_cond_signal(&tables->wanted);
        pthread_mutex_unlock(&tables->mutex);
        return;
    }
}

void launch_tables_end(struct launch_tables *tables)
{
    pthread_mutex_lock(&tables->mutex);
    tables->quit = true;
    pthread_cond_signal(&tables->wanted);
    pthread_mutex_unlock(&tables->mutex);
    if (tables->running)
        pthread_join(tables->thread, NULL);
    for (uint32_t i = 0; i < WIRE_TABLES; i++)
        if (tables->made[i].file >= 0)
            close(tables->made[i].file);
    pthread_cond_destroy(&tables->wanted);
    pthread_mutex_destroy(&tables->mutex);
}
