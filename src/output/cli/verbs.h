// SPDX-License-Identifier: MIT
/*
 * The verbs, and what they share: words to the user, colours, pager, progress.
 * The only room that prints or exits.
 */
#ifndef HEADROOM_CLI_VERBS_H
#define HEADROOM_CLI_VERBS_H

#include "cli/options.h"

#include "base/base.h"
#include "binary/binary.h"
#include "compare/check.h"
#include "compare/diff.h"
#include "show/report.h"

struct model;
struct util_text;

/* The verbs, in the order in which they are listed. Each has a file of its own that defines NAME_verb. */
/* clang-format off */ /* it never settles on one form of such a list */
#define VERBS(X) \
    X(run) X(waste) X(reuse) X(paths) X(interference) X(sharing) X(limits) X(ceiling) X(locality) X(map) X(stat) \
    X(cc) X(cxx) X(fortran) X(report) X(merge) X(check) \
    X(diff) X(export) X(view) X(calibrate) X(doctor) X(help)
/* clang-format on */
#define VERB_DECLARE(name) extern const struct verb name##_verb;
VERBS(VERB_DECLARE)

/* Not for people: gcc runs its steps by `headroom WORD ...`. */
bool is_compile_step(const char *word);
int compile_step_run(char **words);

/* Everything that main does. */
int cli_main(int argc, char **argv);

/* ---- output (output.c) -------------------------------------------------------------- */

/* "headroom: ..." and a line end, in one write, to standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "headroom VERB: ...; see 'headroom VERB --help'." Returns the verb's usage code. */
int say_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool use_color(int setting, int descriptor);

/* Columns of the terminal behind descriptor, 0 if it is none. */
unsigned terminal_width(int descriptor);

uint64_t monotonic_ns(void); /* CLOCK_MONOTONIC */

/*
 * Steps that take longer than PROGRESS_AFTER_S show on standard error, if that is a
 * terminal. Begin with a zeroed struct.
 */
struct progress {
    uint64_t start_ns, shown_ns;
    bool quiet, visible;
};
void progress_begin(struct progress *progress, bool quiet);
void progress_step(void *progress, const char *step, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);

/* A stream into the pager, or standard output itself when that is no terminal. */
struct pager {
    FILE *out;
    int child; /* 0: none */
};
void pager_begin(struct pager *pager, bool wanted);
/* False if the output could not be written. */
bool pager_end(struct pager *pager);

/* ---- machines (calibrate.c) --------------------------------------------------------- */

/* The model of the machine `name`; "here" is this one, whose most common instructions are measured when it is first asked for.
   Not BASE_OK: why has a sentence, unless memory is short. */
enum base_status machine_open(const char *name, bool quiet, struct model **model,
                              struct util_text *why);

/* ---- files (replace.c) --------------------------------------------------------------- */

/* A file that takes the place of another one when it is whole. One at a time. */
struct replacement {
    FILE *out;
    char *temporary, *target; /* NULL: written as it is, because it is no regular file */
};
/* False: errno says why. */
bool replace_begin(struct replacement *made, const char *path);
/* good: all was written. If not, or if it is false, what was there before is there still. */
bool replace_end(struct replacement *made, bool good);

/* Removes what is being written, if anything is. For signal handlers that end headroom. */
void replace_abandon(void);

/* Whether both names lead to one file; either may be NULL. */
bool same_file(const char *a, const char *b);

/* ---- limits of what is made of profiles (caps.c) -------------------------------------- */

/* The exit code of verbs that read profiles and cannot do what they were asked for. */
enum { READER_FAILED = 1 };

/* Of what is made of profiles of that size, all together. */
uint64_t output_most_bytes(uint64_t profile_bytes);

/* Writers end early at ferror. They are called again when it is much that they write. */
typedef enum base_status output_writer(void *context, FILE *out);

/* What `write` writes goes to `out` if it is whole: without a failure, and no more than that many bytes
   (BASE_TOO_LARGE). BASE_IO: errno says why. */
enum base_status output_whole(output_writer *write, void *context, FILE *out, uint64_t most_bytes);

/* Seconds of processor time that verbs may take for files of that size, of which NULLs and what cannot
   be looked at count for nothing. */
unsigned time_limit_seconds(int count, const char *const *paths);

/* Ends headroom after so many with a sentence and READER_FAILED. */
void time_limit_start(unsigned seconds);

/* What is to be removed then, in this order; NULL: nothing. The names must last. */
void time_limit_removes(const char *file, const char *temporary, const char *directory);

/* ---- profiles (show.c) ---------------------------------------------------------------- */

enum { PAIRS_IN_TEXT = 10, FINDINGS_THAT_LEAD = 3 };

struct binary_options symbol_options(const struct settings *settings);

/* A terminal shows what its locale says; files and pipes are always UTF-8. */
bool is_ascii_terminal(int descriptor);

/* Report of the profile at path, in the form that settings ask for; colour for descriptor. */
/* name: what the user would type for the profile, in hints. */
enum base_status show_profile(const char *path, const char *name, const struct settings *settings,
                              FILE *out, int descriptor, char *error, size_t error_bytes);

#endif
