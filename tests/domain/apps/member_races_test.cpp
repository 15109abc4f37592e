// 32 threads change who works on an app, at the same time.
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <thread>

#include "controller/domain/apps/invitations.h"
#include "controller/domain/apps/members.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using apps::Role;

constexpr int racers = 32;
const std::string base_url = "https://api.example.org";

// Runs `act(racer)` on 32 threads, which begin together.
template <typename Act>
void together(Act&& act) {
  std::barrier start(racers);
  std::vector<std::jthread> threads;
  for (int racer = 0; racer < racers; ++racer)
    threads.emplace_back([&, racer] {
      start.arrive_and_wait();
      act(racer);
    });
}

struct Team {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.new_app(ada).app;

  apps::MemberChange by(const accounts::User& user) const {
    return {.actor = user, .keys = world.keys, .base_url = base_url};
  }
  accounts::User user(const std::string& name, int number) {
    return world.verified_user(name + std::to_string(number));
  }
  // A member without an invitation, because an account sends few of them a day.
  accounts::User member(const std::string& name, int number, Role role) {
    const auto one = user(name, number);
    world.write([&](db::Tx& tx) {
      tx.execute(R"(
          INSERT INTO app_members (app_id, user_id, role, inserted_at, updated_at)
          VALUES ($1, $2, $3, $4, $4))",
                 app.id, one.id, to_string(role), tx.now());
    });
    return one;
  }
  std::string invite(const accounts::User& actor, const apps::NewInvitation& wanted) {
    return world.write([&](db::Tx& tx) { return apps::invite(tx, by(actor), app.id, wanted).id; });
  }
  std::string invite(const accounts::User& to) {
    return invite(ada,
                  {.email = {}, .username = to.username, .role = Role::viewer, .deployments = {}});
  }
  bool accepts(const accounts::User& one, const std::string& id) {
    return succeeds([&](db::Tx& tx) { apps::accept(tx, by(one), id); });
  }
  bool removes(const accounts::User& actor, const accounts::User& one) {
    return succeeds([&](db::Tx& tx) { apps::remove_member(tx, by(actor), app.id, one.id); });
  }
  bool has(const accounts::User& one, Role least = Role::viewer) {
    return refusal([&] {
             world.read([&](db::Tx& tx) { apps::require_member(tx, one.id, app.id, least); });
           })
        .empty();
  }
  std::int64_t rows(const std::string& which) {
    return world.read([&](db::Tx& tx) { return tx.number("SELECT count(*) FROM " + which); });
  }

  template <typename Work>
  bool succeeds(Work&& work) {
    return refusal([&] { world.write(work); }).empty();
  }
};

TEST_CASE("of 32 owners who remove each other, one keeps the app, and no row is lost") {
  Team t;
  std::vector<accounts::User> owners = {t.ada};
  for (int i = 1; i < racers; ++i) owners.push_back(t.member("owner", i, Role::owner));
  std::atomic<int> removed = 0, transferred = 0;
  together([&](int racer) {
    const auto other = [&](int distance) -> const accounts::User& {
      return owners.at(size_t((racer + distance) % racers));
    };
    const accounts::User& one = other(0);
    transferred +=
        t.succeeds([&](db::Tx& tx) { apps::transfer(tx, t.by(one), t.app.id, other(1).id); });
    removed += t.removes(one, other(5)) ? 1 : 0;
    t.succeeds([&](db::Tx& tx) {
      apps::change_member(tx, t.by(one), t.app.id, other(7).id,
                          {.role = Role::viewer, .deployments = {}});
    });
    if (racer % 4 == 3) removed += t.removes(one, one) ? 1 : 0;
  });
  CHECK(transferred <= 1);
  CHECK(removed > 0);
  const apps::App app = t.world.find_app(t.app.id);
  int holders = 0;
  for (const accounts::User& one : owners) holders += one.id == app.owner_id ? 1 : 0;
  REQUIRE(holders == 1);
  for (const accounts::User& one : owners)
    if (one.id == app.owner_id) CHECK(t.has(one, Role::owner));
  // The account that gave the app away has got a row of its own.
  CHECK(t.rows("app_members") == racers - 1 - removed + transferred);
}

TEST_CASE("an invitation ends once, and only its acceptance makes a member") {
  Team t;
  for (int round = 0; round < 8; ++round) {
    const auto bob = t.user("bob", round);
    const std::string id = t.invite(bob);
    std::atomic<int> accepted = 0, ended_otherwise = 0;
    together([&](int racer) {
      if (racer % 4 == 0)
        ended_otherwise +=
            t.succeeds([&](db::Tx& tx) { apps::decline(tx, t.by(bob), id); }) ? 1 : 0;
      else if (racer % 4 == 1)
        ended_otherwise += t.succeeds(
            [&](db::Tx& tx) { apps::withdraw_invitation(tx, t.by(t.ada), t.app.id, id); });
      else
        accepted += t.accepts(bob, id) ? 1 : 0;
    });
    CHECK(accepted + ended_otherwise == 1);
    CHECK(t.has(bob) == (accepted == 1));
  }
}

TEST_CASE("32 threads that accept invitations don't make more members than an app may have") {
  Team t;
  constexpr int left = 5;
  for (int i = left; i < apps::max_members_per_app; ++i) t.member("member", i, Role::viewer);
  std::vector<accounts::User> invited;
  std::vector<std::string> ids;
  for (int i = 0; i < apps::max_open_invitations_per_app; ++i) {
    invited.push_back(t.user("invited", i));
    ids.push_back(t.invite(invited.back()));
  }
  std::atomic<int> accepted = 0;
  together([&](int racer) {
    const auto i = size_t(racer) % invited.size();
    accepted += t.accepts(invited[i], ids[i]) ? 1 : 0;
  });
  CHECK(accepted == left);
  CHECK(t.rows("app_members") == apps::max_members_per_app);
}

TEST_CASE("an admin who is removed leaves no invitation behind that somebody could accept") {
  Team t;
  for (int round = 0; round < 4; ++round) {
    const auto eve = t.member("eve", round, Role::admin);
    std::atomic<int> invited = 0;
    together([&](int racer) {
      if (racer == 0) {
        t.removes(t.ada, eve);
        return;
      }
      const std::string name = "guest" + std::to_string(round * racers + racer);
      invited += refusal([&] {
                   t.invite(eve, {.email = name + "@example.org",
                                  .username = {},
                                  .role = Role::viewer,
                                  .deployments = {}});
                 }).empty();
    });
    INFO("invitations that came before the removal: " << invited);
    CHECK_FALSE(t.has(eve));
    CHECK(t.rows("app_invitations WHERE status = 'pending'") == 0);
  }
}

TEST_CASE("no use of an app that begins after the removal of a member succeeds") {
  Team t;
  for (int round = 0; round < 4; ++round) {
    const auto bob = t.member("bob", round, Role::developer);
    std::atomic<bool> is_removed = false;
    std::atomic<int> before = 0, late = 0;
    together([&](int racer) {
      if (racer == 0) {
        while (before < racers) std::this_thread::yield();
        if (t.removes(t.ada, bob)) is_removed = true;
        return;
      }
      for (int after = 0; after < 3;) {
        const bool was_removed = is_removed;
        const bool may = t.has(bob, Role::developer);
        if (may) ++before;
        if (was_removed) {
          ++after;
          if (may) ++late;
        }
      }
    });
    CHECK(late == 0);
  }
}

}  // namespace
