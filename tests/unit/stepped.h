// SPDX-License-Identifier: MIT
/* Shared by tests that compare with the processor: a child that runs ordinary code under ptrace. */
#ifndef HEADROOM_TESTS_STEPPED_H
#define HEADROOM_TESTS_STEPPED_H

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "isa/isa.h"

/* ---- memory readers ------------------------------------------------------------------------- */

static bool read_process(void *context, uint64_t address, void *out, size_t bytes)
{
    struct iovec to = {out, bytes}, from = {(void *)(uintptr_t)address, bytes};
    return process_vm_readv(*(pid_t *)context, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

/* ---- what the child runs --------------------------------------------------------------------- */

static volatile double sink;
static volatile uint64_t sink_integer;

static int compare_numbers(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void work_sort(struct base_random *random)
{
    int numbers[200];
    for (unsigned i = 0; i < BASE_COUNT(numbers); i++)
        numbers[i] = (int)base_random_below(random, 1000);
    qsort(numbers, BASE_COUNT(numbers), sizeof(numbers[0]), compare_numbers);
    sink_integer += (uint64_t)numbers[7];
}

static void work_format(struct base_random *random)
{
    char text[200];
    unsigned long number = base_random_next(random);
    snprintf(text, sizeof(text), "%lu %s %x %-10d|%08.3f", number, "some words", (unsigned)number,
             (int)(number >> 40), (double)(number % 1000) / 7);
    sink += strtod(text + strlen(text) - 8, NULL) + (double)strtoul(text, NULL, 10);
}

static void work_strings(struct base_random *random)
{
    static char text[6000], copy[6000];
    size_t length = 1 + base_random_below(random, sizeof(text) - 2);
    memset(text, 'a' + (int)base_random_below(random, 4), length);
    text[length] = 0;
    text[base_random_below(random, length)] = 'x';
    memcpy(copy, text, length + 1);
    sink_integer += strlen(copy) + (size_t)strcmp(text, copy);
    char *at = memchr(copy, 'x', length);
    sink_integer += at ? (uint64_t)*at : 0;
    memmove(copy + 1, copy, length / 2);
    sink_integer += strchr(copy, 'x') != NULL;
    sink_integer += (uint64_t)memcmp(text, copy, length);
    sink_integer += strspn(copy, "abcd") + (strstr(copy, "xa") != NULL);
}

struct node {
    struct node *next;
    uint64_t key, value;
};

static void work_hash_table(struct base_random *random)
{
    struct node *buckets[64] = {NULL};
    for (unsigned i = 0; i < 100; i++) {
        uint64_t key = base_random_below(random, 80), hash = base_mix64(key) % 64;
        struct node *node = buckets[hash];
        while (node && node->key != key)
            node = node->next;
        if (!node) {
            node = malloc(sizeof(*node));
            *node = (struct node){buckets[hash], key, 0};
            buckets[hash] = node;
        }
        node->value += i;
    }
    for (unsigned i = 0; i < 64; i++) {
        while (buckets[i]) {
            struct node *next = buckets[i]->next;
            sink_integer += buckets[i]->value % (i + 3);
            free(buckets[i]);
            buckets[i] = next;
        }
    }
}

static void work_floats(struct base_random *random)
{
    static double a[20][20], b[20][20], c[20][20];
    for (unsigned i = 0; i < 400; i++) {
        a[i / 20][i % 20] = (double)base_random_below(random, 100);
        b[i % 20][i / 20] = (double)(i * 3 % 17);
    }
    for (unsigned i = 0; i < 20; i++)
        for (unsigned j = 0; j < 20; j++) {
            double sum = 0;
            for (unsigned k = 0; k < 20; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum > 100 ? sum : -sum;
        }
    sink += c[3][4];
}

/* A small interpreter: indirect jumps through a table. */
static void work_interpreter(struct base_random *random)
{
    uint64_t stack[8] = {0}, top = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint64_t *at = &stack[top % 8];
        switch (base_random_below(random, 9)) {
        case 0: *at += i; break;
        case 1: *at = *at << 3 | *at >> 61; break;
        case 2: top++; break;
        case 3: *at /= (i | 1); break;
        case 4: *at ^= stack[(top + 3) % 8]; break;
        case 5: *at = (uint64_t)__builtin_popcountll(*at) * i; break;
        case 6: *at = (uint64_t)((int64_t)*at % -(int64_t)(i + 2)); break;
        case 7: *at = (uint64_t)__builtin_ctzll(*at | 1 << 20); break;
        default: *at = (unsigned char)*at + (uint64_t)(short)i; break;
        }
    }
    sink_integer += stack[0];
}

static void work_string_instructions(struct base_random *random)
{
    static char from[3000], to[3000];
    uint64_t count = base_random_below(random, sizeof(from)), rest = count / 8;
    void *d = to;
    const void *s = from;
    __asm__ volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(rest)::"memory");
    d = from;
    rest = count;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(rest) : "a"('q') : "memory");
    d = from;
    rest = count;
    __asm__ volatile("repne scasb" : "+D"(d), "+c"(rest) : "a"(0) : "memory", "cc");
    d = from;
    s = to;
    rest = count;
    __asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(rest)::"memory", "cc");
    s = from + 2900;
    d = to + 2900;
    rest = count / 5;
    __asm__ volatile("std; rep movsl; cld" : "+D"(d), "+S"(s), "+c"(rest)::"memory");
    s = from;
    rest = 5;
    __asm__ volatile("rep lodsw" : "+S"(s), "+c"(rest)::"rax", "memory");
    sink_integer += rest + (uintptr_t)d;
}

static void work_atomics(struct base_random *random)
{
    static uint64_t words[4];
    for (unsigned i = 0; i < 50; i++) {
        uint64_t *word = &words[base_random_below(random, 4)], expected = *word;
        __atomic_fetch_add(word, i, __ATOMIC_SEQ_CST);
        __atomic_compare_exchange_n(word, &expected, 5, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        __atomic_exchange_n(word, expected + 1, __ATOMIC_SEQ_CST);
    }
}

static void work_calls(struct base_random *random)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sink_integer += (uint64_t)now.tv_nsec + (uint64_t)getppid();
    sink_integer += base_random_below(random, 5);
    sink += (double)strtol("-12345", NULL, 0);
}

static void (*const works[])(struct base_random *) = {work_sort,
                                                      work_format,
                                                      work_strings,
                                                      work_hash_table,
                                                      work_floats,
                                                      work_interpreter,
                                                      work_string_instructions,
                                                      work_atomics,
                                                      work_calls};

static pid_t start_child(void)
{
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        struct base_random random = {7};
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        while (getppid() == parent) {
            for (unsigned i = 0; i < BASE_COUNT(works); i++)
                works[i](&random);
        }
        _exit(0);
    }
    assert_true(child > 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
    return child;
}

static bool get_registers(pid_t child, struct base_registers *out, bool *in_system_call)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, child, 0, &r) != 0)
        return false;
    *out =
        (struct base_registers){.general = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
                                            r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15},
                                .ip = r.rip,
                                .flags = r.eflags,
                                .fs_base = r.fs_base,
                                .gs_base = r.gs_base};
    *in_system_call = (int64_t)r.orig_rax != -1;
    return true;
}

static bool step(pid_t child)
{
    int status;
    return ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0 && waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

/* Debug register 0 on the eight bytes at address, a multiple of 8; 0: off. False: none to be had. */
static inline bool watch(pid_t child, uint64_t address)
{
    size_t registers = offsetof(struct user, u_debugreg);
    uint64_t control = address ? 0xb0001 : 0; /* loads and stores, 8 bytes, enabled */
    return ptrace(PTRACE_POKEUSER, child, registers + 7 * sizeof(uint64_t), 0) == 0 &&
           ptrace(PTRACE_POKEUSER, child, registers, address) == 0 &&
           ptrace(PTRACE_POKEUSER, child, registers + 7 * sizeof(uint64_t), control) == 0;
}

/* Runs until the watch strikes; not longer than a second. */
static inline bool run_to_watch(pid_t child)
{
    int status;
    struct timespec pause = {0, 20000};
    ptrace(PTRACE_CONT, child, 0, 0);
    for (unsigned i = 0; i < 10000; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
        nanosleep(&pause, NULL);
    }
    kill(child, SIGSTOP);
    waitpid(child, &status, 0);
    return false;
}

static bool decode_in(pid_t child, uint64_t address, struct isa_insn *insn)
{
    uint8_t code[ISA_MAX_LENGTH];
    size_t bytes = sizeof(code);
    while (bytes && !read_process(&child, address, code, bytes))
        bytes--;
    return isa_decode(code, bytes, address, insn) == BASE_OK;
}

static void let_run(pid_t child, struct base_random *random)
{
    int status;
    struct timespec pause = {0, (long)base_random_below(random, 300000)};
    ptrace(PTRACE_CONT, child, 0, 0);
    nanosleep(&pause, NULL);
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
}

#endif
