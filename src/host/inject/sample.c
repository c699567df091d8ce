// SPDX-License-Identifier: MIT
/*
 * Samples of all threads of a program, taken from outside: the clock events of perf, which every
 * kernel has. Events that children inherit can be read from rings only if there is one for each
 * processor. They make switching between threads more expensive: while functions are chosen or
 * patched they run only as long as that takes.
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

enum { RING_PAGES = 16, PAGE = 4096, RECORD_BYTES = 8192 };

struct inject_sampler_cpu {
    int event;
    struct perf_event_mmap_page *page;
    /* while it is drained: from the tail to the head that was seen */
    uint64_t at, head;
    uint64_t time_ns; /* of the record at `at`; UINT64_MAX: there is none */
    uint32_t bytes;   /* of that record */
};

/* With PERF_SAMPLE_IDENTIFIER absent, in this order. */
struct record {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint64_t period;
    uint64_t abi,
        registers[BASE_GENERAL_REGISTERS]; /* the latter only if abi is not 0; in perf's order */
    /* if it was asked for: bytes, that many of them, and if there are any, how many of these are known */
    uint64_t stack_bytes, stack[INJECT_STACK_WORDS], stack_known;
};

/* Where the kernel puts enum base_register. */
static const uint8_t place_of[BASE_GENERAL_REGISTERS] = {
    [BASE_RAX] = 0,  [BASE_RBX] = 1,  [BASE_RCX] = 2,  [BASE_RDX] = 3,
    [BASE_RSI] = 4,  [BASE_RDI] = 5,  [BASE_RBP] = 6,  [BASE_RSP] = 7,
    [BASE_R8] = 8,   [BASE_R9] = 9,   [BASE_R10] = 10, [BASE_R11] = 11,
    [BASE_R12] = 12, [BASE_R13] = 13, [BASE_R14] = 14, [BASE_R15] = 15,
};

#define BIT(number) (UINT64_C(1) << (number))
#define GENERAL_REGISTERS                                                                          \
    ((BIT(PERF_REG_X86_SP + 1) - BIT(PERF_REG_X86_AX)) |                                           \
     (BIT(PERF_REG_X86_R15 + 1) - BIT(PERF_REG_X86_R8)))

/* Records besides samples end in this: the members of sample_type that sample_id_all keeps. */
struct trailer {
    uint32_t pid, tid;
    uint64_t time_ns;
};

static int open_event(pid_t child, int cpu, uint64_t period_ns, bool maps, bool stack)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = period_ns,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                       PERF_SAMPLE_REGS_USER | (stack ? PERF_SAMPLE_STACK_USER : 0),
        .sample_regs_user = GENERAL_REGISTERS,
        .sample_stack_user = stack ? 8 * INJECT_STACK_WORDS : 0,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX >> 1, /* nobody waits for it */
        .sample_id_all = 1,
        .mmap = maps,
        .comm = maps,
        .comm_exec = maps,
        .task = maps,
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
static int open_cpu(struct inject_sampler_cpu *cpu, pid_t child, int number, uint64_t period_ns,
                    bool maps, bool stack)
{
    *cpu = (struct inject_sampler_cpu){.event = open_event(child, number, period_ns, maps, stack),
                                       .page = MAP_FAILED};
    if (cpu->event >= 0)
        cpu->page =
            mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, cpu->event, 0);
    if (cpu->page != MAP_FAILED)
        return 0;
    int reason = errno;
    close_cpu(cpu);
    return reason;
}

int inject_sampler_open(struct inject_sampler *sampler, pid_t child, uint64_t period_ns, bool maps,
                        bool stack)
{
    long numbers = sysconf(_SC_NPROCESSORS_CONF);
    int reason = 0;
    *sampler = (struct inject_sampler){.running = true};
    sampler->cpus = calloc((size_t)(numbers > 0 ? numbers : 1), sizeof *sampler->cpus);
    if (!sampler->cpus)
        return ENOMEM;
    for (int i = 0; i < numbers && !reason; i++) {
        reason = open_cpu(&sampler->cpus[sampler->count], child, i, period_ns, maps, stack);
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

/* ---- records ------------------------------------------------------------------------------- */

/* What cannot be made sense of ends the ring. */
static void look(struct inject_sampler_cpu *cpu)
{
    struct perf_event_header header;
    struct trailer trailer;
    cpu->time_ns = UINT64_MAX;
    if (cpu->at + sizeof header > cpu->head)
        return;
    copy_out(cpu, cpu->at, &header, sizeof header);
    if (header.size < sizeof header + sizeof trailer || cpu->at + header.size > cpu->head)
        return;
    cpu->bytes = header.size;
    if (header.type == PERF_RECORD_SAMPLE) {
        copy_out(cpu, cpu->at + offsetof(struct record, time_ns), &cpu->time_ns,
                 sizeof cpu->time_ns);
        return;
    }
    copy_out(cpu, cpu->at + header.size - sizeof trailer, &trailer, sizeof trailer);
    cpu->time_ns = trailer.time_ns;
}

static void take_sample(const struct inject_sampler_cpu *cpu,
                        const struct inject_sampler_taker *taker)
{
    struct record record = {.abi = 0};
    if (cpu->bytes < offsetof(struct record, registers))
        return;
    copy_out(cpu, cpu->at, &record, cpu->bytes < sizeof record ? cpu->bytes : sizeof record);
    struct inject_sample sample = {.pid = record.pid,
                                   .tid = record.tid,
                                   .ip = record.ip,
                                   .time_ns = record.time_ns,
                                   .weight_ns = record.period};
    for (unsigned r = 0; record.abi && r < BASE_GENERAL_REGISTERS; r++)
        sample.general[r] = record.registers[place_of[r]];
    if (record.abi && record.stack_bytes == sizeof record.stack &&
        record.stack_known <= sizeof record.stack && cpu->bytes >= sizeof record) {
        sample.stack_words = (unsigned)(record.stack_known / sizeof *record.stack);
        memcpy(sample.stack, record.stack, sizeof sample.stack);
    }
    taker->sample(taker->context, &sample);
}

static void take_mapped(const struct inject_sampler_cpu *cpu,
                        const struct inject_sampler_taker *taker)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        uint64_t start, bytes, offset;
        char path[RECORD_BYTES];
    } record;
    size_t fixed = (size_t)(record.path - (char *)&record), bytes = cpu->bytes;
    if (bytes < fixed + sizeof(struct trailer) || bytes > sizeof record)
        return;
    copy_out(cpu, cpu->at, &record, bytes - sizeof(struct trailer));
    record.path[bytes - sizeof(struct trailer) - fixed] = 0;
    taker->mapped(taker->context, &(struct inject_mapped){.pid = record.pid,
                                                          .start = record.start,
                                                          .bytes = record.bytes,
                                                          .offset = record.offset,
                                                          .path = record.path});
}

static void take_task(const struct inject_sampler_cpu *cpu,
                      const struct inject_sampler_taker *taker)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, parent, tid, parent_tid;
    } record; /* of COMM the name begins where `parent` is called so here */
    if (cpu->bytes < sizeof record)
        return;
    copy_out(cpu, cpu->at, &record, sizeof record);
    if (record.header.type == PERF_RECORD_COMM) {
        if (record.header.misc & PERF_RECORD_MISC_COMM_EXEC)
            taker->executed(taker->context, record.pid);
    } else if (record.header.type == PERF_RECORD_FORK) {
        if (record.pid != record.parent)
            taker->forked(taker->context, record.pid, record.parent);
    } else if (record.pid == record.tid)
        taker->ended(taker->context, record.pid);
}

static void take_one(const struct inject_sampler_cpu *cpu, const struct inject_sampler_taker *taker)
{
    struct perf_event_header header;
    copy_out(cpu, cpu->at, &header, sizeof header);
    switch (header.type) {
    case PERF_RECORD_SAMPLE: take_sample(cpu, taker); break;
    case PERF_RECORD_MMAP: take_mapped(cpu, taker); break;
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: take_task(cpu, taker); break;
    default: /* lost, throttled */ break;
    }
}

/* The ring whose next record is the earliest; NULL: there is no record. */
static struct inject_sampler_cpu *earliest(const struct inject_sampler *sampler)
{
    struct inject_sampler_cpu *found = NULL;
    for (size_t i = 0; i < sampler->count; i++) {
        struct inject_sampler_cpu *cpu = &sampler->cpus[i];
        if (cpu->time_ns != UINT64_MAX && (!found || cpu->time_ns < found->time_ns))
            found = cpu;
    }
    return found;
}

void inject_sampler_drain(struct inject_sampler *sampler, const struct inject_sampler_taker *taker)
{
    struct inject_sampler_cpu *next;
    for (size_t i = 0; i < sampler->count; i++) {
        struct inject_sampler_cpu *cpu = &sampler->cpus[i];
        cpu->at = cpu->page->data_tail;
        cpu->head = __atomic_load_n(&cpu->page->data_head, __ATOMIC_ACQUIRE);
        look(cpu);
    }
    while ((next = earliest(sampler))) {
        take_one(next, taker);
        next->at += next->bytes;
        look(next);
    }
    for (size_t i = 0; i < sampler->count; i++)
        __atomic_store_n(&sampler->cpus[i].page->data_tail, sampler->cpus[i].head,
                         __ATOMIC_RELEASE);
}

void inject_sampler_close(struct inject_sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++)
        close_cpu(&sampler->cpus[i]);
    free(sampler->cpus);
    *sampler = (struct inject_sampler){.cpus = NULL};
}
