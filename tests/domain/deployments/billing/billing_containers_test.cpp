// What several containers of a deployment cost for 30 days, and what a change of their number does.
#include <catch2/catch.hpp>
#include <random>

#include "controller/domain/deployments/dry_run.h"
#include "controller/domain/deployments/rollback.h"
#include "controller/domain/points/claw_backs.h"
#include "tests/domain/deployments/billing/billing_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using billing::EntryKind;
using deployments::ContainerSpec;
using deployments::Status;
using Days = std::vector<std::int64_t>;

constexpr auto day = 24h;
constexpr auto month = 30 * day;
constexpr int most = 100;

tiers::Tier tier_of_many(const std::string& slug, std::int64_t points) {
  tiers::Tier tier = paid_tier(slug, points);
  tier.max_replicas = most;
  return tier;
}

struct Fixture : BillingWorld {
  tiers::Tier many = new_tier(tier_of_many("many", price));

  // Creates a deployment that is running, with so many containers.
  std::string run_with(int replicas, const std::string& tier = "many",
                       const std::string& name = "shop") {
    deployments::Order wanted = order(name, tier);
    wanted.container.replicas = replicas;
    const std::string id = deploy(app, wanted).id;
    seen_running(id);
    run();
    return id;
  }
  deployments::Deployment scale(const std::string& id, int replicas) {
    deployments::Change wanted;
    wanted.set(&ContainerSpec::replicas, replicas);
    return change(id, wanted);
  }
};

TEST_CASE("a period costs the tier's price for each container") {
  Fixture f;
  f.give(10 * price);
  deployments::Order wanted = order("shop", "many");
  wanted.container.processes = {{"web", {.scale = deployments::Scale{1, 3, 20}}},
                                {"worker", {.replicas = 2, .memory_mb = 16}}};
  const std::string id = f.deploy(f.app, wanted).id;
  CHECK(f.points() == 5 * price);
  const auto view = f.view(id);
  CHECK(view.containers == 5);
  CHECK(view.price == 5 * price);
  REQUIRE(view.history.size() == 1);
  CHECK(view.history[0].containers == 5);
  CHECK_FALSE(view.history[0].from_containers);
  wanted.name = "second";
  wanted.container.processes["worker"].replicas = 3;
  CHECK(refusal([&] { f.deploy(f.app, wanted); }) == "422 insufficient_balance");
  f.seen_running(id);
  f.run_until(f.start + month);
  CHECK(f.points() == 0);
  CHECK(f.charges(id) == Days{0, 30});
  const auto renewals = f.read([&](db::Tx& tx) { return billing::next_renewals(tx, f.app.id); });
  REQUIRE(renewals.size() == 1);
  CHECK(renewals[0].price == 5 * price);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("another number of containers is settled for the rest of the period") {
  Fixture f;
  f.give(10 * price);
  const std::string id = f.run_with(2);
  const auto generation = f.find_deployment(id).generation;
  CHECK(f.points() == 8 * price);
  f.run_until(f.start + 10 * day + 1ms);
  f.scale(id, 3);
  CHECK(f.points() == 8 * price - 667);  // rounded up
  auto view = f.view(id);
  CHECK(view.price == 3 * price);
  CHECK(view.history[0].kind == EntryKind::tier_change);
  CHECK(view.history[0].from_tier == "many");
  CHECK(view.history[0].from_containers == 2);
  CHECK(view.history[0].containers == 3);
  CHECK(view.history[0].amount == 667);
  CHECK(f.logs(id).back().details->find(R"("containers":{"amount":667,"from":2,"to":3})") !=
        std::string::npos);
  f.scale(id, 1);
  CHECK(f.points() == 8 * price - 667 + 1'333);           // rounded down
  CHECK(f.find_deployment(id).generation == generation);  // what stays isn't replaced
  CHECK(f.find_deployment(id).status == Status::running);
  f.run_until(f.start + month);
  CHECK(f.charges(id) == Days{0, 30});
  CHECK(f.points() == 7 * price - 667 + 1'333);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("what an admin has given back isn't given back again when there are fewer containers") {
  Fixture f;
  f.give(2 * price);
  const std::string id = f.run_with(2);
  REQUIRE(f.points() == 0);
  const auto refund = [&](std::int64_t amount) {
    f.write([&](db::Tx& tx) { billing::refund(tx, {"root", "r"}, id, amount, "an outage"); });
  };
  SECTION("all of it") {
    refund(2 * price);
    f.run_until(f.start + 15 * day);
    f.scale(id, 1);
    CHECK(f.points() == 2 * price);
    CHECK(f.view(id).history[0].amount == 0);
  }
  SECTION("a part of it, which leaves less than the credit") {
    refund(2 * price - 100);
    f.run_until(f.start + 15 * day);
    f.scale(id, 1);
    CHECK(f.points() == 2 * price);
  }
  SECTION("a part of it, which leaves more than the credit") {
    refund(price);
    f.run_until(f.start + 15 * day);
    f.scale(id, 1);
    CHECK(f.points() == price + price / 2);
  }
  SECTION("all of it, which was taken back again") {
    refund(2 * price);
    f.write([&](db::Tx& tx) {
      auto row = tx.query("SELECT transaction_id FROM deployment_refunds");
      REQUIRE(row.next());
      points::claw_back(tx, {.transaction_id = row.text("transaction_id"),
                             .amount = 2 * price,
                             .reason = "the wrong deployment",
                             .admin = "root"});
    });
    REQUIRE(f.points() == 0);
    f.run_until(f.start + 15 * day);
    f.scale(id, 1);
    CHECK(f.points() == price / 2);
    refund(price);
    CHECK(f.points() == price / 2 + price);
  }
  SECTION("a cheaper tier is a smaller size, too") {
    f.new_tier(tier_of_many("cheap", price / 10));
    refund(2 * price);
    f.run_until(f.start + 15 * day);
    f.put_on(id, "cheap");
    CHECK(f.points() == 2 * price);
  }
  SECTION("of an earlier period") {
    f.give(2 * price);
    refund(price);
    f.run_until(f.start + month + 15 * day);
    f.scale(id, 1);
    CHECK(f.points() == price + price / 2);
  }
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("another number without the points for it is refused, and changes nothing") {
  Fixture f;
  f.give(price + 333);
  const std::string id = f.run_with(1);
  f.run_until(f.start + 20 * day);
  CHECK(refusal([&] { f.scale(id, 3); }) == "422 insufficient_balance");
  CHECK(f.find_deployment(id).container.replicas == 1);
  CHECK(f.view(id).containers == 1);
  CHECK(refusal([&] { f.scale(id, 2); }) == "422 insufficient_balance");
  f.give(1);
  f.scale(id, 2);
  CHECK(f.points() == 0);
  f.scale(id, 1);  // nothing has to be there for fewer
  CHECK(f.points() == 333);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("in an unpaid period another number charges the whole period") {
  Fixture f;
  f.give(3 * price);
  const std::string id = f.run_with(3);
  f.run_until(f.start + month + 10 * day);
  REQUIRE(f.billing_of(id) == billing::Status::suspended);
  f.give(3 * price - 1);
  f.run();
  REQUIRE(f.billing_of(id) == billing::Status::suspended);  // for three it isn't enough
  f.scale(id, 2);
  CHECK(f.find_deployment(id).status == Status::deploying);
  CHECK(f.points() == price - 1);
  CHECK(f.charges(id) == Days{0, 30});
  CHECK(f.view(id).history[0].containers == 2);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a suspended deployment starts once the points for all of its containers are there") {
  Fixture f;
  f.give(3 * price);
  const std::string id = f.run_with(3);
  f.run_until(f.start + month + 10 * day);
  f.give(3 * price - 1);
  f.run();
  CHECK(f.find_deployment(id).status == Status::stopped);
  f.give(1);
  f.run();
  CHECK(f.find_deployment(id).status == Status::deploying);
  CHECK(f.points() == 0);
}

TEST_CASE("a renewal is covered only if the earlier ones of all containers are") {
  Fixture f;
  f.give(5 * price);
  f.run_with(3, "many", "first");
  f.clock.advance(1h);
  const std::string second = f.run_with(2, "many", "second");
  f.give(4 * price);
  f.run_until(f.start + 29 * day + 2h);
  CHECK(f.billing_of(second) == billing::Status::warning);
  f.give(price);
  f.run();
  CHECK(f.billing_of(second) == billing::Status::current);
}

TEST_CASE("containers of a free tier cost nothing") {
  Fixture f;
  f.new_tier(tier_of_many("gift", 0));
  const std::string id = f.run_with(50, "gift");
  f.scale(id, 100);
  f.scale(id, 1);
  CHECK(f.points() == 0);
  CHECK(f.billing_of(id) == billing::Status::exempt);
  CHECK(f.view(id).history.empty());
  // All of them are paid for once the tier isn't free any more, from the next period on.
  f.scale(id, 4);
  f.change_tier("gift", [](tiers::Tier& tier) { tier.monthly_cost_points = 5; });
  f.give(20);
  f.run_until(f.start + month);
  CHECK(f.points() == 0);
}

TEST_CASE("each container costs what was agreed until the period ends") {
  Fixture f;
  f.give(100 * price);
  const std::string id = f.run_with(2);
  f.change_tier("many", [](tiers::Tier& tier) { tier.monthly_cost_points = 10 * price; });
  f.run_until(f.start + 15 * day);
  const std::int64_t before = f.points();
  f.scale(id, 3);
  CHECK(before - f.points() == price / 2);
  f.change_tier("many", [](tiers::Tier& tier) { tier.monthly_cost_points = 1; });
  f.scale(id, 2);
  CHECK(before == f.points());  // the lower price comes with the next period, too
  f.change_tier("many", [](tiers::Tier& tier) { tier.monthly_cost_points = 0; });
  f.scale(id, 3);
  f.scale(id, 1);
  CHECK(before == f.points());
  f.scale(id, 2);
  f.change_tier("many", [](tiers::Tier& tier) { tier.monthly_cost_points = 7; });
  f.run_until(f.start + month);
  CHECK(before - f.points() == 14);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a tier and a number that change together are settled together") {
  Fixture f;
  f.new_tier(tier_of_many("large", 3 * price));
  f.give(10 * price);
  const std::string id = f.run_with(2);
  f.run_until(f.start + 15 * day);
  deployments::Change wanted;
  wanted.tier = "large";
  wanted.set(&ContainerSpec::replicas, 1);
  f.change(id, wanted);
  CHECK(f.points() == 8 * price - price / 2);
  const auto view = f.view(id);
  CHECK(view.price == 3 * price);
  CHECK(view.history[0].from_tier == "many");
  CHECK(view.history[0].from_containers == 2);
  CHECK(view.history[0].containers == 1);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a change of the number doesn't put off the stop that was announced") {
  Fixture f;
  f.give(2 * price);
  const std::string id = f.run_with(2);
  f.run_until(f.start + month - 1h);
  REQUIRE(f.billing_of(id) == billing::Status::warning);
  const auto warned_at = f.view(id).warned_at;
  f.scale(id, 1);
  f.run();
  CHECK(f.billing_of(id) == billing::Status::warning);
  CHECK(f.view(id).warned_at == warned_at);
  f.run_until(f.start + month);
  CHECK(f.find_deployment(id).status == Status::stopped);
}

TEST_CASE("a rollback pays for the processes that it brings back") {
  Fixture f;
  f.give(3 * price);
  deployments::Order wanted = order("shop", "many");
  wanted.container.processes = {{"web", {}}, {"worker", {.replicas = 2}}};
  const std::string id = f.deploy(f.app, wanted).id;
  f.seen_running(id);
  deployments::Change alone;
  alone.set(&ContainerSpec::processes, {});
  f.change(id, alone);
  f.seen_running(id);
  CHECK(f.points() == 2 * price);
  CHECK(f.view(id).containers == 1);
  const auto roll_back = [&] {
    f.write([&](db::Tx& tx) {
      deployments::rollback(tx, f.actor(f.app), id, {}, f.rules, f.keys.data);
    });
  };
  f.take(1);
  CHECK(refusal(roll_back) == "422 insufficient_balance");
  CHECK(f.view(id).containers == 1);
  f.give(1);
  roll_back();
  CHECK(f.points() == 0);
  CHECK(f.view(id).containers == 3);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("fewer containers while the tier is free aren't paid twice afterwards") {
  Fixture f;
  f.give(10 * price);
  const std::string id = f.run_with(3);
  const auto costs = [&](std::int64_t points) {
    f.change_tier("many", [&](tiers::Tier& tier) { tier.monthly_cost_points = points; });
    f.run();
  };
  costs(0);
  f.scale(id, 1);
  CHECK(f.points() == 7 * price);
  costs(price);
  f.scale(id, 2);
  CHECK(f.points() == 6 * price);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("berth's own rollback asks for nothing while the number stays") {
  Fixture f;
  f.give(price);
  const std::string id = f.run_with(1);
  f.seen_running(id);
  const int port = f.find_deployment(id).container.port;
  deployments::Change other;
  other.set(&deployments::ContainerSpec::port, port + 1);
  f.change(id, other);
  f.seen_running(id);
  f.clock.advance(month);  // and the loop hasn't run yet
  const auto roll_back = [&](deployments::RollbackBy by) {
    f.write([&](db::Tx& tx) {
      deployments::rollback(tx, f.actor(f.app), id, {}, f.rules, f.keys.data, by);
    });
  };
  CHECK(refusal([&] { roll_back(deployments::RollbackBy::owner); }) == "422 insufficient_balance");
  roll_back(deployments::RollbackBy::berth);
  CHECK(f.find_deployment(id).container.port == port);
  CHECK_FALSE(f.view(id).is_paid);
  CHECK(f.logs(id).back().initiated_by == std::nullopt);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a dry run says what another number costs") {
  Fixture f;
  f.give(2 * price);
  const std::string id = f.run_with(1);
  f.run_until(f.start + 15 * day);
  const auto points_of = [&](int replicas) {
    deployments::Operation operation = {.order = {}, .id = id, .change = {}};
    operation.change.set(&ContainerSpec::replicas, replicas);
    return f
        .write([&](db::Tx& tx) {
          return deployments::dry_run(tx, f.actor(f.app), {operation}, f.rules, f.keys.data);
        })
        .at(0)
        .points;
  };
  CHECK(points_of(2) == price / 2);
  CHECK(points_of(1) == 0);
  CHECK(points_of(9) == 4 * price);  // which the app doesn't have
  CHECK(f.points() == price);
}

// Raises and lowers the number by chance within a period, while the admins change the price.
class Period {
 public:
  explicit Period(std::uint64_t seed) : random_(seed) {
    f_.give(given);
    f_.mint(ledger::treasury(), given);
    number_ = 1 + below(most);
    rate_ = 1 + below(3 * price);
    f_.change_tier("many", [&](tiers::Tier& tier) { tier.monthly_cost_points = rate_; });
    id_ = f_.run_with(int(number_));
    at_ = f_.clock.now();
  }

  void run() {
    const Instant end = f_.start + month;
    for (;;) {
      const auto wait = Duration(below(2 * 24 * 3'600'000));
      if (f_.clock.now() + wait >= end) break;
      f_.clock.advance(wait);
      f_.run();
      if (below(4) == 0) {
        const std::int64_t points = 1 + below(3 * price);
        f_.change_tier("many", [&](tiers::Tier& tier) { tier.monthly_cost_points = points; });
      }
      change_to(1 + below(most));
      compare(end);
    }
  }

 private:
  static constexpr std::int64_t given = 100 * most * price;

  std::int64_t below(std::int64_t bound) { return std::int64_t(random_() % std::uint64_t(bound)); }

  void change_to(std::int64_t number) {
    used_ += number_ * (f_.clock.now() - at_).count();
    at_ = f_.clock.now();
    if (number == number_) return;
    number_ = number;
    f_.scale(id_, int(number));
    ++changes_;
  }

  // What was charged is what was used until now and is paid until the end, and less than a point
  // more for each change.
  void compare(Instant end) {
    const std::int64_t whole = billing::period_length.count();
    const std::int64_t exact = rate_ * (used_ + number_ * (end - f_.clock.now()).count());
    const std::int64_t charged = (given - f_.points()) * whole;
    REQUIRE(charged >= exact);
    REQUIRE(charged < exact + changes_ * whole + 1);
  }

  std::mt19937_64 random_;
  Fixture f_;
  std::string id_;
  std::int64_t rate_ = 0;    // of a container, as it was agreed
  std::int64_t number_ = 0;  // of containers
  std::int64_t used_ = 0;    // milliseconds of containers
  std::int64_t changes_ = 0;
  Instant at_;
};

TEST_CASE("raising and lowering the number never earns a point, and costs what was used") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Period(seed).run();
  }
}

// ---- What SQL knows of the processes

struct Most {
  std::int64_t containers = 0, memory_mb = 0, cpu_millicores = 0;
  bool operator==(const Most&) const = default;
};

Most most_of(const deployments::Deployment& row) {
  Most sum;
  for (const auto& process : deployments::processes_of(row.container))
    for (int i = 0; i < process.most_replicas(); ++i) {
      ++sum.containers;
      sum.memory_mb += process.memory_mb.value_or(row.memory_limit_mb);
      sum.cpu_millicores += process.cpu_millicores.value_or(row.cpu_limit_millicores);
    }
  return sum;
}

TEST_CASE("the sums of a row are always those of its processes") {
  Fixture f;
  tiers::Tier other = tier_of_many("other", 0);
  other.memory_limit_mb = 777;
  other.cpu_limit_millicores = 333;
  f.new_tier(other);
  f.new_tier(tier_of_many("gift", 0));
  std::mt19937_64 random(7);
  const auto below = [&](int bound) { return int(random() % std::uint64_t(bound)); };
  const auto some_processes = [&] {
    deployments::Processes processes;
    for (const char* name : {"web", "worker", "mailer"}) {
      if (below(3) == 0) continue;
      deployments::Process process;
      if (below(2) == 0) process.replicas = 1 + below(9);
      if (name == std::string("web") && below(2) == 0) {
        process.replicas.reset();
        process.scale = deployments::Scale{1, 1 + below(9), 5};
      }
      if (below(2) == 0) process.memory_mb = 16 + below(200);
      if (below(2) == 0) process.cpu_millicores = 10 + below(200);
      processes[name] = process;
    }
    return processes;
  };
  deployments::Order wanted = order("shop", "gift");
  wanted.container.processes = some_processes();
  const std::string id = f.deploy(f.app, wanted).id;
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto row = f.find_deployment(id);
    const Most stored = f.read([&](db::Tx& tx) {
      auto rows = tx.query(
          "SELECT most_containers, most_memory_mb, most_cpu_millicores FROM deployments WHERE id "
          "= $1",
          id);
      rows.next();
      return Most{.containers = rows.integer("most_containers"),
                  .memory_mb = rows.integer("most_memory_mb"),
                  .cpu_millicores = rows.integer("most_cpu_millicores")};
    });
    REQUIRE(stored == most_of(row));
    const auto size = f.read([&](db::Tx& tx) { return deployments::size_of_app(tx, f.app.id); });
    CHECK(size.containers == stored.containers);
    CHECK(size.memory_mb == stored.memory_mb);
    CHECK(size.cpu_millicores == stored.cpu_millicores);
    deployments::Change next;
    if (below(2) == 0) next.set(&ContainerSpec::processes, some_processes());
    if (below(2) == 0) next.set(&ContainerSpec::replicas, 1 + below(9));
    if (below(3) == 0) next.tier = below(2) == 0 ? "gift" : "other";
    f.change(id, next);
    f.seen_running(id);
    if (below(5) == 0)
      refusal([&] {
        f.write([&](db::Tx& tx) {
          deployments::rollback(tx, f.actor(f.app), id, {}, f.rules, f.keys.data);
        });
      });
  }
}

TEST_CASE("a lower limit of the tier keeps what is there, and allows no more") {
  Fixture f;
  f.give(100 * price);
  const std::string id = f.run_with(5);
  f.change_tier("many", [](tiers::Tier& tier) {
    tier.max_replicas = 2;
    tier.memory_limit_mb = 64;
  });
  deployments::Change image;
  image.set(&ContainerSpec::image, "ghcr.io/acme/web:2");
  f.change(id, image);
  CHECK(f.find_deployment(id).container.replicas == 5);
  CHECK(refusal([&] { f.scale(id, 6); }) == "422 validation_failed");
  f.scale(id, 4);
  CHECK(refusal([&] { f.scale(id, 5); }) == "422 validation_failed");
  f.scale(id, 1);
  f.scale(id, 2);
  // Its containers keep their size, too.
  deployments::Change smaller;
  smaller.set(&ContainerSpec::processes, {{"web", {.memory_mb = 200}}});
  f.change(id, smaller);
  smaller.set(&ContainerSpec::processes, {{"web", {.memory_mb = 257}}});
  CHECK(refusal([&] { f.change(id, smaller); }) == "422 validation_failed");
}

}  // namespace
