// SPDX-License-Identifier: MIT
/*
 * A program that looks after its own code: `own_text sum` compares a checksum of its text with the
 * file's, before and after a second of work; `own_text change` replaces the first bytes of its own
 * functions again and again, as programs do that patch themselves, and calls what comes out.
 */
#include "hooked.h"

HOOKED uint64_t checksum(const unsigned char *bytes, size_t count)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

HOOKED uint64_t work(uint64_t turns)
{
    busy_turns(turns);
    return turns + 1;
}

/* The executable part of the program, as /proc/self/maps gives it, against the same bytes of the
 * file. */
static bool is_as_in_file(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    bool is_same = false;
    must(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx r-xp %lx", &start, &end, &offset) != 3 ||
            (unsigned long)checksum < start || (unsigned long)checksum >= end)
            continue;
        unsigned char *copy = malloc(end - start);
        int file = open("/proc/self/exe", O_RDONLY);
        must(copy && file >= 0);
        ssize_t bytes = pread(file, copy, end - start, (off_t)offset);
        must(bytes > 0);
        close(file);
        is_same = checksum((unsigned char *)start, (size_t)bytes) == checksum(copy, (size_t)bytes);
        free(copy);
    }
    fclose(maps);
    return is_same;
}

static void sum_up(void)
{
    for (int i = 0; i < 3; i++) {
        say("text is %s\n", is_as_in_file() ? "as in the file" : "changed");
        busy(400);
        for (uint64_t k = 0; k < 1000; k++)
            work(k);
    }
}

HOOKED uint64_t changed(uint64_t value)
{
    OPAQUE(value);
    return value + 1;
}

/* mov $answer, %eax; ret in place of what is there */
static void put_answer(void *function, uint32_t answer)
{
    unsigned char code[6] = {0xb8, 0, 0, 0, 0, 0xc3};
    uintptr_t page = (uintptr_t)function & ~(uintptr_t)4095;
    memcpy(code + 1, &answer, 4);
    must(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    memcpy(function, code, sizeof code);
    must(mprotect((void *)page, 8192, PROT_READ | PROT_EXEC) == 0);
}

static void change(void)
{
    uint64_t (*volatile function)(uint64_t) = changed;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 1000; i++)
        sum += function(i);
    say("as compiled %llu\n", (unsigned long long)sum);
    for (uint32_t i = 0; i < 200; i++) {
        put_answer((void *)function, i);
        busy(2);
        uint64_t seen = function(7);
        if (seen != i)
            say("wrong: %llu instead of %u\n", (unsigned long long)seen, i);
    }
    say("changed\n");
}

int main(int argc, char **argv)
{
    must(argc > 1);
    if (strcmp(argv[1], "sum") == 0)
        sum_up();
    else
        change();
    return 0;
}
