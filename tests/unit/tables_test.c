// SPDX-License-Identifier: MIT
/*
 * tables: models of other machines that are part of the program. Each can be opened by each of its names and is whole; figures of
 * single forms are those that vendors' manuals and published measurements give; what a model lacks is estimated.
 */
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct model *opened(const char *name)
{
    struct util_text why = {0};
    struct model *model = NULL;
    if (model_open(name, &model, &why) != BASE_OK)
        fail_msg("%s: %s", name, why.bytes ? why.bytes : "");
    util_text_free(&why);
    return model;
}

static const struct model_figures *form(const struct model *model, const char *key)
{
    const struct model_figures *figures = model_find(model, key, strlen(key));
    if (!figures)
        fail_msg("%s has no %s", model_machine(model)->name, key);
    return figures;
}

static model_set all_units(const struct model *model)
{
    size_t count = model_machine(model)->unit_count;
    return count == 64 ? ~(model_set)0 : ((model_set)1 << count) - 1;
}

static void check_figures(const struct model *model, const char *key,
                          const struct model_figures *figures)
{
    if (figures->fused < 1 || figures->fused_indexed < figures->fused || !figures->latency_count)
        fail_msg("%s, %s: %f slots, %f with an index", model_machine(model)->name, key,
                 (double)figures->fused, (double)figures->fused_indexed);
    for (size_t i = 0; i < figures->use_count; i++)
        assert_true(figures->uses[i].cycles > 0 && !(figures->uses[i].units & ~all_units(model)));
}

static void every_machine_is_whole(void **state)
{
    const struct model_entry *entries;
    size_t count = model_list(&entries);
    assert_true(count >= 12);
    for (size_t i = 0; i < count; i++) {
        struct model *model = opened(entries[i].name);
        const struct model_machine *machine = model_machine(model);
        assert_string_equal(machine->name, entries[i].name);
        assert_string_equal(machine->title, entries[i].title);
        assert_int_equal(machine->source, MODEL_TABLE);
        assert_true(machine->figures[MODEL_WIDTH].value >= 4);
        assert_true(machine->figures[MODEL_REORDER_BUFFER].value >= 128);
        assert_true(*model_reason(model, machine->figures[MODEL_WIDTH].reason));
        for (int role = MODEL_ALU; role <= MODEL_STORE_ADDRESS; role++)
            assert_true(machine->roles[role]);
        assert_true(model_count(model) > 11000);
        for (size_t f = 0; f < model_count(model); f++) {
            const char *key;
            const struct model_figures *figures = model_at(model, f, &key);
            check_figures(model, key, figures);
        }
        model_close(model);
    }
}

static void machines_have_other_names(void **state)
{
    static const char *const names[][2] = {
        {"skl", "skylake"}, {"skylake-avx512", "skylake-x"}, {"sapphirerapids", "sapphire-rapids"},
        {"znver3", "zen3"}, {"ivybridge", "ivy-bridge"},     {"hsw", "haswell"}};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        struct model *model = opened(names[i][0]);
        assert_string_equal(model_machine(model)->name, names[i][1]);
        model_close(model);
    }
}

static void unknown_machines_are_refused(void **state)
{
    static const char *const names[] = {"zen5", "znver5", "sky",          "lake",
                                        "",     " ",      "skl kabylake", "snb sandybridge "};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        struct util_text why = {0};
        struct model *model = (struct model *)&why;
        assert_int_equal(model_open(names[i], &model, &why), BASE_NOT_FOUND);
        assert_ptr_equal(model, &why);
        assert_non_null(strstr(why.bytes, "--machine list"));
        util_text_free(&why);
        assert_int_equal(model_open(names[i], &model, NULL), BASE_NOT_FOUND);
    }
}

/* "p0+p1" of a set. */
static void set_text(const struct model *model, model_set units, char text[128])
{
    size_t bytes = 0;
    text[0] = 0;
    for (; units; units &= units - 1)
        bytes += (size_t)snprintf(text + bytes, 128 - bytes, "%s%s", bytes ? "+" : "",
                                  model_machine(model)->units[__builtin_ctzll(units)].name);
}

/* Known figures: latency least and most from registers, work as "p0+p1 1, ..." in the order of the table, slots. */
static void known_figures(void **state)
{
    static const struct {
        const char *machine, *key;
        double least, most, fused, indexed;
        const char *work;
    } known[] = {
        {"skylake", "add_r64_r64", 1, 1, 1, 1, "p0+p1+p5+p6 1"},
        {"skylake", "addsd_x_x", 4, 4, 1, 1, "p0+p1 1"},
        {"skylake", "vfmadd231pd.v_y_y_y", 4, 4, 1, 1, "p0+p1 1"},
        {"skylake", "vfmadd231pd.v_y_y_m256", 4, 4, 1, 1, "p0+p1 1, p2+p3 1"},
        {"skylake", "vaddpd.v_y_y_m256", 4, 4, 1, 2, "p0+p1 1, p2+p3 1"},
        {"skylake", "addps_x_m128", 4, 4, 1, 1, "p0+p1 1, p2+p3 1"},
        {"skylake", "divsd_x_x", 13, 14, 1, 1, "p0 1"},
        {"skylake", "imul_r64_r64", 3, 3, 1, 1, "p1 1"},
        {"skylake", "mov_m64_r64", 0, 0, 1, 1, "p2+p3+p7 1, p4 1"},
        {"skylake", "add_m64_r64", 1, 1, 2, 3, "p0+p1+p5+p6 1, p2+p3+p7 1, p2+p3 1, p4 1"},
        {"skylake", "push_r64", 0, 0, 1, 1, "p2+p3+p7 1, p4 1"},
        {"skylake", "lea_r64_abid", 3, 3, 1, 1, "p1 1"},
        {"skylake", "lea_r64_abi", 1, 1, 1, 1, "p1+p5 1"},
        {"haswell", "addsd_x_x", 3, 3, 1, 1, "p1 1"},
        {"haswell", "mulsd_x_x", 5, 5, 1, 1, "p0+p1 1"},
        {"ivy-bridge", "mov_m64_r64", 0, 0, 1, 2, "p4 1, p23 1"},
        {"icelake", "mov_m64_r64", 0, 0, 1, 1, "p7+p8 1, p4+p9 1"},
        {"alder-lake", "add_r64_r64", 1, 1, 1, 1, "p0+p1+p5+p6+p10 1"},
        {"alder-lake", "mov_m64_r64", 0, 0, 1, 1, "p7+p8 1, p4+p9 1"},
        {"zen3", "add_r64_r64", 1, 1, 1, 1, "alu0+alu1+alu2+alu3 1"},
        {"zen2", "add_r64_m64", 1, 1, 1, 1, "alu0+alu1+alu2+alu3 1, agu0+agu1+agu2 1"},
    };
    for (size_t i = 0; i < BASE_COUNT(known); i++) {
        struct model *model = opened(known[i].machine);
        const struct model_figures *figures = form(model, known[i].key);
        uint8_t none = MODEL_ANY - 1;
        char work[256] = "", units[128];
        size_t bytes = 0;
        for (size_t u = 0; u < figures->use_count; u++) {
            set_text(model, figures->uses[u].units, units);
            bytes += (size_t)snprintf(work + bytes, sizeof work - bytes, "%s%s %g",
                                      bytes ? ", " : "", units, (double)figures->uses[u].cycles);
        }
        double least = (double)model_latency_least(figures, none, none),
               most = (double)model_latency_most(figures, none, none);
        if (least < known[i].least || least > known[i].least || most > known[i].most ||
            most < known[i].most || (int)figures->fused != (int)known[i].fused ||
            (int)figures->fused_indexed != (int)known[i].indexed ||
            strcmp(work, known[i].work) != 0)
            fail_msg("%s %s: latency %g to %g, %g slots, %g with an index, work %s",
                     known[i].machine, known[i].key, least, most, (double)figures->fused,
                     (double)figures->fused_indexed, work);
        model_close(model);
    }
}

static void idioms_are_known(void **state)
{
    struct model *model = opened("skylake"), *older = opened("sandy-bridge"),
                 *icelake = opened("icelake");
    assert_int_equal(form(model, "xor_r32_r32")->idioms & MODEL_ZEROES, MODEL_ZEROES);
    assert_int_equal(form(model, "vpxor.v_y_y_y")->idioms & MODEL_ZEROES, MODEL_ZEROES);
    assert_int_equal(form(model, "add_r32_r32")->idioms, 0);
    assert_int_equal(form(model, "pcmpeqd_x_x")->idioms & (MODEL_ZEROES | MODEL_BREAKS),
                     MODEL_BREAKS);
    assert_int_equal(form(model, "mov_r64_r64")->idioms & MODEL_MOVES, MODEL_MOVES);
    assert_int_equal(form(older, "mov_r64_r64")->idioms & MODEL_MOVES, 0);
    assert_int_equal(form(icelake, "mov_r64_r64")->idioms & MODEL_MOVES, 0);
    assert_int_equal(form(icelake, "vmovaps.v_y_y")->idioms & MODEL_MOVES, MODEL_MOVES);
    model_close(model);
    model_close(older);
    model_close(icelake);
}

static void corrections_have_reasons(void **state)
{
    struct model *model = opened("skylake");
    const struct model_figures *push = form(model, "push_r64");
    assert_int_equal(push->use_source, MODEL_OVERLAY);
    assert_non_null(strstr(model_reason(model, push->reason), "stack engine"));
    assert_int_equal(form(model, "add_r64_r64")->use_source, MODEL_TABLE);
    assert_int_equal(form(model, "add_r64_r64")->reason, 0);
    model_close(model);
}

/* ---- estimates --------------------------------------------------------------------------------------- */

static struct model *small_model(void)
{
    struct model *model = model_new("test", "A machine for tests");
    struct model_machine *machine = model_edit(model);
    uint8_t unit;
    for (int i = 0; i < 3; i++)
        assert_true(model_add_unit(model, i == 0 ? "a" : i == 1 ? "b" : "load", 1, &unit));
    machine->roles[MODEL_ALU] = 3;
    machine->roles[MODEL_LOAD] = 4;
    machine->rules = MODEL_FUSES_LOADS;
    machine->figures[MODEL_LOAD_LATENCY] = (struct model_figure){.value = 5, .source = MODEL_TABLE};
    static const char *const keys[] = {"cmovz_r64_r64", "imul_r64_r64", "vaddpd.v_y_y_y",
                                       "jz_i",          "xor_r32_r32",  "paddd_x_x"};
    for (size_t i = 0; i < BASE_COUNT(keys); i++) {
        struct model_figures figures = {.throughput = 1,
                                        .micro_operations = 1,
                                        .fused = 1,
                                        .fused_indexed = 1,
                                        .idioms = MODEL_ZEROES,
                                        .latency_count = 1,
                                        .use_count = 1,
                                        .use_source = MODEL_TABLE};
        figures.latencies[0] =
            (struct model_latency){MODEL_ANY, MODEL_ANY, (float)i + 2, (float)i + 2};
        figures.uses[0] = (struct model_use){1, 1};
        assert_true(model_add(model, keys[i], &figures));
    }
    assert_true(model_seal(model));
    return model;
}

static void lacking_forms_are_estimated(void **state)
{
    static const struct {
        const char *key;
        float latency; /* of the form that it is taken from */
        size_t uses;
    } cases[] = {
        {"cmovnle_r64_r64", 2, 1},
        {"cmovs_r32_r32", 2, 1},
        {"imul_r32_r32", 3, 1},
        {"imul_r64_m64", 8, 2},
        {"vaddpd.e.k_z_z_z", 4, 1},
        {"vaddpd.v_y_y_m256", 9, 2},
        {"vaddpd.e.b_y_y_m64", 9, 2},
        {"jle_i", 5, 1},
        {"vpaddd.v_x_x_x", 7, 1},
        {"xor_r16_r16", 6, 1},
        {"paddd_x_m128", 12, 2},
        {"what_r64", 1, 1},
        {"jmp_i", 1, 1},
        {"?", 1, 1},
        {"", 1, 1},
    };
    struct model *model = small_model();
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct model_figures figures;
        bool found = model_estimate(model, cases[i].key, &figures);
        float latency = model_latency_most(&figures, 0, 1);
        if (latency < cases[i].latency || latency > cases[i].latency ||
            figures.use_count != cases[i].uses)
            print_error("%s: %f, %u uses\n", cases[i].key, (double)latency, figures.use_count);
        assert_int_equal(figures.use_source, MODEL_DERIVED);
        assert_int_equal(figures.idioms & (MODEL_ZEROES | MODEL_MOVES), 0);
        assert_int_equal(found, cases[i].latency > 1);
        assert_true(latency >= cases[i].latency && latency <= cases[i].latency);
        assert_int_equal(figures.use_count, cases[i].uses);
    }
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_is_whole),
        cmocka_unit_test(machines_have_other_names),
        cmocka_unit_test(unknown_machines_are_refused),
        cmocka_unit_test(known_figures),
        cmocka_unit_test(idioms_are_known),
        cmocka_unit_test(corrections_have_reasons),
        cmocka_unit_test(lacking_forms_are_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
