#include "controller/base/error.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

namespace {

using namespace berth;

TEST_CASE("each code has one row, with a status of HTTP and a sentence") {
  std::set<Code> seen;
  for (const CodeInfo& row : all_codes()) {
    INFO(row.name);
    CHECK(seen.insert(row.code).second);
    CHECK(&info(row.code) == &row);
    CHECK(row.status >= 400);
    CHECK(row.status < 600);
    CHECK_FALSE(row.name.empty());
    CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(row.meaning.ends_with('.'));
  }
}

// A consumed refresh token gives invalid_grant with the status 401. Every other name has one
// status.
TEST_CASE("names are unique, except for invalid_grant") {
  std::map<std::string_view, int> rows;
  for (const CodeInfo& row : all_codes()) ++rows[row.name];
  for (const auto& [name, count] : rows) {
    INFO(name);
    CHECK(count == (name == "invalid_grant" ? 2 : 1));
  }
}

TEST_CASE("the codes have the statuses of the specification") {
  CHECK(status(Code::malformed_request) == 400);
  CHECK(status(Code::invalid_token) == 401);
  CHECK(status(Code::consumed_refresh_token) == 401);
  CHECK(status(Code::insufficient_scope) == 403);
  CHECK(status(Code::deployment_not_found) == 404);
  CHECK(status(Code::subdomain_taken) == 409);
  CHECK(status(Code::validation_failed) == 422);
  CHECK(status(Code::deployment_destroyed) == 422);
  CHECK(status(Code::deployment_limit_reached) == 429);
  CHECK(status(Code::unavailable) == 503);
}

TEST_CASE("a refused field is named in message and details") {
  const Error error = invalid_field("name", "is too long");
  CHECK(error.code == Code::validation_failed);
  CHECK(std::string(error.what()) == "name is too long");
  CHECK(error.details == Details{{"name", {"is too long"}}});
}

}  // namespace
