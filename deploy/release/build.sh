#!/usr/bin/env bash
# Makes all that can be installed of this version, in one folder:
#
#   deploy/release/build.sh [FOLDER]      ziggurat-VERSION in the target directory if left out; made anew
#
# ziggurat-VERSION-x86_64-linux.tar.zst   the program, linked statically, with manual, completions and licences
# ziggurat_VERSION-1_amd64.deb            the same for Debian and Ubuntu
# ziggurat-VERSION-py3-none-*.whl         the program for pip and the like
# ziggurat-VERSION-image.tar              a container image, for `docker load`
# ziggurat-VERSION.cdx.json               what the program is made of, in CycloneDX
# SHA256SUMS
#
# Needs what the program takes to be compiled, and Python, zstd, jq. The tools that pack are installed into the user's cache.
# PROFILE=dev packs a program that is not optimised across crates, to try this.
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../static.sh
source "$here/../static.sh"
need_tool zstd 'install zstd (Debian and Ubuntu: apt install zstd)'
need_tool jq 'install jq (Debian and Ubuntu: apt install jq)'
need_tool python3 'install Python with venv (Debian and Ubuntu: apt install python3-venv)'
export PROFILE="${PROFILE:-release}"
readonly TARGET=x86_64-unknown-linux-gnu
cd "$here/../.."

step() { printf '\n== %s\n' "$*" >&2; }

step "tools"
tools="${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/release-tools"
installed() { [[ "$("$@" --version 2>/dev/null)" == *"$version" ]]; }
version=3.8.0
# Not optimised, since it packs one file.
installed "$tools/bin/cargo-deb" || CARGO_TARGET_DIR="$tools/target" RUSTC_WORKSPACE_WRAPPER='' \
    cargo install --quiet --debug --locked --root "$tools" --version "$version" cargo-deb >&2
rm -rf "$tools/target"
version=1.16.0
installed "$tools/python/bin/maturin" || {
    python3 -m venv "$tools/python"
    "$tools/python/bin/python" -m pip install --quiet --disable-pip-version-check "maturin==$version" >&2
}
PATH="$tools/bin:$tools/python/bin:$PATH"

step "program"
context=$("$here/../image/root.sh")
program="$context/root/ziggurat"
version=$(cargo metadata --format-version 1 --no-deps | jq -r '.packages[] | select(.name == "ziggurat").version')
# Files are as old as their commit, so that the same sources give the same files.
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH
out=${1:-$CARGO_TARGET_DIR/ziggurat-$version}
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "manual, completions and licences"
# Where cargo-deb looks for what was built: see package.metadata.deb in cli/Cargo.toml.
package="$CARGO_TARGET_DIR/release/package"
share="$package/share"
rm -rf "$package"
install -D --mode=755 "$program" "$package/bin/ziggurat"
"$program" man "$share/man/man1"
gzip --best --no-name "$share"/man/man1/*
mkdir -p "$share"/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,doc/ziggurat}
"$program" completions bash >"$share/bash-completion/completions/ziggurat"
"$program" completions zsh >"$share/zsh/vendor-completions/_ziggurat"
"$program" completions fish >"$share/fish/vendor_completions.d/ziggurat.fish"
cp README.md LICENSE-MIT LICENSE-APACHE "$share/doc/ziggurat/"
cargo metadata --locked --format-version 1 --filter-platform "$TARGET" |
    jq -r '.packages[] | select(.source) | [.name, .version, .license // "see below", (.manifest_path | rtrimstr("/Cargo.toml"))] | @tsv' |
    sort >"$work/packages"
cargo tree --locked --package ziggurat --edges normal --target "$TARGET" --prefix none --format '{p}' |
    awk '{ print $1 "\t" substr($2, 2) }' | sort -u >"$work/used"
while IFS=$'\t' read -r name number licence directory; do
    grep -qxF "$name"$'\t'"$number" "$work/used" || continue
    printf '%s %s: %s\n\n' "$name" "$number" "$licence"
    find "$directory" -maxdepth 2 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) |
        sort | while read -r file; do cat "$file" && printf '\n'; done
    printf -- '----------------------------------------\n\n'
done <"$work/packages" >"$share/doc/ziggurat/LICENSES-OF-COMPONENTS"

step "archive"
name="ziggurat-$version-x86_64-linux"
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --directory "$package" \
    --transform "s,^\.,$name," . | zstd --quiet -19 -o "$out/$name.tar.zst"

step "Debian package"
cargo deb --quiet --locked --no-build --no-strip --package ziggurat --output "$out/"

step "Python wheel"
# With the same flags as above nothing is compiled. C libraries would be, for which $SOURCE_DATE_EPOCH is a reason.
mkdir "$work/bin"
printf '#!/bin/sh\nunset SOURCE_DATE_EPOCH\nexec "%s" "$@"\n' "$(command -v cargo)" >"$work/bin/cargo"
chmod +x "$work/bin/cargo"
(cd "$here" && PATH="$work/bin:$PATH" maturin build --quiet --profile "$PROFILE" --compatibility manylinux2014 --out "$out" -- "${static_flags[@]}")

step "container image"
"$here/save.sh" "$context" "ziggurat:$version" "$SOURCE_DATE_EPOCH" "$out/ziggurat-$version-image.tar"

step "components"
# The wheel has their list. The folder that this was built in is nobody's business.
python3 -c 'import os, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
[name] = [name for name in wheel.namelist() if name.endswith(".cyclonedx.json")]
sys.stdout.buffer.write(wheel.read(name).replace(os.getcwd().encode(), b""))' "$out"/*.whl >"$out/ziggurat-$version.cdx.json"

(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
step "$out"
ls -l "$out" >&2
