// SPDX-License-Identifier: MIT
/*
 * A simulated machine (flat memory, four watchpoints, contexts as small numbers)
 * runs traces of accesses past detect. Known answers are the paper's listings 2 and 3 and
 * figure 2, at a hundredth of their size; random traces are judged byte by byte by an oracle
 * that sees every access. The planted faults must give the paper's wrong answers.
 */
#include "detect/detect.h"
#include "estimate/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { CONTEXTS = 24, MEMORY_BYTES = 32768 };

/* ---- the machine --------------------------------------------------------------------- */

struct access {
    uint32_t address;
    uint8_t bytes, direction, context, element_bytes, element_is_float;
    uint8_t value[DETECT_MAX_BYTES]; /* stores: what is stored */
};

struct watch {
    bool armed;
    uint8_t kind;
    uint64_t byte;
};

struct machine {
    struct detect detect;
    struct watch watches[DETECT_MAX_REGISTERS];
    struct base_random random;
    struct detect_context contexts[CONTEXTS];
    uint8_t memory[MEMORY_BYTES];
    uint64_t period[DETECT_REUSE], countdown[DETECT_REUSE];
    bool refuse; /* arming fails */
    bool fixed;  /* no jitter of the period */
    unsigned arms, disarms;
    double weight[DETECT_REUSE][3][CONTEXTS][CONTEXTS]; /* [kind][verdict][watch][trap] */
    double bytes[DETECT_REUSE][3];
    double inverse[DETECT_REUSE][3]; /* sum of 1 / chance */
    /* Called with each finding, if set. */
    void (*witness)(struct machine *, const struct detect_sample *, enum detect_verdict);
    const void *oracle;
    uint32_t taken_at[DETECT_MAX_REGISTERS]; /* index of the access that was sampled */
    uint32_t now;
};

static bool machine_arm(void *context, unsigned index, const struct detect_sample *sample)
{
    struct machine *machine = context;
    assert_true(index < machine->detect.options.registers);
    assert_false(machine->watches[index].armed);
    if (machine->refuse)
        return false;
    machine->watches[index] = (struct watch){true, sample->kind, sample->watched};
    machine->taken_at[index] = machine->now;
    machine->arms++;
    return true;
}

static void machine_disarm(void *context, unsigned index)
{
    struct machine *machine = context;
    assert_true(machine->watches[index].armed);
    machine->watches[index].armed = false;
    machine->disarms++;
}

static uint64_t machine_random(void *context, uint64_t bound)
{
    struct machine *machine = context;
    assert_true(bound > 0);
    return base_random_below(&machine->random, bound);
}

static struct machine *machine_new(const struct detect_options *options, uint64_t seed)
{
    struct machine *machine = calloc(1, sizeof *machine);
    struct detect_hooks hooks = {machine_arm, machine_disarm, machine_random, machine};
    assert_non_null(machine);
    machine->random.state = seed;
    detect_init(&machine->detect, options, &hooks);
    return machine;
}

/* What must hold between detect and the machine after every step. */
static void machine_check(const struct machine *machine)
{
    unsigned armed[DETECT_REUSE] = {0}, busy = 0;
    const struct detect_counts *counts = &machine->detect.counts;
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++) {
        const struct detect_register *watch = &machine->detect.registers[i];
        assert_int_equal(watch->busy, machine->watches[i].armed);
        busy += watch->busy;
        if (watch->busy) {
            armed[watch->sample.kind]++;
            assert_true(watch->kinds >> watch->sample.kind & 1);
        }
    }
    assert_int_equal(machine->arms - machine->disarms, busy);
    for (unsigned k = 0; k < DETECT_REUSE; k++) {
        unsigned in_contexts = 0;
        for (unsigned c = 0; c < CONTEXTS; c++)
            in_contexts += machine->contexts[c].armed[k];
        assert_int_equal(in_contexts, armed[k]);
        assert_int_equal(counts->armed[k],
                         counts->traps[k] + counts->evicted[k] + counts->abandoned[k] + armed[k]);
        assert_true(counts->armed[k] <= counts->samples[k]);
    }
}

static void touch_watches(struct machine *machine, const struct access *access)
{
    for (unsigned i = 0; i < DETECT_MAX_REGISTERS; i++) {
        const struct watch *watch = &machine->watches[i];
        if (!watch->armed || watch->byte - access->address >= access->bytes ||
            !(access->direction & detect_kinds[watch->kind].watches))
            continue;
        struct detect_sample sample = machine->detect.registers[i].sample;
        struct detect_touch touch = {.direction = access->direction,
                                     .range_known = true,
                                     .address = access->address,
                                     .bytes = access->bytes,
                                     .value = machine->memory + sample.address};
        struct detect_finding finding;
        machine->now = machine->taken_at[i];
        enum detect_verdict verdict = detect_touched(&machine->detect, i, &touch, &finding);
        if (verdict == DETECT_IGNORED)
            continue;
        assert_int_equal(finding.verdict, verdict);
        assert_int_equal(finding.kind, sample.kind);
        assert_int_equal(finding.bytes, sample.bytes);
        assert_int_equal(finding.context_id, sample.context_id);
        machine->weight[finding.kind][verdict][finding.context_id][access->context] +=
            finding.samples;
        assert_true(finding.chance > 0 && finding.chance <= 1);
        machine->inverse[finding.kind][verdict] += 1 / (double)finding.chance;
        machine->bytes[finding.kind][verdict] += (double)finding.samples * finding.bytes;
        if (machine->witness)
            machine->witness(machine, &sample, verdict);
    }
}

static void take(struct machine *machine, unsigned kind, const struct access *access,
                 const uint8_t *before)
{
    struct detect_sample sample = {.kind = (uint8_t)kind,
                                   .element_is_float = access->element_is_float,
                                   .element_bytes = access->element_bytes,
                                   .address = access->address,
                                   .bytes = access->bytes,
                                   .watched =
                                       access->address + machine_random(machine, access->bytes),
                                   .weight = 1,
                                   .context_id = access->context,
                                   .context = &machine->contexts[access->context],
                                   .modifies = access->direction == (DETECT_LOADS | DETECT_STORES)};
    memcpy(sample.value, machine->memory + access->address, access->bytes);
    memcpy(sample.loaded, before, access->bytes);
    detect_take(&machine->detect, &sample);
}

/* One access of the program: execute, deliver traps, maybe sample. */
static void machine_access(struct machine *machine, uint32_t index, const struct access *access)
{
    uint8_t before[DETECT_MAX_BYTES];
    memcpy(before, machine->memory + access->address, access->bytes);
    if (access->direction & DETECT_STORES)
        memcpy(machine->memory + access->address, access->value, access->bytes);
    touch_watches(machine, access);
    for (unsigned k = 0; k < DETECT_REUSE; k++) {
        if (!machine->period[k] || !(access->direction & detect_kinds[k].samples) ||
            --machine->countdown[k])
            continue;
        machine->countdown[k] = machine->fixed
                                    ? machine->period[k]
                                    : 1 + machine_random(machine, 2 * machine->period[k] - 1);
        machine->now = index;
        take(machine, k, access, before);
    }
}

static void set_period(struct machine *machine, unsigned kind, uint64_t period, bool fixed)
{
    machine->fixed = fixed;
    machine->period[kind] = machine->countdown[kind] = period;
}

static void store(struct machine *machine, uint32_t address, unsigned context)
{
    struct access access = {.address = address,
                            .bytes = 4,
                            .direction = DETECT_STORES,
                            .context = (uint8_t)context,
                            .element_bytes = 4};
    machine_access(machine, 0, &access);
}

static double dead_total(const struct machine *machine, enum detect_verdict verdict)
{
    double sum = 0;
    for (unsigned a = 0; a < CONTEXTS; a++)
        for (unsigned b = 0; b < CONTEXTS; b++)
            sum += machine->weight[DETECT_DEAD][verdict][a][b];
    return sum;
}

static double dead_share(const struct machine *machine, unsigned watch, unsigned trap)
{
    return machine->weight[DETECT_DEAD][DETECT_WASTE][watch][trap] /
           dead_total(machine, DETECT_WASTE);
}

static struct detect_options dead_only(unsigned registers, enum detect_fault fault)
{
    return (struct detect_options){.kinds = 1 << DETECT_DEAD,
                                   .registers = (uint8_t)registers,
                                   .ignored_limit = 1000,
                                   .fault = (uint8_t)fault};
}

/* ---- the paper's programs ------------------------------------------------------------ */

/* Listing 2: one loop of stores, then another over the same array; ten samples in each.
   Returns findings per run. */
static double listing2(unsigned registers, enum detect_fault fault)
{
    enum { RUNS = 400, ELEMENTS = 1000 };
    double traps = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        struct detect_options options = dead_only(registers, fault);
        struct machine *machine = machine_new(&options, run);
        set_period(machine, DETECT_DEAD, ELEMENTS / 10, true);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            store(machine, 4 * i, 2);
        for (uint32_t i = 0; i < ELEMENTS; i++)
            store(machine, 4 * i, 5);
        machine_check(machine);
        traps += (double)machine->detect.counts.traps[DETECT_DEAD];
        free(machine);
    }
    return traps / RUNS;
}

static void listing2_only_the_reservoir_finds(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers++) {
        assert_true(listing2(registers, DETECT_SOUND) > 0.5 * registers);
        assert_true(listing2(registers, DETECT_REPLACE_OLDEST) == 0);
    }
    assert_true(listing2(1, DETECT_COIN_FLIP) < 0.1 * listing2(1, DETECT_SOUND));
}

/* Listing 3: contexts are its line numbers. */
static struct machine *listing3(unsigned registers, enum detect_fault fault, uint64_t seed)
{
    enum { ROUNDS = 600, ELEMENTS = 1000, P = 8000, PERIOD = 101 };
    struct detect_options options = dead_only(registers, fault);
    struct machine *machine = machine_new(&options, seed);
    set_period(machine, DETECT_DEAD, PERIOD, false);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < ELEMENTS; i++)
            store(machine, 4 * i, 3);
        for (uint32_t k = 0; k < ELEMENTS; k++) {
            store(machine, P, 7);
            store(machine, P, 8);
        }
        for (uint32_t j = 0; j < ELEMENTS; j++)
            store(machine, 4 * j, 11);
    }
    machine_check(machine);
    return machine;
}

static void assert_share(double share, double expected, double tolerance)
{
    if (share < expected - tolerance || share > expected + tolerance) {
        print_error("share %.4f, expected %.4f +- %.4f\n", share, expected, tolerance);
        fail();
    }
}

static void listing3_pairs_are_even(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers++) {
        struct machine *machine = listing3(registers, DETECT_SOUND, registers);
        assert_share(dead_share(machine, 3, 11), 0.25, 0.02);
        assert_share(dead_share(machine, 11, 3), 0.25, 0.02);
        assert_share(dead_share(machine, 7, 8), 0.25, 0.02);
        assert_share(dead_share(machine, 8, 7), 0.25, 0.02);
        assert_true(dead_total(machine, DETECT_USE) == 0);
        free(machine);
    }
}

static void listing3_without_attribution_is_dense(void **state)
{
    struct machine *machine = listing3(1, DETECT_NO_ATTRIBUTION, 1);
    assert_true(dead_share(machine, 7, 8) + dead_share(machine, 8, 7) > 0.9);
    free(machine);
    machine = listing3(4, DETECT_NO_ATTRIBUTION, 1);
    assert_true(dead_share(machine, 7, 8) + dead_share(machine, 8, 7) > 0.75);
    free(machine);
}

/* Figure 2: a, b and x are overwritten in ratio 3:2:1; twelve samples a round. Contexts: a 1,
   b 2, x 16 and 17. Out: waste shares of a, b, x. */
static void figure2(unsigned registers, enum detect_fault fault, unsigned rounds, uint64_t seed,
                    double share[3])
{
    enum {
        A = 0,
        A_ELEMENTS = 3000,
        B = 4 * A_ELEMENTS,
        B_ELEMENTS = 2000,
        X = B + 4 * B_ELEMENTS,
        X_ROUNDS = 500,
        PERIOD = 499
    };
    struct detect_options options = dead_only(registers, fault);
    struct machine *machine = machine_new(&options, seed);
    set_period(machine, DETECT_DEAD, PERIOD, false);
    for (unsigned round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < A_ELEMENTS; i++)
            store(machine, A + 4 * i, 1);
        for (uint32_t i = 0; i < B_ELEMENTS; i++)
            store(machine, B + 4 * i, 2);
        for (uint32_t i = 0; i < X_ROUNDS; i++) {
            store(machine, X, 16);
            store(machine, X, 17);
        }
    }
    machine_check(machine);
    share[0] = dead_share(machine, 1, 1);
    share[1] = dead_share(machine, 2, 2);
    share[2] = dead_share(machine, 16, 17) + dead_share(machine, 17, 16);
    free(machine);
}

static void figure2_ratio(void **state)
{
    double share[3];
    for (unsigned registers = 1; registers <= 4; registers++) {
        figure2(registers, DETECT_SOUND, 600, registers, share);
        assert_share(share[0], 0.50, 0.02);
        assert_share(share[1], 0.33, 0.02);
        assert_share(share[2], 0.17, 0.02);
    }
}

static void figure2_wrong_answers(void **state)
{
    double share[3];
    figure2(1, DETECT_NO_ATTRIBUTION, 600, 7, share);
    assert_true(share[2] > 0.4); /* 17 % is right */
    figure2(1, DETECT_COIN_FLIP, 30, 7, share);
    assert_true(share[2] > 0.99);
    figure2(1, DETECT_REPLACE_OLDEST, 600, 7, share);
    assert_true(share[2] > 0.99);
}

/* ---- reservoir ------------------------------------------------------------------------ */

static struct detect_sample plain_sample(struct machine *machine, unsigned kind, unsigned context,
                                         uint64_t address)
{
    return (struct detect_sample){.kind = (uint8_t)kind,
                                  .element_bytes = 4,
                                  .address = address,
                                  .bytes = 4,
                                  .watched = address,
                                  .weight = 1,
                                  .context_id = context,
                                  .context = &machine->contexts[context]};
}

/* How far the counts of surviving samples are from uniform: chi-square, OFFERS - 1 degrees. */
enum { OFFERS = 30 };
static double survivors_chi_square(unsigned registers, enum detect_fault fault)
{
    enum { TRIALS = 20000 };
    double survived[OFFERS] = {0}, chi_square = 0;
    struct detect_options options = dead_only(registers, fault);
    struct machine *machine = machine_new(&options, 11);
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        for (unsigned i = 0; i < OFFERS; i++) {
            struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 4 * i);
            detect_take(&machine->detect, &sample);
        }
        for (unsigned r = 0; r < registers; r++) {
            survived[machine->detect.registers[r].sample.address / 4]++;
            detect_abandon(&machine->detect, r);
        }
    }
    machine_check(machine);
    free(machine);
    double expected = (double)TRIALS * registers / OFFERS;
    for (unsigned i = 0; i < OFFERS; i++)
        chi_square += (survived[i] - expected) * (survived[i] - expected) / expected;
    return chi_square;
}

static void every_sample_survives_alike(void **state)
{
    const double limit = 58.3; /* chi-square, 29 degrees of freedom, 0.1 % */
    for (unsigned registers = 1; registers <= 4; registers++) {
        assert_true(survivors_chi_square(registers, DETECT_SOUND) < limit);
        assert_true(survivors_chi_square(registers, DETECT_REPLACE_OLDEST) > 100 * limit);
        assert_true(survivors_chi_square(registers, DETECT_COIN_FLIP) > 100 * limit);
    }
}

/* One register never traps, the other was freed long after: samples since then share the
   second as evenly as one register would. */
static void a_refilled_register_is_a_reservoir_of_its_own(void **state)
{
    enum { TRIALS = 20000, EARLIER = 3000, LATER = 10 };
    double survived[LATER] = {0}, chi_square = 0;
    struct detect_options options = dead_only(2, DETECT_SOUND);
    struct machine *machine = machine_new(&options, 3);
    struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 9000);
    detect_take(&machine->detect, &sample);
    for (unsigned i = 0; i < EARLIER; i++) {
        int index = detect_take(&machine->detect, &sample);
        if (index == 1)
            detect_abandon(&machine->detect, 1);
    }
    struct detect frozen = machine->detect;
    struct watch watches[DETECT_MAX_REGISTERS];
    memcpy(watches, machine->watches, sizeof watches);
    if (frozen.registers[1].busy) {
        frozen.registers[1].busy = false;
        watches[1].armed = false;
    }
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        machine->detect = frozen;
        memcpy(machine->watches, watches, sizeof watches);
        for (unsigned i = 0; i < LATER; i++) {
            sample.address = sample.watched = 4 * i;
            detect_take(&machine->detect, &sample);
        }
        survived[machine->detect.registers[1].sample.address / 4]++;
    }
    free(machine);
    for (unsigned i = 0; i < LATER; i++)
        chi_square +=
            (survived[i] - TRIALS / LATER) * (survived[i] - TRIALS / LATER) / (TRIALS / LATER);
    assert_true(chi_square < 27.9); /* 9 degrees of freedom, 0.1 % */
}

/* k samples for N registers filled together: N / k for whoever is watched. */
static void chances_are_those_of_the_reservoir(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers++) {
        struct detect_options options = dead_only(registers, DETECT_SOUND);
        struct machine *machine = machine_new(&options, 2);
        for (unsigned k = 1; k <= 1000; k++) {
            struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 4 * k);
            detect_take(&machine->detect, &sample);
            double expected = k <= registers ? 1 : (double)registers / k;
            for (unsigned r = 0; r < registers && r < k; r++)
                assert_share(machine->detect.registers[r].chance / expected, 1, 1e-4);
        }
        free(machine);
    }
}

/* In one context half of the stores are dead immediately, half are loaded much later. Waste share by
   attribution and by inverse chances. */
static void two_fates(unsigned registers, double *by_attribution, double *by_chance)
{
    enum { ROUNDS = 300, STORES = 2000, CELL = 4 * STORES, PERIOD = 11 };
    struct detect_options options = dead_only(registers, DETECT_SOUND);
    struct machine *machine = machine_new(&options, registers);
    set_period(machine, DETECT_DEAD, PERIOD, false);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < STORES; i++)
            store(machine, i % 2 ? 4 * i : CELL, 1);
        for (uint32_t i = 1; i < STORES; i += 2) {
            struct access load = {.address = 4 * i,
                                  .bytes = 4,
                                  .direction = DETECT_LOADS,
                                  .context = 2,
                                  .element_bytes = 4};
            machine_access(machine, 0, &load);
        }
    }
    const double *bytes = machine->bytes[DETECT_DEAD], *inverse = machine->inverse[DETECT_DEAD];
    *by_attribution = bytes[DETECT_WASTE] / (bytes[DETECT_WASTE] + bytes[DETECT_USE]);
    *by_chance = inverse[DETECT_WASTE] / (inverse[DETECT_WASTE] + inverse[DETECT_USE]);
    free(machine);
}

static void chances_see_what_attribution_cannot(void **state)
{
    double by_attribution, by_chance;
    for (unsigned registers = 1; registers <= 4; registers++) {
        two_fates(registers, &by_attribution, &by_chance);
        assert_share(by_chance, 0.5, 0.04);
    }
    assert_true(by_attribution > 0.65); /* the limit of the method, witch §4.3 */
}

static void kinds_share_the_registers(void **state)
{
    struct detect_options options = {.kinds = 7, .registers = 4, .ignored_limit = 1000};
    struct machine *machine = machine_new(&options, 5);
    /* A flood of dead-store samples that never trap may take its own register and the common
       one, nothing else. */
    for (unsigned i = 0; i < 1000; i++) {
        struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 4 * i);
        detect_take(&machine->detect, &sample);
    }
    assert_true(machine->watches[0].armed && machine->watches[3].armed);
    assert_false(machine->watches[1].armed || machine->watches[2].armed);
    struct detect_sample silent = plain_sample(machine, DETECT_SILENT, 1, 64);
    struct detect_sample load = plain_sample(machine, DETECT_LOAD, 2, 128);
    assert_int_equal(detect_take(&machine->detect, &silent), 1);
    assert_int_equal(detect_take(&machine->detect, &load), 2);
    assert_int_equal(machine->detect.counts.samples[DETECT_DEAD], 1000);
    machine_check(machine);
    free(machine);
}

/* With as many never-trapping samples of each kind, each kind gets the same share of arms. */
static void kinds_are_armed_alike(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers++) {
        struct detect_options options = {
            .kinds = 7, .registers = (uint8_t)registers, .ignored_limit = 1000};
        double occupied[DETECT_REUSE] = {0};
        struct machine *machine = machine_new(&options, registers);
        for (unsigned trial = 0; trial < 6000; trial++) {
            for (unsigned i = 0; i < 30; i++) {
                struct detect_sample sample =
                    plain_sample(machine, (i + trial) % DETECT_REUSE, 0, 4 * i);
                detect_take(&machine->detect, &sample);
            }
            for (unsigned r = 0; r < registers; r++) {
                occupied[machine->detect.registers[r].sample.kind]++;
                detect_abandon(&machine->detect, r);
            }
        }
        for (unsigned k = 0; k < DETECT_REUSE; k++)
            assert_share(occupied[k] / (6000.0 * registers), 1 / 3.0, 0.02);
        machine_check(machine);
        free(machine);
    }
}

static void only_chosen_kinds_own_registers(void **state)
{
    struct detect_options options = {.kinds = 1 << DETECT_DEAD | 1 << DETECT_LOAD, .registers = 4};
    struct machine *machine = machine_new(&options, 1);
    assert_int_equal(machine->detect.registers[0].kinds, 1 << DETECT_DEAD);
    assert_int_equal(machine->detect.registers[1].kinds, 1 << DETECT_LOAD);
    assert_int_equal(machine->detect.registers[2].kinds, options.kinds);
    assert_int_equal(machine->detect.registers[3].kinds, options.kinds);
    free(machine);
    options = (struct detect_options){.kinds = 7, .registers = 2};
    machine = machine_new(&options, 1);
    assert_int_equal(machine->detect.registers[0].kinds, 7);
    assert_int_equal(machine->detect.registers[1].kinds, 7);
    free(machine);
}

/* Turns: other kinds, other registers, and what was counted stays. */
static void other_kinds_take_over(void **state)
{
    struct detect_options options = {.kinds = 7, .registers = 3, .ignored_limit = 10};
    struct machine *machine = machine_new(&options, 1);
    struct detect_sample dead = plain_sample(machine, DETECT_DEAD, 0, 0);
    assert_int_equal(detect_take(&machine->detect, &dead), 0);
    detect_abandon(&machine->detect, 0);
    detect_assign(&machine->detect, 1 << DETECT_REUSE, 1, DETECT_RESERVOIR);
    for (unsigned i = 0; i < 100; i++) {
        struct detect_sample sample = plain_sample(machine, DETECT_REUSE, 1, 64 + 8 * i);
        assert_true(detect_take(&machine->detect, &sample) <= 0);
    }
    assert_true(machine->watches[0].armed && !machine->watches[1].armed);
    detect_abandon(&machine->detect, 0);
    detect_assign(&machine->detect, 7, 3, DETECT_RESERVOIR);
    struct detect_sample load = plain_sample(machine, DETECT_LOAD, 2, 4096);
    assert_int_equal(detect_take(&machine->detect, &load), 2);
    assert_int_equal(machine->detect.counts.samples[DETECT_DEAD], 1);
    assert_int_equal(machine->detect.counts.samples[DETECT_REUSE], 100);
    assert_int_equal(machine->detect.serial, 102);
    machine_check(machine);
    free(machine);
}

/* ---- bookkeeping ----------------------------------------------------------------------- */

static void refused_arming_is_a_blind_sample(void **state)
{
    struct detect_options options = dead_only(1, DETECT_SOUND);
    struct machine *machine = machine_new(&options, 1);
    struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 0);
    machine->refuse = true;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(detect_take(&machine->detect, &sample), -1);
    machine->refuse = false;
    assert_int_equal(detect_take(&machine->detect, &sample), 0);
    machine->refuse = true;
    detect_abandon(&machine->detect, 0);
    assert_int_equal(detect_take(&machine->detect, &sample), -1);
    const struct detect_counts *counts = &machine->detect.counts;
    assert_int_equal(counts->samples[DETECT_DEAD], 5);
    assert_int_equal(counts->armed[DETECT_DEAD], 1);
    assert_int_equal(counts->blind_longest[DETECT_DEAD], 3);
    assert_int_equal(counts->abandoned[DETECT_DEAD], 1);
    machine_check(machine);
    free(machine);
}

/* A replacement whose arming fails leaves the register free, not half armed. */
static void failed_replacement_frees_the_register(void **state)
{
    struct detect_options options = dead_only(1, DETECT_REPLACE_OLDEST);
    struct machine *machine = machine_new(&options, 1);
    struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 0);
    detect_take(&machine->detect, &sample);
    machine->refuse = true;
    assert_int_equal(detect_take(&machine->detect, &sample), -1);
    machine_check(machine);
    assert_false(machine->detect.registers[0].busy);
    assert_int_equal(machine->detect.counts.evicted[DETECT_DEAD], 1);
    free(machine);
}

static void ignored_touches_abandon(void **state)
{
    struct detect_options options = {.kinds = 1 << DETECT_LOAD, .registers = 1, .ignored_limit = 3};
    struct machine *machine = machine_new(&options, 1);
    struct detect_sample sample = plain_sample(machine, DETECT_LOAD, 0, 0);
    struct detect_touch touch = {
        .direction = DETECT_STORES, .range_known = true, .bytes = 4, .value = machine->memory};
    struct detect_finding finding = {.samples = -1};
    detect_take(&machine->detect, &sample);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(machine->detect.registers[0].busy);
        assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding), DETECT_IGNORED);
    }
    assert_false(machine->detect.registers[0].busy);
    assert_int_equal(machine->detect.counts.ignored[DETECT_LOAD], 3);
    assert_int_equal(machine->detect.counts.abandoned[DETECT_LOAD], 1);
    assert_true(finding.samples == -1); /* outputs untouched */
    machine_check(machine);
    /* The abandoned sample still counts: the next trap of its context stands for both. */
    detect_take(&machine->detect, &sample);
    /* and the new watchpoint has all its patience. */
    for (unsigned i = 0; i < 2; i++)
        detect_touched(&machine->detect, 0, &touch, &finding);
    touch.direction = DETECT_LOADS;
    assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding), DETECT_WASTE);
    assert_true(finding.samples == 2);
    free(machine);
}

static void attribution_is_shared_and_conserved(void **state)
{
    struct detect_options options = dead_only(4, DETECT_SOUND);
    struct machine *machine = machine_new(&options, 1);
    struct detect_touch touch = {.direction = DETECT_STORES, .range_known = true, .bytes = 4};
    struct detect_finding finding;
    for (unsigned i = 0; i < 4; i++) {
        struct detect_sample sample = plain_sample(machine, DETECT_DEAD, i == 3, 4 * i);
        sample.weight = 3;
        detect_take(&machine->detect, &sample);
    }
    /* Three armed in context 0 with weight 9 pending. */
    const float expected[] = {3, 3, 3};
    for (unsigned i = 0; i < 3; i++) {
        detect_touched(&machine->detect, i, &touch, &finding);
        assert_true(finding.samples == expected[i]);
    }
    assert_true(machine->contexts[0].pending[DETECT_DEAD] == 0);
    assert_true(machine->contexts[1].pending[DETECT_DEAD] == 3);
    free(machine);
}

/* What is foreseen is judged as by a register, takes none, and takes what is pending in its context with it. */
static void foreseen_samples_need_no_register(void **state)
{
    struct detect_options options = {.kinds = 7, .registers = 3, .ignored_limit = 4};
    struct machine *machine = machine_new(&options, 1);
    struct detect *detect = &machine->detect;
    struct detect_finding finding;
    struct detect_sample far = plain_sample(machine, DETECT_DEAD, 0, 0);
    detect_take(detect, &far);
    detect_take(detect, &far); /* one is armed; both are pending */
    struct detect_sample near = plain_sample(machine, DETECT_DEAD, 0, 8);
    struct detect_touch touch = {
        .direction = DETECT_STORES, .range_known = true, .address = 8, .bytes = 4};
    unsigned arms = machine->arms, offered = detect->registers[0].offered;
    assert_int_equal(detect_foreseen(detect, &near, &touch, &finding), DETECT_WASTE);
    assert_true(finding.samples == 1.5F && finding.chance == 1 && finding.entry == 1);
    assert_int_equal(finding.waited, 0);
    touch.direction = DETECT_LOADS;
    assert_int_equal(detect_foreseen(detect, &near, &touch, &finding), DETECT_USE);
    assert_int_equal(machine->arms, arms);
    assert_int_equal(detect->registers[0].offered, offered);
    assert_int_equal(detect->counts.samples[DETECT_DEAD], 4);
    assert_int_equal(detect->counts.traps[DETECT_DEAD], 2);

    uint8_t value[DETECT_MAX_BYTES] = {5};
    struct detect_sample load = plain_sample(machine, DETECT_LOAD, 1, 16);
    touch = (struct detect_touch){
        .direction = DETECT_LOADS, .range_known = true, .address = 16, .bytes = 4, .value = value};
    load.value[0] = 5;
    assert_int_equal(detect_foreseen(detect, &load, &touch, &finding), DETECT_WASTE);
    load.modifies = true; /* by the sample 4 was loaded, and 5 stored */
    load.loaded[0] = 4;
    assert_int_equal(detect_foreseen(detect, &load, &touch, &finding), DETECT_USE);

    touch.value = NULL; /* says nothing: nothing was taken */
    struct detect_context context = machine->contexts[1];
    assert_int_equal(detect_foreseen(detect, &load, &touch, &finding), DETECT_IGNORED);
    assert_memory_equal(&machine->contexts[1], &context, sizeof context);
    assert_int_equal(detect->counts.samples[DETECT_LOAD], 2);
    free(machine);
}

/* Counts stay exact where two running floats would have stopped counting. */
static void ten_million_samples_in_one_context(void **state)
{
    enum { SAMPLES = 40 * 1000 * 1000 };
    struct detect_options options = dead_only(1, DETECT_SOUND);
    struct machine *machine = machine_new(&options, 1);
    struct detect_touch touch = {.direction = DETECT_STORES, .range_known = true, .bytes = 4};
    struct detect_sample sample = plain_sample(machine, DETECT_DEAD, 0, 0);
    struct detect_finding finding;
    double sum = 0;
    for (unsigned i = 1; i <= SAMPLES; i++) {
        machine->contexts[0].pending[DETECT_DEAD] += 1;
        if (i % 1000 == 0) {
            machine->contexts[0].pending[DETECT_DEAD] -= 1;
            detect_take(&machine->detect, &sample);
            detect_touched(&machine->detect, 0, &touch, &finding);
            sum += finding.samples;
        }
    }
    assert_true(sum == SAMPLES);
    sum = 0;
    for (unsigned i = 0; i < 10 * 1000 * 1000; i++)
        detect_take(&machine->detect, &sample);
    detect_touched(&machine->detect, 0, &touch, &finding);
    assert_true(finding.samples == 1e7f);
    free(machine);
}

/* ---- verdicts --------------------------------------------------------------------------- */

static enum detect_verdict verdict_of(unsigned kind, unsigned sampled_direction, uint32_t loaded,
                                      uint32_t after, unsigned touch_direction, const void *now)
{
    struct detect_options options = {
        .kinds = (uint8_t)(1 << kind), .registers = 1, .ignored_limit = 9};
    struct machine *machine = machine_new(&options, 1);
    struct detect_sample sample = plain_sample(machine, kind, 0, 16);
    struct detect_touch touch = {.direction = (uint8_t)touch_direction,
                                 .range_known = true,
                                 .address = 16,
                                 .bytes = 4,
                                 .value = now};
    struct detect_finding finding;
    memcpy(sample.value, &after, 4);
    memcpy(sample.loaded, &loaded, 4);
    sample.modifies = sampled_direction == (DETECT_LOADS | DETECT_STORES);
    detect_take(&machine->detect, &sample);
    enum detect_verdict verdict = detect_touched(&machine->detect, 0, &touch, &finding);
    free(machine);
    return verdict;
}

static void verdict_table(void **state)
{
    const unsigned L = DETECT_LOADS, S = DETECT_STORES;
    const uint32_t one = 1, two = 2;
    static const struct {
        unsigned kind, sampled;
        uint32_t loaded, after;
        unsigned touch;
        uint32_t now;
        enum detect_verdict verdict;
    } table[] = {
        {DETECT_DEAD, DETECT_STORES, 0, 1, DETECT_STORES, 1, DETECT_WASTE},
        {DETECT_DEAD, DETECT_STORES, 0, 1, DETECT_LOADS, 1, DETECT_USE},
        {DETECT_DEAD, DETECT_STORES, 0, 1, DETECT_LOADS | DETECT_STORES, 2, DETECT_USE},
        {DETECT_DEAD, DETECT_STORES, 0, 1, 0, 2, DETECT_IGNORED},
        {DETECT_SILENT, DETECT_STORES, 0, 1, DETECT_STORES, 1, DETECT_WASTE},
        {DETECT_SILENT, DETECT_STORES, 0, 1, DETECT_STORES, 2, DETECT_USE},
        {DETECT_SILENT, DETECT_STORES, 0, 1, DETECT_LOADS | DETECT_STORES, 1, DETECT_WASTE},
        {DETECT_SILENT, DETECT_STORES, 0, 1, DETECT_LOADS, 1, DETECT_IGNORED},
        {DETECT_LOAD, DETECT_LOADS, 0, 1, DETECT_LOADS, 1, DETECT_WASTE},
        {DETECT_LOAD, DETECT_LOADS, 0, 1, DETECT_LOADS, 2, DETECT_USE},
        {DETECT_LOAD, DETECT_LOADS, 0, 1, DETECT_STORES, 1, DETECT_IGNORED},
        /* add to memory: it loaded 1 before it made 2 of it */
        {DETECT_LOAD, DETECT_LOADS, 0, 1, DETECT_LOADS | DETECT_STORES, 2, DETECT_WASTE},
        /* a counter in memory: 0 -> 1, then 1 -> 2: loads differ */
        {DETECT_LOAD, DETECT_LOADS | DETECT_STORES, 0, 1, DETECT_LOADS | DETECT_STORES, 2,
         DETECT_USE},
        {DETECT_LOAD, DETECT_LOADS | DETECT_STORES, 0, 1, DETECT_LOADS, 1, DETECT_USE},
        {DETECT_LOAD, DETECT_LOADS | DETECT_STORES, 1, 1, DETECT_LOADS, 1, DETECT_WASTE},
    };
    for (unsigned i = 0; i < BASE_COUNT(table); i++)
        assert_int_equal(verdict_of(table[i].kind, table[i].sampled, table[i].loaded,
                                    table[i].after, table[i].touch, &table[i].now),
                         table[i].verdict);
    assert_int_equal(verdict_of(DETECT_SILENT, S, 0, 1, S, NULL), DETECT_IGNORED);
    assert_int_equal(verdict_of(DETECT_LOAD, L, 0, 1, L, NULL), DETECT_IGNORED);
    assert_int_equal(verdict_of(DETECT_LOAD, L, 0, 1, L, &two), DETECT_USE);
    assert_int_equal(verdict_of(DETECT_LOAD, L, 0, 1, L, &one), DETECT_WASTE);
}

/* load 1; store 2 (ignored); add: it loads 2. And: load 1; store 1; add loads 1. */
static void read_modify_write_loads_what_the_last_store_left(void **state)
{
    for (uint32_t stored = 1; stored <= 2; stored++) {
        struct detect_options options = {
            .kinds = 1 << DETECT_LOAD, .registers = 1, .ignored_limit = 9};
        struct machine *machine = machine_new(&options, 1);
        struct detect_sample sample = plain_sample(machine, DETECT_LOAD, 0, 0);
        struct detect_touch touch = {.direction = DETECT_STORES, .range_known = true, .bytes = 4};
        struct detect_finding finding;
        uint32_t one = 1, now = stored;
        memcpy(sample.value, &one, 4);
        detect_take(&machine->detect, &sample);
        touch.value = (const uint8_t *)&now;
        assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding), DETECT_IGNORED);
        now = 7;
        touch.direction = DETECT_LOADS | DETECT_STORES;
        assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding),
                         stored == 1 ? DETECT_WASTE : DETECT_USE);
        free(machine);
    }
}

/* load 1; a store whose result cannot be read; add: what it loaded is not known, so nothing is
 * said. */
static void unreadable_memory_is_not_remembered(void **state)
{
    struct detect_options options = {.kinds = 1 << DETECT_LOAD, .registers = 1, .ignored_limit = 9};
    struct machine *machine = machine_new(&options, 1);
    struct detect_sample sample = plain_sample(machine, DETECT_LOAD, 0, 0);
    struct detect_touch touch = {.direction = DETECT_STORES, .range_known = true, .bytes = 4};
    struct detect_finding finding;
    uint32_t one = 1;
    memcpy(sample.value, &one, 4);
    detect_take(&machine->detect, &sample);
    assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding), DETECT_IGNORED);
    touch.value = (const uint8_t *)&one;
    touch.direction = DETECT_LOADS | DETECT_STORES;
    assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding), DETECT_IGNORED);
    /* Now it is known again. */
    assert_int_equal(detect_touched(&machine->detect, 0, &touch, &finding), DETECT_WASTE);
    free(machine);
}

/* ---- the value test --------------------------------------------------------------------- */

static bool same(const void *before, const void *now, unsigned bytes, unsigned element, bool real,
                 unsigned watched, int64_t from, unsigned width, float tolerance)
{
    struct detect_sample sample = {.address = 1000,
                                   .bytes = bytes,
                                   .watched = 1000 + watched,
                                   .element_bytes = (uint8_t)element,
                                   .element_is_float = real};
    struct detect_touch touch = {
        .range_known = width != 0, .address = (uint64_t)(1000 + from), .bytes = width};
    memcpy(sample.value, before, bytes);
    return detect_same_value(&sample, now, &touch, tolerance);
}

static void integers_compare_the_overlap(void **state)
{
    const uint8_t before[8] = {1, 2, 3, 4, 5, 6, 7, 8}, now[8] = {1, 2, 3, 4, 5, 6, 7, 9};
    assert_true(same(before, before, 8, 8, false, 0, 0, 8, 0.01f));
    assert_false(same(before, now, 8, 8, false, 0, 0, 8, 0.01f));
    assert_true(same(before, now, 8, 8, false, 0, 0, 4, 0.01f));   /* the low half only */
    assert_true(same(before, now, 8, 8, false, 0, -4, 8, 0.01f));  /* touch begins before */
    assert_false(same(before, now, 8, 8, false, 7, 7, 16, 0.01f)); /* and ends after */
    assert_true(same(before, now, 8, 8, false, 6, 6, 1, 0.01f));
    assert_false(same(before, now, 8, 8, false, 0, 0, 0, 0.01f)); /* unknown range: all of it */
    assert_false(same(before, before, 8, 8, false, 0, 100, 4, 0.01f)); /* does not overlap */
    assert_false(same(before, before, 8, 8, false, 0, -100, 4, 0.01f));
    assert_false(same(before, before, 8, 8, false, 0, (int64_t)1 << 32, 8, 0.01f));
    assert_false(same(before, before, 8, 8, false, 0, -((int64_t)1 << 32), 8, 0.01f));
}

static void vectors_compare_the_watched_element(void **state)
{
    uint32_t before[16] = {0}, now[16] = {0};
    now[3] = 1;
    for (unsigned bytes = 16; bytes <= 64; bytes *= 2) {
        assert_true(same(before, now, bytes, 4, false, 0, 0, bytes, 0));
        assert_false(same(before, now, bytes, 4, false, 12, 0, bytes, 0));
        assert_false(same(before, now, bytes, 4, false, 15, 0, bytes, 0));
        assert_true(same(before, now, bytes, 4, false, bytes - 1, 0, bytes, 0) || bytes == 16);
        assert_false(same(before, now, bytes, bytes > 16 ? 16 : bytes, false, 0, 0, bytes, 0));
    }
}

/* The decoder promises sound element sizes; a handler does not divide by promises. */
static void unsound_elements_mean_the_whole_access(void **state)
{
    const uint8_t before[10] = {0}, now[10] = {1};
    assert_false(same(before, now, 10, 0, false, 9, 0, 10, 0));
    assert_false(same(before, now, 10, 4, false, 9, 0, 10, 0));
    assert_false(same(before, now, 10, 16, false, 9, 0, 10, 0));
    assert_true(same(before, now, 10, 5, false, 9, 0, 10, 0));
}

static void floats_compare_within_tolerance(void **state)
{
    const float nan = __builtin_nanf(""), other_nan = __builtin_nanf("7"), inf = __builtin_inff();
    const struct {
        float before, now;
        bool same;
    } table[] = {
        {100, 100.5f, true},    {100, 99.5f, true},
        {100, 102, false},      {-100, -100.5f, true},
        {1, -1, false},         {0.0f, -0.0f, true},
        {0, 1e-30f, false},     {nan, nan, true},
        {nan, other_nan, true}, {nan, 1, false},
        {1, nan, false},        {inf, inf, true},
        {inf, -inf, false},     {inf, 1e38f, false},
        {3e38f, -3e38f, false}, {1e-40f, 1.001e-40f, true},
    };
    for (unsigned i = 0; i < BASE_COUNT(table); i++) {
        double before = table[i].before, now = table[i].now;
        long double long_before = before, long_now = now;
        assert_int_equal(same(&table[i].before, &table[i].now, 4, 4, true, 0, 0, 4, 0.01f),
                         table[i].same);
        assert_int_equal(same(&before, &now, 8, 8, true, 7, 0, 8, 0.01f), table[i].same);
        assert_int_equal(same(&long_before, &long_now, 10, 10, true, 9, 0, 10, 0.01f),
                         table[i].same);
    }
}

static void floats_at_the_edges(void **state)
{
    double before = 100, now = 100.5, huge = 1.7e308, minus_huge = -1.7e308;
    float lanes_before[8] = {1, 2, 3, 4, 5, 6, 7, 8}, lanes_now[8] = {9, 2.001f, 9, 9, 9, 9, 9, 9};
    assert_false(same(&before, &now, 8, 8, true, 0, 0, 8, 0)); /* no tolerance: bits */
    assert_true(same(&before, &before, 8, 8, true, 0, 0, 8, 0));
    assert_false(same(&before, &now, 8, 8, true, 6, 4, 4, 0.01f));      /* part of a float: bits */
    assert_false(same(&huge, &minus_huge, 8, 8, true, 0, 0, 8, 0.01f)); /* difference overflows */
    assert_true(same(lanes_before, lanes_now, 32, 4, true, 4, 0, 32, 0.01f));
    assert_false(same(lanes_before, lanes_now, 32, 4, true, 8, 0, 32, 0.01f));
    assert_true(same(&before, &now, 8, 8, true, 0, 0, 0, 0.01f)); /* unknown range: whole */
    uint16_t half_before = 0x3c00, half_now = 0x3c01;
    assert_false(same(&half_before, &half_now, 2, 2, true, 0, 0, 2, 0.01f));
    assert_true(same(&half_before, &half_before, 2, 2, true, 0, 0, 2, 0.01f));
}

/* ---- random traces against an oracle that sees every access ------------------------------- */

enum { TRACE = 60000, WINDOW = 512, PERIOD = 97 };

struct oracle {
    struct access trace[TRACE];
    uint8_t loaded[TRACE][DETECT_MAX_BYTES], after[TRACE][DETECT_MAX_BYTES];
    /* enum detect_verdict for each byte of each access */
    uint8_t verdict[DETECT_REUSE][TRACE][DETECT_MAX_BYTES];
    double total[DETECT_REUSE][3];
    uint32_t judged, mismatches;
};

/* How one place in the random program behaves. */
struct habit {
    uint8_t bytes, direction, element_bytes, element_is_float, values;
    uint32_t base, span;
};

static void make_habits(struct habit *habits, struct base_random *random)
{
    static const uint8_t widths[] = {1, 2, 4, 8, 8, 16, 32, 64};
    for (unsigned c = 0; c < CONTEXTS; c++) {
        struct habit *habit = &habits[c];
        habit->bytes = widths[base_random_below(random, BASE_COUNT(widths))];
        habit->element_is_float = habit->bytes >= 4 && base_random_below(random, 3) == 0;
        habit->element_bytes = habit->bytes <= 8 ? habit->bytes : habit->element_is_float ? 4 : 16;
        habit->direction = base_random_below(random, 2) ? DETECT_STORES : DETECT_LOADS;
        habit->values = (uint8_t)(1 + base_random_below(random, 3));
        habit->base = (uint32_t)base_random_below(random, WINDOW - DETECT_MAX_BYTES);
        habit->span = (uint32_t)base_random_below(random, 3) * 3; /* unaligned, partial overlaps */
    }
    /* Read-modify-writes, of bytes so that nothing else shares their element. */
    habits[0] = (struct habit){.bytes = 1,
                               .direction = DETECT_LOADS | DETECT_STORES,
                               .element_bytes = 1,
                               .values = 2,
                               .base = 64,
                               .span = 200};
}

static void fill_value(struct access *access, unsigned values, struct base_random *random)
{
    for (unsigned i = 0; i < access->bytes; i += access->element_bytes) {
        float real = 1000 + 6 * (float)base_random_below(random, values); /* 0.6 % apart */
        double wide = real;
        uint8_t plain = (uint8_t)base_random_below(random, values);
        uint8_t *element = access->value + i;
        memset(element, plain, access->element_bytes);
        if (access->element_is_float && access->element_bytes == 4)
            memcpy(element, &real, 4);
        if (access->element_is_float && access->element_bytes == 8)
            memcpy(element, &wide, 8);
    }
}

static double real_value(const uint8_t *bytes, unsigned width)
{
    float narrow;
    double wide;
    if (width == 8)
        return memcpy(&wide, bytes, 8), wide;
    return memcpy(&narrow, bytes, 4), narrow;
}

/* Written for this test, byte by byte: may the element of byte `at` of access `first` be
   called unchanged by access `second`? */
static bool oracle_same(const struct oracle *oracle, uint32_t first, const uint8_t *first_value,
                        uint32_t second, const uint8_t *second_value, uint32_t at, float tolerance)
{
    const struct access *a = &oracle->trace[first], *b = &oracle->trace[second];
    uint32_t element = (at - a->address) / a->element_bytes * a->element_bytes;
    uint32_t common = 0, equal = 0;
    for (uint32_t i = element; i < element + a->element_bytes; i++) {
        uint32_t byte = a->address + i;
        if (byte < b->address || byte >= b->address + b->bytes)
            continue;
        common++;
        equal += first_value[i] == second_value[byte - b->address];
    }
    if (!a->element_is_float || common < a->element_bytes || equal == common)
        return equal == common;
    double x = real_value(first_value + element, a->element_bytes);
    double y = real_value(second_value + (a->address + element - b->address), a->element_bytes);
    double size_x = x < 0 ? -x : x, size_y = y < 0 ? -y : y;
    double difference = x < y ? y - x : x - y;
    if (x != x || y != y)
        return x != x && y != y;
    return difference <= (double)tolerance * (size_x > size_y ? size_x : size_y);
}

/* The previous store (or load) of a byte meets its fate. */
static void settle(struct oracle *oracle, unsigned kind, int32_t *shadow, uint32_t byte,
                   enum detect_verdict verdict)
{
    int32_t id = shadow[byte];
    if (id < 0)
        return;
    oracle->verdict[kind][id][byte - oracle->trace[id].address] = verdict;
    oracle->total[kind][verdict]++;
    shadow[byte] = -1;
}

static void oracle_access(struct oracle *oracle, int32_t shadows[DETECT_REUSE][MEMORY_BYTES],
                          uint32_t id, float tolerance)
{
    const struct access *access = &oracle->trace[id];
    bool loads = access->direction & DETECT_LOADS, stores = access->direction & DETECT_STORES;
    for (uint32_t byte = access->address; byte < access->address + access->bytes; byte++) {
        int32_t *dead = shadows[DETECT_DEAD], *silent = shadows[DETECT_SILENT],
                *load = shadows[DETECT_LOAD];
        if (loads) {
            settle(oracle, DETECT_DEAD, dead, byte, DETECT_USE);
            if (load[byte] >= 0)
                settle(oracle, DETECT_LOAD, load, byte,
                       oracle_same(oracle, (uint32_t)load[byte], oracle->loaded[load[byte]], id,
                                   oracle->loaded[id], byte, tolerance)
                           ? DETECT_WASTE
                           : DETECT_USE);
            load[byte] = (int32_t)id;
        }
        if (stores) {
            settle(oracle, DETECT_DEAD, dead, byte, DETECT_WASTE);
            if (silent[byte] >= 0)
                settle(oracle, DETECT_SILENT, silent, byte,
                       oracle_same(oracle, (uint32_t)silent[byte], oracle->after[silent[byte]], id,
                                   oracle->after[id], byte, tolerance)
                           ? DETECT_WASTE
                           : DETECT_USE);
            dead[byte] = silent[byte] = (int32_t)id;
        }
    }
}

static struct oracle *oracle_new(uint64_t seed, float tolerance)
{
    static int32_t shadows[DETECT_REUSE][MEMORY_BYTES];
    static uint8_t memory[MEMORY_BYTES];
    struct oracle *oracle = calloc(1, sizeof *oracle);
    struct base_random random = {seed};
    struct habit habits[CONTEXTS];
    assert_non_null(oracle);
    memset(shadows, 0xff, sizeof shadows);
    memset(memory, 0, sizeof memory);
    make_habits(habits, &random);
    for (uint32_t id = 0; id < TRACE; id++) {
        unsigned context = (unsigned)base_random_below(&random, CONTEXTS);
        const struct habit *habit = &habits[context];
        struct access *access = &oracle->trace[id];
        *access = (struct access){.address = habit->base +
                                             (uint32_t)base_random_below(&random, habit->span + 1),
                                  .bytes = habit->bytes,
                                  .direction = habit->direction,
                                  .context = (uint8_t)context,
                                  .element_bytes = habit->element_bytes,
                                  .element_is_float = habit->element_is_float};
        fill_value(access, habit->values, &random);
        memcpy(oracle->loaded[id], memory + access->address, access->bytes);
        if (access->direction & DETECT_STORES)
            memcpy(memory + access->address, access->value, access->bytes);
        memcpy(oracle->after[id], memory + access->address, access->bytes);
        oracle_access(oracle, shadows, id, tolerance);
    }
    return oracle;
}

static void compare_with_oracle(struct machine *machine, const struct detect_sample *sample,
                                enum detect_verdict verdict)
{
    struct oracle *oracle = (struct oracle *)machine->oracle;
    oracle->judged++;
    oracle->mismatches +=
        oracle->verdict[sample->kind][machine->now][sample->watched - sample->address] != verdict;
}

static double run_sampled(struct oracle *oracle, const struct detect_options *options,
                          uint64_t period, uint64_t seed, double fraction[DETECT_REUSE])
{
    struct machine *machine = machine_new(options, seed);
    machine->witness = compare_with_oracle;
    machine->oracle = oracle;
    for (unsigned k = 0; k < DETECT_REUSE; k++)
        set_period(machine, k, period, false);
    for (uint32_t id = 0; id < TRACE; id++) {
        machine_access(machine, id, &oracle->trace[id]);
        if (id % 512 == 0)
            machine_check(machine);
    }
    double traps = 0;
    for (unsigned k = 0; k < DETECT_REUSE; k++) {
        fraction[k] = machine->bytes[k][DETECT_WASTE] /
                      (machine->bytes[k][DETECT_WASTE] + machine->bytes[k][DETECT_USE]);
        traps += (double)machine->detect.counts.traps[k];
    }
    free(machine);
    return traps;
}

/* Each verdict must be the oracle's. The mean over runs must lie within three standard errors of
   the exact fraction and 1.5 points for what attribution cannot know: in a context where some
   accesses are touched again soon and others late, more of the early ones are seen. */
static void random_traces_agree_with_the_oracle(void **state)
{
    enum { PROGRAMS = 8, RUNS = 24 };
    for (uint64_t program = 0; program < PROGRAMS; program++) {
        struct detect_options options = {.kinds = 7,
                                         .registers = (uint8_t)(1 + program % 4),
                                         .fp_tolerance = 0.01f,
                                         .ignored_limit = 1000000};
        struct oracle *oracle = oracle_new(100 + program, options.fp_tolerance);
        double sum[DETECT_REUSE] = {0}, squares[DETECT_REUSE] = {0};
        for (uint64_t run = 0; run < RUNS; run++) {
            double fraction[DETECT_REUSE];
            run_sampled(oracle, &options, PERIOD, run + 1, fraction);
            for (unsigned k = 0; k < DETECT_REUSE; k++) {
                sum[k] += fraction[k];
                squares[k] += fraction[k] * fraction[k];
            }
        }
        assert_true(oracle->judged > 1000);
        assert_int_equal(oracle->mismatches, 0);
        for (unsigned k = 0; k < DETECT_REUSE; k++) {
            double waste = oracle->total[k][DETECT_WASTE], use = oracle->total[k][DETECT_USE];
            double exact = waste / (waste + use), mean = sum[k] / RUNS;
            double error_squared = (squares[k] / RUNS - mean * mean) / (RUNS - 1);
            double off = mean > exact ? mean - exact : exact - mean;
            off = off > 0.015 ? off - 0.015 : 0;
            if (getenv("DETECT_TEST_VERBOSE"))
                print_message("# %d %s exact %.4f mean %.4f se^2 %.3g judged %u\n", (int)program,
                              detect_kinds[k].name, exact, mean, error_squared, oracle->judged);
            assert_true(exact > 0.02 && exact < 0.98);
            assert_true(off * off <= 9 * error_squared);
        }
        free(oracle);
    }
}

/* The oracle comparison is worth something only if it can fail. */
static void the_oracle_sees_a_wrong_tolerance(void **state)
{
    struct detect_options options = {
        .kinds = 7, .registers = 4, .fp_tolerance = 0, .ignored_limit = 1000000};
    struct oracle *oracle = oracle_new(101, 0.01f);
    double fraction[DETECT_REUSE];
    run_sampled(oracle, &options, PERIOD, 1, fraction);
    assert_true(oracle->mismatches > 0);
    free(oracle);
}

static void the_oracle_sees_missing_attribution(void **state)
{
    double off = 0;
    for (uint64_t program = 0; program < 4; program++) {
        struct detect_options options = {.kinds = 7,
                                         .registers = 1,
                                         .fp_tolerance = 0.01f,
                                         .ignored_limit = 1000000,
                                         .fault = DETECT_NO_ATTRIBUTION};
        struct oracle *oracle = oracle_new(100 + program, options.fp_tolerance);
        for (unsigned k = 0; k < DETECT_REUSE; k++) {
            double fraction[DETECT_REUSE];
            run_sampled(oracle, &options, PERIOD, program + 1, fraction);
            double waste = oracle->total[k][DETECT_WASTE], use = oracle->total[k][DETECT_USE];
            double error = fraction[k] - waste / (waste + use);
            off = error * error > off * off ? error : off;
        }
        free(oracle);
    }
    assert_true(off > 0.05 || off < -0.05);
}

/* ---- settling ------------------------------------------------------------------------ */

static void ages_are_contiguous(void **state)
{
    unsigned last = 0;
    for (uint64_t waited = 0; waited <= UINT32_MAX; waited += 1 + waited / 64) {
        unsigned age = estimate_age((uint32_t)waited);
        assert_true(age == last || age == last + 1);
        assert_true(waited >= 8 || age == waited);
        last = age;
    }
    assert_int_equal(estimate_age(UINT32_MAX), ESTIMATE_AGES - 1);
}

static void assert_near(double value, double expected)
{
    if (!(value > expected - 1e-6 && value < expected + 1e-6)) {
        print_error("%.9f, expected %.9f\n", value, expected);
        fail();
    }
}

/* Two contexts, four watches; the answers are worked out by hand. */
static void settled_by_hand(void **state)
{
    const struct estimate_life watches[] = {
        {.trapped = true, .weight = 1, .samples = 30, .entry = 1, .chance = 1},
        {.trapped = true, .weight = 1, .samples = 10, .entry = 1, .chance = 1},
        {.waited = 4, .weight = 1, .entry = 1, .chance = 0.2f},
        {.waited = 4, .trapped = true, .weight = 1, .samples = 3, .entry = 1, .chance = 0.2f},
    };
    struct estimate_life_table all = {0};
    for (size_t i = 0; i < BASE_COUNT(watches); i++)
        estimate_life_table_add(&all, &watches[i]);
    assert_near(all.waiting[0], 4);
    assert_near(all.trapped[0], 2);
    assert_near(all.waiting[3], 8); /* two, for 1 + 3 each */
    assert_near(all.watched[4], 1.5);
    assert_near(all.waiting[4], 7.5); /* one, and half of the one that is lost there */
    assert_near(all.trapped[4], 5);

    /* Of 40 samples its three watches, against one, say that two thirds trap immediately, and all
       watches that half do: 20 and 5. Of the other 15 two thirds trap at age 4, but only the
       fourth has seen it: its own half a watch knows of no trap, against one. */
    double amounts[3], assumed[ESTIMATE_AGES];
    estimate_survival(&all, watches, 3, 40, amounts, assumed);
    assert_near(amounts[0], 10);
    assert_near(amounts[1], 10);
    assert_near(amounts[2], 0);
    assert_near(assumed[0], 5);
    assert_near(assumed[4], 15 * 2 / 3.0 / 1.5);
    estimate_survival(&all, watches, 3, 40, amounts, NULL);
    assert_near(amounts[0], 10 + (5 + 20 / 3.0) * 3 / 4);
    assert_near(amounts[1], 10 + (5 + 20 / 3.0) / 4);
    assert_near(amounts[2], 0);

    /* Without a watch everything is assumed; without a trap it has nowhere to go. */
    estimate_survival(&all, watches, 0, 12, amounts, assumed);
    assert_near(assumed[0], 6);
    assert_near(assumed[4], 4);
    estimate_survival(&all, &watches[2], 1, 8, amounts, NULL);
    assert_near(amounts[0], 0);
}

enum { LIFE_CONTEXTS = 400, LIFE_SAMPLES = 60000 };

/* Samples with lifetimes of their own in many contexts; what became of all that were watched. */
struct lives {
    struct detect detect;
    struct base_random random;
    struct detect_context contexts[LIFE_CONTEXTS];
    double sampled[LIFE_CONTEXTS];
    uint64_t now, due[DETECT_MAX_REGISTERS];
    struct life {
        uint32_t context;
        bool late;
        struct estimate_life watch;
    } ended[LIFE_SAMPLES];
    size_t count;
};

static bool life_arm(void *machine, unsigned index, const struct detect_sample *sample)
{
    struct lives *lives = machine;
    lives->due[index] = sample->address;
    return true;
}

static void life_disarm(void *machine, unsigned index)
{
    (void)machine, (void)index;
}

static uint64_t life_random(void *machine, uint64_t bound)
{
    struct lives *lives = machine;
    return base_random_below(&lives->random, bound);
}

static void life_lost(void *machine, unsigned index, const struct detect_lost *lost)
{
    struct lives *lives = machine;
    assert_true(lives->detect.registers[index].busy && lost->waited > 0);
    assert_true(lost->chance > 0 && lost->chance < lost->entry && lost->entry <= 1);
    lives->ended[lives->count++] = (struct life){.context = lost->context_id,
                                                 .watch = {.waited = lost->waited,
                                                           .weight = lost->weight,
                                                           .entry = lost->entry,
                                                           .chance = lost->chance}};
}

static void life_traps(struct lives *lives)
{
    for (unsigned i = 0; i < lives->detect.options.registers; i++) {
        if (!lives->detect.registers[i].busy || lives->due[i] > lives->now)
            continue;
        struct detect_touch touch = {.direction = DETECT_STORES};
        struct detect_finding finding;
        assert_int_equal(detect_touched(&lives->detect, i, &touch, &finding), DETECT_WASTE);
        lives->ended[lives->count++] = (struct life){.context = finding.context_id,
                                                     .late = finding.waited > 0,
                                                     .watch = {.waited = finding.waited,
                                                               .trapped = true,
                                                               .weight = 1,
                                                               .samples = finding.samples,
                                                               .entry = finding.entry,
                                                               .chance = finding.chance}};
    }
}

static void live_on(struct lives *lives, uint32_t context, uint64_t wait)
{
    struct detect_sample sample = {.element_bytes = 1,
                                   .bytes = 1,
                                   .address = lives->now + wait,
                                   .weight = 1,
                                   .context_id = context,
                                   .context = &lives->contexts[context]};
    lives->sampled[context]++;
    detect_take(&lives->detect, &sample);
    life_traps(lives);
    lives->now++;
}

static struct lives *lives_new(unsigned registers, enum detect_policy policy, uint64_t seed)
{
    struct lives *lives = calloc(1, sizeof *lives);
    struct detect_options options = dead_only(registers, DETECT_SOUND);
    struct detect_hooks hooks = {life_arm, life_disarm, life_random, lives, life_lost};
    assert_non_null(lives);
    options.policy = (uint8_t)policy;
    lives->random.state = seed;
    detect_init(&lives->detect, &options, &hooks);
    return lives;
}

/* A sample traps immediately or, with the chance of its context's parity, 100 to 200 samples later. */
static struct lives *live(unsigned registers, const unsigned *late_percent)
{
    struct lives *lives = lives_new(registers, DETECT_RESERVOIR, registers);
    for (unsigned i = 0; i < LIFE_SAMPLES; i++) {
        uint32_t context = (uint32_t)base_random_below(&lives->random, LIFE_CONTEXTS);
        bool late = base_random_below(&lives->random, 100) < late_percent[context % 2];
        live_on(lives, context, late ? 100 + base_random_below(&lives->random, 100) : 0);
    }
    return lives;
}

static int by_context(const void *a, const void *b)
{
    const struct life *first = a, *second = b;
    return (first->context > second->context) - (first->context < second->context);
}

/* Sums by lateness, with what was assumed by age, or if `odd` by parity of the context. */
static void settle_lives(struct lives *lives, bool odd, double sums[2])
{
    struct estimate_life_table all = {0};
    struct estimate_life watches[1000];
    double amounts[1000], assumed[ESTIMATE_AGES];
    qsort(lives->ended, lives->count, sizeof lives->ended[0], by_context);
    for (size_t i = 0; i < lives->count; i++)
        estimate_life_table_add(&all, &lives->ended[i].watch);
    for (size_t i = 0, first = 0; i < lives->count; first = i) {
        uint32_t context = lives->ended[i].context;
        double sum = 0, sampled = lives->sampled[context];
        memset(assumed, 0, sizeof assumed);
        for (; i < lives->count && lives->ended[i].context == context; i++)
            watches[i - first] = lives->ended[i].watch;
        estimate_survival(&all, watches, i - first, sampled, amounts, odd ? NULL : assumed);
        for (size_t k = first; k < i; k++) {
            sums[odd ? context % 2 : lives->ended[k].late] += amounts[k - first];
            sum += amounts[k - first];
        }
        for (unsigned age = 0; age < ESTIMATE_AGES; age++) {
            sums[age > 0] += assumed[age];
            sum += assumed[age];
        }
        assert_true(sum <= sampled * (1 + 1e-9));
    }
}

static void attribute_lives(const struct lives *lives, bool odd, double sums[2])
{
    for (size_t i = 0; i < lives->count; i++) {
        const struct life *life = &lives->ended[i];
        sums[odd ? life->context % 2 : life->late] += (double)life->watch.samples;
    }
}

/* Half of the samples are late. With few late traps a context, attribution gives theirs to what
   traps immediately. */
static void lost_watches_tell_what_is_late(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers += 3) {
        double settled[2] = {0}, attributed[2] = {0};
        struct lives *lives = live(registers, (unsigned[]){50, 50});
        settle_lives(lives, false, settled);
        attribute_lives(lives, false, attributed);
        assert_share(settled[1] / (settled[0] + settled[1]), 0.5, 0.03);
        assert_true(attributed[1] / (attributed[0] + attributed[1]) < 0.4);
        free(lives);
    }
}

/* Odd contexts have half of the samples, most of them late: those of many never trap. */
static void lost_watches_speak_for_their_contexts(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers += 3) {
        double settled[2] = {0}, attributed[2] = {0};
        struct lives *lives = live(registers, (unsigned[]){10, 90});
        settle_lives(lives, true, settled);
        attribute_lives(lives, true, attributed);
        assert_share(settled[1] / (settled[0] + settled[1]), 0.5, 0.03);
        assert_true(attributed[1] / (attributed[0] + attributed[1]) < 0.475);
        free(lives);
    }
}

/* ---- renewal ------------------------------------------------------------------------- */

enum { NEVER = 1 << 30 };

/* Traps of 200 samples that trap immediately, after 2000 that never do. Mean of many runs. */
static double traps_after_silence(unsigned registers, enum detect_policy policy)
{
    enum { RUNS = 200 };
    double traps = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        struct lives *lives = lives_new(registers, policy, run);
        for (unsigned i = 0; i < 2200; i++)
            live_on(lives, i < 2000, i < 2000 ? NEVER : 0);
        traps += (double)lives->detect.counts.traps[DETECT_DEAD] / RUNS;
        free(lives);
    }
    return traps;
}

static void renewal_forgets_what_never_trapped(void **state)
{
    for (unsigned registers = 1; registers <= 4; registers += 3) {
        double reservoir = traps_after_silence(registers, DETECT_RESERVOIR);
        double renewal = traps_after_silence(registers, DETECT_RENEWAL);
        print_message("# %u: of 200 %.1f trap, with renewal %.1f\n", registers, reservoir, renewal);
        assert_true(renewal > 100 && renewal > 2 * reservoir);
    }
}

/* With renewal a watch waits through n samples with chance 1 / (n + 1), whatever was before; and
   sums of 1 / chance are right. */
static void renewal_chances_are_right(void **state)
{
    enum { RUNS = 4000, LONG = 9, SAMPLES = 60 };
    for (unsigned registers = 1; registers <= 4; registers += 3) {
        double claimed = 0, first = 0;
        for (unsigned run = 0; run < RUNS; run++) {
            struct lives *lives = lives_new(registers, DETECT_RENEWAL, run);
            for (unsigned i = 0; i < SAMPLES; i++)
                live_on(lives, i % LIFE_CONTEXTS, LONG);
            for (size_t i = 0; i < lives->count; i++) {
                const struct estimate_life *watch = &lives->ended[i].watch;
                assert_true(watch->chance > 0 && watch->chance <= watch->entry);
                if (!watch->trapped)
                    continue;
                claimed += 1 / (double)watch->chance;
                first += lives->ended[i].context == 0;
                if (registers == 1)
                    assert_share((double)watch->chance * (LONG + 1) / (double)watch->entry, 1,
                                 1e-4);
            }
            free(lives);
        }
        /* The last nine are not touched again in time. */
        assert_share(claimed / ((double)RUNS * (SAMPLES - LONG)), 1, 0.03);
        if (registers == 1)
            assert_share(first / RUNS, 1.0 / (LONG + 1), 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing2_only_the_reservoir_finds),
        cmocka_unit_test(listing3_pairs_are_even),
        cmocka_unit_test(listing3_without_attribution_is_dense),
        cmocka_unit_test(figure2_ratio),
        cmocka_unit_test(figure2_wrong_answers),
        cmocka_unit_test(every_sample_survives_alike),
        cmocka_unit_test(a_refilled_register_is_a_reservoir_of_its_own),
        cmocka_unit_test(chances_are_those_of_the_reservoir),
        cmocka_unit_test(chances_see_what_attribution_cannot),
        cmocka_unit_test(kinds_share_the_registers),
        cmocka_unit_test(kinds_are_armed_alike),
        cmocka_unit_test(only_chosen_kinds_own_registers),
        cmocka_unit_test(other_kinds_take_over),
        cmocka_unit_test(refused_arming_is_a_blind_sample),
        cmocka_unit_test(failed_replacement_frees_the_register),
        cmocka_unit_test(ignored_touches_abandon),
        cmocka_unit_test(attribution_is_shared_and_conserved),
        cmocka_unit_test(foreseen_samples_need_no_register),
        cmocka_unit_test(ten_million_samples_in_one_context),
        cmocka_unit_test(verdict_table),
        cmocka_unit_test(read_modify_write_loads_what_the_last_store_left),
        cmocka_unit_test(unreadable_memory_is_not_remembered),
        cmocka_unit_test(integers_compare_the_overlap),
        cmocka_unit_test(vectors_compare_the_watched_element),
        cmocka_unit_test(unsound_elements_mean_the_whole_access),
        cmocka_unit_test(floats_compare_within_tolerance),
        cmocka_unit_test(floats_at_the_edges),
        cmocka_unit_test(random_traces_agree_with_the_oracle),
        cmocka_unit_test(the_oracle_sees_a_wrong_tolerance),
        cmocka_unit_test(the_oracle_sees_missing_attribution),
        cmocka_unit_test(ages_are_contiguous),
        cmocka_unit_test(settled_by_hand),
        cmocka_unit_test(lost_watches_tell_what_is_late),
        cmocka_unit_test(lost_watches_speak_for_their_contexts),
        cmocka_unit_test(renewal_forgets_what_never_trapped),
        cmocka_unit_test(renewal_chances_are_right),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("detect", tests, NULL, NULL);
}
