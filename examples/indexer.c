// SPDX-License-Identifier: MIT
/*
 * A text indexer as one finds them: which words occur in which paragraphs, and
 * how often. It is correct and it is slow, in two ways that `headroom waste`
 * shows:
 *
 *   - next_word() clears the whole word buffer before it fills in a few bytes:
 *     dead stores, the memset against itself;
 *   - find_word() looks for the word in a short table of long lists: redundant
 *     loads, the same keys over and over.
 *
 *     cc -O2 -g -o indexer examples/indexer.c
 *     headroom waste -- ./indexer
 *
 * With -DFIXED the two places are mended (a terminator instead of the memset; as
 * many buckets as words), and the output stays the same.
 *
 * indexer [TEXT_FILE]: without a file it indexes a text that it makes up.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_BYTES = 1024,
#ifdef FIXED
    BUCKETS = 1 << 16,
#else
    BUCKETS = 1 << 10,
#endif
    MADE_UP_WORDS = 10000000,
    VOCABULARY = 20000,
};

struct text {
    char *bytes;
    size_t length;
    size_t at;
    unsigned paragraph;
};

struct word {
    char bytes[WORD_BYTES];
    size_t length;
};

struct entry {
    struct entry *next;
    uint32_t hash;
    unsigned count, paragraphs, last_paragraph;
    char word[];
};

struct index {
    struct entry *buckets[BUCKETS];
    unsigned entries;
};

/* Takes the next word of the text in lower case; returns 0 at the end. */
static int next_word(struct text *text, struct word *word)
{
#ifndef FIXED
    memset(word->bytes, 0, sizeof word->bytes);
#endif
    word->length = 0;
    while (text->at < text->length && !isalpha((unsigned char)text->bytes[text->at])) {
        if (text->bytes[text->at] == '\n')
            text->paragraph++;
        text->at++;
    }
    while (text->at < text->length && isalpha((unsigned char)text->bytes[text->at])) {
        if (word->length < WORD_BYTES - 1)
            word->bytes[word->length++] = (char)tolower((unsigned char)text->bytes[text->at]);
        text->at++;
    }
    word->bytes[word->length] = '\0';
    return word->length > 0;
}

static uint32_t hash_word(const struct word *word)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < word->length; i++)
        hash = (hash ^ (unsigned char)word->bytes[i]) * 16777619u;
    return hash;
}

static struct entry *find_word(const struct index *index, const struct word *word, uint32_t hash)
{
    struct entry *entry = index->buckets[hash % BUCKETS];
    while (entry && (entry->hash != hash || strcmp(entry->word, word->bytes) != 0))
        entry = entry->next;
    return entry;
}

static struct entry *add_word(struct index *index, const struct word *word, uint32_t hash)
{
    struct entry *entry = calloc(1, sizeof *entry + word->length + 1);
    if (!entry) {
        fputs("indexer: out of memory\n", stderr);
        exit(1);
    }
    memcpy(entry->word, word->bytes, word->length + 1);
    entry->hash = hash;
    entry->next = index->buckets[hash % BUCKETS];
    index->buckets[hash % BUCKETS] = entry;
    index->entries++;
    return entry;
}

static void index_text(struct index *index, struct text *text)
{
    struct word word;
    while (next_word(text, &word)) {
        uint32_t hash = hash_word(&word);
        struct entry *entry = find_word(index, &word, hash);
        if (!entry)
            entry = add_word(index, &word, hash);
        entry->count++;
        if (entry->paragraphs == 0 || entry->last_paragraph != text->paragraph)
            entry->paragraphs++;
        entry->last_paragraph = text->paragraph;
    }
}

static struct text read_text(const char *path)
{
    struct text text = {0};
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    text.length = (size_t)ftell(file);
    text.bytes = malloc(text.length + 1);
    rewind(file);
    if (!text.bytes || fread(text.bytes, 1, text.length, file) != text.length) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* Words of three to ten letters; frequent ones are as frequent as in a language (1/rank). */
static struct text make_up_text(void)
{
    struct text text = {.bytes = malloc((size_t)MADE_UP_WORDS * 12)};
    uint64_t random = 88172645463325252u;
    if (!text.bytes) {
        fputs("indexer: out of memory\n", stderr);
        exit(1);
    }
    for (int i = 0; i < MADE_UP_WORDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t high = 1 + (random >> 40) % VOCABULARY;
        uint64_t rank = 1 + (random >> 20) % high;
        uint64_t letters = rank * 11400714819323198485u;
        for (uint64_t length = 3 + (letters >> 60) % 8; length > 0; length--) {
            text.bytes[text.length++] = (char)('a' + (letters >> 32) % 26);
            letters = letters * 6364136223846793005u + rank;
        }
        text.bytes[text.length++] = i % 100 == 99 ? '\n' : ' ';
    }
    return text;
}

int main(int argc, char **argv)
{
    static struct index index;
    struct text text = argc > 1 ? read_text(argv[1]) : make_up_text();
    const struct entry *most = NULL;
    index_text(&index, &text);
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        for (const struct entry *entry = index.buckets[bucket]; entry; entry = entry->next)
            if (!most || entry->count > most->count)
                most = entry;
    printf("%u words", index.entries);
    if (most)
        printf("; \"%s\" %u times in %u paragraphs", most->word, most->count, most->paragraphs);
    printf("\n");
    free(text.bytes);
    return 0;
}
