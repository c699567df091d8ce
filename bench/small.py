# SPDX-License-Identifier: MIT
"""Programs of bench/build with inputs so small that Valgrind's tools take seconds, for paths_tables and paths_recount."""
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "projects"))
import projects  # pylint: disable=wrong-import-position

INPUTS = {
    # name: command that prints it, in bench/
    "tables.binary": "head -c 1000000 {i}/binary",
    "tables.sql": "./make_queries 20000 1",
    "tables.c": "./make_program 6000",
    "hard.tables": "./make_data cnf 200 4.6",
    "easy.tables": "./make_data cnf 30000 3.0",
    "tables.xml": "./make_data xml 40000",
    "tables.log": "./make_data log 60000",
}

LUA = "gcc -O2 -g -DLUA_USE_POSIX -DLUA_USE_DLOPEN -o {o} $(ls src/*.c | grep -v /luac.c) -Wl,-E -lm -ldl"
CADICAL = "g++ -O2 -g -w -DNDEBUG -DNBUILD -o {o} $(ls src/*.cpp | grep -v -e mobical -e ipasir -e ccadical)"
MINISAT = ("g++ -O2 -g -w -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS -I. -o {o} minisat/simp/*.cc "
           "minisat/core/Solver.cc minisat/utils/*.cc -lz")
BZIP2 = ("gcc -O2 -g -D_FILE_OFFSET_BITS=64 -o {o} bzip2.c bzlib.c blocksort.c huffman.c compress.c decompress.c "
         "crctable.c randtable.c")

PROGRAMS = {
    # name: (source package or None, what it does, command, directory of the sources, command that compiles them)
    "bzip2": ("bzip2", "compresses 1 MB of machine code", "{b}/bzip2 --keep --stdout {i}/tables.binary", "bzip2", BZIP2),
    "gzip": ("gzip", "compresses 1 MB, level 9", "{b}/gzip -9 --stdout {i}/tables.binary", None, None),
    "xz": ("xz-utils", "compresses 1 MB, level 6", "{b}/xz -T1 -6 --keep --stdout {i}/tables.binary", None, None),
    "zstd": ("libzstd", "compresses 1 MB, level 12", "{b}/zstd -q -12 --single-thread --stdout {i}/tables.binary", None,
             None),
    "lua": ("lua5.4", "interprets tables, strings, closures", "{b}/lua {h}/work.lua 1", "lua5.4", LUA),
    "mawk": ("mawk", "counts in a log of 60,000 lines",
             "{b}/mawk '{{n[$3]++; b[$3]+=$NF; s[$6]++}} /Error/{{e++}} END{{for(k in n)c++; print c,e}}' {i}/tables.log",
             None, None),
    "sqlite3": ("sqlite3", "creates, joins, updates in memory", "{b}/sqlite3 :memory: '.read {i}/tables.sql'", "sqlite3",
                "gcc -O2 -g -DSQLITE_THREADSAFE=1 -o {o} shell.c sqlite3.c -lm -lpthread -ldl"),
    "tcc": ("tcc", "compiles 6,000 functions", "{b}/tcc -nostdinc -w -c -o {t}/tcc.o {i}/tables.c", None, None),
    "minisat": ("minisat2", "refutes a random formula, 200 variables", "{b}/minisat -verb=0 {i}/hard.tables", "minisat2",
                MINISAT),
    "cadical": ("cadical", "satisfies a random formula, 30,000 variables", "{b}/cadical -q {i}/easy.tables", "cadical",
                CADICAL),
    "pugixml": ("pugixml", "reads, queries, changes, writes 6 MB of XML", "{b}/pugixml {i}/tables.xml", "pugixml",
                "g++ -O2 -g -std=c++17 -Isrc -o {o} {h}/kernels/document.cpp src/pugixml.cpp"),
    "radiosity": (None, "light in a room, two threads (as SPLASH radiosity)", "{b}/radiosity 2 16", ".",
                  "gcc -std=gnu17 -O2 -g -o {o} {h}/kernels/radiosity.c -lm -lpthread"),
    "lapack": ("lapack", "solves 1,600 equations, 500 eigenvalues, reference BLAS", "{b}/lapack", None, None),
    "shallow": (None, "shallow-water equations, 800² points (as SWIM)", "{b}/shallow", ".",
                "gfortran -O2 -g -J {t} -o {o} {h}/kernels/shallow.f90"),
    "multigrid": (None, "V-cycles on 128³ points (as NAS MG)", "{b}/multigrid", ".",
                  "gfortran -O2 -g -J {t} -o {o} {h}/kernels/multigrid.f90"),
}
EXPECTED = {"minisat": 20, "cadical": 10}  # solvers say by their exit status what they found


class Programs:
    """directory: what bench/build filled; results: for what is made here."""

    def __init__(self, directory, results, limit_s):
        self.directory, self.results, self.limit_s = directory, results, limit_s
        self.places = {"b": os.path.join(directory, "bin"), "i": os.path.join(directory, "inputs"), "h": HERE,
                       "t": results}
        os.makedirs(results, exist_ok=True)

    def prepare(self):
        for name, command in INPUTS.items():
            path = os.path.join(self.places["i"], name)
            if not os.path.exists(path):
                with open(path + ".new", "wb") as file:
                    subprocess.run(shlex.split(command.format(**self.places)), cwd=HERE, stdout=file, check=True)
                os.rename(path + ".new", path)

    def command(self, name, program=None):
        """Its words; program: another than the one that bench/build made."""
        words = shlex.split(PROGRAMS[name][2].format(**self.places))
        return [program or words[0], *words[1:]]

    def ended(self, words, expected, directory=None):
        """True if the command ended as it should; else says what went wrong."""
        log = os.path.join(self.results, "log")
        with open(log, "wb") as file:
            failure = projects.ended(words, self.limit_s, file, dict(os.environ), directory or self.results)
        if (failure or "exit 0") != f"exit {expected}":
            print(f"{' '.join(words)[:100]}: {failure}: {projects.last_words(log)}", file=sys.stderr)
            return False
        return True

    def ran(self, name, words):
        return self.ended(words, EXPECTED.get(name, 0))

    def compile(self, name, built, wrapper="", flags=""):
        """Makes the program `built` by one command: True, or it cannot be. Wrapper: words before the compiler, where {verb}
        is that of headroom; flags: more for the compiler."""
        directory, command = PROGRAMS[name][3:]
        if not command:
            return False
        compiler, arguments = command.format(o=built, **self.places).split(" ", 1)
        verb = {"gcc": "cc", "g++": "c++", "gfortran": "fortran"}[compiler]
        line = f"{wrapper.format(verb=verb)} {compiler} {flags} {arguments}"
        return os.path.exists(built) or self.ended(["bash", "-c", line], 0, os.path.join(self.directory, directory))
