#!/usr/bin/env bash
# Runs the linters over the whole tree: clang-format, shellcheck, the checks of scripts/, and clang-tidy. Prints their
# findings and ends with 1 if there are any.
#   lint.sh             everything; clang-tidy takes most of the time
#   lint.sh --changed   everything, but clang-tidy only checks files that differ from the commit BASE, for two minutes
# BASE is by default the commit at which the branch left main, or on main itself the previous commit. If the history
# doesn't contain it, as in a shallow clone, clang-tidy checks nothing.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
failed=()
check() { # NAME COMMAND…
  local name=$1
  shift
  "$@" || failed+=("$name")
}

base() {
  if [ -n "${BASE:-}" ]; then
    git rev-parse --quiet --verify "$BASE^{commit}"
  else
    scripts/left-main || git rev-parse --quiet --verify HEAD^
  fi
}

mapfile -t sources < <(git ls-files '*.cpp' '*.h')
check clang-format clang-format --dry-run -Werror "${sources[@]}"
mapfile -t scripts < <(
  git ls-files '*.sh'
  git ls-files -z | xargs -0 -n 500 awk 'FNR == 1 && /^#!.*[/ ](ba)?sh( |$)/ && FILENAME !~ /\.sh$/ {print FILENAME} {nextfile}'
)
check shellcheck shellcheck "${scripts[@]}"
check check-httplib scripts/check-httplib.sh
check check_modules scripts/check_modules.py
check check_tables scripts/check_tables.py
check check_pools scripts/check_pools.py
check check_prose scripts/check_prose.py
if [ "${1:-}" != --changed ]; then
  check clang-tidy scripts/tidy.sh --all "${sources[@]}"
elif commit=$(base); then
  mapfile -t changed < <(git diff --name-only --diff-filter=d "$commit" -- '*.cpp' '*.h')
  check clang-tidy scripts/tidy.sh --seconds 120 "${changed[@]}"
else
  echo "clang-tidy: the history holds no commit to compare with"
fi
if [ ${#failed[@]} -gt 0 ]; then
  echo "lint: failed: ${failed[*]}"
  exit 1
fi
echo "lint: clean"
