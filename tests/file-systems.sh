#!/usr/bin/env bash
# Solves, goes on, exports and runs a cluster where calls of the file system fail (strace), under limits of a process
# (ulimit), and on a real exFAT, where the tools and the rights for that are there. Says SKIPPED where they are not.
#   tests/file-systems.sh /path/to/ziggurat
set -uo pipefail

program=$(realpath "${1:?usage: tests/file-systems.sh /path/to/ziggurat}")
dir=$(mktemp -d)
children=()
failures=0
loop=
finish() {
    for child in "${children[@]}"; do kill -9 "$child" 2>/dev/null; done
    mountpoint -q "$dir/exfat" && umount "$dir/exfat"
    [[ -n $loop ]] && losetup -d "$loop"
    rm -rf "$dir"
}
trap finish EXIT

# Runs a command that has to end with one of some exit codes.
expect() {
    local codes=$1 what=$2
    shift 2
    "$@" >"$dir/said" 2>&1 </dev/null
    local code=$?
    if [[ " $codes " != *" $code "* ]]; then
        failures=$((failures + 1))
        printf 'FAILED: %s: exit %s, not %s\n' "$what" "$code" "$codes"
        tail -n 5 "$dir/said"
    fi
}

# Solve, resume, export, coordinator and worker, in a directory, each run by a prefix.
everything() {
    local what=$1 codes=$2 place=$3
    shift 3
    local run=("$@")
    mkdir -p "$place" && cd "$place" || exit 1
    local in_files=(--memory 150MB --threads 1 --checkpoint-every 1s)
    expect "$codes" "$what: solve" "${run[@]}" "$program" solve finkel --pieces 3 --out x.zgt
    expect "$codes" "$what: solve --dir" "${run[@]}" "$program" solve finkel --pieces 4 --dir d "${in_files[@]}" --out y.zgt
    if [[ -d d ]]; then
        expect 0 "$what: resume" "$program" resume d --out z.zgt
    fi
    [[ -e x.zgt ]] || "$program" solve finkel --pieces 3 --out x.zgt >/dev/null 2>&1
    local format
    for format in rgu parquet; do
        expect "$codes" "$what: export" "${run[@]}" "$program" export x.zgt --format "$format"
    done
    cluster "$what" "$codes" "${run[@]}"
    find . -name '.*.partial-*' | sed "s/^/LEFT: $what: /"
    cd "$dir" || exit 1
}

# A coordinator and a worker under a prefix, and a job without.
cluster() {
    local what=$1 codes=$2
    shift 2
    local port started address
    port=$(shuf -i 20000-29999 -n 1)
    address=127.0.0.1:$port
    started=()
    "$@" "$program" coordinator --dir c --listen "$address" >coordinator.log 2>&1 &
    started+=($!)
    "$@" "$program" worker --dir w --coordinator "$address" --threads 1 --memory 400MB >worker.log 2>&1 &
    started+=($!)
    children+=("${started[@]}")
    for _ in $(seq 100); do
        "$program" jobs --coordinator "$address" >/dev/null 2>&1 && break
        sleep 0.1
    done
    # A job waits for another worker where this one cannot take part, and says why.
    expect "$codes 124" "$what: cluster" timeout 60 "$program" submit finkel --pieces 3 --wait --coordinator "$address"
    if grep -q 'cannot take part' "$dir/said" && ! grep -q 'cannot take part:.*\(ulimit\|quota\)' "$dir/said"; then
        failures=$((failures + 1))
        printf 'FAILED: %s: a limit is not named\n' "$what"
    fi
    expect "$codes 1" "$what: export of a job" "$@" timeout 60 "$program" export 1 --out job.zgt --coordinator "$address"
    local child own
    for child in "${started[@]}"; do
        own=$(pgrep -P "$child") # of strace, which does not pass signals on
        kill "${own:-$child}" 2>/dev/null
    done
    for child in "${started[@]}"; do
        for _ in $(seq 100); do
            kill -0 "$child" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 "$child" 2>/dev/null
    done
}

if strace -f -o /dev/null true 2>/dev/null; then
    strace=(strace -f -o /dev/null)
    everything "no links" 0 "$dir/links" "${strace[@]}" -e inject=renameat2:error=EINVAL -e inject=link,linkat:error=EPERM
    for error in EINVAL EOPNOTSUPP ENOSYS; do
        everything "fsync $error" 0 "$dir/fsync-$error" "${strace[@]}" -e trace=fsync,fdatasync -e inject=fsync,fdatasync:error=$error
    done
    for call in fallocate fadvise64 madvise flock statfs,fstatfs statx copy_file_range sendfile readahead sync_file_range; do
        for error in ENOSYS EOPNOTSUPP EINVAL; do
            [[ $call == statx && $error != ENOSYS ]] && continue
            everything "$call $error" 0 "$dir/$call-$error" "${strace[@]}" -e trace="$call" -e inject="$call:error=$error"
        done
    done
    # What is printed on the way fails as well.
    quota=("${strace[@]}" -e trace=write,pwrite64 -e inject=write,pwrite64:error=EDQUOT:when=3+)
    mkdir "$dir/quota" && cd "$dir/quota" || exit 1
    "$program" solve finkel --pieces 3 --out x.zgt >/dev/null 2>&1
    expect "1 3" "quota: solve" "${quota[@]}" "$program" solve finkel --pieces 5 --out y.zgt
    expect "1 3" "quota: solve --dir" "${quota[@]}" "$program" solve finkel --pieces 4 --dir d --out z.zgt
    for format in rgu parquet; do
        expect "1 3" "quota: export" "${quota[@]}" "$program" export x.zgt --format "$format"
    done
    find . -name '.*.partial-*' | sed "s/^/LEFT: quota: /"
    cd "$dir" || exit 1
else
    echo "SKIPPED: strace is not there, or not allowed"
fi

for limit in "-f 100" "-f 1000" "-n 24" "-n 64" "-n 200" "-v 600000" "-v 1200000" "-d 300000" "-s 128"; do
    # shellcheck disable=SC2086
    everything "ulimit $limit" "0 1 2 3" "$dir/limit${limit// /}" bash -c "ulimit $limit && exec \"\$@\"" bash
done

if [[ $EUID == 0 ]] && command -v mkfs.exfat >/dev/null && command -v mount.exfat-fuse >/dev/null; then
    truncate -s 300M "$dir/disk" && mkfs.exfat "$dir/disk" >/dev/null && mkdir "$dir/exfat"
    if loop=$(losetup -f --show "$dir/disk") && mount.exfat-fuse "$loop" "$dir/exfat" >/dev/null 2>&1; then
        everything "exFAT" 0 "$dir/exfat/job"
    else
        echo "SKIPPED: exFAT cannot be mounted here"
    fi
else
    echo "SKIPPED: exFAT needs root, exfatprogs and exfat-fuse"
fi

echo "$failures failures"
[[ $failures == 0 ]]
