#!/usr/bin/env bash
# Lets libFuzzer generate inputs for the fuzz targets that `cmake --build --preset fuzz` has built.
#   fuzz.sh [TARGET…]   default: all targets, as many at the same time as there are cores
# Each target runs for FUZZ_SECONDS (default: 60). Interesting inputs are kept in build/fuzz/corpus/TARGET, from which
# the next run starts. An input that breaks something is saved as build/fuzz/findings/TARGET-…; run it again with
# build/fuzz/fuzz_TARGET FILE. After the defect is fixed, the file belongs into tests/fuzz/corpus/TARGET, and a picture
# into the script tests/fuzz/pictures.py, because no binary files are committed. The ordinary tests replay them. Prints a
# line for each target, and ends with 1 if one found something.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in -*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;; esac
build=$PWD/build/fuzz
export build seconds=${FUZZ_SECONDS:-60}

fuzz() { # TARGET
  local target=$1 log=$build/logs/$1 initial=tests/fuzz/corpus/$1 failed=0 options=()
  mkdir -p "$build/corpus/$target"
  if [ "$target" = picture ]; then
    initial=$build/initial/picture
    tests/fuzz/pictures.py "$initial"
  fi
  [ -f "tests/fuzz/$target.dict" ] && options+=("-dict=tests/fuzz/$target.dict")
  "$build/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -artifact_prefix="$build/findings/$target-" "${options[@]}" \
    "$build/corpus/$target" "$initial" >"$log" 2>&1 || failed=1
  # libFuzzer's last line of progress: "#1234  DONE   cov: 56 ft: 78 corp: 9/10b …".
  printf '%-15s %s\n' "$target" "$(grep -E '^#[0-9]+' "$log" | tail -n 1 | tr -s ' \t' ' ')"
  [ $failed -eq 0 ] || { echo "$target found something:"; grep -vE '^#[0-9]+' "$log" | tail -n 40; }
  return $failed
}
export -f fuzz

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for program in "$build"/fuzz_*; do [ -x "$program" ] && targets+=("${program##*/fuzz_}"); done
fi
mkdir -p "$build/logs" "$build/findings"
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz "$1"' _ {} || exit 1
