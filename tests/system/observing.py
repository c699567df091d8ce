# SPDX-License-Identifier: MIT
"""Programs run natively and observed, and what is said of the two: shared by `sweep` and `long`.

A *worker* owns a directory and makes its runs one after the other, each in the same fresh working directory, so that
paths in outputs agree. What a run shows is its standard output, its standard error without headroom's own lines, and
how it ended. Native runs come first and say how far they agree among each other (LEVELS); observed runs are held to that.
"""
import hashlib
import os
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import time

REFUSED = 125  # headroom's own exit status for "could not"
OWN_LINE = b"headroom: "
KEPT_BYTES = 16 << 20      # of each output
LARGEST_BYTES = 256 << 20  # of output: what writes more is killed. No RLIMIT_FSIZE, which counts headroom's shared memory
VERBS = {
    "run": ["run", "-q"],
    "waste": ["waste", "-q"],
    "reuse": ["reuse", "-q"],
    "sharing": ["sharing", "-q"],
    "interference": ["interference", "-q"],
}


class Outcome:
    """What one run showed."""

    def __init__(self, code, out, err, said, wall_s, cpu_s):
        self.code = code      # exit status, 128+N for signal N, None: it had to be killed
        self.out = out
        self.err = err
        self.said = said      # headroom's own lines
        self.wall_s = wall_s
        self.cpu_s = cpu_s    # of the process that was started and what it waited for

    @property
    def hung(self):
        return self.code is None

    def died(self):
        """By a signal of which crashes are made."""
        return self.code in {128 + number for number in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS,
                                                         signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS)}


# How far the native runs of one command agree, the strictest first -----------------------------


def as_it_is(data):
    return data


def without_numbers(data):
    return re.sub(rb"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|\d+(\.\d+)?", b"#", data)


def lines_in_any_order(data):
    return b"\n".join(sorted(set(re.sub(rb"[ \t]+", b" ", without_numbers(data)).splitlines())))


def nothing(_data):
    return b""


LEVELS = [("to the byte", as_it_is), ("but for numbers", without_numbers),
          ("but for numbers and order", lines_in_any_order), ("in status alone", nothing)]


def shown_at(outcome, level):
    """What is compared of an outcome."""
    tidy = LEVELS[level][1]
    return outcome.code, tidy(outcome.out), tidy(outcome.err)


def agreement(outcomes):
    """The strictest level at which all outcomes agree, or None: not even their statuses do."""
    for level in range(len(LEVELS)):
        if len({shown_at(outcome, level) for outcome in outcomes}) == 1:
            return level
    return None


# Running ---------------------------------------------------------------------------------------


def limit_resources():
    """For this process and all that it starts: no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def settled_environment(home):
    return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8",
            "TERM": "dumb", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def wait_until(pid, deadline_s, outputs):
    """(wait status, rusage), or None at the deadline or when it writes without end. A pidfd reports the end immediately."""
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while not poll.poll(500):
            if time.monotonic() > deadline_s or any(os.fstat(file.fileno()).st_size > LARGEST_BYTES for file in outputs):
                return None
        return os.wait4(pid, 0)[1:]
    finally:
        os.close(handle)


def kill_session(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Worker:
    """Makes runs, one at a time."""

    def __init__(self, directory, headroom=None, user=None):
        self.directory = directory
        self.work = os.path.join(directory, "work")
        self.home = os.path.join(directory, "home")
        self.profile = os.path.join(directory, "profile.headroom")
        self.headroom = headroom
        self.user = user      # (uid, gid) of an ordinary user who makes the runs
        os.makedirs(directory, exist_ok=True)

    def clear(self):
        for place in (self.work, self.home):
            if os.path.isdir(place) and not os.listdir(place):
                continue
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place, exist_ok=True)
            if self.user:
                os.chown(place, *self.user)
        for name in (self.profile, self.profile + ".old"):
            if os.path.exists(name):
                os.unlink(name)
        if self.user:
            os.chown(self.directory, *self.user)

    def run(self, command, before=(), stdin=os.devnull, limit_s=60.0, prepare=None):
        """Runs `before` + `command` and returns its Outcome. Nothing is left running of its process group."""
        self.clear()
        if prepare:
            prepare(self.work)
        names = [os.path.join(self.directory, name) for name in ("out", "err")]
        started = time.monotonic()
        with open(names[0], "w+b") as out, open(names[1], "w+b") as err, open(stdin, "rb") as given:
            child = subprocess.Popen([*before, *command], stdin=given, stdout=out, stderr=err, cwd=self.work,
                                     env=settled_environment(self.home), start_new_session=True,
                                     **({"user": self.user[0], "group": self.user[1], "extra_groups": []}
                                        if self.user else {}))
            ended = wait_until(child.pid, started + limit_s, (out, err))
            kill_session(child.pid)
            if ended is None:
                usage = os.wait4(child.pid, 0)[2]
                code = None
            else:
                status, usage = ended
                code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            child.returncode = 0  # reaped here
            out.seek(0)
            err.seek(0)
            said, shown = [], []
            for line in err.read(KEPT_BYTES).splitlines(keepends=True):
                (said if line.startswith(OWN_LINE) else shown).append(line)
            return Outcome(code, out.read(KEPT_BYTES), b"".join(shown), b"".join(said).decode(errors="replace").strip(),
                           time.monotonic() - started, usage.ru_utime + usage.ru_stime)

    def observe(self, command, verb, options=(), **more):
        """(Outcome, what the profile counts or None, what is wrong with the profile or None)"""
        before = [self.headroom, *VERBS[verb], *options, "-o", self.profile, "--"]
        outcome = self.run(command, before, **more)
        counts, problem = read_counts(self.profile)
        if counts is None and not problem and not outcome.said:
            problem = "no profile, and not a word why"
        return outcome, counts, problem


def read_counts(profile):
    """(counts, problem) of a profile that a recording wrote; (None, None) if there is none."""
    if not os.path.exists(profile):
        return None, None
    try:
        database = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
        try:
            def ask(query):
                return database.execute(query).fetchone()[0] or 0
            attempted, stored = (ask(f"select value from run where key='{key}'") for key in ("attempted", "stored"))
            dropped = ask("select sum(count) from dropped")
            corrupt = ask("select value from run where key='corrupt_records'")
            counts = {"attempted": int(attempted), "stored": int(stored), "images": ask("select count(*) from process"),
                      "threads": ask("select count(*) from thread"), "calls": int(ask("select sum(events) from block_thread"))}
        finally:
            database.close()
    except (sqlite3.Error, TypeError, ValueError) as error:
        return None, f"profile unreadable: {error}"
    if attempted != stored + dropped:
        return counts, f"profile: {attempted} samples attempted, but {stored} stored and {dropped} dropped"
    return counts, f"profile: {corrupt} corrupt records" if corrupt else None


# Verdicts --------------------------------------------------------------------------------------

# What headroom may refuse to observe. Anything else that it says instead of observing is a fault of this machine or of headroom.
REFUSABLE = re.compile(r"Go runtime|statically linked|32-bit|changes its user or capabilities|other C library", re.I)

EQUAL, REFUSAL, UNOBSERVED, NATIVE_TOO, DIFFERENCE, CRASH, HANG, PROFILE = (
    "equal", "refused", "not observed", "native too", "difference", "crash", "hang", "profile")
HARM = (DIFFERENCE, CRASH, HANG)


def judge(expected, level, seen):
    """The verdict on one observed outcome beside what native runs showed at a level."""
    if seen.code == REFUSED and expected.code != REFUSED and seen.said:
        return REFUSAL if REFUSABLE.search(seen.said) else UNOBSERVED
    if seen.hung:
        return HANG
    if shown_at(seen, level) == shown_at(expected, level):
        return EQUAL
    if seen.died() and seen.code != expected.code:
        return CRASH
    return DIFFERENCE


def native_does_too(seen, level, natives):
    """Did one of some more native runs show the same, or are they less alike than was thought?"""
    if any(shown_at(seen, level) == shown_at(native, level) for native in natives):
        return True
    looser = agreement(natives)
    return looser is None or (looser > level and any(shown_at(seen, looser) == shown_at(native, looser)
                                                     for native in natives))


def describe(expected, level, seen):
    """One line: in what they differ."""
    if seen.hung:
        return f"still running after {seen.wall_s:.0f} s; {seen.cpu_s:.1f} s of CPU time"
    parts = []
    if seen.code != expected.code:
        parts.append(f"status {seen.code} instead of {expected.code}")
    for name in ("out", "err"):
        want, have = (LEVELS[level][1](getattr(outcome, name)).splitlines() for outcome in (expected, seen))
        if want != have:
            missing = next((line for line in want if line not in have), None)
            extra = next((line for line in have if line not in want), None)
            if missing is not None:
                parts.append(f"{name} lacks {missing[:160].decode(errors='replace')!r}")
            if extra is not None:
                parts.append(f"{name} has {extra[:160].decode(errors='replace')!r}")
            if missing is None and extra is None:
                parts.append(f"{name}: order or number of lines")
    if seen.said:
        parts.append("said " + seen.said.replace("\n", " / ")[:200])
    return "; ".join(parts)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]
