// SPDX-License-Identifier: MIT
/* A profile's figures against limits, and the findings that those exceeded are about. */
#include "compare/internal.h"
#include "show/own.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ITEMS_OF_A_LIMIT = 10 };

/* Of the kind's whole; findings and growths below are not what a limit is exceeded by. */
static const double least_share = 0.005, least_growth = 0.0005;

/* ---- suppressions ---------------------------------------------------------------------------- */

struct suspect {
    const struct diff_side *side;
    const struct compare_finding *finding;
};

static bool matches(const char *pattern, const char *function)
{
    return function && fnmatch(pattern, function, 0) == 0;
}

static bool has_function(void *context, unsigned which, const char *pattern)
{
    const struct suspect *suspect = context;
    const struct profile *profile = suspect->side->profile;
    struct diff_subject subject;
    struct diff_ends ends;
    if (!diff_ends_of(suspect->side, suspect->finding, &ends)) {
        diff_subject_of(suspect->side, suspect->finding, &subject);
        return matches(pattern, subject.function);
    }
    for (uint32_t at = ends.contexts[which]; at; at = profile->contexts[at].parent)
        if (matches(pattern, profile->frames[profile->contexts[at].frame].function))
            return true;
    return false;
}

struct skipping {
    struct check *check;
    const struct profile *profile;
};

static bool skip(void *context, const struct diff_side *side, const struct compare_finding *finding)
{
    struct skipping *skipping = context;
    struct suspect suspect = {side, finding};
    if (!compare_suppressed(skipping->check->options->suppressions, has_function, &suspect))
        return false;
    skipping->check->suppressed += side->profile == skipping->profile;
    return true;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void list_figures(const struct diff_side *side, char *error, size_t error_bytes)
{
    for (size_t i = 0; i < side->figures_count; i++)
        print_add(error, error_bytes, "%s %s", i ? "," : "", side->figures[i].name);
    for (size_t i = 0; i < side->parts_count; i++) {
        const struct diff_part *part = &side->parts[i];
        const char *hint = part->compare->figure_hint ? part->compare->figure_hint(part) : NULL;
        if (hint)
            print_add(error, error_bytes, "; %s", hint);
    }
}

/* Limits that hold whatever is found, or never: slips of the hand that would disarm a gate. */
static bool makes_sense(const struct compare_limit *limit, const struct diff_figure *figure,
                        char *error, size_t error_bytes)
{
    bool share = figure->unit == DIFF_SHARE;
    if (share && !limit->relative && limit->value > 1) {
        snprintf(
            error, error_bytes,
            "'%s' cannot be exceeded, because %s is a fraction of 1; write %g%% for a percentage",
            limit->text, limit->metric, limit->value);
        return false;
    }
    if (!share && limit->points) {
        snprintf(
            error, error_bytes,
            "'%s' is in points, but %s is not a percentage: write %s=+N%% for growth in per cent",
            limit->text, limit->metric, limit->metric);
        return false;
    }
    if (!share && limit->percent && !limit->relative) {
        snprintf(error, error_bytes,
                 "'%s' needs something to be a percentage of: write %s=+N%% with --baseline, or a "
                 "number without %%",
                 limit->text, limit->metric);
        return false;
    }
    return true;
}

static struct compare_estimate estimate_of(const struct diff_figure *figure)
{
    struct compare_estimate estimate = {figure->value, figure->value, figure->value};
    if (figure->band) {
        estimate.low = fmin(figure->low, figure->value);
        estimate.high = fmax(figure->high, figure->value);
    }
    return estimate;
}

/* least: excesses below that do not count. */
static enum check_state state_of(const struct compare_estimate *excess, double least)
{
    if (excess->high <= 0)
        return CHECK_WITHIN;
    if (excess->low > 0)
        return excess->value < least ? CHECK_SMALL : CHECK_EXCEEDED;
    return excess->high < least ? CHECK_WITHIN : CHECK_UNDECIDED;
}

static enum base_status hold(struct check *check, const struct compare_limit *limit, char *error,
                             size_t error_bytes)
{
    struct check_result *result = &check->results[check->results_count];
    *result = (struct check_result){.limit = limit};
    if (!diff_side_figure(check->side, limit->metric, &result->figure)) {
        snprintf(error, error_bytes, "the profile has no figure '%s'; it has", limit->metric);
        list_figures(check->side, error, error_bytes);
        return BASE_NOT_FOUND;
    }
    if (!makes_sense(limit, &result->figure, error, error_bytes))
        return BASE_NOT_FOUND;
    if (check->has_baseline &&
        !diff_side_figure(&check->diff.sides[0], limit->metric, &result->baseline)) {
        snprintf(error, error_bytes, "the baseline has no figure '%s', so it cannot be compared.",
                 limit->metric);
        return BASE_UNSUPPORTED;
    }
    result->allowed = compare_limit_allows(limit, result->baseline.value);
    struct compare_estimate value = estimate_of(&result->figure);
    struct compare_estimate baseline = estimate_of(&result->baseline);
    double whole = result->figure.whole;
    result->excess = compare_limit_excess(limit, &value, &baseline);
    result->state = state_of(&result->excess, whole > 0 ? check->options->minimum / whole : 0);
    check->exceeded += result->state == CHECK_EXCEEDED;
    check->undecided += result->state == CHECK_UNDECIDED;
    check->results_count++;
    return BASE_OK;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Two limits of one kind show its findings once. */
static bool is_listed(const struct check *check, const struct compare_finding *finding)
{
    for (size_t i = 0; i < check->items_count; i++)
        if (check->items[i].finding == finding)
            return true;
    return false;
}

static bool is_worth(const struct check *check, const struct compare_finding *finding,
                     double amount, double least)
{
    return amount > 0 && amount >= check->options->minimum &&
           amount >= least * check->side->compare.wholes[finding->kind].amount;
}

static size_t add_item(struct check *check, const struct check_result *result,
                       const struct compare_finding *finding, const struct compare_change *change)
{
    double amount = change ? change->amounts[1] - change->amounts[0] : finding->amount;
    if (finding->kind - result->figure.first_kind >= result->figure.kinds_count ||
        finding->row == DIFF_ALL ||
        !is_worth(check, finding, amount, change ? least_growth : least_share) ||
        is_listed(check, finding))
        return 0;
    check->items[check->items_count++] = (struct check_item){result, check->side, finding, change};
    return 1;
}

static size_t add_growth(struct check *check, const struct check_result *result)
{
    size_t added = 0;
    for (size_t i = 0; i < check->diff.changes_count && added < ITEMS_OF_A_LIMIT; i++) {
        const struct compare_change *change = &check->diff.changes[i];
        if (change->verdict == COMPARE_APPEARED || change->verdict == COMPARE_GREW)
            added += add_item(check, result, diff_finding(&check->diff, change), change);
    }
    return added;
}

static int by_amount(const void *left, const void *right)
{
    const struct compare_finding *a = *(const struct compare_finding *const *)left;
    const struct compare_finding *b = *(const struct compare_finding *const *)right;
    if (a->amount != b->amount)
        return a->amount > b->amount ? -1 : 1;
    return (a > b) - (a < b);
}

static bool find_items(struct check *check)
{
    size_t count = check->side->findings_count;
    const struct compare_finding **order = calloc(count + 1, sizeof(const void *));
    check->items = calloc(COMPARE_LIMITS * ITEMS_OF_A_LIMIT, sizeof *check->items);
    for (size_t i = 0; order && i < count; i++)
        order[i] = &check->side->findings[i];
    if (order)
        qsort(order, count, sizeof *order, by_amount);
    for (size_t r = 0; order && check->items && r < check->results_count; r++) {
        const struct check_result *result = &check->results[r];
        if (result->state != CHECK_EXCEEDED)
            continue;
        size_t added = result->limit->growth ? add_growth(check, result) : 0;
        for (size_t i = 0; i < count && added < ITEMS_OF_A_LIMIT && !result->limit->growth; i++)
            added += add_item(check, result, order[i], NULL);
    }
    free(order);
    return order && check->items;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool below_root(const char *root, const char *file)
{
    size_t bytes = root ? strlen(root) : 0;
    return bytes && strncmp(file, root, bytes) == 0 && file[bytes] == '/';
}

static void consider(const struct check *check, const struct profile *profile,
                     const struct profile_frame *frame, struct check_place *place)
{
    const char *root = check->options->root;
    bool below = frame->file && below_root(root, frame->file);
    bool own = !own_is_system(frame->function, frame->file,
                              frame->module ? profile->modules[frame->module].path : NULL);
    /* Repeatable builds make compilers write relative paths (-ffile-prefix-map). */
    bool relative =
        below || (frame->file && root && frame->file[0] != '/' && access(frame->file, F_OK) == 0);
    if (!frame->file || !frame->line || place->relative ||
        (place->file && !relative && (place->own || !own)))
        return;
    place->file = below ? frame->file + strlen(root) + 1 : frame->file;
    place->line = frame->line;
    place->relative = relative;
    place->own = own;
    if (frame->function)
        place->function = frame->function;
}

void check_find_place(const struct check *check, const struct check_item *item, unsigned context,
                      struct check_place *place)
{
    const struct profile *profile = item->side->profile;
    struct diff_ends ends;
    *place = (struct check_place){.function = "an unknown function"};
    if (!diff_ends_of(item->side, item->finding, &ends)) {
        struct diff_subject subject;
        diff_subject_of(item->side, item->finding, &subject);
        const struct profile_frame frame = {
            .function = subject.function, .file = subject.file, .line = subject.line};
        place->function = frame.function ? frame.function : place->function;
        consider(check, profile, &frame, place);
        return;
    }
    const struct profile_frame *leaf =
        &profile->frames[profile->contexts[ends.contexts[context]].frame];
    if (leaf->function)
        place->function = leaf->function;
    for (uint32_t at = ends.contexts[context]; at; at = profile->contexts[at].parent)
        consider(check, profile, &profile->frames[profile->contexts[at].frame], place);
}

struct advice check_advice(const struct check_item *item, struct source_cache *sources)
{
    const struct diff_part *part = diff_part_of(item->side, item->finding->kind);
    if (part->compare->advice && item->finding->row != DIFF_ALL)
        return part->compare->advice(item->side, part, item->finding, sources);
    return (struct advice){.evidence = ADVICE_EXACT};
}

void check_amount(const struct check_item *item, char out[CHECK_SENTENCE_BYTES])
{
    const struct compare_finding *finding = item->finding;
    char amount[48], share[48];
    double whole = item->side->compare.wholes[finding->kind].amount;
    const struct diff_kind *kind = diff_kind_of(item->side, finding->kind);
    enum diff_unit unit = kind->unit;
    diff_number(unit, finding->amount * (unit == DIFF_SECONDS ? 1e-9 : 1), false, amount);
    diff_number(DIFF_SHARE, whole > 0 ? finding->amount / whole : 0, false, share);
    snprintf(out, CHECK_SENTENCE_BYTES, "%s: ", kind->heading);
    /* Samples' weights are no amounts of anything. */
    if (item->side->places.exact)
        print_add(out, CHECK_SENTENCE_BYTES, "%s, ", amount);
    print_add(out, CHECK_SENTENCE_BYTES, "%s of %s", share,
              diff_whole_name(item->side, finding->kind));
    if (item->change)
        print_add(out, CHECK_SENTENCE_BYTES, " (%s)", compare_verdict_names[item->change->verdict]);
}

void check_sentence(const struct check *check, const struct check_item *item,
                    char out[CHECK_SENTENCE_BYTES])
{
    const char *const *labels = diff_kind_of(item->side, item->finding->kind)->labels;
    check_amount(item, out);
    for (unsigned i = 0; i < (labels[0] ? 2 : 1); i++) {
        struct check_place place;
        char name[NAME_BYTES], file[256];
        check_find_place(check, item, i, &place);
        name_shorten(place.function, 60, name);
        print_add(out, CHECK_SENTENCE_BYTES, "%s %s%sin %s", i ? "," : ";",
                  labels[i] ? labels[i] : "", labels[i] ? " " : "", name);
        if (!place.file)
            continue;
        name_clean(place.relative ? place.file : name_base(place.file), file, sizeof file);
        print_add(out, CHECK_SENTENCE_BYTES, " (%s:%u)", file, place.line);
    }
}

void check_message(const struct check *check, const struct check_item *item,
                   const struct advice *advice, char out[CHECK_MESSAGE_BYTES])
{
    char sentence[CHECK_SENTENCE_BYTES];
    check_sentence(check, item, sentence);
    snprintf(out, CHECK_MESSAGE_BYTES, advice->id ? "%s. %s" : "%s.", sentence, advice->text);
}

struct source_cache check_sources(const struct check *check)
{
    return (struct source_cache){.enabled = true,
                                 .not_newer_than_ns = check->side->profile->run.start_ns};
}

/* Of growth that of the difference, of a percentage in points. */
const char *check_interval(const struct check_result *result, char out[CHECK_INTERVAL_BYTES])
{
    enum diff_unit unit = result->figure.unit;
    char low[48], high[48];
    out[0] = 0;
    if (!(result->excess.high > result->excess.low))
        return out;
    if (!result->limit->growth) {
        diff_number(unit, result->figure.low, false, low);
        diff_number(unit, result->figure.high, false, high);
        /* The unit once. */
        if (unit == DIFF_SHARE && strlen(low) > 2)
            low[strlen(low) - 2] = 0;
        snprintf(out, CHECK_INTERVAL_BYTES, "%s – %s", low, high);
        return out;
    }
    double allowed = result->allowed - result->baseline.value;
    double ends[2] = {result->excess.low + allowed, result->excess.high + allowed};
    if (unit == DIFF_SHARE) {
        snprintf(out, CHECK_INTERVAL_BYTES, "a difference of %+.1f to %+.1f pt", 100 * ends[0],
                 100 * ends[1]);
        return out;
    }
    snprintf(out, CHECK_INTERVAL_BYTES, "a difference of %s to %s",
             diff_number(unit, ends[0], true, low), diff_number(unit, ends[1], true, high));
    return out;
}

void check_limit_sentence(const struct check_result *result, char out[CHECK_SENTENCE_BYTES])
{
    char value[48], allowed[48], baseline[48], interval[CHECK_INTERVAL_BYTES];
    enum diff_unit unit = result->figure.unit;
    bool undecided = result->state == CHECK_UNDECIDED;
    diff_number(unit, result->figure.value, false, value);
    diff_number(unit, result->allowed, false, allowed);
    snprintf(out, CHECK_SENTENCE_BYTES, "%s is %s, %smore than %s", result->figure.name, value,
             undecided ? "and the samples do not decide whether that is " : "", allowed);
    if (undecided)
        print_add(out, CHECK_SENTENCE_BYTES, ": %s", check_interval(result, interval));
    if (result->limit->growth)
        print_add(out, CHECK_SENTENCE_BYTES, " (baseline %s, limit %s)",
                  diff_number(unit, result->baseline.value, false, baseline), result->limit->text);
}

const char *check_result_level(const struct check *check, const struct check_result *result)
{
    const struct check_options *options = check->options;
    if (result->state == CHECK_EXCEEDED)
        return options->warn_only ? "warning" : "error";
    if (result->state != CHECK_UNDECIDED || options->undecided == CHECK_UNDECIDED_PASSES)
        return NULL;
    return options->warn_only || options->undecided == CHECK_UNDECIDED_WARNS ? "warning" : "error";
}

/* ---- remarks --------------------------------------------------------------------------------- */

const char *const check_of[2] = {"baseline: ", ""};

const struct profile *check_profile_of(const struct check *check, unsigned which)
{
    if (which == 1)
        return check->side->profile;
    return check->has_baseline ? check->diff.sides[0].profile : NULL;
}

static const char *program_of(const struct profile *profile)
{
    const char *exe = profile->processes_count ? profile->processes[0].exe : NULL;
    return exe ? name_base(exe) : NULL;
}

/* What narrows its intervals: not every verb has --exact. */
static const char *remedy(const struct check *check)
{
    const struct diff_side *side = check->side;
    for (size_t i = 0; i < side->parts_count; i++)
        if (side->parts[i].analysis->samples &&
            strcmp(side->parts[i].analysis->name, side->profile->run.verb) == 0)
            return "record longer, or record every access (--exact)";
    return "record longer";
}

/* The interval of very few samples may still decide. */
static bool few_remark(const struct check *check, unsigned *index, char out[CHECK_SENTENCE_BYTES])
{
    for (size_t i = 0; i < check->results_count; i++) {
        const struct check_result *result = &check->results[i];
        bool few[2] = {check->has_baseline && result->limit->growth && result->baseline.few,
                       result->figure.few};
        if ((!few[0] && !few[1]) || (*index)-- > 0)
            continue;
        snprintf(out, CHECK_SENTENCE_BYTES, "%s rests on too few samples%s: %s.",
                 result->figure.name, few[1] ? "" : " in the baseline", remedy(check));
        return true;
    }
    return false;
}

/* How the samples would decide. */
static bool undecided_remark(const struct check *check, unsigned *index,
                             char out[CHECK_SENTENCE_BYTES])
{
    if (!check->undecided || (*index)-- > 0)
        return false;
    snprintf(out, CHECK_SENTENCE_BYTES,
             "Undecided limits lie within the interval of the estimate: %s.", remedy(check));
    return true;
}

/* Exact, and yet an estimate. */
static bool sample_remark(const struct check *check, unsigned *index,
                          char out[CHECK_SENTENCE_BYTES])
{
    for (unsigned i = 0; i < 2; i++) {
        const struct profile *profile = check_profile_of(check, i);
        if (!profile || !profile->waste_samples_count || (*index)-- > 0)
            continue;
        snprintf(out, CHECK_SENTENCE_BYTES,
                 "The %s was counted at %.3g %% of all locations (--sample-locations).",
                 i ? "profile" : "baseline", 100 * profile->waste_samples[0].share);
        return true;
    }
    return false;
}

/* Builds are distinguished by their names at times, and versions agree on most things: neither is an
   error, but who compares by mistake should see it. */
bool check_remark(const struct check *check, unsigned index, char out[CHECK_SENTENCE_BYTES])
{
    char names[2][NAME_BYTES];
    if (few_remark(check, &index, out) || undecided_remark(check, &index, out) ||
        sample_remark(check, &index, out))
        return true;
    if (!check->has_baseline)
        return false;
    for (unsigned what = 0; what < 2; what++) {
        const char *texts[2];
        for (unsigned i = 0; i < 2; i++) {
            const struct profile *profile = check_profile_of(check, i);
            texts[i] = what ? profile->run.version : program_of(profile);
            name_clean(texts[i] ? texts[i] : "", names[i], sizeof names[i]);
        }
        if (!texts[0] || !texts[1] || strcmp(names[0], names[1]) == 0 || index-- > 0)
            continue;
        snprintf(out, CHECK_SENTENCE_BYTES,
                 what ? "The baseline was recorded by headroom %s, the profile by %s."
                      : "The baseline is of the program %s, the profile of %s.",
                 names[0], names[1]);
        return true;
    }
    return false;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum base_status make(struct check *check, struct profile *baseline, struct profile *profile,
                             char *error, size_t error_bytes)
{
    const struct check_options *options = check->options;
    struct skipping skipping = {check, profile};
    diff_skip *skipped = options->suppressions && options->suppressions->count ? skip : NULL;
    enum base_status status =
        baseline ? diff_comparable(baseline, profile, error, error_bytes) : BASE_OK;
    if (status != BASE_OK)
        return status;
    check->has_baseline = baseline != NULL;
    check->side = baseline ? &check->diff.sides[1] : &check->alone;
    status = baseline
                 ? diff_make(baseline, profile, options->by, options->level, skipped, &skipping,
                             &check->diff)
                 : diff_side_make(profile, NULL, options->by, skipped, &skipping, &check->alone);
    for (size_t i = 0; status == BASE_OK && i < options->limits_count; i++)
        status = hold(check, &options->limits[i], error, error_bytes);
    if (status == BASE_OK && !find_items(check))
        status = BASE_NO_MEMORY;
    return status;
}

enum base_status check_make(struct profile *baseline, struct profile *profile,
                            const struct check_options *options, struct check **check, char *error,
                            size_t error_bytes)
{
    struct check *made = calloc(1, sizeof *made);
    if (!made)
        return BASE_NO_MEMORY;
    made->options = options;
    enum base_status status = make(made, baseline, profile, error, error_bytes);
    if (status == BASE_OK)
        *check = made;
    else
        check_free(made);
    return status;
}

void check_free(struct check *check)
{
    if (!check)
        return;
    diff_free(&check->diff);
    if (check->alone.profile)
        diff_side_free(&check->alone);
    free(check->items);
    free(check);
}

size_t check_exceeded(const struct check *check)
{
    return check->exceeded;
}

size_t check_undecided(const struct check *check)
{
    return check->undecided;
}
