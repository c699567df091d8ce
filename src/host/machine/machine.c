// SPDX-License-Identifier: MIT
/*
 * Caches from sysfs. Built for machines with hundreds of CPUs: of each only the few files of its
 * caches are read, CPUs that share a second-level cache are taken for alike.
 * What cannot be understood is left out; no file is believed to be there.
 */
#include "machine/machine.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CPUS_MAX = 4096,  /* the kernel's own limit is 8192; alike from there on      */
    INDICES_MAX = 10, /* of one CPU: kernels list four to six                     */
    CACHES_MAX = 16,
    LEVEL_MAX = 9,
    TEXT_BYTES = 4096, /* shared_cpu_list may be long                              */
};

#define BYTES_MAX (UINT64_C(1) << 40)

/* What one CPU has, and who has the same second level. */
struct cpu {
    struct machine_cache caches[CACHES_MAX];
    size_t count;
    uint64_t first_bytes, last_bytes; /* first-level data, last level */
    char alike[TEXT_BYTES];           /* list of CPUs                  */
};

/* ---- texts ------------------------------------------------------------------------------- */

static bool read_text(const char *root, unsigned cpu, unsigned index, const char *name, char *text)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%u/%s",
                          root, cpu, index, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : read(file, text, TEXT_BYTES - 1);
    if (file >= 0)
        close(file);
    if (got <= 0)
        return false;
    text[got] = 0;
    text[strcspn(text, "\n")] = 0;
    return true;
}

/* A number with an optional K, M or G, and nothing after it. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    static const char suffixes[] = "KMG";
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    end += suffix != NULL;
    if (*end || number > BYTES_MAX >> shift)
        return false;
    *bytes = (uint64_t)number << shift;
    return true;
}

static uint32_t read_number(const char *root, unsigned cpu, unsigned index, const char *name,
                            uint32_t most)
{
    char text[TEXT_BYTES];
    uint64_t number;
    if (!read_text(root, cpu, index, name, text) || !parse_bytes(text, &number) || number > most)
        return 0;
    return (uint32_t)number;
}

/* The next range of a list like "0-3,8,10-11"; false at its end or where it makes no sense. */
static bool next_range(const char **list, unsigned long *from, unsigned long *to)
{
    char *end;
    if (!isdigit((unsigned char)**list))
        return false;
    *from = *to = strtoul(*list, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *to = strtoul(end + 1, &end, 10);
    *list = end + (*end == ',');
    return *from <= *to && *to < 1UL << 20;
}

static uint32_t count_list(const char *list)
{
    unsigned long from, to, count = 0;
    while (next_range(&list, &from, &to) && count < 1UL << 20)
        count += to - from + 1;
    return count ? (uint32_t)count : 1;
}

static void mark_list(const char *list, bool *seen)
{
    unsigned long from, to;
    while (next_range(&list, &from, &to))
        for (unsigned long cpu = from; cpu <= to && cpu < CPUS_MAX; cpu++)
            seen[cpu] = true;
}

/* ---- one CPU ----------------------------------------------------------------------------- */

static void insert(struct machine_cache *caches, size_t *count, size_t most,
                   const struct machine_cache *cache)
{
    size_t at = *count;
    while (at > 0 &&
           (caches[at - 1].bytes > cache->bytes ||
            (caches[at - 1].bytes == cache->bytes && caches[at - 1].level > cache->level)))
        at--;
    if (at >= most)
        return;
    if (*count == most)
        (*count)--;
    memmove(caches + at + 1, caches + at, (*count - at) * sizeof *caches);
    caches[at] = *cache;
    (*count)++;
}

static void read_index(const char *root, unsigned number, unsigned index, struct cpu *cpu)
{
    char type[TEXT_BYTES], size[TEXT_BYTES], list[TEXT_BYTES];
    struct machine_cache cache = {0};
    if (!read_text(root, number, index, "type", type) ||
        (strcmp(type, "Data") != 0 && strcmp(type, "Unified") != 0) ||
        !read_text(root, number, index, "size", size) || !parse_bytes(size, &cache.bytes))
        return;
    cache.level = read_number(root, number, index, "level", LEVEL_MAX);
    if (cache.level == 0 || cache.bytes == 0)
        return;
    cache.ways = read_number(root, number, index, "ways_of_associativity", 1U << 20);
    cache.line_bytes = read_number(root, number, index, "coherency_line_size", 1U << 16);
    bool listed = read_text(root, number, index, "shared_cpu_list", list);
    cache.sharers = listed ? count_list(list) : 1;
    if (cache.level == 1 && cache.bytes > cpu->first_bytes)
        cpu->first_bytes = cache.bytes;
    if (cache.level == 2 && listed)
        memcpy(cpu->alike, list, sizeof list);
    if (cache.bytes > cpu->last_bytes)
        cpu->last_bytes = cache.bytes;
    insert(cpu->caches, &cpu->count, CACHES_MAX, &cache);
}

/* Indices may have holes where a hypervisor hides some. */
static void read_cpu(const char *root, unsigned number, struct cpu *cpu)
{
    cpu->count = 0;
    cpu->first_bytes = cpu->last_bytes = 0;
    cpu->alike[0] = 0;
    for (unsigned index = 0; index < INDICES_MAX; index++)
        read_index(root, number, index, cpu);
}

static bool is_better(const struct cpu *cpu, const struct cpu *best)
{
    if (cpu->count == 0 || best->count == 0)
        return cpu->count > 0;
    if (cpu->first_bytes != best->first_bytes)
        return cpu->first_bytes > best->first_bytes;
    return cpu->last_bytes > best->last_bytes;
}

/* Offline CPUs leave holes in the numbers, and have no caches. */
static unsigned count_cpus(const char *root)
{
    char path[4096], text[TEXT_BYTES];
    unsigned long from, to, greatest = 0;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/present", root);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    for (const char *list = text; next_range(&list, &from, &to);)
        greatest = to > greatest ? to : greatest;
    return greatest < CPUS_MAX ? (unsigned)greatest + 1 : CPUS_MAX;
}

/* ---- machine ----------------------------------------------------------------------------- */

size_t machine_caches_by_cpuid(struct machine_cache *caches, size_t most)
{
    static const struct {
        int bytes, ways, line;
    } names[] = {
        {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL1_DCACHE_LINESIZE},
        {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE},
        {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE},
        {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL4_CACHE_ASSOC, _SC_LEVEL4_CACHE_LINESIZE},
    };
    size_t count = 0;
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        long bytes = sysconf(names[i].bytes);
        long ways = sysconf(names[i].ways), line = sysconf(names[i].line);
        struct machine_cache cache = {.level = (uint32_t)i + 1,
                                      .ways = ways > 0 ? (uint32_t)ways : 0,
                                      .line_bytes = line > 0 ? (uint32_t)line : 0,
                                      .sharers = 1,
                                      .bytes = bytes > 0 ? (uint64_t)bytes : 0};
        if (cache.bytes)
            insert(caches, &count, most, &cache);
    }
    return count;
}

size_t machine_caches(const char *root, struct machine_cache *caches, size_t most)
{
    size_t count = 0;
    bool *seen = calloc(CPUS_MAX, sizeof *seen);
    struct cpu *cpus = calloc(2, sizeof *cpus);
    struct cpu *best = cpus, *other = cpus + 1;
    unsigned numbers = seen && cpus ? count_cpus(root) : 0;
    for (unsigned number = 0; number < numbers; number++) {
        if (seen[number])
            continue;
        read_cpu(root, number, other);
        mark_list(other->alike, seen);
        if (is_better(other, best)) {
            struct cpu *swapped = best;
            best = other;
            other = swapped;
        }
    }
    for (size_t i = 0; numbers && i < best->count; i++)
        insert(caches, &count, most, &best->caches[i]);
    free(cpus);
    free(seen);
    return count || *root ? count : machine_caches_by_cpuid(caches, most);
}
