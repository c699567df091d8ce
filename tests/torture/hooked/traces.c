// SPDX-License-Identifier: MIT
/*
 * Who called? As backtrace, the unwinder of exceptions and libgcc's frame walk see it from inside
 * of hooked functions, in handlers of signals, in callbacks of the C library: names in order,
 * nothing left out, nothing of anyone else.
 */
#include "hooked.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

#define TRACED __attribute__((noinline, noclone))

void *the_first(void *);
int inner(int depth);
int outer(int depth);
int compare(const void *left, const void *right);
void show(const char *title);
void on_signal(int number);

static const char *name_of(void *address)
{
    Dl_info info;
    return dladdr((char *)address - 1, &info) && info.dli_sname ? info.dli_sname : "?";
}

/* Our own functions, the rest as one dot; main's caller and a thread's first function end it. */
static void show_names(const char *title, void **addresses, int count)
{
    static const char *const known[] = {"inner",     "outer",     "compare",
                                        "on_signal", "the_first", "main"};
    say("%s:", title);
    for (int i = 0; i < count; i++) {
        const char *name = name_of(addresses[i]);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(name, known[k]) == 0)
                say(" %s", name);
        if (strcmp(name, "main") == 0 || strcmp(name, "the_first") == 0)
            break;
    }
    say("\n");
}

struct trace {
    void *addresses[128];
    int count;
};

static _Unwind_Reason_Code add(struct _Unwind_Context *context, void *argument)
{
    struct trace *trace = argument;
    if (trace->count < 128)
        trace->addresses[trace->count++] = (void *)_Unwind_GetIP(context);
    return _URC_NO_REASON;
}

TRACED void show(const char *title)
{
    struct trace trace = {0};
    show_names(title, trace.addresses, backtrace(trace.addresses, 128));
    _Unwind_Backtrace(add, &trace);
    show_names("  unwinder", trace.addresses, trace.count);
}

TRACED void on_signal(int number)
{
    show(number == SIGUSR1 ? "in a handler" : "in a handler on a stack of its own");
    NO_TAIL_CALL();
}

TRACED int inner(int depth)
{
    if (depth == 0)
        show("direct");
    else if (depth == 100)
        raise(SIGUSR1);
    else if (depth == 101)
        raise(SIGUSR2);
    else if (depth > 1)
        return outer(depth - 1) + 1;
    else
        return inner(depth - 1) + 1;
    NO_TAIL_CALL();
    return 1;
}

TRACED int outer(int depth)
{
    int result = inner(depth);
    NO_TAIL_CALL();
    return result + 1;
}

static int compared;

TRACED int compare(const void *left, const void *right)
{
    if (compared++ == 5)
        show("in a callback");
    return *(const int *)left - *(const int *)right;
}

TRACED void *the_first(void *argument)
{
    int numbers[16];
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_signal};
    must(sigaction(SIGUSR1, &action, NULL) == 0);
    action.sa_flags = SA_ONSTACK;
    must(sigaction(SIGUSR2, &action, NULL) == 0 && sigaltstack(&alternate, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        outer(0);
        outer(3);
        inner(5);
        outer(100);
        outer(101);
        for (int k = 0; k < 16; k++)
            numbers[k] = 16 - k;
        compared = 0;
        qsort(numbers, 16, sizeof *numbers, compare);
    }
    NO_TAIL_CALL();
    return argument;
}

int main(void)
{
    pthread_t thread;
    the_first(NULL);
    NO_TAIL_CALL();
    must(pthread_create(&thread, NULL, the_first, NULL) == 0);
    must(pthread_join(thread, NULL) == 0);
    return 0;
}
