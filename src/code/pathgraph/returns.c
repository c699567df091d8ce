// SPDX-License-Identifier: MIT
/*
 * Two sources: names of what other modules provide, found through the cell that a stub of the
 * procedure linkage table jumps through; and for the module's own functions whether there is a
 * return in them. Compilers know of a function that ends in exit() that it does not return, and
 * leave the return out.
 */
#include "pathgraph/pathgraph.h"

#include "cfg/cfg.h"

#include <stdlib.h>
#include <string.h>

/* Of functions that jump to others. With CFG_WAYS_MAX each: 1 + 4 + 16 looked at. */
enum { DEPTH_MAX = 2 };

/* The cell that a stub jumps through: [endbr64] [bnd] jmp *cell(%rip). */
static bool cell_of_stub(struct binary *binary, uint64_t stub, uint64_t *cell)
{
    static const uint8_t marker[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t code[11];
    size_t at = 0;
    int32_t offset;
    if (binary_read(binary, stub, code, sizeof code) != BASE_OK)
        return false;
    at += memcmp(code, marker, sizeof marker) == 0 ? sizeof marker : 0;
    at += code[at] == 0xf2;
    if (code[at] != 0xff || code[at + 1] != 0x25 || at + 6 > sizeof code)
        return false;
    memcpy(&offset, code + at + 2, sizeof offset);
    *cell = stub + at + 6 + (uint64_t)(int64_t)offset;
    return true;
}

static bool find_out(struct binary *binary, uint64_t callee, bool cell, unsigned depth);

/* What it jumps to counts as well: parts of it that were moved away, tail calls. */
static bool has_return(struct binary *binary, uint64_t callee, unsigned depth)
{
    uint8_t code[CFG_SWEEP_MAX];
    uint64_t start, end, ways[CFG_WAYS_MAX];
    size_t count;
    if (binary_function(binary, callee, &start, &end) != BASE_OK || start != callee ||
        end - start > sizeof code ||
        binary_read(binary, start, code, (size_t)(end - start)) != BASE_OK)
        return true;
    if (cfg_may_return(code, (size_t)(end - start), start, ways, &count))
        return true;
    for (size_t i = 0; i < count; i++)
        if (depth == 0 || find_out(binary, ways[i], false, depth - 1))
            return true;
    return false;
}

static bool find_out(struct binary *binary, uint64_t callee, bool cell, unsigned depth)
{
    uint64_t place = callee;
    if (!cell && !cell_of_stub(binary, callee, &place))
        return has_return(binary, callee, depth);
    const char *name = binary_import(binary, place);
    return !name || !binary_never_returns(name, strlen(name));
}

const char *pathgraph_callee(struct binary *binary, uint64_t callee, bool cell)
{
    uint64_t place = callee;
    if (cell || cell_of_stub(binary, callee, &place))
        return binary_import(binary, place);
    return binary_symbol(binary, callee);
}

void pathgraph_returns_begin(struct pathgraph_returns *returns, struct binary *binary)
{
    memset(returns, 0, sizeof *returns);
    returns->binary = binary;
}

bool pathgraph_returns_of(void *context, uint64_t callee, bool cell)
{
    struct pathgraph_returns *returns = context;
    uint64_t key = (callee << 1 | cell) + 1;
    struct pathgraph_returns_slot *slot =
        &returns->slots[base_mix64(key) % BASE_COUNT(returns->slots)];
    if (slot->key != key) {
        slot->returns = find_out(returns->binary, callee, cell, DEPTH_MAX);
        slot->key = key;
    }
    return slot->returns;
}
