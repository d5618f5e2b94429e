# What scripts have in common that start servers; they source this.
#
# Sets $dir, a directory that is removed in the end, as processes whose numbers are in $pids are ended.

dir=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap finish EXIT

# wait_until NAME LOG COMMAND...: waits until a command succeeds, as long as the last process runs; else ends with its log.
wait_until() {
    local name=$1 log=$2 tenths
    shift 2
    for ((tenths = 0; ; tenths++)); do
        if "$@" 2>/dev/null; then
            return
        fi
        if ((tenths == 300)) || ! kill -0 "${pids[-1]}" 2>/dev/null; then
            echo "$(basename "$0"): $name does not start; its log:" >&2
            cat "$log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# listens PORT: whether somebody does.
listens() { (: <"/dev/tcp/127.0.0.1/$1"); }
