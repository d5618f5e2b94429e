# shellcheck shell=bash
# What both commands of the README need, to be sourced: the tools, and a place to build in.

# need_tool COMMAND REMEDY: the command is there, or this ends.
need_tool() {
    command -v "$1" >/dev/null 2>&1 && return
    printf 'error: %s is not installed\nhelp: %s, then run this again\n' "$1" "$2" >&2
    exit 1
}
need_tool cargo 'install Rust from https://rustup.rs'
need_tool cc 'install a C compiler (Debian and Ubuntu: apt install gcc libc6-dev)'

CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/target}"
[[ "$CARGO_TARGET_DIR" == /* ]] || CARGO_TARGET_DIR="$PWD/$CARGO_TARGET_DIR" # wherever cargo is called
export CARGO_TARGET_DIR
RUSTC_WORKSPACE_WRAPPER="${RUSTC_WORKSPACE_WRAPPER:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/rustc}"
export RUSTC_WORKSPACE_WRAPPER

# lean COMMAND...: runs cargo so that it leaves lean programs in $LEAN_DIR/PROFILE, beside the full ones. Both are compiled in
# one place: that all packages of the workspace are selected gives their common dependencies the same features.
LEAN_DIR="$CARGO_TARGET_DIR/lean"
lean() {
    local command=$1
    shift
    local shared=$CARGO_TARGET_DIR
    CARGO_BUILD_BUILD_DIR="$shared" CARGO_TARGET_DIR="$LEAN_DIR" cargo "$command" --workspace --no-default-features "$@"
}
