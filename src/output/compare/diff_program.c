// SPDX-License-Identifier: MIT
/*
 * Which module is the program itself: what is compared is often built as ./old and ./new, and its
 * functions are to be matched all the same. Processes have the names of their programs, as the
 * kernel has them or as they were typed; a symbolic link's name is no module's, then the module of the
 * `main` that the C library calls is taken. A shell or `env` may have started what is compared: of several
 * programs the only ones whose names are not on the other side are taken for each other.
 */
#include "compare/internal.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MOST = 64, MODULES_MOST = 1 << 16 };

/* Of a process' program; 0: none. */
static uint32_t find_executable(const struct profile *profile, const char *exe)
{
    uint32_t same_base = 0;
    for (uint32_t i = 1; exe && exe[0] && i < profile->modules_count; i++) {
        const char *path = profile->modules[i].path;
        if (strcmp(path, exe) == 0)
            return i;
        if (!same_base && strcmp(name_base(path), name_base(exe)) == 0)
            same_base = i;
    }
    return same_base;
}

/* The only module with a `main` that the C library calls; 0: there is none, or more. */
static uint32_t find_started(const struct profile *profile)
{
    uint32_t found = 0;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        const struct profile_context *context = &profile->contexts[i];
        const struct profile_frame *frame = &profile->frames[context->frame];
        const struct profile_frame *caller =
            &profile->frames[profile->contexts[context->parent].frame];
        if (!context->parent || !name_before_program(caller->function) ||
            !profile_same_text(frame->function, "main"))
            continue;
        if (found && found != frame->module)
            return 0;
        found = frame->module;
    }
    return found;
}

struct programs {
    uint32_t modules[PROCESSES_MOST];
    size_t count;
    uint32_t first; /* that of the first process; 0: not known */
};

static void add_program(struct programs *programs, uint32_t module)
{
    for (size_t i = 0; i < programs->count; i++)
        if (programs->modules[i] == module)
            return;
    if (module)
        programs->modules[programs->count++] = module;
}

static void find_programs(const struct profile *profile, struct programs *programs)
{
    *programs = (struct programs){0};
    if (profile->modules_count > MODULES_MOST)
        return;
    for (size_t i = 0; i < profile->processes_count && i < PROCESSES_MOST; i++) {
        uint32_t module = find_executable(profile, profile->processes[i].exe);
        programs->first = i == 0 ? module : programs->first;
        add_program(programs, module);
    }
    if (programs->count == 0) {
        programs->first = find_started(profile);
        add_program(programs, programs->first);
    }
}

/* The only program of `of` whose name none of the other's has; 0: there is none, or more. */
static uint32_t find_left(const struct profile *profile, const struct programs *of,
                          const struct profile *other, const struct programs *others)
{
    uint32_t left = 0;
    for (size_t i = 0; i < of->count; i++) {
        const char *name = name_base(profile->modules[of->modules[i]].path);
        bool there = false;
        for (size_t j = 0; j < others->count && !there; j++)
            there = strcmp(name, name_base(other->modules[others->modules[j]].path)) == 0;
        if (!there && left)
            return 0;
        if (!there)
            left = of->modules[i];
    }
    return left;
}

uint32_t diff_find_program(const struct profile *profile, const struct profile *other)
{
    struct programs mine, others;
    find_programs(profile, &mine);
    if (!other)
        return mine.first;
    find_programs(other, &others);
    uint32_t left = find_left(profile, &mine, other, &others);
    return left && find_left(other, &others, profile, &mine) ? left : mine.first;
}
