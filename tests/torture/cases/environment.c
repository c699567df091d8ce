// SPDX-License-Identifier: MIT
/* The environment through environ, getenv and main's third argument, and what children inherit. */
#include "torture.h"
#include <spawn.h>

int main(int argc, char **argv, char **envp)
{
    say("%s: by main\n", argc > 1 ? "child" : "parent");
    for (char **entry = envp; *entry; entry++)
        say("%s\n", *entry);
    say("by environ: %s\n", environ == envp ? "same" : "other");
    say("LD_PRELOAD %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "unset");
    busy(50);
    if (argc > 1)
        return 0;
    char *const child_argv[] = {argv[0], "child", NULL};
    pid_t child;
    must(posix_spawn(&child, argv[0], NULL, NULL, child_argv, environ) == 0);
    show_end("inherits", child);
    char *const few[] = {"ONLY=this", NULL};
    must(posix_spawn(&child, argv[0], NULL, NULL, child_argv, few) == 0);
    show_end("only this", child);
    must(clearenv() == 0 && setenv("NEW", "1", 1) == 0);
    must(posix_spawn(&child, argv[0], NULL, NULL, child_argv, environ) == 0);
    show_end("cleared", child);
    return 0;
}
