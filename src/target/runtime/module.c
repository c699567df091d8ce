// SPDX-License-Identifier: MIT
/*
 * The module: finds the region, takes part in it. Done once, by whoever comes first; several
 * threads, or a thread and its signal handler, may do it at once, and one of them wins. Locks would
 * hang in a handler, and in the child of a fork.
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>

enum { READ_ONLY = 02000000, READ_WRITE = 02000002 /* with O_CLOEXEC */, HERE = -100 };
enum { PROT_BOTH = 3, SHARED = 1, POOL_BYTES = 1 << 16, WIPE_ON_FORK = 18, READER_BYTES = 512 };
enum {
    SECURE = 23 /* AT_SECURE */,
    LOAD = 1,
    INTERPRETER = 3 /* PT_ */,
    EXECUTABLE = 2 /* ET_EXEC */,
    REALTIME = 0
};

/* The one number of the process, for all modules that see it: pid << 32 | number + 1. */
extern RUNTIME_SHARED _Atomic uint64_t headroom_process;
_Atomic uint64_t headroom_process;

extern const char map_start[] __asm__("__start_headroom_map")
    __attribute__((weak, visibility("hidden")));
extern const char map_stop[] __asm__("__stop_headroom_map")
    __attribute__((weak, visibility("hidden")));
extern char counters_start[] __asm__("__start_headroom_counters")
    __attribute__((weak, visibility("hidden")));
extern char counters_stop[] __asm__("__stop_headroom_counters")
    __attribute__((weak, visibility("hidden")));
extern char own_start[] __asm__("__start_headroom_records")
    __attribute__((weak, visibility("hidden")));
extern char own_stop[] __asm__("__stop_headroom_records")
    __attribute__((weak, visibility("hidden")));
extern const char image[] __asm__("__ehdr_start") __attribute__((weak, visibility("hidden")));
extern char **environ __attribute__((weak));

static _Atomic(struct runtime_module *) the_module;
uint32_t headroom_alone;
uint64_t headroom_own, headroom_own_bytes;

struct runtime_module *runtime_module_get(void)
{
    return atomic_load_explicit(&the_module, memory_order_acquire);
}

/* ---- private memory -------------------------------------------------------------------------- */

static struct runtime_chunk *new_pool(void)
{
    struct runtime_chunk *pool = runtime_map(POOL_BYTES);
    if (!pool)
        return NULL;
    pool->base = (uint64_t)pool;
    pool->bytes = POOL_BYTES;
    atomic_store(&pool->used, (sizeof *pool + 15) & ~15UL);
    return pool;
}

void *runtime_private(struct runtime_module *module, uint64_t bytes)
{
    bytes = (bytes + 15) & ~UINT64_C(15);
    for (int tries = 0; tries < 3; tries++) {
        struct runtime_chunk *pool = atomic_load(&module->pool);
        if (pool) {
            uint64_t at = atomic_fetch_add(&pool->used, bytes);
            if (at + bytes <= pool->bytes)
                return (void *)(pool->base + at);
        }
        pool = new_pool();
        if (!pool)
            return NULL;
        atomic_store(&module->pool, pool);
    }
    return NULL;
}

/* ---- files of /proc -------------------------------------------------------------------------- */

struct reader {
    long file, at, filled;
    char buffer[READER_BYTES];
};

/* -1: the end. */
static int next_byte(struct reader *reader)
{
    if (reader->at == reader->filled) {
        reader->at = 0;
        reader->filled = RUNTIME_CALL(__NR_read, reader->file, reader->buffer, READER_BYTES);
        if (reader->filled <= 0) {
            reader->filled = 0;
            return -1;
        }
    }
    return (unsigned char)reader->buffer[reader->at++];
}

static bool open_reader(struct reader *reader, const char *path)
{
    reader->at = reader->filled = 0;
    reader->file = RUNTIME_CALL(__NR_openat, HERE, path, READ_ONLY);
    return reader->file >= 0;
}

static void close_reader(struct reader *reader)
{
    RUNTIME_CALL(__NR_close, reader->file);
}

/* ---- the environment ------------------------------------------------------------------------- */

/*
 * Programs that gained rights by exec take no part: whoever set the variable chose the memory that
 * records would be read from. True also if that cannot be known.
 */
static bool is_privileged(void)
{
    struct reader reader;
    uint64_t pair[2] = {0};
    unsigned filled = 0;
    bool privileged = true;
    if (!open_reader(&reader, "/proc/self/auxv"))
        return true;
    for (int byte; (byte = next_byte(&reader)) >= 0;) {
        ((char *)pair)[filled++] = (char)byte;
        if (filled < sizeof pair)
            continue;
        filled = 0;
        if (pair[0] == SECURE)
            privileged = pair[1] != 0;
    }
    close_reader(&reader);
    return privileged;
}

/* What stands behind the variable's name and "=", if text begins so. */
static const char *value_of(const char *text)
{
    const char *name = INSTRUMENTED_ENVIRONMENT "=";
    while (*name && *text == *name)
        text++, name++;
    return *name ? NULL : text;
}

enum { VALUE_BYTES = 48 };

static bool copy_value(const char *text, char *value)
{
    const char *found = value_of(text);
    unsigned i = 0;
    if (!found)
        return false;
    for (; found[i] && i < VALUE_BYTES - 1; i++)
        value[i] = found[i];
    value[i] = 0;
    return true;
}

/* Before the C library has begun (a resolver of indirect functions), or without one. */
static bool value_from_kernel(char *value)
{
    struct reader reader;
    char line[sizeof INSTRUMENTED_ENVIRONMENT + VALUE_BYTES];
    unsigned filled = 0;
    bool found = false;
    if (!open_reader(&reader, "/proc/self/environ"))
        return false;
    for (int byte; !found && (byte = next_byte(&reader)) >= 0;) {
        if (filled < sizeof line)
            line[filled++] = (char)byte;
        if (byte)
            continue;
        line[sizeof line - 1] = 0;
        found = copy_value(line, value);
        filled = 0;
    }
    close_reader(&reader);
    return found;
}

static bool find_value(char *value)
{
    if (!&environ || !environ)
        return value_from_kernel(value);
    for (char **entry = environ; *entry; entry++)
        if (copy_value(*entry, value))
            return true;
    return false;
}

/* "VERSION:PID:FD" -> "/proc/PID/fd/FD". */
static bool parse_value(const char *value, char *path)
{
    static const char *const parts[] = {"/proc/", "/fd/"};
    if (value[0] != '0' + INSTRUMENTED_VERSION || value[1] != ':')
        return false;
    value += 2;
    for (int i = 0; i < 2; i++) {
        for (const char *part = parts[i]; *part;)
            *path++ = *part++;
        const char *start = value;
        while (*value >= '0' && *value <= '9' && value - start < 12)
            *path++ = *value++;
        if (value == start || *value != (i ? 0 : ':'))
            return false;
        value++;
    }
    *path = 0;
    return true;
}

/* Whoever cannot map the header says so all the same. */
static struct instrumented_region *map_region(long file)
{
    static const uint32_t refused = 1;
    long at = RUNTIME_CALL(__NR_mmap, 0, INSTRUMENTED_PAGE, PROT_BOTH, SHARED, file, 0);
    if ((unsigned long)at <= -4096UL)
        return (struct instrumented_region *)at;
    RUNTIME_CALL(__NR_pwrite64, file, &refused, sizeof refused,
                 offsetof(struct instrumented_region, refused));
    return NULL;
}

/* Read before it is mapped: when headroom has ended, its number and descriptor may be another's,
   and a file without a first page kills whoever looks into its mapping. */
static struct instrumented_region *open_region(const char *path)
{
    struct instrumented_region header = {0}, *region = NULL;
    long file = RUNTIME_CALL(__NR_openat, HERE, path, READ_WRITE);
    if (file < 0)
        return NULL;
    long got = RUNTIME_CALL(__NR_pread64, file, &header, sizeof header, 0);
    if (got == (long)sizeof header && header.magic == INSTRUMENTED_MAGIC &&
        header.version == INSTRUMENTED_VERSION)
        region = map_region(file);
    RUNTIME_CALL(__NR_close, file);
    return region;
}

/* path: as in struct runtime_module. */
static struct instrumented_region *find_region(char *path)
{
    char value[VALUE_BYTES];
    return find_value(value) && parse_value(value, path) && !is_privileged() ? open_region(path)
                                                                             : NULL;
}

/* ---- what the module is ---------------------------------------------------------------------- */

/* As <elf.h> has them, which is the C library's. */
struct image_header {
    char ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segments, sections;
    uint32_t flags;
    uint16_t bytes, segment_bytes, segment_count;
};
struct image_segment {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};

static void read_image(struct runtime_module *module)
{
    const struct image_header *header = (const struct image_header *)image;
    if (!header)
        return;
    module->is_program = header->type == EXECUTABLE;
    for (unsigned i = 0; i < header->segment_count; i++) {
        const struct image_segment *segment =
            (const struct image_segment *)(image + header->segments +
                                           i * (uint64_t)header->segment_bytes);
        if (segment->type == LOAD && segment->offset == 0)
            module->bias = (uint64_t)image - segment->address;
        module->is_program = module->is_program || segment->type == INTERPRETER;
    }
}

static uint64_t hexadecimal(struct reader *reader, int *byte)
{
    uint64_t number = 0;
    for (;;) {
        *byte = next_byte(reader);
        if (*byte >= '0' && *byte <= '9')
            number = number << 4 | (uint64_t)(*byte - '0');
        else if (*byte >= 'a' && *byte <= 'f')
            number = number << 4 | (uint64_t)(*byte - 'a' + 10);
        else
            return number;
    }
}

/* The name of the file that is mapped at `address`: the rest of its line after five fields. */
static void find_path(struct instrumented_module *out, uint64_t address)
{
    struct reader reader;
    if (!open_reader(&reader, "/proc/self/maps"))
        return;
    for (int byte = 0; byte >= 0;) {
        uint64_t start = hexadecimal(&reader, &byte), end = hexadecimal(&reader, &byte);
        bool wanted = byte >= 0 && start <= address && address < end;
        unsigned filled = 0;
        bool name = false;
        while ((byte = next_byte(&reader)) >= 0 && byte != '\n') {
            name = name || byte == '/';
            if (wanted && name && filled < sizeof out->path - 1)
                out->path[filled++] = (char)byte;
        }
        if (wanted)
            break;
    }
    close_reader(&reader);
}

/* ---- announcement ---------------------------------------------------------------------------- */

void runtime_take_number(struct runtime_module *module)
{
    module->pid = (uint32_t)RUNTIME_CALL(__NR_getpid);
    while (module->region) {
        uint64_t seen = atomic_load(&headroom_process);
        if (seen && seen >> 32 == module->pid) {
            module->process = (uint32_t)seen - 1;
            return;
        }
        uint32_t number = atomic_fetch_add(&module->region->next_process, 1);
        uint64_t mine = (uint64_t)module->pid << 32 | (number + 1);
        atomic_compare_exchange_strong(&headroom_process, &seen, mine);
    }
}

static uint64_t now_ns(void)
{
    uint64_t time[2] = {0};
    RUNTIME_CALL(__NR_clock_gettime, REALTIME, time);
    return time[0] * 1000000000u + time[1];
}

struct instrumented_module *runtime_describe(struct runtime_module *module)
{
    struct instrumented_module *out =
        module->region ? (struct instrumented_module *)runtime_piece(module, sizeof *out, 0) : NULL;
    if (!out)
        return NULL;
    out->map = module->map;
    out->map_bytes = module->map_bytes;
    out->counters = module->counters;
    out->counters_bytes = module->counters_bytes;
    out->bias = module->bias;
    out->parent_process = module->parent;
    out->start_ns = now_ns();
    find_path(out, module->map);
    return out;
}

/* A page that forked children find empty. */
static void notice_forks(struct runtime_module *module)
{
    _Atomic uint64_t *page = runtime_map(INSTRUMENTED_PAGE);
    if (!page)
        return;
    if (RUNTIME_CALL(__NR_madvise, page, INSTRUMENTED_PAGE, WIPE_ON_FORK) != 0) {
        RUNTIME_CALL(__NR_munmap, page, INSTRUMENTED_PAGE);
        return;
    }
    atomic_store(page, 1);
    module->same = page;
}

static void discard(struct runtime_module *module)
{
    if (module->region)
        RUNTIME_CALL(__NR_munmap, module->region, INSTRUMENTED_PAGE);
    if (module->same)
        RUNTIME_CALL(__NR_munmap, module->same, INSTRUMENTED_PAGE);
    RUNTIME_CALL(__NR_munmap, module, sizeof *module);
}

/* Where memory was refused; those who come here at once write the same. */
static struct runtime_module *without_memory(void)
{
    static struct runtime_module spare;
    char path[sizeof spare.region_path];
    struct instrumented_region *region = find_region(path);
    if (region) {
        atomic_store(&region->refused, 1);
        RUNTIME_CALL(__NR_munmap, region, INSTRUMENTED_PAGE);
    }
    spare.parent = UINT32_MAX;
    atomic_store(&spare.exhausted, true);
    return &spare;
}

/* The first one wins. */
static struct runtime_module *announce(struct runtime_module *module)
{
    struct runtime_module *other = NULL;
    headroom_own_bytes = (uint64_t)(own_stop - own_start);
    headroom_own = (uint64_t)own_start;
    if (!atomic_compare_exchange_strong(&the_module, &other, module))
        return other;
    headroom_alone = !module->region;
    return module;
}

struct runtime_module *runtime_module_begin(void)
{
    struct runtime_module *module = runtime_module_get();
    if (module)
        return module;
    module = runtime_map(sizeof *module);
    if (!module)
        return announce(without_memory());
    module->parent = UINT32_MAX;
    module->map = (uint64_t)map_start;
    module->map_bytes = (uint64_t)(map_stop - map_start);
    module->counters = (uint64_t)counters_start;
    module->counters_bytes = (uint64_t)(counters_stop - counters_start);
    read_image(module);
    module->region = find_region(module->region_path);
    if (module->region)
        notice_forks(module);
    runtime_take_number(module);
    runtime_contexts_begin(module);
    struct instrumented_module *described = runtime_describe(module);
    struct instrumented_overhead *overhead = runtime_cycles_begin(module);
    struct runtime_module *first = announce(module);
    if (first != module) {
        discard(module); /* what it took of the region was not published */
        return first;
    }
    if (described)
        runtime_publish(&described->piece, INSTRUMENTED_PIECE_MODULE);
    if (overhead)
        runtime_publish(&overhead->piece, INSTRUMENTED_PIECE_OVERHEAD);
    return module;
}

/* ---- registration ---------------------------------------------------------------------------- */

typedef void handler(void);
extern int __register_atfork(handler *, handler *, handler *, void *) __attribute__((weak));
extern int pthread_atfork(handler *, handler *, handler *) __attribute__((weak));
extern void *__dso_handle __attribute__((weak, visibility("hidden")));

/*
 * Registering takes a lock of the C library, so not where a signal
 * handler may be. And what needs system calls is done now if it can be, before a sandbox.
 */
__attribute__((constructor)) static void load(void)
{
    runtime_module_begin();
    if (__register_atfork && &__dso_handle)
        __register_atfork(NULL, NULL, runtime_after_fork, __dso_handle);
    else if (pthread_atfork)
        pthread_atfork(NULL, NULL, runtime_after_fork);
}

/* The last of the module's destructors: the others may be instrumented. */
__attribute__((destructor(101))) static void unload(void)
{
    struct runtime_module *module = runtime_module_get();
    if (module && !module->is_program)
        runtime_contexts_end(module);
}
