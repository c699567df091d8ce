// SPDX-License-Identifier: MIT
/* Values, members and contexts as JSON. */
#include "show/group.h"
#include "show/json.h"
#include "show/names.h"
#include "show/own.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- values ----------------------------------------------------------------------------- */

void json_raw(struct json *json, const char *text)
{
    fputs(text, json->out);
}

/* Of a character that terminals or readers might take for a command: as its UTF-16 code, of which
   name_shows refuses none above U+FFFF. */
static void quote_hidden(struct json *json, const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned code = bytes == 1   ? s[0]
                    : bytes == 2 ? (s[0] & 0x1fU) << 6 | (s[1] & 0x3fU)
                                 : (s[0] & 0xfU) << 12 | (s[1] & 0x3fU) << 6 | (s[2] & 0x3fU);
    fprintf(json->out, "\\u%04x", code);
}

/* How many bytes of text are written as they are. */
static size_t plain_bytes(const char *text)
{
    const char *at = text;
    for (size_t bytes; *at && *at != '"' && *at != '\\'; at += bytes) {
        bytes = name_utf8(at);
        if (bytes == 0 || !name_shows(at, bytes))
            break;
    }
    return (size_t)(at - text);
}

/* Invalid bytes become U+FFFD; quotes, backslashes and what name_shows refuses are escaped. */
void json_quote(struct json *json, const char *text)
{
    if (!text) {
        json_raw(json, "null");
        return;
    }
    putc('"', json->out);
    while (*text) {
        size_t bytes = plain_bytes(text);
        fwrite(text, 1, bytes, json->out);
        text += bytes;
        if (!*text)
            break;
        bytes = name_utf8(text);
        if (bytes == 0) {
            json_raw(json, "\\ufffd");
            bytes = 1;
        } else if (*text == '"' || *text == '\\') {
            fprintf(json->out, "\\%c", *text);
        } else {
            quote_hidden(json, text, bytes);
        }
        text += bytes;
    }
    putc('"', json->out);
}

/* The locale's decimal separator must not get in. JSON has no word for what is not finite: means of
   sums that a damaged file has divided by next to nothing. */
void json_number(struct json *json, double value, int digits)
{
    char text[64];
    if (!isfinite(value)) {
        json_raw(json, "null");
        return;
    }
    snprintf(text, sizeof text, "%.*g", digits, value);
    for (char *at = text; *at; at++)
        if (!strchr("0123456789+-eE", *at))
            *at = '.';
    json_raw(json, text);
}

/* ---- structure ---------------------------------------------------------------------------- */

void json_item(struct json *json)
{
    if (json->comma)
        putc(',', json->out);
    json->comma = true;
}

void json_key(struct json *json, const char *name)
{
    json_item(json);
    fprintf(json->out, "\"%s\":", name);
}

void json_open(struct json *json, char bracket)
{
    putc(bracket, json->out);
    json->comma = false;
}

void json_close(struct json *json, char bracket)
{
    putc(bracket, json->out);
    json->comma = true;
}

void json_begin(struct json *json, const char *name, char bracket)
{
    json_key(json, name);
    json_open(json, bracket);
}

void json_begin_item(struct json *json)
{
    json_item(json);
    json_open(json, '{');
}

void json_text(struct json *json, const char *name, const char *value)
{
    json_key(json, name);
    json_quote(json, value);
}

void json_count(struct json *json, const char *name, uint64_t value)
{
    json_key(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

void json_decimal(struct json *json, const char *name, double value, int digits)
{
    json_key(json, name);
    json_number(json, value, digits);
}

void json_known(struct json *json, const char *name, bool known, double value, int digits)
{
    json_decimal(json, name, known ? value : NAN, digits);
}

void json_address(struct json *json, const char *name, uint64_t address)
{
    json_key(json, name);
    fprintf(json->out, "\"0x%" PRIx64 "\"", address);
}

void json_flag(struct json *json, const char *name, bool value)
{
    json_key(json, name);
    json_raw(json, value ? "true" : "false");
}

/* null when negative */
void json_signed(struct json *json, const char *name, int64_t value)
{
    json_key(json, name);
    if (value < 0)
        json_raw(json, "null");
    else
        fprintf(json->out, "%" PRId64, value);
}

void json_seconds(struct json *json, const char *name, double value)
{
    json_key(json, name);
    if (value < 0)
        json_raw(json, "null");
    else
        json_number(json, value, 9);
}

void json_range(struct json *json, const char *name, bool known, double low, double high,
                int digits)
{
    json_key(json, name);
    if (!known) {
        json_raw(json, "null");
        return;
    }
    putc('[', json->out);
    json_number(json, low, digits);
    putc(',', json->out);
    json_number(json, high, digits);
    putc(']', json->out);
}

void json_interval(struct json *json, const struct profile_share *share)
{
    json_range(json, "ci95", share->known, share->low, share->high, 6);
}

void json_texts(struct json *json, const char *name, const struct profile_text *texts, size_t count)
{
    json_begin(json, name, '[');
    for (size_t i = 0; i < count; i++) {
        json_item(json);
        json_quote(json, texts[i].text);
    }
    json_close(json, ']');
}

/* ---- contexts -------------------------------------------------------------------------------- */

void json_frame(struct json *json, const struct profile *profile, const struct profile_frame *frame)
{
    json_begin_item(json);
    json_text(json, "function", frame->function);
    json_text(json, "file", frame->file);
    json_key(json, "line");
    if (frame->line)
        fprintf(json->out, "%" PRIu32, frame->line);
    else
        json_raw(json, "null");
    json_text(json, "module", frame->module ? profile->modules[frame->module].path : NULL);
    json_key(json, "address");
    fprintf(json->out, "\"0x%" PRIx64 "\"", frame->address);
    json_flag(json, "inlined", frame->flags & PROFILE_FRAME_INLINED);
    if (frame->flags & PROFILE_FRAME_KERNEL)
        json_flag(json, "kernel", true);
    if (frame->flags & PROFILE_FRAME_INCOMPLETE)
        json_flag(json, "incomplete", true);
    if (own_is_system(frame->function, frame->file,
                      frame->module ? profile->modules[frame->module].path : NULL))
        json_flag(json, "system", true);
    json_close(json, '}');
}

enum { FRAMES_UNASKED = 1 << 18 }; /* some 200 bytes each */

bool json_list_goes_on(const struct json *json, uint64_t frames_before, size_t index,
                       unsigned limit)
{
    bool room = limit ? index < limit : json->frames - frames_before < FRAMES_UNASKED;
    return room && !ferror(json->out);
}

void json_context(struct json *json, const char *name, const struct profile *profile,
                  uint32_t context)
{
    json_begin(json, name, '[');
    for (; context && !ferror(json->out);
         context = profile->contexts[context].parent, json->frames++)
        json_frame(json, profile, &profile->frames[profile->contexts[context].frame]);
    json_close(json, ']');
}

void json_advice(struct json *json, const struct advice *advice)
{
    json_key(json, "advice");
    if (!advice->id) {
        json_raw(json, "null");
        return;
    }
    json_open(json, '{');
    json_text(json, "id", advice->id);
    json_text(json, "text", advice->text);
    json_text(json, "evidence", advice_evidence_names[advice->evidence]);
    json_close(json, '}');
}

/* ---- findings -------------------------------------------------------------------------------- */

const char *const json_pairs_names[2] = {"pairs_total", "pairs"};
const char *const json_findings_names[2] = {"findings_total", "findings"};

void json_group(struct json *json, const struct group *group)
{
    static const char *const names[REPORT_BYS] = {
        [REPORT_BY_CONTEXT] = "context",   [REPORT_BY_PAIR] = "pair",     [REPORT_BY_LINE] = "line",
        [REPORT_BY_FUNCTION] = "function", [REPORT_BY_MODULE] = "module",
    };
    json_text(json, "by", names[group->by]);
    json_flag(json, "weak", group->weak);
    json_count(json, "contexts_total", group->links_count);
}
