// SPDX-License-Identifier: MIT
/*
 * The part of an agent that must not be in a module whose functions are hooked: the handler of
 * SIGTRAP, which an int3 in itself would end.
 */
#include "wire/spans.h"

#include <signal.h>
#include <ucontext.h>

struct spans_process *volatile handler_piece;
_Atomic uint64_t handler_traps;
void handler_trap(int number, siginfo_t *info, void *context);

void handler_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *state = context;
    uint64_t address = (uint64_t)state->uc_mcontext.gregs[REG_RIP] - 1;
    const struct spans_process *piece = handler_piece;
    atomic_fetch_add(&handler_traps, 1);
    for (uint32_t i = 0; i < piece->traps_count; i++)
        if (piece->traps[i].address == address) {
            state->uc_mcontext.gregs[REG_RIP] = (greg_t)piece->traps[i].to;
            return;
        }
    __builtin_trap();
}
