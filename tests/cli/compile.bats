#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `headroom cc` without modes is the compiler itself: same objects, same messages, same files, same exit status.

load common

setup_file()
{
    mkdir "$BATS_FILE_TMPDIR/sources"
    cd "$BATS_FILE_TMPDIR/sources"
    cat >a.c <<'END'
#include "a.h"
static double table[] = {1, 2.5};
int twice(int x) { switch (x) { case 1: return 7; case 2: return 9; case 3: return -1; case 4: return 77; case 5: return 3; } return x + x; }
double pick(int i) { double sum = 0; for (int k = 0; k < i; k++) { __asm__ volatile("nop"); sum += table[k & 1]; } return sum; }
END
    echo 'int twice(int); double pick(int);' >a.h
    printf '#include <stdio.h>\n#include "a.h"\nint main(void) { printf("%%d %%g\\n", twice(21), pick(3)); return 5; }\n' >main.c
    cat >t.cc <<'END'
#include <stdexcept>
#include <cstdio>
#include <vector>
template<class T> T twice(T x) { return x + x; }
int main(int c, char **)
{
    std::vector<int> v;
    for (int i = 0; i < c * 3; i++) v.push_back(twice(i));
    try { if (v.size() == 3) throw std::runtime_error("thrown"); } catch (std::exception &e) { puts(e.what()); }
    return 4;
}
END
    cp t.cc u.cxx
    cat >t.f90 <<'END'
program p
    integer i, s
    s = 0
    do i = 1, 10
        s = s + i
    end do
    print *, s
end program
END
    printf '      program q\n      print *, 1\n      end\n' >q.f
    printf '.text\n.globl hand\nhand: mov $3, %%eax\n ret\n' >hand.s
    printf '#define THREE $3\n.text\n.globl hand\nhand: mov THREE, %%eax\n ret\n' >hand2.S
    printf 'int bad(void) { return undeclared; }\n' >bad.c
    printf 'int f(int x) { int unused; return x; }\n' >warn.c
    printf 'void f(void) { __asm__("no_such_instruction"); }\n' >badasm.c
}

# same [-r] COMPILER ARGUMENT...: in one folder, by itself and by headroom, with everything compared.
same()
{
    local how
    rm -rf plain ours tmp
    mkdir tmp
    for how in plain ours; do
        cp -r "$BATS_FILE_TMPDIR/sources" work
        (
            cd work
            code=0
            if [ $how = plain ]; then "$@"; else TMPDIR=$OLDPWD/tmp "$HEADROOM" cc -- "$@"; fi >.out 2>.err <"${input:-/dev/null}" || code=$?
            echo $code >.code
            # names of temporary files
            sed -Ei 's/(cc|[a-z0-9]+-)[A-Za-z0-9]{6}\.(s|o)/TEMPORARY.\2/g; s,/[^ ]*/TEMPORARY,TEMPORARY,g; s,^[a-z]*[.]s:|^/proc/self/fd/[0-9]*:,ASSEMBLY:,' .err
        )
        mv work $how
    done
    diff -r plain ours || { echo "not the same: $*"; return 1; }
    [ -z "$(ls tmp)" ]
}

# The same, and the exit status was $1.
same_code()
{
    local expected=$1
    shift
    same "$@"
    [ "$(cat ours/.code)" -eq "$expected" ] || { cat ours/.err; return 1; }
}

need() { command -v "$1" >/dev/null || skip "no $1"; }

@test "objects of gcc, g++ and gfortran" {
    need gcc
    for options in -O0 -O1 "-O2 -g" "-O3 -fPIC -g3" "-Os -g -gz" "-O2 -fno-pie -march=native" \
        "-O2 -ffunction-sections -fdata-sections" "-g -fsanitize=address,undefined" "-fcf-protection -fno-ident" \
        "-O2 -fverbose-asm -pipe" "-fopenmp -O2" "-gsplit-dwarf -g"; do
        same_code 0 gcc $options -c a.c
        [ -s ours/a.o ]
        if command -v g++ >/dev/null; then same_code 0 g++ $options -c t.cc; fi
        if command -v gfortran >/dev/null; then same_code 0 gfortran $options -c t.f90; fi
    done
}

# With -g sections come in another order.
same_sections()
{
    local section
    for section in .text .data .rodata .eh_frame .debug_info .debug_str .rela.text; do
        objdump -sj $section plain/"$1" 2>/dev/null | tail -n +3 >one || true
        objdump -sj $section ours/"$1" 2>/dev/null | tail -n +3 >two || true
        [ $section != .text ] || [ -s one ]
        cmp one two || { echo "$section differs"; return 1; }
    done
    objdump -dl plain/"$1" | tail -n +3 >one
    objdump -dl ours/"$1" | tail -n +3 >two
    grep -q ':[0-9]' one
    cmp one two
    rm plain/"$1" ours/"$1"
    diff -r plain ours
}

@test "objects of clang and clang++" {
    need clang
    for options in -O0 -O1 "-O3 -fPIC" "-Os -fno-pie -march=native" "-O2 -ffunction-sections -fdata-sections" \
        "-fsanitize=undefined" "-fcf-protection -fno-ident" "-fno-integrated-as -O2" "-O2 -fno-integrated-as -g"; do
        same_code 0 clang $options -c a.c
        same_code 0 clang++ $options -c t.cc
    done
    for options in "-O2 -g" "-g3 -O0" "-g -gz" "-gdwarf-4"; do
        same clang $options -c a.c || same_sections a.o
        same clang++ $options -c t.cc || same_sections t.o
    done
}

@test "programs" {
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        same_code 0 $cc -O2 a.c main.c
        (cd ours; code=0; ./a.out >o || code=$?; [ $code -eq 5 ]; [ "$(cat o)" = "42 4.5" ])
        same_code 0 $cc -O2 a.c main.c -o program
        same_code 0 $cc -O2 -static main.c a.c -o program
        same_code 0 $cc -O2 -static-pie -fPIE main.c a.c -o program
        same_code 0 $cc -shared -fPIC a.c -o liba.so
        same_code 0 $cc -r -nostdlib a.c main.c -o both.o
        same_code 0 $cc -Wl,--gc-sections -ffunction-sections a.c main.c hand.s
        same_code 0 $cc -fuse-ld=gold a.c main.c
    done
}

@test "kinds of sources, and of arguments" {
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        same_code 0 $cc -c hand.s
        same_code 0 $cc -c hand2.S
        same_code 0 $cc -c a.c main.c hand.s hand2.S
        same_code 0 $cc -c -x c a.h -o a.o
        same_code 0 $cc -x c++ -c a.c main.c
        same_code 0 $cc -x assembler -c hand.s -x none main.c
        [ $cc = gcc ] || same_code 0 $cc -c -- a.c
        same_code 0 $cc -c a.c -o /dev/null
        same_code 0 $cc -c a.c -ofile.o -I. -DX=1 -D Y -include a.h
        input=$BATS_FILE_TMPDIR/sources/warn.c same_code 0 $cc -Wall -c -x c - -o in.o
        same_code 0 $cc -E -c a.c
        same_code 0 $cc -E a.c -o a.i
        same_code 0 $cc -S -O2 a.c
        same_code 0 $cc -S -masm=intel a.c
        same_code 0 $cc -fsyntax-only a.c
        (cd ours && "$HEADROOM" cc -- $cc -x c-header a.h && [ -s a.h.*ch ] && "$HEADROOM" cc $cc -Winvalid-pch -Werror -c a.c)
        same_code 0 $cc -save-temps -c a.c
        same_code 0 $cc -save-temps -g a.c main.c -o program
        same_code 0 $cc -print-libgcc-file-name
        same_code 0 $cc -dumpmachine
        same_code 0 $cc --version
        same $cc -v
        same $cc -###
    done
    if command -v g++ >/dev/null; then same_code 0 g++ -c t.cc u.cxx; fi
    if command -v gfortran >/dev/null; then
        same_code 0 gfortran -c t.f90 q.f
        same_code 0 gfortran -O2 t.f90 -o program
    fi
}

@test "preprocessed sources" {
    need gcc
    (cd "$BATS_FILE_TMPDIR/sources" && gcc -E a.c -o pre.i)
    same_code 0 gcc -O2 -c pre.i
    need clang
    same_code 0 clang -O2 -c pre.i
}

@test "dependency files" {
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        same_code 0 $cc -MD -c a.c
        [ -s ours/a.d ]
        same_code 0 $cc -MMD -MP -c a.c -o x.o
        grep -q '^x.o:' ours/x.d
        same_code 0 $cc -MD -MF deps -MT target -c a.c
        grep -q '^target:' ours/deps
        same_code 0 $cc -MD -MQ '$x' -c a.c -o y.o
        same_code 0 $cc -MMD a.c main.c -o program
        same_code 0 $cc -Wp,-MD,inner.d -c a.c
        same_code 0 $cc -M a.c
        same_code 0 $cc -MM -MG bad.c
    done
}

@test "response files" {
    printf -- "-c 'a.c'\n@more" >"$BATS_FILE_TMPDIR/sources/args"
    printf -- '-O2 -pipe -o "with blank.o"' >"$BATS_FILE_TMPDIR/sources/more"
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        same_code 0 $cc @args
        [ -s 'ours/with blank.o' ]
        same_code 1 $cc @missing -c a.c
    done
}

@test "messages and failures" {
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        same_code 1 $cc -c bad.c
        [ ! -e ours/bad.o ]
        grep -q 'bad.c:1' ours/.err
        same_code 0 $cc -Wall -Wextra -c warn.c
        grep -q 'unused' ours/.err
        [ "$(grep -c 'unused variable' ours/.err)" -eq 1 ]
        same_code 1 $cc -Wall -Werror -c warn.c
        same_code 1 $cc -c badasm.c
        [ ! -e ours/badasm.o ]
        same_code 1 $cc -c a.c bad.c main.c
        same_code 1 $cc main.c -o program
        grep -q "undefined reference to .twice" ours/.err
        same_code 1 $cc -c missing.c
        same_code 1 $cc -no-such-option -c a.c
        same_code 1 $cc -c a.c -o no/such/folder/a.o
        same_code 1 $cc
        same_code 1 $cc -c a.c -o
        same $cc -c a.c -lm
    done
}

@test "a failed compilation leaves the old object as the compiler does" {
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        cp "$BATS_FILE_TMPDIR/sources/a.h" "$BATS_FILE_TMPDIR/sources/bad.o"
        same_code 1 $cc -MD -c bad.c
        rm "$BATS_FILE_TMPDIR/sources/bad.o"
    done
}

@test "names of compilers" {
    need gcc
    cp "$BATS_FILE_TMPDIR/sources"/* .
    gcc -c a.c -o plain.o
    for name in "cc gcc" "cc -- gcc" "cc $(command -v gcc)" "cc --" "cc x86_64-linux-gnu-gcc" "cc ccache gcc" "cc env gcc"; do
        case $name in
        *x86_64*) command -v x86_64-linux-gnu-gcc >/dev/null || continue ;;
        "cc --") [[ $(cc --version) == *"Free Software"* ]] || continue ;;
        esac
        rm -f named.o
        "$HEADROOM" $name -c a.c -o named.o
        cmp plain.o named.o
    done
    ln -sf "$(command -v gcc)" alias
    "$HEADROOM" cc ./alias -c a.c -o named.o
    cmp plain.o named.o
    "$HEADROOM" c++ -- -c t.cc -o t.o
    nm t.o | grep -q _Z
    command -v gfortran >/dev/null || return 0
    "$HEADROOM" fortran -- -c t.f90 -o f.o
    nm f.o | grep -q MAIN__
}

@test "in make, in parallel" {
    need make
    need gcc
    mkdir m
    cp "$BATS_FILE_TMPDIR/sources"/a.[ch] m
    for i in $(seq 20); do sed "s/twice/twice$i/; s/pick/pick$i/" m/a.c >m/f$i.c; done
    printf 'all: $(patsubst %%.c,%%.o,$(wildcard f*.c))\n' >m/Makefile
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        (cd m && make -s -j4 CC=$cc CFLAGS=-O2 && mkdir $cc && mv ./*.o $cc)
        (cd m && make -s -j4 CC="$HEADROOM cc -- $cc" CFLAGS=-O2 && mkdir $cc.ours && mv ./*.o $cc.ours)
        diff -r m/$cc m/$cc.ours
        # many sources in one command need no more descriptors than few
        (cd m && ulimit -n 16 && "$HEADROOM" cc --paths $cc -O1 -c f*.c && rm ./*.o)
        [ "$(ls m/$cc | wc -l)" -ge 20 ]
    done
}

@test "interrupted: nothing is left" {
    mkdir temporary
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        mkfifo source.c
        # the whole group, as from the terminal: gcc alone would leave what its steps write later
        TMPDIR=$PWD/temporary setsid "$HEADROOM" cc -- $cc -c source.c -o object.o 2>/dev/null &
        child=$!
        exec 8>source.c # the compiler has opened it
        kill -TERM -- -$child
        code=0
        wait $child || code=$?
        exec 8>&-
        [ $code -ne 0 ]
        for i in 1 2 3 4 5 6 7 8 9 10; do [ -n "$(ls temporary)" ] || break; sleep 0.1; done
        [ -z "$(ls temporary)" ]
        [ ! -e object.o ]
        rm source.c
    done
}

@test "what cannot be rewritten is refused in one sentence" {
    cp "$BATS_FILE_TMPDIR/sources"/* .
    echo -flto=auto >lto
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        for options in -flto "-flto -ffat-lto-objects" @lto -pg --coverage -masm=intel -mcmodel=large; do
            [ "$cc $options" != "clang @lto" ] || continue
            [ "$cc $options" != "clang -flto -ffat-lto-objects" ] || continue
            rm -f a.o
            try 1 "$HEADROOM" cc --paths $cc $options -c a.c
            case $options in -pg) about=-pg ;; -mc*) about=-mcmodel ;; -m*|--c*) about=$options ;; *) about=-flto ;; esac
            one_sentence "$about"
            [ ! -e a.o ]
        done
        if try 0 $cc -m32 -c -x c /dev/null -o 32.o; then
            try 1 "$HEADROOM" cc --paths $cc -m32 -c a.c
            one_sentence 64-bit
        fi
    done
    if command -v gcc >/dev/null; then
        try 1 "$HEADROOM" cc --paths gcc -fprofile-generate -c a.c
        one_sentence -fprofile-generate
        try 1 "$HEADROOM" cc --paths gcc -wrapper env -c a.c
        one_sentence -wrapper
        try 1 "$HEADROOM" cc --paths gcc -fsplit-stack -c a.c
        one_sentence -fsplit-stack
    fi
    if command -v clang >/dev/null; then
        try 1 "$HEADROOM" cc --paths clang --target=aarch64-linux-gnu -c -x c warn.c
        one_sentence 64-bit
        try 1 "$HEADROOM" cc --paths clang -gsplit-dwarf -g -c warn.c
        one_sentence -gsplit-dwarf
        try 1 "$HEADROOM" cc --paths clang -fprofile-instr-generate -c warn.c
        one_sentence -fprofile-generate
    fi
}

@test "other compilers, no compiler, wrong options" {
    try 1 "$HEADROOM" cc sh -c true
    one_sentence "cannot identify the compiler"
    try 127 "$HEADROOM" cc no-such-compiler -c a.c
    one_sentence no-such-compiler
    try 2 "$HEADROOM" cc
    one_sentence "no compiler"
    try 2 "$HEADROOM" c++ --paths --
    one_sentence "no compiler"
    try 2 "$HEADROOM" cc --pahts gcc -c a.c
    one_sentence --paths
    try 2 "$HEADROOM" cc --cycles gcc -c a.c
    one_sentence --contexts
    try 1 "$HEADROOM" --compile-step
    one_sentence "headroom cc"
    try 1 "$HEADROOM" --compile-step 0 as
    one_sentence "headroom cc"
}

@test "a path that cannot be passed to gcc" {
    need gcc
    mkdir 'a,b'
    cp "$HEADROOM" 'a,b/headroom'
    try 1 'a,b/headroom' cc gcc -c "$BATS_FILE_TMPDIR/sources/a.c"
    one_sentence comma
}

@test "the rewritten assembly is kept" {
    cp "$BATS_FILE_TMPDIR/sources"/* .
    mkdir sub
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        "$HEADROOM" cc --keep-assembly kept $cc -O2 -c a.c -o sub/a.o
        $cc -c -x assembler kept/sub-a.s -o again.o
        cmp sub/a.o again.o
        "$HEADROOM" cc --keep-assembly kept $cc -O2 a.c main.c -o program
        [ -s kept/a.s ]
        [ -s kept/main.s ]
        rm -r kept
    done
}

@test "verbose: a line for each object" {
    need gcc
    cp "$BATS_FILE_TMPDIR/sources"/* .
    try 0 "$HEADROOM" cc --verbose gcc -c a.c main.c hand.s
    [ "$(wc -l <err)" -eq 2 ]
    grep -q '^headroom: a.c: ' err
    grep -q '^headroom: main.c: ' err
}

# What programs print and return must not depend on how they were built.
@test "programs that count behave as always" {
    local number=0
    cp "$BATS_FILE_TMPDIR/sources"/* .
    for modes in --paths "--paths --cycles" --contexts --call-sites "--paths --contexts" "--paths --call-sites --cycles"; do
        for cc in gcc clang; do
            command -v $cc >/dev/null || continue
            for options in -O0 "-O2 -g" "-O3 -fno-pie -no-pie" "-O1 -static" "-O2 -fPIE -static-pie" \
                "-Os -ffunction-sections -Wl,--gc-sections" "-O2 -fPIC"; do
                # Every third, so that each compiler meets all modes and all options; all of them in the whole run.
                ((number++ % 3 == 0)) || [ "${HEADROOM_TESTS:-}" = full ] || continue
                try 0 "$HEADROOM" cc $modes $cc $options a.c main.c -o program
                [ ! -s all ] || { cat all; return 1; }
                try 5 ./program
                [ "$(cat out)" = "42 4.5" ]
                nm program >names
                grep -q headroom_delta names || { echo "$cc $modes $options: nothing was inserted"; return 1; }
            done
        done
        if command -v g++ >/dev/null; then
            try 0 "$HEADROOM" c++ $modes g++ -O2 t.cc -o program
            try 4 ./program
            [ "$(cat out)" = thrown ]
        fi
        if command -v gfortran >/dev/null; then
            try 0 "$HEADROOM" fortran $modes gfortran -O2 t.f90 -o program
            try 0 ./program
            grep -q ' 55$' out
        fi
    done
}

@test "the runtime is linked once into each module" {
    cp "$BATS_FILE_TMPDIR/sources"/* .
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        try 0 "$HEADROOM" cc --paths $cc -O2 -fPIC -shared a.c -o liba.so
        try 0 "$HEADROOM" cc --paths $cc -O2 main.c -L. -la -Wl,-rpath,"$PWD" -o program
        try 5 ./program
        [ "$(cat out)" = "42 4.5" ]
        for module in liba.so program; do
            [ "$(nm $module | grep -c ' [tT] headroom_thread_begin$')" -eq 1 ]
        done
        # shared in one go without -fPIC: what the compiler allows shall go on working
        printf 'int lone(int x) { int s = 0; for (int i = 0; i < x; i++) s += i ^ x; return s; }\n' >lone.c
        try 0 $cc -O2 -shared lone.c -o liblone.so
        try 0 "$HEADROOM" cc --paths $cc -O2 -shared lone.c -o liblone.so
        # not into relocatable objects, where it would be twice in the end
        try 0 "$HEADROOM" cc --paths $cc -O2 -r -nostdlib a.c main.c -o both.o
        [ "$(nm both.o | grep -c ' [tT] headroom_thread_begin$')" -eq 0 ]
        try 0 "$HEADROOM" cc --paths $cc both.o -o program
        try 5 ./program
    done
}

@test "unused functions are collected with their counters" {
    cp "$BATS_FILE_TMPDIR/sources"/* .
    printf 'int unused_one(int x) { return x > 3 ? x : 8; }\n' >>a.c
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        for linker in "" -fuse-ld=lld; do
            [ -z "$linker" ] || command -v ld.lld >/dev/null || continue
            try 0 "$HEADROOM" cc --paths $cc $linker -O1 -ffunction-sections -Wl,--gc-sections a.c main.c -o program
            try 5 ./program
            nm program >symbols
            lacks unused_one symbols
        done
    done
}

@test "hand-written assembly is not instrumented" {
    cp "$BATS_FILE_TMPDIR/sources"/* .
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        for source in hand.s hand2.S; do
            $cc -c $source -o plain.o
            try 0 "$HEADROOM" cc --paths $cc -c $source -o ours.o
            cmp plain.o ours.o
            try 0 "$HEADROOM" cc --paths $cc -c a.c $source
            cmp plain.o ${source%.*}.o
            nm a.o | grep -q headroom_delta
        done
    done
}

@test "without the runtime there is a sentence" {
    need gcc
    cp "$HEADROOM" alone
    try 0 ./alone cc --paths gcc -c "$BATS_FILE_TMPDIR/sources/main.c"
    try 1 ./alone cc --paths gcc main.o -o program
    grep '^headroom' err >one
    grep -q libheadroom_runtime.a one
}

# What is in the table is tested by tests/built/prepared.
@test "functions that can be patched" {
    cp "$BATS_FILE_TMPDIR/sources"/* .
    cp "$HEADROOM" alone # without the runtime
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        try 0 ./alone cc --functions --verbose $cc -O2 -c a.c
        grep '^headroom: a.c: 2 functions, 2 instrumented .*, 2 with a nop to patch\.$' all
        try 0 ./alone cc --functions $cc -O2 a.o main.c -o program
        [ ! -s all ]
        try 5 ./program
        [ "$(cat out)" = "42 4.5" ]
        readelf -SW program | grep -q ' headroom_functions  *PROGBITS '
        nm program >symbols
        lacks 'headroom_[td]' symbols
        $cc -c hand.s -o plain.o
        try 0 "$HEADROOM" cc --functions $cc -c hand.s -o ours.o
        cmp plain.o ours.o
        $cc -O2 -S a.c -o plain.s
        try 0 "$HEADROOM" cc --functions $cc -O2 -S a.c -o ours.s
        cmp plain.s ours.s
        try 1 "$HEADROOM" cc --functions $cc -O2 -flto -c a.c
        one_sentence "-flto"
        try 0 "$HEADROOM" cc --functions --verbose $cc -O2 -g -c main.c
        try 2 "$HEADROOM" cc --functions --cycles $cc -O2 -c main.c
    done
    if command -v gfortran >/dev/null; then
        try 0 "$HEADROOM" fortran --functions gfortran -O2 t.f90 -o program
        try 0 ./program
        readelf -SW program | grep -q ' headroom_functions '
    fi
}

# -fno-ipa-ra is needed for gcc's callers: inserted code uses registers that the callee alone does not.
@test "callees that leave registers alone" {
    need gcc
    cat >ra.c <<'END'
#include <stdio.h>
static int depth;
__attribute__((noinline, noclone)) static int leaf(int x) { depth++; return x < 3 ? x * 5 : x - 1; }
int main(int argc, char **argv)
{
    long a = argc, b = a * 3, c = b + 7, d = c ^ 99, e = d * 11, s = 0;
    for (int i = 0; i < 1000; i++) { s += leaf(i) * a + b * leaf(i + 1) + c - d * leaf(2) + e; a += b; c ^= s; e += c; }
    printf("%ld %d\n", s, depth);
    return 0;
}
END
    gcc -O2 ra.c -o plain
    ./plain >expected
    for modes in --paths --contexts "--paths --contexts"; do
        try 0 "$HEADROOM" cc $modes gcc -O2 ra.c -o program
        try 0 ./program
        cmp expected out
    done
}
