// SPDX-License-Identifier: MIT
/*
 * The modules that processes load, each file once, and what is to be hooked in them: what was
 * named, what was built to be hooked, and what samples find hot. A function gets its number when it
 * is met first; the same function has the same number in all processes.
 */
#include "inject/internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- functions of the region ----------------------------------------------------------------- */

size_t inject_key(const char *text, uint8_t *argument)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon[1] < '0' || colon[1] > '5' || colon[2])
        return 0;
    *argument = (uint8_t)(colon[1] - '0');
    return (size_t)(colon - text);
}

/* What the user says of the key goes before what is known of the name. Sizes stay sizes. */
static void set_key(const struct inject_request *request, struct spans_function *function,
                    const char *name)
{
    for (size_t i = 0; i < request->keys_count; i++) {
        uint8_t argument;
        size_t length = inject_key(request->keys[i], &argument);
        if (length != strlen(name) || strncmp(request->keys[i], name, length) != 0)
            continue;
        if (function->key == SPANS_KEY_NONE || function->key_argument != argument)
            function->key = SPANS_KEY_VALUE;
        function->key_argument = argument;
    }
}

/* Its number, 0: there is no room. module NULL: an import. */
static uint32_t append(const struct inject_modules *modules, const struct inject_module *module,
                       const char *name, enum spans_entry entry, uint64_t vaddr)
{
    struct spans_region *region = modules->region;
    uint32_t number = atomic_fetch_add(&region->functions, 1);
    if (number == 0 || number >= SPANS_FUNCTIONS) {
        atomic_store(&region->functions, SPANS_FUNCTIONS);
        return 0;
    }
    struct spans_function *function = &region->function[number];
    const struct patch_known *known = entry == SPANS_MARKED ? NULL : patch_known(name);
    atomic_store(&function->state, SPANS_FILLING);
    function->class = known ? known->class : SPANS_CODE;
    function->entry = (uint8_t)entry;
    function->key = known ? known->key : entry == SPANS_MARKED ? SPANS_KEY_VALUE : SPANS_KEY_NONE;
    function->key_argument = known ? known->key_argument : 0;
    function->device = module ? module->stat_device : 0;
    function->inode = module ? module->inode : 0;
    function->vaddr = vaddr;
    snprintf(function->name, sizeof function->name, "%s", name);
    set_key(modules->request, function, name);
    atomic_store(&function->every, modules->request->every ? modules->request->every : 1);
    atomic_store_explicit(&function->state, SPANS_READY, memory_order_release);
    return number;
}

static uint32_t find_function(const struct spans_region *region, const char *name,
                              enum spans_entry entry)
{
    uint32_t count = atomic_load(&region->functions);
    for (uint32_t i = 1; i < count && i < SPANS_FUNCTIONS; i++)
        if (region->function[i].entry == entry &&
            strncmp(region->function[i].name, name, SPANS_NAME - 1) == 0)
            return i;
    return 0;
}

void inject_modules_known(struct inject_modules *modules)
{
    size_t count;
    if (modules->request->only_named)
        return;
    const struct patch_known *known = patch_known_all(&count);
    for (size_t i = 0; i < count; i++)
        if (!patch_never_import(known[i].name))
            append(modules, NULL, known[i].name, SPANS_IMPORT, 0);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static void refuse(struct inject_modules *modules, const struct inject_module *module,
                   size_t number, const char *reason)
{
    const char *name = patch_readable(module->patch, number);
    if (name[0])
        inject_unhooked_add(modules->unhooked, name, module->path, reason);
}

static struct inject_hook *add_hook(struct inject_modules *modules)
{
    if (!UTIL_GROW(modules->hooks, modules->hooks_capacity, modules->hooks_count))
        return NULL;
    struct inject_hook *hook = calloc(1, sizeof *hook);
    if (hook)
        modules->hooks[modules->hooks_count++] = hook;
    return hook;
}

static bool is_hooked(const struct inject_modules *modules, const struct inject_module *module,
                      uint64_t vaddr)
{
    for (size_t i = 0; i < modules->hooks_count; i++)
        if (modules->hooks[i]->module == module && modules->hooks[i]->plan.vaddr == vaddr &&
            (modules->hooks[i]->kind == INJECT_JUMP || modules->hooks[i]->kind == INJECT_CALLED))
            return true;
    return false;
}

/* The hook whose code lies on some of the same bytes; NULL: there is none. */
static const struct inject_hook *hook_on(const struct inject_modules *modules,
                                         const struct inject_module *module,
                                         const struct patch_plan *plan)
{
    for (size_t i = 0; i < modules->hooks_count; i++) {
        const struct inject_hook *other = modules->hooks[i];
        if (other->module == module && other->kind != INJECT_CALLED &&
            inject_overlap(plan, &other->plan))
            return other;
    }
    return NULL;
}

enum want { WANT_NAMED, WANT_BUILT, WANT_HOT, WANT_LOCKING };

enum {
    CALLERS_MAX = 64,             /* of locks, in a module: more are no choice             */
    CALLERS_BYTES_MAX = 16 << 20, /* of its code: the program waits meanwhile              */
};

/* Which of the ways is open. False: none; reason "" if that is not worth a word. */
static bool plan(const struct inject_modules *modules, struct inject_module *module,
                 const struct patch_function *function, enum want want, struct inject_hook *hook,
                 struct patch_reason *reason)
{
    const char *never = patch_never(function->name);
    hook->kind = INJECT_JUMP;
    hook->plan.vaddr = function->vaddr;
    if (never) {
        snprintf(reason->sentence, sizeof reason->sentence, "%s", never);
        return false;
    }
    if (patch_module_calls_profile(module->patch) && !function->prepared) {
        hook->kind = INJECT_CALLED;
        return true;
    }
    if (modules->request->no_patch && !function->prepared) {
        snprintf(reason->sentence, sizeof reason->sentence, "%s",
                 want == WANT_NAMED ? "code that was not built for it is not changed" : "");
        return false;
    }
    return patch_plan(module->patch, function->vaddr, &hook->plan, reason);
}

/* named: as in struct spans_function. */
static void want(struct inject_modules *modules, struct inject_module *module, size_t number,
                 enum want why, uint32_t named)
{
    const struct patch_function *function = patch_function(module->patch, number);
    struct inject_hook planned = {.module = module}, *hook;
    struct patch_reason reason = {.sentence = ""};
    if (is_hooked(modules, module, function->vaddr))
        return;
    if (!plan(modules, module, function, why, &planned, &reason)) {
        if (reason.sentence[0])
            refuse(modules, module, number, reason.sentence);
        return;
    }
    if (planned.kind == INJECT_JUMP && hook_on(modules, module, &planned.plan)) {
        refuse(modules, module, number, "a marker or a loop is timed in its first instructions");
        return;
    }
    enum spans_entry entry = planned.kind == INJECT_CALLED ? SPANS_CALLED : planned.plan.kind;
    planned.number = append(modules, module, function->name, entry, function->vaddr);
    if (planned.number == 0)
        refuse(modules, module, number, "there are 1023 others already");
    else if ((hook = add_hook(modules))) {
        modules->region->function[planned.number].takes_locks = why == WANT_LOCKING;
        modules->region->function[planned.number].named = named;
        *hook = planned;
    }
}

static void meet(struct inject_modules *modules, size_t pattern)
{
    if (modules->met)
        modules->met[pattern] = true;
}

/* The number from 1 of the pattern that is its name; 0: there is none. */
static uint32_t named_marker(struct inject_modules *modules, const struct patch_marker *marker)
{
    for (size_t i = 0; i < modules->request->functions_count; i++)
        if (strcmp(modules->request->functions[i], marker->name) == 0) {
            meet(modules, i);
            return (uint32_t)i + 1;
        }
    return 0;
}

static struct inject_hook hook_of(struct inject_module *module, const struct patch_marker *marker)
{
    static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    struct inject_hook hook = {.module = module,
                               .kind = marker->kind == PATCH_MARKER_BEGIN ? INJECT_MARKER_BEGIN
                                                                          : INJECT_MARKER_END};
    hook.plan.vaddr = hook.plan.entry = marker->site;
    hook.plan.window_bytes = sizeof nop;
    hook.plan.instructions = 1;
    hook.plan.single = true;
    memcpy(hook.plan.original, nop, sizeof nop);
    return hook;
}

/* Is a loop timed where one of its ends is? A beginning without its end would be open for ever. */
static bool is_on_loop(const struct inject_modules *modules, struct inject_module *module,
                       const char *name)
{
    uint32_t number = find_function(modules->region, name, SPANS_MARKED);
    for (size_t i = 0; modules->request->loops_count && i < patch_markers(module->patch); i++) {
        const struct patch_marker *marker = patch_marker(module->patch, i);
        struct inject_hook planned = hook_of(module, marker);
        const struct inject_hook *other =
            strcmp(marker->name, name) == 0 ? hook_on(modules, module, &planned.plan) : NULL;
        if (other && other->number != number)
            return true;
    }
    return false;
}

static void want_marker(struct inject_modules *modules, struct inject_module *module,
                        const struct patch_marker *marker)
{
    uint32_t named = named_marker(modules, marker);
    if (modules->request->only_named && !named)
        return;
    if (is_on_loop(modules, module, marker->name)) {
        inject_unhooked_add(modules->unhooked, marker->name, module->path,
                            "a loop is timed where it stands");
        return;
    }
    uint32_t number = find_function(modules->region, marker->name, SPANS_MARKED);
    if (number == 0)
        number = append(modules, module, marker->name, SPANS_MARKED, 0);
    struct inject_hook *hook = number ? add_hook(modules) : NULL;
    if (!hook) {
        inject_unhooked_add(modules->unhooked, marker->name, module->path,
                            "there are 1023 others already");
        return;
    }
    modules->region->function[number].named = named;
    *hook = hook_of(module, marker);
    hook->number = number;
}

static uint64_t code_bytes(const struct patch_module *patch)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < patch_functions(patch); i++)
        bytes += patch_function(patch, i)->bytes;
    return bytes;
}

/*
 * What a lock costs is lost in the function that takes it as well: while it holds the lock its data
 * come from another processor. Samples find such functions only after a while, and not at all where
 * a program is over by then, or its threads leave headroom no processor.
 */
static void want_callers_of_locks(struct inject_modules *modules, struct inject_module *module)
{
    size_t callers[CALLERS_MAX + 1], count = 0;
    if (code_bytes(module->patch) > CALLERS_BYTES_MAX)
        return;
    for (size_t i = 0; count <= CALLERS_MAX &&
                       (i = patch_next_caller(module->patch, SPANS_LOCK, i)) != PATCH_NONE;
         i++)
        callers[count++] = i;
    for (size_t i = 0; count <= CALLERS_MAX && i < count; i++)
        want(modules, module, callers[i], WANT_LOCKING, 0);
}

/* Its number in the region: one for all loops of a name. */
static uint32_t number_of_loop(struct inject_modules *modules, const struct inject_module *module,
                               const struct inject_loop *loop)
{
    struct spans_region *region = modules->region;
    for (uint32_t i = 1; i < region->functions && i < SPANS_FUNCTIONS; i++)
        if (region->function[i].entry == SPANS_MARKED && region->function[i].named == loop->named)
            return i;
    uint32_t number =
        append(modules, module, modules->request->functions[loop->named - 1], SPANS_MARKED, 0);
    region->function[number].named = loop->named; /* number 0 is nobody's */
    return number;
}

/* Can all of a loop's places be hooked beside those that are? What another loop of the same name leads to is the same place. */
static bool are_free(const struct inject_modules *modules, const struct inject_module *module,
                     uint32_t named, const struct inject_site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct inject_hook *other = hook_on(modules, module, &sites[i].plan);
        if (other && (modules->region->function[other->number].named != named ||
                      other->kind != sites[i].kind || other->where != sites[i].where ||
                      other->plan.entry != sites[i].plan.entry))
            return false;
    }
    return true;
}

static void want_loop(struct inject_modules *modules, struct inject_module *module,
                      const struct inject_loop *loop)
{
    struct inject_site sites[INJECT_SITES_MAX];
    size_t count = 0;
    char reason[160];
    bool inside = false;
    meet(modules, loop->named - 1);
    bool good = inject_loop_sites(module->patch, loop->function, loop->head, sites, &count, &inside,
                                  reason);
    if (good && !are_free(modules, module, loop->named, sites, count)) {
        good = false;
        snprintf(reason, sizeof reason, "it is entered or left where another region is timed");
    }
    uint32_t number = good ? number_of_loop(modules, module, loop) : 0;
    if (!number)
        inject_unhooked_add(modules->unhooked, modules->request->functions[loop->named - 1],
                            module->path, good ? "there are 1023 others already" : reason);
    if (number)
        modules->region->function[number].inside |= inside;
    for (size_t i = 0; number && i < count; i++) {
        struct inject_hook *hook =
            hook_on(modules, module, &sites[i].plan) ? NULL : add_hook(modules);
        if (hook)
            *hook = (struct inject_hook){.module = module,
                                         .number = number,
                                         .kind = sites[i].kind,
                                         .where = sites[i].where,
                                         .plan = sites[i].plan,
                                         .to = sites[i].to};
    }
}

static void want_all(struct inject_modules *modules, struct inject_module *module)
{
    const struct inject_request *request = modules->request;
    for (size_t i = 0; i < request->loops_count; i++)
        if (strcmp(request->loops[i].path, module->path) == 0)
            want_loop(modules, module, &request->loops[i]);
    for (size_t i = 0; i < patch_markers(module->patch); i++)
        want_marker(modules, module, patch_marker(module->patch, i));
    for (size_t i = 0; i < request->functions_count; i++)
        for (size_t j = 0;
             (j = patch_next_match(module->patch, request->functions[i], j)) != PATCH_NONE; j++) {
            meet(modules, i);
            want(modules, module, j, WANT_NAMED, (uint32_t)i + 1);
        }
    for (size_t i = 0; request->functions_count == 0 && i < patch_prepared(module->patch); i++) {
        const struct patch_prepared *prepared = patch_prepared_entry(module->patch, i);
        size_t number = patch_function_at(module->patch, prepared->function);
        if (prepared->kind == PATCH_BY_HEADROOM && number != PATCH_NONE)
            want(modules, module, number, WANT_BUILT, 0);
    }
    if (request->functions_count == 0)
        want_callers_of_locks(modules, module);
}

void inject_modules_choose(struct inject_modules *modules, struct inject_module *module,
                           uint64_t vaddr)
{
    size_t number = patch_function_at(module->patch, vaddr);
    if (number != PATCH_NONE)
        want(modules, module, number, WANT_HOT, 0);
}

uint32_t inject_modules_loop(struct inject_modules *modules, const struct inject_module *module,
                             size_t number, uint64_t head, bool waits)
{
    const struct patch_function *function = patch_function(module->patch, number);
    uint32_t made = append(modules, module, function->name, SPANS_LOOP, head);
    if (made) {
        modules->region->function[made].class = waits ? SPANS_CONDITION : SPANS_CODE;
        modules->region->function[made].key = SPANS_KEY_NONE;
    }
    return made;
}

/* ---- modules ------------------------------------------------------------------- */

/* The C library's own functions are hooked where they are called; nothing is gained by more. */
static bool is_own(const struct inject_modules *modules, const char *path)
{
    static const char *const foreign[] = {
        "libc.so.6",     "libc-2.*.so",  "ld-linux*.so*", "ld-2.*.so",     "libpthread.so.0",
        "libpthread-2*", "libdl.so.2",   "libdl-2*",      "librt.so.1",    "librt-2*",
        "libm.so.6",     "libm-2*",      "libmvec.so.1",  "libgcc_s.so.1", "libresolv.so.2",
        "libnss_*.so.2", "libutil.so.1", "libanl.so.1"};
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || strcmp(path, modules->request->agent) == 0)
        return false;
    for (size_t i = 0; i < BASE_COUNT(foreign); i++)
        if (fnmatch(foreign[i], slash + 1, 0) == 0)
            return false;
    return true;
}

struct inject_module *inject_modules_get(struct inject_modules *modules,
                                         const struct inject_mapping *mapping)
{
    struct inject_module *module;
    for (module = modules->first; module; module = module->next)
        if (module->device == mapping->device && module->inode == mapping->inode)
            return module;
    module = calloc(1, sizeof *module);
    if (!module)
        return NULL;
    struct stat status;
    module->device = module->stat_device = mapping->device;
    module->inode = mapping->inode;
    module->path = strdup(mapping->path);
    module->new = true;
    /* Where it has been replaced meanwhile its functions differ, and are left alone. */
    if (module->path && is_own(modules, module->path) && stat(module->path, &status) == 0 &&
        S_ISREG(status.st_mode) && patch_module_open(module->path, &module->patch) != BASE_OK)
        module->patch = NULL;
    else if (module->path && module->patch && status.st_ino == module->inode)
        module->stat_device = status.st_dev;
    const char *foreign = module->patch ? patch_foreign(module->patch) : NULL;
    if (foreign) {
        inject_unhooked_add(modules->unhooked, "*", module->path, foreign);
        patch_module_close(module->patch);
        module->patch = NULL;
    }
    module->next = modules->first;
    modules->first = module;
    if (module->patch)
        want_all(modules, module);
    return module;
}

/* ---- imports ------------------------------------------------------------------- */

/* The number from 1 of the last pattern that it matches; 0: it matches none. */
static uint32_t named_import(struct inject_modules *modules, const char *name)
{
    uint32_t named = 0;
    for (size_t i = 0; i < modules->request->functions_count; i++)
        if (fnmatch(modules->request->functions[i], name, 0) == 0) {
            meet(modules, i);
            named = (uint32_t)i + 1;
        }
    return named;
}

/* Calls of a function that is hooked itself are timed there. */
static bool is_hooked_by_name(const struct inject_modules *modules, const char *name)
{
    for (const struct inject_module *module = modules->first; module; module = module->next) {
        size_t number = module->patch ? patch_function_named(module->patch, name) : PATCH_NONE;
        if (number != PATCH_NONE &&
            is_hooked(modules, module, patch_function(module->patch, number)->vaddr))
            return true;
    }
    return false;
}

static void take_import(void *context, const char *name)
{
    struct inject_modules *modules = context;
    uint32_t named = named_import(modules, name), number = 0;
    if (!named || find_function(modules->region, name, SPANS_IMPORT) ||
        is_hooked_by_name(modules, name))
        return;
    const char *never = patch_never(name);
    if (!never)
        never = patch_never_import(name);
    if (!never && (number = append(modules, NULL, name, SPANS_IMPORT, 0)) == 0)
        never = "there are 1023 others already";
    modules->region->function[number].named = named; /* number 0 is nobody's */
    if (never)
        inject_unhooked_add(modules->unhooked, name, "", never);
}

void inject_modules_imports(struct inject_modules *modules)
{
    for (struct inject_module *module = modules->first; module; module = module->next) {
        if (module->new && module->patch && modules->request->functions_count > 0)
            inject_imports(module->path, take_import, modules);
        module->new = false;
    }
}

void inject_modules_unmet(struct inject_modules *modules)
{
    for (size_t i = 0; modules->met && i < modules->request->functions_count; i++)
        if (!modules->met[i])
            inject_unhooked_add(modules->unhooked, modules->request->functions[i], "",
                                "no function of the program matches it, nor one that it calls in a "
                                "library");
}

void inject_modules_free(struct inject_modules *modules)
{
    free(modules->met);
    for (size_t i = 0; i < modules->hooks_count; i++)
        free(modules->hooks[i]);
    free(modules->hooks);
    while (modules->first) {
        struct inject_module *module = modules->first;
        modules->first = module->next;
        patch_module_close(module->patch);
        free(module->path);
        free(module);
    }
}
