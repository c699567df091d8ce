#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# How the build finds Valgrind, and what it says when it does not. Configured only, not built.

load ../cli/common

# configured CODE OPTION...: a build directory of its own.
configured()
{
    local expected=$1
    shift
    code=0
    env -u CFLAGS -u LDFLAGS meson setup build "$SOURCE" -Dtests=false "$@" >log 2>&1 || code=$?
    [ "$code" -eq "$expected" ] || { cat log; return 1; }
}

# A prefix with what the build looks for, the static libraries in folder $1.
fake_valgrind()
{
    mkdir -p "prefix/include/valgrind" "prefix/$1" prefix/libexec/valgrind
    : >prefix/include/valgrind/pub_tool_tooliface.h
    : >"prefix/$1/libcoregrind-amd64-linux.a"
    : >"prefix/$1/libvex-amd64-linux.a"
    : >prefix/libexec/valgrind/vgpreload_core-amd64-linux.so
}

@test "without Valgrind the summary says why, in one line" {
    mkdir pkgconfig
    printf 'prefix=%s\nlibdir=%s\nName: Valgrind\nDescription: none here\nVersion: 3\n' \
        "$PWD/nothing" "$PWD/nothing/lib" >pkgconfig/valgrind.pc
    PKG_CONFIG_PATH=$PWD/pkgconfig configured 0
    grep -Eq '^ +exact engine: not built: no headers and static libraries of Valgrind.*-Dvalgrind=PREFIX$' log
    lacks headroom-amd64-linux build/build.ninja
}

@test "a headroom built without Valgrind says so" {
    "$EXACT_ABSENT" >said
    [ "$(wc -l <said)" -eq 1 ]
    grep -q '^the exact engine was not built .*Valgrind.*apt install valgrind.*-Dvalgrind=PREFIX' said
}

@test "without the exact engine by request" {
    configured 0 -Dvalgrind=none
    grep -Eq '^ +exact engine: not built, as -Dvalgrind=none asks$' log
    lacks headroom-amd64-linux build/build.ninja
}

@test "pkg-config says where Valgrind is" {
    fake_valgrind lib64/strange/valgrind
    mkdir pkgconfig
    printf 'prefix=%s\nlibdir=${prefix}/lib64/strange\nName: Valgrind\nDescription: a fake\nVersion: 3\n' \
        "$PWD/prefix" >pkgconfig/valgrind.pc
    PKG_CONFIG_PATH=$PWD/pkgconfig configured 0
    grep -q "^ *exact engine: with Valgrind from $PWD/prefix/lib64/strange/valgrind\$" log
    grep -q -- "-isystem $PWD/prefix/include/valgrind" build/build.ninja
    grep -qF "EXACT_LIBRARY=\"$PWD/prefix/libexec/valgrind\"" build/build.ninja
}

@test "an option says where Valgrind is" {
    fake_valgrind lib/valgrind
    configured 0 -Dvalgrind="$PWD/prefix"
    grep -q "^ *exact engine: with Valgrind from $PWD/prefix/lib/valgrind\$" log
    grep -q -- "-isystem $PWD/prefix/include/valgrind" build/build.ninja
    grep -q "$PWD/prefix/lib/valgrind/libcoregrind-amd64-linux.a" build/build.ninja
}

@test "an option that leads nowhere is an error, not a build without" {
    configured 1 -Dvalgrind="$PWD/nowhere"
    grep -q "ERROR: .*-Dvalgrind=$PWD/nowhere: there are no headers and static libraries of Valgrind" log
}
