// SPDX-License-Identifier: MIT
#include "run/internal.h"

#include "wire/wire.h"

/* Nobody else asks for waste and reuse in one recording. */
static bool was_left(const struct analysis_log *log)
{
    bool both = log->kinds & WIRE_REUSES && log->kinds & ~(uint32_t)WIRE_REUSES;
    return both && !log->exact && !log->spans && !log->paths;
}

const struct analysis run_analysis = {
    .name = "run",
    .exact_unit = "access",
    .samples = true,
    .caches = true,
    .leads = true,
    .loops = true,
    .left = was_left,
    .text = &run_text,
    .json = run_json,
    .compare = &run_compare,
    .export = &run_export,
    .gain = &run_gains,
    .view = &run_view,
};
