// SPDX-License-Identifier: MIT
/* What a command line asks of a compiler's driver: only as much as decides whether to step in. */
#include "compile/internal.h"

#include <ctype.h>
#include <string.h>

/* ---- names of compilers ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum compile_family family;
} names[] = {
    {"gcc", COMPILE_GNU},        {"g++", COMPILE_GNU},       {"gfortran", COMPILE_GNU},
    {"c89-gcc", COMPILE_GNU},    {"c99-gcc", COMPILE_GNU},   {"clang", COMPILE_CLANG},
    {"clang++", COMPILE_CLANG},  {"ccache", COMPILE_PREFIX}, {"distcc", COMPILE_PREFIX},
    {"sccache", COMPILE_PREFIX}, {"icecc", COMPILE_PREFIX},  {"env", COMPILE_PREFIX},
};

/* "-12", "-12.2", "-12.2.0": a version. */
static size_t without_version(const char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && (isdigit((unsigned char)name[at - 1]) || name[at - 1] == '.'))
        at--;
    return at > 1 && at < length && name[at - 1] == '-' ? at - 1 : length;
}

enum compile_family compile_family(const char *path)
{
    const char *name = base_name(path);
    size_t length = without_version(name, strlen(name));
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        size_t wanted = strlen(names[i].name);
        bool ends = length >= wanted && strncmp(name + length - wanted, names[i].name, wanted) == 0;
        if (ends && (length == wanted ||
                     (name[length - wanted - 1] == '-' && names[i].family != COMPILE_PREFIX)))
            return names[i].family;
    }
    return COMPILE_UNKNOWN;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Take the next word as their value. */
static const char *const valued[] = {
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-include",
    "-imacros",
    "-isystem",
    "-isysroot",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-imultilib",
    "-imultiarch",
    "-MF",
    "-MT",
    "-MQ",
    "-T",
    "-Ttext",
    "-Tdata",
    "-Tbss",
    "-u",
    "-z",
    "-e",
    "-A",
    "-B",
    "-J",
    "-G",
    "-R",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-target",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpdir",
    "-dumpbase-ext",
    "--param",
    "-wrapper",
    "-iwithprefixbefore",
    "-ivfsoverlay",
    "--sysroot",
    "-fplugin-arg",
    "-h",
};

/* The compiler assembles nothing then. */
static const char *const untouched[] = {
    "-E",     "-S",        "-M",           "-MM",           "-fsyntax-only",    "-###",
    "--help", "--version", "-dumpversion", "-dumpmachine",  "-dumpfullversion", "-dumpspecs",
    "-cc1",   "-cc1as",    "--analyze",    "--target-help", "--preprocess",     "--assemble",
};

static bool among(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static bool begins(const char *word, const char *start)
{
    return strncmp(word, start, strlen(start)) == 0;
}

void compile_scan(char *const *arguments, struct compile_scan *scan)
{
    bool inputs = false, question = false, operands = false;
    *scan = (struct compile_scan){0};
    for (; *arguments; arguments++) {
        const char *word = *arguments;
        if (operands || *word != '-' || !word[1]) {
            inputs = true;
        } else if (strcmp(word, "--") == 0) {
            operands = true;
        } else if (among(valued, BASE_COUNT(valued), word)) {
            scan->wrapped |= strcmp(word, "-wrapper") == 0;
            if (!arguments[1])
                break;
            arguments++;
        } else {
            question |= among(untouched, BASE_COUNT(untouched), word) || begins(word, "-print-") ||
                        begins(word, "--print-") || begins(word, "--help=");
            scan->shared |= strcmp(word, "-shared") == 0 || strcmp(word, "--shared") == 0;
        }
    }
    scan->untouched = question || !inputs;
}
