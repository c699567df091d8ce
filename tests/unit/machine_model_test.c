// SPDX-License-Identifier: MIT
/*
 * machine_model: room model. Keys against instructions assembled by hand, latencies by operand, text written and read back,
 * and every way in which a file can be wrong.
 */
#include "model/model.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void keys_of_instructions(void **state)
{
    static const struct {
        const char *key;
        uint8_t code[12];
    } cases[] = {
        {"add_r64_r64", {0x48, 0x01, 0xc3}},
        {"add_r8h_i", {0x80, 0xc4, 0x01}},
        {"add.lock_m32_r32", {0xf0, 0x01, 0x18}},
        {"lea_r64_abid", {0x48, 0x8d, 0x44, 0x8b, 0x10}},
        {"lea_r64_abi", {0x48, 0x8d, 0x04, 0x8b}},
        {"movsq.rep", {0xf3, 0x48, 0xa5}},
        {"addsd_x_m64", {0xf2, 0x0f, 0x58, 0x00}},
        {"vaddpd.v_y_y_y", {0xc5, 0xf5, 0x58, 0xc2}},
        {"vaddpd.e.kz_z_z_z", {0x62, 0xf1, 0xf5, 0xc9, 0x58, 0xc2}},
        {"vaddpd.e.b_z_z_m64", {0x62, 0xf1, 0xf5, 0x58, 0x58, 0x00}},
        {"vgatherdps.v_y_vs32_y", {0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88}},
        {"jz_i", {0x74, 0x00}},
        {"fadd_st_st", {0xd8, 0xc1}},
    };
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        ZydisDecodedInstruction instruction;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        char key[MODEL_KEY_BYTES];
        assert_true(ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, cases[i].code, 12, &instruction, operands)));
        assert_int_equal(model_key(&instruction, operands, key), strlen(cases[i].key));
        assert_string_equal(key, cases[i].key);
    }
}

static struct model *sample(void)
{
    struct model *model = model_new("test", "A machine for tests");
    struct model_machine *machine = model_edit(model);
    uint8_t ports, divider;
    assert_true(model_add_unit(model, "p0", 1, &ports));
    assert_true(model_add_unit(model, "divider", 2, &divider));
    uint32_t reason = model_add_reason(model, "table has 13");
    machine->source = MODEL_TABLE;
    machine->rules = MODEL_FUSES_LOADS | MODEL_STACK_ENGINE;
    machine->roles[MODEL_ALU] = 1;
    machine->figures[MODEL_WIDTH] = (struct model_figure){.value = 4, .source = MODEL_TABLE};
    machine->figures[MODEL_FORWARD_GENERAL] =
        (struct model_figure){.value = 4.5F, .source = MODEL_OVERLAY, .reason = reason};
    struct model_figures figures = {.throughput = 0.25F,
                                    .micro_operations = 1,
                                    .fused = 1,
                                    .fused_indexed = 2,
                                    .latency_source = MODEL_TABLE,
                                    .throughput_source = MODEL_MEASURED,
                                    .use_source = MODEL_OVERLAY,
                                    .latency_count = 4,
                                    .use_count = 1,
                                    .idioms = MODEL_ZEROES};
    figures.latencies[0] = (struct model_latency){MODEL_ANY, MODEL_ANY, 1, 1};
    figures.latencies[1] = (struct model_latency){MODEL_ANY, 2, 3, 3};
    figures.latencies[2] = (struct model_latency){1, MODEL_ANY, 5, 6};
    figures.latencies[3] = (struct model_latency){1, 0, 7, 9};
    figures.uses[0] = (struct model_use){1, 1};
    assert_true(model_add(model, "xor_r64_r64", &figures));
    assert_true(model_add(model, "add_r64_r64", &figures));
    figures.busy_count = 1;
    figures.busy[0] = (struct model_busy){divider, 4, 8.125F};
    figures.reason = reason;
    assert_true(model_add(model, "divsd_x_x", &figures));
    assert_true(model_seal(model));
    return model;
}

static void latencies_by_operand(void **state)
{
    struct model *model = sample();
    const struct model_figures *figures = model_find(model, "add_r64_r64", 11);
    assert_non_null(figures);
    assert_null(model_find(model, "add_r64_r6", 10));
    assert_true(model_latency_least(figures, 1, 0) == 7);
    assert_true(model_latency_most(figures, 1, 0) == 9);
    assert_true(model_latency_least(figures, 1, 2) == 5);
    assert_true(model_latency_least(figures, 0, 2) == 3);
    assert_true(model_latency_least(figures, 0, 1) == 1);
    static const struct model_figures none;
    assert_true(model_latency_least(&none, 0, 0) < 0);
    model_close(model);
}

static void text_and_back(void **state)
{
    struct model *model = sample(), *again = NULL;
    struct util_text first = {0}, second = {0}, why = {0};
    assert_true(model_write(model, &first));
    assert_int_equal(model_read(first.bytes, first.count, &again, &why), BASE_OK);
    assert_true(model_write(again, &second));
    assert_string_equal(first.bytes, second.bytes);
    const struct model_machine *machine = model_machine(again);
    assert_string_equal(machine->title, "A machine for tests");
    assert_int_equal(machine->unit_count, 2);
    assert_int_equal(machine->units[1].copies, 2);
    assert_true(machine->figures[MODEL_FORWARD_GENERAL].value == 4.5F);
    assert_string_equal(model_reason(again, machine->figures[MODEL_FORWARD_GENERAL].reason),
                        "table has 13");
    const struct model_figures *figures = model_find(again, "divsd_x_x", 9);
    assert_non_null(figures);
    assert_true(figures->busy[0].most == 8.125F && figures->fused_indexed == 2);
    assert_int_equal(figures->use_source, MODEL_OVERLAY);
    const char *key;
    assert_int_equal(model_count(again), 3);
    model_at(again, 0, &key);
    assert_string_equal(key, "add_r64_r64");
    util_text_free(&first);
    util_text_free(&second);
    model_close(model);
    model_close(again);
}

static void wrong_files(void **state)
{
    static const struct {
        const char *text;
        enum base_status status;
    } cases[] = {
        {"", BASE_MALFORMED},
        {"headroom", BASE_MALFORMED},
        {"headroom-model 2\n", BASE_TOO_NEW},
        {"headroom-model 1\nname \n", BASE_MALFORMED},
        {"headroom-model 1\nunit p 0\n", BASE_MALFORMED},
        {"headroom-model 1\nunit p 1\nrole 0 2\n", BASE_MALFORMED},
        {"headroom-model 1\nfigure width 4 9 0\n", BASE_MALFORMED},
        {"headroom-model 1\nfigure width 4 1 1\n", BASE_MALFORMED},
        {"headroom-model 1\nfigure breadth 4 1 0\n", BASE_MALFORMED},
        {"headroom-model 1\n= t1\n", BASE_MALFORMED},
        {"headroom-model 1\n= t1\n= t1\nadd\n", BASE_MALFORMED},
        {"headroom-model 1\n= t99999999\nadd\n", BASE_MALFORMED},
        {"headroom-model 1\n= U1:1\nadd\n", BASE_MALFORMED},
        {"headroom-model 1\n= L0>16:1:1\nadd\n", BASE_MALFORMED},
        {"headroom-model 1\n= L0>1:2:1\nadd\n", BASE_MALFORMED},
        {"headroom-model 1\n= L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1 "
         "L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1 L0>0:1:1\nadd\n",
         BASE_MALFORMED},
        {"headroom-model 1\n= t1\nadd\x01\n", BASE_MALFORMED},
        {"headroom-model 1\n= t1\nname =\n", BASE_MALFORMED},
        {"headroom-model 1\nsource unknown\n= t1\nadd sub\n", BASE_OK},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct model *model = NULL;
        struct util_text why = {0};
        assert_int_equal(model_read(cases[i].text, strlen(cases[i].text), &model, &why),
                         cases[i].status);
        assert_true((cases[i].status == BASE_OK) == (model != NULL));
        assert_true((cases[i].status == BASE_OK) == (why.count == 0));
        model_close(model);
        util_text_free(&why);
    }
}

/* Each byte of a sound file changed, and each length of it: never more than a status. */
static void damaged_files(void **state)
{
    struct model *model = sample();
    struct util_text text = {0};
    assert_true(model_write(model, &text));
    model_close(model);
    for (size_t i = 0; i < text.count; i++)
        for (int flip = 1; flip < 256; flip = flip * 3 + 1) {
            struct model *read = NULL;
            text.bytes[i] ^= (char)flip;
            if (model_read(text.bytes, text.count, &read, NULL) == BASE_OK)
                model_close(read);
            text.bytes[i] ^= (char)flip;
        }
    for (size_t i = 0; i < text.count; i++) {
        struct model *read = NULL;
        char *part = malloc(i ? i : 1);
        memcpy(part, text.bytes, i);
        if (model_read(part, i, &read, NULL) == BASE_OK)
            model_close(read);
        free(part);
    }
    util_text_free(&text);
}

static void unknown_machine(void **state)
{
    struct model *model = NULL;
    struct util_text why = {0};
    assert_int_equal(model_open("z80", &model, &why), BASE_NOT_FOUND);
    assert_non_null(strstr(why.bytes, "z80"));
    util_text_free(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_instructions), cmocka_unit_test(latencies_by_operand),
        cmocka_unit_test(text_and_back),        cmocka_unit_test(wrong_files),
        cmocka_unit_test(damaged_files),        cmocka_unit_test(unknown_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
