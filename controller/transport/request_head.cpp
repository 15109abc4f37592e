#include "controller/transport/request_head.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "controller/base/text.h"

namespace berth::api {
namespace {

constexpr auto token_characters = [] {
  std::array<bool, 256> allowed{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789"
                                       "abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    allowed[static_cast<unsigned char>(c)] = true;
  }
  return allowed;
}();

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool list_has(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (equal_ignoring_case(trimmed(item), wanted)) return true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return false;
}

Version parse_version(std::string_view text) {
  if (text == "HTTP/1.1") return Version::http_1_1;
  if (text == "HTTP/1.0") return Version::http_1_0;
  if (text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' &&
      is_digit(text[7])) {
    throw Refusal(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  }
  throw Refusal(400, "the request line is malformed");
}

// RFC 9112, section 3.2: origin-form; absolute-form, whose authority takes precedence over the Host
// field; or "*".
void parse_target(std::string_view target, Request& request) {
  constexpr std::array<std::string_view, 2> schemes = {"http://", "https://"};
  for (const std::string_view scheme : schemes) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    request.host = target.substr(0, target.find_first_of("/?"));
    if (request.host.empty()) throw Refusal(400, "the request target has no host");
    target.remove_prefix(request.host.size());
    if (target.empty()) target = "/";
    break;
  }
  if (!target.starts_with('/') && !(target == "*" && request.method == "OPTIONS")) {
    throw Refusal(400, "the request target must start with a slash");
  }
  if (target.find('#') != std::string_view::npos) {
    throw Refusal(400, "the request target must not have a fragment");
  }
  request.path = target.substr(0, target.find('?'));
  if (request.path.size() == target.size()) return;
  request.raw_query = target.substr(request.path.size() + 1);
  auto query = parse_form(request.raw_query);
  if (!query)
    throw Refusal(400, "the query isn't properly percent-encoded or has too many parameters");
  request.query = std::move(*query);
}

Version parse_request_line(std::string_view line, Request& request) {
  if (line.size() > max_request_line_bytes) throw Refusal(414, "the request line is too long");
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    throw Refusal(400, "the request line is malformed");
  }
  const Version version = parse_version(line.substr(last + 1));
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const auto unprintable = [](char c) { return is_control(c) || c == ' '; };
  if (!is_field_name(request.method) || std::ranges::any_of(target, unprintable)) {
    throw Refusal(400, "the request line is malformed");
  }
  parse_target(target, request);
  return version;
}

void parse_field(std::string_view line, Headers& headers) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_field_name(line.substr(0, colon))) {
    throw Refusal(400, "a header field is malformed");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) throw Refusal(400, "a header field contains control characters");
  if (headers.size() == max_header_fields) throw Refusal(431, "there are too many header fields");
  headers.add(line.substr(0, colon), value);
}

std::size_t parse_content_length(std::string_view value) {
  if (value.empty() || !std::ranges::all_of(value, is_digit)) {
    throw Refusal(400, "Content-Length isn't a number");
  }
  const auto length = parse_number<std::size_t>(value);
  if (!length) throw Refusal(413, "the body is too large");
  return *length;
}

// Follows RFC 9112, sections 6.1 and 6.3, strictly: everything is refused that could make a proxy
// in front of berthd see another end of the body.
void parse_framing(const Headers& headers, RequestHead& head) {
  const auto transfer = headers.find("Transfer-Encoding");
  const std::size_t lengths = headers.count("Content-Length");
  if (transfer && lengths > 0) {
    throw Refusal(400, "Transfer-Encoding and Content-Length exclude each other");
  }
  if (lengths > 1) throw Refusal(400, "Content-Length was sent more than once");
  if (lengths == 1) {
    head.framing = Framing::content_length;
    head.content_length = parse_content_length(headers.get("Content-Length"));
  }
  if (!transfer) return;
  if (head.version == Version::http_1_0) {
    throw Refusal(400, "HTTP/1.0 doesn't support Transfer-Encoding");
  }
  if (headers.count("Transfer-Encoding") > 1) {
    throw Refusal(400, "Transfer-Encoding was sent more than once");
  }
  if (!equal_ignoring_case(*transfer, "chunked")) {
    throw Refusal(501, "the only supported transfer coding is chunked");
  }
  head.framing = Framing::chunked;
}

void parse_host(Version version, Request& request) {
  const std::size_t hosts = request.headers.count("Host");
  if (hosts > 1 || (hosts == 0 && version == Version::http_1_1)) {
    throw Refusal(400, "there must be exactly one Host field");
  }
  if (request.host.empty()) request.host = request.headers.get("Host");
  const auto allowed = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(request.host, allowed)) throw Refusal(400, "the host is malformed");
}

void parse_body_conditions(const Request& request, RequestHead& head) {
  // A decompressed body could be a thousand times as large as what was sent, and no route needs
  // compression.
  for (const auto& [name, value] : request.headers) {
    if (equal_ignoring_case(name, "Content-Encoding") && !value.empty() &&
        !equal_ignoring_case(value, "identity")) {
      throw Refusal(415, "compressed bodies aren't supported");
    }
    if (!equal_ignoring_case(name, "Expect") || head.version == Version::http_1_0) continue;
    if (!equal_ignoring_case(value, "100-continue")) {
      throw Refusal(417, "the only supported expectation is 100-continue");
    }
    head.expectation = Expectation::continue_100;
  }
}

}  // namespace

bool is_field_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return token_characters[static_cast<unsigned char>(c)];
  });
}

bool is_field_value(std::string_view value) {
  return std::ranges::none_of(value, [](char c) { return is_control(c) && c != '\t'; });
}

std::size_t head_size(std::string_view text, std::size_t& scanned) {
  while (scanned < text.size()) {
    const void* found = std::memchr(text.data() + scanned, '\n', text.size() - scanned);
    if (found == nullptr) {
      scanned = text.size();
      return 0;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    if (at == 0 || text[at - 1] != '\r') throw Refusal(400, "a line doesn't end with CR LF");
    scanned = at + 1;
    if (text.substr(0, scanned).ends_with("\r\n\r\n")) return scanned;
  }
  return 0;
}

RequestHead parse_head(std::string_view head, Request& request) {
  request.host = {};
  request.raw_query = {};
  request.query.clear();
  request.headers.clear();

  RequestHead parsed;
  const std::string_view request_line = head.substr(0, head.find(line_end));
  parsed.version = parse_request_line(request_line, request);
  head.remove_prefix(request_line.size() + line_end.size());
  while (!head.starts_with(line_end)) {
    const std::string_view line = head.substr(0, head.find(line_end));
    parse_field(line, request.headers);
    head.remove_prefix(line.size() + line_end.size());
  }
  parse_framing(request.headers, parsed);
  parse_host(parsed.version, request);
  parse_body_conditions(request, parsed);
  for (const auto& [name, value] : request.headers) {
    if (equal_ignoring_case(name, "Connection") && list_has(value, "close")) {
      parsed.persistence = Persistence::close;
    }
  }
  // In HTTP/1.0, connections stay open only on request (RFC 9112, appendix C.2.2), which isn't
  // supported.
  if (parsed.version == Version::http_1_0) parsed.persistence = Persistence::close;
  return parsed;
}

}  // namespace berth::api
