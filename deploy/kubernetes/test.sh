#!/usr/bin/env bash
# Three workers solve blitz with 4 pieces in a Kubernetes cluster of their own and export it; meanwhile one pod is
# killed and another is asked to stop. The table must be that of `ziggurat solve`.
#
#   ZIGGURAT=/path/to/ziggurat deploy/kubernetes/test.sh      needs docker, kubectl, and kind or minikube
#
# The cluster is called ziggurat-test and deleted in the end. With KEEP=1 it stays for a look.
set -euo pipefail

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

need docker kubectl
docker info >/dev/null 2>&1 || skip "needs a docker daemon that \`docker info\` reaches"
if command -v kind >/dev/null; then
    start() { kind create cluster --name ziggurat-test --kubeconfig "$KUBECONFIG" --wait 120s; }
    load() { kind load docker-image "$1" --name ziggurat-test; }
    remove() { kind delete cluster --name ziggurat-test; }
elif command -v minikube >/dev/null; then
    start() { minikube start --profile ziggurat-test --driver docker; }
    load() { minikube image load "$1" --profile ziggurat-test; }
    remove() { minikube delete --profile ziggurat-test; }
else
    skip "needs kind or minikube"
fi

program=$(program)
scratch=$(mktemp -d)
# A configuration of its own, so that no other cluster can be meant.
export KUBECONFIG="$scratch/kubeconfig"

ended() {
    local code=$?
    ((code == 0)) || kubectl --namespace ziggurat get pods,events >&2 || true
    if [[ -n "${KEEP:-}" ]]; then
        printf 'Left as it is: KUBECONFIG=%s\n' "$KUBECONFIG" >&2
    else
        remove >/dev/null 2>&1 || true
        rm -rf "$scratch"
    fi
}
trap ended EXIT

k() { kubectl --namespace ziggurat "$@"; }
ziggurat() { k exec ziggurat-coordinator-0 -- /ziggurat "$@"; }

step "what one process makes of it"
"$program" solve blitz --pieces 4 --out "$scratch/alone.zgt" >/dev/null

step "a cluster"
start
ZIGGURAT=$program "$deploy/image/build.sh" ziggurat:latest
load ziggurat:latest

step "a coordinator and three workers"
kubectl apply -f "$deploy/kubernetes/base/namespace.yaml"
secret "$scratch/token"
k create secret generic ziggurat-token --from-file=token="$scratch/token"
kubectl apply -k "$deploy/kubernetes/small"
k rollout status statefulset/ziggurat-coordinator --timeout 180s
k rollout status statefulset/ziggurat-worker --timeout 180s

step "a job"
job=$(ziggurat submit blitz --pieces 4 | grep -oE '[0-9]+' | head -n 1)

step "ziggurat-worker-0 is killed, ziggurat-worker-1 is asked to stop"
k delete pod ziggurat-worker-0 --grace-period 0 --force
k delete pod ziggurat-worker-1 --wait=false
k rollout status statefulset/ziggurat-worker --timeout 700s

step "the table"
timeout 900 kubectl --namespace ziggurat exec ziggurat-coordinator-0 -- /ziggurat watch "$job"
ziggurat export "$job" --format zgt --out /data/together.zgt
kubectl apply -f "$deploy/kubernetes/tables.yaml"
k wait --for condition=Ready pod/ziggurat-tables --timeout 180s
k cp ziggurat-tables:/data/together.zgt "$scratch/together.zgt"
cmp "$scratch/alone.zgt" "$scratch/together.zgt" || fail "the tables differ"

step "deploy/kubernetes passed"
