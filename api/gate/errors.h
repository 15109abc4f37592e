#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/gate/route.h"
#include "controller/base/error.h"

// The four bodies of an error; nothing else knows them (specification, "Errors").
namespace berth::api {

enum class ErrorBody { nested, simple, oauth, oauth_and_message, framework };

// Which body an error has on a route of this shape.
ErrorBody body_of(Shape shape, int status);

// The answer to an error. 401 and 403 carry WWW-Authenticate (RFC 6750, section 3; RFC 9728,
// section 5.1) where the token was the matter. `with_credentials`: the request had a token.
struct Challenge {
  std::string base_url;
  bool with_credentials = false;
  bool basic = false;  // the client used HTTP Basic
  std::string scope;   // that would have been enough
};
Reply reply_to(const Error& error, Shape shape, const Challenge& challenge);
// The router's own answers: framework body.
Reply router_reply(int status, std::string_view detail);
std::string framework_body(std::string_view detail);

}  // namespace berth::api
