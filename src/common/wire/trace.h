// SPDX-License-Identifier: MIT
/*
 * A raw access trace: every access of a program under the exact engine, in order, with address,
 * value and calling context. Format: docs/formats/trace.md. A compact stream: what
 * both ends can predict (the access that follows, its stride, the value last seen there) is not
 * written, and runs of right predictions are counted.
 *
 * The writer and the reader share the predictor; both are fed through callbacks, no file is known
 * here. Freestanding, no locks, memory is the caller's.
 */
#ifndef HEADROOM_WIRE_TRACE_H
#define HEADROOM_WIRE_TRACE_H

#include "base/base.h"

enum {
    WIRE_TRACE_VERSION = 1,
    WIRE_TRACE_BYTES_MAX = 64, /* of one load or store */
};

enum wire_trace_type {
    WIRE_TRACE_LOAD = 1,
    WIRE_TRACE_STORE,
    WIRE_TRACE_KERNEL_LOAD,  /* no value; any length */
    WIRE_TRACE_KERNEL_STORE, /* value follows the event */
    WIRE_TRACE_FORGET,       /* memory is gone or new from the kernel: zero; any length */
    WIRE_TRACE_THREAD,       /* from here on thread `id` runs */
    WIRE_TRACE_ACCESS,       /* defines access id: node, bytes, element, store */
    WIRE_TRACE_NODE,         /* defines calling-context node */
    WIRE_TRACE_MODULE,
    WIRE_TRACE_END, /* the program ended; missing: the trace is cut */
    WIRE_TRACE_TYPES
};

struct wire_trace_event {
    uint8_t type;
    uint8_t element;      /* ACCESS: SHADOW_FLOAT | element bytes (shadow/shadow.h) */
    bool store;           /* ACCESS */
    uint32_t id;          /* accesses: access id; ACCESS: the id defined; THREAD: thread;
                                 NODE: the node, from 1; MODULE: the module, 1 to 65535 */
    uint32_t node;        /* ACCESS: its node (a leaf); NODE: parent, 0: root */
    uint32_t module;      /* NODE; 0: none */
    uint64_t address;     /* accesses, FORGET; NODE: vaddr; MODULE: start */
    uint64_t bytes;       /* accesses, FORGET; ACCESS: width, at most 65535; MODULE: end − start.
                                 LOAD, STORE: the id's width, at most WIRE_TRACE_BYTES_MAX:
                                 of wider accesses (saved processor states) the rest is lost */
    uint64_t bias;        /* MODULE */
    uint32_t flags;       /* NODE: enum wire_node_flags */
    const uint8_t *value; /* LOAD: what it yielded; STORE, KERNEL_STORE: memory afterwards, `bytes`
                                 long; MODULE: path, NUL-terminated, cut to 4095 bytes; else
                                 NULL, as are values of a trace without them. A KERNEL_STORE
                                 may be written with NULL: not known. Reader: valid until the
                                 next call */
};

struct wire_trace_writer;
struct wire_trace_reader;
size_t wire_trace_writer_bytes(void);
size_t wire_trace_reader_bytes(void);

/* Takes the stream; false: full disk or closed pipe, nothing more is written. */
typedef bool wire_trace_sink(void *context, const void *bytes, size_t count);
/* Fills up to count bytes; returns how many; 0: end; negative: error. */
typedef int64_t wire_trace_source(void *context, void *bytes, size_t count);

/* Memory for the predictor: zeroed, wire_trace_predictor_bytes(most_ids) long, aligned to 64 bytes;
   lazily touched. Ids are below most_ids, nodes below 4 * most_ids. */
size_t wire_trace_predictor_bytes(uint32_t most_ids);

/* writer: wire_trace_writer_bytes() of memory. values: false leaves values out of the trace. */
void wire_trace_begin(struct wire_trace_writer *writer, void *predictor, uint32_t most_ids,
                      bool values, wire_trace_sink *sink, void *context);
/* False: the sink failed, now or earlier, or the event is invalid and left out: an id, node or module
   that is out of range, not defined or defined for the second time, a LOAD or STORE with another
   width or direction than its id, a missing value. A long KERNEL_STORE with its value becomes
   several, of 16 KiB at most. */
bool wire_trace_write(struct wire_trace_writer *writer, const struct wire_trace_event *event);
/* Writes END and everything buffered; nothing can be written afterwards. */
bool wire_trace_end(struct wire_trace_writer *writer);
/* Writes everything buffered. Up to 64 KiB are lost with a writer that is not flushed. */
bool wire_trace_flush(struct wire_trace_writer *writer);

/* Hot path of the tool: a LOAD or STORE of at most 8 bytes; as wire_trace_write. Bytes of value beyond
   the id's width, and of a trace without values all, are not looked at. */
bool wire_trace_access(struct wire_trace_writer *writer, uint32_t id, uint64_t address,
                       uint64_t value);

/* Reads the header. The stream is hostile input: nothing in it is trusted; its values and addresses are
   what the program had. BASE_MALFORMED, BASE_TOO_NEW, BASE_IO. */
enum base_status wire_trace_open(struct wire_trace_reader *reader, void *predictor,
                                 uint32_t most_ids, wire_trace_source *source, void *context);
bool wire_trace_has_values(const struct wire_trace_reader *reader);
/* BASE_NOT_FOUND: the stream has ended (without END before: it was cut). BASE_MALFORMED: damaged from
   here on. BASE_NO_MEMORY: an id or node beyond most_ids. BASE_IO. After any of them the same again. What
   is defined is defined once; accesses only of defined ids, ids and nodes only with defined nodes
   and modules. A few bytes may stand for 2^24 predicted accesses: who reads what strangers send
   bounds the events. */
enum base_status wire_trace_next(struct wire_trace_reader *reader, struct wire_trace_event *event);

#endif
