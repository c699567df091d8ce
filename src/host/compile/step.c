// SPDX-License-Identifier: MIT
/*
 * The steps of a driver: compilation is looked at and what it writes is noted; assembly of what was
 * noted gets the rewritten text; linking gets the runtime. Assembly that a person wrote was never
 * noted and stays as it is.
 *
 * Texts and trial objects are files in memory, passed by number: nothing is left when a build is
 * interrupted.
 */
#include "compile/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MAGIC UINT64_C(0x3145544154534448)

static int refuse(struct compile_work *work, const char *sentence, const char *what)
{
    snprintf(work->error, COMPILE_ERROR_BYTES, "%.4096s%s%.4096s", sentence, what ? ": " : "",
             what ? what : "");
    return COMPILE_REFUSED;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static bool named(const char *program, const char *name)
{
    size_t length = strlen(program), wanted = strlen(name);
    return length >= wanted && strcmp(program + length - wanted, name) == 0 &&
           (length == wanted || program[length - wanted - 1] == '-');
}

static bool any_named(const char *program, const char *const *list)
{
    for (; *list; list++)
        if (named(program, *list))
            return true;
    return false;
}

enum compile_kind compile_kind(char *const *step)
{
    static const char *const compilers[] = {"cc1", "cc1plus", "f951", "cc1obj", "cc1objplus", NULL};
    static const char *const linkers[] = {"collect2", "ld",   "ld.bfd",  "ld.gold",
                                          "ld.lld",   "mold", "ld.mold", NULL};
    if (!step[0])
        return STEP_OTHER;
    const char *program = base_name(step[0]);
    if (step[1] && strcmp(step[1], "-cc1") == 0)
        return STEP_COMPILE;
    if (step[1] && strcmp(step[1], "-cc1as") == 0)
        return STEP_ASSEMBLE;
    if (any_named(program, compilers))
        return STEP_COMPILE;
    if (named(program, "as"))
        return STEP_ASSEMBLE;
    return any_named(program, linkers) ? STEP_LINK : STEP_OTHER;
}

/* ---- state ----------------------------------------------------------------------------------- */

enum base_status compile_state_create(const struct compile_request *request, bool shared,
                                      struct compile_work *work)
{
    struct compile_state *state = &work->state;
    *state = (struct compile_state){STATE_MAGIC, request->modes, request->verbose, shared, ""};
    if (request->keep && strlen(request->keep) >= sizeof state->keep)
        return BASE_UNSUPPORTED;
    if (request->keep)
        strcpy(state->keep, request->keep);
    work->note = request->note;
    work->file = compile_memory_file("headroom-steps");
    if (work->file < 0 || write(work->file, state, sizeof *state) != sizeof *state)
        return BASE_IO;
    return BASE_OK;
}

/* What was compiled: name of the assembly, name of the source, each with its 0; then enum
 * compile_placement. */
static bool note_compiled(struct compile_work *work, const char *assembly, const char *source,
                          char placement)
{
    char record[2 * PATH_MAX + 4];
    int length = snprintf(record, sizeof record, "%s%c%s%c%c", assembly, 0, source, 0, placement);
    return length > 0 && (size_t)length < sizeof record && lseek(work->file, 0, SEEK_END) >= 0 &&
           write(work->file, record, (size_t)length) == length;
}

struct compiled {
    char source[PATH_MAX];
    char placement;
};

static bool find_record(const char *at, const char *end, const char *assembly,
                        struct compiled *compiled)
{
    bool found = false;
    while (at < end) {
        const char *source = at + strlen(at) + 1, *placement = source + strlen(source) + 1;
        if (strcmp(at, assembly) == 0) {
            snprintf(compiled->source, sizeof compiled->source, "%s", source);
            compiled->placement = *placement;
            found = true;
        }
        at = placement + 1;
    }
    return found;
}

/* Which word of the step names assembly that was compiled; 0: none. */
static size_t find_compiled(struct compile_work *work, char *const *step, struct compiled *compiled)
{
    size_t bytes, found = 0;
    if (lseek(work->file, sizeof work->state, SEEK_SET) < 0)
        return 0;
    char *records = compile_read(work->file, &bytes);
    for (size_t i = 1; records && step[i]; i++)
        if (strcmp(step[i - 1], "-o") != 0 &&
            find_record(records, records + bytes, step[i], compiled))
            found = i;
    free(records);
    return found;
}

/* ---- compilation ----------------------------------------------------------------------------- */

static int prepare_compile(struct compile_work *work, char *const *step, struct words *ready)
{
    const char *output = words_value(step, "-o"), *source = words_value(step, "-dumpbase");
    bool clang = strcmp(step[1], "-cc1") == 0;
    words_add_all(ready, step);
    if (words_find(step, "-E") >= 0)
        return 0;
    const char *refusal = compile_refusal(step);
    if (refusal)
        return refuse(work, refusal, NULL);
    /* What is inserted may then use registers that a call does not preserve, even if the callee
     * happens to. */
    if (work->state.modes & ~(uint32_t)INSTRUMENTED_NOPS && !clang)
        words_add(ready, "-fno-ipa-ra");
    if (clang)
        source = words_value(step, "-main-file-name");
    char placement = work->state.shared ? COMPILE_PLACED_SHARED : compile_placement(step);
    if (output && !note_compiled(work, output, source ? source : "", placement))
        return refuse(work, "cannot record what was compiled", strerror(errno));
    return 0;
}

/* ---- assembly -------------------------------------------------------------------------------- */

struct assembler {
    char *const *step;
    size_t input;
};

/* Listings, dependencies, statistics: would be written twice. */
static bool side_output(const char *word)
{
    return strncmp(word, "-a", 2) == 0 || strcmp(word, "--statistics") == 0 ||
           strcmp(word, "-v") == 0 || strcmp(word, "--fatal-warnings") == 0 ||
           strcmp(word, "-massembler-fatal-warnings") == 0 || strncmp(word, "--listing", 9) == 0;
}

static bool side_output_valued(const char *word)
{
    return strcmp(word, "--MD") == 0 || strcmp(word, "-dependency-file") == 0;
}

/* The same assembler with the same options on another file. Quiet: what there is to say will be
 * said again. */
static bool assemble(void *context, int text, int object)
{
    const struct assembler *assembler = context;
    char text_path[COMPILE_FD_PATH], object_path[COMPILE_FD_PATH];
    struct words words = {0};
    compile_fd_path(text_path, text);
    compile_fd_path(object_path, object);
    for (size_t i = 0; assembler->step[i]; i++) {
        const char *word = assembler->step[i];
        bool output = i > 0 && strcmp(assembler->step[i - 1], "-o") == 0;
        if (side_output_valued(word) && assembler->step[i + 1])
            i++;
        else if (!side_output(word))
            words_add(&words, output ? object_path : i == assembler->input ? text_path : word);
    }
    if (words_find(words.at, "-o") < 0) {
        words_add(&words, "-o");
        words_add(&words, object_path);
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool good = !words.failed && null >= 0 && compile_spawn(words.at, null, null) == 0;
    if (null >= 0)
        close(null);
    free(words.at);
    return good;
}

/* Does the assembler take the text as the compiler wrote it? */
static bool assembles(const struct assembler *assembler, const char *text, size_t bytes)
{
    int input = compile_memory_file("headroom-text"),
        output = compile_memory_file("headroom-object");
    bool good = input >= 0 && output >= 0 && write(input, text, bytes) == (ssize_t)bytes &&
                assemble((void *)assembler, input, output);
    close(input);
    close(output);
    return good;
}

static bool temporary(const char *path)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    return strncmp(path, folder, strlen(folder)) == 0;
}

/* DIR/src-a.s for the object src/a.o; for one that only the driver knows the name of the source is
 * better. */
static void keep(struct compile_work *work, const char *object, const char *source, int text)
{
    char path[2 * PATH_MAX], *name;
    size_t bytes;
    const char *from = !object || temporary(object) ? source : object;
    mkdir(work->state.keep, 0777);
    int used = snprintf(path, sizeof path, "%s/", work->state.keep);
    name = path + used;
    snprintf(name, sizeof path - (size_t)used - 2, "%s", strncmp(from, "./", 2) ? from : from + 2);
    char *end = strrchr(name, '.');
    strcpy(end && end > name ? end : name + strlen(name), ".s");
    for (; *name; name++)
        if (*name == '/')
            *name = '-';
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    lseek(text, 0, SEEK_SET);
    char *all = compile_read(text, &bytes);
    if (file < 0 || !all || write(file, all, bytes) != (ssize_t)bytes) {
        char sentence[3 * PATH_MAX];
        snprintf(sentence, sizeof sentence, "cannot keep the assembly in '%s': %s", path,
                 strerror(errno));
        work->note(sentence);
    }
    free(all);
    if (file >= 0)
        close(file);
}

static void tell(struct compile_work *work, const char *name,
                 const struct instrument_counts *counts)
{
    char sentence[PATH_MAX + 320], prepared[64] = "", gated[64] = "";
    if (work->state.modes & INSTRUMENTED_FUNCTIONS)
        snprintf(prepared, sizeof prepared, ", %u with a nop to patch", counts->prepared);
    if (work->state.modes & INSTRUMENTED_CEILING)
        snprintf(gated, sizeof gated, ", %u of %u innermost loops with gates", counts->gated,
                 counts->loops);
    snprintf(sentence, sizeof sentence,
             "%s: %u functions, %u instrumented (%u truncated, %u hashed), %u skipped, %u "
             "instructions of inline assembly%s%s",
             name, counts->functions, counts->instrumented, counts->truncated, counts->hashed,
             counts->skipped, counts->inline_assembly, prepared, gated);
    work->note(sentence);
}

/* *text: a file in memory with the rewritten assembly. */
static enum base_status rewrite(struct compile_work *work, const struct assembler *assembler,
                                const struct compiled *compiled, const char *source, size_t bytes,
                                int *text)
{
    struct instrument_counts counts = {0};
    struct compile_transform transform = {
        .options = {.modes = work->state.modes,
                    .shared = compiled->placement == COMPILE_PLACED_SHARED,
                    .absolute = compiled->placement == COMPILE_PLACED_LOW,
                    .gnu = strcmp(assembler->step[1], "-cc1as") != 0},
        .assemble = assemble,
        .context = (void *)assembler,
    };
    char path[COMPILE_FD_PATH];
    *text = compile_memory_file("headroom-rewritten");
    compile_fd_path(path, *text);
    FILE *out = *text < 0 ? NULL : fopen(path, "w");
    if (!out)
        return BASE_IO;
    enum base_status status = compile_transform(&transform, source, bytes, out, &counts);
    bool written = fclose(out) == 0;
    if (status == BASE_OK && work->state.verbose)
        tell(work, compiled->source, &counts);
    return status != BASE_OK ? status : written ? BASE_OK : BASE_IO;
}

static char *read_path(const char *path, size_t *bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char *text = file < 0 ? NULL : compile_read(file, bytes);
    if (file >= 0)
        close(file);
    return text;
}

/* The assembler of another machine gets neither --64 nor a triple with x86_64. */
static bool for_this_machine(char *const *step)
{
    return strcmp(step[1], "-cc1as") == 0 || words_find(step, "--64") >= 0;
}

static int prepare_rewritten(struct compile_work *work, const struct assembler *assembler,
                             const struct compiled *compiled, struct words *ready)
{
    static char path[COMPILE_FD_PATH];
    const char *input = assembler->step[assembler->input];
    size_t bytes;
    int text;
    char *source = read_path(input, &bytes);
    if (!source)
        return refuse(work, "cannot read the compiler's output", strerror(errno));
    enum base_status status = rewrite(work, assembler, compiled, source, bytes, &text);
    /* What the assembler does not take anyway it shall refuse in its own words. */
    bool hopeless = status == BASE_UNSUPPORTED && !assembles(assembler, source, bytes);
    free(source);
    if (hopeless)
        return 0;
    if (status != BASE_OK) {
        refuse(work, compiled->source, "its assembly cannot be rewritten: ");
        strcat(work->error, base_status_text(status));
        return COMPILE_REFUSED;
    }
    if (*work->state.keep)
        keep(work, words_value(assembler->step, "-o"), compiled->source, text);
    compile_fd_path(path, text);
    work->text = text;
    ready->at[assembler->input] = path;
    return 0;
}

static int prepare_assembly(struct compile_work *work, char *const *step, struct words *ready)
{
    struct compiled compiled;
    size_t input = find_compiled(work, step, &compiled);
    words_add_all(ready, step);
    if (!input || ready->failed)
        return 0;
    if (!for_this_machine(step))
        return refuse(work, compile_other_machine, NULL);
    struct assembler assembler = {step, input};
    return prepare_rewritten(work, &assembler, &compiled, ready);
}

/* ---- linking --------------------------------------------------------------------------------- */

static bool starts_with(const char *word, const char *start)
{
    return strncmp(word, start, strlen(start)) == 0;
}

/* Before the object that ends .eh_frame. */
static size_t end_of_objects(char *const *step, size_t count)
{
    for (size_t i = count; i-- > 1;)
        if (starts_with(base_name(step[i]), "crtend"))
            return i;
    return count;
}

/* gold and mold do not know the option; they keep what __start_ symbols name. */
static bool knows_start_stop(char *const *step)
{
    const char *program = base_name(step[0]);
    return words_find(step, "-fuse-ld=gold") < 0 && words_find(step, "-fuse-ld=mold") < 0 &&
           !strstr(program, "gold") && !strstr(program, "mold");
}

static int prepare_link(struct compile_work *work, char *const *step, struct words *ready)
{
    static char runtime[2 * PATH_MAX];
    words_add_all(ready, step);
    bool relocatable = words_find(step, "-r") >= 0 || words_find(step, "--relocatable") >= 0 ||
                       words_find(step, "-i") >= 0;
    if (!(work->state.modes & ~(uint32_t)INSTRUMENTED_NOPS) || relocatable)
        return 0;
    if (!compile_runtime(runtime, sizeof runtime, work->error))
        return COMPILE_REFUSED;
    size_t at = end_of_objects(ready->at, ready->count);
    words_insert(ready, at, runtime);
    /* Libraries that are loaded later share these with the program, for one tree through all
       modules. A static program loads none, and a relocatable one could not relocate them itself.
     */
    if (words_find(step, "-static") < 0 && words_find(step, "--no-dynamic-linker") < 0) {
        words_insert(ready, at, "--export-dynamic-symbol=headroom_slot");
        words_insert(ready, at, "--export-dynamic-symbol=headroom_process");
        words_insert(ready, at, "--export-dynamic-symbol=headroom_accesses");
    }
    if ((words_find(step, "--gc-sections") >= 0 || words_find(step, "-gc-sections") >= 0) &&
        knows_start_stop(step)) {
        words_insert(ready, at, "start-stop-gc");
        words_insert(ready, at, "-z");
    }
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

int compile_prepare(struct compile_work *work, char *const *step, struct words *ready)
{
    int code = 0;
    work->text = 0;
    *work->error = 0;
    *ready = (struct words){0};
    switch (compile_kind(step)) {
    case STEP_COMPILE: code = prepare_compile(work, step, ready); break;
    case STEP_ASSEMBLE: code = prepare_assembly(work, step, ready); break;
    case STEP_LINK: code = prepare_link(work, step, ready); break;
    case STEP_OTHER: words_add_all(ready, step); break;
    }
    if (!code && ready->failed)
        code = refuse(work, base_status_text(BASE_NO_MEMORY), NULL);
    return code;
}

int compile_step(char *const *words, compile_note *note, char *error)
{
    struct compile_work work = {.note = note, .error = error};
    struct words ready;
    char *end;
    long file = words[0] ? strtol(words[0], &end, 10) : -1;
    work.file = (int)file;
    if (file < 0 || !words[1] ||
        pread(work.file, &work.state, sizeof work.state, 0) != sizeof work.state ||
        work.state.magic != STATE_MAGIC) {
        snprintf(error, COMPILE_ERROR_BYTES,
                 "%s is for compilers that 'headroom cc' has started, and needs their open files",
                 COMPILE_STEP);
        return COMPILE_REFUSED;
    }
    int code = compile_prepare(&work, words + 1, &ready);
    return code ? code : compile_exec(ready.at, error);
}
