#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `headroom diff` on whole recordings: a program, and the same one with a dead store planted and its lines moved.

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
__attribute__((noinline)) static int sum(void)
{
    int all = 0;
    for (int i = 0; i < 4000; i++)
        all += x[i];
    return all;
}
int main(void)
{
    for (int round = 0; round < 20; round++) {
        fill(round);
        sink = sum();
    }
    return 0;
}
END
    mkdir natural planted # as long: PWD is in the environment, on whose length the loader's few bytes depend
    mv work.c natural
    sed -e '1i /* lines have moved */' -e 's/^        fill(round);/        fill(round + 1);\n&/' natural/work.c >planted/work.c
    for at in natural planted; do
        (cd $at && ${CC:-cc} -O1 -g -o work $PWD/work.c) || return 1
        (cd $at && "$HEADROOM" waste --exact -q -o waste.headroom -- ./work 2>why) || true
        (cd $at && "$HEADROOM" reuse --exact -q -o reuse.headroom -- ./work 2>why) || true
    done
}

needs_engine()
{
    [ -s "$BATS_FILE_TMPDIR/planted/reuse.headroom" ] || skip "no exact engine here"
    before=$BATS_FILE_TMPDIR/natural after=$BATS_FILE_TMPDIR/planted
}

# query FILE FILE EXPRESSION: of the JSON, as d
query()
{
    command -v python3 >/dev/null || skip "no python3 to read JSON"
    "$HEADROOM" diff --format json "$1" "$2" |
        python3 -c "import json,sys; d = json.load(sys.stdin); sys.exit(0 if $3 else 1)"
}

@test "a profile does not differ from itself" {
    needs_engine
    for what in waste reuse; do
        try 0 "$HEADROOM" diff "$before/$what.headroom" "$before/$what.headroom"
        grep -q "No finding appeared, vanished, grew or shrank" out
        query "$before/$what.headroom" "$before/$what.headroom" "d['changes'] == [] and d['compared'] > 10"
    done
}

@test "a planted dead store is found, with both places, and what only moved is not" {
    needs_engine
    try 0 "$HEADROOM" diff "$before/waste.headroom" "$after/waste.headroom"
    grep -q "any difference is real" out
    grep -Eq '^  #1  appeared  31[0-9]\.[0-9] KiB' out # 20 times 16000 bytes: 312.5 KiB
    grep -q "stored        fill  work.c:7" out
    grep -q "← main  work.c:19" out
    grep -q "← main  work.c:20" out
    query "$before/waste.headroom" "$after/waste.headroom" "d['schema'] == 'headroom-diff/1' and
        [c['verdict'] for c in d['changes'] if c['kind'] == 'dead' and c['amount'][1] - c['amount'][0] > 1000
            and not c['all']] == ['appeared'] and
        not any(c['kind'] == 'load' and abs(c['amount'][1] - c['amount'][0]) > 1000 for c in d['changes'])"
    try 0 "$HEADROOM" diff "$after/waste.headroom" "$before/waste.headroom"
    grep -q '#1  vanished' out
}

@test "reuse: the new sweep, and the miss ratios" {
    needs_engine
    try 0 "$HEADROOM" diff "$before/reuse.headroom" "$after/reuse.headroom"
    grep -Eq '^  reuse.miss@32K ' out
    grep -q '#1  appeared' out
    query "$before/reuse.headroom" "$after/reuse.headroom" "any(f['name'] == 'reuse.miss@32K' for f in d['figures'])
        and any(c['kind'] == 'reuse' and c['verdict'] == 'appeared' for c in d['changes'])"
}

@test "--limit, and options behind the profiles" {
    needs_engine
    try 0 "$HEADROOM" diff "$before/waste.headroom" "$after/waste.headroom" --limit 0
    cp out whole
    try 0 "$HEADROOM" diff --limit 0 "$before/waste.headroom" "$after/waste.headroom"
    cmp whole out
    try 0 "$HEADROOM" diff "$before/waste.headroom" "$after/waste.headroom" --limit 1
    [ "$(wc -l <out)" -lt "$(wc -l <whole)" ]
    lacks '#2 ' out
}

@test "what cannot be compared, and wrong words" {
    needs_engine
    try 1 "$HEADROOM" diff "$before/waste.headroom" "$before/reuse.headroom"
    one_sentence "the verb 'waste'"
    try 1 "$HEADROOM" diff "$before/waste.headroom" nothing
    one_sentence "cannot read 'nothing'"
    try 1 "$HEADROOM" diff "$before/waste.headroom" "$before/work.c"
    one_sentence "work.c"
    try 2 "$HEADROOM" diff "$before/waste.headroom"
    one_sentence "two profiles"
    try 2 "$HEADROOM" diff --level 2 "$before/waste.headroom" "$before/waste.headroom"
    one_sentence "level"
    code=0
    "$HEADROOM" diff "$before/waste.headroom" "$before/waste.headroom" >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ]
    grep -q "cannot write" err
}

# Sampled by the program's own count of its accesses: the same seed takes the same samples on every machine, however busy.
@test "two samples of one program do not differ, and a planted dead store is found in samples" {
    need_watchpoints
    sed -e 's/round < 20/round < 20000/' "$BATS_FILE_TMPDIR/natural/work.c" >work.c
    sed -e 's/^        fill(round);/        fill(round + 1);\n&/' work.c >changed.c
    for name in work changed; do "$HEADROOM" cc --count -- ${CC:-cc} -O1 -g -o $name $name.c; done
    sample() { setarch -R "$HEADROOM" waste -q --period 100003 --seed "$2" -o "$1" -- "$3"; }
    sample one 1 ./work
    sample two 2 ./work
    sample three 3 ./changed
    "$HEADROOM" report --format json one >one.json
    grep -q '"source": *"count"' one.json
    query one one "d['changes'] == [] and not d['exact']"
    query one two "d['changes'] == []"
    try 0 "$HEADROOM" diff one three
    grep -q '#1  appeared' out
    query one three "any(c['kind'] == 'dead' and c['verdict'] == 'appeared' and not c['all'] and
        0 <= c['p'] <= 0.01 and
        c['first'][0]['function'] == 'fill' for c in d['changes'])"
}

# How many findings are on one side alone; a few bytes of the loader's depend on the lengths of names.
appeared()
{
    grep '^Dead stores' | grep -oE '[0-9]+ (appeared|vanished)'
}

# With the program's name in the keys all findings would have vanished, and appeared anew.
@test "the program matches whatever its file is called" {
    needs_engine
    cp "$before/work" old
    cp "$after/work" new
    ln -s new lnk
    for name in old new lnk; do
        "$HEADROOM" waste --exact -q -o $name.headroom -- ./$name
        "$HEADROOM" waste --exact --follow -q -o started-$name.headroom -- sh -c "./$name; true"
    done
    # as between files of one name; all names are as long, which the loader's few bytes depend on
    "$HEADROOM" diff "$before/waste.headroom" "$after/waste.headroom" | appeared >same
    grep -q '1 appeared' same
    for pair in 'old new' 'old lnk' 'started-old started-new'; do
        try 0 "$HEADROOM" diff "${pair% *}.headroom" "${pair#* }.headroom"
        appeared <out >renamed
        diff same renamed
    done
}
