#include "api/gate/body.h"

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/transport/http.h"

namespace {

using namespace berth;
using namespace berth::api;
using nlohmann::json;

Code refused(const std::string& text) {
  try {
    parse_body(text);
  } catch (const Error& error) {
    return error.code;
  }
  return Code::internal_error;
}

TEST_CASE("what isn't JSON is refused") {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{'a': 1}"), std::string("{\"a\": 1,}"),
        std::string("{} x"), std::string("nul"), std::string("{\"a\": NaN}"), std::string("// {}"),
        std::string("{\"a\": \"\xff\"}"), std::string("\"\xc3\""), std::string("\"\xed\xa0\x80\""),
        std::string("\"\\ud800\""), std::string("{\"a\": 01}"), std::string("{\"a\": 1e400}"),
        std::string("[-1e400]"), std::string("\"\n\""), std::string("{\"a\": 1}\0", 9)}) {
    INFO(text);
    CHECK(refused(text) == Code::invalid_json);
  }
}

TEST_CASE(
    "an object with the same name twice is refused at any depth; two objects with it aren't") {
  for (const char* text :
       {R"({"a": 1, "a": 1})", R"({"a": 1, "b": {}, "a": 2})", R"([{"a": 1, "a": 2}])",
        R"({"b": {"a": 1, "a": 2}})", R"({"a": 1, "\u0061": 2})"}) {
    INFO(text);
    CHECK(refused(text) == Code::invalid_json);
  }
  CHECK_NOTHROW(parse_body(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "A": "a"})"));
}

TEST_CASE("32 levels of nesting are accepted, and 33 aren't") {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK_NOTHROW(parse_body(nested(32)));
  CHECK(refused(nested(33)) == Code::invalid_json);
  CHECK(refused(std::string(500'000, '[')) == Code::invalid_json);
  CHECK(refused(std::string(500'000, '{')) == Code::invalid_json);
  // Brackets inside strings are text, also after an escaped quote.
  CHECK_NOTHROW(parse_body(
      R"(["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["])"));
}

std::string message(const std::string& text) {
  try {
    parse_body(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a body may have max_json_values values and not one more") {
  const auto list_of = [](size_t count, const std::string& item) {
    std::string list = item;
    for (size_t i = 1; i < count; ++i) list += "," + item;
    return "[" + list + "]";
  };
  CHECK(parse_body(list_of(max_json_values - 1, "1")).size() == max_json_values - 1);
  CHECK(refused(list_of(max_json_values, "1")) == Code::invalid_json);
  // Values inside other values count, whatever contains them.
  CHECK_NOTHROW(parse_body(list_of((max_json_values - 1) / 2, "[1]")));
  CHECK(refused(list_of(max_json_values / 2, "[1]")) == Code::invalid_json);
  CHECK(refused(list_of(max_json_values / 2, R"({"a":1})")) == Code::invalid_json);
  // The error is found before the end of the text, which isn't valid.
  CHECK(message(list_of(max_json_values, "1") + "[") == "the body has more than 10000 values");
}

TEST_CASE("values are parsed as they are written") {
  const char* text = R"({"a": [1, -2, 3.5, true, false, null, "x", [], {}], "b": {"c": [[1]]},
                         "large": 18446744073709551615, "": "\u00e9"})";
  CHECK(parse_body(text) == json::parse(text));
  CHECK(parse_body("7") == 7);
  CHECK(parse_body(" \"x\" ") == "x");
}

TEST_CASE("the message about a repeated name contains its beginning only") {
  const std::string name(400'000, 'a');
  const std::string said = message("{\"" + name + "\": 1, \"" + name + "\": 2}");
  CHECK(said.starts_with("aaa"));
  CHECK(said.ends_with(" occurs more than once"));
  CHECK(said.size() < 100);
}

TEST_CASE("a form becomes an object of strings, with few names and each of them once") {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_form_body(text);
    } catch (const Error& error) {
      CHECK(error.code == Code::invalid_request);
      return error.what();
    }
    return "";
  };
  CHECK(parse_form_body("a=1&b=x+y&c=") == json{{"a", "1"}, {"b", "x y"}, {"c", ""}});
  CHECK(refusal("a=%zz") != "");
  CHECK(refusal("a=%ff") == "the form isn't valid UTF-8");
  CHECK(refusal("a=1&b=2&a=3") == "a occurs more than once");
  std::string fields;
  for (size_t i = 0; i < max_form_fields; ++i) fields += "a" + std::to_string(i) + "=&";
  CHECK(parse_form_body(fields).size() == max_form_fields);
  CHECK(refusal(fields + "b=") != "");
  // The error is found before the end of the text, which isn't properly encoded.
  CHECK(refusal(fields + "b=&%") == refusal(fields + "b="));
  const std::string name(400'000, 'a');
  CHECK(refusal(name + "=&" + name + "=").size() < 100);
}

}  // namespace
