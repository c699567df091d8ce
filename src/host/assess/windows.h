// SPDX-License-Identifier: MIT
/*
 * Between the files of executed loops: windows out of a profile's rows, cut to whole iterations (windows.c), their schedules added up as
 * rows (executed.c) and as text (executed_text.c).
 */
#ifndef HEADROOM_ASSESS_WINDOWS_H
#define HEADROOM_ASSESS_WINDOWS_H

#include "assess/internal.h"

#include "bounds/executed.h"

/* An instruction of a loop, of all its windows. */
struct windows_code {
    const char *module; /* the profile's */
    const char *file;   /* the profile's; NULL: unknown */
    uint32_t line;
    struct bounds_instruction instruction;
    bool inside;    /* of the loop itself */
    uint64_t times; /* executed */
    double path;    /* cycles of critical paths */
};

struct windows_window {
    const struct profile_executed_window *row;
    struct executed executed;
    uint32_t *codes;      /* by instruction executed */
    uint32_t *iterations; /* likewise: of which, from 1 */
    size_t capacity, iteration_capacity;
    uint64_t iteration_count, inside;
};

struct windows {
    struct windows_code *codes;
    size_t code_count, code_capacity;
    struct util_index codes_by_place;
    struct windows_window *items;
    size_t count, capacity;
};

/* Those of a loop; `binary` is its module, NULL if that cannot be opened. Windows in which the loop was left at once are not among
   them. BASE_NO_MEMORY. */
enum base_status windows_of(struct profile *profile, const struct profile_limit_loop *loop,
                            struct binary *binary, struct windows *windows);
void windows_free(struct windows *windows);
/* The code at that place. False: it was not executed. */
bool windows_find(const struct windows *windows, const char *module, uint64_t address,
                  uint32_t *code);

/* Schedules of all windows of a loop for one memory model, added up. */
struct windows_sum {
    enum executed_memory memory;
    uint64_t windows, iterations, instructions, inside, loads, misses;
    double cycles[SCHEDULE_KINDS];
    double work[MODEL_UNITS_MAX];
    double path_units, path_front_end, path_buffer;
    enum schedule_kind shown; /* whose units and path that is */
};

/* By access of a window, cycles that its reuse distances let expect beyond a hit, malloc's. NULL: no memory. */
float *windows_expect(const struct profile *profile, const struct windows *windows,
                      const struct windows_window *window, const struct assess_memory *memory,
                      float hit_cycles);

/* The last of the machine's schedules that is known. */
enum schedule_kind windows_kind(const struct model *model);

/* sums: one for each memory model; units and path are printed of the first one. False: no memory. */
bool windows_print(const struct windows *windows, const struct profile_limit_loop *loop,
                   const struct windows_sum *sums, size_t count, const struct model *model,
                   const struct assess_memory *memory, struct util_text *text);
/* Of the first window: its graph, and its schedule of the kind that is shown. False: no memory. */
bool windows_print_operations(const struct windows *windows, const struct executed_graph *graph,
                              const struct schedule *first, const struct model *model,
                              struct util_text *text);

/* Operations of the first iterations in order of their start, malloc's; *count: how many, one for each instruction and kind. */
struct schedule_operation *windows_first_operations(const struct windows_window *window,
                                                    const struct executed_graph *graph,
                                                    const struct schedule *schedule, size_t *count);

#endif
