// SPDX-License-Identifier: MIT
/*
 * Names of code that was made at run time. Compilers that make it list it in a perf map or a
 * jitdump (binary/jit.h), named by the process's number: of a process that headroom has met while
 * it lived, in its own /tmp and working directory; of others, in those of headroom. What a forked
 * child has not listed its parent may have.
 *
 * Numbers of processes are used again, and /tmp is everybody's: a file counts only if it belongs to
 * the process's user, to headroom's or to root, is a regular one, is reached by no symbolic link
 * at its end, and was written to since the process began.
 */
#include "import/internal.h"

#include "binary/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GENERATIONS_MAX = 16 };

/* File systems count time in ticks of the kernel's clock, or in whole seconds. */
static const uint64_t clock_slack_ns = 2000000000;

/* An address that is asked for. */
struct asked {
    uint32_t process;
    uint64_t address;
    size_t place;
};

/* All addresses of one image are places[first .. first + count). */
struct import_jit_names {
    struct import_gather *gather;
    const struct import_run *run;
    struct asked *asked; /* by process, address */
    size_t asked_count;
    struct jit_place *places; /* beside them */
    uint32_t module;          /* of what is named; 0: nothing is */
    uint64_t found;           /* files that were read */
    uint64_t foreign, stale;  /* that were not */
    bool cut, several;
};

/* ---- files ----------------------------------------------------------------------------------- */

/* For images that headroom did not meet: the process's number alone. */
static struct import_jit jit_of(const struct import_jit_names *names,
                                const struct profile_process *process)
{
    const struct import_run *run = names->run;
    for (size_t i = 0; run && i < run->jits_count; i++)
        if (run->jits[i].process == process->id)
            return run->jits[i];
    return (struct import_jit){.process = process->id,
                               .pid = process->pid,
                               .uid = geteuid(),
                               .temporary = -1,
                               .directory = -1,
                               .dump = -1};
}

static bool is_acceptable(struct import_jit_names *names, int file, const struct import_jit *jit,
                          const struct profile_process *process)
{
    struct stat info;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    bool ours = info.st_uid == 0 || info.st_uid == geteuid() || info.st_uid == jit->uid;
    uint64_t written_ns =
        (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)info.st_mtim.tv_nsec;
    bool new = written_ns + clock_slack_ns >= process->start_ns;
    names->foreign += !ours;
    names->stale += ours && !new;
    return ours && new;
}

typedef enum base_status reading(int file, const struct jit_limits *limits,
                                 struct jit_place *places, size_t count,
                                 struct jit_account *account);

/* False: no memory. */
static bool read_file(struct import_jit_names *names, reading *read_names, int file,
                      struct jit_place *places, size_t count)
{
    struct jit_account account = {0};
    enum base_status status = read_names(file, &jit_limits, places, count, &account);
    names->found += account.entries > 0;
    names->cut = names->cut || account.cut;
    return status != BASE_NO_MEMORY;
}

/* Also where there is no such file. False: no memory. */
static bool read_named(struct import_jit_names *names, reading *read_names, int directory,
                       const char *name, const struct import_jit *jit,
                       const struct profile_process *process, struct jit_place *places,
                       size_t count)
{
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return true;
    bool good = !is_acceptable(names, file, jit, process) ||
                read_file(names, read_names, file, places, count);
    close(file);
    return good;
}

/* The dump that the process had mapped, else what has that name where compilers put it. */
static bool read_dumps(struct import_jit_names *names, const struct import_jit *jit,
                       const struct profile_process *process, struct jit_place *places,
                       size_t count)
{
    char name[64];
    bool met = jit->temporary >= 0;
    if (jit->dump >= 0) {
        int file = fcntl(jit->dump, F_DUPFD_CLOEXEC, 0);
        bool good = file < 0 || lseek(file, 0, SEEK_SET) != 0 ||
                    !is_acceptable(names, file, jit, process) ||
                    read_file(names, jit_read_dump, file, places, count);
        if (file >= 0)
            close(file);
        return good;
    }
    snprintf(name, sizeof name, "jit-%u.dump", jit->pid);
    if (!read_named(names, jit_read_dump, jit->directory >= 0 ? jit->directory : AT_FDCWD, name,
                    jit, process, places, count))
        return false;
    if (!met)
        snprintf(name, sizeof name, "/tmp/jit-%u.dump", jit->pid);
    return read_named(names, jit_read_dump, met ? jit->temporary : AT_FDCWD, name, jit, process,
                      places, count);
}

static bool read_map(struct import_jit_names *names, const struct import_jit *jit,
                     const struct profile_process *process, struct jit_place *places, size_t count)
{
    char name[64];
    bool met = jit->temporary >= 0;
    snprintf(name, sizeof name, "%sperf-%u.map", met ? "" : "/tmp/", jit->pid);
    return read_named(names, jit_read_map, met ? jit->temporary : AT_FDCWD, name, jit, process,
                      places, count);
}

/* ---- places ----------------------------------------------------------------------------------- */

/* Reads into copies of the places that are not named yet, since one file of several decides. */
static bool fill(struct import_jit_names *names, struct jit_place *places, size_t count,
                 const struct profile_process *process,
                 bool (*read_files)(struct import_jit_names *names, const struct import_jit *jit,
                                    const struct profile_process *process, struct jit_place *places,
                                    size_t count))
{
    struct import_jit jit = jit_of(names, process);
    struct jit_place *open = calloc(count, sizeof *open);
    size_t open_count = 0;
    if (!open)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!places[i].name)
            open[open_count++] = places[i];
    bool good = open_count == 0 || read_files(names, &jit, process, open, open_count);
    for (size_t i = 0, from = 0; i < count; i++)
        if (!places[i].name)
            places[i] = open[from++];
    free(open);
    return good;
}

static bool name_image(struct import_jit_names *names, uint32_t id, struct jit_place *places,
                       size_t count)
{
    const struct profile_process *process = import_process(names->gather, id);
    for (int generations = 0; process && generations < GENERATIONS_MAX; generations++) {
        if (!fill(names, places, count, process, read_dumps) ||
            !fill(names, places, count, process, read_map))
            return false;
        process = import_forked_from(names->gather, process->id);
    }
    return true;
}

static bool name_all(struct import_jit_names *names)
{
    for (size_t from = 0, to; from < names->asked_count; from = to) {
        for (to = from;
             to < names->asked_count && names->asked[to].process == names->asked[from].process;)
            to++;
        if (!name_image(names, names->asked[from].process, names->places + from, to - from))
            return false;
    }
    return true;
}

/* ---- what is asked ----------------------------------------------------------------------------- */

static int compare_asked(const void *left, const void *right)
{
    const struct asked *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static bool ask(struct import_jit_names *names)
{
    const struct import_gather *gather = names->gather;
    size_t count = 0;
    names->asked = calloc(gather->nodes_count + gather->ticks_count, sizeof *names->asked);
    if (!names->asked)
        return false;
    for (size_t i = 1; i < gather->nodes_count; i++)
        if (gather->nodes[i].process)
            names->asked[count++] = (struct asked){.process = gather->nodes[i].process,
                                                   .address = import_look_up(&gather->nodes[i])};
    for (size_t i = 0; i < gather->ticks_count; i++)
        if (gather->ticks[i].process)
            names->asked[count++] = (struct asked){.process = gather->ticks[i].process,
                                                   .address = gather->ticks[i].vaddr};
    qsort(names->asked, count, sizeof *names->asked, compare_asked);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_asked(&names->asked[i], &names->asked[i - 1]) != 0)
            names->asked[names->asked_count++] = names->asked[i];
    names->places = calloc(names->asked_count + 1, sizeof *names->places);
    for (size_t i = 0; names->places && i < names->asked_count; i++)
        names->places[i].address = names->asked[i].address;
    return names->places != NULL;
}

/* One module for all: what the functions are called is known, where they are in a file is not. */
static bool add_module(struct import_jit_names *names)
{
    struct import_gather *gather = names->gather;
    size_t named = 0;
    for (size_t i = 0; i < names->asked_count; i++) {
        named += names->places[i].name != NULL;
        names->several = names->several || names->places[i].several;
    }
    if (!named)
        return true;
    uint32_t id = (uint32_t)gather->profile->modules_count;
    struct profile_module *module = profile_add_modules(gather->profile);
    if (!module || !UTIL_GROW_ZEROED(gather->modules, gather->modules_capacity, id))
        return false;
    gather->modules[id] = (struct import_module){0};
    module->path = profile_keep(gather->profile, "[jit]");
    module->detail = PROFILE_DETAIL_SYMBOLS;
    names->module = id;
    return module->path != NULL;
}

struct import_jit_names *import_jit_begin(struct import_gather *gather,
                                          const struct import_run *run)
{
    struct import_jit_names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    names->gather = gather;
    names->run = run;
    if (ask(names) && name_all(names) && add_module(names))
        return names;
    import_jit_end(names);
    return NULL;
}

void import_jit_end(struct import_jit_names *names)
{
    for (size_t i = 0; names && names->places && i < names->asked_count; i++)
        free(names->places[i].name);
    if (names) {
        free(names->places);
        free(names->asked);
    }
    free(names);
}

const char *import_jit_name(const struct import_jit_names *names, uint32_t process,
                            uint64_t look_up, uint32_t *module)
{
    const struct asked key = {.process = process, .address = look_up};
    size_t at = BASE_FIRST(i, names->asked_count, compare_asked(&names->asked[i], &key) >= 0);
    if (at == names->asked_count || compare_asked(&names->asked[at], &key) != 0 ||
        !names->places[at].name)
        return NULL;
    *module = names->module;
    return names->places[at].name;
}

/* ---- what is said ------------------------------------------------------------------------------ */

bool import_jit_tell(const struct import_jit_names *names, bool wanted)
{
    struct profile *profile = names->gather->profile;
    bool good = true;
    if (names->several)
        good = import_degraded(profile, "code that was compiled while the program ran was replaced "
                                        "by other code at the same address: it has the name of "
                                        "what stood there last");
    if (good && names->cut)
        good = import_degraded(profile, "a list of code that was compiled while the program ran is "
                                        "too long: only its beginning was read");
    if (good && names->foreign)
        good = import_degraded(profile, "a list of code that was compiled while the program ran "
                                        "belongs to another user: it was not read");
    if (good && wanted && names->stale && !names->found)
        good = import_degraded(profile, "a list of compiled code with the program's process "
                                        "number is older than the program: it was not read");
    if (good && wanted && !names->found)
        good = import_degraded(
            profile, "code that is in no file, as just-in-time compilers make it, has no names: "
                     "there is no list of it in /tmp/perf-PID.map or jit-PID.dump (node: "
                     "--perf-basic-prof; Java: -XX:+UnlockDiagnosticVMOptions "
                     "-XX:+DumpPerfMapAtExit; LuaJIT: compiled with -DLUAJIT_USE_PERFTOOLS; .NET: "
                     "DOTNET_PerfMapEnabled=1)");
    return good;
}
