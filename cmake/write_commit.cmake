# Run by berth_commit: writes the source if its text has changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
namespace berth {
const char* commit_text();
const char* commit_text() { return "@commit@"; }
}  // namespace berth
]] @ONLY)
