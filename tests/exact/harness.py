# SPDX-License-Identifier: MIT
"""What the tests of the exact engine share: recordings, their reports, TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile

PATIENCE_S = 60  # for one recording; none takes more than a few seconds


class Problem(Exception):
    """A recording that failed: no known answer can be compared."""


class Recording:
    """One run of a program under the exact engine. Use as a context manager: files go at the end."""

    def __init__(self, headroom, verb, options, command, trace=False, status=0, **run_options):
        self.headroom = headroom
        self.folder = tempfile.TemporaryDirectory(prefix="headroom-exact-")
        self.profile = os.path.join(self.folder.name, "profile")
        self.trace = os.path.join(self.folder.name, "trace") if trace else None
        words = [headroom, verb, "--exact", "-q", "-o", self.profile, *options]
        words += ["--trace", self.trace] if trace else []
        if verb == "waste" and "TEST_JOBS" in os.environ:  # the same answers are expected
            words += ["--jobs", os.environ["TEST_JOBS"]]
        run_options.setdefault("stdin", subprocess.DEVNULL)
        try:
            self.done = subprocess.run([*words, "--", *command], capture_output=True,
                                       timeout=PATIENCE_S, check=False, **run_options)
        except subprocess.TimeoutExpired as expired:
            self.folder.cleanup()
            raise Problem(f"not done after {PATIENCE_S} s") from expired
        if status is not None and self.done.returncode != status:
            said = self.done.stderr.decode(errors="replace").strip()[-600:]
            self.folder.cleanup()
            raise Problem(f"exit status {self.done.returncode}, not {status}: {said}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def report(self, *options):
        """The JSON report."""
        done = subprocess.run([self.headroom, "report", "--format", "json", "--limit", "0", *options,
                               self.profile], capture_output=True, timeout=PATIENCE_S, check=False)
        if done.returncode != 0:
            raise Problem(f"no report: {done.stderr.decode(errors='replace').strip()}")
        return json.loads(done.stdout)


def find_marks(source):
    """{line number: mark} of the "@mark" comments of a source."""
    with open(source, encoding="utf-8") as file:
        return {number: mark for number, line in enumerate(file, 1)
                for mark in re.findall(r"/\* @(\w+)\b.*\*/", line)}


INLINED = 1  # of a frame in a profile


def chains_of_profile(database):
    """{context: ((module, address), ...)}, leaf first, frames of inlined calls left out."""
    paths = dict(database.execute("SELECT id, path FROM module"))
    frames = {frame: (paths.get(module), address & (1 << 64) - 1, flags) for frame, module, address, flags
              in database.execute("SELECT id, module, address, flags FROM frame")}
    chains = {0: ()}
    for context, parent, frame in database.execute("SELECT id, parent, frame FROM context ORDER BY id"):
        path, address, flags = frames[frame]
        if flags & INLINED:
            chains[context] = chains[parent]
        else:
            chains[context] = ((path, address), *chains[parent])
    return chains


def show_chain(chain):
    """The innermost addresses, for people."""
    return "<".join(f"{os.path.basename(path or '?')}+{address:x}" for path, address in chain[:3]) or "-"


def run_tap(cases):
    """cases: (name, function that returns a list of what is wrong). Never returns."""
    print(f"TAP version 13\n1..{len(cases)}", flush=True)
    failed = []
    for number, (name, check) in enumerate(cases, 1):
        try:
            wrong = check()
        except Problem as problem:
            wrong = [str(problem)]
        failed += [name] if wrong else []
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong:
            print("# " + str(line).replace("\n", "\n# "))
        sys.stdout.flush()
    print(f"# {len(cases) - len(failed)} of {len(cases)} hold" +
          (f"; not: {' '.join(failed)}" if failed else ""), flush=True)
    sys.exit(1 if failed else 0)


def chosen(cases, names):
    """Those of the names, or all."""
    unknown = set(names) - {case[0] for case in cases}
    if unknown:
        sys.exit(f"unknown: {' '.join(sorted(unknown))}")
    return [case for case in cases if not names or case[0] in names]
