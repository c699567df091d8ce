// SPDX-License-Identifier: MIT
/* `headroom cc`, `headroom c++`, `headroom fortran`: a compiler that counts, and prepares functions
   for timing. */
#include "cli/verbs.h"

#include "compile/compile.h"
#include "wire/built.h"

#include <string.h>

static void note(const char *sentence)
{
    say("%s.", sentence);
}

static int tell_failure(int code, const char *error)
{
    if (*error)
        say("%s.", error);
    return code;
}

static uint32_t chosen_modes(const struct settings *settings)
{
    return (settings->paths ? BUILT_PATHS : 0u) |
           (settings->contexts || settings->call_sites ? BUILT_CONTEXTS : 0u) |
           (settings->call_sites ? BUILT_CALL_SITES : 0u) |
           (settings->count_accesses ? BUILT_COUNT : 0u) |
           (settings->functions ? BUILT_FUNCTIONS : 0u) |
           (settings->cycles ? BUILT_CYCLES | BUILT_PMU : 0u);
}

static int compile(const struct settings *settings, const char *verb, const char *fallback,
                   int count, char **operands)
{
    char error[COMPILE_ERROR_BYTES];
    struct compile_request request = {
        .modes = chosen_modes(settings),
        .verbose = settings->verbose,
        .keep = settings->keep_assembly,
        .fallback = fallback,
        .command = operands,
        .note = note,
    };
    if (count == 0)
        return say_usage(verb, "no compiler to run was given");
    if (settings->cycles && !(request.modes & (BUILT_PATHS | BUILT_CONTEXTS)))
        return say_usage(verb, "--cycles measures paths or contexts: add --paths or --contexts");
    int code = compile_run(&request, error);
    return tell_failure(code, error);
}

int cc_run(const struct settings *settings, int count, char **operands)
{
    return compile(settings, "cc", "cc", count, operands);
}

int cxx_run(const struct settings *settings, int count, char **operands)
{
    return compile(settings, "c++", "c++", count, operands);
}

int fortran_run(const struct settings *settings, int count, char **operands)
{
    return compile(settings, "fortran", "gfortran", count, operands);
}

bool is_compile_step(const char *word)
{
    return strcmp(word, COMPILE_STEP) == 0;
}

int compile_step_run(char **words)
{
    char error[COMPILE_ERROR_BYTES];
    int code = compile_step(words, note, error);
    return tell_failure(code, error);
}
