#!/usr/bin/env bash
# Builds a container image without any registry: `FROM scratch`, with the statically linked program.
#
#   deploy/image/build.sh [TAG]      TAG is ziggurat:latest if left out
#
# `root.sh` makes what is in it. Without a docker daemon that is left where this says.
set -euo pipefail

tag=${1:-ziggurat:latest}
context=$("$(dirname "${BASH_SOURCE[0]}")/root.sh")
if ! docker info >/dev/null 2>&1; then
    printf 'There is no docker daemon. Build the image where one is:\n\n  docker build --tag %s %s\n' \
        "$tag" "$context" >&2
    exit 3
fi
# The builder that every docker has: the other one is a plugin.
log="$context/../log"
DOCKER_BUILDKIT=0 docker build --quiet --tag "$tag" "$context" >/dev/null 2>"$log" ||
    { cat "$log" >&2; exit 1; }
printf '%s\n' "$tag"
