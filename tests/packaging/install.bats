#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Installed below a DESTDIR: everything is there, the program there uses what was installed with it, and
# uninstalling leaves nothing.

load ../cli/common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    meson install -C "$BUILD" --no-rebuild --quiet --destdir "$PWD/stage" >log 2>&1 || { cat log; return 1; }
    meson introspect "$BUILD" --buildoptions |
        python3 -c 'import json, sys; print(*(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))' >prefix
}

# A copy of it, for the test to change.
installing()
{
    cp -a "$BATS_FILE_TMPDIR/stage" .
    prefix=$PWD/stage$(cat "$BATS_FILE_TMPDIR/prefix")
    prefix=${prefix%/}
    documents=$prefix/share/doc/headroom
}

# headroom as it was installed, not that of the build directory.
here()
{
    "$prefix/bin/headroom" "$@"
}

@test "what is installed" {
    installing
    for name in README.md LICENSE COPYING ARCHITECTURE.md docs/formats/profile.md examples/indexer.c; do
        [ -s "$documents/$name" ] || { echo "$name is missing"; return 1; }
    done
    head -1 "$documents/LICENSE" | grep -q '^MIT License'
    grep -q 'GNU GENERAL PUBLIC LICENSE' "$documents/COPYING"
    cmp "$SOURCE/examples/tally.c" "$documents/examples/tally.c"
    [ -s "$prefix/include/headroom.h" ]
    here help --generate bash | cmp - "$prefix/share/bash-completion/completions/headroom"
    here help --generate zsh | cmp - "$prefix/share/zsh/site-functions/_headroom"
    here help --generate fish | cmp - "$prefix/share/fish/vendor_completions.d/headroom.fish"
}

@test "every verb has a manual page" {
    installing
    verbs=$(here help | sed -n '/^Verbs:/,/^$/s/^  \([a-z+]*\) .*/\1/p')
    [ "$(wc -w <<<"$verbs")" -ge 15 ]
    for verb in $verbs; do
        here help --generate "man:$verb" | cmp - "$prefix/share/man/man1/headroom-$verb.1"
    done
    here help --generate man | cmp - "$prefix/share/man/man1/headroom.1"
}

@test "installed documents refer to installed documents" {
    installing
    python3 - "$documents" <<'END'
import os, re, sys

wrong, count = [], 0
for directory, _, names in os.walk(sys.argv[1]):
    for name in names:
        if not name.endswith(".md"):
            continue
        text = open(os.path.join(directory, name), encoding="utf-8").read()
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not re.match(r"[a-z]+:", target):
                count += 1
                if not os.path.exists(os.path.join(directory, target)):
                    wrong.append(f"{name}: {target}")
assert count > 10, count
assert not wrong, wrong
END
}

@test "the agent is found beside the installed program" {
    installing
    need_watchpoints
    here doctor --format json >doctor || true
    agent=$(python3 -c 'import json; print(*(c["finding"] for c in json.load(open("doctor"))["checks"] if c["name"] == "agent"))')
    [ "$agent" = "$(realpath "$prefix")/lib/headroom/libheadroom-agent.so" ]
    try 0 here waste -q -- true
    here report --format json | grep -Eq '"engine": ?"live"'
    # and nowhere else
    rm "$agent"
    try 125 here waste -q -- true
    one_sentence "libheadroom-agent.so"
}

@test "doctor's JSON is whole where the agent's name is no text" {
    installing
    mv stage $'stage\xff'
    prefix=${prefix/stage/$'stage\xff'}
    here doctor --format json >doctor || true
    python3 -c 'import json; assert "agent" in [c["name"] for c in json.load(open("doctor"))["checks"]]'
}

@test "the exact engine is found beside the installed program" {
    [ "$HAS_VALGRIND" = 1 ] || skip "built without the exact engine"
    installing
    try 0 here waste --exact -q -- sh -c '/bin/true; /bin/echo done'
    grep -q '^done$' out
    # Programs that children execute are observed as well: sh, and two more.
    here report --format json >report
    python3 -c 'import json; assert json.load(open("report"))["processes"] == 3'
    rm -r "$prefix/lib/headroom/exact"
    try 125 here waste --exact -q -- true
    one_sentence "lib/headroom/exact"
}

@test "what compiled programs need is found beside the installed program" {
    installing
    try 0 here cc --paths -- gcc -O1 -o tally "$documents/examples/tally.c"
    try 0 here paths -q -- ./tally
    here report paths.headroom >report
    rm "$prefix/lib/headroom/libheadroom_runtime.a"
    try 1 here cc --paths -- gcc -O1 -o tally "$documents/examples/tally.c"
    one_sentence "headroom_runtime"
}

@test "uninstalling leaves nothing" {
    installing
    count=$(find stage -type f | wc -l)
    [ "$count" -ge 40 ]
    "$SOURCE/tools/uninstall" "$BUILD" stage >said
    grep -q "removed $count files" said
    [ -z "$(find stage -mindepth 1)" ] || { find stage; return 1; }
    # There is nothing left to remove, and that is no failure.
    "$SOURCE/tools/uninstall" "$BUILD" stage >said
    grep -q 'removed 0 files' said
}

@test "uninstalling leaves what is not headroom's" {
    installing
    : >"$documents/notes"
    : >"$prefix/bin/other"
    "$SOURCE/tools/uninstall" "$BUILD" stage
    find stage -type f -printf '%f\n' | sort >left
    printf 'notes\nother\n' | cmp - left
}
