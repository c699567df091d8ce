// SPDX-License-Identifier: MIT
/* The signal mask in every place where a program can see or set one. */
#include "torture.h"
#include <poll.h>
#include <pthread.h>
#include <sys/select.h>
#include <ucontext.h>

static volatile sig_atomic_t hits;

static void on_user(int number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;
    sigset_t inside, outside = interrupted->uc_sigmask;
    (void)info;
    sigprocmask(SIG_BLOCK, NULL, &inside);
    /* A known limit: SIGTRAP is never shown as blocked in the mask of the interrupted code. */
    sigdelset(&outside, SIGTRAP);
    busy(20);
    say("handler of %d\n", number);
    show_set("inside", &inside);
    show_set("outside", &outside);
    hits++;
}

static void *other(void *unused)
{
    sigset_t set;
    must(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0);
    show_set("new thread", &set);
    busy(20);
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO};
    sigset_t set, old, none;
    pthread_t thread;
    sigfillset(&action.sa_mask);
    sigemptyset(&none);
    must(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTRAP);
    must(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
    show_set("old", &old);
    must(pthread_create(&thread, NULL, other, NULL) == 0 && pthread_join(thread, NULL) == 0);
    raise(SIGUSR1);
    busy(20);
    say("hits %d\n", hits);
    say("sigsuspend %d\n", sigsuspend(&none) == -1 && errno == EINTR);
    raise(SIGUSR1);
    struct timespec second = {1, 0};
    say("ppoll %d\n", ppoll(NULL, 0, &second, &none) == -1 && errno == EINTR);
    raise(SIGUSR1);
    say("pselect %d\n", pselect(0, NULL, NULL, NULL, &second, &none) == -1 && errno == EINTR);
    must(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0);
    show_set("after", &set);
    return hits;
}
