#include "controller/base/program_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace berth {
namespace {

using Mark = std::pair<std::string_view, std::string_view>;  // what the field contains, the name

// Browsers name others that they are compatible with, so the more particular ones come first.
constexpr std::array browsers = {
    Mark{"Edg/", "Edge"},        Mark{"EdgA/", "Edge"},
    Mark{"OPR/", "Opera"},       Mark{"SamsungBrowser/", "Samsung Internet"},
    Mark{"Firefox/", "Firefox"}, Mark{"FxiOS/", "Firefox"},
    Mark{"CriOS/", "Chrome"},    Mark{"Chromium/", "Chromium"},
    Mark{"Chrome/", "Chrome"},   Mark{"Safari/", "Safari"}};
constexpr std::array systems = {Mark{"Android", "Android"}, Mark{"iPhone", "iOS"},
                                Mark{"iPad", "iPadOS"},     Mark{"Windows", "Windows"},
                                Mark{"CrOS", "ChromeOS"},   Mark{"Mac OS X", "macOS"},
                                Mark{"Linux", "Linux"}};

template <typename Marks>
std::string_view first_of(const Marks& marks, std::string_view text) {
  const auto found = std::ranges::find_if(
      marks, [&](const Mark& mark) { return text.find(mark.first) != std::string_view::npos; });
  return found == marks.end() ? std::string_view() : found->second;
}

bool is_of_name(unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; }
bool is_of_version(unsigned char c) { return std::isdigit(c) || c == '.'; }

std::string_view beginning(std::string_view text, bool (*belongs)(unsigned char)) {
  const auto end = std::ranges::find_if_not(text, belongs);
  return text.substr(0, size_t(end - text.begin()));
}

}  // namespace

std::string program_name(std::string_view user_agent) {
  if (user_agent.starts_with("Mozilla/")) {
    const std::string_view browser = first_of(browsers, user_agent);
    const std::string_view system = first_of(systems, user_agent);
    if (browser.empty()) return "unknown";
    return std::string(browser) + (system.empty() ? "" : " on " + std::string(system));
  }
  const std::string_view name = beginning(user_agent, is_of_name);
  if (name.empty()) return "unknown";
  std::string result(name.substr(0, max_program_name));
  const std::string_view rest = user_agent.substr(name.size());
  if (!rest.starts_with('/')) return result;
  const std::string_view version = beginning(rest.substr(1), is_of_version);
  if (!version.empty()) result += " " + std::string(version.substr(0, max_program_version));
  return result;
}

}  // namespace berth
