// SPDX-License-Identifier: MIT
#include "util/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *util_temporary_root(void)
{
    const char *root = getenv("TMPDIR");
    return root && *root == '/' ? root : "/tmp";
}

bool util_temporary_directory(const char *root, const char *name, char *path, size_t bytes)
{
    int printed = snprintf(path, bytes, "%s/%s.XXXXXX", root, name);
    if (printed > 0 && (size_t)printed < bytes)
        return mkdtemp(path) != NULL;
    errno = ENAMETOOLONG;
    return false;
}
