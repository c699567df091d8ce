// SPDX-License-Identifier: MIT
/* A raw system call: no libc, no errno; the result is -errno where it fails. */
#ifndef HEADROOM_BASE_SYSCALL_H
#define HEADROOM_BASE_SYSCALL_H

static inline long base_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
