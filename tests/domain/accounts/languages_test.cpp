// Mails are written in the language of the account, also by loops.
#include <catch2/catch.hpp>

#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/apps/app_mail.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/passwords.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

const std::string base_url = "https://api.example.org";

struct Fixture {
  World world;
  accounts::User grete = world.write([&](db::Tx& tx) {
    return accounts::register_user(tx,
                                   {.email = "grete@example.org",
                                    .username = "grete",
                                    .password_hash = "hash",
                                    .referral_code = {},
                                    .language = Language::de},
                                   world.bonus, world.keys, base_url);
  });

  std::string newest() {
    const auto mails = world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); });
    return mails.at(0).subject + "\n" + mails.at(0).body;
  }
  bool says(const std::string& text) { return newest().find(text) != std::string::npos; }
  void forget_password() {
    world.write([&](db::Tx& tx) { accounts::request_reset(tx, grete.email); });
    world.write([&](db::Tx& tx) {
      CHECK(accounts::answer_reset_requests(tx, world.keys, base_url, 10) == 1);
    });
  }
};

}  // namespace

TEST_CASE("an account has the language that it was registered in, and English by default") {
  Fixture f;
  CHECK(f.grete.language == Language::de);
  CHECK(f.says("Bestätigen Sie Ihre E-Mail-Adresse\nHallo grete,\n\nöffnen Sie diesen Link"));
  CHECK(f.says("\n\n  https://api.example.org/verify-email?token=ev_"));
  CHECK(f.world.new_user("ada").language == Language::en);
  CHECK(f.says("Verify your email address\nHello ada,\n\nopen this link"));
}

TEST_CASE("a mail that a loop writes has the language of the account at that time") {
  Fixture f;
  f.forget_password();
  CHECK(f.says("Ein neues Passwort wählen\nGuten Tag,\n\njemand, vermutlich Sie selbst"));
  f.world.clock.advance(std::chrono::hours(1));
  f.world.write([&](db::Tx& tx) { accounts::set_language(tx, f.grete.id, Language::en); });
  CHECK(f.world.find_user(f.grete.id).language == Language::en);
  f.forget_password();
  CHECK(f.says("Choose a new password\nHello,"));
}

TEST_CASE("mails about an account and its apps are German where the account is") {
  Fixture f;
  f.world.write([&](db::Tx& tx) { accounts::mark_verified(tx, f.grete.id); });
  f.grete = f.world.find_user(f.grete.id);
  const auto app = f.world.new_app(f.grete).app;
  f.world.write([&](db::Tx& tx) {
    auto request = apps::request_scopes(tx, app, {Scope::deploy_manage});
    request.status = apps::RequestStatus::rejected;
    request.reason = "zu früh";
    apps::tell_decision(tx, request, f.world.keys.data);
  });
  CHECK(f.says("was „My game“ beantragt hat, wurde abgelehnt: deploy:manage."));
  CHECK(f.says("Die Begründung: zu früh"));
  f.world.write([&](db::Tx& tx) { accounts::suspend(tx, f.grete.id, "root", f.world.keys); });
  CHECK(f.says("Ihr Konto wurde gesperrt"));
  CHECK(f.says("Sonst war niemand angemeldet"));
}

TEST_CASE("a deleted account has no language of its own any more") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    accounts::delete_account(tx, *accounts::find(tx, f.grete.id), f.world.keys);
    CHECK(tx.number("SELECT count(*) FROM users WHERE id = $1 AND language = 'en'", f.grete.id) ==
          1);
  });
}
