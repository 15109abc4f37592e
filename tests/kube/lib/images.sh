# shellcheck shell=bash
# Container images that are made from scratch, and the first ones in the registry.

programs_of_images=$lib/../programs

image() { # NAME DIR COMMAND…: run as $image_user, by default 1000
  local name=$1 folder=$2 container entrypoint argument
  shift 2
  # Has its own storage, so that the machine's stays as it is.
  local storage=(--root "$state/buildah" --runroot "$run/buildah" --storage-driver vfs)
  export BUILDAH_ISOLATION=chroot
  for argument; do entrypoint+=${entrypoint:+, }\"${argument//\"/\\\"}\"; done
  container=$(buildah "${storage[@]}" from scratch)
  buildah "${storage[@]}" copy -q "$container" "$folder" / >/dev/null
  buildah "${storage[@]}" config --user "${image_user:-1000}" --entrypoint "[$entrypoint]" "$container"
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

compile() { # SOURCE PROGRAM: a static program for an image
  gcc -static -O2 -Wall -Wextra -Werror -o "$2" "$1"
}

# A tenant who tries everything. If $EARLY has targets, it tries to reach them as soon as it runs.
push_hostile_images() { # FOLDER
  local stranger=$1/stranger
  # shellcheck disable=SC2016  # the container's shell knows $0 and $EARLY
  local early='[ -z "$EARLY" ] || /bin/reach --early 4 $EARLY' httpd='/bin/busybox httpd -f -h /www -p'
  local serve=(/bin/busybox sh -c "trap 'exit 0' TERM; { $early; } & $httpd 3999 & $httpd \$0 & wait" 3000)
  busybox_folder "$stranger" "hello from a stranger"
  compile "$programs_of_images/reach.c" "$stranger/bin/reach"
  compile "$programs_of_images/drill.c" "$stranger/bin/drill"
  install -m 4755 "$stranger/bin/drill" "$stranger/bin/setuid-drill"
  image stranger:1 "$stranger" "${serve[@]}"
  image_user=0 image stranger-root:1 "$stranger" "${serve[@]}"
}

# Pushes the images once for each version of this file and of the programs in the images.
push_base_images() {
  local stamp folder
  stamp=$state/images-$(cat "$lib/images.sh" "$programs_of_images"/*.c "$(program acmesolver)" "$(program coredns)" "$(program traefik)" | sha256sum | cut -c 1-12).done
  [ ! -e "$stamp" ] || return 0
  folder=$(mktemp -d)
  mkdir -p "$folder/pause" "$folder/solver"
  compile "$programs_of_images/pause.c" "$folder/pause/pause"
  image pause:1 "$folder/pause" /pause
  cp "$(program acmesolver)" "$folder/solver/acmesolver"
  image acmesolver:1 "$folder/solver" /acmesolver
  mkdir -p "$folder/coredns" "$folder/traefik"
  cp "$(program coredns)" "$folder/coredns/coredns"
  image coredns:1 "$folder/coredns" /coredns
  cp "$(program traefik)" "$folder/traefik/traefik"
  image traefik:1 "$folder/traefik" /traefik
  push_test_images "$folder"
  push_hostile_images "$folder"
  rm -rf "$folder"
  touch "$stamp"
}
