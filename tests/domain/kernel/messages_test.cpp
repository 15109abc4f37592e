#include "controller/domain/kernel/messages.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using messages::reason;
using messages::say;

TEST_CASE("a text is said in the language, with its values") {
  CHECK(say(Language::en, "Hello {name},", {{"name", "ada"}}) == "Hello ada,");
  CHECK(say(Language::de, "Hello {name},", {{"name", "ada"}}) == "Hallo ada,");
  CHECK(say(Language::de, "Log in") == "Anmelden");
  CHECK(say(Language::de, "nobody has this text") == "nobody has this text");
}

TEST_CASE("what a value contains isn't replaced") {
  CHECK(say(Language::en, "{a} {b}", {{"a", "{b}"}, {"b", "{a}"}}) == "{b} {a}");
  CHECK(say(Language::en, "{{email}} { {a", {{"a", "x"}, {"email", "y"}}) == "{y} { {a");
}

TEST_CASE("reasons of errors are said in the language, with the value in them") {
  CHECK(reason(Language::en, "whatever it is") == "whatever it is");
  CHECK(reason(Language::de, "has already been taken") == "Das ist schon vergeben");
  CHECK(reason(Language::de, "there is no tier gold") == "Die Stufe gold gibt es nicht");
  CHECK_FALSE(reason(Language::de, "whatever it is"));
  // A value that is a reason itself, with one in it.
  const auto password =
      reason(Language::de,
             "is a date with little added, which is easy to guess; choose a longer "
             "phrase of several words that don't belong together");
  REQUIRE(password);
  CHECK(password->find("ein Datum mit kleinen Ergänzungen") != std::string::npos);
}

TEST_CASE("fields have names where the reasons don't name them") {
  CHECK(messages::field(Language::de, "username") == "Benutzername");
  CHECK_FALSE(messages::field(Language::de, "unknown"));
  CHECK_FALSE(messages::field(Language::en, "username"));
}

}  // namespace
