// SPDX-License-Identifier: MIT
/*
 * Where the added code goes. Code of an edge stands at its end that belongs to it alone: before an
 * unconditional jump, behind the last instruction where control falls through, at the head of a
 * block that only this edge leads to; else a conditional branch is inverted around it, and the
 * entry of a jump table is led over a piece of code behind the jump. Inverting keeps the code where
 * the call frame information is right; a piece of code at the end of the function would need its
 * own.
 */
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- branches -------------------------------------------------------------------------------- */

static const char *const inverses[][2] = {
    {"ja", "jbe"}, {"jae", "jb"},   {"jb", "jae"},  {"jbe", "ja"},  {"jc", "jnc"}, {"je", "jne"},
    {"jg", "jle"}, {"jge", "jl"},   {"jl", "jge"},  {"jle", "jg"},  {"jna", "ja"}, {"jnae", "jae"},
    {"jnb", "jb"}, {"jnbe", "jbe"}, {"jnc", "jc"},  {"jne", "je"},  {"jng", "jg"}, {"jnge", "jge"},
    {"jnl", "jl"}, {"jnle", "jle"}, {"jno", "jo"},  {"jnp", "jp"},  {"jns", "js"}, {"jnz", "jz"},
    {"jo", "jno"}, {"jp", "jnp"},   {"jpe", "jpo"}, {"jpo", "jpe"}, {"js", "jns"}, {"jz", "jnz"},
};

static const char *inverse_of(struct asm_slice name)
{
    for (size_t i = 0; i < BASE_COUNT(inverses); i++)
        if (asm_is(name, inverses[i][0]))
            return inverses[i][1];
    return NULL;
}

/* The branch around `body`, which ends by going to the old target. */
static void invert(struct work *work, uint32_t statement, struct util_text *body)
{
    const struct asm_statement *branch = &work->file->statements[statement];
    const char *inverse = inverse_of(branch->name);
    unsigned number = work->number;
    struct util_text text = {0};
    if (inverse)
        util_text_print(&text, "\t%s\t" LABEL_FORMAT "\n", inverse, number, "x", statement);
    else /* loop, jrcxz: have no opposite, and reach 127 bytes only */
        util_text_print(&text,
                        "\t%.*s\t" LABEL_FORMAT "\n\tjmp\t" LABEL_FORMAT "\n" LABEL_FORMAT ":\n",
                        (int)branch->name.bytes, branch->name.text, number, "y", statement, number,
                        "x", statement, number, "y", statement);
    util_text_print(&text, "%s\tjmp\t%.*s\n" LABEL_FORMAT ":\n", body->bytes ? body->bytes : "",
                    (int)branch->operands.bytes, branch->operands.text, number, "x", statement);
    text.failed |= body->failed;
    work_edit(work, statement, EDIT_REPLACE, &text);
    util_text_free(body);
}

bool place_can_invert(const struct asm_statement *branch)
{
    return inverse_of(branch->name) != NULL;
}

void place_inverted(struct work *work, uint32_t statement, struct util_text *text)
{
    invert(work, statement, text);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Does control come to the block by one edge only? */
static bool entered_once(const struct work *work, uint32_t block)
{
    return block && work->incoming[block] == 1 && !(work->graph_flags[block] & NUMBERING_ROOT);
}

static struct site site_at_block(struct work *work, uint32_t block, struct util_text *out)
{
    return site_before(work, work->blocks[block].first, out);
}

/*
 * Where the unwinder or longjmp leads, what the slot holds is of a call that did not return. A
 * computed goto leaves the time in the slot.
 */
static bool measures_anew(const struct work *work, uint32_t number)
{
    uint32_t flags = work->blocks[number].flags;
    bool unknown = has_paths(work) && !(flags & ASM_BLOCK_REACHED);
    return has_cycles(work) && (flags & (ASM_BLOCK_LANDING | ASM_BLOCK_SETJMP) || unknown);
}

static void put_operations(struct site *site, uint32_t place)
{
    emit_operations(site, place);
    site_end(site);
}

static void put_before(struct work *work, uint32_t statement, uint32_t place)
{
    struct util_text text = {0};
    struct site site = site_before(work, statement, &text);
    put_operations(&site, place);
    work_edit(work, statement, EDIT_BEFORE, &text);
}

/* The same where control enters from elsewhere. */
static void put_root(struct site *site, uint32_t number)
{
    emit_operations(site, NUMBERING_AT_ROOT + number);
    if (measures_anew(site->work, number))
        cycles_begin(site, false);
    site_end(site);
}

/* "\t.long\t.L8-.L4" with another first symbol. */
static void redirect(struct work *work, uint32_t statement, const char *label)
{
    const struct asm_statement *entry = &work->file->statements[statement];
    size_t lead = (size_t)(entry->operands.text - entry->text.text), symbol = 0;
    struct util_text text = {0};
    while (symbol < entry->operands.bytes && !strchr("+-, (\t\n", entry->operands.text[symbol]))
        symbol++;
    util_text_print(&text, "%.*s%s%.*s", (int)lead, entry->text.text, label,
                    (int)(entry->text.bytes - lead - symbol), entry->operands.text + symbol);
    work_edit(work, statement, EDIT_REPLACE, &text);
}

static void place_table_edge(struct work *work, const struct asm_edge *edge, uint32_t place,
                             uint32_t serial)
{
    const struct asm_statement *target = &work->file->statements[work->blocks[edge->to].label];
    char label[48];
    struct util_text text = {0};
    struct site site = site_at_block(work, edge->to, &text);
    if (target->kind != ASM_LABEL) {
        work->reason = INSTRUMENTED_SKIP_INDIRECT;
        return;
    }
    snprintf(label, sizeof label, LABEL_FORMAT, work->number, "e", serial);
    util_text_print(&text, "%s:\n", label);
    put_operations(&site, place);
    util_text_print(&text, "\tjmp\t%.*s\n", (int)target->name.bytes, target->name.text);
    work_edit(work, edge->statement, EDIT_AFTER, &text);
    for (uint32_t i = 0; i < edge->entries; i++)
        redirect(work, work->file->table_entries[edge->first_entry + i], label);
}

/* Leaves the function: operations, then what undoes the entry. */
static void place_exit(struct work *work, const struct asm_edge *edge, uint32_t place)
{
    struct util_text text = {0}, after = {0};
    struct site site = site_before(work, edge->statement, &text);
    site.leaves = true;
    emit_operations(&site, place);
    cycles_end_activation(&site);
    if (edge->kind != ASM_STOP)
        emit_exit(&site);
    site_end(&site);
    if (edge->kind == ASM_TAIL_TAKEN) {
        if (!text.count)
            return;
        emit_after_exit(&(struct site){.work = work, .out = &after});
        invert(work, edge->statement, &text);
        work_edit(work, edge->statement, EDIT_AFTER, &after);
        return;
    }
    work_edit(work, edge->statement, EDIT_BEFORE, &text);
    if (edge->kind != ASM_STOP) {
        emit_after_exit(&(struct site){.work = work, .out = &after});
        work_edit(work, edge->statement, EDIT_AFTER, &after);
    }
}

static void place_edge(struct work *work, const struct asm_edge *edge, uint32_t serial)
{
    uint32_t place = work->edge_of[serial], count;
    if (edge->to == ASM_NONE) {
        place_exit(work, edge, place);
        return;
    }
    plan_at(work, place, &count);
    if (!count)
        return;
    bool twice = edge->kind == ASM_FALL && work->blocks[edge->to].flags & ASM_BLOCK_SETJMP;
    if (edge->kind == ASM_JUMP || edge->kind == ASM_GOTO || twice) { /* before such a call */
        put_before(work, edge->statement, place);
        return;
    }
    if (edge->kind == ASM_TABLE && !entered_once(work, edge->to)) {
        place_table_edge(work, edge, place, serial);
        return;
    }
    struct util_text text = {0};
    struct site site = site_at_block(work, edge->to, &text);
    put_operations(&site, place);
    if (edge->kind == ASM_FALL)
        work_edit(work, work->blocks[edge->from].last, EDIT_AFTER, &text);
    else if (entered_once(work, edge->to))
        work_edit(work, work->blocks[edge->to].first, EDIT_BEFORE, &text);
    else
        invert(work, edge->statement, &text);
}

static void place_edges(struct work *work)
{
    uint32_t first = work->blocks[0].first_edge, last_goto = UINT32_MAX;
    for (uint32_t b = 0; b < work->function->blocks; b++) {
        const struct asm_block *block = &work->blocks[b];
        for (uint32_t i = 0; i < block->edges; i++) {
            const struct asm_edge *edge = &edges_of(work, block)[i];
            if (edge->kind == ASM_GOTO) { /* several targets, one way out */
                if (last_goto == edge->statement)
                    continue;
                last_goto = edge->statement;
            }
            place_edge(work, edge, block->first_edge - first + i);
        }
    }
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* The statement with every `name` replaced. */
static void rename_in(struct work *work, uint32_t number, struct asm_slice name, const char *label)
{
    struct asm_slice old = work->file->statements[number].text;
    struct util_text text = {0};
    for (size_t i = 0; i < old.bytes;) {
        bool here = i + name.bytes <= old.bytes && !memcmp(old.text + i, name.text, name.bytes) &&
                    (i == 0 || !asm_symbol_char(old.text[i - 1])) &&
                    (i + name.bytes == old.bytes || !asm_symbol_char(old.text[i + name.bytes]));
        if (here)
            util_text_print(&text, "%s", label);
        else
            util_text_print(&text, "%c", old.text[i]);
        i += here ? name.bytes : 1;
    }
    work_edit(work, number, EDIT_REPLACE, &text);
}

/*
 * Everything that names the label by other means than a jump. Exception tables may name it as the
 * end of a range of calls, too: that then holds some added code more or less, which throws nothing.
 */
static bool redirect_all(struct work *work, struct asm_slice name, const char *label)
{
    uint32_t count = asm_references(work->file, name, NULL, 0);
    uint32_t *statements = calloc(count + 1, sizeof *statements);
    if (!statements) {
        work->out_of_memory = true;
        return false;
    }
    asm_references(work->file, name, statements, count);
    for (uint32_t i = 0; i < count; i++)
        rename_in(work, statements[i], name, label);
    free(statements);
    return count > 0;
}

/*
 * Control arrives at the block other than by its edges: by the unwinder or a computed goto. What
 * names its label there is given the label of a piece of code before the block, which edges jump or
 * fall around.
 */
static void place_arrival(struct work *work, uint32_t number)
{
    const struct asm_block *block = &work->blocks[number];
    struct util_text text = {0};
    char label[48];
    bool found = false;
    snprintf(label, sizeof label, LABEL_FORMAT, work->number, "r", number);
    for (uint32_t i = block->label; i < block->first; i++) {
        const struct asm_statement *name = &work->file->statements[i];
        if (name->kind != ASM_LABEL)
            continue;
        if (!found)
            util_text_print(&text, "\tjmp\t%.*s\n%s:\n", (int)name->name.bytes, name->name.text,
                            label);
        found = redirect_all(work, name->name, label) || found;
    }
    if (!found && work->reason == INSTRUMENTED_WHOLE)
        work->reason = INSTRUMENTED_SKIP_INDIRECT;
    struct site site = site_at_block(work, number, &text);
    put_root(&site, number);
    work_edit(work, block->label, EDIT_BEFORE, &text);
}

static void place_root(struct work *work, uint32_t number)
{
    const struct asm_block *block = &work->blocks[number];
    struct util_text text = {0};
    uint32_t count;
    plan_at(work, NUMBERING_AT_ROOT + number, &count);
    if ((!count && !measures_anew(work, number)) || !number)
        return;
    if (block->flags & (ASM_BLOCK_LANDING | ASM_BLOCK_GOTO)) {
        place_arrival(work, number);
        return;
    }
    /* Behind a call that returns twice; or not known to be reached, and then made safe. */
    struct site site = site_at_block(work, number, &text);
    put_root(&site, number);
    uint32_t before = number - 1;
    if (block->flags & ASM_BLOCK_SETJMP)
        work_edit(work, work->blocks[before].last, EDIT_AFTER, &text);
    else
        work_edit(work, block->first, EDIT_BEFORE, &text);
}

/* ---- entry and calls ------------------------------------------------------------------------- */

/*
 * Address of a thread-local variable: the linker knows the instructions before the call with it,
 * and may replace them all. Nothing may come in between.
 */
static bool is_thread_local(const struct asm_statement *statement)
{
    struct asm_slice rest = statement->operands, symbol;
    return asm_next_symbol(&rest, &symbol) && asm_begins(symbol, "__tls_get_addr");
}

bool place_is_call(const struct work *work, uint32_t number)
{
    const struct asm_statement *statement = &work->file->statements[number];
    if (statement->kind != ASM_INLINE &&
        (statement->kind != ASM_INSTRUCTION || is_thread_local(statement)))
        return false;
    for (uint32_t i = 0; i < statement->insns_count; i++)
        if (work->file->insns[statement->insns + i].isa.flow == ISA_CALL)
            return true;
    return false;
}

uint32_t place_call_sites(const struct work *work, void (*visit)(void *, uint32_t, uint32_t),
                          void *context)
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < work->function->blocks; b++)
        for (uint32_t i = work->blocks[b].first; i <= work->blocks[b].last; i++)
            if (place_is_call(work, i)) {
                if (visit)
                    visit(context, i, b);
                count++;
            }
    return count;
}

struct calls_placed {
    struct work *work;
    uint32_t count;
};

/* What becomes of the call: of the block's last statement its edges show. Where it may return
   again, the time before it is another activation's, as with paths. */
enum ending { RETURNS, RETURNS_TWICE, NEVER_RETURNS };

static enum ending ending_of(const struct work *work, uint32_t statement, uint32_t number)
{
    const struct asm_block *block = &work->blocks[number];
    if (statement != block->last || !block->edges)
        return statement == block->last ? NEVER_RETURNS : RETURNS;
    const struct asm_edge *edge = edges_of(work, block);
    if (edge->kind != ASM_FALL)
        return NEVER_RETURNS;
    return work->blocks[edge->to].flags & ASM_BLOCK_SETJMP ? RETURNS_TWICE : RETURNS;
}

/*
 * Functions of the C library that call nothing of the program's: what their slot would be is of no
 * account. Only those that nobody defines anew under the same name: not those of memory, which
 * programs replace.
 */
static bool calls_nobody(const struct work *work, const struct asm_statement *call)
{
    static const char *const names[] = {"memcpy",
                                        "memmove",
                                        "memset",
                                        "memcmp",
                                        "memchr",
                                        "strlen",
                                        "strcmp",
                                        "strncmp",
                                        "strchr",
                                        "strrchr",
                                        "strcpy",
                                        "strncpy",
                                        "strstr",
                                        "strspn",
                                        "strcspn",
                                        "strpbrk",
                                        "__ctype_b_loc",
                                        "__ctype_tolower_loc",
                                        "__ctype_toupper_loc",
                                        "__errno_location"};
    struct asm_slice rest = call->operands, symbol;
    if (asm_begins(call->operands, "*") || !asm_next_symbol(&rest, &symbol))
        return false;
    bool listed = false;
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        listed |= asm_is(symbol, names[i]);
    for (uint32_t i = 0; listed && i < work->file->functions_count; i++)
        listed = !asm_same(work->file->functions[i].name, symbol);
    return listed;
}

static void place_call(void *context, uint32_t statement, uint32_t block)
{
    struct calls_placed *placed = context;
    struct work *work = placed->work;
    struct util_text text = {0};
    struct site site = site_before(work, statement, &text);
    enum ending ending = ending_of(work, statement, block);
    if (ending == RETURNS)
        cycles_pause(&site);
    else if (ending == RETURNS_TWICE)
        cycles_end_activation(&site);
    if (has_contexts(work)) {
        if (!calls_nobody(work, &work->file->statements[statement]))
            emit_call(&site, placed->count);
        placed->count++;
    }
    site_end(&site);
    work_edit(work, statement, EDIT_BEFORE, &text);
}

static void place_return(void *context, uint32_t statement, uint32_t block)
{
    struct work *work = context;
    struct util_text text = {0};
    if (ending_of(work, statement, block) != RETURNS)
        return;
    uint32_t next = statement == work->blocks[block].last
                        ? work->blocks[edges_of(work, &work->blocks[block])->to].first
                        : statement + 1;
    struct site site = site_before(work, next, &text);
    cycles_resume(&site);
    site_end(&site);
    work_edit(work, statement, EDIT_AFTER, &text);
}

static void place_entry(struct work *work)
{
    struct util_text text = {0};
    struct site site = site_at_block(work, 0, &text);
    emit_entry(&site);
    site_end(&site);
    work_edit(work, work->function->entry, EDIT_BEFORE, &text);
}

/* Code that is called seldom, at the end of the main part: the state there is that of the entry. */
static void place_stubs(struct work *work)
{
    struct util_text text = {0};
    uint32_t last = work->function->first;
    if (!work->stubs.count)
        return;
    for (uint32_t i = work->function->first; i < work->function->end; i++)
        if (asm_is_code(&work->file->statements[i]))
            last = i;
    util_text_print(&text, "\t.cfi_def_cfa %%rsp, 8\n");
    for (const char *const *name =
             (const char *const[]){"rbx", "rbp", "r12", "r13", "r14", "r15", NULL};
         *name; name++)
        util_text_print(&text, "\t.cfi_restore %%%s\n", *name);
    util_text_print(&text, "%s", work->stubs.bytes);
    text.failed |= work->stubs.failed;
    work_edit(work, last, EDIT_AFTER, &text);
}

void place_all(struct work *work)
{
    struct calls_placed placed = {.work = work};
    place_entry(work);
    /* Behind a call before the operations of an edge that leads on from there; before a call after
       those of a path that ends at the call, which would use the same slots. */
    if (has_cycles(work))
        place_call_sites(work, place_return, work);
    place_edges(work);
    if (has_contexts(work) || has_cycles(work))
        place_call_sites(work, place_call, &placed);
    for (uint32_t i = 0; i < work->function->blocks; i++)
        if (work->graph_flags[i] & NUMBERING_ROOT && (has_paths(work) || has_cycles(work)))
            place_root(work, i);
    if (work->options->modes & INSTRUMENTED_COUNT)
        access_place(work);
    place_stubs(work);
}
