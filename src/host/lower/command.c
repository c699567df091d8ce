// SPDX-License-Identifier: MIT
/* Commands with a time limit, and what they leave in files. */
#include "lower/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { FILE_MOST = 512 << 20, POLL_NS = 2000000 };

void command_add(struct command *words, const char *word)
{
    words->full |= words->count == WORDS_MAX;
    if (!words->full)
        words->words[words->count++] = word;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum ran wait_for(pid_t child, unsigned seconds)
{
    const struct timespec pause = {0, POLL_NS};
    double end = now_s() + seconds;
    bool late = false;
    int status = 0;
    for (;;) {
        pid_t ended = waitpid(child, &status, late ? 0 : WNOHANG);
        if (ended == child)
            break;
        if (ended < 0 && errno != EINTR)
            return RAN_FAILED;
        if (!late && now_s() > end) {
            late = true;
            kill(child, SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
    if (late)
        return RAN_LATE;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? RAN : RAN_FAILED;
}

enum ran command_run(const struct command *words, const char *output, const char *errors,
                     unsigned seconds)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output ? output : "/dev/null", flags,
                                     0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors ? errors : "/dev/null", flags,
                                     0600);
    int failed = posix_spawnp(&child, words->words[0], &actions, NULL,
                              (char *const *)(uintptr_t)words->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return failed == ENOENT ? RAN_NOT_FOUND : RAN_FAILED;
    return wait_for(child, seconds);
}

bool file_read(const char *path, struct util_text *text)
{
    FILE *file = fopen(path, "re");
    char block[65536];
    size_t count;
    if (!file)
        return false;
    while ((count = fread(block, 1, sizeof block, file)) > 0 && text->count < FILE_MOST)
        util_text_add(text, block, count);
    bool good = !ferror(file) && feof(file);
    fclose(file);
    util_text_add(text, "", 0);
    return good && !text->failed && util_text_reserve(text, 1);
}
