// Commands in containers and connections to their ports: who may open them, what is passed on and
// recorded, and when they end. The container is the test's.
#include <catch2/catch.hpp>
#include <thread>

#include "api/resources/container_sessions/session.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/api/gate_world.h"
#include "tests/api/resources/container_sessions/socket_client.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

using Sent = std::vector<Header>;

const Sent handshake = {{"Upgrade", "websocket"},
                        {"Connection", "Upgrade"},
                        {"Sec-WebSocket-Version", "13"},
                        {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};

Sent operator+(Sent fields, const Sent& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

struct Shell {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  apps::App app = approved(g.world.new_app(user).app, {Scope::deploy_manage, Scope::deploy_exec});
  oauth::Tokens tokens = g.world.tokens(app, user, "profile:read deploy:manage deploy:exec");
  Sent token = {bearer(tokens.access_token)};
  std::shared_ptr<FakeContainer> container = std::make_shared<FakeContainer>();
  std::optional<exec::Wanted> wanted;
  std::string id;

  Shell() {
    g.services.cluster.open_session = [this](const exec::Wanted& asked) {
      wanted = asked;
      return std::make_unique<FakeSession>(container);
    };
    allow(true);
    const Answered made =
        g.ask("POST", "/api/deploy/apps", token,
              json{{"name", "shop"}, {"image", "ghcr.io/acme/web:1"}, {"tier", "wide"}}.dump());
    REQUIRE(made.status == 201);
    id = made.body.at("id");
  }

  apps::App approved(const apps::App& made, const ScopeSet& scopes) {
    g.world.write(
        [&](db::Tx& tx) { apps::approve(tx, apps::request_scopes(tx, made, scopes).id, "root"); });
    return g.world.find_app(made.id);
  }
  void allow(bool allowed) {
    g.world.write(
        [&](db::Tx& tx) { tx.execute(R"(UPDATE deploy_tiers SET exec_allowed = $1)", allowed); });
  }
  std::string exec_path(const std::string& query = "command=sh&command=-c&command=secret") const {
    return "/api/deploy/apps/" + id + "/exec?" + query;
  }
  std::string port_path(const std::string& query = "port=8080") const {
    return "/api/deploy/apps/" + id + "/port-forward?" + query;
  }
  Response open(const std::string& path, const Sent& more = {}) {
    return g.respond("GET", path, token + handshake + more);
  }
  // How the request is refused, or its status.
  std::string outcome(const std::string& path, const Sent& fields) {
    const Response response = g.respond("GET", path, fields);
    const json body = json::parse(response.body, nullptr, false);
    const std::string status = std::to_string(response.status);
    return response.status < 400 ? status
                                 : status + " " + body.at("error").at("code").get<std::string>();
  }
  std::vector<audit::Entry> recorded() {
    auto all = g.world.read([&](db::Tx& tx) {
      return audit::list(tx, {.target = id}, {.page = 1, .page_size = 100}).items;
    });
    std::erase_if(all, [](const audit::Entry& one) { return one.operation == "createDeployment"; });
    return all;
  }
  // The details of the only entry for this action.
  json details_of(const std::string& action) {
    json found;
    for (const audit::Entry& entry : recorded()) {
      if (entry.action != action) continue;
      CHECK(found.is_null());
      CHECK(entry.actor == "user:" + user.id);
      found = json::parse(entry.details);
    }
    REQUIRE(found.is_object());
    return found;
  }
};

json status_in(const SocketClient::Frame& frame) {
  REQUIRE(frame.opcode == 2);
  REQUIRE(frame.data.substr(0, 1) == "\x03");
  return json::parse(frame.data.substr(1));
}

}  // namespace

TEST_CASE("a session needs a token with the scope, a tier that allows it, and what runs") {
  Shell s;
  CHECK(s.outcome(s.exec_path(), handshake) == "401 invalid_token");
  const oauth::Tokens narrow = s.g.world.tokens(s.app, s.user, "profile:read deploy:manage");
  CHECK(s.outcome(s.exec_path(), Sent{bearer(narrow.access_token)} + handshake) ==
        "403 insufficient_scope");
  const Sent all = s.token + handshake;
  CHECK(s.outcome("/api/deploy/apps/01936f5e-7c1a-7000-8000-000000000001/exec?command=ls", all) ==
        "404 deployment_not_found");
  for (const char* wrong : {"", "command=", "command=a%00b", "command=%ff", "command=ls&tty=maybe"})
    CHECK(s.outcome(s.exec_path(wrong), all) == "422 validation_failed");
  std::string many = "command=ls";
  for (int i = 0; i < 64; ++i) many += "&command=x";
  CHECK(s.outcome(s.exec_path(many), all) == "422 validation_failed");
  CHECK(s.outcome(s.exec_path("command=" + std::string(4097, 'x')), all) ==
        "422 validation_failed");
  for (const char* wrong : {"", "port=0", "port=65536", "port=http"})
    CHECK(s.outcome(s.port_path(wrong), all) == "422 validation_failed");

  s.allow(false);
  CHECK(s.outcome(s.exec_path(), all) == "403 exec_not_allowed");
  CHECK(s.outcome(s.port_path(), all) == "403 exec_not_allowed");
  s.allow(true);
  s.g.world.stop(s.app, s.id);
  CHECK(s.outcome(s.exec_path(), all) == "409 invalid_state");
  CHECK_FALSE(s.wanted);
  CHECK(s.recorded().empty());
}

TEST_CASE("a request that isn't a proper handshake is told so, once nothing else is wrong") {
  Shell s;
  const Response plain = s.g.respond("GET", s.exec_path(), s.token);
  CHECK(plain.status == 426);
  CHECK(json::parse(plain.body).at("error").at("code") == "upgrade_required");
  CHECK(std::ranges::count(plain.headers, std::pair("Upgrade"s, "websocket"s)) == 1);
  CHECK(std::ranges::count(plain.headers, std::pair("Sec-WebSocket-Version"s, "13"s)) == 1);
  CHECK(s.outcome(s.port_path(), s.token) == "426 upgrade_required");
  CHECK(s.outcome(s.exec_path(), s.token + Sent{{"Upgrade", "websocket"},
                                                {"Connection", "Upgrade"},
                                                {"Sec-WebSocket-Version", "8"}}) ==
        "426 upgrade_required");
  CHECK(s.outcome(s.exec_path(), s.token + Sent{{"Upgrade", "websocket"}}) ==
        "400 malformed_request");
  CHECK(s.outcome(s.exec_path(),
                  s.token + handshake + Sent{{"Sec-WebSocket-Protocol", "v4.channel.k8s.io"}}) ==
        "400 malformed_request");
  CHECK_FALSE(s.wanted);
}

TEST_CASE("a command gets its input, and its output and end arrive") {
  Shell s;
  Response response =
      s.open(s.exec_path("command=sh&command=-c&command=a%0Ab&tty=true&process=worker&instance=p"),
             {{"Sec-WebSocket-Protocol", "v4.channel.k8s.io, v5.channel.k8s.io"}});
  REQUIRE(response.status == 101);
  CHECK(std::ranges::count(response.headers,
                           std::pair("Sec-WebSocket-Protocol"s, "v5.channel.k8s.io"s)) == 1);
  CHECK(std::ranges::count(response.headers, std::pair("Sec-WebSocket-Accept"s,
                                                       "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="s)) == 1);
  REQUIRE(s.wanted);
  CHECK(s.wanted->deployment_id == s.id);
  CHECK(s.wanted->process == "worker");
  CHECK(s.wanted->instance == "p");
  const auto command = std::get<exec::Command>(s.wanted->what);
  CHECK(command.argv == std::vector<std::string>{"sh", "-c", "a\nb"});
  CHECK(command.has_terminal);

  FakeContainer& c = *s.container;
  {
    SocketClient client(std::exchange(response.takeover, {}));
    client.send("\0hello"s);
    client.send("\x04{\"Width\":132,\"Height\":43}");
    client.send("\xff\0"s);
    CHECK(c.wait([&] { return c.input == "hello" && c.input_closed && c.sizes.size() == 1; }));
    CHECK(c.sizes.at(0).columns == 132);
    CHECK(c.sizes.at(0).rows == 43);
    c.say(exec::Output{.stream = exec::Output::Stream::out, .bytes = "out"});
    c.say(exec::Output{.stream = exec::Output::Stream::error, .bytes = "err"});
    CHECK(client.receive().data == "\1out");
    CHECK(client.receive().data == "\2err");
    // Larger output comes in frames.
    c.say(exec::Output{.stream = exec::Output::Stream::out, .bytes = std::string(100'000, 'x')});
    CHECK(client.receive().data == "\1" + std::string(65'536, 'x'));
    CHECK(client.receive().data == "\1" + std::string(100'000 - 65'536, 'x'));
    c.say(exec::End{.exit_code = 3, .problem = ""});
    const json status = status_in(client.receive());
    CHECK(status.at("status") == "Failure");
    CHECK(status.at("reason") == "NonZeroExitCode");
    CHECK(status.at("details").at("causes").at(0).at("reason") == "ExitCode");
    CHECK(status.at("details").at("causes").at(0).at("message") == "3");
    CHECK(client.closed_with() == 1000);
    client.send_frame(0x88, "\x03\xe8");
  }
  CHECK(c.destroyed);
  CHECK(s.g.services.memory.container_sessions->open() == 0);

  CHECK(s.recorded().size() == 2);
  for (const audit::Entry& entry : s.recorded()) CHECK(entry.user_id == s.user.id);
  for (const char* action : {"exec.begin", "exec.end"}) {
    const json details = s.details_of(action);
    CHECK(details.at("command") == "sh");
    CHECK(details.at("instance") == "berth-1-abc");
    CHECK(details.at("app_id") == s.app.id);
    CHECK(details.dump().find("a\\nb") == std::string::npos);
  }
  CHECK(s.details_of("exec.end").at("exit_code") == 3);
  CHECK(s.details_of("exec.end").contains("took_ms"));
  CHECK(s.details_of("exec.end").at("session_id") == s.details_of("exec.begin").at("session_id"));
  const auto log = s.g.world.read([&](db::Tx& tx) { return deployments::newest_logs(tx, s.id); });
  CHECK(log.back().action == deployments::LogAction::exec);
  CHECK(log.back().initiated_by == s.user.id);
  CHECK(log.back().details->find("a\nb") == std::string::npos);
}

TEST_CASE("a status says whether the command succeeded, and why not") {
  const auto status = [](std::optional<int> code, const std::string& problem) {
    Shell s;
    SocketClient client(s.open(s.exec_path()).takeover);
    s.container->say(exec::End{.exit_code = code, .problem = problem});
    return status_in(client.receive());
  };
  CHECK(status(0, "") == json{{"metadata", json::object()}, {"status", "Success"}});
  const json missing = status(127, "the image has no program sh");
  CHECK(missing.at("message") == "the image has no program sh");
  CHECK(missing.at("details").at("causes").at(0).at("message") == "127");
  const json lost = status({}, "the pod is gone");
  CHECK(lost.at("status") == "Failure");
  CHECK(lost.at("message") == "the pod is gone");
  CHECK_FALSE(lost.contains("details"));
}

TEST_CASE("a connection to a port is its bytes, and an empty message ends the input") {
  Shell s;
  {
    SocketClient client(s.open(s.port_path()).takeover, "");
    CHECK(std::get<exec::Port>(s.wanted->what).number == 8080);
    client.send("GET / HTTP/1.0\r\n\r\n");
    client.send("");
    FakeContainer& c = *s.container;
    CHECK(c.wait([&] { return c.input == "GET / HTTP/1.0\r\n\r\n" && c.input_closed; }));
    c.say(exec::Output{.stream = exec::Output::Stream::out, .bytes = "HTTP/1.0 200 OK"});
    CHECK(client.receive().data == "HTTP/1.0 200 OK");
    c.say(exec::End{.exit_code = {}, .problem = ""});
    CHECK(client.closed_with() == 1000);
  }
  CHECK(s.recorded().size() == 2);
  CHECK(s.details_of("port_forward.begin").at("port") == 8080);
  CHECK(s.details_of("port_forward.end").at("port") == 8080);
  CHECK(s.g.world.read([&](db::Tx& tx) { return deployments::newest_logs(tx, s.id); })
            .back()
            .action != deployments::LogAction::exec);
}

TEST_CASE("a session ends within five seconds after it may not go on") {
  const auto ends_after = [](const std::function<void(Shell&)>& change) {
    Shell s;
    SocketClient client(s.open(s.exec_path()).takeover);
    client.send("\0x"s);
    REQUIRE(s.container->wait([&] { return s.container->input == "x"; }));
    const auto since = std::chrono::steady_clock::now();
    change(s);
    CHECK(client.closed_with() == 1008);
    CHECK(std::chrono::steady_clock::now() - since < 5s);
    CHECK(s.container->wait([&] { return s.container->cancelled; }));
  };
  SECTION("its token was revoked") {
    ends_after([](Shell& s) {
      s.g.world.write([&](db::Tx& tx) { oauth::revoke(tx, s.app, s.tokens.access_token); });
    });
  }
  SECTION("its token has expired") {
    ends_after([](Shell& s) { s.g.world.clock.advance(std::chrono::hours(24)); });
  }
  SECTION("the account was suspended") {
    ends_after([](Shell& s) {
      s.g.world.write(
          [&](db::Tx& tx) { accounts::suspend(tx, s.user.id, "root", s.g.world.keys); });
    });
  }
  SECTION("the deployment was stopped") {
    ends_after([](Shell& s) { s.g.world.stop(s.app, s.id); });
  }
  SECTION("the deployment was deleted") {
    ends_after([](Shell& s) {
      s.g.world.write([&](db::Tx& tx) { deployments::destroy(tx, s.g.world.actor(s.app), s.id); });
    });
  }
  SECTION("an admin suspended the deployment") {
    ends_after([](Shell& s) {
      s.g.world.write([&](db::Tx& tx) {
        deployments::suspend(tx, {.admin = "root", .request_id = "r"}, s.id);
      });
    });
  }
  SECTION("the tier allows it no more") {
    ends_after([](Shell& s) { s.allow(false); });
  }
}

TEST_CASE("a container that takes no input doesn't keep a session from its end") {
  Shell s;
  s.container->takes_input = false;
  SocketClient client(s.open(s.exec_path()).takeover);
  client.send("\0x"s);
  REQUIRE(s.container->wait([&] { return s.container->is_waiting; }));
  // Output goes on.
  s.container->say(exec::Output{.stream = exec::Output::Stream::out, .bytes = "still here"});
  CHECK(client.receive().data == "\1still here");
  const auto since = std::chrono::steady_clock::now();
  s.g.world.stop(s.app, s.id);
  CHECK(client.closed_with() == 1008);
  CHECK(s.container->wait([&] { return s.container->destroyed; }));
  CHECK(std::chrono::steady_clock::now() - since < 5s);
}

TEST_CASE("a client that takes no output doesn't keep a session from its end") {
  Shell s;
  SocketClient client(s.open(s.exec_path()).takeover);
  for (int i = 0; i < 100; ++i)
    s.container->say(
        exec::Output{.stream = exec::Output::Stream::out, .bytes = std::string(65'536, 'x')});
  std::this_thread::sleep_for(200ms);
  const auto since = std::chrono::steady_clock::now();
  s.g.world.stop(s.app, s.id);
  CHECK(s.container->wait([&] { return s.container->destroyed; }));
  CHECK(std::chrono::steady_clock::now() - since < 6s);
}

TEST_CASE("a client that sends pings, and takes no pongs, doesn't keep a session from its end") {
  Shell s;
  SocketClient client(s.open(s.exec_path()).takeover);
  std::thread pings([&] {
    for (int i = 0; i < 5000; ++i) client.send_frame(0x89, std::string(125, 'p'));
  });
  std::this_thread::sleep_for(500ms);
  // Waits for the pong that isn't taken.
  s.container->say(exec::Output{.stream = exec::Output::Stream::out, .bytes = "x"});
  std::this_thread::sleep_for(100ms);
  const auto since = std::chrono::steady_clock::now();
  s.g.world.stop(s.app, s.id);
  CHECK(s.container->wait([&] { return s.container->destroyed; }));
  CHECK(std::chrono::steady_clock::now() - since < 6s);
  pings.join();
}

TEST_CASE("a client is pinged while output comes without a pause, too") {
  struct EndlessOutput : FakeSession {
    using FakeSession::FakeSession;
    std::optional<exec::Event> receive(std::chrono::milliseconds) override {
      std::this_thread::sleep_for(1ms);
      return exec::Output{.stream = exec::Output::Stream::out, .bytes = "x"};
    }
  };
  const auto session = std::make_shared<ContainerSession>(ContainerSession::Parts{
      .session = std::make_unique<EndlessOutput>(std::make_shared<FakeContainer>()),
      .check = [] {},
      .ended = [](const exec::Ended&) {},
      .limits = {.ping = 100ms, .silence = 1500ms}});
  SocketClient client([session](const Upgraded& upgraded) { session->run(upgraded); });
  const auto since = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - since < 4s) REQUIRE(client.receive().opcode == 2);
}

TEST_CASE("a shutdown ends sessions, and says that it is one") {
  Shell s;
  SocketClient client(s.open(s.exec_path()).takeover);
  client.shut_server_down();
  CHECK(client.closed_with() == 1001);
}

TEST_CASE("what breaks the rules of the channels is told with a close code") {
  const auto code_of = [](unsigned first, const std::string& data) {
    Shell s;
    SocketClient client(s.open(s.exec_path()).takeover);
    client.send_frame(first, data);
    return client.closed_with();
  };
  CHECK(code_of(0x81, "text") == 1003);
  CHECK(code_of(0x82, "") == 1002);
  CHECK(code_of(0x82, "\1x") == 1002);
  CHECK(code_of(0x82, "\x09x") == 1002);
  CHECK(code_of(0x82, "\x04{\"Width\":0,\"Height\":1}") == 1007);
  CHECK(code_of(0x82, "\x04[]") == 1007);
  CHECK(code_of(0x82, "\x04") == 1007);
  CHECK(code_of(0xc2, "x") == 1002);
  CHECK(code_of(0x82, "\0"s + std::string(65'537, 'x')) == 1009);

  Shell s;
  SocketClient client(s.open(s.exec_path()).takeover);
  client.send("\0"s + std::string(65'536, 'x'));
  CHECK(s.container->wait([&] { return s.container->input.size() == 65'536; }));
}

TEST_CASE("an account has a limited number of sessions, and a session that never began is over") {
  Shell s;
  std::vector<Response> open;
  for (int i = 0; i < 32; ++i) {
    open.push_back(s.open(s.exec_path()));
    REQUIRE(open.back().status == 101);
  }
  const Response refused = s.open(s.exec_path());
  CHECK(refused.status == 429);
  CHECK(s.g.services.memory.container_sessions->open() == 32);
  open.clear();  // as if all clients were gone
  CHECK(s.g.services.memory.container_sessions->open() == 0);
  CHECK(s.open(s.exec_path()).status == 101);
  int ends = 0;
  for (const audit::Entry& entry : s.recorded()) ends += entry.action == "exec.end";
  CHECK(ends == 33);
}

TEST_CASE("what the cluster refuses is the answer") {
  Shell s;
  s.g.services.cluster.open_session = [](const exec::Wanted&) -> std::unique_ptr<exec::Session> {
    throw Error(Code::unavailable, "the API server doesn't answer");
  };
  CHECK(s.open(s.exec_path()).status == 503);
  s.g.services.cluster.open_session = {};
  CHECK(s.recorded().empty());
  CHECK(s.g.services.memory.container_sessions->open() == 0);
}

TEST_CASE("the console's handshake needs berth's own origin and a fresh proof") {
  Shell s;
  const std::string jwt = s.g.world.jwt(s.user);
  const auto by_page = [&](const Sent& more) {
    return s.outcome(s.exec_path(),
                     Sent{{"Cookie", "__Host-berth_session=" + jwt}} + handshake + more);
  };
  const Header own = {"Origin", "https://api.example.org"};
  CHECK(by_page({}) == "401 invalid_token");
  for (const char* other : {"https://evil.example.org", "http://api.example.org", "null",
                            "https://api.example.org:8443", "https://api.example.org.evil.org"})
    CHECK(by_page({{"Origin", other}}) == "401 invalid_token");
  CHECK(by_page({own, own}) == "400 malformed_request");
  CHECK(by_page({own, {"Sec-Fetch-Site", "same-site"}}) == "401 invalid_token");
  CHECK(by_page({own, {"Sec-Fetch-Site", "cross-site"}}) == "401 invalid_token");
  // The session has just begun, with the password.
  CHECK(by_page({own}) == "101");
  CHECK(by_page({own, {"Sec-Fetch-Site", "same-origin"}}) == "101");
  s.g.world.clock.advance(std::chrono::minutes(11));
  CHECK(by_page({own}) == "401 insufficient_user_authentication");
}

TEST_CASE("a page names one of several apps in the query") {
  Shell s;
  const apps::App other = s.approved(s.g.world.new_app(s.user).app, {Scope::deploy_exec});
  const std::string jwt = s.g.world.jwt(s.user);
  const auto by_page = [&](const std::string& more) {
    return s.outcome(
        s.exec_path("command=ls" + more),
        Sent{{"Cookie", "__Host-berth_session=" + jwt}, {"Origin", "https://api.example.org"}} +
            handshake);
  };
  CHECK(by_page("&app=" + s.app.id) == "101");
  CHECK(by_page("&app=" + other.id) == "403 forbidden");
  CHECK(by_page("") != "101");
}
