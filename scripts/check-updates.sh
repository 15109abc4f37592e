#!/usr/bin/env bash
# Fails if a security update is pending for one of these installed packages, and names them.
#   check-updates.sh [--install] PACKAGE…      --install: installs these updates, and those of packages that they need
# First refreshes the package lists, which requires root or sudo. If that fails, so does the script, because it isn't
# known then what is pending. With BERTH_STALE_LISTS=accept it uses the existing lists instead, and says so.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }

install=no
if [ "$1" = --install ]; then
  install=yes
  shift
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
# Without --error-on=any, apt continues with old lists and only warns.
if ! problem=$("${as_root[@]}" apt-get update -qq --error-on=any 2>&1); then
  echo "the package lists can't be refreshed:" "$(tail -n 1 <<<"$problem")" >&2
  if [ "${BERTH_STALE_LISTS:-}" != accept ]; then
    echo "so it is unknown which security updates are pending; BERTH_STALE_LISTS=accept uses the old lists" >&2
    exit 1
  fi
  echo "using the old lists" >&2
fi

# Lines "PACKAGE | VERSION | ADDRESS SUITE/COMPONENT ARCHITECTURE Packages" of what the lists offer. A version that is
# also part of a point release stays in the security suite.
packages=("$@")
if [ $install = yes ]; then
  mapfile -t packages < <(apt-cache depends --recurse --installed --important "$@" | grep '^[a-z0-9]' | sort -u)
fi
offered=$(apt-cache madison "${packages[@]}" 2>/dev/null || true)
if ! apt-cache policy | grep -q ' [a-z]*-security/'; then
  echo "this machine's package sources have no security suite" >&2
  exit 1
fi
pending=()
while IFS='|' read -r package version source; do
  package=${package// /} version=${version// /}
  [[ $source == *-security/* ]] || continue
  installed=$(dpkg-query -W -f '${Version}\n' "$package" 2>/dev/null | head -n 1)
  if [ -n "$installed" ] && dpkg --compare-versions "$installed" lt "$version"; then
    pending+=("$package")
    echo "$package $installed is installed, and $version is its security update" >&2
  fi
done <<<"$offered"
[ ${#pending[@]} -eq 0 ] && exit 0
mapfile -t pending < <(printf '%s\n' "${pending[@]}" | sort -u)
if [ $install = yes ]; then
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --only-upgrade "${pending[@]}" >/dev/null
  exit 0
fi
echo "security updates are pending: apt-get install --only-upgrade ${pending[*]}" >&2
exit 1
