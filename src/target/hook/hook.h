// SPDX-License-Identifier: MIT
/*
 * hook: times executions of functions inside the observed process (ispot §3.2), and keeps of each span what spans.h
 * says, never a trace.
 *
 * A hooked function k is entered through a stub (entry.S): what calls it jumps or was led there. The stub goes on at
 * hook_targets[k]. To see the return, an *activation* takes the return address off the stack, and a `call` from one of
 * many identical places in our own text, the *slots*, puts its own in the same position: the stack looks as it would
 * alone, calls and returns stay paired (return prediction, shadow stacks), and an unwinder that meets the slot's address finds
 * the true one by the slot's unwind table entry. The slot identifies the activation that returns, so it does not matter whether
 * frames in between were skipped (longjmp, exceptions) or which thread or stack returns (coroutines).
 *
 * Every register but the flags survives on the way in and out: compilers may know what a local function leaves alone.
 *
 * Rules: hook_enter_c and hook_leave_c and what they call use general registers only (meson.build), no libc, no locks but one that is
 * never held across anything that can be interrupted by ourselves. What needs more is due work: hook_due_c, on a stack of
 * ours, with the vector registers saved.
 */
#ifndef HEADROOM_HOOK_H
#define HEADROOM_HOOK_H

#include "base/base.h"
#include "wire/spans.h"

enum {
    HOOK_SLOTS = 32768, /* activations at a time in a process; more are let pass unseen */
    HOOK_STUB_BYTES = 64,
    HOOK_SLOT_BYTES = 16, /* of code */
    HOOK_STACK_BYTES = 64 * 1024,
};

struct hook_thread;

/* What the agent does for this room; all run as due work, in the thread. */
struct hook_agent {
    /* Node of the calling context of a function entered with these registers (ip: its return address), and the thread's
       number in the log. 0: none. */
    uint32_t (*stack)(const struct base_registers *caller, uint32_t *thread);
    /* Maps `bytes` of the region's file at `offset`, shared. NULL: cannot. */
    void *(*map)(uint64_t offset, uint64_t bytes);
    /* There is a new module around this address: hook its imports. */
    void (*module)(uint64_t address);
    const _Atomic uint32_t *stopping; /* set by headroom: nothing more is observed, anywhere */
};

/* ---- process ---------------------------------------------------------------------------------- */

/* Once, before anything is hooked; region is mapped as far as its header goes. process: the number in the log.
   False: no memory. */
bool hook_begin(struct spans_region *region, const struct hook_agent *agent, uint32_t pid,
                uint32_t process);
/* In the child of fork, by the thread that lives on. */
void hook_after_fork(uint32_t pid, uint32_t process);
/* From now on calls pass unseen, and nothing here makes a system call any more. Any context. */
void hook_stop(void);
/* What headroom may see of it is complete. */
void hook_publish(void);
/* The process's piece; NULL: not begun. Any context. */
struct spans_process *hook_process(void);
/* Address of the stub for function k. */
uint64_t hook_stub(uint32_t k);
/* Where function k goes on. */
void hook_set_target(uint32_t k, uint64_t target);
uint64_t hook_target(uint32_t k);
/* An int3 at `address` is headroom's: where to go on; 0: not ours. Any context. */
uint64_t hook_trap(uint64_t address);
/* SIGTRAP will really be blocked in a thread: waits until no int3 of headroom's is there, and there will be none. Any
   context. */
void hook_blocks_traps(void);
/* Is ip a slot's return address? Then *to is the true one. Any context. */
bool hook_translate(uint64_t ip, uint64_t *to);

/* ---- threads ------------------------------------------------------------------------------------ */

/* The calling thread is observed from now on. Normal context. */
void hook_thread_begin(uint32_t tid);
/* Its figures are complete; what is still active in it goes on unseen. */
void hook_thread_end(void);
/* The process ends by exit: notes the CPU time of all threads that are there. Any context. */
void hook_exit(void);

#endif
