# SPDX-License-Identifier: MIT
"""Damages regions: memory that headroom and a program share (src/common/wire/spans.h, built.h), a terabyte of holes with a little
in it. A mutant is a list of (offset, bytes) to be written over a sound one, and back."""
import json
import os

from elf import extreme


def extents(path):
    """[(offset, bytes)] of what is in the file."""
    found, at = [], 0
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            found.append((at, end - at))
            at = end
    return found


def places(random, file, found):
    """Words that hold something, mostly; the first page, which says how all is laid out, more often than others."""
    for _ in range(50):
        start, size = random.choice(found) if random.randrange(3) else found[0]
        at = start + random.randrange(min(size, 4096 if random.randrange(2) else size)) // 8 * 8
        word = os.pread(file, 8, at)
        if any(word) or random.randrange(8) == 0:
            return at, word
    return at, word


def mutate(random, path):
    found, patches, said = extents(path), [], []
    with open(path, "rb") as file:
        for _ in range(random.choice((1, 1, 2, 5, 20))):
            at, word = places(random, file.fileno(), found)
            width = random.choice((8, 4, 4, 2, 1))
            offset = random.randrange(8 // width) * width
            before = int.from_bytes(word[offset:offset + width], "little")
            value = extreme(random, before, width)
            patches.append((at + offset, value.to_bytes(width, "little").hex()))
            said.append(f"{at + offset:#x} {before:#x} -> {value:#x}")
    return json.dumps(patches).encode(), ", ".join(said)


def mutate_saved(random, data):
    """The same of the file that headroom keeps of a region beside the log; in one of eight, its end is missing."""
    data, said = bytearray(data), []
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        width = random.choice((8, 4, 4, 2, 1))
        for _ in range(50):
            at = random.randrange(min(len(data), random.choice((64, 8192, len(data)))) // width) * width
            before = int.from_bytes(data[at:at + width], "little")
            if before:
                break
        value = extreme(random, before, width)
        data[at:at + width] = value.to_bytes(width, "little")
        said.append(f"{at:#x} {before:#x} -> {value:#x}")
    if random.randrange(8) == 0:
        del data[random.randrange(len(data)):]
        said.append(f"cut to {len(data)}")
    return bytes(data), ", ".join(said)


def apply(path, patches):
    """Returns the patches that undo these."""
    undo = []
    with open(path, "r+b", buffering=0) as file:
        for at, text in json.loads(patches):
            data = bytes.fromhex(text)
            undo.insert(0, (at, os.pread(file.fileno(), len(data), at).hex()))
            os.pwrite(file.fileno(), data, at)
    return json.dumps(undo).encode()
