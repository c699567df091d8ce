// SPDX-License-Identifier: MIT
/*
 * currency: can the value of a variable that lies in memory be trusted where a debugger stops? Optimized code may store it later
 * than the source assigns it, or earlier, so that a debugger shows an old value (the variable is stale there), or one too new
 * (premature). Found by data flow over the machine code of one function: which assignments' lines were passed, and which stores
 * were executed, on all paths to a stop point. The question is that of currency determination (Copperman), the classes are those of
 * Adl-Tabatabai and Gross. Their compiler recorded what it moved; here the line table shows it: compilers that keep statement
 * frontiers (gcc since 8) leave a row where a statement begins even if its code was moved or removed.
 *
 * Claims are about paths through this function alone, on which nothing unknown happens in between: a call may store anything, and
 * ends what is pending; a store through a pointer makes it suspect. The value shown may happen to be the right one: the claim is
 * only that it may not be.
 *
 * Host side; pure but for memory, which the number of instructions bounds; code is hostile input. Call cfg_start before.
 */
#ifndef HEADROOM_CURRENCY_H
#define HEADROOM_CURRENCY_H

#include "cfg/cfg.h"

enum { CURRENCY_ASSIGNMENTS_MAX = 500, CURRENCY_STATES_MAX = 48, CURRENCY_NAME_MAX = 128 };

/* ---- what a source file assigns --------------------------------------------------------------------- */

/* A line that does nothing but assign to variables: "name = ...;", "name += ...;", "name++, other = ...;", outside of conditions
   and without calls. Doubtful lines are left out. */
struct currency_assignment {
    uint32_t line;
    char name[CURRENCY_NAME_MAX];
};

/* The assignments of a text in C or C++, by line, one for each variable. visit false ends. */
void currency_read(const char *text, size_t bytes,
                   bool (*visit)(void *context, const struct currency_assignment *assignment),
                   void *context);

/* What of statements a line of a text in C or C++ has. */
enum currency_line {
    CURRENCY_LINE_EMPTY, /* nothing: blanks, comments, braces, a directive; or the text has no such line */
    CURRENCY_LINE_CONTINUES, /* more of a statement or declaration that begins on a line before */
    CURRENCY_LINE_BEGINS
};
enum currency_line currency_line(const char *text, size_t bytes, uint32_t line);

/* ---- a function --------------------------------------------------------------------------------------- */

/* A place is a line of a file, by a number of the caller's, not 0. */
struct
    currency_mark { /* a stop point of the line table; by address, those of one address in the table's order */
    uint64_t address;
    uint32_t place;
};
struct currency_span { /* instructions of one row; by address */
    uint64_t start, end;
    uint32_t place; /* 0: of no line */
};

struct currency_code {
    const struct cfg *flow;
    const uint8_t *bytes; /* of the function, from flow->start to flow->end */
    const struct currency_mark *marks;
    size_t marks_count;
    const struct currency_span *spans;
    size_t spans_count;
    /* Where the frame is at an instruction: its canonical frame address is what the register holds, and *offset. NULL, or false: not known. */
    bool (*frame)(void *context, uint64_t address, uint8_t *base, int64_t *offset);
    /* Is the code at the address of a function inlined where that place calls it? NULL: none is. */
    bool (*inlined)(void *context, uint64_t address, uint32_t place);
    void *context;
};

struct currency;
/* Decodes the function. code and what it points to must outlive it. BASE_NO_MEMORY; BASE_UNSUPPORTED: its flow is not known. */
enum base_status currency_open(const struct currency_code *code, struct currency **currency);
void currency_close(struct currency *currency); /* NULL does nothing */

/* The first instruction, from an address on, that stores into those bytes, which it names by their address; UINT64_MAX: there is none. */
uint64_t currency_store(const struct currency *currency, uint64_t from, uint64_t start,
                        uint64_t bytes);

/* ---- a variable ------------------------------------------------------------------------------------------ */

struct currency_variable {
    /* An ELF virtual address, throughout the program; or, in the frame, the distance from the canonical frame address, modulo 2^64. */
    uint64_t start, bytes;
    const uint32_t *assigned; /* places that assign to it, each once */
    size_t assigned_count;    /* CURRENCY_ASSIGNMENTS_MAX at most */
    bool framed;
};

enum currency_class {
    CURRENCY_CURRENT,
    CURRENCY_STALE,     /* all paths have passed the assignment, and not its store */
    CURRENCY_PREMATURE, /* all paths have stored what only a later line assigns */
    CURRENCY_SUSPECT,   /* stale or premature on some paths, or with an unknown store in between */
};

struct currency_stop {
    uint64_t address;
    uint32_t shown;    /* the place that a debugger shows there */
    uint32_t assigned; /* the place of the assignment that is late or early */
    uint8_t class;     /* enum currency_class, not CURRENT */
    bool early;        /* premature, or suspected of that; else stale, or suspected of that */
};

/* Stop points of the function at which the variable is not current, by address. BASE_NO_MEMORY; BASE_TOO_LARGE: too many
   assignments, or too many paths that differ: nothing is claimed then. */
enum base_status currency_find(const struct currency *currency,
                               const struct currency_variable *variable,
                               bool (*visit)(void *context, const struct currency_stop *stop),
                               void *context);

#endif
