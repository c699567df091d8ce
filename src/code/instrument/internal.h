// SPDX-License-Identifier: MIT
/*
 * Between the files of the rewriter: one function being instrumented.
 *
 *   instrument.c  functions one after the other, what becomes of each
 *   plan.c        its graph for `numbering`; tables
 *   frame.c       a place of its own for each activation: slots in the stack frame
 *   arguments.c   what such slots move: arguments on the stack
 *   site.c        a place for added code, its registers and slots
 *   emit.c        the added instructions: operations on paths, calling contexts
 *   cycles.c      and those that measure time
 *   place.c       where they go: edges, entries, exits, calls
 *   access.c      where accesses are counted, and how
 *   map.c         headroom_map
 *   entries.c     nops to patch, headroom_functions
 *   gates.c       likewise before innermost loops, headroom_loops
 *
 * Nothing is changed in the file before all of a function has succeeded: edits are kept as a list.
 */
#ifndef HEADROOM_INSTRUMENT_INTERNAL_H
#define HEADROOM_INSTRUMENT_INTERNAL_H

#include "instrument/instrument.h"
#include "numbering/numbering.h"
#include "util/util.h"

/* ---- edits ------------------------------------------------------------------------------------ */

enum edit_kind { EDIT_BEFORE, EDIT_AFTER, EDIT_REPLACE };

struct edit {
    uint32_t statement, kind;
    char *text;
};

/* ---- one function ------------------------------------------------------------------------------ */

/* Where the number of the path that is being executed lives. */
enum storage {
    STORE_NONE,     /* not needed */
    STORE_REGISTER, /* a register that the function does not use, and which no callee touches */
    STORE_SAVED,    /* a register that callees preserve and the function does not use; its caller's
                       value is in a slot */
    STORE_SLOT,     /* in a slot */
};

/* Slots of 8 bytes in the function's own frame, from the bottom. */
enum slot_use {
    SLOT_PATH,
    SLOT_SAVED,
    SLOT_RECORD,
    SLOT_ENTRY,
    SLOT_TIME,
    SLOT_SPILL,
    SLOT_USES = SLOT_SPILL + 8
};

struct work {
    struct asm_file *file;
    const struct instrument_options *options;
    uint32_t number; /* of the function in the file */
    const struct asm_function *function;
    const struct asm_block *blocks;
    struct asm_live *live;
    struct asm_stack *stack;
    bool *cfa_is_stack; /* by asm_index: .cfi_ directives count from rsp there */

    struct numbering_graph graph;
    uint32_t *graph_flags; /* of blocks */
    uint32_t *edge_of;     /* by asm edge of the function: edge of the graph */
    uint32_t *incoming;    /* by block: asm edges into it */
    struct numbering *paths;
    struct numbering_plan plan;
    uint32_t table_kind; /* enum instrumented_table */
    uint32_t cells;
    double potential_log2;
    bool truncated;

    uint32_t storage; /* enum storage */
    int path_register;
    /* general registers that the function's instructions name, or that are live somewhere */
    uint32_t used;
    bool framed;
    uint32_t frame_bytes;
    int32_t slots[SLOT_USES]; /* offset in the frame, -1: none */
    uint32_t spills;          /* slots to be had */
    uint32_t spills_wanted;   /* what the last attempt would have needed */
    bool chained; /* keeps a chain of frame pointers: a copy of the return address goes with it */

    bool counts_here;       /* a path ends in this function: it needs the thread's counters */
    uint32_t call_sites;    /* of the function: slots of its records */
    uint32_t skips;         /* labels behind code that is executed seldom */
    struct util_text stubs; /* code for the end of the main part */
    struct edit *edits;
    uint32_t edits_count;
    size_t edits_capacity;
    bool out_of_memory;
    bool prepared;                /* has a nop to patch */
    uint32_t loops, gated, gates; /* innermost loops; those with gates; gates */
    struct util_text gate_table;
    uint32_t reason; /* enum instrumented_reason: INSTRUMENTED_WHOLE until something is found */
};

#define BIT(number) (UINT32_C(1) << (number))

enum {
    CALLER_SAVED = BIT(BASE_RAX) | BIT(BASE_RCX) | BIT(BASE_RDX) | BIT(BASE_RSI) | BIT(BASE_RDI) |
                   BIT(BASE_R8) | BIT(BASE_R9) | BIT(BASE_R10) | BIT(BASE_R11),
    CALLEE_SAVED = BIT(BASE_RBX) | BIT(BASE_R12) | BIT(BASE_R13) | BIT(BASE_R14) | BIT(BASE_R15)
};

static inline bool has_contexts(const struct work *work)
{
    return work->options->modes & INSTRUMENTED_CONTEXTS;
}
static inline bool has_paths(const struct work *work)
{
    return work->options->modes & INSTRUMENTED_PATHS;
}
/* Does the function have a slot for time? */
static inline bool has_cycles(const struct work *work)
{
    return work->options->modes & INSTRUMENTED_CYCLES && (has_contexts(work) || work->counts_here);
}
/* Cells of a path in an array. */
static inline uint32_t cells_per_path(const struct work *work)
{
    return work->table_kind == INSTRUMENTED_TABLE_ARRAY &&
                   work->options->modes & INSTRUMENTED_CYCLES
               ? 3
               : 1;
}
static inline const struct asm_edge *edges_of(const struct work *work,
                                              const struct asm_block *block)
{
    return work->file->edges + block->first_edge;
}

/* Keeps an edit; takes the text over, which is then empty. */
void work_edit(struct work *work, uint32_t statement, enum edit_kind kind, struct util_text *text);

/* ---- plan.c ---------------------------------------------------------------------------------- */

/* graph, numbering, kind of table, plan. False: no memory, or reason is set. */
bool plan_paths(struct work *work);
/* Operations of a place: a slice of the plan. */
const struct numbering_operation *plan_at(const struct work *work, uint32_t place, uint32_t *count);

/* ---- frame.c ------------------------------------------------------------------------------------ */

/* Chooses where the path's number lives, and whether there is a frame. Call again when spills has changed. */
void frame_choose(struct work *work);
/* Can the frame be added? Sets reason if not. Otherwise, if there is one, keeps the edits that make the rest
   of the function agree with it: stack arguments, .cfi_ directives. */
void frame_adjust(struct work *work);
/* Fills cfa_is_stack. */
void frame_follow_cfi(struct work *work);

/* ---- arguments.c ---------------------------------------------------------------------------------- */

/* Keeps the edits of operands that lie above the function's frame; sets reason where it is not certain which do. */
void arguments_move(struct work *work);

/* ---- site.c ------------------------------------------------------------------------------------ */

/* A point between two instructions of the program, and what may be used there. */
struct site {
    struct work *work;
    struct util_text *out;
    uint32_t dead;    /* registers that may be changed */
    uint32_t busy;    /* of these: in use by added code */
    bool flags;       /* flags are live */
    int32_t rsp, rbp; /* as struct asm_stack */
    bool cfa_is_stack;
    uint32_t spilled[8];
    uint32_t spilled_count;
    int flags_in; /* register with saved flags, -1 */
    bool leaves;  /* nothing of the function is executed behind it */
};

/* What holds before `statement`; out: where the text goes. */
struct site site_before(struct work *work, uint32_t statement, struct util_text *out);
/* Gives spilled registers back. */
void site_end(struct site *site);
/* Code that may be jumped over: registers that it spills are given back where it ends. */
struct site site_branch(const struct site *site);
void site_join(struct site *branch, const struct site *site);

/* A register of that number (claim), or any but those of the set `avoid` (take); spilled if it is live. give: it may be
   used for other things. */
void site_claim(struct site *site, uint32_t number);
uint32_t site_take(struct site *site, uint32_t avoid);
void site_give(struct site *site, uint32_t number);
/* The same before there are slots. On entry nothing stands below the stack pointer yet, and signals leave 128 bytes
   there alone: what is live is kept in them, up to site_give_on_entry, which leaves flags as they are; no call between. */
uint32_t site_take_on_entry(struct site *site);
void site_give_on_entry(struct site *site, uint32_t number);
/* Flags may be changed from here on. */
void site_save_flags(struct site *site);

struct operand {
    char text[40];
};
struct operand site_slot(struct site *site, enum slot_use use);
/* A thread-local word of the runtime's, into a register. */
void site_load_word(struct site *site, const char *name, uint32_t number);
/* A call of the runtime's; changes flags and what the stub says. */
void site_call_runtime(struct site *site, const char *name);

extern const char *const register_names[16];

/* Registers that reading the time takes later, when others are in use. */
static inline uint32_t rdtsc_registers(const struct work *work)
{
    return has_cycles(work) ? BIT(BASE_RAX) | BIT(BASE_RDX) : 0;
}

/* ---- emit.c ------------------------------------------------------------------------------------ */

void emit_operations(struct site *site, uint32_t place);
/* The code on entry, and what a root needs besides its operations. */
void emit_entry(struct site *site);
/* Before a return or tail call: all that undoes the entry. After it: directives. */
void emit_exit(struct site *site);
void emit_after_exit(struct site *site);
/* Before a call. */
void emit_call(struct site *site, uint32_t call_site);

/* ---- cycles.c ----------------------------------------------------------------------------------- */

/* Each does nothing without cycles. A path, or an activation, begins; entry: of the function. */
void cycles_begin(struct site *site, bool entry);
/* It ends, flags being saved: to the two cells behind the one at address(registers), neither rax nor rdx, are
   added its cycles and 1, if it is measured. */
void cycles_end(struct site *site, const char *address, const char *registers);
/* The same, its cycles left in rdx, which is to be given back; 0: not measured. */
void cycles_elapsed(struct site *site);
/* Where one has ended another begins. Flags are saved. */
void cycles_next(struct site *site);
/* An activation ends: adds to its record, unless paths are measured. */
void cycles_end_activation(struct site *site);
/* Before and after a call. */
void cycles_pause(struct site *site);
void cycles_resume(struct site *site);

/* ---- place.c ----------------------------------------------------------------------------------- */

/* Keeps the edits that put all of it into its places; reason is set if some place has none. */
void place_all(struct work *work);
/* Visits the function's call sites in order, with statement and block; returns their number. */
uint32_t place_call_sites(const struct work *work, void (*visit)(void *, uint32_t, uint32_t),
                          void *context);

/* Is it a call, or inline assembly that holds one? */
bool place_is_call(const struct work *work, uint32_t statement);

/* ---- access.c ---------------------------------------------------------------------------------- */

/* Keeps the edits that count accesses. */
void access_place(struct work *work);

/* ---- map.c --------------------------------------------------------------------------------------- */

/* Keep the edits that add labels to the function's code, for its entry to refer to: return addresses before other
   code is added behind calls, blocks after code was added before them. */
void map_label_calls(struct work *work);
void map_label(struct work *work);
/* Appends the function's entry, and its cells, to the file. */
void map_function(struct work *work);
/* A label for the entry to refer to: a shared library cannot have the distance to its own global functions, for which
   others may be put in their places. Once for each function. */
void map_label_function(struct work *work);
/* A .section directive for what goes with the function when the linker drops it. */
void map_section(struct util_text *text, const struct work *work, const char *name,
                 const char *flags, const char *type);

/* Can the branch be led around something? */
bool place_can_invert(const struct asm_statement *branch);
/* Records an edit: `text` is to be executed whenever the branch is taken. */
void place_inverted(struct work *work, uint32_t statement, struct util_text *text);

/* ---- gates.c -------------------------------------------------------------------------------------- */

/* Keeps the edits that put gates before innermost loops, none of which may be added to otherwise. */
void gates_place(struct work *work);
/* Appends their entries, when the edits were made. */
void gates_list(struct work *work);

/* ---- entries.c ----------------------------------------------------------------------------------- */

/* Puts the nop into the file, before anything else is, and appends its entry. The function's label is there or
   follows. */
void entry_prepare(struct work *work);

/* Name of a label of ours in function `number`. */
#define LABEL_FORMAT ".LHR%u_%s%u"

#endif
