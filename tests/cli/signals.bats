#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Signals to headroom while it records: the program sees what it would see without headroom, and no recording is lost.

load common

# How the recorder is called: "VERB OPTION...". A shell's background job ignores interrupts: not this one.
start()
{
    env --default-signal -- "$HEADROOM" $1 -q -- ./program >out 2>err </dev/null 3>&- &
    pid=$!
    await ready
}

await()
{
    for _ in $(seq 400); do [ -e "$1" ] && return; sleep 0.05; done
    echo "no $1"
    return 1
}

finish()
{
    code=0
    for _ in $(seq 400); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
    kill -KILL "$pid" 2>/dev/null && echo "did not end"
    wait "$pid" || code=$?
    grep -v "the kernel's accesses are seen only" err >said || true
    [ "$code" -eq "$1" ] || { echo "exit code $code, not $1"; cat said; return 1; }
}

# Notes signals until TERM; each has its own file, so that none is waited for by time.
write_program()
{
    cat >program <<'END'
#!/bin/bash
for number in HUP INT QUIT USR1 USR2 ALRM VTALRM PROF IO PWR STKFLT WINCH XCPU RTMIN+3 RTMIN+5; do
    trap "echo $number >>got; : >got.$number" $number
done
trap 'echo TERM >>got; exit 9' TERM
: >ready
while :; do sleep 0.05; done
END
    chmod +x program
}

all_are_passed()
{
    write_program
    start "$1"
    for number in HUP QUIT USR1 USR2 ALRM VTALRM PROF IO PWR STKFLT WINCH XCPU RTMIN+3 RTMIN+5 INT; do
        kill "-$number" "$pid"
        await "got.$number"
    done
    kill -TERM "$pid"
    finish 9
    [ ! -s said ]
    [ "$(wc -l <got)" -eq 16 ]
    "$HEADROOM" report --format json "${1%% *}.headroom" | grep -q '"code": *9'
    no_leftovers
}

@test "signals to headroom reach the program: waste" {
    need_watchpoints
    all_are_passed waste
}

@test "signals to headroom reach the program: interference" {
    all_are_passed interference
}

@test "signals to headroom reach the program: exact" {
    needs_engine
    all_are_passed "waste --exact --no-follow"
}

@test "signals to headroom reach the program: paths" {
    cat >p.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void handler(int number) { got = number; }
int main(void)
{
    signal(SIGUSR1, handler);
    signal(SIGINT, handler);
    fclose(fopen("ready", "w"));
    while (got != SIGINT) {
        if (got == SIGUSR1)
            fclose(fopen("got.USR1", "w"));
        usleep(10000);
    }
    return 9;
}
END
    "$HEADROOM" cc --paths -- "${CC:-cc}" -O2 -g -o program p.c
    start paths
    kill -USR1 "$pid"
    await got.USR1
    kill -INT "$pid"
    finish 9
    "$HEADROOM" report paths.headroom >report
}

@test "a program that a passed signal kills: 128+N, and a profile" {
    need_watchpoints
    printf '#!/bin/sh\n: >ready\nexec sleep 60\n' >program
    chmod +x program
    for number in HUP INT USR1 ALRM TERM; do
        rm -f ready waste.headroom
        start waste
        kill "-$number" "$pid"
        finish $((128 + $(kill -l "$number")))
        [ ! -s said ]
        "$HEADROOM" report --format json | grep -q "\"signal\": *$(kill -l "$number")"
    done
    no_leftovers
}

@test "what goes to the whole process group is not doubled" {
    need_watchpoints
    command -v setsid >/dev/null || skip "no setsid(1)"
    write_program
    setsid env --default-signal -- "$HEADROOM" waste -q -- ./program >out 2>err </dev/null 3>&- &
    pid=$!
    await ready
    for number in INT USR1 HUP; do
        kill "-$number" -- "-$pid"
        await "got.$number"
        # what would come a second time has come when the next, to headroom alone, has
        rm -f got.USR2
        kill -USR2 "$pid"
        await got.USR2
    done
    kill -TERM -- "-$pid"
    finish 9
    [ "$(tr '\n' ' ' <got)" = "INT USR2 USR1 USR2 HUP USR2 TERM " ]
    "$HEADROOM" report >report
}

@test "interrupt from the terminal is not doubled" {
    need_watchpoints
    command -v script >/dev/null || skip "no script(1) for a terminal"
    write_program
    # not dash: the terminal interrupts the shell around headroom too, and dash then dies of it
    (await ready; printf '\003'; await got.INT; printf '\034'; await got.QUIT; sleep 1; kill -TERM "$(cat pid)"; sleep 1) |
        SHELL=/bin/bash env --default-signal script -qec "trap : INT QUIT; '$HEADROOM' waste -q -- bash -c 'echo \$\$ >pid; exec ./program'; echo code \$?" /dev/null >out 3>&-
    grep -q 'code 9' out
    [ "$(tr '\n' ' ' <got)" = "INT QUIT TERM " ]
    "$HEADROOM" report >report
}

@test "timeout(1), which signals headroom and the group" {
    need_watchpoints
    write_program
    code=0
    timeout --preserve-status 3 "$HEADROOM" waste -q -- ./program >out 2>err </dev/null 3>&- || code=$?
    [ "$code" -eq 9 ]
    [ "$(cat got)" = TERM ]
    "$HEADROOM" report >report
    rm -f got
    # to headroom alone
    code=0
    timeout --foreground --preserve-status 3 "$HEADROOM" waste -q -- ./program >out 2>err </dev/null 3>&- || code=$?
    [ "$code" -eq 9 ]
    [ "$(cat got)" = TERM ]
    no_leftovers
}

@test "an alarm set before headroom is executed goes off in the program" {
    need_watchpoints
    command -v perl >/dev/null || skip "no perl to set an alarm"
    write_program
    cat >limited <<END
#!/bin/sh
exec perl -e 'alarm 2; exec @ARGV' "$HEADROOM" waste -q -- ./program
END
    chmod +x limited
    env --default-signal -- ./limited >out 2>err </dev/null 3>&- &
    pid=$!
    await got.ALRM
    kill -TERM "$pid"
    finish 9
    [ "$(head -1 got)" = ALRM ]
}

@test "what is ignored stays so for both: nohup" {
    need_watchpoints
    write_program
    (trap '' HUP; exec "$HEADROOM" waste -q -- ./program) >out 2>err </dev/null 3>&- &
    pid=$!
    await ready
    kill -HUP "$pid"
    kill -USR1 "$pid"
    await got.USR1
    kill -TERM "$pid"
    finish 9
    [ "$(tr '\n' ' ' <got)" = "USR1 TERM " ]
}

@test "what the program sends to its parent reaches whoever started headroom" {
    need_watchpoints
    cat >program <<'END'
#!/bin/bash
trap 'echo wrong >wrong' USR1
while ! [ -e got ]; do kill -USR1 $PPID; sleep 0.1; done
exit 9
END
    cat >starter <<END
#!/bin/bash
trap ': >got' USR1
"$HEADROOM" waste -q -- ./program &
while :; do wait \$!; code=\$?; kill -0 \$! 2>/dev/null || exit \$code; done
END
    chmod +x program starter
    try 9 timeout 20 ./starter
    [ ! -e wrong ]
}

asked_twice()
{
    cat >program <<'END'
#!/bin/bash
trap 'echo TERM >>got' TERM
: >ready
for i in $(seq 400); do sleep 0.05; [ ! -e enough ] || break; done
: >done
END
    chmod +x program
    start "$1"
    for _ in $(seq 100); do
        grep -q 'asked a second time to end' err && break
        kill -TERM "$pid" 2>/dev/null || break
        sleep 0.3
    done
}

@test "asked to end again: the profile is written, and the program goes on" {
    need_watchpoints
    asked_twice waste
    finish 143
    [ "$(wc -l <said)" -eq 1 ]
    grep -q "^headroom: asked a second time to end, and './program' goes on" said
    "$HEADROOM" report >report
    grep -q 'the recording was ended before the program' report
    no_leftovers
    [ ! -e done ]
    : >enough
    await done
    [ "$(wc -l <got)" -ge 2 ]
}

@test "asked to end again: interference" {
    asked_twice interference
    finish 143
    "$HEADROOM" report interference.headroom >report
    no_leftovers
    [ ! -e done ]
    : >enough
    await done
}

@test "asked to end again: exact, where counts come at the end" {
    needs_engine
    asked_twice "waste --exact --no-follow"
    finish 143
    [ ! -e waste.headroom ]
    log=$(sed -n "s/.*is written to '\([^']*\)' when it ends.*/\1/p" said)
    [ -e "$log" ]
    : >enough
    await done
    for _ in $(seq 400); do "$HEADROOM" report "$log" >report 2>/dev/null && grep -q 'dead stores' report && return; sleep 0.05; done
    false
}

@test "a recording inside a recording hands signals on" {
    need_watchpoints
    write_program
    env --default-signal -- "$HEADROOM" waste -q -o outer -- "$HEADROOM" waste -q -o inner -- ./program >out 2>err </dev/null 3>&- &
    pid=$!
    await ready
    kill -USR1 "$pid"
    await got.USR1
    kill -TERM "$pid"
    finish 9
    [ "$(tr '\n' ' ' <got)" = "USR1 TERM " ]
    "$HEADROOM" report inner >report
    "$HEADROOM" report outer >report
}
