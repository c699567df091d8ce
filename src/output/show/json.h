// SPDX-License-Identifier: MIT
/*
 * Between the files of the JSON report. Written by hand: the output is one fixed shape, and strings
 * may hold any bytes, which JSON libraries refuse. No name may be one of jansson's, by which
 * tests read it: a program's own functions come before those of shared libraries.
 */
#ifndef HEADROOM_SHOW_JSON_H
#define HEADROOM_SHOW_JSON_H

#include "analysis/advice.h"
#include "show/report.h"

struct json {
    FILE *out;
    bool comma;      /* a value precedes on this level */
    uint64_t frames; /* of contexts, written so far */
};

/* ---- values and structure ------------------------------------------------------------------ */

void json_raw(struct json *json, const char *text);
void json_quote(struct json *json, const char *text);
void json_number(struct json *json, double value, int digits);

/* Before each value of an array: the comma, if one is due. */
void json_item(struct json *json);
void json_key(struct json *json, const char *name);
void json_open(struct json *json, char bracket);
void json_close(struct json *json, char bracket);

/* Opens a member; an object as an item of an array. */
void json_begin(struct json *json, const char *name, char bracket);
void json_begin_item(struct json *json);

/* ---- members -------------------------------------------------------------------------------- */

void json_text(struct json *json, const char *name, const char *value);
void json_count(struct json *json, const char *name, uint64_t value);
void json_decimal(struct json *json, const char *name, double value, int digits);
/* null if it is not known */
void json_known(struct json *json, const char *name, bool known, double value, int digits);
/* "0x401136" */
void json_address(struct json *json, const char *name, uint64_t address);
void json_flag(struct json *json, const char *name, bool value);
void json_signed(struct json *json, const char *name, int64_t value);
void json_seconds(struct json *json, const char *name, double value);
/* "name": [low, high]; null if it is not known */
void json_range(struct json *json, const char *name, bool known, double low, double high,
                int digits);
/* The member "ci95" */
void json_interval(struct json *json, const struct profile_share *share);
void json_texts(struct json *json, const char *name, const struct profile_text *texts,
                size_t count);

/* The member "advice": null if there is none. */
void json_advice(struct json *json, const struct advice *advice);

/* Of a list whose first item was written when there were `frames_before` frames: does item `index` follow? Below the
   limit, if there is one; else, where stacks are deep, until the list's contexts have so many frames that it
   takes some 50 MiB. */
bool json_list_goes_on(const struct json *json, uint64_t frames_before, size_t index,
                       unsigned limit);
/* FRAME as an item of an array; a context as an array of them. */
void json_frame(struct json *json, const struct profile *profile,
                const struct profile_frame *frame);
void json_context(struct json *json, const char *name, const struct profile *profile,
                  uint32_t context);

/* ---- findings ------------------------------------------------------------------------------ */

enum { JSON_CONTEXTS = 10 }; /* of a group: the heaviest */

/* What a verb's findings are called: their number, and the array of them. By contexts, or as was
   asked for; and by cause beside those. */
extern const char *const json_pairs_names[2], *const json_findings_names[2];

/* "by", "weak" and "contexts_total" of a group. */
struct group;
void json_group(struct json *json, const struct group *group);

#endif
