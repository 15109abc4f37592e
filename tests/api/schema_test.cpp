#include "api/gate/schema.h"

#include <catch2/catch.hpp>

#include "api/gate/validator.h"

namespace {

using namespace berth::api;
using nlohmann::json;

TEST_CASE("a schema with a keyword that isn't checked keeps berthd from starting") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      check_schema(json::parse(text), "Test");
      return "";
    } catch (const std::logic_error& mistake) {
      return mistake.what();
    }
  };
  CHECK(refusal(
            R"({"type": "object", "properties": {"a": {"type": "string", "description": "x"}}})") ==
        "");
  CHECK(refusal(R"({"type": "string", "minLenght": 3})").find("unknown keyword minLenght") !=
        std::string::npos);
  CHECK(refusal(R"({"properties": {"a": {"description": "x", "if": {}}}})").find("Test.a") !=
        std::string::npos);
  CHECK(refusal(R"({"items": {"oneOf": []}})").find("Test[]") != std::string::npos);
  CHECK(refusal(R"({"additionalProperties": {"nope": 1}})").find("Test.*") != std::string::npos);
  CHECK(refusal(R"({"anyOf": [{"nope": 1}]})") != "");
  CHECK(refusal(R"({"type": "string", "format": "ipv7"})").find("unknown format") !=
        std::string::npos);
  CHECK(refusal(R"({"properties": {"a": {"type": "string"}}})").find("no description") !=
        std::string::npos);
  CHECK(refusal(R"({"type": "text"})").find("unknown type text") != std::string::npos);
  CHECK(refusal(R"({"type": ["string", "nil"]})").find("unknown type nil") != std::string::npos);
  CHECK(refusal("[]") != "");
}

TEST_CASE("a request schema with an unbounded list or map keeps berthd from starting") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      check_sizes(json::parse(text), "Test");
      return "";
    } catch (const std::logic_error& mistake) {
      return mistake.what();
    }
  };
  CHECK(refusal(R"({"type": "object", "properties": {"a": {"type": "string"}}})") == "");
  CHECK(refusal(R"({"type": "array", "maxItems": 2, "items": {"type": "string"}})") == "");
  CHECK(refusal(R"({"type": "object", "maxProperties": 2})") == "");
  CHECK(refusal(R"({"type": "object", "properties": {"a": {"type": ["array", "null"]}}})")
            .find("Test.a: is an array without maxItems") != std::string::npos);
  CHECK(refusal(R"({"type": "array", "maxItems": 2, "items": {"type": "object"}})")
            .find("Test[]: is a map without maxProperties") != std::string::npos);
  CHECK(refusal(R"({"type": "object", "properties": {"a": {"type": "integer"}},
                    "additionalProperties": {"type": "integer"}})")
            .find("Test: is a map") != std::string::npos);
  CHECK(refusal(R"({"type": "object", "maxProperties": 1,
                    "additionalProperties": {"type": "array"}})")
            .find("Test.*") != std::string::npos);
}

TEST_CASE("an unknown schema is a programming error") {
  CHECK_THROWS_AS(Validator("Nothing"), std::logic_error);
}

TEST_CASE("every schema can be compiled") {
  for (const auto& [name, schema] : all_schemas().items()) {
    INFO(name);
    CHECK_NOTHROW(Validator(name));
  }
}

}  // namespace
