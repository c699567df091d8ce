// SPDX-License-Identifier: MIT
/*
 * What the accesses of pairs are for, from the machine code: of the access that is wasted, whether it saves a register,
 * spills a value, or fetches the address of another module's function; whether a value equal within the floating-point tolerance
 * was made from the one before, and then is no waste; how a load repeats the one before.
 *
 * Pairs come in the order of addresses, so that one function's flow is held at a time, and pairs that differ in their callers
 * alone are looked at once. What is less than one ten-thousandth of its kind's waste is not looked at, unless
 * values equal within the tolerance are to be judged.
 */
#include "import/internal.h"

#include "isa/isa.h"
#include "role/role.h"

#include <stdlib.h>
#include <string.h>

#define CODE_BYTES_MAX (UINT64_C(6) << 20) /* of all functions: about a second */

static const double least_share = 1e-4;

/* The wasted access of a pair, and the other one. */
struct question {
    uint32_t pair, kind;
    uint32_t module, other_module;
    uint64_t address, other_address;
    bool asked; /* both are the program's own instructions, and known */
    bool same_call;
};

struct answer {
    uint32_t flags; /* enum profile_frame_flags, of the wasted access */
    uint32_t reach; /* enum profile_reach */
    bool updated;   /* values are made from those before */
};

struct import_roles {
    struct import_gather *gather;
    struct question *questions; /* by module, address, kind, other */
    size_t questions_count, next;
    struct answer *answers; /* by pair */
    double totals[PROFILE_KINDS];
    struct import_flow *at;
    uint64_t number;                      /* of the function at hand, as `at` counts */
    const struct role_function *function; /* NULL: nothing is known of it */
    uint64_t code_bytes;                  /* of the functions gone through */
    bool left_out;                        /* functions that were too many */
    bool unreadable;                      /* the bytes of one */
};

/* ---- questions ------------------------------------------------------------------------------- */

static bool is_instruction(const struct import_node *node)
{
    return node->flags & WIRE_NODE_LEAF && !(node->flags & (WIRE_NODE_KERNEL | WIRE_NODE_IMPRECISE |
                                                            WIRE_NODE_CALL | WIRE_NODE_RETURN));
}

static struct question question_of(const struct import_gather *gather, uint32_t number)
{
    const struct profile_pair *pair = &gather->profile->pairs[number];
    bool first = pair->kind == PROFILE_DEAD;
    const struct import_node *wasted = &gather->nodes[first ? pair->first : pair->second];
    const struct import_node *other = &gather->nodes[first ? pair->second : pair->first];
    return (struct question){.pair = number,
                             .kind = pair->kind,
                             .module = wasted->module,
                             .address = wasted->vaddr,
                             .other_module = other->module,
                             .other_address = other->vaddr,
                             .asked = is_instruction(wasted),
                             .same_call = is_instruction(other) && wasted->parent == other->parent};
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_questions(const void *left, const void *right)
{
    const struct question *a = left, *b = right;
    int order = compare_numbers(a->module, b->module);
    order = order ? order : compare_numbers(a->address, b->address);
    order = order ? order : compare_numbers(a->kind, b->kind);
    order = order ? order : compare_numbers(a->asked, b->asked);
    order = order ? order : compare_numbers(a->other_module, b->other_module);
    order = order ? order : compare_numbers(a->other_address, b->other_address);
    return order ? order : compare_numbers(a->same_call, b->same_call);
}

struct import_roles *import_roles_new(struct import_gather *gather, struct import_flow *at)
{
    const struct profile *profile = gather->profile;
    struct import_roles *roles = calloc(1, sizeof *roles);
    if (!roles)
        return NULL;
    roles->gather = gather;
    roles->at = at;
    roles->questions = calloc(profile->pairs_count + 1, sizeof *roles->questions);
    roles->answers = calloc(profile->pairs_count + 1, sizeof *roles->answers);
    if (!roles->questions || !roles->answers || cfg_start() != BASE_OK ||
        !UTIL_GROW_ZEROED(gather->nears, gather->nears_capacity, profile->pairs_count)) {
        import_roles_free(roles);
        return NULL;
    }
    for (size_t i = 0; i < profile->pairs_count; i++) {
        roles->questions[roles->questions_count++] = question_of(gather, (uint32_t)i);
        roles->totals[profile->pairs[i].kind] += profile->pairs[i].waste_bytes;
    }
    qsort(roles->questions, roles->questions_count, sizeof *roles->questions, compare_questions);
    return roles;
}

/* ---- functions ------------------------------------------------------------------------------- */

void import_roles_free(struct import_roles *roles)
{
    if (!roles)
        return;
    free(roles->questions);
    free(roles->answers);
    free(roles);
}

/* The function that holds an address becomes the one at hand. False: no memory. */
static bool enter_function(struct import_roles *roles, uint64_t address)
{
    struct import_flow *at = roles->at;
    bool known = import_flow_find(at, address);
    if (roles->number == at->number)
        return true;
    roles->function = NULL;
    roles->number = at->number;
    if (!known)
        return true;
    size_t count = (size_t)(at->end - at->start);
    if (count > CODE_BYTES_MAX - roles->code_bytes) {
        roles->left_out = true;
        return true;
    }
    roles->code_bytes += count;
    if (!import_flow_read(at))
        return false;
    roles->unreadable |= at->unreadable;
    if (!import_flow_ask(at))
        return false;
    roles->function = at->role;
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* An instruction whose first access has its address in the code. False: there is none. */
static bool read_fixed(const struct import_roles *roles, uint64_t address, struct isa_insn *insn)
{
    uint8_t code[ISA_MAX_LENGTH];
    size_t count = sizeof code;
    while (count && binary_read(roles->at->binary, address, code, count) != BASE_OK)
        count--;
    return count && isa_decode(code, count, address, insn) == BASE_OK && insn->access_count &&
           insn->accesses[0].base < 0 && insn->accesses[0].index < 0 && !insn->accesses[0].segment;
}

/* Of a load: stubs go where an entry of the global offset table says; constants lie among read-only data. */
static uint32_t flags_of_fixed(const struct import_roles *roles, uint64_t address)
{
    struct isa_insn insn;
    uint64_t from, bytes;
    if (!read_fixed(roles, address, &insn))
        return 0;
    uint64_t loaded = (uint64_t)insn.accesses[0].displacement;
    if (insn.indirect)
        return binary_import(roles->at->binary, loaded) ? PROFILE_FRAME_STUB : 0;
    bool constant = binary_section(roles->at->binary, ".rodata", &from, &bytes) == BASE_OK &&
                    loaded - from < bytes;
    return constant ? PROFILE_FRAME_CONSTANT : 0;
}

static uint32_t flags_of(const struct import_roles *roles, const struct question *question)
{
    bool store = question->kind != PROFILE_LOAD;
    uint32_t fixed = store ? 0 : flags_of_fixed(roles, question->address);
    if (fixed)
        return fixed;
    if (!roles->function)
        return 0;
    switch (role_of(roles->function, question->address, store)) {
    case ROLE_SAVE: return PROFILE_FRAME_SAVE;
    case ROLE_SPILL: return PROFILE_FRAME_SPILL;
    case ROLE_UNKNOWN: break;
    }
    bool updates =
        question->kind == PROFILE_SILENT && role_updates(roles->function, question->address);
    return updates ? PROFILE_FRAME_UPDATE : 0;
}

/* Other calls of the function have other addresses, but a walk is one in all of them. */
static uint32_t reach_of(const struct import_roles *roles, const struct question *question)
{
    static const uint32_t reaches[] = {[ROLE_NO_REACH] = PROFILE_REACH_UNKNOWN,
                                       [ROLE_ITERATION] = PROFILE_REACH_ITERATION,
                                       [ROLE_INVARIANT] = PROFILE_REACH_INVARIANT,
                                       [ROLE_PREVIOUS] = PROFILE_REACH_PREVIOUS,
                                       [ROLE_SEARCH] = PROFILE_REACH_SEARCH,
                                       [ROLE_OUTER] = PROFILE_REACH_OUTER,
                                       [ROLE_CALL] = PROFILE_REACH_CALL};
    bool itself = question->address == question->other_address;
    if (question->kind != PROFILE_LOAD || !roles->function ||
        question->module != question->other_module || (!question->same_call && !itself) ||
        question->other_address < roles->at->start || question->other_address >= roles->at->end)
        return PROFILE_REACH_UNKNOWN;
    enum role_reach reach = role_reach(roles->function, question->other_address, question->address);
    bool walks = reach == ROLE_SEARCH || reach == ROLE_OUTER || reach == ROLE_CALL;
    if (!question->same_call && !walks)
        return PROFILE_REACH_UNKNOWN;
    return !question->same_call && reach == ROLE_OUTER ? PROFILE_REACH_CALL : reaches[reach];
}

static struct answer answer_to(const struct import_roles *roles, const struct question *question,
                               bool near)
{
    struct answer answer = {.flags = flags_of(roles, question), .reach = reach_of(roles, question)};
    if (near && question->kind == PROFILE_SILENT)
        answer.updated = answer.flags & PROFILE_FRAME_UPDATE;
    if (near && question->kind == PROFILE_LOAD && roles->function)
        answer.updated = role_is_updated(roles->function, question->address);
    return answer;
}

/* Pairs of the same places, whatever called them. False: no memory. */
static bool answer_alike(struct import_roles *roles, size_t from, size_t to)
{
    const struct question *question = &roles->questions[from];
    const struct import_gather *gather = roles->gather;
    double waste = 0, near = 0;
    for (size_t i = from; i < to; i++) {
        waste += gather->profile->pairs[roles->questions[i].pair].waste_bytes;
        near += gather->nears[roles->questions[i].pair].bytes;
    }
    if (!question->asked || waste <= 0 ||
        (near <= 0 && waste < least_share * roles->totals[question->kind]))
        return true;
    if (!enter_function(roles, question->address))
        return false;
    struct answer answer = answer_to(roles, question, near > 0);
    for (size_t i = from; i < to; i++)
        roles->answers[roles->questions[i].pair] = answer;
    return true;
}

bool import_roles_until(struct import_roles *roles, uint32_t module, uint64_t address)
{
    bool good = true;
    while (good && roles->next < roles->questions_count &&
           (roles->questions[roles->next].module < module ||
            (roles->questions[roles->next].module == module &&
             roles->questions[roles->next].address <= address))) {
        size_t from = roles->next, to = from + 1;
        bool here = roles->questions[from].module == module && roles->at->binary;
        while (to < roles->questions_count &&
               compare_questions(&roles->questions[from], &roles->questions[to]) == 0)
            to++;
        good = !here || answer_alike(roles, from, to);
        roles->next = to;
    }
    return good;
}

/* ---- what follows ------------------------------------------------------------------------------ */

/* Values made from those before them are no waste for being near them. */
static void take_back(struct profile_pair *pair, struct import_near *near)
{
    double squares = near->squares < pair->waste_squares ? near->squares : pair->waste_squares;
    double bytes = near->bytes < pair->waste_bytes ? near->bytes : pair->waste_bytes;
    pair->waste_bytes -= bytes;
    pair->use_bytes += bytes;
    pair->waste_squares -= squares;
    pair->use_squares += squares;
    pair->waste_traps -= pair->float_traps;
    pair->use_traps += pair->float_traps;
    pair->float_traps = 0;
    *near = (struct import_near){0};
}

void import_roles_settle(struct import_roles *roles, const uint32_t *frame_of)
{
    struct profile *profile = roles->gather->profile;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        const struct answer *answer = &roles->answers[i];
        uint32_t frame = frame_of[pair->kind == PROFILE_DEAD ? pair->first : pair->second];
        if (answer->updated)
            take_back(pair, &roles->gather->nears[i]);
        if (frame)
            profile->frames[frame].flags |= answer->flags;
    }
}

static int compare_traits(const void *left, const void *right)
{
    const struct profile_trait *a = left, *b = right;
    int order = compare_numbers(a->kind, b->kind);
    order = order ? order : compare_numbers(a->first, b->first);
    return order ? order : compare_numbers(a->second, b->second);
}

static bool say_what_is_missing(const struct import_roles *roles)
{
    struct profile *profile = roles->gather->profile;
    bool good = true;
    if (roles->unreadable)
        good = import_degraded(profile, "the code of some functions could not be read: spilled "
                                        "values and saved registers in them are listed as other "
                                        "findings are");
    if (good && roles->left_out)
        good = import_degraded(profile, "the code of some functions was not looked at, because "
                                        "there is too much of it: spilled values and saved "
                                        "registers in them are listed as other findings are");
    return good;
}

bool import_roles_traits(struct import_roles *roles)
{
    struct profile *profile = roles->gather->profile;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        uint32_t reach = roles->answers[i].reach;
        double near_bytes = roles->gather->nears[i].bytes;
        if (reach == PROFILE_REACH_UNKNOWN && near_bytes <= 0)
            continue;
        struct profile_trait *trait = profile_add_traits(profile);
        if (!trait)
            return false;
        *trait = (struct profile_trait){pair->kind, pair->first, pair->second, reach, near_bytes};
    }
    if (profile->traits_count)
        qsort(profile->traits, profile->traits_count, sizeof *profile->traits, compare_traits);
    return say_what_is_missing(roles);
}
