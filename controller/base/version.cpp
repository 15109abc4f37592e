#include "controller/base/version.h"

namespace berth {

const std::string_view version = BERTH_VERSION;

// This weak definition is used only if a program isn't linked with the file that cmake/commit.cmake
// generates.
__attribute__((weak)) const char* commit_text() { return "unknown"; }

std::string build_commit() { return commit_text(); }

}  // namespace berth
