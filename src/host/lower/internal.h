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

/* A whole file, and a 0 behind it. False: it cannot be read (errno), or is too large for memory (errno as it was). */
bool file_read(const char *path, struct util_text *text);

bool rejected_read(const char *remarks, struct lowered *lowered);

#endif
