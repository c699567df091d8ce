// SPDX-License-Identifier: MIT
/* Has threads when it begins: its library has started them. */
#include "torture.h"

void early_join(void);

int main(void)
{
    busy(50);
    early_join();
    return 4;
}
