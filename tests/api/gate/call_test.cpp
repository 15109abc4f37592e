#include "api/gate/call.h"

#include <catch2/catch.hpp>

using namespace berth;
using namespace berth::api;

TEST_CASE("a handler reads the placeholders of its path, and no others") {
  const Request request = {};
  const Call call = {.http = request, .route = nullptr, .path = {{"id", "7"}, {"app_id", "8"}}};
  CHECK(call.id() == "7");
  CHECK(call.id("app_id") == "8");
  CHECK_THROWS_WITH(call.id("user_id"), "the route's path has no placeholder user_id");
  CHECK_THROWS_AS(call.id("user_id"), std::logic_error);
}
