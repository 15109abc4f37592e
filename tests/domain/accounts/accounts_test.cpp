#include "controller/domain/accounts/accounts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <set>

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/passwords.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

accounts::User register_as(World& world, const std::string& email, const std::string& username,
                           const std::optional<std::string>& referral_code = {}) {
  return world.write([&](db::Tx& tx) {
    return accounts::register_user(tx,
                                   {.email = email,
                                    .username = username,
                                    .password_hash = "no hash",
                                    .referral_code = referral_code},
                                   world.bonus, world.keys, "https://api.example.org");
  });
}

std::string mailed_token(World& world, const std::string& to) {
  for (const auto& mail : world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
    if (mail.to == to) return mail.token;
  return "";
}

TEST_CASE("usernames have 2 to 32 plain characters") {
  for (const char* good : {"ab", "Ada", "a.b-c_9", "12", "abcdefghijklmnopqrstuvwxyz012345"}) {
    INFO(good);
    CHECK(refusal([&] { accounts::check_username(good); }) == "");
  }
  for (const char* bad : {"", "a", "abcdefghijklmnopqrstuvwxyz0123456", "a b", "ada@x", "zoë", "🌱🌱",
                          "a/b", "a\nb", "<b>"}) {
    INFO(bad);
    CHECK(details([&] { accounts::check_username(bad); }).contains("username"));
  }
}

TEST_CASE("email addresses look like addresses") {
  for (const char* good : {"ada@example.org", "a@b.co", "Ada.Lovelace+tag@sub.example.org",
                           "o'neil@example.org", "root@localhost", "ada@bücher.example"}) {
    INFO(good);
    CHECK(refusal([&] { accounts::check_email(good); }) == "");
  }
  const std::string long_one = std::string(243, 'a') + "@example.org";
  for (const std::string& bad :
       {std::string(), std::string("ada"), std::string("@example.org"), std::string("ada@"),
        std::string("ada@example"), std::string("ada@.org"), std::string("ada@example."),
        std::string("ada@ex..org"), std::string("a b@example.org"),
        std::string("ada@example.org\r\nBcc: x@y.org"), std::string("<ada@example.org>"),
        std::string("a,b@example.org"), std::string("ada@ex_ample.org"),
        std::string("ada@example.org\0", 16), std::string("ada@\u202egro.elpmaxe"), long_one}) {
    INFO(bad);
    CHECK(details([&] { accounts::check_email(bad); }).contains("email"));
  }
}

TEST_CASE("a new account is free, unverified and has no points") {
  World world;
  const auto user = register_as(world, "Ada@Example.org", "Ada");
  CHECK(user.email == "Ada@Example.org");
  CHECK(user.username == "Ada");
  CHECK(user.tier == "free");
  CHECK(user.points == 0);
  CHECK_FALSE(user.email_verified);
  CHECK_FALSE(user.is_admin);
  CHECK_FALSE(user.totp_enabled);
  CHECK_FALSE(user.suspended);
  CHECK(user.referral_code.size() == 10);
  CHECK(user.created_at == world.clock.now());
  CHECK(world.find_user(user.id).referral_code == user.referral_code);
}

TEST_CASE("an address or a username is taken in upper and lower case") {
  World world;
  register_as(world, "ada@example.org", "ada");
  const auto wrong = [&](const char* email, const char* username) {
    return details([&] { register_as(world, email, username); });
  };
  const std::vector<std::string> taken = {"has already been taken"};
  CHECK(wrong("ADA@example.ORG", "other") == Details{{"email", taken}});
  CHECK(wrong("other@example.org", "ADA") == Details{{"username", taken}});
  CHECK(wrong("Ada@example.org", "Ada") == Details{{"email", taken}, {"username", taken}});
  CHECK(refusal([&] { register_as(world, "ada@example.org", "other"); }) ==
        "422 validation_failed");
  CHECK(register_as(world, "ada@example.com", "ada2").registration_number == 2);
}

TEST_CASE("registration numbers have no gaps, and decide the multiplier") {
  World world;
  world.bonus = {.first_count = 2, .first_multiplier = 5, .early_count = 3, .early_multiplier = 2};
  std::vector<std::pair<std::int64_t, std::int64_t>> got;
  for (const char* name : {"aa", "bb", "cc", "dd"}) {
    const auto user = world.new_user(name);
    got.emplace_back(user.registration_number, user.signup_multiplier);
    CHECK(refusal([&] { world.new_user(name); }) != "");
  }
  CHECK(got == std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 5}, {2, 5}, {3, 2}, {4, 1}});
}

TEST_CASE("a referral code counts for the user who gave it") {
  World world;
  const auto ada = world.new_user("ada");
  world.new_user("bob", ada.referral_code);
  world.new_user("eve", "");
  std::string read_out = " " + ada.referral_code.substr(0, 5) + " " + ada.referral_code.substr(5);
  std::ranges::transform(read_out, read_out.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  world.new_user("tim", read_out);
  CHECK(refusal([&] { world.new_user("mal", "NOSUCHCODE"); }) == "422 validation_failed");
  CHECK(details([&] { world.new_user("mal", "NOSUCHCODE"); }).contains("referral_code"));
  CHECK(world.read([&](db::Tx& tx) { return accounts::stats(tx, ada.id).direct_referrals; }) == 2);
}

TEST_CASE("the mailed token verifies the address once") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  const std::string token = mailed_token(world, ada.email);
  REQUIRE(token.starts_with("ev_"));
  const auto verify = [&](const std::string& text) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { accounts::verify_email(tx, text, world.bonus); }); });
  };
  CHECK(verify("ev_unknown") == "422 validation_failed");
  CHECK(verify(token) == "");
  CHECK(world.find_user(ada.id).email_verified);
  CHECK_FALSE(world.find_user(bob.id).email_verified);
  CHECK(verify(token) == "422 validation_failed");
}

TEST_CASE("the mailed token works for 24 hours") {
  for (const auto& [waited, expected] :
       {std::pair<Duration, std::string>{24h - 1ms, ""}, {24h, "422 validation_failed"}}) {
    World world;
    const auto user = world.new_user("ada");
    const std::string token = mailed_token(world, user.email);
    world.clock.advance(waited);
    CHECK(refusal([&] {
            world.write([&](db::Tx& tx) { accounts::verify_email(tx, token, world.bonus); });
          }) == expected);
    CHECK(world.find_user(user.id).email_verified == expected.empty());
  }
}

TEST_CASE("mail in the outbox can only be read with the data key") {
  World world;
  world.new_user("ada");
  const auto mails = world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); });
  REQUIRE(mails.size() == 1);
  CHECK(mails[0].to == "ada@example.org");
  CHECK(mails[0].body.find(mails[0].token) != std::string::npos);
  CHECK_FALSE(mails[0].sent_at);
  world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM outbox WHERE replace(sealed, $1, '') <> sealed",
                    mails[0].token) == 0);
    CHECK(tx.number("SELECT count(*) FROM email_tokens WHERE token_hash = $1", mails[0].token) ==
          0);
    Keys others = world.keys;
    others.data = std::string(32, 'x');
    CHECK_THROWS_AS(outbox::list(tx, others.data), std::runtime_error);
  });
}

TEST_CASE("credentials are found by the address in upper or lower case") {
  World world;
  const auto ada = world.new_user("ada");
  world.read([&](db::Tx& tx) {
    CHECK(accounts::credentials(tx, "ADA@EXAMPLE.ORG")->user_id == ada.id);
    CHECK(accounts::credentials(tx, "ada@example.org")->password_hash == "no hash");
    CHECK_FALSE(accounts::credentials(tx, "ada@example.com"));
    CHECK_FALSE(accounts::credentials(tx, "' OR 1=1 --"));
    CHECK_FALSE(accounts::find(tx, "nobody"));
  });
}

TEST_CASE("stats count what was earned, spent and connected") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto app = world.new_app(ada).app;
  world.tokens(app, ada);
  world.mint(ledger::user_account(ada.id), 70);
  world.write([&](db::Tx& tx) {
    REQUIRE(ledger::post(tx, {.kind = "spend",
                              .from = ledger::user_account(ada.id),
                              .to = ledger::app_account(app.id),
                              .amount = 30,
                              .memo = ""}));
  });
  const auto stats = world.read([&](db::Tx& tx) { return accounts::stats(tx, ada.id); });
  CHECK(stats.total_earned == 70);
  CHECK(stats.total_spent == 30);
  CHECK(stats.connected_apps == 1);
  CHECK(world.find_user(ada.id).points == 40);
}

TEST_CASE("the number of connected apps follows each connection and its end") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto first = world.new_app(ada).app;
  const auto second = world.new_app(ada).app;
  const auto connected = [&] {
    return world.read([&](db::Tx& tx) { return accounts::stats(tx, ada.id).connected_apps; });
  };
  const auto disconnect = [&](const apps::App& app) {
    world.write([&](db::Tx& tx) { connections::disconnect(tx, ada.id, app.id); });
  };
  CHECK(connected() == 0);
  world.tokens(first, ada);
  world.tokens(first, ada);
  world.tokens(second, ada);
  CHECK(connected() == 2);
  disconnect(first);
  CHECK(connected() == 1);
  world.tokens(first, ada);
  CHECK(connected() == 2);
  world.write([&](db::Tx& tx) { connections::disconnect_all(tx, ada.id); });
  CHECK(connected() == 0);
}

TEST_CASE("an unverified address gets at most ten letters a day, whoever asks for them") {
  World world;
  const auto letters = [&] {
    return world.read([](db::Tx& tx) { return int(tx.number("SELECT count(*) FROM outbox")); });
  };
  // Tags and capital letters lead to the same mailbox, whatever accounts are created and deleted.
  const auto sign_up = [&](int i) {
    return refusal([&] {
      const auto user = world.write([&](db::Tx& tx) {
        return accounts::register_user(tx,
                                       {.email = "Victim+" + std::to_string(i) + "@example.org",
                                        .username = "name" + std::to_string(i),
                                        .password_hash = "no hash",
                                        .referral_code = {}},
                                       world.bonus, world.keys, "https://api.example.org");
      });
      world.write([&](db::Tx& tx) {
        tx.execute("UPDATE outbox SET sent_at = $1", tx.now());
        tx.execute("UPDATE outbox SET to_address = 'sent'");
        accounts::delete_account(tx, user, world.keys);
      });
    });
  };
  for (int i = 0; i < accounts::max_letters_to_unverified; ++i) CHECK(sign_up(i) == "");
  CHECK(sign_up(100) == "429 rate_limited");
  CHECK(letters() == accounts::max_letters_to_unverified);
  world.new_user("another");
  world.clock.advance(24h);
  CHECK(sign_up(101) == "");
}

TEST_CASE("few notices go to an unverified address; a verified one gets all") {
  World world;
  const auto stranger = world.new_user("stranger"), ada = world.verified_user("ada");
  const auto change_passwords = [&](const accounts::User& user) {
    for (int i = 0; i < 30; ++i)
      world.write([&](db::Tx& tx) {
        const std::string old = accounts::password_hash_of(tx, user.id);
        accounts::change_password(
            tx, user,
            {.old_hash = old, .new_hash = "hash " + std::to_string(i), .kept_session = ""},
            world.keys, "");
      });
    return world.read([&](db::Tx& tx) {
      return int(tx.number("SELECT count(*) FROM outbox WHERE to_address = $1", user.email));
    });
  };
  CHECK(change_passwords(stranger) == accounts::max_letters_to_unverified +
                                          accounts::more_letters_to_plain_address +
                                          accounts::more_letters_of_other_kinds);
  CHECK(change_passwords(ada) == 31);  // plus the mail that verified the address
}

}  // namespace
