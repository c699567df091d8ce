// SPDX-License-Identifier: MIT
#include "show/own.h"

#include "base/base.h"
#include "show/names.h"

#include <string.h>

static bool begins(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strncmp(text, *list, strlen(*list)) == 0)
            return true;
    return false;
}

static bool contains(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strstr(text, *list))
            return true;
    return false;
}

/* Sources and headers, as debug information names them: where distributions put them, and parts of
   the paths under which compilers and the C library were built. */
static bool is_system_file(const char *file)
{
    static const char *const roots[] = {"/usr/include/", "/usr/lib/", "/usr/local/go/src/",
                                        "/rustc/", NULL};
    static const char *const parts[] = {
        "/include/c++/", "/libstdc++-v3/", "/libgfortran/",     "/libgcc/",
        "/libgomp/",     "/glibc-",        "/lib/rustlib/src/", NULL};
    return begins(file, roots) || contains(file, parts);
}

static bool is_system_module(const char *path)
{
    static const char *const names[] = {
        "libc.so",   "libc-2",      "libm.so",     "libm-2",     "libmvec",  "libpthread",
        "librt.so",  "libdl.so",    "ld-linux",    "ld-2",       "libgcc_s", "libstdc++",
        "libc++.so", "libc++abi",   "libgfortran", "libflang",   "libgomp",  "libomp",
        "libiomp5",  "libquadmath", "libstd-",     "linux-vdso", "[vdso]",   NULL};
    return begins(name_base(path), names);
}

bool own_is_team_runtime(const char *module)
{
    static const char *const names[] = {"libgomp", "libomp.so", "libomp-", "libiomp5", NULL};
    return module && begins(name_base(module), names);
}

/* "<alloc::vec::Vec<T> as core::ops::Index>::index" is Rust's as well. */
static bool is_system_function(const char *function)
{
    static const char *const spaces[] = {
        "std::",      "__gnu_cxx::",  "__cxxabiv1::",    "core::",    "alloc::",
        "_gfortran_", "operator new", "operator delete", "_FortranA", NULL};
    static const char *const allocators[] = {"malloc", "calloc", "realloc", "free", NULL};
    if (begins(function + (function[0] == '<'), spaces) || name_walks_memory(function))
        return true;
    for (const char *const *at = allocators; *at; at++)
        if (name_is_libc(function, *at))
            return true;
    return false;
}

bool own_is_system(const char *function, const char *file, const char *module)
{
    if (name_before_program(function) || (module && is_system_module(module)))
        return true;
    if (file)
        return is_system_file(file);
    return function && is_system_function(function);
}
