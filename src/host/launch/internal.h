// SPDX-License-Identifier: MIT
/*
 * The parts of a recording, private to launch: the raw log, the table builder,
 * the start of the program.
 */
#ifndef HEADROOM_LAUNCH_INTERNAL_H
#define HEADROOM_LAUNCH_INTERNAL_H

#include "launch/launch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

/* ---- raw log (log.c) ----------------------------------------------------------------- */

struct launch_log {
    int file;
    uint64_t bytes;  /* written in whole frames */
    uint64_t images; /* PROCESS records seen */
    int failure;     /* errno of the write that failed; everything since then is discarded */
    struct launch_jits jits;
};

/* Writes the header. False: failure is set. */
bool launch_log_begin(struct launch_log *log, int file, const struct wire_config *config);
/* The recording goes by another source than was thought when it began. */
void launch_log_source(struct launch_log *log, uint32_t source);

/* The image has executed code that is in no file (jit.c). */
void launch_jits_note(struct launch_jits *jits, uint32_t process, uint32_t pid);

/* wire_sink; context is a struct launch_log. Keeps counting after a failure. */
bool launch_log_sink(void *log, const struct wire_frame *frame, const void *payload);

/* ---- unwind tables (tables.c) ----------------------------------------------------------- */

/* What was made for one slot of region->tables; copies, because the slot is not to be trusted. */
struct launch_table {
    int file;   /* memfd, -1: none */
    int source; /* the module's file, held open until the table is wanted; -1: not held */
    uint64_t bytes, device, inode;
    char path[WIRE_PATH_BYTES];
};

struct launch_tables {
    struct wire_region *region;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    bool requested, hold, quit; /* under mutex */
    bool running, refused; /* the thread; refused: none could be made, requests stay unserved */
    uint32_t named;        /* slots that were in use when the thread was last asked to hold files */
    uint32_t used;         /* of made; it and they are the thread's until it was joined */
    struct launch_table made[WIRE_TABLES]; /* last: not touched until used */
};

void launch_tables_begin(struct launch_tables *tables, struct wire_region *region);

/*
 * Wakes the thread that compiles tables if some slot is WANTED, and starts it when that is so for the first time;
 * it runs with all signals blocked. hold: the files of slots that are not wanted are opened, once: should a file
 * be replaced while the program goes on with the old one, its table is still that of the old one.
 */
void launch_tables_serve(struct launch_tables *tables, bool hold);

/* Waits for the table in work, closes all tables. */
void launch_tables_end(struct launch_tables *tables);

/* ---- start (start.c) ---------------------------------------------------------------------- */

/* A copy of the environment with the agent in it; one block for free(). NULL: no memory. */
char **launch_environment(char *const *environment, const char *agent, int pid, int region);

/* What headroom changes in itself before the fork, as it was: to be given to the program. */
struct launch_inherited {
    sigset_t mask;
    struct sigaction child, file_size; /* SIGCHLD, SIGXFSZ */
    struct rlimit limits[2];           /* launch_raised_limits */
};
extern const int launch_raised_limits[2];

/*
 * Forks and executes. All signals must be blocked. On success *child runs the program; else *reason is the errno of the
 * failing step and no child is left. before, which may be NULL, runs when the child exists and before it executes the
 * program.
 */
bool launch_start(const struct launch_request *request, char *const *environment,
                  const struct launch_inherited *inherited,
                  void (*before)(void *context, pid_t child), void *context, pid_t *child,
                  int *reason);

/* One variable "NAME=..." more, in place of what there was; one block for free(), strings are
   shared. NULL: no memory. */
char **launch_environment_with(char *const *environment, const char *variable);

/* ---- what goes on beside a recording (record.c) ------------------------------------------------- */

/* What another room does beside; all may be NULL. Called by the thread of launch_record, in this order. */
struct launch_companion {
    void *context;
    /* Limits are raised. May change config. False: error is set. */
    bool (*prepare)(void *context, struct wire_config *config, char *error);
    void (*before)(void *context, pid_t child); /* as launch_start */
    void (*begun)(void *context, pid_t child);  /* signals are not blocked */
    void (*tick)(void *context);                /* every 50 ms, or more often */
    /* pid will be traced: its code is left alone from now on */
    void (*hush)(void *context, uint32_t pid);
    void (*ended)(void *context); /* if it has begun: the program is reaped */
};

enum launch_outcome launch_record_beside(const struct launch_request *request,
                                         const struct launch_companion *companion,
                                         struct launch_result *result, char *error);

/* ---- signals (signals.c) -------------------------------------------------------------------------- */

struct launch_signals {
    struct launch_inherited program;
    struct sigaction before[65]; /* of those that are passed on, and of SIGPIPE */
    bool begun;
    pid_t child;
    pid_t sentinel;  /* in headroom's process group; not above 0: there is none */
    int ask, answer; /* pipes to it and from it */
    uint64_t due_ns; /* CLOCK_MONOTONIC: when what has arrived is passed on; 0: nothing has */
    uint64_t asked_ns, farewell_ns; /* the program was first asked to end; its time is over */
    int wish;                       /* signal by which it was asked again; 0: it was not */
    int interrupted;                /* a signal that asks to end has arrived, for whomever */
};

/* Blocks all signals. Before the fork, with few descriptors open. False: errno; end them all the same. */
bool launch_signals_prepare(struct launch_signals *signals);
/* Becomes readable when a signal has arrived; of the recording that is prepared. */
int launch_signals_file(void);
/* region: its doorbell is rung at every signal; may be NULL. */
void launch_signals_begin(struct launch_signals *signals, struct wire_region *region, pid_t child);
/* Passes on to the program what has arrived for it, a little later. True: it was asked to end more than once, and
   has not: signals->wish. */
bool launch_signals_serve(struct launch_signals *signals);
/* How long to sleep: most_ms, or less if something has arrived. */
int launch_signals_wait_ms(const struct launch_signals *signals, int most_ms);
/* A signal that asks to end has arrived since the beginning: its number, else 0. */
int launch_signals_interrupted(const struct launch_signals *signals);
/* recorded: what launch_record leaves changed in this process stays so. */
void launch_signals_end(struct launch_signals *signals, bool recorded);
/* Dispositions are again what they were before the last recording that left them changed. */
void launch_signals_restore(void);

/* ---- all recordings (supervise.c) ------------------------------------------------------------- */

uint64_t launch_now_ns(clockid_t clock);

/* error: of LAUNCH_ERROR_BYTES; reason: an errno, launch_fail_region's is the current one. */
void launch_fail(char *error, const char *step, int reason);
void launch_fail_region(char *error);

#endif
