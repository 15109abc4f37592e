#include "controller/base/roff.h"

namespace berth::roff {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + escaped(tag) + "\n" + escaped(text) + "\n";
}

}  // namespace berth::roff
