// SPDX-License-Identifier: MIT
/*
 * The perf ring buffer: the kernel advances data_head and writes records of
 * multiples of eight bytes, which may wrap around the end of the data; we advance data_tail.
 * The format is that of perf_event_open(2) for the fixed sample_type below.
 */
#include "os/pmu.h"

#include <string.h>

enum { IBS_PERIOD_UNIT = 16, SMALLEST_RING = 4096 };

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC)

/* Payloads after the header, in the kernel's order. */
struct sample_payload {
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t address;
    uint64_t data_source;
};

struct lost_payload {
    uint64_t id, lost;
};

void pmu_attributes(const struct pmu_event *event, struct perf_event_attr *attr)
{
    bool ibs = event->type != PERF_TYPE_RAW;
    uint64_t period = event->period;
    if (ibs)
        period =
            period < IBS_PERIOD_UNIT ? IBS_PERIOD_UNIT : period / IBS_PERIOD_UNIT * IBS_PERIOD_UNIT;
    memset(attr, 0, sizeof *attr);
    attr->type = event->type;
    attr->size = sizeof *attr;
    attr->config = event->config;
    attr->sample_period = period;
    attr->sample_type = SAMPLE_TYPE;
    attr->exclude_kernel = !ibs;
    attr->exclude_hv = !ibs;
    attr->precise_ip = ibs ? 0 : 2; /* 2: no skid or fail; 3 would exclude older PEBS */
    attr->wakeup_events = 1;
    attr->sigtrap = 1;
    attr->remove_on_exec = 1; /* the kernel insists on it beside sigtrap */
    attr->sig_data = event->cookie;
}

enum base_status pmu_ring_init(struct pmu_ring *ring, void *mapping, uint64_t data_bytes)
{
    if (data_bytes < SMALLEST_RING || data_bytes & (data_bytes - 1))
        return BASE_MALFORMED;
    *ring = (struct pmu_ring){.page = mapping,
                              .data = (const unsigned char *)mapping + SMALLEST_RING,
                              .bytes = data_bytes};
    return BASE_OK;
}

/* The protocol of perf_event_mmap_page in linux/perf_event.h. */
bool pmu_count(const struct pmu_ring *ring, uint64_t *count)
{
    const volatile struct perf_event_mmap_page *page = ring->page;
    uint32_t sequence;
    do {
        sequence = page->lock;
        __asm__ volatile("" ::: "memory");
        uint32_t index = page->index;
        *count = (uint64_t)page->offset;
        if (!page->cap_user_rdpmc || index == 0)
            return false;
        uint32_t low, high;
        __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
        unsigned unused = 64U - page->pmc_width;
        int64_t value = (int64_t)(((uint64_t)high << 32 | low) << unused) >> unused;
        *count += (uint64_t)value;
        __asm__ volatile("" ::: "memory");
    } while (page->lock != sequence);
    return true;
}

/* Copies count <= ring->bytes from position, around the end. */
static void copy_out(const struct pmu_ring *ring, uint64_t position, void *out, uint64_t count)
{
    uint64_t offset = position & (ring->bytes - 1);
    uint64_t first = ring->bytes - offset < count ? ring->bytes - offset : count;
    memcpy(out, ring->data + offset, first);
    memcpy((unsigned char *)out + first, ring->data, count - first);
}

static uint8_t direction_of(uint64_t data_source)
{
    union perf_mem_data_src source = {.val = data_source};
    uint8_t direction = PMU_UNKNOWN;
    if (source.mem_op & PERF_MEM_OP_LOAD)
        direction |= PMU_LOAD;
    if (source.mem_op & PERF_MEM_OP_STORE)
        direction |= PMU_STORE;
    return direction;
}

static void read_sample(const struct pmu_ring *ring, uint64_t position,
                        const struct perf_event_header *header, struct pmu_sample *sample)
{
    struct sample_payload payload;
    copy_out(ring, position + sizeof *header, &payload, sizeof payload);
    *sample = (struct pmu_sample){
        .ip = payload.ip,
        .address = payload.address,
        .pid = payload.pid,
        .tid = payload.tid,
        .direction = direction_of(payload.data_source),
        .exact = header->misc & PERF_RECORD_MISC_EXACT_IP,
        .user = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER,
    };
}

/* The sizes a record may have. A kernel may append fields, so more is fine. */
static bool plausible(const struct perf_event_header *header, uint64_t available)
{
    uint64_t least = sizeof *header;
    if (header->type == PERF_RECORD_SAMPLE)
        least += sizeof(struct sample_payload);
    if (header->type == PERF_RECORD_LOST)
        least += sizeof(struct lost_payload);
    return header->size >= least && header->size % 8 == 0 && header->size <= available;
}

/* Counts the record at position; true if it is a sample, which is then read. */
static bool take(struct pmu_ring *ring, uint64_t position, const struct perf_event_header *header,
                 struct pmu_sample *sample)
{
    struct lost_payload lost;
    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        ring->counts.samples++;
        read_sample(ring, position, header, sample);
        return true;
    case PERF_RECORD_LOST:
        copy_out(ring, position + sizeof *header, &lost, sizeof lost);
        ring->counts.lost += lost.lost;
        return false;
    case PERF_RECORD_THROTTLE: ring->counts.throttled++; return false;
    default: ring->counts.other++; return false;
    }
}

bool pmu_next(struct pmu_ring *ring, struct pmu_sample *sample)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    bool found = false;
    while (!found && tail != head) {
        struct perf_event_header header;
        /* In this order: head - tail may be anything before it is known to fit. */
        bool good = head - tail <= ring->bytes && tail % 8 == 0 && head - tail >= sizeof header;
        if (good) {
            copy_out(ring, tail, &header, sizeof header);
            good = plausible(&header, head - tail);
        }
        if (!good) {
            /* Where the next record begins is unknown: start over at the head. */
            ring->counts.malformed++;
            tail = head;
            break;
        }
        found = take(ring, tail, &header, sample);
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    return found;
}
