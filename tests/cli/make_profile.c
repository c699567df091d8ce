// SPDX-License-Identifier: MIT
/*
 * Profiles that no recording yields, small files that ask for a lot:
 *
 *     make_profile FILE DEPTH FINDINGS [NAME_BYTES [VERB [CHAINS]]]
 *
 * Chains of calls that deep, one by default, whose functions' names have that many bytes. The verb
 * is waste or reuse. Findings name different pairs of the innermost contexts; of several chains,
 * all contexts together with the innermost one.
 */
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 64 };

static void fail(const char *why)
{
    fprintf(stderr, "make_profile: %s\n", why);
    exit(1);
}

static void add_functions(struct profile *profile, size_t name_bytes)
{
    char *name = malloc(name_bytes + 16);
    if (!name)
        fail("no memory");
    profile_add_modules(profile)->path = "/bin/prog";
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        int used = sprintf(name, "f%u_", i);
        memset(name + used, 'x', name_bytes);
        name[used + (int)name_bytes] = 0;
        *profile_add_frames(profile) =
            (struct profile_frame){.function = profile_keep(profile, name),
                                   .file = "/src/main.c",
                                   .line = i + 1,
                                   .module = 1,
                                   .address = 0x1000 + i};
    }
    free(name);
}

/* Of the innermost `among` contexts. */
static void add_finding(struct profile *profile, uint32_t number, uint32_t among, bool reuse)
{
    uint32_t last = (uint32_t)profile->contexts_count - 1;
    uint32_t first = last - number / among, second = last - number % among;
    if (reuse)
        *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
            .use = first, .reuse = second, .count = 1, .weight = 1, .time = 9, .time_squares = 81};
    else
        *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                            .first = first,
                                                            .second = second,
                                                            .waste_bytes = 1 + number,
                                                            .waste_traps = 1};
}

static struct profile *make(uint32_t depth, uint32_t findings, size_t name_bytes, bool reuse,
                            uint32_t chains)
{
    struct profile *profile = profile_new();
    uint32_t among = 1;
    if (!profile)
        fail("no memory");
    profile->run = (struct profile_run){.verb = reuse ? "reuse" : "waste",
                                        .engine = "exact",
                                        .weighting = "accesses",
                                        .version = "0.1.0",
                                        .exit_signal = -1};
    add_functions(profile, name_bytes);
    for (uint32_t i = 0; i < depth * chains; i++)
        *profile_add_contexts(profile) =
            (struct profile_context){i % depth ? i : 0, 1 + i % FUNCTIONS};
    while (chains == 1 && among * among < findings)
        among++;
    among = chains > 1 ? depth * chains : among;
    if (reuse)
        *profile_add_reuses(profile) = (struct profile_reuse){
            .unit_bytes = 64, .accesses = 1e9, .reuses = 1e8, .share_first = 1, .share_last = 1};
    else
        profile_add_kinds(profile)->kind = PROFILE_DEAD;
    for (uint32_t i = 0; i < findings; i++)
        add_finding(profile, i, among, reuse);
    return profile;
}

int main(int count, char **words)
{
    char error[PROFILE_ERROR_BYTES];
    if (count < 4)
        fail("FILE DEPTH FINDINGS [NAME_BYTES [VERB [CHAINS]]]");
    struct profile *profile = make(
        (uint32_t)atol(words[2]), (uint32_t)atol(words[3]), count > 4 ? (size_t)atol(words[4]) : 8,
        count > 5 && strcmp(words[5], "reuse") == 0, count > 6 ? (uint32_t)atol(words[6]) : 1);
    if (profile_write(profile, words[1], error, sizeof error) != BASE_OK)
        fail(error);
    profile_free(profile);
    return 0;
}
