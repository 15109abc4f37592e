# shellcheck shell=bash
# The node that runs the containers: registry, containerd, kubelet, kube-proxy and the pods' network.

launch_registry() {
  cat >"$config/registry.yaml" <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: "$state/registry"}, delete: {enabled: true}}
http: {addr: "$registry"}
YAML
  start registry 5000 docker-registry serve "$config/registry.yaml"
}
ready_registry() { answers "http://$registry/v2/"; }
settle_registry() { push_base_images; }

# Changes a setting of sysctl, and remembers what it was.
set_kernel() { # NAME VALUE
  local saved=$run/kernel/$1
  mkdir -p "$run/kernel"
  [ -e "$saved" ] || sysctl -n "$1" >"$saved"
  sysctl -q -w "$1=$2"
}

restore_kernel_settings() {
  local saved
  for saved in "$run"/kernel/*; do
    [ ! -e "$saved" ] || sysctl -q -w "${saved##*/}=$(cat "$saved")" || true
  done
}

masquerade=(POSTROUTING -s "$pod_network" ! -d "$pod_network" -j MASQUERADE)

# One rule covers all pods; rules for single pods would have to be removed with them.
prepare_pod_network() {
  mkdir -p "$config/cni"
  cat >"$config/cni/10-pods.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "$pod_bridge", "isGateway": true,
  "ipam": {"type": "host-local", "dataDir": "$run/leases", "ranges": [[{"subnet": "10.244.0.0/24"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}]}
JSON
  set_kernel net.ipv4.ip_forward 1
  iptables -t nat -C "${masquerade[@]}" 2>/dev/null || iptables -t nat -A "${masquerade[@]}"
}

# The first `ip netns add` on a machine mounts the directory of network namespaces onto itself. Pods that were there before
# could never be removed afterwards, because their namespaces would stay mounted underneath.
share_network_namespaces() {
  ip netns add berth-first
  ip netns delete berth-first
}

prepare_containerd() {
  prepare_pod_network
  share_network_namespaces
  # restrict_oom_score_adj is needed because a machine that is itself a container may not lower the value (no
  # CAP_SYS_RESOURCE). kube-network-policies hears of new pods by NRI, and knows no other path of its socket.
  cat >"$config/containerd.toml" <<TOML
version = 3
root = "$state/containerd-${version_of[containerd]}"
state = "$container_state"
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.nri.v1.nri"]
  disable = false
  socket_path = "/var/run/nri/nri.sock"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$registry/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = "$(program containerd-shim-runc-v2)"
  options = {BinaryName = "$(program runc)"}
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.gvisor]
  runtime_type = "io.containerd.runsc.v1"
  runtime_path = "$(program containerd-shim-runsc-v1)"
  options = {TypeUrl = "io.containerd.runsc.v1.options", ConfigPath = "$config/runsc.toml"}
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "$config/cni"
TOML
  cat >"$config/runsc.toml" <<TOML
binary_name = "$(program runsc)"
[runsc_config]
  platform = "systrap"
  ignore-cgroups = "true"
TOML
}
launch_containerd() { start containerd "" "$(program containerd)" --config "$config/containerd.toml"; }
runtime() { "$(program ctr)" --address "$run/containerd.sock" --timeout 20s --namespace k8s.io "$@"; }
# containerd answers before its Kubernetes part does, which writes this line last when it starts.
ready_containerd() { runtime version && grep -q "Start streaming server" "$logs/containerd.log"; }

launch_kubelet() {
  cat >"$config/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: "$pki/ca.crt"}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
failCgroupV1: false  # not every machine for tests has the second version
failSwapOn: false
containerRuntimeEndpoint: "unix://$run/containerd.sock"
address: 0.0.0.0
clusterDNS: ["$dns_service_address"]
clusterDomain: cluster.local
podPidsLimit: 1024
containerLogMonitorInterval: 3s
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%"}
YAML
  start kubelet "10248 10250" "$(program kubelet)" --config "$config/kubelet.yaml" --kubeconfig "$state/node.kubeconfig" \
    --root-dir "$state/kubelet" --hostname-override node1 --node-ip "$node_address"
}

# A kubelet that has ended leaves its last status of the node until the next one reports.
ready_kubelet() {
  local ready since
  answers http://127.0.0.1:10248/healthz || return 1
  ready=$(kubectl get node node1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}')
  since=$(date -u -r "$run/kubelet.pid" +%FT%TZ)
  [[ $ready == True\ * && ! ${ready#True } < $since ]]
}
# Pods that ask for it get a kernel of their own, in user space.
settle_kubelet() {
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: gvisor
YAML
}

launch_kube_proxy() {
  start kube-proxy "10249 10256" "$(program kube-proxy)" --kubeconfig="$state/kube-proxy.kubeconfig" \
    --proxy-mode=iptables --cluster-cidr="$pod_network" --hostname-override=node1 --conntrack-max-per-core=0 \
    --metrics-bind-address=127.0.0.1:10249
}
ready_kube_proxy() { answers http://127.0.0.1:10256/healthz; }

# Ends all containers. Their pods are still in etcd, so the next kubelet creates new containers for them.
remove_containers() {
  is_running containerd || return 0
  local id deadline=$((SECONDS + stop_limit))
  for id in $(runtime tasks ls -q 2>/dev/null); do runtime tasks kill -s SIGKILL "$id" >/dev/null 2>&1 || true; done
  while runtime tasks ls 2>/dev/null | grep -q RUNNING && ((SECONDS < deadline)); do sleep 0.2; done
  for id in $(runtime tasks ls -q 2>/dev/null); do runtime tasks rm -f "$id" >/dev/null 2>&1 || true; done
  # Without the names of the sandboxes, the network namespaces would stay.
  runtime containers ls -q 2>/dev/null | while read -r id; do
    runtime containers info "$id" 2>/dev/null | grep -o '/run/netns/cni-[0-9a-f-]*' || true
  done | sort -u >"$run/network-namespaces"
  for id in $(runtime containers ls -q 2>/dev/null); do runtime containers rm "$id" >/dev/null 2>&1 || true; done
}

# A pod that was about to start or to end leaves the process that watched over it.
end_shims() {
  local words
  for words in /proc/[0-9]*/cmdline; do
    if { tr '\0' '\n' <"$words" | grep -qxF "$run/containerd.sock"; } 2>/dev/null &&
      [[ $(readlink "${words%cmdline}exe") == "$programs"/containerd-shim-* ]]; then
      words=${words#/proc/}
      kill -KILL "${words%/cmdline}" 2>/dev/null || true
    fi
  done
}

# kube-proxy removes its own rules; the kubelet doesn't.
remove_kubelet_chains() {
  local table chain tool
  for chain in INPUT OUTPUT; do
    for tool in iptables ip6tables; do "$tool" -D "$chain" -j KUBE-FIREWALL 2>/dev/null || true; done
  done
  for table in filter nat mangle; do
    for chain in KUBE-FIREWALL KUBE-KUBELET-CANARY KUBE-IPTABLES-HINT; do
      for tool in iptables ip6tables; do
        "$tool" -t "$table" -F "$chain" 2>/dev/null || true
        "$tool" -t "$table" -X "$chain" 2>/dev/null || true
      done
    done
  done
}

# The plugin portmap removes the rules of a pod that ends while its runtime runs.
remove_port_mappings() {
  local chain
  for chain in PREROUTING OUTPUT; do
    while iptables -w -t nat -D "$chain" -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT 2>/dev/null; do :; done
  done
  while iptables -w -t nat -D POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ 2>/dev/null; do :; done
  for chain in $(iptables -w -t nat -S | sed -n 's/^-N \(CNI-[A-Za-z0-9-]*\)$/\1/p'); do iptables -w -t nat -F "$chain"; done
  for chain in $(iptables -w -t nat -S | sed -n 's/^-N \(CNI-[A-Za-z0-9-]*\)$/\1/p'); do iptables -w -t nat -X "$chain"; done
}

# Reverts what the node's parts have changed on this machine.
clean_node() {
  local path
  if [ -e "$run/network-namespaces" ]; then
    while read -r path; do
      umount "$path" 2>/dev/null || true
      rm -f "$path"
    done <"$run/network-namespaces"
  fi
  end_shims
  if are_there kube-proxy && iptables -t nat -n -L KUBE-SERVICES >/dev/null 2>&1; then
    "$(program kube-proxy)" --cleanup >"$logs/kube-proxy-cleanup.log" 2>&1 || true
  fi
  while iptables -t nat -D "${masquerade[@]}" 2>/dev/null; do :; done
  remove_kubelet_chains
  remove_policy_rules
  remove_port_mappings
  for path in "$pod_bridge" "$node_bridge"; do ip link delete "$path" 2>/dev/null || true; done
  # grep finds nothing if nothing is mounted.
  findmnt -rno TARGET | { grep -F -e "$state/" -e "$container_state/" || true; } | sort -r |
    while read -r path; do umount -l "$path" || true; done
  find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} + 2>/dev/null || true
  restore_kernel_settings
  if findmnt -rno TARGET | grep -qF -e "$run/" -e "$container_state/"; then fail "something is still mounted below $run or $container_state"; fi
  rm -rf "$run" "$container_state"
  mkdir -p "$run"
}
