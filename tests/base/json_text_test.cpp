#include "controller/base/json_text.h"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace {

using namespace berth;
using nlohmann::json;

constexpr const char* name = "set";

// Trees whose texts have quotation marks, backslashes, braces and the member's name in them.
json any_tree(int depth) {
  static const std::vector<std::string> texts = {
      "",  "set",       "a\"b", "a\"set", ",\"set",        "\\",   "{",
      "}", "\"set\":{", "k:{}", "\n",     "\"set\":\"{\"", "\\\"", "\xc3\xa4"};
  const auto text = [] { return *rc::gen::elementOf(texts); };
  switch (*rc::gen::inRange(0, depth > 0 ? 5 : 2)) {
    case 0:
      return text();
    case 1:
      return *rc::gen::inRange(-5, 5);
    case 2: {
      json list = json::array();
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) list.push_back(any_tree(depth - 1));
      return list;
    }
    default: {
      json object = json::object();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) object[text()] = any_tree(depth - 1);
      return object;
    }
  }
}

// What objects_as_texts() does, with the tree instead of the text.
json with_texts(const json& tree) {
  json changed = tree;
  if (!tree.is_structured()) return changed;
  for (const auto& [key, value] : tree.items()) {
    const bool is_text = tree.is_object() && key == name && value.is_object();
    json& one = tree.is_object() ? changed[key] : changed[std::stoul(key)];
    one = is_text ? json(value.dump()) : with_texts(value);
  }
  return changed;
}

TEST_CASE("an object becomes the text of it, and again an object") {
  const std::string text =
      R"({"a":{"set":{"f:x":{"k:{\"n\":\"}\"}":{}}}},"set":{},"z":[{"set":1}]})";
  const std::string changed = objects_as_texts(text, name);
  CHECK(json::parse(changed) == json{{"a", {{"set", R"({"f:x":{"k:{\"n\":\"}\"}":{}}})"}}},
                                     {"set", "{}"},
                                     {"z", {{{"set", 1}}}}});
  CHECK(texts_as_objects(changed, name) == text);
}

TEST_CASE("a text that isn't JSON, or ends too early, stays as it is") {
  for (const char* text : {"", "set", R"({"set":{)", R"({"set":{"a":"}")", R"({"set": {}})"})
    CHECK(objects_as_texts(text, name) == text);
  CHECK(texts_as_objects(R"({"set":"{)", name) == R"({"set":{)");
  CHECK(texts_as_objects(R"({"set":"text"})", name) == R"({"set":"text"})");
}

TEST_CASE("any tree is changed in its members of this name alone, and comes back") {
  rc::prop("objects as texts", [] {
    const json tree = any_tree(4);
    const std::string text = tree.dump();
    const std::string changed = objects_as_texts(text, name);
    RC_ASSERT(json::parse(changed) == with_texts(tree));
    if (text.find(R"("set":"{)") == std::string::npos)
      RC_ASSERT(texts_as_objects(changed, name) == text);
  });
}

}  // namespace
