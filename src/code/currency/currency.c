// SPDX-License-Identifier: MIT
/* A function's instructions as events: stop points, stores, calls. */
#include "currency/internal.h"

#include "isa/isa.h"
#include "util/util.h"

#include <stdlib.h>

/* A frame, or thread-local storage: no variable of static storage is there. */
static bool is_elsewhere(const struct isa_access *access, bool framed)
{
    return access->segment || access->base == BASE_RSP || (framed && access->base == BASE_RBP);
}

static void note_access(const struct isa_access *access, bool framed, bool repeated,
                        struct event *event)
{
    bool known = !access->unaddressable && access->base < 0 && access->index < 0;
    uint64_t start = (uint64_t)access->displacement;
    if (!(access->direction & ISA_STORE) || is_elsewhere(access, framed))
        return;
    if (!known || repeated) {
        event->unknown = access->bytes && !repeated ? access->bytes : UINT16_MAX;
        return;
    }
    event->start = start;
    event->end = start + access->bytes;
    event->conditional = access->conditional;
}

/* What is stored into the frame: where, if that is known. */
static void note_frame(const struct currency_code *code, const struct isa_insn *insn,
                       const struct isa_access *access, struct event *event)
{
    uint8_t base;
    int64_t offset;
    if (!(access->direction & ISA_STORE) || access->segment)
        return;
    if (insn->repeated || access->index >= 0 || access->conditional || !code->frame ||
        !code->frame(code->context, insn->address, &base, &offset) || access->base != base) {
        event->within = access->bytes && !insn->repeated ? access->bytes : UINT16_MAX;
        return;
    }
    event->frame_start = (uint64_t)(access->displacement - offset);
    event->frame_end = event->frame_start + access->bytes;
}

static struct event event_of(const struct currency_code *code, const struct isa_insn *insn,
                             bool framed)
{
    struct event event = {.address = insn->address,
                          .calls = insn->flow == ISA_CALL || insn->flow == ISA_SYSCALL};
    for (unsigned i = 0; i < insn->access_count; i++) {
        if (is_elsewhere(&insn->accesses[i], framed))
            note_frame(code, insn, &insn->accesses[i], &event);
        note_access(&insn->accesses[i], framed, insn->repeated, &event);
    }
    return event;
}

/* push %rbp; mov %rsp,%rbp at the entry, behind endbr64 perhaps: then rbp is where the frame is. */
static bool has_frame(const struct cfg *flow, const uint8_t *bytes)
{
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, sets[] = {0x55, 0x48, 0x89, 0xe5};
    size_t count = (size_t)(flow->end - flow->start), at = 0;
    for (size_t i = 0; i < sizeof endbr && count > i && bytes[i] == endbr[i]; i++)
        at = i + 1 == sizeof endbr ? sizeof endbr : 0;
    for (size_t i = 0; i < sizeof sets; i++)
        if (at + i >= count || bytes[at + i] != sets[i])
            return false;
    return true;
}

static uint32_t place_of(const struct currency_code *code, uint64_t address)
{
    size_t at = BASE_FIRST(i, code->spans_count, code->spans[i].end > address);
    return at < code->spans_count && code->spans[at].start <= address ? code->spans[at].place : 0;
}

static void set_lines(const struct currency_code *code, struct event *event)
{
    size_t at = BASE_FIRST(i, code->marks_count, code->marks[i].address >= event->address);
    event->marks = (uint32_t)at;
    while (at < code->marks_count && code->marks[at].address == event->address)
        at++;
    event->marks_count = (uint32_t)at - event->marks;
    event->place = place_of(code, event->address);
}

/* False: no memory. */
static bool decode_block(struct currency *currency, uint32_t number, size_t *capacity, bool framed)
{
    const struct currency_code *code = &currency->code;
    const struct cfg_block *block = &code->flow->blocks[number];
    uint64_t at = block->start;
    for (uint32_t i = 0; i < block->instructions && at < block->end; i++) {
        struct isa_insn insn;
        if (isa_decode(code->bytes + (at - code->flow->start), (size_t)(block->end - at), at,
                       &insn) != BASE_OK)
            break;
        struct event event = event_of(code, &insn, framed);
        set_lines(code, &event);
        if (!UTIL_PUSH(currency->events, currency->count, *capacity, event))
            return false;
        at += insn.length;
    }
    return true;
}

enum base_status currency_open(const struct currency_code *code, struct currency **currency)
{
    const struct cfg *flow = code->flow;
    size_t capacity = 0;
    if (!flow->blocks_count || flow->flags & (CFG_LARGE | CFG_OVERLAPPING))
        return BASE_UNSUPPORTED;
    struct currency *made = calloc(1, sizeof *made);
    if (!made)
        return BASE_NO_MEMORY;
    made->code = *code;
    made->first = calloc(flow->blocks_count + 1, sizeof *made->first);
    bool good = made->first != NULL, framed = has_frame(flow, code->bytes);
    for (uint32_t i = 0; good && i < flow->blocks_count; i++) {
        made->first[i] = (uint32_t)made->count;
        good = decode_block(made, i, &capacity, framed);
    }
    if (!good) {
        currency_close(made);
        return BASE_NO_MEMORY;
    }
    made->first[flow->blocks_count] = (uint32_t)made->count;
    *currency = made;
    return BASE_OK;
}

void currency_close(struct currency *currency)
{
    if (!currency)
        return;
    free(currency->events);
    free(currency->first);
    free(currency);
}

uint64_t currency_store(const struct currency *currency, uint64_t from, uint64_t start,
                        uint64_t bytes)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < currency->count; i++) {
        const struct event *event = &currency->events[i];
        if (event->address >= from && event->address < first && event->start < start + bytes &&
            event->end > start)
            first = event->address;
    }
    return first;
}
