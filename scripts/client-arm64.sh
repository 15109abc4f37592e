#!/usr/bin/env bash
# Builds the client for Linux on arm64 on a machine of another kind, and packs it as scripts/client.sh does. The libraries are
# those of an arm64 Debian that mmdebstrap unpacks; nothing of this machine's Debian changes. The archive is checked by
# qemu: the packed program starts and says its version.
#   client-arm64.sh FOLDER     writes FOLDER/berth-linux-arm64.tar.gz and its .sha256
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
folder=$(readlink -f "$1")
cd "$(dirname "$0")/.."
[ "$(uname -m)" != aarch64 ] || { echo "this machine is an arm64 one: make client" >&2; exit 1; }
build=build/arm64
root=$build/debian
suite=bookworm

# The Debian is unpacked again if its list of packages has changed.
libraries=$(scripts/install-deps.sh build --list | grep -- '-dev$' | paste -sd,),libc6-dev,libstdc++-12-dev
if [ "$(cat $build/debian.packages 2>/dev/null)" != "$libraries" ]; then
  mkdir -p $build
  rm -rf $root
  mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$libraries" $suite $root
  # The compiler looks for these from this machine's / otherwise.
  find $root/usr/lib -type l -lname '/*' | while read -r link; do
    ln -sfnr "$root$(readlink "$link")" "$link"
  done
  echo "$libraries" >$build/debian.packages
fi

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset arm64 "${launcher[@]}" >/dev/null
cmake --build --preset arm64
scripts/client.sh $build/berth "$folder" $root

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$folder/berth-linux-arm64.tar.gz"
# As the script in the archive starts it, and with nothing of the Debian above.
qemu-aarch64 "$work"/ld-linux-aarch64.so.1 --library-path "$work" "$work/berth" --version
