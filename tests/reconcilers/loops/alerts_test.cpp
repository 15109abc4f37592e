// The messages of alerts, on their way to chats, webhooks and the outbox.
#include "controller/domain/webhooks/alerts.h"

#include <httplib.h>

#include <catch2/catch.hpp>
#include <mutex>
#include <optional>
#include <thread>

#include "controller/base/crypto.h"
#include "controller/domain/kernel/outbox.h"
#include "reconcilers/loops/loops.h"
#include "reconcilers/loops/webhooks.h"
#include "tests/domain/world.h"
#include "tests/listening.h"

namespace {

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::test;
using namespace std::chrono_literals;
using alerts::Channel;
using nlohmann::json;

constexpr std::chrono::seconds patience{20};

struct Received {
  std::string path;
  json body;
  std::string text, id, timestamp, signature;
};

// Accepts POST requests to any path.
class Receiver {
 public:
  Receiver() {
    server_.Post(".*", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      ++asked_;
      response.status = status_;
      if (status_ < 300)
        received_.push_back({request.path, json::parse(request.body), request.body,
                             request.get_header_value("webhook-id"),
                             request.get_header_value("webhook-timestamp"),
                             request.get_header_value("webhook-signature")});
    });
    listening_.emplace(server_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(listening_->port()); }
  void answer(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  std::vector<Received> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::vector<Received> received_;
  int asked_ = 0;
  int status_ = 204;
  std::optional<berth::test::Listening> listening_;
};

struct Fixture {
  World world;
  accounts::User owner = world.verified_user("ada");
  apps::App app = world.new_app(owner).app;
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  Reach reach = Reach::private_too;
  std::unique_ptr<WebhookLoop> loop;
  std::unique_ptr<Loops> loops;

  alerts::AlertWithSecret add(Channel channel, const alerts::Target& target) {
    return world.write([&](db::Tx& tx) {
      return alerts::create(tx, owner.id,
                            {.name = "Team",
                             .app_id = app.id,
                             .channel = channel,
                             .target = target,
                             .events = {"billing.failed"}},
                            webhooks::Schemes::http_too, world.keys.data);
    });
  }
  void emit(const std::string& name) {
    world.write([&](db::Tx& tx) {
      webhooks::emit(tx, app.id, "billing.failed", "s",
                     {{"deployment_id", "d1"}, {"name", name}, {"amount", 5}, {"balance", 1}});
    });
    if (loop) loop->wake();
  }
  void start() {
    WebhookLoop::Options options;
    options.first_retry = 100ms;
    options.longest_retry = 1s;
    options.time_limit = 5s;
    options.poll = 20ms;
    loop = std::make_unique<WebhookLoop>(
        WebhookLoop::Parts{.database = world.db,
                           .clock = world.clock,
                           .data_key = world.keys.data,
                           .reach = reach,
                           .url_of = [](const std::string& host) { return "https://" + host; },
                           .apps_domain = "apps.example.org",
                           .base_url = "https://berth.example.org",
                           .registry = registry},
        options);
    loops = std::make_unique<Loops>(world.db, nullptr, *registry);
    loops->add(loop->loop());
    loops->start();
  }
  alerts::Alert find(const alerts::Alert& alert) {
    return world.read([&](db::Tx& tx) { return alerts::get(tx, owner.id, alert.id); });
  }
  std::vector<outbox::Mail> mails() {
    return world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); });
  }
  // The clock stands still but for this.
  bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(5ms);
      world.clock.advance(50ms);
    }
    return true;
  }
};

}  // namespace

TEST_CASE("each channel gets what it understands, at its address") {
  Fixture f;
  Receiver receiver;
  f.add(Channel::discord, {.url = receiver.url() + "/discord"});
  f.add(Channel::slack, {.url = receiver.url() + "/slack"});
  f.add(Channel::telegram,
        {.url = receiver.url(), .bot_token = "123:abc", .chat_id = "@our_channel"});
  const auto own = f.add(Channel::webhook, {.url = receiver.url() + "/own"});
  f.emit("shop");
  f.start();
  REQUIRE(f.eventually([&] { return receiver.received().size() == 4; }));
  std::map<std::string, Received> by_path;
  for (const Received& one : receiver.received()) by_path.emplace(one.path, one);
  const json discord = by_path.at("/discord").body;
  CHECK(discord.at("embeds").at(0).at("url") == "https://berth.example.org/console/deployments/d1");
  CHECK(by_path.at("/slack").body.at("text") ==
        "My game: shop was stopped, because points are missing");
  CHECK(by_path.at("/bot123:abc/sendMessage").body.at("chat_id") == "@our_channel");
  const Received& signed_one = by_path.at("/own");
  const auto key = parse_base64(own.secret.value().substr(webhooks::secret_prefix.size()));
  REQUIRE(key);
  CHECK(signed_one.signature ==
        "v1," + base64(hmac_sha256(
                    *key, signed_one.id + "." + signed_one.timestamp + "." + signed_one.text)));
  CHECK(signed_one.body.at("data").at("events").at(0).at("type") == "billing.failed");
  CHECK(by_path.at("/discord").signature.empty());
  REQUIRE(f.eventually([&] { return f.find(own.alert).last_sent_at.has_value(); }));
}

TEST_CASE("a burst is one message, and a receiver that fails gets it when it works again") {
  Fixture f;
  Receiver receiver;
  receiver.answer(500);
  const auto alert = f.add(Channel::webhook, {.url = receiver.url() + "/"}).alert;
  for (int i = 0; i < 22; ++i) f.emit("shop" + std::to_string(i));
  f.start();
  REQUIRE(f.eventually([&] { return receiver.asked() >= 2; }));
  REQUIRE(f.eventually([&] { return f.find(alert).last_error.has_value(); }));
  CHECK(f.find(alert).last_error == "it answered with 500");
  receiver.answer(204);
  REQUIRE(f.eventually([&] { return receiver.received().size() == 1; }));
  const json data = receiver.received()[0].body.at("data");
  CHECK(data.at("events").size() == 10);
  CHECK(data.at("more") == 12);
  REQUIRE(f.eventually([&] { return f.find(alert).last_sent_at.has_value(); }));
  CHECK(f.find(alert).waiting == 0);
  CHECK_FALSE(f.find(alert).last_error);
}

TEST_CASE("mail is a letter to the account's own address") {
  Fixture f;
  const auto alert = f.add(Channel::mail, {}).alert;
  const size_t before = f.mails().size();
  f.emit("shop");
  f.emit("forum");
  f.start();
  REQUIRE(f.eventually([&] { return f.find(alert).last_sent_at.has_value(); }));
  const auto mails = f.mails();
  REQUIRE(mails.size() == before + 1);
  CHECK(mails[0].to == f.owner.email);
  CHECK(mails[0].subject == "My game: shop was stopped, because points are missing, and 1 more");
  CHECK_THAT(mails[0].body, Catch::Contains("forum was stopped"));
}

TEST_CASE("the owner gets a letter when an alert is disabled, without its secret") {
  Fixture f;
  Receiver receiver;
  receiver.answer(410);
  const auto alert = f.add(Channel::slack, {.url = receiver.url() + "/very-secret"}).alert;
  f.emit("shop");
  f.start();
  REQUIRE(f.eventually([&] { return f.find(alert).disabled_at.has_value(); }));
  const auto mails = f.mails();
  REQUIRE_FALSE(mails.empty());
  CHECK(mails[0].subject == "Your alert Team was disabled");
  CHECK_THAT(mails[0].body, Catch::Contains("410") && !Catch::Contains("very-secret"));
  f.emit("forum");
  CHECK(f.find(alert).waiting == 0);
}

TEST_CASE("private addresses get no alerts") {
  Fixture f;
  f.reach = Reach::public_only;
  Receiver receiver;
  const auto alert = f.add(Channel::discord, {.url = receiver.url() + "/"}).alert;
  f.emit("shop");
  f.start();
  REQUIRE(f.eventually([&] { return f.find(alert).last_error.has_value(); }));
  CHECK(f.find(alert).last_error == "its host has no public address");
  CHECK(receiver.asked() == 0);
}
