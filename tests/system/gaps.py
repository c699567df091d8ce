#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which programs have gaps between their LOAD segments: gaps.py [FILE...], or those in the system's directories.

A gap is a page between two segments that belongs to neither. What lies there is not the program's, and the address of its
text does not lead to its headers.
"""
import os
import struct
import sys

PAGE = 4096
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DIRECTORIES = ("/usr/bin", "/usr/sbin", "/usr/local/bin")


def read_headers(path):
    """[(type, address, size in memory)] of an x86-64 ELF file, or None for any other."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", head, 18)[0] != 62:
                return None
            offset, = struct.unpack_from("<Q", head, 32)
            size, number = struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(size * number)
    except OSError:
        return None
    found = []
    for at in range(0, len(table) - 55, size or 56):
        kind, _flags, _offset, address, _physical, _file_size, memory_size = struct.unpack_from("<IIQQQQQ", table, at)
        found.append((kind, address, memory_size))
    return found


def is_program(path):
    headers = read_headers(path)
    return headers is not None and os.access(path, os.X_OK)


def is_dynamic(path):
    return any(kind == PT_INTERP for kind, _, _ in read_headers(path) or [])


def has_gap(path):
    end = None
    for kind, address, size in read_headers(path) or []:
        if kind != PT_LOAD:
            continue
        if end is not None and address // PAGE > end:
            return True
        end = (address + size + PAGE - 1) // PAGE
    return False


def main():
    names = sys.argv[1:] or [os.path.join(place, name) for place in DIRECTORIES if os.path.isdir(place)
                             for name in sorted(os.listdir(place))]
    programs = sorted({os.path.realpath(name) for name in names if is_program(name)})
    for path in programs:
        if has_gap(path):
            print(path)
    print(f"{sum(map(has_gap, programs))} of {len(programs)} programs have gaps", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
