// SPDX-License-Identifier: MIT
/*
 * binary: ELF and DWARF of program files, on headroom's side (never inside
 * the observed program). The only room that includes libdw, libelf and the
 * demangler. Files are hostile input: every failure is a status, never an exit.
 */
#ifndef HEADROOM_BINARY_H
#define HEADROOM_BINARY_H

#include "base/base.h"

enum { BINARY_BUILD_ID_BYTES = 32 };

/* ---- what kind of program is this file? ------------------------------------------ */

enum binary_kind {
    BINARY_DYNAMIC,    /* x86-64, dynamically linked against glibc: the agent can observe it */
    BINARY_STATIC,     /* x86-64 without an interpreter */
    BINARY_OTHER_LIBC, /* x86-64 with another interpreter (musl, ...) */
    BINARY_32BIT,      /* i386 or x32 */
    BINARY_OTHER_MACHINE,
    BINARY_SCRIPT, /* "#!": look at the interpreter (given back) */
    BINARY_GO,     /* Go runtime: installs its own signal handling by raw system calls */
    BINARY_SET_ID, /* set-user-ID or set-group-ID to someone else, or file capabilities */
    BINARY_NOT_PROGRAM,
};

/* interpreter (at least 4096 bytes, may be NULL) is filled for BINARY_SCRIPT.
   BASE_NOT_FOUND, BASE_DENIED, BASE_IO if the file cannot be read. */
enum base_status binary_classify(const char *path, enum binary_kind *kind, char *interpreter);

/* ---- unwind tables ---------------------------------------------------------------- */

/*
 * Compiles .eh_frame (or .debug_frame) of the file into the table format of
 * unwind/unwind.h and writes it to descriptor `output` (from offset 0). path
 * "[vdso]" means this process's own vdso. BASE_NOT_FOUND: no unwind information.
 */
enum base_status binary_compile_unwind(const char *path, int output, uint64_t *bytes);

/* ---- symbols ------------------------------------------------------------------------ */

struct binary_options {
    bool debuginfod;        /* ask the servers in DEBUGINFOD_URLS, if it is set; bounded wait */
    const char *debug_root; /* NULL: /usr/lib/debug */
    bool locations;         /* where variables are will be asked for (binary/scopes.h) */
};

/* One source-level frame of a machine address. Strings live as long as the struct binary. */
struct binary_frame {
    const char *function;  /* demangled, without parameters' clutter when C; without a symbol
                              FILE@0xSTART of the function that call frame information
                              describes; NULL if unknown */
    const char *linkage;   /* as in the symbol table, NULL if unknown */
    const char *file;      /* as recorded, made absolute with the compilation directory; NULL */
    uint32_t line, column; /* 0 if unknown */
    uint32_t declared;     /* line of the function's declaration, 0 if unknown */
    bool inlined;          /* this frame was inlined into the next one */
    bool made;             /* it has no symbol: function is FILE@0xSTART */
    bool unoptimized;      /* known to be compiled without optimization */
};

enum binary_detail {
    BINARY_DETAIL_LINES,   /* DWARF: functions, lines, inlining */
    BINARY_DETAIL_SYMBOLS, /* symbol table only */
    BINARY_DETAIL_EXPORTS, /* stripped: exported (dynamic) symbols only */
    BINARY_DETAIL_NONE,
};

struct binary;

/* Opens a module for symbol look-ups. BASE_NOT_FOUND / BASE_MALFORMED / ... */
enum base_status binary_open(const char *path, const struct binary_options *options,
                             struct binary **binary);
void binary_close(struct binary *binary);

enum binary_detail binary_detail(const struct binary *binary);
/* Where debug information came from (path), or NULL. */
const char *binary_debug_file(const struct binary *binary);
/* Of the file itself. */
uint64_t binary_bytes(const struct binary *binary);
/* Bytes of the build-id, 0 if it has none. */
size_t binary_build_id(const struct binary *binary, uint8_t id[BINARY_BUILD_ID_BYTES]);

/*
 * Innermost frame first; frames[count-1] is the function that really exists.
 * vaddr: ELF virtual address. Returns the count (0: nothing known; at most capacity). Only
 * the compilation units that are asked about are read, so programs of
 * Chromium's size take seconds; sort addresses for best speed.
 */
size_t binary_frames(struct binary *binary, uint64_t vaddr, struct binary_frame *frames,
                     size_t capacity);

/*
 * Addresses in [start, end) at which a row of the line table begins, in ascending order, each once: between
 * two of them all instructions are of one line. Returns the count, at most capacity.
 */
size_t binary_rows(struct binary *binary, uint64_t start, uint64_t end, uint64_t *addresses,
                   size_t capacity);

/* Where a section that the program loads is, also one without bytes in the file. BASE_NOT_FOUND. */
enum base_status binary_section(struct binary *binary, const char *name, uint64_t *vaddr,
                                uint64_t *bytes);

/* File bytes at a virtual address (code, for decoding). */
enum base_status binary_read(struct binary *binary, uint64_t vaddr, void *out, size_t bytes);

/* The same as the dynamic loader leaves them for a module that is loaded at its own addresses: pointers
   into the module itself are filled in. */
enum base_status binary_read_loaded(struct binary *binary, uint64_t vaddr, void *out, size_t bytes);

/* Name of the function of another module whose address is kept at vaddr (an entry of the global offset
   table), or NULL. Lives as long as the struct binary. */
const char *binary_import(struct binary *binary, uint64_t vaddr);

/*
 * Range [start, end) of the function that holds an address: by its symbol's size, else, for stripped
 * files, by call frame information. What a compiler split off (foo.cold) is a function of
 * its own. BASE_NOT_FOUND.
 */
enum base_status binary_function(struct binary *binary, uint64_t vaddr, uint64_t *start,
                                 uint64_t *end);

/*
 * The first function that starts at or behind vaddr. name: linkage name of its symbol, "" if it has none; lives as
 * long as the struct binary. In files with a symbol table those without a symbol (stubs of the procedure
 * linkage table) are left out. BASE_NOT_FOUND: there are no more.
 */
enum base_status binary_next_function(struct binary *binary, uint64_t vaddr, uint64_t *start,
                                      uint64_t *end, const char **name);

/* Linkage name of the symbol that starts at vaddr, or NULL. */
const char *binary_symbol(struct binary *binary, uint64_t vaddr);

/* A linkage name as people read it, the caller's; NULL: not mangled, or no memory. Rust's are always without
 * parameters. */
char *binary_demangle(const char *linkage, bool parameters);

/* Does `wanted` name that function? foo also names foo.isra.0, foo.part.1, foo.cold; a demangled name is given whole or without its
 * parameters. */
bool binary_is_named(const char *linkage, const char *wanted);

/* Is this linkage name one of a library's function that never returns (exit, longjmp, what throws)? */
bool binary_never_returns(const char *linkage, size_t bytes);

#endif
