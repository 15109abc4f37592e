#pragma once

#include <string>
#include <string_view>

#include "controller/transport/http.h"

namespace berth::api {

// Whether an answer fulfils the requirements of Response: a final status, or 101 with a
// takeover, field names that are
// tokens, values without control characters, and none of the fields that the server sends itself.
bool is_sendable(const Response& response);

// Whether the status has no body (RFC 9110, sections 15.2, 15.3.5 and 15.4.5).
inline bool has_no_body(int status) {
  return status == switching_protocols || status == 204 || status == 304;
}

// Returns the value of the Date field (RFC 9110, section 6.6.1), which each thread makes anew once
// a second.
const std::string& http_date();

// Returns the reason phrase of a status that berthd sends (RFC 9110, section 15), or "" for others:
// it is for people, and may be missing (RFC 9112, section 4).
std::string_view reason_phrase(int status);

// Puts the beginning of an answer's head into `head`: the status line, `common_fields` (complete
// lines), and all fields but Connection, Transfer-Encoding and the empty line at the end. What
// `head` contained is replaced. A stream gets no Content-Length, nor does an answer that has no
// body. `response` must be sendable.
void begin_head(std::string& head, const Response& response, std::string_view common_fields);

// Adds `data` as a chunk (RFC 9112, section 7.1). It must not be empty, because an empty chunk ends
// the body.
void add_chunk(std::string& to, std::string_view data);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// Returns an answer with the detail as text/plain.
Response plain_refusal(int status, std::string_view detail);
// Returns the fields in the form in which a head has them, each with its line end.
std::string to_text(const Fields& fields);

// Returns a complete 503 response, made of `headers` and the fields and body of `response`, for
// connections that aren't served.
std::string render_busy(const Response& response, const Fields& headers);

}  // namespace berth::api
