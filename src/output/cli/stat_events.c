// SPDX-License-Identifier: MIT
/* Events: those that are counted beside runs, and the list of all that this machine has, each tried. */
#include "cli/common.h"
#include "cli/stat.h"

#include "show/json.h"

#include <errno.h>
#include <string.h>

/* ---- counted ---------------------------------------------------------------------------------- */

static bool add_named(struct stat_measuring *measuring, const char *name)
{
    struct machine_counter found[2];
    size_t count = machine_counters_named(name, found);
    if (found[0].unknown)
        return stat_fail(measuring, LAUNCH_FAILED,
                         "libpfm4 knows no event '%.90s' of this machine; see 'headroom stat "
                         "--list-events'.",
                         name);
    if (measuring->counters_count + count > MACHINE_COUNTERS_MAX)
        return stat_fail(measuring, LAUNCH_FAILED, "--events takes %d events at most.",
                         MACHINE_COUNTERS_MAX);
    memcpy(measuring->counters + measuring->counters_count, found, count * sizeof *found);
    measuring->counters_count += count;
    return true;
}

static bool add_listed(struct stat_measuring *measuring, const char *list)
{
    while (*list) {
        char name[MACHINE_COUNTER_NAME];
        size_t bytes = strcspn(list, ",");
        if (bytes >= sizeof name - 2)
            return stat_fail(measuring, LAUNCH_FAILED, "--events names an event of %zu letters.",
                             bytes);
        snprintf(name, sizeof name, "%.*s", (int)bytes, list);
        if (bytes && !add_named(measuring, name))
            return false;
        list += bytes + (list[bytes] == ',');
    }
    return true;
}

/* Takes out what is refused; says why, once for each reason. */
static bool drop_refused(struct stat_measuring *measuring)
{
    size_t kept = 0;
    const char *last = NULL;
    for (size_t i = 0; i < measuring->counters_count; i++) {
        const struct machine_counter *counter = &measuring->counters[i];
        const char *why = machine_counter_refusal(counter);
        char sentence[MACHINE_COUNTER_NAME + 256];
        if (!counter->refused) {
            measuring->counters[kept++] = *counter;
            continue;
        }
        if (last && strcmp(last, why) == 0)
            continue;
        last = why;
        snprintf(sentence, sizeof sentence, "events such as %s are not counted: %s", counter->name,
                 why);
        if (!stat_degraded(measuring, sentence))
            return false;
    }
    measuring->counters_count = kept;
    return true;
}

bool stat_events_find(struct stat_measuring *measuring)
{
    const char *list = measuring->own->events;
    if (list && strcmp(list, "none") == 0)
        return true;
    if (!list)
        measuring->counters_count =
            machine_counters_usual(measuring->counters, MACHINE_COUNTERS_MAX);
    else if (!add_listed(measuring, list))
        return false;
    return drop_refused(measuring);
}

/* ---- listed ----------------------------------------------------------------------------------- */

struct listing {
    struct json *json; /* NULL: text */
    char unit[64];     /* of which events were met last */
    char why[128];     /* by which the last ones were refused */
    size_t refused;    /* of these, with that reason */
    char first[MACHINE_COUNTER_NAME];
};

/* Refused ones in a row, for one reason, are one line. */
static void print_refused(struct listing *listing)
{
    if (listing->refused == 1)
        printf("  no   %-40s %s\n", listing->first, listing->why);
    else if (listing->refused)
        printf("  no   %s and %zu more: %s\n", listing->first, listing->refused - 1, listing->why);
    listing->refused = 0;
}

static void list_text(void *context, const char *unit, const struct machine_counter *counter)
{
    struct listing *listing = context;
    const char *why = machine_counter_refusal(counter);
    if (strcmp(listing->unit, unit) != 0) {
        print_refused(listing);
        snprintf(listing->unit, sizeof listing->unit, "%s", unit);
        printf("%s\n", unit);
    }
    if (listing->refused && (!counter->refused || strcmp(why, listing->why) != 0))
        print_refused(listing);
    if (!counter->refused) {
        printf("  yes  %s\n", counter->name);
        return;
    }
    if (!listing->refused) {
        snprintf(listing->first, sizeof listing->first, "%s", counter->name);
        snprintf(listing->why, sizeof listing->why, "%s", why);
    }
    listing->refused++;
}

static void list_json(void *context, const char *unit, const struct machine_counter *counter)
{
    const struct listing *listing = context;
    json_begin_item(listing->json);
    json_text(listing->json, "unit", unit);
    json_text(listing->json, "event", counter->name);
    json_text(listing->json, "mode",
              counter->no_kernel ? "user"
              : counter->no_user ? "kernel"
                                 : "both");
    json_flag(listing->json, "counted", counter->refused == 0);
    json_text(listing->json, "why", counter->refused ? machine_counter_refusal(counter) : NULL);
    json_close(listing->json, '}');
}

int stat_events_list(const struct settings *settings)
{
    struct json json = {.out = stdout};
    struct listing listing = {0};
    if (settings->format == FORMAT_JSON) {
        listing.json = &json;
        json_open(&json, '{');
        json_text(&json, "schema", "headroom-events/1");
        json_begin(&json, "events", '[');
        machine_counters_all(list_json, &listing);
        json_close(&json, ']');
        json_close(&json, '}');
        fputs("\n", stdout);
    } else {
        machine_counters_all(list_text, &listing);
        print_refused(&listing);
        if (!machine_has_counters())
            printf("\nThe kernel has no driver for hardware counters here, as in most virtual "
                   "machines: what "
                   "remains\nare its own events (perf::...), the clock, and what it reports of a "
                   "process that "
                   "has ended.\n");
    }
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    say("cannot write to standard output: %s.", strerror(errno));
    return LAUNCH_FAILED;
}
