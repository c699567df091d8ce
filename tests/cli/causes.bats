#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Findings by cause: places in the program's own code, whatever calls them and whatever of the
# system's headers and libraries makes the access.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    # 24 contexts, each with as little waste as the others, of one leaf; and one place that wastes
    # a third as much, in one context.
    {
        echo 'volatile long cell[8]; long other[8];'
        echo '__attribute__((noinline)) void leaf(long i) { cell[i & 7] = i; }'
        for i in $(seq 24); do
            echo "__attribute__((noinline)) void caller$i(long n)"
            echo "{ for (long j = 0; j < n; j++) leaf(j); __asm__ volatile(\"\"); }"
        done
        echo '__attribute__((noinline)) void alone(long n)'
        echo '{ for (long j = 0; j < n; j++) ((volatile long *)other)[j & 7] = j; }'
        echo 'int main(void) {'
        for i in $(seq 24); do echo "caller$i(1000);"; done
        echo 'alone(8000); return 0; }'
    } >leaves.c
    ${CC:-cc} -O1 -g -fno-inline -o leaves leaves.c
    cat >words.cpp <<'END'
#include <algorithm>
#include <vector>

__attribute__((noinline)) static void fill(std::vector<long> &all, long from)
{
    std::fill(all.begin(), all.end(), from); /* here */
}

int main()
{
    std::vector<long> all(1000);
    for (long round = 0; round < 100; round++)
        fill(all, round);
    return all[7] == 99 ? 0 : 1;
}
END
    ${CXX:-c++} -O0 -g -o words words.cpp
    "$HEADROOM" waste --exact -q --kinds dead -o leaves.headroom -- ./leaves 2>why || true
    "$HEADROOM" waste --exact -q --kinds dead -o words.headroom -- ./words 2>>why || true
}

setup()
{
    cd "$BATS_FILE_TMPDIR"
    [ -s leaves.headroom ] && [ -s words.headroom ] || skip "no exact engine here: $(head -1 why)"
}

# query FILE EXPRESSION [OPTION...]: of the JSON report's waste.dead, d.
query()
{
    local file=$1 expression=$2
    shift 2
    "$HEADROOM" report --format json "$@" "$file" >report.json
    python3 -c "
import json, sys
d = json.load(open('report.json'))['waste']['dead']
leaf = lambda frames: next((f for f in frames if not f.get('system')), frames[0])
value = ($expression)
if not value: sys.exit('%r' % (d.get('findings') or d['pairs'])[:2])"
}

@test "one leaf in many contexts is one finding with its whole share" {
    query leaves.headroom "leaf(d['findings'][0]['first'])['function'] == 'leaf' and
        0.65 < d['findings'][0]['share'] < 0.77 and d['findings'][0]['contexts_total'] >= 24 and
        len(d['findings'][0]['contexts']) == 10 and
        0.02 < d['findings'][0]['contexts'][0]['share'] < 0.05"
    # By contexts, which the array `pairs` has, it is not even the first one.
    query leaves.headroom "leaf(d['pairs'][0]['first'])['function'] == 'alone'"
    "$HEADROOM" report leaves.headroom >text
    grep -q '#1  7[0-9].[0-9] % of the dead bytes: .*, in [0-9]* contexts' text
    grep -q 'both          leaf  .*leaves.c:2$' text
}

@test "what lies in the system's headers is shown at the line that calls it" {
    line=$(grep -n 'here' words.cpp | cut -d: -f1)
    query words.headroom "leaf(d['findings'][0]['first'])['line'] == $line and
        leaf(d['findings'][0]['second'])['file'].endswith('/words.cpp')"
    "$HEADROOM" report words.headroom >text
    grep -q "both          fill.*:$line" text
    [ "$(grep -c '/usr/include' text)" -eq 0 ]
}

@test "levels: each has all of the waste, and fewer findings than the one before" {
    last=1000000
    for by in context pair line function module; do
        query leaves.headroom "abs(sum(p['share'] for p in d['pairs']) - 1) < 1e-3 and
            d['pairs_total'] <= $last" --by $by
        last=$(python3 -c "import json; print(json.load(open('report.json'))['waste']['dead']['pairs_total'])")
    done
    [ "$last" -le 5 ]
    run "$HEADROOM" report --by elsewhere leaves.headroom
    [ "$status" -eq 2 ]
}

@test "a merged profile's findings are the sums of its parts'" {
    "$HEADROOM" merge -o both.headroom leaves.headroom leaves.headroom 2>why
    query leaves.headroom "print(d['findings'][0]['share'], d['findings'][0]['waste_bytes'] * 1.0) or True" >one
    query both.headroom "print(d['findings'][0]['share'], d['findings'][0]['waste_bytes'] / 2) or True" >two
    diff one two
}

@test "SARIF and the page have the finding as the report has it" {
    line=$(grep -n 'here' words.cpp | cut -d: -f1)
    "$HEADROOM" export --to sarif -o words.sarif words.headroom
    python3 -c "
import json
first = json.load(open('words.sarif'))['runs'][0]['results'][0]
place = first['locations'][0]['physicalLocation']
assert place['artifactLocation']['uri'].endswith('words.cpp'), place
assert place['region']['startLine'] == $line, place"
}

@test "check by pair: a leaf in many contexts is one item" {
    items="import json
print(len([r for r in json.load(open('leaves.sarif'))['runs'][0]['results'] if 'locations' in r]))"
    for by in context pair; do
        run "$HEADROOM" check --by $by leaves.headroom --limits 'waste.dead.fraction=0.1%' --sarif leaves.sarif
        [ "$status" -eq 3 ]
        python3 -c "$items" >items.$by
        printf '%s\n' "$output" | tr -s ' \n' ' ' >words.$by
    done
    [ "$(cat items.pair)" -lt "$(cat items.context)" ]
    grep -Eq '#1 Dead stores: [^,]*, [0-9.]+ % of the bytes stored' words.pair
    share() { sed -n 's/.*#1 Dead stores: [^,]*, \([0-9]*\)[.0-9]* % of the bytes stored.*/\1/p' $1; }
    [ "$(share words.pair)" -gt $((2 * $(share words.context))) ]
    run "$HEADROOM" check --by line leaves.headroom --limits 'waste.dead.fraction=0.1%'
    [ "$status" -eq 2 ]
    printf '%s\n' "$output" | grep -q 'context'
}

# found HTML: how many findings of dead stores the page has, and the share of the first.
found()
{
    python3 - "$1" <<'P'
import base64, json, re, sys, zlib
text = open(sys.argv[1]).read()
for block in re.findall(r'<script[^>]*>([A-Za-z0-9+/=\s]{100,})</script>', text):
    for bits in (-15, 15, 31):
        try:
            data = json.loads(zlib.decompress(base64.b64decode(block), bits))
            break
        except (ValueError, zlib.error):
            data = None
    if data and "report" in data:
        dead = data["report"]["waste"]["dead"]
        print(dead.get("findings_total", dead["pairs_total"]), (dead.get("findings") or dead["pairs"])[0]["share"])
P
}

@test "the page by context, by function: as the report" {
    for by in cause context function; do
        "$HEADROOM" view -q --by $by -o $by.html leaves.headroom
        found $by.html >page
        [ -s page ]
        query leaves.headroom "'%d' % d['pairs_total'] == open('page').read().split()[0] and
            abs(d['pairs'][0]['share'] - float(open('page').read().split()[1])) < 1e-3" --by $by
    done
}

@test "diff by pair: a leaf that others call now is the same finding" {
    sed 's/caller/user/g' leaves.c >users.c
    cp leaves.c kept.c
    cp users.c leaves.c
    ${CC:-cc} -O1 -g -fno-inline -o users leaves.c
    mv kept.c leaves.c
    "$HEADROOM" waste --exact -q --kinds dead -o users.headroom -- ./users
    changed='import json, sys
print(sum((c["first"] or [{}])[0].get("function") == "leaf" for c in json.load(sys.stdin)["changes"] if not c.get("all")))'
    [ "$("$HEADROOM" diff --format json leaves.headroom users.headroom | python3 -c "$changed")" -ge 40 ]
    [ "$("$HEADROOM" diff --by pair --format json leaves.headroom users.headroom | python3 -c "$changed")" -eq 0 ]
}
