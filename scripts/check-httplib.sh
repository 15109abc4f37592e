#!/usr/bin/env bash
# Debian's cpp-httplib reads requests without limits (CVE-2025-46728, -53628, -53629). Therefore berth's programs use it
# in one place only, which never shows it a byte from outside: the transport, which uses it to write answers.
# ARCHITECTURE.md says more. The script prints everything else that includes or links it, and ends with 1 if there is
# anything.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
allowed='^(controller/transport/(server\.cpp|server_stream\.h)|controller/CMakeLists\.txt|CMakeLists\.txt):'
found=$(grep -rnE '#[[:space:]]*include[[:space:]]*[<"]httplib\.h|PkgConfig::httplib|pkg_check_modules\(httplib' \
  --include='*.h' --include='*.cpp' --include='CMakeLists.txt' --include='*.cmake' \
  CMakeLists.txt api berthd cli cmake controller manifests reconcilers | grep -vE "$allowed")
[ -z "$found" ] || { printf 'cpp-httplib is for controller/transport and for tests alone:\n%s\n' "$found"; exit 1; }
