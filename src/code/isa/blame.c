// SPDX-License-Identifier: MIT
/*
 * Which instruction caused a data trap? The processor reports it afterwards,
 * so the instruction pointer is one instruction too far, and x86 cannot be decoded
 * backwards. Explanations are tried from the most to the least common, and
 * each must prove itself by an address: the predecessor in address order, a
 * repeated string instruction under way, a call, a return, an indirect jump.
 * What no explanation proves is ambiguous; a wrong source line is worse than
 * a lost trap.
 *
 * The predecessor is found by walking lengths from the function's start. For
 * unknown starts, and functions too long to walk, all chains of instructions
 * that end at ip vote: x86 code resynchronises within a few instructions, so
 * nearly all agree.
 *
 * Cost: a few us, plus ~20 ns an instruction of the function before ip. Stack
 * ~4 KiB. Signal-safe, no state.
 */
#include "isa/decoder.h"
#include <string.h>

enum {
    WALK_LIMIT = 64 * 1024,  /* farther than that from the function's start, chains vote    */
    SCAN_BEHIND = 16 * 1024, /* how far behind ip jump-table jumps are looked for           */
    SCAN_CALLEE = 2048,      /* how far into a called function its tail calls are           */
    WALK_BLOCK = 1024,       /* code read at a time; a read is a system call                */
    VOTE_BYTES = 64,         /* chains start up to that far before ip ...                   */
    VOTE_RUNWAY = 16,        /* ... and at least that far, to have had time to synchronise  */
    RECENT = 8,              /* instructions before a syscall that may set its number       */
    LATE_BYTES = 128,        /* fast string operations move 64 bytes before they trap       */
    FLAG_DIRECTION = 1 << 10,
    FLAG_RESUME = 1 << 16, /* set when a trap interrupts a repeated string instruction    */
    USER_FLAGS = 0xcd5,    /* CF PF AF ZF SF DF OF: those that syscall saves in r11        */
};

struct scene {
    const struct base_registers *registers; /* after the instruction */
    const struct base_memory *memory;
    uint64_t watched;
    struct isa_blame *blame;
};

/* What is known about the instruction before ip in address order. */
enum verdict {
    DISPROVED,
    POSSIBLE, /* its address is not known any more                                    */
    LATE,     /* a string instruction passed over the byte some iterations ago        */
    PROVED,
};

static bool covers(uint64_t start, uint64_t bytes, uint64_t watched)
{
    return watched - start < bytes;
}

static void accuse(struct scene *scene, const struct isa_insn *insn, unsigned access,
                   uint64_t start, uint8_t direction)
{
    struct isa_blame *blame = scene->blame;
    blame->address = insn->address;
    blame->insn = *insn;
    blame->access = (uint8_t)access;
    blame->start = start;
    blame->bytes = insn->accesses[access].bytes;
    blame->direction = direction;
    blame->syscall_number = -1;
}

static bool decode_at(const struct scene *scene, uint64_t address, struct isa_insn *insn,
                      struct isa_operation *operation)
{
    uint8_t code[ISA_MAX_LENGTH];
    size_t available = sizeof(code);
    if (!base_read(scene->memory, address, code, available)) {
        available = 4096 - (address & 4095); /* the next page may not exist */
        if (available >= sizeof(code) || !base_read(scene->memory, address, code, available))
            return false;
    }
    return isa_decode_operation(code, available, address, insn, operation) == BASE_OK;
}

/* ---- addresses from the registers after the instruction ------------------------------------ */

static uint64_t string_step(const struct scene *scene, const struct isa_access *access)
{
    uint64_t bytes = access->bytes;
    return scene->registers->flags & FLAG_DIRECTION ? -bytes : bytes;
}

/* The registers as they were before, as far as the instruction can be undone for this access. */
static bool undo(const struct scene *scene, const struct isa_insn *insn,
                 const struct isa_operation *operation, const struct isa_access *access,
                 struct base_registers *before)
{
    uint64_t *rsp = &before->general[BASE_RSP];
    const struct isa_access *stack = &insn->accesses[0];
    uint32_t unknown = insn->written;
    *before = *scene->registers;
    switch (operation->code) {
    case ISA_DO_PUSH:
    case ISA_DO_PUSH_FLAGS: *rsp += insn->accesses[insn->access_count - 1].bytes; return true;
    case ISA_DO_POP:
    case ISA_DO_POP_FLAGS:
        *rsp -= stack->bytes;
        if (operation->code == ISA_DO_POP && operation->operands[0].kind == ISA_GENERAL &&
            operation->operands[0].number == BASE_RSP)
            return false;
        unknown &= ~(UINT32_C(1) << BASE_RSP);
        break;
    case ISA_DO_LEAVE: before->general[BASE_RBP] = *rsp - stack->bytes; return true;
    case ISA_DO_STRING_MOVE:
    case ISA_DO_STRING_STORE:
    case ISA_DO_STRING_LOAD:
    case ISA_DO_STRING_SCAN:
    case ISA_DO_STRING_COMPARE:
        before->general[access->base] -= string_step(scene, access);
        return true;
    default:
        if (insn->mnemonic == ZYDIS_MNEMONIC_ENTER) { /* rbp points to where it was pushed */
            *rsp = before->general[BASE_RBP] + access->bytes;
            return operation->immediate == 0;
        }
        break;
    }
    return !(access->base >= 0 && (unknown >> access->base & 1)) &&
           !(access->index >= 0 && (unknown >> access->index & 1));
}

/* A register loaded through itself must hold what memory around the watched byte holds. */
static bool contradicted(const struct scene *scene, const struct isa_insn *insn,
                         const struct isa_operation *operation)
{
    const struct isa_operand *to = &operation->operands[0];
    unsigned bytes = insn->accesses[0].bytes;
    if (operation->code != ISA_DO_MOVE || to->kind != ISA_GENERAL || to->shift || bytes > 8 ||
        operation->operands[1].kind != ISA_MEMORY)
        return false;
    uint8_t around[16];
    uint64_t from = scene->watched - (bytes - 1);
    if (!base_read(scene->memory, from, around, 2 * bytes - 1))
        return false;
    for (unsigned i = 0; i < bytes; i++) {
        if (memcmp(&scene->registers->general[to->number], around + i, bytes) == 0)
            return false;
    }
    return true;
}

static bool is_string(const struct isa_operation *operation)
{
    return operation->code >= ISA_DO_STRING_MOVE && operation->code <= ISA_DO_STRING_COMPARE;
}

/* The iteration, among the last ones of a repeated string instruction, that touched the byte. */
static bool touched_late(const struct scene *scene, const struct isa_insn *insn,
                         const struct isa_operation *operation, const struct isa_access *access,
                         uint64_t *start)
{
    if (!insn->repeated || !is_string(operation))
        return false;
    uint64_t bytes = access->bytes, now = scene->registers->general[access->base];
    bool backward = scene->registers->flags & FLAG_DIRECTION;
    uint64_t first = backward ? now + bytes : now - LATE_BYTES;
    if (!covers(first, LATE_BYTES, scene->watched))
        return false;
    *start = scene->watched - (scene->watched - first) % bytes;
    return true;
}

/* Did cmpxchg store? ZF says so, and it was the last to set it. */
static bool did_not_store(const struct scene *scene, const struct isa_operation *operation,
                          const struct isa_access *access)
{
    return access->conditional && access->direction == ISA_STORE &&
           operation->code == ISA_DO_CMPXCHG && !(scene->registers->flags & (1 << 6));
}

/* Did this access of an instruction just executed touch the watched byte? */
static enum verdict judge_access(const struct scene *scene, const struct isa_insn *insn,
                                 const struct isa_operation *operation,
                                 const struct isa_access *access, uint64_t *start)
{
    struct base_registers before;
    if (did_not_store(scene, operation, access))
        return DISPROVED;
    if (!undo(scene, insn, operation, access, &before) ||
        !isa_effective_address(insn, access, &before, start)) {
        *start = scene->watched;
        return contradicted(scene, insn, operation) ? DISPROVED : POSSIBLE;
    }
    if (covers(*start, access->bytes, scene->watched))
        return PROVED;
    return touched_late(scene, insn, operation, access, start) ? LATE : DISPROVED;
}

/* Could this instruction, just executed, have touched the watched byte? Accuses it if so. */
static enum verdict judge(struct scene *scene, const struct isa_insn *insn,
                          const struct isa_operation *operation)
{
    enum verdict strongest = DISPROVED;
    uint8_t direction = 0;
    for (unsigned i = 0; i < insn->access_count; i++) {
        const struct isa_access *access = &insn->accesses[i];
        uint64_t start;
        enum verdict verdict = judge_access(scene, insn, operation, access, &start);
        if (verdict == DISPROVED || verdict < strongest)
            continue;
        if (verdict > strongest) {
            accuse(scene, insn, i, start, 0);
            direction = 0;
            strongest = verdict;
        }
        if (!direction || strongest == PROVED) /* push (%rsp): several can be proved at once */
            direction |= access->direction;
    }
    if (strongest == DISPROVED)
        return DISPROVED;
    scene->blame->direction = direction;
    if (insn->accesses[scene->blame->access].unaddressable)
        scene->blame->bytes = 1;
    return strongest;
}

/* ---- walking ------------------------------------------------------------------------------- */

/* `jmp *memory` that led to ip: changes no register, so its operand can be evaluated now. */
static bool jumped_here(struct scene *scene, uint64_t address)
{
    struct isa_insn insn;
    struct isa_operation operation;
    uint64_t start, target;
    if (!decode_at(scene, address, &insn, &operation) || insn.flow != ISA_JUMP ||
        insn.access_count != 1 ||
        !isa_effective_address(&insn, &insn.accesses[0], scene->registers, &start) ||
        !covers(start, insn.accesses[0].bytes, scene->watched) ||
        !base_read(scene->memory, start, &target, sizeof(target)) || target != scene->registers->ip)
        return false;
    accuse(scene, &insn, 0, start, ISA_LOAD);
    return true;
}

static bool looks_like_memory_jump(const uint8_t *code, unsigned length)
{
    unsigned at = 0;
    while (at + 2 < length && (code[at] == 0x3e || code[at] == 0xf2 || (code[at] & 0xf0) == 0x40))
        at++;
    return at + 1 < length && code[at] == 0xff && (code[at + 1] >> 3 & 7) == 4 &&
           code[at + 1] < 0xc0;
}

/* Target of a `jmp` with 4-byte distance, as tail calls are, or 0. */
static uint64_t near_jump_target(const uint8_t *code, unsigned length, uint64_t address)
{
    int32_t distance;
    if (length != 5 || code[0] != 0xe9)
        return 0;
    memcpy(&distance, code + 1, sizeof(distance));
    return address + length + (uint64_t)(int64_t)distance;
}

struct walk {
    struct scene *scene;
    uint64_t start;
    uint64_t at;             /* next boundary                                                */
    uint64_t recent[RECENT]; /* ring of the last boundaries before `at`                      */
    unsigned count;          /* boundaries passed                                            */
    bool look_for_jumps;
    bool jump_found; /* scene->blame is filled                                       */
};

/* Is the instruction at walk->at a jump that led to ip, directly or by way of a stub? */
static bool is_jump_here(const struct walk *walk, const uint8_t *code, unsigned length,
                         uint64_t until)
{
    enum { ENDBR = 4 };
    if (looks_like_memory_jump(code, length))
        return jumped_here(walk->scene, walk->at);
    uint64_t stub = near_jump_target(code, length, walk->at);
    if (stub == 0 || (stub >= walk->start && stub < until)) /* within the function: no stub */
        return false;
    return jumped_here(walk->scene, stub) || jumped_here(walk->scene, stub + ENDBR);
}

/* Walks on until `until`; true if it is a boundary. */
static bool walk_to(struct walk *walk, uint64_t until)
{
    uint8_t block[WALK_BLOCK];
    const struct base_memory *memory = walk->scene->memory;
    while (walk->at < until) {
        uint64_t begin = walk->at, left = until - begin + ISA_MAX_LENGTH;
        size_t bytes = left < sizeof(block) ? (size_t)left : sizeof(block);
        if (!base_read(memory, begin, block, bytes)) {
            bytes = 4096 - (begin & 4095);
            if (bytes > sizeof(block))
                bytes = sizeof(block);
            if (!base_read(memory, begin, block, bytes))
                return false;
        }
        while (walk->at < until) {
            size_t offset = walk->at - begin;
            unsigned length = offset < bytes ? isa_length(block + offset, bytes - offset) : 0;
            if (length == 0 && offset > 0 && bytes - offset < ISA_MAX_LENGTH)
                break; /* cut off by the block: read on from here */
            if (length == 0)
                return false;
            if (walk->look_for_jumps && !walk->jump_found)
                walk->jump_found = is_jump_here(walk, block + offset, length, until);
            walk->recent[walk->count++ % RECENT] = walk->at;
            walk->at += length;
        }
    }
    return walk->at == until;
}

/* All chains of instructions that end at ip name their last one; 0 if they disagree. */
static uint64_t vote(const struct scene *scene)
{
    uint8_t code[VOTE_BYTES + ISA_MAX_LENGTH];
    uint8_t last[VOTE_BYTES], votes[VOTE_BYTES] = {0};
    uint64_t ip = scene->registers->ip, bytes = VOTE_BYTES;
    if (ip < VOTE_BYTES)
        return 0;
    if (!base_read(scene->memory, ip - bytes, code, bytes)) {
        bytes = ip & 4095;
        if (bytes == 0 || bytes >= VOTE_BYTES || !base_read(scene->memory, ip - bytes, code, bytes))
            return 0;
    }
    unsigned landed = 0, best = 0;
    for (unsigned at = (unsigned)bytes; at-- > 0;) {
        unsigned length = isa_length(code + at, bytes - at);
        unsigned next = at + length;
        last[at] = (uint8_t)(length == 0 ? VOTE_BYTES : next == bytes ? at : last[next]);
        bool counts = at + VOTE_RUNWAY <= bytes || bytes < 2 * VOTE_RUNWAY;
        if (last[at] == VOTE_BYTES || !counts)
            continue;
        landed++;
        if (++votes[last[at]] > votes[best])
            best = last[at];
    }
    return landed && votes[best] * 4u >= landed * 3u ? ip - bytes + best : 0;
}

/* ---- explanations -------------------------------------------------------------------------- */

/* The number of a system call is usually loaded just before it. */
static int32_t syscall_number(const struct walk *walk)
{
    unsigned known = walk->count < RECENT ? walk->count : RECENT;
    for (unsigned back = 2; back <= known; back++) { /* 1 is the syscall itself */
        struct isa_insn insn;
        struct isa_operation operation;
        uint64_t address = walk->recent[(walk->count - back) % RECENT];
        if (!decode_at(walk->scene, address, &insn, &operation) || insn.flow != ISA_NEXT)
            return -1;
        if (!(insn.written >> BASE_RAX & 1))
            continue;
        if (operation.code == ISA_DO_MOVE && operation.operands[1].kind == ISA_IMMEDIATE)
            return (int32_t)operation.immediate;
        if (operation.code == ISA_DO_XOR && operation.operands[1].kind == ISA_GENERAL &&
            operation.operands[1].number == BASE_RAX)
            return 0;
        return -1;
    }
    return -1;
}

/* `syscall` leaves the address behind it in rcx and the flags in r11. */
static bool in_kernel(struct scene *scene, const struct walk *walk)
{
    const struct base_registers *r = scene->registers;
    uint8_t code[7] = {0};
    if (r->general[BASE_RCX] != r->ip || ((r->general[BASE_R11] ^ r->flags) & USER_FLAGS) != 0 ||
        !base_read(scene->memory, r->ip - 2, code + 5, 2) || code[5] != 0x0f || code[6] != 0x05)
        return false;
    struct isa_blame *blame = scene->blame;
    memset(blame, 0, sizeof(*blame));
    blame->address = r->ip - 2;
    blame->start = scene->watched;
    blame->bytes = 1;
    blame->syscall_number = walk->at == r->ip ? syscall_number(walk) : -1;
    if (blame->syscall_number < 0 && base_read(scene->memory, r->ip - 7, code, 7) &&
        code[0] == 0xb8) {
        int32_t number;
        memcpy(&number, code + 1, sizeof(number));
        blame->syscall_number = number;
    }
    blame->direction = isa_syscall_direction(blame->syscall_number);
    if (!blame->direction)
        blame->direction = ISA_LOAD | ISA_STORE;
    return true;
}

/* Where the call goes, from the registers right after it. */
static bool call_target(const struct scene *scene, const struct isa_insn *insn,
                        const struct isa_operation *operation, uint64_t *target)
{
    if (!insn->indirect) {
        *target = insn->target;
        return true;
    }
    struct base_registers before = *scene->registers;
    before.general[BASE_RSP] += 8;
    if (operation->operands[0].kind == ISA_GENERAL) {
        *target = before.general[operation->operands[0].number];
        return true;
    }
    uint64_t start;
    return isa_effective_address(insn, &insn->accesses[0], &before, &start) &&
           base_read(scene->memory, start, target, sizeof(*target));
}

/* The one call that ends at `end`, or none. reached: its target must be that, unless 0. A direct
   call is the shortest that fits: a byte before it that could be a prefix is not one. */
static bool call_before(const struct scene *scene, uint64_t end, uint64_t reached,
                        struct isa_insn *insn, struct isa_operation *operation)
{
    unsigned fits = 0;
    for (unsigned length = 2; length <= 9; length++) {
        if (fits && !insn->indirect)
            break;
        struct isa_insn tried;
        struct isa_operation tried_operation;
        uint64_t target;
        if (!decode_at(scene, end - length, &tried, &tried_operation) || tried.length != length ||
            tried.flow != ISA_CALL ||
            (reached &&
             (!call_target(scene, &tried, &tried_operation, &target) || target != reached)))
            continue;
        *insn = tried;
        *operation = tried_operation;
        fits++;
    }
    return fits == 1;
}

/* A call pushed the return address, or read its target from the watched memory. */
static bool called(struct scene *scene)
{
    const struct base_registers *r = scene->registers;
    uint64_t back, rsp = r->general[BASE_RSP], start;
    struct isa_insn insn;
    struct isa_operation operation;
    if (!base_read(scene->memory, rsp, &back, sizeof(back)) ||
        !call_before(scene, back, r->ip, &insn, &operation))
        return false;
    struct base_registers before = *r;
    before.general[BASE_RSP] += 8;
    uint8_t direction = 0;
    for (unsigned i = insn.access_count; i-- > 0;) {
        const struct isa_access *access = &insn.accesses[i];
        if (!isa_effective_address(&insn, access, &before, &start) ||
            !covers(start, access->bytes, scene->watched))
            continue;
        direction |= access->direction;
        accuse(scene, &insn, i, start, direction);
    }
    return direction != 0;
}

/* A call went to a stub (PLT) whose `jmp *memory` read the watched slot, or to a function that left
   through such a stub. */
static bool came_through_stub(struct scene *scene)
{
    uint64_t back;
    struct isa_insn insn;
    struct isa_operation operation;
    if (!base_read(scene->memory, scene->registers->general[BASE_RSP], &back, sizeof(back)) ||
        !call_before(scene, back, 0, &insn, &operation) || insn.indirect)
        return false;
    struct walk walk = {
        .scene = scene, .start = insn.target, .at = insn.target, .look_for_jumps = true};
    walk_to(&walk, insn.target + SCAN_CALLEE);
    return walk.jump_found;
}

/* A return popped the watched slot: it still holds where the program went. */
static bool returned(struct scene *scene)
{
    const struct base_registers *r = scene->registers;
    uint64_t slot = scene->watched & ~UINT64_C(7), value;
    uint64_t popped = r->general[BASE_RSP] - slot; /* 8, or more by `ret n` */
    if (popped < 8 || popped > 8 + 4096 || !base_read(scene->memory, slot, &value, sizeof(value)) ||
        value != r->ip)
        return false;
    struct isa_blame *blame = scene->blame;
    memset(blame, 0, sizeof(*blame));
    blame->start = slot;
    blame->bytes = 8;
    blame->direction = ISA_LOAD;
    blame->syscall_number = -1;
    return true;
}

/* ip is a string instruction that has done some of its iterations. */
static enum verdict repeating(struct scene *scene)
{
    struct isa_insn insn;
    struct isa_operation operation;
    if (!decode_at(scene, scene->registers->ip, &insn, &operation) || !insn.repeated ||
        !is_string(&operation) || scene->registers->general[BASE_RCX] == 0)
        return DISPROVED;
    return judge(scene, &insn, &operation);
}

/* Without a known boundary: the only one of all encodings that end at ip and cover the byte. */
static enum verdict only_covering(struct scene *scene)
{
    uint64_t ip = scene->registers->ip;
    unsigned proved = 0;
    struct isa_blame found;
    for (unsigned length = 1; length <= ISA_MAX_LENGTH; length++) {
        struct isa_insn insn;
        struct isa_operation operation;
        if (decode_at(scene, ip - length, &insn, &operation) && insn.length == length &&
            (insn.flow == ISA_NEXT) && judge(scene, &insn, &operation) == PROVED && ++proved == 1)
            found = *scene->blame;
    }
    if (proved != 1)
        return DISPROVED;
    *scene->blame = found;
    return PROVED;
}

/* The instruction before ip in address order, if executed last. */
static enum verdict preceding(struct scene *scene, const struct walk *walk)
{
    struct isa_insn insn;
    struct isa_operation operation;
    uint64_t ip = scene->registers->ip;
    bool walked = walk->count && walk->at == ip;
    uint64_t address = walked ? walk->recent[(walk->count - 1) % RECENT] : vote(scene);
    if (address && decode_at(scene, address, &insn, &operation) && address + insn.length == ip) {
        bool falls_through = insn.flow == ISA_NEXT || insn.flow == ISA_BRANCH;
        enum verdict verdict = falls_through ? judge(scene, &insn, &operation) : DISPROVED;
        if (walked || verdict == PROVED)
            return verdict;
    }
    return only_covering(scene);
}

/* By a jump table of the function itself. */
static bool jumped_within(struct scene *scene, const struct isa_around *around)
{
    uint64_t ip = scene->registers->ip, end = ip + SCAN_BEHIND;
    uint64_t start = around->start ? around->start : around->boundary;
    struct walk walk = {.scene = scene, .start = start, .at = start, .look_for_jumps = true};
    if (!start || start > ip || ip - start > WALK_LIMIT || !walk_to(&walk, ip))
        return walk.jump_found;
    walk_to(&walk, around->end > ip && around->end < end ? around->end : end);
    return walk.jump_found;
}

/* Control flow that reads or writes memory on its way to ip. */
static bool transferred_here(struct scene *scene, const struct isa_around *around,
                             enum isa_blame_result *result)
{
    *result = ISA_BLAME_EXACT;
    if (called(scene))
        return true;
    if (returned(scene)) {
        *result = ISA_BLAME_RETURN;
        return true;
    }
    if (came_through_stub(scene))
        return true;
    return jumped_within(scene, around);
}

static enum isa_blame_result ambiguous(uint64_t watched, struct isa_blame *blame)
{
    memset(blame, 0, sizeof(*blame));
    blame->start = watched;
    blame->bytes = 1;
    blame->syscall_number = -1;
    return ISA_BLAME_AMBIGUOUS;
}

enum isa_blame_result isa_find_trapping(const struct base_registers *registers, uint64_t watched,
                                        const struct isa_around *around,
                                        const struct base_memory *memory, struct isa_blame *blame)
{
    struct isa_blame before_blame, here_blame;
    struct scene scene = {registers, memory, watched, &before_blame};
    uint64_t boundary = around->boundary ? around->boundary : around->start;
    struct walk walk = {.scene = &scene, .start = boundary, .at = boundary};
    if (boundary && boundary <= registers->ip && registers->ip - boundary <= WALK_LIMIT)
        walk_to(&walk, registers->ip);
    memset(&before_blame, 0, sizeof(before_blame));
    memset(&here_blame, 0, sizeof(here_blame));
    if (in_kernel(&scene, &walk)) {
        *blame = before_blame;
        return ISA_BLAME_KERNEL;
    }
    enum verdict before = preceding(&scene, &walk);
    scene.blame = &here_blame;
    enum verdict here = repeating(&scene);
    if (here >= LATE && registers->flags & FLAG_RESUME) {
        before = DISPROVED;
        here = PROVED;
    }
    if (before < PROVED && here < PROVED) {
        enum isa_blame_result result;
        struct isa_blame found;
        scene.blame = &found;
        if (transferred_here(&scene, around, &result)) {
            *blame = found;
            return result;
        }
    }
    if (before == here)
        return ambiguous(watched, blame);
    enum verdict strongest = before > here ? before : here;
    *blame = before > here ? before_blame : here_blame;
    return strongest == POSSIBLE ? ISA_BLAME_LIKELY : ISA_BLAME_EXACT;
}
