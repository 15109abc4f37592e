// What users, operators and the loops do in the simulation, each together with the model.
#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/ledger/pending.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/points/claw_backs.h"
#include "controller/domain/points/points.h"
#include "controller/domain/points/refunds.h"
#include "tests/simulate/economy.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view redirect_uri = "https://game.example.org/callback";
constexpr std::string_view verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
constexpr Duration hold_life = 10min;
constexpr int batch = 1'000;  // more than any run has

// How many rows the connection has changed. On PostgreSQL no doubts are left over from the writes
// before, so nobody needs the number.
std::int64_t changes(db::Tx& tx) {
  return tx.writers() == db::Writers::many ? 0 : tx.number("SELECT total_changes()");
}

}  // namespace

template <typename Work, typename Same>
void Economy::attempt(const Ending& expected, Work&& work, Same&& same, Isolation isolation) {
  Ending ending = "ok";
  int runs = 0;
  bool ran = false, wrote = false;
  const auto run = [&](db::Tx& tx) {
    ran = false;
    ++runs;
    const auto before = changes(tx);
    work(tx);
    wrote = changes(tx) > before;
    ran = true;
  };
  try {
    if (isolation == Isolation::row_locks)
      database_->write_with_row_locks(run);
    else
      database_->write(run);
  } catch (const Error& error) {
    ending = name(error.code);
  }
  counts_.reruns += std::max(runs - 1, 0);
  if (ending == name(Code::unavailable)) {
    const bool is_in_doubt = engine_.is_in_doubt(ran);
    if (!is_in_doubt && !engine_.is_failing()) fail("refused, and the store is well");
    ++counts_.faults;
    if (!is_in_doubt) return;
    ++counts_.doubts;
    doubts_.push_back(model_);
    same(doubts_.back());
    if (engine_.wait_for_outcome()) settle_doubts();
    return;
  }
  if (ending != expected) fail("ended with " + ending + " and not with " + expected);
  ++counts_.answered;
  if (ending != "ok") return;
  // What the disk accepted now has overwritten the failed commit.
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
  std::string id;
  attempt(
      expected,
      [&](db::Tx& tx) { id = ledger::mint(tx, account_of(account), amount, "simulation"); },
      [&](Model& model) {
        model = after;
        if (account != "treasury") model.gifts[id] = {.from = {}, .to = account, .amount = amount};
      });
}

void Economy::create_app() {
  doing_ = "create an app";
  std::vector<std::string> owners;
  for (const auto& id : living_users())
    if (model_.users.at(id).verified) owners.push_back(id);
  if (owners.empty() || living_apps().size() >= 6) return;
  const std::string owner = pick(owners);
  // The names of deleted apps aren't free at once.
  const std::string name = "App " + std::to_string(++named_);
  std::string made;
  const auto make = [&](db::Tx& tx) {
    const apps::App app = apps::create(tx, owner,
                                       {.app_name = name,
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
  // Setting the same value changes no page, so a failed commit wouldn't be overwritten.
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
  Model::Spend made;
  const Ending expected = after.spend(consent.app, consent.user, amount, made);
  std::string id;
  const auto pay = [&](db::Tx& tx) {
    id = points::spend(tx,
                       {.grant_id = grant_ids_.at({consent.app, consent.user}),
                        .user_id = consent.user,
                        .app_id = consent.app,
                        .amount = amount,
                        .description = ""},
                       rewards_)
             .id;
  };
  attempt(expected, pay, [&](Model& model) {
    model = after;
    model.spends[id] = made;
  });
}

void Economy::refund() {
  doing_ = "refund";
  std::vector<std::string> ids;
  for (const auto& [id, spend] : model_.spends)
    if (!model_.apps.at(spend.app).deleted) ids.push_back(id);
  if (ids.empty()) return;
  const std::string id = pick(ids);
  const Model::Spend& spend = model_.spends.at(id);
  const std::int64_t left = spend.amount - spend.refunded;
  // All that is left, a part of it, or more.
  const std::int64_t amount = one_in(3)   ? std::max(left, std::int64_t(1))
                              : one_in(6) ? left + 1
                                          : 1 + std::int64_t(below(std::uint64_t(spend.amount)));
  const std::string app = spend.app;
  Model after = model_;
  Model::Gift made;
  const Ending expected = after.refund(id, amount, made);
  std::string refund_id;
  attempt(
      expected,
      [&](db::Tx& tx) {
        refund_id =
            points::refund(tx, {.spend_id = id, .amount = amount, .reason = "", .app_id = app}).id;
      },
      [&](Model& model) {
        model = after;
        model.gifts[refund_id] = made;
      });
}

void Economy::claw_back() {
  doing_ = "claw back";
  std::vector<std::string> ids;
  for (const auto& [id, gift] : model_.gifts) ids.push_back(id);
  if (ids.empty()) return;
  const std::string id = pick(ids);
  const Model::Gift& gift = model_.gifts.at(id);
  const std::int64_t left = gift.amount - gift.taken_back;
  // All that is left, a part of it, or more.
  const std::int64_t amount = one_in(3)   ? std::max(left, std::int64_t(1))
                              : one_in(6) ? left + 1
                                          : 1 + std::int64_t(below(std::uint64_t(gift.amount)));
  Model after = model_;
  const Ending expected = after.claw_back(id, amount);
  attempt(
      expected,
      [&](db::Tx& tx) {
        points::claw_back(
            tx, {.transaction_id = id, .amount = amount, .reason = "", .admin = "simulation"});
      },
      [&](Model& model) { model = after; });
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
      [&](db::Tx& tx) {
        points::transfer(tx, {.user_id = from, .grant_id = {}}, {.user_id = to, .username = {}},
                         amount, "");
      },
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
        // The rows of holds that were closed are removed after a day.
        const auto hold = holds::find(tx, id);
        posted = hold && holds::post(tx, *hold, account_of(to), "simulation", "").has_value();
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

void Economy::deploy_on(const std::string& tier,
                        Ending (Model::*order_in)(const std::string&, std::int64_t),
                        bool is_metered) {
  const auto all = living_apps();
  if (all.empty()) return;
  const std::string app = pick(all);
  deployments::Order order = {.name = "app" + std::to_string(++named_),
                              .tier = tier,
                              .custom_domain = {},
                              .container = {.image = "ghcr.io/acme/web:1", .health_path = {}},
                              .secrets = {}};
  const std::int64_t containers = some_number();
  order.container.replicas = int(containers);
  Model after = model_;
  const Ending expected = (after.*order_in)(app, containers);
  std::string id;
  attempt(
      expected,
      [&](db::Tx& tx) {
        id = deployments::create(tx, actor_of(app), order, rules_, keys_.data).id;
      },
      [&](Model& model) {
        model = after;
        model.apps.at(app).deployments.insert(id);
        if (is_metered)
          model.apps.at(app).metered[id].containers = containers;
        else
          model.apps.at(app).paid[id] = {.containers = containers,
                                         .created_at = model.now,
                                         .paid_until = model.now + Model::period,
                                         .rate = Model::tier_cost * containers};
      },
      Isolation::row_locks);
}

void Economy::deploy() {
  doing_ = "deploy";
  deploy_on("paid", &Model::deploy, false);
}

void Economy::change_number() {
  doing_ = "change a number of containers";
  std::vector<MeteredAt> all;
  for (const auto& [app, state] : model_.apps)
    for (const std::string& deployment : state.deployments)
      all.push_back({.app = app, .deployment = deployment});
  if (all.empty()) return;
  const MeteredAt at = all[below(all.size())];
  const Model::App& app = model_.apps.at(at.app);
  const auto paid = app.paid.find(at.deployment);
  const std::int64_t before =
      paid == app.paid.end() ? app.metered.at(at.deployment).containers : paid->second.containers;
  const std::int64_t containers = some_number();
  if (containers == before) return;
  Model after = model_;
  const Ending expected = after.change_number(at.app, at.deployment, containers);
  // A store that fails ends with that, too.
  if (expected == name(Code::unavailable)) return;
  deployments::Change change;
  change.set(&deployments::ContainerSpec::replicas, int(containers));
  attempt(
      expected,
      [&](db::Tx& tx) {
        deployments::change(tx, actor_of(at.app), at.deployment, change, rules_, keys_.data);
      },
      [&](Model& model) { model = after; });
}

void Economy::destroy() {
  doing_ = "destroy";
  for (const auto& [app, state] : model_.apps) {
    if (state.deployments.empty() || one_in(2)) continue;
    const std::string id = *state.deployments.begin(), app_id = app;
    attempt(
        "ok", [&](db::Tx& tx) { deployments::destroy(tx, actor_of(app_id), id); },
        [&](Model& model) { model.destroy(app_id, id); });
    return;
  }
}

void Economy::deploy_metered() {
  doing_ = "deploy by the hour";
  deploy_on("hourly", &Model::deploy_metered, true);
}

std::vector<Economy::MeteredAt> Economy::metered(bool running) const {
  std::vector<MeteredAt> found;
  for (const auto& [app, state] : model_.apps)
    for (const auto& [deployment, metered] : state.metered)
      if (running ? !metered.pods.empty()
                  : metered.to_run && std::int64_t(metered.pods.size()) <= metered.containers)
        found.push_back({.app = app, .deployment = deployment});
  return found;
}

void Economy::begin_run() {
  doing_ = "begin a run";
  const auto waiting = metered(false);
  if (waiting.empty()) return;
  const MeteredAt at = waiting[below(waiting.size())];
  const std::string pod = "pod" + std::to_string(++pods_);
  const metering::Run run = {
      .name = pod + "/0", .process = "web", .started_at = clock_.now(), .ended_at = {}};
  attempt(
      "ok", [&](db::Tx& tx) { metering::record(tx, at.deployment, {run}, {}); },
      [&](Model& model) { model.begin_run(at.app, at.deployment, pod); });
}

// The run's start is no longer known by then, as little as that of one that nobody saw.
void Economy::end_run() {
  doing_ = "end a run";
  const auto running = metered(true);
  if (running.empty()) return;
  const MeteredAt at = running[below(running.size())];
  std::vector<std::string> pods;
  for (const auto& [name, counted_to] : model_.apps.at(at.app).metered.at(at.deployment).pods)
    pods.push_back(name);
  const std::string pod = pick(pods);
  const metering::Run run = {
      .name = pod + "/0", .process = "web", .started_at = clock_.now(), .ended_at = clock_.now()};
  attempt(
      "ok", [&](db::Tx& tx) { metering::record(tx, at.deployment, {run}, {}); },
      [&](Model& model) { model.end_run(at.app, at.deployment, pod); });
}

void Economy::look_at_metered() {
  doing_ = "look at what is metered";
  std::vector<std::string> apps;
  for (const auto& [id, app] : model_.apps)
    if (!app.metered.empty()) apps.push_back(id);
  if (apps.empty()) return;
  const std::string app = pick(apps);
  // Another time, so that the write changes something.
  clock_.advance(Duration(1));
  model_.now = to_millis(clock_.now());
  for (Model& doubt : doubts_) doubt.now = model_.now;
  attempt(
      "ok",
      [&](db::Tx& tx) {
        metering::set_watched_until(tx, tx.now());
        metering::settle_due(tx, app, keys_.data);
      },
      [&](Model& model) { model.look_at(app); });
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
                                .surface_type = ads::SurfaceType::banner,
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
      .app_id = pick(all), .user_id = pick(users), .surface_type = ads::SurfaceType::banner};
  index_->refresh(*database_);
  std::optional<ads::Served> served;
  const auto choose = [&](db::Tx& tx) {
    served.reset();
    try {
      served = tx.nested([&] { return ads::serve(tx, *index_, ad_rules_, request); });
    } catch (const Error& error) {
      if (error.code != Code::no_ad_available) throw;
    }
  };
  attempt(
      "ok", choose,
      [&](Model& model) {
        if (!served) return;
        if (!model.can_serve(served->campaign.id)) fail("a campaign was served that can't be");
        model.served(served->impression_token, {.campaign = served->campaign.id,
                                                .app = request.app_id,
                                                .user = request.user_id,
                                                .expires_at = to_millis(served->expires_at)});
      },
      Isolation::row_locks);
}

void Economy::report() {
  doing_ = "report an impression";
  if (model_.impressions.empty()) return;
  // Mostly a new impression, sometimes one that was reported before.
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
                                           .event_type = ads::EventType::impression,
                                           .surface_type = ads::SurfaceType::banner,
                                           .impression_token = token});
        outcome = recorded.paid ? "paid" : to_string(recorded.unpaid_reason).value_or("counted");
      },
      [&](Model& model) {
        if (const Ending due = model.report(token); due != outcome)
          fail("an impression is " + outcome + ", and by the model " + due);
      },
      Isolation::row_locks);
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
        },
        Isolation::row_locks);
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
      expected, [&](db::Tx& tx) { accounts::delete_account(tx, *accounts::find(tx, user), keys_); },
      [&](Model& model) { model = after; });
}

void Economy::fold() {
  doing_ = "fold pending credits";
  attempt(
      "ok", [](db::Tx& tx) { ledger::fold(tx); }, [](Model&) {}, Isolation::row_locks);
}

void Economy::pass_time() {
  doing_ = "pass time";
  const std::int64_t jumps[] = {1'000, 60'000, Model::hour, Model::day, 10 * Model::day};
  clock_.advance(std::chrono::milliseconds(jumps[below(std::size(jumps))]));
  model_.now = to_millis(clock_.now());
  for (Model& doubt : doubts_) doubt.now = model_.now;
  attempt(
      "ok", [&](db::Tx& tx) { holds::expire(tx, batch); }, [&](Model& model) { model.expire(); },
      Isolation::row_locks);
  attempt(
      "ok", [&](db::Tx& tx) { expiry::remove_some(tx, batch); }, [](Model&) {});
}

}  // namespace berth::simulate
