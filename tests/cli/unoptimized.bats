#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Code that was compiled without optimization is said to be.

load common

export programs=$BATS_FILE_TMPDIR

# COMPILER/spends SLOW FAST: turns in code compiled without optimization, and with.
setup_file()
{
    cd "$BATS_FILE_TMPDIR"
    for name in slow fast; do
        echo "long $name(long turns) { volatile long sum = 0; for (long i = 0; i < turns; i++) sum += i; return sum; }" >$name.c
    done
    cat >main.c <<'C'
#include <stdlib.h>
long slow(long turns), fast(long turns);
int main(int count, char **words) { return count == 3 && slow(atol(words[1])) + fast(atol(words[2])) < 0; }
C
    for compiler in gcc clang; do
        if command -v $compiler; then
            mkdir $compiler
            $compiler -O0 -g -c slow.c -o $compiler/slow.o
            $compiler -O1 -g -c fast.c -o $compiler/fast.o
            $compiler -O2 -g main.c $compiler/*.o -o $compiler/spends
        fi
    done >/dev/null
    # No options in DW_AT_producer: where parameters are tells.
    if [ -d gcc ]; then
        mkdir silent
        gcc -gno-record-gcc-switches -O0 -g -c slow.c -o silent/slow.o
        gcc -gno-record-gcc-switches -O2 -g -c fast.c -o silent/fast.o
        gcc -gno-record-gcc-switches -O2 -g main.c silent/*.o -o silent/spends
    fi
}

# share OF LOW HIGH
share()
{
    python3 - "$@" <<'P'
import json, os, sys
of, low, high = sys.argv[1:]
found = json.load(open("json")).get("unoptimized")
if float(high) == 0:
    assert found is None or found["share"] < 0.01, found
else:
    assert found["of"] == of and float(low) <= found["share"] <= float(high), found
    assert os.path.basename(found["files"][0]["file"]) == "slow.c", found
P
}

said()
{
    "$HEADROOM" report --format json profile >json
    "$HEADROOM" report profile | tr -s ' \n' ' ' >words
}

@test "CPU time in code without optimization is said once, with its files, by all who sample" {
    need_watchpoints
    for built in $programs/*/spends; do
        for verb in waste run; do
            "$HEADROOM" $verb -q -o profile -- $built 400000000 100000 2>/dev/null
            said
            share cpu-time 0.95 1
            [ "$(grep -Eo '(9[5-9]|100) % of the time in user mode was in code that was compiled without optimization \(slow.c\): build with -O2 before acting' words | wc -l)" = 1 ]
        done
    done
}

@test "optimized code is not called so" {
    need_watchpoints
    for built in $programs/*/spends; do
        "$HEADROOM" waste -q -o profile -- $built 1000 400000000
        said
        share cpu-time 0 0
        lacks "without optimization" words
    done
}

@test "exact: of what was wasted" {
    needs_engine
    for built in $programs/*/spends; do
        "$HEADROOM" waste --exact -q -o profile -- $built 300000 1000
        said
        share wasted-bytes 0.9 1
        grep -Eq "(9[0-9]|100) % of the wasted bytes were wasted in code that was compiled without optimization \(slow.c\)" words
        "$HEADROOM" waste --exact -q -o profile -- $built 1 300000
        said
        share wasted-bytes 0 0
    done
}
