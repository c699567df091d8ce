// SPDX-License-Identifier: MIT
/*
 * Walking a stack by compiled tables. Built for handlers that walk hundreds of
 * frames of optimised code: one memory read serves 4 KiB of stack, one binary
 * search a frame. Signal-safe; all state is on the caller's stack.
 *
 * Limits: rules that need more than callee-saved registers after the leaf are
 * not followed (no compiler emits them); a coroutine that switched stacks
 * below the current one ends the walk.
 */
#include "unwind/unwind.h"

#include <string.h>

enum {
    CACHE_BYTES = 4096,
    BELOW_CFA = 64, /* the return address and six saved registers lie within */
    RED_ZONE = 128,
    SIGNAL_FRAMES = 32,
    GREATEST_GUESS = 1 << 20, /* bytes from sp to a believable frame pointer */
    GREGS_OFFSET = 40,        /* of ucontext_t.uc_mcontext.gregs, kernel ABI */
};

/* Order of ucontext's gregs[], which starts with r8; RIP and EFL follow. */
static const uint8_t gregs_order[BASE_GENERAL_REGISTERS] = {
    BASE_R8,  BASE_R9,  BASE_R10, BASE_R11, BASE_R12, BASE_R13, BASE_R14, BASE_R15,
    BASE_RDI, BASE_RSI, BASE_RBP, BASE_RBX, BASE_RDX, BASE_RAX, BASE_RCX, BASE_RSP};
enum { GREGS_READ = BASE_GENERAL_REGISTERS + 1 };

static const uint8_t saved_register[UNWIND_SAVED] = {BASE_RBX, BASE_RBP, BASE_R12,
                                                     BASE_R13, BASE_R14, BASE_R15};

struct walker {
    uint64_t general[BASE_GENERAL_REGISTERS];
    uint64_t ip;
    uint32_t known; /* bit n: general[n] is this frame's value                 */
    bool exact;     /* ip is an instruction's own address, not a return address */
    bool guessed;
    unsigned signal_frames;
    const struct base_memory *memory;
    unwind_find_module *find;
    void *find_context;
    uint64_t cache_start;
    size_t cache_bytes;
    unsigned char cache[CACHE_BYTES];
};

enum step { STEP_CALLER, STEP_OUTERMOST, STEP_FAILED, STEP_NO_RULE };

static bool is_known(const struct walker *walker, unsigned number)
{
    return walker->known >> number & 1;
}

/* A block from `start` on; where unmapped memory cuts it, only to the end of its page. */
static bool fill_cache(struct walker *walker, uint64_t start, size_t needed)
{
    size_t to_page_end = 4096 - start % 4096;
    walker->cache_bytes = 0;
    if (base_read(walker->memory, start, walker->cache, CACHE_BYTES))
        walker->cache_bytes = CACHE_BYTES;
    else if (to_page_end >= needed && base_read(walker->memory, start, walker->cache, to_page_end))
        walker->cache_bytes = to_page_end;
    walker->cache_start = start;
    return walker->cache_bytes > 0;
}

static bool is_cached(const struct walker *walker, uint64_t address, size_t bytes)
{
    return address >= walker->cache_start && address - walker->cache_start <= walker->cache_bytes &&
           walker->cache_bytes - (address - walker->cache_start) >= bytes;
}

/*
 * The walk goes upwards, and what a frame saves lies just below its CFA: begin
 * the block there, or at sp when that is near enough to get both.
 */
static bool read_stack(struct walker *walker, uint64_t address, void *out, size_t bytes)
{
    if (!is_cached(walker, address, bytes)) {
        uint64_t sp = walker->general[BASE_RSP];
        uint64_t start = address - BELOW_CFA;
        if (address >= sp && address - sp < CACHE_BYTES - bytes)
            start = sp;
        if (!fill_cache(walker, start, bytes) || !is_cached(walker, address, bytes)) {
            walker->cache_bytes = 0;
            return base_read(walker->memory, address, out, bytes);
        }
    }
    memcpy(out, walker->cache + (address - walker->cache_start), bytes);
    return true;
}

static bool read_word(struct walker *walker, uint64_t address, uint64_t *word)
{
    return read_stack(walker, address, word, sizeof *word);
}

/* Registers of the interrupted code, from the kernel's frame on the stack. */
static enum step step_signal(struct walker *walker, uint64_t gregs)
{
    uint64_t words[GREGS_READ];
    if (++walker->signal_frames > SIGNAL_FRAMES || !read_stack(walker, gregs, words, sizeof words))
        return STEP_FAILED;
    for (int i = 0; i < BASE_GENERAL_REGISTERS; i++)
        walker->general[gregs_order[i]] = words[i];
    walker->ip = words[BASE_GENERAL_REGISTERS];
    walker->known = (1U << BASE_GENERAL_REGISTERS) - 1;
    walker->exact = true;
    return STEP_CALLER;
}

static bool frame_address(struct walker *walker, const struct unwind_row *row, uint64_t *cfa)
{
    if (row->cfa == UNWIND_CFA_PLT) {
        uint64_t pushed = (int64_t)(walker->ip & 15) >= row->cfa_addend ? 8 : 0;
        *cfa = walker->general[BASE_RSP] + (int64_t)row->cfa_offset + pushed;
        return true;
    }
    unsigned number = row->cfa_register & 15;
    if (!is_known(walker, number))
        return false;
    uint64_t address = walker->general[number] + (int64_t)row->cfa_offset;
    if (row->cfa == UNWIND_CFA_REGISTER) {
        *cfa = address;
        return true;
    }
    if (!read_word(walker, address, cfa))
        return false;
    *cfa += (uint64_t)(int64_t)row->cfa_addend;
    return true;
}

/*
 * GCC describes the epilogue of a realigned frame as if rbp still pointed into
 * it after `pop %rbp` (as of GCC 12). Then the slot seems to lie outside the
 * frame, and the register is the caller's already.
 */
static bool is_in_frame(const struct walker *walker, uint64_t slot, uint64_t cfa)
{
    return slot >= walker->general[BASE_RSP] - RED_ZONE && slot < cfa - 8;
}

static bool find_slot(const struct walker *walker, const struct unwind_row *row, int saved,
                      uint64_t cfa, uint64_t *slot)
{
    unsigned base = UNWIND_PLACE_BASE(row->place[saved]);
    if (UNWIND_PLACE_RULE(row->place[saved]) == UNWIND_AT_CFA) {
        *slot = cfa + (uint64_t)(int64_t)row->offset[saved];
        return true;
    }
    *slot = walker->general[base] + (uint64_t)(int64_t)row->offset[saved];
    return is_known(walker, base);
}

static bool restore_one(struct walker *walker, const struct unwind_row *row, int saved,
                        uint64_t cfa, uint64_t *value)
{
    uint64_t slot;
    unsigned rule = UNWIND_PLACE_RULE(row->place[saved]);
    *value = walker->general[saved_register[saved]];
    if (rule == UNWIND_SAME)
        return is_known(walker, saved_register[saved]);
    if ((rule != UNWIND_AT_CFA && rule != UNWIND_AT_REGISTER) ||
        !find_slot(walker, row, saved, cfa, &slot))
        return false;
    if (rule == UNWIND_AT_REGISTER && !is_in_frame(walker, slot, cfa))
        return is_known(walker, saved_register[saved]);
    return read_word(walker, slot, value);
}

/* A register that cannot be restored becomes unknown; that ends the walk only if it is needed. */
static void restore_saved(struct walker *walker, const struct unwind_row *row, uint64_t cfa)
{
    uint64_t values[UNWIND_SAVED];
    uint32_t known = 1U << BASE_RSP;
    for (int i = 0; i < UNWIND_SAVED; i++)
        known |= (uint32_t)restore_one(walker, row, i, cfa, &values[i]) << saved_register[i];
    for (int i = 0; i < UNWIND_SAVED; i++)
        walker->general[saved_register[i]] = values[i];
    walker->known = known;
}

static enum step step_by_row(struct walker *walker, const struct unwind_row *row)
{
    uint64_t cfa;
    uint64_t return_address;
    if (row->cfa == UNWIND_CFA_END)
        return STEP_OUTERMOST;
    if (row->cfa == UNWIND_CFA_SIGNAL)
        return step_signal(walker, walker->general[BASE_RSP] + (int64_t)row->cfa_offset);
    if (row->cfa == UNWIND_CFA_UNKNOWN || row->cfa >= UNWIND_CFA_KINDS)
        return STEP_NO_RULE;
    /* A leaf may have nothing on the stack but its return address. */
    if (!frame_address(walker, row, &cfa) || cfa <= walker->general[BASE_RSP])
        return STEP_FAILED;
    /* Saved registers first: they lie lower, so one block holds both. */
    restore_saved(walker, row, cfa);
    if (!read_word(walker, cfa - 8, &return_address))
        return STEP_FAILED;
    walker->general[BASE_RSP] = cfa;
    walker->ip = return_address;
    walker->exact = false;
    return return_address ? STEP_CALLER : STEP_OUTERMOST;
}

/* ---- where tables have nothing -------------------------------------------------------- */

/* mov $15, %rax; syscall: the only way back from a handler. */
static bool is_sigreturn(const struct walker *walker)
{
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    unsigned char found[sizeof code];
    return base_read(walker->memory, walker->ip, found, sizeof found) &&
           memcmp(found, code, sizeof code) == 0;
}

/* Does a call end here? Direct, or indirect with any length of operand. */
static bool follows_call(const struct walker *walker, uint64_t address)
{
    unsigned char code[7];
    if (!base_read(walker->memory, address - sizeof code, code, sizeof code))
        return false;
    if (code[2] == 0xe8)
        return true;
    for (size_t length = 2; length <= sizeof code; length++)
        if (length != 5 && code[7 - length] == 0xff && (code[8 - length] >> 3 & 7) == 2)
            return true;
    return false;
}

static enum step step_by_frame_pointer(struct walker *walker)
{
    uint64_t frame[2]; /* caller's rbp, return address */
    uint64_t rbp = walker->general[BASE_RBP];
    uint64_t sp = walker->general[BASE_RSP];
    if (!is_known(walker, BASE_RBP) || rbp % 8 || rbp < sp || rbp - sp > GREATEST_GUESS ||
        !read_stack(walker, rbp, frame, sizeof frame) || !follows_call(walker, frame[1]))
        return STEP_FAILED;
    walker->general[BASE_RBP] = frame[0];
    walker->general[BASE_RSP] = rbp + sizeof frame;
    walker->known = 1U << BASE_RBP | 1U << BASE_RSP;
    walker->ip = frame[1];
    walker->exact = false;
    walker->guessed = true;
    return STEP_CALLER;
}

/*
 * Written in assembly, as the start and end code of programs and libraries is, with nothing on the stack but
 * its return address: all registers but the stack pointer are the caller's.
 */
static enum step step_from_leaf(struct walker *walker)
{
    uint64_t sp = walker->general[BASE_RSP], return_address;
    if (!walker->exact || !read_word(walker, sp, &return_address) ||
        !follows_call(walker, return_address))
        return STEP_FAILED;
    walker->general[BASE_RSP] = sp + sizeof return_address;
    walker->ip = return_address;
    walker->exact = false;
    walker->guessed = true;
    return STEP_CALLER;
}

/*
 * The ABI has the outermost frame's rbp be 0 (System V, x86-64, 3.4.1): the dynamic linker's entry has no row in its table.
 * Code of just-in-time compilers, which has no table at all, may have anything in rbp.
 */
static bool is_marked_outermost(const struct walker *walker, const struct unwind_module *module)
{
    return module->table && !walker->exact && is_known(walker, BASE_RBP) &&
           !walker->general[BASE_RBP];
}

static enum step step_without_row(struct walker *walker, const struct unwind_module *module)
{
    if (is_sigreturn(walker))
        return step_signal(walker, walker->general[BASE_RSP] + GREGS_OFFSET);
    if (is_marked_outermost(walker, module)) {
        walker->guessed = true;
        return STEP_OUTERMOST;
    }
    enum step step = step_by_frame_pointer(walker);
    return step == STEP_FAILED ? step_from_leaf(walker) : step;
}

/* ---- the walk --------------------------------------------------------------------------- */

static struct unwind_frame describe(struct walker *walker, struct unwind_module *module)
{
    struct unwind_frame frame = {
        .ip = walker->ip, .sp = walker->general[BASE_RSP], .vaddr = walker->ip};
    *module = (struct unwind_module){0};
    if (walker->find(walker->find_context, walker->ip - !walker->exact, module)) {
        frame.module = module->id;
        frame.vaddr = walker->ip - module->bias;
    }
    return frame;
}

static enum step step_to_caller(struct walker *walker, const struct unwind_module *module)
{
    struct unwind_row row;
    enum step step = STEP_NO_RULE;
    if (module->table &&
        unwind_table_find(module->table, walker->ip - !walker->exact - module->bias, &row))
        step = step_by_row(walker, &row);
    return step == STEP_NO_RULE ? step_without_row(walker, module) : step;
}

enum unwind_end unwind_walk(const struct base_registers *registers, unwind_find_module *find,
                            void *find_context, const struct base_memory *memory,
                            struct unwind_frame *frames, size_t capacity, size_t *count)
{
    struct walker walker; /* the cache is not cleared: 4 KiB a sample */
    memcpy(walker.general, registers->general, sizeof walker.general);
    walker.ip = registers->ip;
    walker.known = (1U << BASE_GENERAL_REGISTERS) - 1;
    walker.exact = true;
    walker.guessed = false;
    walker.signal_frames = 0;
    walker.memory = memory;
    walker.find = find;
    walker.find_context = find_context;
    walker.cache_start = 0;
    walker.cache_bytes = 0;

    enum step step = STEP_CALLER;
    for (*count = 0; *count < capacity && step == STEP_CALLER; ++*count) {
        struct unwind_module module;
        frames[*count] = describe(&walker, &module);
        step = step_to_caller(&walker, &module);
    }
    if (step == STEP_CALLER)
        return UNWIND_TRUNCATED;
    if (step != STEP_OUTERMOST)
        return UNWIND_BROKEN;
    return walker.guessed ? UNWIND_GUESSED : UNWIND_COMPLETE;
}
