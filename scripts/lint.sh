#!/usr/bin/env bash
# clang-format on all sources, clang-tidy on the files that differ from BASE (default: all), and
# shellcheck on the scripts. Prints what is wrong and ends with 1 if anything is.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
mapfile -t sources < <(git ls-files '*.cpp' '*.h')
clang-format --dry-run -Werror "${sources[@]}" || failed=1
mapfile -t scripts < <(git ls-files '*.sh' .ci/run tests/bench/run)
shellcheck "${scripts[@]}" || failed=1
cmake --preset dev -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DBERTH_TESTS=ON >/dev/null || exit 1
cmake --build --preset dev --target berthd >/dev/null || exit 1 # the generated sources
if [ -n "${BASE:-}" ]; then mapfile -t checked < <(git diff --name-only --diff-filter=d "$BASE" -- '*.cpp')
else mapfile -t checked < <(git ls-files 'controller/*.cpp' 'api/*.cpp' 'manifests/*.cpp' 'reconcilers/*.cpp'); fi
[ ${#checked[@]} -eq 0 ] || printf '%s\n' "${checked[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet || failed=1
exit $failed
