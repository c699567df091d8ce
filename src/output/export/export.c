// SPDX-License-Identifier: MIT
/* The formats by name. */
#include "export/walk.h"

#include <errno.h>

static const struct {
    bool (*write)(struct walk *walk, FILE *out);
    bool binary, limits;
} formats[EXPORT_FORMATS] = {
    [EXPORT_PPROF] = {write_pprof, true, true},
    [EXPORT_SPEEDSCOPE] = {write_speedscope, false, false},
    [EXPORT_FOLDED] = {write_folded, false, false},
    [EXPORT_CALLGRIND] = {write_callgrind, false, true},
    [EXPORT_FIREFOX] = {write_firefox, false, false},
    [EXPORT_CSV] = {write_csv, false, false},
    [EXPORT_SARIF] = {write_sarif, false, true},
};

const char *const export_format_names[EXPORT_FORMATS + 1] = {
    [EXPORT_PPROF] = "pprof",     [EXPORT_SPEEDSCOPE] = "speedscope",
    [EXPORT_FOLDED] = "folded",   [EXPORT_CALLGRIND] = "callgrind",
    [EXPORT_FIREFOX] = "firefox", [EXPORT_CSV] = "csv",
    [EXPORT_SARIF] = "sarif",     [EXPORT_FORMATS] = NULL,
};

bool export_is_binary(enum export_format format)
{
    return formats[format].binary;
}

bool export_has_limits(enum export_format format)
{
    return formats[format].limits;
}

enum base_status export_write(const struct profile *profile, const struct export_options *options,
                              FILE *out, char *error, size_t error_bytes)
{
    struct walk walk;
    enum base_status status = walk_open(&walk, profile, options, error, error_bytes);
    if (status != BASE_OK)
        return status;
    bool written = formats[options->format].write(&walk, out);
    if (walk.full) {
        snprintf(error, error_bytes, "the profile has more stacks than any recording of its size.");
        status = BASE_TOO_LARGE;
    } else if (!written) {
        snprintf(error, error_bytes, "not enough memory to export the profile.");
        status = BASE_NO_MEMORY;
    } else if (fflush(out) != 0 || ferror(out)) {
        snprintf(error, error_bytes, "the export cannot be written: %s.", strerror(errno));
        status = BASE_IO;
    }
    walk_close(&walk);
    return status;
}
