#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom map from outside: lines, functions and instructions both ways; variables; a whole file, compared and held to limits; misuse.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >code.c <<'EOF'
#include <stdio.h>
int counter = 1, other;
static inline int twice(int x)
{
    return x * 2 + counter;
}
__attribute__((noinline)) void set(int x)
{
    counter = x;
    other = x + 1;
    counter = x * 3;
}
__attribute__((noinline)) int sum(const int *values, int count)
{
    int all = 0;
    for (int i = 0; i < count; i++)
        all += values[i] * 3;
    return all;
}
int main(int count, char **words)
{
    int values[] = {1, 2, 3, count};
    int never;
    set(count);
    int made = twice(count) + twice(sum(values, 4));
    printf("%d %d %s\n", made, other, words[0]);
    return 0;
}
EOF
    gcc -O2 -g -o fast code.c
    gcc -O0 -g -o slow code.c
    gcc -O2 -o plain code.c
    strip plain
}

setup()
{
    cd "$BATS_FILE_TMPDIR" || return 1
}

# An expression of Python's over `map`, the member of the JSON report
ask()
{
    "$HEADROOM" map --format json "${@:2}" >out
    python3 -c 'import json; map = json.load(open("out"))["map"]; print('"$1"')'
}

@test "a line's instructions: inlined copies with their callers" {
    run -0 ask 'sorted({r["inlined_into"][0] for r in map["ranges"] if r["start"] != r["end"] and r["function"] == "twice"})' --at code.c:5 fast
    [ "$output" = "['main (code.c:25)']" ]
    run -0 "$HEADROOM" map --at code.c:5 fast
    [[ $output == *"twice (code.c), inlined into main (code.c:25)"* ]]
    [[ $output == *"return x * 2 + counter;"* ]]
}

@test "an instruction leads back to its line" {
    address=$(ask 'next(r["start"] for r in map["ranges"] if r["start"] != r["end"])' --at code.c:17 fast)
    run -0 ask '(17 in {r["line"] for r in map["ranges"]}, map["kind"])' --at "$address" fast
    [ "$output" = "(True, 'address')" ]
}

@test "a function: each instruction once, in order, with its line" {
    run -0 ask '[int(i["address"], 16) for i in map["instructions"]] == sorted({int(i["address"], 16) for i in map["instructions"]}) and len(map["instructions"])' --at set fast
    objdump -d --no-show-raw-insn fast | awk '/<set>:/ { on = 1; next } on && !NF { exit } on && !/nop|xchg/' >objdump
    [ "$output" -eq "$(wc -l <objdump)" ]
}

@test "a line without code: the next, the previous and the nearest with code" {
    run -0 ask '(map["code"], map["previous"], map["next"], map["ranges"])' --at code.c:13 fast
    [ "$output" = "('declaration', 12, 15, [])" ] # line 14 only begins there: its first instruction is of line 15
    run -0 ask '(map["code"], map["previous"])' --at code.c:1000 fast
    [ "$output" = "('outside', 28)" ]
    run -0 ask '(map["code"], map["next"])' --at code.c:23 slow
    [ "$output" = "('declaration', 24)" ]
    run -0 "$HEADROOM" map --at code.c:23 slow
    [[ $output == *"No code comes from line 23: it is a declaration."* && $output == *"nearest line with code is "* ]]
}

@test "why a line has no code: as debug information and the source say" {
    cat >lacking.c <<'EOF'
struct pair {
    int first;
};
static int unused;
int main(int count, char **words)
{
    struct pair pair = {count};

    /* nothing
       here */
    if (count > 100)
    {
        pair.first =
            3
            ;
    } else
        pair.first = (count +
            (words ? 1 : 2)
        );
    count = 4;
    return pair.first;
}
EOF
    gcc -O0 -g -o lacking lacking.c
    for line in 2:declaration 8:empty 9:empty 10:empty 12:empty 14:continued 15:empty 16:empty 19:continued; do
        run -0 ask 'map["code"]' --at "lacking.c:${line%:*}" lacking
        [ "$line: $output" = "$line: ${line#*:}" ]
    done
    command -v clang-14 || return 0 # gcc keeps a row for what it removes
    clang-14 -O2 -g -o lacking lacking.c
    run -0 ask 'map["code"]' --at lacking.c:20 lacking
    [ "$output" = gone ]
    run -0 "$HEADROOM" map --at lacking.c:20 lacking
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"the compiler removed its statement, or merged it with another."* ]]
    touch -d '+1 hour' lacking.c
    run -0 "$HEADROOM" map --at lacking.c:20 lacking
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"it is no statement, or the compiler removed it or merged it with another."* ]]
}

@test "variables: where they are, and which may be trusted" {
    run -0 ask '{v["name"]: v["class"] for v in map["variables"]}' --at code.c:11 fast
    [[ $output == *"'counter': 'stale'"* && $output == *"'x': 'current'"* ]]
    run -0 ask '{v["name"]: (v["class"], v["residence"]) for v in map["variables"]}' --at code.c:11 slow
    [[ $output == *"'counter': ('current', 'memory')"* && $output == *"'x': ('current', 'memory')"* ]]
    run -0 ask '{v["name"]: v["class"] for v in map["variables"]}["never"]' --at code.c:26 fast
    [ "$output" = absent ]
}

@test "variables in the frame are their function's" {
    cat >framed.c <<'EOF'
__attribute__((noipa)) long look_at(const long *where) { return *where; }
long beside;
__attribute__((noipa)) long in_frame(long x)
{
    long kept = 1;
    look_at(&kept);
    kept = x;
    beside = x + 1;
    kept = x * 3;
    return look_at(&kept);
}
int main(int count, char **words) { return (int)in_frame(count) == (words == 0); }
EOF
    gcc -O2 -g -o framed framed.c
    run -0 ask '[(v["scope"], v["class"]) for v in map["variables"] if v["name"] == "kept"]' --at framed.c:9 framed
    [ "$output" = "[('in_frame', 'stale')]" ]
    run -0 ask '[(f["variable"], f["address"]) for f in map["findings"]]' --check framed
    [ "$output" = "[('kept', None)]" ]
}

@test "copies: what begins outside of a loop is not hoisted out of it, and what handles single numbers is no vector" {
    cat >copies.c <<'EOF'
__attribute__((noipa)) double scaled(int x, const double *by)
{
    double made = x;
    return made + (*by < 0 ? -*by : *by);
}
__attribute__((noipa)) void add(double *restrict to, const double *restrict from)
{
    for (int i = 0; i < 1024; i++)
        to[i] += from[i];
}
__attribute__((noipa)) long mixed(const long *values, long count, long a, long b)
{
    long all = 7;
    for (long i = a; i < count; i++)
        all = all * values[i] + a / b;
    return all;
}
int main(int count, char **words)
{
    double values[1024] = {count}, more[1024] = {2};
    long numbers[] = {1, 2, 3, 4};
    add(values, more);
    return (int)(scaled(count, values) + mixed(numbers, 4, count, 3)) == (words != 0);
}
EOF
    gcc -O3 -g -o copies copies.c
    run -0 ask '"vector" in {r["copy"] for r in map["ranges"]}' --at scaled copies
    [ "$output" = False ]
    run -0 ask '"vector" in {r["copy"] for r in map["ranges"]}' --at copies.c:9 copies
    [ "$output" = True ]
    run -0 ask '"hoisted" in {r["copy"] for r in map["ranges"]}' --at copies.c:14 copies
    [ "$output" = False ]
    run -0 ask '"hoisted" in {r["copy"] for r in map["ranges"]}' --at copies.c:15 copies
    [ "$output" = True ]
}

@test "a function, not a part that was split off it" {
    cat >split.c <<'EOF'
#include <stdlib.h>
int state;
__attribute__((cold, noipa)) void fail(int x);
__attribute__((noipa)) int whole(int x)
{
    if (__builtin_expect(x == 77, 0)) {
        fail(x);
        abort();
    }
    return x + state;
}
__attribute__((noipa)) void fail(int x) { state = x; }
int main(int count, char **words) { return whole(count) + (words == 0); }
EOF
    gcc -O2 -g -o split split.c
    nm split | grep -q ' whole.cold$'
    run -0 ask '10 in {r["line"] for r in map["ranges"]}' --at whole split
    [ "$output" = True ]
    run -0 ask '10 in {r["line"] for r in map["ranges"]}' --at whole.cold split
    [ "$output" = False ]
}

@test "--check: a whole file, which diff and check read" {
    "$HEADROOM" map -q --check -o fast.headroom fast
    "$HEADROOM" map -q --check -o slow.headroom slow
    run -0 "$HEADROOM" map --check fast
    [[ $output == *"with a location"* && $output == *"counter in set: assigned on line 9"* ]]
    run -0 "$HEADROOM" map --check slow
    [[ $output == *"None was found."* ]]
    run -0 "$HEADROOM" diff slow.headroom fast.headroom
    [[ $output == *"counter in set"* ]]
    run -0 "$HEADROOM" check slow.headroom --limits map.known=0.9,map.stale=0
    run -3 "$HEADROOM" check fast.headroom --limits map.stale=0
    run -0 "$HEADROOM" export --to csv fast.headroom
    [[ $output == *"set"* ]]
    run -0 "$HEADROOM" report fast.headroom
    [[ $output == *"counter in set"* ]]
}

@test "sources that were changed later are not believed" {
    cp fast later
    cp -p code.c kept.c
    touch -d '+1 hour' code.c
    run -0 ask '(map["coverage"]["sources_missing"], map["findings"])' --check later
    mv kept.c code.c
    [ "$output" = "(1, [])" ]
}

@test "lines of headers, and tables of all kinds" {
    printf 'static inline int thrice(int x)\n{\n    return x * 3 + 1;\n}\n' >thrice.h
    printf '#include "thrice.h"\nint use(int x) { return thrice(x); }\n' >first.c
    printf '#include "thrice.h"\nint use(int);\nint main(int n, char **w) { return use(n) + thrice(n + 1); }\n' >second.c
    printf 'int alone(int x)\n{\n    return x - 1;\n}\n' >third.c
    for options in "gcc -gdwarf-2" "gcc -gdwarf-4" "gcc -gdwarf-4 -gdwarf64" "gcc -gdwarf-5" "gcc -gdwarf-5 -gdwarf64" "gcc -gdwarf-5 -gz" "clang-14 -gdwarf-4" "clang-14 -gdwarf-5"; do
        read -ra words <<<"$options"
        command -v "${words[0]}" || continue
        "${words[@]}" -O2 -o many first.c second.c third.c
        run -0 ask 'sorted({r["inlined_into"][0].split(" ")[0] for r in map["ranges"] if r["inlined_into"]})' --at thrice.h:3 many
        [ "$output" = "['main', 'use']" ]
        run -0 ask '({r["function"] for r in map["ranges"]}, [v["name"] for v in map["variables"]], map["previous"])' --at third.c:3 many
        [ "$output" = "({'alone'}, ['x'], 0)" ] # no instruction is of line 1 or 2
    done
}

# UNITS FILES: assembles `hostile`, UNITS units that all have one table, with as many FILES in a directory with a very long name.
write_hostile()
{
    cat >hostile.s <<EOF
        .text
        .globl _start
_start: .fill 20000, 1, 0x90
        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0, 0
        .section .debug_info, "", @progbits
        .rept $1
        .long 2f - 1f
1:      .short 4
        .long .debug_abbrev
        .byte 8, 1
        .long .debug_line
        .quad _start, 1
2:
        .endr
        .section .debug_line, "", @progbits
        .long end - start
start:  .short 4
        .long begin - 3f
3:      .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
        .fill 4000000, 1, 0x64
        .byte 0, 0
        .byte 0x68, 0x2e, 0x63, 0, 0, 0, 0
        .rept $2
        .byte 0x68, 0x2e, 0x63, 0, 1, 0, 0
        .endr
        .byte 0
begin:  .byte 0, 9, 2
        .quad _start
        .fill 2000000, 1, 0x12
        .byte 0x13, 2, 1, 0, 1, 1
end:
EOF
    as -o hostile.o hostile.s
    ld -o hostile hostile.o
}

@test "lines of hostile tables: one of many units, many files in a directory with a very long name" {
    write_hostile 20000 0
    run -0 bash -c 'ulimit -t 20; "$0" map --format json --at h.c:2 hostile >out' "$HEADROOM"
    run -0 python3 -c 'import json; print(json.load(open("out"))["map"]["ranges_total"])'
    [ "$output" = 1 ]
    write_hostile 1 200000
    run -1 bash -c 'ulimit -t 20 -v 4000000; "$0" map --at other/h.c:2 hostile' "$HEADROOM"
    [[ $output == *"no code of 'hostile' comes from a file 'other/h.c'"* ]]
}

@test "figures of a recording beside the code" {
    printf 'int main(int n, char **w)\n{\n    volatile long sum = 0;\n    for (long i = 0; i < 400000000; i++)\n        sum += i;\n    return 0;\n}\n' >hot.c
    gcc -O1 -g -o hot hot.c
    "$HEADROOM" run -q -o hot.headroom -- ./hot
    run -0 ask '(map["heat_of"], sum(i["heat"] for i in map["instructions"]) > 0.8)' --profile hot.headroom --at main hot
    [ "$output" = "('CPU time', True)" ]
    run -0 "$HEADROOM" map --profile hot.headroom --at main hot
    [[ $output == *"share of the CPU time"* ]]
    run -1 "$HEADROOM" map --profile hot.headroom --at main fast
    [[ $output == *"it is of another program, or of another build of this one"* ]]
    "$HEADROOM" map -q --profile hot.headroom --at main -o code.headroom hot
    "$HEADROOM" view -o code.html code.headroom
    grep -q 'data-views="[^"]*map' code.html
}

@test "paths beside the code: what instructions of a loop are of all that were executed" {
    needs_engine
    cat >seldom.c <<'EOF'
__attribute__((noipa)) void seldom(int *at) { *at += 2; }
int main(int n, char **w)
{
    volatile int sum = 0;
    for (int i = 0; i < 100000; i++) {
        sum += i;
        if (i % 1000 == 999)
            seldom((int *)&sum);
    }
    return n == 9;
}
EOF
    gcc -O1 -g -o seldom seldom.c
    "$HEADROOM" paths --exact -q -o paths.headroom -- ./seldom
    run -0 ask 'map["heat_of"], min(round(r["heat"] * 1e5) for r in map["ranges"] if r["start"] != r["end"]) > 0' --profile paths.headroom --at seldom.c:6 seldom
    [ "$output" = "instructions executed True" ]
    # each instruction of line 6 is executed 1000 times as often as each of line 8 and of the function that it calls
    heats='{round(i["heat"] * 1e9) for i in map["instructions"]}'
    run -0 ask "$heats" --profile paths.headroom --at seldom.c:6 seldom
    often=${output//[\{\}]/}
    run -0 ask "$heats" --profile paths.headroom --at seldom.c:1 seldom
    seldom=${output//[\{\}]/}
    [[ $often != *,* && $seldom != *,* ]]
    [ $((often / seldom)) -ge 990 ] && [ $((often / seldom)) -le 1010 ]
    run -0 ask 'round(sum(i["heat"] for i in map["instructions"]), 2)' --profile paths.headroom --at main seldom
    [ "$output" != 0.0 ] && [[ $output == [01].* ]]
    run -0 "$HEADROOM" map --profile paths.headroom --at main seldom
    [[ $output == *"share of the instructions executed"* ]]
}

@test "misuse" {
    run -2 "$HEADROOM" map
    run -2 "$HEADROOM" map fast
    [[ $output == *"--at, or --check"* ]]
    run -2 "$HEADROOM" map fast set
    [[ $output == *"--at 'set'"* ]]
    run -2 "$HEADROOM" map --at set --check fast
    run -2 "$HEADROOM" map --at set fast slow
    run -1 "$HEADROOM" map --check plain
    [[ $output == *"has no debug information"* ]]
    run -1 "$HEADROOM" map --at nowhere fast
    [[ $output == *"has no function 'nowhere'"* ]]
    run -1 "$HEADROOM" map --at none.c:3 fast
    [[ $output == *"no code of 'fast' comes from a file 'none.c'"* ]]
    run -1 "$HEADROOM" map --at 0x10 fast
    run -1 "$HEADROOM" map --check code.c
    [[ $output == *"no ELF file"* ]]
    run -1 "$HEADROOM" map --check missing
}
