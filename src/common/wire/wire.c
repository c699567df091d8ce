// SPDX-License-Identifier: MIT
/*
 * The region, its chunks and records. Agent side: lock-free, called from
 * handlers. Host side: reads memory that a broken program may have overwritten,
 * so everything is copied before it is checked, and checked before it is used.
 */
#include "wire/wire.h"

#include "base/syscall.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <string.h>

const char *const wire_drop_names[WIRE_DROPS] = {
    [WIRE_DROP_KERNEL] = "kernel",
    [WIRE_DROP_NO_ACCESS] = "no_access",
    [WIRE_DROP_UNFORESEEN] = "unforeseen",
    [WIRE_DROP_BLOCKED] = "blocked",
    [WIRE_DROP_REFUSED] = "refused",
    [WIRE_DROP_WATCHPOINT] = "watchpoint",
    [WIRE_DROP_SIGNAL] = "signal",
    [WIRE_DROP_UNWIND] = "unwind",
    [WIRE_DROP_TREE_FULL] = "tree_full",
    [WIRE_DROP_LOG_FULL] = "log_full",
    [WIRE_DROP_BUSY] = "busy",
    [WIRE_DROP_UNFINISHED] = "unfinished",
    [WIRE_DROP_AGENT] = "agent",
};

const char *const wire_drop_sentences[WIRE_DROPS] = {
    [WIRE_DROP_KERNEL] = "the tick fell into a system call",
    [WIRE_DROP_NO_ACCESS] = "no such access among the next instructions",
    [WIRE_DROP_UNFORESEEN] = "the predicted access did not happen",
    [WIRE_DROP_BLOCKED] = "could not look far enough ahead",
    [WIRE_DROP_REFUSED] = "the access touches memory that is never followed",
    [WIRE_DROP_WATCHPOINT] = "the kernel refused a watchpoint",
    [WIRE_DROP_SIGNAL] = "SIGTRAP was blocked",
    [WIRE_DROP_UNWIND] = "no calling context",
    [WIRE_DROP_TREE_FULL] = "the context tree was full",
    [WIRE_DROP_LOG_FULL] = "the log was full",
    [WIRE_DROP_BUSY] = "the agent was busy in this thread",
    [WIRE_DROP_UNFINISHED] = "the thread ended in the middle of a sample",
    [WIRE_DROP_AGENT] = "the tick fell into headroom's own code",
};

/* ---- region ---------------------------------------------------------------------- */

void wire_region_init(struct wire_region *region, const struct wire_config *config)
{
    region->version = WIRE_VERSION;
    region->bytes = sizeof *region;
    region->config = *config;
    atomic_store_explicit(&region->next_process, 1, memory_order_relaxed);
    atomic_store_explicit(&region->next_thread, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < WIRE_CHUNKS; i++)
        atomic_store_explicit(&region->chunks[i].next_free, i + 1 < WIRE_CHUNKS ? i + 1 : WIRE_NONE,
                              memory_order_relaxed);
    atomic_store_explicit(&region->free_chunks, 0, memory_order_relaxed);
    atomic_store_explicit(&region->pool_mark, WIRE_NONE, memory_order_relaxed);
    region->magic = WIRE_MAGIC;
}

enum base_status wire_region_check(const void *mapping, size_t bytes)
{
    const struct wire_region *region = mapping;
    if (bytes < sizeof *region || region->magic != WIRE_MAGIC)
        return BASE_MALFORMED;
    if (region->version != WIRE_VERSION || region->bytes != sizeof *region)
        return BASE_TOO_NEW;
    return BASE_OK;
}

/* The tag in the upper half makes a pop fail when the list changed and changed back (ABA). */
static uint32_t pop_chunk(struct wire_region *region)
{
    uint64_t head = atomic_load_explicit(&region->free_chunks, memory_order_acquire);
    for (;;) {
        uint32_t index = (uint32_t)head;
        if (index >= WIRE_CHUNKS)
            return WIRE_NONE;
        uint32_t next =
            atomic_load_explicit(&region->chunks[index].next_free, memory_order_relaxed);
        uint64_t replacement = ((head >> 32) + 1) << 32 | next;
        if (atomic_compare_exchange_weak_explicit(&region->free_chunks, &head, replacement,
                                                  memory_order_acquire, memory_order_acquire))
            return index;
    }
}

static void push_chunk(struct wire_region *region, uint32_t index)
{
    uint64_t head = atomic_load_explicit(&region->free_chunks, memory_order_relaxed);
    uint64_t replacement;
    do {
        atomic_store_explicit(&region->chunks[index].next_free, (uint32_t)head,
                              memory_order_relaxed);
        replacement = ((head >> 32) + 1) << 32 | index;
    } while (!atomic_compare_exchange_weak_explicit(&region->free_chunks, &head, replacement,
                                                    memory_order_release, memory_order_relaxed));
}

void wire_pool_limit(struct wire_region *region, uint32_t count)
{
    atomic_store_explicit(&region->chunks[count - 1].next_free, WIRE_NONE, memory_order_relaxed);
    atomic_store_explicit(&region->pool_mark, count / 2, memory_order_relaxed);
}

void wire_pool_extend(struct wire_region *region, uint32_t count)
{
    atomic_store_explicit(&region->pool_mark, WIRE_NONE, memory_order_relaxed);
    for (uint32_t i = WIRE_CHUNKS; i > count; i--)
        push_chunk(region, i - 1);
}

size_t wire_pool_bytes(uint32_t count)
{
    return offsetof(struct wire_region, data) + count * sizeof(((struct wire_region *)0)->data[0]);
}

/* The pool's chunks are taken in order as long as none comes back: one that lies far behind means
   that as many are in use. headroom sleeps for longer than the rest may last. */
static void note_taken(struct wire_region *region, uint32_t index)
{
    if (index < atomic_load_explicit(&region->pool_mark, memory_order_relaxed) ||
        atomic_exchange_explicit(&region->pool_low, 1, memory_order_relaxed))
        return;
    atomic_fetch_add_explicit(&region->doorbell, 1, memory_order_release);
    base_syscall6(__NR_futex, (long)&region->doorbell, FUTEX_WAKE, 1, 0, 0, 0);
}

/* ---- records --------------------------------------------------------------------- */

/* Eight bytes a step; record lengths are multiples of eight. */
static uint32_t checksum_words(const void *bytes, size_t count, uint64_t seed)
{
    uint64_t hash = base_mix64(seed + count);
    for (size_t i = 0; i + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + i, 8);
        hash = base_mix64(hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    }
    return (uint32_t)(hash >> 32);
}

uint32_t wire_checksum(const struct wire_record *record)
{
    return checksum_words(record + 1, record->bytes - sizeof *record,
                          (uint64_t)record->type << 16 | record->bytes);
}

static const uint16_t minimal_bytes[WIRE_TYPES] = {
    [WIRE_PROCESS] = sizeof(struct wire_process),
    [WIRE_MODULE] = sizeof(struct wire_module) + 8,
    [WIRE_THREAD] = sizeof(struct wire_thread),
    [WIRE_NODE] = sizeof(struct wire_node),
    [WIRE_SAMPLE] = sizeof(struct wire_sample),
    [WIRE_TRAP] = sizeof(struct wire_trap),
    [WIRE_COUNTERS] = sizeof(struct wire_counters_record),
    [WIRE_PAIR] = sizeof(struct wire_pair),
    [WIRE_TOTALS] = sizeof(struct wire_totals),
    [WIRE_REUSE_PAIR] = sizeof(struct wire_reuse_pair),
    [WIRE_HISTOGRAM] = sizeof(struct wire_histogram),
    [WIRE_REUSE_TOTALS] = sizeof(struct wire_reuse_totals),
    [WIRE_REUSE] = sizeof(struct wire_reuse),
    [WIRE_WHAT_IF] = sizeof(struct wire_what_if),
    [WIRE_PATH_VERTEX] = sizeof(struct wire_path_vertex),
    [WIRE_PATH_STATE] = sizeof(struct wire_path_state),
    [WIRE_PATH_TOTALS] = sizeof(struct wire_path_totals),
    [WIRE_TICK] = sizeof(struct wire_tick),
    [WIRE_SHARED_TOTALS] = sizeof(struct wire_shared_totals),
    [WIRE_SHARED_LINE] = sizeof(struct wire_shared_line) + 8,
    [WIRE_SHARED_PAIR] = sizeof(struct wire_shared_pair),
    [WIRE_SHARED_USER] = sizeof(struct wire_shared_user),
    [WIRE_SHARED_BETWEEN] = sizeof(struct wire_shared_between),
    [WIRE_LOCATED] = sizeof(struct wire_located),
    [WIRE_OBSERVED] = sizeof(struct wire_observed),
    [WIRE_EXECUTED_CODE] = sizeof(struct wire_executed_code),
    [WIRE_EXECUTED_WINDOW] = sizeof(struct wire_executed_window),
    [WIRE_EXECUTED_STEPS] = sizeof(struct wire_executed_steps),
    [WIRE_PUBLISHED] = sizeof(struct wire_published),
    [WIRE_MEETING] = sizeof(struct wire_meeting),
    [WIRE_SHARED_FILE] = sizeof(struct wire_shared_file) + 8,
};

static bool strings_end(const struct wire_record *record)
{
    const char *end = (const char *)record + record->bytes;
    if (record->type == WIRE_MODULE) {
        const char *path = ((const struct wire_module *)record)->path;
        return memchr(path, 0, (size_t)(end - path)) != NULL;
    }
    if (record->type == WIRE_SHARED_FILE) {
        const char *path = ((const struct wire_shared_file *)record)->path;
        return memchr(path, 0, (size_t)(end - path)) != NULL;
    }
    if (record->type == WIRE_PROCESS) {
        const struct wire_process *process = (const struct wire_process *)record;
        size_t text = (size_t)process->exe_bytes + process->command_bytes;
        if (process->exe_bytes == 0 || text > (size_t)(end - process->text))
            return false;
        return process->text[process->exe_bytes - 1] == 0 &&
               (process->command_bytes == 0 || process->text[text - 1] == 0);
    }
    if (record->type == WIRE_THREAD)
        return memchr(((const struct wire_thread *)record)->name, 0, 16) != NULL;
    return true;
}

enum base_status wire_record_check(const void *bytes, size_t available)
{
    const struct wire_record *record = bytes;
    if (available < sizeof *record || record->bytes > available || record->bytes % 8)
        return BASE_MALFORMED;
    if (record->type == 0 || record->type >= WIRE_TYPES)
        return BASE_MALFORMED;
    if (record->bytes < minimal_bytes[record->type] || record->checksum != wire_checksum(record))
        return BASE_MALFORMED;
    return strings_end(record) ? BASE_OK : BASE_MALFORMED;
}

/* ---- agent side ------------------------------------------------------------------ */

static bool open_chunk(struct wire_writer *writer)
{
    uint32_t index = pop_chunk(writer->region);
    if (index == WIRE_NONE)
        return false;
    note_taken(writer->region, index);
    struct wire_chunk *chunk = &writer->region->chunks[index];
    chunk->process = writer->process;
    chunk->thread = writer->thread;
    chunk->pid = writer->pid;
    chunk->sequence = writer->sequence++;
    chunk->drained = 0;
    atomic_store_explicit(&chunk->committed, 0, memory_order_relaxed);
    atomic_store_explicit(&chunk->state, WIRE_CHUNK_OPEN, memory_order_release);
    writer->chunk = index;
    writer->used = 0;
    return true;
}

void wire_close(struct wire_writer *writer)
{
    if (writer->chunk == WIRE_NONE)
        return;
    atomic_store_explicit(&writer->region->chunks[writer->chunk].state, WIRE_CHUNK_CLOSED,
                          memory_order_release);
    writer->chunk = WIRE_NONE;
    atomic_fetch_add_explicit(&writer->region->doorbell, 1, memory_order_release);
}

bool wire_reserve(struct wire_writer *writer, uint32_t bytes)
{
    if (bytes > sizeof writer->region->data[0])
        return false;
    if (writer->chunk != WIRE_NONE && writer->used + bytes > sizeof writer->region->data[0])
        wire_close(writer);
    return writer->chunk != WIRE_NONE || open_chunk(writer);
}

bool wire_write(struct wire_writer *writer, struct wire_record *record)
{
    if (!wire_reserve(writer, record->bytes))
        return false;
    struct wire_chunk *chunk = &writer->region->chunks[writer->chunk];
    record->checksum = wire_checksum(record);
    memcpy(writer->region->data[writer->chunk] + writer->used, record, record->bytes);
    writer->used += record->bytes;
    atomic_store_explicit(&chunk->committed, writer->used, memory_order_release);
    return true;
}

struct wire_thread_slot *wire_thread_begin(struct wire_region *region, uint32_t process,
                                           uint32_t pid, uint32_t tid)
{
    /* Start at a place of one's own, so that threads starting together do not contend. */
    uint32_t first = (uint32_t)base_mix64(tid) % WIRE_THREADS;
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        uint32_t index = (first + i) % WIRE_THREADS;
        struct wire_thread_slot *slot = &region->threads[index];
        uint32_t expected = WIRE_SLOT_FREE;
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) != WIRE_SLOT_FREE ||
            !atomic_compare_exchange_strong_explicit(&slot->state, &expected, WIRE_SLOT_LIVE,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        /* headroom skips a LIVE slot whose `thread` is still 0: nobody to reap yet. */
        memset(&slot->counters, 0, sizeof slot->counters);
        slot->pid = pid;
        slot->tid = tid;
        slot->process = process;
        slot->cpu_ns = 0;
        atomic_store_explicit(&region->owners[index], pid, memory_order_relaxed);
        slot->thread = atomic_fetch_add_explicit(&region->next_thread, 1, memory_order_relaxed);
        return slot;
    }
    atomic_fetch_add_explicit(&region->lost_threads, 1, memory_order_relaxed);
    return NULL;
}

uint32_t wire_table_name(struct wire_region *region, const char *path, uint64_t device,
                         uint64_t inode)
{
    size_t length = 0;
    while (path[length])
        if (++length >= WIRE_PATH_BYTES)
            return WIRE_NONE;
    for (uint32_t i = 0; i < WIRE_TABLES; i++) {
        struct wire_table_slot *slot = &region->tables[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (state == WIRE_TABLE_FREE &&
            atomic_compare_exchange_strong_explicit(&slot->state, &state, WIRE_TABLE_CLAIMED,
                                                    memory_order_acquire, memory_order_acquire)) {
            slot->device = device;
            slot->inode = inode;
            memcpy(slot->path, path, length + 1);
            atomic_store_explicit(&slot->state, WIRE_TABLE_NAMED, memory_order_release);
            return i;
        }
        /* A slot being claimed by someone else may become a duplicate: harmless. */
        if (state >= WIRE_TABLE_NAMED && slot->device == device && slot->inode == inode &&
            memcmp(slot->path, path, length + 1) == 0)
            return i;
    }
    return WIRE_NONE;
}

bool wire_table_need(struct wire_region *region, uint32_t slot)
{
    uint32_t state = WIRE_TABLE_NAMED;
    return atomic_compare_exchange_strong_explicit(&region->tables[slot].state, &state,
                                                   WIRE_TABLE_WANTED, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

uint32_t wire_table_want(struct wire_region *region, const char *path, uint64_t device,
                         uint64_t inode)
{
    uint32_t slot = wire_table_name(region, path, device, inode);
    if (slot != WIRE_NONE)
        wire_table_need(region, slot);
    return slot;
}

/* ---- headroom side --------------------------------------------------------------- */

/* The payload and all that the header says about it. */
uint32_t wire_frame_checksum(const struct wire_frame *frame, const void *payload)
{
    uint64_t seed = base_mix64((uint64_t)frame->process << 32 | frame->thread);
    seed = base_mix64(seed ^ frame->pid) ^ ((uint64_t)frame->sequence << 32 | frame->offset);
    return checksum_words(payload, frame->payload_bytes, seed);
}

static struct wire_frame make_frame(uint32_t process, uint32_t thread, uint32_t pid,
                                    uint32_t sequence, uint32_t offset, const void *payload,
                                    uint32_t bytes)
{
    struct wire_frame frame = {.magic = WIRE_FRAME_MAGIC,
                               .payload_bytes = bytes,
                               .process = process,
                               .thread = thread,
                               .pid = pid,
                               .sequence = sequence,
                               .offset = offset};
    frame.checksum = wire_frame_checksum(&frame, payload);
    return frame;
}

/* Length of the longest prefix of valid records. */
static uint32_t valid_prefix(const unsigned char *bytes, uint32_t count)
{
    uint32_t good = 0;
    while (good < count && wire_record_check(bytes + good, count - good) == BASE_OK)
        good += ((const struct wire_record *)(bytes + good))->bytes;
    return good;
}

static bool drain_chunk(struct wire_region *region, uint32_t index, wire_sink *sink, void *context,
                        uint64_t *corrupt)
{
    _Alignas(8) unsigned char copy[WIRE_CHUNK_BYTES];
    struct wire_chunk *chunk = &region->chunks[index];
    uint32_t committed = atomic_load_explicit(&chunk->committed, memory_order_acquire);
    uint32_t drained = chunk->drained;
    if (committed > sizeof region->data[0] || drained > committed || drained % 8) {
        *corrupt += drained != committed; /* once, not at every drain */
        chunk->drained = committed;
        return true;
    }
    uint32_t bytes = committed - drained;
    if (bytes == 0)
        return true;
    memcpy(copy, region->data[index] + drained, bytes);
    uint32_t good = valid_prefix(copy, bytes);
    /* Without trustworthy lengths there is no next record: the rest of the chunk is lost. */
    if (good < bytes)
        ++*corrupt;
    chunk->drained = committed;
    if (good == 0)
        return true;
    struct wire_frame frame =
        make_frame(chunk->process, chunk->thread, chunk->pid, chunk->sequence, drained, copy, good);
    return sink(context, &frame, copy);
}

static bool drain_counters(struct wire_region *region, uint32_t index, wire_sink *sink,
                           void *context)
{
    struct wire_thread_slot *slot = &region->threads[index];
    struct wire_counters_record record = {
        .record = {.type = WIRE_COUNTERS, .bytes = sizeof record},
        .process = slot->process,
        .thread = slot->thread,
        .pid = slot->pid,
        .tid = slot->tid,
        .cpu_ns = slot->cpu_ns,
        .counters = slot->counters,
    };
    record.record.checksum = wire_checksum(&record.record);
    struct wire_frame frame =
        make_frame(record.process, record.thread, record.pid, WIRE_NONE, 0, &record, sizeof record);
    slot->thread = 0;
    atomic_store_explicit(&region->owners[index], 0, memory_order_relaxed);
    atomic_store_explicit(&slot->state, WIRE_SLOT_FREE, memory_order_release);
    return sink(context, &frame, &record);
}

bool wire_drain(struct wire_region *region, wire_sink *sink, void *context, uint64_t *corrupt)
{
    bool good = true;
    /* Slots first: a slot seen ENDED here has all its chunks committed, so counters that reach
       the log are never newer than the records beside them by more than one drain. */
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        if (wire_owner(region, i) && atomic_load_explicit(&region->threads[i].state,
                                                          memory_order_acquire) == WIRE_SLOT_ENDED)
            good = drain_counters(region, i, sink, context) && good;
    }
    for (uint32_t i = 0; i < WIRE_CHUNKS; i++) {
        struct wire_chunk *chunk = &region->chunks[i];
        uint32_t state = atomic_load_explicit(&chunk->state, memory_order_acquire);
        if (state != WIRE_CHUNK_OPEN && state != WIRE_CHUNK_CLOSED)
            continue;
        good = drain_chunk(region, i, sink, context, corrupt) && good;
        if (state == WIRE_CHUNK_CLOSED) {
            atomic_store_explicit(&chunk->state, WIRE_CHUNK_FREE, memory_order_relaxed);
            push_chunk(region, i);
        }
    }
    return good;
}

void wire_reap(struct wire_region *region, bool (*alive)(void *context, uint32_t pid),
               void *context)
{
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        struct wire_thread_slot *slot = &region->threads[i];
        uint32_t state = WIRE_SLOT_LIVE;
        if (!wire_owner(region, i))
            continue;
        if (atomic_load_explicit(&slot->state, memory_order_acquire) == state && slot->thread &&
            !alive(context, slot->pid))
            atomic_compare_exchange_strong_explicit(&slot->state, &state, WIRE_SLOT_ENDED,
                                                    memory_order_acq_rel, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < WIRE_CHUNKS; i++) {
        struct wire_chunk *chunk = &region->chunks[i];
        uint32_t state = WIRE_CHUNK_OPEN;
        if (atomic_load_explicit(&chunk->state, memory_order_acquire) == state &&
            !alive(context, chunk->pid))
            atomic_compare_exchange_strong_explicit(&chunk->state, &state, WIRE_CHUNK_CLOSED,
                                                    memory_order_acq_rel, memory_order_relaxed);
    }
}

/* An exec leaves slots and chunks of the old image behind under a live pid. */
void wire_supersede(struct wire_region *region, uint32_t pid, uint32_t process)
{
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        struct wire_thread_slot *slot = &region->threads[i];
        uint32_t state = WIRE_SLOT_LIVE;
        if (wire_owner(region, i) != pid)
            continue;
        if (slot->pid == pid && slot->thread && slot->process != process)
            atomic_compare_exchange_strong_explicit(&slot->state, &state, WIRE_SLOT_ENDED,
                                                    memory_order_acq_rel, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < WIRE_CHUNKS; i++) {
        struct wire_chunk *chunk = &region->chunks[i];
        uint32_t state = WIRE_CHUNK_OPEN;
        if (atomic_load_explicit(&chunk->state, memory_order_acquire) == state &&
            chunk->pid == pid && chunk->process != process)
            atomic_compare_exchange_strong_explicit(&chunk->state, &state, WIRE_CHUNK_CLOSED,
                                                    memory_order_acq_rel, memory_order_relaxed);
    }
}

enum base_status wire_frame_check(const void *bytes, size_t available, size_t *total)
{
    struct wire_frame frame;
    if (available < sizeof frame)
        return BASE_MALFORMED;
    memcpy(&frame, bytes, sizeof frame);
    if (frame.magic != WIRE_FRAME_MAGIC || frame.payload_bytes > WIRE_CHUNK_BYTES ||
        frame.payload_bytes % 8 || frame.payload_bytes > available - sizeof frame)
        return BASE_MALFORMED;
    if (frame.checksum != wire_frame_checksum(&frame, (const char *)bytes + sizeof frame))
        return BASE_MALFORMED;
    *total = sizeof frame + frame.payload_bytes;
    return BASE_OK;
}
