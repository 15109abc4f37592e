#include "controller/base/enum_text.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace {

enum class Door { open, closed, locked };
constexpr auto texts_of(Door) {
  return berth::EnumTexts<Door::locked>{"open", "closed", "locked-up"};
}

using berth::alternatives;
using berth::parse_enum;
using berth::to_string;

TEST_CASE("each value of an enum is parsed as it is written") {
  for (const Door door : {Door::open, Door::closed, Door::locked})
    CHECK(parse_enum<Door>(to_string(door)) == door);
  CHECK(to_string(Door::locked) == "locked-up");
  CHECK(to_string(std::optional(Door::closed)) == "closed");
  CHECK_FALSE(to_string(std::optional<Door>()));
}

TEST_CASE("a text that no value of an enum has isn't parsed") {
  for (const char* text : {"", "locked", "Open", "open ", "clos"}) {
    INFO(text);
    CHECK_FALSE(parse_enum<Door>(text));
  }
}

TEST_CASE("the texts of an enum are listed as in a sentence") {
  CHECK(alternatives<Door>() == "open, closed or locked-up");
}

TEST_CASE("an enum is a text in JSON") {
  const nlohmann::json json = {{"door", Door::locked}};
  CHECK(json.dump() == R"({"door":"locked-up"})");
  CHECK(json.at("door").get<Door>() == Door::locked);
  CHECK(json.value("window", Door::closed) == Door::closed);
  CHECK_THROWS_AS(nlohmann::json("ajar").get<Door>(), std::invalid_argument);
}

}  // namespace
