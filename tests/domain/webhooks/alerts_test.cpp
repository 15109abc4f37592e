#include "controller/domain/webhooks/alerts.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/id.h"
#include "controller/domain/points/points.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using alerts::Channel;
using nlohmann::json;
using webhooks::Schemes;

const std::string hook = "https://discord.example.org/api/webhooks/1/very-secret";

struct Fixture {
  World world;
  accounts::User owner = world.verified_user("ada");
  apps::App app = world.new_app(owner).app;

  alerts::AlertWithSecret make(const alerts::NewAlert& wanted) {
    return world.write([&](db::Tx& tx) {
      return alerts::create(tx, owner.id, wanted, Schemes::only_https, world.keys.data);
    });
  }
  alerts::Alert add(const std::vector<std::string>& types = {"billing.failed"},
                    std::optional<std::string> app_id = {}) {
    return make({.name = "Team",
                 .app_id = std::move(app_id),
                 .channel = Channel::discord,
                 .target = {.url = hook},
                 .events = types})
        .alert;
  }
  void emit(const std::string& type, const json& data, const std::string& subject = "s") {
    world.write([&](db::Tx& tx) { webhooks::emit(tx, app.id, type, subject, data); });
  }
  void emit(int number) { emit("billing.failed", {{"number", number}}); }
  std::vector<alerts::Due> due() {
    return world.read([&](db::Tx& tx) { return alerts::due(tx, 100); });
  }
  std::optional<alerts::Message> begin(const alerts::Alert& alert) {
    return world.write(
        [&](db::Tx& tx) { return alerts::begin(tx, world.keys.data, alert.id, tx.now() + 1min); });
  }
  alerts::Settled settle(const alerts::Message& message, const webhooks::Outcome& outcome) {
    return world.write(
        [&](db::Tx& tx) { return alerts::settle(tx, message, outcome, tx.now() + 1min); });
  }
  alerts::Alert find(const alerts::Alert& alert) {
    return world.read([&](db::Tx& tx) { return alerts::get(tx, owner.id, alert.id); });
  }
  alerts::Alert change(const alerts::Alert& alert, const alerts::Change& change) {
    return world.write([&](db::Tx& tx) {
      return alerts::change(tx, alert, change, Schemes::only_https, world.keys.data);
    });
  }
  // The types of what waits, oldest first.
  std::vector<std::string> waiting(const alerts::Alert& alert) {
    return world.read([&](db::Tx& tx) {
      std::vector<std::string> types;
      auto rows =
          tx.query("SELECT type FROM alert_events WHERE alert_id = $1 ORDER BY number", alert.id);
      while (rows.next()) types.push_back(rows.text("type"));
      return types;
    });
  }
  webhooks::Outcome taken{.status = 204, .error = {}};
  webhooks::Outcome broken{.status = 500, .error = "it answered with 500"};
  webhooks::Outcome refused{.status = 404, .error = "it answered with 404"};
};

json status(const char* status, const json& reason, const json& cause = nullptr) {
  return {{"id", "d"},        {"status", status}, {"subdomain", "shop"},
          {"reason", reason}, {"cause", cause},   {"message", nullptr}};
}

}  // namespace

TEST_CASE("an alert keeps its target secret, and a webhook gets a signing secret") {
  Fixture f;
  const auto alert = f.add();
  CHECK(alert.target == "discord.example.org");
  const auto stored = f.world.read([&](db::Tx& tx) {
    auto rows = tx.query("SELECT target, target_sealed, name FROM alerts");
    rows.next();
    return rows.text("target") + rows.text("target_sealed") + rows.text("name");
  });
  CHECK(stored.find("very-secret") == std::string::npos);
  f.emit(1);
  f.world.clock.advance(alerts::gathered_for);
  CHECK(f.begin(alert).value().target.url == hook);
  const auto made = f.make({.name = "Own",
                            .app_id = {},
                            .channel = Channel::webhook,
                            .target = {.url = "https://a.example.org/x"},
                            .events = {"balance.low"}});
  CHECK(made.secret.value().starts_with("whsec_"));
  const auto bot = f.make({.name = "Bot",
                           .app_id = {},
                           .channel = Channel::telegram,
                           .target = {.bot_token = "123456:ABC-def_1", .chat_id = "-1001234"},
                           .events = {"balance.low"}});
  CHECK(bot.alert.target == "-1001234");
  CHECK_FALSE(bot.secret);
}

TEST_CASE("what an alert can't have is refused, with the field's name") {
  Fixture f;
  const auto refused = [&](Channel channel, const alerts::Target& target,
                           const std::vector<std::string>& events = {"balance.low"},
                           const std::string& name = "Team") {
    return details([&] {
      f.make({.name = name, .app_id = {}, .channel = channel, .target = target, .events = events});
    });
  };
  const alerts::Target url = {.url = hook};
  CHECK(refused(Channel::discord, {}).contains("target.url"));
  CHECK(refused(Channel::slack, {.url = "http://hooks.example.org/x"}).contains("target.url"));
  CHECK(refused(Channel::mail, url).contains("target.url"));
  CHECK(refused(Channel::discord, {.url = hook, .chat_id = "1"}).contains("target.chat_id"));
  CHECK(refused(Channel::discord, {.url = hook, .bot_token = "1:a"}).contains("target.bot_token"));
  for (const char* token : {"", "123", "123:", ":abc", "12a:abc", "123:a/b", "123:a%2e", "123:ä"})
    CHECK(refused(Channel::telegram, {.bot_token = token, .chat_id = "1"})
              .contains("target.bot_token"));
  for (const char* chat : {"", "-", "@", "name", "1 2", "@a-b", "--1"})
    CHECK(refused(Channel::telegram, {.bot_token = "1:a", .chat_id = chat})
              .contains("target.chat_id"));
  CHECK(refused(Channel::telegram,
                {.url = "https://a.example.org/x", .bot_token = "1:a", .chat_id = "1"})
            .contains("target.url"));
  CHECK(refused(Channel::discord, url, {}).contains("events"));
  CHECK(refused(Channel::discord, url, {"balance.low", "balance.low"}).contains("events"));
  CHECK(refused(Channel::discord, url, {"deployment.status"}).contains("events"));
  CHECK(refused(Channel::discord, url, {"balance.low"}, "").contains("name"));
  CHECK(refused(Channel::discord, url, {"balance.low"}, std::string(81, 'x')).contains("name"));
}

TEST_CASE("alerts of an account are limited, and those by mail more") {
  Fixture f;
  const auto mail = [&] {
    return refusal([&] {
      f.make({.name = "Mail",
              .app_id = {},
              .channel = Channel::mail,
              .target = {},
              .events = {"balance.low"}});
    });
  };
  for (int i = 0; i < alerts::max_mail_alerts; ++i) CHECK(mail() == "");
  CHECK(mail() == "409 invalid_state");
  for (int i = alerts::max_mail_alerts; i < alerts::max_of_account; ++i) f.add();
  CHECK(refusal([&] { f.add(); }) == "409 invalid_state");
}

TEST_CASE("an event reaches the alerts of its app, and of all apps, that want it") {
  Fixture f;
  const auto of_all = f.add();
  const auto of_app = f.add({"billing.failed"}, f.app.id);
  const auto of_other = f.add({"billing.failed"}, f.world.new_app(f.owner).app.id);
  const auto of_type = f.add({"balance.low"});
  const accounts::User eve = f.world.verified_user("eve");
  f.world.write([&](db::Tx& tx) {
    alerts::create(tx, eve.id,
                   {.name = "Eve",
                    .app_id = {},
                    .channel = Channel::discord,
                    .target = {.url = hook},
                    .events = {"billing.failed"}},
                   Schemes::only_https, f.world.keys.data);
  });
  f.emit(1);
  CHECK(f.due().empty());  // what comes in the same moment is told together
  f.world.clock.advance(alerts::gathered_for);
  CHECK(f.due().size() == 2);
  CHECK(f.find(of_all).waiting == 1);
  CHECK(f.find(of_app).waiting == 1);
  CHECK(f.find(of_other).waiting == 0);
  CHECK(f.find(of_type).waiting == 0);
}

TEST_CASE("an account with many alerts doesn't keep those of others from being found") {
  Fixture f;
  for (int i = 0; i < 5; ++i) f.add();
  f.emit(1);
  f.world.clock.advance(1s);
  const accounts::User eve = f.world.verified_user("eve");
  const apps::App other = f.world.new_app(eve).app;
  f.world.write([&](db::Tx& tx) {
    alerts::create(tx, eve.id,
                   {.name = "Eve",
                    .app_id = {},
                    .channel = Channel::discord,
                    .target = {.url = hook},
                    .events = {"billing.failed"}},
                   Schemes::only_https, f.world.keys.data);
    webhooks::emit(tx, other.id, "billing.failed", "s", json::object());
  });
  f.world.clock.advance(alerts::gathered_for);
  const auto found = f.world.read([&](db::Tx& tx) { return alerts::due(tx, 3); });
  REQUIRE(found.size() == 3);
  CHECK(found[0].owner_id == f.owner.id);
  CHECK(found[1].owner_id == eve.id);
  CHECK(found[2].owner_id == f.owner.id);
  CHECK(f.due().size() == 6);
}

TEST_CASE("everything that waits is one message, and the next one keeps the pause") {
  Fixture f;
  const auto alert = f.add();
  for (int i = 0; i < 22; ++i) f.emit(i);
  f.world.clock.advance(alerts::gathered_for);
  const auto message = f.begin(alert).value();
  CHECK(int(message.events.size()) == alerts::max_told);
  CHECK(message.events.front().data.at("number") == 0);
  CHECK(message.events.front().app_name == f.app.app_name);
  CHECK(message.more == 12);
  CHECK_FALSE(f.begin(alert));  // it is under way
  f.emit(22);
  CHECK(f.settle(message, f.taken) == alerts::Settled::sent);
  CHECK(f.find(alert).waiting == 1);
  CHECK(f.find(alert).last_sent_at == f.world.clock.now());
  CHECK(f.due().empty());
  f.world.clock.advance(alerts::pause_after(Channel::discord) - 1s);
  CHECK(f.due().empty());
  f.world.clock.advance(1s);
  CHECK(f.due().size() == 1);
  CHECK(f.begin(alert).value().events.at(0).data.at("number") == 22);
}

TEST_CASE("no more than a hundred events wait, and old ones aren't told any more") {
  Fixture f;
  const auto alert = f.add();
  for (int i = 0; i < alerts::max_waiting + 5; ++i) f.emit(i);
  CHECK(f.find(alert).waiting == alerts::max_waiting);
  f.world.clock.advance(alerts::told_within + 1s);
  f.world.write([&](db::Tx& tx) {
    tx.execute("DELETE FROM alert_events WHERE number > (SELECT min(number) FROM alert_events)");
  });
  f.emit(1000);
  f.world.clock.advance(alerts::gathered_for);
  const auto message = f.begin(alert).value();
  REQUIRE(message.events.size() == 1);
  CHECK(message.events[0].data.at("number") == 1000);
}

TEST_CASE("however much is spent in an app, its alert tells of a trouble, and first") {
  Fixture f;
  const auto alert = f.add({"points.spent", "billing.failed"});
  for (int i = 0; i < alerts::max_waiting; ++i) f.emit("points.spent", {{"number", i}});
  CHECK(f.find(alert).waiting == alerts::max_waiting_with_spends);
  f.emit(7);
  CHECK(f.find(alert).waiting == alerts::max_waiting_with_spends + 1);
  f.world.clock.advance(alerts::gathered_for);
  const auto message = f.begin(alert).value();
  REQUIRE(int(message.events.size()) == alerts::max_told);
  CHECK(message.events[0].type == "billing.failed");
  CHECK(message.events[1].data.at("number") == 0);
  CHECK(message.events.back().data.at("number") == alerts::max_told - 2);
  CHECK(message.more == alerts::max_waiting_with_spends + 1 - alerts::max_told);
  f.settle(message, f.taken);
  CHECK(f.find(alert).waiting == 0);
}

TEST_CASE("a change of an alert by mail doesn't end the pause between mails") {
  Fixture f;
  const auto alert = f.make({.name = "Mail",
                             .app_id = {},
                             .channel = Channel::mail,
                             .target = {},
                             .events = {"billing.failed"}})
                         .alert;
  f.emit(1);
  f.world.clock.advance(alerts::gathered_for);
  f.settle(f.begin(alert).value(), {});
  f.emit(2);
  f.change(f.find(alert), {.name = "Other", .app_id = {}, .target = {}, .events = {}});
  f.world.write([&](db::Tx& tx) { alerts::test(tx, f.find(alert)); });
  CHECK(f.due().empty());
  CHECK_FALSE(f.begin(alert));
  f.world.clock.advance(alerts::pause_after(Channel::mail));
  CHECK(f.due().size() == 1);
  CHECK(f.begin(alert).value().events.size() == 2);
}

TEST_CASE("a message that fails is tried again, and tells what has come meanwhile, too") {
  Fixture f;
  const auto alert = f.add();
  f.emit(1);
  f.world.clock.advance(alerts::gathered_for);
  CHECK(f.settle(f.begin(alert).value(), f.broken) == alerts::Settled::waits);
  CHECK(f.find(alert).last_error == "it answered with 500");
  CHECK(f.find(alert).failing_since == f.world.clock.now());
  f.emit(2);
  CHECK(f.due().empty());
  f.world.clock.advance(1min);
  const auto again = f.begin(alert).value();
  CHECK(again.attempt == 2);
  CHECK(again.events.size() == 2);
  CHECK(f.settle(again, f.taken) == alerts::Settled::sent);
  CHECK_FALSE(f.find(alert).last_error);
  CHECK_FALSE(f.find(alert).failing_since);
}

TEST_CASE(
    "an alert whose messages don't arrive is disabled, with the reason, until it is changed") {
  Fixture f;
  const auto alert = f.add();
  const auto fail = [&](const webhooks::Outcome& outcome) {
    f.emit(1);
    f.world.clock.advance(1min);
    return f.settle(f.begin(alert).value(), outcome);
  };
  for (int i = 1; i < alerts::refusals_until_disabled; ++i)
    CHECK(fail(f.refused) == alerts::Settled::waits);
  CHECK(fail(f.refused) == alerts::Settled::disabled);
  CHECK(f.find(alert).disabled_at == f.world.clock.now());
  CHECK(f.find(alert).last_error == "it answered with 404");
  f.emit(2);
  CHECK(f.find(alert).waiting == 0);
  CHECK(refusal([&] { f.world.write([&](db::Tx& tx) { alerts::test(tx, f.find(alert)); }); }) ==
        "409 invalid_state");
  CHECK_FALSE(f.change(f.find(alert), {}).disabled_at);
  // What isn't refused for good is tried for a day.
  for (int i = 0; i < 10; ++i) CHECK(fail(f.broken) == alerts::Settled::waits);
  f.world.clock.advance(alerts::given_up_after);
  CHECK(fail(f.broken) == alerts::Settled::disabled);
  f.change(f.find(alert), {});
  CHECK(fail({.status = 410, .error = "it answered with 410"}) == alerts::Settled::disabled);
}

TEST_CASE("one event is enough to find out that a receiver takes nothing for a day") {
  Fixture f;
  const auto alert = f.add();
  f.emit(1);
  f.world.clock.advance(alerts::gathered_for);
  for (int hour = 0; hour < 24; ++hour) {
    CHECK(f.settle(f.begin(alert).value(), f.broken) == alerts::Settled::waits);
    f.world.clock.advance(1h);
  }
  const auto last = f.begin(alert);
  REQUIRE(last);
  CHECK(f.settle(*last, f.broken) == alerts::Settled::disabled);
}

TEST_CASE("what failed before an alert was changed doesn't disable it") {
  Fixture f;
  const auto alert = f.add();
  f.emit(1);
  std::optional<alerts::Message> message;
  for (int i = 1; i <= alerts::refusals_until_disabled; ++i) {
    f.world.clock.advance(1min);
    message = f.begin(alert).value();
    if (i < alerts::refusals_until_disabled) f.settle(*message, f.refused);
  }
  // While the last attempt is under way, its owner corrects the URL.
  f.change(f.find(alert), {.name = {},
                           .app_id = {},
                           .target = alerts::Target{.url = "https://b.example.org/y"},
                           .events = {}});
  CHECK(f.settle(*message, f.refused) == alerts::Settled::waits);
  CHECK_FALSE(f.find(alert).disabled_at);
  CHECK_FALSE(f.find(alert).last_error);
  CHECK(f.due().size() == 1);
  CHECK(f.begin(alert).value().target.url == "https://b.example.org/y");
}

TEST_CASE("a target that can't be decrypted disables the alert") {
  Fixture f;
  const auto alert = f.add();
  f.emit(1);
  f.world.clock.advance(alerts::gathered_for);
  f.world.keys.data = std::string(32, 'x');
  CHECK_FALSE(f.begin(alert));
  CHECK(f.find(alert).disabled_at);
  CHECK_THAT(f.find(alert).last_error.value(), Catch::Contains("data key"));
}

TEST_CASE("a change keeps what it doesn't name") {
  Fixture f;
  const auto alert = f.add({"billing.failed"}, f.app.id);
  auto changed = f.change(alert, {.name = "Other", .app_id = {}, .target = {}, .events = {}});
  CHECK(changed.name == "Other");
  CHECK(changed.app_id == f.app.id);
  CHECK(changed.events == std::vector<std::string>{"billing.failed"});
  changed = f.change(changed, {.name = {},
                               .app_id = std::optional<std::string>(),
                               .target = alerts::Target{.url = "https://b.example.org/y"},
                               .events = {{"balance.low"}}});
  CHECK_FALSE(changed.app_id);
  CHECK(changed.target == "b.example.org");
  CHECK(changed.events == std::vector<std::string>{"balance.low"});
  CHECK(refusal([&] {
          f.change(changed, {.name = {}, .app_id = {}, .target = alerts::Target(), .events = {}});
        }) == "422 validation_failed");
}

TEST_CASE("a test is sent at once, one at a time") {
  Fixture f;
  const auto alert = f.add();
  const auto test = [&] {
    return refusal([&] { f.world.write([&](db::Tx& tx) { alerts::test(tx, alert); }); });
  };
  CHECK(test() == "");
  CHECK(test() == "409 invalid_state");
  REQUIRE(f.due().size() == 1);
  const auto message = f.begin(alert).value();
  CHECK(message.events.at(0).type == alerts::test_type);
  f.settle(message, f.taken);
  CHECK(test() == "");  // also in the pause
  CHECK(f.due().size() == 1);
}

TEST_CASE("of a deployment's states, troubles are told, and each once") {
  Fixture f;
  const auto alert =
      f.add({"deployment.failed", "deployment.crashed", "certificate.failed"}, f.app.id);
  const auto say = [&](const json& data) { f.emit("deployment.status", data, "d"); };
  say(status("deploying", nullptr));
  say(status("errored", "image_pull_failed"));
  say(status("errored", "image_pull_failed"));
  say(status("running", nullptr));
  say(status("errored", "image_pull_failed"));
  CHECK(f.waiting(alert) == std::vector<std::string>{"deployment.failed"});
  say(status("errored", "crash_loop"));
  say(status("running", "rollout_failed", "out_of_memory"));
  say(status("running", "rollout_failed", "image_pull_failed"));
  say(status("running", "certificate_failed"));
  f.emit("deployment.progress", status("errored", "quota_exceeded"), "d");
  f.emit("deployment.domain", {{"state", "issuing"}, {"domain", "a.example.org"}}, "d");
  f.emit("deployment.domain", {{"state", "failed"}, {"domain", "a.example.org"}}, "d");
  CHECK(f.waiting(alert) == std::vector<std::string>{"deployment.failed", "deployment.crashed",
                                                     "deployment.crashed", "deployment.failed",
                                                     "certificate.failed", "certificate.failed"});
  // The same trouble is told again when it has been away for half an hour.
  f.world.clock.advance(29min);
  say(status("errored", "crash_loop"));
  CHECK(f.waiting(alert).size() == 6);
  f.world.clock.advance(31min);
  say(status("errored", "crash_loop"));
  CHECK(f.waiting(alert).size() == 7);
}

TEST_CASE("each domain that isn't served is told, and each once") {
  Fixture f;
  const auto alert = f.add({"certificate.failed"}, f.app.id);
  for (const char* domain : {"a.example.org", "a.example.org", "b.example.org"})
    f.emit("deployment.domain", {{"state", "failed"}, {"domain", domain}}, "d");
  CHECK(f.waiting(alert).size() == 2);
}

TEST_CASE("alerts end with their app, and with the account") {
  Fixture f;
  const auto of_app = f.add({"billing.failed"}, f.app.id);
  const auto of_all = f.add();
  f.emit(1);
  f.world.write([&](db::Tx& tx) { apps::remove(tx, f.app); });
  CHECK(refusal([&] { f.find(of_app); }) == "404 alert_not_found");
  CHECK(f.find(of_all).waiting == 0);
  f.world.write([&](db::Tx& tx) { alerts::test(tx, of_all); });
  f.world.write(
      [&](db::Tx& tx) { tx.execute("UPDATE users SET deleted_at = 1 WHERE id = $1", f.owner.id); });
  CHECK(refusal([&] { f.find(of_all); }) == "404 alert_not_found");
  CHECK(f.waiting(of_all).empty());
}

TEST_CASE("an app tells of spends only while somebody wants to know") {
  Fixture f;
  const auto told = [&](const std::string& app_id) {
    return f.world.read([&](db::Tx& tx) {
      return tx.number("SELECT tells_of_spends FROM apps WHERE id = $1", app_id);
    });
  };
  const auto note = [&] {
    f.world.write([&](db::Tx& tx) { apps::note_spend_wishes(tx, f.owner.id); });
  };
  f.add({"points.refunded"});
  note();
  CHECK(told(f.app.id) == 0);
  const auto of_all = f.add({"balance.low", "points.spent"});
  note();
  CHECK(told(f.app.id) == 1);
  const std::string later = f.world.new_app(f.owner).app.id;
  CHECK(told(later) == 1);
  f.world.write([&](db::Tx& tx) { alerts::remove(tx, of_all); });
  f.world.write([&](db::Tx& tx) {
    webhooks::create(tx, f.app.id, "https://a.example.org/", {"points.spent"}, Schemes::only_https,
                     f.world.keys.data);
  });
  note();
  CHECK(told(f.app.id) == 1);
  CHECK(told(later) == 0);
}

TEST_CASE("a spend that somebody wants to know of is an event of its write") {
  Fixture f;
  f.app = f.world.approved_app(f.owner, {Scope::profile_read, Scope::points_spend});
  const accounts::User player = f.world.verified_user("bob");
  f.world.mint(ledger::user_account(player.id), 10);
  const std::string token = f.world.tokens(f.app, player, "points:spend").access_token;
  // As the API does it: the token's check says whether somebody wants to know.
  const auto spend = [&] {
    const oauth::Caller caller = f.world.check(token);
    return f.world.write([&](db::Tx& tx) {
      return points::spend(tx,
                           {.grant_id = caller.grant_id,
                            .user_id = caller.user_id,
                            .app_id = caller.app_id,
                            .amount = 5,
                            .description = "a sword",
                            .in_own_app = caller.owns_app,
                            .is_told = caller.tells_of_spends},
                           {});
    });
  };
  const auto events = [&] {
    return f.world.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM app_events WHERE type = 'points.spent'");
    });
  };
  spend();
  CHECK(events() == 0);
  const auto alert = f.add({"points.spent"});
  f.world.write([&](db::Tx& tx) { apps::note_spend_wishes(tx, f.owner.id); });
  const auto spent = spend();
  CHECK(events() == 1);
  f.world.clock.advance(alerts::gathered_for);
  const json data = f.begin(alert).value().events.at(0).data;
  CHECK(data == json{{"spend_id", spent.id},
                     {"user_id", player.id},
                     {"amount", 5},
                     {"description", "a sword"}});
}
