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
