# shellcheck shell=bash
# libclang, which reads RocksDB's headers when it is first compiled; to be sourced. Fails if there
# is none.
#
# Where it is missing it is installed: as a system package where that is possible, else as a Python
# package in a virtual environment of its own in the user's cache.

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

libclang_found || libclang_from_apt || libclang_from_pip
