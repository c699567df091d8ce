// SPDX-License-Identifier: MIT
/*
 * advice: what a finding usually means and what is usually done about it, as one record that every
 * output prints: text, JSON ("advice"), the page, SARIF. Verbs fill it, nobody else makes up
 * sentences.
 */
#ifndef HEADROOM_ADVICE_H
#define HEADROOM_ADVICE_H

#include "base/base.h"

/* What the figures of the finding rest on, not how likely the advice is to fit. */
enum advice_evidence {
    ADVICE_WEAK,   /* so few samples that its share may be luck */
    ADVICE_STRONG, /* samples, enough of them */
    ADVICE_EXACT,  /* everything was seen, and counted */
    ADVICE_EVIDENCES,
};

/* "weak", "strong", "exact", as JSON has them. */
extern const char *const advice_evidence_names[ADVICE_EVIDENCES];

struct advice {
    /* "dead.cleared": the verb's kind and what was recognised. Stable: scripts compare it, so it
       keeps its meaning for ever. NULL: nothing can be said about the finding, and text is NULL */
    const char *id;
    const char *text; /* one or two whole sentences, constant, for people; no markup */
    enum advice_evidence evidence;
};

#endif
