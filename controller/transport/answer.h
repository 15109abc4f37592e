#pragma once

#include <string>
#include <string_view>

#include "controller/transport/http.h"

namespace berth::api {

// Whether an answer fulfils the requirements of Response: a final status, field names that are
// tokens, values without control characters, and none of the fields that the server sends itself.
bool is_sendable(const Response& response);

// Whether the status has no body (RFC 9110, sections 15.3.5 and 15.4.5).
inline bool has_no_body(int status) { return status == 204 || status == 304; }

// Returns the value of the Date field (RFC 9110, section 6.6.1), which each thread makes anew once
// a second.
const std::string& http_date();

// Returns `data` as a chunk (RFC 9112, section 7.1). It must not be empty, because an empty chunk
// ends the body.
std::string to_chunk(std::string_view data);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// Returns an answer with the detail as text/plain.
Response plain_refusal(int status, std::string_view detail);
// Returns the fields in the form in which a head has them, each with its line end.
std::string to_text(const Fields& fields);

// Returns a complete 503 response, made of `headers` and the fields and body of `response`, for
// connections that get no thread.
std::string render_busy(const Response& response, const Fields& headers);

}  // namespace berth::api
