#!/usr/bin/env bash
# Runs all tests of a build: scripts/test.sh PRESET [ATTEMPTS [if-changed]]. A test that fails is tried again until it
# passes or was tried ATTEMPTS times (1 unless given). Those that passed only then are named in the last lines, since each
# of them is a defect, of berth or of the test. With `if-changed`, the tests that have run on SQLite run again on PostgreSQL
# only if something has changed that matters to it since they passed there; a line says so. Temporary files are kept in
# memory if there is room, so that the tests don't wait for the disk.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
preset=$1 attempts=${2:-1} second_engine=${3:-always}
not_needed=3  # the exit code of tests/postgres/changed.py
# Tests wait for each other's answers much of the time, so that more of them than there are cores end earlier.
jobs=$(($(nproc) * 2))
room_needed=$((4 * 1024 * 1024))  # KiB
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge $room_needed ] 2>/dev/null; then
  TMPDIR=$(mktemp -d /dev/shm/berth-tests-XXXXXX)
else
  TMPDIR=$(mktemp -d)
fi
export TMPDIR
chmod 755 "$TMPDIR"  # PostgreSQL runs as a user of its own, who reaches its folder through this one
trap 'rm -rf "$TMPDIR"' EXIT
output=$TMPDIR/output

left_out=()
if [ "$second_engine" = if-changed ]; then
  tests/postgres/changed.py
  [ $? -ne $not_needed ] || left_out=(-LE second-engine)
fi
ctest --preset "$preset" -j $jobs "${left_out[@]}" --repeat "until-pass:$attempts" 2>&1 | tee "$output"
code=${PIPESTATUS[0]}
if [ "$code" -eq 0 ]; then
  [ ${#left_out[@]} -gt 0 ] || tests/postgres/changed.py --passed
  # Such as: "12/1938 Test  #12: name ........***Failed    0.10 sec".
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.*\*\*\*(Failed|Timeout|Exception).*/failed once: \1/p' "$output"
fi
exit "$code"
