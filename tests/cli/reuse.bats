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
enum { N = 40000, ROUNDS = 160000 };
static volatile double x[N];
int main(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N; i++)
            x[i] = x[i] * 0.5 + 1;
    return 0;
}
END
    cat >stencil.c <<'END'
#include <stdlib.h>
#include <string.h>
enum { N = 512 }; /* a column and the one beside it: 1024 lines of a, as many of b */
static double a[N][N], b[N][N];
static void smooth(void)
{
#ifdef SWAPPED
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++)
#else
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
#endif
            b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}
int main(int count, char **arguments)
{
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++)
        a[i][0] = a[0][i] = 1;
    memcpy(b, a, sizeof b);
    for (int step = atoi(arguments[count - 1]); step > 0; step--) {
        smooth();
        memcpy(a, b, sizeof a);
    }
    return a[1][1] > 1;
}
END
    cat >setup.c <<'END'
#include <string.h>
enum { ALL = 1 << 20, SOME = 1 << 14, ROUNDS = 20 };
static double field[ALL], copy[ALL], part[SOME]; /* 8 MiB, 8 MiB, 128 KiB */
int main(int count, char **arguments)
{
    double sum = 0;
    memset(field, count, sizeof field);
    memcpy(copy, field, sizeof copy);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SOME; i++)
            part[i] = part[i] * 0.5 + 1;
    for (int i = 0; i < ALL; i++)
        sum += copy[i] * field[i];
    return sum + part[count] < 0;
}
END
    for name in sweeps columns rounds stencil setup; do
        ${CC:-cc} -O1 -g -o $name $PWD/$name.c || return 1
    done
    ${CC:-cc} -O2 -g -DSWAPPED -o swapped $PWD/stencil.c || return 1
    for name in swapped stencil; do
        "$HEADROOM" reuse --exact -q -o $name.headroom -- ./$name 4 2>why || true
        "$HEADROOM" reuse -q --rate 1000 -o $name-live.headroom -- ./$name 500 2>why_not || true
    done
    "$HEADROOM" reuse --exact -q -o setup.headroom -- ./setup 2>why || true
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
    "$HEADROOM" report --format json columns.headroom >columns.json
    "$HEADROOM" export --to sarif -o columns.sarif columns.headroom
    python3 - <<'P'
import json
pair = json.load(open("columns.json"))["reuse"]["pairs"][0]
results = json.load(open("columns.sarif"))["runs"][0]["results"]
advised = [r for r in results if r["properties"]["advice"]]
assert pair["advice"]["id"] == "reuse.interchange", pair["advice"]
found, = [r for r in advised if r["properties"]["advice"]["id"] == "reuse.interchange"]
assert found["message"]["text"].endswith(". " + pair["advice"]["text"]), found["message"]
line = found["locations"][0]["physicalLocation"]["region"]["startLine"]
assert line == pair["use"][0]["line"], (line, pair["use"])
P
    cp columns.c kept.c
    echo "/* changed since */" >columns.c
    try 0 "$HEADROOM" report columns.headroom
    cp -p kept.c columns.c
    touch -d 2000-01-01 columns.c
    lacks Interchange out
    has "Tiling: the inner loop"
}

# The columns miss the first-level cache alone, what is copied each step all of those on the way to memory.
@test "a stencil whose loops are swapped: interchange leads, exactly and by samples; not if they are not" {
    cd "$BATS_FILE_TMPDIR"
    leads="r['pairs'][0]['suggestion'] and r['pairs'][0]['suggestion']['kind'] == 'interchange' and
        [loop['line'] for loop in r['pairs'][0]['loops']['shared']] == [9, 8, 22] and
        r['pairs'][0]['reuse'][0]['line'] == 14"
    none="not any(p['suggestion'] and p['suggestion']['kind'] == 'interchange' for p in r['pairs'])"
    if [ -s swapped.headroom ]; then
        query swapped.headroom "$leads"
        query stencil.headroom "$none" "--limit 0"
    fi
    if [ -s swapped-live.headroom ]; then
        query swapped-live.headroom "$leads"
        query stencil-live.headroom "$none" "--limit 0"
    fi
    [ -s swapped.headroom ] || [ -s swapped-live.headroom ] || skip "neither engine works here"
}

@test "data that is set up and used once saves nothing: it does not lead, and says so" {
    needs_engine
    query "$BATS_FILE_TMPDIR/setup.headroom" "r['pairs'][0]['reuse'][0]['line'] == 11 and not r['pairs'][0]['once'] and
        len([p for p in r['pairs'] if p['once']]) >= 3 and
        all(p['suggestion'] is None and p['far_share'] == 0 for p in r['pairs'] if p['once'])" "--limit 0"
    try 0 "$HEADROOM" report "$BATS_FILE_TMPDIR/setup.headroom"
    has "of the misses, happen once: data set up and first used far"
    try 0 "$HEADROOM" report --limit 0 "$BATS_FILE_TMPDIR/setup.headroom"
    has "Happens once: no loop is around both"
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

@test "few samples: no figures, but the command that gives them" {
    needs_sampling
    cd "$BATS_FILE_TMPDIR"
    try 0 "$HEADROOM" reuse -q --rate 20 -o few.headroom -- ./swapped 500
    try 0 "$HEADROOM" report few.headroom
    has "Too few samples for figures of distances and misses; use --exact"
    has "headroom reuse --exact --sample-locations 0.01 -- ./swapped 500"
    for figures in "90 % interval" "reuses within" "this machine's" "at best" "accesses later"; do
        lacks "$figures" out
    done
    query few.headroom "r['too_few_samples']"
    query swapped-live.headroom "not r['too_few_samples']"
}

@test "a program too short for samples, and one without counters" {
    needs_sampling
    try 0 "$HEADROOM" reuse --source count -o counted.headroom -- true
    one_sentence "build it with CC='headroom cc --count', or leave out '--source count'"
    [ ! -e counted.headroom ]
    try 0 "$HEADROOM" reuse -q -o short.headroom -- true
    try 0 "$HEADROOM" report short.headroom
    has "No access was sampled"
    lacks "decided" out
    "$HEADROOM" report --format json short.headroom | python3 -c 'import json, sys; json.load(sys.stdin)'
}
