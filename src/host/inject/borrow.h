// SPDX-License-Identifier: MIT
/*
 * A thread of the program is borrowed for a moment: stopped, led to an address, made to execute code that was placed in its
 * process, and given back with every register, vector registers, flags and signal mask included, as they were. All from outside, by
 * ptrace and the processor's debug registers: nothing in the program's own code is changed. Debug registers are armed by
 * perf_event_open, and disarmed by the kernel should headroom be killed.
 *
 * While placed code runs no signal can be delivered in it: those that can be blocked are, and wait for the thread to be given
 * back; a fault in it is kept from the program. Stop signals and execve end the loan. Should headroom be killed in between, the
 * thread goes on in the placed code, which has to end in an address that the agent knows.
 *
 * A thread belongs to the thread of headroom that has borrowed it, until it is given back.
 */
#ifndef HEADROOM_INJECT_BORROW_H
#define HEADROOM_INJECT_BORROW_H

#include "base/base.h"

#include <sys/types.h>
#include <sys/user.h>

enum { INJECT_STATE_BYTES = 16384 /* WIRE_CLONE_VECTORS */, INJECT_STOPS_MAX = 4 };

struct inject_loan {
    pid_t pid, tid,
        program; /* program: headroom's child, which another thread of headroom waits for */
    struct user_regs_struct
        registers; /* where it is; general registers are the caller's to change between calls */
    uint64_t mask;
    int held;               /* a signal that came meanwhile; delivered when it is given back */
    bool informed;          /* with this: */
    uint8_t held_info[128]; /* siginfo_t */
    int refused;            /* errno: it cannot be traced; 0: it can */
    bool gone;              /* it has ended, or does not stop: nothing can be done any more */
    bool stopped; /* by a stop signal, or it executes another program: to be given back at once */
    int unarmed; /* errno: not all debug registers that were needed last could be armed; 0: they could */
    unsigned armed; /* events that are open, each of a debug register */
    int events[INJECT_STOPS_MAX];
    uint64_t
        cpu_ns; /* of the thread, that the last inject_borrow_execute took: to stop and go on, too, but not what it waited for a
                        processor */
};

/*
 * Stops a thread that computes. False: it waits in the kernel, is traced by another, ignores signals that code could raise, or
 * is gone: it was not disturbed, or is again as it was.
 */
bool inject_borrow(struct inject_loan *loan, pid_t program, pid_t pid, pid_t tid);

/*
 * Lets it go on by itself until it is about to execute one of the addresses (at most INJECT_STOPS_MAX). A signal
 * is delivered, and ends the wait. False: it did not within that time; it is stopped anywhere, or gone.
 */
bool inject_borrow_until(struct inject_loan *loan, const uint64_t *addresses, unsigned count,
                         uint64_t limit_ns);

enum inject_executed {
    INJECT_EXECUTED, /* it has come to the end */
    INJECT_CUT,      /* the time was over: it is somewhere in between */
    INJECT_FAULTED,  /* a signal of a fault, which was discarded; it is at the instruction */
    INJECT_LOST,     /* gone, or stopped by a signal */
};

/* Executes from where registers.rip is, until the int3 at `end`, with registers as they are in the loan. */
enum inject_executed inject_borrow_execute(struct inject_loan *loan, uint64_t end,
                                           uint64_t limit_ns);

/* Bytes in place of others in the program's code. */
enum { INJECT_PATCH_BYTES = 5 };
struct inject_patch {
    uint64_t at;
    uint8_t before[INJECT_PATCH_BYTES], after[INJECT_PATCH_BYTES];
};

/*
 * Lets it go on by itself for so long with patches in the code, which lead to placed code in [from, to). It must be the only thread of
 * its process; should it make another, or fork, its time is over: no other ever executes what is patched. Signals are delivered where it is in
 * the program's own code; in placed code its time is over, and the signal held. Afterwards all is as it was before, and it is stopped anywhere.
 * False: it was not let go, or is gone.
 */
bool inject_borrow_patched(struct inject_loan *loan, const struct inject_patch *patches,
                           size_t count, uint64_t from, uint64_t to, uint64_t limit_ns);

/* Is it the only thread of its process? */
bool inject_borrow_alone(const struct inject_loan *loan);

/* One instruction, of code from which inject_borrow_execute has come back. CUT: it was executed. */
enum inject_executed inject_borrow_step(struct inject_loan *loan);

/* Everything that registers hold. */
struct inject_state {
    struct user_regs_struct registers;
    size_t bytes;
    _Alignas(64) uint8_t vectors[INJECT_STATE_BYTES];
};
bool inject_borrow_save(struct inject_loan *loan, struct inject_state *state);
bool inject_borrow_restore(struct inject_loan *loan, const struct inject_state *state);

/* Of the process, whatever its protection (memory that is not its own file's stays so). */
bool inject_borrow_read(const struct inject_loan *loan, uint64_t address, void *out, size_t bytes);
bool inject_borrow_write(const struct inject_loan *loan, uint64_t address, const void *bytes,
                         size_t count);

/* Where it is to go on: loan->registers, which the caller has changed. */
bool inject_borrow_move(struct inject_loan *loan);

/* A mapping of a file, or of the anonymous file of that name. */
struct inject_part {
    uint64_t start, bytes, offset;
    bool named, executable;
};
enum { INJECT_PARTS_MAX = 8 };
size_t inject_borrow_parts(const struct inject_loan *loan, const char *path, const char *name,
                           struct inject_part parts[INJECT_PARTS_MAX]);

/* It goes on by itself. */
void inject_give_back(struct inject_loan *loan);

#endif
