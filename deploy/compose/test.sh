#!/usr/bin/env bash
# Three workers solve blitz with 4 pieces in containers and export it; meanwhile one container is killed,
# and another is cut off from the network and comes back. The table must be that of `ziggurat solve`.
#
#   ZIGGURAT=/path/to/ziggurat deploy/compose/test.sh      needs a docker daemon, compose, curl
#
# Without ZIGGURAT the program is built, linked statically. With KEEP=1 the containers stay for a look.
set -euo pipefail

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

need docker curl
docker info >/dev/null 2>&1 || skip "needs a docker daemon that \`docker info\` reaches"
if docker compose version >/dev/null 2>&1; then
    compose=(docker compose)
elif docker-compose version >/dev/null 2>&1; then
    compose=(docker-compose)
else
    skip "needs docker compose"
fi

scratch=$(mktemp -d)
project="ziggurat-test-$$"
export ZIGGURAT_IMAGE="ziggurat:test" ZIGGURAT_TOKEN="$scratch/token" ZIGGURAT_TABLES="$scratch/tables"
export ZIGGURAT_PORT="${ZIGGURAT_PORT:-17400}" ZIGGURAT_METRICS_PORT="${ZIGGURAT_METRICS_PORT:-17401}"
ZIGGURAT_USER="$(id -u):$(id -g)"
export ZIGGURAT_USER
# Slow enough that the job is still running when the last of them is back.
export ZIGGURAT_CPUS="${ZIGGURAT_CPUS:-0.15}" ZIGGURAT_MEMORY_MIB=1024
metrics="http://127.0.0.1:$ZIGGURAT_METRICS_PORT"
compose+=(--file "$deploy/compose/compose.yaml" --project-name "$project")

ended() {
    local code=$?
    ((code == 0)) || "${compose[@]}" logs --tail=20 >&2 || true
    if [[ -n "${KEEP:-}" ]]; then
        printf 'Left as it is: project %s, files in %s\n' "$project" "$scratch" >&2
    else
        "${compose[@]}" down --volumes --timeout 5 >/dev/null 2>&1 || true
        rm -rf "$scratch"
    fi
}
trap ended EXIT

secret "$scratch/token"
mkdir "$scratch/tables"

ziggurat() { "${compose[@]}" exec -T coordinator /ziggurat "$@"; }
container() { "${compose[@]}" ps -q "$1"; }
unsolved() { metric_is "$metrics" 'ziggurat_coordinator_jobs{state="solved"}' 0 || fail "the job was solved before $1"; }
workers_are() { metric_is "$metrics" ziggurat_coordinator_workers_connected "$1"; }

step "image"
"$deploy/image/build.sh" "$ZIGGURAT_IMAGE"

step "what one process makes of it"
docker run --rm --user "$ZIGGURAT_USER" --volume "$scratch/tables:/tables" "$ZIGGURAT_IMAGE" \
    solve blitz --pieces 4 --out /tables/alone.zgt >/dev/null

step "a coordinator and three workers"
"${compose[@]}" up -d
wait_until 60 "three workers" workers_are 3

step "a job"
job=$(ziggurat submit blitz --pieces 4 | grep -oE '[0-9]+' | head -n 1)
wait_until 30 "the job runs" metric_is "$metrics" 'ziggurat_coordinator_jobs{state="running"}' 1

step "worker-1 is killed"
unsolved "worker-1 was killed"
docker kill "$(container worker-1)" >/dev/null
wait_until 30 "worker-1 is missed" workers_are 2

step "worker-2 is cut off"
unsolved "worker-2 was cut off"
docker network disconnect "${project}_default" "$(container worker-2)"
wait_until 60 "worker-2 is missed" workers_are 1

step "both come back"
unsolved "they came back"
docker network connect --alias worker-2 "${project}_default" "$(container worker-2)"
"${compose[@]}" up -d worker-1
wait_until 120 "three workers again" workers_are 3

step "the table"
wait_until 600 "the job is solved" metric_is "$metrics" 'ziggurat_coordinator_jobs{state="solved"}' 1
ziggurat export "$job" --format zgt --out /tables/together.zgt
cmp "$scratch/tables/alone.zgt" "$scratch/tables/together.zgt" || fail "the tables differ"

step "workers that are asked to stop drain"
"${compose[@]}" stop worker-3
[[ $(docker inspect --format '{{.State.ExitCode}}' "$(docker ps --all --quiet \
    --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.service=worker-3)") == 0 ]] ||
    fail "worker-3 did not exit with 0"

step "deploy/compose passed"
