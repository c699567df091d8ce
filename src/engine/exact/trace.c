// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The raw access trace (wire/trace.h) of this process. Nodes, accesses and modules are defined when
 * they first occur. A forked child is not traced: one stream, one process.
 */
#include "exact/instrument.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_vki.h>
#include "wire/trace.h"

enum { IDS_MAX = 1 << 26, MODULE_BITS = 65536 };

static struct wire_trace_writer *writer;
static Int file = -1;
static UInt *context_nodes, nodes_count;
static UChar modules_written[MODULE_BITS];

static bool put(void *context, const void *bytes, size_t count)
{
    (void)context;
    for (size_t at = 0; at < count;) {
        Int written = VG_(write)(file, (const UChar *)bytes + at, (Int)(count - at));
        if (written <= 0)
            return false;
        at += (size_t)written;
    }
    return true;
}

void exact_trace_init(void)
{
    if (!exact_options.trace)
        return;
    SysRes opened = VG_(open)(exact_options.trace, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, 0600);
    if (sr_isError(opened))
        exact_fail("the trace cannot be opened");
    file = VG_(safe_fd)((Int)sr_Res(opened));
    writer = exact_reserve(wire_trace_writer_bytes());
    void *predictor = exact_reserve(wire_trace_predictor_bytes(IDS_MAX));
    context_nodes = exact_reserve(EXACT_CONTEXTS_MAX * sizeof *context_nodes);
    if (!writer || !predictor || !context_nodes)
        exact_fail("the address space for the trace was refused");
    wire_trace_begin(writer, predictor, IDS_MAX, exact_options.trace_values, put, NULL);
}

static UInt write_node(UInt parent, UInt module, UInt flags, Addr address)
{
    const struct exact_module *from = module ? exact_module_number(module) : NULL;
    if (from && !modules_written[module]) {
        modules_written[module] = 1;
        wire_trace_write(writer, &(struct wire_trace_event){.type = WIRE_TRACE_MODULE,
                                                            .id = module,
                                                            .address = from->start,
                                                            .bytes = from->end - from->start,
                                                            .bias = from->bias,
                                                            .value = (const uint8_t *)from->path});
    }
    wire_trace_write(writer,
                     &(struct wire_trace_event){.type = WIRE_TRACE_NODE,
                                                .id = ++nodes_count,
                                                .node = parent,
                                                .module = module,
                                                .flags = flags,
                                                .address = from ? address - from->bias : address});
    return nodes_count;
}

void exact_trace_ids(UInt base, UInt context, const struct exact_block *block)
{
    if (!writer)
        return;
    UInt above = exact_context_node(context, context_nodes, write_node);
    for (UInt i = 0; i < block->count; i++) {
        const struct exact_access *access = &block->accesses[i];
        UInt lost = context == EXACT_LOST ? WIRE_NODE_BROKEN : 0;
        UInt leaf =
            write_node(above, block->module, WIRE_NODE_LEAF | access->flags | lost, access->ip);
        wire_trace_write(writer, &(struct wire_trace_event){.type = WIRE_TRACE_ACCESS,
                                                            .id = base + i,
                                                            .node = leaf,
                                                            .element = access->element,
                                                            .store = access->store,
                                                            .bytes = access->bytes});
    }
}

VG_REGPARM(3) void exact_trace_access(Addr address, ULong id, ULong bytes)
{
    if (!writer)
        return;
    if (bytes == 8)
        wire_trace_access(writer, (UInt)id, address, *(const ULong *)address);
    else if (bytes == 4)
        wire_trace_access(writer, (UInt)id, address, *(const UInt *)address);
    else if (bytes == 1)
        wire_trace_access(writer, (UInt)id, address, *(const UChar *)address);
    else if (bytes == 2)
        wire_trace_access(writer, (UInt)id, address, *(const UShort *)address);
    else
        exact_trace_wide(address, id, bytes);
}

/* Whether it loads or stores the reader knows from the access's definition; saved processor states
   are cut to what one event holds. */
void exact_trace_wide(Addr address, ULong id, ULong bytes)
{
    const struct exact_access *access = exact_access_of((UInt)id);
    if (bytes > WIRE_TRACE_BYTES_MAX)
        bytes = WIRE_TRACE_BYTES_MAX;
    wire_trace_write(writer, &(struct wire_trace_event){.type = access->store ? WIRE_TRACE_STORE
                                                                              : WIRE_TRACE_LOAD,
                                                        .id = (UInt)id,
                                                        .address = address,
                                                        .bytes = bytes,
                                                        .value = (const uint8_t *)address});
}

void exact_trace_kernel(Addr address, UInt id, SizeT bytes, Bool store)
{
    if (writer)
        wire_trace_write(writer,
                         &(struct wire_trace_event){
                             .type = store ? WIRE_TRACE_KERNEL_STORE : WIRE_TRACE_KERNEL_LOAD,
                             .id = id,
                             .address = address,
                             .bytes = bytes,
                             .value = store ? (const uint8_t *)address : NULL});
}

void exact_trace_forget(Addr address, SizeT bytes)
{
    if (writer)
        wire_trace_write(writer, &(struct wire_trace_event){.type = WIRE_TRACE_FORGET,
                                                            .address = address,
                                                            .bytes = bytes});
}

void exact_trace_thread(ThreadId tid)
{
    if (writer)
        wire_trace_write(writer, &(struct wire_trace_event){.type = WIRE_TRACE_THREAD, .id = tid});
}

void exact_trace_end(void)
{
    if (writer)
        wire_trace_end(writer);
    exact_trace_forked();
}

void exact_trace_forked(void)
{
    if (file >= 0)
        VG_(close)(file);
    file = -1;
    writer = NULL;
}
