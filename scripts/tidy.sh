#!/usr/bin/env bash
# Runs clang-tidy with the compile commands of the preset dev. Prints its findings and ends with 1 if there are any.
#   tidy.sh [--seconds N] FILE…   these files, each by itself
#   tidy.sh --all                 every file. Those of a module are looked at several at a time, as the build compiles
#                                 them, because most of the time goes into the headers that they have in common.
# A header is checked with the source file of the same name. After N seconds the remaining files are skipped; the script
# says so, and this is no failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
limit=()
unity=OFF
build=build/lint
case "${1:-}" in
  --seconds)
    limit=(timeout "$2")
    shift 2
    ;;
  --all)
    unity=ON
    build=build/lint-all
    shift
    ;;
esac

declare -A sources=()
for file in "$@"; do
  source=${file%.h}
  source=${source%.cpp}.cpp
  [ ! -f "$source" ] || sources[$source]=1
done
[ $unity = ON ] || [ ${#sources[@]} -gt 0 ] || { echo "clang-tidy: no source file to look at"; exit 0; }

# Debian's clang-tidy takes three times as long, because all of its checks look at the headers of the system, too. This
# one comes from PyPI.
cache=$PWD/build/.cache/clang-tidy
pinned=clang-tidy==23.1.4
if [ "$(cat "$cache/installed" 2>/dev/null)" != $pinned ]; then
  rm -rf "$cache"
  if ! { python3 -m venv "$cache" &&
    "$cache/bin/pip" install --quiet --disable-pip-version-check --timeout 30 --retries 2 $pinned; }; then
    echo "clang-tidy: it can't be installed"
    exit 1
  fi
  echo $pinned >"$cache/installed"
fi

cmake --preset dev -B $build -DCMAKE_UNITY_BUILD=$unity -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DBERTH_TEST_BATCH=1 -DBERTH_TESTS=ON \
  >/dev/null || exit 1
# clang doesn't know GCC's warnings and precompiled headers. With its three-way comparison, nlohmann's JSON can't be
# compared with a text that is on the left.
sed -i 's/-std=c++23/-std=c++23 -DJSON_HAS_THREE_WAY_COMPARISON=0/; s/-Wno-restrict\|-Wno-subobject-linkage\|-Wno-maybe-uninitialized\|-Wno-stringop-overflow\|-Wno-stringop-overread\|-Wno-array-bounds//g; s/-Winvalid-pch -include [^ ]*//' \
  $build/compile_commands.json
options=(-p "$build" --quiet --checks=-bugprone-suspicious-include)
if [ $unity = ON ]; then
  while read -r unit; do
    sources[$unit]=1
    while read -r source; do
      # What the build generates isn't there, and isn't looked at.
      [ -e "$source" ] || { mkdir -p "${source%/*}" && : >"$source"; }
      unset "sources[${source#"$PWD"/}]"
    done < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$unit")
  done < <(sed -n 's|^ *"file": "\(.*/Unity/unity_[^"]*\)".*|\1|p' \
    $build/compile_commands.json | grep -v linkcheck | sort -u)
fi
work=$(mktemp -d)
export cache work
trap 'rm -rf "$work"' EXIT
touch "$work/done"
# shellcheck disable=SC2016 # the inner shell expands it
printf '%s\n' "${!sources[@]}" | sort | "${limit[@]}" xargs -P "$(nproc)" -n 1 bash -c '
  source=${!#}
  # What a unit includes is looked at as much as a file by itself. In other files that would take four times as long.
  case $source in
    */Unity/*)
      set -- "--header-filter=/(api|berthd|cli|controller|manifests|reconcilers|tests)/.*\.(h|cpp)$" \
        --extra-arg=-Xclang --extra-arg=-analyzer-opt-analyze-headers "$@"
      ;;
  esac
  "$cache/bin/clang-tidy" "$@" 2> >(grep -vE "^[0-9]+ warnings? generated|^Suppressed|^Use -|^\[[0-9]+/" >&2) ||
    echo "$source" >>"$work/failed"
  echo "$source" >>"$work/done"' tidy "${options[@]}"
looked_at=$(wc -l <"$work/done")
[ "$looked_at" -eq ${#sources[@]} ] || echo "clang-tidy: the time is over"
echo "clang-tidy: $looked_at of ${#sources[@]} files looked at"
[ ! -e "$work/failed" ]
