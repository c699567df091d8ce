// SPDX-License-Identifier: MIT
/* All that a process can ask about itself, at the start, when busy and after. */
#include "torture.h"

int main(int argc, char **argv)
{
    for (int round = 0; round < 3; round++) {
        say("round %d\n", round);
        show_descriptors();
        show_signals();
        show_limits();
        show_process();
        busy(100);
    }
    for (int i = 0; i < argc; i++)
        say("argument %d: %s\n", i, i ? argv[i] : "program");
    return 3;
}
