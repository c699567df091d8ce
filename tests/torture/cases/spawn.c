// SPDX-License-Identifier: MIT
/* vfork and exec, posix_spawn with file actions and attributes, failing exec. */
#include "torture.h"
#include <spawn.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
        busy(5);
        say("child %s\n", argv[1]);
        show_descriptors();
        show_signals();
        return atoi(argv[1]);
    }
    for (int i = 0; i < 20; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", i);
        busy(2);
        pid_t child = vfork();
        if (child == 0) {
            execl(argv[0], argv[0], number, (char *)NULL);
            _exit(98);
        }
        show_end("vfork", child);
    }
    pid_t child = vfork();
    if (child == 0) {
        execl("/nonexistent", "nonexistent", (char *)NULL);
        _exit(errno == ENOENT ? 42 : 43);
    }
    show_end("failed exec", child);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGUSR2);
    must(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
    must(posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", O_RDWR, 0) == 0);
    must(posix_spawn_file_actions_addclose(&actions, 0) == 0);
    must(posix_spawnattr_setsigmask(&attributes, &set) == 0);
    must(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0);
    for (int i = 0; i < 20; i++) {
        char *const child_argv[] = {argv[0], "5", NULL};
        busy(2);
        must(posix_spawn(&child, argv[0], &actions, &attributes, child_argv, environ) == 0);
        show_end("spawn", child);
    }
    say("missing: %d\n", posix_spawnp(&child, "nonexistent-program", NULL, NULL, argv, environ));
    return 0;
}
