#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Short programs: what is made only when it is needed is there when it is needed.
ALL_NEED_WATCHPOINTS=yes

load common

# incomplete FILE...: samples and contexts that do not reach the outermost frame, in all of them
incomplete()
{
    python3 - "$@" <<'END'
import sqlite3, sys
stored = broken = 0
for path in sys.argv[1:]:
    profile = sqlite3.connect(path)
    stored += profile.execute("SELECT sum(stored) FROM thread").fetchone()[0] or 0
    broken += profile.execute("SELECT sum(c.value) FROM thread_counter c JOIN name n ON n.id = c.name "
                              "WHERE n.text = 'broken_stacks'").fetchone()[0] or 0
print(stored, broken)
END
}

@test "contexts are complete from the first sample on" {
    local files=() python
    python=$(python3 -c 'import sys; print(sys.executable)') # not a script that starts it
    for run in 1 2 3 4 5 6 7 8; do
        try 0 "$HEADROOM" waste -q --rate 1000 -o "profile$run" -- "$python" -c 'sorted(range(200000), key=str)'
        files+=("profile$run")
    done
    read -r stored broken < <(incomplete "${files[@]}")
    echo "$broken of $stored"
    [ "$stored" -ge 10 ]
    # A few are incomplete whatever is done; without tables at the first samples it is every third.
    [ $((broken * 20)) -le "$stored" ]
}

@test "a folder for what is kept is used, and can be switched off" {
    mkdir -m 700 kept home
    HEADROOM_CACHE=$PWD/kept try 0 "$HEADROOM" waste -q --rate 1000 -o one -- python3 -c 'sorted(range(200000), key=str)'
    ls kept/*.unwind
    HOME=$PWD/home try 0 "$HEADROOM" waste -q --rate 1000 -o two -- python3 -c 'sorted(range(200000), key=str)'
    [ -z "$(ls -A home)" ]
}
