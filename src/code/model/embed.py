#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes C of the tables of other machines: their list, and the whole text deflated.

usage: embed.py TABLES.txt OUTPUT.c
"""
import pathlib
import sys
import zlib


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main(tables, output):
    content = pathlib.Path(tables).read_bytes()
    entries, current = [], {}
    for line in content.decode().splitlines():
        word, _, rest = line.partition(" ")
        if word == "machine":
            current = {"name": rest}
            entries.append(current)
        elif word in ("also", "title"):
            current[word] = rest
        elif word == "forms":
            break
    packed = zlib.compress(content, 9)
    text = '// SPDX-License-Identifier: MIT\n#include "model/internal.h"\n'
    text += "const struct model_entry model_entries[] = {\n"
    text += "".join(f"    {{{quoted(entry['name'])}, {quoted(entry['title'])}}},\n" for entry in entries) + "};\n"
    text += "const char *const model_other_names[] = {\n"
    text += "".join(f"    {quoted(' ' + entry['also'] + ' ')},\n" for entry in entries) + "};\n"
    text += f"const size_t model_entry_count = {len(entries)};\n"
    text += f"const size_t model_tables_bytes = {len(content)}, model_tables_packed_bytes = {len(packed)};\n"
    text += "const unsigned char model_tables_packed[] = {\n"
    text += "".join("".join(f"{byte}," for byte in packed[i:i + 24]) + "\n" for i in range(0, len(packed), 24)) + "};\n"
    pathlib.Path(output).write_text(text)


main(*sys.argv[1:])
