#!/usr/bin/env bash
# The units run under a systemd: a coordinator and a worker solve blitz with 4 pieces and export it; meanwhile the
# worker is killed. The table must be that of `ziggurat solve`.
#
#   ZIGGURAT=/path/to/ziggurat deploy/systemd/test.sh      needs root, systemd's programs, unshare, curl
#
# The systemd is one of its own, in namespaces of its own, over a copy of this machine's files that is gone
# afterwards (boot.sh): nothing is installed here, and whatever runs here is not touched.
set -euo pipefail

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

need systemctl systemd-sysusers unshare nsenter ip curl findmnt
[[ $(id -u) == 0 ]] || skip "needs root, for a systemd of its own"
[[ -x /lib/systemd/systemd ]] || skip "needs systemd"
grep -qw overlay /proc/filesystems || skip "needs a kernel with overlay file systems"
groups=$(findmnt --noheadings --types cgroup2 --output TARGET | head -n 1)
[[ -n "$groups" ]] || skip "needs control groups, version 2"

program=$(program)
scratch=$(mktemp -d)
group="$groups/ziggurat-test-$$"
mkdir "$group"
outer=
init=

ended() {
    local code=$?
    ((code == 0)) || tail -n 20 "$scratch"/log "$scratch"/shared/*.log >&2 || true
    # Its systemd takes along whatever it started.
    [[ -z "$init" ]] || kill -KILL "$init" 2>/dev/null || true
    [[ -z "$outer" ]] || wait "$outer" 2>/dev/null || true
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    rm -rf "$scratch"
}
trap ended EXIT

inside() { nsenter --target "$init" --mount --pid --net --uts --ipc "$@"; }
ziggurat() { inside env ZIGGURAT_TOKEN_FILE=/etc/ziggurat/token /usr/local/bin/ziggurat "$@"; }
property() { inside systemctl show --property "$2" --value "ziggurat-$1.service"; }
ready() { inside curl --silent --fail --max-time 5 "127.0.0.1:$1/readyz"; }

step "what one process makes of it"
"$program" solve blitz --pieces 4 --out "$scratch/alone.zgt" >/dev/null

step "a systemd"
mkdir "$scratch/shared"
secret "$scratch/token"
(
    echo "$BASHPID" >"$group/cgroup.procs"
    exec unshare --mount --pid --net --uts --ipc --cgroup --fork \
        bash "$deploy/systemd/boot.sh" "$program" "$scratch"
) </dev/null >"$scratch/log" 2>&1 &
outer=$!
booted() { init=$(pgrep --parent "$outer") && inside systemctl is-system-running; }
wait_until 30 "systemd has started" booted

step "a coordinator and a worker"
inside systemctl start ziggurat-coordinator.service ziggurat-worker.service
wait_until 60 "the coordinator is ready" ready 7401
wait_until 60 "the worker is ready" ready 7411
[[ $(inside ps -o user= -p "$(property worker MainPID)") == ziggurat ]] || fail "the worker is not the user ziggurat"

step "a job, and the worker is killed"
job=$(ziggurat submit blitz --pieces 4 | grep -oE '[0-9]+' | head -n 1)
killed=$(property worker MainPID)
inside systemctl kill --signal=KILL ziggurat-worker.service
started_again() { [[ "$(property worker NRestarts)" == 1 && "$(property worker MainPID)" != "$killed" ]]; }
wait_until 30 "the worker is started again" started_again

step "the table"
inside env ZIGGURAT_TOKEN_FILE=/etc/ziggurat/token timeout 900 /usr/local/bin/ziggurat watch "$job"
ziggurat export "$job" --format zgt --out /shared/together.zgt
cmp "$scratch/alone.zgt" "$scratch/shared/together.zgt" || fail "the tables differ"

step "asked to stop, both end well"
for unit in worker coordinator; do
    inside systemctl stop "ziggurat-$unit.service"
    [[ "$(property "$unit" Result) $(property "$unit" ExecMainStatus)" == "success 0" ]] ||
        fail "ziggurat-$unit.service: $(property "$unit" Result), status $(property "$unit" ExecMainStatus)"
done

step "deploy/systemd passed"
