// SPDX-License-Identifier: MIT
/* "METRIC=VALUE,METRIC=+N%" as limits. */
#include "compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1024 for K, ...; 0.01 for % and pt; 0: not a suffix. */
static double factor_of(const char *suffix)
{
    static const char units[] = "KMGT";
    if (!*suffix)
        return 1;
    if (strcmp(suffix, "%") == 0 || strcmp(suffix, "pt") == 0)
        return 0.01;
    const char *unit = strchr(units, *suffix);
    if (!unit || (suffix[1] && strcmp(suffix + 1, "iB") != 0))
        return 0;
    return pow(1024, (double)(unit - units) + 1);
}

static bool number_parse(const char *text, double *value, const char **suffix)
{
    char *end;
    if (!(text[0] >= '0' && text[0] <= '9') && text[0] != '.')
        return false; /* strtod takes blanks, signs and words */
    *value = strtod(text, &end);
    *suffix = end;
    double factor = factor_of(end);
    if (end == text || factor <= 0 || strcspn(text, "xXpP") < (size_t)(end - text))
        return false; /* a hexadecimal one */
    *value *= factor;
    return isfinite(*value);
}

bool compare_size_parse(const char *text, uint64_t *bytes)
{
    double value;
    const char *suffix;
    if (!number_parse(text, &value, &suffix) || *suffix == '%' || *suffix == 'p' || value < 1 ||
        value > 0x1p60 || value != floor(value))
        return false;
    *bytes = (uint64_t)value;
    return true;
}

static bool limit_parse(const char *text, struct compare_limit *limit,
                        char error[COMPARE_ERROR_BYTES])
{
    *limit = (struct compare_limit){0};
    snprintf(limit->text, sizeof limit->text, "%s", text);
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !sign[1]) {
        snprintf(error, COMPARE_ERROR_BYTES,
                 "'%s' is not of the form METRIC=VALUE, METRIC=+VALUE, METRIC=+N%% or "
                 "METRIC=+Npt",
                 text);
        return false;
    }
    snprintf(limit->metric, sizeof limit->metric, "%.*s", (int)(sign - text), text);
    limit->growth = sign[1] == '+';
    const char *suffix, *number = sign + 1 + limit->growth;
    if (!number_parse(number, &limit->value, &suffix)) {
        snprintf(error, COMPARE_ERROR_BYTES,
                 "'%s' in '%s' is not a number such as 5%%, 1000, 1.5 or 64K", number, text);
        return false;
    }
    limit->percent = *suffix == '%';
    limit->points = *suffix == 'p';
    if (limit->points && !limit->growth) {
        snprintf(error, COMPARE_ERROR_BYTES,
                 "points are of growth: write '%s=+%s', or '%%' for the largest value allowed",
                 limit->metric, number);
        return false;
    }
    limit->relative = limit->growth && limit->percent;
    return true;
}

bool compare_limits_parse(const char *text, struct compare_limit limits[COMPARE_LIMITS],
                          size_t *count, char error[COMPARE_ERROR_BYTES])
{
    static const char blanks[] = " \t\r\n"; /* lists are often broken over the lines of a file */
    size_t made = 0;
    for (const char *at = text; *at;) {
        char one[COMPARE_TEXT_BYTES];
        at += strspn(at, blanks);
        size_t bytes = strcspn(at, ","), whole = bytes;
        while (bytes && strchr(blanks, at[bytes - 1]))
            bytes--;
        if (bytes >= sizeof one || made == COMPARE_LIMITS) {
            snprintf(error, COMPARE_ERROR_BYTES, "the limits are too long, or more than %d",
                     COMPARE_LIMITS);
            return false;
        }
        memcpy(one, at, bytes);
        one[bytes] = 0;
        if (!limit_parse(one, &limits[made++], error))
            return false;
        at += whole + (at[whole] == ',');
    }
    if (made == 0) {
        snprintf(error, COMPARE_ERROR_BYTES, "there is no limit in it");
        return false;
    }
    *count = made;
    return true;
}

double compare_limit_allows(const struct compare_limit *limit, double baseline)
{
    if (!limit->growth)
        return limit->value;
    return baseline + (limit->relative ? baseline * limit->value : limit->value);
}

struct compare_estimate compare_limit_excess(const struct compare_limit *limit,
                                             const struct compare_estimate *value,
                                             const struct compare_estimate *baseline)
{
    double scale = limit->relative ? 1 + limit->value : 1;
    double excess = value->value - compare_limit_allows(limit, baseline->value);
    double below = value->value - value->low, above = value->high - value->value;
    double base_below = 0, base_above = 0;
    if (limit->growth) {
        base_below = scale * (baseline->value - baseline->low);
        base_above = scale * (baseline->high - baseline->value);
    }
    return (struct compare_estimate){.value = excess,
                                     .low = excess - hypot(below, base_above),
                                     .high = excess + hypot(above, base_below)};
}
