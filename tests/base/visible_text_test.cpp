#include "controller/base/visible_text.h"

#include <catch2/catch.hpp>
#include <string>

using namespace berth;

TEST_CASE("a text is blank if nothing in it is visible") {
  for (const std::string text : {"", " ", "\t\n", "\u00a0\u3000", "\u200b\u2060 \ufeff", "\u3164",
                                 "\u00ad", "\u200e\u202c", "\u2028", "\ufe0f"})
    CHECK(is_blank(text));
  for (const std::string text : {"a", " .", "\u200bx", "é", "🌱", "傻", "\xff"})
    CHECK_FALSE(is_blank(text));
}

TEST_CASE("control characters and overrides of direction") {
  for (const std::string text :
       {"a\x01", "\x1b[31m", "\x7f", "\r", "a\u0085b", "\u009f", "\u202etihs", "\u202dx"}) {
    CHECK(has_controls(text, Lines::several));
    CHECK(has_controls(text, Lines::one));
  }
  CHECK(has_controls(std::string("a\0b", 3), Lines::several));
  for (const std::string text : {"a\nb", "a\tb", "a\u2028b", "a\u2029b"}) {
    CHECK_FALSE(has_controls(text, Lines::several));
    CHECK(has_controls(text, Lines::one));
  }
  // Texts that mix both directions contain direction marks and isolates.
  for (const std::string text :
       {"", "hello", "שלום\u200f", "\u2067مرحبا\u2069", "👩\u200d💻", "\xff"})
    CHECK_FALSE(has_controls(text, Lines::one));
}

TEST_CASE("bytes that aren't UTF-8, and NULs, are replaced, and everything else stays") {
  for (const std::string text : {"", "hello", "é傻🌱", "\x01\x7f", "\u202e"})
    CHECK(well_formed(text) == text);
  CHECK(well_formed(std::string("a\0b", 3)) == "a\uFFFDb");
  CHECK(well_formed("a\xff\xfe z") == "a\uFFFD\uFFFD z");
  CHECK(well_formed("cut \xf0\x9f\x8c") == "cut \uFFFD");
  CHECK(well_formed("\xc0\xaf").find('/') == std::string::npos);                 // overlong
  CHECK(well_formed("\xed\xa0\x80").find("\xed\xa0\x80") == std::string::npos);  // a surrogate
}

TEST_CASE("bytes are UTF-8, or aren't") {
  for (const std::string text : {"", "hello", "é傻🌱", "\x01\x7f"}) CHECK(is_utf8(text));
  CHECK(is_utf8(std::string("a\0b", 3)));
  for (const std::string text : {"\xff", "\xc3", "a\xa9", "\xc0\xaf", "\xed\xa0\x80"})
    CHECK_FALSE(is_utf8(text));
}
