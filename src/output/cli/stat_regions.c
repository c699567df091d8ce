// SPDX-License-Identifier: MIT
/* Regions. */
#include "cli/stat.h"

bool stat_regions_find(struct stat_measuring *measuring)
{
    (void)measuring;
    return true;
}

enum launch_outcome stat_regions_run(struct stat_measuring *measuring, struct stat_subject *subject,
                                     struct launch_result *result)
{
    (void)measuring, (void)subject, (void)result;
    return LAUNCH_OK;
}

bool stat_regions_end(struct stat_measuring *measuring)
{
    (void)measuring;
    return true;
}
