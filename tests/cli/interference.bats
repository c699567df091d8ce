#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom interference from outside: options, what is left of the program's own behaviour, profile and reports.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >contend.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static volatile long shared, updates;
__attribute__((noinline)) void update(int n)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++)
        shared++;
    if (updates++ % 400 == 0)
        usleep(500); /* so that the other thread meets the lock held, however busy the machine is */
    pthread_mutex_unlock(&lock);
}
static void *worker(void *argument)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < 20000; i++)
        update(i % 2 ? 10 : 200);
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", shared);
    return 7;
}
END
    "${CC:-cc}" -O1 -g -pthread contend.c -o contend
}

@test "interference: refusals" {
    try 125 "$HEADROOM" interference
    one_sentence "no command"
    for bad in --every=0 --every=x --stacks=0 --min-executions=0 --functions= --functions=, --key=f --key=f:6 \
        --key=:0 --key= --output= --no-patch=1; do
        try 125 "$HEADROOM" interference "$bad" touch started
        one_sentence "${bad%%=*}"
        [ ! -e started ]
    done
    try 127 "$HEADROOM" interference ./missing
    one_sentence "./missing"
    [ ! -e interference.headroom ]
}

@test "interference: a name that nothing matches is listed as not hooked" {
    try 7 "$HEADROOM" interference --functions 'update,updat?_not' -- "$BATS_FILE_TMPDIR/contend"
    [ "$(grep -c 'no function of the program matches it' err)" = 1 ]
    grep -q -F -e '- updat?_not: no function of the program' err
}

# V8 knows each return address on its stacks; one of a hook's in between is fatal, sometimes.
@test "interference: functions of an engine that walks its stacks are left alone, calls of libraries timed" {
    command -v node >/dev/null || skip "no node"
    nm -D "$(readlink -f "$(command -v node)")" 2>/dev/null | grep -q ' _ZN2v82V810GetVersionEv' || skip "V8 lies in a library of its own"
    try 0 "$HEADROOM" interference -- node -e 'let s = 0; for (let i = 0; i < 3e7; i++) s += String(i % 99).length; console.log(s)'
    "$HEADROOM" report --format json interference.headroom | python3 -c '
import json, os, sys
found = json.load(sys.stdin)["interference"]
node = os.path.realpath(sys.argv[1])
assert [f["why"] for f in found["not_hooked"] if f["module"] == node] == ["it has an engine that must know each return address on a stack"], found["not_hooked"]
assert not [f for f in found["functions"] if f["module"] == node and f["hooked"] != "import"], found["functions"]
' "$(command -v node)"
}

@test "interference: what is executed too often to be timed was called" {
    printf '%s\n' 'static volatile long n;' '__attribute__((noinline)) void tick(void) { for (int i = 0; i < 20; i++) n++; }' \
        'int main(void) { for (long i = 0; i < 20000000; i++) tick(); return 0; }' >often.c
    "${CC:-cc}" -O1 -g often.c -o often
    try 0 "$HEADROOM" interference -- ./often
    grep -q -e '- tick in often: it is so short and executed so often' err || skip "tick was not hooked and left again here"
    lacks -F 'Hooked, and not called since: tick' err
}

@test "interference: a lock is found, and the program is as always" {
    # All spans, of which the lock is the first: it is held by a thread that sleeps for most of the time.
    try 7 "$HEADROOM" interference --every 1 --limit 0 --functions update -- "$BATS_FILE_TMPDIR/contend"
    [ "$(cat out)" = 4200000 ]
    [ -e interference.headroom ]
    grep -q '^ *#1 .*pthread_mutex_lock, lock 0x.*contend.c:9' err
    try 0 "$HEADROOM" report --format json interference.headroom
    python3 - out <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["verb"] == "interference" and report["exit"]["code"] == 7, report["verb"]
found = report["interference"]
lock = [b for b in found["blocks"] if b["function"] == "pthread_mutex_lock"][0]
assert lock["count"] == 40000 and lock["recorded"] == 40000, lock
assert 0.2 < lock["sci"] <= 1 and lock["cause"] == "lock" and lock["class"] == "lock", lock
assert 0 < lock["min_ns"] <= lock["median_ns"] <= lock["p99_ns"] <= lock["max_ns"], lock
assert sum(b["count"] for b in lock["histogram"]) == 40000
assert lock["stacks"][0][0]["function"] == "update", lock["stacks"]
assert {f["function"] for f in found["functions"]} >= {"update", "pthread_mutex_lock", "pthread_mutex_unlock"}
assert any(b["function"] == "pthread_join" for b in found["idle"])
assert not report["corrupt_records"], report["degraded"]
END
    no_leftovers
}

@test "interference: another key for a recording that is there" {
    try 7 "$HEADROOM" interference -q -o once --every 1 --functions update "$BATS_FILE_TMPDIR/contend"
    [ ! -s err ]
    try 0 "$HEADROOM" report --limit 0 --key update:0 once
    grep -q 'other key .*by argument 0' out
    try 0 "$HEADROOM" report --key nothing:0 once
    grep -q "has the key 'nothing:0'" out
    try 0 "$HEADROOM" report --min-executions 1000000 once
    grep -q 'Too few executions for a score' out
}

@test "interference: a key chosen while recording" {
    try 7 "$HEADROOM" interference -q -o keyed --every 1 --functions update --key update:0 "$BATS_FILE_TMPDIR/contend"
    try 0 "$HEADROOM" report --format json keyed
    python3 - out <<'END'
import json, sys
found = json.load(open(sys.argv[1]))["interference"]
keys = {b["key_value"] for b in found["blocks"] if b["function"] == "update"}
assert keys == {"0xa", "0xc8"}, keys
END
}
