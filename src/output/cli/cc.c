// SPDX-License-Identifier: MIT
/* `headroom cc`, `headroom c++`, `headroom fortran`: a compiler that counts, and prepares functions
   for timing. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "compile/compile.h"
#include "wire/instrumented.h"

#include <string.h>

struct compile_settings {
    const char *keep_assembly; /* a directory; NULL: nowhere */
    int paths, contexts, call_sites, cycles, count_accesses, functions, ceiling, verbose;
};

static const struct compile_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

static void note(const char *sentence)
{
    say("%s.", sentence);
}

static int report(int code, const char *error)
{
    if (*error)
        say("%s.", error);
    return code;
}

static uint32_t chosen_modes(const struct settings *settings)
{
    return (own(settings)->paths ? INSTRUMENTED_PATHS : 0u) |
           (own(settings)->contexts || own(settings)->call_sites ? INSTRUMENTED_CONTEXTS : 0u) |
           (own(settings)->call_sites ? INSTRUMENTED_CALL_SITES : 0u) |
           (own(settings)->count_accesses ? INSTRUMENTED_COUNT : 0u) |
           (own(settings)->functions ? INSTRUMENTED_FUNCTIONS : 0u) |
           (own(settings)->ceiling ? INSTRUMENTED_CEILING : 0u) |
           (own(settings)->cycles ? INSTRUMENTED_CYCLES | INSTRUMENTED_PMU : 0u);
}

static int compile(const struct settings *settings, const char *verb, const char *fallback,
                   int count, char **operands)
{
    char error[COMPILE_ERROR_BYTES];
    struct compile_request request = {
        .modes = chosen_modes(settings),
        .verbose = own(settings)->verbose,
        .keep = own(settings)->keep_assembly,
        .fallback = fallback,
        .command = operands,
        .note = note,
    };
    if (count == 0)
        return say_usage(verb, "no compiler to run was given");
    if (own(settings)->cycles && !(request.modes & (INSTRUMENTED_PATHS | INSTRUMENTED_CONTEXTS)))
        return say_usage(verb, "--cycles measures paths or contexts: add --paths or --contexts");
    if (own(settings)->ceiling && request.modes & ~(uint32_t)INSTRUMENTED_NOPS)
        return say_usage(verb, "--ceiling leaves loops as they are, and cannot be combined with "
                               "options that count in them");
    int code = compile_run(&request, error);
    return report(code, error);
}

static int cc_run(const struct settings *settings, int count, char **operands)
{
    return compile(settings, "cc", "cc", count, operands);
}

static int cxx_run(const struct settings *settings, int count, char **operands)
{
    return compile(settings, "c++", "c++", count, operands);
}

static int fortran_run(const struct settings *settings, int count, char **operands)
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
    return report(code, error);
}

/* ---- the command line --------------------------------------------------------------------------
 */

#define COMPILE_STATUS                                                                             \
    "The exit status of the compiler, or 1 when the code cannot be rewritten or headroom itself "  \
    "failed, 2 for wrong options, 126 when COMPILER cannot be executed, 127 when it cannot be "    \
    "found."

static const struct option_spec compile_options[] = {
    {"paths", 0, OPTION_FLAG, OWN(compile_settings, paths), .value = 1,
     .help = "Count how often each path through each function is taken."},
    {"contexts", 0, OPTION_FLAG, OWN(compile_settings, contexts), .value = 1,
     .help = "Record calling contexts, that is, which function was called from where, as a tree. "
             "With --paths, each context's paths are counted separately."},
    {"call-sites", 0, OPTION_FLAG, OWN(compile_settings, call_sites), .value = 1,
     .help = "Keep calls of the same function from different places in its caller apart. Implies "
             "--contexts."},
    {"count", 0, OPTION_FLAG, OWN(compile_settings, count_accesses), .value = 1,
     .help = "Count memory accesses exactly, as a source of samples for 'headroom waste' and "
             "'headroom reuse'."},
    {"cycles", 0, OPTION_FLAG, OWN(compile_settings, cycles), .value = 1,
     .help = "Also measure the time stamp cycles of each path or context: its own, excluding the "
             "functions that it calls, including time spent waiting for the processor. Sampled: "
             "about one execution in 64 is measured."},
    {"functions", 0, OPTION_FLAG, OWN(compile_settings, functions), .value = 1,
     .help = "Begin each function with a nop that 'headroom interference' can safely replace with "
             "a jump while the program runs. This costs one instruction per call, two with "
             "-fcf-protection, needs nothing at link time, and can be combined with all of the "
             "above. Programs built with -finstrument-functions or -fpatchable-function-entry do "
             "not need it."},
    {"ceiling", 0, OPTION_FLAG, OWN(compile_settings, ceiling), .value = 1,
     .help = "Put a nop before each innermost loop, which 'headroom ceiling' replaces with a jump "
             "while the program runs: so it also measures loops that take a short time at a time "
             "in functions that are called again and again. The loops themselves stay as they are, "
             "and nothing is needed at link time. Can be combined with --functions alone."},
    {"keep-assembly", 0, OPTION_DIRECTORY, OWN(compile_settings, keep_assembly), .argument = "DIR",
     .help = "Keep the rewritten assembly of each object in DIR, which is created if missing."},
    {"verbose", 0, OPTION_FLAG, OWN(compile_settings, verbose), .value = 1,
     .help = "Print to standard error, one line per object, how many functions were instrumented "
             "and how many were left as they are."},
    OPTION_HELP,
    OPTION_END,
};

/* What does not depend on the language. */
#define COMPILES(function)                                                                         \
    .arguments = "[--] [COMPILER] ARGUMENT...", .exit_status = COMPILE_STATUS,                     \
    .options = compile_options, .usage_code = 2, .operands = OPERANDS_COMPILER, .run = (function), \
    .own_bytes = sizeof(struct compile_settings)

const struct verb cc_verb = {
    .name = "cc",
    .summary = "compile C with counters",
    .description =
        "Runs COMPILER (gcc, g++, gfortran, clang, clang++, by whatever name; default: cc) and "
        "adds counters to the assembly that it generates, for 'headroom paths'. In builds, set "
        "CC=\"headroom cc --paths --\", CXX=\"headroom c++ --paths --\", FC=\"headroom fortran "
        "--paths --\", for both compiling and linking. Add -g to see source lines. A program "
        "built in this way behaves as usual when it is run by itself. With --functions it is "
        "prepared for 'headroom interference', with --ceiling for 'headroom ceiling'.\n\n"
        "Options, messages, dependency files and exit status are the compiler's own; gcc is "
        "also given -fno-ipa-ra, except with --functions or --ceiling alone. Inline assembly, "
        "assembly "
        "files and libraries are left as they are; functions to which nothing can be added "
        "safely are left as they are and listed in reports. Not supported, and refused with "
        "one sentence: -flto, machines other than x86-64 Linux, -masm=intel, -pg and other "
        "profilers, -mcmodel=medium and large, -fsplit-stack, and -gsplit-dwarf by clang. "
        "Compilation to assembly (-S) gives the compiler's own output.\n\n"
        "Without --paths, --contexts, --count, --functions or --ceiling the assembly is only "
        "parsed and "
        "written again: the objects are those that COMPILER makes by itself.",
    COMPILES(cc_run),
};

const struct verb cxx_verb = {
    .name = "c++",
    .summary = "compile C++ with counters",
    .description = "The same as 'headroom cc', where the default for COMPILER is c++. "
                   "'headroom help cc' describes what is done.",
    COMPILES(cxx_run),
};

const struct verb fortran_verb = {
    .name = "fortran",
    .summary = "compile Fortran with counters",
    .description = "The same as 'headroom cc', where the default for COMPILER is gfortran. "
                   "'headroom help cc' describes what is done.",
    COMPILES(fortran_run),
};
