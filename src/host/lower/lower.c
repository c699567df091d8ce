// SPDX-License-Identifier: MIT
/*
 * The commands, in their order. Passes are few, so that accesses stay as the source has them: mem2reg takes scalars out of memory, loops get the
 * form that Polly wants, small functions without loops are inlined, and nothing removes a load or a store. Not indvars: it makes
 * comparisons unsigned, of which Polly makes nothing where a bound is a minimum.
 */
#include "lower/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSES_FIRST  "function(mem2reg,instsimplify,simplifycfg)"
#define PASSES_INLINE "cgscc(inline),function(mem2reg,instsimplify,simplifycfg)"
/* sroa: of structures that are copied as a whole, such as Fortran's descriptors of arrays, Polly says nothing. */
#define PASSES_SECOND                                                                              \
    "ipsccp,function(sroa,instsimplify,simplifycfg,loop-simplify,loop-rotate,polly-prepare)"
#define PASSES_POLLY "print<polly-function-scops>"

struct lowering {
    const struct lower_request *request;
    struct lowered *lowered;
    char directory[PATH_BYTES];
    char paths[6][PATH_BYTES];
    char *error;
};
enum { FILE_SOURCE, FILE_FIRST, FILE_BOUND, FILE_SECOND, FILE_PRINTED, FILE_ERRORS };
static const char *const file_names[] = {"source.ll", "first.ll", "bound.ll",
                                         "second.ll", "printed",  "errors"};

enum language language_of(const char *path)
{
    static const struct {
        const char *end;
        enum language language;
    } ends[] = {{".ll", LANGUAGE_IR},       {".bc", LANGUAGE_IR},       {".c", LANGUAGE_C},
                {".i", LANGUAGE_C},         {".cc", LANGUAGE_CXX},      {".cpp", LANGUAGE_CXX},
                {".cxx", LANGUAGE_CXX},     {".C", LANGUAGE_CXX},       {".ii", LANGUAGE_CXX},
                {".f", LANGUAGE_FORTRAN},   {".for", LANGUAGE_FORTRAN}, {".f90", LANGUAGE_FORTRAN},
                {".f95", LANGUAGE_FORTRAN}, {".f03", LANGUAGE_FORTRAN}, {".f08", LANGUAGE_FORTRAN},
                {".F", LANGUAGE_FORTRAN},   {".F90", LANGUAGE_FORTRAN}, {".F95", LANGUAGE_FORTRAN},
                {".F03", LANGUAGE_FORTRAN}, {".F08", LANGUAGE_FORTRAN}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < BASE_COUNT(ends); i++)
        if (strcmp(dot, ends[i].end) == 0)
            return ends[i].language;
    return LANGUAGE_NONE;
}

const struct ir_described *lower_array(const struct lowered *lowered, const char *name)
{
    for (size_t i = 0; i < lowered->arrays.count; i++)
        if (strcmp(lowered->arrays.items[i].name, name) == 0)
            return &lowered->arrays.items[i];
    return NULL;
}

bool lower_is_source(const char *word)
{
    return word[0] != '-' && language_of(word) != LANGUAGE_NONE;
}

bool lower_read_binding(const char *text, char *name, struct lower_binding *binding)
{
    const char *equals = strchr(text, '=');
    size_t bytes = equals ? (size_t)(equals - text) : 0;
    if (!bytes || !equals[1] || bytes >= LOWER_NAME_BYTES)
        return false;
    memcpy(name, text, bytes);
    name[bytes] = 0;
    *binding = (struct lower_binding){name, equals + 1};
    return true;
}

/* ---- the compiler ------------------------------------------------------------------------------------------- */

/* Of the user's command: what decides what the source means. What only decides how good the code is, and what other compilers alone
   know, is left out. */
static void add_words(struct command *words, char *const *compiler)
{
    static const char *const pairs[] = {"-I",      "-D",         "-U", "-include", "-isystem",
                                        "-iquote", "-idirafter", "-J", "-imacros", "-x"};
    static const char *const kept[] = {
        "-std=",        "-ansi",       "-funsigned-char",  "-fshort-enums",
        "-ffixed-form", "-ffree-form", "-fdefault-real-8", "-fdefault-integer-8",
        "-m32",         "-ffast-math"};
    for (size_t i = 1; compiler && compiler[0] && compiler[i]; i++) {
        for (size_t j = 0; j < BASE_COUNT(pairs); j++) {
            size_t bytes = strlen(pairs[j]);
            if (strncmp(compiler[i], pairs[j], bytes) != 0)
                continue;
            command_add(words, compiler[i]);
            if (!compiler[i][bytes] && compiler[i + 1])
                command_add(words, compiler[++i]);
            break;
        }
        for (size_t j = 0; j < BASE_COUNT(kept); j++)
            if (strncmp(compiler[i], kept[j], strlen(kept[j])) == 0)
                command_add(words, compiler[i]);
    }
}

static void copy_errors(const struct lowering *lowering)
{
    struct util_text text = {0};
    if (file_read(lowering->paths[FILE_ERRORS], &text) && text.count)
        fwrite(text.bytes, 1, text.count, stderr);
    util_text_free(&text);
}

static bool explain(const struct lowering *lowering, enum ran ran, const char *command)
{
    if (ran == RAN)
        return true;
    const char *package = strstr(command, "flang")   ? "flang-19"
                          : strstr(command, "clang") ? "clang-19"
                                                     : "llvm-19";
    if (ran == RAN_NOT_FOUND)
        snprintf(lowering->error, LOWER_ERROR_BYTES,
                 "LLVM 19 is needed, and '%s' cannot be found: on Debian, 'apt-get install %s'.",
                 command, package);
    else if (ran == RAN_LATE)
        snprintf(lowering->error, LOWER_ERROR_BYTES,
                 "'%s' did not end within %u seconds (--max-time) with '%.2000s': put the "
                 "function with the loop into a file of its own.",
                 command, lowering->request->seconds, lowering->request->path);
    else
        snprintf(lowering->error, LOWER_ERROR_BYTES, "'%s' failed with '%.4000s'.", command,
                 lowering->request->path);
    if (ran == RAN_FAILED && !lowering->request->quiet)
        copy_errors(lowering);
    return false;
}

/* macros: of the bindings, those that are given as macros. */
static bool compile(const struct lowering *lowering, const bool macros[LOWER_BINDINGS])
{
    const struct lower_request *request = lowering->request;
    enum language language = language_of(request->path);
    struct command words = {0};
    char defined[LOWER_BINDINGS][256];
    command_add(&words, language == LANGUAGE_FORTRAN ? "flang-new-19"
                        : language == LANGUAGE_CXX   ? "clang++-19"
                                                     : "clang-19");
    add_words(&words, request->compiler);
    for (size_t i = 0; i < request->bindings_count; i++) {
        if (!macros[i])
            continue;
        snprintf(defined[i], sizeof defined[i], "-D%.120s=%.120s", request->bindings[i].name,
                 request->bindings[i].text);
        command_add(&words, defined[i]);
    }
    command_add(&words, "-O0");
    command_add(&words, "-g");
    command_add(&words, "-S");
    command_add(&words, "-emit-llvm");
    if (language != LANGUAGE_FORTRAN) {
        command_add(&words, "-Xclang");
        command_add(&words, "-disable-O0-optnone");
        command_add(&words, "-fno-math-errno");
        command_add(&words, "-w");
    }
    command_add(&words, "-o");
    command_add(&words, lowering->paths[FILE_SOURCE]);
    command_add(&words, request->path);
    if (words.full) {
        snprintf(lowering->error, LOWER_ERROR_BYTES, "the compiler has too many arguments.");
        return false;
    }
    enum ran ran = command_run(&words, NULL, lowering->paths[FILE_ERRORS], request->seconds);
    return explain(lowering, ran, words.words[0]);
}

static bool optimise(const struct lowering *lowering, const char *passes, const char *from,
                     const char *to)
{
    struct command words = {0};
    char text[128];
    snprintf(text, sizeof text, "-passes=%s", passes);
    command_add(&words, "opt-19");
    command_add(&words, "-S");
    command_add(&words, text);
    command_add(&words, from);
    command_add(&words, "-o");
    command_add(&words, to);
    enum ran ran =
        command_run(&words, NULL, lowering->paths[FILE_ERRORS], lowering->request->seconds);
    return explain(lowering, ran, words.words[0]);
}

/* Aliasing and profit are questions of transformations, and none is made. Sets and remarks both go to standard error. */
static bool print_sets(const struct lowering *lowering)
{
    struct command words = {0};
    command_add(&words, "opt-19");
    command_add(&words, "-passes=" PASSES_POLLY);
    command_add(&words, "-polly-process-unprofitable");
    command_add(&words, "-polly-stmt-granularity=bb");
    command_add(&words, "-polly-print-instructions");
    command_add(&words, "-polly-ignore-aliasing");
    command_add(&words, "-polly-invariant-load-hoisting");
    command_add(&words, "-polly-detect-track-failures");
    command_add(&words, "-polly-detect-keep-going");
    command_add(&words, "-pass-remarks-missed=polly-detect");
    command_add(&words, "-disable-output");
    command_add(&words, lowering->paths[FILE_SECOND]);
    enum ran ran =
        command_run(&words, NULL, lowering->paths[FILE_PRINTED], lowering->request->seconds);
    return explain(lowering, ran, words.words[0]);
}

/* ---- values of variables ---------------------------------------------------------------------------------------- */

static bool say_failure(const struct lowering *lowering, const char *path)
{
    snprintf(lowering->error, LOWER_ERROR_BYTES, "cannot read '%.4000s': %s.", path,
             errno ? strerror(errno) : base_status_text(BASE_NO_MEMORY));
    return false;
}

static bool read_ir(const struct lowering *lowering, const char *path, struct ir **ir)
{
    struct util_text text = {0};
    errno = 0;
    if (!file_read(path, &text)) {
        util_text_free(&text);
        return say_failure(lowering, path);
    }
    enum base_status status = ir_read(text.bytes ? text.bytes : "", text.count, ir);
    util_text_free(&text);
    if (status != BASE_OK)
        snprintf(lowering->error, LOWER_ERROR_BYTES, "cannot read the LLVM IR of '%.4000s': %s.",
                 lowering->request->path, base_status_text(status));
    return status == BASE_OK;
}

static bool write_file(const struct lowering *lowering, const char *path,
                       const struct util_text *text)
{
    FILE *file = fopen(path, "we");
    bool good = file && fwrite(text->bytes, 1, text->count, file) == text->count;
    if (file)
        good = fclose(file) == 0 && good;
    if (!good)
        snprintf(lowering->error, LOWER_ERROR_BYTES, "cannot write '%.4000s': %s.", path,
                 strerror(errno));
    return good;
}

static bool read_number(const char *text, struct ir_number *number)
{
    char *end;
    *number = (struct ir_number){.value = strtoll(text, &end, 0)};
    number->whole = !*end && end != text;
    number->real = number->whole ? (double)number->value : strtod(text, &end);
    return !*end && end != text;
}

/* Binds one variable in the module of a file, where it is a number. *count: values replaced. */
static bool bind(const struct lowering *lowering, const struct lower_binding *binding,
                 size_t *count)
{
    struct ir *ir = NULL;
    struct util_text text = {0};
    struct ir_number value;
    *count = 0;
    if (!read_number(binding->text, &value))
        return true;
    bool good = read_ir(lowering, lowering->paths[FILE_BOUND], &ir) &&
                ir_bind(ir, NULL, binding->name, &value, &text, count) &&
                write_file(lowering, lowering->paths[FILE_BOUND], &text);
    ir_free(ir);
    util_text_free(&text);
    return good;
}

/* "100" or "100,0:50": bounds of an array, as a declaration has them. False: it is something else. */
static bool read_shape(const struct lower_binding *binding, struct ir_shape *shape)
{
    const char *at = binding->text;
    *shape = (struct ir_shape){.name = binding->name};
    while (shape->rank < IR_RANK_MAX) {
        char *end;
        long long low = 1, high = strtoll(at, &end, 10);
        if (end == at)
            return false;
        if (*end == ':') {
            at = end + 1;
            low = high;
            high = strtoll(at, &end, 10);
        }
        if (end == at || high < low || low < -(1LL << 40) || high > 1LL << 40)
            return false;
        shape->low[shape->rank] = low;
        shape->high[shape->rank++] = high;
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        at = end + 1;
    }
    return false;
}

static bool say_bounds(const struct lowering *lowering, const struct lower_binding *binding)
{
    snprintf(lowering->error, LOWER_ERROR_BYTES,
             "-D %.200s=%.200s: an array's bounds are numbers such as 100 or 0:50, one or two for "
             "each dimension, with commas between.",
             binding->name, binding->text);
    return false;
}

/* Several functions may have an array of that name. */
static bool keep_array(const struct lowering *lowering, const struct ir_described *found)
{
    struct lowered *lowered = lowering->lowered;
    const struct ir_described *array = lower_array(lowered, found->name);
    struct ir_described added = *found;
    uint32_t number;
    if (array) {
        struct ir_described *known = &lowered->arrays.items[array - lowered->arrays.items];
        known->rank = found->rank > known->rank ? found->rank : known->rank;
        known->assumed |= found->assumed;
        known->given |= found->given;
        return true;
    }
    if (!util_strings_add(&lowered->strings, found->name, strlen(found->name), &number))
        return false;
    added.name = lowered->strings.texts[number];
    return UTIL_PUSH(lowered->arrays.items, lowered->arrays.count, lowered->arrays.capacity, added);
}

/* Descriptors of Fortran's arrays, with the bounds that are given. */
static bool settle(const struct lowering *lowering)
{
    const struct lower_request *request = lowering->request;
    struct ir_shape *shapes = calloc(request->bindings_count + 1, sizeof *shapes);
    struct ir_descriptions found = {0};
    struct util_text text = {0};
    struct ir *ir = NULL;
    size_t count = 0;
    for (size_t i = 0; shapes && i < request->bindings_count; i++)
        count += read_shape(&request->bindings[i], &shapes[count]);
    bool good = shapes && read_ir(lowering, lowering->paths[FILE_BOUND], &ir) &&
                ir_settle_descriptors(ir, shapes, count, &text, &found) &&
                write_file(lowering, lowering->paths[FILE_BOUND], &text);
    for (size_t i = 0; good && i < found.count; i++)
        good = keep_array(lowering, &found.items[i]);
    if (!good && !lowering->error[0])
        snprintf(lowering->error, LOWER_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
    free(found.items);
    free(shapes);
    ir_free(ir);
    util_text_free(&text);
    return good;
}

/* Accessors of classes become what they access, before Polly asks what they do. */
static bool inline_accessors(const struct lowering *lowering)
{
    struct ir *ir = NULL;
    struct util_text text = {0};
    size_t count = 0;
    bool good = read_ir(lowering, lowering->paths[FILE_BOUND], &ir) &&
                ir_allow_inlining(ir, &text, &count) &&
                (!count || (write_file(lowering, lowering->paths[FILE_FIRST], &text) &&
                            optimise(lowering, PASSES_INLINE, lowering->paths[FILE_FIRST],
                                     lowering->paths[FILE_BOUND])));
    ir_free(ir);
    util_text_free(&text);
    return good;
}

/* Does the word occur in the source? Then it may well be a macro, even if its value changes nothing. */
static bool source_has(const struct lowering *lowering, const char *name)
{
    struct util_text text = {0};
    bool found = false;
    size_t bytes = strlen(name);
    if (file_read(lowering->request->path, &text) && text.bytes)
        for (const char *at = text.bytes; !found && (at = strstr(at, name)); at++)
            found = (at == text.bytes || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) &&
                    !isalnum((unsigned char)at[bytes]) && at[bytes] != '_';
    util_text_free(&text);
    return found;
}

/* Variables first. What is none is taken for a macro, and the source compiled again with it: not with all, as "int n" would become
   "int 1000". */
static bool prepare(const struct lowering *lowering)
{
    const struct lower_request *request = lowering->request;
    bool ir = language_of(request->path) == LANGUAGE_IR, any = false;
    bool macros[LOWER_BINDINGS] = {false};
    const char *source = ir ? request->path : lowering->paths[FILE_SOURCE];
    size_t count;
    for (unsigned turn = 0; turn < 2; turn++) {
        if (!ir && !compile(lowering, macros))
            return false;
        if (!optimise(lowering, PASSES_FIRST, source, lowering->paths[FILE_BOUND]) ||
            !inline_accessors(lowering) || !settle(lowering))
            return false;
        for (size_t i = 0; i < request->bindings_count; i++) {
            if (!bind(lowering, &request->bindings[i], &count))
                return false;
            const struct ir_described *array =
                lower_array(lowering->lowered, request->bindings[i].name);
            if (count || turn || (array && array->given))
                continue;
            if (array)
                return say_bounds(lowering, &request->bindings[i]);
            if (ir || !source_has(lowering, request->bindings[i].name)) {
                snprintf(lowering->error, LOWER_ERROR_BYTES,
                         "-D %.200s: '%.2000s' has no parameter, global variable or macro of that "
                         "name.",
                         request->bindings[i].name, request->path);
                return false;
            }
            macros[i] = any = true;
        }
        if (!any)
            break;
    }
    return optimise(lowering, PASSES_SECOND, lowering->paths[FILE_BOUND],
                    lowering->paths[FILE_SECOND]);
}

/* ---- all ------------------------------------------------------------------------------------------------------------ */

static bool read_sets(const struct lowering *lowering, struct lowered *lowered)
{
    struct util_text printed = {0};
    errno = 0;
    bool good = read_ir(lowering, lowering->paths[FILE_SECOND], &lowered->ir) &&
                (file_read(lowering->paths[FILE_PRINTED], &printed) ||
                 say_failure(lowering, lowering->paths[FILE_PRINTED])) &&
                polyhedra_read(printed.bytes ? printed.bytes : "", printed.count, lowered->ir,
                               &lowered->polyhedra, lowering->error) == BASE_OK;
    if (good && !rejected_read(printed.bytes ? printed.bytes : "", lowered)) {
        snprintf(lowering->error, LOWER_ERROR_BYTES, "%s.", base_status_text(BASE_NO_MEMORY));
        good = false;
    }
    util_text_free(&printed);
    return good;
}

static bool begin(struct lowering *lowering)
{
    const char *root = util_temporary_root();
    if (!util_temporary_directory(root, "headroom-locality", lowering->directory,
                                  PATH_BYTES - 32)) {
        snprintf(lowering->error, LOWER_ERROR_BYTES,
                 "cannot make a temporary directory in '%.4000s': %s.", root, strerror(errno));
        lowering->directory[0] = 0;
        return false;
    }
    for (size_t i = 0; i < BASE_COUNT(file_names); i++)
        snprintf(lowering->paths[i], PATH_BYTES, "%.4060s/%s", lowering->directory, file_names[i]);
    return true;
}

static void end(const struct lowering *lowering)
{
    if (!lowering->directory[0])
        return;
    for (size_t i = 0; i < BASE_COUNT(file_names); i++)
        unlink(lowering->paths[i]);
    rmdir(lowering->directory);
}

bool lower_run(const struct lower_request *request, struct lowered *lowered, char *error)
{
    struct lowering lowering = {.request = request, .lowered = lowered, .error = error};
    *lowered = (struct lowered){0};
    error[0] = 0;
    if (access(request->path, R_OK) != 0) {
        snprintf(error, LOWER_ERROR_BYTES, "cannot read '%.4000s': %s.", request->path,
                 strerror(errno));
        return false;
    }
    bool good = begin(&lowering) && prepare(&lowering) && print_sets(&lowering) &&
                read_sets(&lowering, lowered);
    end(&lowering);
    if (!good)
        lower_free(lowered);
    return good;
}

void lower_free(struct lowered *lowered)
{
    polyhedra_free(lowered->polyhedra);
    ir_free(lowered->ir);
    free(lowered->rejected);
    free(lowered->arrays.items);
    util_strings_free(&lowered->strings);
    *lowered = (struct lowered){0};
}
