// SPDX-License-Identifier: MIT
/*
 * accesses PROGRAM [ARGUMENTS...]: executes a program built by `headroom cc --count` step by step,
 * counts the accesses of its instrumented functions, and compares with the program's own count
 * after every call and return of theirs and at their first instructions. What was inserted is known
 * by what it touches: the count itself, and the place that holds its distance from the thread's
 * control block.
 *
 * Writes "ACCESSES COMPARISONS LARGEST-DEVIATION-ELSEWHERE" to standard error's end; fails at the
 * first difference. One thread.
 */
#include "isa/isa.h"
#include "stepping.h"
#include "wire/built.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct range {
    uint64_t start, end;
    bool entered; /* starts with a function's entry, no split-off part */
};

static struct range *ranges;
static size_t ranges_count;
static uint64_t bias, distance; /* of the count below the control block */
static bool found_count;
static pid_t child;
static uint64_t accesses, comparisons;
static int64_t farthest;

static void fail(const char *what)
{
    fprintf(stderr, "accesses: %s\n", what);
    exit(1);
}

static void *must(void *memory)
{
    if (!memory)
        fail("no memory");
    return memory;
}

/* ---- the program's file ---------------------------------------------------------------------- */

struct image {
    char *data;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
};

static const Elf64_Shdr *section(const struct image *image, const char *name)
{
    const char *names = image->data + image->sections[image->header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < image->header->e_shnum; i++)
        if (!strcmp(names + image->sections[i].sh_name, name))
            return &image->sections[i];
    return NULL;
}

static void add_range(const Elf64_Sym *symbol, bool entered)
{
    ranges = must(realloc(ranges, (ranges_count + 1) * sizeof *ranges));
    ranges[ranges_count++] =
        (struct range){bias + symbol->st_value, bias + symbol->st_value + symbol->st_size, entered};
}

/* A function and its cold parts. */
static void add_function(const struct image *image, uint64_t entry)
{
    const Elf64_Shdr *table = section(image, ".symtab"), *text = section(image, ".strtab");
    const Elf64_Sym *symbols = (const void *)(image->data + table->sh_offset), *function = NULL;
    size_t count = table->sh_size / sizeof *symbols;
    const char *names = image->data + text->sh_offset;
    for (size_t i = 0; i < count && !function; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_value == entry)
            function = &symbols[i];
    if (!function)
        fail("a function of the map has no symbol");
    add_range(function, true);
    const char *name = names + function->st_name;
    for (size_t i = 0; i < count; i++) {
        const char *other = names + symbols[i].st_name;
        if (!strncmp(other, name, strlen(name)) && !strcmp(other + strlen(name), ".cold"))
            add_range(&symbols[i], false);
    }
}

static void read_map(const struct image *image, const Elf64_Shdr *map)
{
    for (size_t at = 0; at + sizeof(struct built_function) <= map->sh_size;) {
        const struct built_function *entry = (const void *)(image->data + map->sh_offset + at);
        if (entry->magic != BUILT_ENTRY_MAGIC)
            fail("the map has no entry where one was expected");
        if (entry->reason <= BUILT_TRUNCATED)
            add_function(image, map->sh_addr + at + offsetof(struct built_function, entry) +
                                    (uint64_t)(int64_t)entry->entry);
        at += 4 * (size_t)entry->words;
    }
}

static void find_distance(const struct image *image)
{
    const Elf64_Shdr *table = section(image, ".symtab"), *text = section(image, ".strtab");
    const Elf64_Sym *symbols = (const void *)(image->data + table->sh_offset);
    const Elf64_Phdr *segments = (const void *)(image->data + image->header->e_phoff);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (segments[i].p_type == PT_TLS)
            bytes = (segments[i].p_memsz + segments[i].p_align - 1) & -segments[i].p_align;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
        if (!strcmp(image->data + text->sh_offset + symbols[i].st_name, "headroom_accesses")) {
            distance = symbols[i].st_value - bytes;
            found_count = true;
        }
}

static void read_program(const char *path)
{
    struct image image;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot read the program");
    fseek(file, 0, SEEK_END);
    size_t bytes = (size_t)ftell(file);
    image.data = must(malloc(bytes));
    rewind(file);
    if (fread(image.data, 1, bytes, file) != bytes)
        fail("cannot read the program");
    fclose(file);
    image.header = (const void *)image.data;
    image.sections = (const void *)(image.data + image.header->e_shoff);
    bias = image.header->e_type == ET_DYN ? 0x555555554000 : 0;
    const Elf64_Shdr *map = section(&image, "headroom_map");
    if (!map)
        fail("the program has no map");
    read_map(&image, map);
    find_distance(&image);
    if (!found_count || !ranges_count)
        fail("the program does not count");
}

/* ---- stepping -------------------------------------------------------------------------------- */

static const struct range *range_of(uint64_t ip)
{
    for (size_t i = 0; i < ranges_count; i++)
        if (ip - ranges[i].start < ranges[i].end - ranges[i].start)
            return &ranges[i];
    return NULL;
}

/* What cannot be read, such as what lies behind the last page of code, is 0. */
static void read_child(uint64_t address, void *to, size_t bytes)
{
    struct iovec here = {to, bytes};
    struct iovec pieces[2] = {{(void *)address, bytes}};
    size_t first = 4096 - address % 4096, count = 1;
    memset(to, 0, bytes);
    if (first < bytes) { /* pages are read wholly or not at all */
        pieces[0].iov_len = first;
        pieces[1] = (struct iovec){(void *)(address + first), bytes - first};
        count = 2;
    }
    (void)!process_vm_readv(child, &here, 1, pieces, count, 0);
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word;
    read_child(address, &word, sizeof word);
    return word;
}

static void to_registers(const struct user_regs_struct *from, struct base_registers *to)
{
    const uint64_t general[] = {from->rax, from->rcx, from->rdx, from->rbx, from->rsp, from->rbp,
                                from->rsi, from->rdi, from->r8,  from->r9,  from->r10, from->r11,
                                from->r12, from->r13, from->r14, from->r15};
    memcpy(to->general, general, sizeof general);
    to->ip = from->rip;
    to->flags = from->eflags;
    to->fs_base = from->fs_base;
    to->gs_base = from->gs_base;
}

/* Was it inserted? Then it accesses the count, or what tells where that is. */
static bool is_inserted(const struct isa_insn *insn, const struct base_registers *registers)
{
    uint64_t address;
    if (insn->access_count != 1 ||
        !isa_effective_address(insn, &insn->accesses[0], registers, &address))
        return false;
    return address - registers->fs_base - distance < BUILT_LANES * sizeof(int64_t) ||
           (insn->accesses[0].direction == ISA_LOAD && insn->accesses[0].bytes == 8 &&
            word_at(address) == distance);
}

static enum isa_flow count(const struct base_registers *registers)
{
    uint64_t code[2];
    read_child(registers->ip, code, sizeof code);
    struct isa_insn insn;
    if (isa_decode((const uint8_t *)code, sizeof code, registers->ip, &insn) != BASE_OK)
        fail("an instruction is not known");
    if (insn.access_count && !is_inserted(&insn, registers) &&
        !(insn.repeated && registers->general[BASE_RCX] == 0))
        for (unsigned i = 0; i < insn.access_count; i++)
            accesses += (uint64_t)__builtin_popcount(insn.accesses[i].direction);
    return insn.flow;
}

static int64_t deviation(const struct base_registers *registers)
{
    uint64_t words[BUILT_LANES + 1]; /* left, before */
    read_child(registers->fs_base + distance, words, sizeof words);
    int64_t sum = -(int64_t)accesses;
    for (size_t i = 0; i < BASE_COUNT(words); i++)
        sum += (int64_t)words[i];
    return sum;
}

static void compare(const struct base_registers *registers, uint64_t from)
{
    int64_t off = deviation(registers);
    comparisons++;
    if (!off)
        return;
    fprintf(stderr, "accesses: at %llx, from %llx: the count is off by %lld of %llu\n",
            (unsigned long long)(registers->ip - bias), (unsigned long long)(from - bias),
            (long long)off, (unsigned long long)accesses);
    kill(child, 9);
    exit(1);
}

static void step(struct base_registers *registers, uint64_t *from, enum isa_flow *flow)
{
    const struct range *range = range_of(registers->ip);
    if (*from && (*flow == ISA_CALL || *flow == ISA_RETURN ||
                  (range && range->entered && range->start == registers->ip)))
        compare(registers, *from);
    *from = range ? registers->ip : 0;
    if (!range)
        return;
    int64_t off = llabs(deviation(registers));
    farthest = off > farthest ? off : farthest;
    *flow = count(registers);
}

static int run(void)
{
    int status = W_STOPCODE(SIGTRAP);
    uint64_t from = 0;
    enum isa_flow flow = ISA_NEXT;
    struct base_registers registers = {0};
    do {
        struct user_regs_struct now;
        if (ptrace(PTRACE_GETREGS, child, 0, &now) != 0)
            fail("cannot read registers");
        to_registers(&now, &registers);
        step(&registers, &from, &flow);
    } while (stepping_next(child, &status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc < 2 || isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                              (const void *)(uintptr_t)&ZydisDecoderDecodeFull) != BASE_OK)
        fail("usage: accesses PROGRAM [ARGUMENTS...]");
    read_program(argv[1]);
    child = stepping_start(argv + 1);
    if (child < 0)
        fail("cannot start the program");
    int code = run();
    fprintf(stderr, "%llu %llu %lld\n", (unsigned long long)accesses,
            (unsigned long long)comparisons, (long long)farthest);
    return code;
}
