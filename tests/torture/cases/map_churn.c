// SPDX-License-Identifier: MIT
/* Memory that is mapped, written, protected, caught, unmapped and mapped elsewhere again. */
#include "torture.h"
#include <sys/mman.h>

enum { PAGES = 16 };
static volatile sig_atomic_t faults;
static char *area;
static size_t bytes;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if ((char *)info->si_addr < area || (char *)info->si_addr >= area + bytes)
        _exit(97);
    faults++;
    mprotect(area, bytes, PROT_READ | PROT_WRITE);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    bytes = (size_t)PAGES * 4096;
    must(sigaction(SIGSEGV, &action, NULL) == 0);
    for (int round = 0; round < 500; round++) {
        area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(area != MAP_FAILED);
        for (int again = 0; again < 10; again++)
            for (size_t i = 0; i < bytes; i += 8)
                *(volatile uint64_t *)(area + i) = i;
        must(mprotect(area, bytes, round & 1 ? PROT_READ : PROT_NONE) == 0);
        *(volatile char *)(area + 100) = 1;
        must(madvise(area, bytes, MADV_DONTNEED) == 0);
        area[200] = 1;
        must(munmap(area, bytes) == 0);
    }
    say("faults %d\n", faults);
    return 0;
}
