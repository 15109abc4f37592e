#pragma once

#include <string_view>
#include <vector>

namespace berth {

// A file from the source tree that was compiled into the program (cmake/embed.cmake).
struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

}  // namespace berth
