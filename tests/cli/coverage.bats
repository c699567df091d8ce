#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# How much of a run counts speak of.

load common

export programs=$BATS_FILE_TMPDIR

# spends OWN OTHER LIBRARY: turns of the same loop in counted code, in code of the same program that is not, in a library.
setup_file()
{
    cd "$BATS_FILE_TMPDIR"
    local cc=${CC:-cc}
    cat >own.c <<'C'
#include <stdlib.h>
long other(long turns), library(long turns);
static long own(long turns) { volatile long sum = 0; for (long i = 0; i < turns; i++) sum += i; return sum; }
int main(int count, char **words)
{
    return count == 4 && own(atol(words[1])) + other(atol(words[2])) + library(atol(words[3])) < 0;
}
C
    for name in other library; do
        echo "long $name(long turns) { volatile long sum = 0; for (long i = 0; i < turns; i++) sum += i; return sum; }" >$name.c
    done
    "$cc" -O1 -g -shared -fPIC library.c -o libplain.so
    "$cc" -O1 -g -c other.c
    "$HEADROOM" cc --paths -- "$cc" -O1 -g -c own.c
    "$HEADROOM" cc --paths -- "$cc" own.o other.o -o spends -L. -lplain -Wl,-rpath,"$PWD"
    "$cc" -O1 -g -w "$BATS_TEST_DIRNAME/../torture/cases/deny_perf.c" -o deny_perf
    echo 'int main(void) { return 0; }' >empty.c
    "$cc" empty.c -o plain
}

# shares KIND MODULE LOW HIGH: of the CPU time in user mode.
shares()
{
    python3 - "$@" <<'P'
import json, os, sys
kind, module, low, high = sys.argv[1:]
rows = json.load(open("json"))["cpu_time"]["modules"]
share = sum(row["share"] for row in rows if row["code"] == kind and os.path.basename(row["module"] or "") == module)
assert float(low) <= share <= float(high), rows
P
}

said()
{
    "$HEADROOM" report --format json profile >json
    "$HEADROOM" report profile >text
    tr -s ' \n' ' ' <text >words
}

@test "a library that was not built to count had the time: first in the report" {
    "$HEADROOM" paths -q -o profile -- $programs/spends 3000000 0 800000000
    said
    shares lines libplain.so 0.9 1
    shares counted spends 0 0.1
    grep -Eq "counted code did almost none of this run's work: libplain.so \((9[0-9]|100) % of the CPU time in user mode\) was not built with 'headroom cc'" words
    [ "$(grep -n 'almost none' text | cut -d: -f1)" -lt "$(grep -n '^Paths' text | cut -d: -f1)" ]
}

@test "objects of the program that were not built to count are not counted code" {
    "$HEADROOM" paths -q -o profile -- $programs/spends 200000000 600000000 0
    said
    # The same loop, one of them counted, which takes longer.
    shares counted spends 0.2 0.6
    shares lines spends 0.4 0.8
    grep -Eq "counted code did [2-6][0-9] % of this run's work, by CPU time in user mode: parts of spends \([4-8][0-9] %" words
}

@test "all counted: nothing is missed" {
    "$HEADROOM" paths -q -o profile -- $programs/spends 800000000 0 0
    said
    shares counted spends 0.97 1
    grep -Eq "counted code did (9[7-9]|100) % of this run's work" words
    lacks 'libplain' words
}

@test "children too, and what they execute" {
    "$HEADROOM" paths -q -o profile -- sh -c '$programs/spends 200000000 0 0; ($programs/spends 0 0 600000000); exec $programs/spends 200000000 0 0'
    said
    shares counted spends 0.3 0.7
    shares lines libplain.so 0.3 0.7
}

@test "too short to tell" {
    "$HEADROOM" paths -q -o profile -- $programs/spends 1000 0 0
    said
    grep -q 'the run was too short to tell how much of its work counted code did' words
}

@test "samples refused: said, and everything is counted" {
    try 0 $programs/deny_perf "$HEADROOM" paths -o profile -- $programs/spends 3000000 0 800000000
    tr -s ' \n' ' ' <err >words
    grep -q 'how much of the CPU time counted code had is not known: the kernel refuses samples of the clock' words
    "$HEADROOM" report --format json profile >json
    python3 -c 'import json; report = json.load(open("json")); assert "cpu_time" not in report or not report["cpu_time"]["samples"]; assert sum(path["count"] for path in report["paths"]["paths"]) > 2900000'
    "$HEADROOM" report profile >text
    lacks -E 'almost none|too short' text
}

@test "programs that do not count: both ways are named" {
    try 0 "$HEADROOM" paths -- $programs/plain
    one_sentence "build it with CC='headroom cc --paths', or follow it as it is with 'headroom paths --exact -- $programs/plain'"
    [ ! -e paths.headroom ]
    need_watchpoints
    try 0 "$HEADROOM" waste --source count -- true
    one_sentence "'true' runs no program that counts its accesses; build it with CC='headroom cc --count', or leave out '--source count'"
    [ ! -e waste.headroom ]
}
