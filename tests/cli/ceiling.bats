#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom ceiling from outside: loops that wait for memory and loops that do not, why a loop cannot be tried, programs that would
# show any register, flag or byte that is not put back.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    # far, second: a line of each array at every iteration, so that they wait for data even where another thread takes half of the processor.
    cat >loops.c <<'EOF2'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KERNEL __attribute__((noinline)) void
KERNEL far(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i += 8) a[i] = b[i] + 3 * c[i]; }
KERNEL near(double *restrict a, const double *restrict b, const double *restrict c, long n) { double s = 0; for (long i = 0; i < n; i++) s = s * .5 + b[i & 511] * c[i & 255]; a[0] += s; }
KERNEL calls(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i++) a[i] = sin(b[i]) + c[i]; }
KERNEL searches(double *restrict a, const double *restrict b, const double *restrict c, long n) { long i = 0; while (i < n && b[i] != c[0]) i++; a[0] += (double)i; }
KERNEL quotients(double *restrict a, const double *restrict b, const double *restrict c, long n) { long s = 0; for (long i = 0; i < n; i++) s += ((const long *)b)[i] / ((const long *)c)[i]; a[0] += (double)s; }
KERNEL chances(double *restrict a, const double *restrict b, const double *restrict c, long n) { double s = 0, t = 0; for (long i = 0; i < n; i++) if (((const long *)b)[i] >> 50 & 1) { s += c[i]; __asm__ volatile(""); } else { t += c[i] * 3; __asm__ volatile(""); } a[0] += s; a[1] += t; }
KERNEL rows(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 200; r++) for (long i = 0; i < 200; i++) a[i] = a[i] * .5 + b[i] * c[i]; }
KERNEL table(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 64; r++) { double s = 0; for (long i = 0; i < 64; i++) s += b[i * (n / 64) + r]; a[r] += s * c[r]; } }
KERNEL second(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 10000; r++) for (long i = 0; i < 10000; i += 8) { a[i] = b[i] + 3 * c[i]; __asm__ volatile(""); } }
KERNEL divides(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 1024; r++) for (long i = 0; i < 1024; i++) { a[i] = b[i] / c[i] / (c[i] + 1); __asm__ volatile(""); } }
KERNEL horner(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 1024; r++) for (long i = 0; i < 1024; i++) { double x = b[i]; a[i] = ((((((x * .3 + 1) * x + 3) * x + .2) * x + 2) * x + .7) * x + 5) * x + .1; __asm__ volatile(""); } }
int main(int count, char **words)
{
    long n = 1 << 22, runs = atol(words[2]);
    double *a = aligned_alloc(64, n * 8), *b = aligned_alloc(64, n * 8), *c = aligned_alloc(64, n * 8), sum = 0;
    for (long i = 0; i < n; i++)
        a[i] = 0, b[i] = 1 + i % 7, c[i] = -2;
    unsigned long x = 1;
    for (long i = 0; strcmp(words[1], "chances") == 0 && i < n; i++)
        x = x * 6364136223846793005 + 1442695040888963407, ((long *)b)[i] = x >> 12 | 1L << 61;
    for (long r = 0; r < runs; r++)
        (strcmp(words[1], "chances") == 0 ? chances : strcmp(words[1], "second") == 0 ? second : strcmp(words[1], "divides") == 0 ? divides : strcmp(words[1], "quotients") == 0 ? quotients : strcmp(words[1], "horner") == 0 ? horner : strcmp(words[1], "rows") == 0 ? rows : strcmp(words[1], "table") == 0 ? table : strcmp(words[1], "far") == 0 ? far : strcmp(words[1], "near") == 0 ? near : strcmp(words[1], "calls") == 0 ? calls : searches)(a, b, c, n);
    for (long i = 0; i < n; i++)
        sum += a[i];
    printf("%.17g\n", sum);
    return count == 4 ? 42 : 0;
}
EOF2
    "${CC:-cc}" -O2 -g loops.c -o loops -lm
    cat >strict.c <<'EOF2'
/* Every value that passes through a loop is in the output: registers, vector registers, flags, memory, in threads and a child, while
   signals arrive. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { N = 4096 };
static int rounds;
static volatile sig_atomic_t alarms;
static void on_alarm(int number) { alarms += number; }
static uint64_t mix(uint64_t h, const void *p, size_t n) { const unsigned char *c = p; while (n--) h = (h ^ *c++) * 1099511628211u; return h; }
static void *work(void *seed)
{
    double *a = aligned_alloc(64, N * 8), *b = aligned_alloc(64, N * 8), *c = aligned_alloc(64, N * 8);
    uint64_t *u = aligned_alloc(64, N * 8), h = 0;
    for (int i = 0; i < N; i++)
        a[i] = i * .25 + (long)seed, b[i] = 1.0 / (i + (long)seed + 1), c[i] = i % 5 ? 1e-310 * i : 2, u[i] = i * 2654435761u + (uint64_t)seed;
    for (int r = 0; r < rounds; r++) {
        double s = 0, t = 1;
        uint64_t carry = r;
        for (int i = 0; i < N; i++) s += a[i] * b[i], t = t * .999 + c[i];
        for (int i = 0; i < N; i++) a[i] = a[i] * .5 + b[i] * (1 + 1e-9 * s);
        for (int i = 1; i < N; i++) b[i] = b[i - 1] * .3 + b[i] * .7;
        for (int i = 0; i < N; i++) __asm__("add %2, %0; adc $0, %1" : "+r"(carry), "+r"(u[i]) : "r"(u[i]) : "cc");
        h = mix(mix(mix(h, &s, 8), &t, 8), &carry, 8);
    }
    return (void *)mix(mix(mix(h, a, N * 8), b, N * 8), u, N * 8);
}
int main(int count, char **words)
{
    struct itimerval often = {{0, 3000}, {0, 3000}};
    pthread_t threads[2];
    uint64_t all = 0;
    int status;
    void *one;
    rounds = count > 1 ? atoi(words[1]) : 1000;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    pid_t child = fork();
    if (child == 0) { printf("child %016lx\n", (uint64_t)work((void *)9)); fflush(stdout); _exit(3); }
    while (waitpid(child, &status, 0) < 0) ;
    for (int i = 0; i < 2; i++) { pthread_join(threads[i], &one); all = all * 3 + (uint64_t)one; }
    printf("%016lx %d %d\n", all, status, alarms > 0);
    return 7;
}
EOF2
    "${CC:-cc}" -O2 -g -pthread strict.c -o strict
}

setup()
{
    cd "$BATS_FILE_TMPDIR" || return 1
}

# member NAME FUNCTION: of the loop of that function in ceiling.headroom
member()
{
    "$HEADROOM" report --format json "${3:-ceiling.headroom}" |
        python3 -c 'import json, sys
loops = [l for l in json.load(sys.stdin)["ceiling"]["loops"] if l["function"] == sys.argv[2]]
print(json.dumps(max(loops, key=lambda l: l["share"])[sys.argv[1]]))' "$1" "$2"
}

@test "a loop that waits for memory has a gap, and the program is as it is alone" {
    run -42 --separate-stderr "$HEADROOM" ceiling --budget 0.3 -- ./loops far 150 x
    [ "$output" = "$(./loops far 150)" ]
    [[ "$stderr" == *"Ceilings of loops"* && "$stderr" == *"far (loops.c:6)"* ]]
    [[ "$stderr" == *"cycles an iteration"* && "$stderr" == *"in the first-level cache"* ]]
    [ "$(member eligible far)" = true ]
    [ "$(member trials far)" -ge 1 ]
    python3 -c "assert $(member gap far) > 0.25 and 0 < $(member l1_cycles far) < $(member cycles far)"
}

@test "a loop whose data are in the first-level cache has none" {
    expected="$(./loops near 60)"
    for _ in {1..10}; do # a busy machine may disturb one
        run -0 --separate-stderr "$HEADROOM" ceiling -q --budget 0.3 -o near.headroom -- ./loops near 60
        [ "$output" = "$expected" ]
        [ "$(member eligible near near.headroom)" = true ]
        python3 -c "import sys; sys.exit(not -0.15 < $(member gap near near.headroom) < 0.15)" && return 0
    done
    return 1
}

@test "ceilings are compared, checked and exported" {
    run -0 "$HEADROOM" diff --format json ceiling.headroom near.headroom
    python3 -c 'import json, sys
found = json.load(sys.stdin)
assert found["verb"] == "ceiling" and any(f["name"] == "ceiling.bound" for f in found["figures"]), found' <<<"$output"
    run -3 --separate-stderr "$HEADROOM" check --limits ceiling.gap@far=0.2 ceiling.headroom
    [[ "$output" == *"ceiling.gap@far"*"EXCEEDED"* && "$output" != *"--exact"* ]]
    run -0 --separate-stderr "$HEADROOM" check --limits ceiling.bound=1 ceiling.headroom
    run -2 --separate-stderr "$HEADROOM" check --limits ceiling.gap@nowhere=1 ceiling.headroom
    [[ "$stderr" == *"ceiling.gap@FUNCTION"* ]]
    run -0 --separate-stderr "$HEADROOM" export --to csv -o loops.csv ceiling.headroom
    [[ "$(cat loops.csv)" == *above_ceiling_ns,loop_ns*'"gap","far",'*'loops.c",6,'* ]]
}

@test "a loop that takes little at a time is measured among the loops around it" {
    run -0 --separate-stderr "$HEADROOM" ceiling -q --budget 0.3 -o table.headroom -- ./loops table 40
    [ "$output" = "$(./loops table 40)" ]
    [ "$(member short table table.headroom)" = false ]
    python3 -c "assert $(member gap table table.headroom) > 0.5 and 60 < $(member iterations table table.headroom) < 68"
    expected="$(./loops rows 240)"
    for _ in {1..10}; do # a busy machine may disturb one
        run -0 --separate-stderr "$HEADROOM" ceiling -q --budget 0.3 -o rows.headroom -- ./loops rows 240
        [ "$output" = "$expected" ]
        [ "$(member short rows rows.headroom)" = false ]
        python3 -c "import sys; sys.exit(not -0.2 < $(member gap rows rows.headroom) < 0.2)" && return 0
    done
    return 1
}

# variant NAME FUNCTION PROFILE MEMBER
variant()
{
    member variants "$2" "$3" | python3 -c 'import json, sys
print(json.dumps(json.load(sys.stdin)[sys.argv[1]][sys.argv[2]]))' "$1" "$4"
}

# Repeats TEST, a command, up to ten times: a busy machine disturbs one in three. What must hold every time, TEST asks by as_alone: a command
# that fails does not end it.
at_last()
{
    for _ in {1..10}; do
        "$@" && return 0
    done
    return 1
}

# The program's status and output are those that it has alone; if not, that ends the test.
as_alone() # STATUS
{
    [ "$status" = "$1" ] && [ "$output" = "$expected" ] && return
    echo "status $status, expected $1; output '$output', expected '$expected'; $stderr"
    exit 1
}

second_level()
{
    run --separate-stderr "$HEADROOM" ceiling --budget 0.4 --variants l2,ls --loop second -o second.headroom -- ./loops second 200
    as_alone 0
    python3 -c "import sys
measured, first, second, of = $(member cycles second second.headroom), $(member l1_cycles second second.headroom), $(variant l2 second second.headroom cycles), $(variant l2 second second.headroom of_l1)
print(measured, first, second, of)
sys.exit(not (of > 1.15 and abs(second / measured - 1) < .3))"
}

@test "a loop with its data in the second level takes as long as that variant" {
    bytes=$(getconf LEVEL2_CACHE_SIZE)
    [ "$bytes" -ge $((500 << 10)) ] || skip "the second level does not hold 240 KiB beside other data"
    expected="$(./loops second 200)"
    at_last second_level
    [[ "$stderr" == *"in the second-level cache "* && "$stderr" == *"loads and stores alone "* ]]
    [ "$(variant l2 second second.headroom reason)" = null ]
    run -0 --separate-stderr "$HEADROOM" check --limits ceiling.l2@second=1 second.headroom
    run -2 --separate-stderr "$HEADROOM" check --limits ceiling.l3@second=1 second.headroom
    "$HEADROOM" export --to csv -o second.csv second.headroom
    grep -q 'in the second-level cache, .* loads and stores alone' second.csv
}

parts()
{
    run --separate-stderr "$HEADROOM" ceiling --budget 0.4 --variants ls,fp --loop "$1" -o parts.headroom -- ./loops "$1" 200
    as_alone 0
    python3 -c "import sys
accesses, arithmetic = $(variant ls "$1" parts.headroom of_l1), $(variant fp "$1" parts.headroom of_l1)
print(accesses, arithmetic)
sys.exit(not ($2))"
}

divisions()
{
    parts divides "accesses < .7 and .8 < arithmetic < 1.2" && [[ "$stderr" == *"arithmetic alone takes as long"* ]]
}

@test "arithmetic alone takes as long as a loop of divisions, loads and stores alone far less" {
    expected="$(./loops divides 200)"
    at_last divisions
    [ "$(member advice divides parts.headroom | grep -c ceiling.arithmetic)" = 1 ]
    expected="$(./loops horner 200)"
    at_last parts horner "accesses < .7 and .8 < arithmetic < 1.2"
}

@test "variants that nobody knows are refused, and none are tried unless asked for" {
    run -125 "$HEADROOM" ceiling --variants l2,l4 -- ./loops far 1
    [[ "$output" == *"--variants: 'l4' is none of l1, l2, l3, ls, fp"* ]]
    [ "$(member variants far)" = '{}' ] # of the first test
}

@test "a loop that cannot be tried has a reason, and its place" {
    run -0 --separate-stderr "$HEADROOM" ceiling -o calls.headroom -- ./loops calls 12
    [[ "$stderr" == *"Not measured: it calls sin (loops.c:8)."* ]]
    [ "$(member eligible calls calls.headroom)" = false ]
    [ "$(member reason_id calls calls.headroom)" = '"call"' ]
    [ "$(member gap calls calls.headroom)" = null ]
    run -0 --separate-stderr "$HEADROOM" ceiling -o quotients.headroom -- ./loops quotients 40
    [[ "$stderr" == *"it divides integers that are loaded (loops.c:10)."* ]]
    [ "$(member reason_id quotients quotients.headroom)" = '"integer-division"' ]
}

search_measured()
{
    run --separate-stderr "$HEADROOM" ceiling -q --budget 0.4 -o searches.headroom -- ./loops searches 80
    as_alone 0
    [ "$(member trials searches searches.headroom)" -ge 2 ] || return 1
    python3 -c "import sys; sys.exit(not 0 < $(member l1_cycles searches searches.headroom) < 20)"
}

@test "a loop that ends when loaded data say so ends where it did" {
    expected="$(./loops searches 80)"
    at_last search_measured
    [ "$(member eligible searches searches.headroom)" = true ]
}

gate_measured() # FUNCTION
{
    run --separate-stderr "$HEADROOM" ceiling -q --budget 0.3 -o gated.headroom -- ./gated "$1"
    as_alone 3
    [ "$(member trials "$1" gated.headroom)" -ge 2 ] || return 1
    python3 -c "
gap = $(member gap "$1" gated.headroom | sed s/null/None/)
import sys; sys.exit(gap is None or not 0.3 < gap < 1)"
}

@test "loops that are short, in functions called again and again, are measured by gates" {
    cat >gated.c <<'EOF2'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N __attribute__((noinline, noclone))
/* a line of memory at every iteration */
N long finds(const int *a, long n, int x) { long i = 0; while (i < n && a[i] != x) i += 16; return i; }
N double dots(const double *a, const double *b, long n) { double s = 0; for (long i = 0; i < n; i += 8) s += a[i] * b[i]; return s; }
int main(int count, char **words)
{
    long bytes = 64 << 20, row = 8192, rows = bytes / row / 8, at = 0, sum = 0;
    int *a = malloc(bytes);
    double *b = malloc(bytes), all = 0;
    unsigned s = count;
    for (long i = 0; i < bytes / 4; i++) a[i] = 1;
    for (long i = 0; i < bytes / 8; i++) b[i] = 1.5;
    for (long r = 0; r < rows; r++) { s = s * 1664525 + 1013904223; a[r * row + (row / 2 + (s >> 16) % (row / 2)) / 16 * 16] = 7; }
    for (long i = 0; i < 120000; i++) {
        at = (at + 7919) % rows;
        if (!strcmp(words[1], "finds")) sum += finds(a + at * row, row, 7);
        else all += dots(b + at * row, b + at * row + row / 2, row / 2);
    }
    printf("%ld %g\n", sum, all);
    return 3;
}
EOF2
    "$HEADROOM" cc --ceiling -- "${CC:-cc}" -O2 -g gated.c -o gated
    "${CC:-cc}" -O2 -g gated.c -o plain
    for kernel in finds dots; do
        expected="$(./plain $kernel || true)"
        [ "$(./gated $kernel || true)" = "$expected" ]
        at_last gate_measured $kernel
    done
    # what is not prepared has a ceiling at most
    run -3 --separate-stderr "$HEADROOM" ceiling -q --budget 0.3 -o plain.headroom -- ./plain dots
    [ "$(member gap dots plain.headroom)" = null ]
}

leaves_tried()
{
    run --separate-stderr "$HEADROOM" ceiling -q --budget 0.4 -o leaves.headroom -- ./leaves "$1" "$2"
    as_alone 0
    [ "$(member eligible "$1" leaves.headroom)" = true ] || return 1
    [ "$(member trials "$1" leaves.headroom)" -ge 1 ] || return 1
    python3 -c "import sys; sys.exit(not $(member gap "$1" leaves.headroom) $3)"
}

@test "functions that a loop calls are tried with it, if all that they do is known" {
    cat >leaves.c <<'EOF2'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define LEAF __attribute__((noipa))
#define KERNEL __attribute__((noinline)) void
LEAF double poly(double x) { return ((x * .3 + 1) * x + 3) * x + .2; }
LEAF double saves(const double *at, double x) { __asm__ volatile("" ::: "rbx", "rbp", "r12", "r13"); return at[0] * x + at[1]; }
LEAF double chooses(const double *at, double x) { if (at[0] < 1.5) return x + at[0]; __asm__ volatile(""); return x * at[0]; }
LEAF double checks(const double *at, double x) { if (at[0] < -1000) { printf("negative %g\n", at[0]); return 0; } return x * at[0]; }
LEAF void grow(double *a, long n) { a[0] += n; printf("grown at %ld\n", n); }
LEAF double adds(const double *at, long n) { double sum = 0; for (long i = 0; i < n; i++) { sum += at[i]; __asm__ volatile(""); } return sum; }
KERNEL far(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i += 8) a[i] = poly(b[i]) + 3 * c[i]; }
KERNEL saved(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n - 1; i += 8) a[i] = saves(b + i, c[i]) + saves(c + i, b[i]); }
KERNEL chosen(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i += 8) a[i] = chooses(b + i, c[i]); }
KERNEL checked(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i += 8) a[i] = checks(b + i, c[i]); }
KERNEL guarded(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i += 8) { if (b[i] > 1e6) grow(a, i); a[i] = b[i] * c[i]; } }
KERNEL looped(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n - 8; i += 8) a[i] = adds(b + i, i & 7) * c[i] + adds(b + i, 4); }
int main(int count, char **words)
{
    long n = 1 << 22, runs = atol(words[2]);
    double *a = aligned_alloc(64, n * 8), *b = aligned_alloc(64, n * 8), *c = aligned_alloc(64, n * 8), sum = count;
    for (long i = 0; i < n; i++)
        a[i] = 0, b[i] = 1 + i / 8 * 2654435761u % 7 / 7., c[i] = -2;
    b[n - 8] = 2e6, b[n / 2] = -2000;
    for (long r = 0; r < runs; r++)
        (strcmp(words[1], "far") == 0 ? far : strcmp(words[1], "saved") == 0 ? saved : strcmp(words[1], "chosen") == 0 ? chosen : strcmp(words[1], "checked") == 0 ? checked : strcmp(words[1], "guarded") == 0 ? guarded : looped)(a, b, c, n);
    for (long i = 0; i < n; i++)
        sum += a[i];
    printf("%.17g\n", sum);
    return 0;
}
EOF2
    "${CC:-cc}" -O2 -g leaves.c -o leaves
    for loop in "far 200 >.3" "saved 120 >.1" "chosen 120 >-.5"; do
        read -r name runs expects <<<"$loop"
        expected="$(./leaves "$name" "$runs")"
        at_last leaves_tried "$name" "$runs" "$expects"
    done
    for name in checked guarded; do # what is not known may throw, however rare it is
        expected="$(./leaves "$name" 60)"
        run -0 --separate-stderr "$HEADROOM" ceiling -q --budget 0.4 -o "$name.headroom" -- ./leaves "$name" 60
        [ "$output" = "$expected" ]
        [ "$(member reason_id "$name" "$name.headroom")" = '"call"' ]
    done
    run -0 --separate-stderr "$HEADROOM" ceiling -o looped.headroom -- ./leaves looped 60
    [[ "$stderr" == *"calls adds, which has a loop of its own (leaves.c:11)"* ]]
    [ "$(member eligible looped looped.headroom)" = false ]
    [ "$(member reason_id looped looped.headroom)" = '"callee-loop"' ]
}

chance_replayed()
{
    run --separate-stderr "$HEADROOM" ceiling --budget 0.4 --variants l2,fp --loop chances -o chances.headroom -- ./loops chances 60
    as_alone 0
    [ "$(member trials chances chances.headroom)" -ge 2 ] || return 1
    # a branch that nobody can predict is none in the clone either: a wrong guess takes some ten cycles
    python3 -c "import sys; sys.exit(not $(member l1_cycles chances chances.headroom) > 5)"
}

@test "what goes through gates is as it would be, with signals, faults, children and threads" {
    cat >through.c <<'EOF2'
/* Short loops in functions that are called again and again, every value of which is in the output, while signals arrive, children and
   threads begin, and a loop faults. Handlers look where they have interrupted: only ever in the program's own code. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define N __attribute__((noinline))
static volatile sig_atomic_t alarms, elsewhere;
static sigjmp_buf back;
static char *guard;
static int rounds, count;
static struct { unsigned long from, to; } code[64];
static uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 1099511628211u; }
N long finds(const int *a, long n, int x) { long i = 0; while (i < n && a[i] != x) i++; return i; }
N double sums(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s = s * .999 + a[i]; return s; }
N uint64_t carries(uint64_t *u, long n, uint64_t c) { for (long i = 0; i < n; i++) __asm__ volatile("add %2, %0; adc $0, %1" : "+r"(c), "+r"(u[i]) : "r"(u[i]) : "cc"); return c; }
N long touches(volatile char *p, long n) { long s = 0; for (long i = 0; i < n; i++) s += p[i * 64]; return s; }
static void read_maps(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512], protection[8];
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%lx-%lx %7s", &code[count].from, &code[count].to, protection) == 3 && protection[2] == 'x' && !strstr(line, "headroom-clones") && count < 63) count++;
    fclose(file);
}
static int is_known(void *context)
{
    unsigned long at = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    for (int i = 0; i < count; i++) if (at >= code[i].from && at < code[i].to) return 1;
    return 0;
}
static void on_alarm(int number, siginfo_t *info, void *context) { (void)info; alarms += number == SIGALRM; elsewhere += !is_known(context); }
static void on_fault(int number, siginfo_t *info, void *context)
{
    elsewhere += !is_known(context) || (char *)info->si_addr < guard || (char *)info->si_addr >= guard + 4096;
    siglongjmp(back, number);
}
N long faults(void) { return sigsetjmp(back, 1) ? -1 : touches(guard - 64 * 60, 70); }
static uint64_t work(long seed, int forks)
{
    enum { M = 4096, ROW = 256 };
    int *a = malloc(M * 4);
    double *b = malloc(M * 8);
    uint64_t *u = malloc(M * 8), h = (uint64_t)seed, s = h + 1, bits;
    for (int i = 0; i < M; i++) a[i] = 1, b[i] = i * .25 + (double)seed, u[i] = i * 2654435761u;
    for (int i = 0; i < M; i += ROW) s = s * 6364136223846793005u + 1, a[i + 50 + (s >> 40) % 200] = 7;
    for (int r = 0; r < rounds; r++) {
        long at = (r * 7 % (M / ROW)) * ROW;
        double d = sums(b + at, ROW);
        memcpy(&bits, &d, 8);
        h = mix(mix(h, (uint64_t)finds(a + at, ROW, 7)), bits);
        u[at + r % ROW] = h;
        h = mix(h, carries(u + at, ROW, (uint64_t)r));
        if (forks && r % 50000 == 2500) {
            int status;
            pid_t child = fork();
            if (!child) { rounds = 20000; _exit((int)(work(seed + 1, 0) & 63)); }
            while (waitpid(child, &status, 0) < 0) ;
            h = mix(h, (uint64_t)status);
        }
        if (forks && r % 300 == 7) h = mix(h, (uint64_t)faults());
    }
    return h;
}
static void *thread(void *seed) { return (void *)work((long)seed, 0); }
int main(int words_count, char **words)
{
    struct itimerval often = {{0, 1700}, {0, 1700}};
    struct sigaction alarm = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART}, fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    rounds = atoi(words[1]);
    guard = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
    mprotect(guard, 4096, PROT_NONE);
    read_maps();
    sigaction(SIGALRM, &alarm, NULL);
    sigaction(SIGSEGV, &fault, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t h = work(3, 1);
    pthread_t threads[2];
    void *one;
    for (long i = 0; i < 2 && words_count > 2; i++) pthread_create(&threads[i], NULL, thread, (void *)i);
    for (int i = 0; i < 2 && words_count > 2; i++) { pthread_join(threads[i], &one); h = mix(h, (uint64_t)one); }
    h = mix(h, work(5, 1));
    printf("%016lx %d %d\n", h, alarms > 0, elsewhere);
    return 9;
}
EOF2
    for cc in gcc clang-14; do
        command -v $cc >/dev/null || continue
        "$HEADROOM" cc --ceiling -- $cc -O2 -g -pthread through.c -o through
        for words in 400000 "150000 threads"; do
            expected="$(./through $words || true)"
            [[ "$expected" == *" 1 0" ]]
            run -9 --separate-stderr "$HEADROOM" ceiling -q --budget 0.5 -o through.headroom -- ./through $words
            [ "$output" = "$expected" ]
        done
    done
}

@test "a loop whose branches depend on random data is as hard to predict in its clone" {
    expected="$(./loops chances 60)"
    at_last chance_replayed
    [ "$(member eligible chances chances.headroom)" = true ]
    [ "$(variant l2 chances chances.headroom reason)" = '"its branches depend on loaded data"' ]
}

@test "registers, flags, memory and signals are as they would be, in threads and children" {
    for i in 1 2 3; do
        run -7 --separate-stderr "$HEADROOM" ceiling -q --budget 0.5 -o strict.headroom -- ./strict 8000
        [ "$output" = "$(./strict 8000)" ]
    done
    "$HEADROOM" report --format json strict.headroom | grep -q '"trials":[1-9]'
}

@test "under all variants, too" {
    expected="$(./strict 8000)" || true
    for variant in l2 l3 ls fp l1,l2,l3,ls,fp; do
        tried=0
        for _ in 1 2 3 4 5; do # on a busy machine a run may have few trials
            run -7 --separate-stderr "$HEADROOM" ceiling -q --budget 0.5 --variants "$variant" -o strict.headroom -- ./strict 8000
            [ "$output" = "$expected" ]
            "$HEADROOM" report --format json strict.headroom | python3 -c 'import json, sys
loops = json.load(sys.stdin)["ceiling"]["loops"]
sys.exit(not any(v["trials"] for l in loops for v in l["variants"].values()))' && tried=1 && break
        done
        [ "$tried" = 1 ]
    done
    "$HEADROOM" view -o variants.html strict.headroom
    grep -q 'arithmetic alone' variants.html
}

@test "stop signals come in between" {
    cat >stops.c <<'EOF2'
/* Stopped and continued all the time by its child; each iteration counts in what it prints. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { ROW = 200 };
static uint64_t a[ROW], b[ROW];
__attribute__((noinline)) static void turn(uint64_t *restrict x, const uint64_t *restrict y, long rounds)
{
    for (long r = 0; r < rounds; r++)
        for (long i = 0; i < ROW; i++)
            x[i] = x[i] * 5 + y[i];
}
int main(int count, char **words)
{
    uint64_t sum = count;
    pid_t parent = getpid(), child = fork();
    while (child == 0 && getppid() == parent) {
        kill(parent, SIGSTOP);
        usleep(300);
        kill(parent, SIGCONT);
        usleep(10000);
    }
    if (child == 0)
        _exit(0);
    for (int i = 0; i < ROW; i++)
        a[i] = i, b[i] = 3 * i + 1;
    for (int p = 0; p < 40; p++)
        turn(a, b, atol(words[1]) / 40);
    for (int i = 0; i < ROW; i++)
        sum = sum * 31 + a[i];
    kill(child, SIGKILL);
    printf("%016lx\n", sum);
    return 0;
}
EOF2
    "${CC:-cc}" -O2 -g stops.c -o stops
    expected="$(./stops 16000000)"
    for i in 1 2 3; do
        run -0 --separate-stderr "$HEADROOM" ceiling -q --budget 0.5 -o stops.headroom -- ./stops 16000000
        [ "$output" = "$expected" ]
    done
    python3 -c "assert $(member trials turn stops.headroom) + $(member trials_discarded turn stops.headroom) > 0"
}

@test "a thread that is stopped executes another program" {
    cat >replaced.c <<'EOF2'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { N = 4096 };
static double a[N], b[N];
static char **words;
__attribute__((noinline)) static void loop(double *restrict x, const double *restrict y) { for (long i = 0; i < 100L * N; i++) x[i & (N - 1)] = x[i & (N - 1)] * .5 + y[i & (N - 1)]; }
static void *replace(void *unused)
{
    char number[16];
    char *const next[] = {words[0], number, NULL};
    for (int r = 0; r < 30; r++) loop(a, b);
    snprintf(number, sizeof number, "%d", atoi(words[1]) - 1);
    execv(words[0], next);
    return unused;
}
int main(int count, char **given)
{
    pthread_t thread;
    words = given;
    if (atoi(words[1]) == 0) { printf("%d at last\n", count); return 5; }
    pthread_create(&thread, NULL, replace, NULL);
    pause();
    return 1;
}
EOF2
    "${CC:-cc}" -O2 -g -pthread replaced.c -o replaced
    run -5 --separate-stderr timeout -s KILL 300 "$HEADROOM" ceiling -q --budget 0.5 -o replaced.headroom -- ./replaced 80
    [ "$output" = "2 at last" ]
    "$HEADROOM" report --format json replaced.headroom | grep -q '"trials":[1-9]'
}

@test "limits shows ceilings beside its bounds, and the page both" {
    run -0 --separate-stderr "$HEADROOM" limits --ceiling --only far -o limits.headroom -- ./loops far 300
    [ "$output" = "$(./loops far 300)" ]
    [[ "$stderr" == *"Limited by memory: it takes "*"tried with all its data in the first-level cache it"* ]]
    [[ "$stderr" == *"data in L1 "* && "$stderr" == *"in trials "* && "$stderr" == *"Ceilings of loops"* ]]
    "$HEADROOM" report --format json limits.headroom | python3 -c 'import json, sys
loop = json.load(sys.stdin)["limits"]["loops"][0]
assert loop["limit"] == "memory" and loop["advice"]["id"] == "limits.misses"
assert 0 < loop["l1_cycles"] < loop["tried_cycles"] and abs(1 - loop["l1_cycles"] / loop["tried_cycles"] - loop["gap"]) < .01'
    "$HEADROOM" view -o page.html limits.headroom
    grep -q ' limits ceiling' page.html
    run -2 "$HEADROOM" limits --ceiling loops
    [[ "$output" == *"--ceiling needs a command that is run, behind --"* ]]
}

@test "should headroom be killed the program goes on unharmed" {
    expected="$(./strict 8000 || echo "status $?")"
    RANDOM=20
    for i in {1..12}; do # a debug register that stays armed costs a signal in each iteration: it would not end in time
        "$HEADROOM" ceiling -q --budget 0.5 -o killed.headroom -- \
            sh -c './strict 8000 || echo "status $?"' >killed.out &
        pid=$!
        sleep "$((RANDOM % 2)).$((RANDOM % 800 + 100))"
        kill -KILL "$pid" || true
        wait "$pid" || true
        for j in {1..600}; do [ "$(wc -l <killed.out)" -ge 3 ] && break; sleep 0.1; done
        [ "$(cat killed.out)" = "$expected" ]
    done
}

@test "loops are chosen by function or line" {
    run -0 --separate-stderr "$HEADROOM" ceiling --loop near,loops.c:6 -o chosen.headroom -- ./loops far 60
    [[ "$stderr" == *"far (loops.c:6)"* && "$stderr" != *"main (loops.c"* ]]
    [[ "$stderr" == *"The innermost loops that were named take "* && "$stderr" != *"better locality cannot save more"* ]]
    run -0 --separate-stderr "$HEADROOM" ceiling --loop nosuch -o nosuch.headroom -- ./loops far 2
    [[ "$stderr" == *"No sample was in an innermost loop of that name"* ]]
    run -125 "$HEADROOM" ceiling --loop , -- ./loops far 1
    [[ "$output" == *"--loop names no loop"* ]]
    run -125 "$HEADROOM" ceiling
    [[ "$output" == *"no command to run was given"* ]]
}
