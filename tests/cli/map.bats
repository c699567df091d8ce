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
    [ "$output" = "('gone', 12, 15, [])" ] # line 14 only begins there: its first instruction is of line 15
    run -0 ask '(map["code"], map["previous"])' --at code.c:1000 fast
    [ "$output" = "('outside', 28)" ]
    run -0 ask '(map["code"], map["next"])' --at code.c:23 slow
    [ "$output" = "('gone', 24)" ]
    run -0 "$HEADROOM" map --at code.c:23 slow
    [[ $output == *"No code comes from line 23"* && $output == *"nearest line with code is "* ]]
}

@test "variables: where they are, and which may be trusted" {
    run -0 ask '{v["name"]: v["class"] for v in map["variables"]}' --at code.c:11 fast
    [[ $output == *"'counter': 'stale'"* && $output == *"'x': 'current'"* ]]
    run -0 ask '{v["name"]: (v["class"], v["residence"]) for v in map["variables"]}' --at code.c:11 slow
    [[ $output == *"'counter': ('current', 'memory')"* && $output == *"'x': ('current', 'memory')"* ]]
    run -0 ask '{v["name"]: v["class"] for v in map["variables"]}["never"]' --at code.c:26 fast
    [ "$output" = absent ]
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
    for options in "gcc -gdwarf-4" "gcc -gdwarf-5" "gcc -gdwarf-5 -gz" "clang-14 -gdwarf-4" "clang-14 -gdwarf-5"; do
        read -ra words <<<"$options"
        command -v "${words[0]}" || continue
        "${words[@]}" -O2 -o many first.c second.c third.c
        run -0 ask 'sorted({r["inlined_into"][0].split(" ")[0] for r in map["ranges"] if r["inlined_into"]})' --at thrice.h:3 many
        [ "$output" = "['main', 'use']" ]
        run -0 ask '({r["function"] for r in map["ranges"]}, [v["name"] for v in map["variables"]], map["previous"])' --at third.c:3 many
        [ "$output" = "({'alone'}, ['x'], 0)" ] # no instruction is of line 1 or 2
    done
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

@test "misuse" {
    run -2 "$HEADROOM" map
    run -2 "$HEADROOM" map fast
    [[ $output == *"--at, or --check"* ]]
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
