# shellcheck shell=bash
# What both commands of the README need, to be sourced: the tools, and a place to build in.

for tool in cargo cc c++; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        printf 'error: %s is not installed\n' "$tool" >&2
        case "$tool" in
        cargo) printf 'help: install Rust from https://rustup.rs, then run this again\n' >&2 ;;
        cc) printf 'help: install a C compiler (Debian and Ubuntu: apt install build-essential), then run this again\n' >&2 ;;
        c++) printf 'help: install a C++ compiler (Debian and Ubuntu: apt install build-essential), then run this again\n' >&2 ;;
        esac
        exit 1
    fi
done

CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/target}"
[[ "$CARGO_TARGET_DIR" == /* ]] || CARGO_TARGET_DIR="$PWD/$CARGO_TARGET_DIR" # wherever cargo is called
export CARGO_TARGET_DIR
RUSTC_WORKSPACE_WRAPPER="${RUSTC_WORKSPACE_WRAPPER:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/rustc}"
export RUSTC_WORKSPACE_WRAPPER

# shellcheck source=.ci/libclang.sh
if ! source "$(dirname "${BASH_SOURCE[0]}")/libclang.sh"; then
    printf 'error: libclang, which RocksDB is compiled with, could not be installed\n' >&2
    printf 'help: Debian and Ubuntu: apt install libclang-dev; Fedora: dnf install clang-devel; then run this again\n' >&2
    exit 1
fi
