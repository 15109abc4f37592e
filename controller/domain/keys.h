#pragma once

#include <string>
#include <vector>

namespace berth {

// What berthd keeps secret and the database doesn't hold; main reads it from the data directory.
struct Keys {
  // AES-256 key for env_vars, registry credentials and mail that waits. 32 bytes.
  std::string data;
  // HMAC keys of session JWTs: the first one signs, all of them verify, so that a new one can be
  // put in front without logging anybody out.
  struct SessionKey {
    std::string id;  // `kid` (RFC 7515, section 4.1.4)
    std::string secret;
  };
  std::vector<SessionKey> session;
};

}  // namespace berth
