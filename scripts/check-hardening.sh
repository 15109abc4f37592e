#!/usr/bin/env bash
# Checks in finished programs what cmake/hardening.cmake asks the compiler and the linker for.
#   check-hardening.sh [--no-fortify] PROGRAM…     --no-fortify: of a build that doesn't optimise
# Prints a line for each program and what is wrong with it, and ends with 1 where something is. The programs must have
# their symbols still. Debian's own start-up files come without the notes by which the kernel would turn control-flow
# protection on, so that what is looked at is the code: functions begin with endbr64.
set -euo pipefail
fortify=yes
if [ "${1:-}" = --no-fortify ]; then
  fortify=no
  shift
fi
[ $# -ge 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
export LC_ALL=C

defects() { # PROGRAM: what is wrong with it, a line each
  local header segments dynamic imported code
  header=$(readelf -Wh "$1")
  segments=$(readelf -Wl "$1")
  dynamic=$(readelf -Wd "$1")
  imported=$(readelf -W --dyn-syms "$1")
  grep -q 'Type: *DYN' <<<"$header" && grep -q 'FLAGS_1.*PIE' <<<"$dynamic" ||
    echo "isn't position-independent (-fPIE -pie)"
  grep -q GNU_RELRO <<<"$segments" && grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" ||
    echo "has no full RELRO (-z relro -z now)"
  grep -q 'GNU_STACK.* RW ' <<<"$segments" || echo "has a stack that can be executed (-z noexecstack)"
  grep -qE ' R?WE ' <<<"$segments" && echo "has a segment that can be written and executed"
  # The first segment holds the ELF header and data that is only read.
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
