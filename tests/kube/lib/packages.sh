# shellcheck shell=bash
# The Debian packages that the cluster needs.

packages=(ca-certificates containernetworking-plugins docker-registry buildah busybox-static
  iptables conntrack iproute2 procps openssl curl gcc libc6-dev libseccomp-dev pkg-config python3 python3-venv)

install_packages() {
  local package missing=() sudo=()
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$logs/packages.log" 2>&1 ||
    fail "apt-get failed: $(tail -n 5 "$logs/packages.log")"
  disable_services "${missing[@]}"
}

# A package that was just installed may have started a system service on the port that the cluster's registry uses.
disable_services() { # PACKAGE…
  [ -d /run/systemd/system ] || return 0
  if [[ " $* " == *" docker-registry "* ]]; then "${sudo[@]}" systemctl disable --now docker-registry; fi
}
