// SPDX-License-Identifier: MIT
/*
 * Finding separate debug files, in the order of gdb(1): by build-id under the
 * debug root, by the name in .gnu_debuglink beside the program, in its .debug
 * directory and under the debug root; then from servers. A candidate counts
 * only if its build-id or its checksum proves that it belongs to the program:
 * lines of another build are worse than none.
 */
#include "binary/debugfile.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LEAST_ID = 2, GREATEST_ID = 64 };

static const char *root_of(const struct binary_options *options)
{
    return options && options->debug_root ? options->debug_root : "/usr/lib/debug";
}

bool debugfile_has_dwarf(Elf *elf)
{
    GElf_Shdr header;
    return image_section(elf, ".debug_info", &header) ||
           image_section(elf, ".zdebug_info", &header);
}

static ssize_t build_id(Elf *elf, const void **id)
{
    ssize_t bytes = dwelf_elf_gnu_build_id(elf, id);
    return bytes >= LEAST_ID && bytes <= GREATEST_ID ? bytes : 0;
}

static bool has_build_id(Elf *elf, const void *wanted, size_t bytes)
{
    const void *id;
    return bytes && build_id(elf, &id) == (ssize_t)bytes && memcmp(id, wanted, bytes) == 0;
}

/* .debug_info may be empty after dwz moved everything, but a debug file has symbols, too. */
static bool open_with_id(const char *path, const void *id, size_t bytes, struct image *image)
{
    struct image opened;
    if (image_open(path, &opened) != BASE_OK)
        return false;
    if (!has_build_id(opened.elf, id, bytes)) {
        image_close(&opened);
        return false;
    }
    *image = opened;
    return true;
}

static bool path_by_id(const char *root, const void *id, size_t bytes, char path[PATH_MAX])
{
    const uint8_t *digits = id;
    int length = snprintf(path, PATH_MAX, "%s/.build-id/%02x/", root, digits[0]);
    for (size_t i = 1; i < bytes && length > 0 && length < PATH_MAX; i++)
        length += snprintf(path + length, (size_t)(PATH_MAX - length), "%02x", digits[i]);
    if (length <= 0 || length >= PATH_MAX - 7)
        return false;
    strcpy(path + length, ".debug");
    return true;
}

/* ---- .gnu_debuglink ------------------------------------------------------------------ */

/* The checksum is the CRC-32 that zlib has, too. */
static bool has_checksum(int file, uint32_t wanted)
{
    enum { BLOCK = 1 << 16 };
    uint8_t *block = malloc(BLOCK);
    uLong crc = crc32(0, NULL, 0);
    off_t offset = 0;
    ssize_t bytes = block ? 0 : -1;
    while (block && (bytes = pread(file, block, BLOCK, offset)) > 0) {
        crc = crc32(crc, block, (uInt)bytes);
        offset += bytes;
    }
    free(block);
    return bytes == 0 && crc == wanted;
}

struct link {
    const char *name;
    GElf_Word crc;
    const void *id;
    size_t id_bytes;
};

static bool open_linked(const char *path, const struct link *link, struct image *image)
{
    struct image opened;
    const void *id;
    if (image_open(path, &opened) != BASE_OK)
        return false;
    /* Equal build-ids spare reading the whole file; unequal ones settle it. */
    bool matches = link->id_bytes && build_id(opened.elf, &id)
                       ? has_build_id(opened.elf, link->id, link->id_bytes)
                       : has_checksum(opened.file, link->crc);
    if (!matches) {
        image_close(&opened);
        return false;
    }
    *image = opened;
    return true;
}

static bool find_linked(const char *main_path, const struct link *link, const char *root,
                        struct image *image, char path[PATH_MAX])
{
    char real[PATH_MAX];
    if (!realpath(main_path, real))
        return false;
    *strrchr(real, '/') = 0;
    const char *formats[][3] = {
        {"", real, ""}, {"", real, "/.debug"}, {root, real, ""}, {root, "", ""}};
    for (size_t i = 0; i < BASE_COUNT(formats); i++) {
        int length = snprintf(path, PATH_MAX, "%s%s%s/%s", formats[i][0], formats[i][1],
                              formats[i][2], link->name);
        if (length > 0 && length < PATH_MAX && strcmp(path, main_path) != 0 &&
            open_linked(path, link, image))
            return true;
    }
    return false;
}

/* ---- in order -------------------------------------------------------------------------- */

static bool find_on_servers(const struct link *link, struct image *image, char path[PATH_MAX])
{
    char *fetched = NULL;
    int file = debuginfod_fetch(link->id, link->id_bytes, &fetched);
    if (file < 0)
        return false;
    close(file); /* the cache keeps the file: opened again like any other */
    bool found = fetched && strlen(fetched) < PATH_MAX &&
                 open_with_id(fetched, link->id, link->id_bytes, image);
    if (found)
        strcpy(path, fetched);
    free(fetched);
    return found;
}

enum base_status debugfile_open(const char *main_path, Elf *main,
                                const struct binary_options *options, struct image *debug,
                                char **path)
{
    char found[PATH_MAX];
    struct link link = {0};
    const char *root = root_of(options);
    link.id_bytes = (size_t)build_id(main, &link.id);
    link.name = dwelf_elf_gnu_debuglink(main, &link.crc);
    struct image opened;
    bool success = link.id_bytes && path_by_id(root, link.id, link.id_bytes, found) &&
                   open_with_id(found, link.id, link.id_bytes, &opened);
    if (!success && link.name && *link.name && !strchr(link.name, '/'))
        success = find_linked(main_path, &link, root, &opened, found);
    if (!success && options && options->debuginfod && link.id_bytes)
        success = find_on_servers(&link, &opened, found);
    if (!success)
        return BASE_NOT_FOUND;
    char *copy = strdup(found);
    if (!copy) {
        image_close(&opened);
        return BASE_NO_MEMORY;
    }
    *debug = opened;
    *path = copy;
    return BASE_OK;
}

enum base_status debugfile_open_common(const char *near, const char *name, const void *id,
                                       size_t id_bytes, const struct binary_options *options,
                                       struct image *common)
{
    char real[PATH_MAX];
    char path[PATH_MAX];
    if (id_bytes < LEAST_ID || id_bytes > GREATEST_ID)
        return BASE_MALFORMED; /* libdw would look for it, and wait for a FIFO of that name */
    if (path_by_id(root_of(options), id, id_bytes, path) &&
        open_with_id(path, id, id_bytes, common))
        return BASE_OK;
    if (!realpath(near, real))
        return BASE_NOT_FOUND;
    *strrchr(real, '/') = 0;
    int length = name[0] == '/' ? snprintf(path, sizeof path, "%s", name)
                                : snprintf(path, sizeof path, "%s/%s", real, name);
    if (length <= 0 || (size_t)length >= sizeof path)
        return BASE_NOT_FOUND;
    if (open_with_id(path, id, id_bytes, common))
        return BASE_OK;
    return access(path, F_OK) == 0 ? BASE_MALFORMED : BASE_NOT_FOUND;
}
