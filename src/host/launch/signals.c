// SPDX-License-Identifier: MIT
/*
 * Signals while a program is observed. Whoever starts `headroom ... -- COMMAND` knows headroom's
 * process and means COMMAND: what arrives here is passed on. But the terminal, timeout(1), a
 * shell's `kill %1` and service managers signal a whole process group or all processes of a
 * service, and COMMAND has that by itself; passed on it would see it twice, and many programs take
 * the second interrupt for "at once".
 *
 * siginfo does not show which it was: si_pid and si_code are the same for kill(PID) and
 * kill(-GROUP), and who sends both to its own child and to its group (timeout) is in the group like
 * a shell script that means one process. So a process of ours is in the group too, the *sentinel*,
 * which does nothing but keep what it got pending. What it got as well went to all.
 *
 * Rejected: a process group of headroom's own, because the shell has made headroom the leader of
 * one, and a leader cannot leave. Looking only at the sender, as sudo(8) does: it would keep from
 * the program what the shell script that started it sends.
 *
 * One recording at a time; handlers do nothing but note and ring.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SIGNALS = 65,
    SETTLE_MS = 20,  /* between a signal to us and the same one to the last of the group          */
    ANSWER_MS = 200, /* the sentinel may not be executed at once                                  */
    AGAIN_MS = 1000, /* two wishes that it end: less far apart they are one                       */
    FAREWELL_MS = 3000, /* for the second one to take effect */
};

#define MS UINT64_C(1000000)

/* ---- what has arrived --------------------------------------------------------------------------
 */

struct arrival {
    uint32_t count, passed; /* passed: of count, by the handler */
    pid_t sender;
    bool kernel;
};

static struct {
    struct arrival of[SIGNALS];
    volatile sig_atomic_t any;
    struct wire_region *volatile region; /* doorbell to ring          */
    volatile sig_atomic_t event;         /* eventfd to write, or -1   */
    volatile sig_atomic_t child;         /* to pass signals on to     */
} arrived = {.event = -1};

/* NULL: by kill(2). What the program sends to its parent would have reached whoever started
 * headroom. */
static void send_on(int number, pid_t sender, const siginfo_t *queued)
{
    pid_t to = sender == arrived.child ? getppid() : arrived.child;
    if (to > 1 && queued)
        sigqueue(to, number, queued->si_value);
    else if (to > 1)
        kill(to, number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    struct wire_region *region = arrived.region;
    if (number != SIGCHLD) {
        struct arrival *arrival = &arrived.of[number];
        /* These go to one process or thread always, and may come in any number, with a value. */
        bool sure = info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
        if (sure)
            send_on(number, info->si_pid, info->si_code == SI_QUEUE ? info : NULL);
        arrival->passed += sure;
        arrival->count++;
        arrival->sender = info->si_code == SI_KERNEL ? 0 : info->si_pid;
        arrival->kernel = info->si_code == SI_KERNEL;
        arrived.any = 1;
    }
    if (region)
        atomic_fetch_add_explicit(&region->doorbell, 1, memory_order_relaxed);
    if (arrived.event >= 0) {
        uint64_t one = 1;
        ssize_t ignored = write(arrived.event, &one, sizeof one);
        (void)ignored;
    }
    errno = saved;
}

/* ---- which signals -----------------------------------------------------------------------------
 */

/* Not those that mean faults of ours, job control (which stops and continues headroom as any
   process of a job), and what headroom needs for itself. */
static bool is_passed(int number)
{
    switch (number) {
    case SIGKILL:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGCONT:
    case SIGCHLD:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSYS:
    case SIGTRAP:
    case SIGABRT:
    case SIGPIPE:
    case SIGXFSZ: return false;
    default: return number < 32 || (number >= SIGRTMIN && number < SIGNALS);
    }
}

/* Programs may be sent SIGHUP and SIGQUIT as often as one likes, to read their settings or to show
 * their threads. */
static bool asks_to_end(int number)
{
    return number == SIGTERM || number == SIGINT;
}

/* With these a user ends headroom itself, when the program has ended. */
static bool is_for_import(int number)
{
    return asks_to_end(number) || number == SIGHUP || number == SIGQUIT;
}

/* ---- the sentinel ------------------------------------------------------------------------------
 */

/* Not to be found by the name or the words of headroom: pkill(1) would reach it as it does
 * headroom. */
static void hide(void)
{
    char text[1024];
    unsigned long start = 0, end = 0;
    prctl(PR_SET_NAME, "signals");
    FILE *file = fopen("/proc/self/stat", "re");
    if (file && fgets(text, sizeof text, file)) {
        const char *at = strrchr(text, ')');
        for (int field = 2; at && field < 48; field++)
            at = strchr(at + 1, ' ');
        if (at && sscanf(at, " %lu %lu", &start, &end) == 2 && end > start)
            memset((void *)start, 0, end - start);
    }
    if (file)
        fclose(file);
}

/* All signals are blocked: what comes stays pending until it is asked for. */
static _Noreturn void be_sentinel(int ask, int answer, pid_t headroom)
{
    char question;
    sigset_t all;
    const struct timespec now = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == headroom)
        hide();
    else
        kill(getpid(), SIGKILL);
    /* The pipes may have the very numbers that they are to get. */
    ask = fcntl(ask, F_DUPFD, 3);
    answer = fcntl(answer, F_DUPFD, 3);
    int from = dup2(ask, 0), to = dup2(answer, 1);
    syscall(SYS_close_range, 2U, ~0U, 0U);
    sigfillset(&all);
    while (from == 0 && to == 1 && read(0, &question, 1) == 1) {
        uint64_t got = 0;
        for (int number; (number = sigtimedwait(&all, NULL, &now)) > 0;)
            got |= UINT64_C(1) << (number - 1);
        if (write(1, &got, sizeof got) != (ssize_t)sizeof got)
            break;
    }
    /* As it ends in any other case: whoever reaps orphans (a subreaper) sees one kind of end. */
    kill(getpid(), SIGKILL);
    _exit(0);
}

/* Without one nothing is known of groups. */
static void make_sentinel(struct launch_signals *signals)
{
    int ask[2], answer[2];
    pid_t headroom = getpid();
    if (pipe2(ask, O_CLOEXEC) != 0)
        return;
    if (pipe2(answer, O_CLOEXEC) != 0) {
        close(ask[0]);
        close(ask[1]);
        return;
    }
    signals->sentinel = fork();
    if (signals->sentinel == 0)
        be_sentinel(ask[0], answer[1], headroom);
    close(ask[0]);
    close(answer[1]);
    signals->ask = ask[1];
    signals->answer = answer[0];
    fcntl(signals->answer, F_SETFL, O_NONBLOCK);
    if (signals->sentinel < 0) {
        close(signals->ask);
        close(signals->answer);
        signals->ask = signals->answer = -1;
    }
}

static void end_sentinel(struct launch_signals *signals)
{
    if (signals->sentinel <= 0)
        return;
    close(signals->ask);
    close(signals->answer);
    kill(signals->sentinel, SIGKILL);
    while (waitpid(signals->sentinel, NULL, 0) < 0 && errno == EINTR)
        ;
    signals->sentinel = 0;
}

/* What went to all of the group since the last time. False: not known. */
static bool sent_to_all(const struct launch_signals *signals, uint64_t *numbers)
{
    struct pollfd file = {signals->answer, POLLIN, 0};
    uint64_t late = 0, got;
    while (signals->sentinel > 0 && read(signals->answer, &got, sizeof got) == (ssize_t)sizeof got)
        late |= got; /* to a question that was given up */
    if (signals->sentinel <= 0 || write(signals->ask, "?", 1) != 1 ||
        poll(&file, 1, ANSWER_MS) != 1 ||
        read(signals->answer, &got, sizeof got) != (ssize_t)sizeof got)
        return false;
    *numbers = late | got;
    return true;
}

/* ---- passing on --------------------------------------------------------------------------------
 */

static void note_wish(struct launch_signals *signals, int number, uint64_t now)
{
    if (signals->asked_ns == 0)
        signals->asked_ns = now;
    else if (now - signals->asked_ns >= AGAIN_MS * MS && !signals->wish) {
        signals->wish = number;
        signals->farewell_ns = now + FAREWELL_MS * MS;
    }
}

/* The kernel's are the terminal's, but for a timer that whoever started headroom has set (alarm,
   then exec), and for the CPU time of headroom itself. */
static bool is_for_program(int number, const struct arrival *arrival, bool known, uint64_t all)
{
    if (arrival->kernel && number == SIGXCPU)
        return false;
    return known ? !(all >> (number - 1) & 1) : !arrival->kernel || number == SIGALRM;
}

static void take(struct launch_signals *signals, uint64_t now)
{
    static struct arrival taken[SIGNALS];
    const struct timespec pause = {.tv_nsec = MS};
    sigset_t every, before;
    uint64_t all = 0;
    bool known = sent_to_all(signals, &all);
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, &before);
    memcpy(taken, arrived.of, sizeof taken);
    memset(arrived.of, 0, sizeof arrived.of);
    arrived.any = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (int number = 1; number < SIGNALS; number++) {
        const struct arrival *arrival = &taken[number];
        if (arrival->count && is_for_import(number))
            signals->interrupted = number;
        if (arrival->count == 0 || !is_for_program(number, arrival, known, all))
            continue;
        for (uint32_t i = arrival->passed; i < arrival->count; i++) {
            send_on(number, arrival->sender, NULL);
            if (i + 1 < arrival->count)
                nanosleep(&pause, NULL); /* what is pending already is not sent twice */
        }
        if (asks_to_end(number) && arrival->sender != signals->child)
            note_wish(signals, number, now);
    }
}

bool launch_signals_serve(struct launch_signals *signals)
{
    uint64_t now = launch_now_ns(CLOCK_MONOTONIC);
    if (arrived.event >= 0) {
        uint64_t rings;
        ssize_t ignored = read(arrived.event, &rings, sizeof rings);
        (void)ignored;
    }
    if (arrived.any && signals->due_ns == 0)
        signals->due_ns = now + SETTLE_MS * MS;
    if (signals->due_ns && now >= signals->due_ns) {
        signals->due_ns = 0;
        take(signals, now);
    }
    return signals->wish && now >= signals->farewell_ns;
}

int launch_signals_wait_ms(const struct launch_signals *signals, int most_ms)
{
    return arrived.any || signals->due_ns ? SETTLE_MS / 2 : most_ms;
}

/* What has come last is not taken any more when the program has ended. */
int launch_signals_interrupted(const struct launch_signals *signals)
{
    for (int number = 1; number < SIGNALS && !signals->interrupted; number++)
        if (is_for_import(number) && arrived.of[number].count)
            return number;
    return signals->interrupted;
}

/* ---- beginning and end -------------------------------------------------------------------------
 */

static const struct sigaction ignore = {.sa_handler = SIG_IGN};
static const struct sigaction handle = {.sa_flags = SA_SIGINFO | SA_RESTART,
                                        .sa_sigaction = on_signal};

bool launch_signals_prepare(struct launch_signals *signals)
{
    sigset_t all;
    *signals = (struct launch_signals){.ask = -1, .answer = -1};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->program.mask);
    for (int number = 1; number < SIGNALS; number++)
        if (is_passed(number) || number == SIGPIPE)
            sigaction(number, NULL, &signals->before[number]);
    arrived.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int reason = errno;
    make_sentinel(signals);
    /* Before the fork: if SIGCHLD were ignored the program's exit status would be lost, and the
       region and the log are files with a limit on their sizes. */
    sigaction(SIGCHLD, &handle, &signals->program.child);
    sigaction(SIGXFSZ, &ignore, &signals->program.file_size);
    errno = reason;
    return arrived.event >= 0;
}

int launch_signals_file(void)
{
    return arrived.event;
}

void launch_signals_begin(struct launch_signals *signals, struct wire_region *region, pid_t child)
{
    sigset_t mask = signals->program.mask;
    memset(&arrived.of, 0, sizeof arrived.of);
    arrived.any = 0;
    arrived.region = region;
    arrived.child = child;
    signals->child = child;
    signals->begun = true;
    for (int number = 1; number < SIGNALS; number++) {
        /* What was ignored concerns neither: SIGHUP under nohup, SIGINT of a shell's background. */
        if (!is_passed(number) || signals->before[number].sa_handler == SIG_IGN)
            continue;
        sigaction(number, &handle, NULL);
        sigdelset(&mask, number);
    }
    sigaction(SIGPIPE, &ignore, NULL);
    sigdelset(&mask, SIGPIPE);
    sigdelset(&mask, SIGXFSZ);
    sigdelset(&mask, SIGCHLD);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Of the last recording, for launch_signals_release and launch_signals_restore. */
static struct sigaction inherited[SIGNALS];
static bool left; /* changed: inherited is known */

void launch_signals_release(void)
{
    for (int number = 1; number < SIGNALS; number++)
        if (is_for_import(number))
            sigaction(number, &inherited[number], NULL);
}

void launch_signals_restore(void)
{
    for (int number = 1; left && number < SIGNALS; number++)
        if (is_passed(number) || number == SIGPIPE || number == SIGXFSZ)
            sigaction(number, &inherited[number], NULL);
    left = false;
}

void launch_signals_end(struct launch_signals *signals, bool recorded)
{
    end_sentinel(signals);
    arrived.region = NULL;
    arrived.child = 0;
    for (int number = 1; signals->begun && number < SIGNALS; number++)
        if (is_passed(number)) {
            inherited[number] = signals->before[number];
            sigaction(number, recorded ? &ignore : &signals->before[number], NULL);
        }
    inherited[SIGPIPE] = signals->before[SIGPIPE];
    inherited[SIGXFSZ] = signals->program.file_size;
    left = signals->begun && recorded;
    if (signals->begun && !recorded)
        sigaction(SIGPIPE, &signals->before[SIGPIPE], NULL);
    /* SIGXFSZ stays ignored: one may be pending, and headroom's own files are still to be written.
     */
    sigaction(SIGCHLD, &signals->program.child, NULL);
    sigprocmask(SIG_SETMASK, &signals->program.mask, NULL);
    if (arrived.event >= 0)
        close(arrived.event);
    arrived.event = -1;
}
