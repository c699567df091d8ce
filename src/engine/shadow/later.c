// SPDX-License-Identifier: MIT
/* Events, written for others to count: the rare cases. */
#include "shadow/internal.h"

enum base_status shadow_count_later(struct shadow *shadow, struct shadow_event *events,
                                    struct shadow_event *end,
                                    void (*next_chunk)(struct shadow *shadow))
{
    const struct shadow_memory *memory = &shadow->memory;
    uint8_t *executed = memory->map(memory->context, shadow->ids_capacity, true);
    if (!executed)
        return BASE_NO_MEMORY;
    shadow->executed = executed;
    shadow->events = events;
    shadow->events_end = end;
    shadow->next_chunk = next_chunk;
    return BASE_OK;
}

struct shadow_event *shadow_next_event(struct shadow *shadow)
{
    shadow->next_chunk(shadow);
    return shadow->events;
}

void shadow_executed(struct shadow *shadow, uint32_t id)
{
    shadow->executed[id]++;
    if (--shadow->appearances == 0)
        shadow_appeared(shadow);
}

struct shadow_pair *shadow_write_pair(struct shadow *shadow, uint32_t first, uint32_t second)
{
    struct shadow_event *event = shadow->events;
    if (event >= shadow->events_end)
        event = shadow_next_event(shadow);
    struct shadow_pair *pair = (struct shadow_pair *)(event + 1);
    _Static_assert(sizeof *pair == (SHADOW_EVENTS_AT_ONCE - 1) * sizeof *event, "behind its event");
    *event = (struct shadow_event){.id = second, .what = SHADOW_EVENT_PAIR};
    *pair = (struct shadow_pair){.first = first, .second = second};
    shadow->events = event + SHADOW_EVENTS_AT_ONCE;
    if (SHADOW_RARE(shadow->executed[second] < SHADOW_EXECUTED_FIRST))
        shadow_executed(shadow, second);
    return pair;
}
