#!/usr/bin/env bash
# Debian's cpp-httplib reads requests without limits (CVE-2025-46728, -53628, -53629), so that berth's
# own programs use it in one place, which shows it no byte that came from outside: the transport,
# which writes answers by it. ARCHITECTURE.md says more. Prints what else includes or links it and
# ends with 1 if anything does.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
allowed='^(api/transport/(server\.cpp|server_stream\.h)|api/CMakeLists\.txt|CMakeLists\.txt):'
found=$(grep -rnE '#[[:space:]]*include[[:space:]]*[<"]httplib\.h|PkgConfig::httplib|pkg_check_modules\(httplib' \
  --include='*.h' --include='*.cpp' --include='CMakeLists.txt' --include='*.cmake' \
  CMakeLists.txt api cli cmake controller manifests reconcilers | grep -vE "$allowed")
[ -z "$found" ] || { printf 'cpp-httplib is for api/transport and for tests alone:\n%s\n' "$found"; exit 1; }
