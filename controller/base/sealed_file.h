#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

// A file that is encrypted by a passphrase while it is written, of any length and in little memory.
//
// The file is a header and chunks:
//
//   16 bytes  "berth-archive-1\n"
//    4 bytes  argon2id: KiB of memory      (RFC 9106; the three numbers are big-endian)
//    4 bytes  argon2id: passes
//    4 bytes  argon2id: lanes
//   16 bytes  argon2id: salt, random for each file
//   32 bytes  HMAC-SHA256 of the 44 bytes above
//   chunks    of 65,536 bytes (the last one 0 to 65,536), each followed by its tag of 16 bytes
//
// argon2id gives 64 bytes: the key of the HMAC, then the key of the chunks. A chunk is sealed with
// AES-256-GCM; its nonce is 3 zero bytes, its number in 8 (big-endian, from 0) and 1 byte that is 1
// in the last chunk and 0 before it. That is the STREAM construction (Hoang, Reyhanitabar, Rogaway,
// Vizár, "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015; as age-v1
// uses it): chunks that change, are missing, doubled or in another order don't open, nor does a
// file that ends too early or goes on too long. A key is used for one file, so that counting nonces
// are safe. Only an empty file's last chunk is empty.
namespace berth::sealed_file {

inline constexpr size_t chunk_bytes = 65'536;
inline constexpr size_t tag_bytes = 16;
inline constexpr size_t key_bytes = 32;
inline constexpr size_t header_bytes = 76;

// The passphrase doesn't fit, or the header is damaged: nobody can tell which.
struct WrongPassphrase : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The file is none of ours, was cut off, or isn't as it was written.
struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a new file starts with, and the key of its chunks. The key is for this one file: it says
// nothing about the passphrase or about other files.
struct Opening {
  std::string header;
  std::string key;
};
// Takes some 100 ms and 64 MiB. Needs a passphrase that isn't empty.
Opening new_file(std::string_view passphrase);
// The key of a file that starts with `header`. Throws Damaged where that is no header, or asks for
// more memory or time than any file of ours; WrongPassphrase.
std::string key_of(std::string_view passphrase, std::string_view header);
bool looks_sealed(std::string_view start_of_file);
// How many bytes the chunks of `plain` bytes take.
std::uint64_t sealed_size(std::uint64_t plain);

// Where bytes go next. What it throws comes out of the call that led to it.
using Sink = std::function<void(std::string_view)>;

// Seals what is written to it. For one thread.
class Sealer {
 public:
  Sealer(std::string key, Sink out) : key_(std::move(key)), out_(std::move(out)) {}
  void write(std::string_view plain);
  void finish();  // once; without it the file counts as cut off

 private:
  std::string key_;
  Sink out_;
  std::string waiting_;
  std::uint64_t number_ = 0;
};

// Opens what is written to it, the chunks without the header, in pieces of any size. Every byte
// that it hands on is authentic; that it was all, only finish() tells. For one thread.
class Opener {
 public:
  Opener(std::string key, Sink out) : key_(std::move(key)), out_(std::move(out)) {}
  void write(std::string_view sealed);  // throws Damaged
  void finish();                        // throws Damaged

 private:
  std::string key_;
  Sink out_;
  std::string waiting_;
  std::uint64_t number_ = 0;
};

}  // namespace berth::sealed_file
