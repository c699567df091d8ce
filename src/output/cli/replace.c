// SPDX-License-Identifier: MIT
/*
 * Files that are written for other programs: what is there stays until the new one is whole, and
 * then gives way at once. Devices, FIFOs and what else is no regular file are written as they are.
 */
#include "cli/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The one that is being written; removed if a signal ends headroom. */
static char *volatile unfinished;

void replace_abandon(void)
{
    char *name = unfinished;
    if (name)
        unlink(name);
}

static void remove_unfinished(int number)
{
    replace_abandon();
    /* the handler is gone by now (SA_RESETHAND): this ends headroom as the signal does */
    raise(number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    struct sigaction action = {.sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    for (size_t i = 0; i < BASE_COUNT(numbers); i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is to give an error, with nothing left behind */
}

bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return a && b && stat(a, &first) == 0 && stat(b, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool open_temporary(struct replacement *made, mode_t mode)
{
    if (asprintf(&made->temporary, "%s.XXXXXX", made->target) < 0) {
        made->temporary = NULL;
        errno = ENOMEM;
        return false;
    }
    /* No signal between the file and its name's being known. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int descriptor = mkostemp(made->temporary, O_CLOEXEC), reason = errno;
    if (descriptor >= 0) {
        unfinished = made->temporary;
        watch_signals();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    if (descriptor < 0)
        return false;
    made->out = fchmod(descriptor, mode) == 0 ? fdopen(descriptor, "w") : NULL;
    if (!made->out) {
        reason = errno;
        close(descriptor);
        unlink(made->temporary);
        unfinished = NULL;
        errno = reason;
    }
    return made->out != NULL;
}

static void forget(struct replacement *made)
{
    int reason = errno;
    unfinished = NULL;
    free(made->temporary);
    free(made->target);
    *made = (struct replacement){0};
    errno = reason;
}

bool replace_begin(struct replacement *made, const char *path)
{
    struct stat info;
    *made = (struct replacement){0};
    bool there = stat(path, &info) == 0;
    if (!there && errno != ENOENT)
        return false;
    if (there && !S_ISREG(info.st_mode)) {
        made->out = fopen(path, "we");
        return made->out != NULL;
    }
    if (there && access(path, W_OK) != 0)
        return false;
    /* Through a symbolic link: the link stays. */
    made->target = there ? realpath(path, NULL) : strdup(path);
    if (!made->target || !open_temporary(made, there ? info.st_mode & 0777 : usual_mode())) {
        forget(made);
        return false;
    }
    return true;
}

bool replace_end(struct replacement *made, bool good)
{
    int reason = errno;
    if (fclose(made->out) != 0 && good) {
        reason = errno;
        good = false;
    }
    if (made->temporary && good && rename(made->temporary, made->target) != 0) {
        reason = errno;
        good = false;
    }
    if (made->temporary && !good)
        unlink(made->temporary);
    errno = reason;
    forget(made);
    return good;
}
