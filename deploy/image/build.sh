#!/usr/bin/env bash
# Builds a container image without any registry: `FROM scratch`, with the statically linked program.
#
#   deploy/image/build.sh [TAG]      TAG is ziggurat:latest if left out
#
# The program is built for it, unless ZIGGURAT names one that is built; of one that is linked dynamically the
# libraries go along. Without a docker daemon what the image would be made of is left where it says.
set -euo pipefail
# The container runs as another user, who must be able to read what is made here.
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tag=${1:-ziggurat:latest}

# shellcheck source=../../.ci/setup.sh
[[ -n "${ZIGGURAT:-}" ]] || source "$here/../../.ci/setup.sh"
work="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/target}/image"
root="$work/context/root"
rm -rf "$work/context"
mkdir -p "$work/static"
# Whoever the container runs as may write here, as volumes begin as copies of these.
mkdir -p "$root" && mkdir --mode=1777 "$root/data" "$root/checkpoints" "$root/tables" "$root/tmp"

if [[ -n "${ZIGGURAT:-}" ]]; then
    program=$ZIGGURAT
else
    # Only the last link is different, so that nothing is compiled once more. RocksDB asks for a dynamic C++
    # library; in this directory the linker finds none but the static one.
    printf 'Building ziggurat. RocksDB takes ten minutes or more the first time.\n' >&2
    library=$(c++ -print-file-name=libstdc++.a)
    if [[ ! -e "$library" ]]; then
        printf 'error: there is no static C++ library to link with\n' >&2
        printf 'help: Fedora: dnf install libstdc++-static glibc-static; or name a program: ZIGGURAT=/path/to/ziggurat %s\n' \
            "$0" >&2
        exit 1
    fi
    ln -sf "$library" "$work/static/libstdc++.a"
    cargo rustc --quiet --release --manifest-path "$here/../../Cargo.toml" --package ziggurat --bin ziggurat -- \
        -C target-feature=+crt-static -L native="$work/static"
    program="$CARGO_TARGET_DIR/release/ziggurat"
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

cp "$here/Dockerfile" "$work/context/"
if ! docker info >/dev/null 2>&1; then
    printf 'There is no docker daemon. Build the image where one is:\n\n  docker build --tag %s %s\n' \
        "$tag" "$work/context" >&2
    exit 3
fi
# The builder that every docker has: the other one is a plugin.
DOCKER_BUILDKIT=0 docker build --quiet --tag "$tag" "$work/context" >/dev/null 2>"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
printf '%s\n' "$tag"
