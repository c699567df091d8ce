# SPDX-License-Identifier: MIT
"""The programs that the accuracy scripts run, with inputs that are short enough: some 10^8 accesses, and for what is
recorded live on an emulated machine (COUNTED) fewer than that.

Programs are those of bench/build. Inputs are made from its inputs, or by bench/make_data, in a folder of
their own, and used again.
"""
import os
import shlex
import subprocess
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

MAWK = ("{b}/mawk '{{ n[$1]++; split($6, a, \"/\"); c[a[2]] += $NF }} "
        "END {{ for (k in c) print k, c[k]; for (k in n) s++; print s }}' ")

# name: (language, what it does, inputs, command)
# inputs: name: ("head", name of bench/build's input, bytes or "N lines") or ("make", arguments of make_data)
# command: {b} programs, {i} bench/build's inputs, {o} these inputs, {t} a fresh folder
PROGRAMS = {
    "bzip2": ("C", "compression", {"bytes": ("head", "binary", 2000000)}, "{b}/bzip2 -k -c {o}/bytes"),
    "gzip": ("C", "compression", {"bytes": ("head", "binary", 2000000)}, "{b}/gzip -9 -c {o}/bytes"),
    "zstd": ("C", "compression", {"bytes": ("head", "binary", 2000000)},
             "{b}/zstd -q --single-thread -15 -c {o}/bytes"),
    "xz": ("C", "compression", {"kilobytes": ("head", "binary", 600000)}, "{b}/xz -T1 -k -c {o}/kilobytes"),
    "zopfli": ("C", "compression", {"few": ("head", "binary", 60000)}, "{b}/zopfli -c {o}/few"),
    "lua": ("C", "interpreter", {}, "{b}/lua {i}/work.lua 1"),
    "sqlite3": ("C", "database", {"queries.sql": ("head", "queries.sql", "6000 lines")},
                "{b}/sqlite3 {t}/data.db '.read {o}/queries.sql'"),
    "tcc": ("C", "compiler", {}, "{b}/tcc -nostdinc -w -c -o {t}/part.o {i}/part.c"),
    "mawk": ("C", "text", {"log": ("make", "log 60000")},
             MAWK + "{o}/log"),
    "jq": ("C", "text", {"json": ("make", "json 6000")},
           "{b}/jq 'group_by(.name) | map({{n: .[0].name, s: (map(.price) | add)}}) | sort_by(.s)' {o}/json"),
    "minimap2": ("C", "genome alignment", {"genome": ("make", "genome 300000"), "reads": ("make", "reads 300")},
                 "{b}/minimap2 -t1 -x map-ont {o}/genome {o}/reads"),
    "minisat": ("C++", "satisfiability", {"hard.cnf": ("make", "cnf 215 4.6")}, "{b}/minisat -verb=0 {o}/hard.cnf"),
    "cadical": ("C++", "satisfiability", {"easy.cnf": ("make", "cnf 20000 3.0")}, "{b}/cadical -q {o}/easy.cnf"),
    "tetgen": ("C++", "mesh generation", {"points.node": ("make", "points 12000")},
               "{b}/tetgen -NEFQ {o}/points.node"),
    "re2": ("C++", "text", {"log": ("make", "log 60000")}, "{b}/re2 {o}/log"),
    "pugixml": ("C++", "text", {"xml": ("make", "xml 20000")}, "{b}/pugixml {o}/xml"),
    "box2d": ("C++", "physics", {}, "{b}/box2d"),
    "lapack": ("Fortran", "dense algebra", {}, "{b}/lapack"),
    "lbfgsb": ("Fortran", "optimisation", {}, "{b}/lbfgsb"),
    "gradient": ("Fortran", "sparse algebra", {}, "{b}/gradient"),
    "multigrid": ("Fortran", "grids", {}, "{b}/multigrid"),
    "shallow": ("Fortran", "grids", {}, "{b}/shallow"),
    "numeric": ("C", "floating point", {}, "{b}/numeric 1"),
}

# Likewise.
COUNTED = {
    "bzip2": ("C", "compression", {"bytes.500000": ("head", "binary", 500000)}, "{b}/bzip2 -k -c {o}/bytes.500000"),
    "lua": ("C", "interpreter", {}, "{b}/lua {h}/work.lua 1 0.08"),
    "tcc": ("C", "compiler", {}, "{b}/tcc -nostdinc -w -c -o {t}/part.o {i}/part.c"),
    "mawk": ("C", "text", {"log.12000": ("make", "log 12000")},
             MAWK + "{o}/log.12000"),
    "zopfli": ("C", "compression", {"bytes.6000": ("head", "binary", 6000)}, "{b}/zopfli -c {o}/bytes.6000"),
    "minisat": ("C++", "satisfiability", {"cnf.150": ("make", "cnf 150 4.6")}, "{b}/minisat -verb=0 {o}/cnf.150"),
    "tetgen": ("C++", "mesh generation", {"points.2000.node": ("make", "points 2000")},
               "{b}/tetgen -NEFQ {o}/points.2000.node"),
    "re2": ("C++", "text", {"log.12000": ("make", "log 12000")}, "{b}/re2 {o}/log.12000"),
    "pugixml": ("C++", "text", {"xml.15000": ("make", "xml 15000")}, "{b}/pugixml {o}/xml.15000"),
    "box2d": ("C++", "physics", {}, "{b}/box2d 60"),
    "lapack": ("Fortran", "dense algebra", {}, "{b}/lapack 250 100"),
    "lbfgsb": ("Fortran", "optimisation", {}, "{b}/lbfgsb 12000"),
    "shallow": ("Fortran", "grids", {}, "{b}/shallow 3"),
}


def make_input(path, how, directory):
    if how[0] == "make":
        command = [os.path.join(BENCH, "make_data"), *how[1].split()]
    elif isinstance(how[2], int):
        command = ["head", "-c", str(how[2]), os.path.join(directory, "inputs", how[1])]
    else:
        command = ["head", "-n", how[2].split()[0], os.path.join(directory, "inputs", how[1])]
    with open(path + ".new", "wb") as file:
        subprocess.run(command, stdout=file, check=True)
    os.rename(path + ".new", path)


def prepare(name, directory, inputs, programs=PROGRAMS):
    """Makes the inputs; False, and says so, if the program cannot run."""
    program = shlex.split(programs[name][3])[0].format(b=os.path.join(directory, "bin"))
    if not os.access(program, os.X_OK):
        print(f"{name}: not built", file=sys.stderr)
        return False
    os.makedirs(inputs, exist_ok=True)
    for file, how in programs[name][2].items():
        path = os.path.join(inputs, file)
        if os.path.exists(path):
            continue
        try:
            make_input(path, how, directory)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name}: no input {file}: {error}", file=sys.stderr)
            return False
    return True


def command_of(name, directory, inputs, fresh, programs=PROGRAMS, built=None):
    """built: where the programs are, if elsewhere than directory."""
    return [word.format(b=os.path.join(built or directory, "bin"), i=os.path.join(directory, "inputs"), o=inputs,
                        h=BENCH, t=fresh) for word in shlex.split(programs[name][3])]
