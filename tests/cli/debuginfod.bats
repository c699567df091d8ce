#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Debug information from a server: asked if DEBUGINFOD_URLS says so, and not otherwise. The server is one of
# our own, on this machine.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    command -v python3 >/dev/null || return 0
    cat >wasteful.c <<'END'
volatile int place;

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        place = i;
        place = -i;
    }
    return 0;
}
END
    gcc -O1 -g -Wl,--build-id -o wasteful wasteful.c
    id=$(readelf -n wasteful | sed -n 's/.*Build ID: //p')
    mkdir -p "server/buildid/$id"
    objcopy --only-keep-debug wasteful "server/buildid/$id/debuginfo"
    strip wasteful
    (cd server && exec python3 -u -m http.server 0 --bind 127.0.0.1) >port 2>requests 3>&- &
    echo $! >pid
    for ((i = 0; i < 600; i++)); do
        grep -q 'port [0-9]' port && break
        sleep 0.1
    done
}

teardown_file()
{
    [ ! -e "$BATS_FILE_TMPDIR/pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/pid")"
}

# A recording with OPTION... of the stripped program, with an empty cache; how many requests there were.
record()
{
    local before after
    [ -e "$BATS_FILE_TMPDIR/pid" ] || skip "no python3 for a server"
    ldconfig -p | grep -q 'libdebuginfod\.so\.1' || skip "libdebuginfod1 is not installed"
    cp "$BATS_FILE_TMPDIR/wasteful" .
    export DEBUGINFOD_CACHE_PATH=$PWD/cache HOME=$PWD
    before=$(grep -c 'GET /buildid/' "$BATS_FILE_TMPDIR/requests" || true)
    try 0 "$HEADROOM" waste --exact "$@" --report report -- ./wasteful
    after=$(grep -c 'GET /buildid/' "$BATS_FILE_TMPDIR/requests" || true)
    requests=$((after - before))
}

servers()
{
    export DEBUGINFOD_URLS
    DEBUGINFOD_URLS=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$BATS_FILE_TMPDIR/port")
}

@test "servers are asked when DEBUGINFOD_URLS is set" {
    servers
    record
    grep -q 'wasteful.c:7' report
    [ "$requests" -ge 1 ]
}

@test "--no-debuginfod asks none" {
    servers
    record --no-debuginfod
    grep -q 'wasteful' report
    lacks 'wasteful\.c' report
    [ "$requests" -eq 0 ]
}

@test "without DEBUGINFOD_URLS none is asked" {
    record
    lacks 'wasteful\.c' report
    [ "$requests" -eq 0 ]
    lacks DEBUGINFOD report
}

@test "--debuginfod is what is done anyway, and says so when there are no servers" {
    servers
    record --debuginfod
    grep -q 'wasteful.c:7' report
    unset DEBUGINFOD_URLS
    record --debuginfod
    grep -q 'DEBUGINFOD_URLS is not set' report
}

@test "doctor names the servers" {
    DEBUGINFOD_URLS=http://127.0.0.1:1 "$HEADROOM" doctor >out || true
    grep -q '^ok *debuginfod *http://127.0.0.1:1, .*--no-debuginfod' out
}
