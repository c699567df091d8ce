// SPDX-License-Identifier: MIT
/*
 * Which file does an address belong to, and where is its unwind table?
 *
 * The list only grows: entries are claimed by an atomic counter and published by
 * their state, so handlers of all threads read and extend it without locks. Two
 * threads may enter the same module twice; headroom merges modules by file.
 * Ids are never reused: a context made before dlclose stays true.
 */
#include "agent/agent.h"

#include "wire/instrumented.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum {
    NOTES_BYTES = 512,
    SEGMENTS_MAX = 128,
    TABLE_PATIENCE_NS = 400000000,
    TABLE_STEP_NS = 20000000, /* headroom wakes those that wait; and may be killed meanwhile */
};

static struct agent_module modules[AGENT_MODULES];
static _Atomic uint32_t module_count, unloads;
static _Atomic(bool) impatient; /* tables are not waited for any more */

static bool read_directly(void *context, uint64_t address, void *out, size_t bytes)
{
    (void)context;
    memcpy(out, (const void *)address, bytes);
    return true;
}

static bool read_string(uint64_t address, char *out, size_t capacity)
{
    /* Strings may end just before unreadable memory: read in small, aligned blocks. */
    size_t done = 0;
    while (done < capacity) {
        size_t step = 64 - (address + done) % 64;
        if (step > capacity - done)
            step = capacity - done;
        if (!os_read_self(NULL, address + done, out + done, step))
            return false;
        if (memchr(out + done, 0, step))
            return true;
        done += step;
    }
    return false;
}

static void identify_file(struct agent_module *module)
{
    struct stat status;
    if (module->path[0] != '/' ||
        os_syscall(__NR_newfstatat, AT_FDCWD, module->path, &status, 0) != 0)
        return;
    module->device = status.st_dev;
    module->inode = status.st_ino;
}

static void name_module(struct agent_module *module, const char *name)
{
    const char *path = name;
    if (!*name)
        path = agent.exe;
    else if (memcmp(name, "linux-vdso", 10) == 0)
        path = "[vdso]";
    size_t length = strlen(path);
    if (length >= sizeof module->path)
        length = sizeof module->path - 1;
    memcpy(module->path, path, length);
    module->path[length] = 0;
}

bool modules_has_note(uint64_t address, uint64_t bytes, modules_read *read, const char *name,
                      size_t name_bytes, uint32_t type)
{
    unsigned char notes[NOTES_BYTES];
    size_t left = bytes < sizeof notes ? bytes : sizeof notes;
    if (!read(NULL, address, notes, left))
        return false;
    for (const unsigned char *at = notes; left >= sizeof(ElfW(Nhdr));) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t whole = sizeof note + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3)) +
                       ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
        if (whole > left)
            return false;
        if (note.n_namesz == name_bytes && (!type || note.n_type == type) &&
            memcmp(at + sizeof note, name, name_bytes) == 0)
            return true;
        at += whole;
        left -= whole;
    }
    return false;
}

/* Built so that its accesses are counted? */
static bool is_built(const struct agent_module *module, const ElfW(Phdr) * segment,
                     modules_read *read)
{
    return modules_has_note(module->bias + segment->p_vaddr, segment->p_memsz, read,
                            INSTRUMENTED_NOTE_NAME, sizeof INSTRUMENTED_NOTE_NAME,
                            INSTRUMENTED_NOTE_COUNT);
}

/* ---- program headers --------------------------------------------------------------- */

static bool read_segment(const struct agent_module *module, uint32_t index, modules_read *read,
                         ElfW(Phdr) * segment)
{
    return index < module->headers_count &&
           read(NULL, module->headers + index * sizeof *segment, segment, sizeof *segment);
}

bool modules_segment(const struct agent_module *module, uint32_t index, ElfW(Phdr) * segment)
{
    return read_segment(module, index, os_read_self, segment);
}

/* Are these the module's? They are if they place the dynamic section where ld.so has it. */
static bool try_headers(struct agent_module *module, uint64_t address, uint32_t count,
                        const void *dynamic)
{
    ElfW(Phdr) segment;
    module->headers = address;
    module->headers_count = count < SEGMENTS_MAX ? count : SEGMENTS_MAX;
    for (uint32_t i = 0; modules_segment(module, i, &segment); i++)
        if (segment.p_type == PT_DYNAMIC && module->bias + segment.p_vaddr == (uint64_t)dynamic)
            return true;
    module->headers = 0;
    module->headers_count = 0;
    return false;
}

static bool try_file(struct agent_module *module, uint64_t start, const void *dynamic)
{
    ElfW(Ehdr) header;
    return os_read_self(NULL, start, &header, sizeof header) &&
           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_phentsize == sizeof(ElfW(Phdr)) &&
           try_headers(module, start + header.e_phoff, header.e_phnum, dynamic);
}

/*
 * The kernel says where the program's are. A library's file is mapped from its address 0 on as a
 * rule. What _dl_find_object calls the start need not be that of the file: of a program whose LOAD
 * segments have a gap it is that of the segment with the code.
 */
static void find_headers(struct agent_module *module, const void *dynamic)
{
    if (!try_headers(module, getauxval(AT_PHDR), (uint32_t)getauxval(AT_PHNUM), dynamic) &&
        !try_file(module, module->bias, dynamic))
        try_file(module, module->start, dynamic);
}

/* A copy of ld.so's own would not be there for ever. */
static bool take_headers(struct agent_module *module, const struct dl_phdr_info *listed)
{
    uint64_t headers = (uint64_t)listed->dlpi_phdr;
    bool mapped = listed->dlpi_phnum <= SEGMENTS_MAX && headers >= module->start &&
                  headers < module->end &&
                  module->end - headers >= listed->dlpi_phnum * sizeof *listed->dlpi_phdr;
    if (mapped) {
        module->headers = headers;
        module->headers_count = listed->dlpi_phnum;
    }
    return mapped;
}

static bool is_loaded(const struct agent_module *module, const ElfW(Phdr) * part,
                      modules_read *read)
{
    ElfW(Phdr) segment;
    for (uint32_t i = 0; read_segment(module, i, read, &segment); i++)
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_R &&
            part->p_vaddr >= segment.p_vaddr &&
            part->p_vaddr - segment.p_vaddr <= segment.p_filesz &&
            part->p_memsz <= segment.p_filesz - (part->p_vaddr - segment.p_vaddr))
            return true;
    return false;
}

static void find_text(struct agent_module *module, modules_read *read)
{
    ElfW(Phdr) segment;
    for (uint32_t i = 0; read_segment(module, i, read, &segment); i++) {
        if (segment.p_type == PT_NOTE && is_loaded(module, &segment, read))
            module->counts |= is_built(module, &segment, read);
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || !(segment.p_flags & PF_R) ||
            segment.p_filesz < module->text_end - module->text_start)
            continue;
        module->text_start = module->bias + segment.p_vaddr;
        module->text_end = module->text_start + segment.p_filesz;
    }
}

/* listed: what dl_iterate_phdr says of it at this moment, or NULL. */
static struct agent_module *add_module(const struct dl_find_object *found,
                                       const struct link_map *map, const char *name,
                                       const struct dl_phdr_info *listed)
{
    uint32_t index = atomic_fetch_add(&module_count, 1);
    if (index >= AGENT_MODULES) {
        atomic_store(&module_count, AGENT_MODULES);
        return NULL;
    }
    struct agent_module *module = &modules[index];
    module->id = index + 1;
    module->start = (uint64_t)found->dlfo_map_start;
    module->end = (uint64_t)found->dlfo_map_end;
    module->bias = map->l_addr;
    module->link_map = found->dlfo_link_map;
    name_module(module, name);
    identify_file(module);
    if (!listed || !take_headers(module, listed))
        find_headers(module, map->l_ld);
    find_text(module, listed ? read_directly : os_read_self);
    module->table_slot = wire_table_name(agent.region, module->path, module->device, module->inode);
    atomic_store_explicit(&module->state, AGENT_MODULE_LIVE, memory_order_release);
    return module;
}

static uint32_t known_modules(void)
{
    uint32_t count = atomic_load_explicit(&module_count, memory_order_acquire);
    return count < AGENT_MODULES ? count : AGENT_MODULES;
}

static struct agent_module *find_known(uint64_t ip)
{
    for (uint32_t i = 0; i < known_modules(); i++) {
        struct agent_module *module = &modules[i];
        /* The state first: it says that the rest has been written. */
        if (atomic_load_explicit(&module->state, memory_order_acquire) == AGENT_MODULE_LIVE &&
            ip >= module->start && ip < module->end)
            return module;
    }
    return NULL;
}

/* _dl_find_object takes no lock and may be called from handlers (glibc >= 2.35). */
struct agent_module *modules_find(uint64_t ip)
{
    struct agent_module *module = find_known(ip);
    if (module)
        return module;
    struct dl_find_object found;
    struct link_map map;
    char name[WIRE_PATH_BYTES];
    if (_dl_find_object((void *)ip, &found) != 0 ||
        !os_read_self(NULL, (uint64_t)found.dlfo_link_map, &map, sizeof map) ||
        !read_string((uint64_t)map.l_name, name, sizeof name))
        return NULL;
    return add_module(&found, &map, name, NULL);
}

struct agent_module *modules_find_text(uint64_t ip)
{
    struct agent_module *module = modules_find(ip);
    return module && ip >= module->text_start && ip < module->text_end ? module : NULL;
}

static void register_listed(const struct dl_phdr_info *info, uint64_t code)
{
    struct dl_find_object found;
    if (find_known(code) || _dl_find_object((void *)code, &found) != 0)
        return;
    const struct link_map *map = found.dlfo_link_map;
    if (strlen(map->l_name) < WIRE_PATH_BYTES)
        add_module(&found, map, map->l_name, info);
}

static int scan_one(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            register_listed(info, info->dlpi_addr + segment->p_vaddr);
            break;
        }
    }
    return 0;
}

void modules_scan(void)
{
    dl_iterate_phdr(scan_one, NULL);
}

void modules_revalidate(void)
{
    for (uint32_t i = 0; i < known_modules(); i++) {
        struct agent_module *module = &modules[i];
        struct dl_find_object found;
        if (atomic_load(&module->state) != AGENT_MODULE_LIVE)
            continue;
        if (_dl_find_object((void *)module->start, &found) != 0 ||
            found.dlfo_link_map != module->link_map) {
            atomic_store(&module->state, AGENT_MODULE_GONE);
            atomic_fetch_add(&unloads, 1);
        }
    }
}

struct agent_module *modules_get(uint32_t index)
{
    return index < known_modules() ? &modules[index] : NULL;
}

uint32_t modules_unloads(void)
{
    return atomic_load_explicit(&unloads, memory_order_relaxed);
}

/* ---- unwind tables ----------------------------------------------------------------- */

static void ask_for_table(uint32_t slot)
{
    if (!wire_table_need(agent.region, slot))
        return;
    atomic_fetch_add_explicit(&agent.region->doorbell, 1, memory_order_release);
    os_futex_wake(&agent.region->doorbell);
}

/*
 * headroom makes a table when the first walk gets to its module, and the walk waits for it: most
 * modules of a program are in no calling context that is sampled, and to make a table for each of
 * them takes longer than a short program runs. A table that takes too long is waited for once; from
 * then on walks go without until tables are there, as incomplete contexts that are counted.
 */
static void await_table(uint32_t slot)
{
    const struct wire_table_slot *table = &agent.region->tables[slot];
    uint32_t state = atomic_load_explicit(&table->state, memory_order_acquire);
    if (state >= WIRE_TABLE_READY)
        return;
    ask_for_table(slot);
    uint64_t deadline = os_now_ns(CLOCK_MONOTONIC) + TABLE_PATIENCE_NS;
    while ((state = atomic_load_explicit(&table->state, memory_order_acquire)) < WIRE_TABLE_READY) {
        struct timespec pause = {.tv_nsec = TABLE_STEP_NS};
        if (atomic_load(&impatient) || atomic_load(&agent.region->stopping))
            return;
        if (os_now_ns(CLOCK_MONOTONIC) > deadline || !agent_headroom_lives())
            atomic_store(&impatient, true);
        else
            os_syscall(__NR_futex, &table->state, FUTEX_WAIT, state, &pause, NULL, 0);
    }
}

static void map_table(struct agent_module *module)
{
    if (module->table_slot == WIRE_NONE)
        return;
    await_table(module->table_slot);
    struct wire_table_slot *slot = &agent.region->tables[module->table_slot];
    uint32_t expected = AGENT_TABLE_NONE;
    if (atomic_load_explicit(&slot->state, memory_order_acquire) != WIRE_TABLE_READY ||
        !atomic_compare_exchange_strong(&module->table_state, &expected, AGENT_TABLE_MAPPING))
        return;
    size_t bytes = slot->bytes;
    void *memory = agent_map_from_headroom(slot->descriptor, 0, bytes, PROT_READ);
    if (!memory) { /* e.g. no descriptor free now: try again at the next need */
        atomic_store(&module->table_state, AGENT_TABLE_NONE);
        return;
    }
    if (unwind_table_open(memory, bytes, false, &module->table) != BASE_OK) {
        os_unmap(memory, bytes);
        module->table_slot = WIRE_NONE;
        atomic_store(&module->table_state, AGENT_TABLE_NONE);
        return;
    }
    atomic_store_explicit(&module->table_state, AGENT_TABLE_MAPPED, memory_order_release);
}

static bool is_being_mapped(const struct agent_module *module)
{
    return atomic_load_explicit(&module->table_state, memory_order_acquire) == AGENT_TABLE_MAPPING;
}

/* Another thread maps it at this moment: it is there in some microseconds. Asked for each frame of each walk: reads no clock for nothing. */
static void await_mapping(const struct agent_module *module)
{
    if (!is_being_mapped(module))
        return;
    uint64_t deadline = os_now_ns(CLOCK_MONOTONIC) + TABLE_PATIENCE_NS;
    while (is_being_mapped(module) && os_now_ns(CLOCK_MONOTONIC) < deadline)
        os_syscall(__NR_sched_yield);
}

void modules_after_fork(void)
{
    for (uint32_t i = 0; i < known_modules(); i++) {
        uint32_t mapping = AGENT_TABLE_MAPPING; /* by a thread that is not here */
        atomic_compare_exchange_strong(&modules[i].table_state, &mapping, AGENT_TABLE_NONE);
    }
}

static const struct unwind_table *table_of(struct agent_module *module)
{
    if (atomic_load_explicit(&module->table_state, memory_order_acquire) == AGENT_TABLE_NONE)
        map_table(module);
    await_mapping(module);
    return atomic_load_explicit(&module->table_state, memory_order_acquire) == AGENT_TABLE_MAPPED
               ? &module->table
               : NULL;
}

bool modules_find_for_unwind(void *context, uint64_t ip, struct unwind_module *found)
{
    (void)context;
    struct agent_module *module = modules_find(ip);
    if (!module)
        return false;
    *found =
        (struct unwind_module){.table = table_of(module), .bias = module->bias, .id = module->id};
    return true;
}

void modules_function(uint64_t ip, uint64_t *start, uint64_t *end)
{
    struct agent_module *module = modules_find(ip);
    const struct unwind_table *table = module ? table_of(module) : NULL;
    uint64_t next = 0, vaddr = table ? unwind_table_function(table, ip - module->bias, &next) : 0;
    *start = vaddr ? vaddr + module->bias : 0;
    *end = next ? next + module->bias : 0;
}

uint64_t modules_function_start(uint64_t ip)
{
    uint64_t start, end;
    modules_function(ip, &start, &end);
    return start;
}

void modules_wait(void)
{
    for (uint32_t i = 0; i < known_modules(); i++)
        if (modules[i].table_slot != WIRE_NONE)
            ask_for_table(modules[i].table_slot);
    for (uint32_t i = 0; i < known_modules(); i++)
        table_of(&modules[i]);
}
