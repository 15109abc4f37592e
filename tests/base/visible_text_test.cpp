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

TEST_CASE("what a stranger's program says of itself is stored without controls") {
  CHECK(without_controls("berth/1.0 (Linux)") == "berth/1.0 (Linux)");
  CHECK(without_controls("a\x1b[2Jb\u202ec\n\xff") == "a\uFFFD[2Jb\uFFFDc\uFFFD\uFFFD");
  CHECK(without_controls(std::string("a\0b", 3)) == "a\uFFFDb");
}

TEST_CASE("bytes are UTF-8, or aren't") {
  for (const std::string text : {"", "hello", "é傻🌱", "\x01\x7f"}) CHECK(is_utf8(text));
  CHECK(is_utf8(std::string("a\0b", 3)));
  for (const std::string text : {"\xff", "\xc3", "a\xa9", "\xc0\xaf", "\xed\xa0\x80"})
    CHECK_FALSE(is_utf8(text));
}

TEST_CASE("what others read is visible and has no controls or piles of marks") {
  for (const std::string text : {"", "a", "a line", "é傻🌱", "שלום", "👩\u200d💻", "z\u0301\u0302"})
    CHECK_FALSE(refusal_of_text(text, Lines::one));
  for (const std::string text : {" ", "\u200b", "a\nb", "\u202egnol", "\x1b[2J", "a\x07"})
    CHECK(refusal_of_text(text, Lines::one));
  CHECK(refusal_of_text(std::string("a\0b", 3), Lines::one));
  CHECK_FALSE(refusal_of_text("a\nb", Lines::several));
  CHECK(refusal_of_text("a\rb", Lines::several));
  CHECK(refusal_of_text("\n\n", Lines::several));
  std::string pile = "a";
  for (int i = 0; i < max_marks; ++i) pile += "\u0301";
  CHECK_FALSE(refusal_of_text(pile, Lines::one));
  CHECK(refusal_of_text(pile + "\u0301", Lines::one));
}

TEST_CASE("texts that look the same are composed to the same bytes") {
  CHECK(composed("plain") == "plain");
  CHECK(composed("bu\u0308cher") == "bücher");
  CHECK(composed("bücher") == "bücher");
  CHECK(composed("a\u0323\u0307") == composed("a\u0307\u0323"));
  CHECK(composed("a\r\nb\r\n", Lines::several) == "a\nb\n");
  CHECK(composed("a\r\nb", Lines::one) == "a\r\nb");
  // A megabyte of marks in the worst order stays as it is, and costs no sorting.
  std::string pile = "a";
  for (int i = 0; i < 250'000; ++i) pile += i % 2 == 0 ? "\u0301" : "\u0323";
  CHECK(composed(pile) == pile);
}
