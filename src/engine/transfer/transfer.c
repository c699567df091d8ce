// SPDX-License-Identifier: MIT
/*
 * Lines and the intervals in which threads touch them. The work is in transfer_access, for every access of a program with
 * several threads: mostly the thread that touched the line last touches it again, at a place that is known.
 */
#include "transfer/internal.h"

#include <string.h>

size_t transfer_bytes(void)
{
    return sizeof(struct transfer);
}

enum base_status transfer_init(struct transfer *transfer, const struct transfer_options *options,
                               const struct transfer_memory *memory)
{
    *transfer = (struct transfer){.options = *options, .memory = *memory};
    transfer->lines_limit = options->address_limit >> TRANSFER_LINE_SHIFT;
    transfer->lines = transfer_map(transfer, transfer->lines_limit, sizeof *transfer->lines);
    transfer->cells = transfer_map(transfer, options->most_cells + 1ULL, sizeof *transfer->cells);
    transfer->cells_used = transfer->hand = 1;
    if (transfer->lines && transfer->cells && transfer_results_init(transfer) == BASE_OK)
        return BASE_OK;
    transfer_free(transfer);
    return BASE_NO_MEMORY;
}

void transfer_free(struct transfer *transfer)
{
    transfer_unmap(transfer, transfer->lines, transfer->lines_limit, sizeof *transfer->lines);
    transfer_unmap(transfer, transfer->cells, transfer->options.most_cells + 1ULL,
                   sizeof *transfer->cells);
    transfer_results_free(transfer);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void free_cell(struct transfer *transfer, uint32_t number)
{
    transfer->cells[number].kind = CELL_FREE;
    transfer->cells[number].next = transfer->free_cell;
    transfer->free_cell = number;
    transfer->free_count++;
}

static void free_interval(struct transfer *transfer, uint32_t number)
{
    for (uint32_t at = transfer->cells[number].u.interval.more, next; at; at = next) {
        next = transfer->cells[at].next;
        free_cell(transfer, at);
    }
    free_cell(transfer, number);
}

static void free_line(struct transfer *transfer, uint32_t number)
{
    struct cell *line = &transfer->cells[number];
    for (uint32_t at = line->next, next; at; at = next) {
        next = transfer->cells[at].next;
        free_interval(transfer, at);
    }
    transfer->lines[line->u.line.line] = 0;
    free_cell(transfer, number);
}

/*
 * When cells run short, a hand goes round and takes lines: those of one thread, whose history matters only
 * if another one comes that is far behind; in the second half of a round any.
 */
static void evict(struct transfer *transfer)
{
    uint32_t wanted = transfer->options.most_cells / 16 + 8, freed = 0;
    for (uint32_t steps = 0; steps < 2 * transfer->cells_used && freed < wanted; steps++) {
        uint32_t at = transfer->hand;
        struct cell *cell = &transfer->cells[at];
        transfer->hand = at + 1 < transfer->cells_used ? at + 1 : 1;
        bool any = steps >= transfer->cells_used;
        if (cell->kind != CELL_LINE || (cell->u.line.several && !any))
            continue;
        if (cell->u.line.several)
            transfer->totals.early++;
        else
            transfer->totals.evicted++;
        transfer_fold(transfer, cell, UINT64_MAX);
        freed += cell->u.line.count + 1;
        free_line(transfer, at);
    }
}

/* A zeroed cell; 0: there is none. */
static uint32_t take_cell(struct transfer *transfer, enum cell_kind kind)
{
    uint32_t number = transfer->free_cell;
    if (number) {
        transfer->free_cell = transfer->cells[number].next;
        transfer->free_count--;
    }
    if (!number && transfer->cells_used <= transfer->options.most_cells)
        number = transfer->cells_used++;
    if (!number)
        return 0;
    memset(&transfer->cells[number], 0, sizeof transfer->cells[number]);
    transfer->cells[number].kind = (uint8_t)kind;
    return number;
}

/* So many that one access finds what it needs: a line, an interval, a further cell. */
static void keep_cells(struct transfer *transfer)
{
    enum { NEEDED = 8 };
    uint32_t unused = transfer->options.most_cells + 1 - transfer->cells_used;
    if (transfer->free_count + unused < NEEDED)
        evict(transfer);
}

/* ---- intervals of a line that become many -------------------------------------------------------- */

static void add_accessor(struct transfer *transfer, struct cell *line, struct cell *interval,
                         const struct accessor *added);

/* Later in time, the same thread, no wait in between? */
static bool follows(const struct cell *earlier, const struct cell *later, uint64_t gap)
{
    return earlier->thread == later->thread && later->u.interval.start >= earlier->u.interval.end &&
           later->u.interval.start - earlier->u.interval.end <= gap &&
           transfer_then(later->u.interval.start, later->u.interval.after) <=
               earlier->u.interval.start;
}

static void absorb(struct transfer *transfer, struct cell *line, struct cell *earlier,
                   struct cell *later)
{
    const struct accessor *accessor;
    for (unsigned i = 0; (accessor = accessor_of(transfer, earlier, i)); i++)
        add_accessor(transfer, line, later, accessor);
    later->u.interval.start = earlier->u.interval.start;
    later->u.interval.after = earlier->u.interval.after;
    later->u.interval.awake = earlier->u.interval.awake;
}

/* Joins what is no further apart than the line's gap, which has grown. */
static void coarsen(struct transfer *transfer, struct cell *line)
{
    line->u.line.gap *= 4;
    transfer->totals.coarsened++;
    for (uint32_t at = line->next; at; at = transfer->cells[at].next) {
        struct cell *later = &transfer->cells[at];
        uint32_t *link = &later->next;
        while (*link) {
            uint32_t number = *link;
            struct cell *earlier = &transfer->cells[number];
            if (!follows(earlier, later, line->u.line.gap)) {
                link = &earlier->next;
                continue;
            }
            absorb(transfer, line, earlier, later);
            *link = earlier->next;
            free_interval(transfer, number);
            line->u.line.count--;
        }
    }
}

/* How far every thread of the line has come there. */
static uint64_t horizon(const struct transfer *transfer, const struct cell *line)
{
    uint64_t until = UINT64_MAX;
    for (uint32_t at = line->next; at; at = transfer->cells[at].next) {
        const struct cell *interval = &transfer->cells[at];
        uint64_t latest = 0;
        for (uint32_t other = line->next; other; other = transfer->cells[other].next) {
            const struct cell *same = &transfer->cells[other];
            if (same->thread == interval->thread && same->u.interval.start > latest)
                latest = same->u.interval.start;
        }
        until = latest < until ? latest : until;
    }
    return until;
}

static void scale(struct transfer *transfer, struct cell *interval, double share)
{
    struct accessor *accessor;
    for (unsigned i = 0; (accessor = accessor_of(transfer, interval, i)); i++) {
        uint32_t count = (uint32_t)(accessor->count * share);
        accessor->count = count ? count : 1;
    }
}

/* What was settled before `until` goes; of an interval that reaches beyond, the rest stays. */
static void drop_before(struct transfer *transfer, struct cell *line, uint64_t until)
{
    uint32_t *link = &line->next;
    while (*link) {
        uint32_t number = *link;
        struct cell *interval = &transfer->cells[number];
        uint64_t start = interval->u.interval.start, end = interval->u.interval.end + 1;
        if (end <= until) {
            *link = interval->next;
            free_interval(transfer, number);
            line->u.line.count--;
            continue;
        }
        link = &interval->next;
        if (start >= until)
            continue;
        scale(transfer, interval, (double)(end - until) / (double)(end - start));
        interval->u.interval.after =
            transfer_ago(until, transfer_then(start, interval->u.interval.after));
        interval->u.interval.awake =
            transfer_ago(until, transfer_then(start, interval->u.interval.awake));
        interval->u.interval.start = until;
    }
}

/* Where waits keep intervals apart a larger gap only makes those that are to come less exact. */
static void coarsen_enough(struct transfer *transfer, struct cell *line)
{
    uint64_t gap = line->u.line.gap;
    while (line->u.line.gap < FAR && line->u.line.count > LINE_INTERVALS / 4 * 3)
        coarsen(transfer, line);
    line->u.line.parted = line->u.line.count > LINE_INTERVALS / 4 * 3;
    if (line->u.line.parted)
        line->u.line.gap = gap;
}

static void make_room(struct transfer *transfer, struct cell *line)
{
    if (!line->u.line.parted)
        coarsen_enough(transfer, line);
    if (line->u.line.count <= LINE_INTERVALS / 4 * 3)
        return;
    uint64_t until = horizon(transfer, line);
    transfer_fold(transfer, line, until);
    drop_before(transfer, line, until);
    if (line->u.line.count <= LINE_INTERVALS / 4 * 3)
        return;
    transfer->totals.early += line->u.line.several;
    transfer_fold(transfer, line, UINT64_MAX);
    drop_before(transfer, line, UINT64_MAX);
}

/* ---- an access ------------------------------------------------------------------------------- */

/* What one pass over an interval's accessors finds for another one. */
struct search {
    struct accessor *equal; /* the same */
    /* Of equal kind: */
    struct accessor *same_mask; /* equal but for its place, the lightest of such */
    struct accessor *placeless; /* equal but of place 0 */
    struct accessor *lightest;
    struct accessor *empty; /* behind the last, in a cell that there is */
    uint32_t *link;         /* where a further cell goes, if all that there are are full */
    unsigned count;
};

/* False: nothing is left to look for. */
static inline bool search_in(struct search *search, struct accessor *accessors, unsigned count,
                             const struct accessor *wanted)
{
    for (unsigned i = 0; i < count; i++, search->count++) {
        struct accessor *accessor = &accessors[i];
        if (!accessor->count) {
            search->empty = accessor;
            return false;
        }
        if (accessor->kind != wanted->kind)
            continue;
        if (accessor->mask == wanted->mask) {
            if (accessor->id == wanted->id) {
                search->equal = accessor;
                return false;
            }
            if (!accessor->id)
                search->placeless = accessor;
            else if (!search->same_mask || accessor->count < search->same_mask->count)
                search->same_mask = accessor;
        }
        if (!search->lightest || accessor->count < search->lightest->count)
            search->lightest = accessor;
    }
    return true;
}

static struct search search_accessor(struct transfer *transfer, struct cell *interval,
                                     const struct accessor *wanted)
{
    struct search search = {.link = &interval->u.interval.more};
    bool more = search_in(&search, interval->u.interval.accessors, 2, wanted);
    while (more && *search.link) {
        struct cell *further = &transfer->cells[*search.link];
        more = search_in(&search, further->u.more.accessors, 3, wanted);
        search.link = &further->next;
    }
    return search;
}

static bool is_full(const struct search *search)
{
    return search->count >= ACCESSORS ||
           (search->count >= ACCESSORS - KINDS_KEPT && search->lightest);
}

/*
 * Makes place for that one: the lightest that is equal but for its place is counted as of none, with the probability that its weight
 * has among both. So what is heavy gets in and stays, whenever it came, and of many that weigh the same not all are lost (HeavyKeeper,
 * Gong et al., USENIX ATC 2018, decays likewise). NULL: nothing is equal but for its place.
 */
static struct accessor *make_way(const struct search *search, const struct accessor *added)
{
    struct accessor *light = search->same_mask, *all = search->placeless;
    if (!light || !all) {
        if (light)
            light->id = 0;
        return all ? all : light;
    }
    if (all->count > COUNT_MAX - light->count ||
        base_mix64((uint64_t)added->id << 32 | all->count) % (light->count + 1))
        return all;
    all->count += light->count;
    *light = *added;
    light->count = 0;
    return light;
}

/*
 * Where the accesses are counted: at their own accessor, or a new one, or, if there are as many as there may be, in place of
 * one that is equal but for its place. Else the lightest of its kind takes their bytes as well: whether transfers are true
 * is then not known of these few. NULL: no cell.
 */
static struct accessor *place_for(struct transfer *transfer, struct search search,
                                  const struct accessor *added)
{
    if (search.equal)
        return search.equal;
    bool full = is_full(&search);
    if (!full && !search.empty) {
        uint32_t more = take_cell(transfer, CELL_MORE);
        *search.link = more;
        search.empty = more ? &transfer->cells[more].u.more.accessors[0] : NULL;
    }
    if (!full && search.empty) {
        *search.empty = *added;
        search.empty->count = 0;
        return search.empty;
    }
    struct accessor *made = make_way(&search, added);
    if (made)
        return made;
    if (search.lightest) {
        search.lightest->id = search.lightest->id == added->id ? added->id : 0;
        search.lightest->mask |= added->mask;
    }
    return search.lightest;
}

/* Where places are many they lose callers, one after the other; and later accesses to the line with them. */
static struct accessor *coarser_place_for(struct transfer *transfer, struct cell *line,
                                          struct cell *interval, const struct accessor *added)
{
    struct accessor coarse = *added;
    coarse.id = transfer_coarser(transfer, added->id, line->u.line.coarser);
    struct search search = search_accessor(transfer, interval, &coarse);
    while (!search.equal && is_full(&search) && transfer->options.coarser &&
           interval->coarser < COARSER_TIMES) {
        transfer_coarsen_interval(transfer, interval);
        if (line->u.line.coarser < interval->coarser)
            line->u.line.coarser = interval->coarser;
        coarse.id = transfer_coarser(transfer, added->id, line->u.line.coarser);
        search = search_accessor(transfer, interval, &coarse);
    }
    return place_for(transfer, search, &coarse);
}

static void add_accessor(struct transfer *transfer, struct cell *line, struct cell *interval,
                         const struct accessor *added)
{
    struct accessor *accessor = coarser_place_for(transfer, line, interval, added);
    if (!accessor) {
        transfer->totals.exhausted = true;
        return;
    }
    uint64_t sum = (uint64_t)accessor->count + added->count;
    accessor->count = sum < COUNT_MAX ? (uint32_t)sum : COUNT_MAX;
}

static uint32_t make_line(struct transfer *transfer, uint64_t number)
{
    uint32_t made = take_cell(transfer, CELL_LINE);
    if (!made)
        return 0;
    transfer->cells[made].u.line.line = number;
    transfer->cells[made].u.line.gap = TRANSFER_NEAR;
    return transfer->lines[number] = made;
}

/* A time before the interval's end is too far from it, too: differences wrap around. */
static bool goes_on(const struct cell *interval, const struct cell *line, uint32_t thread,
                    const struct transfer_clock *clock)
{
    return interval->kind == CELL_INTERVAL && interval->thread == thread &&
           clock->now - interval->u.interval.end <= line->u.line.gap &&
           clock->since <= interval->u.interval.start;
}

/* Puts the thread's latest interval, if it goes on, in front; NULL: a new one begins. */
static struct cell *take_up(struct transfer *transfer, struct cell *line, uint32_t thread,
                            const struct transfer_clock *clock)
{
    for (uint32_t *link = &line->next; *link; link = &transfer->cells[*link].next) {
        uint32_t number = *link;
        struct cell *interval = &transfer->cells[number];
        if (interval->thread != thread)
            continue;
        if (!goes_on(interval, line, thread, clock))
            return NULL;
        *link = interval->next;
        interval->next = line->next;
        line->next = number;
        return interval;
    }
    return NULL;
}

static struct cell *begin_interval(struct transfer *transfer, struct cell *line, uint32_t thread,
                                   const struct transfer_clock *clock)
{
    if (line->u.line.count >= LINE_INTERVALS)
        make_room(transfer, line);
    uint32_t number = take_cell(transfer, CELL_INTERVAL);
    if (!number)
        return NULL;
    struct cell *interval = &transfer->cells[number];
    interval->thread = (uint16_t)thread;
    interval->u.interval.start = interval->u.interval.end = clock->now;
    interval->u.interval.after = transfer_ago(clock->now, clock->since);
    interval->u.interval.awake = transfer_ago(clock->now, clock->slept);
    if (line->next && transfer->cells[line->next].thread != thread)
        line->u.line.several = 1;
    interval->next = line->next;
    line->next = number;
    line->u.line.count++;
    return interval;
}

static void touch(struct transfer *transfer, uint64_t number, uint32_t thread,
                  const struct transfer_clock *clock, const struct accessor *access)
{
    uint32_t at = transfer->lines[number];
    if (!at ||
        !goes_on(&transfer->cells[transfer->cells[at].next], &transfer->cells[at], thread, clock)) {
        keep_cells(transfer);
        at = transfer->lines[number];
        at = at ? at : make_line(transfer, number);
        struct cell *line = at ? &transfer->cells[at] : NULL;
        if (!line || (!take_up(transfer, line, thread, clock) &&
                      !begin_interval(transfer, line, thread, clock))) {
            transfer->totals.exhausted = true;
            return;
        }
    }
    struct cell *interval = &transfer->cells[transfer->cells[at].next];
    interval->u.interval.end = clock->now;
    struct accessor *first = &interval->u.interval.accessors[0];
    if (first->id == access->id && first->mask == access->mask && first->kind == access->kind &&
        first->count < COUNT_MAX)
        first->count++;
    else
        add_accessor(transfer, &transfer->cells[at], interval, access);
}

void transfer_access(struct transfer *transfer, uint32_t thread, const struct transfer_clock *clock,
                     uint64_t address, uint32_t bytes, uint32_t id, enum transfer_kind kind)
{
    while (bytes) {
        uint64_t number = address >> TRANSFER_LINE_SHIFT;
        uint32_t offset = address & (TRANSFER_LINE_BYTES - 1);
        uint32_t part = TRANSFER_LINE_BYTES - offset < bytes ? TRANSFER_LINE_BYTES - offset : bytes;
        uint64_t mask = ~UINT64_C(0) >> (TRANSFER_LINE_BYTES - part) << offset;
        struct accessor access = {.mask = mask, .id = id, .kind = (uint32_t)kind & 3, .count = 1};
        if (number < transfer->lines_limit)
            touch(transfer, number, thread, clock, &access);
        address += part;
        bytes -= part;
    }
}

void transfer_take_back(struct transfer *transfer, uint32_t thread, uint64_t address,
                        uint64_t until)
{
    uint64_t number = address >> TRANSFER_LINE_SHIFT;
    uint32_t at = number < transfer->lines_limit ? transfer->lines[number] : 0;
    for (uint32_t *link = &transfer->cells[at].next; at && *link;) {
        uint32_t own = *link;
        struct cell *interval = &transfer->cells[own];
        uint64_t start = interval->u.interval.start, end = interval->u.interval.end;
        if (interval->thread == thread && start > until) {
            *link = interval->next;
            free_interval(transfer, own);
            transfer->cells[at].u.line.count--;
            continue;
        }
        link = &interval->next;
        if (interval->thread != thread || end <= until)
            continue;
        scale(transfer, interval, (double)(until - start + 1) / (double)(end - start + 1));
        interval->u.interval.end = until;
    }
}

/* ---- endings --------------------------------------------------------------------------------- */

static void settle_line(struct transfer *transfer, uint32_t at)
{
    transfer_fold(transfer, &transfer->cells[at], UINT64_MAX);
    free_line(transfer, at);
}

void transfer_forget(struct transfer *transfer, uint64_t address, uint64_t bytes)
{
    uint64_t from = address >> TRANSFER_LINE_SHIFT;
    uint64_t to = (address + bytes + TRANSFER_LINE_BYTES - 1) >> TRANSFER_LINE_SHIFT;
    to = to < transfer->lines_limit ? to : transfer->lines_limit;
    if (!bytes || from >= to)
        return;
    if (to - from < transfer->cells_used) {
        for (; from < to; from++)
            if (transfer->lines[from])
                settle_line(transfer, transfer->lines[from]);
        return;
    }
    for (uint32_t at = 1; at < transfer->cells_used; at++) {
        const struct cell *cell = &transfer->cells[at];
        if (cell->kind == CELL_LINE && cell->u.line.line >= from && cell->u.line.line < to)
            settle_line(transfer, at);
    }
}

void transfer_settle(struct transfer *transfer)
{
    for (uint32_t at = 1; at < transfer->cells_used; at++)
        if (transfer->cells[at].kind == CELL_LINE)
            settle_line(transfer, at);
}

void transfer_reset(struct transfer *transfer)
{
    for (uint32_t at = 1; at < transfer->cells_used; at++)
        if (transfer->cells[at].kind == CELL_LINE)
            free_line(transfer, at);
    transfer_results_reset(transfer);
}

/* ---- check ----------------------------------------------------------------------------------- */

static bool check_line(const struct transfer *transfer, uint32_t at, uint64_t *cells)
{
    const struct cell *line = &transfer->cells[at];
    uint32_t count = 0;
    if (transfer->lines[line->u.line.line] != at || line->u.line.count > LINE_INTERVALS)
        return false;
    for (uint32_t i = line->next; i; i = transfer->cells[i].next, count++) {
        const struct cell *interval = &transfer->cells[i];
        if (interval->kind != CELL_INTERVAL ||
            interval->u.interval.start > interval->u.interval.end ||
            !interval->u.interval.accessors[0].count || count > line->u.line.count)
            return false;
        for (uint32_t more = interval->u.interval.more; more; more = transfer->cells[more].next)
            *cells += transfer->cells[more].kind == CELL_MORE;
    }
    *cells += 1ULL + count;
    return count == line->u.line.count;
}

bool transfer_check(const struct transfer *transfer)
{
    uint64_t cells = 0, taken = 0;
    for (uint32_t at = 1; at < transfer->cells_used; at++) {
        taken += transfer->cells[at].kind != CELL_FREE;
        if (transfer->cells[at].kind == CELL_LINE && !check_line(transfer, at, &cells))
            return false;
    }
    return cells == taken; /* none is lost */
}
