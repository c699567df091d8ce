#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom limits --schedule of a run: what loops executed, and how that is scheduled, with figures worked out by hand
# (tests/programs/executed.S); memory models; what is refused.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    "${CC:-cc}" -O2 -g -pthread -o "$BATS_FILE_TMPDIR/executed" "$BATS_TEST_DIRNAME/../programs/executed.c" \
        "$BATS_TEST_DIRNAME/../programs/executed.S"
}

# One recording for all tests that only look at it.
recorded()
{
    needs_engine
    if [ ! -e "$BATS_FILE_TMPDIR/run.headroom" ]; then
        try 7 "$HEADROOM" limits --machine skylake --rate 1000 --latency l2=14,memory=100 --memory uniform,compulsory \
            --schedule "$BATS_FILE_TMPDIR/schedule.txt" --report "$BATS_FILE_TMPDIR/report" -o run.headroom -- "$BATS_FILE_TMPDIR/executed" 40
        [ "$(cat out)" = done ]
        mv run.headroom "$BATS_FILE_TMPDIR/run.headroom"
    fi
}

# check EXPRESSION: loops by name, with all cycles of a model: f("chases", "uniform", "data_flow").
check()
{
    python3 - out "$1" <<'PYTHON'
import json, sys
loops = {loop["function"]: loop for loop in json.load(open(sys.argv[1]))["limits"]["loops"]}
def s(name):
    return loops[name]["schedule"]
def m(name, memory):
    return {model["memory"]: model for model in s(name)["models"]}[memory]
def f(name, memory, kind):
    return m(name, memory)[kind] * s(name)["iterations"]
if not eval(sys.argv[2]):
    for name, loop in loops.items():
        print(name, {k: v for k, v in (loop["schedule"] or {}).items() if k != "operations"})
    sys.exit(sys.argv[2])
PYTHON
}

@test "the program prints and ends as alone, and its output is that of one run" {
    recorded
    [ -s "$BATS_FILE_TMPDIR/schedule.txt" ]
    grep -Eq "^      all loads hit  +4\.0[0-9] +4\.0[0-9] +4\.0[0-9]$" "$BATS_FILE_TMPDIR/report"
    grep -q "iterations, each operation as soon as possible: by dependences alone" "$BATS_FILE_TMPDIR/report"
}

@test "dependences alone: chains, branches, stores, functions" {
    recorded
    try 0 "$HEADROOM" report --format json "$BATS_FILE_TMPDIR/run.headroom"
    # The first load of each window 5 cycles, all others 4.
    check 'abs(f("chases", "uniform", "data_flow") - 4 * s("chases")["iterations"] - s("chases")["windows"]) < 1'
    check 'abs(f("calls", "uniform", "data_flow") - 3 * s("calls")["iterations"]) < 1'
    check 'abs(f("turns", "uniform", "data_flow") - 1.5 * s("turns")["iterations"]) <= 1.5 * s("turns")["windows"]'
    # A link of 5 cycles every fourth iteration, and a dozen at the ends of each window.
    check '0 <= f("meets", "uniform", "data_flow") - 1.25 * s("meets")["iterations"] < 16 * s("meets")["windows"]'
    check 'all(loops[name]["bounds"]["schedule"] == m(name, "uniform")["units"] for name in ("chases", "calls", "turns", "meets"))'
    check 's("calls")["instructions"] == 5 * s("calls")["iterations"] == s("calls")["inside"]'
    check 's("turns")["windows"] == 4 and len(s("turns")["operations"]) > 10'
}

@test "units and front end" {
    recorded
    try 0 "$HEADROOM" report --format json "$BATS_FILE_TMPDIR/run.headroom"
    # Four slots for the seven instructions, two of which are one: 1.5 cycles of loads and stores, 2 of slots.
    check 'abs(m("meets", "uniform")["units"] - 1.5) < 0.05'
    check 'abs(m("meets", "uniform")["machine"] - 2) < 0.05'
    check 'abs(m("turns", "uniform")["machine"] - 1.5) < 0.02'
    check 'all(0 < unit["ratio"] <= 1 for unit in s("meets")["units"])'
}

@test "compulsory: one load of eight misses, of 100 cycles in place of 5" {
    recorded
    try 0 "$HEADROOM" report --format json "$BATS_FILE_TMPDIR/run.headroom"
    check 's("chases")["iterations"] / 8 <= m("chases", "compulsory")["misses"] <= s("chases")["iterations"] / 8 + 2 * s("chases")["windows"]'
    check 'abs(f("chases", "compulsory", "data_flow") - f("chases", "uniform", "data_flow") - 95 * m("chases", "compulsory")["misses"]) < 1'
    check 'm("calls", "compulsory")["misses"] == 0 and f("calls", "compulsory", "machine") == f("calls", "uniform", "machine")'
    # Misses that nothing waits for overlap, as far as the reorder buffer reaches.
    check 'm("meets", "compulsory")["data_flow"] < 2 < 4 < m("meets", "compulsory")["machine"]'
}

@test "the schedule as text: windows, threads, units, path, first iterations" {
    recorded
    python3 - "$BATS_FILE_TMPDIR/schedule.txt" <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
parts = dict(re.findall(r"^(\w+), loop at 0x[0-9a-f]+\n(.*?)(?=^\w+, loop at|\Z)", text, re.M | re.S))
assert set(parts) >= {"chases", "calls", "turns", "meets"}, parts.keys()
def threads(part):
    return set(re.findall(r"^ +\d+ +\d+ +\d+ +(\d+)$", part, re.M))
assert threads(parts["turns"]) == {"2"} and threads(parts["chases"]) == {"1"}
assert "drawn from 40000000 executions of its head" in parts["chases"]
assert re.search(r"^ +4\.00 +1\.00  mov \(%rax\), %rax  \(executed\.S:\d+\)$", parts["chases"], re.M), parts["chases"]
assert re.search(r" p1 +imul %rax, %rax$", parts["calls"], re.M)
assert re.search(r"^ +1\.50 +0\.50  lea 0x1\(%rax,%rax,2\), %rax", parts["turns"], re.M)
assert re.search(r"^ +5\.0 +9\.0 +2  p[23] +load of mov \(%rax\), %rax$", parts["chases"], re.M)
assert "a reorder buffer of 224" in text
PYTHON
}

@test "of a recording, for another machine, and for this one, whose buffer may not be known" {
    recorded
    try 0 "$HEADROOM" limits --machine zen3 --format json --schedule again.txt --profile "$BATS_FILE_TMPDIR/run.headroom"
    check 's("calls")["iterations"] > 100 and m("calls", "uniform")["machine"] is not None and len(s("calls")["models"]) == 1'
    grep -q "calls, loop at" again.txt
    try 0 "$HEADROOM" limits --format json --schedule here.txt --profile "$BATS_FILE_TMPDIR/run.headroom"
    if grep -q "its reorder buffer, is not known" here.txt; then
        check 'all(loops[name]["schedule"]["models"][0]["machine"] is None for name in ("chases", "calls"))'
        lacks "^machine  " here.txt
    else
        check 'all(loops[name]["schedule"]["models"][0]["machine"] >= loops[name]["schedule"]["models"][0]["units"] for name in ("chases", "calls"))'
        grep -q "^machine  " here.txt
    fi
    try 0 "$HEADROOM" limits --machine skylake --format json --only chases --profile "$BATS_FILE_TMPDIR/run.headroom"
    check 'list(loops) == ["chases"]'
    try 0 "$HEADROOM" view -o page.html "$BATS_FILE_TMPDIR/run.headroom"
}

@test "caches are simulated, and reuse distances let expect the same" {
    needs_engine
    lscpu -B -C=NAME,ONE-SIZE | awk '$1 == "L1d" { first = $2 } $1 == "L2" { second = $2 } END { exit !(first && first <= 65536 && second >= 524288) }' ||
        skip "256 KiB of nodes are not to be found between the first two caches of this machine"
    try 7 "$HEADROOM" limits --machine skylake --rate 1000 --latency l2=14,l3=50,memory=200 --memory uniform,caches,reuse --measure --only chases \
        --report report -o caches.headroom -- "$BATS_FILE_TMPDIR/executed" 20
    try 0 "$HEADROOM" report --format json caches.headroom
    # 256 KiB of nodes: each line is found in the second-level cache, 9 cycles later than in the first.
    check 'abs(m("chases", "caches")["misses"] - s("chases")["iterations"] / 8) <= s("chases")["windows"]'
    check 'abs(f("chases", "caches", "data_flow") - f("chases", "uniform", "data_flow") - 9 * m("chases", "caches")["misses"]) < 1'
    check 'abs(f("chases", "reuse", "data_flow") / f("chases", "caches", "data_flow") - 1) < 0.01'
}

@test "what cannot be scheduled is said" {
    try 7 "$HEADROOM" limits --machine skylake -q -o first.headroom -- "$BATS_FILE_TMPDIR/executed" 40
    try 1 "$HEADROOM" limits --machine skylake -q --schedule none.txt --profile first.headroom
    grep -q "nothing is known of what the loops executed" err
    [ ! -e none.txt ]
    try 1 "$HEADROOM" limits --machine skylake -q --memory compulsory --profile first.headroom
    grep -q "what loads take that miss is not known" err
    try 1 "$HEADROOM" limits --machine skylake -q --memory all --profile first.headroom
    grep -q "'all' is none of uniform, compulsory, caches, reuse" err
    try 125 "$HEADROOM" limits --machine skylake --schedule none.txt --memory caches -- "$BATS_FILE_TMPDIR/executed" 1
    [ ! -s out ]
    try 125 "$HEADROOM" limits --machine skylake --schedule nowhere/none.txt -- "$BATS_FILE_TMPDIR/executed" 1
    grep -q "cannot write 'nowhere/none.txt'" err
    [ ! -s out ]
    try 2 "$HEADROOM" limits --memory uniform -- true
    try 1 "$HEADROOM" limits --machine skylake -q --only nothing --profile first.headroom
    grep -q "in a loop of 'nothing'" err
}
