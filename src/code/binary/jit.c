// SPDX-License-Identifier: MIT
#include "binary/jit.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 1 << 16,
    NUMBER_DIGITS = 16,
};

/* A function of a compiler's is some kilobytes long. What claims to be longer than this would name
   whatever else lies behind it. */
static const uint64_t function_most_bytes = UINT64_C(1) << 30;

/* Maps of large applications have some megabytes, dumps, which hold the code too, some hundred. */
const struct jit_limits jit_limits = {.bytes = UINT64_C(1) << 30, .names = UINT64_C(1) << 24};

/* ---- a bounded stream -------------------------------------------------------------------------- */

struct stream {
    int file;
    uint64_t left; /* bytes that may still be read from the file */
    size_t at, end;
    bool cut, failed;
    unsigned char buffer[BUFFER_BYTES];
};

static bool refill(struct stream *stream)
{
    size_t wanted = stream->left < BUFFER_BYTES ? (size_t)stream->left : BUFFER_BYTES;
    ssize_t got;
    stream->cut = stream->cut || wanted == 0;
    if (wanted == 0)
        return false;
    do
        got = read(stream->file, stream->buffer, wanted);
    while (got < 0 && errno == EINTR);
    stream->failed = stream->failed || got < 0;
    if (got <= 0)
        return false;
    stream->at = 0;
    stream->end = (size_t)got;
    stream->left -= (uint64_t)got;
    return true;
}

/* -1: the end. */
static int next_byte(struct stream *stream)
{
    if (stream->at == stream->end && !refill(stream))
        return -1;
    return stream->buffer[stream->at++];
}

/* out may be NULL: the bytes are passed over. */
static bool take(struct stream *stream, void *out, uint64_t bytes)
{
    while (bytes > 0) {
        if (stream->at == stream->end && !refill(stream))
            return false;
        size_t step = stream->end - stream->at;
        step = step < bytes ? step : (size_t)bytes;
        if (out)
            memcpy(out, stream->buffer + stream->at, step);
        out = out ? (char *)out + step : NULL;
        stream->at += step;
        bytes -= step;
    }
    return true;
}

/* ---- names for addresses ------------------------------------------------------------------------ */

struct reader {
    struct stream stream;
    struct jit_place *places;
    size_t count;
    uint64_t names_left;
    struct jit_account account;
    struct jit_place **moved; /* of them, by index */
    size_t moved_count;
    bool no_memory;
};

static size_t first_from(const struct reader *reader, uint64_t address)
{
    return BASE_FIRST(i, reader->count, reader->places[i].address >= address);
}

static bool sound_range(uint64_t start, uint64_t bytes)
{
    return bytes > 0 && bytes <= function_most_bytes && start <= UINT64_MAX - bytes;
}

static bool spend(struct reader *reader)
{
    if (reader->names_left == 0)
        reader->account.cut = true;
    else
        reader->names_left--;
    return !reader->account.cut;
}

static bool rename_place(struct reader *reader, struct jit_place *place, const char *name)
{
    if (place->name && strcmp(place->name, name) == 0)
        return true;
    char *copy = strdup(name);
    reader->no_memory = !copy;
    if (!copy)
        return false;
    place->several = place->several || place->name;
    free(place->name);
    place->name = copy;
    return true;
}

/* False: that is all that will be read. */
static bool name_range(struct reader *reader, uint64_t start, uint64_t bytes, uint64_t index,
                       const char *name)
{
    reader->account.entries++;
    if (!sound_range(start, bytes) || !name[0])
        return true;
    for (size_t i = first_from(reader, start);
         i < reader->count && reader->places[i].address - start < bytes; i++) {
        struct jit_place *place = &reader->places[i];
        if (!spend(reader) || !rename_place(reader, place, name))
            return false;
        place->start = start;
        place->bytes = bytes;
        place->index = index;
        place->moved = false;
    }
    return true;
}

static enum base_status conclude(const struct reader *reader, struct jit_account *account)
{
    *account = reader->account;
    account->cut = account->cut || reader->stream.cut;
    return reader->no_memory ? BASE_NO_MEMORY : reader->stream.failed ? BASE_IO : BASE_OK;
}

static struct reader *begin(int file, const struct jit_limits *limits, struct jit_place *places,
                            size_t count)
{
    struct reader *reader = malloc(sizeof *reader);
    if (reader) {
        reader->stream.file = file;
        reader->stream.left = limits->bytes;
        reader->stream.at = reader->stream.end = 0;
        reader->stream.cut = reader->stream.failed = false;
        reader->places = places;
        reader->count = count;
        reader->names_left = limits->names;
        reader->account = (struct jit_account){0};
        reader->moved = NULL;
        reader->moved_count = 0;
        reader->no_memory = false;
    }
    return reader;
}

/* ---- perf map ------------------------------------------------------------------------------------ */

/* The part of a line that matters; `whole` bytes stand for it in the file. */
struct line {
    char text[2 * (2 + NUMBER_DIGITS + 2) + JIT_NAME_BYTES];
    size_t bytes;
};

/* False: no more whole lines. */
static bool take_line(struct stream *stream, struct line *line)
{
    int byte;
    line->bytes = 0;
    while ((byte = next_byte(stream)) >= 0 && byte != '\n')
        if (line->bytes < sizeof line->text - 1)
            line->text[line->bytes++] = (char)(byte ? byte : ' ');
    line->text[line->bytes] = 0;
    return byte == '\n';
}

static int digit_of(char character)
{
    return character >= '0' && character <= '9'   ? character - '0'
           : character >= 'a' && character <= 'f' ? character - 'a' + 10
           : character >= 'A' && character <= 'F' ? character - 'A' + 10
                                                  : -1;
}

/* The text behind the number and the blanks that end it; NULL: there is no such number. */
static const char *take_number(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    const char *digits = text;
    for (; digit_of(*text) >= 0; text++) {
        if (text - digits >= NUMBER_DIGITS)
            return NULL;
        value = value << 4 | (uint64_t)digit_of(*text);
    }
    if (text == digits || (*text != ' ' && *text != '\t'))
        return NULL;
    *number = value;
    return text + strspn(text, " \t");
}

static bool take_entry(struct reader *reader, struct line *line)
{
    uint64_t start, bytes;
    const char *rest = take_number(line->text, &start);
    rest = rest ? take_number(rest, &bytes) : NULL;
    if (!rest)
        return true;
    char *name = line->text + (rest - line->text);
    name[strcspn(name, "\r")] = 0;
    if (strlen(name) >= JIT_NAME_BYTES)
        name[JIT_NAME_BYTES - 1] = 0;
    return name_range(reader, start, bytes, 0, name);
}

enum base_status jit_read_map(int file, const struct jit_limits *limits, struct jit_place *places,
                              size_t count, struct jit_account *account)
{
    struct reader *reader = begin(file, limits, places, count);
    struct line line;
    if (!reader)
        return BASE_NO_MEMORY;
    while (take_line(&reader->stream, &line) && take_entry(reader, &line))
        ;
    enum base_status status = conclude(reader, account);
    free(reader);
    return status;
}

/* ---- jitdump ------------------------------------------------------------------------------------- */

enum { DUMP_MAGIC = 0x4a695444, DUMP_VERSION = 1 };

enum dump_type { DUMP_LOAD = 0, DUMP_MOVE = 1, DUMP_CLOSE = 3 };

struct dump_header {
    uint32_t magic, version, bytes, machine, reserved, pid;
    uint64_t time_ns, flags;
};

struct dump_record {
    uint32_t type, bytes; /* of all of it */
    uint64_t time_ns;
};

struct dump_load {
    uint32_t pid, tid;
    uint64_t memory, start, bytes, index;
    /* then: the name, ended by a 0, and the code */
};

struct dump_move {
    uint32_t pid, tid;
    uint64_t memory, from, start, bytes, index;
};

static bool take_header(struct stream *stream)
{
    struct dump_header header;
    return take(stream, &header, sizeof header) && header.magic == DUMP_MAGIC &&
           header.version == DUMP_VERSION && header.machine == EM_X86_64 &&
           header.bytes >= sizeof header && take(stream, NULL, header.bytes - sizeof header);
}

/* Reads up to `most` bytes of a text that ends by a 0 within them; *read: how many. */
static bool take_name(struct stream *stream, uint64_t most, char name[JIT_NAME_BYTES],
                      uint64_t *read)
{
    size_t kept = 0;
    int byte = -1;
    *read = 0;
    while (*read < most && (byte = next_byte(stream)) > 0) {
        ++*read;
        if (kept < JIT_NAME_BYTES - 1)
            name[kept++] = (char)byte;
    }
    name[kept] = 0;
    *read += byte == 0;
    return byte == 0;
}

/* What a pass over the records does with them. False: the end. */
struct dump_pass {
    bool (*load)(struct reader *reader, const struct dump_load *load, const char *name);
    bool (*move)(struct reader *reader, const struct dump_move *move); /* may be NULL */
};

static bool take_load(struct reader *reader, const struct dump_pass *pass, uint64_t bytes)
{
    struct dump_load load;
    char name[JIT_NAME_BYTES];
    uint64_t read;
    if (bytes < sizeof load)
        return take(&reader->stream, NULL, bytes);
    bytes -= sizeof load;
    if (!take(&reader->stream, &load, sizeof load))
        return false;
    bool named = take_name(&reader->stream, bytes, name, &read);
    /* The code is there too, or the record is still being written. */
    if (!take(&reader->stream, NULL, bytes - read))
        return false;
    return !named || !name[0] || pass->load(reader, &load, name);
}

static bool take_move(struct reader *reader, const struct dump_pass *pass, uint64_t bytes)
{
    struct dump_move move;
    if (bytes < sizeof move || !pass->move)
        return take(&reader->stream, NULL, bytes);
    return take(&reader->stream, &move, sizeof move) &&
           take(&reader->stream, NULL, bytes - sizeof move) && pass->move(reader, &move);
}

static bool take_dump_record(struct reader *reader, const struct dump_pass *pass)
{
    struct dump_record record;
    if (!take(&reader->stream, &record, sizeof record) || record.bytes < sizeof record ||
        record.type == DUMP_CLOSE)
        return false;
    uint64_t bytes = record.bytes - sizeof record;
    switch (record.type) {
    case DUMP_LOAD: return take_load(reader, pass, bytes);
    case DUMP_MOVE: return take_move(reader, pass, bytes);
    default: return take(&reader->stream, NULL, bytes);
    }
}

static bool load_range(struct reader *reader, const struct dump_load *load, const char *name)
{
    return name_range(reader, load->start, load->bytes, load->index, name);
}

/* Whose name the function has that has moved here is said elsewhere, maybe long before. */
static bool move_range(struct reader *reader, const struct dump_move *move)
{
    if (!sound_range(move->start, move->bytes))
        return true;
    for (size_t i = first_from(reader, move->start);
         i < reader->count && reader->places[i].address - move->start < move->bytes; i++) {
        if (!spend(reader))
            return false;
        reader->places[i].index = move->index;
        reader->places[i].start = move->start;
        reader->places[i].bytes = move->bytes;
        reader->places[i].moved = true;
    }
    return true;
}

/* By the function's number. */
static int compare_moved(const void *left, const void *right)
{
    const struct jit_place *a = *(struct jit_place *const *)left;
    const struct jit_place *b = *(struct jit_place *const *)right;
    return (a->index > b->index) - (a->index < b->index);
}

static bool list_moved(struct reader *reader)
{
    reader->moved = calloc(reader->count + 1, sizeof(struct jit_place *));
    reader->no_memory = !reader->moved;
    for (size_t i = 0; i < reader->count && reader->moved; i++)
        if (reader->places[i].moved)
            reader->moved[reader->moved_count++] = &reader->places[i];
    if (reader->moved_count)
        qsort(reader->moved, reader->moved_count, sizeof *reader->moved, compare_moved);
    return reader->moved_count > 0;
}

static bool load_moved(struct reader *reader, const struct dump_load *load, const char *name)
{
    for (size_t i = BASE_FIRST(j, reader->moved_count, reader->moved[j]->index >= load->index);
         i < reader->moved_count && reader->moved[i]->index == load->index; i++) {
        if (!spend(reader) || !rename_place(reader, reader->moved[i], name))
            return false;
        reader->moved[i]->moved = false;
    }
    return true;
}

/* What is there now is not what was there before. */
static void forget_unknown(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        if (!reader->places[i].moved)
            continue;
        free(reader->places[i].name);
        reader->places[i] = (struct jit_place){.address = reader->places[i].address};
    }
}

/* From the file's beginning. False: it is no such file. */
static bool pass_over(struct reader *reader, const struct dump_pass *pass)
{
    reader->stream.at = reader->stream.end = 0;
    if (!take_header(&reader->stream))
        return false;
    while (take_dump_record(reader, pass))
        ;
    return true;
}

enum base_status jit_read_dump(int file, const struct jit_limits *limits, struct jit_place *places,
                               size_t count, struct jit_account *account)
{
    static const struct dump_pass first = {load_range, move_range}, second = {load_moved, NULL};
    off_t from = lseek(file, 0, SEEK_CUR);
    struct reader *reader = from >= 0 ? begin(file, limits, places, count) : NULL;
    if (!reader)
        return from < 0 ? BASE_IO : BASE_NO_MEMORY;
    bool sound = pass_over(reader, &first);
    if (sound && list_moved(reader) && lseek(file, from, SEEK_SET) == from) {
        reader->stream.left = limits->bytes;
        pass_over(reader, &second);
    }
    forget_unknown(reader);
    enum base_status status = conclude(reader, account);
    free(reader->moved);
    free(reader);
    return status == BASE_OK && !sound ? BASE_MALFORMED : status;
}
