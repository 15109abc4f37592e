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
