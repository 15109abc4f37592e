// What writes promise in which others may commit (Database::write_with_row_locks): what can be used
// once is used once, and whatever needs more refuses to run. On SQLite writes run one after the
// other, with the same results; tests/postgres/run lets this run on PostgreSQL.
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/accounts/passkeys.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/ads/placing.h"
#include "controller/domain/apps/app_changes.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/deployments/app_variables.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"
#include "controller/domain/deployments/metering/budgets.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/stipends.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/play_sessions.h"
#include "controller/domain/points/claw_backs.h"
#include "controller/domain/points/proposals.h"
#include "controller/domain/points/refund_requests.h"
#include "controller/domain/points/refunds.h"
#include "controller/domain/social/chat.h"
#include "controller/domain/social/friends.h"
#include "controller/domain/webhooks/alerts.h"
#include "controller/domain/webhooks/webhooks.h"
#include "tests/domain/world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr int racers = 8;
constexpr int rounds = 5;  // of each prize

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.new_app(ada).app;

  Fixture() {
    world.write(apps::add_built_in);
    world.mint(ledger::user_account(ada.id), 1'000);
  }
  apps::App client() {
    return world.read([](db::Tx& tx) {
      return *apps::find_by_client_id(tx, std::string(apps::built_in_client_id));
    });
  }
  oauth::DeviceAuthorization device() {
    return world.write([&](db::Tx& tx) {
      return oauth::authorize_device(tx, client(),
                                     {.scope = "profile:read", .address = "", .user_agent = ""},
                                     world.keys.data);
    });
  }
  bool decide(db::Tx& tx, const std::string& code, oauth::DeviceDecision decision) {
    return oauth::decide_device_request(tx, ada, code, decision, world.keys.data);
  }
  std::string hold() {
    return world
        .write([&](db::Tx& tx) {
          return holds::place(tx, {.source = ledger::user_account(ada.id),
                                   .amount = 1,
                                   .purpose = "impression",
                                   .life = 60s});
        })
        ->id;
  }
  std::string totp_secret() {
    world.write([&](db::Tx& tx) { two_factor::forget(tx, ada.id); });
    return world.write([&](db::Tx& tx) { return two_factor::set_up(tx, ada, world.keys); }).secret;
  }
  std::vector<std::string> recovery_codes(const std::string& secret) {
    return world.write([&](db::Tx& tx) {
      return two_factor::enable(tx, ada, totp(secret, to_millis(world.clock.now()) / 1000),
                                world.keys, "https://api.example.org");
    });
  }
  std::string letter() {
    return world.write([&](db::Tx& tx) {
      return outbox::put(tx, world.keys.data,
                         {.to = "a@example.org", .subject = "s", .body = "b", .token = {}});
    });
  }
  std::string friend_request() {
    world.write([&](db::Tx& tx) { friends::end_between(tx, ada.id, bob.id); });
    return world.write([&](db::Tx& tx) { return friends::ask(tx, ada.id, bob.id); }).id;
  }
};

// Returns whether the prize was got. An Error means that it wasn't.
using Take = std::function<bool(db::Tx&)>;
// Something that works once.
struct Prize {
  const char* name;
  std::function<Take(Fixture&)> make;
};

const std::vector<Prize> prizes = {
    {"a refresh token",
     [](Fixture& f) -> Take {
       const std::string token = f.world.tokens(f.app, f.ada).refresh_token;
       return [&f, token](db::Tx& tx) {
         return oauth::refresh(tx, std::nullopt, token, f.world.policy).has_value();
       };
     }},
    {"an authorization code",
     [](Fixture& f) -> Take {
       const std::string code = f.world.authorize(f.app, f.ada);
       return [&f, code](db::Tx& tx) {
         return oauth::exchange_code(tx, f.app, code, redirect_uri, code_verifier, f.world.policy)
             .has_value();
       };
     }},
    {"a device code that was allowed",
     [](Fixture& f) -> Take {
       const auto codes = f.device();
       f.world.write(
           [&](db::Tx& tx) { f.decide(tx, codes.user_code, oauth::DeviceDecision::allow); });
       return [&f, code = codes.device_code, client = f.client()](db::Tx& tx) {
         return oauth::exchange_device_code(tx, client, code, f.world.policy).has_value();
       };
     }},
    {"the decision about a device",
     [](Fixture& f) -> Take {
       return [&f, code = f.device().user_code](db::Tx& tx) {
         return f.decide(tx, code, oauth::DeviceDecision::allow);
       };
     }},
    {"the refusal of a device",
     [](Fixture& f) -> Take {
       return [&f, code = f.device().user_code](db::Tx& tx) {
         return f.decide(tx, code, oauth::DeviceDecision::deny);
       };
     }},
    {"a mailed token",
     [](Fixture& f) -> Take {
       const std::string token = f.world.write([&](db::Tx& tx) {
         return accounts::new_email_token(tx, f.ada.id, accounts::EmailPurpose::reset_password, 1h);
       });
       return [token](db::Tx& tx) {
         accounts::take_email_token(tx, token, accounts::EmailPurpose::reset_password);
         return true;
       };
     }},
    {"a code of an authenticator",
     [](Fixture& f) -> Take {
       const std::string code = totp(f.totp_secret(), to_millis(f.world.clock.now()) / 1000);
       return [&f, code](db::Tx& tx) {
         return two_factor::take_code(tx, f.ada.id, code, f.world.keys);
       };
     }},
    {"a recovery code",
     [](Fixture& f) -> Take {
       const std::string code = f.recovery_codes(f.totp_secret()).front();
       return [&f, code](db::Tx& tx) {
         return two_factor::take_code(tx, f.ada.id, code, f.world.keys);
       };
     }},
    {"a hold that is posted",
     [](Fixture& f) -> Take {
       return [&f, id = f.hold()](db::Tx& tx) {
         return holds::post(tx, *holds::find(tx, id), ledger::user_account(f.bob.id), "impression",
                            "")
             .has_value();
       };
     }},
    {"a hold that is voided",
     [](Fixture& f) -> Take {
       return [id = f.hold()](db::Tx& tx) { return holds::void_hold(tx, id); };
     }},
    {"a scope request that is withdrawn",
     [](Fixture& f) -> Take {
       const std::string id = f.world.write(
           [&](db::Tx& tx) { return apps::request_scopes(tx, f.app, {Scope::points_spend}).id; });
       return [&f, id](db::Tx& tx) {
         apps::withdraw(tx, f.app, id);
         return true;
       };
     }},
    {"a friend request that is rejected",
     [](Fixture& f) -> Take {
       return [&f, id = f.friend_request()](db::Tx& tx) {
         friends::reject(tx, f.bob.id, id);
         return true;
       };
     }},
    {"a login session that is ended",
     [](Fixture& f) -> Take {
       return [&f, id = f.world.log_in(f.ada).id](db::Tx& tx) {
         accounts::end_session(tx, f.ada.id, id);
         return true;
       };
     }},
    {"an attempt to send a letter",
     [](Fixture& f) -> Take {
       return [&f, id = f.letter()](db::Tx& tx) {
         return outbox::begin_attempt(tx, f.world.keys.data, id, tx.now() + 1min).has_value();
       };
     }},
};

TEST_CASE("what can be used once is used once by writes with row locks, too") {
  Fixture f;
  CHECK(prizes.size() == 14);
  for (const Prize& prize : prizes)
    for (int round = 0; round < rounds; ++round) {
      INFO(prize.name << ", round " << round);
      f.world.clock.advance(1min);  // for the codes of an authenticator
      const Take take = prize.make(f);
      std::atomic<int> winners = 0;
      std::atomic<int> mistakes = 0;
      std::barrier start(racers);
      std::vector<std::thread> threads;
      for (int racer = 0; racer < racers; ++racer)
        threads.emplace_back([&] {
          start.arrive_and_wait();
          try {
            if (f.world.db.write_with_row_locks(take)) ++winners;
          } catch (const Error&) {
          } catch (const std::exception&) {
            ++mistakes;
          }
        });
      for (std::thread& thread : threads) thread.join();
      CHECK(mistakes == 0);
      CHECK(winners == 1);
    }
}

// Functions that decide by what they have read. They begin by Tx::require_serializable, so it
// doesn't matter what they are called with.
struct Deciding {
  const char* name;
  std::function<void(db::Tx&, Fixture&)> run;
};

const std::vector<Deciding> deciding = {
    {"accounts::register_user",
     [](db::Tx& tx, Fixture& f) {
       accounts::register_user(tx,
                               {.email = "carl@example.org",
                                .username = "carl",
                                .password_hash = "no hash",
                                .referral_code = {}},
                               f.world.bonus, f.world.keys, "https://api.example.org");
     }},
    {"accounts::rename",
     [](db::Tx& tx, Fixture& f) { accounts::rename(tx, f.ada.id, "eve", ReservedNames()); }},
    {"accounts::resend_verification",
     [](db::Tx& tx, Fixture& f) {
       accounts::resend_verification(tx, f.ada, f.world.keys, "https://api.example.org");
     }},
    {"accounts::mark_deleted",
     [](db::Tx& tx, Fixture& f) { accounts::mark_deleted(tx, f.bob.id); }},
    {"accounts::delete_account",
     [](db::Tx& tx, Fixture& f) { accounts::delete_account(tx, f.bob, f.world.keys); }},
    {"email_changes::ask",
     [](db::Tx& tx, Fixture& f) {
       accounts::email_changes::ask(tx, f.ada, "new@example.org", f.world.keys,
                                    "https://api.example.org");
     }},
    {"email_changes::confirm",
     [](db::Tx& tx, Fixture& f) {
       accounts::email_changes::confirm(tx, "ec_", f.world.bonus, f.world.keys);
     }},
    {"two_factor::set_up",
     [](db::Tx& tx, Fixture& f) { two_factor::set_up(tx, f.ada, f.world.keys); }},
    {"two_factor::enable",
     [](db::Tx& tx, Fixture& f) {
       two_factor::enable(tx, f.ada, "000000", f.world.keys, "https://api.example.org");
     }},
    {"two_factor::new_recovery_codes",
     [](db::Tx& tx, Fixture& f) {
       two_factor::new_recovery_codes(tx, f.ada, f.world.keys, "https://api.example.org");
     }},
    {"passkeys::add",
     [](db::Tx& tx, Fixture& f) {
       passkeys::add(tx, f.ada, {.id = "api.example.org", .origin = "https://api.example.org"},
                     {.name = "laptop", .state = {}, .bound_to = {}, .answer = {}}, f.world.keys,
                     "https://api.example.org");
     }},
    {"passkeys::remove",
     [](db::Tx& tx, Fixture& f) {
       passkeys::remove(tx, f.ada, "passkey", passkeys::Last::refused, f.world.keys,
                        "https://api.example.org");
     }},
    {"apps::create",
     [](db::Tx& tx, Fixture& f) {
       apps::create(tx, f.ada.id,
                    {.app_name = "Another game",
                     .app_description = "",
                     .logo_url = {},
                     .website_url = {},
                     .redirect_uris = {redirect_uri},
                     .allowed_scopes = {}});
     }},
    {"apps::request_scopes",
     [](db::Tx& tx, Fixture& f) { apps::request_scopes(tx, f.app, {Scope::points_spend}); }},
    {"apps::revoke_scopes",
     [](db::Tx& tx, Fixture& f) {
       apps::revoke_scopes(tx, f.app.id, {Scope::points_spend}, "admin");
     }},
    {"apps::remove", [](db::Tx& tx, Fixture& f) { apps::remove(tx, f.app); }},
    {"oauth::authorize_device",
     [](db::Tx& tx, Fixture& f) {
       oauth::authorize_device(tx, f.app, {.scope = "", .address = "", .user_agent = ""},
                               f.world.keys.data);
     }},
    {"connections::end_grant", [](db::Tx& tx, Fixture&) { connections::end_grant(tx, "grant"); }},
    {"webhooks::create",
     [](db::Tx& tx, Fixture& f) {
       webhooks::create(tx, f.app.id, "https://game.example.org/hook", {"billing.warning"},
                        webhooks::Schemes::only_https, f.world.keys.data);
     }},
    {"webhooks::test", [](db::Tx& tx, Fixture&) { webhooks::test(tx, {}); }},
    {"alerts::create",
     [](db::Tx& tx, Fixture& f) {
       alerts::create(tx, f.ada.id,
                      {.name = "Mail",
                       .app_id = {},
                       .channel = alerts::Channel::mail,
                       .target = {},
                       .events = {"balance.low"}},
                      webhooks::Schemes::only_https, f.world.keys.data);
     }},
    {"alerts::change",
     [](db::Tx& tx, Fixture& f) {
       alerts::change(tx, {}, {}, webhooks::Schemes::only_https, f.world.keys.data);
     }},
    {"alerts::test", [](db::Tx& tx, Fixture&) { alerts::test(tx, {}); }},
    {"points::refund",
     [](db::Tx& tx, Fixture&) {
       points::refund(tx, {.spend_id = {}, .reason = {}, .app_id = {}});
     }},
    {"points::claw_back", [](db::Tx& tx, Fixture&) { points::claw_back(tx, {}); }},
    {"refund_requests::ask_for_spend",
     [](db::Tx& tx, Fixture& f) {
       refund_requests::ask_for_spend(tx, f.ada, "", {}, "", f.world.keys);
     }},
    {"refund_requests::approve_spend",
     [](db::Tx& tx, Fixture& f) { refund_requests::approve_spend(tx, {}, {}, f.world.keys); }},
    {"proposals::propose", [](db::Tx& tx, Fixture&) { proposals::propose(tx, {}, "admin", 0); }},
    {"proposals::confirm", [](db::Tx& tx, Fixture&) { proposals::confirm(tx, "", "admin"); }},
    {"friends::ask", [](db::Tx& tx, Fixture& f) { friends::ask(tx, f.ada.id, f.bob.id); }},
    {"chat::open",
     [](db::Tx& tx, Fixture& f) { chat::open(tx, f.ada.id, chat::ChannelType::table, "t"); }},
    {"learning::report",
     [](db::Tx& tx, Fixture& f) {
       learning::report(tx, {}, {.user_id = f.ada.id, .app_id = {}}, 1, 1);
     }},
    {"ads::create_pricing", [](db::Tx& tx, Fixture&) { ads::create_pricing(tx, {}); }},
    {"ads::place", [](db::Tx& tx, Fixture&) { ads::place(tx, {}, "campaign", {}); }},
    {"ads::change_placement",
     [](db::Tx& tx, Fixture&) { ads::change_placement(tx, {}, "campaign", "placement", {}); }},
    {"ads::add_segment",
     [](db::Tx& tx, Fixture&) { ads::add_segment(tx, {}, "campaign", "placement", {}); }},
    {"certificate_orders::take", [](db::Tx& tx, Fixture&) { certificate_orders::take(tx, {}); }},
    {"stipends::pay_if_due", [](db::Tx& tx, Fixture& f) { stipends::pay_if_due(tx, f.ada.id); }},
    {"metering::record", [](db::Tx& tx, Fixture&) { metering::record(tx, "deployment", {}, {}); }},
    {"metering::settle_due", [](db::Tx& tx, Fixture&) { metering::settle_due(tx, "app", ""); }},
    {"metering::charge_now", [](db::Tx& tx, Fixture&) { metering::charge_now(tx, "app"); }},
    {"metering::set_budget",
     [](db::Tx& tx, Fixture& f) {
       metering::set_budget(tx, {.app_id = f.app.id, .deployment_id = {}, .limit = 1});
     }},
    {"deployments::change_app_variables",
     [](db::Tx& tx, Fixture&) { deployments::change_app_variables(tx, {}, {}, ""); }},
    {"personal_tokens::make",
     [](db::Tx& tx, Fixture& f) { personal_tokens::make(tx, f.ada, {}, f.world.keys, ""); }},
    {"billing::settle_due",
     [](db::Tx& tx, Fixture&) { billing::settle_due(tx, "deployment", ""); }},
    {"billing::resume", [](db::Tx& tx, Fixture&) { billing::resume(tx, {}, "deployment"); }},
    {"billing::change_size",
     [](db::Tx& tx, Fixture&) { billing::change_size(tx, {}, "deployment", {}, {}); }},
    {"billing::stop_renewal",
     [](db::Tx& tx, Fixture&) { billing::stop_renewal(tx, "deployment"); }},
};

TEST_CASE("functions that decide by what they have read need a serializable write") {
  Fixture f;
  CHECK(deciding.size() == 48);
  for (const Deciding& one : deciding) {
    INFO(one.name);
    const auto run = [&](db::Tx& tx) { one.run(tx, f); };
    CHECK_THROWS_WITH(f.world.db.write_with_row_locks(run),
                      Catch::Contains("needs a serializable write"));
    CHECK_THROWS_WITH(f.world.db.read(run), Catch::Contains("needs a serializable write"));
  }
}

}  // namespace
