// Access ends while 32 threads use it: no request that begins afterwards gets in, and streams that
// are open say nothing more.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "controller/domain/accounts/sessions.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "tests/api/gate/event_text.h"
#include "tests/api/gate/members.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

constexpr int racers = 32;  // one of them ends the access
using Headers = std::vector<Header>;

struct Team {
  GateWorld g;
  accounts::User ada = g.world.verified_user("ada"), bob = g.world.verified_user("bob");
  apps::App app = g.world.approved_app(ada, {Scope::deploy_manage});
  std::string shop = g.world.deploy(app, berth::test::order()).id;
  std::string deployment = "/api/deploy/apps/" + shop;

  Team() { add_member(g, app, ada, bob, apps::Role::developer); }
  void remove_bob() {
    g.world.write([&](db::Tx& tx) { apps::remove_member(tx, change_by(g, ada), app.id, bob.id); });
  }
  Headers cookie(const accounts::User& user) {
    return {{"Cookie", "__Host-berth_session=" + g.world.jwt(user)},
            {"Sec-Fetch-Site", "same-origin"},
            {"Berth-Console", "1"},
            {"Berth-App", app.id}};
  }
  Headers personal_token(const std::optional<std::string>& deployment_id) {
    personal_tokens::Wanted wanted = {.name = "CI", .scopes = {Scope::deploy_manage}};
    if (deployment_id) wanted.app_id = app.id;
    wanted.deployment_id = deployment_id;
    return {bearer(g.world
                       .write([&](db::Tx& tx) {
                         return personal_tokens::make(tx, bob, wanted, g.world.keys,
                                                      g.services.base_url);
                       })
                       .secret),
            {"Berth-App", app.id}};
  }

  // Asks on 31 threads, with each of these in turn, while `end` ends their access. Returns how many
  // requests got in that began after that.
  int late(const std::vector<Headers>& shown, const std::string& path,
           const std::function<void()>& end) {
    for (const Headers& headers : shown) REQUIRE(g.ask("GET", path, headers).status == 200);
    constexpr int asked_after = 5;
    std::atomic<bool> has_ended = false;
    std::atomic<int> before = 0, got_in_late = 0;
    {
      std::vector<std::jthread> threads;
      for (int racer = 1; racer < racers; ++racer)
        threads.emplace_back([&, racer] {
          const Headers& headers = shown[size_t(racer) % shown.size()];
          for (int after = 0; after < asked_after;) {
            const bool had_ended = has_ended;
            const bool got_in = g.respond("GET", path, headers).status == 200;
            if (got_in) ++before;
            if (!had_ended) continue;
            ++after;
            if (got_in) ++got_in_late;
          }
        });
      while (before < racers) std::this_thread::yield();
      end();
      has_ended = true;
    }
    return got_in_late;
  }
};

TEST_CASE("no request that begins after the removal of a member gets in, whatever they show") {
  Team t;
  const std::vector<Headers> shown = {t.cookie(t.bob), t.personal_token({}),
                                      t.personal_token(t.shop)};
  CHECK(t.late(shown, t.deployment, [&] { t.remove_bob(); }) == 0);
  for (const Headers& headers : shown)
    CHECK(t.g.ask("GET", t.deployment, headers).error() == "403 forbidden");
}

TEST_CASE("no request that begins after the end of a session or of a consent gets in") {
  Team t;
  const auto session = t.g.world.log_in(t.bob);
  const std::string jwt = accounts::session_jwt(session, t.g.world.keys);
  CHECK(t.late({{bearer(jwt)}}, "/api/auth/me", [&] {
    t.g.world.write([&](db::Tx& tx) { accounts::end_session(tx, t.bob.id, session.id); });
  }) == 0);
  const std::string profile = "/api/external/profile";
  const Headers revoked = {bearer(t.g.world.tokens(t.app, t.bob).access_token)};
  CHECK(t.late({revoked}, profile, [&] {
    t.g.world.write([&](db::Tx& tx) { oauth::revoke(tx, t.app, revoked.front().value.substr(7)); });
  }) == 0);
  const Headers connected = {bearer(t.g.world.tokens(t.app, t.bob).access_token)};
  CHECK(t.late({connected}, profile, [&] {
    t.g.world.write([&](db::Tx& tx) { connections::disconnect(tx, t.bob.id, t.app.id); });
  }) == 0);
}

TEST_CASE("no request that begins after the suspension of an account gets in, whatever it shows") {
  Team t;
  const std::vector<Headers> shown = {t.cookie(t.bob), t.personal_token({})};
  CHECK(t.late(shown, t.deployment, [&] {
    t.g.world.write([&](db::Tx& tx) { accounts::suspend(tx, t.bob.id, "root", t.g.world.keys); });
  }) == 0);
}

TEST_CASE("the streams of a member end with the removal, and say nothing of what comes after it") {
  Team t;
  const auto as_bob = t.cookie(t.bob), as_ada = t.cookie(t.ada);
  // The last stream is the owner's, which goes on.
  std::vector<Response> open;
  open.reserve(racers);
  for (int i = 0; i < racers; ++i) {
    open.push_back(t.g.respond("GET", t.deployment + "/events", i + 1 < racers ? as_bob : as_ada));
    REQUIRE(open.back().status == 200);
  }
  const auto wake = [&] { t.g.services.memory.events->wake(db::Topic::deployment_seen, t.shop); };
  std::atomic<int> began = 0, told_bob_late = 0, told_ada = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < racers; ++i)
      threads.emplace_back([&, i] {
        EventText text;
        bool has_begun = false;
        const Sink sink = [&](std::string_view data) {
          for (const ReadEvent& event : text.read(data)) {
            if (!std::exchange(has_begun, true)) ++began;
            if (json::parse(event.data).at("status") == "destroyed")
              ++(i + 1 < racers ? told_bob_late : told_ada);
          }
        };
        Steps steps(open[size_t(i)].stream);
        while (steps.next(sink)) {
        }
      });
    while (began < racers) std::this_thread::yield();
    // Something happens all the time, also while the member is removed.
    std::jthread events([&](const std::stop_token& stop) {
      for (bool stops = true; !stop.stop_requested(); stops = !stops) {
        berth::test::refusal(
            [&] { stops ? t.g.world.stop(t.app, t.shop) : t.g.world.restart(t.app, t.shop); });
        wake();
      }
    });
    t.remove_bob();
    events.request_stop();
    events.join();
    t.g.world.destroy(t.app, t.shop);
    wake();
  }
  CHECK(told_bob_late == 0);
  CHECK(told_ada == 1);
}

}  // namespace
