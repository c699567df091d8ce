#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Help, version, doctor, colours, and the documents made from the option table.

load common

@test "version" {
    try 0 "$HEADROOM" --version
    grep -Eq '^headroom [0-9]+\.[0-9]+\.[0-9]+$' out
    [ ! -s err ]
}

verbs()
{
    "$HEADROOM" help | sed -n '/^Verbs:/,/^$/s/^  \([a-z+]*\) .*/\1/p'
}

@test "help lists the verbs" {
    try 0 "$HEADROOM" --help
    for verb in waste report merge diff check export view doctor cc c++ help; do grep -Eq "^  $verb +[a-z]" out; done
    cp out whole
    try 0 "$HEADROOM" help
    cmp whole out
}

@test "help of a verb, three ways" {
    for verb in $(verbs); do
        try 0 "$HEADROOM" help "$verb"
        grep -q "^Usage: headroom $verb" out
        cp out one
        try 0 "$HEADROOM" "$verb" --help
        cmp one out
        try 0 "$HEADROOM" "$verb" -h
        cmp one out
        [ "$(awk '{ if (length > w) w = length } END { print w }' out)" -le 80 ]
    done
}

@test "help of an unknown verb" {
    try 2 "$HEADROOM" help frobnicate
    one_sentence "frobnicate"
}

@test "every option is in help, manual page and completions" {
    "$HEADROOM" help --generate bash >bash
    "$HEADROOM" help --generate zsh >zsh
    "$HEADROOM" help --generate fish >fish
    [ "$(verbs | wc -l)" -ge 15 ]
    for verb in $(verbs); do
        "$HEADROOM" help --generate "man:$verb" >man
        options=$("$HEADROOM" help "$verb" | grep -Eo '^ +(-., )?--[a-z-]+' | grep -Eo -- '--[a-z-]+')
        [ -n "$options" ]
        for option in $options; do
            grep -qF -- "${option//-/\\-}" man
            grep -qF -- "$option" bash
            grep -Eq -- "$option=?\[" zsh
            grep -qF -- "-l ${option#--}" fish
        done
    done
}

@test "manual pages are sound" {
    command -v man >/dev/null || skip "no man"
    for what in man $(verbs | sed s/^/man:/); do
        "$HEADROOM" help --generate "$what" >page.1
        man --warnings=all -l page.1 >shown 2>warnings
        [ ! -s warnings ] || { cat warnings; return 1; }
        grep -q 'EXIT STATUS' shown
    done
}

@test "doctor prints what works" {
    code=0
    "$HEADROOM" doctor >out 2>err || code=$?
    [ "$code" -le 1 ]
    [ ! -s err ]
    for check in kernel watchpoints clock 'shared memory' agent disk; do
        grep -Eq "^(ok|limited|failed) +$check" out
    done
    lacks $'\033' out
    if [ "$code" -eq 0 ]; then
        lacks '^failed' out
    else
        grep -q '^failed' out
    fi
}

@test "doctor agrees with waste" {
    code=0
    "$HEADROOM" doctor >out 2>err || code=$?
    if [ "$code" -eq 0 ]; then
        try 0 "$HEADROOM" waste -q -- true
    else
        ! "$HEADROOM" waste -q -- true
    fi
}

@test "doctor as JSON" {
    "$HEADROOM" doctor --format json >out || true
    grep -q '"schema": "headroom-doctor/1"' out
    if command -v python3 >/dev/null; then python3 -m json.tool out >/dev/null; fi
}

@test "doctor: latencies that there is no memory to measure" {
    ! grep -qa __asan_init "$HEADROOM" || skip "sanitizers need more address space"
    "$HEADROOM" doctor >out || true
    grep -q 'latencies .* memory ' out || skip "no latency of memory is measured here"
    (ulimit -v 50000; "$HEADROOM" doctor) >out || true
    grep -q 'latencies .*not measured: no memory; typical ones are used' out || { cat out; return 1; }
}

@test "doctor takes no argument" {
    try 2 "$HEADROOM" doctor me
    one_sentence "me"
}

@test "an agent that cannot be found or named" {
    mkdir 'with blank'
    cp "$HEADROOM" alone
    try 125 ./alone waste -q true
    one_sentence "libheadroom-agent.so"
    try 1 ./alone doctor
    grep -q '^failed *agent' out
    try 1 ./alone doctor --format json
    grep -q '"schema"' out
    cp "$HEADROOM" 'with blank/headroom'
    : >'with blank/libheadroom-agent.so'
    try 125 'with blank/headroom' waste -q true
    one_sentence "LD_PRELOAD"
}

@test "an agent that does not start is reported, and the program runs" {
    need_watchpoints
    cp "$HEADROOM" headroom
    printf 'int nothing;\n' >nothing.c
    ${CC:-cc} -shared -fPIC -o libheadroom-agent.so nothing.c
    try 3 ./headroom waste -- sh -c 'exit 3'
    one_sentence "was not observed"
    [ ! -e waste.headroom ]
    no_leftovers
    try 1 ./headroom doctor
    grep -q '^failed *recording' out
}

@test "colours" {
    need_watchpoints
    try 0 "$HEADROOM" waste -q -- true
    try 0 "$HEADROOM" report
    lacks $'\033' out
    try 0 "$HEADROOM" report --color always
    grep -q $'\033' out
    try 0 "$HEADROOM" doctor --color always
    grep -q $'\033\[3' out
    command -v script >/dev/null || skip "no script(1) for a terminal"
    export TERM=xterm PAGER=cat
    script -qec "'$HEADROOM' doctor" /dev/null >out </dev/null
    grep -q $'\033\[3' out
    NO_COLOR=1 script -qec "'$HEADROOM' doctor" /dev/null >out </dev/null
    lacks $'\033\[3' out
}

@test "the pager is used on a terminal only" {
    need_watchpoints
    try 0 "$HEADROOM" waste -q -- true
    PAGER='touch paged; cat' try 0 "$HEADROOM" report
    [ ! -e paged ]
    command -v script >/dev/null || skip "no script(1) for a terminal"
    PAGER='touch paged; cat' script -qec "'$HEADROOM' report" /dev/null >out </dev/null
    [ -e paged ]
}

@test "a raw log that was left over can be read" {
    need_watchpoints
    mkdir recording
    # headroom itself is killed in the middle of a recording
    "$HEADROOM" waste -q -o recording/profile -- sh -c 'kill -KILL $PPID; sleep 0.2' >out 2>err || true
    [ ! -e recording/profile ]
    log=$(find recording -name 'profile.raw.*')
    [ -n "$log" ]
    try 0 "$HEADROOM" report "$log" || grep -q '^headroom: ' err
}
