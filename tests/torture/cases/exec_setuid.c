// SPDX-License-Identifier: MIT
/* Run by an ordinary user, starts the set-user-id copy of itself (its argument). */
#include "torture.h"
#include <sys/auxv.h>

int main(int argc, char **argv)
{
    busy(50);
    say("real %d, effective %d, secure %d\n", getuid() != 0, geteuid() != 0,
        (int)getauxval(AT_SECURE));
    show_descriptors();
    show_signals();
    if (argc > 1) {
        execl(argv[1], argv[1], (char *)NULL);
        return 98;
    }
    return 4;
}
