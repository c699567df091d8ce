// SPDX-License-Identifier: MIT
/*
 * A run under the exact engine, a Valgrind tool. The tool appends to the raw log by itself; what
 * is left to do here is to start it so that the program notices as little as possible, and to turn
 * what Valgrind says into sentences: Valgrind talks to a pipe of ours, because standard error is
 * the program's.
 */
#include "launch/exact.h"

#include "launch/supervise.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { TICK_MS = 200 };

/* ---- messages ---------------------------------------------------------------------------------
 */

struct run {
    const struct launch_exact_request *request;
    struct launch_request tool; /* what is executed: no file of no format, so never the shell */
    char **command;
    struct exact_words words;
    int messages[2]; /* pipe: ours, Valgrind's */
    bool failure_noted;
    struct exact_graphs graphs;
};

static void note_log_failure(struct run *run)
{
    char sentence[LAUNCH_MESSAGE_BYTES + 128];
    const struct launch_request *program = &run->request->program;
    if (run->failure_noted || !run->words.log_failure[0])
        return;
    snprintf(sentence, sizeof sentence,
             "the raw log cannot be written any further (%s); the program goes on, and the profile "
             "will not cover all of it.",
             run->words.log_failure);
    if (program->note)
        program->note(program->context, sentence);
    run->failure_noted = true;
}

static void take_messages(void *context)
{
    struct run *run = context;
    char text[4096];
    ssize_t got;
    while ((got = read(run->messages[0], text, sizeof text)) > 0)
        exact_words_take(&run->words, text, (size_t)got);
    note_log_failure(run);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* A process image and whether its counts have arrived. */
struct image {
    uint32_t process, pid;
    bool counted;
};

struct images {
    struct image *list;
    size_t count, capacity;
};

/* The image's place; a new one if it has none. NULL: no memory. */
static struct image *image_of(struct images *images, uint32_t process)
{
    for (size_t i = images->count; i-- > 0;) /* most processes end before many others begin */
        if (images->list[i].process == process)
            return &images->list[i];
    if (!UTIL_PUSH(images->list, images->count, images->capacity,
                   (struct image){.process = process}))
        return NULL;
    return &images->list[images->count - 1];
}

static bool take_frame(struct images *images, const struct wire_frame *frame)
{
    const char *payload = (const char *)(frame + 1);
    for (uint32_t at = 0; at < frame->payload_bytes;) {
        const struct wire_record *record = (const struct wire_record *)(payload + at);
        if (wire_record_check(record, frame->payload_bytes - at) != BASE_OK)
            return false;
        bool counts = record->type == WIRE_TOTALS;
        if (counts || record->type == WIRE_PROCESS) {
            struct image *image = image_of(images, frame->process);
            if (image) {
                image->pid = frame->pid;
                image->counted = image->counted || counts;
            }
        }
        at += record->bytes;
    }
    return true;
}

static ssize_t read_log_at(int log, void *out, size_t bytes, off_t at)
{
    ssize_t got;
    do
        got = pread(log, out, bytes, at);
    while (got < 0 && errno == EINTR);
    return got;
}

/* What was recorded. A torn last frame: the disk was full, or a process was killed in mid-write. */
static void read_log(int log, struct images *images, struct launch_result *result)
{
    static _Alignas(8) char buffer[sizeof(struct wire_frame) + WIRE_CHUNK_BYTES];
    off_t at = sizeof(struct wire_log_header);
    ssize_t got;
    while ((got = read_log_at(log, buffer, sizeof buffer, at)) > 0) {
        size_t total;
        if (wire_frame_check(buffer, (size_t)got, &total) != BASE_OK) {
            result->log_truncated = true;
            return;
        }
        result->corrupt_records += !take_frame(images, (const struct wire_frame *)buffer);
        at += (off_t)total;
    }
    result->log_truncated = result->log_truncated || got < 0;
}

/* An image without counts lives on, or was killed, or executed another program in that moment. */
static void take_images(int log, pid_t root, struct launch_result *result)
{
    struct images images = {0};
    read_log(log, &images, result);
    for (size_t i = 0; i < images.count; i++) {
        const struct image *image = &images.list[i];
        bool alive = !image->counted && image->pid != (uint32_t)root && launch_is_alive(image->pid);
        result->outlived = result->outlived || alive;
        result->counted += image->counted;
        result->lost_processes += !image->counted && !alive;
    }
    result->images = images.count;
    free(images.list);
}

/* ---- all together ---------------------------------------------------------------------------- */

static void take_words(const struct exact_words *words, struct launch_result *result)
{
    bool unknown = !result->exited && result->signal == SIGILL && words->unknown[0];
    snprintf(result->message, sizeof result->message, "%s",
             unknown ? words->unknown : words->trouble);
    result->log_truncated = result->log_truncated || words->log_failure[0];
    if (words->unobserved_child)
        result->degraded |= WIRE_DEGRADED_UNOBSERVED_CHILD;
}

static bool memory_is_limited(void)
{
    struct rlimit space, data;
    return getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
           (space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY);
}

/* The tool announces the program before it runs: without that, an exit status is Valgrind's. */
static bool never_started(const struct launch_result *result)
{
    return result->images == 0 && result->exited && !result->log_truncated;
}

static enum launch_outcome ended(void *context, pid_t child, struct launch_result *result,
                                 char *error)
{
    struct run *run = context;
    result->peak_bytes = 0; /* Valgrind's own memory is in it */
    take_messages(run);
    take_images(run->request->program.log, result->detached ? 0 : child, result);
    take_words(&run->words, result);
    if (!never_started(result))
        return LAUNCH_OK;
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s' under the exact engine: %s.",
             run->request->program.path,
             result->message[0] ? result->message : "Valgrind ended before it began");
    return LAUNCH_FAILED;
}

static bool prepare(struct launch_supervised *supervised, char *error)
{
    struct run *run = supervised->context;
    const struct launch_exact_request *request = run->request;
    struct launch_log log;
    char messages_path[64], log_path[64];
    if (!launch_log_begin(&log, request->program.log, &request->program.config)) {
        launch_fail(error, "writing the raw log", log.failure);
        return false;
    }
    if (pipe2(run->messages, O_CLOEXEC) != 0 || fcntl(run->messages[0], F_SETFL, O_NONBLOCK) != 0) {
        launch_fail(error, "a pipe", errno);
        return false;
    }
    supervised->file = run->messages[0];
    snprintf(log_path, sizeof log_path, "/proc/%d/fd/%d", getpid(), request->program.log);
    snprintf(messages_path, sizeof messages_path, "/proc/%d/fd/%d", getpid(), run->messages[1]);
    if (!exact_graphs_begin(&run->graphs, request)) {
        launch_fail(error, "a folder for control-flow graphs", errno);
        return false;
    }
    run->words.ask = exact_graphs_answer;
    run->words.context = &run->graphs;
    run->command = exact_command(request, log_path, messages_path, run->graphs.folder);
    run->tool = (struct launch_request){
        .path = request->engine->tool,
        .command = run->command,
        .redirected = request->program.redirected,
        .files = {request->program.files[0], request->program.files[1], request->program.files[2]},
        .deadline_ns = request->program.deadline_ns};
    supervised->environment = exact_environment(environ, request->engine);
    if (!run->command || !supervised->environment) {
        launch_fail(error, "memory", ENOMEM);
        return false;
    }
    return true;
}

static enum launch_outcome start(const struct launch_exact_request *request, bool trial,
                                 struct launch_result *result, char *error)
{
    struct run run = {.request = request, .messages = {-1, -1}};
    struct launch_supervised supervised = {.context = &run,
                                           .program = &run.tool,
                                           .engine = "the exact engine",
                                           .tick_ms = TICK_MS,
                                           .trial = trial,
                                           .prepare = prepare,
                                           .turn = take_messages,
                                           .ended = ended};
    enum launch_outcome outcome = launch_supervise(&supervised, result, error);
    exact_graphs_end(&run.graphs);
    exact_command_free(run.command);
    for (int i = 0; i < 2; i++)
        if (run.messages[i] >= 0)
            close(run.messages[i]);
    return outcome;
}

/* ---- trying ---------------------------------------------------------------------------------- */

/* Valgrind's first words, before it knows its options, go to standard error. */
static int redirect_errors(int to)
{
    int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (before >= 0)
        dup2(to, STDERR_FILENO);
    return before;
}

static void restore_errors(int before)
{
    if (before >= 0) {
        dup2(before, STDERR_FILENO);
        close(before);
    }
}

static bool take_words_of_trial(int file, struct exact_words *words)
{
    char text[4096];
    ssize_t got;
    off_t at = 0;
    while ((got = pread(file, text, sizeof text, at)) > 0) {
        exact_words_take(words, text, (size_t)got);
        at += got;
    }
    return words->trouble[0] != 0;
}

enum launch_outcome launch_exact_try(const struct launch_exact_request *like, char *error)
{
    const struct launch_exact_engine *engine = like->engine;
    char *command[] = {(char *)engine->start, NULL};
    struct launch_exact_request request = *like;
    struct launch_result result = {0};
    struct exact_words words = {0};
    char why[LAUNCH_ERROR_BYTES] = "";
    int log = memfd_create("headroom-log", MFD_CLOEXEC);
    int errors = memfd_create("headroom-errors", MFD_CLOEXEC);
    request.program = (struct launch_request){
        .path = engine->start, .command = command, .config = like->program.config, .log = log};
    request.trace = NULL;
    enum launch_outcome outcome = LAUNCH_FAILED;
    if (log >= 0 && errors >= 0) {
        int before = redirect_errors(errors);
        outcome = start(&request, true, &result, why);
        restore_errors(before);
    }
    bool good =
        outcome == LAUNCH_OK && result.images == 1 && result.exited && result.exit_code == 0;
    if (!good && outcome != LAUNCH_OK && why[0] && !memory_is_limited())
        snprintf(error, LAUNCH_ERROR_BYTES, "%s", why);
    else if (!good)
        snprintf(error, LAUNCH_ERROR_BYTES, "the exact engine does not work here: %s.",
                 memory_is_limited() ? "the memory limit (ulimit -v or -d) is too small for it"
                 : take_words_of_trial(errors, &words) ? words.trouble
                 : result.message[0]                   ? result.message
                                     : "a program that does nothing cannot be run under it");
    if (log >= 0)
        close(log);
    if (errors >= 0)
        close(errors);
    return good ? LAUNCH_OK : LAUNCH_FAILED;
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum launch_outcome launch_exact(const struct launch_exact_request *request,
                                 struct launch_result *result, char *error)
{
    /* Valgrind does not say properly that it has too little memory to start with. */
    if (memory_is_limited() && launch_exact_try(request, error) != LAUNCH_OK)
        return LAUNCH_FAILED;
    return start(request, false, result, error);
}
