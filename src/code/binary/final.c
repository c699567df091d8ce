// SPDX-License-Identifier: MIT
/*
 * What C and C++ libraries, the unwinder and Fortran's run-time offer to end a program or a
 * function. Neither symbol tables nor the output of compilers say so of functions elsewhere.
 */
#include "binary/binary.h"

#include <string.h>

static const char *const final_names[] = {
    "_Exit",
    "_Unwind_Resume",
    "_ZSt10unexpectedv",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__clang_call_terminate",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_length",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_fatal",
    "__libc_start_call_main",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_exit_i4",
    "_gfortran_exit_i8",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "thrd_exit",
    "verr",
    "verrx",
};

static bool take(const char **name, size_t *bytes, const char *beginning)
{
    size_t length = strlen(beginning);
    if (*bytes < length || memcmp(*name, beginning, length) != 0)
        return false;
    *name += length;
    *bytes -= length;
    return true;
}

/* std::__throw_length_error(char const*) and its kin: _ZSt20__throw_length_errorPKc. */
static bool is_standard_throw(const char *name, size_t bytes)
{
    if (!take(&name, &bytes, "_ZSt"))
        return false;
    while (bytes && *name >= '0' && *name <= '9') {
        name++;
        bytes--;
    }
    return take(&name, &bytes, "__throw_");
}

bool binary_never_returns(const char *linkage, size_t bytes)
{
    for (size_t i = 0; i < BASE_COUNT(final_names); i++) {
        if (strlen(final_names[i]) == bytes && memcmp(final_names[i], linkage, bytes) == 0)
            return true;
    }
    return is_standard_throw(linkage, bytes);
}
