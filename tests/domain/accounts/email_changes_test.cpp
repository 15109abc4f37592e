// One canonical address for each mailbox, and giving an account another address.
#include "controller/domain/accounts/email_changes.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/expiry.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/passwords.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
namespace email_changes = accounts::email_changes;

const std::string base_url = "https://api.example.org";
const std::string refused = "422 validation_failed";

struct Fixture {
  World world;

  std::string sign_up(const std::string& email, const std::string& name) {
    return refusal([&] { registered(email, name); });
  }
  accounts::User registered(const std::string& email, const std::string& name) {
    return world.write([&](db::Tx& tx) {
      return accounts::register_user(
          tx, {.email = email, .username = name, .password_hash = "hash", .referral_code = {}},
          world.bonus, world.keys, base_url);
    });
  }
  accounts::User verified(const std::string& email, const std::string& name) {
    const auto user = registered(email, name);
    world.write([&](db::Tx& tx) { accounts::mark_verified(tx, user.id, world.bonus); });
    return world.find_user(user.id);
  }
  std::string ask(const accounts::User& user, const std::string& email) {
    return refusal([&] {
      world.write([&](db::Tx& tx) {
        email_changes::ask(tx, world.find_user(user.id), email, world.keys, base_url);
      });
    });
  }
  std::string confirm(const std::string& token) {
    return refusal([&] {
      world.write([&](db::Tx& tx) { email_changes::confirm(tx, token, world.bonus, world.keys); });
    });
  }
  std::string stop(const std::string& token) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { accounts::stop_email_change(tx, token); }); });
  }
  // The newest mail to the address; its token is empty if it has none.
  outbox::Mail mail(const std::string& address) {
    for (const outbox::Mail& mail :
         world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
      if (mail.to == address) return mail;
    return {};
  }
  std::int64_t letters() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM outbox"); });
  }
  std::string email(const accounts::User& user) { return world.find_user(user.id).email; }
  bool finds(const std::string& email, const accounts::User& user) {
    const auto found = world.read([&](db::Tx& tx) { return accounts::credentials(tx, email); });
    return found && found->user_id == user.id;
  }
};

TEST_CASE("one mailbox is one account, however its address is written") {
  Fixture f;
  const auto ada = f.verified("Ada@bücher.example", "ada");
  CHECK(f.email(ada) == "Ada@bücher.example");  // as it was typed
  int spelling = 0;
  for (const char* same :
       {"ada@xn--bcher-kva.example", "ADA@BÜCHER.EXAMPLE", "ada@bu\u0308cher.example",
        "ada@bü\u00adcher.example", "ada@bücher.\u200bexample", "ada@bücher.ⓔxample",
        "ada@bücher.ｅｘａｍｐｌｅ", "ada@bücher。example"}) {
    INFO(same);
    CHECK(f.sign_up(same, "other" + std::to_string(++spelling)) == refused);
    CHECK(f.finds(same, ada));  // login and forgotten passwords
    const auto list = f.world.read([&](db::Tx& tx) {
      return accounts::list_users(tx, std::string(same), {.page = 1, .page_size = 10});
    });
    CHECK(list.total == 1);  // the admins' search
  }
  CHECK(spelling == 8);
}

TEST_CASE("undeliverable addresses are refused at registration and as a new address") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  for (const std::string bad : {"a@b@c", "x..y@example.org", "x..y@", "ａda@example.org",
                                "a\u200bda@example.org", "ⓔve@example.org", "eve@example"}) {
    INFO(bad);
    CHECK(refusal([&] { accounts::check_email(bad); }) == refused);
    CHECK(f.ask(ada, bad) == refused);
  }
  CHECK(refusal([&] { accounts::check_email(std::string(65, 'x') + "@example.org"); }) == refused);
  CHECK(refusal([&] { accounts::check_email(std::string(64, 'x') + "@example.org"); }) == "");
  CHECK(f.letters() == 1);
}

TEST_CASE("a deleted mailbox brings no second bonus, however its address is written") {
  Fixture f;
  f.world.bonus.points = 100;
  f.world.mint(ledger::treasury(), 1'000'000);
  const auto ada = f.verified("ada@bücher.example", "ada");
  CHECK(f.world.find_user(ada.id).points > 0);
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, ada, f.world.keys); });
  CHECK(f.world.find_user(f.verified("ada+1@bu\u0308cher.example", "ada2").id).points == 0);
  CHECK(f.world.find_user(f.verified("ADA+2@xn--bcher-kva.example", "ada3").id).points == 0);
  CHECK(f.world.find_user(f.verified("eve@bücher.example", "eve").id).points > 0);
}

TEST_CASE("an address changes once the new one has confirmed it, and the old one is told") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  const auto session = f.world.log_in(ada);
  CHECK(f.ask(ada, "ada@example.net") == "");
  CHECK(f.email(ada) == "ada@example.org");
  const auto to_new = f.mail("ada@example.net"), to_old = f.mail("ada@example.org");
  CHECK(to_new.token.starts_with("ec_"));
  CHECK(to_old.token.starts_with("es_"));
  CHECK(to_old.body.find("ada@example.net") != std::string::npos);
  // Neither token does what the other one does.
  CHECK(f.confirm(to_old.token) == refused);
  CHECK(f.stop(to_new.token) == refused);
  CHECK(f.confirm(to_new.token) == "");
  CHECK(f.email(ada) == "ada@example.net");
  CHECK(f.world.find_user(ada.id).email_verified);
  CHECK(f.finds("ADA@example.net", ada));
  CHECK_FALSE(f.finds("ada@example.org", ada));
  CHECK(f.mail("ada@example.org").subject.find("was changed") != std::string::npos);
  CHECK(f.confirm(to_new.token) == refused);
  f.world.read([&](db::Tx& tx) {
    CHECK_NOTHROW(
        accounts::check_session(tx, accounts::session_jwt(session, f.world.keys), f.world.keys));
  });
}

TEST_CASE("what doesn't change an address") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada"), eve = f.verified("eve@example.org", "eve");
  CHECK(f.ask(ada, "EVE@example.org") == refused);
  CHECK(f.ask(ada, "Ada@Example.org") == refused);
  CHECK(f.ask(ada, "late@example.org") == "");
  const std::string late = f.mail("late@example.org").token;
  f.world.clock.advance(email_changes::confirmed_within);
  CHECK(f.confirm(late) == refused);
  // A newer request withdraws the older one.
  CHECK(f.ask(ada, "first@example.org") == "");
  const std::string first = f.mail("first@example.org").token;
  CHECK(f.ask(ada, "second@example.org") == "");
  CHECK(f.confirm(first) == refused);
  // Somebody else may take the address before it is confirmed.
  f.verified("second@example.org", "second");
  CHECK(f.confirm(f.mail("second@example.org").token) == refused);
  CHECK(f.email(ada) == "ada@example.org");
  CHECK(f.email(eve) == "eve@example.org");
  // Mailed links to the old address end with it.
  f.world.write([&](db::Tx& tx) {
    accounts::request_reset(tx, "ada@example.org");
    accounts::answer_reset_requests(tx, f.world.keys, base_url, 10);
  });
  const std::string reset = f.mail("ada@example.org").token;
  CHECK(f.ask(ada, "third@example.org") == "");
  CHECK(f.confirm(f.mail("third@example.org").token) == "");
  CHECK(refusal([&] {
          f.world.read([&](db::Tx& tx) { accounts::check_reset_token(tx, reset); });
        }) == refused);
}

TEST_CASE("the old address stops a change, and undoes it for a week") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  CHECK(f.ask(ada, "thief@example.net") == "");
  const std::string confirm = f.mail("thief@example.net").token;
  CHECK(f.stop(f.mail("ada@example.org").token) == "");
  CHECK(f.confirm(confirm) == refused);

  CHECK(f.ask(ada, "thief@example.net") == "");
  const std::string stop = f.mail("ada@example.org").token;
  CHECK(f.confirm(f.mail("thief@example.net").token) == "");
  const auto session = f.world.log_in(ada);
  // The thief moves on; nobody else may take the old address meanwhile.
  CHECK(f.ask(ada, "further@example.net") == "");
  CHECK(f.confirm(f.mail("further@example.net").token) == "");
  CHECK(f.sign_up("Ada@example.org", "eve") == refused);
  f.world.clock.advance(email_changes::undone_within - 1s);
  CHECK(f.sign_up("ada@example.org", "eve") == refused);
  CHECK(f.stop(stop) == "");
  CHECK(f.email(ada) == "ada@example.org");
  CHECK(f.stop(stop) == refused);
  f.world.write([&](db::Tx& tx) {
    CHECK_THROWS_AS(
        accounts::check_session(tx, accounts::session_jwt(session, f.world.keys), f.world.keys),
        Error);
    CHECK(accounts::answer_reset_requests(tx, f.world.keys, base_url, 10) == 1);
  });
  CHECK(f.mail("ada@example.org").token.starts_with("pr_"));
}

TEST_CASE("the link of a change that was withdrawn undoes the one that was confirmed instead") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  CHECK(f.ask(ada, "thief@example.net") == "");
  const std::string stop = f.mail("ada@example.org").token;
  f.world.clock.advance(1s);
  CHECK(f.ask(ada, "further@example.net") == "");
  CHECK(f.confirm(f.mail("further@example.net").token) == "");
  CHECK(f.stop(stop) == "");
  CHECK(f.email(ada) == "ada@example.org");
  CHECK_FALSE(f.finds("further@example.net", ada));
}

TEST_CASE("a second factor that came shortly before the change goes when it is undone") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  const bool is_old = GENERATE(false, true);
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE users SET totp_enabled_at = $2 WHERE id = $1", ada.id, tx.now());
  });
  f.world.clock.advance(is_old ? Duration(std::chrono::days(8)) : Duration(1h));
  CHECK(f.ask(ada, "thief@example.net") == "");
  const std::string stop = f.mail("ada@example.org").token;
  CHECK(f.confirm(f.mail("thief@example.net").token) == "");
  CHECK(f.stop(stop) == "");
  CHECK(f.world.find_user(ada.id).totp_enabled == is_old);
}

TEST_CASE("after a week the old address is free, and the row is removed") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  f.ask(ada, "ada@example.net");
  const std::string stop = f.mail("ada@example.org").token;
  CHECK(f.confirm(f.mail("ada@example.net").token) == "");
  f.world.clock.advance(email_changes::undone_within);
  CHECK(f.stop(stop) == refused);
  CHECK(f.sign_up("ada@example.org", "eve") == "");
  f.world.write([](db::Tx& tx) { accounts::remove_old(tx, 100); });
  CHECK(f.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM email_changes"); }) ==
        0);
}

TEST_CASE("changing the address brings no bonus twice") {
  Fixture f;
  f.world.bonus.points = 100;
  f.world.mint(ledger::treasury(), 1'000'000);
  const auto ada = f.verified("ada@example.org", "ada");
  const auto points = f.world.find_user(ada.id).points;
  CHECK(points > 0);
  f.ask(ada, "ada@example.net");
  CHECK(f.confirm(f.mail("ada@example.net").token) == "");
  CHECK(f.world.find_user(ada.id).points == points);
  f.world.clock.advance(email_changes::undone_within);
  // The mailbox that was left brings nothing to a new account.
  CHECK(f.world.find_user(f.verified("ada@example.org", "ada2").id).points == 0);
  // Nor does one whose account was deleted, if a new account moves there before it is verified.
  f.world.write(
      [&](db::Tx& tx) { accounts::delete_account(tx, f.world.find_user(ada.id), f.world.keys); });
  const auto throwaway = f.registered("throwaway@example.org", "throwaway");
  f.ask(throwaway, "ada+1@example.net");
  CHECK(f.confirm(f.mail("ada+1@example.net").token) == "");
  CHECK(f.world.find_user(throwaway.id).email_verified);
  CHECK(f.world.find_user(throwaway.id).points == 0);
}

TEST_CASE("an old address that was never verified can't take the account back") {
  Fixture f;
  const auto ada = f.registered("tyop@example.org", "ada");
  CHECK(f.ask(ada, "ada@example.org") == "");
  CHECK(f.mail("tyop@example.org").token.empty());
  CHECK(f.confirm(f.mail("ada@example.org").token) == "");
  CHECK(f.email(ada) == "ada@example.org");
  CHECK(f.sign_up("tyop@example.org", "typo") == "");
}

TEST_CASE("an account's address can be asked to change five times a day") {
  Fixture f;
  const auto ada = f.verified("ada@example.org", "ada");
  for (int i = 0; i < email_changes::max_in_a_day; ++i)
    CHECK(f.ask(ada, "ada" + std::to_string(i) + "@example.net") == "");
  CHECK(f.ask(ada, "more@example.net") == "429 rate_limited");
  f.world.clock.advance(24h);
  CHECK(f.ask(ada, "more@example.net") == "");
}

TEST_CASE("strangers' registrations don't use up a mailbox's day") {
  Fixture f;
  const auto is_mailed = [&](const std::string& address) { return f.mail(address).to == address; };
  for (int i = 0; i < accounts::max_letters_to_unverified; ++i)
    CHECK(f.sign_up("Ada+" + std::to_string(i) + "@example.org", "stranger" + std::to_string(i)) ==
          "");
  CHECK(f.sign_up("ada+more@example.org", "stranger") == "429 rate_limited");
  // The owner of the mailbox registers, and asks for a new password.
  CHECK(f.sign_up("ada@example.org", "ada") == "");
  CHECK(is_mailed("ada@example.org"));
  f.world.write([&](db::Tx& tx) {
    accounts::request_reset(tx, "ada@example.org");
    accounts::answer_reset_requests(tx, f.world.keys, base_url, 10);
  });
  CHECK(f.mail("ada@example.org").token.starts_with("pr_"));
  // So does somebody whose mailbox a stranger has registered, which is the case that matters.
  for (int i = 0; i < accounts::max_letters_to_unverified; ++i)
    f.sign_up("bob+" + std::to_string(i) + "@example.org", "bobs" + std::to_string(i));
  const auto hijacked = f.registered("bob@example.org", "bob");
  for (int i = 0; i < 20; ++i)
    refusal([&] {
      f.world.write(
          [&](db::Tx& tx) { accounts::resend_verification(tx, hijacked, f.world.keys, base_url); });
    });
  f.world.write([&](db::Tx& tx) {
    accounts::request_reset(tx, "bob@example.org");
    accounts::answer_reset_requests(tx, f.world.keys, base_url, 10);
  });
  CHECK(f.mail("bob@example.org").token.starts_with("pr_"));
}

TEST_CASE("a mailbox gets ten letters for its variants, not ten for each spelling") {
  Fixture f;
  int sent = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string local = i % 2 == 0 ? "a.da" : "ad.a", tag = "+" + std::to_string(i);
    const std::string host = i % 4 < 2 ? "@gmail.com" : "@ｇoogleｍail.com";
    sent += f.sign_up(local + tag + host, "name" + std::to_string(i)) == "" ? 1 : 0;
  }
  CHECK(sent == accounts::max_letters_to_unverified);
}

}  // namespace
