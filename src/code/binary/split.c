// SPDX-License-Identifier: MIT
/*
 * Split DWARF: a program names the files that most of its debug information is in, and libdw opens
 * whatever has the name, as it comes: a FIFO would be waited for, a device read without an end, a
 * small file be inflated to any size. So every place where libdw would look is looked at first. (It
 * could be changed in between: then who changed it could as well have changed the program.) libdw
 * cannot be given an open file instead.
 */
#include "binary/split.h"

#include "binary/image.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What cannot be opened cannot be opened by libdw either. */
static bool may_open(const char *path)
{
    struct image image;
    enum base_status status = image_open(path, &image);
    if (status == BASE_OK)
        image_close(&image);
    return status == BASE_OK || status == BASE_NOT_FOUND || status == BASE_DENIED;
}

/* As libdw joins them. False: too long, and may not be opened. */
static bool may_open_in(const char *home, const char *directory, const char *name)
{
    char path[PATH_MAX];
    int length =
        name[0] == '/'                     ? snprintf(path, sizeof path, "%s", name)
        : directory && directory[0] == '/' ? snprintf(path, sizeof path, "%s/%s", directory, name)
        : directory && directory[0] ? snprintf(path, sizeof path, "%s/%s/%s", home, directory, name)
                                    : snprintf(path, sizeof path, "%s/%s", home, name);
    return length > 0 && (size_t)length < sizeof path && may_open(path);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

bool split_may_be_read(Dwarf_Die *skeleton, int file)
{
    char link[32], own[PATH_MAX + sizeof ".dwp"];
    const char *name = text_of(skeleton, DW_AT_dwo_name);
    const char *directory = text_of(skeleton, DW_AT_comp_dir);
    if (!name)
        name = text_of(skeleton, DW_AT_GNU_dwo_name);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (!name || !realpath(link, own))
        return false;
    strcat(own, ".dwp"); /* newer ones look there as well */
    if (!may_open(own))
        return false;
    *strrchr(own, '/') = 0;
    return may_open_in(own, NULL, name) && (!directory || may_open_in(own, directory, name));
}
