// SPDX-License-Identifier: MIT
/*
 * launch: starts a program under the agent and collects its raw log. Finds the
 * program and the agent, tries what the machine allows, makes the region, runs
 * the event loop that drains it and serves unwind tables.
 *
 * Never prints and never exits: failures are an outcome and one sentence.
 * launch_record may be called by one thread of a process at a time.
 */
#ifndef HEADROOM_LAUNCH_H
#define HEADROOM_LAUNCH_H

#include "base/base.h"
#include "cache/cache.h"
#include "inject/inject.h"
#include "trial/trial.h"
#include "wire/instrumented.h"
#include "wire/wire.h"

enum {
    LAUNCH_PATH_BYTES = 4096,
    LAUNCH_ERROR_BYTES = 2 * LAUNCH_PATH_BYTES + 512,
    LAUNCH_MESSAGE_BYTES = 512
};

/* The numbers are exit codes of `headroom waste`, shared with env, nohup, timeout. */
enum launch_outcome {
    LAUNCH_OK = 0,
    LAUNCH_FAILED = 125,         /* headroom cannot observe this program, or not here */
    LAUNCH_NOT_EXECUTABLE = 126, /* found, but the kernel would not start it */
    LAUNCH_NOT_FOUND = 127,
};

/* Every `error` below holds LAUNCH_ERROR_BYTES and gets one sentence unless LAUNCH_OK. */

/* ---- the program and the agent --------------------------------------------------- */

/* Looks a program up as execvp would: on PATH unless name has a slash. */
enum launch_outcome launch_find(const char *name, char path[LAUNCH_PATH_BYTES], char *error);

/*
 * Can the agent observe this file? Scripts are judged by their interpreter.
 * *shell: the file has no format of its own and execvp would hand it to /bin/sh.
 */
enum launch_outcome launch_examine(const char *path, bool *shell, char *error);

/* The agent beside this executable (build tree) or in ../lib/headroom (installed). */
enum launch_outcome launch_agent(char path[WIRE_PATH_BYTES], char *error);

/* ---- recording ---------------------------------------------------------------------- */

/*
 * Makes the raw log PROFILE.raw.XXXXXX: mode 0600, a new file, never through a symlink.
 * *log: its descriptor, close-on-exec.
 */
enum launch_outcome launch_log_create(const char *profile, char path[LAUNCH_PATH_BYTES], int *log,
                                      char *error);

/* A process that ran code of no file, while it lived: where it may have put the names of that. */
struct launch_jit {
    uint32_t process;      /* id of the image, as in the log */
    uint32_t pid, own_pid; /* own_pid: in its own namespace */
    uint32_t uid;
    int temporary, directory; /* its /tmp and its working directory; -1: not to be had */
    int dump;                 /* the jitdump that it had mapped; -1: none */
};

enum { LAUNCH_JITS = 64 }; /* each holds descriptors */

struct launch_jits {
    struct launch_jit items[LAUNCH_JITS];
    size_t count;
};

/* Closes its descriptors. */
void launch_jits_free(struct launch_jits *jits);

/* Where CPU time in user mode was spent, by samples of the clock from outside. */
#define LAUNCH_NO_FILE UINT32_MAX

struct launch_tick {
    uint32_t path;   /* number in `paths`; LAUNCH_NO_FILE: in no file, or not known */
    uint64_t offset; /* in the file */
    uint64_t ticks, ns;
};

struct launch_ticks {
    struct util_strings paths;
    struct launch_tick *items; /* each place once */
    size_t count, capacity;
    int refused; /* errno: there are no samples; 0: it was possible */
};

void launch_ticks_free(struct launch_ticks *ticks);

struct launch_request {
    const char *path;          /* from launch_find */
    bool shell;                /* from launch_examine */
    char *const *command;      /* NULL-terminated argv */
    struct wire_config config; /* complete, with agent_path */
    int log;                   /* from launch_log_create; stays the caller's */
    bool redirected;           /* the program's standard descriptors are copies of `files` */
    int files[3];              /* above 2; -1: this one stays as it is */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC: the program is then ended, by SIGTERM and two seconds
                             later by SIGKILL; 0: never */
    void (*note)(void *context, const char *sentence); /* while recording; may be NULL */
    void *context;
};

struct launch_result {
    bool exited; /* exit_code valid, else killed by signal */
    int exit_code, signal;
    int detached;         /* signal by which the recording ended before the program, of which is
                                   not known how it ended (exit_code and signal are 0); else 0 */
    int interrupted;      /* a signal that asks to end and reached headroom meanwhile; 0: none */
    bool timed_out;       /* its time was over: see deadline_ns */
    double wall_s, cpu_s; /* of the program and the children it waited for */
    double system_s;      /* of cpu_s, in the kernel; negative: not known */
    uint64_t peak_bytes;  /* largest resident set of one of them; 0: not known */
    /* Pages given by the kernel without and with reading them; changes to other threads by their own will, and against it; of the
       program and the children it waited for */
    uint64_t minor_faults, major_faults, voluntary, involuntary;
    uint64_t start_ns;  /* CLOCK_REALTIME */
    bool log_truncated; /* the log could not be written to its end */
    uint64_t corrupt_records;
    uint64_t lost_threads;
    uint64_t short_threads;  /* live: that used too little CPU time for a sample */
    uint64_t lost_events;    /* built: how often the event could not be had in a thread */
    bool refused;            /* built: some process had no memory to record in */
    uint64_t lost_processes; /* exact: images that were killed before they wrote their counts */
    uint64_t images;         /* PROCESS records: programs in which the agent started */
    uint32_t degraded;       /* enum wire_degraded, process-wide */
    uint64_t counted;        /* exact: images whose counts arrived */
    uint32_t source;         /* enum wire_source that the first process chose; 0: none */
    /* count: of the time, and what of it went to code that does not count */
    uint64_t ticks, ticks_elsewhere;
    bool outlived;                      /* observed processes were alive when the program ended */
    struct launch_jits jits;            /* live: the caller's to free */
    struct launch_ticks clock;          /* built: the caller's to free */
    char message[LAUNCH_MESSAGE_BYTES]; /* exact: what ended the program or its recording early, a
                                   clause; or empty */
};

/*
 * Runs the program to its end and its samples into the log. The recording ends when
 * the program itself ends, as time(1) does: children that live on are not waited for.
 *
 * Signals that reach headroom meanwhile are passed on to the program, unless all of the process group got them;
 * what was ignored before stays so. Stop signals, and those of faults, mean headroom. If SIGTERM or SIGINT comes
 * again, a second or more after the first, and three seconds later the program still lives, the recording ends without
 * it: result->detached.
 *
 * On LAUNCH_OK the signals that were passed on, SIGPIPE and SIGXFSZ stay ignored, and this process's limits on file
 * size and descriptors stay raised: what is done with the log must not fail by them, nor change the exit status.
 * Otherwise everything is as before.
 */
enum launch_outcome launch_record(const struct launch_request *request,
                                  struct launch_result *result, char *error);

/* SIGINT, SIGQUIT, SIGTERM and SIGHUP are again what they were before the last recording. */
void launch_signals_release(void);

/* All that launch_record left changed is again as it was before: for another recording, at once before that. */
void launch_restore(void);

/* ---- by itself ---------------------------------------------------------------------------------- */

/*
 * Runs the program with nothing beside it, as launch_record, signals and limits included; of the request config and log are not used.
 * result: what the parent of a process can know. before: called when the child exists and before it executes the program; may be NULL.
 */
enum launch_outcome launch_plain(const struct launch_request *request,
                                 void (*before)(void *context, pid_t child), void *context,
                                 struct launch_result *result, char *error);

/* ---- spans timed (wire/spans.h) --------------------------------------------------------------- */

struct launch_spans_request {
    struct launch_request program; /* config.spans is filled in */
    struct inject_request hooks;   /* agent is filled in */
    uint32_t stack_period;         /* 0: 10,000 */
    bool no_switches;              /* context switches are not watched */
};

struct launch_spans_result {
    int region; /* descriptor of a struct spans_region; the caller's to close */
    struct inject_result hooks;
    char saved[LAUNCH_PATH_BYTES]; /* copy of the region, beside the log; "": none. The caller's to
                                      remove */
};

/* Does the name lead to the open file, by no symbolic link at its end? */
bool launch_names_file(const char *path, int file);
/* What the kernel calls an open file or directory now. False: no name leads to it. */
bool launch_file_name(int file, char path[LAUNCH_PATH_BYTES]);

/* Copies the region into a file beside the log, and under its name: SPANS_FILE_SUFFIX. False:
   there is no newer one; path is untouched. */
bool launch_spans_save(int region, const char *log_path, char path[LAUNCH_PATH_BYTES]);

/*
 * As launch_record, signals and limits included. Functions are hooked from outside while the
 * program runs: what was and what was not is in timed->hooks, on LAUNCH_OK the caller's:
 * launch_spans_free.
 */
enum launch_outcome launch_spans(const struct launch_spans_request *request,
                                 struct launch_spans_result *timed, struct launch_result *result,
                                 char *error);

/* Leaves the region open. */
void launch_spans_free(struct launch_spans_result *timed);

/* ---- clones of loops executed (trial/trial.h) ------------------------------------------------- */

/*
 * As launch_record, signals and limits included; config.clones is filled in, as is the trials' agent. cfg_start has been called.
 * *tried: on LAUNCH_OK, the caller's: trial_result_free.
 */
enum launch_outcome launch_clones(const struct launch_request *request,
                                  const struct trial_request *trials, struct trial_result *tried,
                                  struct launch_result *result, char *error);

/* ---- programs built by `headroom cc` --------------------------------------------------------- */

/*
 * As launch_record, signals and limits included; of the request config and log are not used. event: NULL: time
 * is measured, where the program measures. *region: descriptor of what was counted (wire/instrumented.h), on LAUNCH_OK
 * the caller's to close. result: what the parent of a process can know; images, also of forked children;
 * lost_threads: tables for which there was no memory.
 */
enum launch_outcome launch_instrumented(const struct launch_request *request,
                                        const struct instrumented_event *event, int *region,
                                        struct launch_result *result, char *error);

/* The event of that name (libpfm4's), if this machine can count it; else LAUNCH_FAILED and the reason. */
enum launch_outcome launch_event(const char *name, struct instrumented_event *event, char *error);

/* ---- the exact engine ------------------------------------------------------------------ */

/* A Valgrind tool: sees every access of the program, which runs several times slower. */

struct launch_exact_engine {
    char tool[LAUNCH_PATH_BYTES];    /* headroom-amd64-linux */
    char start[LAUNCH_PATH_BYTES];   /* headroom-exact-start, see launch/exact_start.c */
    char library[LAUNCH_PATH_BYTES]; /* folder of Valgrind's own files */
};

/* The engine beside this executable (build tree) or in ../lib/headroom/exact, and Valgrind's files. */
enum launch_outcome launch_exact_find(struct launch_exact_engine *engine, char *error);

/*
 * As launch_examine for the exact engine, which can do static programs and other C libraries, but
 * reads the file itself and executes nothing that gains rights by it.
 */
enum launch_outcome launch_exact_examine(const char *path, bool *shell, char *error);

/* A loop, by its head: of some executions of that, instructions are wanted that follow. */
struct launch_loop {
    const char *path; /* of the file, as the process has it mapped */
    uint64_t head;    /* ELF virtual address */
};
enum { LAUNCH_LOOPS = 16 };

enum launch_reuse { LAUNCH_REUSE_NONE, LAUNCH_REUSE_BYTE, LAUNCH_REUSE_WORD, LAUNCH_REUSE_LINE };

struct launch_exact_request {
    struct launch_request program; /* config: kinds (0: no waste), fp_tolerance, follow count */
    const struct launch_exact_engine *engine;
    enum launch_reuse reuse;
    bool stack;                       /* stack distances too */
    double share;                     /* waste, reuse: of locations, (0, 1] */
    uint64_t seed;                    /* waste: which of them; 0 always means the same */
    uint64_t jobs;                    /* waste: threads that count; 0: one */
    const struct cache_shape *caches; /* valid ones, to be simulated; with reuse only */
    size_t caches_count;              /* at most CACHE_MAX */
    const char *trace;                /* file or FIFO for the access trace of the program itself */
    bool trace_values;
    bool paths; /* follow paths; one of caches at most, of 64-byte lines */
    bool contexts, call_sites;
    const struct launch_loop *loops; /* with paths; at most LAUNCH_LOOPS */
    size_t loops_count;
    const struct cache_shape
        *levels; /* valid ones, with loops: caches that a miss goes to one after the other */
    size_t levels_count; /* at most CACHE_MAX */
    bool sharing;        /* follow lines that move between threads */
    /* Paths: writes the graphs of a module's functions (wire/graphs.h) to the file `answer`; the path and
       the inode are what the engine saw, program.context is handed over. Called while the program runs. */
    void (*graphs)(void *context, const char *module, const char *answer);
};

/* Observes a program that does nothing as `like` says, without leaving anything behind.
   LAUNCH_FAILED: error says why it does not work here. */
enum launch_outcome launch_exact_try(const struct launch_exact_request *like, char *error);

/*
 * As launch_record, signals and limits included. LAUNCH_FAILED also if the program was never
 * started, whatever the engine's exit status. result: degraded has
 * WIRE_DEGRADED_UNOBSERVED_CHILD at most; what the engine itself met is in its records.
 */
enum launch_outcome launch_exact(const struct launch_exact_request *request,
                                 struct launch_result *result, char *error);

#endif
