#!/usr/bin/env bash
# Starts berthd with its simulated cluster and says what to try. Ctrl-C ends it.
set -euo pipefail
berthd=$1 data=$2
rm -f "$data/berthd.addr" "$data/berthd.metrics.addr"
"$berthd" --data-dir "$data" --log-format text &
pid=$!
trap 'kill -TERM $pid 2>/dev/null || true' INT TERM
for _ in $(seq 100); do
  [ -s "$data/berthd.metrics.addr" ] && break
  kill -0 $pid 2>/dev/null || { wait $pid; exit $?; }
  sleep 0.1
done
address=$(cat "$data/berthd.addr")
cat <<TEXT

berth is at   http://$address

Open it in a browser. The cluster is simulated: nothing really runs. README.md, "Five minutes", has the same for the
command line, with the client ${berthd%d}. Ctrl-C ends it.

TEXT
wait $pid
