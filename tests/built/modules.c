// SPDX-License-Identifier: MIT
/* Contexts and counters through an executable, two linked libraries and two loaded ones. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef long callee(void *);
long main_call(callee *, void *), one_call(callee *, void *), two_call(callee *, void *);
void main_two(int), one_two(int), two_two(int);
static long (*three_call)(callee *, void *), (*four_call)(callee *, void *);
static void (*three_two)(int), (*four_two)(int);

static long all_two(void *which)
{
    main_two((int)(long)which);
    one_two((int)(long)which);
    two_two((int)(long)which);
    three_two((int)(long)which);
    four_two((int)(long)which);
    return 0;
}
static long four(void *which)
{
    return four_call(all_two, which);
}
static long three(void *which)
{
    return three_call(four, which);
}
static long two(void *which)
{
    return two_call(three, which);
}
static long one(void *which)
{
    return one_call(two, which);
}
static void *thread(void *which)
{
    for (int i = 0; i < 10; i++)
        main_call(one, which);
    return NULL;
}

static void *load(const char *path, const char *call, const char *number, void **two_address)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *two_address = dlsym(library, number);
    return dlsym(library, call);
}

int main(int argc, char **argv)
{
    (void)argc;
    pthread_t started[3];
    main_two(1); /* before there are all modules */
    *(void **)&three_call = load(argv[1], "three_call", "three_two", (void **)&three_two);
    *(void **)&four_call = load(argv[2], "four_call", "four_two", (void **)&four_two);
    for (long i = 0; i < 3; i++)
        pthread_create(&started[i], NULL, thread, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(started[i], NULL);
    if (fork() == 0) {
        thread(NULL);
        _exit(0);
    }
    wait(NULL);
    puts("loaded");
    return 0;
}
