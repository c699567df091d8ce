#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds src/ to src/layers.txt, whose head describes its format.

usage: check_layers.py SRC        check a tree; prints what violates it; status 1 if anything does
       check_layers.py --test SRC the same as a TAP test, after planting one fault each into
                                  copies of a small sound tree and seeing every one reported
"""
import fnmatch
import pathlib
import re
import sys
import tempfile

# What an F room may include besides its own kind: headers that declare no function but mem* and str*.
FREESTANDING = {"stdbool.h", "stddef.h", "stdint.h", "stdatomic.h", "stdarg.h", "string.h", "limits.h",
                "float.h", "stdalign.h", "sys/syscall.h"}
KERNEL = ("linux/", "asm/")
# The C library's, for host rooms. Anything else in <> is a library that a room must declare.
SYSTEM = FREESTANDING | {
    "alloca.h", "assert.h", "ctype.h", "dirent.h", "dlfcn.h", "elf.h", "err.h", "errno.h", "fcntl.h",
    "fnmatch.h", "getopt.h", "glob.h", "inttypes.h", "langinfo.h", "libgen.h", "link.h", "locale.h",
    "malloc.h", "math.h", "poll.h", "pthread.h", "pwd.h", "regex.h", "sched.h", "search.h",
    "semaphore.h", "setjmp.h", "signal.h", "spawn.h", "stdio.h", "stdlib.h", "strings.h", "syscall.h",
    "termios.h", "threads.h", "time.h", "ucontext.h", "unistd.h", "wchar.h", "wctype.h"}
SYSTEM_PREFIX = KERNEL + ("sys/", "bits/", "x86intrin.h", "immintrin.h", "cpuid.h")


class Room:
    def __init__(self, name, wing, properties, may):
        self.name = name
        self.wing = wing
        self.may = may
        self.free = "F" in properties
        self.entry = "entry" in properties
        self.libraries = {p[4:] for p in properties if p.startswith("lib:")}
        self.public = {name + ".h"} | {p[7:] for p in properties if p.startswith("public:")}
        self.libc = set()
        self.names = set()


def parse(text, problems):
    rooms, wings = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        at = words.index(":") if ":" in words else len(words)
        name, properties, may = words[0], words[1:at], words[at + 1:]
        if name == "wing":
            if len(properties) != 1 or may or properties[0] in wings:
                problems.append(f"layers.txt:{number}: wing needs a name of its own")
            wings += properties[:1]
            continue
        if name in ("allow", "names"):
            if len(properties) != 1 or properties[0] not in rooms:
                problems.append(f"layers.txt:{number}: {name} needs one listed room")
            elif name == "allow":
                rooms[properties[0]].libc |= set(may)
            else:
                rooms[properties[0]].names |= set(may)
            continue
        if name in rooms:
            problems.append(f"layers.txt:{number}: {name} is listed twice")
        for word in properties:
            if not re.fullmatch(r"F|entry|-|lib:\S+|public:\S+\.h", word):
                problems.append(f"layers.txt:{number}: unknown property {word}")
        if not wings:
            problems.append(f"layers.txt:{number}: {name} belongs to no wing")
        room = Room(name, wings[-1] if wings else ".", properties, may)
        for other in may:
            if other not in rooms:
                problems.append(f"layers.txt:{number}: {name} may include {other}, not listed above it")
            elif rooms[other].entry:
                problems.append(f"layers.txt:{number}: {name} may include {other}, an entry room")
            elif room.free and not rooms[other].free:
                problems.append(f"layers.txt:{number}: {name} is freestanding, {other} is not")
        rooms[name] = room
    return rooms


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def includes(path):
    for number, line in enumerate(strip_comments(path.read_text(errors="replace")).splitlines(), 1):
        directive = re.match(r"\s*#\s*(?:include|include_next|import)\b\s*(.*)", line)
        if directive:
            yield number, directive.group(1).strip()


def is_of(header, library):
    return any(fnmatch.fnmatchcase(name, library) for name in (header.split("/")[0], pathlib.PurePath(header).stem))


def library_of(header, rooms):
    """The declared library a header belongs to, by its directory or its name."""
    return next((library for room in rooms.values() for library in room.libraries if is_of(header, library)), None)


def check_system(room, header, rooms):
    library = library_of(header, rooms)
    if library:
        return None if library in room.libraries else f"{library} belongs to another room"
    if not (header in SYSTEM or header.startswith(SYSTEM_PREFIX)):
        return f"<{header}> is neither the C library's nor declared as lib:"
    if room.free and not (header in FREESTANDING | room.libc or header.startswith(KERNEL)):
        return f"<{header}> in a freestanding room"
    return None


def check_project(room, path, header, rooms, src):
    other, _, file = header.partition("/")
    if other not in rooms:
        return f'"{header}" is not a room/file.h of this tree'
    if not file or ".." in header.split("/") or not (src / rooms[other].wing / header).is_file():
        return f'"{header}" is not a room/file.h of this tree'
    if other == room.name:
        if path.name in room.public and file not in room.public:
            return f"public header includes the private {header}"
        return None
    if rooms[other].entry:
        return f"nothing may include the entry room {other}"
    if other not in room.may:
        return f"{room.name} may not include {other}"
    if file not in rooms[other].public:
        return f"{header} is private to {other}"
    return None


def check_unused(rooms, included):
    """What layers.txt permits and nothing needs. `included` has what the files of each room include, as it is in "" or <>."""
    problems = []
    for room in rooms.values():
        own = included[room.name]
        others = set().union(*(headers for name, headers in included.items() if name != room.name))
        problems += [f"{room.name} may include {other}, and does not" for other in room.may
                     if not any(header.startswith(other + "/") for header in own)]
        problems += [f"{room.name} has lib:{library}, and includes nothing of it" for library in sorted(room.libraries)
                     if not any(is_of(header, library) for header in own)]
        problems += [f"{room.name} is allowed <{header}>, and does not include it" for header in sorted(room.libc - own)]
        problems += [f"{room.name} has public:{file}, and no other room includes it" for file in sorted(room.public - {room.name + ".h"})
                     if f"{room.name}/{file}" not in others]
    return ["layers.txt: " + problem for problem in problems]


def check_tree(src):
    problems = []
    rooms = parse((src / "layers.txt").read_text(), problems)
    if not rooms:
        problems.append("layers.txt lists no room")
    folders = {f"{p.parent.name}/{p.name}" for p in src.glob("*/*") if p.is_dir()}
    listed = {f"{room.wing}/{room.name}" for room in rooms.values()}
    problems += [f"{name}: folder is not listed in layers.txt" for name in sorted(folders - listed)]
    problems += [f"{name}: listed in layers.txt, but no folder" for name in sorted(listed - folders)]
    problems += [f"{p.relative_to(src)}: code outside of any room" for p in [*src.glob("*.[chS]"), *src.glob("*/*.[chS]")]]
    included = {name: set() for name in rooms}
    for path in sorted(src.glob("*/*/**/*.[chS]")):
        wing, name = path.relative_to(src).parts[:2]
        room = rooms.get(name)
        if room is None or room.wing != wing:
            continue
        for number, what in includes(path):
            quoted = re.match(r'"([^"]+)"', what)
            angled = re.match(r"<([^>]+)>", what)
            included[name].update(match.group(1) for match in (quoted, angled) if match)
            if quoted:
                problem = check_project(room, path, quoted.group(1), rooms, src)
            elif angled:
                problem = check_system(room, angled.group(1), rooms)
            else:
                problem = f"cannot tell what is included: {what}"
            if problem:
                problems.append(f"{path.relative_to(src)}:{number}: {problem}")
    return problems + check_unused(rooms, included)


# ---- planted faults ---------------------------------------------------------------------

SOUND = {
    "layers.txt": "# comment\nwing low\nbase F\nmid F lib:Fancy : base\nagent F entry : base mid\n"
                  "allow agent : dlfcn.h\nwing high\nhost lib:sqlite3 public:extra.h : base\n"
                  "top entry : base host mid\n",
    "low/base/base.h": "#include <stdint.h>\n",
    "low/base/base.c": '#include "base/base.h"\n#include <string.h>\n#include <linux/futex.h>\n',
    "low/mid/mid.h": '#include "base/base.h"\n',
    "low/mid/inner.h": "#include <stddef.h>\n",
    "low/mid/mid.c": '#include "mid/mid.h"\n#include "mid/inner.h"\n#include <Fancy/Fancy.h>\n',
    "low/agent/agent.c": '#include "base/base.h"\n#include "mid/mid.h"\n#include <dlfcn.h>\n',
    "high/host/host.h": "#include <stdio.h>\n",
    "high/host/extra.h": "#include <stdio.h>\n",
    "high/host/host.c": '#include "base/base.h"\n#include <sqlite3.h>\n'
                   '/* #include "mid/mid.h" */ // #include <Fancy/Fancy.h>\n',
    "high/top/top.c": '#include "base/base.h"\n#include "host/host.h"\n#include "host/extra.h"\n#include "mid/mid.h"\n'
                      '#include <sys/wait.h>\n',
}

# name, file, what is appended to it (or, for layers.txt, what replaces it), expected complaint
FAULTS = [
    ("an unlisted room", "low/stray/stray.c", "\n", "stray: folder is not listed"),
    ("a listed room without folder", "layers.txt", SOUND["layers.txt"] + "ghost F\n", "no folder"),
    ("a room listed twice", "layers.txt", SOUND["layers.txt"] + "base F\n", "listed twice"),
    ("an unknown property", "layers.txt", SOUND["layers.txt"].replace("base F\n", "base G\n"),
     "unknown property G"),
    ("an allowance for no room", "layers.txt", SOUND["layers.txt"] + "allow ghost : time.h\n",
     "allow needs one listed room"),
    ("an empty list of rooms", "layers.txt", "# nothing\n", "lists no room"),
    ("a cycle in layers.txt", "layers.txt", SOUND["layers.txt"].replace("base F\n", "base F : mid\n"),
     "base may include mid, not listed above"),
    ("a room that names itself", "layers.txt",
     SOUND["layers.txt"].replace("lib:Fancy : base", "lib:Fancy : base mid"), "not listed above"),
    ("a room that names an entry room", "layers.txt",
     SOUND["layers.txt"].replace("top entry : base", "top entry : agent base"), "agent, an entry room"),
    ("a freestanding room on a host room", "layers.txt",
     SOUND["layers.txt"] + "late F : host\n", "late is freestanding, host is not"),
    ("an include of a room below", "low/base/base.c", '#include "mid/mid.h"\n', "base may not include mid"),
    ("an include of a room not named", "high/host/host.c", '#include "mid/mid.h"\n', "host may not include mid"),
    ("an include of an entry room", "high/top/top.c", '#include "agent/agent.h"\n', "entry room agent"),
    ("another room's private header", "high/top/top.c", '#include "mid/inner.h"\n', "mid/inner.h is private to mid"),
    ("a private header behind a public one", "low/mid/mid.h", '#include "mid/inner.h"\n',
     "public header includes the private"),
    ("a header without its room", "low/mid/mid.c", '#include "inner.h"\n', "not a room/file.h"),
    ("a path around the room", "high/top/top.c", '#include "../mid/inner.h"\n', "not a room/file.h"),
    ("a path back into a room", "high/top/top.c", '#include "base/../mid/inner.h"\n', "not a room/file.h"),
    ("a header that does not exist", "low/mid/mid.c", '#include "base/none.h"\n', "not a room/file.h"),
    ("a library outside its room", "high/top/top.c", "#include <sqlite3.h>\n", "sqlite3 belongs to another room"),
    ("a library directory outside its room", "low/base/base.c", "# include <Fancy/Other.h>\n", "Fancy belongs"),
    ("a library nobody declares", "high/host/host.c", "#include <jansson.h>\n", "neither the C library's"),
    ("libc in a freestanding room", "low/mid/inner.h", "#include <stdlib.h>\n", "<stdlib.h> in a freestanding"),
    ("libc beyond the allow-list", "low/agent/agent.c", "#include <stdio.h>\n", "<stdio.h> in a freestanding"),
    ("an include by macro", "low/mid/mid.c", "#include HEADER\n", "cannot tell"),
    ("code outside of any room", "low/loose.c", "\n", "outside of any room"),
    ("code outside of any wing", "loose.c", "\n", "outside of any room"),
    ("a room in another wing than listed", "high/mid/mid.c", "\n", "high/mid: folder is not listed"),
    ("a wing that is opened twice", "layers.txt", SOUND["layers.txt"] + "wing low\nlate : base\n", "wing needs a name of its own"),
    ("a room without a wing", "layers.txt", SOUND["layers.txt"].replace("wing low\n", ""), "base belongs to no wing"),
    ("a wing that uses a later one", "layers.txt", SOUND["layers.txt"].replace("mid F lib:Fancy : base", "mid F lib:Fancy : base host"),
     "mid may include host, not listed above"),
    ("a room that is not included", "layers.txt", SOUND["layers.txt"].replace("top entry : base host", "late : base\ntop entry : base late host"),
     "top may include late, and does not"),
    ("a library that is not included", "layers.txt", SOUND["layers.txt"].replace("lib:Fancy", "lib:Fancy lib:plain"),
     "mid has lib:plain, and includes nothing"),
    ("an allowance without use", "layers.txt", SOUND["layers.txt"].replace("dlfcn.h", "dlfcn.h time.h"),
     "agent is allowed <time.h>, and does not"),
    ("a public header for nobody", "layers.txt", SOUND["layers.txt"].replace("mid F lib", "mid F public:inner.h lib"),
     "mid has public:inner.h, and no other room"),
]


def plant(root, fault):
    files = dict(SOUND, **{"low/agent/agent.h": "\n"})
    if fault:
        _, file, text, _ = fault
        files[file] = text if file == "layers.txt" else files.get(file, "") + text
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return check_tree(root)


def run_tests(src):
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        results.append(("a sound tree passes", plant(scratch / "sound", None)))
        for number, fault in enumerate(FAULTS):
            problems = plant(scratch / str(number), fault)
            seen = any(fault[3] in problem for problem in problems)
            results.append((f"reports {fault[0]}", [] if seen else ["not reported"] + problems))
    results.append(("src follows layers.txt", check_tree(src)))
    print(f"1..{len(results)}")
    for number, (name, problems) in enumerate(results, 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {name}")
        for problem in problems:
            print(f"# {problem}")
    return any(problems for _, problems in results)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--test":
        return run_tests(pathlib.Path(arguments[1]))
    if len(arguments) != 1:
        sys.exit(__doc__)
    problems = check_tree(pathlib.Path(arguments[0]))
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
