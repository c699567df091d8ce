// SPDX-License-Identifier: MIT
/*
 * Words to the user. While a recording runs only standard error is used, and every
 * sentence is one write, so that it does not tear lines of the program.
 */
#include "cli/verbs.h"

#include "show/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SENTENCE_BYTES = 10240 };

static void write_all(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(STDERR_FILENO, text, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* nowhere to report it */
        text += written;
        bytes -= (size_t)written;
    }
}

static size_t clipped(int printed, size_t room)
{
    return printed < 0 ? 0 : (size_t)printed < room ? (size_t)printed : room - 1;
}

/* Names in it may hold anything; it stays one line, and is no command to the terminal. */
void say(const char *format, ...)
{
    char given[SENTENCE_BYTES], text[SENTENCE_BYTES] = "headroom: ";
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(given, sizeof given, format, arguments);
    va_end(arguments);
    name_clean(given, text + used, sizeof text - used - 2);
    used += strlen(text + used);
    /* Sentences come from many rooms, some without their full stop. */
    if (text[used - 1] != '.')
        text[used++] = '.';
    text[used++] = '\n';
    write_all(text, used);
}

int say_usage(const char *name, const char *format, ...)
{
    char text[SENTENCE_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("%s%s%s; see 'headroom %s%s--help'", name, *name ? ": " : "", text, name, *name ? " " : "");
    const struct verb *verb = find_verb(name);
    return verb ? verb->usage_code : top.usage_code;
}

bool use_color(int setting, int descriptor)
{
    if (setting != COLOR_AUTO)
        return setting == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0 &&
           isatty(descriptor);
}

unsigned terminal_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* ---- progress ---------------------------------------------------------------------------- */

enum { PROGRESS_AFTER_S = 2, PROGRESS_EVERY_MS = 200 };

uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, bool quiet)
{
    *progress =
        (struct progress){.start_ns = monotonic_ns(), .quiet = quiet || !isatty(STDERR_FILENO)};
}

void progress_step(void *context, const char *step, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    uint64_t now = monotonic_ns();
    if (progress->quiet || now - progress->start_ns < PROGRESS_AFTER_S * UINT64_C(1000000000) ||
        now - progress->shown_ns < PROGRESS_EVERY_MS * UINT64_C(1000000))
        return;
    char text[256];
    int printed = total ? snprintf(text, sizeof text, "\r\033[Kheadroom: %s: %d %%", step,
                                   (int)(100.0 * (double)done / (double)total))
                        : snprintf(text, sizeof text, "\r\033[Kheadroom: %s", step);
    write_all(text, clipped(printed, sizeof text));
    progress->shown_ns = now;
    progress->visible = true;
}

void progress_end(struct progress *progress)
{
    if (progress->visible)
        write_all("\r\033[K", 4);
    progress->visible = false;
}

/* ---- pager ------------------------------------------------------------------------------- */

/* Through the shell, because $PAGER is a command line. */
static int start_pager(const char *command, int *input)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        return 0;
    }
    *input = ends[1];
    return child;
}

void pager_begin(struct pager *pager, bool wanted)
{
    *pager = (struct pager){.out = stdout};
    const char *command = getenv("PAGER");
    if (!command)
        command = "if command -v less >/dev/null 2>&1; then exec less -FRX; else exec cat; fi";
    if (!wanted || !*command || !isatty(STDOUT_FILENO))
        return;
    int input;
    int child = start_pager(command, &input);
    if (!child)
        return;
    FILE *out = fdopen(input, "w");
    if (!out) {
        close(input);
        return;
    }
    pager->out = out;
    pager->child = child;
}

bool pager_end(struct pager *pager)
{
    if (!pager->child)
        return fflush(pager->out) == 0 && !ferror(pager->out);
    fclose(pager->out); /* leaving the pager early is no failure */
    while (waitpid(pager->child, NULL, 0) < 0 && errno == EINTR)
        ;
    return true;
}
