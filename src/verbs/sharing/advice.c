// SPDX-License-Identifier: MIT
/* What is usually done about a line that moves between threads. */
#include "sharing/internal.h"

#include <string.h>

static const char apart[] =
    "The threads use different bytes of the line: keep what each one writes on a line of its own, "
    "with alignas(64), or alignas(128) where processors fetch lines in pairs, or count in a local "
    "variable and write it once.";
static const char elements[] = "Elements that different threads write lie on the same lines: pad "
                               "the element's type to 64 bytes "
                               "(alignas(64)), or give each thread a range of whole lines.";
static const char blocks[] =
    "Small blocks of the heap that different threads write share a line: allocate them with "
    "aligned_alloc(64, ...) and a size that is a multiple of 64, or let each thread allocate its "
    "own.";
static const char read_mostly[] = "One thread writes on the line, and others read other bytes of "
                                  "it: move what is mostly read away "
                                  "from what is written, to a line of its own.";
static const char stack[] = "The line is on a thread's stack: give each thread variables of its "
                            "own, or align those that are "
                            "handed to other threads to 64 bytes.";
static const char lock[] =
    "The threads change the same bytes with locked instructions, as locks and atomic counters do: "
    "this "
    "is true sharing, which padding does not mend. If it is a lock, hold it less often, or split "
    "it: "
    "'headroom interference' shows who waits for whom. If it counts, count per thread and add up.";
static const char same_bytes[] =
    "The threads use the same bytes: this is true sharing, which padding does not mend. Give each "
    "thread its own copy and join them at the end, or exchange larger pieces less often.";
static const char lock_beside[] =
    "A word that threads change with locked instructions, a lock or an atomic counter, lies on one "
    "line "
    "with other data: put the word on a line of its own. What it does itself is true sharing, "
    "which "
    "padding does not mend: 'headroom interference' shows who waits for a lock.";
static const char library_lock[] =
    "The line holds a lock of the C library, whose words move with each thread that takes it: this "
    "is true sharing, which padding does not mend. Hold it less often, split it, or give each "
    "thread a copy of what it protects: 'headroom interference' shows who waits for whom.";
static const char mixed[] =
    "Some of the bytes are shared, others merely lie beside them: put the shared ones on a line "
    "of their own first, and see what is left.";

static const char runtime[] =
    "Both the code and the memory are a library's own, such as a runtime's of threads: use it less "
    "often. Give each thread larger pieces of work (with OpenMP larger chunks, or "
    "schedule(static)), and begin parallel regions less often.";

static bool is_systems(const struct places *places, uint32_t context)
{
    return places->system[places->profile->contexts[context].frame];
}

/* Are most of the transfers whose places are known between such places? */
static bool most_places(const struct places *places, const struct sharing_line *line,
                        bool (*is_such)(const struct places *places, uint32_t context))
{
    double known = 0, such = 0;
    for (size_t i = 0; i < line->pairs_count; i++) {
        const struct sharing_pair *pair = &line->pairs[i];
        if (!place_pair_is_known(pair->first, pair->second))
            continue;
        known += pair->transfers;
        if ((!pair->first || is_such(places, pair->first)) &&
            (!pair->second || is_such(places, pair->second)))
            such += pair->transfers;
    }
    return known > 0 && such >= SHARING_CLEAR * known;
}

/* Functions that do nothing but take and leave locks; what they touch is the lock. */
static bool is_locks(const struct places *places, uint32_t context)
{
    static const char *const names[] = {"pthread_mutex_", "pthread_rwlock_", "pthread_spin_",
                                        "lll_lock",       "lll_unlock",      "lll_mutex_"};
    const struct profile_frame *frame =
        &places->profile->frames[places->profile->contexts[context].frame];
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (frame->function && strstr(frame->function, names[i]))
            return true;
    return false;
}

/* By innermost frames, and by the object: where a library copies data of the program's, that is the program's object. */
static bool is_runtimes(const struct places *places, const struct sharing_line *line)
{
    return (line->row->object == PROFILE_OBJECT_THREAD ||
            line->row->object == PROFILE_OBJECT_UNKNOWN) &&
           most_places(places, line, is_systems);
}

/* Of two accesses one reads: nobody writes beside another's writes. */
static bool only_read_beside(const struct sharing_line *line)
{
    double both = 0;
    for (size_t i = 0; i < line->rows_count; i++)
        if (line->rows[i].first_kind & line->rows[i].second_kind & SHARING_WRITES)
            both += line->rows[i].transfers;
    return both < (1 - SHARING_CLEAR) * line->transfers;
}

static struct advice advise(const char *id, const char *text)
{
    return (struct advice){.id = id, .text = text, .evidence = ADVICE_EXACT};
}

static struct advice choose(const struct places *places, const struct sharing_line *line)
{
    uint32_t object = line->row->object;
    if (is_runtimes(places, line))
        return advise("sharing.runtime", runtime);
    /* Words of one lock are true sharing, at least in part. Where none is, several locks lie on the line, each used by a thread
       of its own. */
    if (line->class != SHARING_FALSE && most_places(places, line, is_locks))
        return advise("sharing.library-lock", library_lock);
    if (line->class == SHARING_MIXED && line->locked)
        return advise("sharing.lock-beside", lock_beside);
    if (line->class == SHARING_MIXED)
        return advise("sharing.mixed", mixed);
    if (line->class == SHARING_TRUE)
        return line->locked ? advise("sharing.lock", lock) : advise("sharing.same", same_bytes);
    if (only_read_beside(line))
        return advise("sharing.read-mostly", read_mostly);
    if (object == PROFILE_OBJECT_STACK)
        return advise("sharing.stack", stack);
    if (object == PROFILE_OBJECT_HEAP && line->row->size < SHARING_LINE_BYTES)
        return advise("sharing.blocks", blocks);
    return line->lines > 1 ? advise("sharing.elements", elements) : advise("sharing.apart", apart);
}

struct advice sharing_usual(const char *id, const char **what)
{
    static const char wrongly[] = "false sharing", rightly[] = "true sharing",
                      both[] = "true and false sharing";
    static const struct usual {
        const char *id, *text, *what;
    } all[] = {
        {"sharing.apart", apart, wrongly},
        {"sharing.elements", elements, wrongly},
        {"sharing.blocks", blocks, wrongly},
        {"sharing.read-mostly", read_mostly, wrongly},
        {"sharing.stack", stack, wrongly},
        {"sharing.lock", lock, rightly},
        {"sharing.same", same_bytes, rightly},
        {"sharing.lock-beside", lock_beside, both},
        {"sharing.mixed", mixed, both},
        {"sharing.runtime", runtime, "sharing"},
        {"sharing.library-lock", library_lock, rightly},
    };
    for (size_t i = 0; i < BASE_COUNT(all); i++)
        if (strcmp(all[i].id, id) == 0) {
            *what = all[i].what;
            return advise(all[i].id, all[i].text);
        }
    return (struct advice){0};
}

struct advice sharing_advice(const struct sharing_report *report, const struct sharing_line *line)
{
    struct advice advice = choose(report->places, line);
    if (report->live)
        advice.evidence = line->few || sharing_spins(report) ? ADVICE_WEAK : ADVICE_STRONG;
    return advice;
}
