#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The report of `headroom reuse`, of whole recordings: small programs whose pairs of places, loops and
# cache misses are known.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >sweeps.c <<'END'
enum { N = 40000 };
static double x[N]; /* 5000 lines */
int main(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        x[i] = x[i] * 0.5 + 1;
    for (int i = 0; i < N; i++)
        sum += x[i];
    return sum < 0;
}
END
    cat >columns.c <<'END'
enum { N = 160 }; /* far more lines than any first-level cache has */
static double a[N][N], b[N][N], c[N][N]; /* 3200 lines each */
int main(int count, char **arguments)
{
    a[count][1] = b[1][count] = c[count][count] = arguments[0][0]; /* may be any element */
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    return c[1][2] > 1;
}
END
    cat >rounds.c <<'END'
enum { N = 40000, ROUNDS = 2000 };
static volatile double x[N];
int main(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N; i++)
            x[i] = x[i] * 0.5 + 1;
    return 0;
}
END
    for name in sweeps columns rounds; do ${CC:-cc} -O1 -g -o $name $PWD/$name.c || return 1; done
    for name in sweeps columns; do
        "$HEADROOM" reuse --exact -q -o $name.headroom --what-if-cache 32K -- ./$name 2>why || true
    done
    "$HEADROOM" reuse -q --rate 1000 -o live.headroom -- ./rounds 2>why_not || true
}

needs_engine()
{
    [ -s "$BATS_FILE_TMPDIR/sweeps.headroom" ] ||
        skip "no exact engine here: $(head -1 "$BATS_FILE_TMPDIR/why")"
}

needs_sampling()
{
    [ -s "$BATS_FILE_TMPDIR/live.headroom" ] ||
        skip "no sampling here: $(head -1 "$BATS_FILE_TMPDIR/why_not")"
}

# query FILE EXPRESSION: of the JSON report's member "reuse", as r
query()
{
    command -v python3 >/dev/null || skip "no python3 to read JSON"
    "$HEADROOM" report --format json $3 "$1" |
        python3 -c "import json,sys; r = json.load(sys.stdin)['reuse']; sys.exit(0 if $2 else 1)"
}

has()
{
    grep -qF -- "$1" out || { echo "not in the report: $1"; cat out; return 1; }
}

@test "two loops over one array: their places, their loops, and fusion" {
    needs_engine
    try 0 "$HEADROOM" report "$BATS_FILE_TMPDIR/sweeps.headroom"
    has "#1 "
    has "sweeps.c:7"
    has "in the loop at sweeps.c:6"
    has "sweeps.c:9"
    has "in the loop at sweeps.c:8"
    has "Fusion: two loops of one function"
    has "If all of them were near, misses would fall at best"
    query "$BATS_FILE_TMPDIR/sweeps.headroom" "r['pairs'][0]['suggestion']['kind'] == 'fusion' and
        r['pairs'][0]['ancestor']['function'] == 'main' and r['pairs'][0]['count'] == 5000 and
        r['pairs'][0]['loops']['shared'] == [] and r['pairs'][0]['loops']['use'][0]['line'] == 6"
}

@test "a matrix walked by columns: interchange, from its source" {
    needs_engine
    cd "$BATS_FILE_TMPDIR"
    try 0 "$HEADROOM" report columns.headroom
    has "in the loop at columns.c:9, inside the loop at columns.c:7, inside the loop at"
    has "Interchange: the innermost loop steps from row to row"
    cp columns.c kept.c
    echo "/* changed since */" >columns.c
    try 0 "$HEADROOM" report columns.headroom
    cp -p kept.c columns.c
    touch -d 2000-01-01 columns.c
    lacks Interchange out
    has "Tiling: the inner loop"
}

@test "simulated caches beside the curve" {
    needs_engine
    try 0 "$HEADROOM" report "$BATS_FILE_TMPDIR/sweeps.headroom"
    has "simulated cache"
    grep -q '32 KiB, fully associative.*points' out
    query "$BATS_FILE_TMPDIR/sweeps.headroom" "r['what_if'][0]['bytes'] == 32768 and
        abs(r['what_if'][0]['ratio'] - r['what_if'][0]['curve_ratio']) < 0.005"
}

@test "this machine's caches are marked, if they are known" {
    needs_engine
    [ -e /sys/devices/system/cpu/cpu0/cache/index0/size ] || skip "no caches in /sys"
    try 0 "$HEADROOM" report "$BATS_FILE_TMPDIR/sweeps.headroom"
    has "← L1"
    has "miss this machine's L1 ("
    query "$BATS_FILE_TMPDIR/sweeps.headroom" "len(r['caches']) > 0 and r['caches'][0]['level'] == 1 and
        r['caches'][0]['miss_ratio'] >= r['caches'][-1]['miss_ratio']"
}

@test "the bins of papers" {
    needs_engine
    try 0 "$HEADROOM" report --paper-bins "$BATS_FILE_TMPDIR/sweeps.headroom"
    has "  0 – 4K "
    has "  4K – 8K "
    lacks '  1K – 2K' out
    query "$BATS_FILE_TMPDIR/sweeps.headroom" "all(b['lo'] == 0 and b['hi'] == 4096 or
        b['hi'] == 2 * b['lo'] and b['lo'] >= 4096 for b in r['time'] + r['stack'])" --paper-bins
    query "$BATS_FILE_TMPDIR/sweeps.headroom" "r['time'][0]['hi'] == 2"
    try 125 "$HEADROOM" reuse --paper-bins=1 -- touch started
    try 2 "$HEADROOM" doctor --paper-bins
}

@test "samples: estimates are called so, with their bands" {
    needs_sampling
    try 0 "$HEADROOM" report "$BATS_FILE_TMPDIR/live.headroom"
    has "engine live"
    has "Estimated from "
    has "accesses, estimated"
    has "90 % interval"
    lacks "every access was seen" out
    query "$BATS_FILE_TMPDIR/live.headroom" "0 < r['pace']['low'] <= r['pace']['accesses_per_ns'] <= r['pace']['high']
        and all(0 <= m['low'] <= m['ratio'] <= m['high'] <= 1 for m in r['miss_ratio'])
        and sum(b['share'] for b in r['elapsed_ns']) <= 1.000001 and r['samples'] >= r['armed']"
}

@test "a program too short for samples, and one without counters" {
    needs_sampling
    try 0 "$HEADROOM" reuse --source count -o short.headroom -- true
    try 0 "$HEADROOM" report short.headroom
    has "No access was sampled"
    has "a process was not built by 'headroom cc --count'"
    lacks "decided" out
    "$HEADROOM" report --format json short.headroom | python3 -c 'import json, sys; json.load(sys.stdin)'
}
