#include "cli/suggest.h"

#include "controller/base/spelling.h"

namespace berth::cli {

std::string did_you_mean(const std::string& text, const std::vector<std::string>& names) {
  const auto name = nearest_spelling(text, names);
  return name ? ": did you mean " + *name + "?" : "";
}

}  // namespace berth::cli
