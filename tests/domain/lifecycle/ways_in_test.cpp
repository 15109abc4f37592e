// The ways into an account: one of each kind is made, and each function that ends them ends all.
#include "controller/domain/lifecycle/ways_in.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <regex>
#include <set>

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/passwords.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/play_sessions.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr const char* base_url = "https://api.example.org";

// Each column of the schema that holds a secret, or what stands for one, says here what it opens.
// Whoever adds a column decides whether it opens an account: then `ways` below needs a way that
// makes one, and end_ways_in() has to end it.
enum class Opens {
  account,  // ended by end_ways_in()
  proof,    // asked for at a login; stays, because it opens nothing without the password
  app,      // an app's own; stays, because others run with it
  nothing,
};
const std::map<std::string, Opens> secrets = {
    {"access_tokens.token_hash", Opens::account},
    {"authorization_codes.code_hash", Opens::account},
    {"device_codes.device_code_hash", Opens::account},
    {"device_codes.user_code_hash", Opens::account},
    {"email_changes.confirm_hash", Opens::account},
    {"email_changes.stop_hash",
     Opens::nothing},  // gives the old address back, and ends all ways in
    {"email_tokens.token_hash", Opens::account},
    {"personal_tokens.token_hash", Opens::account},
    {"play_sessions.token_hash", Opens::account},
    {"refresh_tokens.token_hash", Opens::account},
    {"sessions.id", Opens::account},
    {"users.password_hash", Opens::proof},
    {"recovery_codes.code_hash", Opens::proof},
    {"totp_secrets.sealed_secret", Opens::proof},
    {"passkeys.credential_id", Opens::nothing},  // the key itself is on the user's device
    {"used_passkey_challenges.challenge_hash", Opens::nothing},
    {"apps.client_secret_hash", Opens::app},
    {"apps.previous_secret_hash", Opens::app},
    {"apps.previous_secret_expires_at", Opens::nothing},
    {"apps.session_tokens", Opens::nothing},
    // Counts the letters to a mailbox. Only who has logged in can accept an invitation.
    {"app_invitations.mailbox_hash", Opens::nothing},
    {"openid_clients.id_token_alg", Opens::nothing},  // the name of an algorithm
    {"webhooks.secret_sealed", Opens::app},
    {"audit_log.token_kind", Opens::nothing},  // the kind and the id of what was shown
    {"audit_log.token_id", Opens::nothing},
    {"alerts.target_sealed", Opens::nothing},  // lets berth write to a chat
    {"deployments.env_sealed", Opens::app},
    {"deployments.credentials_sealed", Opens::app},
    {"app_variables.value_sealed", Opens::app},
    {"deployment_pushes.hook_hash", Opens::nothing},   // has a registry asked, and no more
    {"internal_secrets.secret_hash", Opens::nothing},  // a machine's, and no account's
    {"deployment_revisions.env_sealed", Opens::app},
    {"deployment_revisions.credentials_sealed", Opens::app},
    {"ad_impressions.token_hash", Opens::nothing},  // reports one impression
    {"chat_entries.sealed_body", Opens::nothing},
    {"deleted_addresses.address_hash", Opens::nothing},
    {"idempotency_bodies.body_hash", Opens::nothing},
    {"given_up_names.name_hash", Opens::nothing},
    {"idempotency_keys.request_hash", Opens::nothing},
    {"ledger_closed_days.hash", Opens::nothing},
    {"login_failures.key_hash", Opens::nothing},
    {"outbox.sealed", Opens::nothing},  // its tokens are those of email_tokens
    {"unverified_letters.address_hash", Opens::nothing},
    {"used_id_tokens.token_hash", Opens::nothing},  // of an ID token that works no more
    {"used_names.name_hash", Opens::nothing},
    {"write_counts.subject_hash", Opens::nothing},
};

std::vector<std::string> columns_of_secrets(db::Tx& tx) {
  static const std::regex name("hash|sealed|secret|token|password|credential");
  std::vector<std::string> found = {"sessions.id"};
  auto rows = tx.query(R"(
      SELECT t.name AS table_name, c.name AS column_name
      FROM sqlite_schema t
      JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%')");
  while (rows.next())
    if (std::regex_search(rows.text("column_name"), name))
      found.push_back(rows.text("table_name") + "." + rows.text("column_name"));
  return found;
}

TEST_CASE("each column of the schema that holds a secret says whether it opens an account",
          "[sqlite]") {
  World world;
  const auto found = world.read(columns_of_secrets);
  for (const std::string& column : found) {
    INFO(column << " isn't known here: say in `secrets` what it opens");
    CHECK(secrets.contains(column));
  }
  CHECK(std::set<std::string>(found.begin(), found.end()).size() >= secrets.size());
  WARN(found.size() << " columns of secrets");
}

struct Scene {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User olga = world.verified_user("olga");
  apps::App game = world.approved_app(olga, {Scope::profile_read, Scope::points_transfer});
  apps::App own = world.approved_app(ada, {Scope::profile_read, Scope::deploy_manage});
  apps::App client = world.write([](db::Tx& tx) {
    apps::add_built_in(tx);
    return *apps::find_by_client_id(tx, "berth");
  });
  std::string session_of_caller = world.log_in(ada).id;

  std::string code_for(const apps::App& app) {
    auto request = world.authorization(app);
    if (app.built_in) request.redirect_uri = "http://127.0.0.1:1/callback";
    return world.write([&](db::Tx& tx) { return authorized(tx, ada, request).code; });
  }
  bool exchanges(const apps::App& app, const std::string& code) {
    return world
        .exchange(app, code, code_verifier,
                  app.built_in ? "http://127.0.0.1:1/callback" : redirect_uri)
        .has_value();
  }
  oauth::Tokens tokens_for(const apps::App& app) {
    auto tokens = world
                      .exchange(app, code_for(app), code_verifier,
                                app.built_in ? "http://127.0.0.1:1/callback" : redirect_uri)
                      .value();
    if (app.built_in)
      world.write([&](db::Tx& tx) {
        devices::connect(tx, tokens,
                         {.name = "laptop", .program = "berth-cli", .address = "192.0.2.7"});
      });
    return tokens;
  }
  bool accepts(const std::function<void(db::Tx&)>& use) {
    return refusal([&] { world.write(use); }).empty();
  }
  std::vector<outbox::Mail> mails() {
    std::vector<outbox::Mail> found;
    for (const auto& mail :
         world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
      if (mail.to == ada.email) found.push_back(mail);
    return found;
  }
};

using Works = std::function<bool()>;  // to be called once
struct Way {
  const char* name;
  std::set<std::string> columns;  // of `secrets`
  std::function<Works(Scene&)> make;
};

Works of_access_token(Scene& s, const std::string& token) {
  return
      [&s, token] { return s.accepts([&](db::Tx& tx) { oauth::check_access_token(tx, token); }); };
}
Works of_refresh_token(Scene& s, const apps::App& app, const std::string& token) {
  return [&s, &app, token] { return s.world.refresh(app, token).has_value(); };
}

const std::vector<Way> ways = {
    {"a session",
     {"sessions.id"},
     [](Scene& s) -> Works {
       const std::string jwt = s.world.jwt(s.ada);
       return [&s, jwt] {
         return s.accepts([&](db::Tx& tx) { accounts::check_session(tx, jwt, s.world.keys); });
       };
     }},
    {"an app's code",
     {"authorization_codes.code_hash"},
     [](Scene& s) -> Works {
       const std::string code = s.code_for(s.game);
       return [&s, code] { return s.exchanges(s.game, code); };
     }},
    {"an app's access token",
     {"access_tokens.token_hash"},
     [](Scene& s) { return of_access_token(s, s.tokens_for(s.game).access_token); }},
    {"an app's refresh token",
     {"refresh_tokens.token_hash"},
     [](Scene& s) { return of_refresh_token(s, s.game, s.tokens_for(s.game).refresh_token); }},
    {"an app's session token",
     {"play_sessions.token_hash"},
     [](Scene& s) -> Works {
       const std::string token = s.tokens_for(s.game).session_token.value();
       return [&s, token] { return s.accepts([&](db::Tx& tx) { play::check(tx, token); }); };
     }},
    {"a token of the user's own app, by its secret",
     {"access_tokens.token_hash"},
     [](Scene& s) {
       return of_access_token(
           s, s.world.write([&](db::Tx& tx) { return oauth::client_credentials(tx, s.own, {}); })
                  .access_token);
     }},
    {"a code of berth's own client",
     {"authorization_codes.code_hash"},
     [](Scene& s) -> Works {
       const std::string code = s.code_for(s.client);
       return [&s, code] { return s.exchanges(s.client, code); };
     }},
    {"an access token of berth's own client",
     {"access_tokens.token_hash"},
     [](Scene& s) { return of_access_token(s, s.tokens_for(s.client).access_token); }},
    {"a refresh token of berth's own client",
     {"refresh_tokens.token_hash"},
     [](Scene& s) { return of_refresh_token(s, s.client, s.tokens_for(s.client).refresh_token); }},
    {"a device that was allowed and hasn't fetched its tokens",
     {"device_codes.device_code_hash", "device_codes.user_code_hash"},
     [](Scene& s) -> Works {
       const auto codes = s.world.write([&](db::Tx& tx) {
         return oauth::authorize_device(
             tx, s.client, {.scope = "profile:read", .address = "192.0.2.7", .user_agent = "x"},
             s.world.keys.data);
       });
       s.world.write([&](db::Tx& tx) {
         oauth::decide_device_request(tx, s.ada, codes.user_code, oauth::DeviceDecision::allow,
                                      s.world.keys.data);
       });
       return [&s, codes] {
         bool given = false;
         s.accepts([&](db::Tx& tx) {
           given = oauth::exchange_device_code(tx, s.client, codes.device_code, s.world.policy)
                       .has_value();
         });
         return given;
       };
     }},
    {"a personal access token",
     {"personal_tokens.token_hash"},
     [](Scene& s) -> Works {
       const std::string token = s.world.write([&](db::Tx& tx) {
         return personal_tokens::make(tx, *accounts::find(tx, s.ada.id),
                                      {.name = "CI", .scopes = {Scope::deploy_read}}, s.world.keys,
                                      base_url)
             .secret;
       });
       return [&s, token] {
         return s.accepts([&](db::Tx& tx) { personal_tokens::check(tx, token); });
       };
     }},
    {"a mailed link for a new password",
     {"email_tokens.token_hash"},
     [](Scene& s) -> Works {
       const std::string token = s.world.write([&](db::Tx& tx) {
         return accounts::new_email_token(tx, s.ada.id, accounts::EmailPurpose::reset_password, 1h);
       });
       return [&s, token] {
         return s.accepts([&](db::Tx& tx) { accounts::check_reset_token(tx, token); });
       };
     }},
    {"another address that isn't confirmed yet",
     {"email_changes.confirm_hash"},
     [](Scene& s) -> Works {
       const std::string address = "new" + std::to_string(s.mails().size()) + "@example.net";
       s.world.write([&](db::Tx& tx) {
         accounts::email_changes::ask(tx, *accounts::find(tx, s.ada.id), address, s.world.keys,
                                      base_url);
       });
       std::string token;
       for (const auto& mail :
            s.world.read([&](db::Tx& tx) { return outbox::list(tx, s.world.keys.data); }))
         if (mail.to == address) token = mail.token;
       return [&s, token] {
         return s.accepts([&](db::Tx& tx) {
           accounts::email_changes::confirm(tx, token, s.world.bonus, s.world.keys);
         });
       };
     }},
};

struct Ending {
  const char* name;
  std::function<void(Scene&)> run;
};
void change_password(Scene& s, accounts::OtherWays others) {
  s.world.write([&](db::Tx& tx) {
    accounts::change_password(tx, s.ada,
                              {.old_hash = "no hash",
                               .new_hash = "new hash",
                               .kept_session = s.session_of_caller,
                               .others = others},
                              s.world.keys, base_url);
  });
}
void suspend(Scene& s) {
  s.world.write([&](db::Tx& tx) { accounts::suspend(tx, s.ada.id, "root", s.world.keys); });
}
const std::vector<Ending> endings = {
    {"a new password by mail",
     [](Scene& s) {
       const std::string token = s.world.write([&](db::Tx& tx) {
         return accounts::new_email_token(tx, s.ada.id, accounts::EmailPurpose::reset_password, 1h);
       });
       s.world.write([&](db::Tx& tx) {
         accounts::reset_password(tx, token, "new hash", s.world.keys, base_url);
       });
     }},
    {"a change of the password", [](Scene& s) { change_password(s, accounts::OtherWays::end); }},
    {"a suspension", suspend},
    {"a suspension that was ended",
     [](Scene& s) {
       suspend(s);
       s.world.clock.advance(1s);
       s.world.write([&](db::Tx& tx) { accounts::reactivate(tx, s.ada.id, "root"); });
     }},
    // As a version did that ended nothing.
    {"an earlier suspension that was ended",
     [](Scene& s) {
       s.world.suspend_user(s.ada.id);
       s.world.write([&](db::Tx& tx) { accounts::reactivate(tx, s.ada.id, "root"); });
     }},
    {"an admin",
     [](Scene& s) {
       s.world.write([&](db::Tx& tx) {
         accounts::end_ways_in_as_admin(tx, s.ada.id, "root", s.world.keys, base_url);
       });
     }},
};

TEST_CASE("a new password, a suspension and an admin end every way into the account") {
  std::set<std::string> covered;
  for (const Way& way : ways) covered.insert(way.columns.begin(), way.columns.end());
  for (const auto& [column, opens] : secrets)
    if (opens == Opens::account) {
      INFO(column << " opens an account, and no way of this test makes one");
      CHECK(covered.contains(column));
    }
  for (const Ending& ending : endings) {
    Scene s;
    std::vector<Works> after;
    for (const Way& way : ways) {
      INFO(way.name);
      CHECK(way.make(s)());
      after.push_back(way.make(s));
    }
    ending.run(s);
    for (size_t i = 0; i < ways.size(); ++i) {
      INFO(ways[i].name << " after " << ending.name);
      CHECK_FALSE(after[i]());
    }
  }
  WARN(ways.size() << " ways in, " << endings.size() << " endings");
}

TEST_CASE("whoever changes the password can keep the other ways in, but no mailed link") {
  Scene s;
  std::vector<Works> after;
  for (const Way& way : ways) after.push_back(way.make(s));
  change_password(s, accounts::OtherWays::keep);
  for (size_t i = 0; i < ways.size(); ++i) {
    INFO(ways[i].name);
    const bool is_mailed = ways[i].columns.contains("email_tokens.token_hash") ||
                           ways[i].columns.contains("email_changes.confirm_hash");
    CHECK(after[i]() == !is_mailed);
  }
}

TEST_CASE("the session that changes the password goes on, and consents stay") {
  Scene s;
  s.tokens_for(s.game);
  change_password(s, accounts::OtherWays::end);
  const auto sessions =
      s.world.read([&](db::Tx& tx) { return accounts::list_sessions(tx, s.ada.id, {}); });
  REQUIRE(sessions.items.size() == 1);
  CHECK(sessions.items[0].id == s.session_of_caller);
  CHECK(s.world.read([&](db::Tx& tx) { return connections::list(tx, s.ada.id, {}); }).total == 1);
  // The app gets new tokens once it has sent the user through the authorization again.
  CHECK(of_access_token(s, s.tokens_for(s.game).access_token)());
}

TEST_CASE("nobody else's ways in are ended") {
  Scene s;
  const std::string jwt = s.world.jwt(s.olga);
  const auto tokens = s.world.tokens(s.game, s.olga);
  for (const Ending& ending : endings) {
    if (std::string(ending.name) == "a change of the password") continue;  // the hash has changed
    ending.run(s);
    CHECK(s.accepts([&](db::Tx& tx) { accounts::check_session(tx, jwt, s.world.keys); }));
    CHECK(of_access_token(s, tokens.access_token)());
  }
}

TEST_CASE("the mail names what has ended") {
  for (const Ending& ending : endings) {
    if (std::string(ending.name).starts_with("an earlier")) continue;  // that version told nobody
    INFO(ending.name);
    Scene s;
    s.world.log_in(s.ada);
    s.tokens_for(s.game);
    s.tokens_for(s.client);
    ending.run(s);
    const std::string body = s.mails().front().body;
    INFO(body);
    // The session that changes the password is kept.
    const bool keeps_one = std::string(ending.name) == "a change of the password";
    CHECK(body.find(keeps_one ? "1 login in" : "2 logins in") != std::string::npos);
    CHECK(body.find("the program laptop (berth-cli)") != std::string::npos);
    CHECK(body.find("the access of the app My game") != std::string::npos);
  }
  Scene s;
  change_password(s, accounts::OtherWays::end);
  CHECK(s.mails().front().body.find("Nobody else was logged in") != std::string::npos);
}

TEST_CASE("a suspended user is told of the suspension, by whatever they come with") {
  Scene s;
  const std::string jwt = s.world.jwt(s.ada);
  const auto tokens = s.tokens_for(s.game), cut_off = s.world.tokens(s.own, s.ada);
  s.world.write([&](db::Tx& tx) { connections::disconnect(tx, s.ada.id, s.own.id); });
  s.world.clock.advance(1s);
  suspend(s);
  const auto session = [&] {
    return refusal(
        [&] { s.world.read([&](db::Tx& tx) { accounts::check_session(tx, jwt, s.world.keys); }); });
  };
  const auto check = [&](const std::string& token) {
    return refusal([&] { s.world.check(token); });
  };
  CHECK(session() == "403 account_suspended");
  CHECK(check(tokens.access_token) == "403 account_suspended");
  CHECK(check(cut_off.access_token) == "401 token_revoked");
  s.world.write([&](db::Tx& tx) { accounts::reactivate(tx, s.ada.id, "root"); });
  CHECK(session() == "401 token_revoked");
  CHECK(check(tokens.access_token) == "401 token_revoked");
}

TEST_CASE("a device that is disconnected gets no tokens after the app was connected again") {
  Scene s;
  const Works polls = ways.at(9).make(s);
  s.world.write([&](db::Tx& tx) { connections::disconnect(tx, s.ada.id, s.client.id); });
  s.tokens_for(s.client);
  CHECK_FALSE(polls());
}

}  // namespace
