// SPDX-License-Identifier: MIT
/*
 * The common reading and writing calls, seen from outside: what no watchpoint
 * can see. A write to /dev/null is a use though the kernel never looks
 * at the buffer, and without permission to watch the kernel (watch_kernel 0)
 * no buffer handed to it would count as used. Calls that libc makes to itself
 * (stdio) do not come by here; those rely on the kernel's accesses trapping.
 *
 * Where a watchpoint did see the kernel's access the register is free by now.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static __attribute__((noinline)) void touched(struct agent_thread *self, const void *buffer,
                                              size_t bytes, int32_t number, void *function)
{
    uint64_t all = ~UINT64_C(0), mask;
    struct base_registers registers;
    if (self->tid != os_tid()) /* the child of a vfork: the state is its parent's */
        return;
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
    int error = errno; /* asks libc on our own behalf: no sample may fall into that */
    wrap_capture(&registers);
    sample_kernel_touch(self, (uint64_t)buffer, bytes, number, (uint64_t)function, &registers);
    errno = error;
    os_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

static inline void note(const void *buffer, ssize_t bytes, int32_t number, void *function)
{
    struct agent_thread *self = agent_self;
    if (!self || !self->slot || bytes <= 0)
        return;
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++)
        if (sample_watches(self, i, (uint64_t)buffer, (uint64_t)bytes)) {
            touched(self, buffer, (size_t)bytes, number, function);
            return;
        }
}

static void note_vector(const struct iovec *vector, int count, ssize_t bytes, int32_t number,
                        void *function)
{
    for (int i = 0; i < count && bytes > 0; i++) {
        ssize_t part = (size_t)bytes < vector[i].iov_len ? bytes : (ssize_t)vector[i].iov_len;
        note(vector[i].iov_base, part, number, function);
        bytes -= part;
    }
}

#define NOTED(function, number, buffer, call)                                                      \
    __typeof__(&(function)) real_ = WRAP_REAL(function);                                           \
    ssize_t result_ = real_ call;                                                                  \
    note(buffer, result_, number, (void *)real_);                                                  \
    return result_

EXPORT ssize_t read(int file, void *buffer, size_t bytes)
{
    NOTED(read, __NR_read, buffer, (file, buffer, bytes));
}

EXPORT ssize_t write(int file, const void *buffer, size_t bytes)
{
    NOTED(write, __NR_write, buffer, (file, buffer, bytes));
}

EXPORT ssize_t pread(int file, void *buffer, size_t bytes, off_t offset)
{
    NOTED(pread, __NR_pread64, buffer, (file, buffer, bytes, offset));
}

EXPORT ssize_t pwrite(int file, const void *buffer, size_t bytes, off_t offset)
{
    NOTED(pwrite, __NR_pwrite64, buffer, (file, buffer, bytes, offset));
}

EXPORT ssize_t pread64(int file, void *buffer, size_t bytes, off64_t offset)
{
    NOTED(pread64, __NR_pread64, buffer, (file, buffer, bytes, offset));
}

EXPORT ssize_t pwrite64(int file, const void *buffer, size_t bytes, off64_t offset)
{
    NOTED(pwrite64, __NR_pwrite64, buffer, (file, buffer, bytes, offset));
}

EXPORT ssize_t recv(int socket, void *buffer, size_t bytes, int flags)
{
    NOTED(recv, __NR_recvfrom, buffer, (socket, buffer, bytes, flags));
}

EXPORT ssize_t send(int socket, const void *buffer, size_t bytes, int flags)
{
    NOTED(send, __NR_sendto, buffer, (socket, buffer, bytes, flags));
}

EXPORT ssize_t readv(int file, const struct iovec *vector, int count)
{
    __typeof__(&readv) real = WRAP_REAL(readv);
    ssize_t result = real(file, vector, count);
    note_vector(vector, count, result, __NR_readv, (void *)real);
    return result;
}

EXPORT ssize_t writev(int file, const struct iovec *vector, int count)
{
    __typeof__(&writev) real = WRAP_REAL(writev);
    ssize_t result = real(file, vector, count);
    note_vector(vector, count, result, __NR_writev, (void *)real);
    return result;
}
