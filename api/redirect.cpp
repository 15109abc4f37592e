#include "api/redirect.h"

#include <cctype>

namespace berth::api {
namespace {

std::string percent_encode(std::string_view text) {
  static constexpr const char* digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~')
      encoded += c;
    else
      encoded.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return encoded;
}

}  // namespace

std::string redirect_to(std::string_view uri, const RedirectParameters& parameters) {
  std::string target(uri);
  char separator = target.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : parameters) {
    target.append({separator}).append(percent_encode(name) + "=" + percent_encode(value));
    separator = '&';
  }
  return target;
}

}  // namespace berth::api
