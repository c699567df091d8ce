// SPDX-License-Identifier: MIT
/*
 * Time of paths and activations, by the time stamp counter. A slot of the activation holds, while
 * its function runs, the time at which the path would have begun had it not called anything; during
 * a call, that time minus the time of the call. So a call costs two readings and no more than an
 * addition each, a path that ends where another begins one reading, and an activation that is never
 * gone on with needs nothing.
 *
 * All 64 bits are read: a path that waits for seconds (for a page, the processor, a system call in
 * inline assembly) is not to seem a short one. No fences: they would cost more than what is
 * measured, and what runs ahead at one end of a path does so at the other.
 */
#include "instrument/work.h"

/* The counter in rax; rdx is free. rdx first: flags are saved by way of rax, into another. */
static void read_counter(struct site *site)
{
    claim(site, BASE_RDX);
    save_flags(site);
    claim(site, BASE_RAX);
    text_add(site->out, "\trdtsc\n\tshlq\t$32, %%rdx\n\torq\t%%rdx, %%rax\n");
}

static void give_counter(struct site *site)
{
    give(site, BASE_RAX);
    give(site, BASE_RDX);
}

void cycles_begin(struct site *site)
{
    if (!has_cycles(site->work))
        return;
    read_counter(site);
    struct operand slot = slot_at(site, SLOT_TIME);
    text_add(site->out, "\tmovq\t%%rax, %s\n", slot.text);
    give_counter(site);
}

void cycles_end(struct site *site)
{
    if (!has_cycles(site->work))
        return;
    read_counter(site);
    struct operand slot = slot_at(site, SLOT_TIME);
    text_add(site->out, "\tmovq\t%%rax, %%rdx\n\tsubq\t%s, %%rdx\n", slot.text);
    if (!site->leaves)
        text_add(site->out, "\tmovq\t%%rax, %s\n", slot.text);
    give(site, BASE_RAX);
    site->elapsed = BASE_RDX;
}

void cycles_end_activation(struct site *site)
{
    if (!has_cycles(site->work) || has_paths(site->work))
        return;
    cycles_end(site);
    struct operand record = slot_at(site, SLOT_RECORD);
    text_add(site->out, "\tmovq\t%s, %%rax\n\taddq\t%%rdx, %zu(%%rax)\n", record.text,
             offsetof(struct built_record, cycles));
    give(site, BASE_RDX);
    site->elapsed = -1;
}

void cycles_pause(struct site *site)
{
    if (!has_cycles(site->work))
        return;
    read_counter(site);
    struct operand slot = slot_at(site, SLOT_TIME);
    text_add(site->out, "\tsubq\t%%rax, %s\n", slot.text);
    give_counter(site);
}

/* What this reading adds is taken off here: a path may make any number of calls, and of what it
   costs to begin and end one the import knows. */
void cycles_resume(struct site *site)
{
    if (!has_cycles(site->work))
        return;
    read_counter(site);
    struct operand slot = slot_at(site, SLOT_TIME);
    text_add(site->out, "\taddq\theadroom_read_cycles(%%rip), %%rax\n\taddq\t%%rax, %s\n",
             slot.text);
    give_counter(site);
}
