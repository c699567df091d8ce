// SPDX-License-Identifier: MIT
/*
 * Functions that must be left alone, by their names. A hook puts its own address where the return
 * address was: who returns twice, or looks at it to know the caller, or walks or changes stacks,
 * goes wrong.
 */
#include "patch/internal.h"

#include "binary/binary.h"

#include <string.h>

static const char twice[] = "returns twice";
static const char never[] = "never returns";
static const char caller[] = "looks at its caller";
static const char stacks[] = "changes stacks";
static const char loader[] = "belongs to the dynamic loader";
static const char starts[] = "begins a program or a thread";
static const char unwinder[] = "unwinds the stack";
static const char convention[] = "is called in a way of its own";
static const char processes[] = "returns in two processes";
static const char handler[] = "returns from signal handlers";
static const char checker[] = "belongs to a sanitizer or profiler";
static const char agent[] = "is watched by headroom itself";

struct name {
    const char *text, *why;
};

static const struct name whole[] = {
    {"setjmp", twice},
    {"_setjmp", twice},
    {"__setjmp", twice},
    {"sigsetjmp", twice},
    {"__sigsetjmp", twice},
    {"__sigjmp_save", twice},
    {"savectx", twice},
    {"getcontext", twice},
    {"__getcontext", twice},
    {"vfork", twice},
    {"__vfork", twice},
    {"__libc_vfork", twice},
    {"fork", processes},
    {"__fork", processes},
    {"_Fork", processes},
    {"__libc_fork", processes},
    {"forkpty", processes},
    {"daemon", processes},
    {"clone", stacks},
    {"__clone", stacks},
    {"clone3", stacks},
    {"__clone3", stacks},
    {"__clone_internal", stacks},
    {"swapcontext", stacks},
    {"__swapcontext", stacks},
    {"setcontext", stacks},
    {"__setcontext", stacks},
    {"makecontext", stacks},
    {"__makecontext", stacks},
    {"__start_context", stacks},
    {"jump_fcontext", stacks},
    {"ontop_fcontext", stacks},
    {"make_fcontext", stacks},
    {"__longjmp", never},
    {"____longjmp_chk", never},
    {"__libc_longjmp", never},
    {"__libc_siglongjmp", never},
    {"__pthread_exit", never},
    {"__pthread_unwind", never},
    {"__pthread_unwind_next", never},
    {"__do_cancel", never},
    {"__exit_thread", never},
    {"__run_exit_handlers", never},
    {"dlopen", caller},
    {"dlmopen", caller},
    {"dlsym", caller},
    {"dlvsym", caller},
    {"__libc_dlopen_mode", caller},
    {"__libc_dlsym", caller},
    {"__libc_dlvsym", caller},
    {"mcount", caller},
    {"_mcount", caller},
    {"__fentry__", caller},
    {"__cyg_profile_func_enter", caller},
    {"__cyg_profile_func_exit", caller},
    {"backtrace", unwinder},
    {"__backtrace", unwinder},
    {"__cxa_throw", unwinder},
    {"__cxa_rethrow", unwinder},
    {"__gxx_personality_v0", unwinder},
    {"__gcc_personality_v0", unwinder},
    {"rust_eh_personality", unwinder},
    {"uw_init_context_1", unwinder},
    {"uw_install_context_1", unwinder},
    {"uw_frame_state_for", unwinder},
    {"_start", starts},
    {"start_thread", starts},
    {"__libc_start_main", starts},
    {"__libc_start_main_impl", starts},
    {"__libc_start_call_main", starts},
    {"__libc_csu_init", starts},
    {"__libc_csu_fini", starts},
    {"_init", starts},
    {"_fini", starts},
    {"__restore_rt", handler},
    {"__restore", handler},
    {"sigreturn", handler},
    {"__sigreturn", handler},
    {"rt_sigreturn", handler},
    {"__tls_get_addr", convention},
    {"___tls_get_addr", convention},
    {"__tls_get_addr_slow", convention},
    {"__rust_probestack", convention},
    {"___chkstk_ms", convention},
    {"objc_msgSend", convention},
};

/* Beginnings of names. */
static const struct name beginnings[] = {
    {"_dl_", loader},
    {"__dl_", loader},
    {"_rtld_", loader},
    {"__rtld_", loader},
    {"_Unwind_", unwinder},
    {"__unw_", unwinder},
    {"_ITM_", twice},
    {"__morestack", convention},
    {"__x86_", convention},
    {"__llvm_retpoline_", convention},
    {"__llvm_external_retpoline_", convention},
    {"__asan_", checker},
    {"__hwasan_", checker},
    {"__msan_", checker},
    {"__tsan_", checker},
    {"__ubsan_", checker},
    {"__sanitizer_", checker},
    {"__xray_", checker},
    {"__llvm_profile_", checker},
};

/* What the agent wraps in functions of its own, which look at who calls. */
static const char *const wrapped[] = {
    "bsd_signal",     "dlclose",         "execl",       "execle",       "execlp",
    "execv",          "execve",          "execveat",    "execvp",       "execvpe",
    "fexecve",        "popen",           "posix_spawn", "posix_spawnp", "prctl",
    "pthread_create", "pthread_sigmask", "ptrace",      "sigaction",    "sigaltstack",
    "sigignore",      "signal",          "sigprocmask", "sigtimedwait", "sigwait",
    "sigwaitinfo",    "ssignal",         "syscall",     "system",       "sysv_signal",
    "__sysv_signal",  "thrd_create",     "__sigaction",
};

static bool is_name(const char *name, size_t bytes, const char *text)
{
    return strncmp(name, text, bytes) == 0 && text[bytes] == 0;
}

const char *patch_never(const char *name)
{
    size_t bytes = module_name_bytes(name);
    for (size_t i = 0; i < BASE_COUNT(whole); i++)
        if (is_name(name, bytes, whole[i].text))
            return whole[i].why;
    for (size_t i = 0; i < BASE_COUNT(beginnings); i++)
        if (strncmp(name, beginnings[i].text, strlen(beginnings[i].text)) == 0)
            return beginnings[i].why;
    return binary_never_returns(name, bytes) ? never : NULL;
}

const char *patch_never_import(const char *name)
{
    size_t bytes = module_name_bytes(name);
    for (size_t i = 0; i < BASE_COUNT(wrapped); i++)
        if (is_name(name, bytes, wrapped[i]))
            return agent;
    return patch_never(name);
}
