#!/usr/bin/env bash
# A cluster whose hosts are network namespaces, each with an address of its own: a link between two
# workers is cut and healed, then that between a worker and the coordinator, and the table is compared
# with that of `ziggurat solve`. Needs root (or `unshare -rn`), `ip`, and `tc` for RATE.
#
#   tests/partition.sh /path/to/ziggurat              cut links, and compare
#   RATE=1gbit tests/partition.sh /path/to/ziggurat   cut nothing, slow links; prints how long it took
#
# GAME is what is solved (default "blitz --pieces 4"), WORKERS how many there are (default 2).
set -euo pipefail

ziggurat=$(realpath "${1:?the path of ziggurat}")
read -ra game <<<"${GAME:-blitz --pieces 4}"
workers=${WORKERS:-2}
directory=$(mktemp -d)
prefix=zig$$
coordinator=10.77.0.100:7400

inside() { ip netns exec "$prefix-$1" "${@:2}"; }

clean_up() {
    local status=$?
    for host in c $(seq "$workers"); do
        for pid in $(ip netns pids "$prefix-$host" 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
        ip netns del "$prefix-$host" 2>/dev/null || true
    done
    ip link del "$prefix" 2>/dev/null || true
    if [ "$status" -ne 0 ]; then tail -n 20 "$directory"/*.log >&2; fi
    rm -rf "$directory"
}

# A container engine may have the host drop what bridges forward, that between these hosts too.
if [ "$(cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null)" = 1 ] &&
    iptables -S FORWARD 2>/dev/null | grep -qx -e '-P FORWARD DROP'; then
    echo "this host drops what bridges forward (a container engine sets that): \`iptables -P FORWARD ACCEPT\`," \
        "or \`sysctl -w net.bridge.bridge-nf-call-iptables=0\`, then run this again" >&2
    exit 1
fi
trap clean_up EXIT

host() { # name address
    ip netns add "$prefix-$1"
    ip link add "$prefix$1" type veth peer name eth0 netns "$prefix-$1"
    ip link set "$prefix$1" master "$prefix" up
    inside "$1" ip addr add "$2/24" dev eth0
    inside "$1" ip link set eth0 up
    inside "$1" ip link set lo up
    if [ -n "${RATE:-}" ]; then
        inside "$1" tc qdisc add dev eth0 root tbf rate "$RATE" burst 256kb latency 50ms
    fi
}

ip link add "$prefix" type bridge
ip link set "$prefix" up
host c 10.77.0.100
for i in $(seq "$workers"); do host "$i" "10.77.0.$i"; done

cd "$directory"
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >token
export ZIGGURAT_TOKEN_FILE=$directory/token ZIGGURAT_COORDINATOR=$coordinator
inside c "$ziggurat" coordinator --dir c --listen "$coordinator" --lease 3s --lost-after 60s \
    --split-above 50000 2>c.log &
for i in $(seq "$workers"); do
    inside "$i" "$ziggurat" worker --dir "w$i" --name "w$i" --threads "${THREADS:-1}" \
        --listen "10.77.0.$i:7410" 2>"w$i.log" &
done
sleep 1
job=$(inside c "$ziggurat" submit "${game[@]}" --checkpoint-every 2s 2>/dev/null)

state() { inside c "$ziggurat" status "$job" --json | tr ',' '\n' | grep -m1 '"state"' | cut -d'"' -f4; }
sever() { inside "$1" ip route add blackhole "$2"; }
heal() { inside "$1" ip route del blackhole "$2"; }

if [ -z "${RATE:-}" ]; then
    sleep 4
    echo "the link between two workers is cut"
    sever 1 10.77.0.2
    sleep 8
    heal 1 10.77.0.2
    echo "it is healed; the link between a worker and the coordinator is cut"
    sever 1 10.77.0.100
    sleep 8
    heal 1 10.77.0.100
    echo "it is healed"
fi
deadline=$((SECONDS + ${PATIENCE:-600}))
while [ "$(state)" != '"solved"' ] && [ "$(state)" != solved ]; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "error: not solved in time" >&2; exit 1; }
    sleep 1
done
inside c "$ziggurat" status "$job" | head -n 3
inside c "$ziggurat" export "$job" --format zgt --out table.zgt
"$ziggurat" solve "${game[@]}" --out alone.zgt >/dev/null 2>&1
cmp table.zgt alone.zgt
echo "the same bytes as alone"
