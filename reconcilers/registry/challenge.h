#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::registry {

// How a registry wants a client to log in: one of the challenges of a WWW-Authenticate field
// (RFC 9110, section 11.6.1).
struct Challenge {
  enum class Scheme { basic, bearer };
  Scheme scheme = Scheme::basic;
  std::string realm;    // with bearer, the URL that gives tokens
  std::string service;  // what the token is for; may be empty
};

// Reads the value of a WWW-Authenticate field, which may have several challenges, such as
// `Negotiate, Basic realm="x"`. Returns the first one whose scheme is Basic or Bearer; nothing if
// there is none, or if the field is malformed up to it.
std::optional<Challenge> parse_challenge(std::string_view field);

}  // namespace berth::registry
