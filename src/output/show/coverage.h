// SPDX-License-Identifier: MIT
/* Where the CPU time of a recording went: what of it could be named, and the kernel's share. */
#ifndef HEADROOM_SHOW_COVERAGE_H
#define HEADROOM_SHOW_COVERAGE_H

#include "show/json.h"
#include "show/print.h"

/* Under the head. Programs that count by themselves: which share of the time was in code that
   counts, and where the rest was. Others: what lay in code without lines, without names, in the kernel. Nothing, if all lay
   in code with lines, or if too few samples tell. */
void coverage_print(struct printer *printer);

/* The member "cpu_time" of the report, docs/formats/report.md; none if nothing was sampled. */
void coverage_json(struct json *json, const struct profile *profile);

/* The share of the CPU time, or of what was found, in code that was compiled without optimization: nothing from 0 to 5 %. */
void coverage_print_unoptimized(struct printer *printer);

/* The member "unoptimized"; none if there was no such code. */
void coverage_json_unoptimized(struct json *json, const struct profile *profile);

#endif
