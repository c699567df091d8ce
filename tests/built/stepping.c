// SPDX-License-Identifier: MIT
#include "stepping.h"
#include "isa/isa.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct user_regs_struct stepping_registers;

static struct stepping_range *ranges;
static size_t ranges_count;
static pid_t child;
static int status, memory = -1; /* the child's memory, writable wherever it is */

/* The span of all ranges: as it is, with breakpoints at the stops, with watched code all
 * breakpoints. */
enum { BREAKPOINT = 0xcc };
enum walls { PLAIN, STOPS, WALL };
static uint64_t span_start, span_bytes;
static uint8_t *span[3];
static bool *transfers; /* by address: stop and are done one at a time */
static enum walls standing;

void stepping_fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    stepping_kill();
    exit(1);
}

void *stepping_must(void *allocated)
{
    if (!allocated)
        stepping_fail("no memory");
    return allocated;
}

/* ---- the program's file ---------------------------------------------------------------------- */

void stepping_read(struct stepping_image *image, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        stepping_fail("cannot read the program");
    fseek(file, 0, SEEK_END);
    size_t bytes = (size_t)ftell(file);
    image->data = stepping_must(malloc(bytes));
    rewind(file);
    if (fread(image->data, 1, bytes, file) != bytes)
        stepping_fail("cannot read the program");
    fclose(file);
    image->header = (const void *)image->data;
    image->sections = (const void *)(image->data + image->header->e_shoff);
    image->bias = image->header->e_type == ET_DYN ? 0x555555554000 : 0;
}

const Elf64_Shdr *stepping_section(const struct stepping_image *image, const char *name)
{
    const char *names = image->data + image->sections[image->header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < image->header->e_shnum; i++)
        if (!strcmp(names + image->sections[i].sh_name, name))
            return &image->sections[i];
    return NULL;
}

static void add_range(const struct stepping_image *image, const Elf64_Sym *symbol, bool entered)
{
    uint64_t start = image->bias + symbol->st_value;
    ranges = stepping_must(realloc(ranges, (ranges_count + 1) * sizeof *ranges));
    ranges[ranges_count++] = (struct stepping_range){start, start + symbol->st_size, entered};
}

void stepping_watch(const struct stepping_image *image, uint64_t entry)
{
    const Elf64_Shdr *table = stepping_section(image, ".symtab"),
                     *text = stepping_section(image, ".strtab");
    if (!table || !text)
        stepping_fail("the program has no symbols");
    const Elf64_Sym *symbols = (const void *)(image->data + table->sh_offset), *function = NULL;
    size_t count = table->sh_size / sizeof *symbols;
    const char *names = image->data + text->sh_offset;
    for (size_t i = 0; i < count && !function; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_value == entry)
            function = &symbols[i];
    if (!function)
        stepping_fail("a function of the map has no symbol");
    add_range(image, function, true);
    const char *name = names + function->st_name;
    for (size_t i = 0; i < count; i++) {
        const char *other = names + symbols[i].st_name;
        if (!strncmp(other, name, strlen(name)) && !strcmp(other + strlen(name), ".cold"))
            add_range(image, &symbols[i], false);
    }
}

const struct stepping_range *stepping_range_of(uint64_t ip)
{
    for (size_t i = 0; i < ranges_count; i++)
        if (ip - ranges[i].start < ranges[i].end - ranges[i].start)
            return &ranges[i];
    return NULL;
}

/* ---- breakpoints ----------------------------------------------------------------------------- */

void stepping_peek(uint64_t address, void *to, size_t bytes)
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

static void write_memory(uint64_t address, const void *from, size_t bytes)
{
    if (pwrite(memory, from, bytes, (off_t)address) != (ssize_t)bytes)
        stepping_fail("cannot write the program's memory");
}

static void put_up(enum walls wall)
{
    if (standing != wall)
        write_memory(span_start, span[wall], span_bytes);
    standing = wall;
}

void stepping_stop_at(uint64_t address)
{
    if (!stepping_range_of(address))
        stepping_fail("a stop lies outside the code that is watched");
    span[STOPS][address - span_start] = BREAKPOINT;
}

bool stepping_stops(uint64_t address)
{
    return span[STOPS][address - span_start] != span[PLAIN][address - span_start];
}

const uint8_t *stepping_code(uint64_t address, size_t *bytes)
{
    const struct stepping_range *range = stepping_range_of(address);
    *bytes = range ? range->end - address : 0;
    return range ? span[PLAIN] + (address - span_start) : NULL;
}

static void decode(uint64_t address, struct isa_insn *insn)
{
    size_t bytes;
    const uint8_t *code = stepping_code(address, &bytes);
    if (!code || isa_decode(code, bytes, address, insn) != BASE_OK)
        stepping_fail("an instruction is not known");
}

static void stop_at_transfers(const struct stepping_range *range, bool repeated)
{
    struct isa_insn insn;
    for (uint64_t at = range->start; at < range->end; at += insn.length) {
        decode(at, &insn);
        bool transfers_control = insn.flow == ISA_JUMP || insn.flow == ISA_BRANCH ||
                                 insn.flow == ISA_CALL || insn.flow == ISA_RETURN;
        if (transfers_control || (repeated && insn.repeated)) {
            transfers[at - span_start] = true;
            stepping_stop_at(at);
        }
    }
}

static void prepare_span(bool repeated)
{
    uint64_t end = 0;
    span_start = UINT64_MAX;
    for (size_t i = 0; i < ranges_count; i++) {
        span_start = ranges[i].start < span_start ? ranges[i].start : span_start;
        end = ranges[i].end > end ? ranges[i].end : end;
    }
    if (!ranges_count)
        stepping_fail("there is nothing to watch");
    span_bytes = end - span_start;
    transfers = stepping_must(calloc(span_bytes, sizeof *transfers));
    for (enum walls wall = PLAIN; wall <= WALL; wall++)
        span[wall] = stepping_must(malloc(span_bytes));
    if (pread(memory, span[PLAIN], span_bytes, (off_t)span_start) != (ssize_t)span_bytes)
        stepping_fail("cannot read the program's memory");
    memcpy(span[STOPS], span[PLAIN], span_bytes);
    memcpy(span[WALL], span[PLAIN], span_bytes);
    for (size_t i = 0; i < ranges_count; i++) {
        stop_at_transfers(&ranges[i], repeated);
        memset(span[WALL] + (ranges[i].start - span_start), BREAKPOINT,
               ranges[i].end - ranges[i].start);
    }
}

/* ---- execution ------------------------------------------------------------------------------- */

/* Goes on, with the signal that the last stop was for, to the next stop of any kind. */
static bool resume(enum __ptrace_request how)
{
    int number = WSTOPSIG(status);
    if (ptrace(PTRACE_SETREGS, child, 0, &stepping_registers) != 0 ||
        ptrace(how, child, 0, number == SIGTRAP ? 0 : number) != 0 ||
        waitpid(child, &status, 0) != child)
        stepping_fail("cannot go on");
    if (!WIFSTOPPED(status))
        return false;
    if (ptrace(PTRACE_GETREGS, child, 0, &stepping_registers) != 0)
        stepping_fail("cannot read registers");
    return true;
}

/* To the next breakpoint; signals on the way are the program's own affair. */
static bool run(void)
{
    do
        if (!resume(PTRACE_CONT))
            return false;
    while (WSTOPSIG(status) != SIGTRAP);
    stepping_registers.rip--;
    return true;
}

/* Instructions do their work as in the program as it is: a breakpoint is away while it is left. */
static bool leave(bool by_one)
{
    uint64_t at = stepping_registers.rip - span_start;
    bool stops = span[STOPS][at] != span[PLAIN][at];
    put_up(STOPS);
    if (stops)
        write_memory(stepping_registers.rip, &span[PLAIN][at], 1);
    bool goes_on = by_one ? resume(PTRACE_SINGLESTEP) : run();
    if (stops && goes_on)
        write_memory(span_start + at, &span[STOPS][at], 1);
    return goes_on;
}

static bool holds(unsigned condition)
{
    bool carry = stepping_registers.eflags & 1, parity = stepping_registers.eflags >> 2 & 1,
         zero = stepping_registers.eflags >> 6 & 1, sign = stepping_registers.eflags >> 7 & 1,
         overflow = stepping_registers.eflags >> 11 & 1;
    const bool pairs[8] = {overflow,
                           carry,
                           zero,
                           carry || zero,
                           sign,
                           parity,
                           sign != overflow,
                           zero || sign != overflow};
    return pairs[condition >> 1 & 7] != (condition & 1);
}

static void call(const struct isa_insn *insn)
{
    uint64_t back = insn->address + insn->length;
    stepping_registers.rsp -= 8;
    write_memory(stepping_registers.rsp, &back, sizeof back);
    stepping_registers.rip = insn->target;
}

/* Does what a direct jump, a direct call or a return without operand does; false: it is none of
 * these. */
static bool follow(const struct isa_insn *insn)
{
    size_t bytes;
    const uint8_t *code = stepping_code(insn->address, &bytes);
    bool near = code[0] == 0x0f && insn->length == 6;
    if (code[0] == 0xe9 || code[0] == 0xeb)
        stepping_registers.rip = insn->target;
    else if ((code[0] & 0xf0) == 0x70 || (near && (code[1] & 0xf0) == 0x80))
        stepping_registers.rip =
            holds(code[near] & 0xf) ? insn->target : insn->address + insn->length;
    else if (code[0] == 0xe8)
        call(insn);
    else if (code[0] == 0xc3) {
        stepping_peek(stepping_registers.rsp, &stepping_registers.rip, 8);
        stepping_registers.rsp += 8;
    } else
        return false;
    return true;
}

bool stepping_one(void)
{
    struct isa_insn insn;
    if (!stepping_range_of(stepping_registers.rip))
        stepping_fail("other code is not stepped");
    decode(stepping_registers.rip, &insn);
    if (follow(&insn))
        return true;
    if (!leave(true))
        return false;
    if (WSTOPSIG(status) != SIGTRAP)
        stepping_fail("a signal within the code that is watched");
    return true;
}

bool stepping_next(void)
{
    if (!stepping_range_of(stepping_registers.rip)) {
        put_up(WALL);
        return run();
    }
    return transfers[stepping_registers.rip - span_start] ? stepping_one() : leave(false);
}

/* Where the dynamic linker hands over. */
static uint64_t entry_of_child(void)
{
    char path[64];
    Elf64_auxv_t entry = {0};
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)child);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, &entry, sizeof entry) == sizeof entry &&
           entry.a_type != AT_ENTRY)
        ;
    close(file);
    return entry.a_type == AT_ENTRY ? entry.a_un.a_val : 0;
}

static void reach(uint64_t entry)
{
    uint8_t code, breakpoint = BREAKPOINT;
    stepping_peek(entry, &code, 1);
    write_memory(entry, &breakpoint, 1);
    if (!run() || stepping_registers.rip != entry)
        stepping_fail("the program's entry is not reached");
    write_memory(entry, &code, 1);
}

void stepping_start(char **command, bool repeated)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    if (isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                  (const void *)(uintptr_t)&ZydisDecoderDecodeFull) != BASE_OK)
        stepping_fail("no decoder");
    child = fork();
    if (!child) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(command[0], command);
        _exit(127);
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_GETREGS, child, 0, &stepping_registers) != 0 ||
        ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL) != 0 ||
        (memory = open(path, O_RDWR | O_CLOEXEC)) < 0)
        stepping_fail("cannot start the program");
    reach(entry_of_child());
    prepare_span(repeated);
}

int stepping_status(void)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void stepping_kill(void)
{
    if (child > 0)
        kill(child, SIGKILL);
}
