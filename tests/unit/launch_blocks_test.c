// SPDX-License-Identifier: MIT
/*
 * launch_blocks: this program itself plays the observed program and its agent (argv[1] "play"):
 * stubs that count, a handler of SIGTRAP that follows the table, functions with windows of all
 * kinds. Hooked at start, by samples, in modules loaded later and in forked children; and over and
 * over again while many threads execute them.
 */
#include "launch/blocks.h"

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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

static char self[PATH_MAX];

/* ---- functions to be hooked: all return their argument and one ----------------------------------
 */

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
    {"v_data", v_data},     {"v_zero", v_zero},
};
enum { VICTIMS = sizeof victims / sizeof victims[0] };

/* ---- the part of the agent
 * ------------------------------------------------------------------------- */

enum { STUB_BYTES = 32, AREA_BYTES = 1 << 20 };

static struct blocks_region *region;
static struct blocks_process *volatile piece;
static _Atomic uint64_t *counters; /* shared with forked children */
static uint64_t targets[BLOCKS_FUNCTIONS];
static uint8_t *stubs;
static struct blocks_area areas[2];
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

/* Calls nothing: functions of this module may have an int3 themselves. */
static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *state = context;
    uint64_t address = (uint64_t)state->uc_mcontext.gregs[REG_RIP] - 1;
    for (uint32_t i = 0; i < piece->traps_count; i++)
        if (piece->traps[i].address == address) {
            state->uc_mcontext.gregs[REG_RIP] = (greg_t)piece->traps[i].to;
            return;
        }
    __builtin_trap();
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
    region_file = wire->config.blocks;
    close(file);
}

static void map_blocks(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%u", headroom_pid, region_file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (region == MAP_FAILED || region->magic != BLOCKS_MAGIC)
        _exit(83);
    /* Resizing would kill headroom with SIGBUS. */
    if (ftruncate(file, 4096) == 0)
        _exit(84);
    close(file);
}

static void make_area(struct blocks_area *area, const void *place)
{
    uint64_t near = (uint64_t)place & ~UINT64_C(0xfffff);
    for (int i = 16; i < 1024 && !area->start; i++) {
        void *at = (void *)(near - (uint64_t)i * AREA_BYTES);
        void *got = mmap(at, AREA_BYTES, PROT_READ | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == at)
            *area = (struct blocks_area){(uint64_t)at, AREA_BYTES};
        else if (got != MAP_FAILED)
            munmap(got, AREA_BYTES);
    }
}

static void make_memory(void)
{
    make_area(&areas[0], v_frame);
    make_area(&areas[1], strlen);
    counters = mmap(NULL, BLOCKS_FUNCTIONS * sizeof *counters, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stubs = mmap(NULL, BLOCKS_FUNCTIONS * STUB_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < BLOCKS_FUNCTIONS; i++)
        write_stub(i);
}

static void publish(enum blocks_phase phase)
{
    char path[64];
    uint64_t bytes = (sizeof *piece + BLOCKS_PAGE - 1) & ~(uint64_t)(BLOCKS_PAGE - 1);
    uint64_t offset = atomic_fetch_add(&region->next, bytes);
    const struct blocks_process *old = piece;
    snprintf(path, sizeof path, "/proc/%d/fd/%u", headroom_pid, region_file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct blocks_process *new =
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
    piece = new;
    atomic_store(&new->piece.kind, BLOCKS_PIECE_PROCESS);
    atomic_fetch_add(&region->doorbell, 1);
    syscall(SYS_futex, &region->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void await_patches(void)
{
    struct timespec limit = {.tv_sec = 10};
    uint32_t phase;
    while ((phase = atomic_load(&piece->phase)) != BLOCKS_PATCHED_UP)
        if (syscall(SYS_futex, &piece->phase, FUTEX_WAIT, phase, &limit, NULL, 0) != 0 &&
            errno == ETIMEDOUT)
            _exit(85);
}

static void play_agent(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    make_memory();
    publish(BLOCKS_STARTING);
    await_patches();
}

static uint64_t count_of(const char *name)
{
    for (uint32_t i = 1; i < BLOCKS_FUNCTIONS; i++)
        if (region->function[i].state == BLOCKS_READY &&
            region->function[i].entry != BLOCKS_IMPORT &&
            strcmp(region->function[i].name, name) == 0)
            return atomic_load(&counters[i]);
    return 0;
}

/* ---- parts of observed programs
 * ----------------------------------------------------------------------- */

static _Atomic bool stop;

static void call_all(long value)
{
    for (size_t i = 0; i < VICTIMS; i++)
        if (victims[i].call(value) != value + 1)
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
    for (int i = 0; i < 800; i++) {
        for (long value = 0; value < 100000; value++)
            if (call(value) != value + 1)
                return 13;
        if (count_of("fixture_add") > 0 && atomic_load(&piece->new_modules) > 0)
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
            publish(BLOCKS_PATCHED_UP);
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
            publish(BLOCKS_PATCHED_UP);
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

static int play_dead(void)
{
    raise(SIGKILL);
    return 18;
}

static int play(int count, char **arguments)
{
    map_region();
    map_blocks();
    if (strcmp(arguments[2], "refused") == 0)
        prctl(PR_SET_DUMPABLE, 0);
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
        return 0;
    return 79;
}

/* ---- recordings
 * ------------------------------------------------------------------------------------------- */

struct recorded {
    struct launch_blocks_result blocks;
    struct launch_result result;
    struct blocks_region *region;
    char said[1024];
};

static void note(void *context, const char *sentence)
{
    struct recorded *recorded = context;
    snprintf(recorded->said, sizeof recorded->said, "%s", sentence);
}

static void record(struct recorded *recorded, struct launch_blocks_request *like, char *play,
                   char *argument)
{
    char *command[] = {self, (char *)"play", play, argument, NULL};
    char error[LAUNCH_ERROR_BYTES] = "";
    int log = memfd_create("log", MFD_CLOEXEC);
    *recorded = (struct recorded){.said = ""};
    like->program = (struct launch_request){
        .path = self, .command = command, .log = log, .note = note, .context = recorded};
    snprintf(like->program.config.agent_path, WIRE_PATH_BYTES, "/lib/x86_64-linux-gnu/libc.so.6");
    if (launch_blocks(like, &recorded->blocks, &recorded->result, error) != LAUNCH_OK)
        fail_msg("%s", error);
    close(log);
    recorded->region =
        mmap(NULL, sizeof *recorded->region, PROT_READ, MAP_SHARED, recorded->blocks.region, 0);
    assert_ptr_not_equal(recorded->region, MAP_FAILED);
    if (getenv("DBG")) {
        fprintf(stderr, "%s: exited %d code %d signal %d patched %u said %s\n", play, recorded->result.exited, recorded->result.exit_code, recorded->result.signal, recorded->blocks.patched, recorded->said);
        for (size_t i = 0; i < recorded->blocks.unhooked_count; i++)
            fprintf(stderr, "  %s %s: %s\n", recorded->blocks.unhooked[i].name, recorded->blocks.unhooked[i].module, recorded->blocks.unhooked[i].reason);
        for (uint32_t i = 1; i < BLOCKS_FUNCTIONS; i++)
            if (recorded->region->function[i].state && recorded->region->function[i].entry) fprintf(stderr, " k %u %s\n", i, recorded->region->function[i].name);
    }
}

static void forget(struct recorded *recorded)
{
    munmap(recorded->region, sizeof *recorded->region);
    close(recorded->blocks.region);
    launch_blocks_free(&recorded->blocks);
}

static const char *reason_of(const struct recorded *recorded, const char *name)
{
    for (size_t i = 0; i < recorded->blocks.unhooked_count; i++)
        if (strcmp(recorded->blocks.unhooked[i].name, name) == 0)
            return recorded->blocks.unhooked[i].reason;
    return NULL;
}

static const struct blocks_function *function_of(const struct recorded *recorded, const char *name)
{
    for (uint32_t i = 1; i < BLOCKS_FUNCTIONS; i++)
        if (recorded->region->function[i].state == BLOCKS_READY &&
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

/* ---- tests of the region
 * ------------------------------------------------------------------------------------- */

static void test_region(void **state)
{
    static const char *const keys[] = {"write:2", "v_stack:1"};
    struct launch_blocks_request request = {.functions = all_victims,
                                            .functions_count = 1,
                                            .every = 7,
                                            .keys = keys,
                                            .keys_count = 2,
                                            .no_switches = true};
    struct recorded recorded;
    record(&recorded, &request, (char *)"start", NULL);
    const struct blocks_region *made = recorded.region;
    assert_success(&recorded);
    assert_true(made->magic == BLOCKS_MAGIC);
    assert_int_equal(made->version, BLOCKS_VERSION);
    assert_int_equal(made->stack_period, 10000);
    assert_int_equal(made->switches, 0);
    assert_int_equal(made->automatic, 0);
    assert_int_equal(made->wait, 0); /* nobody answers any more */
    assert_true(made->ticks_end > made->ticks_start && made->ns_end > made->ns_start);
    double seconds = (double)(made->ns_end - made->ns_start) / 1e9;
    assert_true(seconds >= recorded.result.wall_s && seconds < recorded.result.wall_s + 2);
    const struct blocks_function *lock = function_of(&recorded, "pthread_mutex_lock");
    assert_non_null(lock);
    assert_int_equal(lock->class, BLOCKS_LOCK);
    assert_int_equal(lock->entry, BLOCKS_IMPORT);
    assert_int_equal(lock->key, BLOCKS_KEY_VALUE);
    assert_int_equal(lock->every, 7);
    assert_int_equal(function_of(&recorded, "write")->key_argument, 2);
    const struct blocks_function *stack = function_of(&recorded, "v_stack");
    assert_int_equal(stack->key, BLOCKS_KEY_VALUE);
    assert_int_equal(stack->key_argument, 1);
    struct stat status;
    assert_int_equal(stat(self, &status), 0);
    assert_true(stack->inode == status.st_ino && stack->device == status.st_dev);
    forget(&recorded);
}

static void test_keys(void **state)
{
    uint8_t argument = 9;
    assert_int_equal(launch_blocks_key("a::b:3", &argument), 4);
    assert_int_equal(argument, 3);
    assert_int_equal(launch_blocks_key("write", &argument), 0);
    assert_int_equal(launch_blocks_key("write:", &argument), 0);
    assert_int_equal(launch_blocks_key("write:6", &argument), 0);
    assert_int_equal(launch_blocks_key("write:12", &argument), 0);
    assert_int_equal(launch_blocks_key(":1", &argument), 0);
    static const char *const keys[] = {"write"};
    struct launch_blocks_request request = {.keys = keys, .keys_count = 1};
    struct launch_blocks_result blocks;
    struct launch_result result;
    char error[LAUNCH_ERROR_BYTES] = "";
    assert_int_equal(launch_blocks(&request, &blocks, &result, error), LAUNCH_FAILED);
    assert_non_null(strstr(error, "'write' is no key"));
}

/* ---- tests of hooks
 * -----------------------------------------------------------------------------------------------
 */

static void test_named_functions_are_hooked_at_start(void **state)
{
    static const char *const names[] = {"v_*", "get?id", "fork", "nothing_like_it"};
    struct launch_blocks_request request = {.functions = names, .functions_count = 4};
    struct recorded recorded;
    record(&recorded, &request, (char *)"start", NULL);
    assert_success(&recorded);
    assert_int_equal(recorded.blocks.patched, VICTIMS + 1); /* v_fault too */
    assert_non_null(reason_of(&recorded, "v_loop"));
    assert_int_equal(function_of(&recorded, "v_data")->entry, BLOCKS_PATCHED);
    assert_null(function_of(&recorded, "v_loop"));
    assert_non_null(reason_of(&recorded, "fork"));
    assert_null(function_of(&recorded, "fork"));
    assert_int_equal(function_of(&recorded, "getpid")->entry, BLOCKS_IMPORT);
    forget(&recorded);
}

static void test_code_is_left_alone_if_asked_to(void **state)
{
    struct launch_blocks_request request = {
        .functions = all_victims, .functions_count = 1, .no_patch = true};
    struct recorded recorded;
    record(&recorded, &request, (char *)"start", NULL);
    assert_int_equal(recorded.result.exit_code, 10); /* nothing was counted */
    assert_int_equal(recorded.blocks.patched, 0);
    assert_string_equal(reason_of(&recorded, "v_frame"),
                        "code that was not built for it is not changed");
    forget(&recorded);
}

static void test_hot_functions_are_found(void **state)
{
    struct launch_blocks_request request = {.every = 0};
    struct recorded recorded;
    record(&recorded, &request, (char *)"hot", NULL);
    if (recorded.blocks.sampling_refused) {
        assert_non_null(strstr(recorded.said, "refuses samples"));
        skip();
    }
    assert_success(&recorded);
    assert_true(recorded.blocks.patched >= VICTIMS / 2);
    assert_true(recorded.region->automatic);
    forget(&recorded);
}

static void test_modules_loaded_later(void **state)
{
    static const char *const names[] = {"fixture_add"};
    struct launch_blocks_request request = {.functions = names, .functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"load", (char *)FIXTURE);
    assert_success(&recorded);
    assert_int_equal(recorded.blocks.patched, 1);
    forget(&recorded);
}

static void test_children_forked_while_functions_are_patched(void **state)
{
    struct launch_blocks_request request = {.every = 0};
    struct recorded recorded;
    record(&recorded, &request, (char *)"fork", NULL);
    assert_success(&recorded);
    forget(&recorded);
}

static void test_many_short_processes(void **state)
{
    struct launch_blocks_request request = {.functions = all_victims, .functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"short", NULL);
    assert_success(&recorded);
    forget(&recorded);
}

static void test_killed_program(void **state)
{
    struct launch_blocks_request request = {.functions = all_victims, .functions_count = 1};
    struct recorded recorded;
    record(&recorded, &request, (char *)"dead", NULL);
    assert_false(recorded.result.exited);
    assert_int_equal(recorded.result.signal, SIGKILL);
    assert_int_equal(recorded.blocks.patched, VICTIMS + 1);
    forget(&recorded);
}

/* ---- the choice
 * ---------------------------------------------------------------------------------------------------------
 */

#define MS UINT64_C(1000000)

static void add(struct launch_choice *choice, uint64_t vaddr, unsigned samples)
{
    for (unsigned i = 0; i < samples; i++)
        launch_choice_add(choice, vaddr ? self : NULL, vaddr, MS);
}

static void test_choice(void **state)
{
    static struct launch_choice choice;
    struct launch_candidate hot[LAUNCH_CHOICE_MOST];
    launch_choice_begin(&choice);
    add(&choice, 0x10, 60);
    add(&choice, 0x20, 7); /* too few */
    add(&choice, 0, 32);
    assert_int_equal(launch_choice_judge(&choice, hot), 0); /* too early */
    add(&choice, 0, 1);
    assert_int_equal(launch_choice_judge(&choice, hot), 1);
    assert_int_equal(hot[0].vaddr, 0x10);
    assert_int_equal(launch_choice_judge(&choice, hot), 0);
    add(&choice, 0x20, 30);
    add(&choice, 0x30, 100);
    add(&choice, 0, 70);
    assert_int_equal(launch_choice_judge(&choice, hot), 2); /* hottest first, none twice */
    assert_int_equal(hot[0].vaddr, 0x30);
    assert_int_equal(hot[1].vaddr, 0x20);
    assert_false(launch_choice_settled(&choice));
    add(&choice, 0x40, 9); /* enough samples, but less than a hundredth */
    add(&choice, 0, 700);
    assert_int_equal(launch_choice_judge(&choice, hot), 0);
    assert_true(launch_choice_settled(&choice));
    add(&choice, 0x40, 3);
    add(&choice, 0, 1990);
    assert_int_equal(launch_choice_judge(&choice, hot), 0);
    /* What was hot once does not keep others from being found. */
    for (int i = 0; i < 6; i++) {
        add(&choice, 0, 2100);
        assert_int_equal(launch_choice_judge(&choice, hot), 0);
    }
    add(&choice, 0x40, 80);
    add(&choice, 0, 2100);
    assert_int_equal(launch_choice_judge(&choice, hot), 1);
    assert_int_equal(hot[0].vaddr, 0x40);
}

static void test_choice_has_an_end(void **state)
{
    static struct launch_choice choice;
    struct launch_candidate hot[LAUNCH_CHOICE_MOST];
    launch_choice_begin(&choice);
    for (uint64_t i = 1; i <= 70; i++)
        add(&choice, i, 14); /* 980 of them, each more than a hundredth */
    add(&choice, 100, 20);
    assert_int_equal(launch_choice_judge(&choice, hot), LAUNCH_CHOICE_MOST);
    assert_int_equal(hot[0].vaddr, 100);
    add(&choice, 101, 3000);
    assert_int_equal(launch_choice_judge(&choice, hot), 0);
    /* More functions than there are places: no harm. */
    launch_choice_begin(&choice);
    for (uint64_t i = 1; i < 20000; i++)
        add(&choice, i, 1);
    assert_int_equal(launch_choice_judge(&choice, hot), 0);
    add(&choice, 1, 3000);
    assert_int_equal(launch_choice_judge(&choice, hot), 1);
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
        cmocka_unit_test(test_killed_program),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_choice_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
