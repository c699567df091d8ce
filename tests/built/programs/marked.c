// SPDX-License-Identifier: MIT
/* Markers in C: in loops, inlined, in one that nobody calls, with keys of all kinds. */
#include <headroom.h>

#include <stdint.h>
#include <stdio.h>

struct queue {
    int bits : 3;
    int length;
};

static int computed;

static long compute(long key)
{
    computed++;
    return key;
}

static inline int take(struct queue *queue, uint64_t key)
{
    HEADROOM_BEGIN("take 'a' thing (1/2)", key);
    int taken = queue->length > 0 ? queue->length-- : 0;
    HEADROOM_END("take 'a' thing (1/2)");
    return taken;
}

int nobody(int x);
int nobody(int x)
{
    HEADROOM_BEGIN("nobody", x);
    HEADROOM_END("nobody");
    return x;
}

/* Executions of the same part, one inside of the other. */
static int recurse(int depth)
{
    HEADROOM_BEGIN("recurse", depth);
    int sum = depth ? recurse(depth - 1) + 1 : 0;
    HEADROOM_END("recurse");
    return sum;
}

int main(void)
{
    struct queue queue = {-2, 20};
    int sum = 0;
    signed char small = -7;
    for (int i = 0; i < 9; i++) {
        HEADROOM_BEGIN("loop", i % 3);
        sum += take(&queue, UINT64_C(0xfedcba9876543210)) + take(&queue, 5);
        if (i & 1)
            HEADROOM_END("loop");
        else
            HEADROOM_END("loop");
    }
    HEADROOM_BEGIN("bits", queue.bits);
    HEADROOM_BEGIN("small", small);
    HEADROOM_BEGIN("null", (void *)0);
    HEADROOM_BEGIN("compute", compute(40) + 2);
    HEADROOM_END("compute");
    HEADROOM_END("null");
    HEADROOM_END("small");
    HEADROOM_END("bits");
    sum += recurse(3);
    printf("%d %d\n", sum, queue.length);
    return computed;
}
