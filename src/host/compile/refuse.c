// SPDX-License-Identifier: MIT
/*
 * What a compilation step (cc1, cc1plus, f951, clang -cc1) says about the code it makes. The driver
 * has put together all that was asked for, also in response files and by its own configuration, so
 * this is where to look.
 */
#include "compile/internal.h"

#include <string.h>

#define WITHOUT(option) "cannot rewrite code compiled with " option ": build without it"

static const char lto[] = "cannot rewrite code that is generated at link time (-flto): build "
                          "without -flto, or add -fno-lto";
const char compile_other_machine[] =
    "only code for 64-bit x86-64 Linux can be rewritten: build for that, or without headroom";
static const char profile[] = "cannot rewrite code that is instrumented for another profiler (-pg, "
                              "--coverage, -fprofile-generate): build without that";

static const struct {
    const char *option; /* '*' at the end: anything may follow */
    const char *sentence;
    const char *undone; /* by this option, further on */
} refusals[] = {
    {"-flto*", lto, "-fno-lto"},
    {"-m32", compile_other_machine, "-m64"},
    {"-mx32", compile_other_machine, "-m64"},
    {"-m16", compile_other_machine, "-m64"},
    {"-p", profile, NULL},
    {"-pg", profile, NULL},
    {"-fprofile-arcs", profile, "-fno-profile-arcs"},
    {"-ftest-coverage", profile, "-fno-test-coverage"},
    {"-fprofile-generate*", profile, "-fno-profile-generate"},
    {"-fprofile-instrument=*", profile, NULL},
    {"-fprofile-instr-generate*", profile, NULL},
    {"-coverage-notes-file=*", profile, NULL},
    {"-masm=intel", "only assembly in AT&T syntax can be rewritten: build without -masm=intel",
     "-masm=att"},
    {"-x86-asm-syntax=intel",
     "only assembly in AT&T syntax can be rewritten: build without -masm=intel", NULL},
    {"-mcmodel=large", WITHOUT("-mcmodel=large"), "-mcmodel=small"},
    {"-mcmodel=kernel", WITHOUT("-mcmodel=kernel"), "-mcmodel=small"},
    {"-mcmodel=medium", WITHOUT("-mcmodel=medium"), "-mcmodel=small"},
    {"-fsplit-stack", WITHOUT("-fsplit-stack"), "-fno-split-stack"},
    {"-split-dwarf-file", WITHOUT("-gsplit-dwarf by clang"), NULL},
};

static bool matches(const char *word, const char *option)
{
    size_t length = strlen(option);
    if (option[length - 1] == '*')
        return strncmp(word, option, length - 1) == 0;
    return strcmp(word, option) == 0;
}

/* clang names the machine it makes code for. */
static bool other_machine(char *const *step)
{
    const char *triple = words_value(step, "-triple");
    return triple && (strncmp(triple, "x86_64-", 7) != 0 || !strstr(triple, "linux") ||
                      strstr(triple, "gnux32"));
}

const char *compile_refusal(char *const *step)
{
    for (size_t i = 0; i < BASE_COUNT(refusals); i++) {
        bool given = false;
        for (char *const *word = step; *word; word++) {
            given |= matches(*word, refusals[i].option);
            given &= !refusals[i].undone || strcmp(*word, refusals[i].undone) != 0;
        }
        if (given)
            return refusals[i].sentence;
    }
    return other_machine(step) ? compile_other_machine : NULL;
}

/* ---- where the code may be placed ------------------------------------------------------------ */

static const struct {
    const char *option;
    enum compile_placement placement;
} placements[] = {
    {"-fpic", COMPILE_PLACED_SHARED},   {"-fPIC", COMPILE_PLACED_SHARED},
    {"-fpie", COMPILE_PLACED_ANYWHERE}, {"-fPIE", COMPILE_PLACED_ANYWHERE},
    {"-fno-pic", COMPILE_PLACED_LOW},   {"-fno-PIC", COMPILE_PLACED_LOW},
    {"-fno-pie", COMPILE_PLACED_LOW},   {"-fno-PIE", COMPILE_PLACED_LOW},
};

/* Without an option gcc's own default applies, which is not for shared libraries and which is taken
   to be -fPIE: what that allows is right for -fno-pie as well. */
char compile_placement(char *const *step)
{
    const char *model = words_value(step, "-mrelocation-model");
    char placement = COMPILE_PLACED_ANYWHERE;
    if (model && strcmp(model, "static") == 0)
        return COMPILE_PLACED_LOW;
    if (model)
        return words_find(step, "-pic-is-pie") >= 0 ? COMPILE_PLACED_ANYWHERE
                                                    : COMPILE_PLACED_SHARED;
    for (; *step; step++)
        for (size_t i = 0; i < BASE_COUNT(placements); i++)
            if (strcmp(*step, placements[i].option) == 0)
                placement = placements[i].placement;
    return placement;
}
