// SPDX-License-Identifier: MIT
/*
 * What a pattern usually means, in one sentence, said only where names and
 * source lines support it. The categories are those of the witch paper's case
 * studies: repeated initialisation, missed inlining, aliasing, values recomputed,
 * linear search.
 *
 * A wrong hint costs more than a missing one: every rule names its evidence.
 */
#include "show/names.h"
#include "waste/internal.h"

#include <ctype.h>
#include <string.h>

/* ---- sentences ------------------------------------------------------------------------------ */

static const struct advice dead_kernel = {
    .id = "dead.kernel",
    .text = "The kernel fills this buffer before anything reads what the program stored there: "
            "the first store can usually be left out.",
};

static const struct advice dead_cleared = {
    .id = "dead.cleared",
    .text = "Memory is cleared and then written before it is read: where that is always so, do not "
            "clear it, or clear only the part that is not written anyway.",
};

static const struct advice dead_copied = {
    .id = "dead.copied",
    .text = "Data is copied, then overwritten by another copy before it is read: copy only what "
            "is going to be read.",
};

static const struct advice dead_frame = {
    .id = "dead.frame",
    .text = "What was stored was not read before its stack memory went to another call: store it "
            "only on the paths that read it.",
};

static const struct advice dead_saved = {
    .id = "dead.saved",
    .text = "This line is the start of a function, where registers are saved: the next call "
            "overwrites the saved values. A function called this often is usually worth "
            "inlining (static, in a header, or with -flto).",
};

static const struct advice dead_rebuilt = {
    .id = "dead.rebuilt",
    .text = "The line fills the same memory again before anything reads what it wrote: usually "
            "a table or buffer that is rebuilt more often than it is used. Rebuild it when it "
            "is needed, or only the part that is.",
};

static const struct advice dead_same_line = {
    .id = "dead.same-line",
    .text = "The same line overwrites its own result: if it runs in a loop, keep the value in a "
            "local variable whose address is not taken, and store it once afterwards (where the "
            "compiler does not, it cannot rule out aliasing: use restrict or a local copy); if a "
            "buffer is rebuilt, rebuild it only when it is read.",
};

static const struct advice dead_same_function = {
    .id = "dead.same-function",
    .text = "Two lines of one function store to the same place and nothing reads it in "
            "between: move the first store to the paths that need it, or drop it if none does.",
};

static const struct advice dead_nested = {
    .id = "dead.nested",
    .text = "Caller and callee both store here: usually one initialises what the other fills in "
            "anyway.",
};

static const struct advice silent_call = {
    .id = "silent.call",
    .text = "The call pushes the same return address as the call before it: small functions are "
            "called very often from here. Inline them, or call them less often: in a search, "
            "use an index or a larger hash table.",
};

static const struct advice silent_cleared = {
    .id = "silent.cleared",
    .text = "The memory that is cleared still holds zeroes: clear only what has been used "
            "since.",
};

static const struct advice silent_copied = {
    .id = "silent.copied",
    .text = "The copy writes values that are already there: where the source seldom changes, "
            "copy only when it has.",
};

static const struct advice silent_saved = {
    .id = "silent.saved",
    .text = "This line is the start of a function, where registers are saved: each call saves "
            "the same values again. A function called this often is usually worth inlining.",
};

static const struct advice silent_same_line = {
    .id = "silent.same-line",
    .text = "The line writes values that are already there: usually a table or field is "
            "refilled although its inputs have not changed, or an element is put back where it "
            "was. Store only what changes.",
};

static const struct advice silent_two_places = {
    .id = "silent.two-places",
    .text =
        "The second place stores what the first has left there: where that always holds, one of "
        "the two can go; where it often does, a test before the work that leads here may pay.",
};

static const struct advice load_call = {
    .id = "load.call",
    .text = "The same return address is popped again: small functions are called very often "
            "here; inlining them may pay.",
};

static const struct advice load_compared = {
    .id = "load.compared",
    .text = "The same bytes are compared or searched again and again: usually a linear search. "
            "A hash table, a sorted index, or a remembered result avoids it.",
};

static const struct advice load_scanned = {
    .id = "load.scanned",
    .text = "The same text is scanned for its end again: strlen does that in each call, and so do "
            "sscanf and others with all of the text that they get. Keep its length, or pass a "
            "copy of the part that is needed, such as a line.",
};

static const struct advice load_chain = {
    .id = "load.chain",
    .text = "The same links are followed again and again: usually a linear search through a "
            "list or tree. A hash table, an index, or a remembered position avoids it.",
};

static const struct advice load_walked = {
    .id = "load.walked",
    .text = "The line goes over the same unchanged data again: if it searches, an index or a "
            "hash table avoids that; if it recomputes, keep the result; if the index does not "
            "change in the loop, keep the value in a local variable.",
};

static const struct advice load_same_line = {
    .id = "load.same-line",
    .text = "The line loads a value that it has loaded before: if it is constant in a loop, "
            "keep it in a local variable (where the compiler does not, a store in the loop may "
            "alias it); if the loop searches a table, an index avoids the search.",
};

static const struct advice load_same_function = {
    .id = "load.same-function",
    .text = "Two lines of one function load the same unchanged value: within one call, keep it "
            "in a local variable; where the compiler does not, it must assume that a store or "
            "call in between changes it.",
};

static const struct advice library = {
    .id = "library",
    .text = "This happens inside a library function: fewer calls, or keeping the outcome of an "
            "earlier one, avoid that.",
};

static const struct advice library_format = {
    .id = "library.format",
    .text = "Functions of the families of printf and scanf go through their format and look up the "
            "locale in each call. What converts just one type (std::to_chars, strtol, strtod, a "
            "loop over digits) does not.",
};

static const struct advice overlap = {
    .id = "library.overlap",
    .text = "One call stores these bytes twice, by two stores that overlap: so the library copies "
            "and clears what is not a multiple of its registers. Only fewer calls avoid that.",
};

static const struct advice team_runtime = {
    .id = "library.team",
    .text = "This is the OpenMP runtime's own code, where threads mostly wait for others of their "
            "team: divide the work more evenly, or begin fewer parallel regions. headroom "
            "interference shows what waits.",
};

static const struct advice load_nested = {
    .id = "load.nested",
    .text = "Caller and callee load the same unchanged value: pass it on as an argument, or let "
            "the compiler see both at once by inlining.",
};

static const struct advice overhead_saved = {
    .id = "overhead.saved",
    .text = "Each call of a function saves the registers that it uses and restores them at its "
            "end: inlining it where it is called often (static, in a header, or with -flto), or "
            "fewer calls, avoid that; changing its lines does not.",
};

static const struct advice overhead_spilled = {
    .id = "overhead.spilled",
    .text = "More values are in use than there are registers. Compute values that few paths need "
            "on those paths, or split a loop that does several things; often nothing helps. A "
            "volatile variable looks the same.",
};

static const struct advice overhead_returns = {
    .id = "overhead.returns",
    .text = "Each call stores its return address, and each return loads it: a function is called "
            "often from here. Inlining it, or fewer calls, avoid that.",
};

static const struct advice overhead_stubs = {
    .id = "overhead.stubs",
    .text = "Each call of a shared library's function loads its address from a table. Fewer calls, "
            "or linking statically, avoid that; it seldom costs much.",
};

static const struct advice overhead_constants = {
    .id = "overhead.constants",
    .text =
        "Constants that instructions cannot hold are loaded from memory where no register keeps "
        "them. That is the compiler's choice, and costs next to nothing.",
};

static const struct advice silent_near = {
    .id = "silent.near",
    .text = "The new values differ from the old ones, by less than the tolerance: a question of "
            "precision, not the same work again. Where that much is enough, an iteration can stop "
            "earlier; with --fp-tolerance 0 this is not a finding.",
};

static const struct advice silent_update = {
    .id = "silent.update",
    .text = "The line stores a value made from the one that it replaces, and the same, as "
            "when it adds zero or sets a bit that is set. Where that is the rule, a test for it "
            "before the work that leads here may pay.",
};

static const struct advice load_near = {
    .id = "load.near",
    .text = "The values differ from those loaded before, by less than the tolerance: a question "
            "of precision, not the same load again. With --fp-tolerance 0 this is not a finding.",
};

static const struct advice load_iteration = {
    .id = "load.iteration",
    .text = "The value is loaded twice on one path through the code: keep it in a local variable. "
            "Where the compiler does not, a store or call in between may change it.",
};

static const struct advice load_invariant = {
    .id = "load.invariant",
    .text = "The address does not change in the loop: load the value once before it, into a local "
            "variable. The compiler does not where a store or call in the loop may change it "
            "(restrict, or the local copy, tell it).",
};

static const struct advice load_previous = {
    .id = "load.previous",
    .text = "The value was loaded a few iterations before, at another place of the loop: carry it "
            "over in a local variable.",
};

static const struct advice load_search = {
    .id = "load.search",
    .text = "The loop ends by what it loads, as a search does: an index, a hash table or a "
            "remembered position avoids going over the same data again.",
};

static const struct advice load_outer = {
    .id = "load.outer",
    .text = "Each iteration of an outer loop, here or in a caller, reads the same data again. Most "
            "algorithms need that; where the order of work is free, several of its iterations in "
            "one pass of the inner loop (unroll and jam) load the data once for all of them.",
};

static const struct advice load_every_call = {
    .id = "load.every-call",
    .text = "Each call of the function reads the same data again. Most algorithms need that; if "
            "the outcome is the same, keep it.",
};

enum { OVERLAP_BYTES = 64 }; /* of code, between a copy's first and its last store */

/* ---- rules ---------------------------------------------------------------------------------- */

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does text hold word as a whole identifier? */
static bool has_word(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    if (!text)
        return false;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !word_char(at[-1])) && !word_char(at[bytes]))
            return true;
    return false;
}

static bool name_is_any(const char *function, const char *const *names)
{
    for (; *names; names++)
        if (name_is_libc(function, *names))
            return true;
    return false;
}

static bool is_any(const struct advice_side *side, const char *const *names)
{
    for (const char *const *name = names; *name; name++)
        if (has_word(side->source, *name))
            return true;
    return name_is_any(side->entry ? side->entry : side->called, names);
}

/* The line where a function begins: its prologue saves registers there. */
static bool opens_function(const struct advice_side *side)
{
    if (!side->source || !side->called || (side->leaf && side->leaf->flags & PROFILE_FRAME_INLINED))
        return false; /* what is inlined saves none */
    if (strcmp(side->source, "{") == 0)
        return true;
    size_t bytes = strlen(side->source);
    if (strpbrk(side->source, "=;") || !has_word(side->source, side->called))
        return false;
    char last = bytes ? side->source[bytes - 1] : 0;
    return last == '{' || last == ')' || last == ',' || last == '(';
}

/* A walk along a chain: `p = p->next`, `while (node)`. */
static bool follows_chain(const char *source)
{
    return source && (strstr(source, "->next") || strstr(source, ".next") ||
                      strstr(source, "->link") || strstr(source, "->child"));
}

static bool loops(const char *source)
{
    return has_word(source, "for") || has_word(source, "while") || has_word(source, "do");
}

/* "a[i] = ..." or "*p++ = ...": a different place each time round. Not "a[i] += ...": a sum that is kept in memory. */
static bool stores_elements(const char *source)
{
    const char *equals = source ? strchr(source, '=') : NULL;
    if (!equals || (equals > source && strchr("+-*/%|&^", equals[-1])))
        return false;
    const char *bracket = strchr(source, '['), *increment = strstr(source, "++");
    return (bracket && bracket < equals) || (increment && increment < equals);
}

static bool is_call(const struct advice_side *side)
{
    return side->leaf && side->leaf->flags & (PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN);
}

static const struct advice *library_advice(const struct advice_facts *facts)
{
    if (facts->team)
        return &team_runtime;
    if (facts->formats)
        return &library_format;
    return facts->called ? &library : NULL;
}

static const struct advice *dead_advice(const struct advice_facts *facts)
{
    if (facts->kernel)
        return &dead_kernel;
    if (facts->team)
        return &team_runtime;
    if (!facts->same_place && (is_call(&facts->second) || opens_function(&facts->second)))
        return &dead_frame;
    if (facts->overlap)
        return &overlap;
    if (is_any(&facts->first, names_clear))
        return &dead_cleared;
    if (is_any(&facts->first, names_copy) && is_any(&facts->second, names_copy))
        return &dead_copied;
    if (facts->library)
        return library_advice(facts);
    if (opens_function(&facts->first))
        return &dead_saved;
    if (facts->same_line && stores_elements(facts->first.source))
        return &dead_rebuilt;
    if (facts->same_place)
        return &dead_same_line;
    if (facts->same_function)
        return &dead_same_function;
    if (facts->nested && !facts->same_line)
        return &dead_nested;
    return NULL;
}

const struct advice *waste_overhead_advice(enum waste_overhead overhead)
{
    static const struct advice *const advice[WASTE_OVERHEADS] = {
        [WASTE_SAVED] = &overhead_saved,         [WASTE_SPILLED] = &overhead_spilled,
        [WASTE_RETURNS] = &overhead_returns,     [WASTE_STUBS] = &overhead_stubs,
        [WASTE_CONSTANTS] = &overhead_constants,
    };
    return advice[overhead];
}

static const struct advice *silent_advice(const struct advice_facts *facts)
{
    if (facts->near)
        return &silent_near;
    if (is_call(&facts->second))
        return &silent_call;
    if (facts->overlap)
        return &overlap;
    if (is_any(&facts->second, names_clear))
        return &silent_cleared;
    if (is_any(&facts->second, names_copy))
        return &silent_copied;
    if (facts->library)
        return library_advice(facts);
    if (opens_function(&facts->second))
        return &silent_saved;
    if (facts->updates)
        return &silent_update;
    if (facts->same_place || facts->same_line)
        return &silent_same_line;
    if (facts->same_function || facts->nested)
        return &silent_two_places;
    return NULL;
}

static bool indexes(const char *source)
{
    return source && strchr(source, '[');
}

/* strlen; or what sscanf does in its place. What else a library looks for the end of is its own affair. */
static bool scans_for_end(const struct advice_side *side)
{
    return name_is_any(side->called, names_length) &&
           (!side->entry || name_is_any(side->entry, names_length) || name_formats(side->entry));
}

/* What the machine code shows beats what the source reads like. */
static const struct advice *near_load(uint32_t reach)
{
    return reach == PROFILE_REACH_ITERATION   ? &load_iteration
           : reach == PROFILE_REACH_INVARIANT ? &load_invariant
           : reach == PROFILE_REACH_PREVIOUS  ? &load_previous
                                              : NULL;
}

static const struct advice *far_load(uint32_t reach)
{
    return reach == PROFILE_REACH_SEARCH  ? &load_search
           : reach == PROFILE_REACH_OUTER ? &load_outer
           : reach == PROFILE_REACH_CALL  ? &load_every_call
                                          : NULL;
}

static const struct advice *load_advice(const struct advice_facts *facts)
{
    if (facts->near)
        return &load_near;
    if (is_call(&facts->second))
        return &load_call;
    if (near_load(facts->reach))
        return near_load(facts->reach);
    if (scans_for_end(&facts->first) && scans_for_end(&facts->second))
        return &load_scanned;
    if (is_any(&facts->second, names_compare) &&
        (facts->same_place || is_any(&facts->first, names_compare)))
        return &load_compared;
    if (facts->library)
        return library_advice(facts);
    if (follows_chain(facts->second.source) &&
        (facts->same_place || facts->same_function || follows_chain(facts->first.source)))
        return &load_chain;
    if (far_load(facts->reach))
        return far_load(facts->reach);
    if (facts->same_place && (loops(facts->second.source) || indexes(facts->second.source)))
        return &load_walked;
    if (facts->same_place)
        return &load_same_line;
    if (facts->same_function)
        return &load_same_function;
    if (facts->nested)
        return &load_nested;
    return NULL;
}

const struct advice *advice_for(const struct advice_facts *facts)
{
    if (facts->overhead)
        return waste_overhead_advice(facts->overhead);
    if (!facts->first.called && !facts->first.source && !facts->second.called &&
        !facts->second.source)
        return NULL; /* addresses alone support nothing */
    switch (facts->kind) {
    case PROFILE_DEAD: return dead_advice(facts);
    case PROFILE_SILENT: return silent_advice(facts);
    case PROFILE_LOAD: return load_advice(facts);
    }
    return NULL;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static const struct profile_frame *frame_of(const struct places *places, uint32_t place)
{
    return &places->profile->frames[places->items[place].class];
}

/* The outermost function of other modules on the way to the place from the program's own code: what that has called. memchr that
   fgets calls is nothing of the program's. */
static const char *entry_of(const struct places *places, uint32_t place)
{
    uint32_t own = places->own[place], module = frame_of(places, own)->module;
    const char *entry = NULL;
    for (; place && place != own; place = places->items[place].parent)
        if (frame_of(places, place)->module != module)
            entry = frame_of(places, place)->function;
    return entry;
}

/* source: of that side alone, since lines are read one after the other. */
static struct advice_side side_of(const struct places *places, struct source_cache *sources,
                                  uint32_t place, char source[TEXT_BYTES])
{
    struct advice_side side = {0};
    if (!place)
        return side;
    side.leaf = frame_of(places, place);
    side.called = side.leaf->function;
    side.entry = entry_of(places, place);
    if (source_line(sources, side.leaf->file, side.leaf->line, source, TEXT_BYTES))
        side.source = source;
    return side;
}

static size_t depth_of(const struct places *places, uint32_t place)
{
    size_t depth = 0;
    for (; place; place = places->items[place].parent)
        depth++;
    return depth;
}

/* Does one path go on below the function that the other ends in? */
static bool is_nested(const struct places *places, uint32_t first, uint32_t second)
{
    size_t a = depth_of(places, first), b = depth_of(places, second);
    uint32_t shorter = a < b ? first : second, longer = a < b ? second : first;
    size_t below = a < b ? b - a : a - b;
    if (below == 0 || !shorter)
        return false;
    for (; below > 0; below--)
        longer = places->items[longer].parent;
    /* Places are shared from the root on: the same callers are the same place. */
    return places->items[shorter].parent == places->items[longer].parent &&
           frame_of(places, shorter)->function &&
           profile_same_text(frame_of(places, shorter)->function,
                             frame_of(places, longer)->function);
}

/* Does own code call printf, scanf or one of their relatives there? */
static bool is_formatting(const struct places *places, uint32_t place)
{
    for (uint32_t own = places->own[place]; place && place != own;
         place = places->items[place].parent)
        if (name_formats(frame_of(places, place)->function))
            return true;
    return false;
}

/* Stores a few instructions apart in one call of a function that copies or clears. */
static bool is_overlap(const struct places *places, const struct waste_pair *pair)
{
    const struct profile *profile = places->profile;
    const struct profile_context *first = &profile->contexts[pair->first];
    const struct profile_context *second = &profile->contexts[pair->second];
    const struct profile_frame *a = &profile->frames[first->frame];
    const struct profile_frame *b = &profile->frames[second->frame];
    return first->parent == second->parent && a->module == b->module && b->address > a->address &&
           b->address - a->address < OVERLAP_BYTES && profile_same_text(a->function, b->function) &&
           (name_is_any(a->function, names_copy) || name_is_any(a->function, names_clear));
}

static enum advice_evidence evidence_of(const struct places *places, const struct waste_kind *kind,
                                        const struct waste_pair *pair)
{
    if (places->exact)
        return ADVICE_EXACT;
    return kind->too_few || pair->waste_traps < WASTE_FEW_TRAPS ? ADVICE_WEAK : ADVICE_STRONG;
}

struct advice waste_advice(const struct places *places, struct source_cache *sources,
                           const struct waste_kind *kind, const struct waste_pair *pair)
{
    char texts[2][TEXT_BYTES];
    uint32_t lead = waste_lead(kind->totals->kind) ? pair->second_place : pair->first_place;
    struct advice_facts facts = {
        .kind = kind->totals->kind,
        .first = side_of(places, sources, pair->first_place, texts[0]),
        .second = side_of(places, sources, pair->second_place, texts[1]),
        .nested = is_nested(places, pair->first_place, pair->second_place),
        .library = waste_in_library(places, lead),
        .called = places->own[lead] != lead,
        .formats = is_formatting(places, lead),
        .overlap = is_overlap(places, pair),
        .team = pair->team_waste * 2 > pair->waste_bytes,
        .kernel = pair->kernel,
        .near = waste_near_share(kind, pair) > 0.5,
        .updates = pair->update_waste * 2 > pair->waste_bytes,
        .overhead = pair->overhead,
        .reach = pair->reach,
    };
    /* Without lines all of a function reads the same, which supports nothing. */
    bool lines =
        facts.first.leaf && facts.second.leaf && facts.first.leaf->line && facts.second.leaf->line;
    facts.same_place = lines && pair->first_place == pair->second_place;
    facts.same_line = lines && facts.first.leaf == facts.second.leaf;
    /* Of calls from different places a local variable keeps nothing. */
    facts.same_function =
        lines && !facts.same_line && facts.first.called &&
        profile_same_text(facts.first.called, facts.second.called) &&
        places->items[pair->first_place].parent == places->items[pair->second_place].parent;
    const struct advice *found = advice_for(&facts);
    struct advice advice = found ? *found : (struct advice){0};
    advice.evidence = evidence_of(places, kind, pair);
    return advice;
}
