// Members of an app: invitations, roles, leaving, and who the app belongs to.
#include "controller/domain/apps/members.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/apps/invitations.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/guest_tokens.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using apps::Role;
using namespace std::chrono_literals;

const std::string base_url = "https://api.example.org";

struct Team {
  World world;
  accounts::User ada = world.verified_user("ada"), bob = world.verified_user("bob"),
                 eve = world.verified_user("eve");
  apps::App app = world.new_app(ada).app;

  apps::MemberChange by(const accounts::User& user) const {
    return {.actor = user, .keys = world.keys, .base_url = base_url};
  }
  apps::Invitation invite(const accounts::User& actor, const std::string& username, Role role) {
    return world.write([&](db::Tx& tx) {
      return apps::invite(tx, by(actor), app.id,
                          {.email = {}, .username = username, .role = role, .deployments = {}});
    });
  }
  apps::Invitation mail(const accounts::User& actor, const std::string& email,
                        Role role = Role::viewer) {
    return world.write([&](db::Tx& tx) {
      return apps::invite(tx, by(actor), app.id,
                          {.email = email, .username = {}, .role = role, .deployments = {}});
    });
  }
  apps::Member accept(const accounts::User& user, const std::string& id) {
    return world.write([&](db::Tx& tx) { return apps::accept(tx, by(user), id); });
  }
  void decline(const accounts::User& user, const std::string& id) {
    world.write([&](db::Tx& tx) { apps::decline(tx, by(user), id); });
  }
  void join(const accounts::User& user, Role role) {
    accept(user, invite(ada, user.username, role).id);
  }
  std::string change(const accounts::User& actor, const accounts::User& member, Role role) {
    return refusal([&] {
      world.write([&](db::Tx& tx) {
        apps::change_member(tx, by(actor), app.id, member.id, {.role = role, .deployments = {}});
      });
    });
  }
  std::string remove(const accounts::User& actor, const accounts::User& member) {
    return refusal([&] {
      world.write([&](db::Tx& tx) { apps::remove_member(tx, by(actor), app.id, member.id); });
    });
  }
  std::string transfer(const accounts::User& actor, const accounts::User& to) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { apps::transfer(tx, by(actor), app.id, to.id); }); });
  }
  // Returns the name of the user's role; "none" if they have none.
  std::string role(const accounts::User& user) {
    return world.read([&](db::Tx& tx) -> std::string {
      try {
        return std::string(to_string(apps::membership(tx, user.id, app.id).role));
      } catch (const Error&) {
        return "none";
      }
    });
  }
  std::vector<outbox::Mail> letters(const std::string& address) {
    return world.read([&](db::Tx& tx) {
      auto all = outbox::list(tx, world.keys.data);
      std::erase_if(all, [&](const outbox::Mail& mail) {
        return mail.to != address || mail.subject.starts_with("Verify");
      });
      return all;
    });
  }
};

TEST_CASE("an invitation makes a member, once") {
  Team t;
  const auto invitation = t.invite(t.ada, "BOB", Role::developer);
  CHECK(t.role(t.bob) == "none");
  CHECK(t.letters("bob@example.org").size() == 1);
  CHECK(refusal([&] { t.invite(t.ada, "bob", Role::viewer); }) == "409 invalid_state");
  CHECK(refusal([&] { t.accept(t.eve, invitation.id); }) == "404 invitation_not_found");
  t.accept(t.bob, invitation.id);
  CHECK(t.role(t.bob) == "developer");
  CHECK(t.letters("ada@example.org").size() == 1);
  CHECK(refusal([&] { t.accept(t.bob, invitation.id); }) == "404 invitation_not_found");
  CHECK(refusal([&] { t.invite(t.ada, "bob", Role::viewer); }) == "409 invalid_state");
  CHECK(refusal([&] { t.invite(t.ada, "nobody", Role::viewer); }) == "404 user_not_found");
}

TEST_CASE("an invitation ends when it is declined, withdrawn or seven days old") {
  Team t;
  const auto declined = t.invite(t.ada, "bob", Role::viewer);
  t.decline(t.bob, declined.id);
  CHECK(refusal([&] { t.accept(t.bob, declined.id); }) == "404 invitation_not_found");
  CHECK(refusal([&] { t.invite(t.ada, "bob", Role::viewer); }) == "409 invalid_state");
  t.world.clock.advance(31 * 24h);
  const auto withdrawn = t.invite(t.ada, "bob", Role::viewer);
  t.world.write(
      [&](db::Tx& tx) { apps::withdraw_invitation(tx, t.by(t.ada), t.app.id, withdrawn.id); });
  CHECK(refusal([&] { t.accept(t.bob, withdrawn.id); }) == "404 invitation_not_found");
  const auto expired = t.invite(t.ada, "bob", Role::viewer);
  t.world.clock.advance(7 * 24h);
  CHECK(refusal([&] { t.accept(t.bob, expired.id); }) == "404 invitation_not_found");
  CHECK(t.world.read([&](db::Tx& tx) { return apps::invitations_to(tx, t.bob); }).empty());
  CHECK(t.role(t.bob) == "none");
  t.world.clock.advance(31 * 24h);
  CHECK(t.world.write([](db::Tx& tx) { return apps::remove_old_invitations(tx, 100); }) == 3);
  CHECK_FALSE(t.world.read([](db::Tx& tx) { return apps::is_any_invitation_old(tx); }));
}

TEST_CASE("an invitation by mail is the same for a stranger and for an account") {
  Team t;
  const auto to_account = t.mail(t.ada, "Bob@example.org");
  const auto to_stranger = t.mail(t.ada, "zoe@example.org");
  CHECK_FALSE(to_account.user_id);
  CHECK_FALSE(to_account.username);
  const auto mail = [&](const std::string& address) { return t.letters(address).at(0).body; };
  CHECK(mail("Bob@example.org") == mail("zoe@example.org"));
  // Only who has verified the address is shown it.
  CHECK(t.world.read([&](db::Tx& tx) { return apps::invitations_to(tx, t.bob); }).size() == 1);
  const auto zoe = t.world.new_user("zoe");
  CHECK(t.world.read([&](db::Tx& tx) { return apps::invitations_to(tx, zoe); }).empty());
  CHECK(refusal([&] { t.accept(zoe, to_stranger.id); }) == "404 invitation_not_found");
  t.accept(t.bob, to_account.id);
  CHECK(t.role(t.bob) == "viewer");
}

TEST_CASE("a mailbox gets few letters about invitations, and nobody invites without end") {
  Team t;
  for (int i = 0; i < 5; ++i) t.mail(t.ada, "zoe+" + std::to_string(i) + "@example.org");
  int letters = 0;
  for (int i = 0; i < 5; ++i)
    letters += int(t.letters("zoe+" + std::to_string(i) + "@example.org").size());
  CHECK(letters == apps::max_invitation_letters_per_mailbox_and_day);
  for (int i = 5; i < apps::max_open_invitations_per_app; ++i)
    t.mail(t.ada, "person" + std::to_string(i) + "@example.org");
  CHECK(refusal([&] { t.mail(t.ada, "more@example.org"); }) == "409 invalid_state");
  const auto other = t.world.new_app(t.ada).app;
  CHECK(refusal([&] {
          t.world.write([&](db::Tx& tx) {
            apps::invite(tx, t.by(t.ada), other.id,
                         {.email = "more@example.org",
                          .username = {},
                          .role = Role::viewer,
                          .deployments = {}});
          });
        }) == "429 rate_limited");
}

TEST_CASE("deleting apps gives nobody more letters to a mailbox, and keeps no address") {
  Team t;
  for (int i = 0; i < 5; ++i) {
    t.app = t.world.new_app(t.ada).app;
    t.mail(t.ada, "zoe@example.org");
    t.world.write([&](db::Tx& tx) { apps::remove(tx, apps::find(tx, t.app.id).value()); });
  }
  CHECK(int(t.letters("zoe@example.org").size()) ==
        apps::max_invitation_letters_per_mailbox_and_day);
  const auto count = [&](const std::string& condition) {
    return t.world.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM app_invitations WHERE " + condition);
    });
  };
  CHECK(count("email = '' AND email_key = '' AND status = 'withdrawn'") == 5);
  t.world.clock.advance(24h);
  t.world.write([](db::Tx& tx) { apps::remove_old_invitations(tx, 100); });
  CHECK(count("1 = 1") == 0);
}

TEST_CASE("nobody changes those of a higher standing, and admins make no owners") {
  Team t;
  t.join(t.bob, Role::admin);
  t.join(t.eve, Role::owner);
  const auto dan = t.world.verified_user("dan");
  t.join(dan, Role::developer);
  CHECK(refusal([&] { t.invite(t.bob, "zed", Role::owner); }) == "403 forbidden");
  CHECK(t.change(t.bob, dan, Role::owner) == "403 forbidden");
  CHECK(t.change(t.bob, t.bob, Role::owner) == "403 forbidden");
  CHECK(t.change(t.bob, t.eve, Role::viewer) == "403 forbidden");
  CHECK(t.remove(t.bob, t.eve) == "403 forbidden");
  CHECK(t.change(t.bob, t.ada, Role::viewer) == "409 invalid_state");
  CHECK(t.change(dan, dan, Role::admin) == "403 forbidden");
  CHECK(t.remove(dan, t.bob) == "403 forbidden");
  CHECK(t.change(t.bob, dan, Role::viewer) == "");
  CHECK(t.role(dan) == "viewer");
  CHECK(t.remove(dan, dan) == "");
  CHECK(t.role(dan) == "none");
  CHECK(t.change(t.eve, t.bob, Role::viewer) == "");
  CHECK(t.remove(t.eve, t.ada) == "409 invalid_state");
  CHECK(t.letters("dan@example.org").size() == 2);  // invited, and the role changed
}

TEST_CASE("who loses their role loses the invitations that they have sent") {
  Team t;
  t.join(t.bob, Role::admin);
  const auto invitation = t.invite(t.bob, "eve", Role::admin);
  CHECK(t.remove(t.ada, t.bob) == "");
  CHECK(refusal([&] { t.accept(t.eve, invitation.id); }) == "404 invitation_not_found");
}

TEST_CASE("an app goes to a member, and the former account stays an owner") {
  Team t;
  t.join(t.bob, Role::viewer);
  const auto shop = t.world.deploy(t.app, order());
  CHECK(t.transfer(t.bob, t.bob) == "403 forbidden");
  CHECK(t.transfer(t.ada, t.eve) == "404 user_not_found");
  CHECK(t.transfer(t.ada, t.ada) == "409 invalid_state");
  CHECK(t.transfer(t.ada, t.bob) == "");
  CHECK(t.world.find_app(t.app.id).owner_id == t.bob.id);
  CHECK(t.world.find_deployment(shop.id).owner_id == t.bob.id);
  CHECK(t.role(t.ada) == "owner");
  CHECK(t.role(t.bob) == "owner");
  const auto all =
      t.world.read([&](db::Tx& tx) { return apps::members(tx, t.world.find_app(t.app.id)); });
  REQUIRE(all.size() == 2);
  CHECK(all[0].user_id == t.bob.id);
  CHECK(t.transfer(t.bob, t.ada) == "409 invalid_state");  // within 30 days
  CHECK(t.remove(t.bob, t.ada) == "");
  CHECK(t.role(t.ada) == "none");
}

TEST_CASE("an app doesn't go to an account that has no room for it") {
  Team t;
  t.join(t.bob, Role::owner);
  const auto free = t.world.deploy(t.app, order("shop", "free"));
  const auto own = t.world.new_app(t.bob).app;
  const auto other = t.world.deploy(own, order("other", "free"));
  CHECK(t.transfer(t.ada, t.bob) == "429 deployment_limit_reached");
  CHECK(t.world.find_app(t.app.id).owner_id == t.ada.id);
  t.world.destroy(own, other.id);
  CHECK(t.transfer(t.ada, t.bob) == "");
}

TEST_CASE("an app's bonus points reach who gets the app, and count against their limit") {
  Team t;
  t.join(t.bob, Role::owner);
  t.world.mint(ledger::treasury(), 1'000);
  const auto give = [&](std::int64_t points) {
    t.world.write([&](db::Tx& tx) {
      REQUIRE(ledger::post(tx, {.kind = "deployment_refund",
                                .from = ledger::treasury(),
                                .to = ledger::app_account(t.app.id),
                                .amount = points,
                                .memo = "test",
                                .mark = ledger::Mark::bonus}));
    });
  };
  give(bonuses::most_received + 1);
  CHECK(t.transfer(t.ada, t.bob) == "422 bonus_locked");
  t.world.write([&](db::Tx& tx) {
    REQUIRE(ledger::post(tx, {.kind = "tier_change",
                              .from = ledger::app_account(t.app.id),
                              .to = ledger::treasury(),
                              .amount = 1,
                              .memo = "test"}));
  });
  CHECK(t.transfer(t.ada, t.bob) == "");
}

TEST_CASE("who gives an app away stays a member, and needs room for it") {
  Team t;
  t.join(t.bob, Role::owner);
  accounts::User other;
  for (int i = 0; i < apps::max_memberships_of_account; ++i) {
    if (i % apps::max_apps_per_account == 0)
      other = t.world.verified_user("other" + std::to_string(i));
    const std::string app_id = t.world.new_app(other).app.id;
    t.world.write([&](db::Tx& tx) {
      tx.execute(R"(
          INSERT INTO app_members (app_id, user_id, role, deployments, inserted_at, updated_at)
          VALUES ($1, $2, 'viewer', NULL, $3, $3))",
                 app_id, t.ada.id, tx.now());
    });
  }
  CHECK(t.transfer(t.ada, t.bob) == "409 invalid_state");
  CHECK(t.world.find_app(t.app.id).owner_id == t.ada.id);
}

TEST_CASE("an app keeps an owner whatever 32 requests do at the same time") {
  Team t;
  t.join(t.bob, Role::owner);
  std::atomic<int> transferred = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 32; ++i)
      threads.emplace_back([&, i] {
        const accounts::User& one = i % 2 == 0 ? t.ada : t.bob;
        const accounts::User& other = i % 2 == 0 ? t.bob : t.ada;
        if (i % 4 < 2)
          transferred += t.transfer(one, other).empty() ? 1 : 0;
        else if (i % 3 == 0)
          (void)t.change(one, other, Role::viewer);
        else
          (void)t.remove(one, i % 5 == 0 ? other : one);
      });
  }
  CHECK(transferred <= 1);
  const std::string holder = t.world.find_app(t.app.id).owner_id;
  CHECK(t.role(holder == t.ada.id ? t.ada : t.bob) == "owner");
}

TEST_CASE("an invitation is accepted once by requests at the same time") {
  Team t;
  const auto invitation = t.invite(t.ada, "bob", Role::viewer);
  std::atomic<int> accepted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back(
          [&] { accepted += refusal([&] { t.accept(t.bob, invitation.id); }).empty() ? 1 : 0; });
  }
  CHECK(accepted == 1);
}

TEST_CASE("a member may be limited to deployments, up to the role developer") {
  Team t;
  const auto shop = t.world.deploy(t.app, order());
  const auto limited = [&](Role role, const std::vector<std::string>& ids) {
    return refusal([&] {
      const auto made = t.world.write([&](db::Tx& tx) {
        return apps::invite(tx, t.by(t.ada), t.app.id,
                            {.email = {}, .username = "bob", .role = role, .deployments = ids});
      });
      t.accept(t.bob, made.id);
    });
  };
  CHECK(limited(Role::admin, {shop.id}) == "422 validation_failed");
  CHECK(limited(Role::developer, {}) == "422 validation_failed");
  CHECK(limited(Role::developer, {shop.id}) == "");
  t.world.read([&](db::Tx& tx) {
    CHECK(apps::membership(tx, t.bob.id, t.app.id).deployments == std::vector{shop.id});
    CHECK(apps::may_use(tx, t.bob.id, t.app.id, shop.id));
    CHECK_FALSE(apps::may_use(tx, t.bob.id, t.app.id, "other"));
    CHECK(refusal([&] { apps::require_member(tx, t.bob.id, t.app.id, Role::viewer); }) ==
          "403 forbidden");
  });
  CHECK(t.change(t.ada, t.bob, Role::admin) == "");  // of the whole app
  CHECK(t.world.read([&](db::Tx& tx) { return apps::membership(tx, t.bob.id, t.app.id); })
            .deployments.empty());
}

TEST_CASE("a request without an app is about one's own, or else the only one") {
  Team t;
  t.join(t.bob, Role::viewer);
  const auto chosen = [&](const accounts::User& user) {
    return t.world.read([&](db::Tx& tx) { return apps::choose(tx, user.id, "").app.id; });
  };
  CHECK(chosen(t.bob) == t.app.id);
  CHECK(refusal([&] { chosen(t.eve); }) == "404 app_not_found");
  const auto own = t.world.new_app(t.bob).app;
  CHECK(chosen(t.bob) == own.id);
  t.world.new_app(t.bob);
  CHECK(refusal([&] { chosen(t.bob); }) == "400 malformed_request");
  CHECK(t.world
            .read([&](db::Tx& tx) {
              return apps::list_mine(tx, t.bob.id, {.page = 1, .page_size = 2});
            })
            .total == 3);
}

TEST_CASE("a deleted account is a member of nothing") {
  Team t;
  t.join(t.bob, Role::admin);
  const auto invitation = t.invite(t.bob, "eve", Role::viewer);
  t.world.write([&](db::Tx& tx) { accounts::delete_account(tx, t.bob, t.world.keys); });
  CHECK(t.role(t.bob) == "none");
  CHECK(t.world.read([&](db::Tx& tx) { return apps::invitations_to(tx, t.eve); }).empty());
  CHECK(t.world.read([&](db::Tx& tx) { return apps::members(tx, t.app); }).size() == 1);
}

TEST_CASE("the guests of an app count for the account that it goes to") {
  Team t;
  t.join(t.bob, Role::owner);
  std::string guest;
  t.world.write([&](db::Tx& tx) { guest = oauth::add_guest(tx, t.app).user.id; });
  const auto living = [&](const accounts::User& owner) {
    return t.world.read([&](db::Tx& tx) {
      return tx.number("SELECT coalesce(sum(living), 0) FROM guest_counts WHERE subject = $1",
                       "owner:" + owner.id);
    });
  };
  CHECK(living(t.ada) == 1);
  REQUIRE(t.transfer(t.ada, t.bob).empty());
  CHECK(living(t.ada) == 0);
  CHECK(living(t.bob) == 1);
  t.world.write([&](db::Tx& tx) { accounts::delete_guest(tx, *accounts::find(tx, guest)); });
  CHECK(living(t.bob) == 0);
}

}  // namespace
