# shellcheck shell=bash
# etcd, API server, controllers and scheduler.

# There is no fsync, because a power cut can't destroy anything valuable in a test's cluster.
launch_etcd() {
  start etcd "2379 2380" "$(program etcd)" --data-dir "$state/etcd" --listen-client-urls http://127.0.0.1:2379 \
    --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync
}
ready_etcd() { answers http://127.0.0.1:2379/health; }

prepare_bridge() { # NAME
  ip link show "$1" >/dev/null 2>&1 || ip link add "$1" type bridge
  ip link set "$1" up
}

prepare_apiserver() {
  prepare_bridge "$node_bridge"
  ip address replace "$node_address/32" dev "$node_bridge"
  # Each write of berth's is a line, so that the tests can count writes where they arrive.
  cat >"$config/audit-policy.yaml" <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: [berth], verbs: [create, update, patch, delete, deletecollection]}
  - {level: None}
YAML
}

# What its watch cache holds can't be compacted away; one kind has no cache, so that a test can make a watch's history
# disappear.
launch_apiserver() {
  start apiserver 6443 "$(program kube-apiserver)" --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 \
    --bind-address=0.0.0.0 --advertise-address="$node_address" --service-cluster-ip-range="$service_network" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --service-account-key-file="$pki/service-accounts.key" \
    --service-account-signing-key-file="$pki/service-accounts.key" \
    --service-account-issuer=https://kubernetes.default.svc --authorization-mode=Node,RBAC --allow-privileged=true \
    --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
    --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- --enable-aggregator-routing \
    --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key" \
    --audit-policy-file="$config/audit-policy.yaml" --audit-log-path="$logs/audit.log" \
    --audit-log-maxsize=100 --audit-log-maxbackup=1 \
    --watch-cache-sizes=networkpolicies.networking.k8s.io#0
}
ready_apiserver() { kubectl get --raw /readyz; }

# With the default limit of 20 requests per second, a test of many objects would only measure the controllers.
unlimited=(--kube-api-qps=1000 --kube-api-burst=2000)

launch_controller_manager() {
  start controller-manager 10257 "$(program kube-controller-manager)" \
    --kubeconfig="$state/controller-manager.kubeconfig" --leader-elect=false \
    --service-account-private-key-file="$pki/service-accounts.key" --root-ca-file="$pki/ca.crt" \
    --use-service-account-credentials --allocate-node-cidrs=true --cluster-cidr="$pod_network" "${unlimited[@]}"
}
ready_controller_manager() { answers -k https://127.0.0.1:10257/healthz; }

launch_scheduler() {
  start scheduler 10259 "$(program kube-scheduler)" --kubeconfig="$state/scheduler.kubeconfig" --leader-elect=false \
    "${unlimited[@]}"
}
ready_scheduler() { answers -k https://127.0.0.1:10259/healthz; }
