#include "controller/base/version.h"

namespace berth {

const std::string_view version = BERTH_VERSION;

// A program that is linked with the source that cmake/commit.cmake writes has that one's
// definition.
__attribute__((weak)) const char* commit_text() { return "unknown"; }

std::string build_commit() { return commit_text(); }

}  // namespace berth
