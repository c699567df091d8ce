# SPDX-License-Identifier: MIT
"""Recordings to damage: a profile of every verb and engine, raw logs and regions as programs left them. What cannot be recorded here
is said and left out."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LONGEST_S = 120
MOST_BYTES = 4 << 20  # of a seed: larger ones would only make each mutant slower
STORES = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total, table[4096];
static __attribute__((noinline)) long fill(long *numbers, int count, int depth)
{
    if (depth)
        return fill(numbers, count, depth - 1) + 1;
    memset(numbers, 0, (size_t)count * sizeof *numbers);
    for (int i = 0; i < count; i++)
        numbers[i] = i % 7 ? i : numbers[i / 2];
    long sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[(i * 17) % count];
    return sum;
}
static void *work(void *argument)
{
    long *numbers = calloc(1024, sizeof *numbers);
    for (int i = 0; i < (int)(long)argument; i++) {
        long sum = fill(numbers, 1024, i % 9);
        pthread_mutex_lock(&lock);
        total += sum;
        table[i % 4096] += sum;
        pthread_mutex_unlock(&lock);
    }
    free(numbers);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t other;
    long times = argc > 1 ? atol(argv[1]) : 1000;
    pthread_create(&other, NULL, work, (void *)times);
    work((void *)times);
    pthread_join(other, NULL);
    printf("%ld\\n", total);
    if (argc > 2)
        getchar();
    return 0;
}
"""
TIMES, FEW = "100000", "300"
# name: (verb and options, command); {p} the program, {b} the one that counts by itself
RECORDINGS = {
    "waste": (["waste", "--rate", "500"], ["{p}", TIMES]),
    "waste-children": (["waste", "--rate", "500"], ["sh", "-c", "{p} 30000; ls -lR /usr/include/linux | sort -k5 >/dev/null; {p} 20000"]),
    "reuse": (["reuse", "--rate", "500"], ["{p}", TIMES]),
    "reuse-line": (["reuse", "--unit", "line"], ["python3", "-c", "print(sum(len(str(i)) for i in range(2000000)))"]),
    "interference": (["interference", "--functions", "fill,work"], ["{p}", TIMES]),
    "interference-chosen": (["interference"], ["{p}", "200000"]),
    "exact-waste": (["waste", "--exact"], ["{p}", FEW]),
    "exact-reuse": (["reuse", "--exact", "--what-if-cache", "32K,8"], ["{p}", FEW]),
    "exact-paths": (["paths", "--exact"], ["{p}", FEW]),
    "paths-built": (["paths"], ["{b}", FEW]),
}
REGIONS = {
    "interference": (["interference", "--functions", "fill,work"], ["{p}", "20000", "wait"], "headroom-blocks", "blocks"),
    "paths": (["paths"], ["{b}", FEW, "wait"], "headroom-built", "built"),
}


def say(text):
    print("# " + text, file=sys.stderr, flush=True)


def compiled(directory, recorder):
    source = os.path.join(directory, "stores.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(STORES)
    plain, built = os.path.join(directory, "stores"), os.path.join(directory, "stores-built")
    subprocess.run(["cc", "-O2", "-g", "-pthread", "-o", plain, source], check=True)
    done = subprocess.run([recorder, "cc", "--paths", "--contexts", "--", "gcc", "-O2", "-g", "-pthread", "-o", built, source],
                          capture_output=True)
    if done.returncode != 0:
        say(f"no program that counts by itself: {done.stderr.decode()[-200:]}")
    return {"p": plain, "b": built}


def filled(words, programs):
    return [word.format(**programs) for word in words]


def record(directory, recorder, name, options, command):
    """The profile, and the raw log: it is gone when it has been read, so a second name is given to it meanwhile."""
    profile, raw = os.path.join(directory, name + ".headroom"), os.path.join(directory, name + ".raw")
    process = subprocess.Popen([recorder, options[0], "-q", "-o", profile, *options[1:], "--", *command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=directory)
    started, linked = time.monotonic(), False
    while process.poll() is None and time.monotonic() - started < LONGEST_S:
        for path in [] if linked else glob.glob(profile + ".raw.*"):
            try:
                os.link(path, raw)
                linked = True
            except OSError:
                pass
        time.sleep(0.02)
    if process.poll() is None:
        process.terminate()
    said = process.communicate()[1].decode(errors="replace").strip()
    if not os.path.exists(profile):
        say(f"no recording {name}: {said[-300:]}")
    if os.path.exists(raw) and os.path.getsize(raw) > MOST_BYTES:
        os.truncate(raw, MOST_BYTES)
    if os.path.exists(profile) and os.path.getsize(profile) > MOST_BYTES:
        say(f"recording {name} is too large: {os.path.getsize(profile)} bytes")
        os.unlink(profile)


def copy_sparse(source, target):
    """Only what is in the file, not its holes; these stay holes."""
    size, at = os.fstat(source).st_size, 0
    with open(target, "wb") as file:
        file.truncate(size)
        while at < size:
            try:
                at = os.lseek(source, at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(source, at, os.SEEK_HOLE)
            while at < end:
                piece = os.pread(source, min(1 << 20, end - at), at)
                if not piece:
                    break
                if piece.strip(b"\0"):
                    file.seek(at)
                    file.write(piece)
                at += len(piece)


def keep_region(directory, recorder, name, options, command, memory, ending):
    """The memory that headroom and the program share, as it is when the program has nothing more to do."""
    profile = os.path.join(directory, "region.headroom")
    process = subprocess.Popen([recorder, options[0], "-q", "-o", profile, *options[1:], "--", *command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=directory)
    process.stdout.fileno()
    time.sleep(10)  # the program waits for a character
    found = False
    for number in os.listdir(f"/proc/{process.pid}/fd") if process.poll() is None else ():
        path = f"/proc/{process.pid}/fd/{number}"
        try:
            if not os.readlink(path).startswith(f"/memfd:{memory}"):
                continue
            source = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        copy_sparse(source, os.path.join(directory, f"{name}.{ending}"))
        os.close(source)
        for raw in glob.glob(profile + ".raw.*"):  # and the copy of the region that lies beside it
            shutil.copyfile(raw, os.path.join(directory, name + (".saved" if raw.endswith(".blocks") else f".{ending}-log")))
        found = True
    if not found:
        say(f"no region of {name}")
    try:
        process.communicate(b"\n", timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
    for path in glob.glob(profile + "*"):
        os.unlink(path)


def make(directory, recorder):
    recorder = os.path.abspath(recorder)
    made = os.path.join(directory, "stores")
    if os.path.exists(made) and os.path.getmtime(made) > os.path.getmtime(recorder):
        return
    for pattern in ("*.raw", "*.headroom", "*.blocks*", "*.built", "*.saved"):  # of another version; the made ones come later
        for path in glob.glob(os.path.join(directory, pattern)):
            os.unlink(path)
    programs = compiled(directory, recorder)
    for name, (options, command) in RECORDINGS.items():
        record(directory, recorder, name, options, filled(command, programs))
    for name, (options, command, memory, ending) in REGIONS.items():
        keep_region(directory, recorder, name, options, filled(command, programs), memory, ending)
    parts = [os.path.join(directory, name + ".headroom") for name in ("waste", "waste-children")]
    if all(map(os.path.exists, parts)):
        subprocess.run([recorder, "merge", "-o", os.path.join(directory, "merged-waste.headroom"), *parts],
                       stderr=subprocess.DEVNULL, check=False)
