# shellcheck shell=bash disable=SC2034 # the scripts that source this file read the variables
# start_berthd PROGRAM [FLAG…]: starts a berthd on free ports that ends with the script. Sets base, secret and metrics. Its
# database is the PostgreSQL at the address in BERTH_TEST_DATABASE (tests/postgres/run), or SQLite without one.
start_berthd() {
  data=$(mktemp -d)
  "$1" --data-dir "$data" --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --rate-limits off --simulated-speed 10 --simulated-builds on \
    --registries docker.io/library --tiers "$tiers" --database "${BERTH_TEST_DATABASE:-}" "${@:2}" >"$data/log" 2>&1 &
  pid=$!
  trap 'kill $pid 2>/dev/null || true; wait $pid 2>/dev/null || true; rm -rf "$data"' EXIT
  for _ in $(seq 600); do
    [ -s "$data/berthd.metrics.addr" ] && break
    kill -0 $pid 2>/dev/null || { cat "$data/log"; exit 1; }
    sleep 0.1
  done
  base="http://$(cat "$data/berthd.addr")"
  metrics="http://$(cat "$data/berthd.metrics.addr")"
  secret=$(cat "$data/internal-secret")
}

tiers='[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0,
  max-deployments: 1000, auto-approve: true},
  {slug: basic, name: Basic, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 100,
  max-deployments: 1000, custom-domain: true}]'
