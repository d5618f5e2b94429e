# shellcheck shell=bash
# What it takes to link the program statically, to be sourced: the tools, and `static_flags` for the compiler.
#
# Only the last link is different, so that nothing is compiled once more. RocksDB asks for a dynamic C++ library; in the
# directory that is named here the linker finds none but the static one. The lines of the source, for traces of bugs, would be most
# of the program.

# shellcheck source=../.ci/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"
# shellcheck source=../.ci/rocksdb.sh
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/rocksdb.sh"

static_library=$(c++ -print-file-name=libstdc++.a)
if [[ ! -e "$static_library" ]]; then
    printf 'error: there is no static C++ library to link with\n' >&2
    printf 'help: Fedora: dnf install libstdc++-static glibc-static; or name a program: ZIGGURAT=/path/to/ziggurat %s\n' \
        "$0" >&2
    exit 1
fi
mkdir -p "$CARGO_TARGET_DIR/static"
ln -sf "$static_library" "$CARGO_TARGET_DIR/static/libstdc++.a"
# For those that source this.
# shellcheck disable=SC2034
static_flags=(-C target-feature=+crt-static -L native="$CARGO_TARGET_DIR/static" -C strip=debuginfo)
