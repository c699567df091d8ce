// SPDX-License-Identifier: MIT
/* Sets and asks the disposition of every signal by every function there is. */
#include "torture.h"

static void handler(int number)
{
    (void)number;
}

int main(void)
{
    for (int number = 1; number <= 64; number++) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER}, old;
        sigaddset(&action.sa_mask, SIGTRAP);
        int result = sigaction(number, &action, &old);
        say("%d: set %d, old default %d;", number, result,
            result == 0 && old.sa_handler == SIG_DFL);
        if (result == 0) {
            must(sigaction(number, NULL, &old) == 0);
            say(" now own %d, flags %#x, masks trap %d;", old.sa_handler == handler,
                (unsigned)old.sa_flags & ~0x04000000u, sigismember(&old.sa_mask, SIGTRAP));
        }
        void (*before)(int) = signal(number, SIG_IGN);
        say(" signal() gives %s;", before == SIG_ERR   ? "error"
                                   : before == handler ? "own"
                                                       : "other");
        before = signal(number, SIG_DFL);
        say(" then %s\n", before == SIG_ERR ? "error" : before == SIG_IGN ? "ignored" : "other");
    }
    busy(100);
    show_signals();
    return 0;
}
