// SPDX-License-Identifier: MIT
/* From argv to a verb. */
#include "cli/common.h"
#include "cli/verbs.h"

#include "launch/launch.h"
#include "show/print.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct help_settings {
    const char *generate; /* a document, for the build */
};

static const struct help_settings *own(const struct settings *settings)
{
    return (const void *)settings->own;
}

/*
 * Closed standard descriptors would be given to the first files headroom opens, and its
 * words would end up in them. The stand-ins are close-on-exec: the program finds the
 * descriptors closed, as it would without headroom. That of standard output is for reading
 * only: what headroom writes there is lost, and is reported as lost.
 */
static void occupy_standard_descriptors(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", (i == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC) < 0)
            _exit(125);
}

/* Help that cannot be written is a failure: `headroom help > /dev/full`. */
static int finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    say("cannot write to standard output: %s.", strerror(errno));
    return 1;
}

enum { WORD_BYTES = 512 };

/* Profiles, and raw logs that were left over. */
static bool is_recording(const char *path)
{
    static const char database[] = "SQLite format 3";
    char start[sizeof database] = "";
    uint64_t magic;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    ssize_t got = read(file, start, sizeof start);
    close(file);
    memcpy(&magic, start, sizeof magic);
    return got == (ssize_t)sizeof start &&
           (memcmp(start, database, sizeof database) == 0 || magic == WIRE_LOG_MAGIC);
}

/* What was meant, in the order of how sure it is. */
static int unknown_verb(const char *name, const char *word)
{
    char quoted[WORD_BYTES], path[LAUNCH_PATH_BYTES], why[LAUNCH_ERROR_BYTES];
    const struct verb *nearest = nearest_verb(word);
    print_quote(word, quoted, sizeof quoted);
    if (nearest)
        return say_usage(name, "there is no verb '%s'; did you mean '%s'?", word, nearest->name);
    if (is_recording(word))
        return say_usage(name, "there is no verb '%s'; for its report: headroom report %s", word,
                         quoted);
    if (word[0] && launch_find(word, path, why) == LAUNCH_OK)
        return say_usage(name, "there is no verb '%s'; to observe a program: headroom run -- %s",
                         word, quoted);
    return say_usage(name, "there is no verb '%s'", word);
}

static int help_run(const struct settings *settings, int count, char **operands)
{
    if (own(settings)->generate) {
        if (!generate_document(own(settings)->generate, stdout))
            return say_usage("help", "there is no document '%s'", own(settings)->generate);
        return finish_output(0);
    }
    if (count > 1)
        return say_usage("help", "one verb at a time, not '%s' as well", operands[1]);
    const struct verb *verb = count ? find_verb(operands[0]) : &top;
    if (!verb)
        return unknown_verb("help", operands[0]);
    print_help(verb, stdout);
    return finish_output(0);
}

/* Where operands are files, options may stand behind them as well: the operands, from *first on,
   are moved to the end. */
static bool parse_between(const struct verb *verb, int argc, char **argv, struct settings *settings,
                          int *first, char *error, size_t error_bytes)
{
    int at = *first, count = 0;
    while (at < argc && strcmp(argv[at - 1], "--") != 0) {
        int next;
        argv[1 + count++] = argv[at];
        if (!options_parse(verb, argc - at, argv + at, settings, &next, error, error_bytes))
            return false;
        at += next;
    }
    static char divider[] = "--"; /* it has left a place free */
    if (verb->operands == OPERANDS_CODE && at > 1 && strcmp(argv[at - 1], divider) == 0)
        argv[1 + count++] = divider;
    while (at < argc)
        argv[1 + count++] = argv[at++];
    *first = argc - count;
    memmove(argv + *first, argv + 1, (size_t)count * sizeof *argv);
    return true;
}

static int execute_verb(const struct verb *verb, int argc, char **argv)
{
    struct settings settings;
    char error[512];
    int first;
    settings_default(&settings, verb);
    if (!options_parse(verb, argc, argv, &settings, &first, error, sizeof error))
        return say_usage(verb->name, "%s", error);
    if (takes_files(verb) &&
        !parse_between(verb, argc, argv, &settings, &first, error, sizeof error))
        return say_usage(verb->name, "%s", error);
    if (settings.help) {
        print_help(verb, stdout);
        return finish_output(0);
    }
    return verb->run(&settings, argc - first, argv + first);
}

int cli_main(int argc, char **argv)
{
    struct settings settings;
    char error[512];
    int first;
    occupy_standard_descriptors();
    /* Widths of characters in tables; numbers stay as in C. */
    setlocale(LC_CTYPE, "");
    if (argc > 1 && is_compile_step(argv[1]))
        return compile_step_run(argv + 2);
    settings_default(&settings, &top);
    if (!options_parse(&top, argc, argv, &settings, &first, error, sizeof error))
        return say_usage("", "%s", error);
    if (settings.version) {
        printf("headroom %s\n", HEADROOM_VERSION);
        return finish_output(0);
    }
    if (settings.help) {
        print_help(&top, stdout);
        return finish_output(0);
    }
    if (first >= argc)
        return say_usage("", "a verb is missing, such as 'waste'");
    const struct verb *verb = find_verb(argv[first]);
    if (!verb)
        return unknown_verb("", argv[first]);
    return execute_verb(verb, argc - first, argv + first);
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec help_options[] = {
    {"generate", 0, OPTION_TEXT, OWN(help_settings, generate),
     .argument = "WHAT"}, /* used by the build */
    OPTION_HELP,
    OPTION_END,
};

const struct verb help_verb = {
    .name = "help",
    .summary = "explain a verb",
    .arguments = "[VERB]",
    .description = "Shows what 'headroom VERB --help' shows; without VERB, the list of verbs.",
    .exit_status = "0 on success, 2 if there is no such verb.",
    .options = help_options,
    .usage_code = 2,
    .operands = OPERANDS_VERB,
    .operands_most = 1,
    .run = help_run,
    .own_bytes = sizeof(struct help_settings),
};
