// Logout tokens over HTTP, to an app that works and to one that doesn't.
#include "reconcilers/loops/logouts.h"

#include <httplib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <optional>

#include "controller/domain/accounts/sessions.h"
#include "controller/domain/lifecycle/ways_in.h"
#include "controller/domain/oauth/openid_keys.h"
#include "tests/domain/world.h"
#include "tests/listening.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using reconcilers::LogoutLoop;
using reconcilers::Reach;

class AppServer {
 public:
  AppServer() {
    server_.Post("/out", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(request.get_param_value("logout_token"));
      response.status = status;
    });
    listening_.emplace(server_);
  }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(listening_->port()) + "/out";
  }
  std::vector<std::string> tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }
  std::atomic<int> status = 200;

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::vector<std::string> tokens_;
  std::optional<Listening> listening_;
};

struct Fixture {
  World world;
  AppServer server;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.new_app(ada).app;
  accounts::Session session = world.log_in(ada);
  const openid::Issuer issuer = {.url = "https://api.example.org", .data_key = world.keys.data};
  prometheus::Registry registry;
  Round round{world.db};

  Fixture() {
    world.write([&](db::Tx& tx) {
      apps::store_openid_settings(tx, app.id, {.backchannel_logout_uri = server.url()});
      const auto code =
          oauth::authorize(tx, ada, world.authorization(app, "openid"), std::nullopt, session.id);
      const auto tokens = oauth::exchange_code(tx, app, code.value().code, redirect_uri,
                                               code_verifier, world.policy);
      openid::id_token(tx, tokens.value(), issuer);
      accounts::end_session(tx, ada.id, session.id);
    });
  }
  // Logs in to the app in another session, without ending it.
  accounts::Session logged_in() {
    const accounts::Session other = world.log_in(ada);
    world.write([&](db::Tx& tx) {
      const auto code =
          oauth::authorize(tx, ada, world.authorization(app, "openid"), std::nullopt, other.id);
      REQUIRE(oauth::exchange_code(tx, app, code.value().code, redirect_uri, code_verifier,
                                   world.policy)
                  .has_value());
    });
    return other;
  }
  LogoutLoop loop(Reach reach = Reach::private_too) {
    return LogoutLoop({.issuer = issuer, .reach = reach, .request_limit = 5s}, registry);
  }
  void run(LogoutLoop& loop) {
    round.run([&](Round& running) { loop.run_once(running); });
  }
  std::int64_t waiting() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM logout_notices"); });
  }
};

TEST_CASE("an app gets a logout token that is signed, once") {
  Fixture f;
  auto loop = f.loop();
  f.run(loop);
  f.run(loop);
  const auto tokens = f.server.tokens();
  REQUIRE(tokens.size() == 1);
  CHECK(f.waiting() == 0);
  const auto claims = f.world.read([&](db::Tx& tx) {
    return openid::verified(openid::signing_keys(tx, f.world.keys.data).value(),
                            openid::logout_token_type, tokens[0], tx.now());
  });
  REQUIRE(claims);
  CHECK(claims->at("sid") == openid::session_name(f.session.id, f.app.client_id));
}

TEST_CASE("an app that isn't well is told again, later and later, until it is given up") {
  Fixture f;
  f.server.status = 503;
  auto loop = f.loop();
  f.run(loop);
  f.run(loop);
  CHECK(f.server.tokens().size() == 1);
  f.world.clock.advance(16s);
  f.run(loop);
  CHECK(f.server.tokens().size() == 2);
  CHECK(f.server.tokens()[0] != f.server.tokens()[1]);
  for (int i = 0; i < 20; ++i) {
    f.world.clock.advance(3h);
    f.run(loop);
  }
  CHECK(f.server.tokens().size() == size_t(logouts::max_attempts));
  CHECK(f.waiting() == 0);
}

TEST_CASE("an app whose tokens end is told, although the session goes on") {
  Fixture f;
  auto loop = f.loop();
  f.run(loop);
  const accounts::Session kept = f.logged_in();
  f.world.write([&](db::Tx& tx) { accounts::end_ways_in(tx, f.ada.id, kept.id); });
  CHECK(f.waiting() == 1);
  f.run(loop);
  CHECK(f.server.tokens().size() == 2);
  f.world.write([&](db::Tx& tx) { accounts::end_session(tx, f.ada.id, kept.id); });
  CHECK(f.waiting() == 0);
}

TEST_CASE("an app that refuses a logout token isn't asked again") {
  Fixture f;
  f.server.status = 400;
  auto loop = f.loop();
  f.run(loop);
  CHECK(f.server.tokens().size() == 1);
  CHECK(f.waiting() == 0);
}

TEST_CASE("a logout token goes to no private address") {
  Fixture f;
  auto loop = f.loop(Reach::public_only);
  f.run(loop);
  CHECK(f.server.tokens().empty());
  CHECK(f.waiting() == 1);  // the name may lead elsewhere later
}

}  // namespace
