// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waste counted by threads of the engine's own (--jobs): the program's thread determines what each access found and writes it into a ring, in
 * chunks; the others count it, each a part of the ids. They are threads of the program's process, so that they end with it, whatever ends it,
 * and the program cannot wait for them. A forked child starts its own.
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
/* Ends the threads; the next chunk starts others. */
void exact_jobs_end(void);

#endif
