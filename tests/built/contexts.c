// SPDX-License-Identifier: MIT
/* One case of calling contexts each; the functions of nodes.S with everything else uninstrumented
 * in between. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef long callee(void *);
typedef long node(callee *, void *, callee *, void *);
node node_a, node_b, node_c, node_d, node_s;
long leafp(long), leafh(long);
extern long (*const leaves[50])(void);

static long leaf(void *which)
{
    return leaves[(long)which]();
}
static long path(void *number)
{
    return leafp((long)number);
}
static long hashed(void *number)
{
    return leafh((long)number);
}
static long b_leaf(void *which)
{
    return node_b(leaf, which, NULL, NULL);
}
static long c_leaf(void *which)
{
    return node_c(leaf, which, NULL, NULL);
}

/* a/b/leaf1 once, a/c/leaf2 twice, b/leaf3. */
static void plain(void)
{
    node_a(b_leaf, (void *)1, c_leaf, (void *)2);
    node_a(c_leaf, (void *)2, NULL, NULL);
    b_leaf((void *)3);
}

/* One node after the other: a/b is left, then its sibling is met in the same slot of a. */
static long fifty(void *from)
{
    for (long round = 0; round < 20; round++)
        for (long i = 0; i < 50; i++)
            node_b(leaf, (void *)((i * 7 + (long)from) % 50), NULL, NULL);
    return 0;
}
static void indirect(void)
{
    node_a(fifty, NULL, fifty, (void *)3);
}

static long down(void *depth)
{
    long n = (long)depth;
    if (n == 0)
        return leaf((void *)4);
    return n & 1 ? node_a(down, (void *)(n - 1), leaf, (void *)5)
                 : node_b(down, (void *)(n - 1), leaf, (void *)6);
}
static void recursion(void)
{
    down((void *)100);
}

static int compare(const void *x, const void *y)
{
    node_c(leaf, (void *)7, NULL, NULL);
    return (*(const int *)x > *(const int *)y) - (*(const int *)x < *(const int *)y);
}
static long sort(void *unused)
{
    int numbers[64];
    (void)unused;
    for (int i = 0; i < 64; i++)
        numbers[i] = i * 37 % 64;
    qsort(numbers, 64, sizeof *numbers, compare);
    return 0;
}
static void callback(void)
{
    node_a(sort, NULL, leaf, (void *)8);
}

static jmp_buf target;
static long jump(void *unused)
{
    (void)unused;
    longjmp(target, 1);
}
static long b_jump(void *unused)
{
    return node_b(jump, unused, NULL, NULL);
}
static long catcher(void *unused)
{
    (void)unused;
    for (volatile int i = 0; i < 10; i++)
        if (setjmp(target) == 0)
            node_c(b_jump, NULL, NULL, NULL);
    return 0;
}
static void jumps(void)
{
    node_a(catcher, NULL, leaf, (void *)10);
    leaf((void *)11);
}

static long raiser(void *unused)
{
    (void)unused;
    return raise(SIGUSR1);
}
static long d_leaf(void *which)
{
    return node_d(leaf, which, NULL, NULL);
}
/* The handler is instrumented: called by the kernel it is a root, called by a program it is not. */
static void signals(void)
{
    signal(SIGUSR1, (void (*)(int))leaves[12]);
    for (int i = 0; i < 5; i++)
        node_a(raiser, NULL, d_leaf, (void *)12);
}

static void *thread(void *number)
{
    for (int i = 0; i < 1000; i++)
        node_a((long)number & 1 ? b_leaf : c_leaf, (void *)14, NULL, NULL);
    return NULL;
}
/* Stacks that fit into little memory; nevertheless not every thread may begin where that is
 * limited. */
static void threads(void)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 17);
    for (long round = 0; round < 4; round++) {
        pthread_t started[8];
        int count = 0;
        for (long i = 0; i < 8; i++)
            count += pthread_create(&started[count], &small, thread, (void *)i) == 0;
        for (int i = 0; i < count; i++)
            pthread_join(started[i], NULL);
    }
}

static void sites(void)
{
    for (int i = 0; i < 3; i++)
        node_s(leaf, (void *)15, leaf, (void *)15);
    node_s(leaf, (void *)16, leaf, (void *)15);
    node_a(leaf, (void *)15, leaf, (void *)15);
}

static void paths(void)
{
    for (long i = 0; i < 100; i++) {
        node_a(path, (void *)(i % 4), NULL, NULL);
        node_b(path, (void *)(i % 2), NULL, NULL);
    }
    for (long i = 0; i < 5000; i++)
        node_a(hashed, (void *)i, NULL, NULL);
    hashed((void *)3);
}

/* The child goes on in the middle of a tree, and so does the parent. */
static long forker(void *unused)
{
    (void)unused;
    leaf((void *)17);
    pid_t child = fork();
    leaf((void *)17);
    for (int i = 0; i < 50; i++)
        node_b(leaf, (void *)(long)(child ? 18 : 19), NULL, NULL);
    if (child)
        waitpid(child, NULL, 0);
    return leaf((void *)(long)(child ? 20 : 21));
}
static long b_forker(void *unused)
{
    return node_b(forker, unused, NULL, NULL);
}
static void forks(void)
{
    node_a(b_forker, NULL, leaf, (void *)22);
}

/* More procedures' activations than records can be made: a chain of all orders of five. */
static long deep(void *state)
{
    static node *const all[] = {node_a, node_b, node_c, node_d, node_s};
    unsigned long value = (unsigned long)state;
    if (value < 8)
        return leaf((void *)(long)value);
    return all[value % 5](deep, (void *)(value / 5), NULL, NULL);
}
static void wide(void)
{
    for (unsigned long i = 0; i < 3125; i++)
        deep((void *)(i + 3125));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"plain", plain},       {"indirect", indirect}, {"recursion", recursion},
             {"callback", callback}, {"jumps", jumps},       {"signals", signals},
             {"threads", threads},   {"sites", sites},       {"paths", paths},
             {"forks", forks},       {"wide", wide}};

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++)
            if (strcmp(argv[i], cases[j].name) == 0)
                cases[j].run();
    puts("done");
}
