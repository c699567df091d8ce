// SPDX-License-Identifier: MIT
/* speedscope's own format (https://www.speedscope.app/file-format-schema.json): one "sampled"
 * profile a metric. */
#include "export/walk.h"

#include "show/json.h"

#include <inttypes.h>
#include <stdlib.h>

struct frame {
    uint32_t function, line;
};

/* Places that differ only in their address are one frame: the page takes each frame for a function
 * of its own. frames: by place; false: no memory. */
static bool number_frames(const struct walk *walk, struct numbered *numbers, uint32_t *frames)
{
    for (uint32_t i = 0; i < walk->places.count; i++) {
        struct frame frame = {walk_place(walk, i)->function, walk_place(walk, i)->line};
        frames[i] = numbered_id(numbers, &frame);
        if (frames[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static void frames_member(struct json *json, const struct walk *walk, const uint32_t *frames)
{
    uint32_t next = 0;
    json_begin(json, "shared", '{');
    json_begin(json, "frames", '[');
    for (uint32_t i = 0; i < walk->places.count; i++) {
        if (frames[i] != next)
            continue;
        next++;
        json_begin_item(json);
        json_text(json, "name", walk_name(walk, i));
        if (*walk_file(walk, i))
            json_text(json, "file", walk_file(walk, i));
        if (walk_place(walk, i)->line)
            json_count(json, "line", walk_place(walk, i)->line);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void samples_members(struct json *json, const struct walk *walk, size_t column,
                            const uint32_t *frames, uint32_t *places)
{
    json_begin(json, "samples", '[');
    for (size_t i = 0; i < walk->samples_count && !ferror(json->out); i++) {
        if (!walk_value(walk, &walk->samples[i], column))
            continue;
        size_t depth = walk_stack(walk, &walk->samples[i], places, NULL);
        json_item(json);
        json_open(json, '[');
        for (size_t p = 0; p < depth; p++) {
            json_item(json);
            fprintf(json->out, "%" PRIu32, frames[places[p]]);
        }
        json_close(json, ']');
    }
    json_close(json, ']');
    json_begin(json, "weights", '[');
    for (size_t i = 0; i < walk->samples_count && !ferror(json->out); i++) {
        uint64_t value = walk_value(walk, &walk->samples[i], column);
        if (!value)
            continue;
        json_item(json);
        fprintf(json->out, "%" PRIu64, value);
    }
    json_close(json, ']');
}

static void profile_object(struct json *json, const struct walk *walk, size_t column,
                           const uint32_t *frames, uint32_t *places)
{
    const struct walk_metric *metric = &walk->metrics[walk->columns[column]];
    bool known = strcmp(metric->unit, "bytes") == 0 || strcmp(metric->unit, "nanoseconds") == 0;
    json_begin_item(json);
    json_text(json, "type", "sampled");
    json_text(json, "name", metric->name);
    json_text(json, "unit", known ? metric->unit : "none");
    json_count(json, "startValue", 0);
    json_count(json, "endValue", metric->total);
    samples_members(json, walk, column, frames, places);
    json_close(json, '}');
}

static void write_file(struct json *json, const struct walk *walk, const uint32_t *frames,
                       uint32_t *places)
{
    json_open(json, '{');
    json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_text(json, "exporter", "headroom");
    json_text(json, "name",
              walk->profile->arguments_count ? walk->profile->arguments[0].text : "headroom");
    json_count(json, "activeProfileIndex", 0);
    frames_member(json, walk, frames);
    json_begin(json, "profiles", '[');
    for (size_t c = 0; c < walk->columns_count; c++)
        profile_object(json, walk, c, frames, places);
    json_close(json, ']');
    json_close(json, '}');
    putc('\n', json->out);
}

bool write_speedscope(struct walk *walk, FILE *out)
{
    struct json json = {.out = out};
    struct numbered numbers = {.bytes = sizeof(struct frame)};
    uint32_t *places = malloc(WALK_STACK * sizeof *places);
    uint32_t *frames = malloc((walk->places.count + 1) * sizeof *frames);
    bool good = places && frames && number_frames(walk, &numbers, frames);
    if (good)
        write_file(&json, walk, frames, places);
    numbered_free(&numbers);
    free(places);
    free(frames);
    return good;
}
