#pragma once

#include "controller/domain/ads/events.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/domain/world.h"

// Advertisers, apps that show ads, and viewers. The ledger is audited at the end, and wherever a
// test asks for it.
namespace berth::test {

struct AdsWorld {
  World world;
  ads::CampaignIndex index;
  ads::Rules rules;
  rewards::Rules reward_rules;
  accounts::User advertiser = world.verified_user("advertiser");
  accounts::User publisher = world.verified_user("publisher");
  accounts::User viewer = world.verified_user("viewer");
  apps::App brand = world.new_app(advertiser).app;
  apps::App game = world.new_app(publisher).app;

  AdsWorld() {
    world.db.subscribe([this](db::Topic topic, const std::string& id) {
      if (topic == db::Topic::campaign) index.changed(id);
    });
    world.mint(ledger::treasury(), 1'000'000);
  }
  ~AdsWorld() { audit(); }

  void audit() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }

  void fund(const apps::App& app, std::int64_t points) {
    world.mint(ledger::app_account(app.id), points);
  }
  campaigns::Actor actor(const apps::App& app) const {
    return {.app_id = app.id, .user_id = app.owner_id};
  }
  static campaigns::Order order(std::int64_t payment = 1'000, std::int64_t payout = 10) {
    return {.name = "Spring",
            .surface_type = ads::SurfaceType::banner,
            .total_payment = payment,
            .payout_rate = payout};
  }
  campaigns::Campaign create(const apps::App& app, const campaigns::Order& order) {
    return world.write([&](db::Tx& tx) { return campaigns::create(tx, app.id, order); });
  }
  // Creates a campaign after giving the app the points that it costs.
  campaigns::Campaign new_campaign(const campaigns::Order& order = AdsWorld::order()) {
    fund(brand, order.total_payment);
    return create(brand, order);
  }
  campaigns::Campaign find(const std::string& id) {
    return world.read([&](db::Tx& tx) { return *campaigns::find(tx, id); });
  }
  campaigns::Campaign set_status(const std::string& id, campaigns::Status status) {
    return world.write(
        [&](db::Tx& tx) { return campaigns::set_status(tx, actor(brand), id, status); });
  }
  campaigns::Campaign top_up(const std::string& id, std::int64_t payment) {
    return world.write(
        [&](db::Tx& tx) { return campaigns::top_up(tx, actor(brand), id, payment); });
  }
  campaigns::Cancelled cancel(const std::string& id) {
    return world.write([&](db::Tx& tx) { return campaigns::cancel(tx, actor(brand), id); });
  }

  ads::Served serve(const ads::ServeRequest& request) {
    index.refresh(world.db);
    return world.write([&](db::Tx& tx) { return ads::serve(tx, index, rules, request); });
  }
  ads::Served serve(const apps::App& app, const accounts::User& user,
                    const ads::Viewing& viewing = {}) {
    return serve({.app_id = app.id,
                  .user_id = user.id,
                  .surface_type = ads::SurfaceType::banner,
                  .viewing = viewing});
  }
  ads::Served serve() { return serve(game, viewer); }
  std::string refused(const apps::App& app, const accounts::User& user,
                      const ads::Viewing& viewing = {}) {
    return refusal([&] { serve(app, user, viewing); });
  }
  ads::Recorded record(const ads::Report& report) {
    return world.write([&](db::Tx& tx) { return ads::record(tx, rules, reward_rules, report); });
  }
  ads::Report report(const std::string& campaign_id,
                     ads::EventType event_type = ads::EventType::impression,
                     const std::optional<std::string>& token = {}) const {
    return {.app_id = game.id,
            .user_id = viewer.id,
            .campaign_id = campaign_id,
            .event_type = event_type,
            .surface_type = ads::SurfaceType::banner,
            .impression_token = token};
  }
  // Returns how the report ended: paid, counted, or why not.
  std::string outcome(const ads::Report& report) {
    const ads::Recorded recorded = record(report);
    if (recorded.paid) return "paid";
    return std::string(to_string(recorded.unpaid_reason).value_or("counted"));
  }
  std::string outcome(const std::string& campaign_id,
                      ads::EventType event_type = ads::EventType::impression,
                      const std::optional<std::string>& token = {}) {
    return outcome(report(campaign_id, event_type, token));
  }
  std::int64_t points(const apps::App& app) { return world.balance(ledger::app_account(app.id)); }
  std::int64_t points(const accounts::User& user) {
    return world.balance(ledger::user_account(user.id));
  }
};

}  // namespace berth::test
