#!/usr/bin/env bash
# Debian's cpp-httplib reads requests and answers without limits (CVE-2025-46728, -53628, -53629). Therefore berth's
# programs use it in one place only, where nobody hostile is on the other side: as the client of the unix sockets of
# programs that berthd started itself. docs/decisions/http.md says more. The script prints everything else that includes
# or links it, and ends with 1 if there is anything.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
allowed='^(reconcilers/embedded/node/unix_http\.(h|cpp)|reconcilers/CMakeLists\.txt|CMakeLists\.txt):'
found=$(grep -rnE '#[[:space:]]*include[[:space:]]*[<"]httplib\.h|PkgConfig::httplib|pkg_check_modules\(httplib' \
  --include='*.h' --include='*.cpp' --include='CMakeLists.txt' --include='*.cmake' \
  CMakeLists.txt api berthd cli cmake controller manifests reconcilers | grep -vE "$allowed")
[ -z "$found" ] || { printf 'cpp-httplib is for reconcilers/embedded/node/unix_http.h and for tests alone:\n%s\n' "$found"; exit 1; }
