// SPDX-License-Identifier: MIT
/* Models by name: what was measured here, kept under CPU and microcode. */
#include "model/internal.h"
#include "keep/keep.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 16 << 20 };

/* ---- this processor ------------------------------------------------------------------------------- */

static uint64_t microcode_of(FILE *file)
{
    char line[256];
    unsigned long long microcode = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "microcode : %llx", &microcode) == 1)
            return microcode;
    return 0;
}

const char *model_table_of(uint64_t cpu)
{
    static const struct {
        uint16_t family;
        uint8_t first, last; /* models */
        const char *table;
    } known[] = {
        {0x17, 0x00, 0x2f, "zen1"},
        {0x17, 0x30, 0xff, "zen2"},
        {0x19, 0x00, 0x0f, "zen3"},
        {0x19, 0x10, 0x1f, "zen4"},
        {0x19, 0x20, 0x5f, "zen3"},
        {0x19, 0x60, 0xaf, "zen4"},
        {0x06, 0x2a, 0x2a, "sandy-bridge"},
        {0x06, 0x2d, 0x2d, "sandy-bridge"},
        {0x06, 0x3a, 0x3a, "ivy-bridge"},
        {0x06, 0x3e, 0x3e, "ivy-bridge"},
        {0x06, 0x3c, 0x3c, "haswell"},
        {0x06, 0x3f, 0x3f, "haswell"},
        {0x06, 0x45, 0x46, "haswell"},
        {0x06, 0x3d, 0x3d, "broadwell"},
        {0x06, 0x47, 0x47, "broadwell"},
        {0x06, 0x4f, 0x4f, "broadwell"},
        {0x06, 0x56, 0x56, "broadwell"},
        {0x06, 0x4e, 0x4e, "skylake"},
        {0x06, 0x5e, 0x5e, "skylake"},
        {0x06, 0x8e, 0x8e, "skylake"},
        {0x06, 0x9e, 0x9e, "skylake"},
        {0x06, 0xa5, 0xa6, "skylake"},
        {0x06, 0x55, 0x55, "skylake-x"},
        {0x06, 0x6a, 0x6a, "icelake"},
        {0x06, 0x6c, 0x6c, "icelake"},
        {0x06, 0x7d, 0x7e, "icelake"},
        {0x06, 0xa7, 0xa7, "icelake"},
        {0x06, 0x97, 0x97, "alder-lake"},
        {0x06, 0x9a, 0x9a, "alder-lake"},
        {0x06, 0xb7, 0xb7, "alder-lake"},
        {0x06, 0x8f, 0x8f, "sapphire-rapids"},
        {0x06, 0xcf, 0xcf, "sapphire-rapids"},
    };
    unsigned family = cpu >> 8 & 15, model = (cpu >> 4 & 15) | (cpu >> 12 & 0xf0);
    family += family == 15 ? cpu >> 20 & 255 : 0;
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (known[i].family == family && known[i].first <= model && model <= known[i].last)
            return known[i].table;
    return NULL;
}

void model_here(uint64_t *cpu, uint64_t *microcode, char title[64])
{
    unsigned a, b, c, d;
    *cpu = __get_cpuid(1, &a, &b, &c, &d) ? a : 0;
    *microcode = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file) {
        *microcode = microcode_of(file);
        fclose(file);
    }
    memset(title, 0, 64);
    for (unsigned i = 0; i < 3; i++)
        if (__get_cpuid(0x80000002 + i, &a, &b, &c, &d)) {
            const unsigned part[] = {a, b, c, d};
            memcpy(title + i * sizeof part, part, sizeof part);
        }
    size_t bytes = strlen(title), blanks = strspn(title, " ");
    memmove(title, title + blanks, bytes - blanks + 1);
    for (bytes = strlen(title); bytes && title[bytes - 1] == ' '; bytes--)
        title[bytes - 1] = 0;
    for (char *at = title; *at; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
            *at = '?';
    if (!*title)
        memcpy(title, "unnamed processor", sizeof "unnamed processor");
}

/* The brand counts, too: virtual machines give many processors one number and hide the microcode. */
static void file_name(char name[96])
{
    uint64_t cpu, microcode;
    char title[64];
    model_here(&cpu, &microcode, title);
    snprintf(name, 96, "model-%llx-%llx-%08x", (unsigned long long)cpu,
             (unsigned long long)microcode, (unsigned)base_hash_bytes(title, strlen(title), 0));
}

/* ---- the file -------------------------------------------------------------------------------------- */

static char *whole_file(int file, size_t *count)
{
    struct stat facts;
    if (fstat(file, &facts) || facts.st_size <= 0 || facts.st_size > FILE_MAX)
        return NULL;
    size_t want = (size_t)facts.st_size, got = 0;
    char *bytes = malloc(want);
    while (bytes && got < want) {
        ssize_t more = read(file, bytes + got, want - got);
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    *count = got;
    return bytes;
}

static enum base_status open_here(struct model **model, struct util_text *why)
{
    char name[96];
    size_t count = 0;
    file_name(name);
    int folder = keep_folder(false), file = folder < 0 ? -1 : keep_open(folder, name);
    char *bytes = file < 0 ? NULL : whole_file(file, &count);
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    /* A file that is not sound is as good as none: it is measured anew. */
    enum base_status status = bytes ? model_read(bytes, count, model, NULL) : BASE_NOT_FOUND;
    free(bytes);
    if (status == BASE_OK || status == BASE_NO_MEMORY)
        return status;
    if (why)
        util_text_print(why, "this machine was not measured yet; `headroom calibrate` does it");
    return BASE_NOT_FOUND;
}

bool model_keep(const struct model *model)
{
    char name[96];
    struct util_text text = {0};
    int folder = keep_folder(true);
    file_name(name);
    bool kept =
        folder >= 0 && model_write(model, &text) &&
        keep_write(folder, name, &(struct keep_part){.bytes = text.bytes, .count = text.count}, 1);
    if (folder >= 0)
        close(folder);
    util_text_free(&text);
    return kept;
}

/* ---- by name --------------------------------------------------------------------------------------- */

enum base_status model_open(const char *name, struct model **model, struct util_text *why)
{
    return strcmp(name, "here") ? model_open_table(name, model, why) : open_here(model, why);
}
