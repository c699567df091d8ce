// SPDX-License-Identifier: MIT
#include "gain/gain.h"

#include "analysis/analysis.h"
#include "util/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tick shows the instruction that is waited for, or the next one: what lies that many bytes
   behind a wasted access counts as its. */
enum { SKID_BYTES = 15 };

/* An instruction that makes wasted accesses. */
struct access {
    uint32_t module;
    uint32_t line; /* that it is of; 0: the system's code, or several */
    uint64_t address;
    bool sure; /* some of them count towards the lower end */
};

/* Sorted once all are there. */
struct accesses {
    struct access *items;
    size_t count, capacity;
};

struct gain_sink {
    struct gain_list *list;
    struct accesses wasted, waiting;
};

/* CPU time that ticks stand for, with what its interval needs. */
struct ticks {
    double ns;
    double wasted_ns;  /* of ns: at wasted accesses */
    double sure_ns;    /* of these: at those that count towards the lower end */
    double waiting_ns; /* of ns: at accesses that wait for lost data */
    uint64_t ticks;
    bool found; /* anything, there */
};

struct work {
    const struct places *places;
    struct gain_list *list;
    struct ticks *lines;   /* by line */
    uint32_t *loop_of;     /* by frame; 0: none */
    uint32_t *function_of; /* by frame: the number of its function, from 1 */
    double
        *around[2][2]; /* time_around of loops and of functions, by [spreads]; < 0: not known yet */
    bool *passing;     /* by context, for one question */
    bool *waiting;     /* by row of times: at what waits for data that caches have lost */
    double ns, squares; /* of all ticks */
};

/* The line that an innermost frame is of; 0: the system's code, or not known. */
static uint32_t line_at(const struct gain_list *list, uint32_t context)
{
    uint32_t place = list->places->place_of[context];
    return list->places->own[place] == place ? list->lines.of_place[place] : 0;
}

/* ---- symptoms --------------------------------------------------------------------------------- */

const char *gain_keep(struct gain_sink *sink, const char *text, bool *good)
{
    struct gain_list *list = sink->list;
    char *copy = text ? strdup(text) : NULL;
    if (!text)
        return NULL;
    if (!copy || !UTIL_PUSH(list->texts, list->texts_count, list->texts_capacity, copy)) {
        free(copy);
        *good = false;
        return NULL;
    }
    return copy;
}

bool gain_add(struct gain_sink *sink, const struct gain_symptom *symptom)
{
    struct gain_list *list = sink->list;
    struct gain_symptom added = *symptom;
    added.order = list->symptoms_count;
    return symptom->line == 0 ||
           UTIL_PUSH(list->symptoms, list->symptoms_count, list->symptoms_capacity, added);
}

static bool add_access(const struct gain_sink *sink, struct accesses *to, uint32_t context,
                       bool sure)
{
    const struct places *places = sink->list->places;
    const struct profile_frame *frame =
        &places->profile->frames[places->profile->contexts[context].frame];
    struct access access = {.module = frame->module,
                            .line = line_at(sink->list, context),
                            .address = frame->address,
                            .sure = sure};
    return context == 0 || UTIL_PUSH(to->items, to->count, to->capacity, access);
}

bool gain_add_access(struct gain_sink *sink, uint32_t context, bool sure)
{
    return add_access(sink, &sink->wasted, context, sure);
}

bool gain_add_wait(struct gain_sink *sink, uint32_t context)
{
    return add_access(sink, &sink->waiting, context, false);
}

static int compare_accesses(const void *left, const void *right)
{
    const struct access *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* Sorted, each instruction once. */
static void sort_accesses(struct accesses *accesses)
{
    size_t kept = 0;
    if (accesses->count)
        qsort(accesses->items, accesses->count, sizeof *accesses->items, compare_accesses);
    for (size_t i = 0; i < accesses->count; i++) {
        const struct access *access = &accesses->items[i];
        struct access *last = kept ? &accesses->items[kept - 1] : NULL;
        if (last && compare_accesses(last, access) == 0) {
            last->sure = last->sure || access->sure;
            last->line = last->line == access->line ? last->line : 0;
        } else {
            accesses->items[kept++] = *access;
        }
    }
    accesses->count = kept;
}

/* That instruction, or one close ahead of it; NULL: none is. */
static const struct access *access_at(const struct accesses *accesses,
                                      const struct profile_frame *frame)
{
    struct access wanted = {.module = frame->module, .address = frame->address};
    size_t after =
        BASE_FIRST(i, accesses->count, compare_accesses(&accesses->items[i], &wanted) > 0);
    if (after == 0)
        return NULL;
    const struct access *access = &accesses->items[after - 1];
    bool close = access->module == wanted.module && wanted.address - access->address <= SKID_BYTES;
    return close ? access : NULL;
}

/* Shares that are about the same have one class. What threads spend most of their time for comes first: what else the line does matters
   little then. What is only known to be repeated comes behind what says why it is
   far apart. */
static int share_class(const struct gain_symptom *symptom)
{
    enum { GENERAL_MOST = 2, SPECIFIC = 3, FOREMOST = 5 };
    static const double most = 0.5;
    int class = (int)(symptom->waste.share * 4);
    if (symptom->moves && symptom->stall.direct >= most)
        return FOREMOST;
    if (symptom->general)
        return class < GENERAL_MOST ? class : GENERAL_MOST;
    return (symptom->waits || symptom->moves || symptom->sure) && class == GENERAL_MOST ? SPECIFIC
                                                                                        : class;
}

/* Of a line: much waste first; of about as much, in the order in which the verbs gave it. */
static int compare_symptoms(const void *left, const void *right)
{
    const struct gain_symptom *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->weak != b->weak)
        return a->weak ? 1 : -1;
    if (a->whole != b->whole)
        return a->whole ? -1 : 1;
    if (a->part != b->part)
        return a->part > b->part ? -1 : 1;
    if (share_class(a) != share_class(b))
        return share_class(a) > share_class(b) ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static bool collect(const struct work *work, struct source_cache *sources, struct gain_sink *sink)
{
    struct gain_list *list = work->list;
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->gain && (*at)->gain->symptoms &&
            !(*at)->gain->symptoms(work->places, &list->lines, sources, sink))
            return false;
    if (list->symptoms_count)
        qsort(list->symptoms, list->symptoms_count, sizeof *list->symptoms, compare_symptoms);
    sort_accesses(&sink->wasted);
    sort_accesses(&sink->waiting);
    return true;
}

/* ---- time ------------------------------------------------------------------------------------- */

/* Lines at which anything was found that could go. */
static void mark_found(struct work *work)
{
    for (size_t i = 0; i < work->list->symptoms_count; i++)
        if (work->list->symptoms[i].part > GAIN_INHERENT)
            work->lines[work->list->symptoms[i].line].found = true;
}

/* A tick is its innermost own line's or, where nothing was found at that, that of the access which it waits for. */
static uint32_t line_of_tick(const struct work *work, uint32_t context, const struct access *access,
                             const struct access *waits)
{
    uint32_t line = work->list->lines.of_place[work->places->place_of[context]];
    const struct access *ahead = waits && waits->line ? waits : access;
    if (!ahead || !ahead->line || work->lines[line].found || !line_at(work->list, context))
        return line;
    return ahead->line;
}

static void add_times(struct work *work, const struct gain_sink *sink)
{
    const struct profile *profile = work->places->profile;
    mark_found(work);
    for (size_t i = 0; i < profile->times_count; i++) {
        const struct profile_time *time = &profile->times[i];
        const struct profile_frame *frame =
            &profile->frames[profile->contexts[time->context].frame];
        const struct access *access = time->context ? access_at(&sink->wasted, frame) : NULL;
        const struct access *waits = time->context ? access_at(&sink->waiting, frame) : NULL;
        struct ticks *line = &work->lines[line_of_tick(work, time->context, access, waits)];
        double ns = (double)time->ns;
        work->ns += ns;
        work->squares += time->ticks ? ns * ns / (double)time->ticks : 0;
        line->ns += ns;
        line->ticks += time->ticks;
        line->wasted_ns += access ? ns : 0;
        line->sure_ns += access && access->sure ? ns : 0;
        line->waiting_ns += waits ? ns : 0;
        work->waiting[i] = waits != NULL;
    }
}

/* Is `loop` that one, or inside it? */
static bool is_in_loop(const struct profile *profile, uint32_t loop, uint32_t around)
{
    while (loop > around)
        loop = profile->loops[loop].parent;
    return loop == around;
}

/* Marks the contexts whose stacks pass through the loop or, without one, through the function. Parents precede children. */
static void mark_passing(const struct work *work, uint32_t loop, uint32_t function)
{
    const struct profile *profile = work->places->profile;
    work->passing[0] = false;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        const struct profile_context *context = &profile->contexts[i];
        uint32_t inner = work->loop_of[context->frame];
        bool here = loop ? inner && is_in_loop(profile, inner, loop)
                         : work->function_of[context->frame] == function;
        work->passing[i] = here || work->passing[context->parent];
    }
}

/* spreads: and in what waits for data elsewhere. Many findings lie in one loop or function: each is asked for once. */
static double time_around(const struct work *work, uint32_t frame, bool spreads)
{
    const struct profile *profile = work->places->profile;
    uint32_t loop = work->loop_of[frame], function = work->function_of[frame];
    double *known = loop ? &work->around[spreads][0][loop] : &work->around[spreads][1][function];
    if (*known >= 0)
        return *known;
    double ns = 0;
    mark_passing(work, loop, function);
    for (size_t i = 0; i < profile->times_count; i++)
        if ((spreads && work->waiting[i]) || work->passing[profile->times[i].context])
            ns += (double)profile->times[i].ns;
    return *known = ns;
}

/* The innermost frame in own code: several of one line may lie in different loops. */
static uint32_t own_frame(const struct places *places, uint32_t context)
{
    uint32_t own = places->own[places->place_of[context]];
    while (context && places->place_of[context] != own)
        context = places->profile->contexts[context].parent;
    return places->profile->contexts[context].frame;
}

/* Does it lose its own data from the caches? Then it goes over more than they hold, and pushes out what others use. */
static bool spreads_to_others(const struct gain_finding *finding)
{
    for (size_t i = 0; i < finding->count; i++)
        if (finding->symptoms[i].waits && !finding->symptoms[i].weak)
            return true;
    return false;
}

/* By accesses to memory, and no other time than theirs can be gained. */
static bool is_moved(const struct gain_symptom *symptom)
{
    return symptom->moves && symptom->stall.high < 1;
}

/* The most that there is around any of the accesses that the finding is about. */
static double ceiling_of(const struct work *work, const struct gain_finding *finding)
{
    const struct places *places = work->places;
    bool spreads = spreads_to_others(finding);
    double most = 0;
    for (size_t i = 0; i < finding->count; i++) {
        const struct gain_symptom *symptom = &finding->symptoms[i];
        if ((symptom->whole || is_moved(symptom)) && !symptom->weak)
            most = fmax(most, symptom->stall.high * work->ns);
        const uint32_t ends[] = {symptom->first, symptom->second};
        for (unsigned end = 0; end < BASE_COUNT(ends) && !symptom->weak && !is_moved(symptom);
             end++)
            if (work->list->lines.of_place[places->place_of[ends[end]]] == finding->line)
                most = fmax(most, time_around(work, own_frame(places, ends[end]), spreads));
    }
    return most / work->ns;
}

/* ---- findings --------------------------------------------------------------------------------- */

/* What removing all that was found of a kind may save, shares of the CPU time in user mode; low: of the interval. What was found
   divides the line's waste, and each part of it is saved in its own way. */
static struct gain_stall waste_saving(const struct work *work, const struct gain_finding *finding,
                                      const struct gain_symptom *symptom)
{
    const struct ticks *line = &work->lines[finding->line];
    struct profile_share all = profile_share(line->ns, work->ns, work->squares);
    struct profile_share wasted = profile_share(line->wasted_ns, work->ns, work->squares);
    const struct profile_share *waste = &symptom->waste;
    struct gain_stall saves = {.high = all.high * waste->high};
    for (size_t i = 0; i < finding->count; i++) {
        const struct gain_symptom *other = &finding->symptoms[i];
        if (strcmp(other->kind, symptom->kind) != 0)
            continue;
        const struct profile_share *time = other->part == GAIN_ACCESS ? &wasted : &all;
        double part = time->share * waste->share * other->fraction * other->part;
        saves.direct += part;
        saves.needed += other->part <= GAIN_INHERENT ? part : 0;
        saves.low += time->low * waste->low * other->fraction * other->part;
    }
    return saves;
}

/* A loop takes as long as its arithmetic or as its stream of lines does, whichever is longer. What streams take is known within a factor
   of two: where it is less than half of the time at the line, they are hidden. */
static double beyond_streams(const struct gain_stall *stall, double time)
{
    return 2 * stall->streams < time ? stall->direct - stall->streams : stall->direct;
}

/* The time at what waits, at most; `stall` is of all that the line waits for, each symptom a part of it. */
static struct gain_stall wait_saving(const struct work *work, const struct gain_finding *finding,
                                     const struct gain_symptom *symptom)
{
    const struct ticks *line = &work->lines[finding->line];
    struct profile_share waiting = profile_share(line->waiting_ns, work->ns, work->squares);
    const struct gain_stall *stall = &symptom->stall;
    double direct = fmin(beyond_streams(stall, line->ns / work->ns), waiting.share);
    double part = 0, needed = 0;
    for (size_t i = 0; i < finding->count; i++) {
        const struct gain_symptom *other = &finding->symptoms[i];
        double of = other->waits ? other->fraction * other->part : 0;
        part += of;
        needed += other->part <= GAIN_INHERENT ? of : 0;
    }
    return (struct gain_stall){.direct = direct * part,
                               .needed = direct * needed,
                               .low = fmin(direct, fmin(stall->low, waiting.low)) * part,
                               .high = fmin(stall->high, waiting.high)};
}

/* From nothing to all of the line's time, or what accesses to the memory take of it: by how much a transfer is hidden nobody has seen. */
static struct gain_stall move_saving(const struct work *work, const struct gain_finding *finding,
                                     const struct gain_symptom *symptom)
{
    const struct ticks *line = &work->lines[finding->line];
    struct profile_share time = profile_share(line->ns, work->ns, work->squares);
    return (struct gain_stall){.direct = fmin(symptom->stall.direct, time.share) * symptom->part,
                               .high = fmin(symptom->stall.high, time.high)};
}

static struct gain_stall saving(const struct work *work, const struct gain_finding *finding,
                                size_t index)
{
    const struct gain_symptom *symptom = &finding->symptoms[index];
    if (symptom->whole)
        return symptom->stall;
    return (symptom->moves   ? move_saving
            : symptom->waits ? wait_saving
                             : waste_saving)(work, finding, symptom);
}

/* What saves most of those that are not weak, if there are any. */
static size_t find_most(const struct work *work, const struct gain_finding *finding)
{
    size_t most = 0;
    for (size_t i = 1; i < finding->count; i++)
        if (!finding->symptoms[i].weak &&
            saving(work, finding, i).direct > saving(work, finding, most).direct)
            most = i;
    return most;
}

/* How much of what is wasted of that kind at the line could be left out for sure, 0..1. */
static double sure_fraction(const struct gain_finding *finding, const char *kind)
{
    double sum = 0;
    for (size_t i = 0; i < finding->count; i++) {
        const struct gain_symptom *symptom = &finding->symptoms[i];
        if (symptom->sure && !symptom->weak && symptom->part > GAIN_INHERENT &&
            strcmp(symptom->kind, kind) == 0)
            sum += symptom->fraction;
    }
    return fmin(1, sum);
}

/* What counts towards the finding's lower end: of waste the largest lower end of a share that is sure, of waits what the
   machine cannot hide; nothing of what is next to never saved. */
static double find_least(const struct work *work, const struct gain_finding *finding)
{
    const struct ticks *line = &work->lines[finding->line];
    struct profile_share sure = profile_share(line->sure_ns, work->ns, work->squares);
    double least = 0;
    for (size_t i = 0; i < finding->count; i++) {
        const struct gain_symptom *symptom = &finding->symptoms[i];
        if (symptom->weak || symptom->part <= GAIN_INHERENT)
            continue;
        least = fmax(least, symptom->waits || symptom->whole
                                ? saving(work, finding, i).low
                                : GAIN_SURE * sure.low * symptom->waste.low *
                                      sure_fraction(finding, symptom->kind));
    }
    return least;
}

static void estimate(const struct work *work, struct gain_finding *finding)
{
    const struct ticks *line = &work->lines[finding->line];
    double user = work->list->user;
    size_t most = find_most(work, finding);
    bool known = work->ns > 0 && finding->symptoms[most].waste.known;
    finding->ticks = line->ticks;
    finding->weak = finding->symptoms[0].weak || line->ticks == 0 || !known;
    if (!known)
        return;
    struct gain_stall saves = saving(work, finding, most);
    finding->direct = user * saves.direct;
    finding->needed = user * saves.needed;
    finding->low = fmin(finding->direct, user * find_least(work, finding));
    finding->direct_low = user * saves.low;
    finding->direct_high = user * fmax(saves.high, saves.direct);
    if (finding->weak)
        return;
    finding->ceiling = fmax(finding->direct, user * ceiling_of(work, finding));
}

/* What is next to never saved does not lead by being much. */
static double middle(const struct gain_finding *finding)
{
    return (finding->low + finding->direct - finding->needed) / 2;
}

static int compare_findings(const void *left, const void *right)
{
    const struct gain_finding *a = left, *b = right;
    if (a->weak != b->weak)
        return a->weak ? 1 : -1;
    if (a->together != b->together)
        return a->together > b->together ? -1 : 1;
    if (a->cause != b->cause)
        return a->cause < b->cause ? -1 : 1;
    if (middle(a) != middle(b))
        return middle(a) > middle(b) ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* ---- several lines of one cause ---- */

struct cause {
    const struct gain_finding *first; /* of those that have it */
    double middle;                    /* sum */
};

struct cause_key {
    const struct gain_list *list;
    const struct gain_finding *finding;
};

static const struct profile_frame *frame_at(const struct gain_list *list,
                                            const struct gain_finding *finding)
{
    return &list->places->profile->frames[list->lines.frames[finding->line]];
}

static bool equal_cause(const void *items, uint32_t item, const void *context)
{
    const struct cause_key *key = context;
    const struct gain_finding *first = ((const struct cause *)items)[item].first;
    return strcmp(first->symptoms[0].advice.id, key->finding->symptoms[0].advice.id) == 0 &&
           place_same_function(frame_at(key->list, first), frame_at(key->list, key->finding));
}

/* Lines of one function about which the same can be done are mended together. What has no advice stands for itself. */
static bool is_joined(const struct gain_finding *finding)
{
    return !finding->weak && finding->symptoms[0].advice.id;
}

static bool add_up(const struct gain_list *list, struct cause *causes)
{
    struct util_index index = {0};
    size_t count = 0;
    bool good = true, found;
    for (size_t i = 0; good && i < list->count; i++) {
        struct gain_finding *finding = &list->items[i];
        struct cause_key key = {list, finding};
        uint32_t item = (uint32_t)count;
        uint64_t hash = place_function_hash(frame_at(list, finding));
        found = false;
        if (is_joined(finding))
            good = util_index_enter(&index, hash, equal_cause, causes, &key, (uint32_t)count, &item,
                                    &found);
        if (!found)
            causes[count++].first = finding;
        causes[item].middle += middle(finding);
        finding->cause = item;
    }
    util_index_free(&index);
    return good;
}

/* False: no memory. */
static bool put_together(struct gain_list *list)
{
    struct cause *causes = calloc(list->count + 1, sizeof *causes);
    bool good = causes && add_up(list, causes);
    for (size_t i = 0; good && i < list->count; i++)
        list->items[i].together = causes[list->items[i].cause].middle;
    free(causes);
    return good;
}

/* Symptoms are sorted by line. */
static bool make_findings(const struct work *work)
{
    struct gain_list *list = work->list;
    list->items = calloc(list->symptoms_count + 1, sizeof *list->items);
    if (!list->items)
        return false;
    for (size_t i = 0, next; i < list->symptoms_count; i = next) {
        for (next = i + 1;
             next < list->symptoms_count && list->symptoms[next].line == list->symptoms[i].line;)
            next++;
        struct gain_finding *finding = &list->items[list->count++];
        *finding = (struct gain_finding){
            .line = list->symptoms[i].line, .symptoms = &list->symptoms[i], .count = next - i};
        estimate(work, finding);
        list->strong += !finding->weak;
    }
    if (!put_together(list))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        struct gain_finding *finding = &list->items[i];
        finding->slight = finding->together < GAIN_LEAST;
        list->worth += !finding->weak && !finding->slight;
    }
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_findings);
    return true;
}

double gain_user_share(const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    bool known = run->system_s >= 0 && run->cpu_s > 0 && run->system_s <= run->cpu_s;
    return known ? 1 - run->system_s / run->cpu_s : 1;
}

static bool equal_function(const void *items, uint32_t item, const void *key)
{
    const struct profile_frame *const *functions = items;
    return place_same_function(functions[item], key);
}

/* Numbers the functions of frames; *count: the largest number. False: no memory. */
static bool number_functions(struct work *work, uint32_t *count)
{
    const struct profile *profile = work->places->profile;
    const struct profile_frame **functions = calloc(profile->frames_count + 1, sizeof *functions);
    struct util_index index = {0};
    bool good = functions && work->function_of, found;
    *count = 1;
    for (size_t i = 1; good && i < profile->frames_count; i++) {
        const struct profile_frame *frame = &profile->frames[i];
        good = util_index_enter(&index, place_function_hash(frame), equal_function, functions,
                                frame, *count, &work->function_of[i], &found);
        if (good && !found)
            functions[(*count)++] = frame;
    }
    util_index_free(&index);
    free(functions);
    return good;
}

static bool prepare_around(struct work *work)
{
    const struct profile *profile = work->places->profile;
    uint32_t functions;
    work->function_of = calloc(profile->frames_count + 1, sizeof *work->function_of);
    work->passing = calloc(profile->contexts_count + 1, sizeof *work->passing);
    bool good = number_functions(work, &functions) && work->passing;
    for (unsigned i = 0; good && i < 4; i++) {
        size_t count = i % 2 ? functions : profile->loops_count + 1;
        double *around = work->around[i / 2][i % 2] = malloc((count + 1) * sizeof *around);
        for (size_t j = 0; around && j <= count; j++)
            around[j] = -1;
        good = around != NULL;
    }
    return good;
}

static void end_work(struct work *work)
{
    for (unsigned i = 0; i < 4; i++)
        free(work->around[i / 2][i % 2]);
    free(work->function_of);
    free(work->passing);
    free(work->lines);
    free(work->loop_of);
    free(work->waiting);
}

static bool begin(struct work *work)
{
    const struct profile *profile = work->places->profile;
    if (!gain_lines_make(work->places, &work->list->lines))
        return false;
    work->list->user = gain_user_share(profile);
    work->list->places = work->places;
    work->lines = calloc(work->list->lines.count, sizeof *work->lines);
    work->loop_of = calloc(profile->frames_count + 1, sizeof *work->loop_of);
    for (size_t i = 0; work->loop_of && i < profile->frame_loops_count; i++)
        work->loop_of[profile->frame_loops[i].frame] = profile->frame_loops[i].loop;
    work->waiting = calloc(profile->times_count + 1, sizeof *work->waiting);
    return work->lines && work->loop_of && work->waiting && prepare_around(work);
}

bool gain_make(const struct places *places, struct source_cache *sources, struct gain_list *list)
{
    struct gain_list made = {0};
    struct work work = {.places = places, .list = &made};
    struct gain_sink sink = {.list = &made};
    bool good = begin(&work) && collect(&work, sources, &sink);
    if (good) {
        add_times(&work, &sink);
        good = make_findings(&work);
    }
    end_work(&work);
    free(sink.wasted.items);
    free(sink.waiting.items);
    if (good)
        *list = made;
    else
        gain_free(&made);
    return good;
}

void gain_free(struct gain_list *list)
{
    gain_lines_free(&list->lines);
    free(list->items);
    free(list->symptoms);
    for (size_t i = 0; i < list->texts_count; i++)
        free(list->texts[i]);
    free(list->texts);
}
