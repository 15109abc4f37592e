#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "api/transport/http.h"

namespace berth::api {

// A request that the transport refuses before any handler sees it. Where such a request ends can't
// be relied on, so the connection is closed after the answer.
struct Refusal : std::runtime_error {
  Refusal(int http_status, const std::string& detail)
      : std::runtime_error(detail), status(http_status) {}
  int status;
};

// Common limits of proxies: nginx takes 8 KiB for a request line, Apache 100 fields.
inline constexpr std::size_t max_request_line_bytes = 8 * 1024;
inline constexpr std::size_t max_header_fields = 128;

// Where the body ends (RFC 9112, 6.3). A request without either field has none.
enum class Framing { none, content_length, chunked };
enum class Persistence { keep_alive, close };
enum class Version { http_1_0, http_1_1 };
enum class Expectation { none, continue_100 };

struct RequestHead {
  Version version = Version::http_1_1;
  Framing framing = Framing::none;
  std::size_t content_length = 0;
  Persistence persistence = Persistence::keep_alive;
  Expectation expectation = Expectation::none;
};

// The size of the head that `text` starts with, its empty last line included; 0 while it isn't
// complete. `scanned` says how far earlier calls looked; 0 at the start. Throws Refusal for a line
// that doesn't end with CR LF: parsers disagree about those, and requests are smuggled that way.
std::size_t head_size(std::string_view text, std::size_t& scanned);

// Reads a complete head strictly after RFC 9112 and points method, path, query, host and headers of
// `request` into it. Throws Refusal: 400, 414 (request line), 431 (too many fields), 413 (a length
// that no limit could allow), 415 (encoded body), 417, 501 (transfer coding), 505.
RequestHead parse_head(std::string_view head, Request& request);

// Whether a server may send such a field (RFC 9110, 5.1 and 5.5).
bool is_field_name(std::string_view name);
bool is_field_value(std::string_view value);

}  // namespace berth::api
