// SPDX-License-Identifier: MIT
/* A check against limits as Markdown, for the summary of a continuous-integration run. */
#include "compare/internal.h"

#include <string.h>

/* Names from the profile must stay inside their line, cell and paragraph, and be no markup. */
static void put_plain(const char *text, FILE *out)
{
    char clean[CHECK_MESSAGE_BYTES];
    name_clean(text, clean, sizeof clean);
    for (const char *at = clean; *at; at++) {
        if (*at == '<')
            fputs("&lt;", out);
        else if (*at == '&')
            fputs("&amp;", out);
        else if (strchr("\\`*_[]|~#", *at))
            fprintf(out, "\\%c", *at);
        else
            putc(*at, out);
    }
}

static void put_number(enum diff_unit unit, double value, FILE *out)
{
    char number[48];
    fprintf(out, " %s |", diff_number(unit, value, false, number));
}

static void put_table(const struct check *check, FILE *out)
{
    static const char *const states[] = {"within", "**exceeded**",
                                         "exceeded, by less than the minimum", "undecided"};
    fprintf(out, "| figure |%s value | allowed | |\n|---|%s---:|---:|---|\n",
            check->has_baseline ? " baseline |" : "", check->has_baseline ? "---:|" : "");
    for (size_t i = 0; i < check->results_count; i++) {
        const struct check_result *result = &check->results[i];
        char interval[CHECK_INTERVAL_BYTES];
        fputs("| ", out);
        put_plain(result->figure.name, out);
        fputs(" |", out);
        if (check->has_baseline)
            put_number(result->figure.unit, result->baseline.value, out);
        put_number(result->figure.unit, result->figure.value, out);
        put_number(result->figure.unit, result->allowed, out);
        fprintf(out, " %s%s%s |\n", states[result->state],
                check_interval(result, interval)[0] ? ", an estimate: " : "", interval);
    }
}

static void put_suppressions(const struct check *check, FILE *out)
{
    const struct compare_suppressions *suppressions = check->options->suppressions;
    bool headed = false;
    for (size_t i = 0; suppressions && i < suppressions->count; i++) {
        const struct compare_suppression *one = &suppressions->items[i];
        fputs(headed ? "" : "\n### Suppressed\n\n", out);
        headed = true;
        fputs("- ", out);
        put_plain(one->first, out);
        if (one->second) {
            fputs(" → ", out);
            put_plain(one->second, out);
        }
        fputs(": ", out);
        put_plain(one->reason, out);
        fputs(one->uses ? "\n" : " (matches nothing)\n", out);
    }
}

static void put_limits(const struct check *check, FILE *out)
{
    char line[CHECK_SENTENCE_BYTES];
    bool headed = false;
    for (unsigned i = 0; check_remark(check, i, line); i++) {
        putc('\n', out);
        put_plain(line, out);
        putc('\n', out);
    }
    for (unsigned which = 0; which < 2; which++) {
        const struct profile *profile = check_profile_of(check, which);
        for (size_t i = 0; profile && i < profile->degraded_count; i++) {
            fputs(headed ? "- " : "\n### Limits of the recording\n\n- ", out);
            headed = true;
            fputs(check_of[which], out);
            put_plain(profile->degraded[i].text, out);
            putc('\n', out);
        }
    }
}

enum base_status check_markdown(const struct check *check, FILE *out)
{
    struct source_cache sources = check_sources(check);
    char message[CHECK_MESSAGE_BYTES];
    fprintf(out, "## headroom: %s\n\n",
            check->exceeded
                ? check->options->warn_only ? "limits exceeded (warning only)" : "limits exceeded"
            : check->undecided ? "undecided"
                               : "within limits");
    put_table(check, out);
    if (check->items_count)
        fputs("\n### Findings\n\n", out);
    for (size_t i = 0; i < check->items_count; i++) {
        struct advice advice = check_advice(&check->items[i], &sources);
        check_message(check, &check->items[i], &advice, message);
        fprintf(out, "%zu. ", i + 1);
        put_plain(message, out);
        putc('\n', out);
    }
    source_free(&sources);
    put_suppressions(check, out);
    put_limits(check, out);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
