// SPDX-License-Identifier: MIT
/*
 * Figures of forms that a model does not have, from those of similar ones.
 *
 * Tables lack some forms (what LLVM's own lists leave out, instructions newer than a machine), and so do measurements (what
 * cannot run by itself). Each step rewrites the key and looks again; the first that is found counts. What is added
 * for a memory operand is a load: a micro-operation of the load units, and the latency of a load before the operands' own.
 */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

struct attempt {
    const struct model *model;
    char key[MODEL_KEY_BYTES];
    bool loads; /* its memory operand became a register */
};

static const struct model_figures *find(const struct attempt *attempt)
{
    return model_find(attempt->model, attempt->key, strlen(attempt->key));
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

/* ---- rewriting ------------------------------------------------------------------------------------ */

/* Conditions cost the same but for those that need both carry and zero flag, which tables have. */
static void rename_condition(struct attempt *attempt)
{
    static const char *const families[][2] = {{"cmov", "cmovz"}, {"set", "setz"}, {"j", "jz"}};
    size_t name = strcspn(attempt->key, "._");
    char rest[MODEL_KEY_BYTES];
    for (size_t i = 0; i < BASE_COUNT(families); i++) {
        if (strncmp(attempt->key, families[i][0], strlen(families[i][0])) != 0 ||
            !strncmp(attempt->key, "jmp", 3))
            continue;
        snprintf(rest, sizeof rest, "%s", attempt->key + name);
        snprintf(attempt->key, sizeof attempt->key, "%.8s%.100s", families[i][1], rest);
        return;
    }
}

/* No mask, no prefix; what was broadcast is loaded whole. */
static void strip(struct attempt *attempt)
{
    static const char *const marks[] = {".kz", ".k", ".lock", ".rep"};
    static const char *const parts[] = {"_m64", "_m32", "_m16"};
    for (size_t i = 0; i < BASE_COUNT(marks); i++)
        replace(attempt->key, 0, marks[i], "");
    if (!replace(attempt->key, 0, ".b", ""))
        return;
    const char *whole = strstr(attempt->key, "_z")   ? "_m512"
                        : strstr(attempt->key, "_y") ? "_m256"
                                                     : "_m128";
    for (size_t i = 0; i < BASE_COUNT(parts); i++)
        if (replace(attempt->key, 0, parts[i], whole))
            return;
}

/* VEX as legacy code, which has one register less: its first source is the result. */
static void devex(struct attempt *attempt)
{
    if (attempt->key[0] != 'v' || !replace(attempt->key, 0, ".v", ""))
        return;
    memmove(attempt->key, attempt->key + 1, strlen(attempt->key));
    const char *first = strstr(attempt->key, "_x_x_")   ? "_x_x_"
                        : strstr(attempt->key, "_y_y_") ? "_y_y_"
                                                        : NULL;
    if (first)
        replace(attempt->key, 0, first, first + 2);
}

/* ---- widths ----------------------------------------------------------------------------------------- */

static const struct model_figures *or_other_width(const struct attempt *from)
{
    static const char *const widths[][2] = {
        {"_r64", "_r32"},   {"_r32", "_r64"},  {"_r16", "_r32"}, {"_r8h", "_r8"},
        {"_r8", "_r32"},    {"_z", "_y"},      {"_y", "_x"},     {"_m512", "_m256"},
        {"_m256", "_m128"}, {"_m64", "_m32"},  {"_m32", "_m64"}, {"_m16", "_m32"},
        {"_m8", "_m32"},    {"_abid", "_abi"}, {"_aid", "_abi"}, {"_ab", "_abd"},
        {"_abd", "_ab"},
    };
    const struct model_figures *found = find(from);
    for (size_t i = 0; i < BASE_COUNT(widths) && !found; i++) {
        struct attempt attempt = *from;
        /* One operand alone, then all of them. */
        while (!found &&
               replace(attempt.key, strcspn(from->key, "_"), widths[i][0], widths[i][1])) {
            found = find(&attempt);
            if (strstr(widths[i][1], widths[i][0]))
                break; /* would be replaced again */
        }
    }
    return found;
}

/* ---- a register form and a load ---------------------------------------------------------------------- */

static bool memory_to_register(struct attempt *attempt)
{
    static const char *const kinds[][2] = {{"_m512", "_z"},  {"_m256", "_y"},  {"_m128", "_x"},
                                           {"_m64", "_r64"}, {"_m32", "_r32"}, {"_m16", "_r16"},
                                           {"_m80", "_st"}};
    /* An 8-bit operand last: its name begins others. A vector instruction's 64 bits are a part of an xmm register. */
    bool vector =
        strstr(attempt->key, "_x") || strstr(attempt->key, "_y") || strstr(attempt->key, "_z");
    for (size_t i = 0; i < BASE_COUNT(kinds); i++)
        if (replace(attempt->key, 0, kinds[i][0],
                    vector && kinds[i][1][1] == 'r' ? "_x" : kinds[i][1]))
            return true;
    return replace(attempt->key, 0, "_m8", "_r8");
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

static const struct model_figures *similar(const struct attempt *from)
{
    struct attempt attempt = *from;
    const struct model_figures *found = or_other_width(&attempt);
    if (!found && replace(attempt.key, 0, ".e", ".v")) /* the units are the same */
        found = or_other_width(&attempt);
    if (!found) {
        devex(&attempt);
        found = or_other_width(&attempt);
    }
    return found;
}

bool model_estimate(const struct model *model, const char *key, struct model_figures *figures)
{
    struct attempt attempt = {.model = model};
    snprintf(attempt.key, sizeof attempt.key, "%s", key);
    rename_condition(&attempt);
    strip(&attempt);
    const struct model_figures *found = similar(&attempt);
    if (!found && (attempt.loads = memory_to_register(&attempt)))
        found = similar(&attempt);
    if (found)
        *figures = *found;
    else
        whatever(model, figures);
    if (found && attempt.loads)
        add_load(model, figures);
    figures->idioms &= (uint8_t) ~(MODEL_ZEROES | MODEL_MOVES);
    figures->latency_source = figures->throughput_source = figures->use_source = MODEL_DERIVED;
    figures->reason = 0;
    return found;
}
