// SPDX-License-Identifier: MIT
/*
 * accesses PROGRAM [ARGUMENTS...]: executes a program built by `headroom cc --count` under watch,
 * counts the accesses of its instrumented functions, and compares with the program's own count
 * after every call and return of theirs and at their first instructions. What was inserted is known
 * by what it touches: the count itself, and the place that holds its distance from the thread's
 * control block. An instruction always is, or never: it is looked at when it is first executed, in
 * a step of its own; straight code whose instructions are all known is executed as a whole.
 *
 * Writes "ACCESSES COMPARISONS LARGEST-DEVIATION-WHERE-IT-STOPS" to standard error's end; fails at
 * the first difference. One thread.
 */
#include "isa/isa.h"
#include "stepping.h"
#include "wire/instrumented.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bias, distance; /* of the count below the control block */
static bool found_count;
static uint64_t accesses, comparisons;
static int64_t farthest;

static void read_map(const struct stepping_image *image, const Elf64_Shdr *map)
{
    for (size_t at = 0; at + sizeof(struct instrumented_function) <= map->sh_size;) {
        const struct instrumented_function *entry =
            (const void *)(image->data + map->sh_offset + at);
        if (entry->magic != INSTRUMENTED_ENTRY_MAGIC)
            stepping_fail("the map has no entry where one was expected");
        if (entry->reason <= INSTRUMENTED_TRUNCATED)
            stepping_watch(image, map->sh_addr + at +
                                      offsetof(struct instrumented_function, entry) +
                                      (uint64_t)(int64_t)entry->entry);
        at += 4 * (size_t)entry->words;
    }
}

static void find_distance(const struct stepping_image *image)
{
    const Elf64_Shdr *table = stepping_section(image, ".symtab"),
                     *text = stepping_section(image, ".strtab");
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
    struct stepping_image image;
    stepping_read(&image, path);
    const Elf64_Shdr *map = stepping_section(&image, "headroom_map");
    if (!map)
        stepping_fail("the program has no map");
    read_map(&image, map);
    find_distance(&image);
    if (!found_count)
        stepping_fail("the program does not count");
    bias = image.bias;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Of the instruction at an address; length 0: not looked at yet. */
struct known {
    uint8_t length, accesses;
};
static struct known known[1 << 23]; /* programs that are not position-independent begin at 4 MB */

static struct known *known_at(uint64_t ip)
{
    if (ip - bias >= BASE_COUNT(known))
        stepping_fail("the program is too large");
    return &known[ip - bias];
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word;
    stepping_peek(address, &word, sizeof word);
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

/* Was it inserted? Then it accesses the count, or what points to it. */
static bool is_inserted(const struct isa_insn *insn, const struct base_registers *registers)
{
    uint64_t address;
    if (insn->access_count != 1 ||
        !isa_effective_address(insn, &insn->accesses[0], registers, &address))
        return false;
    return address - registers->fs_base - distance < INSTRUMENTED_LANES * sizeof(int64_t) ||
           (insn->accesses[0].direction == ISA_LOAD && insn->accesses[0].bytes == 8 &&
            word_at(address) == distance);
}

static void decode(uint64_t ip, struct isa_insn *insn)
{
    size_t bytes;
    const uint8_t *code = stepping_code(ip, &bytes);
    if (!code || isa_decode(code, bytes, ip, insn) != BASE_OK)
        stepping_fail("an instruction is not known");
}

static enum isa_flow count(const struct base_registers *registers)
{
    struct isa_insn insn;
    unsigned all = 0;
    decode(registers->ip, &insn);
    if (insn.access_count && !is_inserted(&insn, registers))
        for (unsigned i = 0; i < insn.access_count; i++)
            all += (unsigned)__builtin_popcount(insn.accesses[i].direction);
    *known_at(registers->ip) = (struct known){insn.length, (uint8_t)all};
    if (!(insn.repeated && registers->general[BASE_RCX] == 0))
        accesses += all;
    return insn.flow;
}

/* The accesses from here to where it stops next; false: one of the instructions is not known yet.
 */
static bool count_straight(uint64_t ip)
{
    uint64_t all = 0;
    for (; !stepping_stops(ip); ip += known_at(ip)->length) {
        if (!known_at(ip)->length)
            return false;
        all += known_at(ip)->accesses;
    }
    accesses += all;
    return true;
}

static int64_t deviation(const struct base_registers *registers)
{
    uint64_t words[INSTRUMENTED_LANES + 1]; /* left, before */
    stepping_peek(registers->fs_base + distance, words, sizeof words);
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
    stepping_kill();
    exit(1);
}

static void look(const struct base_registers *registers, const struct stepping_range *range,
                 uint64_t from, enum isa_flow flow)
{
    if (from && (flow == ISA_CALL || flow == ISA_RETURN ||
                 (range && range->entered && range->start == registers->ip)))
        compare(registers, from);
    if (!range)
        return;
    int64_t off = llabs(deviation(registers));
    farthest = off > farthest ? off : farthest;
}

static int run(void)
{
    uint64_t from = 0;
    enum isa_flow flow = ISA_NEXT;
    bool goes_on = true;
    while (goes_on) {
        struct base_registers registers;
        to_registers(&stepping_registers, &registers);
        const struct stepping_range *range = stepping_range_of(registers.ip);
        look(&registers, range, from, flow);
        from = range ? registers.ip : 0;
        flow = ISA_NEXT;
        if (!range || (!stepping_stops(registers.ip) && count_straight(registers.ip))) {
            goes_on = stepping_next();
        } else {
            flow = count(&registers);
            goes_on = stepping_one();
        }
    }
    return stepping_status();
}

int main(int argc, char **argv)
{
    if (argc < 2)
        stepping_fail("usage: accesses PROGRAM [ARGUMENTS...]");
    read_program(argv[1]);
    stepping_start(argv + 1, true);
    int code = run();
    fprintf(stderr, "%llu %llu %lld\n", (unsigned long long)accesses,
            (unsigned long long)comparisons, (long long)farthest);
    return code;
}
