// SPDX-License-Identifier: MIT
/*
 * Which functions are worth timing: those with more than a hundredth of the samples, and enough of
 * them that this is no accident. Looked at after 0.1, 0.2 and 0.4 s of sampled CPU time, so that
 * short programs have something and long ones the right things. Later there are samples only while
 * something is patched; old ones count half then.
 *
 * Being sampled makes switching between threads several times as expensive (the clock is set each time,
 * in a virtual machine by the host). So after the first look there are samples in short windows
 * only.
 */
#include "inject/internal.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum { FIRST_MS = 100, SECOND_MS = 200, THIRD_MS = 400, LATER_MS = 800 };

enum {
    /* Wall time in windows that saw something: who spends it in the kernel, or gets no processor,
     * is seen little. */
    WATCHED_MS = 400,
    WATCHED_MS_MAX = 1500, /* while there has been nothing to choose from */
    FIRST_WINDOW_MS = 100,
    WINDOW_MS = 10,
    PAUSE_MS = 40, /* and up to as much again, by chance: programs have periods, too */
};

void inject_choice_begin(struct inject_choice *choice)
{
    memset(choice, 0, sizeof *choice);
    choice->due_ns = FIRST_MS * MS;
}

static bool is_time_up(const struct inject_choice *choice)
{
    uint64_t limit_ms = choice->due_ns <= FIRST_MS * MS ? WATCHED_MS_MAX : WATCHED_MS;
    return choice->watched_ns > limit_ms * MS;
}

bool inject_choice_settled(const struct inject_choice *choice)
{
    return choice->settled || is_time_up(choice);
}

/* Of the window or the pause that begins. */
static uint64_t length_ns(const struct inject_choice *choice, uint64_t now_ns)
{
    if (!choice->watches)
        return PAUSE_MS * MS + base_mix64(now_ns) % (PAUSE_MS * MS);
    return choice->due_ns <= FIRST_MS * MS ? FIRST_WINDOW_MS * MS : WINDOW_MS * MS;
}

bool inject_choice_watches(struct inject_choice *choice, uint64_t now_ns)
{
    if (inject_choice_settled(choice))
        return false;
    if (now_ns < choice->turn_ns)
        return choice->watches;
    if (choice->watches && choice->cpu_ns > choice->begun_cpu_ns)
        choice->watched_ns += now_ns - choice->begun_ns;
    choice->watches = !choice->watches;
    choice->begun_ns = now_ns;
    choice->begun_cpu_ns = choice->cpu_ns;
    choice->turn_ns = now_ns + length_ns(choice, now_ns);
    return choice->watches;
}

static size_t place_of(const void *module, uint64_t vaddr)
{
    return base_mix64((uint64_t)module ^ base_mix64(vaddr)) % INJECT_CHOICE_SLOTS;
}

/* NULL: full. A quarter stays free, so that searches are short. */
static struct inject_candidate *find(struct inject_choice *choice, const void *module,
                                     uint64_t vaddr)
{
    size_t place = place_of(module, vaddr);
    while (choice->slots[place].module) {
        struct inject_candidate *slot = &choice->slots[place];
        if (slot->module == module && slot->vaddr == vaddr)
            return slot;
        place = (place + 1) % INJECT_CHOICE_SLOTS;
    }
    if (choice->used >= INJECT_CHOICE_SLOTS / 4 * 3)
        return NULL;
    choice->used++;
    choice->slots[place] = (struct inject_candidate){.module = module, .vaddr = vaddr};
    return &choice->slots[place];
}

void inject_choice_add(struct inject_choice *choice, const void *module, uint64_t vaddr,
                       uint64_t weight_ns)
{
    choice->cpu_ns += weight_ns;
    choice->ns += (double)weight_ns;
    struct inject_candidate *slot = module ? find(choice, module, vaddr) : NULL;
    if (!slot)
        return;
    slot->ns += (double)weight_ns;
    slot->samples += 1;
}

static int compare(const void *a, const void *b)
{
    const struct inject_candidate *first = a, *second = b;
    return (first->ns < second->ns) - (first->ns > second->ns);
}

static bool is_hot(const struct inject_choice *choice, const struct inject_candidate *slot)
{
    return slot->module && !slot->chosen && slot->samples >= INJECT_CHOICE_SAMPLES &&
           slot->ns > choice->ns / 100;
}

/* Old samples count half; what has hardly any left makes room. */
static void fade(struct inject_choice *choice)
{
    struct inject_candidate *old = malloc(sizeof choice->slots);
    if (!old)
        return;
    memcpy(old, choice->slots, sizeof choice->slots);
    memset(choice->slots, 0, sizeof choice->slots);
    choice->used = 0;
    choice->ns /= 2;
    for (size_t i = 0; i < INJECT_CHOICE_SLOTS; i++) {
        if (!old[i].module || (!old[i].chosen && old[i].samples < 1))
            continue;
        struct inject_candidate *slot = find(choice, old[i].module, old[i].vaddr);
        *slot = old[i];
        slot->samples /= 2;
        slot->ns /= 2;
    }
    free(old);
}

/* The last look of the first choice takes what there is. */
static void set_next(struct inject_choice *choice)
{
    choice->settled |= is_time_up(choice) || choice->cpu_ns >= THIRD_MS * MS;
    choice->due_ns = choice->settled                   ? choice->cpu_ns + LATER_MS * MS
                     : choice->cpu_ns < SECOND_MS * MS ? SECOND_MS * MS
                                                       : THIRD_MS * MS;
}

size_t inject_choice_judge(struct inject_choice *choice,
                           struct inject_candidate hot[INJECT_CHOICE_MAX])
{
    bool later = choice->settled;
    if (choice->cpu_ns < choice->due_ns && (later || !is_time_up(choice)))
        return 0;
    set_next(choice);
    struct inject_candidate *found = malloc(sizeof choice->slots);
    size_t count = 0;
    if (!found)
        return 0;
    for (size_t i = 0; i < INJECT_CHOICE_SLOTS; i++)
        if (is_hot(choice, &choice->slots[i]))
            found[count++] = choice->slots[i];
    qsort(found, count, sizeof *found, compare);
    if (count > INJECT_CHOICE_MAX - choice->chosen)
        count = INJECT_CHOICE_MAX - choice->chosen;
    for (size_t i = 0; i < count; i++) {
        find(choice, found[i].module, found[i].vaddr)->chosen = true;
        hot[i] = found[i];
    }
    choice->chosen += count;
    free(found);
    if (later)
        fade(choice);
    return count;
}
