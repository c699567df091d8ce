#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# headroom ceiling from outside: loops that wait for memory and loops that do not, why a loop cannot be tried, programs that would
# show any register, flag or byte that is not put back.

load common
bats_require_minimum_version 1.5.0

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >loops.c <<'EOF2'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KERNEL __attribute__((noinline)) void
KERNEL far(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i++) a[i] = b[i] + 3 * c[i]; }
KERNEL near(double *restrict a, const double *restrict b, const double *restrict c, long n) { double s = 0; for (long i = 0; i < n; i++) s = s * .5 + b[i & 511] * c[i & 255]; a[0] += s; }
KERNEL calls(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long i = 0; i < n; i++) a[i] = sin(b[i]) + c[i]; }
KERNEL searches(double *restrict a, const double *restrict b, const double *restrict c, long n) { long i = 0; while (i < n && b[i] != c[0]) i++; a[0] += (double)i; }
KERNEL rows(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 200; r++) for (long i = 0; i < 200; i++) a[i] = a[i] * .5 + b[i] * c[i]; }
KERNEL table(double *restrict a, const double *restrict b, const double *restrict c, long n) { for (long r = 0; r < n / 64; r++) { double s = 0; for (long i = 0; i < 64; i++) s += b[i * (n / 64) + r]; a[r] += s * c[r]; } }
int main(int count, char **words)
{
    long n = 1 << 22, runs = atol(words[2]);
    double *a = aligned_alloc(64, n * 8), *b = aligned_alloc(64, n * 8), *c = aligned_alloc(64, n * 8), sum = 0;
    for (long i = 0; i < n; i++)
        a[i] = 0, b[i] = 1 + i % 7, c[i] = -2;
    for (long r = 0; r < runs; r++)
        (strcmp(words[1], "rows") == 0 ? rows : strcmp(words[1], "table") == 0 ? table : strcmp(words[1], "far") == 0 ? far : strcmp(words[1], "near") == 0 ? near : strcmp(words[1], "calls") == 0 ? calls : searches)(a, b, c, n);
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
    for i in 1 2 3 4; do # a busy machine may disturb one
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
    for i in 1 2 3 4 5; do # a busy machine may disturb one
        run -0 --separate-stderr "$HEADROOM" ceiling -q --budget 0.3 -o rows.headroom -- ./loops rows 240
        [ "$output" = "$expected" ]
        [ "$(member short rows rows.headroom)" = false ]
        python3 -c "import sys; sys.exit(not -0.2 < $(member gap rows rows.headroom) < 0.2)" && return 0
    done
    return 1
}

@test "a loop that cannot be tried has a reason, and its place" {
    run -0 --separate-stderr "$HEADROOM" ceiling -o calls.headroom -- ./loops calls 12
    [[ "$stderr" == *"Not measured: it calls sin (loops.c:8)."* ]]
    [ "$(member eligible calls calls.headroom)" = false ]
    [ "$(member reason_id calls calls.headroom)" = '"call"' ]
    [ "$(member gap calls calls.headroom)" = null ]
    run -0 --separate-stderr "$HEADROOM" ceiling -o searches.headroom -- ./loops searches 80
    [[ "$stderr" == *"it branches on loaded data (loops.c:9)."* ]]
    [ "$(member reason_id searches searches.headroom)" = '"data-dependent-branch"' ]
}

@test "registers, flags, memory and signals are as they would be, in threads and children" {
    for i in 1 2 3; do
        run -7 --separate-stderr "$HEADROOM" ceiling -q --budget 0.5 -o strict.headroom -- ./strict 8000
        [ "$output" = "$(./strict 8000)" ]
    done
    "$HEADROOM" report --format json strict.headroom | grep -q '"trials":[1-9]'
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
    run -125 "$HEADROOM" ceiling --loop , -- ./loops far 1
    [[ "$output" == *"--loop names no loop"* ]]
    run -125 "$HEADROOM" ceiling
    [[ "$output" == *"no command to run was given"* ]]
}
