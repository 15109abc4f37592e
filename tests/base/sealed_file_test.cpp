#include "controller/base/sealed_file.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"

namespace {

using namespace berth;
using namespace berth::sealed_file;

constexpr size_t whole_chunk = chunk_bytes + tag_bytes;
const std::string key(key_bytes, 'k');

// Encrypts the text in pieces of this size.
std::string seal_all(const std::string& plain, size_t piece) {
  std::string sealed;
  Sealer sealer(key, [&](std::string_view bytes) { sealed += bytes; });
  for (size_t at = 0; at < plain.size(); at += piece)
    sealer.write(std::string_view(plain).substr(at, piece));
  sealer.finish();
  return sealed;
}

std::string open_all(const std::string& sealed, size_t piece, const std::string& with = key) {
  std::string plain;
  Opener opener(with, [&](std::string_view bytes) { plain += bytes; });
  for (size_t at = 0; at < sealed.size(); at += piece)
    opener.write(std::string_view(sealed).substr(at, piece));
  opener.finish();
  return plain;
}

// Returns bytes that differ from chunk to chunk.
std::string sample(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = char(i * 31 + i / chunk_bytes * 7 + i / 251);
  return text;
}

bool opens(const std::string& sealed) {
  try {
    open_all(sealed, whole_chunk);
    return true;
  } catch (const Damaged&) {
    return false;
  }
}

// Generates sizes near the ends of chunks, where mistakes are likely.
rc::Gen<size_t> sizes() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange<size_t>(0, 4), rc::gen::inRange(-3, 4)),
                      [](const std::pair<size_t, int>& size) {
                        const auto bytes = std::int64_t(size.first * chunk_bytes) + size.second;
                        return size_t(std::max<std::int64_t>(0, bytes));
                      });
}

TEST_CASE("what is sealed can be opened, whatever its size and pieces") {
  rc::check([] {
    const std::string plain = sample(*sizes());
    const size_t piece = *rc::gen::inRange<size_t>(1, 3 * chunk_bytes);
    const std::string sealed = seal_all(plain, piece);
    RC_ASSERT(sealed.size() == sealed_size(plain.size()));
    RC_ASSERT(open_all(sealed, *rc::gen::inRange<size_t>(1, 3 * chunk_bytes)) == plain);
  });
}

TEST_CASE("a chunk with a flipped bit can't be opened, and nothing of it is passed on") {
  rc::check([] {
    const std::string plain = sample(*sizes());
    std::string sealed = seal_all(plain, chunk_bytes);
    const size_t at = *rc::gen::inRange<size_t>(0, sealed.size());
    sealed[at] = char(sealed[at] ^ (1 << *rc::gen::inRange(0, 8)));
    std::string opened;
    Opener opener(key, [&](std::string_view bytes) { opened += bytes; });
    const auto open = [&] {
      opener.write(sealed);
      opener.finish();
    };
    RC_ASSERT_THROWS_AS(open(), Damaged);
    RC_ASSERT(opened == plain.substr(0, at / whole_chunk * chunk_bytes));
  });
}

TEST_CASE("a file that was cut off anywhere can't be opened") {
  rc::check([] {
    const std::string sealed = seal_all(sample(*sizes()), chunk_bytes);
    RC_ASSERT(!opens(sealed.substr(0, *rc::gen::inRange<size_t>(0, sealed.size()))));
  });
}

TEST_CASE("a cut at the end of a chunk is reported as one") {
  const std::string sealed = seal_all(sample(3 * chunk_bytes + 5), chunk_bytes);
  for (size_t chunks = 0; chunks <= 3; ++chunks) {
    INFO(chunks);
    CHECK_THROWS_WITH(open_all(sealed.substr(0, chunks * whole_chunk), 1'000'000),
                      "the archive is cut off");
  }
}

TEST_CASE("swapped, duplicated, missing or appended chunks can't be opened") {
  const std::string sealed = seal_all(sample(3 * chunk_bytes + 5), chunk_bytes);
  const std::string a = sealed.substr(0, whole_chunk), b = sealed.substr(whole_chunk, whole_chunk),
                    c = sealed.substr(2 * whole_chunk, whole_chunk),
                    end = sealed.substr(3 * whole_chunk);
  CHECK(opens(a + b + c + end));
  CHECK_FALSE(opens(b + a + c + end));
  CHECK_FALSE(opens(a + a + c + end));
  CHECK_FALSE(opens(a + c + end));
  CHECK_FALSE(opens(a + b + c + end + end));
  CHECK_FALSE(opens(a + b + c + end + a));
  CHECK_FALSE(opens(end));
  CHECK_FALSE(opens(sealed + "x"));
}

TEST_CASE("another key opens nothing") {
  CHECK_THROWS_AS(open_all(seal_all("secret", 6), 100, std::string(key_bytes, 'x')), Damaged);
}

TEST_CASE("the same text is another file each time") {
  const Opening first = new_file("a passphrase"), second = new_file("a passphrase");
  CHECK(first.key != second.key);
  CHECK(first.header != second.header);
  CHECK(first.header.size() == header_bytes);
  CHECK(looks_sealed(first.header));
}

TEST_CASE("a header yields its key only for the passphrase that made it") {
  const Opening file = new_file("correct horse");
  CHECK(key_of("correct horse", file.header) == file.key);
  CHECK_THROWS_AS(key_of("correct horsf", file.header), WrongPassphrase);
  CHECK_THROWS_AS(key_of("", file.header), WrongPassphrase);
}

TEST_CASE("a damaged header is refused before anything expensive is done") {
  const Opening file = new_file("correct horse");
  CHECK_THROWS_AS(key_of("correct horse", file.header.substr(0, 75)), Damaged);
  CHECK_THROWS_AS(key_of("correct horse", "SQLite format 3"), Damaged);
  CHECK_THROWS_AS(key_of("correct horse", ""), Damaged);
  // Numbers that demand more memory, passes or lanes than berth's files have.
  for (const size_t at : {16, 20, 24}) {
    std::string header = file.header;
    header[at] = 1;
    CHECK_THROWS_WITH(key_of("correct horse", header), "the archive's header is damaged");
  }
  // No memory, no passes, or no lanes.
  for (const size_t at : {17, 23, 27}) {
    std::string header = file.header;
    header[at] = 0;
    CHECK_THROWS_WITH(key_of("correct horse", header), "the archive's header is damaged");
  }
  for (const size_t at : {28, 43, 44, 75}) {  // salt and MAC
    std::string header = file.header;
    header[at] = char(header[at] ^ 1);
    CHECK_THROWS_AS(key_of("correct horse", header), WrongPassphrase);
  }
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes += char(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return bytes;
}

// Computed from the header's description with the Python packages argon2-cffi and cryptography, so
// that an archive outlives this code.
TEST_CASE("the format is what its description says") {
  const std::string header = from_hex(
      "62657274682d617263686976652d310a000000400000000100000002000102030405060708090a0b0c0d0e0f"
      "7557ef0e4d618d564848185652fc4d558aadd1050177d24431054c36e2df0234");
  const std::string chunk_key = key_of("correct horse battery", header);
  CHECK(hex(chunk_key) == "7b2f276f3df375bd087deed6c3232f8ef2cb642724a37a63d803ae3fee6c0c3d");
  std::string sealed;
  Sealer sealer(chunk_key, [&](std::string_view bytes) { sealed += bytes; });
  sealer.write(std::string(chunk_bytes, 'A') + "the end");
  sealer.finish();
  CHECK(hex(sha256(sealed.substr(0, whole_chunk))) ==
        "a8831acdb768e9b4599ffe981550eb533f0300ae564d799a7be638ab3b3984c9");
  CHECK(hex(sealed.substr(whole_chunk)) == "873b3bf4f2afa5224594d84f081f40deba7748fc119ed7");
}

}  // namespace
