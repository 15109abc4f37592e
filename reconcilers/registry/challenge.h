#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::registry {

// How a registry wants a client to log in: the value of a WWW-Authenticate field (RFC 9110, section
// 11.6.1).
struct Challenge {
  enum class Scheme { basic, bearer };
  Scheme scheme = Scheme::basic;
  std::string realm;    // with bearer, the URL that gives tokens
  std::string service;  // what the token is for; may be empty
};

// Reads the value of a WWW-Authenticate field. Returns nothing if its scheme is neither Basic nor
// Bearer, or if it is malformed.
std::optional<Challenge> parse_challenge(std::string_view field);

}  // namespace berth::registry
