#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdint>
#include <string>
#include <string_view>

// An authenticator of the tests' own (RFC 6238), so that berth's isn't checked with the library
// that it uses itself.
namespace berth::test {

inline std::string base32_decoded(std::string_view text) {
  std::string bytes;
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::uint32_t value = std::uint32_t(c >= 'A' ? c - 'A' : c - '2' + 26);
    buffer = (buffer << 5) | (value & 31);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes += char((buffer >> bits) & 0xff);
  }
  return bytes;
}

inline std::string totp(std::string_view base32_secret, std::int64_t unix_seconds) {
  const std::string secret = base32_decoded(base32_secret);
  std::string counter(8, '\0');
  std::int64_t step = unix_seconds / 30;
  for (size_t i = 8; i-- > 0; step >>= 8) counter[i] = char(step & 0xff);
  unsigned char hash[EVP_MAX_MD_SIZE] = {};
  unsigned length = 0;
  HMAC(EVP_sha1(), secret.data(), int(secret.size()),
       reinterpret_cast<const unsigned char*>(counter.data()), counter.size(), hash, &length);
  const size_t offset = hash[length - 1] & 15;
  const std::uint32_t number = (std::uint32_t(hash[offset] & 0x7f) << 24) |
                               (std::uint32_t(hash[offset + 1]) << 16) |
                               (std::uint32_t(hash[offset + 2]) << 8) | hash[offset + 3];
  std::string code = std::to_string(number % 1'000'000);
  return std::string(6 - code.size(), '0') + code;
}

}  // namespace berth::test
