// SPDX-License-Identifier: MIT
/* Linked statically: no agent can be preloaded; it must run as it is. */
#include "torture.h"

int main(int argc, char **argv)
{
    say("static %s\n", argc > 1 ? argv[1] : "");
    show_descriptors();
    show_signals();
    busy(100);
    return 12;
}
