// SPDX-License-Identifier: MIT
/*
 * Samples of all threads of a program, taken from outside: the clock events of perf, which every
 * kernel has. Events that children inherit can be read from rings only if there is one for each
 * processor. They run while functions are chosen or patched only: they make switching between
 * threads more expensive.
 *
 * Rings are small: what a user may lock for them is shared with the program.
 */
#include "inject/internal.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_PAGES = 8, PAGE = 4096, PERIOD_NS = 250000 };

struct inject_sampler_cpu {
    int event;
    struct perf_event_mmap_page *page;
};

/* With PERF_SAMPLE_IDENTIFIER absent, in this order. */
struct record {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint64_t period;
    uint64_t abi, sp; /* sp only if abi is not 0 */
};

static int open_event(pid_t child, int cpu)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = PERIOD_NS,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_REGS_USER,
        .sample_regs_user = UINT64_C(1) << PERF_REG_X86_SP,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX >> 1, /* nobody waits for it */
    };
    return (int)syscall(SYS_perf_event_open, &attributes, child, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_cpu(struct inject_sampler_cpu *cpu)
{
    if (cpu->page != MAP_FAILED && cpu->page)
        munmap(cpu->page, (1 + RING_PAGES) * PAGE);
    if (cpu->event >= 0)
        close(cpu->event);
}

/* 0, or errno. */
static int open_cpu(struct inject_sampler_cpu *cpu, pid_t child, int number)
{
    *cpu = (struct inject_sampler_cpu){.event = open_event(child, number), .page = MAP_FAILED};
    if (cpu->event >= 0)
        cpu->page =
            mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, cpu->event, 0);
    if (cpu->page != MAP_FAILED)
        return 0;
    int reason = errno;
    close_cpu(cpu);
    return reason;
}

int inject_sampler_open(struct inject_sampler *sampler, pid_t child)
{
    long numbers = sysconf(_SC_NPROCESSORS_CONF);
    int reason = 0;
    *sampler = (struct inject_sampler){.running = true};
    sampler->cpus = calloc((size_t)(numbers > 0 ? numbers : 1), sizeof *sampler->cpus);
    if (!sampler->cpus)
        return ENOMEM;
    for (int i = 0; i < numbers && !reason; i++) {
        reason = open_cpu(&sampler->cpus[sampler->count], child, i);
        if (!reason)
            sampler->count++;
        else if (reason == ENODEV)
            reason = 0; /* a processor that is switched off */
    }
    if (reason || sampler->count == 0)
        inject_sampler_close(sampler);
    return reason;
}

void inject_sampler_run(struct inject_sampler *sampler, bool run)
{
    if (sampler->running == run)
        return;
    for (size_t i = 0; i < sampler->count; i++)
        ioctl(sampler->cpus[i].event, run ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    sampler->running = run;
}

static void copy_out(const struct inject_sampler_cpu *cpu, uint64_t at, void *out, size_t bytes)
{
    const uint8_t *data = (const uint8_t *)cpu->page + PAGE;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = data[(at + i) % (RING_PAGES * PAGE)];
}

/* False: the rest cannot be made sense of. */
static bool take_record(const struct inject_sampler_cpu *cpu, uint64_t at, uint64_t head,
                        size_t *bytes,
                        void (*take)(void *context, const struct inject_sample *sample),
                        void *context)
{
    struct record record = {.sp = 0};
    copy_out(cpu, at, &record.header, sizeof record.header);
    *bytes = record.header.size;
    if (*bytes < sizeof record.header || at + *bytes > head)
        return false;
    if (record.header.type != PERF_RECORD_SAMPLE || *bytes < offsetof(struct record, sp))
        return true;
    copy_out(cpu, at, &record, *bytes < sizeof record ? *bytes : sizeof record);
    struct inject_sample sample = {.pid = record.pid,
                                   .tid = record.tid,
                                   .ip = record.ip,
                                   .sp = record.abi ? record.sp : 0,
                                   .time_ns = record.time_ns,
                                   .weight_ns = record.period};
    take(context, &sample);
    return true;
}

void inject_sampler_drain(struct inject_sampler *sampler,
                          void (*take)(void *context, const struct inject_sample *sample),
                          void *context)
{
    for (size_t i = 0; i < sampler->count; i++) {
        struct inject_sampler_cpu *cpu = &sampler->cpus[i];
        uint64_t head = __atomic_load_n(&cpu->page->data_head, __ATOMIC_ACQUIRE);
        uint64_t at = cpu->page->data_tail;
        size_t bytes;
        while (at + sizeof(struct perf_event_header) <= head &&
               take_record(cpu, at, head, &bytes, take, context))
            at += bytes;
        __atomic_store_n(&cpu->page->data_tail, head, __ATOMIC_RELEASE);
    }
}

void inject_sampler_close(struct inject_sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++)
        close_cpu(&sampler->cpus[i]);
    free(sampler->cpus);
    *sampler = (struct inject_sampler){.cpus = NULL};
}
