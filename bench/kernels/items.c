// SPDX-License-Identifier: MIT
/*
 * Loads a shop's catalogue from JSON, as a large game is said to have done for years: items [COUNT]
 *
 * Each number and each name is taken with sscanf from where the last one ended; sscanf measures the length of
 * the text that is left, every time. Each item is then compared with all that were loaded, lest one be there twice.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    uint32_t key;
    unsigned price;
    char name[24];
};

struct catalogue {
    struct item **items;
    size_t count;
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fputs("items: not enough memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* What a server would send. */
static char *make_text(size_t count)
{
    char *text = allocate(count * 64 + 16), *at = text;
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t key = (uint32_t)(random >> 33) | 1;
        at += sprintf(at, "{\"key\":%" PRIu32 ",\"price\":%u,\"name\":\"item%zu\"},\n", key,
                      (unsigned)(random >> 20) % 100000, i);
    }
    return text;
}

static int is_loaded(const struct catalogue *catalogue, uint32_t key)
{
    for (size_t i = 0; i < catalogue->count; i++)
        if (catalogue->items[i]->key == key)
            return 1;
    return 0;
}

static void add_item(struct catalogue *catalogue, struct item *item)
{
    if (is_loaded(catalogue, item->key)) {
        free(item);
        return;
    }
    catalogue->items[catalogue->count++] = item;
}

/* The position behind the item, NULL at the end. */
static const char *load_item(struct item *item, const char *text)
{
    int length;
    if (sscanf(text, "{\"key\":%" SCNu32 ",\"price\":%u,%n", &item->key, &item->price, &length) !=
        2)
        return NULL;
    text += length;
    if (sscanf(text, "\"name\":\"%23[^\"]\"},\n%n", item->name, &length) != 1)
        return NULL;
    return text + length;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 25000;
    struct catalogue catalogue = {allocate(count * sizeof(struct item *)), 0};
    char *text = make_text(count);
    uint64_t sum = 0;
    for (const char *at = text; at;) {
        struct item *item = allocate(sizeof *item);
        at = load_item(item, at);
        if (at)
            add_item(&catalogue, item);
        else
            free(item);
    }
    for (size_t i = 0; i < catalogue.count; i++)
        sum += catalogue.items[i]->price * (i % 7);
    printf("%zu items, %" PRIu64 ", last %s\n", catalogue.count, sum,
           catalogue.count ? catalogue.items[catalogue.count - 1]->name : "none");
    return 0;
}
