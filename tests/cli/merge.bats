#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom merge from outside: totals are sums, origins are listed, order and groups do not matter, misuse is refused.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >stores.c <<'END'
#include <stdlib.h>
static volatile long cell[64];
__attribute__((noinline)) static long store(long n)
{
    for (long i = 0; i < n; i++)
        if (i % 3)
            cell[i % 64] = i;
        else
            cell[i % 64] = 7;
    return cell[5];
}
int main(int count, char **words)
{
    return store(count > 1 ? atol(words[1]) : 100) < 0 ? 9 : count > 2 ? atoi(words[2]) : 0;
}
END
    "${CC:-cc}" -O1 -g stores.c -o stores
    export PROGRAM=$BATS_FILE_TMPDIR/stores
}

# Profiles merged in three ways: as given, turned round, and in two steps.
merge_all()
{
    try 0 "$HEADROOM" merge -o whole "$1" "$2" "$3"
    [ ! -s err ] && [ ! -s out ]
    try 0 "$HEADROOM" merge -o turned "$3" "$2" "$1"
    try 0 "$HEADROOM" merge -o two "$2" "$3"
    try 0 "$HEADROOM" merge -o steps "$1" two
    for file in whole turned steps; do
        "$HEADROOM" report --format json "$file" >"$file.json"
    done
    python3 - <<'END'
import json, math
def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return a == b
whole, turned, steps = (json.load(open(f + ".json")) for f in ("whole", "turned", "steps"))
assert same(whole, turned) and same(whole, steps)
assert len({m["file"] for m in whole["merged"]}) == len(whole["merged"]) == 3
assert not same(whole, {**whole, "processes": 99})
END
}

# Python expressions of a report d, the same for the sum of one, two, three as for the merged one.
adds_up()
{
    python3 - "$@" <<'END'
import json, sys
reports = [json.load(open(f + ".json")) for f in ("one", "two", "three", "whole")]
for word in sys.argv[1:]:
    *parts, whole = [eval(word, {"d": d}) for d in reports]
    assert sum(parts) == whole and min(parts) > 0, (word, parts, whole)
END
}

record() # VERB OPTION... : the program thrice, with more and more to do
{
    local n=1000 file
    for file in one two three; do
        try 0 "$HEADROOM" "$@" -q -o $file.headroom -- "$PROGRAM" $((n += 500))
    done
    merge_all one.headroom two.headroom three.headroom
    for file in one two three; do
        "$HEADROOM" report --format json $file.headroom >$file.json
    done
}

@test "merge: misuse" {
    try 2 "$HEADROOM" merge
    one_sentence "no profiles given"
    touch there
    try 2 "$HEADROOM" merge there
    one_sentence "at least two profiles are needed"
    try 2 "$HEADROOM" merge --frobnicate a b
    one_sentence "--frobnicate"
    try 1 "$HEADROOM" merge missing there
    one_sentence "'missing'"
    try 1 "$HEADROOM" merge there there
    one_sentence "'there' is not a headroom profile"
    try 1 "$HEADROOM" merge -o /nowhere/x there there
    one_sentence "/nowhere/x"
    mkdir merge.headroom
    try 1 "$HEADROOM" merge there there
    one_sentence "a directory"
    [ "$(ls)" = "$(printf 'all\nerr\nmerge.headroom\nout\nthere')" ]
}

@test "merge: waste adds up to the byte" {
    record waste --exact
    adds_up 'd["exact"]["loads"]' 'd["exact"]["store_bytes"]' 'd["processes"]' \
        'd["waste"]["dead"]["waste_bytes"]' 'd["waste"]["dead"]["use_bytes"]' \
        'd["waste"]["silent"]["waste_bytes"]' 'd["waste"]["load"]["waste_bytes"]' \
        'sum(p["waste_bytes"] for p in d["waste"]["dead"]["pairs"] if p["second"][0]["function"] == "store")'
}

@test "merge: reuse adds up, and the same place stays one" {
    record reuse --exact
    adds_up 'd["reuse"]["accesses"]' 'd["reuse"]["locations"]' 'd["reuse"]["never_reused"]'
    python3 - <<'END'
import json
def places(file):
    end = lambda frames: tuple((f["function"], f["line"]) for f in frames)
    pairs = [(end(p["use"]), end(p["reuse"])) for p in json.load(open(file + ".json"))["reuse"]["pairs"]]
    return sorted(p for p in pairs if p[0] and p[0][0][0] == "store")
parts = set(places("one") + places("two") + places("three"))
assert sorted(parts) == places("whole") and len(parts) > 0, (parts, places("whole"))
END
}

@test "merge: paths add up" {
    try 0 "$HEADROOM" cc --paths --contexts -- "${CC:-cc}" -O1 -g "$BATS_FILE_TMPDIR/stores.c" -o built
    PROGRAM=./built
    record paths
    adds_up 'sum(p["count"] for p in d["paths"]["paths"])' \
        'sum(p["metrics"]["instructions"] for p in d["paths"]["paths"])'
    python3 - <<'END'
import json
one, whole = (json.load(open(f + ".json")) for f in ("one", "whole"))
assert len(one["paths"]["functions"]) == len(whole["paths"]["functions"])
assert one["paths"]["cct"]["nodes"] == whole["paths"]["cct"]["nodes"]
END
}

@test "merge: interference adds up" {
    need_watchpoints
    cat >work.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile long sum;
__attribute__((noinline)) void work(long n)
{
    for (long i = 0; i < n; i++)
        sum += i;
}
int main(int count, char **words)
{
    for (long i = 0; i < 3000; i++)
        work(count > 1 ? atol(words[1]) / 10 : 100);
    return 0;
}
END
    "${CC:-cc}" -O1 -g work.c -o work
    PROGRAM=./work
    record interference --every 1 --functions work
    adds_up 'sum(b["count"] for b in d["interference"]["blocks"] if b["function"] == "work")' \
        'len(d["interference"]["threads"])'
    python3 - <<'END'
import json
blocks = json.load(open("whole.json"))["interference"]["blocks"]
assert len([b for b in blocks if b["function"] == "work"]) == 1
END
}

@test "merge: its origins are listed, and how the first that failed ended" {
    try 0 "$HEADROOM" waste --exact -q -o good.headroom -- "$PROGRAM" 100
    try 3 "$HEADROOM" waste --exact -q -o bad.headroom -- "$PROGRAM" 100 3
    try 0 "$HEADROOM" merge bad.headroom good.headroom
    try 0 "$HEADROOM" report merge.headroom
    grep -q 'merged from 2 profiles: good.headroom, bad.headroom$' out
    grep -q '2 processes, 2 threads, exit status 3' out
    try 0 "$HEADROOM" report --format json merge.headroom
    python3 - <<'END'
import json
d = json.load(open("out"))
assert d["exit"] == {"code": 3, "signal": None} and d["command"] == []
assert [m["exit"]["code"] for m in d["merged"]] == [0, 3]
assert d["merged"][1]["command"].endswith("stores 100 3") and d["merged"][1]["processes"] == 1
END
    # again, into a merged one: the former file is kept
    try 0 "$HEADROOM" merge merge.headroom good.headroom
    [ -e merge.headroom.old ]
    try 0 "$HEADROOM" report merge.headroom
    grep -q 'merged from 3 profiles' out
}

@test "merge: a recording that counts twice is reported, now and in reports" {
    try 0 "$HEADROOM" waste --exact -q -o one -- "$PROGRAM"
    try 0 "$HEADROOM" waste --exact -q -o two -- "$PROGRAM"
    cp one other
    try 0 "$HEADROOM" merge -o both one two
    [ ! -s err ]
    for files in "one one" "one other" "both one" "two one one" "one both two"; do
        try 0 "$HEADROOM" merge -o twice $files
        one_sentence "merged more than once"
        try 0 "$HEADROOM" report twice
        [ "$(grep -c '  - a recording was merged more than once' out)" -eq 1 ]
    done
}

@test "merge: what cannot be added is refused, and nothing is written" {
    try 0 "$HEADROOM" waste --exact -q -o waste -- "$PROGRAM"
    try 0 "$HEADROOM" waste --exact -q -k dead -o dead -- "$PROGRAM"
    try 0 "$HEADROOM" reuse --exact -q -o lines -- "$PROGRAM"
    try 0 "$HEADROOM" reuse --exact -q --unit byte -o bytes -- "$PROGRAM"
    try 0 "$HEADROOM" reuse --exact -q --what-if-cache 32K,8 -o cache -- "$PROGRAM"
    try 1 "$HEADROOM" merge waste lines
    one_sentence "cannot merge 'lines' with 'waste': their verbs differ"
    try 1 "$HEADROOM" merge waste dead
    one_sentence "kinds"
    try 1 "$HEADROOM" merge lines bytes
    one_sentence "64 and 1 bytes"
    try 1 "$HEADROOM" merge lines cache
    one_sentence "different caches"
    head -c 4096 waste >cut
    try 1 "$HEADROOM" merge waste cut
    one_sentence "'cut' is damaged"
    [ ! -e merge.headroom ]
}
