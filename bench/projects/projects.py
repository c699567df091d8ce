# SPDX-License-Identifier: MIT
"""Builds, tests and runs the projects of recipes/ with any compiler command; common says what a recipe is.

Whatever a compiler, a test or a program does, each step ends: by a time limit if need be, together with all that it
started.
"""
import os
import re
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
FLAGS = "-O2 -g"

# Seconds; of a build natively at most 150, of the tests 120, of a workload 10.
LIMITS = {"fetch": 300, "build": 1500, "check": 900, "prepare": 300, "workload": 300}


def names():
    return sorted(name for name in os.listdir(os.path.join(HERE, "recipes")) if name.isalnum())


class Compilers:
    """Three compiler commands, in words."""

    def __init__(self, cc="gcc", cxx="g++", fc="gfortran"):
        self.cc, self.cxx, self.fc = cc, cxx, fc

    @classmethod
    def of(cls, template, cc="gcc", cxx="g++", fc="gfortran"):
        """Each compiler put where the template says {cc}, or behind it. "headroom cc" becomes c++ and fortran."""
        def one(compiler, verb):
            text = template if "{cc}" in template else (template + " {cc}").strip()
            text = re.sub(r"(^|/)headroom cc\b", rf"\1headroom {verb}", text)
            return text.replace("{cc}", compiler)
        return cls(one(cc, "cc"), one(cxx, "c++"), one(fc, "fortran"))


class Step:
    """How one step ended; failure is None or says what went wrong."""

    def __init__(self, failure, seconds, log):
        self.failure, self.seconds, self.log = failure, seconds, log


class Project:
    def __init__(self, name, sources, out, compilers, jobs=2):
        self.name = name
        self.sources = os.path.abspath(sources)
        self.out = os.path.abspath(out)
        self.work = os.path.join(self.out, name)
        self.jobs = jobs
        self.inputs = os.path.join(self.sources, "inputs")
        # Nothing of the caller's own settings of compilers gets in.
        self.environment = {key: value for key, value in os.environ.items()
                            if key not in ("CFLAGS", "CXXFLAGS", "FFLAGS", "LDFLAGS", "CPPFLAGS", "MAKEFLAGS")}
        self.environment.update(CC=compilers.cc, CXX=compilers.cxx, FC=compilers.fc, flags=FLAGS, jobs=str(jobs),
                                work=self.work, inputs=self.inputs, here=BENCH)

    def words(self, function):
        """The command that runs one function of the recipe."""
        return ["bash", "-c", '. "$1" && . "$2" && cd "$work" && shift 2 && "$@"', self.name,
                os.path.join(HERE, "common"), os.path.join(HERE, "recipes", self.name), function]

    def has(self, function):
        return subprocess.run(["bash", "-c", '. "$1" && declare -F "$2"', "-",
                               os.path.join(HERE, "recipes", self.name), function], env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def package(self):
        done = subprocess.run(["bash", "-c", '. "$1"; echo "${package:-}"', "-",
                               os.path.join(HERE, "recipes", self.name)],
                              env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout.strip()

    def step(self, function, words=None, environment=None):
        """Runs a step; its output goes to OUT/NAME.FUNCTION.log."""
        log = os.path.join(self.out, f"{self.name}.{function}.log")
        started = time.monotonic()
        with open(log, "wb") as file:
            failure = ended(words or self.words(function), LIMITS[function], file, environment or self.environment,
                            self.work if os.path.isdir(self.work) else self.out)
        return Step(failure, time.monotonic() - started, log)

    def fetch(self):
        """A fresh copy of the sources in self.work."""
        os.makedirs(self.out, exist_ok=True)
        os.makedirs(self.inputs, exist_ok=True)
        package = self.package()
        if package:
            step = self.step("fetch", [os.path.join(BENCH, "..", "tools", "fetch_source"), package, self.sources])
            if step.failure:
                return step
        shutil.rmtree(self.work, ignore_errors=True)
        if package:
            return self.step("fetch", ["cp", "-a", os.path.join(self.sources, package), self.work])
        os.mkdir(self.work)
        return self.step("fetch")

    def build(self):
        step = self.fetch()
        return step if step.failure else self.step("build")

    def check(self):
        """(step, tests passed, tests failed)"""
        step = self.step("check")
        passed, failed = tally(step.log)
        if step.failure and not step.failure.startswith("exit"):
            failed += 1  # a suite may say by its status that tests failed: these are counted already
        if passed + failed == 0:
            failed = 1
            step.failure = step.failure or "no test ran"
        return step, passed, failed


def tally(log):
    """(passed, failed) of the lines that `common` describes."""
    passed = failed = 0
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("ok "):
                passed += 1
            elif line.startswith("not ok "):
                failed += 1
            else:
                counts = re.match(r"# (\d+) passed, (\d+) failed$", line)
                if counts:
                    passed += int(counts[1])
                    failed += int(counts[2])
    return passed, failed


def ended(words, limit_s, output, environment, directory):
    """Runs a command to its end: None, or why it did not end well."""
    try:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 env=environment, cwd=directory, start_new_session=True)
    except OSError as problem:
        return str(problem)
    try:
        child.wait(limit_s)
    except subprocess.TimeoutExpired:
        end_session(child.pid)
        child.wait()
        return f"over {limit_s:g} s"
    except BaseException:  # an interrupt, too
        end_session(child.pid)
        raise
    end_session(child.pid)  # what it left running
    if child.returncode < 0:
        return f"signal {-child.returncode}"
    return f"exit {child.returncode}" if child.returncode else None


def end_session(leader):
    """Kills what belongs to a session of ours, as often as it starts something new."""
    for _ in range(10):
        found = False
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                    words = file.read().rpartition(")")[2].split()
                if int(words[3]) == leader and words[0] != "Z":
                    os.kill(int(entry), signal.SIGKILL)
                    found = True
            except (OSError, IndexError):
                pass  # it ended by itself
        if not found:
            return
        time.sleep(0.05)


def last_words(log, prefer=("rror", "Assert", "headroom:")):
    """The line of a log that most likely says what went wrong."""
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    told = [line for line in lines[-200:] if any(word in line for word in prefer) and "make" not in line]
    return (told or lines or ["nothing was said"])[0 if told else -1][:200]
