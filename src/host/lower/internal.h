// SPDX-License-Identifier: MIT
/* Between the files of lower: commands (command.c), Polly's remarks (rejected.c), all of it (lower.c). */
#ifndef HEADROOM_LOWER_INTERNAL_H
#define HEADROOM_LOWER_INTERNAL_H

#include "lower/lower.h"

enum { WORDS_MAX = 512, PATH_BYTES = 4096 };

struct command {
    const char *words[WORDS_MAX + 1];
    size_t count;
    bool full;
};

void command_add(struct command *words, const char *word);

enum ran { RAN, RAN_NOT_FOUND, RAN_FAILED, RAN_LATE };

/* Runs a command with both outputs into files; NULL: /dev/null. */
enum ran command_run(const struct command *words, const char *output, const char *errors,
                     unsigned seconds);

/* A whole file, and a 0 behind it. False: errno says why it cannot be read, or is unchanged: it is too large. */
bool file_read(const char *path, struct util_text *text);

enum language { LANGUAGE_NONE, LANGUAGE_IR, LANGUAGE_C, LANGUAGE_CXX, LANGUAGE_FORTRAN };

/* By the end of the file's name. */
enum language language_of(const char *path);

bool rejected_read(const char *remarks, struct lowered *lowered);

#endif
