// SPDX-License-Identifier: MIT
/*
 * Start of the agent: finds the region, loads the decoder, registers modules
 * and threads. Runs as a constructor, before the program's own code but after
 * its libraries are mapped. Whatever fails here leaves the program alone.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct agent_state agent;
__thread struct agent_thread *agent_self;
__thread bool agent_trap_blocked;

void agent_degrade(uint32_t degraded)
{
    if (agent.region)
        atomic_fetch_or_explicit(&agent.region->degraded, degraded, memory_order_relaxed);
}

void agent_stop(uint32_t degraded)
{
    agent_degrade(degraded);
    atomic_store(&agent.stopped, true);
    hook_stop();
    thread_pause();
}

const uint8_t agent_register_order[BASE_GENERAL_REGISTERS] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

void agent_registers(const ucontext_t *context, struct base_registers *registers)
{
    for (int i = 0; i < BASE_GENERAL_REGISTERS; i++)
        registers->general[i] = (uint64_t)context->uc_mcontext.gregs[agent_register_order[i]];
    registers->ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    registers->flags = (uint64_t)context->uc_mcontext.gregs[REG_EFL];
    registers->fs_base = agent_control_block();
    registers->gs_base = 0;
}

uint64_t agent_gs_base(void)
{
    uint64_t base = 0;
    os_syscall(__NR_arch_prctl, 0x1004 /* ARCH_GET_GS */, &base);
    return base;
}

/* ---- environment -------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * Removes what headroom added: the program sees the environment it would see
 * alone. Done in place, because main's envp is this very array. Where two
 * entries vanish, the two freed words before the auxiliary vector become an
 * AT_IGNORE entry, for code that walks past envp to find it.
 *
 * preload_rest: in the value of LD_PRELOAD, what the program's own begins with; NULL: nothing.
 */
static void restore_environment(char **environment, char *preload_rest)
{
    size_t kept = 0, count = 0;
    for (; environment[count]; count++) {
        if (starts_with(environment[count], WIRE_ENVIRONMENT "="))
            continue;
        if (starts_with(environment[count], "LD_PRELOAD=")) {
            if (!preload_rest)
                continue;
            environment[count] = preload_rest - 11;
            memcpy(environment[count], "LD_PRELOAD=", 11);
        }
        environment[kept++] = environment[count];
    }
    for (size_t i = kept; i < count; i++)
        environment[i] = NULL;
    if (count - kept == 2) {
        environment[kept + 1] = (char *)1 /* AT_IGNORE */;
        environment[kept + 2] = NULL;
    }
}

/* "AGENT" -> NULL, the program had no LD_PRELOAD; "AGENT:REST" -> REST, maybe empty. */
static char *after_agent(char *preload, const char *agent_path)
{
    size_t length = strlen(agent_path);
    if (!preload || strncmp(preload, agent_path, length) != 0)
        return preload;
    return preload[length] ? preload + length + 1 : NULL;
}

/* Where this file is mapped; its path as LD_PRELOAD names it. */
static const char *find_own_image(void)
{
    Dl_info info;
    struct dl_find_object found;
    if (!dladdr((void *)find_own_image, &info) ||
        _dl_find_object((void *)find_own_image, &found) != 0)
        return "";
    agent.image_start = (uint64_t)found.dlfo_map_start;
    agent.image_end = (uint64_t)found.dlfo_map_end;
    return info.dli_fname;
}

static char *find_variable(char **environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* ---- region ------------------------------------------------------------------------- */

bool agent_parse_number(const char **text, uint32_t *value)
{
    uint64_t n = 0;
    const char *p = *text;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9' && n < UINT32_MAX; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    *text = *p == ':' ? p + 1 : p;
    *value = (uint32_t)n;
    return true;
}

char *agent_put_number(char *out, uint64_t value)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *out++ = digits[--n];
    *out = 0;
    return out;
}

char *agent_put_text(char *out, const char *text)
{
    while (*text)
        *out++ = *text++;
    *out = 0;
    return out;
}

static void name_of_headrooms(char path[64], uint32_t descriptor)
{
    agent_put_number(
        agent_put_text(agent_put_number(agent_put_text(path, "/proc/"), agent.headroom_pid),
                       "/fd/"),
        descriptor);
}

/* By what it has open: kill(2) finds zombies too. */
bool agent_headroom_lives(void)
{
    char path[64], target[8];
    name_of_headrooms(path, agent.headroom_region);
    long got = os_syscall(__NR_readlinkat, AT_FDCWD, path, target, sizeof target);
    return got != -ENOENT && got != -ESRCH;
}

void *agent_map_from_headroom(uint32_t descriptor, uint64_t offset, size_t bytes, int protection)
{
    char path[64];
    name_of_headrooms(path, descriptor);
    int flags = (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC;
    long file = os_syscall(__NR_openat, AT_FDCWD, path, flags, 0);
    if (file < 0)
        return NULL;
    long memory = os_syscall(__NR_mmap, 0, bytes, protection, MAP_SHARED, file, offset);
    os_syscall(__NR_close, file);
    return os_failed(memory) ? NULL : (void *)memory;
}

static bool map_region(const char *value)
{
    uint32_t version;
    const char *p = value;
    if (!agent_parse_number(&p, &version) || !agent_parse_number(&p, &agent.headroom_pid) ||
        !agent_parse_number(&p, &agent.headroom_region) || version != WIRE_VERSION)
        return false;
    struct wire_region *region =
        agent_map_from_headroom(agent.headroom_region, 0, sizeof *region, PROT_READ | PROT_WRITE);
    if (!region || wire_region_check(region, sizeof *region) != BASE_OK)
        return false;
    agent_put_text(agent_put_text(agent.environment_region, WIRE_ENVIRONMENT "="), value);
    agent.region = region;
    return true;
}

/* ---- identity ------------------------------------------------------------------------ */

static void read_identity(void)
{
    long length =
        os_syscall(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", agent.exe, sizeof agent.exe - 1);
    agent.exe[length > 0 ? length : 0] = 0;
    long file = os_syscall(__NR_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return;
    long got = os_syscall(__NR_read, file, agent.command, sizeof agent.command - 1);
    os_syscall(__NR_close, file);
    agent.command_bytes = got > 0 ? (uint16_t)got : 0;
    if (got > 0)
        agent.command[got - 1] = 0;
}

bool agent_read_file(const char *path, char *text, size_t bytes)
{
    long file = os_syscall(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    long got = os_syscall(__NR_read, file, text, bytes - 1);
    os_syscall(__NR_close, file);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* A tracer sees every SIGTRAP first: observing would disturb it. */
static bool being_traced(void)
{
    char text[1024];
    if (!agent_read_file("/proc/self/status", text, sizeof text))
        return false;
    const char *line = strstr(text, "TracerPid:");
    return line && line[10] == '\t' && line[11] != '0';
}

static int has_go_note(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        /* Notes need not be in a LOAD segment: there may be nothing. */
        if (segment->p_type == PT_NOTE &&
            modules_has_note(info->dlpi_addr + segment->p_vaddr, segment->p_memsz, os_read_self,
                             "Go\0", 4, 0))
            *(bool *)found = true;
    }
    return 1; /* the first object is the program: enough */
}

/* Go's runtime takes SIGTRAP by raw system calls, which no wrapper sees, and dies of ours. headroom
   refuses such programs itself; this is for those that are executed later. */
static bool is_go_program(void)
{
    bool found = false;
    dl_iterate_phdr(has_go_note, &found);
    if (found)
        agent_degrade(WIRE_DEGRADED_GO);
    return found;
}

/*
 * The decoder lives in a scope of its own: a program that brings another Zydis
 * neither sees ours nor lends us its own. RTLD_NOW: no lazy binding in handlers.
 */
static bool load_decoder(void)
{
    void *library = dlopen("libZydis.so.4.0", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library)
        return false;
    const void *init = dlsym(library, "ZydisDecoderInit");
    const void *decode = dlsym(library, "ZydisDecoderDecodeFull");
    return isa_start(init, decode) == BASE_OK;
}

static int64_t static_storage(const void *place)
{
    return place ? (int64_t)((uint64_t)place - agent_control_block()) : AGENT_NOWHERE;
}

/*
 * libc has an rseq(2) area in each thread's control block; programs that want their own (tcmalloc)
 * go by a thread-local variable of that name. A program that counts its accesses itself
 * exports a function that returns the address of the calling thread's counter. What this thread has at
 * such a distance from its control block all threads have: these are variables of what was loaded
 * at start.
 */
static void find_static_storage(void)
{
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    agent.kernel_areas[0] = offset ? *offset : AGENT_NOWHERE;
    agent.kernel_areas[1] = static_storage(dlsym(RTLD_DEFAULT, "__rseq_abi"));
    const uint64_t *(*counter)(void) = dlsym(RTLD_DEFAULT, "headroom_thread_accesses");
    bool wanted = agent.region->config.counters && counter;
    agent.access_counter = static_storage(wanted ? counter() : NULL);
}

/*
 * The first process decides for the recording: samples of two sources have no common weight. A
 * program with a counter of its own is sampled by the clock, and measured by that.
 */
static void choose_source(void)
{
    struct wire_region *region = agent.region;
    void *built = dlsym(RTLD_DEFAULT, "headroom_accesses");
    bool own = !built && agent.access_counter != AGENT_NOWHERE;
    agent.counted = static_storage(built);
    uint32_t source = region->config.source, undecided = 0;
    if (source == WIRE_SOURCE_CLOCK && region->config.counters && built)
        source = WIRE_SOURCE_COUNT;
    if (source == WIRE_SOURCE_COUNT && own && region->config.kinds == WIRE_REUSES)
        source = WIRE_SOURCE_CLOCK;
    if (atomic_compare_exchange_strong(&region->source, &undecided, source))
        undecided = source;
    agent.source = undecided;
    if (agent.source == WIRE_SOURCE_COUNT)
        agent_degrade(built ? WIRE_BUILT : WIRE_DEGRADED_NOT_BUILT);
}

/* Where headroom must not trace: a system call in which the thread waits may return EINTR. */
static void begin_by_signal(uint32_t tid)
{
    siginfo_t info = {.si_signo = SIGTRAP, .si_code = SI_QUEUE};
    info.si_value.sival_ptr = AGENT_BEGIN;
    os_syscall(__NR_rt_tgsigqueueinfo, agent.pid, tid, SIGTRAP, &info);
}

/* Threads that other constructors started. */
static void adopt_threads(void)
{
    char buffer[4096];
    long directory =
        os_syscall(__NR_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0)
        return;
    uint32_t own = os_tid();
    long got;
    while ((got = os_syscall(__NR_getdents64, directory, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct {
                uint64_t inode;
                int64_t offset;
                uint16_t bytes;
                uint8_t type;
                char name[];
            } *entry = (const void *)(buffer + at);
            const char *name = entry->name;
            uint32_t tid;
            at += entry->bytes;
            if (!agent_parse_number(&name, &tid) || tid == own)
                continue;
            if (!calls_begin(tid))
                begin_by_signal(tid);
        }
    }
    os_syscall(__NR_close, directory);
}

/* ---- start and fork -------------------------------------------------------------------- */

/* The image that exec'd this one has a slot under our pid; one that spawned us, under our parent's.
 */
static uint32_t find_parent(void)
{
    uint32_t parent = WIRE_NONE, ppid = (uint32_t)os_syscall(__NR_getppid);
    for (uint32_t i = 0; i < WIRE_THREADS; i++) {
        uint32_t owner = wire_owner(agent.region, i);
        if (owner == 0 || (owner != agent.pid && owner != ppid))
            continue;
        parent = agent.region->threads[i].process;
        if (owner == agent.pid)
            return parent;
    }
    return parent;
}

static void begin_process(bool forked)
{
    agent.pid = os_pid();
    agent.parent = forked ? agent.process : find_parent();
    agent.forked = forked;
    agent.process = atomic_fetch_add_explicit(&agent.region->next_process, 1, memory_order_relaxed);
    atomic_store(&agent.announced, false);
}

static void after_fork_in_child(void)
{
    if (!agent.region || atomic_load(&agent.filtered))
        return;
    begin_process(true);
    modules_after_fork();
    if (!agent.region->config.follow)
        atomic_store(&agent.stopped, true);
    thread_after_fork();
    if (agent_active())
        spans_after_fork();
    else
        hook_stop();
}

__attribute__((constructor(101))) static void start(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    const char *value = find_variable(environment, WIRE_ENVIRONMENT);
    if (!value)
        return;
    bool mapped = map_region(value);
    const char *path = find_own_image();
    restore_environment(environment, after_agent(find_variable(environment, "LD_PRELOAD"), path));
    if (!mapped)
        return;
    exec_counted(-1);
    bool spans = agent.region->config.spans != 0;
    if (is_go_program() || being_traced() || (!agent_samples_nothing() && !load_decoder())) {
        atomic_fetch_add(&agent.region->lost_processes, 1);
        agent.region = NULL;
        return;
    }
    read_identity();
    begin_process(false);
    wire_supersede(agent.region, agent.pid, agent.process);
    find_static_storage();
    if (agent_samples_nothing())
        agent.counted = AGENT_NOWHERE;
    else
        choose_source();
    modules_scan();
    objects_start();
    pthread_atfork(NULL, NULL, after_fork_in_child);
    signals_install();
    calls_open_gate();
    thread_begin(NULL);
    if (thread_introduce())
        os_futex_wake(&agent.region->doorbell);
    adopt_threads();
    if (agent.region->config.clones)
        clones_start();
    if (spans) {
        modules_wait(); /* while a call is timed is not the time to wait */
        spans_start();
    }
}

/* Threads that the program leaves running have not said how much CPU time they took. */
__attribute__((destructor(101))) static void finish(void)
{
    if (agent.region && agent.region->config.spans && !atomic_load(&agent.filtered))
        hook_exit();
}
