// SPDX-License-Identifier: MIT
/* An empty function, compiled by bench/interference/cost once for each way to hook it, with
 * -DFUNCTION=its name. */
void FUNCTION(void);

void FUNCTION(void)
{
    __asm__ volatile("");
}
