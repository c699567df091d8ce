// SPDX-License-Identifier: MIT
/*
 * Fuzzes the import of raw logs, as agents and the exact engine write them: the input is a list of
 * changes of a sound log's records, whose checksums are made right again. Whatever comes out must
 * be a profile that can be read again and reported.
 */
#include "sound_log.h"

#include "import/import.h"
#include "profile/profile.h"
#include "show/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char log_path[] = "/dev/shm/headroom-fuzz-XXXXXX", profile_path[64];
static FILE *nowhere;

static void start(void)
{
    int file = mkstemp(log_path);
    require(file >= 0 && close(file) == 0);
    snprintf(profile_path, sizeof profile_path, "%s.headroom", log_path);
    nowhere = fopen("/dev/null", "w");
    require(nowhere != NULL);
    sound_log_fill();
}

/* ---- a changed one --------------------------------------------------------------------------- */

struct change {
    uint8_t entry, what;
    uint16_t at;
    uint64_t value;
};
_Static_assert(sizeof(struct change) == 16, "the value is aligned");
enum { CHANGE_BYTES = 12 }; /* in the input, without the hole */

static void apply(const struct change *change)
{
    struct entry *entry = &entries[change->entry % entries_count];
    struct wire_record *record = (struct wire_record *)entry->bytes;
    size_t bytes = record->bytes, width = (size_t[]){8, 4, 1, 2}[change->what & 3];
    switch (change->what >> 2 & 7) {
    case 0: entry->thread = (uint32_t)change->value & 3; return;
    case 1: /* of another length, and perhaps of another type */
        record->bytes = (uint16_t)(change->value % (RECORD_BYTES - 8) / 8 * 8 + 8);
        record->type = (uint16_t)(change->value >> 32 & 1 ? change->at % WIRE_TYPES : record->type);
        return;
    case 2: record->type = 0; return; /* gone */
    case 3:
        if (entries_count < RECORDS_MAX)
            entries[entries_count++] = *entry;
        return;
    default:
        if (bytes >= sizeof *record + width)
            memcpy(entry->bytes + sizeof *record +
                       change->at % (bytes - sizeof *record - width + 1),
                   &change->value, width);
    }
}

static void report(void)
{
    struct report_options options = {0};
    struct profile *profile = NULL;
    char error[PROFILE_ERROR_BYTES];
    require(profile_read(profile_path, &profile, error, sizeof error) == BASE_OK);
    require(report_json(profile, &options, nowhere) == BASE_OK);
    require(report_text(profile, &options, nowhere) == BASE_OK);
    profile_free(profile);
}

/* Imports what write_log has written; what comes of it is reported. */
static bool import(unsigned verb, bool exact, bool exited)
{
    static const char *const verbs[] = {"waste", "reuse", "paths"};
    char *command[] = {"true", NULL};
    struct binary_options symbols = {0};
    char error[512];
    struct import_run run = {.verb = verbs[verb],
                             .engine = exact ? "exact" : "live",
                             .command = command,
                             .exited = exited,
                             .wall_s = 1,
                             .cpu_s = 1};
    if (import_log(log_path, &run, &symbols, profile_path, NULL, NULL, error, sizeof error) !=
        BASE_OK)
        return false;
    report();
    return true;
}

static void restore(void)
{
    memcpy(entries, sound, sizeof sound);
    entries_count = sound_count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_config config = {.kinds = 15, .source = WIRE_SOURCE_CLOCK};
    if (!nowhere) {
        start();
        restore();
        write_log(log_path, &config);
        require(import(0, false, true)); /* else all would be in vain */
    }
    if (size < 2)
        return 0;
    restore();
    config.source = 1 + data[0] / 16 % 3;
    config.unit_shift = data[1] % 8;
    unsigned verb = data[0] % 3;
    bool exited = data[0] & 4, exact = data[0] & 8;
    for (data += 2, size -= 2; size >= CHANGE_BYTES; data += CHANGE_BYTES, size -= CHANGE_BYTES) {
        struct change change = {data[0], data[1], 0, 0};
        memcpy(&change.at, data + 2, sizeof change.at);
        memcpy(&change.value, data + 4, sizeof change.value);
        apply(&change);
    }
    write_log(log_path, &config);
    import(verb, exact, exited);
    return 0;
}
