#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/shares.h"

namespace berth {

// Bytes from OpenSSL's random generator, which the operating system seeds. Throws
// std::runtime_error if it fails.
std::string random_bytes(size_t count);
// `prefix` followed by 256 random bits in base64url; used for tokens, codes and secrets.
std::string random_token(std::string_view prefix);

std::string sha256(std::string_view data);                             // 32 bytes
std::string sha512(std::string_view data);                             // 64 bytes
std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes
std::string hex(std::string_view bytes);
// The bytes of digits that hex() wrote; nothing if malformed.
std::optional<std::string> parse_hex(std::string_view digits);
std::string base64(std::string_view bytes);
std::string base64url(std::string_view bytes);  // without padding (RFC 7515, section 2)
// Strict: padding is required; nothing if malformed.
std::optional<std::string> parse_base64(std::string_view text);
// Strict: without padding; nothing if malformed.
std::optional<std::string> parse_base64url(std::string_view text);

// The form in which tokens and secrets of 256 random bits are stored: SHA-256 in hex. Not for
// passwords.
std::string token_hash(std::string_view token);

// Compares two texts in a time that depends only on their lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Encrypts with AES-256-GCM. `key` has 32 bytes. `context` is authenticated with the result; it
// names the row, so that a value can't be moved to another row. The result consists of nonce, tag
// and ciphertext.
std::string seal(std::string_view key, std::string_view plain, std::string_view context);
// Decrypts what seal() returned. Returns nothing if key, context and data don't belong together.
std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                       std::string_view context);

// Hashes passwords with argon2id, in the PHC string format and with the first set of parameters in
// the OWASP Password Storage Cheat Sheet: 19 MiB, 2 passes, 1 lane. A hash takes about 20 ms of one
// core, so at most `workers` run at the same time and at most `max_waiting` callers wait. Further
// ones, and those whose account or network has its share (shares.h), are refused with Error
// `unavailable`. Thread-safe.
class PasswordHasher {
 public:
  explicit PasswordHasher(unsigned workers = 2, unsigned max_waiting = 128)
      : workers_(workers), places_(Pool::password_hashes, std::size_t(workers) + max_waiting) {}
  std::string hash(std::string_view password);
  bool matches(std::string_view password, const std::string& stored);
  // Takes as long as matches() and returns false. For accounts that don't exist, so that the time
  // doesn't tell whether an account exists.
  bool matches_nobody(std::string_view password);

 private:
  class Turn;
  const unsigned workers_;
  Shares places_;
  std::mutex mutex_;
  std::condition_variable free_;
  unsigned running_ = 0;
};

}  // namespace berth
