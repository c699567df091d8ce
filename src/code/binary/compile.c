// SPDX-License-Identifier: MIT
/*
 * From a file's call frame information to the table that the agent searches.
 *
 * Sources, best first where they overlap: .eh_frame; .debug_frame, for parts
 * compiled without unwind tables; the standard layout of procedure linkage
 * tables, for linkers that describe none (lld). Gaps become rows that say
 * UNKNOWN, so that an address in hand-written code never gets its
 * predecessor's rule.
 */
#include "binary/binary.h"

#include "binary/cfi.h"
#include "binary/image.h"
#include "binary/pointer.h"
#include "binary/ranges.h"
#include "binary/rows.h"
#include "binary/saved.h"
#include "util/util.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PLT_ENTRY_BYTES = 16, PLT_PUSHED_AFTER = 11 };

/* A stretch of code and what describes it. */
struct span {
    struct cfi_entry entry; /* section NULL: a linkage table         */
    uint8_t rank;           /* lower wins                            */
    bool lazy;              /* linkage table that pushes an argument */
};

struct spans {
    struct span *items;
    size_t count, capacity;
    struct cfi_section eh_frame, debug_frame; /* entries refer to them */
    struct image_code code;                   /* the segment that was found last */
};

static bool add_span(struct spans *spans, const struct span *span)
{
    return UTIL_PUSH(spans->items, spans->count, spans->capacity, *span);
}

/* Linkers leave entries of discarded functions at address 0 or in nowhere. */
static bool is_code(struct spans *spans, Elf *elf, const struct cfi_entry *entry)
{
    return entry->start && image_is_code(elf, entry->start, &spans->code) &&
           entry->end <= spans->code.end;
}

static enum base_status read_section(const struct cfi_section *section, uint8_t rank, Elf *elf,
                                     struct spans *spans)
{
    struct span span = {.rank = rank};
    enum cfi_next next;
    for (size_t offset = 0; (next = cfi_next(section, &offset, &span.entry)) != CFI_DONE;)
        if (next == CFI_ENTRY && is_code(spans, elf, &span.entry) && !add_span(spans, &span))
            return BASE_NO_MEMORY;
    return BASE_OK;
}

static bool find_by_name(Elf *elf, const char *name, bool eh, struct cfi_section *found)
{
    GElf_Shdr header;
    Elf_Scn *section = image_section(elf, name, &header);
    Elf_Data *data = section ? image_data(section, &header) : NULL;
    if (!data)
        return false;
    *found = (struct cfi_section){data->d_buf, data->d_size, header.sh_addr, eh};
    return true;
}

/* File bytes that are loaded at vaddr, to the end of the segment. */
static Elf_Data *data_at(Elf *elf, uint64_t vaddr)
{
    uint64_t offset, bytes;
    size_t file_bytes;
    if (!elf_rawfile(elf, &file_bytes) || !image_offset(elf, vaddr, &offset, &bytes) ||
        offset >= file_bytes)
        return NULL;
    if (bytes > file_bytes - offset)
        bytes = file_bytes - offset;
    return elf_getdata_rawchunk(elf, (int64_t)offset, bytes, ELF_T_BYTE);
}

/* Without section headers: the segment with the search table says where .eh_frame is. */
static bool find_by_segment(Elf *elf, struct cfi_section *found)
{
    size_t count;
    GElf_Phdr segment = {0};
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && segment.p_type != PT_GNU_EH_FRAME; i++)
        if (!gelf_getphdr(elf, (int)i, &segment))
            return false;
    Elf_Data *data = segment.p_type == PT_GNU_EH_FRAME ? data_at(elf, segment.p_vaddr) : NULL;
    if (!data || data->d_size < 4)
        return false;
    struct cfi_section table = {data->d_buf, data->d_size, segment.p_vaddr, true};
    struct bytes bytes = {table.bytes + 4, table.bytes + table.size, false};
    uint64_t start;
    if (table.bytes[0] != 1 || !pointer_read(&bytes, &table, table.bytes[1], &start))
        return false;
    data = data_at(elf, start);
    if (!data || !data->d_buf)
        return false;
    *found = (struct cfi_section){data->d_buf, data->d_size, start, true};
    return true;
}

static enum base_status add_linkage_tables(Elf *elf, struct spans *spans)
{
    static const struct {
        const char *name;
        bool lazy;
    } tables[] = {{".plt", true}, {".plt.got", false}, {".plt.sec", false}, {".iplt", false}};
    for (size_t i = 0; i < BASE_COUNT(tables); i++) {
        GElf_Shdr header;
        struct span span = {.rank = 2, .lazy = tables[i].lazy};
        if (!image_section(elf, tables[i].name, &header) || header.sh_size < PLT_ENTRY_BYTES ||
            __builtin_add_overflow(header.sh_addr, header.sh_size, &span.entry.end))
            continue;
        span.entry.start = header.sh_addr;
        if (is_code(spans, elf, &span.entry) && !add_span(spans, &span))
            return BASE_NO_MEMORY;
    }
    return BASE_OK;
}

static enum base_status collect(Elf *elf, struct spans *spans)
{
    enum base_status status = BASE_OK;
    if (find_by_name(elf, ".eh_frame", true, &spans->eh_frame) ||
        find_by_segment(elf, &spans->eh_frame))
        status = read_section(&spans->eh_frame, 0, elf, spans);
    if (status == BASE_OK && find_by_name(elf, ".debug_frame", false, &spans->debug_frame))
        status = read_section(&spans->debug_frame, 1, elf, spans);
    if (status == BASE_OK && !spans->count)
        return BASE_NOT_FOUND;
    return status == BASE_OK ? add_linkage_tables(elf, spans) : status;
}

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left;
    const struct span *b = right;
    if (a->entry.start != b->entry.start)
        return a->entry.start < b->entry.start ? -1 : 1;
    return a->rank - b->rank;
}

static bool add_row(void *rows, uint64_t start, const struct unwind_row *row)
{
    return rows_add(rows, start, row);
}

/* The first entry of a lazy table is the common tail: an argument is pushed, then, 6 bytes
   later, a second. The others jump, and push their argument only to go there. */
static bool add_linkage_rows(struct rows *rows, const struct span *span)
{
    struct unwind_row row = {.cfa = UNWIND_CFA_REGISTER, .cfa_register = BASE_RSP, .cfa_offset = 8};
    uint64_t start = span->entry.start;
    if (!span->lazy)
        return rows_add(rows, start, &row);
    row.cfa_offset = 16;
    if (!rows_add(rows, start, &row))
        return false;
    row.cfa_offset = 24;
    if (!rows_add(rows, start + 6, &row))
        return false;
    if (span->entry.end <= start + PLT_ENTRY_BYTES)
        return true;
    row.cfa = UNWIND_CFA_PLT;
    row.cfa_offset = 8;
    row.cfa_addend = PLT_PUSHED_AFTER;
    return rows_add(rows, start + PLT_ENTRY_BYTES, &row);
}

/* False: the rest is out of reach, or memory is used up. */
static bool add_rows(struct rows *rows, const struct span *span)
{
    static const struct unwind_row unknown;
    if (span->entry.start < rows->limit || span->entry.end - rows->base > UINT32_MAX)
        return span->entry.start < rows->limit;
    if (span->entry.start > rows->limit && !rows_add(rows, rows->limit, &unknown))
        return false;
    rows->limit = span->entry.end;
    if (!span->entry.section)
        return add_linkage_rows(rows, span);
    return rows_add_function(rows, span->entry.start) && cfi_run(&span->entry, add_row, rows);
}

static enum base_status build(struct spans *spans, struct rows *rows)
{
    qsort(spans->items, spans->count, sizeof *spans->items, compare_spans);
    rows_begin(rows, spans->items[0].entry.start);
    for (size_t i = 0; i < spans->count; i++)
        if (!add_rows(rows, &spans->items[i]))
            break;
    return rows->no_memory ? BASE_NO_MEMORY : BASE_OK;
}

enum base_status ranges_visit(Elf *elf, bool (*visit)(void *context, const struct cfi_entry *entry),
                              void *context)
{
    struct spans spans = {0};
    enum base_status status = collect(elf, &spans);
    for (size_t i = 0; i < spans.count && status == BASE_OK; i++)
        if (spans.items[i].entry.section && !visit(context, &spans.items[i].entry))
            break;
    free(spans.items);
    return status;
}

enum base_status ranges_load(Elf *elf, struct intervals *ranges)
{
    struct spans spans = {0};
    enum base_status status = collect(elf, &spans);
    for (size_t i = 0; i < spans.count && status == BASE_OK; i++) {
        const struct span *span = &spans.items[i];
        if (span->entry.section && !intervals_add(ranges, span->entry.start, span->entry.end, 0))
            status = BASE_NO_MEMORY;
    }
    intervals_sort(ranges);
    free(spans.items);
    return status;
}

enum base_status frames_load(Elf *elf, struct rows *rows)
{
    struct spans spans = {0};
    enum base_status status = collect(elf, &spans);
    *rows = (struct rows){0};
    if (status == BASE_OK)
        status = build(&spans, rows);
    free(spans.items);
    return status;
}

static enum base_status compile(Elf *elf, int output, uint64_t *bytes)
{
    struct rows rows;
    enum base_status status = frames_load(elf, &rows);
    if (status == BASE_OK)
        status = rows_write(&rows, output, bytes);
    rows_free(&rows);
    return status;
}

static enum base_status copy_saved(const struct saved_key *key, int output, uint64_t *bytes)
{
    struct saved saved;
    if (!saved_find(key, &saved))
        return BASE_NOT_FOUND;
    enum base_status status = rows_copy(saved.bytes, saved.count, output);
    if (status == BASE_OK)
        *bytes = saved.count;
    saved_release(&saved);
    return status;
}

static void keep(const struct saved_key *key, int output, uint64_t bytes)
{
    void *table = mmap(NULL, bytes, PROT_READ, MAP_SHARED, output, 0);
    if (table == MAP_FAILED)
        return;
    saved_keep(key, table, bytes);
    munmap(table, bytes);
}

enum base_status binary_compile_unwind(const char *path, int output, uint64_t *bytes)
{
    struct image image;
    struct saved_key key;
    enum base_status status = image_open(path, &image);
    if (status != BASE_OK)
        return status;
    bool keeps = saved_key(&image, SAVED_UNWIND, &key);
    if (!keeps || copy_saved(&key, output, bytes) != BASE_OK) {
        status = compile(image.elf, output, bytes);
        if (status == BASE_OK && keeps)
            keep(&key, output, *bytes);
    }
    image_close(&image);
    return status;
}
