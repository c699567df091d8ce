// SPDX-License-Identifier: MIT
/* system and popen, both directions. */
#include "torture.h"

int main(void)
{
    for (int i = 0; i < 10; i++) {
        char line[100] = "";
        busy(5);
        say("system %d\n", system("echo from the shell; exit 7"));
        FILE *pipe = popen("echo one; echo two; ls /proc/self/fd | wc -l", "r");
        must(pipe);
        while (fgets(line, sizeof line, pipe))
            say("popen: %s", line);
        say("pclose %d\n", pclose(pipe));
        pipe = popen("cat", "w");
        must(pipe);
        fputs("through cat\n", pipe);
        say("pclose %d\n", pclose(pipe));
    }
    say("killed %d\n", system("kill -9 $$"));
    say("a shell: %d\n", system(NULL));
    signal(SIGCHLD, SIG_IGN);
    say("nobody to wait for: %d\n", system("exit 7"));
    return 0;
}
