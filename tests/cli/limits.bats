#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom limits from outside: loops of assembly, programs and sources, by function and line; graphs; profiles; misuse and files that
# are not what they seem.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >kernels.c <<'EOF'
double dot(const double *a, const double *b, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
void paper(double *a, double *c, const double *b, double x, long n)
{
    for (long i = 1; i < n; i++) {
        a[i] = x * a[i] * b[i];
        c[i] = c[i - 1] / b[i];
    }
}
void running(double *a, const double *b, long n)
{
    for (long i = 1; i < n; i++)
        a[i] = a[i - 1] + b[i];
}
struct node { struct node *next; };
long length(const struct node *node)
{
    long count = 0;
    for (; node; node = node->next)
        count++;
    return count;
}
int straight(int a) { return a + 1; }
EOF
    cat >main.c <<'EOF'
#include <stdlib.h>
double dot(const double *a, const double *b, long n);
int main(int count, char **words)
{
    static double a[1000], b[1000];
    double sum = 0;
    for (long i = 0; i < (count > 1 ? atol(words[1]) : 100); i++)
        sum += dot(a, b, 1000);
    return sum > 1;
}
EOF
    "${CC:-cc}" -O2 -g kernels.c main.c -o program
    strip -o stripped program
    "${CC:-cc}" -O2 -S kernels.c
    cat >paper.s <<'EOF'
1:  movsd   -8(%rdi), %xmm0
    divsd   (%rsi), %xmm0
    movsd   %xmm0, (%rdi)
    addq    $8, %rdi
    addq    $8, %rsi
    cmpq    %rdx, %rdi
    jne     1b
    ret
EOF
}

# Machines from tables are always there; skylake stands for all of them.
limits()
{
    try 0 "$HEADROOM" limits --machine skylake "$@"
}

field()
{
    python3 -c 'import json,sys; limits = json.load(open("out"))["limits"]; loops = limits["loops"]; print('"$1"')'
}

@test "the loop of the paper: critical circuit 16/1" {
    limits --latency load=2,div=12,store=2 "$BATS_FILE_TMPDIR/paper.s"
    grep -q "critical circuit 16/1" out
    limits --latency load=2,div=12,store=2 --format json "$BATS_FILE_TMPDIR/paper.s"
    [ "$(field '[loops[0]["bounds"]["recurrence"], loops[0]["limit"], loops[0]["circuit_distance"], loops[0]["advice"]["id"]]')" = "[16, 'recurrence', 1, 'limits.stored']" ]
    [ "$(field '[(c["kind"], c["line"], c["latency"]) for c in loops[0]["circuit"]]' | tr -d ' ' | grep -c "'load',1,2")" = 1 ]
}

@test "a function of a program, and its lines" {
    limits --format json "$BATS_FILE_TMPDIR/program:dot"
    [ "$(field '[len(loops), loops[0]["function"], loops[0]["bounds"]["recurrence"], loops[0]["limit"]]')" = "[1, 'dot', 4, 'recurrence']" ]
    limits --format json "$BATS_FILE_TMPDIR/program:kernels.c:5"
    [ "$(field '[l["function"] for l in loops]')" = "['dot']" ]
    limits --format json "$BATS_FILE_TMPDIR/program:length"
    [ "$(field '[loops[0]["bounds"]["recurrence"] in (4, 5), loops[0]["advice"]["id"]]')" = "[True, 'limits.chase']" ]
}

@test "object files and archives, which are linked first" {
    "${CC:-cc}" -O2 -g -c -o kernels.o "$BATS_FILE_TMPDIR/kernels.c"
    "${CC:-cc}" -O2 -g -c -o main.o "$BATS_FILE_TMPDIR/main.c"
    ar rcs both.a kernels.o main.o
    limits --format json kernels.o:kernels.c:5
    [ "$(field '[(l["function"], l["module"], l["bounds"]["recurrence"]) for l in loops]')" = "[('dot', 'kernels.o', 4)]" ]
    limits --format json both.a
    [ "$(field '{"dot", "main"} <= {l["function"] for l in loops}')" = True ]
    head -c 600 kernels.o >cut.o
    try 1 "$HEADROOM" limits --machine skylake cut.o
    [ ! -s out ]
}

@test "a sum at the end and a running sum are mended differently" {
    limits --format json "$BATS_FILE_TMPDIR/program:dot"
    [ "$(field '[loops[0]["circuit_used"], loops[0]["advice"]["id"]]')" = "[False, 'limits.accumulator']" ]
    # clang may keep or reload what it has stored; either way it is needed.
    "${CC:-cc}" -O2 -g -fno-tree-vectorize -c -o kernels.o "$BATS_FILE_TMPDIR/kernels.c"
    limits --format json kernels.o:running
    [ "$(field 'loops[0]["advice"]["id"] in ("limits.running", "limits.stored") and loops[0]["limit"] == "recurrence"')" = True ]
}

@test "text fits 80 columns, and says what to do" {
    COLUMNS=80 limits "$BATS_FILE_TMPDIR/program:dot"
    grep -q "Limited by its recurrence: one accumulator. With 4 the next limit" out
    [ "$(grep -v -- "$BATS_FILE_TMPDIR" out | awk '{ if (length($0) > 100) print }' | wc -l)" = 0 ]
}

@test "a source with a compiler, at several levels" {
    limits --levels O0,O2 --format json "$BATS_FILE_TMPDIR/kernels.c:5" -- "${CC:-cc}" -march=x86-64
    [ "$(field '[l["level"] for l in loops]')" = "['O0', 'O2']" ]
    [ "$(field 'loops[0]["bounds"]["frontend"] > 2 * loops[1]["bounds"]["frontend"]')" = True ]
    [ ! -e kernels.o ]
    limits --levels O0,O2 "$BATS_FILE_TMPDIR/kernels.c:5" -- "${CC:-cc}" -march=x86-64
    grep -Eq "^  -O0 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+  .* dot" out
    grep -Eq "^  -O2 +4.00 +[0-9.]+ +[0-9.]+ +4.00  recurrence .* dot" out
}

needs_llvm()
{
    command -v "$1" >/dev/null && command -v opt-19 >/dev/null || skip "no $1"
}

# The paper's loop, with bounds of its arrays by which all subscripts are within them.
paper_fortran()
{
    cat >nest.f90 <<'EOF'
subroutine loop(a, b, c, x, n)
  integer :: n, i, j, k
  real(8) :: a(n,0:n,n+1), b(-2:n,n+1,-1:n), c(0:n,n), x
  do k = 1, n
    do j = 1, n
      do i = 1, n
        a(i,j,k) = x * a(i,j-1,k+1) * b(i-3,j+1,k)
        c(i,j) = c(i-1,j) / b(i,j,k-2)
      end do
    end do
  end do
end subroutine
EOF
}

paper_c()
{
    cat >nest.c <<'EOF'
enum { N = 40 };
void loop(double a[N + 4][N + 4][N + 4], double b[N + 4][N + 4][N + 4], double c[N + 4][N + 4], double x)
{
    for (int k = 2; k < N; k++)
        for (int j = 1; j < N; j++)
            for (int i = 3; i < N; i++) {
                a[k][j][i] = x * a[k + 1][j - 1][i] * b[k][j + 1][i - 3];
                c[j][i] = c[j][i - 1] / b[k - 2][j][i];
            }
}
EOF
}

# Kinds, places and vectors of the paper's list.
paper_list()
{
    python3 -c '
import json
source = json.load(open("out"))["limits"]["sources"][0]
print(sorted((d["kind"], d["from"]["text"].replace(" ", ""), d["to"]["text"].replace(" ", ""), d["vector"])
             for d in source["dependences"]))
print(source["circuit_latency"], source["circuit_distance"], [(s["kind"], s["latency"], s["distance"]) for s in source["circuit"]])
' >list
}

@test "dependences of the paper's loop from its source in C, and its critical circuit" {
    needs_llvm clang-19
    paper_c
    limits --latency load=2,div=12,store=2 --format json nest.c:8 -- "${CC:-cc}" -O2
    paper_list
    diff list - <<'EOF'
[('anti', 'a[k+1][j-1][i]', 'a[k][j][i]', '(1, -1, 0)'), ('anti', 'c[j][i-1]', 'c[j][i]', '(+, 0, -1)'), ('flow', 'c[j][i]', 'c[j][i-1]', '(0+, 0, 1)'), ('output', 'c[j][i]', 'c[j][i]', '(+, 0, 0)')]
16 1 [('store', 2, 1), ('load', 2, 0), ('compute', 12, 0)]
EOF
    limits --latency load=2,div=12,store=2 nest.c:8 -- "${CC:-cc}" -O2
    grep -q "FLOW dependence between c\[j\]\[i\] (line 8) and c\[j\]\[i - 1\] (line 8) with vector" out
    grep -q "critical circuit: 16/1" out
}

@test "and in Fortran, whose extents are parameters" {
    needs_llvm flang-new-19
    command -v gfortran || skip "no gfortran"
    paper_fortran
    limits --latency load=2,div=12,store=2 --format json -D n=40 nest.f90:8 -- gfortran -O2
    paper_list
    diff list - <<'EOF'
[('anti', 'a(i,j-1,k+1)', 'a(i,j,k)', '(1, -1, 0)'), ('anti', 'c(i-1,j)', 'c(i,j)', '(+, 0, -1)'), ('flow', 'c(i,j)', 'c(i-1,j)', '(0+, 0, 1)'), ('output', 'c(i,j)', 'c(i,j)', '(+, 0, 0)')]
16 1 [('store', 2, 1), ('load', 2, 0), ('compute', 12, 0)]
EOF
    limits nest.f90:8 -- gfortran -O2
    grep -q "Vectors leave out the 2 outermost loops" out
}

@test "the source's graph, of operations and of statements" {
    needs_llvm clang-19
    paper_c
    limits --source-graph operations.dot nest.c:8 -- "${CC:-cc}" -O2
    [ "$(grep -c 'shape=box' operations.dot)" = 4 ]
    [ "$(grep -c 'shape=triangle' operations.dot)" = 2 ]
    [ "$(grep -c 'shape=circle' operations.dot)" = 3 ]
    [ "$(grep -c 'color=blue' operations.dot)" = 2 ]
    [ "$(grep -c 'color=green' operations.dot)" = 1 ]
    [ "$(grep -c 'color=red, penwidth=3' operations.dot)" = 3 ]
    limits --source-graph statements.dot --vertices statements nest.c:8 -- "${CC:-cc}" -O2
    [ "$(grep -c 'shape=' statements.dot)" = 2 ]
    grep -q 'v8 -> v8 \[color=red, penwidth=3, label="(0+, 0, 1)"\]' statements.dot
    limits --source-graph list.txt nest.c:8 -- "${CC:-cc}" -O2
    grep -q "^-----> ANTI dependence between c\[j\]\[i - 1\] (line 8)" list.txt
    grep -q "^critical circuit: " list.txt
    try 1 "$HEADROOM" limits --machine skylake --source-graph none.dot "$BATS_FILE_TMPDIR/kernels.c:24" -- "${CC:-cc}" -O2
    [ ! -e none.dot ]
    try 2 "$HEADROOM" limits --vertices statements -- true
    try 1 "$HEADROOM" limits --machine skylake --vertices words nest.c:8 -- "${CC:-cc}"
}

@test "two versions of a source: dependences that came and went, and limits of them" {
    needs_llvm clang-19
    printf 'double a[100], b[100];\nvoid sum(void) {\n    for (int i = 1; i < 100; i++)\n        a[i] = %s;\n}\n' "a[i - 1] + b[i]" >before.c
    printf 'double a[100], b[100];\nvoid sum(void) {\n    for (int i = 1; i < 100; i++)\n        a[i] = %s;\n}\n' "b[i - 1] + b[i]" >after.c
    for version in before after; do
        try 0 "$HEADROOM" limits -q --machine skylake -o $version.headroom $version.c:4 -- "${CC:-cc}" -O2 -g
    done
    try 0 "$HEADROOM" diff before.headroom after.headroom
    grep -q "flow from a\[i\] to a\[i - 1\] in sum" out
    try 3 "$HEADROOM" check --limits limits.carried@sum=0 before.headroom
    try 0 "$HEADROOM" check --limits limits.carried@sum=0 after.headroom
    try 3 "$HEADROOM" check --limits limits.circuit@sum=2 before.headroom
    try 0 "$HEADROOM" check --limits limits.circuit@sum=2 after.headroom
}

@test "what became of the source's dependences in the machine code" {
    needs_llvm clang-19
    limits --format json "$BATS_FILE_TMPDIR/kernels.c:17" -- "${CC:-cc}" -O2 -march=x86-64
    [ "$(field '[(d["kind"], d["fate"], d["distance"]) for d in loops[0]["source"]["dependences"] if d["fate"] != "added"]')" = \
        "[('flow', 'register', 1)]" ]
    limits --format json "$BATS_FILE_TMPDIR/kernels.c:17" -- "${CC:-cc}" -O0 -march=x86-64
    [ "$(field '[(d["kind"], d["fate"], d["distance"]) for d in loops[0]["source"]["dependences"] if d["fate"] != "added"]')" = \
        "[('flow', 'memory', 1)]" ]
}

@test "the graph as a list, and drawn" {
    limits --graph list.txt "$BATS_FILE_TMPDIR/paper.s"
    grep -q "^-----> FLOW dependence between store of movsd" list.txt
    limits --graph graph.dot "$BATS_FILE_TMPDIR/paper.s"
    grep -q "shape=triangle" graph.dot
    if command -v dot >/dev/null; then
        limits --graph graph.svg "$BATS_FILE_TMPDIR/paper.s"
        grep -q "<svg" graph.svg
    fi
}

@test "optimistic schedules of loops" {
    limits --machine skylake --latency load=2,div=12,store=2 --schedule schedule.txt "$BATS_FILE_TMPDIR/paper.s"
    grep -q "^data flow only  .* 16.00 " schedule.txt
    grep -q "^units, infinite window  .* 16.00 " schedule.txt
    grep -q "^machine  .* 16.00 " schedule.txt
    grep -q "12.00  divsd (%rsi), %xmm0" schedule.txt
    grep -q "store of movsd %xmm0, (%rdi)" schedule.txt
    limits --machine skylake --schedule schedule.txt "$BATS_FILE_TMPDIR/program:dot"
    grep -q "^dot, loop at 0x" schedule.txt
    grep -q "4.00  addsd %xmm0, %xmm1  (kernels.c:5)" schedule.txt
    try 2 "$HEADROOM" limits --memory compulsory "$BATS_FILE_TMPDIR/program:dot"
    grep -q "memory is for what a command executed" err
    try 2 "$HEADROOM" limits --only dot "$BATS_FILE_TMPDIR/program:dot"
    grep -q "only is for the loops of a run" err
    try 125 "$HEADROOM" limits --machine skylake --graph nowhere/graph.dot -- true
    grep -q "cannot write 'nowhere/graph.dot'" err
    try 1 "$HEADROOM" limits --machine skylake --levels "$(printf 'O2,%.0s' {1..17})" "$BATS_FILE_TMPDIR/kernels.c:dot" -- "${CC:-cc}"
    grep -q "more than 16 levels" err
    try 1 "$HEADROOM" limits --machine skylake --schedule nowhere/schedule.txt "$BATS_FILE_TMPDIR/program:dot"
    grep -q "cannot write 'nowhere/schedule.txt'" err
}

@test "a profile on demand, read by report" {
    limits -q -o loops.headroom "$BATS_FILE_TMPDIR/program:dot"
    [ ! -s out ]
    try 0 "$HEADROOM" report --format json loops.headroom
    [ "$(field '[loops[0]["function"], loops[0]["bounds"]["recurrence"]]')" = "['dot', 4]" ]
    try 0 "$HEADROOM" report loops.headroom
    grep -q "critical circuit 4/1" out
}

@test "the hottest loops of a run, and of its profile" {
    try 0 "$HEADROOM" limits --machine skylake --report report -o run.headroom -- "$BATS_FILE_TMPDIR/program" 300000
    grep -q "#1  dot" report
    try 0 "$HEADROOM" limits --machine skylake --format json --profile run.headroom
    [ "$(field '[loops[0]["function"], loops[0]["share"] > 0.5]')" = "['dot', True]" ]
    limits -q --graph list.txt --only dot --profile run.headroom
    [ "$(grep -c "^dot, loop at 0x" list.txt) $(grep -c "loop at 0x" list.txt)" = "1 1" ]
    grep -q "^critical circuit: 4/1" list.txt
    try 0 "$HEADROOM" limits --machine skylake -q --graph graph.dot -o again.headroom -- "$BATS_FILE_TMPDIR/program" 300000
    grep -q "^digraph" graph.dot
}

# A loop calls a function of 192 instructions without a loop: its own two or three are next to nothing.
@test "time that is in no innermost loop is said, and where it is" {
    cat >rounds.c <<'EOF'
#include <stdlib.h>
#define A x = (x ^ x >> 7) * 0x9e3779b97f4a7c15;
#define B A A A A A A A A
__attribute__((noinline)) unsigned long rounds(unsigned long x)
{
    B B B B B B B B
    return x;
}
int main(int count, char **words)
{
    unsigned long x = 1;
    for (long i = count > 1 ? atol(words[1]) : 100; i > 0; i--)
        x = rounds(x);
    return x == 0;
}
EOF
    "${CC:-cc}" -O2 -g rounds.c -o rounds
    try 0 "$HEADROOM" limits --machine skylake --rate 1000 --report report -o rounds.headroom -- ./rounds 3000000
    tr -s ' \n' ' ' <report >words
    grep -q "of the CPU time is in no innermost loop, most of it in rounds (" words
    try 0 "$HEADROOM" limits --machine skylake --format json --profile rounds.headroom
    [ "$(field 'limits["outside"] > 0.8')" = "True" ]
    # Of the loops that were asked for only these are looked at.
    try 1 "$HEADROOM" limits --machine skylake --only rounds --profile rounds.headroom
    grep -q "no sample of CPU time was taken in a loop of 'rounds'" err
    # Where loops have the time nothing is said.
    try 0 "$HEADROOM" limits --machine skylake --report report -o loops.headroom -- "$BATS_FILE_TMPDIR/program" 300000
    ! grep -q "in no innermost loop" report
}

# dot does 300 million iterations, each a load, an addition to the sum and the branch; all in the first-level cache.
@test "measured beside bounded: iterations are counted exactly, and cycles are about those of an addition" {
    needs_engine
    try 0 "$HEADROOM" limits --machine skylake --measure --rate 1000 --report report -o measured.headroom -- "$BATS_FILE_TMPDIR/program" 300000
    grep -q "over 3e+08 iterations, counted in another run" report
    try 0 "$HEADROOM" report --format json measured.headroom
    [ "$(field '[loops[0]["function"], loops[0]["iterations"], 1.5 < loops[0]["measured"] < 8]')" = "['dot', 300000000, True]" ]
    # Another machine's bounds, the same measurement.
    try 0 "$HEADROOM" limits --machine zen3 --format json --profile measured.headroom
    [ "$(field '[loops[0]["iterations"], 1.5 < loops[0]["measured"] < 8]')" = "[300000000, True]" ]
    try 0 "$HEADROOM" check measured.headroom --limits limits.ratio=6,limits.ratio@dot=6,limits.predicted@dot=4
    try 3 "$HEADROOM" check measured.headroom --limits limits.measured@dot=0.1
    try 3 "$HEADROOM" check measured.headroom --limits limits.predicted@dot=3.9
    try 2 "$HEADROOM" check measured.headroom --limits limits.ratio@nothing=6
    grep -q "limits.measured@FUNCTION" err
    try 0 "$HEADROOM" diff measured.headroom measured.headroom
    grep -q "limits.ratio" out
    try 0 "$HEADROOM" export --to folded --metric loop_ns measured.headroom
    grep -q "dot" out
}

@test "a program that cannot run twice is not measured, which is said" {
    needs_engine
    try 0 sh -c 'true | "$@"' sh "$HEADROOM" limits --machine skylake --measure --report report -o piped.headroom -- "$BATS_FILE_TMPDIR/program" 100000
    grep -q "its standard input is a pipe" report
    try 0 "$HEADROOM" report --format json piped.headroom
    [ "$(field '[loops[0]["measured"], loops[0]["iterations"]]')" = "[None, None]" ]
    try 2 "$HEADROOM" limits --measure --machine skylake "$BATS_FILE_TMPDIR/program:dot"
    try 2 "$HEADROOM" limits --max-time 5 --machine skylake -- "$BATS_FILE_TMPDIR/program"
}

@test "what is not there is said" {
    try 1 "$HEADROOM" limits --machine skylake "$BATS_FILE_TMPDIR/program:nothing"
    grep -q "has no function 'nothing'" err
    try 1 "$HEADROOM" limits --machine skylake "$BATS_FILE_TMPDIR/program:straight"
    grep -q "has no loop" err
    try 1 "$HEADROOM" limits --machine skylake "$BATS_FILE_TMPDIR/stripped:dot"
    grep -q "has no" err
    try 1 "$HEADROOM" limits --machine skylake "$BATS_FILE_TMPDIR/stripped:kernels.c:5"
    grep -q "no line numbers" err
    try 1 "$HEADROOM" limits --machine skylake nothing:dot
    grep -q "cannot read 'nothing:dot'" err
    try 1 "$HEADROOM" limits --machine pdp11 "$BATS_FILE_TMPDIR/program:dot"
    try 1 "$HEADROOM" limits --machine skylake "$BATS_FILE_TMPDIR/kernels.c:5"
    grep -q "no ELF file" err
    [ ! -s out ]
}

@test "misuse is a usage error" {
    try 2 "$HEADROOM" limits
    try 2 "$HEADROOM" limits --machine skylake a b
    try 2 "$HEADROOM" limits --machine skylake "$BATS_FILE_TMPDIR/kernels.c" --
    try 2 "$HEADROOM" limits --machine skylake --levels O1 "$BATS_FILE_TMPDIR/program:dot"
    try 1 "$HEADROOM" limits --machine skylake --latency load=fast "$BATS_FILE_TMPDIR/paper.s"
    grep -q "latency" err
}

@test "files that are no code, or damaged, are refused without a crash" {
    head -c 5000 "$BATS_FILE_TMPDIR/program" >short
    try 1 "$HEADROOM" limits --machine skylake short:dot
    for offset in 24 40 60 900 4000 9000; do
        cp "$BATS_FILE_TMPDIR/program" damaged
        printf '\377\377\377\377\377\377' | dd of=damaged bs=1 seek=$offset conv=notrunc 2>/dev/null
        run "$HEADROOM" limits --machine skylake damaged:dot
        [ "$status" -le 1 ]
    done
}

@test "basic blocks: answers in the order of their lines, null where there is none" {
    printf '4801d8\n48 01 d8 48 0f af c3, a remark\nzz\n\n0x4801D8\n0f04\n4801d' >"$BATS_TEST_TMPDIR/blocks"
    run -0 --separate-stderr "$HEADROOM" limits --hex-file "$BATS_TEST_TMPDIR/blocks" --machine skylake --format json
    [ -z "$stderr" ]
    answers=$(python3 -c 'import json, sys; print([loop["predicted"] for loop in json.load(sys.stdin)["limits"]["loops"]])' <<<"$output")
    [ "$answers" = "[1, 4, None, None, 1, None, None]" ]
    run -0 --separate-stderr "$HEADROOM" limits --hex 4801d8480fafc3 --machine skl
    [[ $output == *"Skylake"*" 4.00 "*recurrence* ]]
}

@test "basic blocks: what does not go together is refused, what cannot be read is said" {
    run -2 "$HEADROOM" limits --hex 90 --hex-file x --machine skylake
    run -2 "$HEADROOM" limits --hex 90 --machine skylake /bin/true
    run -2 "$HEADROOM" limits --hex 90 --machine skylake --vertices statements
    run -2 "$HEADROOM" limits --profile missing --machine skylake -D n=4
    run -2 "$HEADROOM" limits --loop --machine skylake /bin/true
    run -1 "$HEADROOM" limits --hex 90 --machine zen5
    [[ $output == *"--machine list"* ]]
    run -1 --separate-stderr "$HEADROOM" limits --hex-file "$BATS_TEST_TMPDIR/missing" --machine skylake --format json
    [ -z "$output" ]
}
