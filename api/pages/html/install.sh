#!/bin/sh
# Installs the client of berth into ~/.local, or as root into /usr/local. BERTH_INSTALL_DIR names another folder for the
# command, BERTH_LIBRARY_DIR one for the folder berth with its libraries. It needs curl, tar and gzip. It is called by
# `curl … | sh`, so nothing runs before its last line has arrived.
set -eu

main() {
  platform='%BASE_URL%'
  case $(uname -s) in
    Linux) ;;
    *) fail "there is a client for Linux only; $platform/docs/tasks/install-the-client says what works here" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) kind=linux-amd64 ;;
    aarch64 | arm64) kind=linux-arm64 ;;
    *) fail "there is no client for $(uname -m)" ;;
  esac
  if [ "$(id -u)" = 0 ]; then home=/usr/local; else home=$HOME/.local; fi
  commands=${BERTH_INSTALL_DIR:-$home/bin} library=${BERTH_LIBRARY_DIR:-$home/lib}/berth
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  curl -fsSL "$platform/download/berth-$kind.tar.gz" -o "$work/berth.tar.gz" || fail "$platform has no client for $kind"
  curl -fsSL "$platform/download/berth-$kind.tar.gz.sha256" -o "$work/sum"
  [ "$(sha256sum <"$work/berth.tar.gz" | cut -c1-64)" = "$(cut -c1-64 "$work/sum")" ] ||
    fail "what came from $platform is damaged"
  mkdir -p "$commands" "$library" "$work/files"
  tar -xzf "$work/berth.tar.gz" -C "$work/files"
  rm -rf "$library"
  mv "$work/files" "$library"
  chmod 755 "$library"
  ln -sf "$library/run" "$commands/berth"
  echo "$("$commands/berth" --version) is installed as $commands/berth"
  case :$PATH: in
    *":$commands:"*) ;;
    *) echo "Add it to your PATH: export PATH=$commands:\$PATH" ;;
  esac
  echo "Log in with: berth config set server $platform && berth login"
}

fail() {
  echo "berth: $1" >&2
  exit 1
}

main
