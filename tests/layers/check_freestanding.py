#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves by linking that the rooms marked F in layers.txt need nothing but mem*: every room,
with the rooms it may include and nothing else, becomes a shared object under -nostdlib -z defs.
Then sees that planted calls of libc, of libgcc and of another room do not link. The agent
stands on libc, but may take from it only the names that layers.txt lists for it: neither
allocation nor output nor locks.

usage: check_freestanding.py COMPILER SRC AGENT.so      prints TAP
"""
import pathlib
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_layers import parse  # noqa: E402

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fPIC", "-ffreestanding", "-fvisibility=hidden",
         "-fno-stack-protector", "-ftls-model=initial-exec", "-fno-math-errno"]

# Rooms that run between a caller and its callee: no register may change there that passes arguments.
ROOM_FLAGS = {"hook": ["-mgeneral-regs-only"]}

STUBS = """
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n) { (void)from, (void)n; return to; }
void *memmove(void *to, const void *from, size_t n) { (void)from, (void)n; return to; }
void *memset(void *to, int c, size_t n) { (void)c, (void)n; return to; }
int memcmp(const void *a, const void *b, size_t n) { (void)a, (void)b; return (int)n; }
void *memchr(const void *a, int c, size_t n) { (void)c, (void)n; return (void *)a; }
"""

# One planted call each; all must be refused by the linker.
FAULTS = {
    "malloc": "#include <stdlib.h>\nvoid *f(void) { return malloc(8); }",
    "errno": "#include <errno.h>\nint f(void) { return errno; }",
    "a string function": "#include <string.h>\nunsigned long f(const char *s) { return strlen(s); }",
    "libgcc": "unsigned __int128 f(unsigned __int128 a, unsigned __int128 b) { return a / b; }",
    "another room": '#include "wire/wire.h"\nvoid *f(void) { return (void *)&wire_drop_names; }',
}


class Linker:
    def __init__(self, compiler, src, scratch):
        self.compiler, self.src, self.scratch = compiler, src, scratch
        self.roots = [flag for wing in sorted(p for p in src.iterdir() if p.is_dir()) for flag in ("-I", wing)]
        self.objects = {}
        (scratch / "stubs.c").write_text(STUBS)
        self.stubs = self.compile(scratch / "stubs.c")[0]

    def run(self, arguments):
        done = subprocess.run(self.compiler + [str(a) for a in arguments], capture_output=True, text=True)
        return done.stderr.splitlines() if done.returncode else []

    def compile(self, path):
        """(object, problems)"""
        out = self.scratch / (str(path).replace("/", "_") + ".o")
        flags = FLAGS + ROOM_FLAGS.get(pathlib.Path(path).parent.name, [])
        return out, self.run(flags + self.roots + ["-c", path, "-o", out])

    def room(self, name):
        if name not in self.objects:
            built = [self.compile(path) for path in sorted(self.src.glob(f"*/{name}/*.[cS]"))]
            self.objects[name] = ([o for o, _ in built], [p for _, problems in built for p in problems])
        return self.objects[name]

    def link(self, objects):
        return self.run(["-shared", "-nostdlib", "-Wl,-z,defs", *objects, self.stubs,
                         "-o", self.scratch / "out.so"])


def closure(rooms, name):
    names, wanted = [], [name]
    while wanted:
        name = wanted.pop()
        if name not in names:
            names.append(name)
            wanted += rooms[name].may
    return names


def check_room(linker, rooms, name):
    objects = []
    for part in closure(rooms, name):
        built, problems = linker.room(part)
        if problems:
            return problems
        objects += built
    return linker.link(objects) if linker.room(name)[0] else ["no sources"]


def check_fault(linker, text):
    path = linker.scratch / "fault.c"
    path.write_text(text)
    built, problems = linker.compile(path)
    if problems:
        return ["does not compile"] + problems
    complaint = linker.link([built])
    return [] if any("undefined" in line for line in complaint) else ["links"] + complaint


# What compilers and start files put into every shared object.
TOOLCHAIN = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__gmon_start__"}


def taken_names(library):
    listed = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()} - TOOLCHAIN


def check_names(taken, allowed):
    problems = [f"takes {name} from libc, not listed" for name in sorted(taken - allowed)]
    return problems + ([] if taken else ["takes nothing: is this the agent?"])


def main(arguments):
    compiler, src = shlex.split(arguments[0]), pathlib.Path(arguments[1]).resolve()
    problems = []
    rooms = parse((src / "layers.txt").read_text(), problems)
    free = [room.name for room in rooms.values() if room.free and not room.entry]
    results = [("layers.txt is sound and lists freestanding rooms",
                problems + ([] if free else ["none listed"]))]
    with tempfile.TemporaryDirectory() as scratch:
        linker = Linker(compiler, src, pathlib.Path(scratch))
        results += [(f"{name} links freestanding", check_room(linker, rooms, name)) for name in free]
        results += [(f"{name} does not link", check_fault(linker, text)) for name, text in FAULTS.items()]
    taken, allowed = taken_names(arguments[2]), rooms["agent"].names
    results += [("the agent takes only listed names", check_names(taken, allowed)),
                ("an unlisted name is seen",
                 [] if check_names({"malloc", "memcpy"}, allowed) == ["takes malloc from libc, not listed"]
                 else ["not reported"])]
    print(f"1..{len(results)}")
    for number, (name, problems) in enumerate(results, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return any(problems for _, problems in results)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
