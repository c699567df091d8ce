# SPDX-License-Identifier: MIT
"""What the scripts of this folder share: recordings of `headroom sharing`, tables in documents."""
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import scripts  # noqa: E402  pylint: disable=wrong-import-position

overhead = scripts.load("overhead")

# Valgrind lets programs set the limit on open files that they have, and no other.
FILES = 1000
resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def words_of(template, directory, fresh):
    return [word.format(b=os.path.join(directory, "bin"), i=os.path.join(directory, "inputs"), t=fresh,
                        h=os.path.join(HERE, "..", "interference"), f=FILES)
            for word in shlex.split(template)]


def record(headroom, directory, command, client=None, options=(), profile=None):
    """The member "sharing" of the report on one run, with "cpu_s" and "text" (the report for people) besides; a run that fails ends
    everything."""
    with tempfile.TemporaryDirectory(prefix="sharing-") as fresh:
        kept = profile or os.path.join(fresh, "profile.headroom")
        observed = [headroom, "sharing", "-q", "-o", kept, *options, "--", *words_of(command, directory, fresh)]
        status, error = overhead.run_beside(observed, words_of(client, directory, fresh) if client else None)
        if status != 0:
            sys.exit(f"{shlex.join(observed)}: status {status}: {error.decode(errors='replace').strip()}")
        return report(headroom, kept)


def report(headroom, profile):
    def ask(*options):
        return subprocess.run([headroom, "report", *options, profile], capture_output=True, text=True, check=True, errors="replace").stdout
    whole = json.loads(ask("--format", "json", "--limit", "0"))
    sharing = whole["sharing"]
    sharing["cpu_s"] = whole["cpu_s"]
    sharing["text"] = ask()
    return sharing


def findings(sharing):
    return [line for line in sharing["lines"] if not line["weak"]]


def place_of(frames):
    """The first frame of the program's own that has a source line, "function file:line"; allocators may have one, too."""
    for frame in frames or []:
        if frame.get("file") and not frame.get("system"):
            return f"{frame['function']} {os.path.basename(frame['file'])}:{frame['line']}"
    return frames[0].get("function") or "?" if frames else "?"


def object_of(line):
    """What lines are of one object by: its kind, name or size, and where it was allocated."""
    return line["object_kind"], line["object"], place_of(line["allocated"]) if line.get("allocated") else ""


def name_of(line):
    kind, name, allocated = object_of(line)
    return f"{name} ({allocated})" if allocated else name


def machine():
    return f"Linux {platform.release()}, {os.cpu_count()} CPUs"


def write_document(path, name, text):
    """Between <!-- name: ... --> and <!-- name ends -->."""
    scripts.write_document(path, f"<!-- {name}: generated, do not edit -->", f"<!-- {name} ends -->", text)
