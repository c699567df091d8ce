// SPDX-License-Identifier: MIT
/*
 * What system calls do to user memory, x86-64 numbering. Only calls that move
 * data are listed; a call that does both, or either by its arguments, has both
 * bits. Pure, no state.
 */
#include "isa/isa.h"
#include <sys/syscall.h>

enum { IN = ISA_LOAD, OUT = ISA_STORE, BOTH = ISA_LOAD | ISA_STORE };

uint8_t isa_syscall_direction(int32_t number)
{
    switch (number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_access:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_rmdir:
    case SYS_chdir:
    case SYS_link:
    case SYS_linkat:
    case SYS_symlink:
    case SYS_symlinkat:
    case SYS_chmod:
    case SYS_fchmodat:
    case SYS_chown:
    case SYS_fchownat:
    case SYS_truncate:
    case SYS_execve:
    case SYS_execveat:
    case SYS_connect:
    case SYS_bind:
    case SYS_setsockopt:
    case SYS_clock_settime:
    case SYS_settimeofday:
    case SYS_utimensat:
    case SYS_mount:
    case SYS_sethostname:
    case SYS_epoll_ctl:
    case SYS_vmsplice:
    case SYS_memfd_create:
    case SYS_setxattr:
    case SYS_mq_timedsend:
    case SYS_msgsnd:
    case SYS_add_key:
    case SYS_inotify_add_watch:
    case SYS_timer_create:
    case SYS_perf_event_open:
    case SYS_process_vm_writev:
    case SYS_setgroups: return IN;
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_recvfrom:
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_statfs:
    case SYS_fstatfs:
    case SYS_pipe:
    case SYS_pipe2:
    case SYS_socketpair:
    case SYS_getdents:
    case SYS_getdents64:
    case SYS_getcwd:
    case SYS_readlink:
    case SYS_readlinkat:
    case SYS_uname:
    case SYS_sysinfo:
    case SYS_times:
    case SYS_getrusage:
    case SYS_getrlimit:
    case SYS_gettimeofday:
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_time:
    case SYS_getrandom:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_getresuid:
    case SYS_getresgid:
    case SYS_getgroups:
    case SYS_getitimer:
    case SYS_timer_gettime:
    case SYS_timerfd_gettime:
    case SYS_rt_sigpending:
    case SYS_sched_getaffinity:
    case SYS_sched_getparam:
    case SYS_mincore:
    case SYS_getcpu:
    case SYS_accept:
    case SYS_accept4:
    case SYS_msgrcv:
    case SYS_mq_timedreceive:
    case SYS_set_tid_address:
    case SYS_process_vm_readv: return OUT;
    case SYS_ioctl:
    case SYS_futex:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_getsockopt:
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_copy_file_range:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigreturn:
    case SYS_sigaltstack:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_setitimer:
    case SYS_timer_settime:
    case SYS_timerfd_settime:
    case SYS_prlimit64:
    case SYS_clone:
    case SYS_clone3:
    case SYS_io_submit:
    case SYS_io_getevents:
    case SYS_io_uring_enter:
    case SYS_ptrace:
    case SYS_prctl:
    case SYS_fcntl:
    case SYS_shmctl:
    case SYS_semctl:
    case SYS_msgctl:
    case SYS_bpf:
    case SYS_keyctl:
    case SYS_quotactl:
    case SYS_name_to_handle_at: return BOTH;
    default: return 0;
    }
}
