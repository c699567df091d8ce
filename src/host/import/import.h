// SPDX-License-Identifier: MIT
/*
 * import: turns the raw log of a recording into a profile: orders frames,
 * rebuilds contexts, names them through `binary`, merges threads and processes.
 */
#ifndef HEADROOM_IMPORT_H
#define HEADROOM_IMPORT_H

#include "base/base.h"
#include "binary/binary.h"
#include "wire/wire.h"

struct profile;

/* Where a process that ran code of no file may have put the names of that (binary/jit.h). */
struct import_jit {
    uint32_t process;         /* image, as in the log */
    uint32_t pid, uid;        /* as the process knows itself */
    int temporary, directory; /* open: its /tmp and its working directory; -1: not known */
    int dump;                 /* open: its jitdump; -1: not known */
};

/* Samples of the clock in one place of a file, taken from outside. */
struct import_clock_tick {
    const char *path; /* NULL: in no file, or not known */
    uint64_t offset;  /* in the file */
    uint64_t ticks, ns;
};

/* What headroom knows about the run and the log does not. */
struct import_run {
    const char *verb;     /* "waste" */
    const char *engine;   /* "live" */
    char *const *command; /* NULL-terminated argv */
    bool exited;          /* exit_code valid; else killed by `signal`; neither: unknown (-1) */
    int exit_code, signal;
    double wall_s, cpu_s;        /* of the observed program and its waited-for children */
    double system_s;             /* of cpu_s, in the kernel; negative: not known */
    uint64_t start_ns;           /* CLOCK_REALTIME */
    const char *const *degraded; /* sentences, NULL-terminated */
    uint64_t corrupt_records;
    uint64_t lost_threads, lost_processes;
    uint64_t short_threads; /* as in struct launch_result */
    bool log_truncated;     /* disk full while recording */
    bool outlived; /* processes may have gone on since: a region may hold more than the log */
    double accesses_per_ns; /* live reuse: given by the user; 0: estimated */
    const char *event;      /* built: counted in place of cycles; NULL: none */
    uint64_t lost_events;   /* threads in which it could not be counted */
    /* the open log: its name may be gone or lead elsewhere by now. NULL: it is opened
       by name */
    const int *log;
    /* should the log have lost its own; may be NULL with `log` NULL */
    const struct wire_config *config;
    uint64_t peak_bytes;           /* largest resident set of a process; 0: not known */
    const struct import_jit *jits; /* of other images both files are looked for here, by pid */
    size_t jits_count;
    const struct import_clock_tick *clock; /* built; in any order */
    size_t clock_count;
};

/* Called now and then with done/total of a named step, at most some times a second; may be NULL. */
typedef void import_progress(void *context, const char *step, uint64_t done, uint64_t total);

/*
 * Reads the raw log `log_path` and writes a new profile at `profile_path`
 * (created 0600, atomically put in place; an existing regular file is renamed to
 * `.old`; a symlink is refused). run may be NULL when a left-over log is read
 * without its recording (then the verb that leaves such logs, engine "live", command from the first
 * PROCESS record). error: one sentence on failure (at least 512 bytes).
 */
enum base_status import_log(const char *log_path, const struct import_run *run,
                            const struct binary_options *symbols, const char *profile_path,
                            import_progress *progress, void *progress_context, char *error,
                            size_t error_bytes);

/*
 * The same from the recording region of instrumented programs (wire/instrumented.h), an open file of which they had
 * all in their memory, and which they may still have. run->verb is "paths", run->engine "built".
 */
enum base_status import_instrumented(int region, const struct import_run *run,
                                     const struct binary_options *symbols, const char *output,
                                     import_progress *progress, void *progress_context, char *error,
                                     size_t error_bytes);

/* A function that was to be hooked and is not. */
struct import_skip {
    const char *function; /* linkage name */
    const char *module;   /* path; NULL: not known */
    const char *why;      /* a clause */
};

/* What a killed headroom had saved of a region: into memory. *region: the caller's to close. */
enum base_status import_spans_restore(const char *path, int *region, char *error,
                                      size_t error_bytes);

/*
 * As import_log, for `headroom interference`: what was timed is in `region` (wire/spans.h), an open file of which the
 * programs had all in their memory, and which they may still have. run->verb is "interference";
 * without `run` it is a left-over log and what was saved beside it.
 */
enum base_status import_spans(const char *log_path, int region, const struct import_run *run,
                              const struct import_skip *skips, size_t skips_count,
                              const struct binary_options *symbols, const char *output,
                              import_progress *progress, void *progress_context, char *error,
                              size_t error_bytes);

/* What was timed of the functions, markers and loops that one name of a request stands for (spans_function.named), in all threads and
   processes. Times are without preemption. */
struct import_spans_sum {
    uint32_t entry;            /* enum spans_entry; of several the first */
    bool inside;               /* as in struct spans_function */
    uint64_t visits, recorded; /* executions; of these, timed */
    uint64_t preemptions, sleeps;
    double sum_ns;                  /* of all visits, an estimate if not all were timed */
    double min_ns, max_ns;          /* of those timed; 0 if there are none */
    double preempted_ns, asleep_ns; /* of all visits likewise; the former is no part of sum_ns */
    double cost_ns;                 /* estimated, of timing a visit */
};

/* Of a region of spans (wire/spans.h) as in import_spans; sums: one for each of the `count` names. error: one sentence. */
enum base_status import_spans_sums(int region, struct import_spans_sum *sums, size_t count,
                                   char *error, size_t error_bytes);

/* The profile's host, kernel and processor are this machine's. */
void import_describe_machine(struct profile *profile);

#endif
