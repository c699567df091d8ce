// SPDX-License-Identifier: MIT
/* Functions of the C library by any of their names. */
#include "base/base.h"
#include "show/names.h"

#include <string.h>

const char *const names_clear[] = {"memset", "bzero", "calloc", "explicit_bzero", NULL};
const char *const names_copy[] = {"memcpy", "memmove", "mempcpy", "strcpy",
                                  "stpcpy", "strncpy", NULL};
const char *const names_compare[] = {"strcmp", "strncmp", "strcasecmp", "memcmp",
                                     "strlen", "strchr",  "memchr",     NULL};
const char *const names_length[] = {"strlen", "strnlen", "rawmemchr", "wcslen", NULL};

bool name_is_libc(const char *function, const char *plain)
{
    if (!function)
        return false;
    while (*function == '_')
        function++;
    if (strncmp(function, "GI_", 3) == 0)
        function += 3 + strspn(function + 3, "_");
    if (strncmp(function, "libc_", 5) == 0)
        function += 5;
    static const char *const versions[] = {"avx", "sse", "ssse",  "evex",      "erms",
                                           "c",   "chk", "ifunc", "unaligned", "generic"};
    size_t bytes = strlen(plain);
    if (strncmp(function, plain, bytes) != 0)
        return false;
    function += bytes;
    for (size_t i = 0; *function == '_' && i < BASE_COUNT(versions); i++)
        if (strncmp(function + 1, versions[i], strlen(versions[i])) == 0)
            return true;
    return *function == 0 || *function == '@';
}

static bool is_any(const char *function, const char *const *names)
{
    for (; *names; names++)
        if (name_is_libc(function, *names))
            return true;
    return false;
}

bool name_walks_memory(const char *function)
{
    return is_any(function, names_clear) || is_any(function, names_copy) ||
           is_any(function, names_compare) || is_any(function, names_length);
}

bool name_formats(const char *function)
{
    static const char *const stems[] = {"printf", "scanf"};
    if (!function)
        return false;
    function += strspn(function, "_");
    if (strncmp(function, "isoc", 4) == 0)
        function += 4 + strspn(function + 4, "0123456789_");
    for (size_t i = 0; i < BASE_COUNT(stems); i++) {
        const char *stem = strstr(function, stems[i]);
        const char *end = stem ? stem + strlen(stems[i]) : NULL;
        if (stem && strspn(function, "vfdsnaw") >= (size_t)(stem - function))
            return !*end || *end == '_' || *end == '@';
    }
    return false;
}
