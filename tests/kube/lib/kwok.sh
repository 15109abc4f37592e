# shellcheck shell=bash
# A second node that only claims to run its pods, whatever their image, for tests with many pods, and of objects rather
# than containers. The real node accepts no new pods meanwhile.

launch_kwok() {
  start kwok 10247 "$(program kwok)" --kubeconfig="$state/kwok.kubeconfig" --config="$(kwok_stages)" --node-ip="$node_address" \
    --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake --server-address=127.0.0.1:10247 --node-lease-duration-seconds=40
}

ready_kwok() { answers http://127.0.0.1:10247/healthz; }

settle_kwok() {
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Node
metadata:
  name: pretended
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: pretended, kubernetes.io/os: linux, type: kwok}
status:
  allocatable: {cpu: "1000", memory: 10Ti, ephemeral-storage: 100Ti, pods: "100000"}
  capacity: {cpu: "1000", memory: 10Ti, ephemeral-storage: 100Ti, pods: "100000"}
YAML
  kubectl wait --for=condition=Ready node/pretended --timeout=10s >/dev/null
  kubectl cordon node1 >/dev/null
}

retire_kwok() {
  is_running apiserver || return 0
  kubectl delete node pretended --ignore-not-found --wait=false >/dev/null || true
  kubectl uncordon node1 >/dev/null || true
}
