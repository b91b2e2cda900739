# shellcheck shell=bash
# Sourced: how the programs of c-examples are called. `work` is a folder, `program` the name that starts each message, if
# it is always the same.

checks=0

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

passed() { checks=$((checks + 1)); }

# What must hold after each call, besides; to be defined anew.
is_left_clean() { :; }

# refuses STATUS TEXT COMMAND...: the command ends with this status and one line on stderr that has this text.
refuses() {
    local want=$1 text=$2 status=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$want" ] || { cat "$work/err" >&2; fail "status $status, not $want: $*"; }
    grep -qF -- "$text" "$work/err" || { cat "$work/err" >&2; fail "no \"$text\" on stderr: $*"; }
    grep -q "^${program:+$program: }" "$work/err" || { cat "$work/err" >&2; fail "not the name of the program: $*"; }
    [ "$(wc -l <"$work/err")" = 1 ] || { cat "$work/err" >&2; fail "more than one line on stderr: $*"; }
    [ ! -s "$work/out" ] || fail "something on stdout: $*"
    is_left_clean
    passed
}

# works COMMAND...: the command succeeds; what it says is in $work/out, and nothing on stderr.
works() {
    "$@" >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; fail "failed: $*"; }
    [ ! -s "$work/err" ] || { cat "$work/err" >&2; fail "something on stderr: $*"; }
    is_left_clean
    passed
}
