// SPDX-License-Identifier: MIT
/*
 * From a machine address to source-level frames. Built for reports that ask
 * for some thousands of addresses of programs with gigabytes of DWARF: only
 * the units asked for are read, everything is mapped and nothing is copied.
 * Not for parallel use of one struct binary.
 *
 * Limits: .gnu_debugdata (compressed symbol tables of some distributions) is
 * not read; split DWARF (.dwo) is found by libdw at the recorded path only,
 * its packages (.dwp) not at all.
 */
#include "binary/debugfile.h"
#include "binary/internal.h"
#include "binary/ranges.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GREATEST_INLINING = 64 };

/* ---- opening --------------------------------------------------------------------------- */

/* What is kept inflated has no locations of variables. */
static Dwarf *begin_dwarf(struct image *image, const struct binary_options *options,
                          struct inflated *inflated)
{
    bool kept = !(options && options->locations) && inflated_open(image, inflated);
    Elf *elf = kept ? inflated->elf : image->elf;
    return dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

/*
 * dwz(1) moves what several debug files share into one more file, named by all
 * of them. libdw would look for it itself, but believe whatever has the name:
 * if that is of another build, no DWARF at all is better than its names.
 */
static void open_common(struct binary *binary, const struct binary_options *options)
{
    const char *name;
    const void *id;
    ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(binary->dwarf, &name, &id);
    if (bytes <= 0)
        return;
    enum base_status status = debugfile_open_common(binary->debug_path, name, id, (size_t)bytes,
                                                    options, &binary->common);
    if (status == BASE_OK)
        binary->common_dwarf = begin_dwarf(&binary->common, options, &binary->inflated_common);
    if (binary->common_dwarf)
        dwarf_setalt(binary->dwarf, binary->common_dwarf);
    if (status == BASE_MALFORMED) {
        dwarf_end(binary->dwarf);
        binary->dwarf = NULL;
    }
}

static enum base_status open_debug(struct binary *binary, const char *path,
                                   const struct binary_options *options)
{
    struct image *image = &binary->main;
    enum base_status status = BASE_OK;
    if (debugfile_has_dwarf(image->elf)) {
        binary->debug_path = strdup(path);
        if (!binary->debug_path)
            return BASE_NO_MEMORY;
    } else {
        status = debugfile_open(path, image->elf, options, &binary->debug, &binary->debug_path);
        if (status != BASE_OK)
            return status == BASE_NOT_FOUND ? BASE_OK : status;
        image = &binary->debug;
    }
    if (debugfile_has_dwarf(image->elf))
        binary->dwarf = begin_dwarf(image, options, &binary->inflated);
    if (binary->dwarf)
        open_common(binary, options);
    return BASE_OK;
}

static enum base_status load_symbols(struct binary *binary, bool *symbols, bool *exports)
{
    enum base_status status = BASE_OK;
    *symbols = *exports = false;
    if (binary->debug.elf)
        status = symbols_load(binary->debug.elf, SHT_SYMTAB, SYMBOLS_FUNCTIONS, &binary->symbols,
                              symbols);
    if (status == BASE_OK)
        status = symbols_load(binary->main.elf, SHT_SYMTAB, SYMBOLS_FUNCTIONS, &binary->symbols,
                              symbols);
    if (status == BASE_OK)
        status = symbols_load(binary->main.elf, SHT_DYNSYM, SYMBOLS_FUNCTIONS, &binary->symbols,
                              exports);
    return status == BASE_OK ? symbols_sort(&binary->symbols) : status;
}

/* Position-independent programs have it among the data that is relocated. */
static void load_go(struct binary *binary)
{
    static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
    GElf_Shdr header, text = {0};
    for (size_t i = 0; i < BASE_COUNT(names) && !binary->go.bytes; i++) {
        Elf_Scn *section = image_section(binary->main.elf, names[i], &header);
        Elf_Data *data = section ? image_data(section, &header) : NULL;
        if (data && image_section(binary->main.elf, ".text", &text))
            pclntab_read(data->d_buf, data->d_size, text.sh_addr, &binary->go);
    }
}

enum base_status binary_open(const char *path, const struct binary_options *options,
                             struct binary **binary)
{
    bool symbols, exports;
    struct binary *opened = calloc(1, sizeof *opened);
    if (!opened)
        return BASE_NO_MEMORY;
    opened->main.file = opened->debug.file = opened->common.file = -1;
    opened->path = strdup(path);
    enum base_status status = opened->path ? image_open(path, &opened->main) : BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = open_debug(opened, path, options);
    if (status == BASE_OK)
        status = load_symbols(opened, &symbols, &exports);
    if (status != BASE_OK) {
        binary_close(opened);
        return status;
    }
    load_go(opened);
    opened->detail = opened->dwarf || opened->go.bytes ? BINARY_DETAIL_LINES
                     : symbols                         ? BINARY_DETAIL_SYMBOLS
                     : exports                         ? BINARY_DETAIL_EXPORTS
                                                       : BINARY_DETAIL_NONE;
    const char *slash = strrchr(opened->path, '/');
    opened->base = slash ? slash + 1 : opened->path;
    *binary = opened;
    return BASE_OK;
}

void binary_close(struct binary *binary)
{
    if (!binary)
        return;
    units_free(&binary->units);
    symbols_free(&binary->symbols);
    names_free(&binary->names);
    intervals_free(&binary->ranges);
    rows_free(&binary->frames);
    relocations_free(&binary->relocations);
    data_free(&binary->data);
    if (binary->dwarf)
        dwarf_end(binary->dwarf);
    if (binary->common_dwarf)
        dwarf_end(binary->common_dwarf);
    inflated_close(&binary->inflated_common);
    inflated_close(&binary->inflated);
    image_close(&binary->common);
    image_close(&binary->debug);
    image_close(&binary->main);
    util_strings_free(&binary->made);
    free(binary->debug_path);
    free(binary->path);
    free(binary);
}

uint64_t binary_bytes(const struct binary *binary)
{
    return image_bytes(binary->main.elf);
}

enum binary_detail binary_detail(const struct binary *binary)
{
    return binary->detail;
}

const char *binary_debug_file(const struct binary *binary)
{
    return binary->debug_path;
}

size_t binary_build_id(const struct binary *binary, uint8_t id[BINARY_BUILD_ID_BYTES])
{
    const void *found;
    ssize_t bytes = dwelf_elf_gnu_build_id(binary->main.elf, &found);
    if (bytes <= 0 || bytes > BINARY_BUILD_ID_BYTES)
        return 0;
    memcpy(id, found, (size_t)bytes);
    return (size_t)bytes;
}

/* ---- sections, call frame information --------------------------------------------------------- */

/* The section behind that one that has a name; the first one behind NULL. */
static Elf_Scn *next_section(struct binary *binary, Elf_Scn *section, GElf_Shdr *header,
                             const char **name)
{
    Elf *elf = binary->main.elf;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        *name = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (*name)
            return section;
    }
    return NULL;
}

static enum base_status need_ranges(struct binary *binary)
{
    if (!binary->ranges_loaded && ranges_load(binary->main.elf, &binary->ranges) == BASE_NO_MEMORY)
        return BASE_NO_MEMORY;
    binary->ranges_loaded = true;
    return BASE_OK;
}

/* Stubs of the procedure linkage table are described as one range. */
static bool in_stubs(struct binary *binary, uint64_t vaddr)
{
    GElf_Shdr header;
    const char *name;
    for (Elf_Scn *section = NULL; (section = next_section(binary, section, &header, &name));) {
        if (vaddr >= header.sh_addr && vaddr - header.sh_addr < header.sh_size &&
            strncmp(name, ".plt", 4) == 0)
            return true;
    }
    return false;
}

/* ---- frames ------------------------------------------------------------------------------ */

/* A position in the source, before it is known which function is there. */
struct position {
    const char *file;
    uint32_t line, column;
};

static const char *string_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

static uint32_t line_of_declaration(Dwarf_Die *die)
{
    Dwarf_Attribute found;
    Dwarf_Word line;
    if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &found), &line) != 0 ||
        line > UINT32_MAX)
        return 0;
    return (uint32_t)line;
}

static uint32_t number_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    Dwarf_Word number;
    if (!dwarf_attr(die, attribute, &found) || dwarf_formudata(&found, &number) != 0 ||
        number > UINT32_MAX)
        return 0;
    return (uint32_t)number;
}

static void name_frame(struct binary *binary, Dwarf_Die *die, struct binary_frame *frame)
{
    frame->linkage = string_of(die, DW_AT_linkage_name);
    if (!frame->linkage)
        frame->linkage = string_of(die, DW_AT_MIPS_linkage_name);
    frame->declared = line_of_declaration(die);
    frame->function = frame->linkage ? names_readable(&binary->names, frame->linkage) : NULL;
    /* Not mangled: an assembler label (__GI_strtok); the source has a better name. */
    if (frame->function == frame->linkage) {
        const char *name = string_of(die, DW_AT_name);
        frame->function = name ? name : frame->linkage;
    }
}

static void place_frame(struct binary_frame *frame, const struct position *position)
{
    frame->file = position->file;
    frame->line = position->line;
    frame->column = position->column;
}

static const char *directory_of(const struct unit *unit)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr((Dwarf_Die *)&unit->die, DW_AT_comp_dir, &found));
}

static struct position position_of_address(struct binary *binary, struct unit *unit, uint64_t vaddr)
{
    struct position position = {0};
    int line = 0;
    int column = 0;
    Dwarf_Line *record = dwarf_getsrc_die(&unit->die, vaddr);
    const char *file = record ? dwarf_linesrc(record, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(record, &line) != 0 || line <= 0)
        return position; /* line 0: made by the compiler from no or from several places */
    position.file = names_absolute(&binary->names, directory_of(unit), file);
    position.line = (uint32_t)line;
    if (dwarf_linecol(record, &column) == 0 && column > 0)
        position.column = (uint32_t)column;
    return position;
}

static struct position position_of_call(struct binary *binary, struct unit *unit,
                                        Dwarf_Die *inlined)
{
    struct position position = {.line = number_of(inlined, DW_AT_call_line),
                                .column = number_of(inlined, DW_AT_call_column)};
    Dwarf_Files *files;
    size_t count;
    Dwarf_Attribute found;
    Dwarf_Word index;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &found), &index) != 0 ||
        dwarf_getsrcfiles(&unit->tree, &files, &count) != 0 || index >= count)
        return position;
    const char *file = dwarf_filesrc(files, index, NULL, NULL);
    if (file)
        position.file = names_absolute(&binary->names, directory_of(unit), file);
    return position;
}

static Elf_Scn *next_section(struct binary *binary, Elf_Scn *section, GElf_Shdr *header,
                             const char **name);
static enum base_status need_relocations(struct binary *binary);

/* The section of stubs of the procedure linkage table that holds an address. Call frame information has one
   range for all of them. */
static bool stubs_at(struct binary *binary, uint64_t vaddr, GElf_Shdr *header)
{
    const char *name;
    for (Elf_Scn *section = NULL; (section = next_section(binary, section, header, &name));)
        if (vaddr >= header->sh_addr && vaddr - header->sh_addr < header->sh_size &&
            strncmp(name, ".plt", 4) == 0)
            return true;
    return false;
}

/* The cell through which the stub at `start` jumps: jmp *cell(%rip), behind endbr64 or bnd perhaps. */
static bool stub_cell(struct binary *binary, uint64_t start, uint64_t bytes, uint64_t *cell)
{
    uint8_t code[16];
    int32_t displacement;
    size_t count = bytes < sizeof code ? (size_t)bytes : sizeof code;
    if (binary_read(binary, start, code, count) != BASE_OK)
        return false;
    for (size_t at = 0; at <= 5 && at + 6 <= count; at++) {
        if (code[at] != 0xff || code[at + 1] != 0x25)
            continue;
        memcpy(&displacement, code + at + 2, sizeof displacement);
        *cell = start + at + 6 + (uint64_t)(int64_t)displacement;
        return true;
    }
    return false;
}

/* "NAME@plt" of the stub that holds an address, or NULL. */
static const char *name_stub(struct binary *binary, uint64_t vaddr)
{
    GElf_Shdr header;
    uint64_t cell;
    if (!stubs_at(binary, vaddr, &header) || need_relocations(binary) != BASE_OK)
        return NULL;
    uint64_t bytes = header.sh_entsize == 8 ? 8 : 16;
    uint64_t start = vaddr - (vaddr - header.sh_addr) % bytes;
    if (!stub_cell(binary, start, bytes, &cell))
        return NULL;
    const struct relocation *put = relocations_find(&binary->relocations, cell);
    if (!put)
        return NULL;
    const char *name = put->resolver ? binary_symbol(binary, put->value) : put->name;
    return name && *name ? names_stub(&binary->names, put, name) : NULL;
}

/*
 * The symbol table knows what the compiler made of a function (foo.part.0), and
 * the names of those that DWARF calls by their last part only.
 */
static void refine_by_symbol(struct binary *binary, uint64_t vaddr, struct binary_frame *frame)
{
    const struct symbol *symbol = symbols_find(&binary->symbols, vaddr);
    if (!symbol && !frame->function)
        frame->function = name_stub(binary, vaddr);
    if (!symbol)
        return;
    const char *known = frame->linkage ? frame->linkage : frame->function;
    bool mangled = strncmp(symbol->name, "_Z", 2) == 0 || strncmp(symbol->name, "_R", 2) == 0;
    if (!known || (!frame->linkage && mangled)) {
        frame->linkage = symbol->name;
        frame->function = names_readable(&binary->names, symbol->name);
    } else if (strncmp(symbol->name, known, strlen(known)) == 0) {
        frame->linkage = symbol->name;
    }
}

static size_t frames_of_unit(struct binary *binary, struct unit *unit, uint64_t vaddr,
                             struct binary_frame *frames, size_t capacity)
{
    Dwarf_Die function;
    Dwarf_Die inlined[GREATEST_INLINING];
    struct position position = position_of_address(binary, unit, vaddr);
    bool known = unit_function(unit, vaddr, &function);
    size_t depth = known ? unit_inlined(&function, vaddr, inlined, GREATEST_INLINING) : 0;
    size_t count = 0;
    for (size_t i = depth; i > 0; i--) {
        Dwarf_Die *die = &inlined[i - 1];
        if (count + 1 < capacity) { /* one place is kept for the real function */
            struct binary_frame *frame = &frames[count++];
            *frame = (struct binary_frame){.inlined = true};
            name_frame(binary, die, frame);
            place_frame(frame, &position);
        }
        position = position_of_call(binary, unit, die);
    }
    struct binary_frame *outermost = &frames[count];
    *outermost = (struct binary_frame){0};
    if (known)
        name_frame(binary, &function, outermost);
    place_frame(outermost, &position);
    refine_by_symbol(binary, vaddr, outermost);
    bool unoptimized = known && unit_unoptimized(unit);
    for (size_t i = 0; i <= count; i++)
        frames[i].unoptimized = unoptimized;
    return outermost->function || outermost->file || count ? count + 1 : 0;
}

struct unit *binary_unit(struct binary *binary, uint64_t vaddr)
{
    if (binary->dwarf && !binary->units_listed) {
        binary->units_listed = true;
        units_load(binary->dwarf, binary->debug.elf ? binary->debug.file : binary->main.file,
                   &binary->units);
    }
    return units_find(&binary->units, vaddr);
}

/*
 * Of stripped code call frame information still says where functions begin. So all that is found in
 * one of them has one name, that of the file and the function's address.
 */
static const char *name_of_range(struct binary *binary, uint64_t vaddr)
{
    enum { FILE_BYTES = 80 };
    char name[FILE_BYTES + 32];
    uint32_t number;
    if (need_ranges(binary) != BASE_OK || in_stubs(binary, vaddr))
        return NULL;
    const struct interval *range = intervals_find(&binary->ranges, vaddr);
    if (!range)
        return NULL;
    int bytes =
        snprintf(name, sizeof name, "%.*s@0x%" PRIx64, FILE_BYTES, binary->base, range->start);
    return bytes > 0 && util_strings_add(&binary->made, name, (size_t)bytes, &number)
               ? binary->made.texts[number]
               : NULL;
}

/* Without debug information. */
static bool frame_of_go(const struct binary *binary, uint64_t vaddr, struct binary_frame *frame)
{
    struct pclntab_place place;
    if (!binary->go.bytes || !pclntab_find(&binary->go, vaddr, &place))
        return false;
    frame->function = frame->linkage = place.function;
    frame->file = place.line ? place.file : NULL;
    frame->line = place.line;
    return true;
}

size_t binary_frames(struct binary *binary, uint64_t vaddr, struct binary_frame *frames,
                     size_t capacity)
{
    if (!capacity)
        return 0;
    struct unit *unit = binary_unit(binary, vaddr);
    size_t count = unit ? frames_of_unit(binary, unit, vaddr, frames, capacity) : 0;
    if (count)
        return count;
    struct binary_frame frame = {0};
    if (!frame_of_go(binary, vaddr, &frame))
        refine_by_symbol(binary, vaddr, &frame);
    frame.made = !frame.function;
    if (frame.made)
        frame.function = name_of_range(binary, vaddr);
    if (!frame.function)
        return 0;
    frames[0] = frame;
    return 1;
}

static uint64_t address_of_row(Dwarf_Lines *rows, size_t index)
{
    Dwarf_Addr address = 0;
    dwarf_lineaddr(dwarf_onesrcline(rows, index), &address);
    return address;
}

/* libdw sorts the rows of a unit by address. */
size_t binary_rows(struct binary *binary, uint64_t start, uint64_t end, uint64_t *addresses,
                   size_t capacity)
{
    struct unit *unit = binary_unit(binary, start);
    Dwarf_Lines *rows;
    size_t total, count = 0;
    if (!unit || dwarf_getsrclines(&unit->die, &rows, &total) != 0)
        return 0;
    for (size_t row = BASE_FIRST(i, total, address_of_row(rows, i) >= start);
         row < total && count < capacity; row++) {
        uint64_t address = address_of_row(rows, row);
        if (address < start || address >= end)
            break;
        if (count == 0 || addresses[count - 1] != address)
            addresses[count++] = address;
    }
    return count;
}

enum base_status binary_section(struct binary *binary, const char *name, uint64_t *vaddr,
                                uint64_t *bytes)
{
    GElf_Shdr header;
    const char *found;
    for (Elf_Scn *section = NULL; (section = next_section(binary, section, &header, &found));) {
        if (header.sh_flags & SHF_ALLOC && strcmp(found, name) == 0) {
            *vaddr = header.sh_addr;
            *bytes = header.sh_size;
            return BASE_OK;
        }
    }
    return BASE_NOT_FOUND;
}

enum base_status binary_read(struct binary *binary, uint64_t vaddr, void *out, size_t bytes)
{
    uint64_t offset, available;
    if (!image_offset(binary->main.elf, vaddr, &offset, &available) || bytes > available)
        return BASE_NOT_FOUND;
    if (binary->main.copy) {
        if (offset > binary->main.copy_bytes || bytes > binary->main.copy_bytes - offset)
            return BASE_MALFORMED;
        memcpy(out, (const char *)binary->main.copy + offset, bytes);
        return BASE_OK;
    }
    if (offset > INT64_MAX)
        return BASE_MALFORMED;
    ssize_t got;
    do
        got = pread(binary->main.file, out, bytes, (off_t)offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return BASE_IO;
    return (size_t)got == bytes ? BASE_OK : BASE_MALFORMED;
}

static enum base_status need_relocations(struct binary *binary)
{
    if (binary->relocations_loaded)
        return BASE_OK;
    binary->relocations_loaded = true;
    return relocations_load(binary->main.elf, &binary->relocations);
}

const char *binary_import(struct binary *binary, uint64_t vaddr)
{
    const struct relocation *put =
        need_relocations(binary) == BASE_OK ? relocations_find(&binary->relocations, vaddr) : NULL;
    return put ? put->name : NULL;
}

enum base_status binary_read_loaded(struct binary *binary, uint64_t vaddr, void *out, size_t bytes)
{
    enum base_status status = need_relocations(binary);
    if (status == BASE_OK)
        status = binary_read(binary, vaddr, out, bytes);
    if (status == BASE_OK)
        relocations_apply(&binary->relocations, vaddr, out, bytes);
    return status;
}

/* A symbol without a size reaches to the next one: what call frame information says is better. */
enum base_status binary_function(struct binary *binary, uint64_t vaddr, uint64_t *start,
                                 uint64_t *end)
{
    const struct interval *range = intervals_find(&binary->symbols.ranges, vaddr);
    const struct symbol *symbol = range ? &binary->symbols.items[range->value] : NULL;
    if (!symbol || symbol->end == symbol->start) {
        if (need_ranges(binary) != BASE_OK)
            return BASE_NO_MEMORY;
        const struct interval *described = intervals_find(&binary->ranges, vaddr);
        range = described ? described : range;
    }
    if (!range)
        return BASE_NOT_FOUND;
    *start = range->start;
    *end = range->end;
    return BASE_OK;
}

const char *binary_symbol(struct binary *binary, uint64_t vaddr)
{
    const struct interval *range = intervals_next(&binary->symbols.ranges, vaddr);
    return range && range->start == vaddr ? binary->symbols.items[range->value].name : NULL;
}

enum base_status binary_next_function(struct binary *binary, uint64_t vaddr, uint64_t *start,
                                      uint64_t *end, const char **name)
{
    bool stripped = binary->detail == BINARY_DETAIL_EXPORTS || binary->detail == BINARY_DETAIL_NONE;
    if (stripped && need_ranges(binary) != BASE_OK)
        return BASE_NO_MEMORY;
    GElf_Shdr stubs;
    for (uint64_t from = vaddr;;) {
        const struct interval *next = intervals_next(&binary->symbols.ranges, from);
        const struct interval *described = stripped ? intervals_next(&binary->ranges, from) : NULL;
        bool by_symbol = next && (!described || next->start <= described->start);
        next = by_symbol ? next : described;
        if (!next)
            return BASE_NOT_FOUND;
        from = next->start + 1;
        if (binary_function(binary, next->start, start, end) != BASE_OK || *start != next->start ||
            (!by_symbol && stubs_at(binary, next->start, &stubs)))
            continue;
        *name = by_symbol ? binary->symbols.items[next->value].name : "";
        return BASE_OK;
    }
}
