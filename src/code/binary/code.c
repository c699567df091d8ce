// SPDX-License-Identifier: MIT
/*
 * Everything is read when the file is opened, but for tables of exception handlers. Views point
 * into the file as libelf maps it: a file that is cut short meanwhile raises SIGBUS (see image.c).
 */
#include "binary/code.h"

#include "binary/bytes.h"
#include "binary/debugfile.h"
#include "binary/image.h"
#include "binary/pointer.h"
#include "binary/ranges.h"
#include "binary/relocations.h"
#include "binary/symbols.h"
#include "util/util.h"

#include <stdlib.h>

enum { PAGE = 4096, CALL_SITES_MAX = 1 << 20, HANDLERS_OMITTED = 0xff };

struct code {
    struct image main, debug;
    const uint8_t *file;
    size_t file_bytes;
    struct code_symbol *symbols;
    struct code_frame *frames;
    struct code_section *sections;
    struct code_pointer *pointers;
    size_t symbols_count, frames_count, frames_capacity, sections_count, sections_capacity,
        pointers_count;
    bool no_memory;
};

/* ---- symbols ------------------------------------------------------------------------------- */

static int compare_symbols(const void *left, const void *right)
{
    const struct code_symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

static enum base_status copy_symbols(struct code *code, const struct symbols *symbols)
{
    code->symbols = calloc(symbols->count + 1, sizeof *code->symbols);
    if (!code->symbols)
        return BASE_NO_MEMORY;
    for (size_t i = 0; i < symbols->count; i++) {
        const struct symbol *from = &symbols->items[i];
        uint8_t type = from->type == STT_FUNC        ? CODE_FUNCTION
                       : from->type == STT_GNU_IFUNC ? CODE_RESOLVER
                                                     : CODE_LABEL;
        code->symbols[i] = (struct code_symbol){from->start,       from->end, from->name,
                                                from->section_end, type,      from->rank};
    }
    code->symbols_count = symbols->count;
    qsort(code->symbols, code->symbols_count, sizeof *code->symbols, compare_symbols);
    return BASE_OK;
}

static enum base_status load_symbols(struct code *code)
{
    struct symbols symbols = {0};
    bool found = false;
    bool ignored;
    enum base_status status =
        symbols_load(code->main.elf, SHT_SYMTAB, SYMBOLS_FUNCTIONS, &symbols, &found);
    if (status == BASE_OK && !found && code->debug.elf)
        status = symbols_load(code->debug.elf, SHT_SYMTAB, SYMBOLS_FUNCTIONS, &symbols, &found);
    if (status == BASE_OK)
        status = symbols_load(code->main.elf, SHT_DYNSYM, SYMBOLS_FUNCTIONS, &symbols, &ignored);
    if (status == BASE_OK)
        status = copy_symbols(code, &symbols);
    symbols_free(&symbols);
    return status;
}

const struct code_symbol *code_symbols(const struct code *code, size_t *count)
{
    *count = code->symbols_count;
    return code->symbols;
}

/* ---- frames -------------------------------------------------------------------------------- */

static bool look_at_row(void *context, uint64_t start, const struct unwind_row *row)
{
    struct code_frame *frame = context;
    if (start != frame->start)
        return false;
    bool call = row->cfa == UNWIND_CFA_REGISTER && row->cfa_register == BASE_RSP &&
                row->cfa_offset == sizeof(uint64_t);
    for (unsigned i = 0; i < UNWIND_SAVED; i++)
        call = call && UNWIND_PLACE_RULE(row->place[i]) == UNWIND_SAME;
    frame->entry = call ? CODE_ENTRY_CALL : CODE_ENTRY_OTHER;
    return false; /* one row is enough */
}

static bool add_frame(void *context, const struct cfi_entry *entry)
{
    struct code *code = context;
    struct code_frame frame = {entry->start, entry->end, entry->handlers, CODE_ENTRY_UNKNOWN};
    if (!UTIL_GROW(code->frames, code->frames_capacity, code->frames_count)) {
        code->no_memory = true;
        return false;
    }
    cfi_run(entry, look_at_row, &frame);
    if (entry->signal_frame)
        frame.entry = CODE_ENTRY_OTHER;
    code->frames[code->frames_count++] = frame;
    return true;
}

static int compare_frames(const void *left, const void *right)
{
    const struct code_frame *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static enum base_status load_frames(struct code *code)
{
    enum base_status status = ranges_visit(code->main.elf, add_frame, code);
    if (status == BASE_NO_MEMORY || code->no_memory)
        return BASE_NO_MEMORY;
    if (code->frames_count)
        qsort(code->frames, code->frames_count, sizeof *code->frames, compare_frames);
    return BASE_OK;
}

const struct code_frame *code_frames(const struct code *code, size_t *count)
{
    *count = code->frames_count;
    return code->frames;
}

/* ---- sections, pointers -------------------------------------------------------------------- */

/* Bytes of the file from an offset on; NULL if it has none there. */
static const uint8_t *file_view(const struct code *code, uint64_t offset, uint64_t *bytes)
{
    if (!code->file || offset >= code->file_bytes)
        return NULL;
    if (*bytes > code->file_bytes - offset)
        *bytes = code->file_bytes - offset;
    return code->file + offset;
}

static bool add_section(struct code *code, const char *name, uint64_t start, uint64_t bytes,
                        uint64_t offset, bool in_file, bool executable)
{
    uint64_t end;
    struct code_section section = {name, start, bytes, NULL, executable};
    if (bytes == 0 || __builtin_add_overflow(start, bytes, &end))
        return true;
    if (!UTIL_GROW(code->sections, code->sections_capacity, code->sections_count))
        return false;
    if (in_file)
        section.view = file_view(code, offset, &section.bytes);
    code->sections[code->sections_count++] = section;
    return true;
}

static bool add_sections(struct code *code)
{
    Elf *elf = code->main.elf;
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return true;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!add_section(code, name ? name : "", header.sh_addr, header.sh_size, header.sh_offset,
                         header.sh_type != SHT_NOBITS, header.sh_flags & SHF_EXECINSTR))
            return false;
    }
    return true;
}

static bool add_segments(struct code *code)
{
    size_t count;
    GElf_Phdr segment;
    if (elf_getphdrnum(code->main.elf, &count) != 0)
        return true;
    for (size_t i = 0; i < count && gelf_getphdr(code->main.elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD &&
            !add_section(code, "", segment.p_vaddr, segment.p_filesz, segment.p_offset, true,
                         segment.p_flags & PF_X))
            return false;
    return true;
}

static int compare_sections(const void *left, const void *right)
{
    const struct code_section *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static enum base_status load_sections(struct code *code)
{
    if (!add_sections(code) || (!code->sections_count && !add_segments(code)))
        return BASE_NO_MEMORY;
    if (code->sections_count)
        qsort(code->sections, code->sections_count, sizeof *code->sections, compare_sections);
    return BASE_OK;
}

const struct code_section *code_sections(const struct code *code, size_t *count)
{
    *count = code->sections_count;
    return code->sections;
}

static enum base_status load_pointers(struct code *code)
{
    struct relocations relocations = {0};
    enum base_status status = relocations_load(code->main.elf, &relocations);
    if (status == BASE_OK)
        code->pointers = calloc(relocations.count + 1, sizeof *code->pointers);
    if (!code->pointers)
        status = BASE_NO_MEMORY;
    for (size_t i = 0; i < relocations.count && status == BASE_OK; i++) {
        const struct relocation *from = &relocations.items[i];
        code->pointers[i] = (struct code_pointer){from->at, from->value, from->name};
        code->pointers_count++;
    }
    relocations_free(&relocations);
    return status;
}

const struct code_pointer *code_pointers(const struct code *code, size_t *count)
{
    *count = code->pointers_count;
    return code->pointers;
}

/* ---- the file ------------------------------------------------------------------------------ */

enum base_status code_open(const char *path, struct code **code)
{
    char *debug_path = NULL;
    struct code *opened = calloc(1, sizeof *opened);
    if (!opened)
        return BASE_NO_MEMORY;
    opened->main.file = opened->debug.file = -1;
    enum base_status status = image_open(path, &opened->main);
    if (status == BASE_OK) {
        opened->file = (const uint8_t *)elf_rawfile(opened->main.elf, &opened->file_bytes);
        status = debugfile_open(path, opened->main.elf, NULL, &opened->debug, &debug_path);
        if (status != BASE_NO_MEMORY)
            status = BASE_OK;
    }
    if (status == BASE_OK)
        status = load_symbols(opened);
    if (status == BASE_OK)
        status = load_frames(opened);
    if (status == BASE_OK)
        status = load_sections(opened);
    if (status == BASE_OK)
        status = load_pointers(opened);
    free(debug_path);
    if (status != BASE_OK)
        code_close(opened);
    else
        *code = opened;
    return status;
}

void code_close(struct code *code)
{
    if (!code)
        return;
    free(code->symbols);
    free(code->frames);
    free(code->sections);
    free(code->pointers);
    image_close(&code->debug);
    image_close(&code->main);
    free(code);
}

const uint8_t *code_view(const struct code *code, uint64_t vaddr, size_t *available)
{
    uint64_t offset, bytes;
    if (!image_offset(code->main.elf, vaddr, &offset, &bytes))
        return NULL;
    const uint8_t *view = file_view(code, offset, &bytes);
    *available = (size_t)bytes;
    return view;
}

/* Segments begin at pages, and two may have a page of the file in common. */
static bool vaddr_in(const struct code *code, uint64_t offset, bool executable, uint64_t *vaddr)
{
    size_t count;
    GElf_Phdr segment;
    if (elf_getphdrnum(code->main.elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(code->main.elf, (int)i, &segment); i++) {
        uint64_t within = segment.p_offset % PAGE, start = segment.p_offset - within;
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) == executable ||
            offset < start || offset - start >= segment.p_filesz + within)
            continue;
        *vaddr = segment.p_vaddr - within + (offset - start);
        return true;
    }
    return false;
}

bool code_vaddr(const struct code *code, uint64_t offset, uint64_t *vaddr)
{
    return vaddr_in(code, offset, true, vaddr) || vaddr_in(code, offset, false, vaddr);
}

/* ---- exception handlers -------------------------------------------------------------------- */

/* The header of a table (the "language-specific data area" of C++ and others that use its format):
   where handlers are counted from, how call sites are encoded, how many bytes they take. */
static bool read_header(struct bytes *bytes, const struct cfi_section *section, uint64_t *base,
                        unsigned *encoding, uint64_t *length)
{
    unsigned form = (unsigned)bytes_fixed(bytes, 1);
    if (form != HANDLERS_OMITTED && !pointer_read(bytes, section, form, base))
        return false;
    if (bytes_fixed(bytes, 1) != HANDLERS_OMITTED)
        bytes_uleb(bytes); /* offset of the types */
    *encoding = (unsigned)bytes_fixed(bytes, 1);
    *length = bytes_uleb(bytes);
    return !bytes->failed && *length <= (uint64_t)(bytes->end - bytes->at);
}

void code_handlers(const struct code *code, const struct code_frame *frame,
                   bool (*visit)(void *context, uint64_t handler), void *context)
{
    size_t available;
    const uint8_t *view = frame->handlers ? code_view(code, frame->handlers, &available) : NULL;
    if (!view)
        return;
    struct cfi_section section = {view, available, frame->handlers, true};
    struct bytes bytes = {view, view + available, false};
    uint64_t base = frame->start, length, start, covered, handler;
    unsigned encoding;
    if (!read_header(&bytes, &section, &base, &encoding, &length))
        return;
    bytes.end = bytes.at + length;
    for (unsigned i = 0; bytes.at < bytes.end && i < CALL_SITES_MAX; i++) {
        if (!pointer_read(&bytes, &section, encoding, &start) ||
            !pointer_read(&bytes, &section, encoding, &covered) ||
            !pointer_read(&bytes, &section, encoding, &handler))
            return;
        bytes_uleb(&bytes); /* what it catches */
        if (bytes.failed || (handler && !visit(context, base + handler)))
            return;
    }
}
