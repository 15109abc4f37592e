#include "controller/domain/lifecycle/passwords.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/oauth/connections.h"
#include "tests/domain/world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr const char* base_url = "https://api.example.org";

std::string check(const std::string& password, const std::vector<std::string>& own = {}) {
  return refusal([&] { accounts::check_password(password, own); });
}

std::vector<outbox::Mail> mails_to(World& world, const std::string& to) {
  std::vector<outbox::Mail> result;
  for (const auto& mail : world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
    if (mail.to == to) result.push_back(mail);
  return result;
}

void forget(World& world, const std::string& email) {
  world.write([&](db::Tx& tx) { accounts::request_reset(tx, email); });
  CHECK(world.read(accounts::is_any_reset_requested));
  world.write([&](db::Tx& tx) {
    CHECK(accounts::answer_reset_requests(tx, world.keys, base_url, 10) == 1);
  });
  CHECK_FALSE(world.read(accounts::is_any_reset_requested));
}

std::string reset(World& world, const std::string& token, const std::string& hash = "new hash") {
  return refusal([&] {
    world.write(
        [&](db::Tx& tx) { accounts::reset_password(tx, token, hash, world.keys, base_url); });
  });
}

std::string hash_of(World& world, const accounts::User& user) {
  return world.read([&](db::Tx& tx) { return accounts::password_hash_of(tx, user.id); });
}

bool works(World& world, const std::string& jwt) {
  return refusal([&] {
           world.read([&](db::Tx& tx) { accounts::check_session(tx, jwt, world.keys); });
         }) == "";
}

TEST_CASE("passwords have 8 to 256 characters of any kind") {
  const std::string odd = "größer 🌱";
  for (const std::string& good :
       {odd, std::string("correct horse battery"), std::string("XKPT QVZM"), "kfz 4711 " + odd}) {
    INFO(good);
    CHECK(check(good) == "");
  }
  std::string longest;
  for (int i = 0; i < 256; ++i)
    longest += i % 7 == 0 ? "🌱" : std::string(1, char('!' + i * 37 % 90));
  CHECK(check(longest) == "");
  for (const std::string& bad :
       {std::string(), std::string("hgz7!qx"), std::string("größe🌱!"), longest + "x"}) {
    INFO(bad);
    CHECK(check(bad) == "422 validation_failed");
    CHECK(details([&] { accounts::check_password(bad); }).contains("password"));
  }
}

TEST_CASE("a password's length and strength are those of its composed form") {
  CHECK(accounts::composed_password("caf\x65\xCC\x81") == "caf\xC3\xA9");
  CHECK(accounts::composed_password("plain") == "plain");
  CHECK(check("hgz7qx\x65\xCC\x81") == "422 validation_failed");  // 7 characters, typed as 8
  CHECK(check("hgz7qxv\x65\xCC\x81") == "");
}

TEST_CASE("passwords that attackers try first are refused") {
  for (const char* common :
       {"password", "Password", "PASSWORD", "p@ssw0rd", "12345678", "123456789", "1234567890",
        "qwertyuiop", "asdfghjkl", "1q2w3e4r", "iloveyou", "football", "trustno1", "aaaaaaaa",
        "11111111", "abcdefgh", "password1", "password123", "letmein123", "administrator",
        "        ",
        // A word, and what people add to it when they are asked for more.
        "Summer2026!", "P@ssw0rd2024", "company123", "Winter2025", "Welcome1!", "Qwerty123!",
        "Passw0rd!", "London2024!", "Sommer2026!", "Passwort123!", "letmein2024!", "iloveyou2",
        "testpassword123", "Monday2026", "Changeme1!", "Admin123!"}) {
    INFO(common);
    CHECK(check(common) == "422 validation_failed");
  }
}

TEST_CASE("the refusal of a password says what is wrong with it, and what helps") {
  const auto reason = [](const std::string& password) {
    const auto wrong = details([&] {
      accounts::check_password(password, {"heliotrope", "ada@example.org"});
    });
    return wrong.empty() ? "" : wrong.at("password").front();
  };
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"password123", "common password"}, {"sunflower", "common password or word"},
      {"heliotrope", "your name"},        {"aaaaaaaa", "repetition"},
      {"abcdefgh", "sequence"},           {"rtyuiop[", "row of keys"}};
  for (const auto& [password, kind] : expected) {
    INFO(password << ": " << reason(password));
    CHECK(reason(password).find(kind) != std::string::npos);
    CHECK(reason(password).find("longer phrase") != std::string::npos);
    CHECK(reason(password).find(password) == std::string::npos);
  }
}

TEST_CASE("passwords of several words, or of letters by chance, are accepted") {
  for (const char* fine : {"hunter2hunter2", "correct-horse-1", "Tr0ub4dor&3", "kX9$mP2vLq",
                           "secret of user1", "wrong horse battery", "four other words"}) {
    INFO(fine);
    CHECK(check(fine) == "");
  }
}

TEST_CASE("words of the platform and parts of the user's name and address are easy to guess") {
  const auto own = accounts::own_words("ada-lovelace", "a.byron@analytical.example",
                                       "https://api.hafen.example");
  for (const char* obvious : {"hafen2026!", "Hafen123!", "lovelace2026", "Lovelace1!", "byron1815!",
                              "analytical1!", "berth2026!", "4nalytical!"}) {
    INFO(obvious);
    CHECK(check(obvious, own) == "422 validation_failed");
  }
  CHECK(check("lovelace saw the harbour", own) == "");
}

TEST_CASE("without the blocklist the length alone counts") {
  const auto check_length = [](const std::string& password) {
    return refusal([&] { accounts::check_password(password, {"ada"}, accounts::Blocklist::off); });
  };
  CHECK(check_length("password123") == "");
  CHECK(check_length("aaaaaaaa") == "");
  CHECK(check_length("passwor") == "422 validation_failed");
  CHECK(check_length(std::string(257, 'x')) == "422 validation_failed");
}

TEST_CASE("a user's own name and address aren't accepted as a password") {
  const auto own =
      accounts::own_words("wilhelmina", "w.neumann@example.org", "https://api.example.org");
  for (const char* obvious : {"wilhelmina", "Wilhelmina", "w.neumann", "w.neumann@example.org"}) {
    INFO(obvious);
    CHECK(check(obvious, own) == "422 validation_failed");
  }
  CHECK(check("w.neumann@example.org") == "");
}

TEST_CASE("checking a long password takes no longer than a short one") {
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) check(std::string(200 + size_t(i), 'a') + "bcd");
  CHECK(std::chrono::steady_clock::now() - started < 5s);
}

TEST_CASE("changing the password ends the other sessions") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  const auto here = world.log_in(ada);
  const std::string kept = accounts::session_jwt(here, world.keys);
  const std::string other = world.jwt(ada), strangers = world.jwt(bob);
  const auto change = [&](const std::string& old_hash) {
    return refusal([&] {
      world.write([&](db::Tx& tx) {
        accounts::change_password(
            tx, ada, {.old_hash = old_hash, .new_hash = "new hash", .kept_session = here.id},
            world.keys, base_url);
      });
    });
  };
  CHECK(change("another hash") == "401 invalid_credentials");
  CHECK(works(world, other));
  CHECK(change("no hash") == "");
  CHECK(works(world, kept));
  CHECK_FALSE(works(world, other));
  CHECK(works(world, strangers));
  CHECK(hash_of(world, ada) == "new hash");
  // Two simultaneous calls had both read the old hash.
  CHECK(change("no hash") == "401 invalid_credentials");
  CHECK(mails_to(world, ada.email).front().subject.find("password") != std::string::npos);
}

TEST_CASE("a forgotten password is reset with a mailed token, once") {
  World world;
  const auto ada = world.new_user("ada");
  const std::string jwt = world.jwt(ada);
  forget(world, "ADA@example.org");
  forget(world, ada.email);
  const auto mails = mails_to(world, ada.email);
  const std::string token = mails.at(0).token, earlier = mails.at(1).token;
  REQUIRE(token.starts_with("pr_"));
  CHECK(mails[0].body.find(std::string(base_url) + "/reset-password?token=" + token) !=
        std::string::npos);
  CHECK(reset(world, "pr_unknown") == "422 validation_failed");
  CHECK(works(world, jwt));
  CHECK(reset(world, token) == "");
  CHECK(hash_of(world, ada) == "new hash");
  CHECK_FALSE(works(world, jwt));
  CHECK(reset(world, token, "again") == "422 validation_failed");
  CHECK(reset(world, earlier, "again") == "422 validation_failed");
  CHECK(hash_of(world, ada) == "new hash");
}

TEST_CASE(
    "whoever registered another person's address loses access once that person reads the mail") {
  const bool verified = GENERATE(false, true);
  World world;
  const auto ada = verified ? world.verified_user("ada") : world.new_user("ada");
  const auto app = world.approved_app(world.verified_user("olga"), {Scope::profile_read});
  world.authorize(app, ada, "profile:read");
  const auto secret =
      world.write([&](db::Tx& tx) { return two_factor::set_up(tx, ada, world.keys); }).secret;
  world.write([&](db::Tx& tx) {
    two_factor::enable(tx, ada, totp(secret, to_millis(world.clock.now()) / 1000), world.keys,
                       base_url);
  });
  forget(world, ada.email);
  CHECK(reset(world, mails_to(world, ada.email).at(0).token) == "");
  CHECK(world.find_user(ada.id).totp_enabled == verified);
  CHECK(world.read([&](db::Tx& tx) { return connections::list(tx, ada.id, {}); }).total ==
        (verified ? 1 : 0));
}

TEST_CASE("a reset token works for an hour, and for nothing else") {
  for (const auto& [waited, expected] :
       {std::pair<Duration, std::string>{1h - 1ms, ""}, {1h, "422 validation_failed"}}) {
    World world;
    const auto ada = world.new_user("ada");
    const std::string verification = mails_to(world, ada.email).at(0).token;
    CHECK(reset(world, verification) == "422 validation_failed");
    forget(world, ada.email);
    const std::string token = mails_to(world, ada.email).at(0).token;
    CHECK(refusal([&] {
            world.write([&](db::Tx& tx) { accounts::verify_email(tx, token, world.bonus); });
          }) == "422 validation_failed");
    world.clock.advance(waited);
    CHECK(reset(world, token) == expected);
  }
}

TEST_CASE("an unknown address gets no mail and leaves nothing") {
  World world;
  forget(world, "nobody@example.org");
  CHECK(mails_to(world, "nobody@example.org").empty());
  CHECK(world.read([](db::Tx& tx) {
    return tx.number("SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM email_tokens)");
  }) == 0);
}

// What a request costs may not depend on whether somebody has the address.
TEST_CASE("asking for a new password only notes the address, whoever has it") {
  World world;
  const auto ada = world.new_user("ada");
  const size_t before = mails_to(world, ada.email).size();
  world.write([&](db::Tx& tx) {
    for (const std::string& email : {ada.email, std::string("nobody@example.org")})
      accounts::request_reset(tx, email);
    accounts::request_reset(tx, std::string(1000, 'x') + "@example.org");
  });
  CHECK(mails_to(world, ada.email).size() == before);
  CHECK(world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM reset_requests"); }) ==
        2);
  // Oldest first, as many as are wanted.
  const auto answer = [&](db::Tx& tx) {
    return accounts::answer_reset_requests(tx, world.keys, base_url, 1);
  };
  CHECK(world.write(answer) == 1);
  CHECK(mails_to(world, ada.email).size() == before + 1);
  CHECK(world.write(answer) == 1);
  CHECK(world.write(answer) == 0);
}

TEST_CASE("no mailbox is flooded: three mails an hour") {
  World world;
  const auto ada = world.new_user("ada");
  const size_t before = mails_to(world, ada.email).size();
  for (int i = 0; i < 10; ++i) forget(world, ada.email);
  CHECK(mails_to(world, ada.email).size() == before + 3);
  world.clock.advance(1h + 1ms);
  forget(world, ada.email);
  CHECK(mails_to(world, ada.email).size() == before + 4);
}

}  // namespace
