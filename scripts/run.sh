#!/usr/bin/env bash
# Starts berthd, and says what to try. Where podman and Caddy can run containers they do, and otherwise the cluster is
# simulated; KUBERNETES=simulated simulates it anyway. Ctrl-C ends berthd; containers go on, and `berthd local clean` ends
# them.
set -euo pipefail
berthd=$1 data=$2
# Whoever runs this is the admin of their berth, which nobody else reaches, and may run the images that they know.
export BERTHD_FIRST_ACCOUNT_ADMIN=${BERTHD_FIRST_ACCOUNT_ADMIN-on}
export BERTHD_REGISTRIES=${BERTHD_REGISTRIES-docker.io,ghcr.io,registry.localhost:5000}
rm -f "$data/berthd.addr" "$data/berthd.metrics.addr"
kubernetes=${KUBERNETES:-local} why="KUBERNETES says so"
if [ "$kubernetes" != local ]; then
  :
elif [ "$(id -u)" -ne 0 ]; then
  kubernetes=simulated why="berthd isn't run as root, and without root podman's limits don't hold on every machine"
elif ! checked=$("$berthd" doctor --local --data-dir "$data" 2>&1); then
  kubernetes=simulated why=$(grep -m 1 -i '^failed' <<<"$checked" || tail -n 1 <<<"$checked")
fi
more=()
[ "$kubernetes" = local ] || more=(--simulated-builds on)
clients=$(dirname "$berthd")/client # scripts/client.sh has made it
[ ! -d "$clients" ] || more+=(--client-files "$clients")
"$berthd" --data-dir "$data" --log-format text --kubernetes "$kubernetes" "${more[@]}" &
pid=$!
trap 'kill -TERM $pid 2>/dev/null || true' INT TERM
for _ in $(seq 300); do
  [ -s "$data/berthd.metrics.addr" ] && break
  kill -0 $pid 2>/dev/null || { wait $pid; exit $?; }
  sleep 0.1
done
# The address of all links that berthd makes. Another name of the same berthd would have cookies, and so a login, of its own.
listens=http://$(cat "$data/berthd.addr")
address=$(curl -fsS "$listens/.well-known/oauth-authorization-server" | sed -n 's/.*"issuer":"\([^"]*\)".*/\1/p') || address=
if [ "$kubernetes" = local ]; then
  what="Containers really run, by podman. Ctrl-C ends berthd and not them: $berthd local clean --data-dir $data does."
  where="Apps are below apps.localhost there."
else
  what="The cluster is simulated, nothing really runs: ${why%.}. Ctrl-C ends it."
  where=
fi
cat <<TEXT

berth is at   ${address:-$listens}

Open it in a browser. $what $where
README.md, "Five minutes", has the same for the command line, with the client ${berthd%d}.

TEXT
wait $pid
