#!/usr/bin/env bash
# Checks finished programs for the hardening that cmake/hardening.cmake asks of the compiler and the linker.
#   check-hardening.sh [--no-fortify] PROGRAM…     --no-fortify: for a build without optimization
# Prints a line for each program and each defect, and ends with 1 if there is a defect. The programs must have their
# symbols. Debian's start-up files lack the notes by which the kernel would turn control-flow protection on, so the
# script checks the code instead: functions begin with endbr64.
set -euo pipefail
fortify=yes
if [ "${1:-}" = --no-fortify ]; then
  fortify=no
  shift
fi
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
export LC_ALL=C

defects() {  # PROGRAM: prints its defects, one in each line
  local header segments dynamic imported code
  header=$(readelf -Wh "$1")
  segments=$(readelf -Wl "$1")
  dynamic=$(readelf -Wd "$1")
  imported=$(readelf -W --dyn-syms "$1")
  grep -q 'Type: *DYN' <<<"$header" && grep -q 'FLAGS_1.*PIE' <<<"$dynamic" ||
    echo "isn't position-independent (-fPIE -pie)"
  grep -q GNU_RELRO <<<"$segments" && grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" ||
    echo "has no full RELRO (-z relro -z now)"
  grep -q 'GNU_STACK.* RW ' <<<"$segments" || echo "has an executable stack (-z noexecstack)"
  grep -qE ' R?WE ' <<<"$segments" && echo "has a segment that is writable and executable"
  # The first segment contains the ELF header and read-only data.
  [ "$(grep -m1 LOAD <<<"$segments" | grep -c ' R  *0x')" = 1 ] || echo "has code and data in one segment (-z separate-code)"
  grep -qE 'RPATH|RUNPATH' <<<"$dynamic" && echo "looks for libraries in an RPATH"
  grep -q TEXTREL <<<"$dynamic" && echo "has relocations in its code"
  grep -q __stack_chk_fail <<<"$imported" || echo "has no stack protector (-fstack-protector-strong)"
  [ $fortify = no ] || grep -qE '__[a-z0-9_]+_chk@' <<<"$imported" || echo "has no fortified functions (_FORTIFY_SOURCE)"
  if grep -q X86-64 <<<"$header"; then
    code=$(objdump -d --no-show-raw-insn --disassemble=main "$1")
    [[ $code =~ \<main\>:$'\n'[^$'\n']*endbr64 ]] || echo "has functions without endbr64 (-fcf-protection)"
  fi
  return 0
}

failed=0
for program; do
  wrong=$(defects "$program")
  if [ -z "$wrong" ]; then
    echo "$program: hardened"
  else
    failed=1
    echo "$program:"
    while read -r line; do echo "  $line"; done <<<"$wrong"
  fi
done
exit $failed
