#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `headroom export`: formats, where they go, and what is refused. What is in them tests/export reads.

load common

FORMATS="pprof speedscope folded callgrind firefox csv sarif"

# A profile that every machine can record: it needs neither watchpoints nor a compiler.
setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    "$HEADROOM" interference -q -o good.headroom -- sh -c 'true; echo done' >/dev/null 2>said || cat said
}

need_profile()
{
    [ -e "$BATS_FILE_TMPDIR/good.headroom" ] || skip "no profile can be recorded here"
    cp "$BATS_FILE_TMPDIR/good.headroom" good.headroom
}

@test "every format goes to standard output, and the same to a file" {
    need_profile
    for format in $FORMATS; do
        try 0 "$HEADROOM" export --to "$format" good.headroom
        lacks -v '^headroom: limit of this recording: ' err
        [ -s out ]
        cp out shown
        try 0 "$HEADROOM" export --to "$format" -o file good.headroom
        [ ! -s out ]
        cmp shown file
    done
}

@test "without a format" {
    try 2 "$HEADROOM" export nothing.headroom
    one_sentence "--to"
}

@test "an unknown format" {
    try 2 "$HEADROOM" export --to xml nothing.headroom
    one_sentence "xml"
}

@test "two profiles" {
    try 2 "$HEADROOM" export --to csv one.headroom two.headroom
    one_sentence "two.headroom"
}

@test "a profile that is not there" {
    try 1 "$HEADROOM" export --to csv nothing.headroom
    one_sentence "nothing.headroom"
    try 1 "$HEADROOM" export --to csv
    one_sentence "waste.headroom"
}

@test "a file that is no profile" {
    echo text >text
    try 1 "$HEADROOM" export --to csv text
    one_sentence "text"
}

@test "a metric that the profile does not have" {
    need_profile
    try 1 "$HEADROOM" export --to folded --metric frobs -o file good.headroom
    one_sentence "frobs"
    grep -q "taken" err
    [ ! -e file ]
}

@test "one metric only" {
    need_profile
    try 0 "$HEADROOM" export --to csv --metric taken good.headroom
    head -n 1 out | grep -q ',detail,taken.$'
}

@test "spans of few executions get their loss when asked" {
    command -v python3 >/dev/null || skip "no python3 to read JSON"
    need_watchpoints
    cat >work.c <<'END'
static volatile long sum;
__attribute__((noinline)) void work(long n)
{
    for (long i = 0; i < n; i++)
        sum += i;
}
int main(void)
{
    for (long i = 0; i < 400; i++)
        work(i % 2 ? 100 : 20000);
    return 0;
}
END
    "${CC:-cc}" -O1 -g work.c -o work
    "$HEADROOM" interference --every 1 --functions work -q -o few.headroom -- ./work
    try 0 "$HEADROOM" export --to csv few.headroom
    ! head -n 1 out | grep -q own_lost_ns || grep -q '"work".*,0,0,[0-9]*.$' out
    try 0 "$HEADROOM" export --to csv --min-executions 100 few.headroom
    cp out few.csv
    try 0 "$HEADROOM" report --format json --min-executions 100 few.headroom
    python3 - <<'END'
import csv, json
rows = [r for r in csv.DictReader(open("few.csv")) if "work" in (r["first_function"], r["second_function"])]
lost = sum(int(r.get("lost_ns") or 0) for r in rows)
blocks = [b for b in json.load(open("out"))["interference"]["blocks"] if b["function"] == "work"]
assert blocks and lost > 0 and abs(lost - sum(b["lost_ns"] for b in blocks)) <= 1, (lost, blocks)
END
    try 2 "$HEADROOM" export --to csv --min-executions 0 few.headroom
    one_sentence "--min-executions"
}

@test "the profile is not written over" {
    need_profile
    cp good.headroom copy
    ln good.headroom other
    for name in good.headroom ./good.headroom other; do
        try 2 "$HEADROOM" export --to csv -o "$name" good.headroom
        one_sentence "profile itself"
    done
    cmp copy good.headroom
}

@test "a full disk is reported, and devices stay" {
    need_profile
    for format in $FORMATS; do
        try 1 "$HEADROOM" export --to "$format" -o /dev/full good.headroom
        one_sentence "cannot be written"
        [ -c /dev/full ]
        code=0
        "$HEADROOM" export --to "$format" good.headroom >/dev/full 2>err || code=$?
        [ "$code" -eq 1 ]
    done
}

@test "what was there before stays until the export is whole" {
    need_profile
    echo former >file
    try 1 "$HEADROOM" export --to csv --metric frobs -o file good.headroom
    [ "$(cat file)" = former ]
    for format in $FORMATS; do
        # a limit on the size of files stands for a full disk
        code=0
        (ulimit -f 0; exec "$HEADROOM" export --to "$format" -o file good.headroom 2>/dev/null) || code=$?
        [ "$code" -eq 1 ]
        [ "$(cat file)" = former ]
    done
    [ "$(echo file*)" = file ]
    chmod 640 file
    ln -s file link
    try 0 "$HEADROOM" export --to csv -o link good.headroom
    [ -L link ]
    [ "$(stat -c %a file)" = 640 ]
    head -n 1 file | grep -q ',detail,'
}

@test "a signal leaves nothing half-written" {
    need_profile
    command -v python3 >/dev/null || skip "no python3 to send the signal in time"
    for verb in "export --to csv" view; do
        python3 - "$verb" <<'END'
import os, signal, subprocess, sys, time
words = [os.environ["HEADROOM"], *sys.argv[1].split(), "-o", "file", "good.headroom"]
ended = 0
for attempt in range(200):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not any(name.startswith("file.") for name in os.listdir(".")):
        pass # until it is in the middle of writing
    process.send_signal(signal.SIGTERM)
    ended += process.wait() == -signal.SIGTERM
    left = [name for name in os.listdir(".") if name.startswith("file.")]
    assert not left, left
    if ended == 5:
        break
END
    done
}

@test "standard output that is closed is reported" {
    need_profile
    for words in "export --to csv" report "report --format json"; do
        code=0
        "$HEADROOM" $words good.headroom >&- 2>err || code=$?
        [ "$code" -eq 1 ]
        grep -q "Bad file descriptor" err
    done
}

@test "a directory that is not there" {
    need_profile
    try 1 "$HEADROOM" export --to csv -o no/such/file good.headroom
    one_sentence "no/such/file"
}

@test "pprof is nothing for a terminal" {
    need_profile
    command -v script >/dev/null || skip "no script"
    code=0
    script -qec "'$HEADROOM' export --to pprof good.headroom" typed >/dev/null </dev/null || code=$?
    [ "$code" -eq 2 ]
    grep -q "not written to a terminal" typed
    script -qec "'$HEADROOM' export --to csv good.headroom" typed >/dev/null </dev/null
    grep -q "first_function" typed
}
