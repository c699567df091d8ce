// SPDX-License-Identifier: MIT
/* What the gaps come to, and what is usually done about them. */
#include "ceiling/internal.h"

#include <math.h>
#include <string.h>

/* Parts of a loop's time; of a gap, which another level closes nearly; of the time of a clone, which a part of its instructions takes. */
static const double large = 0.3, small = 0.05, nearly = 0.8, alone = 0.9;

double ceiling_gap(const struct profile_ceiling_loop *loop)
{
    return profile_ceiling_known(loop) ? fmin(1, fmax(0, loop->gap)) : 0;
}

double ceiling_upper_bound(const struct profile *profile)
{
    double saved = 0;
    for (size_t i = 0; i < profile->ceiling_loops_count; i++)
        saved += profile->ceiling_loops[i].share * ceiling_gap(&profile->ceiling_loops[i]);
    return fmin(1, saved);
}

const struct ceiling_variant_name ceiling_variants[CEILING_VARIANTS] = {
    {"l2", "in the second-level cache"},
    {"l3", "in the third-level cache"},
    {"ls", "loads and stores alone"},
    {"fp", "arithmetic alone"}};

/* ---- variants ---------------------------------------------------------------------------------------- */

const struct profile_ceiling_variant *ceiling_variant(const struct profile *profile,
                                                      const struct profile_ceiling_loop *loop,
                                                      const char *variant)
{
    size_t number = (size_t)(loop - profile->ceiling_loops);
    for (size_t i = 0; i < profile->ceiling_variants_count; i++)
        if (profile->ceiling_variants[i].loop == number &&
            strcmp(profile->ceiling_variants[i].variant, variant) == 0)
            return &profile->ceiling_variants[i];
    return NULL;
}

double ceiling_variant_cycles(const struct profile_ceiling_loop *loop,
                              const struct profile_ceiling_variant *variant)
{
    return variant && variant->ratio >= 0 && loop->l1_cycles >= 0 ? variant->ratio * loop->l1_cycles
                                                                  : -1;
}

double ceiling_variant_part(const struct profile_ceiling_loop *loop,
                            const struct profile_ceiling_variant *variant)
{
    return variant && variant->ratio >= 0 && profile_ceiling_known(loop)
               ? variant->ratio * (1 - loop->gap)
               : -1;
}

double ceiling_variant_bound(const struct profile *profile, const char *variant)
{
    double saved = -1;
    for (size_t i = 0; i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *loop = &profile->ceiling_loops[i];
        double part = ceiling_variant_part(loop, ceiling_variant(profile, loop, variant));
        if (part >= 0)
            saved = fmax(saved, 0) + loop->share * fmax(0, 1 - part);
    }
    return fmin(1, saved);
}

/* ---- what to do -------------------------------------------------------------------------------------- */

static enum advice_evidence evidence_of(const struct profile *profile,
                                        const struct profile_ceiling_loop *loop,
                                        const char *variant)
{
    const struct profile_ceiling_variant *tried = ceiling_variant(profile, loop, variant);
    return loop->trials >= PROFILE_CEILING_TRIALS_FEW && tried &&
                   tried->trials >= PROFILE_CEILING_TRIALS_FEW
               ? ADVICE_STRONG
               : ADVICE_WEAK;
}

/* Does that level save nearly all of the gap? */
static bool is_near(const struct profile *profile, const struct profile_ceiling_loop *loop,
                    const char *level)
{
    double part = ceiling_variant_part(loop, ceiling_variant(profile, loop, level));
    return part >= 0 && 1 - part >= nearly * loop->gap;
}

/* Is it as fast as if its data were there? */
static bool is_there(const struct profile *profile, const struct profile_ceiling_loop *loop,
                     const char *level)
{
    double part = ceiling_variant_part(loop, ceiling_variant(profile, loop, level));
    return part >= alone;
}

/* The largest level that will do. */
static struct advice advise_level(const struct profile *profile,
                                  const struct profile_ceiling_loop *loop,
                                  enum advice_evidence evidence)
{
    if (is_near(profile, loop, "l3"))
        return (struct advice){"ceiling.tile-l3",
                               "Most of its time is spent waiting for memory, and data in the "
                               "third-level cache would save nearly "
                               "as much as data in the first: tile the loops around it, or "
                               "interchange them, so that data are used again "
                               "while they are in the third level; such tiles are large.",
                               evidence_of(profile, loop, "l3")};
    if (is_near(profile, loop, "l2"))
        return (struct advice){"ceiling.tile-l2",
                               "Most of its time is spent waiting for data, and data in the "
                               "second-level cache would save nearly as much "
                               "as data in the first: tile the loops around it, or interchange "
                               "them, so that data are used again while "
                               "they are in the second level.",
                               evidence_of(profile, loop, "l2")};
    if (is_there(profile, loop, "l2"))
        return (struct advice){
            "ceiling.tile-l1",
            "It is as fast as with its data in the second-level cache: only tiles that fit the "
            "first level help, or "
            "keeping values in registers: unroll a loop around it and join the copies of this one.",
            evidence_of(profile, loop, "l2")};
    return (struct advice){
        "ceiling.tile",
        "Most of its time is spent waiting for data. Use them again while they are in the "
        "cache: "
        "tile the loops around it, or interchange them; store what is used together side by "
        "side, in a smaller type. 'headroom reuse' says where the data were used last.",
        evidence};
}

static bool takes_all(const struct profile_ceiling_variant *part)
{
    return part && part->ratio >= alone;
}

/* Its data are near. */
static struct advice advise_computation(const struct profile *profile,
                                        const struct profile_ceiling_loop *loop,
                                        enum advice_evidence evidence)
{
    const struct profile_ceiling_variant *accesses = ceiling_variant(profile, loop, "ls"),
                                         *arithmetic = ceiling_variant(profile, loop, "fp");
    bool known = accesses && accesses->ratio >= 0 && arithmetic && arithmetic->ratio >= 0;
    if (known && takes_all(arithmetic) && !takes_all(accesses))
        return (struct advice){"ceiling.arithmetic",
                               "Not memory: its arithmetic alone takes as long. 'headroom limits' "
                               "says which units, or which "
                               "chain of dependences, bound it.",
                               evidence_of(profile, loop, "fp")};
    if (known && takes_all(accesses) && !takes_all(arithmetic))
        return (struct advice){
            "ceiling.accesses",
            "Its loads and stores take as long by themselves, though they hit the cache: make "
            "fewer and wider ones, by "
            "vectors, or by keeping values in registers over iterations of a loop around it.",
            evidence_of(profile, loop, "ls")};
    return (struct advice){
        "ceiling.compute",
        "Memory is not what it waits for: 'headroom limits' says what bounds its computation.",
        evidence};
}

struct advice ceiling_advice(const struct profile *profile, const struct profile_ceiling_loop *loop)
{
    enum advice_evidence evidence =
        loop->trials >= PROFILE_CEILING_TRIALS_FEW ? ADVICE_STRONG : ADVICE_WEAK;
    if (!profile_ceiling_known(loop))
        return (struct advice){0};
    if (loop->gap >= large)
        return advise_level(profile, loop, evidence);
    if (loop->gap >= small)
        return (struct advice){
            "ceiling.prefetch",
            "Part of its time is spent waiting for data: access them in the order of memory, which "
            "the processor fetches ahead, or prefetch what it cannot foresee.",
            evidence};
    return advise_computation(profile, loop, evidence);
}
