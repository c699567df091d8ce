#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Recordings whose directory, files or headroom itself vanish while the program runs.

load common

# The recording's directory is ./work; what is put elsewhere goes to ./temporary.
prepare()
{
    mkdir -p temporary work
    export TMPDIR=$PWD/temporary
    here=$PWD
    cd work || return 1
}

# VERB OPTION... -- COMMAND: said goes to $here/err.
record()
{
    local expected=$1
    shift
    code=0
    "$HEADROOM" "$@" >"$here/out" 2>"$here/all" </dev/null 3>&- || code=$?
    cd "$here" || return 1
    grep -v "^headroom: the kernel's accesses are seen only" all >err || true
    [ "$code" -eq "$expected" ] || { echo "exit code $code, not $expected"; cat err; return 1; }
}

# The sentence names the file where the profile is, and it is readable.
profile_is_elsewhere()
{
    local profile
    one_sentence "the profile is in '"
    profile=$(sed -n "s/.*the profile is in '\(.*\)' instead\.$/\1/p" err)
    case $profile in
    "$1"/*) ;;
    *) echo "in '$profile', not in '$1'"; return 1 ;;
    esac
    "$HEADROOM" report --format json "$profile" >report
    grep -q "\"verb\": *\"$2\"" report
    [ "$(find . -name '*.headroom' -o -name profile | wc -l)" -eq 1 ]
    no_leftovers
}

vanishes()
{
    local verb=$1
    shift
    prepare
    record 5 "$verb" -q "$@" -- sh -c 'rm -rf "$PWD"; /bin/true; exit 5'
    [ ! -e work ]
    profile_is_elsewhere "$here/temporary" "$verb"
}

@test "the program deletes its directory: waste" {
    need_watchpoints
    vanishes waste
}

@test "the program deletes its directory: reuse" {
    need_watchpoints
    vanishes reuse
}

@test "the program deletes its directory: interference" {
    vanishes interference
}

@test "the program deletes its directory: exact, with the programs that it executes" {
    needs_engine
    vanishes waste --exact
    # sh, rm, true
    grep -q '"processes": *3,' report
}

@test "the program deletes its directory: paths" {
    cat >p.c <<'END'
#include <stdlib.h>
int main(void) { return system("rm -rf \"$PWD\"") ? 1 : 5; }
END
    "$HEADROOM" cc --paths -- "${CC:-cc}" -O2 -g -o p p.c
    prepare
    record 5 paths -q -- ../p
    [ ! -e work ]
    profile_is_elsewhere "$here/temporary" paths
}

@test "the program makes a directory of the same name again: the profile is there" {
    need_watchpoints
    prepare
    record 5 waste -q -- sh -c 'rm -rf "$PWD"; mkdir "$PWD"; exit 5'
    profile_is_elsewhere "$here/work" waste
}

@test "the program renames its directory" {
    need_watchpoints
    prepare
    record 5 waste -q -- sh -c 'mv "$PWD" ../elsewhere; exit 5'
    [ ! -s err ]
    [ -e elsewhere/waste.headroom ]
    no_leftovers
    rm -r elsewhere
    # and by an absolute name
    mkdir work
    cd work
    record 5 waste -q -o "$PWD/profile" -- sh -c 'mv "$PWD" ../again; exit 5'
    profile_is_elsewhere "$here/again" waste
}

@test "the program goes to another directory" {
    need_watchpoints
    prepare
    record 5 waste -q -- sh -c 'mkdir other; cd other; /bin/true; exit 5'
    [ ! -s err ]
    [ -e work/waste.headroom ]
    no_leftovers
}

@test "the program puts a file of its own in the place of the raw log" {
    need_watchpoints
    prepare
    record 5 waste -q -- sh -c 'for log in *.raw.*; do echo mine >new; mv new "$log"; done; /bin/true; exit 5'
    [ ! -s err ]
    [ "$(cat work/*.raw.*)" = mine ]
    "$HEADROOM" report work/waste.headroom >report
}

@test "the program puts a file of its own in the place of the exact engine's raw log" {
    needs_engine
    prepare
    record 5 waste --exact -q -- sh -c 'for log in *.raw.*; do echo mine >new; mv new "$log"; done; /bin/true; exit 5'
    [ ! -s err ]
    [ "$(cat work/*.raw.*)" = mine ]
    "$HEADROOM" report --format json work/waste.headroom >report
}

@test "the program renames the raw log: it is removed all the same" {
    need_watchpoints
    prepare
    record 5 waste -q -- sh -c 'for log in *.raw.*; do mv "$log" its_own; done; exit 5'
    [ ! -s err ]
    [ "$(ls work)" = waste.headroom ]
}

@test "the program cuts the raw log short: the report says so" {
    need_watchpoints
    prepare
    record 5 waste -q -- sh -c 'sleep 0.3; for log in *.raw.*; do : >"$log"; done; /bin/true; exit 5'
    [ ! -s err ]
    "$HEADROOM" report work/waste.headroom | tr -s ' \n' '  ' | grep -q 'the raw log was overwritten or cut short'
    no_leftovers
}

@test "an ordinary user's program makes its directory read-only" {
    need_watchpoints
    [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "no setpriv(1)"
    prepare
    as=
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534:65534 . ../temporary
        as="setpriv --reuid=65534 --regid=65534 --clear-groups --"
        $as test -x "$HEADROOM" 2>/dev/null || skip "the build directory is closed to other users"
        $as test -w . || skip "the tests' directory is closed to other users"
    fi
    code=0
    $as "$HEADROOM" waste -q -- sh -c 'chmod 555 .; exit 5' >"$here/out" 2>"$here/err" </dev/null 3>&- || code=$?
    cd "$here"
    if [ -n "$as" ]; then
        sed -i "/the kernel's accesses are seen only/d" err
        chown -R 0:0 work temporary
    fi
    [ "$code" -eq 5 ] || { cat err; return 1; }
    # one sentence on the profile, one on the raw log, which cannot be removed
    [ "$(wc -l <err)" -eq 2 ]
    grep -q "^headroom: cannot write 'waste.headroom': Permission denied; the profile is in '/.*/waste.headroom' instead\.$" err
    profile=$(sed -n "s/.*the profile is in '\(.*\)' instead\.$/\1/p" err)
    "$HEADROOM" report "$profile" >report
    rm -r "$(dirname "$profile")"
    grep -q "^headroom: cannot remove .*'waste.headroom.raw\..*': Permission denied" err
}

@test "the disk fills up before the profile is written: it goes elsewhere" {
    need_watchpoints
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    mkdir temporary
    try 6 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=64k none disk
        TMPDIR=$PWD/temporary "$HEADROOM" waste -q -o disk/profile -- sh -c "
            sleep 0.3; head -c 1M /dev/zero >disk/fill 2>/dev/null; exit 6"'
    grep -q "^headroom: cannot write 'disk/profile'.*; the profile is in '$PWD/temporary/.*/profile' instead\.$" err
    try 0 "$HEADROOM" report temporary/*/profile
}

@test "nowhere to write: the recording is kept, and the sentence is true" {
    need_watchpoints
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    mkdir full
    try 6 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=64k none disk
        TMPDIR= "$HEADROOM" waste -q -o disk/profile -- sh -c "
            sleep 0.3; mount -t tmpfs -o size=4k none /tmp; head -c 4k /dev/zero >/tmp/fill
            head -c 1M /dev/zero >disk/fill 2>/dev/null; exit 6"; code=$?
        ls disk >files; exit $code'
    grep -q "The recording is kept in 'disk/profile.raw\." err
    grep -q '^profile\.raw\.' files
}

@test "the report's file is deleted" {
    need_watchpoints
    prepare
    record 5 waste --report text -- sh -c 'rm text; exit 5'
    one_sentence "'text' was deleted while the program ran; 'headroom report waste.headroom' shows the report"
    [ ! -e work/text ]
}

@test "headroom is killed while it times spans: they are in the report of the raw log" {
    cat >spin.c <<'END'
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
__attribute__((noinline)) void inner(void)
{
    struct timespec pause = {.tv_nsec = 200000};
    nanosleep(&pause, NULL);
}
int main(void)
{
    struct stat status;
    for (int i = 0; i < 300000 && stat("enough", &status) != 0; i++)
        inner();
    fclose(fopen("done", "w"));
    return 0;
}
END
    "${CC:-cc}" -O1 -g spin.c -o spin
    "$HEADROOM" interference -q --functions inner -- ./spin 2>err </dev/null 3>&- &
    pid=$!
    for _ in $(seq 400); do
        log=$(find . -name 'interference.headroom.raw.??????')
        [ -n "$log" ] && [ -e "$log.blocks" ] && break
        sleep 0.05
    done
    kill -KILL "$pid"
    wait "$pid" || true
    [ ! -e done ]
    : >enough
    for _ in $(seq 400); do [ -e done ] && break; sleep 0.05; done
    [ -e done ]
    "$HEADROOM" report --format json "$log" >report
    grep -q '"verb": *"interference"' report
    grep -q '"function": *"inner"' report
    "$HEADROOM" report "$log" | tr -s ' \n' '  ' | grep -q 'headroom was killed: what happened in the last seconds'
    # a damaged copy, and none
    code=0
    head -c 5000 "$log.blocks" >cut
    mv cut "$log.blocks"
    "$HEADROOM" report "$log" >out 2>err || code=$?
    [ "$code" -eq 1 ]
    one_sentence "$log.blocks"
    rm "$log.blocks"
    code=0
    "$HEADROOM" report "$log" >out 2>err || code=$?
    [ "$code" -eq 1 ]
    one_sentence "in memory"
}

@test "nowhere to write what was timed: it is kept" {
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    try 6 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=8m none disk
        TMPDIR= "$HEADROOM" interference -q -o disk/profile -- sh -c "
            mkdir disk/profile; mount -t tmpfs -o size=4k none /tmp; head -c 4k /dev/zero >/tmp/fill
            sleep 0.1; exit 6"; code=$?
        ls disk >files; log=$(ls disk/profile.raw.??????); cp "$log" kept; cp "$log.blocks" kept.blocks; exit $code'
    grep -q "The recording is kept in 'disk/profile.raw\." err
    try 0 "$HEADROOM" report --format json kept
    grep -q '"verb": *"interference"' out
}
