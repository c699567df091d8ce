// SPDX-License-Identifier: MIT
/* The parts that every SARIF file has. */
#include "show/sarif.h"

#include <string.h>

void sarif_begin(struct json *json)
{
    json_open(json, '{');
    json_text(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_text(json, "version", "2.1.0");
    json_begin(json, "runs", '[');
    json_begin_item(json);
}

void sarif_end(struct json *json)
{
    json_close(json, '}');
    json_close(json, ']');
    json_close(json, '}');
    putc('\n', json->out);
}

void sarif_tool_begin(struct json *json, const char *version)
{
    json_begin(json, "tool", '{');
    json_begin(json, "driver", '{');
    json_text(json, "name", "headroom");
    if (version && *version)
        json_text(json, "version", version);
    json_begin(json, "rules", '[');
}

void sarif_rule(struct json *json, const char *id, const char *description)
{
    json_begin_item(json);
    json_text(json, "id", id);
    json_begin(json, "shortDescription", '{');
    json_text(json, "text", description);
    json_close(json, '}');
    json_close(json, '}');
}

void sarif_tool_end(struct json *json)
{
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
}

static void notifications(struct json *json, const struct profile *profile, const char *of)
{
    for (size_t i = 0; profile && i < profile->degraded_count; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", of, profile->degraded[i].text);
        json_begin_item(json);
        json_text(json, "level", "warning");
        sarif_message(json, text);
        json_close(json, '}');
    }
}

void sarif_invocations(struct json *json, const struct profile *profile,
                       const struct profile *baseline)
{
    json_begin(json, "invocations", '[');
    json_begin_item(json);
    json_flag(json, "executionSuccessful", true);
    json_begin(json, "toolExecutionNotifications", '[');
    notifications(json, profile, "");
    notifications(json, baseline, "baseline: ");
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, ']');
}

void sarif_message(struct json *json, const char *text)
{
    json_begin(json, "message", '{');
    json_text(json, "text", text);
    json_close(json, '}');
}

void sarif_uri(struct json *json, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/+@!$&'()*,;=";
    json_key(json, "uri");
    fputs(*path == '/' ? "\"file://" : "\"", json->out);
    /* "//host/..." would be a host's. */
    while (path[0] == '/' && path[1] == '/')
        path++;
    for (; *path; path++)
        fprintf(json->out, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
    putc('"', json->out);
}

const char *sarif_level(enum advice_evidence evidence)
{
    static const char *const levels[ADVICE_EVIDENCES] = {
        [ADVICE_WEAK] = "note", [ADVICE_STRONG] = "warning", [ADVICE_EXACT] = "error"};
    return levels[evidence];
}
