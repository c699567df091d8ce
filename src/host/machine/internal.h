// SPDX-License-Identifier: MIT
/* Between the files of machine. */
#ifndef HEADROOM_MACHINE_INTERNAL_H
#define HEADROOM_MACHINE_INTERNAL_H

#include "machine/latency.h"

/* Measures now, whatever is kept, all but the transfer. BASE_NO_MEMORY: *latencies is untouched. */
enum base_status machine_latencies_measure(struct machine_latencies *latencies);
/* Measures the transfer. */
void machine_latencies_bounce(struct machine_latencies *latencies);

#endif
