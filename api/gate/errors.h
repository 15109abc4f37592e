#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/gate/call.h"
#include "controller/base/error.h"

// The forms that the body of an error can have; only errors.cpp knows them (specification, section
// "Errors").
namespace berth::api {

enum class ErrorBody { nested, simple, oauth, oauth_and_message, framework };

// The form of an error's body on a route of this shape.
ErrorBody body_of(Shape shape, int status);

// What the answer to an error needs besides the error. Answers with 401 and 403 have a
// WWW-Authenticate header (RFC 6750, section 3; RFC 9728, section 5.1) if the token was the reason.
struct Challenge {
  // Also the beginning of the link to the documentation of the code, in errors of the nested form;
  // there is none if this is empty.
  std::string base_url;
  // The request had a token.
  bool with_credentials = false;
  std::string scope;  // a scope that would have been enough
};
// Returns the answer to `error` on a route of this shape.
Reply reply_to(const Error& error, Shape shape, const Challenge& challenge);
// Returns the error's message in the characters that error_description may have (RFC 6749, section
// 5.2): printable ASCII without quotes and backslashes.
std::string description_of(const Error& error);
// Returns an answer of the router itself (404 or 405) in the framework form, {"errors": {"detail":
// …}}; and the body of that form alone, which the transport uses for its own refusals.
Reply router_reply(int status, std::string_view detail);
std::string framework_body(std::string_view detail);

}  // namespace berth::api
