// SPDX-License-Identifier: MIT
/*
 * A process whose functions are hooked: from its piece, through its mappings, to the code written
 * into it.
 *
 * A process that starts waits and has one thread: everything is written at once. Otherwise, for
 * functions chosen later, modules loaded later and forked children that were caught half-way, the
 * int3 protocol is followed. What a forked child has inherited is found by looking at its code:
 * jumps into its areas are done, int3s with an entry in its table are continued, whatever else is
 * there is nobody's business.
 *
 * Pieces are not to be trusted: the addresses in them are used through /proc/PID/mem of a process
 * that maps this very piece, and never to write over anything but zeros in areas, old code that a
 * file has, and targets.
 */
#include "inject/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum {
    LOOK_MS = 250,   /* between looks at the mappings                                          */
    COST_SHARE = 50, /* and so many times what a look took                                     */
    RETRY_MS = 500,
    ATTEMPTS = 4,    /* for what failed because of threads                                     */
    GRACE_MS = 2000, /* samples of a process that has ended arrive so much later               */
    INT3 = 0xcc,
    JUMP = 0xe9,
    ALIGNMENT = 16,
    COMPARE_MAX = 1 << 20, /* bytes of a function compared with its file                        */
};

/* States of a hook in a process: attempts that failed, or one of these. */
enum { HOOK_NEW = 0, HOOK_BATCH = 100, HOOK_DONE, HOOK_LEFT };

/* ---- reasons --------------------------------------------------------------------------------- */

static const struct inject_loaded *find_loaded(const struct inject_process *process,
                                               const struct inject_module *module)
{
    for (size_t i = 0; i < process->loaded_count; i++)
        if (process->loaded[i].module == module)
            return &process->loaded[i];
    return NULL;
}

/* Not where its process has ended or the module is gone: there was nothing to hook any more. */
static void leave(struct inject_service *service, struct inject_process *process, size_t index,
                  const char *reason)
{
    const struct inject_hook *hook = service->modules.hooks[index];
    const struct inject_loaded *loaded = find_loaded(process, hook->module);
    uint8_t there;
    process->states[index] = HOOK_LEFT;
    if (process->code.memory >= 0 &&
        (!loaded || !inject_code_read(&process->code, hook->plan.vaddr + loaded->bias, &there, 1)))
        return;
    inject_unhooked_add(&service->unhooked, service->region->function[hook->number].name,
                        hook->module->path, reason);
}

static void done(struct inject_service *service, struct inject_process *process, size_t index)
{
    process->states[index] = HOOK_DONE;
    service->modules.hooks[index]->done = true;
}

/* Threads were in the way; later perhaps not. */
static void again(struct inject_service *service, struct inject_process *process, size_t index,
                  unsigned attempts, const char *reason)
{
    if (attempts >= ATTEMPTS)
        leave(service, process, index, reason);
    else
        process->states[index] = (uint8_t)attempts;
    process->retry_ns = os_now_ns(CLOCK_MONOTONIC) + RETRY_MS * MS;
}

/* ---- room for code --------------------------------------------------------------------------- */

/* Areas are filled from the start without gaps of a page: what a parent has used ends with the
 * first empty page. */
static uint64_t find_used(const struct inject_code *code, const struct spans_area *area)
{
    static const uint8_t zero[SPANS_PAGE];
    uint8_t there[SPANS_PAGE];
    uint64_t used = 0;
    for (uint64_t at = 0; at + SPANS_PAGE <= area->bytes; at += SPANS_PAGE) {
        if (!inject_code_read(code, area->start + at, there, sizeof there))
            return area->bytes;
        if (memcmp(there, zero, sizeof there) == 0)
            return used;
        used = at + SPANS_PAGE;
    }
    return used;
}

static uint32_t count_areas(const struct inject_process *process)
{
    uint32_t count = process->code.piece->areas_count;
    return count < SPANS_AREAS ? count : SPANS_AREAS;
}

static void know_areas(struct inject_process *process)
{
    if (process->areas_known)
        return;
    for (uint32_t i = 0; i < count_areas(process); i++)
        process->area_used[i] = find_used(&process->code, &process->code.piece->areas[i]);
    process->areas_known = true;
}

static bool is_in_areas(const struct inject_process *process, uint64_t address)
{
    for (uint32_t i = 0; i < count_areas(process); i++) {
        const struct spans_area *area = &process->code.piece->areas[i];
        if (address - area->start < area->bytes)
            return true;
    }
    return false;
}

/* ---- the code of a hook -------------------------------------------------------- */

/* What goes into the area for one hook. */
struct body {
    uint8_t bytes[PATCH_COPY_MAX + ALIGNMENT + PATCH_BRIDGE_BYTES + PATCH_MARKER_BYTES];
    size_t count;
    uint64_t bridge;   /* run-time addresses */
    uint64_t prologue; /* 0: none            */
};

static uint64_t align(uint64_t value)
{
    return (value + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* False: from there it does not reach. */
static bool emit(const struct inject_process *process, const struct inject_hook *hook,
                 uint64_t entry, uint64_t at, struct body *body)
{
    const struct spans_process *piece = process->code.piece;
    *body = (struct body){.bridge = at};
    if (hook->kind == INJECT_MARKER_BEGIN || hook->kind == INJECT_MARKER_END) {
        body->count = PATCH_MARKER_BYTES;
        return patch_emit_marker(entry, at, hook->number,
                                 hook->kind == INJECT_MARKER_BEGIN ? piece->marker_begin
                                                                   : piece->marker_end,
                                 body->bytes);
    }
    if (hook->kind == INJECT_SITE_BEGIN || hook->kind == INJECT_SITE_END) {
        uint64_t handler =
            hook->kind == INJECT_SITE_BEGIN ? piece->marker_begin : piece->marker_end;
        body->count =
            patch_emit_site(&hook->plan, entry, hook->where, hook->to + (entry - hook->plan.entry),
                            at, hook->number, handler, body->bytes);
        return body->count > 0;
    }
    /* The bridge first: it is the target of jumps. */
    body->prologue = at + PATCH_BRIDGE_BYTES;
    body->count = PATCH_BRIDGE_BYTES + hook->plan.copy_bytes;
    patch_emit_bridge(piece->stubs + hook->number * piece->stub_bytes, body->bytes);
    return patch_emit_prologue(&hook->plan, entry, body->prologue,
                               body->bytes + PATCH_BRIDGE_BYTES);
}

/* NULL, or why there is none; fills the jump. Nothing of it is executed yet. */
static const char *place(struct inject_process *process, const struct inject_hook *hook,
                         uint64_t entry, struct inject_rewrite *rewrite)
{
    static const uint8_t zero[sizeof((struct body *)0)->bytes];
    const struct inject_code *code = &process->code;
    know_areas(process);
    for (uint32_t i = 0; i < count_areas(process); i++) {
        const struct spans_area *area = &code->piece->areas[i];
        struct body body;
        uint64_t at = area->start + process->area_used[i];
        if (process->area_used[i] + sizeof body.bytes > area->bytes ||
            !emit(process, hook, entry, at, &body) ||
            !patch_emit_jump(entry, body.bridge, rewrite->after))
            continue;
        process->area_used[i] += align(body.count);
        uint64_t target = code->piece->targets + hook->number * sizeof target, old;
        if (!inject_code_replace(code, at, zero, body.bytes, body.count) ||
            (body.prologue &&
             (!inject_code_read(code, target, &old, sizeof old) ||
              !inject_code_replace(code, target, &old, &body.prologue, sizeof old))))
            return "its process cannot be written to";
        rewrite->at = entry;
        rewrite->to = body.bridge;
        return NULL;
    }
    return "there is no room for code near it";
}

/* ---- what is there --------------------------------------------------------------------------- */

enum found { FOUND_ORIGINAL, FOUND_HOOKED, FOUND_TRAP, FOUND_OTHER };

/* Puts back what was written at markers in a function. */
static void restore_markers(const struct inject_service *service, const struct inject_hook *hook,
                            uint8_t *text, size_t bytes)
{
    for (size_t i = 0; i < service->modules.hooks_count; i++) {
        const struct inject_hook *other = service->modules.hooks[i];
        uint64_t at = other->plan.entry - hook->plan.vaddr;
        if (other->module == hook->module && other->kind != INJECT_CALLED && other != hook &&
            at < bytes && at + PATCH_JUMP_BYTES <= bytes)
            memcpy(text + at, other->plan.original, PATCH_JUMP_BYTES);
    }
}

/* The plan was made from the file: all of the function must be as it is there. */
static bool is_text_of_file(const struct inject_service *service,
                            const struct inject_process *process, const struct inject_hook *hook,
                            uint64_t bias)
{
    size_t number = patch_function_at(hook->module->patch, hook->plan.vaddr), bytes = 0;
    const uint8_t *text =
        number == PATCH_NONE ? NULL : patch_text(hook->module->patch, number, &bytes);
    if (hook->kind != INJECT_JUMP || !text || bytes > COMPARE_MAX)
        return true; /* the window was compared */
    uint8_t *there = malloc(bytes);
    bool same = there && inject_code_read(&process->code, bias + hook->plan.vaddr, there, bytes);
    if (same && memcmp(there, text, bytes) != 0) {
        restore_markers(service, hook, there, bytes);
        same = memcmp(there, text, bytes) == 0;
    }
    free(there);
    return same;
}

static enum found look_at(const struct inject_service *service,
                          const struct inject_process *process, const struct inject_hook *hook,
                          uint64_t bias, uint64_t *to)
{
    uint8_t there[PATCH_WINDOW_MAX];
    uint64_t entry = hook->plan.entry + bias;
    int32_t distance;
    if (!inject_code_read(&process->code, entry, there, hook->plan.window_bytes))
        return FOUND_OTHER;
    if (memcmp(there, hook->plan.original, hook->plan.window_bytes) == 0)
        return is_text_of_file(service, process, hook, bias) ? FOUND_ORIGINAL : FOUND_OTHER;
    memcpy(&distance, there + 1, sizeof distance);
    *to = entry + PATCH_JUMP_BYTES + (uint64_t)(int64_t)distance;
    if (there[0] == JUMP && is_in_areas(process, *to))
        return FOUND_HOOKED;
    *to = inject_trap_find(process->code.piece, entry);
    return there[0] == INT3 && is_in_areas(process, *to) ? FOUND_TRAP : FOUND_OTHER;
}

static void fill_dangers(const struct patch_plan *plan, struct inject_rewrite *rewrite)
{
    for (unsigned i = 1; i < plan->instructions && !plan->single; i++)
        if (plan->starts[i] < PATCH_JUMP_BYTES && rewrite->dangers < PATCH_JUMP_BYTES)
            rewrite->danger[rewrite->dangers++] = plan->starts[i];
}

/* True: *rewrite is to be carried out, and nothing but that is missing. */
static bool prepare(struct inject_service *service, struct inject_process *process, size_t index,
                    uint64_t bias, struct inject_rewrite *rewrite)
{
    const struct inject_hook *hook = service->modules.hooks[index];
    uint64_t entry = hook->plan.entry + bias, to = 0;
    const char *reason = NULL;
    *rewrite = (struct inject_rewrite){.at = entry, .hook = (uint32_t)index};
    memcpy(rewrite->before, hook->plan.original, PATCH_JUMP_BYTES);
    fill_dangers(&hook->plan, rewrite);
    switch (look_at(service, process, hook, bias, &to)) {
    case FOUND_HOOKED: done(service, process, index); return false;
    case FOUND_TRAP:
        rewrite->state = INJECT_TRAPPED;
        rewrite->to = to;
        if (patch_emit_jump(entry, to, rewrite->after))
            return true;
        reason = "its code differs from its file";
        break;
    case FOUND_ORIGINAL: reason = place(process, hook, entry, rewrite); break;
    case FOUND_OTHER: reason = "its code differs from its file"; break;
    }
    if (reason)
        leave(service, process, index, reason);
    return !reason;
}

/* -finstrument-functions: nothing is written to its code. */
static void enter_called(struct inject_service *service, struct inject_process *process,
                         size_t index, uint64_t bias)
{
    const struct inject_hook *hook = service->modules.hooks[index];
    struct spans_process *piece = process->code.piece;
    uint64_t address = hook->plan.vaddr + bias;
    size_t slots = BASE_COUNT(piece->called), slot = base_mix64(address) % slots;
    for (size_t i = 0; i < slots; i++, slot = (slot + 1) % slots) {
        uint64_t there = atomic_load(&piece->called[slot].address);
        if (there != 0 && there != address)
            continue;
        piece->called[slot].function = hook->number;
        atomic_store_explicit(&piece->called[slot].address, address, memory_order_release);
        done(service, process, index);
        return;
    }
    leave(service, process, index, "there is no room for more in this process");
}

/* ---- all hooks of a process ---------------------------------------------------- */

static bool know_hooks(struct inject_service *service, struct inject_process *process)
{
    size_t count = service->modules.hooks_count;
    if (count <= process->states_count)
        return true;
    if (!UTIL_GROW(process->states, process->states_capacity, count - 1))
        return false;
    memset(process->states + process->states_count, HOOK_NEW, count - process->states_count);
    process->states_count = count;
    return true;
}

static bool is_unhooked(const struct inject_service *service, size_t index)
{
    uint32_t number = service->modules.hooks[index]->number;
    return atomic_load(&service->region->function[number].often) == SPANS_OFTEN_UNHOOKED;
}

/* Hooks that wait to be tried, of modules that are loaded: calls `each` until it returns false. */
static void for_each_due(struct inject_service *service, struct inject_process *process,
                         bool (*each)(struct inject_service *service,
                                      struct inject_process *process, size_t index, uint64_t bias))
{
    bool more = know_hooks(service, process);
    for (size_t i = 0; more && i < process->states_count; i++) {
        const struct inject_loaded *loaded;
        if (process->states[i] >= HOOK_BATCH || is_unhooked(service, i))
            continue;
        loaded = find_loaded(process, service->modules.hooks[i]->module);
        if (!loaded)
            continue;
        if (service->modules.hooks[i]->kind == INJECT_CALLED)
            enter_called(service, process, i, loaded->bias);
        else if (process->code.memory >= 0)
            more = each(service, process, i, loaded->bias);
        else
            leave(service, process, i, "its process cannot be written to");
    }
}

static bool write_now(struct inject_service *service, struct inject_process *process, size_t index,
                      uint64_t bias)
{
    struct inject_rewrite rewrite;
    if (!prepare(service, process, index, bias, &rewrite))
        return true;
    inject_rewrite_now(&process->code, &rewrite);
    if (rewrite.state == INJECT_DONE)
        done(service, process, index);
    else
        leave(service, process, index, "its process cannot be written to");
    return true;
}

static bool put_into_batch(struct inject_service *service, struct inject_process *process,
                           size_t index, uint64_t bias)
{
    struct inject_batch *batch = process->batch;
    if (batch->count == INJECT_BATCH_MAX)
        return false;
    if (!prepare(service, process, index, bias, &batch->rewrites[batch->count]))
        return true;
    /* Attempts are counted in danger of being forgotten: the batch has them while it lasts. */
    batch->attempts[batch->count++] = process->states[index];
    process->states[index] = HOOK_BATCH;
    return true;
}

static void end_batch(struct inject_service *service, struct inject_process *process,
                      const char *refused)
{
    struct inject_batch *batch = process->batch;
    for (size_t i = 0; i < batch->count; i++) {
        size_t index = batch->rewrites[i].hook;
        unsigned attempts = batch->attempts[i] + 1u;
        if (refused)
            again(service, process, index, attempts, refused);
        else if (batch->rewrites[i].state == INJECT_DONE)
            done(service, process, index);
        else if (batch->rewrites[i].state == INJECT_UNDONE)
            again(service, process, index, attempts,
                  "it could not be shown that no thread was in its first instructions");
        else
            leave(service, process, index, "its process cannot be written to");
    }
    batch->count = 0;
}

static bool has_due(struct inject_service *service, struct inject_process *process)
{
    if (!know_hooks(service, process))
        return false;
    for (size_t i = 0; i < process->states_count; i++)
        if (process->states[i] < HOOK_BATCH && !is_unhooked(service, i) &&
            find_loaded(process, service->modules.hooks[i]->module))
            return true;
    return false;
}

/* ---- hooks that are taken away ------------------------------------------------- */

static struct spans_function *function_of(const struct inject_service *service, size_t index)
{
    return &service->region->function[service->modules.hooks[index]->number];
}

/*
 * The original bytes, in place of the jump. No thread can be in the middle of them: they were
 * executed in their copy, which stays.
 */
static bool write_original(struct inject_process *process, const struct inject_hook *hook,
                           uint64_t entry)
{
    struct inject_rewrite rewrite = {.at = entry};
    int32_t distance;
    if (!inject_code_read(&process->code, entry, rewrite.before, sizeof rewrite.before) ||
        rewrite.before[0] != JUMP)
        return false;
    memcpy(&distance, rewrite.before + 1, sizeof distance);
    rewrite.to = entry + PATCH_JUMP_BYTES + (uint64_t)(int64_t)distance;
    memcpy(rewrite.after, hook->plan.original, PATCH_JUMP_BYTES);
    if (inject_patching_begin(&process->code))
        return false;
    inject_rewrite_trap(&process->code, &rewrite);
    inject_synchronise(&process->code);
    inject_rewrite_tail(&process->code, &rewrite);
    inject_synchronise(&process->code);
    inject_rewrite_head(&process->code, &rewrite);
    inject_patching_end(&process->code);
    return rewrite.state == INJECT_DONE;
}

/*
 * Functions that headroom itself chose and that turn out to be executed too often to be looked at. Not those that take
 * locks: where they are executed that often, so are the functions that they call, which stay hooked,
 * and without them what a lock costs cannot be judged.
 */
static void unhook_often(struct inject_service *service, struct inject_process *process)
{
    for (size_t i = 0; i < process->states_count; i++) {
        const struct inject_hook *hook = service->modules.hooks[i];
        struct spans_function *function = function_of(service, i);
        const struct inject_loaded *loaded;
        if (process->states[i] != HOOK_DONE || hook->kind != INJECT_JUMP ||
            atomic_load(&function->often) == SPANS_OFTEN_NOT || function->takes_locks ||
            !(loaded = find_loaded(process, hook->module)))
            continue;
        leave(
            service, process, i,
            "it is so short and executed so often that even counting it would take too much time");
        if (write_original(process, hook, hook->plan.entry + loaded->bias))
            atomic_store(&function->often, SPANS_OFTEN_UNHOOKED);
    }
}

/* True: threads are waited for. */
static bool patch_running(struct inject_service *service, struct inject_process *process)
{
    if (process->batch && process->batch->waits) {
        if (!inject_batch_step(process->batch))
            return true;
        end_batch(service, process, NULL);
    }
    if (os_now_ns(CLOCK_MONOTONIC) < process->retry_ns || !has_due(service, process))
        return false;
    if (!process->batch)
        process->batch = calloc(1, sizeof *process->batch);
    if (!process->batch)
        return false;
    process->batch->code = &process->code;
    for_each_due(service, process, put_into_batch);
    if (process->batch->count == 0)
        return false;
    const char *refused = inject_batch_begin(process->batch);
    if (refused)
        end_batch(service, process, refused);
    return !refused;
}

/* ---- modules of a process ------------------------------------------------------ */

static struct inject_loaded *find_instance(const struct inject_process *process,
                                           const struct inject_module *module, uint64_t bias)
{
    for (size_t i = 0; i < process->loaded_count; i++)
        if (process->loaded[i].module == module && process->loaded[i].bias == bias)
            return &process->loaded[i];
    return NULL;
}

static bool add_loaded(struct inject_process *process, const struct inject_loaded *loaded)
{
    return UTIL_PUSH(process->loaded, process->loaded_count, process->loaded_capacity, *loaded);
}

/* The agent hooks what a module that was loaded later imports. */
static void announce_module(struct inject_process *process, uint64_t address)
{
    struct spans_process *piece = process->code.piece;
    uint32_t count = atomic_load(&piece->new_modules);
    if (process->starts || count >= SPANS_NEW_MODULES)
        return;
    piece->new_module[count] = address;
    atomic_store_explicit(&piece->new_modules, count + 1, memory_order_release);
}

static void meet(struct inject_service *service, struct inject_process *process,
                 const struct inject_mapping *mapping)
{
    struct inject_module *module = inject_modules_get(&service->modules, mapping);
    uint64_t vaddr = mapping->offset;
    if (!module || (module->patch && !patch_module_vaddr(module->patch, mapping->offset, &vaddr)))
        return;
    uint64_t bias = mapping->start - vaddr;
    struct inject_loaded *loaded = find_instance(process, module, bias);
    if (!loaded) {
        struct inject_loaded new = {module, bias, mapping->start, mapping->end,
                                    process->generation};
        if (add_loaded(process, &new))
            announce_module(process, mapping->start);
        return;
    }
    if (loaded->seen != process->generation)
        loaded->start = mapping->start;
    loaded->seen = process->generation;
    loaded->end = mapping->end;
}

/* What is gone may come back, elsewhere and as it was. */
static void forget_unloaded(struct inject_service *service, struct inject_process *process)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->loaded_count; i++) {
        const struct inject_loaded *loaded = &process->loaded[i];
        if (loaded->seen == process->generation) {
            process->loaded[kept++] = *loaded;
            continue;
        }
        for (size_t j = 0; j < process->states_count; j++)
            if (service->modules.hooks[j]->module == loaded->module &&
                process->states[j] != HOOK_BATCH)
                process->states[j] = HOOK_NEW;
    }
    process->loaded_count = kept;
}

/* Where our piece is mapped in it; 0: it is not this image. */
static uint64_t find_piece(const struct inject_service *service,
                           const struct inject_process *process,
                           const struct inject_mapping *mapping)
{
    if (mapping->inode != service->file_inode || mapping->device != service->file_device ||
        process->offset < mapping->offset ||
        process->offset - mapping->offset >= mapping->end - mapping->start)
        return 0;
    return mapping->start + (process->offset - mapping->offset);
}

/* 0; ESRCH: it has ended, or executes another program. Else the mappings could not be read. */
static int look_at_modules(struct inject_service *service, struct inject_process *process)
{
    uint64_t began = os_now_ns(CLOCK_MONOTONIC), piece = 0;
    struct inject_mapping mapping;
    int reason = inject_maps_read(&service->maps, process->code.pid);
    if (reason)
        return reason;
    while (!piece && inject_maps_next(&service->maps, &mapping))
        piece = find_piece(service, process, &mapping);
    struct spans_piece there;
    if (!piece || (process->code.memory >= 0 &&
                   (!inject_code_read(&process->code, piece, &there, sizeof there) ||
                    memcmp(&there, &process->code.piece->piece, sizeof there) != 0)))
        return ESRCH;
    process->generation++;
    inject_maps_rewind(&service->maps);
    while (inject_maps_next(&service->maps, &mapping))
        /* What is written to a shared mapping is written to the file, if that is allowed at all. */
        if (mapping.executable && !mapping.shared && mapping.inode != 0 && mapping.path[0] == '/')
            meet(service, process, &mapping);
    inject_modules_imports(&service->modules);
    forget_unloaded(service, process);
    process->starts = false;
    uint64_t now = os_now_ns(CLOCK_MONOTONIC), cost = (now - began) * COST_SHARE;
    process->next_look_ns = now + (cost > LOOK_MS * MS ? cost : LOOK_MS * MS);
    return 0;
}

/* ---- beginning and end --------------------------------------------------------- */

static void set_phase(struct spans_process *piece, enum spans_phase phase)
{
    atomic_store_explicit(&piece->phase, phase, memory_order_release);
    syscall(SYS_futex, &piece->phase, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The process waits for us until we say otherwise, and is alone in its memory. */
static bool is_held(struct inject_process *process)
{
    uint32_t starting = SPANS_STARTING;
    struct spans_process *piece = process->code.piece;
    if (!atomic_compare_exchange_strong(&piece->phase, &starting, SPANS_PATCHING))
        return false;
    if (inject_task_count(process->code.pid) == 1)
        return true;
    set_phase(piece, SPANS_PATCHED_UP);
    return false;
}

static void refuse_patching(struct inject_service *service, int reason)
{
    char sentence[256];
    if (service->patching_refused)
        return;
    service->patching_refused = reason;
    snprintf(sentence, sizeof sentence,
             "functions of a process cannot be hooked, because the kernel does not let headroom "
             "write to it (%s); calls to library functions are still timed.",
             strerror(reason));
    inject_service_note(service, sentence);
}

static void end(struct inject_process *process)
{
    if (process->code.memory >= 0)
        close(process->code.memory);
    munmap(process->code.piece, process->piece_bytes);
    process->code.piece = NULL;
    process->code.memory = -1;
    process->ended_ns = os_now_ns(CLOCK_MONOTONIC);
    inject_batch_free(process->batch);
    process->batch = NULL;
}

static void open_memory(struct inject_service *service, struct inject_process *process)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/mem", process->code.pid);
    process->code.memory = open(path, O_RDWR | O_CLOEXEC);
    if (process->code.memory < 0 && errno != ENOENT && errno != ESRCH)
        refuse_patching(service, errno);
}

/* Another program of the same process, or another process of the same number. */
static void supersede(struct inject_service *service, uint32_t pid)
{
    for (struct inject_process *process = service->processes; process; process = process->next)
        if (process->code.pid == pid && process->code.piece)
            end(process);
}

static void begin(struct inject_service *service, struct inject_process *process)
{
    process->starts = true;
    open_memory(service, process);
    int reason = look_at_modules(service, process);
    if (reason == ESRCH) {
        set_phase(process->code.piece, SPANS_PATCHED_UP);
        end(process);
        return;
    }
    if (reason)
        refuse_patching(service, reason);
    if (is_held(process)) {
        for_each_due(service, process, write_now);
        set_phase(process->code.piece, SPANS_PATCHED_UP);
    }
}

void inject_process_attach(struct inject_service *service, uint64_t offset,
                           const struct spans_piece *header)
{
    size_t bytes = (sizeof(struct spans_process) + SPANS_PAGE - 1) & ~(size_t)(SPANS_PAGE - 1);
    /* headroom maps pieces too: a scribbled number must not lead it to itself. */
    if (header->bytes < sizeof(struct spans_process) || header->pid == 0 || header->pid > INT_MAX ||
        header->pid == (uint32_t)getpid())
        return;
    supersede(service, header->pid);
    struct inject_process *process = calloc(1, sizeof *process);
    void *piece =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, service->file, (off_t)offset);
    if (!process || piece == MAP_FAILED) {
        free(process);
        if (piece != MAP_FAILED)
            munmap(piece, bytes);
        return;
    }
    process->offset = offset;
    process->piece_bytes = bytes;
    process->code = (struct inject_code){.pid = header->pid, .memory = -1, .piece = piece};
    process->next = service->processes;
    service->processes = process;
    begin(service, process);
}

bool inject_process_serve(struct inject_service *service, struct inject_process *process)
{
    if (!process->code.piece)
        return false;
    if (os_now_ns(CLOCK_MONOTONIC) >= process->next_look_ns &&
        look_at_modules(service, process) == ESRCH) {
        end(process);
        return false;
    }
    if (process->hushed)
        return false;
    if (service->request->functions_count == 0)
        unhook_often(service, process);
    return patch_running(service, process);
}

void inject_process_hush(struct inject_service *service, struct inject_process *process)
{
    process->hushed = true;
    if (!process->batch || !process->batch->waits)
        return;
    inject_batch_cut(process->batch);
    end_batch(service, process, NULL);
}

/* ---- samples ------------------------------------------------------------------- */

static const struct inject_loaded *find_module(const struct inject_process *process, uint64_t ip)
{
    for (size_t i = 0; i < process->loaded_count; i++)
        if (ip >= process->loaded[i].start && ip < process->loaded[i].end)
            return &process->loaded[i];
    return NULL;
}

void inject_process_sample(struct inject_service *service, const struct inject_sample *sample)
{
    struct inject_process *process = service->processes; /* the latest of that number */
    while (process && process->code.pid != sample->pid)
        process = process->next;
    const struct inject_loaded *loaded = process ? find_module(process, sample->ip) : NULL;
    const struct patch_module *patch = loaded ? loaded->module->patch : NULL;
    size_t number = patch ? patch_function_at(patch, sample->ip - loaded->bias) : PATCH_NONE;
    if (number == PATCH_NONE)
        inject_choice_add(&service->choice, NULL, 0, sample->weight_ns);
    else
        inject_choice_add(&service->choice, loaded->module, patch_function(patch, number)->vaddr,
                          sample->weight_ns);
    if (process && service->request->functions_count == 0)
        inject_loops_sample(&service->loops, process, loaded, number, sample);
    if (process && process->batch)
        inject_batch_sample(process->batch, sample->tid, sample->ip, sample->general[BASE_RSP],
                            sample->time_ns);
}

void inject_processes_free(struct inject_service *service, bool all)
{
    uint64_t now = os_now_ns(CLOCK_MONOTONIC);
    for (struct inject_process **link = &service->processes; *link;) {
        struct inject_process *process = *link;
        if (!all && (process->code.piece || now - process->ended_ns < GRACE_MS * MS)) {
            link = &process->next;
            continue;
        }
        if (process->code.piece)
            end(process);
        *link = process->next;
        free(process->loaded);
        free(process->states);
        free(process);
    }
}
