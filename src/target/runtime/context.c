// SPDX-License-Identifier: MIT
/*
 * Calling-context trees (Ammons, Ball, Larus 1997, §4). Inserted code follows the slot of its
 * caller's record; here comes what that does not find: another callee than the last, one met for
 * the first time, a recursion, a handler called by a signal.
 *
 * Records of a thread are the thread's alone, but a signal handler may look for its record while
 * one is looked for: a list of children only ever grows at its head, but for the one who holds the
 * lowest bit of `children` and so may move a child to the front.
 *
 * Where no record can be made (no memory, too many) each function has one overflow record in the
 * process: slots of those lead to such records only. Where not even these can be had, and where
 * nothing is recorded, there is the function's own, a part of the module: nobody reads it, and it
 * needs nothing.
 *
 * A library's own records go when it is unloaded, so slots of other modules never lead to them.
 * Slots of own records lead to own records of the same module only, which lie all below
 * RUNTIME_LOWEST or all above: owner_of relies on it.
 */
#include "runtime/runtime.h"
#include "runtime/stubs.h"

#include <asm/unistd.h>

_Static_assert(offsetof(struct instrumented_record, function) == 0 &&
                   offsetof(struct instrumented_record, parent) == STUBS_RECORD_PARENT &&
                   offsetof(struct instrumented_record, slots) == STUBS_RECORD_SLOTS &&
                   sizeof(struct instrumented_record) == STUBS_RECORD_BYTES &&
                   offsetof(struct runtime_thread, lately) == STUBS_THREAD_LATELY &&
                   RUNTIME_LATELY == STUBS_LATELY_MASK + 1 &&
                   offsetof(struct instrumented_function, table) == STUBS_FUNCTION_TABLE,
               "headroom_enter in stubs.S knows these");

enum { FIRST_RECORDS = 1 << 16, RECORDS_BYTES_MAX = 1 << 24, RECORDS_MAX = 1 << 24 };

enum { HELD = 1 /* bit of `children` */ };

/* `slot` of a function's own record. */
#define SLOT_OWN (INSTRUMENTED_SLOT_OVERFLOW - 1)

struct runtime_index {
    uint64_t mask;
    _Atomic uint64_t records[]; /* addresses, by base_mix64(function) */
};

static struct instrumented_record *record_at(uint64_t address)
{
    return (struct instrumented_record *)address;
}

static uint64_t *slots_of(struct instrumented_record *record)
{
    return (uint64_t *)(record + 1);
}

static const struct instrumented_function *function_at(uint64_t entry)
{
    return (const struct instrumented_function *)entry;
}

static uint64_t record_bytes(uint32_t slots, uint32_t cells)
{
    return sizeof(struct instrumented_record) + 8 * ((uint64_t)slots + cells);
}

static uint64_t bytes_for(uint64_t entry)
{
    return record_bytes(function_at(entry)->call_sites, function_at(entry)->cells);
}

static struct instrumented_record *fill(uint64_t at, uint64_t entry, uint32_t slots, uint64_t bytes)
{
    struct instrumented_record *record = record_at(at);
    record->bytes = bytes;
    record->slots = slots;
    *(volatile uint64_t *)&record->function = entry;
    return record;
}

/* ---- own records ----------------------------------------------------------------------------- */

/* Compiled by a headroom that knew no own records, and linked with this one. */
static _Noreturn void give_up(void)
{
    static const char words[] = "headroom: this program has parts that another version of headroom "
                                "cc compiled: compile them again\n";
    RUNTIME_CALL(__NR_write, 2, words, sizeof words - 1);
    for (;;)
        RUNTIME_CALL(__NR_exit_group, 127);
}

/* Several threads may fill it in at once: with the same. */
static struct instrumented_record *own_record(uint64_t entry)
{
    const struct instrumented_function *function = function_at(entry);
    if (!function->table)
        give_up();
    struct instrumented_record *own =
        record_at((uint64_t)&function->table + (uint64_t)(int64_t)function->table);
    if (own->function != entry) {
        own->slot = SLOT_OWN;
        fill((uint64_t)own, entry, function->call_sites, bytes_for(entry));
    }
    return own;
}

/* Has it no parent and stands for all contexts? */
static bool is_shared(const struct instrumented_record *record)
{
    return record->slot >= SLOT_OWN;
}

static bool may_hold(const struct instrumented_record *owner, uint64_t slot,
                     const struct instrumented_record *record)
{
    return runtime_is_own((uint64_t)record) ? runtime_is_own(slot) : owner->slot != SLOT_OWN;
}

/* ---- overflow records ------------------------------------------------------------------------ */

static void measure_map(struct runtime_module *module)
{
    uint64_t end = module->map + module->map_bytes;
    for (uint64_t at = module->map; at + sizeof(struct instrumented_function) <= end;) {
        const struct instrumented_function *function = function_at(at);
        if (function->magic != INSTRUMENTED_ENTRY_MAGIC || function->words == 0) {
            at += sizeof(uint32_t); /* padding between object files */
            continue;
        }
        module->modes |= function->modes;
        if (function->modes & INSTRUMENTED_CONTEXTS) {
            module->functions++;
            module->record_bytes += bytes_for(at);
        }
        at += sizeof(uint32_t) * (uint64_t)function->words;
    }
}

static struct instrumented_record *cut_overflow(struct runtime_module *module, uint64_t entry,
                                                uint32_t slots, uint64_t bytes)
{
    uint64_t at = atomic_fetch_add(&module->overflow_used, bytes);
    if (at + bytes > module->overflow_bytes)
        return NULL;
    struct instrumented_record *record = fill(module->overflow + at, entry, slots, bytes);
    record->slot = INSTRUMENTED_SLOT_OVERFLOW;
    return record;
}

/* Twice what is needed: threads that make the same record at once make one too many. */
void runtime_contexts_begin(struct runtime_module *module)
{
    uint64_t cells = 2, root_bytes = record_bytes(1, 0);
    measure_map(module);
    if (!module->region || !module->functions)
        return;
    while (cells < 2 * (uint64_t)module->functions)
        cells *= 2;
    module->index = runtime_map(sizeof *module->index + cells * sizeof module->index->records[0]);
    uint64_t bytes = sizeof(struct instrumented_piece) + root_bytes + 2 * module->record_bytes;
    struct instrumented_piece *piece = runtime_piece(module, bytes, 0);
    if (!module->index && piece)
        runtime_lose(module);
    if (!piece || !module->index)
        return;
    module->overflow_piece = piece;
    module->index->mask = cells - 1;
    module->overflow = (uint64_t)piece;
    module->overflow_bytes = bytes;
    atomic_store(&module->overflow_used, sizeof *piece);
    module->overflow_root = (uint64_t)cut_overflow(module, 0, 1, root_bytes);
    runtime_publish(piece, INSTRUMENTED_PIECE_RECORDS);
}

static struct instrumented_record *overflow(struct runtime_module *module, uint64_t entry)
{
    struct instrumented_record *made = NULL;
    if (!module->overflow_root)
        return own_record(entry);
    struct runtime_index *index = module->index;
    for (uint64_t at = base_mix64(entry);; at++) {
        _Atomic uint64_t *cell = &index->records[at & index->mask];
        uint64_t found = atomic_load(cell);
        if (!found && !made)
            made = cut_overflow(module, entry, function_at(entry)->call_sites, bytes_for(entry));
        if (!found && !made)
            return own_record(entry);
        if (!found && atomic_compare_exchange_strong(cell, &found, (uint64_t)made))
            return made;
        if (record_at(found)->function == entry)
            return record_at(found);
    }
}

/* ---- making records -------------------------------------------------------------------------- */

static struct runtime_records *more_records(struct runtime_module *module,
                                            struct runtime_thread *thread, uint64_t bytes)
{
    struct runtime_records *older = atomic_load(&thread->records);
    uint64_t size = older ? 2 * older->bytes : FIRST_RECORDS;
    if (size > RECORDS_BYTES_MAX)
        size = RECORDS_BYTES_MAX;
    if (size < bytes + sizeof(struct instrumented_piece))
        size = bytes + sizeof(struct instrumented_piece);
    struct runtime_records *records = runtime_private(module, sizeof *records);
    struct instrumented_piece *piece = records ? runtime_piece(module, size, 0) : NULL;
    if (!piece)
        return NULL;
    records->older = older;
    records->piece = piece;
    records->bytes = piece->bytes;
    atomic_store(&records->used, sizeof *piece);
    runtime_publish(piece, INSTRUMENTED_PIECE_RECORDS);
    /* A handler of this thread may have been here too: then both chains must stay, for a fork. */
    while (!atomic_compare_exchange_weak(&thread->records, &records->older, records))
        ;
    return records;
}

static uint64_t cut_record(struct runtime_module *module, struct runtime_thread *thread,
                           uint64_t bytes)
{
    struct runtime_records *records = atomic_load(&thread->records);
    for (int tries = 0; tries < 3; tries++) {
        if (records) {
            uint64_t at = atomic_fetch_add(&records->used, bytes);
            if (at + bytes <= records->bytes)
                return (uint64_t)records->piece + at;
        }
        records = more_records(module, thread, bytes);
        if (!records)
            return 0;
    }
    return 0;
}

/* Not a child of its parent yet. NULL: the thread has too many, or there is no memory. */
static struct instrumented_record *make_record(struct runtime_module *module,
                                               struct runtime_thread *thread, uint64_t entry,
                                               uint32_t slots, uint64_t bytes)
{
    if (atomic_fetch_add(&thread->record_count, 1) >= RECORDS_MAX)
        return NULL;
    uint64_t at = cut_record(module, thread, bytes);
    return at ? fill(at, entry, slots, bytes) : NULL;
}

/* NULL: there is no memory. */
static struct instrumented_record *root(struct runtime_module *module,
                                        struct runtime_thread *thread, _Atomic uint64_t *place)
{
    uint64_t found = atomic_load(place);
    if (found)
        return record_at(found);
    struct instrumented_record *made = make_record(module, thread, 0, 1, record_bytes(1, 0));
    if (!made)
        return record_at(module->overflow_root);
    return atomic_compare_exchange_strong(place, &found, (uint64_t)made) ? made : record_at(found);
}

/* ---- children -------------------------------------------------------------------------------- */

static struct instrumented_record *first_child(const struct instrumented_record *parent)
{
    return record_at(__atomic_load_n(&parent->children, __ATOMIC_RELAXED) & ~(uint64_t)HELD);
}

/* Puts it at the head; keeps the bit of whoever moves one. */
static void push(struct instrumented_record *parent, struct instrumented_record *child)
{
    uint64_t head = __atomic_load_n(&parent->children, __ATOMIC_RELAXED), new_head;
    do {
        child->sibling = head & ~(uint64_t)HELD;
        new_head = (uint64_t)child | (head & HELD);
    } while (!__atomic_compare_exchange_n(&parent->children, &head, new_head, true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void move_to_front(struct instrumented_record *parent, struct instrumented_record *child)
{
    uint64_t head = __atomic_load_n(&parent->children, __ATOMIC_RELAXED);
    if (head & HELD || !__atomic_compare_exchange_n(&parent->children, &head, head | HELD, false,
                                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    struct instrumented_record *before = record_at(head);
    while (before && before->sibling != (uint64_t)child)
        before = record_at(before->sibling);
    if (before) {
        before->sibling = child->sibling;
        push(parent, child);
    }
    head = __atomic_load_n(&parent->children, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&parent->children, &head, head & ~(uint64_t)HELD, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static struct instrumented_record *find_child(struct instrumented_record *parent, uint64_t entry,
                                              uint32_t slot)
{
    struct instrumented_record *first = first_child(parent);
    bool by_site = parent->function && !(parent->function & INSTRUMENTED_UNLOADED) &&
                   function_at(parent->function)->modes & INSTRUMENTED_CALL_SITES;
    for (struct instrumented_record *child = first; child; child = record_at(child->sibling))
        if (child->function == entry && (!by_site || child->slot == slot)) {
            if (child != first)
                move_to_front(parent, child);
            return child;
        }
    return NULL;
}

/* A recursive call goes back to the record of the activation that is still going on. */
static struct instrumented_record *find_ancestor(struct instrumented_record *parent, uint64_t entry)
{
    while (parent && parent->function != entry)
        parent = record_at(parent->parent);
    return parent;
}

static struct instrumented_record *make_child(struct runtime_module *module,
                                              struct runtime_thread *thread,
                                              struct instrumented_record *parent, uint64_t entry,
                                              uint32_t slot)
{
    struct instrumented_record *child =
        make_record(module, thread, entry, function_at(entry)->call_sites, bytes_for(entry));
    if (!child)
        return overflow(module, entry);
    child->parent = (uint64_t)parent;
    child->slot = slot;
    push(parent, child);
    return child;
}

/* ---- where the call came from ---------------------------------------------------------------- */

/*
 * Can the page be read? Coroutines may have anything for a return address. The kernel reads a mask
 * of signals before it looks at what is to be done with it, which is nothing that it knows; a call
 * that every sandbox allows. Asked once a page.
 */
static bool is_readable(struct runtime_module *module, uint64_t address)
{
    uint64_t page = address / INSTRUMENTED_PAGE;
    _Atomic uint64_t *known = &module->readable[page % BASE_COUNT(module->readable)];
    if (page == 0)
        return false;
    if (atomic_load(known) == page)
        return true;
    if (RUNTIME_CALL(__NR_rt_sigprocmask, -1, page * INSTRUMENTED_PAGE, 0, 8) == -14 /* EFAULT */)
        return false;
    atomic_store(known, page);
    return true;
}

/* mov $SYS_rt_sigreturn, %rax; syscall: what glibc, musl and the unwinders of GCC and LLVM agree
 * on. */
static bool is_signal_return(struct runtime_module *module, uint64_t address)
{
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    const unsigned char *at = (const unsigned char *)address;
    if (!is_readable(module, address))
        return false;
    for (unsigned i = 0; i < sizeof code; i++)
        if (at[i] != code[i])
            return false;
    return true;
}

/*
 * Long lists of children, and recursion, which is in no list: interpreters spent half of their time
 * there. By slot, so that call sites stay apart where they are to.
 */
static uint64_t place_of(uint64_t slot, uint64_t entry) /* as in stubs.S */
{
    uint64_t mixed = (slot >> 3) * 31 + (entry >> 2);
    return (mixed ^ mixed >> 10) % RUNTIME_LATELY;
}

static struct instrumented_record *found_lately(const struct runtime_thread *thread, uint64_t slot,
                                                const struct instrumented_record *parent,
                                                uint64_t entry)
{
    uint64_t place = place_of(slot, entry);
    struct instrumented_record *record = record_at(thread->lately[place].record);
    bool same = thread->lately[place].parent == (uint64_t)parent && record->function == entry;
    return same ? record : NULL;
}

static void keep(struct runtime_thread *thread, uint64_t slot,
                 const struct instrumented_record *parent, uint64_t entry,
                 const struct instrumented_record *record)
{
    volatile uint64_t *known_parent = &thread->lately[place_of(slot, entry)].parent;
    volatile uint64_t *known_record = &thread->lately[place_of(slot, entry)].record;
    if (is_shared(record))
        return;
    *known_parent = 0;
    *known_record = (uint64_t)record;
    *known_parent = (uint64_t)parent;
}

/*
 * Whose slot it is, and its number. The record in it is mostly a child of the owner; where it is
 * not (none yet, a recursion), the slots before it are walked over: before them stands `bytes`,
 * nonzero, and smaller than any address that a slot holds. But for slots of own records of programs
 * at low addresses: before those stand words whose upper halves are 0.
 */
static bool is_head(const uint64_t *bytes, uint64_t slot)
{
    const struct instrumented_record *record = (const struct instrumented_record *)(bytes + 1) - 1;
    return *bytes != 0 && *bytes < RUNTIME_LOWEST &&
           slot - (uint64_t)(bytes + 1) < 8 * (uint64_t)record->slots;
}

static struct instrumented_record *owner_of(uint64_t slot, uint32_t *number)
{
    const uint64_t *at = (const uint64_t *)slot;
    uint64_t child = *at, parent = child ? record_at(child)->parent : 0;
    if (parent &&
        slot - (uint64_t)slots_of(record_at(parent)) < 8 * (uint64_t)record_at(parent)->slots) {
        *number = (uint32_t)((slot - (uint64_t)slots_of(record_at(parent))) / 8);
        return record_at(parent);
    }
    for (at--; !is_head(at, slot);)
        at--;
    *number = (uint32_t)((const uint64_t *)slot - at - 1);
    return (struct instrumented_record *)(at + 1) - 1;
}

/* Not a child of `parent` yet. A signal's handler is nobody's child, and is known by where it
   returns to; that is looked at only here, since it takes reading code. */
static struct instrumented_record *meet(struct runtime_module *module,
                                        struct runtime_thread *thread,
                                        struct instrumented_record *parent, uint64_t entry,
                                        uint32_t slot, const uint64_t *stack, bool *signalled)
{
    *signalled = is_signal_return(module, *stack);
    if (*signalled) {
        parent = root(module, thread, &thread->signal_root);
        if (!parent)
            return overflow(module, entry);
        struct instrumented_record *found = find_child(parent, entry, 0);
        return found ? found : make_child(module, thread, parent, entry, 0);
    }
    struct instrumented_record *found = find_ancestor(parent, entry);
    return found ? found : make_child(module, thread, parent, entry, slot);
}

/* Not by what was found last. */
static struct instrumented_record *find_record(struct runtime_module *module,
                                               struct runtime_thread *thread, uint64_t slot,
                                               struct instrumented_record *parent, uint32_t number,
                                               uint64_t entry, const uint64_t *stack,
                                               bool *signalled)
{
    if (is_shared(parent))
        return overflow(module, entry);
    struct instrumented_record *record = found_lately(thread, slot, parent, entry);
    if (record)
        return record;
    record = find_child(parent, entry, number);
    if (!record)
        record = meet(module, thread, parent, entry, number, stack, signalled);
    if (!*signalled)
        keep(thread, slot, parent, entry, record);
    return record;
}

/* Nobody will read it. */
static uint64_t enter_own(uint64_t entry)
{
    struct instrumented_record *record = own_record(entry);
    if (runtime_is_own(headroom_slot))
        *(uint64_t *)headroom_slot = (uint64_t)record;
    return (uint64_t)record;
}

uint64_t runtime_enter(uint64_t entry, const uint64_t *stack)
{
    if (!headroom_delta)
        runtime_begin();
    struct runtime_module *module = runtime_module_get();
    struct runtime_thread *thread = runtime_thread;
    runtime_check_fork(module);
    if (!module->region)
        return enter_own(entry);
    if (!headroom_slot && thread) {
        struct instrumented_record *top = root(module, thread, &thread->root);
        headroom_slot = top ? (uint64_t)slots_of(top) : 0;
    }
    if (!headroom_slot || !thread)
        return (uint64_t)overflow(module, entry);
    uint64_t slot = headroom_slot;
    uint32_t number = 0;
    bool signalled = false;
    struct instrumented_record *parent = owner_of(slot, &number);
    struct instrumented_record *record =
        find_record(module, thread, slot, parent, number, entry, stack, &signalled);
    if (!signalled && may_hold(parent, slot, record))
        *(uint64_t *)slot = (uint64_t)record;
    return (uint64_t)record;
}

/* ---- after a fork ---------------------------------------------------------------------------- */

static uint64_t next_record(uint64_t at, uint64_t end)
{
    uint64_t bytes = at + sizeof(struct instrumented_record) <= end ? record_at(at)->bytes : 0;
    return bytes && at + bytes <= end ? at + bytes : 0;
}

void runtime_copy_records(const struct instrumented_piece *from, struct instrumented_piece *to,
                          uint64_t used)
{
    uint64_t offset = (uint64_t)to - (uint64_t)from, end = (uint64_t)from + used;
    for (uint64_t at = (uint64_t)(from + 1), next; (next = next_record(at, end)); at = next) {
        const struct instrumented_record *old = record_at(at);
        struct instrumented_record *copy = fill(at + offset, old->function, old->slots, old->bytes);
        copy->parent = old->parent;
        copy->slot = old->slot;
    }
}

static bool holds(const struct runtime_thread *thread, uint64_t address)
{
    for (struct runtime_records *at = atomic_load(&thread->records); at; at = at->older)
        if (address - (uint64_t)at->piece < at->bytes)
            return true;
    return false;
}

static void unload_piece(const struct instrumented_piece *piece, uint64_t used)
{
    uint64_t end = (uint64_t)piece + used;
    for (uint64_t at = (uint64_t)(piece + 1), next; (next = next_record(at, end)); at = next)
        if (record_at(at)->function)
            record_at(at)->function |= INSTRUMENTED_UNLOADED;
}

static uint64_t used_of(const struct runtime_records *records)
{
    uint64_t used = atomic_load(&records->used);
    return used < records->bytes ? used : records->bytes;
}

/*
 * Callers in other modules keep the records' addresses, and a function of a module that is loaded
 * here next may have the address of one that was: it would take over a record of another size.
 */
void runtime_contexts_end(struct runtime_module *module)
{
    for (struct runtime_thread *thread = atomic_load(&module->threads); thread;
         thread = thread->next)
        for (struct runtime_records *at = atomic_load(&thread->records); at; at = at->older)
            unload_piece(at->piece, used_of(at));
    if (runtime_is_own(headroom_slot)) /* left there by a longjmp */
        headroom_slot = 0;
    if (module->overflow_root)
        unload_piece((struct instrumented_piece *)module->overflow,
                     atomic_load(&module->overflow_used) < module->overflow_bytes
                         ? atomic_load(&module->overflow_used)
                         : module->overflow_bytes);
}

/* Parents in another module's pieces are left alone: they may still be the parent process's. */
void runtime_link_records(const struct runtime_thread *thread,
                          const struct runtime_records *records)
{
    uint64_t start = (uint64_t)records->piece, used = used_of(records);
    for (uint64_t at = start + sizeof(struct instrumented_piece), next;
         (next = next_record(at, start + used)); at = next)
        if (record_at(at)->parent && holds(thread, record_at(at)->parent))
            push(record_at(record_at(at)->parent), record_at(at));
}
