#include "tests/simulate/economy.h"

#include <sqlite3.h>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/ad_events.h"
#include "controller/domain/apps.h"
#include "controller/domain/connections.h"
#include "controller/domain/expiry.h"
#include "controller/domain/holds.h"
#include "controller/domain/ledger_audit.h"
#include "controller/domain/points.h"
#include "controller/domain/tiers.h"
#include "controller/domain/user_admin.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view redirect_uri = "https://game.example.org/callback";
constexpr std::string_view verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
constexpr Duration hold_life = 10min;
constexpr int batch = 1'000;  // more than a run ever has

ledger::Account account_of(const std::string& id) {
  const size_t colon = id.find(':');
  return colon == id.npos ? ledger::Account{id, ""}
                          : ledger::Account{id.substr(0, colon), id.substr(colon + 1)};
}

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
          .auto_approve = true};
}

}  // namespace

Economy::Economy(std::uint64_t seed, std::filesystem::path directory)
    : random_(seed),
      directory_(std::move(directory)),
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
    tiers::seed(tx, {paid_tier()});
    ledger::open_account(tx, ledger::treasury());
    ledger::open_account(tx, ledger::issuance());
  });
  model_.now = to_millis(clock_.now());
}

Economy::~Economy() {
  disk_.heal();
  database_.reset();
}

void Economy::open() {
  const auto file = directory_ / ("berth" + std::to_string(incarnation_) + ".db");
  database_.emplace(file, clock_, db::Options{.readers = 1, .vfs = disk_.name()});
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

template <typename Work, typename Same>
void Economy::attempt(const Ending& expected, Work&& work, Same&& same) {
  Ending ending = "ok";
  bool ran = false, wrote = false;
  try {
    database_->write([&](db::Tx& tx) {
      const auto before = tx.number("SELECT total_changes()");
      work(tx);
      wrote = tx.number("SELECT total_changes()") > before;
      ran = true;
    });
  } catch (const Error& error) {
    ending = name(error.code);
  }
  if (ending == name(Code::unavailable)) {
    if (disk_.failures() == 0) fail("refused as unavailable, and the disk is well");
    ++counts_.faults;
    if (!ran) return;
    doubts_.push_back(model_);
    same(doubts_.back());
    return;
  }
  if (ending != expected) fail("ended with " + ending + " and not with " + expected);
  ++counts_.answered;
  if (ending != "ok") return;
  // What the disk took now stands where the failed commit stood.
  if (wrote) doubts_.clear();
  same(model_);
}

void Economy::register_user() {
  doing_ = "register";
  const auto users = living_users();
  const std::string username = "user" + std::to_string(++named_);
  std::string code, referrer;
  if (!users.empty() && one_in(2)) {
    referrer = pick(users);
    code = database_->read([&](db::Tx& tx) { return accounts::find(tx, referrer)->referral_code; });
  }
  std::string made;
  const auto make = [&](db::Tx& tx) {
    made = accounts::register_user(tx,
                                   {.email = username + "@example.org",
                                    .username = username,
                                    .password_hash = "none",
                                    .referral_code = code},
                                   bonus_, keys_, "https://api.example.org")
               .id;
  };
  attempt("ok", make, [&](Model& model) {
    const auto number = std::int64_t(model.users.size()) + 1;
    model.users[made] = {.number = number, .referred_by = referrer};
  });
}

void Economy::verify_user() {
  doing_ = "verify";
  const auto users = living_users();
  if (users.empty()) return;
  const std::string user = pick(users);
  attempt(
      "ok", [&](db::Tx& tx) { accounts::mark_verified(tx, user, bonus_); },
      [&](Model& model) { model.verify(user); });
}

void Economy::mint() {
  doing_ = "mint";
  std::vector<std::string> accounts = {"treasury", "treasury"};
  for (const auto& id : living_users()) accounts.push_back("user:" + id);
  for (const auto& id : living_apps()) accounts.push_back("app:" + id);
  const std::string account = pick(accounts);
  const std::int64_t amount = some_amount();
  Model after = model_;
  const Ending expected = after.mint(account, amount);
  attempt(
      expected, [&](db::Tx& tx) { ledger::mint(tx, account_of(account), amount, "simulation"); },
      [&](Model& model) { model = after; });
}

void Economy::create_app() {
  doing_ = "create an app";
  std::vector<std::string> owners;
  for (const auto& id : living_users())
    if (model_.users.at(id).verified) owners.push_back(id);
  if (owners.empty() || living_apps().size() >= 6) return;
  const std::string owner = pick(owners);
  std::string made;
  const auto make = [&](db::Tx& tx) {
    const apps::App app = apps::create(tx, owner,
                                       {.app_name = "App",
                                        .app_description = "",
                                        .logo_url = {},
                                        .website_url = {},
                                        .redirect_uris = {std::string(redirect_uri)},
                                        .allowed_scopes = {Scope::points_spend}})
                              .app;
    apps::approve(tx, apps::request_scopes(tx, app, {Scope::points_spend}).id, "simulation");
    made = app.id;
  };
  attempt("ok", make, [&](Model& model) { model.apps[made].owner = owner; });
}

void Economy::connect() {
  doing_ = "connect";
  const auto users = living_users(), all = living_apps();
  if (users.empty() || all.empty()) return;
  const std::string user_id = pick(users), app_id = pick(all);
  const auto consent = [&](db::Tx& tx) {
    const apps::App app = *apps::find(tx, app_id);
    const auto code = oauth::authorize(tx, *accounts::find(tx, user_id),
                                       {.client_id = app.client_id,
                                        .redirect_uri = std::string(redirect_uri),
                                        .response_type = "code",
                                        .scope = "points:spend",
                                        .code_challenge = base64url(sha256(verifier)),
                                        .code_challenge_method = "S256"});
    const auto tokens = oauth::exchange_code(tx, app, code.value().code, std::string(redirect_uri),
                                             std::string(verifier), policy_);
    grant_ids_[{app_id, user_id}] =
        oauth::check_access_token(tx, tokens.value().access_token).grant_id;
  };
  attempt("ok", consent, [&](Model& model) { model.grants.try_emplace({app_id, user_id}); });
}

std::vector<Economy::Consent> Economy::living_consents() const {
  std::vector<Consent> living;
  for (const auto& [key, grant] : model_.grants)
    if (!model_.apps.at(key.first).deleted && !model_.users.at(key.second).deleted)
      living.push_back({.app = key.first, .user = key.second});
  return living;
}

void Economy::limit_spending() {
  doing_ = "limit spending";
  const auto living = living_consents();
  if (living.empty()) return;
  const Consent consent = living[below(living.size())];
  const std::optional<std::int64_t> limit =
      one_in(3) ? std::nullopt : std::optional(std::int64_t(below(300)));
  // The same once more changes no page, so that a failed commit would not be overwritten.
  if (limit == model_.grants.at({consent.app, consent.user}).limit) return;
  attempt(
      "ok",
      [&](db::Tx& tx) { connections::set_daily_spend_limit(tx, consent.user, consent.app, limit); },
      [&](Model& model) {
        model.grants.at({consent.app, consent.user}).limit = limit;
      });
}

void Economy::spend() {
  doing_ = "spend";
  const auto living = living_consents();
  if (living.empty()) return;
  const Consent consent = living[below(living.size())];
  const std::int64_t amount = some_amount();
  Model after = model_;
  const Ending expected = after.spend(consent.app, consent.user, amount);
  const auto pay = [&](db::Tx& tx) {
    points::spend(tx,
                  {.grant_id = grant_ids_.at({consent.app, consent.user}),
                   .user_id = consent.user,
                   .app_id = consent.app,
                   .amount = amount,
                   .description = ""},
                  rewards_);
  };
  attempt(expected, pay, [&](Model& model) { model = after; });
}

void Economy::transfer() {
  doing_ = "transfer";
  const auto users = living_users();
  if (users.empty()) return;
  const std::string from = pick(users), to = pick(users);
  const std::int64_t amount = some_amount();
  Model after = model_;
  const Ending expected = after.transfer(from, to, amount);
  attempt(
      expected,
      [&](db::Tx& tx) { points::transfer(tx, from, {.user_id = to, .username = {}}, amount, ""); },
      [&](Model& model) { model = after; });
}

void Economy::reward() {
  doing_ = "reward";
  const auto users = living_users(), all = living_apps();
  if (users.empty()) return;
  const std::string user = pick(users);
  const std::string owner = all.empty() || one_in(3) ? "" : model_.apps.at(pick(all)).owner;
  const auto amount = std::int64_t(1 + below(30));
  Model after = model_;
  const std::int64_t due = after.reward(user, owner, amount);
  std::int64_t paid = 0;
  const auto pay = [&](db::Tx& tx) {
    paid = rewards::pay(tx, rewards_,
                        {.kind = rewards::Kind::session,
                         .user_id = user,
                         .app_owner_id = owner.empty() ? std::nullopt : std::optional(owner),
                         .amount = amount,
                         .memo = ""})
               .points;
  };
  attempt("ok", pay, [&](Model& model) {
    if (paid != due)
      fail("paid a reward of " + std::to_string(paid) + ", due " + std::to_string(due));
    model = after;
  });
}

void Economy::place_hold() {
  doing_ = "place a hold";
  const auto all = living_apps();
  if (all.empty()) return;
  const std::string source = "app:" + pick(all);
  const std::int64_t amount = some_amount();
  std::optional<holds::Hold> hold;
  const auto place = [&](db::Tx& tx) {
    hold = holds::place(tx, {.source = account_of(source),
                             .amount = amount,
                             .purpose = "simulation",
                             .life = hold_life});
  };
  attempt("ok", place, [&](Model& model) {
    if (hold.has_value() != model.place(source, amount))
      fail("a hold that should not be, or none that should");
    if (hold) model.placed(hold->id, source, amount, hold_life.count());
  });
}

std::string Economy::pick_hold() {
  auto hold = model_.holds.begin();
  std::advance(hold, std::ptrdiff_t(below(model_.holds.size())));
  return hold->first;
}

void Economy::post_hold() {
  doing_ = "post a hold";
  const auto users = living_users();
  if (model_.holds.empty() || users.empty()) return;
  const std::string id = pick_hold(), to = "user:" + pick(users);
  bool posted = false;
  attempt(
      "ok",
      [&](db::Tx& tx) {
        posted = holds::post(tx, id, account_of(to), "simulation", "").has_value();
      },
      [&](Model& model) {
        if (model.post(id, to) != posted) fail("a hold was posted, or not, against the model");
      });
}

void Economy::release_hold() {
  doing_ = "release a hold";
  if (model_.holds.empty()) return;
  const std::string id = pick_hold();
  bool released = false;
  attempt(
      "ok", [&](db::Tx& tx) { released = holds::void_hold(tx, id); },
      [&](Model& model) {
        if (model.release(id) != released) fail("a hold was released, or not, against the model");
      });
}

void Economy::deploy() {
  doing_ = "deploy";
  const auto all = living_apps();
  if (all.empty()) return;
  const std::string app = pick(all);
  const deployments::Order order = {.name = "app" + std::to_string(++named_),
                                    .image = "ghcr.io/acme/web:1",
                                    .tier = "paid",
                                    .custom_domain = {},
                                    .health_path = {},
                                    .env = {},
                                    .registry_credentials = {}};
  Model after = model_;
  const Ending expected = after.deploy(app);
  std::string id;
  attempt(
      expected,
      [&](db::Tx& tx) {
        id = deployments::create(tx, actor_of(app), order, rules_, keys_.data).id;
      },
      [&](Model& model) {
        model = after;
        model.apps.at(app).deployments.insert(id);
      });
}

void Economy::destroy() {
  doing_ = "destroy";
  for (const auto& [app, state] : model_.apps) {
    if (state.deployments.empty() || one_in(2)) continue;
    const std::string id = *state.deployments.begin(), app_id = app;
    attempt(
        "ok", [&](db::Tx& tx) { deployments::destroy(tx, actor_of(app_id), id); },
        [&](Model& model) { model.apps.at(app_id).deployments.erase(id); });
    return;
  }
}

deployments::Actor Economy::actor_of(const std::string& app) const {
  return {.user_id = model_.apps.at(app).owner, .app_id = app, .request_id = "simulation"};
}

void Economy::order_campaign() {
  doing_ = "order a campaign";
  const auto all = living_apps();
  if (all.empty()) return;
  const std::string app = pick(all);
  const std::int64_t payment = some_amount(), payout = 1 + std::int64_t(below(40));
  std::string id;
  attempt(
      model_.order_campaign(app, payment, payout),
      [&](db::Tx& tx) {
        id = campaigns::create(tx, app,
                               {.name = "Campaign",
                                .surface_type = "banner",
                                .total_payment = payment,
                                .payout_rate = payout})
                 .id;
      },
      [&](Model& model) { model.ordered(id, app, payment, payout); });
}

void Economy::serve() {
  doing_ = "serve an ad";
  const auto users = living_users(), all = living_apps();
  if (users.empty() || all.empty()) return;
  const ads::ServeRequest request = {
      .app_id = pick(all), .user_id = pick(users), .surface_type = "banner"};
  index_->refresh(*database_);
  std::optional<ads::Served> served;
  const auto choose = [&](db::Tx& tx) {
    try {
      served = tx.nested([&] { return ads::serve(tx, *index_, ad_rules_, request); });
    } catch (const Error& error) {
      if (error.code != Code::no_ad_available) throw;
    }
  };
  attempt("ok", choose, [&](Model& model) {
    if (!served) return;
    if (!model.can_serve(served->campaign.id)) fail("a campaign was served that can't be");
    model.served(served->impression_token, {.campaign = served->campaign.id,
                                            .app = request.app_id,
                                            .user = request.user_id,
                                            .expires_at = to_millis(served->expires_at)});
  });
}

void Economy::report() {
  doing_ = "report an impression";
  if (model_.impressions.empty()) return;
  // Mostly a new one, sometimes one that was reported before.
  auto chosen = model_.impressions.begin();
  std::advance(chosen, std::ptrdiff_t(below(model_.impressions.size())));
  for (auto one = model_.impressions.begin(); one != model_.impressions.end() && !one_in(4); ++one)
    if (!one->second.used) chosen = one;
  const std::string token = chosen->first;
  const Model::Impression impression = chosen->second;
  if (model_.apps.at(impression.app).deleted || model_.users.at(impression.user).deleted) return;
  Ending outcome;
  attempt(
      "ok",
      [&](db::Tx& tx) {
        const auto recorded = ads::record(tx, ad_rules_, rewards_,
                                          {.app_id = impression.app,
                                           .user_id = impression.user,
                                           .campaign_id = impression.campaign,
                                           .event_type = "impression",
                                           .surface_type = "banner",
                                           .impression_token = token});
        outcome = recorded.paid ? "paid" : recorded.unpaid_reason.value_or("counted");
      },
      [&](Model& model) {
        if (const Ending due = model.report(token); due != outcome)
          fail("an impression is " + outcome + ", and by the model " + due);
      });
}

void Economy::cancel_campaign() {
  doing_ = "cancel a campaign";
  for (const auto& [id, campaign] : model_.campaigns) {
    if (!campaign.live || one_in(2)) continue;
    const std::string chosen = id;
    const campaigns::Actor actor = {.app_id = campaign.app,
                                    .user_id = model_.apps.at(campaign.app).owner};
    std::int64_t refunded = 0;
    attempt(
        "ok", [&](db::Tx& tx) { refunded = campaigns::cancel(tx, actor, chosen).refunded; },
        [&](Model& model) {
          if (const auto due = model.cancel(chosen); due != refunded)
            fail("a refund of " + std::to_string(refunded) + ", due " + std::to_string(due));
        });
    return;
  }
}

void Economy::remove_app() {
  doing_ = "remove an app";
  const auto all = living_apps();
  if (all.empty()) return;
  const std::string app = pick(all);
  Model after = model_;
  const Ending expected = after.remove_app(app);
  attempt(
      expected, [&](db::Tx& tx) { apps::remove(tx, *apps::find(tx, app)); },
      [&](Model& model) { model = after; });
}

void Economy::remove_user() {
  doing_ = "remove a user";
  const auto users = living_users();
  if (users.empty()) return;
  const std::string user = pick(users);
  Model after = model_;
  Ending expected = "ok";
  for (const auto& [id, app] : model_.apps)
    if (app.owner == user && !app.deleted && after.remove_app(id) != "ok")
      expected = "invalid_state";
  if (expected == "ok") after.remove_user(user);
  attempt(
      expected, [&](db::Tx& tx) { accounts::delete_account(tx, *accounts::find(tx, user)); },
      [&](Model& model) { model = after; });
}

void Economy::pass_time() {
  doing_ = "pass time";
  const std::int64_t jumps[] = {1'000, 60'000, Model::hour, Model::day, 10 * Model::day};
  clock_.advance(std::chrono::milliseconds(jumps[below(std::size(jumps))]));
  model_.now = to_millis(clock_.now());
  for (Model& doubt : doubts_) doubt.now = model_.now;
  attempt(
      "ok", [&](db::Tx& tx) { expiry::remove_some(tx, batch); },
      [&](Model& model) { model.expire(); });
}

void Economy::settle_doubts() {
  database_->read([&](db::Tx& tx) {
    if (difference(tx, model_).empty()) return;
    for (const Model& doubt : doubts_)
      if (difference(tx, doubt).empty()) {
        model_ = doubt;
        return;
      }
    std::string others;
    for (const Model& doubt : doubts_) others += "; or else " + difference(tx, doubt);
    fail("after the kill, " + difference(tx, model_) + others);
  });
  doubts_.clear();
}

// What a process that ends without notice leaves: the files as they are.
void Economy::kill() {
  doing_ = "kill";
  const auto file = directory_ / ("berth" + std::to_string(incarnation_++) + ".db");
  const auto next = directory_ / ("berth" + std::to_string(incarnation_) + ".db");
  for (const char* suffix : {"", "-wal"})
    if (std::filesystem::exists(file.string() + suffix))
      std::filesystem::copy_file(file.string() + suffix, next.string() + suffix);
  disk_.heal();
  open();
  settle_doubts();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
  ++counts_.kills;
}

void Economy::arm_fault() {
  constexpr std::pair<test::FaultVfs::Operation, int> faults[] = {
      {test::FaultVfs::Operation::write, SQLITE_FULL},
      {test::FaultVfs::Operation::write, SQLITE_IOERR_WRITE},
      {test::FaultVfs::Operation::sync, SQLITE_IOERR_FSYNC}};
  const auto& [operation, code] = faults[below(std::size(faults))];
  disk_.fail(operation, int(1 + below(8)), code,
             one_in(2) ? test::FaultVfs::Lasting::once : test::FaultVfs::Lasting::until_healed);
}

std::string Economy::difference(db::Tx& tx, const Model& model) const {
  std::int64_t known = 0;
  for (const auto& [id, balance] : model.balances) {
    if (const auto there = ledger::balance(tx, account_of(id)); there != balance)
      return "the balance of " + id + " is " + std::to_string(there) + ", and by the model " +
             std::to_string(balance);
    known += balance != 0;
  }
  if (tx.number("SELECT count(*) FROM ledger_accounts WHERE balance <> 0") != known)
    return "an account has points that the model doesn't know";
  std::int64_t users = 0, apps = 0;
  for (const auto& [id, user] : model.users) users += user.deleted ? 0 : user.verified ? 2 : 1;
  for (const auto& [id, app] : model.apps)
    apps += app.deleted ? 0 : 1 + std::int64_t(app.deployments.size());
  if (tx.number("SELECT count(*) + count(email_verified_at) FROM users WHERE deleted_at IS NULL") !=
      users)
    return "there are other users than in the model";
  if (tx.number("SELECT (SELECT count(*) FROM apps WHERE deleted_at IS NULL) + "
                "(SELECT count(*) FROM deployments WHERE status <> 'destroyed')") != apps)
    return "there are other apps or deployments than " + std::to_string(apps) + " in the model";
  return "";
}

void Economy::look_at_everything() {
  database_->read([&](db::Tx& tx) {
    for (const auto& check : ledger::audit(tx))
      if (!check.ok) fail(check.name + ": " + check.detail);
    if (const std::string what = difference(tx, model_); !what.empty()) fail(what);
  });
}

void Economy::step() {
  struct Choice {
    Action action;
    unsigned weight;
  };
  static constexpr Choice choices[] = {
      {&Economy::register_user, 3},  {&Economy::verify_user, 4},
      {&Economy::mint, 8},           {&Economy::create_app, 3},
      {&Economy::connect, 4},        {&Economy::limit_spending, 1},
      {&Economy::spend, 25},         {&Economy::transfer, 12},
      {&Economy::reward, 10},        {&Economy::place_hold, 8},
      {&Economy::post_hold, 6},      {&Economy::release_hold, 3},
      {&Economy::order_campaign, 4}, {&Economy::serve, 12},
      {&Economy::report, 10},        {&Economy::cancel_campaign, 1},
      {&Economy::deploy, 4},         {&Economy::destroy, 3},
      {&Economy::remove_app, 1},     {&Economy::remove_user, 1},
      {&Economy::pass_time, 4},      {&Economy::kill, 2}};
  unsigned all = 0;
  for (const Choice& choice : choices) all += choice.weight;
  if (one_in(12)) arm_fault();
  auto drawn = unsigned(below(all));
  for (const Choice& choice : choices) {
    if (drawn < choice.weight) {
      (this->*choice.action)();
      break;
    }
    drawn -= choice.weight;
  }
  // A disk that is full stays so for a while.
  if (disk_.failures() > 0 && one_in(2)) {
    disk_.heal();
    if (!database_->takes_writes()) fail("the disk is well, and no write is taken");
  }
  look_at_everything();
  ++counts_.steps;
}

}  // namespace berth::simulate
