#include "tests/simulate/farmers.h"

#include <map>
#include <optional>
#include <utility>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/items/cosmetics.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/points/points.h"

namespace berth::simulate {
namespace {

constexpr std::string_view redirect_uri = "https://farm.example.org/callback";
constexpr std::string_view verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
constexpr int days_between_tricks = 10;
constexpr std::int64_t reward_in_between = 1'000;  // the most that a user gets on a day

// One farmer: the accounts, an app of each of them, and the account that is to get everything.
class Farm {
 public:
  Farm(Engine& engine, std::string name)
      : clock_(Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"))),
        db_(engine.open(clock_)),
        name_(std::move(name)) {
    db_.subscribe([this](db::Topic topic, const std::string& id) {
      if (topic == db::Topic::campaign) index_.changed(id);
    });
    db_.write([](db::Tx& tx) {
      ledger::open_account(tx, ledger::issuance());
      ledger::mint(tx, ledger::treasury(), 100'000'000, "the treasury");
    });
    collector_ = sign_up("");
    apps_.push_back(new_app(collector_));
    const std::string code =
        db_.read([&](db::Tx& tx) { return accounts::find(tx, collector_)->referral_code; });
    for (int i = 1; i < farm_accounts; ++i) {
      accounts_.push_back(sign_up(code));
      apps_.push_back(new_app(accounts_.back()));
    }
  }

  // Every account gets what it can for nothing, and then does what the farmer has thought of.
  template <typename Trick>
  Harvest work(Trick&& trick) {
    for (int day = 0; day < farm_days; day += days_between_tricks) {
      for (const std::string& account : accounts_) reward(account);
      for (size_t i = 0; i < accounts_.size(); ++i) trick(*this, i);
      clock_.advance(std::chrono::hours(24 * days_between_tricks));
    }
    // What the collector's own sign-up brought isn't farmed.
    const std::int64_t own = bonus_.points * bonus_.first_multiplier;
    return {.way = name_,
            .given = given_,
            .gathered = balance(ledger::user_account(collector_)) +
                        balance(ledger::app_account(apps_[0].id)) - own + worth_};
  }

  std::int64_t points_of(size_t i) { return balance(ledger::user_account(accounts_[i])); }

  bool transfer(const std::string& from, const std::string& to, std::int64_t amount) {
    return tried([&](db::Tx& tx) {
      points::transfer(tx, {.user_id = from, .grant_id = {}}, {.user_id = to, .username = {}},
                       amount, "");
    });
  }
  bool spend(const std::string& user, const apps::App& app, std::int64_t amount) {
    const std::string grant = grant_of(user, app);
    return tried([&](db::Tx& tx) {
      points::spend(tx,
                    {.grant_id = grant,
                     .user_id = user,
                     .app_id = app.id,
                     .amount = amount,
                     .description = ""},
                    rewards_);
    });
  }
  // An item of this price for the collector, whom it is worth as much.
  void gift(size_t i, std::int64_t price) {
    const bool given = tried([&](db::Tx& tx) {
      const auto item = cosmetics::create(tx, {.id = {},
                                               .name = "hat",
                                               .description = {},
                                               .category = cosmetics::Category::hat,
                                               .rarity = cosmetics::Rarity::common,
                                               .asset_url = {},
                                               .price_points = price,
                                               .available = true});
      cosmetics::give(tx, {.user_id = accounts_[i], .grant_id = {}}, item.id, collector_);
    });
    if (given) worth_ += price;
  }
  // The account's app advertises, and the collector's shows it to the accounts.
  void advertise(size_t i, std::int64_t payment) {
    const std::int64_t payout = campaigns::budget_of(payment);
    if (!tried([&](db::Tx& tx) {
          campaigns::create(tx, apps_[i + 1].id,
                            {.name = "Farm",
                             .surface_type = ads::SurfaceType::banner,
                             .total_payment = payment,
                             .payout_rate = payout});
        }))
      return;
    index_.refresh(db_);
    const std::string& viewer = accounts_[(i + 1) % accounts_.size()];
    tried([&](db::Tx& tx) {
      const auto served = ads::serve(
          tx, index_, ad_rules_,
          {.app_id = apps_[0].id, .user_id = viewer, .surface_type = ads::SurfaceType::banner});
      ads::record(tx, ad_rules_, rewards_,
                  {.app_id = apps_[0].id,
                   .user_id = viewer,
                   .campaign_id = served.campaign.id,
                   .event_type = ads::EventType::impression,
                   .surface_type = ads::SurfaceType::banner,
                   .impression_token = served.impression_token});
    });
  }

  const std::vector<std::string>& accounts() const { return accounts_; }
  const std::string& collector() const { return collector_; }
  const apps::App& app(size_t i) const { return apps_[i]; }  // the first one is the collector's

 private:
  template <typename Work>
  bool tried(Work&& work) {
    try {
      db_.write(std::forward<Work>(work));
      return true;
    } catch (const Error& refusal) {
      if (refusal.code == Code::unavailable) throw;
      return false;
    }
  }
  std::int64_t balance(const ledger::Account& account) {
    return db_.read([&](db::Tx& tx) { return ledger::balance(tx, account); });
  }

  std::string sign_up(const std::string& referral_code) {
    const std::string username = "farmer" + std::to_string(++named_);
    std::string id;
    db_.write([&](db::Tx& tx) {
      id = accounts::register_user(
               tx,
               {.email = username + "@example.org",
                .username = username,
                .password_hash = "none",
                .referral_code =
                    referral_code.empty() ? std::nullopt : std::optional(referral_code)},
               bonus_, keys_, "https://api.example.org")
               .id;
      accounts::mark_verified(tx, id, bonus_);
    });
    if (!referral_code.empty()) given_ += balance(ledger::user_account(id));
    return id;
  }

  apps::App new_app(const std::string& owner) {
    apps::App made;
    db_.write([&](db::Tx& tx) {
      const apps::App app = apps::create(tx, owner,
                                         {.app_name = "Farm",
                                          .app_description = "",
                                          .logo_url = {},
                                          .website_url = {},
                                          .redirect_uris = {std::string(redirect_uri)},
                                          .allowed_scopes = {Scope::points_spend}})
                                .app;
      apps::approve(tx, apps::request_scopes(tx, app, {Scope::points_spend}).id, "farm");
      made = *apps::find(tx, app.id);
    });
    return made;
  }

  std::string grant_of(const std::string& user, const apps::App& app) {
    std::string& grant = grants_[{user, app.id}];
    if (!grant.empty()) return grant;
    db_.write([&](db::Tx& tx) {
      const auto code = oauth::authorize(tx, *accounts::find(tx, user),
                                         {.client_id = app.client_id,
                                          .redirect_uri = std::string(redirect_uri),
                                          .response_type = "code",
                                          .scope = "points:spend",
                                          .code_challenge = base64url(sha256(verifier)),
                                          .code_challenge_method = "S256"});
      const auto tokens = oauth::exchange_code(
          tx, app, code.value().code, std::string(redirect_uri), std::string(verifier), policy_);
      grant = oauth::check_access_token(tx, tokens.value().access_token).grant_id;
    });
    return grant;
  }

  void reward(const std::string& user) {
    db_.write([&](db::Tx& tx) {
      given_ += rewards::pay(tx, rewards_,
                             {.kind = rewards::Kind::session,
                              .user_id = user,
                              .app_owner_id = {},
                              .amount = reward_in_between,
                              .memo = "live time"})
                    .points;
    });
  }

  Clock clock_;
  db::Database& db_;
  const std::string name_;
  Keys keys_ = {.data = std::string(32, 'd'),
                .session = {{.id = "s", .secret = std::string(32, 's')}}};
  rewards::Rules rewards_;
  accounts::SignupBonus bonus_;
  oauth::Policy policy_;
  ads::Rules ad_rules_;
  ads::CampaignIndex index_;
  std::string collector_;
  std::vector<std::string> accounts_;
  std::vector<apps::App> apps_;
  std::map<std::pair<std::string, std::string>, std::string> grants_;  // user, app
  std::int64_t given_ = 0;
  std::int64_t worth_ = 0;  // of the gifts that the collector got
  int named_ = 0;
};

// Tries `give` with what the account has, and with less and less of it.
template <typename Give>
void as_much_as_goes(std::int64_t points, Give&& give) {
  for (; points > 0; points /= 2)
    while (give(points)) {
    }
}

using Trick = void (*)(Farm&, size_t);
struct Way {
  const char* name;
  Trick trick;
};
constexpr Way ways[] = {{"transfers to one account",
                         [](Farm& farm, size_t i) {
                           as_much_as_goes(farm.points_of(i), [&](std::int64_t points) {
                             return farm.transfer(farm.accounts()[i], farm.collector(), points);
                           });
                         }},
                        {"transfers by way of the next account",
                         [](Farm& farm, size_t i) {
                           const size_t next = (i + 1) % farm.accounts().size();
                           as_much_as_goes(farm.points_of(i), [&](std::int64_t points) {
                             return farm.transfer(farm.accounts()[i], farm.accounts()[next],
                                                  points);
                           });
                           as_much_as_goes(farm.points_of(next), [&](std::int64_t points) {
                             return farm.transfer(farm.accounts()[next], farm.collector(), points);
                           });
                         }},
                        {"spending in one app",
                         [](Farm& farm, size_t i) {
                           as_much_as_goes(farm.points_of(i), [&](std::int64_t points) {
                             return farm.spend(farm.accounts()[i], farm.app(0), points);
                           });
                         }},
                        {"gifts to one account",
                         [](Farm& farm, size_t i) {
                           for (std::int64_t points = farm.points_of(i); points > 0; points /= 2)
                             farm.gift(i, points);
                         }},
                        {"campaigns of each account's app in one app",
                         [](Farm& farm, size_t i) {
                           as_much_as_goes(farm.points_of(i), [&](std::int64_t points) {
                             return farm.spend(farm.accounts()[i], farm.app(i + 1), points);
                           });
                           farm.advertise(i, 100);
                         }},
                        {"a circle of referrals", [](Farm& farm, size_t i) {
                           // All were referred by the collector. Each spends in the app of the next
                           // one.
                           const size_t next = (i + 1) % farm.accounts().size();
                           as_much_as_goes(farm.points_of(i), [&](std::int64_t points) {
                             return farm.spend(farm.accounts()[i], farm.app(next + 1), points);
                           });
                         }}};

}  // namespace

std::vector<Harvest> farm(const std::function<Engine&()>& new_engine) {
  std::vector<Harvest> all;
  for (const Way& way : ways) {
    Farm farmer(new_engine(), way.name);
    all.push_back(farmer.work(way.trick));
  }
  return all;
}

}  // namespace berth::simulate
