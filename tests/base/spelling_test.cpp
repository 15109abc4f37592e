#include "controller/base/spelling.h"

#include <catch2/catch.hpp>

using berth::nearest_spelling;

TEST_CASE("a misspelt name has a nearest one") {
  const std::vector<std::string> names = {"listen", "metrics-listen", "tiers", "ads"};
  CHECK(nearest_spelling("listne", names) == "listen");
  CHECK(nearest_spelling("lisen", names) == "listen");
  CHECK(nearest_spelling("metricslisten", names) == "metrics-listen");
  CHECK(nearest_spelling("tier", names) == "tiers");
  CHECK(nearest_spelling("ad", names) == "ads");
  CHECK(nearest_spelling("listen", names) == "listen");
}

TEST_CASE("a name that is like no other has none") {
  const std::vector<std::string> names = {"listen", "tiers", "ads", std::string(64, 'x')};
  CHECK(!nearest_spelling("database", names));
  CHECK(!nearest_spelling("", names));
  CHECK(!nearest_spelling("xy", names));
  CHECK(!nearest_spelling(std::string(65, 'x'), names));
  CHECK(!nearest_spelling("listen", {}));
}
