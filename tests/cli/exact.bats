#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Recordings under the exact engine: the program behaves as it does alone, what cannot be
# observed is refused in one sentence, and the profile can be read.

load common

setup_file()
{
    "$HEADROOM" waste --exact -q -o "$BATS_FILE_TMPDIR/profile" -- true 2>"$BATS_FILE_TMPDIR/why" || true
}

needs_engine()
{
    [ -s "$BATS_FILE_TMPDIR/profile" ] || skip "no exact engine here: $(head -1 "$BATS_FILE_TMPDIR/why")"
}

# compile NAME [OPTION...] <SOURCE
compile()
{
    local name=$1
    shift
    ${CC:-cc} -O1 -g -x c -o "$name" "$@" -
}

# Processes of this test's recordings only: Valgrind's command line names the log.
no_processes()
{
    ! pgrep -f -- "--log=$PWD/" >/dev/null
}

@test "a script with children: output, errors and exit code are the same as alone" {
    needs_engine
    cat >program <<'END'
#!/bin/sh
echo "arguments: $*"
seq 100 | sort -rn | head -3
cat
/bin/echo to stderr >&2
( exit 4 )
echo "child: $?"
sh -c 'exec /bin/echo executed'
/bin/true && exit 42
END
    chmod +x program
    printf 'from stdin\n\0\377binary' >input
    code=0
    ./program 1 'two words' <input >expected 2>expected_errors || code=$?
    [ "$code" -eq 42 ]
    code=0
    "$HEADROOM" waste --exact -q -- ./program 1 'two words' <input >out 2>err || code=$?
    [ "$code" -eq 42 ]
    cmp expected out
    cmp expected_errors err
    try 0 "$HEADROOM" report --format json
    grep -q '"engine": *"exact"' out
    grep -q '"code": *42' out
    no_leftovers
}

@test "exit codes pass through" {
    needs_engine
    for code in 0 1 125 127 255; do
        try "$code" "$HEADROOM" waste --exact -q -- sh -c "exit $code"
        [ ! -s err ]
    done
    no_leftovers
}

@test "a killed program gives 128+N" {
    needs_engine
    for signal in INT TERM SEGV ABRT PIPE; do
        number=$(kill -l "$signal")
        try $((128 + number)) "$HEADROOM" waste --exact -q -- sh -c "ulimit -c 0; kill -$signal \$\$"
        [ ! -s err ]
        try 0 "$HEADROOM" report --format json
        grep -q "\"signal\": *$number" out
    done
    no_leftovers
    [ -z "$(find . -name '*core*')" ]
}

@test "a program that is killed from outside: its status, and a sentence" {
    needs_engine
    cat >program <<'END'
#!/bin/sh
echo $$ >pid
while :; do :; done
END
    chmod +x program
    "$HEADROOM" waste --exact -- ./program >out 2>err 3>&- &
    headroom=$!
    for _ in $(seq 200); do [ -s pid ] && break; sleep 0.05; done
    kill -KILL "$(cat pid)"
    code=0
    wait "$headroom" || code=$?
    [ "$code" -eq 137 ]
    one_sentence "nothing was recorded"
    [ ! -e waste.headroom ]
    no_leftovers
}

@test "the report names what was recorded, in text and JSON" {
    needs_engine
    compile program <<'END'
static volatile int cell;
int main(void)
{
    for (int i = 0; i < 1000; i++)
        cell = i;
    return cell == 0;
}
END
    try 0 "$HEADROOM" waste --exact -- ./program
    [ ! -s out ]
    grep -q 'main' err
    try 0 "$HEADROOM" waste --exact --kinds dead --format json --report report.json -o profile -- ./program
    [ ! -s out ]
    [ ! -s err ]
    grep -q '"engine": *"exact"' report.json
    grep -q '"dead"' report.json
    lacks '"silent"' report.json
    try 0 "$HEADROOM" report profile
    grep -q main out
}

@test "reuse: profile, report, options" {
    needs_engine
    for options in "" "--unit byte" "--unit word --no-stack" "--sample-locations 10%" \
                   "--what-if-cache 32K,8 --what-if-cache 33M,11 --what-if-cache 2M" "--trace trace"; do
        # shellcheck disable=SC2086
        try 0 "$HEADROOM" reuse --exact $options -q -- true
        [ ! -s err ]
        try 0 "$HEADROOM" report --format json reuse.headroom
        grep -q '"verb": *"reuse"' out
    done
    [ -e reuse.headroom.old ]
    [ -s trace ]
    try 3 "$HEADROOM" reuse --exact -o profile -- sh -c 'exit 3'
    [ ! -s out ]
    try 0 "$HEADROOM" report profile
    no_leftovers
}

@test "static programs, and programs that no agent could live in" {
    needs_engine
    printf '.globl _start\n_start: mov $60,%%eax\nmov $9,%%edi\nsyscall\n' >start.s
    ${CC:-cc} -nostdlib -static -o static start.s
    try 9 "$HEADROOM" waste --exact -q -- ./static
    [ ! -s err ]
    try 0 "$HEADROOM" report
}

@test "usage errors" {
    for option in --rate=5 --source=clock --period=5000 --seed=1; do
        try 125 "$HEADROOM" waste --exact "$option" touch started
        one_sentence "${option%%=*}"
    done
    try 125 "$HEADROOM" waste --trace trace touch started
    one_sentence "--exact"
    try 125 "$HEADROOM" waste --sample-locations 0.1 touch started
    one_sentence "--sample-locations needs --exact"
    try 125 "$HEADROOM" waste --exact --sample-locations 2 touch started
    one_sentence "--sample-locations"
    try 125 "$HEADROOM" reuse --what-if-cache=32K,8 touch started
    one_sentence "--what-if-cache needs --exact"
    try 125 "$HEADROOM" waste --exact
    one_sentence "no command"
    try 125 "$HEADROOM" reuse --exact --
    one_sentence "no command"
    for bad in --unit=page --sample-locations=0 --sample-locations=2 --sample-locations=-1 --rate=7; do
        try 125 "$HEADROOM" reuse --exact "$bad" touch started
        one_sentence "${bad%%=*}"
    done
    for bad in 0 32X K 32K, 32K,0 32K,8x ,8 1,1,1 32K,3 1M,12 100 65G 99999999999999999999 1,-1; do
        try 125 "$HEADROOM" reuse --exact --what-if-cache "$bad" touch started
        one_sentence "--what-if-cache does not take '$bad'"
    done
    # shellcheck disable=SC2046
    try 125 "$HEADROOM" reuse --exact $(printf -- '--what-if-cache %sK ' 1 2 3 4 5 6 7 8 9) touch started
    one_sentence "8 times at most"
    [ ! -e started ]
}

@test "programs that cannot be found or executed" {
    needs_engine
    try 127 "$HEADROOM" waste --exact no-such-program
    one_sentence "no-such-program"
    echo text >file
    try 126 "$HEADROOM" waste --exact ./file
    one_sentence "./file"
    head -c 40 /bin/true >damaged
    chmod +x damaged
    try 126 "$HEADROOM" waste --exact ./damaged
    one_sentence "damaged"
    printf '#!/nonexistent/interpreter\n' >script
    chmod +x script
    try 126 "$HEADROOM" waste --exact ./script
    one_sentence "/nonexistent/interpreter"
    no_leftovers
}

@test "a 32-bit program is refused before it starts" {
    # an ELF header and nothing else: 32 bits, executable, EM_386
    printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' >small
    head -c 60 /dev/zero >>small
    chmod +x small
    try 125 "$HEADROOM" waste --exact ./small
    one_sentence "32-bit"
    printf '#!%s\n' "$PWD/small" >script
    chmod +x script
    try 125 "$HEADROOM" waste --exact ./script
    one_sentence "32-bit"
}

@test "a 32-bit child runs unobserved, as it would alone" {
    needs_engine
    printf '.globl _start\n_start: mov $1,%%eax\nmov $23,%%ebx\nint $0x80\n' >start.s
    ${CC:-cc} -m32 -nostdlib -static -o small start.s 2>/dev/null ||
        skip "the compiler makes no 32-bit programs"
    code=0
    ./small || code=$?
    [ "$code" -eq 23 ] || skip "the kernel runs no 32-bit programs"
    try 125 "$HEADROOM" waste --exact -- ./small
    one_sentence "32-bit"
    try 23 "$HEADROOM" waste --exact -- sh -c './small; exit $?'
    grep -q 'a child executed' err
    printf '#!%s\n' "$PWD/small" >script
    chmod +x script
    try 23 "$HEADROOM" waste --exact -- sh -c './script; exit $?'
    grep -q 'a child executed' err
    try 23 "$HEADROOM" waste --exact --no-follow -- sh -c './small; exit $?'
    lacks 'a child executed' err
}

@test "without children, neither those that execute nor those that only fork" {
    needs_engine
    try 3 "$HEADROOM" waste --exact --no-follow -o alone -- sh -c '(/bin/true; echo inner); exit 3'
    [ "$(cat out)" = inner ]
    "$HEADROOM" report --format json alone | grep -q '"processes": *1,'
    try 3 "$HEADROOM" waste --exact -o all -- sh -c '(/bin/true; echo inner); exit 3'
    "$HEADROOM" report --format json all | grep -q '"processes": *3,'
}

@test "a child that gave up its rights runs unobserved" {
    needs_engine
    [ "$(id -u)" -eq 0 ] || skip "needs root to give up something"
    as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
    $as_nobody test -x "$(dirname "$HEADROOM")" 2>/dev/null || skip "nobody cannot reach headroom"
    try 3 "$HEADROOM" waste --exact -- $as_nobody sh -c 'echo unharmed; /bin/true; exit 3'
    [ "$(cat out)" = unharmed ]
    no_leftovers
}

@test "a child that the kernel refuses is refused to the program, too" {
    needs_engine
    printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' >small
    head -c 60 /dev/zero >>small
    chmod +x small
    code=0
    sh -c './small; exit $?' 2>/dev/null || code=$?
    [ "$code" -ne 0 ]
    try "$code" "$HEADROOM" waste --exact -q -- sh -c './small 2>/dev/null; exit $?'
}

@test "set-user-ID programs" {
    needs_engine
    cp /bin/true suid
    chmod u+s suid
    try 125 "$HEADROOM" waste --exact ./suid
    one_sentence "suid"
    # children of that kind run unobserved: Valgrind would make execve fail
    mkdir bin
    cp /bin/echo bin/gains
    chmod u+s bin/gains
    PATH="$PWD/bin:$PATH" try 0 "$HEADROOM" waste --exact -q -- sh -c 'gains rights'
    [ "$(cat out)" = rights ]
    [ ! -s err ]
}

@test "without Valgrind: what to install" {
    need_watchpoints
    needs_engine
    [ -d /usr/libexec/valgrind ] || skip "Valgrind is elsewhere"
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    mkdir empty
    try 125 unshare -rm sh -c '
        mount -t tmpfs none /usr/libexec/valgrind &&
        PATH='"$PWD"'/empty "$HEADROOM" waste --exact /usr/bin/touch started'
    one_sentence "apt install valgrind"
    [ ! -e started ]
    try 0 unshare -rm sh -c '
        mount -t tmpfs none /usr/libexec/valgrind && "$HEADROOM" waste -q -- true'
    unshare -rm sh -c '
        mount -t tmpfs none /usr/libexec/valgrind && PATH='"$PWD"'/empty "$HEADROOM" doctor' >out || true
    grep -A1 '^limited *exact engine' out | grep -q 'sudo apt install valgrind'
}

@test "doctor: the exact engine" {
    needs_engine
    "$HEADROOM" doctor >out || true
    grep -Eq '^ok +exact engine' out
}

@test "an engine that was not installed with headroom" {
    cp "$HEADROOM" alone
    try 125 ./alone waste --exact -q true
    one_sentence "exact engine"
}

@test "AVX-512: one sentence" {
    needs_engine
    compile program -mavx512f 2>/dev/null <<'END' || skip "the compiler knows no AVX-512"
#include <immintrin.h>
static volatile __m512i cell;
int main(void)
{
    cell = _mm512_add_epi64(cell, cell);
    return 0;
}
END
    # Whether or not this processor knows it.
    try 132 "$HEADROOM" waste --exact -q -- ./program
    one_sentence "AVX-512 instruction in main, which"
    no_leftovers
}

@test "AVX-512 by its masks alone: the same sentence" {
    needs_engine
    compile program 2>/dev/null <<'END' || skip "the assembler knows no AVX-512"
static void __attribute__((noinline)) mask(int bits)
{
    __asm__ volatile("kmovw %0, %%k1\n\tkshiftlw $1, %%k1, %%k2" : : "r"(bits));
}
int main(void)
{
    mask(1);
    return 0;
}
END
    try 132 "$HEADROOM" waste --exact -q -- ./program
    one_sentence "AVX-512 instruction in mask, which"
}

@test "too little memory: one sentence" {
    needs_engine
    code=0
    (ulimit -Sv 300000; "$HEADROOM" waste --exact touch started) >out 2>err || code=$?
    [ "$code" -eq 125 ]
    one_sentence "ulimit -v"
    [ ! -e started ]
    no_leftovers
    [ ! -e waste.headroom ]
}

@test "what the program sees: descriptors, signals, limits, environment" {
    needs_engine
    # built-ins of the shell only, whose own view is the program's; not what Valgrind needs for itself:
    # LD_PRELOAD, the last twelve descriptors
    see='for i in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$i ] && echo "open $i"; done
        ulimit -Sf; ulimit -Hf; ulimit -Ss; umask; trap; echo "$0 $*"; pwd
        while read -r line; do case $line in Sig[BI]*) echo "$line";; esac; done </proc/self/status
        export -p | while read -r line; do case $line in *LD_PRELOAD*|*" _="*) ;; *) echo "$line";; esac; done'
    sh -c "$see" name 1 2 >expected 3>&-
    "$HEADROOM" waste --exact -q -- sh -c "$see" name 1 2 >seen 3>&-
    diff expected seen
    (trap '' INT HUP PIPE; sh -c "$see" name) >expected 3>&-
    (trap '' INT HUP PIPE; "$HEADROOM" waste --exact -q -- sh -c "$see" name) >seen 3>&-
    diff expected seen
}

@test "nothing is left in the folder for temporary files" {
    needs_engine
    mkdir temporary
    TMPDIR=$PWD/temporary try 0 "$HEADROOM" waste --exact -q -- true
    [ -z "$(ls -A temporary)" ]
}

@test "the user's Valgrind options do not matter" {
    needs_engine
    mkdir home
    echo '--verbose --log-file=elsewhere --frobnicate' >home/.valgrindrc
    cp home/.valgrindrc .valgrindrc
    HOME=$PWD/home VALGRIND_OPTS="--verbose --tool=none" VALGRIND_LIB=/nonexistent \
        try 3 "$HEADROOM" waste --exact -q -- sh -c 'sh -c "exit 3"'
    [ ! -s err ]
    [ ! -e elsewhere ]
}

@test "children that outlive the command go on, and may execute programs" {
    needs_engine
    SECONDS=0
    cat >program <<'END'
#!/bin/sh
(sleep 3; /bin/echo late >late) >/dev/null 2>&1 &
exit 4
END
    chmod +x program
    try 4 "$HEADROOM" waste --exact -- ./program 3>&-
    grep -q 'outlived' err
    no_leftovers
    for _ in $(seq 200); do [ -s late ] && break; sleep 0.1; done
    [ "$(cat late)" = late ]
}

@test "SIGTERM is passed on, SIGINT from elsewhere does not end the recording" {
    needs_engine
    cat >program <<'END'
#!/bin/bash
trap 'echo terminated; exit 9' TERM
echo ready >ready
while :; do sleep 0.05; done
END
    chmod +x program
    "$HEADROOM" waste --exact --no-follow -q -- ./program >out 2>err 3>&- &
    pid=$!
    for _ in $(seq 200); do [ -s ready ] && break; sleep 0.05; done
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

@test "headroom is killed: the program goes on to its end" {
    needs_engine
    cat >program <<'END'
#!/bin/sh
echo ready >ready
sleep 0.5
/bin/echo works >result
END
    chmod +x program
    "$HEADROOM" waste --exact -q -- ./program 3>&- &
    pid=$!
    for _ in $(seq 200); do [ -s ready ] && break; sleep 0.05; done
    kill -KILL "$pid"
    wait "$pid" || true
    for _ in $(seq 200); do [ -s result ] && break; sleep 0.05; done
    [ "$(cat result)" = works ]
}

@test "a full disk before the start" {
    needs_engine
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    try 125 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=64k none disk &&
        head -c 1M /dev/zero >disk/fill 2>/dev/null
        "$HEADROOM" waste --exact -o disk/profile touch started; code=$?
        ls disk >files; exit $code'
    grep -q '^headroom: .*No space left' err
    [ ! -e started ]
    [ "$(cat files)" = fill ]
}

@test "a disk that fills up while recording does not change the program" {
    needs_engine
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    try 6 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=64k none disk
        "$HEADROOM" waste --exact -o disk/profile -- sh -c "
            head -c 1M /dev/zero >disk/fill 2>/dev/null; echo works; exit 6"'
    [ "$(cat out)" = works ]
    grep -q '^headroom: ' err
}

@test "a file-size limit binds the program only" {
    needs_engine
    code=0
    (ulimit -Sf 1; "$HEADROOM" waste --exact -q -- sh -c 'echo works; exit 6') >out 2>err || code=$?
    [ "$code" -eq 6 ]
    [ "$(cat out)" = works ]
    try 0 "$HEADROOM" report
}

@test "a trace: file, FIFO, refusals" {
    needs_engine
    try 0 "$HEADROOM" waste --exact -q --trace trace -- true
    [ -s trace ]
    mkfifo fifo
    cat fifo >copy &
    try 0 "$HEADROOM" waste --exact -q --trace fifo -- true
    wait $!
    [ -s copy ]
    try 125 "$HEADROOM" waste --exact --trace nowhere/trace -- touch started
    one_sentence "nowhere/trace"
    try 125 "$HEADROOM" waste --exact --trace . -- touch started
    one_sentence "'.'"
    [ ! -e started ]
    no_leftovers
}

@test "many threads" {
    needs_engine
    compile program -pthread <<'END'
#include <pthread.h>
static pthread_barrier_t all;
static void *wait_for_all(void *unused)
{
    pthread_barrier_wait(&all);
    return unused;
}
int main(void)
{
    enum { THREADS = 600 };
    static pthread_t threads[THREADS];
    pthread_barrier_init(&all, 0, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], 0, wait_for_all, 0) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return 5;
}
END
    try 5 "$HEADROOM" waste --exact -q -- ./program
    [ ! -s err ]
}

@test "a deep stack, as far as the limit allows" {
    needs_engine
    (ulimit -Ss 65536) 2>/dev/null || skip "the stack cannot be made larger"
    compile program <<'END'
static int down(volatile char *above, int depth)
{
    volatile char here[4096];
    here[0] = above[0];
    return depth ? down(here, depth - 1) + (here[0] != 7) : 0;
}
int main(void)
{
    volatile char start[1] = {7};
    return down(start, 10000); /* 40 MiB */
}
END
    code=0
    (ulimit -Ss 65536; "$HEADROOM" waste --exact -q -- ./program) 2>err || code=$?
    [ "$code" -eq 0 ]
    [ ! -s err ]
}

@test "a recording inside a recording" {
    needs_engine
    try 5 "$HEADROOM" waste --exact -q -o outer -- sh -c "
        '$HEADROOM' waste --exact -q -o inner -- sh -c 'exit 5'; exit \$?"
    [ ! -s err ]
    try 0 "$HEADROOM" report inner
    try 0 "$HEADROOM" report outer
}

@test "help, manual page and completions know what is exact" {
    try 0 "$HEADROOM" help reuse
    grep -q '^Usage: headroom reuse' out
    [ "$(awk '{ if (length > w) w = length } END { print w }' out)" -le 80 ]
    "$HEADROOM" help --generate bash >bash
    "$HEADROOM" help --generate zsh >zsh
    "$HEADROOM" help --generate fish >fish
    "$HEADROOM" help --generate man:reuse >reuse.1
    for option in exact unit sample-locations what-if-cache no-stack trace; do
        grep -q -- "--$option" out
        grep -q -- "--$option" bash
        grep -Eq -- "--$option=?\[" zsh
        grep -q -- "-l $option" fish
        grep -qF -- "${option//-/\\-}" reuse.1
    done
    if command -v man >/dev/null; then
        man --warnings=all -l reuse.1 2>warnings >shown
        [ ! -s warnings ]
    fi
}

@test "recursion multiplies neither contexts nor pairs" {
    needs_engine
    compile program <<'END'
#include <stdlib.h>
static volatile long cells[64];
__attribute__((noinline)) static void walk(int levels, unsigned way)
{
    cells[levels & 63]++;
    if (!levels)
        return;
    switch (way % 8) {
#define WAY(i) case i: walk(levels - 1, way * 1103515245u + 12345u + i); cells[i]++; \
                       walk(levels - 1, way ^ 0x9e37u * i); break;
    WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)
    }
}
__attribute__((noinline)) static long deep(long levels)
{
    if (!levels)
        return 1;
    long sum = deep(levels - 1) + 1;
    cells[levels & 63] += sum;
    return sum;
}
int main(int count, char **arguments)
{
    walk(atoi(arguments[1]), 1);
    return deep(atol(arguments[2])) == 0;
}
END
    # Not folded, the first makes a profile of 7 MB and a hundred times the pairs.
    try 0 "$HEADROOM" waste --exact -q -o ways -- ./program 15 0
    [ "$(stat -c %s ways)" -lt 1500000 ]
    try 0 "$HEADROOM" reuse --exact -q -o reuses -- ./program 13 0
    [ "$(stat -c %s reuses)" -lt 1500000 ]
    try 0 "$HEADROOM" waste --exact -q -o depths -- ./program 0 100000
    [ "$(stat -c %s depths)" -lt 1500000 ]
    try 0 "$HEADROOM" paths --exact -q -o paths -- ./program 13 10000
    [ "$(stat -c %s paths)" -lt 1500000 ]
    no_leftovers
}
