#!/usr/bin/env bash
# Writes a container image as the file that `docker save` would write, without a docker daemon.
#
#   deploy/release/save.sh CONTEXT TAG SECONDS FILE     what root.sh made; the time of its files, in seconds since 1970
#
# The image has one layer and the settings of deploy/image/Dockerfile. The same CONTEXT and SECONDS give the same bytes.
set -euo pipefail

context=$1 tag=$2 seconds=$3 file=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packed() { # DIRECTORY FILE [NAME...]
    tar --create --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --directory "$1" --file "$2" "${@:3}"
}
sum() { sha256sum "$1" | cut -d ' ' -f 1; }

mkdir "$work/image"
packed "$context/root" "$work/image/layer.tar" .
setting() { sed -n "s/^$1 //p" "$context/Dockerfile"; }
jq --null-input --sort-keys \
    --arg user "$(setting USER)" --argjson entrypoint "$(setting ENTRYPOINT)" \
    --arg layer "sha256:$(sum "$work/image/layer.tar")" --arg created "$(date --utc --date "@$seconds" +%FT%TZ)" \
    '{architecture: "amd64", os: "linux", $created,
      config: {User: $user, Entrypoint: $entrypoint, Env: ["PATH=/"], WorkingDir: "/"},
      rootfs: {type: "layers", diff_ids: [$layer]},
      history: [{$created, created_by: "deploy/release/save.sh"}]}' >"$work/config"
config="$(sum "$work/config").json"
mv "$work/config" "$work/image/$config"
jq --null-input --arg config "$config" --arg tag "$tag" \
    '[{Config: $config, RepoTags: [$tag], Layers: ["layer.tar"]}]' >"$work/image/manifest.json"
packed "$work/image" "$file" "$config" layer.tar manifest.json
