// SPDX-License-Identifier: MIT
/*
 * Fuzzes the import of timed spans: the input is a list of overwrites of the region that a program
 * shares with headroom, or of the raw log beside it. Whatever comes out must be a profile that can
 * be read again and reported.
 */
#include "../unit/spans_fixture.h"

#include "import/import.h"
#include "show/report.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fixture fixture;
static unsigned char *sound; /* the region as it was */
static size_t sound_bytes;
static unsigned char *log_bytes;
static size_t log_count;
static FILE *nowhere;

static void make_log(void)
{
    struct fixture_writer writer = fixture_writer(&fixture, 1, 40, "prog");
    fixture_process(&writer);
    fixture_node(&writer, 1, 0, 0x11028);
    fixture_node(&writer, 2, 1, 0x1202a);
    fixture_end(&fixture, &writer);
    FILE *file = fopen(fixture.log_path, "r");
    fixture_require(file != NULL);
    fseek(file, 0, SEEK_END);
    log_count = (size_t)ftell(file);
    log_bytes = malloc(log_count);
    rewind(file);
    fixture_require(log_bytes && fread(log_bytes, 1, log_count, file) == log_count);
    fclose(file);
}

static void make_region(void)
{
    uint32_t lock = fixture_function(&fixture, "pthread_mutex_lock", SPANS_LOCK, SPANS_IMPORT,
                                     SPANS_KEY_VALUE, 0);
    uint32_t work = fixture_function(&fixture, "work", SPANS_CODE, SPANS_PATCHED, 0, 0x12000);
    for (uint32_t t = 0; t < 2; t++) {
        struct spans_thread *thread = fixture_thread(&fixture, 1, t ? 0 : 40, FIXTURE_TICKS);
        struct spans_span *span = fixture_span(thread, lock, 5, 0);
        fixture_run(span, 1000, 100, t);
        fixture_run(span, 1000, 5000, t);
        span->stacks_count = 1;
        span->stacks[0] = (struct spans_stack){1, 2, 3, 4};
        span->holders[0] = (struct spans_holder){0x501050, 7, 8};
        span = fixture_span(thread, work, 0, 9);
        span->children_count = 1;
        span->children[0] = (struct spans_child){lock, 2, 0};
        for (uint64_t i = 0; i < 40; i++)
            fixture_run(span, 50, 10000 + 100 * i, i);
        span->within = span->sum / 2;
        span = fixture_span(thread, 0, 0, 11);
        span->flags = SPANS_SEQUENCE;
        fixture_run(span, 2000, 20000, 0);
    }
    sound_bytes = fixture.region->next;
    sound = malloc(sound_bytes);
    fixture_require(sound != NULL);
    memcpy(sound, fixture.bytes, sound_bytes);
}

static void prepare(void)
{
    if (nowhere)
        return;
    nowhere = fopen("/dev/null", "w");
    fixture_region(&fixture);
    fixture_log(&fixture);
    make_log();
    make_region();
}

/* Places that decide what is read: most overwrites go there. */
static size_t place_in_region(uint32_t place)
{
    size_t first = (sizeof(struct spans_region) + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE;
    size_t thread = (sound_bytes - first) / 2, at = place >> 3;
    switch (place & 7) {
    case 0: return at % (sound_bytes - 8);
    case 1: return at % offsetof(struct spans_region, function);
    case 2:
        return offsetof(struct spans_region, function) + at % (4 * sizeof(struct spans_function));
    case 3: return first + at % offsetof(struct spans_thread, events_ring);
    case 4: return first + thread + at % offsetof(struct spans_thread, events_ring);
    default:
        return first + (place & 1 ? thread : 0) + offsetof(struct spans_thread, span) +
               at % (3 * sizeof(struct spans_span));
    }
}

/* Four bytes of place and eight of content each. */
static void scribble(const uint8_t *data, size_t size)
{
    memcpy(fixture.bytes, sound, sound_bytes);
    FILE *log = fopen(fixture.log_path, "r+");
    fixture_require(log != NULL);
    fixture_require(fwrite(log_bytes, 1, log_count, log) == log_count);
    for (; size >= 12; data += 12, size -= 12) {
        uint32_t place;
        memcpy(&place, data, sizeof place);
        if (place >> 28 == 15) {
            fseek(log, (long)(place % (log_count - 8)), SEEK_SET);
            fwrite(data + 4, 1, 8, log);
        } else {
            memcpy(fixture.bytes + place_in_region(place & 0xfffffff), data + 4, 8);
        }
    }
    fclose(log);
}

static void report(void)
{
    static const char *const keys[] = {"pthread_mutex_lock:0", "work:0", "work:result"};
    struct report_options options = {.keys = keys, .keys_count = 3};
    struct profile *profile = NULL;
    char error[PROFILE_ERROR_BYTES];
    fixture_require(profile_read(fixture.profile_path, &profile, error, sizeof error) == BASE_OK);
    fixture_require(report_json(profile, &options, nowhere) == BASE_OK);
    fixture_require(report_text(profile, &options, nowhere) == BASE_OK);
    profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *command[] = {"prog", NULL};
    struct import_run run = {.verb = "interference", .engine = "live", .command = command};
    struct binary_options symbols = {0};
    char error[512];
    prepare();
    scribble(data, size);
    if (import_spans(fixture.log_path, fixture.file, &run, NULL, 0, &symbols, fixture.profile_path,
                     NULL, NULL, error, sizeof error) == BASE_OK)
        report();
    return 0;
}
