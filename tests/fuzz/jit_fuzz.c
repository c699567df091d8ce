// SPDX-License-Identifier: MIT
/*
 * Fuzzes the readers of perf maps and jitdumps: the first bit of the input says which. A name that
 * was given must be one that covers its address, and no longer than is promised.
 */
#include "binary/jit.h"
#include "require.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct jit_place *places)
{
    for (size_t i = 0; i < PLACES; i++) {
        require(!places[i].moved);
        if (places[i].name)
            require(places[i].name[0] && strlen(places[i].name) < JIT_NAME_BYTES &&
                    places[i].address >= places[i].start &&
                    places[i].address - places[i].start < places[i].bytes);
        free(places[i].name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jit_limits limits = {.bytes = UINT64_C(1) << 16, .names = 1000};
    struct jit_place places[PLACES] = {{0}};
    struct jit_account account;
    if (size < 1)
        return 0;
    for (size_t i = 0; i < PLACES; i++)
        places[i].address = i < PLACES / 2 ? i * 3 : UINT64_MAX - (PLACES - i) * 5;
    int file = memfd_create("jit", MFD_CLOEXEC);
    require(file >= 0 && write(file, data + 1, size - 1) == (ssize_t)(size - 1) &&
            lseek(file, 0, SEEK_SET) == 0);
    if (data[0] & 1)
        jit_read_dump(file, &limits, places, PLACES, &account);
    else
        jit_read_map(file, &limits, places, PLACES, &account);
    close(file);
    check(places);
    return 0;
}
