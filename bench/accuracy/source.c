// SPDX-License-Identifier: MIT
/*
 * Events: of a trace, or made up. The made-up programs have answers that are known without
 * counting; bench/accuracy/check asks for them.
 */
#include "simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- traces ------------------------------------------------------------------------------- */

static void *map_predictor(void)
{
    void *memory = mmap(NULL, wire_trace_predictor_bytes(SHADOW_IDS_MAX), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_predictor(void *predictor)
{
    if (predictor)
        munmap(predictor, wire_trace_predictor_bytes(SHADOW_IDS_MAX));
}

struct trace_source {
    struct source source;
    struct wire_trace_reader *reader;
    void *predictor;
    int descriptor;
};

static int64_t read_descriptor(void *context, void *bytes, size_t count)
{
    struct trace_source *trace = context;
    ssize_t got;
    do
        got = read(trace->descriptor, bytes, count);
    while (got < 0 && errno == EINTR);
    return got;
}

static enum base_status trace_next(struct source *source, struct wire_trace_event *event)
{
    return wire_trace_next(((struct trace_source *)source)->reader, event);
}

static void trace_close(struct source *source)
{
    struct trace_source *trace = (struct trace_source *)source;
    if (trace->descriptor > 0)
        close(trace->descriptor);
    unmap_predictor(trace->predictor);
    free(trace->reader);
    free(trace);
}

struct source *source_open_trace(const char *path)
{
    struct trace_source *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    trace->source = (struct source){.next = trace_next, .close = trace_close};
    trace->descriptor = strcmp(path, "-") == 0 ? 0 : open(path, O_RDONLY | O_CLOEXEC);
    if (trace->descriptor < 0) {
        fprintf(stderr, "simulate: %s: %s\n", path, strerror(errno));
        free(trace);
        return NULL;
    }
    trace->reader = calloc(1, wire_trace_reader_bytes());
    trace->predictor = map_predictor();
    enum base_status status = BASE_NO_MEMORY;
    if (trace->reader && trace->predictor)
        status = wire_trace_open(trace->reader, trace->predictor, SHADOW_IDS_MAX, read_descriptor,
                                 trace);
    if (status != BASE_OK) {
        fprintf(stderr, "simulate: %s is no trace: %s\n", path, base_status_text(status));
        trace_close(&trace->source);
        return NULL;
    }
    trace->source.has_values = wire_trace_has_values(trace->reader);
    return &trace->source;
}

/* ---- writing a trace ------------------------------------------------------------------------- */

struct copy {
    struct wire_trace_writer *writer;
    void *predictor;
    FILE *file;
    bool failed;
};

static bool write_file(void *context, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, context) == count;
}

struct copy *copy_open(const char *path)
{
    struct copy *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    copy->writer = calloc(1, wire_trace_writer_bytes());
    copy->predictor = map_predictor();
    copy->file = copy->writer && copy->predictor ? fopen(path, "wb") : NULL;
    if (!copy->file) {
        fprintf(stderr, "simulate: %s: %s\n", path, strerror(errno));
        copy_close(copy);
        return NULL;
    }
    wire_trace_begin(copy->writer, copy->predictor, SHADOW_IDS_MAX, true, write_file, copy->file);
    return copy;
}

void copy_event(struct copy *copy, const struct wire_trace_event *event)
{
    copy->failed = !wire_trace_write(copy->writer, event) || copy->failed;
}

bool copy_close(struct copy *copy)
{
    bool whole = !copy->failed;
    if (copy->file)
        whole = fclose(copy->file) == 0 && whole;
    unmap_predictor(copy->predictor);
    free(copy->writer);
    free(copy);
    return whole;
}

/* ---- made-up programs ------------------------------------------------------------------------ */

enum { QUEUE = 16, PATTERN_SITES = 16, PATTERN_BASE = 0x10000000, FAR_OFF = 0x40000000 };

struct queued {
    struct wire_trace_event event;
    uint8_t value[WIRE_TRACE_BYTES_MAX];
};

enum { MODULE_PROGRAM = 1, MODULE_LIBRARY };

/* One access instruction; its node has the same number. A list ends with bytes 0. */
struct site {
    uint8_t bytes, element;
    bool store;
};

struct pattern {
    struct source source;
    const struct pattern_type *type;
    struct base_random random;
    uint64_t step, accesses, limit;
    size_t head, count;
    struct queued queue[QUEUE];
    bool defined, ended;
};

struct pattern_type {
    const char *name, *what;
    struct site sites[PATTERN_SITES]; /* site i is access id i + 1, node i + 1 */
    void (*go_on)(struct pattern *pattern, uint64_t step); /* queues the events of one step */
};

static struct queued *enqueue(struct pattern *pattern, uint8_t type)
{
    struct queued *queued = &pattern->queue[(pattern->head + pattern->count++) % QUEUE];
    memset(queued, 0, sizeof *queued);
    queued->event.type = type;
    return queued;
}

/* The value is repeated over the access's width. */
static void enqueue_access(struct pattern *pattern, uint32_t id, uint64_t address, uint64_t value)
{
    const struct site *site = &pattern->type->sites[id - 1];
    struct queued *queued = enqueue(pattern, site->store ? WIRE_TRACE_STORE : WIRE_TRACE_LOAD);
    queued->event.id = id;
    queued->event.address = address;
    queued->event.bytes = site->bytes;
    for (unsigned i = 0; i < site->bytes; i += sizeof value)
        memcpy(queued->value + i, &value, sizeof value);
    queued->event.value = queued->value;
    pattern->accesses++;
}

static uint64_t word(uint64_t index)
{
    return PATTERN_BASE + index * 8;
}

/*
 * Each of 4096 words: stored (1), stored (2) with the same value every other time, loaded (3),
 * loaded again (4); every round has a value of its own.
 */
static void half(struct pattern *pattern, uint64_t step)
{
    uint64_t round = step / 4096 + 1, address = word(step % 4096);
    uint64_t second = step % 2 ? round : round + ((uint64_t)1 << 40);
    enqueue_access(pattern, 1, address, round);
    enqueue_access(pattern, 2, address, second);
    enqueue_access(pattern, 3, address, second);
    enqueue_access(pattern, 4, address, second);
}

/* witch's listing 3 with 100 K iterations a loop. */
static void listing3(struct pattern *pattern, uint64_t step)
{
    enum { LOOP = 100000 };
    uint64_t index = step % LOOP;
    switch (step / LOOP % 3) {
    case 0: enqueue_access(pattern, 1, word(index), step); break;
    case 1:
        enqueue_access(pattern, 2, FAR_OFF, step);
        enqueue_access(pattern, 3, FAR_OFF, step);
        break;
    default: enqueue_access(pattern, 4, word(index), step); break;
    }
}

/* witch's figure 2: dead stores in the ratio 3:2:1; every second store is loaded. */
static void figure2(struct pattern *pattern, uint64_t step)
{
    enum { UNIT = 10000, ROUND = 3 * (3 + 2 + 1) * UNIT };
    uint64_t at = step % ROUND;
    if (at < 9 * UNIT) {
        enqueue_access(pattern, 1 + (uint32_t)(at / (3 * UNIT)), word(at % (3 * UNIT)), step);
        return;
    }
    at -= 9 * UNIT;
    if (at < 6 * UNIT) {
        enqueue_access(pattern, 4 + (uint32_t)(at / (2 * UNIT)), FAR_OFF + word(at % (2 * UNIT)),
                       step);
        return;
    }
    enqueue_access(pattern, 7 + (uint32_t)(at % 3), FAR_OFF, step);
}

/*
 * One context whose stores fare in two ways: every other one is overwritten immediately by the next but
 * one, the others are loaded 100 K accesses later.
 */
static void late(struct pattern *pattern, uint64_t step)
{
    enum { LOOP = 50000 };
    uint64_t index = step % LOOP;
    if (step / LOOP % 2 == 0) {
        enqueue_access(pattern, 1, FAR_OFF, step);
        enqueue_access(pattern, 1, word(index), step);
    } else {
        enqueue_access(pattern, 2, word(index), step - LOOP);
    }
}

/*
 * A program (1) stores to each of 4096 words, a library loads every other one (2) and makes two
 * dead stores of its own (3, 4).
 */
static void library(struct pattern *pattern, uint64_t step)
{
    uint64_t address = word(step % 4096);
    enqueue_access(pattern, 1, address, step);
    if (step % 2)
        enqueue_access(pattern, 2, address, step);
    enqueue_access(pattern, 3, FAR_OFF, step);
    enqueue_access(pattern, 4, FAR_OFF, step);
}

/* Independent accesses: half to 10 K words, half to 200 K. */
static void independent(struct pattern *pattern, uint64_t step)
{
    struct base_random *random = &pattern->random;
    uint64_t draw = base_random_next(random);
    uint64_t index =
        draw & 1 ? base_random_below(random, 10000) : 10000 + base_random_below(random, 200000);
    enqueue_access(pattern, draw & 2 ? 1 : 2, word(index), step);
}

/* 65536 lines over and over. */
static void sweep(struct pattern *pattern, uint64_t step)
{
    enqueue_access(pattern, 1 + step % 2, PATTERN_BASE + step % 65536 * 64, 0);
}

/*
 * Everything at once: widths, floats, the kernel, memory that goes away. What `shadow` and a
 * sampler define differently is left out: floats have memory of their own, because where an
 * integer store has changed part of one, `shadow` compares the rest of it bit for bit and a
 * sampler, which does not see that store, the whole within the tolerance; and all is aligned,
 * because `shadow` takes two executions of one instruction in one element for the same former
 * access.
 */
static void medley(struct pattern *pattern, uint64_t step)
{
    struct base_random *random = &pattern->random;
    uint32_t id = 1 + (uint32_t)base_random_below(random, 12);
    const struct site *site = &pattern->type->sites[id - 1];
    uint64_t address = PATTERN_BASE + base_random_below(random, 4096);
    bool is_float = (site->element & SHADOW_FLOAT) != 0;
    address &= -(uint64_t)site->bytes;
    double number = 1 + (double)base_random_below(random, 3) / 200;
    uint64_t value = base_random_below(random, 2) * UINT64_C(0x0101010101010101);
    if (is_float)
        memcpy(&value, &number, sizeof value);
    /* What a load yields must be what is there: loads are of memory that stays zero. */
    address += is_float ? FAR_OFF / 2 : site->store ? 0 : FAR_OFF;
    enqueue_access(pattern, id, address, site->store ? value : 0);
    if (step % 1000 == 999) {
        struct queued *queued = enqueue(pattern, WIRE_TRACE_KERNEL_LOAD);
        queued->event.id = 13;
        queued->event.address = PATTERN_BASE + base_random_below(random, 2048);
        queued->event.bytes = 1 + base_random_below(random, 2048);
    }
    if (step % 5000 == 4999) {
        struct queued *queued = enqueue(pattern, WIRE_TRACE_KERNEL_STORE);
        queued->event.id = 13;
        queued->event.address = PATTERN_BASE + base_random_below(random, 4000);
        queued->event.bytes = 64;
        queued->event.value = queued->value;
    }
    if (step % 100000 == 99999) {
        struct queued *queued = enqueue(pattern, WIRE_TRACE_FORGET);
        queued->event.address = PATTERN_BASE;
        queued->event.bytes = 8192;
    }
}

static const struct pattern_type types[] = {
    {"half",
     "dead 1/2, silent 1/4, load 1/2; one pair each",
     {{8, 8, true}, {8, 8, true}, {8, 8, false}, {8, 8, false}},
     half},
    {"listing3",
     "all stores dead, four pairs of 1/4",
     {{8, 8, true}, {8, 8, true}, {8, 8, true}, {8, 8, true}},
     listing3},
    {"figure2",
     "dead 1/2, three pairs in the ratio 3:2:1",
     {{8, 8, true},
      {8, 8, true},
      {8, 8, false},
      {8, 8, true},
      {8, 8, true},
      {8, 8, false},
      {8, 8, true},
      {8, 8, true},
      {8, 8, false}},
     figure2},
    {"late",
     "dead 1/2 in one context: the dead ones soon, the used ones late",
     {{8, 8, true}, {8, 8, false}},
     late},
    {"library",
     "a program's stores, half of them dead; a library's, all dead",
     {{8, 8, true}, {8, 8, false}, {8, 8, true}, {8, 8, true}},
     library},
    {"independent",
     "independent accesses to two sets of words",
     {{8, 8, true}, {8, 8, false}},
     independent},
    {"sweep", "every line after 65536 accesses", {{8, 8, true}, {8, 8, false}}, sweep},
    {"medley",
     "all widths, the kernel, memory that goes away",
     {{1, 1, true},
      {2, 2, true},
      {4, 4, true},
      {8, 8, true},
      {16, 8, true},
      {32, 4, true},
      {8, SHADOW_FLOAT | 8, true},
      {16, SHADOW_FLOAT | 8, true},
      {4, 4, false},
      {8, 8, false},
      {32, 8, false},
      {1, 1, false},
      {8, 1, true}},
     medley},
};

void source_list_patterns(FILE *out)
{
    for (size_t i = 0; i < BASE_COUNT(types); i++)
        fprintf(out, "    %-12s %s\n", types[i].name, types[i].what);
}

/* Of a site; 0: none is given. */
static uint8_t module_of(const struct pattern_type *type, size_t number)
{
    if (type->go_on != library)
        return 0;
    return number ? MODULE_LIBRARY : MODULE_PROGRAM;
}

static void define_module(struct pattern *pattern, uint8_t module)
{
    static const char *const paths[] = {
        [MODULE_PROGRAM] = "/made/up/program", [MODULE_LIBRARY] = "/made/up/library"};
    struct queued *queued = enqueue(pattern, WIRE_TRACE_MODULE);
    queued->event.id = module;
    queued->event.bytes = strlen(paths[module]) + 1;
    queued->event.value = (const uint8_t *)paths[module];
}

/* Definitions come one a step, before the first access. */
static bool define(struct pattern *pattern)
{
    const struct pattern_type *type = pattern->type;
    size_t number = pattern->step / 2;
    if (number >= PATTERN_SITES || !type->sites[number].bytes) {
        pattern->step = 0;
        return false;
    }
    bool node = pattern->step++ % 2 == 0;
    uint8_t module = module_of(type, number);
    if (node && module)
        define_module(pattern, module);
    struct queued *queued = enqueue(pattern, node ? WIRE_TRACE_NODE : WIRE_TRACE_ACCESS);
    queued->event.id = (uint32_t)number + 1;
    if (node) {
        queued->event.address = 0x1000 + 16 * number;
        queued->event.module = module;
    } else {
        queued->event.node = (uint32_t)number + 1;
        queued->event.bytes = type->sites[number].bytes;
        queued->event.element = type->sites[number].element;
        queued->event.store = type->sites[number].store;
    }
    return true;
}

static enum base_status pattern_next(struct source *source, struct wire_trace_event *event)
{
    struct pattern *pattern = (struct pattern *)source;
    if (!pattern->count && !pattern->defined)
        pattern->defined = !define(pattern);
    if (!pattern->count && pattern->accesses < pattern->limit)
        pattern->type->go_on(pattern, pattern->step++);
    if (!pattern->count && !pattern->ended) {
        enqueue(pattern, WIRE_TRACE_END);
        pattern->ended = true;
    }
    if (!pattern->count)
        return BASE_NOT_FOUND;
    *event = pattern->queue[pattern->head].event;
    pattern->head = (pattern->head + 1) % QUEUE;
    pattern->count--;
    return BASE_OK;
}

static void pattern_close(struct source *source)
{
    free(source);
}

struct source *source_open_pattern(const char *name, uint64_t accesses, uint64_t seed)
{
    const struct pattern_type *type = NULL;
    for (size_t i = 0; i < BASE_COUNT(types); i++)
        if (strcmp(types[i].name, name) == 0)
            type = &types[i];
    struct pattern *pattern = type ? calloc(1, sizeof *pattern) : NULL;
    if (!pattern) {
        fprintf(stderr, "simulate: no pattern %s; there are:\n", name);
        source_list_patterns(stderr);
        return NULL;
    }
    pattern->source = (struct source){pattern_next, pattern_close, true};
    pattern->type = type;
    pattern->limit = accesses;
    pattern->random.state = seed;
    return &pattern->source;
}
