// The rotation of refresh tokens (RFC 9700, section 4.14.2).
#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/reported_tokens.h"
#include "controller/domain/oauth/token_rows.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.new_app(ada).app;
  oauth::Tokens first = world.tokens(app, ada);

  bool works(const std::string& access_token) {
    return refusal([&] { world.check(access_token); }).empty();
  }
  std::string refresh(const std::string& token) { return refusal_of(world.refresh(app, token)); }
  std::vector<audit::Entry> reuses() {
    return world.read([](db::Tx& tx) {
      return audit::list(tx, {.action = "token.reuse"}, {.page = 1, .page_size = 10}).items;
    });
  }
};

constexpr const char* refused = "401 invalid_grant";

TEST_CASE("a refresh token gives a new pair for the same user and scopes, and no session token") {
  Fixture f;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  CHECK(second.refresh_token != f.first.refresh_token);
  CHECK(second.access_token != f.first.access_token);
  CHECK(second.scopes == f.first.scopes);
  CHECK(second.user_id == f.ada.id);
  CHECK_FALSE(second.session_token);
  CHECK(f.works(second.access_token));
  CHECK(f.works(f.first.access_token));
  CHECK(f.refresh(second.refresh_token) == "");
}

TEST_CASE("refreshing works without client authentication, but not as another client") {
  Fixture f;
  const auto other = f.world.new_app(f.ada).app;
  CHECK(refusal_of(f.world.refresh(other, f.first.refresh_token)) == refused);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "");
}

// Returns the app after its owner has closed /api/auth/refresh for it.
apps::App closed(Fixture& f) {
  return f.world.write([&](db::Tx& tx) {
    return apps::update(tx, f.app,
                        {.app_name = "My game",
                         .app_description = "",
                         .logo_url = {},
                         .website_url = {},
                         .redirect_uris = {redirect_uri},
                         .allowed_scopes = f.app.allowed_scopes,
                         .refresh_requires_client = true},
                        apps::Listing::unlisted)
        .app;
  });
}

TEST_CASE(
    "an app can require its client credentials, and an attempt without them changes nothing") {
  Fixture f;
  CHECK(closed(f).refresh_requires_client);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "401 invalid_client");
  // The token wasn't consumed.
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  // A replay without client authentication revokes nothing, however late it comes.
  f.world.clock.advance(1min);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "401 invalid_client");
  CHECK(f.works(second.access_token));
  CHECK(f.refresh(second.refresh_token) == "");
}

TEST_CASE("what isn't a refresh token is refused") {
  Fixture f;
  for (const std::string& token : {std::string(), std::string("rt_live_unknown"),
                                   f.first.access_token, *f.first.session_token})
    CHECK(f.refresh(token) == refused);
  CHECK(f.works(f.first.access_token));
}

TEST_CASE("a token that is used again within the grace is refused, and nothing else happens") {
  Fixture f;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(10s - 1ms);
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK(f.works(second.access_token));
  CHECK(f.refresh(second.refresh_token) == "");
}

TEST_CASE("reusing a token after the grace revokes its whole family, and no other") {
  Fixture f;
  const auto other_family = f.world.tokens(f.app, f.ada);
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(10s);
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK_FALSE(f.works(f.first.access_token));
  CHECK_FALSE(f.works(second.access_token));
  CHECK(f.refresh(second.refresh_token) == refused);
  CHECK(f.works(other_family.access_token));
  CHECK(f.refresh(other_family.refresh_token) == "");
}

TEST_CASE("the end of a family by reuse has one entry, with the account and who showed the token") {
  Fixture f;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(9s);
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK(f.reuses().empty());  // within the grace nothing has happened
  f.world.clock.advance(1s);
  for (int i = 0; i < 3; ++i) CHECK(f.refresh(f.first.refresh_token) == refused);
  auto found = f.reuses();
  REQUIRE(found.size() == 1);
  CHECK(found[0].actor == "app:" + f.app.id);
  CHECK(found[0].user_id == f.ada.id);
  CHECK(found[0].app_id == f.app.id);
  CHECK(found[0].details == R"({"kind":"refresh_token"})");
  // Nobody in particular shows a token without the client's secret.
  const auto other = f.world.tokens(f.app, f.ada);
  REQUIRE(f.world.refresh(f.app, other.refresh_token));
  f.world.clock.advance(10s);
  CHECK(refusal_of(f.world.refresh(std::nullopt, other.refresh_token)) == refused);
  found = f.reuses();
  REQUIRE(found.size() == 2);
  CHECK(found[0].actor == "anonymous");
  CHECK(found[0].target != found[1].target);
}

TEST_CASE("another client's replay revokes nothing") {
  Fixture f;
  const auto other = f.world.new_app(f.ada).app;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(1h - 1s);
  CHECK(refusal_of(f.world.refresh(other, f.first.refresh_token)) == refused);
  CHECK(f.works(second.access_token));
}

TEST_CASE("with no grace the first replay revokes") {
  Fixture f;
  f.world.policy.refresh_reuse_grace = 0s;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK_FALSE(f.works(second.access_token));
}

TEST_CASE("a refresh token works for less than 30 days") {
  for (const auto& [waited, expected] :
       {std::pair<Duration, std::string>{std::chrono::days(30) - 1ms, ""},
        {std::chrono::days(30), refused}}) {
    Fixture f;
    f.world.clock.advance(waited);
    CHECK(f.refresh(f.first.refresh_token) == expected);
  }
}

TEST_CASE("a family ends after its lifetime, however often it is refreshed") {
  Fixture f;
  std::string token = f.first.refresh_token;
  for (int i = 0; i < 4; ++i) {
    f.world.clock.advance(std::chrono::days(20));
    token = f.world.refresh(f.app, token).value().refresh_token;
  }
  f.world.clock.advance(std::chrono::days(10) - 1ms);
  token = f.world.refresh(f.app, token).value().refresh_token;
  f.world.clock.advance(1ms);
  CHECK(f.refresh(token) == refused);
  // The answer doesn't advise to refresh.
  CHECK(f.world.refresh(f.app, token).error().what() ==
        std::string("the refresh token has expired; ask the user again"));
}

// A family that was refreshed every minute. Rows of tokens whose reuse would end it are gone.
struct Refreshed : Fixture {
  static constexpr int refreshes = 20;
  oauth::Tokens last = first;

  Refreshed() {
    for (int i = 0; i < refreshes; ++i) {
      world.clock.advance(1min);
      last = world.refresh(app, last.refresh_token).value();
    }
  }
  std::int64_t rows() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM refresh_tokens"); });
  }
  // Whether the newest tokens work.
  bool lives() { return works(last.access_token) && refresh(last.refresh_token).empty(); }
};

TEST_CASE("a family has two refresh tokens at most, and knows all that it has ever had") {
  Refreshed f;
  CHECK(f.rows() == 2);  // the last one, and the one that was consumed for it
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK_FALSE(f.lives());
  CHECK(f.world.refresh(f.app, f.first.refresh_token).error().event->kind ==
        SecurityKind::refresh_token_reused);
}

TEST_CASE("a removed token ends nothing for another client, nor without the client's secret") {
  Refreshed f;
  const auto other = f.world.new_app(f.ada).app;
  CHECK(refusal_of(f.world.refresh(other, f.first.refresh_token)) == refused);
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) { oauth::revoke(tx, other, f.first.refresh_token); });
        }) == "400 invalid_grant");
  closed(f);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "401 invalid_client");
  CHECK(f.lives());
}

TEST_CASE("a removed token can be revoked and reported, and ends its family") {
  {
    Refreshed f;
    f.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.app, f.first.refresh_token); });
    CHECK_FALSE(f.lives());
  }
  Refreshed f;
  CHECK(f.world.write([&](db::Tx& tx) {
    return reported_tokens::report(tx, f.first.refresh_token, f.world.keys,
                                   "https://api.example.org");
  }) == f.ada.id);
  CHECK_FALSE(f.lives());
}

TEST_CASE("refreshes in quick succession leave rows, and later ones remove them") {
  Fixture f;
  const auto rows = [&] {
    return f.world.read(
        [](db::Tx& tx) { return tx.number("SELECT count(*) FROM refresh_tokens"); });
  };
  oauth::Tokens last = f.first;
  const auto refresh_some = [&](int count, std::chrono::seconds pause) {
    for (int i = 0; i < count; ++i) {
      f.world.clock.advance(pause);
      last = f.world.refresh(f.app, last.refresh_token).value();
    }
  };
  refresh_some(200, 0s);
  CHECK(rows() == 201);
  f.world.clock.advance(f.world.policy.refresh_reuse_grace);
  refresh_some(1, 0s);
  CHECK(rows() <= 202 - 63);  // of the 64 that it looks at, one may be its own
  refresh_some(4, 1min);
  CHECK(rows() == 2);
  CHECK(f.refresh(f.first.refresh_token) == refused);  // its row is gone
  CHECK(f.refresh(last.refresh_token) == refused);     // so its reuse has ended the family
}

TEST_CASE("families have different marks, and none is stored as it is") {
  Fixture f;
  const std::string mark = oauth::mark_of(f.first.refresh_token);
  CHECK(mark.size() == 22);
  CHECK(oauth::mark_of(f.world.tokens(f.app, f.ada).refresh_token) != mark);
  CHECK(oauth::mark_of(f.world.refresh(f.app, f.first.refresh_token)->refresh_token) == mark);
  for (const std::string& other : {f.first.access_token, *f.first.session_token, std::string(),
                                   "rt_live_" + mark, f.first.refresh_token + "x"})
    CHECK(oauth::mark_of(other).empty());
  CHECK(oauth::stored_refresh_token(f.first.refresh_token).find(mark) == std::string::npos);
}

TEST_CASE("a token of an older version has no mark, works once, and its reuse is noticed") {
  Fixture f;
  const std::string old = "rt_live_" + std::string(43, 'o');
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE refresh_tokens SET token_hash = $1", token_hash(old));
  });
  oauth::Tokens last = f.world.refresh(f.app, old).value();
  CHECK_FALSE(oauth::mark_of(last.refresh_token).empty());
  for (int i = 0; i < 3; ++i) {
    f.world.clock.advance(1min);
    last = f.world.refresh(f.app, last.refresh_token).value();
  }
  CHECK(f.refresh(old) == refused);
  CHECK(f.refresh(last.refresh_token) == refused);
}

}  // namespace
