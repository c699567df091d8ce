// SPDX-License-Identifier: MIT
/* Opening what is asked about, and the profile that takes the answer. */
#include "origin/internal.h"

#include <stdio.h>
#include <string.h>

enum base_status origin_open(const char *path, const struct binary_options *symbols,
                             struct binary **binary, char *error)
{
    struct binary_options options = *symbols;
    enum binary_kind kind;
    enum base_status status = binary_classify(path, &kind, NULL);
    options.locations = true;
    if (status == BASE_OK && (kind == BINARY_32BIT || kind == BINARY_OTHER_MACHINE)) {
        snprintf(error, ORIGIN_ERROR_BYTES,
                 "'%.4000s' is for another kind of processor; map reads x86-64 code.", path);
        return BASE_UNSUPPORTED;
    }
    if (status == BASE_OK)
        status = cfg_start();
    if (status == BASE_OK)
        status = binary_open(path, &options, binary);
    if (status != BASE_OK) {
        snprintf(error, ORIGIN_ERROR_BYTES, "cannot read code from '%.4000s': %s.", path,
                 status == BASE_MALFORMED ? "it is no ELF file, or a damaged one"
                                          : base_status_text(status));
        return status;
    }
    if (binary_detail(*binary) == BINARY_DETAIL_LINES)
        return BASE_OK;
    snprintf(
        error, ORIGIN_ERROR_BYTES,
        "'%.4000s' has no debug information: compile it with -g, or install its debug symbols.",
        path);
    binary_close(*binary);
    *binary = NULL;
    return BASE_NOT_FOUND;
}

bool origin_begin(struct profile *profile, const char *version, char *const *words, size_t count,
                  const char *module, const char *asked)
{
    struct profile_map_run *made = profile_add_map_runs(profile);
    if (!made || !profile_begin_static(profile, "map", "time", version, words, count))
        return false;
    made->module = profile_keep(profile, module);
    made->asked = profile_keep(profile, asked);
    return made->module && (made->asked || !asked);
}

struct profile_map_run *origin_run(struct profile *profile)
{
    return &profile->map_runs[0];
}

const char *origin_function_name(struct binary *binary, uint64_t vaddr)
{
    struct binary_frame frames[FRAMES_MAX];
    size_t count = binary_frames(binary, vaddr, frames, FRAMES_MAX);
    return count ? frames[count - 1].function : NULL;
}

const char *origin_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
