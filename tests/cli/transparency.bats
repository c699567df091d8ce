#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The program behaves as it does without headroom.

load common
ALL_NEED_WATCHPOINTS=yes

@test "exit codes pass through" {
    for code in 0 1 42 125 126 127 255; do
        try "$code" "$HEADROOM" waste -q -- sh -c "exit $code"
        [ ! -s err ]
    done
    no_leftovers
}

@test "a killed program gives 128+N" {
    for signal in INT TERM KILL SEGV; do
        number=$(kill -l "$signal")
        try $((128 + number)) "$HEADROOM" waste -q -- sh -c "ulimit -c 0; kill -$signal \$\$"
    done
    no_leftovers
}

@test "a killed program leaves a readable profile" {
    try 137 "$HEADROOM" waste -q -o profile -- sh -c 'kill -KILL $$'
    try 0 "$HEADROOM" report profile
}

@test "stdin, stdout and stderr are the program's" {
    head -c 100000 /dev/urandom >data
    "$HEADROOM" waste -q -- cat <data >copy 2>err
    cmp data copy
    [ ! -s err ]
    try 0 "$HEADROOM" waste -q -- sh -c 'echo to stdout; echo to stderr >&2'
    [ "$(cat out)" = "to stdout" ]
    [ "$(cat err)" = "to stderr" ]
}

@test "nothing is written to stdout but by the program" {
    try 0 "$HEADROOM" waste -- true
    [ ! -s out ]
    [ -s err ]
}

@test "closed descriptors stay closed" {
    code=0
    "$HEADROOM" waste -q -- sh -c 'exec 3>result; for i in 0 1 2; do
        [ -e /proc/self/fd/$i ] || echo "closed $i" >&3; done; ' <&- >&- 2>&- || code=$?
    [ "$code" -eq 0 ]
    sh -c 'exec 3>expected; for i in 0 1 2; do
        [ -e /proc/self/fd/$i ] || echo "closed $i" >&3; done; ' <&- >&- 2>&-
    cmp expected result
    # and nobody's words went into the profile
    try 0 "$HEADROOM" report
}

@test "the program's descriptors, environment, limits and ignored signals are unchanged" {
    see='ls /proc/self/fd | wc -l; env | grep -v ^_= | sort; ulimit -a; grep -E "Sig(Blk|Ign)" /proc/self/status; umask; pwd; echo "$0 $*"'
    export LD_PRELOAD_OLD=1
    sh -c "$see" name 1 2 >expected
    "$HEADROOM" waste -q -- sh -c "$see" name 1 2 >seen
    diff expected seen
    LD_PRELOAD='' sh -c "$see" name >expected
    LD_PRELOAD='' "$HEADROOM" waste -q -- sh -c "$see" name >seen
    diff expected seen
    # trap '' in a shell: SIGINT and SIGCHLD-like dispositions are inherited
    (trap '' INT HUP PIPE; sh -c "$see" name) >expected
    (trap '' INT HUP PIPE; "$HEADROOM" waste -q -- sh -c "$see" name) >seen
    diff expected seen
}

@test "SIGTERM is passed on, SIGINT from elsewhere does not end the recording" {
    cat >program <<'END'
#!/bin/bash
trap 'echo terminated; exit 9' TERM
echo ready >ready
while :; do sleep 0.05; done
END
    chmod +x program
    "$HEADROOM" waste -q -- ./program >out 2>err 3>&- &
    pid=$!
    for _ in $(seq 100); do [ -e ready ] && break; sleep 0.05; done
    kill -INT "$pid"
    sleep 0.2
    kill -0 "$pid"
    kill -TERM "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 9 ]
    [ "$(cat out)" = terminated ]
    no_leftovers
}

@test "interrupt from the terminal reaches the program, headroom waits for it" {
    command -v script >/dev/null || skip "no script(1) for a terminal"
    cat >program <<'END'
#!/bin/bash
trap 'echo interrupted; exit 9' INT
: >ready
while :; do sleep 0.05; done
END
    chmod +x program
    # not dash: the terminal interrupts the shell around headroom too, and dash then dies of it
    (for _ in $(seq 100); do [ -e ready ] && break; sleep 0.05; done; printf '\003'; sleep 1) |
        SHELL=/bin/bash env --default-signal script -qec "'$HEADROOM' waste -q -- ./program; echo code \$?" /dev/null >out 3>&-
    grep -q interrupted out
    grep -q 'code 9' out
    try 0 "$HEADROOM" report
}

@test "option parsing stops at the first non-option" {
    try 0 "$HEADROOM" waste -q echo -o nothing --rate 7
    [ "$(cat out)" = "-o nothing --rate 7" ]
    try 0 "$HEADROOM" waste -q -- echo -- -q
    [ "$(cat out)" = "-- -q" ]
}

@test "programs are found as by execvp" {
    mkdir bin
    printf '#!/bin/sh\necho "script $1"\n' >bin/tool
    chmod +x bin/tool
    PATH="$PWD/bin:$PATH" try 0 "$HEADROOM" waste -q tool argument
    [ "$(cat out)" = "script argument" ]
    # no "#!": the shell runs it
    printf 'echo "plain $1"\n' >bin/tool
    PATH="$PWD/bin:$PATH" try 0 "$HEADROOM" waste -q tool argument
    [ "$(cat out)" = "plain argument" ]
}

@test "headroom does not wait for children that live on" {
    SECONDS=0
    "$HEADROOM" waste -q -- sh -c 'sleep 5 >/dev/null 2>&1 3>&- & exit 4' 3>&- || code=$?
    [ "$code" -eq 4 ]
    [ "$SECONDS" -lt 4 ]
}

@test "profile: default name, mode 0600, the previous one kept" {
    umask 0
    try 3 "$HEADROOM" waste -q -- sh -c 'exit 3'
    [ "$(stat -c %a waste.headroom)" = 600 ]
    try 4 "$HEADROOM" waste -q -- sh -c 'exit 4'
    [ -e waste.headroom.old ]
    "$HEADROOM" report --format json waste.headroom | grep -q '"code": *4'
    "$HEADROOM" report --format json waste.headroom.old | grep -q '"code": *3'
    no_leftovers
}

@test "--report and --format json" {
    try 0 "$HEADROOM" waste --format json --report report.json -- true
    [ ! -s out ]
    [ ! -s err ]
    grep -q '"schema": *"headroom-report/1"' report.json
    try 0 "$HEADROOM" report --format json
    grep -q '"schema": *"headroom-report/1"' out
}

@test "a file-size limit binds the program only" {
    code=0
    (ulimit -Sf 1; "$HEADROOM" waste -q -- head -c 5000 /dev/zero >big) 2>err || code=$?
    [ "$code" -eq 153 ] # SIGXFSZ
    [ "$(stat -c %s big)" -eq 1024 ]
    try 0 "$HEADROOM" report
}

@test "a hard file-size limit that nobody may raise is reported before the start" {
    code=0
    (ulimit -f 1; "$HEADROOM" waste -q -- sh -c 'echo works; exit 6') >out 2>err || code=$?
    if (ulimit -f 1; ulimit -f 2) 2>/dev/null; then
        [ "$code" -eq 6 ]
        [ "$(cat out)" = works ]
    else
        # shared memory is a file to the kernel
        [ "$code" -eq 125 ]
        one_sentence "ulimit -f"
    fi
    no_leftovers
}

@test "a disk that fills up while recording does not change the program" {
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    try 6 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=64k none disk
        "$HEADROOM" waste -o disk/profile -- sh -c "
            head -c 1M /dev/zero >disk/fill 2>/dev/null; echo works; exit 6"'
    [ "$(cat out)" = works ]
    grep -q '^headroom: ' err
}

@test "a recording inside a recording" {
    try 5 "$HEADROOM" waste -q -o outer -- "$HEADROOM" waste -q -o inner -- sh -c 'exit 5'
    try 0 "$HEADROOM" report inner
    try 0 "$HEADROOM" report outer
}
