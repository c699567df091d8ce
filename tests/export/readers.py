# SPDX-License-Identifier: MIT
"""Readers of exported profiles. Each returns {metric: total} and raises Broken where a rule of the format is not kept.
They share nothing with what writes: protoc, callgrind_annotate and Python's own modules read."""
import csv
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse
from collections import Counter


class Broken(Exception):
    """The file is not as its format says."""


class Skip(Exception):
    """A reader is not installed; the message names it."""


def need(condition, what):
    if not condition:
        raise Broken(what)


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"{name} is not installed")
    return path


def output_of(command, data=None, timeout=120):
    done = subprocess.run(command, input=data, capture_output=True, timeout=timeout)
    need(done.returncode == 0, f"{command[0]}: {done.stderr.decode(errors='replace')[:300]}")
    return done.stdout.decode()


def own(*words):
    """What own.mjs, which runs the consumers' programs, says of a file."""
    script = pathlib.Path(__file__).with_name("own.mjs")
    answer = json.loads(output_of([tool("node"), str(script), *map(str, words)], timeout=280))
    if "skip" in answer:
        raise Skip(answer["skip"])
    return answer


# ---- pprof -------------------------------------------------------------------------------------

def messages(text):
    """protoc's text form as (depth, name, value) of fields; a message's value is None."""
    depth = 0
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            depth -= 1
        elif line.endswith(" {"):
            yield depth, line[:-2], None
            depth += 1
        else:
            name, value = line.split(": ", 1)
            yield depth, name, value


def pprof(path, proto):
    with gzip.open(path) as file:
        data = file.read()
    command = [tool("protoc"), f"-I{proto.parent}", "--decode=Profile", str(proto)]
    strings, types, totals, values, used = [], [], [], [], set()
    known = {"location": set(), "function": set(), "mapping": set()}
    wanted = {"location_id": used, "function_id": set(), "mapping_id": set()}
    at = ""
    for depth, name, value in messages(output_of(command, data)):
        need(not name.isdigit(), f"field {name} of {at} is none of the format's")
        if depth == 0:
            at, values = name, []
            if name == "string_table":
                strings.append(value[1:-1])
            elif name == "sample_type":
                types.append(0)
        elif at == "sample_type" and name == "type":
            types[-1] = int(value)
        elif at == "sample" and name == "value":
            values.append(int(value))
            if len(values) == len(types):
                totals = [a + b for a, b in zip(totals or [0] * len(types), values)]
        elif name == "id":
            known[at].add(int(value))
        elif name in wanted:
            wanted[name].add(int(value))
    need(strings and strings[0] == "", "the first string is not empty")
    for ids, kind in zip(wanted.values(), known):
        need(ids <= known[kind], f"a {kind} is used that is not there")
    return dict(zip([strings[number] for number in types], totals or [0] * len(types)))


def go_pprof(path, _):
    text = output_of([tool("go"), "tool", "pprof", "-raw", str(path)])
    head = re.search(r"^Samples:\n(.*)\n", text, re.M)
    names = [word.split("/")[0] for word in head[1].split()]
    totals = [0] * len(names)
    for line in text[head.end():].split("\nLocations\n")[0].splitlines():
        row = re.fullmatch(r"\s*([0-9 ]+):[0-9 ]*", line)
        if row:
            totals = [a + int(b) for a, b in zip(totals, row[1].split())]
    return dict(zip(names, totals))


# ---- texts -------------------------------------------------------------------------------------

def leaves(path):
    """{innermost function: its own value}."""
    values = Counter()
    for line in path.read_text().split("\n")[:-1]:
        stack, value = line.rsplit(" ", 1)
        need(all(frame for frame in stack.split(";")), f"an empty frame: {line[:100]}")
        values[stack.rsplit(";", 1)[-1]] += int(value)
    return values


def folded(path, metric):
    return {metric: sum(leaves(path).values())}


def callgrind(path, _):
    text = output_of([tool("callgrind_annotate"), "--auto=no", "--threshold=100", str(path)])
    names = re.search(r"^Events shown: +(.*)$", text, re.M)[1].split()
    line = re.search(r"^(.*)PROGRAM TOTALS", text, re.M)[1]
    columns = re.findall(r"([0-9,]+|\.)(?: \([ 0-9.]+%\))?(?= )", line)
    need(len(columns) == len(names), f"totals of {len(names)} events: {line}")
    added = [0 if column == "." else int(column.replace(",", "")) for column in columns]
    summary = re.search(r"^summary: (.*)$", path.read_text(), re.M)[1].split()
    need([int(value) for value in summary] == added, f"summary {summary}, but own costs add up to {added}")
    return dict(zip(names, added))


def table(path, _):
    with open(path, newline="") as file:
        rows = list(csv.reader(file, strict=True))
    need(len({len(row) for row in rows}) == 1, "rows of different lengths")
    for row in rows[1:]:
        need(not any(cell[:1] in list("=+-@") and cell for cell in row), f"a formula: {row}")
    first = rows[0].index("detail") + 1
    return {name: sum(int(row[first + i]) for row in rows[1:]) for i, name in enumerate(rows[0][first:])}


# ---- JSON --------------------------------------------------------------------------------------

def only(value, **members):
    """The members' types; a name that ends in _ may be missing."""
    names = {name.rstrip("_") for name in members}
    need(set(value) <= names, f"unknown members {set(value) - names}")
    for name, kind in members.items():
        if name.rstrip("_") in value or not name.endswith("_"):
            need(isinstance(value[name.rstrip("_")], kind), f"{name} is not {kind}")


def speedscope(path, _):
    file = json.loads(path.read_text())
    schema = file.pop("$schema")
    need(schema == "https://www.speedscope.app/file-format-schema.json", "$schema")
    only(file, exporter=str, name=str, activeProfileIndex=int, shared=dict, profiles=list)
    only(file["shared"], frames=list)
    for frame in file["shared"]["frames"]:
        only(frame, name=str, file_=str, line_=int)
    frames, totals = len(file["shared"]["frames"]), {}
    for profile in file["profiles"]:
        only(profile, type=str, name=str, unit=str, startValue=int, endValue=int, samples=list, weights=list)
        need(profile["type"] == "sampled", "type")
        need(profile["unit"] in ("none", "nanoseconds", "bytes"), "unit")
        need(len(profile["samples"]) == len(profile["weights"]), "samples and weights differ in number")
        need(all(0 <= frame < frames for stack in profile["samples"] for frame in stack), "frame")
        totals[profile["name"]] = sum(profile["weights"])
        need(totals[profile["name"]] == profile["endValue"], "endValue")
    return totals


def check_table(table_, where, **references):
    length = table_["length"]
    for column, values in table_.items():
        need(not isinstance(values, list) or len(values) == length, f"{where}.{column}")
    for column, limit in references.items():
        need(all(v is None or -1 <= v < limit for v in table_[column]), f"{where}.{column} leads nowhere")


def firefox(path, _):
    file, totals = json.loads(path.read_text()), {}
    need(file["meta"]["preprocessedProfileVersion"] == 48, "version")
    for thread in file["threads"]:
        sizes = {name: value["length"] for name, value in thread.items() if isinstance(value, dict)}
        strings = len(thread["stringArray"])
        check_table(thread["samples"], "samples", stack=sizes["stackTable"])
        check_table(thread["stackTable"], "stackTable", frame=sizes["frameTable"], prefix=sizes["stackTable"],
                    category=len(file["meta"]["categories"]))
        check_table(thread["frameTable"], "frameTable", func=sizes["funcTable"])
        check_table(thread["funcTable"], "funcTable", name=strings, fileName=strings,
                    resource=sizes["resourceTable"])
        check_table(thread["resourceTable"], "resourceTable", name=strings, lib=len(file["libs"]))
        for own, prefix in enumerate(thread["stackTable"]["prefix"]):
            need(prefix is None or prefix < own, "a stack comes before its prefix")
        scale = 1000000 if thread["samples"]["weightType"] == "tracing-ms" else 1
        totals[thread["name"]] = sum(round(weight * scale) for weight in thread["samples"]["weight"])
    return totals


def check_location(location):
    only(location, id_=int, physicalLocation_=dict, logicalLocations=list, message_=dict)
    if "physicalLocation" in location:
        only(location["physicalLocation"], artifactLocation=dict, region_=dict)
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        need(re.fullmatch(r"(%[0-9A-F]{2}|[A-Za-z0-9._~/:-])*", uri), f"no URI: {uri}")
        need(uri.startswith("file:///") or urllib.parse.urlsplit(uri).scheme == "", f"scheme: {uri}")
        need(location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1, "startLine")


def sarif(path, _):
    log = json.loads(path.read_text())
    need(log["version"] == "2.1.0" and len(log["runs"]) == 1, "version")
    run, totals = log["runs"][0], Counter()
    need(set(run) <= {"tool", "invocations", "columnKind", "results", "properties"}, "members of the run")
    for invocation in run["invocations"]:
        need(set(invocation) == {"executionSuccessful", "toolExecutionNotifications"}, "members of the invocation")
        need(invocation["executionSuccessful"] is True, "an export that did not succeed")
        for told in invocation["toolExecutionNotifications"]:
            need(told["level"] == "warning" and told["message"]["text"], "a notification without words")
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    need(len(set(rules)) == len(rules), "rules of one name")
    for result in run["results"]:
        only(result, ruleId=str, ruleIndex=int, level=str, message=dict, locations=list, relatedLocations_=list,
             stacks=list, partialFingerprints=dict, properties=dict)
        need(rules[result["ruleIndex"]] == result["ruleId"], "ruleIndex")
        need(result["level"] in ("error", "warning", "note"), "level")
        need(result["message"]["text"], "no message")
        for location in result["locations"] + result.get("relatedLocations", []):
            check_location(location)
        for stack in result["stacks"]:
            for frame in stack["frames"]:
                check_location(frame["location"])
        totals[result["properties"]["metric"]] += result["properties"]["value"]
    return totals + Counter(run["properties"]["leftOut"])
