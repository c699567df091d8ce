// SPDX-License-Identifier: MIT
/* `headroom reuse` (RDX): how far apart are uses of the same data, and which cache would hold them?
 */
#include "reuse/internal.h"

const struct analysis reuse_analysis = {
    .name = "reuse",
    .exact_unit = "access",
    .samples = true,
    .text = &reuse_text,
    .json = reuse_json,
    .compare = &reuse_compare,
    .export = &reuse_export,
    .view = &reuse_view,
};
