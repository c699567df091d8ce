// SPDX-License-Identifier: MIT
/*
 * launch: program search, environment, raw log, and whole recordings in which this
 * program itself plays the observed program and its agent (argv[1] "play").
 */
#include "launch/exact.h"
#include "launch/launch.h"
#include "launch/internal.h"
#include "machine/tryout.h"
#include "wire/instrumented.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/headroom-launch.XXXXXX";
static char self[PATH_MAX];

static const char *in_directory(const char *name)
{
    static char path[4][PATH_MAX];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], PATH_MAX, "%s/%s", directory, name);
    return path[turn];
}

static const char *make_file(const char *name, const char *text, mode_t mode)
{
    const char *path = in_directory(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

/* ---- the part of the observed program ------------------------------------------------------ */

static struct wire_region *open_region(void)
{
    const char *where = getenv(WIRE_ENVIRONMENT);
    char path[64];
    int version, pid, file;
    if (!where || sscanf(where, "%d:%d:%d", &version, &pid, &file) != 3)
        _exit(90);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, file);
    file = open(path, O_RDWR | O_CLOEXEC);
    struct wire_region *region =
        mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (region == MAP_FAILED || wire_region_check(region, sizeof *region) != BASE_OK)
        _exit(91);
    /* Resizing would kill headroom with SIGBUS. */
    if (ftruncate(file, 4096) == 0)
        _exit(92);
    close(file);
    return region;
}

static struct wire_writer begin_thread(struct wire_region *region)
{
    uint32_t process = atomic_fetch_add(&region->next_process, 1);
    struct wire_thread_slot *slot =
        wire_thread_begin(region, process, (uint32_t)getpid(), (uint32_t)getpid());
    slot->counters.attempted = slot->counters.stored = 12;
    return (struct wire_writer){.region = region,
                                .chunk = WIRE_NONE,
                                .process = process,
                                .thread = slot->thread,
                                .pid = (uint32_t)getpid()};
}

static void write_process(struct wire_writer *writer)
{
    _Alignas(8) char bytes[sizeof(struct wire_process) + 8] = {0};
    struct wire_process *process = (struct wire_process *)bytes;
    *process = (struct wire_process){.record = {.type = WIRE_PROCESS, .bytes = sizeof bytes},
                                     .process = writer->process,
                                     .parent = WIRE_NONE,
                                     .pid = writer->pid,
                                     .exe_bytes = 2,
                                     .command_bytes = 2};
    memcpy(process->text, "e\0c", 4);
    wire_write(writer, &process->record);
}

static void write_samples(struct wire_writer *writer, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct wire_sample sample = {
            .record = {.type = WIRE_SAMPLE, .bytes = sizeof sample}, .node = i, .weight = 1};
        while (!wire_write(writer, &sample.record))
            usleep(1000); /* the pool is drained while we run */
    }
}

static const struct wire_table_slot *await_slot(struct wire_region *region,
                                                const struct wire_table_slot *slot)
{
    atomic_fetch_add(&region->doorbell, 1);
    for (int i = 0; i < 2000; i++) {
        uint32_t state = atomic_load(&slot->state);
        if (state == WIRE_TABLE_READY || state == WIRE_TABLE_FAILED)
            break;
        usleep(5000);
    }
    return slot;
}

static const struct wire_table_slot *await_table(struct wire_region *region, const char *path)
{
    return await_slot(region, &region->tables[wire_table_want(region, path, 1, 1)]);
}

static bool copy_file(const char *from, const char *to)
{
    char bytes[65536];
    ssize_t got = -1;
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
    while (in >= 0 && out >= 0 && (got = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)got) != got)
            break;
    close(in);
    close(out);
    return got == 0;
}

/* What is only named is not made, and later comes from the file that was there at first. */
static int play_named_tables(struct wire_region *region)
{
    char path[WIRE_PATH_BYTES];
    if (!getcwd(path, sizeof path - 16))
        return 30;
    strcat(path, "/module");
    if (!copy_file(self, path))
        return 31;
    uint32_t kept = wire_table_name(region, path, 3, 3);
    usleep(400000); /* several ticks of headroom's */
    if (unlink(path) != 0 || !copy_file("/dev/null", path))
        return 32;
    if (atomic_load(&region->tables[kept].state) != WIRE_TABLE_NAMED)
        return 33;
    if (!wire_table_need(region, kept) || wire_table_need(region, kept))
        return 34;
    uint64_t bytes = await_table(region, self)->bytes;
    if (atomic_load(&await_slot(region, &region->tables[kept])->state) != WIRE_TABLE_READY ||
        region->tables[kept].bytes != bytes)
        return 35;
    return unlink(path) == 0 ? 0 : 36;
}

/* A table for a real program can be opened; hopeless requests fail, and none hangs. */
static int play_tables(struct wire_region *region)
{
    static const char *const hopeless[] = {"/proc/self/fd", "/nonexistent", "/dev/null", "fifo"};
    for (size_t i = 0; i < BASE_COUNT(hopeless); i++)
        if (atomic_load(&await_table(region, hopeless[i])->state) != WIRE_TABLE_FAILED)
            return 10 + (int)i;
    const struct wire_table_slot *slot = await_table(region, self);
    if (atomic_load(&slot->state) != WIRE_TABLE_READY || slot->bytes == 0)
        return 20;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%u", getppid(), slot->descriptor);
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0 || (uint64_t)status.st_size < slot->bytes)
        return 21;
    return play_named_tables(region);
}

/* A broken program overwrites everything; states are such that headroom must look inside. */
static void scribble(struct wire_region *region)
{
    memset(region->threads, 0x5a, sizeof region->threads);
    memset(region->tables, 0x5a, sizeof region->tables);
    memset(region->chunks, 0x5a, sizeof region->chunks);
    for (unsigned i = 0; i < WIRE_THREADS; i++)
        atomic_store(&region->threads[i].state, i % 2 ? WIRE_SLOT_LIVE : WIRE_SLOT_ENDED);
    for (unsigned i = 0; i < WIRE_TABLES; i++)
        atomic_store(&region->tables[i].state, WIRE_TABLE_WANTED);
    for (unsigned i = 0; i < WIRE_CHUNKS; i++) {
        region->chunks[i].drained = 0;
        atomic_store(&region->chunks[i].state, i % 2 ? WIRE_CHUNK_OPEN : WIRE_CHUNK_CLOSED);
    }
    atomic_fetch_add(&region->doorbell, 1);
    usleep(100000);
}

/* Counts as programs that headroom cc built, until it is killed. */
static int play_built(const char *part)
{
    char path[64];
    int version, pid, file;
    const char *where = getenv(INSTRUMENTED_ENVIRONMENT);
    struct instrumented_region *region = MAP_FAILED;
    if (where && sscanf(where, "%d:%d:%d", &version, &pid, &file) == 3 && pid == getppid()) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, file);
        file = open(path, O_RDWR | O_CLOEXEC);
        region = mmap(NULL, INSTRUMENTED_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (region == MAP_FAILED || region->magic != INSTRUMENTED_MAGIC ||
        (int)region->version != version)
        return 60;
    if (ftruncate(file, 0) == 0)
        return 61;
    atomic_fetch_add(&region->next_process, 3);
    atomic_fetch_add(&region->lost, 2);
    uint64_t at = atomic_fetch_add(&region->next, INSTRUMENTED_PAGE);
    if (pwrite(file, "piece", 5, (off_t)at) != 5)
        return 62;
    if (strcmp(part, "built-term") == 0)
        pause();
    kill(getpid(), SIGKILL);
    return 63;
}

static int play(const char *part)
{
    if (strncmp(part, "built", 5) == 0)
        return play_built(part);
    if (strcmp(part, "exit") == 0)
        return 7;
    if (strcmp(part, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(part, "signals") == 0) {
        struct sigaction child, interrupt, pipe_broken;
        sigset_t mask;
        sigaction(SIGCHLD, NULL, &child);
        sigaction(SIGINT, NULL, &interrupt);
        sigaction(SIGPIPE, NULL, &pipe_broken);
        sigprocmask(SIG_BLOCK, NULL, &mask);
        return (child.sa_handler == SIG_IGN) | (interrupt.sa_handler == SIG_DFL) << 1 |
               (pipe_broken.sa_handler == SIG_DFL) << 2 | sigismember(&mask, SIGUSR1) << 3 |
               sigismember(&mask, SIGCHLD) << 4;
    }
    if (strcmp(part, "limits") == 0) {
        struct rlimit files, size;
        getrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_FSIZE, &size);
        return (files.rlim_cur == 99) | (size.rlim_cur == 4096) << 1;
    }
    if (strcmp(part, "descriptors") == 0) {
        int open_count = 0;
        for (int i = 0; i < 256; i++)
            open_count += fcntl(i, F_GETFD) >= 0;
        return open_count;
    }
    struct wire_region *region = open_region();
    struct wire_writer writer = begin_thread(region);
    write_process(&writer);
    if (strcmp(part, "samples") == 0)
        write_samples(&writer, 200000); /* 6.4 MB: more than the pool holds */
    if (strcmp(part, "table") == 0)
        return play_tables(region);
    if (strcmp(part, "scribble") == 0) {
        scribble(region);
        return 3;
    }
    if (strcmp(part, "outlive") == 0 && fork() == 0) {
        struct wire_writer child = begin_thread(region);
        write_process(&child);
        sleep(3);
        _exit(0);
    }
    if (strcmp(part, "outlive") == 0)
        usleep(100000);
    if (strcmp(part, "term") == 0) {
        atomic_store(&region->lost_threads, 5);
        pause();
    }
    kill(getpid(), SIGKILL); /* nothing was closed: headroom must still get it all */
    return 99;
}

/* ---- the part of the Valgrind tool --------------------------------------------------------- */

static const char *option(char **argv, const char *name)
{
    for (; *argv; argv++)
        if (strncmp(*argv, name, strlen(name)) == 0)
            return *argv + strlen(name);
    _exit(80);
}

/* A whole frame with one record of the process. */
static void append_frame(int log, uint32_t process, struct wire_record *record)
{
    struct wire_frame frame = {.magic = WIRE_FRAME_MAGIC,
                               .payload_bytes = record->bytes,
                               .process = process,
                               .thread = process,
                               .pid = (uint32_t)getpid()};
    record->checksum = wire_checksum(record);
    frame.checksum = wire_frame_checksum(&frame, record);
    struct iovec parts[] = {{&frame, sizeof frame}, {record, record->bytes}};
    if (writev(log, parts, 2) < 0)
        _exit(81);
}

static void append_process(int log, uint32_t process)
{
    _Alignas(8) char bytes[sizeof(struct wire_process) + 8] = {0};
    struct wire_process *made = (struct wire_process *)bytes;
    *made = (struct wire_process){.record = {.type = WIRE_PROCESS, .bytes = sizeof bytes},
                                  .process = process,
                                  .parent = WIRE_NONE,
                                  .pid = (uint32_t)getpid(),
                                  .exe_bytes = 2,
                                  .command_bytes = 2};
    memcpy(made->text, "e\0c", 4);
    append_frame(log, process, &made->record);
}

static void append_totals(int log, uint32_t process)
{
    struct wire_totals totals = {.record = {.type = WIRE_TOTALS, .bytes = sizeof totals}};
    append_frame(log, process, &totals.record);
}

/* The last argument says what the tool shall do, the program's name is ours. */
static int play_tool(int argc, char **argv)
{
    const char *part = argv[argc - 1];
    int log = open(option(argv, EXACT_OPTION_LOG), O_WRONLY | O_APPEND | O_CLOEXEC);
    int messages = open(option(argv, EXACT_OPTION_MESSAGES), O_WRONLY | O_CLOEXEC);
    if (log < 0 || messages < 0)
        return 82;
    if (strcmp(part, "refuse") == 0) {
        dprintf(messages, "==7== headroom: the moon is full\n");
        return 125;
    }
    if (strcmp(part, "silent") == 0)
        return 1;
    append_process(log, 1);
    if (strcmp(part, "illegal") == 0) {
        for (int i = 0; i < 3000; i++) /* more than a pipe holds */
            dprintf(
                messages,
                "vex amd64->IR: unhandled instruction bytes: 0x62 0xF1 0x7D 0x48\n"
                "==7== valgrind: Unrecognised instruction at address 0x10912d.\n"
                "==7==    at 0x10912D: scale(int) (in /a)\n==7==    by 0x109000: main (a.c:9)\n");
        append_totals(log, 1);
        kill(getpid(), SIGILL);
    }
    if (strcmp(part, "full") == 0) {
        dprintf(messages, "headroom: log: no room\nheadroom: log: no room at all\n");
        append_totals(log, 1);
    }
    if (strcmp(part, "torn") == 0) {
        append_totals(log, 1);
        return write(log, "HFRM and no more", 16) == 16 ? 0 : 83;
    }
    if (strcmp(part, "family") == 0) {
        pid_t child = fork();
        if (child == 0) {
            append_process(log, 2); /* killed before it has counts */
            kill(getpid(), SIGKILL);
        }
        waitpid(child, NULL, 0);
        if (fork() == 0) {
            append_process(log, 3);
            dprintf(messages, "headroom: " EXACT_UNOBSERVED ": /bin/small\n");
            sleep(3);
            _exit(0);
        }
        usleep(100000);
    }
    if (strcmp(part, "term") == 0)
        pause();
    if (strcmp(part, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strncmp(part, "inherit", 7) == 0)
        return play(part + strlen("inherit-"));
    append_totals(log, 1);
    return 7;
}

/* ---- recordings ------------------------------------------------------------------------------ */

struct counted {
    uint64_t processes, samples, counters, attempted;
};

static void count_log(const char *path, struct counted *counted)
{
    *counted = (struct counted){0};
    int file = open(path, O_RDONLY);
    struct stat status;
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    size_t size = (size_t)status.st_size;
    char *log = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    assert_true(log != MAP_FAILED);
    close(file);
    struct wire_log_header header;
    memcpy(&header, log, sizeof header);
    assert_true(header.magic == WIRE_LOG_MAGIC && header.header_bytes == sizeof header);
    for (size_t at = sizeof header; at < size;) {
        size_t total;
        assert_int_equal(wire_frame_check(log + at, size - at, &total), BASE_OK);
        for (size_t in = at + sizeof(struct wire_frame); in < at + total;) {
            const struct wire_record *record = (const struct wire_record *)(log + in);
            counted->processes += record->type == WIRE_PROCESS;
            counted->samples += record->type == WIRE_SAMPLE;
            if (record->type == WIRE_COUNTERS) {
                counted->counters++;
                counted->attempted +=
                    ((const struct wire_counters_record *)record)->counters.attempted;
            }
            in += record->bytes;
        }
        at += total;
    }
    munmap(log, size);
}

static int notes;

static void count_note(void *context, const char *sentence)
{
    (void)context;
    (void)sentence;
    notes++;
}

static enum launch_outcome record(char *const *command, const char *path, int log,
                                  struct launch_result *result)
{
    char error[LAUNCH_ERROR_BYTES] = "";
    struct launch_request request = {.path = path,
                                     .command = command,
                                     .log = log,
                                     .note = count_note,
                                     .config = {.kinds = WIRE_DEAD, .registers = 4}};
    notes = 0;
    enum launch_outcome outcome = launch_record(&request, result, error);
    launch_signals_release();
    assert_true(outcome == LAUNCH_OK || strlen(error) > 0);
    return outcome;
}

static struct launch_result record_part(const char *part, struct counted *counted)
{
    char *command[] = {self, (char *)"play", (char *)part, NULL};
    char path[LAUNCH_PATH_BYTES], error[LAUNCH_ERROR_BYTES];
    int log;
    struct launch_result result;
    assert_int_equal(launch_log_create(in_directory("p"), path, &log, error), LAUNCH_OK);
    assert_int_equal(record(command, self, log, &result), LAUNCH_OK);
    close(log);
    if (counted)
        count_log(path, counted);
    unlink(path);
    return result;
}

static void test_exit_status(void **state)
{
    struct launch_result result = record_part("exit", NULL);
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 7);
    assert_int_equal(result.images, 0);
    assert_true(result.wall_s > 0 && result.cpu_s >= 0 && result.cpu_s < 5);
    result = record_part("kill", NULL);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGKILL);
}

static void test_all_samples_arrive_from_a_killed_program(void **state)
{
    struct counted counted;
    struct launch_result result = record_part("samples", &counted);
    assert_int_equal(result.signal, SIGKILL);
    assert_int_equal(result.images, 1);
    assert_int_equal(counted.processes, 1);
    assert_int_equal(counted.samples, 200000);
    assert_int_equal(counted.counters, 1);
    assert_int_equal(counted.attempted, 12);
    assert_int_equal(result.corrupt_records, 0);
    assert_false(result.log_truncated);
    assert_false(result.outlived);
}

static void test_table_requests_are_answered(void **state)
{
    assert_int_equal(chdir(directory), 0); /* where launch looks for "fifo" */
    assert_int_equal(mkfifo("fifo", 0600), 0);
    struct launch_result result = record_part("table", NULL);
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 0);
}

static void test_scribbled_region_is_survived(void **state)
{
    struct counted counted;
    struct launch_result result = record_part("scribble", &counted);
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 3);
    assert_true(result.corrupt_records > 0);
}

static void test_children_that_live_on_are_not_waited_for(void **state)
{
    struct counted counted;
    struct launch_result result = record_part("outlive", &counted);
    assert_true(result.outlived);
    assert_true(result.wall_s < 2.5);
    assert_int_equal(result.images, 2);
    assert_int_equal(counted.counters, 2);
}

/* The program finds signals and descriptors as headroom got them. */
static void test_program_inherits_everything_as_it_was(void **state)
{
    sigset_t mask, before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, &before);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    struct launch_result result = record_part("signals", NULL);
    struct sigaction child;
    sigaction(SIGCHLD, NULL, &child);
    assert_ptr_equal(child.sa_handler, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_true(result.exited); /* although SIGCHLD was ignored */
    assert_int_equal(result.exit_code, 1 | 2 | 4 | 8);

    int own = 0;
    for (int i = 0; i < 256; i++)
        own += fcntl(i, F_GETFD) >= 0 && !(fcntl(i, F_GETFD) & FD_CLOEXEC);
    result = record_part("descriptors", NULL);
    assert_int_equal(result.exit_code, own);
}

/* The region is larger than this file-size limit, which headroom lifts for itself only. */
static void test_program_keeps_its_limits(void **state)
{
    struct rlimit files, size, fewer, smaller;
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_FSIZE, &size);
    fewer = (struct rlimit){99, files.rlim_max};
    smaller = (struct rlimit){4096, size.rlim_max};
    setrlimit(RLIMIT_NOFILE, &fewer);
    setrlimit(RLIMIT_FSIZE, &smaller);
    struct launch_result result = record_part("limits", NULL);
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_FSIZE, &size);
    assert_int_equal(result.exit_code, 1 | 2);
}

static void test_sigterm_is_passed_on(void **state)
{
    pid_t parent = getpid(), sender = fork();
    if (sender == 0) {
        usleep(300000);
        kill(parent, SIGTERM);
        _exit(0);
    }
    struct launch_result result = record_part("term", NULL);
    waitpid(sender, NULL, 0);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGTERM);
    assert_int_equal(result.lost_threads, 5);
}

static void test_full_disk_does_not_stop_the_program(void **state)
{
    char *command[] = {self, (char *)"play", (char *)"samples", NULL};
    struct launch_result result;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(record(command, self, full, &result), LAUNCH_FAILED); /* not even a header */
    close(full);
    /* A log that takes the header and then no more: a pipe nobody reads, without blocking. */
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(record(command, self, ends[1], &result), LAUNCH_OK);
    assert_int_equal(result.signal, SIGKILL);
    assert_int_equal(result.images, 1);
    assert_true(result.log_truncated);
    assert_int_equal(notes, 1);
    close(ends[0]);
    close(ends[1]);
}

/* The log ends with a whole frame, whatever comes after the disk was full once. */
static void test_log_is_cut_to_whole_frames(void **state)
{
    char path[LAUNCH_PATH_BYTES], error[LAUNCH_ERROR_BYTES], payload[512] = {0};
    struct wire_config config = {.kinds = WIRE_DEAD};
    struct wire_frame frame = {.payload_bytes = sizeof payload};
    struct wire_record *record = (struct wire_record *)payload;
    struct launch_log log;
    struct rlimit before, limit;
    struct stat status;
    int file;
    record->type = WIRE_PROCESS;
    record->bytes = sizeof payload;
    assert_int_equal(launch_log_create(in_directory("cut"), path, &file, error), LAUNCH_OK);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){4000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    bool begun = launch_log_begin(&log, file, &config);
    unsigned frames = 0;
    while (frames < 100 && launch_log_sink(&log, &frame, payload))
        frames++;
    setrlimit(RLIMIT_FSIZE, &before);
    /* Room again: too late for this log. */
    bool sunk = launch_log_sink(&log, &frame, payload);
    assert_int_equal(fstat(file, &status), 0);
    close(file);
    assert_true(begun && sunk);
    assert_int_equal(log.failure, EFBIG);
    assert_int_equal(log.images, frames + 2);
    assert_int_equal(status.st_size, log.bytes);
    assert_int_equal(status.st_size,
                     sizeof(struct wire_log_header) + frames * (sizeof frame + sizeof payload));
}

static void test_start_failures(void **state)
{
    struct launch_result result;
    char *command[] = {(char *)"x", NULL};
    int log = open(in_directory("log"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(record(command, in_directory("missing"), log, &result), LAUNCH_NOT_FOUND);
    assert_int_equal(record(command, directory, log, &result), LAUNCH_NOT_EXECUTABLE);
    close(log);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
    assert_int_equal(errno, ECHILD);
}

/* ---- programs that count by themselves ------------------------------------------------------- */

static enum launch_outcome run_built(const char *part, const char *path, int *region,
                                     struct launch_result *result)
{
    char *command[] = {self, (char *)"play", (char *)part, NULL};
    char error[LAUNCH_ERROR_BYTES] = "";
    struct launch_request request = {.path = path, .command = command};
    const struct instrumented_event event = {.type = 1, .config = 77};
    enum launch_outcome outcome = launch_instrumented(&request, &event, region, result, error);
    launch_signals_release();
    assert_int_equal(outcome == LAUNCH_OK, error[0] == 0);
    if (outcome == LAUNCH_OK)
        launch_ticks_free(&result->clock);
    return outcome;
}

static struct launch_result instrumented_part(const char *part)
{
    struct launch_result result;
    int region = -1;
    assert_int_equal(run_built(part, self, &region, &result), LAUNCH_OK);
    assert_true(fcntl(region, F_GETFD) & FD_CLOEXEC);
    close(region);
    return result;
}

static void test_built_region(void **state)
{
    struct launch_result result;
    struct instrumented_region header;
    char text[5];
    int region = -1;
    setenv(INSTRUMENTED_ENVIRONMENT, "1:1:1", 1); /* of a recording around this one */
    assert_int_equal(run_built("built", self, &region, &result), LAUNCH_OK);
    assert_string_equal(getenv(INSTRUMENTED_ENVIRONMENT), "1:1:1");
    unsetenv(INSTRUMENTED_ENVIRONMENT);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGKILL);
    assert_int_equal(result.images, 3);
    assert_int_equal(result.lost_threads, 2);
    assert_true(result.peak_bytes > 0 && result.start_ns > 0 && result.wall_s > 0);
    assert_int_equal(pread(region, &header, sizeof header, 0), sizeof header);
    assert_int_equal(header.metrics, INSTRUMENTED_PMU);
    assert_int_equal(header.event.config, 77);
    assert_int_equal(header.next, 2 * INSTRUMENTED_PAGE);
    assert_int_equal(pread(region, text, 5, INSTRUMENTED_PAGE), 5);
    assert_memory_equal(text, "piece", 5);
    close(region);
}

/* As test_program_inherits_everything_as_it_was and those after it; record: runs this program and
 * has it play that part. */
static void check_inheritance(struct launch_result (*record)(const char *part), const char *signals,
                              const char *limits)
{
    sigset_t mask, before, after;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, &before);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    struct launch_result result = record(signals);
    struct sigaction child;
    sigaction(SIGCHLD, NULL, &child);
    assert_ptr_equal(child.sa_handler, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, &after);
    assert_true(sigismember(&after, SIGUSR1) && !sigismember(&after, SIGTERM));
    assert_int_equal(result.exit_code, 1 | 2 | 4 | 8);
    struct rlimit files, size, fewer, smaller;
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_FSIZE, &size);
    fewer = (struct rlimit){99, files.rlim_max};
    smaller = (struct rlimit){4096, size.rlim_max};
    setrlimit(RLIMIT_NOFILE, &fewer);
    setrlimit(RLIMIT_FSIZE, &smaller);
    result = record(limits);
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_FSIZE, &size);
    assert_int_equal(result.exit_code, 1 | 2);
}

static void test_built_inheritance(void **state)
{
    check_inheritance(instrumented_part, "signals", "limits");
    int own = 0;
    for (int i = 0; i < 256; i++)
        own += fcntl(i, F_GETFD) >= 0 && !(fcntl(i, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(instrumented_part("descriptors").exit_code, own);
}

static void test_built_ends(void **state)
{
    struct launch_result result;
    int region = -7;
    result = instrumented_part("exit");
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 7);
    assert_int_equal(result.images, 0);
    pid_t parent = getpid(), sender = fork();
    if (sender == 0) {
        usleep(300000);
        kill(parent, SIGTERM);
        _exit(0);
    }
    result = instrumented_part("built-term");
    waitpid(sender, NULL, 0);
    assert_int_equal(result.signal, SIGTERM);
    assert_int_equal(run_built("exit", in_directory("missing"), &region, &result),
                     LAUNCH_NOT_FOUND);
    assert_int_equal(run_built("exit", directory, &region, &result), LAUNCH_NOT_EXECUTABLE);
    assert_int_equal(region, -7);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
    assert_int_equal(errno, ECHILD);
}

/* ---- the exact engine ---------------------------------------------------------------------- */

static struct launch_exact_engine stand_in(void)
{
    struct launch_exact_engine engine = {.library = EXACT_LIBRARY};
    strcpy(engine.tool, self);
    strcpy(engine.start, self);
    return engine;
}

static enum launch_outcome try_exact(const char *part, struct launch_result *result, char *error)
{
    char *command[] = {self, (char *)part, NULL};
    char path[LAUNCH_PATH_BYTES];
    struct launch_exact_engine engine = stand_in();
    struct launch_exact_request request = {
        .program = {.path = self, .command = command, .note = count_note, .config.kinds = 7},
        .engine = &engine,
        .share = 1};
    assert_int_equal(launch_log_create(in_directory("e"), path, &request.program.log, error),
                     LAUNCH_OK);
    notes = 0;
    enum launch_outcome outcome = launch_exact(&request, result, error);
    launch_signals_release();
    close(request.program.log);
    unlink(path);
    return outcome;
}

static struct launch_result exact_part(const char *part)
{
    char error[LAUNCH_ERROR_BYTES] = "";
    struct launch_result result;
    enum launch_outcome outcome = try_exact(part, &result, error);
    if (outcome != LAUNCH_OK)
        fail_msg("%s: %s", part, error);
    return result;
}

static void test_exact_status(void **state)
{
    struct launch_result result = exact_part("count");
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 7);
    assert_int_equal(result.images, 1);
    assert_int_equal(result.counted, 1);
    assert_int_equal(result.lost_processes, 0);
    assert_false(result.outlived || result.log_truncated);
    assert_string_equal(result.message, "");
    result = exact_part("kill");
    assert_int_equal(result.signal, SIGKILL);
    assert_int_equal(result.images, 1);
    assert_int_equal(result.counted, 0);
    assert_int_equal(result.lost_processes, 1);
}

static void test_exact_refusals(void **state)
{
    char error[LAUNCH_ERROR_BYTES];
    struct launch_result result = {.exit_code = 77};
    signal(SIGPIPE, SIG_DFL); /* earlier recordings left it ignored */
    assert_int_equal(try_exact("refuse", &result, error), LAUNCH_FAILED);
    assert_non_null(strstr(error, "the moon is full."));
    assert_int_equal(try_exact("silent", &result, error), LAUNCH_FAILED);
    assert_int_equal(result.exit_code, 77);
    struct sigaction pipe_broken;
    sigaction(SIGPIPE, NULL, &pipe_broken);
    assert_ptr_equal(pipe_broken.sa_handler, SIG_DFL);
}

static void test_exact_words_of_the_engine(void **state)
{
    struct launch_result result = exact_part("illegal");
    assert_int_equal(result.signal, SIGILL);
    assert_non_null(strstr(result.message, "an AVX-512 instruction in scale(int), which"));
    result = exact_part("full");
    assert_true(result.log_truncated);
    assert_int_equal(notes, 1);
    assert_true(exact_part("torn").log_truncated);
}

static void test_exact_families(void **state)
{
    struct launch_result result = exact_part("family");
    assert_int_equal(result.exit_code, 7);
    assert_int_equal(result.images, 3);
    assert_int_equal(result.counted, 1);
    assert_int_equal(result.lost_processes, 1);
    assert_true(result.outlived);
    assert_true(result.wall_s < 2.5);
    assert_int_equal(result.degraded, WIRE_DEGRADED_UNOBSERVED_CHILD);
}

static void test_exact_signals(void **state)
{
    pid_t parent = getpid(), sender = fork();
    if (sender == 0) {
        usleep(300000);
        kill(parent, SIGTERM);
        _exit(0);
    }
    struct launch_result result = exact_part("term");
    waitpid(sender, NULL, 0);
    assert_int_equal(result.signal, SIGTERM);
    assert_true(result.wall_s > 0.3);
}

static void test_exact_inheritance(void **state)
{
    check_inheritance(exact_part, "inherit-signals", "inherit-limits");
}

static void words(struct exact_words *words, const char *text)
{
    *words = (struct exact_words){0};
    for (; *text; text++) /* byte by byte: cuts do not matter */
        exact_words_take(words, text, 1);
}

static void test_exact_words(void **state)
{
    struct exact_words found;
    words(&found, "==12== valgrind: Unrecognised instruction at address 0x1.\n"
                  "vex amd64->IR: unhandled instruction bytes: 0x8F 0xE9 0x78\n");
    assert_string_equal(found.trouble, "");
    assert_non_null(strstr(found.unknown, "0x8F 0xE9"));
    words(&found, "valgrind: /bin/x: Permission denied\nvalgrind: more\n");
    assert_string_equal(found.trouble, "Valgrind says: /bin/x: Permission denied");
    words(&found, "==12==   Valgrind's memory management: out of memory:\n");
    assert_non_null(strstr(found.trouble, "memory ran out"));
    words(&found, "headroom: log: no space left.\n==9== headroom: memory is short.\n");
    assert_string_equal(found.log_failure, "no space left");
    assert_string_equal(found.trouble, "memory is short");
    words(&found, "headroom: unobserved: /bin/x");
    assert_false(found.unobserved_child); /* the line is not complete */
    char lengthy[3000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    memcpy(lengthy, "headroom: ", 10);
    lengthy[sizeof lengthy - 2] = '\n';
    lengthy[sizeof lengthy - 1] = 0;
    words(&found, lengthy);
    assert_in_range(strlen(found.trouble), 300, LAUNCH_MESSAGE_BYTES - 1);
}

static enum launch_format format_of(const char *name, const char *bytes, size_t count)
{
    char interpreter[LAUNCH_PATH_BYTES];
    const char *path = make_file(name, "", 0700);
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
    return launch_format(path, interpreter);
}

static void test_formats(void **state)
{
    char interpreter[LAUNCH_PATH_BYTES], header[64];
    int file = open(self, O_RDONLY);
    assert_int_equal(read(file, header, sizeof header), sizeof header);
    close(file);
    assert_int_equal(launch_format(self, interpreter), LAUNCH_FORMAT_NATIVE);
    assert_int_equal(format_of("f", header, 64), LAUNCH_FORMAT_NATIVE);
    assert_int_equal(format_of("f", header, 63), LAUNCH_FORMAT_NONE);
    header[4] = 1; /* ELFCLASS32 with x86-64: x32 */
    assert_int_equal(format_of("f", header, 64), LAUNCH_FORMAT_32BIT);
    header[18] = 3;
    assert_int_equal(format_of("f", header, 64), LAUNCH_FORMAT_32BIT);
    header[18] = 40;
    assert_int_equal(format_of("f", header, 64), LAUNCH_FORMAT_FOREIGN);
    assert_int_equal(format_of("f", "", 0), LAUNCH_FORMAT_TEXT);
    assert_int_equal(format_of("f", "a\0b", 3), LAUNCH_FORMAT_NONE);
    assert_int_equal(format_of("f", "#!", 2), LAUNCH_FORMAT_NONE);
    assert_int_equal(format_of("f", "#! \t/bin/sh -e\n", 15), LAUNCH_FORMAT_SCRIPT);
    assert_int_equal(launch_format(in_directory("f"), interpreter), LAUNCH_FORMAT_SCRIPT);
    assert_string_equal(interpreter, "/bin/sh");
    assert_int_equal(launch_format(directory, interpreter), LAUNCH_FORMAT_UNREADABLE);
    assert_int_equal(launch_format("/nonexistent", interpreter), LAUNCH_FORMAT_UNREADABLE);
    make_file("gains", "#!/bin/sh\n", 0700);
    assert_false(launch_set_id(in_directory("gains")));
    assert_int_equal(chmod(in_directory("gains"), 02755), 0);
    assert_true(launch_set_id(in_directory("gains")));
}

static bool contains(char *const *list, const char *word)
{
    for (; *list; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

static void test_exact_command_line(void **state)
{
    char *program[] = {(char *)"ls", (char *)"-l", NULL};
    struct launch_exact_engine engine = stand_in();
    struct launch_exact_request request = {
        .program = {.path = "/bin/ls",
                    .command = program,
                    .config = {.kinds = 5, .fp_tolerance = 0.25F}},
        .engine = &engine,
        .reuse = LAUNCH_REUSE_WORD,
        .share = 0.5};
    char **command = exact_command(&request, "/l", "/m", "");
    assert_string_equal(command[0], self);
    assert_string_equal(command[1], "--tool=headroom");
    static const char *const expected[] = {
        "--log=/l",     "--log-file=/m", "--kinds=5",          "--fp-tolerance=0.250000000",
        "--reuse=word", "--stack=no",    "--share=2147483648", "--trace-children=no"};
    for (size_t i = 0; i < BASE_COUNT(expected); i++)
        if (!contains(command, expected[i]))
            fail_msg("no %s", expected[i]);
    size_t count = 0;
    while (command[count])
        count++;
    assert_string_equal(command[count - 2], "ls"); /* argv[0] is the program's own */
    assert_string_equal(command[count - 1], "-l");
    exact_command_free(command);
    request.program.shell = true;
    request.program.config.follow = 1;
    request.reuse = LAUNCH_REUSE_NONE;
    request.trace = "t";
    command = exact_command(&request, "/l", "/m", "");
    assert_true(contains(command, "--trace-children=yes") && contains(command, "--trace=t"));
    assert_false(contains(command, "--stack=no"));
    for (count = 0; strcmp(command[count], "/bin/sh") != 0;)
        count++;
    assert_string_equal(command[count + 1], "/bin/ls");
    assert_string_equal(command[count + 2], "-l");
    exact_command_free(command);
}

static void test_exact_environment(void **state)
{
    char *old[] = {(char *)"VALGRIND_LIB=/x", (char *)"A=1", (char *)"VALGRIND_LAUNCHER=/y",
                   (char *)"DEBUGINFOD_URLS=http://localhost", NULL};
    struct launch_exact_engine engine = {.start = "/s", .library = EXACT_LIBRARY};
    char **made = exact_environment(old, &engine);
    assert_string_equal(made[0], "A=1");
    assert_string_equal(made[1], "DEBUGINFOD_URLS=");
    assert_string_equal(made[2], "VALGRIND_LAUNCHER=/s");
    assert_null(made[3]);
    free(made);
    strcpy(engine.library, "/opt/valgrind");
    made = exact_environment(old, &engine);
    assert_string_equal(made[3], "VALGRIND_LIB=/opt/valgrind");
    assert_null(made[4]);
    free(made);
}

static void test_exact_examine(void **state)
{
    char error[LAUNCH_ERROR_BYTES], name[64], text[PATH_MAX];
    bool shell = true;
    assert_int_equal(launch_exact_examine(self, &shell, error), LAUNCH_OK);
    assert_false(shell);
    make_file("echo", "echo\n", 0700);
    assert_int_equal(launch_exact_examine(in_directory("echo"), &shell, error), LAUNCH_OK);
    assert_true(shell);
    make_file("gains", "#!/bin/sh\n", 0700);
    chmod(in_directory("gains"), 04755);
    assert_int_equal(launch_exact_examine(in_directory("gains"), &shell, error), LAUNCH_FAILED);
    assert_int_equal(launch_exact_examine(in_directory("none"), &shell, error), LAUNCH_FAILED);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "link%d", i);
        snprintf(text, sizeof text, i ? "#!%s/link%d\n" : "#!/bin/sh\n", directory, i - 1);
        make_file(name, text, 0700);
    }
    assert_int_equal(launch_exact_examine(in_directory("link2"), &shell, error), LAUNCH_OK);
    assert_int_equal(launch_exact_examine(in_directory("link8"), &shell, error),
                     LAUNCH_NOT_EXECUTABLE);
    assert_non_null(strstr(error, "interpreters of interpreters"));
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void test_search_as_execvp(void **state)
{
    char path[LAUNCH_PATH_BYTES] = "untouched", error[LAUNCH_ERROR_BYTES], search[PATH_MAX];
    char *old = strdup(getenv("PATH"));
    mkdir(in_directory("a"), 0700);
    mkdir(in_directory("b"), 0700);
    mkdir(in_directory("a/dir"), 0700);
    make_file("a/tool", "#!/bin/sh\n", 0600); /* not executable: the search goes on */
    make_file("b/tool", "#!/bin/sh\n", 0700);
    make_file("a/locked", "", 0600);
    snprintf(search, sizeof search, "%s:/nonexistent:%s", in_directory("a"), in_directory("b"));
    setenv("PATH", search, 1);
    assert_int_equal(launch_find("locked", path, error), LAUNCH_NOT_EXECUTABLE);
    assert_int_equal(launch_find("dir", path, error), LAUNCH_NOT_FOUND);
    assert_int_equal(launch_find("none", path, error), LAUNCH_NOT_FOUND);
    assert_int_equal(launch_find("", path, error), LAUNCH_NOT_FOUND);
    assert_int_equal(launch_find(in_directory("a"), path, error), LAUNCH_NOT_EXECUTABLE);
    assert_string_equal(path, "untouched");
    assert_int_equal(launch_find("tool", path, error), LAUNCH_OK);
    assert_string_equal(path, in_directory("b/tool"));
    /* An empty entry is the current directory. */
    assert_int_equal(chdir(in_directory("b")), 0);
    setenv("PATH", "/nonexistent:", 1);
    assert_int_equal(launch_find("tool", path, error), LAUNCH_OK);
    assert_string_equal(path, "tool");
    setenv("PATH", old, 1);
    free(old);
}

static void test_scripts_are_judged_by_their_interpreter(void **state)
{
    char error[LAUNCH_ERROR_BYTES], name[64], text[PATH_MAX];
    bool shell = true;
    assert_int_equal(launch_examine(make_file("ok", "#!/bin/sh\n", 0700), &shell, error),
                     LAUNCH_OK);
    assert_false(shell);
    assert_int_equal(launch_examine(make_file("plain", "echo\n", 0700), &shell, error), LAUNCH_OK);
    assert_true(shell);
    assert_int_equal(launch_examine(make_file("gone", "#!/nonexistent\n", 0700), &shell, error),
                     LAUNCH_NOT_EXECUTABLE);
    assert_non_null(strstr(error, "/nonexistent"));
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "chain%d", i);
        snprintf(text, sizeof text, "#!%s\n", in_directory(i ? name : "ok"));
        if (i)
            snprintf(text, sizeof text, "#!%s/chain%d\n", directory, i - 1);
        make_file(name, text, 0700);
    }
    assert_int_equal(launch_examine(in_directory("chain1"), &shell, error), LAUNCH_OK);
    assert_int_equal(launch_examine(in_directory("chain8"), &shell, error), LAUNCH_NOT_EXECUTABLE);
}

static void check_environment(char *const *before, const char *preload, int place)
{
    char **after = launch_environment(before, "/a.so", 12, 34);
    char where[64];
    int count = 0;
    snprintf(where, sizeof where, "%s=%d:12:34", WIRE_ENVIRONMENT, WIRE_VERSION);
    assert_non_null(after);
    assert_string_equal(after[place], preload);
    while (after[count])
        count++;
    assert_string_equal(after[count - 1], where);
    free(after);
}

static void test_environment(void **state)
{
    char *none[] = {(char *)"A=1", NULL};
    char *old[] = {(char *)"LD_PRELOAD=x y", (char *)"A=1", NULL};
    char *empty[] = {(char *)"A=1", (char *)"LD_PRELOAD=", (char *)WIRE_ENVIRONMENT "=9:9:9", NULL};
    char *similar[] = {(char *)"LD_PRELOADER=1", (char *)"LD_PRELOAD", NULL};
    check_environment(none, "LD_PRELOAD=/a.so", 1);
    check_environment(old, "LD_PRELOAD=/a.so:x y", 0);
    check_environment(empty, "LD_PRELOAD=/a.so:", 1);
    check_environment(similar, "LD_PRELOAD=/a.so", 2);
}

static void test_log_never_follows_links(void **state)
{
    char path[LAUNCH_PATH_BYTES] = "untouched", error[LAUNCH_ERROR_BYTES];
    char lengthy[LAUNCH_PATH_BYTES + 8];
    int log = -7;
    memset(lengthy, 'x', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = 0;
    assert_int_equal(launch_log_create("/nonexistent/p", path, &log, error), LAUNCH_FAILED);
    assert_int_equal(launch_log_create(lengthy, path, &log, error), LAUNCH_FAILED);
    assert_string_equal(path, "untouched");
    assert_int_equal(log, -7);
}

static void test_watchpoints_are_found_by_trying(void **state)
{
    struct machine_watchpoints found;
    struct sigaction before, after;
    sigaction(SIGTRAP, NULL, &before);
    assert_int_equal(machine_try_watchpoints(3, &found), BASE_OK);
    sigaction(SIGTRAP, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
    assert_true(found.registers <= found.armed && found.armed <= 4);
    assert_true(found.registers == 4 || found.refused != 0 || found.armed > found.registers);
    if (found.registers)
        assert_true(found.trap_us > 0 && found.arm_us > 0);
    assert_int_equal(machine_try_descriptors(), BASE_OK);
}

static int begin(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    if (argc == 3 && strcmp(argv[1], "play") == 0)
        return play(argv[2]);
    if (argc > 2 && strcmp(argv[1], "--tool=headroom") == 0)
        return play_tool(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_as_execvp),
        cmocka_unit_test(test_scripts_are_judged_by_their_interpreter),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_log_never_follows_links),
        cmocka_unit_test(test_watchpoints_are_found_by_trying),
        cmocka_unit_test(test_exit_status),
        cmocka_unit_test(test_all_samples_arrive_from_a_killed_program),
        cmocka_unit_test(test_table_requests_are_answered),
        cmocka_unit_test(test_scribbled_region_is_survived),
        cmocka_unit_test(test_children_that_live_on_are_not_waited_for),
        cmocka_unit_test(test_program_inherits_everything_as_it_was),
        cmocka_unit_test(test_program_keeps_its_limits),
        cmocka_unit_test(test_sigterm_is_passed_on),
        cmocka_unit_test(test_full_disk_does_not_stop_the_program),
        cmocka_unit_test(test_log_is_cut_to_whole_frames),
        cmocka_unit_test(test_start_failures),
        cmocka_unit_test(test_built_region),
        cmocka_unit_test(test_built_inheritance),
        cmocka_unit_test(test_built_ends),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_exact_words),
        cmocka_unit_test(test_exact_command_line),
        cmocka_unit_test(test_exact_environment),
        cmocka_unit_test(test_exact_examine),
        cmocka_unit_test(test_exact_inheritance),
        cmocka_unit_test(test_exact_refusals),
        cmocka_unit_test(test_exact_status),
        cmocka_unit_test(test_exact_words_of_the_engine),
        cmocka_unit_test(test_exact_families),
        cmocka_unit_test(test_exact_signals),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
