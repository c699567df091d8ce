// SPDX-License-Identifier: MIT
/* What the choices of several verbs' options are called. */
#include "cli/common.h"

const char *const format_names[] = {"text", "json", NULL};

const char *const color_names[] = {"auto", "always", "never", NULL};

const char *const source_names[] = {"auto", "pmu", "clock", "count", NULL};

/* 1 + enum report_metric */
const char *const metric_names[] = {"best",   "count",  "instructions", "loads", "stores",
                                    "cycles", "misses", "events",       NULL};

/* enum report_by */
const char *const by_names[] = {"default", "cause",    "context", "pair",
                                "line",    "function", "module",  NULL};
const char *const compare_by_names[] = {"context", "pair", NULL};

const char *const kind_names[] = {"dead", "silent", "load", NULL}; /* bits of wire_kind_bits */

enum report_by compare_by(const struct settings *settings)
{
    return settings->by == 1 ? REPORT_BY_PAIR : REPORT_BY_CONTEXT;
}
