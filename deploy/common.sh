# shellcheck shell=bash
# What the scripts in deploy/ share; to be sourced. A script ends with 0 if it passed, 77 if it was
# skipped because something is not at hand, anything else if it failed.

readonly SKIPPED=77
# For those that source this.
# shellcheck disable=SC2034
deploy=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

step() { printf '\n== %s\n' "$*" >&2; }

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

skip() {
    printf 'SKIPPED: %s\n' "$*" >&2
    exit "$SKIPPED"
}

# need COMMAND...: all of them, or the script is skipped.
need() {
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null || skip "needs $command"
    done
}

# The program, $ZIGGURAT or else what `./ziggurat` built, as an absolute path.
program() {
    local built="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/target}/release/ziggurat"
    local program="${ZIGGURAT:-$built}"
    [[ -x "$program" ]] || skip "needs the program: set ZIGGURAT=/path/to/ziggurat, or build it: ./ziggurat worker --help"
    realpath "$program"
}

# secret FILE: makes a token that only its owner can read.
secret() {
    (umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$1")
}

# wait_until SECONDS WHAT COMMAND...: until the command succeeds; fails with WHAT when time is up.
wait_until() {
    local seconds=$1 what=$2 end
    shift 2
    end=$((SECONDS + seconds))
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || fail "$what: not within $seconds s"
        sleep 0.5
    done
}

# metric URL NAME: the value of a metric, its labels included in the name; nothing if there is none.
metric() {
    curl --silent --max-time 5 "$1/metrics" | awk -v name="$2" '$1 == name { print $2 }'
}

# metric_is URL NAME VALUE
metric_is() {
    [[ "$(metric "$1" "$2")" == "$3" ]]
}
