// Days of metering that are drawn by chance, compared with a model that knows nothing but when the
// containers ran: it adds up their milliseconds by itself.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "tests/domain/deployments/metering/metering_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

// What a run is drawn with.
struct Means {
  std::int64_t points = 0;                // at the beginning
  std::optional<std::int64_t> day_limit;  // of the app, all the time
  bool changes_budgets = false;           // of deployments
};

class Fortnight : public MeteringWorld {
 public:
  Fortnight(std::uint64_t seed, const Means& means) : random_(seed), means_(means) {
    give(means.points);
    for (const auto& [slug, price] : prices_) {
      tiers::Tier tier = hourly_tier(slug, price);
      tier.max_replicas = most_replicas;
      new_tier(tier);
      const auto id = deploy_on(slug, slug).id;
      deployments_[id] = price;
    }
    if (means.day_limit) set_budget("", means.day_limit);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      const std::int64_t balance = points();
      REQUIRE(balance >= 0);
      REQUIRE(held() <= balance);
      const auto state = read([&](db::Tx& tx) { return metering::account(tx, app.id); });
      REQUIRE(state.points_per_hour >= hour_of_all());
    }
    for (const auto& [id, price] : deployments_) {
      stop(app, id);
      end(id);
    }
    pass_until(midnight() + 1min, false);
  }

  // What the containers ran, by deployment and day.
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> ran() const {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> days;
    for (const auto& [id, runs] : cluster)
      for (const auto& run : runs)
        for (Instant at = run.started_at; at < *run.ended_at;) {
          const Instant next = std::min(start_of_day(utc_day(at) + 1), *run.ended_at);
          days[{id, utc_day(at)}] += (next - at).count();
          at = next;
        }
    return days;
  }

  void compare() {
    const auto expected = ran();
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> found;
    std::map<std::int64_t, std::int64_t> points_of_day;
    std::int64_t units = 0, points = 0, unpaid = 0;
    for (const auto& [id, price] : deployments_)
      for (const auto& use : uses(id)) {
        found[{id, use.day}] += use.milliseconds;
        CHECK(use.pending_milliseconds == 0);
        CHECK(use.unpaid_milliseconds <= use.milliseconds);
        units += use.milliseconds * price;
        points += use.points;
        unpaid += use.unpaid_milliseconds;
        points_of_day[use.day] += use.points;
      }
    CHECK(found == expected);
    const std::int64_t remainder = read([&](db::Tx& tx) {
      return tx.number("SELECT remainder FROM meter_apps WHERE app_id = $1", app.id);
    });
    // Each unit was charged, is carried, or is the platform's.
    const std::int64_t left = units - points * metering::units_of_point - remainder;
    CHECK(left >= 0);
    CHECK((left > 0) == (unpaid > 0));
    if (means_.day_limit)
      for (const auto& [day, sum] : points_of_day) CHECK(sum <= *means_.day_limit);
    if (!means_.day_limit && !means_.changes_budgets && means_.points > 1'000'000'000)
      CHECK(unpaid == 0);
    CHECK(this->points() == given_ - taken_ - points);
    // What is left of a point stays held for the app's next charge.
    CHECK(held() <= 1);
    CHECK(broken_invariants().empty());
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::string some_deployment() {
    auto one = deployments_.begin();
    std::advance(one, std::ptrdiff_t(below(deployments_.size())));
    return one->first;
  }

  // More containers are refused, or an hour of all that may run is held from that moment on.
  void change_number(const std::string& id) {
    deployments::Change wanted;
    wanted.set(&deployments::ContainerSpec::replicas, int(1 + below(most_replicas)));
    const bool is_more =
        wanted.container.replicas > deployments::most_replicas(find_deployment(id).container);
    if (!refusal([&] { change(id, wanted); }).empty()) return;
    if (is_more) CHECK(held() >= hour_of_all());
  }

  // The points for an hour of as many containers as there may be of all that is to run.
  std::int64_t hour_of_all() {
    std::int64_t sum = 0;
    for (const auto& [id, price] : deployments_) {
      const auto row = find_deployment(id);
      if (row.status != deployments::Status::stopped)
        sum += price * deployments::most_replicas(row.container);
    }
    return sum;
  }

  void give(std::int64_t some) {
    MeteringWorld::give(some);
    given_ += some;
  }
  void set_budget(const std::string& deployment, std::optional<std::int64_t> limit) {
    const bool is_day = means_.day_limit || below(2) == 0;
    write([&](db::Tx& tx) {
      metering::set_budget(
          tx, {.app_id = app.id,
               .deployment_id = deployment,
               .period = is_day ? metering::BudgetPeriod::day : metering::BudgetPeriod::thirty_days,
               .limit = limit});
    });
  }

  // The container of the newest pod ends, and starts again on the same pod after a moment.
  void crash(const std::string& id) {
    if (!is_running(id)) return;
    end(id);
    clock.advance(Duration(below(20'000)));
    const std::string& last = cluster[id].back().name;
    const size_t slash = last.find('/');
    cluster[id].push_back(
        {.name = last.substr(0, slash + 1) + std::to_string(std::stoi(last.substr(slash + 1)) + 1),
         .started_at = clock.now(),
         .ended_at = {}});
    report(id);
  }

  void step() {
    const std::string id = some_deployment();
    switch (below(13)) {
      case 0:
      case 1:
        return begin(id);
      case 2:
        return end(id);
      case 3:
        return crash(id);
      case 4:
        report(id);
        return look();
      case 5:
        stop(app, id);
        return;
      case 6:
        refusal([&] { restart(app, id); });
        return;
      case 7:
        return give(std::int64_t(1 + below(20'000)));
      case 8: {
        const auto some = std::int64_t(1 + below(5'000));
        const bool is_taken = write([&](db::Tx& tx) {
          return ledger::post(tx, {.kind = "test",
                                   .from = account,
                                   .to = ledger::treasury(),
                                   .amount = some,
                                   .memo = ""})
              .has_value();
        });
        if (is_taken) taken_ += some;
        return;
      }
      case 9:
        if (!means_.changes_budgets) return follow();
        return set_budget(
            id, below(3) == 0 ? std::nullopt : std::optional(std::int64_t(1 + below(3'000))));
      case 10:
        clock.advance(Duration(below(10 * 3'600'000)));  // as if berthd were down
        return;
      case 11:
        return change_number(id);
      default:
        return pass(Duration(below(5 * 3'600'000)), below(2) == 0);
    }
  }

  static inline const std::map<std::string, std::int64_t> prices_ = {
      {"cheap", 7}, {"fair", 360}, {"dear", 7'200}};
  static constexpr int most_replicas = 5;
  std::mt19937_64 random_;
  const Means means_;
  std::map<std::string, std::int64_t> deployments_;  // their prices, by their ids
  std::int64_t given_ = 0, taken_ = 0;
};

TEST_CASE("what is charged agrees with a model of what ran") {
  const Means rich = {.points = 2'000'000'000, .day_limit = {}};
  const Means poor = {.points = 30'000, .day_limit = {}};
  const Means capped = {.points = 2'000'000'000, .day_limit = 5'000};
  const Means changing = {.points = 100'000, .day_limit = {}, .changes_budgets = true};
  for (const Means& means : {rich, poor, capped, changing})
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(seed, means.points, means.changes_budgets);
      Fortnight fortnight(seed, means);
      fortnight.run(120);
      fortnight.compare();
    }
}

}  // namespace
