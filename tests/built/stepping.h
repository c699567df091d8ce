// SPDX-License-Identifier: MIT
/*
 * A program that is executed under watch: it stops before and after each control transfer of the
 * code that is watched, and where it enters that code from elsewhere, at whatever instruction.
 * Between two stops within watched code lies straight code; other code, such as libraries', runs
 * undisturbed.
 *
 * Breakpoints do this, for a trap after each instruction costs as much as hundreds of instructions,
 * several times what a breakpoint costs in a virtual machine. What stands at a breakpoint is done
 * here if it is a direct jump, a direct call or a return, and is executed as a single step if it is
 * another transfer. While other code runs, all bytes of the watched code are breakpoints: it cannot
 * be come back to unseen, by return, callback, exception or longjmp. One thread.
 *
 * Program and watcher share one processor: each stop changes between the two, and a change between
 * two processors of a virtual machine costs several times as much.
 */
#ifndef TESTS_STEPPING_H
#define TESTS_STEPPING_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

/* Ends this program: "NAME: what" on standard error, and status 1. */
_Noreturn void stepping_fail(const char *what);
void *stepping_must(void *memory); /* fails if it is NULL */

/* ---- the program's file ---------------------------------------------------------------------- */

struct stepping_image {
    char *data;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    uint64_t bias; /* of addresses in the running program over those of the file */
};

void stepping_read(struct stepping_image *image, const char *path);
const Elf64_Shdr *stepping_section(const struct stepping_image *image,
                                   const char *name); /* or NULL */

/* Watches the function that begins at this address of the file, and its cold part. */
void stepping_watch(const struct stepping_image *image, uint64_t entry);

/* What is watched, as addresses in the running program. */
struct stepping_range {
    uint64_t start, end;
    bool entered; /* starts with a function's entry, no split-off part */
};
const struct stepping_range *stepping_range_of(uint64_t ip); /* NULL: not watched */

/* ---- execution ------------------------------------------------------------------------------- */

/* Where it is: at the instruction that comes next. */
extern struct user_regs_struct stepping_registers;

/* Starts the program, to its entry, addresses not randomized. With `repeated`, repeated
 * instructions stop like transfers, before each of their repetitions. */
void stepping_start(char **command, bool repeated);
void stepping_stop_at(uint64_t address); /* as well: of watched code, in the running program */

/* On to the next stop; false: it has ended. A transfer out of the watched code stops behind it as
 * well. */
bool stepping_next(void);
/* On by one instruction. */
bool stepping_one(void);
/* Whether stepping_next() stops before this instruction, of watched code, wherever it comes from.
 */
bool stepping_stops(uint64_t address);

/* What cannot be read, such as what lies behind the last page of code, is 0. */
void stepping_peek(uint64_t address, void *to, size_t bytes);
/* Watched code as it is without breakpoints, up to the end of its range. */
const uint8_t *stepping_code(uint64_t address, size_t *bytes);
int stepping_status(void); /* of the ended program: exit status, 128 + N after signal N */
void stepping_kill(void);

#endif
