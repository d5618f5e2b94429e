#!/usr/bin/env bash
# Installs everything that build.sh has made, each in a place of its own, and solves finkel with 3 pieces there. The tables must be
# the same.
#
#   deploy/release/test.sh FOLDER
set -euo pipefail

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

from=${1:-}
[[ -n "$from" && -d "$from" ]] || skip "needs the folder that deploy/release/build.sh has made"
need python3 zstd jq dpkg
from=$(realpath "$from")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=() skipped=()

# solved NAME COMMAND...: the command is the program, and writes its table into $work/NAME.zgt.
solved() {
    local name=$1
    shift
    "$@" solve finkel --pieces 3 --json --out "$work/$name.zgt" >"$work/$name.json"
    [[ -e "$work/tarball.zgt" ]] || cp "$work/$name.zgt" "$work/tarball.zgt"
    cmp "$work/tarball.zgt" "$work/$name.zgt" || fail "$name makes another table"
    passed+=("$name: $("$@" --version)")
}

# solved_within NAME ROOT PROGRAM [CHROOT OPTION...]: likewise, where a directory is all that the program sees.
solved_within() {
    local name=$1 root=$2 program=$3
    shift 3
    if ! chroot "$@" "$root" "$program" --version >/dev/null 2>&1; then
        skipped+=("$name: only root may chroot")
        return
    fi
    mkdir -p "$root/tables"
    chmod 1777 "$root/tables"
    chroot "$@" "$root" "$program" solve finkel --pieces 3 --json --out /tables/3.zgt >"$work/$name.json"
    cmp "$work/tarball.zgt" "$root/tables/3.zgt" || fail "$name makes another table"
    passed+=("$name: $(chroot "$@" "$root" "$program" --version)")
}

step "checksums"
(cd "$from" && sha256sum --check --quiet SHA256SUMS)

step "archive"
mkdir "$work/archive"
tar --extract --zstd --strip-components=1 --file "$from"/*.tar.zst --directory "$work/archive"
solved tarball "$work/archive/bin/ziggurat"
"$work/archive/bin/ziggurat" table verify "$work/tarball.zgt" --certificate >/dev/null
bash -n "$work/archive/share/bash-completion/completions/ziggurat"
for page in ziggurat ziggurat-solve ziggurat-worker ziggurat-table-verify; do
    [[ -s "$work/archive/share/man/man1/$page.1.gz" ]] || fail "there is no page $page.1.gz"
    ! command -v man >/dev/null || man --warnings -l "$work/archive/share/man/man1/$page.1.gz" >/dev/null
done
for licence in LICENSE-MIT LICENSE-APACHE LICENSES-OF-COMPONENTS; do
    [[ -s "$work/archive/share/doc/ziggurat/$licence" ]] || fail "there is no $licence"
done

step "Debian package"
root="$work/debian"
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status"
if dpkg --root="$root" --force-not-root --log="$work/dpkg.log" --install "$from"/*.deb >/dev/null 2>"$work/dpkg"; then
    [[ -s "$root/usr/share/man/man1/ziggurat-solve.1.gz" && -s "$root/usr/share/doc/ziggurat/copyright" ]] ||
        fail "the package has no manual, or no copyright"
    solved_within "Debian package" "$root" /usr/bin/ziggurat
    dpkg --root="$root" --force-not-root --log="$work/dpkg.log" --remove ziggurat >/dev/null
    [[ ! -e "$root/usr/bin/ziggurat" ]] || fail "the package leaves its program behind"
else
    cat "$work/dpkg" >&2
    fail "the package cannot be installed"
fi

step "Python wheel"
python3 -m venv "$work/python"
"$work/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$from"/*.whl
solved "Python wheel" "$work/python/bin/ziggurat"

step "container image"
image=("$from"/*-image.tar)
if docker info >/dev/null 2>&1; then
    tag=$(docker load --quiet --input "${image[0]}" | sed 's/^Loaded image: //')
    solved "container image" docker run --rm --user "$(id -u):$(id -g)" --volume "$work:$work" "$tag"
else
    skipped+=("container image in docker: no daemon; its layer was tried instead")
    mkdir "$work/image" "$work/layer"
    tar --extract --file "${image[0]}" --directory "$work/image"
    layer=$(jq -r '.[0].Layers[0]' "$work/image/manifest.json")
    config=$(jq -r '.[0].Config' "$work/image/manifest.json")
    [[ "$(jq -r '.rootfs.diff_ids[0]' "$work/image/$config")" == "sha256:$(sha256sum "$work/image/$layer" | cut -d ' ' -f 1)" ]] ||
        fail "the image's layer is not the one that its settings name"
    tar --extract --same-permissions --file "$work/image/$layer" --directory "$work/layer"
    solved_within "container image" "$work/layer" "$(jq -r '.config.Entrypoint[0]' "$work/image/$config")" \
        --userspec="$(jq -r .config.User "$work/image/$config")"
fi

step "components"
components=$(jq -r 'select(.bomFormat == "CycloneDX") | .components[].name' "$from"/*.cdx.json)
for component in librocksdb-sys zstd-sys ziggurat-kernel; do
    grep -qx "$component" <<<"$components" || fail "the list of components has no $component"
done
passed+=("components: $(wc -l <<<"$components")")

step "passed"
printf '%s\n' "${passed[@]}" >&2
((${#skipped[@]} == 0)) || printf 'SKIPPED: %s\n' "${skipped[@]}" >&2
