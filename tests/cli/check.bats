#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `headroom check`: limits, exit codes, suppressions, and what continuous integration reads.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    cat >work.c <<'END'
static int x[4000];
static volatile int sink;
__attribute__((noinline)) static void fill(int value)
{
    for (int i = 0; i < 4000; i++)
        x[i] = value;
}
int main(int count, char **arguments)
{
    for (int round = 0; round < 20; round++) {
        fill(round);
        if (count > 1)
            fill(round + 1);
        for (int i = 0; i < 4000; i++)
            sink += x[i];
    }
    return arguments == 0;
}
END
    ${CC:-cc} -O1 -g -o work $PWD/work.c || return 1
    "$HEADROOM" waste --exact -q -o good.headroom -- ./work 2>why || true
    "$HEADROOM" waste --exact -q -o bad.headroom -- ./work twice 2>why || true
    "$HEADROOM" reuse --exact -q -o reuse.headroom -- ./work 2>why || true
}

setup()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    unset NO_COLOR PAGER DEBUGINFOD_URLS
    [ -s reuse.headroom ] || skip "no exact engine here: $(head -1 why)"
    rm -f out err all ./*.md ./*.sarif rules
}

@test "within limits, and beyond" {
    try 0 "$HEADROOM" check good.headroom --limits 'waste.dead.fraction=20%'
    grep -Eq 'waste.dead.fraction .* within$' out
    try 3 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%'
    grep -Eq 'waste.dead.fraction .* EXCEEDED$' out
    grep -q "stored        fill" out
    grep -q "overwritten   fill" out
    try 0 "$HEADROOM" check bad.headroom --warn-only --limits 'waste.dead.fraction=20%'
    grep -q "warning only" out
}

@test "limits that mean nothing are refused, and blanks in lists are not" {
    try 2 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=5'
    one_sentence "write 5% for a percentage"
    try 2 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.dead.fraction=+2'
    one_sentence "write 2% for a percentage"
    try 2 "$HEADROOM" check bad.headroom --limits 'waste.bytes=5%'
    one_sentence "write waste.bytes=+N% with --baseline"
    try 0 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=1'
    try 0 "$HEADROOM" check bad.headroom --baseline bad.headroom --limits 'waste.dead.fraction=+200%'
    try 3 "$HEADROOM" check bad.headroom --limits ' waste.dead.fraction=20% ,
        waste.bytes=1G '
    grep -q 'waste.bytes .* within$' out
    try 2 "$HEADROOM" check bad.headroom --limits 'waste.bytes=1G, ,'
    one_sentence "METRIC=VALUE"
}

@test "growth against a baseline" {
    try 3 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.dead.bytes=+10%'
    grep -q "(appeared)" out
    try 0 "$HEADROOM" check good.headroom --baseline bad.headroom --limits 'waste.dead.bytes=+0'
    try 0 "$HEADROOM" check bad.headroom --baseline bad.headroom --limits 'waste.bytes=+0,waste.dead.fraction=+0%'
    try 0 "$HEADROOM" check reuse.headroom --baseline reuse.headroom --limits 'reuse.miss@32K=+10%,reuse.miss@48K=+0'
    try 2 "$HEADROOM" check bad.headroom --limits 'waste.bytes=+10%'
    one_sentence "--baseline"
}

@test "a minimum below which nothing is listed" {
    try 3 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.dead.bytes=+1' --minimum 100000
    try 0 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.dead.bytes=+1' --minimum 1000000
    grep -q "by less than the minimum" out
}

@test "not comparable: 4; errors: 1; wrong words: 2" {
    try 4 "$HEADROOM" check good.headroom --baseline reuse.headroom --limits 'waste.bytes=+1'
    one_sentence "cannot be compared"
    try 1 "$HEADROOM" check nothing --limits 'waste.bytes=1'
    one_sentence "cannot read 'nothing'"
    try 1 "$HEADROOM" check good.headroom --limits 'waste.bytes=1G' --sarif /no/such/place.sarif
    grep -q "cannot write '/no/such/place.sarif'" err
    try 2 "$HEADROOM" check good.headroom
    one_sentence "--limits is missing"
    try 2 "$HEADROOM" check --limits 'waste.bytes=1'
    one_sentence "one profile"
    try 2 "$HEADROOM" check good.headroom --limits 'waste.bytes=much'
    one_sentence "'much'"
    try 2 "$HEADROOM" check good.headroom --limits 'waste.ded.fraction=1%'
    one_sentence "it has waste.dead.fraction, waste.dead.bytes"
}

# What headroom adds to a profile where something could not be done.
degrade() # FILE SENTENCE
{
    command -v python3 >/dev/null || skip "no python3 to change a profile"
    python3 - "$@" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("INSERT INTO degraded VALUES ((SELECT count(*) FROM degraded), ?)", (sys.argv[2],))
END
}

# A live recording of few samples, made from an exact one: WASTE and USE traps of a byte.
sample() # FILE WASTE USE
{
    command -v python3 >/dev/null || skip "no python3 to change a profile"
    python3 - "$@" <<'END'
import sqlite3, sys
file, waste, use = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with sqlite3.connect(file) as db:
    db.execute("UPDATE run SET value = 'live' WHERE key = 'engine'")
    first, second = db.execute("SELECT first, second FROM pair WHERE kind = 0 "
                               "ORDER BY waste_bytes DESC LIMIT 1").fetchone()
    db.execute("DELETE FROM pair WHERE kind <> 0 OR first <> ? OR second <> ?", (first, second))
    db.execute("UPDATE pair SET waste_bytes = ?1, waste_squares = ?1, waste_traps = ?1, "
               "use_bytes = ?2, use_squares = ?2, use_traps = ?2", (waste, use))
END
}

@test "what the samples do not decide is undecided: exit code 5" {
    cp bad.headroom few.headroom
    sample few.headroom 1 7
    try 5 "$HEADROOM" check few.headroom --limits 'waste.dead.fraction=5%' --github --markdown m.md --sarif s.sarif
    grep -Eq 'waste.dead.fraction .* UNDECIDED, an estimate: ' out
    grep -q '^::error title=waste.dead.fraction::waste.dead.fraction is 12.5 %25, and the samples do not decide' out
    grep -q '^## headroom: undecided' m.md
    grep -q 'do not decide' s.sarif
    try 5 "$HEADROOM" check few.headroom --undecided fail --limits 'waste.dead.fraction=5%'
    try 0 "$HEADROOM" check few.headroom --undecided warn --limits 'waste.dead.fraction=5%' --github --sarif s.sarif
    grep -q '^::warning ' out
    grep -q '"level":"warning"' s.sarif
    try 0 "$HEADROOM" check few.headroom --undecided pass --limits 'waste.dead.fraction=5%' --github --sarif s.sarif
    grep -q ' undecided, an estimate: ' out
    lacks '^::\(warning\|error\)' out
    lacks 'do not decide' s.sarif
    try 0 "$HEADROOM" check few.headroom --warn-only --limits 'waste.dead.fraction=5%'
    # beyond doubt either way, and an excess outweighs doubt
    try 0 "$HEADROOM" check few.headroom --limits 'waste.dead.fraction=90%'
    try 3 "$HEADROOM" check few.headroom --limits 'waste.dead.fraction=1%'
    try 3 "$HEADROOM" check few.headroom --limits 'waste.dead.fraction=5%,cpu_s=0'
    "$HEADROOM" check --help >out
    tr -s ' \n' ' ' <out | grep -q '5 if no limit is exceeded, but the samples do not decide'
}

@test "of growth the interval of the difference decides" {
    cp bad.headroom before.headroom
    cp bad.headroom after.headroom
    sample before.headroom 100 100
    sample after.headroom 110 90
    try 5 "$HEADROOM" check after.headroom --baseline before.headroom --limits 'waste.dead.fraction=+1%'
    grep -q 'a difference of -4.8 to +14.7 pt' out
    try 0 "$HEADROOM" check after.headroom --baseline before.headroom --limits 'waste.dead.fraction=+20pt'
    cp bad.headroom after.headroom
    sample after.headroom 180 20
    try 3 "$HEADROOM" check after.headroom --baseline before.headroom --limits 'waste.dead.fraction=+1%'
}

@test "+1% is relative, +1pt absolute" {
    try 3 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.dead.fraction=+100%'
    try 0 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.dead.fraction=+100pt'
    try 2 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=1pt'
    one_sentence "points are of growth"
    try 2 "$HEADROOM" check bad.headroom --baseline good.headroom --limits 'waste.bytes=+1pt'
    one_sentence "write waste.bytes=+N% for growth in per cent"
}

@test "what was degraded is stated in every output" {
    cp bad.headroom limited.headroom
    cp good.headroom base.headroom
    degrade limited.headroom "half of it | was lost"
    degrade base.headroom "one process was not seen"
    try 3 "$HEADROOM" check limited.headroom --baseline base.headroom --limits 'waste.dead.bytes=+10%' \
        --markdown m.md --sarif s.sarif
    grep -q '  - half of it | was lost' out
    grep -q '  - baseline: one process was not seen' out
    grep -qF -- '- half of it \| was lost' m.md
    grep -qF -- '- baseline: one process was not seen' m.md
    python3 - <<'END'
import json
run, = json.load(open("s.sarif"))["runs"]
texts = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
assert texts == ["half of it | was lost", "baseline: one process was not seen"], texts
END
    try 0 "$HEADROOM" diff base.headroom limited.headroom
    grep -q '  - before: one process was not seen' out
    grep -q '  - after: half of it | was lost' out
    try 0 "$HEADROOM" diff --format json base.headroom limited.headroom
    python3 -c 'import json; assert json.load(open("out"))["after"]["degraded"] == ["half of it | was lost"]'
    for format in speedscope folded firefox csv; do
        try 0 "$HEADROOM" export --to $format limited.headroom
        grep -q '^headroom: limit of this recording: half of it | was lost\.$' err
    done
    try 0 "$HEADROOM" export --to pprof limited.headroom
    gzip -dc out | grep -aq 'half of it | was lost'
    for format in callgrind sarif; do
        try 0 "$HEADROOM" export --to $format limited.headroom
        grep -q 'half of it | was lost' out
    done
}

@test "a baseline of another program or version is remarked upon" {
    cp work other
    "$HEADROOM" waste --exact -q -o other.headroom -- ./other
    try 0 "$HEADROOM" check good.headroom --baseline other.headroom --limits 'waste.bytes=+10%' --markdown m.md
    grep -q 'The baseline is of the program other, the profile of work\.' out
    grep -q 'The baseline is of the program other, the profile of work\.' m.md
    try 0 "$HEADROOM" check good.headroom --baseline good.headroom --limits 'waste.bytes=+10%'
    lacks 'The baseline' out
}

@test "what is read is not written over, and a failure leaves what was there" {
    cp bad.headroom copy
    printf 'main -- wanted\n' >rules
    cp rules rules.copy
    for file in bad.headroom good.headroom rules; do
        for option in --markdown --sarif; do
            try 2 "$HEADROOM" check bad.headroom --baseline good.headroom --suppressions rules \
                --limits 'waste.dead.bytes=+10%' "$option" "./$file"
            one_sentence "'$file' is an input"
        done
    done
    cmp bad.headroom copy
    cmp rules rules.copy
    try 2 "$HEADROOM" check bad.headroom --limits 'waste.bytes=1G' --markdown s.md --sarif s.md
    one_sentence "both write 's.md'"
    echo former >s.md
    code=0
    (ulimit -f 0; exec "$HEADROOM" check bad.headroom --limits 'waste.bytes=1G' --markdown s.md 2>/dev/null >/dev/null) || code=$?
    [ "$code" -eq 1 ]
    [ "$(cat s.md)" = former ]
    [ "$(echo s.md*)" = s.md ]
    code=0
    "$HEADROOM" check bad.headroom --limits 'waste.bytes=1G' >&- 2>err || code=$?
    [ "$code" -eq 1 ]
    rm -f copy rules.copy
}

@test "suppressions need reasons, take findings out, and are listed when unused" {
    printf '# accepted\nmain -> fill -- both are wanted\nno_such_* -- old\n' >rules
    try 0 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%' --suppressions rules --markdown s.md
    grep -q "suppressed, and not part of these figures" out
    grep -q "line 3 (no_such_\*) matches nothing" out
    grep -q "both are wanted" s.md
    echo 'fill' >rules
    try 1 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%' --suppressions rules
    one_sentence "line 1 gives no reason"
    try 1 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%' --suppressions none
    one_sentence "cannot read 'none'"
    : >rules
    try 3 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%' --suppressions rules
}

@test "suppressed paths are not counted; what is no sum of findings says so" {
    "$HEADROOM" paths --exact -q -o paths.headroom -- ./work
    printf 'fill -- wanted\n' >rules
    try 3 "$HEADROOM" check paths.headroom --limits 'paths.instructions=1,paths.executions=1'
    awk '$1 ~ /^paths/ && $3 == 1 { print $1, $2 }' out | tr -d , >all_paths
    try 3 "$HEADROOM" check paths.headroom --limits 'paths.instructions=1,paths.executions=1' --suppressions rules
    awk '$1 ~ /^paths/ && $3 == 1 { print $1, $2 }' out | tr -d , >other_paths
    grep -q 'and not part of these figures' out
    [ "$(wc -l <all_paths)" -eq 2 ]
    [ "$(wc -l <other_paths)" -eq 2 ]
    paste all_paths other_paths | awk '!($4 < $2) { exit 1 }'
    try 3 "$HEADROOM" check reuse.headroom --limits 'reuse.accesses=1' --suppressions rules
    grep -q 'and not listed; the figures are those of all' out
}

@test "names cannot leave their place" {
    command -v python3 >/dev/null || skip "no python3 to change a profile"
    cp bad.headroom evil.headroom
    python3 - <<'END'
import sqlite3
with sqlite3.connect("evil.headroom") as db:
    name = b"=x|`b` " + b"wide " * 20 + b"%0A ::error::pwned --> \xff\xe2\x80\xae\n::error::second"
    db.execute("UPDATE name SET text = CAST(? AS TEXT) WHERE text = 'fill'", (name,))
    file = b"/a b\xff%20,:\n::warning::.c"
    db.execute("UPDATE name SET text = CAST(? AS TEXT) WHERE text LIKE '%/work.c'", (file,))
END
    try 3 "$HEADROOM" check evil.headroom --limits 'waste.dead.fraction=20%' --github --markdown m.md --sarif s.sarif
    python3 - <<'END'
import json
out, summary = open("out", "rb").read().decode(), open("m.md", "rb").read().decode()
stop, rest = out.split("\n", 1)
text, annotations = rest.split("\n::" + stop.removeprefix("::stop-commands::") + "::\n")
assert stop.startswith("::stop-commands::headroom-") and "EXCEEDED" in text, out
commands = annotations.splitlines()
assert len(commands) == 2 and all(c.startswith("::error ") for c in commands), commands
assert "\u202e" not in out + summary and "\n::" not in summary
json.loads(open("s.sarif", "rb").read().decode())
END
}

@test "annotations, Markdown, SARIF" {
    command -v python3 >/dev/null || skip "no python3 to read JSON"
    try 3 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%' --github --markdown m.md --sarif s.sarif
    grep -q '^::error title=waste.dead.fraction::waste.dead.fraction is .*%25, more than 20.0 %25$' out
    grep -q '^::error file=work.c,line=6,title=waste.dead.fraction::Dead stores: ' out
    grep -q '^| waste.dead.fraction | .* | 20.0 % | \*\*exceeded\*\* |$' m.md
    python3 - <<'END'
import json
log = json.load(open("s.sarif"))
assert log["version"] == "2.1.0"
run, = log["runs"]
rules = {r["id"] for r in run["tool"]["driver"]["rules"]}
assert rules == {"waste.dead.fraction"}
assert all(r["ruleId"] in rules and r["level"] == "error" for r in run["results"])
found = [r for r in run["results"] if "locations" in r]
at = found[0]["locations"][0]["physicalLocation"]
assert at["artifactLocation"]["uri"] == "work.c" and at["region"]["startLine"] == 6
second = found[0]["relatedLocations"][0]
assert second["physicalLocation"]["artifactLocation"]["uri"] == "work.c" and second["message"]["text"] == "overwritten"
advice = found[0]["properties"]["advice"]
assert advice["id"] == "dead.rebuilt" and advice["evidence"] == "exact", advice
assert found[0]["message"]["text"].startswith("Dead stores: "), found[0]["message"]
assert found[0]["message"]["text"].endswith("). " + advice["text"]), found[0]["message"]
# Annotations and Markdown say the same; Markdown writes some signs otherwise.
text = found[0]["message"]["text"]
annotations = [l.split("::", 2)[2] for l in open("out") if l.startswith("::error file=work.c,line=6,")]
assert text.replace("%", "%25") in [a.rstrip("\n") for a in annotations], annotations
assert advice["text"] in open("m.md").read(), open("m.md").read()
END
    tr -s ' \n' ' ' <out | grep -q 'The line fills the same memory again'
    # what samples show is a warning, what four of them show a note; the limit is exceeded all the same
    cp bad.headroom few.headroom
    sample few.headroom 4 1
    try 3 "$HEADROOM" check few.headroom --limits 'waste.dead.fraction=20%' --sarif few.sarif
    cp bad.headroom many.headroom
    sample many.headroom 180 20
    try 3 "$HEADROOM" check many.headroom --limits 'waste.dead.fraction=20%' --sarif many.sarif
    grep -q 'Dead stores: .* % of the bytes stored' out
    # samples of the clock are no bytes
    cp many.headroom clock.headroom
    python3 -c 'import sqlite3
with sqlite3.connect("clock.headroom") as db: db.execute("UPDATE run SET value = ? WHERE key = ?", ("cpu-time", "weighting"))'
    try 3 "$HEADROOM" check clock.headroom --limits 'waste.dead.fraction=20%' --github --markdown clock.md
    [ "$(grep -c 'Dead stores: .* of the stores, by CPU time' out)" -eq 2 ]
    grep -q 'Dead stores: .* of the stores, by CPU time' clock.md
    lacks 'bytes stored' out
    lacks 'bytes stored' clock.md
    try 0 "$HEADROOM" check bad.headroom --limits 'waste.dead.fraction=20%' --warn-only --sarif warn.sarif
    python3 - <<'END'
import json
def levels(file):
    results = json.load(open(file))["runs"][0]["results"]
    return [r["level"] for r in results if "locations" not in r], {r["level"] for r in results if "locations" in r}
assert levels("few.sarif") == (["error"], {"note"}), levels("few.sarif")
assert levels("many.sarif") == (["error"], {"warning"}), levels("many.sarif")
assert levels("warn.sarif") == (["warning"], {"warning"}), levels("warn.sarif")
END
    try 0 "$HEADROOM" check good.headroom --limits 'waste.dead.fraction=20%' --github --sarif s.sarif
    lacks '^::error' out
    python3 -c 'import json; assert json.load(open("s.sarif"))["runs"][0]["results"] == []'
}

@test "SARIF: a finding stands in own code, not in a header of the system" {
    command -v python3 >/dev/null || skip "no python3 to change a profile"
    mkdir -p elsewhere
    cp bad.headroom system.headroom
    python3 - <<'END'
import sqlite3
with sqlite3.connect("system.headroom") as db:
    header, = db.execute("SELECT max(id) + 1 FROM name").fetchone()
    db.execute("INSERT INTO name VALUES (?, '/usr/include/string_fortified.h')", (header,))
    fill, = db.execute("SELECT id FROM name WHERE text = 'fill'").fetchone()
    db.execute("UPDATE frame SET file = ? WHERE function = ?", (header, fill))
END
    cd elsewhere
    try 3 "$HEADROOM" check ../system.headroom --limits 'waste.dead.fraction=20%' --sarif s.sarif
    python3 - <<'END'
import json
results = json.load(open("s.sarif"))["runs"][0]["results"]
found = [r for r in results if "locations" in r]
place = found[0]["locations"][0]["physicalLocation"]
assert place["artifactLocation"]["uri"].endswith("/work.c"), place
assert place["region"]["startLine"] in (11, 13), place
END
}
