// SPDX-License-Identifier: MIT
/* Apart from everything else, so that tests can link the rest. */
#include "cli/verbs.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
