// SPDX-License-Identifier: MIT
/*
 * currency: can the value of a variable that lies in memory be trusted where a debugger stops? Optimized code may store it later
 * than the source assigns it, or earlier, so that a debugger shows an old value (the variable is stale there), or one too new
 * (premature). Found by data flow over the machine code of one function: which assignments' lines were passed, and which stores
 * were executed, on all ways to a stop point. The question is that of currency determination (Copperman), the classes are those of
 * Adl-Tabatabai and Gross; they had a compiler tell what it moved, here the line table does: compilers that keep statement
 * frontiers (gcc since 8) leave a row where a statement begins also when its code has gone elsewhere.
 *
 * Claims are about ways through this function alone, on which nothing unknown happens in between: calls may store anything, and
 * end what is pending; stores through pointers make it suspect. A value may be the same all the same: what is claimed is that
 * it may be the old one.
 *
 * Host side; pure but for memory, which the number of instructions bounds; code is hostile input. Call cfg_start before.
 */
#ifndef HEADROOM_CURRENCY_H
#define HEADROOM_CURRENCY_H

#include "cfg/cfg.h"

enum { CURRENCY_ASSIGNMENTS_MAX = 500, CURRENCY_STATES_MAX = 48, CURRENCY_NAME_MAX = 128 };

/* ---- what a source file assigns --------------------------------------------------------------------- */

/* A line that does nothing but assign to variables: "name = ...;", "name += ...;", "name++, other = ...;", outside of conditions
   and without calls. What is not certainly such is left out. */
struct currency_assignment {
    uint32_t line;
    char name[CURRENCY_NAME_MAX];
};

/* Those of a text in C or C++, by line, one for each variable. visit false ends. */
void currency_read(const char *text, size_t bytes,
                   bool (*visit)(void *context, const struct currency_assignment *assignment),
                   void *context);

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
    /* Is the code at the address of a function inlined where that place calls it? NULL: none is. */
    bool (*inlined)(void *context, uint64_t address, uint32_t place);
    void *context;
};

struct currency;
/* Decodes the function. code and what it points to must outlive it. BASE_NO_MEMORY; BASE_UNSUPPORTED: its flow is not known. */
enum base_status currency_open(const struct currency_code *code, struct currency **currency);
void currency_close(struct currency *currency); /* NULL does nothing */

/* ---- a variable ------------------------------------------------------------------------------------------ */

struct currency_variable {
    uint64_t start, bytes;    /* ELF virtual addresses, throughout the program */
    const uint32_t *assigned; /* places that assign to it, each once */
    size_t assigned_count;    /* CURRENCY_ASSIGNMENTS_MAX at most */
};

enum currency_class {
    CURRENCY_CURRENT,
    CURRENCY_STALE,     /* all ways have passed the assignment, and not its store */
    CURRENCY_PREMATURE, /* all ways have stored what only a later line assigns */
    CURRENCY_SUSPECT,   /* one of both on some ways, or with an unknown store in between */
};

struct currency_stop {
    uint64_t address;
    uint32_t shown;    /* the place that a debugger shows there */
    uint32_t assigned; /* the place of the assignment that is late or early */
    uint8_t class;     /* enum currency_class, not CURRENT */
    bool early;        /* suspect: premature on some ways; else stale */
};

/* Stop points of the function at which the variable is not current, by address. BASE_NO_MEMORY; BASE_TOO_LARGE: too many
   assignments, or too many ways that differ: nothing is claimed then. */
enum base_status currency_find(const struct currency *currency,
                               const struct currency_variable *variable,
                               bool (*visit)(void *context, const struct currency_stop *stop),
                               void *context);

#endif
