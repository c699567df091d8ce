// SPDX-License-Identifier: MIT
/*
 * Cache lines that threads share, with known answers. sharing CASE [TIMES | SECONDSs]; TURNS accesses to a line each, from lines
 * of this file that say what they do, those that write TIMES over,
 * or again and again until each thread has used SECONDS of CPU time. Where two threads write (read) in turn at one rate, the transfers between them are half of
 * all accesses, and in each direction half of these.
 *
 *   ww        both write, bytes apart: false; TURNS transfers
 *   forked    the same in a process and its child, threads of each alike: twice as many
 *   names     the same, in two variables: false
 *   wr        one writes, the other reads other bytes: false; TURNS
 *   true      both write the same word: true; TURNS
 *   reads     both read: none
 *   padded    both write, a line each: none
 *   three     three pairs of words on three lines: false, 50:33:17
 *   phases    threads write the line in turn, barriers in between: none
 *   mutex     four threads change a word that a mutex of the C library protects: true
 *   given     memory of some lines that threads hand on to each other thousands of times a second, and write all over many times in a turn: none that
 *             matters
 *   array     eight threads, elements of 16 bytes of one array: false on two lines
 *   reused    blocks of the heap that are freed, and used by the other thread, each alone: none
 *   heap      a structure of the heap, 128 bytes: false at +64
 *   later     the same, allocated by what follows a join: the same
 *   freed     the same, and freed before the program ends: the same
 *   recycled  the same, of the last block that one caller has, each freed before the next one: the same
 *   many      the same, of the last of those that are there at a time: the same
 *   small     two blocks of 16 bytes on one line: false
 *   atomic    a counter changed by locked instructions: true, a lock
 *   lock      a spin lock and what it protects on one line: the lock word is true
 *   stack     a line of the main thread's stack: false
 *   sixteen   16 threads write a word each on two lines: false
 *   joined    threads one after the other, each joined before the next begins: none
 *   short     threads that end before they could be sampled: what they share is not known
 *   local     a line of thread-local memory of one thread, which another one writes, too: false
 *   processes two processes write a line of memory that they share, bytes apart: false
 *   started   the same of a file, in two programs that map it at addresses of their own
 *   parted    a line each of such memory: none
 *   copied    processes write the same addresses, but of memory that each has for itself: none
 *   storm     as processes, but those that write beside the first one are short-lived: killed wherever they are, executing
 *             another program, or restricted to next to no system calls: false
 *   spun      handed over by a flag that is read until it changes: no transfers of the data but one
 *   several   sixteen blocks from one place, as the program begins: false, all of them
 *   handed    the same again and again, to and fro; who waits reads three words. A transfer each time, and waiting is no work
 *   paused    as handed, by one word, with the instruction pause
 *   spinning  as paused, with much to do in a turn, and a store to a common line right after each wait: none that matters
 *   constants between writes of a word of its own in a common line each computes with numbers that it reads: false
 *   alone     one thread: none
 */
#include "known.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 60000, THREADS = 16, PHASES = 40, HANDS = 100, LINES = 16 };

struct line {
    volatile uint64_t words[8];
} __attribute__((aligned(64)));

static struct line shared, apart[2], three[3], wide[2], parts[LINES];
static struct {
    volatile uint64_t hits, misses;
} array[8] __attribute__((aligned(64)));
static struct {
    _Atomic uint32_t locked;
    volatile uint32_t protected;
} guard __attribute__((aligned(64)));
static struct {
    _Atomic uint64_t counter;
} counter __attribute__((aligned(64)));
static struct {
    _Atomic uint32_t waiting, ready;
} flag __attribute__((aligned(64)));
static struct {
    _Atomic uint32_t turn, stopped, broken;
} relay __attribute__((aligned(64)));
static struct {
    pthread_mutex_t lock;
    volatile uint64_t count;
} kept __attribute__((aligned(64)));
static pthread_barrier_t barrier, start;
static long times;
static double seconds;

/* Next to each other, whatever compilers think of it. */
extern volatile uint64_t left, right;
__asm__(".pushsection .data\n"
        ".balign 64\n"
        ".globl left, right\n"
        ".type left, @object\n"
        ".size left, 8\n"
        "left: .quad 0\n"
        ".type right, @object\n"
        ".size right, 8\n"
        "right: .quad 0\n"
        ".balign 64\n"
        ".popsection\n");

static bool again(void)
{
    return seconds > 0 && known_running(seconds);
}

/* All begin together: what one does before the others are there is no sharing. */
static void begin(void)
{
    pthread_barrier_wait(&start);
}

static void run(unsigned threads, void *(*work)(void *))
{
    pthread_t made[THREADS];
    pthread_barrier_init(&start, NULL, threads);
    for (uintptr_t i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
}

static void write_to(volatile uint64_t *word, unsigned turns)
{
    for (long again = 0; again < times; again++)
        for (uint64_t i = 0; i < turns; i++)
            *word = i; /* @writes */
}

static void read_from(volatile uint64_t *word, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        (void)*word; /* @reads */
}

static void *ww(void *number)
{
    begin();
    do {
        write_to(&shared.words[(uintptr_t)number], TURNS);
    } while (again());
    return NULL;
}

static void forked(void)
{
    run(2, ww);
    pid_t child = fork();
    if (child == 0) {
        run(2, ww);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void *names(void *number)
{
    begin();
    do {
        write_to(number ? &right : &left, TURNS);
    } while (again());
    return NULL;
}

static void *wr(void *number)
{
    begin();
    do {
        if (number)
            read_from(&shared.words[4], TURNS);
        else
            write_to(&shared.words[0], TURNS);
    } while (again());
    return NULL;
}

static void *same(void *number)
{
    (void)number;
    begin();
    do {
        write_to(&shared.words[2], TURNS);
    } while (again());
    return NULL;
}

static void *reads(void *number)
{
    begin();
    do {
        read_from(&shared.words[(uintptr_t)number], TURNS);
    } while (again());
    return NULL;
}

static void *padded(void *number)
{
    begin();
    do {
        write_to(&apart[(uintptr_t)number].words[0], TURNS);
    } while (again());
    return NULL;
}

static void *in_three(void *number)
{
    begin();
    do {
        for (unsigned i = 0; i < TURNS; i += 600) {
            write_to(&three[0].words[(uintptr_t)number], 300);
            write_to(&three[1].words[(uintptr_t)number], 200);
            write_to(&three[2].words[(uintptr_t)number], 100);
        }
    } while (again());
    return NULL;
}

static void *phases(void *number)
{
    unsigned phases = seconds > 0 ? (unsigned)(seconds * 250) : PHASES; /* of some milliseconds */
    unsigned turns = seconds > 0 ? 100 * TURNS : TURNS / PHASES;
    for (uintptr_t i = 0; i < phases; i++) {
        if (i % 2 == (uintptr_t)number)
            write_to(&shared.words[0], turns);
        else if (seconds > 0)
            write_to(&apart[(uintptr_t)number].words[0], turns);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* More threads than processors, perhaps, so that some wait in the kernel, and others take the lock twice before they do. */
static void *mutex(void *number)
{
    (void)number;
    volatile uint64_t own[8];
    begin();
    do {
        for (unsigned i = 0; i < TURNS / 100; i++) {
            pthread_mutex_lock(&kept.lock);
            kept.count++;
            pthread_mutex_unlock(&kept.lock);
            write_to(own, 200);
        }
    } while (again());
    return NULL;
}

/* Both wait for each other, in the kernel, until one has had its time. */
static sem_t turns_of[2];
static _Atomic bool turns_over;

static void *given(void *number)
{
    enum { WRITES = 32000 };
    uintptr_t own = (uintptr_t)number;
    begin();
    do {
        sem_wait(&turns_of[own]);
        for (unsigned i = 0; i < WRITES; i++)
            for (unsigned line = 0; line < LINES; line++)
                parts[line].words[i % 8] = i;
        turns_over = turns_over || !again();
        sem_post(&turns_of[!own]);
    } while (!turns_over);
    return NULL;
}

static void *elements(void *number)
{
    begin();
    do {
        for (uint64_t i = 0; i < TURNS; i++)
            array[(uintptr_t)number].hits = i;
    } while (again());
    return NULL;
}

static void *churn(void *number)
{
    begin();
    do {
        for (unsigned i = 0; i < 200; i++) {
            uint64_t *block = malloc(64 + (uintptr_t)number * 64);
            write_to(block, 100);
            free(block);
        }
    } while (again());
    return NULL;
}

static volatile uint64_t *block;

static void *in_block(void *number)
{
    begin();
    do {
        write_to(&block[8 + (uintptr_t)number], TURNS);
    } while (again());
    return NULL;
}

static void *nothing(void *number)
{
    return number;
}

static void later(void)
{
    pthread_t made;
    pthread_create(&made, NULL, nothing, NULL);
    pthread_join(made, NULL);
    block = aligned_alloc(64, 128);
    run(2, in_block);
}

static void freed(void)
{
    block = aligned_alloc(64, 128);
    run(2, in_block);
    free((void *)block);
}

/* All from one caller. Behind so many others, of other sizes, that few of them are recorded for their bytes. */
__attribute__((noinline)) static void *crowded_block(void)
{
    enum { OTHERS = 300 };
    void *others[OTHERS];
    for (size_t i = 0; i < OTHERS; i++)
        others[i] = malloc(500);
    for (size_t i = 0; i < OTHERS; i++)
        free(others[i]);
    void *volatile last = aligned_alloc(64, 128); /* @crowded */
    return last;
}

enum { CROWD = 40 };

static void recycled(void)
{
    block = NULL;
    for (int i = 0; i < CROWD; i++) {
        free((void *)block);
        block = crowded_block();
    }
    run(2, in_block);
}

static void many(void)
{
    void *crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        crowd[i] = crowded_block();
    block = crowd[CROWD - 1];
    run(2, in_block);
    for (int i = 0; i < CROWD; i++)
        free(crowd[i]);
}

enum { SEVERAL = 16 };
static uint64_t *several_blocks[SEVERAL];

/* Behind some other places of allocation, each of a size of its own. */
__attribute__((noinline)) static void *one_of_several(void)
{
    void *volatile made = aligned_alloc(64, 64); /* @several */
    return made;
}

static void *in_several(void *number)
{
    begin();
    do {
        for (unsigned i = 0; i < SEVERAL; i++)
            write_to(&several_blocks[i][(uintptr_t)number], TURNS / SEVERAL / 10);
    } while (again());
    return NULL;
}

static void several(void)
{
    enum { OTHERS = 150 };
    void *others[OTHERS];
    for (size_t i = 0; i < OTHERS; i++)
        others[i] = malloc(4000 + 16 * i);
    for (size_t i = 0; i < SEVERAL; i++)
        several_blocks[i] = one_of_several();
    run(2, in_several);
    for (size_t i = 0; i < OTHERS; i++)
        free(others[i]);
}

static volatile uint64_t *blocks[2];

static void *in_small(void *number)
{
    begin();
    do {
        write_to(blocks[(uintptr_t)number], TURNS);
    } while (again());
    return NULL;
}

static void *add(void *number)
{
    (void)number;
    begin();
    do {
        for (unsigned i = 0; i < TURNS; i++)
            atomic_fetch_add(&counter.counter, 1); /* @adds */
    } while (again());
    return NULL;
}

static void *locks(void *number)
{
    (void)number;
    begin();
    do {
        for (unsigned i = 0; i < TURNS / 10; i++) {
            while (atomic_exchange(&guard.locked, 1)) /* @locks */
                ;
            guard.protected ++;
            atomic_store(&guard.locked, 0);
        }
    } while (again());
    return NULL;
}

static struct line *on_stack;

static void *in_stack(void *number)
{
    begin();
    do {
        write_to(&on_stack->words[(uintptr_t)number], TURNS);
    } while (again());
    return NULL;
}

static void stack(void)
{
    struct line line;
    on_stack = &line;
    run(2, in_stack);
}

static void *sixteenth(void *number)
{
    begin();
    do {
        write_to(&wide[(uintptr_t)number / 8].words[(uintptr_t)number % 8], TURNS / 4);
    } while (again());
    return NULL;
}

static void *alone(void *number)
{
    (void)number;
    do {
        write_to(&shared.words[0], TURNS);
    } while (again());
    return NULL;
}

static void joined(void)
{
    for (unsigned i = 0; i < 4; i++) {
        pthread_t made;
        pthread_create(&made, NULL, alone, NULL);
        pthread_join(made, NULL);
        write_to(&shared.words[1], TURNS / 4);
    }
}

static void *spun(void *number)
{
    if (number) {
        atomic_store(&flag.waiting, 1);
        while (!atomic_load(&flag.ready))
            ;
        write_to(&shared.words[1], TURNS);
    } else {
        while (!atomic_load(&flag.waiting))
            ;
        write_to(&shared.words[0], TURNS);
        atomic_store(&flag.ready, 1);
    }
    return NULL;
}

/* The second one begins, once the first one waits. Returns the first turn of the thread. */
static uint32_t first_turn(uintptr_t number)
{
    if (!number)
        atomic_store(&flag.waiting, 1);
    while (!atomic_load(&flag.waiting))
        __builtin_ia32_pause();
    return !number;
}

static void *handed(void *number)
{
    for (uint32_t i = first_turn((uintptr_t)number); i < HANDS; i += 2) {
        while (atomic_load(&relay.turn) != i && !atomic_load(&relay.stopped) &&
               !atomic_load(&relay.broken))
            ;
        write_to(&shared.words[(uintptr_t)number], TURNS / HANDS);
        atomic_fetch_add(&relay.turn, 1);
    }
    return NULL;
}

static void *paused(void *number)
{
    for (uint32_t i = first_turn((uintptr_t)number); i < HANDS; i += 2) {
        while (atomic_load(&relay.turn) != i)
            __builtin_ia32_pause();
        write_to(&shared.words[(uintptr_t)number], TURNS / HANDS);
        atomic_fetch_add(&relay.turn, 1);
    }
    return NULL;
}

/* Until the first one has had enough. What comes right after a wait is little of what is done, but what a tick in the wait sees ahead once that has ended. */
static void *spinning(void *number)
{
    volatile uint64_t *own = &apart[(uintptr_t)number].words[0];
    for (uint32_t i = first_turn((uintptr_t)number); i < HANDS || again(); i += 2) {
        while (atomic_load(&relay.turn) != i && !atomic_load(&relay.stopped))
            __builtin_ia32_pause();
        shared.words[(uintptr_t)number] = i;
        if (atomic_load(&relay.stopped))
            break;
        write_to(own, TURNS);
        atomic_fetch_add(&relay.turn, 1);
    }
    atomic_store(&relay.stopped, 1);
    return NULL;
}

/* What is read looks like a word that somebody else will change. */
static void *constants(void *number)
{
    static volatile uint64_t factor = 6364136223846793005U, more = 1442695040888963407U;
    uint64_t value = (uintptr_t)number;
    begin();
    do {
        for (unsigned i = 0; i < TURNS / 100; i++) {
            for (unsigned k = 0; k < 40; k++)
                value = value * factor + more;
            shared.words[(uintptr_t)number] = value;
        }
    } while (again());
    return NULL;
}

static void *brief(void *number)
{
    write_to(&shared.words[(uintptr_t)number], TURNS / 1000);
    return NULL;
}

static void briefly(void)
{
    for (uintptr_t i = 0; i < 100; i++) {
        pthread_t made[2];
        for (uintptr_t j = 0; j < 2; j++)
            pthread_create(&made[j], NULL, brief, (void *)j);
        for (uintptr_t j = 0; j < 2; j++)
            pthread_join(made[j], NULL);
    }
}

static __thread struct line lent;
static struct line *borrowed;

static void *in_local(void *number)
{
    if (!number)
        borrowed = &lent;
    begin();
    do {
        write_to(&borrowed->words[(uintptr_t)number], TURNS);
    } while (again());
    begin(); /* while the other one is at it the memory has to be there */
    return NULL;
}

/* ---- processes ---- */

static struct common {
    pthread_barrier_t start;
    struct line lines[2];
} * common;

static void map_common(int file)
{
    int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0);
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, flags, file, 0);
    if (common == MAP_FAILED)
        exit(3);
}

static void let_both_start(void)
{
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&common->start, &attributes, 2);
}

static void write_together(volatile uint64_t *word)
{
    pthread_barrier_wait(&common->start);
    do {
        write_to(word, TURNS);
    } while (again());
}

/* Both in a process of its own. */
static void fork_both(void (*work)(unsigned number))
{
    for (unsigned i = 0; i < 2; i++)
        if (fork() == 0) {
            work(i);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static void in_common(unsigned number)
{
    write_together(&common->lines[0].words[number]);
}

static void in_common_apart(unsigned number)
{
    write_together(&common->lines[number].words[0]);
}

static void in_own(unsigned number)
{
    write_together(&shared.words[number]);
}

static void processes(void)
{
    map_common(-1);
    let_both_start();
    fork_both(in_common);
}

static void parted(void)
{
    map_common(-1);
    let_both_start();
    fork_both(in_common_apart);
}

static void copied(void)
{
    map_common(-1);
    let_both_start();
    fork_both(in_own);
}

static char *words_of_command[5];

static void start_again(unsigned number)
{
    char digit[2] = {(char)('0' + number), 0};
    words_of_command[1] = "attached";
    words_of_command[4] = digit;
    execv("/proc/self/exe",
          (char *[]){words_of_command[0], words_of_command[1], words_of_command[2],
                     words_of_command[3], words_of_command[4], NULL});
    _exit(3);
}

static void started(void)
{
    char path[] = "/tmp/sharing.XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || ftruncate(file, sizeof *common) != 0)
        exit(3);
    map_common(file);
    let_both_start();
    words_of_command[3] = path;
    fork_both(start_again);
    unlink(path);
}

static void attached(void)
{
    unsigned number = (unsigned)(words_of_command[4][0] - '0');
    (void)!mmap(NULL, (number + 1) << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    map_common(open(words_of_command[3], O_RDWR));
    in_common(number);
}

static void write_until_killed(void)
{
    for (;;)
        write_to(&common->lines[0].words[1], TURNS);
}

static void one_of_the_storm(unsigned number)
{
    if (number % 8 == 7) {
        execv("/proc/self/exe", (char *[]){words_of_command[0], "alone", NULL});
        _exit(3);
    }
    if (number % 8 == 3) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        write_to(&common->lines[0].words[1], 50 * TURNS);
        syscall(SYS_exit, 0);
    }
    write_until_killed();
}

static void storm(void)
{
    map_common(-1);
    for (unsigned i = 0; again() || i == 0; i++) {
        pid_t child = fork();
        if (child == 0)
            one_of_the_storm(i);
        write_to(&common->lines[0].words[0], (20 + i % 7) * 2000000);
        if (i % 8 != 3 && i % 8 != 7)
            kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

static void small(void)
{
    char *first = malloc(16), *second = malloc(16);
    while ((uintptr_t)first / 64 != (uintptr_t)second / 64) {
        first = second;
        second = malloc(16);
    }
    blocks[0] = (uint64_t *)first;
    blocks[1] = (uint64_t *)second;
    run(2, in_small);
}

static const struct {
    const char *name;
    unsigned threads;
    void *(*work)(void *);
    void (*itself)(void);
} cases[] = {
    {"ww", 2, ww, NULL},
    {"wr", 2, wr, NULL},
    {"true", 2, same, NULL},
    {"reads", 2, reads, NULL},
    {"padded", 2, padded, NULL},
    {"three", 2, in_three, NULL},
    {"phases", 2, phases, NULL},
    {"mutex", 4, mutex, NULL},
    {"given", 2, given, NULL},
    {"array", 8, elements, NULL},
    {"reused", 2, churn, NULL},
    {"heap", 2, in_block, NULL},
    {"small", 0, NULL, small},
    {"atomic", 2, add, NULL},
    {"lock", 2, locks, NULL},
    {"stack", 0, NULL, stack},
    {"sixteen", 16, sixteenth, NULL},
    {"joined", 0, NULL, joined},
    {"spun", 2, spun, NULL},
    {"handed", 2, handed, NULL},
    {"paused", 2, paused, NULL},
    {"spinning", 2, spinning, NULL},
    {"constants", 2, constants, NULL},
    {"alone", 0, NULL, NULL},
    {"later", 0, NULL, later},
    {"freed", 0, NULL, freed},
    {"recycled", 0, NULL, recycled},
    {"many", 0, NULL, many},
    {"several", 0, NULL, several},
    {"names", 2, names, NULL},
    {"forked", 0, NULL, forked},
    {"short", 0, NULL, briefly},
    {"local", 2, in_local, NULL},
    {"processes", 0, NULL, processes},
    {"started", 0, NULL, started},
    {"attached", 0, NULL, attached},
    {"parted", 0, NULL, parted},
    {"copied", 0, NULL, copied},
    {"storm", 0, NULL, storm},
};

int main(int count, char **arguments)
{
    char *end = NULL;
    for (int i = 0; i < count && i < 5; i++)
        words_of_command[i] = arguments[i];
    seconds = count >= 3 ? strtod(arguments[2], &end) : 0;
    if (!end || *end != 's')
        seconds = 0;
    times = count == 3 && seconds <= 0 ? strtol(arguments[2], NULL, 10) : 1;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_mutex_init(&kept.lock, NULL);
    sem_init(&turns_of[0], 0, 1);
    sem_init(&turns_of[1], 0, 0);
    block = aligned_alloc(64, 128);
    for (size_t i = 0; count >= 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, arguments[1]) != 0)
            continue;
        if (cases[i].work)
            run(cases[i].threads, cases[i].work);
        else if (cases[i].itself)
            cases[i].itself();
        else
            alone(NULL);
        return 0;
    }
    return 2;
}
