#!/usr/bin/env bash
# Makes a container image of berthd from this machine's own files: the program, the libraries that it is linked with,
# the certificates of authorities, the public suffixes and the time zones. The image has no shell and no package
# manager, and runs as user 65532.
#   image.sh [--unchecked] PROGRAM [NAME:TAG]     default name: berth:<version>
# The image is stored in buildah's storage (BERTH_IMAGE_STORAGE, default: ~/.cache/berth/images), in an OCI archive if
# BERTH_IMAGE_ARCHIVE names a file, and in the registry that BERTH_IMAGE_REGISTRY names. If that variable isn't set and
# the test cluster's registry is running, it is pushed to 127.0.0.1:5000. Requires root or sudo. Prints what it has
# made. Fails if a security update is pending for a package that files come from (scripts/check-updates.sh; if the
# package lists can't be refreshed, BERTH_STALE_LISTS=accept uses the old ones). --unchecked skips that check, for
# images that only a test on this machine runs.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
unchecked=()
if [ "$1" = --unchecked ]; then
  unchecked=(--unchecked)
  shift
fi
program=$(readlink -f "$1")
version=$("$program" --version | awk '{print $2}')
name=${2:-berth:$version}
storage_folder=${BERTH_IMAGE_STORAGE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth/images}
test_registry=127.0.0.1:5000
user=65532 # "nonroot" of the distroless images, which cluster admins know
export BUILDAH_ISOLATION=chroot

if [ "$(id -u)" -ne 0 ]; then
  exec sudo --preserve-env=BERTH_IMAGE_ARCHIVE,BERTH_IMAGE_REGISTRY,BERTH_STALE_LISTS BERTH_IMAGE_STORAGE="$storage_folder" \
    "$(readlink -f "$0")" "${unchecked[@]}" "$program" "$name"
fi

cd "$(dirname "$(readlink -f "$0")")/.."
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
# The commit's time is used, so that the same program gives the same image.
moment=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
packages=()
suffix_list=/usr/share/publicsuffix/public_suffix_list.dafsa

place() {  # FILE…: copies files to the same paths in the image, and remembers the packages that they come from
  local file owner
  for file; do
    mkdir -p "$folder$(dirname "$file")"
    cp -L --preserve=mode "$file" "$folder$file"
    # Debian 12 lists libraries under /lib, which is a link to /usr/lib.
    for owner in "$file" "$(readlink -f "$file")" "/lib${file#/usr/lib}"; do
      if owner=$(dpkg-query -S "$owner" 2>/dev/null); then packages+=("${owner%%:*}"); break; fi
    done
  done
}

libraries_of() { ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// {print $1}'; }

# Adds what vulnerability scanners look for, as in distroless images, and the texts that the licences require.
describe_packages() {
  local package
  mkdir -p "$folder/var/lib/dpkg/status.d"
  for package in "${packages[@]}"; do
    dpkg-query -s "$package" >"$folder/var/lib/dpkg/status.d/$package"
    mkdir -p "$folder/usr/share/doc/$package"
    cp -L "/usr/share/doc/$package/copyright" "$folder/usr/share/doc/$package/copyright"
  done
}

# All files in an image get the image's time, so the list's own time is stored in a file beside it
# (controller/domain/deployments/custom_domains/suffix_list.h).
date_suffix_list() {
  local made
  made=$(date -u -r "$suffix_list" +%FT%TZ)
  echo "$made" >"$folder$suffix_list.date"
  echo "public suffix list: as of $made"
  [ "$(date -d "$made" +%s)" -gt "$(date -d '1 year ago' +%s)" ] ||
    echo "the public suffix list is older than a year; berthd warns of it at each start" >&2
}

mkdir -p "$folder/usr/bin" "$folder/etc" "$folder/tmp" "$folder/var/lib/berth" "$folder/usr/share/doc/berth"
chmod 1777 "$folder/tmp"
install -m 755 "$program" "$folder/usr/bin/berthd"
strip --strip-unneeded "$folder/usr/bin/berthd"
mapfile -t libraries < <(libraries_of "$program")
place "${libraries[@]}"
place /etc/ssl/certs/ca-certificates.crt "$suffix_list"
date_suffix_list
packages+=(ca-certificates publicsuffix tzdata base-files)
cp -rL /usr/share/zoneinfo "$folder/usr/share/zoneinfo"
rm -rf "$folder"/usr/share/zoneinfo/{posix,right}
cp LICENSE "$folder/usr/share/doc/berth/copyright"
cp -L /etc/os-release "$folder/etc/os-release"
echo "hosts: files dns" >"$folder/etc/nsswitch.conf"
printf 'root:x:0:0:root:/:/sbin/nologin\nberth:x:%s:%s:berth:/var/lib/berth:/sbin/nologin\n' $user $user >"$folder/etc/passwd"
printf 'root:x:0:\nberth:x:%s:\n' $user >"$folder/etc/group"
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
[ ${#unchecked[@]} -gt 0 ] || scripts/check-updates.sh "${packages[@]}"
describe_packages
chown -R 0:0 "$folder"
chown $user:$user "$folder/var/lib/berth"
chmod 755 "$folder"

buildah() { command buildah --root "$storage_folder" --runroot "$folder.run" --storage-driver vfs "$@"; }
mkdir -p "$storage_folder"
trap 'rm -rf "$folder" "$folder.run"' EXIT
container=$(buildah from scratch)
buildah copy -q "$container" "$folder" / >/dev/null
buildah config --user $user:$user --workingdir /var/lib/berth --entrypoint '["/usr/bin/berthd"]' --cmd '' \
  --env PATH=/usr/bin --port 8080 --port 9090 --stop-signal SIGTERM \
  --label org.opencontainers.image.title=berth \
  --label org.opencontainers.image.description="A container-hosting control plane with a points economy" \
  --label org.opencontainers.image.version="$version" \
  --label org.opencontainers.image.revision="$revision" \
  --label org.opencontainers.image.created="$(date -u -d "@$moment" +%FT%TZ)" \
  --label org.opencontainers.image.licenses=Apache-2.0 \
  --label org.opencontainers.image.base.name=scratch "$container"
buildah commit -q --timestamp "$moment" --rm "$container" "localhost/$name" >/dev/null
buildah images --filter "reference=localhost/$name" --format 'image: {{.Name}}:{{.Tag}}, {{.Size}}'
if [ -n "${BERTH_IMAGE_ARCHIVE:-}" ]; then
  rm -f "$BERTH_IMAGE_ARCHIVE"
  buildah push -q "localhost/$name" "oci-archive:$BERTH_IMAGE_ARCHIVE:$name"
  echo "archive: $BERTH_IMAGE_ARCHIVE"
fi
push_to() { # REGISTRY OPTIONS…
  local registry=$1
  shift
  buildah push -q "$@" "localhost/$name" "docker://$registry/$name"
  echo "pushed: $registry/$name"
}
if [ -n "${BERTH_IMAGE_REGISTRY:-}" ]; then
  push_to "$BERTH_IMAGE_REGISTRY"
elif curl -fsS --max-time 5 -o /dev/null "http://$test_registry/v2/" 2>/dev/null; then
  push_to "$test_registry" --tls-verify=false
fi
