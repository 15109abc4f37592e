# shellcheck shell=bash
# The cluster's certificate authority, a certificate for each part that needs one, and kubeconfigs.

certificate_days=3650

certificate() { # NAME SUBJECT
  [ ! -e "$pki/$1.crt" ] || return 0
  openssl req -newkey rsa:2048 -nodes -keyout "$pki/$1.key" -out "$pki/$1.csr" -subj "$2" 2>/dev/null
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days $certificate_days \
    -out "$pki/$1.crt.new" -extfile <(
      echo "subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$api_service_address,IP:$node_address"
    ) 2>/dev/null
  mv "$pki/$1.crt.new" "$pki/$1.crt"
}

authority() {
  [ ! -e "$pki/ca.crt" ] || return 0
  openssl genrsa -out "$pki/service-accounts.key" 2048 2>/dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$pki/ca.key" -out "$pki/ca.crt.new" -days $certificate_days \
    -subj /CN=berth-test-cluster 2>/dev/null
  mv "$pki/ca.crt.new" "$pki/ca.crt"
}

kubeconfig() { # NAME SUBJECT
  certificate "$1" "$2"
  cat >"$state/$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:6443", certificate-authority: "$pki/ca.crt"}}]
users: [{name: $1, user: {client-certificate: "$pki/$1.crt", client-key: "$pki/$1.key"}}]
contexts: [{name: test, context: {cluster: test, user: $1}}]
current-context: test
YAML
}

prepare_certificates() {
  authority
  certificate apiserver /CN=kube-apiserver
  certificate front-proxy /CN=front-proxy
  certificate pebble /CN=localhost
  kubeconfig admin /O=system:masters/CN=admin
  # A separate name lets the audit log tell who wrote what.
  kubeconfig berth /O=system:masters/CN=berth
  kubeconfig controller-manager /CN=system:kube-controller-manager
  kubeconfig scheduler /CN=system:kube-scheduler
  kubeconfig kube-proxy /CN=system:kube-proxy
  kubeconfig network-policies /O=system:masters/CN=network-policies
  kubeconfig cert-manager /O=system:masters/CN=cert-manager
  kubeconfig metrics-server /O=system:masters/CN=metrics-server
  kubeconfig kwok /O=system:masters/CN=kwok
  kubeconfig node /O=system:nodes/CN=system:node:node1
  # What the user who called sudo needs to use the cluster.
  if [ -n "${SUDO_UID:-}" ]; then chown "$SUDO_UID" "$state"/{admin,berth}.kubeconfig "$pki"/{admin,berth}.key; fi
}
