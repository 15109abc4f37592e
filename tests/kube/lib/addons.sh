# shellcheck shell=bash
# What a hosting platform's cluster has in addition: an ingress controller, certificates (with an ACME server and a DNS
# server), and metrics. DNS of the cluster and the ingress controller run in pods, and the others as processes.

# No part of the cluster does anything with a Gateway.
settle_apiserver() { kubectl apply --server-side --force-conflicts -f "$(definitions)" >/dev/null; }

# Answers every name with 127.0.0.1. Other answers can be set over HTTP at port 8055.
launch_dns() {
  start dns "8053 8055" "$(program pebble-challtestsrv)" -defaultIPv4 127.0.0.1 -defaultIPv6 "" \
    -dnsserver 127.0.0.1:8053 -http01 "" -https01 "" -tlsalpn01 "" -doh "" -management 127.0.0.1:8055
}
ready_dns() { answers -X POST -d '{"host": "ready.example"}' http://127.0.0.1:8055/clear-a; }

launch_pebble() {
  cat >"$config/pebble.json" <<JSON
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000",
  "certificate": "$pki/pebble.crt", "privateKey": "$pki/pebble.key", "httpPort": 80, "tlsPort": 443}}
JSON
  PEBBLE_VA_NOSLEEP=1 start pebble "14000 15000" "$(program pebble)" -config "$config/pebble.json" \
    -dnsserver 127.0.0.1:8053
}
ready_pebble() { answers -k https://127.0.0.1:14000/dir; }
# Pebble knows no account from before its start, and cert-manager registers one only for a new issuer.
settle_pebble() {
  kubectl get clusterissuer pebble >/dev/null 2>&1 || return 0
  kubectl delete clusterissuer pebble >/dev/null
  make_issuer
}

# Applies a part's manifest of this folder; deployed tells whether its pods are wanted, withdraw ends them.
deploy() { # PART
  sed "s|REGISTRY|$registry|; s|DNS_ADDRESS|$dns_service_address|" "$lib/$1.yaml" | kubectl apply -f - >/dev/null
}
deployed() { # NAMESPACE NAME
  local wanted
  wanted=$(kubectl get deployment "$2" -n "$1" -o 'jsonpath={.spec.replicas}' 2>/dev/null) && [ "$wanted" = 1 ]
}
withdraw() { # NAMESPACE NAME
  kubectl scale deployment "$2" -n "$1" --replicas=0 >/dev/null
  kubectl wait --for=delete pod -n "$1" -l "app=$2" --timeout=60s --request-timeout=60s >/dev/null
}
works() { # NAMESPACE NAME
  kubectl wait --for=condition=Available "deployment/$2" -n "$1" --timeout=1s
}

# What pods ask for names: those of the cluster, and none of the internet's.
runs_cluster_dns() { deployed kube-system coredns; }
launch_cluster_dns() { deploy cluster-dns; }
ready_cluster_dns() { works kube-system coredns; }
retire_cluster_dns() { withdraw kube-system coredns; }

# Traefik finds pods by their EndpointSlices and connects to them directly. Its ports are also this machine's 80, 443 and
# 8082, on loopback alone.
runs_traefik() { deployed ingress traefik; }
launch_traefik() { deploy traefik; }
ready_traefik() { works ingress traefik && answers http://127.0.0.1:8082/ping; }
retire_traefik() { withdraw ingress traefik; }

make_issuer() {
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: pebble}
spec:
  acme:
    server: https://127.0.0.1:14000/dir
    skipTLSVerify: true
    email: admin@example.com
    privateKeySecretRef: {name: acme-key}
    solvers: [{http01: {ingress: {ingressClassName: traefik}}}]
YAML
}

# Its webhook is left out, because it would only check what the tests write.
prepare_cert_manager() {
  kubectl get namespace cert-manager >/dev/null 2>&1 || kubectl create namespace cert-manager >/dev/null
  make_issuer
}
launch_cert_manager() {
  start cert-manager 9402 "$(program cert-manager-controller)" --kubeconfig="$state/cert-manager.kubeconfig" \
    --acme-http01-solver-image="$registry/acmesolver:1" \
    --acme-http01-solver-nameservers=127.0.0.1:8053 --cluster-resource-namespace=cert-manager \
    --metrics-listen-address=127.0.0.1:9402
}
ready_cert_manager() {
  answers http://127.0.0.1:9402/metrics &&
    kubectl wait --for=condition=Ready clusterissuer/pebble --timeout=1s
}

launch_metrics_server() {
  local credentials=$state/metrics-server.kubeconfig
  start metrics-server 4443 "$(program metrics-server)" --kubeconfig="$credentials" \
    --authentication-kubeconfig="$credentials" --authorization-kubeconfig="$credentials" --secure-port=4443 \
    --bind-address="$node_address" --kubelet-insecure-tls --kubelet-preferred-address-types=InternalIP \
    --metric-resolution=15s --cert-dir="$state/metrics-server"
  publish_metrics_api
}

# A Service without a selector points to the process.
publish_metrics_api() {
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{port: 443, targetPort: 4443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server, namespace: kube-system, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
ports: [{port: 4443}]
endpoints: [{addresses: [$node_address], conditions: {ready: true}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100,
  insecureSkipTLSVerify: true, service: {name: metrics-server, namespace: kube-system}}
YAML
}
# While one API isn't available, no namespace can be deleted.
ready_metrics_server() {
  answers -k "https://$node_address:4443/livez" &&
    kubectl wait --for=condition=Available apiservice/v1beta1.metrics.k8s.io --timeout=1s
}
