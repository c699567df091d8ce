// SPDX-License-Identifier: MIT
/* A function that does nothing, with room for a jump, compiled by bench/interference/cost once for
 * each way to hook it, with -DFUNCTION=its name. */
void FUNCTION(void);

void FUNCTION(void)
{
    __asm__ volatile("nopl 8(%rax,%rax)");
}
