// SPDX-License-Identifier: MIT
/*
 * A hooked function that asks for its own return address, and the C library's that do: the loader
 * finds out by it who called dlopen and dlsym.
 */
#include "hooked.h"
#include <dlfcn.h>

const char *who(void);
void caller_one(void);
void caller_two(void);
int puts_next(void);

__attribute__((noinline, noclone)) const char *who(void)
{
    Dl_info info;
    void *address = __builtin_extract_return_addr(__builtin_return_address(0));
    return dladdr((char *)address - 1, &info) && info.dli_sname ? info.dli_sname : "?";
}

__attribute__((noinline, noclone)) void caller_one(void)
{
    say("from %s\n", who());
    NO_TAIL_CALL();
}

__attribute__((noinline, noclone)) void caller_two(void)
{
    say("from %s\n", who());
    NO_TAIL_CALL();
}

/* What comes after the program is not the program's own. */
__attribute__((noinline, noclone)) int puts_next(void)
{
    void *own = dlsym(RTLD_DEFAULT, "who"), *next = dlsym(RTLD_NEXT, "who");
    return (own == (void *)who) + 2 * (next == NULL) + 4 * (dlsym(RTLD_NEXT, "puts") != NULL);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        caller_one();
        caller_two();
        say("found %d\n", puts_next());
    }
    return 0;
}
