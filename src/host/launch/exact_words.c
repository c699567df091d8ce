// SPDX-License-Identifier: MIT
/*
 * What Valgrind and the tool write to their message log, reduced to what a user can do something
 * about. Lines are looked at as they come and not kept: a program that lives with illegal
 * instructions (by a handler) makes a dozen lines each time.
 */
#include "launch/exact.h"

#include "wire/graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "==123== text", "--123-- text" -> "text" */
static const char *skip_prefix(const char *line)
{
    if (strspn(line, "=-*") != 2)
        return line;
    const char *digits = line + 2, *after = digits;
    while (*after >= '0' && *after <= '9')
        after++;
    return after > digits && strspn(after, "=-*") == 2 ? after + 2 + strspn(after + 2, " ") : line;
}

static const char *after(const char *line, const char *start)
{
    size_t length = strlen(start);
    return strncmp(line, start, length) == 0 ? line + length : NULL;
}

/* A clause: sentences are made of it elsewhere, full stop included. */
static void keep(char *into, const char *said, const char *clause)
{
    size_t length = strlen(clause);
    if (!*into)
        snprintf(into, LAUNCH_MESSAGE_BYTES, "%s%.*s", said,
                 (int)(length && clause[length - 1] == '.' ? length - 1 : length), clause);
}

static const struct {
    const char *part, *clause;
} known_troubles[] = {
    {"out of memory", "memory ran out; the exact engine needs several times the program's memory"},
    {"Cannot allocate memory",
     "memory ran out; the exact engine needs several times the program's memory"},
    {"Max number of threads", "the program has more threads at the same time than the exact engine "
                              "can observe"},
    {"unsupported CPU", "Valgrind does not support this processor"},
};

/* Has the instruction an EVEX prefix, or a VEX prefix and mask registers, which nothing before AVX-512 has? "0x62 0xF1 ...". */
static bool is_avx512(const char *bytes)
{
    static const unsigned char with_masks[] = {0x41, 0x42, 0x44, 0x45, 0x46, 0x47, 0x4a,
                                               0x4b, 0x90, 0x91, 0x92, 0x93, 0x98, 0x99};
    enum { EVEX = 0x62, VEX3 = 0xc4, VEX2 = 0xc5, MAP_0F = 1, MAP_0F3A = 3 };
    unsigned long byte[4] = {0};
    char *end;
    for (size_t i = 0; i < BASE_COUNT(byte); i++, bytes = end)
        byte[i] = strtoul(bytes, &end, 16);
    if (byte[0] != VEX2 && byte[0] != VEX3)
        return byte[0] == EVEX;
    unsigned long map = byte[0] == VEX2 ? MAP_0F : byte[1] & 0x1f;
    unsigned long opcode = byte[0] == VEX2 ? byte[2] : byte[3];
    bool shifts_masks = map == MAP_0F3A && opcode >> 2 == 0x30 >> 2;
    return shifts_masks || (map == MAP_0F && memchr(with_masks, (int)opcode, sizeof with_masks));
}

/* place: " in FUNCTION", or "". */
static void say_unknown(struct exact_words *words, const char *place)
{
    const char *bytes = words->unknown_bytes;
    if (is_avx512(bytes))
        snprintf(words->unknown, sizeof words->unknown,
                 "the program met an AVX-512 instruction%s, which Valgrind does not know; compile "
                 "it without -march=native and -mavx512 options",
                 place);
    else
        snprintf(words->unknown, sizeof words->unknown,
                 "the program met an instruction%s that Valgrind does not know (%.60s)", place,
                 bytes);
}

static void take_unknown_instruction(struct exact_words *words, const char *bytes)
{
    snprintf(words->unknown_bytes, sizeof words->unknown_bytes, "%s", bytes);
    words->unknown_placed = false;
    say_unknown(words, "");
}

/* "at 0x123: FUNCTION (in FILE)", the first line of the stack that follows; FUNCTION may be "???". */
static void take_place(struct exact_words *words, const char *text)
{
    const char *name = strstr(text, ": "), *end = NULL;
    char place[LAUNCH_MESSAGE_BYTES / 2];
    if (words->unknown_placed || !words->unknown[0] || !name)
        return;
    words->unknown_placed = true;
    name += 2;
    /* A function's name may hold a parenthesis. */
    for (const char *at = name; (at = strstr(at, " (")) != NULL; at++)
        end = at;
    if (!end || strncmp(name, "???", 3) == 0)
        return;
    snprintf(place, sizeof place, " in %.*s", (int)(end - name), name);
    say_unknown(words, place);
}

static void take_line(struct exact_words *words, const char *line)
{
    const char *text = skip_prefix(line), *rest;
    if ((rest = after(text, "headroom: log: "))) {
        keep(words->log_failure, "", rest);
    } else if ((rest = after(text, WIRE_GRAPHS_ASK))) {
        if (words->ask)
            words->ask(words->context, rest);
    } else if (after(text, "headroom: " EXACT_UNOBSERVED ": ")) {
        words->unobserved_child = true;
    } else if ((rest = after(text, "headroom: "))) {
        keep(words->trouble, strstr(rest, "Assertion") ? "the exact engine failed: " : "", rest);
    } else if ((rest = strstr(text, "unhandled instruction bytes: "))) {
        take_unknown_instruction(words, strchr(rest, ':') + 2);
    } else if (after(text, "at 0x")) {
        take_place(words, text);
    } else {
        for (size_t i = 0; i < BASE_COUNT(known_troubles); i++)
            if (strstr(text, known_troubles[i].part))
                keep(words->trouble, "", known_troubles[i].clause);
        /* Only the first of these says so, the others are addresses and good advice. */
        if ((rest = after(text, "valgrind: ")) && !strstr(rest, "Unrecognised instruction"))
            keep(words->trouble, "Valgrind says: ", rest);
    }
}

void exact_words_take(struct exact_words *words, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != '\n' && text[i]) {
            if (words->used + 1 < sizeof words->line)
                words->line[words->used++] = text[i];
            continue;
        }
        words->line[words->used] = 0;
        words->used = 0;
        take_line(words, words->line);
    }
}
