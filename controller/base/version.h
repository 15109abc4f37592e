#pragma once

#include <string>
#include <string_view>

namespace berth {

// The version of all of berth's programs, which is the number in CMakeLists.txt.
extern const std::string_view version;

// The git commit that the program was built of: 12 digits, with `-dirty` behind them if the
// checkout had other changes, or `unknown` outside of a checkout. Only berthd and berth know theirs
// (see cmake/commit.cmake); other programs return `unknown`.
std::string build_commit();

}  // namespace berth
