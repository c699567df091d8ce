// SPDX-License-Identifier: MIT
/*
 * Lines that threads share, as live recordings saw them: accesses that were published, and touches of these by other threads. A touch
 * names the access by thread and number, and threads' records come in any order: both are kept until the last one is read.
 * 96 bytes for each sample: at 100 a second 35 MB for an hour of one thread.
 *
 * Lines of memory that processes share are one, whichever process uses them. Threads then have numbers of the whole recording, in the order
 * of their first samples, else those of their process.
 *
 * A line is a row if somebody met there; what was published there then says which threads use it how, and how much CPU
 * time its accesses take.
 *
 * A meeting says that u touched the line soon after t. How soon nobody knows: u is watched for a tick's time, in which one touch is as good as
 * thousands. So meetings alone count how often t used lines that u uses at all, and one that u touches rarely
 * would weigh as much as one that both use all the time. Of a line that threads use at rates n, in any order, n_t n_u / N transfers are expected from
 * t to u (engine/transfer); meetings stand for n_t, and each is multiplied by n_u / N, as publications there have it.
 *
 * An entry can be chosen for sharing_ms, so that a line that takes the part p of t's accesses, and that u uses as well, adds
 * p x (CPU time of t) x sharing_ms to the weights of u's looks. Divided by sharing_ms, and multiplied by the accesses in an instruction as they
 * were seen ahead, that is the number of t's accesses to the line if an instruction took a nanosecond. Transfers are stated at that speed, and so are
 * the instructions of the run, one for each nanosecond that was sampled: the ratio of the two does not depend on the processor's speed.
 */
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>

enum { MATRIX = 64, LOCKED = 4, READS = 1, WRITES = 2, NO_LINE = UINT32_MAX, NAME_BYTES = 512 };
static const float most_weight = 1e9F;
/* Loads and stores in an instruction: where it is not known, and the most that are counted: a repeated one (rep movs) has some at each turn. */
static const float usual_density = 0.4F, most_density = 4;
static const uint64_t most_ns = UINT64_C(1) << 50;

struct published {
    uint32_t process, thread, serial;
    uint32_t node; /* of the log until the end; 0: lost */
    uint64_t line, mask;
    uint64_t file, offset; /* as in struct wire_published */
    float weight, density;
    uint16_t number;
    uint8_t kind;
    struct import_object object;
    struct import_datum
        frame; /* on the thread's own stack, if it is known: of the line; module as in the log */
};

struct meeting {
    uint32_t process, thread, first_process, first_thread, first_serial, node;
    uint32_t first; /* the publication; NO_LINE: it was lost */
    uint64_t line, first_mask, second_mask, gap_ns;
    float weight;
    uint16_t number;
    uint8_t first_kind, second_kind;
    bool reads; /* both did: it is no sharing, and says how often the second one reads */
};

/* How much a thread uses a line, whatever lies on it. */
struct use {
    uint32_t place, number;
    double weight, writes; /* of its publications there; of those that write */
    double read,
        written; /* of meetings with it where the first one had read, by what it did itself */
};

/* How much a thread uses an object, on all of its lines together. */
struct object_use {
    struct import_object object;
    uint32_t process;
    uint16_t number;
    double weight;
};

/* Of memory that processes share. */
struct shared_file {
    uint64_t file;
    const char *path; /* the profile's; NULL: it has none */
};

struct import_sharing {
    struct published *published;
    size_t published_count, published_capacity;
    struct util_index published_by_key, lines_by_key;
    struct util_index rows_by_place; /* the first one of several objects' on one line */
    struct meeting *meetings;
    size_t meetings_count, meetings_capacity;
    uint32_t latest; /* published of the record just before; NO_LINE: it was another */
    const struct import_frame *latest_frame;
    struct shared_file *files;
    size_t files_count, files_capacity;
    uint32_t *of_line; /* beside profile->shared_lines: a publication there */
    size_t of_line_capacity;
    struct use *uses; /* by place and thread */
    size_t uses_count;
    struct object_use *object_uses; /* by object and thread */
    size_t object_uses_count;
};

static struct import_sharing *sharing_of(struct import_gather *gather)
{
    if (!gather->sharing)
        gather->sharing = calloc(1, sizeof *gather->sharing);
    if (!gather->sharing)
        import_no_memory(gather);
    return gather->sharing;
}

void import_sharing_free(struct import_sharing *sharing)
{
    if (!sharing)
        return;
    util_index_free(&sharing->published_by_key);
    util_index_free(&sharing->lines_by_key);
    util_index_free(&sharing->rows_by_place);
    free(sharing->published);
    free(sharing->meetings);
    free(sharing->files);
    free(sharing->of_line);
    free(sharing->uses);
    free(sharing->object_uses);
    free(sharing);
}

/* ---- records ------------------------------------------------------------------------------------- */

static bool corrupt(struct import_gather *gather)
{
    gather->corrupt++;
    return true;
}

static bool weight_ok(float weight)
{
    return isfinite(weight) && weight >= 0 && weight <= most_weight;
}

static bool density_ok(float density)
{
    return isfinite(density) && density >= 0;
}

static float density_of(float seen)
{
    return seen > most_density ? most_density : seen > 0 ? seen : usual_density;
}

static bool kind_ok(uint8_t kind)
{
    return kind & (READS | WRITES) && kind < 2 * LOCKED;
}

static bool equal_published(const void *items, uint32_t item, const void *key)
{
    const struct published *a = &((const struct published *)items)[item], *b = key;
    return a->process == b->process && a->thread == b->thread && a->serial == b->serial;
}

static uint64_t hash_published(const struct published *key)
{
    return import_hash((uint64_t)key->process << 32 | key->thread, key->serial, 11);
}

static struct profile_shared_watch *watch_row(struct import_gather *gather, uint32_t process)
{
    struct profile *profile = gather->profile;
    for (size_t i = profile->shared_watches_count; i-- > 0;)
        if (profile->shared_watches[i].process == process)
            return &profile->shared_watches[i];
    struct profile_shared_watch *row = profile_add_shared_watches(profile);
    if (!row) {
        import_no_memory(gather);
        return NULL;
    }
    *row = (struct profile_shared_watch){.process = process};
    return row;
}

bool import_sharing_published(struct import_gather *gather, const struct import_frame *frame,
                              const struct wire_published *record)
{
    struct import_sharing *sharing = sharing_of(gather);
    uint32_t node = import_node_of(gather, record->node), item;
    bool found;
    if (!sharing)
        return false;
    sharing->latest = NO_LINE;
    if (!weight_ok(record->weight) || !density_ok(record->density) || !kind_ok(record->kind) ||
        !record->mask || !import_knows_process(gather, frame->process))
        return corrupt(gather);
    gather->corrupt += node == IMPORT_UNKNOWN_NODE;
    struct published made = {.process = frame->process,
                             .thread = frame->thread,
                             .serial = record->serial,
                             .node = node == IMPORT_UNKNOWN_NODE ? 0 : node,
                             .line = record->line & ~UINT64_C(63),
                             .mask = record->mask,
                             .file = record->file,
                             .offset = record->file ? record->offset & ~UINT64_C(63) : 0,
                             .weight = record->weight,
                             .density = density_of(record->density),
                             .number = record->number,
                             .kind = record->kind};
    struct profile_shared_watch *row = watch_row(gather, frame->process);
    if (!row ||
        !UTIL_GROW_ZEROED(sharing->published, sharing->published_capacity,
                          sharing->published_count) ||
        !util_index_enter(&sharing->published_by_key, hash_published(&made), equal_published,
                          sharing->published, &made, (uint32_t)sharing->published_count, &item,
                          &found))
        return import_no_memory(gather);
    gather->threads[gather->current_thread].number = record->number;
    row->samples++;
    row->armed += record->watched & WIRE_WATCHED_WORDS && !(record->watched & WIRE_WATCHED_AIMED);
    row->spun += (record->watched & WIRE_PUBLISHED_SPUN) != 0;
    if (!found)
        sharing->published[sharing->published_count++] = made;
    sharing->latest = item;
    sharing->latest_frame = frame;
    return true;
}

bool import_sharing_awaits(const struct import_gather *gather, const struct import_frame *frame)
{
    const struct import_sharing *sharing = gather->sharing;
    return sharing && sharing->latest != NO_LINE && sharing->latest_frame == frame;
}

void import_sharing_moves_on(struct import_gather *gather)
{
    if (gather->sharing)
        gather->sharing->latest = NO_LINE;
}

/* The offset becomes the line's. What is not known has none. */
bool import_sharing_located(struct import_gather *gather, const struct wire_located *record)
{
    struct published *at = &gather->sharing->published[gather->sharing->latest];
    bool made = record->kind == WIRE_OBJECT_HEAP || record->kind == WIRE_OBJECT_MAPPED;
    bool known = record->kind != WIRE_OBJECT_UNKNOWN;
    int first = __builtin_ctzll(at->mask);
    import_sharing_moves_on(gather);
    if (record->kind >= PROFILE_OBJECTS || record->size > most_ns)
        return corrupt(gather);
    at->object = (struct import_object){.kind = record->kind,
                                        .module = record->module,
                                        .process = made ? record->process : 0,
                                        .whose = record->thread,
                                        .node = made ? record->node : 0,
                                        .offset = known ? record->offset - first : 0,
                                        .size = record->size};
    if (record->kind == WIRE_OBJECT_STACK && record->frame_module)
        at->frame = (struct import_datum){.module = record->frame_module,
                                          .vaddr = (uint64_t)record->frame_offset - (uint64_t)first,
                                          .object = PROFILE_OBJECT_STACK,
                                          .code = record->frame_code};
    return true;
}

bool import_sharing_meeting(struct import_gather *gather, const struct import_frame *frame,
                            const struct wire_meeting *record)
{
    struct import_sharing *sharing = sharing_of(gather);
    uint32_t node = import_node_of(gather, record->node);
    if (!sharing)
        return false;
    if (!weight_ok(record->weight) || !kind_ok(record->first_kind) ||
        !kind_ok(record->second_kind) || record->fate >= WIRE_FATES || record->gap_ns > most_ns ||
        !import_knows_process(gather, frame->process))
        return corrupt(gather);
    struct profile_shared_watch *row = watch_row(gather, frame->process);
    if (!row)
        return false;
    uint64_t *const fates[WIRE_FATES] = {
        [WIRE_MET] = &row->met,           [WIRE_MET_READS] = &row->reads,
        [WIRE_MET_LATE] = &row->late,     [WIRE_MET_WAIT] = &row->waited,
        [WIRE_MET_REUSED] = &row->reused, [WIRE_MET_UNKNOWN] = &row->unknown};
    ++*fates[record->fate];
    row->cross_process += record->fate == WIRE_MET && record->first_process != frame->process;
    if (record->fate != WIRE_MET && record->fate != WIRE_MET_READS)
        return true;
    gather->corrupt += record->fate == WIRE_MET && node == IMPORT_UNKNOWN_NODE;
    if (!UTIL_GROW_ZEROED(sharing->meetings, sharing->meetings_capacity, sharing->meetings_count))
        return import_no_memory(gather);
    sharing->meetings[sharing->meetings_count++] =
        (struct meeting){.process = frame->process,
                         .thread = frame->thread,
                         .first_process = record->first_process,
                         .first_thread = record->first_thread,
                         .first_serial = record->first_serial,
                         .node = node == IMPORT_UNKNOWN_NODE ? 0 : node,
                         .line = record->line & ~UINT64_C(63),
                         .first_mask = record->first_mask,
                         .second_mask = record->second_mask,
                         .gap_ns = record->gap_ns,
                         .weight = record->weight,
                         .number = record->number,
                         .first_kind = record->first_kind,
                         .second_kind = record->second_kind,
                         .reads = record->fate == WIRE_MET_READS};
    return true;
}

bool import_sharing_file(struct import_gather *gather, const struct wire_shared_file *record)
{
    struct import_sharing *sharing = sharing_of(gather);
    bool good = true;
    if (!sharing)
        return false;
    for (size_t i = 0; i < sharing->files_count; i++)
        if (sharing->files[i].file == record->file)
            return true;
    const char *path = record->path[0] ? import_keep(gather->profile, record->path, &good) : NULL;
    return (good && UTIL_PUSH(sharing->files, sharing->files_count, sharing->files_capacity,
                              (struct shared_file){record->file, path})) ||
           import_no_memory(gather);
}

/* ---- lines --------------------------------------------------------------------------------------- */

static bool same_object(const struct import_object *a, const struct import_object *b)
{
    return a->kind == b->kind && a->module == b->module && a->process == b->process &&
           a->whose == b->whose && a->node == b->node && a->offset == b->offset &&
           a->size == b->size;
}

static bool same_place(const struct published *a, const struct published *b)
{
    if (a->file || b->file)
        return a->file == b->file && a->offset == b->offset;
    return a->process == b->process && a->line == b->line;
}

static bool equal_place(const void *items, uint32_t item, const void *key)
{
    const struct import_sharing *sharing = items;
    return same_place(&sharing->published[sharing->of_line[item]], key);
}

static uint64_t hash_place(const struct published *key)
{
    return key->file ? import_hash(key->file, key->offset, 0)
                     : import_hash(key->line, key->process, 0);
}

static bool equal_line(const void *items, uint32_t item, const void *key)
{
    const struct import_sharing *sharing = items;
    const struct published *a = &sharing->published[sharing->of_line[item]], *b = key;
    return same_place(a, b) && (a->file || same_object(&a->object, &b->object));
}

static uint64_t hash_line(const struct published *key)
{
    if (key->file)
        return import_hash(key->file, key->offset, 0);
    return import_hash(key->line, key->process,
                       (uint64_t)key->object.node << 32 ^ (uint64_t)key->object.offset);
}

static uint32_t find_line(const struct import_sharing *sharing, const struct published *at)
{
    uint32_t item;
    return util_index_find(&sharing->lines_by_key, hash_line(at), equal_line, sharing, at, &item)
               ? item
               : NO_LINE;
}

/* Threads that use different blocks on one line use one line. */
static uint32_t find_place(const struct import_sharing *sharing, const struct published *at)
{
    uint32_t item;
    return util_index_find(&sharing->rows_by_place, hash_place(at), equal_place, sharing, at, &item)
               ? item
               : NO_LINE;
}

static uint32_t number_of_thread(const struct import_gather *gather, uint32_t process, uint32_t id)
{
    for (size_t i = 0; i < gather->profile->threads_count; i++)
        if (gather->profile->threads[i].id == id && gather->profile->threads[i].process == process)
            return gather->threads[i].number;
    return 0;
}

/* 0: not known. */
static uint32_t node_of_allocation(const struct import_gather *gather,
                                   const struct import_object *object)
{
    const struct import_wanted *wanted =
        object->node ? import_wanted_find(gather, object->process, object->whose, object->node)
                     : NULL;
    return wanted && wanted->node != IMPORT_UNKNOWN_NODE ? wanted->node : 0;
}

/* Where a variable is that will be named later; of memory in a file that the agent did not know. */
static bool describe_data(struct import_gather *gather, const struct published *at,
                          struct profile_shared_line *row, struct import_datum *datum)
{
    const struct import_object *object = &at->object;
    const struct import_mapping *mapping = import_mapping_at(gather, at->process, at->line);
    uint32_t module = import_module_of(gather, at->process, object->module);
    if (object->kind == PROFILE_OBJECT_GLOBAL && module)
        *datum = (struct import_datum){.module = module, .vaddr = (uint64_t)object->offset};
    else if (mapping)
        *datum = (struct import_datum){.module = mapping->id, .vaddr = at->line - mapping->bias};
    else
        return true;
    row->object = PROFILE_OBJECT_GLOBAL;
    row->offset = datum->vaddr;
    return true;
}

static void describe_file(const struct import_sharing *sharing, const struct published *at,
                          struct profile_shared_line *row)
{
    row->object = PROFILE_OBJECT_MAPPED;
    row->offset = at->offset;
    for (size_t i = 0; i < sharing->files_count; i++)
        if (sharing->files[i].file == at->file)
            row->name = sharing->files[i].path;
}

/* What lies on the line. False: no memory. */
static bool describe(struct import_gather *gather, const struct published *at,
                     struct profile_shared_line *row, struct import_datum *datum)
{
    const struct import_object *object = &at->object;
    bool own = object->kind == PROFILE_OBJECT_STACK || object->kind == PROFILE_OBJECT_THREAD;
    if (at->file) {
        describe_file(gather->sharing, at, row);
        return true;
    }
    if (object->kind == PROFILE_OBJECT_UNKNOWN || object->kind == PROFILE_OBJECT_GLOBAL)
        return describe_data(gather, at, row, datum);
    row->object = object->kind;
    row->thread = own ? number_of_thread(gather, at->process, object->whose) : 0;
    row->size = object->size;
    row->offset = (uint64_t)object->offset;
    row->context = node_of_allocation(gather, object);
    uint32_t module = own ? import_module_of(gather, at->process, object->module) : 0;
    if (object->kind == PROFILE_OBJECT_THREAD && module)
        *datum = (struct import_datum){module, row->offset, PROFILE_OBJECT_THREAD, 0};
    return true;
}

/* The row of the line of that publication, and what goes with it. False: no memory. */
static bool enter_line(struct import_gather *gather, uint32_t published, uint32_t *line)
{
    struct import_sharing *sharing = gather->sharing;
    struct profile *profile = gather->profile;
    const struct published *at = &sharing->published[published];
    bool found, found_place;
    uint32_t count = (uint32_t)profile->shared_lines_count, place;
    if (!UTIL_GROW_ZEROED(sharing->of_line, sharing->of_line_capacity, count) ||
        !UTIL_GROW_ZEROED(gather->shared_data, gather->shared_data_capacity, count) ||
        !util_index_enter(&sharing->lines_by_key, hash_line(at), equal_line, sharing, at, count,
                          line, &found))
        return import_no_memory(gather);
    if (found)
        return true;
    sharing->of_line[count] = published;
    if (!util_index_enter(&sharing->rows_by_place, hash_place(at), equal_place, sharing, at, count,
                          &place, &found_place))
        return import_no_memory(gather);
    struct profile_shared_line *row = profile_add_shared_lines(profile);
    struct profile_shared_seen *seen = profile_add_shared_seens(profile);
    if (!row || !seen)
        return import_no_memory(gather);
    *row = (struct profile_shared_line){.offset = at->line, .address = at->line};
    *seen = (struct profile_shared_seen){.line = count};
    gather->shared_data[count] = (struct import_datum){0};
    return describe(gather, at, row, &gather->shared_data[count]);
}

/* A read-modify-write instruction without a lock is a write, as the exact engine counts it. */
static uint32_t kind_of(uint8_t kind)
{
    return kind & LOCKED ? READS | WRITES : kind & WRITES ? WRITES : READS;
}

static bool add_pair(struct import_gather *gather, uint32_t line, const struct published *first,
                     const struct meeting *meeting)
{
    struct profile_shared_pair *pair = profile_add_shared_pairs(gather->profile);
    if (!pair)
        return import_no_memory(gather);
    *pair =
        (struct profile_shared_pair){.line = line,
                                     .first = first->node,
                                     .second = meeting->node,
                                     .first_kind = kind_of(meeting->first_kind),
                                     .second_kind = kind_of(meeting->second_kind),
                                     .is_true = (meeting->first_mask & meeting->second_mask) != 0,
                                     .first_mask = meeting->first_mask,
                                     .second_mask = meeting->second_mask,
                                     .transfers = (double)meeting->weight};
    return true;
}

static bool add_user(struct import_gather *gather, uint32_t line, uint16_t number, uint8_t kind,
                     uint64_t mask, uint64_t count)
{
    struct profile_shared_user *user = profile_add_shared_users(gather->profile);
    if (!user)
        return import_no_memory(gather);
    *user = (struct profile_shared_user){.line = line,
                                         .thread = number,
                                         .read_mask = kind & READS ? mask : 0,
                                         .write_mask = kind & WRITES ? mask : 0,
                                         .reads = kind & WRITES ? 0 : count,
                                         .writes = kind & WRITES ? count : 0};
    return true;
}

static bool add_move(struct import_gather *gather, uint16_t from, uint16_t to, double weight)
{
    struct profile_shared_move *move = profile_add_shared_moves(gather->profile);
    if (!move)
        return import_no_memory(gather);
    *move = (struct profile_shared_move){from < MATRIX ? from : MATRIX - 1,
                                         to < MATRIX ? to : MATRIX - 1, weight};
    return true;
}

/* Gaps by powers of two of nanoseconds. */
static bool add_gap(struct import_gather *gather, uint32_t line, uint64_t gap_ns)
{
    struct profile_shared_gap *gap = profile_add_shared_gaps(gather->profile);
    if (!gap)
        return import_no_memory(gather);
    *gap = (struct profile_shared_gap){
        line, gap_ns ? UINT64_C(1) << (63 - __builtin_clzll(gap_ns)) : 0, 1};
    return true;
}

static void add_amount(struct import_gather *gather, uint32_t line, const struct meeting *meeting)
{
    struct profile_shared_line *row = &gather->profile->shared_lines[line];
    struct profile_shared_seen *seen = &gather->profile->shared_seens[line];
    double weight = (double)meeting->weight;
    if (meeting->first_mask & meeting->second_mask) {
        row->true_transfers += weight;
        seen->true_traps++;
    } else {
        row->false_transfers += weight;
        seen->false_traps++;
    }
}

static struct profile_shared_run *run_row(struct import_gather *gather, uint32_t process)
{
    struct profile *profile = gather->profile;
    for (size_t i = profile->shared_runs_count; i-- > 0;)
        if (profile->shared_runs[i].process == process)
            return &profile->shared_runs[i];
    struct profile_shared_run *row = profile_add_shared_runs(profile);
    if (!row) {
        import_no_memory(gather);
        return NULL;
    }
    *row = (struct profile_shared_run){.process = process};
    for (size_t i = 0; i < profile->threads_count; i++)
        row->threads += profile->threads[i].process == process;
    return row;
}

/* ---- how much threads use lines -------------------------------------------------------------------- */

static int compare_uses(const void *left, const void *right)
{
    const struct use *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static void add_use(struct use *to, const struct use *more)
{
    to->weight += more->weight;
    to->writes += more->writes;
    to->read += more->read;
    to->written += more->written;
}

/* Of all lines that there are now. */
static bool sum_uses(struct import_gather *gather)
{
    struct import_sharing *sharing = gather->sharing;
    size_t count = 0, kept = 0;
    struct use *uses = calloc(sharing->published_count + sharing->meetings_count + 1, sizeof *uses);
    sharing->uses = uses;
    if (!uses)
        return import_no_memory(gather);
    for (size_t i = 0; i < sharing->published_count; i++) {
        const struct published *published = &sharing->published[i];
        double weight = (double)published->weight;
        uses[count] = (struct use){.place = find_place(sharing, published),
                                   .number = published->number,
                                   .weight = weight,
                                   .writes = published->kind & WRITES ? weight : 0};
        count += uses[count].place != NO_LINE;
    }
    for (size_t i = 0; i < sharing->meetings_count; i++) {
        const struct meeting *meeting = &sharing->meetings[i];
        double weight = (double)meeting->weight;
        if (meeting->first == NO_LINE || meeting->first_kind & WRITES)
            continue;
        uses[count] =
            (struct use){.place = find_place(sharing, &sharing->published[meeting->first]),
                         .number = meeting->number,
                         .read = meeting->reads ? weight : 0,
                         .written = meeting->reads ? 0 : weight};
        count += uses[count].place != NO_LINE;
    }
    qsort(uses, count, sizeof *uses, compare_uses);
    for (size_t i = 0; i < count; i++)
        if (kept && compare_uses(&uses[kept - 1], &uses[i]) == 0)
            add_use(&uses[kept - 1], &uses[i]);
        else
            uses[kept++] = uses[i];
    sharing->uses_count = kept;
    return true;
}

/* Of blocks, stacks and threads' own memory it is known which lines are one object's. */
static bool has_object(const struct published *published)
{
    const struct import_object *object = &published->object;
    return !published->file &&
           ((object->kind == WIRE_OBJECT_HEAP && object->node) ||
            object->kind == WIRE_OBJECT_STACK || object->kind == WIRE_OBJECT_THREAD);
}

static int compare_numbers_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_object_uses(const void *left, const void *right)
{
    const struct object_use *a = left, *b = right;
    const struct import_object *one = &a->object, *other = &b->object;
    const uint64_t numbers[][2] = {{one->kind, other->kind},       {a->process, b->process},
                                   {one->process, other->process}, {one->whose, other->whose},
                                   {one->node, other->node},       {one->size, other->size},
                                   {a->number, b->number}};
    for (size_t i = 0; i < BASE_COUNT(numbers); i++) {
        int order = compare_numbers_of(numbers[i][0], numbers[i][1]);
        if (order)
            return order;
    }
    return 0;
}

static struct object_use object_use_of(const struct published *published, uint16_t number)
{
    return (struct object_use){.object = published->object,
                               .process = published->process,
                               .number = number,
                               .weight = (double)published->weight};
}

static bool sum_object_uses(struct import_gather *gather)
{
    struct import_sharing *sharing = gather->sharing;
    size_t count = 0, kept = 0;
    struct object_use *uses = calloc(sharing->published_count + 1, sizeof *uses);
    sharing->object_uses = uses;
    if (!uses)
        return import_no_memory(gather);
    for (size_t i = 0; i < sharing->published_count; i++)
        if (has_object(&sharing->published[i]))
            uses[count++] = object_use_of(&sharing->published[i], sharing->published[i].number);
    qsort(uses, count, sizeof *uses, compare_object_uses);
    for (size_t i = 0; i < count; i++)
        if (kept && compare_object_uses(&uses[kept - 1], &uses[i]) == 0)
            uses[kept - 1].weight += uses[i].weight;
        else
            uses[kept++] = uses[i];
    sharing->object_uses_count = kept;
    return true;
}

static double object_weight(const struct import_sharing *sharing, const struct published *at,
                            uint16_t number)
{
    struct object_use key = object_use_of(at, number);
    const struct object_use *use =
        sharing->object_uses_count ? bsearch(&key, sharing->object_uses, sharing->object_uses_count,
                                             sizeof key, compare_object_uses)
                                   : NULL;
    return use ? use->weight : 0;
}

static const struct use *first_use(const struct import_sharing *sharing, uint32_t place)
{
    size_t at = BASE_FIRST(i, sharing->uses_count, sharing->uses[i].place >= place);
    return &sharing->uses[at];
}

/*
 * How much the second thread of a meeting is taken to use the line beside what it published there, as a part of one publication. Of an object of
 * many lines, most of which have few publications, the others say it: a stack, of which its thread writes all lines all the time, is
 * read by others now and then.
 */
static double expected_use(const struct import_sharing *sharing, const struct published *first,
                           uint16_t number, double own, double firsts)
{
    double once = (double)first->weight;
    if (!has_object(first))
        return once;
    double others = object_weight(sharing, first, number) - own;
    double others_first = object_weight(sharing, first, first->number) - firsts;
    double ratio = (fmax(others, 0) + once) / (fmax(others_first, 0) + once);
    return once * fmin(ratio, 1);
}

/* n_u / N. Each thread is taken to use the line a bit more than was published there, since nothing published means little of few
   samples; but for the first one of the meeting, whose publication made it likely to be asked about this line. */
static double part_of_use(const struct import_sharing *sharing, uint32_t place, uint16_t number,
                          const struct published *first)
{
    const struct use *end = sharing->uses + sharing->uses_count;
    double once = (double)first->weight, own = 0, all = 0, firsts = 0;
    for (const struct use *use = first_use(sharing, place); use < end && use->place == place;
         use++) {
        bool is_own = use->number == number;
        all += use->weight + (is_own || use->weight <= 0 ? 0 : once);
        own += is_own ? use->weight : 0;
        firsts += use->number == first->number ? use->weight : 0;
    }
    own += expected_use(sharing, first, number, own, firsts);
    return all > 0 ? fmin(own / all, 1) : 1;
}

/*
 * Where the first one read only what the second one writes moves the line. Its first touch in a watch is no fair sample of that: one that reads the line
 * all the time to see whether it may go on writes it as it comes back from elsewhere. So the part of its writes is that of its publications, and where
 * there are few, that of the meetings (taken to be one more); what was met writing stands for all that was met. Returns by how much more or less.
 */
static double part_of_writes(const struct import_sharing *sharing, uint32_t place, uint16_t number,
                             double once)
{
    const struct use *use = first_use(sharing, place), *end = sharing->uses + sharing->uses_count;
    while (use < end && use->place == place && use->number != number)
        use++;
    if (use == end || use->place != place || use->written <= 0)
        return 1;
    double met = use->written / (use->written + use->read);
    return (use->writes + once * met) / (use->weight + once) / met;
}

/* The publication that a meeting is with; NO_LINE: it was lost. */
static uint32_t find_first(const struct import_sharing *sharing, const struct meeting *meeting)
{
    struct published key = {.process = meeting->first_process,
                            .thread = meeting->first_thread,
                            .serial = meeting->first_serial};
    uint32_t first;
    return util_index_find(&sharing->published_by_key, hash_published(&key), equal_published,
                           sharing->published, &key, &first)
               ? first
               : NO_LINE;
}

static int compare_meetings(const void *left, const void *right)
{
    const struct meeting *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->gap_ns > b->gap_ns) - (a->gap_ns < b->gap_ns);
}

/* Those with one publication side by side: what these say is not independent. */
static bool enter_lines(struct import_gather *gather)
{
    struct import_sharing *sharing = gather->sharing;
    struct meeting *meetings = sharing->meetings;
    uint32_t line;
    for (size_t i = 0; i < sharing->meetings_count; i++)
        meetings[i].first = find_first(sharing, &meetings[i]);
    if (sharing->meetings_count)
        qsort(meetings, sharing->meetings_count, sizeof *meetings, compare_meetings);
    for (size_t i = 0; i < sharing->meetings_count; i++)
        if (!meetings[i].reads && meetings[i].first != NO_LINE &&
            !enter_line(gather, meetings[i].first, &line))
            return false;
    return sum_uses(gather) && sum_object_uses(gather);
}

/* ---- meetings -------------------------------------------------------------------------------------- */

/* Accesses that a weight of 1 stands for, if each instruction had one and took a nanosecond. */
static double unit_of(const struct import_gather *gather)
{
    double interval = (double)gather->log->config.interval_ns;
    double fresh = (double)gather->log->config.sharing_ms * 1e6;
    return fresh > 0 ? interval * interval / fresh : 0;
}

/* In the unit of transfers. */
static double weigh(const struct import_gather *gather, const struct meeting *meeting)
{
    const struct import_sharing *sharing = gather->sharing;
    const struct published *published = &sharing->published[meeting->first];
    uint32_t place = find_place(sharing, published);
    double once = (double)published->weight;
    bool wrote = meeting->first_kind & WRITES;
    return (double)meeting->weight * unit_of(gather) * (double)published->density *
           part_of_use(sharing, place, meeting->number, published) *
           (wrote ? 1 : part_of_writes(sharing, place, meeting->number, once));
}

/* Whose access was lost stands at no place. */
static bool add_meeting(struct import_gather *gather, struct meeting *meeting)
{
    struct import_sharing *sharing = gather->sharing;
    uint32_t line;
    if (meeting->reads)
        return true;
    if (meeting->first == NO_LINE)
        return corrupt(gather);
    const struct published *published = &sharing->published[meeting->first];
    struct profile_shared_run *run = run_row(gather, meeting->process);
    if (!run || !enter_line(gather, meeting->first, &line))
        return false;
    meeting->weight = (float)weigh(gather, meeting);
    if (meeting->first_mask & meeting->second_mask)
        run->true_transfers += (double)meeting->weight;
    else
        run->false_transfers += (double)meeting->weight;
    add_amount(gather, line, meeting);
    return add_pair(gather, line, published, meeting) &&
           add_user(gather, line, meeting->number, meeting->second_kind, meeting->second_mask, 0) &&
           add_move(gather, published->number, meeting->number, (double)meeting->weight) &&
           add_gap(gather, line, meeting->gap_ns);
}

/* Squares of the sums over the meetings with one publication: looks are aimed, so that there may be many. */
static void add_squares(struct import_gather *gather, const struct meeting *meetings, size_t count)
{
    double with = 0, without = 0;
    uint32_t line =
        count ? find_line(gather->sharing, &gather->sharing->published[meetings->first]) : NO_LINE;
    if (line == NO_LINE)
        return;
    for (size_t i = 0; i < count; i++)
        if (!meetings[i].reads && meetings[i].first_mask & meetings[i].second_mask)
            with += (double)meetings[i].weight;
        else if (!meetings[i].reads)
            without += (double)meetings[i].weight;
    gather->profile->shared_seens[line].true_squares += with * with;
    gather->profile->shared_seens[line].false_squares += without * without;
}

static bool add_meetings(struct import_gather *gather)
{
    struct import_sharing *sharing = gather->sharing;
    struct meeting *meetings = sharing->meetings;
    for (size_t i = 0, end; i < sharing->meetings_count; i = end) {
        for (end = i; end < sharing->meetings_count && meetings[end].first == meetings[i].first;
             end++)
            if (!add_meeting(gather, &meetings[end]))
                return false;
        if (meetings[i].first != NO_LINE)
            add_squares(gather, &meetings[i], end - i);
    }
    return true;
}

static bool add_published(struct import_gather *gather, const struct published *published)
{
    uint32_t line = find_line(gather->sharing, published);
    double cpu_ns = (double)published->weight * (double)gather->log->config.interval_ns;
    struct profile_shared_run *run = run_row(gather, published->process);
    if (!run)
        return false;
    run->instructions += (uint64_t)cpu_ns;
    if (line == NO_LINE)
        return true;
    struct profile_shared_seen *seen = &gather->profile->shared_seens[line];
    struct import_datum *datum = &gather->shared_data[line];
    if (published->frame.module && !datum->module) {
        *datum = published->frame;
        datum->module = import_module_of(gather, published->process, published->frame.module);
    }
    seen->samples++;
    seen->cpu_ns += cpu_ns;
    return add_user(gather, line, published->number, published->kind, published->mask, 1);
}

/* ---- threads of several processes ------------------------------------------------------------------ */

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Ids of threads are given in the order of their first samples, to those of all processes. */
static uint16_t number_among(const uint32_t *ids, size_t count, uint32_t id)
{
    size_t at = BASE_FIRST(i, count, ids[i] >= id);
    return at < UINT16_MAX ? (uint16_t)at : UINT16_MAX;
}

/* Numbers of one process mean nothing where several share a line. False: no memory. */
static bool number_threads(struct import_gather *gather)
{
    struct import_sharing *sharing = gather->sharing;
    const struct profile *profile = gather->profile;
    size_t count = profile->threads_count, between = 0;
    for (size_t i = 0; i < profile->shared_watches_count; i++)
        between += profile->shared_watches[i].cross_process;
    if (!between)
        return true;
    uint32_t *ids = calloc(count + 1, sizeof *ids);
    if (!ids)
        return import_no_memory(gather);
    for (size_t i = 0; i < count; i++)
        ids[i] = profile->threads[i].id;
    qsort(ids, count, sizeof *ids, compare_numbers);
    for (size_t i = 0; i < count; i++)
        gather->threads[i].number = number_among(ids, count, profile->threads[i].id);
    for (size_t i = 0; i < sharing->published_count; i++)
        sharing->published[i].number = number_among(ids, count, sharing->published[i].thread);
    for (size_t i = 0; i < sharing->meetings_count; i++)
        sharing->meetings[i].number = number_among(ids, count, sharing->meetings[i].thread);
    free(ids);
    return true;
}

/* Beside other questions this one is asked by the clock alone, and where there are several threads. */
static bool was_asked(const struct import_gather *gather, uint32_t process)
{
    const struct wire_config *config = &gather->log->config;
    size_t threads = 0;
    if (!config->kinds)
        return true;
    for (size_t i = 0; i < gather->profile->threads_count; i++)
        threads += gather->profile->threads[i].process == process;
    return threads > 1 && config->source == WIRE_SOURCE_CLOCK;
}

static bool has_watch_row(const struct import_gather *gather, uint32_t process)
{
    const struct profile *profile = gather->profile;
    for (size_t i = 0; i < profile->shared_watches_count; i++)
        if (profile->shared_watches[i].process == process)
            return true;
    return false;
}

/* Every process that was asked has a row, also without a meeting: nothing is shared there. */
bool import_sharing_gathered(struct import_gather *gather)
{
    struct import_sharing *sharing = gather->sharing;
    if (!sharing && !gather->log->config.sharing_ms)
        return true;
    for (size_t i = 0; i < gather->profile->processes_count; i++) {
        uint32_t process = gather->profile->processes[i].id;
        if ((has_watch_row(gather, process) || was_asked(gather, process)) &&
            (!watch_row(gather, process) || !run_row(gather, process)))
            return false;
    }
    if (sharing && (!number_threads(gather) || !enter_lines(gather)))
        return false;
    if (sharing && !add_meetings(gather))
        return false;
    for (size_t i = 0; sharing && i < sharing->published_count; i++)
        if (!add_published(gather, &sharing->published[i]))
            return false;
    return true;
}

/* ---- names --------------------------------------------------------------------------------------- */

/* One more variable of the line, by where it begins there. False: no memory. */
static bool add_part(struct util_text *parts, int64_t byte, const char *name)
{
    return util_text_print(parts, "%d %s\n", byte < 0 ? 0 : (int)byte, name);
}

/* The first variable on the line is what lies there; all of them are its parts. */
static bool name_line(struct import_gather *gather, struct binary *binary, uint32_t line,
                      uint64_t code)
{
    struct profile *profile = gather->profile;
    struct profile_shared_line *row = &profile->shared_lines[line];
    const struct import_datum *datum = &gather->shared_data[line];
    struct util_text parts = {0};
    char name[NAME_BYTES];
    bool good = true;
    for (uint64_t byte = 0, next; binary && good && byte < 64; byte = next) {
        struct binary_object object;
        next = byte + 1;
        if (import_datum_variable(binary, datum, datum->vaddr + byte, code, &object) != BASE_OK ||
            !object.name)
            continue;
        int64_t start = (int64_t)(object.start - datum->vaddr);
        if (start + (int64_t)object.bytes > (int64_t)next)
            next = (uint64_t)(start + (int64_t)object.bytes);
        import_variable_name(&object, name, sizeof name);
        if (!row->name) {
            row->name = import_keep(profile, name, &good);
            row->size = object.bytes & (most_ns - 1);
            row->offset = (uint64_t)-start;
        }
        good = good && add_part(&parts, start, name);
    }
    if (good && row->name && parts.count)
        good = (row->parts = profile_keep(profile, parts.bytes)) != NULL;
    util_text_free(&parts);
    return good || import_no_memory(gather);
}

/* No variable is known there. */
static bool name_file(struct import_gather *gather, uint32_t line)
{
    struct profile *profile = gather->profile;
    struct profile_shared_line *row = &profile->shared_lines[line];
    bool good = true;
    row->object = PROFILE_OBJECT_DATA;
    row->name =
        import_keep(profile, profile->modules[gather->shared_data[line].module].path, &good);
    return good || import_no_memory(gather);
}

bool import_sharing_names(struct import_gather *gather, const struct binary_options *symbols)
{
    struct import_sharing *sharing = gather->sharing;
    struct profile *profile = gather->profile;
    struct import_types *types = sharing ? import_types_begin(gather, symbols) : NULL;
    if (!sharing)
        return true;
    bool good = types || import_no_memory(gather);
    for (uint32_t i = 0; good && i < profile->shared_lines_count; i++) {
        uint32_t module = gather->shared_data[i].module;
        bool global = profile->shared_lines[i].object == PROFILE_OBJECT_GLOBAL;
        if (!global && !module)
            continue;
        const struct import_node *node =
            &gather->nodes[sharing->published[sharing->of_line[i]].node];
        uint64_t code = node->module == module ? import_look_up(node) : 0;
        good = name_line(gather, import_types_file(types, module), i, code) &&
               (!global || profile->shared_lines[i].name || name_file(gather, i));
    }
    import_types_end(types);
    return good;
}
