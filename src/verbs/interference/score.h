// SPDX-License-Identifier: MIT
/*
 * From what executions of spans took to what threads lost by it, and why (ispot:
 * Slowdown Caused by Interference). Pure: figures in, scores and findings out; no I/O.
 *
 * For a span executed n times, SCI = Σ(d_j - d_min) / duration of the thread (ispot §2). d_min is
 * the minimum over all threads of the span. Where only some executions were recorded, what those
 * lost is scaled by count / recorded.
 *
 * All times are nanoseconds as double, finite and >= 0; counts are below 2^50. Input arrays are the
 * caller's and must outlive the result. One call at a time needs no other state: thread-safe.
 */
#ifndef HEADROOM_INTERFERENCE_SCORE_H
#define HEADROOM_INTERFERENCE_SCORE_H

#include "base/base.h"
#include "wire/spans.h"

enum {
    INTERFERENCE_LEAST =
        1000, /* executions recorded; with fewer the fastest may be slow, too (ispot §5.3) */
    INTERFERENCE_VALUES = 4, /* of a sample: arguments 0, 1, 2, result */
    INTERFERENCE_RESULT = 3,
    INTERFERENCE_SENTENCE_BYTES = 320,
    INTERFERENCE_SENTENCES = 8, /* at most, of evidence */
};

/* ---- in ------------------------------------------------------------------------------------- */

struct interference_thread {
    double duration_ns;  /* from its beginning to its end */
    double preempted_ns; /* of that, as far as it was seen */
    double asleep_ns;    /* likewise */
    double cpu_ns;       /* 0: not known */
    bool switches_lost;  /* it was preempted or asleep for longer than was seen */
};

struct interference_function {
    uint32_t class; /* enum spans_class */
};

struct interference_part { /* of a span: what one thread did */
    uint32_t thread;
    uint64_t count, recorded;       /* recorded <= count */
    double sum_ns;                  /* of the recorded, without preemption */
    double min_ns;                  /* min_ns * recorded <= sum_ns but for rounding */
    double within_ns;               /* of sum_ns: in spans that were called */
    double preempted_ns, asleep_ns; /* during the recorded; asleep is part of sum_ns */
    double asleep_within_ns;        /* of asleep_ns: in spans that were called */
};

struct interference_bin { /* executions with low <= duration < high; ascending, apart */
    double low_ns, high_ns;
    uint64_t count;
};

struct interference_child { /* what a span called, times in a row */
    uint32_t function, count;
    uint64_t shape;
};

struct interference_sample {
    double ns, weight; /* weight: executions that it stands for */
    uint64_t value[INTERFERENCE_VALUES];
};

struct interference_span {
    uint32_t function; /* index into functions; of a sequence: not used */
    uint32_t flags;    /* enum spans_flags */
    uint64_t key, shape;
    double max_ns;
    const struct interference_part *parts; /* one for each thread, at most */
    size_t parts_count;
    const struct interference_bin *bins;
    size_t bins_count;
    const struct interference_child *children;
    size_t children_count;
    const struct interference_sample *samples;
    size_t samples_count;
    const uint32_t *callers; /* by stack taken: the calling function; UINT32_MAX: it is not timed */
    size_t callers_count;
    bool never_held; /* of a lock: no execution was seen to wait for another thread that had it */
};

struct interference_input {
    const struct interference_thread *threads;
    size_t threads_count;
    const struct interference_function *functions;
    size_t functions_count;
    const struct interference_span *spans;
    size_t spans_count;
    uint64_t least; /* executions recorded for a score; 0: INTERFERENCE_LEAST */
    double step_ns; /* of the clock: executions that differ from the fastest by no more do not
                       differ, and none is shorter */
    bool sampled;   /* some executions were not timed */
    bool switches; /* preemption and sleep were watched; else asleep_ns, preempted_ns say nothing */
};

/* ---- out ------------------------------------------------------------------------------------ */

enum interference_state {
    INTERFERENCE_SCORED,
    INTERFERENCE_FEW,  /* too few executions: no score */
    INTERFERENCE_IDLE, /* waits for something to happen: never called interference */
};

/* What the evidence supports. */
enum interference_cause {
    INTERFERENCE_UNKNOWN,
    INTERFERENCE_LOCK,      /* takes or gives back a lock */
    INTERFERENCE_CONDITION, /* waits for another thread to say something */
    INTERFERENCE_IMBALANCE, /* waits at a barrier for slower threads */
    INTERFERENCE_IO,
    INTERFERENCE_ALLOCATOR,
    INTERFERENCE_PREEMPTION, /* more threads than processors: slow around being preempted */
    INTERFERENCE_SHARED,  /* on the CPU, no reason seen: shared data or memory bandwidth, or varying
                             work */
    INTERFERENCE_VARYING, /* it had more to do: follows an argument or the result */
    INTERFERENCE_NESTED,  /* nearly all of it in spans that it calls: see those */
    INTERFERENCE_WAITING, /* idle */
    INTERFERENCE_CAUSES
};
extern const char *const interference_cause_names[INTERFERENCE_CAUSES]; /* "unknown", "lock", ... */

/* How durations in samples go with one of their values. */
struct interference_relation {
    uint32_t value; /* index into value[] */
    uint32_t samples;
    uint32_t groups;  /* of samples with the same value, or neighbouring ones */
    bool equal;       /* each group has one value */
    double spearman;  /* rank correlation, -1..1 */
    double explained; /* share of the span's loss that calls with other values explain, 0..1 */
};

struct interference_score { /* of a span */
    enum interference_state state;
    enum interference_cause cause;
    uint64_t count, recorded;
    uint32_t threads;
    double total_ns;                                          /* of all executions, scaled */
    double min_ns, p1_ns, median_ns, p99_ns, max_ns, mean_ns; /* percentiles from the histogram */
    double
        beyond_step; /* share of what is lost by the minimum that no step of the clock explains */
    double
        slow; /* of the recorded executions, how many the loss is spread over: (Σx)² / Σx² of what each lost */
    double
        floor_ns; /* the minimum, but not less than a step of the clock: loss is what is beyond */
    double threads_ns; /* durations of the threads that executed it, summed */
    double working_ns; /* their working times */
    double self_ns;    /* of total_ns: in no span that it calls; 0 of a sequence */
    /* 0 unless SCORED: */
    double lost_ns; /* Σ(d - min), scaled */
    double own_ns; /* of that, not counted in a span that it calls; of a sequence: in its members */
    double sci;    /* lost_ns / working_ns, 0..1 */
    double lost_p1_ns, sci_p1; /* the same against the 1st percentile */
    double given_ns; /* of a lock: of all these, what its callers slept while it was not timed */
    double gain;     /* of the program's run time, at most, if every execution were as fast as the
                    fastest, 0..1 */
    /* evidence */
    double asleep_ns, preempted_ns; /* scaled */
    double asleep_share;            /* of lost_ns; 0 if not watched */
    double asleep_within_ns;        /* of asleep_ns: in spans that it calls, scaled */
    uint32_t least_thread,
        most_thread; /* that give it the smallest and the largest share of their time */
    double least_share, most_share; /* these */
    bool related;
    struct interference_relation relation; /* the value that explains most, if related */
};

struct interference_thread_score {
    double lost_ns[INTERFERENCE_CAUSES]; /* own_ns by cause, no span within another counted twice;
                                            sequences left out; WAITING: whole duration of idle
                                            waits */
    double interference_ns; /* of these without VARYING and WAITING, at most the working time */
    /* Its duration without idle waits, without the time in which it was preempted, and without what it slept in
       nothing that ended: a thread that waits for work until the program ends. 0..duration */
    double working_ns;
    /* Executions that are timed are slower than the others, by the timing and by what it brings about. Where they stand for others
       as well, their times may add up to more than the thread had: what they are to be multiplied by, 0..1. */
    double fit;
    /* Of its CPU time: in spans with a score, what those call included; in spans with too few executions; the rest was not
       timed. All 0 if the CPU time is not known. */
    double judged_ns, few_ns, untimed_ns;
};

struct interference_function_score {
    double lost_ns, own_ns, sci, threads_ns;
    /* what would have been lost too, if keys and shapes were not distinguished */
    double explained_ns;
    uint32_t scored, few; /* spans */
};

struct interference_result {
    const struct interference_input *input;
    struct interference_score *spans;              /* beside input->spans */
    struct interference_thread_score *threads;     /* beside input->threads */
    struct interference_function_score *functions; /* beside input->functions */
    /* Indices of spans: SCORED with some loss that is not VARYING, most own_ns first; VARYING
       likewise; scored sequences likewise; FEW by self_ns; IDLE by total_ns. */
    uint32_t *ranked, *varying, *sequences, *few, *idle;
    size_t ranked_count, varying_count, sequences_count, few_count, idle_count;
    double lost_ns[INTERFERENCE_CAUSES]; /* of all threads */
    double threads_ns, working_ns, interference_ns, preempted_ns;
    double cpu_ns, judged_ns, few_ns, untimed_ns; /* of threads whose CPU time is known */
    double gain; /* of the program's run time, at most, if nothing were lost to interference */
};

/* BASE_NO_MEMORY; then *result is untouched. */
enum base_status interference_analyse(const struct interference_input *input,
                                      struct interference_result **result);
void interference_free(struct interference_result *result); /* NULL does nothing */

/* What the part lost, nanoseconds; of a scored span. */
double interference_lost_in(const struct interference_result *result,
                            const struct interference_part *part,
                            const struct interference_score *score);

/*
 * What speaks for the span's cause, in sentences, strongest first; threads are
 * called by their index + 1. Returns how many were written.
 */
size_t interference_evidence(const struct interference_result *result, uint32_t span,
                             char sentences[][INTERFERENCE_SENTENCE_BYTES], size_t room);

/* The sentence of INTERFERENCE_SHARED, which is the same for all spans. */
extern const char interference_shared_sentence[];

/* ---- other keys --------------------------------------------------------------------------- */

/* What a score would be if calls were distinguished by one of their values: from samples, so an
 * estimate. */
struct interference_regrouped {
    size_t samples, groups; /* samples in groups that are large enough, and these */
    double kept;            /* of the loss that remains, 0..1 */
};
struct interference_group {
    uint64_t value;
    size_t samples;
    double min_ns, mean_ns;
};

/* Fewer samples with one value do not show how fast it can be. */
enum { INTERFERENCE_GROUP_LEAST = 4 };

/*
 * value: index into value[]. groups: may be NULL; filled with those large enough, most samples
 * first, at most `room`. samples 0: nothing can be said. BASE_NO_MEMORY.
 */
enum base_status interference_regroup(const struct interference_sample *samples, size_t count,
                                      uint32_t value, struct interference_regrouped *regrouped,
                                      struct interference_group *groups, size_t room);

#endif
