// SPDX-License-Identifier: MIT
/*
 * Time of paths and activations, by the time stamp counter, or whatever else the recording asks
 * the runtime to read (headroom_read): of a sample. A reading takes longer
 * than most paths do, so that only about one path in 64 is measured. Which, is decided where it
 * begins: a count of the thread's runs down with every begin, and the runtime sets it to another
 * value each time (headroom_sample), so that it keeps step with no loop.
 *
 * A slot of the activation is 0 while a path runs that is not measured. Otherwise it holds the time
 * at which the path would have begun had it not called anything; during a call, that time minus the
 * time of the call. So a call costs two readings and no more than an addition each, and an
 * activation that is never gone on with needs nothing.
 *
 * What is not measured jumps over the readings, which stand in line: a piece of code at the end of
 * the function would need call frame information of its own.
 *
 * All 64 bits are read: a path that waits for seconds (for a page, the processor, a system call in
 * inline assembly) is not to seem a short one. No fences: they would cost more than what is
 * measured, and what runs ahead at one end of a path does so at the other.
 */
#include "instrument/internal.h"

/* Label behind the code that is jumped over. */
static uint32_t skip_if(struct site *site, const char *jump)
{
    uint32_t label = site->work->skips++;
    util_text_print(site->out, "\t%s\t" LABEL_FORMAT "\n", jump, site->work->number, "k", label);
    return label;
}

static struct site skip_unmeasured(struct site *site, uint32_t *label)
{
    struct operand slot = site_slot(site, SLOT_TIME);
    util_text_print(site->out, "\tcmpq\t$0, %s\n", slot.text);
    *label = skip_if(site, "je");
    return site_branch(site);
}

static void end_skip(struct site *branch, const struct site *site, uint32_t label)
{
    site_join(branch, site);
    util_text_print(site->out, LABEL_FORMAT ":\n", site->work->number, "k", label);
}

/* The counter in rax; rdx is free. Out of line, as what is read is not known before the program
 * runs. */
static void read_counter(struct site *branch)
{
    site_claim(branch, BASE_RDX);
    site_claim(branch, BASE_RAX);
    site_call_runtime(branch, "headroom_read");
}

/*
 * An activation is in pieces where a call may return twice, or an exception is caught: each is
 * measured or not by itself. It is counted as measured with the first, so that what all pieces
 * measured took stands to all as they do to all activations.
 */
static void count_activation(struct site *branch)
{
    struct operand record = site_slot(branch, SLOT_RECORD);
    util_text_print(branch->out, "\tmovq\t%s, %%rax\n\tincq\t%zu(%%rax)\n", record.text,
                    offsetof(struct instrumented_record, measured));
}

/* The slot is 0. entry: of an activation. */
static void decide(struct site *site, bool entry)
{
    if (site->work->options->shared) {
        struct site short_lived = site_branch(site);
        site_claim(&short_lived, BASE_RAX);
        util_text_print(site->out, "\tmovq\theadroom_countdown@gottpoff(%%rip), %%rax\n"
                                   "\tsubl\t$1, %%fs:(%%rax)\n");
        site_join(&short_lived, site);
    } else {
        util_text_print(site->out, "\tsubl\t$1, %%fs:headroom_countdown@tpoff\n");
    }
    uint32_t label = skip_if(site, "jns");
    struct site branch = site_branch(site);
    site_call_runtime(&branch, "headroom_sample");
    read_counter(&branch);
    struct operand slot = site_slot(site, SLOT_TIME);
    util_text_print(site->out, "\tmovq\t%%rax, %s\n", slot.text);
    if (entry && !has_paths(site->work))
        count_activation(&branch);
    end_skip(&branch, site, label);
}

void cycles_begin(struct site *site, bool entry)
{
    if (!has_cycles(site->work))
        return;
    site_save_flags(site);
    struct operand slot = site_slot(site, SLOT_TIME);
    util_text_print(site->out, "\tmovq\t$0, %s\n", slot.text);
    decide(site, entry);
}

void cycles_next(struct site *site)
{
    if (has_cycles(site->work))
        decide(site, false);
}

/* From the reading in rax to the time that the path took. */
static void finish(struct site *branch, const char *reading)
{
    struct operand slot = site_slot(branch, SLOT_TIME);
    util_text_print(branch->out, "\tsubq\t%s, %s\n", slot.text, reading);
    if (!branch->leaves)
        util_text_print(branch->out, "\tmovq\t$0, %s\n", slot.text);
}

void cycles_end(struct site *site, const char *address, const char *registers)
{
    uint32_t label;
    if (!has_cycles(site->work))
        return;
    struct site branch = skip_unmeasured(site, &label);
    read_counter(&branch);
    finish(&branch, "%rax");
    const char *plus = *address ? "+" : "";
    util_text_print(site->out, "\taddq\t%%rax, 8%s%s%s\n\tincq\t16%s%s%s\n", plus, address,
                    registers, plus, address, registers);
    end_skip(&branch, site, label);
}

/* No path takes 0 cycles: reading the counter alone takes some. */
void cycles_elapsed(struct site *site)
{
    if (!has_cycles(site->work))
        return;
    site_claim(site, BASE_RDX);
    site_claim(site, BASE_RAX);
    struct operand slot = site_slot(site, SLOT_TIME);
    util_text_print(site->out, "\txorl\t%%edx, %%edx\n\tcmpq\t$0, %s\n", slot.text);
    uint32_t label = skip_if(site, "je");
    site_call_runtime(site, "headroom_read");
    util_text_print(site->out, "\tmovq\t%%rax, %%rdx\n");
    finish(site, "%rdx");
    end_skip(site, site, label);
    site_give(site, BASE_RAX);
}

void cycles_end_activation(struct site *site)
{
    uint32_t label;
    if (!has_cycles(site->work) || has_paths(site->work))
        return;
    site_save_flags(site);
    struct site branch = skip_unmeasured(site, &label);
    read_counter(&branch);
    finish(&branch, "%rax");
    struct operand record = site_slot(site, SLOT_RECORD);
    util_text_print(site->out, "\tmovq\t%s, %%rdx\n\taddq\t%%rax, %zu(%%rdx)\n", record.text,
                    offsetof(struct instrumented_record, cycles));
    end_skip(&branch, site, label);
}

void cycles_pause(struct site *site)
{
    uint32_t label;
    if (!has_cycles(site->work))
        return;
    site_save_flags(site);
    struct site branch = skip_unmeasured(site, &label);
    read_counter(&branch);
    struct operand slot = site_slot(site, SLOT_TIME);
    util_text_print(site->out, "\tsubq\t%%rax, %s\n", slot.text);
    end_skip(&branch, site, label);
}

/* What this reading adds is taken off here: a path may make any number of calls, and of what it
   costs to begin and end one the import knows. */
void cycles_resume(struct site *site)
{
    uint32_t label;
    if (!has_cycles(site->work))
        return;
    site_save_flags(site);
    struct site branch = skip_unmeasured(site, &label);
    read_counter(&branch);
    struct operand slot = site_slot(site, SLOT_TIME);
    util_text_print(site->out, "\taddq\theadroom_read_cycles(%%rip), %%rax\n\taddq\t%%rax, %s\n",
                    slot.text);
    end_skip(&branch, site, label);
}
