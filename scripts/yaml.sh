#!/usr/bin/env bash
# Prints the chart as plain YAML, for `kubectl apply -f`.
#   yaml.sh VALUES_FILE [NAMESPACE]     default namespace: berth
# Helm is required here, but not where the YAML is applied. It is taken from PATH or from the test cluster's programs.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
values=$(readlink -f "$1")
namespace=${2:-berth}
cd "$(dirname "$(readlink -f "$0")")/.."
helm=$(command -v helm || echo "${BERTH_KUBE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/berth/kube}/tools/helm")
[ -x "$helm" ] || { echo "yaml.sh: helm is missing: install it, or run tests/kube/cluster build" >&2; exit 1; }

# A secret created here would be part of the file, and different each time.
cat <<YAML
# berth, as plain YAML. Beforehand:
#   kubectl -n $namespace create secret generic berth --from-literal=internal-secret=\$(openssl rand -hex 32)
apiVersion: v1
kind: Namespace
metadata:
  name: $namespace
  labels:
    pod-security.kubernetes.io/enforce: restricted
YAML
"$helm" template berth charts/berth --namespace "$namespace" --skip-tests --values "$values" \
  --set internalSecret.existingSecret=berth
