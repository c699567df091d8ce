// SPDX-License-Identifier: MIT
#include "cli/places.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "NAME" of "DIRECTORY/NAME". */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool directory_of(const char *path, char directory[LAUNCH_PATH_BYTES])
{
    size_t length = (size_t)(base_of(path) - path);
    if (length >= LAUNCH_PATH_BYTES)
        return false;
    memcpy(directory, length ? path : ".", length ? length : 1);
    directory[length ? length : 1] = 0;
    return true;
}

bool places_name(int file, char path[LAUNCH_PATH_BYTES])
{
    return launch_names_file(path, file) || launch_file_name(file, path);
}

/* ---- places ------------------------------------------------------------------------------------
 */

static bool join(char path[LAUNCH_PATH_BYTES], const char *directory, const char *base)
{
    int printed = snprintf(path, LAUNCH_PATH_BYTES, "%s/%s", directory, base);
    return printed > 0 && printed < LAUNCH_PATH_BYTES;
}

void places_begin(struct places *places, const char *output)
{
    char directory[LAUNCH_PATH_BYTES];
    places->directory =
        directory_of(output, directory) ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    places->begun = true;
    if (places->directory < 0 || !launch_file_name(places->directory, directory) ||
        !join(places->absolute, directory, base_of(output)))
        places->absolute[0] = 0;
}

static bool make_refuge(struct places *places)
{
    if (places->refuge[0])
        return true;
    /* What TMPDIR names may have been deleted as well. */
    if (util_temporary_directory(util_temporary_root(), "headroom", places->refuge,
                                 sizeof places->refuge) ||
        util_temporary_directory("/tmp", "headroom", places->refuge, sizeof places->refuge))
        return true;
    places->refuge[0] = 0;
    return false;
}

static bool name_place(struct places *places, unsigned number, const char *output,
                       char path[LAUNCH_PATH_BYTES])
{
    char directory[LAUNCH_PATH_BYTES];
    switch (number) {
    case 0: return snprintf(path, LAUNCH_PATH_BYTES, "%s", output) < LAUNCH_PATH_BYTES;
    case 1:
        return places->directory >= 0 && launch_file_name(places->directory, directory) &&
               join(path, directory, base_of(output));
    case 2: return places->absolute[0] && strcpy(path, places->absolute);
    default: return make_refuge(places) && join(path, places->refuge, base_of(output));
    }
}

/* True: its directory is there and was not tried under another name. */
static bool is_new(struct places *places, const char *path)
{
    char directory[LAUNCH_PATH_BYTES];
    struct stat info;
    if (!directory_of(path, directory) || stat(directory, &info) != 0)
        return false;
    for (unsigned i = 0; i < places->tried_count; i++)
        if (places->tried[i].device == info.st_dev && places->tried[i].inode == info.st_ino)
            return false;
    places->tried[places->tried_count].device = info.st_dev;
    places->tried[places->tried_count++].inode = info.st_ino;
    return true;
}

bool places_next(struct places *places, const char *output, char path[LAUNCH_PATH_BYTES])
{
    while (places->next < PLACES) {
        unsigned number = places->next++;
        /* Under its own name first, whatever is wrong with it: the error that is reported is about
         * it. */
        if (name_place(places, number, output, path) && (is_new(places, path) || number == 0))
            return true;
    }
    return false;
}

/* ---- files without a name ----------------------------------------------------------------------
 */

static bool copy(int from, int to)
{
    char buffer[1 << 16];
    ssize_t got;
    for (off_t at = 0; (got = pread(from, buffer, sizeof buffer, at)) > 0; at += got)
        for (ssize_t done = 0, put; done < got; done += put)
            if ((put = write(to, buffer + done, (size_t)(got - done))) <= 0)
                return false;
    return got == 0;
}

bool places_rescue(struct places *places, int file, const char *base, char path[LAUNCH_PATH_BYTES])
{
    char place[LAUNCH_PATH_BYTES];
    if (!make_refuge(places) || !join(place, places->refuge, base_of(base)))
        return false;
    int to = open(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = to >= 0 && copy(file, to);
    int reason = errno;
    if (to >= 0 && close(to) != 0)
        good = false;
    if (good)
        strcpy(path, place);
    else if (to >= 0)
        unlink(place);
    errno = reason;
    return good;
}

void places_end(struct places *places)
{
    if (!places->begun)
        return;
    if (places->directory >= 0)
        close(places->directory);
    if (places->refuge[0])
        rmdir(places->refuge);
    places->begun = false;
}
