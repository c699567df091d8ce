#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom run --repeat: the command again and again, and one profile of all its runs.

load common

ALL_NEED_WATCHPOINTS=1

AGAIN=$(dirname "$HEADROOM")/tests/programs/again

field()
{
    "$HEADROOM" report --format json run.headroom | python3 -c "
import json, sys
report = json.load(sys.stdin)
print($1)"
}

# Without a single tick of the clock there is no profile of time that could name the runs.
runs_merged()
{
    field 'len(report.get("merged", [0]))'
}

@test "N runs become one profile; output and exit status are the first one's" {
    echo before >run.headroom.old
    try 7 "$HEADROOM" run --rate 200 --repeat 3 -- "$AGAIN" runs 100000 7
    [ "$(cat out)" = "run 1" ]
    [ "$(wc -l <runs)" -eq 3 ]
    grep -q '3 runs, added up' err
    lacks '--repeat would' err
    [ "$(cat run.headroom.old)" = before ]
    [ "$(field 'report["run"]["time"]["runs"]')" = 3 ]
    [ "$(field 'report["processes"], len(report["merged"]), report["exit"]["code"]')" = "3 3 7" ]
    [ "$(ls)" = "$(printf '%s\n' all err out run.headroom run.headroom.old runs)" ]
    # Nothing that headroom changes in itself for a recording reaches the next run.
    [ "$(sort -u runs | wc -l)" -eq 1 ] || { cat runs; return 1; }
    grep -q ' null 0$' runs
}

@test "merged with others, runs of one profile stand for themselves" {
    "$HEADROOM" run -q --repeat 3 -o three.headroom -- "$AGAIN" runs 10 0 </dev/null
    "$HEADROOM" run -q -o one.headroom -- "$AGAIN" runs 10 0 </dev/null
    "$HEADROOM" merge -o run.headroom three.headroom one.headroom
    "$HEADROOM" report run.headroom | grep -q 'merged from 4 profiles: three.headroom (3 runs), one.headroom$'
    [ "$(runs_merged)" -eq 4 ]
}

@test "samples and time are the sums of the runs'" {
    "$HEADROOM" run -q --rate 1000 -- "$AGAIN" one 200000 0 </dev/null
    local once=$(field 'report["run"]["time"]["ns"]')
    "$HEADROOM" run -q --rate 1000 --repeat=4 -- "$AGAIN" four 200000 0 </dev/null
    [ "$(wc -l <four)" -gt 1 ]
    local runs=$(wc -l <four) all=$(field 'report["run"]["time"]["ns"]')
    # One run may be twice as slow as another beside other programs.
    [ "$all" -gt $((once * runs / 2)) ]
    [ "$all" -lt $((once * runs * 2)) ]
    [ "$(field 'report["run"]["findings"][0]["cause"][0]["function"]')" = clear ]
}

@test "enough is enough: about 300 decided samples of each kind" {
    "$HEADROOM" run -q --rate 1000 --repeat -- "$AGAIN" runs 200000 0 </dev/null
    local runs=$(field 'report["run"]["time"]["runs"]')
    [ "$(wc -l <runs)" -eq "$runs" ]
    # 300 are reached in the last run only, which adds as many as the others did.
    field 'min(kind["traps"] for kind in report["waste"].values())' >least
    [ "$(cat least)" -ge 300 ] || { cat least; return 1; }
    [ "$runs" -eq 1 ] || [ "$(($(cat least) * (runs - 1) / runs))" -lt 400 ]
}

@test "standard input: a file is read again from where it stood, a pipe cannot be" {
    printf '1234567890' >input
    ( dd bs=1 count=4 of=/dev/null 2>/dev/null; "$HEADROOM" run -q --repeat 3 -- "$AGAIN" runs 1 0 >/dev/null; cat >rest ) <input
    [ "$(grep -c '^read 6 ' runs)" -eq 3 ] || { cat runs; return 1; }
    [ ! -s rest ]
    # What the first run leaves is left for whoever reads on.
    printf 'a\nb\nc\n' >lines
    ( "$HEADROOM" run -q --repeat 3 -- bash -c 'read -r line; echo "$line" >>read'; cat >rest ) <lines
    [ "$(tr '\n' ' ' <read)" = "a a a " ]
    [ "$(tr '\n' ' ' <rest)" = "b c " ]
    rm runs
    printf abc | "$HEADROOM" run --repeat 3 -- "$AGAIN" runs 1 0 >/dev/null 2>err
    [ "$(wc -l <runs)" -eq 1 ]
    [ "$(grep -c 'its standard input is a pipe or socket' err)" -ge 1 ]
    field 'report["degraded"]' | grep -q 'was not run again: its standard input is a pipe'
}

@test "a run that ends differently is the last and does not count" {
    try 0 "$HEADROOM" run --repeat 9 -- "$AGAIN" runs 1000 0 0 5 0
    [ "$(wc -l <runs)" -eq 3 ]
    grep -q 'run 3 of the command ended with exit status 5, the first one with exit status 0' err
    [ "$(runs_merged)" -eq 2 ]
    [ "$(field 'report["exit"]["code"]')" -eq 0 ]
    field 'report["degraded"]' | grep -q 'run 3 of the command'
    rm runs
    try 0 "$HEADROOM" run --repeat 9 -- "$AGAIN" runs 1000 0 5
    [ "$(runs_merged)" -eq 1 ]
    field 'report["degraded"]' | grep -q 'run 2 of the command'
    rm runs
    try 130 "$HEADROOM" run --repeat 9 -- bash -c 'echo >>runs; kill -INT $$'
    [ "$(wc -l <runs)" -eq 1 ]
}

@test "no run goes on after --max-time" {
    try 0 timeout 60 "$HEADROOM" run --repeat --max-time 10 -- "$AGAIN" runs 1000 0 0 sleep
    [ "$(wc -l <runs)" -eq 3 ]
    [ "$(runs_merged)" -eq 2 ]
    # The first one is never ended, and nothing follows if there is no time.
    rm runs
    try 0 timeout 60 "$HEADROOM" run --repeat --max-time 1 -- bash -c 'echo >>runs; sleep 2'
    [ "$(wc -l <runs)" -eq 1 ]
    [ "$(runs_merged)" -eq 1 ]
}

@test "a further run that deletes the directory leaves the profile elsewhere" {
    mkdir room elsewhere
    cat >program <<'S'
echo >>../runs
[ "$(wc -l <../runs)" -ne 3 ] || rm -r ../room
exit 0
S
    (cd room && TMPDIR="$BATS_TEST_TMPDIR/elsewhere" "$HEADROOM" run --repeat 9 -- bash ../program </dev/null 2>../err) ||
        { cat err; return 1; }
    [ ! -e room ]
    local profile=$(ls elsewhere/*/run.headroom)
    grep -qF "The profile is in '$BATS_TEST_TMPDIR/$profile' instead." err || { cat err; return 1; }
    "$HEADROOM" report "$profile" | grep -Eq '^  [23] runs, added up'
}

@test "an interrupt ends repeating and keeps what there is" {
    "$HEADROOM" run --repeat --max-time 600 -- "$AGAIN" runs 1000 0 0 sleep </dev/null >out 2>err &
    local headroom=$!
    for i in {1..300}; do
        [ "$(cat runs 2>/dev/null | wc -l)" -lt 3 ] || break
        sleep 0.1
    done
    sleep 0.3
    kill -TERM $headroom
    local code=0
    wait $headroom || code=$?
    [ "$code" -eq 0 ] || { echo "$code"; cat err; return 1; }
    [ "$(runs_merged)" -eq 2 ]
    no_leftovers
}

@test "a short run is told from one that says enough" {
    try 0 "$HEADROOM" run -- "$AGAIN" runs 100 0
    grep -Eq '^  [0-9]+ samples?; --repeat would run the command again' err
    grep -q "headroom run --repeat -- $AGAIN runs 100 0" err
    lacks '^  [0-9]+ samples?; --repeat' <(HEADROOM_CACHE= "$HEADROOM" waste -- true 2>&1)
}

@test "options" {
    try 125 "$HEADROOM" run --max-time 5 -- true
    one_sentence '--max-time needs --repeat'
    try 125 "$HEADROOM" run --repeat=0 -- true
    one_sentence 'a whole number from 1 to 1000'
    try 0 "$HEADROOM" run -q --repeat -- true
    try 0 "$HEADROOM" run -q --repeat 2 true
    [ "$(runs_merged)" -eq 2 ]
}

# ---- --deep -------------------------------------------------------------------------------------

# The machine is measured by the first of these tests only.
measured_once()
{
    export HEADROOM_CACHE=$BATS_FILE_TMPDIR/cache
}

deep()
{
    measured_once
    try 0 "$HEADROOM" run --deep "$@"
}

@test "deep: the loops with most CPU time are bounded, behind what to fix first" {
    needs_engine
    cat >dot.c <<'EOF'
double a[1000], b[1000];
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 300000; i++) {
        __asm__ volatile("" ::: "memory");
        for (int j = 0; j < 1000; j++)
            sum += a[j] * b[j]; // @sum
    }
    return sum > 1;
}
EOF
    "${CC:-cc}" -O2 -g dot.c -o dot
    deep --max-time 200 --rate 500 -- ./dot
    [ "$(grep -nE '^(What to fix first|Loops)' err | cut -d: -f2 | cut -c1-5 | tr '\n' ' ')" = "What  Loops " ]
    "$HEADROOM" report --format json run.headroom >json
    python3 - json "$(grep -n @sum dot.c | cut -d: -f1)" <<'P'
import json, sys
report = json.load(open(sys.argv[1]))
loop = report["limits"]["loops"][0]
assert loop["function"] == "main" and loop["circuit"][0]["line"] == int(sys.argv[2]), loop
assert loop["bounds"]["recurrence"] >= 2 and loop["iterations"] % 300000 == 0, loop
# Unless the machine slowed down between the measurement of a cycle and that of the loop.
if loop["measured"] < 1.2 * loop["predicted"]:
    assert loop["limit"] == "recurrence" and loop["advice"]["id"] == "limits.accumulator", loop
assert report["run"]["time"]["samples"] and len(report["limits"]["loops"]) <= 3, report["limits"]
P
}

@test "deep: nests of the hottest loops, where their source is there" {
    needs_engine
    command -v opt-19 >/dev/null && command -v clang-19 >/dev/null || skip "LLVM 19 is not installed"
    # Columns of two arrays: larger than a first-level cache of 48 KiB as well.
    cat >turned.c <<'EOF'
#ifndef N
#define N 600
#endif
double a[N][N], b[N][N];
__attribute__((noinline)) void turn(void) {
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            b[i][j] = 2 * a[i][j];
}
int main(void) {
    for (int times = 0; times < 80; times++) turn();
    return 0;
}
EOF
    gcc -O1 -g turned.c -o turned
    deep --max-time 300 --rate 500 -- ./turned
    "$HEADROOM" report run.headroom >text
    grep -q "Loop nests  computed from their sources" text
    grep -q "the nest was executed 80 times" text
    "$HEADROOM" report --format json run.headroom >run.json
    python3 -c '
import json
report = json.load(open("run.json"))["locality"]
assert report["suggestions"] and report["suggestions"][0]["kind"] == "interchange", report
for one in report["references"]:
    seen = one["recorded"]
    assert abs(seen["misses"] - seen["computed_misses"]) <= 0.02 * seen["misses"], one'
    # compiled with a size of its own
    gcc -O1 -g -DN=610 turned.c -o turned
    deep --max-time 300 --rate 500 -- ./turned
    grep -q "it has other sizes than were run" err
    "$HEADROOM" report run.headroom >text
    lacks "the nest was executed" text
}

@test "deep: what samples estimate is counted" {
    needs_engine
    local refill=$(dirname "$HEADROOM")/tests/programs/silent_refill
    echo before >run.headroom.old
    deep --rate 1000 -- "$refill" 1.5
    [ "$(cat run.headroom.old)" = before ]
    [ "$(ls | tr '\n' ' ')" = 'all err out run.headroom run.headroom.old ' ]
    grep -q '^headroom: running the command once more to count all accesses' err
    grep -q '^headroom: running the command once more to measure how far apart uses' err
    lacks 'cache lines that threads' err
    grep -q '(exact: all were counted)' err
    "$HEADROOM" report --format json run.headroom >json
    python3 - json "$(grep -n @fill "$(dirname "$BATS_TEST_FILENAME")/../programs/silent_refill.c" | cut -d: -f1)" <<'P'
import json, sys
report = json.load(open(sys.argv[1]))
found = next(f for f in report["run"]["findings"] if f["cause"][0]["line"] == int(sys.argv[2]))
silent = next(s for s in found["symptoms"] if s["kind"] == "silent")
assert found["evidence"] == "exact" and silent["exact"] and not found["weak"], found
# Three of four entries never change but in the first round of some hundred.
assert 0.74 < silent["share"] <= 0.75 and silent["ci95"] == [silent["share"]] * 2, silent
assert found["gain"]["low"] <= found["gain"]["direct"] <= found["gain"]["ceiling"]
assert not report["degraded"], report["degraded"]
P
    "$HEADROOM" run -q --rate 1000 -- "$refill" 1.5
    [ "$(field '{f["evidence"] for f in report["run"]["findings"]} <= {"strong", "weak"}')" = True ]
    [ "$(field 'any(s["exact"] for f in report["run"]["findings"] for s in f["symptoms"])')" = False ]
}

# Down the columns of 64 MiB every line is used again 4096 others later; no first level has as many.
@test "deep: what misses is measured, not estimated" {
    needs_engine
    local columns=$(dirname "$HEADROOM")/tests/programs/columns line
    line=$(grep -n @columns "$(dirname "$BATS_TEST_FILENAME")/../programs/columns.c" | cut -d: -f1)
    deep --rate 1000 -- "$columns" columns 4
    cat >misses.py <<'P'
import json, sys
report, line = json.load(open(sys.argv[1])), int(sys.argv[2])
found = next(f for f in report["run"]["findings"] if f["cause"][0]["line"] == line)
print(json.dumps(next(s for s in found["symptoms"] if s["kind"] == "reuse")))
P
    "$HEADROOM" report --format json run.headroom >json
    python3 misses.py json "$line" >deep.json
    "$HEADROOM" run -q --rate 1000 -- "$columns" columns 4
    "$HEADROOM" report --format json run.headroom >json
    python3 misses.py json "$line" >live.json
    python3 - <<'P'
import json
deep, live = json.load(open("deep.json")), json.load(open("live.json"))
# But for the first use of each line behind the loop that made it, which happens once: of eight in the first of four rounds one.
assert deep["exact"] and deep["share"] == 31 / 32 and deep["ci95"] == [31 / 32] * 2 and not deep["weak"], deep
assert not deep["advice"] or deep["advice"]["evidence"] == "exact", deep
assert not live["exact"] and live["ci95"][0] < live["ci95"][1], live
P
}

@test "deep: cache lines that threads take from each other; there are none where each has its own" {
    needs_engine
    local sharing=$(dirname "$HEADROOM")/tests/programs/sharing line
    line=$(grep -n '@writes' "$(dirname "$BATS_TEST_FILENAME")/../programs/sharing.c" | head -1 | cut -d: -f1)
    for case in ww true padded; do
        deep --rate 1000 -- "$sharing" $case 0.4s
        cp err $case.text
        "$HEADROOM" report --format json run.headroom >$case.json
        grep -q '^headroom: running the command once more to find cache lines that threads take' $case.text
    done
    grep -q 'false sharing of shared: 100.0 % of the' ww.text
    python3 - "$line" <<'P'
import json, sys
def symptoms(name):
    report = json.load(open(name + ".json"))
    assert not report["degraded"], report["degraded"]
    return [(f, s) for f in report["run"]["findings"] for s in f["symptoms"] if s["kind"] == "sharing"]
for name, advice in ("ww", "sharing.apart"), ("true", "sharing.same"):
    (finding, symptom), = symptoms(name)
    assert finding["cause"][0]["line"] == int(sys.argv[1]), finding["cause"]
    # But for what main hands to the threads it starts and joins: a few of some millions, however long the program ran.
    others = round(symptom["seen"] * (1 - symptom["share"]))
    assert symptom["exact"] and others < 100 and symptom["object"]["name"] == "shared", symptom
    assert symptom["advice"]["id"] == advice and symptom["advice"]["evidence"] == "exact", symptom
    assert finding["kinds"][0] == "sharing" and finding["evidence"] == "exact" and not finding["weak"], finding
    gain = finding["gain"]
    # Two accesses of three instructions each, about, are one transfer of a hundred: almost all of the line's time.
    assert 0 < 0.8 * gain["ceiling"] < gain["direct"] <= gain["ceiling"] <= 1, gain
assert not symptoms("padded")
P
}

@test "deep: the time is shared out, and what does not fit is left out" {
    needs_engine
    # Of twelve seconds counting has six at most, which are over; measuring distances those that are left.
    try 0 timeout 100 "$HEADROOM" run --deep --max-time 12 -- "$AGAIN" runs 10 0 sleep 0
    [ "$(wc -l <runs)" -eq $((1 + $(grep 'running the command once more' err | grep -vc 'gave nothing'))) ]
    grep -q 'once more to measure how far apart' err
    field 'report["degraded"]' | grep -q 'to count all accesses gave nothing: its time was over'
    lacks 'how far apart' <(field 'report["degraded"]')
    [ "$(field 'len(report["degraded"])')" -eq 1 ]
}

@test "deep: behind repeated runs" {
    needs_engine
    measured_once
    try 3 "$HEADROOM" run --repeat 2 --deep -- "$AGAIN" runs 300 3
    [ "$(cat out)" = "run 1" ]
    # Accesses are counted and distances measured; iterations of loops too, if a tick of the clock was in one.
    grep -q 'once more to count all accesses' err
    grep -q 'once more to measure how far apart' err
    [ "$(wc -l <runs)" -eq $((2 + $(grep -c 'running the command once more' err))) ]
    [ "$(runs_merged)" -eq 2 ]
    # Valgrind keeps some descriptors for itself; all else is as in the first run.
    [ "$(sed 's/ files [0-9]*//' runs | sort -u | wc -l)" -eq 1 ] || { cat runs; return 1; }
}

@test "deep: what comes to nothing is said, and nothing is lost" {
    needs_engine
    try 0 timeout 100 "$HEADROOM" run --deep --max-time 1 -- "$AGAIN" runs 400000 0
    [ "$(wc -l <runs)" -eq 1 ]
    grep -q 'not run once more to count all accesses: that would take at least [0-9]* s' err
    field 'report["degraded"]' | grep -q 'more than --max-time leaves'
    [ "$(field 'report["run"]["time"]["samples"] > 0')" = True ]
    rm runs
    try 0 timeout 100 "$HEADROOM" run --deep --max-time 15 -- "$AGAIN" runs 10 0 sleep
    grep -q 'once more to count all accesses gave nothing' err
    grep -q 'once more to measure how far apart .* gave nothing' err
    # Iterations of loops are counted too, if a tick of the clock was in one.
    [ "$(wc -l <runs)" -eq $((1 + $(grep 'running the command once more' err | grep -vc 'gave nothing'))) ]
    field 'report["degraded"]' | grep -q 'gave nothing: its time was over (--max-time)'
    rm runs
    deep -- "$AGAIN" runs 10 0 4
    field 'report["degraded"]' | grep -q 'gave nothing: the program did not end as in the first run'
    rm runs
    "$HEADROOM" run --deep -- "$AGAIN" runs 10 0 < <(echo) >/dev/null 2>err
    [ "$(wc -l <runs)" -eq 1 ]
    grep -q 'its standard input is a pipe' err
    no_leftovers
}

# With real-time priority threads run at the same time, whatever else runs; as it would have the exact run too, there is no time for that.
@test "deep: threads with one lock wait for it, threads with a lock each do not" {
    local interfere=$(dirname "$HEADROOM")/tests/programs/interfere
    [ "$(nproc)" -ge 2 ] && chrt -f 1 true 2>/dev/null || skip "threads cannot be made to run at the same time"
    for case in one own; do
        try 0 chrt -f 1 "$HEADROOM" run --deep --max-time 6 -- "$interfere" $case 2000000
        [ "$(grep -c 'er: ' out)" -eq 2 ] # what the first run prints, and nothing else
        cp err $case.text
        "$HEADROOM" report --format json run.headroom >$case.json
        [ "$(ls run.headroom.* | grep -v old | wc -l)" -eq 0 ]
    done
    grep -q "^headroom: running the command once more to time executions of functions" one.text
    grep -q '^Waiting  beyond the fastest execution' one.text
    lacks '^Waiting' own.text
    python3 - <<'P'
import json
one, own = (json.load(open(name + ".json"))["run"].get("waiting", []) for name in ("one", "own"))
locks = [wait for wait in one if wait["cause"] == "lock"]
assert 0.05 < sum(wait["share"] for wait in locks) < 1, one
assert {wait["function"] for wait in locks} <= {"pthread_mutex_lock", "pthread_mutex_unlock"}, locks
assert {wait["caller"] for wait in locks} <= {"critical", "work"}, locks
assert all(wait["advice"]["id"] == "interference.lock" for wait in locks)
assert not [wait for wait in own if wait["cause"] == "lock"], own
P
}
