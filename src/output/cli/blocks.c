// SPDX-License-Identifier: MIT
/* Basic blocks as hexadecimal digits in, a table or JSON out. */
#include "cli/blocks.h"

#include "cli/verbs.h"
#include "show/json.h"
#include "show/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_FAILED = 1 };

/* ---- one block ------------------------------------------------------------------------------------------ */

struct answer {
    bool known;
    char why[96]; /* if not */
    struct bounds_block block;
    struct bounds bounds;
};

static void decode(const char *text, size_t count, struct answer *answer)
{
    uint8_t *bytes = NULL;
    size_t byte_count = 0, bad = 0;
    enum base_status status = bounds_hex(text, count, &bytes, &byte_count, &bad);
    if (status == BASE_MALFORMED) {
        snprintf(answer->why, sizeof answer->why,
                 "no hexadecimal digits of a byte at character %zu", bad + 1);
        return;
    }
    if (status == BASE_OK && byte_count == 0) {
        snprintf(answer->why, sizeof answer->why, "empty");
    } else if (status == BASE_OK) {
        status = bounds_decode(bytes, byte_count, 0, false, &answer->block, &bad);
        if (status == BASE_MALFORMED)
            snprintf(answer->why, sizeof answer->why, "no instruction at byte %zu", bad);
        else if (status == BASE_TOO_LARGE)
            snprintf(answer->why, sizeof answer->why, "more than %d instructions",
                     BOUNDS_INSTRUCTIONS_MAX);
    }
    if (status == BASE_NO_MEMORY)
        snprintf(answer->why, sizeof answer->why, "not enough memory");
    free(bytes);
}

static void answer_one(const struct blocks_request *request, const char *text, size_t count,
                       struct answer *answer)
{
    const struct bounds_options options = {
        .unrolled = !request->loop, .taken = request->loop, .latencies = request->latencies};
    answer->known = false;
    answer->why[0] = 0;
    answer->block.count = 0; /* its memory is kept for the next one */
    decode(text, count, answer);
    if (answer->why[0])
        return;
    answer->known = bounds_of(&answer->block, request->model, &options, &answer->bounds) == BASE_OK;
    if (!answer->known)
        snprintf(answer->why, sizeof answer->why, "not enough memory");
}

/* ---- JSON -------------------------------------------------------------------------------------------------- */

static void json_bounds(struct json *json, const struct answer *answer)
{
    const struct bounds *bounds = &answer->bounds;
    json_begin(json, "bounds", '{');
    json_decimal(json, "resource", bounds->resource, 3);
    json_decimal(json, "recurrence", bounds->recurrence, 3);
    json_decimal(json, "frontend", bounds->frontend, 3);
    json_close(json, '}');
    json_decimal(json, "certified", bounds->certified, 3);
    json_decimal(json, "predicted", bounds->predicted, 3);
    json_text(json, "limit", bounds_limit_names[bounds->limit]);
    json_text(json, "next", bounds_limit_names[bounds->next]);
    json_count(json, "unknown_instructions", bounds->unknown);
    json_begin(json, "ports", '[');
    for (size_t i = 0; i < bounds->resource_count; i++) {
        json_begin_item(json);
        json_text(json, "name", bounds->resources[i].name);
        json_decimal(json, "cycles", (double)bounds->resources[i].cycles, 3);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_one(struct json *json, size_t number, const struct answer *answer)
{
    json_begin_item(json);
    json_count(json, "block", number);
    json_count(json, "instructions", answer->block.count);
    if (answer->known) {
        json_bounds(json, answer);
    } else {
        json_key(json, "certified");
        json_raw(json, "null");
        json_key(json, "predicted");
        json_raw(json, "null");
        json_text(json, "reason", answer->why);
    }
    json_close(json, '}');
}

static void json_start(struct json *json, const struct blocks_request *request)
{
    const struct model_machine *machine = model_machine(request->model);
    json_open(json, '{');
    json_text(json, "schema", "headroom-report/1");
    json_text(json, "verb", "limits");
    json_text(json, "engine", "static");
    json_begin(json, "limits", '{');
    json_text(json, "machine", machine->name);
    json_text(json, "model", machine->source == MODEL_MEASURED ? "measured" : "table");
    json_flag(json, "unrolled", !request->loop);
    json_begin(json, "loops", '[');
}

static void json_end(struct json *json)
{
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
    json_raw(json, "\n");
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

static void text_start(FILE *out, const struct blocks_request *request)
{
    fprintf(out, "Cycles for each execution of a block that is %s, on %s.\n\n",
            request->loop ? "a loop" : "repeated back to back, unrolled",
            model_machine(request->model)->title);
    fprintf(out, "%8s %10s %10s %10s %10s %10s  %s\n", "block", "predicted", "certified",
            "resource", "recurrence", "front end", "limit");
}

static void text_one(FILE *out, size_t number, const struct answer *answer)
{
    const struct bounds *bounds = &answer->bounds;
    if (!answer->known)
        fprintf(out, "%8zu %10s  %s\n", number, "-", answer->why);
    else
        fprintf(out, "%8zu %10.2f %10.2f %10.2f %10.2f %10.2f  %s%s\n", number, bounds->predicted,
                bounds->certified, bounds->resource, bounds->recurrence, bounds->frontend,
                bounds_limit_names[bounds->limit], bounds->unknown ? ", unknown instructions" : "");
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

struct answering {
    const struct blocks_request *request;
    struct json json;
    struct answer answer;
    size_t number;
};

static void take(struct answering *answering, const char *text, size_t count)
{
    struct answer *answer = &answering->answer;
    answer_one(answering->request, text, count, answer);
    answering->number++;
    if (answering->request->json)
        json_one(&answering->json, answering->number, answer);
    else
        text_one(answering->json.out, answering->number, answer);
    if (answer->known)
        bounds_free(&answer->bounds);
}

static bool take_lines(struct answering *answering, FILE *in)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t got;
    while ((got = getline(&line, &capacity, in)) >= 0)
        take(answering, line, (size_t)got - (got && line[got - 1] == '\n'));
    free(line);
    return !ferror(in);
}

int blocks_answer(const struct blocks_request *request, FILE *out)
{
    struct answering answering = {.request = request, .json = {.out = out}};
    bool standard = !request->text && !strcmp(request->file, "-"), good = true;
    FILE *in = request->text || standard ? stdin : fopen(request->file, "re");
    if (!in) {
        say("'%.4096s' cannot be read: %s.", request->file, strerror(errno));
        return BLOCKS_FAILED;
    }
    if (request->json)
        json_start(&answering.json, request);
    else
        text_start(out, request);
    if (request->text)
        take(&answering, request->text, strlen(request->text));
    else
        good = take_lines(&answering, in);
    if (!good)
        say("'%.4096s' cannot be read: %s.", request->file, strerror(errno));
    if (request->json)
        json_end(&answering.json);
    if (in != stdin)
        fclose(in);
    bounds_block_free(&answering.answer.block);
    return good ? 0 : BLOCKS_FAILED;
}
