#!/usr/bin/env bash
# Makes what a container image is made of, and prints the directory: `root/`, and a Dockerfile beside it.
#
#   deploy/image/root.sh
#
# The program is built for it, unless ZIGGURAT names one that is built; of one that is linked dynamically the
# libraries go along.
set -euo pipefail
# The container runs as another user, who must be able to read what is made here.
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../static.sh
[[ -n "${ZIGGURAT:-}" ]] || source "$here/../static.sh"
context="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/target}/image/context"
root="$context/root"
rm -rf "$context"
# Whoever the container runs as may write here, as volumes begin as copies of these.
mkdir -p "$root" && mkdir --mode=1777 "$root/data" "$root/checkpoints" "$root/tables" "$root/tmp"

if [[ -n "${ZIGGURAT:-}" ]]; then
    program=$ZIGGURAT
else
    printf 'Building ziggurat. RocksDB takes ten minutes or more the first time.\n' >&2
    cargo rustc --quiet --profile "${PROFILE:-release}" --manifest-path "$here/../../Cargo.toml" --package ziggurat --bin ziggurat -- \
        "${static_flags[@]}"
    built="${PROFILE:-release}"
    program="$CARGO_TARGET_DIR/${built/#dev/debug}/ziggurat"
fi
# The lines of the source, for traces of bugs, are most of it.
strip --strip-debug -o "$root/ziggurat" "$program"

# What it is linked with, the loader included; nothing if it is static.
while read -r library; do
    install -D --mode=755 "$library" "$root$library"
done < <(ldd "$program" 2>/dev/null | grep -oE '/[^ ]+' || true)

# Whom to trust, for checkpoints in a bucket.
for authorities in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
    if [[ -e "$authorities" ]]; then
        install -D --mode=644 "$authorities" "$root/etc/ssl/certs/ca-certificates.crt"
        break
    fi
done

cp "$here/Dockerfile" "$context/"
printf '%s\n' "$context"
