// SPDX-License-Identifier: MIT
/*
 * Preloaded, it puts a breakpoint in place of each nop that `headroom cc --functions` and
 * <headroom.h> have put into the program, and goes on behind the nop when one is met. At its end
 * the program leaves in the file $TRAPPED:
 *
 *     function ENTRY NAME-OF-MODULE COUNT WRONG CALLS
 *     marker KIND KEY COUNT NAME
 *
 * ENTRY is the ELF virtual address. WRONG: how often an unwinder that started at the nop did not
 * find the return address that lies on top of the stack there, or did not come to the stack's end.
 * CALLS: of __cyg_profile_func_enter.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { MOST = 65536, NOP = 5 };

struct site {
    uint8_t *nop;
    uint64_t entry; /* of a function: its address; of a marker 0 */
    uint64_t base;
    const char *module, *name;
    uint32_t kind;
    atomic_uint count, wrong, calls;
};

static struct site sites[MOST];
static size_t sites_count;

/* (name, kind, key): how often. */
static struct {
    const char *name;
    uint32_t kind;
    uint64_t key;
    unsigned count;
} marks[4096];
static size_t marks_count;
static atomic_flag marks_busy = ATOMIC_FLAG_INIT;

/* ---- finding --------------------------------------------------------------------------------- */

static void add(struct site site)
{
    static const uint8_t nop[NOP] = {0x0f, 0x1f, 0x44, 0, 0};
    if (sites_count == MOST || memcmp(site.nop, nop, NOP))
        abort();
    sites[sites_count++] = site;
}

static void add_section(const char *name, uint8_t *start, size_t bytes, uint64_t base,
                        const char *module)
{
    int32_t *word = (int32_t *)start;
    if (!strcmp(name, "headroom_functions"))
        for (size_t i = 0; i < bytes / 4; i += 2)
            add((struct site){.nop = (uint8_t *)&word[i] + word[i],
                              .entry = (uint64_t)&word[i + 1] + (uint64_t)(int64_t)word[i + 1],
                              .base = base,
                              .module = module});
    if (!strcmp(name, "headroom_markers"))
        for (size_t i = 0; i < bytes / 4; i += 4)
            add((struct site){.nop = (uint8_t *)&word[i] + word[i],
                              .name = (char *)&word[i + 1] + word[i + 1],
                              .kind = (uint32_t)word[i + 2]});
}

static int add_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct stat state;
    const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    (void)size;
    (void)unused;
    if (file < 0)
        return 0;
    if (fstat(file, &state) != 0)
        abort();
    const uint8_t *image = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (image == MAP_FAILED)
        abort();
    const Elf64_Ehdr *head = (const void *)image;
    const Elf64_Shdr *section = (const void *)(image + head->e_shoff);
    const char *names = (const char *)image + section[head->e_shstrndx].sh_offset;
    const char *base_name = strrchr(path, '/') + 1;
    for (int i = 0; head->e_shoff && i < head->e_shnum; i++)
        add_section(names + section[i].sh_name, (uint8_t *)info->dlpi_addr + section[i].sh_addr,
                    section[i].sh_size, info->dlpi_addr, base_name);
    return 0; /* the image stays: names are in it */
}

static int compare(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    return (a->nop > b->nop) - (a->nop < b->nop);
}

static struct site *find(const uint8_t *nop)
{
    return bsearch(&(struct site){.nop = (uint8_t *)nop}, sites, sites_count, sizeof *sites,
                   compare);
}

/* ---- meeting --------------------------------------------------------------------------------- */

struct walk {
    uint64_t nop, expected; /* the frame behind that of the nop */
    int seen;               /* 1: the nop, 2: its caller, as expected */
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *state)
{
    struct walk *walk = state;
    uint64_t ip = _Unwind_GetIP(context);
    if (walk->seen == 1)
        walk->seen = ip == walk->expected ? 2 : 3;
    else if (!walk->seen && ip == walk->nop)
        walk->seen = 1;
    return _URC_NO_REASON;
}

static void mark(const struct site *site, uint64_t key)
{
    size_t i = 0;
    if (site->kind != 1)
        key = 0;
    while (atomic_flag_test_and_set(&marks_busy))
        ;
    while (i < marks_count && (strcmp(marks[i].name, site->name) || marks[i].kind != site->kind ||
                               marks[i].key != key))
        i++;
    if (i == marks_count) {
        if (++marks_count > sizeof marks / sizeof *marks)
            abort();
        marks[i].name = site->name;
        marks[i].kind = site->kind;
        marks[i].key = key;
    }
    marks[i].count++;
    atomic_flag_clear(&marks_busy);
}

static void met(int number, siginfo_t *info, void *state)
{
    greg_t *registers = ((ucontext_t *)state)->uc_mcontext.gregs;
    struct site *site = find((uint8_t *)registers[REG_RIP] - 1);
    (void)number;
    (void)info;
    if (!site)
        abort();
    registers[REG_RIP] = (greg_t)(site->nop + NOP);
    if (site->kind) {
        mark(site, (uint64_t)registers[REG_RDI]);
        return;
    }
    atomic_fetch_add(&site->count, 1);
    struct walk walk = {(uint64_t)site->nop, *(uint64_t *)registers[REG_RSP], 0};
    registers[REG_RIP] = (greg_t)site->nop; /* where unwinding starts */
    _Unwind_Reason_Code end = _Unwind_Backtrace(step, &walk);
    registers[REG_RIP] = (greg_t)(site->nop + NOP);
    if (walk.seen != 2 || end != _URC_END_OF_STACK)
        atomic_fetch_add(&site->wrong, 1);
}

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);

void __cyg_profile_func_enter(void *function, void *from)
{
    (void)from;
    for (size_t i = 0; i < sites_count; i++)
        if (sites[i].entry == (uint64_t)function)
            atomic_fetch_add(&sites[i].calls, 1);
}

void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_sigaction = met, .sa_flags = SA_SIGINFO | SA_NODEFER};
    const uintptr_t page = 4096;
    dl_iterate_phdr(add_module, NULL);
    qsort(sites, sites_count, sizeof *sites, compare);
    _Unwind_Backtrace(step, &(struct walk){0}); /* what it loads is loaded now */
    sigaction(SIGTRAP, &action, NULL);
    for (size_t i = 0; i < sites_count; i++) {
        void *start = (void *)((uintptr_t)sites[i].nop & -page);
        if (i && sites[i].nop == sites[i - 1].nop)
            abort();
        if (mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
            mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
            abort();
        *sites[i].nop = 0xcc;
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TRAPPED");
    FILE *out = path ? fopen(path, "we") : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < sites_count; i++)
        if (!sites[i].kind)
            fprintf(out, "function %lx %s %u %u %u\n", sites[i].entry - sites[i].base,
                    sites[i].module, sites[i].count, sites[i].wrong, sites[i].calls);
    for (size_t i = 0; i < marks_count; i++)
        fprintf(out, "marker %u %lu %u %s\n", marks[i].kind, marks[i].key, marks[i].count,
                marks[i].name);
    fclose(out);
}
