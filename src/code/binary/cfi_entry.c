// SPDX-License-Identifier: MIT
/*
 * Records of .eh_frame and .debug_frame (DWARF 5 section 6.4.1; LSB core,
 * "Exception Frames"). Own code rather than dwarf_cfi_addrframe, which searches
 * and interprets from the start for every single address: whole tables of
 * large programs would take minutes.
 */
#include "binary/cfi.h"
#include "binary/pointer.h"

/* One record's bytes after its length and identifier. */
struct record {
    struct bytes body;
    size_t offset; /* of the identifier in the section */
    uint64_t id;
    bool wide; /* 64-bit DWARF */
};

enum {
    RETURN_ADDRESS_COLUMN = 16,
    /*
     * Of a common entry: compilers make "zPLR" and five instructions. Each of many small entries
     * refers to it, and reads it anew: were it as long as the section, the time would go with the
     * square of that.
     */
    LETTERS_MAX = 16,
    INITIAL_BYTES_MAX = 1024,
};

static bool read_record(const struct cfi_section *section, size_t *offset, struct record *record)
{
    if (*offset >= section->size)
        return false;
    struct bytes bytes = {section->bytes + *offset, section->bytes + section->size, false};
    uint64_t length = bytes_fixed(&bytes, 4);
    bool wide = length == UINT32_MAX;
    if (wide)
        length = bytes_fixed(&bytes, 8);
    if (bytes.failed || length > (uint64_t)(bytes.end - bytes.at))
        return false;
    *offset = (size_t)(bytes.at - section->bytes) + length;
    bytes.end = bytes.at + length;
    record->wide = wide;
    record->offset = (size_t)(bytes.at - section->bytes);
    /* .eh_frame's identifier has 4 bytes even in the wide format. */
    record->id = bytes_fixed(&bytes, wide && !section->eh ? 8 : 4);
    record->body = bytes;
    return true;
}

static bool is_common(const struct cfi_section *section, const struct record *record)
{
    if (section->eh)
        return record->id == 0;
    return record->id == (record->wide ? UINT64_MAX : UINT32_MAX);
}

/* The letters after 'z'; each has its data in order. False for a letter we do not know. */
static bool read_augmentation(const char *letters, struct bytes *data, struct cfi_entry *entry)
{
    for (; *letters; letters++) {
        switch (*letters) {
        case 'R': entry->pointer_encoding = (uint8_t)bytes_fixed(data, 1); break;
        case 'P': {
            uint64_t ignored;
            uint8_t encoding = (uint8_t)bytes_fixed(data, 1);
            pointer_read(data, entry->section, encoding & ~POINTER_INDIRECT, &ignored);
            break;
        }
        case 'L': entry->handlers_encoding = (uint8_t)bytes_fixed(data, 1); break;
        case 'S': entry->signal_frame = true; break;
        case 'B': /* pointer authentication: nothing on this machine */ break;
        default: return false;
        }
    }
    return !data->failed;
}

static bool read_common(const struct cfi_section *section, struct bytes body,
                        struct cfi_entry *entry)
{
    uint64_t version = bytes_fixed(&body, 1);
    const char *letters = (const char *)body.at;
    size_t most = (size_t)(body.end - body.at);
    if (!memchr(letters, 0, most < LETTERS_MAX ? most : LETTERS_MAX))
        return false;
    body.at += strlen(letters) + 1;
    if (version != 1 && version != 3 && version != 4)
        return false;
    if (version == 4 && bytes_fixed(&body, 2) != 8) /* address size 8, segment size 0 */
        return false;
    entry->section = section;
    entry->code_factor = bytes_uleb(&body);
    entry->data_factor = bytes_sleb(&body);
    entry->return_column = (uint8_t)(version == 1 ? bytes_fixed(&body, 1) : bytes_uleb(&body));
    entry->pointer_encoding = POINTER_ABSOLUTE;
    entry->handlers_encoding = CFI_OMITTED;
    entry->signal_frame = false;
    entry->augmented = *letters == 'z';
    if (entry->augmented) {
        uint64_t length = bytes_uleb(&body);
        struct bytes data = body;
        bytes_skip(&body, length);
        data.end = body.at;
        if (body.failed || !read_augmentation(letters + 1, &data, entry))
            return false;
    } else if (*letters) {
        return false;
    }
    entry->initial = body.at;
    entry->initial_end = body.end;
    return !body.failed && body.end - body.at <= INITIAL_BYTES_MAX &&
           entry->return_column == RETURN_ADDRESS_COLUMN;
}

static bool find_common(const struct cfi_section *section, const struct record *record,
                        struct cfi_entry *entry)
{
    /* .eh_frame counts back from the identifier itself, .debug_frame from the section's start. */
    if (section->eh && record->id > record->offset)
        return false;
    size_t offset = section->eh ? record->offset - (size_t)record->id : (size_t)record->id;
    struct record common;
    return read_record(section, &offset, &common) && is_common(section, &common) &&
           read_common(section, common.body, entry);
}

/* The only augmentation data of an entry. A relative pointer of 0 is no pointer. */
static void read_handlers(struct cfi_entry *entry, struct bytes *body, uint64_t length)
{
    struct bytes data = *body;
    struct bytes value = *body;
    uint64_t pointer;
    bytes_skip(body, length);
    data.end = value.end = body->at;
    if (body->failed || entry->handlers_encoding == CFI_OMITTED ||
        !pointer_read(&value, entry->section, entry->handlers_encoding & POINTER_FORMAT,
                      &pointer) ||
        pointer == 0 || !pointer_read(&data, entry->section, entry->handlers_encoding, &pointer))
        return;
    entry->handlers = pointer;
}

enum cfi_next cfi_next(const struct cfi_section *section, size_t *offset, struct cfi_entry *entry)
{
    struct record record;
    struct cfi_entry found = {0};
    uint64_t length;
    if (!read_record(section, offset, &record))
        return CFI_DONE;
    /* A length of 0 ends .eh_frame for the run-time, but linkers leave some in the middle. */
    if (record.body.failed || is_common(section, &record) || !find_common(section, &record, &found))
        return CFI_SKIPPED;
    struct bytes *body = &record.body;
    if (!pointer_read(body, section, found.pointer_encoding, &found.start) ||
        !pointer_read(body, section, found.pointer_encoding & POINTER_FORMAT, &length) ||
        length == 0 || __builtin_add_overflow(found.start, length, &found.end))
        return CFI_SKIPPED;
    if (found.augmented)
        read_handlers(&found, body, bytes_uleb(body));
    if (body->failed)
        return CFI_SKIPPED;
    found.program = body->at;
    found.program_end = body->end;
    *entry = found;
    return CFI_ENTRY;
}
