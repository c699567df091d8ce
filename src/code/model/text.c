// SPDX-License-Identifier: MIT
/*
 * Models as text, and back. A line for each fact of the machine, then for each set of figures a line that begins with =
 * and one with the keys of all forms that have them:
 *
 *   headroom-model 1
 *   name skylake
 *   title Intel Skylake
 *   source table
 *   cpu 506e3 f0                 measured: CPUID leaf 1, microcode
 *   quick                        measured: the quick set alone
 *   shared                       measured: on a core that something else used all the time
 *   rules 3                      hexadecimal, as all sets of bits
 *   unit p0 1
 *   role 0 63                    number of the role, units
 *   reason what is wrong there   numbered from 1 in order
 *   figure width 4 2 0           value, source, reason
 *   = t0.25 m1 f1 i1 I0 S222 R0 L0>0:1:1 U63:1 B4:3:6
 *   add_r64_r64 sub_r64_r64
 *
 * Bytes may come from anywhere (a file of another version, a damaged disk): everything is checked, and nothing is
 * there before all was.
 */
#include "model/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "headroom-model 1"
enum { FIGURE_MAX = 1000000 };

/* ---- writing ------------------------------------------------------------------------------------- */

/* A number without the zeros that it does not need. */
static void number(struct util_text *text, const char *before, double value)
{
    char digits[48];
    int count = snprintf(digits, sizeof digits, "%.3f", value);
    while (count && digits[count - 1] == '0')
        count--;
    if (count && (digits[count - 1] == '.' || digits[count - 1] == ','))
        count--;
    digits[count] = 0;
    util_text_print(text, "%s%s", before, digits);
}

static void write_machine(const struct model *model, struct util_text *text)
{
    const struct model_machine *machine = &model->machine;
    util_text_print(
        text, FIRST_LINE "\nname %s\ntitle %s\nsource %s\ncpu %llx %llx\n%s%srules %x\n",
        machine->name, machine->title, model_source_text(machine->source),
        (unsigned long long)machine->cpu, (unsigned long long)machine->microcode,
        machine->quick ? "quick\n" : "", machine->shared ? "shared\n" : "", machine->rules);
    for (size_t i = 0; i < machine->unit_count; i++)
        util_text_print(text, "unit %s %u\n", machine->units[i].name, machine->units[i].copies);
    for (size_t i = 0; i < MODEL_ROLES; i++)
        if (machine->roles[i])
            util_text_print(text, "role %zu %llx\n", i, (unsigned long long)machine->roles[i]);
    for (size_t i = 0; i < model->reasons.count; i++)
        util_text_print(text, "reason %s\n", model->reasons.texts[i]);
    for (size_t i = 0; i < MODEL_FIGURES; i++) {
        const struct model_figure *figure = machine->figures + i;
        if (!figure->source)
            continue;
        util_text_print(text, "figure %s", model_figure_name((enum model_figure_kind)i));
        number(text, " ", (double)figure->value);
        util_text_print(text, " %u %u\n", figure->source, figure->reason);
    }
}

static void write_figures(const struct model_figures *figures, struct util_text *text)
{
    number(text, "= t", (double)figures->throughput);
    number(text, " m", (double)figures->micro_operations);
    number(text, " f", (double)figures->fused);
    number(text, " i", (double)figures->fused_indexed);
    util_text_print(text, " I%x S%u%u%u R%u", figures->idioms, figures->latency_source,
                    figures->throughput_source, figures->use_source, figures->reason);
    for (size_t i = 0; i < figures->latency_count; i++) {
        const struct model_latency *each = figures->latencies + i;
        util_text_print(text, " L%u>%u", each->from, each->to);
        number(text, ":", (double)each->least);
        number(text, ":", (double)each->most);
    }
    for (size_t i = 0; i < figures->use_count; i++) {
        util_text_print(text, " U%llx", (unsigned long long)figures->uses[i].units);
        number(text, ":", (double)figures->uses[i].cycles);
    }
    for (size_t i = 0; i < figures->busy_count; i++) {
        util_text_print(text, " B%u", figures->busy[i].unit);
        number(text, ":", (double)figures->busy[i].least);
        number(text, ":", (double)figures->busy[i].most);
    }
    util_text_print(text, "\n");
}

struct placed {
    uint32_t figures, form;
    const char *key;
};

static int by_figures(const void *a, const void *b)
{
    const struct placed *first = a, *second = b;
    if (first->figures != second->figures)
        return first->figures < second->figures ? -1 : 1;
    return strcmp(first->key, second->key);
}

bool model_write(const struct model *model, struct util_text *text)
{
    size_t count = model->keys.count;
    struct placed *placed = malloc((count + 1) * sizeof *placed);
    if (!placed)
        return false;
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){
            .figures = model->figures_of[i], .form = (uint32_t)i, .key = model->keys.texts[i]};
    qsort(placed, count, sizeof *placed, by_figures);
    write_machine(model, text);
    for (size_t i = 0; i < count; i++) {
        bool first = !i || placed[i - 1].figures != placed[i].figures;
        if (first)
            write_figures(model->figures + placed[i].figures, text);
        bool last = i + 1 == count || placed[i + 1].figures != placed[i].figures;
        util_text_print(text, "%s%s", placed[i].key, last ? "\n" : " ");
    }
    free(placed);
    return !text->failed;
}

/* ---- reading ------------------------------------------------------------------------------------- */

struct reader {
    const char *at, *end; /* of the line that is read */
    struct model *model;
    struct model_figures figures;
    bool have_figures; /* a line of figures came, its keys did not yet */
    bool no_memory;
};

static bool take(struct reader *reader, char sign)
{
    if (reader->at == reader->end || *reader->at != sign)
        return false;
    reader->at++;
    return true;
}

static bool take_word(struct reader *reader, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(reader->end - reader->at) < bytes || memcmp(reader->at, word, bytes) != 0)
        return false;
    reader->at += bytes;
    return true;
}

static int digit(char sign, unsigned base)
{
    int value = sign >= '0' && sign <= '9'   ? sign - '0'
                : sign >= 'a' && sign <= 'f' ? sign - 'a' + 10
                                             : 99;
    return value < (int)base ? value : -1;
}

static bool take_whole(struct reader *reader, unsigned base, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    const char *start = reader->at;
    for (; reader->at < reader->end && digit(*reader->at, base) >= 0; reader->at++)
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit(*reader->at, base), &value))
            return false;
    *out = value;
    return reader->at > start && value <= most;
}

/* Digits, a point, up to six digits. */
static bool take_number(struct reader *reader, float *out)
{
    uint64_t whole, part = 0;
    double scale = 1;
    if (!take_whole(reader, 10, FIGURE_MAX, &whole))
        return false;
    if (take(reader, '.')) {
        const char *start = reader->at;
        if (!take_whole(reader, 10, 999999, &part) || reader->at - start > 6)
            return false;
        for (const char *each = start; each < reader->at; each++)
            scale *= 10;
    }
    *out = (float)((double)whole + (double)part / scale);
    return *out <= FIGURE_MAX;
}

static bool take_set(struct reader *reader, model_set *set)
{
    size_t count = reader->model->machine.unit_count;
    model_set all = count == 64 ? ~(model_set)0 : ((model_set)1 << count) - 1;
    return take_whole(reader, 16, UINT64_MAX, set) && *set && !(*set & ~all);
}

static bool take_pair(struct reader *reader, float *least, float *most)
{
    return take(reader, ':') && take_number(reader, least) && take(reader, ':') &&
           take_number(reader, most) && *least <= *most;
}

static bool take_latency(struct reader *reader)
{
    uint64_t from, to;
    struct model_figures *figures = &reader->figures;
    struct model_latency read = {0};
    if (figures->latency_count == MODEL_PARTS || !take_whole(reader, 10, MODEL_ANY, &from) ||
        !take(reader, '>') || !take_whole(reader, 10, MODEL_ANY, &to) ||
        !take_pair(reader, &read.least, &read.most))
        return false;
    read.from = (uint8_t)from;
    read.to = (uint8_t)to;
    figures->latencies[figures->latency_count++] = read;
    return true;
}

static bool take_use(struct reader *reader)
{
    struct model_figures *figures = &reader->figures;
    struct model_use read = {0};
    if (figures->use_count == MODEL_PARTS || !take_set(reader, &read.units) || !take(reader, ':') ||
        !take_number(reader, &read.cycles))
        return false;
    figures->uses[figures->use_count++] = read;
    return true;
}

static bool take_busy(struct reader *reader)
{
    struct model_figures *figures = &reader->figures;
    struct model_busy read = {0};
    uint64_t unit;
    if (figures->busy_count == MODEL_PARTS || !take_whole(reader, 10, MODEL_UNITS_MAX - 1, &unit) ||
        unit >= reader->model->machine.unit_count || !take_pair(reader, &read.least, &read.most))
        return false;
    read.unit = (uint8_t)unit;
    figures->busy[figures->busy_count++] = read;
    return true;
}

static bool take_sources(struct reader *reader)
{
    uint8_t *out[] = {&reader->figures.latency_source, &reader->figures.throughput_source,
                      &reader->figures.use_source};
    for (size_t i = 0; i < BASE_COUNT(out); i++) {
        int value = reader->at < reader->end ? digit(*reader->at++, 10) : -1;
        if (value < 0 || value >= MODEL_SOURCES)
            return false;
        *out[i] = (uint8_t)value;
    }
    return true;
}

static bool take_part(struct reader *reader)
{
    uint64_t whole = 0;
    struct model_figures *figures = &reader->figures;
    switch (*reader->at++) {
    case 't': return take_number(reader, &figures->throughput);
    case 'm': return take_number(reader, &figures->micro_operations);
    case 'f': return take_number(reader, &figures->fused);
    case 'i': return take_number(reader, &figures->fused_indexed);
    case 'I':
        if (!take_whole(reader, 16, 255, &whole))
            return false;
        figures->idioms = (uint8_t)whole;
        return true;
    case 'S': return take_sources(reader);
    case 'R':
        if (!take_whole(reader, 10, reader->model->reasons.count, &whole))
            return false;
        figures->reason = (uint32_t)whole;
        return true;
    case 'L': return take_latency(reader);
    case 'U': return take_use(reader);
    case 'B': return take_busy(reader);
    default: return false;
    }
}

static bool read_figures(struct reader *reader)
{
    if (reader->have_figures)
        return false;
    memset(&reader->figures, 0, sizeof reader->figures);
    while (reader->at < reader->end)
        if (!take(reader, ' ') || reader->at == reader->end || !take_part(reader))
            return false;
    reader->have_figures = true;
    return true;
}

static bool read_keys(struct reader *reader)
{
    while (reader->at < reader->end) {
        char key[MODEL_KEY_BYTES];
        size_t bytes = 0;
        while (reader->at < reader->end && *reader->at != ' ') {
            if (*reader->at <= ' ' || *reader->at > '~' || bytes + 1 == sizeof key)
                return false;
            key[bytes++] = *reader->at++;
        }
        key[bytes] = 0;
        if (!bytes || key[0] == '=' || (reader->at < reader->end && !take(reader, ' ')))
            return false;
        if (!model_add(reader->model, key, &reader->figures)) {
            reader->no_memory = true;
            return false;
        }
    }
    reader->have_figures = false;
    return true;
}

/* What is left of the line: printable, not empty. It becomes one of the model's texts. */
static const char *rest(struct reader *reader)
{
    struct util_strings *texts = &reader->model->texts;
    uint32_t kept;
    size_t bytes = (size_t)(reader->end - reader->at);
    for (const char *at = reader->at; at < reader->end; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return NULL;
    if (!bytes || bytes > 4096)
        return NULL;
    if (!util_strings_add(texts, reader->at, bytes, &kept)) {
        reader->no_memory = true;
        return NULL;
    }
    reader->at = reader->end;
    return texts->texts[kept];
}

static bool read_unit(struct reader *reader)
{
    char name[64];
    size_t bytes = 0;
    uint64_t copies;
    uint8_t unit;
    for (; reader->at<reader->end && * reader->at> ' ' && *reader->at <= '~'; reader->at++) {
        if (bytes + 1 == sizeof name)
            return false;
        name[bytes++] = *reader->at;
    }
    name[bytes] = 0;
    return bytes && take(reader, ' ') && take_whole(reader, 10, 255, &copies) && copies &&
           model_add_unit(reader->model, name, (uint8_t)copies, &unit);
}

static bool read_figure(struct reader *reader)
{
    for (int i = 0; i < MODEL_FIGURES; i++) {
        const char *start = reader->at;
        if (!take_word(reader, model_figure_name((enum model_figure_kind)i)) ||
            !take(reader, ' ')) {
            reader->at = start;
            continue;
        }
        struct model_figure figure = {0};
        uint64_t source, reason;
        if (!take_number(reader, &figure.value) || !take(reader, ' ') ||
            !take_whole(reader, 10, MODEL_SOURCES - 1, &source) || !take(reader, ' ') ||
            !take_whole(reader, 10, reader->model->reasons.count, &reason))
            return false;
        figure.source = (uint8_t)source;
        figure.reason = (uint32_t)reason;
        reader->model->machine.figures[i] = figure;
        return true;
    }
    return false;
}

static bool read_source(struct reader *reader)
{
    for (int i = MODEL_UNKNOWN; i < MODEL_SOURCES; i++)
        if (take_word(reader, model_source_text((enum model_source)i))) {
            reader->model->machine.source = (uint8_t)i;
            return true;
        }
    return false;
}

static bool read_cpu(struct reader *reader)
{
    struct model_machine *machine = &reader->model->machine;
    return take_whole(reader, 16, UINT64_MAX, &machine->cpu) && take(reader, ' ') &&
           take_whole(reader, 16, UINT64_MAX, &machine->microcode);
}

static bool read_rules(struct reader *reader)
{
    uint64_t rules;
    if (!take_whole(reader, 16, UINT32_MAX, &rules))
        return false;
    reader->model->machine.rules = (uint32_t)rules;
    return true;
}

static bool read_role(struct reader *reader)
{
    uint64_t role;
    return take_whole(reader, 10, MODEL_ROLES - 1, &role) && take(reader, ' ') &&
           take_set(reader, &reader->model->machine.roles[role]);
}

static bool read_text(struct reader *reader, const char **out)
{
    const char *text = rest(reader);
    if (text)
        *out = text;
    return text;
}

static bool read_reason(struct reader *reader)
{
    const char *text = rest(reader);
    uint32_t before = (uint32_t)reader->model->reasons.count;
    /* A text that comes twice would shift the numbers of those after it. */
    return text && model_add_reason(reader->model, text) == before + 1;
}

static bool read_line(struct reader *reader)
{
    struct model_machine *machine = &reader->model->machine;
    bool fine = take(reader, '=')              ? read_figures(reader)
                : reader->have_figures         ? read_keys(reader)
                : take_word(reader, "name ")   ? read_text(reader, &machine->name)
                : take_word(reader, "title ")  ? read_text(reader, &machine->title)
                : take_word(reader, "source ") ? read_source(reader)
                : take_word(reader, "cpu ")    ? read_cpu(reader)
                : take_word(reader, "quick")   ? (machine->quick = true)
                : take_word(reader, "shared")  ? (machine->shared = true)
                : take_word(reader, "rules ")  ? read_rules(reader)
                : take_word(reader, "unit ")   ? read_unit(reader)
                : take_word(reader, "role ")   ? read_role(reader)
                : take_word(reader, "reason ") ? read_reason(reader)
                : take_word(reader, "figure ") ? read_figure(reader)
                                               : false;
    return fine && reader->at == reader->end;
}

static enum base_status fail(enum base_status status, struct model *model, struct util_text *why,
                             const char *text, size_t line)
{
    if (why && line)
        util_text_print(why, "line %zu: %s", line, text);
    else if (why)
        util_text_print(why, "%s", text);
    model_close(model);
    return status;
}

static bool next_line(const char **at, const char *end, struct reader *reader)
{
    if (*at == end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    reader->at = *at;
    reader->end = stop ? stop : end;
    *at = stop ? stop + 1 : end;
    return true;
}

enum base_status model_read(const char *bytes, size_t count, struct model **out,
                            struct util_text *why)
{
    struct reader reader = {.model = model_new("?", "?")};
    const char *at = bytes, *end = bytes + count;
    size_t line = 1;
    if (!reader.model)
        return fail(BASE_NO_MEMORY, NULL, why, "no memory", 0);
    if (!count || !next_line(&at, end, &reader) || !take_word(&reader, "headroom-model "))
        return fail(BASE_MALFORMED, reader.model, why, "not a machine model", line);
    if (!take(&reader, '1') || reader.at != reader.end)
        return fail(BASE_TOO_NEW, reader.model, why,
                    "a machine model of another version of headroom", line);
    while (next_line(&at, end, &reader)) {
        line++;
        if (!read_line(&reader))
            return reader.no_memory ? fail(BASE_NO_MEMORY, reader.model, why, "no memory", 0)
                                    : fail(BASE_MALFORMED, reader.model, why,
                                           "not what a machine model has there", line);
    }
    if (reader.have_figures)
        return fail(BASE_MALFORMED, reader.model, why, "figures of no form", line);
    if (!model_seal(reader.model))
        return fail(BASE_NO_MEMORY, reader.model, why, "no memory", 0);
    *out = reader.model;
    return BASE_OK;
}
