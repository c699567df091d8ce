// SPDX-License-Identifier: MIT
/*
 * Which system calls may be made to fail, and how: errors that the manual allows for a call that
 * was made correctly, of those that come from outside: shortage, permission, interruption.
 * Calls that are not here cannot fail in that sense (close, rt_sigaction with valid arguments,
 * getpid), or nothing can be done about it.
 */
#ifndef FAULTS_CALLS_H
#define FAULTS_CALLS_H

#include <errno.h>
#include <sys/syscall.h>

enum { ERRORS_PER_CALL = 6 };

struct fault_call {
    int number;
    const char *name;
    int errors[ERRORS_PER_CALL]; /* the first is what a quick sweep takes; 0: end */
};

#define FAULT_CALL(name, ...)                                                                      \
    {                                                                                              \
        SYS_##name, #name,                                                                         \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct fault_call fault_calls[] = {
    /* memory */
    FAULT_CALL(mmap, ENOMEM, EPERM),
    FAULT_CALL(munmap, ENOMEM),
    FAULT_CALL(mprotect, ENOMEM),
    FAULT_CALL(mremap, ENOMEM),
    FAULT_CALL(madvise, ENOMEM),
    FAULT_CALL(mlock, ENOMEM, EPERM),
    FAULT_CALL(brk, ENOMEM),
    FAULT_CALL(memfd_create, EMFILE, ENOMEM, ENOSYS),
    /* descriptors */
    FAULT_CALL(open, EMFILE, ENOMEM, EPERM, EINTR),
    FAULT_CALL(openat, EMFILE, ENOMEM, EPERM, EINTR),
    FAULT_CALL(dup, EMFILE),
    FAULT_CALL(dup2, EMFILE, EINTR),
    FAULT_CALL(dup3, EMFILE, EINTR),
    FAULT_CALL(pipe, EMFILE),
    FAULT_CALL(pipe2, EMFILE),
    FAULT_CALL(socket, EMFILE, ENOMEM),
    FAULT_CALL(socketpair, EMFILE, ENOMEM),
    FAULT_CALL(eventfd2, EMFILE, ENOMEM),
    FAULT_CALL(signalfd4, EMFILE, ENOMEM),
    FAULT_CALL(timerfd_create, EMFILE, ENOMEM),
    FAULT_CALL(epoll_create1, EMFILE, ENOMEM),
    FAULT_CALL(pidfd_open, EMFILE, ENOMEM),
    FAULT_CALL(fcntl, EMFILE, EPERM, EINTR),
    FAULT_CALL(ioctl, EPERM, ENOMEM),
    /* reading and writing */
    FAULT_CALL(read, EINTR, EIO),
    FAULT_CALL(readv, EINTR, EIO),
    FAULT_CALL(pread64, EINTR, EIO),
    FAULT_CALL(write, ENOSPC, EINTR, EIO),
    FAULT_CALL(writev, ENOSPC, EINTR, EIO),
    FAULT_CALL(pwrite64, ENOSPC, EINTR, EIO),
    FAULT_CALL(ftruncate, ENOSPC, EINTR, EPERM),
    FAULT_CALL(truncate, ENOSPC, EINTR, EPERM),
    FAULT_CALL(fallocate, ENOSPC, EINTR, EPERM),
    FAULT_CALL(fsync, ENOSPC, EINTR, EIO),
    FAULT_CALL(fdatasync, ENOSPC, EINTR, EIO),
    FAULT_CALL(sendfile, ENOSPC, ENOMEM),
    FAULT_CALL(copy_file_range, ENOSPC, ENOMEM),
    FAULT_CALL(getdents64, ENOMEM),
    FAULT_CALL(sendmsg, ENOMEM, EINTR),
    FAULT_CALL(recvmsg, ENOMEM, EINTR),
    FAULT_CALL(flock, EINTR, ENOMEM),
    /* names */
    FAULT_CALL(stat, ENOMEM, EACCES),
    FAULT_CALL(lstat, ENOMEM, EACCES),
    FAULT_CALL(fstat, ENOMEM),
    FAULT_CALL(newfstatat, ENOMEM, EACCES),
    FAULT_CALL(statx, ENOMEM, EACCES),
    FAULT_CALL(statfs, ENOMEM, EINTR),
    FAULT_CALL(fstatfs, ENOMEM, EINTR),
    FAULT_CALL(access, ENOMEM, EACCES),
    FAULT_CALL(faccessat, ENOMEM, EACCES),
    FAULT_CALL(faccessat2, ENOMEM, EACCES),
    FAULT_CALL(readlink, ENOMEM, EACCES),
    FAULT_CALL(readlinkat, ENOMEM, EACCES),
    FAULT_CALL(getcwd, ENOMEM),
    FAULT_CALL(unlink, EPERM, ENOMEM),
    FAULT_CALL(unlinkat, EPERM, ENOMEM),
    FAULT_CALL(rename, ENOSPC, EPERM),
    FAULT_CALL(renameat, ENOSPC, EPERM),
    FAULT_CALL(renameat2, ENOSPC, EPERM),
    FAULT_CALL(link, ENOSPC, EPERM),
    FAULT_CALL(linkat, ENOSPC, EPERM),
    FAULT_CALL(mkdir, ENOSPC, EPERM),
    FAULT_CALL(rmdir, EPERM),
    FAULT_CALL(mknod, ENOSPC, EPERM),
    FAULT_CALL(mknodat, ENOSPC, EPERM),
    FAULT_CALL(chmod, EPERM),
    FAULT_CALL(fchmod, EPERM),
    FAULT_CALL(fchown, EPERM),
    FAULT_CALL(utimensat, EPERM),
    /* processes, signals, time */
    FAULT_CALL(clone, EAGAIN, ENOMEM),
    FAULT_CALL(clone3, EAGAIN, ENOMEM),
    FAULT_CALL(fork, EAGAIN, ENOMEM),
    FAULT_CALL(vfork, EAGAIN, ENOMEM),
    FAULT_CALL(execve, ENOMEM, EPERM),
    FAULT_CALL(wait4, EINTR),
    FAULT_CALL(waitid, EINTR),
    FAULT_CALL(kill, EPERM),
    FAULT_CALL(tgkill, EPERM, EAGAIN),
    FAULT_CALL(rt_sigqueueinfo, EPERM, EAGAIN),
    FAULT_CALL(rt_tgsigqueueinfo, EPERM, EAGAIN),
    FAULT_CALL(rt_sigtimedwait, EINTR),
    FAULT_CALL(sigaltstack, ENOMEM),
    FAULT_CALL(nanosleep, EINTR),
    FAULT_CALL(clock_nanosleep, EINTR),
    FAULT_CALL(futex, EINTR),
    FAULT_CALL(poll, EINTR, ENOMEM),
    FAULT_CALL(ppoll, EINTR, ENOMEM),
    FAULT_CALL(select, EINTR, ENOMEM),
    FAULT_CALL(pselect6, EINTR, ENOMEM),
    FAULT_CALL(prctl, EPERM),
    FAULT_CALL(prlimit64, EPERM),
    FAULT_CALL(setrlimit, EPERM),
    FAULT_CALL(sched_setaffinity, EPERM),
    FAULT_CALL(setpriority, EPERM),
    FAULT_CALL(timer_create, EAGAIN, ENOMEM),
    FAULT_CALL(membarrier, EPERM),
    /* looking at programs */
    FAULT_CALL(perf_event_open, EPERM, EMFILE, ENOMEM, ENOSPC),
    FAULT_CALL(process_vm_readv, EPERM, ENOMEM),
    FAULT_CALL(process_vm_writev, EPERM, ENOMEM),
    FAULT_CALL(ptrace, EPERM),
};

#endif
