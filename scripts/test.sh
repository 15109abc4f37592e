#!/usr/bin/env bash
# Runs all tests of a build, two at a time: scripts/test.sh PRESET [ATTEMPTS]. A test that fails is tried again until it
# passes or was tried ATTEMPTS times (1 unless given). Those that passed only then are named in the last lines, since each
# of them is a defect, of berth or of the test.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
preset=$1 attempts=${2:-1}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

ctest --preset "$preset" -j 2 --repeat "until-pass:$attempts" 2>&1 | tee "$output"
code=${PIPESTATUS[0]}
if [ "$code" -eq 0 ]; then
  # Such as: "12/1938 Test  #12: name ........***Failed    0.10 sec".
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.*\*\*\*(Failed|Timeout|Exception).*/failed once: \1/p' "$output"
fi
exit "$code"
