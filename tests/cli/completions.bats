#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What shells offer: only what fits. bash's completion is run as bash runs it, by its variables and, once,
# with a terminal; fish answers by itself; zsh is asked in a terminal of its own.

load common

# A directory with something of everything.
fill_directory()
{
    mkdir -p 'a dir'
    : >waste.headroom
    : >waste.headroom.old
    : >crash.headroom.raw.aB3xYz
    : >notes.txt
    : >'a dir/of it.headroom'
}

bash_script()
{
    "$HEADROOM" help --generate bash >completion
    # shellcheck disable=SC1091
    source ./completion
    fill_directory
}

# offered EXPECTED WORD...: exactly these, sorted, divided by '|', for the last word.
offered()
{
    local expected=$1 found
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _headroom || true # shells do not stop at failures as bats does
    found=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort -u | paste -sd '|')
    [ "$found" = "$expected" ] || { echo "'$*': '$found', not '$expected'"; return 1; }
}

@test "bash: verbs and options" {
    bash_script
    offered waste headroom wa
    offered '--version' headroom --v
    offered '--follow|--format' headroom waste --fo
    offered '--format' headroom waste --exact --form
    offered '' headroom waste -- --fo
    offered '' headroom frobnicate ''
    offered '--color|--format|--help' headroom doctor ''
    offered 'report|reuse' headroom help re
    offered '' headroom help report re
}

@test "bash: values of options" {
    bash_script
    offered json headroom waste --format j
    offered json headroom waste --format = j
    offered 'json|text' headroom waste --format =
    offered 'dead,load' headroom waste --kinds dead,l
    offered 'dead,load' headroom waste -k dead,l
    offered '' headroom waste --rate ''
    offered 'a dir' headroom cc --keep-assembly ''
    offered 'notes.txt' headroom check --suppressions n
    offered 'a dir|waste.headroom|waste.headroom.old' headroom check --baseline ''
    offered 'a dir|waste.headroom|waste.headroom.old' headroom view --before ''
}

@test "bash: profiles, raw logs only where they are read, and no more than a verb takes" {
    bash_script
    local profiles='a dir|waste.headroom|waste.headroom.old'
    offered "a dir|crash.headroom.raw.aB3xYz|waste.headroom|waste.headroom.old" headroom report ''
    for verb in view check export diff merge; do offered "$profiles" headroom "$verb" ''; done
    offered 'a dir/of it.headroom' headroom view 'a dir/'
    offered "$profiles" headroom view --limit 5 -q ''
    offered "$profiles" headroom view -- ''
    for verb in report view check export; do offered '' headroom "$verb" waste.headroom ''; done
    offered "$profiles" headroom diff waste.headroom ''
    offered '' headroom diff waste.headroom waste.headroom.old ''
    offered "$profiles" headroom merge a b c d e ''
    offered '--limit' headroom report waste.headroom --lim
}

@test "bash: commands and their arguments" {
    bash_script
    mkdir bin
    printf '#!/bin/sh\n' >bin/frobnicate-it
    chmod +x bin/frobnicate-it
    : >bin/frobnicate-not
    frobnicate-function() { :; }
    PATH=$PWD/bin:$PATH
    for verb in waste reuse paths interference; do
        offered frobnicate-it headroom "$verb" frobn
        offered frobnicate-it headroom "$verb" -o out --format json frobn
        offered frobnicate-it headroom "$verb" -- frobn
    done
    offered frobnicate-it headroom cc --paths -- frobn
    offered bin/frobnicate-it headroom waste bin/frob
    offered notes.txt headroom waste frobnicate-it no
    offered notes.txt headroom waste -- frobnicate-it --format no
    offered notes.txt headroom cc -- -c no
    offered '' headroom waste whil
    # bash-completion, where it is loaded, knows the command's own.
    _command_offset() { COMPREPLY=("word-$1"); }
    offered word-4 headroom waste --exact -- frobnicate-it x
}

@test "bash: at a terminal, names with blanks are quoted and directories end in a slash" {
    "$HEADROOM" help --generate bash >completion
    fill_directory
    mkdir only
    : >'only/with blank.headroom'
    cat >type <<'END'
import os, pty, sys

child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="dumb", INPUTRC="/dev/null")
    os.execlp("bash", "bash", "--norc", "--noprofile", "-i")

def read_until(text):
    seen = b""
    while text not in seen:
        seen += os.read(terminal, 4096)
    return seen

def ask(line):
    """The words of the line as the shell sees them once the tab has been pressed."""
    os.write(terminal, line.encode() + b"\t\n")
    return read_until(b"]end").split(b"[")[-1].split(b"]")[0].decode()

# Typed text is echoed: what is waited for does not occur in it.
os.write(terminal, b"""bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; source ./completion\n""")
os.write(terminal, b"""headroom() { printf '['; printf '<%s>' "$@"; echo ']''end'; }; echo 'rea''dy'\n""")
read_until(b"ready")
for line in sys.argv[1:]:
    print(ask(line), flush=True)
os.write(terminal, b"exit\n")
END
    timeout 60 python3 type 'headroom view onl' 'headroom view only/' 'headroom repo' 'headroom check --baseline=only/' \
        'headroom view only/with\ bl' >shown
    cat shown
    printf '%s\n' '<view><only/>' '<view><only/with blank.headroom>' '<report>' '<check><--baseline=only/with blank.headroom>' \
        '<view><only/with blank.headroom>' >expected
    diff expected shown
}

# fish_offers EXPECTED LINE
fish_offers()
{
    local found
    found=$(fish --no-config -c "source ./completion; complete -C '$2'" | cut -f1 | LC_ALL=C sort -u | paste -sd '|')
    [ "$found" = "$1" ] || { echo "'$2': '$found', not '$1'"; return 1; }
}

@test "fish offers what fits" {
    command -v fish >/dev/null || skip "no fish"
    "$HEADROOM" help --generate fish >completion
    export HOME=$PWD
    fill_directory
    local profiles='a dir/|waste.headroom|waste.headroom.old'
    fish --no-execute completion
    fish_offers 'report|reuse' 'headroom re'
    fish_offers 'report|reuse' 'headroom help re'
    fish_offers '' 'headroom help report re'
    fish_offers "a dir/|crash.headroom.raw.aB3xYz|waste.headroom|waste.headroom.old" 'headroom report '
    for verb in view check export diff merge; do fish_offers "$profiles" "headroom $verb "; done
    fish_offers '' 'headroom view waste.headroom '
    fish_offers "$profiles" 'headroom diff waste.headroom '
    fish_offers '' 'headroom diff waste.headroom x '
    fish_offers "$profiles" 'headroom check --baseline '
    fish_offers 'a dir/' 'headroom cc --keep-assembly '
    fish_offers 'dead,load' 'headroom waste --kinds dead,l'
    fish_offers '--format=json' 'headroom waste --format=j'
    fish_offers bzip2recover 'headroom waste --exact -o x -- bzip2r'
    fish_offers notes.txt 'headroom waste cat no'
    fish_offers '' 'headroom waste whil'
    fish_offers '--follow|--format' 'headroom waste --fo'
    fish_offers '' 'headroom report --fol'
}

# zsh_offers EXPECTED LINE: what zsh's completion system hands to the line editor, in a terminal of its own.
zsh_offers()
{
    local found
    cat >ask <<'END'
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner 'PS1= PS2= PROMPT_EOL_MARK='
zpty -w inner 'stty -echo; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -d $PWD/dump'
# Calls that only ask are let through; of the others the words that match are noted.
zpty -w inner 'compadd() { builtin compadd "$@"; local code=$?; [[ ${(M)@:#-[OAD]*} ]] && return $code; local -a shown; builtin compadd -A shown "$@"; (( $#shown )) && print -rl -- $shown >> $PWD/offers; return $code }'
zpty -w inner 'comppostfuncs+=(note_end); note_end() { : > $PWD/finished }; print rea""dy'
zpty -r -m inner line '*ready*'
zpty -w -n inner "$1"$'\t'
for i in {1..600}; do [[ -e finished ]] && break; sleep 0.1; done
zpty -d inner
[[ -e finished ]]
END
    rm -f offers finished
    zsh -f ask "$2" || { echo "zsh does not answer '$2'"; return 1; }
    found=$([ ! -e offers ] || LC_ALL=C sort -u offers | paste -sd '|')
    [ "$found" = "$1" ] || { echo "'$2': '$found', not '$1'"; return 1; }
}

@test "zsh offers what fits" {
    command -v zsh >/dev/null || skip "no zsh"
    mkdir work
    cd work
    mkdir functions
    "$HEADROOM" help --generate zsh >functions/_headroom
    zsh -n functions/_headroom
    export HOME=$PWD
    fill_directory
    local profiles='a\ dir|functions|waste.headroom|waste.headroom.old'
    zsh_offers 'report|reuse' 'headroom re'
    zsh_offers 'report|reuse' 'headroom help re'
    zsh_offers 'a\ dir|crash.headroom.raw.aB3xYz|functions|waste.headroom|waste.headroom.old' 'headroom report '
    zsh_offers "$profiles" 'headroom view '
    zsh_offers "$profiles" 'headroom diff waste.headroom '
    zsh_offers "$profiles" 'headroom check --baseline '
    zsh_offers 'a\ dir|functions' 'headroom cc --keep-assembly '
    zsh_offers 'json|text' 'headroom waste --format '
    zsh_offers 'dead|load' 'headroom waste --kinds silent,'
    zsh_offers '--follow|--format' 'headroom waste --fo'
    zsh_offers bzip2recover 'headroom waste --exact -- bzip2r'
    zsh_offers notes.txt 'headroom waste cat no'
    zsh_offers '' 'headroom view waste.headroom w'
}
