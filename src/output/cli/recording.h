// SPDX-License-Identifier: MIT
/*
 * What recordings of every verb and engine have in common: where results go, what is said
 * before and after, the way from raw log to report.
 */
#ifndef HEADROOM_CLI_RECORDING_H
#define HEADROOM_CLI_RECORDING_H

#include "cli/places.h"
#include "cli/verbs.h"

#include "launch/launch.h"

enum { DEGRADED_MAX = 24 };

struct recording;

/* What more a verb does with the command, all of it optional for the result: what fails is said, and nothing is lost. */
struct recording_sequel {
    /* Before the program starts: what cannot be is said to be degraded. NULL: nothing to do. */
    void (*prepare)(struct recording *recording);
    /* The profile is in its place, recording->written; the report follows. */
    void (*run)(struct recording *recording);
    /* How the program is launched; NULL: launch_record. */
    enum launch_outcome (*launch)(struct recording *recording,
                                  const struct launch_request *request);
};

/* Begin with these four, log -1 and region -1, everything else zeroed. */
struct recording {
    const struct settings *settings;
    const char *verb;
    const char *output; /* profile */
    char *const *command;
    int log;
    bool built; /* no raw log; `region` from launch_instrumented */
    int region;
    struct launch_spans_result *spans; /* NULL: not of spans */
    struct launch_result result;
    char path[LAUNCH_PATH_BYTES], log_path[LAUNCH_PATH_BYTES];
    struct places places;
    char written[LAUNCH_PATH_BYTES];       /* where the profile is, mostly `output` */
    char rescued[LAUNCH_PATH_BYTES];       /* copy of a raw log that has lost its name; "" */
    const struct wire_config *config;      /* the raw log's; NULL: there is none */
    const struct launch_request *program;  /* live: what was executed, and how */
    const struct recording_sequel *sequel; /* NULL: none */
    void *sequel_state;
    const char *event; /* counted in place of cycles, or NULL */
    FILE *report;      /* from --report, or NULL */
    const char *degraded[DEGRADED_MAX + 1];
    size_t degraded_count;
    char error[LAUNCH_ERROR_BYTES];
};

/* The sentence, kept by the caller, goes into every report. */
void recording_degraded(struct recording *recording, const char *sentence);

/* A launch_request's note. */
void recording_note(void *context, const char *sentence);

/* ---- before the program starts: 0, or the exit code, when the reason was said ---------- */

int recording_check_output(struct recording *recording);

/* The last steps: the report's file, the raw log, if one is needed; says what is degraded so far. */
int recording_open(struct recording *recording);

/* Says recording->error. */
int recording_refuse(const struct recording *recording, enum launch_outcome outcome);

/* ---- after it has ended -------------------------------------------------------------- */

/* From raw log or region to profile and report. False: there is no profile, and a raw log must stay. */
bool recording_finish(struct recording *recording, const char *engine);

/* The raw log becomes a profile at `place`. Not BASE_OK: recording->error. */
enum base_status recording_import(struct recording *recording, const char *engine,
                                  const char *place);

/* From now on, SIGINT and the like are only noted. */
void recording_note_signals(void);
bool recording_signalled(void);

/* keep: the raw log stays. */
void recording_close(struct recording *recording, bool keep);

/* The program's. */
int recording_exit_code(const struct recording *recording);

/* ---- which engine (live.c) ----------------------------------------------------------------- */

/* Options that do not go together, no command: says it and returns the exit code; else 0. */
int check_engine(const struct settings *settings, const char *verb, int operands);

/* Beside enum wire_kind_bits: cache lines that threads share. */
enum { LIVE_SHARING = 1 << 8 };

/* A whole live recording of kinds (enum wire_kind_bits and LIVE_SHARING), and the sequel, if it is not NULL. Returns the exit code. */
int live_run(const struct settings *settings, const char *verb, uint32_t kinds, char **command,
             const struct recording_sequel *sequel, void *sequel_state);

/* What was degraded in a recording that has ended. */
void live_degraded(struct recording *recording);

/* Of programs that the agent observes: path and shell, or why it cannot; after it has ended what was degraded, then
   profile and report. False: the raw log must stay. */
int live_check_program(struct recording *recording, bool *shell);
bool live_conclude(struct recording *recording);

/* ---- the exact engine (exact.c) ---------------------------------------------------------- */

/* What the engine follows. */
enum exact_subject { EXACT_KINDS /* settings->kinds */, EXACT_REUSE, EXACT_PATHS, EXACT_SHARING };

/* A whole recording under the exact engine. Returns the exit code. */
int exact_run(const struct settings *settings, const char *verb, enum exact_subject subject,
              char **command);

/* ---- beside another recording ------------------------------------------------------------------ */

/* One more run of what `first` has recorded. Callbacks get this. */
struct further_run {
    struct launch_request *program; /* complete but for descriptors and deadline */
    struct launch_result *result;
    char *error; /* LAUNCH_ERROR_BYTES */
    void *context;
    enum launch_outcome (*launch)(struct further_run *run); /* runs it, observed */
};

/* What calls run->launch, and decides on the rest. */
typedef enum launch_outcome further_record(struct further_run *run);

/*
 * Records once more what `first` has recorded, under the exact engine, and writes that profile to `place`. Says nothing:
 * where there is no profile, false and the reason in error (LAUNCH_ERROR_BYTES).
 */
bool exact_further(const struct recording *first, const struct settings *settings, const char *verb,
                   enum exact_subject subject, further_record *record, void *context,
                   const char *place, char *error);

/* Likewise with executions of functions timed, as `headroom interference` does by itself (interference.c). */
bool spans_further(const struct recording *first, further_record *record, void *context,
                   const char *place, char *error);

/* Likewise with its loops tried with their data in the first-level cache, as `headroom ceiling` does by itself (ceiling.c).
   model: by which recurrences are compared. */
struct model;
bool ceiling_further(const struct recording *first, const struct model *model,
                     further_record *record, void *context, const char *place, char *error);

#endif
