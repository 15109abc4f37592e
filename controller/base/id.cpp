#include "controller/base/id.h"

#include <cctype>

#include "controller/base/crypto.h"

namespace berth {
namespace {

// Calling OpenSSL's generator costs two mutexes and a system call, for one id as for many.
std::string id_bytes(size_t count) {
  constexpr size_t fetched_at_once = 1'024;
  thread_local std::string fresh;
  if (fresh.size() < count) fresh = random_bytes(fetched_at_once);
  std::string bytes = fresh.substr(fresh.size() - count);
  fresh.resize(fresh.size() - count);
  return bytes;
}

// A number that rises with each id that the thread makes in the same millisecond, and begins with a
// random one (RFC 9562, section 6.2, method 1). It fills 26 bits; the highest one is 0 at the
// beginning, so that there is room for 33 million ids.
std::uint32_t next_count(std::uint64_t millis, const std::string& random) {
  thread_local std::uint64_t counted_millis = 0;
  thread_local std::uint32_t count = 0;
  if (millis != counted_millis) {
    counted_millis = millis;
    count = 0;
    for (const size_t i : {6, 7, 8, 9}) count = count << 8 | static_cast<unsigned char>(random[i]);
    count &= 0x1ff'ffff;
  }
  return ++count;
}

}  // namespace

std::string new_uuid(Instant now) {
  std::string bytes = id_bytes(16);
  const auto millis = static_cast<std::uint64_t>(to_millis(now));
  const std::uint32_t count = next_count(millis, bytes);
  for (int i = 0; i < 6; ++i) bytes[size_t(i)] = static_cast<char>(millis >> (8 * (5 - i)));
  bytes[6] = static_cast<char>((count >> 22 & 0x0f) | 0x70);
  bytes[7] = static_cast<char>(count >> 14);
  bytes[8] = static_cast<char>((count >> 8 & 0x3f) | 0x80);
  bytes[9] = static_cast<char>(count);
  const std::string digits = hex(bytes);
  return digits.substr(0, 8) + '-' + digits.substr(8, 4) + '-' + digits.substr(12, 4) + '-' +
         digits.substr(16, 4) + '-' + digits.substr(20);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

}  // namespace berth
