#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "controller/transport/http.h"

namespace berth::api {

// A request that the transport refuses before a handler sees it. It isn't known where such a
// request ends, so the connection is closed after the answer.
struct Refusal : std::runtime_error {
  Refusal(int http_status, const std::string& detail)
      : std::runtime_error(detail), status(http_status) {}
  int status;
};

// Limits that are common among proxies: nginx accepts 8 KiB for a request line, Apache 100 fields.
inline constexpr std::size_t max_request_line_bytes = 8 * 1024;
inline constexpr std::size_t max_header_fields = 128;

// How the end of the body is found (RFC 9112, section 6.3). A request without Content-Length and
// Transfer-Encoding has no body.
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

// Returns the size of the head at the start of `text`, including its empty last line; 0 if it isn't
// complete. `scanned` keeps how far earlier calls have looked; the caller sets it to 0 at first.
// Throws Refusal for a line that doesn't end with CR LF, because parsers disagree about those,
// which allows requests to be smuggled.
std::size_t head_size(std::string_view text, std::size_t& scanned);

// Parses a complete head strictly by RFC 9112 and makes method, path, query, host and headers of
// `request` point into it. Throws Refusal: 400, 413 (a length above every limit), 414 (request
// line), 415 (encoded body), 417, 431 (too many fields), 501 (transfer coding) or 505.
RequestHead parse_head(std::string_view head, Request& request);

// Whether a server may send a field with this name or value (RFC 9110, sections 5.1 and 5.5).
bool is_field_name(std::string_view name);
bool is_field_value(std::string_view value);

}  // namespace berth::api
