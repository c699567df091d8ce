// SPDX-License-Identifier: MIT
/*
 * What was measured, kept as lines of text with a checksum behind them. Read whole, believed only if all of it is
 * sound.
 */
#include "keep/keep.h"
#include "machine/internal.h"

#include <cpuid.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 4096, MACHINE_BYTES = 512 };

static const char head[] = "headroom latencies 1\n", file_name[] = "machine.latency";

/* Of a line in order, out of the first level, to a load out of memory behind two hypervisors. */
static bool is_plausible(double ns)
{
    return ns >= 0.01 && ns <= 10000;
}

/* ---- whose ----------------------------------------------------------------------------------- */

static bool take_value(const char *line, const char *name, char *out, size_t bytes)
{
    const char *value = strncmp(line, name, strlen(name)) == 0 ? strchr(line, ':') : NULL;
    if (!value || out[0])
        return false;
    value += 1 + strspn(value + 1, " \t");
    snprintf(out, bytes, "%.*s", (int)strcspn(value, "\n"), value);
    return true;
}

/* "Xeon ... 0x1 hypervisor:KVMKVMKVM caches:...": what the figures hang on. */
static void name_machine(char name[MACHINE_BYTES])
{
    char line[256], model[128] = "", microcode[32] = "", vendor[13] = "";
    struct machine_cache caches[MACHINE_LATENCIES_MOST];
    unsigned a, words[3];
    FILE *file = fopen("/proc/cpuinfo", "re");
    for (unsigned lines = 0; file && lines < 64 && fgets(line, sizeof line, file); lines++)
        if (!take_value(line, "model name", model, sizeof model))
            take_value(line, "microcode", microcode, sizeof microcode);
    if (file)
        fclose(file);
    if (__get_cpuid(1, &a, &words[0], &words[1], &words[2]) && words[1] >> 31) {
        __cpuid(0x40000000, a, words[0], words[1], words[2]);
        memcpy(vendor, words, sizeof words);
    }
    for (char *at = vendor; *at; at++)
        *at = *at > ' ' && *at < 0x7f ? *at : '?';
    int used = snprintf(name, MACHINE_BYTES, "%s, microcode %s, hypervisor %s, caches", model,
                        microcode, vendor[0] ? vendor : "none");
    size_t count = machine_caches("", caches, BASE_COUNT(caches));
    for (size_t i = 0; i < count && used > 0 && used < MACHINE_BYTES; i++)
        used += snprintf(name + used, MACHINE_BYTES - (size_t)used, " %" PRIu64, caches[i].bytes);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* False: the text did not fit. */
static bool append(size_t bytes, size_t *used, int length)
{
    *used += length > 0 ? (size_t)length : bytes;
    return *used < bytes;
}

bool machine_latencies_write(const struct machine_latencies *latencies, const char *machine,
                             char *text, size_t bytes)
{
    size_t used = 0;
    bool fits = append(bytes, &used, snprintf(text, bytes, "%smachine %s\n", head, machine));
    for (size_t i = 0; i < latencies->count && fits; i++) {
        const struct machine_latency *item = &latencies->items[i];
        fits = append(bytes, &used,
                      snprintf(text + used, bytes - used, "level %u %" PRIu64 " %.4f %.4f\n",
                               item->level, item->bytes, item->chase_ns, item->stream_ns));
    }
    fits = fits && append(bytes, &used,
                          snprintf(text + used, bytes - used, "transfer %u %.4f\n",
                                   (unsigned)latencies->transfer, latencies->transfer_ns));
    return fits && append(bytes, &used,
                          snprintf(text + used, bytes - used, "sum %016" PRIx64 "\n",
                                   base_hash_bytes(text, used, 1)));
}

/* Of one line; false: it is none. */
static bool read_level(const char *line, struct machine_latencies *to)
{
    struct machine_latency item;
    if (to->count == MACHINE_LATENCIES_MOST ||
        sscanf(line, "level %" SCNu32 " %" SCNu64 " %lf %lf", &item.level, &item.bytes,
               &item.chase_ns, &item.stream_ns) != 4)
        return false;
    to->items[to->count++] = item;
    return is_plausible(item.chase_ns) && is_plausible(item.stream_ns);
}

static bool read_transfer(const char *line, struct machine_latencies *to)
{
    unsigned transfer;
    if (sscanf(line, "transfer %u %lf", &transfer, &to->transfer_ns) != 2 ||
        transfer >= MACHINE_TRANSFERS)
        return false;
    to->transfer = (enum machine_transfer)transfer;
    return transfer == MACHINE_TRANSFER_MEASURED ? is_plausible(to->transfer_ns)
                                                 : to->transfer_ns == 0;
}

/* Where the last line begins, if its sum is that of all before it; NULL: it is not. */
static const char *sound_end(const char *text)
{
    const char *end = strstr(text, "\nsum ");
    uint64_t sum;
    char rest;
    if (!end || sscanf(end, "\nsum %16" SCNx64 "%c", &sum, &rest) != 2 || rest != '\n' ||
        strchr(end + 1, '\n')[1])
        return NULL;
    return base_hash_bytes(text, (size_t)(end + 1 - text), 1) == sum ? end + 1 : NULL;
}

bool machine_latencies_read(const char *text, const char *machine,
                            struct machine_latencies *latencies)
{
    struct machine_latencies made = {.kept = true};
    char whose[MACHINE_BYTES + 64];
    int length = snprintf(whose, sizeof whose, "%smachine %s\n", head, machine);
    const char *end = sound_end(text);
    if (!end || length >= (int)sizeof whose || strncmp(text, whose, (size_t)length) != 0)
        return false;
    const char *line = text + length;
    for (; strncmp(line, "level ", 6) == 0; line = strchr(line, '\n') + 1)
        if (!read_level(line, &made))
            return false;
    if (!read_transfer(line, &made) || strchr(line, '\n') + 1 != end)
        return false;
    *latencies = made;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool find_kept(const char *machine, struct machine_latencies *latencies)
{
    char text[FILE_BYTES];
    int folder = keep_folder(false);
    int file = folder < 0 ? -1 : keep_open(folder, file_name);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    if (got <= 0)
        return false;
    text[got] = 0;
    return machine_latencies_read(text, machine, latencies);
}

static void keep(const char *machine, const struct machine_latencies *latencies)
{
    char text[FILE_BYTES];
    int folder = keep_folder(true);
    if (folder < 0)
        return;
    if (machine_latencies_write(latencies, machine, text, sizeof text))
        keep_write(folder, file_name, &(struct keep_part){text, strlen(text), 0}, 1);
    close(folder);
}

enum base_status machine_latencies(bool transfer, struct machine_latencies *latencies)
{
    char machine[MACHINE_BYTES];
    struct machine_latencies made;
    name_machine(machine);
    bool kept = find_kept(machine, &made);
    enum base_status status = kept ? BASE_OK : machine_latencies_measure(&made);
    if (status != BASE_OK)
        return status;
    bool again = transfer && made.transfer == MACHINE_TRANSFER_BUSY;
    if (again)
        machine_latencies_bounce(&made);
    if (!kept || (again && made.transfer != MACHINE_TRANSFER_BUSY))
        keep(machine, &made);
    *latencies = made;
    return BASE_OK;
}
