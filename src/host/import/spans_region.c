// SPDX-License-Identifier: MIT
/*
 * Reads the region of timed spans: which functions there are, and the threads' pieces. Where no
 * piece begins, the next page is tried, so that one that was overwritten hides no others.
 */
#include "import/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The head fits into one read (instrumented_source_read). */
_Static_assert(sizeof(struct spans_region) < 1 << 18, "the head of the region is read at once");

static const uint64_t longest_ticks = UINT64_C(1) << 53; /* a month, with 4 GHz */
static const uint64_t longest_ns = UINT64_C(1) << 51;

bool spans_function_ok(const struct spans_import *import, uint32_t number)
{
    return number > 0 && number < import->functions &&
           import->region->function[number].state == SPANS_READY;
}

/* ---- the head -------------------------------------------------------------------------------- */

static double rate_of(uint64_t ticks_start, uint64_t ns_start, uint64_t ticks_end, uint64_t ns_end)
{
    double ticks = (double)ticks_end - (double)ticks_start, ns = (double)ns_end - (double)ns_start;
    double rate = ticks > 0 && ns > 0 ? ns / ticks : 0;
    return rate >= 0.02 && rate <= 100 ? rate : 0; /* of 50 GHz, of 10 MHz */
}

enum base_status spans_region_open(struct spans_import *import, int file, char *error,
                                   size_t error_bytes)
{
    enum base_status status =
        instrumented_source_attach(&import->source, file, sizeof(struct spans_region));
    import->region = status == BASE_OK ? calloc(1, sizeof *import->region) : NULL;
    if (status == BASE_OK && !import->region)
        status = BASE_NO_MEMORY;
    if (status == BASE_OK &&
        !instrumented_source_read(&import->source, 0, import->region, sizeof *import->region))
        status = BASE_IO;
    if (status != BASE_OK) {
        snprintf(error, error_bytes, "cannot read the recorded times: %s.",
                 status == BASE_NO_MEMORY ? "out of memory"
                 : import->source.failure ? strerror(import->source.failure)
                                          : "it is not there");
        return status;
    }
    struct spans_region *region = import->region;
    import->damaged += region->magic != SPANS_MAGIC || region->version != SPANS_VERSION;
    import->functions = region->functions < SPANS_FUNCTIONS ? region->functions : SPANS_FUNCTIONS;
    import->damaged += region->functions > SPANS_FUNCTIONS;
    for (uint32_t i = 0; i < SPANS_FUNCTIONS; i++)
        region->function[i].name[SPANS_NAME - 1] = 0;
    import->ns_per_tick =
        rate_of(region->ticks_start, region->ns_start, region->ticks_end, region->ns_end);
    return BASE_OK;
}

void spans_region_free(struct spans_import *import)
{
    instrumented_source_close(&import->source);
    util_index_free(&import->by_key);
    free(import->region);
    free(import->spans);
    free(import->parts);
    free(import->stacks);
    free(import->holders);
    free(import->samples);
    free(import->owners);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static uint64_t plausible(struct spans_import *import, uint64_t value, uint64_t most)
{
    if (value <= most)
        return value;
    import->damaged++;
    return 0;
}

static uint32_t spans_in(struct spans_import *import, const struct spans_thread *head)
{
    uint64_t room =
        (head->piece.bytes - offsetof(struct spans_thread, span)) / sizeof(struct spans_span);
    room = room < SPANS_OF_THREAD ? room : SPANS_OF_THREAD;
    import->damaged += head->spans > room;
    return head->spans < room ? head->spans : (uint32_t)room;
}

/* Without times: how long a tick is may not be known yet, and when the process ended. */
static bool add_thread(struct spans_import *import, const struct spans_thread *head,
                       uint32_t *index)
{
    *index = (uint32_t)import->profile->span_threads_count;
    struct profile_span_thread *thread = profile_add_span_threads(import->profile);
    if (!thread || !UTIL_GROW_ZEROED(import->owners, import->owners_capacity, *index))
        return false;
    uint64_t most = UINT64_C(1) << 48;
    *thread = (struct profile_span_thread){
        .process = head->piece.process,
        .owners = head->threads,
        .highest_every = head->highest_every,
        .cost_ns = (double)plausible(import, head->cost_ticks, longest_ticks),
        .preempted_ns = (double)plausible(import, head->preempted, longest_ticks),
        .asleep_ns = (double)plausible(import, head->asleep, longest_ticks),
        .preemptions = plausible(import, head->preemptions, most),
        .sleeps = plausible(import, head->sleeps, most),
        .events = plausible(import, head->events, most),
        .skipped = plausible(import, head->skipped, most),
        .unhooked = plausible(import, head->unhooked, most / 2) +
                    plausible(import, head->nested_signals, most / 2),
        .switches_lost = plausible(import, head->switches_lost, most),
    };
    import->owners[*index] = (struct spans_owner){
        .begun = head->begun,
        .ticks = plausible(import, head->ticks, longest_ticks),
        .process = head->piece.process,
        .live = head->live,
        .tid = head->tid,
        .cpu_ns = plausible(import, head->cpu_ns, longest_ns) +
                  (head->live ? plausible(import, head->cpu_now_ns, longest_ns) : 0),
    };
    memcpy(import->owners[*index].name, head->name, sizeof head->name);
    import->sequences_full += head->sequences_full != 0;
    if (import->ns_per_tick == 0)
        import->ns_per_tick = rate_of(import->region->ticks_start, import->region->ns_start,
                                      head->begun, head->begun_ns);
    return true;
}

static bool read_thread(struct spans_import *import, uint64_t offset, struct spans_thread *head,
                        struct spans_span *span)
{
    uint32_t thread;
    if (!instrumented_source_read(&import->source, offset, head,
                                  offsetof(struct spans_thread, events_ring)))
        return true;
    uint32_t count = spans_in(import, head);
    if (!add_thread(import, head, &thread))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = offset + offsetof(struct spans_thread, span) + i * sizeof *span;
        if (!instrumented_source_read(&import->source, at, span, sizeof *span))
            break;
        if (!spans_merge(import, head->piece.process, thread, span))
            return false;
    }
    return true;
}

static bool piece_ok(const struct spans_import *import, const struct spans_piece *piece,
                     uint64_t offset)
{
    uint64_t least = piece->kind == SPANS_PIECE_THREAD    ? offsetof(struct spans_thread, span)
                     : piece->kind == SPANS_PIECE_PROCESS ? sizeof(struct spans_process)
                     : piece->kind == SPANS_PIECE_LOOPS   ? sizeof(struct spans_loops)
                                                          : UINT64_MAX;
    return piece->bytes >= least && piece->bytes % SPANS_PAGE == 0 &&
           piece->bytes <= import->source.bytes - offset;
}

static bool read_pieces(struct spans_import *import, struct spans_thread *head,
                        struct spans_span *span)
{
    uint64_t offset = (sizeof(struct spans_region) + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE;
    uint64_t end = import->source.bytes, loops = 0;
    while ((offset = instrumented_source_data(&import->source, offset, end)) < end) {
        struct spans_piece piece;
        offset -= offset % SPANS_PAGE;
        if (!instrumented_source_read(&import->source, offset, &piece, sizeof piece))
            break;
        if (!piece_ok(import, &piece, offset)) {
            offset += SPANS_PAGE;
            continue;
        }
        /* The thread's own head is read anew: what it says of its size must be what was looked at.
         */
        head->piece = piece;
        if (piece.kind == SPANS_PIECE_THREAD && !read_thread(import, offset, head, span))
            return false;
        if (piece.kind == SPANS_PIECE_LOOPS)
            loops = offset;
        offset += piece.bytes;
    }
    return loops == 0 || spans_loops_read(import, loops); /* all threads are known now */
}

bool spans_region_read(struct spans_import *import)
{
    struct spans_thread *head = calloc(1, sizeof *head);
    struct spans_span *span = calloc(1, sizeof *span);
    bool good = head && span && read_pieces(import, head, span);
    free(head);
    free(span);
    return good;
}
