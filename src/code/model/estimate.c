// SPDX-License-Identifier: MIT
/*
 * Figures of forms that a model does not have, from those of similar ones.
 *
 * Tables lack some forms (what LLVM's own lists leave out, instructions newer than a machine), and so do measurements (what
 * cannot run by itself). Each step rewrites the key and looks again; the first that is found counts. What is added
 * for a memory operand is a load: a micro-operation of the load units, and the latency of a load before the operands' own.
 */
#include "model.h"

#include <stdio.h>
#include <string.h>

struct
try {
    const struct model *model;
    char key[MODEL_KEY_BYTES];
    bool loads; /* its memory operand became a register */
};

static const struct model_figures *find(const struct try *try)
{
    return model_find(try->model, try->key, strlen(try->key));
}

/* Replaces the first `from` at or behind `start` by `to`. */
static bool replace(char key[MODEL_KEY_BYTES], size_t start, const char *from, const char *to)
{
    size_t bytes = strlen(key), old = strlen(from), new = strlen(to);
    char *at = start <= bytes ? strstr(key + start, from) : NULL;
    if (!at || bytes - old + new >= MODEL_KEY_BYTES)
        return false;
    memmove(at + new, at + old, strlen(at + old) + 1);
    memcpy(at, to, new);
    return true;
}

/* ---- another mnemonic, no mask ------------------------------------------------------------------- */

/* Conditions cost what `equal` costs but for those that need the carry and the zero flag both; other names of one operation. */
static const struct model_figures *another_name(const struct try *from)
{
    static const char *const families[][2] = {{"cmov", "cmovz"}, {"set", "setz"}, {"j", "jz"}};
    struct try try = *from;
    size_t name = strcspn(try.key, "._");
    for (size_t i = 0; i < BASE_COUNT(families); i++) {
        size_t prefix = strlen(families[i][0]);
        if (strncmp(try.key, families[i][0], prefix) != 0 || !strncmp(try.key, "jmp", 3))
            continue;
        snprintf(try.key, sizeof try.key, "%s%s", families[i][1], from->key + name);
        return find(&try);
    }
    return NULL;
}

static const struct model_figures *without(const struct try *from)
{
    static const char *const marks[] = {".kz", ".k", ".b", ".lock", ".rep"};
    struct try try = *from;
    const struct model_figures *found = NULL;
    for (size_t i = 0; i < BASE_COUNT(marks) && !found; i++)
        if (replace(try.key, 0, marks[i], ""))
            found = find(&try);
    return found;
}

/* EVEX as VEX, VEX as legacy code: the units are the same. */
static const struct model_figures *older_code(const struct try *from)
{
    struct try try = *from;
    const struct model_figures *found = NULL;
    if (replace(try.key, 0, ".e", ".v"))
        found = find(&try);
    if (!found && try.key[0] == 'v' && replace(try.key, 0, ".v", "")) {
        memmove(try.key, try.key + 1, strlen(try.key));
        found = find(&try);
    }
    return found;
}

/* ---- widths ----------------------------------------------------------------------------------------- */

static const struct model_figures *other_width(const struct try *from)
{
    static const char *const widths[][2] = {
        {"_r64", "_r32"},   {"_r32", "_r64"},  {"_r16", "_r32"}, {"_r8h", "_r8"},
        {"_r8", "_r32"},    {"_z", "_y"},      {"_y", "_x"},     {"_m512", "_m256"},
        {"_m256", "_m128"}, {"_m64", "_m32"},  {"_m32", "_m64"}, {"_m16", "_m32"},
        {"_m8", "_m32"},    {"_abid", "_abi"}, {"_aid", "_abi"}, {"_ab", "_abd"},
        {"_abd", "_ab"},
    };
    const struct model_figures *found = NULL;
    for (size_t i = 0; i < BASE_COUNT(widths) && !found; i++) {
        struct try try = *from;
        /* One operand alone, then all of them. */
        while (!found && replace(try.key, strcspn(from->key, "_"), widths[i][0], widths[i][1])) {
            found = find(&try);
            if (strstr(widths[i][1], widths[i][0]))
                break; /* would be replaced again */
        }
    }
    return found;
}

/* ---- a register form and a load ---------------------------------------------------------------------- */

static bool memory_to_register(struct try *try)
{
    static const char *const kinds[][2] = {{"_m512", "_z"},  {"_m256", "_y"},  {"_m128", "_x"},
                                           {"_m64", "_r64"}, {"_m32", "_r32"}, {"_m16", "_r16"},
                                           {"_m80", "_st"}};
    /* An 8-bit operand last: its name begins others. A vector instruction's 64 bits are a part of an xmm register. */
    bool vector = strstr(try->key, "_x") || strstr(try->key, "_y") || strstr(try->key, "_z");
    for (size_t i = 0; i < BASE_COUNT(kinds); i++)
        if (replace(try->key, 0, kinds[i][0], vector && kinds[i][1][1] == 'r' ? "_x" : kinds[i][1]))
            return true;
    return replace(try->key, 0, "_m8", "_r8");
}

static void add_load(const struct model *model, struct model_figures *figures)
{
    const struct model_machine *machine = model_machine(model);
    float latency = machine->figures[MODEL_LOAD_LATENCY].value;
    bool stored = figures->latency_count == MODEL_PARTS || figures->use_count == MODEL_PARTS;
    if (stored)
        return;
    for (size_t i = 0; i < figures->latency_count; i++)
        figures->latencies[i].most +=
            latency; /* which operand was the memory is not known: least stays */
    if (machine->roles[MODEL_LOAD])
        figures->uses[figures->use_count++] =
            (struct model_use){.units = machine->roles[MODEL_LOAD], .cycles = 1};
    figures->micro_operations += 1;
    figures->fused_indexed += machine->rules & MODEL_UNLAMINATES ? 1 : 0;
    figures->fused += machine->rules & MODEL_FUSES_LOADS ? 0 : 1;
}

static void whatever(const struct model *model, struct model_figures *figures)
{
    const struct model_machine *machine = model_machine(model);
    *figures = (struct model_figures){.micro_operations = 1, .fused = 1, .fused_indexed = 1};
    figures->latencies[figures->latency_count++] =
        (struct model_latency){.from = MODEL_ANY, .to = MODEL_ANY, .least = 1, .most = 1};
    if (machine->roles[MODEL_ALU])
        figures->uses[figures->use_count++] =
            (struct model_use){.units = machine->roles[MODEL_ALU], .cycles = 1};
}

static const struct model_figures *similar(const struct try *try)
{
    static const struct model_figures *(*const steps[])(const struct try *) = {
        another_name, without, older_code, other_width};
    const struct model_figures *found = NULL;
    for (size_t i = 0; i < BASE_COUNT(steps) && !found; i++)
        found = steps[i](try);
    return found;
}

bool model_estimate(const struct model *model, const char *key, struct model_figures *figures)
{
    struct try try = {.model = model};
    snprintf(try.key, sizeof try.key, "%s", key);
    const struct model_figures *found = similar(&try);
    if (!found && (try.loads = memory_to_register(&try))) {
        found = find(&try);
        found = found ? found : similar(&try);
    }
    if (found)
        *figures = *found;
    else
        whatever(model, figures);
    if (found && try.loads)
        add_load(model, figures);
    figures->idioms &= (uint8_t) ~(MODEL_ZEROES | MODEL_MOVES);
    figures->latency_source = figures->throughput_source = figures->use_source = MODEL_DERIVED;
    figures->reason = 0;
    return found;
}
