#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// Bytes from the operating system's generator, by OpenSSL. Throws std::runtime_error if it fails.
std::string random_bytes(size_t count);
// `prefix` and 256 random bits in base64url: what tokens, codes and secrets are made of.
std::string random_token(std::string_view prefix);

std::string sha256(std::string_view data);                             // 32 bytes
std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 bytes
std::string hex(std::string_view bytes);
std::string base64(std::string_view bytes);
std::string base64url(std::string_view bytes);  // without padding (RFC 7515, section 2)
std::optional<std::string> parse_base64(std::string_view text);  // strict, padded

// How tokens and secrets of 256 random bits are stored: SHA-256 in hex. Not for passwords.
std::string token_hash(std::string_view token);

// Whether both are the same, in a time that depends on nothing but their lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// AES-256-GCM. `key` has 32 bytes; `context` is bound to the result (a row's id, so that a value
// can't be moved to another row). The result is nonce, tag and ciphertext.
std::string seal(std::string_view key, std::string_view plain, std::string_view context);
// Nothing where key, context or data don't belong together.
std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                       std::string_view context);

// argon2id in the PHC string format, with the first of the choices of the OWASP Password Storage
// Cheat Sheet: 19 MiB, 2 passes, 1 lane. One takes some 20 ms of one core, so only `workers` run at
// once and `max_waiting` may wait; the next one is refused with Error unavailable. Thread-safe.
class PasswordHasher {
 public:
  explicit PasswordHasher(unsigned workers = 2, unsigned max_waiting = 128)
      : workers_(workers), max_waiting_(max_waiting) {}
  std::string hash(std::string_view password);
  bool matches(std::string_view password, const std::string& stored);
  // As long as matches(), and false: for accounts that don't exist.
  bool matches_nobody(std::string_view password);

 private:
  class Turn;
  const unsigned workers_;
  const unsigned max_waiting_;
  std::mutex mutex_;
  std::condition_variable free_;
  unsigned running_ = 0;
  unsigned waiting_ = 0;
};

}  // namespace berth
