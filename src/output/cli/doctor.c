// SPDX-License-Identifier: MIT
/*
 * `headroom doctor`: tries what a recording needs, one check after the other, and says
 * what would allow more. Nothing is concluded from settings that can be tried instead.
 */
#include "cli/common.h"
#include "cli/verbs.h"

#include "launch/launch.h"
#include "machine/latency.h"
#include "machine/tryout.h"
#include "model/model.h"
#include "show/json.h"
#include "show/print.h"
#include "util/util.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { CHECKS_MAX = 24, TRAPS_TIMED = 200, ALL_REGISTERS = 4 };

enum state {
    STATE_OK,
    STATE_LIMITED, /* works, with less */
    STATE_FAILED,  /* `headroom waste` does not work */
};

struct check {
    const char *name;
    enum state state;
    char finding[512];
    char remedy[256]; /* empty: nothing to be done */
};

struct examination {
    struct check checks[CHECKS_MAX];
    size_t count;
    struct machine_watchpoints watchpoints;
    struct machine_latencies latencies;
    char agent[WIRE_PATH_BYTES]; /* empty: not found */
};

static struct check *add(struct examination *examination, const char *name, enum state state,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

static struct check *add(struct examination *examination, const char *name, enum state state,
                         const char *format, ...)
{
    struct check *check = &examination->checks[examination->count++];
    *check = (struct check){.name = name, .state = state};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->finding, sizeof check->finding, format, arguments);
    va_end(arguments);
    return check;
}

static void advise(struct check *check, const char *remedy)
{
    snprintf(check->remedy, sizeof check->remedy, "%s", remedy);
}

/* ---- checks ----------------------------------------------------------------------------- */

static void check_kernel(struct examination *examination)
{
    struct utsname system;
    int major = 0, minor = 0;
    uname(&system);
    sscanf(system.release, "%d.%d", &major, &minor);
    /* Synchronous SIGTRAP from perf events came with 5.13. */
    bool new_enough = major > 5 || (major == 5 && minor >= 13);
    struct check *check = add(examination, "kernel", new_enough ? STATE_OK : STATE_FAILED, "%s %s",
                              system.sysname, system.release);
    if (!new_enough)
        advise(check, "use a kernel of version 5.13 or newer");
}

static void check_paranoid(struct examination *examination)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int value;
    bool known = file && fscanf(file, "%d", &value) == 1;
    if (file)
        fclose(file);
    if (known)
        add(examination, "perf_event_paranoid", STATE_OK, "%d%s", value,
            geteuid() == 0 ? " (does not bind root)" : "");
    else
        add(examination, "perf_event_paranoid", STATE_FAILED,
            "no such setting: the kernel or the container has no perf events");
}

static void advise_permission(struct check *check, int reason)
{
    if (reason == EACCES || reason == EPERM)
        advise(check, "sudo sysctl kernel.perf_event_paranoid=1");
    else if (reason == ENOSPC || reason == EBUSY)
        advise(check, "stop the debugger or profiler that holds the debug registers");
}

static void check_watchpoints(struct examination *examination)
{
    struct machine_watchpoints *found = &examination->watchpoints;
    if (machine_try_watchpoints(TRAPS_TIMED, found) != BASE_OK) {
        add(examination, "watchpoints", STATE_FAILED, "the attempt ended without a result");
        return;
    }
    struct check *check;
    if (found->registers == 0 && found->armed > 0) {
        check =
            add(examination, "watchpoints", STATE_FAILED,
                "%u can be armed but none fires: the hypervisor does not support debug registers",
                found->armed);
    } else if (found->registers == 0) {
        check = add(examination, "watchpoints", STATE_FAILED, "none can be armed: %s",
                    strerror(found->refused));
    } else {
        check = add(examination, "watchpoints",
                    found->registers < ALL_REGISTERS ? STATE_LIMITED : STATE_OK,
                    "%u of %d debug registers work; arming costs %.1f us, a trap %.1f us",
                    found->registers, ALL_REGISTERS, found->arm_us, found->trap_us);
    }
    if (check->state != STATE_OK)
        advise_permission(check, found->refused);
}

static void check_kernel_accesses(struct examination *examination)
{
    const struct machine_watchpoints *found = &examination->watchpoints;
    if (found->registers == 0)
        return;
    if (found->kernel_accesses) {
        add(examination, "system calls", STATE_OK, "read(2) and write(2) on watched memory trap");
        return;
    }
    struct check *check =
        add(examination, "system calls", STATE_LIMITED,
            "the kernel's accesses do not trap (%s): buffers of stdio may look dead",
            found->kernel_refused ? strerror(found->kernel_refused) : "no trap");
    advise_permission(check, found->kernel_refused);
}

static void check_clock(struct examination *examination)
{
    double tick_ms;
    if (machine_try_ticks(&tick_ms) != BASE_OK) {
        add(examination, "clock", STATE_FAILED,
            "no ticks by CPU time: the clock source cannot work");
        return;
    }
    add(examination, "clock", STATE_OK, "ticks by CPU time arrive, down to every %.1f ms", tick_ms);
}

/* Nothing here depends on counters, so their absence limits nothing that works today. */
static void check_counters(struct examination *examination)
{
    struct wire_config config;
    switch (machine_try_counters(&config)) {
    case BASE_OK:
        add(examination, "counters", STATE_OK,
            "precise memory events can be opened; the clock source is still the default");
        return;
    case BASE_DENIED:
        advise(add(examination, "counters", STATE_LIMITED, "precise memory events are refused"),
               "sudo sysctl kernel.perf_event_paranoid=1");
        return;
    default:
        add(examination, "counters", STATE_OK,
            "none with data addresses, as in most virtual machines; the clock source needs none");
    }
}

static void check_descriptors(struct examination *examination)
{
    enum base_status status = machine_try_descriptors();
    if (status == BASE_OK) {
        add(examination, "shared memory", STATE_OK, "another process can open it through /proc");
        return;
    }
    struct check *check =
        add(examination, "shared memory", STATE_FAILED,
            "another process cannot open it through /proc: %s", base_status_text(status));
    advise(check, status == BASE_NOT_FOUND ? "sudo mount -t proc proc /proc"
                                           : "sudo mount -o remount,hidepid=0 /proc");
}

static void check_agent(struct examination *examination)
{
    char error[LAUNCH_ERROR_BYTES];
    if (launch_agent(examination->agent, error) == LAUNCH_OK) {
        add(examination, "agent", STATE_OK, "%s", examination->agent);
        return;
    }
    examination->agent[0] = 0;
    add(examination, "agent", STATE_FAILED, "%.500s", error);
}

/* The proof of the pudding: a whole recording of a program that does nothing. */
static enum state try_recording(const struct examination *examination, const char *profile,
                                char *finding)
{
    char *command[] = {(char *)"true", NULL};
    char path[LAUNCH_PATH_BYTES], log_path[LAUNCH_PATH_BYTES];
    struct launch_result result;
    struct launch_request request = {
        .path = path,
        .command = command,
        .config = {.kinds = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD,
                   .source = WIRE_SOURCE_CLOCK,
                   .interval_ns = 10000000,
                   .registers = examination->watchpoints.registers,
                   .watch_kernel = examination->watchpoints.kernel_accesses},
    };
    strcpy(request.config.agent_path, examination->agent);
    if (launch_find(command[0], path, finding) != LAUNCH_OK ||
        launch_examine(path, &request.shell, finding) != LAUNCH_OK ||
        launch_log_create(profile, log_path, &request.log, finding) != LAUNCH_OK)
        return STATE_LIMITED; /* says nothing about recordings in general */
    enum launch_outcome outcome = launch_record(&request, &result, finding);
    launch_signals_release();
    close(request.log);
    unlink(log_path);
    if (outcome != LAUNCH_OK)
        return STATE_FAILED;
    bool good = result.images == 1 && result.exited && result.exit_code == 0;
    snprintf(finding, LAUNCH_ERROR_BYTES,
             good ? "the agent starts in a program (%s)" : "the agent does not start in %s", path);
    return good ? STATE_OK : STATE_FAILED;
}

static void check_recording(struct examination *examination)
{
    if (!examination->agent[0] || !examination->watchpoints.registers)
        return;
    char finding[LAUNCH_ERROR_BYTES], profile[4096];
    snprintf(profile, sizeof profile, "%.4000s/headroom-doctor", util_temporary_root());
    enum state state = try_recording(examination, profile, finding);
    struct check *check = add(examination, "recording", state, "%.500s", finding);
    if (state == STATE_FAILED) {
        snprintf(check->remedy, sizeof check->remedy,
                 "see what the loader says: LD_PRELOAD=%.200s true", examination->agent);
    }
}

/* Limits nothing that `headroom waste` does without --exact. */
static void check_exact(struct examination *examination)
{
    char error[LAUNCH_ERROR_BYTES];
    struct launch_exact_engine engine;
    struct launch_exact_request request = {
        .engine = &engine, .program.config.kinds = WIRE_DEAD | WIRE_SILENT | WIRE_LOAD};
    if (launch_exact_find(&engine, error) != LAUNCH_OK) {
        struct check *check = add(examination, "exact engine", STATE_LIMITED, "%.500s", error);
        if (strstr(error, "apt install valgrind"))
            advise(check, "sudo apt install valgrind");
        return;
    }
    if (launch_exact_try(&request, error) != LAUNCH_OK) {
        struct check *check = add(examination, "exact engine", STATE_LIMITED, "%.500s", error);
        if (strstr(error, "ulimit"))
            advise(check, "ulimit -Sv unlimited; ulimit -Sd unlimited");
        return;
    }
    add(examination, "exact engine", STATE_OK, "starts programs (%.400s)", engine.tool);
}

/* What `headroom run` counts for data that caches have lost. */
static void check_latencies(struct examination *examination)
{
    struct machine_latencies *found = &examination->latencies;
    char text[400] = "", name[16];
    bool measured = machine_latencies(true, found) == BASE_OK;
    if (!measured || found->count == 0) {
        add(examination, "latencies", STATE_LIMITED, "not measured: %s; typical ones are used",
            measured ? "the caches of this machine are not known" : "no memory");
        return;
    }
    for (size_t i = 0; i < found->count; i++) {
        snprintf(name, sizeof name, "L%u", found->items[i].level);
        print_add(text, sizeof text, "%s%s %.1f ns", i ? ", " : "",
                  found->items[i].level ? name : "memory", found->items[i].chase_ns);
    }
    if (found->transfer == MACHINE_TRANSFER_MEASURED)
        print_add(text, sizeof text, "; a line between two cores %.0f ns", found->transfer_ns);
    else
        print_add(text, sizeof text, "; a line between two cores: not measured (%s)",
                  machine_transfer_texts[found->transfer]);
    add(examination, "latencies", STATE_OK, "%s", text);
}

/* Limits nothing: it is measured when it is needed. */
static void check_model(struct examination *examination)
{
    struct model *model = NULL;
    if (model_open("here", &model, NULL) != BASE_OK) {
        advise(add(examination, "machine model", STATE_OK,
                   "not measured yet; what needs it measures the most common instructions first"),
               "headroom calibrate");
        return;
    }
    const struct model_machine *machine = model_machine(model);
    struct check *check = add(
        examination, "machine model", STATE_OK,
        "%zu instruction forms measured; %.3g slots, %.3g loads and %.3g stores a cycle%s",
        model_count(model), (double)machine->figures[MODEL_WIDTH].value,
        (double)machine->figures[MODEL_LOADS].value, (double)machine->figures[MODEL_STORES].value,
        machine->shared  ? "; too few, since something else used the core meanwhile"
        : machine->quick ? "; the most common forms only"
                         : "");
    if (machine->quick || machine->shared)
        advise(check, "headroom calibrate");
    model_close(model);
}

static void check_debuginfod(struct examination *examination)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (servers && *servers)
        add(examination, "debuginfod", STATE_OK,
            "%.400s, asked for missing debug information unless --no-debuginfod is given", servers);
    else
        add(examination, "debuginfod", STATE_OK,
            "not configured (DEBUGINFOD_URLS); debug information is taken from files only");
}

static void check_disk(struct examination *examination)
{
    struct statvfs disk;
    if (access(".", W_OK) != 0) {
        struct check *check = add(examination, "disk", STATE_LIMITED,
                                  "the current directory cannot be written: %s", strerror(errno));
        advise(check, "headroom waste -o /tmp/waste.headroom -- COMMAND");
        return;
    }
    if (statvfs(".", &disk) != 0) {
        add(examination, "disk", STATE_LIMITED, "the current directory: %s", strerror(errno));
        return;
    }
    double mebibytes = (double)disk.f_bavail * (double)disk.f_frsize / 0x1p20;
    struct check *check = add(examination, "disk", mebibytes < 64 ? STATE_LIMITED : STATE_OK,
                              "%.0f MiB free in the current directory", mebibytes);
    if (mebibytes < 64)
        advise(check, "headroom waste -o /elsewhere/waste.headroom -- COMMAND");
}

/* ---- output ------------------------------------------------------------------------------- */

static const char *const state_names[] = {"ok", "limited", "failed"};

static void print_text(const struct examination *examination, bool works, bool color)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
    unsigned columns = terminal_width(STDOUT_FILENO);
    struct printer printer = {.out = stdout, .width = columns ? print_width(columns) : UINT_MAX};
    for (size_t i = 0; i < examination->count; i++) {
        const struct check *check = &examination->checks[i];
        printf("%s%-8s%s%-20s ", color ? colors[check->state] : "", state_names[check->state],
               color ? "\033[0m" : "", check->name);
        print_wrap(&printer, PLAIN, 29, 29, check->finding);
        if (check->remedy[0])
            printf("%-28s to change it: %s\n", "", check->remedy);
    }
    printf("\n%s\n",
           works ? "'headroom waste' works here." : "'headroom waste' does not work here.");
}

static void print_member(const char *name, const char *value, const char *end)
{
    struct json json = {.out = stdout};
    printf("      \"%s\": ", name);
    if (value)
        json_quote(&json, value);
    else
        fputs("null", stdout);
    fputs(end, stdout);
}

static void print_latencies(const struct machine_latencies *latencies)
{
    fputs("  \"latencies\": {\n    \"levels\": [", stdout);
    for (size_t i = 0; i < latencies->count; i++) {
        const struct machine_latency *item = &latencies->items[i];
        printf("%s\n      {\"level\": %u, \"bytes\": %" PRIu64
               ", \"load_ns\": %.4g, \"line_in_order_ns\": %.4g}",
               i ? "," : "", item->level, item->bytes, item->chase_ns, item->stream_ns);
    }
    fputs(latencies->count ? "\n    ],\n" : "],\n", stdout);
    if (latencies->transfer_ns > 0)
        printf("    \"transfer_ns\": %.4g\n  }\n", latencies->transfer_ns);
    else
        fputs("    \"transfer_ns\": null\n  }\n", stdout);
}

static void print_json(const struct examination *examination, bool works)
{
    printf("{\n  \"schema\": \"headroom-doctor/1\",\n  \"works\": %s,\n  \"checks\": [\n",
           works ? "true" : "false");
    for (size_t i = 0; i < examination->count; i++) {
        const struct check *check = &examination->checks[i];
        fputs("    {\n", stdout);
        print_member("name", check->name, ",\n");
        print_member("state", state_names[check->state], ",\n");
        print_member("finding", check->finding, ",\n");
        print_member("remedy", check->remedy[0] ? check->remedy : NULL, "\n");
        fputs(i + 1 < examination->count ? "    },\n" : "    }\n", stdout);
    }
    fputs("  ],\n", stdout);
    print_latencies(&examination->latencies);
    fputs("}\n", stdout);
}

static int doctor_run(const struct settings *settings, int count, char **operands)
{
    static void (*const checks[])(struct examination *) = {
        check_kernel,     check_paranoid, check_watchpoints, check_kernel_accesses,
        check_clock,      check_counters, check_descriptors, check_agent,
        check_recording,  check_exact,    check_latencies,   check_model,
        check_debuginfod, check_disk,
    };
    if (count)
        return say_usage("doctor", "it takes no argument such as '%s'", operands[0]);
    struct examination examination = {0};
    for (size_t i = 0; i < BASE_COUNT(checks); i++)
        checks[i](&examination);
    bool works = true;
    for (size_t i = 0; i < examination.count; i++)
        works = works && examination.checks[i].state != STATE_FAILED;
    if (settings->format == FORMAT_JSON)
        print_json(&examination, works);
    else
        print_text(&examination, works, use_color(settings->color, STDOUT_FILENO));
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("cannot write to standard output: %s.", strerror(errno));
        return 1;
    }
    return works ? 0 : 1;
}

/* ---- the command line --------------------------------------------------------------------------
 */

static const struct option_spec doctor_options[] = {
    OPTION_FORMAT,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_END,
};

const struct verb doctor_verb = {
    .name = "doctor",
    .summary = "test what this machine allows",
    .arguments = "",
    .description = "Tries everything that a recording needs and prints what works, what it "
                   "costs and which command would allow more.",
    .exit_status = "0 if 'headroom waste' works here, 1 if not, 2 for wrong options.",
    .options = doctor_options,
    .usage_code = 2,
    .run = doctor_run,
};
