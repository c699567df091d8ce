// SPDX-License-Identifier: MIT
/*
 * export: a profile in the formats that other tools read (docs/export.md). Pure: reads a profile,
 * writes to a FILE the caller owns. Never exits.
 *
 * Every value is a whole number. Where the profile has fractions, sums are rounded and not items,
 * so that what a reader adds up is the profile's total to the unit.
 */
#ifndef HEADROOM_EXPORT_H
#define HEADROOM_EXPORT_H

#include "base/base.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

enum export_format {
    EXPORT_PPROF,
    EXPORT_SPEEDSCOPE,
    EXPORT_FOLDED,
    EXPORT_CALLGRIND,
    EXPORT_FIREFOX,
    EXPORT_CSV,
    EXPORT_SARIF,
    EXPORT_FORMATS
};
extern const char *const export_format_names[EXPORT_FORMATS + 1]; /* "pprof", ...; ends with NULL */

/* Not text: nothing for a terminal. */
bool export_is_binary(enum export_format format);

/* Whether the format has a place for what was degraded in the recording. */
bool export_has_limits(enum export_format format);

struct export_options {
    enum export_format format;
    const char *metric;        /* NULL: see below */
    bool evidence;             /* also metrics that say how often something was seen */
    uint64_t least_executions; /* that a span needs for a score; 0: 1000 */
};

/*
 * metric: the name of the only one to write; NULL: all, in `folded` the first of those that are not
 * 0. evidence: not with a metric. BASE_NOT_FOUND: the profile has no such metric. BASE_IO: errno says why. BASE_NO_MEMORY. error:
 * one sentence; what was written by then is incomplete.
 */
enum base_status export_write(const struct profile *profile, const struct export_options *options,
                              FILE *out, char *error, size_t error_bytes);

#endif
