// SPDX-License-Identifier: MIT
/*
 * Graphs of functions for the exact engine (wire/graphs.h): it asks for a module when it meets the
 * first of its code, and waits. What it waits for is a file in a folder of this recording.
 */
#include "launch/exact.h"

#include "util/util.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool exact_graphs_begin(struct exact_graphs *graphs, const struct launch_exact_request *request)
{
    graphs->request = request;
    graphs->folder[0] = 0;
    if (!request->paths)
        return true;
    if (util_temporary_directory(util_temporary_root(), "headroom-graphs", graphs->folder,
                                 sizeof graphs->folder))
        return true;
    graphs->folder[0] = 0;
    return false;
}

/* The file that the engine saw, unless it has been replaced since. */
static bool same_file(const char *path, const char *name)
{
    struct stat status;
    const char *inode = strchr(name, '-');
    return inode && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           strtoull(inode + 1, NULL, 16) == status.st_ino;
}

void exact_graphs_answer(void *context, const char *request)
{
    const struct exact_graphs *graphs = context;
    char answer[LAUNCH_PATH_BYTES + 128], name[64];
    size_t length = strspn(request, "0123456789abcdef-");
    if (!graphs->folder[0] || length == 0 || length >= sizeof name || request[length] != ' ')
        return;
    memcpy(name, request, length);
    name[length] = 0;
    const char *path = request + length + 1;
    snprintf(answer, sizeof answer, "%s/%s", graphs->folder, name);
    if (access(answer, F_OK) == 0)
        return; /* another process asked as well */
    graphs->request->graphs(graphs->request->program.context, same_file(path, name) ? path : NULL,
                            answer);
}

void exact_graphs_end(struct exact_graphs *graphs)
{
    char path[LAUNCH_PATH_BYTES + 300];
    DIR *entries = graphs->folder[0] ? opendir(graphs->folder) : NULL;
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        snprintf(path, sizeof path, "%s/%s", graphs->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (entries)
        closedir(entries);
    if (graphs->folder[0])
        rmdir(graphs->folder);
    graphs->folder[0] = 0;
}
