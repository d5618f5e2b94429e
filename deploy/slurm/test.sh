#!/usr/bin/env bash
# The Slurm script solves blitz with 5 pieces and exports it; meanwhile a worker is killed, and time runs out, so
# that the job is queued again. The table must be that of `ziggurat solve`. Then the job is given what it must refuse,
# and workers that cannot run.
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

# The script itself, below the shell that started it.
batch() { pgrep --parent "$script" --full ziggurat.sbatch; }

ended() {
    local code=$?
    if [[ -n "$script" ]] && kill -TERM "$(batch)" 2>/dev/null; then
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

# A program that only pretends: it writes down how it is told to submit and each SIGTERM that a worker hears of,
# two seconds after which the worker ends.
cat >"$scratch/pretender" <<'END'
#!/usr/bin/env bash
case "$1" in
submit) printf '%s\n' "$*" >"$STAND_IN/told"; printf '1\n' ;;
coordinator) exec sleep 1000 ;;
watch)
    printf 'watched\n' >>"$STAND_IN/told"
    while [[ -d "$STAND_IN/first" ]]; do sleep 1; done
    ;;
worker)
    trap 'printf "heard\n" >>"$STAND_IN/heard"' TERM
    printf 'begun\n' >>"$STAND_IN/begun"
    until [[ -e "$STAND_IN/heard" ]]; do sleep 0.1; done
    end=$((SECONDS + 2))
    while ((SECONDS < end)); do sleep 0.1; done
    ;;
esac
END
chmod +x "$scratch/pretender"
lines_are() { [[ -e "$scratch/$1" && "$(wc -l <"$scratch/$1")" == "$2" ]]; }

step "stand-ins: what submit is told; asked to leave twice, workers leave once, and the script waits"
mkdir "$scratch/first"
job ZIGGURAT="$scratch/pretender" DIR="$scratch/first" SUBMIT_OPTIONS="--ruleset my.toml --uncertified" &
script=$!
wait_until 60 "the job is watched" lines_are told 2
[[ "$(head -n 1 "$scratch/told")" == "submit --ruleset my.toml --uncertified --pieces $pieces" ]] || fail "told: $(<"$scratch/told")"
wait_until 60 "three workers" lines_are begun 3
for _ in 1 2 3; do
    kill -TERM "$(<"$scratch/srun")" 2>/dev/null || true
    sleep 0.5
done
wait_until 60 "the script knows that they left" grep -q "were asked to leave" "$scratch/out"
lines_are heard 3 || fail "not every worker heard of one signal: $(wc -l <"$scratch/heard")"
ended_by_itself && fail "the script did not wait"
kill -TERM "$(pgrep --parent "$script" --full ziggurat.sbatch)"
code=0
wait "$script" || code=$?
script=
((code == 143)) || fail "the job ended with $code, not 143"
rm -r "$scratch/first"

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
kill -USR1 "$(batch)"
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
[[ "$(sort -u "$scratch/run/nodes")" == $'127.0.0.1\n127.0.0.2\n127.0.0.3' ]] || fail "DIR/nodes has other nodes"
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

# cannot_run VARIABLE=VALUE...: no worker can, and the job ends with an error that says so.
cannot_run() {
    local code=0
    job "$@" &
    script=$!
    wait_until 150 "the job ends" ended_by_itself
    wait "$script" || code=$?
    script=
    ((code == 1)) || fail "the job ended with $code, not 1"
    grep -q "error: no worker runs any more" "$scratch/out" || fail "it does not say why"
    [[ "$(cat "$scratch/requeued")" == 1 ]] || fail "the job was queued again"
    : >"$scratch/out"
}

step "stand-ins: workers of another coordinator end, and the job with them"
mv "$scratch/run" "$scratch/old"
mkdir "$scratch/run"
cp "$scratch/old/id" "$scratch/run/id"
cannot_run

step "stand-ins: workers that cannot make their directories end, and the job with them"
cannot_run DIR="$scratch/third" SCRATCH="$scratch/mine.zgt"

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
