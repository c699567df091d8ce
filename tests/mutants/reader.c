// SPDX-License-Identifier: MIT
/*
 * Runs readers of hostile files, each in a child process with bounds of its own. The sanitized
 * libraries are started once and forked for each run: starting a sanitized program anew takes ten
 * times as long as most files are read in.
 *
 * Standard input has one run a line, divided by tabs:
 *
 *   MEMORY_BYTES OUTPUT_BYTES CPU_S WALL_S DIRECTORY OUT ERR READER ARGUMENT...
 *
 * READER is "headroom" (then ARGUMENT... is its command line) or one of `readers` below, for what
 * no verb reads without running a program. Standard output gets a line for each:
 *
 *   exit|signal|hang|memory NUMBER PEAK_KIB CPU_MS WALL_MS
 *
 * `reader seeds DIRECTORY` writes the sound logs and profiles that fuzzers start from; `reader log
 * PROGRAM PATH LOG` a log of findings in functions of a program that lies at PATH.
 */
#include "../fuzz/sound_log.h"
#include "../fuzz/sound_profile.h"

#include "binary/binary.h"
#include "cli/verbs.h"
#include "detect/detect.h"
#include "pathgraph/pathgraph.h"
#include "import/import.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* tests/fuzz/binary_fuzz.c, patch_fuzz.c */
int binary_fuzz(const uint8_t *data, size_t size);
int patch_fuzz(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64, POLL_NS = 20000000, FUNCTIONS_MAX = 5000 };

/* ---- readers that are no verb ------------------------------------------------------------------
 */

static int finish(enum base_status status, const char *path)
{
    if (status == BASE_OK)
        return 0;
    fprintf(stderr, "headroom: cannot read '%s': %s.\n", path, base_status_text(status));
    return 1;
}

static int fuzz(int (*target)(const uint8_t *data, size_t size), const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    require(file >= 0 && fstat(file, &info) == 0);
    size_t bytes = (size_t)info.st_size;
    uint8_t *data = malloc(bytes + 1);
    require(data && read(file, data, bytes) == (ssize_t)bytes);
    target(data, bytes);
    free(data);
    close(file);
    return 0;
}

/* What the launcher asks of a program before it runs: its class, unwind tables. */
static int read_binary(char **words)
{
    return fuzz(binary_fuzz, words[0]);
}

/* What hooking functions asks: every function planned. */
static int read_plans(char **words)
{
    return fuzz(patch_fuzz, words[0]);
}

/* What the exact engine asks for while a program runs. */
static int read_graphs(char **words)
{
    return finish(pathgraph_write(words[0], words[1]), words[0]);
}

static void look_at(struct binary *binary, uint64_t start, uint64_t end)
{
    struct binary_frame frames[8];
    uint64_t rows[64], other_start, other_end;
    char bytes[32];
    for (unsigned i = 0; i < 4; i++)
        binary_frames(binary, start + (end - start) / 4 * i, frames, BASE_COUNT(frames));
    binary_rows(binary, start, end, rows, BASE_COUNT(rows));
    binary_function(binary, start, &other_start, &other_end);
    binary_read(binary, start, bytes, sizeof bytes);
    binary_read_loaded(binary, start, bytes, sizeof bytes);
    binary_symbol(binary, start);
    binary_import(binary, start);
}

/* What import asks: names and lines of addresses, function by function. */
static int read_symbols(char **words)
{
    struct binary_options options = {.debug_root = "/nonexistent"};
    static const char *const sections[] = {".text", ".plt", ".bss", "headroom_map"};
    struct binary *binary;
    uint64_t start, end, at = 0;
    const char *name;
    uint8_t id[BINARY_BUILD_ID_BYTES];
    enum base_status status = binary_open(words[0], &options, &binary);
    if (status != BASE_OK)
        return finish(status, words[0]);
    for (size_t i = 0; i < BASE_COUNT(sections); i++)
        if (binary_section(binary, sections[i], &start, &end) == BASE_OK)
            look_at(binary, start, start + (end < 4096 ? end : 4096));
    for (unsigned i = 0; i < FUNCTIONS_MAX; i++) {
        if (binary_next_function(binary, at, &start, &end, &name) != BASE_OK)
            break;
        require(start >= at && end > start);
        free(binary_demangle(name, i % 2));
        binary_never_returns(name, strlen(name));
        look_at(binary, start, end);
        at = start + 1;
    }
    binary_build_id(binary, id);
    binary_debug_file(binary);
    binary_close(binary);
    return 0;
}

/* All of these, one after the other: they share nothing, and to begin a child takes as long as each
 * of them. */
static int read_program(char **words)
{
    int status = read_binary(words);
    status |= read_plans(words);
    status |= read_symbols(words);
    return status | read_graphs(words);
}

static int finish_import(enum base_status status, const char *error)
{
    if (status == BASE_OK)
        return 0;
    fprintf(stderr, "headroom: %s\n", error);
    return 1;
}

/* LOG REGION OUTPUT: what interference does when the program has ended. */
static int read_spans(char **words)
{
    char *command[] = {(char *)"program", NULL}, error[512] = "";
    struct import_run run = {.verb = "interference", .engine = "live", .command = command};
    struct binary_options symbols = {0};
    int region = open(words[1], O_RDONLY | O_CLOEXEC);
    require(region >= 0);
    return finish_import(import_spans(words[0], region, &run, NULL, 0, &symbols, words[2], NULL,
                                      NULL, error, sizeof error),
                         error);
}

/* REGION OUTPUT: what paths does with programs that count by themselves. */
static int read_built(char **words)
{
    char *command[] = {(char *)"program", NULL}, error[512] = "";
    struct import_run run = {.verb = "paths", .engine = "built", .command = command};
    struct binary_options symbols = {0};
    int region = open(words[0], O_RDONLY | O_CLOEXEC);
    require(region >= 0);
    return finish_import(
        import_instrumented(region, &run, &symbols, words[1], NULL, NULL, error, sizeof error),
        error);
}

/* ---- what a reader must not do: the verdicts are tried on these ---------------------------------
 */

static int overflow(void)
{
    volatile char *bytes = malloc(8);
    volatile unsigned at = 8;
    bytes[at] = 1;
    return bytes[0];
}

static int undefined(void)
{
    volatile int most = INT32_MAX;
    most = most + 1;
    return 0;
}

static int spin(void)
{
    volatile bool always = true;
    while (always)
        ;
    return 0;
}

static int stand(void)
{
    while (pause() < 0)
        ;
    return 0;
}

static int eat(void)
{
    static void *volatile bytes; /* so that compilers do not leave the allocation out */
    while ((bytes = malloc(1 << 20)) != NULL)
        memset(bytes, 1, 1 << 20);
    return 0;
}

static int flood(void)
{
    signal(SIGXFSZ, SIG_IGN);
    while (putchar('x') != EOF)
        ;
    return 0;
}

static int leave(void)
{
    return open("left", O_CREAT | O_WRONLY, 0600) < 0;
}

static int keep_silent(void)
{
    return 1;
}

static int answer_oddly(void)
{
    fputs("headroom: nobody documented this.\n", stderr);
    return 77;
}

static int abort_now(void)
{
    abort();
}

static int say_odd(void)
{
    fputs("\033[2J", stdout);
    return 0;
}

static int plant(char **words)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } faults[] = {{"sanitizer", overflow}, {"undefined", undefined}, {"time", spin},
                  {"hang", stand},         {"memory", eat},          {"output", flood},
                  {"left", leave},         {"silence", keep_silent}, {"crash", answer_oddly},
                  {"signal", abort_now},   {"escape", say_odd},      {"format", say_odd}};
    for (size_t i = 0; i < BASE_COUNT(faults); i++)
        if (strcmp(words[0], faults[i].name) == 0)
            return faults[i].run();
    return 99;
}

static const struct {
    const char *name;
    int arguments;
    int (*run)(char **words);
} readers[] = {
    {"program", 2, read_program}, {"binary", 1, read_binary},   {"plans", 1, read_plans},
    {"graphs", 2, read_graphs},   {"symbols", 1, read_symbols}, {"blocks", 3, read_spans},
    {"built", 2, read_built},     {"plant", 1, plant},
};

static int read_by(int count, char **words)
{
    if (strcmp(words[0], "headroom") == 0)
        return cli_main(count, words);
    for (size_t i = 0; i < BASE_COUNT(readers); i++)
        if (strcmp(words[0], readers[i].name) == 0 && count == readers[i].arguments + 1)
            return readers[i].run(words + 1);
    fprintf(stderr, "no reader '%s' with %d arguments\n", words[0], count - 1);
    return 99;
}

/* ---- one run -----------------------------------------------------------------------------------
 */

struct bounds {
    unsigned long memory_bytes, output_bytes, cpu_s, wall_s;
};

/* Beyond the soft one there is a signal that shows which it was. */
static void limit(int resource, rlim_t most)
{
    struct rlimit limits = {most, resource == RLIMIT_CPU ? most + 5 : most};
    require(setrlimit(resource, &limits) == 0);
}

static void become_reader(const struct bounds *bounds, char **words, int count)
{
    int out = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int in = open("/dev/null", O_RDONLY);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    require(in >= 0 && out >= 0 && err >= 0);
    require(dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2 && chdir(words[0]) == 0);
    closefrom(3);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, bounds->output_bytes);
    limit(RLIMIT_CPU, bounds->cpu_s);
    exit(read_by(count - 3, words + 3));
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned long resident_bytes(pid_t child)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)child);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4096;
}

/* Waits until the child has ended, and ends it where it goes beyond its bounds. */
static const char *watch(pid_t child, const struct bounds *bounds, uint64_t started, int *status,
                         struct rusage *usage)
{
    const char *verdict = NULL;
    struct timespec pause = {0, POLL_NS};
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    while (wait4(child, status, WNOHANG, usage) == 0) {
        if (!verdict && resident_bytes(child) > bounds->memory_bytes)
            verdict = "memory";
        else if (!verdict && now_ms() - started > bounds->wall_s * 1000)
            verdict = "hang";
        if (verdict)
            kill(child, SIGKILL);
        sigtimedwait(&ended, NULL, &pause);
    }
    if (!verdict && (unsigned long)usage->ru_maxrss * 1024 > bounds->memory_bytes)
        verdict = "memory";
    return verdict;
}

static void run(const struct bounds *bounds, char **words, int count)
{
    struct rusage usage = {0};
    int status = 0;
    uint64_t started = now_ms();
    pid_t child = fork();
    require(child >= 0);
    if (child == 0)
        become_reader(bounds, words, count);
    const char *verdict = watch(child, bounds, started, &status, &usage);
    bool exited = WIFEXITED(status);
    long cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                  (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    printf("%s %d %ld %ld %lu\n",
           verdict  ? verdict
           : exited ? "exit"
                    : "signal",
           exited ? WEXITSTATUS(status) : WTERMSIG(status), usage.ru_maxrss, cpu_ms,
           (unsigned long)(now_ms() - started));
    fflush(stdout);
}

static void serve(void)
{
    char *line = NULL, *words[WORDS_MAX];
    size_t capacity = 0;
    ssize_t bytes;
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);
    while ((bytes = getline(&line, &capacity, stdin)) > 0) {
        int count = 0;
        struct bounds bounds;
        line[bytes - 1] = 0;
        for (char *rest = line; rest && count < WORDS_MAX - 1; count++)
            words[count] = strsep(&rest, "\t");
        words[count] = NULL;
        require(count >= 8);
        bounds = (struct bounds){strtoul(words[0], NULL, 10), strtoul(words[1], NULL, 10),
                                 strtoul(words[2], NULL, 10), strtoul(words[3], NULL, 10)};
        run(&bounds, words + 4, count - 4);
    }
    free(line);
}

/* ---- sound files
 * --------------------------------------------------------------------------------- */

static void write_seeds(const char *directory)
{
    static const char *const verbs[] = {"waste", "reuse", "paths", "interference"};
    char path[4096], error[PROFILE_ERROR_BYTES];
    sound_log_fill();
    for (unsigned exact = 0; exact < 2; exact++) {
        struct wire_config config = {.kinds = 15, .source = exact ? 0 : WIRE_SOURCE_CLOCK};
        snprintf(path, sizeof path, "%s/made-%s.raw", directory, exact ? "exact" : "live");
        memcpy(entries, sound, sizeof sound);
        entries_count = sound_count;
        write_log(path, &config);
    }
    for (size_t i = 0; i < BASE_COUNT(verbs); i++) {
        struct profile *profile = profile_new();
        require(profile != NULL);
        sound_profile_fill(profile);
        profile->run.verb = verbs[i];
        snprintf(path, sizeof path, "%s/made-%s.headroom", directory, verbs[i]);
        require(profile_write(profile, path, error, sizeof error) == BASE_OK);
        profile_free(profile);
    }
}

static void add_place(uint32_t *node, uint64_t vaddr)
{
    ADD(1, WIRE_NODE, wire_node, .node = *node, .module = 1, .vaddr = vaddr);
    ADD(1, WIRE_NODE, wire_node, .node = *node + 1, .parent = *node, .module = 1,
        .flags = WIRE_NODE_LEAF, .vaddr = vaddr);
    ADD(1, WIRE_SAMPLE, wire_sample, .armed = 1, .bytes = 8, .node = *node + 1, .weight = 1,
        .density = 0.3F, .trap_ns = 9000);
    ADD(1, WIRE_TRAP, wire_trap, .verdict = DETECT_WASTE, .bytes = 8, .watch_node = *node + 1,
        .trap_node = *node + 1, .samples = 1, .chance = 1);
    *node += 2;
}

/* A log of findings in functions of a program that lies at `path`. */
static void write_log_of(const char *program, const char *path, const char *log)
{
    enum { PLACES = 70, EACH = 8 };
    _Alignas(8) char bytes[512] = {0};
    struct wire_module *module = (struct wire_module *)bytes;
    struct wire_config config = {.kinds = 7, .source = WIRE_SOURCE_CLOCK};
    struct binary_options options = {.debug_root = "/nonexistent"};
    struct binary *binary;
    uint64_t start, end, at = 0;
    const char *name;
    uint32_t node = 1;
    *module = (struct wire_module){.process = 1, .module = 1, .end = UINT64_C(1) << 47};
    require(strlen(path) < sizeof bytes - sizeof *module - 8);
    strcpy(module->path, path);
    add_process(1, WIRE_NONE);
    add(1, WIRE_MODULE, bytes, sizeof *module + (strlen(path) + 8) / 8 * 8);
    ADD(1, WIRE_THREAD, wire_thread, .process = 1, .thread = 1, .pid = 41, .tid = 41, .name = "x");
    require(binary_open(program, &options, &binary) == BASE_OK);
    while (node < 2 * (PLACES - EACH) &&
           binary_next_function(binary, at, &start, &end, &name) == BASE_OK) {
        for (unsigned i = 0; i < EACH; i++)
            add_place(&node, start + (end - start) / EACH * i);
        at = start + 1;
    }
    binary_close(binary);
    memcpy(entries, sound, sizeof sound);
    entries_count = sound_count;
    write_log(log, &config);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "seeds") == 0)
        write_seeds(argv[2]);
    else if (argc == 5 && strcmp(argv[1], "log") == 0)
        write_log_of(argv[2], argv[3], argv[4]);
    else if (argc == 1)
        serve();
    else
        return 2;
    return 0;
}
