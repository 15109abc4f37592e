# shellcheck shell=bash
# Container images that are made from scratch, and the first ones in the registry.

image() { # NAME DIR COMMAND…
  local name=$1 folder=$2 container entrypoint argument
  shift 2
  # Has its own storage, so that the machine's stays as it is.
  local storage=(--root "$state/buildah" --runroot "$run/buildah" --storage-driver vfs)
  export BUILDAH_ISOLATION=chroot
  for argument; do entrypoint+=${entrypoint:+, }\"${argument//\"/\\\"}\"; done
  container=$(buildah "${storage[@]}" from scratch)
  buildah "${storage[@]}" copy -q "$container" "$folder" / >/dev/null
  buildah "${storage[@]}" config --user 1000 --entrypoint "[$entrypoint]" "$container"
  buildah "${storage[@]}" commit -q "$container" "localhost/$name" >/dev/null
  buildah "${storage[@]}" push -q --tls-verify=false "localhost/$name" "docker://$registry/$name"
  buildah "${storage[@]}" rm "$container" >/dev/null
}

busybox_folder() {  # DIR PAGE: copies busybox, and a page for its httpd
  mkdir -p "$1/bin" "$1/www"
  cp /bin/busybox "$1/bin/busybox"
  echo "$2" >"$1/www/index.html"
}

# Images that fail in different ways, for the tests of what their owners are told. They are expected to listen on port
# 3000.
push_test_images() { # FOLDER
  # shellcheck disable=SC2016  # the container's shell knows $0, the port
  local shell=(/bin/busybox sh -c) httpd='/bin/busybox httpd -f -h /www -p "$0"'
  # The first process of a container has to handle SIGTERM, or it is killed after its grace period.
  local serve=("${shell[@]}" "trap 'exit 0' TERM; $httpd & wait")
  busybox_folder "$1/one" "hello from a real container"
  busybox_folder "$1/two" "hello from the second version"
  image hello:1 "$1/one" "${serve[@]}" 3000
  image hello:2 "$1/two" "${serve[@]}" 3000
  image crash:1 "$1/one" "${shell[@]}" 'echo no database is configured >&2; exit 3'
  image oom:1 "$1/one" /bin/busybox tail /dev/zero
  image wrong-port:1 "$1/one" "${serve[@]}" 3999
  image needs-root:1 "$1/one" "${shell[@]}" "mkdir /var-lib-shop && exec $httpd" 3000
  image slow-start:1 "$1/one" "${shell[@]}" "sleep 5; exec $httpd" 3000
}

# Pushes the images once for each version of this file and of the programs in the images.
push_base_images() {
  local stamp folder
  stamp=$state/images-$(cat "$lib/images.sh" "$(program acmesolver)" | sha256sum | cut -c 1-12).done
  [ ! -e "$stamp" ] || return 0
  folder=$(mktemp -d)
  mkdir -p "$folder/pause" "$folder/solver"
  printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' | gcc -static -O2 -x c - -o "$folder/pause/pause"
  image pause:1 "$folder/pause" /pause
  cp "$(program acmesolver)" "$folder/solver/acmesolver"
  image acmesolver:1 "$folder/solver" /acmesolver
  push_test_images "$folder"
  rm -rf "$folder"
  touch "$stamp"
}
