// SPDX-License-Identifier: MIT
/*
 * Fuzzes what headroom reads from a region that a program may have written over, and from a
 * raw log. The input is used three ways: as a record, as frames of a log, and as a list
 * of overwrites of a region. Aborts if a record or frame that passed its check is not what the
 * check promises.
 */
#include "wire/wire.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Text members as import will read them; the sanitizer sees reads past the end. */
static size_t read_text(const struct wire_record *record)
{
    const struct wire_process *process = (const struct wire_process *)record;
    if (record->type == WIRE_MODULE)
        return strlen(((const struct wire_module *)record)->path);
    if (record->type == WIRE_THREAD)
        return strlen(((const struct wire_thread *)record)->name);
    if (record->type != WIRE_PROCESS)
        return 0;
    return strlen(process->text) +
           (process->command_bytes ? strlen(process->text + process->exe_bytes) : 0);
}

static void read_records(const void *payload, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const struct wire_record *record = (const void *)((const char *)payload + at);
        require(wire_record_check(record, bytes - at) == BASE_OK);
        require(record->bytes >= sizeof *record && record->bytes % 8 == 0);
        read_text(record);
        at += record->bytes;
    }
}

/* The fuzzer cannot guess checksums: bit 0 of the first byte asks for a right one. */
static void fuzz_record(const uint8_t *data, size_t size)
{
    if (size < 1 + sizeof(struct wire_record))
        return;
    struct wire_record *record = malloc(size - 1);
    require(record != NULL);
    memcpy(record, data + 1, size - 1);
    if (data[0] & 1 && record->bytes >= sizeof *record && record->bytes <= size - 1)
        record->checksum = wire_checksum(record);
    if (wire_record_check(record, size - 1) == BASE_OK)
        read_text(record);
    free(record);
}

static void fuzz_frames(const uint8_t *data, size_t size)
{
    size_t total;
    for (size_t at = 0; at < size; at += total) {
        total = 0;
        if (wire_frame_check(data + at, size - at, &total) != BASE_OK) {
            require(total == 0);
            return;
        }
        require(total >= sizeof(struct wire_frame) && total <= size - at);
    }
}

static bool sink(void *context, const struct wire_frame *frame, const void *payload)
{
    size_t total;
    unsigned char *copy = malloc(sizeof *frame + frame->payload_bytes);
    (void)context;
    require(copy != NULL);
    memcpy(copy, frame, sizeof *frame);
    memcpy(copy + sizeof *frame, payload, frame->payload_bytes);
    require(wire_frame_check(copy, sizeof *frame + frame->payload_bytes, &total) == BASE_OK);
    free(copy);
    read_records(payload, frame->payload_bytes);
    return true;
}

static bool dead(void *context, uint32_t pid)
{
    (void)context;
    return pid % 2;
}

/* Four bytes of place and eight of content each; most places are headers of the first chunks. */
static void scribble(struct wire_region *region, const uint8_t *data, size_t size)
{
    const size_t first = offsetof(struct wire_region, doorbell);
    for (; size >= 12; data += 12, size -= 12) {
        uint32_t place;
        memcpy(&place, data, sizeof place);
        size_t at = first + place / 4 % (sizeof *region - first - 8);
        if (place & 1)
            at = offsetof(struct wire_region, chunks) +
                 (place >> 8) % 4 * sizeof(struct wire_chunk) + (place >> 16) % 128;
        memcpy((char *)region + at, data + 4, 8);
    }
}

static void fuzz_region(const uint8_t *data, size_t size)
{
    struct wire_config config = {.kinds = 7};
    struct wire_region *region =
        mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(region != MAP_FAILED);
    wire_region_init(region, &config);
    struct wire_writer writer = {.region = region, .chunk = WIRE_NONE, .thread = 1, .pid = 2};
    struct wire_node node = {.record = {.type = WIRE_NODE, .bytes = sizeof node}};
    for (node.node = 1; node.node < 400; node.node++)
        wire_write(&writer, &node.record);
    wire_thread_begin(region, 1, 2, 2);
    scribble(region, data, size);
    uint64_t corrupt = 0;
    wire_drain(region, sink, NULL, &corrupt);
    wire_reap(region, dead, NULL);
    wire_drain(region, sink, NULL, &corrupt);
    /* The agent goes on in the damaged region; a chunk it was already in is its own risk. */
    writer.chunk = WIRE_NONE;
    for (unsigned i = 0; i < 3; i++)
        wire_write(&writer, &node.record);
    wire_drain(region, sink, NULL, &corrupt);
    munmap(region, sizeof *region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_record(data, size);
    fuzz_frames(data, size);
    fuzz_region(data, size);
    return 0;
}
