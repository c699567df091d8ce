// SPDX-License-Identifier: MIT
/*
 * Runs a command and makes system calls of headroom and its agent fail, never the program's own.
 *
 *   inject --host FILE --agent FILE [--tool FILE] [--census FILE] [--fail WHO,CALL,SITE,N,ERRNO]
 *          [--limit SECONDS] --result FILE -- COMMAND...
 *
 * A seccomp filter hands every call that is in calls.h to this process, which lets it go on or
 * answers with an error in the kernel's place. ptrace(2) would do as well, but headroom uses that
 * itself. Whose call it is:
 *
 *   host   made by a process that executes FILE of --host, from headroom's own functions or from a
 *          library that they have called; what the loader does before main is nobody's
 *   agent  made by another process, by an instruction of the agent, or by libc and ld.so for the
 *          agent's constructor (between its first call and the first one that it has not asked for:
 *          without a frame of the agent, or with one of the program, which called a wrapper)
 *   tool   made by a process that executes FILE of --tool, the exact engine; which of them are
 *          the engine's own and not the program's must be seen from the site
 *
 * A site is where the call was made: the instruction, and the return addresses into headroom or
 * the agent above it, as offsets in their files, so the same in every run. N counts the calls of a
 * site from 1 over all processes; 0 means all, SITE "*" all sites, WHO "*" everybody.
 *
 * Frames are found by looking at what lies on the stack for addresses behind call instructions. A
 * stale one can make two sites of one, which costs a run and nothing else.
 */
#include "calls.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum {
    CALLS = sizeof fault_calls / sizeof fault_calls[0],
    SITE_BYTES = 160,
    SITES = 16384, /* a power of two, for the table */
    FRAMES = 3,
    STACK_BYTES = 64 * 1024,
    GRACE_MS = 3000, /* for processes that outlive the command */
    RANGES = 64,
    TASKS = 4096,
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    exit(99);
}

/* ---- options ------------------------------------------------------------------------------ */

static struct {
    const char *host, *agent, *tool, *census, *result;
    char who[16], call[32], site[SITE_BYTES];
    long occurrence;
    int error; /* 0: nothing is to fail */
    int limit_s;
} options = {.limit_s = 30};

static void parse_fault(const char *text)
{
    if (sscanf(text, "%15[^,],%31[^,],%159[^,],%ld,%d", options.who, options.call, options.site,
               &options.occurrence, &options.error) != 5) {
        fprintf(stderr, "inject: --fail WHO,CALL,SITE,N,ERRNO, not '%s'\n", text);
        exit(2);
    }
}

static char **parse(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--") == 0 && i + 1 < count && options.host && options.result)
            return words + i + 1;
        if (i + 1 == count)
            break;
        const char *name = words[i], *value = words[++i];
        if (strcmp(name, "--host") == 0)
            options.host = value;
        else if (strcmp(name, "--agent") == 0)
            options.agent = value;
        else if (strcmp(name, "--tool") == 0)
            options.tool = value;
        else if (strcmp(name, "--census") == 0)
            options.census = value;
        else if (strcmp(name, "--result") == 0)
            options.result = value;
        else if (strcmp(name, "--limit") == 0)
            options.limit_s = atoi(value);
        else if (strcmp(name, "--fail") == 0)
            parse_fault(value);
        else
            break;
    }
    fprintf(stderr, "inject: see the head of inject.c\n");
    exit(2);
}

/* ---- the filter ---------------------------------------------------------------------------- */

/* Returns the listener. A call that is not in the table costs a walk of it, and no more. */
static int install_filter(void)
{
    struct sock_filter code[CALLS + 4];
    unsigned length = 0;
    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < CALLS; i++)
        code[length++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)fault_calls[i].number, CALLS - i, 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {(unsigned short)length, code};
    if (geteuid() != 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                        &program);
}

/* The child passes the number of its listener through memory: any write could be filtered. */
static pid_t start(char **command, int *listener)
{
    volatile int *number =
        mmap(NULL, sizeof *number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (number == MAP_FAILED)
        fail("memory");
    *number = -1;
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        int file = install_filter();
        *number = file < 0 ? -2 : file;
        if (file >= 0)
            execvp(command[0], command); /* waits in the filter for its listener */
        _exit(99);
    }
    while (*number == -1)
        usleep(200);
    if (*number == -2) {
        errno = EPERM;
        fail("a seccomp filter with a listener (kernel 5.19 or later)");
    }
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    *listener = (int)syscall(SYS_pidfd_getfd, process, *number, 0);
    if (*listener < 0)
        fail("the listener");
    close(process);
    return child;
}

/* ---- what is mapped where -------------------------------------------------------------------- */

struct range {
    uint64_t start, end, offset;
    char name[64]; /* base name; "": no file */
    bool ours;     /* headroom's or the agent's */
    bool program;  /* the task's executable     */
};

struct task {
    pid_t tid;
    char executable[PATH_MAX];
    enum { NOT_YET, STARTING, OVER } agent_phase;
    struct range ranges[RANGES];
    unsigned count;
};

/* A task's slot is taken over by the next with the same number modulo TASKS. */
static struct task *tasks[TASKS];

static bool same_file(const char *path, const char *wanted)
{
    return wanted && strcmp(path, wanted) == 0;
}

static void read_ranges(struct task *task)
{
    char path[64], line[PATH_MAX + 128];
    snprintf(path, sizeof path, "/proc/%d/maps", task->tid);
    FILE *file = fopen(path, "re");
    task->count = 0;
    while (file && fgets(line, sizeof line, file) && task->count < RANGES) {
        char name[PATH_MAX] = "", mode[8];
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, mode, &offset, name) <
            4)
            continue;
        if (mode[2] != 'x' && strcmp(name, "[heap]") != 0)
            continue;
        const char *slash = strrchr(name, '/');
        struct range *range = &task->ranges[task->count++];
        *range = (struct range){start, end, offset, "", false, false};
        snprintf(range->name, sizeof range->name, "%.63s", slash ? slash + 1 : name);
        range->ours = same_file(name, options.agent) || same_file(name, options.host) ||
                      same_file(name, options.tool);
        range->program = same_file(name, task->executable);
    }
    if (file)
        fclose(file);
}

static const struct range *find_range(const struct task *task, uint64_t address)
{
    for (unsigned i = 0; i < task->count; i++)
        if (address >= task->ranges[i].start && address < task->ranges[i].end)
            return &task->ranges[i];
    return NULL;
}

static struct task *find_task(pid_t tid, uint64_t address)
{
    char link[64], executable[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", tid);
    ssize_t length = readlink(link, executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = 0;
    struct task **slot = &tasks[tid % TASKS];
    if (!*slot)
        *slot = calloc(1, sizeof **slot);
    struct task *task = *slot;
    if (!task)
        fail("memory");
    if (task->tid != tid || strcmp(task->executable, executable) != 0) {
        task->tid = tid;
        strcpy(task->executable, executable);
        task->agent_phase = NOT_YET;
        task->count = 0;
    }
    if (!find_range(task, address))
        read_ranges(task);
    return task;
}

/* ---- sites ----------------------------------------------------------------------------------- */

static bool is_behind_call(pid_t tid, uint64_t address)
{
    unsigned char before[7];
    struct iovec local = {before, sizeof before};
    struct iovec remote = {(void *)(address - sizeof before), sizeof before};
    if (process_vm_readv(tid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof before)
        return false;
    if (before[2] == 0xe8)
        return true;
    for (int i = 0; i <= 5; i++) /* ff /2: two to seven bytes */
        if (before[i] == 0xff && (before[i + 1] >> 3 & 7) == 2)
            return true;
    return false;
}

static uint64_t stack_pointer(pid_t tid)
{
    char path[64], text[512];
    unsigned long stack = 0;
    snprintf(path, sizeof path, "/proc/%d/syscall", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    const char *last = strrchr(text, ' '); /* … stack pointer, instruction pointer */
    while (last && last > text && last[-1] != ' ')
        last--;
    if (last)
        stack = strtoul(last, NULL, 16);
    return stack;
}

/* Return addresses into headroom or the agent, innermost first; is there one into the executable?
 */
static unsigned find_frames(const struct task *task, uint64_t frames[FRAMES], bool *program)
{
    static uint64_t words[STACK_BYTES / 8];
    uint64_t stack = stack_pointer(task->tid);
    ssize_t got = 0;
    /* A page at a time: what lies above the top of the stack cannot be read. */
    for (uint64_t at = stack; at && (size_t)got < sizeof words;) {
        size_t part = 4096 - at % 4096;
        if (part > sizeof words - (size_t)got)
            part = sizeof words - (size_t)got;
        struct iovec local = {(char *)words + got, part}, remote = {(void *)at, part};
        if (process_vm_readv(task->tid, &local, 1, &remote, 1, 0) != (ssize_t)part)
            break;
        got += (ssize_t)part;
        at += part;
    }
    unsigned count = 0;
    *program = false;
    for (size_t i = 0; i < (size_t)got / 8 && (count < FRAMES || !*program); i++) {
        const struct range *range = find_range(task, words[i]);
        if (!range || !(range->ours || range->program) || !is_behind_call(task->tid, words[i]))
            continue;
        *program |= range->program;
        if (range->ours && count < FRAMES)
            frames[count++] = words[i];
    }
    return count;
}

static size_t put_place(char *out, size_t room, const struct task *task, uint64_t address)
{
    const struct range *range = find_range(task, address);
    int length = range ? snprintf(out, room, "%s+%lx", range->name,
                                  (unsigned long)(address - range->start + range->offset))
                       : snprintf(out, room, "?");
    return length < 0 || (size_t)length >= room ? room - 1 : (size_t)length;
}

static void name_site(char site[SITE_BYTES], const struct task *task, uint64_t address,
                      const uint64_t *frames, unsigned count)
{
    size_t used = put_place(site, SITE_BYTES, task, address);
    for (unsigned i = 0; i < count && used + 2 < SITE_BYTES; i++) {
        site[used++] = '<';
        used += put_place(site + used, SITE_BYTES - used, task, frames[i]);
    }
}

/* Whose call it is, or NULL: nobody's. */
static const char *attribute(struct task *task, uint64_t address, char site[SITE_BYTES])
{
    uint64_t frames[FRAMES];
    bool program;
    const struct range *range = find_range(task, address);
    bool host = same_file(task->executable, options.host);
    if (host || same_file(task->executable, options.tool)) {
        unsigned count = find_frames(task, frames, &program);
        name_site(site, task, address, frames, count);
        return !count ? NULL : host ? "host" : "tool";
    }
    bool inside = range && range->ours;
    if (inside && task->agent_phase == NOT_YET)
        task->agent_phase = STARTING;
    if (!inside && task->agent_phase != STARTING)
        return NULL;
    unsigned count = find_frames(task, frames, &program);
    if (!inside && (!count || program))
        task->agent_phase = OVER;
    name_site(site, task, address, frames, count);
    return inside || task->agent_phase == STARTING ? "agent" : NULL;
}

/* ---- counting -----------------------------------------------------------------------------------
 */

struct site {
    const char *who;
    const struct fault_call *call;
    char place[SITE_BYTES];
    char first[96]; /* arguments of the first call */
    long count;
};

static struct site *sites;
static unsigned sites_count;
static long fired;

static struct site *find_site(const char *who, const struct fault_call *call, const char *place)
{
    uint64_t hash = (uint64_t)call->number * 31 + (unsigned char)who[0];
    for (const char *p = place; *p; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    for (uint64_t i = hash;; i++) {
        struct site *site = &sites[i % SITES];
        if (!site->who) {
            if (++sites_count > SITES / 2) {
                errno = ENOMEM;
                fail("sites");
            }
            site->who = who;
            site->call = call;
            strcpy(site->place, place);
            return site;
        }
        if (site->call == call && strcmp(site->who, who) == 0 && strcmp(site->place, place) == 0)
            return site;
    }
}

/* Calls that cannot fail with these arguments, and words to the user, which nobody could replace.
 */
static bool can_fail(const char *who, const struct seccomp_data *data, int error)
{
    uint64_t second = data->args[1];
    switch (data->nr) {
    case SYS_futex:
        second &= 127; /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
        return second == FUTEX_WAIT || second == FUTEX_WAIT_BITSET;
    case SYS_fcntl:
        if (second == F_DUPFD || second == F_DUPFD_CLOEXEC)
            return error == 0 || error == EMFILE;
        if (second == F_SETLK || second == F_SETLKW || second == F_OFD_SETLKW)
            return error == 0 || error == EINTR;
        return (second == F_ADD_SEALS || second == F_SETFL) && (error == 0 || error == EPERM);
    case SYS_prlimit64: return data->args[2] != 0;
    case SYS_mmap: return error != EPERM || (int)data->args[4] >= 0;
    case SYS_write:
    case SYS_writev: return strcmp(who, "host") != 0 || data->args[0] != STDERR_FILENO;
    case SYS_sigaltstack: return data->args[0] != 0;
    default: return true;
    }
}

static bool is_wanted(const struct site *site)
{
    if (!options.error || strcmp(options.call, site->call->name) != 0)
        return false;
    return (options.who[0] == '*' || strcmp(options.who, site->who) == 0) &&
           (options.site[0] == '*' || strcmp(options.site, site->place) == 0) &&
           (options.occurrence == 0 || options.occurrence == site->count);
}

/* The kernel refuses more heap by leaving its end where it is. */
static bool answer_brk(const struct task *task, struct seccomp_notif_resp *answer)
{
    for (unsigned i = 0; i < task->count; i++)
        if (strcmp(task->ranges[i].name, "[heap]") == 0) {
            answer->val = (int64_t)task->ranges[i].end;
            return true;
        }
    return false;
}

static const struct fault_call *find_call(int number)
{
    for (unsigned i = 0; i < CALLS; i++)
        if (fault_calls[i].number == number)
            return &fault_calls[i];
    return NULL;
}

static void judge(const struct seccomp_notif *notice, struct seccomp_notif_resp *answer)
{
    char place[SITE_BYTES];
    const struct seccomp_data *data = &notice->data;
    const struct fault_call *call = find_call(data->nr);
    struct task *task = find_task((pid_t)notice->pid, data->instruction_pointer);
    const char *who = attribute(task, data->instruction_pointer, place);
    answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (!who || !call || !can_fail(who, data, 0))
        return;
    struct site *site = find_site(who, call, place);
    if (site->count++ == 0)
        snprintf(site->first, sizeof site->first, "%llx,%llx,%llx,%llx", data->args[0],
                 data->args[1], data->args[2], data->args[3]);
    if (!is_wanted(site) || !can_fail(who, data, options.error))
        return;
    if (data->nr == SYS_brk) {
        read_ranges(task);
        if (!answer_brk(task, answer))
            return;
    } else {
        answer->error = -options.error;
    }
    answer->flags = 0;
    fired++;
}

/* ---- the loop
 * ------------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct run {
    int listener;
    pid_t child;
    bool ended, timed_out;
    int status, left;
    uint64_t deadline_ms;
};

static void reap(struct run *run)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == run->child) {
            run->ended = true;
            run->status = status;
            if (run->deadline_ms > now_ms() + GRACE_MS)
                run->deadline_ms = now_ms() + GRACE_MS;
        }
}

/* Everybody that is still there is a child of this process, or of one that is about to be killed.
 */
static void kill_rest(struct run *run)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    for (int round = 0; round < 200; round++) {
        FILE *file = fopen(path, "re");
        bool any = file && fgets(text, sizeof text, file);
        if (file)
            fclose(file);
        if (!any)
            return;
        for (char *p = text, *end; *p; p = end) {
            long pid = strtol(p, &end, 10);
            if (end == p)
                break;
            kill((pid_t)pid, SIGKILL);
            run->left += round == 0;
        }
        usleep(5000);
        reap(run);
    }
}

static void serve(struct run *run, struct seccomp_notif *notice, size_t bytes)
{
    memset(notice, 0, bytes);
    if (ioctl(run->listener, SECCOMP_IOCTL_NOTIF_RECV, notice) != 0)
        return; /* it was interrupted by a signal, and will come again */
    struct seccomp_notif_resp answer = {.id = notice->id};
    judge(notice, &answer);
    ioctl(run->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void supervise(struct run *run)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
        fail("seccomp");
    size_t bytes = sizes.seccomp_notif > sizeof(struct seccomp_notif)
                       ? sizes.seccomp_notif
                       : sizeof(struct seccomp_notif);
    struct seccomp_notif *notice = malloc(bytes);
    if (!notice)
        fail("memory");
    for (;;) {
        struct pollfd file = {run->listener, POLLIN, 0};
        poll(&file, 1, 20);
        if (file.revents & POLLIN)
            serve(run, notice, bytes);
        reap(run);
        if (file.revents & POLLHUP || now_ms() > run->deadline_ms)
            break;
    }
    if (!(now_ms() > run->deadline_ms && !run->ended))
        for (int i = 0; i < 200 && !run->ended; i++, usleep(5000))
            reap(run);
    run->timed_out = !run->ended;
    kill_rest(run);
    free(notice);
}

/* ---- results
 * -------------------------------------------------------------------------------------- */

static void write_result(const struct run *run)
{
    FILE *file = fopen(options.result, "we");
    if (!file)
        fail(options.result);
    fprintf(file, "fired %ld\nhung %d\nleft %d\n", fired, run->timed_out, run->left);
    if (!run->timed_out && WIFEXITED(run->status))
        fprintf(file, "code %d\n", WEXITSTATUS(run->status));
    else if (!run->timed_out)
        fprintf(file, "signal %d\n", WTERMSIG(run->status));
    if (fclose(file) != 0)
        fail(options.result);
}

static void write_census(void)
{
    FILE *file = fopen(options.census, "we");
    if (!file)
        fail(options.census);
    for (unsigned i = 0; i < SITES; i++) {
        const struct site *site = &sites[i];
        if (!site->who)
            continue;
        fprintf(file, "%s\t%s\t%s\t%ld\t%s\t", site->who, site->call->name, site->place,
                site->count, site->first);
        for (int e = 0; e < ERRORS_PER_CALL && site->call->errors[e]; e++)
            fprintf(file, "%s%d", e ? "," : "", site->call->errors[e]);
        fputc('\n', file);
    }
    if (fclose(file) != 0)
        fail(options.census);
}

int main(int count, char **words)
{
    char **command = parse(count, words);
    sites = calloc(SITES, sizeof *sites);
    if (!sites)
        fail("memory");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct run run = {.deadline_ms = now_ms() + (uint64_t)options.limit_s * 1000};
    run.child = start(command, &run.listener);
    supervise(&run);
    write_result(&run);
    if (options.census)
        write_census();
    return 0;
}
