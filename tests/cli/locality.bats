#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom locality from outside: nests of C, C++, Fortran and LLVM IR; values of parameters; what is not taken; what is missing.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >nests.c <<'EOF'
#ifndef M
#define M 40
#endif
void g(int);
int limit = 7;
void triangle(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = i - 1; j >= 0; j--)
            a[i][j] = a[j][i];
}
void macro(double *a) { for (int i = 0; i < M; i++) a[i] = i; }
void global(double *a) { for (int i = 0; i < limit; i++) a[i] = i; }
void indirect(double *a, int *index) { for (int i = 0; i < 9; i++) a[index[i]] = i; }
void calls(double *a) { for (int i = 0; i < 9; i++) { a[i] = i; g(i); } }
EOF
    cat >tiled.cc <<'EOF'
template <typename T, int N> void multiply(T (*c)[N], T (*a)[N], T (*b)[N])
{
    for (int ii = 0; ii < N; ii += 16)
        for (int jj = 0; jj < N; jj += 16)
            for (int i = ii; i < (ii + 16 < N ? ii + 16 : N); i++)
                for (int j = jj; j < (jj + 16 < N ? jj + 16 : N); j++)
                    for (int k = 0; k < N; k++)
                        c[i][j] += a[i][k] * b[k][j];
}
template void multiply<double, 40>(double (*)[40], double (*)[40], double (*)[40]);
EOF
    cat >solve.f90 <<'EOF'
subroutine add(n, a, b)
  integer :: n, i, j
  real(8) :: a(n, n), b(n, n)
  do j = 1, n
    do i = 1, n
      a(i, j) = a(i, j) + b(j, i)
    end do
  end do
end subroutine
EOF
}

# A product, twice, recorded with a cache.
setup_recorded()
{
    needs_engine
    [ -e reuse.headroom ] && return
    cat >product.c <<'EOF'
double a[50][53], b[50][53], c[50][53];
__attribute__((noinline)) void product(void) {
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 50; j++)
            for (int k = 0; k < 50; k++)
                c[i][j] += a[i][k] * b[k][j];
}
int main(void) {
    product();
    product();
    return 0;
}
EOF
    gcc -O1 -fno-tree-loop-im -g product.c -o product
    "$HEADROOM" reuse --exact -q --what-if-cache 4K,4 -o reuse.headroom -- ./product
}

setup()
{
    command -v opt-19 >/dev/null && command -v clang-19 >/dev/null || skip "LLVM 19 is not installed"
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "a nest's misses, by reference" {
    run -0 --separate-stderr "$HEADROOM" locality -D n=30 --function triangle --cache 4K,2 -- cc -O2 nests.c
    [[ $output == *"triangle (nests.c:9)"* ]]
    [[ $output == *"870 accesses"* ]] # 2 * 30 * 29 / 2
    [[ $output == *"9:23   load  a"* ]]
    [[ $output == *"every access simulated"* ]]
    [[ -z $stderr ]]
}

@test "JSON, and both ways to the same figures" {
    "$HEADROOM" locality -D n=30 --function triangle --cache 4K,2 --format json -- cc nests.c >given.json
    clang-19 -O0 -g -Xclang -disable-O0-optnone -S -emit-llvm nests.c
    "$HEADROOM" locality -D n=30 --function triangle --cache 4K,2 --format json nests.ll >read.json
    run -0 python3 -c '
import json
given, read = (json.load(open(name))["locality"] for name in ("given.json", "read.json"))
assert given["totals"] == read["totals"] and given["totals"][0]["accesses"] == 870
figure = given["references"][0]["levels"][0]
assert figure["exact"] and figure["misses"] == figure["cold"] + figure["capacity"] + figure["conflict"]'
}

@test "samples hold what simulation says" {
    "$HEADROOM" locality -D n=1500 --function triangle --cache 32K,8 --cache 512K,8 --verify --format json -- cc nests.c >verified.json
    run -0 python3 -c '
import json
report = json.load(open("verified.json"))["locality"]
for reference in report["references"]:
    figure = reference["levels"][0]
    assert not figure["exact"]
    assert abs(figure["simulated"] / reference["accesses"] - figure["ratio"]) < 0.006, figure'
}

@test "values of macros and globals" {
    run -0 --separate-stderr "$HEADROOM" locality -D M=64 --function macro --cache 4K -- cc nests.c
    [[ $output == *"64 accesses"* ]]
    run -0 --separate-stderr "$HEADROOM" locality -D limit=11 --function global --cache 4K -- cc nests.c
    [[ $output == *"11 accesses"* ]]
}

@test "values of a parameter and of a macro together" {
    cat >strips.c <<'EOF'
#ifndef STRIP
#define STRIP 4
#endif
void strips(int n, double a[n][n])
{
    for (int ii = 0; ii < n; ii += STRIP)
        for (int j = 0; j < n; j++)
            for (int i = ii; i < (ii + STRIP < n ? ii + STRIP : n); i++)
                a[i][j] = 0;
}
EOF
    local misses=()
    for strip in 4 50; do
        "$HEADROOM" locality -D n=50 -D STRIP=$strip --cache 1K,2 --format json -- cc strips.c >strips.json
        misses+=("$(python3 -c 'import json; print(*(json.load(open("strips.json"))["locality"]["totals"][0][name] for name in ("accesses", "misses")))')")
    done
    [[ ${misses[0]} == "2500 "* && ${misses[1]} == "2500 "* && ${misses[0]} != "${misses[1]}" ]]
}

@test "of several nests of a function, the one around a line" {
    cat >around.c <<'EOF'
double a[9], b[9];
void between(int);
void several(void)
{
    for (int i = 0; i < 9; i++)
        a[i] = i;
    between(1);
    for (int i = 0; i < 9; i++)
        b[i] = i;
}
EOF
    for line in 5 6; do
        run -0 --separate-stderr "$HEADROOM" locality --loop around.c:$line --cache 1K -- cc around.c
        [[ $output == *"several (around.c:6)"* && $output != *"(around.c:9)"* ]]
    done
    run -0 --separate-stderr "$HEADROOM" locality --loop 8 --cache 1K -- cc around.c
    [[ $output == *"several (around.c:9)"* && $output != *"(around.c:6)"* ]]
    run -1 --separate-stderr "$HEADROOM" locality --loop 7 --cache 1K -- cc around.c
    [[ $stderr == *"has no loop that accesses memory where one was asked for."* ]]
}

@test "C++ templates, tiles with minima" {
    run -0 --separate-stderr "$HEADROOM" locality --cache 4K,8 -- c++ tiled.cc
    [[ $output == *"256,000 accesses"* ]]
}

@test "Fortran" {
    command -v flang-new-19 >/dev/null || skip "flang-19 is not installed"
    run -0 --separate-stderr "$HEADROOM" locality -D n=50 --cache 4K,8 -- gfortran -O2 solve.f90
    [[ $output == *"add (solve.f90:6)"* ]]
    [[ $output == *"7,500 accesses"* ]]
}

# A subroutine $1 with the declarations $2, and the statements $3 before its loops.
fortran_nest() {
    cat <<EOF
subroutine $1(n, a, b)
  integer, intent(in) :: n
  integer :: i, j
  $2
  $3
  do j = 1, n
    do i = 2, n
      a(i, j) = a(i - 1, j) + b(j, i)
    end do
  end do
end subroutine
EOF
}

# The figures of a function, without its lines.
fortran_figures() {
    "$HEADROOM" locality --function $1 --cache 1K,2 --cache 4K,4 --format json "${@:2}" -- gfortran arrays.f90 | python3 -c '
import json, sys
report = json.load(sys.stdin)["locality"]
print(report["totals"], [(one["array"], one["kind"], one["accesses"], one["levels"]) for one in report["references"]])'
}

@test "Fortran: assumed-shape, allocatable and pointer arrays miss as those with bounds in their declaration do" {
    command -v flang-new-19 >/dev/null || skip "flang-19 is not installed"
    {
        fortran_nest bounded 'real(8) :: a(44, n), b(n, 47)'
        fortran_nest lowered 'real(8) :: a(0:43, n), b(n, -1:47)'
        fortran_nest sized 'real(8) :: a(44, *), b(n, *)'
        echo 'module shapes'
        echo '  real(8), allocatable :: u(:, :), v(:, :)'
        echo 'contains'
        fortran_nest shaped 'real(8) :: a(:, :), b(:, :)'
        fortran_nest shaped_lowered 'real(8) :: a(0:, :), b(:, -1:)'
        fortran_nest pointed 'real(8), pointer :: a(:, :), b(:, :)'
        fortran_nest passed 'real(8), allocatable :: a(:, :), b(:, :)'
        fortran_nest own 'real(8), allocatable :: p(:, :), q(:, :); integer :: a, b' 'allocate(p(44, n), q(n, 47))' | sed 's/ a(i/ p(i/g; s/ b(j/ q(j/'
        fortran_nest global 'integer :: a, b' | sed 's/ a(i/ u(i/g; s/ b(j/ v(j/'
        fortran_nest made 'integer :: a, b' 'allocate(u(44, n), v(n, 47))' | sed 's/ a(i/ u(i/g; s/ b(j/ v(j/'
        echo 'end module'
    } >arrays.f90
    local given truth
    truth=$(fortran_figures bounded -D n=40)
    [[ $truth == *"'accesses': 4680"* ]]
    [[ $(fortran_figures sized -D n=40) == "$truth" ]]
    for given in shaped pointed passed; do
        [[ $(fortran_figures $given -D n=40 -D a=44,40 -D b=40,47) == "$truth" ]]
        [[ $(fortran_figures $given -D n=40 -D a=48,40 -D b=40,47) != "$truth" ]]
    done
    [[ $(fortran_figures shaped -D n=40 -D a=1:44,7 -D b=40) == "$truth" ]]
    truth=$(fortran_figures lowered -D n=40)
    [[ $(fortran_figures shaped_lowered -D n=40 -D a=44,40 -D b=40,49) == "$truth" ]]
    [[ $(fortran_figures pointed -D n=40 -D a=0:43,40 -D b=40,-1:47) == "$truth" ]]
    truth=$(fortran_figures bounded -D n=40 | sed "s/('a'/('u'/g; s/('b'/('v'/g")
    [[ $(fortran_figures global -D n=40 -D u=44,40 -D v=40,47) == "$truth" ]]
    # What the function itself allocates needs no bounds, and follows no others.
    [[ $(fortran_figures made -D n=40) == "$truth" ]]
    [[ $(fortran_figures made -D n=40 -D u=50,50) == "$truth" ]]
    truth=$(sed "s/('u'/('p'/g; s/('v'/('q'/g" <<<"$truth")
    [[ $(fortran_figures own -D n=40) == "$truth" ]]
}

@test "Fortran: bounds that are missing are asked for, gaps are excluded aloud, what is not taken has its line" {
    command -v flang-new-19 >/dev/null || skip "flang-19 is not installed"
    cat >shapes.f90 <<'EOF'
module shapes
  type grid
    real(8), allocatable :: u(:, :)
  end type
contains
  subroutine shaped(n, a)
    integer :: n, i, j
    real(8) :: a(:, :)
    do j = 1, size(a, 2)
      do i = 1, size(a, 1)
        a(i, j) = n
      end do
    end do
  end subroutine
  subroutine relax(g, n)
    type(grid) :: g
    integer :: n, i, j
    do j = 1, n
      do i = 1, n
        g%u(i, j) = 1
      end do
    end do
  end subroutine
  subroutine local(n)
    integer :: n, i
    real(8), allocatable :: w(:)
    allocate(w(n))
    do i = 1, n
      w(i) = i
    end do
  end subroutine
end module
EOF
    run -0 --separate-stderr "$HEADROOM" locality -D n=50 --cache 4K,8 -- gfortran shapes.f90
    output=$(tr -s '[:space:]' ' ' <<<"$output")
    [[ $output == *"shapes.f90:11: the loop, in 'shaped', needs the bounds of 'a'; give them by -D a=N,N, or LOW:HIGH"* ]]
    [[ $output == *"shapes.f90:20:"*"part of a structure"* && $output == *" w 400 bytes"* ]]
    printf '      subroutine chosen(n, a, k)\n      integer n, i, k(n)\n      double precision a(n)\n      do i = 1, n\n        a(k(i)) = 0\n      end do\n      end\n' >chosen.f
    run -1 --separate-stderr "$HEADROOM" locality -D n=50 -- gfortran chosen.f
    [[ $stderr == *"an index that is read from memory is not known here"* && $stderr != *structure* ]]
    run -0 --separate-stderr "$HEADROOM" locality -D a=30,50 --function shaped --cache 4K,8 -- gfortran shapes.f90
    output=$(tr -s '[:space:]' ' ' <<<"$output")
    [[ $output == *"1,500 accesses"* && $output == *"a (assumed-shape or pointer) without gaps"* ]]
    for bounds in 30,x 30, 5:4 :4 3:4:5; do
        run -1 --separate-stderr "$HEADROOM" locality -D a=$bounds --function shaped -- gfortran shapes.f90
        [[ $stderr == *"an array's bounds are numbers such as 100 or 0:50"* ]]
    done
}

@test "Fortran: assumed-shape arrays beside a recording" {
    needs_engine
    command -v flang-new-19 >/dev/null && command -v gfortran >/dev/null || skip "flang-19 or gfortran is not installed"
    cat >transposed.f90 <<'EOF'
module kernels
contains
  subroutine add(n, a, b)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(:, :)
    real(8), intent(in) :: b(:, :)
    integer :: i, j
    do j = 1, n
      do i = 1, n
        a(i, j) = a(i, j) + b(j, i)
      end do
    end do
  end subroutine
end module
program main
  use kernels
  real(8), allocatable :: x(:, :), y(:, :)
  allocate(x(67, 60), y(60, 61))
  call add(60, x, y)
end program
EOF
    gfortran -O1 -g -fno-inline transposed.f90 -o transposed
    "$HEADROOM" reuse --exact -q --what-if-cache 4K,4 -o transposed.headroom -- ./transposed
    "$HEADROOM" locality -D n=60 -D a=67,60 -D b=60,61 --from transposed.headroom --function add --format json -- gfortran transposed.f90 >transposed.json
    run -0 python3 -c '
import json
found = [one for one in json.load(open("transposed.json"))["locality"]["references"] if "recorded" in one]
assert {one["array"] for one in found} == {"a", "b"}
for one in found:
    assert abs(one["recorded"]["misses"] - one["recorded"]["computed_misses"]) <= 0.01 * one["recorded"]["misses"] + 3, one'
}

@test "Fortran: what is under a condition has its line and its name; loops under one are taken with the value it depends on" {
    command -v flang-new-19 >/dev/null || skip "flang-19 is not installed"
    cat >conditions.f <<'EOF'
      subroutine product(n, beta, alpha, a, b, c)
      integer n, i, j, l
      double precision beta, alpha, s, a(n, n), b(n, n), c(n, n)
      do j = 1, n
        do i = 1, n
          s = 0
          do l = 1, n
            s = s + a(l, i) * b(l, j)
          end do
          if (beta .eq. 0) then
            c(i, j) = alpha * s
          else
            c(i, j) = alpha * s + beta * c(i, j)
          end if
        end do
      end do
      end
      subroutine scaled(n, beta, c)
      integer n, i, j
      double precision beta, c(n, n)
      do j = 1, n
        if (beta .ne. 1) then
          do i = 1, n
            c(i, j) = beta * c(i, j)
          end do
        end if
      end do
      end
EOF
    "$HEADROOM" locality -D n=20 --function product --cache 4K,4 --format json -- gfortran conditions.f >conditions.json
    python3 -c '
import json
report = json.load(open("conditions.json"))["locality"]
seen = [(one["array"], one["line"], one["kind"]) for one in report["references"]]
assert sorted(seen) == sorted([("a", 8, "read"), ("b", 8, "read"), ("beta", 10, "read"), ("c", 11, "write"), ("alpha", 11, "read"),
                               ("c", 13, "read"), ("c", 13, "write"), ("beta", 13, "read")]), seen
assert not report["rejected"], report["rejected"]'
    run -1 --separate-stderr "$HEADROOM" locality -D n=20 --function scaled --cache 4K,4 -- gfortran conditions.f
    for beta in 0.5 2; do
        run -0 --separate-stderr "$HEADROOM" locality -D n=20 -D beta=$beta --function scaled --cache 4K,4 -- gfortran conditions.f
        [[ $output == *" 800 accesses"* && $output != *beta* ]]
    done
}

@test "Fortran: arrays are as long as what is accessed in a triangle; blanks behind characters are no loop" {
    command -v flang-new-19 >/dev/null || skip "flang-19 is not installed"
    cat >triangle.f <<'EOF'
      subroutine triangle(n, x, a, text)
      integer n, i, j
      double precision x(*), a(n, *)
      character*60 text
      text = 'begun'
      do j = 1, n
        do i = j + 1, n
          x(i) = x(i) + a(i, j)
        end do
      end do
      end
EOF
    run -0 --separate-stderr "$HEADROOM" locality -D n=50 --cache 4K,4 -- gfortran triangle.f
    [[ $output == *" x 400 bytes, a 19."*" KiB"* && $output == *"#1 "* && $output != *"#2 "* ]]
}

@test "a value that is missing is asked for" {
    run -1 --separate-stderr "$HEADROOM" locality --function triangle -- cc nests.c
    [[ $stderr == *"nests.c:9: the loop, in 'triangle', needs the value of 'n'; give it by -D n=N."* ]]
    [[ -z $output ]]
}

@test "a parameter that there is not" {
    run -1 --separate-stderr "$HEADROOM" locality -D nowhere=3 -- cc nests.c
    [[ $stderr == *"has no parameter, global variable or macro of that name."* ]]
    run -1 --separate-stderr "$HEADROOM" locality -D n -- cc nests.c
    [[ $stderr == *"is no NAME=VALUE."* ]]
}

@test "what is not taken has its line, and what would help" {
    run -0 --separate-stderr "$HEADROOM" locality -D n=20 --cache 4K -- cc nests.c
    [[ $output == *"nests.c:13:"*"a subscript is not a sum of loop"* ]]
    [[ $output == *"nests.c:12: the loop, in 'global', needs the value of 'limit'; give it by -D limit=N."* ]]
    [[ $output == *"nests.c:14:"*"a function is called in the loop; inline it"* ]]
    run -1 --separate-stderr "$HEADROOM" locality --function calls -- cc nests.c
    [[ -n $stderr ]]
}

@test "no reason is given for what is no loop, or is taken" {
    command -v flang-new-19 >/dev/null || skip "flang-19 is not installed"
    cat >beside.f <<'EOF'
      subroutine beside(n, a)
      integer n, i
      double precision a(n)
      logical l, given
      external given
      l = given('N')
      if (l) then
        do i = 1, n
          a(i) = 0
        end do
      else
        do i = 1, n
          call change(a)
        end do
      end if
      end
EOF
    run -0 --separate-stderr "$HEADROOM" locality -D n=50 --cache 4K -- gfortran beside.f
    [[ $output == *"beside.f:13:"*"a function is called in the loop"* && $output != *"beside.f:6:"* && $output != *"beside.f:9:"* ]]
}

@test "without LLVM 19, a sentence" {
    mkdir -p empty
    run -1 --separate-stderr env PATH="$PWD/empty" "$HEADROOM" locality -- cc nests.c
    [[ $stderr == "headroom: LLVM 19 is needed, and 'clang-19' cannot be found: on Debian, 'apt-get install clang-19'." ]]
}

@test "tools that do not end are ended" {
    mkdir -p slow
    printf '#!/bin/sh\nexec sleep 100\n' >slow/opt-19
    chmod +x slow/opt-19
    mkdir -p folder
    run -1 --separate-stderr env TMPDIR="$PWD/folder" PATH="$PWD/slow:$PATH" "$HEADROOM" locality --max-time 1 -- cc nests.c
    [[ $stderr == *"'opt-19' did not end within 1 seconds"* ]]
    [[ -z $(ls folder) ]]
}

@test "misuse" {
    run -2 --separate-stderr "$HEADROOM" locality
    run -2 --separate-stderr "$HEADROOM" locality --
    run -1 --separate-stderr "$HEADROOM" locality -- cc -O2
    [[ $stderr == *"there is no source file in the command behind --."* ]]
    run -1 --separate-stderr "$HEADROOM" locality -- cc nests.c tiled.cc
    [[ $stderr == *"one source file at a time"* ]]
    run -1 --separate-stderr "$HEADROOM" locality -- cc gone.c
    [[ $stderr == *"cannot read 'gone.c'"* ]]
    run -1 --separate-stderr "$HEADROOM" locality --cache 3K,7 -- cc nests.c
    [[ $stderr == *"with whole sets"* ]]
    echo 'int broken(' >broken.c
    run -1 --separate-stderr "$HEADROOM" locality -- cc broken.c
    [[ $stderr == *"'clang-19' failed with 'broken.c'."* ]]
}

# The best suggestion for a product of matrices of $1 rows, beside the same change made in the source.
suggest_and_compare() {
    sed "s/SIZE/$1/" >product.c <<'EOF'
enum { N = SIZE };
double A[N][N], B[N][N], C[N][N];
void product(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
}
EOF
    "$HEADROOM" locality --suggest --exact --cache 4K,4 --format json -- cc product.c >suggested.json
    python3 - $1 <<'EOF' >by_hand.c
import json, sys
best = json.load(open("suggested.json"))["locality"]["suggestions"][0]
names = "ijk"
rows = {one["array"]: one["padded_elements"] for one in best["padding"]}
print("enum { N = %s };" % sys.argv[1])
print("double %s;\nvoid product(void)\n{" % ", ".join("%s[N][%s]" % (array, rows.get(array, "N")) for array in "ABC"))
assert best["kind"] == "tiles" and not best["gap_bytes"]
assert [loop["line"] - 5 for loop in best["loops"]] == [loop["loop"] for loop in best["loops"]]
for loop in best["loops"]:
    if loop["tile"]:
        print("for (int {0}{0} = 0; {0}{0} < N; {0}{0} += {1})".format(names[loop["loop"]], loop["tile"]))
for loop in best["loops"]:
    name, tile = names[loop["loop"]], loop["tile"]
    if tile:
        print("for (int {0} = {0}{0}; {0} < ({0}{0} + {1} < N ? {0}{0} + {1} : N); {0}++)".format(name, tile))
    else:
        print("for (int {0} = 0; {0} < N; {0}++)".format(name))
print("C[i][j] += A[i][k] * B[k][j];\n}")
EOF
    "$HEADROOM" locality --exact --cache 4K,4 --format json -- cc by_hand.c >by_hand.json
    python3 - <<'EOF'
import json
suggested, by_hand = (json.load(open(name))["locality"] for name in ("suggested.json", "by_hand.json"))
best = suggested["suggestions"][0]
assert best["totals"][0]["misses"] == by_hand["totals"][0]["misses"] < suggested["totals"][0]["misses"] / 4
assert best["totals"][0]["exact"]
EOF
}

@test "tiles that are suggested miss as the same tiles in the source do" {
    suggest_and_compare 100
}

@test "rows that meet in one set are made longer for tiles" {
    suggest_and_compare 128
    grep -q padded_elements suggested.json
}

@test "a suggestion keeps dependences, and padding takes conflicts away" {
    cat >rows.c <<'EOF'
enum { N = 512 };
double A[N][N], B[N][N], C[N][N];
void ahead(void)
{
    for (int j = 1; j < N; j++)
        for (int i = 0; i < N - 1; i++)
            A[i][j] = A[i + 1][j - 1];
}
void sum(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            C[i][j] = A[i][j] + B[i][j];
}
EOF
    run -0 --separate-stderr "$HEADROOM" locality --suggest --function ahead --cache 4K,2 -- cc rows.c
    [[ $output == *"would break dependences"* && $output != *" 0 others"* && $output != *"in the order"* ]]
    run -0 --separate-stderr "$HEADROOM" locality --suggest --function sum --cache 4K,2 -- cc rows.c
    [[ $output == *"64 bytes more between one array and the next: L1 "*"(-8"[0-9]" %)"* ]]
}

@test "loops that miss alike are all looked at" {
    cat >alike.c <<'EOF'
enum { N = 200 };
double A[N][N], B[N][N];
void alike(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[j][i] += 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            B[j][i] += 1;
}
EOF
    run -0 --separate-stderr "$HEADROOM" locality --suggest --exact --cache 4K,4 -- cc alike.c
    [[ $output == *"the loops of lines 5, 6 in the order 6, 5"* ]]
    [[ $output == *"the loops of lines 8, 9 in the order 9, 8"* ]]
}

@test "a sweep has what each value has" {
    "$HEADROOM" locality --sweep n=20:60:20 --function triangle --cache 1K,2 --format json -- cc nests.c >swept.json
    "$HEADROOM" locality -D n=40 --function triangle --cache 1K,2 --format json -- cc nests.c >one.json
    run -0 python3 -c '
import json
swept, one = (json.load(open(name))["locality"] for name in ("swept.json", "one.json"))
assert [point["value"] for point in swept["sweep"]["points"]] == [20, 40, 60]
assert swept["sweep"]["points"][1]["totals"] == one["totals"]
assert swept["sweep"]["points"][0]["totals"] != one["totals"]'
    run -0 --separate-stderr "$HEADROOM" locality --sweep n=20:60:20 --function triangle --cache 1K,2 -- cc nests.c
    [[ ${lines[-1]} == *" 60 "* ]]
    run -1 --separate-stderr "$HEADROOM" locality --sweep nowhere=1:3 --function triangle --cache 1K -- cc nests.c
    [[ $stderr == *"with nowhere = 1: "* ]]
    "$HEADROOM" locality --sweep n=20:49 --function triangle --cache 1K --format json -- cc nests.c >swept.json
    run -0 python3 -c 'import json; assert len(json.load(open("swept.json"))["locality"]["sweep"]["points"]) == 15'
    for text in n n=5 n=5:4 n=1:2:0 n=1:20000:1 =1:2; do
        run -2 --separate-stderr "$HEADROOM" locality --sweep "$text" -- cc nests.c
        [[ $stderr == *"--sweep takes NAME=LOW:HIGH[:STEP]"* ]]
    done
    run -2 --separate-stderr "$HEADROOM" locality --sweep n=1:2 --verify -- cc nests.c
}

@test "accessors of C++ classes" {
    cat >accessors.cc <<'EOF'
#include <vector>
template <int N> struct Matrix {
    double cells[N][N];
    double &operator()(int i, int j) { return cells[i][j]; }
    double operator()(int i, int j) const { return cells[i][j]; }
};
static inline double twice(double x) { return 2 * x; }
void plain(double (*c)[20], double (*a)[20])
{
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            c[i][j] = 2 * a[j][i];
}
void accessors(Matrix<20> &c, const Matrix<20> &a)
{
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            c(i, j) = twice(a(j, i));
}
void vectors(std::vector<double> &c, const std::vector<double> &a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c[i * n + j] = 2 * a[j * n + i];
}
EOF
    for function in plain accessors vectors; do
        "$HEADROOM" locality -D n=20 --function $function --cache 1K,4 --format json -- g++ accessors.cc >$function.json
    done
    run -0 python3 -c '
import json
plain, accessors, vectors = (json.load(open(name + ".json"))["locality"] for name in ("plain", "accessors", "vectors"))
assert plain["totals"] == accessors["totals"] == vectors["totals"] and plain["totals"][0]["accesses"] == 800
assert [one["line"] for one in accessors["references"]] == [18, 18]'
}

@test "a profile of it: the same report, comparisons, limits, exports, a page" {
    "$HEADROOM" locality --suggest -D n=60 --function triangle --cache 4K,2 -o one.headroom -- cc nests.c >given.txt
    run -0 --separate-stderr "$HEADROOM" report one.headroom
    diff <(sed '/^Next$/,$d' given.txt) <(sed '/^Next$/,$d' <<<"$output")
    "$HEADROOM" locality -D n=60 --function triangle --cache 4K,2 -q -o two.headroom -- cc -O1 nests.c
    run -0 --separate-stderr "$HEADROOM" diff one.headroom two.headroom
    [[ $output == *"locality.l1.misses"* ]]
    run -3 --separate-stderr "$HEADROOM" check --limits locality.l1.ratio=0.1% one.headroom
    run -0 --separate-stderr "$HEADROOM" check --limits locality.l1.ratio=99% one.headroom
    run -1 --separate-stderr "$HEADROOM" merge -o both.headroom one.headroom two.headroom
    [[ $stderr == *"does not add up"* && ! -e both.headroom ]]
    run -0 --separate-stderr "$HEADROOM" export --to csv one.headroom
    [[ $output == *"load of a"* ]]
    run -0 --separate-stderr "$HEADROOM" view -q -o page.html one.headroom
    [[ -s page.html ]]
}

@test "what cannot be compared is not" {
    "$HEADROOM" locality -D n=60 --function triangle --cache 4K,2 -q -o small.headroom -- cc nests.c
    "$HEADROOM" locality -D n=60 --function triangle --cache 8K,2 -q -o large.headroom -- cc nests.c
    run -4 --separate-stderr "$HEADROOM" check --baseline small.headroom --limits locality.l1.ratio=99% large.headroom
    run -1 --separate-stderr "$HEADROOM" diff small.headroom large.headroom
    [[ $stderr == *"different caches (--cache)"* ]]
}

@test "a sweep in a profile" {
    "$HEADROOM" locality --sweep n=20:60:20 --function triangle --cache 1K,2 -q -o sweep.headroom -- cc nests.c
    run -0 --separate-stderr "$HEADROOM" report --format json sweep.headroom
    python3 -c '
import json, sys
sweep = json.load(sys.stdin)["locality"]["sweep"]
assert sweep["name"] == "n" and [point["value"] for point in sweep["points"]] == [20, 40, 60]' <<<"$output"
}

@test "beside a recording: where arrays were, and what their references missed" {
    setup_recorded
    "$HEADROOM" locality --from reuse.headroom --function product --format json -o product.headroom -- cc product.c >from.json
    run -0 --separate-stderr "$HEADROOM" report product.headroom
    [[ $output == *"computed and recorded; the nest was executed 2 times"* && $output == *"together"* ]]
    run -0 python3 -c '
import json
report = json.load(open("from.json"))["locality"]
assert [level["bytes"] for level in report["levels"]] == [4096] and report["levels"][0]["ways"] == 4
places = {one["name"]: one["address"] for one in report["nests"][0]["arrays"]}
lowest, middle, highest = sorted(int(place, 0) for place in places.values())
assert middle - lowest == highest - middle == (50 * 53 * 8 + 31) // 32 * 32, places
seen = {(one["array"], one["kind"]): one for one in report["references"]}
assert all("recorded" in one for one in seen.values()), seen
for one in seen.values():
    assert one["recorded"]["executions"] == 2
    assert abs(one["recorded"]["misses"] - one["recorded"]["computed_misses"]) <= 0.02 * one["recorded"]["misses"] + 30, one
assert seen["b", "read"]["recorded"]["accesses"] == 2 * 50 ** 3'
}

@test "beside a recording: values of variables" {
    needs_engine
    cat >filter.c <<'EOF'
#include <stdlib.h>
__attribute__((noinline)) void filter(int n, int width, double (*to)[n], double (*from)[n], double *weights) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            to[i][j] = from[i][j] + from[i - 1][j + 1];
    for (int i = 0; i < width; i++)
        weights[i] = 1;
}
int main(int count, char **arguments) {
    int n = atoi(arguments[1]);
    void *to = calloc(n * n, 8), *from = calloc(n * n, 8);
    filter(n, 3 * n, to, from, calloc(5 * n, 8));
    return 0;
}
EOF
    gcc -O1 -g filter.c -o filter
    "$HEADROOM" reuse --exact -q --what-if-cache 4K,4 -o filter.headroom -- ./filter 93
    "$HEADROOM" locality --from filter.headroom --function filter --format json -- cc filter.c >filter.json
    run -0 python3 -c '
import json
report = json.load(open("filter.json"))["locality"]
assert "with n = 93, width = 279," in report["placed"], report["placed"]
assert len(report["references"]) == 4 and all("recorded" in one for one in report["references"])
assert all(abs(one["recorded"]["misses"] - one["recorded"]["computed_misses"]) <= 0.03 * one["recorded"]["misses"] for one in report["references"])'
}

@test "a recording of something else" {
    setup_recorded
    run -0 --separate-stderr "$HEADROOM" locality --from reuse.headroom -D n=30 --function triangle -- cc nests.c
    [[ $stderr == *"has none of these loads and stores"* && $output != *"recorded"* ]]
    run -1 --separate-stderr "$HEADROOM" locality --from reuse.headroom --cache 8K,4 --function product -- cc product.c
    [[ $stderr == *"was not recorded with the first of these caches"* ]]
    "$HEADROOM" locality -D n=30 --function triangle --cache 4K,2 -q -o none.headroom -- cc nests.c
    run -1 --separate-stderr "$HEADROOM" locality --from none.headroom --function product -- cc product.c
    [[ $stderr == *"says nothing of caches by instruction"* ]]
}

@test "a file of 10,000 lines" {
    python3 - <<'EOF' >long.c
print("double a[64][64], b[64][64];")
for at in range(1250):
    print("int f%d(int x) {\n    int y = x;\n    while (y > %d)\n        y -= x & 3;\n    return y + %d;\n}\nint v%d;\n" % (at, at, at, at))
print("void last(void)\n{\n    for (int i = 0; i < 64; i++)\n        for (int j = 0; j < 64; j++)\n            a[i][j] = b[j][i];\n}")
EOF
    [[ $(wc -l <long.c) -gt 10000 ]]
    run -0 --separate-stderr "$HEADROOM" locality --function last --cache 4K,8 -- cc long.c
    [[ $output == *"8,192 accesses"* ]]
}
