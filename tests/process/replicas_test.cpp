// Several berthd processes on one PostgreSQL database.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "tests/process/client.h"
#include "tests/process/event_client.h"
#include "tests/process/mail_server.h"
#include "tests/process/webhook_receiver.h"

using namespace berth::process;

namespace {

struct Two {
  explicit Two(const Flags& flags) : first(flags), second(first, flags) {}
  Berthd first;
  Berthd second;
};

struct Three {
  explicit Three(const Flags& flags) : first(flags), second(first, flags), third(first, flags) {}
  Berthd first;
  Berthd second;
  Berthd third;

  // Each of them in turn.
  const Berthd& next() { return *std::array{&first, &second, &third}.at(turn_++ % 3); }

 private:
  size_t turn_ = 0;
};

Flags with_webhooks() {
  Flags flags = open_flags();
  flags.insert(flags.end(), {"--webhook-allow-private", "on"});
  return flags;
}

}  // namespace

TEST_CASE("what is written at one berthd is read at the other, and wakes its streams",
          "[.postgres]") {
  Two two(with_webhooks());
  Operator ada = operator_with_token(two.first, "ada");
  Client at_second(two.second, ada.tokens.access_token);
  const std::string id = deploy(ada.api, order("shop"));
  const EventClient stream(two.first, "/api/deploy/apps/" + id + "/events",
                           ada.tokens.access_token);
  wait_until_status(at_second, id, "running");
  REQUIRE(eventually([&] { return !stream.events().empty(); }));
  expect(200, at_second.post("/api/deploy/apps/" + id + "/stop"));
  CHECK(eventually(
      [&] { return json::parse(stream.events().back().data).at("status") == "stopped"; }));
  CHECK(stream.connections() == 1);
}

TEST_CASE("a session key that one berthd rotates signs at the other within seconds",
          "[.postgres]") {
  Two two(with_webhooks());
  const User ada = register_verified_user(two.second, "ada");
  const std::string path = "/api/internal/session-keys/rotate";
  const Answer rotated =
      expect(200, Client(two.first).post(path, json::object(), admin(two.first)));
  const User fresh = log_in(two.first, ada);
  CHECK(
      eventually([&] { return Client(two.second, fresh.jwt).get("/api/auth/me").status == 200; }));
  CHECK(Client(two.second, ada.jwt).get("/api/auth/me").status == 200);
  // Both go on from the same list.
  expect(200, Client(two.second).post(path, json::object(), admin(two.second)));
  CHECK(eventually([&] {
    return Client(two.first, log_in(two.second, ada).jwt).get("/api/auth/me").status == 200;
  }));
  // It outlasts a restart.
  CHECK(two.first.terminate() == 0);
  two.first.start();
  CHECK(Client(two.first, fresh.jwt).get("/api/auth/me").status == 200);
}

TEST_CASE("of two berthd processes, one sends each webhook, and sends it once", "[.postgres]") {
  constexpr size_t webhooks = 10;  // the most that an app may have
  Two two(with_webhooks());
  Operator ada = operator_with_token(two.first, "ada");
  WebhookReceiver receiver;
  const std::string path = "/api/operator/apps/" + ada.app.id + "/webhooks";
  Client first(two.first, ada.user.jwt), second(two.second, ada.user.jwt);
  std::vector<std::string> ids;
  while (ids.size() < webhooks) {
    // An app's webhooks have different addresses.
    const json body = {{"url", receiver.url() + "?number=" + std::to_string(ids.size())},
                       {"events", {"deployment.status"}}};
    ids.push_back(expect(201, first.post(path, body)).body.at("webhook").at("id"));
  }
  for (const std::string& id : ids)
    expect(202, (id < ids[webhooks / 2] ? first : second).post(path + "/" + id + "/test"));
  REQUIRE(eventually([&] {
    return std::ranges::all_of(ids, [&](const std::string& id) {
      const Answer answer = expect(200, second.get(path + "/" + id + "/deliveries"));
      return answer.body.at("deliveries").at(0).at("status") == "delivered";
    });
  }));
  std::map<std::string, int> times;
  for (const json& body : receiver.received()) ++times[body.at("id").get<std::string>()];
  CHECK(times.size() == webhooks);
  for (const auto& [id, count] : times) CHECK(count == 1);
}

namespace {

constexpr const char* forgot = "/api/auth/forgot-password";

// Whether the loop that mails tokens for new passwords runs. The outbox isn't listed, since whoever
// lists it does the loop's work.
bool is_reset_mailed(const Berthd& berthd, const User& user, const MailServer& server) {
  const size_t before = server.messages_to(user.email).size();
  expect(200, Client(berthd).post(forgot, {{"email", user.email}}));
  return eventually([&] { return server.messages_to(user.email).size() > before; });
}

bool counts_replicas(const Berthd& berthd, int expected) {
  const std::string line = "\nberth_database_replicas " + std::to_string(expected) + "\n";
  return eventually([&] { return ask_metrics(berthd, "/metrics").text.contains(line); });
}

}  // namespace

TEST_CASE("a loop of a berthd that is killed, or that stops, goes on at another one",
          "[.postgres]") {
  const MailServer server;
  Three three(server.berthd());
  const User ada = register_verified_user(three.first, "ada");
  REQUIRE(eventually([&] { return server.messages_to(ada.email).size() == 1; }));
  REQUIRE(is_reset_mailed(three.third, ada, server));
  CHECK(counts_replicas(three.third, 3));
  three.first.kill();  // it started first, so the loops are its
  REQUIRE(is_reset_mailed(three.third, ada, server));
  CHECK(counts_replicas(three.third, 2));
  CHECK(three.second.terminate() == 0);
  REQUIRE(is_reset_mailed(three.third, ada, server));
  CHECK(counts_replicas(three.third, 1));
}

TEST_CASE("of three berthd processes, one sends each mail, and sends it once", "[.postgres]") {
  constexpr size_t people = 30;
  const MailServer server;
  Three three(server.berthd());
  std::vector<std::string> addresses;
  for (size_t i = 0; i < people; ++i)
    addresses.push_back(register_user(three.next(), "user" + std::to_string(i)).email);
  REQUIRE(eventually([&] { return server.messages().size() >= people; }));
  // The row says so only after the server took the mail, so a second sender would still be at work.
  REQUIRE(eventually([&] {
    const Answer answer =
        expect(200, Client(three.first).get("/api/internal/outbox", admin(three.first)));
    return std::ranges::all_of(answer.body.at("messages"),
                               [](const json& mail) { return !mail.at("sent_at").is_null(); });
  }));
  for (const std::string& address : addresses) CHECK(server.messages_to(address).size() == 1);
  CHECK(server.messages().size() == people);
}

TEST_CASE("ten guesses at a password are ten, whichever of three berthd processes they go to",
          "[.postgres]") {
  Three three(roomy_tier());
  const User ada = register_user(three.first, "ada");
  const json wrong = {{"email", ada.email}, {"password", "a guess"}};
  for (int i = 0; i < 10; ++i) expect(401, Client(three.next()).post("/api/auth/login", wrong));
  for (int i = 0; i < 3; ++i)
    CHECK_THAT(expect(429, Client(three.next()).post("/api/auth/login", wrong)).text,
               Catch::Contains("too many failed attempts"));
}

TEST_CASE("three berthd processes allow together what one would", "[.postgres]") {
  constexpr int limit = 30;  // GET /api/deploy/tiers in a minute
  Three three(roomy_tier());
  const Operator ada = operator_with_token(three.first, "ada");
  const auto share = [&](const Berthd& berthd) {
    return Client(berthd, ada.tokens.access_token)
        .get("/api/deploy/tiers")
        .header("RateLimit-Limit");
  };
  REQUIRE(eventually([&] { return share(three.first) == std::to_string(limit / 3); }));
  three.third.kill();
  CHECK(eventually([&] { return share(three.second) == std::to_string(limit / 2); }));
}

TEST_CASE("the clock that is moved at one berthd is moved at the others", "[.postgres]") {
  Three three(with_webhooks());
  const auto ahead = [](const Berthd& berthd) {
    return expect(200, Client(berthd).get("/api/internal/clock", admin(berthd)))
        .body.at("ahead_seconds");
  };
  advance(three.first, 3'600);
  CHECK(ahead(three.first) == 3'600);
  CHECK(eventually([&] { return ahead(three.second) == 3'600 && ahead(three.third) == 3'600; }));
  advance(three.second, 60);
  CHECK(eventually([&] { return ahead(three.first) == 3'660 && ahead(three.third) == 3'660; }));
}

TEST_CASE("bytes that are no text name nothing", "[.postgres]") {
  const Berthd berthd(with_webhooks());
  Operator ada = operator_with_token(berthd, "ada");
  for (const char* id : {"%00", "%ff", "a%00b", "%c3%28"}) {
    CHECK(ada.api.get("/api/deploy/apps/" + std::string(id)).code() == "deployment_not_found");
    CHECK(Client(berthd, ada.user.jwt)
              .get("/api/social/tables/" + std::string(id) + "/presence")
              .status == 200);
  }
}

TEST_CASE("a client that goes from one of three berthd processes to the next sees one service",
          "[.postgres]") {
  Three three(with_webhooks());
  User user = register_user(three.next(), "ada");
  verify_email(three.next(), user);
  user = log_in(three.next(), user);
  const std::vector<std::string> scopes = {"deploy:manage"};
  const App app = create_app(three.next(), user, scopes);
  approve(three.next(), user, app, scopes);
  const Code code = authorize(three.next(), user, app, scopes);
  const json exchange = code_exchange(app, code);
  const Tokens tokens =
      tokens_of(expect(200, Client(three.next()).post("/api/oauth/token", exchange)));
  const auto api = [&] { return Client(three.next(), tokens.access_token); };

  // What one has created, the others have, and an Idempotency-Key counts at all of them.
  const Headers once = {{"Idempotency-Key", "key of the shop"}};
  const Answer made = expect(201, api().post("/api/deploy/apps", order("shop"), once));
  for (int i = 0; i < 3; ++i)
    CHECK(expect(201, api().post("/api/deploy/apps", order("shop"), once)).body == made.body);
  const std::string id = made.body.at("deployment").at("id");
  for (int i = 0; i < 3; ++i) {
    CHECK(expect(200, api().get("/api/deploy/apps/" + id)).body.at("deployment").at("id") == id);
    CHECK(api().get("/api/deploy/apps").body.at("total") == 1);
  }

  // A code, and what is revoked, is used up at all of them.
  CHECK(Client(three.next()).post("/api/oauth/token", exchange).status == 400);
  CHECK(api().get("/api/deploy/apps").status == 401);  // the replayed code has revoked its tokens
  CHECK(api().get("/api/deploy/apps").status == 401);
  expect(200, Client(three.next(), user.jwt).post("/api/auth/logout"));
  for (int i = 0; i < 3; ++i)
    CHECK(Client(three.next(), user.jwt).get("/api/auth/me").status == 401);
}

namespace {

constexpr std::chrono::milliseconds moves{50};  // between two moves of a stream

// Checks that the ids rise, and returns them.
std::vector<std::int64_t> rising_ids(const std::vector<berth::api::test::ReadEvent>& events) {
  std::vector<std::int64_t> ids;
  for (const auto& event : events) ids.push_back(std::stoll(event.id));
  CHECK(std::ranges::adjacent_find(ids, std::ranges::greater_equal()) == ids.end());
  return ids;
}

}  // namespace

TEST_CASE("a stream goes on at another berthd, with nothing lost, nothing twice, and in order",
          "[.postgres]") {
  constexpr size_t writers = 6, messages = 20;  // what each may send in ten seconds
  const std::string channels = "/api/social/chat/channels";
  Three three(with_webhooks());
  const User reader = register_verified_user(three.first, "reader");
  const json lobby = {{"type", "lobby"}, {"ref_id", "lobby-1"}};
  const std::string channel = channels + "/" +
                              expect(201, Client(three.first, reader.jwt).post(channels, lobby))
                                  .body.at("channel")
                                  .at("id")
                                  .get<std::string>();
  std::vector<User> users = {reader};
  for (size_t i = 0; i < writers; ++i)
    users.push_back(register_verified_user(three.next(), "writer" + std::to_string(i)));
  for (const User& user : users)
    expect(200, Client(three.next(), user.jwt).post(channel + "/members/me"));
  EventClient stream(three.first, channel + "/events", reader.jwt);
  REQUIRE(eventually([&] { return stream.connections() == 1; }));

  std::atomic<size_t> sent = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < writers; ++i)
    threads.emplace_back([&, i] {
      Client client(*std::array{&three.first, &three.second, &three.third}.at(i % 3),
                    users[i + 1].jwt);
      for (size_t n = 0; n < messages; ++n)
        if (client.post(channel + "/messages", {{"body", std::to_string(n)}}).status == 201) ++sent;
    });
  // A client without an event has no id with which to resume.
  CHECK(eventually([&] { return !stream.events().empty(); }));
  while (sent < writers * messages / 2) {
    stream.move_to(three.next());
    std::this_thread::sleep_for(moves);
  }
  for (std::thread& thread : threads) thread.join();
  stream.move_to(three.next());
  CHECK(sent == writers * messages);
  CHECK(eventually([&] { return stream.events().size() >= sent; }));
  const auto events = stream.events();
  CHECK(events.size() == sent);
  rising_ids(events);
  // Those of each sender are in the order in which they were sent.
  std::map<std::string, std::vector<int>> of_sender;
  for (const auto& event : events) {
    const json message = json::parse(event.data);
    of_sender[message.at("sender_id")].push_back(
        std::stoi(message.at("filtered_body").get<std::string>()));
  }
  CHECK(of_sender.size() == writers);
  for (const auto& [id, numbers] : of_sender) CHECK(std::ranges::is_sorted(numbers));
}

TEST_CASE("a stream of all apps loses no event of writes that are committed at the same time",
          "[.postgres]") {
  constexpr size_t deployments = 6, rounds = 10;
  Three three(with_webhooks());
  Operator ada = operator_with_token(three.first, "ada");
  std::vector<std::string> ids;
  for (size_t i = 0; i < deployments; ++i)
    ids.push_back(deploy(ada.api, order("shop" + std::to_string(i))));
  EventClient stream(three.first, "/api/events", ada.user.jwt);
  REQUIRE(eventually([&] { return !stream.last_id().empty(); }));
  const std::int64_t begin = std::stoll(stream.last_id());
  // Those of one deployment are put in order by its row.
  std::vector<std::unique_ptr<EventClient>> own;
  for (const std::string& id : ids)
    own.push_back(std::make_unique<EventClient>(three.third, "/api/deploy/apps/" + id + "/events",
                                                ada.tokens.access_token));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < deployments; ++i)
    threads.emplace_back([&, i] {
      Client client(three.second, ada.tokens.access_token);
      for (size_t round = 0; round < rounds; ++round)
        client.post("/api/deploy/apps/" + ids[i] + (round % 2 == 0 ? "/stop" : "/restart"));
      client.post("/api/deploy/apps/" + ids[i] + "/stop");
    });
  std::atomic<bool> over = false;
  std::thread mover([&] {
    while (!over) {
      stream.move_to(three.next());
      std::this_thread::sleep_for(moves);
    }
  });
  for (std::thread& thread : threads) thread.join();
  over = true;
  mover.join();
  stream.move_to(three.third);
  const auto read = [](const EventClient& from) {
    auto events = from.events();
    std::erase_if(events, [](const auto& event) { return event.name != "status"; });
    return rising_ids(events);
  };
  const auto has_all = [&] {
    const auto got = read(stream);
    for (const auto& one : own)
      for (const std::int64_t id : read(*one))
        if (id > begin && !std::ranges::binary_search(got, id)) return false;
    return true;
  };
  CHECK(eventually(has_all));
}
