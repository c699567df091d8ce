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
        [ ! -s err ]
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

@test "a full disk is told, and devices stay" {
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
    grep -q "nothing for a terminal" typed
    script -qec "'$HEADROOM' export --to csv good.headroom" typed >/dev/null </dev/null
    grep -q "first_function" typed
}
