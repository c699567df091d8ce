#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Bad input: one sentence and the documented exit code, and the program is not started.

load common

@test "no verb" {
    try 2 "$HEADROOM"
    one_sentence "verb"
}

@test "unknown verb" {
    try 2 "$HEADROOM" frobnicate
    one_sentence "frobnicate"
}

@test "what is no verb: what was meant, or what to type" {
    try 2 "$HEADROOM" wast
    one_sentence "did you mean 'waste'?"
    try 2 "$HEADROOM" help interferance
    one_sentence "did you mean 'interference'?"
    cp "$(type -P true)" prog
    try 2 "$HEADROOM" ./prog
    one_sentence "to observe a program: headroom run -- ./prog;"
    cp prog 'my prog'
    try 2 "$HEADROOM" './my prog'
    one_sentence "headroom run -- './my prog';"
    try 2 "$HEADROOM" true
    one_sentence "headroom run -- true;"
    "$MAKE_PROFILE" x.headroom 3 3
    try 2 "$HEADROOM" x.headroom
    one_sentence "for its report: headroom report x.headroom;"
    : >y.headroom
    try 2 "$HEADROOM" y.headroom
    one_sentence "there is no verb 'y.headroom'; see"
    try 2 "$HEADROOM" xy
    one_sentence "there is no verb 'xy'; see"
}

@test "texts name only verbs that exist" {
    "$HEADROOM" help | sed -n '/^Verbs:/,/^$/s/^  \([a-z+]*\) .*/\1/p' >verbs
    [ "$(wc -l <verbs)" -ge 15 ]
    # what can be typed stands in quotation marks, or after a colon or a blank line's indentation
    grep -aoE "('|: )headroom [a-z+]+" "$HEADROOM" | sed 's/.*headroom //' | sort -u >named
    grep -qx report named
    grep -qx doctor named
    grep -vxFf verbs named >missing || true
    [ ! -s missing ] || { cat missing; return 1; }
}

@test "what an agent cannot observe and the exact engine can: the refusal says so" {
    printf 'int main(void) { return 0; }\n' >one.c
    "${CC:-cc}" -static -o static one.c 2>err || skip "no static C library here"
    try 125 "$HEADROOM" waste ./static
    one_sentence "statically linked"
    grep -q 'With --exact it can be observed as it is\.$' err
    try 125 "$HEADROOM" reuse ./static
    one_sentence "With --exact it can be observed"
    try 125 "$HEADROOM" run ./static
    grep -q "With 'headroom waste --exact' it can be observed as it is\.$" err
    try 125 "$HEADROOM" interference ./static
    lacks '--exact' err
}

@test "unknown option before the verb" {
    try 2 "$HEADROOM" --frobnicate waste
    one_sentence "--frobnicate"
}

@test "waste: no command" {
    try 125 "$HEADROOM" waste
    one_sentence "no command"
    try 125 "$HEADROOM" waste --
    one_sentence "no command"
}

@test "waste: unknown option names the nearest one" {
    try 125 "$HEADROOM" waste --fomat json true
    one_sentence "--format"
    try 125 "$HEADROOM" waste -Z true
    one_sentence "-Z"
}

@test "waste: bad values" {
    for bad in --rate=0 --rate=-1 --rate=1001 --rate=x --rate= --rate=1e2 --fp-tolerance=2 \
        --fp-tolerance=nan --fp-tolerance=-1% --kinds=dead,live --kinds= --kinds=dead, \
        --format=xml --color=red --limit=-1 --limit=99999999999999999999 --source=tarot \
        --period=0 --output= --quiet=1; do
        try 125 "$HEADROOM" waste "$bad" touch started
        one_sentence "${bad%%=*}"
        [ ! -e started ]
    done
}

@test "waste: an option without its value" {
    try 125 "$HEADROOM" waste --rate
    one_sentence "--rate needs a value"
    try 125 "$HEADROOM" waste -o
    one_sentence "--output needs a value"
}

@test "paths: events that are not there" {
    try 125 "$HEADROOM" paths --event NO_SUCH_EVENT touch started
    one_sentence "'NO_SUCH_EVENT'"
    try 125 "$HEADROOM" paths --event= touch started
    one_sentence "--event"
    try 125 "$HEADROOM" paths --exact --event perf::PAGE-FAULTS touch started
    one_sentence "--event belongs to sampling"
    [ ! -e started ]
}

@test "paths: a machine without counters" {
    [ ! -e /sys/bus/event_source/devices/cpu ] || skip "this machine has counters"
    try 125 "$HEADROOM" paths --event perf::INSTRUCTIONS touch started
    one_sentence "this machine has no counter for it"
    [ ! -e started ]
}

@test "unknown program" {
    try 127 "$HEADROOM" waste no-such-program
    one_sentence "no-such-program"
    try 127 "$HEADROOM" waste ./no-such-program
    one_sentence "./no-such-program"
    try 127 "$HEADROOM" waste ''
    one_sentence "no such program"
}

@test "not executable" {
    echo text >file
    try 126 "$HEADROOM" waste ./file
    one_sentence "./file"
}

@test "a directory" {
    mkdir directory
    try 126 "$HEADROOM" waste ./directory
    one_sentence "directory"
}

@test "a static program" {
    printf '.globl _start\n_start: mov $60,%%eax\nxor %%edi,%%edi\nsyscall\n' >start.s
    ${CC:-cc} -nostdlib -static -o static start.s
    ./static
    try 125 "$HEADROOM" waste ./static
    one_sentence "static"
}

@test "a 32-bit program" {
    # e_ident[EI_CLASS] = 1, e_machine = EM_386
    cp /bin/true small
    printf '\001' | dd of=small bs=1 seek=4 conv=notrunc status=none
    printf '\003' | dd of=small bs=1 seek=18 conv=notrunc status=none
    try 125 "$HEADROOM" waste ./small
    one_sentence "32-bit"
}

@test "another machine's program" {
    cp /bin/true foreign
    printf '\267' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
    try 125 "$HEADROOM" waste ./foreign
    one_sentence "machine"
}

@test "a damaged program" {
    head -c 40 /bin/true >damaged
    chmod +x damaged
    try 126 "$HEADROOM" waste ./damaged
    one_sentence "damaged"
}

@test "a set-user-ID program of somebody else" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to make one"
    cp /bin/true suid
    chown 65534 suid
    chmod u+s suid
    try 125 "$HEADROOM" waste ./suid
    one_sentence "suid"
}

@test "a script without its interpreter" {
    printf '#!/nonexistent/interpreter\n' >script
    chmod +x script
    try 126 "$HEADROOM" waste ./script
    one_sentence "/nonexistent/interpreter"
}

@test "a script of a static interpreter" {
    printf '.globl _start\n_start: mov $60,%%eax\nxor %%edi,%%edi\nsyscall\n' >start.s
    ${CC:-cc} -nostdlib -static -o static start.s
    printf '#!%s\n' "$PWD/static" >script
    chmod +x script
    try 125 "$HEADROOM" waste ./script
    one_sentence "static"
}

@test "output that cannot be written" {
    need_watchpoints
    try 125 "$HEADROOM" waste -o nowhere/profile touch started
    one_sentence "nowhere/profile"
    try 125 "$HEADROOM" waste -o . touch started
    one_sentence "."
    try 125 "$HEADROOM" waste -o /dev/null touch started
    one_sentence "/dev/null"
    try 125 "$HEADROOM" waste --report nowhere/report touch started
    one_sentence "nowhere/report"
    [ ! -e started ]
    no_leftovers
}

@test "output through a symbolic link is refused" {
    echo precious >target
    ln -s target profile
    try 125 "$HEADROOM" waste -o profile touch started
    one_sentence "profile"
    [ "$(cat target)" = precious ]
    [ ! -e started ]
    no_leftovers
}

@test "a directory without write permission" {
    [ "$(id -u)" -ne 0 ] || skip "root may write everywhere"
    mkdir locked
    chmod 500 locked
    try 125 "$HEADROOM" waste -o locked/profile touch started
    one_sentence "locked/profile"
}

@test "a full disk before the start" {
    need_watchpoints
    unshare -rm true 2>/dev/null || skip "no mount namespaces here"
    try 125 unshare -rm sh -c '
        mkdir disk && mount -t tmpfs -o size=64k none disk &&
        head -c 1M /dev/zero >disk/fill 2>/dev/null
        "$HEADROOM" waste -o disk/profile touch started; code=$?
        ls disk >files; exit $code'
    grep -q '^headroom: .*No space left' err
    [ ! -e started ]
    [ "$(cat files)" = fill ]
}

@test "names in sentences stay on one line and command no terminal" {
    try 1 "$HEADROOM" report "$(printf 'no\nsuch\033[31mfile\302\233\342\200\256')"
    one_sentence "'no such?[31mfile??'"
}

@test "report: what is not there or no profile" {
    try 1 "$HEADROOM" report missing
    one_sentence "missing"
    echo "not a profile" >text
    try 1 "$HEADROOM" report text
    one_sentence "text"
    : >empty
    try 1 "$HEADROOM" report empty
    one_sentence "empty"
    try 1 "$HEADROOM" report .
    one_sentence "."
    try 2 "$HEADROOM" report --frobnicate
    one_sentence "--frobnicate"
    try 2 "$HEADROOM" report one two
    one_sentence "two"
    head -c 4096 /dev/urandom >noise
    try 1 "$HEADROOM" report noise
    one_sentence "noise"
    printf 'HDDRLOG1' >log
    try 1 "$HEADROOM" report log
    one_sentence "log"
}

@test "report: output that cannot be written" {
    [ -w /dev/full ] || skip "no /dev/full"
    code=0
    "$HEADROOM" help >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ]
    grep -q 'No space left' err
}
