// SPDX-License-Identifier: MIT
/*
 * The forecast's view of memory: the program's own bytes, read in blocks
 * through a reader that never faults (a system call each, so blocks are kept
 * for the forecast), under an overlay of the words stored to since.
 *
 * The overlay is emptied by raising a generation number, not by clearing:
 * most forecasts touch a few entries. Signal-safe; state is the machine's.
 */
#include "forecast/machine.h"
#include <string.h>

void machine_forget_memory(struct machine *machine)
{
    memset(machine->block_tags, 0, sizeof(machine->block_tags));
}

static unsigned read_block(struct machine *machine, uint64_t number, unsigned set)
{
    unsigned at = set * BLOCK_WAYS + machine->block_oldest[set]++ % BLOCK_WAYS;
    uint64_t address = number * BLOCK_BYTES;
    machine->block_tags[at] = number + 1;
    machine->block_readable[at] =
        address < USER_LIMIT &&
        base_read(machine->memory, address, machine->blocks[at], BLOCK_BYTES);
    return at;
}

static unsigned find_block(struct machine *machine, uint64_t address)
{
    uint64_t number = address / BLOCK_BYTES;
    unsigned set = (unsigned)(number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BLOCK_SET_BITS));
    for (unsigned at = set * BLOCK_WAYS; at < (set + 1) * BLOCK_WAYS; at++) {
        if (machine->block_tags[at] == number + 1)
            return at;
    }
    return read_block(machine, number, set);
}

unsigned machine_fetch(struct machine *machine, uint64_t address, uint8_t *out, unsigned bytes)
{
    unsigned done = 0;
    while (done < bytes) {
        uint64_t at = address + done;
        unsigned offset = (unsigned)(at % BLOCK_BYTES), part = BLOCK_BYTES - offset;
        unsigned block = find_block(machine, at);
        if (!machine->block_readable[block])
            break;
        if (part > bytes - done)
            part = bytes - done;
        memcpy(out + done, machine->blocks[block] + offset, part);
        done += part;
    }
    return done;
}

/* The word's entry, or the free one where it belongs. The table never fills (WORDS_MAX). */
static struct word *find_word(struct machine *machine, uint64_t number)
{
    unsigned at = (unsigned)(number * UINT64_C(0x9e3779b97f4a7c15) >> 55);
    for (;; at = (at + 1) % WORDS) {
        struct word *word = &machine->words[at];
        if (word->generation != machine->word_generation || word->number == number)
            return word;
    }
}

_Static_assert(WORDS == 1 << 9, "find_word hashes to 9 bits");

static bool is_current(const struct machine *machine, const struct word *word)
{
    return word->generation == machine->word_generation;
}

void machine_forget_stores(struct machine *machine)
{
    if (++machine->word_generation == 0) { /* wrapped: stale entries would come alive */
        memset(machine->words, 0, sizeof(machine->words));
        machine->word_generation = 1;
    }
    machine->words_used = 0;
    machine->ranges_used = 0;
}

void machine_store_anywhere(struct machine *machine)
{
    machine_forget_stores(machine);
    machine->untrusted = true;
}

static bool in_range(const struct machine *machine, uint64_t address)
{
    for (unsigned i = 0; i < machine->ranges_used; i++) {
        if (address - machine->ranges[i].start < machine->ranges[i].bytes)
            return true;
    }
    return false;
}

bool machine_is_untouched(struct machine *machine, uint64_t address, unsigned bytes)
{
    for (unsigned i = 0; i < machine->ranges_used; i++) {
        const struct range *range = &machine->ranges[i];
        if (address - range->start < range->bytes || range->start - address < bytes)
            return false;
    }
    uint64_t last = (address + bytes - 1) / 8;
    for (uint64_t number = address / 8; number <= last && machine->words_used; number++) {
        if (is_current(machine, find_word(machine, number)))
            return false;
    }
    return !machine->untrusted;
}

/* What stores did to the loaded bytes, word by word. */
static uint64_t apply_words(struct machine *machine, uint64_t address, unsigned bytes, uint8_t *out,
                            uint64_t known)
{
    for (uint64_t number = address / 8; number <= (address + bytes - 1) / 8; number++) {
        const struct word *word = find_word(machine, number);
        if (!is_current(machine, word))
            continue;
        for (unsigned i = 0; i < 8; i++) {
            uint64_t offset = number * 8 + i - address;
            if (offset >= bytes || !(word->written >> i & 1))
                continue;
            known &= ~(UINT64_C(1) << offset);
            known |= (uint64_t)(word->known >> i & 1) << offset;
            out[offset] = word->bytes[i];
        }
    }
    return known;
}

uint64_t machine_load(struct machine *machine, uint64_t address, unsigned bytes, uint8_t *out)
{
    uint64_t known = 0;
    if (address >= USER_LIMIT)
        return 0;
    if (!machine->untrusted) {
        unsigned read = machine_fetch(machine, address, out, bytes);
        known = read == 64 ? UINT64_MAX : (UINT64_C(1) << read) - 1;
    }
    if (machine->ranges_used) {
        for (unsigned i = 0; i < bytes; i++) {
            if (in_range(machine, address + i))
                known &= ~(UINT64_C(1) << i);
        }
    }
    return machine->words_used ? apply_words(machine, address, bytes, out, known) : known;
}

void machine_store(struct machine *machine, uint64_t address, unsigned bytes, const uint8_t *data,
                   uint64_t known)
{
    for (unsigned i = 0; i < bytes;) {
        uint64_t number = (address + i) / 8;
        struct word *word = find_word(machine, number);
        if (!is_current(machine, word)) {
            if (machine->words_used >= WORDS_MAX) {
                machine_store_anywhere(machine);
                word = find_word(machine, number);
            }
            machine->words_used++;
            word->number = number;
            word->generation = machine->word_generation;
            word->written = word->known = 0;
        }
        for (unsigned at = (address + i) % 8; at < 8 && i < bytes; at++, i++) {
            uint8_t bit = (uint8_t)(1u << at);
            word->written |= bit;
            word->known = known >> i & 1 ? word->known | bit : word->known & (uint8_t)~bit;
            word->bytes[at] = data[i];
        }
    }
}

void machine_store_range(struct machine *machine, uint64_t address, uint64_t bytes)
{
    if (machine->ranges_used == RANGES) {
        machine_store_anywhere(machine);
        return;
    }
    machine->ranges[machine->ranges_used++] = (struct range){address, bytes};
    for (unsigned at = 0; at < WORDS && machine->words_used; at++) {
        struct word *word = &machine->words[at];
        if (!is_current(machine, word))
            continue;
        for (unsigned i = 0; i < 8; i++) {
            if (word->number * 8 + i - address < bytes)
                word->known &= (uint8_t) ~(1u << i);
        }
    }
}
