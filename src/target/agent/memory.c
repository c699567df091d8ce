// SPDX-License-Identifier: MIT
/*
 * Reading the program's memory from handlers without ever faulting, as cheaply
 * as that allows: a read by system call costs 0.6 us and a sample needs dozens,
 * mostly of code.
 *
 * Also remembers instruction boundaries: finding the instruction before a
 * trap means decoding forward from one, and large functions (interpreters'
 * main loops) have their start 20 KiB away.
 */
#include "agent/agent.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { BLOCK_SHIFT = 8 };
static const uint32_t stack_unread = UINT32_MAX;

static long read_by_system_call(uint64_t address, void *out, size_t bytes)
{
    struct iovec local = {out, bytes}, remote = {(void *)address, bytes};
    return os_syscall(__NR_process_vm_readv, agent.pid, &local, 1, &remote, 1, 0);
}

/*
 * Half of what a sample reads is on the stack, and nothing of the thread's own changes there while its handler runs: read at once.
 * The kernel reads up to where memory ends, if it does.
 */
static bool is_on_stack(struct agent_memory *memory, uint64_t address, size_t bytes)
{
    uint64_t offset = address - memory->stack_start;
    if (!memory->stack_start || offset >= MEMORY_STACK_BYTES || bytes > MEMORY_STACK_BYTES - offset)
        return false;
    if (memory->stack_read == stack_unread) {
        long done = read_by_system_call(memory->stack_start, memory->stack, MEMORY_STACK_BYTES);
        memory->stack_read = done > 0 ? (uint32_t)done : 0;
    }
    return offset < memory->stack_read;
}

static bool read_stack(const struct agent_memory *memory, uint64_t address, void *out, size_t bytes)
{
    uint64_t offset = address - memory->stack_start;
    if (bytes > memory->stack_read - offset)
        return false;
    memcpy(out, memory->stack + offset, bytes);
    return true;
}

static bool read_memory(void *context, uint64_t address, void *out, size_t bytes)
{
    struct agent_memory *memory = context;
    if (address >= memory->text_start && address <= memory->text_end &&
        bytes <= memory->text_end - address) {
        memcpy(out, (const void *)address, bytes);
        return true;
    }
    if (is_on_stack(memory, address, bytes))
        return read_stack(memory, address, out, bytes);
    return read_by_system_call(address, out, bytes) == (long)bytes;
}

void memory_init(struct agent_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    memory->base = (struct base_memory){.read = read_memory, .context = memory};
}

void memory_enter(struct agent_memory *memory, uint64_t ip, uint64_t sp)
{
    memory->stack_start = sp ? sp - MEMORY_RED_ZONE : 0;
    memory->stack_read = stack_unread;
    uint32_t unloads = modules_unloads();
    if (memory->unloads == unloads && ip >= memory->text_start && ip < memory->text_end)
        return;
    memory->unloads = unloads;
    const struct agent_module *module = ip ? modules_find_text(ip) : NULL;
    memory->text_start = module ? module->text_start : 0;
    memory->text_end = module ? module->text_end : 0;
}

void memory_note_boundary(struct agent_memory *memory, uint64_t address)
{
    uint64_t *known = &memory->boundaries[(address >> BLOCK_SHIFT) % MEMORY_BOUNDARIES];
    if (*known >> BLOCK_SHIFT != address >> BLOCK_SHIFT || address < *known)
        *known = address;
}

uint64_t memory_boundary(const struct agent_memory *memory, uint64_t start, uint64_t ip)
{
    for (uint64_t back = 0; back < 2; back++) {
        uint64_t block = (ip >> BLOCK_SHIFT) - back;
        uint64_t known = memory->boundaries[block % MEMORY_BOUNDARIES];
        /* Strictly before: at a function's first byte the explanation is a call. */
        if (known >> BLOCK_SHIFT == block && known < ip && known > start)
            return known;
    }
    return start;
}

/* ---- mappings ------------------------------------------------------------------------------ */

/* The hexadecimal number at *text, which is left behind the character that follows it. */
static uint64_t parse_hexadecimal(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    *text += **text != 0;
    return value;
}

static uint64_t parse_decimal(const char *text)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

/* START-END rwxp OFFSET MAJOR:MINOR INODE ... */
static void parse_mapping(const char *line, struct agent_mapping *mapping)
{
    mapping->start = parse_hexadecimal(&line);
    mapping->end = parse_hexadecimal(&line);
    mapping->protection = 0;
    mapping->shared = false;
    for (; *line && *line != ' '; line++) {
        mapping->protection |= *line == 'r'   ? PROT_READ
                               : *line == 'w' ? PROT_WRITE
                               : *line == 'x' ? PROT_EXEC
                                              : 0;
        mapping->shared |= *line == 's';
    }
    line += *line == ' ';
    mapping->offset = parse_hexadecimal(&line);
    mapping->device = parse_hexadecimal(&line) << 32;
    mapping->device |= parse_hexadecimal(&line);
    mapping->inode = parse_decimal(line);
}

/* The whole line that *line points to, NUL-terminated, *line led to the next one; false: none. */
static bool next_line(char **line, const char **whole)
{
    char *end = strchr(*line, '\n');
    if (!end)
        return false;
    *end = 0;
    *whole = *line;
    *line = end + 1;
    return true;
}

static bool is_mapping(const char *line, uint64_t address, struct agent_mapping *mapping)
{
    struct agent_mapping read;
    parse_mapping(line, &read);
    if (address < read.start || address >= read.end)
        return false;
    *mapping = read;
    return true;
}

bool memory_mapping(uint64_t address, struct agent_mapping *mapping)
{
    char text[2048];
    size_t kept = 0;
    bool found = false, cut = false; /* cut: the line began before the buffer, with a long path */
    long got, file = os_syscall(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    while (!found && (got = os_syscall(__NR_read, file, text + kept, sizeof text - 1 - kept)) > 0) {
        char *rest = text;
        const char *line;
        text[kept + (size_t)got] = 0;
        while (!found && next_line(&rest, &line)) {
            found = !cut && is_mapping(line, address, mapping);
            cut = false;
        }
        kept = strlen(rest);
        memmove(text, rest, kept + 1);
        if (!found && kept == sizeof text - 1) {
            found = !cut && is_mapping(text, address, mapping); /* all but the path is there */
            cut = true;
            kept = 0;
        }
    }
    os_syscall(__NR_close, file);
    return found;
}
