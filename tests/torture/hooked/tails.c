// SPDX-License-Identifier: MIT
/*
 * Tail calls: a jump into a hooked function from a hooked one, a million of them one after the
 * other, which may neither use stack nor whatever hooks keep for calls that have not returned.
 */
#include "hooked.h"

#define TAIL __attribute__((optimize("O2", "optimize-sibling-calls")))

HOOKED TAIL uint64_t odd(uint64_t left, uint64_t sum);

HOOKED TAIL uint64_t even(uint64_t left, uint64_t sum)
{
    if (left == 0)
        return sum;
    return odd(left - 1, sum + 1);
}

HOOKED TAIL uint64_t odd(uint64_t left, uint64_t sum)
{
    if (left == 0)
        return sum + 1000;
    return even(left - 1, sum + 2);
}

/* A machine of states, by pointers. */
struct machine {
    uint64_t steps, counts[4];
};
typedef uint64_t state_function(struct machine *, uint64_t);
HOOKED state_function red, green, blue, end;
static state_function *const states[] = {red, green, blue, end};

#define STATE(name, number)                                                                        \
    HOOKED TAIL uint64_t name(struct machine *machine, uint64_t value)                             \
    {                                                                                              \
        machine->counts[number]++;                                                                 \
        uint64_t next = value * 6364136223846793005u + 1442695040888963407u;                       \
        return states[machine->steps-- == 0 ? 3 : (next >> 33) % 3](machine, next);                \
    }
STATE(red, 0)
STATE(green, 1)
STATE(blue, 2)

HOOKED uint64_t end(struct machine *machine, uint64_t value)
{
    return value ^ machine->counts[0];
}

/* Tail calls below frames that return, many levels of both. */
HOOKED uint64_t mixed(uint64_t depth)
{
    if (depth == 0)
        return even(10, 0);
    uint64_t result = mixed(depth - 1) + even(depth, 0);
    NO_TAIL_CALL();
    return result;
}

static uint64_t steps;

static void *run(void *unused)
{
    struct machine machine = {.steps = steps};
    say("even %llu, odd %llu\n", (unsigned long long)even(steps, 0),
        (unsigned long long)odd(steps, 0));
    uint64_t last = red(&machine, 1);
    say("last %llu: %llu %llu %llu\n", (unsigned long long)last,
        (unsigned long long)machine.counts[0], (unsigned long long)machine.counts[1],
        (unsigned long long)machine.counts[2]);
    say("mixed %llu\n", (unsigned long long)mixed(300));
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    steps = amount(argc, argv, 1000000);
    for (int i = 0; i < 2; i++)
        run(NULL);
    must(pthread_attr_init(&attributes) == 0);
    must(pthread_attr_setstacksize(&attributes, 65536) == 0);
    must(pthread_create(&thread, &attributes, run, NULL) == 0);
    must(pthread_join(thread, NULL) == 0);
    return 0;
}
