# SPDX-License-Identifier: MIT
"""Sound files to damage: programs compiled in many ways, logs and profiles made by the readers' own libraries, and,
where there is a headroom that can record, recordings of real programs."""
import glob
import os
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RUST = """
fn main() { let words: Vec<String> = std::env::args().collect(); let mut total = 0usize;
for word in &words { total += word.len(); } println!("{}", total); }
"""
C = os.path.join(ROOT, "examples/indexer.c")
CXX = os.path.join(ROOT, "tests/programs/exceptions.cpp")
COMPILED = {
    "plain": ["cc", "-O2", C],
    "debug": ["cc", "-O2", "-g", C],
    "debug4": ["cc", "-O2", "-gdwarf-4", "-fdebug-types-section", C],
    "debug3": ["cc", "-O1", "-gdwarf-3", "-gstrict-dwarf", C],
    "compressed": ["cc", "-O2", "-g", "-gz", C],
    "compressed-gnu": ["cc", "-O2", "-g", "-Wl,--compress-debug-sections=zlib-gnu", C],
    "split": ["cc", "-O2", "-g", "-gsplit-dwarf", C],
    "macros": ["cc", "-O2", "-g3", C],
    "debug-frame": ["cc", "-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", C],
    "static-pie": ["cc", "-O2", "-g", "-static-pie", "-nostdlib", "-ffreestanding", "-fno-builtin"],
    "gap": ["cc", "-O2", "-g", "-Wl,-z,max-page-size=0x200000", "-Wl,-z,noseparate-code", C],
    "relr": ["cc", "-O2", "-g", "-Wl,-z,pack-relative-relocs", C],
    "fixed": ["cc", "-O2", "-g", "-no-pie", "-Wl,--emit-relocs", C],
    "sections": ["cc", "-Os", "-g", "-ffunction-sections", "-fcf-protection=none", "-Wl,--gc-sections", C],
    "library": ["cc", "-O2", "-g", "-shared", "-fPIC", "-Wl,-soname,libsubject.so.1", C],
    "object": ["cc", "-O2", "-g", "-c", C],
    "cxx": ["c++", "-O2", "-g", CXX],
    "cxx-plain": ["c++", "-O0", CXX],
    "fortran": ["gfortran", "-O2", "-g", os.path.join(ROOT, "tests/built/programs/grid.f90")],
    "rust": ["rustc", "-g", "-C", "prefer-dynamic", "--crate-name", "subject", "-"],
}
FREESTANDING = "static const int table[4] = {1, 2, 3, 4};\nint pick(int i);\nint pick(int i) { return table[i & 3]; }\n" \
               "void _start(void);\nvoid _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(pick(0))); for (;;) ; }\n"
DERIVED = {  # of another seed
    "stripped": ("plain", ["strip", "-o", "{to}", "{from}"]),
    "stripped-all": ("plain", ["strip", "--strip-all", "--remove-section=.eh_frame_hdr", "-o", "{to}", "{from}"]),
    "only-debug": ("debug", ["objcopy", "--only-keep-debug", "{from}", "{to}"]),
    "linked": ("debug", ["objcopy", "--strip-debug", "--add-gnu-debuglink={from}", "{from}", "{to}"]),
}


def called(command, **options):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600, **options)


def compile_all(directory, only=None):
    """Programs that can be compiled here; what cannot is said."""
    for name, command in COMPILED.items():
        path = os.path.join(directory, name + ".elf")
        if (only and name not in only) or os.path.exists(path) or not shutil.which(command[0]):
            continue
        command, text = list(command), None
        if name == "rust":
            text = RUST
        elif name == "static-pie":
            text = FREESTANDING
            command += ["-x", "c", "-"]
        done = called(command + ["-o", os.path.basename(path)] + (["-lm"] if name == "plain" else []), cwd=directory,
                      input=text.encode() if text else None)
        if done.returncode != 0:
            print(f"# no seed {name}: {done.stderr.decode(errors='replace')[-200:].strip()}", file=sys.stderr)
    for name, (base, command) in DERIVED.items():
        path, source = os.path.join(directory, name + ".elf"), os.path.join(directory, base + ".elf")
        if (only and name not in only) or os.path.exists(path) or not os.path.exists(source):
            continue
        called([word.format(**{"to": path, "from": source}) for word in command], cwd=directory)


def split_files(directory):
    """What -gsplit-dwarf leaves beside a program is read for it: a seed of its own."""
    for path in glob.glob(os.path.join(directory, "*.dwo")):
        shutil.copyfile(path, os.path.join(directory, "split-dwo.elf"))


def large(directory, most_bytes=8 << 20):
    """Programs of this system, of several sizes."""
    for name in ("python3", "bash", "perl", "git", "ld", "gdb"):
        path = shutil.which(name)
        if path and os.path.getsize(path) <= most_bytes and open(path, "rb").read(4) == b"\x7fELF":
            shutil.copyfile(path, os.path.join(directory, f"system-{name}.elf"))


def make(directory, reader, recorder=None, quick=False):
    """Fills the directory. Returns {"elf": [...], "log": [...], "profile": [...]}, paths in a fixed order."""
    os.makedirs(directory, exist_ok=True)
    quick_programs = ("plain", "debug", "debug4", "compressed", "split", "gap", "library", "cxx", "stripped", "debug-frame")
    compile_all(directory, quick_programs if quick else None)
    split_files(directory)
    if not quick:
        large(directory)
        if recorder:
            import recordings
            recordings.make(directory, recorder)
    for path in glob.glob(os.path.join(directory, "made-*")):  # by another version, whose formats may be others
        os.unlink(path)
    subprocess.run([reader, "seeds", directory], check=True)
    found = {kind: sorted(glob.glob(os.path.join(directory, "*." + ending)))
             for kind, ending in (("elf", "elf"), ("log", "raw"), ("saved", "saved"), ("profile", "headroom"))}
    found["region"] = sorted(glob.glob(os.path.join(directory, "*.blocks")) + glob.glob(os.path.join(directory, "*.built")))
    missing = [kind for kind, paths in found.items() if not paths and kind not in ("region", "saved")]
    if missing:
        raise RuntimeError(f"no seeds of kind {', '.join(missing)} in '{directory}'")
    return found
