// What one admin may do alone, and what needs two.
#include "controller/domain/points/proposals.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "controller/domain/kernel/audit.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using proposals::Proposal;
using proposals::Status;

const std::string ada = "user:01936f5e-7c1a-7000-8000-00000000000a";
const std::string eve = "user:01936f5e-7c1a-7000-8000-00000000000b";
const std::string joe = "user:01936f5e-7c1a-7000-8000-00000000000c";
constexpr std::int64_t most_alone = 100;

struct Fixture {
  World world;

  std::optional<Proposal> propose(const std::string& admin, std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return proposals::propose(tx,
                                {.kind = proposals::Kind::claw_back,
                                 .subject_id = "01936f5e-7c1a-7000-8000-000000000007",
                                 .amount = amount,
                                 .reason = "twice"},
                                admin, most_alone);
    });
  }
  Proposal confirm(const std::string& admin, const std::string& id) {
    return world.write([&](db::Tx& tx) { return proposals::confirm(tx, id, admin); });
  }
  std::string refused(const std::string& admin, const std::string& id) {
    return refusal([&] { confirm(admin, id); });
  }
  Proposal reject(const std::string& admin, const std::string& id) {
    return world.write([&](db::Tx& tx) { return proposals::reject(tx, id, admin); });
  }
  std::string audited() {
    std::string all;
    for (const auto& entry :
         world.read([](db::Tx& tx) { return audit::list(tx, {}, {.page = 1, .page_size = 20}); })
             .items)
      if (entry.action.starts_with("points.")) all += entry.action + " " + entry.actor + ", ";
    return all;
  }
};

TEST_CASE("one admin moves so many points on a day, however they are divided") {
  Fixture f;
  CHECK_FALSE(f.propose(ada, 60));
  CHECK_FALSE(f.propose(ada, 40));
  const auto more = f.propose(ada, 1);
  REQUIRE(more);
  CHECK(more->status == Status::open);
  CHECK(more->proposed_by == ada);
  CHECK_FALSE(f.propose(eve, 100));
  CHECK(f.propose(joe, 101));
  f.world.clock.advance(std::chrono::hours(12));  // midnight
  CHECK_FALSE(f.propose(ada, 100));
}

TEST_CASE("those who use the internal secret are one, whatever they call themselves") {
  Fixture f;
  CHECK_FALSE(f.propose("internal", 60));
  CHECK(f.propose("somebody", 60));
}

TEST_CASE("another person confirms a proposal, and both are in the audit log") {
  Fixture f;
  const std::string id = f.propose(ada, 200)->id;
  CHECK(f.refused(ada, id) == "403 forbidden");
  CHECK(f.refused("internal", id) == "403 forbidden");
  CHECK(f.refused(eve, "01936f5e-7c1a-7000-8000-000000000007") == "404 not_found");
  const Proposal confirmed = f.confirm(eve, id);
  CHECK(confirmed.status == Status::confirmed);
  CHECK(confirmed.decided_by == eve);
  CHECK(confirmed.order.amount == 200);
  CHECK(confirmed.order.reason == "twice");
  CHECK(f.refused(joe, id) == "409 invalid_state");
  CHECK(f.audited() == "points.confirm " + eve + ", points.propose " + ada + ", ");
  // What two have done doesn't count for what one may do.
  CHECK_FALSE(f.propose(ada, 100));
  CHECK_FALSE(f.propose(eve, 100));
}

TEST_CASE("what the internal secret has proposed needs two persons") {
  Fixture f;
  const std::string id = f.propose("internal", 200)->id;
  const Proposal first = f.confirm(ada, id);
  CHECK(first.status == Status::open);
  CHECK(first.seconded_by == ada);
  CHECK(f.refused(ada, id) == "403 forbidden");
  CHECK(f.confirm(eve, id).status == Status::confirmed);
}

TEST_CASE("a proposal ends when somebody rejects it, and after 7 days") {
  Fixture f;
  const std::string rejected = f.propose(ada, 200)->id;
  CHECK(f.reject(ada, rejected).status == Status::rejected);
  CHECK(f.refused(eve, rejected) == "409 invalid_state");
  const std::string old = f.propose(ada, 200)->id;
  f.world.clock.advance(proposals::open_for);
  const auto is_due = [&] {
    return f.world.read([](db::Tx& tx) { return proposals::is_anything_due(tx); });
  };
  CHECK_FALSE(is_due());
  f.world.clock.advance(std::chrono::milliseconds(1));
  // The time decides, not the loop.
  CHECK(f.refused(eve, old) == "409 invalid_state");
  CHECK(is_due());
  f.world.write([](db::Tx& tx) { return proposals::tidy(tx, 100); });
  CHECK_FALSE(is_due());
  f.world.read([](db::Tx& tx) {
    CHECK(proposals::list(tx, Status::expired, {}).total == 1);
    CHECK(proposals::list(tx, std::nullopt, {}).total == 2);
    CHECK(proposals::count_open(tx, 10) == 0);
  });
  f.world.clock.advance(proposals::decided_kept_for);
  f.world.write([](db::Tx& tx) { return proposals::tidy(tx, 100); });
  CHECK(f.world.read(
            [](db::Tx& tx) { return tx.number("SELECT count(*) FROM point_proposals"); }) == 0);
}

TEST_CASE("two admins who confirm at once: one of them does") {
  Fixture f;
  for (int i = 0; i < 5; ++i) {
    const std::string id = f.propose(ada, 200)->id;
    std::atomic<int> confirmed = 0;
    std::vector<std::thread> all;
    for (const std::string& admin : {eve, joe})
      all.emplace_back([&, admin] {
        for (std::string ended = "503"; ended.starts_with("503");) {
          ended = f.refused(admin, id);
          if (ended.empty()) ++confirmed;
        }
      });
    for (std::thread& thread : all) thread.join();
    CHECK(confirmed == 1);
  }
}

}  // namespace
