// SPDX-License-Identifier: MIT
/*
 * Access counters. Without an agent the count is so far from the access waited for that it never
 * gets there. The agent is notified by a signal, in whose frame all registers are safe, and which it
 * has on its own stack; if the program blocks the signal, nothing happens but that this access is
 * missed. Rejected: int3, which ends programs that block SIGTRAP.
 */
#include "runtime/runtime.h"

#include <asm/unistd.h>

enum { TRAP = 5, QUEUED = -1, /* SIGTRAP, SI_QUEUE */ AGAIN = 1 << 20 };
_Static_assert(INSTRUMENTED_LANES == 4, "initial values");

RUNTIME_SHARED __thread struct instrumented_accesses headroom_accesses __attribute__((
    tls_model("initial-exec"))) = {.left = {-INSTRUMENTED_FAR_AWAY, -INSTRUMENTED_FAR_AWAY,
                                            -INSTRUMENTED_FAR_AWAY, -INSTRUMENTED_FAR_AWAY},
                                   .before = INSTRUMENTED_LANES * INSTRUMENTED_FAR_AWAY};

/* siginfo_t, which is the C library's. */
struct signal {
    int32_t number, error, code, padding;
    uint32_t pid, uid;
    uint64_t value;
    uint64_t rest[12];
};

static void notify_agent(struct instrumented_accesses *accesses)
{
    long pid = RUNTIME_CALL(__NR_getpid);
    struct signal signal = {
        .number = TRAP, .code = QUEUED, .pid = (uint32_t)pid, .value = accesses->agent};
    RUNTIME_CALL(__NR_rt_tgsigqueueinfo, pid, RUNTIME_CALL(__NR_gettid), TRAP, &signal);
}

/* general: as in struct instrumented_due. what: see INSTRUMENTED_DUE_EACH. */
void runtime_access_due(const uint64_t *general, uint64_t ip, int64_t what)
{
    struct instrumented_accesses *accesses = &headroom_accesses;
    int64_t low = what & (INSTRUMENTED_LANES * INSTRUMENTED_DUE_EACH - 1);
    int64_t each = low % INSTRUMENTED_DUE_EACH, lane = low / INSTRUMENTED_DUE_EACH;
    struct instrumented_due due = {.ip = ip,
                                   .ahead =
                                       (what - low) / (INSTRUMENTED_LANES * INSTRUMENTED_DUE_EACH) +
                                       each * (int64_t)general[BASE_RCX],
                                   .lane = (uint64_t)lane};
    for (unsigned i = 0; i < BASE_GENERAL_REGISTERS; i++)
        due.general[i] = general[i];
    if (accesses->agent) {
        *(const struct instrumented_due *volatile *)&accesses->now = &due;
        notify_agent(accesses);
        *(const struct instrumented_due *volatile *)&accesses->now = NULL;
    }
    int64_t *left = &accesses->left[lane];
    if (*left >= 0) { /* nobody took it */
        int64_t later = *left + (accesses->agent ? AGAIN : INSTRUMENTED_FAR_AWAY);
        *left -= later;
        accesses->before += later;
    }
}
