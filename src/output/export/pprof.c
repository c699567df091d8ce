// SPDX-License-Identifier: MIT
/*
 * pprof's profile.proto, compressed with gzip (https://github.com/google/pprof,
 * proto/profile.proto). A location is one address with the functions inlined there as its lines,
 * innermost first; samples list locations from the leaf.
 *
 * The message is written field by field, so only one sample at a time is in memory, and what
 * numbers locations.
 */
#include "export/proto.h"
#include "export/walk.h"

#include <stdlib.h>
#include <zlib.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    MAPPING_ID = 1,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_INLINE_FRAMES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION_ID = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
};

struct node {               /* a location: `place` inlined into the location `parent`             */
    uint32_t parent, place; /* parent: index + 1; 0: not inlined                                 */
};

struct writer {
    struct walk *walk;
    FILE *out;
    z_stream stream;
    struct util_text field, inner, part; /* scratch: a field of the profile, a message, one in it */
    struct numbered nodes;
    uint32_t *places;
    bool failed;
};

/* ---- output --------------------------------------------------------------------------------- */

static void compress_bytes(struct writer *writer, char *bytes, size_t count, int flush)
{
    unsigned char compressed[16384];
    writer->stream.next_in = (Bytef *)bytes;
    writer->stream.avail_in = (uInt)count;
    do {
        writer->stream.next_out = compressed;
        writer->stream.avail_out = sizeof compressed;
        deflate(&writer->stream, flush);
        fwrite(compressed, 1, sizeof compressed - writer->stream.avail_out, writer->out);
    } while (writer->stream.avail_out == 0);
}

/* zlib counts in 32 bits. */
enum { PIECE = 1 << 30 };

static void flush_field(struct writer *writer)
{
    writer->failed |= writer->field.failed;
    for (size_t done = 0; !writer->failed && done < writer->field.count; done += PIECE) {
        size_t left = writer->field.count - done;
        compress_bytes(writer, writer->field.bytes + done, left < PIECE ? left : PIECE, Z_NO_FLUSH);
    }
    writer->field.count = 0;
}

/* The message in writer->inner as a field of the profile. */
static void put(struct writer *writer, unsigned field)
{
    proto_message(&writer->field, field, &writer->inner);
    flush_field(writer);
    writer->inner.count = 0;
}

/* The message in writer->part as a field of writer->inner. */
static void put_part(struct writer *writer, unsigned field)
{
    proto_message(&writer->inner, field, &writer->part);
    writer->part.count = 0;
}

/* ---- parts of the profile ------------------------------------------------------------------- */

static void put_types(struct writer *writer)
{
    struct walk *walk = writer->walk;
    for (size_t c = 0; c < walk->columns_count; c++) {
        const struct walk_metric *metric = &walk->metrics[walk->columns[c]];
        proto_number(&writer->inner, VALUE_TYPE, walk_string(walk, metric->name));
        proto_number(&writer->inner, VALUE_UNIT, walk_string(walk, metric->unit));
        put(writer, PROFILE_SAMPLE_TYPE);
    }
    proto_number(&writer->field, PROFILE_DEFAULT_SAMPLE_TYPE,
                 walk_string(walk, walk->metrics[walk->columns[0]].name));
    proto_number(&writer->field, PROFILE_TIME_NANOS, walk->profile->run.start_ns);
    if (walk->profile->run.wall_s > 0 && walk->profile->run.wall_s < 1e9)
        proto_number(&writer->field, PROFILE_DURATION_NANOS,
                     (uint64_t)(walk->profile->run.wall_s * 1e9));
    flush_field(writer);
}

static void put_mapping(struct writer *writer, uint32_t module)
{
    const struct profile_module *row = &writer->walk->profile->modules[module];
    char id[2 * PROFILE_BUILD_ID_BYTES + 1] = "";
    for (uint32_t b = 0; b < row->build_id_bytes; b++)
        snprintf(id + 2 * b, 3, "%02x", row->build_id[b]);
    proto_number(&writer->inner, MAPPING_ID, module);
    proto_number(&writer->inner, MAPPING_FILENAME, writer->walk->modules[module]);
    proto_number(&writer->inner, MAPPING_BUILD_ID, walk_string(writer->walk, id));
    for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
        proto_number(&writer->inner, field, 1); /* nothing is left to look up */
    put(writer, PROFILE_MAPPING);
}

/* Readers take the first one for the program. */
static void put_mappings(struct writer *writer)
{
    const struct profile *profile = writer->walk->profile;
    const char *program = profile->processes_count ? profile->processes[0].exe : NULL;
    uint32_t main = 0;
    for (uint32_t i = 1; i < profile->modules_count && program && !main; i++)
        if (strcmp(profile->modules[i].path, program) == 0)
            main = i;
    if (main)
        put_mapping(writer, main);
    for (uint32_t i = 1; i < profile->modules_count; i++)
        if (i != main)
            put_mapping(writer, i);
}

static void put_functions(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->walk->functions.count; i++) {
        const struct walk_function *function = walk_function(writer->walk, i);
        proto_number(&writer->inner, FUNCTION_ID, i + 1);
        proto_number(&writer->inner, FUNCTION_NAME, function->name);
        proto_number(&writer->inner, FUNCTION_SYSTEM_NAME, function->name);
        proto_number(&writer->inner, FUNCTION_FILENAME, function->file);
        put(writer, PROFILE_FUNCTION);
    }
}

static void put_locations(struct writer *writer)
{
    const struct node *nodes = writer->nodes.items;
    for (size_t i = 0; i < writer->nodes.count && !ferror(writer->out); i++) {
        const struct walk_place *place = walk_place(writer->walk, nodes[i].place);
        proto_number(&writer->inner, LOCATION_ID, i + 1);
        proto_number(&writer->inner, LOCATION_MAPPING_ID,
                     walk_function(writer->walk, place->function)->module);
        proto_number(&writer->inner, LOCATION_ADDRESS, place->address);
        for (size_t at = i + 1; at; at = nodes[at - 1].parent) {
            const struct walk_place *line = walk_place(writer->walk, nodes[at - 1].place);
            proto_number(&writer->part, LINE_FUNCTION_ID, line->function + 1);
            proto_number(&writer->part, LINE_LINE, line->line);
            put_part(writer, LOCATION_LINE);
        }
        put(writer, PROFILE_LOCATION);
    }
}

/* What was degraded: `pprof -comments` shows it. */
static void put_comments(struct writer *writer)
{
    const struct profile *profile = writer->walk->profile;
    for (size_t i = 0; i < profile->degraded_count; i++) {
        proto_number(&writer->field, PROFILE_COMMENT,
                     walk_string(writer->walk, profile->degraded[i].text));
        flush_field(writer);
    }
}

static void put_strings(struct writer *writer)
{
    for (size_t i = 0; i < writer->walk->strings.count; i++) {
        const char *text = writer->walk->strings.texts[i];
        proto_bytes(&writer->field, PROFILE_STRING_TABLE, text, strlen(text));
        flush_field(writer);
    }
}

/* ---- samples -------------------------------------------------------------------------------- */

/* location: index + 1. What is no code has nothing inlined. */
static bool is_inlined_into(const struct writer *writer, uint32_t place, uint32_t location)
{
    const struct node *caller = (const struct node *)writer->nodes.items + (location - 1);
    return walk_place(writer->walk, place)->inlined &&
           !walk_place(writer->walk, caller->place)->named;
}

/* Places, root first, become locations in the same array; how many. */
static size_t find_locations(struct writer *writer, uint32_t *places, size_t depth)
{
    size_t count = 0;
    for (size_t i = 0; i < depth; i++) {
        struct node node = {0, places[i]};
        if (count && is_inlined_into(writer, places[i], places[count - 1]))
            node.parent = places[--count];
        uint32_t id = numbered_id(&writer->nodes, &node);
        writer->failed |= id == UINT32_MAX;
        if (writer->failed)
            return 0;
        places[count++] = id + 1;
    }
    return count;
}

static void put_label(struct writer *writer, const char *key, uint32_t text)
{
    if (!text)
        return;
    proto_number(&writer->part, LABEL_KEY, walk_string(writer->walk, key));
    proto_number(&writer->part, LABEL_TEXT, text);
    put_part(writer, SAMPLE_LABEL);
}

static uint32_t place_name(const struct walk *walk, uint32_t place)
{
    return walk_function(walk, walk_place(walk, place)->function)->name;
}

static void put_sample(struct writer *writer, const struct walk_sample *sample)
{
    struct walk *walk = writer->walk;
    uint32_t *places = writer->places;
    size_t inner, depth = walk_stack(walk, sample, places, &inner);
    bool two = sample->kind->separator;
    uint32_t first = depth > inner ? place_name(walk, places[depth - 1]) : 0;
    uint32_t second = two && inner > 1 ? place_name(walk, places[inner - 2]) : 0;
    size_t count = find_locations(writer, places, depth);
    for (size_t i = count; i-- > 0;)
        proto_varint(&writer->part, places[i]);
    put_part(writer, SAMPLE_LOCATION_ID);
    for (size_t c = 0; c < walk->columns_count; c++)
        proto_varint(&writer->part, walk_value(walk, sample, c));
    put_part(writer, SAMPLE_VALUE);
    put_label(writer, "kind", walk_string(walk, sample->kind->name));
    put_label(writer, "first", two ? first : 0);
    put_label(writer, "second", second);
    put_label(writer, "detail", sample->detail);
    put(writer, PROFILE_SAMPLE);
}

bool write_pprof(struct walk *walk, FILE *out)
{
    struct writer writer = {.walk = walk,
                            .out = out,
                            .nodes = {.bytes = sizeof(struct node),
                                      .most = walk_most_stacks(walk),
                                      .full = &walk->full}};
    enum { GZIP = 16 }; /* added to the window's size: a gzip file, not zlib's own form */
    writer.places = malloc(WALK_STACK * sizeof *writer.places);
    if (!writer.places || deflateInit2(&writer.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                       MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(writer.places);
        return false;
    }
    put_types(&writer);
    put_mappings(&writer);
    for (size_t i = 0; i < walk->samples_count && !writer.failed && !ferror(out); i++)
        put_sample(&writer, &walk->samples[i]);
    put_functions(&writer);
    put_locations(&writer);
    put_comments(&writer);
    put_strings(&writer);
    compress_bytes(&writer, NULL, 0, Z_FINISH);
    deflateEnd(&writer.stream);
    util_text_free(&writer.field);
    util_text_free(&writer.inner);
    util_text_free(&writer.part);
    numbered_free(&writer.nodes);
    free(writer.places);
    return !writer.failed && !walk->failed;
}
