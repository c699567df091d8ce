// SPDX-License-Identifier: MIT
/*
 * Symbols of functions and data. A symbol names an address only if its recorded size covers
 * it; one without a size (assembly) reaches to the next symbol or the end of its
 * section. Nearest-symbol guessing would name code of stripped programs after
 * whatever happens to be exported before it.
 */
#include "binary/symbols.h"

#include "util/util.h"

#include <stdlib.h>

static bool add_symbol(struct symbols *symbols, const struct symbol *symbol)
{
    return UTIL_PUSH(symbols->items, symbols->count, symbols->capacity, *symbol);
}

static uint8_t rank_of(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    uint8_t rank = type == STT_FUNC ? 8 : type == STT_GNU_IFUNC ? 6 : 0;
    rank += symbol->st_size ? 16 : 0;
    return rank + (binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0);
}

static bool is_function(Elf *elf, const GElf_Sym *symbol, uint64_t *section_end)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    GElf_Shdr section;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE || !symbol->st_value ||
        !gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) ||
        !(section.sh_flags & SHF_EXECINSTR))
        return false;
    return symbol->st_value >= section.sh_addr &&
           !__builtin_add_overflow(section.sh_addr, section.sh_size, section_end) &&
           symbol->st_value < *section_end;
}

/* Of data only symbols with a size: what lies behind another is not known to be that. */
static bool is_data(Elf *elf, const GElf_Sym *symbol, unsigned type, uint64_t *section_end)
{
    GElf_Shdr section;
    if (GELF_ST_TYPE(symbol->st_info) != type || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_shndx >= SHN_LORESERVE || !symbol->st_size ||
        !gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) ||
        !(section.sh_flags & SHF_ALLOC) || section.sh_flags & SHF_EXECINSTR)
        return false;
    return !__builtin_add_overflow(symbol->st_value, symbol->st_size, section_end);
}

static bool is_of_kind(Elf *elf, const GElf_Sym *symbol, enum symbols_kind kind,
                       uint64_t *section_end)
{
    if (kind == SYMBOLS_FUNCTIONS)
        return is_function(elf, symbol, section_end);
    return is_data(elf, symbol, kind == SYMBOLS_DATA ? STT_OBJECT : STT_TLS, section_end);
}

static enum base_status load_section(Elf *elf, Elf_Scn *section, size_t strings,
                                     enum symbols_kind kind, struct symbols *symbols, bool *found)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        struct symbol item;
        if (!is_of_kind(elf, &symbol, kind, &item.section_end))
            continue;
        item.name = elf_strptr(elf, strings, symbol.st_name);
        item.start = symbol.st_value;
        if (!item.name || !*item.name ||
            __builtin_add_overflow(item.start, symbol.st_size, &item.end))
            continue;
        item.rank = rank_of(&symbol);
        item.type = GELF_ST_TYPE(symbol.st_info);
        if (!add_symbol(symbols, &item))
            return BASE_NO_MEMORY;
        *found = true;
    }
    return BASE_OK;
}

enum base_status symbols_load(Elf *elf, uint32_t type, enum symbols_kind kind,
                              struct symbols *symbols, bool *found)
{
    GElf_Shdr header;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section))
        if (gelf_getshdr(section, &header) && header.sh_type == type)
            return load_section(elf, section, header.sh_link, kind, symbols, found);
    return BASE_OK;
}

/* By start; of one start the best last, so that a pass keeps it. */
static int compare(const void *left, const void *right)
{
    const struct symbol *a = left;
    const struct symbol *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->rank - b->rank;
}

static void keep_best(struct symbols *symbols)
{
    size_t kept = 0;
    for (size_t i = 0; i < symbols->count; i++)
        if (i + 1 == symbols->count || symbols->items[i + 1].start != symbols->items[i].start)
            symbols->items[kept++] = symbols->items[i];
    symbols->count = kept;
}

/* Labels within a function of known size do not name code. */
static enum base_status make_ranges(struct symbols *symbols)
{
    uint64_t sized_end = 0;
    for (size_t i = 0; i < symbols->count; i++) {
        struct symbol *symbol = &symbols->items[i];
        bool sized = symbol->end > symbol->start;
        uint64_t end = symbol->end;
        if (!sized && symbol->start < sized_end)
            continue;
        if (!sized) {
            end = symbol->section_end;
            if (i + 1 < symbols->count && symbols->items[i + 1].start < end)
                end = symbols->items[i + 1].start;
        } else if (end > sized_end) {
            sized_end = end;
        }
        if (!intervals_add(&symbols->ranges, symbol->start, end, i))
            return BASE_NO_MEMORY;
    }
    intervals_sort(&symbols->ranges);
    return BASE_OK;
}

enum base_status symbols_sort(struct symbols *symbols)
{
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof *symbols->items, compare);
    keep_best(symbols);
    return make_ranges(symbols);
}

const struct symbol *symbols_find(const struct symbols *symbols, uint64_t vaddr)
{
    const struct interval *range = intervals_find(&symbols->ranges, vaddr);
    return range ? &symbols->items[range->value] : NULL;
}

void symbols_free(struct symbols *symbols)
{
    free(symbols->items);
    intervals_free(&symbols->ranges);
    *symbols = (struct symbols){0};
}
