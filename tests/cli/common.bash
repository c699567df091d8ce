# SPDX-License-Identifier: MIT
# HEADROOM is the program under test. Every test runs in an empty directory of its own.

setup()
{
    [ -x "$HEADROOM" ] || { echo "HEADROOM names no program" >&2; return 1; }
    cd "$BATS_TEST_TMPDIR" || return 1
    unset NO_COLOR PAGER DEBUGINFOD_URLS
    export HEADROOM_CACHE= # nothing of earlier tests
    [ -z "${ALL_NEED_WATCHPOINTS:-}" ] || need_watchpoints
}

# Where the hypervisor keeps debug registers to itself nothing can be recorded live.
need_watchpoints()
{
    local why=$BATS_FILE_TMPDIR/why_no_watchpoints
    if [ ! -e "$why" ]; then
        "$HEADROOM" waste -q -o probe -- true 2>said || true
        sed -n 's/^headroom: \(no watchpoint works here\)/\1/p' said >"$why"
        rm -f probe said
    fi
    [ ! -s "$why" ] || skip "$(cat "$why")"
}

# Where Valgrind is missing, say. What a program under test does is no reason to skip a test: ask before it runs.
needs_engine()
{
    local why=$BATS_FILE_TMPDIR/why_no_engine
    if [ ! -e "$why" ]; then
        "$HEADROOM" waste --exact -q -o "$BATS_FILE_TMPDIR/probe" -- true 2>"$why" || true
        [ ! -e "$BATS_FILE_TMPDIR/probe" ] || : >"$why"
    fi
    [ ! -s "$why" ] || skip "no exact engine here: $(head -1 "$why")"
}

# run CODE COMMAND...: standard output, standard error and exit code apart.
try()
{
    local expected=$1
    shift
    code=0
    "$@" >out 2>all </dev/null || code=$?
    # a remark on every recording without privileges
    grep -v "^headroom: the kernel's accesses are seen only" all >err || true
    if [ "$code" -ne "$expected" ]; then
        echo "exit code $code, not $expected: $*"
        cat err
        return 1
    fi
}

# lacks [OPTION...] PATTERN FILE: no line matches. "! grep" in the middle of a test would fail nothing.
lacks()
{
    local found
    found=$(grep -- "$@") || return 0
    echo "unexpected: $found"
    return 1
}

# The failure was reported in one sentence that contains $1, and in nothing else.
one_sentence()
{
    [ ! -s out ]
    [ "$(wc -l <err)" -eq 1 ]
    grep -q '^headroom: .*\.$' err
    grep -qF -- "$1" err || { cat err; return 1; }
}

no_leftovers()
{
    local left
    left=$(find . -name '*.raw.*')
    [ -z "$left" ] || { echo "left over: $left"; return 1; }
}
