// SPDX-License-Identifier: MIT
/*
 * Between the files of patch: module.c lists functions, callers.c finds who calls what, prepared.c what has been prepared, targets.c looks through all code for
 * ways into windows, plan.c decides, emit.c writes, names.c and known.c know functions by name.
 */
#ifndef HEADROOM_PATCH_INTERNAL_H
#define HEADROOM_PATCH_INTERNAL_H

#include "patch/patch.h"

#include "binary/code.h"
#include "util/util.h"

enum { PATCH_ENDBR_BYTES = 4, PATCH_NEAR = PATCH_ENDBR_BYTES + PATCH_WINDOW_MAX };

/* ---- modules ------------------------------------------------------------------------------------- */

/* What a struct patch_function does not show. */
struct names {
    size_t first, count; /* its symbols, of code_symbols */
    char *plain;         /* the name without its version; NULL: it has none */
    char *readable;      /* the module's; NULL: not yet asked for, or the linkage name */
    bool asked;
};

/* How control comes near a function's entry. */
enum target_kind {
    TARGET_JUMP,
    TARGET_CALL,
    TARGET_POINTER, /* an address in data or code */
    TARGET_TABLE,   /* an entry of what may be a table of offsets */
    TARGET_HANDLER, /* of exceptions */
};

struct target {
    uint64_t address, from; /* from: of the jump, pointer, table */
    uint32_t kind;          /* enum target_kind */
};

struct targets {
    struct target *items; /* by address: those within PATCH_NEAR behind an entry, and jumps of a
                             function to its own entry */
    size_t count, capacity;
    uint64_t *bad; /* by address: what does not decode */
    size_t bad_count, bad_capacity;
    bool loaded, gave_up; /* gave_up: too much effort, not all is known */
};

struct patch_module {
    struct code *code;
    struct patch_function *functions;
    struct names *names;
    struct patch_prepared *prepared;
    struct patch_marker *markers;
    struct targets targets;
    size_t functions_count, functions_capacity, prepared_count, markers_count;
    const char *foreign; /* as patch_foreign */
};

/* The section of that name; NULL. */
const struct code_section *module_section(const struct patch_module *module, const char *name);

/* The executable section that holds an address and has bytes; NULL. */
const struct code_section *module_text(const struct patch_module *module, uint64_t vaddr);

/* Was it split off from a function, so that jumps lead there? */
bool module_is_part(const struct patch_function *function);
bool module_is_cold(const char *name);

/* Number of the first function that begins at or behind an address. */
size_t module_function_from(const struct patch_module *module, uint64_t vaddr);

/* Linkage name of a symbol without its version; returns the bytes of it. */
size_t module_name_bytes(const char *linkage);

/* Fills module->prepared and module->markers. BASE_NO_MEMORY. */
enum base_status prepared_load(struct patch_module *module);

/* Fills module->targets. BASE_NO_MEMORY. */
enum base_status targets_load(struct patch_module *module);
void targets_free(struct targets *targets);

/* ---- instructions -------------------------------------------------------------------------------- */

/* Bytes of the nop at code; 0: none. */
unsigned code_nop(const uint8_t *code, size_t available);

bool code_endbr(const uint8_t *code, size_t available);

/* Offset of the opcode behind prefixes, in an instruction of `length` bytes. */
unsigned code_opcode(const uint8_t *code, unsigned length);

/* What becomes of an instruction in another place. */
enum form {
    FORM_PLAIN,   /* the same bytes */
    FORM_OPERAND, /* a displacement relative to rip */
    FORM_JUMP,
    FORM_BRANCH,
    FORM_COUNT, /* loop, jrcxz */
    FORM_CALL,
    FORM_CALL_FAR, /* through a register or memory */
    FORM_IMMOVABLE,
};

struct moved {
    uint8_t form; /* enum form */
    uint8_t length;
    bool ends;       /* what follows is not executed, or by other ways only */
    uint64_t target; /* of direct jumps and calls */
};

/* False: not decodable. */
bool moved_of(const uint8_t *code, size_t available, uint64_t address, struct moved *moved);

/* As patch_emit_prologue; sizes do not depend on addresses. *reached false: something does not reach. Returns the bytes. */
size_t emit_prologue(const struct patch_plan *plan, uint64_t entry, uint64_t at,
                     uint8_t out[PATCH_COPY_MAX], bool *reached);

#endif
