// SPDX-License-Identifier: MIT
/*
 * What this machine's memory takes: a load that waits for the one before it, out of each cache and out of memory; a line
 * of many that are read in order; a line that another core has changed.
 *
 * Measured once and kept in headroom's cache folder ($HEADROOM_CACHE, else $XDG_CACHE_HOME/headroom, else
 * ~/.cache/headroom), by processor model, microcode, caches and hypervisor. A file that is damaged is measured anew; a folder
 * that cannot be used is no error. Any thread; measuring starts two of its own for the transfer, and
 * takes 0.5 s at most.
 *
 * Method: lmbench's pointer chase (McVoy and Staelin 1996), one node a line, in an order that no prefetcher
 * foresees. In huge pages where the kernel gives them; else misses of the TLB are part of what large sets take.
 */
#ifndef HEADROOM_MACHINE_LATENCY_H
#define HEADROOM_MACHINE_LATENCY_H

#include "machine/machine.h"

enum { MACHINE_LATENCIES_MOST = 6 };

enum machine_transfer {
    MACHINE_TRANSFER_MEASURED,
    MACHINE_TRANSFER_ONE_CPU, /* headroom may use one only */
    MACHINE_TRANSFER_BUSY,    /* two threads did not get to run at the same time; not tried */
    MACHINE_TRANSFERS
};
extern const char *const machine_transfer_texts[MACHINE_TRANSFERS]; /* why not; [0] NULL */

struct machine_latency {
    uint32_t level;   /* of the cache; 0: memory */
    uint64_t bytes;   /* what was gone through, a power of two */
    double chase_ns;  /* > 0: a load that the next one waits for */
    double stream_ns; /* > 0: a line, of those that are read in order */
};

struct machine_latencies {
    struct machine_latency items[MACHINE_LATENCIES_MOST]; /* nearest first, memory last */
    size_t count;                                         /* 0: nothing is known of the caches */
    double transfer_ns; /* one way, between two cores; 0: not measured */
    enum machine_transfer transfer;
    bool kept; /* from the file */
};

/*
 * As kept, else measured and kept. transfer: that between cores is wanted, too; where it could not be measured before it is tried
 * again. BASE_NO_MEMORY: *latencies is untouched.
 */
enum base_status machine_latencies(bool transfer, struct machine_latencies *latencies);

/* The file alone, for tests: text of `latencies` for a machine of that name, and back. False: it does not fit, or is
   damaged, or of another machine; *latencies is then untouched. */
bool machine_latencies_write(const struct machine_latencies *latencies, const char *machine,
                             char *text, size_t bytes);
bool machine_latencies_read(const char *text, const char *machine,
                            struct machine_latencies *latencies);

#endif
