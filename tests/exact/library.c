// SPDX-License-Identifier: MIT
/* Two libraries of one source, WORK being the name of the function: the same code
 * under two names. */
#include <stdint.h>

void WORK(volatile uint64_t *cell);

void WORK(volatile uint64_t *cell)
{
    cell[0] = 1;
    cell[0] = 2;
}
