#pragma once

#include <string>
#include <string_view>

#include "api/transport/http.h"

namespace berth::api {

// Whether an answer keeps the promises of Response: a final status, field names that are tokens,
// values without control characters, none of the fields that are the server's own.
bool is_sendable(const Response& response);

// RFC 9110, 15.3.5 and 15.4.5.
inline bool has_no_body(int status) { return status == 204 || status == 304; }

// The value of Date (RFC 9110, 6.6.1), made once a second and thread.
const std::string& http_date();

// RFC 9112, 7.1. `data` isn't empty: an empty chunk is the last one.
std::string to_chunk(std::string_view data);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// The detail as text/plain.
Response plain_refusal(int status, std::string_view detail);
// Fields as they stand in a head, each with its line end.
std::string to_text(const Fields& fields);

// A complete 503 with `headers` and the fields and body of `response`, for connections that get no
// thread.
std::string render_busy(const Response& response, const Fields& headers);

}  // namespace berth::api
