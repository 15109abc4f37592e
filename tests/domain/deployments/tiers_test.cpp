#include "controller/domain/deployments/tiers.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

TEST_CASE("tiers come back as they were seeded, in their order") {
  World world;
  const auto list = world.read(tiers::list);
  REQUIRE(list.size() == 4);
  CHECK(list[0].slug == "free");
  CHECK(list[0].auto_approve);
  CHECK(list[0].max_deployments == 1);
  CHECK(list[0].monthly_cost_points == 0);
  CHECK_FALSE(list[0].monthly_cost_sats);
  CHECK(list[1].slug == "basic");
  CHECK(list[1].memory_limit_mb == 1024);
  CHECK(list[1].cpu_limit_millicores == 1000);
  CHECK(list[1].custom_domain_allowed);
  CHECK_FALSE(list[1].auto_approve);
  CHECK_FALSE(list[2].max_deployments);
  CHECK(list[3].payment_method == tiers::PaymentMethod::bitcoin);
  CHECK(list[3].monthly_cost_sats == 5'000);
  CHECK_FALSE(list[3].monthly_cost_points);
  CHECK(list[1].max_replicas == tiers::default_max_replicas);
  CHECK_FALSE(list[1].exec_allowed);
  CHECK(list[2].max_replicas == 10);
}

TEST_CASE("a tier says how many containers a deployment may have, and whether commands may run") {
  World world;
  const auto changed = world.write([&](db::Tx& tx) {
    auto tier = *tiers::find_by_slug(tx, "free");
    tier.max_replicas = 7;
    tier.exec_allowed = true;
    return tiers::update(tx, tier);
  });
  CHECK(changed.max_replicas == 7);
  CHECK(changed.exec_allowed);
  const auto app = world.approved_app(world.verified_user("ada"), {Scope::deploy_manage});
  const auto allowance =
      world.read([&](db::Tx& tx) { return deployments::sandbox_allowance(tx, app.id); });
  CHECK(allowance.max_replicas == 7);
  CHECK(allowance.exec_allowed);
}

TEST_CASE("tiers are found by slug and by id") {
  World world;
  world.read([](db::Tx& tx) {
    const auto free = tiers::find_by_slug(tx, "free");
    REQUIRE(free);
    CHECK(tiers::find(tx, free->id)->slug == "free");
    CHECK_FALSE(tiers::find_by_slug(tx, "FREE"));
    CHECK_FALSE(tiers::find(tx, "free"));
  });
}

TEST_CASE("a tier's confinement is stored and can be taken away") {
  World world;
  const auto change = [&](const tiers::Confinement& confinement) {
    return world.write([&](db::Tx& tx) {
      auto tier = *tiers::find_by_slug(tx, "free");
      tier.confinement = confinement;
      return tiers::update(tx, tier);
    });
  };
  CHECK(world.read(tiers::list)[0].confinement == tiers::Confinement{});
  const tiers::Confinement strict = {
      .runtime_class = "gvisor", .user_namespaces = true, .smtp = true, .bandwidth = 20};
  CHECK(change(strict).confinement == strict);
  CHECK(world.read(tiers::list)[0].confinement == strict);
  CHECK(world.read(tiers::list)[1].confinement == tiers::Confinement{});
  CHECK(change({}).confinement == tiers::Confinement{});
  for (const std::optional<bool> choice :
       {std::optional(true), std::optional(false), std::optional<bool>()})
    CHECK(change({.runtime_class = {}, .user_namespaces = choice, .smtp = false, .bandwidth = {}})
              .confinement.user_namespaces == choice);
}

TEST_CASE("seeding again leaves what an admin has changed") {
  World world;
  world.write([](db::Tx& tx) {
    tx.execute("UPDATE deploy_tiers SET max_deployments = 9 WHERE slug = 'free'");
    tiers::seed(tx, default_tiers());
    CHECK(tiers::list(tx).size() == 4);
    CHECK(tiers::find_by_slug(tx, "free")->max_deployments == 9);
  });
}

}  // namespace
