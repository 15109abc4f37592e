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

cmake --preset dev -B $build -DCMAKE_UNITY_BUILD=$unity -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DBERTH_TESTS=ON \
  >/dev/null || exit 1
# clang 16 knows C++23 as c++2b and doesn't know GCC's warnings and precompiled headers. It doesn't announce all of its
# concepts, and without that libstdc++ doesn't offer std::expected.
# With its three-way comparison, nlohmann's JSON can't be compared with a text that is on the left.
sed -i 's/-std=c++23/-std=c++2b -U__cpp_concepts -D__cpp_concepts=202002L -DJSON_HAS_THREE_WAY_COMPARISON=0/; s/-Wno-restrict\|-Wno-subobject-linkage\|-Wno-maybe-uninitialized\|-Wno-stringop-overflow\|-Wno-stringop-overread\|-Wno-array-bounds//g; s/-Winvalid-pch -include [^ ]*//' \
  $build/compile_commands.json
options=(-p "$build" --quiet)
if [ $unity = ON ]; then
  # What the tree's files include, and files of several sources, are looked at as much as the other files.
  options+=('--header-filter=/(api|cli|controller|manifests|reconcilers|tests)/.*\.(h|cpp)$'
    --checks=-bugprone-suspicious-include --extra-arg=-Xclang --extra-arg=-analyzer-opt-analyze-headers)
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
export work
trap 'rm -rf "$work"' EXIT
touch "$work/done"
# shellcheck disable=SC2016 # the inner shell expands it
printf '%s\n' "${!sources[@]}" | sort | "${limit[@]}" xargs -P "$(nproc)" -n 1 bash -c '
  source=${!#}
  clang-tidy-16 "$@" 2> >(grep -vE "^[0-9]+ warnings? generated|^Suppressed|^Use -" >&2) ||
    echo "$source" >>"$work/failed"
  echo "$source" >>"$work/done"' tidy "${options[@]}"
looked_at=$(wc -l <"$work/done")
[ "$looked_at" -eq ${#sources[@]} ] || echo "clang-tidy: the time is over"
echo "clang-tidy: $looked_at of ${#sources[@]} files looked at"
[ ! -e "$work/failed" ]
