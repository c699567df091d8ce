// SPDX-License-Identifier: MIT
/*
 * Calls from one module to another go through entries of the caller's global offset table. Those of
 * functions that are to be timed are led to their stubs, and the stubs to where the entries led.
 * Only the program and its own libraries are done, not libc and its kind: what they do among
 * themselves is theirs.
 *
 * An entry is one aligned word: whoever calls meanwhile meets the old address or the new.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

enum { NAMES = 4 * SPANS_FUNCTIONS, BUSY_MS = 2000 };
#define PAGE UINT64_C(4096)

/* Numbers of functions by the hash of their names; filled once and again when there are more. */
static uint16_t names[NAMES];
static uint32_t names_known = 1;
static _Atomic bool busy;

static uint32_t place_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (uint32_t)base_mix64(hash) % NAMES;
}

static void learn_names(const struct spans_region *region)
{
    uint32_t count = atomic_load(&region->functions);
    for (; names_known < count && names_known < SPANS_FUNCTIONS; names_known++) {
        const struct spans_function *function = &region->function[names_known];
        if (atomic_load(&function->state) != SPANS_READY || function->entry != SPANS_IMPORT)
            continue;
        uint32_t at = place_of(function->name);
        while (names[at])
            at = (at + 1) % NAMES;
        names[at] = (uint16_t)names_known;
    }
}

static uint32_t number_of(const struct spans_region *region, const char *name)
{
    for (uint32_t at = place_of(name); names[at]; at = (at + 1) % NAMES)
        if (strcmp(region->function[names[at]].name, name) == 0)
            return names[at];
    return 0;
}

/* ---- a module's dynamic section ------------------------------------------------- */

struct dynamic {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* of the symbols, or NULL */
    const ElfW(Verneed) * needs;
    uint64_t needs_count;
    const ElfW(Rela) * tables[2];
    uint64_t counts[2];
    uint64_t relro_start, relro_end; /* pages that are read-only once relocated */
    struct agent_mapping mapping;    /* around the entry looked at last         */
};

/* glibc has relocated the addresses in it, but for the vdso's. */
static bool read_dynamic(const struct link_map *map, struct dynamic *out)
{
    uint64_t table_bytes = 0, procedure_bytes = 0;
    *out = (struct dynamic){.bias = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        uint64_t value = entry->d_un.d_val;
        switch (entry->d_tag) {
        case DT_SYMTAB: out->symbols = (const void *)value; break;
        case DT_STRTAB: out->strings = (const void *)value; break;
        case DT_VERSYM: out->versions = (const void *)value; break;
        case DT_VERNEED:
            out->needs =
                (const void *)(map->l_addr + value); /* the one that glibc leaves as it is */
            break;
        case DT_VERNEEDNUM: out->needs_count = value; break;
        case DT_RELA: out->tables[0] = (const void *)value; break;
        case DT_RELASZ: table_bytes = value; break;
        case DT_JMPREL: out->tables[1] = (const void *)value; break;
        case DT_PLTRELSZ: procedure_bytes = value; break;
        default: break;
        }
    }
    out->counts[0] = out->tables[0] ? table_bytes / sizeof(ElfW(Rela)) : 0;
    out->counts[1] = out->tables[1] ? procedure_bytes / sizeof(ElfW(Rela)) : 0;
    return out->symbols && out->strings && (uint64_t)out->symbols > map->l_addr;
}

static void find_relro(const struct agent_module *module, struct dynamic *dynamic)
{
    ElfW(Phdr) segment;
    for (uint32_t i = 0; modules_segment(module, i, &segment); i++) {
        if (segment.p_type != PT_GNU_RELRO)
            continue;
        dynamic->relro_start = (module->bias + segment.p_vaddr) & -PAGE;
        dynamic->relro_end = (module->bias + segment.p_vaddr + segment.p_memsz) & -PAGE;
    }
}

/* The version that the module wants of a symbol, or NULL. */
static const char *version_of(const struct dynamic *dynamic, uint32_t symbol)
{
    if (!dynamic->versions || !dynamic->needs)
        return NULL;
    unsigned wanted = dynamic->versions[symbol] & 0x7fff;
    const ElfW(Verneed) *need = dynamic->needs;
    for (uint64_t i = 0; i < dynamic->needs_count; i++) {
        const ElfW(Vernaux) *version = (const void *)((const char *)need + need->vn_aux);
        for (unsigned j = 0; j < need->vn_cnt; j++) {
            if (version->vna_other == wanted)
                return dynamic->strings + version->vna_name;
            version = (const void *)((const char *)version + version->vna_next);
        }
        need = (const void *)((const char *)need + need->vn_next);
    }
    return NULL;
}

/* ---- entries ------------------------------------------------------------------- */

static const void *look_up(void *where, const char *name, const char *version)
{
    return version ? dlvsym(where, name, version) : dlsym(where, name);
}

/*
 * A program at fixed addresses that takes a library function's address has an entry of its
 * procedure linkage table stand for it: that is what a look-up by name finds. It leads through the
 * very word that is to be changed, so the function itself is wanted, which comes after the program.
 */
static bool stands_for_another(const void *target)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    return dladdr1(target, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           symbol->st_shndx == SHN_UNDEF;
}

/* What the entry leads to, bound now if it would be only at its first use. 0: nothing. */
static uint64_t resolve(const struct agent_module *module, const struct dynamic *dynamic,
                        uint32_t symbol, const char *name, uint64_t bound)
{
    if (bound && (bound < module->start || bound >= module->end))
        return bound;
    const char *version = version_of(dynamic, symbol);
    const void *target = look_up(RTLD_DEFAULT, name, version);
    if (target && stands_for_another(target))
        target = look_up(RTLD_NEXT, name, version);
    return target && !stands_for_another(target) ? (uint64_t)target : 0;
}

static bool is_stub(uint64_t address)
{
    return address >= hook_stub(0) && address < hook_stub(SPANS_FUNCTIONS);
}

/*
 * Writes only what the kernel says can be written, or what ld.so has made read-only and may be made
 * writable for the moment. What the file says of the page proves nothing: the program may have
 * changed it since. Else calls by this entry are not timed.
 */
static void lead(struct dynamic *dynamic, uint64_t *word, uint64_t to)
{
    struct agent_mapping *mapping = &dynamic->mapping;
    uint64_t address = (uint64_t)word, page = address & -PAGE;
    if ((address < mapping->start || address >= mapping->end) && !memory_mapping(address, mapping))
        return;
    bool sealed = !(mapping->protection & PROT_WRITE);
    if (mapping->shared || !(mapping->protection & PROT_READ) ||
        (sealed && (address < dynamic->relro_start || address >= dynamic->relro_end)))
        return;
    if (sealed && os_syscall(__NR_mprotect, page, PAGE, mapping->protection | PROT_WRITE) != 0)
        return;
    __atomic_store_n(word, to, __ATOMIC_RELEASE);
    if (sealed)
        os_syscall(__NR_mprotect, page, PAGE, mapping->protection);
}

static void hook_entry(const struct spans_region *region, const struct agent_module *module,
                       struct dynamic *dynamic, const ElfW(Rela) * entry)
{
    unsigned type = ELF64_R_TYPE(entry->r_info);
    uint32_t symbol = (uint32_t)ELF64_R_SYM(entry->r_info);
    if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !symbol)
        return;
    if (dynamic->symbols[symbol].st_shndx != SHN_UNDEF)
        return; /* the module's own */
    const char *name = dynamic->strings + dynamic->symbols[symbol].st_name;
    uint32_t k = number_of(region, name);
    uint64_t *word = (uint64_t *)(dynamic->bias + entry->r_offset);
    uint64_t bound = k ? __atomic_load_n(word, __ATOMIC_RELAXED) : 0;
    if (!k || is_stub(bound) || (uint64_t)word % 8)
        return;
    uint64_t target = resolve(module, dynamic, symbol, name, bound);
    uint64_t known = hook_target(k);
    if (!target || is_stub(target) || (known && known != target))
        return; /* two implementations of that name: the first one is timed */
    hook_set_target(k, target);
    lead(dynamic, word, hook_stub(k));
}

/* libc and its kind: what they call among themselves is not timed. */
static bool left_alone(const struct agent_module *module)
{
    static const char *const names_of[] = {"/libc.so.6",  "/libc-2.", "/ld-linux", "/libgcc_s.so",
                                           "/libpthread", "/libdl.",  "/libZydis", "/libZycore"};
    if (module->path[0] != '/' ||
        (module->start <= agent.image_start && agent.image_start < module->end))
        return true;
    for (size_t i = 0; i < BASE_COUNT(names_of); i++)
        if (strstr(module->path, names_of[i]))
            return true;
    return false;
}

/*
 * Another thread may be at another module. It calls the loader, whose lock this thread holds if it
 * is in a constructor; then neither could go on, so that this module's imports are not timed.
 */
static bool become_busy(void)
{
    struct {
        int64_t seconds, nanoseconds;
    } pause = {0, 1000000};
    for (int ms = 0; ms < BUSY_MS; ms++) {
        if (!atomic_exchange(&busy, true))
            return true;
        os_syscall(__NR_nanosleep, &pause, NULL);
    }
    return false;
}

void imports_hook(const struct spans_region *region, const struct agent_module *module)
{
    struct dynamic dynamic;
    if (left_alone(module) || !become_busy())
        return;
    learn_names(region);
    if (read_dynamic(module->link_map, &dynamic)) {
        find_relro(module, &dynamic);
        for (int table = 0; table < 2; table++)
            for (uint64_t i = 0; i < dynamic.counts[table]; i++)
                hook_entry(region, module, &dynamic, &dynamic.tables[table][i]);
    }
    atomic_store(&busy, false);
}

void imports_after_fork(void)
{
    atomic_store(&busy, false);
}
