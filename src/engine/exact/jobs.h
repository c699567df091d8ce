// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waste counted by threads of the engine's own (--jobs): the program's thread finds out what each access found and writes that down, in chunks
 * of a ring; the others count it, each those ids that are its part. They share the process, so that they end as it ends, whatever ends it, and are
 * none that the program could wait for. A child that was forked has its own.
 */
#ifndef HEADROOM_EXACT_JOBS_H
#define HEADROOM_EXACT_JOBS_H

#include "exact/exact.h"

extern Bool exact_later; /* events are written */

void exact_jobs_init(void);
/* What was written is counted. */
void exact_jobs_wait(void);
/* And all of it is in exact_shadow. */
void exact_jobs_gather(void);
/* In a forked child: there are no threads, and what was counted is the parent's. */
void exact_jobs_forked(void);
/* The process has, until the next event, no thread that the program did not start. */
void exact_jobs_end(void);

#endif
