// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs of modules (wire/graphs.h). When code of a module is translated for the first time its
 * graph is asked for by one line on the message log, and waited for: programs that others execute,
 * and libraries opened late, are not known beforehand.
 */
#include "exact/path.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_clientstate.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vki.h>
#include <pub_tool_xarray.h>

enum {
    PAUSE_MS = 1,
    ASK_AGAIN_MS = 2000,
    LONGEST_MS = 600000,
    NAME_LENGTH_MAX = 4096 + 64,
    MODULES_MAX = 65536
};

struct graphs {
    const struct wire_graph_function *functions;
    const struct wire_graph_block *blocks;
    const struct wire_graph_edge *edges;
    UInt functions_count, blocks_count;
    UInt first_function, first_block; /* numbers */
    UInt module;                      /* of the first mapping */
    ULong device, inode;
};

static struct graphs **known; /* by first_block */
static UInt known_count, blocks_count, functions_count;
static UInt of_module[MODULES_MAX]; /* index + 1 */
static Bool looked_at[MODULES_MAX];

/* ---- asking ------------------------------------------------------------------------------- */

static const HChar *message_log(void)
{
    static const HChar option[] = "--log-file=";
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_valgrind)); i++) {
        const HChar *word = *(HChar **)VG_(indexXA)(VG_(args_for_valgrind), i);
        if (VG_(strncmp)(word, option, sizeof option - 1) == 0)
            return word + sizeof option - 1;
    }
    return NULL;
}

static Bool ask(const struct exact_module *module)
{
    static HChar line[NAME_LENGTH_MAX];
    const HChar *path = message_log();
    if (!path || VG_(strlen)(module->path) > NAME_LENGTH_MAX - 64)
        return False;
    SysRes opened = VG_(open)(path, VKI_O_WRONLY | VKI_O_NONBLOCK, 0);
    if (sr_isError(opened))
        return False;
    Int file = (Int)sr_Res(opened);
    Int bytes = (Int)VG_(sprintf)(line, WIRE_GRAPHS_ASK "%llx-%llx %s\n", module->device,
                                  module->inode, module->path);
    Bool asked = VG_(write)(file, line, bytes) == bytes;
    VG_(close)(file);
    return asked;
}

/* Descriptor of the answer; -1: there will be none. */
static Int answer_of(const struct exact_module *module)
{
    static HChar name[NAME_LENGTH_MAX];
    struct vg_stat folder;
    VG_(snprintf)
    (name, sizeof name, "%s/%llx-%llx", exact_options.graphs, module->device, module->inode);
    for (UInt waited = 0; waited < LONGEST_MS; waited += PAUSE_MS) {
        SysRes opened = VG_(open)(name, VKI_O_RDONLY, 0);
        if (!sr_isError(opened))
            return (Int)sr_Res(opened);
        if (sr_Err(opened) == VKI_EACCES) /* another user now */
            return -1;
        if (waited % ASK_AGAIN_MS == 0 &&
            (sr_isError(VG_(stat)(exact_options.graphs, &folder)) || !ask(module)))
            return -1;
        VG_(poll)(NULL, 0, PAUSE_MS);
    }
    return -1;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* headroom's own file, checked for what would be a fault here. */
static Bool take(struct graphs *graphs, const struct wire_graphs *header, SizeT bytes)
{
    SizeT wanted = sizeof *header + (SizeT)header->functions * sizeof *graphs->functions +
                   (SizeT)header->blocks * sizeof *graphs->blocks +
                   (SizeT)header->edges * sizeof *graphs->edges;
    if (header->magic != WIRE_GRAPHS_MAGIC || header->version != WIRE_GRAPHS_VERSION ||
        wanted != bytes)
        return False;
    graphs->functions = (const struct wire_graph_function *)(header + 1);
    graphs->blocks = (const struct wire_graph_block *)(graphs->functions + header->functions);
    graphs->edges = (const struct wire_graph_edge *)(graphs->blocks + header->blocks);
    graphs->functions_count = header->functions;
    graphs->blocks_count = header->blocks;
    for (UInt i = 0; i < header->functions; i++)
        if ((ULong)graphs->functions[i].first_edge + graphs->functions[i].edges > header->edges)
            return False;
    for (UInt i = 0; i < header->blocks; i++)
        if (graphs->blocks[i].function >= header->functions)
            return False;
    return True;
}

static Bool read_graphs(struct graphs *graphs, Int file)
{
    struct vg_stat status;
    if (VG_(fstat)(file, &status) != 0 || status.size < (Long)sizeof(struct wire_graphs))
        return False;
    SizeT bytes = (SizeT)status.size;
    UChar *memory = exact_reserve(bytes);
    for (SizeT done = 0; memory && done < bytes;) {
        Int part = bytes - done > 1 << 20 ? 1 << 20 : (Int)(bytes - done);
        Int got = VG_(read)(file, memory + done, part);
        if (got <= 0)
            return False;
        done += (SizeT)got;
    }
    return memory && take(graphs, (const struct wire_graphs *)memory, bytes);
}

static struct graphs *load(UInt module)
{
    const struct exact_module *from = exact_module_number(module);
    for (UInt i = 0; i < known_count; i++)
        if (known[i]->device == from->device && known[i]->inode == from->inode)
            return known[i];
    Int file = answer_of(from);
    if (file < 0)
        return NULL;
    struct graphs *graphs = VG_(calloc)("headroom.graphs", 1, sizeof *graphs);
    Bool good = read_graphs(graphs, file);
    VG_(close)(file);
    if (!good) /* remembered as having nothing */
        graphs->functions_count = graphs->blocks_count = 0;
    graphs->device = from->device;
    graphs->inode = from->inode;
    graphs->module = module;
    graphs->first_block = blocks_count;
    graphs->first_function = functions_count;
    blocks_count += graphs->blocks_count;
    functions_count += graphs->functions_count;
    known =
        VG_(realloc)("headroom.graphs.known", known, (known_count + 1) * sizeof(struct graphs *));
    known[known_count++] = graphs;
    of_module[module] = known_count;
    return graphs;
}

static const struct graphs *graphs_of(UInt module)
{
    if (!module || !exact_options.graphs)
        return NULL;
    if (!looked_at[module]) {
        looked_at[module] = True;
        struct graphs *found = load(module);
        for (UInt i = 0; i < known_count; i++)
            if (known[i] == found)
                of_module[module] = i + 1;
    }
    return of_module[module] ? known[of_module[module] - 1] : NULL;
}

/* ---- looking up ------------------------------------------------------------------------------ */

Bool exact_graph_find(Addr ip, struct exact_place *place)
{
    UInt module = exact_module_of(ip);
    const struct graphs *graphs = graphs_of(module);
    if (!graphs)
        return False;
    Addr bias = exact_module_number(module)->bias;
    UInt low = BASE_FIRST(i, graphs->blocks_count, graphs->blocks[i].start > ip - bias);
    if (low == 0 || ip - bias - graphs->blocks[low - 1].start >= graphs->blocks[low - 1].bytes)
        return False;
    *place = (struct exact_place){.block = &graphs->blocks[low - 1],
                                  .number = graphs->first_block + low - 1,
                                  .start = graphs->blocks[low - 1].start + bias};
    return True;
}

static const struct graphs *graphs_with(UInt block)
{
    return known[BASE_FIRST(i, known_count, known[i]->first_block > block) - 1];
}

const struct wire_graph_block *exact_graph_block(UInt block)
{
    const struct graphs *graphs = graphs_with(block);
    return &graphs->blocks[block - graphs->first_block];
}

UInt exact_graph_function(UInt block)
{
    const struct graphs *graphs = graphs_with(block);
    return graphs->first_function + graphs->blocks[block - graphs->first_block].function;
}

const struct wire_graph_edge *exact_graph_edge(UInt from, UInt to)
{
    const struct graphs *graphs = graphs_with(from);
    const struct wire_graph_block *a = &graphs->blocks[from - graphs->first_block];
    const struct wire_graph_block *b = &graphs->blocks[to - graphs->first_block];
    const struct wire_graph_function *function = &graphs->functions[a->function];
    const struct wire_graph_edge *edges = graphs->edges + function->first_edge;
    UInt low = BASE_FIRST(i, function->edges,
                          edges[i].from > a->number ||
                              (edges[i].from == a->number && edges[i].to >= b->number));
    return low < function->edges && edges[low].from == a->number && edges[low].to == b->number
               ? &edges[low]
               : NULL;
}

ULong exact_graph_entry(UInt function, UInt *module)
{
    UInt i = known_count - 1;
    while (known[i]->first_function > function || known[i]->functions_count == 0)
        i--;
    *module = known[i]->module;
    return known[i]->functions[function - known[i]->first_function].entry;
}
