#!/usr/bin/env bash
# A lean program makes the same tables as a full one, and needs no package that a full one would compile in another way.
#
#   tests/lean.sh LEAN FULL      two programs that are built
set -euo pipefail

lean=$(realpath "$1") full=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for game in "finkel --pieces 4" "masters --pieces 2 --precision f32" "blitz --pieces 2 --raw"; do
    # shellcheck disable=SC2086
    "$lean" solve $game --json --force --out "$work/lean.zgt" >/dev/null
    # shellcheck disable=SC2086
    "$full" solve $game --json --force --out "$work/full.zgt" >/dev/null
    cmp "$work/lean.zgt" "$work/full.zgt"
done

# packages SELECTION...: what a program is made of, each with its features.
packages() {
    cargo tree "$@" --edges normal,build --prefix none --format '{p} {f}' --no-dedupe | sed 's/ (\*)$//; /^$/d' | sort -u
}
# The lean program is built from the workspace, see `lean` in .ci/setup.sh, the full one from its package. The workspace may have more
# packages, which neither of them is made of.
packages --workspace >"$work/lean"
packages --package ziggurat >"$work/full"
other=$(comm -13 "$work/lean" "$work/full")
if [[ -n "$other" ]]; then
    printf 'FAILED: lean programs have other features of packages than full ones, which share none of these:\n%s\n' "$other" >&2
    exit 1
fi
packages --package ziggurat --no-default-features >"$work/lean"
if grep -E '^(librocksdb-sys|rocksdb|bindgen|tonic|rustls|object_store) ' "$work/lean"; then
    printf 'FAILED: a lean program is compiled with these\n' >&2
    exit 1
fi
printf 'the same bytes, and the same packages\n'
