// SPDX-License-Identifier: MIT
/* Control flow: what each instruction does to it, blocks, edges. */
#include "asm/internal.h"

#include "binary/binary.h"

#include <stdlib.h>

enum { CODE_MAX = 1 << 20, EDGES_MAX = 1 << 22, ROUNDS_MAX = 8 };

/* ---- calls --------------------------------------------------------------------------------- */

/* "f" of "f@PLT", "*f@GOTPCREL(%rip)". */
static struct asm_slice callee(const struct asm_statement *statement)
{
    struct asm_slice rest = statement->operands, symbol = {NULL, 0};
    asm_next_symbol(&rest, &symbol);
    return symbol;
}

/* A file's own function is judged by its code, not its name: programs have an err() of their own.
 */
static bool never_returns(const struct asm_walk *walk, struct asm_slice name)
{
    uint32_t label = asm_label(walk->file, name);
    if (label != ASM_NONE && walk->file->private->marks[label] & MARK_BEGINS)
        return false;
    return binary_never_returns(name.text, name.bytes);
}

static bool returns_twice(struct asm_slice name)
{
    static const char *const names[] = {"setjmp",       "_setjmp", "__sigsetjmp", "sigsetjmp",
                                        "__setjmp",     "vfork",   "__vfork",     "getcontext",
                                        "__getcontext", "savectx", "swapcontext"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        if (asm_is(name, names[i]))
            return true;
    }
    return false;
}

/* A function of this file, found never to return, that no other can take the place of. */
static bool stops_here(const struct asm_walk *walk, const struct asm_statement *call)
{
    const struct asm_file *file = walk->file;
    if (asm_holds(call->operands, "@") || asm_holds(call->operands, "*"))
        return false;
    uint32_t label = asm_label(file, callee(call));
    if (label == ASM_NONE || !(file->private->marks[label] & MARK_BEGINS))
        return false;
    uint32_t function = file->statements[label].function;
    return function != ASM_NONE && file->private->no_return[function] &&
           asm_names_find(&file->private->globals, callee(call)) != 2;
}

/* ---- control of one statement -------------------------------------------------------------- */

static void stop_with(struct asm_walk *walk, enum asm_problem problem)
{
    if (walk->problem == ASM_FINE)
        walk->problem = problem;
}

/* Where a direct jump goes: a place in this function, or another function. */
static void aim(struct asm_walk *walk, uint32_t place, bool conditional)
{
    const struct asm_file *file = walk->file;
    struct asm_slice operands = file->statements[walk->code[place]].operands;
    struct asm_slice rest = operands, symbol = {NULL, 0}, more;
    bool any = asm_next_symbol(&rest, &symbol);
    if (any && asm_begins(symbol, "__x86_return_thunk")) {
        walk->control[place] = CONTROL_RETURN;
        return;
    }
    uint32_t label = any ? asm_label(file, symbol) : ASM_NONE;
    bool exact = any && !asm_next_symbol(&rest, &more) && !asm_holds(operands, "+") &&
                 !memchr(operands.text, '-', operands.bytes);
    if (!exact) {
        stop_with(walk, ASM_PROBLEM_JUMP_OUT);
        return;
    }
    if (label == ASM_NONE || file->private->marks[label] & MARK_BEGINS ||
        asm_holds(operands, "@plt")) {
        walk->control[place] = conditional ? CONTROL_TAIL_BRANCH : CONTROL_TAIL;
        return;
    }
    uint32_t target = walk->next_code[label];
    if (target != ASM_NONE && file->statements[label].function == walk->number) {
        walk->control[place] = conditional ? CONTROL_BRANCH : CONTROL_JUMP;
        walk->target[place] = target;
        walk->jumped[place] = label;
        file->private->marks[label] |= MARK_ARRIVAL;
        return;
    }
    /* A label at the end of a function, behind all code: a compiler that knows nobody
     * comes there. */
    if (file->statements[label].function != walk->number)
        stop_with(walk, ASM_PROBLEM_JUMP_OUT);
    walk->control[place] = conditional ? CONTROL_TAIL_BRANCH : CONTROL_TAIL;
}

static void control_of(struct asm_walk *walk, uint32_t place)
{
    const struct asm_statement *at = &walk->file->statements[walk->code[place]];
    const struct asm_insn *insn = asm_last_insn(walk->file, walk->code[place]);
    walk->control[place] = CONTROL_NEXT;
    walk->target[place] = ASM_NONE;
    walk->jumped[place] = ASM_NONE;
    walk->table[place] = TABLE_NONE;
    if (!insn || at->kind == ASM_INLINE)
        return;
    bool ends = place + 1 == walk->count || place + 1 == walk->main_count;
    switch (insn->isa.flow) {
    case ISA_JUMP:
        walk->control[place] = CONTROL_INDIRECT;
        if (!insn->isa.indirect)
            aim(walk, place, false);
        else if (asm_holds(at->operands, "@gotpcrel"))
            walk->control[place] = CONTROL_TAIL;
        break;
    case ISA_BRANCH: aim(walk, place, true); break;
    case ISA_RETURN: walk->control[place] = CONTROL_RETURN; break;
    case ISA_TRAP:
        if (!asm_begins(at->name, "int") &&
            !asm_begins(at->name, "x")) /* int3, xbegin, xabort go on */
            walk->control[place] = CONTROL_STOP;
        break;
    case ISA_CALL:
        if (returns_twice(callee(at)) && !ends)
            walk->control[place] = CONTROL_TWICE;
        else if (ends || never_returns(walk, callee(at)) || stops_here(walk, at))
            walk->control[place] = CONTROL_STOP;
        break;
    default: break;
    }
    if (asm_begins(at->name, "xbegin"))
        stop_with(walk, ASM_PROBLEM_INDIRECT);
}

static bool goes_on(uint8_t control)
{
    return control == CONTROL_NEXT || control == CONTROL_BRANCH || control == CONTROL_TAIL_BRANCH ||
           control == CONTROL_TWICE;
}

/* ---- the function's code ------------------------------------------------------------------- */

static bool begin_walk(struct asm_walk *walk)
{
    const struct asm_function *function = walk->function;
    uint32_t bound = function->end - function->first;
    if (function->cold_first != ASM_NONE)
        bound += function->cold_end - function->cold_first;
    size_t words = (size_t)bound + 1;
    walk->code = malloc(words * sizeof *walk->code);
    walk->target = malloc(words * sizeof *walk->target);
    walk->jumped = malloc(words * sizeof *walk->jumped);
    walk->into = malloc(words * sizeof *walk->into);
    walk->table = malloc(words * sizeof *walk->table);
    walk->control = malloc(words);
    walk->leader = calloc(words, 1);
    return walk->code && walk->target && walk->jumped && walk->into && walk->table &&
           walk->control && walk->leader;
}

static void end_walk(struct asm_walk *walk)
{
    free(walk->code);
    free(walk->target);
    free(walk->jumped);
    free(walk->into);
    free(walk->table);
    free(walk->control);
    free(walk->leader);
}

static void collect(struct asm_walk *walk, uint32_t first, uint32_t end)
{
    const struct asm_file *file = walk->file;
    uint32_t begin = walk->count;
    for (uint32_t i = first; i < end; i++) {
        const struct asm_statement *at = &file->statements[i];
        if (at->function != walk->number)
            continue;
        if (asm_is_code(at) && (at->insns_count || at->kind == ASM_INLINE))
            walk->code[walk->count++] = i;
    }
    /* Backwards: what runs from a statement on. */
    uint32_t place = walk->count, next = ASM_NONE;
    for (uint32_t i = end; i-- > first;) {
        if (file->statements[i].function != walk->number)
            continue;
        if (place > begin && walk->code[place - 1] == i)
            next = --place;
        walk->next_code[i] = next;
    }
}

enum { LEADS = 1, LEADS_OPEN = 2 }; /* OPEN: who comes there is not known yet */

static void lead(struct asm_walk *walk, uint32_t place, uint8_t how)
{
    if (place < walk->count)
        walk->leader[place] |= how;
}

static void lead_named(struct asm_walk *walk, uint32_t first, uint32_t end)
{
    const struct asm_file *file = walk->file;
    for (uint32_t i = first; i < end; i++) {
        if (file->statements[i].function == walk->number && file->private->marks[i] & MARK_NAMED)
            lead(walk, walk->next_code[i], LEADS_OPEN);
    }
}

static void find_leaders(struct asm_walk *walk)
{
    lead(walk, 0, LEADS_OPEN);
    lead(walk, walk->main_count, LEADS);
    for (uint32_t i = 0; i < walk->count; i++) {
        if (walk->control[i] != CONTROL_NEXT)
            lead(walk, i + 1, LEADS);
        if (walk->target[i] != ASM_NONE)
            lead(walk, walk->target[i], LEADS);
    }
    lead_named(walk, walk->function->first, walk->function->end);
    lead_named(walk, walk->function->cold_first, walk->function->cold_end);
}

/* Only ways by jumps that are understood yet: enough for where tables' addresses come from. */
static void find_ways(struct asm_walk *walk)
{
    enum { NO_WAY = ASM_NONE - 1 };
    for (uint32_t i = 0; i < walk->count; i++)
        walk->into[i] = NO_WAY;
    for (uint32_t i = 0; i < walk->count; i++) {
        uint32_t ways[2] = {ASM_NONE, walk->target[i]};
        if (goes_on(walk->control[i]) && i + 1 != walk->main_count)
            ways[0] = i + 1;
        for (int k = 0; k < 2; k++) {
            if (ways[k] < walk->count)
                walk->into[ways[k]] = walk->into[ways[k]] == NO_WAY ? i : ASM_NONE;
        }
    }
    for (uint32_t i = 0; i < walk->count; i++) {
        if (walk->into[i] == NO_WAY || walk->leader[i] & LEADS_OPEN)
            walk->into[i] = ASM_NONE;
    }
}

/* ---- blocks -------------------------------------------------------------------------------- */

/* The first of the labels before the block by which control may arrive. */
static uint32_t arrival(const struct asm_walk *walk, uint32_t place, uint32_t *flags)
{
    const struct asm_file *file = walk->file;
    const struct asm_function *function = walk->function;
    uint32_t first = place < walk->main_count ? function->first : function->cold_first;
    if (place && place != walk->main_count)
        first = walk->code[place - 1] + 1;
    uint32_t found = walk->code[place];
    for (uint32_t i = walk->code[place]; i-- > first;) {
        if (file->statements[i].function != walk->number || file->statements[i].kind != ASM_LABEL)
            continue;
        uint8_t marks = file->private->marks[i];
        if (marks & MARK_ARRIVAL)
            found = i;
        if (marks & MARK_LANDING)
            *flags |= ASM_BLOCK_LANDING;
        if (marks & MARK_TAKEN)
            *flags |= ASM_BLOCK_GOTO;
    }
    return found;
}

static void describe_block(const struct asm_walk *walk, struct asm_block *block, uint32_t place)
{
    const struct asm_file *file = walk->file;
    for (uint32_t i = place; walk->code[i] != block->last + 1; i++) {
        const struct asm_statement *at = &file->statements[walk->code[i]];
        if (at->kind == ASM_INLINE && !(file->private->marks[walk->code[i]] & MARK_SEQUENCE))
            block->flags |= ASM_BLOCK_INLINE;
        for (uint32_t k = 0; k < at->insns_count; k++) {
            if (file->insns[at->insns + k].isa.flow == ISA_CALL)
                block->flags |= ASM_BLOCK_CALLS;
        }
        if (walk->code[i] == block->last)
            break;
    }
}

static bool make_blocks(struct asm_walk *walk)
{
    struct asm_file *file = walk->file;
    walk->function->first_block = file->blocks_count;
    for (uint32_t place = 0; place < walk->count;) {
        uint32_t end = place + 1;
        while (end < walk->count && !walk->leader[end])
            end++;
        if (!UTIL_GROW(file->blocks, file->private->blocks_capacity, file->blocks_count))
            return false;
        struct asm_block block = {.first = walk->code[place], .last = walk->code[end - 1]};
        block.label = arrival(walk, place, &block.flags);
        if (place >= walk->main_count)
            block.flags |= ASM_BLOCK_COLD;
        if (place && walk->control[place - 1] == CONTROL_TWICE)
            block.flags |= ASM_BLOCK_SETJMP;
        describe_block(walk, &block, place);
        uint32_t number = file->blocks_count - walk->function->first_block;
        for (; place < end; place++)
            walk->into[place] = number; /* from here on: the block of each place */
        file->blocks[file->blocks_count++] = block;
    }
    walk->function->blocks = file->blocks_count - walk->function->first_block;
    return true;
}

/* ---- edges --------------------------------------------------------------------------------- */

static bool add_edge(struct asm_walk *walk, uint32_t place, uint32_t to, enum asm_edge_kind kind)
{
    struct asm_file *file = walk->file;
    if (!UTIL_GROW(file->edges, file->private->edges_capacity, file->edges_count))
        return false;
    file->edges[file->edges_count++] = (struct asm_edge){
        .from = walk->into[place], .to = to, .kind = (uint8_t)kind, .statement = walk->code[place]};
    return true;
}

static uint32_t entry_target(const struct asm_walk *walk, uint32_t statement)
{
    struct asm_slice rest = walk->file->statements[statement].operands, symbol;
    if (!asm_next_symbol(&rest, &symbol))
        return ASM_NONE;
    uint32_t label = asm_label(walk->file, symbol);
    return label == ASM_NONE ? ASM_NONE : walk->next_code[label];
}

struct target {
    uint32_t block, statement;
};

static int compare_targets(const void *left, const void *right)
{
    const struct target *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->statement > b->statement) - (a->statement < b->statement);
}

/* One edge for each target; the entries of each are brought together. */
static bool add_table(struct asm_walk *walk, uint32_t place, const struct asm_table *table)
{
    struct asm_file *file = walk->file;
    bool alone = table->users == 1 && !walk->any;
    struct target *targets = malloc(table->entries * sizeof *targets);
    if (!targets)
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->entries; i++) {
        uint32_t statement = file->table_entries[table->first + i];
        uint32_t target = entry_target(walk, statement);
        targets[count++] =
            (struct target){target == ASM_NONE ? ASM_NONE : walk->into[target], statement};
    }
    if (count)
        qsort(targets, count, sizeof *targets, compare_targets);
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++) {
        file->table_entries[table->first + i] = targets[i].statement;
        if (targets[i].block == ASM_NONE) /* nobody comes there: no code */
            continue;
        if (i && targets[i].block == targets[i - 1].block) {
            file->edges[file->edges_count - 1].entries += alone;
            continue;
        }
        fine = add_edge(walk, place, targets[i].block, alone ? ASM_TABLE : ASM_GOTO);
        if (fine && alone) {
            file->edges[file->edges_count - 1].first_entry = table->first + i;
            file->edges[file->edges_count - 1].entries = 1;
        }
        if (!alone)
            file->blocks[walk->function->first_block + targets[i].block].flags |= ASM_BLOCK_GOTO;
    }
    free(targets);
    return fine;
}

/* With ANY all labels that something names are targets, but those of exceptions alone. */
static bool add_gotos(struct asm_walk *walk, uint32_t place)
{
    struct asm_file *file = walk->file;
    const struct asm_private *private = file->private;
    bool any = walk->table[place] == TABLE_ANY;
    struct asm_block *blocks = &file->blocks[walk->function->first_block];
    for (uint32_t i = 0; any && i < private->references_count; i++) {
        uint32_t label = private->references[i].label, named = private->references[i].statement;
        if (file->statements[label].function != walk->number || walk->next_code[label] == ASM_NONE)
            continue;
        bool pad = asm_begins(file->sections[file->statements[named].section].name, ".gcc_except");
        if (!pad)
            blocks[walk->into[walk->next_code[label]]].flags |= ASM_BLOCK_GOTO;
    }
    for (uint32_t i = 0; i < walk->function->blocks; i++) {
        if (blocks[i].flags & ASM_BLOCK_GOTO && !add_edge(walk, place, i, ASM_GOTO))
            return false;
    }
    return true;
}

static bool add_indirect(struct asm_walk *walk, uint32_t place)
{
    uint32_t table = walk->table[place];
    if (table == TABLE_NONE)
        return add_edge(walk, place, ASM_NONE, ASM_TAIL);
    if (table >= TABLE_LEAST)
        return add_gotos(walk, place);
    return add_table(walk, place, &walk->file->private->tables[table]);
}

static bool add_fall(struct asm_walk *walk, uint32_t place)
{
    if (place + 1 == walk->count || place + 1 == walk->main_count)
        return add_edge(walk, place, ASM_NONE,
                        ASM_STOP); /* a compiler knows that nobody comes here */
    return add_edge(walk, place, walk->into[place + 1], ASM_FALL);
}

static bool add_edges_of(struct asm_walk *walk, uint32_t place)
{
    switch (walk->control[place]) {
    case CONTROL_JUMP: return add_edge(walk, place, walk->into[walk->target[place]], ASM_JUMP);
    case CONTROL_BRANCH:
        return add_fall(walk, place) &&
               add_edge(walk, place, walk->into[walk->target[place]], ASM_TAKEN);
    case CONTROL_TAIL_BRANCH:
        return add_fall(walk, place) && add_edge(walk, place, ASM_NONE, ASM_TAIL_TAKEN);
    case CONTROL_INDIRECT: return add_indirect(walk, place);
    case CONTROL_RETURN: return add_edge(walk, place, ASM_NONE, ASM_RETURN);
    case CONTROL_TAIL: return add_edge(walk, place, ASM_NONE, ASM_TAIL);
    case CONTROL_STOP: return add_edge(walk, place, ASM_NONE, ASM_STOP);
    default: return add_fall(walk, place);
    }
}

static bool make_edges(struct asm_walk *walk)
{
    struct asm_file *file = walk->file;
    for (uint32_t place = 0; place < walk->count; place++) {
        if (place + 1 < walk->count && !walk->leader[place + 1])
            continue;
        struct asm_block *block = &file->blocks[walk->function->first_block + walk->into[place]];
        block->first_edge = file->edges_count;
        if (!add_edges_of(walk, place))
            return false;
        block->edges = file->edges_count - block->first_edge;
    }
    return true;
}

/* ---- the function as a whole --------------------------------------------------------------- */

static bool mark_reached(const struct asm_file *file, const struct asm_function *function)
{
    struct asm_block *blocks = &file->blocks[function->first_block];
    uint32_t *stack = malloc((function->blocks + 1) * sizeof *stack), depth = 0;
    if (!stack)
        return false;
    for (uint32_t i = 0; i < function->blocks; i++) {
        if (i && !(blocks[i].flags & ASM_BLOCK_LANDING))
            continue;
        if (blocks[i].flags & ASM_BLOCK_REACHED)
            continue;
        blocks[i].flags |= ASM_BLOCK_REACHED;
        stack[depth++] = i;
        while (depth) {
            const struct asm_block *block = &blocks[stack[--depth]];
            for (uint32_t k = 0; k < block->edges; k++) {
                uint32_t to = file->edges[block->first_edge + k].to;
                if (to == ASM_NONE || blocks[to].flags & ASM_BLOCK_REACHED)
                    continue;
                blocks[to].flags |= ASM_BLOCK_REACHED;
                stack[depth++] = to;
            }
        }
    }
    free(stack);
    return true;
}

/* Can it return, as far as is known? */
static bool comes_back(const struct asm_walk *walk)
{
    const struct asm_file *file = walk->file;
    const struct asm_function *function = walk->function;
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct asm_block *block = &file->blocks[function->first_block + i];
        if (!(block->flags & ASM_BLOCK_REACHED))
            continue;
        for (uint32_t k = 0; k < block->edges; k++) {
            const struct asm_edge *edge = &file->edges[block->first_edge + k];
            const struct asm_statement *at = &file->statements[edge->statement];
            if (edge->kind == ASM_RETURN)
                return true;
            if ((edge->kind == ASM_TAIL || edge->kind == ASM_TAIL_TAKEN) &&
                !never_returns(walk, callee(at)) && !stops_here(walk, at))
                return true;
        }
    }
    return false;
}

/* al holds, for a variadic function, how many vector registers hold arguments; it looks first
   thing. Pushing rax only makes room. */
static bool reads_al(const struct asm_walk *walk)
{
    for (uint32_t i = 0; i < walk->count && i < walk->main_count; i++) {
        const struct asm_insn *insn = asm_last_insn(walk->file, walk->code[i]);
        if (asm_begins(walk->file->statements[walk->code[i]].name, "push"))
            continue;
        if (!insn || walk->control[i] != CONTROL_NEXT || insn->isa.flow != ISA_NEXT)
            return insn && insn->reads & 1u << BASE_RAX && insn->isa.flow == ISA_NEXT;
        if (insn->reads & 1u << BASE_RAX)
            return true;
        if (insn->writes & 1u << BASE_RAX)
            return false;
    }
    return false;
}

static bool is_entry_nop(const struct asm_walk *walk, uint32_t place)
{
    const struct asm_statement *at = &walk->file->statements[walk->code[place]];
    return asm_begins(at->name, "endbr64") || asm_begins(at->name, "nop");
}

/* Behind the directives that belong to the entry, before the first label to which the function
 * itself jumps. */
static uint32_t find_entry(const struct asm_walk *walk)
{
    const struct asm_file *file = walk->file;
    uint32_t place = 0, entry = walk->function->first + 1;
    while (place < walk->main_count && place + 1 < walk->count && !(place && walk->leader[place]) &&
           is_entry_nop(walk, place))
        entry = walk->code[place++] + 1;
    for (uint32_t i = entry; place < walk->count && i < walk->code[place]; i++) {
        const struct asm_statement *at = &file->statements[i];
        if (at->function == walk->number && file->private->marks[i] & MARK_ARRIVAL)
            break;
        if (at->kind == ASM_DIRECTIVE && at->section == walk->function->section &&
            (asm_begins(at->name, ".cfi_") || asm_begins(at->name, ".loc")))
            entry = i + 1;
        if (at->kind == ASM_LABEL)
            entry = i + 1;
    }
    return entry;
}

static void describe_function(struct asm_walk *walk)
{
    struct asm_function *function = walk->function;
    const struct asm_file *file = walk->file;
    bool calls = false;
    for (uint32_t i = 0; i < function->blocks; i++) {
        uint32_t flags = file->blocks[function->first_block + i].flags;
        calls |= (flags & ASM_BLOCK_CALLS) != 0;
        if (flags & ASM_BLOCK_SETJMP)
            function->flags |= ASM_SETJMP;
    }
    if (!calls)
        function->flags |= ASM_LEAF;
    if (asm_begins(file->statements[walk->code[0]].name, "endbr64"))
        function->flags |= ASM_ENDBR;
    if (reads_al(walk))
        function->flags |= ASM_VARIADIC;
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct asm_insn *insn = asm_last_insn(file, walk->code[i]);
        const struct asm_statement *at = &file->statements[walk->code[i]];
        if (insn && insn->writes == 1u << BASE_RBP && insn->reads == 1u << BASE_RSP &&
            (asm_begins(at->name, "mov") || asm_begins(at->name, "lea")) &&
            (asm_begins(at->name, "lea") || asm_begins(at->operands, "%rsp,")))
            function->flags |= ASM_FRAME_ADDRESS;
    }
    function->entry = find_entry(walk);
}

/* An indirect jump that was given up on, and a table that nobody uses: it may be that one's. */
static void check_tables(struct asm_walk *walk)
{
    const struct asm_private *private = walk->file->private;
    bool gave_up = false;
    for (uint32_t i = 0; i < walk->count; i++)
        gave_up |= walk->control[i] == CONTROL_INDIRECT && walk->table[i] == TABLE_NONE;
    for (uint32_t i = 0; gave_up && i < private->tables_count; i++) {
        if (private->tables[i].function == walk->number && !private->tables[i].users)
            stop_with(walk, ASM_PROBLEM_INDIRECT);
    }
}

static bool make_function(struct asm_walk *walk)
{
    struct asm_function *function = walk->function;
    collect(walk, function->first, function->end);
    walk->main_count = walk->count;
    if (function->cold_first != ASM_NONE)
        collect(walk, function->cold_first, function->cold_end);
    if (!walk->count || walk->count > CODE_MAX) {
        stop_with(walk, walk->count ? ASM_PROBLEM_LARGE : ASM_PROBLEM_STRAY);
        return true;
    }
    for (uint32_t i = 0; i < walk->count; i++)
        control_of(walk, i);
    asm_find_stops(walk, function->first, function->end);
    if (function->cold_first != ASM_NONE)
        asm_find_stops(walk, function->cold_first, function->cold_end);
    find_leaders(walk);
    find_ways(walk);
    asm_match_tables(walk);
    check_tables(walk);
    if (walk->problem != ASM_FINE)
        return true;
    uint32_t edges = walk->file->edges_count;
    if (!make_blocks(walk) || !make_edges(walk) || !mark_reached(walk->file, function))
        return false;
    if (walk->file->edges_count - edges > EDGES_MAX)
        stop_with(walk, ASM_PROBLEM_LARGE);
    describe_function(walk);
    return true;
}

/* One round over all functions; *news: some were found never to return. */
static bool make_round(struct asm_file *file, bool *news)
{
    struct asm_private *private = file->private;
    file->blocks_count = file->edges_count = 0;
    for (uint32_t i = 0; i < private->tables_count; i++)
    private->tables[i].users = 0;
    for (uint32_t i = 0; i < file->functions_count; i++) {
        struct asm_function *function = &file->functions[i];
        if (function->problem != ASM_FINE)
            continue;
        struct asm_walk walk = {
            .file = file, .function = function, .number = i, .next_code = private->code_at};
        bool fine = begin_walk(&walk) && make_function(&walk);
        if (fine && walk.problem != ASM_FINE) {
            function->problem = walk.problem;
            function->first_block = function->blocks = 0;
        } else if (fine && !private->no_return[i] && !comes_back(&walk)) {
            private->no_return[i] = *news = true;
        }
        end_walk(&walk);
        if (!fine)
            return false;
    }
    return true;
}

enum base_status asm_make_blocks(struct asm_file *file)
{
    struct asm_private *private = file->private;
    private->code_at = malloc((file->statements_count + 1) * sizeof *private->code_at);
    private->no_return = calloc(file->functions_count + 1, sizeof *private->no_return);
    if (!private->code_at || !private->no_return)
        return BASE_NO_MEMORY;
    for (uint32_t i = 0; i < file->statements_count; i++)
    private->code_at[i] = ASM_NONE;
    bool news = true;
    for (int round = 0; news && round < ROUNDS_MAX; round++) {
        news = false;
        if (!make_round(file, &news))
            return BASE_NO_MEMORY;
    }
    return BASE_OK;
}
