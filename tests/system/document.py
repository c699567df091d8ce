# SPDX-License-Identifier: MIT
"""Writes the generated sections of docs/reliability.md: each stands between two marks and is replaced as a whole."""
import collections
import os
import re


def replace_section(path, name, text):
    begin, end = f"<!-- begin {name}: generated, do not edit -->", f"<!-- end {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    try:
        with open(path, encoding="utf-8") as file:
            old = file.read()
    except FileNotFoundError:
        old = ""
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    new = pattern.sub(lambda _match: section, old) if pattern.search(old) else old.rstrip() + "\n\n" + section + "\n"
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(new.lstrip("\n"))
    os.replace(temporary, path)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def write_sweep(path, section, data):
    rows = [[row["verb"], row["programs"], row["images"], row.get("equal", 0), row.get("refused", 0), row.get("not observed", 0), row.get("native too", 0),
             row["explained"], row.get("difference", 0) - row["explained"], row.get("crash", 0), row.get("hang", 0),
             row.get("profile", 0)] for row in data["verbs"]]
    parts = [f"{data['machine']}; {data['native_runs']:,} native runs beside; {data['wall_min']:.0f} minutes. "
             + "Compared " + ", ".join(f"{level}: {number} programs" for level, number in data["levels"].items())
             + f". {data['errors']} programs know neither word and complain, which is compared as well.",
             table(["verb", "programs", "process images", "equal", "refused", "not observed", "natively so too", "explained", "differences", "crashes",
                    "hangs", "bad profiles"], rows),
             f"With gaps between LOAD segments: {len(data['gap'])} of them, {', '.join(data['gap'])}."]
    harm = [entry for entry in data["told"] if entry[3] in ("difference", "crash", "hang", "profile", "not observed")]
    if harm:
        parts.append("Differences, crashes and hangs:\n\n" + table(
            ["program", "verb", "", "seen", "what", "reason"],
            [[f"`{name} {word}`", verb, verdict, f"{same} of {tries}", what[:200], reason or "**none known**"]
             for name, word, verb, verdict, what, reason, same, tries in harm]))
    parts.append(said_of(data["told"]))
    parts.append("Left out: " + "; ".join(f"{number} because it {reason}" if number == 1 else f"{number} that {plural(reason)}"
                                          for reason, number in data["skipped"].items())
                 + ". Not run at all: " + excluded_of(data["excluded"]) + ".")
    parts.append("Not the same from one native run to the next, so compared less strictly: " + "; ".join(
        f"`{name} {word}` ({level})" for name, word, level in data["loose"]) + ".")
    replace_section(path, section, "\n\n".join(part for part in parts if part))


def plural(reason):
    return re.sub(r"^(answer|end)s\b", r"\1", reason).replace("does not", "do not")


def said_of(told):
    """What headroom said of programs, each sentence once."""
    sentences = collections.defaultdict(set)
    for name, _word, _verb, verdict, what, *_ in told:
        if verdict in ("refused", "equal", "native too") and what.startswith("headroom:"):
            sentence = re.sub(r"'[^']*'|/\S+", "…", what).replace(name, "…")
            sentences[verdict, sentence].add(name)
    rows = [[verdict, sentence, len(names), ", ".join(sorted(names)[:8]) + (", …" if len(names) > 8 else "")]
            for (verdict, sentence), names in sorted(sentences.items())]
    return "What headroom said of them:\n\n" + table(["", "sentence", "programs", "which"], rows) if rows else ""


def excluded_of(excluded):
    reasons = collections.defaultdict(list)
    for name, reason in excluded.items():
        reasons[reason].append(name)
    return "; ".join(f"{', '.join(sorted(names))} ({reason})" for reason, names in reasons.items())


def in_thousands(number):
    return f"{number:,}"


def write_long(path, verbs, groups, harmed, builds, earlier):
    """The outcome of `long`: `verbs` and `groups` are names with what `count` says of them."""
    def row(name, one):
        kinds = one["verdicts"]
        return [name, *map(in_thousands, (one["observed"], one["cases"], one["images"], one["users"], one["active"], one["stored"], one["calls"])),
                kinds["crash"], kinds["hang"], kinds["difference"], kinds["native too"], kinds["profile"], f"{one['bound']:.1e}"]

    parts = [table(["verb", "observed runs", "cases", "process images", "as an ordinary user", "with samples or timed calls", "samples",
                    "timed calls", "crashes", "hangs", "differences", "natively so too", "bad profiles", "95 % upper bound"],
                   [row(name, one) for name, one in verbs.items()]),
             f"Made with {builds} build{'s' * (builds > 1)} of headroom. "
             "The bound is that of the rate of runs with a crash, a hang or a difference, one-sided (Clopper and Pearson; without any it is 3 in the "
             "number of runs)."]
    if harmed:
        parts.append(table(["case", "verb", "options", "user", "verdict", "what"],
                           [[one["case"], one["verb"], f"`{one['options']}`" if one["options"] else "", one["user"], one["verdict"], one["what"][:200]]
                            for one in harmed[:60]]))
    parts.append(table(["group", "observed runs", "cases", "process images", "samples", "timed calls", "harmed"],
                       [[name, *map(in_thousands, (one["observed"], one["cases"], one["images"], one["stored"], one["calls"])), one["harm"]]
                        for name, one in groups.items()]))
    if earlier:
        parts.append("Not counted are runs of earlier builds: " + "; ".join(
            f"`{verb}` {one['observed']:,} with {one['verdicts']['crash']} crashes, {one['verdicts']['hang']} hangs, "
            f"{one['verdicts']['difference']} differences" for verb, one in earlier.items()) + ".")
    replace_section(path, "torture-long", "\n\n".join(parts))
