// SPDX-License-Identifier: MIT
/* The table of verbs: whatever goes through it relies on what the headers promise of each entry. */
#include "analysis/analysis.h"
#include "compare/findings.h"
#include "export/samples.h"
#include "view/tree.h"
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void each_verb_is_found_by_its_name(void **state)
{
    assert_non_null(analyses[0]);
    for (const struct analysis *const *at = analyses; *at; at++) {
        assert_non_null((*at)->name);
        assert_ptr_equal(analysis_find((*at)->name), *at);
    }
    assert_null(analysis_find("no such verb"));
    assert_null(analysis_find(""));
}

static void slots_that_are_never_null_are_there(void **state)
{
    for (const struct analysis *const *at = analyses; *at; at++) {
        assert_non_null((*at)->exact_unit);
        assert_non_null((*at)->left);
        assert_non_null((*at)->json);
        assert_non_null((*at)->text);
        const struct analysis_text *text = (*at)->text;
        assert_int_equal(text->begin != NULL, text->end != NULL);
        assert_int_equal(text->is_limited != NULL, text->limits != NULL);
    }
}

static unsigned verbs_of(struct analysis_log log)
{
    unsigned verbs = 0;
    for (const struct analysis *const *at = analyses; *at; at++)
        verbs += (*at)->left(&log);
    return verbs;
}

/* Else a log that was left over would be named by the order of the table. */
static void each_left_log_is_of_one_verb(void **state)
{
    for (unsigned bits = 0; bits < 16; bits++)
        for (uint32_t kinds = 0; kinds < 2 * WIRE_REUSES; kinds++) {
            /* Only the exact engine follows shared lines, and then nothing else. */
            if ((bits & 8) && (!(bits & 1) || kinds || (bits & 4)))
                continue;
            assert_int_equal(verbs_of((struct analysis_log){bits & 1, bits & 2, bits & 4, bits & 8,
                                                            kinds, false}),
                             1);
        }
    assert_int_equal(verbs_of((struct analysis_log){.clones = true}), 1);
}

/* Is there a kind of that name in a verb before `end`, or before number `kind` of its own? */
static bool is_taken(const struct analysis *const *end, uint32_t kind, const char *name)
{
    for (const struct analysis *const *at = analyses; at <= end; at++)
        for (uint32_t i = 0; (*at)->compare && i < (*at)->compare->kinds_count; i++)
            if (strcmp((*at)->compare->kinds[i].name, name) == 0)
                return at < end || i < kind;
    return false;
}

static void check_kind(const struct analysis_compare *compare, const struct diff_kind *kind)
{
    assert_non_null(kind->heading);
    assert_non_null(kind->whole);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(kind->labels[i] != NULL, compare->ends != NULL);
        assert_int_equal(kind->members[i] != NULL, compare->ends != NULL);
    }
}

static void kinds_of_findings_are_whole(void **state)
{
    for (const struct analysis *const *at = analyses; *at; at++) {
        const struct analysis_compare *compare = (*at)->compare;
        if (!compare)
            continue;
        assert_non_null(compare->findings);
        assert_int_equal(compare->begin != NULL, compare->end != NULL);
        assert_int_equal(compare->figure != NULL, compare->figure_hint != NULL);
        assert_true(compare->kinds_count > 0 || compare->figures);
        if (compare->kinds_count)
            assert_int_equal(compare->ends != NULL, compare->subject == NULL);
        for (uint32_t i = 0; i < compare->kinds_count; i++) {
            check_kind(compare, &compare->kinds[i]);
            assert_false(is_taken(at, i, compare->kinds[i].name));
        }
    }
}

static void exports_and_pages_are_whole(void **state)
{
    for (const struct analysis *const *at = analyses; *at; at++) {
        if ((*at)->export) {
            assert_non_null((*at)->export->samples);
            assert_non_null((*at)->export->kinds);
            for (const struct walk_kind *const *kind = (*at)->export->kinds; *kind; kind++)
                assert_true((*kind)->name && (*kind)->finding);
        }
        if ((*at)->view) {
            assert_non_null((*at)->view->tabs);
            assert_int_equal((*at)->view->has_tree != NULL, (*at)->view->tree != NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verb_is_found_by_its_name),
        cmocka_unit_test(slots_that_are_never_null_are_there),
        cmocka_unit_test(each_left_log_is_of_one_verb),
        cmocka_unit_test(kinds_of_findings_are_whole),
        cmocka_unit_test(exports_and_pages_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
