#include "controller/base/sealed_file.h"

#include <argon2.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "controller/base/crypto.h"

namespace berth::sealed_file {
namespace {

constexpr std::string_view magic = "berth-archive-1\n";
constexpr size_t salt_bytes = 16;
constexpr size_t mac_bytes = 32;
constexpr size_t number_bytes = 4;
static_assert(magic.size() + 3 * number_bytes + salt_bytes + mac_bytes == header_bytes);

// The upper limits for a file from somebody else, which are checked before any work is done.
constexpr Work most_work = {.kib = 1024 * 1024, .passes = 16, .lanes = 16};

enum class Position { inside, last };

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

void append_number(std::string& text, std::uint64_t value, size_t bytes) {
  for (size_t i = bytes; i > 0; --i) text += char(value >> (8 * (i - 1)));
}

std::uint32_t number_at(std::string_view text, size_t at) {
  std::uint32_t value = 0;
  for (const unsigned char byte : text.substr(at, number_bytes)) value = value << 8 | byte;
  return value;
}

struct Derived {
  std::string mac_key;
  std::string chunk_key;
};

Derived derive(std::string_view passphrase, std::string_view salt, const Work& work) {
  std::string keys(2 * key_bytes, '\0');
  const int result =
      argon2id_hash_raw(work.passes, work.kib, work.lanes, passphrase.data(), passphrase.size(),
                        salt.data(), salt.size(), keys.data(), keys.size());
  if (result != ARGON2_OK) throw std::runtime_error(argon2_error_message(result));
  return {.mac_key = keys.substr(0, key_bytes), .chunk_key = keys.substr(key_bytes)};
}

std::string nonce_of(std::uint64_t number, Position position) {
  std::string nonce(3, '\0');
  append_number(nonce, number, 8);
  return nonce + char(position == Position::last ? 1 : 0);
}

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

void check(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL: AES-256-GCM failed");
}

std::string seal_chunk(const std::string& key, std::string_view plain, std::uint64_t number,
                       Position position) {
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string sealed(plain.size() + tag_bytes, '\0');
  int length = 0;
  check(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                           bytes_of(nonce_of(number, position))) == 1);
  check(EVP_EncryptUpdate(cipher.get(), bytes_of(sealed), &length, bytes_of(plain),
                          int(plain.size())) == 1);
  check(EVP_EncryptFinal_ex(cipher.get(), bytes_of(sealed) + length, &length) == 1);
  check(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, int(tag_bytes),
                            sealed.data() + plain.size()) == 1);
  return sealed;
}

std::optional<std::string> open_chunk(const std::string& key, std::string_view sealed,
                                      std::uint64_t number, Position position) {
  if (sealed.size() < tag_bytes) return std::nullopt;
  const std::string_view text = sealed.substr(0, sealed.size() - tag_bytes);
  std::string tag(sealed.substr(text.size()));
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string plain(text.size(), '\0');
  int length = 0;
  check(EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                           bytes_of(nonce_of(number, position))) == 1);
  check(EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &length, bytes_of(text),
                          int(text.size())) == 1);
  check(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, int(tag_bytes), tag.data()) == 1);
  if (EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + length, &length) != 1)
    return std::nullopt;
  return plain;
}

Damaged damaged_at(std::uint64_t chunk) {
  return Damaged("the archive is damaged in the 64 KiB from byte " +
                 std::to_string(header_bytes + chunk * (chunk_bytes + tag_bytes)));
}

}  // namespace

Opening new_file(std::string_view passphrase, const Work& work) {
  const std::string salt = random_bytes(salt_bytes);
  std::string header(magic);
  for (const std::uint32_t number : {work.kib, work.passes, work.lanes})
    append_number(header, number, number_bytes);
  header += salt;
  const Derived keys = derive(passphrase, salt, work);
  header += hmac_sha256(keys.mac_key, header);
  return {.header = header, .key = keys.chunk_key};
}

bool looks_sealed(std::string_view start_of_file) { return start_of_file.starts_with(magic); }

std::string key_of(std::string_view passphrase, std::string_view header) {
  if (!looks_sealed(header)) throw Damaged("this isn't an archive of berthd");
  if (header.size() != header_bytes) throw Damaged("the archive is cut off in its header");
  const Work work = {.kib = number_at(header, magic.size()),
                     .passes = number_at(header, magic.size() + number_bytes),
                     .lanes = number_at(header, magic.size() + 2 * number_bytes)};
  if (work.kib > most_work.kib || work.passes > most_work.passes || work.lanes > most_work.lanes ||
      work.passes < 1 || work.lanes < 1 || work.kib < 8 * work.lanes)
    throw Damaged("the archive's header is damaged");
  const size_t salt_at = magic.size() + 3 * number_bytes;
  const Derived keys = derive(passphrase, header.substr(salt_at, salt_bytes), work);
  const std::string_view mac = header.substr(salt_at + salt_bytes);
  if (!equal_in_constant_time(hmac_sha256(keys.mac_key, header.substr(0, header_bytes - mac_bytes)),
                              mac))
    throw WrongPassphrase("the passphrase is wrong, or the archive's header is damaged");
  return keys.chunk_key;
}

std::uint64_t sealed_size(std::uint64_t plain) {
  const std::uint64_t chunks = std::max<std::uint64_t>(1, (plain + chunk_bytes - 1) / chunk_bytes);
  return plain + chunks * tag_bytes;
}

// A full chunk is kept until more data arrives, because only then is it certain not to be the last.
void Sealer::write(std::string_view plain) {
  while (!plain.empty()) {
    if (waiting_.size() == chunk_bytes) {
      out_(seal_chunk(key_, waiting_, number_++, Position::inside));
      waiting_.clear();
    }
    const size_t taken = std::min(plain.size(), chunk_bytes - waiting_.size());
    waiting_ += plain.substr(0, taken);
    plain.remove_prefix(taken);
  }
}

void Sealer::finish() { out_(seal_chunk(key_, waiting_, number_, Position::last)); }

void Opener::write(std::string_view sealed) {
  constexpr size_t whole = chunk_bytes + tag_bytes;
  while (!sealed.empty()) {
    if (waiting_.size() == whole) {
      const auto plain = open_chunk(key_, waiting_, number_, Position::inside);
      if (!plain) throw damaged_at(number_);
      ++number_;
      waiting_.clear();
      out_(*plain);
    }
    const size_t taken = std::min(sealed.size(), whole - waiting_.size());
    waiting_ += sealed.substr(0, taken);
    sealed.remove_prefix(taken);
  }
}

void Opener::finish() {
  const auto plain = open_chunk(key_, waiting_, number_, Position::last);
  const bool needless = plain && plain->empty() && number_ > 0;
  if (plain && !needless) return out_(*plain);
  if (waiting_.empty() || open_chunk(key_, waiting_, number_, Position::inside))
    throw Damaged("the archive is cut off");
  throw damaged_at(number_);
}

}  // namespace berth::sealed_file
