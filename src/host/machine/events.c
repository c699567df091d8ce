// SPDX-License-Identifier: MIT
/*
 * Names of events come from libpfm4: they changed with the generations of
 * processors, their numbers are its business. AMD has no such events but instruction-based
 * sampling, a device of its own in sysfs.
 */
#include "machine/events.h"

#include "machine/internal.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newest first: newer models know the older names as aliases. */
static const struct {
    const char *store, *load;
} candidates[] = {
    {"MEM_INST_RETIRED:ALL_STORES", "MEM_INST_RETIRED:ALL_LOADS"}, /* Skylake and later  */
    {"MEM_UOPS_RETIRED:ALL_STORES", "MEM_UOPS_RETIRED:ALL_LOADS"}, /* Sandy Bridge to Broadwell */
};

/* Bits of IA32_PERFEVTSELx that perf fills in itself: user, kernel, interrupt, enable. */
#define PERF_OWN_BITS (UINT64_C(3) << 16 | UINT64_C(1) << 20 | UINT64_C(1) << 22)

/* Count executed operations, not cycles (IbsOpCntCtl): every access has the same chance. */
#define IBS_COUNT_OPERATIONS (UINT64_C(1) << 19)

static bool encode(const char *model, const char *name, uint64_t *config)
{
    char full[128];
    pfm_pmu_encode_arg_t argument = {.size = sizeof argument};
    snprintf(full, sizeof full, "%s%s%s", model ? model : "", model ? "::" : "", name);
    bool good = pfm_get_os_event_encoding(full, PFM_PLM3, PFM_OS_NONE, &argument) == PFM_SUCCESS &&
                argument.count >= 1;
    if (good)
        *config = argument.codes[0] & ~PERF_OWN_BITS;
    free(argument.codes);
    return good;
}

static enum base_status find_by_name(const char *model, struct machine_events *events)
{
    struct machine_events found = {.type = PERF_TYPE_RAW};
    if (pfm_initialize() != PFM_SUCCESS)
        return BASE_UNSUPPORTED;
    enum base_status status = BASE_UNSUPPORTED;
    for (size_t i = 0; i < BASE_COUNT(candidates) && status != BASE_OK; i++)
        if (encode(model, candidates[i].store, &found.store_event) &&
            encode(model, candidates[i].load, &found.load_event))
            status = BASE_OK;
    pfm_terminate();
    if (status == BASE_OK)
        *events = found;
    return status;
}

enum base_status machine_events_of_model(const char *model, struct machine_events *events)
{
    return find_by_name(model, events);
}

static bool has_device(const char *sysfs, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/type", sysfs, name);
    return access(path, R_OK) == 0;
}

bool machine_has_driver(const char *sysfs)
{
    return has_device(sysfs, "cpu") || has_device(sysfs, "cpu_core");
}

static enum base_status find_ibs(const char *sysfs, struct machine_events *events)
{
    char path[512];
    unsigned type;
    snprintf(path, sizeof path, "%s/ibs_op/type", sysfs);
    FILE *file = fopen(path, "re");
    if (!file)
        return BASE_UNSUPPORTED;
    bool good = fscanf(file, "%u", &type) == 1;
    fclose(file);
    if (!good)
        return BASE_UNSUPPORTED;
    *events = (struct machine_events){.type = type,
                                      .store_event = IBS_COUNT_OPERATIONS,
                                      .load_event = IBS_COUNT_OPERATIONS,
                                      .filter = true};
    return BASE_OK;
}

enum base_status machine_events_find(const char *sysfs, struct machine_events *events)
{
    enum base_status status = find_ibs(sysfs, events);
    /* libpfm4 knows the processor even where a hypervisor hides its counters. */
    if (status != BASE_OK && machine_has_driver(sysfs))
        status = find_by_name(NULL, events);
    return status;
}

/* ---- by name --------------------------------------------------------------------------------- */

int machine_event_encode(const char *name, int levels, struct perf_event_attr *attributes)
{
    pfm_perf_encode_arg_t argument = {.attr = attributes, .size = sizeof argument};
    memset(attributes, 0, sizeof *attributes);
    attributes->size = sizeof *attributes;
    return pfm_get_os_event_encoding(name, levels, PFM_OS_PERF_EVENT_EXT, &argument);
}

int machine_event_try(struct perf_event_attr *attributes)
{
    long file = syscall(SYS_perf_event_open, attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0)
        return errno;
    close((int)file);
    return 0;
}

/* The kernel's own events happen in the kernel, but for page faults; not everybody may see them
 * there. */
static int choose_levels(const char *name, struct perf_event_attr *attributes)
{
    if (attributes->type == PERF_TYPE_SOFTWARE &&
        machine_event_encode(name, PFM_PLM3 | PFM_PLM0, attributes) == PFM_SUCCESS &&
        machine_event_try(attributes) == 0)
        return 0;
    machine_event_encode(name, PFM_PLM3, attributes);
    return machine_event_try(attributes);
}

bool machine_event_named(const char *name, struct instrumented_event *event, char *reason,
                         size_t bytes)
{
    struct perf_event_attr attributes;
    int known = pfm_initialize();
    if (known == PFM_SUCCESS)
        known = machine_event_encode(name, PFM_PLM3, &attributes);
    int refused = known == PFM_SUCCESS ? choose_levels(name, &attributes) : 0;
    pfm_terminate();
    if (known != PFM_SUCCESS)
        snprintf(reason, bytes, "libpfm4 knows no such event of this machine: %s",
                 pfm_strerror(known));
    else if (refused == ENOENT || refused == ENODEV || refused == EOPNOTSUPP)
        snprintf(reason, bytes, "this machine has no counter for it");
    else if (refused)
        snprintf(reason, bytes, "the kernel refuses it: %s", strerror(refused));
    *event = (struct instrumented_event){
        .type = attributes.type,
        .exclude = (attributes.exclude_user ? INSTRUMENTED_EVENT_NO_USER : 0u) |
                   (attributes.exclude_kernel ? INSTRUMENTED_EVENT_NO_KERNEL : 0u) |
                   (attributes.exclude_hv ? INSTRUMENTED_EVENT_NO_HYPERVISOR : 0u),
        .config = attributes.config,
        .config1 = attributes.config1,
        .config2 = attributes.config2,
    };
    return known == PFM_SUCCESS && !refused;
}
