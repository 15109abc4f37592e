#include "controller/base/text.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

namespace {

using namespace berth;

TEST_CASE("characters are counted, not bytes") {
  CHECK(characters("") == 0);
  CHECK(characters("abc") == 3);
  CHECK(characters("Zoë") == 3);
  CHECK(characters("🌱🌱") == 2);
}

TEST_CASE("a text is cut between characters") {
  CHECK(cut("abc", 3) == "abc");
  CHECK(cut("abc", 2) == "ab");
  CHECK(cut("a🌱b", 4) == "a");
  CHECK(cut("a🌱b", 5) == "a🌱");
  CHECK(cut("🌱", 3) == "");
}

TEST_CASE("a cut text is the longest allowed beginning") {
  CHECK(rc::check([] {
    const auto letters = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("a", "ß", "€", "🌱"));
    std::string text;
    for (const auto& letter : letters) text += letter;
    const auto most = *rc::gen::inRange<size_t>(0, 40);
    const std::string kept = cut(text, most);
    RC_ASSERT(text.starts_with(kept));
    RC_ASSERT(kept.size() <= most);
    RC_ASSERT(kept.size() == text.size() || kept.size() + 4 > most);
    // The text is cut between characters, so the characters of both parts add up.
    RC_ASSERT(characters(kept) + characters(text.substr(kept.size())) == characters(text));
    RC_ASSERT(kept.size() == text.size() ||
              (static_cast<unsigned char>(text[kept.size()]) & 0xc0) != 0x80);
  }));
}

TEST_CASE("a port is a number from 1 to 65535") {
  for (const char* port : {"1", "80", "65535"}) CHECK(is_port(port));
  for (const char* other : {"", "0", "65536", "99999999999", "-1", "+1", "8o", " 80", "80 "}) {
    INFO(other);
    CHECK_FALSE(is_port(other));
  }
}

}  // namespace
