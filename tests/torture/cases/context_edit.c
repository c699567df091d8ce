// SPDX-License-Identifier: MIT
/* A handler that repairs the interrupted context: skips a faulting instruction,
 * changes registers. */
#include "torture.h"
#include <ucontext.h>

static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)number;
    interrupted->uc_mcontext.gregs[REG_RIP] += 3; /* movq (%rcx), %rax */
    interrupted->uc_mcontext.gregs[REG_RAX] = (greg_t)(uintptr_t)info->si_addr + 1;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    uint64_t sum = 0;
    must(sigaction(SIGSEGV, &action, NULL) == 0);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t value = 0;
        __asm__ volatile("movq (%1), %0" : "=a"(value) : "c"(i % 100) : "memory");
        busy_turns(1000);
        sum += value;
    }
    say("sum %llu\n", (unsigned long long)sum);
    return 0;
}
