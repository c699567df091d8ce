#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names of code that a program makes while it runs: perf maps and jitdumps.

load common

# jit HOW PLACE: makes two functions, in which every first store is dead, lists them as HOW says and runs each for half
# a second of CPU time. HOW: map, dump, late (the map is written at the end), none. With CHILD set a child runs them.
setup_file()
{
    cd "$BATS_FILE_TMPDIR"
    cat >jit.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* movl $1,(%rdi); movl $2,(%rdi); sub $1,%rsi; jnz; ret */
static const unsigned char loop[] = {0xc7, 7, 1, 0, 0, 0, 0xc7, 7, 2, 0, 0, 0, 0x48, 0x83, 0xee, 1, 0x75, 0xee, 0xc3};
static char *code;

static void write_map(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/perf-%d.map", folder, getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    dprintf(file, "%lx %zx made first\n%lx %zx made second\n", (long)code, sizeof loop, (long)code + 64, sizeof loop);
    close(file);
}

static void write_load(int file, uint64_t start, uint64_t index, const char *name)
{
    uint32_t head[6] = {0, 56 + strlen(name) + 1 + sizeof loop, 0, 0, getpid(), getpid()};
    uint64_t load[4] = {start, start, sizeof loop, index};
    write(file, head, sizeof head);
    write(file, load, sizeof load);
    write(file, name, strlen(name) + 1);
    write(file, loop, sizeof loop);
}

static void write_dump(const char *folder)
{
    char path[4096];
    uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, getpid()};
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, getpid());
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    write(file, header, sizeof header);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    write_load(file, (uint64_t)code, 1, "made first");
    write_load(file, (uint64_t)code + 64, 2, "made second");
    close(file);
}

static void run(void *at)
{
    static int place;
    struct timespec now;
    double end = 0;
    do {
        ((void (*)(int *, long))at)(&place, 100000);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        end = end ? end : now.tv_sec + 1e-9 * now.tv_nsec + 0.5;
    } while (now.tv_sec + 1e-9 * now.tv_nsec < end);
}

int main(int argc, char **argv)
{
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, loop, sizeof loop);
    memcpy(code + 64, loop, sizeof loop);
    if (strcmp(argv[1], "map") == 0)
        write_map(argv[2]);
    if (strcmp(argv[1], "dump") == 0)
        write_dump(argv[2]);
    if (getenv("CHILD") && fork() != 0)
        return wait(NULL) < 0;
    run(code);
    run(code + 64);
    if (strcmp(argv[1], "late") == 0)
        write_map(argv[2]);
    return 0;
}
C
    cc -O2 -w jit.c -o jit
}

teardown()
{
    if [ -s pid ]; then rm -f "/tmp/perf-$(cat pid).map" "/tmp/jit-$(cat pid).dump"; fi
}

# record COMMAND...: KINDS, dead by default, of a process whose number is then in the file pid.
record()
{
    need_watchpoints
    printf '#!/bin/sh\necho $$ >>pid\nexec "$@"\n' >started
    chmod +x started
    try 0 "$HEADROOM" waste -q --kinds "${KINDS:-dead}" --rate 200 -o p.headroom -- ./started "$@"
    "$HEADROOM" report --format json p.headroom >json
}

# Each function by its name, and nothing that ran there without one.
both_are_named()
{
    grep -q '"function":"made first"' json
    grep -q '"function":"made second"' json
    grep -q '"module":"\[jit\]"' json
    python3 -c '
import json
pairs = json.load(open("json"))["waste"]["dead"]["pairs"]
named = sum(pair["share"] for pair in pairs if pair["first"][0]["function"] in ("made first", "made second"))
assert named > 0.95, named
assert all(pair["share"] > 0.25 for pair in pairs if pair["share"] > 0.1)
'
}

nothing_is_named()
{
    lacks 'made first' json
    lacks 'made second' json
}

# cpu_time KIND LOW HIGH: the share of that kind of code in the time in user mode.
cpu_time()
{
    python3 -c '
import json, sys
user = json.load(open("json"))["cpu_time"]["user"]
assert float(sys.argv[2]) <= user[sys.argv[1]] <= float(sys.argv[3]), user
assert abs(sum(user.values()) - 1) < 1e-4, user
' "$@"
}

@test "a perf map" {
    record "$BATS_FILE_TMPDIR/jit" map /tmp
    both_are_named
    cpu_time jit 0.9 1
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' >text
    grep -Eq '(9[0-9]|100) % was in code compiled at run time that its compiler named' text
    grep -q 'made first in \[jit\]' text
    lacks 'has no names' text
}

@test "the share of CPU time in code without lines, without symbols, in the kernel" {
    cat >kinds.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/times.h>
#include <unistd.h>
static volatile long places[8];
void work(void) { for (long i = 0; i < 20000000; i++) places[i % 8]++; }
static double used(int system)
{
    struct tms now;
    times(&now);
    return (double)(system ? now.tms_stime : now.tms_utime) / sysconf(_SC_CLK_TCK);
}
int main(int argc, char **argv)
{
    char *buffer = malloc(1 << 22);
    int zero = open("/dev/zero", O_RDONLY);
    while (strcmp(argv[1], "work") == 0 && used(0) < 0.6)
        work();
    while (strcmp(argv[1], "kernel") == 0 && used(1) < 0.6)
        if (read(zero, buffer, 1 << 22) < 0)
            return 1;
    return 0;
}
C
    cc -O1 -g kinds.c -o lines
    cc -O1 kinds.c -o functions
    cc -O1 -s kinds.c -o stripped
    record ./lines work
    cpu_time lines 0.9 1
    "$HEADROOM" report p.headroom >text
    lacks 'time in user mode' text
    record ./functions work
    cpu_time functions 0.9 1
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' | grep -Eq '% was in code without line information \(functions'
    record ./stripped work
    cpu_time addresses 0.9 1
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' >text
    grep -Eq '% was in code without symbols \(stripped' text
    record ./lines kernel
    python3 -c 'import json; kernel = json.load(open("json"))["cpu_time"]["kernel"]; assert kernel > 0.8, kernel'
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' | grep -Eq '([89][0-9]|100) % of the CPU time was in the kernel'
}

@test "functions of a stripped file are told apart, and each is one" {
    cat >two.c <<'C'
#include <stdlib.h>
static volatile long a[2];
__attribute__((noipa)) void first(void) { for (long i = 0; i < 50000000; i++) { a[0] = i; a[0] = i + 1; if (i % 3) { a[1] = 1; a[1] = 2; } } }
__attribute__((noipa)) void second(void) { for (long i = 0; i < 50000000; i++) { a[1] = i; a[1] = i + 1; } }
int main(void) { for (int i = 0; i < 5; i++) { first(); second(); } return 0; }
C
    cc -O1 two.c -o two
    printf 'two@0x%x\n' "0x$(nm two | sed -n 's/ T first$//p')" "0x$(nm two | sed -n 's/ T second$//p')" | sort >wanted
    strip two
    record ./two
    python3 -c '
import json
pairs = json.load(open("json"))["waste"]["dead"]["pairs"]
print("\n".join(sorted({frame[side][0]["function"] for frame in pairs for side in ("first", "second") if frame["share"] > 0.02})))
' >found
    diff wanted found
}

@test "a perf map that is written when the program ends" {
    record "$BATS_FILE_TMPDIR/jit" late /tmp
    both_are_named
}

@test "the code of a child that its parent has listed" {
    CHILD=1 record "$BATS_FILE_TMPDIR/jit" map /tmp
    both_are_named
}

@test "a jitdump in the working directory" {
    record "$BATS_FILE_TMPDIR/jit" dump .
    both_are_named
}

@test "a jitdump that only a mapping leads to" {
    mkdir elsewhere
    record "$BATS_FILE_TMPDIR/jit" dump "$PWD/elsewhere"
    both_are_named
}

@test "a perf map in another mount namespace" {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    case $HEADROOM in /tmp/*) skip "headroom would be hidden" ;; esac
    cp "$BATS_FILE_TMPDIR/jit" jit
    record unshare -m sh -c 'mount -t tmpfs none /tmp && exec ./jit map /tmp'
    [ ! -e "/tmp/perf-$(cat pid).map" ]
    both_are_named
}

@test "without a list it is said how to get one" {
    record "$BATS_FILE_TMPDIR/jit" none /tmp
    nothing_is_named
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' >text
    grep -q 'has no names: there is no list of it in /tmp/perf-PID.map' text
    grep -q -- '--perf-basic-prof' text
}

# Numbers of processes come again.
@test "an older process's map is not believed" {
    printf '#!/bin/sh\n"$@" none /tmp & echo $! >pid\nsleep 0.1; echo "0 3fffffff made first" >/tmp/perf-$!.map\n%s\nwait\n' \
        'touch -d "2001-01-01" /tmp/perf-$!.map' >late
    chmod +x late
    record sh ./late "$BATS_FILE_TMPDIR/jit"
    nothing_is_named
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' | grep -q 'is older than the program: it was not read'
}

@test "another user's map is not believed" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    record "$BATS_FILE_TMPDIR/jit" map /tmp
    both_are_named
    printf '#!/bin/sh\n"$@" map /tmp & echo $! >pid\nsleep 0.2; chown 12345 /tmp/perf-$!.map\nwait\n' >given
    chmod +x given
    rm -f "/tmp/perf-$(cat pid).map"
    record sh ./given "$BATS_FILE_TMPDIR/jit"
    nothing_is_named
    "$HEADROOM" report p.headroom | tr -s ' \n' ' ' | grep -q 'belongs to another user: it was not read'
}

@test "no symbolic link is followed to a map" {
    printf '#!/bin/sh\n"$@" map . & echo $! >pid\nsleep 0.1; ln -s "$PWD/perf-$!.map" /tmp/perf-$!.map\nwait\n' >linked
    chmod +x linked
    record sh ./linked "$BATS_FILE_TMPDIR/jit"
    [ -L "/tmp/perf-$(tail -1 pid).map" ]
    nothing_is_named
}

@test "node's own lists" {
    command -v node >/dev/null || skip "no node"
    cat >busy.js <<'JS'
function hotloop(a) { let s = 0; for (let i = 0; i < a.length; i++) { s += a[i]; a[i] = s & 7; } return s; }
const a = new Int32Array(4096); let t = 0; const end = Date.now() + 1500;
while (Date.now() < end) for (let k = 0; k < 100; k++) t += hotloop(a);
JS
    KINDS=silent,load record node --perf-basic-prof busy.js
    grep -q '"function":"[^"]*hotloop' json
    rm -f "/tmp/perf-$(cat pid).map" pid
    KINDS=silent,load record node --perf-prof busy.js
    grep -q '"function":"[^"]*hotloop' json
}

@test "Java's own list, by the options that the report names" {
    command -v javac >/dev/null || skip "no javac"
    record "$BATS_FILE_TMPDIR/jit" none /tmp
    options=$("$HEADROOM" report p.headroom | tr -s ' \n' ' ' | sed -n 's/.*Java: \([^;]*\);.*/\1/p')
    rm -f pid
    cat >Hot.java <<'J'
public class Hot {
    static final long[] cell = new long[16];
    static void rewrite(int turns) { for (int i = 0; i < turns; i++) { cell[3] = i; cell[5 + (i & 1)] = cell[3] + i; } }
    public static void main(String[] words) {
        long sum = 0;
        for (int round = 0; round < 50000; round++) { rewrite(40000); sum += cell[3]; }
        if (sum != 50000L * 39999) System.exit(3);
    }
}
J
    javac Hot.java
    record java $options Hot
    python3 -c '
import json
report = json.load(open("json"))
assert report["exit"] == {"code": 0, "signal": None}, report["exit"]
dead = report["waste"]["dead"]
assert dead["fraction"] > 0.9, dead["fraction"]
share = sum(pair["share"] for pair in dead["pairs"] if "Hot.rewrite" in (pair["second"][0]["function"] or ""))
assert share > 0.9, share
'
    cpu_time jit 0.7 1
}

# Debian's is built without -DLUAJIT_USE_PERFTOOLS.
@test "LuaJIT's own list" {
    luajit=${LUAJIT:-luajit}
    command -v "$luajit" >/dev/null || skip "no luajit"
    cat >hot.lua <<'L'
local cell = require("ffi").new("int64_t[16]")
local function rewrite(turns) for i = 0, turns - 1 do cell[3] = i end end
for round = 1, 600 do rewrite(2000000) end
L
    record "$luajit" hot.lua
    [ -s "/tmp/perf-$(cat pid).map" ] || skip "this luajit writes no list"
    python3 -c '
import json
dead = json.load(open("json"))["waste"]["dead"]
share = sum(pair["share"] for pair in dead["pairs"] if "hot.lua" in (pair["second"][0]["function"] or ""))
assert dead["fraction"] > 0.8 and share > 0.8, (dead["fraction"], share)
'
    cpu_time jit 0.8 1
}
