#!/usr/bin/env bash
# Installs the Debian packages that berth is built, tested and run with, and nothing else. Does nothing if all of them
# are installed. Requires root or sudo.
#   install-deps.sh        what `make build` and `make run` need
#   install-deps.sh run    also what `make run` needs for containers that really run
#   install-deps.sh test   also what the tests need
#   install-deps.sh image  also what `make image` needs
#   install-deps.sh arm64  also what `make client-arm64` needs
#   install-deps.sh deb    also what `make deb` and `make test-deb` need
#   install-deps.sh lint   also what `make lint` needs
#   install-deps.sh fuzz   also what `make fuzz` needs
#   install-deps.sh failover  also what `make failover` needs
# If --list is added, it prints the packages' names and installs nothing.
set -euo pipefail

build=(g++ cmake ninja-build mold ccache pkg-config git publicsuffix libcpp-httplib-dev nlohmann-json3-dev libsqlitecpp-dev
  libboost-dev libsqlite3-dev libpq-dev libyaml-cpp-dev libspdlog-dev prometheus-cpp-dev libcli11-dev
  libargon2-dev libarchive-dev libcurl4-openssl-dev libc-ares-dev libidn2-dev libjwt-dev libpsl-dev libssl-dev zlib1g-dev libbrotli-dev
  libfido2-dev libhowardhinnant-date-dev libicu-dev libjemalloc-dev liboath-dev libpng-dev libqrencode-dev libturbojpeg0-dev libzxcvbn-dev libkainjow-mustache-dev
  graphviz)
test=(catch2 librapidcheck-dev openssl curl jq python3-aiosmtpd python3-cryptography python3-venv python3-yaml chromium
  postgresql-15 pgbouncer wrk docker-registry busybox-static tmux universal-ctags
  mono-mcs mono-runtime libmono-system-net-http4.0-cil libmono-system-runtime-serialization4.0-cil)
# What runs containers on this machine, without root too.
run=(curl jq podman runc conmon netavark aardvark-dns iptables nftables uidmap slirp4netns fuse-overlayfs caddy)
image=(buildah binutils curl ca-certificates publicsuffix tzdata)
# The console is built with npm. An existing Node.js stays, wherever it comes from.
command -v npm >/dev/null || build+=(nodejs npm)
# promtool is a part of Prometheus. The tests need no running Prometheus and start a pgbouncer of their own; the services
# of both stay off, see below.
command -v promtool >/dev/null || test+=(prometheus)
bench_oauth=(wrk postgresql-15)
command -v go >/dev/null || bench_oauth+=(golang-go)
failover=(python3-venv etcd-server postgresql-15)
command -v go >/dev/null || failover+=(golang-go)
deb=(dpkg-dev file lintian mmdebstrap systemd man-db curl)
arm64=(g++-aarch64-linux-gnu mmdebstrap qemu-user)
lint=(clang-format shellcheck)
fuzz=(clang-16 libclang-rt-16-dev)

case ${1:-build} in
  build) wanted=("${build[@]}") ;;
  run) wanted=("${build[@]}" "${run[@]}") ;;
  test) wanted=("${build[@]}" "${run[@]}" "${test[@]}") ;;
  image) wanted=("${build[@]}" "${image[@]}") ;;
  arm64) wanted=("${build[@]}" "${arm64[@]}") ;;
  deb) wanted=("${build[@]}" "${deb[@]}") ;;
  lint) wanted=("${build[@]}" "${test[@]}" "${lint[@]}") ;;
  fuzz) wanted=("${build[@]}" "${fuzz[@]}") ;;
  failover) wanted=("${build[@]}" "${failover[@]}") ;;
  bench) wanted=("${build[@]}" wrk jq curl python3-cryptography) ;;
  bench-oauth) wanted=("${build[@]}" "${bench_oauth[@]}") ;;
  *) sed -n '2,15p' "$0"; exit 2 ;;
esac
if [ "${2:-}" = --list ]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
# podman gives each container users of its own from the range of the user `containers` (containers-storage.conf(5)).
case ${1:-build} in
  run | test)
    for file in /etc/subuid /etc/subgid; do
      grep -qs '^containers:' $file || echo containers:2147483647:2147483648 | "${as_root[@]}" tee -a $file >/dev/null
    done
    ;;
esac

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
# The services of these packages stay off.
services=()
for service in prometheus pgbouncer patroni etcd caddy docker-registry; do
  [[ " ${missing[*]} " =~ \ $service(-server)?\  ]] && services+=("$service")
done
if [ ${#services[@]} -gt 0 ]; then
  # A masked unit is neither started by the installation nor by the next boot; `systemctl unmask` is for those who want
  # to run it after all.
  for service in "${services[@]}"; do
    "${as_root[@]}" ln -s /dev/null "/etc/systemd/system/$service.service" 2>/dev/null || true
  done
  # Without systemd, the packages start their services by invoke-rc.d, which asks this program first.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    trap '"${as_root[@]}" rm -f $policy' EXIT
    # shellcheck disable=SC2016  # $1 is that program's
    printf '#!/bin/sh\ncase $1 in %s) exit 101 ;; esac\n' "$(IFS='|'; echo "${services[*]}")" |
      "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod 755 $policy
  fi
fi
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
