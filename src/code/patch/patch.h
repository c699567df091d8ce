// SPDX-License-Identifier: MIT
/*
 * patch: how functions of a module can be hooked, worked out from its file alone: which functions
 * there are, what has been prepared for hooks, for each function the instructions that a jump at
 * its entry overwrites and their copy for another address, or the reason why it must be left alone;
 * and what library functions mean.
 *
 * Nothing here touches a process: who does (launch) adds the bias of the mapping to each vaddr.
 *
 * Addresses are ELF virtual addresses ("vaddr") of the module unless they are called run-time
 * addresses; run-time = vaddr + bias. Files are hostile input: every failure is a status or a
 * refusal. A struct patch_module is not for parallel use; what it gives out lives as long as it
 * does and does not change.
 */
#ifndef HEADROOM_PATCH_H
#define HEADROOM_PATCH_H

#include "base/base.h"
#include "wire/spans.h"

/* ---- modules --------------------------------------------------------------------------------- */

struct patch_module;

/*
 * Opens an ELF file. Symbols come from its own tables and from its separate debug file, if one is
 * installed; functions of stripped files from call frame information. BASE_NOT_FOUND, BASE_DENIED,
 * BASE_IO; BASE_MALFORMED (not ELF), BASE_UNSUPPORTED (not x86-64, no decoder), BASE_NO_MEMORY.
 * Cheap beside planning: no code is looked at.
 */
enum base_status patch_module_open(const char *path, struct patch_module **module);
void patch_module_close(struct patch_module *module); /* NULL does nothing */

/*
 * vaddr of the byte at an offset of the file, as /proc/PID/maps gives it for an executable mapping: one from `start`
 * on with `offset` is loaded with the bias start - vaddr. False: no segment loads it. (Linkers let segments share a page
 * of the file, which is then mapped twice: here it is the executable segment's. For other mappings take the bias of that.)
 */
bool patch_module_vaddr(const struct patch_module *module, uint64_t offset, uint64_t *vaddr);

/* The vaddr of the module's section of that name and its bytes. False: it has none. */
bool patch_module_section(const struct patch_module *module, const char *name, uint64_t *vaddr,
                          uint64_t *bytes);

/* The module calls __cyg_profile_func_enter: it was built with -finstrument-functions. */
bool patch_module_calls_profile(const struct patch_module *module);

/* ---- functions ------------------------------------------------------------------------------- */

enum patch_function_kind {
    PATCH_FUNCTION, /* a symbol of type FUNC */
    PATCH_RESOLVER, /* GNU_IFUNC: what is at the address chooses the function */
    PATCH_LABEL,    /* a symbol without type, outside of all functions */
    PATCH_UNNAMED,  /* known by call frame information alone; name is "" */
};

struct patch_function {
    uint64_t vaddr, bytes; /* of its code; bytes > 0 */
    const char *name; /* linkage name, without a symbol version; of aliases the best known one */
    uint32_t aliases; /* further names at the same address */
    uint8_t kind;     /* enum patch_function_kind */
    bool prepared;    /* there is a struct patch_prepared of it */
    bool called; /* call frame information says that it is entered by call; false if nothing is said
                  */
    bool entered_otherwise; /* it says that control comes with other things on the stack: a
                               split-off part */
};

/* Why none of its functions may be hooked: its run-time walks stacks by itself; NULL: they may. Static. */
const char *patch_foreign(const struct patch_module *module);

/* All functions by vaddr, each address once; numbers 0 .. count - 1 (asserted). Stubs of procedure
 * linkage tables are none. */
size_t patch_functions(const struct patch_module *module);
const struct patch_function *patch_function(const struct patch_module *module, size_t number);

/* Number of the function that holds an address (its first byte or any other); PATCH_NONE. */
#define PATCH_NONE SIZE_MAX
size_t patch_function_at(const struct patch_module *module, uint64_t vaddr);

/* Number of the function that has this linkage name, aliases included; PATCH_NONE. Of several local
 * ones the first. */
size_t patch_function_named(const struct patch_module *module, const char *linkage);

/*
 * The first function from number `from` on one of whose names fits the pattern (fnmatch(3) without
 * flags: * goes over everything): its linkage name, an alias's, the demangled name without
 * parameters ("ns::f", "ns::C::operator+") or with them ("ns::f(int)"). PATCH_NONE: no more.
 */
size_t patch_next_match(const struct patch_module *module, const char *pattern, size_t from);

/* What people call it: demangled, without parameters; the linkage name if that is not mangled;
 * never NULL. */
const char *patch_readable(struct patch_module *module, size_t number);

/* Its bytes as the file has them; fewer than patch_function.bytes if the file is cut. */
const uint8_t *patch_text(const struct patch_module *module, size_t number, size_t *bytes);

/*
 * The first function from number `from` on that calls a library function of that class (see struct patch_known) by its
 * name; calls through pointers are not seen. PATCH_NONE: no more. Looks through the code of all functions on the way.
 */
size_t patch_next_caller(const struct patch_module *module, enum spans_class class, size_t from);

/* ---- what has been prepared ------------------------------------------------------------------ */

enum patch_prepared_kind {
    PATCH_BY_HEADROOM, /* section headroom_functions: headroom cc --functions */
    PATCH_BY_COMPILER, /* section __patchable_function_entries */
};

/* Nops at a function's entry, at least PATCH_JUMP_BYTES, behind endbr64. */
struct patch_prepared {
    uint64_t function; /* vaddr of its first byte */
    uint64_t site;     /* of the first nop */
    uint32_t bytes;    /* of nops */
    uint8_t kind;      /* enum patch_prepared_kind */
    bool single;       /* the first five bytes are one instruction */
};

/* By function, each once. Entries that are damaged or do not lead to nops are left out. */
size_t patch_prepared(const struct patch_module *module);
const struct patch_prepared *patch_prepared_entry(const struct patch_module *module, size_t number);

/*
 * The section headroom_functions has entries of two 32-bit words: site - own address, function -
 * own address (each relative to the word it stands in). The section headroom_markers: site - own
 * address, name - own address (NUL-terminated string), kind, reserved. A site is the five-byte nop
 * 0f 1f 44 00 00.
 */
enum patch_marker_kind { PATCH_MARKER_BEGIN = 1, PATCH_MARKER_END };

struct patch_marker {
    uint64_t site; /* vaddr */
    const char *name;
    uint32_t kind; /* enum patch_marker_kind */
};

/* By site. */
size_t patch_markers(const struct patch_module *module);
const struct patch_marker *patch_marker(const struct patch_module *module, size_t number);

/* ---- plans ----------------------------------------------------------------------------------- */

enum {
    PATCH_JUMP_BYTES = 5,
    PATCH_WINDOW_MAX = 4 + 15, /* four bytes, then the longest instruction */
    PATCH_COPY_MAX = 96,       /* of a prologue: five instructions at most, widened, and a jump */
    PATCH_BRIDGE_BYTES = 16,
    PATCH_MARKER_BYTES = 48,
    PATCH_SITE_BYTES = PATCH_COPY_MAX + 64,
};

/* Why a function is left alone. */
enum patch_refusal {
    PATCH_FITS,
    PATCH_UNKNOWN_FUNCTION, /* none begins at this address */
    PATCH_NO_CODE,          /* the file does not have its bytes */
    PATCH_SPECIAL, /* by its name: returns twice, looks at its caller, starts threads or programs
                      ... */
    PATCH_IFUNC,   /* a resolver: run once, by the dynamic loader, before anything is ready */
    PATCH_PART,    /* split off from a function (.cold): entered by a jump */
    PATCH_NOT_FUNCTION, /* a label in assembly code that nothing says is called */
    PATCH_FOREIGN,      /* as patch_foreign */
    PATCH_SHORT,        /* less than five bytes, and something else behind it */
    PATCH_UNDECODABLE,  /* in the window or anywhere else in the function */
    PATCH_JUMP_INTO,    /* a jump leads into the window */
    PATCH_TABLE_INTO,   /* a table of jump targets, or a pointer, leads into the window */
    PATCH_LANDING_PAD,  /* an exception handler begins in the window */
    PATCH_LOOP,         /* a jump in the function leads back to its entry: a loop, not a call */
    PATCH_IMMOVABLE,    /* an instruction in the window works at its own place only */
    PATCH_REFUSALS
};

/* A word for tables ("jump into the window"), never NULL. */
const char *patch_refusal_text(enum patch_refusal refusal);

struct patch_plan {
    uint64_t vaddr;       /* of the function */
    uint64_t entry;       /* E: where the jump is put */
    uint8_t window_bytes; /* from E on; only the first PATCH_JUMP_BYTES are to be overwritten */
    uint8_t instructions; /* in the window that can be executed */
    uint8_t copy_bytes;   /* of the prologue, wherever it is put */
    uint8_t kind;         /* enum spans_entry: SPANS_PATCHED or SPANS_PREPARED */
    bool single; /* no thread can be inside of the bytes to be overwritten, only before or behind: a
                    live patch need not wait */
    bool emulates_call; /* the window ends with a call, which the copy does by push and jump: the
                           return address stays that of the program, the processor's prediction of
                           returns suffers */
    uint8_t original[PATCH_WINDOW_MAX]; /* window_bytes of the file: compare before writing */
    uint8_t starts[PATCH_WINDOW_MAX];   /* [i]: offset of instruction i from E */
};

/* Where a plan fails: the first thing met. */
struct patch_reason {
    enum patch_refusal refusal;
    uint64_t at;        /* vaddr of the instruction, jump target or table; 0: none */
    char sentence[160]; /* for people: "a jump at 0x1234 leads into its first five bytes"; "" with
                           PATCH_FITS */
};

/*
 * Plans a jump at the entry of the function that begins at vaddr. True: *plan is filled. False:
 * *reason (may be NULL) says why not, *plan is untouched. The first call for a module looks through
 * all of its code.
 */
bool patch_plan(struct patch_module *module, uint64_t vaddr, struct patch_plan *plan,
                struct patch_reason *reason);

/*
 * Writes the prologue: the instructions of the window and a jump to what is behind it. entry:
 * run-time address of E; at: run-time address where the prologue will be. Writes plan->copy_bytes.
 * False: an operand or a jump cannot reach from there (the area must be within 2 GiB of E and of
 * what the window refers to: mostly, of the module); out is then unspecified.
 */
bool patch_emit_prologue(const struct patch_plan *plan, uint64_t entry, uint64_t at,
                         uint8_t out[PATCH_COPY_MAX]);

/*
 * Places inside a function where a marker is to be put that its source does not have. A *site* is a window as at an entry: instructions
 * that a jump overwrites, and into the middle of which nothing leads.
 *
 * At the start of the block [start, end): the marker is met before its first instruction. At its end: after its last one, and only on one
 * way on, to the next block or where its conditional jump leads; start may lie in blocks before it that lead to nothing else without a
 * jump. As patch_plan.
 */
enum patch_site { PATCH_SITE_START, PATCH_SITE_FALL, PATCH_SITE_TAKEN };

bool patch_plan_site(struct patch_module *module, uint64_t function, uint64_t start, uint64_t end,
                     enum patch_site where, struct patch_plan *plan, struct patch_reason *reason);

/*
 * The code of a site that leads to the marker's handler (wire/spans.h, struct spans_process), with the key 0; registers and flags stay
 * as they are. to: where the way leads that it is on, unless it is at the start; that and entry are run-time addresses. Returns how many of PATCH_SITE_BYTES were written; 0: out of reach.
 */
size_t patch_emit_site(const struct patch_plan *plan, uint64_t entry, enum patch_site where,
                       uint64_t to, uint64_t at, uint32_t number, uint64_t handler,
                       uint8_t out[PATCH_SITE_BYTES]);

/* jmp `to` for run-time address `at`. False: out of reach. */
bool patch_emit_jump(uint64_t at, uint64_t to, uint8_t out[PATCH_JUMP_BYTES]);

/* jmp *0f(%rip); 0: .quad to. Wherever it is put; multiples of 8 are best. */
void patch_emit_bridge(uint64_t to, uint8_t out[PATCH_BRIDGE_BYTES]);

/*
 * The bridge of a marker (wire/spans.h, struct spans_process): calls `handler` (marker_begin,
 * marker_end) with the number pushed and goes on behind the site. site, at: run-time addresses.
 * Writes PATCH_MARKER_BYTES. False: out of reach.
 */
bool patch_emit_marker(uint64_t site, uint64_t at, uint32_t number, uint64_t handler,
                       uint8_t out[PATCH_MARKER_BYTES]);

/* ---- library functions ----------------------------------------------------------------------- */

/* What the name of a library function says. */
struct patch_known {
    const char *name;
    uint8_t class;        /* enum spans_class */
    uint8_t key;          /* enum spans_key */
    uint8_t key_argument; /* 0..5 */
};

/* The whole list, by name (strcmp). */
const struct patch_known *patch_known_all(size_t *count);

/* NULL: not in the list. Symbol versions (name@VERSION) do not matter. */
const struct patch_known *patch_known(const char *name);

/*
 * Must a function of this linkage name be left alone, whether hooked by import or by patch? Those
 * that return twice or never, look at their caller or at their return address, change stacks, or
 * are called in ways of their own. NULL: no; else a clause
 * ("returns twice").
 */
const char *patch_never(const char *name);

/* The same for imports alone: what the agent itself wraps (pthread_create, execve ...) is left to
 * it. */
const char *patch_never_import(const char *name);

#endif
