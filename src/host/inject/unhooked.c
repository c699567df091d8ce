// SPDX-License-Identifier: MIT
/* Functions that were not hooked, and why. */
#include "inject/internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_listed(const struct inject_unhooked_list *list, const char *name, const char *module)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].name, name) == 0 &&
            strcmp(list->entries[i].module, module) == 0)
            return true;
    return false;
}

void inject_unhooked_add(struct inject_unhooked_list *list, const char *name, const char *module,
                         const char *reason)
{
    if (is_listed(list, name, module))
        return;
    struct inject_unhooked entry = {NULL, NULL, NULL};
    if (list->count < INJECT_UNHOOKED_MAX && UTIL_GROW(list->entries, list->capacity, list->count))
        entry = (struct inject_unhooked){strdup(name), strdup(module), strdup(reason)};
    if (entry.name && entry.module && entry.reason) {
        list->entries[list->count++] = entry;
        return;
    }
    free(entry.name);
    free(entry.module);
    free(entry.reason);
    list->more++;
}

void inject_unhooked_free(struct inject_unhooked *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(entries[i].name);
        free(entries[i].module);
        free(entries[i].reason);
    }
    free(entries);
}
