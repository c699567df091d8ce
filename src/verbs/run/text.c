// SPDX-License-Identifier: MIT
/* Where the time goes, in a few words under the head of every live report. */
#include "run/internal.h"

#include <stdlib.h>

/* With fewer ticks shares are guesses; less of a share leads nowhere. */
enum { TICKS_LEAST = 20, FUNCTIONS_SHOWN = 5 };
static const double least_share = 0.02;

static bool begin(const struct printer *printer, void **state)
{
    struct time_profile *time = malloc(sizeof *time);
    if (!time || !time_make(&printer->places, time)) {
        free(time);
        return false;
    }
    *state = time;
    return true;
}

static void end(void *state)
{
    time_free(state);
    free(state);
}

void run_add_functions(struct printer *printer, const struct time_profile *time, const char *before,
                       char *line, size_t bytes)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < time->functions.count && i < FUNCTIONS_SHOWN; i++) {
        const struct time_row *row = &time->functions.items[i];
        double share = time->ns > 0 ? row->own / time->ns : 0;
        if (time->ticks < TICKS_LEAST || share < least_share)
            break;
        print_function(printer, &printer->profile->frames[row->frame], name);
        print_add(line, bytes, "%s%s %.0f %%", i ? ", " : before, name, 100 * share);
    }
}

static void summary(struct printer *printer, const void *state)
{
    char line[TEXT_BYTES * 2] = "";
    run_add_functions(printer, state, "", line, sizeof line);
    if (!line[0])
        return;
    fprintf(printer->out, "\n  %sCPU time%s  ", print_on(printer, BOLD), print_off(printer));
    print_wrap(printer, PLAIN, 12, 12, line);
}

static bool findings(struct printer *printer, void *state)
{
    (void)state;
    return !run_is_own(printer->profile) || printer->options->kinds ||
           run_print_findings(printer, state);
}

const struct analysis_text run_text = {
    .begin = begin, .end = end, .summary = summary, .findings = findings};
