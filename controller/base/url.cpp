#include "controller/base/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <unicode/uidna.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <memory>
#include <new>

#include "controller/base/ascii.h"
#include "controller/base/text.h"

namespace berth {
namespace {

constexpr size_t max_host_label_length = 63;  // RFC 1035, section 2.3.4
constexpr size_t max_host_name_length = 253;  // the same, without the last dot

using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// Empty where the URL hasn't that part.
std::string part_of(const CurlUrl& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

bool is_ipv4(const std::string& text) {
  in_addr bytes{};
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1;
}

bool is_ipv6_in_brackets(const std::string& text) {
  in6_addr bytes{};
  return text.size() > 2 && text.front() == '[' && text.back() == ']' &&
         inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(), &bytes) == 1;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Url::authority() const { return port == 0 ? host : host + ":" + std::to_string(port); }

int port_of_scheme(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

std::optional<Url> parse_url(std::string_view text) {
  const bool plain =
      std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c != 0x7f && c != '\\'; });
  if (!plain || text.find("://") == std::string_view::npos) return std::nullopt;
  const CurlUrl url(curl_url(), curl_url_cleanup);
  if (!url) throw std::bad_alloc();
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_NON_SUPPORT_SCHEME) !=
      CURLUE_OK)
    return std::nullopt;
  const std::string port = part_of(url, CURLUPART_PORT);
  Url result = {.scheme = lower_case(part_of(url, CURLUPART_SCHEME)),
                .user = part_of(url, CURLUPART_USER, CURLU_URLDECODE),
                .password = part_of(url, CURLUPART_PASSWORD, CURLU_URLDECODE),
                .host = lower_case(part_of(url, CURLUPART_HOST)),
                .port = is_port(port) ? std::stoi(port) : 0,
                .rest = {}};
  // libcurl reads more than it should: other numbers of slashes, hosts in percent-encoding or as
  // one number, ports without digits. What it has read has to be what is written.
  const size_t start = text.find("://") + 3;
  const std::string_view authority = text.substr(start, text.find_first_of("/?#", start) - start);
  const size_t at = authority.rfind('@');
  const std::string written = lower_case(authority.substr(at + 1));
  const std::string address = written.substr(0, written.rfind(']') + 1);
  const bool has_address = is_ipv6_in_brackets(address);
  if (has_address) result.host = address;  // libcurl may have shortened it
  const bool has_empty_user = at != std::string_view::npos && !result.has_user();
  if (!lower_case(text).starts_with(result.scheme + "://") || written != result.authority() ||
      has_empty_user)
    return std::nullopt;
  result.rest = text.substr(start + authority.size());
  result.host = ascii_host(result.host).value_or("");
  if (!has_address && !is_host_name(result.host) && !is_ipv4(result.host)) return std::nullopt;
  return result;
}

std::optional<std::string> ascii_host(std::string_view name) {
  if (is_ascii(name)) return std::string(name);
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UIDNA, decltype(&uidna_close)> rules(
      uidna_openUTS46(UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_CHECK_BIDI | UIDNA_USE_STD3_RULES,
                      &status),
      uidna_close);
  std::array<char, max_host_name_length + 1> ascii{};
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  const auto length =
      uidna_nameToASCII_UTF8(rules.get(), name.data(), std::int32_t(name.size()), ascii.data(),
                             std::int32_t(ascii.size()), &info, &status);
  const bool failed = U_FAILURE(status) || info.errors != 0 || size_t(length) > ascii.size();
  return failed ? std::nullopt : std::optional(std::string(ascii.data(), size_t(length)));
}

bool is_host_label(std::string_view text) {
  const auto is_lower_or_digit = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= max_host_label_length && is_lower_or_digit(text.front()) &&
         is_lower_or_digit(text.back()) && std::ranges::all_of(text, [&](unsigned char c) {
           return is_lower_or_digit(c) || c == '-';
         });
}

bool is_host_name(std::string_view text) {
  if (text.size() > max_host_name_length) return false;
  std::string_view label;
  for (size_t at = 0; at <= text.size(); at += label.size() + 1) {
    label = text.substr(at, text.find('.', at) - at);
    if (!is_host_label(label)) return false;
  }
  return std::ranges::any_of(label, [](unsigned char c) { return std::isalpha(c) != 0; }) &&
         !label.starts_with("0x");
}

bool is_loopback(std::string_view host) {
  const std::string name = lower_case(host);
  in_addr address{};
  if (inet_pton(AF_INET, name.c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
  return name == "localhost" || name == "::1" || name == "[::1]" ||
         (name.ends_with(".localhost") && is_host_name(name));
}

std::string percent_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_letter_or_digit =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_letter_or_digit || c == '-' || c == '.' || c == '_' || c == '~')
      encoded += c;
    else
      encoded.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return encoded;
}

std::optional<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::is_blank) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

}  // namespace berth
