#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom stat from outside: rounds, comparisons, levels, events, profiles that grow, regions; misuse and commands that fail. What runs take is
# never tested, but for differences that no machine can hide.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >spin.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile unsigned long sum;
int main(int count, char **words)
{
    long steps = atol(words[1]);
    for (long i = 0; i < steps; i++)
        sum += (unsigned long)i;
    if (count > 2)
        usleep((unsigned)atoi(words[2]));
    printf("%lu\n", sum);
    return count > 3 ? atoi(words[3]) : 0;
}
EOF
    "${CC:-cc}" -O2 -g spin.c -o spin
}

prepare()
{
    cp "$BATS_FILE_TMPDIR"/spin* .
}

# value EXPRESSION FILE: of a JSON file, by python; `r` is the report
value()
{
    python3 -c "import json,sys; r = json.load(open(sys.argv[2])); s = r['stat']; print(eval(sys.argv[1]))" "$1" "$2"
}

@test "one command: as many runs as asked for, and the report that is written" {
    prepare
    try 0 "$HEADROOM" stat -n 7 -w 2 --export-json both.json -- ./spin 1000
    grep -q '^headroom stat  ./spin 1000$' err
    grep -q '7 runs, interleaved at random; 2 more to warm up, in no figure' err
    grep -q '^Whole runs' err
    [ ! -s out ]
    try 0 "$HEADROOM" report --format json stat.headroom
    cmp out both.json
    [ "$(value "[r['verb'], len(s['regions']), s['regions'][0]['runs'], len(s['runs']), sum(x['warm_up'] for x in s['runs']), s['regions'][0]['ratio']]" out)" = \
        "['stat', 1, 7, 9, 2, None]" ]
    [ "$(value "s['regions'][0]['ns']['min'] <= s['regions'][0]['ns']['ci95'][0] <= s['regions'][0]['ns']['median'] <= s['regions'][0]['ns']['ci95'][1] <= s['regions'][0]['ns']['max']" out)" = True ]
}

@test "two commands: every round has each once, in an order that differs and follows from the seed" {
    prepare
    try 0 "$HEADROOM" stat --seed 5 -q -o a -n 12 -- ./spin 1000 vs -- ./spin 20000000
    try 0 "$HEADROOM" stat --seed 5 -q -o b -n 12 -- ./spin 1000 vs ./spin 20000000
    try 0 "$HEADROOM" report --format json a; mv out a.json
    try 0 "$HEADROOM" report --format json b; mv out b.json
    order="[x['command'] for x in s['runs']]"
    [ "$(value "$order" a.json)" = "$(value "$order" b.json)" ]
    [ "$(value "all(sorted(x['command'] for x in s['runs'] if x['round'] == i) == [0, 1] for i in range(13))" a.json)" = True ]
    [ "$(value "len({tuple(x['command'] for x in s['runs'] if x['round'] == i) for i in range(13)})" a.json)" = 2 ]
    [ "$(value "s['regions'][1]['ratio']['ci95'][0] > 1" a.json)" = True ]
    try 0 "$HEADROOM" report a
    grep -q '#2 takes .* times as long as #1 (.*): slower' out
    grep -q '^    In CPU time, .* times (.*): more$' out
}

@test "CPU time is compared apart: of a command that sleeps longer it is not more" {
    prepare
    try 0 "$HEADROOM" stat -q -n 10 -- ./spin 20000000 vs ./spin 5000000 300000
    try 0 "$HEADROOM" report --format json stat.headroom
    [ "$(value "s['regions'][1]['ratio']['ci95'][0] > 1 > s['regions'][1]['cpu_ratio']['ci95'][1]" out)" = True ]
    try 0 "$HEADROOM" report stat.headroom
    grep -q '^    In CPU time, .* times (.*): less$' out
}

@test "with fewer than six rounds there is no interval of a ratio" {
    prepare
    try 0 "$HEADROOM" stat -n 5 -- ./spin 1000 vs ./spin 1000
    grep -q 'too few runs in common for an interval' <(tr '\n' ' ' <err | tr -s ' ')
    try 0 "$HEADROOM" report --format json stat.headroom
    [ "$(value "s['regions'][1]['ratio']['ci95']" out)" = None ]
}

@test "a command that sleeps is sensitive, one that computes longer has its user time" {
    prepare
    try 0 "$HEADROOM" stat -n 6 -q -- ./spin 1000 30000 vs ./spin 30000000
    try 0 "$HEADROOM" report --format json stat.headroom
    [ "$(value "s['regions'][0]['sensitive'], 'waits' in s['regions'][0]['reason']" out)" = "(True, True)" ]
    [ "$(value "s['regions'][0]['user_ns'] < s['regions'][1]['user_ns']" out)" = True ]
    [ "$(value "s['regions'][0]['ns']['min'] > 30e6" out)" = True ]
}

@test "runs are added to those of the same program on the same machine, and to no others" {
    prepare
    try 0 "$HEADROOM" stat -q -a -n 3 -- ./spin 1000
    try 0 "$HEADROOM" stat -q -a -n 4 -- ./spin 1000
    try 0 "$HEADROOM" stat -q -a -n 1 -- ./spin 2000
    try 0 "$HEADROOM" report --format json stat.headroom
    [ "$(value "[len(s['sessions']), [x['runs'] for x in s['regions']], [s['commands'][x['subject']]['text'] for x in s['regions']]]" out)" = \
        "[3, [7, 1], ['./spin 1000', './spin 2000']]" ]
    before=$(cksum <stat.headroom)
    "${CC:-cc}" -O1 -g spin.c -o spin
    try 125 "$HEADROOM" stat -q -a -n 3 -- ./spin 1000
    grep -q "'./spin' is not the program that 'stat.headroom' has runs of" err
    sqlite3 stat.headroom "UPDATE run SET value = 'elsewhere' WHERE key = 'host'" 2>sql || skip "no sqlite3"
    try 125 "$HEADROOM" stat -q -a -n 3 -- ./spin 1000
    grep -q 'measured on another machine or kernel' err
    [ "$before" != "" ]
    try 0 "$HEADROOM" waste --exact -q -o waste.headroom -- true || skip "no exact engine"
    try 125 "$HEADROOM" stat -q -a -o waste.headroom -- ./spin 1000
    grep -q "is a profile of 'headroom waste', to which no runs are added" err
}

@test "levels are built, run in turn and compared, and what is not built anew is said" {
    prepare
    mkdir -p folder
    export TMPDIR=$PWD/folder
    build="${CC:-cc} {} -g spin.c -o spin"
    try 0 "$HEADROOM" stat -n 6 --levels O0,-O2 --build "$build" -- ./spin 30000
    grep -q '#1   -O0: ./spin 30000' err
    grep -q '#2   -O2: ./spin 30000' err
    lacks 'is the same as' err
    try 0 "$HEADROOM" report --format json stat.headroom
    [ "$(value "[x['level'] for x in s['regions']]" out)" = "['O0', 'O2']" ]
    try 0 "$HEADROOM" stat -n 1 --levels O1,O2 --build 'true {}' -- ./spin 3
    grep -q 'the program built at -O2 is the same as at -O1' err
    try 0 "$HEADROOM" stat -n 1 -q -o two --levels O0,O2 --build "$build" -- ./spin 3 vs ./spin 4
    try 0 "$HEADROOM" report --format json two
    [ "$(value "[[x['command'], x['level']] for x in s['regions']]" out)" = "[[0, 'O0'], [0, 'O2'], [1, 'O0'], [1, 'O2']]" ]
    try 125 "$HEADROOM" stat -n 1 -o none --levels O1,O2 --build 'false {}' -- ./spin 3
    grep -q "'false -O1' failed: nothing was measured" err
    [ ! -e none ]
    [ -z "$(ls folder)" ]
}

@test "events are tried before they are counted" {
    prepare
    try 0 "$HEADROOM" stat --list-events
    grep -q '^  yes  perf::TASK-CLOCK$' out
    try 0 "$HEADROOM" stat --list-events --format json
    python3 -c "import json; r = json.load(open('out')); assert any(e['event'] == 'perf::TASK-CLOCK' and e['counted'] for e in r['events'])"
    try 0 "$HEADROOM" stat -n 2 -e perf::CONTEXT-SWITCHES,perf::TASK-CLOCK -q -- ./spin 10000000
    try 0 "$HEADROOM" report --format json stat.headroom
    [ "$(value "sorted({e['event'] for e in s['events']})" out)" = "['perf::CONTEXT-SWITCHES', 'perf::TASK-CLOCK']" ]
    [ "$(value "all(e['value'] > 1000000 for e in s['events'] if e['event'] == 'perf::TASK-CLOCK')" out)" = True ]
    try 125 "$HEADROOM" stat -e NO-SUCH-EVENT -- ./spin 1
    grep -q "libpfm4 knows no event 'NO-SUCH-EVENT' of this machine" err
}

@test "commands that fail, and those that are not there" {
    prepare
    try 3 "$HEADROOM" stat -- ./spin 1 1 3
    grep -q "'./spin' ended with exit status 3; with --ignore-failure it is timed all the same" err
    [ ! -e stat.headroom ]
    try 0 "$HEADROOM" stat -i -n 2 -- ./spin 1 1 3
    try 127 "$HEADROOM" stat -- ./not-there
    try 126 "$HEADROOM" stat -- ./spin.c
    cat >flaky <<'EOF'
#!/bin/sh
echo x >>count
[ "$(wc -l <count)" -lt 4 ]
EOF
    chmod +x flaky
    try 1 "$HEADROOM" stat -o flaky.headroom -w 0 -n 9 -- ./flaky
    grep -q "'./flaky' ended with exit status 1, unlike its first run" err
    try 0 "$HEADROOM" report --format json flaky.headroom
    [ "$(value "s['regions'][0]['runs']" out)" = 3 ]
    try 137 "$HEADROOM" stat -- sh -c 'kill -9 $$'
    grep -q "'sh' was killed by signal 9" err
}

@test "misuse" {
    prepare
    try 125 "$HEADROOM" stat
    try 125 "$HEADROOM" stat -- ./spin vs
    try 125 "$HEADROOM" stat -- vs ./spin
    try 125 "$HEADROOM" stat --levels O1 -- ./spin
    try 125 "$HEADROOM" stat --levels O1 --build make -- ./spin
    grep -q -- '--build has no {}' err
    code=0
    echo x | "$HEADROOM" stat -- cat 2>err || code=$?
    [ "$code" -eq 125 ]
    grep -q 'its standard input is a pipe' err
}

@test "each run reads standard input from where it is, and output goes nowhere" {
    printf 'skipped\nrest\n' >input
    {
        read -r _
        "$HEADROOM" stat -q -w 0 -n 3 -- sh -c 'cat >>seen; echo shown' >out 2>err
    } <input
    [ ! -s out ]
    [ "$(cat seen)" = "$(printf 'rest\nrest\nrest')" ]
    try 0 "$HEADROOM" stat -q -w 0 -n 2 --show-output -- echo shown
    [ "$(cat out)" = "$(printf 'shown\nshown')" ]
}

@test "profiles are compared, checked, merged, exported and drawn" {
    prepare
    try 0 "$HEADROOM" stat -q -n 8 -o a -- ./spin 1000
    try 0 "$HEADROOM" stat -q -n 8 -o b -- ./spin 40000000
    try 0 "$HEADROOM" diff a b
    grep -A1 '^  stat.run ' out | grep -q 'intervals do not overlap'
    try 0 "$HEADROOM" diff a a
    lacks 'intervals do not overlap$' out
    try 3 "$HEADROOM" check --limits 'stat.run=+10%' --baseline a b
    try 0 "$HEADROOM" check --limits 'stat.run=+50%' --baseline b a
    try 3 "$HEADROOM" check --limits 'stat.run=0.000001' b
    try 0 "$HEADROOM" merge -o m a b
    try 0 "$HEADROOM" report --format json m
    [ "$(value "[x['runs'] for x in s['regions']]" out)" = "[8, 8]" ]
    try 0 "$HEADROOM" export --to csv -o a.csv a
    grep -q 'spin 1000' a.csv
    try 0 "$HEADROOM" view -o a.html a
    [ -s a.html ]
}

# regions NAME...: times of ./loops; then `report` and `s` of it in out
regions()
{
    local names=()
    for name; do names+=(-r "$name"); done
    try 0 "$HEADROOM" stat -q -n 2 -w 0 ${trips:+"$trips"} -o regions.headroom "${names[@]}" -- ./loops
    try 0 "$HEADROOM" report --format json regions.headroom
}

write_loops()
{
    cat >loops.c <<'EOF'
#include <headroom.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void nest(long n, long m)
{
    for (long i = 0; i < n; i++) {
        sum += 3;
        for (long j = 0; j < m; j++)
            sum += (unsigned long)(j * i);
        sum += 7;
    }
}
__attribute__((noinline)) long find(long n, long stop)
{
    long i = 0;
    while (i < n) {
        sum += (unsigned long)i;
        if (i == stop)
            break;
        i++;
    }
    return i;
}
__attribute__((noinline)) void nap(void) { usleep(2000); }
__attribute__((noinline)) void tiny(void) { sum++; }
int main(void)
{
    for (int i = 0; i < 10; i++)
        nest(100 + i, 500);
    for (int i = 0; i < 50; i++)
        sum += (unsigned long)find(1000, i < 40 ? 299 : 2000);
    for (int i = 0; i < 3; i++)
        nap();
    for (int i = 0; i < 4; i++) {
        HEADROOM_BEGIN("a part", 0);
        nest(10, 10);
        HEADROOM_END("a part");
    }
    for (int i = 0; i < 2000000; i++)
        tiny();
    return 0;
}
EOF
}

@test "functions and markers: each visit is counted, waiting shows, and what costs too much is sampled" {
    need_watchpoints
    write_loops
    "${CC:-cc}" -O2 -g -I"$BATS_TEST_DIRNAME/../../include" loops.c -o loops
    regions nest nap 'a part' tiny nothing
    [ "$(value "{x['region']: [x['kind'], x['visits']] for x in s['regions'] if x['region'] in ('nest', 'nap', 'a part')}" out)" = \
        "{'nest': ['function', 14], 'nap': ['function', 3], 'a part': ['marker', 4]}" ]
    [ "$(value "[x['sensitive'] and x['waiting'] > 0.9 and x['visit_ns']['min'] > 2e6 for x in s['regions'] if x['region'] == 'nap']" out)" = '[True]' ]
    [ "$(value "[x['visits_timed'] < x['visits'] / 2 and abs(x['visits'] / 2e6 - 1) < 0.1 for x in s['regions'] if x['region'] == 'tiny']" out)" = '[True]' ]
    [ "$(value "[x['why'][:32] for x in s['not_timed']]" out)" = "['no function of the program match']" ]
    try 0 "$HEADROOM" report regions.headroom
    grep -q 'Sampled: one' <(tr -s '\n ' '  ' <out)
}

# Of loops that compilers neither unroll nor vectorize, for the sum is volatile.
@test "loops: iterations are exact, whatever the level" {
    need_watchpoints
    needs_engine
    write_loops
    for level in O0 O1 O2; do
        "${CC:-cc}" "-$level" -g -I"$BATS_TEST_DIRNAME/../../include" loops.c -o loops
        regions loops.c:6 loops.c:8 loops.c:16 loops.c:3
        [ "$(value "{x['region']: [x['visits'], round(x['iterations'] * x['visits'])] for x in s['regions'] if x['kind'] == 'loop' and x['region'] != 'loops.c:16'}" out)" = \
            "{'loops.c:6': [14, 1085], 'loops.c:8': [1085, 522900]}" ]
        # Optimized, the part before the break may stand before the loop the first time.
        [ "$(value "[[x['visits'], round(x['iterations'] * x['visits'])] for x in s['regions'] if x['region'] == 'loops.c:16'][0] in ([[50, 22000]] if '$level' == 'O0' else [[50, 22000], [50, 21960]])" out)" = True ]
        [ "$(value "[x['region'] for x in s['not_timed']]" out)" = "['loops.c:3']" ]
        [ "$(value "all(x['iteration_ns'] > 0 and x['iteration_cycles'] > 0 for x in s['regions'] if x['kind'] == 'loop')" out)" = True ]
    done
}

# In machine code, for it depends on where each byte is: behind `wide` and `narrow` follows another loop at once, behind `narrow` there is no room for a jump
# in between.
write_neighbours()
{
    for name in wide narrow; do
        printf '        .globl %s\n        .type %s, @function\n%s:  xor %%eax, %%eax\n        .nops 8\n' $name $name $name
        printf '1:      inc %%rax\n        cmp %%rdi, %%rax\n        jl 1b\n        xor %%eax, %%eax\n'
        [ $name = narrow ] || echo '        .nops 5'
        printf '2:      inc %%rax\n        cmp %%rdi, %%rax\n        jl 2b\n        ret\n        .size %s, . - %s\n' $name $name
    done >neighbours.s
    echo '        .section .note.GNU-stack,"",@progbits' >>neighbours.s
    cat >main.c <<'EOF'
void wide(long n);
void narrow(long n);
int main(void)
{
    for (int i = 0; i < 5; i++)
        wide(100000), narrow(100000);
    return 0;
}
EOF
    "${CC:-cc}" -g main.c neighbours.s -o loops
}

@test "loops: one that is left where another is entered is timed, and not both; none has a jump in another" {
    need_watchpoints
    write_neighbours
    lines=($(grep -n 'inc' neighbours.s | cut -d: -f1))
    trips=--no-trips
    regions "neighbours.s:${lines[0]}" "neighbours.s:${lines[1]}"
    [ "$(value "[[x['region'], x['visits']] for x in s['regions'] if x['kind'] == 'loop']" out)" = "[['neighbours.s:${lines[0]}', 5]]" ]
    [ "$(value "[[x['region'], x['why']] for x in s['not_timed']]" out)" = "[['neighbours.s:${lines[1]}', 'it is entered or left where another region is timed']]" ]
    [ "$(value "any('by jumps inside it' in x for x in r['degraded'])" out)" = False ]
    regions "neighbours.s:${lines[1]}"
    [ "$(value "[x['visits'] for x in s['regions'] if x['kind'] == 'loop']" out)" = '[5]' ]
    regions "neighbours.s:${lines[2]}"
    [ "$(value "[x['visits'] for x in s['regions'] if x['kind'] == 'loop']" out)" = '[5]' ]
    [ "$(value "any('by jumps inside it' in x for x in r['degraded'])" out)" = True ]
}

@test "markers: those of which a loop takes one end are not timed, and the program runs on" {
    need_watchpoints
    cat >loops.c <<'EOF'
#include <headroom.h>
__attribute__((noinline)) void part(long n)
{
    HEADROOM_BEGIN("around", 0);
    __asm__ volatile(BETWEEN);
    __asm__ volatile("xor %%eax, %%eax\n"
                     "1: inc %%rax\n"
                     "cmp %0, %%rax\n"
                     "jl 1b\n"
                     "xor %%eax, %%eax" : : "r"(n) : "rax", "cc");
    HEADROOM_END("around");
}
int main(void)
{
    for (int i = 0; i < 5; i++)
        part(100000);
    return 0;
}
EOF
    trips=--no-trips
    for between in '' '.nops 16\n'; do
        "${CC:-cc}" -O2 -g -DBETWEEN="\"$between\"" -I"$BATS_TEST_DIRNAME/../../include" loops.c -o loops
        regions loops.c:6 around
        [ "$(value "[[x['region'], x['visits']] for x in s['regions'] if x['kind'] != 'run']" out)" = "[['loops.c:6', 5]]" ]
        [ "$(value "{(x['region'], x['why']) for x in s['not_timed']}" out)" = "{('around', 'a loop is timed where it stands')}" ]
        regions around
        [ "$(value "[[x['region'], x['visits']] for x in s['regions'] if x['kind'] != 'run']" out)" = "[['around', 5]]" ]
    done
}
