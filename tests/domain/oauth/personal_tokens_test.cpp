// Personal access tokens: their form, their life, and the mails about them.
#include "controller/domain/oauth/personal_tokens.h"

#include <rapidcheck.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/expiry.h"
#include "controller/domain/oauth/reported_tokens.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr const char* base_url = "https://api.example.org";
constexpr int racers = 32;
constexpr std::string_view base62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");

  personal_tokens::Made make(const personal_tokens::Wanted& wanted = {
                                 .name = "CI", .scopes = {Scope::deploy_read}}) {
    return world.write(
        [&](db::Tx& tx) { return personal_tokens::make(tx, ada, wanted, world.keys, base_url); });
  }
  // Returns how the token is refused; empty if it works.
  std::string use(const std::string& secret) {
    return refusal(
        [&] { world.read([&](db::Tx& tx) { return personal_tokens::check(tx, secret); }); });
  }
  std::string revoke(const std::string& id) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { personal_tokens::revoke(tx, ada.id, id); }); });
  }
  std::vector<personal_tokens::Token> list() {
    return world.read([&](db::Tx& tx) { return personal_tokens::list(tx, ada.id); });
  }
  void report(const std::string& token) {
    world.write([&](db::Tx& tx) { reported_tokens::report(tx, token, world.keys, base_url); });
  }
  int warn() {
    return world.write(
        [&](db::Tx& tx) { return personal_tokens::warn_some(tx, world.keys, base_url, 100); });
  }
  int expire() {
    return world.write([](db::Tx& tx) { return oauth::remove_old(tx, 1000); });
  }
  std::vector<outbox::Mail> mails(const std::string& part_of_subject) {
    std::vector<outbox::Mail> found;
    for (const auto& mail :
         world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
      if (mail.to == ada.email && mail.subject.find(part_of_subject) != std::string::npos)
        found.push_back(mail);
    return found;
  }
};

TEST_CASE("a token has GitHub's form") {
  Fixture f;
  const std::string secret = f.make().secret;
  CHECK(secret.size() == 9 + 40 + 6);
  CHECK(secret.starts_with("pat_live_"));
  CHECK(secret.substr(9).find_first_not_of(base62) == std::string::npos);
  CHECK(personal_tokens::is_well_formed(secret));
  CHECK(f.make().secret != secret);
  // CRC-32 as zlib computes it, so that scanners can check it: crc32(b"0123456789ABCDEFGHIJ…").
  CHECK(personal_tokens::checksum_of("0123456789ABCDEFGHIJabcdefghij0123456789") == "3BTHtv");
  CHECK(personal_tokens::checksum_of("") == "000000");
}

TEST_CASE("a mistyped token is noticed by its checksum") {
  Fixture f;
  const std::string secret = f.make().secret;
  // A CRC notices every change of a single character, and of two that are exchanged.
  CHECK(rc::check("another character", [&] {
    std::string typed = secret;
    const auto at = *rc::gen::inRange<size_t>(9, secret.size());
    typed[at] = *rc::gen::elementOf(std::string(base62));
    RC_ASSERT(personal_tokens::is_well_formed(typed) == (typed == secret));
  }));
  CHECK(rc::check("two characters that change places", [&] {
    std::string typed = secret;
    const auto at = *rc::gen::inRange<size_t>(9, secret.size() - 1);
    std::swap(typed[at], typed[at + 1]);
    RC_ASSERT(personal_tokens::is_well_formed(typed) == (typed == secret));
  }));
  CHECK(rc::check("any 40 characters have a checksum", [] {
    const auto random =
        *rc::gen::container<std::string>(40, rc::gen::elementOf(std::string(base62)));
    const std::string token = "pat_live_" + random + personal_tokens::checksum_of(random);
    RC_ASSERT(token.size() == 55U);
    RC_ASSERT(personal_tokens::is_well_formed(token));
  }));
  CHECK(rc::check("any text can be looked at", [](const std::string& text) {
    RC_ASSERT_FALSE(personal_tokens::is_well_formed("pat_live_" + text));
  }));
  for (const std::string& wrong :
       {std::string(), std::string("pat_live_"), secret.substr(0, secret.size() - 1), secret + "0",
        secret.substr(1), "at_live_" + secret.substr(9)}) {
    INFO(wrong);
    CHECK_FALSE(personal_tokens::is_well_formed(wrong));
    CHECK(f.use(wrong) == "401 invalid_token");
  }
  const std::string random(40, 'x');
  CHECK(f.use("pat_live_" + random + personal_tokens::checksum_of(random)) ==
        "401 invalid_token");  // right, and nobody's
}

TEST_CASE("a token works until it expires, is revoked, or its account is suspended") {
  Fixture f;
  const auto made = f.make();
  CHECK(f.use(made.secret).empty());
  CHECK(made.token.expires_at == f.world.clock.now() + std::chrono::days(90));
  const auto seen =
      f.world.read([&](db::Tx& tx) { return personal_tokens::check(tx, made.secret); });
  CHECK(seen.user_id == f.ada.id);
  CHECK(seen.id == made.token.id);
  CHECK(seen.scopes == ScopeSet{Scope::deploy_read});
  CHECK_FALSE(seen.app_id);

  const auto other = f.make();
  REQUIRE(f.list().size() == 2);
  CHECK(f.list()[0].hint == other.secret.substr(other.secret.size() - 4));
  const auto bob = f.world.verified_user("bob");
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) { personal_tokens::revoke(tx, bob.id, other.token.id); });
        }) == "404 not_found");
  CHECK(f.revoke(other.token.id).empty());
  CHECK(f.use(other.secret) == "401 token_revoked");
  CHECK(f.revoke(other.token.id) == "404 not_found");
  CHECK(f.list().size() == 1);

  f.world.suspend_user(f.ada.id);
  CHECK(f.use(made.secret) == "403 account_suspended");
  f.world.write([&](db::Tx& tx) {
    tx.execute(R"(UPDATE users SET suspended_at = NULL WHERE id = $1)", f.ada.id);
  });
  f.world.clock.advance(std::chrono::days(90) - 1ms);
  CHECK(f.use(made.secret).empty());
  f.world.clock.advance(1ms);
  CHECK(f.use(made.secret) == "401 token_expired");
  CHECK(f.list().empty());
}

TEST_CASE("what a token can't be is refused") {
  Fixture f;
  const auto refused = [&](const personal_tokens::Wanted& wanted) {
    return refusal([&] { f.make(wanted); });
  };
  const ScopeSet reads = {Scope::deploy_read};
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string("a\nb"), std::string(" ")})
    CHECK(refused({.name = name, .scopes = reads}) == "422 validation_failed");
  CHECK(refused({.name = std::string(64, 'x'), .scopes = reads}).empty());
  CHECK(refused({.name = "CI", .scopes = {}}) == "422 validation_failed");
  for (const Scope scope : {Scope::points_spend, Scope::points_transfer, Scope::points_award})
    CHECK(refused({.name = "CI", .scopes = {Scope::deploy_read, scope}}) ==
          "422 validation_failed");
  CHECK(refused({.name = "CI", .scopes = personal_tokens::possible_scopes()}).empty());
  for (const auto days : {0, 366})
    CHECK(refused({.name = "CI", .scopes = reads, .lifetime = std::chrono::days(days)}) ==
          "422 validation_failed");
  CHECK(refused({.name = "CI", .scopes = reads, .lifetime = std::chrono::days(365)}).empty());
  f.ada = f.world.new_user("eve");
  CHECK(refused({.name = "CI", .scopes = reads}) == "403 email_not_verified");
}

TEST_CASE("an account has a limited number of tokens, and makes a limited number on a day") {
  Fixture f;
  std::string last;
  for (int i = 0; i < personal_tokens::max_living; ++i) last = f.make().token.id;
  CHECK(refusal([&] { f.make(); }) == "409 invalid_state");
  CHECK(f.revoke(last).empty());
  CHECK(refusal([&] { f.make(); }) == "409 invalid_state");  // the day's limit
  f.world.clock.advance(24h);
  CHECK(refusal([&] { f.make(); }).empty());
  CHECK(refusal([&] { f.make(); }) == "409 invalid_state");
  CHECK(int(f.list().size()) == personal_tokens::max_living);
}

TEST_CASE("the owner is told of a new token, once before its end, and in their language") {
  Fixture f;
  const auto made = f.make();
  f.make({.name = "Short", .scopes = {Scope::deploy_read}, .lifetime = std::chrono::days(7)});
  const auto told = f.mails("a personal access token was made");
  REQUIRE(told.size() == 2);
  for (const auto& mail : told) {
    CHECK(mail.body.find(made.secret) == std::string::npos);
    CHECK(mail.body.find("scopes: deploy:read") != std::string::npos);
  }
  CHECK(f.warn() == 0);
  f.world.clock.advance(std::chrono::days(83));
  CHECK(f.world.read(personal_tokens::is_any_to_warn));
  CHECK(f.warn() == 1);
  CHECK(f.warn() == 0);
  const auto warned = f.mails("A personal access token of yours will expire");
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].body.find("name: CI") != std::string::npos);
  CHECK(warned[0].body.find(made.token.hint) != std::string::npos);

  // A token that was revoked, or has expired unnoticed, is nothing to warn of.
  const auto revoked = f.make();
  f.revoke(revoked.token.id);
  f.make();
  f.world.clock.advance(std::chrono::days(100));
  CHECK(f.warn() == 1);
  CHECK(f.mails("will expire").size() == 1);

  f.world.write([&](db::Tx& tx) {
    tx.execute(R"(UPDATE users SET language = 'de' WHERE id = $1)", f.ada.id);
  });
  f.ada.language = Language::de;
  const auto german = f.make();
  CHECK(f.mails("Ein persönliches Zugriffstoken wurde angelegt").size() == 1);
  f.world.clock.advance(std::chrono::days(84));
  CHECK(f.warn() == 1);
  CHECK(f.mails("läuft ab").size() == 1);
  f.report(german.secret);
  CHECK(f.mails("wurde öffentlich gefunden").size() == 1);
}

TEST_CASE("a token that is reported ends, and its owner is told once") {
  Fixture f;
  const auto made = f.make();
  const auto kept = f.make();
  f.report(made.secret);
  f.report(made.secret);
  f.report("pat_live_nonsense");
  f.report("");
  CHECK(f.use(made.secret) == "401 token_revoked");
  CHECK(f.use(kept.secret).empty());
  REQUIRE(f.mails("was found in public").size() == 1);
  CHECK(f.mails("was found in public")[0].body.find("token CI") != std::string::npos);
  const auto entries =
      f.world.read([&](db::Tx& tx) { return audit::list(tx, {.action = "token.report"}, {}); });
  REQUIRE(entries.items.size() == 1);
  CHECK(entries.items[0].target == made.token.id);
  CHECK(entries.items[0].details.find(made.secret) == std::string::npos);
}

TEST_CASE("an access token or a refresh token that is reported ends with its family") {
  Fixture f;
  const auto app = f.world.new_app(f.ada).app;
  const auto first = f.world.tokens(app, f.ada), second = f.world.tokens(app, f.ada),
             third = f.world.tokens(app, f.ada);
  f.report(first.access_token);
  f.report(second.refresh_token);
  for (const auto& tokens : {first, second}) {
    CHECK(refusal([&] { f.world.check(tokens.access_token); }) == "401 token_revoked");
    CHECK_FALSE(f.world.refresh(app, tokens.refresh_token));
  }
  CHECK(refusal([&] { f.world.check(third.access_token); }).empty());
  CHECK(f.mails("was found in public").size() == 2);
}

TEST_CASE("rows of tokens go a month after their end, and with the account") {
  Fixture f;
  const auto revoked = f.make();
  const auto expiring = f.make({.name = "CI", .scopes = {Scope::deploy_read}, .lifetime = 24h});
  const auto kept = f.make();
  f.revoke(revoked.token.id);
  f.world.clock.advance(std::chrono::days(30) - 1ms);
  f.expire();
  CHECK(f.use(revoked.secret) == "401 token_revoked");
  f.world.clock.advance(1ms);
  CHECK(f.world.read(oauth::is_any_old));
  f.expire();
  CHECK(f.use(revoked.secret) == "401 invalid_token");
  CHECK(f.use(expiring.secret) == "401 token_expired");
  f.world.clock.advance(24h);
  f.expire();
  CHECK(f.use(expiring.secret) == "401 invalid_token");
  CHECK(f.use(kept.secret).empty());
  CHECK_FALSE(f.world.read(personal_tokens::is_any_old));
  f.world.write([&](db::Tx& tx) { personal_tokens::forget(tx, f.ada.id); });
  CHECK(f.use(kept.secret) == "401 invalid_token");
}

TEST_CASE("the last use and its address are written in batches") {
  Fixture f;
  const auto made = f.make();
  personal_tokens::UseLog uses;
  const Instant first = f.world.clock.now();
  uses.note(made.token.id, first, "192.0.2.1");
  uses.note(made.token.id, first + 1s, "2001:db8::1");
  uses.note(made.token.id, first, "192.0.2.3");  // older
  CHECK_FALSE(f.list()[0].last_used_at);
  CHECK(uses.last_use(made.token.id)->address == "2001:db8::1");
  uses.flush(f.world.db);
  CHECK(f.list()[0].last_used_at == first + 1s);
  CHECK(f.list()[0].last_used_from == "2001:db8::1");
}

TEST_CASE("no use that begins after a revocation succeeds, whatever 32 threads do") {
  Fixture f;
  for (int round = 0; round < 5; ++round) {
    const auto made = f.make();
    std::atomic<bool> is_revoked = false;
    std::atomic<int> before = 0, late = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < racers - 1; ++i)
      threads.emplace_back([&] {
        for (int after = 0; after < 3;) {
          const bool was_revoked = is_revoked;
          const bool works = f.use(made.secret).empty();
          if (works) ++before;
          if (was_revoked) {
            ++after;
            if (works) ++late;
          }
        }
      });
    threads.emplace_back([&] {
      while (before < racers) std::this_thread::yield();
      f.revoke(made.token.id);
      is_revoked = true;
    });
    for (std::thread& thread : threads) thread.join();
    CHECK(late == 0);
  }
}

TEST_CASE("of 32 revocations of a token, one succeeds; 32 threads don't pass the limit") {
  Fixture f;
  const auto made = f.make();
  std::atomic<int> revoked = 0, made_at_once = 0;
  const auto together = [](auto&& act) {
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i) threads.emplace_back(act);
    for (std::thread& thread : threads) thread.join();
  };
  together([&] { revoked += f.revoke(made.token.id).empty() ? 1 : 0; });
  CHECK(revoked == 1);
  f.world.clock.advance(24h);
  for (int i = 0; i < personal_tokens::max_living - 5; ++i) f.make();
  together([&] { made_at_once += refusal([&] { f.make(); }).empty() ? 1 : 0; });
  CHECK(made_at_once == 5);
  CHECK(int(f.list().size()) == personal_tokens::max_living);
}

}  // namespace
