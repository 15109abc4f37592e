#!/usr/bin/env bash
# Fails where a security update of one of these installed packages is pending, and names them.
#   check-updates.sh [--install] PACKAGE…      --install: installs them instead, and those of all that the packages need
# Refreshes the package lists first, which needs root, or sudo. Where that doesn't work it fails: nobody knows then what
# is pending. BERTH_STALE_LISTS=accept goes by the lists that are there instead, and says so.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }

install=no
if [ "$1" = --install ]; then
  install=yes
  shift
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
# Without --error-on=any, apt goes on with old lists and only warns.
if ! problem=$("${as_root[@]}" apt-get update -qq --error-on=any 2>&1); then
  echo "the package lists can't be refreshed:" "$(tail -n 1 <<<"$problem")" >&2
  if [ "${BERTH_STALE_LISTS:-}" != accept ]; then
    echo "so nobody knows which security updates are pending; BERTH_STALE_LISTS=accept goes by the old lists" >&2
    exit 1
  fi
  echo "going by the old lists" >&2
fi

# Lines "PACKAGE | VERSION | ADDRESS SUITE/COMPONENT ARCHITECTURE Packages", of what the lists offer. A version that a
# point release brings as well stays in the security suite, too.
packages=("$@")
if [ $install = yes ]; then
  mapfile -t packages < <(apt-cache depends --recurse --installed --important "$@" | grep '^[a-z0-9]' | sort -u)
fi
offered=$(apt-cache madison "${packages[@]}" 2>/dev/null || true)
if ! apt-cache policy | grep -q ' [a-z]*-security/'; then
  echo "no security suite is among this machine's package sources" >&2
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
