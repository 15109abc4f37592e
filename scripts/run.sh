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

berthd listens on http://$address (the cluster is simulated: nothing really runs)
  health:      curl http://$address/health
  the API:     curl http://$address/.well-known/openapi.json
  metrics:     curl http://$(cat "$data/berthd.metrics.addr")/metrics
  admin:       the header x-internal-secret with the content of $data/internal-secret
  the client:  ${berthd%d} --help
  a tour:      README.md, "Five minutes"
Ctrl-C ends it.

TEXT
wait $pid
