#!/usr/bin/env bash
# The Slurm script solves blitz with 5 pieces and exports it; meanwhile a worker is killed, and time runs out, so
# that the job is queued again. The table must be that of `ziggurat solve`.
#
#   ZIGGURAT=/path/to/ziggurat deploy/slurm/test.sh
#
# Stand-ins for `srun`, `scancel` and `scontrol` make this machine three nodes. Where `sbatch` is at hand, a real job on as
# many nodes as SLURM_TEST_NODES says, by default 1, is run after that, in a directory below the current one, which
# all nodes must see; it is queued again once while it runs.
set -euo pipefail

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# Long enough for all of it to happen meanwhile.
pieces="${PIECES:-5}"
program=$(program)
scratch=$(mktemp -d)
script=
real=

ended() {
    local code=$?
    if [[ -n "$script" ]] && kill -TERM "$script" 2>/dev/null; then
        wait "$script" || true
    fi
    [[ -z "$real" ]] || scancel "$real" || true
    ((code == 0)) || tail -n 20 "$scratch"/out "$scratch"/run/logs/* >&2 || true
    rm -rf "$scratch"
}
trap ended EXIT

step "what one process makes of it"
"$program" solve blitz --pieces "$pieces" --out "$scratch/alone.zgt" >/dev/null

# What Slurm would tell the script; with other variables, if they are given.
job() {
    env PATH="$deploy/slurm/stand-in:$PATH" STAND_IN="$scratch" ZIGGURAT="$program" \
        DIR="$scratch/run" SCRATCH="$scratch/disks" \
        RULESET=blitz PIECES="$pieces" PORT="${PORT:-27400}" WORKER_PORT="${WORKER_PORT:-27410}" \
        SLURM_JOB_ID=1 SLURM_SUBMIT_DIR="$scratch" SLURM_JOB_NODELIST=127.0.0.1,127.0.0.2,127.0.0.3 \
        "$@" bash "$deploy/slurm/ziggurat.sbatch" >>"$scratch/out" 2>&1
}
submitted() { [[ -s "$scratch/run/job" ]]; }
workers() { pgrep --full --count -- "worker .*--dir $scratch/disks/ziggurat-[0-9a-f]{8}/"; }
workers_are() { [[ "$(workers)" == "$1" ]]; }
ended_by_itself() { ! kill -0 "$script" 2>/dev/null; }

step "stand-ins: a job on three nodes"
job &
script=$!
wait_until 60 "three workers" workers_are 3
wait_until 60 "the job is submitted" submitted
[[ ! -e "$scratch/run/blitz.zgt" ]] || fail "the table was there before anything happened"

step "stand-ins: a worker is killed and started again on its node"
second_worker() { pgrep --full -- "worker .*--dir $scratch/disks/ziggurat-[0-9a-f]{8}/127.0.0.2"; }
killed=$(second_worker)
kill -KILL "$killed"
is_back() { [[ -n "$(second_worker)" && "$(second_worker)" != "$killed" ]]; }
wait_until 30 "the worker is back" is_back

step "stand-ins: time is nearly up"
kill -USR1 "$(pgrep --parent "$script" --full ziggurat.sbatch)"
wait_until 300 "the job ends" ended_by_itself
wait "$script" || fail "the job did not end as it should"
script=
[[ "$(cat "$scratch/requeued")" == 1 ]] || fail "the job was not queued again"
workers_are 0 || fail "workers are left"
[[ ! -e "$scratch/run/blitz.zgt" ]] || fail "the job was solved before time was up"

step "stand-ins: the job runs again"
job &
script=$!
wait_until 900 "the job ends" ended_by_itself
wait "$script" || fail "the job did not end as it should"
script=
cmp "$scratch/alone.zgt" "$scratch/run/blitz.zgt" || fail "the tables differ"
wait_until 10 "nothing is left running" workers_are 0

step "stand-ins: another table in the same directory is refused"
code=0
job PIECES=1 || code=$?
((code == 2)) || fail "the job ended with $code, not 2"
tail -n 2 "$scratch/out" | grep -q "has a job with RULESET=blitz PIECES=$pieces " || fail "it does not say why"

step "stand-ins: a file of the table's name that is not the job's is refused, and left as it is"
printf 'mine\n' >"$scratch/mine.zgt"
code=0
job DIR="$scratch/other" OUT="$scratch/mine.zgt" || code=$?
((code == 2)) || fail "the job ended with $code, not 2"
tail -n 2 "$scratch/out" | grep -q "error: $scratch/mine.zgt is there already" || fail "it does not say why"
[[ "$(cat "$scratch/mine.zgt")" == mine && ! -e "$scratch/other" ]] || fail "it began all the same"

step "stand-ins: the job's own table is not exported again"
touch -d @1000000000 "$scratch/run/blitz.zgt"
job || fail "the job did not end as it should"
[[ "$(stat -c %Y "$scratch/run/blitz.zgt")" == 1000000000 ]] || fail "the table was exported again"

if command -v sbatch >/dev/null; then
    step "Slurm: a real job on ${SLURM_TEST_NODES:-1} nodes"
    shared=$(mktemp -d "$PWD/ziggurat-slurm.XXXXXX")
    real=$(RULESET=blitz PIECES="$pieces" DIR="$shared/run" ZIGGURAT="$program" sbatch --parsable \
        --nodes="${SLURM_TEST_NODES:-1}" --output="$shared/out" "$deploy/slurm/ziggurat.sbatch")
    started() { [[ -s "$shared/run/job" ]]; }
    over() { [[ -z "$(squeue --noheader --job "$real" 2>/dev/null)" ]]; }
    wait_until 600 "the job is submitted" started

    step "Slurm: time is nearly up"
    scancel --batch --signal=USR1 "$real"
    queued_again() { grep -q "queued again" "$shared/out"; }
    wait_until 300 "the job is queued again" queued_again

    step "Slurm: the job runs again"
    wait_until 1800 "the job ends" over
    real=
    cmp "$scratch/alone.zgt" "$shared/run/blitz.zgt" || { tail "$shared"/out "$shared"/run/logs/* >&2; fail "the tables differ"; }
    rm -rf "$shared"
    step "deploy/slurm passed, with stand-ins and with Slurm"
else
    step "deploy/slurm passed, with stand-ins; SKIPPED: a real job, which needs sbatch"
fi
