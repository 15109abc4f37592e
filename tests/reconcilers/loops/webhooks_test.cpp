// Deliveries over HTTP, to receivers that work and to others.
#include "reconcilers/loops/webhooks.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "controller/base/crypto.h"
#include "controller/domain/webhooks/app_events.h"
#include "reconcilers/loops/loops.h"
#include "tests/domain/world.h"
#include "tests/listening.h"

namespace {

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::chrono::seconds patience{20};

struct Received {
  std::string body;
  std::string signature;
  std::string delivery;
  std::string id, timestamp, standard_signature;
  int number() const { return json::parse(body).at("data").at("number"); }
};

// Accepts POST requests to /, and behaves as a test says.
class Receiver {
 public:
  Receiver() {
    server_.new_task_queue = [] { return new httplib::ThreadPool(16); };
    server_.Post("/", [this](const httplib::Request& request, httplib::Response& response) {
      std::unique_lock lock(mutex_);
      ++asked_;
      const int status = status_;
      if (status < 300)
        received_.push_back({request.body, request.get_header_value("Berth-Signature"),
                             request.get_header_value("Berth-Delivery"),
                             request.get_header_value("webhook-id"),
                             request.get_header_value("webhook-timestamp"),
                             request.get_header_value("webhook-signature")});
      changed_.notify_all();
      changed_.wait_for(lock, patience, [&] { return !held_; });
      response.status = status;
      if (!retry_after_.empty()) response.set_header("Retry-After", retry_after_);
      if (status >= 300 && status < 400) response.set_header("Location", "/elsewhere");
    });
    server_.Post("/elsewhere", [this](const httplib::Request&, httplib::Response&) {
      const std::lock_guard lock(mutex_);
      ++elsewhere_;
    });
    listening_.emplace(server_);
  }
  ~Receiver() { hold(false); }
  std::string url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(listening_->port()) + "/";
  }
  void answer(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  void ask_to_wait(const std::string& retry_after) {
    const std::lock_guard lock(mutex_);
    retry_after_ = retry_after;
  }
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  bool wait_for_questions(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return asked_ >= count; });
  }
  std::vector<Received> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  int elsewhere() {
    const std::lock_guard lock(mutex_);
    return elsewhere_;
  }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Received> received_;
  int asked_ = 0;
  int elsewhere_ = 0;
  int status_ = 204;
  std::string retry_after_;
  bool held_ = false;
  std::optional<berth::test::Listening> listening_;
};

struct Fixture {
  World world;
  accounts::User owner = world.verified_user("ada");
  apps::App app = world.new_app(owner).app;
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  Reach reach = Reach::private_too;
  std::vector<AddressRange> closed = {};
  WebhookLoop::Options options;
  std::unique_ptr<WebhookLoop> loop;
  std::unique_ptr<Loops> loops;

  webhooks::WebhookWithSecret add(const std::string& url) { return add(app, url); }
  webhooks::WebhookWithSecret add(const apps::App& of, const std::string& url) {
    return world.write([&](db::Tx& tx) {
      return webhooks::create(tx, of.id, url, {"billing.failed"}, webhooks::Schemes::http_too,
                              world.keys.data);
    });
  }
  void start(std::chrono::milliseconds time_limit = 5s, std::chrono::milliseconds poll = 20ms) {
    options.first_retry = 100ms;
    options.longest_retry = 1s;
    options.time_limit = time_limit;
    options.poll = poll;
    loop = std::make_unique<WebhookLoop>(
        WebhookLoop::Parts{.database = world.db,
                           .clock = world.clock,
                           .data_key = world.keys.data,
                           .reach = reach,
                           .closed = closed,
                           .url_of = [](const std::string& host) { return "https://" + host; },
                           .apps_domain = "apps.example.org",
                           .registry = registry},
        options);
    loops = std::make_unique<Loops>(world.db, nullptr, *registry);
    loops->add(loop->loop());
    loops->start();
  }
  void stop() {
    loops.reset();
    loop.reset();
  }
  void emit(const std::string& subject, int number) { emit(app, subject, number); }
  void emit(const apps::App& about, const std::string& subject, int number) {
    world.write([&](db::Tx& tx) {
      webhooks::emit(tx, about.id, "billing.failed", subject, {{"number", number}});
    });
    if (loop) loop->wake();
  }
  std::vector<webhooks::Delivery> deliveries(const webhooks::Webhook& webhook) {
    return world
        .read([&](db::Tx& tx) {
          return webhooks::deliveries(tx, webhook, PageRequest{.page = 1, .page_size = 100});
        })
        .items;
  }
  // Retries wait for the clock, which stands still. This moves it on until the condition holds.
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

TEST_CASE("a delivery says what happened, and is signed") {
  Fixture f;
  Receiver receiver;
  const auto made = f.add(receiver.url());
  f.emit("s", 1);
  f.start();
  REQUIRE(f.eventually([&] { return receiver.received().size() == 1; }));
  const Received got = receiver.received()[0];
  const json body = json::parse(got.body);
  CHECK(body.size() == 4);
  CHECK(body.at("type") == "billing.failed");
  CHECK(body.at("data") == json{{"number", 1}});
  CHECK(parse_iso8601(body.at("created_at").get<std::string>()));
  const size_t comma = got.signature.find(",v1=");
  REQUIRE(got.signature.starts_with("t="));
  REQUIRE(comma != std::string::npos);
  const std::string time = got.signature.substr(2, comma - 2);
  CHECK(got.signature.substr(comma + 4) == hex(hmac_sha256(made.secret, time + "." + got.body)));
  // The Standard Webhooks specification, "Signature scheme".
  const auto key = parse_base64(made.secret.substr(webhooks::secret_prefix.size()));
  REQUIRE(key);
  CHECK(key->size() == 32);
  CHECK(got.id == body.at("id"));
  CHECK(got.timestamp == time);
  CHECK(got.standard_signature ==
        "v1," + base64(hmac_sha256(*key, got.id + "." + got.timestamp + "." + got.body)));
  REQUIRE(f.eventually(
      [&] { return f.deliveries(made.webhook)[0].state == webhooks::DeliveryState::delivered; }));
  const auto delivery = f.deliveries(made.webhook)[0];
  CHECK(delivery.id == got.delivery);
  CHECK(delivery.event_id == body.at("id"));
  CHECK(delivery.response_status == 204);
}

TEST_CASE("a receiver's Retry-After puts the next attempt off, but not for ever") {
  const auto [text, least, most] = GENERATE(table<const char*, Duration, Duration>(
      {{"600", 10min, 11min}, {"99999999", 24h, 24h + 1min}, {"soon", 0min, 1min}}));
  Fixture f;
  Receiver receiver;
  receiver.answer(503);
  receiver.ask_to_wait(text);
  const auto made = f.add(receiver.url());
  f.emit("s", 1);
  f.start();
  const Instant sent = f.world.clock.now();
  const auto settled = [&] { return f.deliveries(made.webhook)[0].response_status == 503; };
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!settled() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  REQUIRE(settled());
  const Instant next = f.deliveries(made.webhook)[0].next_attempt_at.value();
  CHECK(next - sent >= least);
  CHECK(next - sent <= most);
}

TEST_CASE("a standard signature is that of the specification's own example") {
  const std::string body = R"({"test": 2432232314})";
  const auto headers = standard_webhook_headers("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                                "msg_p5jXN8AQM9LWM0D4loKWxJek", body,
                                                from_millis(1'614'265'330'000));
  CHECK(headers == std::vector<std::string>{
                       "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp: 1614265330",
                       "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="});
}

TEST_CASE("a secret from before the Standard Webhooks signs with the same key in base64url") {
  const std::string key(32, '\xfb');
  CHECK(standard_webhook_headers("whsec_" + base64url(key), "id", "{}", from_millis(0)) ==
        standard_webhook_headers("whsec_" + base64(key), "id", "{}", from_millis(0)));
}

TEST_CASE("answers that the database can't take for a while are recorded later") {
  Fixture f;
  Receiver receiver;
  receiver.hold(true);
  const auto made = f.add(receiver.url());
  f.start();
  // More than most_of_one, so that lost answers would block the webhook for good.
  const int count = 2 * f.options.most_of_one;
  for (int i = 0; i < count; ++i) f.emit(std::to_string(i), i);
  REQUIRE(receiver.wait_for_questions(f.options.most_of_one));
  f.world.write([](db::Tx& tx) {
    tx.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON webhook_deliveries "
        "BEGIN SELECT RAISE(ABORT, 'refused by the test'); END");
  });
  receiver.hold(false);
  std::this_thread::sleep_for(20 * f.options.poll);  // the loop fails in this time
  f.world.write([](db::Tx& tx) { tx.execute("DROP TRIGGER refuse"); });
  CHECK(f.eventually([&] {
    const auto all = f.deliveries(made.webhook);
    return int(all.size()) == count && std::ranges::all_of(all, [](const auto& delivery) {
             return delivery.state == webhooks::DeliveryState::delivered;
           });
  }));
  CHECK(receiver.asked() == count);  // nothing was delivered twice
}

TEST_CASE(
    "a receiver that fails, redirects and recovers gets everything, in order for each subject") {
  Fixture f;
  Receiver receiver;
  const auto made = f.add(receiver.url());
  receiver.answer(500);
  f.start();
  for (int i = 0; i < 12; ++i) f.emit(i % 2 == 0 ? "even" : "odd", i);
  REQUIRE(f.eventually([&] { return receiver.asked() >= 4; }));
  receiver.answer(302);
  const int before = receiver.asked();
  REQUIRE(f.eventually([&] { return receiver.asked() >= before + 4; }));
  CHECK(receiver.received().empty());
  CHECK(f.deliveries(made.webhook).back().error);
  receiver.answer(200);
  REQUIRE(f.eventually([&] { return receiver.received().size() >= 12; }));
  std::vector<int> even, odd;
  for (const Received& got : receiver.received())
    (got.number() % 2 == 0 ? even : odd).push_back(got.number());
  CHECK(even == std::vector{0, 2, 4, 6, 8, 10});
  CHECK(odd == std::vector{1, 3, 5, 7, 9, 11});
  CHECK(receiver.elsewhere() == 0);
}

TEST_CASE("slow and dead receivers don't hold up others") {
  Fixture f;
  Receiver slow, well;
  slow.hold(true);
  f.add(slow.url());
  // Nobody listens there.
  f.add("http://127.0.0.1:1/");
  f.add(well.url());
  f.start(patience);
  for (int i = 0; i < 20; ++i) f.emit("s" + std::to_string(i), i);
  REQUIRE(f.eventually([&] { return well.received().size() == 20; }));
  CHECK(slow.asked() <= 4);
  // The slow receiver is still held. The others got their events while it had all of its deliveries
  // open.
  REQUIRE(slow.wait_for_questions(4));
  slow.hold(false);
  REQUIRE(f.eventually([&] {
    std::set<int> numbers;
    for (const Received& got : slow.received()) numbers.insert(got.number());
    return numbers.size() == 20;
  }));
}

TEST_CASE("an owner with only slow receivers doesn't hold up other owners") {
  Fixture f;
  f.options.most_under_way = 8;
  f.options.most_of_owner = 4;
  Receiver slow, well;
  slow.hold(true);
  const accounts::User eve = f.world.verified_user("eve");
  for (int app = 0; app < 2; ++app) {
    const apps::App of_eve = f.world.new_app(eve).app;
    for (int i = 0; i < 3; ++i) f.add(of_eve, slow.url() + "?" + std::to_string(i));
    for (int i = 0; i < 4; ++i) f.emit(of_eve, "of eve " + std::to_string(4 * app + i), i);
  }
  f.add(well.url());
  f.start(patience);
  REQUIRE(slow.wait_for_questions(4));
  for (int i = 0; i < 4; ++i) f.emit("s" + std::to_string(i), i);
  REQUIRE(f.eventually([&] { return well.received().size() == 4; }));
  CHECK(slow.asked() == 4);
  slow.hold(false);
  REQUIRE(f.eventually([&] { return slow.received().size() == 24; }));
}

TEST_CASE("owners who have filled the deliveries leave some to others",
          "[pool:webhook_deliveries]") {
  Fixture f;
  f.options.most_under_way = 8;
  f.options.most_of_owner = 8;
  Receiver slow, well;
  slow.hold(true);
  const apps::App of_eve = f.world.new_app(f.world.verified_user("eve")).app;
  for (int i = 0; i < 3; ++i) f.add(of_eve, slow.url() + "?" + std::to_string(i));
  for (int i = 0; i < 4; ++i) f.emit(of_eve, "of eve " + std::to_string(i), i);
  f.add(well.url());
  f.start(patience);
  REQUIRE(slow.wait_for_questions(6));
  for (int i = 0; i < 4; ++i) f.emit("s" + std::to_string(i), i);
  REQUIRE(f.eventually([&] { return well.received().size() == 4; }));
  CHECK(slow.asked() == 6);
  slow.hold(false);
  REQUIRE(f.eventually([&] { return slow.received().size() == 12; }));
}

TEST_CASE("an answer counts as soon as its head arrives, whatever its body does") {
  Fixture f;
  httplib::Server server;
  server.Post("/", [](const httplib::Request&, httplib::Response& answer) {
    answer.set_chunked_content_provider("text/plain", [](size_t, httplib::DataSink& sink) {
      std::this_thread::sleep_for(10ms);
      return sink.write("x", 1);
    });
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::jthread thread([&] { server.listen_after_bind(); });
  const auto made = f.add("http://127.0.0.1:" + std::to_string(port) + "/");
  f.start(300ms);
  f.emit("s", 1);
  CHECK(f.eventually(
      [&] { return f.deliveries(made.webhook)[0].state == webhooks::DeliveryState::delivered; }));
  CHECK(f.deliveries(made.webhook)[0].attempts == 1);
  CHECK(f.deliveries(made.webhook)[0].response_status == 200);
  f.stop();
  server.stop();
}

TEST_CASE("a receiver that doesn't answer in time is tried again") {
  Fixture f;
  Receiver receiver;
  const auto made = f.add(receiver.url());
  receiver.hold(true);
  f.start(200ms);
  f.emit("s", 1);
  REQUIRE(f.eventually([&] { return receiver.asked() >= 2; }));
  receiver.hold(false);
  REQUIRE(f.eventually(
      [&] { return f.deliveries(made.webhook)[0].state == webhooks::DeliveryState::delivered; }));
  CHECK(f.deliveries(made.webhook)[0].attempts >= 2);
  const auto received = receiver.received();
  CHECK(received.front().body == received.back().body);
}

TEST_CASE("the cluster's own addresses are never connected to, public or not") {
  Fixture f;
  f.closed = {parse_address_range("127.0.0.2/31").value()};
  Receiver receiver;
  const auto cluster = f.add(receiver.url("127.0.0.3")).webhook;
  const auto elsewhere = f.add(receiver.url("127.0.0.1")).webhook;
  f.start();
  f.emit("s", 1);
  REQUIRE(f.eventually([&] { return f.deliveries(cluster)[0].error.has_value(); }));
  CHECK(f.deliveries(cluster)[0].error == "its host has no public address");
  REQUIRE(f.eventually(
      [&] { return f.deliveries(elsewhere)[0].state == webhooks::DeliveryState::delivered; }));
  CHECK(receiver.asked() == 1);
}

TEST_CASE("private addresses are never connected to, whatever name leads there") {
  Fixture f;
  f.reach = Reach::public_only;
  Receiver receiver;
  std::vector<webhooks::Webhook> all;
  for (const char* host : {"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"})
    all.push_back(f.add(receiver.url(host)).webhook);
  // Addresses written as a number can't be registered, but older rows may have one.
  CHECK_THROWS_AS(f.add(receiver.url("2130706433")), Error);
  all.push_back(f.add(receiver.url() + "?older").webhook);
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE webhooks SET url = $2 WHERE id = $1", all.back().id,
               receiver.url("2130706433"));
  });
  f.start();
  f.emit("s", 1);
  for (const auto& webhook : all) {
    INFO(webhook.url);
    REQUIRE(f.eventually([&] { return f.deliveries(webhook)[0].error.has_value(); }));
    CHECK(f.deliveries(webhook)[0].error == "its host has no public address");
    CHECK(f.deliveries(webhook)[0].state == webhooks::DeliveryState::waiting);
  }
  CHECK(receiver.asked() == 0);
}

TEST_CASE("deliveries under way when the loop ended are sent again by the next one") {
  Fixture f;
  Receiver receiver;
  const auto made = f.add(receiver.url());
  receiver.answer(503);
  f.start();
  f.emit("s", 1);
  REQUIRE(f.eventually([&] { return receiver.asked() >= 1; }));
  f.stop();
  receiver.answer(204);
  f.emit("s", 2);
  f.start();
  REQUIRE(f.eventually([&] { return receiver.received().size() == 2; }));
  CHECK(receiver.received()[0].number() == 1);
  CHECK(receiver.received()[1].number() == 2);
}

TEST_CASE("what is old goes as fast as it has come") {
  Fixture f;
  constexpr int events = 2'000;
  f.world.write([&](db::Tx& tx) {
    for (int i = 0; i < events; ++i)
      webhooks::emit(tx, f.app.id, "points.spent", "s" + std::to_string(i), {{"number", i}});
  });
  f.world.clock.advance(app_events::kept_for);
  // If each part were removed ten seconds after the one before, this would take half a minute.
  f.start(5s, 1s);
  REQUIRE(f.eventually([&] {
    return f.world.read([](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM app_events WHERE type = 'points.spent'");
    }) == 0;
  }));
}
