// SPDX-License-Identifier: MIT
/* Completions for three shells, made from the table of verbs and options. */
#ifndef HEADROOM_CLI_COMPLETIONS_H
#define HEADROOM_CLI_COMPLETIONS_H

#include "cli/options.h"

void completions_bash(FILE *out);
void completions_zsh(FILE *out);
void completions_fish(FILE *out);

#endif
