// SPDX-License-Identifier: MIT
/*
 * assess/source.h: the dependences of a loop as its source has them (code/dependence), as rows of a profile; and what a compiler made of them.
 * What stands in the way, such as a missing compiler or a loop that is no nest, is a row, too: the bounds of the machine code stand without it.
 */
#ifndef HEADROOM_ASSESS_SOURCE_H
#define HEADROOM_ASSESS_SOURCE_H

#include "assess/assess.h"
#include "dependence/dependence.h"
#include "lower/lower.h"

struct assess_source;

/* line: of the request's path; the loops around it. Rows are added to the profile. NULL: no memory. Close it. */
struct assess_source *assess_source_open(struct profile *profile,
                                         const struct lower_request *request, uint32_t line,
                                         const struct assess_options *options);
void assess_source_close(struct assess_source *source); /* NULL does nothing */

/* What became of the dependences in a loop of the machine code that is row `id` of the profile. BASE_NO_MEMORY. */
enum base_status assess_source_match(struct profile *profile, const struct assess_source *source,
                                     const struct bodies_loop *loop, uint32_t id,
                                     const struct assess_options *options);

/* All loops as lists, or the first one in Graphviz' language. Nothing if there is none. False: no memory. */
bool assess_source_graph(const struct assess_source *source, enum dependence_vertices vertices,
                         bool dot, struct util_text *text);

#endif
