// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of the lines that move between threads. Lines of no weight have none. */
#include "exact/sharing.h"

#include <pub_tool_aspacemgr.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcprint.h>

static const struct exact_writer *writer;

static void put_totals(double unlisted)
{
    struct transfer_totals totals;
    transfer_totals(exact_transfer, &totals);
    struct wire_shared_totals *made = writer->record(WIRE_SHARED_TOTALS, sizeof *made);
    made->threads = exact_sharing_threads();
    made->exhausted = totals.exhausted;
    made->instructions = exact_sharing_instructions();
    made->true_transfers = totals.true_transfers;
    made->false_transfers = totals.false_transfers;
    made->unlisted = unlisted + totals.unplaced;
    made->evicted = totals.evicted;
    made->coarsened = totals.coarsened;
    made->early = totals.early;
    made->merged = totals.merged;
    writer->commit(made);
}

static void put_between(void)
{
    for (UInt from = 0; from < TRANSFER_MATRIX; from++)
        for (UInt to = 0; to < TRANSFER_MATRIX; to++) {
            double transfers = transfer_between(exact_transfer, from, to);
            if (transfers <= 0)
                continue;
            struct wire_shared_between *made = writer->record(WIRE_SHARED_BETWEEN, sizeof *made);
            made->from = from;
            made->to = to;
            made->transfers = transfers;
            writer->commit(made);
        }
}

/* ---- what is on a line ----------------------------------------------------------------------- */

enum { NAME_MAX = 512, PARTS_MAX = 2048 };

static const HChar *symbol_at(Addr address)
{
    const HChar *name = NULL;
    PtrdiffT within;
    return VG_(get_datasym_and_offset)(VG_(current_DiEpoch)(), address, &name, &within) ? name
                                                                                        : NULL;
}

/* The symbols that begin on the line or reach into it, each with the byte where it does. */
static void symbols_on(Addr line, HChar *text)
{
    const HChar *before = NULL;
    UInt used = 0;
    text[0] = 0;
    for (UInt byte = 0; byte < TRANSFER_LINE_BYTES; byte++) {
        const HChar *name = symbol_at(line + byte);
        if (name && name != before && used + VG_(strlen)(name) + 8 < PARTS_MAX)
            used += VG_(sprintf)(text + used, "%u %s\n", byte, name);
        before = name;
    }
}

static void neighbour_on(const struct exact_object *object, HChar *text)
{
    text[0] = 0;
    if (!object->neighbour)
        return;
    const struct exact_object *other = exact_object_number(object->neighbour);
    if (other->kind == WIRE_OBJECT_HEAP)
        VG_(sprintf)(text, "- a heap block of %llu bytes\n", other->size);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_pairs(UInt number, const struct transfer_line *line)
{
    const struct transfer_pair *pair;
    for (uint32_t cursor = 0; (pair = transfer_next_pair(exact_transfer, line, &cursor));) {
        UInt first = writer->node_of(pair->first), second = writer->node_of(pair->second);
        struct wire_shared_pair *made = writer->record(WIRE_SHARED_PAIR, sizeof *made);
        made->line = number;
        made->is_true = pair->is_true;
        made->first = first;
        made->second = second;
        made->first_kind = pair->first_kind;
        made->second_kind = pair->second_kind;
        made->forward = pair->forward;
        made->backward = pair->backward;
        made->first_mask = pair->first_mask;
        made->second_mask = pair->second_mask;
        writer->commit(made);
    }
}

static void put_users(UInt number, const struct transfer_line *line)
{
    const struct transfer_user *user;
    for (uint32_t cursor = 0; (user = transfer_next_user(exact_transfer, line, &cursor));) {
        struct wire_shared_user *made = writer->record(WIRE_SHARED_USER, sizeof *made);
        made->line = number;
        made->thread = user->thread;
        made->read_mask = user->read_mask;
        made->write_mask = user->write_mask;
        made->reads = user->reads;
        made->writes = user->writes;
        writer->commit(made);
    }
}

static const DebugInfo *file_of_name(const HChar *name)
{
    for (const DebugInfo *info = NULL; (info = VG_(next_DebugInfo)(info));)
        if (VG_(strcmp)(VG_(DebugInfo_get_filename)(info), name) == 0)
            return info;
    return NULL;
}

/* The file of the data at an address, constants and tables included, or NULL. */
static const DebugInfo *file_of_data(Addr address)
{
    const HChar *name = NULL;
    VgSectKind kind = VG_(DebugInfo_sect_kind)(&name, address);
    if (kind == Vg_SectData || kind == Vg_SectBSS)
        return file_of_name(name);
    const NSegment *segment = VG_(am_find_nsegment)(address);
    name = segment && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
    return name ? file_of_name(name) : NULL;
}

/* That of the file's code, which another segment maps. */
UInt exact_module_of_data(Addr address)
{
    const DebugInfo *info = file_of_data(address);
    return info ? exact_module_of(VG_(DebugInfo_get_text_avma)(info)) : 0;
}

static UInt module_of_line(Addr line)
{
    UInt module = exact_module_of_data(line);
    return module ? module : exact_module_of_data(line + TRANSFER_LINE_BYTES - 1);
}

static void put_line(UInt number, const struct transfer_line *line)
{
    static HChar name[NAME_MAX], parts[PARTS_MAX];
    const struct exact_object *object = exact_object_number(line->object.number);
    name[0] = 0;
    if (object->name)
        VG_(strncpy)(name, object->name, sizeof name - 1);
    if (object->kind == WIRE_OBJECT_GLOBAL)
        symbols_on(line->address, parts);
    else
        neighbour_on(object, parts);
    UInt node = object->kind == WIRE_OBJECT_HEAP
                    ? writer->function_node(object->context, object->function)
                    : 0;
    UInt module = object->kind == WIRE_OBJECT_GLOBAL ? module_of_line(line->address) : 0;
    SizeT name_bytes = VG_(strlen)(name) + 1, parts_bytes = VG_(strlen)(parts) + 1;
    struct wire_shared_line *made =
        writer->record(WIRE_SHARED_LINE, sizeof *made + name_bytes + parts_bytes);
    made->line = number;
    made->kind = object->kind;
    made->node = node;
    made->thread = object->thread;
    made->module = module;
    made->reserved = 0;
    made->vaddr = module ? line->address - exact_module_number(module)->bias : 0;
    made->address = line->address;
    made->offset = line->object.offset;
    made->size = object->size;
    made->true_transfers = line->true_transfers;
    made->false_transfers = line->false_transfers;
    VG_(memcpy)(made->text, name, name_bytes);
    VG_(memcpy)(made->text + name_bytes, parts, parts_bytes);
    writer->commit(made);
    put_pairs(number, line);
    put_users(number, line);
}

void exact_sharing_output(const struct exact_writer *with)
{
    struct transfer_totals totals;
    double unlisted = 0;
    UInt number = 0;
    writer = with;
    transfer_settle(exact_transfer);
    transfer_totals(exact_transfer, &totals);
    double least = (totals.true_transfers + totals.false_transfers) / 100000;
    const struct transfer_line *line;
    for (uint32_t cursor = 0; (line = transfer_next_line(exact_transfer, &cursor));) {
        double transfers = line->true_transfers + line->false_transfers;
        if (transfers >= 1 && transfers >= least)
            put_line(++number, line);
        else
            unlisted += transfers;
    }
    put_between();
    put_totals(unlisted);
}
