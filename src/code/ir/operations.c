// SPDX-License-Identifier: MIT
/*
 * The operations of a loop. Loads and stores come first, in their order; then, from what is stored or used behind the loop back to where it comes
 * from, the arithmetic. Conversions of integers make no operation, nor do the loop's variables: what is needed is what they were
 * made of, for the variables of the head an iteration earlier.
 */
#include "ir/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 4096, TEXT_BYTES = 256, OPERAND_BYTES = 96, NESTED_MAX = 3 };

/* A value that an instruction of the loop makes. */
struct value {
    const char *name;
    size_t bytes;
    const char *line, *as; /* as: behind " = " */
    uint32_t operation;    /* whose result it is; UTIL_NONE: none yet */
    bool head;             /* a variable of the loop's head */
    bool fixed;            /* a load that is no operation */
};

struct making {
    const struct ir *ir;
    const struct function *function;
    const struct block *blocks;
    size_t blocks_count;
    const struct natural *natural;
    ir_reference *reference;
    void *context;
    struct ir_loop *loop;
    struct value *values; /* by name */
    size_t values_count, values_capacity;
    unsigned steps;
    bool failed;
};

static const char *keep(struct making *making, const char *text)
{
    const char *kept = ir_keep(making->ir, text, strlen(text));
    making->failed |= !kept;
    return kept ? kept : "";
}

/* ---- values ----------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct value *left = a, *right = b;
    return ir_compare(left->name, left->bytes, right->name, right->bytes);
}

static struct value *find_value(const struct making *making, const char *name)
{
    size_t low = 0, high = making->values_count, bytes = ir_value_bytes(name);
    while (low < high) {
        size_t middle = (low + high) / 2;
        struct value *value = &making->values[middle];
        int order = ir_compare(value->name, value->bytes, name, bytes);
        if (!order)
            return value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void add_value(struct making *making, const char *line, bool head)
{
    const char *name = line + strspn(line, " ");
    if (*name != '%')
        return;
    struct value value = {.name = name, .bytes = ir_value_bytes(name), .line = line};
    if (!begins(name + value.bytes, " = "))
        return;
    value.as = name + value.bytes + 3;
    value.head = head && begins(value.as, "phi ");
    value.operation = UTIL_NONE;
    making->failed |=
        !UTIL_PUSH(making->values, making->values_count, making->values_capacity, value);
}

static void find_values(struct making *making)
{
    for (size_t b = 0; b < making->blocks_count; b++)
        for (uint32_t i = making->blocks[b].first;
             making->natural->body[b] && i < making->blocks[b].end; i++)
            add_value(making, making->ir->lines[i], b == making->natural->head);
    if (making->values_count)
        qsort(making->values, making->values_count, sizeof *making->values, by_name);
}

/* ---- operands ----------------------------------------------------------------------------------------------- */

/* Behind this follow labels, metadata and attributes. */
static const char *end_of(const char *text)
{
    const char *end = strstr(text, ", !");
    const char *attributes = strstr(text, ") #");
    if (attributes && (!end || attributes < end))
        end = attributes;
    return end ? end : text + strlen(text);
}

/* The next value of the function that is an operand, or NULL. */
static const char *next_operand(const char *at, const char *end)
{
    return at < end ? memchr(at, '%', (size_t)(end - at)) : NULL;
}

/* What a store stores: "store double %25, ptr %31". */
static const char *stored(const char *line, const char **end)
{
    const char *at = strstr(line, "store ") + 6;
    *end = strstr(at, ", ptr ");
    return *end ? at : NULL;
}

static bool is_conversion(const char *as)
{
    static const char *const words[] = {"sext ",     "zext ",     "trunc ",  "bitcast ",
                                        "ptrtoint ", "inttoptr ", "freeze ", "addrspacecast "};
    for (size_t i = 0; i < BASE_COUNT(words); i++)
        if (begins(as, words[i]))
            return true;
    return false;
}

/* ---- operations ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *word, *sign;
    enum ir_work work;
} works[] = {
    {"fadd", "+", IR_ADD},      {"fsub", "-", IR_ADD},      {"add", "+", IR_ADD},
    {"sub", "-", IR_ADD},       {"fmul", "*", IR_MULTIPLY}, {"mul", "*", IR_MULTIPLY},
    {"fdiv", "/", IR_DIVIDE},   {"sdiv", "/", IR_DIVIDE},   {"udiv", "/", IR_DIVIDE},
    {"frem", "mod", IR_DIVIDE}, {"srem", "mod", IR_DIVIDE}, {"urem", "mod", IR_DIVIDE},
    {"and", "&", IR_OTHER},     {"or", "|", IR_OTHER},      {"xor", "^", IR_OTHER},
    {"shl", "<<", IR_OTHER},    {"lshr", ">>", IR_OTHER},   {"ashr", ">>", IR_OTHER},
};

static size_t work_of(const char *as)
{
    size_t bytes = strcspn(as, " ");
    for (size_t i = 0; i < BASE_COUNT(works); i++)
        if (strlen(works[i].word) == bytes && strncmp(as, works[i].word, bytes) == 0)
            return i;
    return BASE_COUNT(works);
}

static const char *callee(const char *as)
{
    const char *call = strstr(as, "call ");
    const char *at = call && call - as < 16 ? strchr(call, '@') : NULL;
    return at ? at + 1 : NULL;
}

static enum ir_work work_of_value(const char *as)
{
    size_t work = work_of(as);
    const char *name = callee(as);
    if (work < BASE_COUNT(works))
        return works[work].work;
    if (begins(as, "fneg "))
        return IR_ADD;
    if (name && (begins(name, "llvm.sqrt.") || begins(name, "sqrt(") || begins(name, "sqrtf(")))
        return IR_ROOT;
    return name && begins(name, "llvm.fma.") ? IR_FUSED : IR_OTHER;
}

static bool is_contracted(const char *as)
{
    const char *name = callee(as);
    return name && begins(name, "llvm.fmuladd.");
}

/* The type that is named first: of the result, or of what is stored. */
static void find_type(const char *text, struct ir_operation *operation)
{
    static const struct {
        const char *word;
        uint16_t bits;
    } types[] = {{" float ", 32}, {" double ", 64}, {" x86_fp80 ", 80}, {" fp128 ", 128}};
    const char *first = NULL, *end = end_of(text);
    for (size_t i = 0; i < BASE_COUNT(types); i++) {
        const char *at = strstr(text, types[i].word);
        if (at && at < end && (!first || at < first)) {
            first = at;
            operation->floating = true;
            operation->bits = types[i].bits;
        }
    }
    const char *load = strstr(text, " = load ");
    if (!first || load) {
        uint32_t bytes = ir_bytes_of(text);
        operation->bits = bytes ? (uint16_t)(8 * bytes) : operation->bits;
    }
}

static uint32_t add_operation(struct making *making, enum ir_kind kind, enum ir_work work,
                              const char *line)
{
    struct ir_loop *loop = making->loop;
    struct ir_operation operation = {.kind = kind, .work = work, .instruction = line, .text = ""};
    find_type(line, &operation);
    if (!UTIL_PUSH(loop->operations, loop->operations_count, loop->operations_capacity,
                   operation)) {
        making->failed = true;
        return UTIL_NONE;
    }
    return (uint32_t)(loop->operations_count - 1);
}

static void add_flow(struct making *making, uint32_t from, uint32_t to, uint32_t distance)
{
    struct ir_loop *loop = making->loop;
    struct ir_flow flow = {from, to, distance};
    for (size_t i = loop->flows_count; i-- > 0 && loop->flows[i].to == to;)
        if (loop->flows[i].from == from && loop->flows[i].distance == distance)
            return;
    making->failed |= !UTIL_PUSH(loop->flows, loop->flows_count, loop->flows_capacity, flow);
}

/* Is anything stored there in the loop? */
static bool is_stored(const struct making *making, const char *load)
{
    for (size_t b = 0; b < making->blocks_count; b++)
        for (uint32_t i = making->blocks[b].first;
             making->natural->body[b] && i < making->blocks[b].end; i++)
            if (ir_is_store(making->ir->lines[i]) && ir_same_address(load, making->ir->lines[i]))
                return true;
    return false;
}

/* What is loaded from the same place all the time is a scalar: a global, or a parameter of Fortran. */
static bool is_accessing(const struct making *making, const char *line)
{
    if (ir_is_store(line))
        return true;
    return strstr(line, " = load ") &&
           (!ir_is_fixed(making->ir, making->function->symbol, line) || is_stored(making, line));
}

static void add_accesses(struct making *making)
{
    for (size_t b = 0; b < making->blocks_count; b++)
        for (uint32_t i = making->blocks[b].first;
             making->natural->body[b] && i < making->blocks[b].end; i++) {
            const char *line = making->ir->lines[i];
            struct value *value =
                ir_is_store(line) ? NULL : find_value(making, line + strspn(line, " "));
            if (!is_accessing(making, line)) {
                if (value && begins(value->as, "load "))
                    value->fixed = true;
                continue;
            }
            uint32_t made =
                add_operation(making, ir_is_store(line) ? IR_STORE : IR_LOAD, IR_OTHER, line);
            if (value)
                value->operation = made;
        }
}

/* ---- who needs what ---------------------------------------------------------------------------------------------- */

static void need(struct making *making, const char *operand, uint32_t to, uint32_t distance);

/* All operands in a text, for operation `to`. */
static void need_all(struct making *making, const char *text, const char *end, uint32_t to,
                     uint32_t distance)
{
    for (const char *at = text; (at = next_operand(at, end)); at++)
        need(making, at, to, distance);
}

static bool is_in_loop(const struct making *making, const char *label)
{
    size_t bytes = ir_value_bytes(label) - 1;
    for (size_t b = 0; b < making->blocks_count; b++)
        if (making->natural->body[b] && making->blocks[b].label_bytes == bytes &&
            strncmp(making->blocks[b].label, label + 1, bytes) == 0)
            return true;
    return false;
}

/* "phi double [ 0.0, %4 ], [ %9, %5 ]": what comes from within the loop. */
static void need_phi(struct making *making, const struct value *value, uint32_t to,
                     uint32_t distance)
{
    const char *end = end_of(value->as);
    for (const char *at = value->as; (at = strstr(at, "[ ")) && at < end; at++) {
        const char *in = at + 2, *comma = strchr(in, ',');
        const char *label = comma ? strchr(comma, '%') : NULL;
        if (*in != '%' || !label || !is_in_loop(making, label))
            continue;
        need(making, in, to, distance + value->head);
    }
}

/* The multiplication of a product and sum in one stands before its addition. */
static uint32_t add_contracted(struct making *making, const struct value *value)
{
    const char *open = strchr(value->as, '('), *end = end_of(value->as);
    const char *second = open ? strchr(open, ',') : NULL;
    const char *third = second ? strchr(second + 1, ',') : NULL;
    uint32_t product = add_operation(making, IR_COMPUTE, IR_MULTIPLY, value->line);
    uint32_t sum = add_operation(making, IR_COMPUTE, IR_ADD, value->line);
    if (product == UTIL_NONE || sum == UTIL_NONE)
        return UTIL_NONE;
    add_flow(making, product, sum, 0);
    ((struct value *)(uintptr_t)value)->operation = sum;
    if (third) {
        need_all(making, open, third, product, 0);
        need_all(making, third, end, sum, 0);
    }
    return sum;
}

/* The operation whose result the value is, made if it is not there yet. */
static uint32_t operation_of(struct making *making, struct value *value)
{
    if (value->operation != UTIL_NONE)
        return value->operation;
    if (is_contracted(value->as))
        return add_contracted(making, value);
    uint32_t made = add_operation(making, IR_COMPUTE, work_of_value(value->as), value->line);
    value->operation = made;
    if (made != UTIL_NONE)
        need_all(making, value->as, end_of(value->as), made, 0);
    return made;
}

static void need(struct making *making, const char *operand, uint32_t to, uint32_t distance)
{
    struct value *value = find_value(making, operand);
    if (!value || value->fixed || making->failed || ++making->steps > STEPS_MAX ||
        distance > STEPS_MAX / 64)
        return;
    if (begins(value->as, "phi ")) {
        need_phi(making, value, to, distance);
    } else if (is_conversion(value->as)) {
        need_all(making, value->as, end_of(value->as), to, distance);
    } else {
        uint32_t from = operation_of(making, value);
        if (from != UTIL_NONE && to != UTIL_NONE)
            add_flow(making, from, to, distance);
    }
}

static void need_of_stores(struct making *making)
{
    size_t accesses = making->loop->operations_count;
    for (uint32_t i = 0; i < accesses; i++) {
        const char *end, *line = making->loop->operations[i].instruction;
        const char *text = ir_is_store(line) ? stored(line, &end) : NULL;
        making->steps = 0;
        if (text)
            need_all(making, text, end, i, 0);
    }
}

static bool is_within(const struct making *making, uint32_t line)
{
    for (size_t b = 0; b < making->blocks_count; b++)
        if (making->natural->body[b] && line >= making->blocks[b].first &&
            line < making->blocks[b].end)
            return true;
    return false;
}

/* Values that something behind the loop uses; what counts iterations is not worth it. */
static void need_behind(struct making *making)
{
    for (uint32_t i = making->function->first + 1; i < making->function->end; i++) {
        const char *line = making->ir->lines[i];
        if (line[0] != ' ' || strstr(line, "#dbg_") || is_within(making, i))
            continue;
        const char *equals = strstr(line, " = ");
        const char *text = equals ? equals + 3 : line;
        for (const char *at = text, *end = end_of(text); (at = next_operand(at, end)); at++) {
            const struct value *value = find_value(making, at);
            making->steps = 0;
            if (value && (strstr(value->as, "double ") || strstr(value->as, "float ")))
                need(making, at, UTIL_NONE, 0);
        }
    }
}

/* ---- as the source might have it ------------------------------------------------------------------------------------- */

static void print_operand(struct making *making, const char *operand, unsigned depth, char *text,
                          size_t bytes);

/* "1.500000e+00", "0x3FB99999A0000000", "-3", "true" */
static void print_literal(const char *operand, char *text, size_t bytes)
{
    size_t count = strcspn(operand, ",)] ");
    char *end;
    if (begins(operand, "0x")) {
        uint64_t image = strtoull(operand, NULL, 16);
        double value;
        memcpy(&value, &image, sizeof value);
        snprintf(text, bytes, "%.6g", value);
    } else if (strtod(operand, &end), end == operand + count && count) {
        snprintf(text, bytes, "%.6g", strtod(operand, NULL));
    } else {
        snprintf(text, bytes, "%.*s", (int)count, operand);
    }
}

/* Operands stand behind commas, and the first one behind the type. */
static const char *operand_at(const char *as, unsigned index)
{
    const char *call = strchr(as, '('), *end = end_of(as), *to = strstr(as, " to ");
    if (to && to < end)
        end = to;
    const char *at = callee(as) && call ? call : as;
    for (; index && at; index--)
        at = strchr(at + 1, ',');
    if (!at || at >= end)
        return NULL;
    const char *stop = at == as || *at == '(' ? strpbrk(at + 1, ",") : strpbrk(at + 1, ",)");
    if (!stop || stop > end)
        stop = end;
    const char *last = stop;
    while (last > at + 1 && (last[-1] == ' ' || last[-1] == ')'))
        last--;
    while (last > at && last[-1] != ' ' && last[-1] != '(')
        last--;
    return last;
}

/* Depth 0: the whole expression; behind that in parentheses, and not without end. */
static void print_expression(struct making *making, const char *as, unsigned depth, char *text,
                             size_t bytes)
{
    char left[OPERAND_BYTES] = "", right[OPERAND_BYTES] = "";
    size_t work = work_of(as);
    const char *name = callee(as);
    const char *first = operand_at(as, 0), *second = operand_at(as, 1);
    if (depth >= NESTED_MAX) {
        snprintf(text, bytes, "(...)");
        return;
    }
    const char *to = strstr(as, " to ");
    bool converts = to && to < end_of(as) && !name;
    if (first)
        print_operand(making, first, converts ? 0 : depth + 1, left, sizeof left);
    if (second && (work < BASE_COUNT(works) || is_contracted(as)))
        print_operand(making, second, depth + 1, right, sizeof right);
    if (work < BASE_COUNT(works))
        snprintf(text, bytes, depth ? "(%s %s %s)" : "%s %s %s", left, works[work].sign, right);
    else if (is_contracted(as))
        snprintf(text, bytes, "%s * %s", left, right);
    else if (converts)
        snprintf(text, bytes, "%.*s(%s)", (int)strcspn(to + 4, ", \n"), to + 4, left);
    else if (begins(as, "fneg "))
        snprintf(text, bytes, "-%s", left);
    else if (begins(as, "select "))
        snprintf(text, bytes, "choice");
    else if (name && begins(name, "llvm."))
        snprintf(text, bytes, "%.*s(%s)", (int)strcspn(name + 5, ".("), name + 5, left);
    else if (name)
        snprintf(text, bytes, "%.*s(%s)", (int)strcspn(name, "("), name, left);
    else
        snprintf(text, bytes, "%s", left[0] ? left : "?");
}

/* Sum of a product: its text is that of the product, and the third operand. */
static void print_sum(struct making *making, const char *as, char *text, size_t bytes)
{
    char product[2 * OPERAND_BYTES] = "", third[OPERAND_BYTES] = "";
    const char *operand = operand_at(as, 2);
    print_expression(making, as, 1, product, sizeof product);
    if (operand)
        print_operand(making, operand, 1, third, sizeof third);
    snprintf(text, bytes, "%s + %s", third, product);
}

static void print_operand(struct making *making, const char *operand, unsigned depth, char *text,
                          size_t bytes)
{
    size_t count = ir_value_bytes(operand);
    char whole[TEXT_BYTES] = "";
    if (*operand != '%' && *operand != '@') {
        print_literal(operand, text, bytes);
        return;
    }
    const char *as = ir_definition(making->ir, making->function, operand, count);
    const char *name = ir_debug_name(making->ir, making->function, operand, count);
    if (as && begins(as, "load "))
        making->reference(making->context, as, whole, sizeof whole);
    else if (as && is_conversion(as) && operand_at(as, 0) && strchr(as, '%'))
        print_operand(making, strchr(as, '%'), depth, whole, sizeof whole);
    else if (name)
        snprintf(whole, sizeof whole, "%s", name);
    else if (as && is_contracted(as) && depth < NESTED_MAX)
        print_sum(making, as, whole, sizeof whole);
    else if (as && !begins(as, "phi "))
        print_expression(making, as, depth, whole, sizeof whole);
    else
        snprintf(whole, sizeof whole, "%.*s", (int)count, operand);
    if (strlen(whole) >= bytes)
        snprintf(whole, sizeof whole, "(...)");
    snprintf(text, bytes, "%s", whole);
}

static const char *sign_of(const struct ir_operation *operation, const char *as)
{
    size_t work = work_of(as);
    if (work < BASE_COUNT(works))
        return works[work].sign;
    return operation->work == IR_ROOT       ? "sqrt"
           : operation->work == IR_MULTIPLY ? "*"
           : operation->work == IR_ADD      ? (begins(as, "fneg ") ? "-" : "+")
                                            : "";
}

static void print_operations(struct making *making)
{
    for (size_t i = 0; i < making->loop->operations_count && !making->failed; i++) {
        struct ir_operation *operation = &making->loop->operations[i];
        const char *equals = strstr(operation->instruction, " = ");
        char text[TEXT_BYTES] = "";
        if (operation->kind != IR_COMPUTE)
            making->reference(making->context, operation->instruction, text, sizeof text);
        else if (is_contracted(equals + 3) && operation->work == IR_ADD)
            print_sum(making, equals + 3, text, sizeof text);
        else
            print_expression(making, equals + 3, 0, text, sizeof text);
        operation->text = keep(making, text);
        operation->sign = operation->kind == IR_COMPUTE ? sign_of(operation, equals + 3) : "";
    }
}

bool ir_operations_of(const struct ir *ir, const struct function *function,
                      const struct block *blocks, size_t blocks_count,
                      const struct natural *natural, ir_reference *reference, void *context,
                      struct ir_loop *loop)
{
    struct making making = {.ir = ir,
                            .function = function,
                            .blocks = blocks,
                            .blocks_count = blocks_count,
                            .natural = natural,
                            .reference = reference,
                            .context = context,
                            .loop = loop};
    find_values(&making);
    if (!making.failed)
        add_accesses(&making);
    if (!making.failed)
        need_of_stores(&making);
    if (!making.failed)
        need_behind(&making);
    if (!making.failed)
        print_operations(&making);
    free(making.values);
    return !making.failed;
}
