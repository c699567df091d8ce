// SPDX-License-Identifier: MIT
/* Inside of compile. */
#ifndef HEADROOM_COMPILE_INTERNAL_H
#define HEADROOM_COMPILE_INTERNAL_H

#include "compile/compile.h"
#include "instrument/instrument.h"
#include "util/util.h"

#include <signal.h>
#include <stdio.h>

/* ---- words.c: argument lists ---------------------------------------------------------------- */

/* Grows by words_add; always NULL-terminated once something was added. Strings are not owned. */
struct words {
    char **at;
    size_t count, capacity;
    bool failed; /* no memory: sticky */
};

void words_add(struct words *words, const char *word);
void words_add_all(struct words *words, char *const *more);
void words_insert(struct words *words, size_t before, const char *word);
/* Index of the last word that equals text, or -1. */
long words_find(char *const *words, const char *text);
/* What follows the last `option`, or NULL. */
const char *words_value(char *const *words, const char *option);
const char *base_name(const char *path);

/*
 * Splits text as response files are: blanks divide, quotes of both kinds group, a backslash takes the next character
 * as it is. Strings point into text, which is changed.
 */
void words_split(struct words *words, char *text);

/* Puts the words of response files (@FILE) in their places. A file that cannot be read stays a word, as for
   compilers. The words point into `texts`, to be freed after them. */
void words_expand(struct words *words, char *const *arguments, struct words *texts);
void words_free_all(struct words *texts);

/* ---- scan.c: the driver's arguments ------------------------------------------------------------ */

enum compile_family { COMPILE_UNKNOWN, COMPILE_GNU, COMPILE_CLANG, COMPILE_PREFIX };

/* By name: "x86_64-linux-gnu-g++-12" is GNU; PREFIX: words before a compiler, such as ccache. */
enum compile_family compile_family(const char *name);

struct compile_scan {
    bool untouched; /* a question, preprocessing, compilation to assembly, nothing to do */
    bool shared;    /* -shared */
    bool wrapped;   /* -wrapper */
};
void compile_scan(char *const *arguments, struct compile_scan *scan);

/* ---- refuse.c: what a compilation step says about the code ----------------------------------------- */

extern const char compile_other_machine[]; /* a sentence */

/* Why the code that this step makes cannot be rewritten: a sentence, or NULL. */
const char *compile_refusal(char *const *step);

/* Under which assumptions about addresses the code was made, for struct instrument_options. */
enum compile_placement {
    COMPILE_PLACED_ANYWHERE = 'p',
    COMPILE_PLACED_SHARED = 's',
    COMPILE_PLACED_LOW = 'a'
};
char compile_placement(char *const *step);

/* ---- step.c: the steps of a driver -------------------------------------------------------------------- */

/* At the start of a file that all steps of one run of a driver have open. What was compiled follows. */
struct compile_state {
    uint64_t magic;
    uint32_t modes;
    bool verbose, shared;
    char keep[4096];
};

struct compile_work {
    int file; /* of the state */
    int text; /* what the prepared step reads, to be closed after it; 0: nothing */
    struct compile_state state;
    compile_note *note;
    char *error; /* COMPILE_ERROR_BYTES */
};

/* A new file with the request in it; *file stays open over exec. */
enum base_status compile_state_create(const struct compile_request *request, bool shared,
                                      struct compile_work *work);

enum compile_kind { STEP_OTHER, STEP_COMPILE, STEP_ASSEMBLE, STEP_LINK };
enum compile_kind compile_kind(char *const *step);

/* Makes `ready` of a step, to be executed. Not 0: an exit status; the step must not be executed. */
int compile_prepare(struct compile_work *work, char *const *step, struct words *ready);

/* ---- transform.c ---------------------------------------------------------------------------------------- */

/* Assembles text (a file) into object (an open file), quietly. */
typedef bool compile_assemble(void *context, int text, int object);

struct compile_transform {
    struct instrument_options options;
    compile_assemble *assemble;
    void *context;
};

/* Writes what becomes of text to out; counts are added to. BASE_UNSUPPORTED: it cannot be assembled. */
enum base_status compile_transform(const struct compile_transform *transform, const char *text,
                                   size_t bytes, FILE *out, struct instrument_counts *counts);

/* ---- clang.c, run.c ------------------------------------------------------------------------------------------ */

/* Steps in what `clang -###` prints; strings point into text, which is changed. Other lines are left to `others`. */
struct compile_jobs {
    struct words *at;
    size_t count, capacity;
    bool failed;
};
void compile_jobs_parse(struct compile_jobs *jobs, char *text, struct words *others);

int compile_clang(struct compile_work *work, char *const *command);

/* Runs a command to its end; exit status, or 128 + signal. Output to the descriptors unless < 0. */
int compile_spawn(char *const *command, int output, int errors);
extern volatile sig_atomic_t compile_child; /* while it runs; for signal handlers */

/* Becomes the command; returns only if that fails, with the exit status and a sentence. */
int compile_exec(char *const *command, char *error);

/* All of a file, 0 behind; NULL: errno. free() it. */
char *compile_read(int file, size_t *bytes);

/* A file in memory that children see as /proc/self/fd/N. -1: errno. */
int compile_memory_file(const char *name);
enum { COMPILE_FD_PATH = 32 };
void compile_fd_path(char path[COMPILE_FD_PATH], int file);

/* The library for programs that were rewritten, beside this executable or installed. */
bool compile_runtime(char *path, size_t bytes, char *error);

#endif
