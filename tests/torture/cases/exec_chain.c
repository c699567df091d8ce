// SPDX-License-Identifier: MIT
/*
 * Replaces itself over and over, by every member of the family and from a second
 * thread too; at last by the program named in the first argument, if any.
 */
#include "torture.h"
#include <pthread.h>

static char **arguments;
static char number[12];

static void *replace(void *unused)
{
    char *const argv[] = {arguments[0], arguments[1], number, NULL};
    busy(10);
    execv(argv[0], argv);
    return unused;
}

int main(int argc, char **argv)
{
    int round = argc > 2 ? atoi(argv[2]) : 0;
    arguments = argv;
    say("round %d, %s\n", round, getenv("ROUND") ? getenv("ROUND") : "no variable");
    show_descriptors();
    show_signals();
    show_process();
    busy(20);
    snprintf(number, sizeof number, "%d", round + 1);
    char *const next[] = {argv[0], argv[1], number, NULL};
    if (round >= 8) {
        execlp(argv[1], argv[1], "last", (char *)NULL);
        return 98;
    }
    switch (round % 4) {
    case 0:
        setenv("ROUND", number, 1);
        execvp(next[0], next);
        break;
    case 1: {
        char *const only[] = {"ROUND=clean", NULL};
        execve(next[0], next, only);
        break;
    }
    case 2: {
        pthread_t thread;
        pthread_create(&thread, NULL, replace, NULL);
        busy(1000);
        pause();
        break;
    }
    default: {
        int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
        fexecve(fd, next, environ);
    }
    }
    return 98;
}
