// SPDX-License-Identifier: MIT
/*
 * The parts of a run under the exact engine, private to launch.
 *
 *   exact.c          running the program under it
 *   exact_find.c     where the engine is, which programs it can run
 *   exact_command.c  the command line of the Valgrind tool
 *   exact_words.c    what Valgrind says, turned into sentences
 *   exact_start.c    a program of its own: what Valgrind runs when the program executes another
 *   exact_graphs.c   answers to what the engine asks about functions
 *   format.c         what the kernel would make of a file; shared with exact_start
 */
#ifndef HEADROOM_LAUNCH_EXACT_H
#define HEADROOM_LAUNCH_EXACT_H

#include "launch/launch.h"

/* ---- files (format.c) ------------------------------------------------------------------ */

enum launch_format {
    LAUNCH_FORMAT_NATIVE,     /* x86-64 */
    LAUNCH_FORMAT_32BIT,      /* x86, or x86-64 with 32-bit pointers */
    LAUNCH_FORMAT_FOREIGN,    /* another machine's */
    LAUNCH_FORMAT_SCRIPT,     /* "#!"; interpreter is filled in */
    LAUNCH_FORMAT_TEXT,       /* no format of its own, no NUL at its start: for the shell */
    LAUNCH_FORMAT_NONE,       /* no program */
    LAUNCH_FORMAT_UNREADABLE, /* errno says why */
};
enum launch_format launch_format(const char *path, char interpreter[LAUNCH_PATH_BYTES]);

/* The kernel follows so many interpreters of interpreters (fs/exec.c). */
enum { LAUNCH_SCRIPT_DEPTH = 5 };

/* Set-user-ID, set-group-ID or file capabilities: Valgrind refuses to execute these. */
bool launch_set_id(const char *path);

/* Names of the engine's files. */
#define EXACT_TOOL  "headroom-amd64-linux"
#define EXACT_START "headroom-exact-start"
/* meson.build defines EXACT_LIBRARY, the folder that Valgrind takes without VALGRIND_LIB, and EXACT_BUILT: 0 if
   Valgrind was not found when headroom was built. */

/* ---- command line (exact_command.c) -------------------------------------------------------- */

/* Options that exact_start looks for among those that Valgrind hands on. */
#define EXACT_OPTION_LOG       "--log="       /* through headroom, which has it open */
#define EXACT_OPTION_LOG_NAME  "--log-name="  /* when headroom has been killed; if it has the */
#define EXACT_OPTION_LOG_INODE "--log-inode=" /* number: programs may replace the file */
#define EXACT_OPTION_MESSAGES  "--log-file="
#define EXACT_OPTION_CHILD     "--child=yes" /* another program has executed this one */

/* What exact_start reports to headroom, before the program's name. */
#define EXACT_UNOBSERVED "unobserved"

/* argv of the tool up to and with the program's; exact_command_free. NULL: no memory. */
char **exact_command(const struct launch_exact_request *request, const char *log_path,
                     const char *messages_path, const char *graphs_path);
void exact_command_free(char **command);

/* The environment of the tool; one block for free(), strings are shared. NULL: no memory. */
char **exact_environment(char *const *environment, const struct launch_exact_engine *engine);

/* ---- graphs (exact_graphs.c) -------------------------------------------------------------------- */

struct exact_graphs {
    const struct launch_exact_request *request;
    char folder[LAUNCH_PATH_BYTES]; /* "": none */
};

/* Makes the folder of answers, if paths are followed. False: errno says why. */
bool exact_graphs_begin(struct exact_graphs *graphs, const struct launch_exact_request *request);
/* request: DEVICE-INODE PATH. context: the struct exact_graphs. */
void exact_graphs_answer(void *context, const char *request);
/* Removes it all: from now on the engine gets no answers. */
void exact_graphs_end(struct exact_graphs *graphs);

/* ---- words (exact_words.c) -------------------------------------------------------------------- */

enum { EXACT_LINE_BYTES = LAUNCH_PATH_BYTES + 128 };

struct exact_words {
    char line[EXACT_LINE_BYTES]; /* the one being received */
    size_t used;
    /* first thing that explains an early end, a clause; or "" */
    char trouble[LAUNCH_MESSAGE_BYTES];
    char unknown[LAUNCH_MESSAGE_BYTES]; /* the last unknown instruction, which kills with SIGILL */
    char unknown_bytes[64];             /* its */
    bool unknown_placed;                /* it is known in which function */
    char log_failure[LAUNCH_MESSAGE_BYTES]; /* why the raw log could not be written; or "" */
    bool unobserved_child;
    /* the engine wants graphs: DEVICE-INODE PATH */
    void (*ask)(void *context, const char *request);
    void *context;
};

/* Any part of what was written; lines may be cut between two calls. */
void exact_words_take(struct exact_words *words, const char *text, size_t bytes);

#endif
