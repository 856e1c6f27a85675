#!/usr/bin/env bash
# Redis, three nodes and HAProxy on this machine. A client opens a session, one node is killed, and the session goes on.
# Everything that is started here is stopped at the end, by its process id.
#
#   examples/cluster/run.sh
#
# It needs `redis-server` and `haproxy` (apt-get install redis-server haproxy). CLUSTER is the program, if it is built
# already; READY is the path of the health check.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PATH:/usr/sbin"

for program in redis-server haproxy; do
    command -v "$program" >/dev/null || { echo "cluster: $program is missing: apt-get install $program" >&2; exit 1; }
done
if [ -z "${CLUSTER:-}" ]; then
    cargo build --quiet -p toolway-examples --example cluster
    CLUSTER=${CARGO_TARGET_DIR:-target}/debug/examples/cluster
fi
ready=${READY:-/ready}

folder=$(mktemp -d)
pids=()
stop() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

# Waits until a file has a line with this text; fails if the process ends before.
wait_for() { # text, file, pid
    until grep -q -- "$1" "$2" 2>/dev/null; do
        kill -0 "$3" 2>/dev/null || return 1
        sleep 0.05
    done
}

draw_port() { echo $((20000 + RANDOM % 10000)); }

# A port may be taken: then the program ends, and the next attempt has another one.
start_redis() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        redis_port=$(draw_port)
        redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$folder" --appendonly yes >"$folder/redis.log" 2>&1 &
        if wait_for "eady to accept connections" "$folder/redis.log" $!; then
            pids+=($!)
            return
        fi
    done
    echo "cluster: redis-server does not start" >&2
    exit 1
}

start_node() { # number
    # The system chooses the port, and the node prints it.
    "$CLUSTER" node "node-$1" 127.0.0.1:0 "redis://127.0.0.1:$redis_port" >"$folder/node-$1.log" 2>&1 &
    node_pids[$1]=$!
    pids+=($!)
    wait_for "at http://" "$folder/node-$1.log" $! || { cat "$folder/node-$1.log" >&2; exit 1; }
    node_ports[$1]=$(sed -n 's|.* at http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$folder/node-$1.log")
}

start_balancer() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        balancer_port=$(draw_port)
        # The file of the guide, with the addresses of this machine.
        sed -e "s|bind .*|bind 127.0.0.1:$balancer_port|" -e "s|uri /ready|uri $ready|" \
            -e "s|10.0.0.1:8000|127.0.0.1:${node_ports[1]}|" -e "s|10.0.0.2:8000|127.0.0.1:${node_ports[2]}|" \
            -e "s|10.0.0.3:8000|127.0.0.1:${node_ports[3]}|" \
            docs/guide/several-nodes/haproxy.cfg >"$folder/haproxy.cfg"
        haproxy -f "$folder/haproxy.cfg" -db >"$folder/haproxy.log" 2>&1 &
        pids+=($!)
        # Any answer will do: it comes from a node as soon as the balancer takes it for ready.
        until curl -s -o /dev/null --fail-with-body "http://127.0.0.1:$balancer_port$ready" -H 'Host: localhost'; do
            kill -0 $! 2>/dev/null || continue 2
            sleep 0.05
        done
        return
    done
    cat "$folder/haproxy.log" >&2
    exit 1
}

declare -A node_pids node_ports
start_redis
for number in 1 2 3; do start_node $number; done
start_balancer
echo "redis at port $redis_port, nodes at ${node_ports[1]}, ${node_ports[2]} and ${node_ports[3]}, balancer at $balancer_port"

exec 3< <(exec "$CLUSTER" client "http://127.0.0.1:$balancer_port/mcp" 2>&1)
client=$!
pids+=($client)
survived=no
while read -r line <&3; do
    echo "$line"
    case $line in
    "a long call works at node-"*)
        number=${line##*-}
        echo "kill -9 node-$number"
        kill -9 "${node_pids[$number]}"
        wait "${node_pids[$number]}" 2>/dev/null || true
        ;;
    "visit 12 at node-"*) survived=yes ;;
    esac
done

status=0
wait $client || status=$?
if [ $status != 0 ] || [ $survived = no ]; then
    echo "cluster: the session did not survive; the client ended with exit code $status" >&2
    exit 1
fi
echo "one session, 12 visits, one node less"
