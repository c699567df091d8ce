# SPDX-License-Identifier: MIT
"""Scripts of this folder as modules: their names do not end in .py."""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load(path):
    """The script at a path below bench/."""
    sys.dont_write_bytecode = True
    name = os.path.basename(path)
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
