// SPDX-License-Identifier: MIT
#include "machine/counting.h"

#include "machine/events.h"
#include "machine/internal.h"

#include <errno.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- one event ------------------------------------------------------------------------------- */

static void fill_attributes(const struct machine_counter *counter,
                            struct perf_event_attr *attributes)
{
    *attributes = (struct perf_event_attr){
        .size = sizeof *attributes,
        .type = counter->type,
        .config = counter->config,
        .config1 = counter->config1,
        .config2 = counter->config2,
        .exclude_user = counter->no_user,
        .exclude_kernel = counter->no_kernel,
        .exclude_hv = counter->hardware,
        .disabled = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
}

static void try_counter(struct machine_counter *counter)
{
    struct perf_event_attr attributes;
    fill_attributes(counter, &attributes);
    counter->refused = machine_event_try(&attributes);
}

/* False: libpfm4 does not know it. */
static bool encode(const char *name, struct machine_counter *counter)
{
    struct perf_event_attr attributes;
    if (machine_event_encode(name, PFM_PLM3, &attributes) != PFM_SUCCESS)
        return false;
    counter->type = attributes.type;
    counter->config = attributes.config;
    counter->config1 = attributes.config1;
    counter->config2 = attributes.config2;
    counter->hardware = attributes.type != PERF_TYPE_SOFTWARE;
    return true;
}

/* libpfm4 is initialized. */
static size_t find_named(const char *name, struct machine_counter counters[2])
{
    size_t bytes = strlen(name);
    char plain[MACHINE_COUNTER_NAME - 2];
    bool user = bytes > 2 && strcmp(name + bytes - 2, ":u") == 0;
    bool kernel = bytes > 2 && strcmp(name + bytes - 2, ":k") == 0;
    snprintf(plain, sizeof plain, "%.*s", (int)(user || kernel ? bytes - 2 : bytes), name);
    struct machine_counter made = {.refused = ENOENT};
    snprintf(made.name, sizeof made.name, "%s", plain);
    if (!encode(plain, &made)) {
        made.unknown = true;
        counters[0] = made;
        return 1;
    }
    if (!made.hardware) {
        try_counter(&made);
        counters[0] = made;
        return 1;
    }
    size_t count = 0;
    for (int in_kernel = 0; in_kernel < 2; in_kernel++) {
        if (in_kernel ? user : kernel)
            continue;
        struct machine_counter *counter = &counters[count++];
        *counter = made;
        counter->no_user = in_kernel;
        counter->no_kernel = !in_kernel;
        snprintf(counter->name, sizeof counter->name, "%s:%c", plain, in_kernel ? 'k' : 'u');
        try_counter(counter);
    }
    return count;
}

size_t machine_counters_named(const char *name, struct machine_counter counters[2])
{
    if (pfm_initialize() != PFM_SUCCESS) {
        counters[0] = (struct machine_counter){.unknown = true, .refused = ENOENT};
        snprintf(counters[0].name, sizeof counters[0].name, "%s", name);
        return 1;
    }
    size_t count = find_named(name, counters);
    pfm_terminate();
    return count;
}

/* ---- those that there are -------------------------------------------------------------------- */

static const char *const usual[] = {
    "perf::TASK-CLOCK",    "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS", "perf::MINOR-FAULTS",
    "perf::MAJOR-FAULTS",  "perf::CYCLES",           "perf::INSTRUCTIONS",   "perf::BRANCHES",
    "perf::BRANCH-MISSES", "perf::CACHE-REFERENCES", "perf::CACHE-MISSES",
};

size_t machine_counters_usual(struct machine_counter *counters, size_t most)
{
    size_t count = 0;
    if (pfm_initialize() != PFM_SUCCESS)
        return 0;
    for (size_t i = 0; i < BASE_COUNT(usual) && count + 2 <= most; i++)
        count += find_named(usual[i], counters + count);
    pfm_terminate();
    return count;
}

struct taking {
    void (*take)(void *context, const char *unit, const struct machine_counter *counter);
    void *context;
    const char *unit;
};

/* False: it cannot be encoded like that. */
static bool take_event(const struct taking *taking, const char *name)
{
    struct machine_counter counters[2];
    size_t count = find_named(name, counters);
    if (counters[0].unknown)
        return false;
    for (size_t i = 0; i < count; i++)
        taking->take(taking->context, taking->unit, &counters[i]);
    return true;
}

/* What an event has besides its name are kinds of it, each an event, and filters, which are none. */
static void take_kinds(const struct taking *taking, int event, const pfm_event_info_t *info)
{
    char name[MACHINE_COUNTER_NAME];
    bool any = false;
    for (int i = 0; i < info->nattrs; i++) {
        pfm_event_attr_info_t kind = {.size = sizeof kind};
        if (pfm_get_event_attr_info(event, i, PFM_OS_PERF_EVENT_EXT, &kind) != PFM_SUCCESS ||
            kind.type != PFM_ATTR_UMASK)
            continue;
        snprintf(name, sizeof name, "%s::%s:%s", taking->unit, info->name, kind.name);
        any |= take_event(taking, name);
    }
    snprintf(name, sizeof name, "%s::%s", taking->unit, info->name);
    if (!any)
        take_event(taking, name);
}

void machine_counters_all(void (*take)(void *context, const char *unit,
                                       const struct machine_counter *counter),
                          void *context)
{
    if (pfm_initialize() != PFM_SUCCESS)
        return;
    for (int unit = 0; unit < PFM_PMU_MAX; unit++) {
        pfm_pmu_info_t about = {.size = sizeof about};
        if (pfm_get_pmu_info((pfm_pmu_t)unit, &about) != PFM_SUCCESS || !about.is_present ||
            strcmp(about.name, "perf_raw") == 0)
            continue;
        const struct taking taking = {take, context, about.name};
        for (int event = about.first_event; event != -1; event = pfm_get_event_next(event)) {
            pfm_event_info_t info = {.size = sizeof info};
            if (pfm_get_event_info(event, PFM_OS_PERF_EVENT_EXT, &info) == PFM_SUCCESS)
                take_kinds(&taking, event, &info);
        }
    }
    pfm_terminate();
}

bool machine_has_counters(void)
{
    return machine_has_driver(MACHINE_EVENTS_SYSFS);
}

const char *machine_counter_refusal(const struct machine_counter *counter)
{
    int reason = counter->refused;
    if (counter->unknown)
        return "not known to libpfm4 on this machine";
    if (reason == EACCES || reason == EPERM)
        return "the kernel forbids it; as root: sysctl kernel.perf_event_paranoid=1";
    if (reason == ENOENT || reason == ENODEV || reason == EOPNOTSUPP || reason == EINVAL)
        return machine_has_counters() || !counter->hardware
                   ? "this machine has no counter for it"
                   : "the kernel has no driver for hardware counters here";
    return reason ? strerror(reason) : "can be counted";
}

/* ---- counting -------------------------------------------------------------------------------- */

void machine_counting_begin(struct machine_counting *counting,
                            const struct machine_counter *counters, size_t count, pid_t child)
{
    counting->count = count;
    for (size_t i = 0; i < count; i++) {
        struct perf_event_attr attributes;
        counting->files[i] = -1;
        if (counters[i].refused)
            continue;
        fill_attributes(&counters[i], &attributes);
        attributes.inherit = 1;
        attributes.enable_on_exec = 1;
        counting->files[i] =
            (int)syscall(SYS_perf_event_open, &attributes, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
}

static struct machine_count read_count(int file)
{
    struct {
        uint64_t value, enabled, running;
    } got;
    struct machine_count count = {0};
    if (file < 0 || read(file, &got, sizeof got) != (ssize_t)sizeof got)
        return count;
    count.known = true;
    if (got.enabled && got.running == 0)
        return count;
    count.share = got.enabled ? (double)got.running / (double)got.enabled : 1;
    count.value = count.share < 1 ? (uint64_t)((double)got.value / count.share + 0.5) : got.value;
    return count;
}

void machine_counting_end(struct machine_counting *counting, struct machine_count *counts)
{
    for (size_t i = 0; i < counting->count; i++) {
        counts[i] = read_count(counting->files[i]);
        if (counting->files[i] >= 0)
            close(counting->files[i]);
    }
    counting->count = 0;
}
