// SPDX-License-Identifier: MIT
/*
 * Known answers for `headroom map`: what a debugger shows of a variable where it stops. A mark "@CLASS NAME VALUE" names the class of
 * a variable on its line and the value that the source gives it there when the line is first reached; tests/answers/map holds headroom
 * to the class and gdb to the value, at -O0, where all are current, and at -O2.
 */
#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa)) /* neither inlined nor looked into */
#endif

APART static void use(long value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

/* A store that the next one makes dead is left out. */
int dead = 1, dead_other;
APART static void dead_store(int x)
{
    dead = x;
    dead_other = x + 1; /* @stale dead 5 */
    dead = x * 3;       /* @stale dead 5 */
    use(x);             /* @current dead 15 */
}

/* Of two, both. */
long twice = 1, twice_other;
APART static void dead_twice(long x)
{
    twice = x + 10;
    twice_other = x;
    twice = x + 20;
    twice_other = x * 2; /* @stale twice 27 @stale twice_other 7 */
    twice = x + 30;      /* @stale twice 27 */
    use(x);              /* @current twice 37 */
}

/* Kept in a register over a loop, stored behind it. */
long total;
double product = 1;
APART static void kept_in_register(const double *values, long count)
{
    for (long i = 0; i < count; i++) {
        total = total + i + 4;
        product = product * values[i]; /* @stale total 4 */
    }
    use(count); /* @current total 15 */
}

/* Counted by steps. */
unsigned steps;
double largest;
APART static void counted(const double *values, long count)
{
    for (long i = 0; i < count; i++) {
        steps++;
        if (values[i] > largest) /* @stale steps 1 */
            largest = values[i]; /* @stale steps 1 */
    }
    use(count); /* @current steps 5 */
}

/* Stored while a division takes its time. */
long quotient, thrice, marker;
APART static void stored_early(long x, long y)
{
    quotient = x / y;
    thrice = quotient * 3; /* @premature marker 0 */
    marker = 9;
    use(x); /* @current marker 9 */
}

/* Stored while a product takes its time. */
long product_of, sum_of, early = 2;
APART static void before_a_product(const long *values, long y)
{
    product_of = values[0] * values[1];
    sum_of = values[2] * y + product_of; /* @premature early 2 */
    early = 5;
    use(y); /* @current early 5 */
}

/* What is stored early comes from a register. */
long rest, rest_more, from_register = 1;
APART static void copied_early(long x, long y)
{
    rest = x % y;
    rest_more = rest + 1; /* @premature from_register 1 */
    from_register = x;
    use(x); /* @current from_register 9 */
}

/* Before the function returns. */
long kept, last = 4;
APART static long before_return(long x, long y)
{
    long z = x / y;
    kept = z; /* @premature last 4 */
    last = 11;
    return z + 1; /* @current last 11 */
}

/* On one path the store is dead, on the other there is none. */
int chosen = 1, chosen_other;
APART static void on_some_ways(int x, int which)
{
    if (which) {
        chosen = x;
        chosen_other = 5; /* @stale chosen 6 */
    }
    chosen = x * 2; /* @suspect chosen 6 */
    use(x);         /* @current chosen 12 */
}

/* Something is stored through a pointer while the store waits. */
int waiting = 1, waiting_other;
APART static void unknown_between(int x, short *where)
{
    waiting = x;
    *where = 3;
    waiting_other = x; /* @suspect waiting 7 */
    waiting = x + 1;   /* @suspect waiting 7 */
    use(x);            /* @current waiting 8 */
}

/* What is stored through a pointer may be the variable. */
int seen = 1;
APART static void through_pointer(int x, int *where)
{
    seen = x;
    *where = 3;
    seen = seen + 1; /* @current seen 7 */
    use(x);          /* @current seen 8 */
}

/* A local one that is no longer needed. */
APART static long take(long value)
{
    __asm__ volatile("" : "+r"(value) : : "memory");
    return value + 1;
}
APART static long local_gone(long x)
{
    long first = take(x);
    long second = take(first); /* @current first 9 */
    use(second);               /* @current second 10 */
    return take(second + 1);   /* @absent first 9 */
}

/* In the frame, because its address is taken. */
APART static long look_at(const long *where)
{
    __asm__ volatile("" : : "r"(where) : "memory");
    return *where;
}
long beside;
APART static long in_frame(long x)
{
    long framed = 1;
    look_at(&framed);
    framed = x;
    beside = x + 1;          /* @stale framed 5 */
    framed = x * 3;          /* @stale framed 5 */
    return look_at(&framed); /* @current framed 15 */
}

/* The same in a loop, stored behind it; and in a block, whose place may be another's behind it. */
APART static long in_block(const double *values, long count)
{
    long sum = 0;
    {
        long counted_up = 1;
        look_at(&counted_up);
        for (long i = 0; i < count; i++) {
            counted_up = counted_up + i + 1;
            product = product * values[i]; /* @stale counted_up 2 */
        }
        sum = look_at(&counted_up); /* @current counted_up 16 */
    }
    {
        long next = 3;
        sum = sum + look_at(&next);
    }
    return sum;
}

/* Of the function, but of static storage. */
APART static int function_static(int x)
{
    static int count = 1;
    static int other;
    count = x;
    other = x + 1;
    count = x + 2; /* @stale count 4 */
    use(other);    /* @current count 6 */
    return count;
}

/* The variable of the file has the name of a local one: what the line assigns is the local. */
int shadowed = 1;
APART static int hidden_by_local(int x)
{
    int shadowed = x;
    shadowed = x + 2;
    use(shadowed);
    shadowed = x + 3;
    return shadowed;
}

/* Inlined: the line belongs to the function that was. */
int inner = 1, inner_other;
static inline __attribute__((always_inline)) void set_inner(int x)
{
    inner = x;
    inner_other = x + 1; /* @stale inner 3 */
    inner = x + 4;       /* @stale inner 3 */
}
APART static void inlined(int x)
{
    set_inner(x);
    use(x); /* @current inner 7 */
}

/* A constant takes the place of another. */
int state, state_other;
APART static void constants(int x)
{
    state = 1;
    state_other = x; /* @stale state 1 */
    state = 2;       /* @stale state 1 */
    use(x);          /* @current state 2 */
}

int main(void)
{
    static const double values[] = {1, 2, 3, 4, 5};
    static const long numbers[] = {1, 2, 3};
    int elsewhere;
    short narrow;
    long out = 0;
    dead_store(5);
    dead_twice(7);
    kept_in_register(values, 3);
    counted(values, 5);
    stored_early(91, 7);
    before_a_product(numbers, 3);
    copied_early(9, 4);
    before_return(91, 7);
    on_some_ways(6, 1);
    unknown_between(7, &narrow);
    through_pointer(7, &elsewhere);
    out += local_gone(8);
    function_static(4);
    out += in_frame(5) + in_block(values, 5);
    hidden_by_local(6);
    inlined(3);
    constants(2);
    printf("%ld %ld %g\n", out, total, product);
    return 0;
}
