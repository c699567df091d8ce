# SPDX-License-Identifier: MIT
"""What scripts of this folder share: each other as modules (their names do not end in .py), tables in documents."""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def write_document(path, begin, end, text):
    """Replaces what is between the two marks."""
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(begin)
        after = rest.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n" + text + end + after)


def load(path):
    """The script at a path below bench/."""
    sys.dont_write_bytecode = True
    name = os.path.basename(path)
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
