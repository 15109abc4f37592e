#include "controller/domain/items/learning.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using learning::Counted;
using learning::Status;

struct School {
  World world;
  accounts::User ada = world.verified_user("ada");
  rewards::Rules rules;

  School() { world.mint(ledger::treasury(), 1'000); }

  learning::Module add(learning::Module module) {
    return world.write([&](db::Tx& tx) { return learning::create(tx, module); });
  }
  // Adds a module of five steps, for 10 points.
  learning::Module add(const std::string& title, std::int64_t min_seconds = 0,
                       const std::optional<std::int64_t>& repeat = {}) {
    return add({.id = {},
                .number = 0,
                .title = title,
                .description = {},
                .total = 5,
                .min_seconds = min_seconds,
                .points = 10,
                .repeat_after_seconds = repeat});
  }
  learning::Report report(std::int64_t number, std::int64_t completed) {
    return world.write([&](db::Tx& tx) {
      return learning::report(tx, rules, {.user_id = ada.id, .app_id = {}}, number, completed);
    });
  }
  std::string refused(std::int64_t number, std::int64_t completed) {
    return refusal([&] { report(number, completed); });
  }
  learning::Progress progress(std::int64_t number) {
    return world.read([&](db::Tx& tx) { return learning::find(tx, ada.id, number); });
  }
  std::int64_t points() { return world.balance(ledger::user_account(ada.id)) - before; }
  std::int64_t before = world.balance(ledger::user_account(ada.id));
};

TEST_CASE("a module is completed step by step, and pays once") {
  School school;
  school.add("First");
  CHECK(school.progress(1).open);
  CHECK_FALSE(school.progress(1).started_at);
  CHECK(school.report(1, 2).progress.completed == 2);
  CHECK(school.report(1, 2).progress.completed == 2);  // may be repeated
  CHECK(school.progress(1).status() == Status::incomplete);
  CHECK(school.points() == 0);
  const auto done = school.report(1, 5);
  CHECK(done.progress.status() == Status::completed);
  CHECK(done.reward.points == 10);
  CHECK(school.points() == 10);
  CHECK(school.report(1, 5).reward.points == 0);
  school.world.clock.advance(24h * 365);
  CHECK(school.report(1, 5).reward.points == 0);
  CHECK(school.points() == 10);
  CHECK(school.world.balance(ledger::treasury()) == 990);
}

TEST_CASE("progress doesn't go back, or beyond the module's steps") {
  School school;
  school.add("First");
  school.report(1, 3);
  CHECK(school.refused(1, 2) == "409 invalid_state");
  CHECK(school.refused(1, 6) == "422 validation_failed");
  CHECK(school.refused(2, 1) == "404 module_not_found");
  CHECK(school.progress(1).completed == 3);
  school.report(1, 5);
  CHECK(school.refused(1, 4) == "409 invalid_state");
}

TEST_CASE("a module opens when all before it are completed") {
  School school;
  for (const char* title : {"First", "Second", "Third"}) school.add(title);
  CHECK_FALSE(school.progress(2).open);
  CHECK(school.refused(2, 0) == "409 invalid_state");
  school.report(1, 4);
  CHECK(school.refused(2, 1) == "409 invalid_state");
  school.report(1, 5);
  CHECK(school.progress(2).open);
  CHECK_FALSE(school.progress(3).open);
  CHECK(school.refused(3, 1) == "409 invalid_state");
  CHECK(school.refused(2, 1) == "");
}

TEST_CASE("a module that isn't active is neither seen nor needed") {
  School school;
  auto first = school.add("First");
  school.add("Second");
  first.active = false;
  school.world.write([&](db::Tx& tx) { learning::update(tx, first); });
  CHECK(school.refused(1, 0) == "404 module_not_found");
  CHECK(school.progress(2).open);
  CHECK(school.world.read(
            [&](db::Tx& tx) { return learning::list(tx, school.ada.id, {}).total; }) == 1);
}

TEST_CASE("steps count from min_seconds after the first report, by berth's clock") {
  School school;
  school.add("First", 60);
  CHECK(school.report(1, 5).counted == Counted::too_early);  // the report also begins the round
  CHECK(school.progress(1).completed == 0);
  CHECK(school.progress(1).counts_from() == school.world.clock.now() + 60s);
  school.world.clock.advance(59s);
  CHECK(school.report(1, 1).counted == Counted::too_early);
  school.world.clock.advance(1s);
  CHECK(school.report(1, 5).counted == Counted::yes);
  CHECK(school.progress(1).status() == Status::completed);
  CHECK(school.points() == 10);
}

TEST_CASE("from repeat_eligible_at on, a module can be done again and is paid again") {
  School school;
  school.add("First", 10, 3'600);
  school.add("Second");
  school.report(1, 0);
  school.world.clock.advance(10s);
  school.report(1, 5);
  CHECK(school.progress(1).repeat_eligible_at == school.world.clock.now() + 1h);
  school.world.clock.advance(1h - 1s);
  CHECK(school.report(1, 5).reward.points == 0);
  CHECK(school.refused(1, 0) == "409 invalid_state");
  school.world.clock.advance(1s);
  CHECK(school.progress(1).status() == Status::completed);  // until the next round begins
  CHECK(school.report(1, 5).counted == Counted::too_early);
  CHECK(school.progress(1).status() == Status::incomplete);
  CHECK_FALSE(school.progress(1).repeat_eligible_at);
  CHECK(school.progress(2).open);  // it stays open
  CHECK(school.points() == 10);
  school.world.clock.advance(10s);
  CHECK(school.report(1, 5).reward.points == 10);
  CHECK(school.points() == 20);
}

TEST_CASE("a module is completed whether or not its reward can be paid") {
  School school;
  school.add("First");
  school.add("Second");
  school.add("Third");
  school.rules.user_daily = 15;
  CHECK(school.report(1, 5).reward.refusal == rewards::Refusal::none);
  CHECK(school.report(2, 5).reward.refusal == rewards::Refusal::user_cap);
  CHECK(school.progress(2).status() == Status::completed);
  CHECK(school.progress(3).open);
  CHECK(school.points() == 10);
  school.ada = school.world.new_user("bob");  // a user whose address isn't verified
  CHECK(school.report(1, 5).reward.refusal == rewards::Refusal::email_not_verified);
}

TEST_CASE("rewards in an app count for its owner's limit") {
  School school;
  school.add("First");
  const auto owner = school.world.verified_user("owner");
  const auto app = school.world.new_app(owner).app;
  school.rules.owner_daily = 9;
  const auto report = school.world.write([&](db::Tx& tx) {
    return learning::report(tx, school.rules, {.user_id = school.ada.id, .app_id = app.id}, 1, 5);
  });
  CHECK(report.reward.refusal == rewards::Refusal::owner_cap);
}

TEST_CASE("many simultaneous reports pay once") {
  School school;
  school.add("First");
  std::atomic<std::int64_t> paid = 0;
  std::vector<std::thread> reporters;
  for (int i = 0; i < 12; ++i)
    reporters.emplace_back([&] { paid += school.report(1, 5).reward.points; });
  for (auto& reporter : reporters) reporter.join();
  CHECK(paid == 10);
  CHECK(school.points() == 10);
}

TEST_CASE("modules have unique numbers") {
  School school;
  CHECK(school.add("First").number == 1);
  CHECK(school.add({.id = {}, .number = 7, .title = "Seventh", .description = {}}).number == 7);
  CHECK(school.add("Eighth").number == 8);
  CHECK(refusal([&] { school.add({.id = {}, .number = 7, .title = "Also", .description = {}}); }) ==
        "422 validation_failed");
  auto eighth = school.world.read([&](db::Tx& tx) { return learning::list_all(tx, {}); }).items[2];
  eighth.number = 1;
  CHECK(refusal([&] { school.world.write([&](db::Tx& tx) { learning::update(tx, eighth); }); }) ==
        "422 validation_failed");
  CHECK(refusal([&] {
          school.world.read([&](db::Tx& tx) { learning::get(tx, school.ada.id); });
        }) == "404 module_not_found");
}

TEST_CASE("removing steps as an admin doesn't undo a completion") {
  School school;
  auto first = school.add("First");
  school.add("Second");
  school.report(1, 4);
  first.total = 3;
  school.world.write([&](db::Tx& tx) { learning::update(tx, first); });
  CHECK(school.progress(1).completed == 3);
  CHECK(school.report(1, 3).progress.status() == Status::completed);
  first.total = 9;
  school.world.write([&](db::Tx& tx) { learning::update(tx, first); });
  CHECK(school.progress(1).status() == Status::completed);
  CHECK(school.progress(2).open);
}

TEST_CASE("a learning path has a name and a state") {
  School school;
  using learning::PathStatus;
  const auto path = [&] {
    return school.world.read([&](db::Tx& tx) { return learning::path(tx, school.ada.id); });
  };
  CHECK(path().name == learning::default_path);
  CHECK(path().status == PathStatus::not_started);
  school.add("First");
  school.add("Second");
  CHECK(school.world
            .write([&](db::Tx& tx) { return learning::choose_path(tx, school.ada.id, "builder"); })
            .name == "builder");
  CHECK(path().name == "builder");
  school.report(1, 0);
  CHECK(path().status == PathStatus::in_progress);
  school.report(1, 5);
  CHECK(path().status == PathStatus::in_progress);
  school.report(2, 5);
  CHECK(path().status == PathStatus::completed);
  school.world.write(
      [&](db::Tx& tx) { accounts::delete_account(tx, school.ada, school.world.keys); });
  CHECK(path().name == learning::default_path);
  CHECK(path().status == PathStatus::not_started);
}

}  // namespace
