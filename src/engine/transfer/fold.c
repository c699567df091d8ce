// SPDX-License-Identifier: MIT
/*
 * From intervals to transfers. The times at which intervals begin and end cut the line's history into pieces in which the same
 * threads touch it, each at a constant rate; a piece is what transfer.h says of overlapping intervals.
 */
#include "transfer/internal.h"

struct span {
    struct cell *interval;
    uint64_t start, end; /* end: behind the last access */
    uint64_t slept;      /* its thread's last sleep */
    double accesses;
    bool moves; /* transfers to or from it were found */
};

/* Threads at work between two cuts, and the share of its accesses that each one makes there. */
struct piece {
    uint64_t start, end;
    unsigned count;
    struct active {
        struct span *span;
        double share; /* of the interval's accesses */
    } active[LINE_INTERVALS];
    double accesses;
};

struct fold {
    struct transfer *transfer;
    struct cell *line;
    uint64_t mask;
    struct transfer_line *result;
    bool known; /* result was looked for */
    struct span spans[LINE_INTERVALS];
    unsigned count;
    uint64_t cuts[2 * LINE_INTERVALS];
    unsigned cuts_count;
    struct piece pieces[2];
};

/* What lies there is asked once: the next time other bytes may have been written, of other variables. */
static struct transfer_line *result_of(struct fold *fold)
{
    struct transfer *transfer = fold->transfer;
    uint32_t *known = &fold->line->u.line.result;
    if (!fold->known && *known)
        fold->result = &transfer->results[*known];
    else if (!fold->known)
        fold->result = transfer_result(transfer, fold->line->u.line.line, fold->mask);
    if (fold->result)
        *known = (uint32_t)(fold->result - transfer->results);
    fold->known = true;
    return fold->result;
}

/* ---- preparation ----------------------------------------------------------------------------- */

static void take_spans(struct fold *fold, const struct cell *line, uint64_t until)
{
    struct transfer *transfer = fold->transfer;
    for (uint32_t at = line->next; at; at = transfer->cells[at].next) {
        struct cell *interval = &transfer->cells[at];
        uint64_t start = interval->u.interval.start, end = interval->u.interval.end + 1;
        if (start >= until)
            continue;
        struct span *span = &fold->spans[fold->count++];
        uint64_t slept = transfer_then(start, interval->u.interval.awake);
        *span = (struct span){interval, start, end, slept, 0, false};
        fold->cuts[fold->cuts_count++] = start;
        fold->cuts[fold->cuts_count++] = end < until ? end : until;
        const struct accessor *accessor;
        for (unsigned i = 0; (accessor = accessor_of(transfer, interval, i)); i++) {
            span->accesses += accessor->count;
            fold->mask |= accessor->kind & TRANSFER_WRITE ? accessor->mask : 0;
        }
    }
}

/* Few and mostly in order. */
static void sort_cuts(struct fold *fold)
{
    unsigned kept = 0;
    for (unsigned i = 1; i < fold->cuts_count; i++) {
        uint64_t cut = fold->cuts[i];
        unsigned at = i;
        for (; at > 0 && fold->cuts[at - 1] > cut; at--)
            fold->cuts[at] = fold->cuts[at - 1];
        fold->cuts[at] = cut;
    }
    for (unsigned i = 0; i < fold->cuts_count; i++)
        if (i == 0 || fold->cuts[i] != fold->cuts[kept - 1])
            fold->cuts[kept++] = fold->cuts[i];
    fold->cuts_count = kept;
}

static void make_piece(struct fold *fold, struct piece *piece, uint64_t start, uint64_t end)
{
    piece->start = start;
    piece->end = end;
    piece->count = 0;
    piece->accesses = 0;
    for (unsigned i = 0; i < fold->count; i++) {
        struct span *span = &fold->spans[i];
        if (span->start >= end || span->end <= start)
            continue;
        double share = (double)(end - start) / (double)(span->end - span->start);
        piece->accesses += share * span->accesses;
        piece->active[piece->count++] = (struct active){span, share};
    }
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* `weight` for each access of a followed by each of b: in one piece 1 / N. */
static void add_pair(struct fold *fold, const struct active *a, const struct active *b,
                     double weight)
{
    struct cell *from = a->span->interval, *to = b->span->interval;
    const struct accessor *first, *second;
    for (unsigned i = 0; (first = accessor_of(fold->transfer, from, i)); i++)
        for (unsigned j = 0; (second = accessor_of(fold->transfer, to, j)); j++) {
            if (!((first->kind | second->kind) & TRANSFER_WRITE))
                continue;
            a->span->moves = b->span->moves = true;
            transfer_add(fold->transfer, result_of(fold), from->thread, first, to->thread, second,
                         a->share * first->count * (b->share * second->count) * weight);
        }
}

static bool same_thread(const struct active *a, const struct active *b)
{
    return a->span->interval->thread == b->span->interval->thread;
}

static void add_within(struct fold *fold, const struct piece *piece)
{
    for (unsigned i = 0; i < piece->count; i++)
        for (unsigned j = 0; j < piece->count; j++)
            if (!same_thread(&piece->active[i], &piece->active[j]))
                add_pair(fold, &piece->active[i], &piece->active[j], 1 / piece->accesses);
}

static bool share_a_thread(const struct piece *a, const struct piece *b)
{
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned j = 0; j < b->count; j++)
            if (same_thread(&a->active[i], &b->active[j]))
                return true;
    return false;
}

/* The last access of one piece, the first of the next: one transfer at most. */
static void add_between(struct fold *fold, const struct piece *before, const struct piece *after)
{
    if (!before->count || after->start - before->end > FAR || share_a_thread(before, after))
        return;
    for (unsigned i = 0; i < before->count; i++)
        for (unsigned j = 0; j < after->count; j++)
            if (after->active[j].span->slept < before->end)
                add_pair(fold, &before->active[i], &after->active[j],
                         1 / (before->accesses * after->accesses));
}

static void add_users(struct fold *fold, uint64_t until)
{
    for (unsigned i = 0; i < fold->count && fold->result; i++) {
        const struct span *span = &fold->spans[i];
        if (!span->moves)
            continue;
        double share = span->end <= until
                           ? 1
                           : (double)(until - span->start) / (double)(span->end - span->start);
        const struct accessor *accessor;
        for (unsigned a = 0; (accessor = accessor_of(fold->transfer, span->interval, a)); a++)
            transfer_add_user(fold->transfer, fold->result, span->interval->thread, accessor,
                              share * accessor->count);
    }
}

void transfer_fold(struct transfer *transfer, struct cell *line, uint64_t until)
{
    struct fold fold;
    unsigned last = 0;
    fold.transfer = transfer;
    fold.line = line;
    fold.mask = 0;
    fold.result = NULL;
    fold.known = false;
    fold.count = fold.cuts_count = 0;
    if (!line->u.line.several)
        return;
    take_spans(&fold, line, until);
    sort_cuts(&fold);
    fold.pieces[last].count = 0;
    for (unsigned i = 0; i + 1 < fold.cuts_count; i++) {
        struct piece *piece = &fold.pieces[!last];
        make_piece(&fold, piece, fold.cuts[i], fold.cuts[i + 1]);
        if (!piece->count)
            continue;
        add_within(&fold, piece);
        add_between(&fold, &fold.pieces[last], piece);
        last = !last;
    }
    add_users(&fold, until);
}
