#include "controller/domain/ads/campaigns.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/domain/ledger/holds.h"
#include "controller/domain/webhooks/webhooks.h"
#include "tests/domain/ads/ads_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Payment {
  std::int64_t payment, budget;
};

TEST_CASE("campaigns: nine of ten points are the budget, rounded down; the rest is rake") {
  const Payment given = GENERATE(Payment{9, 8}, Payment{10, 9}, Payment{11, 9}, Payment{1'005, 904},
                                 Payment{ledger::max_points, 8'106'479'329'266'891});
  AdsWorld w;
  // All existing points together can't exceed max_points.
  const std::int64_t others = -w.world.balance(ledger::issuance());
  const std::int64_t payment = std::min(given.payment, ledger::max_points - others);
  w.fund(w.brand, payment);
  const std::int64_t treasury = w.world.balance(ledger::treasury());
  const auto campaign = w.create(w.brand, AdsWorld::order(payment, 1));
  CHECK(campaigns::budget_of(given.payment) == given.budget);
  CHECK(campaign.budget == campaigns::budget_of(payment));
  CHECK(campaign.remaining == campaign.budget);
  CHECK(campaign.rake == payment - campaign.budget);
  CHECK(campaign.total_payment == payment);
  CHECK(campaign.status == campaigns::Status::active);
  CHECK(w.points(w.brand) == 0);
  CHECK(w.world.balance(ledger::treasury()) == treasury + campaign.rake);
  w.audit();
  CHECK(w.cancel(campaign.id).refunded == campaign.budget);
  CHECK(w.points(w.brand) == campaign.budget);
}

TEST_CASE("campaigns: one that can't pay for an impression, or can't be paid, is refused") {
  AdsWorld w;
  w.fund(w.brand, 100);
  const auto refused = [&](const campaigns::Order& order) {
    return refusal([&] { w.create(w.brand, order); });
  };
  CHECK(refused(AdsWorld::order(1, 1)) == "422 validation_failed");  // the budget would be 0
  CHECK(refused(AdsWorld::order(11, 10)) == "422 validation_failed");
  CHECK(refused(AdsWorld::order(101, 10)) == "422 insufficient_balance");
  CHECK(refused(AdsWorld::order(101, 100)) == "422 validation_failed");
  campaigns::Order order = AdsWorld::order(100);
  order.ends_at = w.world.clock.now();
  CHECK(refused(order) == "422 validation_failed");
  order.starts_at = w.world.clock.now() + 2h;
  order.ends_at = w.world.clock.now() + 1h;
  CHECK(refused(order) == "422 validation_failed");
  order = AdsWorld::order(100);
  order.targeting_metadata = R"({"geography": 5})";
  CHECK(refused(order) == "422 validation_failed");
  CHECK(w.points(w.brand) == 100);
}

TEST_CASE("campaigns: active and paused, in both directions") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  CHECK(w.set_status(campaign.id, campaigns::Status::paused).status == campaigns::Status::paused);
  CHECK(w.set_status(campaign.id, campaigns::Status::paused).status == campaigns::Status::paused);
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  CHECK(w.set_status(campaign.id, campaigns::Status::active).status == campaigns::Status::active);
  CHECK(w.serve().campaign.id == campaign.id);
  w.cancel(campaign.id);
  CHECK(refusal([&] { w.set_status(campaign.id, campaigns::Status::active); }) ==
        "409 invalid_state");
  CHECK(refusal([&] { w.top_up(campaign.id, 100); }) == "409 invalid_state");
  CHECK(refusal([&] { w.cancel(campaign.id); }) == "409 invalid_state");
}

TEST_CASE("campaigns: another payment raises the budget, less its rake") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  w.fund(w.brand, 1'006);
  const auto raised = w.top_up(campaign.id, 1'005);
  CHECK(raised.budget == 900 + 904);
  CHECK(raised.rake == 100 + 101);
  CHECK(raised.total_payment == 2'005);
  w.audit();
  CHECK(w.top_up(campaign.id, 1).budget == campaigns::budget_of(2'006));
  CHECK(refusal([&] { w.top_up(campaign.id, 1); }) == "422 insufficient_balance");
  CHECK(w.find(campaign.id).total_payment == 2'006);
}

TEST_CASE("campaigns: a payment that would be rake alone is refused, and nothing is taken") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  w.fund(w.brand, 100);
  CHECK(refusal([&] { w.top_up(campaign.id, 1); }) == "422 validation_failed");
  CHECK(details([&] { w.top_up(campaign.id, 1); }).contains("additional_payment"));
  CHECK(w.points(w.brand) == 100);
  CHECK(w.find(campaign.id).total_payment == 1'000);
  CHECK(w.top_up(campaign.id, 2).budget == 901);
  // Of the ten points behind a full ten the first is the rake.
  for (int point = 0; point < 8; ++point) w.top_up(campaign.id, 1);
  CHECK(w.find(campaign.id).budget == 909);
  CHECK(refusal([&] { w.top_up(campaign.id, 1); }) == "422 validation_failed");
}

TEST_CASE("campaigns: in however many parts a campaign is paid, its rake is that of one payment") {
  AdsWorld w;
  const auto campaign = w.new_campaign(AdsWorld::order(20, 1));
  const std::int64_t treasury = w.world.balance(ledger::treasury());
  std::int64_t paid = campaign.total_payment;
  CHECK(rc::check([&] {
    const auto part = *rc::gen::inRange(1, 40);
    w.fund(w.brand, part);
    const std::int64_t before = w.points(w.brand);
    const bool taken = refusal([&] { w.top_up(campaign.id, part); }).empty();
    if (taken) paid += part;
    const auto raised = w.find(campaign.id);
    RC_ASSERT(w.points(w.brand) == before - (taken ? part : 0));
    RC_ASSERT(raised.total_payment == paid);
    RC_ASSERT(raised.budget == campaigns::budget_of(paid));
    RC_ASSERT(raised.rake == paid - campaigns::budget_of(paid));
    RC_ASSERT(raised.remaining == raised.budget);
    RC_ASSERT(w.world.balance(ledger::treasury()) - treasury == raised.rake - campaign.rake);
  }));
}

TEST_CASE("campaigns: what a payment adds to the budget is never more than the payment") {
  CHECK(rc::check([] {
    const auto paid = *rc::gen::inRange<std::int64_t>(1, ledger::max_points);
    const auto more = *rc::gen::inRange<std::int64_t>(1, ledger::max_points - paid + 1);
    const std::int64_t added = campaigns::budget_of(paid + more) - campaigns::budget_of(paid);
    RC_ASSERT(added >= 0);
    RC_ASSERT(added <= more);
  }));
}

TEST_CASE("campaigns: ending one refunds what isn't spent, including reservations") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto first = w.serve();
  w.serve();
  CHECK(w.outcome(campaign.id, ads::EventType::impression, first.impression_token) == "paid");
  CHECK(w.find(campaign.id).reserved == 10);
  w.audit();
  const auto cancelled = w.cancel(campaign.id);
  CHECK(cancelled.refunded == 890);
  CHECK(cancelled.campaign.status == campaigns::Status::cancelled);
  CHECK(cancelled.campaign.end_reason == campaigns::EndReason::cancelled);
  CHECK(cancelled.campaign.refunded == 890);
  CHECK(cancelled.campaign.spent == 10);
  CHECK(cancelled.campaign.reserved == 0);
  CHECK(w.points(w.brand) == 890);
}

TEST_CASE(
    "campaigns: one that can't pay for another impression is exhausted; its rest is refunded") {
  AdsWorld w;
  // A budget of 25: two impressions, and 5 points left.
  const auto campaign = w.new_campaign(AdsWorld::order(28, 10));
  for (int i = 0; i < 2; ++i) {
    CHECK(w.find(campaign.id).status == campaigns::Status::active);
    CHECK(w.outcome(campaign.id, ads::EventType::impression, w.serve().impression_token) == "paid");
  }
  const auto spent = w.find(campaign.id);
  CHECK(spent.status == campaigns::Status::exhausted);
  CHECK(spent.end_reason == campaigns::EndReason::exhausted);
  CHECK(spent.spent == 20);
  CHECK(spent.refunded == 5);
  CHECK(w.points(w.brand) == 5);
  CHECK(w.points(w.game) == 20);
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  CHECK(refusal([&] { w.top_up(campaign.id, 100); }) == "409 invalid_state");
}

TEST_CASE("campaigns: while points are reserved, they may be returned, so it isn't exhausted yet") {
  AdsWorld w;
  const auto campaign = w.new_campaign(AdsWorld::order(12, 10));
  w.serve();
  CHECK(w.find(campaign.id).status == campaigns::Status::active);
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  w.world.clock.advance(w.rules.reservation_life);
  w.world.write([](db::Tx& tx) { return holds::expire(tx, 100); });
  w.audit();
  CHECK(w.outcome(campaign.id, ads::EventType::impression, w.serve().impression_token) == "paid");
  CHECK(w.find(campaign.id).status == campaigns::Status::exhausted);
}

TEST_CASE("campaigns: spending the last points doesn't exhaust it while others are reserved") {
  AdsWorld w;
  const auto campaign = w.new_campaign(AdsWorld::order(23, 10));  // a budget of 20: two impressions
  const auto other = w.world.new_app(w.viewer).app;
  const auto first = w.serve();
  const auto second = w.serve(other, w.publisher);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, first.impression_token) == "paid");
  CHECK(w.find(campaign.id).status == campaigns::Status::active);
  ads::Report report = w.report(campaign.id, ads::EventType::impression, second.impression_token);
  report.app_id = other.id;
  report.user_id = w.publisher.id;
  CHECK(w.outcome(report) == "paid");
  CHECK(w.find(campaign.id).status == campaigns::Status::exhausted);
}

TEST_CASE("campaigns: ends_at ends it and refunds the rest") {
  AdsWorld w;
  campaigns::Order order = AdsWorld::order();
  order.ends_at = w.world.clock.now() + 1h;
  const auto campaign = w.new_campaign(order);
  const auto served = w.serve();
  w.world.clock.advance(1h);
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  CHECK(refusal([&] { w.set_status(campaign.id, campaigns::Status::paused); }) ==
        "409 invalid_state");
  CHECK(w.world.read([](db::Tx& tx) { return campaigns::is_any_over(tx); }));
  CHECK(w.world.write([](db::Tx& tx) { return campaigns::end_some(tx, 10); }) == 1);
  CHECK_FALSE(w.world.read([](db::Tx& tx) { return campaigns::is_any_over(tx); }));
  const auto ended = w.find(campaign.id);
  CHECK(ended.status == campaigns::Status::cancelled);
  CHECK(ended.end_reason == campaigns::EndReason::ended);
  CHECK(w.points(w.brand) == 900);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) ==
        "campaign_not_active");
}

TEST_CASE("campaigns: those of another app are forbidden, unknown ones not found") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto get = [&](const apps::App& app, const std::string& id) {
    return refusal(
        [&] { w.world.read([&](db::Tx& tx) { campaigns::get_owned(tx, w.actor(app), id); }); });
  };
  CHECK(get(w.brand, campaign.id).empty());
  CHECK(get(w.game, campaign.id) == "403 forbidden");
  CHECK(get(w.brand, w.brand.id) == "404 campaign_not_found");
}

TEST_CASE("campaigns: an app with live campaigns can't be deleted") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto remove = [&] {
    return refusal([&] { w.world.write([&](db::Tx& tx) { apps::remove(tx, w.brand); }); });
  };
  CHECK(remove() == "409 invalid_state");
  w.cancel(campaign.id);
  CHECK(remove().empty());
}

TEST_CASE("campaigns: webhooks are told each end and its reason") {
  AdsWorld w;
  w.world.write([&](db::Tx& tx) {
    webhooks::create(tx, w.brand.id, "https://a.example.org/",
                     {"campaign.exhausted", "campaign.ended"}, webhooks::Schemes::only_https,
                     w.world.keys.data);
  });
  const auto told = [&] {
    std::string text;
    const auto waiting = w.world.read([](db::Tx& tx) {
      return webhooks::due(tx, {.of_all = 100, .of_owner = 100, .of_webhook = 100});
    });
    for (const auto& due : waiting) {
      const auto attempt = w.world.write([&](db::Tx& tx) {
        return webhooks::begin_attempt(tx, w.world.keys.data, due.id, tx.now() + 1min);
      });
      text += attempt->type + " " + attempt->data.at("end_reason").get<std::string>() + ", ";
    }
    return text;
  };
  const auto exhausted = w.new_campaign(AdsWorld::order(12, 10));
  CHECK(told() == "");
  w.outcome(exhausted.id, ads::EventType::impression, w.serve().impression_token);
  CHECK(told() == "campaign.exhausted exhausted, ");
  w.cancel(w.new_campaign().id);
  CHECK(told() == "campaign.ended cancelled, ");
}

}  // namespace
