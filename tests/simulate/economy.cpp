// What surrounds the requests: the process, its store and its death, and the look at everything.
#include "tests/simulate/economy.h"

#include <algorithm>
#include <set>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/ledger/ledger_audit.h"

namespace berth::simulate {
namespace {

// What a statement of a request may take; none is to be stopped, however busy the machine is.
constexpr std::chrono::minutes statement_time{1};

tiers::Tier paid_tier() {
  return {.id = {},
          .name = "Paid",
          .slug = "paid",
          .description = "",
          .monthly_cost_points = Model::tier_cost,
          .monthly_cost_sats = {},
          .memory_limit_mb = 128,
          .cpu_limit_millicores = 100,
          .max_deployments = {},
          .auto_approve = true,
          .max_replicas = Model::most_containers};
}

tiers::Tier hourly_tier() {
  tiers::Tier tier = paid_tier();
  tier.name = "Hourly";
  tier.slug = "hourly";
  tier.monthly_cost_points = 0;
  tier.points_per_hour = Model::hour_cost;
  return tier;
}

}  // namespace

ledger::Account account_of(const std::string& id) {
  const size_t colon = id.find(':');
  return colon == id.npos ? ledger::Account{id, ""}
                          : ledger::Account{id.substr(0, colon), id.substr(colon + 1)};
}

Economy::Economy(std::uint64_t seed, Engine& engine, int audit_every)
    : random_(seed),
      audit_every_(audit_every),
      engine_(engine),
      clock_(Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"))),
      keys_{.data = std::string(32, 'd'), .session = {{.id = "s", .secret = std::string(32, 's')}}},
      rewards_{.referral = Model::referral,
               .viewer = Model::viewer_reward,
               .user_daily = Model::user_daily,
               .owner_daily = Model::owner_daily,
               .total_daily = Model::total_daily},
      bonus_{.points = Model::signup_points,
             .daily_points = Model::signup_daily,
             .first_count = Model::first_count,
             .first_multiplier = Model::first_multiplier,
             .early_count = Model::early_count,
             .early_multiplier = Model::early_multiplier},
      rules_{.registries = {"ghcr.io"},
             .apps_domain = "apps.example.org",
             .base_host = "api.example.org"} {
  open();
  database_->write([](db::Tx& tx) {
    tiers::seed(tx, {paid_tier(), hourly_tier()});
    ledger::open_account(tx, ledger::treasury());
    ledger::open_account(tx, ledger::issuance());
  });
  model_.now = to_millis(clock_.now());
}

void Economy::open() {
  database_ = &engine_.open(clock_);
  index_.emplace();
  database_->subscribe([this](db::Topic topic, const std::string& id) {
    if (topic == db::Topic::campaign) index_->changed(id);
  });
}

void Economy::fail(const std::string& what) const {
  throw Broken("step " + std::to_string(counts_.steps) + " (" + doing_ + "): " + what);
}

std::int64_t Economy::some_amount() {
  switch (below(10)) {
    case 0:
      return 1;
    case 1:
      return Model::most - std::int64_t(below(1'000));
    default:
      return std::int64_t(1 + below(200));
  }
}

std::vector<std::string> Economy::living_users() const {
  std::vector<std::string> ids;
  for (const auto& [id, user] : model_.users)
    if (!user.deleted) ids.push_back(id);
  return ids;
}

std::vector<std::string> Economy::living_apps() const {
  std::vector<std::string> ids;
  for (const auto& [id, app] : model_.apps)
    if (!app.deleted) ids.push_back(id);
  return ids;
}

// With what two doubts may have alike but for its name: as many holds, campaigns and impressions of
// the same amounts; and limits of spending.
bool Economy::fits(db::Tx& tx, const Model& model) const {
  const auto is_there = [&](std::string_view sql, const std::string& name) {
    return tx.number(sql, name) == 1;
  };
  for (const auto& [id, hold] : model.holds)
    if (hold.open && !is_there("SELECT count(*) FROM ledger_holds WHERE id = $1", id)) return false;
  for (const auto& [id, campaign] : model.campaigns)
    if (!is_there("SELECT count(*) FROM campaigns WHERE id = $1", id)) return false;
  for (const auto& [id, spend] : model.spends)
    if (spend.refunded != tx.number("SELECT refunded FROM refundable_spends WHERE id = $1", id))
      return false;
  for (const auto& [id, gift] : model.gifts)
    if (gift.taken_back != tx.number("SELECT coalesce(sum(amount), 0) FROM claw_backs "
                                     "WHERE transaction_id = $1",
                                     id))
      return false;
  for (const auto& [token, impression] : model.impressions)
    if (!is_there("SELECT count(*) FROM ad_impressions WHERE token_hash = $1", token_hash(token)))
      return false;
  for (const auto& [key, grant] : model.grants)
    if (!model.apps.at(key.first).deleted && !model.users.at(key.second).deleted &&
        tx.number("SELECT count(*) FROM grants WHERE app_id = $1 AND user_id = $2 "
                  "AND daily_spend_limit IS NOT DISTINCT FROM $3",
                  key.first, key.second, grant.limit) != 1)
      return false;
  return difference(tx, model).empty();
}

void Economy::settle_doubts() {
  database_->read([&](db::Tx& tx) {
    if (fits(tx, model_)) return;
    for (const Model& doubt : doubts_)
      if (fits(tx, doubt)) {
        model_ = doubt;
        return;
      }
    std::string others;
    for (const Model& doubt : doubts_) others += "; or else " + difference(tx, doubt);
    fail("with a write in doubt, " + difference(tx, model_) + others);
  });
  doubts_.clear();
}

void Economy::kill() {
  doing_ = "kill";
  open();
  settle_doubts();
  audit();
  ++counts_.kills;
}

std::string Economy::difference(db::Tx& tx, const Model& model) const {
  auto accounts = tx.query(R"(
      SELECT id, points
      FROM (
        SELECT a.id, a.balance + (
          SELECT coalesce(sum(p.amount), 0)
          FROM ledger_pending p
          WHERE p.account_number = a.number) AS points
        FROM ledger_accounts a) AS each
      WHERE points <> 0)");
  std::int64_t found = 0;
  for (; accounts.next(); ++found)
    if (const auto balance = model.balance(accounts.text("id"));
        accounts.integer("points") != balance)
      return "the balance of " + accounts.text("id") + " is " +
             std::to_string(accounts.integer("points")) + ", and by the model " +
             std::to_string(balance);
  auto bonuses = tx.query(R"(SELECT id, bonus FROM ledger_accounts WHERE bonus <> 0)");
  std::int64_t marked = 0;
  for (; bonuses.next(); ++marked) {
    const auto of_model = model.bonus.find(bonuses.text("id"));
    if (of_model == model.bonus.end() || of_model->second != bonuses.integer("bonus"))
      return "the bonus of " + bonuses.text("id") + " is " +
             std::to_string(bonuses.integer("bonus")) + ", and not the model's";
  }
  if (std::ranges::count_if(model.bonus, [](const auto& one) { return one.second != 0; }) != marked)
    return "an account has no bonus, and by the model it has some";
  if (std::ranges::count_if(model.balances, [](const auto& one) { return one.second != 0; }) !=
      found)
    return "an account has no points, and by the model it has some";
  // Each by its name: as many others would do for a number.
  std::string users, apps;
  for (const auto& [id, user] : model.users)
    if (!user.deleted) users += id + (user.verified ? " verified, " : ", ");
  for (const auto& [id, app] : model.apps) {
    if (app.deleted) continue;
    apps += id + ", ";
    for (const std::string& deployment : app.deployments) apps += id + " " + deployment + ", ";
  }
  const auto lines = [&](std::string_view sql) {
    std::string all;
    for (auto rows = tx.query(sql); rows.next();) all += rows.text("line") + ", ";
    return all;
  };
  if (const auto there = lines(R"(
      SELECT id || CASE WHEN email_verified_at IS NULL THEN '' ELSE ' verified' END AS line
      FROM users
      WHERE deleted_at IS NULL
      ORDER BY id)");
      there != users)
    return "the users are " + there + "and by the model " + users;
  if (const auto there = lines(R"(
      SELECT id AS line
      FROM apps
      WHERE deleted_at IS NULL
      UNION ALL
      SELECT app_id || ' ' || id
      FROM deployments
      WHERE status <> 'destroyed'
      ORDER BY 1)");
      there != apps)
    return "the apps and deployments are " + there + "and by the model " + apps;
  std::set<std::string> held, remainders, numbers, runs, days, suspended;
  for (const auto& [id, app] : model.apps) {
    if (app.held > 0) held.insert("app:" + id + " " + std::to_string(app.held));
    if (app.remainder > 0) remainders.insert(id + " " + std::to_string(app.remainder));
    for (const auto& [name, deployment] : app.paid)
      numbers.insert(name + " " + std::to_string(deployment.containers));
    for (const auto& [name, deployment] : app.metered) {
      if (app.deployments.contains(name))
        numbers.insert(name + " " + std::to_string(deployment.containers));
      if (deployment.suspended) suspended.insert(name);
      for (const auto& [pod, counted_to] : deployment.pods)
        runs.insert(pod + " " + std::to_string(counted_to));
      for (const auto& [day, time] : deployment.used)
        days.insert(name + " " + std::to_string(day) + " " + std::to_string(time));
    }
  }
  const auto differs = [&](const std::string& what, std::string_view sql,
                           const std::set<std::string>& expected) -> std::string {
    std::set<std::string> there;
    for (auto rows = tx.query(sql); rows.next();) there.insert(rows.text("line"));
    if (there == expected) return "";
    std::string words = what + " are";
    for (const std::string& line : there) words += " " + line + ",";
    words += " and by the model";
    for (const std::string& line : expected) words += " " + line + ",";
    return words;
  };
  std::string words = differs("the points that are held", R"(
      SELECT id || ' ' || held AS line
      FROM ledger_accounts
      WHERE held > 0)",
                              held);
  if (words.empty())
    words = differs("the remainders of apps", R"(
        SELECT app_id || ' ' || remainder AS line
        FROM meter_apps
        WHERE remainder > 0)",
                    remainders);
  if (words.empty())
    words = differs("the numbers of containers", R"(
        SELECT id || ' ' || most_containers AS line
        FROM deployments
        WHERE status <> 'destroyed')",
                    numbers);
  if (words.empty())
    words = differs("the runs", R"(
        SELECT pod || ' ' || counted_to AS line
        FROM meter_intervals
        WHERE ended_at IS NULL)",
                    runs);
  if (words.empty())
    words = differs("the times to charge", R"(
        SELECT deployment_id || ' ' || day || ' ' || pending_milliseconds AS line
        FROM meter_days
        WHERE pending_milliseconds > 0)",
                    days);
  if (words.empty())
    words = differs("the suspended deployments", R"(
        SELECT id AS line
        FROM deployments
        WHERE billing_status = 'suspended' AND status <> 'destroyed')",
                    suspended);
  return words;
}

void Economy::compare() {
  database_->read([&](db::Tx& tx) {
    if (const std::string what = difference(tx, model_); !what.empty()) fail(what);
  });
}

void Economy::audit() {
  database_->read([&](db::Tx& tx) {
    for (const auto& [id, balance] : model_.balances)
      if (ledger::balance(tx, account_of(id)) != balance) fail("another balance of " + id);
    for (const auto& check : ledger::audit(tx))
      if (!check.ok) fail(check.name + ": " + check.detail);
  });
}

void Economy::step() {
  struct Choice {
    Action action;
    unsigned weight;
  };
  static constexpr Choice choices[] = {
      {&Economy::register_user, 3},   {&Economy::verify_user, 4}, {&Economy::mint, 8},
      {&Economy::create_app, 3},      {&Economy::connect, 4},     {&Economy::limit_spending, 1},
      {&Economy::spend, 25},          {&Economy::transfer, 12},   {&Economy::reward, 10},
      {&Economy::place_hold, 8},      {&Economy::post_hold, 6},   {&Economy::release_hold, 3},
      {&Economy::order_campaign, 4},  {&Economy::serve, 12},      {&Economy::report, 10},
      {&Economy::cancel_campaign, 1}, {&Economy::deploy, 4},      {&Economy::destroy, 3},
      {&Economy::remove_app, 1},      {&Economy::remove_user, 1}, {&Economy::fold, 6},
      {&Economy::pass_time, 4},       {&Economy::kill, 2},        {&Economy::refund, 8},
      {&Economy::deploy_metered, 4},  {&Economy::begin_run, 8},   {&Economy::end_run, 6},
      {&Economy::look_at_metered, 8}, {&Economy::claw_back, 4},   {&Economy::change_number, 8}};
  unsigned all = 0;
  for (const Choice& choice : choices) all += choice.weight;
  engine_.draw_fault([this](std::uint64_t bound) { return below(bound); });
  // Some as requests, whose transactions are other ones on PostgreSQL, and some as loops.
  const bool is_request = one_in(2);
  auto drawn = unsigned(below(all));
  const Choice* choice = std::begin(choices);
  for (; drawn >= choice->weight; ++choice) drawn -= choice->weight;
  const auto act = [&] { (this->*choice->action)(); };
  if (is_request)
    db::limited({.readers = db::Readers::ordinary, .statement_time = statement_time}, act);
  else
    act();
  // A disk that is full stays so for a while.
  if (engine_.is_failing() && one_in(2)) {
    engine_.heal();
    if (!database_->takes_writes()) fail("the store is well, and no write is taken");
  }
  compare();
  if (counts_.steps % audit_every_ == 0) audit();
  ++counts_.steps;
}

}  // namespace berth::simulate
