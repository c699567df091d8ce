#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `headroom view`: the page that it writes, where, and what it refuses.

load common

setup_file()
{
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir secret
    cat >secret/twice.c <<'END'
static volatile int stored;
int main(void)
{
    for (int i = 0; i < 100000; i++)
        stored = 7; /* a remark that only the source has */
    return stored != 7;
}
END
    ${CC:-cc} -O1 -g -o twice "$PWD/secret/twice.c" || return 1
    "$HEADROOM" waste --exact -q -o twice.headroom -- ./twice 2>why || true
    # The same program before that loop was there.
    mkdir earlier
    sed -e '/for (int/d' -e '/stored = 7/d' secret/twice.c >earlier/twice.c
    ${CC:-cc} -O1 -g -o earlier/twice "$PWD/earlier/twice.c" || return 1
    "$HEADROOM" waste --exact -q -o earlier.headroom -- earlier/twice 2>why || true
    "$HEADROOM" reuse --exact -q -o reuse.headroom -- earlier/twice 2>why || true
}

needs_profile()
{
    [ -s "$BATS_FILE_TMPDIR/twice.headroom" ] || skip "$(head -1 "$BATS_FILE_TMPDIR/why")"
    cp "$BATS_FILE_TMPDIR/twice.headroom" .
}

needs_earlier()
{
    needs_profile
    cp "$BATS_FILE_TMPDIR/earlier.headroom" "$BATS_FILE_TMPDIR/reuse.headroom" .
}

# The data in the page as JSON; with 'tree' behind it, the calling contexts.
data_of()
{
    python3 - "$1" "${2:-data}" <<'END'
import base64, re, sys, zlib
page = open(sys.argv[1], encoding="utf-8").read()
packed = re.search(r'<script type="application/octet-stream"[^>]* id="' + sys.argv[2] + '">([A-Za-z0-9+/=]*)</script>', page)
sys.stdout.write(zlib.decompress(base64.b64decode(packed[1])).decode("utf-8"))
END
}

@test "the page lies beside the profile, and says so" {
    needs_profile
    try 0 "$HEADROOM" view twice.headroom
    [ ! -s out ]
    grep -q "^headroom: wrote 'twice.html', with lines of 1 source file; --no-sources leaves them out\.$" err
    [ "$(ls)" = "$(printf '%s\n' all err out twice.headroom twice.html)" ]
    grep -q '^<!DOCTYPE html>$' twice.html
    [ "$(tail -1 twice.html)" = '</html>' ]
    [ "$(stat -c %s twice.html)" -lt 2000000 ]
}

@test "findings can be read without scripts" {
    needs_profile
    "$HEADROOM" view -q twice.headroom
    sed -n '/<main/,/<\/main>/p' twice.html >summary
    grep -q 'Dead stores' summary
    grep -q 'twice.c:5' summary
}

@test "findings and their places lead to the view that shows them" {
    needs_profile
    "$HEADROOM" view -q twice.headroom
    grep -q '<a href="#view=pairs&kind=dead&pair=0"><b>#1 ' twice.html
    grep -q '<a href="#view=pairs&kind=dead&pair=0"><b>main</b>.*twice.c:5' twice.html
    "$HEADROOM" report twice.headroom >report
    "$HEADROOM" report --color always twice.headroom >>report
    [ "$(grep -c ']8;;' report)" -eq 0 ] # in the page alone
}

@test "advice in the page is the report's" {
    needs_profile
    "$HEADROOM" view -q twice.headroom
    data_of twice.html >data
    "$HEADROOM" report --format json twice.headroom >report
    python3 - <<'END'
import json
page, report = (json.load(open(name)) for name in ("data", "report"))
pages = page["report"]["waste"]["dead"]["pairs"][0]["advice"]
assert pages and pages == report["waste"]["dead"]["findings"][0]["advice"], pages
END
}

@test "nothing is fetched: the policy names the script and the style and nothing else" {
    needs_profile
    "$HEADROOM" view -q twice.headroom
    python3 - <<'END'
import base64, hashlib, re
page = open("twice.html", encoding="utf-8", newline="").read()
policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
def digest(text): return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
script = page[page.rindex("<script>") + 8:page.rindex("</script>")]
style = page[page.index("<style>") + 7:page.index("</style>")]
assert policy == f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; base-uri 'none'; form-action 'none'"
assert len(script) > 10000 and page.count("<script") == 3
assert all(re.match('#view=[a-z0-9=&]+$', target) for target in re.findall(r'\b(?:src|href)="?([^">]*)', page[:page.index("<script")]))
END
}

@test "the data is the report, and more" {
    needs_profile
    "$HEADROOM" view -q twice.headroom
    data_of twice.html >data
    data_of twice.html tree >tree
    "$HEADROOM" report --by cause --format json twice.headroom >report
    python3 - <<'END'
import json
data, tree, report = (json.load(open(name)) for name in ("data", "tree", "report"))
assert data["schema"] == "headroom-view/1"
assert data["report"]["waste"]["dead"]["waste_bytes"] == report["waste"]["dead"]["waste_bytes"]
assert data["report"]["waste"]["dead"]["pairs"][0] == report["waste"]["dead"]["pairs"][0]
metrics = {m["name"]: sum(m["values"]) for m in tree["metrics"]}
for name in ("dead stores, at the store that is lost", "dead stores, at the store that overwrites"):
    assert abs(metrics[name] / report["waste"]["dead"]["waste_bytes"] - 1) < 1e-3, metrics
assert len(tree["up"]) == len(tree["frame"]) and all(1 <= up <= i + 1 for i, up in enumerate(tree["up"]))
assert all(frame < len(tree["frames"]) for frame in tree["frame"])
END
}

@test "source lines are there, and left out if so wished" {
    needs_profile
    "$HEADROOM" view -q twice.headroom
    data_of twice.html | grep -q 'a remark that only the source has'
    try 0 "$HEADROOM" view --no-sources -o shared.html twice.headroom
    grep -q "without source lines" err
    data_of shared.html >data
    grep -q 'twice.c' data
    for file in data shared.html; do
        [ "$(grep -c 'a remark that only' "$file")" -eq 0 ]
        [ "$(grep -c 'stored = 7' "$file")" -eq 0 ]
    done
    "$HEADROOM" view -q --no-sources --sources -o last.html twice.headroom
    data_of last.html | grep -q 'a remark that only the source has'
}

@test "as many findings as are asked for" {
    needs_profile
    "$HEADROOM" view -q --limit 2 twice.headroom
    data_of twice.html | python3 -c '
import json, sys
dead = json.load(sys.stdin)["report"]["waste"]["dead"]
assert len(dead["pairs"]) == 2 < dead["pairs_total"]'
}

@test "what changed: the text for everyone, the data of headroom diff for the script" {
    needs_earlier
    try 0 "$HEADROOM" view --before earlier.headroom twice.headroom
    sed -n '/<main/,/<\/main>/p' twice.html >summary
    grep -q '<h2>Changes</h2>' summary
    grep -q 'headroom diff' summary
    grep -q '#1  appeared' summary || grep -q '&#35;1  appeared' summary
    data_of twice.html >data
    "$HEADROOM" diff --format json --limit 500 earlier.headroom twice.headroom >diff
    python3 - <<'END'
import json
page, diff = json.load(open("data"))["changes"], json.load(open("diff"))
assert page == diff
change = next(c for c in page["changes"] if c["kind"] == "dead" and not c["all"])
assert change["verdict"] == "appeared" and change["first"][0]["function"] == "main", change
END
    "$HEADROOM" view -q twice.headroom
    [ "$(grep -c '<h2>Changes</h2>' twice.html)" -eq 0 ]
    data_of twice.html | python3 -c 'import json, sys; assert "changes" not in json.load(sys.stdin)'
}

@test "what changed quotes no source lines where none are wished" {
    needs_earlier
    "$HEADROOM" view -q --before earlier.headroom twice.headroom
    sed -n '/<main/,/<h2>The profile/p' twice.html | grep -q 'a remark that only the source has'
    "$HEADROOM" view -q --no-sources --before earlier.headroom -o shared.html twice.headroom
    data_of shared.html >data
    for file in data shared.html; do
        [ "$(grep -c 'a remark that only' "$file")" -eq 0 ]
    done
}

@test "profiles that cannot be compared: what headroom diff says, and nothing is written" {
    needs_earlier
    try 1 "$HEADROOM" diff reuse.headroom twice.headroom
    cp err said
    try 1 "$HEADROOM" view --before reuse.headroom twice.headroom
    cmp said err
    try 1 "$HEADROOM" view --before missing.headroom twice.headroom
    one_sentence "missing.headroom"
    [ -z "$(ls ./*.html* 2>/dev/null)" ]
    try 1 "$HEADROOM" view --before earlier.headroom -o earlier.headroom twice.headroom
    one_sentence "it is the profile itself"
    cmp earlier.headroom "$BATS_FILE_TMPDIR/earlier.headroom"
}

@test "a page is replaced, whole or not at all" {
    needs_profile
    echo before >page.html
    try 0 "$HEADROOM" view -o page.html twice.headroom
    grep -q '</html>' page.html
    cp page.html kept
    (ulimit -f 4; try 1 "$HEADROOM" view -o page.html twice.headroom)
    one_sentence "page.html"
    cmp kept page.html
    [ -z "$(ls page.html.* 2>/dev/null)" ]
}

@test "what is no regular file is not replaced" {
    needs_profile
    mkdir folder
    echo kept >target
    ln -s target link
    mkfifo pipe
    for name in folder link pipe; do
        try 1 "$HEADROOM" view -o "$name" twice.headroom
        one_sentence "$name"
    done
    [ -d folder ] && [ -L link ] && [ -p pipe ] && [ "$(cat target)" = kept ]
    try 1 "$HEADROOM" view -o missing/page.html twice.headroom
    one_sentence "missing/page.html"
    try 1 "$HEADROOM" view -o twice.headroom twice.headroom
    one_sentence "it is the profile itself"
    cmp twice.headroom "$BATS_FILE_TMPDIR/twice.headroom"
}

@test "what is no profile is refused" {
    echo nonsense >file
    try 1 "$HEADROOM" view file
    one_sentence "file"
    try 1 "$HEADROOM" view missing.headroom
    one_sentence "missing.headroom"
    try 1 "$HEADROOM" view
    one_sentence "waste.headroom"
    try 2 "$HEADROOM" view a b
    one_sentence "'b'"
    [ -z "$(ls ./*.html 2>/dev/null)" ]
}
