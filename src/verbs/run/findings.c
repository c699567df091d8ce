// SPDX-License-Identifier: MIT
/* What to fix first: findings of all questions that the samples asked, by what mending would gain. */
#include "run/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SYMPTOMS_SHOWN = 2 };

bool run_is_own(const struct profile *profile)
{
    return strcmp(profile->run.verb, run_analysis.name) == 0;
}

/* ---- for people ------------------------------------------------------------------------------- */

static void print_head(struct printer *printer, const struct gain_finding *finding, size_t number)
{
    char head[32], share[32], most[32], line[TEXT_BYTES];
    snprintf(head, sizeof head, "#%zu  about %s", number, print_percent(finding->direct, share));
    snprintf(line, sizeof line, " of the CPU time (%.1f – %.1f %%), at most %s", 100 * finding->low,
             100 * finding->direct_high, print_percent(finding->ceiling, most));
    fprintf(printer->out, "\n  %s%s%s%s%s", print_link_on(printer), print_on(printer, BOLD), head,
            print_off(printer), print_link_off(printer));
    print_wrap(printer, PLAIN, 2 + (unsigned)strlen(head), 6, line);
}

static void print_symptom(struct printer *printer, const struct gain_symptom *symptom)
{
    char line[TEXT_BYTES] = "", share[32], object[NAME_BYTES];
    name_clean(symptom->object.text ? symptom->object.text : "", object, sizeof object);
    print_add(line, sizeof line, "%s%s%s: %s %s ", symptom->what, object[0] ? " of " : "", object,
              print_percent(symptom->waste.share, share), symptom->share_of);
    if (symptom->counted && symptom->one_in > 1)
        print_add(line, sizeof line, "(counted at one line of memory in %" PRIu64 ")",
                  symptom->one_in);
    else if (symptom->counted && strcmp(symptom->kind, "reuse") == 0)
        print_add(line, sizeof line, "(at most, by exact distances)");
    else if (symptom->counted)
        print_add(line, sizeof line, "(exact: all were counted)");
    else
        print_add(line, sizeof line, "(seen %" PRIu64 " time%s)", symptom->seen,
                  print_plural(symptom->seen));
    fputs("      ", printer->out);
    print_wrap(printer, PLAIN, 6, 8, line);
}

static void print_places(struct printer *printer, const struct gain_symptom *symptom,
                         struct chain chains[2])
{
    const struct places *places = &printer->places;
    uint32_t first = places->place_of[symptom->first], second = places->place_of[symptom->second];
    print_make_own_chain(printer, first, &chains[0]);
    print_make_own_chain(printer, second, &chains[1]);
    print_sides(printer, chains, first == second, symptom->labels[0], symptom->labels[1]);
}

/* Weak ones count where all are. */
static bool is_first_of_kind(const struct gain_finding *finding, size_t index)
{
    if (finding->symptoms[index].weak && !finding->symptoms[0].weak)
        return false;
    if (index && finding->symptoms[index].waits && !finding->symptoms[index].advice.id)
        return false; /* nothing is known to help */
    for (size_t i = 0; i < index; i++)
        if (strcmp(finding->symptoms[i].kind, finding->symptoms[index].kind) == 0)
            return false;
    return true;
}

/* memory: what the symptom itself says of it goes there. */
static struct objects_found object_of(const struct objects *objects, const struct places *places,
                                      const struct gain_symptom *symptom,
                                      struct profile_memory *memory)
{
    const struct gain_object *object = &symptom->object;
    if (object->text) {
        *memory = (struct profile_memory){.object = object->kind,
                                          .name = object->name,
                                          .context = object->context,
                                          .size = object->size};
        return (struct objects_found){.memory = memory,
                                      .low = object->offset,
                                      .high = object->offset,
                                      .field = object->fields,
                                      .share = 1,
                                      .known = symptom->seen,
                                      .seen = symptom->seen};
    }
    for (uint32_t kind = 0; kind < PROFILE_KINDS; kind++)
        if (strcmp(profile_kind_names[kind], symptom->kind) == 0)
            return objects_of_pair(objects, places, kind, symptom->first, symptom->second);
    return (struct objects_found){.memory = NULL};
}

static void print_remedy(struct printer *printer, const char *remedy)
{
    char clean[TEXT_BYTES];
    if (!remedy)
        return;
    name_clean(remedy, clean, sizeof clean);
    fputs("      ", printer->out);
    print_wrap(printer, PLAIN, 6, 6, clean);
}

static void print_finding(struct printer *printer, const struct objects *objects,
                          const struct gain_finding *finding, size_t number, struct chain chains[2])
{
    const struct gain_symptom *first = &finding->symptoms[0];
    if (first->number)
        print_link(printer, "view=pairs&kind=%s&pair=%zu", first->kind, first->number - 1);
    else
        print_link_clear(printer);
    print_head(printer, finding, number);
    const char *remedy = NULL;
    for (size_t i = 0, lines = 0; i < finding->count && lines < SYMPTOMS_SHOWN; i++)
        if (i == 0 || is_first_of_kind(finding, i)) {
            print_symptom(printer, &finding->symptoms[i]);
            remedy = remedy ? remedy : finding->symptoms[i].object.remedy;
            lines++;
        }
    print_places(printer, first, chains);
    struct profile_memory memory;
    struct objects_found found = object_of(objects, &printer->places, first, &memory);
    objects_print(printer, &found);
    print_remedy(printer, remedy);
    print_given(printer, &first->advice, number);
}

static void print_rest(struct printer *printer, const struct gain_list *list, size_t shown)
{
    size_t count = list->count - shown, weak = list->count - list->strong;
    char line[TEXT_BYTES] = "", share[32];
    double most = 0;
    if (count == 0)
        return;
    for (size_t i = shown; i < list->strong; i++)
        most += list->items[i].direct;
    print_add(line, sizeof line, "%zu%s", count, shown ? " more" : "");
    if (weak == count)
        print_add(line, sizeof line, ", weak: seen too rarely, or at no tick of the clock");
    else
        print_add(line, sizeof line, ", together about %s%s", print_percent(most, share),
                  weak ? "; some are weak" : "");
    fprintf(printer->out, "\n  %s", print_on(printer, DIM));
    print_wrap(printer, PLAIN, 2, 2, line);
    fputs(print_off(printer), printer->out);
}

/* Samples of one kind below which half of it is known within ten points at best; and the CPU time of
   programs that are short. */
enum { DECIDED_LEAST = 100, SHORT_S = 2 };

/* Whether the command ran once, and so shortly that running it again would help. */
static bool is_short(const struct profile *profile)
{
    bool few = false;
    for (size_t i = 0; i < profile->kinds_count; i++)
        few |= profile->kinds[i].kind != PROFILE_REUSE && profile->kinds[i].traps < DECIDED_LEAST;
    return few && profile->merged_count == 0 && profile->run.exit_signal <= 0 &&
           profile->run.cpu_s < SHORT_S;
}

static void print_hint(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES], digits[32];
    uint64_t decided = 0;
    for (size_t i = 0; i < profile->kinds_count; i++)
        decided += profile->kinds[i].kind != PROFILE_REUSE ? profile->kinds[i].traps : 0;
    snprintf(line, sizeof line,
             "%s sample%s; --repeat would run the command again and add up its runs",
             print_grouped(decided, digits), print_plural(decided));
    fputs("\n  ", printer->out);
    print_wrap(printer, PLAIN, 2, 2, line);
}

/* Behind the heading. */
static void print_heading(struct printer *printer, const struct time_profile *time,
                          const struct gain_list *list, size_t shown)
{
    char line[TEXT_BYTES * 2] = "";
    if (shown)
        print_add(line, sizeof line, "by what it would gain");
    else if (list->strong == 0)
        print_add(line, sizeof line, "nothing was seen often enough");
    else
        print_add(line, sizeof line,
                  "nothing: no finding is expected to gain %.0f %% of the CPU time",
                  100 * GAIN_LEAST);
    if (!shown && list->strong)
        run_add_functions(printer, time, "; it goes to ", line, sizeof line);
    if (!shown && printer->profile->limit_loops_count)
        print_add(line, sizeof line, "; what bounds its loops follows");
    fprintf(printer->out, "\n%sWhat to fix first%s  ", print_on(printer, STRONG),
            print_off(printer));
    print_wrap(printer, PLAIN, 19, 2, line);
}

bool run_print_findings(struct printer *printer, const struct time_profile *time)
{
    struct gain_list list;
    struct objects objects = {.count = 0};
    struct chain *chains = malloc(2 * sizeof *chains);
    if (!chains || !objects_make(&printer->places, &objects) ||
        !gain_make(&printer->places, &printer->sources, &list)) {
        objects_free(&objects);
        free(chains);
        return false;
    }
    size_t limit = printer->options->limit, shown = limit ? list.worth : list.strong;
    if (limit && limit < shown)
        shown = limit;
    print_heading(printer, time, &list, shown);
    printer->given_count = 0;
    for (size_t i = 0; i < shown; i++)
        print_finding(printer, &objects, &list.items[i], i + 1, chains);
    print_link_clear(printer);
    print_rest(printer, &list, shown);
    run_print_waits(printer);
    printer->next.too_few = list.strong == 0;
    if (is_short(printer->profile)) {
        print_hint(printer);
        printer->next.instead = "--repeat";
    }
    if (printer->profile->run.threads > printer->profile->run.processes)
        printer->next.also = "interference";
    printer->next.cut = shown < list.strong;
    gain_free(&list);
    objects_free(&objects);
    free(chains);
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void gain_member(struct json *json, const struct gain_finding *finding)
{
    json_begin(json, "gain", '{');
    json_decimal(json, "direct", finding->direct, 6);
    json_decimal(json, "low", finding->low, 6);
    json_decimal(json, "ceiling", finding->ceiling, 6);
    json_range(json, "ci95", true, finding->direct_low, finding->direct_high, 6);
    json_close(json, '}');
}

static bool is_exact(const struct gain_symptom *symptom)
{
    return symptom->counted && symptom->one_in <= 1;
}

static void symptom_item(struct json *json, const struct objects *objects,
                         const struct places *places, const struct gain_symptom *symptom)
{
    const struct profile *profile = places->profile;
    json_begin_item(json);
    json_text(json, "kind", symptom->kind);
    json_count(json, "number", symptom->number);
    json_count(json, "seen", symptom->seen);
    json_decimal(json, "share", symptom->waste.share, 6);
    json_interval(json, &symptom->waste);
    json_flag(json, "weak", symptom->weak);
    json_flag(json, "exact", is_exact(symptom));
    if (symptom->one_in > 1)
        json_count(json, "one_in", symptom->one_in);
    json_advice(json, &symptom->advice);
    json_context(json, "first", profile, symptom->first);
    json_context(json, "second", profile, symptom->second);
    struct profile_memory memory;
    struct objects_found found = object_of(objects, places, symptom, &memory);
    objects_json(json, places, &found);
    if (symptom->moves && symptom->object.class) { /* of --deep the advice alone says it */
        json_text(json, "class", symptom->object.class);
        json_text(json, "remedy", symptom->object.remedy);
    }
    json_close(json, '}');
}

static void finding_item(struct json *json, const struct objects *objects,
                         const struct places *places, const struct gain_list *list, size_t index)
{
    const struct gain_finding *finding = &list->items[index];
    const struct profile *profile = places->profile;
    json_begin_item(json);
    json_count(json, "rank", index + 1);
    gain_member(json, finding);
    json_flag(json, "weak", finding->weak);
    json_text(json, "evidence",
              finding->weak                 ? "weak"
              : is_exact(finding->symptoms) ? "exact"
                                            : "strong");
    json_flag(json, "slight", finding->slight);
    json_decimal(json, "expected", finding->together, 6);
    json_count(json, "samples", finding->ticks);
    json_begin(json, "kinds", '[');
    for (size_t i = 0; i < finding->count; i++) {
        if (!is_first_of_kind(finding, i))
            continue;
        json_item(json);
        json_quote(json, finding->symptoms[i].kind);
    }
    json_close(json, ']');
    json_begin(json, "cause", '[');
    json_frame(json, profile, &profile->frames[list->lines.frames[finding->line]]);
    json_close(json, ']');
    json_advice(json, &finding->symptoms[0].advice);
    struct profile_memory memory;
    struct objects_found found = object_of(objects, places, &finding->symptoms[0], &memory);
    objects_json(json, places, &found);
    json_begin(json, "symptoms", '[');
    for (size_t i = 0; i < finding->count; i++)
        symptom_item(json, objects, places, &finding->symptoms[i]);
    json_close(json, ']');
    json_close(json, '}');
}

bool run_findings_json(struct json *json, const struct places *places,
                       const struct report_options *options)
{
    struct source_cache sources = {.enabled = options->sources,
                                   .not_newer_than_ns = places->profile->run.start_ns};
    struct gain_list list;
    struct objects objects = {.count = 0};
    if (!objects_make(places, &objects) || !gain_make(places, &sources, &list)) {
        objects_free(&objects);
        source_free(&sources);
        return false;
    }
    uint64_t frames = json->frames;
    json_count(json, "findings_total", list.count);
    json_begin(json, "findings", '[');
    for (size_t i = 0; i < list.count && json_list_goes_on(json, frames, i, options->limit); i++)
        finding_item(json, &objects, places, &list, i);
    json_close(json, ']');
    gain_free(&list);
    objects_free(&objects);
    source_free(&sources);
    return true;
}
