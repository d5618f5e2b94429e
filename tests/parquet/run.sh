#!/usr/bin/env bash
# Reads exported Parquet files with the readers of tests/parquet/readers.txt, old and new ones, and compares each
# position's value with the table: tests/parquet/run.sh [/path/to/ziggurat [NAME...]]
#
# The readers come from PyPI, each into a directory of its own in the user's cache: 3 GB. A reader that pip cannot get
# for this Python is skipped, visibly. Exit code 1: a reader failed. 3: there is no Python 3.11, or none could be got.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ziggurat=$(realpath "${1:-$here/../../ziggurat}")
wanted=("${@:2}")
cache="${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/parquet"
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "run.sh: there is no Python 3.11 or later; say which: PYTHON" >&2
    exit 3
}
mkdir -p "$cache"

tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
cd "$tables"
# Masks of the longest track need more than 32 bits.
"$ziggurat" solve finkel --pieces 2 --raw --json --out finkel-f64.zgt >solve.log
"$ziggurat" solve double-long --pieces 1 --raw --json --out long-f64.zgt >>solve.log
for type in f32 percent16; do
    "$ziggurat" export finkel-f64.zgt "finkel-$type.zgt" --value-type "$type" --raw >>solve.log
done
for table in *.zgt; do
    "$ziggurat" export "$table" "${table%.zgt}.parquet" >>solve.log
done

install() {
    local name=$1 to="$cache/$1"
    shift
    [[ -e "$to/.complete" ]] && return
    rm -rf "$to"
    "$python" -m pip install --quiet --disable-pip-version-check --no-compile --retries 1 --timeout 30 \
        --target "$to" "$@" >"$cache/$name.log" 2>&1 && touch "$to/.complete"
}

tried=0 failed=0
while read -r name packages; do
    [[ -z $name || $name == \#* ]] && continue
    if ((${#wanted[@]})) && [[ ! " ${wanted[*]} " == *" $name "* ]]; then
        continue
    fi
    read -ra packages <<<"$packages"
    if ! install "$name" "${packages[@]}"; then
        printf 'SKIPPED %-22s pip cannot install it: %s\n' "$name" "$(tail -n 1 "$cache/$name.log")"
        continue
    fi
    tried=$((tried + 1))
    for table in *.zgt; do
        file=${table%.zgt}.parquet
        if PYTHONPATH="$cache/$name" "$python" "$here/read.py" "$name" "$file" "$table" >log 2>&1; then
            printf 'ok      %-22s %s\n' "$name" "$(tail -n 1 log)"
        else
            printf 'FAILED  %-22s %s: %s\n' "$name" "$file" "$(tail -n 1 log)"
            failed=$((failed + 1))
        fi
    done
done <"$here/readers.txt"

((tried)) || exit 3
((failed == 0))
