# shellcheck shell=bash
# Enforces NetworkPolicies: rules of iptables bring the first packet of each connection of a pod to
# kube-network-policies, which decides. While it doesn't run, the kernel drops these packets. (It would make such rules
# by itself, but in nftables with its queues, which not every kernel has; it logs that each second.)

policy_queue=100  # kube-network-policies' default
forwarded=NETPOL
to_the_node=NETPOL-NODE
# The queue holds 1024 packets and is everybody's: a pod that opens more connections than this in a second, or at once,
# loses them, and not its neighbours theirs. The ingress controller is a pod, too.
most_connections=500
most_at_once=200

mangle() { iptables -w -t mangle "$@"; }
mangle6() { ip6tables -w -t mangle "$@"; }

# Connections of root's processes on this machine aren't subject to policies: the kubelet probes pods, and the API server
# calls them. What root in a container sends doesn't count as theirs. Pods have no IPv6 address but one for their link,
# which policies know nothing of, so that IPv6 is dropped as a whole.
prepare_network_policies() {
  local chain queue=(-j NFQUEUE --queue-num "$policy_queue")
  # Rules that exist stay, so that nothing gets through while it is started again.
  ! mangle -C POSTROUTING -j "$forwarded" 2>/dev/null || return 0
  set_kernel net.bridge.bridge-nf-call-iptables 1
  set_kernel net.bridge.bridge-nf-call-ip6tables 1
  for chain in "$forwarded" "$to_the_node"; do
    mangle -N "$chain"
    mangle -A "$chain" -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN
    mangle -A "$chain" -s "$pod_network" -m hashlimit --hashlimit-name "$chain" --hashlimit-mode srcip \
      --hashlimit-above $most_connections/sec --hashlimit-burst $most_at_once -j DROP
  done
  mangle -A "$forwarded" -m owner --uid-owner 0 -j RETURN
  mangle -A "$forwarded" -s "$pod_network" "${queue[@]}"
  mangle -A "$forwarded" -d "$pod_network" "${queue[@]}"
  mangle -A "$to_the_node" ! -i lo -s "$pod_network" "${queue[@]}"
  mangle -A POSTROUTING -j "$forwarded"
  mangle -A INPUT -j "$to_the_node"
  for chain in INPUT FORWARD; do mangle6 -A "$chain" -i "$pod_bridge" -j DROP; done
}

remove_policy_rules() {
  local chain
  while mangle -D POSTROUTING -j "$forwarded" 2>/dev/null; do :; done
  while mangle -D INPUT -j "$to_the_node" 2>/dev/null; do :; done
  for chain in "$forwarded" "$to_the_node"; do
    mangle -F "$chain" 2>/dev/null || true
    mangle -X "$chain" 2>/dev/null || true
  done
  for chain in INPUT FORWARD; do
    while mangle6 -D "$chain" -i "$pod_bridge" -j DROP 2>/dev/null; do :; done
  done
}

# It doesn't look at connections again that exist already (--strict-mode), since that needs nftables, too.
launch_network_policies() {
  start network-policies 9080 "$(program kube-network-policies)" --kubeconfig "$state/network-policies.kubeconfig" \
    --hostname-override node1 --strict-mode=false --fail-open=false --netfilter-bug-1766-fix=false \
    --metrics-bind-address 127.0.0.1:9080
}
# It listens to the queue after it has read all policies and pods.
ready_network_policies() {
  local queue
  answers http://127.0.0.1:9080/metrics && read -r queue _ </proc/net/netfilter/nfnetlink_queue && [ "$queue" = "$policy_queue" ]
}
