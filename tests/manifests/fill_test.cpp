#include "manifests/fill.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/base/yaml.h"

using berth::manifests::fill_in;
using nlohmann::json;

TEST_CASE("a placeholder on its own becomes the value with its type") {
  const json tree = berth::parse_yaml("{port: $(port), names: $(names), on: $(on)}", "test");
  const json filled = fill_in(tree, {{"port", 80}, {"names", {"a", "b"}}, {"on", false}}, "test");
  CHECK(filled == json({{"port", 80}, {"names", {"a", "b"}}, {"on", false}}));
}

TEST_CASE("a placeholder within a text is filled in as text") {
  const json tree = {{"host", "$(name).apps.example"}, {"both", "$(name):$(port)"}};
  const json filled = fill_in(tree, {{"name", "shop"}, {"port", 80}}, "test");
  CHECK(filled == json({{"host", "shop.apps.example"}, {"both", "shop:80"}}));
}

TEST_CASE("an entry whose value is null is left out") {
  const json tree = {{"a", "$(a)"}, {"list", {"$(a)", "b"}}};
  CHECK(fill_in(tree, {{"a", nullptr}}, "test") == json({{"list", {"b"}}}));
}

TEST_CASE("a null of the template itself stays") {
  CHECK(fill_in({{"emptyDir", nullptr}}, {}, "test") == json({{"emptyDir", nullptr}}));
}

TEST_CASE("templates and values must agree") {
  CHECK_THROWS_WITH(fill_in({{"a", "$(a)"}}, {}, "some.yaml"),
                    "some.yaml asks for $(a), which has no value");
  CHECK_THROWS_WITH(fill_in(json::object(), {{"a", 1}}, "some.yaml"),
                    "some.yaml has no placeholder $(a)");
  CHECK_THROWS_AS(fill_in({{"a", "x$(a)"}}, {{"a", {1, 2}}}, "some.yaml"), std::logic_error);
  CHECK_THROWS_AS(fill_in({{"a", "$(a"}}, {{"a", 1}}, "some.yaml"), std::logic_error);
}

TEST_CASE("no value can change the shape of an object or be taken for a placeholder") {
  CHECK(rc::check([](const std::string& value) {
    const json tree = {{"alone", "$(v)"}, {"within", "<$(v)>"}, {"list", {"$(v)"}}};
    const json filled = fill_in(tree, {{"v", value}}, "test");
    RC_ASSERT(filled == json({{"alone", value}, {"within", "<" + value + ">"}, {"list", {value}}}));
  }));
  const json filled = fill_in({{"a", "$(a)"}}, {{"a", "$(b)"}}, "test");
  CHECK(filled == json({{"a", "$(b)"}}));
}
