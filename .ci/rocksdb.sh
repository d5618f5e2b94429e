# shellcheck shell=bash
# What RocksDB, which a lean program does not have, takes to be compiled, to be sourced after setup.sh: a C++ compiler, and
# libclang, which reads RocksDB's headers.
#
# Where libclang is missing it is installed: as a system package where that is possible, else as a Python
# package in a virtual environment of its own in the user's cache.

need_tool c++ 'install a C++ compiler (Debian and Ubuntu: apt install build-essential)'

libclang_found() {
    [[ -n "${LIBCLANG_PATH:-}" ]] && return
    local dir
    for dir in $(llvm-config --libdir 2>/dev/null) \
        /usr/lib /usr/lib64 /usr/local/lib /usr/lib/llvm* /usr/lib/llvm*/lib /usr/lib/*-linux-gnu \
        /opt/homebrew/opt/llvm/lib /usr/local/opt/llvm/lib /Library/Developer/CommandLineTools/usr/lib; do
        compgen -G "$dir/libclang.so*" >/dev/null || compgen -G "$dir/libclang-[0-9]*.so*" >/dev/null ||
            [[ -e "$dir/libclang.dylib" ]] && return
    done
    return 1
}

libclang_from_apt() {
    [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return
    printf 'installing libclang-dev\n' >&2
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends libclang-dev >&2
}

libclang_from_pip() {
    local home="${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/libclang"
    if [[ ! -e "$home/installed" ]]; then
        command -v python3 >/dev/null || return
        printf 'installing the Python package libclang into %s\n' "$home" >&2
        rm -rf "$home"
        python3 -m venv "$home" >&2 &&
            "$home/bin/python" -m pip install --quiet --disable-pip-version-check libclang==18.1.1 >&2 &&
            touch "$home/installed" || return
    fi
    LIBCLANG_PATH=$(compgen -G "$home/lib*/python3*/site-packages/clang/native" | head -n 1)
    # The package has no headers of its own; those of the C compiler do.
    BINDGEN_EXTRA_CLANG_ARGS="-isystem $(cc -print-file-name=include)"
    export LIBCLANG_PATH BINDGEN_EXTRA_CLANG_ARGS
}

if ! libclang_found && ! libclang_from_apt && ! libclang_from_pip; then
    printf 'error: libclang, which RocksDB is compiled with, could not be installed\n' >&2
    printf 'help: Debian and Ubuntu: apt install libclang-dev; Fedora: dnf install clang-devel; then run this again\n' >&2
    exit 1
fi
