// SPDX-License-Identifier: MIT
/* Included in front of the kernels, so that each loop says when it begins an iteration: pairs.c notes accesses with their iterations. */
int loop_enter(int loop);
void loop_leave(const int *once);
void loop_tick(void);

#define LOOP_NUMBERED(number, ...)                                                                 \
    for (int once_ __attribute__((cleanup(loop_leave))) = loop_enter(number); once_; once_ = 0)    \
        for (__VA_ARGS__)                                                                          \
            if (loop_tick(), 0) {                                                                  \
            } else
#define LOOP(number, ...) LOOP_NUMBERED(number, __VA_ARGS__)
/* clang-format off */ /* it takes this for the statement, and makes a macro without arguments of it */
#define for(...) LOOP(__COUNTER__, __VA_ARGS__)
/* clang-format on */
