#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Small profiles that ask for a lot: every verb that reads one keeps its output, its memory and its files bounded, says
# in one sentence which limit was met, and leaves nothing half-written.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    "$MAKE_PROFILE" deep 2049 100        # a frame more than any recording has
    "$MAKE_PROFILE" deepest 2048 100
    "$MAKE_PROFILE" wide 2000 3000       # JSON of 2 GB
    "$MAKE_PROFILE" reuses 2000 3000 8 reuse
    "$MAKE_PROFILE" named 1000 3000 2000 # names of 2000 bytes
    export P=$BATS_FILE_TMPDIR
}

# As try, with a gigabyte of address space and files of 512 MiB at most: what is bounded comes to far less.
# Sanitized programs reserve more than that.
try_bounded()
{
    local kib=1048576
    ! grep -qa __asan_init "$HEADROOM" || kib=unlimited
    try "$1" bash -c 'ulimit -v "$0" && ulimit -f 524288 && exec "$@"' "$kib" "${@:2}"
}

# refused PATTERN COMMAND...: in a sentence, and nothing is written.
refused()
{
    local before after
    before=$(ls -A)
    try_bounded 1 "${@:2}"
    one_sentence "$1"
    after=$(ls -A)
    [ "$(grep -vxF -e out -e err -e all <<<"$before")" = "$(grep -vxF -e out -e err -e all <<<"$after")" ]
}

@test "contexts deeper than any recording's are refused by all" {
    touch out err all
    why="more than 2048 frames deep"
    refused "$why" "$HEADROOM" report "$P/deep"
    refused "$why" "$HEADROOM" report --format json "$P/deep"
    refused "$why" "$HEADROOM" view -o page "$P/deep"
    refused "$why" "$HEADROOM" view -o page --before "$P/deep" "$P/deepest"
    refused "$why" "$HEADROOM" diff "$P/deepest" "$P/deep"
    refused "$why" "$HEADROOM" check --limits 'waste.dead.fraction=5%' "$P/deep"
    refused "$why" "$HEADROOM" merge -o merged "$P/deepest" "$P/deep"
    for format in pprof speedscope folded callgrind firefox csv sarif; do
        refused "$why" "$HEADROOM" export --to "$format" -o exported "$P/deep"
        refused "$why" "$HEADROOM" export --to "$format" "$P/deep" >exported
    done
}

@test "contexts as deep as a recording's can be are shown by all" {
    try_bounded 0 "$HEADROOM" report "$P/deepest"
    grep -q 'f54_xxxxxxxx' out
    try_bounded 0 "$HEADROOM" report --format json "$P/deepest"
    python3 -c 'import json; d = json.load(open("out")); assert len(d["waste"]["dead"]["pairs"][0]["first"]) == 2048 - 9'
    try_bounded 0 "$HEADROOM" view -o page "$P/deepest"
    try_bounded 0 "$HEADROOM" diff "$P/deepest" "$P/deepest"
    try_bounded 3 "$HEADROOM" check --limits 'waste.dead.fraction=5%' "$P/deepest"
    try_bounded 0 "$HEADROOM" merge -o merged "$P/deepest" "$P/deepest"
    try_bounded 0 "$HEADROOM" report merged
    for format in pprof speedscope folded callgrind firefox csv sarif; do
        try_bounded 0 "$HEADROOM" export --to "$format" -o exported "$P/deepest"
    done
}

@test "a report that is larger than any recording's is refused, a part of it is not" {
    touch out err all
    refused "more than for any recording of this size" "$HEADROOM" report --format json --limit 0 "$P/wide"
    grep -qF -- "--limit N" err
    refused "more than for any recording of this size" "$HEADROOM" report --format json --limit 0 "$P/reuses"
    refused "more than for any recording of this size" "$HEADROOM" report --format json "$P/named"
    try_bounded 0 "$HEADROOM" report --format json "$P/wide" # what is not asked for is cut
    python3 -c 'import json; d = json.load(open("out"))["waste"]["dead"]; assert d["pairs_total"] == 3000 and 50 < len(d["pairs"]) < 100'
    try_bounded 0 "$HEADROOM" report --format json "$P/reuses"
    python3 -c 'import json; d = json.load(open("out"))["reuse"]; assert d["pairs_total"] == 3000 and 50 < len(d["pairs"]) < 100'
    try_bounded 0 "$HEADROOM" report --format json --limit 5 "$P/wide"
    python3 -c 'import json; d = json.load(open("out"))["waste"]["dead"]; assert d["pairs_total"] == 3000 and len(d["pairs"]) == 5'
    try_bounded 0 "$HEADROOM" report "$P/wide"
    try_bounded 0 "$HEADROOM" report --limit 0 "$P/wide"
}

@test "a comparison that is larger than any recording's is refused" {
    touch out err all
    "$MAKE_PROFILE" other 2 1
    refused "more than for any recordings of this size" "$HEADROOM" diff --format json "$P/wide" other
    try_bounded 0 "$HEADROOM" diff --format json --limit 5 "$P/wide" other
    try_bounded 0 "$HEADROOM" diff --limit 0 "$P/wide" other
}

@test "exports that are larger than any recording's are refused, and what was there stays" {
    echo before >exported
    touch out err all
    for format in csv folded; do
        refused "more than for any recording of this size" "$HEADROOM" export --to "$format" -o exported "$P/named"
        refused "more than for any recording of this size" "$HEADROOM" export --to "$format" "$P/named"
        [ "$(cat exported)" = before ]
    done
    # Each name once, or each stack: these are small.
    for format in pprof speedscope callgrind; do
        try_bounded 0 "$HEADROOM" export --to "$format" -o exported "$P/named"
    done
    "$MAKE_PROFILE" many 1000 10000 8 waste 10
    refused "more stacks than any recording" "$HEADROOM" export --to firefox -o exported many
}

@test "a page has fewer findings when all of them are too much" {
    try_bounded 0 "$HEADROOM" view -o page "$P/wide"
    grep -q "^headroom: the page would be too large: it holds only the [0-9]* largest findings of each kind" err
    [ "$(stat -c %s page)" -lt 20000000 ]
    try_bounded 0 "$HEADROOM" view --limit 5 -o page "$P/wide"
    lacks "too large" err
}

@test "what is merged is about as large as what it is made of" {
    try_bounded 0 "$HEADROOM" merge -o merged "$P/wide" "$P/named" "$P/deepest"
    read_bytes=$(cat "$P/wide" "$P/named" "$P/deepest" | wc -c)
    [ "$(stat -c %s merged)" -lt $((read_bytes * 4 + 1048576)) ]
}

@test "a full disk is reported in a sentence, and nothing is left" {
    touch out err all
    try 1 bash -c 'ulimit -f 64; trap "" XFSZ; exec "$@"' - "$HEADROOM" merge -o merged "$P/wide" "$P/named"
    one_sentence "cannot write 'merged'"
    try 1 bash -c 'ulimit -f 64; trap "" XFSZ; exec "$@"' - "$HEADROOM" export --to folded -o exported "$P/deepest"
    one_sentence "cannot be written"
    try 1 bash -c 'ulimit -f 16; trap "" XFSZ; exec "$@"' - "$HEADROOM" view -o page "$P/deepest"
    one_sentence "cannot write 'page'"
    [ -z "$(find . -name 'merged*' -o -name 'exported*' -o -name 'page*')" ]
    if [ -c /dev/full ]; then
        code=0
        "$HEADROOM" report --format json "$P/deepest" >/dev/full 2>err || code=$?
        [ "$code" -eq 1 ]
        grep -q "No space left on device" err
    fi
}
