# SPDX-License-Identifier: MIT
# calibrate: measured once, kept, found again; a damaged file is as good as none.
load common

@test "what is measured is kept, and doctor shows it" {
    export HEADROOM_CACHE=$PWD/kept
    run "$HEADROOM" calibrate --kept
    [ "$status" -eq 1 ]
    [[ $output == *"headroom calibrate"* ]]
    run "$HEADROOM" calibrate --quick --forms jz_i
    [ "$status" -eq 0 ]
    [[ $output == *"instruction forms measured in"* ]]
    [[ $output == *"slots of the front end a cycle"* ]]
    run "$HEADROOM" calibrate --kept --format json --forms jz_i
    [ "$status" -eq 0 ]
    grep -q '"schema": *"headroom-calibrate/1"' <<<"$output"
    python3 -c 'import json, sys; assert 3 <= json.load(sys.stdin)["figures"]["width"] <= 12' <<<"$output"
    # A jump is no more than a branch: not what many of them in a line of code take.
    # On a busy machine it says beside that, on standard error, that the figures are too high.
    output=$("$HEADROOM" limits --hex eb00 --format json 2>/dev/null)
    python3 -c 'import json, sys; assert json.load(sys.stdin)["limits"]["loops"][0]["certified"] <= 3' <<<"$output"
    run "$HEADROOM" doctor
    [[ $output == *"machine model"*"instruction forms measured"* ]]
    for file in "$HEADROOM_CACHE"/model-*; do echo 'headroom-model 1 and more' >"$file"; done
    run "$HEADROOM" calibrate --kept
    [ "$status" -eq 1 ]
}

@test "without a folder the model is printed all the same" {
    HEADROOM_CACHE='' run "$HEADROOM" calibrate --quick
    [ "$status" -eq 0 ]
    [[ $output == *"could not be kept"* ]]
}

@test "calibrate takes no operand" {
    run "$HEADROOM" calibrate here
    [ "$status" -eq 2 ]
    [[ $output == *"it takes no argument such as 'here'"* ]]
}
