#include "controller/domain/accounts/internal_secrets.h"

#include <catch2/catch.hpp>

#include "controller/domain/kernel/audit.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using accounts::AdminRole;
using internal_secrets::Made;
using internal_secrets::Secret;

struct Scene {
  World world;

  Made make(const std::string& name, AdminRole role = AdminRole::admin,
            std::optional<Duration> lifetime = {}) {
    return world.write(
        [&](db::Tx& tx) { return internal_secrets::make(tx, name, role, lifetime, "root"); });
  }
  std::string refusal_of_name(const std::string& name) {
    return refusal([&] { make(name); });
  }
  std::optional<Secret> find(const std::string& text) {
    return world.read([&](db::Tx& tx) { return internal_secrets::find_valid(tx, text); });
  }
  std::vector<Secret> list() { return world.read(internal_secrets::list); }
};

TEST_CASE("an internal secret is found by its text, and stored as a hash",
          "[internal_secrets_test]") {
  Scene s;
  const Made made = s.make("billing-job", AdminRole::finance);
  CHECK(made.text.starts_with("is_live_"));
  CHECK(made.text.size() > 8 + 42);  // 256 bits in base64url
  const auto found = s.find(made.text);
  REQUIRE(found);
  CHECK(found->id == made.secret.id);
  CHECK(found->name == "billing-job");
  CHECK(found->role == AdminRole::finance);
  CHECK(found->made_by == "root");
  CHECK_FALSE(s.find(made.text + "x"));
  CHECK_FALSE(s.find(made.text.substr(8)));
  CHECK_FALSE(s.find(""));
  CHECK(s.world.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM internal_secrets WHERE secret_hash = $1",
                     token_hash(made.text));
  }) == 1);
}

TEST_CASE("a new secret of the same name works beside the old one until that is revoked",
          "[internal_secrets_test]") {
  Scene s;
  const Made old = s.make("ci"), fresh = s.make("ci");
  CHECK(s.find(old.text));
  CHECK(s.find(fresh.text));
  CHECK(s.list().size() == 2);
  s.world.write([&](db::Tx& tx) { internal_secrets::revoke(tx, old.secret.id, "user:1"); });
  CHECK_FALSE(s.find(old.text));
  CHECK(s.find(fresh.text));
  CHECK(refusal([&] {
          s.world.write([&](db::Tx& tx) { internal_secrets::revoke(tx, old.secret.id, "x"); });
        }) == "404 not_found");
  const auto entry = s.world.read(
      [](db::Tx& tx) { return audit::list(tx, {}, {.page = 1, .page_size = 1}).items.at(0); });
  CHECK(entry.action == "internal_secret.revoke");
  CHECK(entry.actor == "user:1");
  CHECK(entry.details == R"({"name":"ci","role":"admin"})");
}

TEST_CASE("an internal secret expires to the second", "[internal_secrets_test]") {
  Scene s;
  const Made made = s.make("ci", AdminRole::admin, 24h);
  s.world.clock.advance(24h - 1s);
  CHECK(s.find(made.text));
  s.world.clock.advance(1s);
  CHECK_FALSE(s.find(made.text));
  CHECK(s.list().size() == 1);
}

TEST_CASE("the name of an internal secret is plain, and nobody else's in the audit log",
          "[internal_secrets_test]") {
  Scene s;
  for (const char* name : {"", "internal", "user", "1st", "-a", "Ci", "a b", "a:b", "a\n", "ä"}) {
    INFO(name);
    CHECK(s.refusal_of_name(name) == "422 validation_failed");
  }
  CHECK(s.refusal_of_name(std::string(41, 'a')) == "422 validation_failed");
  CHECK(s.refusal_of_name(std::string(40, 'a')) == "");
  CHECK(s.refusal_of_name("users-2") == "");
}

TEST_CASE("there are at most 50 internal secrets", "[internal_secrets_test]") {
  Scene s;
  for (int i = 0; i < internal_secrets::max_secrets; ++i) s.make("ci");
  CHECK(s.refusal_of_name("ci") == "409 invalid_state");
  const std::string oldest = s.list().back().id;
  s.world.write([&](db::Tx& tx) { internal_secrets::revoke(tx, oldest, "root"); });
  CHECK(s.refusal_of_name("ci") == "");
}

TEST_CASE("the last use is stored once in five minutes", "[internal_secrets_test]") {
  Scene s;
  const Made made = s.make("ci");
  const auto is_due = [&] {
    return internal_secrets::is_use_due(*s.find(made.text), s.world.clock.now());
  };
  CHECK(is_due());
  s.world.write([&](db::Tx& tx) { internal_secrets::store_use(tx, made.secret.id); });
  CHECK(s.list().at(0).last_used_at == s.world.clock.now());
  CHECK_FALSE(is_due());
  s.world.clock.advance(5min);
  CHECK(is_due());
}

}  // namespace
