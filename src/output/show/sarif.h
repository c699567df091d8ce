// SPDX-License-Identifier: MIT
/* What all that is written as SARIF 2.1.0 (OASIS) has in common: findings of a profile (`export`),
   and a check's (check_sarif.c). One run a file. */
#ifndef HEADROOM_SHOW_SARIF_H
#define HEADROOM_SHOW_SARIF_H

#include "analysis/advice.h"
#include "show/json.h"

/* From the beginning of the file to that of its run, and from the run's end to the file's. */
void sarif_begin(struct json *json);
void sarif_end(struct json *json);

/* The run's tool, with a rule for each kind of result; version NULL or "": not stated. */
void sarif_tool_begin(struct json *json, const char *version);
void sarif_rule(struct json *json, const char *id, const char *description);
void sarif_tool_end(struct json *json);

/* What was degraded in a recording, as notifications of the run. NULL: no second profile. */
void sarif_invocations(struct json *json, const struct profile *profile,
                       const struct profile *baseline);

void sarif_message(struct json *json, const char *text);

/* A path as a URI: file:///... if it is absolute, else relative. */
void sarif_uri(struct json *json, const char *path);

/* Of a finding with that evidence: what was counted is an error, what samples show a warning, what a
   few of them show a note. */
const char *sarif_level(enum advice_evidence evidence);

#endif
