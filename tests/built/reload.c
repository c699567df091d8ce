// SPDX-License-Identifier: MIT
/* A library is loaded, called and unloaded again, always from the same call site. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef long callee(void *);
long main_call(callee *, void *);
static const char *path;

static long nothing(void *unused)
{
    return (long)unused;
}

static long load(void *name)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    long (*call)(callee *, void *);
    if (!library)
        exit(1);
    *(void **)&call = dlsym(library, name);
    call(nothing, NULL);
    call(nothing, NULL);
    dlclose(library);
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    path = argv[1];
    for (int i = 0; i < 5; i++)
        main_call(load, "three_call");
    puts("reloaded");
    return 0;
}
