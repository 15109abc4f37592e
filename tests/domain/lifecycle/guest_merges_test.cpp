// A guest is merged into an account that their player has: what comes along, what stays, and that
// nothing is lost.
#include "controller/domain/lifecycle/guest_merges.h"

#include <rapidcheck.h>

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/ledger/recorded.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/guest_tokens.h"
#include "controller/domain/points/claw_backs.h"
#include "controller/domain/points/receipts.h"
#include "controller/domain/points/refund_requests.h"
#include "controller/domain/points/refunds.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/chat.h"
#include "controller/domain/social/friends.h"
#include "controller/domain/webhooks/webhooks.h"
#include "tests/domain/items/items_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using std::chrono::days;

constexpr int plenty = 1'000;

struct Fixture {
  World world;
  rewards::Rules rules;
  accounts::User ada = world.verified_user("ada");  // the owner of the app
  accounts::User bob = world.verified_user("bob");  // the player, who has an account
  accounts::User eve = world.verified_user("eve");
  apps::App app = world.approved_app(ada, {Scope::points_spend});
  oauth::Guest guest = another();
  std::string id = guest.user.id;

  ~Fixture() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }

  oauth::Guest another() {
    return world.write([&](db::Tx& tx) { return oauth::add_guest(tx, app); });
  }
  guests::Merge preview(const std::string& guest_id, const std::string& account_id) {
    return world.read([&](db::Tx& tx) { return guests::preview_merge(tx, guest_id, account_id); });
  }
  guests::Merge preview() { return preview(id, bob.id); }
  guests::Merge merge(const std::string& guest_id, const std::string& account_id,
                      const std::string& fingerprint) {
    return world.write(
        [&](db::Tx& tx) { return guests::merge(tx, guest_id, account_id, fingerprint); });
  }
  guests::Merge merge() { return merge(id, bob.id, preview().fingerprint); }
  std::string refused(const std::string& fingerprint) {
    return refusal([&] { merge(id, bob.id, fingerprint); });
  }
  std::string obstacle() {
    const auto found = preview().obstacles;
    return found.empty() ? "" : found.front().what();
  }

  std::int64_t points(const std::string& user_id) {
    return world.balance(ledger::user_account(user_id));
  }
  void mint(const std::string& user_id, std::int64_t amount) {
    world.mint(ledger::user_account(user_id), amount);
  }
  std::string spend(const oauth::Tokens& tokens, std::int64_t amount) {
    const auto caller = world.check(tokens.access_token);
    return world.write([&](db::Tx& tx) {
      return points::spend(tx,
                           {.grant_id = caller.grant_id,
                            .user_id = caller.user_id,
                            .app_id = caller.app_id,
                            .amount = amount,
                            .description = "a shield"},
                           rules)
          .id;
    });
  }
  std::string ask(const std::string& one, const std::string& other) {
    return world.write([&](db::Tx& tx) { return friends::ask(tx, one, other).id; });
  }
  void make_friends(const std::string& one, const std::string& other) {
    world.write([&](db::Tx& tx) { friends::accept(tx, other, friends::ask(tx, one, other).id); });
  }
  void block(const std::string& one, const std::string& other) {
    world.write([&](db::Tx& tx) { blocks::add(tx, one, other); });
  }
  std::string between(const std::string& one, const std::string& other) {
    return world.read([&](db::Tx& tx) {
      const auto found = friends::between(tx, one, other);
      return found ? std::string(to_string(found->status)) : "";
    });
  }
  bool owns(const std::string& user_id, const cosmetics::Item& item) {
    return world.read([&](db::Tx& tx) { return cosmetics::owns(tx, user_id, item.id); });
  }
  std::int64_t number(const std::string& sql) {
    return world.read([&](db::Tx& tx) { return tx.number(sql); });
  }
  std::int64_t rows_of_guest(const std::string& table, const std::string& column = "user_id") {
    return number("SELECT count(*) FROM " + table + " WHERE " + column + " = '" + id + "'");
  }
  void expire() {
    while (world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); }))
      REQUIRE(world.write([](db::Tx& tx) { return expiry::remove_some(tx, plenty); }) > 0);
  }
};

TEST_CASE("what a guest has comes to the account, and their tokens end") {
  Fixture f;
  f.mint(f.id, 70);
  f.mint(f.bob.id, 5);
  f.make_friends(f.id, f.eve.id);
  const auto hat = new_item(f.world, "Straw hat", 20);
  buy(f.world, f.guest.user, hat);
  const guests::Merge shown = f.preview();
  CHECK(shown.obstacles.empty());
  CHECK(shown.points == 50);
  CHECK(shown.people.friends_moved == 1);
  CHECK(shown.items.moved == std::vector{hat.id});
  CHECK(f.points(f.bob.id) == 5);  // the preview has changed nothing
  const guests::Merge done = f.merge(f.id, f.bob.id, shown.fingerprint);
  CHECK(done.account.points == 55);
  CHECK(f.points(f.bob.id) == 55);
  CHECK(f.points(f.id) == 0);
  CHECK(f.owns(f.bob.id, hat));
  CHECK(f.between(f.bob.id, f.eve.id) == "accepted");
  CHECK(refusal([&] { f.world.check(f.guest.tokens.access_token); }) == "401 token_revoked");
  CHECK(refusal_of(f.world.refresh(f.app, f.guest.tokens.refresh_token)) != "");
  CHECK_FALSE(f.world.read([&](db::Tx& tx) { return accounts::find(tx, f.id).has_value(); }));
  CHECK(f.number("SELECT living FROM guest_counts WHERE subject = 'all'") == 0);
  for (const char* table : {"user_cosmetics", "equipped_cosmetics", "avatars", "learning_progress",
                            "learning_paths", "chat_members", "play_time"})
    CHECK(f.rows_of_guest(table) == 0);
  CHECK(f.rows_of_guest("friendships", "low_id") + f.rows_of_guest("friendships", "high_id") == 0);
}

TEST_CASE("a merged guest's id leads to the account, and the app and the audit log know both") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    webhooks::create(tx, f.app.id, "https://game.example.org/hook", {"guest.merged"},
                     webhooks::Schemes::only_https, f.world.keys.data);
  });
  f.merge();
  f.world.read([&](db::Tx& tx) {
    CHECK(guests::account_of(tx, f.id) == f.bob.id);
    CHECK(guests::account_of(tx, f.bob.id) == f.bob.id);
    CHECK(guests::merged_into(tx, f.bob.id, f.app.id) == std::vector{f.id});
    CHECK(guests::merged_into(tx, f.bob.id, f.ada.id).empty());
    auto events = tx.query("SELECT data FROM app_events WHERE type = 'guest.merged'");
    REQUIRE(events.next());
    const auto data = nlohmann::json::parse(events.text("data"));
    CHECK(data.at("guest_id") == f.id);
    CHECK(data.at("user_id") == f.bob.id);
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE action = 'guest.merge' AND target = $1",
                    f.id) == 1);
  });
}

TEST_CASE("nothing is merged that the preview hasn't shown") {
  Fixture f;
  const auto refused_after = [&](auto&& change) {
    const std::string shown = f.preview().fingerprint;
    change();
    CHECK(f.refused(shown) == "409 preview_outdated");
  };
  const auto hat = new_item(f.world, "Straw hat", 20);
  refused_after([&] { f.mint(f.id, 50); });
  refused_after([&] { f.make_friends(f.id, f.eve.id); });
  refused_after([&] { buy(f.world, f.guest.user, hat); });
  f.mint(f.bob.id, 100);
  refused_after([&] { buy(f.world, f.bob, hat); });  // both own it now
  refused_after([&] { f.block(f.bob.id, f.eve.id); });
  CHECK(f.refused("") == "409 preview_outdated");
  const std::string shown = f.preview().fingerprint;
  CHECK(f.refused(shown).empty());
  CHECK(f.refused(shown) == "409 invalid_state");
}

TEST_CASE("what the account does for itself needs no new preview") {
  Fixture f;
  const std::string shown = f.preview().fingerprint;
  f.mint(f.bob.id, 10);
  f.make_friends(f.bob.id, f.eve.id);
  CHECK(f.refused(shown).empty());
}

TEST_CASE("only a guest is merged, and only into an account with an address that is verified") {
  Fixture f;
  const auto carol = f.world.new_user("carol");
  const oauth::Guest other = f.another();
  const auto refused = [&](const std::string& guest_id, const std::string& account_id) {
    return refusal([&] { f.preview(guest_id, account_id); });
  };
  CHECK(refused(f.eve.id, f.bob.id) == "409 invalid_state");
  CHECK(refused(f.id, other.user.id) == "409 invalid_state");
  CHECK(refused(f.id, f.id) == "409 invalid_state");
  const guests::Merge shown = f.preview(f.id, carol.id);
  REQUIRE(shown.obstacles.size() == 1);
  CHECK(refusal([&] { f.merge(f.id, carol.id, shown.fingerprint); }) == "403 email_not_verified");
  f.world.suspend_user(f.bob.id);
  CHECK(refused(f.id, f.bob.id) == "409 invalid_state");
}

TEST_CASE("friends that both have stay once, and requests are united") {
  Fixture f;
  std::vector<accounts::User> users;
  for (int i = 0; i < 7; ++i) users.push_back(f.world.verified_user("user" + std::to_string(i)));
  const auto of = [&](size_t i) { return users.at(i).id; };
  // 0: friends of both. 1: a friend of the guest, whom the account has asked. 2 and 3: requests in
  // opposite directions. 4: asked by both. 5: has rejected the account. 6: a friend of the account,
  // whom the guest has asked.
  f.make_friends(f.id, of(0));
  f.make_friends(f.bob.id, of(0));
  f.make_friends(f.id, of(1));
  f.ask(f.bob.id, of(1));
  f.ask(f.id, of(2));
  const std::string to_bob = f.ask(of(2), f.bob.id);
  const std::string to_guest = f.ask(of(3), f.id);
  f.ask(f.bob.id, of(3));
  f.ask(f.id, of(4));
  f.ask(f.bob.id, of(4));
  f.world.write(
      [&](db::Tx& tx) { friends::reject(tx, of(5), friends::ask(tx, f.bob.id, of(5)).id); });
  f.make_friends(f.id, of(5));
  f.make_friends(f.bob.id, of(6));
  f.ask(f.id, of(6));
  f.make_friends(f.id, f.bob.id);  // the player's own two accounts
  const guests::Merge shown = f.preview();
  CHECK(shown.people.friends_moved == 2);
  CHECK(shown.people.friends_shared == 1);
  CHECK(shown.people.requests_moved == 1);
  CHECK(shown.people.requests_shared == 3);
  CHECK(shown.people.friends_ended + shown.people.requests_ended == 0);
  f.merge();
  for (const size_t i : {0U, 1U, 5U, 6U}) CHECK(f.between(f.bob.id, of(i)) == "accepted");
  for (const size_t i : {2U, 3U, 4U}) CHECK(f.between(f.bob.id, of(i)) == "pending");
  f.world.write([&](db::Tx& tx) {
    CHECK(friends::accept(tx, f.bob.id, to_bob).status == friends::Status::accepted);
    CHECK(friends::accept(tx, f.bob.id, to_guest).status == friends::Status::accepted);
    CHECK(friends::list(tx, f.bob.id, {}).total == 6);
  });
}

TEST_CASE("blocks come along, and end friendships of either of the two") {
  Fixture f;
  const auto carol = f.world.verified_user("carol");
  const auto dora = f.world.verified_user("dora");
  f.make_friends(f.bob.id, f.eve.id);
  f.block(f.id, f.eve.id);
  f.make_friends(f.bob.id, carol.id);
  f.block(carol.id, f.id);
  f.make_friends(f.id, dora.id);
  f.block(f.bob.id, dora.id);
  f.block(f.id, f.bob.id);  // oneself
  CHECK(f.preview().people.friends_ended == 3);
  CHECK(f.preview().people.blocked == std::vector{f.eve.id});
  f.merge();
  CHECK(f.between(f.bob.id, f.eve.id) == "removed");
  CHECK(f.between(f.bob.id, carol.id) == "removed");
  CHECK(f.between(f.bob.id, dora.id).empty());
  f.world.read([&](db::Tx& tx) {
    CHECK(blocks::between(tx, f.bob.id, f.eve.id));
    CHECK(blocks::between(tx, f.bob.id, carol.id));
    CHECK(tx.number("SELECT count(*) FROM blocks WHERE blocker_id = blocked_id") == 0);
    CHECK(tx.number("SELECT count(*) FROM blocks") == 3);
  });
}

TEST_CASE("channels come along, and stay in use") {
  Fixture f;
  const auto open = [&](const std::string& user_id, const std::string& ref) {
    f.world.write([&](db::Tx& tx) { chat::open(tx, user_id, chat::ChannelType::lobby, ref); });
  };
  open(f.id, "one");
  open(f.id, "two");
  open(f.bob.id, "three");
  f.world.write([&](db::Tx& tx) {
    chat::join(tx, f.bob.id, chat::open(tx, f.bob.id, chat::ChannelType::lobby, "one").id);
  });
  CHECK(f.preview().people.channels.size() == 1);
  f.merge();
  CHECK(f.number("SELECT count(*) FROM chat_members") == 3);
  CHECK(f.number("SELECT count(*) FROM chat_channels WHERE abandoned_at IS NOT NULL") == 0);
}

TEST_CASE("a limit that both together exceed is named, and nothing is merged") {
  Fixture f;
  f.make_friends(f.id, f.eve.id);
  f.world.write([&](db::Tx& tx) {
    for (int i = 0; i < chat::max_channels_of_user; ++i)
      chat::open(tx, f.bob.id, chat::ChannelType::lobby, std::to_string(i));
  });
  CHECK(f.obstacle().empty());
  f.world.write([&](db::Tx& tx) { chat::open(tx, f.id, chat::ChannelType::lobby, "another"); });
  CHECK(f.obstacle() == "the account would have 201 channels; the limit is 200");
  CHECK(f.refused(f.preview().fingerprint) == "409 invalid_state");
  CHECK(f.between(f.id, f.eve.id) == "accepted");
  f.world.read([&](db::Tx& tx) { CHECK(accounts::find(tx, f.id).has_value()); });
}

TEST_CASE("an account takes a limited number of guests") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    for (int i = 0; i < guests::max_merged; ++i) {
      const std::string one = oauth::add_guest(tx, f.app).user.id;
      guests::merge(tx, one, f.bob.id, guests::preview_merge(tx, one, f.bob.id).fingerprint);
    }
  });
  CHECK(f.refused(f.preview().fingerprint) == "409 invalid_state");
}

TEST_CASE("of an item that both own, the guest gets back what they have paid") {
  Fixture f;
  f.mint(f.id, 30);
  f.mint(f.bob.id, 100);
  auto hat = new_item(f.world, "Straw hat", 20);
  buy(f.world, f.guest.user, hat);
  hat.price_points = 50;
  f.world.write([&](db::Tx& tx) { cosmetics::update(tx, hat); });
  buy(f.world, f.bob, hat);
  const guests::Merge shown = f.preview();
  CHECK(shown.items.both == std::vector{hat.id});
  CHECK(shown.items.refund == 20);
  f.merge();
  CHECK(f.points(f.bob.id) == 50 + 10 + 20);
  CHECK(f.world.balance(ledger::treasury()) == 50);
  CHECK(f.number("SELECT count(*) FROM user_cosmetics") == 1);
}

TEST_CASE("without the points to give back, nothing is merged") {
  Fixture f;
  f.mint(f.id, 20);
  f.mint(f.bob.id, 20);
  const auto hat = new_item(f.world, "Straw hat", 20);
  buy(f.world, f.guest.user, hat);
  buy(f.world, f.bob, hat);
  f.world.write([&](db::Tx& tx) {
    ledger::post(tx, {.kind = "mint",
                      .from = ledger::treasury(),
                      .to = ledger::user_account(f.eve.id),
                      .amount = 30,
                      .memo = ""});
  });
  CHECK(f.refused(f.preview().fingerprint) == "409 invalid_state");
  f.world.mint(ledger::treasury(), 10);
  CHECK(f.refused(f.preview().fingerprint).empty());
  CHECK(f.points(f.bob.id) == 20);
}

TEST_CASE("the account's avatar stays, and gets what it has none of") {
  Fixture f;
  const auto hat = new_item(f.world, "Straw hat", 0);
  const auto cap = new_item(f.world, "Cap", 0);
  const auto shoes = new_item(f.world, "Shoes", 0, cosmetics::Category::shoes);
  for (const auto& item : {hat, shoes}) buy(f.world, f.guest.user, item);
  buy(f.world, f.bob, cap);
  f.world.write([&](db::Tx& tx) {
    avatars::change(tx, {.user_id = f.id,
                         .display_name = std::optional<std::string>("Guest"),
                         .appearance = R"({"hair":"red"})"});
    avatars::equip(tx, f.id, {hat.id, shoes.id});
    avatars::change(
        tx,
        {.user_id = f.bob.id, .display_name = std::optional<std::string>("Bob"), .appearance = {}});
    avatars::equip(tx, f.bob.id, {cap.id});
  });
  const guests::Merge shown = f.preview();
  CHECK(shown.items.drops_display_name);
  CHECK(shown.items.appearance.has_value());
  CHECK(shown.items.put_on == std::vector{shoes.id});
  f.merge();
  f.world.read([&](db::Tx& tx) {
    const auto avatar = avatars::find(tx, f.bob.id);
    CHECK(avatar->display_name == "Bob");
    CHECK(avatar->appearance == R"({"hair":"red"})");
    CHECK(std::set(avatar->equipped.begin(), avatar->equipped.end()) == std::set{cap.id, shoes.id});
    CHECK(cosmetics::owns(tx, f.bob.id, hat.id));
  });
}

TEST_CASE("an account without an avatar gets the guest's") {
  Fixture f;
  const auto hat = new_item(f.world, "Straw hat", 0);
  buy(f.world, f.guest.user, hat);
  f.world.write([&](db::Tx& tx) {
    avatars::change(
        tx,
        {.user_id = f.id, .display_name = std::optional<std::string>("Guest"), .appearance = {}});
    avatars::equip(tx, f.id, {hat.id});
  });
  f.merge();
  f.world.read([&](db::Tx& tx) {
    const auto avatar = avatars::find(tx, f.bob.id);
    REQUIRE(avatar.has_value());
    CHECK(avatar->display_name == "Guest");
    CHECK(avatar->equipped == std::vector{hat.id});
  });
}

TEST_CASE("of each module the progress that is further stays") {
  Fixture f;
  f.world.mint(ledger::treasury(), 1'000);
  for (int i = 0; i < 3; ++i)
    f.world.write([&](db::Tx& tx) {
      learning::create(tx, {.id = {},
                            .number = 0,
                            .title = "Steps",
                            .description = {},
                            .total = 5,
                            .min_seconds = 0,
                            .points = 10});
    });
  const auto report = [&](const std::string& user_id, std::int64_t module, std::int64_t steps) {
    f.world.write([&](db::Tx& tx) {
      learning::report(tx, f.rules, {.user_id = user_id, .app_id = {}}, module, steps);
    });
  };
  report(f.id, 1, 5);      // both have completed the first one,
  report(f.bob.id, 1, 5);  // for which the account got its reward
  report(f.id, 2, 5);
  report(f.bob.id, 2, 3);
  report(f.id, 3, 2);
  f.world.write([&](db::Tx& tx) { learning::choose_path(tx, f.id, "artist"); });
  const guests::Merge shown = f.preview();
  CHECK(shown.items.modules.size() == 2);
  CHECK(shown.items.modules_kept == 1);
  CHECK(shown.items.path == "artist");
  f.merge();
  CHECK(f.points(f.bob.id) == 10);
  f.world.read([&](db::Tx& tx) {
    CHECK(learning::find(tx, f.bob.id, 2).status() == learning::Status::completed);
    CHECK(learning::find(tx, f.bob.id, 3).completed == 2);
    CHECK(learning::path(tx, f.bob.id).name == "artist");
  });
}

TEST_CASE("what a guest has spent is given back to the account, which can ask for it") {
  Fixture f;
  f.mint(f.id, 60);
  const std::string spend_id = f.spend(f.guest.tokens, 40);
  f.merge();
  CHECK(f.points(f.bob.id) == 20);
  const auto asked = f.world.write([&](db::Tx& tx) {
    return refund_requests::ask_for_spend(tx, f.world.find_user(f.bob.id), spend_id, {}, "twice",
                                          f.world.keys);
  });
  CHECK(asked.user_id == f.bob.id);
  const auto refund = f.world.write([&](db::Tx& tx) {
    return points::refund(
        tx, {.spend_id = spend_id, .amount = 30, .reason = "sold out", .app_id = f.app.id});
  });
  CHECK(refund.refundable == 10);
  CHECK(f.points(f.bob.id) == 50);
  CHECK(f.points(f.id) == 0);
  // A mistake is taken back from where the points are.
  f.world.write([&](db::Tx& tx) {
    points::claw_back(
        tx, {.transaction_id = refund.id, .amount = 30, .reason = "a mistake", .admin = "root"});
  });
  CHECK(f.points(f.bob.id) == 20);
  CHECK(f.world.balance(ledger::app_account(f.app.id)) == 40);
}

TEST_CASE("what an admin gave a guest is taken back from the account, or nothing is") {
  Fixture f;
  const std::string given = f.world.write(
      [&](db::Tx& tx) { return ledger::mint(tx, ledger::user_account(f.id), 60, "a prize"); });
  f.spend(f.guest.tokens, 40);
  f.merge();
  const auto take_back = [&](std::int64_t points) {
    return refusal([&] {
      f.world.write([&](db::Tx& tx) {
        points::claw_back(
            tx,
            {.transaction_id = given, .amount = points, .reason = "a mistake", .admin = "root"});
      });
    });
  };
  CHECK(take_back(21) == "422 insufficient_balance");
  CHECK(f.points(f.bob.id) == 20);
  CHECK(take_back(15).empty());
  CHECK(f.points(f.bob.id) == 5);
  CHECK(f.points(f.id) == 0);
  CHECK(f.world.balance(ledger::treasury()) == 15);
}

TEST_CASE("the app sees whose spend it was after a merge") {
  Fixture f;
  f.mint(f.id, 60);
  f.spend(f.guest.tokens, 40);
  f.merge();
  const auto history = f.world.read(
      [&](db::Tx& tx) { return points::history(tx, ledger::app_account(f.app.id), {}, {}); });
  REQUIRE(history.items.size() == 1);
  CHECK(history.items[0].counterparty.owner == f.id);
  CHECK(history.items[0].counterparty_name == "bob");
}

TEST_CASE("the account gets the receipts of what the guest has spent") {
  Fixture f;
  f.mint(f.id, 60);
  const std::string spend_id = f.spend(f.guest.tokens, 40);
  const auto is_party = [&] {
    return f.world.read([&](db::Tx& tx) {
      return points::is_party(tx, *ledger::find_recorded(tx, spend_id), f.bob.id);
    });
  };
  CHECK_FALSE(is_party());
  f.merge();
  CHECK(is_party());
}

TEST_CASE("a merged guest stays as long as the account, and is erased with it") {
  Fixture f;
  f.mint(f.id, 60);
  f.merge();
  const oauth::Guest poor = f.another();
  f.merge(poor.user.id, f.bob.id, f.preview(poor.user.id, f.bob.id).fingerprint);
  f.world.clock.advance(days(100));
  f.expire();
  CHECK(f.number("SELECT count(*) FROM users WHERE merged_into IS NOT NULL") == 2);
  f.world.write([&](db::Tx& tx) {
    accounts::delete_account(tx, *accounts::find(tx, f.bob.id), f.world.keys);
  });
  f.expire();
  CHECK(f.number("SELECT count(*) FROM erasures") == 0);
  CHECK(f.number("SELECT count(*) FROM ledger_transactions WHERE memo <> '' AND kind = (SELECT "
                 "number FROM ledger_kinds WHERE kind = 'guest_merged')") == 0);
  f.world.clock.advance(days(2));
  f.expire();
  // The ledger goes on naming the one who had points.
  CHECK(f.number("SELECT count(*) FROM users WHERE merged_into IS NOT NULL") == 1);
  CHECK(f.rows_of_guest("users", "id") == 1);
}

TEST_CASE("whatever a guest and an account have, a merge keeps the sum of points and the items") {
  Fixture f;
  std::vector<cosmetics::Item> items;
  for (const std::int64_t price : {0, 10, 45, 99})
    items.push_back(new_item(f.world, "For " + std::to_string(price), price));
  int cases = 0;
  CHECK(rc::check([&] {
    const oauth::Guest guest = f.another();
    const std::string id = guest.user.id;
    const auto account = f.world.verified_user("case" + std::to_string(++cases));
    f.mint(id, 200);
    f.mint(account.id, 200);
    const auto actions = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 11));
    for (const int action : actions) {
      if (action < 4) {
        refusal([&] { buy(f.world, guest.user, items.at(size_t(action))); });
      } else if (action < 8) {
        refusal([&] { buy(f.world, account, items.at(size_t(action) - 4)); });
      } else if (action == 8) {
        refusal([&] { f.spend(guest.tokens, 7); });
      } else if (action == 9) {
        f.mint(id, 3);
      } else if (f.between(id, f.eve.id).empty()) {
        f.make_friends(id, f.eve.id);
      }
    }
    std::set<std::string> owned;
    std::int64_t twice = 0;
    for (const cosmetics::Item& item : items) {
      const bool of_guest = f.owns(id, item), of_account = f.owns(account.id, item);
      if (of_guest || of_account) owned.insert(item.id);
      if (of_guest && of_account) twice += item.price_points;
    }
    const std::string friendship = f.between(id, f.eve.id);
    const guests::Merge shown = f.preview(id, account.id);
    RC_ASSERT(shown.items.refund == twice);
    const std::int64_t before = f.points(id) + f.points(account.id) + twice;
    f.merge(id, account.id, shown.fingerprint);
    RC_ASSERT(f.points(account.id) == before);
    RC_ASSERT(f.points(id) == 0);
    for (const cosmetics::Item& item : items)
      RC_ASSERT(f.owns(account.id, item) == owned.contains(item.id));
    RC_ASSERT(f.between(account.id, f.eve.id) == friendship);
  }));
}

constexpr int racers = 8;

// Runs `act(racer)` on threads that begin together.
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

TEST_CASE("of several merges at once one works") {
  Fixture f;
  f.mint(f.id, 50);
  const std::string into_bob = f.preview().fingerprint;
  const std::string into_eve = f.preview(f.id, f.eve.id).fingerprint;
  std::atomic<int> merged = 0;
  together([&](int racer) {
    const bool is_bob = racer % 2 == 0;
    if (refusal([&] {
          f.merge(f.id, is_bob ? f.bob.id : f.eve.id, is_bob ? into_bob : into_eve);
        }).empty())
      ++merged;
  });
  CHECK(merged == 1);
  CHECK(f.points(f.bob.id) + f.points(f.eve.id) == 50);
  CHECK(f.number("SELECT count(*) FROM users WHERE merged_into IS NOT NULL") == 1);
}

TEST_CASE("a guest who spends while they are merged loses nothing") {
  Fixture f;
  f.mint(f.id, 100);
  std::atomic<int> spent = 0;
  std::atomic<int> merged = 0;
  together([&](int racer) {
    if (racer == 0) {
      // Until a preview isn't outdated, as a program would do it.
      for (std::string refused = "409 preview_outdated"; refused == "409 preview_outdated";) {
        refused = f.refused(f.preview().fingerprint);
        if (refused.empty()) ++merged;
      }
    } else {
      for (int i = 0; i < 5; ++i)
        if (refusal([&] { f.spend(f.guest.tokens, 2); }).empty()) ++spent;
    }
  });
  CHECK(merged == 1);
  CHECK(f.points(f.id) == 0);
  CHECK(f.points(f.bob.id) == 100 - 2 * spent);
  CHECK(f.world.balance(ledger::app_account(f.app.id)) == 2 * spent);
}

}  // namespace
