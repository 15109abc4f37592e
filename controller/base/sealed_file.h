#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

// Encrypts a file with a passphrase while it is being written. Files may have any length, and only
// a chunk at a time is in memory.
//
// A file consists of a header and chunks:
//
//   16 bytes  "berth-archive-1\n"
//    4 bytes  argon2id: KiB of memory      (RFC 9106; the three numbers are big-endian)
//    4 bytes  argon2id: passes
//    4 bytes  argon2id: lanes
//   16 bytes  argon2id: salt, random for each file
//   32 bytes  HMAC-SHA256 of the 44 bytes above
//   chunks    of 65,536 bytes (the last one 0 to 65,536), each followed by its tag of 16 bytes
//
// argon2id yields 64 bytes: the key of the HMAC, then the key of the chunks. Each chunk is
// encrypted with AES-256-GCM. Its nonce is 3 zero bytes, the chunk's number in 8 bytes (big-endian,
// from 0), and 1 byte that is 1 for the last chunk and 0 for all others. This is the STREAM
// construction (Hoang, Reyhanitabar, Rogaway, Vizár, "Online Authenticated-Encryption and its
// Nonce-Reuse Misuse-Resistance", 2015; age-v1 uses it too). Chunks that were changed, removed,
// duplicated or reordered can't be opened, nor can a file that ends too early or goes on too long.
// A key is used for one file only, so nonces that count up are safe. The last chunk is empty only
// if the whole file is.
namespace berth::sealed_file {

inline constexpr size_t chunk_bytes = 65'536;
inline constexpr size_t tag_bytes = 16;
inline constexpr size_t key_bytes = 32;
inline constexpr size_t header_bytes = 76;

// The passphrase is wrong or the header is damaged; which of the two can't be determined.
struct WrongPassphrase : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The file isn't in this format, was cut off, or has been changed.
struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What deriving a key costs: parameters of argon2id.
struct Work {
  std::uint32_t kib = 0;
  std::uint32_t passes = 0;
  std::uint32_t lanes = 0;
};
// The second recommended choice of RFC 9106, section 4, for memory-constrained machines: about
// 100 ms and 64 MiB of memory.
inline constexpr Work usual_work = {.kib = 64 * 1024, .passes = 3, .lanes = 4};

// The header of a new file, and the key of its chunks. The key is for this file only; it reveals
// nothing about the passphrase or other files.
struct Opening {
  std::string header;
  std::string key;
};
// The passphrase must not be empty. Less than the usual work is for tests.
Opening new_file(std::string_view passphrase, const Work& work = usual_work);
// Returns the key of a file that begins with `header`. Throws WrongPassphrase, and Damaged if it
// isn't a header or demands more memory or time than berth's own files do.
std::string key_of(std::string_view passphrase, std::string_view header);
// Whether a file that begins with these bytes is in this format.
bool looks_sealed(std::string_view start_of_file);
// The number of bytes that the chunks for `plain` bytes of content take, without the header.
std::uint64_t sealed_size(std::uint64_t plain);

// Receives the output. An exception that it throws is passed on to the caller.
using Sink = std::function<void(std::string_view)>;

// Encrypts what is written to it. Not thread-safe.
class Sealer {
 public:
  Sealer(std::string key, Sink out) : key_(std::move(key)), out_(std::move(out)) {}
  void write(std::string_view plain);
  void finish();  // call it once at the end; without it the file counts as cut off

 private:
  std::string key_;
  Sink out_;
  std::string waiting_;
  std::uint64_t number_ = 0;
};

// Decrypts what is written to it: the chunks without the header, in pieces of any size. Every byte
// that it passes on is authentic, but only finish() tells whether the file was complete. Not
// thread-safe.
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
