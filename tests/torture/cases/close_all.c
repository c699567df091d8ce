// SPDX-License-Identifier: MIT
/* Closes every descriptor but the first three, in all ways, and reuses the numbers. */
#include "torture.h"

int main(void)
{
    show_descriptors();
    busy(50);
    closefrom(3);
    busy(50);
    must(close_range(3, ~0u, 0) == 0);
    for (int fd = 3; fd < 1024; fd++)
        say("%s", close(fd) == 0 ? "closed one\n" : "");
    busy(50);
    for (int i = 0; i < 5; i++)
        say("open gives %d\n", open("/dev/null", O_RDWR));
    say("dup2 gives %d\n", dup2(0, 900));
    show_descriptors();
    pid_t child = fork();
    if (child == 0) {
        busy(50);
        closefrom(0);
        busy(50);
        _exit(5);
    }
    show_end("child without descriptors", child);
    busy(50);
    return 0;
}
