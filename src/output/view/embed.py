#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes C of the page's script and style, each with the hash by which its security policy admits it.

usage: embed.py APP.js APP.css OUTPUT.c
"""
import base64
import hashlib
import pathlib
import re
import sys


def array(name, content):
    """The bytes, a zero behind them."""
    rows = [content[i:i + 24] + (b"\0" if i + 24 >= len(content) else b"") for i in range(0, len(content), 24)]
    return f"const char view_{name}[] = {{\n" + "".join(
        "".join(f"{byte if byte < 128 else byte - 256}," for byte in row) + "\n" for row in rows) + "};\n"


def main(script, style, output):
    text = '// SPDX-License-Identifier: MIT\n#include "view/internal.h"\n'
    for name, path in (("script", script), ("style", style)):
        content = pathlib.Path(path).read_bytes()
        if re.search(rb"</?(script|style)|<!--|\r", content, re.I):
            sys.exit(f"{path}: cannot stand inside of an element: it has a tag, a comment or a carriage return.")
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        text += array(name, content) + f'const char view_{name}_hash[] = "sha256-{digest}";\n'
    pathlib.Path(output).write_text(text)


main(*sys.argv[1:])
