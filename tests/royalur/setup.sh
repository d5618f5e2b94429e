#!/usr/bin/env bash
# Installs the independent implementation of the rules, the package RoyalUr, into a virtual
# environment of its own in the user's cache, and prints that environment's python.
#
# Exit code 3: there is no usable python here, or pip cannot reach a package registry.
set -euo pipefail

readonly UNREACHABLE=3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements="$here/requirements.txt"
home="${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/royalur"
python="$home/bin/python"

unreachable() {
    printf '%s\n' "$*" >&2
    exit "$UNREACHABLE"
}

mkdir -p "$(dirname "$home")"
# Two test runs at a time set it up once.
if command -v flock >/dev/null; then
    exec 9>"$home.lock"
    flock 9
fi

if ! cmp --silent "$requirements" "$home/installed.txt"; then
    command -v python3 >/dev/null || unreachable "there is no python3"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        unreachable "$(python3 --version) is too old, RoyalUr needs 3.10"
    rm -rf "$home"
    python3 -m venv "$home" >&2 || unreachable "python3 cannot make a virtual environment"
    if ! log=$("$python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 \
        --requirement "$requirements" 2>&1); then
        printf '%s\n' "$log" >&2
        grep -qiE 'connection|timed out|name resolution|unreachable|proxy|ssl|no matching distribution' \
            <<<"$log" && unreachable "pip cannot reach a package registry"
        exit 1
    fi
    cp "$requirements" "$home/installed.txt"
fi
printf '%s\n' "$python"
