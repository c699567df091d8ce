// SPDX-License-Identifier: MIT
/* The fields on a line: which of them are used, how several read together, and which two to keep apart. */
#include "sharing/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mask_of(const struct profile_shared_field *field)
{
    uint64_t bytes =
        field->bytes >= SHARING_LINE_BYTES ? ~UINT64_C(0) : (UINT64_C(1) << field->bytes) - 1;
    return bytes << field->byte;
}

uint64_t sharing_field_mask(const struct profile_shared_field *field)
{
    return mask_of(field);
}

uint64_t sharing_used(const struct sharing_line *line)
{
    uint64_t used = 0;
    for (size_t i = 0; i < line->users_count; i++)
        used |= line->users[i].read_mask | line->users[i].write_mask;
    return used;
}

/* ---- paths that differ in an index alone --------------------------------------------------------- */

/* What is before and behind the place in which several paths differ. */
struct pattern {
    size_t before, behind; /* bytes of the first path, from its beginning and end */
};

static bool closes(char byte)
{
    return byte == ']' || byte == ')' || byte == ',';
}

static bool opens(char byte)
{
    return byte == '[' || byte == '(' || byte == ',';
}

/* The index of a path by a pattern. False: it is not one number there. */
static bool index_of(const char *path, const struct pattern *pattern, uint64_t *index)
{
    size_t length = strlen(path);
    char *end;
    if (length <= pattern->before + pattern->behind ||
        !isdigit((unsigned char)path[pattern->before]))
        return false;
    *index = strtoull(path + pattern->before, &end, 10);
    return end == path + length - pattern->behind;
}

/* Of two paths that differ in one index, and in nothing else. */
static bool find_pattern(const char *a, const char *b, struct pattern *pattern)
{
    size_t left = strlen(a), right = strlen(b), before = 0, behind = 0;
    uint64_t index;
    while (a[before] && a[before] == b[before])
        before++;
    while (before && !opens(a[before - 1]))
        before--;
    while (behind < left - before && behind < right - before &&
           a[left - 1 - behind] == b[right - 1 - behind])
        behind++;
    while (behind && !closes(a[left - behind]))
        behind--;
    *pattern = (struct pattern){before, behind};
    return before && behind && index_of(a, pattern, &index) && index_of(b, pattern, &index);
}

/* ---- several fields as one text ------------------------------------------------------------------ */

size_t sharing_fields_in(const struct sharing_line *line, uint64_t mask,
                         const struct profile_shared_field *found[SHARING_FIELDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < line->fields_count && count < SHARING_FIELDS_MAX; i++)
        if (mask_of(&line->fields[i]) & mask)
            found[count++] = &line->fields[i];
    return count;
}

/* "counters[0..3].hits", if that is what all are. */
static bool together(const struct profile_shared_field *const *fields, size_t count,
                     char text[NAME_BYTES])
{
    struct pattern pattern;
    uint64_t least, most, index;
    const char *first = fields[0]->path;
    if (!find_pattern(first, fields[1]->path, &pattern) || !index_of(first, &pattern, &least))
        return false;
    size_t length = strlen(first), seen = 0;
    most = least;
    for (size_t i = 0; i < count; i++) {
        const char *path = fields[i]->path, *behind = path + strlen(path) - pattern.behind;
        if (!index_of(path, &pattern, &index) || strncmp(path, first, pattern.before) != 0 ||
            strcmp(behind, first + length - pattern.behind) != 0)
            return false;
        seen += index == most + 1;
        least = index < least ? index : least;
        most = index > most ? index : most;
    }
    bool all = seen + 1 == count;
    snprintf(text, NAME_BYTES, "%.*s%s%" PRIu64 "%s%" PRIu64 "%s", (int)pattern.before, first,
             all || count == 2 ? "" : "some of ", least, !all && count == 2 ? "," : "..", most,
             first + length - pattern.behind);
    return true;
}

bool sharing_fields_text(const struct sharing_line *line, uint64_t mask, char text[NAME_BYTES])
{
    const struct profile_shared_field *found[SHARING_FIELDS_MAX];
    size_t count = sharing_fields_in(line, mask, found);
    if (!count)
        return false;
    if (count == 1)
        snprintf(text, NAME_BYTES, "%s", found[0]->path);
    else if (together(found, count, text))
        return true;
    else if (count == 2)
        snprintf(text, NAME_BYTES, "%s%s%s", found[0]->path,
                 found[0]->flags & found[1]->flags & PROFILE_FIELD_OVERLAPS ? " or " : " and ",
                 found[1]->path);
    else
        snprintf(text, NAME_BYTES, "%s and %zu more", found[0]->path, count - 1);
    return true;
}

/* ---- what is used alike --------------------------------------------------------------------------- */

static bool used_alike(const struct sharing_line *line, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < line->users_count; i++) {
        const struct profile_shared_user *user = &line->users[i];
        if (!(user->read_mask & a) != !(user->read_mask & b) ||
            !(user->write_mask & a) != !(user->write_mask & b))
            return false;
    }
    return true;
}

bool sharing_next_run(const struct sharing_line *line, size_t *at, struct sharing_run *run)
{
    uint64_t used = sharing_used(line);
    while (*at < line->fields_count && !(mask_of(&line->fields[*at]) & used))
        ++*at;
    if (*at == line->fields_count)
        return false;
    const struct profile_shared_field *first = &line->fields[*at], *last = first;
    struct pattern pattern = {0}, next;
    size_t end = *at + 1;
    for (; end < line->fields_count; end++, last++) {
        const struct profile_shared_field *field = &line->fields[end];
        if (!(mask_of(field) & used) || !used_alike(line, mask_of(first), mask_of(field)) ||
            !find_pattern(first->path, field->path, &next) ||
            (last > first && (next.before != pattern.before || next.behind != pattern.behind)))
            break;
        pattern = next;
    }
    *run = (struct sharing_run){.first = first, .last = last};
    const struct profile_shared_field *ends[] = {first, last};
    if (last == first || !together(ends, 2, run->text))
        snprintf(run->text, sizeof run->text, "%s", first->path);
    *at = end;
    return true;
}

/* ---- what to keep apart --------------------------------------------------------------------------- */

/* A field that one thread uses and the other does not. */
static const struct profile_shared_field *own_field(const struct sharing_line *line,
                                                    const struct profile_shared_user *own,
                                                    const struct profile_shared_user *other)
{
    uint64_t uses = own->read_mask | own->write_mask, others = other->read_mask | other->write_mask;
    for (size_t i = 0; i < line->fields_count; i++) {
        uint64_t mask = mask_of(&line->fields[i]);
        if (mask & uses && !(mask & others))
            return &line->fields[i];
    }
    return NULL;
}

/* The type of the elements that differ: known if no further index follows. */
static void name_element(const struct profile_shared_field *field, size_t before,
                         struct sharing_remedy *remedy)
{
    const char *behind = field->path + before;
    if (strpbrk(behind, "[("))
        return;
    remedy->type = field->element;
    remedy->bytes = field->element_bytes;
}

/* How many bytes of two paths are equal, up to a member's name. */
static size_t common_part(const char *a, const char *b)
{
    size_t at = 0, end = 0;
    for (; a[at] && a[at] == b[at]; at++)
        if (a[at] == '.' || a[at] == '%')
            end = at + 1;
    return end;
}

static struct sharing_remedy compare_fields(const struct profile_shared_field *a,
                                            const struct profile_shared_field *b)
{
    struct sharing_remedy remedy = {.first = a, .second = b, .kind = SHARING_APART_VARIABLES};
    size_t at = 0;
    while (a->path[at] && a->path[at] == b->path[at])
        at++;
    size_t before = at;
    while (before && !opens(a->path[before - 1]) && !closes(a->path[before - 1]))
        before--;
    bool indices = before && opens(a->path[before - 1]) &&
                   isdigit((unsigned char)a->path[before]) &&
                   isdigit((unsigned char)b->path[before]);
    size_t common = common_part(a->path, b->path);
    if (indices && common <= before) {
        remedy.kind = SHARING_APART_ELEMENTS;
        name_element(a, before, &remedy);
    } else if (common) {
        remedy.kind = SHARING_APART_MEMBERS;
        bool same = a->owner && b->owner && strcmp(a->owner, b->owner) == 0;
        remedy.type = same ? a->owner : NULL;
    }
    return remedy;
}

bool sharing_remedy(const struct sharing_line *line, struct sharing_remedy *remedy)
{
    if (line->class == SHARING_TRUE)
        return false;
    for (size_t i = 0; i < line->users_count; i++)
        for (size_t j = i + 1; j < line->users_count; j++) {
            const struct profile_shared_user *one = &line->users[i], *other = &line->users[j];
            const struct profile_shared_field *a = own_field(line, one, other);
            const struct profile_shared_field *b = own_field(line, other, one);
            if (!a || !b || !((mask_of(a) & one->write_mask) | (mask_of(b) & other->write_mask)))
                continue;
            *remedy = a->byte <= b->byte ? compare_fields(a, b) : compare_fields(b, a);
            return true;
        }
    return false;
}

void sharing_remedy_text(const struct sharing_remedy *remedy, char *text, size_t bytes)
{
    const char *a = remedy->first->path, *b = remedy->second->path;
    switch (remedy->kind) {
    case SHARING_APART_ELEMENTS:
        snprintf(text, bytes, "Keep apart: %s and %s, elements of one array", a, b);
        if (remedy->bytes)
            print_add(text, bytes, ". Pad the elements,%s%s of %" PRIu64 " byte%s, to 64 bytes",
                      remedy->type ? " " : "", remedy->type ? remedy->type : "", remedy->bytes,
                      remedy->bytes == 1 ? "" : "s");
        break;
    case SHARING_APART_MEMBERS:
        snprintf(text, bytes, "Keep apart: %s and %s", a, b);
        if (remedy->type)
            print_add(text, bytes, ", members of %s", remedy->type);
        print_add(text, bytes, ". Align the second one to 64 bytes");
        break;
    default:
        snprintf(text, bytes,
                 "Keep apart: %s and %s, which lie beside each other. Align each to 64 bytes", a,
                 b);
    }
    print_add(text, bytes, ".");
}
