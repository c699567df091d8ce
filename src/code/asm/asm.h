// SPDX-License-Identifier: MIT
/*
 * asm: a compiler's assembler output (GNU as, AT&T syntax, x86-64; of gcc, g++, gfortran, clang): statements,
 * sections, functions with their split-off parts, control flow, liveness of registers and flags, the
 * stack pointer's place; edits; printing.
 *
 * The text gives the structure, the bytes the meaning: the caller assembles what asm_print_labelled prints and
 * hands over the object; every instruction is then decoded by isa. What was not edited prints as it
 * was read, byte for byte.
 *
 * Host side, pure but for memory; one thread at a time for a file. The text stays the caller's, all else is the file's
 * until asm_free. Statements, blocks, edges and the like are indices into its arrays. Text is hostile input: anything parses, into functions with a `problem` if
 * need be.
 */
#ifndef HEADROOM_ASM_H
#define HEADROOM_ASM_H

#include "base/base.h"
#include "isa/isa.h"

#include <stdio.h>

#define ASM_NONE UINT32_MAX

/* ---- statements ------------------------------------------------------------------------------- */

enum asm_kind {
    ASM_EMPTY,     /* blank, comment */
    ASM_LABEL,     /* "name:"; name in `name` */
    ASM_DIRECTIVE, /* ".name operands"; also assignments */
    ASM_INSTRUCTION,
    ASM_INLINE, /* one whole #APP ... #NO_APP region of inline assembly, opaque */
};

struct asm_slice {
    const char *text; /* into the file's text; not terminated */
    uint32_t bytes;
};

bool asm_is(struct asm_slice slice, const char *text);
bool asm_same(struct asm_slice left, struct asm_slice right);
bool asm_begins(struct asm_slice slice, const char *text);
/* letters of any case; text is lower case */
bool asm_holds(struct asm_slice slice, const char *text);

static inline bool asm_symbol_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || (unsigned char)c >= 0x80;
}

/* The next symbol in *rest, without registers, numbers and what stands behind @; advances. */
bool asm_next_symbol(struct asm_slice *rest, struct asm_slice *symbol);

struct asm_statement {
    struct asm_slice text;     /* all of it, with the separator behind it */
    struct asm_slice name;     /* label, directive with its dot, mnemonic (prefixes skipped) */
    struct asm_slice operands; /* trimmed, without comment */
    uint8_t kind;              /* enum asm_kind */
    uint32_t line;             /* of the file, from 1 */
    uint32_t section;          /* index into sections */
    uint32_t function;         /* ASM_NONE: in none */
    /* decoded: INSTRUCTION 1 (0 if it assembles to none), INLINE any */
    uint32_t insns, insns_count;
};

static inline bool asm_is_code(const struct asm_statement *statement)
{
    return statement->kind == ASM_INSTRUCTION || statement->kind == ASM_INLINE;
}

struct asm_section {
    struct asm_slice name, flags, type; /* flags as written, "" for .text, .data, .bss */
    struct asm_slice group;             /* comdat group, "" if none */
    bool code;                          /* flags have x, or .text */
    uint32_t directive;                 /* statement that first named it; ASM_NONE: implied .text */
};

/* What one instruction does to registers; sub-registers count as the whole one. */
struct asm_insn {
    struct isa_insn isa;
    /* general registers, bit enum base_register; a partial write (8, 16 bits)
       also reads */
    uint32_t reads, writes;
    bool reads_flags;  /* any of CF PF AF ZF SF OF */
    bool writes_flags; /* changes some */
    bool kills_flags;  /* all six are written or undefined after it */
};

/* ---- functions ---------------------------------------------------------------------------------- */

enum asm_edge_kind {
    ASM_FALL,  /* into the next block, or a branch not taken */
    ASM_TAKEN, /* conditional branch */
    ASM_JUMP,
    ASM_TABLE,      /* indirect jump through a table; one edge for each (jump, target) */
    ASM_GOTO,       /* computed goto; cannot be edited on the edge: see asm_targets */
    ASM_RETURN,     /* to == ASM_NONE from here on */
    ASM_TAIL,       /* jump to another function, direct or indirect */
    ASM_TAIL_TAKEN, /* conditional branch to another function */
    ASM_STOP,       /* call that does not return, trap: nothing behind it */
};

struct asm_edge {
    uint32_t from, to;  /* blocks */
    uint8_t kind;       /* enum asm_edge_kind */
    uint32_t statement; /* the jump, return or call; FALL: the last of the block */
    /* TABLE: statements (.long, .quad) that name the target, file->table_entries[first ...]. Each names it as
       its first symbol, and belongs to this edge alone (else the edges are ASM_GOTO). */
    uint32_t first_entry, entries;
};

enum asm_block_flags {
    ASM_BLOCK_LANDING = 1, /* landing pad of exceptions */
    ASM_BLOCK_GOTO = 2,    /* its label's address is taken: target of computed gotos */
    ASM_BLOCK_SETJMP = 4,  /* behind a call that may return twice */
    ASM_BLOCK_CALLS = 8,
    ASM_BLOCK_COLD = 16,    /* in a split-off part */
    ASM_BLOCK_INLINE = 32,  /* holds inline assembly */
    ASM_BLOCK_REACHED = 64, /* from the entry or a landing pad */
};

/* Calls end blocks only if they do not return or may return twice. */
struct asm_block {
    /* statements of kind INSTRUCTION or INLINE: first and last; in between there
       may be any others of the same section */
    uint32_t first, last;
    uint32_t label; /* statement before which control arrives from elsewhere (first of its
                                labels), or `first` */
    uint32_t flags; /* enum asm_block_flags */
    /* file->edges[first_edge ...], in order FALL, TAKEN, JUMP, TABLE... */
    uint32_t first_edge, edges;
};

enum asm_function_flags {
    ASM_GLOBAL = 1,
    ASM_CFI = 2,  /* has .cfi_ directives */
    ASM_LEAF = 4, /* no call at all, tail calls aside */
    ASM_SETJMP = 8,
    ASM_ENDBR = 16,         /* begins with endbr64 */
    ASM_VARIADIC = 32,      /* rax (al) is live on entry */
    ASM_FRAME_ADDRESS = 64, /* rbp is a frame pointer somewhere */
};

enum asm_problem {
    ASM_FINE,
    ASM_PROBLEM_INDIRECT, /* an indirect jump that may go within, but where is not known */
    /* inline assembly with jumps, labels used outside, section changes with code */
    ASM_PROBLEM_INLINE,
    ASM_PROBLEM_UNDECODED,
    ASM_PROBLEM_LARGE,
    ASM_PROBLEM_JUMP_OUT, /* jumps into the middle of another function */
    ASM_PROBLEM_STRAY,    /* code in no function, not ended by .size, overlapping */
};

struct asm_function {
    struct asm_slice name;
    uint32_t first, end;           /* statements of its main part, from the label's on */
    uint32_t cold_first, cold_end; /* of its .cold part; ASM_NONE: none */
    uint32_t section;              /* of the main part */
    uint32_t flags;                /* enum asm_function_flags */
    uint32_t problem;              /* enum asm_problem; if not FINE there are no blocks */
    /* file->blocks[first_block ...]; block 0 of it is the entry; numbers in
       edges count from the function's first */
    uint32_t first_block, blocks;
    uint32_t entry; /* statement before which code that runs on every entry goes: behind the
                                    label, .cfi_startproc, endbr64, patchable nops */
    uint32_t inline_insns;
};

struct asm_file {
    struct asm_slice text;
    struct asm_statement *statements;
    struct asm_section *sections;
    struct asm_function *functions;
    struct asm_block *blocks;
    struct asm_edge *edges;
    struct asm_insn *insns;
    uint32_t *table_entries;
    uint32_t statements_count, sections_count, functions_count, blocks_count, edges_count,
        insns_count;
    bool intel_syntax, lto; /* cannot be handled: no functions */
    struct asm_private *private;
};

/* text must live as long as the file. BASE_NO_MEMORY, BASE_UNSUPPORTED (over 2 GiB). */
enum base_status asm_parse(const char *text, size_t bytes, struct asm_file **file);

/* The text with a label before every statement that may be an instruction, for asm_decode. */
void asm_print_labelled(const struct asm_file *file, FILE *out);

/*
 * Reads the object that the labelled text was assembled to, decodes all instructions and finds functions' blocks and
 * edges. BASE_MALFORMED: the object does not fit the text.
 */
enum base_status asm_decode(struct asm_file *file, const uint8_t *object, size_t bytes);

void asm_free(struct asm_file *file); /* NULL does nothing */

/* Statements outside of blocks that name the label of a GOTO block or landing pad other than by jumps: data, lea,
   exception tables. Replacing the name there sends control elsewhere. count: how many of `room` there are. */
uint32_t asm_references(const struct asm_file *file, struct asm_slice label, uint32_t *statements,
                        uint32_t room);

/* ---- analyses ------------------------------------------------------------------------------------- */

struct asm_live {
    uint32_t registers; /* live general registers, bit enum base_register */
    bool flags;
};

/* What is live before each statement of the function: live[statement - ...]; indexed by asm_index. Calls read argument
   registers, al, r10 and, if indirect, their operands, and kill the caller-saved ones; returns read
   rax, rdx, the callee-saved ones; tail calls arguments, rax, r10. Inline assembly by its decoded bytes, all if unsure.
   Landing pads: rax, rdx arrive written. BASE_NO_MEMORY. Free with free(). */
enum base_status asm_liveness(const struct asm_file *file, uint32_t function,
                              struct asm_live **live);

/* Where the stack is, before each statement: distances below the stack pointer on entry. */
enum { ASM_UNKNOWN = INT32_MIN };
struct asm_stack {
    int32_t rsp, rbp; /* entry's rsp - register, in bytes, >= 0 for rsp; ASM_UNKNOWN */
};

/* Joins must agree, else unknown. Landing pads and blocks that only exceptions reach have what the calls that lead
   there have: rsp by .cfi or, with rbp known, by it. BASE_NO_MEMORY. Free with free(). */
enum base_status asm_stack_depths(const struct asm_file *file, uint32_t function,
                                  struct asm_stack **stack);

/* Index into the two arrays above: statements of the main part, then of the cold one. */
static inline uint32_t asm_index(const struct asm_function *function, uint32_t statement)
{
    return statement >= function->first && statement < function->end
               ? statement - function->first
               : statement - function->cold_first + (function->end - function->first);
}

/* How many statements both parts have. */
static inline uint32_t asm_index_count(const struct asm_function *function)
{
    uint32_t cold =
        function->cold_first == ASM_NONE ? 0 : function->cold_end - function->cold_first;
    return function->end - function->first + cold;
}

/* ---- edits ------------------------------------------------------------------------------------------- */

/*
 * Text is copied; it should end in a newline. Several insertions before one statement print in the order of
 * the calls. false: no memory.
 */
bool asm_insert_before(struct asm_file *file, uint32_t statement, const char *text);
bool asm_insert_after(struct asm_file *file, uint32_t statement, const char *text);
/* the last one counts */
bool asm_replace(struct asm_file *file, uint32_t statement, const char *text);
bool asm_append(struct asm_file *file, const char *text); /* at the end of the file */

/* The text with its edits. Without edits exactly the text that was parsed. */
void asm_print(const struct asm_file *file, FILE *out);

#endif
