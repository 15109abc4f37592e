#!/usr/bin/env bash
# Runs clang-tidy with the compile commands of the preset dev, where each file is compiled alone. Prints its findings and
# ends with 1 if there are any.
#   tidy.sh [--seconds N] FILE…
# A header is checked with the source file of the same name. After N seconds the remaining files are skipped; the script
# says so, and this is no failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
limit=()
if [ "${1:-}" = --seconds ]; then
  limit=(timeout "$2")
  shift 2
fi

declare -A sources=()
for file in "$@"; do
  source=${file%.h}
  source=${source%.cpp}.cpp
  [ ! -f "$source" ] || sources[$source]=1
done
[ ${#sources[@]} -gt 0 ] || { echo "clang-tidy: no source file to look at"; exit 0; }

cmake --preset dev -B build/lint -DCMAKE_UNITY_BUILD=OFF -DBERTH_TESTS=ON >/dev/null || exit 1
# clang 16 knows C++23 as c++2b and doesn't know GCC's warnings and precompiled headers. It doesn't announce all of its
# concepts, and without that libstdc++ doesn't offer std::expected.
# With its three-way comparison, nlohmann's JSON can't be compared with a text that is on the left.
sed -i 's/-std=c++23/-std=c++2b -U__cpp_concepts -D__cpp_concepts=202002L -DJSON_HAS_THREE_WAY_COMPARISON=0/; s/-Wno-restrict\|-Wno-maybe-uninitialized\|-Wno-stringop-overflow\|-Wno-stringop-overread\|-Wno-array-bounds//g; s/-Winvalid-pch -include [^ ]*//' \
  build/lint/compile_commands.json
work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT
touch "$work/done"
# shellcheck disable=SC2016 # the inner shell expands it
printf '%s\n' "${!sources[@]}" | sort | "${limit[@]}" xargs -P "$(nproc)" -n 1 bash -c '
  clang-tidy-16 -p build/lint --quiet "$0" 2> >(grep -vE "^[0-9]+ warnings? generated|^Suppressed|^Use -" >&2) ||
    echo "$0" >>"$work/failed"
  echo "$0" >>"$work/done"'
looked_at=$(wc -l <"$work/done")
[ "$looked_at" -eq ${#sources[@]} ] || echo "clang-tidy: the time is over"
echo "clang-tidy: $looked_at of ${#sources[@]} files looked at"
[ ! -e "$work/failed" ]
