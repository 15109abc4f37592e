// The audit log's entries of failed logins: which attempts have one, and that they stay few.
#include "api/gate/failed_logins.h"

#include <catch2/catch.hpp>

#include "controller/domain/kernel/audit.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace std::chrono_literals;

struct Failures {
  berth::test::World world;
  FailedLogins failed;
  const std::string ada = world.verified_user("ada").id;

  void note(const std::string& user_id, const std::string& network,
            SecurityKind kind = SecurityKind::login_failed) {
    failed.note({.kind = kind, .reason = "wrong_password", .user_id = user_id}, network, "login",
                "r");
  }
  int write() { return failed.write(world.db); }
  int attempt(const std::string& user_id, const std::string& network,
              SecurityKind kind = SecurityKind::login_failed) {
    note(user_id, network, kind);
    return write();
  }
  std::vector<audit::Entry> entries(const std::string& action) {
    return world.read([&](db::Tx& tx) {
      return audit::list(tx, {.action = action}, {.page = 1, .page_size = 100}).items;
    });
  }
};

std::string network(int number) { return "192.0.2." + std::to_string(number); }

TEST_CASE("an account has one entry of failed logins for a network in an hour") {
  Failures f;
  for (int i = 0; i < 5; ++i) f.note(f.ada, network(1));
  CHECK(f.entries("login.failed").empty());  // nothing is written during the attempt
  CHECK(f.write() == 1);
  CHECK(f.write() == 0);
  CHECK(f.attempt(f.ada, network(1)) == 0);
  CHECK(f.attempt(f.ada, network(2)) == 1);
  CHECK(f.attempt(f.ada, network(1), SecurityKind::login_throttled) == 1);
  CHECK(f.attempt(f.ada, network(1), SecurityKind::second_factor_failed) == 1);
  f.world.clock.advance(1h - 1ms);
  CHECK(f.attempt(f.ada, network(1)) == 0);
  f.world.clock.advance(1ms);
  CHECK(f.attempt(f.ada, network(1)) == 1);
  CHECK(f.entries("login.failed").size() == 3);
  CHECK(f.entries("login.throttled").size() == 1);
  const auto codes = f.entries("second_factor.failed");
  REQUIRE(codes.size() == 1);
  CHECK(codes[0].actor == "anonymous");
  CHECK(codes[0].user_id == f.ada);
  CHECK(codes[0].target == f.ada);
  CHECK(codes[0].network == network(1));
  CHECK(codes[0].operation == "login");
}

TEST_CASE("attempts on nobody's account, and other events, leave no entry") {
  Failures f;
  CHECK(f.attempt("", network(1)) == 0);
  CHECK(f.attempt("01936f5e-7c1a-7000-8000-000000000001", network(1)) == 0);  // was deleted
  CHECK(f.attempt(f.ada, network(1), SecurityKind::login_succeeded) == 0);
}

TEST_CASE("many networks leave an account few entries in a day") {
  Failures f;
  for (int i = 0; i < 2 * FailedLogins::entries_of_account; ++i) f.note(f.ada, network(i));
  CHECK(f.write() == FailedLogins::entries_of_account);
  CHECK(f.attempt(f.ada, network(200)) == 0);
  const std::string bob = f.world.verified_user("bob").id;
  CHECK(f.attempt(bob, network(200)) == 1);
  f.world.clock.advance(24h + 1s);
  CHECK(f.attempt(f.ada, network(200)) == 1);
}

TEST_CASE("a network that tries many accounts leaves few entries in a day") {
  Failures f;
  for (int i = 0; i <= FailedLogins::entries_of_network; ++i)
    f.note(f.world.verified_user("user" + std::to_string(i)).id, network(1));
  CHECK(f.write() == FailedLogins::entries_of_network);
  CHECK(f.attempt(f.ada, network(1)) == 0);
  CHECK(f.attempt(f.ada, network(2)) == 1);
}

TEST_CASE("all together leave a limited number of entries in a day") {
  Failures f;
  f.world.write([](db::Tx& tx) {
    for (int i = 0; i < FailedLogins::entries_of_all; ++i)
      audit::record(tx, "anonymous", "login.failed", "somebody");
  });
  CHECK(f.attempt(f.ada, network(1)) == 0);
  CHECK(f.attempt(f.ada, network(1), SecurityKind::login_throttled) == 1);
  f.world.clock.advance(24h + 1s);
  CHECK(f.attempt(f.ada, network(1)) == 1);
}

TEST_CASE("no more than a limited number of attempts is in memory") {
  Failures f;
  for (int i = 0; i < int(FailedLogins::most_noted); ++i) f.note("user" + std::to_string(i), "n");
  CHECK(f.attempt(f.ada, network(1)) == 0);  // it was left out, and the others have no account
  CHECK(f.attempt(f.ada, network(1)) == 1);
}

}  // namespace
