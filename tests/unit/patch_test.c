// SPDX-License-Identifier: MIT
/*
 * patch: assembled functions of which each is refused for one reason or planned in a known way;
 * compiled ones that are really patched in this process and must go on computing what they did; all
 * functions of real files: no plan may crash, and every copy must name the same operands and
 * targets as its original.
 *
 * Tests that need a compiler or a file that is missing are skipped and say so.
 */
#include "patch/patch.h"

#include "isa/isa.h"
#include "wire/spans.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/headroom-patch-XXXXXX";

static int run(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    int length = snprintf(command, sizeof command, "cd %s && ", directory);
    va_start(arguments, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, arguments);
    va_end(arguments);
    return system(command);
}

static int make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    return run("rm -rf %s", directory);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void need(const char *tool)
{
    if (run("command -v %s >/dev/null 2>&1", tool) == 0)
        return;
    print_message("no %s\n", tool);
    skip();
}

static struct patch_module *open_module(const char *path)
{
    struct patch_module *module = NULL;
    assert_int_equal(patch_module_open(path, &module), BASE_OK);
    return module;
}

static uint64_t address_of(const struct patch_module *module, const char *name)
{
    size_t number = patch_function_named(module, name);
    if (number == PATCH_NONE)
        fail_msg("no function %s", name);
    return patch_function(module, number)->vaddr;
}

static struct patch_plan plan_of(struct patch_module *module, const char *name)
{
    struct patch_plan plan;
    struct patch_reason reason;
    if (!patch_plan(module, address_of(module, name), &plan, &reason))
        fail_msg("%s: %s", name, reason.sentence);
    assert_int_equal(reason.refusal, PATCH_FITS);
    return plan;
}

static void assert_refused(struct patch_module *module, const char *name,
                           enum patch_refusal refusal)
{
    struct patch_plan plan = {.vaddr = 42};
    struct patch_reason reason;
    if (patch_plan(module, address_of(module, name), &plan, &reason))
        fail_msg("%s is not refused", name);
    if (reason.refusal != refusal)
        fail_msg("%s: %s, not %s: %s", name, patch_refusal_text(reason.refusal),
                 patch_refusal_text(refusal), reason.sentence);
    assert_int_equal(plan.vaddr, 42);
    assert_true(reason.sentence[0] != 0);
}

/* ---- assembled functions ---------------------------------------------------------------- */

/* A library of the source NAME.s beside this one. */
static struct patch_module *assemble(const char *name)
{
    char library[64];
    need("gcc");
    snprintf(library, sizeof library, "%s.so", name);
    assert_int_equal(
        run("gcc -shared -nostdlib -Wl,-Bsymbolic -o %s " SOURCES "/%s.s", library, name), 0);
    return open_module(path_of(library));
}

static void test_refusals(void **state)
{
    static const struct {
        const char *name;
        enum patch_refusal refusal;
    } cases[] = {
        {"short_one", PATCH_SHORT},
        {"short_jump", PATCH_SHORT},
        {"falls_out", PATCH_SHORT},
        {"undecodable", PATCH_UNDECODABLE},
        {"undecodable_window", PATCH_UNDECODABLE},
        {"loops_into", PATCH_JUMP_INTO},
        {"near_into", PATCH_JUMP_INTO},
        {"jumped_into", PATCH_JUMP_INTO},
        {"called_into", PATCH_JUMP_INTO},
        {"counts_into", PATCH_JUMP_INTO},
        {"table_into", PATCH_TABLE_INTO},
        {"label_table_into", PATCH_TABLE_INTO},
        {"pointer_into", PATCH_TABLE_INTO},
        {"address_into", PATCH_TABLE_INTO},
        {"loop_whole", PATCH_LOOP},
        {"loop_endbr", PATCH_LOOP},
        {"loop_cold", PATCH_LOOP},
        {"loop_table", PATCH_LOOP},
        {"loop_cold.cold", PATCH_PART},
        {"traps", PATCH_IMMOVABLE},
        {"transaction", PATCH_IMMOVABLE},
        {"short_call", PATCH_IMMOVABLE},
        {"stack_call", PATCH_IMMOVABLE},
        {"narrow_operand", PATCH_IMMOVABLE},
        {"vfork", PATCH_SPECIAL},
        {"_dl_something", PATCH_SPECIAL},
        {"in_init", PATCH_SPECIAL},
        {"entered_otherwise", PATCH_PART},
        {"saved_at_entry", PATCH_PART},
        {"signal_frame", PATCH_PART},
        {"a_label", PATCH_NOT_FUNCTION},
        {"chosen", PATCH_IFUNC},
    };
    struct patch_module *module = assemble("refused");
    for (size_t i = 0; i < BASE_COUNT(cases); i++)
        assert_refused(module, cases[i].name, cases[i].refusal);
    struct patch_reason reason;
    struct patch_plan plan;
    uint64_t inside = address_of(module, "loops_into") + 2;
    assert_false(patch_plan(module, inside, &plan, &reason));
    assert_int_equal(reason.refusal, PATCH_UNKNOWN_FUNCTION);
    assert_true(patch_plan(module, address_of(module, "other_into"), &plan, NULL));
    patch_module_close(module);
}

static void test_reason_says_where(void **state)
{
    struct patch_module *module = assemble("refused");
    struct patch_reason reason;
    struct patch_plan plan;
    char expected[160];
    uint64_t vaddr = address_of(module, "loops_into");
    assert_false(patch_plan(module, vaddr, &plan, &reason));
    assert_int_equal(reason.at, vaddr + 6);
    snprintf(expected, sizeof expected, "a jump at 0x%llx leads into its first 5 bytes",
             (unsigned long long)vaddr + 6);
    assert_string_equal(reason.sentence, expected);
    patch_module_close(module);
}

/* An exception handler that begins in the window: nothing that a compiler makes, so it is written.
 */
static void test_handler_in_window(void **state)
{
    struct patch_module *module = assemble("handler");
    assert_refused(module, "f", PATCH_LANDING_PAD);
    plan_of(module, "g");
    patch_module_close(module);
}

static void test_plans(void **state)
{
    struct patch_module *module = assemble("planned");
    struct patch_plan plan = plan_of(module, "plain");
    assert_int_equal(plan.entry, plan.vaddr);
    assert_int_equal(plan.kind, SPANS_PATCHED);
    assert_int_equal(plan.window_bytes, 5);
    assert_int_equal(plan.instructions, 3);
    assert_int_equal(plan.copy_bytes, 5 + 5);
    assert_int_equal(plan.starts[1], 1);
    assert_int_equal(plan.starts[2], 4);
    assert_false(plan.single || plan.emulates_call);
    assert_memory_equal(plan.original, "\x55\x48\x89\xe5\x53", 5);
    plan = plan_of(module, "marked");
    assert_int_equal(plan.entry, plan.vaddr + 4);
    assert_true(plan.single);
    plan = plan_of(module, "padded");
    assert_int_equal(plan.window_bytes, 5);
    assert_int_equal(plan.copy_bytes, 1);
    assert_true(plan.single);
    plan = plan_of(module, "padded_jump");
    assert_int_equal(plan.copy_bytes, 5);
    plan = plan_of(module, "calls_last");
    assert_true(plan.emulates_call);
    assert_int_equal(plan.window_bytes, 9);
    plan = plan_of(module, "long_one");
    assert_int_equal(plan.window_bytes, 10);
    assert_true(plan.single);
    assert_true(plan_of(module, "unsafe_tail").single);
    plan_of(module, "recursive");
    plan_of(module, "framed_label");
    plan_of(module, "two_tables");
    assert_int_equal(address_of(module, "same"), address_of(module, "plain"));
    patch_module_close(module);
}

static void test_out_of_reach(void **state)
{
    struct patch_module *module = assemble("planned");
    struct patch_plan plan = plan_of(module, "unsafe_tail");
    uint8_t out[PATCH_COPY_MAX];
    uint64_t entry = UINT64_C(0x7f0000001000);
    assert_true(patch_emit_prologue(&plan, entry, entry + 0x70000000, out));
    assert_false(patch_emit_prologue(&plan, entry, entry + 0x90000000, out));
    assert_false(patch_emit_prologue(&plan, entry, entry - 0x90000000, out));
    assert_true(patch_emit_jump(entry, entry + 0x80000004, out));
    assert_false(patch_emit_jump(entry, entry + 0x80000005, out));
    assert_true(patch_emit_jump(entry, entry + 5 - 0x80000000, out));
    assert_false(patch_emit_jump(entry, entry + 4 - 0x80000000, out));
    patch_module_close(module);
}

/* ---- copies, compared with their originals ---------------------------------------------- */

/* The instruction at *at of the copy; moves on. */
static struct isa_insn next_insn(const uint8_t *copy, size_t count, size_t *at, uint64_t start,
                                 struct isa_operation *operation)
{
    struct isa_insn insn;
    assert_true(*at < count);
    assert_int_equal(isa_decode_operation(copy + *at, count - *at, start + *at, &insn, operation),
                     BASE_OK);
    *at += insn.length;
    return insn;
}

static void assert_push(const uint8_t *copy, size_t count, size_t *at, uint64_t pushed)
{
    uint32_t low, high;
    static const uint8_t store[] = {0xc7, 0x44, 0x24, 0x04};
    assert_true(*at + 13 <= count);
    assert_int_equal(copy[*at], 0x68);
    memcpy(&low, copy + *at + 1, sizeof low);
    assert_memory_equal(copy + *at + 5, store, sizeof store);
    memcpy(&high, copy + *at + 9, sizeof high);
    assert_int_equal((uint64_t)high << 32 | low, pushed);
    *at += 13;
}

static void assert_same_operands(const struct isa_insn *old, const struct isa_insn *new)
{
    assert_int_equal(new->mnemonic, old->mnemonic);
    assert_int_equal(new->length, old->length);
    assert_int_equal(new->access_count, old->access_count);
    assert_int_equal(new->written, old->written);
    assert_memory_equal(new->accesses, old->accesses, sizeof old->accesses);
}

/* What the copy does is what the window did. */
static void assert_same(const struct patch_plan *plan, uint64_t entry, uint64_t start,
                        const uint8_t *copy)
{
    size_t at = 0, count = plan->copy_bytes;
    bool ends = false;
    for (unsigned i = 0; i < plan->instructions && plan->kind == SPANS_PATCHED; i++) {
        struct isa_insn old, new;
        struct isa_operation was, is;
        size_t from = plan->starts[i];
        assert_int_equal(isa_decode_operation(plan->original + from, plan->window_bytes - from,
                                              entry + from, &old, &was),
                         BASE_OK);
        bool call = old.flow == ISA_CALL;
        if (call)
            assert_push(copy, count, &at, entry + from + old.length);
        size_t here = at;
        new = next_insn(copy, count, &at, start, &is);
        ends = call || old.flow == ISA_JUMP || old.flow == ISA_RETURN;
        if (old.flow == ISA_BRANCH && was.code != ISA_DO_BRANCH) {
            assert_memory_equal(copy + here, plan->original + from, old.length - 1u);
            assert_int_equal(new.target, start + at + 2);
            assert_int_equal(next_insn(copy, count, &at, start, &is).target, start + at + 5);
            assert_int_equal(next_insn(copy, count, &at, start, &is).target, old.target);
        } else if (call && old.indirect) {
            assert_int_equal(new.flow, ISA_JUMP);
            assert_true(new.indirect);
            assert_int_equal(new.access_count, old.access_count - 1);
            assert_memory_equal(new.accesses, old.accesses,
                                new.access_count * sizeof *old.accesses);
        } else if (old.flow != ISA_NEXT && !old.indirect) {
            assert_int_equal(new.flow, call ? ISA_JUMP : old.flow);
            assert_int_equal(new.target, old.target);
            assert_int_equal(is.condition, was.condition);
        } else {
            assert_same_operands(&old, &new);
        }
    }
    if (!ends) {
        struct isa_operation is;
        struct isa_insn back = next_insn(copy, count, &at, start, &is);
        assert_int_equal(back.flow, ISA_JUMP);
        assert_int_equal(back.target, entry + plan->window_bytes);
    }
    assert_int_equal(at, count);
}

/* Plans all functions of a file; returns how many can be hooked. */
static size_t plan_file(const char *path, size_t *functions)
{
    struct patch_module *module = open_module(path);
    struct base_random random = {7};
    size_t refused[PATCH_REFUSALS] = {0}, single = 0, calls = 0, compared = 0;
    *functions = patch_functions(module);
    for (size_t i = 0; i < *functions; i++) {
        struct patch_plan plan;
        struct patch_reason reason;
        const struct patch_function *function = patch_function(module, i);
        assert_true(i == 0 || function[-1].vaddr < function->vaddr);
        patch_plan(module, function->vaddr, &plan, &reason);
        refused[reason.refusal]++;
        if (reason.refusal != PATCH_FITS)
            continue;
        single += plan.single;
        calls += plan.emulates_call;
        uint8_t copy[PATCH_COPY_MAX];
        uint64_t entry = plan.entry + UINT64_C(0x7f1234560000);
        uint64_t at = entry + base_random_below(&random, UINT32_C(0x60000000)) - 0x30000000;
        assert_true(patch_emit_prologue(&plan, entry, at, copy));
        assert_same(&plan, entry, at, copy);
        compared++;
    }
    print_message(
        "# %s: %zu functions, %.1f %% can be hooked, %zu by one instruction, %zu with a call\n",
        path, *functions,
        *functions ? 100.0 * (double)refused[PATCH_FITS] / (double)*functions : 0.0, single, calls);
    for (unsigned r = 1; r < PATCH_REFUSALS; r++)
        if (refused[r])
            print_message("#    %6zu %s\n", refused[r], patch_refusal_text(r));
    patch_module_close(module);
    return refused[PATCH_FITS];
}

static void test_real_files(void **state)
{
    static const char *const names[] = {"libc.so.6", "libstdc++.so.6", "libsqlite3.so.0",
                                        "libgomp.so.1", "ld-linux-x86-64.so.2"};
    static const char *const programs[] = {"/usr/bin/bash", "/usr/bin/python3", "/proc/self/exe"};
    size_t functions, planned = 0;
    for (size_t i = 0; i < BASE_COUNT(names) + BASE_COUNT(programs); i++) {
        char path[512];
        if (i < BASE_COUNT(names))
            snprintf(path, sizeof path, "/usr/lib/x86_64-linux-gnu/%s", names[i]);
        else
            snprintf(path, sizeof path, "%s", programs[i - BASE_COUNT(names)]);
        if (access(path, R_OK) != 0)
            continue;
        size_t fit = plan_file(path, &functions);
        assert_true(fit <= functions);
        assert_true(functions < 100 || fit * 10 >= functions * 4);
        planned += fit;
    }
    assert_true(planned > 1000); /* this program itself has as many */
}

/* ---- copies, executed ------------------------------------------------------------------- */

enum { AREA_BYTES = 1 << 20, STUB_BYTES = 48 };

/* A module that is loaded here. */
struct loaded {
    struct patch_module *module;
    void *handle;
    uint64_t bias;
    uint8_t *area;
    size_t used;
    uint64_t **counters; /* by number of the function; NULL: not patched */
    size_t patched;
};

/* Memory within reach of an address. */
static uint8_t *map_near(uint64_t address)
{
    for (uint64_t distance = UINT64_C(0x1000000); distance < 0x70000000; distance += 0x1000000) {
        for (int sign = -1; sign <= 1; sign += 2) {
            uint64_t hint = (address & ~UINT64_C(0xfffff)) + (uint64_t)sign * distance;
            void *area =
                mmap((void *)(uintptr_t)hint, AREA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (area != MAP_FAILED && area == (void *)(uintptr_t)hint)
                return area;
        }
    }
    fail_msg("no memory near 0x%llx", (unsigned long long)address);
    return NULL;
}

/* Counts, then goes on at the copy: lock incq counter(%rip); jmp *target(%rip); counter: 0; target:
 * copy. */
static uint64_t *put_stub(uint8_t *at, uint64_t copy)
{
    static const uint8_t code[] = {0xf0, 0x48, 0xff, 0x05, 8, 0, 0,    0,
                                   0xff, 0x25, 10,   0,    0, 0, 0xcc, 0xcc};
    memcpy(at, code, sizeof code);
    memset(at + 16, 0, 8);
    memcpy(at + 24, &copy, sizeof copy);
    return (uint64_t *)(void *)(at + 16);
}

static uint8_t *take(struct loaded *loaded, size_t bytes)
{
    uint8_t *place = loaded->area + loaded->used;
    loaded->used += (bytes + 15) & ~(size_t)15;
    assert_true(loaded->used <= AREA_BYTES);
    return place;
}

static void apply(struct loaded *loaded, size_t number, const struct patch_plan *plan)
{
    uint64_t entry = plan->entry + loaded->bias;
    uint8_t *window = (uint8_t *)(uintptr_t)entry, jump[PATCH_JUMP_BYTES];
    uint8_t *copy = take(loaded, PATCH_COPY_MAX), *stub = take(loaded, STUB_BYTES);
    uint8_t *bridge = take(loaded, PATCH_BRIDGE_BYTES);
    assert_memory_equal(window, plan->original, plan->window_bytes);
    assert_true(patch_emit_prologue(plan, entry, (uint64_t)(uintptr_t)copy, copy));
    loaded->counters[number] = put_stub(stub, (uint64_t)(uintptr_t)copy);
    patch_emit_bridge((uint64_t)(uintptr_t)stub, bridge);
    assert_true(patch_emit_jump(entry, (uint64_t)(uintptr_t)bridge, jump));
    uintptr_t page = (uintptr_t)window & ~(uintptr_t)4095;
    assert_int_equal(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    memcpy(window, jump, sizeof jump);
    loaded->patched++;
}

/* All that can be. Functions of the run-time's beginning and end are left alone. */
static void patch_all(struct loaded *loaded)
{
    size_t count = patch_functions(loaded->module);
    loaded->counters = calloc(count + 1, sizeof *loaded->counters);
    assert_non_null(loaded->counters);
    for (size_t i = 0; i < count; i++) {
        struct patch_plan plan;
        if (patch_plan(loaded->module, patch_function(loaded->module, i)->vaddr, &plan, NULL))
            apply(loaded, i, &plan);
    }
}

static uint64_t counted(const struct loaded *loaded, const char *name)
{
    size_t number = patch_function_named(loaded->module, name);
    if (number == PATCH_NONE || !loaded->counters[number])
        fail_msg("%s is not patched", name);
    return *loaded->counters[number];
}

/* The area stays: code of modules that are never unloaded may go there when the program ends. */
static void unload(struct loaded *loaded)
{
    free(loaded->counters);
    patch_module_close(loaded->module);
    if (loaded->handle)
        dlclose(loaded->handle);
}

static struct loaded load(const char *path)
{
    struct loaded loaded = {.module = open_module(path)};
    struct link_map *map;
    loaded.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded.handle)
        fail_msg("%s", dlerror());
    assert_int_equal(dlinfo(loaded.handle, RTLD_DI_LINKMAP, &map), 0);
    loaded.bias = map->l_addr;
    loaded.area = map_near(loaded.bias);
    return loaded;
}

typedef uint64_t function_of_two(uint64_t, uint64_t);

static void test_moved_code_runs(void **state)
{
    static const char *const names[] = {
        "reads",        "writes",       "compares",    "vectors",        "address",
        "short_branch", "two_branches", "near_branch", "first_branch",   "narrow_count",
        "loop_once",    "jumps",        "tail",        "tail_cell",      "callee",
        "calls_first",  "calls_second", "calls_cell",  "calls_register", "returns_early",
        "endbr",        "eight_nops",   "fills_stack"};
    static const uint64_t inputs[] = {0, 1, 2, 3, 6, 7, UINT64_MAX};
    patch_module_close(assemble("moved"));
    struct loaded loaded = load(path_of("moved.so"));
    uint64_t before[BASE_COUNT(names)][BASE_COUNT(inputs)];
    for (int after = 0; after < 2; after++) {
        for (size_t i = 0; i < BASE_COUNT(names); i++) {
            function_of_two *function =
                (function_of_two *)(uintptr_t)(address_of(loaded.module, names[i]) + loaded.bias);
            for (size_t k = 0; k < BASE_COUNT(inputs); k++) {
                uint64_t result = strcmp(names[i], "callee") == 0 ? 0 : function(inputs[k], 11);
                if (after && result != before[i][k])
                    fail_msg("%s(%llu): %llx, was %llx", names[i], (unsigned long long)inputs[k],
                             (unsigned long long)result, (unsigned long long)before[i][k]);
                before[i][k] = result;
            }
        }
        uint64_t pointers[2] = {0, address_of(loaded.module, "reads") + loaded.bias};
        function_of_two *pointer =
            (function_of_two *)(uintptr_t)(address_of(loaded.module, "calls_pointer") +
                                           loaded.bias);
        assert_int_equal(pointer(10, (uint64_t)(uintptr_t)pointers), 15);
        if (!after)
            patch_all(&loaded);
    }
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (counted(&loaded, names[i]) < BASE_COUNT(inputs))
            fail_msg("%s was counted %llu times", names[i],
                     (unsigned long long)counted(&loaded, names[i]));
    unload(&loaded);
}

enum { RESULTS_MAX = 4096 };

/* Builds the source, runs it, patches all, runs it again. */
static void run_patched(const char *compiler, const char *source, const char *options, size_t least)
{
    uint64_t before[RESULTS_MAX], after[RESULTS_MAX];
    static unsigned number; /* a new name each: C++ modules stay */
    char library[64];
    snprintf(library, sizeof library, "built%u.so", number++);
    assert_int_equal(run("%s %s -shared -fPIC -w %s -o %s", compiler, options, source, library), 0);
    struct loaded loaded = load(path_of(library));
    uint64_t (*run_all)(uint64_t *) =
        (uint64_t(*)(uint64_t *))(uintptr_t)(address_of(loaded.module, "run_all") + loaded.bias);
    uint64_t count = run_all(before);
    assert_true(count > 0 && count < RESULTS_MAX);
    patch_all(&loaded);
    assert_int_equal(run_all(after), count);
    for (uint64_t i = 0; i < count; i++)
        if (before[i] != after[i])
            fail_msg("%s %s: result %llu differs", compiler, options, (unsigned long long)i);
    assert_int_equal(counted(&loaded, "run_all"), 1);
    size_t reached = 0, functions = patch_functions(loaded.module);
    for (size_t i = 0; i < functions; i++)
        reached += loaded.counters[i] && *loaded.counters[i];
    print_message("# %s %s: %zu of %zu functions patched, %zu of them called\n", compiler, options,
                  loaded.patched, functions, reached);
    assert_true(reached >= least);
    unload(&loaded);
}

static const char *const levels[] = {"-O0",
                                     "-O1",
                                     "-O2",
                                     "-O3",
                                     "-Os",
                                     "-O2 -fno-omit-frame-pointer",
                                     "-O2 -fno-plt",
                                     "-O3 -mtune=native -falign-functions=1",
                                     "-O2 -fno-asynchronous-unwind-tables"};

static void test_compiled_c_runs(void **state)
{
    need("gcc");
    for (size_t i = 0; i < BASE_COUNT(levels); i++) {
        char options[128];
        run_patched("gcc", SOURCES "/code.c", levels[i], 18);
        snprintf(options, sizeof options, "%s -fcf-protection=full", levels[i]);
        run_patched("gcc", SOURCES "/code.c", options, 18);
    }
}

static void test_compiled_cpp_runs(void **state)
{
    need("g++");
    for (size_t i = 0; i < 5; i++)
        run_patched("g++", SOURCES "/code.cpp", levels[i], 12);
    run_patched("g++", SOURCES "/code.cpp", "-O2 -fcf-protection=full", 12);
    run_patched("g++", SOURCES "/code.cpp", "-O2 -s",
                8); /* stripped: functions by call frame information */
}

static void test_clang_runs(void **state)
{
    need("clang-14");
    run_patched("clang-14", SOURCES "/code.c", "-O0", 18);
    run_patched("clang-14", SOURCES "/code.c", "-O2", 18);
    run_patched("clang++-14", SOURCES "/code.cpp", "-O2", 8);
}

/* A position-dependent program, without a run-time, put where it belongs: this one is elsewhere. */
static void test_fixed_program_runs(void **state)
{
    need("gcc");
    uint64_t before[RESULTS_MAX], after[RESULTS_MAX];
    for (size_t level = 0; level < 5; level++) {
        assert_int_equal(
            run("gcc %s -w -fno-pie -no-pie -static -nostdlib -ffreestanding -fno-stack-protector "
                "-fno-tree-loop-distribute-patterns -e run_all "
                "-Wl,-Ttext-segment=0x3a000000 " SOURCES "/code.c -o fixed",
                levels[level]),
            0);
        struct loaded loaded = {.module = open_module(path_of("fixed"))};
        int file = open(path_of("fixed"), O_RDONLY);
        uint8_t *image = mmap((void *)0x3a000000, AREA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        assert_ptr_equal(image, (void *)0x3a000000);
        Elf64_Ehdr header;
        assert_int_equal(pread(file, &header, sizeof header, 0), sizeof header);
        for (unsigned i = 0; i < header.e_phnum; i++) {
            Elf64_Phdr segment;
            assert_int_equal(
                pread(file, &segment, sizeof segment, (off_t)(header.e_phoff + i * sizeof segment)),
                sizeof segment);
            if (segment.p_type == PT_LOAD)
                assert_int_equal(
                    pread(file, (void *)segment.p_vaddr, segment.p_filesz, (off_t)segment.p_offset),
                    segment.p_filesz);
        }
        close(file);
        loaded.area = map_near(0x3a000000);
        uint64_t (*run_all)(uint64_t *) =
            (uint64_t(*)(uint64_t *))(uintptr_t)address_of(loaded.module, "run_all");
        uint64_t count = run_all(before);
        patch_all(&loaded);
        assert_int_equal(run_all(after), count);
        assert_memory_equal(before, after, count * sizeof *before);
        assert_true(loaded.patched >= 18);
        assert_int_equal(counted(&loaded, "run_all"), 1);
        unload(&loaded);
        munmap(image, AREA_BYTES);
    }
}

/* ---- what has been prepared ------------------------------------------------------------- */

static void assert_prepared(const char *compiler, const char *options, bool expected)
{
    assert_int_equal(
        run("%s %s -w -shared -fPIC " SOURCES "/code.c -o prepared.so", compiler, options), 0);
    struct patch_module *module = open_module(path_of("prepared.so"));
    size_t number = patch_function_named(module, "gcd");
    assert_int_not_equal(number, PATCH_NONE);
    const struct patch_function *function = patch_function(module, number);
    if (function->prepared != expected)
        fail_msg("%s %s: prepared %d", compiler, options, function->prepared);
    struct patch_plan plan = plan_of(module, "gcd");
    assert_int_equal(plan.kind, expected ? SPANS_PREPARED : SPANS_PATCHED);
    assert_int_equal(patch_prepared(module) > 0, expected);
    for (size_t i = 0; i < patch_prepared(module); i++) {
        const struct patch_prepared *prepared = patch_prepared_entry(module, i);
        assert_true(prepared->bytes >= PATCH_JUMP_BYTES);
        assert_int_equal(prepared->kind, PATCH_BY_COMPILER);
        assert_true(i == 0 || prepared[-1].function < prepared->function);
        assert_true(patch_plan(module, prepared->function, &plan, NULL));
        assert_int_equal(plan.entry, prepared->site);
        assert_int_equal(plan.single, prepared->single);
        assert_int_equal(plan.copy_bytes, PATCH_JUMP_BYTES);
    }
    patch_module_close(module);
    if (expected)
        run_patched(compiler, SOURCES "/code.c", options, 18);
}

static void test_patchable_entries(void **state)
{
    need("gcc");
    assert_prepared("gcc", "-O2 -fpatchable-function-entry=16", true);
    assert_prepared("gcc", "-O2 -fpatchable-function-entry=16 -fcf-protection=full", true);
    assert_prepared("gcc", "-O0 -fpatchable-function-entry=16,8", true);
    assert_prepared("gcc", "-O2 -fpatchable-function-entry=16,8 -fcf-protection=full", true);
    assert_prepared("gcc", "-O2 -fpatchable-function-entry=5", true);
    assert_prepared("gcc", "-O2 -fpatchable-function-entry=4", false);
    assert_prepared("gcc", "-O2 -fpatchable-function-entry=16,14", false);
    if (run("command -v clang-14 >/dev/null 2>&1") != 0)
        return;
    assert_prepared("clang-14", "-O2 -fpatchable-function-entry=16", true);
    assert_prepared("clang-14", "-O2 -fpatchable-function-entry=16,8 -fcf-protection=full", true);
    assert_prepared("clang-14", "-O2 -fpatchable-function-entry=3", false);
}

static void test_own_sections(void **state)
{
    struct patch_module *module = assemble("own");
    assert_int_equal(patch_prepared(module), 4);
    assert_refused(module, "sixth", PATCH_JUMP_INTO);
    const struct patch_prepared *prepared = patch_prepared_entry(module, 2);
    struct patch_plan fifth = plan_of(module, "fifth");
    assert_int_equal(prepared->function, fifth.vaddr);
    assert_int_equal(prepared->site, prepared->function + 8); /* aligned */
    assert_int_equal(fifth.entry, prepared->site);
    assert_int_equal(fifth.kind, SPANS_PREPARED);
    assert_int_equal(fifth.window_bytes, 5);
    assert_true(fifth.single);
    prepared = patch_prepared_entry(module, 0);
    assert_int_equal(prepared->function, address_of(module, "first"));
    assert_int_equal(prepared->site, prepared->function);
    assert_int_equal(prepared->bytes, 5);
    assert_int_equal(prepared->kind, PATCH_BY_HEADROOM);
    assert_true(prepared->single);
    prepared = patch_prepared_entry(module, 1);
    assert_int_equal(prepared->function, address_of(module, "second"));
    assert_int_equal(prepared->site, prepared->function + 4);
    assert_int_equal(prepared->bytes, 10);
    struct patch_plan plan = plan_of(module, "second");
    assert_int_equal(plan.kind, SPANS_PREPARED);
    assert_int_equal(plan.window_bytes, 5);
    assert_true(plan.single);
    assert_int_equal(plan_of(module, "third").kind, SPANS_PATCHED);
    assert_int_equal(plan_of(module, "fourth").kind, SPANS_PATCHED);
    assert_int_equal(patch_markers(module), 2);
    const struct patch_marker *marker = patch_marker(module, 0);
    assert_int_equal(marker->site, prepared->site + 5);
    assert_int_equal(marker->kind, PATCH_MARKER_BEGIN);
    assert_string_equal(marker->name, "load");
    assert_string_equal(marker[1].name, "load it");
    assert_int_equal(marker[1].kind, PATCH_MARKER_END);
    uint64_t vaddr, bytes;
    assert_true(patch_module_section(module, "headroom_markers", &vaddr, &bytes));
    assert_int_equal(bytes, 5 * 16);
    assert_false(patch_module_section(module, "headroom_nothing", &vaddr, &bytes));
    patch_module_close(module);
}

/* Pushes what the handler finds: see struct spans_process. */
extern volatile uint64_t handled[3];
volatile uint64_t handled[3];
void patch_test_handler(void);
__asm__(".text\npatch_test_handler: push %rax\n mov 16(%rsp), %rax\n mov %rax, handled(%rip)\n"
        "mov %rdi, 8+handled(%rip)\n movq $1, 16+handled(%rip)\n pop %rax\n ret\n");

/* A function whose marker is in a red zone: what is below the stack pointer stays. */
static void test_marker_runs(void **state)
{
    patch_module_close(assemble("marker"));
    struct loaded loaded = load(path_of("marker.so"));
    uint64_t site = patch_marker(loaded.module, 0)->site + loaded.bias;
    function_of_two *function =
        (function_of_two *)(uintptr_t)(address_of(loaded.module, "marked") + loaded.bias);
    assert_int_equal(function(17, 4), 8);
    assert_int_equal(handled[2], 0);
    uint8_t *bridge = take(&loaded, PATCH_MARKER_BYTES), jump[PATCH_JUMP_BYTES];
    assert_true(patch_emit_marker(site, (uint64_t)(uintptr_t)bridge, 345,
                                  (uint64_t)(uintptr_t)patch_test_handler, bridge));
    assert_true(patch_emit_jump(site, (uint64_t)(uintptr_t)bridge, jump));
    assert_int_equal(mprotect((void *)(uintptr_t)(site & ~UINT64_C(4095)), 8192,
                              PROT_READ | PROT_WRITE | PROT_EXEC),
                     0);
    memcpy((void *)(uintptr_t)site, jump, sizeof jump);
    assert_int_equal(function(17, 4), 8);
    assert_int_equal(handled[0], 345);
    assert_int_equal(handled[1], 17);
    assert_int_equal(handled[2], 1);
    unload(&loaded);
}

/* Puts a marker with that number at a place of a loaded module. */
static void put_site(struct loaded *loaded, uint64_t start, uint64_t end, enum patch_site where,
                     uint64_t to, uint32_t number)
{
    struct patch_plan plan;
    struct patch_reason reason;
    uint8_t *code = take(loaded, PATCH_SITE_BYTES), jump[PATCH_JUMP_BYTES];
    if (!patch_plan_site(loaded->module, address_of(loaded->module, "looped"), start, end, where,
                         &plan, &reason))
        fail_msg("%s", reason.sentence);
    uint64_t entry = plan.entry + loaded->bias;
    size_t bytes =
        patch_emit_site(&plan, entry, where, to + loaded->bias, (uint64_t)(uintptr_t)code, number,
                        (uint64_t)(uintptr_t)patch_test_handler, code);
    assert_true(bytes > 0 && bytes <= PATCH_SITE_BYTES);
    assert_true(patch_emit_jump(entry, (uint64_t)(uintptr_t)code, jump));
    assert_int_equal(mprotect((void *)(uintptr_t)(entry & ~UINT64_C(4095)), 8192,
                              PROT_READ | PROT_WRITE | PROT_EXEC),
                     0);
    memcpy((void *)(uintptr_t)entry, jump, sizeof jump);
}

/* Offsets in site.s, as objdump has them: the blocks' ends are where jumps end. */
static void test_sites_run(void **state)
{
    static const uint64_t cases[] = {0, 3, 7, 9, 50, 101, 200};
    uint64_t wanted[BASE_COUNT(cases)];
    patch_module_close(assemble("site"));
    struct loaded loaded = load(path_of("site.so"));
    uint64_t start = address_of(loaded.module, "looped"), before = start + 0x13,
             head = start + 0x1b, behind = start + 0x2f;
    function_of_two *function = (function_of_two *)(uintptr_t)(start + loaded.bias);
    for (size_t i = 0; i < BASE_COUNT(cases); i++)
        wanted[i] = function(cases[i], 5);
    struct patch_plan plan;
    struct patch_reason reason;
    assert_false(
        patch_plan_site(loaded.module, start, head, head + 4, PATCH_SITE_START, &plan, &reason));
    assert_int_equal(reason.refusal, PATCH_SHORT);
    put_site(&loaded, start + 12, before, PATCH_SITE_TAKEN, head, 1);
    put_site(&loaded, before, head, PATCH_SITE_FALL, head, 2);
    put_site(&loaded, behind, behind + 13, PATCH_SITE_START, 0, 3);
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        handled[0] = handled[2] = 0;
        assert_int_equal(function(cases[i], 5), wanted[i]);
        assert_int_equal(handled[2], cases[i] > 0);
        assert_int_equal(handled[0], cases[i] == 0 ? 0 : cases[i] < 7 ? 3 : cases[i] > 100 ? 1 : 2);
        assert_int_equal(handled[1], 0); /* the key */
    }
    handled[2] = 0;
    unload(&loaded);
}

/* ---- listing ---------------------------------------------------------------------------- */

static size_t matches(const struct patch_module *module, const char *pattern)
{
    size_t count = 0;
    for (size_t at = 0; (at = patch_next_match(module, pattern, at)) != PATCH_NONE; at++)
        count++;
    return count;
}

static void test_names(void **state)
{
    need("g++");
    write_text("names.cpp", "namespace ns { int f(int x) { return x; } int f(long x) { return "
                            "(int)x + 1; } struct c { int operator+(int); c(); int n; };\n"
                            "int c::operator+(int k) { return n + k; } c::c() : n(3) {} }\n"
                            "extern \"C\" int plain(int x) { return x; } extern \"C\" int "
                            "other(int) __attribute__((alias(\"plain\")));\n");
    assert_int_equal(run("g++ -O1 -shared -fPIC names.cpp -o names.so"), 0);
    struct patch_module *module = open_module(path_of("names.so"));
    assert_int_equal(matches(module, "plain"), 1);
    assert_int_equal(matches(module, "other"), 1);
    assert_int_equal(matches(module, "pl?in"), 1);
    assert_int_equal(matches(module, "ns::f"), 2);
    assert_int_equal(matches(module, "ns::f(int)"), 1);
    assert_int_equal(matches(module, "ns::f(*)"), 2);
    assert_int_equal(matches(module, "ns::*"), 4);
    assert_int_equal(matches(module, "_ZN2ns1fEi"), 1);
    assert_int_equal(matches(module, "ns::c::operator+"), 1);
    assert_int_equal(matches(module, "ns::c::c()"), 1);
    assert_int_equal(matches(module, "ns::g"), 0);
    size_t number = patch_function_named(module, "other"), bytes;
    assert_int_equal(patch_function_named(module, "plain"), number);
    assert_int_equal(patch_function(module, number)->aliases, 1);
    assert_string_equal(patch_readable(module, number), patch_function(module, number)->name);
    number = patch_function_named(module, "_ZN2ns1fEl");
    assert_string_equal(patch_readable(module, number), "ns::f");
    const struct patch_function *function = patch_function(module, number);
    assert_int_equal(patch_function_at(module, function->vaddr), number);
    assert_int_equal(patch_function_at(module, function->vaddr + function->bytes - 1), number);
    assert_int_not_equal(patch_function_at(module, function->vaddr + function->bytes), number);
    assert_int_equal(patch_function_at(module, 0), PATCH_NONE);
    assert_int_equal(patch_function_at(module, UINT64_MAX), PATCH_NONE);
    const uint8_t *text = patch_text(module, number, &bytes);
    assert_int_equal(bytes, function->bytes);
    assert_int_equal(text[bytes - 1], 0xc3);
    assert_int_equal(patch_function_named(module, "nothing"), PATCH_NONE);
    patch_module_close(module);
}

static void test_versions(void **state)
{
    need("gcc");
    write_text("versions.c",
               "int old(int x) { return x + 1; } int new(int x) { return x + 2; }\n"
               "__asm__(\".symver old, work@V_1\"); __asm__(\".symver new, work@@V_2\");\n");
    write_text("versions.map", "V_1 { global: work; }; V_2 { global: work; } V_1;\n");
    assert_int_equal(
        run("gcc -O1 -shared -fPIC versions.c -Wl,--version-script=versions.map -o versions.so"),
        0);
    struct patch_module *module = open_module(path_of("versions.so"));
    assert_int_equal(matches(module, "work"), 2);
    for (size_t i = 0; i < patch_functions(module); i++)
        assert_null(strchr(patch_function(module, i)->name, '@'));
    assert_int_not_equal(patch_function_named(module, "work@V_1"), PATCH_NONE);
    patch_module_close(module);
}

/* Its executable mapping must be where the loader says. */
static void assert_offset(const char *path)
{
    struct loaded loaded = load(path);
    const char *name = strrchr(path, '/') + 1;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool seen = false;
    uint64_t vaddr;
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset;
        char access[5];
        if (!strstr(line, name) ||
            sscanf(line, "%lx-%lx %4s %lx", &start, &end, access, &offset) != 4 || access[2] != 'x')
            continue;
        assert_true(patch_module_vaddr(loaded.module, offset, &vaddr));
        assert_int_equal(start - vaddr, loaded.bias);
        seen = true;
    }
    fclose(maps);
    assert_true(seen);
    assert_false(patch_module_vaddr(loaded.module, UINT64_C(1) << 40, &vaddr));
    unload(&loaded);
}

static void test_offsets(void **state)
{
    assert_offset("/usr/lib/x86_64-linux-gnu/libc.so.6");
    if (run("command -v clang-14 ld.lld >/dev/null 2>&1") != 0)
        return; /* its segments begin within pages, and share them */
    assert_int_equal(run("clang-14 -fuse-ld=lld -w -shared -fPIC " SOURCES "/code.c -o offsets.so"),
                     0);
    assert_offset(path_of("offsets.so"));
}

static void test_instrumented(void **state)
{
    need("gcc");
    assert_int_equal(run("gcc -O1 -w -shared -fPIC -finstrument-functions " SOURCES "/code.c -o "
                         "instrumented.so && gcc -O1 -w -shared -fPIC " SOURCES
                         "/code.c -o bare.so"),
                     0);
    struct patch_module *module = open_module(path_of("instrumented.so"));
    assert_true(patch_module_calls_profile(module));
    patch_module_close(module);
    module = open_module(path_of("bare.so"));
    assert_false(patch_module_calls_profile(module));
    patch_module_close(module);
}

static void test_no_module(void **state)
{
    struct patch_module *module = (void *)42;
    assert_int_equal(patch_module_open(path_of("no such file"), &module), BASE_NOT_FOUND);
    write_text("text", "no program");
    assert_int_equal(patch_module_open(path_of("text"), &module), BASE_MALFORMED);
    assert_ptr_equal(module, (void *)42);
    patch_module_close(NULL);
}

/* ---- who calls what ----------------------------------------------------------------------- */

/* However the linker makes calls of other modules' functions. */
static void test_callers(void **state)
{
    static const char *const ways[] = {"-O1", "-O2 -fcf-protection=full", "-O2 -fno-plt",
                                       "-O2 -Wl,-z,now", "-O2 -Wl,-z,lazy -mcmodel=medium"};
    need("gcc");
    write_text("callers.c",
               "#include <pthread.h>\n#include <unistd.h>\n"
               "extern pthread_mutex_t m; extern long n;\n"
               "void writes(void) { n = write(1, \"\", 0); }\n"
               "void takes(void) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }\n"
               "void gives(void) { pthread_mutex_unlock(&m); n++; }\n"
               "int ends_with(void) { return pthread_rwlock_rdlock((pthread_rwlock_t *)&m); }\n"
               "int (*address(void))(pthread_mutex_t *) { return pthread_mutex_lock; }\n"
               "void nothing(void) { n = 0xe8e8e8e8e8; }\n");
    for (size_t i = 0; i < BASE_COUNT(ways); i++) {
        assert_int_equal(
            run("cd %s && gcc %s -w -shared -fPIC callers.c -o callers.so", directory, ways[i]), 0);
        struct patch_module *module = open_module(path_of("callers.so"));
        size_t found = 0;
        for (size_t n = 0; (n = patch_next_caller(module, SPANS_LOCK, n)) != PATCH_NONE; n++) {
            const char *name = patch_function(module, n)->name;
            if (strcmp(name, "takes") != 0 && strcmp(name, "ends_with") != 0)
                fail_msg("%s: %s takes no lock", ways[i], name);
            found++;
        }
        assert_int_equal(found, 2);
        patch_module_close(module);
    }
}

/* ---- library functions ------------------------------------------------------------------ */

static void test_known(void **state)
{
    size_t count;
    const struct patch_known *all = patch_known_all(&count);
    assert_true(count > 150 && count < SPANS_FUNCTIONS / 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || strcmp(all[i - 1].name, all[i].name) < 0);
        assert_true(all[i].class < SPANS_CLASSES && all[i].key <= SPANS_KEY_SIZE &&
                    all[i].key_argument < 6);
        assert_ptr_equal(patch_known(all[i].name), &all[i]);
        if (patch_never_import(all[i].name))
            fail_msg("%s is known and must never be hooked", all[i].name);
    }
    assert_int_equal(patch_known("pthread_mutex_lock")->class, SPANS_LOCK);
    assert_int_equal(patch_known("pthread_mutex_lock")->key, SPANS_KEY_VALUE);
    assert_int_equal(patch_known("fread")->key_argument, 3);
    assert_int_equal(patch_known("malloc@GLIBC_2.2.5")->key, SPANS_KEY_SIZE);
    assert_null(patch_known("pthread_mutex_loc"));
    assert_null(patch_known("pthread_mutex_lockx"));
    assert_null(patch_known("zzz"));
    assert_null(patch_known(""));
}

static void test_never(void **state)
{
    static const char *const names[] = {
        "setjmp",  "vfork@GLIBC_2.2.5", "dlsym",       "exit",
        "longjmp", "_Unwind_Resume",    "__cxa_throw", "_dl_fixup",
        "_start",  "__restore_rt",      "swapcontext", "_ZSt20__throw_length_errorPKc"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        assert_non_null(patch_never(names[i]));
        assert_non_null(patch_never_import(names[i]));
    }
    assert_null(patch_never("write"));
    assert_null(patch_never("setjmpx"));
    assert_null(patch_never("setjm"));
    assert_null(patch_never("sigaction"));
    assert_non_null(patch_never_import("sigaction"));
    for (unsigned i = 0; i <= PATCH_REFUSALS; i++)
        assert_non_null(patch_refusal_text(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_reason_says_where),
        cmocka_unit_test(test_handler_in_window),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_moved_code_runs),
        cmocka_unit_test(test_compiled_c_runs),
        cmocka_unit_test(test_compiled_cpp_runs),
        cmocka_unit_test(test_clang_runs),
        cmocka_unit_test(test_fixed_program_runs),
        cmocka_unit_test(test_real_files),
        cmocka_unit_test(test_patchable_entries),
        cmocka_unit_test(test_own_sections),
        cmocka_unit_test(test_sites_run),
        cmocka_unit_test(test_marker_runs),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_instrumented),
        cmocka_unit_test(test_no_module),
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_never),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
