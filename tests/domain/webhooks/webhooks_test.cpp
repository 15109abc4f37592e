#include "controller/domain/webhooks/webhooks.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/id.h"
#include "controller/domain/webhooks/app_events.h"
#include "controller/domain/webhooks/backlog.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using webhooks::Schemes;

struct Fixture {
  World world;
  accounts::User owner = world.verified_user("ada");
  apps::App app = world.new_app(owner).app;

  webhooks::Webhook add(const std::vector<std::string>& types = {"billing.failed"}) {
    return world.write([&](db::Tx& tx) {
      return webhooks::create(tx, app.id, "https://a.example.org/" + std::to_string(++made), types,
                              Schemes::only_https, world.keys.data)
          .webhook;
    });
  }
  void emit(const std::string& subject, int number, const char* type = "billing.failed") {
    world.write([&](db::Tx& tx) {
      webhooks::emit(tx, app.id, type, subject, {{"number", number}});
    });
  }
  std::vector<webhooks::Due> due(int most_of_one = 4) {
    return world.read([&](db::Tx& tx) {
      return webhooks::due(tx, {.of_all = 100, .of_owner = 100, .of_webhook = most_of_one});
    });
  }
  webhooks::Attempt begin(const webhooks::Due& due) {
    return world
        .write([&](db::Tx& tx) {
          return webhooks::begin_attempt(tx, world.keys.data, due.id, tx.now() + 1min);
        })
        .value();
  }
  webhooks::Settled settle(const webhooks::Attempt& attempt, const webhooks::Outcome& outcome) {
    return world.write(
        [&](db::Tx& tx) { return webhooks::settle(tx, attempt, outcome, tx.now() + 1min); });
  }
  int number_of(const webhooks::Attempt& attempt) { return attempt.data.at("number"); }
  int made = 0;  // webhooks, each of which has a URL of its own
  webhooks::Outcome taken{.status = 204, .error = {}};
  webhooks::Outcome refused{.status = 500, .error = "it answered with 500"};
};

}  // namespace

TEST_CASE("URLs that a webhook may have") {
  for (const char* fine :
       {"https://a.example.org", "https://a.example.org:8443/x?y=1", "https://[2001:db8::1]/",
        "https://[2001:db8::1]:65535", "https://my-hooks.example.org/?x"})
    CHECK_FALSE(webhooks::refuse_url(fine, Schemes::only_https));
  CHECK_FALSE(webhooks::refuse_url("http://127.0.0.1:1/", Schemes::http_too));
  for (const char* wrong : {"",
                            "http://a.example.org/",
                            "ftp://a.example.org/",
                            "https://",
                            "https:///x",
                            "https://:443/",
                            "https://user:secret@a.example.org/",
                            "https://a.example.org/#x",
                            "https://a.example.org/ x",
                            "https://a.example.org\\@b/",
                            "//a.example.org/",
                            "https://a.example.org:/",
                            "https://a.example.org:0/",
                            "https://a.example.org:65536/",
                            "https://a.example.org:+1/",
                            "https://a.example.org:http/",
                            "https://[::1",
                            "https://[]/",
                            "https://[::1]x/",
                            "https://[::1%25lo]/",
                            "https://.../",
                            "https://%zz/",
                            "https://a..example.org/",
                            "https://my_hooks.example.org/",
                            "https://a.example.org./",
                            "https://a.example.org;x/",
                            "https://127.1/"})
    CHECK(webhooks::refuse_url(wrong, Schemes::only_https));
  CHECK(webhooks::refuse_url("https://a.example.org/" + std::string(2048, 'x'), Schemes::http_too));
}

TEST_CASE(
    "an event reaches the webhooks of its app that subscribe to it, and is committed with its "
    "cause") {
  Fixture f;
  const auto wanted = f.add();
  f.add({"deployment.domain"});
  const apps::App other = f.world.new_app(f.owner).app;
  f.world.write([&](db::Tx& tx) {
    webhooks::create(tx, other.id, "https://b.example.org/", {"billing.failed"},
                     Schemes::only_https, f.world.keys.data);
  });
  CHECK_THROWS(f.world.write([&](db::Tx& tx) {
    webhooks::emit(tx, f.app.id, "billing.failed", "s", {{"number", 0}});
    throw std::runtime_error("undone");
  }));
  f.emit("s", 1);
  const auto due = f.due();
  REQUIRE(due.size() == 1);
  CHECK(due[0].webhook_id == wanted.id);
  const auto attempt = f.begin(due[0]);
  CHECK(f.number_of(attempt) == 1);
  CHECK(is_uuid(attempt.event_id));
  CHECK(attempt.event_id[14] == '7');
  CHECK(is_uuid(attempt.delivery_id));
  CHECK(attempt.secret.starts_with("whsec_"));
  CHECK(attempt.event_at == f.world.clock.now());
}

TEST_CASE("the backlog is what waits, and how long the oldest attempt has been due") {
  Fixture f;
  const auto backlog = [&] { return f.world.read(webhooks::backlog); };
  CHECK(backlog().waiting == 0);
  CHECK(backlog().overdue == 0s);
  f.add();
  f.emit("a", 1);
  f.world.clock.advance(5min);
  f.emit("b", 2);
  CHECK(backlog().waiting == 2);
  CHECK(backlog().overdue == 5min);
  f.settle(f.begin(f.due().front()), f.taken);
  CHECK(backlog().waiting == 1);
  CHECK(backlog().overdue == 0s);
}

TEST_CASE("events about one subject stay in order, and other subjects don't wait") {
  Fixture f;
  f.add();
  f.emit("a", 1);
  f.emit("a", 2);
  f.emit("b", 3);
  auto due = f.due();
  REQUIRE(due.size() == 2);
  const auto first = f.begin(due[0]);
  CHECK(f.number_of(first) == 1);
  CHECK(f.settle(first, f.refused) == webhooks::Settled::waits);
  f.emit("a", 4);
  due = f.due();
  REQUIRE(due.size() == 1);
  CHECK(due[0].subject == "b");
  f.world.clock.advance(1min);
  std::vector<int> order;
  while (true) {
    const auto now = f.due();
    const auto a = std::ranges::find(now, "a", &webhooks::Due::subject);
    if (a == now.end()) break;
    const auto attempt = f.begin(*a);
    order.push_back(f.number_of(attempt));
    CHECK(f.settle(attempt, f.taken) == webhooks::Settled::delivered);
  }
  CHECK(order == std::vector{1, 2, 4});
}

TEST_CASE("of two loops that found a delivery due, one sends it") {
  Fixture f;
  f.add();
  f.emit("a", 1);
  const auto due = f.due();
  REQUIRE(due.size() == 1);
  const auto begin = [&] {
    return f.world.write([&](db::Tx& tx) {
      return webhooks::begin_attempt(tx, f.world.keys.data, due[0].id, tx.now() + 1min);
    });
  };
  const auto attempt = begin();
  REQUIRE(attempt);
  CHECK_FALSE(begin());
  f.settle(*attempt, f.refused);
  CHECK_FALSE(begin());
  f.world.clock.advance(1min);
  CHECK(begin()->number == 2);
}

TEST_CASE("owners take turns, and each has a share") {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.add();
  for (int i = 0; i < 3; ++i) f.emit("s" + std::to_string(i), i);
  const accounts::User eve = f.world.verified_user("eve");
  f.app = f.world.new_app(eve).app;
  const webhooks::Webhook others = f.add();
  f.emit("others", 1);
  const auto of = [&](const webhooks::Shares& most) {
    return f.world.read([&](db::Tx& tx) { return webhooks::due(tx, most); });
  };
  const auto all = of({.of_all = 100, .of_owner = 5, .of_webhook = 2});
  REQUIRE(all.size() == 6);
  CHECK(std::ranges::count(all, eve.id, &webhooks::Due::owner_id) == 1);
  const auto two = of({.of_all = 2, .of_owner = 5, .of_webhook = 2});
  REQUIRE(two.size() == 2);
  CHECK(std::ranges::count(two, others.id, &webhooks::Due::webhook_id) == 1);
}

TEST_CASE(
    "an attempt counts before it is made, and a receiver that works again gets everything at "
    "once") {
  Fixture f;
  const auto webhook = f.add();
  f.emit("a", 1);
  f.emit("b", 2);
  const auto due = f.due();
  f.settle(f.begin(due[0]), f.refused);
  f.begin(due[1]);  // berthd is killed during the attempt
  CHECK(f.due().empty());
  f.world.clock.advance(1min);
  REQUIRE(f.due().size() == 2);
  const auto again = f.begin(f.due()[1]);
  CHECK(again.number == 2);
  f.settle(f.begin(f.due()[0]), f.refused);
  CHECK(f.due().empty());
  f.settle(again, f.taken);
  CHECK(f.due().size() == 1);
  const auto shown =
      f.world.read([&](db::Tx& tx) { return webhooks::deliveries(tx, webhook, PageRequest{}); });
  REQUIRE(shown.total == 2);
  CHECK(shown.items[0].state == webhooks::DeliveryState::delivered);
  CHECK(shown.items[1].state == webhooks::DeliveryState::waiting);
  CHECK(shown.items[1].attempts == 2);
  CHECK(shown.items[1].response_status == 500);
}

TEST_CASE("undeliverable events are given up, and removed some time later") {
  Fixture f;
  const auto webhook = f.add();
  f.emit("a", 1);
  f.emit("a", 2);
  f.settle(f.begin(f.due()[0]), f.refused);
  f.world.clock.advance(webhooks::given_up_after);
  CHECK(f.settle(f.begin(f.due()[0]), f.refused) == webhooks::Settled::failed);
  CHECK(f.settle(f.begin(f.due().at(0)), f.taken) == webhooks::Settled::delivered);
  CHECK_FALSE(f.world.read(webhooks::is_anything_old));
  f.world.clock.advance(app_events::kept_for);
  CHECK(f.world.read(webhooks::is_anything_old));
  f.world.write([](db::Tx& tx) { return webhooks::remove_old(tx, 100); });
  CHECK_FALSE(f.world.read(webhooks::is_anything_old));
  CHECK(f.world.read([&](db::Tx& tx) {
    return webhooks::deliveries(tx, webhook, PageRequest{}).total;
  }) == 0);
  CHECK(f.world.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM app_events WHERE subject = 'a'");
  }) == 0);
}

TEST_CASE("waiting deliveries and an app's webhooks are limited") {
  Fixture f;
  const auto webhook = f.add();
  for (int i = 0; i < 510; ++i) f.emit("s" + std::to_string(i % 7), i);
  const auto waiting = f.world.read(
      [&](db::Tx& tx) { return webhooks::deliveries(tx, webhook, PageRequest{}).total; });
  CHECK(waiting == 500);
  CHECK(f.due().size() == 4);
  for (int i = 1; i < webhooks::max_per_app; ++i) f.add();
  CHECK_THROWS_WITH(f.add(), Catch::Contains("at most 10"));
}

TEST_CASE("an app has a URL once") {
  Fixture f;
  const auto first = f.add(), second = f.add();
  const auto make = [&](const std::string& app_id) {
    return refusal([&] {
      f.world.write([&](db::Tx& tx) {
        webhooks::create(tx, app_id, first.url, {"billing.failed"}, Schemes::only_https,
                         f.world.keys.data);
      });
    });
  };
  CHECK(make(f.app.id) == "422 validation_failed");
  CHECK(make(f.world.new_app(f.world.verified_user("bob")).app.id) == "");
  const auto change = [&](const webhooks::Webhook& webhook) {
    return refusal([&] {
      f.world.write([&](db::Tx& tx) {
        webhooks::change(tx, webhook, {.url = first.url, .events = {}}, Schemes::only_https);
      });
    });
  };
  CHECK(change(second) == "422 validation_failed");
  CHECK(change(first) == "");
}

TEST_CASE("a webhook ends when its receiver says that it is gone, until it is changed") {
  Fixture f;
  const auto webhook = f.add(), other = f.add();
  f.emit("one", 1);
  f.emit("two", 2);
  const auto find = [&] {
    return f.world.read([&](db::Tx& tx) { return webhooks::get(tx, f.app.id, webhook.id); });
  };
  const auto total = [&](const webhooks::Webhook& of) {
    return f.world.read(
        [&](db::Tx& tx) { return webhooks::deliveries(tx, of, PageRequest{}).total; });
  };
  const auto due = f.due();
  const auto mine = std::ranges::find(due, webhook.id, &webhooks::Due::webhook_id);
  CHECK(f.settle(f.begin(*mine), {.status = 410, .error = "it answered with 410"}) ==
        webhooks::Settled::ended);
  CHECK(find().ended_at == f.world.clock.now());
  CHECK(f.due().size() == 2);  // those of the other one
  f.emit("one", 3);
  CHECK(total(webhook) == 2);
  CHECK(total(other) == 3);
  f.world.write([&](db::Tx& tx) {
    webhooks::change(tx, find(), {.url = {}, .events = {{"billing.failed"}}}, Schemes::only_https);
  });
  CHECK_FALSE(find().ended_at);
  f.emit("one", 4);
  CHECK(total(webhook) == 3);
}

TEST_CASE("a test goes to its webhook only, one at a time") {
  Fixture f;
  const auto webhook = f.add();
  f.add();
  const auto delivery = f.world.write([&](db::Tx& tx) { return webhooks::test(tx, webhook); });
  CHECK(delivery.type == "webhook.test");
  CHECK(delivery.state == webhooks::DeliveryState::waiting);
  REQUIRE(f.due().size() == 1);
  CHECK(f.due()[0].webhook_id == webhook.id);
  CHECK_THROWS_WITH(f.world.write([&](db::Tx& tx) { return webhooks::test(tx, webhook); }),
                    Catch::Contains("still waiting"));
}

TEST_CASE("deleting a webhook, or its app, deletes its waiting deliveries") {
  Fixture f;
  const auto webhook = f.add();
  f.emit("a", 1);
  const auto attempt = f.begin(f.due()[0]);
  f.world.write([&](db::Tx& tx) { webhooks::remove(tx, webhook); });
  CHECK(f.settle(attempt, f.taken) == webhooks::Settled::failed);
  f.add();
  f.emit("a", 2);
  CHECK(f.due().size() == 1);
  f.world.write([&](db::Tx& tx) { apps::remove(tx, f.app); });
  CHECK(f.due().empty());
}

TEST_CASE("the decision about a scope request is announced") {
  Fixture f;
  f.add({"scope_request.decided"});
  f.world.write([&](db::Tx& tx) {
    const auto request = apps::request_scopes(tx, f.app, {Scope::deploy_manage});
    apps::reject(tx, request.id, "too new", "root");
  });
  const auto attempt = f.begin(f.due().at(0));
  CHECK(attempt.type == "scope_request.decided");
  CHECK(attempt.data.at("status") == "rejected");
  CHECK(attempt.data.at("reason") == "too new");
}
