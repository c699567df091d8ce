// SPDX-License-Identifier: MIT
/*
 * Built for few large files, which each run reads whole: the checksum of a kept file is that of all
 * its bytes, since a machine that lost power may leave any of them zero.
 */
#include "binary/saved.h"

#include "binary/binary.h"
#include "binary/image.h"
#include "keep/keep.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SAVED_MAGIC UINT64_C(0x3144455641534448) /* "HDSAVED1" */

enum {
    PAYLOAD_OFFSET = 4096, /* of a page: it is mapped */
    NAME_BYTES = 64,
    FILES_MAX = 4096,
    STALE_S = 3600, /* what is still being written then never will be */
    TOUCH_S = 3600, /* times of use are kept no finer than this       */
};
static const uint64_t most_bytes = UINT64_C(256) << 20; /* some dozens of large libraries */

struct header {
    uint64_t magic, count, checksum;
    struct saved_key key;
};

/* ---- keys ---------------------------------------------------------------------------------- */

static int note_maker(struct dl_phdr_info *info, size_t size, void *context)
{
    struct saved_key *key = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
        for (size_t left = segment->p_type == PT_NOTE ? segment->p_memsz : 0;
             left > sizeof(ElfW(Nhdr));) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            size_t name = (note->n_namesz + 3u) & ~3u, data = (note->n_descsz + 3u) & ~3u;
            if (name + data > left - sizeof *note)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                note->n_descsz <= sizeof key->maker)
                memcpy(key->maker, (const char *)(note + 1) + name, note->n_descsz);
            at += sizeof *note + name + data;
            left -= sizeof *note + name + data;
        }
    }
    return 1; /* the first object is the program: enough */
}

bool saved_key(const struct image *image, enum saved_kind kind, struct saved_key *key)
{
    struct stat status;
    const void *id;
    struct saved_key made = {.kind = kind};
    ssize_t bytes = dwelf_elf_gnu_build_id(image->elf, &id);
    if (bytes < 8 || bytes > (ssize_t)sizeof made.id || image->file < 0 ||
        fstat(image->file, &status) != 0)
        return false;
    made.id_bytes = (uint32_t)bytes;
    memcpy(made.id, id, (size_t)bytes);
    made.file_bytes = (uint64_t)status.st_size;
    made.modified_s = (uint64_t)status.st_mtim.tv_sec;
    made.modified_ns = (uint64_t)status.st_mtim.tv_nsec;
    snprintf((char *)made.maker, sizeof made.maker, "%s", HEADROOM_VERSION);
    dl_iterate_phdr(note_maker, &made);
    *key = made;
    return true;
}

static void name_file(const struct saved_key *key, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016llx%016llx.%s",
             (unsigned long long)base_hash_bytes(key, sizeof *key, 1),
             (unsigned long long)base_hash_bytes(key, sizeof *key, 2),
             key->kind == SAVED_UNWIND ? "unwind" : "debug");
}

enum { LANES = 8, BLOCK_BYTES = LANES * 8 };

static void mix_block(uint64_t *lanes, const unsigned char *bytes)
{
    for (unsigned i = 0; i < LANES; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, 8);
        lanes[i] = (lanes[i] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

/* Eight lanes: as fast as memory, where one word after the other would wait for multiplications. */
static uint64_t checksum(const void *bytes, size_t count)
{
    uint64_t lanes[LANES];
    unsigned char rest[BLOCK_BYTES] = {0};
    const unsigned char *at = bytes, *end = at + count;
    for (unsigned i = 0; i < LANES; i++)
        lanes[i] = base_mix64(count + i);
    for (; end - at >= BLOCK_BYTES; at += BLOCK_BYTES)
        mix_block(lanes, at);
    memcpy(rest, at, (size_t)(end - at));
    mix_block(lanes, rest);
    return base_hash_bytes(lanes, sizeof lanes, 0);
}

/* ---- finding ------------------------------------------------------------------------------- */

static bool is_sound(const struct saved_key *key, const struct saved *saved)
{
    const struct header *header = saved->mapping;
    return saved->mapping_bytes > PAYLOAD_OFFSET && header->magic == SAVED_MAGIC &&
           header->count == saved->mapping_bytes - PAYLOAD_OFFSET &&
           memcmp(&header->key, key, sizeof *key) == 0 &&
           header->checksum ==
               checksum((const char *)saved->mapping + PAYLOAD_OFFSET, header->count);
}

/* The time of the last use decides what is removed first. */
static void touch(int file, const struct stat *status)
{
    const struct timespec now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    if (time(NULL) - status->st_mtim.tv_sec > TOUCH_S)
        futimens(file, now);
}

static bool map_file(int file, const struct saved_key *key, struct saved *saved)
{
    struct stat status;
    struct saved found = {0};
    if (fstat(file, &status) != 0 || status.st_size <= PAYLOAD_OFFSET)
        return false;
    found.mapping_bytes = (size_t)status.st_size;
    found.mapping = mmap(NULL, found.mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (found.mapping == MAP_FAILED)
        return false;
    found.bytes = (char *)found.mapping + PAYLOAD_OFFSET;
    found.count = found.mapping_bytes - PAYLOAD_OFFSET;
    if (!is_sound(key, &found)) {
        saved_release(&found);
        return false;
    }
    touch(file, &status);
    *saved = found;
    return true;
}

bool saved_find(const struct saved_key *key, struct saved *saved)
{
    char name[NAME_BYTES];
    int folder = keep_folder(false);
    if (folder < 0)
        return false;
    name_file(key, name);
    int file = keep_open(folder, name);
    bool found = file >= 0 && map_file(file, key, saved);
    if (file >= 0)
        close(file);
    close(folder);
    return found;
}

void saved_release(struct saved *saved)
{
    if (saved->mapping)
        munmap(saved->mapping, saved->mapping_bytes);
    *saved = (struct saved){0};
}

/* ---- keeping ------------------------------------------------------------------------------- */

struct kept {
    char name[NAME_BYTES];
    uint64_t bytes;
    time_t used;
};

static int compare_kept(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    return (a->used > b->used) - (a->used < b->used);
}

static bool has_suffix(const char *name)
{
    const char *suffix = strrchr(name, '.');
    return suffix && (strcmp(suffix, ".unwind") == 0 || strcmp(suffix, ".debug") == 0);
}

/* What is in the folder and is ours; removes what was left unfinished. */
static size_t list_kept(int folder, struct kept *kept, uint64_t *total)
{
    size_t count = 0;
    struct stat status;
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    if (!entries && copy >= 0)
        close(copy);
    for (struct dirent *entry; entries && count < FILES_MAX && (entry = readdir(entries));) {
        if (strlen(entry->d_name) >= NAME_BYTES ||
            fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (keep_is_unfinished(entry->d_name) && time(NULL) - status.st_mtim.tv_sec > STALE_S)
            unlinkat(folder, entry->d_name, 0);
        if (!has_suffix(entry->d_name))
            continue;
        strcpy(kept[count].name, entry->d_name);
        kept[count].bytes = (uint64_t)status.st_size;
        kept[count].used = status.st_mtim.tv_sec;
        *total += kept[count++].bytes;
    }
    if (entries)
        closedir(entries);
    return count;
}

/*
 * What may still be kept without listing the folder again, which takes as long as a small program runs where
 * thousands of files are kept: as long as nobody else makes or removes files there.
 */
static struct {
    pthread_mutex_t lock;
    struct stat folder; /* as this process left it */
    uint64_t bytes, files;
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool take_room(int folder, uint64_t wanted)
{
    struct stat now;
    const struct stat *then = &room.folder;
    if (!room.files || room.bytes < wanted || fstat(folder, &now) != 0 ||
        now.st_dev != then->st_dev || now.st_ino != then->st_ino ||
        now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
        return false;
    room.bytes -= wanted;
    room.files--;
    return true;
}

static void look_for_room(int folder, uint64_t wanted)
{
    uint64_t total = wanted;
    struct kept *kept = calloc(FILES_MAX, sizeof *kept);
    size_t count = kept ? list_kept(folder, kept, &total) : 0;
    size_t spare = count == FILES_MAX ? FILES_MAX / 4 : 0; /* there may be more */
    if (total > most_bytes || spare) {
        qsort(kept, count, sizeof *kept, compare_kept);
        for (size_t i = 0; i < count && (total > most_bytes / 4 * 3 || i < spare); i++) {
            unlinkat(folder, kept[i].name, 0);
            total -= kept[i].bytes;
            count--;
        }
    }
    room.bytes = total < most_bytes ? most_bytes - total : 0;
    room.files = kept && count < FILES_MAX ? FILES_MAX - count : 0;
    free(kept);
}

static void make_room(int folder, uint64_t wanted)
{
    pthread_mutex_lock(&room.lock);
    if (!take_room(folder, wanted))
        look_for_room(folder, wanted);
    pthread_mutex_unlock(&room.lock);
}

void saved_keep(const struct saved_key *key, const void *bytes, size_t count)
{
    char name[NAME_BYTES];
    struct header header = {
        .magic = SAVED_MAGIC, .count = count, .checksum = checksum(bytes, count), .key = *key};
    const struct keep_part parts[] = {{bytes, count, PAYLOAD_OFFSET}, {&header, sizeof header, 0}};
    int folder = count && count < most_bytes / 4 ? keep_folder(true) : -1;
    if (folder < 0)
        return;
    make_room(folder, count);
    name_file(key, name);
    keep_write(folder, name, parts, BASE_COUNT(parts));
    pthread_mutex_lock(&room.lock);
    if (fstat(folder, &room.folder) != 0)
        room.files = 0;
    pthread_mutex_unlock(&room.lock);
    close(folder);
}
