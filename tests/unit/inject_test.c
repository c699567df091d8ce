// SPDX-License-Identifier: MIT
/*
 * inject, and launch_spans: this program itself plays the observed program and its agent (argv[1]
 * "play"): stubs that count, a handler of SIGTRAP that follows the table, functions with windows of
 * all kinds. Hooked at start, by samples, in modules loaded later and in forked children; and over
 * and over again while many threads execute them.
 */
#include "inject/internal.h"
#include "launch/launch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

static char self[PATH_MAX];

/* ---- functions to be hooked: all return their argument and one ---- */

#define VICTIM(name, body)                                                                         \
    long name(long);                                                                               \
    __asm__(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body   \
            ".size " #name ", . - " #name "\n")

VICTIM(v_frame, "push %rbp\n mov %rsp,%rbp\n lea 1(%rdi),%rax\n pop %rbp\n ret\n");
VICTIM(v_stack, "sub $24,%rsp\n lea 1(%rdi),%rax\n add $24,%rsp\n ret\n");
VICTIM(v_pushes,
       "push %rbx\n push %r12\n mov %rdi,%rbx\n lea 1(%rbx),%rax\n pop %r12\n pop %rbx\n ret\n");
VICTIM(v_small, "push %rbx\n push %rbp\n push %rbx\n push %rbp\n push %rbx\n lea 1(%rdi),%rax\n"
                "add $40,%rsp\n ret\n");
VICTIM(v_single, "mov $1,%eax\n add %rdi,%rax\n ret\n");
VICTIM(v_nop, ".byte 0x0f,0x1f,0x44,0,0\n lea 1(%rdi),%rax\n ret\n");
VICTIM(v_endbr, "endbr64\n push %rbp\n mov %rsp,%rbp\n lea 1(%rdi),%rax\n pop %rbp\n ret\n");
VICTIM(v_branch, "test %rdi,%rdi\n js 1f\n lea 1(%rdi),%rax\n ret\n1: lea 1(%rdi),%rax\n ret\n");
VICTIM(v_data, "mov v_one(%rip),%rax\n add %rdi,%rax\n ret\n");
VICTIM(v_zero, "xor %eax,%eax\n lea 1(%rax,%rdi),%rax\n ret\n");
/* Mostly between its first instruction and its third, where it must not be overwritten. */
VICTIM(v_slow, "push %rbx\n cpuid\n lea 1(%rdi),%rax\n pop %rbx\n ret\n");
VICTIM(v_fault, "push %rbp\n mov (%rdi),%rax\n pop %rbp\n ret\n");
VICTIM(v_loop, "1: dec %rdi\n jg 1b\n nopl (%rax)\n nopl (%rax)\n ret\n"); /* to be left alone */
extern const long v_one;
const long v_one = 1;

static const struct victim {
    const char *name;
    long (*call)(long);
} victims[] = {
    {"v_frame", v_frame},   {"v_stack", v_stack}, {"v_pushes", v_pushes}, {"v_small", v_small},
    {"v_single", v_single}, {"v_nop", v_nop},     {"v_endbr", v_endbr},   {"v_branch", v_branch},
    {"v_data", v_data},     {"v_zero", v_zero},   {"v_slow", v_slow},
};
enum { VICTIMS = sizeof victims / sizeof victims[0] };

/* ---- the part of the agent ----------------------------------------------------- */

enum { STUB_BYTES = 32, AREA_BYTES = 1 << 20 };

static struct spans_region *region;
static struct spans_process *piece, *volatile *handler_piece;
static _Atomic uint64_t *handler_traps;
static _Atomic uint64_t *counters; /* shared with forked children */
static uint64_t targets[SPANS_FUNCTIONS];
static uint8_t *stubs;
static struct spans_area areas[2];
static uint32_t region_file;
static int headroom_pid;

/* lock incq counter; jmp *target: absolute addresses in r11, which no function keeps. */
static void write_stub(uint32_t number)
{
    uint8_t *at = stubs + number * STUB_BYTES;
    uint64_t counter = (uint64_t)&counters[number], target = (uint64_t)&targets[number];
    static const uint8_t code[] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x49, 0xff, 0x03,
                                   0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0x23};
    memcpy(at, code, sizeof code);
    memcpy(at + 2, &counter, 8);
    memcpy(at + 16, &target, 8);
}

static void map_region(void)
{
    const char *where = getenv(WIRE_ENVIRONMENT);
    char path[64];
    int version, file;
    if (!where || sscanf(where, "%d:%d:%d", &version, &headroom_pid, &file) != 3)
        _exit(81);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", headroom_pid, file);
    file = open(path, O_RDWR | O_CLOEXEC);
    const struct wire_region *wire = mmap(NULL, sizeof *wire, PROT_READ, MAP_SHARED, file, 0);
    if (wire == MAP_FAILED || wire_region_check(wire, sizeof *wire) != BASE_OK)
        _exit(82);
    region_file = wire->config.spans;
    close(file);
}

static void map_spans(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%u", headroom_pid, region_file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (region == MAP_FAILED || region->magic != SPANS_MAGIC)
        _exit(83);
    /* Resizing would kill headroom with SIGBUS. */
    if (ftruncate(file, 4096) == 0)
        _exit(84);
    close(file);
}

static void make_area(struct spans_area *area, const void *place)
{
    uint64_t near = (uint64_t)place & ~UINT64_C(0xfffff);
    for (int i = 16; i < 1024 && !area->start; i++) {
        void *at = (void *)(near - (uint64_t)i * AREA_BYTES);
        void *got = mmap(at, AREA_BYTES, PROT_READ | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == at)
            *area = (struct spans_area){(uint64_t)at, AREA_BYTES};
        else if (got != MAP_FAILED)
            munmap(got, AREA_BYTES);
    }
}

static void make_memory(void)
{
    make_area(&areas[0], v_frame);
    make_area(&areas[1], strlen);
    counters = mmap(NULL, SPANS_FUNCTIONS * sizeof *counters, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stubs = mmap(NULL, SPANS_FUNCTIONS * STUB_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < SPANS_FUNCTIONS; i++)
        write_stub(i);
}

static void publish(enum spans_phase phase)
{
    char path[64];
    uint64_t bytes = (sizeof *piece + SPANS_PAGE - 1) & ~(uint64_t)(SPANS_PAGE - 1);
    uint64_t offset = atomic_fetch_add(&region->next, bytes);
    const struct spans_process *old = piece;
    snprintf(path, sizeof path, "/proc/%d/fd/%u", headroom_pid, region_file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct spans_process *new =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    close(file);
    new->piece.pid = (uint32_t)getpid();
    new->piece.bytes = bytes;
    new->stubs = (uint64_t)stubs;
    new->stub_bytes = STUB_BYTES;
    new->targets = (uint64_t)targets;
    new->phase = phase;
    new->areas_count = 2;
    memcpy(new->areas, areas, sizeof areas);
    if (old) {
        memcpy(new->traps, old->traps, sizeof new->traps);
        new->traps_count = old->traps_count;
    }
    *handler_piece = piece = new;
    atomic_store(&new->piece.kind, SPANS_PIECE_PROCESS);
    atomic_fetch_add(&region->doorbell, 1);
    syscall(SYS_futex, &region->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* As the agent does: until headroom has been killed. */
static void await_patches(pid_t headroom)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    uint32_t phase;
    for (int i = 0; (phase = atomic_load(&piece->phase)) != SPANS_PATCHED_UP; i++) {
        if (getppid() != headroom)
            return;
        if (i == 500)
            _exit(85);
        syscall(SYS_futex, &piece->phase, FUTEX_WAIT, phase, &pause, NULL, 0);
    }
}

static void play_agent(void)
{
    /* A handler of another signal would meet the next int3 while SIGTRAP is blocked. */
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    pid_t headroom = getppid();
    sigfillset(&action.sa_mask);
    handler_piece = dlsym(RTLD_DEFAULT, "handler_piece");
    handler_traps = dlsym(RTLD_DEFAULT, "handler_traps");
    action.sa_sigaction = (void (*)(int, siginfo_t *, void *))dlsym(RTLD_DEFAULT, "handler_trap");
    if (!handler_piece || !handler_traps || !action.sa_sigaction)
        _exit(86);
    sigaction(SIGTRAP, &action, NULL);
    make_memory();
    publish(SPANS_STARTING);
    await_patches(headroom);
}

static uint64_t count_of(const char *name)
{
    for (uint32_t i = 1; i < SPANS_FUNCTIONS; i++)
        if (region->function[i].state == SPANS_READY && region->function[i].entry != SPANS_IMPORT &&
            strcmp(region->function[i].name, name) == 0)
            return atomic_load(&counters[i]);
    return 0;
}

/* ---- parts of observed programs ------------------------------------------------ */

static _Atomic bool stop;

static bool slow; /* v_slow takes so long that nothing else is hot */

static void call_all(long value)
{
    for (size_t i = 0; i < VICTIMS; i++)
        if ((slow || victims[i].call != v_slow) && victims[i].call(value) != value + 1)
            _exit(70);
}

static void *spin(void *nothing)
{
    for (long value = 0; !atomic_load_explicit(&stop, memory_order_relaxed); value++)
        call_all(value);
    return nothing;
}

/* Each is called 1000 times; those that can be hooked have seen it, the others work. */
static int play_start(void)
{
    slow = true;
    for (long value = 0; value < 1000; value++)
        call_all(value);
    for (size_t i = 0; i < VICTIMS; i++)
        if (count_of(victims[i].name) != 1000)
            return 10 + (int)i;
    v_loop(5);
    return count_of("v_loop") != 0;
}

/* Hooked by and by, while two threads execute them. */
static int play_hot(void)
{
    pthread_t threads[2];
    int found = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, spin, NULL);
    for (int i = 0; i < 1500 && found < VICTIMS / 2; i++) {
        usleep(10000);
        found = 0;
        for (size_t j = 0; j < VICTIMS; j++)
            found += count_of(victims[j].name) > 0;
    }
    usleep(1500000); /* counted is what went through the int3, too */
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return found >= VICTIMS / 2 ? 0 : 11;
}

static int play_load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    long (*call)(long) = library ? (long (*)(long))dlsym(library, "fixture_add") : NULL;
    if (!call)
        return 12;
    /* A second was too short where twenty programs shared two processors. */
    for (int i = 0; i < 16000; i++) {
        for (long value = 0; value < 100000; value++)
            if (call(value) != value + 1)
                return 13;
        /* Until the jump is there: a breakpoint leads to the hook as well, but may be taken back.
         */
        if (count_of("fixture_add") > 0 && atomic_load(&piece->new_modules) > 0 &&
            *(volatile unsigned char *)(uintptr_t)call == 0xe9)
            return 0;
        usleep(1000);
    }
    return atomic_load(&piece->new_modules) > 0 ? 14 : 15;
}

/* Children are forked while functions are patched, and call them; half-way ones are completed. */
static int play_fork(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0) {
            publish(SPANS_PATCHED_UP);
            for (long value = 0; value < 100000; value++)
                call_all(value);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            return 16;
        usleep(20000);
    }
    stop = true;
    pthread_join(thread, NULL);
    return 0;
}

/* Processes that end or execute something else as soon as they have been seen. */
static int play_short(void)
{
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0) {
            publish(SPANS_PATCHED_UP);
            if (i % 2)
                execl("/bin/true", "true", NULL);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            return 17;
    }
    call_all(1);
    return 0;
}

/* Pieces that say they are of headroom's process, of one that is not there, of none of ours, or are
 * nothing at all. */
static int play_scribble(void)
{
    static const uint32_t pids[] = {0, 1, 0x7ffffffe, UINT32_MAX};
    for (size_t i = 0; i < 40; i++) {
        publish(SPANS_STARTING);
        piece->piece.pid = i % 5 < 4 ? pids[i % 5] : (uint32_t)headroom_pid;
        piece->areas_count = UINT32_MAX;
        piece->traps_count = UINT32_MAX;
        piece->piece.bytes = i % 3 ? piece->piece.bytes : i * 1234567;
        usleep(i % 4 * 1000);
    }
    atomic_store(&region->functions, UINT32_MAX);
    atomic_store(&region->next, UINT64_MAX);
    usleep(300000);
    return 0;
}

/* headroom is killed meanwhile. */
static int play_orphan(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, spin, NULL);
    usleep(1200000);
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 33;
}

static int play_dead(void)
{
    raise(SIGKILL);
    return 18;
}

/* A thread is interrupted behind the first instruction of v_fault, and stays in the handler until
 * it may go on. */
static char *page;
static bool handler_spins;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (info->si_addr != page)
        _exit(71);
    atomic_store(&region->lost, 1);
    while (atomic_load(&region->lost) == 1)
        if (!handler_spins)
            usleep(1000);
    mprotect(page, SPANS_PAGE, PROT_READ | PROT_WRITE);
}

static int play_inside(bool spins)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    handler_spins = spins;
    page = mmap(NULL, SPANS_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
    if (v_fault((long)page) != 0)
        return 19;
    while (atomic_load(&region->lost) != 3)
        usleep(1000);
    return v_fault((long)page) == 0 ? 0 : 20;
}

static void *call_once(void *nothing)
{
    call_all(5);
    return nothing;
}

static void *make_threads(void *nothing)
{
    pthread_t thread;
    while (!atomic_load(&stop))
        if (pthread_create(&thread, NULL, call_once, NULL) == 0)
            pthread_join(thread, NULL);
    return nothing;
}

static void *rest(void *nothing)
{
    for (long i = 0; !atomic_load(&stop); i++) {
        usleep(500);
        call_all(i);
    }
    return nothing;
}

static void on_alarm(int number)
{
    static _Atomic long turn;
    (void)number;
    int saved = errno;
    call_all(7);
    if (atomic_fetch_add(&turn, 1) % 16 == 0)
        usleep(2000);
    errno = saved;
}

/* The signal of the timer arrives in whatever thread, in the middle of whatever. */
static int play_torture(void)
{
    void *(*const parts[])(void *) = {spin, spin, make_threads, rest, rest};
    pthread_t threads[BASE_COUNT(parts)];
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    slow = true;
    sigaction(SIGALRM, &action, NULL);
    for (size_t i = 0; i < BASE_COUNT(parts); i++)
        if (pthread_create(&threads[i], NULL, parts[i], NULL) != 0)
            return 21;
    setitimer(ITIMER_REAL, &often, NULL);
    while (!atomic_load(&region->lost)) {
        pid_t child = fork();
        if (child == 0) {
            for (long value = 0; value < 100; value++)
                call_all(value);
            _exit(0);
        }
        int status;
        while (waitpid(child, &status, 0) < 0)
            if (errno != EINTR)
                return 22;
        if (status != 0)
            return 23;
        usleep(10000);
    }
    stop = true;
    for (size_t i = 0; i < BASE_COUNT(parts); i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int play(int count, char **arguments)
{
    if (!getenv("TORTURE") || sscanf(getenv("TORTURE"), "%d:%u", &headroom_pid, &region_file) != 2)
        map_region();
    map_spans();
    if (strcmp(arguments[2], "refused") == 0)
        prctl(PR_SET_DUMPABLE, 0); /* to others its memory is closed now */
    play_agent();
    if (strcmp(arguments[2], "start") == 0)
        return play_start();
    if (strcmp(arguments[2], "hot") == 0)
        return play_hot();
    if (strcmp(arguments[2], "load") == 0 && count > 3)
        return play_load(arguments[3]);
    if (strcmp(arguments[2], "fork") == 0)
        return play_fork();
    if (strcmp(arguments[2], "short") == 0)
        return play_short();
    if (strcmp(arguments[2], "dead") == 0)
        return play_dead();
    if (strcmp(arguments[2], "refused") == 0)
        return count_of("v_frame") != 0;
    if (strcmp(arguments[2], "scribble") == 0)
        return play_scribble();
    if (strcmp(arguments[2], "orphan") == 0)
        return play_orphan();
    if (strcmp(arguments[2], "torture") == 0)
        return play_torture();
    if (strncmp(arguments[2], "inside", 6) == 0)
        return play_inside(strcmp(arguments[2], "inside-spinning") == 0);
    return 79;
}

/* ---- recordings ---------------------------------------------------------------- */

struct recorded {
    struct launch_spans_result spans;
    struct launch_result result;
    struct spans_region *region;
    char said[1024];
};

static void note(void *context, const char *sentence)
{
    struct recorded *recorded = context;
    snprintf(recorded->said, sizeof recorded->said, "%s", sentence);
}

static void record(struct recorded *recorded, struct launch_spans_request *like, char *play,
                   char *argument)
{
    char *command[] = {self, (char *)"play", play, argument, NULL};
    char error[LAUNCH_ERROR_BYTES] = "";
    int log = memfd_create("log", MFD_CLOEXEC);
    *recorded = (struct recorded){.said = ""};
    like->program = (struct launch_request){
        .path = self, .command = command, .log = log, .note = note, .context = recorded};
    snprintf(like->program.config.agent_path, WIRE_PATH_BYTES, HANDLER);
    if (launch_spans(like, &recorded->spans, &recorded->result, error) != LAUNCH_OK)
        fail_msg("%s", error);
    close(log);
    recorded->region =
        mmap(NULL, sizeof *recorded->region, PROT_READ, MAP_SHARED, recorded->spans.region, 0);
    assert_ptr_not_equal(recorded->region, MAP_FAILED);
    if (getenv("DBG")) {
        fprintf(stderr, "%s: exited %d code %d signal %d patched %u said %s\n", play,
                recorded->result.exited, recorded->result.exit_code, recorded->result.signal,
                recorded->spans.hooks.patched, recorded->said);
        for (size_t i = 0; i < recorded->spans.hooks.unhooked_count; i++)
            fprintf(stderr, "  %s %s: %s\n", recorded->spans.hooks.unhooked[i].name,
                    recorded->spans.hooks.unhooked[i].module,
                    recorded->spans.hooks.unhooked[i].reason);
        for (uint32_t i = 1; i < SPANS_FUNCTIONS; i++)
            if (recorded->region->function[i].state && recorded->region->function[i].entry)
                fprintf(stderr, " k %u %s\n", i, recorded->region->function[i].name);
    }
}

static void forget(struct recorded *recorded)
{
    munmap(recorded->region, sizeof *recorded->region);
    close(recorded->spans.region);
    launch_spans_free(&recorded->spans);
}

static const char *reason_of(const struct recorded *recorded, const char *name)
{
    for (size_t i = 0; i < recorded->spans.hooks.unhooked_count; i++)
        if (strcmp(recorded->spans.hooks.unhooked[i].name, name) == 0)
            return recorded->spans.hooks.unhooked[i].reason;
    return NULL;
}

static const struct spans_function *function_of(const struct recorded *recorded, const char *name)
{
    for (uint32_t i = 1; i < SPANS_FUNCTIONS; i++)
        if (recorded->region->function[i].state == SPANS_READY &&
            strcmp(recorded->region->function[i].name, name) == 0)
            return &recorded->region->function[i];
    return NULL;
}

static const char *const all_victims[] = {"v_*"};

static void assert_success(const struct recorded *recorded)
{
    assert_true(recorded->result.exited);
    assert_int_equal(recorded->result.exit_code, 0);
}

/* ---- tests of the region ------------------------------------------------------- */

static void test_region(void **state)
{
    static const char *const keys[] = {"write:2", "v_stack:1"};
    struct launch_spans_request request = {.hooks.functions = all_victims,
                                           .hooks.functions_count = 1,
                                           .hooks.every = 7,
                                           .hooks.keys = keys,
                                           .hooks.keys_count = 2,
                                           .no_switches = true};
    struct recorded recorded;
    record(&recorded, &request, (char *)"start", NULL);
    const struct spans_region *made = recorded.region;
    assert_success(&recorded);
    assert_true(made->magic == SPANS_MAGIC);
    assert_int_equal(made->version, SPANS_VERSION);
    assert_int_equal(made->stack_period, 10000);
    assert_int_equal(made->switches, 0);
    assert_int_equal(made->automatic, 0);
    assert_int_equal(made->wait, 0); /* nobody answers any more */
    assert_true(made->ticks_end > made->ticks_start && made->ns_end > made->ns_start);
    double seconds = (double)(made->ns_end - made->ns_start) / 1e9;
    assert_true(seconds >= recorded.result.wall_s && seconds < recorded.result.wall_s + 2);
    const struct spans_function *lock = function_of(&recorded, "pthread_mutex_lock");
    assert_non_null(lock);
    assert_int_equal(lock->class, SPANS_LOCK);
    assert_int_equal(lock->entry, SPANS_IMPORT);
    assert_int_equal(lock->key, SPANS_KEY_VALUE);
    assert_int_equal(lock->every, 7);
    assert_int_equal(function_of(&recorded, "write")->key_argument, 2);
    const struct spans_function *stack = function_of(&recorded, "v_stack");
    assert_int_equal(stack->key, SPANS_KEY_VALUE);
    assert_int_equal(stack->key_argument, 1);
    struct stat status;
    assert_int_equal(stat(self, &status), 0);
    assert_true(stack->inode == status.st_ino && stack->device == status.st_dev);
    forget(&recorded);
}

static void test_keys(void **state)
{
    uint8_t argument = 9;
    assert_int_equal(inject_key("a::b:3", &argument), 4);
    assert_int_equal(argument, 3);
    assert_int_equal(inject_key("write", &argument), 0);
    assert_int_equal(inject_key("write:", &argument), 0);
    assert_int_equal(inject_key("write:6", &argument), 0);
    assert_int_equal(inject_key("write:12", &argument), 0);
    assert_int_equal(inject_key(":1", &argument), 0);
    static const char *const keys[] = {"write"};
    struct launch_spans_request request = {.hooks.keys = keys, .hooks.keys_count = 1};
    struct launch_spans_result spans;
    struct launch_result result;
    char error[LAUNCH_ERROR_BYTES] = "";
    assert_int_equal(launch_spans(&request, &spans, &result, error), LAUNCH_FAILED);
    assert_non_null(strstr(error, "'write' is not a key"));
}

/* ---- tests of hooks ---- */

static void test_named_functions_are_hooked_at_start(void **state)
{
    static const char *const names[] = {"v_*", "get?id", "fork", "nothing_like_it"};
    struct launch_spans_request request = {.hooks.functions = names, .hooks.functions_count = 4};
    struct recorded recorded;
    record(&recorded, &request, (char *)"start", NULL);
    assert_success(&recorded);
    assert_int_equal(recorded.spans.hooks.patched, VICTIMS + 1); /* v_fault too */
    assert_non_null(reason_of(&recorded, "v_loop"));
    assert_int_equal(function_of(&recorded, "v_data")->entry, SPANS_PATCHED);
    assert_null(function_of(&recorded, "v_loop"));
    assert_non_null(reason_of(&recorded, "fork"));
    assert_null(function_of(&recorded, "fork"));
    assert_int_equal(function_of(&recorded, "getpid")->entry, SPANS_IMPORT);
    forget(&recorded);
}

static void test_code_is_left_alone_if_asked_to(void **state)
{
    struct launch_spans_request request = {
        .hooks.functions = all_victims, .hooks.functions_count = 1, .hooks.no_patch = true};
    struct recorded recorded;
    record(&recorded, &request, (char *)"start", NULL);
    assert_int_equal(recorded.result.exit_code, 10); /* nothing was counted */
    assert_int_equal(recorded.spans.hooks.patched, 0);
    assert_string_equal(reason_of(&recorded, "v_frame"),
                        "code that was not built for it is not changed");
    forget(&recorded);
}

static void test_hot_functions_are_found(void **state)
{
    struct launch_spans_request request = {.hooks.every = 0};
    struct recorded recorded;
    record(&recorded, &request, (char *)"hot", NULL);
    if (recorded.spans.hooks.sampling_refused) {
        assert_non_null(strstr(recorded.said, "refuses samples"));
        skip();
    }
    assert_success(&recorded);
    assert_true(recorded.spans.hooks.patched >= VICTIMS / 2);
    assert_true(recorded.region->automatic);
    forget(&recorded);
}

static void test_modules_loaded_later(void **state)
{
    static const char *const names[] = {"fixture_add"};
    struct launch_spans_request request = {.hooks.functions = names, .hooks.functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"load", (char *)FIXTURE);
    assert_success(&recorded);
    assert_int_equal(recorded.spans.hooks.patched, 1);
    forget(&recorded);
}

static void test_children_forked_while_functions_are_patched(void **state)
{
    struct launch_spans_request request = {.hooks.every = 0};
    struct recorded recorded;
    record(&recorded, &request, (char *)"fork", NULL);
    assert_success(&recorded);
    for (size_t i = 0; i < recorded.spans.hooks.unhooked_count; i++)
        assert_null(strstr(recorded.spans.hooks.unhooked[i].reason, "something else"));
    forget(&recorded);
}

static void test_many_short_processes(void **state)
{
    struct launch_spans_request request = {.hooks.functions = all_victims,
                                           .hooks.functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"short", NULL);
    assert_success(&recorded);
    forget(&recorded);
}

enum { OUT_OF_REACH = 77 };

/* As somebody without privileges, because nothing is refused to root. */
static int record_refused(void)
{
    struct launch_spans_request request = {.hooks.functions = all_victims,
                                           .hooks.functions_count = 1};
    struct inject_sampler sampler;
    struct recorded recorded;
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    if (access(self, X_OK) != 0)
        return OUT_OF_REACH;
    record(&recorded, &request, (char *)"refused", NULL);
    if (recorded.spans.hooks.patching_refused != EACCES || recorded.spans.hooks.patched != 0)
        return 3;
    if (!strstr(recorded.said, "does not let headroom write") || !recorded.result.exited ||
        recorded.result.exit_code != 0 || !function_of(&recorded, "pthread_mutex_lock"))
        return 4;
    return inject_sampler_open(&sampler, 1, 250000, false, false) != 0 && sampler.count == 0 &&
                   !sampler.cpus
               ? 0
               : 5;
}

static void test_refused(void **state)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(record_refused());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == OUT_OF_REACH) {
        print_message("# an ordinary user cannot execute programs in this directory\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void test_scribbled_pieces(void **state)
{
    struct launch_spans_request request = {.hooks.functions = all_victims,
                                           .hooks.functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"scribble", NULL);
    assert_success(&recorded);
    forget(&recorded);
}

static void record_and_die(void)
{
    struct launch_spans_request request = {.hooks.every = 0};
    struct recorded recorded;
    record(&recorded, &request, (char *)"orphan", NULL);
    _exit(0);
}

/* Whenever headroom dies, the program goes on. */
static void test_headroom_is_killed(void **state)
{
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (unsigned i = 0; i < 6; i++) {
        int status;
        pid_t recorder = fork();
        if (recorder == 0)
            record_and_die();
        usleep(200000 + i * 83000);
        kill(recorder, SIGKILL);
        assert_int_equal(waitpid(recorder, &status, 0), recorder);
        assert_true(WIFSIGNALED(status));
        do
            assert_true(wait(&status) > 0);
        while (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* headroom's own child */
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 33);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void test_killed_program(void **state)
{
    struct launch_spans_request request = {.hooks.functions = all_victims,
                                           .hooks.functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"dead", NULL);
    assert_false(recorded.result.exited);
    assert_int_equal(recorded.result.signal, SIGKILL);
    assert_int_equal(recorded.spans.hooks.patched, VICTIMS + 1);
    forget(&recorded);
}

/* ---- the protocol itself ---- */

/* What inject does, by hand: a program, its piece, and rewrites of its functions. */
struct subject {
    pid_t pid;
    int file;
    struct spans_region *region;
    struct inject_code code;
    struct inject_sampler sampler;
    bool sampled;
    struct patch_module *module;
    uint64_t bias, used;
    struct inject_batch *batch;
    struct inject_rewrite rewrites[VICTIMS + 1];
    size_t count;
};

static _Noreturn void become_subject(const struct subject *subject, const char *play, int gate)
{
    char variable[64], nothing;
    snprintf(variable, sizeof variable, "%d:%d", (int)getppid(), subject->file);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("TORTURE", variable, 1);
    setenv("LD_PRELOAD", HANDLER, 1);
    if (read(gate, &nothing, 1) == 0)
        execl(self, self, "play", play, NULL);
    _exit(90);
}

static void make_subject_region(struct subject *subject)
{
    *subject = (struct subject){.file = memfd_create("blocks", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    assert_int_equal(ftruncate(subject->file, (off_t)SPANS_REGION_BYTES), 0);
    assert_int_equal(fcntl(subject->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    subject->region =
        mmap(NULL, sizeof *subject->region, PROT_READ | PROT_WRITE, MAP_SHARED, subject->file, 0);
    subject->region->magic = SPANS_MAGIC;
    subject->region->next = (sizeof *subject->region + SPANS_PAGE - 1) & ~(SPANS_PAGE - 1ul);
}

static void await_piece(struct subject *subject, uint64_t offset)
{
    struct spans_process *piece =
        mmap(NULL, sizeof *piece, PROT_READ | PROT_WRITE, MAP_SHARED, subject->file, (off_t)offset);
    char path[64];
    for (int i = 0; i < 5000 && piece->piece.kind != SPANS_PIECE_PROCESS; i++)
        usleep(1000);
    assert_int_equal(piece->piece.kind, SPANS_PIECE_PROCESS);
    snprintf(path, sizeof path, "/proc/%d/mem", subject->pid);
    subject->code =
        (struct inject_code){(uint32_t)subject->pid, open(path, O_RDWR | O_CLOEXEC), piece};
    subject->batch = calloc(1, sizeof *subject->batch);
    subject->batch->code = &subject->code;
    atomic_store(&piece->phase, SPANS_PATCHED_UP);
    syscall(SYS_futex, &piece->phase, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void start_subject(struct subject *subject, const char *play)
{
    int gate[2];
    make_subject_region(subject);
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    uint64_t first = subject->region->next;
    subject->pid = fork();
    if (subject->pid == 0) {
        close(gate[1]);
        become_subject(subject, play, gate[0]);
    }
    subject->sampled =
        inject_sampler_open(&subject->sampler, subject->pid, 250000, false, false) == 0;
    close(gate[0]);
    close(gate[1]);
    await_piece(subject, first);
}

static void open_module(struct subject *subject)
{
    struct inject_maps maps = {0};
    struct inject_mapping mapping;
    uint64_t vaddr;
    assert_int_equal(patch_module_open(self, &subject->module), BASE_OK);
    assert_int_equal(inject_maps_read(&maps, (uint32_t)subject->pid), 0);
    while (inject_maps_next(&maps, &mapping) && !subject->bias)
        if (mapping.executable && strcmp(mapping.path, self) == 0 &&
            patch_module_vaddr(subject->module, mapping.offset, &vaddr))
            subject->bias = mapping.start - vaddr;
    assert_true(subject->bias != 0);
    inject_maps_free(&maps);
}

static struct patch_plan plan_of(const struct subject *subject, const char *name)
{
    struct patch_plan plan;
    struct patch_reason reason;
    size_t number = patch_function_named(subject->module, name);
    assert_true(number != PATCH_NONE);
    if (!patch_plan(subject->module, patch_function(subject->module, number)->vaddr, &plan,
                    &reason))
        fail_msg("%s: %s", name, reason.sentence);
    return plan;
}

/* Prologue and bridge of one function; number: of its stub. */
static void add_subject(struct subject *subject, const char *name, uint32_t number)
{
    static const uint8_t zero[PATCH_COPY_MAX + PATCH_BRIDGE_BYTES];
    uint8_t body[PATCH_COPY_MAX + PATCH_BRIDGE_BYTES];
    const struct inject_code *code = &subject->code;
    struct patch_plan plan = plan_of(subject, name);
    uint64_t bridge = code->piece->areas[0].start + subject->used, none = 0;
    uint64_t entry = plan.entry + subject->bias, prologue = bridge + PATCH_BRIDGE_BYTES;
    struct inject_rewrite *rewrite = &subject->rewrites[subject->count++];
    *rewrite = (struct inject_rewrite){.at = entry, .to = bridge};
    patch_emit_bridge(code->piece->stubs + number * code->piece->stub_bytes, body);
    assert_true(patch_emit_prologue(&plan, entry, prologue, body + PATCH_BRIDGE_BYTES));
    assert_true(patch_emit_jump(entry, bridge, rewrite->after));
    memcpy(rewrite->before, plan.original, PATCH_JUMP_BYTES);
    for (unsigned i = 1; i < plan.instructions && !plan.single; i++)
        if (plan.starts[i] < PATCH_JUMP_BYTES)
            rewrite->danger[rewrite->dangers++] = plan.starts[i];
    assert_true(
        inject_code_replace(code, bridge, zero, body, PATCH_BRIDGE_BYTES + plan.copy_bytes));
    assert_true(inject_code_replace(code, code->piece->targets + number * 8, &none, &prologue, 8));
    subject->used += 128;
}

static void take(void *context, const struct inject_sample *sample)
{
    struct subject *subject = context;
    if (sample->pid == (uint32_t)subject->pid)
        inject_batch_sample(subject->batch, sample->tid, sample->ip, sample->general[BASE_RSP],
                            sample->time_ns);
}

static void fill_batch(struct subject *subject, bool back)
{
    for (size_t i = 0; i < subject->count; i++) {
        struct inject_rewrite *rewrite = &subject->batch->rewrites[i];
        *rewrite = subject->rewrites[i];
        if (!back)
            continue;
        memcpy(rewrite->before, subject->rewrites[i].after, PATCH_JUMP_BYTES);
        memcpy(rewrite->after, subject->rewrites[i].before, PATCH_JUMP_BYTES);
        rewrite->dangers = 0; /* a jump has no middle */
    }
    subject->batch->count = subject->count;
}

/* There, and back; the count of functions that were rewritten. */
static size_t rewrite_all(struct subject *subject, bool back)
{
    const struct inject_sampler_taker taker = {.context = subject, .sample = take};
    size_t done = 0;
    fill_batch(subject, back);
    const char *refused = inject_batch_begin(subject->batch);
    for (int i = 0; refused && i < 100; i++)
        refused = inject_batch_begin(subject->batch);
    if (refused)
        fail_msg("%s", refused);
    do {
        usleep(500);
        if (subject->sampled)
            inject_sampler_drain(&subject->sampler, &taker);
    } while (!inject_batch_step(subject->batch));
    for (size_t i = 0; i < subject->count; i++) {
        int status = 0;
        if (subject->batch->rewrites[i].state == INJECT_REFUSED) {
            waitpid(subject->pid, &status, WNOHANG);
            fail_msg("function %zu could not be written, status of the program: %x", i, status);
        }
        done += subject->batch->rewrites[i].state == INJECT_DONE;
    }
    return done;
}

static void end_subject(struct subject *subject)
{
    int status;
    assert_int_equal(waitpid(subject->pid, &status, 0), subject->pid);
    assert_int_equal(status, 0);
    if (subject->sampled)
        inject_sampler_close(&subject->sampler);
    patch_module_close(subject->module);
    inject_batch_free(subject->batch);
    munmap(subject->code.piece, sizeof *subject->code.piece);
    munmap(subject->region, sizeof *subject->region);
    close(subject->code.memory);
    close(subject->file);
}

/* For TORTURE_SECONDS. What cannot be proven to be safe in time is tried again. */
static void test_functions_are_patched_while_they_run(void **state)
{
    const char *seconds = getenv("TORTURE_SECONDS");
    uint64_t length = (uint64_t)(seconds ? atoi(seconds) : 4) * 1000000000;
    struct subject subject;
    size_t rounds = 0, attempts = 0;
    start_subject(&subject, "torture");
    open_module(&subject);
    for (uint32_t i = 0; i < VICTIMS; i++)
        add_subject(&subject, victims[i].name, i + 1);
    for (uint64_t end = os_now_ns(CLOCK_MONOTONIC) + length; os_now_ns(CLOCK_MONOTONIC) < end;
         rounds++) {
        uint32_t all = subject.count, undone = 0;
        struct inject_rewrite kept[VICTIMS];
        memcpy(kept, subject.rewrites, sizeof kept);
        do {
            attempts++;
            rewrite_all(&subject, false);
            undone = 0;
            for (size_t i = 0; i < subject.count; i++)
                if (subject.batch->rewrites[i].state == INJECT_UNDONE)
                    subject.rewrites[undone++] = subject.rewrites[i];
            subject.count = undone;
        } while (undone > 0);
        memcpy(subject.rewrites, kept, sizeof kept);
        subject.count = all;
        assert_int_equal(rewrite_all(&subject, true), all);
    }
    if (seconds)
        print_message("%zu rounds of %zu functions, %zu attempts\n", rounds, subject.count,
                      attempts);
    atomic_store(&subject.region->lost, 1);
    end_subject(&subject);
    assert_true(!subject.sampled || rounds > 3);
}

static void enter_handler(struct subject *subject, const char *play)
{
    start_subject(subject, play);
    open_module(subject);
    add_subject(subject, "v_fault", 1);
    add_subject(subject, "v_single", 2);
    for (int i = 0; i < 5000 && atomic_load(&subject->region->lost) != 1; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&subject->region->lost), 1);
}

/* It will return into the bytes that a jump would overwrite. */
static void check_interrupted(const char *play)
{
    struct subject subject;
    enter_handler(&subject, play);
    assert_int_equal(rewrite_all(&subject, false), 1); /* v_single: nobody can be inside */
    assert_int_equal(subject.batch->rewrites[0].state, INJECT_UNDONE);
    assert_int_equal(subject.batch->rewrites[1].state, INJECT_DONE);
    atomic_store(&subject.region->lost, 2);
    usleep(20000);
    subject.count = 1;
    assert_int_equal(rewrite_all(&subject, false), 1);
    atomic_store(&subject.region->lost, 3);
    end_subject(&subject);
}

static void test_thread_in_a_handler_that_returns_into_the_middle(void **state)
{
    check_interrupted("inside-resting");
}

static void test_the_same_for_a_handler_that_does_not_rest(void **state)
{
    check_interrupted("inside-spinning");
}

/* ---- the choice ---- */

#define MS UINT64_C(1000000)

static void add(struct inject_choice *choice, uint64_t vaddr, unsigned samples)
{
    for (unsigned i = 0; i < samples; i++)
        inject_choice_add(choice, vaddr ? self : NULL, vaddr, MS);
}

static void test_choice(void **state)
{
    static struct inject_choice choice;
    struct inject_candidate hot[INJECT_CHOICE_MAX];
    inject_choice_begin(&choice);
    add(&choice, 0x10, 60);
    add(&choice, 0x20, 7); /* too few */
    add(&choice, 0, 32);
    assert_int_equal(inject_choice_judge(&choice, hot), 0); /* too early */
    add(&choice, 0, 1);
    assert_int_equal(inject_choice_judge(&choice, hot), 1);
    assert_int_equal(hot[0].vaddr, 0x10);
    assert_int_equal(inject_choice_judge(&choice, hot), 0);
    add(&choice, 0x20, 30);
    add(&choice, 0x30, 100);
    add(&choice, 0, 70);
    assert_int_equal(inject_choice_judge(&choice, hot), 2); /* hottest first, none twice */
    assert_int_equal(hot[0].vaddr, 0x30);
    assert_int_equal(hot[1].vaddr, 0x20);
    assert_false(inject_choice_settled(&choice));
    add(&choice, 0x40, 9); /* enough samples, but less than a hundredth */
    add(&choice, 0, 700);
    assert_int_equal(inject_choice_judge(&choice, hot), 0);
    assert_true(inject_choice_settled(&choice));
    add(&choice, 0x40, 3);
    add(&choice, 0, 1990);
    assert_int_equal(inject_choice_judge(&choice, hot), 0);
    /* What was hot once does not keep others from being found. */
    for (int i = 0; i < 6; i++) {
        add(&choice, 0, 2100);
        assert_int_equal(inject_choice_judge(&choice, hot), 0);
    }
    add(&choice, 0x40, 80);
    add(&choice, 0, 2100);
    assert_int_equal(inject_choice_judge(&choice, hot), 1);
    assert_int_equal(hot[0].vaddr, 0x40);
}

/* Time that it watches in so many milliseconds of a program that uses CPU time half of them. */
static uint64_t watched(struct inject_choice *choice, uint64_t *now_ms, uint64_t ms, bool busy)
{
    struct inject_candidate hot[INJECT_CHOICE_MAX];
    uint64_t sum = 0;
    for (uint64_t end = *now_ms + ms; *now_ms < end; ++*now_ms) {
        bool watches = inject_choice_watches(choice, *now_ms * MS);
        sum += watches;
        if (watches && busy && *now_ms % 2)
            add(choice, 0x10, 1);
        inject_choice_judge(choice, hot);
    }
    return sum;
}

static void test_choice_watches_in_windows(void **state)
{
    static struct inject_choice choice;
    uint64_t now_ms = 1000000, sum;
    inject_choice_begin(&choice);
    /* Nothing runs: mostly watched, however long, so that nothing is missed when it begins. */
    sum = watched(&choice, &now_ms, 10000, false);
    assert_in_range(sum, 5000, 8000);
    assert_false(inject_choice_settled(&choice));
    /* A first look soon, then small windows, and an end. */
    sum = watched(&choice, &now_ms, 400, true);
    assert_in_range(choice.cpu_ns, 100 * MS, 150 * MS);
    sum = watched(&choice, &now_ms, 500, true);
    assert_in_range(sum, 40, 130);
    assert_false(inject_choice_settled(&choice));
    watched(&choice, &now_ms, 10000, true);
    assert_true(inject_choice_settled(&choice));
    assert_int_equal(watched(&choice, &now_ms, 1000, true), 0);
    assert_in_range(choice.watched_ns, 300 * MS, 550 * MS);
}

/* Who gets a twentieth of a processor is given time, and then judged by what there was. */
static void test_choice_with_few_samples(void **state)
{
    static struct inject_choice choice;
    struct inject_candidate hot[INJECT_CHOICE_MAX];
    size_t count = 0;
    inject_choice_begin(&choice);
    for (uint64_t ms = 1; ms < 20000; ms++) {
        if (inject_choice_watches(&choice, ms * MS) && ms % 20 == 0)
            add(&choice, 0x10, 1);
        count += inject_choice_judge(&choice, hot);
    }
    assert_int_equal(count, 1);
    assert_true(inject_choice_settled(&choice));
    assert_in_range(choice.watched_ns, 1000 * MS, 2000 * MS);
    assert_in_range(choice.cpu_ns, 40 * MS, 100 * MS);
}

static void test_choice_has_an_end(void **state)
{
    static struct inject_choice choice;
    struct inject_candidate hot[INJECT_CHOICE_MAX];
    inject_choice_begin(&choice);
    for (uint64_t i = 1; i <= 70; i++)
        add(&choice, i, 14); /* 980 of them, each more than a hundredth */
    add(&choice, 100, 20);
    assert_int_equal(inject_choice_judge(&choice, hot), INJECT_CHOICE_MAX);
    assert_int_equal(hot[0].vaddr, 100);
    add(&choice, 101, 3000);
    assert_int_equal(inject_choice_judge(&choice, hot), 0);
    /* More functions than there are places: no harm. */
    inject_choice_begin(&choice);
    for (uint64_t i = 1; i < 20000; i++)
        add(&choice, i, 1);
    assert_int_equal(inject_choice_judge(&choice, hot), 0);
    add(&choice, 1, 3000);
    assert_int_equal(inject_choice_judge(&choice, hot), 1);
    assert_int_equal(hot[0].vaddr, 1);
}

int main(int count, char **arguments)
{
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    if (count > 2 && strcmp(arguments[1], "play") == 0)
        return play(count, arguments);
    if (getenv("ONLY"))
        cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_region),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_named_functions_are_hooked_at_start),
        cmocka_unit_test(test_code_is_left_alone_if_asked_to),
        cmocka_unit_test(test_hot_functions_are_found),
        cmocka_unit_test(test_modules_loaded_later),
        cmocka_unit_test(test_children_forked_while_functions_are_patched),
        cmocka_unit_test(test_many_short_processes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_scribbled_pieces),
        cmocka_unit_test(test_headroom_is_killed),
        cmocka_unit_test(test_killed_program),
        cmocka_unit_test(test_functions_are_patched_while_they_run),
        cmocka_unit_test(test_thread_in_a_handler_that_returns_into_the_middle),
        cmocka_unit_test(test_the_same_for_a_handler_that_does_not_rest),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_choice_watches_in_windows),
        cmocka_unit_test(test_choice_with_few_samples),
        cmocka_unit_test(test_choice_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
