// SPDX-License-Identifier: MIT
/* From the labelled copy's bytes to instructions. */
#include "asm/internal.h"

#include "binary/object.h"

#include <stdlib.h>

void ZydisDecoderInit(void);
void ZydisDecoderDecodeFull(void);

struct marker {
    uint32_t section; /* 0: not met */
    uint64_t offset;
};

struct decoder {
    struct asm_file *file;
    struct object *object;
    struct marker *begins, *ends; /* of statements */
};

/* "hR.123" and "hE.123"; another program's symbol of that form would have to name a statement. */
static void read_marker(struct decoder *decoder, const struct object_symbol *symbol)
{
    const char *name = symbol->name;
    if (name[0] != 'h' || (name[1] != 'R' && name[1] != 'E') || name[2] != '.')
        return;
    char *end;
    unsigned long number = strtoul(name + 3, &end, 10);
    if (*end || end == name + 3 || number >= decoder->file->statements_count)
        return;
    struct marker *markers = name[1] == 'R' ? decoder->begins : decoder->ends;
    markers[number] = (struct marker){symbol->section, symbol->value};
}

static bool read_markers(struct decoder *decoder)
{
    const struct asm_file *file = decoder->file;
    decoder->begins = calloc(file->statements_count + 1, sizeof *decoder->begins);
    decoder->ends = calloc(file->statements_count + 1, sizeof *decoder->ends);
    if (!decoder->begins || !decoder->ends)
        return false;
    size_t count = object_symbols(decoder->object);
    for (size_t i = 0; i < count; i++) {
        struct object_symbol symbol;
        if (object_symbol(decoder->object, i, &symbol))
            read_marker(decoder, &symbol);
    }
    return true;
}

static bool add_insn(struct asm_file *file, const struct isa_insn *insn,
                     const struct isa_effects *effects)
{
    if (!UTIL_GROW(file->insns, file->private->insns_capacity, file->insns_count))
        return false;
    file->insns[file->insns_count++] = (struct asm_insn){
        .isa = *insn,
        .reads = effects->reads,
        .writes = effects->writes,
        .reads_flags = effects->flags_read != 0,
        .writes_flags = effects->flags_written != 0,
        .kills_flags = effects->flags_killed == ISA_FLAGS,
    };
    return true;
}

/* Decodes all of [from, to), or one instruction of it (fwait is a prefix in all but name). */
static enum base_status decode_bytes(struct decoder *decoder, struct asm_statement *statement,
                                     const struct marker *from, uint64_t to, bool one)
{
    size_t bytes;
    const uint8_t *code = object_section(decoder->object, from->section, &bytes);
    if (!code || to > bytes || from->offset > to)
        return BASE_MALFORMED;
    for (uint64_t at = from->offset; at < to;) {
        struct isa_insn insn;
        struct isa_effects effects;
        bool waits = code[at] == 0x9b;
        if (isa_decode_effects(code + at, to - at, at, &insn, &effects) != BASE_OK)
            return BASE_UNSUPPORTED;
        if (!add_insn(decoder->file, &insn, &effects))
            return BASE_NO_MEMORY;
        statement->insns_count++;
        at += insn.length;
        if (one &&
            !(waits && asm_begins(statement->name, "f") && !asm_is(statement->name, "fwait")))
            break;
    }
    return BASE_OK;
}

/* Where the statement's bytes end at the latest. */
static uint64_t end_of(const struct decoder *decoder, uint32_t number, uint32_t next)
{
    const struct marker *begin = &decoder->begins[number];
    if (next != ASM_NONE && decoder->begins[next].section == begin->section &&
        decoder->begins[next].offset >= begin->offset)
        return decoder->begins[next].offset;
    size_t bytes;
    object_section(decoder->object, begin->section, &bytes);
    return bytes;
}

/* May an inline region be run through from top to bottom, and does it stay within? */
static bool region_stays(const struct decoder *decoder, uint32_t number)
{
    const struct asm_file *file = decoder->file;
    const struct asm_statement *statement = &file->statements[number];
    const struct marker *begin = &decoder->begins[number], *end = &decoder->ends[number];
    for (uint32_t i = 0; i < statement->insns_count; i++) {
        const struct isa_insn *insn = &file->insns[statement->insns + i].isa;
        if (insn->flow == ISA_RETURN)
            return false;
        if (insn->flow != ISA_JUMP && insn->flow != ISA_BRANCH)
            continue;
        if (insn->indirect ||
            object_relocated(decoder->object, begin->section, insn->address,
                             insn->address + insn->length) ||
            insn->target < begin->offset || insn->target > end->offset)
            return false;
    }
    return true;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';';
}

/* Does `word` stand at `at`, by itself? */
static bool word_at(struct asm_slice text, size_t at, const char *word)
{
    size_t bytes = strlen(word);
    return at + bytes < text.bytes && !memcmp(text.text + at, word, bytes) &&
           (at == 0 || blank(text.text[at - 1])) && blank(text.text[at + bytes]);
}

static bool section_is(struct asm_slice text, size_t at, const char *name, size_t bytes)
{
    while (at < text.bytes && blank(text.text[at]))
        at++;
    return at + bytes < text.bytes && !memcmp(text.text + at, name, bytes) &&
           (text.text[at + bytes] == ',' || blank(text.text[at + bytes]));
}

/*
 * Markers of <headroom.h> write a name and an entry elsewhere, and nothing else does. clang spells
 * out which section comes next.
 */
static bool region_keeps_to_markers(const struct asm_file *file,
                                    const struct asm_statement *statement)
{
    static const char *const enter[] = {".section", ".pushsection"};
    static const char *const known[] = {".rodata.str1.1", "headroom_markers"};
    struct asm_slice text = statement->text, own = file->sections[statement->section].name;
    if (!asm_holds(text, "headroom_markers"))
        return false;
    for (size_t i = 0; i < text.bytes; i++) {
        if (word_at(text, i, ".text") && !asm_is(own, ".text"))
            return false;
        for (size_t k = 0; k < BASE_COUNT(enter); k++) {
            size_t name = i + strlen(enter[k]);
            if (word_at(text, i, enter[k]) && !section_is(text, name, own.text, own.bytes) &&
                !section_is(text, name, known[0], strlen(known[0])) &&
                !section_is(text, name, known[1], strlen(known[1])))
                return false;
        }
    }
    return true;
}

static bool holds_any(struct asm_slice text, const char *const *words)
{
    for (; *words; words++)
        if (asm_holds(text, *words))
            return true;
    return false;
}

/* Regions that put code elsewhere, or expand to who knows what. */
static bool region_is_plain(const struct asm_file *file, const struct asm_statement *statement)
{
    static const char *const never[] = {".previous", ".subsection", ".macro", ".rept", NULL};
    static const char *const elsewhere[] = {".section", ".pushsection", ".popsection", ".text",
                                            NULL};
    if (asm_holds(statement->text, ".note.stapsdt")) /* probes: a nop, and data that describes it */
        return true;
    if (holds_any(statement->text, never) ||
        (holds_any(statement->text, elsewhere) && !region_keeps_to_markers(file, statement)))
        return false;
    struct asm_slice rest = statement->text, symbol;
    while (asm_next_symbol(&rest, &symbol)) { /* asm goto; addresses of the program's labels */
        uint32_t label = asm_label(file, symbol);
        if (label != ASM_NONE && file->statements[label].function != ASM_NONE &&
            !(file->private->marks[label] & MARK_BEGINS))
            return false;
    }
    return true;
}

static void problem(struct asm_file *file, uint32_t function, enum asm_problem what)
{
    if (file->functions[function].problem == ASM_FINE)
        file->functions[function].problem = what;
}

static enum base_status decode_statement(struct decoder *decoder, uint32_t number, uint32_t next)
{
    struct asm_file *file = decoder->file;
    struct asm_statement *statement = &file->statements[number];
    const struct marker *begin = &decoder->begins[number], *end = &decoder->ends[number];
    bool region = statement->kind == ASM_INLINE;
    bool sequence = file->private->marks[number] & MARK_SEQUENCE;
    if (!begin->section || (region && !end->section))
        return BASE_MALFORMED;
    statement->insns = file->insns_count;
    if (region && end->section != begin->section) {
        problem(file, statement->function, ASM_PROBLEM_INLINE);
        return BASE_OK;
    }
    uint64_t to = region ? end->offset : end_of(decoder, number, next);
    enum base_status status = decode_bytes(decoder, statement, begin, to, !region);
    if (status == BASE_UNSUPPORTED) {
        problem(file, statement->function, ASM_PROBLEM_UNDECODED);
        return BASE_OK;
    }
    if (status != BASE_OK || !region || sequence)
        return status;
    file->functions[statement->function].inline_insns += statement->insns_count;
    if (!region_is_plain(file, statement) || !region_stays(decoder, number))
        problem(file, statement->function, ASM_PROBLEM_INLINE);
    return BASE_OK;
}

static enum base_status decode_all(struct decoder *decoder)
{
    struct asm_file *file = decoder->file;
    uint32_t *last = calloc(file->functions_count + 1, sizeof *last);
    if (!last)
        return BASE_NO_MEMORY;
    /* Each statement's bytes end where those of its function's next in the same section begin. */
    enum base_status status = BASE_OK;
    for (uint32_t i = 0; i < file->functions_count; i++)
        last[i] = ASM_NONE;
    for (uint32_t i = 0; i < file->statements_count && status == BASE_OK; i++) {
        const struct asm_statement *statement = &file->statements[i];
        if (!asm_is_code(statement) || statement->function == ASM_NONE)
            continue;
        uint32_t previous = last[statement->function];
        last[statement->function] = i;
        if (previous != ASM_NONE)
            status = decode_statement(decoder, previous, i);
    }
    for (uint32_t i = 0; i < file->functions_count && status == BASE_OK; i++) {
        if (last[i] != ASM_NONE)
            status = decode_statement(decoder, last[i], ASM_NONE);
    }
    free(last);
    return status;
}

enum base_status asm_decode(struct asm_file *file, const uint8_t *bytes, size_t count)
{
    struct decoder decoder = {.file = file};
    enum base_status status = isa_start((const void *)(uintptr_t)&ZydisDecoderInit,
                                        (const void *)(uintptr_t)&ZydisDecoderDecodeFull);
    if (status == BASE_OK)
        status = object_open(bytes, count, &decoder.object);
    if (status == BASE_OK && !read_markers(&decoder))
        status = BASE_NO_MEMORY;
    if (status == BASE_OK)
        status = decode_all(&decoder);
    free(decoder.begins);
    free(decoder.ends);
    object_close(decoder.object);
    if (status == BASE_OK && (!asm_find_landing_pads(file) || !asm_find_tables(file)))
        status = BASE_NO_MEMORY;
    return status == BASE_OK ? asm_make_blocks(file) : status;
}
