// What users ask to get back, and how it ends.
#include "controller/domain/points/refund_requests.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/webhooks/webhooks.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using refund_requests::Request;
using refund_requests::Status;

struct Fixture {
  World world;
  rewards::Rules rules;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::profile_read, Scope::points_spend});
  accounts::User bob = world.verified_user("bob");

  Fixture() { world.mint(ledger::user_account(bob.id), 1'000); }
  ~Fixture() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }

  std::string spend(std::int64_t points) {
    const auto caller = world.check(world.tokens(app, bob, "points:spend").access_token);
    return world.write([&](db::Tx& tx) {
      return points::spend(tx,
                           {.grant_id = caller.grant_id,
                            .user_id = caller.user_id,
                            .app_id = caller.app_id,
                            .amount = points,
                            .description = "a hat"},
                           rules)
          .id;
    });
  }
  Request ask(const std::string& spend_id, std::optional<std::int64_t> amount = {}) {
    return world.write([&](db::Tx& tx) {
      return refund_requests::ask_for_spend(tx, bob, spend_id, amount, "it broke", world.keys);
    });
  }
  Request approve(const std::string& id, std::optional<std::int64_t> amount = {}) {
    return world.write([&](db::Tx& tx) {
      return refund_requests::approve_spend(tx, refund_requests::get_of_app(tx, app.id, id),
                                            {.amount = amount, .note = "sorry"}, world.keys);
    });
  }
  Request reject(const std::string& id) {
    return world.write([&](db::Tx& tx) {
      return refund_requests::reject(tx, refund_requests::get(tx, id), {}, world.keys);
    });
  }
  Request withdraw(const accounts::User& user, const std::string& id) {
    return world.write([&](db::Tx& tx) { return refund_requests::withdraw(tx, user.id, id); });
  }
  Status status_of(const std::string& id) {
    return world.read([&](db::Tx& tx) { return refund_requests::get(tx, id).status; });
  }
  void tidy() {
    world.write([&](db::Tx& tx) { return refund_requests::tidy(tx, world.keys, 100); });
  }
  std::int64_t points() { return world.balance(ledger::user_account(bob.id)); }
  std::int64_t rows() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM refund_requests"); });
  }
  // The subjects of the letters to the user, the newest first.
  std::vector<std::string> letters_to(const accounts::User& user) {
    std::vector<std::string> subjects;
    for (const auto& mail :
         world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
      if (mail.to == user.email && mail.subject.find("points back") != std::string::npos)
        subjects.push_back(mail.subject);
    return subjects;
  }
  std::string events() {
    return world.read([&](db::Tx& tx) {
      std::string all;
      auto rows =
          tx.query("SELECT type, data FROM app_events WHERE type LIKE 'refund.%' ORDER BY id");
      while (rows.next())
        all += rows.text("type") + " " +
               nlohmann::json::parse(rows.text("data")).at("status").get<std::string>() + ", ";
      return all;
    });
  }
};

TEST_CASE("an approved request gives the points back, and both sides hear of it") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    webhooks::create(tx, f.app.id, "https://game.example.org/hook",
                     {"refund.requested", "refund.answered"}, webhooks::Schemes::only_https,
                     f.world.keys.data);
  });
  const std::string spend = f.spend(60);
  const Request asked = f.ask(spend);
  CHECK(asked.status == Status::open);
  CHECK(asked.amount == 60);  // all of it
  CHECK(f.points() == 940);
  CHECK(f.letters_to(f.ada).size() == 1);
  const Request closed = f.approve(asked.id, 50);
  CHECK(closed.status == Status::approved);
  CHECK(closed.refunded == 50);
  CHECK(closed.note == "sorry");
  CHECK(closed.answered_by == points::Initiator::owner);
  CHECK(f.points() == 990);
  CHECK(f.letters_to(f.bob).size() == 1);
  CHECK(f.events() == "refund.requested open, refund.answered approved, ");
  CHECK(refusal([&] { f.approve(asked.id); }) == "409 invalid_state");
  CHECK(f.points() == 990);
}

TEST_CASE("a rejected request gives nothing back") {
  Fixture f;
  const Request asked = f.ask(f.spend(60), 10);
  CHECK(f.reject(asked.id).status == Status::rejected);
  CHECK(f.points() == 940);
  CHECK(f.letters_to(f.bob).size() == 1);
  CHECK(refusal([&] { f.withdraw(f.bob, asked.id); }) == "409 invalid_state");
}

TEST_CASE("a user asks only for what is left of a spend of their own, within its time") {
  Fixture f;
  const std::string spend = f.spend(60);
  CHECK(refusal([&] { f.ask(spend, 61); }) == "422 refund_exceeds_spend");
  CHECK(refusal([&] { f.ask("01936f5e-7c1a-7000-8000-000000000007"); }) == "404 not_found");
  const accounts::User carol = f.world.verified_user("carol");
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) {
            refund_requests::ask_for_spend(tx, carol, spend, {}, "mine", f.world.keys);
          });
        }) == "404 not_found");
  f.world.clock.advance(points::refundable_for);
  const Request asked = f.ask(spend);
  f.withdraw(f.bob, asked.id);
  f.world.clock.advance(std::chrono::milliseconds(1));
  CHECK(refusal([&] { f.ask(spend); }) == "409 invalid_state");
}

TEST_CASE("a request that was made in time can be approved after the spend's time is over") {
  Fixture f;
  const std::string spend = f.spend(60);
  f.world.clock.advance(points::refundable_for);
  const Request asked = f.ask(spend);
  f.world.clock.advance(std::chrono::days(29));
  CHECK(f.approve(asked.id).status == Status::approved);
  CHECK(f.points() == 1'000);
}

TEST_CASE("a spend has one open request, and three altogether") {
  Fixture f;
  const std::string spend = f.spend(60);
  for (int i = 0; i < refund_requests::max_per_subject; ++i) {
    const Request asked = f.ask(spend);
    CHECK(refusal([&] { f.ask(spend); }) == "409 invalid_state");
    f.withdraw(f.bob, asked.id);
  }
  CHECK(refusal([&] { f.ask(spend); }) == "409 invalid_state");
  CHECK(f.rows() == refund_requests::max_per_subject);
}

TEST_CASE("a user asks ten times on a day, and an app's owner gets one letter") {
  Fixture f;
  for (int i = 0; i < refund_requests::max_per_day; ++i) f.ask(f.spend(1));
  const std::string one_more = f.spend(1);
  CHECK(refusal([&] { f.ask(one_more); }) == "429 rate_limited");
  CHECK(f.letters_to(f.ada).size() == 1);
  f.world.clock.advance(refund_requests::letter_after);
  CHECK(f.ask(one_more).status == Status::open);
  CHECK(f.letters_to(f.ada).size() == 2);
}

TEST_CASE("only who asked withdraws, and a withdrawn request isn't approved") {
  Fixture f;
  const Request asked = f.ask(f.spend(60));
  CHECK(refusal([&] { f.withdraw(f.ada, asked.id); }) == "404 not_found");
  CHECK(f.withdraw(f.bob, asked.id).status == Status::withdrawn);
  CHECK(refusal([&] { f.approve(asked.id); }) == "409 invalid_state");
  CHECK(f.points() == 940);
  const apps::App other = f.world.approved_app(f.bob, {Scope::points_spend});
  CHECK(refusal([&] {
          f.world.read(
              [&](db::Tx& tx) { return refund_requests::get_of_app(tx, other.id, asked.id); });
        }) == "404 not_found");
}

TEST_CASE("an approval and a withdrawal at once: one of them happens") {
  Fixture f;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = f.points();
    const Request asked = f.ask(f.spend(10));
    std::atomic<int> done = 0;
    const auto race = [&](auto work) {
      // A store with many writers may refuse one that was overtaken too often; callers try again.
      for (std::string ended = "503"; ended.starts_with("503");) {
        ended = refusal(work);
        if (ended.empty()) ++done;
      }
    };
    std::thread approving([&] { race([&] { f.approve(asked.id); }); });
    std::thread withdrawing([&] { race([&] { f.withdraw(f.bob, asked.id); }); });
    approving.join();
    withdrawing.join();
    CHECK(done == 1);
    const bool is_approved = f.status_of(asked.id) == Status::approved;
    CHECK(f.points() == (is_approved ? before : before - 10));
  }
}

TEST_CASE("a refund without an answer closes the request for the spend") {
  Fixture f;
  const std::string spend = f.spend(60);
  const Request asked = f.ask(spend);
  f.world.write([&](db::Tx& tx) {
    const auto made = points::refund(
        tx, {.spend_id = spend, .amount = 20, .reason = "sold out", .app_id = f.app.id});
    refund_requests::answered_by_refund(tx,
                                        {.subject = refund_requests::Subject::spend,
                                         .subject_id = made.spend_id,
                                         .amount = made.amount,
                                         .by = points::Initiator::owner},
                                        f.world.keys);
  });
  const Request closed =
      f.world.read([&](db::Tx& tx) { return refund_requests::get(tx, asked.id); });
  CHECK(closed.status == Status::approved);
  CHECK(closed.refunded == 20);
  CHECK(f.points() == 960);
}

TEST_CASE("an approval that the app can't pay leaves the request open") {
  Fixture f;
  const Request asked = f.ask(f.spend(60));
  f.world.write([&](db::Tx& tx) {
    REQUIRE(ledger::post(tx, {.kind = "test",
                              .from = ledger::app_account(f.app.id),
                              .to = ledger::treasury(),
                              .amount = 60,
                              .memo = ""}));
  });
  CHECK(refusal([&] { f.approve(asked.id); }) == "422 insufficient_balance");
  CHECK(f.status_of(asked.id) == Status::open);
  CHECK(refusal([&] { f.approve(asked.id, 61); }) == "422 validation_failed");
}

TEST_CASE("a request that nobody answers is closed after 30 days, and removed after 400 more") {
  Fixture f;
  const Request asked = f.ask(f.spend(60));
  const auto is_due = [&] {
    return f.world.read([](db::Tx& tx) { return refund_requests::is_anything_due(tx); });
  };
  f.world.clock.advance(refund_requests::open_for - std::chrono::milliseconds(1));
  CHECK_FALSE(is_due());
  f.world.clock.advance(std::chrono::milliseconds(1));
  CHECK(is_due());
  f.tidy();
  CHECK(f.status_of(asked.id) == Status::expired);
  CHECK(f.events() == "refund.requested open, refund.answered expired, ");
  CHECK(f.letters_to(f.bob).size() == 1);
  CHECK_FALSE(is_due());
  f.world.clock.advance(refund_requests::closed_kept_for);
  CHECK(is_due());
  f.tidy();
  CHECK(f.rows() == 0);
}

TEST_CASE("each side sees its own requests") {
  Fixture f;
  const Request asked = f.ask(f.spend(60));
  f.ask(f.spend(5));
  f.reject(asked.id);
  f.world.read([&](db::Tx& tx) {
    CHECK(refund_requests::list_of_user(tx, f.bob.id, {}).total == 2);
    CHECK(refund_requests::list_of_user(tx, f.ada.id, {}).total == 0);
    CHECK(refund_requests::list_of_app(tx, f.app.id, std::nullopt, {}).total == 2);
    const auto open = refund_requests::list_of_app(tx, f.app.id, Status::open, {});
    REQUIRE(open.items.size() == 1);
    CHECK(open.items[0].amount == 5);
    CHECK(refund_requests::list_all(tx, Status::rejected, {}).total == 1);
    CHECK(refund_requests::list_all(tx, std::nullopt, {}).items.at(0).amount == 5);
    CHECK(refund_requests::count_open(tx, 10) == 1);
  });
}

}  // namespace
