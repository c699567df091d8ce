// SPDX-License-Identifier: MIT
/* Private to hook: activations, a thread's state, and what entry.S and C must agree upon. */
#ifndef HEADROOM_HOOK_INTERNAL_H
#define HEADROOM_HOOK_INTERNAL_H

#include "fold/fold.h"
#include "hook/hook.h"
#include "os/switches.h"

enum slot_state {
    SLOT_FREE,
    SLOT_ACTIVE, /* in the thread's chain */
    SLOT_ENDING, /* the same, and its end waits for due work */
    SLOT_LIMBO,  /* was skipped, or lies on another stack: its return address may still be in use */
    SLOT_DONE,   /* in limbo, but has returned since */
};

/* What an activation is, in one word. */
union slot_kind {
    struct {
        uint32_t function;
        uint8_t state;      /* enum slot_state */
        uint8_t open_ended; /* no return address taken: marker, -finstrument-functions */
        uint8_t switched;   /* the four counts of switches are valid */
        uint8_t noted;      /* the arguments are; or WARMING: it is not counted */
    };
    uint64_t word;
};

/* One activation. entry.S knows its size, it and the slots' unwind entry the first two members. */
struct slot {
    _Alignas(64) uint64_t target; /* the slot's code calls it */
    uint64_t ra;                  /* the return address that it took away */
    uint64_t start;               /* ticks */
    uint64_t sp;                  /* address of the return address */
    struct slot *parent;          /* in the chain; or next in the free list or in limbo */
    uint64_t key;
    union slot_kind kind;
    uint32_t runs;     /* of equal children */
    uint32_t children; /* all; the others about children are valid if there are any */
    uint64_t argument[3];
    uint64_t within; /* ticks in spans called */
    uint64_t end;    /* ENDING: ticks */
    uint64_t code;   /* address of the slot's code */
    struct hook_thread *owner;
    uint64_t shape;                     /* of all children but the last */
    uint64_t last_shape;                /* the last child ... */
    uint32_t last_function, last_count; /* ... and how often in a row */
    uint64_t switches[4];               /* ticks asleep, preempted; times asleep, preempted */
    uint64_t asleep_within;             /* of the first, in spans called; valid like switches */
    struct spans_child child[SPANS_CHILDREN];
};

/* What a thread knows of a function. */
struct hook_function {
    uint32_t every;                   /* 0: not looked up yet */
    uint32_t spans;                   /* that it has in this thread */
    uint32_t window;                  /* events since the costs were looked at */
    uint32_t burst;                   /* executions until the next pause, if every > 1 */
    uint8_t class, key, key_argument; /* as in the region */
    struct spans_span *last;          /* met last */
    struct spans_span *rest;
};

/* In place of a return address that was not taken: how to find the caller. */
enum caller { CALLER_MARKER, CALLER_FRAME };

enum { NOTED = 1, WARMING = 2 }; /* slot_kind.noted */

/* Both clocks at one time; ticks in a nanosecond, with ten bits behind the point. */
struct hook_clocks {
    uint64_t ticks, ns, rate;
};

enum due { DUE_BEGIN = 1, DUE_STACK = 2, DUE_COST = 4, DUE_MODULES = 8, DUE_SWITCHES = 16 };

enum {
    INDEX_CELLS = 4 * SPANS_OF_THREAD,
    LOOK_PERIOD = 256, /* executions between looks around */
    COST_PERIOD = 8192,
    TRUNK_CHILDREN = 64,
    FOLD_BEGINNING = 16384, /* events: sequences are looked for in all of these, */
    FOLD_PERIOD = 8192,     /* and then in the first */
    FOLD_PART = 512,        /* so many of each so many */
};

struct hook_thread {
    unsigned char *stack_top; /* offset 0: known to entry.S */
    uint64_t busy;    /* offset 8: stack pointer with which this room was entered; 0: it is not.
                                   Meanwhile signals' handlers pass unseen */
    uint32_t due;     /* offset 16: enum due */
    struct slot *top; /* innermost activation */
    struct slot *free, *limbo;
    struct slot *trunk; /* activation whose children are folded; NULL: the thread itself */
    uint32_t limbo_count, limbo_kept; /* kept: were in use when last looked at */
    uint32_t starved;
    uint32_t tid;
    bool refused;              /* no piece could be had */
    struct hook_clocks clocks; /* read not long ago */
    struct switches ring;
    uint64_t ring_seen;     /* its end when it was last read */
    uint64_t ring_position; /* of what was not read: in the child of a vfork its parent's last
                                   interval has no end */
    uint64_t switches[4];   /* of the thread, as in a slot */
    struct slot *ending;    /* DUE_SWITCHES at its end; else NULL */
    uint64_t checked;       /* ticks when the costs were looked at */
    uint64_t cost;          /* ticks that recording one execution takes, smoothed */
    uint64_t measuring;     /* 1: the next one; more: when it was entered */
    uint64_t random;
    uint32_t quiet; /* executions until the thread is looked at as a whole */
    bool folding;   /* siblings are folded now */
    struct spans_thread *piece;
    struct spans_span *stack_span; /* DUE_STACK */
    uint64_t stack_ticks;
    struct base_registers caller; /* DUE_STACK: the caller's */
    struct hook_thread *next;     /* free ones */
    struct hook_thread *made;     /* the state that was made before this one */
    uint64_t
        cpu_begun_ns; /* CPU time of the thread when it began here: before an exec it had some */
    struct fold *fold;
    uint32_t sequence_span[FOLD_SEQUENCES]; /* index + 1 */
    uint16_t index[INDEX_CELLS];            /* span + 1 by hash */
    int32_t countdown[SPANS_FUNCTIONS];     /* hook_countdown */
    struct hook_function function[SPANS_FUNCTIONS];
    _Alignas(64) unsigned char stack[HOOK_STACK_BYTES];
};

/* As entry.S pushes it. */
struct hook_frame {
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
    uint64_t number; /* enter: of the function; leave: the slot's return address */
    uint64_t ra;     /* enter only */
};

/* The same for due work, pushed before the above is popped. */
struct hook_saved {
    uint64_t r15, r14, r13, r12, rbp, rbx;
};

struct hook_state {
    struct spans_region *region;
    struct spans_process *process;
    struct hook_agent agent;
    uint32_t pid, number;
    uint64_t cost;                 /* ticks that recording one execution takes */
    _Atomic uint32_t modules_seen; /* of spans_process.new_modules */
    _Atomic bool stopped;          /* by hook_stop */
};

/*
 * Are executions looked at? Zero in the child of any fork until hook_after_fork, for what other
 * libraries call before that, and for good where it is not called (_Fork, a bare system call):
 * the thread's figures are its parent's there, and its ring of switches is not mapped. A page of its
 * own, which the kernel clears (MADV_WIPEONFORK).
 */
union hook_observing {
    _Atomic bool on;
    _Alignas(SPANS_PAGE) unsigned char page[SPANS_PAGE];
};
#pragma GCC visibility push(hidden) /* reached directly, not through a table of addresses */
extern struct hook_state hook;
extern union hook_observing hook_observing;
extern __thread struct hook_thread *hook_self;
/* Of each function, how many executions pass until the next one that is looked at: the thread's own, or what all threads
   share that are not observed. A pointer, because room for static thread-local storage is scarce: a few hundred bytes
   are all that ld.so keeps where auditors or plugins are loaded. */
extern __thread int32_t *hook_countdown;
extern int32_t hook_unobserved[SPANS_FUNCTIONS];
extern struct slot hook_slot[HOOK_SLOTS];
extern uint64_t hook_targets[SPANS_FUNCTIONS];
extern const unsigned char hook_stubs[], hook_slots[], hook_slots_end[];
#pragma GCC visibility pop

/*
 * What is not on the usual way keeps all registers itself, so that the usual way need not.
 */
#define SLOW __attribute__((noinline, no_caller_saved_registers))

/* entry.S calls these. enter: where to go on: a slot's code, or 0: frame->number is the address, the activation is not
   seen; 1: due work first, then once more. leave: the return address; due work if hook_self->due;
   or 0: due work first, then once more. */
uint64_t hook_enter_c(struct hook_frame *frame);
uint64_t hook_leave_c(struct hook_frame *frame);
void hook_marker_begin_c(uint64_t first, uint64_t key, uint64_t sp, uint64_t k);
void hook_marker_end_c(uint64_t first, uint64_t key, uint64_t sp, uint64_t k);
void hook_called_enter_c(uint64_t function, uint64_t site, uint64_t sp);
void hook_called_leave_c(uint64_t function, uint64_t site, uint64_t sp);
void hook_due_c(const struct hook_saved *saved);

/* slots.c */
/* The first of the free list, which is empty now; NULL: there are no more. */
SLOW struct slot *slot_find(struct hook_thread *self);
static inline void slot_give(struct hook_thread *self, struct slot *slot)
{
    slot->kind.word = SLOT_FREE;
    slot->parent = self->free;
    self->free = slot;
}
/* Activations that were skipped on the way to an address on the stack leave the chain. */
SLOW void slot_skip(struct hook_thread *self, uint64_t sp);
SLOW void slot_replace(struct hook_thread *self, uint64_t sp, uint64_t ra);
void slots_release(struct hook_thread *self);
void slots_after_fork(void);

/* span.c */
SLOW struct spans_span *span_find(struct hook_thread *self, uint32_t function, uint64_t key,
                                  uint64_t shape, const struct slot *slot);
void span_sequence(void *self, uint32_t sequence, uint64_t start, uint64_t end);
SLOW void span_child(struct slot *parent, uint32_t function, uint64_t shape);
SLOW uint64_t span_shape(struct slot *slot);

/* thread.c */
bool thread_piece(struct hook_thread *self);
/* Notes the CPU time of the calling thread. */
void thread_note_cpu(struct hook_thread *self);
void thread_costs(struct hook_thread *self);

#define HOOK_TICKS() __builtin_ia32_rdtsc()

#endif
