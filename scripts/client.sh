#!/usr/bin/env bash
# Packs the client for any Linux of the program's kind of machine: the program, the libraries that it is linked with and
# their loader, so that neither the distribution nor its C library matters. berthd serves the archive (key client-files).
#   client.sh PROGRAM FOLDER [ROOT]     writes FOLDER/berth-linux-ARCH.tar.gz and its .sha256
# ROOT has the libraries of a program for arm64 that was built on another kind of machine (scripts/client-arm64.sh).
set -euo pipefail
[[ $# -eq 2 || $# -eq 3 ]] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
program=$(readlink -f "$1")
root=${3:+$(readlink -f "$3")}
kind=${root:+aarch64}
case ${kind:=$(uname -m)} in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) echo "there is no name for $kind" >&2 && exit 1 ;;
esac
list=(ldd) strip=strip
if [ -n "$root" ]; then
  list=(qemu-aarch64 -L "$root" "$root/lib/ld-linux-aarch64.so.1" --list)
  strip=aarch64-linux-gnu-strip
fi
mkdir -p "$2"
folder=$(readlink -f "$2")
name=berth-linux-$arch.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
install -m 755 "$program" "$work/berth"
$strip --strip-unneeded "$work/berth" 2>/dev/null || true # binutils may be missing
loader=
while read -r library; do
  [[ $library = "$root"/* ]] || library=$root$library
  cp -L "$library" "$work/"
  case ${library##*/} in ld-linux*) loader=${library##*/} ;; esac
done < <("${list[@]}" "$program" | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// {print $1}')
[ -n "$loader" ] || { echo "$program has no loader" >&2; exit 1; }
# The names of hosts are found by these, which the C library loads when it needs them.
for library in libnss_files.so.2 libnss_dns.so.2; do
  for place in "$root"/lib/*-linux-gnu/"$library"; do [ ! -e "$place" ] || cp -L "$place" "$work/"; done
done
cat >"$work/run" <<RUN
#!/bin/sh
# Distributions keep the certificates of authorities in different places.
here=\$(dirname "\$(readlink -f "\$0")")
if [ -z "\${SSL_CERT_FILE:-}" ]; then
  for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
    [ ! -r "\$file" ] || { SSL_CERT_FILE=\$file && export SSL_CERT_FILE && break; }
  done
fi
exec "\$here/$loader" --library-path "\$here" --argv0 berth "\$here/berth" "\$@"
RUN
chmod 755 "$work/run"
# The same program gives the same archive.
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - . | gzip -6n >"$folder/$name.new"
mv "$folder/$name.new" "$folder/$name"
(cd "$folder" && sha256sum "$name" >"$name.sha256")
echo "client: $folder/$name, $(du -h "$folder/$name" | cut -f1)"
