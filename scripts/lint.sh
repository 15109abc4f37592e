#!/usr/bin/env bash
# clang-format on all sources, clang-tidy on the files that differ from BASE (default: all), and the
# scripts by shellcheck. Prints what is wrong and ends with 1 if anything is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
failed=0
mapfile -t sources < <(git ls-files '*.cpp' '*.h')
clang-format --dry-run -Werror "${sources[@]}" || failed=1
mapfile -t scripts < <(git ls-files '*.sh' .ci/run tests/kube/cluster tests/kube/run-e2e tests/kube/run-berthd tests/pages/run tests/oauth_clients/run)
shellcheck "${scripts[@]}" || failed=1
scripts/check-httplib.sh || failed=1
scripts/check_modules.py || failed=1
cmake --preset dev -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DBERTH_TESTS=ON >/dev/null || exit 1
cmake --build --preset dev --target berthd >/dev/null || exit 1  # makes the generated sources
# clang 14 calls the standard by its working name, doesn't know GCC's warnings or its precompiled headers, and doesn't
# announce all of its concepts, without which there is no std::expected.
mkdir -p build/lint
sed 's/-std=c++23/-std=c++2b -Wno-builtin-macro-redefined -D__cpp_concepts=202002L/; s/-Wno-restrict\|-Wno-maybe-uninitialized\|-Wno-stringop-overflow//g; s/-Winvalid-pch -include [^ ]*//' \
  build/dev/compile_commands.json >build/lint/compile_commands.json
if [ -n "${BASE:-}" ]; then mapfile -t checked < <(git diff --name-only --diff-filter=d "$BASE" -- '*.cpp')
else mapfile -t checked < <(git ls-files 'controller/*.cpp' 'api/*.cpp' 'manifests/*.cpp' 'reconcilers/*.cpp'); fi
[ ${#checked[@]} -eq 0 ] || printf '%s\n' "${checked[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/lint --quiet || failed=1
exit $failed
