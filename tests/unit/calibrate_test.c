// SPDX-License-Identifier: MIT
/*
 * calibrate: known answers. What all x86-64 processors of the last ten years have in common is held to that; where they
 * differ, to what any of them has; and what differs in kind (a chain and independent copies, values that make a division
 * quick or slow) to each other. On a machine where measuring is refused the tests are skipped, and say why.
 */
#include "calibrate/calibrate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* On a busy machine a measurement of many goes wrong: what is not as it should be is measured again, and what any of
 * the models has counts. A fault is in all of them. */
enum { MODELS = 16 };
static struct model *models[MODELS], *model;
static double longest_s; /* that one of them took */

static bool measure_again(size_t i)
{
    static const char *const keys[] = {
        "add_r64_r64",  "imul_r64_r64", "addsd_x_x",   "mulsd_x_x", "vfmadd231sd.v_x_x_x",
        "mov_r64_m64",  "add_r64_m64",  "mov_m64_r64", "divsd_x_x", "div_r64",
        "xor_r32_r32",  "pxor_x_x",     "sub_r64_r64", "mulpd_x_x", "add.lock_m64_r64",
        "xchg_m64_r64", "mfence",       "lfence",      NULL};
    struct util_text why = {0};
    struct calibrate_report report;
    bool measured = calibrate_some(keys, models + i, &report, &why) == BASE_OK;
    if (measured)
        longest_s = report.seconds > longest_s ? report.seconds : longest_s;
    else
        printf("# skipped: %s\n", why.bytes);
    util_text_free(&why);
    return measured;
}

static int measure(void **state)
{
    if (measure_again(0))
        model = models[0];
    return 0;
}

static int release(void **state)
{
    for (size_t i = 0; i < MODELS; i++)
        model_close(models[i]);
    return 0;
}

/* Of the model that is being looked at; if it lacks the form, `missing` says so, and its figures are none. */
static const char *missing;

static const struct model_figures *form(const char *key)
{
    static const struct model_figures none;
    const struct model_figures *figures = model_find(model, key, strlen(key));
    if (!figures)
        missing = key;
    return figures ? figures : &none;
}

static void fail_between(const char *what, double found, double low, double high)
{
    if (missing && longest_s > 10) {
        printf("# skipped: the machine is busy, time ran out before %s\n", missing);
        skip();
    }
    if (missing)
        fail_msg("%s: %s was not measured", what, missing);
    fail_msg("%s: %.3f is not in %.3f .. %.3f", what, found, low, high);
}

#define assert_between(value, low, high)                                                           \
    do {                                                                                           \
        bool between = false;                                                                      \
        double found = 0;                                                                          \
        for (size_t each = 0; each < MODELS && !between; each++) {                                 \
            if (!models[each] && !measure_again(each))                                             \
                break;                                                                             \
            model = models[each];                                                                  \
            missing = NULL;                                                                        \
            found = (value);                                                                       \
            between = found >= (low) && found <= (high) && !missing;                               \
        }                                                                                          \
        if (!between)                                                                              \
            fail_between(#value, found, (double)(low), (double)(high));                            \
    } while (0)
#define assert_some(condition) assert_between((condition) ? 1.0 : 0.0, 1, 1)

#define NEED_MODEL                                                                                 \
    if (!model)                                                                                    \
    skip()

static double latency(const char *key, uint8_t from)
{
    return (double)model_latency_least(form(key), from, 0);
}

static double figure(enum model_figure_kind kind)
{
    return (double)model_machine(model)->figures[kind].value;
}

static void latencies(void **state)
{
    NEED_MODEL;
    assert_between(latency("add_r64_r64", 1), 1, 1);
    assert_between(latency("imul_r64_r64", 1), 3, 4);
    assert_between(latency("addsd_x_x", 1), 2, 4);
    assert_between(latency("mulsd_x_x", 1), 3, 5);
    if (__builtin_cpu_supports("fma"))
        assert_between(latency("vfmadd231sd.v_x_x_x", 1), 4, 5);
    /* From its address: a load, and what is done with it. */
    assert_between(latency("mov_r64_m64", 1), 3, 6);
    assert_between(latency("add_r64_m64", 1) - latency("mov_r64_m64", 1), 1, 2);
    assert_between(latency("add_r64_m64", 0), 1, 1);
}

static void throughputs(void **state)
{
    NEED_MODEL;
    assert_between((double)form("add_r64_r64")->throughput, 0.1, 0.36);
    assert_between((double)form("imul_r64_r64")->throughput, 0.3, 1.1);
    assert_between((double)form("mulsd_x_x")->throughput, 0.3, 1.1);
    assert_between((double)form("mov_r64_m64")->throughput, 0.2, 0.6);
    assert_between((double)form("mov_m64_r64")->throughput, 0.4, 1.1);
}

static void division_by_value(void **state)
{
    NEED_MODEL;
    assert_between(latency("divsd_x_x", 0), 7, 21);
    assert_between((double)model_latency_most(form("divsd_x_x"), 0, 0), latency("divsd_x_x", 0),
                   30);
    /* Not pipelined: of many independent ones each takes a good part of its latency. */
    assert_between((double)form("divsd_x_x")->throughput, 2.5, latency("divsd_x_x", 0));
    assert_some(form("div_r64")->busy_count == 0 ||
                form("div_r64")->busy[0].most >= form("div_r64")->busy[0].least);
}

static void idioms(void **state)
{
    NEED_MODEL;
    assert_some(form("xor_r32_r32")->idioms & MODEL_ZEROES);
    assert_some(form("pxor_x_x")->idioms & (MODEL_ZEROES | MODEL_BREAKS));
    assert_some(!(form("add_r64_r64")->idioms & (MODEL_ZEROES | MODEL_BREAKS | MODEL_MOVES)));
}

static void machine(void **state)
{
    NEED_MODEL;
    assert_between(figure(MODEL_WIDTH), 3, 12);
    assert_between(figure(MODEL_LOADS), 1.9, 4.1);
    assert_between(figure(MODEL_STORES), 0.9, 2.1);
    assert_between(figure(MODEL_LOAD_LATENCY), 3, 6);
    assert_between(figure(MODEL_FORWARD_GENERAL), 0, 10);
    assert_between(figure(MODEL_FORWARD_FAILED), figure(MODEL_FORWARD_GENERAL) + 1, 40);
    assert_some(model_machine(model)->rules & MODEL_FUSES_COMPARE);
    assert_some(model_machine(model)->rules & MODEL_STACK_ENGINE);
    assert_some(model_machine(model)->rules & MODEL_ABSTRACT);
}

static double use(const struct model_figures *figures, const char *unit)
{
    const struct model_machine *found = model_machine(model);
    for (size_t i = 0; i < figures->use_count; i++)
        if (!strcmp(found->units[__builtin_ctzll(figures->uses[i].units)].name, unit))
            return (double)figures->uses[i].cycles;
    return 0;
}

static double most_use(const struct model_figures *figures)
{
    double most = 0;
    for (size_t i = 0; i < figures->use_count; i++)
        most = (double)figures->uses[i].cycles > most ? (double)figures->uses[i].cycles : most;
    return most;
}

/* On some processors such an address is for the same units as an addition, and then stands for it; a resource named
 * after additions may be there as well, of which they need little. */
static double alu_use(const struct model_figures *figures)
{
    const struct model_figures *add = form("add_r64_r64");
    bool own = use(add, "add_r64_r64") > use(add, "lea_r64_abd");
    return use(figures, own ? "add_r64_r64" : "lea_r64_abd");
}

/* Integer additions and multiplications of floating point share nothing but slots; subtractions and additions all. */
static void resources(void **state)
{
    NEED_MODEL;
    assert_between(alu_use(form("add_r64_r64")), 0.1, 0.36);
    assert_between(alu_use(form("sub_r64_r64")) / alu_use(form("add_r64_r64")), 0.8, 1.2);
    assert_between(alu_use(form("mulpd_x_x")), 0, 0.03);
    assert_between(use(form("imul_r64_r64"), "mov_m64_r64"), 0, 0.2);
    /* Each form's own throughput is explained by what it uses. */
    assert_between(most_use(form("add_r64_r64")) / (double)form("add_r64_r64")->throughput, 0.9,
                   1.02);
}

/* Of a block, measured for each model anew. */
static double cycles_again(struct calibrate_block *block)
{
    struct util_text why = {0};
    assert_int_equal(calibrate_blocks(block, 1, &why), BASE_OK);
    return block->cycles;
}

/* Locked accesses and fences: many times an ordinary access, as long as a block of nothing else takes, and no matter of the front end. */
static void locked(void **state)
{
    NEED_MODEL;
    static const uint8_t add[] = {0xf0, 0x48, 0x01, 0x01}, exchange[] = {0x48, 0x87, 0x01},
                         fence[] = {0x0f, 0xae, 0xf0};
    struct calibrate_block all[] = {{.bytes = add, .count = sizeof add},
                                    {.bytes = exchange, .count = sizeof exchange},
                                    {.bytes = fence, .count = sizeof fence}};
    const char *const keys[] = {"add.lock_m64_r64", "xchg_m64_r64", "mfence"};
    assert_between((double)form("add.lock_m64_r64")->throughput, 4, 60);
    assert_between((double)form("xchg_m64_r64")->throughput, 4, 60);
    assert_between((double)form("mfence")->throughput, 10, 300);
    assert_between((double)form("lfence")->throughput, 2, 60);
    for (size_t i = 0; i < BASE_COUNT(keys); i++) {
        assert_between(cycles_again(&all[i]) / (double)form(keys[i])->throughput, 0.75, 1.4);
        assert_between((double)form(keys[i])->fused / figure(MODEL_WIDTH) /
                           (double)form(keys[i])->throughput,
                       0, 1.01);
    }
}

static void blocks(void **state)
{
    NEED_MODEL;
    static const uint8_t chain[] = {0x48, 0x01, 0xc3, 0x48, 0x01, 0xc3},
                         apart[] = {0x48, 0x01, 0xc3, 0x48, 0x01, 0xc6},
                         faults[] = {0x0f, 0x0b, 0x48, 0x01, 0xc3},
                         far[] = {0x48, 0x8b, 0x98, 0x00, 0x00, 0x10, 0x00},
                         whole[] = {0x48, 0x31, 0xe4, 0x48, 0x31, 0xc0};
    struct calibrate_block all[] = {{.bytes = chain, .count = sizeof chain},
                                    {.bytes = apart, .count = sizeof apart},
                                    {.bytes = faults, .count = sizeof faults},
                                    {.bytes = far, .count = sizeof far},
                                    {.bytes = whole, .count = sizeof whole},
                                    {.bytes = chain, .count = sizeof chain, .loop = true}};
    struct util_text why = {0};
    assert_int_equal(calibrate_blocks(all, BASE_COUNT(all), &why), BASE_OK);
    assert_true(all[2].cycles <= 0); /* an instruction that is none */
    /* With a neighbour on the core, too: a chain of two is neither one nor three. */
    assert_between(cycles_again(&all[0]), 1.9, 2.4);
    assert_between(cycles_again(&all[1]), 0.9, 1.4);
    assert_between(cycles_again(&all[3]), 0.2, 1.1); /* a page that was not there */
    assert_between(cycles_again(&all[4]), 0.1, 2.1); /* the stack pointer lost */
    assert_between(cycles_again(&all[5]), 1.9, 2.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latencies),
        cmocka_unit_test(throughputs),
        cmocka_unit_test(division_by_value),
        cmocka_unit_test(idioms),
        cmocka_unit_test(machine),
        cmocka_unit_test(resources),
        cmocka_unit_test(locked),
        cmocka_unit_test(blocks),
    };
    return cmocka_run_group_tests(tests, measure, release);
}
