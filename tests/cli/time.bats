#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The profile of CPU time that every live recording holds.

load common

ALL_NEED_WATCHPOINTS=1

# What the tests read is recorded once. Alone the program finds which shares of its CPU time its functions have.
recorded()
{
    local programs=$(dirname "$HEADROOM")/tests/programs
    cd "$BATS_FILE_TMPDIR"
    [ ! -e reuse.headroom ] || return 0
    "$programs/shares" 3 >truth
    set -- $(cut -d' ' -f3 truth)
    "$HEADROOM" waste -q --rate 500 -o waste.headroom -- "$programs/shares" "$@"
    "$HEADROOM" reuse -q --rate 500 -o reuse.headroom -- "$programs/shares" "$@"
}

@test "functions have their shares, called by whom or calling whom" {
    recorded
    for verb in waste reuse; do
        "$HEADROOM" report --format json --limit 0 $verb.headroom >json
        python3 - json truth <<'P'
import json, sys
time = json.load(open(sys.argv[1]))["run"]["time"]
truth = {name: float(share) for name, share, _ in map(str.split, open(sys.argv[2]))}
rows = {row["function"]: row for row in time["functions"] if "shares.c" in (row["file"] or "")}
assert time["samples"] > 500, time["samples"]
assert 2 < time["ns"] / 1e9 < 5, time["ns"]
for name, share in truth.items():
    # Four standard errors, and what other work on the machine makes slower than the rest.
    near = 4 * (share * (1 - share) / time["samples"]) ** 0.5 + 0.02
    assert abs(rows[name]["own"] - share) < near, (name, share, rows[name])
    assert abs(rows[name]["total"] - share) < near, (name, share, rows[name])
    assert rows[name]["ci95"][0] <= rows[name]["own"] <= rows[name]["ci95"][1]
# What copying does is done in libc; it is own time of `copying` all the same.
assert rows["copying"]["self"] < 0.5 * rows["copying"]["own"], rows["copying"]
assert rows["plain"]["self"] == rows["plain"]["own"]
assert rows["main"]["total"] > 0.97 and rows["main"]["own"] < 0.03, rows["main"]
assert abs(sum(row["own"] for row in time["functions"]) + time["unknown"] - 1) < 1e-4
assert abs(sum(row["self"] for row in time["functions"]) + time["unknown"] - 1) < 1e-4
assert abs(sum(row["own"] for row in time["lines"]) + time["unknown"] - 1) < 1e-4
P
    done
}

@test "the largest are named under the head" {
    recorded
    "$HEADROOM" report waste.headroom | tr -s ' \n' ' ' >text
    grep -Eq 'CPU time plain (4[0-9]|5[0-9]) %, recursive [23][0-9] %, copying [12][0-9] %' text
}

@test "as a metric of exports and of the page" {
    recorded
    "$HEADROOM" export --to folded --metric cpu_time waste.headroom >folded
    "$HEADROOM" report --format json waste.headroom >json
    python3 - folded json <<'P'
import json, sys
sums = {}
for line in open(sys.argv[1]):
    stack, value = line.rsplit(" ", 1)
    for name in set(stack.split(";")):
        sums[name] = sums.get(name, 0) + int(value)
    sums[""] = sums.get("", 0) + int(value)
time = json.load(open(sys.argv[2]))["run"]["time"]
assert sums[""] == time["ns"], (sums[""], time["ns"])
own = {row["function"]: row["total"] for row in time["functions"]}
for name in "plain", "recursive", "copying":
    assert abs(sums[name] / sums[""] - own[name]) < 1e-4, name
P
    "$HEADROOM" export --to pprof waste.headroom >/dev/null
    "$HEADROOM" export --to csv waste.headroom | head -1 | grep -q cpu_time
    "$HEADROOM" view -o page.html waste.headroom
}

@test "merging adds up" {
    recorded
    "$HEADROOM" merge -o both.headroom waste.headroom waste.headroom
    for name in waste both; do "$HEADROOM" report --format json $name.headroom >$name.json; done
    python3 -c '
import json
one, two = (json.load(open(name))["run"]["time"] for name in ("waste.json", "both.json"))
assert two["samples"] == 2 * one["samples"] and two["ns"] == 2 * one["ns"]
assert [row["own"] for row in one["functions"]] == [row["own"] for row in two["functions"]]
'
}

@test "none in an exact recording" {
    "$HEADROOM" waste -q --exact -o exact.headroom -- /bin/true
    "$HEADROOM" report --format json exact.headroom | python3 -c '
import json, sys
assert "run" not in json.load(sys.stdin)'
}

# The search of examples/indexer.c takes most of its time, clearing a kilobyte for each word a part of the rest.
@test "run: the search first, the memset among the next, with what they would gain" {
    need_watchpoints
    ${CC:-cc} -O2 -g -o indexer "$(dirname "$BATS_TEST_FILENAME")/../../examples/indexer.c"
    # With the usual budget three recordings in twenty had too few samples for this.
    try 0 "$HEADROOM" run --budget 10% -o run.headroom -- ./indexer
    grep -q '^What to fix first' err
    [ "$(grep -cE '^  #[0-9]+  about' err)" -le 3 ]
    lacks '^Dead stores' err
    # The three with all that is said of them fit on a screen.
    [ "$(sed -n '/^What to fix first/,/^Limits/p' err | wc -l)" -le 36 ]
    "$HEADROOM" report --kinds dead run.headroom >dead
    grep -q '^Dead stores' dead
    "$HEADROOM" report --format json run.headroom | python3 -c '
import json, sys
report = json.load(sys.stdin)
found = [f for f in report["run"]["findings"] if not f["weak"]]
search = found[0]
memset = next(f for f in found[1:3] if f["cause"][0]["line"] == 65)
assert search["cause"][0]["line"] == 93 and search["kinds"][0] == "load", (search["cause"], search["kinds"])
assert "dead" in memset["kinds"] or "silent" in memset["kinds"], memset["kinds"]
assert search["gain"]["direct"] > 0.25 and memset["gain"]["direct"] > 0.03
assert search["advice"]["id"] in ("load.search", "load.compared")
assert memset["advice"]["id"] in ("dead.cleared", "silent.cleared"), memset["advice"]
for f in found:
    gain = f["gain"]
    assert 0 <= gain["low"] <= gain["direct"] <= gain["ci95"][1] and gain["direct"] <= gain["ceiling"] <= 1, gain
assert sum(f["gain"]["direct"] for f in found) <= 1.0001
expected = [f["expected"] for f in found]
assert expected == sorted(expected, reverse=True) and all(f["slight"] == (f["expected"] < 0.01) for f in found), expected
'
    try 0 "$HEADROOM" view -o run.html run.headroom
    grep -q 'What to fix first' run.html
    "$HEADROOM" export --to folded run.headroom >lead
    "$HEADROOM" export --to folded --metric cpu_time run.headroom | cmp - lead
    try 3 "$HEADROOM" check --limits run.gain=5% run.headroom
    # The first finding's, as reported.
    direct=$("$HEADROOM" report --format json run.headroom | python3 -c '
import json, sys
print("%.1f" % (100 * json.load(sys.stdin)["run"]["findings"][0]["gain"]["direct"]))')
    grep -qE "^ +run.gain +$direct %" out
    try 0 "$HEADROOM" check --limits run.gain=99% run.headroom
    "$HEADROOM" diff run.headroom run.headroom | grep -q '^  run.gain '
}

# The step of an automaton: all that it loads it has loaded before, and needs again.
@test "run: where no gain is to be expected, it says so, and where the time goes" {
    need_watchpoints
    cat >automaton.c <<'END'
#include <stdio.h>
static unsigned char next[64][256], text[4096];
static __attribute__((noinline)) unsigned step_through(unsigned state)
{
    for (unsigned i = 0; i < sizeof text; i++)
        state = next[state][text[i]];
    return state;
}
int main(void)
{
    unsigned state = 1;
    for (unsigned i = 0; i < 64 * 256; i++)
        next[i / 256][i % 256] = i * 2654435761u >> 26;
    for (unsigned i = 0; i < sizeof text; i++)
        text[i] = i * 40503u >> 8;
    for (unsigned i = 0; i < 600000; i++)
        state = step_through(state);
    printf("%u\n", state);
}
END
    ${CC:-cc} -O2 -g -o automaton automaton.c
    try 0 "$HEADROOM" run --budget 10% -o run.headroom -- ./automaton
    "$HEADROOM" report run.headroom | tr -s ' \n' ' ' >text
    grep -q 'What to fix first nothing: no finding is expected to gain 1 % of the CPU time; it goes to step_through' text
    lacks '#1' text
    "$HEADROOM" report --format json run.headroom | python3 -c '
import json, sys
found = [f for f in json.load(sys.stdin)["run"]["findings"] if not f["weak"]]
assert found and all(f["slight"] and f["expected"] < 0.01 for f in found), found'
}

# An interpreter's indirect jumps often end a look ahead, which then goes on from a breakpoint.
@test "a tick is counted once, whatever its way ahead" {
    for verb in waste run; do
        "$HEADROOM" $verb -q --rate 1000 -o $verb.headroom -- python3 -c 'print(sum(hash(str(i)) for i in range(900000)))'
        "$HEADROOM" report $verb.headroom >report
        lacks "not add up" report
        grep -q "attempted samples" report
    done
}

@test "a larger budget buys more samples" {
    need_watchpoints
    recorded
    for budget in 1% 20%; do
        "$HEADROOM" waste -q --budget $budget -o $budget.headroom -- "$(dirname "$HEADROOM")/tests/programs/shares" 1
        "$HEADROOM" report --format json $budget.headroom >$budget.json
    done
    python3 -c '
import json
few, many = (json.load(open(name))["attempted"] for name in ("1%.json", "20%.json"))
assert many > 3 * few > 0, (few, many)'
    try 125 "$HEADROOM" waste --rate 80 --budget 5% -- true
    grep -q -- '--budget' err
    try 125 "$HEADROOM" waste --exact --budget 5% -- true
    try 125 "$HEADROOM" waste --budget 90% -- true
}
