// SPDX-License-Identifier: MIT
/*
 * Nops for `headroom interference` to put jumps in their places while the program runs. One is
 * patched by a single aligned store if it does not cross a boundary of eight bytes, so the
 * assembler is asked to go on to the next one where it would: behind an endbr64 that costs a second
 * nop, and nothing where a function begins at a boundary. The entry itself stays where it is, and
 * so do addresses that the program takes and alignments that it asked for.
 */
#include "instrument/internal.h"

/* By text alone, for functions of which only the name and the place are known: behind the
   directives that begin it and an endbr64, before all labels to which it may jump. */
static uint32_t plain_entry(const struct work *work)
{
    const struct asm_function *function = work->function;
    uint32_t entry = function->first + 1;
    for (uint32_t i = entry; i < function->end; i++) {
        const struct asm_statement *at = &work->file->statements[i];
        if (at->section != function->section)
            continue;
        if (asm_is_code(at))
            return at->kind == ASM_INSTRUCTION && asm_begins(at->name, "endbr64") ? i + 1 : entry;
        if (at->kind == ASM_DIRECTIVE && asm_begins(at->name, ".cfi_"))
            entry = i + 1;
    }
    return entry;
}

void entry_prepare(struct work *work)
{
    bool counted =
        work->options->modes & (INSTRUMENTED_PATHS | INSTRUMENTED_CONTEXTS | INSTRUMENTED_COUNT);
    uint32_t place =
        work->function->problem == ASM_FINE ? work->function->entry : plain_entry(work);
    struct util_text nop = {0}, entry = {0};
    util_text_print(&nop,
                    "\t.p2align\t3,,4\n" LABEL_FORMAT ":\n\t{disp8} nopl\t0(%%rax,%%rax)\n"
                    "\t.reloc\t" LABEL_FORMAT ",R_X86_64_NONE," LABEL_FORMAT "\n",
                    work->number, "p", 0U, work->number, "p", 0U, work->number, "q", 0U);
    map_section(&entry, work, "headroom_functions", "ao", "progbits");
    util_text_print(
        &entry, "\t.balign\t4\n" LABEL_FORMAT ":\n\t.long\t" LABEL_FORMAT "-.," LABEL_FORMAT "-.\n",
        work->number, "q", 0U, work->number, "p", 0U, work->number, "f", 0U);
    work->prepared = !nop.failed && !entry.failed &&
                     asm_insert_before(work->file, place, nop.bytes) &&
                     asm_append(work->file, entry.bytes);
    work->out_of_memory |= !work->prepared;
    if (!counted)
        map_label_function(work);
    util_text_free(&nop);
    util_text_free(&entry);
}
