#include "controller/base/crypto.h"

#include <argon2.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "controller/base/error.h"

namespace berth {
namespace {

constexpr size_t nonce_bytes = 12;
constexpr size_t tag_bytes = 16;
constexpr size_t key_bytes = 32;
constexpr unsigned argon2_passes = 2;
constexpr unsigned argon2_kib = 19 * 1024;
constexpr unsigned argon2_lanes = 1;
constexpr size_t argon2_salt_bytes = 16;
constexpr size_t argon2_hash_bytes = 32;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("OpenSSL: ") + what + " failed");
}

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

}  // namespace

std::string random_bytes(size_t count) {
  std::string result(count, '\0');
  check(RAND_bytes(bytes_of(result), int(count)) == 1, "RAND_bytes");
  return result;
}

std::string random_token(std::string_view prefix) {
  return std::string(prefix) + base64url(random_bytes(32));
}

std::string sha256(std::string_view data) {
  // Fetched once, because SHA256() looks up its provider at each call.
  static const EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::string result(SHA256_DIGEST_LENGTH, '\0');
  check(EVP_Digest(data.data(), data.size(), bytes_of(result), nullptr, digest, nullptr) == 1,
        "EVP_Digest");
  return result;
}

std::string sha512(std::string_view data) {
  std::string result(SHA512_DIGEST_LENGTH, '\0');
  check(EVP_Digest(data.data(), data.size(), bytes_of(result), nullptr, EVP_sha512(), nullptr) == 1,
        "EVP_Digest");
  return result;
}

std::string hmac_sha256(std::string_view key, std::string_view data) {
  std::string result(SHA256_DIGEST_LENGTH, '\0');
  unsigned length = 0;
  check(HMAC(EVP_sha256(), key.data(), int(key.size()), bytes_of(data), data.size(),
             bytes_of(result), &length) != nullptr,
        "HMAC");
  return result;
}

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    result += digits[static_cast<unsigned char>(c) >> 4];
    result += digits[static_cast<unsigned char>(c) & 15];
  }
  return result;
}

std::optional<std::string> parse_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = value(digits[i]), low = value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string base64(std::string_view bytes) {
  std::string result((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(bytes_of(result), bytes_of(bytes), int(bytes.size()));
  result.resize(size_t(length));
  return result;
}

std::string base64url(std::string_view bytes) {
  std::string result = base64(bytes);
  while (!result.empty() && result.back() == '=') result.pop_back();
  for (char& c : result) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return result;
}

std::optional<std::string> parse_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string result(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(bytes_of(result), bytes_of(text), int(text.size())) < 0) return std::nullopt;
  result.erase(result.size() - padding);
  // OpenSSL skips blanks, takes '=' anywhere and ignores left-over bits: only what comes back the
  // same is base64 (RFC 4648, sections 3.3 and 3.5).
  return base64(result) == text ? std::optional(result) : std::nullopt;
}

std::optional<std::string> parse_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return parse_base64(padded);
}

std::string token_hash(std::string_view token) { return hex(sha256(token)); }

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string seal(std::string_view key, std::string_view plain, std::string_view context) {
  check(key.size() == key_bytes, "a key of 32 bytes");
  const std::string nonce = random_bytes(nonce_bytes);
  const CipherContext cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string text(plain.size(), '\0'), tag(tag_bytes, '\0');
  int length = 0;
  check(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                           bytes_of(std::string_view(nonce))) == 1,
        "EncryptInit");
  check(EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes_of(context), int(context.size())) ==
            1,
        "EncryptUpdate");
  check(EVP_EncryptUpdate(cipher.get(), bytes_of(text), &length, bytes_of(plain),
                          int(plain.size())) == 1,
        "EncryptUpdate");
  check(EVP_EncryptFinal_ex(cipher.get(), bytes_of(text) + length, &length) == 1, "EncryptFinal");
  check(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, int(tag_bytes), tag.data()) == 1,
        "GET_TAG");
  return nonce + tag + text;
}

std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                       std::string_view context) {
  if (key.size() != key_bytes || sealed.size() < nonce_bytes + tag_bytes) return std::nullopt;
  const std::string_view nonce = sealed.substr(0, nonce_bytes);
  std::string tag(sealed.substr(nonce_bytes, tag_bytes));
  const std::string_view text = sealed.substr(nonce_bytes + tag_bytes);
  const CipherContext cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string plain(text.size(), '\0');
  int length = 0;
  const bool ok =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes_of(context), int(context.size())) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &length, bytes_of(text), int(text.size())) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, int(tag_bytes), tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + length, &length) == 1;
  return ok ? std::optional(plain) : std::nullopt;
}

// Occupies one of the hasher's places for the lifetime of this object.
class PasswordHasher::Turn {
 public:
  explicit Turn(PasswordHasher& hasher)
      : hasher_(hasher), claim_(hasher.places_, Claimant::of_thread()) {
    if (claim_.take() != Shares::Taken::yes)
      throw Error(Code::unavailable, "too many logins at the same time; try again shortly");
    std::unique_lock lock(hasher.mutex_);
    hasher.free_.wait(lock, [&] { return hasher.running_ < hasher.workers_; });
    ++hasher.running_;
  }
  ~Turn() {
    const std::lock_guard lock(hasher_.mutex_);
    --hasher_.running_;
    hasher_.free_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  PasswordHasher& hasher_;
  Shares::Claim claim_;
};

std::string PasswordHasher::hash(std::string_view password) {
  const Turn turn(*this);
  const std::string salt = random_bytes(argon2_salt_bytes);
  std::string encoded(argon2_encodedlen(argon2_passes, argon2_kib, argon2_lanes, argon2_salt_bytes,
                                        argon2_hash_bytes, Argon2_id),
                      '\0');
  const int result = argon2id_hash_encoded(argon2_passes, argon2_kib, argon2_lanes, password.data(),
                                           password.size(), salt.data(), salt.size(),
                                           argon2_hash_bytes, encoded.data(), encoded.size());
  if (result != ARGON2_OK) throw std::runtime_error(argon2_error_message(result));
  encoded.resize(encoded.find('\0'));
  return encoded;
}

bool PasswordHasher::matches(std::string_view password, const std::string& stored) {
  const Turn turn(*this);
  return argon2id_verify(stored.c_str(), password.data(), password.size()) == ARGON2_OK;
}

bool PasswordHasher::matches_nobody(std::string_view password) {
  hash(password);
  return false;
}

}  // namespace berth
